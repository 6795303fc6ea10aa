//! SCP 0.1 (Site Content Protocol): a section of a site as lines of JSON, whole or since some time.
//!
//! Streamed line by line; of a page's content nothing is kept, it is only counted. One bad line costs the whole file, as
//! the protocol demands: a file is taken whole or not at all. The sizes that the protocol allows (500 GB) are made for
//! crawlers; ours are smaller, and say so when they are reached.

mod announcement;
mod checksum;
mod inflate;
mod scan;

use std::borrow::Cow;
use std::fmt;
use std::io::{BufRead, BufReader, ErrorKind};

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

pub use self::announcement::{NAMESPACE, announce};
use self::checksum::Checksum;
use crate::moment::Moment;
use crate::problem::{Code, Problem};
use crate::read::address;
use crate::read::json::Plain;
use crate::read::list::{
    Beginning, Hosts, Lastmod, List, ListReader, Page, Rule, Sink, begin, read_lastmod,
};
use crate::site::Format;
use crate::text::{clean, quote};

/// The major version that is known.
const MAJOR: u32 = 0;
/// Of one page; the protocol allows 100 MB.
pub const MAX_LINE_BYTES: usize = 1024 * 1024;
/// Of one page, as in the protocol.
const MAX_BLOCKS: usize = 1_000;
/// Of one file.
pub const MAX_PAGES: usize = 1_000_000;
/// How much is decompressed at a time: many lines, and not more than is near the processor.
const INFLATED_BYTES: usize = 64 * 1024;
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
    rare_places: &[],
    beside: None,
    rule: Some(Rule {
        sentence: "What is offered in SCP keeps to its format.",
        codes: &[
            Code::ScpVersion,
            Code::ScpInvalid,
            Code::ScpChecksum,
            Code::ScpBlock,
            Code::ScpAnnouncement,
        ],
    }),
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
        Beginning::Zstd => match inflate::Inflate::new(&mut whole, sink.max_unpacked_bytes) {
            Ok(inflated) => {
                let mut inflated = BufReader::with_capacity(INFLATED_BYTES, inflated);
                lines(&mut inflated, hosts, sink)
            }
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
struct RawPage<'a> {
    #[serde(borrow)]
    url: Text<'a>,
    #[serde(borrow)]
    title: Text<'a>,
    #[serde(borrow)]
    description: Text<'a>,
    #[serde(borrow)]
    modified: Text<'a>,
    #[serde(borrow)]
    language: Text<'a>,
    content: Content,
    #[serde(borrow, default, deserialize_with = "text_if_any")]
    author: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "text_if_any")]
    published: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "text_if_any")]
    canonical: Option<Text<'a>>,
}

/// Text that is mostly there as it is meant, and then need not be copied.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// What need not be there does no harm if it is something else than text.
fn text_if_any<'de: 'a, 'a, D: Deserializer<'de>>(source: D) -> Result<Option<Text<'a>>, D::Error> {
    Ok(match Plain::deserialize(source)? {
        Plain::Text(text) => Some(Text(text)),
        _ => None,
    })
}

fn lines(source: &mut dyn BufRead, hosts: &Hosts, sink: &mut Sink<'_>) -> Result<List, Problem> {
    let url = sink.url;
    let mut file = File {
        hosts,
        sink,
        list: List::default(),
        checksum: None,
        page: Page::default(),
        home: address::Home::of(url),
        number: 0,
    };
    // What came of a line that is not yet whole; mostly all of it is at hand, and need not be copied.
    let (mut begun, mut is_begun_plain) = (Vec::new(), true);
    loop {
        let bytes = match source.fill_buf() {
            Ok([]) => break,
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => {
                let code = match error.kind() {
                    ErrorKind::FileTooLarge => Code::TooLarge,
                    _ => Code::BadCompression,
                };
                return Err(file.refuse_next(code, error.to_string()));
            }
        };
        let (end, is_plain) = scan::end_of_line(bytes);
        let used = end.map_or(bytes.len(), |end| end + 1);
        if begun.len() + used > MAX_LINE_BYTES {
            let message = format!(
                "the line is longer than {MAX_LINE_BYTES} bytes, the most that is read here"
            );
            return Err(file.refuse_next(Code::TooLarge, message));
        }
        match end {
            Some(_) if begun.is_empty() => file.line(&bytes[..used], is_plain)?,
            Some(_) => {
                begun.extend_from_slice(&bytes[..used]);
                file.line(&begun, is_plain && is_begun_plain)?;
                begun.clear();
                is_begun_plain = true;
            }
            None => {
                begun.extend_from_slice(bytes);
                is_begun_plain &= is_plain;
            }
        }
        source.consume(used);
    }
    if !begun.is_empty() {
        file.line(&begun, is_begun_plain)?;
    }
    file.finish()
}

/// A file while it is read.
struct File<'a, 's> {
    hosts: &'a Hosts,
    sink: &'a mut Sink<'s>,
    list: List,
    checksum: Option<Checksum>,
    page: Page,
    home: address::Home,
    /// Of the last line.
    number: u32,
}

impl File<'_, '_> {
    fn refuse(&self, code: Code, message: String) -> Problem {
        Problem::new(code, self.sink.url, message).at(self.number)
    }

    /// The same for a line that cannot even be had.
    fn refuse_next(&mut self, code: Code, message: String) -> Problem {
        self.number += 1;
        self.refuse(code, message)
    }

    fn line(&mut self, line: &[u8], is_plain: bool) -> Result<(), Problem> {
        self.number += 1;
        if self.number == 1 {
            return self.head(line);
        }
        if let Some(checksum) = &mut self.checksum {
            checksum.add(line);
        }
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let plain = is_plain.then(|| scan::page(line)).flatten();
        let mut raw = match plain {
            Some(raw) => raw,
            None => serde_json::from_slice(line).map_err(|error| {
                let code = if error.is_syntax() || error.is_eof() {
                    Code::BadJson
                } else {
                    Code::ScpInvalid
                };
                self.refuse(
                    code,
                    format!("the page on this line is not whole: {}", in_line(&error)),
                )
            })?,
        };
        if raw.content.blocks > MAX_BLOCKS {
            let message = format!(
                "the page has {} blocks, more than {MAX_BLOCKS}",
                raw.content.blocks
            );
            return Err(self.refuse(Code::ScpInvalid, message));
        }
        if self.list.pages == MAX_PAGES {
            let message =
                format!("the file has more than {MAX_PAGES} pages, the most that is read here");
            return Err(self.refuse(Code::TooManyEntries, message));
        }
        let canonical = raw.canonical.take();
        if raw.fill(&mut self.page, self.number, &self.home, self.sink) {
            self.page.canonical = canonical.and_then(|text| self.elsewhere(&text.0));
            self.hosts
                .hand_on(&mut self.page, self.number, &mut self.list, self.sink);
        }
        Ok(())
    }

    /// Where people are to go for the page, if that is another address on the same site.
    fn elsewhere(&self, canonical: &str) -> Option<String> {
        let canonical = canonical.trim();
        // As it is nearly always.
        if canonical == self.page.url {
            return None;
        }
        let mut url = canonical.to_owned();
        address::resolve(&mut url, self.sink.url).ok()?;
        (url != self.page.url && self.hosts.have(&url)).then_some(url)
    }

    fn head(&mut self, line: &[u8]) -> Result<(), Problem> {
        let text = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        let head: Head = serde_json::from_slice(text).map_err(|error| {
            self.refuse(
                Code::ScpInvalid,
                format!(
                    "the first line describes no collection: {}",
                    in_line(&error)
                ),
            )
        })?;
        let list = head.collection.list();
        self.list = list.map_err(|(code, message)| self.refuse(code, message))?;
        self.checksum = (head.collection.checksum).map(|sum| Checksum::new(&sum, line));
        Ok(())
    }

    fn finish(self) -> Result<List, Problem> {
        if self.list.kind.is_empty() {
            return Err(Problem::new(Code::ScpInvalid, self.sink.url, "the file is empty").at(1));
        }
        match self.checksum {
            Some(checksum) if !checksum.fits() => {
                let message =
                    "the checksum in the first line fits the file in no way that is known";
                Err(Problem::new(Code::ScpChecksum, self.sink.url, message).at(1))
            }
            _ => Ok(self.list),
        }
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

impl RawPage<'_> {
    /// Makes a page of it. A page whose address is of no use is passed over.
    fn fill(self, page: &mut Page, line: u32, home: &address::Home, sink: &mut Sink<'_>) -> bool {
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
        // The room for texts stays where it is from page to page.
        let (title, summary, language) =
            (page.title.take(), page.summary.take(), page.language.take());
        page.clear();
        page.url.push_str(self.url.0.trim());
        if !home.has(&page.url) && !matches!(address::resolve(&mut page.url, sink.url), Ok(false)) {
            sink.note(Code::BadLoc, line, || {
                format!("{} is not a whole address", quote(&self.url.0))
            });
            return false;
        }
        let modified = read_lastmod(&self.modified.0);
        match modified {
            Lastmod::Good(_) => {}
            Lastmod::Repaired(moment) => sink.note(Code::LooseLastmod, line, || {
                format!(
                    "`modified` is {}; it was read as {moment}",
                    quote(&self.modified.0)
                )
            }),
            Lastmod::Missing | Lastmod::Bad => sink.note(Code::BadLastmod, line, || {
                format!("`modified` is {}; it was not used", quote(&self.modified.0))
            }),
        }
        page.lastmod = modified.moment();
        page.published = self
            .published
            .and_then(|text| read_lastmod(&text.0).moment());
        page.title = clean::title_in(title.unwrap_or_default(), &self.title.0);
        page.summary = clean::description_in(summary.unwrap_or_default(), &self.description.0);
        page.author = self.author.and_then(|author| clean::title(&author.0));
        // Nearly always that of the page before, which was found good.
        page.language = match language {
            Some(language) if language == self.language.0 => Some(language),
            room => clean::language_in(room.unwrap_or_default(), &self.language.0),
        };
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
        let (mut is_heading, mut level) = (false, Plain::Nothing);
        while let Some(name) = members.next_key::<Name>()? {
            match name {
                Name::Type => {
                    let Text(kind) = members.next_value()?;
                    is_heading = kind == "heading";
                    block.unknown = (!BLOCKS.contains(&&*kind)).then(|| kind.into_owned());
                }
                Name::Level => level = members.next_value()?,
                Name::Other => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        let is_level = |number: f64| number.fract() == 0.0 && (1.0..=6.0).contains(&number);
        block.bad_heading = is_heading && !matches!(level, Plain::Number(level) if is_level(level));
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

/// What is wrong with a line, which the parser takes for a whole document.
fn in_line(error: &serde_json::Error) -> String {
    error
        .to_string()
        .replacen(" at line 1 column ", " at column ", 1)
}
