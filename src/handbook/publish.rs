//! Publishing our own pages, with the same publisher that every author has.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use chrono::{DateTime, Utc};
use url::Url;

use super::{FOLDER, Page, pages};
use crate::publish::folder::PageRules;
use crate::publish::lay_out::lay_out;
use crate::publish::notes::Notes;
use crate::publish::order::{Order, carry_out, prepare};
use crate::publish::{PublishError, Site};
use crate::site::About;

/// Publishes the handbook of the service at this address in a folder of its own; how many pages changed since the last
/// time. A service that has moved begins anew.
pub fn publish(folder: &Path, url: &Url, now: DateTime<Utc>) -> Result<usize, PublishError> {
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
