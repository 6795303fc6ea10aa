//! Words and addresses as they may stand in a feed, whoever wrote them.

use std::borrow::Cow;

use crate::text::clean::is_language;
use crate::text::is_legal;

/// Whether a byte may stand anywhere in an address.
const PLAIN_IN_HREF: [bool; 256] = {
    let mut is_plain = [false; 256];
    let bytes = b"-._~:/?=&+,;@0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut place = 0;
    while place < bytes.len() {
        is_plain[bytes[place] as usize] = true;
        place += 1;
    }
    is_plain
};

/// A name cannot be declared as HTML, so what looks like it is written with other characters; and addresses of mail are
/// nobody's name.
pub(super) fn person_name(name: &str) -> String {
    let words = name.split_whitespace();
    let words = words.filter(|word| !is_mail_address(word.trim_matches(['<', '>', '(', ')'])));
    let words: Vec<String> = words
        .map(|word| {
            let word = word.replace('<', "\u{2039}").replace('>', "\u{203A}");
            match word.split_once('&') {
                Some((_, rest)) if rest.contains(';') => legal(word.replace('&', "\u{FF06}")),
                _ => legal(word),
            }
        })
        .collect();
    words.join(" ")
}

fn is_mail_address(word: &str) -> bool {
    let parts = word.split_once('@');
    parts.is_some_and(|(who, host)| !who.is_empty() && host.contains('.'))
}

/// Without the characters that would break the feed for every reader (those that XML 1.0 forbids), or that tell of broken
/// text: C1 controls, and what stands for bytes that could not be read.
pub(super) fn legal<'a>(text: impl Into<Cow<'a, str>>) -> String {
    let text = text.into();
    // Nearly all text is plain, and taken as it is. All bytes are looked at, which is faster than to stop at one.
    let is_odd = |byte: u8| !matches!(byte, b'\n' | b' '..=b'~');
    if !(text.bytes()).fold(false, |is_any, byte| is_any | is_odd(byte)) {
        return text.into_owned();
    }
    let is_good = |c: char| is_legal(c) && !matches!(c, '\u{7F}'..='\u{9F}' | '\u{FFFD}');
    text.chars()
        .filter(|&character| is_good(character))
        .collect()
}

/// A language as it may be named in a feed. What was kept by earlier versions is not always one.
pub(super) fn language(tag: Option<&String>) -> Option<&str> {
    tag.map(String::as_str).filter(|tag| is_language(tag))
}

/// A media type as a link may name it (RFC 6838), without what is said besides.
pub(super) fn media_type(text: &str) -> Option<&str> {
    let essence = text.split(';').next().unwrap_or_default().trim();
    let is_name = |name: &str| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        name.starts_with(|first: char| first.is_ascii_alphanumeric())
            && name.bytes().all(is_allowed)
    };
    let (kind, name) = essence.split_once('/')?;
    (is_name(kind) && is_name(name)).then_some(essence)
}

/// An address as it may stand in a feed. What a URL may hold in practice is more than RFC 3986 has: brackets are for hosts
/// alone, a percent sign begins a pair of digits, and the fragment is the end.
pub(super) fn href(url: &str) -> Cow<'_, str> {
    // Nearly all are plain, and taken as they are.
    if url.bytes().all(|byte| PLAIN_IN_HREF[usize::from(byte)]) {
        return Cow::Borrowed(url);
    }
    let authority_ends = url.find("://").map_or(0, |place| {
        let rest = &url[place + 3..];
        place + 3 + rest.find(['/', '?', '#']).unwrap_or(rest.len())
    });
    let (host, rest) = url.split_at(authority_ends);
    let mut written = host.to_owned();
    let mut has_fragment = false;
    for (place, character) in rest.char_indices() {
        let is_plain = match character {
            '%' => (rest.as_bytes().get(place + 1..place + 3))
                .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)),
            '#' => !std::mem::replace(&mut has_fragment, true),
            _ => !character.is_ascii_control() && !"[]\\^`{|} <>\"".contains(character),
        };
        match is_plain {
            true => written.push(character),
            false => written.push_str(&format!("%{:02X}", u32::from(character))),
        }
    }
    Cow::Owned(legal(written))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_only_what_rfc_3986_allows() {
        for (url, written) in [
            (
                "https://[::1]/a[1]?b[2]#c[3]",
                "https://[::1]/a%5B1%5D?b%5B2%5D#c%5B3%5D",
            ),
            (
                "https://a.example/%41%4%zz%",
                "https://a.example/%41%254%25zz%25",
            ),
            (
                "https://a.example/?a|b^{c}`\\",
                "https://a.example/?a%7Cb%5E%7Bc%7D%60%5C",
            ),
            ("https://a.example/#one#two", "https://a.example/#one%23two"),
            (
                "https://a.example/~a;b=(c)*!$'",
                "https://a.example/~a;b=(c)*!$'",
            ),
        ] {
            assert_eq!(href(url), written);
        }
    }

    #[test]
    fn a_media_type_is_two_names() {
        for (given, written) in [
            ("image/png", Some("image/png")),
            ("image/svg+xml", Some("image/svg+xml")),
            ("text/html; charset=utf-8", Some("text/html")),
            ("text", None),
            ("text/", None),
            ("a/b/c", None),
            ("text/html\"<i>", None),
        ] {
            assert_eq!(media_type(given), written);
        }
    }

    #[test]
    fn a_name_is_no_markup_and_no_address_of_mail() {
        for (given, written) in [
            ("Fox", "Fox"),
            ("Fox <fox@den.example>", "Fox"),
            ("fox@den.example", ""),
            ("Fox @ Den", "Fox @ Den"),
            ("<b>Fox</b>", "\u{2039}b\u{203A}Fox\u{2039}/b\u{203A}"),
            ("Fox & Hen, R&D; &lt;", "Fox & Hen, R\u{FF06}D; \u{FF06}lt;"),
        ] {
            assert_eq!(person_name(given), written);
        }
    }
}
