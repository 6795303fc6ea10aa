//! The usual line of an SCP file, in one pass over its bytes.
//!
//! Nearly all of a page is its content, of which nothing is kept, so the line is gone through from one quotation mark to the
//! next. Whatever is not plain (an escape in a text that counts, a member twice, an odd block, broken JSON) is no business
//! of this: then there is no answer, and the whole line is read again by a parser that knows everything, and what to say.

use std::borrow::Cow;

use memchr::memchr;

use super::{BLOCKS, Content, RawPage, Text};
use crate::text::seek::first_of_two;

/// Content is hardly nested; what is nested deeper is left to the parser.
const MAX_DEPTH: u32 = 16;

/// Where the line ends with which these bytes begin, if it does so here; and whether there is nothing before that end that
/// cannot stand in JSON as it is. Both at once, because a line feed is just such a character.
pub(super) fn end_of_line(bytes: &[u8]) -> (Option<usize>, bool) {
    let Some(control) = first_control(bytes) else {
        return (None, true);
    };
    let rest = &bytes[control..];
    match rest {
        [b'\n', ..] => (Some(control), true),
        [b'\r', b'\n', ..] => (Some(control + 1), true),
        _ => (memchr(b'\n', rest).map(|end| control + end), false),
    }
}

fn first_control(bytes: &[u8]) -> Option<usize> {
    let is_control = |byte: &u8| *byte < b' ';
    let (chunks, _) = bytes.as_chunks::<64>();
    // A pass without a branch in each of them, as fast as memory.
    let has_one = |chunk: &[u8; 64]| {
        let found = chunk
            .iter()
            .fold(0, |found, byte| found | u8::from(is_control(byte)));
        found != 0
    };
    let near = 64 * chunks.iter().position(has_one).unwrap_or(chunks.len());
    let place = bytes[near..].iter().position(is_control);
    place.map(|place| near + place)
}

/// The page on a line, if it is plain. The caller has made sure with [`end_of_line`] that it has nothing that cannot stand
/// in JSON as it is: then everything between two quotation marks is text.
pub(super) fn page(line: &[u8]) -> Option<RawPage<'_>> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut scan = Scan { rest: line };
    let page = scan.page()?;
    scan.rest.is_empty().then_some(page)
}

struct Scan<'a> {
    rest: &'a [u8],
}

/// What comes after a value.
#[derive(PartialEq, Eq)]
enum After {
    Another,
    End,
}

impl<'a> Scan<'a> {
    fn page(&mut self) -> Option<RawPage<'a>> {
        let (mut url, mut title, mut description) = (None, None, None);
        let (mut modified, mut language) = (None, None);
        let (mut author, mut published, mut canonical) = (None, None, None);
        let mut content = None;
        self.take(b'{')?;
        loop {
            let field = match self.name()? {
                b"url" => &mut url,
                b"title" => &mut title,
                b"description" => &mut description,
                b"modified" => &mut modified,
                b"language" => &mut language,
                b"author" => &mut author,
                b"published" => &mut published,
                b"canonical" => &mut canonical,
                b"content" => {
                    if content.replace(self.content()?).is_some() {
                        return None;
                    }
                    match self.after(b'}')? {
                        After::Another => continue,
                        After::End => break,
                    }
                }
                _ => {
                    self.skip(0)?;
                    match self.after(b'}')? {
                        After::Another => continue,
                        After::End => break,
                    }
                }
            };
            if field.replace(self.text()?).is_some() {
                return None;
            }
            if self.after(b'}')? == After::End {
                break;
            }
        }
        Some(RawPage {
            url: url?,
            title: title?,
            description: description?,
            modified: modified?,
            language: language?,
            content: content?,
            author,
            published,
            canonical,
        })
    }

    /// Blocks that are all known, with nothing odd about them.
    fn content(&mut self) -> Option<Content> {
        let mut content = Content::default();
        self.take(b'[')?;
        if self.peek()? == b']' {
            self.take(b']')?;
            return Some(content);
        }
        loop {
            self.block()?;
            content.blocks += 1;
            if self.after(b']')? == After::End {
                return Some(content);
            }
        }
    }

    fn block(&mut self) -> Option<()> {
        let (mut kind, mut has_level) = (None, false);
        self.take(b'{')?;
        loop {
            match self.name()? {
                b"type" => {
                    let known = self.plain()?;
                    let is_known = BLOCKS.iter().any(|block| block.as_bytes() == known);
                    if !is_known || kind.replace(known).is_some() {
                        return None;
                    }
                }
                b"level" => {
                    let (level, before) = (self.peek()?, self.rest.len());
                    self.skip(0)?;
                    let is_one_digit = before - self.rest.len() == 1;
                    if has_level || !is_one_digit || !matches!(level, b'1'..=b'6') {
                        return None;
                    }
                    has_level = true;
                }
                _ => self.skip(0)?,
            }
            if self.after(b'}')? == After::End {
                break;
            }
        }
        // A heading without a level is worth a word.
        (kind != Some(b"heading") || has_level).then_some(())
    }

    /// The name of a member, and the colon behind it.
    fn name(&mut self) -> Option<&'a [u8]> {
        let name = self.plain()?;
        self.take(b':')?;
        // Any other name must be valid text, and that is for the parser to judge.
        name.is_ascii().then_some(name)
    }

    /// A text without escapes.
    fn text(&mut self) -> Option<Text<'a>> {
        let text = std::str::from_utf8(self.plain()?).ok()?;
        Some(Text(Cow::Borrowed(text)))
    }

    /// The same as bytes.
    fn plain(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let end = self.mark()?;
        let (text, rest) = self.rest.split_at(end);
        self.rest = &rest[1..];
        (rest[0] == b'"').then_some(text)
    }

    /// Where the next quotation mark is, or the next escape.
    fn mark(&self) -> Option<usize> {
        first_of_two(self.rest, *b"\"\\")
    }

    /// Passes over any value.
    fn skip(&mut self, depth: u32) -> Option<()> {
        match self.peek()? {
            b'"' => self.skip_text(),
            open @ (b'{' | b'[') if depth < MAX_DEPTH => {
                self.take(open)?;
                let close = if open == b'{' { b'}' } else { b']' };
                if self.peek()? == close {
                    return self.take(close);
                }
                loop {
                    if open == b'{' {
                        self.skip_text()?;
                        self.take(b':')?;
                    }
                    self.skip(depth + 1)?;
                    if self.after(close)? == After::End {
                        return Some(());
                    }
                }
            }
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            // Numbers in content are small and whole; others are for the parser.
            b'0'..=b'9' => {
                let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit());
                let count = digits.count();
                let is_plain = count < 10 && (count == 1 || self.rest[0] != b'0');
                self.rest = &self.rest[count..];
                let is_over = matches!(self.rest.first(), Some(b',' | b'}' | b']' | b' '));
                (is_plain && is_over).then_some(())
            }
            _ => None,
        }
    }

    fn skip_text(&mut self) -> Option<()> {
        self.take(b'"')?;
        loop {
            let end = self.mark()?;
            let is_end = self.rest[end] == b'"';
            self.rest = &self.rest[end + 1..];
            if is_end {
                return Some(());
            }
            let (escape, rest) = self.rest.split_first()?;
            self.rest = rest;
            match escape {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                b'u' => {
                    let (digits, rest) = self.rest.split_at_checked(4)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return None;
                    }
                    self.rest = rest;
                }
                _ => return None,
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(())
    }

    /// A comma, or the end of what is open.
    fn after(&mut self, close: u8) -> Option<After> {
        let next = self.peek()?;
        self.rest = &self.rest[1..];
        match next {
            b',' => Some(After::Another),
            _ if next == close => Some(After::End),
            _ => None,
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.rest = &self.rest[1..])
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> Option<u8> {
        while let Some((b' ', rest)) = self.rest.split_first() {
            self.rest = rest;
        }
        self.rest.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Fields<'a> = (Vec<&'a str>, [Option<&'a str>; 3], (usize, bool, bool));

    fn fields<'a>(page: &'a RawPage<'_>) -> Fields<'a> {
        let of = |text: &'a Text<'_>| &*text.0;
        let needed = [
            &page.url,
            &page.title,
            &page.description,
            &page.modified,
            &page.language,
        ];
        (
            needed.map(of).to_vec(),
            [
                page.author.as_ref().map(of),
                page.published.as_ref().map(of),
                page.canonical.as_ref().map(of),
            ],
            (
                page.content.blocks,
                page.content.unknown.is_some(),
                page.content.bad_heading,
            ),
        )
    }

    const USUAL: &str = r#"{"url":"https://fox.example/1","title":"Ü","description":"d","modified":"2026-01-01","language":"en","author":"Kit","content":[{"type":"heading","level":1,"text":"a \"b\""},{"type":"list","items":["x",{"y":[]}],"n":12,"t":true}]}"#;

    #[test]
    fn the_usual_line_is_read_here() {
        let line = format!("{USUAL}\r\n");
        let page = page(line.as_bytes()).expect("a page");
        assert_eq!(page.url.0, "https://fox.example/1");
        assert_eq!(page.content.blocks, 2);
    }

    #[test]
    fn the_end_of_a_line_is_found_wherever_it_is() {
        for length in 0..200 {
            let text = "a".repeat(length);
            let of = |end: &str| end_of_line(format!("{text}{end}").as_bytes());
            assert_eq!(of(""), (None, true));
            assert_eq!(of("\nb\n"), (Some(length), true));
            assert_eq!(of("\r\n"), (Some(length + 1), true));
            assert_eq!(of("\tb\n"), (Some(length + 2), false));
            assert_eq!(of("\r"), (None, false));
        }
    }

    /// Pieces of lines, whole and broken.
    fn any_line() -> impl Strategy<Value = String> {
        let value = prop::sample::select(vec![
            "\"a\"",
            "\"\\u00e9\"",
            "\"\\x\"",
            "\"ü\"",
            "1",
            "01",
            "-1",
            "1.5",
            "1e3",
            "null",
            "true",
            "tru",
            "[]",
            "{}",
            "[1,2]",
            "[1,]",
            "{\"a\":1}",
            "{\"a\"}",
            "[{\"type\":\"text\"}]",
            "[{\"type\":\"heading\",\"level\":2}]",
            "[{\"type\":\"heading\",\"level\":7}]",
            "[{\"type\":\"heading\"}]",
            "[{\"type\":\"odd\"}]",
            "[{}]",
            "[1]",
            "[{\"level\":3}]",
            "[{\"type\":\"text\",\"type\":\"list\"}]",
            "[{\"type\":\"text\",\"level\":12}]",
            "[{\"type\":\"heading\",\"level\":1.0}]",
            "[{\"level\":1,\"type\":\"heading\" }]",
            "\"\t\"",
            "",
        ]);
        let name = prop::sample::select(vec![
            "url",
            "title",
            "description",
            "modified",
            "language",
            "author",
            "published",
            "canonical",
            "content",
            "schema",
            "ü",
        ]);
        let members = prop::collection::vec((name, value), 0..4);
        (members, any::<bool>(), 0..3_usize).prop_map(|(members, is_before, spaces)| {
            let more: String = members
                .iter()
                .map(|(name, value)| format!(",\"{name}\":{value}"))
                .collect();
            let usual = USUAL.trim_end_matches('}');
            let usual = match is_before {
                true => format!("{{{}", &usual[31..]),
                false => usual.to_owned(),
            };
            format!("{usual}{more}}}").replace(',', &format!(",{}", " ".repeat(spaces)))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn what_is_read_here_is_what_the_parser_reads(line in any_line(), cut in 0..400_usize) {
            let cut = (0..=cut.min(line.len())).rev().find(|&end| line.is_char_boundary(end)).unwrap_or(0);
            for line in [line.as_str(), &line[..cut], &line[cut..]] {
                let (_, is_plain) = end_of_line(line.as_bytes());
                if let Some(found) = page(line.as_bytes()).filter(|_| is_plain) {
                    let parsed = serde_json::from_slice::<RawPage<'_>>(line.as_bytes());
                    let parsed = parsed.map_err(|error| TestCaseError::fail(format!("{line}: {error}")))?;
                    prop_assert_eq!(fields(&found), fields(&parsed), "{}", line);
                }
            }
        }
    }
}
