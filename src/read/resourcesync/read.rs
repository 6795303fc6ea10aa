//! Bytes to [`Document`], while they arrive.
//!
//! A fault of XML or of the root element costs the document; a fault of an entry costs that entry. Elements and
//! attributes may come in any order, with any prefix. Changes and pages are handed on one by one and not collected: the
//! caller keeps what is new to it, and throws it away if the document turns out to be broken.

use std::io::Read;

use url::Url;

use super::document::{Capability, DCTERMS, Document, Entry, RS, SITEMAP};
use crate::change::{ChangeKind, Link};
use crate::moment::{Moment, MomentError};
use crate::problem::{Code, Problem, Problems};
use crate::read::address;
use crate::read::xml::{InputError, Item, Tag, XmlFault, XmlReader};
use crate::text::{clean, quote};

/// The limit of the Sitemaps protocol.
pub const MAX_ENTRIES: usize = 50_000;
/// Text that is longer cannot be an address or a datetime.
const MAX_TEXT_BYTES: usize = 16 * 1024;
/// Links of one entry, or of the document itself.
const MAX_LINKS: usize = 64;
/// What an `rs:md` may say once about an entry.
const ENTRY_ATTRIBUTES: [&str; 12] = [
    "change",
    "datetime",
    "capability",
    "length",
    "type",
    "encoding",
    "hash",
    "path",
    "from",
    "until",
    "at",
    "completed",
];

/// How strictly to read.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadingRules {
    /// Takes `lastmod` for the time of a change that has no `datetime`, as ResourceSync 1.0 meant it.
    pub accept_lastmod: bool,
}

/// A document and how the reading went.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The document, without the entries that were handed on.
    pub document: Document,
    /// How many changes or pages were handed on.
    pub handed_on: usize,
    /// How many entries were ignored.
    pub ignored: usize,
    /// Whether the changes came newest first.
    pub newest_first: bool,
    /// The line of the root element.
    pub line: u32,
}

/// Reads a document from its first byte to its last.
///
/// `url` is where it came from, after redirects. Every change of a Change List and every page of a Resource List goes
/// to `each`; all other entries are in the result.
pub fn read(
    source: impl Read,
    url: &Url,
    rules: ReadingRules,
    problems: &mut Problems,
    each: &mut dyn FnMut(&Entry),
) -> Result<Reading, Problem> {
    let mut xml = XmlReader::new(source);
    let mut parser = Parser::new(url, rules, problems, each);
    loop {
        xml.skip_text(parser.collecting == Collecting::Nothing);
        let step = match xml.next() {
            Ok(Item::Open(tag)) => parser.open(&tag),
            Ok(Item::Close) => Ok(parser.close()),
            Ok(Item::Text(text)) => {
                parser.text(text);
                Ok(Need::Nothing)
            }
            Ok(Item::Skipped) => Ok(Need::Nothing),
            Ok(Item::End) => break,
            Err(fault) => return Err(broken(fault, url).at(xml.line())),
        };
        match step {
            Ok(Need::Nothing) => {}
            Ok(Need::Line) => parser.begin(xml.line()),
            Ok(Need::Place) => parser.judge.problems.place(url.as_str(), xml.line()),
            Ok(Need::Finish) => parser.finish_entry(),
            Ok(Need::LineAndFinish) => {
                parser.begin(xml.line());
                parser.finish_entry();
            }
            Err(refusal) => return Err(refusal.problem(url).at(xml.line())),
        }
    }
    if let Some(encoding) = xml.foreign_encoding() {
        let message = format!("the document is in {encoding}, not in UTF-8");
        parser
            .judge
            .problems
            .add(Problem::new(Code::NotUtf8, url, message).at(1));
    }
    parser.finish()
}

/// What the parser asks of the loop after a step.
enum Need {
    Nothing,
    /// The line of an element that was just opened.
    Line,
    /// The line of an element with which something is wrong.
    Place,
    /// An entry is complete.
    Finish,
    /// Both at once: an entry without content.
    LineAndFinish,
}

/// Why the document itself is refused.
enum Refusal {
    Namespace(String),
    RsNamespace(String),
    Root(String),
    TwoKinds(String, String),
    TooManyEntries,
}

impl Refusal {
    fn problem(self, url: &Url) -> Problem {
        match self {
            Refusal::Namespace(found) if found.is_empty() => Problem::new(
                Code::WrongNamespace,
                url,
                "the root element has no namespace",
            ),
            Refusal::Namespace(found) => Problem::new(
                Code::WrongNamespace,
                url,
                format!(
                    "the root element is in the namespace {}, not {SITEMAP}{}",
                    quote(&found),
                    near_miss(&found, SITEMAP)
                ),
            ),
            Refusal::RsNamespace(found) => Problem::new(
                Code::WrongRsNamespace,
                url,
                format!(
                    "`md` and `ln` are in {}, not {RS}{}",
                    quote_namespace(&found),
                    near_miss(&found, RS)
                ),
            ),
            Refusal::Root(found) if found.eq_ignore_ascii_case("html") => Problem::new(
                Code::NotXml,
                url,
                "this is a web page, not a ResourceSync document",
            ),
            Refusal::Root(found) => Problem::new(
                Code::WrongRoot,
                url,
                format!(
                    "the root element is <{}>, not <urlset> or <sitemapindex>",
                    shorten(&found)
                ),
            ),
            Refusal::TwoKinds(one, other) => Problem::new(
                Code::WrongCapability,
                url,
                format!(
                    "the document calls itself both {} and {}",
                    quote(&one),
                    quote(&other)
                ),
            ),
            Refusal::TooManyEntries => Problem::new(
                Code::TooManyEntries,
                url,
                format!("the document has more than {MAX_ENTRIES} entries"),
            ),
        }
    }
}

fn quote_namespace(found: &str) -> String {
    match found {
        "" => "no namespace".to_owned(),
        found => format!("the namespace {}", quote(found)),
    }
}

/// What is wrong with a namespace that looks right: it is a name, and one character makes it another.
fn near_miss(found: &str, right: &str) -> &'static str {
    let bare = |uri: &str| {
        let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
        let rest = rest.strip_prefix("www.").unwrap_or(rest);
        rest.trim_end_matches(['/', '#']).to_ascii_lowercase()
    };
    if right == RS && (found == SITEMAP || found.is_empty()) {
        " (write rs:md and rs:ln, and declare xmlns:rs)"
    } else if found.trim() == right {
        " (there is white space around it)"
    } else if found == right.replacen("http:", "https:", 1) {
        " (it is a name and not a link: http, even if the site has https)"
    } else if found == "http://www.openarchives.org/rs/" {
        " (so it was called in drafts before ResourceSync 1.0)"
    } else if found.trim_end_matches('/') == right.trim_end_matches('/') {
        " (look at the slash at its end)"
    } else if bare(found) == bare(right) {
        " (almost the same, but every character counts)"
    } else {
        ""
    }
}

/// A fault of XML as a problem of the document.
fn broken(fault: XmlFault, url: &Url) -> Problem {
    let code = match &fault {
        XmlFault::Empty | XmlFault::NotXml | XmlFault::WebPage => Code::NotXml,
        XmlFault::CutOff(_) | XmlFault::CutOffOutside | XmlFault::Io(_) => Code::CutOff,
        XmlFault::BareAmpersand => Code::BareAmpersand,
        XmlFault::UnknownEntity(_) | XmlFault::Doctype => Code::Doctype,
        XmlFault::UnknownPrefix(_) => Code::UnknownPrefix,
        XmlFault::AfterTheEnd | XmlFault::Malformed(_) => Code::Malformed,
        XmlFault::TooMuch(_) | XmlFault::Input(InputError::EventTooLong) => Code::TooComplex,
        XmlFault::Input(_) => Code::BadEncoding,
    };
    Problem::new(code, url, fault.to_string())
}

/// An entry while it is read.
#[derive(Default, Clone)]
struct Draft {
    entry: Entry,
    locs: u8,
    metadata: u8,
    conflict: Option<&'static str>,
    bad_change: Option<String>,
    bad_datetime: Option<(String, MomentError)>,
    bad_span: Option<(&'static str, String)>,
    leap_second: bool,
    prefixed_change: bool,
    /// Written as in a draft of ResourceSync.
    old_capability: Option<String>,
    /// A `loc` or `md` that is in no namespace, or another.
    foreign_loc: bool,
    foreign_metadata: bool,
    /// A `sitemap` in a list or a `url` in an index.
    wrong_element: bool,
    lastmod: String,
    note: String,
}

impl Draft {
    fn clear(&mut self) {
        self.entry.clear();
        self.lastmod.clear();
        (self.locs, self.metadata, self.conflict) = (0, 0, None);
        (self.bad_change, self.bad_datetime, self.bad_span) = (None, None, None);
        (self.leap_second, self.prefixed_change) = (false, false);
        (self.foreign_loc, self.foreign_metadata) = (false, false);
        self.old_capability = None;
    }
}

/// Which text is being collected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Collecting {
    Nothing,
    Loc,
    Lastmod,
    Note,
}

/// Walks through the document and collects what it says.
struct Parser<'a> {
    judge: Judge<'a>,
    depth: usize,
    in_entry: bool,
    collecting: Collecting,
    draft: Draft,
    /// Entries that came before the root said what kind of document this is.
    waiting: Vec<Draft>,
    entries: usize,
    has_capability: bool,
    old_modified: bool,
    foreign_metadata: Option<String>,
}

/// Decides what becomes of an entry. Apart from [`Parser`], so that the draft of an entry can stay where it is.
struct Judge<'a> {
    url: &'a Url,
    rules: ReadingRules,
    problems: &'a mut Problems,
    each: &'a mut dyn FnMut(&Entry),
    last: Option<Moment>,
    ascents: usize,
    descents: usize,
    reading: Reading,
}

impl<'a> Parser<'a> {
    fn new(
        url: &'a Url,
        rules: ReadingRules,
        problems: &'a mut Problems,
        each: &'a mut dyn FnMut(&Entry),
    ) -> Self {
        Parser {
            judge: Judge {
                url,
                rules,
                problems,
                each,
                last: None,
                ascents: 0,
                descents: 0,
                reading: Reading::default(),
            },
            depth: 0,
            in_entry: false,
            collecting: Collecting::Nothing,
            draft: Draft::default(),
            waiting: Vec::new(),
            entries: 0,
            has_capability: false,
            old_modified: false,
            foreign_metadata: None,
        }
    }

    fn open(&mut self, tag: &Tag<'_>) -> Result<Need, Refusal> {
        let depth = self.depth + 1;
        if !tag.is_empty() {
            self.depth = depth;
        }
        let sitemap = tag.namespace() == SITEMAP;
        let rs = !sitemap && tag.namespace() == RS;
        match (depth, tag.name()) {
            (1, name) => return self.open_root(tag.namespace(), name),
            (2, "url" | "sitemap") if sitemap => {
                self.entries += 1;
                if self.entries > MAX_ENTRIES {
                    return Err(Refusal::TooManyEntries);
                }
                self.draft.clear();
                self.draft.wrong_element =
                    (tag.name() == "sitemap") != self.judge.reading.document.is_index;
                self.in_entry = true;
                return Ok(if tag.is_empty() {
                    Need::LineAndFinish
                } else {
                    Need::Line
                });
            }
            (2, "md") if rs => return self.root_metadata(tag),
            (2, "ln") if rs => {
                let links = &mut self.judge.reading.document.links;
                return Ok(keep_link(links, tag, self.judge.url, self.judge.problems));
            }
            (3, "loc") if sitemap && self.in_entry => {
                self.draft.locs = self.draft.locs.saturating_add(1);
                if self.draft.locs == 1 && !tag.is_empty() {
                    self.collecting = Collecting::Loc;
                }
            }
            (3, "lastmod") if sitemap && self.in_entry => {
                self.draft.lastmod.clear();
                if !tag.is_empty() {
                    self.collecting = Collecting::Lastmod;
                }
            }
            (3, "description") if tag.namespace() == DCTERMS && self.in_entry => {
                self.draft.note.clear();
                if !tag.is_empty() {
                    self.collecting = Collecting::Note;
                }
            }
            (3, "md") if rs && self.in_entry => self.entry_metadata(tag),
            (3, "ln") if rs && self.in_entry => {
                let links = &mut self.draft.entry.details.links;
                return Ok(keep_link(links, tag, self.judge.url, self.judge.problems));
            }
            // What has the right name in the wrong namespace is passed over like any extension, but not in silence.
            (2, "url" | "sitemap") => {
                self.judge.reading.ignored += 1;
                if !self
                    .judge
                    .problems
                    .count_again(Code::EntryNamespace, self.judge.url.as_str())
                {
                    let message = format!(
                        "an entry is in {}, unlike the root element",
                        quote_namespace(tag.namespace())
                    );
                    self.judge.problems.add(Problem::new(
                        Code::EntryNamespace,
                        self.judge.url,
                        message,
                    ));
                }
                return Ok(Need::Place);
            }
            (3, "loc") if self.in_entry => self.draft.foreign_loc = true,
            (3, "md") if self.in_entry => self.draft.foreign_metadata = true,
            (2, "md" | "ln") if self.foreign_metadata.is_none() => {
                self.foreign_metadata = Some(tag.namespace().to_owned());
            }
            _ => {}
        }
        Ok(Need::Nothing)
    }

    fn open_root(&mut self, namespace: &str, name: &str) -> Result<Need, Refusal> {
        if name.eq_ignore_ascii_case("html") {
            return Err(Refusal::Root(name.to_owned()));
        }
        let is_index = match name {
            "urlset" => false,
            "sitemapindex" => true,
            other => return Err(Refusal::Root(other.to_owned())),
        };
        if namespace != SITEMAP {
            return Err(Refusal::Namespace(namespace.to_owned()));
        }
        self.judge.reading.document.is_index = is_index;
        Ok(Need::Line)
    }

    /// Notes the line of the element that was just opened.
    fn begin(&mut self, line: u32) {
        if self.in_entry {
            self.draft.entry.line = line;
        } else {
            self.judge.reading.line = line;
        }
    }

    fn close(&mut self) -> Need {
        let depth = self.depth;
        self.depth -= 1;
        match depth {
            3 => {
                if self.collecting == Collecting::Note {
                    self.draft.entry.details.note = clean::description(&self.draft.note);
                }
                self.collecting = Collecting::Nothing;
            }
            2 if self.in_entry => return Need::Finish,
            _ => {}
        }
        Need::Nothing
    }

    fn text(&mut self, text: &str) {
        if self.depth != 3 {
            return;
        }
        let target = match self.collecting {
            Collecting::Nothing => return,
            Collecting::Loc => &mut self.draft.entry.loc,
            Collecting::Lastmod => &mut self.draft.lastmod,
            Collecting::Note => &mut self.draft.note,
        };
        let text = match target.is_empty() {
            true => text.trim_start(),
            false => text,
        };
        // What is cut here is still too long to be an address, which is what has to be found out.
        let mut end = text.len().min(MAX_TEXT_BYTES - target.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        target.push_str(&text[..end]);
    }

    fn root_metadata(&mut self, tag: &Tag<'_>) -> Result<Need, Refusal> {
        let document = &mut self.judge.reading.document;
        let mut need = Need::Nothing;
        let mut capability = None;
        for (name, value) in tag.plain_attributes() {
            let target = match name {
                "capability" => {
                    capability = Some(value.trim());
                    continue;
                }
                "modified" => {
                    self.old_modified = true;
                    continue;
                }
                "from" => &mut document.from,
                "until" => &mut document.until,
                "at" => &mut document.at,
                "completed" => &mut document.completed,
                _ => continue,
            };
            match read_moment(value) {
                Ok((moment, _)) => *target = Some(moment),
                Err(error) => {
                    let message = format!("`{name}` is {}: {error}", quote(value));
                    self.judge
                        .problems
                        .add(Problem::new(Code::BadSpan, self.judge.url, message));
                    need = Need::Place;
                }
            }
        }
        let Some(text) = capability else {
            return Ok(need);
        };
        let (capability, old) = Capability::parse(text);
        if self.has_capability && capability != document.capability {
            return Err(Refusal::TwoKinds(
                document.capability.as_str().to_owned(),
                text.to_owned(),
            ));
        }
        if old {
            let message = format!(
                "the capability is written {}; today it is {}",
                quote(text),
                capability.as_str()
            );
            self.judge
                .problems
                .add(Problem::new(Code::OldCapability, self.judge.url, message));
            need = Need::Place;
        }
        document.capability = capability;
        self.has_capability = true;
        Ok(need)
    }

    fn entry_metadata(&mut self, tag: &Tag<'_>) {
        let draft = &mut self.draft;
        draft.metadata = draft.metadata.saturating_add(1);
        let entry = &mut draft.entry;
        for (name, value) in tag.plain_attributes() {
            let conflict = match name {
                "change" => match ChangeKind::parse(value.trim()) {
                    Some(kind) => set(&mut entry.change, kind),
                    None => set(&mut draft.bad_change, value.to_owned()),
                },
                "datetime" => match read_moment(value) {
                    Ok((moment, leap)) => {
                        draft.leap_second |= leap;
                        set(&mut entry.datetime, moment)
                    }
                    Err(error) => set(&mut draft.bad_datetime, (value.to_owned(), error)),
                },
                "capability" => {
                    let (capability, old) = Capability::parse(value.trim());
                    if old {
                        draft.old_capability = Some(value.to_owned());
                    }
                    set(&mut entry.capability, capability)
                }
                "length" => value
                    .trim()
                    .parse()
                    .is_ok_and(|length| set(&mut entry.details.length, length)),
                "type" => set(&mut entry.details.media_type, value.trim().to_owned()),
                "encoding" => set(&mut entry.details.encoding, value.trim().to_owned()),
                "hash" => set(&mut entry.details.hash, value.trim().to_owned()),
                "path" => set(&mut entry.path, value.trim().to_owned()),
                "from" | "until" | "at" | "completed" => {
                    let (name, target) = match name {
                        "from" => ("from", &mut entry.from),
                        "until" => ("until", &mut entry.until),
                        "at" => ("at", &mut entry.at),
                        _ => ("completed", &mut entry.completed),
                    };
                    match read_moment(value) {
                        Ok((moment, _)) => set(target, moment),
                        Err(_) => set(&mut draft.bad_span, (name, value.to_owned())),
                    }
                }
                _ => false,
            };
            if conflict {
                let names = ENTRY_ATTRIBUTES.iter().copied();
                draft.conflict = names.into_iter().find(|&known| known == name);
            }
        }
        if entry.change.is_some() && draft.bad_change.is_some() {
            draft.conflict = Some("change");
        }
        if entry.change.is_none() {
            draft.prefixed_change |= tag
                .attributes()
                .any(|(namespace, name, _)| namespace == RS && name == "change");
        }
    }

    /// Takes the entry that was just closed.
    fn finish_entry(&mut self) {
        self.in_entry = false;
        self.collecting = Collecting::Nothing;
        if self.has_capability {
            self.take_waiting();
            self.judge.take(&mut self.draft);
        } else {
            self.waiting.push(std::mem::take(&mut self.draft));
        }
    }

    /// Takes the entries that came too early, before any that came later.
    fn take_waiting(&mut self) {
        for mut draft in std::mem::take(&mut self.waiting) {
            self.judge.take(&mut draft);
        }
    }

    fn finish(mut self) -> Result<Reading, Problem> {
        if !self.has_capability {
            let line = self.judge.reading.line.max(1);
            let problem = match self.foreign_metadata.take() {
                Some(namespace) => Refusal::RsNamespace(namespace).problem(self.judge.url),
                None => Problem::new(
                    Code::NoCapability,
                    self.judge.url,
                    "the document does not say what it is (an ordinary sitemap?): it has no rs:md with a capability",
                ),
            };
            return Err(problem.at(line));
        }
        self.take_waiting();
        let document = &mut self.judge.reading.document;
        if let (Some(from), Some(until)) = (document.from, document.until)
            && until.comes_before(&from)
        {
            let message = format!("`until` ({until}) is earlier than `from` ({from})");
            let problem = Problem::new(Code::UntilBeforeFrom, self.judge.url, message);
            self.judge
                .problems
                .add(problem.at(self.judge.reading.line.max(1)));
            (document.from, document.until) = (None, None);
        }
        if self.old_modified && document.from.is_none() && document.at.is_none() {
            let message =
                "the root has modified, as before ResourceSync 1.0, and neither from nor at";
            self.judge.problems.add(
                Problem::new(Code::OldModified, self.judge.url, message).at(self
                    .judge
                    .reading
                    .line
                    .max(1)),
            );
        }
        self.judge.reading.newest_first = self.judge.descents > self.judge.ascents;
        Ok(self.judge.reading)
    }
}

impl Judge<'_> {
    /// Decides what an entry is, now that the kind of the document is known.
    fn take(&mut self, draft: &mut Draft) {
        if !self.take_address(draft) || !self.take_metadata(draft) {
            self.reading.ignored += 1;
            return;
        }
        let document = &self.reading.document;
        let streams = !document.is_index
            && match document.capability {
                // A list of lists that calls itself a list: the entries lead to documents, not to pages.
                Capability::ChangeList => {
                    draft.entry.capability != Some(Capability::ChangeList)
                        || draft.entry.change.is_some()
                        || draft.bad_change.is_some()
                }
                Capability::ResourceList => true,
                _ => false,
            };
        if !streams {
            self.reading.document.entries.push(draft.entry.clone());
            return;
        }
        if self.reading.document.capability == Capability::ChangeList && !self.take_change(draft) {
            self.reading.ignored += 1;
            return;
        }
        self.reading.handed_on += 1;
        (self.each)(&draft.entry);
    }

    fn take_address(&mut self, draft: &mut Draft) -> bool {
        let line = draft.entry.line;
        trim(&mut draft.entry.loc);
        if draft.locs > 1 {
            return self.ignore(Code::SeveralLocs, line, || {
                "an entry has more than one loc".to_owned()
            });
        }
        if draft.entry.loc.is_empty() {
            let message = match (draft.locs, draft.foreign_loc) {
                (0, true) => "the loc of an entry is not in the namespace of the root element",
                (0, false) => "an entry has no loc",
                _ => "the loc of an entry is empty",
            };
            return self.ignore(Code::NoLoc, line, || message.to_owned());
        }
        match address::resolve(&mut draft.entry.loc, self.url) {
            Ok(false) => true,
            Ok(true) => {
                let url = &draft.entry.loc;
                self.note(Code::RelativeLoc, line, || {
                    format!("a loc is relative; it was read as {}", quote(url))
                });
                true
            }
            Err(error) => {
                let loc = &draft.entry.loc;
                self.ignore(Code::BadLoc, line, || {
                    format!("the loc {} cannot be used: {error}", quote(loc))
                })
            }
        }
    }

    /// What holds for the `lastmod` and `rs:md` of every kind of entry.
    fn take_metadata(&mut self, draft: &mut Draft) -> bool {
        let line = draft.entry.line;
        if !draft.lastmod.is_empty() {
            // A lastmod that cannot be read is as good as none: it never decides on its own.
            draft.entry.lastmod = read_moment(&draft.lastmod).ok().map(|(moment, _)| moment);
        }
        if let Some(attribute) = draft.conflict {
            let loc = &draft.entry.loc;
            return self.ignore(Code::ConflictingMetadata, line, || {
                format!(
                    "the entry for {} has several rs:md that do not agree on {attribute}",
                    quote(loc)
                )
            });
        }
        if draft.metadata > 1 {
            self.note(Code::RepeatedMetadata, line, || {
                "an entry has several rs:md; they were read as one".to_owned()
            });
        }
        if draft.wrong_element {
            let is_index = self.reading.document.is_index;
            self.note(Code::WrongEntryElement, line, || match is_index {
                true => "a <sitemapindex> has a <url> among its entries".to_owned(),
                false => "a <urlset> has a <sitemap> among its entries".to_owned(),
            });
        }
        if let Some(value) = &draft.old_capability {
            let today = draft
                .entry
                .capability
                .as_ref()
                .map_or("", Capability::as_str);
            self.note(Code::OldCapability, line, || {
                format!(
                    "the capability of an entry is written {}; today it is {today}",
                    quote(value)
                )
            });
        }
        if let (Some(from), Some(until)) = (draft.entry.from, draft.entry.until)
            && until.comes_before(&from)
        {
            let loc = &draft.entry.loc;
            self.note(Code::UntilBeforeFrom, line, || {
                format!(
                    "`until` ({until}) is earlier than `from` ({from}) in the entry for {}",
                    quote(loc)
                )
            });
            (draft.entry.from, draft.entry.until) = (None, None);
        }
        if let Some((name, value)) = &draft.bad_span {
            self.note(Code::BadSpan, line, || {
                format!("`{name}` is {}, which is not a W3C datetime", quote(value))
            });
        }
        true
    }

    /// What the proposal asks of an entry of a Change List.
    fn take_change(&mut self, draft: &mut Draft) -> bool {
        let Draft { entry, .. } = draft;
        let line = entry.line;
        let loc = &entry.loc;
        if draft.metadata == 0 {
            let foreign = draft.foreign_metadata;
            return self.ignore(Code::NoMetadata, line, || match foreign {
                true => format!(
                    "the entry for {} has an md that is not in the namespace {RS}",
                    quote(loc)
                ),
                false => format!("the entry for {} has no rs:md", quote(loc)),
            });
        }
        let Some(kind) = entry.change else {
            return match &draft.bad_change {
                Some(value) => self.ignore(Code::UnknownChange, line, || {
                    format!(
                        "`change` is {}; it must be created, updated or deleted, in small letters",
                        quote(value)
                    )
                }),
                None if draft.prefixed_change => self.ignore(Code::NoChange, line, || {
                    format!(
                        "the entry for {} has rs:change where it needs change, without a prefix",
                        quote(loc)
                    )
                }),
                None => self.ignore(Code::NoChange, line, || {
                    format!("the entry for {} does not say what happened", quote(loc))
                }),
            };
        };
        if let Some((value, error)) = &draft.bad_datetime {
            return self.ignore_with(Code::BadDatetime, line, || {
                let message = format!("`datetime` is {}: {error}", quote(value));
                (
                    message,
                    repaired(value)
                        .map(|value| format!("<rs:md change=\"{kind}\" datetime=\"{value}\"/>")),
                )
            });
        }
        let datetime = match (entry.datetime, entry.lastmod) {
            (Some(datetime), _) => datetime,
            (None, Some(lastmod)) if self.rules.accept_lastmod => {
                self.note(Code::LastmodAccepted, line, || {
                    "an entry has no datetime; its lastmod was used, as asked for".to_owned()
                });
                entry.datetime = Some(lastmod);
                lastmod
            }
            (None, lastmod) => {
                return self.ignore_with(Code::NoDatetime, line, || {
                    let instead = match (lastmod, entry.at) {
                        (Some(_), _) => {
                            " (lastmod tells when the page was modified, not when the change was made)"
                        }
                        (None, Some(_)) => " (at belongs in Resource Lists, not here)",
                        (None, None) => "",
                    };
                    let message = format!(
                        "the entry for {} has no datetime and was ignored{instead}",
                        quote(loc)
                    );
                    let time = lastmod.or(entry.at);
                    (
                        message,
                        time.map(|time| format!("<rs:md change=\"{kind}\" datetime=\"{time}\"/>")),
                    )
                });
            }
        };
        if draft.leap_second {
            self.note(Code::LeapSecond, line, || {
                "a datetime has 60 seconds; it was read as 59".to_owned()
            });
        }
        self.check_span(datetime, line);
        self.check_order(datetime, line);
        true
    }

    fn check_span(&mut self, datetime: Moment, line: u32) {
        let Document { from, until, .. } = self.reading.document;
        let outside = match (from, until) {
            (Some(from), _) if datetime.is_surely_before(&from) => Some(("before from", from)),
            (_, Some(until)) if until.is_surely_before(&datetime) => Some(("after until", until)),
            _ => None,
        };
        if let Some((side, bound)) = outside {
            self.note(Code::OutsideSpan, line, || {
                format!("a change is dated {datetime}, {side} ({bound})")
            });
        }
    }

    fn check_order(&mut self, datetime: Moment, line: u32) {
        if let Some(last) = self.last {
            if last.comes_before(&datetime) {
                self.ascents += 1;
            } else if datetime.comes_before(&last) {
                self.descents += 1;
                self.note(Code::NotOldestFirst, line, || {
                    format!("a change of {datetime} comes after one of {last}")
                });
            }
        }
        self.last = Some(datetime);
    }

    /// Reports something that costs nothing.
    fn note(&mut self, code: Code, line: u32, message: impl FnOnce() -> String) {
        // The message of the first one stays, so that the others need not be written.
        if !self.problems.count_again(code, self.url.as_str()) {
            self.problems
                .add(Problem::new(code, self.url, message()).at(line.max(1)));
        }
    }

    /// Reports something that costs the entry.
    fn ignore(&mut self, code: Code, line: u32, message: impl FnOnce() -> String) -> bool {
        self.note(code, line, message);
        false
    }

    /// The same, with corrected lines where they can be told.
    fn ignore_with(
        &mut self,
        code: Code,
        line: u32,
        say: impl FnOnce() -> (String, Option<String>),
    ) -> bool {
        if !self.problems.count_again(code, self.url.as_str()) {
            let (message, snippet) = say();
            let problem = Problem::new(code, self.url, message).at(line.max(1));
            self.problems.add(match snippet {
                Some(snippet) => problem.with_snippet(snippet),
                None => problem,
            });
        }
        false
    }
}

/// Sets a value that may be given once. Says whether it contradicts the one before.
fn set<T: PartialEq>(target: &mut Option<T>, value: T) -> bool {
    match target {
        Some(before) => *before != value,
        None => {
            *target = Some(value);
            false
        }
    }
}

fn trim(text: &mut String) {
    text.truncate(text.trim_end().len());
    let leading = text.len() - text.trim_start().len();
    if leading > 0 {
        text.drain(..leading);
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A datetime, and whether its sixtieth second had to be read as the fifty-ninth.
fn read_moment(text: &str) -> Result<(Moment, bool), MomentError> {
    let text = text.trim();
    match Moment::parse(text) {
        Err(MomentError::OutOfRange) if text.get(16..19) == Some(":60") => {
            let seconds = format!("{}:59{}", &text[..16], &text[19..]);
            Ok((Moment::parse(&seconds)?, true))
        }
        parsed => Ok((parsed?, false)),
    }
}

/// What somebody meant who wrote a datetime almost right.
fn repaired(text: &str) -> Option<Moment> {
    let mut text = text.trim().to_uppercase().replacen(' ', "T", 1);
    if let Some(sign) = text.len().checked_sub(5)
        && text.is_ascii()
        && matches!(text.as_bytes().get(sign), Some(b'+' | b'-'))
        && sign > 10
    {
        text.insert(sign + 3, ':');
    }
    Moment::parse(&text)
        .or_else(|_| Moment::parse(&format!("{text}Z")))
        .ok()
}

/// Adds a link to those of a document or an entry, as long as there are not too many.
fn keep_link(links: &mut Vec<Link>, tag: &Tag<'_>, base: &Url, problems: &mut Problems) -> Need {
    if links.len() == MAX_LINKS {
        return Need::Nothing;
    }
    let (link, need) = read_link(tag, base, problems);
    links.extend(link);
    need
}

/// A link, if it leads anywhere, and whether something is wrong with it.
fn read_link(tag: &Tag<'_>, base: &Url, problems: &mut Problems) -> (Option<Link>, Need) {
    let mut link = Link::new("", "");
    for (name, value) in tag.plain_attributes() {
        let value = value.trim();
        match name {
            // A relation that is a URI is compared as it is; a token in any case is the same.
            "rel" if value.contains(':') => link.rel = value.to_owned(),
            "rel" => link.rel = value.to_ascii_lowercase(),
            "href" => link.href = value.to_owned(),
            "pri" => link.pri = value.parse().ok().filter(|pri| (1..=999_999).contains(pri)),
            "modified" => link.modified = read_moment(value).ok().map(|(moment, _)| moment),
            "length" => link.length = value.parse().ok(),
            "type" => link.media_type = Some(value.to_owned()),
            "encoding" => link.encoding = Some(value.to_owned()),
            "hash" => link.hash = Some(value.to_owned()),
            _ => {}
        }
    }
    if link.rel.is_empty() || link.href.is_empty() {
        let message = "an rs:ln needs both rel and href";
        problems.add(Problem::new(Code::BadLink, base, message));
        return (None, Need::Place);
    }
    let text = link.href.clone();
    match address::resolve(&mut link.href, base) {
        Ok(false) => (Some(link), Need::Nothing),
        Ok(true) => {
            let message = format!(
                "the link {} is relative; it was read as {}",
                quote(&text),
                quote(&link.href)
            );
            problems.add(Problem::new(Code::RelativeLoc, base, message));
            (Some(link), Need::Place)
        }
        Err(error) => {
            let message = format!("the link {} cannot be used: {error}", quote(&text));
            problems.add(Problem::new(Code::BadLink, base, message));
            (None, Need::Place)
        }
    }
}
