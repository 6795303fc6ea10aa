//! XML from strangers: events with their namespaces, or a refusal.
//!
//! Exactly one root element that is closed, no DOCTYPE, no entities but the five, no illegal characters, prefixes
//! resolved, and limits on everything that a document could make grow. A document that ends too early is an error here,
//! never a short success.
//!
//! Made for one way of reading: forward, once, while the bytes arrive. Every byte is checked once and copied once, and
//! events lend from that copy, which is why a Change List of 50,000 entries is read faster than a loop around quick-xml
//! collects it; quick-xml copies what it streams, and checks it again. The fuzzer holds the two against each other.

mod attributes;
mod input;
mod split;
pub mod tree;

use std::io::{self, Read};

use self::attributes::Attribute;
use self::input::Input;
pub use self::input::InputError;
use self::split::Kind;
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
    /// What is between `<` and `>`, in which the attributes have their places.
    text: &'a str,
    attributes: &'a [Attribute],
    namespaces: &'a Namespaces,
    empty: bool,
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
    pub fn plain_attributes(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let text = self.text;
        let plain = self.attributes.iter().filter(move |attribute| {
            attribute.prefix(text).is_none() && !is_declaration(attribute.key(text))
        });
        plain.map(move |attribute| (attribute.name(text), attribute.value(text)))
    }

    /// All attributes as (namespace, name, value), without the namespace declarations.
    pub fn attributes(&self) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
        let (text, namespaces) = (self.text, self.namespaces);
        let others = self
            .attributes
            .iter()
            .filter(move |attribute| !is_declaration(attribute.key(text)));
        others.map(move |attribute| {
            // Every prefix was looked up when the tag was read.
            let prefix = attribute.prefix(text);
            let namespace = prefix.and_then(|prefix| namespaces.find(prefix));
            (
                namespace.unwrap_or_default(),
                attribute.name(text),
                attribute.value(text),
            )
        })
    }
}

/// Whether an attribute declares a namespace.
fn is_declaration(key: &str) -> bool {
    key.strip_prefix("xmlns")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
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
        let mut bindings = self.bindings.iter().rev();
        // Most tags have no prefix. To compare nothing with nothing is left out, because it takes as long as all the rest
        // on processors that look at the place where an empty text is not.
        let bound = match prefix.is_empty() {
            true => bindings.find(|binding| binding.prefix.is_empty()),
            false => bindings.find(|binding| binding.prefix == prefix),
        };
        bound.map(|binding| binding.uri.as_str())
    }

    /// Takes the declarations of a tag, and then makes sure that the prefixes of its other attributes are known.
    fn declare(
        &mut self,
        tag: &str,
        attributes: &[Attribute],
        depth: usize,
    ) -> Result<(), XmlFault> {
        for attribute in attributes {
            let key = attribute.key(tag);
            if !is_declaration(key) {
                continue;
            }
            if self.bindings.len() == MAX_NAMESPACES {
                return Err(XmlFault::TooMuch(format!(
                    "more than {MAX_NAMESPACES} namespaces are declared"
                )));
            }
            self.bindings.push(Binding {
                prefix: key.strip_prefix("xmlns:").unwrap_or_default().to_owned(),
                uri: attribute.value(tag).to_owned(),
                depth,
            });
        }
        for attribute in attributes {
            if let Some(prefix) = attribute.prefix(tag)
                && !is_declaration(attribute.key(tag))
                && self.find(prefix).is_none()
            {
                return Err(XmlFault::UnknownPrefix(prefix.to_owned()));
            }
        }
        Ok(())
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
    input: Input<R>,
    attributes: Vec<Attribute>,
    namespaces: Namespaces,
    open: OpenElements,
    root: Root,
    /// An element closed by its own tag: its declarations end with the next event.
    leave_empty: bool,
    skip_text: bool,
    character: [u8; 4],
}

/// Where in the document the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Root {
    Ahead,
    Open,
    Closed,
}

/// The names of the elements that are open, one behind the other in one text.
#[derive(Default)]
struct OpenElements {
    names: String,
    starts: Vec<usize>,
}

impl OpenElements {
    fn depth(&self) -> usize {
        self.starts.len()
    }

    fn root(&self) -> String {
        let end = self.starts.get(1).copied().unwrap_or(self.names.len());
        self.names[..end].to_owned()
    }

    fn push(&mut self, name: &str) {
        self.starts.push(self.names.len());
        self.names.push_str(name);
    }

    /// Closes the innermost element, which must have this name.
    fn pop(&mut self, name: &str) -> Result<(), XmlFault> {
        let Some(start) = self.starts.pop() else {
            return Err(XmlFault::Malformed(format!("</{name}> closes nothing")));
        };
        let expected = &self.names[start..];
        if name != expected {
            return Err(XmlFault::Malformed(format!(
                "</{name}> comes before <{expected}> is closed"
            )));
        }
        self.names.truncate(start);
        Ok(())
    }
}

impl<R: Read> XmlReader<R> {
    /// A reader over bytes in any encoding that [`Input`] knows.
    pub fn new(source: R) -> Self {
        XmlReader {
            input: Input::new(source),
            attributes: Vec::new(),
            namespaces: Namespaces::default(),
            open: OpenElements::default(),
            root: Root::Ahead,
            leave_empty: false,
            skip_text: false,
            character: [0; 4],
        }
    }

    /// The line on which the last event began, or failed.
    ///
    /// Asked for rather than given with every event, because counting is not free.
    pub fn line(&mut self) -> u32 {
        self.input.line()
    }

    /// From now on leaves out text, or no longer: between the elements of a list there is a lot of it, all spaces.
    ///
    /// References and CDATA are given all the same.
    pub fn skip_text(&mut self, skip: bool) {
        self.skip_text = skip;
    }

    /// The encoding of the document, if it is not UTF-8.
    pub fn foreign_encoding(&self) -> Option<&'static str> {
        self.input.foreign_encoding()
    }

    /// The next event. After an error nothing more is to be had.
    #[allow(clippy::should_implement_trait)] // It lends from the reader, which `Iterator` cannot.
    pub fn next(&mut self) -> Result<Item<'_>, XmlFault> {
        if self.leave_empty {
            self.leave_empty = false;
            self.namespaces.leave(self.open.depth());
        }
        let Some(kind) = self.piece()? else {
            return match self.root {
                Root::Ahead => Err(XmlFault::Empty),
                Root::Open => Err(XmlFault::CutOff(self.open.root())),
                Root::Closed => Ok(Item::End),
            };
        };
        let inside = self.open.depth() > 0;
        match kind {
            Kind::Text if inside => Ok(Item::Text(self.input.event())),
            Kind::Text if self.input.event().trim_ascii().is_empty() => Ok(Item::Skipped),
            Kind::CData if inside => {
                Ok(Item::Text(between(self.input.event(), "<![CDATA[", "]]>")))
            }
            Kind::Reference if inside => {
                let character = resolve(between(self.input.event(), "&", ";"))?;
                Ok(Item::Text(character.encode_utf8(&mut self.character)))
            }
            Kind::Text | Kind::CData | Kind::Reference => match self.root {
                Root::Closed => Err(XmlFault::AfterTheEnd),
                _ => Err(XmlFault::NotXml),
            },
            Kind::Open => self.open(false),
            Kind::Empty => self.open(true),
            Kind::Close => {
                let name = between(self.input.event(), "</", ">").trim_ascii_end();
                self.open.pop(name)?;
                self.namespaces.leave(self.open.depth());
                if self.open.depth() == 0 {
                    self.root = Root::Closed;
                }
                Ok(Item::Close)
            }
            Kind::Other => Ok(Item::Skipped),
        }
    }

    /// Finds the next piece of the document, which then is the input's event; `None` at the end.
    fn piece(&mut self) -> Result<Option<Kind>, XmlFault> {
        loop {
            let text = self.input.begin();
            if let Some((kind, length)) = split::piece(text)? {
                self.input.end(length);
                if kind == Kind::Text && self.skip_text && self.open.depth() > 0 {
                    continue;
                }
                return Ok(Some(kind));
            }
            match self.input.more() {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => {
                    return Err(match self.input.failure() {
                        Some(failure) => XmlFault::Input(failure.clone()),
                        None => XmlFault::Io(error),
                    });
                }
            }
            let text = self.input.begin();
            return match text.as_bytes().first() {
                None => Ok(None),
                Some(b'&') => Err(XmlFault::BareAmpersand),
                Some(b'<') => Err(match self.root {
                    Root::Open => XmlFault::CutOff(self.open.root()),
                    Root::Ahead | Root::Closed => XmlFault::CutOffOutside,
                }),
                Some(_) => {
                    let length = text.len();
                    self.input.end(length);
                    Ok(Some(Kind::Text))
                }
            };
        }
    }

    /// Turns a start tag into an [`Item`], declaring the namespaces that it brings.
    fn open(&mut self, empty: bool) -> Result<Item<'_>, XmlFault> {
        if self.root == Root::Closed {
            return Err(XmlFault::AfterTheEnd);
        }
        let depth = self.open.depth() + 1;
        if depth > MAX_DEPTH {
            return Err(XmlFault::TooMuch(format!(
                "elements are nested more than {MAX_DEPTH} deep"
            )));
        }
        let text = between(self.input.event(), "<", if empty { "/>" } else { ">" });
        let (name, colon) = name_of(text);
        if name.is_empty() {
            return Err(XmlFault::Malformed("a tag has no name".into()));
        }
        self.attributes.clear();
        if name.len() < text.len() {
            attributes::split(text, name.len(), &mut self.attributes)?;
            self.namespaces.declare(text, &self.attributes, depth)?;
        }
        if empty {
            self.leave_empty = true;
        } else {
            self.open.push(name);
        }
        if self.root == Root::Ahead {
            self.root = if empty { Root::Closed } else { Root::Open };
        }
        let (prefix, name) = match colon {
            Some(colon) => (&name[..colon], &name[colon + 1..]),
            None => ("", name),
        };
        let namespace = match self.namespaces.find(prefix) {
            Some(namespace) => namespace,
            None if prefix.is_empty() => "",
            None => return Err(XmlFault::UnknownPrefix(prefix.to_owned())),
        };
        Ok(Item::Open(Tag {
            namespace,
            name,
            text,
            attributes: &self.attributes,
            namespaces: &self.namespaces,
            empty,
        }))
    }
}

/// The name with which the inside of a tag begins, and where the colon in it is.
#[inline]
fn name_of(text: &str) -> (&str, Option<usize>) {
    let mut colon = None;
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            // Of all that is no more than a space, nothing but white space is let in.
            ..=b' ' => return (&text[..place], colon),
            b':' if colon.is_none() => colon = Some(place),
            _ => {}
        }
    }
    (text, colon)
}

/// A piece of markup without its delimiters, by which it was found.
fn between<'a>(event: &'a str, before: &str, after: &str) -> &'a str {
    &event[before.len()..event.len() - after.len()]
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
            ("<a ='1'/>", "Malformed"),
            ("<>x</>", "Malformed"),
            ("< a></ a>", "Malformed"),
            ("<?><a/>?>", "Malformed"),
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
