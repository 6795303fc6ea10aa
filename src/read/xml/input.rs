//! Bytes from outside, as text that an XML parser may trust.
//!
//! Finds the encoding (byte order mark, the shape of the first bytes, the XML declaration), transcodes to UTF-8 while
//! the bytes arrive, refuses every character that XML 1.0 forbids, and knows the line it is at. Nothing is replaced or
//! skipped: a byte that does not fit refuses the document, because a guess would become somebody's feed.

use std::io::{self, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use memchr::memmem;

/// How much is read, checked and handed on at a time.
const CHUNK: usize = 32 * 1024;

/// The same at first: most documents are smaller than that, and room for a large one costs more than reading a small one.
const FIRST_CHUNK: usize = 4 * 1024;

/// How far into the document the XML declaration may end.
const DECLARATION: usize = 512;

/// Why the bytes are not acceptable text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// Bytes that do not fit the encoding.
    #[error("the text is not valid {0}")]
    NotEncoded(&'static str),
    /// The XML declaration names an encoding that nobody knows.
    #[error("the encoding \"{0}\" is not known")]
    UnknownEncoding(String),
    /// A character that XML 1.0 does not allow, written as it is.
    #[error("it contains the character U+{0:04X}, which XML does not allow")]
    IllegalCharacter(u32),
    /// One tag, text or comment that never ends.
    #[error(
        "one tag, text or comment in it is longer than {} bytes",
        super::MAX_EVENT_BYTES
    )]
    EventTooLong,
}

/// The document as checked text: a window that moves forward, and that always holds the whole of one event.
pub(super) struct Input<R> {
    source: R,
    /// `None` for UTF-8, which only has to be checked.
    decoder: Option<Decoder>,
    started: bool,
    ended: bool,
    /// Bytes as they came, of which `raw_length` are waiting to become text.
    raw: Vec<u8>,
    raw_length: usize,
    text: String,
    /// Where in `text` the current event begins, and where it ends as far as it is known.
    start: usize,
    position: usize,
    /// Line ends before `counted`, which is a place in `text`.
    lines: u32,
    counted: usize,
    failure: Option<InputError>,
}

impl<R: Read> Input<R> {
    pub(super) fn new(source: R) -> Self {
        Input {
            source,
            decoder: None,
            started: false,
            ended: false,
            raw: Vec::new(),
            raw_length: 0,
            text: String::new(),
            start: 0,
            position: 0,
            lines: 0,
            counted: 0,
            failure: None,
        }
    }

    /// Begins an event behind the one before, and gives the text from there on, as far as it is here.
    pub(super) fn begin(&mut self) -> &str {
        self.start = self.position;
        &self.text[self.start..]
    }

    /// Ends the event that was begun.
    pub(super) fn end(&mut self, length: usize) {
        self.position = self.start + length;
    }

    /// The text of the event.
    pub(super) fn event(&self) -> &str {
        &self.text[self.start..self.position]
    }

    /// The line, counted from 1, on which the event begins, or of the failure.
    pub(super) fn line(&mut self) -> u32 {
        self.count_lines();
        self.lines.saturating_add(1)
    }

    /// What [`Input`] itself found wrong, if it was not the source that failed.
    pub(super) fn failure(&self) -> Option<&InputError> {
        self.failure.as_ref()
    }

    /// The name of the encoding, if it is not UTF-8.
    pub(super) fn foreign_encoding(&self) -> Option<&'static str> {
        self.decoder
            .as_ref()
            .map(|decoder| decoder.encoding().name())
    }

    fn count_lines(&mut self) {
        if self.start > self.counted {
            let passed = &self.text.as_bytes()[self.counted..self.start];
            // Small pieces, because their counts fit into the bytes that a processor adds up side by side.
            for piece in passed.chunks(usize::from(u8::MAX)) {
                let ends = piece.iter().map(|byte| u8::from(*byte == b'\n'));
                let lines = ends.fold(0, u8::wrapping_add);
                self.lines = self.lines.saturating_add(u32::from(lines));
            }
            self.counted = self.start;
        }
    }

    fn fail(&mut self, failure: InputError) -> io::Error {
        self.failure = Some(failure.clone());
        io::Error::new(io::ErrorKind::InvalidData, failure)
    }

    /// Fails at the end of the text, so that [`Input::line`] tells where.
    fn fail_here(&mut self, failure: InputError) -> io::Error {
        (self.start, self.position) = (self.text.len(), self.text.len());
        self.fail(failure)
    }

    /// Gets more text for an event that does not end in what is here. Says whether there is any.
    pub(super) fn more(&mut self) -> io::Result<bool> {
        if let Some(failure) = self.failure.clone() {
            return Err(self.fail(failure));
        }
        self.count_lines();
        self.text.drain(..self.start);
        (self.start, self.position, self.counted) = (0, 0, 0);
        let before = self.text.len();
        if before > super::MAX_EVENT_BYTES {
            return Err(self.fail(InputError::EventTooLong));
        }
        if !self.started {
            self.begin_source()?;
        }
        // The event will be looked at from its beginning again: twice the text each time keeps the cost linear, however
        // small the pieces are in which it arrives.
        let enough = (2 * before).min(super::MAX_EVENT_BYTES);
        while self.text.len() <= enough && !self.ended {
            self.fill()?;
        }
        Ok(self.text.len() > before)
    }

    /// Reads the first bytes and decides on the encoding.
    fn begin_source(&mut self) -> io::Result<()> {
        self.started = true;
        self.raw = vec![0; FIRST_CHUNK];
        let mut last = false;
        while self.raw_length < DECLARATION && !last {
            last = self.read()? == 0;
        }
        let (encoding, mark) = match encoding_of(&self.raw[..self.raw_length]) {
            Ok(found) => found,
            Err(failure) => return Err(self.fail(failure)),
        };
        if encoding != UTF_8 {
            self.decoder = Some(encoding.new_decoder_without_bom_handling());
        }
        self.drop_raw(mark);
        self.accept(false)
    }

    /// Turns the next bytes of the source into text.
    fn fill(&mut self) -> io::Result<()> {
        self.ended = self.read()? == 0;
        self.accept(self.ended)
    }

    fn read(&mut self) -> io::Result<usize> {
        let read = read_some(&mut self.source, &mut self.raw[self.raw_length..])?;
        self.raw_length += read;
        if self.raw_length == self.raw.len() {
            self.raw.resize(CHUNK, 0);
        }
        Ok(read)
    }

    fn drop_raw(&mut self, length: usize) {
        self.raw.copy_within(length..self.raw_length, 0);
        self.raw_length -= length;
    }

    /// Adds what is waiting in `raw` to the text, up to the first byte that does not fit.
    fn accept(&mut self, last: bool) -> io::Result<()> {
        let raw = &self.raw[..self.raw_length];
        let before = self.text.len();
        let (used, encoding) = match &mut self.decoder {
            None => match std::str::from_utf8(raw) {
                Ok(text) => {
                    self.text.push_str(text);
                    (raw.len(), None)
                }
                Err(error) => {
                    let good = error.valid_up_to();
                    self.text
                        .push_str(std::str::from_utf8(&raw[..good]).unwrap_or_default());
                    let whole = error.error_len().is_none() && !last;
                    (good, (!whole).then_some(UTF_8))
                }
            },
            Some(decoder) => {
                let most = decoder.max_utf8_buffer_length_without_replacement(raw.len());
                self.text.reserve(most.unwrap_or(4 * CHUNK));
                let (result, used) =
                    decoder.decode_to_string_without_replacement(raw, &mut self.text, last);
                let malformed = matches!(result, DecoderResult::Malformed(..));
                (used, malformed.then(|| decoder.encoding()))
            }
        };
        self.drop_raw(used);
        if let Some((place, character)) = illegal_character(&self.text.as_bytes()[before..]) {
            self.text.truncate(before + place);
            return Err(self.fail_here(InputError::IllegalCharacter(character)));
        }
        match encoding {
            Some(encoding) => Err(self.fail_here(InputError::NotEncoded(encoding.name()))),
            None => Ok(()),
        }
    }
}

fn read_some(source: &mut impl Read, target: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(target) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// The encoding of a document that begins with `head`, and the length of its byte order mark.
fn encoding_of(head: &[u8]) -> Result<(&'static Encoding, usize), InputError> {
    if let Some(found) = Encoding::for_bom(head) {
        return Ok(found);
    }
    // Without a mark, `<` and its zero byte tell (XML 1.0, appendix F).
    match head {
        [b'<', 0, ..] => return Ok((UTF_16LE, 0)),
        [0, b'<', ..] => return Ok((UTF_16BE, 0)),
        _ => {}
    }
    let Some(label) = declared_encoding(head) else {
        return Ok((UTF_8, 0));
    };
    match Encoding::for_label_no_replacement(&label) {
        // The declaration was read as ASCII, so it cannot be in UTF-16, whatever it says.
        Some(encoding) if encoding == UTF_16LE || encoding == UTF_16BE => Ok((UTF_8, 0)),
        Some(encoding) => Ok((encoding, 0)),
        None => Err(InputError::UnknownEncoding(
            String::from_utf8_lossy(&label).chars().take(40).collect(),
        )),
    }
}

/// The value of `encoding` in an XML declaration.
fn declared_encoding(head: &[u8]) -> Option<Vec<u8>> {
    let head = &head[..head.len().min(DECLARATION)];
    let declaration = head.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..memmem::find(declaration, b"?>")?];
    let after = &declaration[memmem::find(declaration, b"encoding")? + b"encoding".len()..];
    let after = after
        .trim_ascii_start()
        .strip_prefix(b"=")?
        .trim_ascii_start();
    let quote = *after
        .first()
        .filter(|quote| matches!(quote, b'"' | b'\''))?;
    let value = &after[1..];
    Some(value[..memchr::memchr(quote, value)?].to_vec())
}

/// The first character that XML 1.0 does not allow, in text that is valid UTF-8.
fn illegal_character(text: &[u8]) -> Option<(usize, u32)> {
    // Two passes without a branch, so that the usual case runs as fast as memory; then find the culprit.
    let control = |byte: u8| byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r');
    let found = text
        .iter()
        .fold(0u8, |found, &byte| found | u8::from(control(byte)));
    if found != 0 {
        return text
            .iter()
            .position(|&byte| control(byte))
            .map(|at| (at, u32::from(text[at])));
    }
    if text.is_ascii() {
        return None;
    }
    memmem::find_iter(text, b"\xEF\xBF").find_map(|at| match text.get(at + 2) {
        Some(0xBE) => Some((at, 0xFFFE)),
        Some(0xBF) => Some((at, 0xFFFF)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<String, InputError> {
        let mut input = Input::new(bytes);
        read_all(&mut input).map_err(|_| {
            let failure = input.failure().cloned();
            failure.expect("only the input itself fails here")
        })
    }

    fn read_all(input: &mut Input<impl Read>) -> io::Result<String> {
        let mut text = String::new();
        loop {
            let length = input.begin().len();
            input.end(length);
            text.push_str(input.event());
            input.begin();
            if !input.more()? {
                return Ok(text);
            }
        }
    }

    fn utf16(text: &str, big: bool) -> Vec<u8> {
        text.encode_utf16()
            .flat_map(|unit| {
                if big {
                    unit.to_be_bytes()
                } else {
                    unit.to_le_bytes()
                }
            })
            .collect()
    }

    #[test]
    fn plain_text_and_nothing_at_all_pass_unchanged() {
        assert_eq!(read(b""), Ok(String::new()));
        assert_eq!(read("a ü 𝔘 z".as_bytes()), Ok("a ü 𝔘 z".into()));
    }

    #[test]
    fn byte_order_marks_are_taken_off() {
        assert_eq!(read("\u{FEFF}<a/>".as_bytes()), Ok("<a/>".into()));
        assert_eq!(read(&utf16("\u{FEFF}<ä/>", true)), Ok("<ä/>".into()));
        assert_eq!(read(&utf16("\u{FEFF}<ä/>", false)), Ok("<ä/>".into()));
    }

    #[test]
    fn utf_16_is_recognised_without_a_mark() {
        for big in [true, false] {
            assert_eq!(
                read(&utf16("<?xml version='1.0'?><ä/>", big)),
                Ok("<?xml version='1.0'?><ä/>".into())
            );
        }
    }

    #[test]
    fn a_declared_encoding_is_used() {
        let document = b"<?xml version=\"1.0\" encoding='ISO-8859-1'?><a>caf\xE9</a>";
        assert!(read(document).unwrap().ends_with("<a>café</a>"));
    }

    #[test]
    fn an_unknown_encoding_is_refused_by_name() {
        let document = b"<?xml version=\"1.0\" encoding=\"klingon-7\"?><a/>";
        assert_eq!(
            read(document),
            Err(InputError::UnknownEncoding("klingon-7".into()))
        );
    }

    #[test]
    fn bytes_that_do_not_fit_refuse_the_document() {
        assert_eq!(read(b"<a>\xFF</a>"), Err(InputError::NotEncoded("UTF-8")));
        assert_eq!(
            read(b"<a>cut \xE2\x82"),
            Err(InputError::NotEncoded("UTF-8"))
        );
        let mut odd = utf16("\u{FEFF}<a/>", true);
        odd.push(b'x');
        assert_eq!(read(&odd), Err(InputError::NotEncoded("UTF-16BE")));
    }

    #[test]
    fn every_character_that_xml_forbids_is_refused() {
        for character in (0..0x20u32).chain([0xFFFE, 0xFFFF]) {
            let allowed = matches!(character, 9 | 10 | 13);
            let text = format!("<a>{}</a>", char::from_u32(character).unwrap());
            match read(text.as_bytes()) {
                Ok(read) => assert!(allowed && read == text, "U+{character:04X}"),
                Err(error) => {
                    assert!(!allowed);
                    assert_eq!(error, InputError::IllegalCharacter(character));
                }
            }
        }
    }

    /// A source that gives one byte at a time cuts every character in two.
    struct Drip<'a>(&'a [u8]);
    impl Read for Drip<'_> {
        fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
            let amount = self.0.len().min(1).min(target.len());
            target[..amount].copy_from_slice(&self.0[..amount]);
            self.0 = &self.0[amount..];
            Ok(amount)
        }
    }

    #[test]
    fn characters_may_be_cut_anywhere_by_the_network() {
        let text = format!("<a>{}</a>", "ü𝔘€\n".repeat(20_000));
        let mut input = Input::new(Drip(text.as_bytes()));
        assert_eq!(read_all(&mut input).unwrap(), text);
        let wide = utf16(&format!("\u{FEFF}{text}"), false);
        assert_eq!(read_all(&mut Input::new(Drip(&wide))).unwrap(), text);
    }

    #[test]
    fn lines_are_counted_across_chunks() {
        let text = "x\n".repeat(CHUNK);
        let mut input = Input::new(text.as_bytes());
        let passed = CHUNK - 5;
        while input.begin().len() < 2 * passed {
            assert!(input.more().unwrap());
        }
        input.end(2 * passed);
        input.begin();
        assert_eq!(input.line(), passed as u32 + 1);
    }

    #[test]
    fn an_event_that_arrives_byte_by_byte_is_not_looked_at_for_every_byte() {
        let text = "x".repeat(CHUNK);
        let mut input = Input::new(Drip(text.as_bytes()));
        let mut looks = 0;
        while input.begin().len() < CHUNK {
            assert!(input.more().unwrap());
            looks += 1;
        }
        assert!(looks < 20, "{looks}");
    }
}
