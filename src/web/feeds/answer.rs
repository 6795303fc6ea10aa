//! A document that is ready, and what a reader gets of it: all of it in the coding it likes, or that nothing changed.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::SystemTime;

use actix_web::http::StatusCode;
use actix_web::http::header::Header as _;
use actix_web::http::header::{self, AcceptEncoding, Encoding, HeaderMap, HeaderValue, HttpDate};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, SubsecRound, Utc};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use tokio::task::spawn_blocking;

use super::{Form, Source};
use crate::feed::{self, Document};
use crate::web::error::WebError;

/// Nobody should wait longer to ask again, and nobody needs to ask more often.
const LONGEST_FRESH_SECS: i64 = 24 * 60 * 60;
const SHORTEST_FRESH_SECS: i64 = 60;
/// Good, and fast enough to be done whenever a feed changes.
const GZIP_LEVEL: u32 = 6;
const BROTLI_LEVEL: i32 = 5;
const BROTLI_WINDOW: i32 = 18;

/// Does the work of rendering on a thread where it holds up nobody.
pub async fn prepare(
    work: impl FnOnce() -> std::io::Result<Prepared> + Send + 'static,
) -> Result<Arc<Prepared>, WebError> {
    match spawn_blocking(work).await {
        Ok(prepared) => prepared.map(Arc::new).map_err(WebError::Compression),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(WebError::Stopping),
    }
}

/// A document that is ready to be sent. Kept compressed: nearly every reader wants it so.
pub struct Prepared {
    /// What it was made of, and which generation of that.
    pub made_of: Vec<(Source, u64)>,
    pub next_check_at: Option<DateTime<Utc>>,
    form: Form,
    updated_at: DateTime<Utc>,
    tag: String,
    gzip: Bytes,
    brotli: Bytes,
}

impl Prepared {
    /// Renders and compresses a document.
    pub fn new(
        made_of: Vec<(Source, u64)>,
        next_check_at: Option<DateTime<Utc>>,
        form: Form,
        document: &Document<'_>,
    ) -> std::io::Result<Prepared> {
        let text = match form {
            Form::Atom => feed::to_atom(document),
            Form::Json => feed::to_json(document),
        };
        let hash = Sha256::digest(text.as_bytes());
        let tag = hash.iter().take(16).map(|byte| format!("{byte:02x}"));
        let mut gzip = GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL));
        gzip.write_all(text.as_bytes())?;
        let mut brotli = Vec::new();
        let params = brotli::enc::BrotliEncoderParams {
            quality: BROTLI_LEVEL,
            lgwin: BROTLI_WINDOW,
            ..Default::default()
        };
        brotli::BrotliCompress(&mut text.as_bytes(), &mut brotli, &params)?;
        Ok(Prepared {
            made_of,
            next_check_at,
            form,
            updated_at: document.updated_at(),
            tag: tag.collect(),
            gzip: gzip.finish()?.into(),
            brotli: brotli.into(),
        })
    }

    /// What it takes in memory.
    pub fn bytes(&self) -> u64 {
        (self.gzip.len() + self.brotli.len()) as u64
    }

    fn plain(&self) -> std::io::Result<Bytes> {
        let mut plain = Vec::new();
        GzDecoder::new(&self.gzip[..]).read_to_end(&mut plain)?;
        Ok(plain.into())
    }

    /// Browsers show Atom as bare text, unless it is called XML.
    fn media_type(&self, is_browser: bool) -> &'static str {
        match (self.form, is_browser) {
            (Form::Atom, false) => "application/atom+xml; charset=utf-8",
            (Form::Atom, true) => "application/xml; charset=utf-8",
            (Form::Json, _) => "application/feed+json; charset=utf-8",
        }
    }

    /// Strong, so another one for each coding.
    fn etag(&self, coding: Coding) -> String {
        match coding {
            Coding::Plain => format!("\"{}\"", self.tag),
            Coding::Gzip => format!("\"{}-gzip\"", self.tag),
            Coding::Brotli => format!("\"{}-br\"", self.tag),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Plain,
    Gzip,
    Brotli,
}

/// Who may keep an answer.
pub enum For {
    /// Every cache on the way.
    Everybody,
    /// Nobody but the one who asked.
    One,
}

/// The answer to a request for a document that is fresh for so many seconds.
pub fn answer(feed: &Prepared, request: &HttpRequest, whom: For, fresh_for: i64) -> HttpResponse {
    let coding = wanted(request);
    let tag = feed.etag(coding);
    // To the second, because that is all that comes back.
    let modified = HttpDate::from(SystemTime::from(feed.updated_at.trunc_subsecs(0)));
    let is_known = is_known(request.headers(), feed, modified);
    let mut response = HttpResponse::build(match is_known {
        true => StatusCode::NOT_MODIFIED,
        false => StatusCode::OK,
    });
    let fresh_for = fresh_for.clamp(SHORTEST_FRESH_SECS, LONGEST_FRESH_SECS);
    let whom = match whom {
        For::Everybody => "public",
        For::One => "private",
    };
    response
        .insert_header((header::ETAG, tag))
        .insert_header(header::LastModified(modified))
        .insert_header((
            header::CACHE_CONTROL,
            format!("{whom}, max-age={fresh_for}"),
        ))
        .insert_header((header::VARY, "Accept, Accept-Encoding"));
    if is_known {
        return response.finish();
    }
    response.insert_header((header::CONTENT_TYPE, feed.media_type(is_browser(request))));
    let body = match coding {
        Coding::Brotli => Ok(feed.brotli.clone()),
        Coding::Gzip => Ok(feed.gzip.clone()),
        Coding::Plain => feed.plain(),
    };
    match coding {
        Coding::Brotli => drop(response.insert_header((header::CONTENT_ENCODING, "br"))),
        Coding::Gzip => drop(response.insert_header((header::CONTENT_ENCODING, "gzip"))),
        Coding::Plain => {}
    }
    match body {
        Ok(body) => response.body(body),
        // What we compressed ourselves a moment ago.
        Err(_) => HttpResponse::new(StatusCode::INTERNAL_SERVER_ERROR).map_into_boxed_body(),
    }
}

/// Whether a person looks at it: browsers want pages, and know nothing of feeds.
fn is_browser(request: &HttpRequest) -> bool {
    let accepted = request.headers().get(header::ACCEPT);
    let accepted = accepted.and_then(|value| value.to_str().ok());
    accepted.is_some_and(|types| {
        types.contains("text/html") && !types.contains("atom+xml") && !types.contains("rss+xml")
    })
}

/// The coding that a reader likes best, of those that there are.
fn wanted(request: &HttpRequest) -> Coding {
    let Ok(accepted) = AcceptEncoding::parse(request) else {
        return Coding::Plain;
    };
    if request.headers().get(header::ACCEPT_ENCODING).is_none() {
        return Coding::Plain;
    }
    let offered = [Encoding::brotli(), Encoding::gzip(), Encoding::identity()];
    match accepted.negotiate(offered.iter()) {
        Some(coding) if coding == Encoding::brotli() => Coding::Brotli,
        Some(coding) if coding == Encoding::gzip() => Coding::Gzip,
        _ => Coding::Plain,
    }
}

/// Whether the reader has it already. A tag is the better witness: where one is given, the time is not looked at.
fn is_known(headers: &HeaderMap, feed: &Prepared, modified: HttpDate) -> bool {
    let mut tags = headers.get_all(header::IF_NONE_MATCH).peekable();
    if tags.peek().is_some() {
        return tags.any(|value| names(value, feed));
    }
    let since = headers.get(header::IF_MODIFIED_SINCE);
    let since = since.and_then(|value| value.to_str().ok()?.parse::<HttpDate>().ok());
    since.is_some_and(|since| modified <= since)
}

/// Whether a list of tags has one of ours. A coding may have been undone or done on the way, so each of them will do.
fn names(value: &HeaderValue, feed: &Prepared) -> bool {
    let Ok(text) = value.to_str() else {
        return false;
    };
    let ours = [Coding::Plain, Coding::Gzip, Coding::Brotli].map(|coding| feed.etag(coding));
    text.trim() == "*"
        || text.split(',').any(|tag| {
            let tag = tag.trim();
            let tag = tag.strip_prefix("W/").unwrap_or(tag);
            ours.iter().any(|own| own == tag)
        })
}
