//! What a reading saw of the pages: document by document, and all of them together.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::checksum::{all_sums_of, sum_of};
use super::extras::Extras;
use super::{Extra, KnownPages, PageKey, PageTable, Stamp};
use crate::change::Page;
use crate::moment::Moment;

/// What a list says of a page that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// When it was last modified.
    pub stamp: Stamp,
    /// A hash of the checksum that is to be remembered; 0 if it has none.
    pub hash: u32,
    /// Those of all its checksums, if it is another one than what is remembered.
    pub sums: Box<[u32]>,
}

impl Sight {
    fn of(page: &Page) -> Sight {
        Sight {
            stamp: Stamp::of(page.lastmod),
            hash: page.hash.as_deref().map_or(0, sum_of),
            sums: Box::default(),
        }
    }

    /// Whether this is one of its checksums.
    pub fn has_sum(&self, hash: u32) -> bool {
        self.hash == hash || self.sums.contains(&hash)
    }

    /// What decides between two sights of one page in one reading: the newer date, and else any order that is the same
    /// in each reading.
    fn rank(&self) -> (Stamp, u32) {
        (self.stamp, self.hash)
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
    /// What else is said about these.
    extras: Extras,
    /// Those of pages that are to be forgotten.
    private: Vec<u32>,
    /// Pages that are not known and must not be.
    hidden: Vec<PageKey>,
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
        let key = PageKey::of(&page.url);
        let Some(place) = self.known.find(key) else {
            // Nothing is kept of a page that is private but that it is, should it be listed twice.
            if page.is_private {
                return self.hidden.push(key);
            }
            let has_room = self.fresh.extras.have_room_for(sight.stamp);
            let extra = has_room.then(|| Extra::of(page)).flatten();
            return self.fresh.push(&page.url, sight, extra, 0, false);
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
            return;
        }
        if self.known.hashes[place] != sight.hash {
            sight.sums = page.hash.as_deref().map(all_sums_of).unwrap_or_default();
        }
        if self.extras.have_room_for(sight.stamp)
            && let Some(extra) = Extra::of(page)
        {
            self.extras.insert(self.other.len(), sight.stamp, extra);
        }
        self.other.push((number, sight));
    }

    /// What is said about the pages that were not known, for others that are the same pages.
    pub fn titles(&self) -> impl Iterator<Item = (PageKey, Extra)> {
        let extras = self.fresh.extras.iter();
        extras.map(|(place, extra)| (PageKey::of(self.fresh.url(place)), extra.clone()))
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
    /// Whether it was seen as it is remembered.
    same: Vec<bool>,
    /// Known pages that are not as they were, by their places.
    pub other: HashMap<usize, Sight>,
    /// What else is said about these.
    extras: Extras,
    /// Known pages that were only seen in another document than before, and in which.
    pub moved: HashMap<usize, u32>,
    /// Pages that were not known.
    pub fresh: PageTable,
    fresh_places: HashMap<PageKey, usize>,
    /// Known pages of lists of what is new that are now in a lasting one.
    settled: HashSet<usize>,
    /// Known pages that their author wants to be forgotten.
    pub private: HashSet<usize>,
    /// Unknown pages that their author wants to be left alone. They may have been known once.
    pub hidden: HashSet<PageKey>,
    /// Documents that have not changed, so that their pages are as they were.
    unchanged: HashSet<u32>,
    /// Documents that were read, or have not changed.
    read: HashSet<u32>,
    /// Documents that belong to the list and could not be read.
    pub unread: Vec<u32>,
    /// Since when documents tell what changed, where they tell no more than that.
    since: HashMap<u32, Moment>,
    /// Documents that nobody could know of before, because the index that lists them was never read.
    pub late: Vec<u32>,
    /// The first of those that were not asked for at all, if there was no room for them.
    pub turn: Option<u32>,
    /// When the reading began, if that was before it was looked through.
    pub began_at: Option<DateTime<Utc>>,
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
            self.same = vec![false; known.len()];
            self.known = known;
        }
    }

    /// Whether every document said that it has not changed.
    pub fn is_unchanged(&self) -> bool {
        self.unread.is_empty() && self.read == self.unchanged
    }

    /// Takes what the document `part` shows. A page that several show is as new as the newest of them says.
    pub fn take(&mut self, sheet: Sheet, part: u32, is_window: bool) {
        self.take_sheet(sheet, part, is_window, false);
    }

    /// Takes what changed after the documents that were taken before, whatever those say.
    pub fn take_newer(&mut self, sheet: Sheet, part: u32) {
        self.take_sheet(sheet, part, false, true);
    }

    fn take_sheet(&mut self, sheet: Sheet, part: u32, is_window: bool, is_newer: bool) {
        if self.seen.is_empty() {
            self.know(sheet.known.clone());
        }
        self.read.insert(part);
        // It may have been said before that it has not changed.
        self.unchanged.remove(&part);
        for place in sheet.same {
            let place = place as usize;
            self.see(place, part, is_window);
            self.same[place] = true;
            let remembered = self.remembered(place);
            if (self.other.get(&place)).is_some_and(|sight| is_newer || sight.rank() <= remembered)
            {
                self.forget_other(place);
            }
        }
        let mut extras = sheet.extras;
        for (number, (place, sight)) in sheet.other.into_iter().enumerate() {
            let place = place as usize;
            self.see(place, part, is_window);
            let before = self.other.get(&place).map(Sight::rank);
            let remembered = self.same[place].then(|| self.remembered(place));
            if is_newer || before.max(remembered) < Some(sight.rank()) {
                self.forget_other(place);
                let stamp = sight.stamp;
                self.other.insert(place, sight);
                if let Some(extra) = extras.remove(number) {
                    self.extras.insert(place, stamp, extra);
                }
            }
        }
        self.private
            .extend(sheet.private.into_iter().map(|place| place as usize));
        self.hidden.extend(sheet.hidden);
        let mut fresh = sheet.fresh;
        for place in 0..fresh.len() {
            let sight = Sight {
                stamp: fresh.stamps[place],
                hash: fresh.hashes[place],
                sums: Box::default(),
            };
            let extra = fresh.extras.remove(place);
            let url = fresh.url(place);
            match self.fresh_places.entry(PageKey::of(url)) {
                Entry::Vacant(vacant) => {
                    vacant.insert(self.fresh.len());
                    self.fresh.push(url, sight, extra, part, is_window);
                }
                Entry::Occupied(known) => {
                    let known = *known.get();
                    self.fresh.passing[known] &= is_window;
                    let before = (self.fresh.stamps[known], self.fresh.hashes[known]);
                    if is_newer || before < sight.rank() {
                        self.fresh.see_again(known, sight, extra);
                    }
                }
            }
        }
    }

    fn forget_other(&mut self, place: usize) {
        self.other.remove(&place);
        self.extras.remove(place);
    }

    /// What else is said about a known page that is not as it was.
    pub fn extra(&self, place: usize) -> Option<&Extra> {
        self.extras.get(place)
    }

    /// The rank of a known page as it is remembered.
    fn remembered(&self, place: usize) -> (Stamp, u32) {
        (self.known.stamps[place], self.known.hashes[place])
    }

    fn see(&mut self, place: usize, part: u32, is_window: bool) {
        if !is_window && self.known.states[place] & 2 != 0 {
            self.settled.insert(place);
        }
        if self.known.parts[place] == part {
            // Hardly a page moves, and even where there is nothing to find, looking for it takes a hash.
            if !self.moved.is_empty() {
                self.moved.remove(&place);
            }
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

    /// The document `part` tells what changed since then, and no more.
    pub fn tells_since(&mut self, part: u32, since: Moment) {
        self.since.insert(part, since);
    }

    /// Since when the document that shows an unknown page tells what changed, if it tells no more than that.
    pub fn since(&self, place: usize) -> Option<Moment> {
        self.since.get(&self.fresh.parts[place]).copied()
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
            // Nothing is concluded from where it is not.
            if self.known.has_passed(place) {
                return false;
            }
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
                self.fresh.add_extra(place, Some(Box::new(extra.clone())));
            }
        }
        for (&place, sight) in &self.other {
            let has_title = (self.extras.get(place)).is_some_and(|extra| extra.title.is_some());
            if let Some(extra) = titles.get(&self.known.keys[place])
                && !has_title
            {
                (self.extras).insert(place, sight.stamp, Box::new(extra.clone()));
            }
        }
    }

    /// Puts together what was said of whole documents; to be called once, when all of them were taken.
    pub fn settle(&mut self) {
        // Whoever says that a page is private has the last word on it.
        for place in &self.private {
            self.other.remove(place);
            self.extras.remove(*place);
        }
        if !self.hidden.is_empty() {
            let hidden = std::mem::take(&mut self.hidden);
            self.keep_fresh(|url| !hidden.contains(&PageKey::of(url)));
            self.hidden = hidden;
        }
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

    /// Every page that the documents list, as far as they could be read, and when it was last modified.
    pub fn listed(&self) -> impl Iterator<Item = (PageKey, Stamp)> {
        let is_listed = |place: &usize| {
            let is_seen = self.seen[*place] || self.unchanged.contains(&self.known.parts[*place]);
            is_seen && !self.private.contains(place)
        };
        let known = (0..self.known.len()).filter(is_listed).map(|place| {
            let sight = self.other.get(&place);
            let stamp = sight.map_or(self.known.stamps[place], |sight| sight.stamp);
            (self.known.keys[place], stamp)
        });
        let fresh = (0..self.fresh.len())
            .map(|place| (PageKey::of(self.fresh.url(place)), self.fresh.stamp(place)));
        known.chain(fresh)
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
                    sums: Box::default(),
                };
                let extra = all.extras.remove(place);
                self.fresh
                    .push(&url, sight, extra, all.parts[place], all.passing[place]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::extras::MAX_EXTRAS;
    use super::super::{KnownPage, PageState};
    use super::*;

    /// A page of this number that was edited in this second, with a title.
    fn edited(number: usize, second: usize) -> Page {
        Page {
            url: format!("https://fox.example/{number}"),
            lastmod: Moment::from_parts(1_700_000_000 + second as i64, 4),
            title: Some(format!("Page {number}")),
            ..Page::default()
        }
    }

    fn known(count: usize) -> Arc<KnownPages> {
        let page = |number: usize| KnownPage {
            key: PageKey::of(&edited(number, 0).url),
            stamp: Stamp::NONE,
            twin: 0,
            hash: 0,
            part: 1,
            state: PageState::default(),
        };
        let mut all: Vec<KnownPage> = (0..count).map(page).collect();
        all.sort_by_key(|page| page.key);
        let mut known = KnownPages::default();
        all.into_iter().for_each(|page| known.push(page));
        Arc::new(known)
    }

    #[test]
    fn of_many_pages_that_were_edited_only_the_newest_keep_their_titles() {
        let count = 3 * MAX_EXTRAS;
        let known = known(count);
        let mut sighted = Sighted::new(known.clone());
        // In one document as in several.
        for part in 0..2_usize {
            let mut sheet = Sheet::new(known.clone());
            let numbers = (0..count).filter(|number| number % 2 == part);
            numbers.for_each(|number| sheet.add(&edited(number, number)));
            assert!(sheet.extras.iter().count() <= MAX_EXTRAS);
            sighted.take(sheet, part as u32, false);
        }
        sighted.settle();
        assert_eq!(sighted.other.len(), count, "all of them are told");
        assert!(sighted.extras.iter().count() <= MAX_EXTRAS);
        let title = |number: usize| {
            let place = known.find(PageKey::of(&edited(number, 0).url)).unwrap();
            sighted.extra(place).and_then(|extra| extra.title.clone())
        };
        assert_eq!(title(count - 1), Some(format!("Page {}", count - 1)));
        assert_eq!(title(0), None);
    }

    #[test]
    fn a_page_that_two_documents_show_has_the_title_of_the_newer_one() {
        let known = known(1);
        for seconds in [[1, 2], [2, 1]] {
            let mut sighted = Sighted::new(known.clone());
            for (part, second) in seconds.into_iter().enumerate() {
                let mut sheet = Sheet::new(known.clone());
                let title = Some(format!("At {second}"));
                sheet.add(&Page {
                    title,
                    ..edited(0, second)
                });
                sighted.take(sheet, part as u32, false);
            }
            sighted.settle();
            let title = sighted.extra(0).and_then(|extra| extra.title.as_deref());
            assert_eq!(title, Some("At 2"));
        }
    }
}
