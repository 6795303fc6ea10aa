//! What a `<` begins: a tag with its attributes, a comment, or nothing.

use memchr::{memchr, memmem};

/// One piece of markup.
pub(super) enum Markup<'a> {
    Comment(&'a [u8]),
    Start(Tag<'a>),
    End(&'a [u8]),
    Other,
}

impl<'a> Markup<'a> {
    /// Whether the `<` at `at` begins markup and is not a mere `<`.
    pub(super) fn begins(page: &[u8], at: usize) -> bool {
        page.get(at) == Some(&b'<')
            && match page.get(at + 1) {
                Some(b'!' | b'?') => true,
                Some(b'/') => {
                    !matches!(page.get(at + 2), None | Some(b'>' | b'/'))
                        && !page[at + 2].is_ascii_whitespace()
                }
                Some(byte) => byte.is_ascii_alphabetic(),
                None => false,
            }
    }

    /// Reads the markup that begins at `at`, and says where it ends; none if it is a mere `<`.
    pub(super) fn read(page: &'a [u8], at: usize) -> Option<(Markup<'a>, usize)> {
        if !Markup::begins(page, at) {
            return None;
        }
        let rest = &page[at + 1..];
        let to_bracket = || memchr(b'>', rest).map_or(page.len(), |end| at + 1 + end + 1);
        Some(match rest[0] {
            b'!' => match rest.strip_prefix(b"!--") {
                Some(rest) => match memmem::find(rest, b"-->") {
                    Some(end) => (Markup::Comment(&rest[..end]), at + 4 + end + 3),
                    None => (Markup::Other, page.len()),
                },
                None => (Markup::Other, to_bracket()),
            },
            b'?' => (Markup::Other, to_bracket()),
            b'/' => {
                let name = name(page, at + 2);
                let after = at + 2 + name.len();
                let end = match page.get(after) {
                    Some(b'>') => after + 1,
                    _ => to_bracket(),
                };
                (Markup::End(name), end)
            }
            _ => {
                let name = name(page, at + 1);
                let inside = &rest[name.len()..];
                let length = end_of_tag(inside);
                let tag = Tag {
                    name,
                    inside: &inside[..length],
                };
                let end = (at + 1 + name.len() + length + 1).min(page.len());
                (Markup::Start(tag), end)
            }
        })
    }
}

/// A start tag.
pub(super) struct Tag<'a> {
    pub(super) name: &'a [u8],
    /// What stands between the name and the `>`.
    pub(super) inside: &'a [u8],
}

impl<'a> Tag<'a> {
    pub(super) fn is(&self, name: &[u8]) -> bool {
        is(self.name, name)
    }

    pub(super) fn attribute(&self, wanted: &[u8]) -> Option<&'a [u8]> {
        if self.inside.len() <= wanted.len() {
            return None;
        }
        let mut attributes = self.attributes();
        attributes
            .find(|(name, _)| is(name, wanted))
            .map(|(_, value)| value)
    }

    /// Names and values, as they are written.
    pub(super) fn attributes(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut rest = self.inside;
        std::iter::from_fn(move || {
            let is_gap = |byte: u8| byte.is_ascii_whitespace() || byte == b'/';
            let start = rest.iter().position(|&byte| !is_gap(byte))?;
            rest = &rest[start..];
            let length = (rest.iter().skip(1)).position(|&byte| is_gap(byte) || byte == b'=');
            let (name, after) = rest.split_at(length.map_or(rest.len(), |length| length + 1));
            rest = after;
            let Some(value) = after.trim_ascii_start().strip_prefix(b"=") else {
                return Some((name, &b""[..]));
            };
            let value = value.trim_ascii_start();
            let (value, after) = match value.first() {
                Some(&quote @ (b'"' | b'\'')) => {
                    let value = &value[1..];
                    let end = memchr(quote, value).unwrap_or(value.len());
                    (&value[..end], value.get(end + 1..).unwrap_or_default())
                }
                _ => {
                    let end = value.iter().position(u8::is_ascii_whitespace);
                    value.split_at(end.unwrap_or(value.len()))
                }
            };
            rest = after;
            Some((name, value))
        })
    }
}

/// An attribute that is written as almost all are, about which nobody can be of two minds: `name="value"`.
pub(super) struct Attribute<'a> {
    pub(super) name: &'a [u8],
    pub(super) quote: u8,
    /// Where the value begins; it goes on to the next `quote`.
    pub(super) value: usize,
}

impl<'a> Attribute<'a> {
    /// Reads the attribute that begins at `at`, if it is one of these.
    pub(super) fn plain(page: &'a [u8], at: usize) -> Option<Attribute<'a>> {
        let rest = page.get(at..)?;
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        let length = rest.iter().position(|byte| !is_name(byte))?;
        match *rest.get(length..length + 2)? {
            [b'=', quote @ (b'"' | b'\'')] if length > 0 => Some(Attribute {
                name: &rest[..length],
                quote,
                value: at + length + 2,
            }),
            _ => None,
        }
    }
}

/// The length of the inside of a tag: up to the `>` that is not in quotation marks.
fn end_of_tag(inside: &[u8]) -> usize {
    let (mut place, mut after_equals) = (0, false);
    while let Some(&byte) = inside.get(place) {
        place += 1;
        match byte {
            b'>' => return place - 1,
            // A quotation mark means something only where a value begins.
            b'"' | b'\'' if after_equals => {
                place += memchr(byte, &inside[place..]).map_or(0, |end| end + 1);
                after_equals = false;
            }
            b'=' => after_equals = true,
            byte if byte.is_ascii_whitespace() => {}
            _ => after_equals = false,
        }
    }
    inside.len()
}

/// The name that begins at `at`.
pub(super) fn name(page: &[u8], at: usize) -> &[u8] {
    let text = page.get(at..).unwrap_or_default();
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/');
    let end = text.iter().position(is_end).unwrap_or(text.len());
    &text[..end]
}

/// Whether two names are the same.
pub(super) fn is(name: &[u8], other: &[u8]) -> bool {
    name.eq_ignore_ascii_case(other)
}
