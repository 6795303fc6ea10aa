//! XML from strangers: events with their namespaces, or a refusal.
//!
//! quick-xml splits the bytes; this module adds what it leaves to its callers: exactly one root element that is closed,
//! no DOCTYPE, no entities but the five, no illegal characters, prefixes resolved, and limits on everything that a
//! document could make grow. A document that ends too early is an error here, never a short success.
//!
//! Namespaces are resolved by a small stack instead of quick-xml's `NsReader`: a tag without `xmlns` costs one short
//! search, which makes a Change List of 50,000 entries half again as fast to read.

mod input;
pub mod tree;

use std::borrow::Cow;
use std::io::{self, Read};

use memchr::memmem;
use quick_xml::errors::{Error as QuickError, IllFormedError, SyntaxError};
use quick_xml::events::attributes::{AttrError, Attributes};
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use self::input::Input;
pub use self::input::InputError;
use crate::text::is_legal;

/// Real documents are three deep, metadata perhaps ten.
pub const MAX_DEPTH: usize = 32;
/// Attributes of one tag.
pub const MAX_ATTRIBUTES: usize = 64;
/// Bytes of one attribute's value.
pub const MAX_ATTRIBUTE_BYTES: usize = 8 * 1024;
/// Namespace declarations in force at the same time.
pub const MAX_NAMESPACES: usize = 32;
/// Bytes of one tag, text or comment: the parser has to hold it as a whole.
pub const MAX_EVENT_BYTES: usize = 1024 * 1024;

const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

/// Why a document is refused, and where.
#[derive(Debug, thiserror::Error)]
#[error("{what} (line {line})")]
pub struct XmlError {
    /// The reason.
    #[source]
    pub what: XmlFault,
    /// The line, counted from 1.
    pub line: u32,
}

/// The reasons for refusing a document.
#[derive(Debug, thiserror::Error)]
pub enum XmlFault {
    /// Nothing but white space.
    #[error("the document is empty")]
    Empty,
    /// Something else than XML.
    #[error("this is not an XML document")]
    NotXml,
    /// The end came before the root element was closed.
    #[error("the document is cut off: it ends before <{0}> is closed")]
    CutOff(String),
    /// The end came in the middle of something before or after the root element.
    #[error("the document is cut off in the middle of a tag or comment")]
    CutOffOutside,
    /// HTML, which announces itself with a DOCTYPE of its own.
    #[error("this is a web page, not an XML document")]
    WebPage,
    /// An ampersand that begins no reference.
    #[error("an ampersand (&) is written as it is; in XML it must be written &amp;")]
    BareAmpersand,
    /// A reference to something that only a DOCTYPE could define.
    #[error("&{0}; is not known in XML without a DOCTYPE")]
    UnknownEntity(String),
    /// A DOCTYPE.
    #[error("the document has a DOCTYPE, which is not accepted from strangers")]
    Doctype,
    /// A prefix that no `xmlns` declares.
    #[error("the prefix \"{0}:\" is used but not declared with xmlns:{0}=\"…\"")]
    UnknownPrefix(String),
    /// Text or a second element after the root.
    #[error("there is something after the end of the document's root element")]
    AfterTheEnd,
    /// Any other departure from XML's grammar.
    #[error("{0}")]
    Malformed(String),
    /// One of the limits of this module.
    #[error("{0}")]
    TooMuch(String),
    /// The bytes are not text.
    #[error(transparent)]
    Input(InputError),
    /// The source of the bytes failed.
    #[error("the document could not be read to its end")]
    Io(#[source] io::Error),
}

/// One step through a document.
#[derive(Debug)]
pub enum Item<'a> {
    /// A start tag, or a tag that is closed at once (see [`Tag::is_empty`]).
    Open(Tag<'a>),
    /// The end of the innermost open element.
    Close,
    /// A piece of text with its references resolved; one text may come in several pieces.
    Text(&'a str),
    /// A comment or an instruction.
    Skipped,
    /// The end of a complete document.
    End,
}

/// A start tag.
#[derive(Debug)]
pub struct Tag<'a> {
    namespace: &'a str,
    name: &'a str,
    attributes: Vec<RawAttribute<'a>>,
    namespaces: &'a Namespaces,
    empty: bool,
}

#[derive(Debug)]
struct RawAttribute<'a> {
    prefix: Option<&'a str>,
    name: &'a str,
    value: Cow<'a, str>,
}

impl<'a> Tag<'a> {
    /// The namespace URI; empty if there is none.
    pub fn namespace(&self) -> &'a str {
        self.namespace
    }

    /// The name without its prefix.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Whether the element is already closed (`<a/>`): no [`Item::Close`] follows.
    pub fn is_empty(&self) -> bool {
        self.empty
    }

    /// The attributes without a prefix, which is what ResourceSync defines.
    pub fn plain_attributes(&self) -> impl Iterator<Item = (&'a str, &str)> {
        let plain = self
            .attributes
            .iter()
            .filter(|attribute| attribute.prefix.is_none());
        plain.map(|attribute| (attribute.name, attribute.value.as_ref()))
    }

    /// All attributes as (namespace, name, value), without the namespace declarations.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.attributes.iter().map(|attribute| {
            // Every prefix was looked up when the tag was read.
            let namespace = attribute
                .prefix
                .and_then(|prefix| self.namespaces.find(prefix));
            (
                namespace.unwrap_or_default(),
                attribute.name,
                attribute.value.as_ref(),
            )
        })
    }
}

/// The namespace declarations in force.
#[derive(Debug, Default)]
struct Namespaces {
    bindings: Vec<Binding>,
}

#[derive(Debug)]
struct Binding {
    prefix: String,
    uri: String,
    depth: usize,
}

impl Namespaces {
    /// The URI that a prefix stands for; the empty prefix is the default namespace.
    fn find(&self, prefix: &str) -> Option<&str> {
        if prefix == "xml" {
            return Some(XML_NAMESPACE);
        }
        let bound = self
            .bindings
            .iter()
            .rev()
            .find(|binding| binding.prefix == prefix);
        bound.map(|binding| binding.uri.as_str())
    }

    fn leave(&mut self, depth: usize) {
        while self
            .bindings
            .last()
            .is_some_and(|binding| binding.depth > depth)
        {
            self.bindings.pop();
        }
    }
}

/// Reads a document event by event.
pub struct XmlReader<R> {
    reader: Reader<Input<R>>,
    buffer: Vec<u8>,
    namespaces: Namespaces,
    depth: usize,
    root: Root,
    /// An element closed by its own tag: its declarations end with the next event.
    leave_empty: bool,
    character: [u8; 4],
}

/// Where in the document the reader is.
#[derive(Debug, PartialEq, Eq)]
enum Root {
    Ahead,
    Open(String),
    Closed,
}

impl<R: Read> XmlReader<R> {
    /// A reader over bytes in any encoding that [`Input`] knows.
    pub fn new(source: R) -> Self {
        let mut reader = Reader::from_reader(Input::new(source));
        reader.config_mut().check_comments = true;
        XmlReader {
            reader,
            buffer: Vec::new(),
            namespaces: Namespaces::default(),
            depth: 0,
            root: Root::Ahead,
            leave_empty: false,
            character: [0; 4],
        }
    }

    /// The line on which the last event began, or failed.
    ///
    /// Asked for rather than given with every event, because counting is not free.
    pub fn line(&mut self) -> u32 {
        let inside = memchr::memchr_iter(b'\n', &self.buffer).count();
        let line = self.reader.get_mut().line();
        line.saturating_sub(u32::try_from(inside).unwrap_or(0))
            .max(1)
    }

    /// The encoding of the document, if it is not UTF-8.
    pub fn foreign_encoding(&self) -> Option<&'static str> {
        self.reader.get_ref().foreign_encoding()
    }

    /// The next event. After an error nothing more is to be had.
    #[allow(clippy::should_implement_trait)] // It lends from the reader, which `Iterator` cannot.
    pub fn next(&mut self) -> Result<Item<'_>, XmlFault> {
        if self.leave_empty {
            self.leave_empty = false;
            self.namespaces.leave(self.depth);
        }
        self.buffer.clear();
        self.reader.get_mut().begin_event();
        let event = match self.reader.read_event_into(&mut self.buffer) {
            Ok(event) => Seen::from(event),
            Err(error) => return Err(refusal(error, self.reader.get_ref(), &self.root)),
        };
        match event {
            Seen::Open { .. } if self.root == Root::Closed => Err(XmlFault::AfterTheEnd),
            Seen::Open {
                length,
                name_length,
                empty,
            } => {
                let depth = self.depth + 1;
                if depth > MAX_DEPTH {
                    return Err(XmlFault::TooMuch(format!(
                        "elements are nested more than {MAX_DEPTH} deep"
                    )));
                }
                let content = slice(&self.buffer, 1, length)?;
                if self.root == Root::Ahead {
                    self.root = match empty {
                        true => Root::Closed,
                        false => Root::Open(content[..name_length].to_owned()),
                    };
                }
                if empty {
                    self.leave_empty = true;
                } else {
                    self.depth = depth;
                }
                open(content, name_length, empty, depth, &mut self.namespaces)
            }
            Seen::Close => {
                // quick-xml has checked that the names match and that there is something to close.
                self.depth -= 1;
                self.namespaces.leave(self.depth);
                if self.depth == 0 {
                    self.root = Root::Closed;
                }
                Ok(Item::Close)
            }
            Seen::Text { start, length } if self.depth > 0 => {
                Ok(Item::Text(slice(&self.buffer, start, length)?))
            }
            Seen::Text { start: 0, length }
                if slice(&self.buffer, 0, length)?.trim_ascii().is_empty() =>
            {
                Ok(Item::Skipped)
            }
            Seen::Reference(character) if self.depth > 0 => match character {
                Ok(character) => Ok(Item::Text(character.encode_utf8(&mut self.character))),
                Err(what) => Err(what),
            },
            Seen::Text { .. } | Seen::Reference(_) => match self.root {
                Root::Closed => Err(XmlFault::AfterTheEnd),
                _ => Err(XmlFault::NotXml),
            },
            Seen::Doctype { html: true } => Err(XmlFault::WebPage),
            Seen::Doctype { html: false } => Err(XmlFault::Doctype),
            Seen::Other => Ok(Item::Skipped),
            Seen::End => match &self.root {
                Root::Ahead => Err(XmlFault::Empty),
                Root::Open(name) => Err(XmlFault::CutOff(name.clone())),
                Root::Closed => Ok(Item::End),
            },
        }
    }
}

/// An event without the text that it borrows: that text is still in the buffer.
enum Seen {
    Open {
        length: usize,
        name_length: usize,
        empty: bool,
    },
    Close,
    Text {
        start: usize,
        length: usize,
    },
    Reference(Result<char, XmlFault>),
    Doctype {
        html: bool,
    },
    Other,
    End,
}

impl From<Event<'_>> for Seen {
    fn from(event: Event<'_>) -> Self {
        let open = |tag: &BytesStart<'_>, empty| Seen::Open {
            length: tag.len(),
            name_length: tag.name().as_ref().len(),
            empty,
        };
        match event {
            Event::Start(tag) => open(&tag, false),
            Event::Empty(tag) => open(&tag, true),
            Event::End(_) => Seen::Close,
            Event::Text(text) => Seen::Text {
                start: 0,
                length: text.len(),
            },
            Event::CData(text) => Seen::Text {
                start: "<![CDATA[".len(),
                length: text.len(),
            },
            Event::GeneralRef(reference) => Seen::Reference(resolve(&reference)),
            Event::DocType(doctype) => Seen::Doctype {
                html: names_html(&doctype),
            },
            Event::Comment(_) | Event::PI(_) | Event::Decl(_) => Seen::Other,
            Event::Eof => Seen::End,
        }
    }
}

/// Whether a DOCTYPE is one of HTML's many.
fn names_html(doctype: &str) -> bool {
    let name = doctype.trim_ascii_start().get(..4);
    name.is_some_and(|name| name.eq_ignore_ascii_case("html"))
}

/// The part of the buffer that an event spoke of.
///
/// quick-xml lends its text only for as long as its event lives; the buffer holds the same bytes for longer.
fn slice(buffer: &[u8], start: usize, length: usize) -> Result<&str, XmlFault> {
    let text = buffer.get(start..start + length);
    text.and_then(|bytes| std::str::from_utf8(bytes).ok())
        .ok_or_else(|| XmlFault::Malformed("a part of the document cannot be read".into()))
}

/// Turns a start tag into an [`Item`], declaring the namespaces that it brings.
fn open<'a>(
    content: &'a str,
    name_length: usize,
    empty: bool,
    depth: usize,
    namespaces: &'a mut Namespaces,
) -> Result<Item<'a>, XmlFault> {
    let (name, rest) = content.split_at(name_length);
    let mut attributes = Vec::new();
    if !rest.trim_ascii().is_empty() {
        let declares = memmem::find(rest.as_bytes(), b"xmlns").is_some();
        let mut tag = Attributes::new(content, name.len());
        for (count, attribute) in tag.with_checks(true).enumerate() {
            let attribute = match attribute {
                Ok(attribute) => attribute,
                Err(error) => return Err(XmlFault::Malformed(bad_attribute(name, &error))),
            };
            if count == MAX_ATTRIBUTES {
                return Err(XmlFault::TooMuch(format!(
                    "<{name}> has more than {MAX_ATTRIBUTES} attributes"
                )));
            }
            let key = attribute.key.into_inner();
            let value = value(attribute.value)?;
            if declares && (key == "xmlns" || key.starts_with("xmlns:")) {
                if namespaces.bindings.len() == MAX_NAMESPACES {
                    return Err(XmlFault::TooMuch(format!(
                        "more than {MAX_NAMESPACES} namespaces are declared"
                    )));
                }
                let prefix = key.strip_prefix("xmlns:").unwrap_or_default().to_owned();
                namespaces.bindings.push(Binding {
                    prefix,
                    uri: value.into_owned(),
                    depth,
                });
                continue;
            }
            let (prefix, name) = match key.split_once(':') {
                Some((prefix, name)) => (Some(prefix), name),
                None => (None, key),
            };
            attributes.push(RawAttribute {
                prefix,
                name,
                value,
            });
        }
    }
    let namespaces: &'a Namespaces = namespaces;
    for prefix in attributes.iter().filter_map(|attribute| attribute.prefix) {
        if namespaces.find(prefix).is_none() {
            return Err(XmlFault::UnknownPrefix(prefix.to_owned()));
        }
    }
    let (prefix, name) = name.split_once(':').unwrap_or(("", name));
    let namespace = match namespaces.find(prefix) {
        Some(namespace) => namespace,
        None if prefix.is_empty() => "",
        None => return Err(XmlFault::UnknownPrefix(prefix.to_owned())),
    };
    Ok(Item::Open(Tag {
        namespace,
        name,
        attributes,
        namespaces,
        empty,
    }))
}

fn bad_attribute(name: &str, error: &AttrError) -> String {
    match error {
        AttrError::ExpectedEq(_) => {
            format!("an attribute of <{name}> is not followed by = and a value")
        }
        AttrError::Duplicated(..) => format!("<{name}> has the same attribute twice"),
        AttrError::UnquotedValue(_)
        | AttrError::ExpectedValue(_)
        | AttrError::ExpectedQuote(..) => {
            format!("the value of an attribute of <{name}> is not between quotation marks")
        }
    }
}

/// An attribute's value with its references resolved.
fn value(raw: Cow<'_, str>) -> Result<Cow<'_, str>, XmlFault> {
    if raw.len() > MAX_ATTRIBUTE_BYTES {
        return Err(XmlFault::TooMuch(format!(
            "an attribute is longer than {MAX_ATTRIBUTE_BYTES} bytes"
        )));
    }
    if memchr::memchr(b'<', raw.as_bytes()).is_some() {
        return Err(XmlFault::Malformed(
            "an attribute contains <; write &lt;".into(),
        ));
    }
    if memchr::memchr(b'&', raw.as_bytes()).is_none() {
        return Ok(raw);
    }
    let mut resolved = String::with_capacity(raw.len());
    let mut pieces = raw.split('&');
    resolved.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (reference, text) = piece.split_once(';').ok_or(XmlFault::BareAmpersand)?;
        resolved.push(resolve(reference)?);
        resolved.push_str(text);
    }
    Ok(Cow::Owned(resolved))
}

/// The character that a reference (without `&` and `;`) stands for.
fn resolve(reference: &str) -> Result<char, XmlFault> {
    // Rust's numbers may have a sign; XML's may not.
    let unsigned = reference.strip_prefix('#').filter(|n| !n.contains('+'));
    let numeric = unsigned.map(|number| match number.strip_prefix('x') {
        Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16),
        None => number.parse::<u32>(),
    });
    let character = match (reference, numeric) {
        ("amp", _) => '&',
        ("lt", _) => '<',
        ("gt", _) => '>',
        ("quot", _) => '"',
        ("apos", _) => '\'',
        (_, Some(Ok(number))) => match char::from_u32(number).filter(|&c| is_legal(c)) {
            Some(character) => character,
            None => return Err(XmlFault::Input(InputError::IllegalCharacter(number))),
        },
        _ if is_name(reference) => return Err(XmlFault::UnknownEntity(reference.to_owned())),
        _ => return Err(XmlFault::BareAmpersand),
    };
    Ok(character)
}

fn is_name(reference: &str) -> bool {
    !reference.is_empty()
        && reference.len() <= 64
        && reference.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// What quick-xml found wrong, in the words of this module.
fn refusal<R: Read>(error: QuickError, input: &Input<R>, root: &Root) -> XmlFault {
    if let Some(failure) = input.failure() {
        return XmlFault::Input(failure.clone());
    }
    match error {
        QuickError::Io(error) => XmlFault::Io(io::Error::new(error.kind(), error.to_string())),
        QuickError::IllFormed(IllFormedError::UnclosedReference) => XmlFault::BareAmpersand,
        QuickError::Syntax(SyntaxError::InvalidBangMarkup) => {
            XmlFault::Malformed(error.to_string())
        }
        // All other errors of syntax are things that the end of the input cut short.
        QuickError::Syntax(_) => match root {
            Root::Open(name) => XmlFault::CutOff(name.clone()),
            Root::Ahead | Root::Closed => XmlFault::CutOffOutside,
        },
        QuickError::IllFormed(IllFormedError::MismatchedEndTag { expected, found }) => {
            XmlFault::Malformed(format!("</{found}> comes before <{expected}> is closed"))
        }
        QuickError::IllFormed(IllFormedError::UnmatchedEndTag(found)) => {
            XmlFault::Malformed(format!("</{found}> closes nothing"))
        }
        QuickError::IllFormed(IllFormedError::DoubleHyphenInComment) => {
            XmlFault::Malformed("a comment contains --".into())
        }
        error => XmlFault::Malformed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events of a document, one word each, or the reason for refusing it.
    fn outline(document: &str) -> Result<String, XmlFault> {
        let mut reader = XmlReader::new(document.as_bytes());
        let mut words = Vec::new();
        loop {
            match reader.next()? {
                Item::Open(tag) => {
                    let mut word = format!("<{{{}}}{}", tag.namespace(), tag.name());
                    for (namespace, name, value) in tag.attributes() {
                        word += &format!(" {{{namespace}}}{name}={value}");
                    }
                    words.push(word + if tag.is_empty() { "/>" } else { ">" });
                }
                Item::Close => words.push("</>".into()),
                Item::Text(text) => words.push(text.into()),
                Item::Skipped => {}
                Item::End => return Ok(words.join("|")),
            }
        }
    }

    const GOOD: &str = "<?xml version=\"1.0\"?>\n<!-- c --><a xmlns='urn:a' k='v &amp; w'><b:b xmlns:b='urn:b'/>\
                        t &lt;<![CDATA[<&]]></a>\n";

    #[test]
    fn a_good_document_is_read_to_its_end() {
        assert_eq!(
            outline(GOOD).unwrap(),
            "<{urn:a}a {}k=v & w>|<{urn:b}b/>|t |<|<&|</>"
        );
    }

    #[test]
    fn a_document_cut_at_any_byte_is_never_a_success() {
        let end = GOOD.rfind('>').unwrap() + 1;
        for cut in 0..end {
            assert!(
                outline(&GOOD[..cut]).is_err(),
                "cut at {cut}: {}",
                &GOOD[..cut]
            );
        }
        assert!(outline(&GOOD[..end]).is_ok());
    }

    #[test]
    fn a_prefix_means_its_namespace_only_inside_the_element_that_declares_it() {
        let text = "<a xmlns:p='urn:1'><p:b><p:c xmlns:p='urn:2'/><p:d/></p:b><e xmlns='urn:3'><f/></e><g/></a>";
        assert_eq!(
            outline(text).unwrap(),
            "<{}a>|<{urn:1}b>|<{urn:2}c/>|<{urn:1}d/>|</>|<{urn:3}e>|<{urn:3}f/>|</>|<{}g/>|</>"
        );
    }

    #[test]
    fn every_refusal_has_its_own_reason() {
        let deep = "<a>".repeat(40);
        let wide = format!(
            "<a {}/>",
            (0..65).map(|n| format!("a{n}='' ")).collect::<String>()
        );
        let long = format!("<a a='{}'/>", "x".repeat(MAX_ATTRIBUTE_BYTES + 1));
        let prefixes = format!(
            "<a {}/>",
            (0..33)
                .map(|n| format!("xmlns:a{n}='u' "))
                .collect::<String>()
        );
        let endless = format!("<a>{}", "x".repeat(MAX_EVENT_BYTES + 200_000));
        for (document, reason) in [
            ("", "Empty"),
            (" \n ", "Empty"),
            ("hello", "NotXml"),
            ("<a><b></a>", "Malformed"),
            ("<a/><b/>", "AfterTheEnd"),
            ("<a/>text", "AfterTheEnd"),
            ("<a/>&amp;", "AfterTheEnd"),
            ("<a>1 & 2</a>", "BareAmpersand"),
            ("<a b='?x=1&y=2'/>", "BareAmpersand"),
            ("<a>&nbsp;</a>", "UnknownEntity"),
            ("<a b='&nbsp;'/>", "UnknownEntity"),
            ("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "Doctype"),
            ("<!DOCTYPE html><html/>", "WebPage"),
            ("<!doctype HTML><p>not found", "WebPage"),
            ("<!DOCTYPE urlset SYSTEM 'x'><urlset/>", "Doctype"),
            ("<?xml version='1.0'", "CutOffOutside"),
            ("<a>&#+65;</a>", "BareAmpersand"),
            ("<a/><!-- and", "CutOffOutside"),
            ("<rs:a/>", "UnknownPrefix"),
            ("<a rs:b='c'/>", "UnknownPrefix"),
            ("<a b='1' b='2'/>", "Malformed"),
            ("<a b=1/>", "Malformed"),
            ("<a b='<'/>", "Malformed"),
            ("<a>&#1;</a>", "IllegalCharacter"),
            ("<a>&#xD800;</a>", "IllegalCharacter"),
            ("<a b='&#xFFFE;'/>", "IllegalCharacter"),
            ("<a>\u{1}</a>", "IllegalCharacter"),
            (&deep, "TooMuch"),
            (&wide, "TooMuch"),
            (&long, "TooMuch"),
            (&prefixes, "TooMuch"),
            (&endless, "EventTooLong"),
        ] {
            let fault = outline(document).expect_err(document);
            let shown: String = document.chars().take(60).collect();
            assert!(
                format!("{fault:?}").contains(reason),
                "{shown} gave {fault:?}, not {reason}"
            );
        }
    }

    #[test]
    fn the_line_of_a_fault_is_told() {
        let mut reader = XmlReader::new("<a>\n<b/>\n\n<c/> & 2\n</a>".as_bytes());
        while reader.next().is_ok() {}
        assert_eq!(reader.line(), 2 + 2);
    }
}
