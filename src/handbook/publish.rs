//! Publishing our own pages, with the same publisher that every author has.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use url::Url;

use super::{FOLDER, Page, SOURCES, pages};
use crate::publish::folder::PageRules;
use crate::publish::lay_out::lay_out;
use crate::publish::notes::Notes;
use crate::publish::order::{Order, carry_out, prepare};
use crate::publish::{PublishError, Site};
use crate::site::About;

/// Says what the documents in the folder were made of. As long as that is the same, a start has nothing to render.
const MADE_OF: &str = "made-of";

/// Publishes the handbook of the service at this address in a folder of its own; how many pages changed since the last
/// time. A service that has moved begins anew.
pub fn publish(folder: &Path, url: &Url, now: DateTime<Utc>) -> Result<usize, PublishError> {
    let (mark, made_of) = (folder.join(MADE_OF), made_of(url));
    if fs::read_to_string(&mark).is_ok_and(|found| found == made_of) {
        return Ok(0);
    }
    let pages = publish_here(folder, url, now)?;
    fs::write(&mark, made_of).map_err(|source| PublishError::Io {
        path: mark,
        what: "cannot be written",
        source,
    })?;
    Ok(pages)
}

/// The program, the texts and the address, in short.
fn made_of(url: &Url) -> String {
    let mut hash = Sha256::new();
    for part in [env!("CARGO_PKG_VERSION"), url.as_str()] {
        hash.update(part);
        hash.update([0]);
    }
    for (address, text) in SOURCES {
        hash.update(address);
        hash.update([0]);
        hash.update(text);
        hash.update([0]);
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn publish_here(folder: &Path, url: &Url, now: DateTime<Utc>) -> Result<usize, PublishError> {
    match publish_once(folder, url, now) {
        Err(PublishError::State(_)) => {
            let cleared = fs::remove_dir_all(folder);
            cleared.map_err(|source| PublishError::Io {
                path: folder.to_owned(),
                what: "cannot be removed",
                source,
            })?;
            publish_once(folder, url, now)
        }
        published => published,
    }
}

fn publish_once(folder: &Path, url: &Url, now: DateTime<Utc>) -> Result<usize, PublishError> {
    let files: BTreeMap<String, String> = pages().iter().map(file).collect();
    lay_out(folder, &files)?;
    let mut rules = PageRules::default();
    rules.clean_urls = true;
    let mut order = Order {
        folder: folder.to_owned(),
        site: Site {
            url: url.clone(),
            about: About {
                title: Some("Sitebell".to_owned()),
                description: Some("What is new in this Sitebell, and its handbook.".to_owned()),
                authors: vec!["Sitebell".to_owned()],
                ..About::default()
            },
            collections: Vec::new(),
        },
        rules,
        notes: Notes::default(),
        sitemap: false,
        html_links: false,
        allow_empty: false,
        dry_run: false,
    };
    let prepared = prepare(&mut order, None, now, &|_, _| ())?;
    carry_out(&order, &prepared, &mut || Ok(()))?;
    Ok(prepared.plan.told.len())
}

/// A page without its frame, which is no news.
fn file(page: &Page) -> (String, String) {
    let name = match page.address.strip_suffix('/') {
        Some(folder) => format!("{FOLDER}/{folder}/index.html"),
        None => format!("{FOLDER}/{}.html", page.address),
    };
    let title = page.title.replace('&', "&amp;").replace('<', "&lt;");
    let text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<title>{title}</title>\n<main>\n{}</main>\n</html>\n",
        page.html
    );
    (name, text)
}
