//! Decides what is new, and what follows from it. Pure: what is remembered and what was read go in, what to announce
//! and to remember comes out.
//!
//! A change is new if it is not known, whatever its datetime says: sites are built before they are deployed, stamp days
//! instead of moments, and mend their lists afterwards. Datetimes serve to order, to show, and to notice that something
//! is missing; they never serve to leave something out.

pub mod pages;

use chrono::{DateTime, NaiveDate, Utc};

use crate::change::{Change, Entry};
use crate::memory::{CollectionMemory, Finding, NewEntry};
use crate::moment::Moment;

/// Nothing is told as having happened before there were websites: such dates are those of clocks that were never set, and
/// of archives that keep none. Readers and validators take them for mistakes.
const EARLIEST: DateTime<Utc> = match DateTime::from_timestamp(631_152_000, 0) {
    Some(beginning_of_1990) => beginning_of_1990,
    None => DateTime::UNIX_EPOCH,
};

/// A new feed starts with at most this many entries; what is older is known and silent.
pub const FIRST_ENTRIES: usize = 50;

/// What a check means for one collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracked {
    /// The newest change so far that does not lie in the future.
    pub last_processed: Option<Moment>,
    /// When the last check began that read everything.
    pub covered_until: Option<DateTime<Utc>>,
    /// Changes that are remembered without being announced, oldest first.
    pub silent: Vec<Change>,
    /// What is announced, oldest first.
    pub entries: Vec<NewEntry>,
    /// A time of which nobody knows what happened in it.
    pub gap: Option<Gap>,
}

/// A time between two checks that no list covers any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// Up to here everything is known.
    pub after: DateTime<Utc>,
    /// From here on the lists tell what happened.
    pub until: Moment,
}

/// Tracks one collection. `memory` is none for a collection that was never seen; `started_at` is when the check began
/// and `now` when it ended.
pub fn track(
    memory: Option<&CollectionMemory>,
    finding: Finding,
    started_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Tracked {
    let is_first =
        memory.is_none_or(|memory| memory.change_count == 0 && memory.covered_until.is_none());
    // A site that listed its pages and now tells its changes: what happened before was told in another way. A day that
    // was not over then may have brought more, and what the list told of it is known.
    let told_until = memory
        .filter(|memory| memory.pages.is_some())
        .and_then(|memory| memory.covered_until);
    let is_told =
        |change: &Change| told_until.is_some_and(|until| change.datetime.latest() <= until);
    let (told, changes): (Vec<_>, Vec<_>) = finding.changes.into_iter().partition(is_told);
    let past = changes
        .iter()
        .map(|change| change.datetime)
        .filter(|moment| moment.start() <= now);
    let last_processed = past
        .chain(memory.and_then(|memory| memory.last_processed))
        .max();
    let covered_before = memory.and_then(|memory| memory.covered_until);
    let gap = match (memory, covered_before, finding.covers_from) {
        (Some(memory), Some(after), Some(until)) if memory.misses_before(until) => {
            Some(Gap { after, until })
        }
        _ => None,
    };
    let (silent, entries) = match is_first {
        true => first_announcement(changes, now),
        false if changes.is_empty() => (told, Vec::new()),
        false => (
            told,
            vec![NewEntry {
                updated_at: now,
                changes,
                note: None,
                is_for_site: true,
            }],
        ),
    };
    Tracked {
        last_processed,
        covered_until: if finding.is_complete {
            Some(started_at)
        } else {
            covered_before
        },
        silent,
        entries,
        gap,
    }
}

/// When a change was made, as an entry tells it. One that is dated in the future was made by now, whatever it says.
pub fn made_at(datetime: &Moment, now: DateTime<Utc>) -> DateTime<Utc> {
    datetime.start().max(EARLIEST).min(now)
}

/// Splits the changes of a first check into those that are only remembered and one entry for each of the last days.
fn first_announcement(changes: Vec<Change>, now: DateTime<Utc>) -> (Vec<Change>, Vec<NewEntry>) {
    let mut days: Vec<(NaiveDate, NewEntry)> = Vec::new();
    for change in changes {
        let made_at = made_at(&change.datetime, now);
        let day = made_at.date_naive();
        match days.last_mut() {
            Some((last, entry)) if *last == day => {
                entry.updated_at = entry.updated_at.max(made_at);
                entry.changes.push(change);
            }
            _ => days.push((
                day,
                NewEntry {
                    updated_at: made_at,
                    changes: vec![change],
                    note: None,
                    is_for_site: true,
                },
            )),
        }
    }
    let announced = days.split_off(days.len().saturating_sub(FIRST_ENTRIES));
    let silent = days
        .into_iter()
        .flat_map(|(_, entry)| entry.changes)
        .collect();
    (
        silent,
        announced.into_iter().map(|(_, entry)| entry).collect(),
    )
}

/// The entries with which a new feed would start, newest first, for those who only look: `id_of` makes their ids.
pub fn first_entries(
    changes: &[Change],
    now: DateTime<Utc>,
    id_of: impl Fn(NaiveDate) -> String,
) -> Vec<Entry> {
    let (_, entries) = first_announcement(changes.to_vec(), now);
    let entry = |entry: NewEntry| Entry {
        id: id_of(entry.updated_at.date_naive()),
        updated_at: entry.updated_at,
        changes: entry.changes,
        note: entry.note,
    };
    entries.into_iter().rev().map(entry).collect()
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::change::{ChangeKind, Details};
    use crate::memory::{ChangeKey, Known, PagesMemory};
    use crate::site::{About, CollectionId};

    fn change(url: &str, datetime: &str) -> Change {
        Change {
            url: url.into(),
            kind: ChangeKind::Updated,
            datetime: Moment::parse(datetime).unwrap(),
            title: None,
            details: Details::default(),
        }
    }

    fn now() -> DateTime<Utc> {
        "2026-03-10T12:00:00Z".parse().unwrap()
    }

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn memory() -> CollectionMemory {
        let known = change("https://s.example/", "2026-03-01");
        let mut set = Known::default();
        set.add(ChangeKey::new(&known.url, known.kind, &known.datetime));
        CollectionMemory {
            pages: None,
            id: CollectionId(1),
            identity: "https://s.example/".parse().unwrap(),
            capability_list: None,
            title: "A shrine".into(),
            about: About::default(),
            described_by: None,
            is_own: true,
            last_processed: Some(known.datetime),
            covered_until: Some(at("2026-03-05T00:00:00Z")),
            change_count: 1,
            known: set.into(),
            lists: Vec::new(),
        }
    }

    fn finding(changes: &[Change]) -> Finding {
        Finding {
            changes: changes.to_vec(),
            is_complete: true,
            covers_from: None,
        }
    }

    fn first(changes: &[Change]) -> Vec<(String, String, usize)> {
        let entries = first_entries(changes, now(), |day| day.to_string());
        entries
            .into_iter()
            .map(|e| (e.id, e.updated_at.to_rfc3339(), e.changes.len()))
            .collect()
    }

    #[test]
    fn nothing_gives_no_entry() {
        assert_eq!(first(&[]), []);
        let tracked = track(Some(&memory()), finding(&[]), now(), now());
        assert_eq!(tracked.entries, []);
        assert_eq!(
            tracked.last_processed,
            Some(Moment::parse("2026-03-01").unwrap())
        );
    }

    #[test]
    fn the_first_check_gives_each_day_an_entry() {
        let changes = [
            change("https://s.example/a", "2026-03-01"),
            change("https://s.example/b", "2026-03-01T09:00:00Z"),
            change("https://s.example/a", "2026-03-02T08:00:00Z"),
        ];
        assert_eq!(
            first(&changes),
            [
                ("2026-03-02".into(), "2026-03-02T08:00:00+00:00".into(), 1),
                ("2026-03-01".into(), "2026-03-01T09:00:00+00:00".into(), 2),
            ]
        );
    }

    #[test]
    fn a_long_history_starts_with_fifty_entries_and_remembers_the_rest() {
        let changes: Vec<_> = (0..80)
            .map(|n| {
                change(
                    "https://s.example/a",
                    &format!("2025-{:02}-{:02}", n / 28 + 1, n % 28 + 1),
                )
            })
            .collect();
        let tracked = track(None, finding(&changes), now(), now());
        assert_eq!(tracked.entries.len(), FIRST_ENTRIES);
        assert_eq!(tracked.silent.len(), 30);
        assert_eq!(
            tracked.entries[49].changes[0].datetime.to_string(),
            "2025-03-24"
        );
        assert_eq!(tracked.silent[0].datetime.to_string(), "2025-01-01");
    }

    #[test]
    fn changes_of_clocks_that_were_never_set_share_the_earliest_entry() {
        let changes = [
            change("https://s.example/a", "0001-01-01"),
            change("https://s.example/b", "1970-01-01"),
            change("https://s.example/c", "1980-01-01T00:00:00Z"),
            change("https://s.example/d", "1990-01-02"),
        ];
        assert_eq!(
            first(&changes),
            [
                ("1990-01-02".into(), "1990-01-02T00:00:00+00:00".into(), 1),
                ("1990-01-01".into(), "1990-01-01T00:00:00+00:00".into(), 3),
            ]
        );
    }

    #[test]
    fn a_change_in_the_future_is_announced_today_and_hides_nothing() {
        let tracked = track(
            None,
            finding(&[change("https://s.example/a", "2999-01-01")]),
            now(),
            now(),
        );
        assert_eq!(tracked.entries[0].updated_at, now());
        assert_eq!(tracked.last_processed, None);
    }

    #[test]
    fn later_checks_announce_everything_unknown_in_one_entry_however_old_it_is() {
        let changes = [
            change("https://s.example/late", "2019-01-01"),
            change("https://s.example/b", "2026-03-09"),
        ];
        let tracked = track(Some(&memory()), finding(&changes), now(), now());
        assert_eq!(
            tracked.entries,
            [NewEntry {
                updated_at: now(),
                changes: changes.to_vec(),
                note: None,
                is_for_site: true,
            }]
        );
        assert_eq!(tracked.last_processed, Some(changes[1].datetime));
    }

    #[test]
    fn lists_that_begin_after_the_last_complete_check_leave_a_gap() {
        let gap = |from: &str| {
            let covers_from = Some(Moment::parse(from).unwrap());
            let finding = Finding {
                covers_from,
                ..finding(&[])
            };
            track(Some(&memory()), finding, now(), now())
                .gap
                .map(|gap| gap.until.to_string())
        };
        assert_eq!(gap("2026-03-01"), None);
        assert_eq!(
            gap("2026-03-05"),
            None,
            "that day may have begun before, somewhere"
        );
        assert_eq!(
            gap("2026-03-05T00:00:01Z"),
            Some("2026-03-05T00:00:01Z".into())
        );
        assert_eq!(gap("2026-03-08"), Some("2026-03-08".into()));
    }

    #[test]
    fn a_log_that_follows_a_list_tells_again_what_may_have_happened_after_it() {
        let memory = CollectionMemory {
            pages: Some(PagesMemory::default()),
            ..memory()
        };
        let told = |datetime: &str| {
            let change = change("https://s.example/a", datetime);
            track(Some(&memory), finding(&[change]), now(), now())
        };
        for before in ["2026-03-03", "2026-02", "2026-03-05T00:00:00Z"] {
            let tracked = told(before);
            assert_eq!((tracked.silent.len(), tracked.entries.len()), (1, 0));
        }
        // The list was read at midnight UTC, when it was still the day before in other places.
        for after in [
            "2026-03-05",
            "2026-03-04",
            "2026-03",
            "2026-03-05T00:00:01Z",
        ] {
            let tracked = told(after);
            assert_eq!(
                (tracked.silent.len(), tracked.entries.len()),
                (0, 1),
                "{after}"
            );
        }
    }

    #[test]
    fn only_a_complete_check_moves_the_time_up_to_which_nothing_is_missing() {
        let before = memory().covered_until;
        let partial = Finding {
            is_complete: false,
            ..finding(&[])
        };
        assert_eq!(
            track(Some(&memory()), partial, now(), now()).covered_until,
            before
        );
        assert_eq!(
            track(Some(&memory()), finding(&[]), now(), now()).covered_until,
            Some(now())
        );
    }
}
