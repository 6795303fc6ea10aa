//! Addresses as numbers: what a page, its spellings, its checksum and its document are known by. They are in the store, so
//! they never change.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;

/// A page, by its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageKey(pub i64);

impl PageKey {
    /// The key of an address.
    pub fn of(url: &str) -> PageKey {
        PageKey(SipHasher24::new().hash(url.as_bytes()).cast_signed())
    }
}

/// A document of a list, by its address. Never 0.
pub fn part_of(url: &str) -> u32 {
    short_hash(url) | 1
}

pub(super) fn short_hash(text: &str) -> u32 {
    // Any half of it will do.
    (SipHasher24::new().hash(text.as_bytes()) >> 32) as u32
}

/// What two addresses have in common that are one page to everybody but a machine: scheme, `www.`, a slash at the end,
/// `index.html` and `.html` make no difference.
pub(super) fn twin_of(url: &str) -> u32 {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.strip_prefix("www.").unwrap_or(rest);
    let (path, query) = match rest.find('?') {
        Some(start) => rest.split_at(start),
        None => (rest, ""),
    };
    let path = ["/index.html", "/index.htm", ".html", ".htm"]
        .iter()
        .find_map(|ending| path.strip_suffix(ending))
        .unwrap_or(path)
        .trim_end_matches('/');
    let mut hasher = SipHasher24::new();
    hasher.write(path.as_bytes());
    hasher.write(query.as_bytes());
    (hasher.finish() >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_that_are_in_the_store() {
        let mut hasher = SipHasher24::new();
        hasher.write(b"https://fox.example/den/1");
        let hash = hasher.finish();
        assert_eq!(
            PageKey::of("https://fox.example/den/1").0.cast_unsigned(),
            hash
        );
        assert_eq!(
            PageKey::of("https://fox.example/").0,
            -5_326_382_221_894_951_682
        );
        assert_eq!(
            part_of("https://fox.example/den/1"),
            (hash >> 32) as u32 | 1
        );
    }

    #[test]
    fn spellings_of_one_address_are_twins() {
        let same = [
            "https://www.fox.example/den/",
            "http://fox.example/den",
            "https://fox.example/den.html",
            "https://fox.example/den/index.html",
        ];
        for url in same {
            assert_eq!(twin_of(url), twin_of(same[0]), "{url}");
        }
        assert_ne!(twin_of("https://fox.example/den?a"), twin_of(same[0]));
        assert_ne!(twin_of("https://fox.example/Den"), twin_of(same[0]));
        assert_ne!(twin_of("https://fox.example/dens"), twin_of(same[0]));
    }
}
