//! How far the dates of a list are to be believed.
//!
//! Many are those of the last build, or of the moment in which somebody asked; they tell nothing about single pages.

use chrono::{DateTime, TimeDelta, Utc};

use super::Planning;
use crate::memory::Stamp;
use crate::moment::{Moment, Precision};

/// Fewer dates than this prove nothing.
const ENOUGH_DATES: usize = 5;
/// A build is over in this time.
const BUILD: TimeDelta = TimeDelta::hours(1);
/// A list that is made when it is asked for dates its pages so little before or after the reading began.
const MAKING: TimeDelta = TimeDelta::minutes(5);
/// Clocks differ, and days begin elsewhere earlier: only what lies further ahead is a mistake.
const AHEAD: TimeDelta = TimeDelta::days(1);

impl Planning {
    /// Whether dates say when the site was built, and not when a page was changed.
    pub(super) fn are_dates_stamps(&self, moved: &[usize]) -> bool {
        // Nobody edits every page just before it is read, twice in a row.
        let are_of_asking = self.state.is_of_now && self.before.is_of_now;
        if are_of_asking || self.are_all_dates_equal() {
            return true;
        }
        if moved.is_empty() {
            // Nothing new was learned about them.
            return self.before.is_stamped && self.sighted.other.is_empty();
        }
        let dated = (self.sighted.known.iter().enumerate())
            .filter(|(place, page)| self.sighted.is_seen(*place) && page.stamp != Stamp::NONE)
            .count();
        let most = dated - dated / 10;
        if dated < ENOUGH_DATES || moved.len() < most {
            return false;
        }
        self.are_of_one_build(moved, most)
    }

    /// Whether so many of the pages at these places are dated within the time of one build; a bare date is one day.
    pub(super) fn are_of_one_build(&self, places: &[usize], count: usize) -> bool {
        let mut dates: Vec<Moment> = (places.iter())
            .filter_map(|place| self.sighted.other[place].stamp.moment())
            .collect();
        dates.sort_unstable_by_key(Moment::start);
        dates.windows(count).any(|window| match window {
            [first, .., last] => {
                last.start() - first.start() <= BUILD
                    || (first.precision() == Precision::Day && first.start() == last.start())
            }
            _ => true,
        })
    }

    /// The dates of all pages that the list has.
    pub(super) fn dates(&self) -> impl Iterator<Item = Stamp> {
        let sighted = &self.sighted;
        let known = (sighted.known.iter().enumerate())
            .filter(|(place, _)| sighted.is_seen(*place))
            .map(|(place, page)| {
                let sight = sighted.other.get(&place);
                sight.map_or(page.stamp, |sight| sight.stamp)
            });
        let fresh = (0..sighted.fresh.len()).map(|place| sighted.fresh.stamp(place));
        known.chain(fresh).filter(|stamp| *stamp != Stamp::NONE)
    }

    /// Whether the list says of all its pages that they changed just now. A single page may have, and so may a few of which
    /// their author tells at once; but not after the reading began.
    pub(super) fn are_all_dates_of_now(&self) -> bool {
        let is_of_now = |stamp: Stamp| {
            let moment = stamp.moment().filter(Moment::has_time);
            moment.is_some_and(|moment| (moment.start() - self.now).abs() <= MAKING)
        };
        let began_at = self.sighted.began_at.unwrap_or(self.now);
        let ends_later = |stamp: Stamp| {
            let moment = stamp.moment();
            moment.is_some_and(|moment| moment.end() > began_at)
        };
        let is_asked = match self.dates().take(ENOUGH_DATES).count() {
            0 | 1 => false,
            ENOUGH_DATES => true,
            _ => self.dates().any(ends_later),
        };
        is_asked && self.dates().all(is_of_now)
    }

    /// Whether the list gives all its pages one and the same date.
    pub(super) fn are_all_dates_equal(&self) -> bool {
        let mut dates = self.dates();
        let Some(first) = dates.next() else {
            return false;
        };
        let mut count = 1;
        for stamp in dates {
            if stamp != first {
                return false;
            }
            count += 1;
        }
        count >= ENOUGH_DATES
    }

    /// The time of a change: what the list says, if that can be, and else when it was found.
    pub(super) fn time(&self, stamp: Stamp) -> Moment {
        let is_of_list = self.state.is_made_anew || self.has_dates;
        let said = stamp.moment().or(self.made_at.filter(|_| is_of_list));
        self.time_if_possible(said)
    }

    /// The time of a deletion: that of the list. The page was gone from the one before, and that was only made sure of.
    pub(super) fn time_of_deletion(&self) -> Moment {
        let is_anew = self.state.is_made_anew || self.before.is_made_anew;
        let said = self.made_at.filter(|_| is_anew || self.has_dates);
        self.time_if_possible(said)
    }

    fn time_if_possible(&self, said: Option<Moment>) -> Moment {
        let said = said.filter(|moment| moment.start() <= self.now);
        said.unwrap_or_else(|| Moment::from_utc(self.now))
    }

    /// The time of an edit without a date: that of the list, but only once, or a page that is edited again while the list
    /// keeps its time would have the same change twice.
    pub(super) fn time_of_edit(&mut self) -> Moment {
        let is_old = !self.state.is_made_anew && !self.has_dates;
        if self.made_at.is_none() || self.made_at == self.before.edited_at || is_old {
            return Moment::from_utc(self.now);
        }
        self.state.edited_at = self.made_at;
        self.time(Stamp::NONE)
    }
}

/// What is remembered of two dates of a page. One that goes back is a mistake now or was one before. It is remembered only
/// where it corrects a date that cannot have been true, or else a server that is a little behind would announce a page again
/// and again. `read_at` is when the second one was read.
pub(super) fn kept(before: Stamp, now: Stamp, read_at: DateTime<Utc>) -> Stamp {
    let was_ahead = before
        .moment()
        .is_some_and(|moment| moment.start() > read_at + AHEAD);
    match was_ahead {
        true => now,
        false => before.max(now),
    }
}

/// Whether a date is later than another. A day and a time of that day are not.
pub(super) fn is_later(before: Stamp, now: Stamp) -> bool {
    match (before.moment(), now.moment()) {
        (Some(before), Some(now)) => before.comes_before(&now),
        _ => false,
    }
}
