//! What a change looks like in its row. There are millions of them, so every byte of one is thought about.
//!
//! A page's address is kept without the head that the collection's pages share. The datetime is two numbers, of which
//! the second, with the kind, takes one byte for nearly all of them.

use rusqlite::{Row, Statement};

use super::{StoreError, json, value};
use crate::change::{Change, ChangeKind, Details};
use crate::moment::Moment;

/// The columns of a change, looked up by name once for each question: for each row it would take longer than reading.
pub(super) struct Columns {
    at: usize,
    shape: usize,
    url: usize,
    title: usize,
    details: usize,
}

impl Columns {
    pub(super) fn of(statement: &Statement<'_>) -> Result<Columns, StoreError> {
        Ok(Columns {
            at: statement.column_index("at")?,
            shape: statement.column_index("shape")?,
            url: statement.column_index("url")?,
            title: statement.column_index("title")?,
            details: statement.column_index("details")?,
        })
    }

    /// The row as a change of a collection with this head.
    pub(super) fn change(&self, row: &Row<'_>, head: &str) -> Result<Change, StoreError> {
        let shape = Shape::read(row.get(self.at)?, row.get(self.shape)?)?;
        let tail = row.get_ref(self.url)?.as_str();
        let tail = tail.map_err(|_| StoreError::Unreadable("url"))?;
        let details = row.get_ref(self.details)?.as_str_or_null();
        let details = match details.map_err(|_| StoreError::Unreadable("details"))? {
            Some(text) => json::to_details(text).ok_or(StoreError::Unreadable("details"))?,
            None => Details::default(),
        };
        Ok(Change {
            url: match shape.has_head {
                true => [head, tail].concat(),
                false => tail.to_owned(),
            },
            kind: shape.kind,
            datetime: shape.datetime,
            title: row.get(self.title)?,
            details,
        })
    }
}

/// What two numbers say about a change: two bits the kind, one whether the head applies, the rest the form of the
/// datetime.
pub(super) struct Shape {
    pub kind: ChangeKind,
    pub has_head: bool,
    pub datetime: Moment,
}

impl Shape {
    pub(super) fn write(&self) -> (i64, i64) {
        let kind = match self.kind {
            ChangeKind::Created => 0,
            ChangeKind::Updated => 1,
            ChangeKind::Deleted => 2,
        };
        let (at, form) = self.datetime.to_parts();
        // The form has 45 bits.
        (
            at,
            value::integer(kind | u64::from(self.has_head) << 2 | form << 3),
        )
    }

    pub(super) fn read(at: i64, shape: i64) -> Result<Shape, StoreError> {
        let unreadable = || StoreError::Unreadable("datetime");
        let shape = u64::try_from(shape).map_err(|_| unreadable())?;
        Ok(Shape {
            kind: match shape & 3 {
                0 => ChangeKind::Created,
                1 => ChangeKind::Updated,
                2 => ChangeKind::Deleted,
                _ => return Err(StoreError::Unreadable("kind")),
            },
            has_head: shape & 4 != 0,
            datetime: Moment::from_parts(at, shape >> 3).ok_or_else(unreadable)?,
        })
    }
}

/// Fewer changes than this do not show what all of the pages have in common.
const ENOUGH_TO_JUDGE: usize = 10;

/// What the addresses of a collection's pages begin with, judged by the first ones: whole directories only.
pub(super) fn common_head<'a>(identity: &'a str, urls: impl Iterator<Item = &'a str>) -> String {
    let mut head: Option<&str> = None;
    let mut count = 0;
    for url in urls {
        head = Some(head.map_or(url, |head| shared(head, url)));
        count += 1;
    }
    let head = match head {
        Some(head) if count >= ENOUGH_TO_JUDGE => head,
        Some(head) => shared(head, identity),
        None => identity,
    };
    head[..head.rfind('/').map_or(0, |slash| slash + 1)].to_owned()
}

fn shared<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one
        .bytes()
        .zip(other.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    // Back to the beginning of a character; addresses are ASCII, but nothing here depends on it.
    let end = (0..=same).rev().find(|&end| one.is_char_boundary(end));
    &one[..end.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_is_what_whole_directories_have_in_common() {
        let head = |identity: &str, urls: &[&str]| common_head(identity, urls.iter().copied());
        assert_eq!(head("https://s.example/fox", &[]), "https://s.example/");
        assert_eq!(
            head("https://s.example/", &["https://s.example/a/b"]),
            "https://s.example/"
        );
        let many: Vec<_> = (0..20)
            .map(|n| format!("https://s.example/pages/p{n}"))
            .collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        assert_eq!(
            head("https://s.example/", &many),
            "https://s.example/pages/"
        );
        assert_eq!(head("https://s.example/", &["junk"]), "");
        assert_eq!(head("é/", &["è/"]), "");
    }

    #[test]
    fn common_shapes_fit_into_one_byte() {
        for text in [
            "2026",
            "2026-01-02",
            "2026-01-02T03:04Z",
            "2026-01-02T03:04:05Z",
        ] {
            let shape = Shape {
                kind: ChangeKind::Deleted,
                has_head: true,
                datetime: Moment::parse(text).unwrap(),
            };
            let (at, number) = shape.write();
            assert!(number < 128, "{text}: {number}");
            let read = Shape::read(at, number).unwrap();
            assert_eq!(
                (read.kind, read.has_head, read.datetime),
                (shape.kind, true, shape.datetime)
            );
        }
        assert!(Shape::read(0, 3).is_err() && Shape::read(0, -1).is_err());
    }
}
