//! Entries: ranges of a collection's changes, each with the id that it got when it was found.

use std::collections::HashMap;
use std::collections::hash_map::Entry::Vacant;
use std::ops::Range;

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{CachedStatement, Connection, Params, Row};

use super::name::Minter;
use super::shape::Columns;
use super::value::micros;
use super::{Store, StoreError};
use crate::change::Entry;
use crate::memory::NewEntry;
use crate::site::{CollectionId, SiteId};

const MICROS: i64 = 1_000_000;
/// So many nanoseconds a microsecond has.
const NANOS: i64 = 1_000;
/// Far enough for the entries of a first check, and not a divisor of a second.
const APART: i64 = 104_729;

/// An entry in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRow {
    /// The collection.
    pub collection: CollectionId,
    /// The number of its first change, which is its own inside the site.
    pub n: i64,
    /// The entry.
    pub entry: Entry,
}

/// Whose entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntriesOf {
    /// A collection's.
    Collection(CollectionId),
    /// A site's, over all collections, as far as they are told for the whole site.
    Site(SiteId),
}

impl Store {
    /// The entries of a collection, those found last first.
    pub async fn entries(
        &self,
        collection: CollectionId,
        limit: u32,
    ) -> Result<Vec<Entry>, StoreError> {
        self.read(move |db| {
            let sql = select("e.collection = ?1 ORDER BY e.first_n DESC LIMIT ?2");
            let rows = rows(db, &sql, (collection.0, limit))?;
            Ok(rows.into_iter().map(|row| row.entry).collect())
        })
        .await
    }

    /// The entries of all collections of a site, those found last first, each with its collection.
    pub async fn site_entries(
        &self,
        site: SiteId,
        limit: u32,
    ) -> Result<Vec<(CollectionId, Entry)>, StoreError> {
        self.read(move |db| {
            let sql = select("c.site = ?1 ORDER BY e.first_n DESC LIMIT ?2");
            let rows = rows(db, &sql, (site.0, limit))?;
            Ok(rows
                .into_iter()
                .map(|row| (row.collection, row.entry))
                .collect())
        })
        .await
    }

    /// The entries in some places, those found last first. A place that is empty was pruned.
    pub async fn entries_in(
        &self,
        of: EntriesOf,
        places: Range<i64>,
    ) -> Result<Vec<EntryRow>, StoreError> {
        self.read(move |db| {
            let (sql, id) = match of {
                EntriesOf::Collection(id) => (
                    "e.collection = ?1 AND e.place >= ?2 AND e.place < ?3 ORDER BY e.place DESC",
                    id.0,
                ),
                EntriesOf::Site(id) => (
                    "c.site = ?1 AND e.is_for_site AND e.site_place >= ?2 AND e.site_place < ?3
                     ORDER BY e.site_place DESC",
                    id.0,
                ),
            };
            rows(db, &select(sql), (id, places.start, places.end))
        })
        .await
    }

    /// The entries that begin before the change of this number, those found last first.
    pub async fn entries_before(
        &self,
        of: EntriesOf,
        n: i64,
        limit: u32,
    ) -> Result<Vec<EntryRow>, StoreError> {
        self.read(move |db| {
            let (sql, id) = match of {
                EntriesOf::Collection(id) => ("e.collection = ?1", id.0),
                EntriesOf::Site(id) => ("c.site = ?1 AND e.is_for_site", id.0),
            };
            let sql = format!("{sql} AND e.first_n < ?2 ORDER BY e.first_n DESC LIMIT ?3");
            rows(db, &select(&sql), (id, n, limit))
        })
        .await
    }

    /// The place of the oldest entry that is still there; none if there is none.
    pub async fn first_place(&self, of: EntriesOf) -> Result<Option<i64>, StoreError> {
        self.read(move |db| {
            let (column, which, condition, id) = match of {
                EntriesOf::Collection(id) => ("place", "1", "c.id = ?1", id.0),
                EntriesOf::Site(id) => ("site_place", "e.is_for_site", "c.site = ?1", id.0),
            };
            // Each collection is pruned by itself, from its oldest entry on.
            let sql = format!(
                "SELECT min((SELECT e.{column} FROM entries e WHERE e.collection = c.id AND {which}
                   ORDER BY e.first_n LIMIT 1)) AS place FROM collections c WHERE {condition}"
            );
            let mut statement = db.prepare_cached(&sql)?;
            Ok(statement.query_row([id], |row| row.get("place"))?)
        })
        .await
    }

    /// Whether an entry of a collection with this number would have been pruned.
    pub async fn is_pruned(&self, collection: CollectionId, n: i64) -> Result<bool, StoreError> {
        self.read(move |db| {
            // Places begin at 0, and those of entries that went stay empty.
            let mut statement = db.prepare_cached(
                "SELECT 1 WHERE ?2 BETWEEN 0 AND (
                   SELECT iif(place > 0, first_n, -1) FROM entries WHERE collection = ?1 ORDER BY first_n LIMIT 1)",
            )?;
            Ok(statement.exists((collection.0, n))?)
        })
        .await
    }

    /// The entry of a collection whose first change has this number.
    pub async fn entry(
        &self,
        collection: CollectionId,
        n: i64,
    ) -> Result<Option<EntryRow>, StoreError> {
        self.read(move |db| {
            let sql = select("e.collection = ?1 AND e.first_n = ?2");
            Ok(rows(db, &sql, (collection.0, n))?.pop())
        })
        .await
    }
}

/// What is read of an entry and of its collection, as `e` and `c`.
pub(super) const COLUMNS: &str =
    "c.site, c.id AS collection, c.head, e.first_n, e.last_n, e.id, e.updated_at, e.nanos, e.note";

/// Changes that are no further apart are read at one go, even if what lies between them is not wanted.
const NEAR: i64 = 64;

fn select(condition: &str) -> String {
    format!(
        "SELECT {COLUMNS} FROM collections c JOIN entries e ON e.collection = c.id WHERE {condition}"
    )
}

fn rows(db: &Connection, sql: &str, of: impl Params) -> Result<Vec<EntryRow>, StoreError> {
    let rows = rows_with(db, sql, of, |_| Ok(()))?;
    Ok(rows.into_iter().map(|(row, ())| row).collect())
}

/// The entries that a question with [`COLUMNS`] is answered with, each with something else that is in its row.
pub(super) fn rows_with<T>(
    db: &Connection,
    sql: &str,
    of: impl Params,
    mut with: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<(EntryRow, T)>, StoreError> {
    let mut statement = db.prepare_cached(sql)?;
    let column = |name: &str| statement.column_index(name);
    let (collection, head) = (column("collection")?, column("head")?);
    let (first, last, note) = (column("first_n")?, column("last_n")?, column("note")?);
    let (id, updated_at, nanos) = (column("id")?, column("updated_at")?, column("nanos")?);
    let mut found = statement.query(of)?;
    let mut entries = Vec::new();
    let mut spans: Vec<Span> = Vec::new();
    let mut heads: HashMap<i64, String> = HashMap::new();
    while let Some(row) = found.next()? {
        let span = Span {
            collection: row.get(collection)?,
            first: row.get(first)?,
            last: row.get(last)?,
            place: entries.len(),
        };
        if let Vacant(unknown) = heads.entry(span.collection) {
            unknown.insert(row.get(head)?);
        }
        let entry = Entry {
            id: row.get(id)?,
            updated_at: told_at(row.get(updated_at)?, row.get(nanos)?)?,
            changes: Vec::new(),
            note: row.get(note)?,
        };
        let row_of = EntryRow {
            collection: CollectionId(span.collection),
            n: span.first,
            entry,
        };
        entries.push((row_of, with(row)?));
        spans.push(span);
    }
    spans.sort_unstable_by_key(|span| (span.collection, span.first));
    let mut inside = db.prepare_cached(
        "SELECT n, at, shape, url, title, details FROM changes
         WHERE collection = ?1 AND n BETWEEN ?2 AND ?3 ORDER BY n",
    )?;
    let (n, columns) = (inside.column_index("n")?, Columns::of(&inside)?);
    let are_near = |one: &Span, next: &Span| {
        one.collection == next.collection && next.first.saturating_sub(one.last) <= NEAR
    };
    for near in spans.chunk_by(are_near) {
        let ([one, ..], [.., end]) = (near, near) else {
            continue;
        };
        let head = heads.get(&one.collection).map_or("", String::as_str);
        let mut changes = inside.query((one.collection, one.first, end.last))?;
        let mut near = near.iter().peekable();
        while let Some(row) = changes.next()? {
            let n: i64 = row.get(n)?;
            while near.next_if(|span| span.last < n).is_some() {}
            if let Some(span) = near.peek().filter(|span| span.first <= n) {
                let change = columns.change(row, head)?;
                entries[span.place].0.entry.changes.push(change);
            }
        }
    }
    Ok(entries)
}

/// Which changes an entry has, and its place in the answer.
struct Span {
    collection: i64,
    first: i64,
    last: i64,
    place: usize,
}

/// Adds entries to a collection.
pub(super) struct Writer<'a> {
    insert: CachedStatement<'a>,
    minter: &'a Minter<'a>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(db: &'a Connection, minter: &'a Minter<'a>) -> Result<Self, StoreError> {
        let insert = db.prepare_cached(
            "INSERT INTO entries (collection, first_n, last_n, id, updated_at, nanos, found_at, place, site_place, note,
               is_for_site)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?;
        Ok(Writer { insert, minter })
    }

    /// Adds an entry whose changes have these numbers, and returns its id.
    pub(super) fn add(
        &mut self,
        site: SiteId,
        collection: CollectionId,
        (first, last): (i64, i64),
        (place, site_place): (i64, i64),
        entry: &NewEntry,
    ) -> Result<String, StoreError> {
        // Numbers of changes are never given twice inside a site, nor those of collections anywhere.
        let id = self.minter.mint("entry", &format!("{collection}-{first}"));
        let updated_at = distinct(site, first, micros(entry.updated_at));
        let found_at = micros(self.minter.now);
        self.insert.execute((
            collection.0,
            first,
            last,
            &id,
            updated_at,
            site.0.rem_euclid(NANOS),
            found_at,
            place,
            site_place,
            &entry.note,
            entry.is_for_site,
        ))?;
        Ok(id)
    }
}

/// A time within the same second that no other entry of the site has: readers take entries with the same time for one,
/// and many sites date their changes by the day. The number of a change is the site's own, so its last digits tell
/// entries apart, and leave a microsecond for each of their pages. Those of other sites have other nanoseconds; every
/// thousand sites these are the same, and other microseconds are begun with.
fn distinct(site: SiteId, n: i64, micros: i64) -> i64 {
    let second = micros.div_euclid(MICROS);
    second * MICROS
        + (site.0 / NANOS)
            .wrapping_mul(APART)
            .wrapping_add(n)
            .rem_euclid(MICROS)
}

/// The time of an entry, as it is told.
pub(super) fn told_at(micros: i64, nanos: i64) -> Result<DateTime<Utc>, StoreError> {
    let at = DateTime::from_timestamp_micros(micros);
    let at = at.ok_or(StoreError::Unreadable("updated_at"))?;
    Ok(at + TimeDelta::nanoseconds(nanos))
}
