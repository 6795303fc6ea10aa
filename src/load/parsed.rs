//! What reading one document gives, as a stream and on a thread of its own: a log of changes, a list of pages, or a page.

use std::io::{BufRead, Read};

use url::Url;

use super::keep::Filter;
use crate::change::Change;
use crate::fetch::BodyStats;
use crate::memory::Sheet;
use crate::problem::{Code, Problem, Problems};
use crate::read::html::{self, HtmlHead};
use crate::read::list::{self, Beginning, Hosts, List, ListReader, Sink};
use crate::read::resourcesync::{self, Entry, Reading, ReadingRules, rules};
use crate::site::Format;

/// What reading one document gave.
pub(super) struct Parsed {
    pub(super) reading: Result<Reading, Problem>,
    pub(super) changes: Vec<Change>,
    pub(super) problems: Problems,
}

impl Parsed {
    pub(super) fn read(
        reader: &mut dyn BufRead,
        url: &Url,
        rules: ReadingRules,
        mut is_kept: Filter,
    ) -> Parsed {
        let mut problems = Problems::default();
        let mut changes = Vec::new();
        let mut each = |entry: &Entry| {
            if let (Some(kind), Some(datetime)) = (entry.change, entry.datetime)
                && is_kept(&entry.loc, kind, &datetime)
            {
                changes.push(Change {
                    url: entry.loc.clone(),
                    kind,
                    datetime,
                    title: None,
                    details: entry.details.clone(),
                });
            }
        };
        let reading = resourcesync::read(reader, url, rules, &mut problems, &mut each);
        if let Ok(reading) = &reading {
            rules::check(reading, url, &mut problems);
        }
        Parsed {
            reading,
            changes,
            problems,
        }
    }
}

/// What reading one list gave.
pub(super) struct ParsedList {
    pub(super) list: Result<(Format, List), Problem>,
    pub(super) sheet: Sheet,
    pub(super) problems: Problems,
    /// As in [`ListReader`].
    max_ratio: Option<u64>,
}

impl ParsedList {
    pub(super) fn read(
        source: &mut dyn BufRead,
        reader: &ListReader,
        url: &Url,
        hosts: &Hosts,
        max_unpacked_bytes: u64,
        mut sheet: Sheet,
    ) -> ParsedList {
        let mut problems = Problems::default();
        let mut each = |page: &crate::change::Page| sheet.add(page);
        let mut sink = Sink {
            url,
            max_unpacked_bytes,
            problems: &mut problems,
            each: &mut each,
        };
        let list = (reader.read)(source, hosts, &mut sink);
        ParsedList {
            list: list.map(|list| (reader.format, list)),
            sheet,
            problems,
            max_ratio: reader.max_ratio,
        }
    }

    pub(super) fn refused(beginning: &Beginning, url: &Url) -> ParsedList {
        ParsedList {
            list: Err(list::refusal(beginning, url)),
            sheet: Sheet::default(),
            problems: Problems::default(),
            max_ratio: None,
        }
    }

    /// Takes nothing from a document that came packed more densely than its format allows.
    pub(super) fn held_to_ratio(mut self, size: &BodyStats, url: &Url) -> ParsedList {
        if let Some(max_ratio) = self.max_ratio
            && list::is_too_dense(size.wire_bytes, size.decoded_bytes, max_ratio)
        {
            let message = list::too_dense(max_ratio);
            self.list = Err(Problem::new(Code::BadCompression, url, message).at(1));
            self.sheet = Sheet::default();
        }
        self
    }
}

/// What an address turned out to be.
pub(super) enum Seen {
    Document(Box<Parsed>),
    List(Box<ParsedList>),
    Html(Box<HtmlHead>),
}

/// Reads a document as a document, and anything else as a page.
pub(super) fn read_as_it_is(
    reader: &mut dyn BufRead,
    parse: impl FnOnce(&mut dyn BufRead) -> Parsed,
    hosts: &Hosts,
    max_unpacked_bytes: u64,
    sheet: Sheet,
    content_type: Option<&str>,
    base: &Url,
) -> Seen {
    let (beginning, mut whole) = list::begin(reader);
    if resourcesync::list::recognises(&beginning) {
        return Seen::Document(Box::new(parse(&mut whole)));
    }
    if let Some(reader) = list::reader_for(&beginning) {
        let parsed = ParsedList::read(&mut whole, reader, base, hosts, max_unpacked_bytes, sheet);
        return Seen::List(Box::new(parsed));
    }
    let mut bytes = Vec::new();
    // A failed transfer is reported by the body itself.
    let _ = whole.take(html::MAX_BYTES as u64).read_to_end(&mut bytes);
    Seen::Html(Box::new(HtmlHead::parse(&bytes, content_type, base)))
}
