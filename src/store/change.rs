//! Changes: millions of small rows, so every byte of one is thought about.
//!
//! A page's address is kept without the head that the collection's pages share. The datetime is two numbers, of which
//! the second, with the kind, takes one byte for nearly all of them.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row};
use url::Url;

use super::{Store, StoreError, json, value};
use crate::change::{Change, ChangeKind};
use crate::moment::Moment;
use crate::site::{CollectionId, SiteId};

/// A change that was announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRow {
    /// The address that identifies its collection.
    pub collection: Url,
    /// The change.
    pub change: Change,
    /// When it was found.
    pub found_at: DateTime<Utc>,
    /// The id of the Atom entry that announced it.
    pub entry: String,
    /// Where to go on after it.
    pub cursor: Cursor,
}

/// A place among the changes of a site; opaque text to programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor(pub(super) i64);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The text is no cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("that is not a place in the list of changes; use the one that came with the last answer")]
pub struct CursorError;

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_number);
        number.map(Cursor).ok_or(CursorError)
    }
}

impl Store {
    /// The announced changes of a site in the order in which they were found, and where to go on if there are more.
    pub async fn changes(
        &self,
        site: SiteId,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<ChangeRow>, Option<Cursor>), StoreError> {
        let after = after.map_or(0, |cursor| cursor.0);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.read(move |db| {
            let mut found = Vec::new();
            // Entries are ranges that do not overlap, so walking them in order is walking the changes in order. One
            // may have been left in the middle.
            let mut statement = db.prepare_cached(
                "SELECT c.id AS collection, c.identity, c.head, e.first_n, e.last_n, e.id, e.found_at
                 FROM collections c JOIN entries e ON e.collection = c.id
                 WHERE c.site = :site AND e.last_n > :after AND e.first_n >= ifnull((
                   SELECT max(first_n) FROM entries WHERE collection = c.id AND first_n <= :after), 0)
                 ORDER BY e.first_n LIMIT :limit",
            )?;
            let mut rows = statement.query(rusqlite::named_params! {
                ":site": site.0, ":after": after, ":limit": value::integer(limit as u64).saturating_add(1),
            })?;
            let mut walk = Walk::new(db, Direction::OldestFirst)?;
            while found.len() <= limit && let Some(row) = rows.next()? {
                walk.entry(row, after, limit.saturating_add(1), &mut found)?;
            }
            let has_more = found.len() > limit;
            found.truncate(limit);
            let next = found.last().filter(|_| has_more).map(|row| row.cursor);
            Ok((found, next))
        })
        .await
    }

    /// The announced changes of a collection, those found last first.
    pub async fn newest_changes(
        &self,
        collection: CollectionId,
        limit: u32,
    ) -> Result<Vec<ChangeRow>, StoreError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.read(move |db| {
            let mut found = Vec::new();
            let mut statement = db.prepare_cached(
                "SELECT c.id AS collection, c.identity, c.head, e.first_n, e.last_n, e.id, e.found_at
                 FROM collections c JOIN entries e ON e.collection = c.id
                 WHERE c.id = ?1 ORDER BY e.first_n DESC",
            )?;
            let mut rows = statement.query([collection.0])?;
            let mut walk = Walk::new(db, Direction::NewestFirst)?;
            while found.len() < limit && let Some(row) = rows.next()? {
                walk.entry(row, 0, limit, &mut found)?;
            }
            Ok(found)
        })
        .await
    }
}

enum Direction {
    OldestFirst,
    NewestFirst,
}

/// Goes through the changes of one entry after another.
struct Walk<'a> {
    changes: CachedStatement<'a>,
}

impl<'a> Walk<'a> {
    fn new(db: &'a Connection, direction: Direction) -> Result<Self, StoreError> {
        let changes = db.prepare_cached(match direction {
            Direction::OldestFirst => {
                "SELECT n, at, shape, url, title, details FROM changes
                 WHERE collection = ?1 AND n BETWEEN ?2 AND ?3 ORDER BY n"
            }
            Direction::NewestFirst => {
                "SELECT n, at, shape, url, title, details FROM changes
                 WHERE collection = ?1 AND n BETWEEN ?2 AND ?3 ORDER BY n DESC"
            }
        })?;
        Ok(Walk { changes })
    }

    /// Adds the changes of an entry behind `after`, until there are `limit` altogether.
    fn entry(
        &mut self,
        row: &Row<'_>,
        after: i64,
        limit: usize,
        found: &mut Vec<ChangeRow>,
    ) -> Result<(), StoreError> {
        let (collection, first, last): (i64, i64, i64) = (
            row.get("collection")?,
            row.get("first_n")?,
            row.get("last_n")?,
        );
        let identity = value::url(row, "identity")?;
        let (head, entry): (String, String) = (row.get("head")?, row.get("id")?);
        let found_at = value::instant(row, "found_at")?;
        let first = first.max(after.saturating_add(1));
        let mut rows = self.changes.query((collection, first, last))?;
        while found.len() < limit
            && let Some(row) = rows.next()?
        {
            found.push(ChangeRow {
                collection: identity.clone(),
                change: change_from_row(row, &head)?,
                found_at,
                entry: entry.clone(),
                cursor: Cursor(row.get("n")?),
            });
        }
        Ok(())
    }
}

/// The row as a change. The columns are `at`, `shape`, `url`, `title` and `details`.
pub(super) fn change_from_row(row: &Row<'_>, head: &str) -> Result<Change, StoreError> {
    let shape = Shape::read(row.get("at")?, row.get("shape")?)?;
    let tail = row.get_ref("url")?.as_str();
    let tail = tail.map_err(|_| StoreError::Unreadable("url"))?;
    Ok(Change {
        url: match shape.has_head {
            true => [head, tail].concat(),
            false => tail.to_owned(),
        },
        kind: shape.kind,
        datetime: shape.datetime,
        title: row.get("title")?,
        details: value::parsed(row, "details", json::to_details)?.unwrap_or_default(),
    })
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

/// Adds changes to a collection.
pub(super) struct Writer<'a> {
    insert: CachedStatement<'a>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(db: &'a Connection) -> Result<Self, StoreError> {
        let insert = db.prepare_cached(
            "INSERT INTO changes (collection, n, at, shape, url, title, details)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        Ok(Writer { insert })
    }

    pub(super) fn add(
        &mut self,
        collection: CollectionId,
        head: &str,
        n: i64,
        change: &Change,
    ) -> Result<(), StoreError> {
        let tail = change.url.strip_prefix(head).filter(|_| !head.is_empty());
        let shape = Shape {
            kind: change.kind,
            has_head: tail.is_some(),
            datetime: change.datetime,
        };
        let (at, shape) = shape.write();
        let details = json::from_details(&change.details);
        let url = tail.unwrap_or(&change.url);
        self.insert
            .execute((collection.0, n, at, shape, url, &change.title, details))?;
        Ok(())
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

/// The latest start among the changes of a collection below a number.
pub(super) fn latest_before(
    db: &Connection,
    collection: CollectionId,
    n: i64,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    // The seconds decide first; nanoseconds, the topmost bits of the shape, only among those of the same second.
    let mut statement = db.prepare_cached(
        "SELECT at, max(shape >> 18) AS nanos FROM changes WHERE collection = ?1 AND n < ?2 AND at = (
           SELECT max(at) FROM changes WHERE collection = ?1 AND n < ?2) GROUP BY at",
    )?;
    let found: Option<(i64, u32)> = statement
        .query_row((collection.0, n), |row| {
            Ok((row.get("at")?, row.get("nanos")?))
        })
        .optional()?;
    let Some((at, nanos)) = found else {
        return Ok(None);
    };
    let latest = DateTime::from_timestamp(at, nanos);
    latest.map(Some).ok_or(StoreError::Unreadable("datetime"))
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

    #[test]
    fn a_cursor_is_nothing_but_digits() {
        assert_eq!("12".parse(), Ok(Cursor(12)));
        for text in ["", "-1", "+1", "x", "99999999999999999999", "1 "] {
            assert_eq!(text.parse::<Cursor>(), Err(CursorError), "{text}");
        }
    }
}
