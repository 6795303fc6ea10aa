//! Keeping house: forgetting what nobody asks for any more.
//!
//! Of a collection the oldest changes go, by entries as a whole, so that an entry is either complete or gone; the
//! [`FEED_ENTRIES`] newest entries of every collection stay whatever the limit says, for they are what feeds show. The
//! collection's horizon moves to the latest datetime among all that went, so that none of them is announced again. It
//! never moves beyond the present, for whatever happens next would count as known; a change whose time is not over stays
//! known by itself, without its entry, until it is.

use std::collections::BTreeSet;

use chrono::{DateTime, SecondsFormat, Utc};
use rusqlite::{Connection, OptionalExtension};

use super::shape::Shape;
use super::site::reworded;
use super::value::micros;
use super::{Store, StoreError, file, memory};
use crate::site::{CollectionId, SiteId};

/// As many entries as a feed has.
const FEED_ENTRIES: u32 = 50;
/// Sites whose checks are pruned in one transaction: short enough to keep nobody waiting.
const SITES_AT_ONCE: u32 = 500;

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Checks of each site, the newest ones.
    pub checks_per_site: u32,
    /// Changes of each collection, the ones found last.
    pub changes_per_collection: u32,
}

impl Default for Keep {
    fn default() -> Self {
        Keep {
            checks_per_site: 100,
            changes_per_collection: 100_000,
        }
    }
}

/// How much went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Checks.
    pub checks: u64,
    /// Changes.
    pub changes: u64,
    /// Entries, with all of their changes.
    pub entries: u64,
    /// The sites of these entries.
    pub sites: BTreeSet<SiteId>,
}

impl Store {
    /// Forgets what is beyond the limits, a little at a time so that checks can be saved in between.
    pub async fn prune(&self, keep: &Keep, now: DateTime<Utc>) -> Result<Pruned, StoreError> {
        let keep = *keep;
        let mut pruned = Pruned::default();
        let mut after = SiteId(0);
        loop {
            let (checks, last) = self.write(move |db| prune_checks(db, after, keep)).await?;
            pruned.checks += checks;
            match last {
                Some(last) => after = last,
                None => break,
            }
        }
        for (site, collection) in self.read_long(move |db| too_large(db, keep)).await? {
            let (changes, entries) = self
                .write(move |db| {
                    let (changes, entries) = prune_changes(db, collection, keep, now)?;
                    // Nothing leads to the oldest archives any more.
                    if entries > 0 {
                        reworded(db, site, now)?;
                    }
                    Ok((changes, entries))
                })
                .await?;
            pruned.changes += changes;
            pruned.entries += entries;
            pruned.sites.extend((entries > 0).then_some(site));
        }
        self.write(move |db| {
            let sql = "DELETE FROM quiet_hosts WHERE until <= ?1";
            Ok(db.prepare_cached(sql)?.execute([micros(now)])?)
        })
        .await?;
        Ok(pruned)
    }

    /// Lets SQLite look after its statistics.
    pub async fn optimize(&self) -> Result<(), StoreError> {
        self.with_writer(|db| Ok(db.execute_batch("PRAGMA optimize")?))
            .await
    }

    /// Moves what the write-ahead log holds into the file, as far as readers allow.
    pub async fn checkpoint(&self) -> Result<(), StoreError> {
        self.with_writer(file::checkpoint).await
    }
}

/// Prunes the checks of some sites: how many went, and the last of these sites.
fn prune_checks(
    db: &Connection,
    after: SiteId,
    keep: Keep,
) -> Result<(u64, Option<SiteId>), StoreError> {
    let sites: Vec<i64> = db
        .prepare_cached("SELECT id FROM sites WHERE id > ?1 ORDER BY id LIMIT ?2")?
        .query_map((after.0, SITES_AT_ONCE), |row| row.get("id"))?
        .collect::<Result<_, _>>()?;
    // A check that runs is kept, so that it can be saved.
    let mut delete = db.prepare_cached(
        "DELETE FROM checks WHERE site = ?1 AND finished_at IS NOT NULL AND id <= (
           SELECT id FROM checks WHERE site = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
    )?;
    let mut checks = 0;
    for site in &sites {
        checks += delete.execute((site, keep.checks_per_site))? as u64;
    }
    Ok((checks, sites.last().map(|site| SiteId(*site))))
}

fn too_large(db: &Connection, keep: Keep) -> Result<Vec<(SiteId, CollectionId)>, StoreError> {
    let sql = "SELECT site, id FROM collections WHERE change_count > ?1";
    let mut statement = db.prepare_cached(sql)?;
    let ids = statement.query_map([keep.changes_per_collection], |row| {
        Ok((SiteId(row.get("site")?), CollectionId(row.get("id")?)))
    })?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// Prunes the changes of a collection: how many went, and how many entries.
fn prune_changes(
    db: &Connection,
    collection: CollectionId,
    keep: Keep,
    now: DateTime<Utc>,
) -> Result<(u64, u64), StoreError> {
    let Some(first) = first_to_keep(db, collection, keep)? else {
        return Ok((0, 0));
    };
    let mut statement = db.prepare_cached("SELECT horizon FROM collections WHERE id = ?1")?;
    let mut rows = statement.query([collection.0])?;
    let row = rows.next()?.ok_or(StoreError::NotFound("collection"))?;
    let over = over(db, collection, first, keep, now)?;
    let horizon = memory::horizon_from_row(row)?.max(over.latest);
    let mut delete =
        db.prepare_cached("DELETE FROM changes WHERE collection = ?1 AND n BETWEEN ?2 AND ?3")?;
    let mut changes = 0;
    for (first, last) in over.ranges {
        changes += delete.execute((collection.0, first, last))?;
    }
    let entries = db
        .prepare_cached("DELETE FROM entries WHERE collection = ?1 AND first_n < ?2")?
        .execute((collection.0, first))?;
    let horizon = horizon.map(|horizon| horizon.to_rfc3339_opts(SecondsFormat::Nanos, true));
    db.prepare_cached(
        "UPDATE collections SET horizon = ?2, change_count = change_count - ?3 WHERE id = ?1",
    )?
    .execute((collection.0, horizon, changes as i64))?;
    Ok((changes as u64, entries as u64))
}

/// Changes that can go.
#[derive(Default)]
struct Over {
    /// The first and the last number of each row of them, newest first.
    ranges: Vec<(i64, i64)>,
    /// The latest start among them that does not lie in the future.
    latest: Option<DateTime<Utc>>,
}

/// The changes before a number whose time is over, so that the horizon can stand for them. Of the others as many stay as
/// changes are kept, or a site could make us keep any number of them; beyond that one may be announced again.
fn over(
    db: &Connection,
    collection: CollectionId,
    first: i64,
    keep: Keep,
    now: DateTime<Utc>,
) -> Result<Over, StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT n, at, shape FROM changes WHERE collection = ?1 AND n < ?2 ORDER BY n DESC",
    )?;
    let mut rows = statement.query((collection.0, first))?;
    let (mut over, mut stays, mut is_row) = (Over::default(), 0, false);
    while let Some(row) = rows.next()? {
        let n = row.get("n")?;
        let datetime = Shape::read(row.get("at")?, row.get("shape")?)?.datetime;
        if datetime.latest() > now && stays < keep.changes_per_collection {
            (stays, is_row) = (stays + 1, false);
            continue;
        }
        let start = Some(datetime.start()).filter(|start| *start <= now);
        over.latest = over.latest.max(start);
        match over.ranges.last_mut().filter(|_| is_row) {
            Some(range) => range.0 = n,
            None => over.ranges.push((n, n)),
        }
        is_row = true;
    }
    Ok(over)
}

/// The number of the first change that stays: within the limit, not inside an entry, and not in the newest entries.
fn first_to_keep(
    db: &Connection,
    collection: CollectionId,
    keep: Keep,
) -> Result<Option<i64>, StoreError> {
    let number = |sql: &str, second: i64| -> Result<Option<i64>, StoreError> {
        let mut statement = db.prepare_cached(sql)?;
        Ok(statement
            .query_row((collection.0, second), |row| row.get("n"))
            .optional()?)
    };
    let newest_beyond = number(
        "SELECT n FROM changes WHERE collection = ?1 ORDER BY n DESC LIMIT 1 OFFSET ?2",
        i64::from(keep.changes_per_collection),
    )?;
    let Some(newest_beyond) = newest_beyond else {
        return Ok(None);
    };
    let cut = newest_beyond + 1;
    let entry_around = number(
        "SELECT first_n AS n FROM entries WHERE collection = ?1 AND first_n < ?2 AND last_n >= ?2",
        cut,
    )?;
    // With fewer entries than a feed has, the oldest of them is the one to stop at.
    let shown = number(
        "SELECT min(first_n) AS n FROM (
           SELECT first_n FROM entries WHERE collection = ?1 ORDER BY first_n DESC LIMIT ?2) HAVING n NOTNULL",
        i64::from(FEED_ENTRIES),
    )?;
    let limits = [Some(cut), entry_around, shown];
    Ok(limits.into_iter().flatten().min())
}
