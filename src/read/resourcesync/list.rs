//! A Resource List as a list of pages.

use std::io::BufRead;

use super::document::{Capability, Entry};
use super::read::{ReadingRules, read as read_document};
use crate::moment::Moment;
use crate::problem::{Code, Problem};
use crate::read::list::{Beginning, Hosts, List, ListReader, Page, Part, Sink};
use crate::site::Format;

/// Reads Resource Lists and their indexes.
pub const READER: ListReader = ListReader {
    format: Format::ResourceSync,
    places: &[],
    rare_places: &[],
    beside: None,
    rule: None,
    max_ratio: None,
    recognises,
    read,
};

/// Whether a document that begins so speaks ResourceSync: it declares the namespace, or one that was meant to be it, and
/// says what it is. There are plain sitemaps that only declare it.
pub fn recognises(beginning: &Beginning) -> bool {
    beginning.xml().is_some_and(|xml| {
        matches!(xml.root.as_str(), "urlset" | "sitemapindex")
            && xml.tag.contains("openarchives.org/rs")
            && xml.has_capability
    })
}

fn read(source: &mut dyn BufRead, hosts: &Hosts, sink: &mut Sink<'_>) -> Result<List, Problem> {
    let mut list = List::default();
    let mut page = Page::default();
    let (each, url) = (&mut *sink.each, sink.url);
    let mut foreign = 0;
    let mut take = |entry: &Entry| {
        page.clear();
        page.url.push_str(&entry.loc);
        page.url
            .truncate(page.url.find('#').unwrap_or(page.url.len()));
        if !hosts.have(&page.url) {
            foreign += 1;
            return;
        }
        page.lastmod = entry.lastmod.or(entry.datetime);
        page.hash.clone_from(&entry.details.hash);
        list.pages += 1;
        each(&page);
    };
    let reading = read_document(
        source,
        url,
        ReadingRules::default(),
        sink.problems,
        &mut take,
    )?;
    let document = &reading.document;
    if document.capability != Capability::ResourceList {
        let message = format!("this is a {}, not a Resource List", document.title());
        return Err(Problem::new(Code::WrongCapability, url, message).at(reading.line.max(1)));
    }
    if foreign > 0 {
        let message = format!("{foreign} pages are on another site and were left out");
        sink.note(Code::ForeignPages, reading.line, || message);
    }
    list.kind = document.title();
    list.made_at = document.at.as_ref().map(Moment::to_string);
    let parts = document.entries.iter().map(|entry| Part {
        url: entry.loc.clone(),
        lastmod: entry.lastmod.as_ref().map(Moment::to_string),
        is_doubtful: false,
    });
    list.parts = parts.collect();
    Ok(list)
}
