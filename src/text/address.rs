//! Addresses that need no parser.
//!
//! A parser takes thousands of steps for the host alone, and nearly every address that is met again and again (in a
//! document, in the store) is at a host that was parsed a moment ago, in the form in which [`Url`] writes it.

use url::{Position, Url};

/// What [`Url::parse`] makes of `text`, with less work if it is at the same origin as `near`.
pub fn parse_near(text: &str, near: &Url) -> Option<Url> {
    match path_at(text, near) {
        // Two slashes would be another host.
        Some(path) if !path.starts_with("//") => near.join(path).ok(),
        _ => Url::parse(text).ok(),
    }
}

/// The path, and perhaps the query, of an address at the origin of `near`, if it surely is in the form in which [`Url`]
/// would write it. None only means that the parser has to be asked.
pub fn path_at<'a>(text: &'a str, near: &Url) -> Option<&'a str> {
    let path = text.strip_prefix(&near[..Position::BeforePath])?;
    (path.starts_with('/') && is_plain_path(path.as_bytes())).then_some(path)
}

/// What a byte of a path means.
struct Meaning;

impl Meaning {
    /// It stays as it is, wherever it stands.
    const PLAIN: u8 = 0;
    /// It depends on where it stands.
    const DEPENDS: u8 = 1;
    /// The parser has to be asked.
    const OTHER: u8 = 2;

    /// For every byte, because asking one by one takes longer than everything else about an address.
    const OF: [u8; 256] = {
        let mut of = [Meaning::OTHER; 256];
        let plain =
            b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_~!$&()*+,;=:@";
        let mut place = 0;
        while place < plain.len() {
            of[plain[place] as usize] = Meaning::PLAIN;
            place += 1;
        }
        of[b'.' as usize] = Meaning::DEPENDS;
        of[b'?' as usize] = Meaning::DEPENDS;
        of[b'%' as usize] = Meaning::DEPENDS;
        of
    };
}

/// A path, and perhaps a query, without dot segments or anything that is percent-encoded on the way.
pub fn is_plain_path(path: &[u8]) -> bool {
    let worst = path
        .iter()
        .fold(0, |worst, &byte| worst | Meaning::OF[usize::from(byte)]);
    match worst {
        Meaning::PLAIN => true,
        Meaning::DEPENDS => is_plain_in_its_place(path),
        _ => false,
    }
}

/// The same for a path of plain bytes and of those that are not so everywhere.
fn is_plain_in_its_place(path: &[u8]) -> bool {
    let end = memchr::memchr(b'?', path).unwrap_or(path.len());
    // An encoded dot may be a dot segment: for the parser to decide. In a query all of this is just text.
    memchr::memchr2_iter(b'.', b'%', &path[..end])
        .all(|place| path[place] == b'.' && place > 0 && path[place - 1] != b'/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_looks_like_a_path_but_leads_elsewhere_is_left_to_the_parser() {
        let near = Url::parse("https://a.example/list.xml").unwrap();
        for text in [
            "https://a.example//b.example/x",
            "https://a.example/\\b.example/x",
            "https://a.example/\t/b.example/x",
            "https://a.example.b.example/",
            "https://a.example:8443/x",
            "https://a.example@b.example/",
            "https://a.example/a/../b",
            "https://a.example/a/%2e%2e/b",
            "https://a.example/a#b",
            "https://a.example",
            "/relative",
            "",
        ] {
            assert_eq!(parse_near(text, &near), Url::parse(text).ok(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn it_is_the_address_that_the_parser_finds(
            near in "https?://(a\\.example|127\\.0\\.0\\.1|\\[::1\\]|xn--bcher-kva\\.example)(:8080)?(/[a-z./?]{0,8})?",
            rest in "[/a-z.%?#:@\\\\&;= é\t-]{0,12}",
            is_same in any::<bool>(),
        ) {
            let near = Url::parse(&near).unwrap();
            let origin = if is_same { &near[..Position::BeforePath] } else { "https://b.example" };
            let text = format!("{origin}{rest}");
            prop_assert_eq!(parse_near(&text, &near), Url::parse(&text).ok());
        }
    }
}
