//! What a page is called, asked of the page itself.
//!
//! For pages whose site tells only their addresses. A page that forbids to be read, is no HTML, asks not to be told of,
//! or is another site's by the time it answers, has no title.

use std::io::Read;

use url::Url;

use crate::fetch::{Errand, FetchError, Fetcher, Limit, Request};
use crate::read::html::{HtmlHead, tag_says_noindex};
use crate::read::link::media_type;
use crate::site::same_site;

/// Titles stand near the beginning.
const MAX_BYTES: u64 = 64 * 1_024;

/// The title of a page, as plain text.
pub async fn page_title(
    fetcher: &Fetcher,
    url: &Url,
    errand: &Errand,
) -> Result<Option<String>, FetchError> {
    // A page may be as long as a document: only its beginning is read.
    let request = Request::new(url.clone(), Limit::Document).on(errand);
    let fetched = fetcher.get_page(request).await?;
    let (content_type, base) = (fetched.content_type, fetched.url);
    let media_type = content_type.as_deref().and_then(media_type);
    let is_html = matches!(
        media_type.as_deref(),
        Some("text/html" | "application/xhtml+xml")
    );
    let is_hidden = fetched.robots_tags.iter().any(|tag| tag_says_noindex(tag));
    let body = fetched.answer.into_body();
    let Some(body) = body.filter(|_| is_html && !is_hidden && same_site(&base, url)) else {
        return Ok(None);
    };
    let reading = body.read_with(move |reader| {
        let mut bytes = Vec::new();
        // A failed transfer is reported by the body itself.
        let _ = reader.take(MAX_BYTES).read_to_end(&mut bytes);
        HtmlHead::parse(&bytes, content_type.as_deref(), &base)
    });
    let (head, _) = reading.await?;
    Ok(head.title.filter(|_| !head.is_hidden))
}
