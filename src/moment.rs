//! A W3C datetime with its precision.
//!
//! `2022`, `2022-11`, `2022-11-06`, `2022-11-06T09:30Z` and so on down to fractions of a second. What a source left out
//! is not invented: a date means that whole day, and a [`Moment`] is therefore an interval. It remembers enough to be
//! written again exactly as it was given, except for digits beyond the nanosecond.
//!
//! Only the six forms of the W3C note are accepted, in years 0001 to 9999, with offsets up to 14 hours.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Datelike, NaiveDate, TimeDelta, Timelike, Utc};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

/// A date says nothing about its time zone: that day began up to 14 hours before midnight UTC, somewhere.
pub const EARLIEST_ZONE: TimeDelta = TimeDelta::hours(14);
/// And ended up to 12 hours after the following midnight UTC, somewhere else.
pub const LATEST_ZONE: TimeDelta = TimeDelta::hours(12);

/// In the form of a moment four bits are the precision and the eleven up to here the offset.
const NANOS_SHIFT: u32 = 15;

/// A point in time as precise as its source made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Moment {
    /// The first instant that it may mean, with dates taken as UTC.
    start: DateTime<Utc>,
    precision: Precision,
    offset: Offset,
}

/// How much of a datetime was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Precision {
    /// `2022`
    Year,
    /// `2022-11`
    Month,
    /// `2022-11-06`
    Day,
    /// `2022-11-06T09:30Z`
    Minute,
    /// `2022-11-06T09:30:15Z`
    Second,
    /// `2022-11-06T09:30:15.25Z`, with the number of digits, 1 to 9.
    Fraction(u8),
}

impl Precision {
    /// A number for it: larger is finer. For keys and the store, so it never changes.
    pub fn rank(self) -> u8 {
        match self {
            Precision::Year => 0,
            Precision::Month => 1,
            Precision::Day => 2,
            Precision::Minute => 3,
            Precision::Second => 4,
            Precision::Fraction(digits) => 4 + digits.min(9),
        }
    }
}

/// The time zone as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Offset {
    /// A date, which has none.
    None,
    Z,
    /// Minutes east of UTC; the sign is kept apart for the sake of `-00:00`.
    Minutes {
        negative: bool,
        minutes: u16,
    },
}

/// Why a text is not a W3C datetime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MomentError {
    /// A time without `Z` or an offset.
    #[error("it has a time but no time zone (add Z for UTC)")]
    NoZone,
    /// A month, day, hour, minute, second or offset that does not exist.
    #[error("there is no such date or time")]
    OutOfRange,
    /// Anything else.
    #[error("it is not a W3C datetime, such as 2022-11-06 or 2022-11-06T09:30:00Z")]
    Syntax,
}

impl Moment {
    /// Reads exactly the forms of the W3C note; white space is the caller's to trim.
    pub fn parse(text: &str) -> Result<Moment, MomentError> {
        let mut rest = text.as_bytes();
        let year = digits(&mut rest, 4)?;
        let (mut month, mut day, mut precision) = (1, 1, Precision::Year);
        if skip(&mut rest, b'-') {
            (month, precision) = (digits(&mut rest, 2)?, Precision::Month);
            if skip(&mut rest, b'-') {
                (day, precision) = (digits(&mut rest, 2)?, Precision::Day);
            }
        }
        let year = i32::try_from(year).map_err(|_| MomentError::Syntax)?;
        let date = NaiveDate::from_ymd_opt(year, month, day).filter(|_| year > 0);
        let date = date.ok_or(MomentError::OutOfRange)?;
        let (mut hour, mut minute, mut second, mut nanos, mut offset) = (0, 0, 0, 0, Offset::None);
        if precision == Precision::Day && skip(&mut rest, b'T') {
            (hour, precision) = (digits(&mut rest, 2)?, Precision::Minute);
            expect(&mut rest, b':')?;
            minute = digits(&mut rest, 2)?;
            if skip(&mut rest, b':') {
                (second, precision) = (digits(&mut rest, 2)?, Precision::Second);
                if skip(&mut rest, b'.') {
                    (nanos, precision) = fraction(&mut rest)?;
                }
            }
            offset = zone(&mut rest)?;
        }
        if !rest.is_empty() {
            return Err(MomentError::Syntax);
        }
        let local = date
            .and_hms_nano_opt(hour, minute, second, nanos)
            .ok_or(MomentError::OutOfRange)?;
        let start = match offset.minutes() {
            0 => local.and_utc(),
            // chrono's years reach far beyond 0 and 10,000, so this cannot overflow.
            minutes => local.and_utc() - TimeDelta::minutes(minutes),
        };
        Ok(Moment {
            start,
            precision,
            offset,
        })
    }

    /// An instant of our own, to the second.
    pub fn from_utc(instant: DateTime<Utc>) -> Moment {
        let start = DateTime::from_timestamp(instant.timestamp(), 0).unwrap_or(instant);
        Moment {
            start,
            precision: Precision::Second,
            offset: Offset::Z,
        }
    }

    /// Two numbers from which [`Moment::from_parts`] makes it again exactly: the seconds since 1970 of its start, and
    /// its form. The form of everything in UTC without fractions of a second is below 16. For the store, so the meaning
    /// never changes.
    pub fn to_parts(&self) -> (i64, u64) {
        let offset = match self.offset {
            // The precision tells these two apart.
            Offset::None | Offset::Z => 0,
            Offset::Minutes { negative, minutes } => {
                1 + 2 * u64::from(minutes) + u64::from(negative)
            }
        };
        let nanos = u64::from(self.start.timestamp_subsec_nanos());
        let form = u64::from(self.precision.rank()) | offset << 4 | nanos << NANOS_SHIFT;
        (self.start.timestamp(), form)
    }

    /// The moment that these two numbers came from; none if they came from no moment.
    pub fn from_parts(seconds: i64, form: u64) -> Option<Moment> {
        let precision = match u8::try_from(form & 0xF).ok()? {
            0 => Precision::Year,
            1 => Precision::Month,
            2 => Precision::Day,
            3 => Precision::Minute,
            4 => Precision::Second,
            rank @ 5..=13 => Precision::Fraction(rank - 4),
            _ => return None,
        };
        let offset = match (form & ((1 << NANOS_SHIFT) - 1)) >> 4 {
            0 if precision < Precision::Minute => Offset::None,
            0 => Offset::Z,
            _ if precision < Precision::Minute => return None,
            code => Offset::Minutes {
                negative: (code - 1) % 2 == 1,
                minutes: u16::try_from((code - 1) / 2)
                    .ok()
                    .filter(|&minutes| minutes <= 14 * 60)?,
            },
        };
        let start = DateTime::from_timestamp(seconds, u32::try_from(form >> NANOS_SHIFT).ok()?)?;
        // An offset can lead a little beyond the years that can be written.
        (0..=10_000).contains(&start.year()).then_some(Moment {
            start,
            precision,
            offset,
        })
    }

    /// The first instant that it may mean, with dates taken as UTC. For showing and sorting.
    pub fn start(&self) -> DateTime<Utc> {
        self.start
    }

    /// The first instant after it, with dates taken as UTC.
    pub fn end(&self) -> DateTime<Utc> {
        let date = self.start.date_naive();
        let end = match self.precision {
            Precision::Year => date.with_year(date.year() + 1).map(midnight),
            Precision::Month => date
                .checked_add_months(chrono::Months::new(1))
                .map(midnight),
            Precision::Day => Some(self.start + TimeDelta::days(1)),
            Precision::Minute => Some(self.start + TimeDelta::minutes(1)),
            Precision::Second => Some(self.start + TimeDelta::seconds(1)),
            Precision::Fraction(digits) => {
                let unit = 10_i64.pow(9 - u32::from(digits.min(9)));
                Some(self.start + TimeDelta::nanoseconds(unit))
            }
        };
        end.unwrap_or(self.start)
    }

    /// How much was given.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Whether a time of day was given, and so an instant rather than a span of days.
    pub fn has_time(&self) -> bool {
        self.precision >= Precision::Minute
    }

    /// The earliest instant that it can mean in any time zone.
    pub fn earliest(&self) -> DateTime<Utc> {
        if self.has_time() {
            self.start
        } else {
            self.start - EARLIEST_ZONE
        }
    }

    /// The latest instant that it can mean in any time zone.
    pub fn latest(&self) -> DateTime<Utc> {
        if self.has_time() {
            self.start
        } else {
            self.end() + LATEST_ZONE
        }
    }

    /// Whether it may lie after `other`: a plain comparison of instants, and for dates the benefit of the doubt.
    pub fn may_be_after(&self, other: &Moment) -> bool {
        if self.has_time() && other.has_time() {
            self.start > other.start
        } else {
            self.end() > other.start
        }
    }

    /// Whether it comes before `other`, if whoever wrote both kept to one time zone.
    pub fn comes_before(&self, other: &Moment) -> bool {
        if self.has_time() == other.has_time() {
            self.end() <= other.start
        } else {
            self.is_surely_before(other)
        }
    }

    /// Whether the two spans touch or overlap in no time zone, and this one comes first.
    pub fn is_surely_before(&self, other: &Moment) -> bool {
        self.latest() < other.earliest()
    }
}

/// By the first instant; of equal ones the vaguer comes first, then the one whose text is smaller.
impl Ord for Moment {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |moment: &Moment| (moment.start, moment.precision);
        key(self)
            .cmp(&key(other))
            .then_with(|| match self.offset == other.offset {
                true => Ordering::Equal,
                false => self.to_string().cmp(&other.to_string()),
            })
    }
}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// As it is written.
impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(source)?;
        Moment::parse(&text).map_err(D::Error::custom)
    }
}

impl FromStr for Moment {
    type Err = MomentError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Moment::parse(text)
    }
}

/// As the source wrote it.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let local = self.start.naive_utc() + TimeDelta::minutes(self.offset.minutes());
        // Number by number, because a format would be read anew each time.
        write!(f, "{:04}", local.year())?;
        if self.precision > Precision::Year {
            write!(f, "-{:02}", local.month())?;
        }
        if self.precision > Precision::Month {
            write!(f, "-{:02}", local.day())?;
        }
        if self.precision > Precision::Day {
            write!(f, "T{:02}:{:02}", local.hour(), local.minute())?;
        }
        if self.precision > Precision::Minute {
            write!(f, ":{:02}", local.second())?;
        }
        if let Precision::Fraction(digits) = self.precision {
            let nanos = format!("{:09}", local.and_utc().timestamp_subsec_nanos());
            write!(f, ".{}", &nanos[..usize::from(digits.min(9))])?;
        }
        match self.offset {
            Offset::None => Ok(()),
            Offset::Z => f.write_str("Z"),
            Offset::Minutes { negative, minutes } => {
                let sign = if negative { '-' } else { '+' };
                write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
        }
    }
}

impl Offset {
    fn minutes(self) -> i64 {
        match self {
            Offset::None | Offset::Z => 0,
            Offset::Minutes {
                negative: false,
                minutes,
            } => i64::from(minutes),
            Offset::Minutes {
                negative: true,
                minutes,
            } => -i64::from(minutes),
        }
    }
}

fn midnight(date: NaiveDate) -> DateTime<Utc> {
    date.and_time(chrono::NaiveTime::MIN).and_utc()
}

fn digits(rest: &mut &[u8], count: usize) -> Result<u32, MomentError> {
    let (number, after) = rest.split_at_checked(count).ok_or(MomentError::Syntax)?;
    let mut value = 0;
    for digit in number {
        if !digit.is_ascii_digit() {
            return Err(MomentError::Syntax);
        }
        value = value * 10 + u32::from(digit - b'0');
    }
    *rest = after;
    Ok(value)
}

fn skip(rest: &mut &[u8], byte: u8) -> bool {
    match rest.split_first() {
        Some((&first, after)) if first == byte => {
            *rest = after;
            true
        }
        _ => false,
    }
}

fn expect(rest: &mut &[u8], byte: u8) -> Result<(), MomentError> {
    if skip(rest, byte) {
        Ok(())
    } else {
        Err(MomentError::Syntax)
    }
}

/// Any number of digits, of which nine count.
fn fraction(rest: &mut &[u8]) -> Result<(u32, Precision), MomentError> {
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let kept = length.min(9);
    let mut nanos = 0;
    for position in 0..9 {
        let digit = if position < kept {
            rest[position] - b'0'
        } else {
            0
        };
        nanos = nanos * 10 + u32::from(digit);
    }
    *rest = &rest[length..];
    match u8::try_from(kept) {
        Ok(kept) if kept > 0 => Ok((nanos, Precision::Fraction(kept))),
        _ => Err(MomentError::Syntax),
    }
}

fn zone(rest: &mut &[u8]) -> Result<Offset, MomentError> {
    if skip(rest, b'Z') {
        return Ok(Offset::Z);
    }
    let negative = match rest.first() {
        Some(b'+') => false,
        Some(b'-') => true,
        Some(_) => return Err(MomentError::Syntax),
        None => return Err(MomentError::NoZone),
    };
    *rest = &rest[1..];
    let hours = digits(rest, 2)?;
    expect(rest, b':')?;
    let minutes = digits(rest, 2)?;
    match u16::try_from(hours * 60 + minutes) {
        Ok(total) if minutes < 60 && total <= 14 * 60 => Ok(Offset::Minutes {
            negative,
            minutes: total,
        }),
        _ => Err(MomentError::OutOfRange),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(text: &str) -> Moment {
        Moment::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn utc(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn all_six_forms_are_intervals() {
        for (text, start, end) in [
            ("2022", "2022-01-01T00:00:00Z", "2023-01-01T00:00:00Z"),
            ("2022-12", "2022-12-01T00:00:00Z", "2023-01-01T00:00:00Z"),
            ("2024-02-29", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z"),
            (
                "2022-11-06T09:30Z",
                "2022-11-06T09:30:00Z",
                "2022-11-06T09:31:00Z",
            ),
            (
                "2022-11-06T09:30:15Z",
                "2022-11-06T09:30:15Z",
                "2022-11-06T09:30:16Z",
            ),
            (
                "2022-11-06T09:30:15.25Z",
                "2022-11-06T09:30:15.25Z",
                "2022-11-06T09:30:15.26Z",
            ),
            (
                "9999-12-31T23:59:59-12:00",
                "+10000-01-01T11:59:59Z",
                "+10000-01-01T12:00:00Z",
            ),
        ] {
            assert_eq!(
                (at(text).start(), at(text).end()),
                (utc(start), utc(end)),
                "{text}"
            );
        }
    }

    #[test]
    fn an_offset_is_subtracted_to_get_utc() {
        assert_eq!(
            at("2013-01-03T09:00:00+09:00").start(),
            utc("2013-01-03T00:00:00Z")
        );
        assert_eq!(
            at("2013-01-03T09:00:00-05:30").start(),
            utc("2013-01-03T14:30:00Z")
        );
    }

    #[test]
    fn nothing_else_is_accepted() {
        for (text, error) in [
            ("", MomentError::Syntax),
            ("yesterday", MomentError::Syntax),
            ("06/11/2022", MomentError::Syntax),
            ("2022-1-6", MomentError::Syntax),
            (" 2022-11-06", MomentError::Syntax),
            ("2022-11-06Z", MomentError::Syntax),
            ("2022-11T09:00Z", MomentError::Syntax),
            ("2022-11-06T09Z", MomentError::Syntax),
            ("2022-11-06 09:00Z", MomentError::Syntax),
            ("2022-11-06t09:00Z", MomentError::Syntax),
            ("2022-11-06T09:00z", MomentError::Syntax),
            ("2022-11-06T09:00:00.Z", MomentError::Syntax),
            ("2022-11-06T09:00:00+0900", MomentError::Syntax),
            ("2022-11-06T09:00:00Z ", MomentError::Syntax),
            ("٢٠٢٢-11-06", MomentError::Syntax),
            ("2022-11-06T09:00:00", MomentError::NoZone),
            ("2022-11-06T09:00", MomentError::NoZone),
            ("0000-01-01", MomentError::OutOfRange),
            ("2022-13", MomentError::OutOfRange),
            ("2023-02-29", MomentError::OutOfRange),
            ("2022-11-06T24:00Z", MomentError::OutOfRange),
            ("2022-11-06T23:60Z", MomentError::OutOfRange),
            ("2022-11-06T23:59:60Z", MomentError::OutOfRange),
            ("2022-11-06T09:00+14:01", MomentError::OutOfRange),
            ("2022-11-06T09:00+01:60", MomentError::OutOfRange),
        ] {
            assert_eq!(Moment::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn it_is_written_as_it_was_given() {
        for text in [
            "0001",
            "2022-11",
            "2022-11-06",
            "2022-11-06T09:30+00:00",
            "2022-11-06T09:30-00:00",
            "2022-11-06T23:30:00.120-11:30",
            "9999-12-31T23:59:59.999999999+14:00",
        ] {
            assert_eq!(at(text).to_string(), text);
        }
        assert_eq!(
            at("2022-11-06T09:30:00.1234567891Z").to_string(),
            "2022-11-06T09:30:00.123456789Z"
        );
    }

    #[test]
    fn a_date_gets_the_benefit_of_the_doubt() {
        assert!(at("2022-11-06").may_be_after(&at("2022-11-06T12:00:00Z")));
        assert!(at("2022-11-06").may_be_after(&at("2022-11-06")));
        assert!(!at("2022-11-05").may_be_after(&at("2022-11-06T12:00:00Z")));
        assert!(!at("2022-11-06T12:00:00Z").may_be_after(&at("2022-11-06T12:00:00Z")));
        assert!(at("2022-11-06T12:00:01Z").may_be_after(&at("2022-11-06T12:00:00Z")));
    }

    #[test]
    fn a_date_is_over_only_when_it_is_over_everywhere() {
        assert!(!at("2022-11-06").is_surely_before(&at("2022-11-07T11:00:00Z")));
        assert!(at("2022-11-06").is_surely_before(&at("2022-11-07T13:00:00Z")));
        assert!(!at("2022-11-06").is_surely_before(&at("2022-11-07")));
        assert!(at("2022-11-06").is_surely_before(&at("2022-11-09")));
    }

    fn any_text() -> impl Strategy<Value = String> {
        let date = (1..=9999, 1..=12, 1..=28).prop_map(|(y, m, d)| format!("{y:04}-{m:02}-{d:02}"));
        let zone = prop_oneof![
            Just("Z".to_owned()),
            (any::<bool>(), 0..=13, 0..=59).prop_map(|(minus, h, m)| format!(
                "{}{h:02}:{m:02}",
                if minus { '-' } else { '+' }
            )),
        ];
        let time = prop_oneof![
            (0..24, 0..60).prop_map(|(h, m)| format!("T{h:02}:{m:02}")),
            (0..24, 0..60, 0..60, "(\\.[0-9]{1,9})?")
                .prop_map(|(h, m, s, f)| format!("T{h:02}:{m:02}:{s:02}{f}")),
        ];
        let full = (date.clone(), time, zone).prop_map(|(d, t, z)| d + &t + &z);
        let partial = (date, prop_oneof![Just(4usize), Just(7), Just(10)])
            .prop_map(|(d, length)| d[..length].to_owned());
        prop_oneof![full, partial]
    }

    proptest! {
        #[test]
        fn what_is_parsed_is_written_again(text in any_text()) {
            prop_assert_eq!(at(&text).to_string(), text);
        }

        #[test]
        fn two_numbers_hold_all_of_it(text in any_text()) {
            let (seconds, form) = at(&text).to_parts();
            prop_assert_eq!(Moment::from_parts(seconds, form), Some(at(&text)));
            // What is usual is small, because there are millions of them.
            let is_usual = !text.contains('.') && (text.ends_with('Z') || text.len() <= 10);
            prop_assert!(form < 16 || !is_usual);
        }

        #[test]
        fn no_two_numbers_make_it_panic(seconds in any::<i64>(), form in any::<u64>()) {
            if let Some(moment) = Moment::from_parts(seconds, form) {
                prop_assert_eq!(moment.to_parts(), (seconds, form));
                let _ = (moment.to_string(), moment.end());
            }
        }

        #[test]
        fn an_interval_is_never_empty_and_never_backwards(text in any_text()) {
            let moment = at(&text);
            prop_assert!(moment.earliest() <= moment.start());
            prop_assert!(moment.start() < moment.end());
            prop_assert!(moment.start() <= moment.latest());
        }

        #[test]
        fn the_order_is_total_and_agrees_with_equality(a in any_text(), b in any_text(), c in any_text()) {
            let (a, b, c) = (at(&a), at(&b), at(&c));
            prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
            prop_assert_eq!(a.cmp(&b) == Ordering::Equal, a == b);
            if a <= b && b <= c {
                prop_assert!(a <= c);
            }
            if a.start() < b.start() {
                prop_assert!(a < b);
            }
        }

        #[test]
        fn full_datetimes_agree_with_chrono(text in any_text()) {
            if let Ok(instant) = DateTime::parse_from_rfc3339(&text) {
                prop_assert_eq!(at(&text).start(), instant.with_timezone(&Utc));
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,40}", near in "[0-9TZ:.+-]{0,40}") {
            let _ = Moment::parse(&text);
            let _ = Moment::parse(&near);
        }
    }
}
