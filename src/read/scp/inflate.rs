//! zstd from strangers: a bounded window, a bounded size, and no more than a hundred bytes for one.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use crate::read::list::{is_too_dense, too_dense};

/// Eight MiB, the most that RFC 9659 lets a web server use.
const WINDOW_LOG: u32 = 23;
/// As the protocol demands.
pub(super) const MAX_RATIO: u64 = 100;

/// The bytes as they were before.
pub(super) struct Inflate<'a> {
    decoder: zstd::Decoder<'a, Counted<'a>>,
    compressed: Rc<Cell<u64>>,
    count: u64,
    max_bytes: u64,
}

impl<'a> Inflate<'a> {
    /// `max_bytes` is the most that comes out of it.
    pub(super) fn new(source: &'a mut dyn BufRead, max_bytes: u64) -> io::Result<Self> {
        let compressed = Rc::new(Cell::new(0));
        let counted = Counted {
            source,
            count: compressed.clone(),
        };
        let mut decoder = zstd::Decoder::with_buffer(counted)?;
        decoder.window_log_max(WINDOW_LOG)?;
        Ok(Inflate {
            decoder,
            compressed,
            count: 0,
            max_bytes,
        })
    }
}

impl Read for Inflate<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(buffer)?;
        self.count += read as u64;
        if self.count > self.max_bytes {
            let message = format!(
                "unpacked, the file is larger than {} bytes, the most that is read here",
                self.max_bytes
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        if is_too_dense(self.compressed.get(), self.count, MAX_RATIO) {
            return Err(io::Error::other(too_dense(MAX_RATIO)));
        }
        Ok(read)
    }
}

struct Counted<'a> {
    source: &'a mut dyn BufRead,
    count: Rc<Cell<u64>>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

impl BufRead for Counted<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.source.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.count.set(self.count.get() + amount as u64);
        self.source.consume(amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inflated(plain: &[u8]) -> io::Result<u64> {
        inflated_to(plain, u64::MAX)
    }

    fn inflated_to(plain: &[u8], max_bytes: u64) -> io::Result<u64> {
        let packed = zstd::encode_all(plain, 19)?;
        let mut source = &packed[..];
        let mut inflate = Inflate::new(&mut source, max_bytes)?;
        io::copy(&mut inflate, &mut io::sink())
    }

    #[test]
    fn a_bomb_is_refused_as_soon_as_it_goes_off() {
        let error = inflated(&vec![b' '; 50 * 1024 * 1024]).expect_err("a bomb");
        assert!(error.to_string().contains("100 to 1"), "{error}");
    }

    #[test]
    fn no_more_comes_out_than_is_wanted() {
        assert_eq!(inflated_to(&[b' '; 100], 100).unwrap(), 100);
        let error = inflated_to(&[b' '; 101], 100).expect_err("too large");
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn what_is_honest_comes_out_whole() {
        assert_eq!(inflated(b"").unwrap(), 0);
        assert_eq!(
            inflated(&[b' '; 100_000]).unwrap(),
            100_000,
            "small files may be as dense as they like"
        );
        let text: Vec<u8> = (0..400_000_u32)
            .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
            .collect();
        assert_eq!(inflated(&text).unwrap(), text.len() as u64);
    }
}
