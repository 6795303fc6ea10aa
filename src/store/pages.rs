//! The pages of collections that list them, as they were last read.
//!
//! Read as a whole when a list has changed, in the order of their keys; written one by one where something is new. An address is
//! only read when the page is not in the list any more. A page that was dropped (16 in its state) is only there for what
//! other collections tell of it.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, Row, Statement, params};

use super::shape::Columns;
use super::{Store, StoreError, json};
use crate::change::Details;
use crate::memory::{KnownPage, KnownPages, PageKey, PageState, PageWrites, Stamp};
use crate::site::{CollectionId, SiteId};

/// Stands before an address without the head of its collection. No address begins with it.
const HEAD: char = ' ';

impl Store {
    /// The addresses of some pages of a collection.
    pub async fn page_urls(
        &self,
        collection: CollectionId,
        keys: Vec<PageKey>,
    ) -> Result<HashMap<PageKey, String>, StoreError> {
        self.read(move |db| {
            let head = head(db, collection)?;
            let mut urls = HashMap::with_capacity(keys.len());
            for &key in &keys {
                if let Some(url) = url_of(db, collection, key, &head)? {
                    urls.insert(key, url);
                }
            }
            Ok(urls)
        })
        .await
    }
}

impl Store {
    /// What the collections of a site remember of some pages, those that they have dropped included.
    pub async fn pages_held(
        &self,
        site: SiteId,
        keys: Vec<PageKey>,
    ) -> Result<Vec<(CollectionId, KnownPage)>, StoreError> {
        self.read(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT p.collection, p.key, p.stamp, p.twin, p.hash, p.part, p.state
                 FROM collections c JOIN pages p ON p.collection = c.id WHERE c.site = ?1 AND p.key = ?2",
            )?;
            let columns = PageColumns::of(&statement)?;
            let mut held = Vec::new();
            for key in &keys {
                let mut rows = statement.query((site.0, key.0))?;
                while let Some(row) = rows.next()? {
                    held.push((CollectionId(row.get("collection")?), columns.page(row)?));
                }
            }
            Ok(held)
        })
        .await
    }
}

fn head(db: &Connection, collection: CollectionId) -> Result<String, StoreError> {
    let mut statement = db.prepare_cached("SELECT head FROM collections WHERE id = ?1")?;
    let head = statement
        .query_row([collection.0], |row| row.get("head"))
        .optional()?;
    head.ok_or(StoreError::NotFound("collection"))
}

fn url_of(
    db: &Connection,
    collection: CollectionId,
    key: PageKey,
    head: &str,
) -> Result<Option<String>, StoreError> {
    let mut statement =
        db.prepare_cached("SELECT url FROM pages WHERE collection = ?1 AND key = ?2")?;
    let kept: Option<String> = statement
        .query_row((collection.0, key.0), |row| row.get("url"))
        .optional()?;
    Ok(kept.map(|kept| match kept.strip_prefix(HEAD) {
        Some(tail) => format!("{head}{tail}"),
        None => kept,
    }))
}

/// Whether a collection has pages.
pub(super) fn has_any(db: &Connection, collection: CollectionId) -> Result<bool, StoreError> {
    let mut statement =
        db.prepare_cached("SELECT 1 FROM pages WHERE collection = ?1 AND state & 16 = 0 LIMIT 1")?;
    Ok(statement.exists([collection.0])?)
}

/// All pages of a collection.
pub(super) fn known(db: &Connection, collection: CollectionId) -> Result<KnownPages, StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT key, stamp, twin, hash, part, state FROM pages
         WHERE collection = ?1 AND state & 16 = 0 ORDER BY key",
    )?;
    let columns = PageColumns::of(&statement)?;
    let mut rows = statement.query([collection.0])?;
    let mut known = KnownPages::default();
    while let Some(row) = rows.next()? {
        known.push(columns.page(row)?);
    }
    Ok(known)
}

/// Where in a row is what is remembered of a page.
struct PageColumns {
    key: usize,
    stamp: usize,
    twin: usize,
    hash: usize,
    part: usize,
    state: usize,
}

impl PageColumns {
    fn of(statement: &Statement<'_>) -> Result<Self, StoreError> {
        let column = |name| statement.column_index(name);
        Ok(PageColumns {
            key: column("key")?,
            stamp: column("stamp")?,
            twin: column("twin")?,
            hash: column("hash")?,
            part: column("part")?,
            state: column("state")?,
        })
    }

    fn page(&self, row: &Row<'_>) -> Result<KnownPage, StoreError> {
        let stamp: Option<i64> = row.get(self.stamp)?;
        Ok(KnownPage {
            key: PageKey(row.get(self.key)?),
            stamp: stamp.map_or(Stamp::NONE, Stamp),
            twin: row.get(self.twin)?,
            hash: row.get(self.hash)?,
            part: row.get(self.part)?,
            state: PageState::from_bits(row.get(self.state)?),
        })
    }
}

/// Forgets all pages of a collection that tells its changes now.
pub(super) fn clear(db: &Connection, collection: CollectionId) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM pages WHERE collection = ?1")?
        .execute([collection.0])?;
    Ok(())
}

/// Writes what is new; whether something that was said about pages is forgotten by it.
pub(super) fn write(
    db: &Connection,
    collection: CollectionId,
    head: &str,
    writes: &PageWrites,
) -> Result<bool, StoreError> {
    let silent: HashSet<PageKey> = (writes.forget.iter().chain(&writes.silence))
        .copied()
        .collect();
    let is_silenced = !silent.is_empty() && forget(db, collection, head, &silent)?;
    let mut delete = db.prepare_cached("DELETE FROM pages WHERE collection = ?1 AND key = ?2")?;
    for key in writes.remove.iter().chain(&writes.forget) {
        delete.execute((collection.0, key.0))?;
    }
    let mut update = db.prepare_cached(
        "UPDATE pages SET stamp = ?3, hash = ?4, part = ?5, state = ?6 WHERE collection = ?1 AND key = ?2",
    )?;
    for page in &writes.update {
        let (stamp, state) = (stamp(page.stamp), page.state.to_bits());
        update.execute(params![
            collection.0,
            page.key.0,
            stamp,
            page.hash,
            page.part,
            state
        ])?;
    }
    let mut insert = db.prepare_cached(
        "INSERT OR REPLACE INTO pages (collection, key, stamp, twin, hash, part, state, url)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    // In the order of the table, so that a million pages are written from one end to the other.
    let mut places: Vec<(PageKey, usize)> = (0..writes.insert.len())
        .map(|place| (PageKey::of(writes.insert.url(place)), place))
        .collect();
    places.sort_unstable();
    let mut kept = String::new();
    for (_, place) in places {
        let page = writes.insert.known(place);
        let url = writes.insert.url(place);
        kept.clear();
        match url.strip_prefix(head).filter(|_| !head.is_empty()) {
            Some(tail) => {
                kept.push(HEAD);
                kept.push_str(tail);
            }
            None => kept.push_str(url),
        }
        insert.execute(params![
            collection.0,
            page.key.0,
            stamp(page.stamp),
            page.twin,
            page.hash,
            page.part,
            page.state.to_bits(),
            kept,
        ])?;
    }
    Ok(is_silenced)
}

fn stamp(stamp: Stamp) -> Option<i64> {
    (stamp != Stamp::NONE).then_some(stamp.0)
}

/// Forgets what was said about some pages, and tells whether anything was; that they changed, when, and who says so, stays
/// in the feed as it was. A page that is not in the list any more is known by its changes alone, so those are gone through.
fn forget(
    db: &Connection,
    collection: CollectionId,
    head: &str,
    pages: &HashSet<PageKey>,
) -> Result<bool, StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT n, at, shape, url, title, details FROM changes
         WHERE collection = ?1 AND (title IS NOT NULL OR details IS NOT NULL)",
    )?;
    let columns = Columns::of(&statement)?;
    let mut rows = statement.query([collection.0])?;
    let mut silenced: Vec<(i64, Details)> = Vec::new();
    while let Some(row) = rows.next()? {
        let change = columns.change(row, head)?;
        let kept = Details {
            is_inferred: change.details.is_inferred,
            is_stated: change.details.is_stated,
            ..Details::default()
        };
        let says_more = change.title.is_some() || change.details != kept;
        if says_more && pages.contains(&PageKey::of(&change.url)) {
            silenced.push((row.get("n")?, kept));
        }
    }
    let mut silence = db.prepare_cached(
        "UPDATE changes SET title = NULL, details = ?3 WHERE collection = ?1 AND n = ?2",
    )?;
    for (n, kept) in &silenced {
        silence.execute((collection.0, n, json::from_details(kept)))?;
    }
    Ok(!silenced.is_empty())
}
