//! The pages of a collection that lists them, up to a few million: what is remembered of each in 29 bytes, and what a
//! reading saw of them.
//!
//! A page is remembered by a hash of its address; the address itself is in the store, and comes back only when the page
//! does not. Each document of a list fills a [`Sheet`] of its own, so that one that breaks off leaves no trace.

mod besides;
mod checksum;
mod extras;
mod key;
mod places;
mod sighted;
mod stamp;
mod table;

use std::sync::OnceLock;

pub use self::besides::Besides;
pub use self::key::{PageKey, part_of};
use self::key::{short_hash, twin_of};
use self::places::Places;
pub use self::sighted::{Sheet, Sight, Sighted};
pub use self::stamp::Stamp;
pub use self::table::{Extra, PageTable, PageWrites};

/// What is remembered of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownPage {
    /// The page.
    pub key: PageKey,
    /// When it was last modified.
    pub stamp: Stamp,
    /// What it shares with other spellings of its address.
    pub twin: u32,
    /// A hash of one of its checksums; 0 if it has none.
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
    /// It was in a list of what is new only: leaving that is no deletion, and coming back is nothing new.
    pub is_passing: bool,
    /// It came with a document that could not be read before, and so was never announced as new.
    pub is_late: bool,
    /// Nothing was ever told of it here: others do, or it was there before anything was told.
    pub is_untold: bool,
    /// It is not here any more, but somewhere else on the site: what is remembered is only what was told of it.
    pub is_dropped: bool,
}

impl PageState {
    /// Whether it was in a list of what is new and is there no more, from which nothing follows.
    pub fn has_passed(self) -> bool {
        self.is_passing && self.is_missing
    }

    /// As a number, for the store.
    pub fn to_bits(self) -> u8 {
        u8::from(self.is_missing)
            | u8::from(self.is_passing) << 1
            | u8::from(self.is_late) << 2
            | u8::from(self.is_untold) << 3
            | u8::from(self.is_dropped) << 4
    }

    /// From that number.
    pub fn from_bits(bits: u8) -> PageState {
        PageState {
            is_missing: bits & 1 != 0,
            is_passing: bits & 2 != 0,
            is_late: bits & 4 != 0,
            is_untold: bits & 8 != 0,
            is_dropped: bits & 16 != 0,
        }
    }
}

/// All pages of a collection that are remembered, in the order of their keys.
#[derive(Debug, Clone, Default)]
pub struct KnownPages {
    keys: Vec<PageKey>,
    /// Made when the first page is looked for, and then used for all of them.
    places: OnceLock<Places>,
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
        self.places = OnceLock::new();
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

    /// Whether the page at this place has passed.
    pub fn has_passed(&self, place: usize) -> bool {
        PageState::from_bits(self.states[place]).has_passed()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = KnownPage> {
        (0..self.len()).map(|place| self.get(place))
    }

    /// The place of a page.
    pub fn find(&self, key: PageKey) -> Option<usize> {
        let places = self.places.get_or_init(|| Places::of(&self.keys));
        places.find(&self.keys, key)
    }
}
