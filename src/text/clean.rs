//! Makes text from strangers fit to be shown: in a feed, on a page, in a log line.
//!
//! Every title, name and description goes through here before anyone else sees it. What comes out is one line, legal in
//! XML 1.0, without characters that are invisible or that turn the reading direction around, and of bounded length.
//! It does not escape anything: that belongs to whoever writes XML or HTML.

/// Longest title or name, in characters.
pub const MAX_TITLE_CHARS: usize = 300;

/// Longest description, in characters.
pub const MAX_DESCRIPTION_CHARS: usize = 2_000;

/// The longest language tag worth believing: RFC 5646 asks implementations for 35.
const MAX_LANGUAGE_CHARS: usize = 35;

/// A title or a person's name, or nothing if no visible character is left.
pub fn title(text: &str) -> Option<String> {
    title_in(String::new(), text)
}

/// The same in room that is there already.
pub fn title_in(room: String, text: &str) -> Option<String> {
    line(room, text, MAX_TITLE_CHARS)
}

/// A description or a statement of rights, or nothing if no visible character is left.
pub fn description(text: &str) -> Option<String> {
    description_in(String::new(), text)
}

/// The same in room that is there already.
pub fn description_in(room: String, text: &str) -> Option<String> {
    line(room, text, MAX_DESCRIPTION_CHARS)
}

/// A language tag such as `en` or `pt-BR`; anything not shaped like one is dropped.
pub fn language(text: &str) -> Option<String> {
    language_in(String::new(), text)
}

/// The same in room that is there already.
pub fn language_in(mut room: String, text: &str) -> Option<String> {
    room.clear();
    room.extend(text.trim().chars().map(|c| if c == '_' { '-' } else { c }));
    is_language(&room).then_some(room)
}

/// Whether a text is shaped like a language tag: two or three letters, then parts of up to eight letters and digits. Longer
/// first parts are allowed for languages that nobody has registered, and are names such as `English`.
pub fn is_language(tag: &str) -> bool {
    let mut parts = tag.split('-');
    let first = parts.next().unwrap_or_default();
    tag.len() <= MAX_LANGUAGE_CHARS
        && matches!(first.len(), 2 | 3)
        && first.bytes().all(|byte| byte.is_ascii_alphabetic())
        && parts.all(|part| {
            matches!(part.len(), 1..=8) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}

/// One line of at most `max_chars` characters, the last of them an ellipsis if something was cut.
fn line(mut line: String, text: &str, max_chars: usize) -> Option<String> {
    line.clear();
    if is_clean(text.as_bytes(), max_chars) {
        line.push_str(text);
        return Some(line);
    }
    let mut chars = 0;
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace() {
            gap = true;
            continue;
        }
        if is_unwanted(c) {
            continue;
        }
        let needed = if gap && chars > 0 { 2 } else { 1 };
        if chars + needed > max_chars {
            return Some(cut(line, chars, max_chars));
        }
        if needed == 2 {
            line.push(' ');
        }
        line.push(c);
        chars += needed;
        gap = false;
    }
    (!line.is_empty()).then_some(line)
}

/// Whether there is surely nothing to do: visible ASCII, single spaces between words, and not too much of it. Most text is
/// so, and looking at bytes is much faster than at characters.
fn is_clean(text: &[u8], max_chars: usize) -> bool {
    let is_ended_well = matches!((text.first(), text.last()), (Some(first), Some(last)) if *first != b' ' && *last != b' ');
    let mut before = 0;
    let mut is_odd = false;
    for &byte in text {
        is_odd |= !matches!(byte, b' '..=b'~') | (byte == b' ' && before == b' ');
        before = byte;
    }
    is_ended_well && !is_odd && text.len() <= max_chars
}

/// Ends a line that had more to say, making room for the ellipsis where there is none.
fn cut(mut line: String, chars: usize, max_chars: usize) -> String {
    if chars >= max_chars {
        line.pop();
    }
    line.truncate(line.trim_end().len());
    line.push('…');
    line
}

/// Characters that break an XML reader or deceive a human one.
///
/// The joiners in U+200B–F have honest uses in some scripts, and are still dropped: they let two different names look
/// the same.
pub(super) fn is_unwanted(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'                       // Arabic letter mark
            | '\u{200b}'..='\u{200f}'       // zero-width characters, direction marks
            | '\u{202a}'..='\u{202e}'       // direction embeddings and overrides
            | '\u{2060}'..='\u{206f}'       // invisible operators, direction isolates
            | '\u{feff}'                    // byte order mark
            | '\u{fffd}'                    // stands for bytes that could not be read
            | '\u{fffe}'..='\u{ffff}'       // not XML 1.0 characters
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_becomes_single_spaces() {
        assert_eq!(
            title("  The\n\tfox \u{a0}\u{2028} den ").unwrap(),
            "The fox den"
        );
    }

    #[test]
    fn text_without_a_visible_character_is_nothing() {
        assert_eq!(title(""), None);
        assert_eq!(title(" \n\u{200b}\u{feff}\u{1}"), None);
        assert_eq!(title("\u{fffd}\u{fffd} \u{fffd}"), None);
    }

    #[test]
    fn every_forbidden_character_is_removed() {
        let forbidden = (0u32..0x20)
            .chain(0x7f..0xa0)
            .chain(0x200b..=0x200f)
            .chain(0x202a..=0x202e)
            .chain(0x2066..=0x2069)
            .chain([0x61c, 0xfeff, 0xfffd, 0xfffe, 0xffff]);
        for code in forbidden {
            let c = char::from_u32(code).unwrap();
            let cleaned = title(&format!("a{c}b")).unwrap();
            assert!(
                cleaned == "ab" || (c.is_whitespace() && cleaned == "a b"),
                "U+{code:04X} gave {cleaned:?}"
            );
        }
    }

    #[test]
    fn a_removed_character_between_spaces_leaves_one_space() {
        assert_eq!(title("a \u{200b} b").unwrap(), "a b");
    }

    #[test]
    fn a_long_title_is_cut_with_an_ellipsis_between_characters() {
        let cleaned = title(&"狐".repeat(5_000)).unwrap();
        assert_eq!(cleaned.chars().count(), MAX_TITLE_CHARS);
        assert!(cleaned.ends_with("狐…"));
    }

    #[test]
    fn a_title_of_exactly_the_limit_is_left_alone() {
        let text = "a".repeat(MAX_TITLE_CHARS);
        assert_eq!(title(&text).unwrap(), text);
    }

    #[test]
    fn a_cut_at_a_space_leaves_no_space_before_the_ellipsis() {
        let text = format!("{} bb", "a".repeat(MAX_TITLE_CHARS - 2));
        let cleaned = title(&text).unwrap();
        assert!(cleaned.ends_with("a…"));
        assert!(cleaned.chars().count() <= MAX_TITLE_CHARS);
    }

    #[test]
    fn the_short_cut_is_taken_only_where_nothing_is_to_be_done() {
        assert!(is_clean(b"The fox den, 2nd edition ~", 30));
        for text in [
            "",
            " a",
            "a ",
            "a  b",
            "a\tb",
            "a\nb",
            "\u{7f}",
            "é",
            "a\u{200b}b",
            "abcdef",
        ] {
            assert!(!is_clean(text.as_bytes(), 5), "{text}");
        }
    }

    #[test]
    fn only_language_tags_are_languages() {
        for (given, tag) in [(" pt_BR ", "pt-BR"), ("gsw", "gsw"), ("de-1996", "de-1996")] {
            assert_eq!(language(given).as_deref(), Some(tag));
        }
        let long = "a".repeat(36);
        for bad in [
            "",
            "e",
            "en us",
            "12",
            "en--US",
            "<b>",
            "English",
            "Portuguese",
            "en-Portuguese",
            "e1",
            "en-",
            &long,
        ] {
            assert_eq!(language(bad), None, "{bad}");
        }
    }
}
