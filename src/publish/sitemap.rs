//! A plain sitemap, for authors who ask for it: every page, and when it last changed by what it says.

use std::fmt::Write as _;

use super::Site;
use super::documents::marked;
use super::state::State;
use crate::read::resourcesync::document::SITEMAP;
use crate::read::resourcesync::read::MAX_ENTRIES;
use crate::read::resourcesync::write::escape;

/// The name of the sitemap.
pub const FILE: &str = "sitemap.xml";

/// The files to write, by their names: one sitemap, or an index of several where one would be too long.
pub fn write(site: &Site, state: &State) -> Vec<(String, String)> {
    let pages: Vec<String> = (state.pages.iter())
        .map(|(page, published)| {
            let address = escape(&site.address(page));
            let lastmod = published.changed;
            format!(
                "  <url>\n    <loc>{address}</loc>\n    <lastmod>{lastmod}</lastmod>\n  </url>\n"
            )
        })
        .collect();
    let parts: Vec<&[String]> = pages.chunks(MAX_ENTRIES / 5).collect();
    if parts.len() <= 5 {
        return vec![(FILE.to_owned(), document("urlset", &pages.concat()))];
    }
    let mut files = Vec::new();
    let mut index = String::new();
    for (number, part) in parts.iter().enumerate() {
        let name = format!("sitemap-{}.xml", number + 1);
        let address = escape(&site.address_of(&name));
        let _ = writeln!(index, "  <sitemap>\n    <loc>{address}</loc>\n  </sitemap>");
        files.push((name, document("urlset", &part.concat())));
    }
    files.push((FILE.to_owned(), document("sitemapindex", &index)));
    files
}

fn document(root: &str, inside: &str) -> String {
    let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    marked(&format!(
        "{head}<{root} xmlns=\"{SITEMAP}\">\n{inside}</{root}>\n"
    ))
}
