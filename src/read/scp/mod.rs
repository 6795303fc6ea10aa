//! SCP 0.1 (Site Content Protocol): a section of a site as lines of JSON, whole or since some time.
//!
//! Streamed line by line; of a page's content nothing is kept, it is only counted. One bad line costs the whole file, as
//! the protocol demands: a file is taken whole or not at all. The sizes that the protocol allows (500 GB) are made for
//! crawlers; ours are smaller, and say so when they are reached.

mod announcement;
mod checksum;
mod inflate;

use std::fmt;
use std::io::{BufRead, BufReader, Read};

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

pub use self::announcement::{NAMESPACE, announce};
use self::checksum::Checksum;
use crate::moment::Moment;
use crate::problem::{Code, Problem};
use crate::read::address;
use crate::read::list::{
    Beginning, Hosts, Lastmod, List, ListReader, Page, Sink, begin, read_lastmod,
};
use crate::site::Format;
use crate::text::{clean, quote};

/// The major version that is known.
const MAJOR: u32 = 0;
/// Of one page; the protocol allows 100 MB.
pub const MAX_LINE_BYTES: u64 = 1024 * 1024;
/// Of one page, as in the protocol.
const MAX_BLOCKS: usize = 1_000;
/// Of one file.
pub const MAX_PAGES: usize = 1_000_000;
/// The blocks that the protocol and its first program know.
const BLOCKS: [&str; 11] = [
    "text",
    "heading",
    "link",
    "image",
    "list",
    "code",
    "table",
    "quote",
    "video",
    "audio",
    "structured",
];

/// Reads SCP files. Where they are is said in the sitemap.
pub const READER: ListReader = ListReader {
    format: Format::Scp,
    places: &[],
    max_ratio: Some(inflate::MAX_RATIO),
    recognises,
    read,
};

fn recognises(beginning: &Beginning) -> bool {
    match beginning {
        // No other format comes in it.
        Beginning::Zstd => true,
        Beginning::Json {
            keys, is_one_line, ..
        } => *is_one_line && keys.first().is_some_and(|key| key == "collection"),
        _ => false,
    }
}

/// Whether a version such as `0.1` can be read.
fn is_known_version(version: &str) -> bool {
    let (major, minor) = version
        .trim()
        .split_once('.')
        .unwrap_or((version.trim(), "0"));
    major.parse::<u32>().is_ok_and(|major| major == MAJOR) && minor.parse::<u32>().is_ok()
}

fn read(source: &mut dyn BufRead, hosts: &Hosts, sink: &mut Sink<'_>) -> Result<List, Problem> {
    let (beginning, mut whole) = begin(source);
    match beginning {
        Beginning::Zstd => match inflate::Inflate::new(&mut whole) {
            Ok(inflated) => lines(&mut BufReader::new(inflated), hosts, sink),
            Err(error) => {
                Err(Problem::new(Code::BadCompression, sink.url, error.to_string()).at(1))
            }
        },
        _ => lines(&mut whole, hosts, sink),
    }
}

/// The first line.
#[derive(Deserialize)]
struct Head {
    collection: Collection,
}

#[derive(Deserialize)]
struct Collection {
    id: String,
    section: String,
    r#type: String,
    generated: String,
    version: String,
    #[serde(default)]
    since: Option<String>,
    #[serde(default)]
    checksum: Option<String>,
}

/// Any other line.
#[derive(Deserialize)]
struct RawPage {
    url: String,
    title: String,
    description: String,
    modified: String,
    language: String,
    content: Content,
    #[serde(default)]
    author: Option<String>,
    #[serde(default)]
    published: Option<String>,
}

fn lines(source: &mut dyn BufRead, hosts: &Hosts, sink: &mut Sink<'_>) -> Result<List, Problem> {
    let mut line = Vec::new();
    let mut list = List::default();
    let mut checksum: Option<Checksum> = None;
    let mut page = Page::default();
    for number in 1.. {
        line.clear();
        let refuse = |code, message: String| Problem::new(code, sink.url, message).at(number);
        let read = Read::take(&mut *source, MAX_LINE_BYTES + 1).read_until(b'\n', &mut line);
        match read {
            Ok(0) => break,
            Ok(_) if line.len() as u64 > MAX_LINE_BYTES => {
                let message = format!(
                    "the line is longer than {MAX_LINE_BYTES} bytes, the most that is read here"
                );
                return Err(refuse(Code::TooLarge, message));
            }
            Ok(_) => {}
            Err(error) => return Err(refuse(Code::BadCompression, error.to_string())),
        }
        if number == 1 {
            let text = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line);
            let head: Head = serde_json::from_slice(text).map_err(|error| {
                refuse(
                    Code::ScpInvalid,
                    format!("the first line describes no collection: {error}"),
                )
            })?;
            list = head
                .collection
                .list()
                .map_err(|(code, message)| refuse(code, message))?;
            checksum = head
                .collection
                .checksum
                .map(|sum| Checksum::new(&sum, &line));
            continue;
        }
        if let Some(checksum) = &mut checksum {
            checksum.add(&line);
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let raw: RawPage = serde_json::from_slice(&line).map_err(|error| {
            let code = if error.is_syntax() || error.is_eof() {
                Code::BadJson
            } else {
                Code::ScpInvalid
            };
            refuse(code, format!("the page on this line is not whole: {error}"))
        })?;
        if raw.content.blocks > MAX_BLOCKS {
            let message = format!(
                "the page has {} blocks, more than {MAX_BLOCKS}",
                raw.content.blocks
            );
            return Err(refuse(Code::ScpInvalid, message));
        }
        if list.pages == MAX_PAGES {
            let message =
                format!("the file has more than {MAX_PAGES} pages, the most that is read here");
            return Err(refuse(Code::TooManyEntries, message));
        }
        page.clear();
        if raw.fill(&mut page, number, sink) {
            hosts.hand_on(&mut page, number, &mut list, sink);
        }
    }
    if list.kind.is_empty() {
        return Err(Problem::new(Code::ScpInvalid, sink.url, "the file is empty").at(1));
    }
    match checksum {
        Some(checksum) if !checksum.fits() => {
            let message = "the checksum in the first line fits the file in no way that is known";
            Err(Problem::new(Code::ScpChecksum, sink.url, message).at(1))
        }
        _ => Ok(list),
    }
}

impl Collection {
    fn list(&self) -> Result<List, (Code, String)> {
        let is_name = |text: &str| {
            !text.is_empty()
                && text
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        };
        let invalid = |message: String| Err((Code::ScpInvalid, message));
        if !is_known_version(&self.version) {
            let message = format!("the file is of version {}, not 0.1", quote(&self.version));
            return Err((Code::ScpVersion, message));
        }
        if !is_name(&self.id) || !is_name(&self.section) {
            return invalid(
                "`id` and `section` may have letters, digits, hyphens and underscores".to_owned(),
            );
        }
        let time = |text: &str| read_lastmod(text).moment().as_ref().map(Moment::to_string);
        let Some(made_at) = time(&self.generated) else {
            return invalid(format!(
                "`generated` is {}, which is not a datetime",
                quote(&self.generated)
            ));
        };
        let since = self.since.as_deref().and_then(time);
        let (kind, is_delta) = match self.r#type.as_str() {
            "snapshot" => ("SCP snapshot", false),
            "delta" if since.is_none() => return invalid("a delta needs `since`".to_owned()),
            "delta" => ("SCP delta", true),
            other => {
                return invalid(format!(
                    "{} is neither a snapshot nor a delta",
                    quote(other)
                ));
            }
        };
        Ok(List {
            kind: kind.to_owned(),
            made_at: Some(made_at),
            since: since.filter(|_| is_delta),
            is_delta,
            ..List::default()
        })
    }
}

impl RawPage {
    /// Makes a page of it. A page whose address is of no use is passed over.
    fn fill(self, page: &mut Page, line: u32, sink: &mut Sink<'_>) -> bool {
        if let Some(kind) = &self.content.unknown {
            sink.note(Code::ScpBlock, line, || {
                format!("a block is of the unknown kind {}", quote(kind))
            });
        }
        if self.content.bad_heading {
            sink.note(Code::ScpBlock, line, || {
                "a heading has a level outside of 1 to 6".to_owned()
            });
        }
        if self.content.blocks == 0 {
            sink.note(Code::ScpBlock, line, || "a page has no content".to_owned());
        }
        page.url.push_str(self.url.trim());
        match address::resolve(&mut page.url, sink.url) {
            Ok(false) => {}
            Ok(true) | Err(_) => {
                sink.note(Code::BadLoc, line, || {
                    format!("{} is not a whole address", quote(&self.url))
                });
                return false;
            }
        }
        let modified = read_lastmod(&self.modified);
        match modified {
            Lastmod::Good(_) => {}
            Lastmod::Repaired(moment) => sink.note(Code::LooseLastmod, line, || {
                format!(
                    "`modified` is {}; it was read as {moment}",
                    quote(&self.modified)
                )
            }),
            Lastmod::Missing | Lastmod::Bad => sink.note(Code::BadLastmod, line, || {
                format!("`modified` is {}; it was not used", quote(&self.modified))
            }),
        }
        page.lastmod = modified.moment();
        page.published = self.published.and_then(|text| read_lastmod(&text).moment());
        page.title = clean::title(&self.title);
        page.summary = clean::description(&self.description);
        page.author = self.author.as_deref().and_then(clean::title);
        page.language = clean::language(&self.language);
        true
    }
}

/// The content of a page: counted, and not kept.
#[derive(Default)]
struct Content {
    blocks: usize,
    unknown: Option<String>,
    bad_heading: bool,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_seq(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of blocks")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<Content, A::Error> {
        let mut content = Content::default();
        while let Some(block) = blocks.next_element::<Block>()? {
            content.blocks += 1;
            content.unknown = content.unknown.or(block.unknown);
            content.bad_heading |= block.bad_heading;
        }
        Ok(content)
    }
}

#[derive(Default)]
struct Block {
    unknown: Option<String>,
    bad_heading: bool,
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_map(BlockVisitor)
    }
}

struct BlockVisitor;

impl<'de> Visitor<'de> for BlockVisitor {
    type Value = Block;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a block of content")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Block, A::Error> {
        let mut block = Block::default();
        let (mut is_heading, mut level) = (false, None);
        while let Some(name) = members.next_key::<Name>()? {
            match name {
                Name::Type => {
                    let kind: String = members.next_value()?;
                    is_heading = kind == "heading";
                    block.unknown = (!BLOCKS.contains(&kind.as_str())).then_some(kind);
                }
                Name::Level => level = members.next_value::<serde_json::Value>()?.as_i64(),
                Name::Other => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        block.bad_heading = is_heading && !level.is_some_and(|level| (1..=6).contains(&level));
        Ok(block)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Name {
    Type,
    Level,
    #[serde(other)]
    Other,
}
