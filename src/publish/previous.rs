//! What was published last time, from the live site: for builds that start from an empty folder.
//!
//! Takes the manifest, the open lists that go with it, and the closed lists, which have to be published again because a
//! fresh folder does not have them. A site without a manifest was never published; a site that cannot be read stops
//! everything, because without its state every page would be news.

use std::collections::BTreeMap;

use url::Url;

use super::folder::encode;
use super::manifest::{MANIFEST, Manifest};
use super::state::State;
use super::write::Copied;
use super::{OWN_FOLDER, PublishError};
use crate::fetch::{Errand, FetchError, Fetcher, Limit, Request};

/// What the live site says, with the files that have to be published again; none if it was never published.
pub async fn read(
    fetcher: &Fetcher,
    site: &Url,
) -> Result<Option<(State, Vec<Copied>)>, PublishError> {
    let live = Live {
        fetcher,
        errand: Errand::default(),
        site,
    };
    let path = format!("{OWN_FOLDER}/{MANIFEST}");
    let Some(text) = live.get(&path).await? else {
        return Ok(None);
    };
    let address = address(site, &path);
    let broken =
        |reason: String| PublishError::Previous(format!("{address} cannot be used: {reason}"));
    if text.trim_ascii_start().starts_with(b"<") {
        return Err(broken(
            "it is a web page; if the site was never published with sitebell, leave out --previous this once".to_owned(),
        ));
    }
    let manifest = Manifest::parse(&text).map_err(broken)?;
    let mut open = BTreeMap::new();
    let mut copied = Vec::new();
    for (folder, list, closed) in manifest.files() {
        open.insert(folder.to_owned(), live.must_get(&list).await?);
        for file in closed {
            let bytes = live.must_get(&file).await?;
            copied.push((file, bytes));
        }
    }
    let state = manifest.into_state(open, true).map_err(broken)?;
    Ok(Some((state, copied)))
}

/// The live site.
struct Live<'a> {
    fetcher: &'a Fetcher,
    errand: Errand,
    site: &'a Url,
}

impl Live<'_> {
    async fn must_get(&self, path: &str) -> Result<Vec<u8>, PublishError> {
        self.get(path).await?.ok_or_else(|| {
            let address = address(self.site, path);
            PublishError::Previous(format!(
                "{address} is missing, but the manifest names it; upload it again"
            ))
        })
    }

    /// The bytes at a path below the site; none if there is nothing.
    async fn get(&self, path: &str) -> Result<Option<Vec<u8>>, PublishError> {
        let failed = |error: FetchError| {
            PublishError::Previous(format!("what was published before cannot be read: {error}"))
        };
        let request = Request::new(address(self.site, path), Limit::Document).on(&self.errand);
        let fetched = match self.fetcher.get(request).await {
            Err(FetchError::Status {
                status: 404 | 410, ..
            }) => return Ok(None),
            fetched => fetched.map_err(failed)?,
        };
        match fetched.answer.into_body() {
            Some(body) => Ok(Some(body.bytes().await.map_err(failed)?.0)),
            None => Ok(None),
        }
    }
}

fn address(site: &Url, path: &str) -> Url {
    let encoded = encode(path.as_bytes());
    site.join(&format!("./{encoded}"))
        .unwrap_or_else(|_| site.clone())
}
