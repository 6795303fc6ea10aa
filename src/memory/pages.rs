//! The pages of a collection that lists them, up to a few million: what is remembered of each in 29 bytes, and what a
//! reading saw of them.
//!
//! A page is remembered by a hash of its address; the address itself is in the store, and comes back only when the page
//! does not. Each document of a list fills a [`Sheet`] of its own, so that one that breaks off leaves no trace.

mod sighted;
mod table;

use std::hash::Hasher;

use siphasher::sip::SipHasher24;

pub use self::sighted::{Sheet, Sight, Sighted};
pub use self::table::{Extra, PageTable, PageWrites};
use crate::moment::Moment;

/// A page, by its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageKey(pub i64);

impl PageKey {
    /// The key of an address.
    pub fn of(url: &str) -> PageKey {
        let mut hasher = SipHasher24::new();
        hasher.write(url.as_bytes());
        PageKey(hasher.finish().cast_signed())
    }
}

/// A document of a list, by its address. Never 0.
pub fn part_of(url: &str) -> u32 {
    short_hash(url) | 1
}

fn short_hash(text: &str) -> u32 {
    let mut hasher = SipHasher24::new();
    hasher.write(text.as_bytes());
    // Any half of it will do.
    (hasher.finish() >> 32) as u32
}

/// What two addresses have in common that are one page to everybody but a machine: scheme, `www.`, a slash at the end,
/// `index.html` and `.html` make no difference.
fn twin_of(url: &str) -> u32 {
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

/// When a page was last modified, in eight bytes: seconds, milliseconds and form. Numbers and moments have one order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stamp(pub i64);

impl Stamp {
    /// Nobody knows when.
    pub const NONE: Stamp = Stamp(i64::MIN);

    /// The stamp of a moment; milliseconds are precise enough.
    pub fn of(moment: Option<Moment>) -> Stamp {
        let Some(moment) = moment else {
            return Stamp::NONE;
        };
        let (seconds, form) = moment.to_parts();
        let millis = (form >> 15) / 1_000_000;
        // Fractions finer than that would be shown with zeros.
        let rank = (form & 0xF).min(7);
        let form = (form & 0x7FF0) | rank;
        Stamp(seconds << 25 | (millis << 15 | form).cast_signed())
    }

    /// The moment, if there is one.
    pub fn moment(self) -> Option<Moment> {
        if self == Stamp::NONE {
            return None;
        }
        let bits = (self.0 & 0x1FF_FFFF).cast_unsigned();
        let nanos = (bits >> 15) * 1_000_000;
        Moment::from_parts(self.0 >> 25, nanos << 15 | (bits & 0x7FFF))
    }
}

/// What is remembered of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownPage {
    /// The page.
    pub key: PageKey,
    /// When it was last modified.
    pub stamp: Stamp,
    /// What it shares with other spellings of its address.
    pub twin: u32,
    /// A hash of its checksum; 0 if it has none.
    pub hash: u32,
    /// The document that lists it; 0 once that was read without it.
    pub part: u32,
    /// How it stands with the page.
    pub state: PageState,
}

/// How it stands with a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageState {
    /// It was not in the last complete reading.
    pub is_missing: bool,
    /// It was in a list of what is new only: leaving that is no deletion.
    pub is_passing: bool,
}

impl PageState {
    /// As a number, for the store.
    pub fn to_bits(self) -> u8 {
        u8::from(self.is_missing) | u8::from(self.is_passing) << 1
    }

    /// From that number.
    pub fn from_bits(bits: u8) -> PageState {
        PageState {
            is_missing: bits & 1 != 0,
            is_passing: bits & 2 != 0,
        }
    }
}

/// All pages of a collection that are remembered, in the order of their keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownPages {
    keys: Vec<PageKey>,
    stamps: Vec<Stamp>,
    twins: Vec<u32>,
    hashes: Vec<u32>,
    parts: Vec<u32>,
    states: Vec<u8>,
}

impl KnownPages {
    /// Adds a page; they must come in the order of their keys.
    pub fn push(&mut self, page: KnownPage) {
        debug_assert!(self.keys.last().is_none_or(|last| *last < page.key));
        self.keys.push(page.key);
        self.stamps.push(page.stamp);
        self.twins.push(page.twin);
        self.hashes.push(page.hash);
        self.parts.push(page.part);
        self.states.push(page.state.to_bits());
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The page at this place.
    pub fn get(&self, place: usize) -> KnownPage {
        KnownPage {
            key: self.keys[place],
            stamp: self.stamps[place],
            twin: self.twins[place],
            hash: self.hashes[place],
            part: self.parts[place],
            state: PageState::from_bits(self.states[place]),
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = KnownPage> {
        (0..self.len()).map(|place| self.get(place))
    }

    /// The place of a page.
    pub fn find(&self, key: PageKey) -> Option<usize> {
        self.keys.binary_search(&key).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_stamp_is_the_moment_that_it_came_from() {
        for text in [
            "2026",
            "2026-01",
            "2026-01-02",
            "2026-01-02T03:04Z",
            "2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05.250Z",
            "2026-01-02T03:04:05-11:30",
            "0001-01-01",
            "9999-12-31T23:59:59.999+14:00",
        ] {
            let moment = Moment::parse(text).unwrap();
            assert_eq!(Stamp::of(Some(moment)).moment(), Some(moment), "{text}");
        }
        let fine = Moment::parse("2026-01-02T03:04:05.1234567Z").unwrap();
        assert_eq!(
            Stamp::of(Some(fine)).moment().unwrap().to_string(),
            "2026-01-02T03:04:05.123Z"
        );
        assert_eq!(Stamp::of(None).moment(), None);
    }

    proptest! {
        #[test]
        fn later_stamps_are_greater(one in -60_000_000_000_i64..250_000_000_000, other in -60_000_000_000_i64..250_000_000_000) {
            let stamp = |seconds| Stamp::of(Moment::from_parts(seconds, 4));
            prop_assert_eq!(one.cmp(&other), stamp(one).cmp(&stamp(other)));
        }
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
