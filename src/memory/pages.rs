//! The pages of a collection that lists them, up to a few million: what is remembered of each in 29 bytes, and what a
//! reading saw of them.
//!
//! A page is remembered by a hash of its address; the address itself is in the store, and comes back only when the page
//! does not. Each document of a list fills a [`Sheet`] of its own, so that one that breaks off leaves no trace.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::Hasher;
use std::sync::Arc;

use siphasher::sip::SipHasher24;

use crate::change::Page;
use crate::moment::Moment;

/// Titles and summaries are kept for so many pages of one reading; those with the newest dates win.
const MAX_EXTRAS: usize = 20_000;

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

/// What a list says about a page beyond its address and its time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extra {
    /// As in [`Page`].
    pub published: Option<Moment>,
    /// As in [`Page`].
    pub title: Option<String>,
    /// As in [`Page`].
    pub summary: Option<String>,
    /// As in [`Page`].
    pub author: Option<String>,
    /// As in [`Page`].
    pub language: Option<String>,
    /// As in [`Page`].
    pub tags: Vec<String>,
}

impl Extra {
    fn of(page: &Page) -> Option<Box<Extra>> {
        let Page {
            published,
            title,
            summary,
            author,
            language,
            tags,
            ..
        } = page;
        let says_something = published.is_some()
            || title.is_some()
            || summary.is_some()
            || author.is_some()
            || language.is_some()
            || !tags.is_empty();
        says_something.then(|| {
            Box::new(Extra {
                published: *published,
                title: title.clone(),
                summary: summary.clone(),
                author: author.clone(),
                language: language.clone(),
                tags: tags.clone(),
            })
        })
    }
}

/// Pages with their addresses, one behind the other in one text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageTable {
    text: String,
    ends: Vec<usize>,
    stamps: Vec<Stamp>,
    hashes: Vec<u32>,
    parts: Vec<u32>,
    passing: Vec<bool>,
    extras: HashMap<usize, Box<Extra>>,
}

impl PageTable {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The address of a page.
    pub fn url(&self, place: usize) -> &str {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[place]]
    }

    /// When it was last modified.
    pub fn stamp(&self, place: usize) -> Stamp {
        self.stamps[place]
    }

    /// What else is said about it.
    pub fn extra(&self, place: usize) -> Option<&Extra> {
        self.extras.get(&place).map(|extra| &**extra)
    }

    /// What to remember of it.
    pub fn known(&self, place: usize) -> KnownPage {
        let url = self.url(place);
        KnownPage {
            key: PageKey::of(url),
            stamp: self.stamps[place],
            twin: twin_of(url),
            hash: self.hashes[place],
            part: self.parts[place],
            state: PageState {
                is_missing: false,
                is_passing: self.passing[place],
            },
        }
    }

    fn push(&mut self, url: &str, sight: Sight, part: u32, is_passing: bool) {
        let place = self.len();
        self.text.push_str(url);
        self.ends.push(self.text.len());
        self.stamps.push(sight.stamp);
        self.hashes.push(sight.hash);
        self.parts.push(part);
        self.passing.push(is_passing);
        if let Some(extra) = sight.extra {
            self.extras.insert(place, extra);
            if self.extras.len() > MAX_EXTRAS {
                self.forget_old_extras();
            }
        }
    }

    fn forget_old_extras(&mut self) {
        let mut stamps: Vec<Stamp> = self
            .extras
            .keys()
            .map(|&place| self.stamps[place])
            .collect();
        let middle = stamps.len() / 2;
        let (_, &mut median, _) = stamps.select_nth_unstable(middle);
        let mut left = middle;
        self.extras.retain(|&place, _| {
            let keeps = self.stamps[place] > median || (self.stamps[place] == median && left > 0);
            left = left.saturating_sub(usize::from(keeps));
            keeps
        });
    }
}

/// What to write about pages, in the order of the fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageWrites {
    /// Pages to forget.
    pub remove: Vec<PageKey>,
    /// Pages of which everything is to be forgotten, what was said about them included.
    pub forget: Vec<PageKey>,
    /// Pages to remember anew, whatever is remembered of them; their addresses stay.
    pub update: Vec<KnownPage>,
    /// Pages to add, with their addresses.
    pub insert: PageTable,
}

impl PageWrites {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.remove.is_empty()
            && self.forget.is_empty()
            && self.update.is_empty()
            && self.insert.is_empty()
    }
}

/// What a list says of a page that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// When it was last modified.
    pub stamp: Stamp,
    /// A hash of its checksum; 0 if it has none.
    pub hash: u32,
    /// What else is said about it.
    pub extra: Option<Box<Extra>>,
}

impl Sight {
    fn of(page: &Page) -> Sight {
        Sight {
            stamp: Stamp::of(page.lastmod),
            // Never 0, which means that there is none.
            hash: page.hash.as_deref().map_or(0, |hash| short_hash(hash) | 1),
            extra: None,
        }
    }
}

/// What one document of a list shows.
#[derive(Debug, Clone, Default)]
pub struct Sheet {
    known: Arc<KnownPages>,
    /// The places of pages that are as they are remembered.
    same: Vec<u32>,
    /// Those of pages that are not.
    other: Vec<(u32, Sight)>,
    /// Those of pages that are to be forgotten.
    private: Vec<u32>,
    fresh: PageTable,
}

impl Sheet {
    /// An empty one, for a collection of which these pages are known.
    pub fn new(known: Arc<KnownPages>) -> Sheet {
        Sheet {
            known,
            ..Sheet::default()
        }
    }

    /// Takes a page.
    pub fn add(&mut self, page: &Page) {
        let mut sight = Sight::of(page);
        let Some(place) = self.known.find(PageKey::of(&page.url)) else {
            // Nothing at all is kept of a page that is private.
            if page.is_private {
                return;
            }
            sight.extra = Extra::of(page);
            return self.fresh.push(&page.url, sight, 0, false);
        };
        // There are never four thousand million of them.
        let number = u32::try_from(place).unwrap_or(u32::MAX);
        if page.is_private {
            self.private.push(number);
            return;
        }
        let is_same =
            self.known.stamps[place] == sight.stamp && self.known.hashes[place] == sight.hash;
        if is_same {
            self.same.push(number);
        } else {
            sight.extra = Extra::of(page);
            self.other.push((number, sight));
        }
    }

    /// What is said about the pages that were not known, for others that are the same pages.
    pub fn titles(&self) -> impl Iterator<Item = (PageKey, Extra)> {
        let extras = self.fresh.extras.iter();
        extras.map(|(&place, extra)| (PageKey::of(self.fresh.url(place)), (**extra).clone()))
    }

    /// The addresses of the pages that were not known.
    pub fn urls(&self) -> impl Iterator<Item = &str> {
        (0..self.fresh.len()).map(|place| self.fresh.url(place))
    }

    /// How many pages it has.
    pub fn len(&self) -> usize {
        self.same.len() + self.other.len() + self.private.len() + self.fresh.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What all documents of a list showed together.
#[derive(Debug, Clone, Default)]
pub struct Sighted {
    /// What was known before.
    pub known: Arc<KnownPages>,
    /// Whether each known page was seen.
    seen: Vec<bool>,
    /// Known pages that are not as they were, by their places.
    pub other: HashMap<usize, Sight>,
    /// Known pages that were only seen in another document than before, and in which.
    pub moved: HashMap<usize, u32>,
    /// Pages that were not known.
    pub fresh: PageTable,
    fresh_places: HashMap<PageKey, usize>,
    /// Known pages of lists of what is new that are now in a lasting one.
    settled: HashSet<usize>,
    /// Known pages that their author wants to be forgotten.
    pub private: HashSet<usize>,
    /// Documents that have not changed, so that their pages are as they were.
    unchanged: HashSet<u32>,
    /// Documents that were read, or have not changed.
    read: HashSet<u32>,
    /// Documents that belong to the list and could not be read.
    pub unread: Vec<u32>,
}

impl Sighted {
    /// Nothing yet.
    pub fn new(known: Arc<KnownPages>) -> Sighted {
        let mut sighted = Sighted::default();
        sighted.know(known);
        sighted
    }

    /// What was known before, if that was not said yet. Every sheet brings it along.
    pub fn know(&mut self, known: Arc<KnownPages>) {
        if self.seen.is_empty() {
            self.seen = vec![false; known.len()];
            self.known = known;
        }
    }

    /// Whether every document said that it has not changed.
    pub fn is_unchanged(&self) -> bool {
        self.unread.is_empty() && self.read == self.unchanged
    }

    /// Takes what the document `part` shows.
    pub fn take(&mut self, sheet: Sheet, part: u32, is_window: bool) {
        if self.seen.is_empty() {
            self.know(sheet.known.clone());
        }
        self.read.insert(part);
        // It may have been said before that it has not changed.
        self.unchanged.remove(&part);
        for place in sheet.same {
            self.see(place as usize, part, is_window);
        }
        for (place, sight) in sheet.other {
            let place = place as usize;
            self.see(place, part, is_window);
            // A page that is listed twice is as new as the newer of the two.
            match self.other.get(&place) {
                Some(before) if before.stamp >= sight.stamp => {}
                _ => {
                    self.other.insert(place, sight);
                }
            }
        }
        self.private
            .extend(sheet.private.into_iter().map(|place| place as usize));
        let mut fresh = sheet.fresh;
        for place in 0..fresh.len() {
            let sight = Sight {
                stamp: fresh.stamps[place],
                hash: fresh.hashes[place],
                extra: fresh.extras.remove(&place),
            };
            let url = fresh.url(place);
            match self.fresh_places.entry(PageKey::of(url)) {
                Entry::Vacant(vacant) => {
                    vacant.insert(self.fresh.len());
                    self.fresh.push(url, sight, part, is_window);
                }
                Entry::Occupied(known) => self.fresh.passing[*known.get()] &= is_window,
            }
        }
    }

    fn see(&mut self, place: usize, part: u32, is_window: bool) {
        if !is_window && self.known.states[place] & 2 != 0 {
            self.settled.insert(place);
        }
        if self.known.parts[place] == part {
            self.moved.remove(&place);
        } else if !self.seen[place] {
            self.moved.insert(place, part);
        }
        self.seen[place] = true;
    }

    /// The document `part` has not changed: all its pages are as they were.
    pub fn take_unchanged(&mut self, part: u32) {
        self.read.insert(part);
        self.unchanged.insert(part);
    }

    /// The document `part` belongs to the list, and could not be read.
    pub fn miss(&mut self, part: u32) {
        self.unread.push(part);
    }

    /// Whether a page that was not seen may be in a document that has not changed: several may list it, and it is
    /// remembered with one of them.
    pub fn has_doubts(&self) -> bool {
        if self.unchanged.is_empty() {
            return false;
        }
        let unread: HashSet<u32> = self.unread.iter().copied().collect();
        let is_absent = |place: usize| {
            let part = self.known.parts[place];
            let is_out_of_sight = !self.seen[place] && !self.private.contains(&place);
            is_out_of_sight && !self.unchanged.contains(&part) && !unread.contains(&part)
        };
        (0..self.known.len()).any(is_absent)
    }

    /// Gives pages their titles that have none.
    pub fn entitle(&mut self, titles: &HashMap<PageKey, Extra>) {
        for place in 0..self.fresh.len() {
            let has_title = (self.fresh.extra(place)).is_some_and(|extra| extra.title.is_some());
            if let Some(extra) = titles.get(&PageKey::of(self.fresh.url(place)))
                && !has_title
            {
                self.fresh.extras.insert(place, Box::new(extra.clone()));
            }
        }
        for (place, sight) in &mut self.other {
            let has_title = (sight.extra.as_ref()).is_some_and(|extra| extra.title.is_some());
            if let Some(extra) = titles.get(&self.known.keys[*place])
                && !has_title
            {
                sight.extra = Some(Box::new(extra.clone()));
            }
        }
    }

    /// Puts together what was said of whole documents; to be called once, when all of them were taken.
    pub fn settle(&mut self) {
        if self.unchanged.is_empty() {
            return;
        }
        for place in 0..self.known.len() {
            if self.unchanged.contains(&self.known.parts[place]) {
                self.seen[place] = true;
                self.moved.remove(&place);
            }
        }
    }

    /// Whether the document that listed a known page was read, and does not list it.
    pub fn has_left(&self, place: usize) -> bool {
        let part = self.known.parts[place];
        !self.seen[place] && self.read.contains(&part) && !self.unchanged.contains(&part)
    }

    /// Whether a known page was seen.
    pub fn is_seen(&self, place: usize) -> bool {
        self.seen[place]
    }

    /// Whether a page of a list of what is new is now in a lasting one.
    pub fn has_settled(&self, place: usize) -> bool {
        self.settled.contains(&place)
    }

    /// How many pages the list has.
    pub fn len(&self) -> usize {
        self.seen.iter().filter(|seen| **seen).count() + self.fresh.len()
    }

    /// Whether the list has no page.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps only the unknown pages for which this holds.
    pub fn keep_fresh(&mut self, keeps: impl Fn(&str) -> bool) {
        let mut all = std::mem::take(&mut self.fresh);
        for place in 0..all.len() {
            if keeps(all.url(place)) {
                let url = all.url(place).to_owned();
                let sight = Sight {
                    stamp: all.stamps[place],
                    hash: all.hashes[place],
                    extra: all.extras.remove(&place),
                };
                self.fresh
                    .push(&url, sight, all.parts[place], all.passing[place]);
            }
        }
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

    #[test]
    fn titles_of_old_pages_are_forgotten_first() {
        let mut sheet = Sheet::default();
        for number in 0..(MAX_EXTRAS as i64 + 10) {
            sheet.add(&Page {
                url: format!("https://fox.example/{number}"),
                lastmod: Moment::from_parts(1_700_000_000 + number, 4),
                title: Some("t".into()),
                ..Page::default()
            });
        }
        let fresh = &sheet.fresh;
        assert!(fresh.extras.len() <= MAX_EXTRAS);
        assert!(fresh.extra(fresh.len() - 1).is_some() && fresh.extra(0).is_none());
    }
}
