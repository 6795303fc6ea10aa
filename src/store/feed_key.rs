//! The private feeds of accounts: who may read one, and what is in it.

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension, Row, named_params};

use super::entry::{self, COLUMNS, EntryRow};
use super::value::{self, micros};
use super::{Store, StoreError};
use crate::account::{Account, AccountId};
use crate::site::SiteId;

/// An entry that somebody follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedEntry {
    /// The site.
    pub site: SiteId,
    /// The entry.
    pub row: EntryRow,
    /// When it was found, in microseconds since 1970.
    pub found_at: i64,
}

/// A place among the entries that somebody follows: what was found before it comes after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FollowedPlace {
    /// When an entry was found, in microseconds since 1970.
    pub found_at: i64,
    /// Its collection.
    pub collection: i64,
    /// The number of its first change, or of one inside of it.
    pub n: i64,
}

impl FollowedPlace {
    /// Before all places.
    pub const FIRST: FollowedPlace = FollowedPlace {
        found_at: i64::MAX,
        collection: i64::MAX,
        n: i64::MAX,
    };
}

impl Store {
    /// Gives the private feed of an account a new key, by the hash of it. Those from before open nothing any more.
    pub async fn renew_feed_key(
        &self,
        account: AccountId,
        key_hash: &[u8],
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let hash = key_hash.to_owned();
        self.write(move |db| {
            db.prepare_cached("DELETE FROM feed_keys WHERE account = ?1")?
                .execute([account.0])?;
            db.prepare_cached(
                "INSERT INTO feed_keys (account, hash, created_at) VALUES (?1, ?2, ?3)",
            )?
            .execute((account.0, &hash, micros(now)))
            .map_err(|error| match StoreError::from(error) {
                error if error.is_orphan() => StoreError::NotFound("account"),
                error => error,
            })?;
            Ok(())
        })
        .await
    }

    /// When the private feed of an account got the key that it has.
    pub async fn feed_key_made_at(
        &self,
        account: AccountId,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        self.read(move |db| {
            let sql = "SELECT created_at FROM feed_keys WHERE account = ?1 ORDER BY id DESC";
            let mut statement = db.prepare_cached(sql)?;
            let mut rows = statement.query([account.0])?;
            rows.next()?
                .map(|row| value::instant(row, "created_at"))
                .transpose()
        })
        .await
    }

    /// Whose private feed this key opens. The keys of disabled accounts open nothing.
    pub async fn account_by_feed_key(
        &self,
        key_hash: &[u8],
    ) -> Result<Option<Account>, StoreError> {
        let hash = key_hash.to_owned();
        self.read(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT accounts.* FROM feed_keys JOIN accounts ON accounts.id = feed_keys.account
                 WHERE hash = ?1 AND is_disabled = 0",
            )?;
            let mut rows = statement.query([&hash])?;
            rows.next()?
                .map(super::account::account_from_row)
                .transpose()
        })
        .await
    }

    /// The id of the private feed of an account: `mint` makes it the first time.
    pub async fn feed_id(
        &self,
        account: AccountId,
        mint: impl FnOnce(&str) -> String + Send + 'static,
    ) -> Result<String, StoreError> {
        let find = "SELECT feed_id FROM accounts WHERE id = ?1";
        let known: Option<Option<String>> = self
            .read(move |db| {
                let mut statement = db.prepare_cached(find)?;
                Ok(statement
                    .query_row([account.0], |row| row.get("feed_id"))
                    .optional()?)
            })
            .await?;
        if let Some(id) = known.ok_or(StoreError::NotFound("account"))? {
            return Ok(id);
        }
        let id = mint(&self.instance().await);
        self.write(move |db| {
            // Somebody else may have been faster.
            db.prepare_cached(
                "UPDATE accounts SET feed_id = ?2 WHERE id = ?1 AND feed_id IS NULL",
            )?
            .execute((account.0, &id))?;
            let mut statement = db.prepare_cached(find)?;
            Ok(statement.query_row([account.0], |row| row.get("feed_id"))?)
        })
        .await
    }

    /// When the private feed of an account last became another one in a way that the time of its newest entry does not
    /// tell: a site was followed or no longer followed, or one of them tells something in other words.
    pub async fn feed_reworded_at(
        &self,
        account: AccountId,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        self.read(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT max(at) AS at FROM (
                   SELECT unfollowed_at AS at FROM accounts WHERE id = ?1
                   UNION ALL SELECT created_at FROM subscriptions WHERE account = ?1
                   UNION ALL SELECT reworded_at FROM sites
                     WHERE id IN (SELECT site FROM subscriptions WHERE account = ?1))",
            )?;
            let mut rows = statement.query([account.0])?;
            match rows.next()? {
                Some(row) => value::optional_instant(row, "at"),
                None => Ok(None),
            }
        })
        .await
    }

    /// The entries that an account follows after a place, those found last first. Whoever follows a whole site is told
    /// each change of it once.
    pub async fn followed_entries(
        &self,
        account: AccountId,
        after: FollowedPlace,
        limit: u32,
    ) -> Result<Vec<FollowedEntry>, StoreError> {
        self.read(move |db| {
            // Numbers alone are sorted, and what belongs to them is looked up for the few that remain.
            let sql = format!(
                "SELECT {COLUMNS}, f.found_at FROM (
                   SELECT DISTINCT c.id AS collection, e.first_n, e.found_at FROM subscriptions s
                   JOIN collections c ON c.site = s.site AND (s.collection IS NULL OR s.collection = c.id)
                   JOIN entries e ON e.collection = c.id
                   WHERE s.account = :account AND (e.found_at, c.id, e.first_n) < (:found_at, :collection, :n)
                     AND (e.is_for_site OR NOT EXISTS (SELECT 1 FROM subscriptions whole
                       WHERE whole.account = s.account AND whole.site = s.site AND whole.collection IS NULL))
                   ORDER BY e.found_at DESC, c.id DESC, e.first_n DESC LIMIT :limit) f
                 JOIN collections c ON c.id = f.collection
                 JOIN entries e ON e.collection = f.collection AND e.first_n = f.first_n
                 ORDER BY f.found_at DESC, f.collection DESC, f.first_n DESC"
            );
            let of = named_params! {
                ":account": account.0,
                ":found_at": after.found_at,
                ":collection": after.collection,
                ":n": after.n,
                ":limit": limit,
            };
            let with = |row: &Row<'_>| Ok((SiteId(row.get("site")?), row.get("found_at")?));
            let entries = entry::rows_with(db, &sql, of, with)?.into_iter();
            let entries = entries.map(|(row, (site, found_at))| FollowedEntry {
                site,
                row,
                found_at,
            });
            Ok(entries.collect())
        })
        .await
    }
}
