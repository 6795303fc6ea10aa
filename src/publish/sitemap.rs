//! A plain sitemap, for authors who ask for it: every page, and when it last changed by what it says.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::Site;
use super::documents::marked;
use super::state::{State, check_mark};
use crate::read::resourcesync::document::SITEMAP;
use crate::read::resourcesync::read::MAX_ENTRIES;
use crate::read::resourcesync::write::escape;

/// The name of the sitemap.
pub const FILE: &str = "sitemap.xml";
/// A sitemap stays well below the 50 MB of the protocol.
const MAX_BYTES: usize = 40_000_000;
/// The parts of one that is too long are smaller, so that fewer of them change with a page.
const PARTS: usize = 5;

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
    if let [all] = parts(&pages, MAX_ENTRIES, MAX_BYTES)[..] {
        return vec![(FILE.to_owned(), document("urlset", &all.concat()))];
    }
    let mut files = Vec::new();
    let mut index = String::new();
    let parts = parts(&pages, MAX_ENTRIES / PARTS, MAX_BYTES / PARTS);
    for (number, part) in (1..).zip(parts) {
        let name = part_name(number);
        let address = escape(&site.address_of(&name));
        let _ = writeln!(index, "  <sitemap>\n    <loc>{address}</loc>\n  </sitemap>");
        files.push((name, document("urlset", &part.concat())));
    }
    files.push((FILE.to_owned(), document("sitemapindex", &index)));
    files
}

/// The parts of an earlier and longer sitemap of ours that are still in the folder.
pub(super) fn left_over(folder: &Path, files: &[(String, String)]) -> Vec<PathBuf> {
    (files.len().max(1)..)
        .map(|number| folder.join(part_name(number)))
        .take_while(|path| path.is_file() && check_mark(path).is_ok())
        .collect()
}

fn part_name(number: usize) -> String {
    format!("sitemap-{number}.xml")
}

/// Splits pages so that no part has more of them, or more bytes, than this. There is always one part.
fn parts(pages: &[String], most: usize, most_bytes: usize) -> Vec<&[String]> {
    let mut parts = Vec::new();
    let (mut begin, mut bytes) = (0, 0);
    for (at, page) in pages.iter().enumerate() {
        if at - begin == most || bytes + page.len() > most_bytes {
            parts.push(&pages[begin..at]);
            (begin, bytes) = (at, 0);
        }
        bytes += page.len();
    }
    parts.push(&pages[begin..]);
    parts
}

fn document(root: &str, inside: &str) -> String {
    let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    marked(&format!(
        "{head}<{root} xmlns=\"{SITEMAP}\">\n{inside}</{root}>\n"
    ))
}
