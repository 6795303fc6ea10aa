//! Plain sitemaps (0.9) and everything that passes for one: indexes, lines of text, RSS and Atom.
//!
//! Read as they are written, not as they should be: what can be understood is taken, and the author is told what to
//! mend. `changefreq` and `priority` say nothing about changes and are not read.

mod feed;
mod text;
mod xml;

use std::io::BufRead;

use crate::problem::Problem;
use crate::read::list::{Beginning, Hosts, List, ListReader, Sink, begin};
use crate::site::Format;

/// Reads sitemaps of all kinds.
pub const READER: ListReader = ListReader {
    format: Format::Sitemap,
    // The second is what the most used plugin writes, the third what a popular generator of small sites does.
    places: &["/sitemap.xml", "/sitemap_index.xml", "/sitemap-index.xml"],
    // Whoever has these says so in robots.txt, because hardly anybody would find them otherwise. A site that has nothing
    // was asked ten times before, unless its robots.txt is known already, or keeps us from its page.
    rare_places: &["/sitemap.xml.gz", "/sitemap.txt"],
    beside: None,
    rule: None,
    max_ratio: None,
    recognises,
    read,
};

/// Text that is longer is no address, and enough of a description.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Adds a piece of text. What is cut off here is still too long to be an address, which is what has to be found out.
fn add_text(target: &mut String, text: &str) {
    let mut end = text.len().min(MAX_TEXT_BYTES.saturating_sub(target.len()));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    target.push_str(&text[..end]);
}

fn recognises(beginning: &Beginning) -> bool {
    match beginning {
        Beginning::Xml(xml) => matches!(
            xml.root.as_str(),
            "urlset" | "sitemapindex" | "feed" | "rss" | "RDF"
        ),
        Beginning::Text(text) => text::recognises(text),
        _ => false,
    }
}

fn read(source: &mut dyn BufRead, hosts: &Hosts, sink: &mut Sink<'_>) -> Result<List, Problem> {
    let (beginning, mut whole) = begin(source);
    match &beginning {
        Beginning::Xml(xml) if matches!(xml.root.as_str(), "feed" | "rss" | "RDF") => {
            feed::read(&mut whole, hosts, sink)
        }
        Beginning::Text(_) => text::read(&mut whole, hosts, sink),
        _ => xml::read(&mut whole, hosts, sink),
    }
}
