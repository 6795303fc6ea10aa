//! A list of pages: what every format comes down to that tells how a site is, and not what happened to it.
//!
//! A format is one file below [`crate::read`] with a [`ListReader`] called `READER`, and one row in the table of
//! [`Format`]s. Whoever follows a site sees pages, other documents that belong to the same list, and what the site says
//! about itself; never the format.
//!
//! Pages are handed on one by one while the bytes arrive. Whoever gets them throws them away if the document turns out
//! to be broken.

mod beginning;
mod host;
mod lastmod;
mod outline;

use std::io::{BufRead, Cursor, Read};

use serde::{Deserialize, Serialize};
use url::Url;

pub use self::beginning::{Beginning, Xml};
pub use self::host::Hosts;
pub use self::lastmod::{Lastmod, read_lastmod};
pub use self::outline::{GLANCED_PARTS, Glance, Outline};
pub use crate::change::Page;
use crate::problem::{Code, Problem, Problems};
use crate::read::link::Link;
use crate::site::{About, Format, formats};

macro_rules! define_readers {
    ($($(#[doc = $doc:literal])+ $variant:ident, $($module:ident)::+, $name:literal, $title:literal, $sentence:literal;)+) => {
        /// The formats that list pages, each with how it is told from the others. The first that recognises a document has
        /// it.
        pub const READERS: &[ListReader] = &[$(crate::read::$($module)::+::READER),+];
    };
}

formats!(define_readers);

/// The limit of the Sitemaps protocol, and ours for every format that is not made for more.
pub const MAX_PAGES: usize = 50_000;

/// Of one document that comes packed, where nobody wants another limit. A snapshot of 400,000 pages has about as many.
pub const MAX_UNPACKED_BYTES: u64 = 512 * 1024 * 1024;

/// How much of a document is looked at to tell what it is.
const BEGINNING_BYTES: u64 = 8 * 1024;

/// How much of JSON is looked at: its members come in any order, and what it is may be said after all pages.
const JSON_BYTES: u64 = 4 * 1024 * 1024;

/// A small file of zeros does no harm.
const FREE_BYTES: u64 = 1024 * 1024;

/// Whether so many bytes are more than `max_ratio` times those that they came in.
pub fn is_too_dense(packed: u64, plain: u64, max_ratio: u64) -> bool {
    plain > FREE_BYTES && plain / max_ratio > packed
}

/// What to say of a file that is.
pub fn too_dense(max_ratio: u64) -> String {
    format!("the file is compressed more than {max_ratio} to 1, which its format forbids")
}

/// The format that nearly everybody has, and the last of all: what a `Sitemap:` line promises.
pub const PLAIN: &ListReader = &READERS[READERS.len() - 1];

/// One format.
pub struct ListReader {
    /// Which one.
    pub format: Format,
    /// Where a host keeps such a document if nobody says so.
    pub places: &'static [&'static str],
    /// Where it hardly ever is; asked for after the places of all formats, if that is not too much.
    pub rare_places: &'static [&'static str],
    /// How such a document gives titles to the pages of other lists, where it does.
    pub beside: Option<Beside>,
    /// What authors are held to, where the format has rules of its own.
    pub rule: Option<Rule>,
    /// How many times its size on the way a document may have, where the format sets a limit.
    pub max_ratio: Option<u64>,
    /// Whether a document that begins so is one.
    pub recognises: fn(&Beginning) -> bool,
    /// Reads one from its first byte to its last.
    pub read: fn(&mut dyn BufRead, &Hosts, &mut Sink<'_>) -> Result<List, Problem>,
}

/// How a document beside the lists of a site is named by the site, and held against them.
pub struct Beside {
    /// Whether a link on a page of the site leads to one.
    pub is_linked: fn(&Link) -> bool,
    /// Whether a path is that of one, if robots.txt allows it by name.
    pub is_allowed: fn(&str) -> bool,
    /// It does not know all pages of the lists.
    pub incomplete: Code,
    /// It is older than the newest page of the lists.
    pub stale: Code,
}

/// A rule of a format.
pub struct Rule {
    /// What should hold, as a sentence.
    pub sentence: &'static str,
    /// What breaks it.
    pub codes: &'static [Code],
}

/// A document besides its pages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct List {
    /// What kind of document it is, for people: "sitemap index".
    pub kind: String,
    /// What it says about the site.
    #[serde(skip_serializing_if = "About::is_empty")]
    pub about: About,
    /// How many pages were handed on.
    pub pages: usize,
    /// When the list was made, as [`crate::moment::Moment`] writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_at: Option<String>,
    /// Whether it holds only what is new: then a page that is not in it need not be gone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_window: bool,
    /// Whether it holds only what changed since some time: the rest is as it was.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_delta: bool,
    /// That time, as [`crate::moment::Moment`] writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// A folder with a document for each day, of the pages that changed on it: `2026-01-31.json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<String>,
    /// Documents that together with this one are the whole list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// How many others there are for which there was no room.
    #[serde(skip_serializing_if = "is_none")]
    pub left_out: usize,
    /// A document that gives the pages their titles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub titles: Option<String>,
    /// What pages are called that are listed elsewhere, by their addresses. Nobody remembers that in place of the document.
    #[serde(skip)]
    pub names: Vec<(String, String)>,
    /// Parts of the site that have lists of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<Section>,
    /// The least time between two requests that the site asks for, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pace_ms: Option<u64>,
}

impl List {
    /// The addresses of all documents that it names.
    pub fn documents(&self) -> impl Iterator<Item = &str> {
        let offers = (self.sections.iter())
            .flat_map(|section| section.snapshots.iter().chain(&section.deltas));
        let parts = self.parts.iter().map(|part| part.url.as_str());
        parts
            .chain(offers.map(|offer| offer.url.as_str()))
            .chain(self.titles.as_deref())
    }
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// A document that is part of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its address, as [`Url`] writes it.
    pub url: String,
    /// When it was last modified, as its list says and [`Moment`] writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lastmod: Option<String>,
    /// Whether only its name makes a list of it: it is listed as a page, and may be one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_doubtful: bool,
}

/// A part of a site that has a list of its own, with the changes to that list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// The format of these documents.
    pub format: Format,
    /// Its name.
    pub name: String,
    /// Whether it holds the pages of all other sections.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_all: bool,
    /// The whole list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<Offer>,
    /// What changed since some time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deltas: Vec<Offer>,
}

/// A document of a section, as it is offered. Times as [`crate::moment::Moment`] writes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Its address, as [`Url`] writes it.
    pub url: String,
    /// When it was made.
    pub generated: String,
    /// Until when it can be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// All changes since then are in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// Where pages and problems go while a document is read.
pub struct Sink<'a> {
    /// Where the document came from, after redirects.
    pub url: &'a Url,
    /// The most that is unpacked of a document that comes packed.
    pub max_unpacked_bytes: u64,
    /// What is found wrong with it.
    pub problems: &'a mut Problems,
    /// Gets every page.
    pub each: &'a mut dyn FnMut(&Page),
}

impl Sink<'_> {
    /// Reports something at a line, or counts it if it is known.
    pub fn note(&mut self, code: Code, line: u32, message: impl FnOnce() -> String) {
        // The message of the first one stays, so that the others need not be written.
        if !self.problems.count_again(code, self.url.as_str()) {
            self.problems
                .add(Problem::new(code, self.url, message()).at(line.max(1)));
        }
    }
}

/// Looks at the beginning of a document, and gives it back together with the rest.
pub fn begin<'a>(reader: &'a mut dyn BufRead) -> (Beginning, impl BufRead + use<'a>) {
    let mut head = Vec::new();
    // A failed transfer is reported by the body itself.
    let _ = Read::take(&mut *reader, BEGINNING_BYTES).read_to_end(&mut head);
    let mut beginning = Beginning::of(&head);
    let is_json = matches!(beginning, Beginning::Json { .. });
    if is_json && reader_for(&beginning).is_none() {
        let _ = Read::take(&mut *reader, JSON_BYTES).read_to_end(&mut head);
        beginning = Beginning::of(&head);
    }
    (beginning, Cursor::new(head).chain(reader))
}

/// The reader of a format.
pub fn reader_of(format: Format) -> &'static ListReader {
    // They are in the order of the formats.
    &READERS[format as usize]
}

/// The reader for a document that begins so, if there is one.
pub fn reader_for(beginning: &Beginning) -> Option<&'static ListReader> {
    READERS.iter().find(|reader| (reader.recognises)(beginning))
}

/// Reads a document in whichever format it is.
pub fn read(
    source: &mut dyn BufRead,
    hosts: &Hosts,
    sink: &mut Sink<'_>,
) -> Result<(Format, List), Problem> {
    let (beginning, mut whole) = begin(source);
    match reader_for(&beginning) {
        Some(reader) => Ok((reader.format, (reader.read)(&mut whole, hosts, sink)?)),
        None => Err(refusal(&beginning, sink.url)),
    }
}

/// Why a document that begins so is of no use.
pub fn refusal(beginning: &Beginning, url: &Url) -> Problem {
    let message = format!("this is {}, not a list of pages", beginning.words());
    Problem::new(Code::NotAList, url, message).at(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_reader_of_its_own() {
        let formats: Vec<Format> = READERS.iter().map(|reader| reader.format).collect();
        assert_eq!(formats, Format::ALL);
        for format in formats {
            assert_eq!(reader_of(format).format, format);
        }
    }
}
