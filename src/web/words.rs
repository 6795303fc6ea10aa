//! Times and numbers in words, as they stand on pages.

use chrono::{DateTime, Datelike, NaiveDate, Utc};
use chrono_tz::Tz;

use crate::moment::{Moment, Precision};

/// Times that lie further back are told by their date.
const DAYS_BACK: i64 = 30;
/// Until then it is "in so many hours", and after that "tomorrow".
const HOURS_AHEAD: i64 = 20;

/// A time: relative for the eye, exact for whoever points at it and for assistive technology.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct When {
    /// For machines.
    pub datetime: String,
    /// `10 March 2026, 12:00 UTC`
    pub exact: String,
    /// `2 hours ago`
    pub relative: String,
}

/// Whose present it is: the time, and where they live.
#[derive(Debug, Clone, Copy)]
pub struct Present {
    /// The time.
    pub now: DateTime<Utc>,
    /// The place.
    pub zone: Tz,
}

impl Present {
    /// Today, where they live.
    pub fn today(&self) -> NaiveDate {
        self.day(self.now)
    }

    /// The day of an instant, where they live.
    pub fn day(&self, at: DateTime<Utc>) -> NaiveDate {
        at.with_timezone(&self.zone).date_naive()
    }

    /// An instant.
    pub fn when(&self, at: DateTime<Utc>) -> When {
        let local = at.with_timezone(&self.zone);
        When {
            datetime: at.format("%Y-%m-%dT%H:%M:%SZ").to_string(),
            exact: local.format("%-d %B %Y, %H:%M %Z").to_string(),
            relative: self.relative(at),
        }
    }

    /// A time that a source gave, as precise as it was.
    pub fn when_told(&self, moment: &Moment) -> When {
        if moment.has_time() {
            let when = self.when(moment.start());
            return When {
                datetime: moment.to_string(),
                ..when
            };
        }
        // A date is that date wherever one lives.
        let date = moment.start().date_naive();
        let exact = match moment.precision() {
            Precision::Year => date.format("%Y"),
            Precision::Month => date.format("%B %Y"),
            _ => date.format("%-d %B %Y"),
        };
        let exact = exact.to_string();
        let relative = match (moment.precision(), (self.today() - date).num_days()) {
            (Precision::Year | Precision::Month, _) => exact.clone(),
            (_, 0) => "today".to_owned(),
            (_, 1) => "yesterday".to_owned(),
            (_, days @ 2..=DAYS_BACK) => format!("{days} days ago"),
            _ => exact.clone(),
        };
        When {
            datetime: moment.to_string(),
            exact,
            relative,
        }
    }

    fn relative(&self, at: DateTime<Utc>) -> String {
        let seconds = (self.now - at).num_seconds();
        let days = (self.today() - self.day(at)).num_days();
        match seconds {
            0..45 => "just now".to_owned(),
            45..3_600 => format!("{} ago", count((seconds + 15) / 60, "minute")),
            3_600..86_400 => format!("{} ago", count(seconds / 3_600, "hour")),
            86_400.. if days == 1 => "yesterday".to_owned(),
            86_400.. if days <= DAYS_BACK => format!("{days} days ago"),
            86_400.. => self.date(self.day(at)),
            -59..0 => "in a moment".to_owned(),
            -3_599..=-60 => format!("in {}", count(-seconds / 60, "minute")),
            _ if -seconds < HOURS_AHEAD * 3_600 => {
                format!("in {}", count(-seconds / 3_600, "hour"))
            }
            _ if days >= -1 => "tomorrow".to_owned(),
            _ => format!("in {} days", -days),
        }
    }

    /// A day, with its year where that is not this one.
    fn date(&self, day: NaiveDate) -> String {
        match day.year() == self.today().year() {
            true => day.format("%-d %B").to_string(),
            false => day.format("%-d %B %Y").to_string(),
        }
    }

    /// The heading of a day: `Today, Tuesday 10 March`.
    pub fn heading(&self, day: NaiveDate) -> String {
        let named = format!("{} {}", day.format("%A"), self.date(day));
        match (self.today() - day).num_days() {
            0 => format!("Today, {named}"),
            1 => format!("Yesterday, {named}"),
            _ => named,
        }
    }
}

/// `1 change`, `2 changes`.
pub fn count(count: impl TryInto<i64>, noun: &str) -> String {
    match count.try_into().unwrap_or(i64::MAX) {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

/// A sentence with what stands between backticks apart, which is to be shown as code: whether it is, and the words.
pub fn marked(sentence: &str) -> Vec<(bool, &str)> {
    let parts: Vec<&str> = sentence.split('`').collect();
    // One that is never closed is only a character.
    if parts.len().is_multiple_of(2) {
        return vec![(false, sentence)];
    }
    let parts = parts.into_iter().enumerate();
    let parts = parts.map(|(place, part)| (place % 2 == 1, part));
    parts.filter(|(_, part)| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    fn present(zone: Tz) -> Present {
        Present {
            now: "2026-03-10T12:00:00Z".parse().unwrap(),
            zone,
        }
    }

    #[test]
    fn a_time_is_told_as_people_would_tell_it() {
        let present = present(Tz::UTC);
        for (hours, told) in [
            (-24.0 * 400.0, "3 February 2025"),
            (-24.0 * 40.0, "29 January"),
            (-24.0 * 3.0, "3 days ago"),
            (-25.0, "yesterday"),
            (-23.0, "23 hours ago"),
            (-1.0, "1 hour ago"),
            (-0.5, "30 minutes ago"),
            (-1.0 / 60.0, "1 minute ago"),
            (0.0, "just now"),
            (0.01, "in a moment"),
            (0.5, "in 30 minutes"),
            (3.0, "in 3 hours"),
            (24.0, "tomorrow"),
            (24.0 * 4.0, "in 4 days"),
        ] {
            let at = present.now + TimeDelta::seconds((hours * 3_600.0) as i64);
            assert_eq!(present.when(at).relative, told, "{hours}");
        }
    }

    #[test]
    fn days_begin_where_people_live() {
        let at = "2026-03-09T23:30:00Z".parse().unwrap();
        let day = |zone| {
            let present = present(zone);
            present.heading(present.day(at))
        };
        assert_eq!(day(Tz::UTC), "Yesterday, Monday 9 March");
        assert_eq!(day(Tz::Europe__Berlin), "Today, Tuesday 10 March");
        let when = present(Tz::Asia__Tokyo).when(at);
        assert_eq!(when.exact, "10 March 2026, 08:30 JST");
        assert_eq!(when.datetime, "2026-03-09T23:30:00Z");
    }

    #[test]
    fn a_time_is_no_more_precise_than_its_source() {
        let told = |text: &str| {
            let when = present(Tz::Asia__Tokyo).when_told(&Moment::parse(text).unwrap());
            (when.datetime, when.exact, when.relative)
        };
        let three = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(told("2026"), three("2026", "2026", "2026"));
        assert_eq!(
            told("2026-02"),
            three("2026-02", "February 2026", "February 2026")
        );
        assert_eq!(
            told("2026-03-09"),
            three("2026-03-09", "9 March 2026", "yesterday")
        );
        assert_eq!(
            told("2026-03-10T10:00:00Z"),
            three(
                "2026-03-10T10:00:00Z",
                "10 March 2026, 19:00 JST",
                "2 hours ago"
            )
        );
    }

    #[test]
    fn what_stands_between_backticks_is_code() {
        assert_eq!(marked(""), []);
        assert_eq!(marked("no code"), [(false, "no code")]);
        assert_eq!(
            marked("add `datetime` to `rs:md`"),
            [
                (false, "add "),
                (true, "datetime"),
                (false, " to "),
                (true, "rs:md")
            ]
        );
        assert_eq!(marked("a ` alone"), [(false, "a ` alone")]);
    }
}
