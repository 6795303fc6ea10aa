//! Compressing documents, with memory that is kept from one to the next: an encoder wants hundreds of kilobytes, and
//! getting them from the system each time takes longer than compressing a feed. The text of the document has its place
//! here, too, for the same reason.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::rc::Rc;

use brotli::enc::{BrotliAlloc, BrotliEncoderParams};
use brotli::{Allocator, SliceWrapper, SliceWrapperMut};
use flate2::{Compress, Compression, FlushCompress, Status};

/// Small, and fast enough to be done whenever a feed changes: the next level takes half as long again for a few bytes.
const GZIP_LEVEL: u32 = 2;
const GZIP_WINDOW: u8 = 15;
/// The lowest ones at which documents become smaller than with gzip.
const BROTLI_LEVEL: i32 = 3;
const BROTLI_LEVEL_IF_SMALL: i32 = 4;
const SMALL_BYTES: usize = 16 << 10;
/// As large as the document, within these bounds: memory for a larger one would have to be cleared for nothing.
const BROTLI_WINDOWS: std::ops::RangeInclusive<u32> = 16..=18;
const BUFFER_BYTES: usize = 16 << 10;

/// Compresses one document after the other.
pub struct Compressor {
    gzip: Compress,
    /// The document.
    text: Vec<u8>,
    /// What it is read from and written to, a part at a time.
    input: Vec<u8>,
    output: Vec<u8>,
    spare: Spare,
}

impl Compressor {
    /// One that has no memory yet.
    pub fn new() -> Compressor {
        Compressor {
            gzip: Compress::new_gzip(Compression::new(GZIP_LEVEL), GZIP_WINDOW),
            text: Vec::new(),
            input: vec![0; BUFFER_BYTES],
            output: vec![0; BUFFER_BYTES],
            spare: Spare::default(),
        }
    }

    /// Takes what is written as the document that is compressed from now on.
    pub fn write<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        self.text.clear();
        write(&mut self.text)
    }

    /// The document as gzip.
    pub fn gzip(&mut self) -> io::Result<Vec<u8>> {
        self.gzip.reset();
        let mut coded = Vec::new();
        loop {
            let read = usize::try_from(self.gzip.total_in()).unwrap_or(usize::MAX);
            let before = self.gzip.total_out();
            let rest = self.text.get(read..).unwrap_or_default();
            let status = (self.gzip).compress(rest, &mut self.output, FlushCompress::Finish)?;
            let written = usize::try_from(self.gzip.total_out() - before).unwrap_or_default();
            coded.extend_from_slice(&self.output[..written]);
            match status {
                Status::StreamEnd => return Ok(coded),
                _ if written == 0 => return Err(io::ErrorKind::WriteZero.into()),
                _ => {}
            }
        }
    }

    /// The document as brotli.
    pub fn brotli(&mut self) -> io::Result<Vec<u8>> {
        // The last sixteen bytes of a window cannot be reached.
        let bits = usize::BITS - (self.text.len() + 15).leading_zeros();
        let window = bits.clamp(*BROTLI_WINDOWS.start(), *BROTLI_WINDOWS.end());
        let params = BrotliEncoderParams {
            quality: match self.text.len() {
                0..SMALL_BYTES => BROTLI_LEVEL_IF_SMALL,
                _ => BROTLI_LEVEL,
            },
            lgwin: i32::try_from(window).unwrap_or_default(),
            size_hint: self.text.len(),
            ..Default::default()
        };
        let lent = Lent(Rc::new(RefCell::new(std::mem::take(&mut self.spare))));
        let mut coded = Vec::new();
        let done = brotli::BrotliCompressCustomAlloc(
            &mut &*self.text,
            &mut coded,
            &mut self.input,
            &mut self.output,
            &params,
            lent.clone(),
        );
        self.spare = lent.0.take();
        done.map(|_| coded)
    }
}

/// Pieces of memory that nobody uses: for each type a list of them, as [`Vec`]s without content.
#[derive(Default)]
struct Spare(HashMap<TypeId, Box<dyn Any + Send>>);

impl Spare {
    fn pieces<T: Send + 'static>(&mut self) -> Option<&mut Vec<Vec<T>>> {
        let pieces = self.0.entry(TypeId::of::<T>());
        let pieces = pieces.or_insert_with(|| Box::new(Vec::<Vec<T>>::new()));
        pieces.downcast_mut()
    }

    /// The smallest piece with room for so many, or else the largest, which has to grow: so there are never more of them
    /// than were used at once, however many lengths documents have.
    fn take<T: Send + 'static>(&mut self, len: usize) -> Vec<T> {
        let pieces = self.pieces::<T>().filter(|_| len > 0);
        let piece = pieces.and_then(|pieces| {
            let rank = |piece: &Vec<T>| match piece.capacity() {
                room if room < len => usize::MAX - room,
                room => room,
            };
            let best = (0..pieces.len()).min_by_key(|&place| rank(&pieces[place]));
            best.map(|place| pieces.swap_remove(place))
        });
        piece.unwrap_or_default()
    }

    fn put<T: Send + 'static>(&mut self, mut piece: Vec<T>) {
        piece.clear();
        if let Some(pieces) = self.pieces().filter(|_| piece.capacity() > 0) {
            pieces.push(piece);
        }
    }
}

/// Gives out what is spare, and takes it back.
#[derive(Clone)]
struct Lent(Rc<RefCell<Spare>>);

#[derive(Default)]
struct Piece<T>(Vec<T>);

impl<T> SliceWrapper<T> for Piece<T> {
    fn slice(&self) -> &[T] {
        &self.0
    }
}

impl<T> SliceWrapperMut<T> for Piece<T> {
    fn slice_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T: Clone + Default + Send + 'static> Allocator<T> for Lent {
    type AllocatedMemory = Piece<T>;

    fn alloc_cell(&mut self, len: usize) -> Piece<T> {
        let mut piece = self.0.borrow_mut().take(len);
        piece.resize(len, T::default());
        Piece(piece)
    }

    fn free_cell(&mut self, piece: Piece<T>) {
        self.0.borrow_mut().put(piece.0);
    }
}

impl BrotliAlloc for Lent {}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn compressed(compressor: &mut Compressor, text: &[u8]) -> (Vec<u8>, Vec<u8>) {
        compressor.write(|written| written.extend_from_slice(text));
        (compressor.gzip().unwrap(), compressor.brotli().unwrap())
    }

    /// What could be a feed of so many entries.
    fn feed(entries: usize) -> Vec<u8> {
        let entry = |n: usize| format!("<entry>page {n} of {entries} was updated</entry>");
        (0..entries).flat_map(|n| entry(n).into_bytes()).collect()
    }

    #[test]
    fn what_was_compressed_with_used_memory_is_the_same_and_comes_back() {
        let mut compressor = Compressor::new();
        let noise = |n: usize| -> Vec<u8> {
            let noise = (0..n * n * 97).map(|k| (k * k * 31 + n) as u8);
            noise.collect()
        };
        let mut texts: Vec<Vec<u8>> = (0..40).map(noise).collect();
        texts.extend((0..5_000).step_by(500).map(feed));
        for text in texts.iter().chain(texts.iter().rev()) {
            let (gzip, brotli) = compressed(&mut compressor, text);
            let fresh = compressed(&mut Compressor::new(), text);
            assert!((&gzip, &brotli) == (&fresh.0, &fresh.1));
            let (mut plain, mut other) = (Vec::new(), Vec::new());
            flate2::read::GzDecoder::new(&gzip[..])
                .read_to_end(&mut plain)
                .unwrap();
            brotli::Decompressor::new(&brotli[..], 4096)
                .read_to_end(&mut other)
                .unwrap();
            assert!(plain == *text && other == *text);
        }
    }

    #[test]
    fn memory_that_is_kept_does_not_grow_with_the_lengths_of_documents() {
        let mut compressor = Compressor::new();
        let pieces = |compressor: &mut Compressor| {
            let spare = &mut compressor.spare;
            spare.pieces::<u8>().unwrap().len() + spare.pieces::<u32>().unwrap().len()
        };
        // One that is large and one that is small: they are compressed in different ways.
        compressed(&mut compressor, &feed(2_000));
        compressed(&mut compressor, &feed(20));
        let first = pieces(&mut compressor);
        for entries in 0..300 {
            compressed(&mut compressor, &feed(entries));
        }
        let last = pieces(&mut compressor);
        assert!(first > 0 && last <= first + 2, "{first} and then {last}");
    }
}
