//! RSS and Atom as sitemaps: the pages that their entries lead to, with titles.
//!
//! A feed holds what is new and drops what is old, so a page that is no longer in it is not gone.

use std::io::BufRead;

use super::add_text;
use crate::problem::{Code, Problem};
use crate::read::list::{Hosts, List, MAX_PAGES, Page, Sink, read_lastmod};
use crate::read::resourcesync::read::broken;
use crate::read::xml::{Item, Tag, XmlReader};
use crate::read::{address, html};
use crate::text::{clean, quote};

/// Dates of an entry. Some are borrowed from other vocabularies, such as `dc:date`.
const DATES: [&str; 6] = [
    "updated",
    "modified",
    "pubDate",
    "published",
    "date",
    "issued",
];

pub(super) fn read(
    source: &mut dyn BufRead,
    hosts: &Hosts,
    sink: &mut Sink<'_>,
) -> Result<List, Problem> {
    let url = sink.url;
    let mut xml = XmlReader::new(source);
    let mut parser = Parser {
        hosts,
        sink,
        list: List {
            is_window: true,
            ..List::default()
        },
        open: Vec::new(),
        entry: None,
        field: None,
        text: String::new(),
        page: Page::default(),
        guid: String::new(),
        line: 0,
    };
    loop {
        let is_begun = match xml.next() {
            Ok(Item::Open(tag)) => parser.open(&tag),
            Ok(Item::Close) => {
                parser.close();
                Ok(false)
            }
            Ok(Item::Text(text)) => {
                parser.text(text);
                Ok(false)
            }
            Ok(Item::Skipped) => Ok(false),
            Ok(Item::End) => break,
            Err(fault) => return Err(broken(fault, url).at(xml.line())),
        };
        match is_begun {
            Ok(true) => parser.line = xml.line(),
            Ok(false) => {}
            Err(problem) => return Err(problem.at(xml.line())),
        }
    }
    Ok(parser.list)
}

struct Parser<'a, 's> {
    hosts: &'a Hosts,
    sink: &'a mut Sink<'s>,
    list: List,
    /// The open elements.
    open: Vec<Open>,
    /// At which depth the open entry is.
    entry: Option<usize>,
    /// At which depth the open field is; elements inside of it are a part of its text.
    field: Option<usize>,
    text: String,
    page: Page,
    guid: String,
    line: u32,
}

struct Open {
    name: String,
    namespace: String,
}

impl Parser<'_, '_> {
    /// Says whether an entry begins here.
    fn open(&mut self, tag: &Tag<'_>) -> Result<bool, Problem> {
        let depth = self.open.len() + 1;
        if depth == 1 {
            self.list.kind = match tag.name() {
                "feed" => "Atom feed",
                _ => "RSS feed",
            }
            .to_owned();
        }
        let is_field = match self.entry {
            Some(entry) => depth == entry + 1,
            // The title of the feed itself: below `feed`, or below `channel`.
            None => tag.name() == "title" && depth <= 3,
        };
        // Extensions have fields of the same names, such as `media:title`.
        let parent = self.open.last().map(|open| open.namespace.as_str());
        let is_own = parent == Some(tag.namespace());
        if is_field && is_own && tag.name() == "link" {
            self.link(tag);
        }
        let begins = self.entry.is_none() && matches!(tag.name(), "entry" | "item");
        if tag.is_empty() {
            return Ok(false);
        }
        if is_field && (is_own || DATES.contains(&tag.name())) {
            self.field = Some(depth);
            self.text.clear();
        }
        self.open.push(Open {
            name: tag.name().to_owned(),
            namespace: tag.namespace().to_owned(),
        });
        if begins {
            if self.list.pages == MAX_PAGES {
                let message = format!("the document has more than {MAX_PAGES} entries");
                return Err(Problem::new(Code::TooManyEntries, self.sink.url, message));
            }
            self.entry = Some(depth);
            self.page.clear();
            self.guid.clear();
        }
        Ok(begins)
    }

    /// Atom has its links in attributes.
    fn link(&mut self, tag: &Tag<'_>) {
        let (mut href, mut rel) = ("", "alternate");
        for (name, value) in tag.plain_attributes() {
            match name {
                "href" => href = value.trim(),
                "rel" => rel = value.trim(),
                _ => {}
            }
        }
        if rel == "alternate" && self.page.url.is_empty() {
            href.clone_into(&mut self.page.url);
        }
    }

    fn text(&mut self, text: &str) {
        if self.field.is_some() {
            add_text(&mut self.text, text);
        }
    }

    fn close(&mut self) {
        let depth = self.open.len();
        let Some(Open { name, .. }) = self.open.pop() else {
            return;
        };
        if self.entry == Some(depth) {
            self.entry = None;
            self.finish_entry();
        }
        if self.field != Some(depth) {
            return;
        }
        self.field = None;
        match self.entry {
            Some(_) => self.take_field(&name),
            None if self.list.about.title.is_none() => {
                self.list.about.title = clean::title(&html::plain_text(&self.text));
            }
            None => {}
        }
    }

    fn take_field(&mut self, name: &str) {
        let (page, text) = (&mut self.page, self.text.trim());
        match name {
            "link" if page.url.is_empty() => text.clone_into(&mut page.url),
            "guid" => text.clone_into(&mut self.guid),
            "title" => page.title = clean::title(&html::plain_text(text)),
            "summary" | "description" => page.summary = clean::description(&html::plain_text(text)),
            "updated" | "modified" => page.lastmod = read_lastmod(text).moment(),
            name if DATES.contains(&name) => page.published = read_lastmod(text).moment(),
            _ => {}
        }
    }

    fn finish_entry(&mut self) {
        let (page, line) = (&mut self.page, self.line);
        if page.url.is_empty() && self.guid.starts_with("http") {
            std::mem::swap(&mut page.url, &mut self.guid);
        }
        page.lastmod = page.lastmod.or(page.published);
        if page.url.is_empty() {
            self.sink
                .note(Code::NoLoc, line, || "an entry leads to no page".to_owned());
            return;
        }
        let written = page.url.clone();
        match address::resolve(&mut page.url, self.sink.url) {
            Ok(_) => self.hosts.hand_on(page, line, &mut self.list, self.sink),
            Err(error) => self.sink.note(Code::BadLoc, line, || {
                format!("{} cannot be used: {error}", quote(&written))
            }),
        }
    }
}
