//! Decides what two lists of pages tell about what happened in between. Pure, like the rest of tracking.
//!
//! A list says how things are, and not always truly: dates that are the time of the last build, files that fail to load,
//! addresses that are spelled in another way from one day to the next. So a page is called deleted only when two complete
//! readings in a row are without it, dates are believed only where they tell pages apart, two spellings of an address
//! are one page, and a reading that would announce a large part of a site says so in one sentence instead.
//!
//! [`plan`] decides; the addresses of pages that are not in the new list come from the store, and [`Plan::finish`] puts
//! them in.

mod besides;
mod dates;
mod finish;
mod overlap;
mod stand_in;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use url::Url;

use self::dates::{is_later, kept};
pub use self::overlap::{Held, settle};
pub use self::stand_in::plan_stand_in;
use crate::change::ChangeKind;
use crate::memory::{Besides, KnownPage, ListState, NewEntry, PageKey, PageWrites, Sighted, Stamp};
use crate::moment::Moment;
use crate::problem::{Code, Problem};

/// A new feed starts with so many of the pages that changed last, and an entry for a large part of a site shows so many.
pub const SHOWN_PAGES: usize = 20;
/// Of pages that were in lists of what is new only, and are there no more, so many are remembered.
const MAX_PASSED: usize = 10_000;
/// More documents than this are not remembered as never read: no index may list more.
const MAX_UNREAD: usize = 50_000;

/// What a reading of a list came to.
#[derive(Debug)]
pub struct ListFinding {
    /// The pages.
    pub sighted: Sighted,
    /// Whether every document of the list was read, or has not changed.
    pub is_complete: bool,
    /// When the list was made, if it says so.
    pub made_at: Option<Moment>,
    /// The address of the document that gives the pages their titles, if the site names one beside the list.
    pub titles: Option<String>,
    /// The sections beside which a plain list is read, if it is.
    pub besides: Option<Besides>,
    /// The address that problems are told of.
    pub document: Url,
}

/// What a reading means for one collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackedPages {
    /// What is announced, oldest first.
    pub entries: Vec<NewEntry>,
    /// The newest change so far that does not lie in the future.
    pub last_processed: Option<Moment>,
    /// What is remembered of the list from now on.
    pub state: ListState,
    /// What is remembered of its pages from now on.
    pub writes: PageWrites,
    /// What its author should know.
    pub problems: Vec<Problem>,
}

impl TrackedPages {
    /// What a reading means in which every document was as before: nothing.
    pub fn unchanged(
        state: &ListState,
        last_processed: Option<Moment>,
        document: &Url,
    ) -> TrackedPages {
        TrackedPages {
            entries: Vec::new(),
            last_processed,
            state: state.clone(),
            writes: PageWrites::default(),
            problems: state
                .is_stamped
                .then(|| stamped(document))
                .into_iter()
                .collect(),
        }
    }
}

/// One thing that happened.
struct Event {
    kind: ChangeKind,
    at: Moment,
    is_inferred: bool,
    page: Which,
}

/// The page that something happened to.
#[derive(Clone, Copy)]
enum Which {
    Known(usize),
    Fresh(usize),
}

/// What was decided, before the addresses of known pages are there.
pub struct Plan {
    sighted: Sighted,
    events: Vec<Event>,
    /// The events that are told for the collection alone, by their numbers.
    apart: HashSet<usize>,
    note: Option<Note>,
    is_first: bool,
    now: DateTime<Utc>,
    state: ListState,
    writes: Writes,
    problems: Vec<Problem>,
}

/// What is to be said before the changes.
struct Note {
    text: String,
    /// Whether there is more than what is listed.
    is_cut: bool,
}

#[derive(Default)]
struct Writes {
    remove: Vec<PageKey>,
    forget: Vec<PageKey>,
    silence: Vec<PageKey>,
    update: Vec<KnownPage>,
}

/// Decides what is new. `state` is none for a collection whose pages were never read; `now` is when they were.
pub fn plan(state: Option<&ListState>, finding: ListFinding, now: DateTime<Utc>) -> Plan {
    let is_complete = finding.is_complete;
    let mut planning = Planning::new(state, finding, now);
    // What an index lists that was never read was there all the time, like the index.
    let late = planning.sighted.late.iter();
    planning.before.unread.extend(late);
    planning.state.unread = planning.unread(state.is_none());
    planning.state.is_of_now = planning.are_all_dates_of_now();
    let is_beside = planning.besides.is_some();
    let note = match state {
        None if is_beside => planning.first_besides(),
        None => planning.first(),
        Some(_) => planning.next(is_complete),
    };
    planning.note_what_is_told();
    planning.hide();
    planning.state.is_settled = is_complete && planning.unseen == 0;
    planning.plan(state.is_none() && !is_beside, note)
}

struct Planning {
    before: ListState,
    state: ListState,
    sighted: Sighted,
    now: DateTime<Utc>,
    made_at: Option<Moment>,
    besides: Option<Besides>,
    document: Url,
    /// Whether the list dates single pages. Where it does not, all that it says of when is when it was itself made; and if
    /// that is as it was, it says nothing about what is another than before.
    has_dates: bool,
    events: Vec<Event>,
    problems: Vec<Problem>,
    writes: Writes,
    /// Pages that were not seen and are remembered all the same.
    unseen: usize,
}

impl Planning {
    fn new(state: Option<&ListState>, finding: ListFinding, now: DateTime<Utc>) -> Planning {
        let ListFinding {
            sighted,
            made_at,
            titles,
            besides,
            document,
            ..
        } = finding;
        let mut planning = Planning {
            before: state.cloned().unwrap_or_default(),
            state: ListState {
                made_at: made_at.or(state.and_then(|state| state.made_at)),
                is_made_anew: made_at.is_some() && made_at != state.and_then(|state| state.made_at),
                edited_at: state.and_then(|state| state.edited_at),
                titles,
                turn: sighted.turn,
                ..ListState::default()
            },
            sighted,
            now,
            made_at,
            besides,
            document,
            has_dates: false,
            events: Vec::new(),
            problems: Vec::new(),
            writes: Writes::default(),
            unseen: 0,
        };
        let has_dates = planning.dates().next().is_some();
        planning.has_dates = has_dates;
        planning
    }

    fn plan(self, is_first: bool, note: Option<Note>) -> Plan {
        Plan {
            is_first,
            sighted: self.sighted,
            events: self.events,
            apart: HashSet::new(),
            note,
            now: self.now,
            state: self.state,
            writes: self.writes,
            problems: self.problems,
        }
    }

    /// A page that is hidden may have been known once, and things may have been said about it.
    fn hide(&mut self) {
        let hidden = &self.sighted.hidden;
        self.state.hidden = hidden.iter().fold(0, |all, key| all ^ key.0);
        // Nothing was said about them since they were last hidden.
        if self.state.hidden != self.before.hidden {
            self.writes.silence.extend(hidden);
            self.writes.silence.sort_unstable();
        }
    }

    /// Documents whose pages were never seen. When they are, those pages are not new.
    fn unread(&self, is_first: bool) -> Vec<u32> {
        let missing: HashSet<u32> = self.sighted.unread.iter().copied().collect();
        let parts = match is_first {
            true => &self.sighted.unread,
            false => &self.before.unread,
        };
        let still = parts.iter().filter(|part| missing.contains(part));
        still.copied().take(MAX_UNREAD).collect()
    }

    /// The first reading creates no changes, but a feed should not start empty.
    fn first(&mut self) -> Option<Note> {
        let fresh = &self.sighted.fresh;
        let mut newest: Vec<usize> = (0..fresh.len())
            .filter(|&place| fresh.stamp(place) != Stamp::NONE)
            .collect();
        let count = newest.len();
        if count > SHOWN_PAGES {
            // Of equal ones those that come first in the list.
            let rank = |&place: &usize| (Reverse(fresh.stamp(place)), place);
            newest.select_nth_unstable_by_key(SHOWN_PAGES, rank);
            newest.truncate(SHOWN_PAGES);
        }
        for &place in &newest {
            let at = self.time(fresh.stamp(place));
            self.events.push(Event {
                kind: ChangeKind::Updated,
                at,
                is_inferred: false,
                page: Which::Fresh(place),
            });
        }
        // Without a date nobody knows which pages are new; the first of the list are an example of what it has.
        if newest.is_empty() {
            for place in 0..fresh.len().min(SHOWN_PAGES) {
                self.events.push(Event {
                    kind: ChangeKind::Created,
                    at: Moment::from_utc(self.now),
                    is_inferred: true,
                    page: Which::Fresh(place),
                });
            }
        }
        let is_stamped = self.are_all_dates_equal();
        self.tell_stamped(is_stamped);
        self.state.is_stamped = is_stamped;
        let pages = pages(self.sighted.fresh.len());
        let text = match (newest.is_empty(), is_stamped) {
            (true, _) => format!("The site lists {pages}, without dates. These are some of them."),
            (false, true) => format!("The site lists {pages}, all with the same date."),
            (false, false) => {
                format!("The site lists {pages}. These changed last, by the dates in the list.")
            }
        };
        let is_cut = false;
        (!self.events.is_empty()).then_some(Note { text, is_cut })
    }

    /// Any other reading. Says what is to be said if it is too much to be listed.
    fn next(&mut self, may_delete: bool) -> Option<Note> {
        let renamed = self.find_moves();
        let updates = self.find_updates();
        let is_emptied = self.sighted.is_empty() && !self.sighted.known.is_empty();
        // A list of what is new only may well have nothing to list.
        let was_lasting = |page: KnownPage| !page.state.is_passing;
        if is_emptied && may_delete && self.sighted.known.iter().any(was_lasting) {
            let message =
                "the list has no pages any more; the pages that it had are kept".to_owned();
            self.problems
                .push(Problem::new(Code::EmptyList, &self.document, message));
        }
        self.find_absent(&renamed, may_delete && !is_emptied);
        self.find_created(&renamed);
        let known = self.count_known();
        // Two builds in a row that touch a large part of the site, though not all of it, are builds and not edits; but
        // nobody builds a site at more than one time.
        let is_mass_of_updates = updates.len() > usual(known);
        if is_mass_of_updates
            && self.before.masses > 0
            && self.are_of_one_build(&updates, updates.len())
        {
            self.drop_dated(&updates);
            self.state.is_stamped = true;
        }
        self.state.masses = match is_mass_of_updates {
            true => self.before.masses.saturating_add(1),
            // A reading without updates says nothing about the last ones.
            false if updates.is_empty() => self.before.masses,
            false => 0,
        };
        self.tell_stamped(self.state.is_stamped);
        self.sum_up(known)
    }

    /// How many pages there were, without those that only passed by.
    fn count_known(&self) -> usize {
        let known = &self.sighted.known;
        (0..known.len())
            .filter(|&place| !known.has_passed(place))
            .count()
    }

    /// What is to be said of changes that are too much to be listed, of so many pages.
    fn sum_up(&mut self, known: usize) -> Option<Note> {
        let count = self.events.len();
        if count <= usual(known) {
            return None;
        }
        let note = self.summary(count, known);
        let message =
            format!("{count} changes at once, of {known} pages: they are announced together");
        self.problems
            .push(Problem::new(Code::MassChange, &self.document, message));
        Some(note)
    }

    /// Unknown pages that are known pages in another spelling.
    fn find_moves(&mut self) -> HashMap<usize, usize> {
        let sighted = &self.sighted;
        if sighted.fresh.is_empty() {
            return HashMap::new();
        }
        // Of a page whose document could not be read nobody knows whether it is still there.
        let unread: HashSet<u32> = sighted.unread.iter().copied().collect();
        let mut absent: HashMap<u32, usize> = HashMap::new();
        for (place, page) in sighted.known.iter().enumerate() {
            let may_be_gone = !sighted.is_seen(place) && !sighted.private.contains(&place);
            if may_be_gone && !unread.contains(&page.part) {
                absent.insert(page.twin, place);
            }
        }
        let mut renamed = HashMap::new();
        if absent.is_empty() {
            return renamed;
        }
        for place in 0..sighted.fresh.len() {
            if let Some(old) = absent.remove(&sighted.fresh.known(place).twin) {
                renamed.insert(place, old);
            }
        }
        self.writes
            .remove
            .extend(renamed.values().map(|&old| sighted.known.get(old).key));
        renamed
    }

    /// Known pages that the list says are another than before. Gives the places of those that are told by their dates.
    fn find_updates(&mut self) -> Vec<usize> {
        let (mut by_date, mut told) = (Vec::new(), Vec::new());
        let places: Vec<usize> = {
            let mut places: Vec<usize> = self.sighted.other.keys().copied().collect();
            places.sort_unstable();
            places
        };
        for place in places {
            let known = self.sighted.known.get(place);
            let sight = &self.sighted.other[&place];
            let is_other = match (known.hash, sight.hash) {
                // A checksum decides alone, whatever the dates say.
                (1.., 1..) => !sight.has_sum(known.hash),
                _ => is_later(known.stamp, sight.stamp),
            };
            if !is_other {
                continue;
            }
            let is_stated = is_later(known.stamp, sight.stamp);
            let by_checksum = known.hash != 0 && sight.hash != 0;
            if !by_checksum {
                by_date.push(place);
            }
            if self.is_elsewhere(known.key) {
                continue;
            }
            told.extend((!by_checksum).then_some(place));
            let at = match is_stated {
                true => self.time(sight.stamp),
                false => self.time_of_edit(),
            };
            self.events.push(Event {
                kind: ChangeKind::Updated,
                at,
                is_inferred: !is_stated,
                page: Which::Known(place),
            });
        }
        self.state.is_stamped = self.are_dates_stamps(&by_date);
        if self.state.is_stamped {
            self.drop_dated(&by_date);
            return Vec::new();
        }
        told
    }

    fn tell_stamped(&mut self, is_stamped: bool) {
        self.problems
            .extend(is_stamped.then(|| stamped(&self.document)));
    }

    fn drop_dated(&mut self, by_date: &[usize]) {
        let dropped: HashSet<usize> = by_date.iter().copied().collect();
        self.events.retain(|event| match event.page {
            Which::Known(place) => event.kind != ChangeKind::Updated || !dropped.contains(&place),
            Which::Fresh(_) => true,
        });
    }

    /// Known pages that were not seen, and those that were again.
    fn find_absent(&mut self, renamed: &HashMap<usize, usize>, may_delete: bool) {
        let moved: HashSet<usize> = renamed.values().copied().collect();
        // Found when there is something to be said of it.
        let mut spelled_otherwise = None;
        let deleted_at = self.time_of_deletion();
        let mut passed = Vec::new();
        for place in 0..self.sighted.known.len() {
            let mut page = self.sighted.known.get(place);
            if moved.contains(&place) {
                continue;
            }
            if self.sighted.private.contains(&place) {
                self.writes.forget.push(page.key);
                continue;
            }
            let before = page;
            page.state.is_untold |= self.is_elsewhere(page.key);
            // Should the document not change any more, it must not speak for a page that it has dropped.
            if self.sighted.has_left(place) {
                page.part = 0;
            }
            if self.sighted.is_seen(place) {
                page.state.is_missing = false;
                page.state.is_passing &= !self.sighted.has_settled(place);
                if let Some(sight) = self.sighted.other.get(&place) {
                    page.stamp = kept(page.stamp, sight.stamp, self.now);
                    page.hash = sight.hash;
                }
                page.part = self.sighted.moved.get(&place).copied().unwrap_or(page.part);
            } else if may_delete && page.state.has_passed() {
                passed.push((page, page != before));
                continue;
            } else if may_delete && page.state.is_missing {
                self.writes.remove.push(page.key);
                let others = spelled_otherwise.get_or_insert_with(|| self.spelled_otherwise());
                let is_here = !self.is_elsewhere(page.key);
                if is_here && !others.contains(&page.twin) {
                    self.events.push(Event {
                        kind: ChangeKind::Deleted,
                        at: deleted_at,
                        is_inferred: true,
                        page: Which::Known(place),
                    });
                }
                continue;
            } else {
                page.state.is_missing |= may_delete;
                self.unseen += 1;
            }
            if page != before {
                self.writes.update.push(page);
            }
        }
        self.keep_passed(passed);
    }

    /// What passed by may do so again, when a later post is deleted or an old one is edited, and is nothing new then. Not
    /// all of it can be remembered. Each page comes with whether it is to be written.
    fn keep_passed(&mut self, mut passed: Vec<(KnownPage, bool)>) {
        if passed.len() > MAX_PASSED {
            passed.sort_unstable_by_key(|(page, _)| (Reverse(page.stamp), page.key));
            let forgotten = passed.drain(MAX_PASSED..).map(|(page, _)| page.key);
            self.writes.remove.extend(forgotten);
        }
        let written = passed.into_iter().filter(|(_, is_written)| *is_written);
        self.writes.update.extend(written.map(|(page, _)| page));
    }

    /// Of the known pages that are missing for good, those that came to the list in another spelling while not all of it
    /// could be read: what was not announced as new then does not make them deleted now.
    fn spelled_otherwise(&self) -> HashSet<u32> {
        let known = || self.sighted.known.iter().enumerate();
        let is_late = |page: &KnownPage| page.state.is_late;
        let late = known().filter(|(place, page)| is_late(page) && self.sighted.is_seen(*place));
        late.map(|(_, page)| page.twin).collect()
    }

    fn find_created(&mut self, renamed: &HashMap<usize, usize>) {
        let unread: HashSet<u32> = self.before.unread.iter().copied().collect();
        for place in 0..self.sighted.fresh.len() {
            let part = self.sighted.fresh.known(place).part;
            if let Some(&old) = renamed.get(&place) {
                if self.sighted.known.get(old).state.is_untold {
                    self.sighted.fresh.call_untold(place);
                }
                continue;
            }
            if self.is_fresh_elsewhere(place) {
                self.sighted.fresh.call_untold(place);
                continue;
            }
            if unread.contains(&part) {
                self.sighted.fresh.call_late(place);
                continue;
            }
            let published = self
                .sighted
                .fresh
                .extra(place)
                .and_then(|extra| extra.published);
            let stamp = match published {
                Some(published) => Stamp::of(Some(published)),
                None => self.sighted.fresh.stamp(place),
            };
            // A page that was there before the changes begin, or before the last list was made, is not new, whatever hid
            // it.
            let begins = self.sighted.since(place).or(self.before.made_at);
            let is_older = match (published, begins) {
                (Some(published), Some(begins)) => !begins.comes_before(&published),
                _ => false,
            };
            let kind = match is_older {
                true => ChangeKind::Updated,
                false => ChangeKind::Created,
            };
            let stamp = match is_older {
                true => self.sighted.fresh.stamp(place),
                false => stamp,
            };
            self.events.push(Event {
                kind,
                at: self.time(stamp),
                is_inferred: true,
                page: Which::Fresh(place),
            });
        }
    }

    /// Says in one sentence what is too much for a list, and leaves the newest of it.
    fn summary(&mut self, count: usize, known: usize) -> Note {
        let of_kind = |kind| {
            self.events
                .iter()
                .filter(|event| event.kind == kind)
                .count()
        };
        let kinds = [
            (of_kind(ChangeKind::Created), "new"),
            (of_kind(ChangeKind::Updated), "changed"),
            (of_kind(ChangeKind::Deleted), "gone"),
        ];
        let words: Vec<String> = (kinds.iter())
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        let known = pages(known);
        self.events.sort_by_key(|event| event.at.start());
        self.events.drain(..count - SHOWN_PAGES.min(count));
        let kinds = words.join(", ");
        Note {
            text: format!("Much of the site changed at once: of {known}, {kinds}."),
            is_cut: true,
        }
    }
}

fn stamped(document: &Url) -> Problem {
    let message = "the dates of the list are those of its last build, so they do not tell which pages were edited";
    Problem::new(Code::StampedLastmod, document, message)
}

/// How much of a site may change at once and still be listed page by page.
fn usual(known: usize) -> usize {
    SHOWN_PAGES.max(known * 3 / 10)
}

fn pages(count: usize) -> String {
    match count {
        1 => "one page".to_owned(),
        count => format!("{count} pages"),
    }
}

#[cfg(test)]
mod tests;
