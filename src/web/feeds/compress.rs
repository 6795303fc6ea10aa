//! Compressing documents, with memory that is kept from one to the next: an encoder wants hundreds of kilobytes, and
//! getting them from the system each time takes longer than compressing a feed.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::rc::Rc;

use brotli::enc::{BrotliAlloc, BrotliEncoderParams};
use brotli::{Allocator, SliceWrapper, SliceWrapperMut};
use flate2::{Compress, Compression, FlushCompress, Status};

/// Small, and fast enough to be done whenever a feed changes.
const GZIP_LEVEL: u32 = 4;
const GZIP_WINDOW: u8 = 15;
const BROTLI_LEVEL: i32 = 3;
const BROTLI_WINDOW: i32 = 18;
const BUFFER_BYTES: usize = 16 << 10;

/// Compresses one document after the other.
pub struct Compressor {
    gzip: Compress,
    /// What brotli reads from and writes to, a part at a time.
    input: Vec<u8>,
    output: Vec<u8>,
    spare: Spare,
}

impl Compressor {
    /// One that has no memory yet.
    pub fn new() -> Compressor {
        Compressor {
            gzip: Compress::new_gzip(Compression::new(GZIP_LEVEL), GZIP_WINDOW),
            input: vec![0; BUFFER_BYTES],
            output: vec![0; BUFFER_BYTES],
            spare: Spare::default(),
        }
    }

    /// The text as gzip.
    pub fn gzip(&mut self, text: &[u8]) -> io::Result<Vec<u8>> {
        self.gzip.reset();
        // As much as it may come to, where nothing can be saved.
        let mut coded = Vec::with_capacity(text.len() + text.len() / 100 + 100);
        match (self.gzip).compress_vec(text, &mut coded, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => {
                coded.shrink_to_fit();
                Ok(coded)
            }
            Ok(_) => Err(io::ErrorKind::StorageFull.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// The text as brotli.
    pub fn brotli(&mut self, text: &[u8]) -> io::Result<Vec<u8>> {
        let params = BrotliEncoderParams {
            quality: BROTLI_LEVEL,
            lgwin: BROTLI_WINDOW,
            size_hint: text.len(),
            ..Default::default()
        };
        let lent = Lent(Rc::new(RefCell::new(std::mem::take(&mut self.spare))));
        let mut coded = Vec::new();
        let done = brotli::BrotliCompressCustomAlloc(
            &mut &*text,
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

/// Pieces of memory that nobody uses, by what they are made of and how many of them they have.
#[derive(Default)]
struct Spare(HashMap<(TypeId, usize), Vec<Box<dyn Any + Send>>>);

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
        let mut spare = self.0.borrow_mut();
        let pieces = spare.0.get_mut(&(TypeId::of::<T>(), len));
        let piece = pieces.and_then(Vec::pop);
        match piece.and_then(|piece| piece.downcast::<Vec<T>>().ok()) {
            Some(mut piece) => {
                piece.fill(T::default());
                Piece(*piece)
            }
            None => Piece(vec![T::default(); len]),
        }
    }

    fn free_cell(&mut self, piece: Piece<T>) {
        if !piece.0.is_empty() {
            let kind = (TypeId::of::<T>(), piece.0.len());
            let mut spare = self.0.borrow_mut();
            spare.0.entry(kind).or_default().push(Box::new(piece.0));
        }
    }
}

impl BrotliAlloc for Lent {}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn what_was_compressed_with_used_memory_is_the_same_and_comes_back() {
        let mut compressor = Compressor::new();
        let texts: Vec<Vec<u8>> = (0..40)
            .map(|n: usize| {
                let noise = (0..n * n * 97).map(|k| (k * k * 31 + n) as u8);
                noise.collect()
            })
            .collect();
        for text in texts.iter().chain(texts.iter().rev()) {
            let (gzip, brotli) = (
                compressor.gzip(text).unwrap(),
                compressor.brotli(text).unwrap(),
            );
            let mut fresh = Compressor::new();
            assert_eq!(gzip, fresh.gzip(text).unwrap());
            assert_eq!(brotli, fresh.brotli(text).unwrap());
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
    fn memory_that_is_kept_does_not_grow() {
        let mut compressor = Compressor::new();
        let text = "<entry>a page was updated</entry>".repeat(1_000);
        let pieces =
            |compressor: &Compressor| -> usize { compressor.spare.0.values().map(Vec::len).sum() };
        compressor.brotli(text.as_bytes()).unwrap();
        let first = pieces(&compressor);
        for _ in 0..9 {
            compressor.brotli(text.as_bytes()).unwrap();
        }
        assert_eq!((first > 0, pieces(&compressor)), (true, first));
    }
}
