//! A fragment of HTML, as the text a person would read.

use html5gum::Token;
use html5gum::{DefaultEmitter, Tokenizer};

/// The words of an HTML fragment, entities decoded, without markup, scripts and styles.
///
/// The result is text and must be escaped like any other: `&lt;b&gt;` in the fragment is `<b>` in the words.
pub fn plain_text(html: &str) -> String {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut text = String::new();
    let mut silent = false;
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => {
                silent = matches!(&**tag.name, b"script" | b"style");
                push_gap(&mut text, &tag.name);
            }
            Token::EndTag(tag) => {
                silent = false;
                push_gap(&mut text, &tag.name);
            }
            Token::String(string) if !silent => text.push_str(&String::from_utf8_lossy(&string)),
            _ => {}
        }
    }
    text
}

/// Sets words apart that stand in different blocks, leaving alone those with a bold letter in the middle.
fn push_gap(text: &mut String, name: &[u8]) {
    const INLINE: [&[u8]; 16] = [
        b"a", b"abbr", b"b", b"bdi", b"cite", b"code", b"em", b"font", b"i", b"mark", b"s",
        b"small", b"span", b"strong", b"sup", b"u",
    ];
    if !INLINE.contains(&name) {
        text.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_goes_and_words_stay_apart() {
        let text = plain_text("<p>F<b>o</b>xes &amp; <i>dens</i></p><p>More<br>here</p>");
        assert_eq!(
            text.split_whitespace().collect::<Vec<_>>().join(" "),
            "Foxes & dens More here"
        );
    }

    #[test]
    fn scripts_styles_and_comments_are_not_words() {
        let text = plain_text("a<script>alert('<p>')</script><style>p{}</style><!-- x -->b");
        assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn text_without_markup_is_left_alone() {
        assert_eq!(plain_text("a < b & c"), "a < b & c");
        assert_eq!(plain_text(""), "");
    }
}
