//! Where the next piece of a document ends.
//!
//! Looks at delimiters only: what is between them is for others to judge. Every piece is found in text that may end
//! anywhere, so "not here yet" is a usual answer.

use memchr::{memchr, memmem};

use super::XmlFault;
use crate::text::seek::{first_of_one, first_of_three, first_of_two};

/// The kinds of pieces that a document is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text up to the next markup or reference.
    Text,
    /// `&…;`
    Reference,
    /// `<![CDATA[…]]>`
    CData,
    /// `<…>`
    Open,
    /// `<…/>`
    Empty,
    /// `</…>`
    Close,
    /// A comment or an instruction.
    Other,
}

/// The kind and the length of the piece with which `text` begins, if all of it is there.
pub(super) fn piece(text: &str) -> Result<Option<(Kind, usize)>, XmlFault> {
    let bytes = text.as_bytes();
    let end = match bytes {
        [b'<', b'/', rest @ ..] => (Kind::Close, first_of_one(rest, b'>').map(|end| end + 3)),
        [b'<', b'?', b'>', ..] => {
            return Err(XmlFault::Malformed("an instruction has no name".into()));
        }
        [b'<', b'?', rest @ ..] => (Kind::Other, memmem::find(rest, b"?>").map(|end| end + 4)),
        [b'<', b'!', ..] => return declaration(bytes),
        [b'<'] => return Ok(None),
        [b'<', ..] => return Ok(tag(bytes)),
        [b'&', rest @ ..] => match first_of_three(rest, *b";&<") {
            Some(end) if rest[end] != b';' => return Err(XmlFault::BareAmpersand),
            end => (Kind::Reference, end.map(|end| end + 2)),
        },
        text => (Kind::Text, first_of_two(text, *b"<&")),
    };
    Ok(end.1.map(|length| (end.0, length)))
}

/// A start tag, or a tag that is closed at once; a `>` between quotation marks does not end it.
fn tag(bytes: &[u8]) -> Option<(Kind, usize)> {
    let mut place = 1;
    loop {
        let next = place + first_of_three(&bytes[place..], *b">\"'")?;
        let quote = match (bytes[next], bytes[next - 1]) {
            (b'>', b'/') => return Some((Kind::Empty, next + 1)),
            (b'>', _) => return Some((Kind::Open, next + 1)),
            (quote, _) => quote,
        };
        let value = next + 1;
        place = value + first_of_one(&bytes[value..], quote)? + 1;
    }
}

/// What begins with `<!`.
fn declaration(bytes: &[u8]) -> Result<Option<(Kind, usize)>, XmlFault> {
    const COMMENT: &[u8] = b"<!--";
    const CDATA: &[u8] = b"<![CDATA[";
    const DOCTYPE: &[u8] = b"<!DOCTYPE";
    let may_be = |beginning: &[u8]| {
        let length = bytes.len().min(beginning.len());
        bytes[..length].eq_ignore_ascii_case(&beginning[..length])
    };
    if bytes.starts_with(COMMENT) {
        let rest = &bytes[COMMENT.len()..];
        return match memmem::find(rest, b"--") {
            Some(end) if rest.get(end + 2).is_some_and(|&byte| byte != b'>') => {
                Err(XmlFault::Malformed("a comment contains --".into()))
            }
            Some(end) if rest.len() > end + 2 => Ok(Some((Kind::Other, COMMENT.len() + end + 3))),
            _ => Ok(None),
        };
    }
    if bytes.starts_with(CDATA) {
        let end = memmem::find(&bytes[CDATA.len()..], b"]]>");
        return Ok(end.map(|end| (Kind::CData, CDATA.len() + end + 3)));
    }
    if bytes.len() >= DOCTYPE.len() && may_be(DOCTYPE) {
        // Its first > is enough to refuse it, wherever it ends.
        let rest = &bytes[DOCTYPE.len()..];
        return match memchr(b'>', rest) {
            Some(end) if names_html(&rest[..end]) => Err(XmlFault::WebPage),
            Some(_) => Err(XmlFault::Doctype),
            None => Ok(None),
        };
    }
    if [COMMENT, CDATA, DOCTYPE].into_iter().any(may_be) && bytes.len() < DOCTYPE.len() {
        return Ok(None);
    }
    Err(XmlFault::Malformed(
        "after <! neither a comment nor CDATA begins".into(),
    ))
}

/// Whether a DOCTYPE is one of HTML's many.
fn names_html(doctype: &[u8]) -> bool {
    let name = doctype.trim_ascii_start().get(..4);
    name.is_some_and(|name| name.eq_ignore_ascii_case(b"html"))
}
