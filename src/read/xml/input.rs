//! Bytes from outside, as text that an XML parser may trust.
//!
//! Finds the encoding (byte order mark, the shape of the first bytes, the XML declaration), transcodes to UTF-8 while
//! the bytes arrive, refuses every character that XML 1.0 forbids, and knows the line it is at. Nothing is replaced or
//! skipped: a byte that does not fit refuses the document, because a guess would become somebody's feed.

use std::io::{self, BufRead, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use memchr::{memchr_iter, memmem};

/// How much is read, checked and handed on at a time.
const CHUNK: usize = 32 * 1024;

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

/// A [`BufRead`] over checked UTF-8.
pub(super) struct Input<R> {
    source: R,
    /// Set once the first bytes have been seen; `None` for UTF-8, which is checked but not copied again.
    decoder: Option<Decoder>,
    started: bool,
    source_ended: bool,
    /// Bytes as they came, when they must be transcoded.
    raw: Vec<u8>,
    /// UTF-8: `..end` is checked, `end..filled` is the beginning of a character that is not here yet.
    buffer: Vec<u8>,
    position: usize,
    end: usize,
    filled: usize,
    /// Line ends before `counted`, which is a position in `buffer`.
    lines: u32,
    counted: usize,
    /// Bytes handed out since the last event began.
    event_bytes: usize,
    failure: Option<InputError>,
}

impl<R: Read> Input<R> {
    pub(super) fn new(source: R) -> Self {
        Input {
            source,
            decoder: None,
            started: false,
            source_ended: false,
            raw: Vec::new(),
            buffer: Vec::new(),
            position: 0,
            end: 0,
            filled: 0,
            lines: 0,
            counted: 0,
            event_bytes: 0,
            failure: None,
        }
    }

    /// The line, counted from 1, of the next byte to be handed out.
    pub(super) fn line(&mut self) -> u32 {
        self.count_lines_to(self.position);
        self.lines.saturating_add(1)
    }

    /// Starts the count that bounds the length of a single event.
    pub(super) fn begin_event(&mut self) {
        self.event_bytes = 0;
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

    fn count_lines_to(&mut self, position: usize) {
        if position > self.counted {
            let lines = memchr_iter(b'\n', &self.buffer[self.counted..position]).count();
            self.lines = self
                .lines
                .saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
            self.counted = position;
        }
    }

    fn fail(&mut self, failure: InputError) -> io::Error {
        self.failure = Some(failure.clone());
        io::Error::new(io::ErrorKind::InvalidData, failure)
    }

    /// Fails, with [`Input::line`] telling where; nothing after `position` is handed out.
    fn fail_at(&mut self, position: usize, failure: InputError) -> io::Error {
        (self.position, self.end) = (position, position);
        self.fail(failure)
    }

    fn refill(&mut self) -> io::Result<()> {
        if let Some(failure) = self.failure.clone() {
            return Err(self.fail(failure));
        }
        if !self.started {
            self.start()?;
            if self.end > 0 {
                return Ok(());
            }
        }
        self.count_lines_to(self.end);
        self.buffer.copy_within(self.end..self.filled, 0);
        self.filled -= self.end;
        (self.position, self.end, self.counted) = (0, 0, 0);
        while self.end == 0 && !self.source_ended {
            if self.decoder.is_some() {
                self.transcode()?;
            } else {
                let read = read_some(&mut self.source, &mut self.buffer[self.filled..])?;
                self.source_ended = read == 0;
                self.filled += read;
                self.accept_utf8()?;
            }
        }
        Ok(())
    }

    /// Reads the first bytes and decides on the encoding.
    fn start(&mut self) -> io::Result<()> {
        self.started = true;
        let mut head = vec![0; CHUNK];
        let mut length = 0;
        while length < DECLARATION && !self.source_ended {
            let read = read_some(&mut self.source, &mut head[length..])?;
            self.source_ended = read == 0;
            length += read;
        }
        let (encoding, mark) = match encoding_of(&head[..length]) {
            Ok(found) => found,
            Err(failure) => return Err(self.fail(failure)),
        };
        self.buffer = vec![0; CHUNK];
        if encoding == UTF_8 {
            self.buffer[..length - mark].copy_from_slice(&head[mark..length]);
            self.filled = length - mark;
            self.accept_utf8()
        } else {
            self.decoder = Some(encoding.new_decoder_without_bom_handling());
            head.truncate(length);
            head.drain(..mark);
            self.raw = head;
            self.source_ended = false;
            Ok(())
        }
    }

    /// Moves `end` behind the last whole character.
    fn accept_utf8(&mut self) -> io::Result<()> {
        let text = &self.buffer[..self.filled];
        let whole = match std::str::from_utf8(text) {
            Ok(_) => self.filled,
            Err(error) if error.error_len().is_none() && !self.source_ended => error.valid_up_to(),
            Err(error) => {
                let good = error.valid_up_to();
                return Err(self.fail_at(good, InputError::NotEncoded(UTF_8.name())));
            }
        };
        self.accept(whole)
    }

    fn accept(&mut self, end: usize) -> io::Result<()> {
        if let Some((position, character)) = illegal_character(&self.buffer[..end]) {
            return Err(self.fail_at(position, InputError::IllegalCharacter(character)));
        }
        self.end = end;
        Ok(())
    }

    /// Decodes what is in `raw`, reading more when it is used up.
    fn transcode(&mut self) -> io::Result<()> {
        let mut last = false;
        if self.raw.is_empty() {
            self.raw.resize(CHUNK / 4, 0);
            let read = read_some(&mut self.source, &mut self.raw)?;
            self.raw.truncate(read);
            last = read == 0;
        }
        let Some(decoder) = self.decoder.as_mut() else {
            return Ok(());
        };
        let (result, used, written) =
            decoder.decode_to_utf8_without_replacement(&self.raw, &mut self.buffer[..], last);
        self.raw.drain(..used);
        match result {
            DecoderResult::Malformed(..) => {
                let name = decoder.encoding().name();
                Err(self.fail_at(written, InputError::NotEncoded(name)))
            }
            result => {
                self.source_ended = last && matches!(result, DecoderResult::InputEmpty);
                self.filled = written;
                self.accept(written)
            }
        }
    }
}

impl<R: Read> BufRead for Input<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.position == self.end {
            if self.event_bytes > super::MAX_EVENT_BYTES {
                return Err(self.fail(InputError::EventTooLong));
            }
            self.refill()?;
            self.event_bytes += self.end;
        }
        Ok(&self.buffer[self.position..self.end])
    }

    fn consume(&mut self, amount: usize) {
        self.position = (self.position + amount).min(self.end);
    }
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let amount = available.len().min(target.len());
        target[..amount].copy_from_slice(&available[..amount]);
        self.consume(amount);
        Ok(amount)
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
        let mut text = String::new();
        match input.read_to_string(&mut text) {
            Ok(_) => Ok(text),
            Err(_) => Err(input
                .failure()
                .cloned()
                .expect("only the input itself fails here")),
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
        let mut read = String::new();
        Input::new(Drip(text.as_bytes()))
            .read_to_string(&mut read)
            .unwrap();
        assert_eq!(read, text);
        read.clear();
        Input::new(Drip(&utf16(&format!("\u{FEFF}{text}"), false)))
            .read_to_string(&mut read)
            .unwrap();
        assert_eq!(read, text);
    }

    #[test]
    fn lines_are_counted_across_chunks() {
        let text = "x\n".repeat(CHUNK);
        let mut input = Input::new(text.as_bytes());
        let mut target = vec![0; 2 * (CHUNK - 5)];
        input.read_exact(&mut target).unwrap();
        assert_eq!(input.line(), (CHUNK - 5) as u32 + 1);
    }
}
