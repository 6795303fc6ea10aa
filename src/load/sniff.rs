//! Whether something is a document of ours or a web page, by its root element and nothing else.
//!
//! A page *about* sitemaps is a page, and a document behind a long comment is a document.

use std::io::{BufRead, Cursor, Read};

/// How much is looked at to find the root element.
const SNIFF_BYTES: u64 = 8 * 1024;

/// Looks at the beginning, and gives it back together with the rest.
pub(super) fn is_document(reader: &mut dyn BufRead) -> (bool, impl BufRead) {
    let mut head = Vec::new();
    // A failed transfer is reported by the body itself.
    let _ = Read::take(&mut *reader, SNIFF_BYTES).read_to_end(&mut head);
    // Without the zero bytes, UTF-16 looks like ASCII, which is enough to find a name.
    let names: Vec<u8> = head.iter().copied().filter(|&byte| byte != 0).collect();
    let found = matches!(root_name(&names), Some(b"urlset" | b"sitemapindex"));
    (found, Cursor::new(head).chain(reader))
}

/// The name of the first element, without its prefix.
fn root_name(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    loop {
        let start = memchr::memchr(b'<', rest)?;
        rest = &rest[start..];
        let end: &[u8] = match rest {
            [b'<', b'?', ..] => b"?>",
            [b'<', b'!', b'-', b'-', ..] => b"-->",
            [b'<', b'!', ..] => b">",
            _ => break,
        };
        rest = &rest[memchr::memmem::find(rest, end)? + end.len()..];
    }
    let name = rest.get(1..)?;
    let end = name
        .iter()
        .position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/'))?;
    name[..end].rsplit(|byte| *byte == b':').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_one(text: &[u8]) -> bool {
        let mut reader = text;
        let (found, mut whole) = is_document(&mut reader);
        let mut read = Vec::new();
        whole.read_to_end(&mut read).unwrap();
        assert_eq!(read, text, "nothing is lost by looking");
        found
    }

    #[test]
    fn a_document_is_known_by_its_root_element() {
        let long_comment = format!("<!-- {} --><urlset>", "x".repeat(5_000));
        let utf16: Vec<u8> = "\u{feff}<urlset>"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        for text in [
            "<urlset/>".as_bytes(),
            b"\xef\xbb\xbf<?xml version='1.0'?>\n<?xml-stylesheet href='a'?><sitemapindex xmlns='x'>",
            b"<sm:urlset>",
            b"<!DOCTYPE urlset><urlset>",
            long_comment.as_bytes(),
            &utf16,
        ] {
            assert!(is_one(text), "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn a_page_that_speaks_of_documents_is_a_page() {
        for text in [
            "",
            "urlset",
            "<!DOCTYPE html><title>&lt;urlset&gt; explained</title>",
            "<html><!-- <urlset> --><title>urlset</title>",
            "<!-- <urlset> never ends",
            "<",
            "<urlsets>",
        ] {
            assert!(!is_one(text.as_bytes()), "{text}");
        }
    }
}
