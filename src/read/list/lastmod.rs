//! When a page was last modified, in the many ways in which that is written.

use chrono::{DateTime, Datelike};

use crate::moment::Moment;

/// What a text says about the time of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lastmod {
    /// A W3C datetime.
    Good(Moment),
    /// Something else that can only have meant this.
    Repaired(Moment),
    /// A date that stands for none: the year 1, or the first day that computers know.
    Missing,
    /// No datetime.
    Bad,
}

impl Lastmod {
    /// The time, if there is one.
    pub fn moment(self) -> Option<Moment> {
        match self {
            Lastmod::Good(moment) | Lastmod::Repaired(moment) => Some(moment),
            Lastmod::Missing | Lastmod::Bad => None,
        }
    }
}

/// Reads a datetime as careless programs write it.
pub fn read_lastmod(text: &str) -> Lastmod {
    let text = text.trim();
    let found = match Moment::parse(text) {
        Ok(moment) => Lastmod::Good(moment),
        Err(_) => match repaired(text) {
            Some(moment) => Lastmod::Repaired(moment),
            None => Lastmod::Bad,
        },
    };
    match found.moment() {
        Some(moment) if moment.start().year() <= 1 || moment.start().timestamp().abs() < 86_400 => {
            Lastmod::Missing
        }
        _ => found,
    }
}

fn repaired(text: &str) -> Option<Moment> {
    // Two values in one element, or a whole sentence.
    if !text.is_ascii() || text.len() > 64 {
        return None;
    }
    if let Ok(time) = DateTime::parse_from_rfc2822(text) {
        return Some(Moment::from_utc(time.to_utc()));
    }
    let text = text.to_ascii_uppercase();
    let (date, time) = match text.find([' ', 'T']) {
        Some(end) => (&text[..end], text[end + 1..].trim()),
        None => (text.as_str(), ""),
    };
    let mut fields = date.split(['-', '/']);
    let year = fields.next().filter(|year| year.len() == 4)?;
    let mut date = year.to_owned();
    for field in fields {
        let number: u32 = field.parse().ok().filter(|_| field.len() <= 2)?;
        date += &format!("-{number:02}");
    }
    if time.is_empty() {
        return Moment::parse(&date).ok();
    }
    // A zone may be apart, without its colon, or missing.
    let time = time
        .strip_suffix("UTC")
        .or_else(|| time.strip_suffix("GMT"))
        .unwrap_or(time);
    let mut time = time.replace(' ', "");
    if let Some(sign) = time.rfind(['+', '-']) {
        let digits = time.len() - sign - 1;
        match digits {
            4 => time.insert(sign + 3, ':'),
            2 => time.push_str(":00"),
            _ => {}
        }
    } else if !time.ends_with('Z') {
        time.push('Z');
    }
    if time.find(':') == Some(1) {
        time.insert(0, '0');
    }
    Moment::parse(&format!("{date}T{time}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_guessed_is_read_and_told_apart() {
        for (text, read) in [
            ("2026-01-02T03:04:05", "2026-01-02T03:04:05Z"),
            ("2026-01-02 03:04:05", "2026-01-02T03:04:05Z"),
            ("2026-01-02 03:04:05 +0200", "2026-01-02T03:04:05+02:00"),
            ("2026-01-02T03:04:05+02", "2026-01-02T03:04:05+02:00"),
            ("2026-01-02 03:04:05 UTC", "2026-01-02T03:04:05Z"),
            ("2026-1-2", "2026-01-02"),
            ("2026/1/2", "2026-01-02"),
            ("2026-1-2 3:04", "2026-01-02T03:04Z"),
            ("2026-01-02t03:04:05.5z", "2026-01-02T03:04:05.5Z"),
            ("Fri, 02 Jan 2026 03:04:05 +0000", "2026-01-02T03:04:05Z"),
        ] {
            let moment = Moment::parse(read).unwrap();
            assert_eq!(read_lastmod(text), Lastmod::Repaired(moment), "{text}");
        }
        for text in [
            "2026",
            "2026-01",
            " 2026-01-02\n",
            "2026-01-02T03:04:05.123456789012Z",
        ] {
            assert!(matches!(read_lastmod(text), Lastmod::Good(_)), "{text}");
        }
    }

    #[test]
    fn a_date_that_stands_for_none_is_none() {
        for text in [
            "0001-01-01T00:00:00Z",
            "0001-01-01",
            "1970-01-01",
            "1970-01-01T00:00:00+00:00",
            "1970",
        ] {
            assert_eq!(read_lastmod(text), Lastmod::Missing, "{text}");
        }
        for text in [
            "",
            "yesterday",
            "2026-01-02 2026-01-03",
            "2026-13-01",
            "02.01.2026",
            "2026-01-02T25:00:00Z",
            "é",
        ] {
            assert_eq!(read_lastmod(text), Lastmod::Bad, "{text}");
        }
    }
}
