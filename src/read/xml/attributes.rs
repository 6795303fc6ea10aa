//! The attributes of a tag, as places in its text.
//!
//! Places rather than pieces of text, so that one list serves all tags of a document.

use std::ops::Range;

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

/// Fills `list` with the attributes of a tag, whose name ends at `place`.
pub(super) fn split(
    tag: &str,
    mut place: usize,
    list: &mut Vec<Attribute>,
) -> Result<(), XmlFault> {
    let name = &tag[..place];
    let malformed = |what: String| Err(XmlFault::Malformed(what));
    let bytes = tag.as_bytes();
    list.clear();
    loop {
        place = skip_space(bytes, place);
        if place == bytes.len() {
            return Ok(());
        }
        if list.len() == MAX_ATTRIBUTES {
            return Err(XmlFault::TooMuch(format!(
                "<{name}> has more than {MAX_ATTRIBUTES} attributes"
            )));
        }
        let start = place;
        let mut colon = None;
        while let Some(&byte) = bytes.get(place)
            && byte != b'='
            && !is_space(byte)
        {
            if byte == b':' {
                colon = colon.or(Some(place));
            }
            place += 1;
        }
        let key = start..place;
        if key.is_empty() {
            return malformed(format!("an attribute of <{name}> has no name"));
        }
        place = skip_space(bytes, place);
        if bytes.get(place) != Some(&b'=') {
            return malformed(format!(
                "an attribute of <{name}> is not followed by = and a value"
            ));
        }
        place = skip_space(bytes, place + 1);
        let quote = match bytes.get(place) {
            Some(&quote @ (b'"' | b'\'')) => quote,
            _ => return malformed(unquoted(name)),
        };
        let start = place + 1;
        let Some(length) = memchr::memchr(quote, &bytes[start..]) else {
            return malformed(unquoted(name));
        };
        let value = start..start + length;
        place = value.end + 1;
        if list.iter().any(|other| other.key(tag) == &tag[key.clone()]) {
            return malformed(format!("<{name}> has the same attribute twice"));
        }
        let resolved = resolved(&tag[value.clone()])?;
        list.push(Attribute {
            key,
            colon,
            value,
            resolved,
        });
    }
}

fn unquoted(name: &str) -> String {
    format!("the value of an attribute of <{name}> is not between quotation marks")
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn skip_space(bytes: &[u8], mut place: usize) -> usize {
    while bytes.get(place).copied().is_some_and(is_space) {
        place += 1;
    }
    place
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
