//! What a document is, by how it begins and by nothing else: names and media types are often wrong.

/// The beginning of a document, looked at once for all formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beginning {
    /// Nothing but white space.
    Empty,
    /// XML with this root element.
    Xml(Xml),
    /// JSON, or lines of it.
    Json {
        /// The names of the members that come first, at the top.
        keys: Vec<String>,
        /// Whether the first line is a whole object, and another line follows or nothing.
        is_one_line: bool,
        /// The beginning itself.
        text: String,
    },
    /// Any other text.
    Text(String),
    /// Compressed with zstd.
    Zstd,
    /// No text at all.
    Binary,
}

/// The root element of an XML document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xml {
    /// Its name without a prefix.
    pub root: String,
    /// Its attributes as they are written, among them the namespaces; or as much as could be seen.
    pub tag: String,
    /// Whether a capability is mentioned, as in every ResourceSync document.
    pub has_capability: bool,
}

impl Beginning {
    /// Judges the first bytes of a document.
    pub fn of(head: &[u8]) -> Beginning {
        // Without the zero bytes, UTF-16 looks like ASCII, which is enough to find a name.
        let is_wide = matches!(
            head,
            [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [b'<', 0, ..] | [0, b'<', ..]
        );
        let seen: Vec<u8> = match is_wide {
            true => (head.iter().copied())
                .filter(|&byte| byte != 0)
                .skip_while(|&byte| byte > 0xF0)
                .collect(),
            false => head.to_vec(),
        };
        let text = seen
            .strip_prefix(b"\xEF\xBB\xBF")
            .unwrap_or(&seen)
            .trim_ascii_start();
        match text.first() {
            None => Beginning::Empty,
            Some(b'<') => match root(text) {
                Some(xml) => Beginning::Xml(xml),
                None => Beginning::Text(String::from_utf8_lossy(text).into_owned()),
            },
            Some(_) if head.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]) => Beginning::Zstd,
            Some(_) if text.contains(&0) => Beginning::Binary,
            Some(b'{' | b'[') => {
                let text = String::from_utf8_lossy(text).into_owned();
                let line = text.lines().next().unwrap_or_default();
                Beginning::Json {
                    keys: keys(&text),
                    is_one_line: serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok(),
                    text,
                }
            }
            Some(_) => Beginning::Text(String::from_utf8_lossy(text).into_owned()),
        }
    }

    /// The root element of an XML document.
    pub fn xml(&self) -> Option<&Xml> {
        match self {
            Beginning::Xml(xml) => Some(xml),
            _ => None,
        }
    }

    /// In words, for whoever expected something else.
    pub fn words(&self) -> &'static str {
        match self {
            Beginning::Empty => "an empty document",
            Beginning::Xml(xml) if xml.root.eq_ignore_ascii_case("html") => "a web page",
            Beginning::Xml(_) => "an XML document of another kind",
            Beginning::Json { .. } => "a JSON document of another kind",
            Beginning::Text(text) if text.starts_with('<') => "a web page",
            Beginning::Text(_) => "plain text",
            Beginning::Zstd => "a compressed file",
            Beginning::Binary => "neither text nor XML",
        }
    }
}

/// The first element.
fn root(text: &[u8]) -> Option<Xml> {
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
    let end =
        (name.iter()).position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/'))?;
    let local = name[..end].rsplit(|byte| *byte == b':').next()?;
    let tag = &name[..memchr::memchr(b'>', name).unwrap_or(name.len())];
    Some(Xml {
        root: String::from_utf8_lossy(local).into_owned(),
        tag: String::from_utf8_lossy(tag).into_owned(),
        has_capability: memchr::memmem::find(name, b"capability").is_some(),
    })
}

/// The names of the first members at the top of a JSON object that may be cut off.
fn keys(text: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let (mut depth, mut at_name) = (0_u32, false);
    let mut rest = text.char_indices();
    while let Some((start, character)) = rest.next() {
        match character {
            '{' | '[' => {
                depth += 1;
                at_name = depth == 1 && character == '{';
            }
            '}' | ']' => depth = depth.saturating_sub(1),
            ',' => at_name = depth == 1,
            ':' => at_name = false,
            '"' => {
                let mut is_escaped = false;
                let end = rest.by_ref().find(|(_, c)| {
                    let ends = *c == '"' && !is_escaped;
                    is_escaped = *c == '\\' && !is_escaped;
                    ends
                });
                let Some((end, _)) = end else { break };
                if at_name && depth == 1 {
                    keys.push(text[start + 1..end].to_owned());
                }
            }
            _ => {}
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root_of(text: &[u8]) -> Option<String> {
        Beginning::of(text).xml().map(|xml| xml.root.clone())
    }

    #[test]
    fn xml_is_known_by_its_root_element() {
        let long_comment = format!("<!-- {} --><urlset>", "x".repeat(5_000));
        let utf16: Vec<u8> = "\u{feff}<urlset>"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        for text in [
            "<urlset/>".as_bytes(),
            b"\xef\xbb\xbf<?xml version='1.0'?>\n<?xml-stylesheet href='a'?><urlset xmlns='x'>",
            b"  \n<sm:urlset>",
            b"<!DOCTYPE urlset><urlset>",
            long_comment.as_bytes(),
            &utf16,
        ] {
            assert_eq!(
                root_of(text).as_deref(),
                Some("urlset"),
                "{}",
                String::from_utf8_lossy(text)
            );
        }
        for text in ["", "urlset", "<!-- <urlset> never ends", "<", "< urlset>"] {
            assert_ne!(
                root_of(text.as_bytes()).as_deref(),
                Some("urlset"),
                "{text}"
            );
        }
        assert_eq!(
            Beginning::of(b"<html><!-- <urlset> -->").words(),
            "a web page"
        );
    }

    #[test]
    fn json_is_known_by_its_members_even_if_it_is_cut_off() {
        let text = r#"{ "a": {"b": 1, "c": ["x"]}, "d\"": "e: {", "f": [1, {"g": 2}], "h": "cut"#;
        let Beginning::Json {
            keys, is_one_line, ..
        } = Beginning::of(text.as_bytes())
        else {
            panic!("it is JSON");
        };
        assert_eq!(keys, ["a", "d\\\"", "f", "h"]);
        assert!(!is_one_line);
        let lines = Beginning::of(b"{\"collection\":{}}\n{\"url\":1}");
        assert!(matches!(
            lines,
            Beginning::Json {
                is_one_line: true,
                ..
            }
        ));
    }

    #[test]
    fn everything_else_is_text_or_nothing() {
        assert_eq!(Beginning::of(b" \n\t"), Beginning::Empty);
        assert_eq!(Beginning::of(b"\x89PNG\x00\x01"), Beginning::Binary);
        assert_eq!(Beginning::of(b"hello"), Beginning::Text("hello".into()));
    }
}
