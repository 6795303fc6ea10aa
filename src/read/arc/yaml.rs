//! YAML as far as an ARC sitemap needs it: the same shape as its JSON, and nothing that grows.
//!
//! No anchors and aliases, no tags, one document, a bounded size and depth. Types are those of JSON: a plain `no` or
//! `2026-01-02` is text, so that nothing means another thing than what is written.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

/// A whole sitemap in memory, so not a large one.
pub(super) const MAX_BYTES: u64 = 1024 * 1024;
const MAX_DEPTH: usize = 16;

/// Whether text that begins so is an ARC sitemap in YAML.
pub(super) fn recognises(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_end);
    let first =
        lines.find(|line| !line.is_empty() && *line != "---" && !line.starts_with(['#', '%']));
    first.is_some_and(|line| line.starts_with("arc_sitemap_version:"))
}

/// The document as JSON, or the line and the reason why not.
pub(super) fn read(bytes: &[u8]) -> Result<Value, (usize, String)> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err((
            1,
            format!("a YAML document may have {MAX_BYTES} bytes at most; use JSON"),
        ));
    }
    let text =
        std::str::from_utf8(bytes).map_err(|_| (1, "the document is not in UTF-8".to_owned()))?;
    let text = text.trim_start_matches('\u{feff}');
    let mut open: Vec<Open> = Vec::new();
    let mut document = None;
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|error| (error.marker().line(), error.info().to_owned()))?;
        let line = span.start.line();
        let refuse = |what: &str| Err((line, format!("{what} are not accepted from strangers")));
        let value = match event {
            Event::Alias(_) => return refuse("aliases"),
            Event::Scalar(_, _, anchor, _)
            | Event::SequenceStart(anchor, _)
            | Event::MappingStart(anchor, _)
                if anchor != 0 =>
            {
                return refuse("anchors");
            }
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => {
                return refuse("tags");
            }
            Event::DocumentStart(_) if document.is_some() => return refuse("several documents"),
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.len() == MAX_DEPTH {
                    return Err((
                        line,
                        format!("the document is nested more than {MAX_DEPTH} deep"),
                    ));
                }
                open.push(match event {
                    Event::SequenceStart(..) => Open::Sequence(Vec::new()),
                    _ => Open::Mapping(Map::new(), None),
                });
                continue;
            }
            Event::Scalar(text, style, ..) => scalar(&text, style),
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::Sequence(values)) => Value::Array(values),
                Some(Open::Mapping(members, _)) => Value::Object(members),
                None => continue,
            },
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => continue,
        };
        match open.last_mut() {
            None => document = Some(value),
            Some(Open::Sequence(values)) => values.push(value),
            Some(Open::Mapping(members, name)) => match name.take() {
                Some(name) => {
                    members.insert(name, value);
                }
                None => match value {
                    Value::String(text) => *name = Some(text),
                    Value::Bool(_) | Value::Number(_) | Value::Null => {
                        *name = Some(value.to_string())
                    }
                    _ => return Err((line, "the name of a member is not a text".to_owned())),
                },
            },
        }
    }
    Ok(document.unwrap_or(Value::Null))
}

enum Open {
    Sequence(Vec<Value>),
    /// With the name whose value comes next.
    Mapping(Map<String, Value>, Option<String>),
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    match (style, text) {
        (ScalarStyle::Plain, "true") => Value::Bool(true),
        (ScalarStyle::Plain, "false") => Value::Bool(false),
        (ScalarStyle::Plain, "null" | "~" | "") => Value::Null,
        (_, text) => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn yaml_has_the_types_of_json() {
        let text =
            "a: no\nb: 2026-01-02\nc: true\nd: ~\ne: [x, 'true']\nf:\n  - g: |\n      long\n";
        let read = read(text.as_bytes()).unwrap();
        let expected = json!({"a": "no", "b": "2026-01-02", "c": true, "d": null, "e": ["x", "true"], "f": [{"g": "long\n"}]});
        assert_eq!(read, expected);
    }

    #[test]
    fn what_could_grow_or_pretend_is_refused() {
        let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n";
        let deep = "[".repeat(20) + &"]".repeat(20);
        let large = "x".repeat(MAX_BYTES as usize + 1);
        for (text, reason) in [
            (bomb, "anchors"),
            ("a: *b\n", ""),
            ("a: !!python/object x\n", "tags"),
            ("--- 1\n--- 2\n", "several documents"),
            (&deep, "nested"),
            (&large, "bytes at most"),
            ("a: [1\n", ""),
            ("? [a]\n: b\n", "not a text"),
        ] {
            let (line, why) = read(text.as_bytes()).expect_err(text);
            assert!(line >= 1 && why.contains(reason), "{why}");
        }
        assert!(read(b"a: \xff").is_err());
    }
}
