//! Changes: adding them, and finding the announced ones again.
//!
//! The numbers of a site's changes rise in the order in which they were found, so a number is all that a cursor needs.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use rusqlite::{CachedStatement, Connection, Row, ToSql};
use url::Url;

use super::shape::{Columns, Shape};
use super::site::reworded;
use super::value;
use super::{Store, StoreError, json};
use crate::change::Change;
use crate::memory::PageKey;
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor(pub(super) i64);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a page was found to be called, after its changes were saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageTitle {
    /// The page.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Its changes.
    pub changes: Vec<Cursor>,
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
            let mut found = Vec::with_capacity(limit.min(100));
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

    /// Gives titles to the pages of changes of a site that have none, each found by its cursor; whether any has one
    /// now. Nothing else about a change is touched, least of all its entry. A page that is not listed any more gets
    /// none: its author may have hidden it meanwhile.
    pub async fn give_titles(
        &self,
        site: SiteId,
        titles: Vec<PageTitle>,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        self.write(move |db| {
            let mut update = db.prepare_cached(
                "UPDATE changes SET title = :title
                 WHERE n = :n AND title IS NULL AND collection IN (
                   SELECT c.id FROM collections c WHERE c.site = :site AND (c.list IS NULL OR EXISTS (
                     SELECT 1 FROM pages p WHERE p.collection = c.id AND p.key = :key AND p.state & 16 = 0)))",
            )?;
            let mut given = 0;
            for page in &titles {
                for cursor in &page.changes {
                    given += update.execute(rusqlite::named_params! {
                        ":site": site.0,
                        ":n": cursor.0,
                        ":key": PageKey::of(&page.url).0,
                        ":title": page.title,
                    })?;
                }
            }
            if given > 0 {
                reworded(db, site, now)?;
            }
            Ok(given > 0)
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
    columns: Columns,
    n: usize,
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
        Ok(Walk {
            columns: Columns::of(&changes)?,
            n: changes.column_index("n")?,
            changes,
        })
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
                change: self.columns.change(row, &head)?,
                found_at,
                entry: entry.clone(),
                cursor: Cursor(row.get(self.n)?),
            });
        }
        Ok(())
    }
}

/// Adds changes to a collection.
pub(super) struct Writer<'a> {
    one: CachedStatement<'a>,
    several: CachedStatement<'a>,
}

/// Changes that go into one statement, which costs much of what its rows cost.
pub(super) const AT_ONCE: usize = 10;
/// The columns of a change.
const COLUMNS: usize = 7;

static INSERT_ONE: LazyLock<String> = LazyLock::new(|| insert(1));
static INSERT_SEVERAL: LazyLock<String> = LazyLock::new(|| insert(AT_ONCE));

fn insert(rows: usize) -> String {
    let row = ["?"; COLUMNS].join(", ");
    let rows = vec![format!("({row})"); rows].join(", ");
    format!("INSERT INTO changes (collection, n, at, shape, url, title, details) VALUES {rows}")
}

impl<'a> Writer<'a> {
    pub(super) fn new(db: &'a Connection) -> Result<Self, StoreError> {
        Ok(Writer {
            one: db.prepare_cached(&INSERT_ONE)?,
            several: db.prepare_cached(&INSERT_SEVERAL)?,
        })
    }

    /// Adds at most [`AT_ONCE`] changes, the first of which has the number `n`, and says which number comes next.
    pub(super) fn add(
        &mut self,
        collection: CollectionId,
        head: &str,
        mut n: i64,
        changes: &[Cow<'_, Change>],
    ) -> Result<i64, StoreError> {
        let (insert, rows) = match changes.len() {
            AT_ONCE => (&mut self.several, AT_ONCE),
            _ => (&mut self.one, 1),
        };
        for changes in changes.chunks(rows) {
            let mut values = Values {
                statement: &mut *insert,
                place: 0,
            };
            for change in changes {
                let tail = change.url.strip_prefix(head).filter(|_| !head.is_empty());
                let shape = Shape {
                    kind: change.kind,
                    has_head: tail.is_some(),
                    datetime: change.datetime,
                };
                let (at, shape) = shape.write();
                values.add(collection.0)?;
                values.add(n)?;
                values.add(at)?;
                values.add(shape)?;
                values.add(tail.unwrap_or(&change.url))?;
                values.add(&change.title)?;
                values.add(json::from_details(&change.details))?;
                n += 1;
            }
            insert.raw_execute()?;
        }
        Ok(n)
    }
}

/// The values of a statement, one after the other.
struct Values<'s, 'a> {
    statement: &'s mut CachedStatement<'a>,
    place: usize,
}

impl Values<'_, '_> {
    fn add(&mut self, value: impl ToSql) -> Result<(), StoreError> {
        self.place += 1;
        Ok(self.statement.raw_bind_parameter(self.place, value)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_nothing_but_digits() {
        assert_eq!("12".parse(), Ok(Cursor(12)));
        for text in ["", "-1", "+1", "x", "99999999999999999999", "1 "] {
            assert_eq!(text.parse::<Cursor>(), Err(CursorError), "{text}");
        }
    }
}
