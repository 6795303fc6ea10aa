//! The attributes of a tag, found by quick-xml, as places in its text.
//!
//! Places rather than pieces of text, so that one list serves all tags of a document.

use std::borrow::Cow;
use std::ops::Range;

use quick_xml::events::attributes::{AttrError, Attribute as QuickAttribute, Attributes};

use super::{MAX_ATTRIBUTE_BYTES, MAX_ATTRIBUTES, XmlFault, resolve};

/// One attribute.
#[derive(Debug)]
pub(super) struct Attribute {
    key: Range<usize>,
    /// The place of the first colon in the key.
    colon: Option<usize>,
    value: Range<usize>,
    /// The value with its references resolved, if it has any.
    resolved: Option<String>,
}

impl Attribute {
    pub(super) fn key<'a>(&self, tag: &'a str) -> &'a str {
        &tag[self.key.clone()]
    }

    pub(super) fn prefix<'a>(&self, tag: &'a str) -> Option<&'a str> {
        self.colon.map(|colon| &tag[self.key.start..colon])
    }

    /// The name without its prefix.
    pub(super) fn name<'a>(&self, tag: &'a str) -> &'a str {
        let start = self.colon.map_or(self.key.start, |colon| colon + 1);
        &tag[start..self.key.end]
    }

    pub(super) fn value<'a>(&'a self, tag: &'a str) -> &'a str {
        match &self.resolved {
            Some(resolved) => resolved,
            None => &tag[self.value.clone()],
        }
    }
}

/// Fills `list` with the attributes of a tag, whose name ends at `name_end`.
pub(super) fn split(tag: &str, name_end: usize, list: &mut Vec<Attribute>) -> Result<(), XmlFault> {
    let name = &tag[..name_end];
    let malformed = |what: String| Err(XmlFault::Malformed(what));
    list.clear();
    // Looking for doubles among places is faster than quick-xml's own way, which keeps the keys as well.
    for attribute in Attributes::new(tag, name_end).with_checks(false) {
        let (key, value) = match attribute {
            Ok(QuickAttribute { key, value }) => match value {
                Cow::Borrowed(value) => (key.into_inner(), value),
                Cow::Owned(_) => return malformed(unquoted(name)),
            },
            Err(AttrError::ExpectedEq(_)) => {
                return malformed(format!(
                    "an attribute of <{name}> is not followed by = and a value"
                ));
            }
            Err(_) => return malformed(unquoted(name)),
        };
        if key.is_empty() {
            return malformed(format!("an attribute of <{name}> has no name"));
        }
        if list.len() == MAX_ATTRIBUTES {
            return Err(XmlFault::TooMuch(format!(
                "<{name}> has more than {MAX_ATTRIBUTES} attributes"
            )));
        }
        if list.iter().any(|other| other.key(tag) == key) {
            return malformed(format!("<{name}> has the same attribute twice"));
        }
        let place = place(tag, key);
        list.push(Attribute {
            colon: memchr::memchr(b':', key.as_bytes()).map(|colon| place.start + colon),
            key: place,
            value: self::place(tag, value),
            resolved: resolved(value)?,
        });
    }
    Ok(())
}

/// Where a piece of the tag stands in it.
fn place(tag: &str, piece: &str) -> Range<usize> {
    let start = piece.as_ptr() as usize - tag.as_ptr() as usize;
    start..start + piece.len()
}

fn unquoted(name: &str) -> String {
    format!("the value of an attribute of <{name}> is not between quotation marks")
}

/// A value with its references resolved, if it has any.
fn resolved(raw: &str) -> Result<Option<String>, XmlFault> {
    if raw.len() > MAX_ATTRIBUTE_BYTES {
        return Err(XmlFault::TooMuch(format!(
            "an attribute is longer than {MAX_ATTRIBUTE_BYTES} bytes"
        )));
    }
    match memchr::memchr2(b'<', b'&', raw.as_bytes()) {
        None => return Ok(None),
        Some(_) if raw.contains('<') => {
            return Err(XmlFault::Malformed(
                "an attribute contains <; write &lt;".into(),
            ));
        }
        Some(_) => {}
    }
    let mut resolved = String::with_capacity(raw.len());
    let mut pieces = raw.split('&');
    resolved.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (reference, text) = piece.split_once(';').ok_or(XmlFault::BareAmpersand)?;
        resolved.push(resolve(reference)?);
        resolved.push_str(text);
    }
    Ok(Some(resolved))
}
