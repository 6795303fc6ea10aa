//! Decides what is new. Pure: what is known and what was read go in, what to announce comes out.
//!
//! For now there is only the beginning: the first check, when nothing is known.

use chrono::{DateTime, NaiveDate, Utc};

use crate::change::{Change, Entry};

/// A new feed starts with at most this many entries; what is older is known and silent.
pub const FIRST_ENTRIES: usize = 50;

/// What the first check of a collection announces: one entry for each day, newest first.
///
/// `changes` come oldest first. `id_of` makes the id of the entry for a day.
pub fn first_entries(
    changes: &[Change],
    now: DateTime<Utc>,
    id_of: impl Fn(NaiveDate) -> String,
) -> Vec<Entry> {
    // A change that is dated in the future was made by now, whatever it says.
    let made_at = |change: &Change| change.datetime.start().min(now);
    let mut entries: Vec<Entry> = Vec::new();
    let mut last_day = None;
    for change in changes.iter().rev() {
        let at = made_at(change);
        let day = at.date_naive();
        if last_day != Some(day) {
            if entries.len() == FIRST_ENTRIES {
                break;
            }
            last_day = Some(day);
            entries.push(Entry {
                id: id_of(day),
                updated_at: at,
                changes: Vec::new(),
            });
        }
        if let Some(entry) = entries.last_mut() {
            entry.changes.push(change.clone());
        }
    }
    for entry in &mut entries {
        entry.changes.reverse();
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::{ChangeKind, Details};
    use crate::moment::Moment;

    fn change(url: &str, datetime: &str) -> Change {
        Change {
            url: url.into(),
            kind: ChangeKind::Updated,
            datetime: Moment::parse(datetime).unwrap(),
            title: None,
            details: Details::default(),
        }
    }

    fn entries(changes: &[Change]) -> Vec<(String, String, usize)> {
        let now = "2026-03-10T12:00:00Z".parse().unwrap();
        let entries = first_entries(changes, now, |day| day.to_string());
        entries
            .into_iter()
            .map(|e| (e.id, e.updated_at.to_rfc3339(), e.changes.len()))
            .collect()
    }

    #[test]
    fn nothing_gives_no_entry() {
        assert_eq!(entries(&[]), []);
    }

    #[test]
    fn each_day_is_one_entry_and_the_newest_comes_first() {
        let changes = [
            change("https://s.example/a", "2026-03-01"),
            change("https://s.example/b", "2026-03-01T09:00:00Z"),
            change("https://s.example/a", "2026-03-02T08:00:00Z"),
        ];
        assert_eq!(
            entries(&changes),
            [
                ("2026-03-02".into(), "2026-03-02T08:00:00+00:00".into(), 1),
                ("2026-03-01".into(), "2026-03-01T09:00:00+00:00".into(), 2),
            ]
        );
    }

    #[test]
    fn a_change_in_the_future_is_announced_today() {
        let changes = [change("https://s.example/a", "2999-01-01")];
        assert_eq!(
            entries(&changes),
            [("2026-03-10".into(), "2026-03-10T12:00:00+00:00".into(), 1)]
        );
    }

    #[test]
    fn a_long_history_starts_with_fifty_entries() {
        let changes: Vec<_> = (0..80)
            .map(|n| {
                change(
                    "https://s.example/a",
                    &format!("2025-{:02}-{:02}", n / 28 + 1, n % 28 + 1),
                )
            })
            .collect();
        let entries = entries(&changes);
        assert_eq!(entries.len(), FIRST_ENTRIES);
        assert_eq!(entries[0].0, "2025-03-24");
    }
}
