//! What lists say about their pages beyond addresses and times, for as many pages as anybody looks through.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::{Extra, Stamp};

/// Titles and summaries are kept for so many pages of one reading; those with the newest dates win, and of equal ones
/// those that come first.
pub(super) const MAX_EXTRAS: usize = 5_000;

/// Titles and summaries of pages, by the places of these.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Extras {
    all: HashMap<usize, (Stamp, Box<Extra>)>,
    /// Once some were forgotten: pages up to this date would be next.
    forgotten_until: Option<Stamp>,
}

impl Extras {
    /// Whether there is room for what is said about a page of this date.
    pub(super) fn have_room_for(&self, stamp: Stamp) -> bool {
        self.forgotten_until.is_none_or(|until| stamp > until)
    }

    pub(super) fn insert(&mut self, place: usize, stamp: Stamp, extra: Box<Extra>) {
        self.all.insert(place, (stamp, extra));
        if self.all.len() > MAX_EXTRAS {
            self.forget_old();
        }
    }

    pub(super) fn get(&self, place: usize) -> Option<&Extra> {
        self.all.get(&place).map(|(_, extra)| &**extra)
    }

    pub(super) fn remove(&mut self, place: usize) -> Option<Box<Extra>> {
        self.all.remove(&place).map(|(_, extra)| extra)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Extra)> {
        (self.all.iter()).map(|(&place, (_, extra))| (place, &**extra))
    }

    fn forget_old(&mut self) {
        let rank = |place: usize, stamp: Stamp| (stamp, Reverse(place));
        let all = self.all.iter();
        let mut ranks: Vec<_> = all
            .map(|(&place, (stamp, _))| rank(place, *stamp))
            .collect();
        let middle = ranks.len() / 2;
        let (_, &mut median, _) = ranks.select_nth_unstable(middle);
        self.forgotten_until = Some(median.0);
        (self.all).retain(|&place, (stamp, _)| rank(place, *stamp) > median);
    }
}
