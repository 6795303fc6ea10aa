//! A year of days as a picture: the more changes a day had, the darker it is. Everything it shows is also said in words.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use chrono::{Datelike, Days, NaiveDate};

use super::words::count;

/// Columns of a week each, the last one this week.
const WEEKS: u64 = 53;
/// A day and the gap beside it.
const STEP: u64 = 13;
const SIDE: u64 = 11;
/// Shades beyond none.
const SHADES: usize = 4;
/// Months that are told by name in words.
const BUSIEST: usize = 3;

/// The picture.
pub struct Calendar {
    /// For each shade, the days as a path of squares.
    pub shades: Vec<Shade>,
    /// The name of each month, and where it stands.
    pub months: Vec<(u64, String)>,
    /// How far the days of the last week reach down, and where that week is.
    pub last_week: (u64, u64),
    /// All of it in words.
    pub words: String,
}

/// The days of one shade.
pub struct Shade {
    /// From 1 on.
    pub level: usize,
    /// A path.
    pub path: String,
}

/// How many changes each day had, up to and including today.
pub fn calendar(days: &BTreeMap<NaiveDate, u64>, today: NaiveDate) -> Calendar {
    let first = first_day(today);
    let shown = || days.range(first..=today).filter(|(_, count)| **count > 0);
    let most = shown().map(|(_, count)| *count).max().unwrap_or_default();
    let mut paths = vec![String::new(); SHADES];
    for (day, count) in shown() {
        let place = (*day - first).num_days().unsigned_abs();
        let (x, y) = (place / 7 * STEP, place % 7 * STEP);
        // Steps of equal ratio: a day with one change beside one with a thousand can still be seen.
        let share = (1.0 + *count as f64).ln() / (1.0 + most as f64).ln();
        let level = ((share * SHADES as f64).ceil() as usize).clamp(1, SHADES);
        let _ = write!(paths[level - 1], "M{x} {y}h{SIDE}v{SIDE}h-{SIDE}z");
    }
    let shades = (paths.into_iter().enumerate())
        .filter(|(_, path)| !path.is_empty())
        .map(|(place, path)| Shade {
            level: place + 1,
            path,
        });
    Calendar {
        shades: shades.collect(),
        months: months(first, today),
        last_week: (
            (WEEKS - 1) * STEP,
            u64::from(today.weekday().num_days_from_monday() + 1) * STEP,
        ),
        words: in_words(shown()),
    }
}

/// The Monday with which the picture begins.
pub fn first_day(today: NaiveDate) -> NaiveDate {
    let back = (WEEKS - 1) * 7 + u64::from(today.weekday().num_days_from_monday());
    today.checked_sub_days(Days::new(back)).unwrap_or(today)
}

fn months(first: NaiveDate, today: NaiveDate) -> Vec<(u64, String)> {
    let weeks = (0..WEEKS).filter_map(|week| {
        let monday = first.checked_add_days(Days::new(week * 7))?;
        // The week in which a month begins, but not so late that its name would stand outside.
        let is_first = monday.day() <= 7 && monday <= today && week < WEEKS - 2;
        is_first.then(|| (week * STEP, monday.format("%b").to_string()))
    });
    weeks.collect()
}

fn in_words<'a>(days: impl Iterator<Item = (&'a NaiveDate, &'a u64)>) -> String {
    let mut by_month: BTreeMap<(i32, u32), (NaiveDate, u64)> = BTreeMap::new();
    let (mut total, mut active) = (0, 0);
    for (day, count) in days {
        let month = (by_month.entry((day.year(), day.month()))).or_insert((*day, 0));
        month.1 += count;
        total += count;
        active += 1;
    }
    if total == 0 {
        return "No changes in the last year.".to_owned();
    }
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let mut busiest: Vec<(NaiveDate, u64)> = by_month.into_values().collect();
    busiest.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let busiest: Vec<String> = (busiest.iter().take(BUSIEST))
        .map(|(day, count)| format!("{} ({count})", day.format("%B %Y")))
        .collect();
    format!(
        "{} on {} in the last year, most in {}.",
        count(number(total), "change"),
        count(active, "day"),
        busiest.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    #[test]
    fn a_year_ends_today_and_begins_with_a_monday() {
        let today = day("2026-03-10");
        let first = first_day(today);
        assert_eq!(first, day("2025-03-10"));
        assert_eq!(first.weekday(), chrono::Weekday::Mon);
        let days = [("2025-03-09", 9), ("2025-03-10", 1), ("2026-03-10", 8)];
        let days = days.map(|(text, count)| (day(text), count)).into();
        let calendar = calendar(&days, today);
        let paths: Vec<_> = (calendar.shades.iter())
            .map(|shade| (shade.level, shade.path.as_str()))
            .collect();
        assert_eq!(paths, [(2, "M0 0h11v11h-11z"), (4, "M676 13h11v11h-11z"),]);
        assert_eq!(calendar.last_week, (676, 26));
        assert_eq!(
            calendar.words,
            "9 changes on 2 days in the last year, most in March 2026 (8), March 2025 (1)."
        );
        // March would stand outside.
        assert_eq!(calendar.months.len(), 11);
    }

    #[test]
    fn nothing_is_also_said() {
        let calendar = calendar(&BTreeMap::new(), day("2026-03-10"));
        assert!(calendar.shades.is_empty());
        assert_eq!(calendar.words, "No changes in the last year.");
    }
}
