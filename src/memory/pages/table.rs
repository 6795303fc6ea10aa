//! Pages with their addresses, as a list has them and as they are written.

use std::collections::HashSet;

use super::extras::Extras;
use super::{KnownPage, PageKey, PageState, Sight, Stamp, twin_of};
use crate::change::Page;
use crate::moment::Moment;

/// What a list says about a page beyond its address and its time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extra {
    /// As in [`Page`].
    pub canonical: Option<String>,
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
    pub(super) fn of(page: &Page) -> Option<Box<Extra>> {
        let Page {
            canonical,
            published,
            title,
            summary,
            author,
            language,
            tags,
            ..
        } = page;
        let says_something = canonical.is_some()
            || published.is_some()
            || title.is_some()
            || summary.is_some()
            || author.is_some()
            || language.is_some()
            || !tags.is_empty();
        says_something.then(|| {
            Box::new(Extra {
                canonical: canonical.clone(),
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
    pub(super) stamps: Vec<Stamp>,
    pub(super) hashes: Vec<u32>,
    pub(super) parts: Vec<u32>,
    pub(super) passing: Vec<bool>,
    /// Those that came late, which are few.
    late: HashSet<usize>,
    untold: HashSet<usize>,
    pub(super) extras: Extras,
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

    /// Remembers another date of it.
    pub fn set_stamp(&mut self, place: usize, stamp: Stamp) {
        self.stamps[place] = stamp;
    }

    /// What else is said about it.
    pub fn extra(&self, place: usize) -> Option<&Extra> {
        self.extras.get(place)
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
                is_late: self.late.contains(&place),
                is_untold: self.untold.contains(&place),
                is_dropped: false,
            },
        }
    }

    /// The page comes with a document that could not be read before.
    pub fn call_late(&mut self, place: usize) {
        self.late.insert(place);
    }

    /// Nothing is told of the page.
    pub fn call_untold(&mut self, place: usize) {
        self.untold.insert(place);
    }

    /// The same page is told of after all, as modified at this time.
    pub fn take_over(&mut self, key: PageKey, stamp: Stamp) {
        let mut untold = self.untold.iter().copied();
        if let Some(place) = untold.find(|&place| PageKey::of(self.url(place)) == key) {
            self.untold.remove(&place);
            self.stamps[place] = stamp;
        }
    }

    pub(super) fn push(
        &mut self,
        url: &str,
        sight: Sight,
        extra: Option<Box<Extra>>,
        part: u32,
        is_passing: bool,
    ) {
        let place = self.len();
        self.text.push_str(url);
        self.ends.push(self.text.len());
        self.stamps.push(sight.stamp);
        self.hashes.push(sight.hash);
        self.parts.push(part);
        self.passing.push(is_passing);
        self.add_extra(place, extra);
    }

    /// The page is there as well, and this is what counts.
    pub(super) fn see_again(&mut self, place: usize, sight: Sight, extra: Option<Box<Extra>>) {
        self.stamps[place] = sight.stamp;
        self.hashes[place] = sight.hash;
        self.add_extra(place, extra);
    }

    pub(super) fn add_extra(&mut self, place: usize, extra: Option<Box<Extra>>) {
        if let Some(extra) = extra {
            self.extras.insert(place, self.stamps[place], extra);
        }
    }
}

/// What to write about pages, in the order of the fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageWrites {
    /// Pages to forget.
    pub remove: Vec<PageKey>,
    /// Pages of which everything is to be forgotten, what was said about them included.
    pub forget: Vec<PageKey>,
    /// Pages that are not remembered, and of which what was once said about them is to be forgotten as well.
    pub silence: Vec<PageKey>,
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
            && self.silence.is_empty()
            && self.update.is_empty()
            && self.insert.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::extras::MAX_EXTRAS;
    use super::*;

    #[test]
    fn titles_of_old_pages_are_forgotten_first() {
        let mut table = PageTable::default();
        for number in 0..(MAX_EXTRAS as i64 + 10) {
            let extra = Extra {
                title: Some("t".into()),
                ..Extra::default()
            };
            let sight = Sight {
                stamp: Stamp::of(Moment::from_parts(1_700_000_000 + number, 4)),
                hash: 0,
                sums: Box::default(),
            };
            let url = format!("https://fox.example/{number}");
            table.push(&url, sight, Some(Box::new(extra)), 0, false);
        }
        assert!(table.extras.iter().count() <= MAX_EXTRAS);
        assert!(table.extra(table.len() - 1).is_some() && table.extra(0).is_none());
    }

    #[test]
    fn of_equal_dates_the_titles_of_the_first_pages_stay() {
        let mut table = PageTable::default();
        for number in 0..3 * MAX_EXTRAS {
            let sight = Sight {
                stamp: Stamp::NONE,
                hash: 0,
                sums: Box::default(),
            };
            let url = format!("https://fox.example/{number}");
            table.push(&url, sight, Some(Box::default()), 0, false);
        }
        assert!((0..MAX_EXTRAS / 2).all(|place| table.extra(place).is_some()));
    }
}
