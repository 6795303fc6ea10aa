//! Which encoding a page is in, and its text.
//!
//! The order is that of browsers: byte order mark, then the `charset` of the Content-Type, then what the page itself
//! says in its first [`PRESCAN_BYTES`], then UTF-8. Nothing is ever guessed from the frequency of letters, and nothing
//! fails: bytes that make no sense become U+FFFD.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use html5gum::{Token, Tokenizer};

/// How far into a page its own word on the encoding is looked for, as in the HTML standard.
pub const PRESCAN_BYTES: usize = 1_024;

/// The text of an HTML page.
pub fn decode_html<'a>(bytes: &'a [u8], content_type: Option<&str>) -> Cow<'a, str> {
    decode(bytes, content_type, declared_in_page)
}

/// The text of a document that cannot name its own encoding, such as JSON.
pub fn decode_plain<'a>(bytes: &'a [u8], content_type: Option<&str>) -> Cow<'a, str> {
    decode(bytes, content_type, |_| None)
}

fn decode<'a>(
    bytes: &'a [u8],
    content_type: Option<&str>,
    declared: impl Fn(&[u8]) -> Option<&'static Encoding>,
) -> Cow<'a, str> {
    let encoding = content_type
        .and_then(charset_parameter)
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .or_else(|| declared(&bytes[..bytes.len().min(PRESCAN_BYTES)]))
        .unwrap_or(UTF_8);
    // `Encoding::decode` lets a byte order mark win over the encoding asked for, and drops the mark.
    encoding.decode(bytes).0
}

/// The `charset` of a Content-Type, or of the `content` of `<meta http-equiv>`.
fn charset_parameter(content_type: &str) -> Option<&str> {
    content_type.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches(['"', '\'']))
    })
}

/// What the first bytes of a page say: an XML declaration, `<meta charset>` or `<meta http-equiv>`.
fn declared_in_page(start: &[u8]) -> Option<&'static Encoding> {
    let encoding = declared_in_xml(start).or_else(|| declared_in_meta(start))?;
    // A declaration that could be read byte by byte cannot be true if it says UTF-16; the standard reads it as UTF-8.
    Some(if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    })
}

fn declared_in_xml(start: &[u8]) -> Option<&'static Encoding> {
    let declaration = start.strip_prefix(b"<?xml")?;
    let end = memchr::memmem::find(declaration, b"?>")?;
    let declaration = std::str::from_utf8(&declaration[..end]).ok()?;
    let (_, after) = declaration.split_once("encoding")?;
    let value = after.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    Encoding::for_label(value[1..].split(quote).next()?.as_bytes())
}

fn declared_in_meta(start: &[u8]) -> Option<&'static Encoding> {
    // A comment may hold a meta element, so the bytes go through the tokenizer rather than a search.
    for token in Tokenizer::new(start) {
        let Ok(token) = token;
        let Token::StartTag(tag) = token else {
            continue;
        };
        if tag.name != b"meta" {
            continue;
        }
        let attribute = |name: &[u8]| {
            tag.attributes
                .get(name)
                .map(|value| String::from_utf8_lossy(value).into_owned())
        };
        let label = attribute(b"charset").or_else(|| {
            let equiv = attribute(b"http-equiv")?;
            let content = attribute(b"content")?;
            equiv
                .trim()
                .eq_ignore_ascii_case("content-type")
                .then(|| charset_parameter(&content).map(str::to_owned))?
        });
        if let Some(encoding) = label.and_then(|label| Encoding::for_label(label.as_bytes())) {
            return Some(encoding);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::SHIFT_JIS;

    fn shift_jis(text: &str) -> Vec<u8> {
        SHIFT_JIS.encode(text).0.into_owned()
    }

    #[test]
    fn a_shift_jis_page_that_says_so_is_read() {
        for page in [
            "<meta charset=Shift_JIS><title>狐の巣</title>",
            "<meta http-equiv=Content-Type content='text/html; charset=x-sjis'><title>狐の巣</title>",
            "<?xml version='1.0' encoding='Shift_JIS'?><title>狐の巣</title>",
        ] {
            assert_eq!(decode_html(&shift_jis(page), None), page);
        }
    }

    #[test]
    fn the_content_type_wins_over_the_page() {
        let page = "<meta charset=koi8-r><title>狐</title>";
        let bytes = shift_jis(page);
        let text = decode_html(&bytes, Some("text/html; Charset=\"shift_jis\""));
        assert_eq!(text, page);
    }

    #[test]
    fn a_byte_order_mark_wins_over_everything_and_is_dropped() {
        let mut bytes = vec![0xff, 0xfe];
        for unit in "<title>é".encode_utf16() {
            bytes.extend(unit.to_le_bytes());
        }
        let text = decode_html(&bytes, Some("text/html; charset=iso-8859-1"));
        assert_eq!(text, "<title>é");
    }

    #[test]
    fn an_unknown_charset_is_passed_over() {
        let text = decode_html(
            "<meta charset=klingon>é".as_bytes(),
            Some("text/html; charset=x"),
        );
        assert_eq!(text, "<meta charset=klingon>é");
    }

    #[test]
    fn a_charset_in_a_comment_says_nothing() {
        let page = "<!-- <meta charset=koi8-r> -->é";
        assert_eq!(decode_html(page.as_bytes(), None), page);
    }

    #[test]
    fn a_page_that_claims_utf_16_byte_by_byte_is_utf_8() {
        let page = "<meta charset=utf-16>é";
        assert_eq!(decode_html(page.as_bytes(), None), page);
    }

    #[test]
    fn broken_utf_8_is_replaced_not_refused() {
        assert_eq!(decode_html(b"a\xffb", None), "a\u{fffd}b");
        assert_eq!(decode_plain(b"\xef\xbb\xbf{}", None), "{}");
    }
}
