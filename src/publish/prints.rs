//! By what a page is known again: hashes, as they are published.

use std::fmt;

use sha2::{Digest, Sha256};

/// Bytes of the hash that are kept: enough that no two versions of a page share one.
const HASH_BYTES: usize = 16;

/// What a page says, or what a file is, in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageHash(pub [u8; HASH_BYTES]);

/// As hexadecimal digits.
impl fmt::Display for PageHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hex = String::with_capacity(2 * HASH_BYTES);
        self.write_to(&mut hex);
        f.write_str(&hex)
    }
}

impl PageHash {
    /// What a hasher has found.
    pub(super) fn of(hasher: Sha256) -> PageHash {
        let mut hash = [0; HASH_BYTES];
        hash.copy_from_slice(&hasher.finalize()[..HASH_BYTES]);
        PageHash(hash)
    }

    /// Adds it to a text, as hexadecimal digits.
    pub(super) fn write_to(&self, text: &mut String) {
        // A manifest has two for each page, so it is not formatted byte by byte.
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        for byte in self.0 {
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 0xf)]));
        }
    }

    /// Reads what is written so.
    pub fn parse(hex: &str) -> Option<PageHash> {
        let (pairs, []) = hex.as_bytes().as_chunks::<2>() else {
            return None;
        };
        let pairs: &[[u8; 2]; HASH_BYTES] = pairs.try_into().ok()?;
        let mut hash = [0; HASH_BYTES];
        for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(PageHash(hash))
    }
}

fn digit(hex: u8) -> Option<u8> {
    match hex {
        b'0'..=b'9' => Some(hex - b'0'),
        b'a'..=b'f' => Some(hex - b'a' + 10),
        b'A'..=b'F' => Some(hex - b'A' + 10),
        _ => None,
    }
}

/// By what a page is known again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prints {
    /// Its bytes.
    pub bytes: PageHash,
    /// What it says, by the rules of its author.
    pub words: PageHash,
}

impl Prints {
    /// Whether a page is another than it was. The same bytes are the same page, whatever the rules are by now.
    pub fn differ(&self, before: &Prints) -> bool {
        self.bytes != before.bytes && self.words != before.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_read_as_it_is_written() {
        let hash = PageHash(std::array::from_fn(|n| u8::try_from(17 * n).unwrap()));
        let hex = "00112233445566778899aabbccddeeff";
        assert_eq!(hash.to_string(), hex);
        assert_eq!(PageHash::parse(hex), Some(hash));
        assert_eq!(PageHash::parse(&hex.to_uppercase()), Some(hash));
        for wrong in [
            "",
            "0",
            &hex[1..],
            &hex[2..],
            &hex.replace('0', "g"),
            &format!("{hex}00"),
        ] {
            assert_eq!(PageHash::parse(wrong), None, "{wrong}");
        }
    }
}
