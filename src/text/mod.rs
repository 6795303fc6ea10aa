//! Text from strangers, made fit for people and machines.
//!
//! Nothing here escapes: that belongs to whoever writes XML or HTML.

pub mod address;
pub mod clean;
mod readable;
pub mod seek;
pub mod tag;

use std::fmt::Write as _;

pub use self::readable::{readable, readable_address, readable_name, readable_segment};

/// The longest address that is taken for one: the limit of the Sitemaps protocol.
pub const MAX_ADDRESS_CHARS: usize = 2_048;

/// Quotations are cut here.
const MAX_QUOTE_CHARS: usize = 120;

/// Whether an XML 1.0 document may contain this character.
pub fn is_legal(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

/// A piece of somebody's document between quotation marks: short, on one line, and harmless on a terminal.
pub fn quote(text: &str) -> String {
    format!("“{}”", visible(text.trim(), MAX_QUOTE_CHARS))
}

/// The first `limit` characters, with those that could not be seen or would turn the text spelled out.
pub fn visible(text: &str, limit: usize) -> String {
    let mut shown = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == limit {
            shown.push('…');
            break;
        }
        if clean::is_unwanted(character) || matches!(character, '\u{2028}' | '\u{2029}') {
            let _ = write!(shown, "{}", character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_cannot_move_the_cursor_or_turn_the_text() {
        assert_eq!(quote(" a\u{9b}31m\u{202e}b\n"), "“a\\u{9b}31m\\u{202e}b”");
        assert!(quote(&"x".repeat(1000)).chars().count() < 130);
    }
}
