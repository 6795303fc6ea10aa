//! Undoes the compression of a body while it arrives, and counts what comes out.
//!
//! Synchronous, so that a parser can simply read. One content coding is undone, and then, if what comes out is a gzip
//! file (`sitemap.xml.gz`), that one too; nothing deeper. The limit is absolute and holds at every level: an honest
//! change list compresses 250 to 1, so a ratio would refuse good sites. It holds only where a format has one itself.
//!
//! The one rule: a fault, once met, stays. Every later read fails too, and whoever asked for the body gets the fault
//! whatever the parser made of it.

use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use brotli_decompressor::{BrotliDecoderParameter, Decompressor};
use bytes::{Buf, Bytes};
use flate2::bufread::GzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use tokio::sync::mpsc::Receiver;

/// How every gzip file starts.
pub(super) const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A block-compressed file has a member for each 64 KiB; more than this is someone keeping us busy.
const MAX_MEMBERS: u32 = 10_000;

/// Eight MiB, the most that RFC 9659 lets a web server use for zstd.
const ZSTD_WINDOW_LOG: u32 = 23;

const BUFFER: usize = 16_384;

/// A small body of zeros does no harm.
const FREE_BYTES: u64 = 1024 * 1024;

/// What decoded bytes are held to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) max_bytes: u64,
    /// How many of them may come of one, if there is a limit.
    pub(super) max_ratio: Option<u64>,
}

/// How the server says that it compressed the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Identity,
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    /// Reads the values of all `Content-Encoding` fields. More than one coding is refused: no honest server does it,
    /// and each level multiplies what a small body can become.
    pub(super) fn parse<'a>(fields: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, String> {
        let mut found = None;
        for token in fields
            .into_iter()
            .flat_map(|field| field.split(|byte| *byte == b','))
        {
            let name = String::from_utf8_lossy(token).trim().to_ascii_lowercase();
            let coding = match name.as_str() {
                "" | "identity" => continue,
                "gzip" | "x-gzip" => Self::Gzip,
                "deflate" => Self::Deflate,
                "br" => Self::Brotli,
                "zstd" => Self::Zstd,
                _ => {
                    return Err(format!(
                        "the content coding `{}` is not known",
                        name.escape_debug()
                    ));
                }
            };
            if found.replace(coding).is_some() {
                return Err("it is compressed more than once".to_owned());
            }
        }
        Ok(found.unwrap_or(Self::Identity))
    }
}

/// What went wrong below the parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// The transfer failed; the sending side knows how.
    Transfer,
    /// More bytes than the limit.
    TooLarge,
    /// The compressed bytes are not what they should be.
    Coding(String),
}

/// What is sent to a [`Source`]. A channel that closes without `End` is a transfer that was given up.
pub(super) enum Piece {
    Bytes(Bytes),
    End,
}

/// Gives the decoded bytes to `parse` and returns what it made of them, with their number; or the first fault.
pub(super) fn read<T>(
    first: Bytes,
    more: Option<Receiver<Piece>>,
    coding: Coding,
    bounds: Bounds,
    parse: impl FnOnce(&mut dyn BufRead) -> T,
) -> Result<(T, u64), Fault> {
    let fault = SharedFault::default();
    let wire_count = Rc::new(Cell::new(0));
    let mut wire = Peek::new(Source {
        current: first,
        more,
        count: wire_count.clone(),
        fault: fault.clone(),
    });
    let watch = |inner: Box<dyn Read>| Watch {
        inner,
        bounds,
        count: 0,
        wire_count: wire_count.clone(),
        fault: fault.clone(),
    };
    let prepared = wire.peek(2).map(<[u8]>::to_vec).and_then(|start| {
        // An empty body is empty in every coding: some servers name one for it all the same.
        let coding = if start.is_empty() {
            Coding::Identity
        } else {
            coding
        };
        let mut plain = Peek::new(watch(decoder(coding, wire, &start)?));
        let is_gzip_file = plain.peek(2)? == GZIP_MAGIC;
        Ok(if is_gzip_file {
            Peek::new(watch(Box::new(Gunzip::new(plain))))
        } else {
            plain
        })
    });
    let result = match prepared {
        Ok(mut reader) => {
            let value = parse(&mut reader);
            Some((value, reader.inner.count))
        }
        Err(error) => {
            fault.note(|| Fault::Coding(error.to_string()));
            None
        }
    };
    match (fault.0.take(), result) {
        (None, Some(result)) => Ok(result),
        (fault, _) => Err(fault.unwrap_or(Fault::Transfer)),
    }
}

/// The same for bytes that are all there and need no decoding.
pub(super) fn read_plain<T>(
    mut bytes: &[u8],
    limit: u64,
    parse: impl FnOnce(&mut dyn BufRead) -> T,
) -> Result<(T, u64), Fault> {
    let length = bytes.len() as u64;
    match length <= limit {
        true => Ok((parse(&mut bytes), length)),
        false => Err(Fault::TooLarge),
    }
}

fn decoder(coding: Coding, wire: Peek<Source>, start: &[u8]) -> io::Result<Box<dyn Read>> {
    Ok(match coding {
        Coding::Identity => Box::new(wire),
        Coding::Gzip => Box::new(Gunzip::new(wire)),
        Coding::Deflate => Box::new(Inflate::new(wire, start)),
        Coding::Brotli => {
            let mut brotli = Decompressor::new(wire, BUFFER);
            // The crate takes windows of up to 1 GiB unless told not to; the web's limit is 16 MiB (RFC 7932).
            brotli.set_parameter(BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW, 0);
            Box::new(brotli)
        }
        Coding::Zstd => {
            let mut zstd = zstd::stream::read::Decoder::with_buffer(wire)?;
            zstd.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(zstd)
        }
    })
}

#[derive(Clone, Default)]
struct SharedFault(Rc<RefCell<Option<Fault>>>);

impl SharedFault {
    /// The first fault is the cause of all others.
    fn note(&self, fault: impl FnOnce() -> Fault) -> io::Error {
        self.0.borrow_mut().get_or_insert_with(fault);
        self.error()
            .unwrap_or_else(|| io::Error::other("the body could not be read"))
    }

    fn error(&self) -> Option<io::Error> {
        Some(match self.0.borrow().as_ref()? {
            Fault::Transfer => {
                io::Error::new(io::ErrorKind::UnexpectedEof, "the transfer broke off")
            }
            Fault::TooLarge => io::Error::new(io::ErrorKind::FileTooLarge, "the body is too large"),
            Fault::Coding(reason) => io::Error::new(io::ErrorKind::InvalidData, reason.clone()),
        })
    }
}

/// The bytes as they come from the network.
struct Source {
    current: Bytes,
    more: Option<Receiver<Piece>>,
    count: Rc<Cell<u64>>,
    fault: SharedFault,
}

impl Read for Source {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            let Some(more) = &mut self.more else {
                return Ok(0);
            };
            match more.blocking_recv() {
                Some(Piece::Bytes(bytes)) => self.current = bytes,
                Some(Piece::End) => self.more = None,
                None => return Err(self.fault.note(|| Fault::Transfer)),
            }
        }
        let count = buf.len().min(self.current.len());
        self.current.copy_to_slice(&mut buf[..count]);
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}

/// Holds a reader to its bounds, and makes its faults known and lasting (the brotli reader fails once and then says
/// "end", which would make a cut document look whole).
struct Watch {
    inner: Box<dyn Read>,
    bounds: Bounds,
    count: u64,
    /// What came over the network for it so far.
    wire_count: Rc<Cell<u64>>,
    fault: SharedFault,
}

impl Watch {
    /// The ratio that does not hold any more, if there is one.
    fn broken_ratio(&self) -> Option<u64> {
        let is_broken = |ratio: &u64| self.count / ratio > self.wire_count.get();
        let ratio = self.bounds.max_ratio.filter(is_broken);
        ratio.filter(|_| self.count > FREE_BYTES)
    }
}

impl Read for Watch {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.fault.error() {
            return Err(error);
        }
        let count = match self.inner.read(buf) {
            Ok(count) => count,
            Err(error) => return Err(self.fault.note(|| Fault::Coding(error.to_string()))),
        };
        self.count += count as u64;
        if self.count > self.bounds.max_bytes {
            return Err(self.fault.note(|| Fault::TooLarge));
        }
        if let Some(ratio) = self.broken_ratio() {
            let reason =
                format!("it is compressed more than {ratio} to 1, which its format forbids");
            return Err(self.fault.note(|| Fault::Coding(reason)));
        }
        Ok(count)
    }
}

/// A buffered reader that can look ahead, which the standard one cannot.
struct Peek<R> {
    inner: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

impl<R: Read> Peek<R> {
    fn new(inner: R) -> Self {
        Self {
            inner,
            buffer: vec![0; BUFFER].into(),
            start: 0,
            end: 0,
        }
    }

    /// The next `count` bytes, fewer only at the end.
    fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.end - self.start < count {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        while self.end - self.start < count {
            match self.inner.read(&mut self.buffer[self.end..])? {
                0 => break,
                read => self.end += read,
            }
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + count)])
    }
}

impl<R: Read> Read for Peek<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buf)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: Read> BufRead for Peek<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.end = self.inner.read(&mut self.buffer)?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn consume(&mut self, count: usize) {
        self.start = self.end.min(self.start + count);
    }
}

/// Gzip with any number of members; what follows the last one and is no member is left alone, as gzip itself does.
struct Gunzip<R> {
    member: Option<GzDecoder<Peek<R>>>,
    members: u32,
}

impl<R: Read> Gunzip<R> {
    fn new(wire: Peek<R>) -> Self {
        Self {
            member: Some(GzDecoder::new(wire)),
            members: 1,
        }
    }
}

impl<R: Read> Read for Gunzip<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = member.read(buf)?;
            if count > 0 || buf.is_empty() {
                return Ok(count);
            }
            let Some(mut wire) = self.member.take().map(GzDecoder::into_inner) else {
                break;
            };
            if wire.peek(2)? == GZIP_MAGIC {
                self.members += 1;
                if self.members > MAX_MEMBERS {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "too many gzip members",
                    ));
                }
                self.member = Some(GzDecoder::new(wire));
            }
        }
        Ok(0)
    }
}

/// `deflate`, which is zlib by the book and raw deflate from some servers. Not flate2's own readers: these take a cut
/// stream for a whole one.
struct Inflate<R> {
    wire: Peek<R>,
    state: Decompress,
    is_done: bool,
}

impl<R: Read> Inflate<R> {
    fn new(wire: Peek<R>, start: &[u8]) -> Self {
        // The two bytes of a zlib head: method 8, and a check sum over both.
        let is_zlib = matches!(*start, [a, b] if a & 0x0f == 8 && u16::from_be_bytes([a, b]).is_multiple_of(31));
        Self {
            wire,
            state: Decompress::new(is_zlib),
            is_done: false,
        }
    }
}

impl<R: Read> Read for Inflate<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while !self.is_done && !buf.is_empty() {
            let input = self.wire.fill_buf()?;
            let at_end = input.is_empty();
            let (taken, given) = (self.state.total_in(), self.state.total_out());
            let status = self
                .state
                .decompress(input, buf, FlushDecompress::None)
                .map_err(io::Error::from)?;
            let taken = (self.state.total_in() - taken) as usize;
            let given = (self.state.total_out() - given) as usize;
            self.wire.consume(taken);
            self.is_done = status == Status::StreamEnd;
            if given > 0 {
                return Ok(given);
            }
            if at_end && !self.is_done {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the compressed data is cut off",
                ));
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests;
