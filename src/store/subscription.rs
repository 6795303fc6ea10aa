//! Subscriptions. The owner comes first, so that no question can forget whose they are.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension};

use super::value::{self, micros};
use super::{Store, StoreError};
use crate::account::{AccountId, Subscription, SubscriptionId};
use crate::site::{CollectionId, SiteId};

impl Store {
    /// What an account follows, in the order in which it began to.
    pub async fn subscriptions(&self, account: AccountId) -> Result<Vec<Subscription>, StoreError> {
        self.read(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT id, site, collection, folder, created_at FROM subscriptions
                 WHERE account = ?1 ORDER BY id",
            )?;
            let mut rows = statement.query([account.0])?;
            let mut subscriptions = Vec::new();
            while let Some(row) = rows.next()? {
                subscriptions.push(Subscription {
                    id: SubscriptionId(row.get("id")?),
                    site: SiteId(row.get("site")?),
                    collection: row.get::<_, Option<i64>>("collection")?.map(CollectionId),
                    folder: row.get("folder")?,
                    created_at: value::instant(row, "created_at")?,
                });
            }
            Ok(subscriptions)
        })
        .await
    }

    /// How many sites an account follows, as a whole or in part.
    pub async fn sites_followed(&self, account: AccountId) -> Result<usize, StoreError> {
        self.read(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT count(DISTINCT site) AS count FROM subscriptions WHERE account = ?1",
            )?;
            Ok(statement.query_row([account.0], |row| row.get::<_, i64>("count"))? as usize)
        })
        .await
    }

    /// Follows a site, or one collection of it. Doing it again gives the same subscription.
    pub async fn subscribe(
        &self,
        account: AccountId,
        site: SiteId,
        collection: Option<CollectionId>,
        now: DateTime<Utc>,
    ) -> Result<SubscriptionId, StoreError> {
        self.write(move |db| {
            if let Some(id) = existing(db, account, site, collection)? {
                return Ok(id);
            }
            if let Some(collection) = collection {
                let belongs = db
                    .prepare_cached("SELECT 1 FROM collections WHERE id = ?1 AND site = ?2")?
                    .exists((collection.0, site.0))?;
                if !belongs {
                    return Err(StoreError::NotFound("collection"));
                }
            }
            let collection = collection.map(|collection| collection.0);
            db.prepare_cached(
                "INSERT INTO subscriptions (account, site, collection, created_at) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute((account.0, site.0, collection, micros(now)))
            .map_err(|error| match StoreError::from(error) {
                error if error.is_orphan() => StoreError::NotFound("account or site"),
                error => error,
            })?;
            Ok(SubscriptionId(db.last_insert_rowid()))
        })
        .await
    }

    /// Puts a subscription of an account into a folder, or takes it out of one; whether it had that subscription.
    pub async fn set_folder(
        &self,
        account: AccountId,
        id: SubscriptionId,
        folder: &str,
    ) -> Result<bool, StoreError> {
        let folder = folder.to_owned();
        self.write(move |db| {
            let changed = db
                .prepare_cached(
                    "UPDATE subscriptions SET folder = ?3 WHERE account = ?1 AND id = ?2",
                )?
                .execute((account.0, id.0, &folder))?;
            Ok(changed > 0)
        })
        .await
    }

    /// Ends a subscription of an account; whether it had that one.
    pub async fn unsubscribe(
        &self,
        account: AccountId,
        id: SubscriptionId,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        self.write(move |db| {
            let removed = db
                .prepare_cached("DELETE FROM subscriptions WHERE account = ?1 AND id = ?2")?
                .execute((account.0, id.0))?;
            if removed > 0 {
                db.prepare_cached("UPDATE accounts SET unfollowed_at = ?2 WHERE id = ?1")?
                    .execute((account.0, micros(now)))?;
            }
            Ok(removed > 0)
        })
        .await
    }
}

fn existing(
    db: &Connection,
    account: AccountId,
    site: SiteId,
    collection: Option<CollectionId>,
) -> Result<Option<SubscriptionId>, StoreError> {
    let collection = collection.map_or(0, |collection| collection.0);
    let id = db
        .prepare_cached(
            "SELECT id FROM subscriptions WHERE account = ?1 AND site = ?2 AND ifnull(collection, 0) = ?3",
        )?
        .query_row((account.0, site.0, collection), |row| row.get("id"))
        .optional()?;
    Ok(id.map(SubscriptionId))
}
