//! Invites: who may make an account where not everybody may, by the hashes of what they show.

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use super::value::{self, micros};
use super::{Store, StoreError};
use crate::account::AccountId;

/// An invite, without its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invite {
    /// The number of the invite.
    pub id: i64,
    /// For whom it is.
    pub note: String,
    /// The name of who made it.
    pub created_by: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Until when it is good.
    pub expires_at: DateTime<Utc>,
    /// When it was used, and the name of the account, if that is still there.
    pub used: Option<(DateTime<Utc>, Option<String>)>,
}

impl Store {
    /// Adds an invite.
    pub async fn add_invite(
        &self,
        by: AccountId,
        key_hash: &[u8],
        note: &str,
        now: DateTime<Utc>,
        expires_at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let (hash, note) = (key_hash.to_owned(), note.to_owned());
        self.write(move |db| {
            db.prepare_cached(
                "INSERT INTO invites (hash, note, created_by, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute((&hash, &note, by.0, micros(now), micros(expires_at)))?;
            Ok(())
        })
        .await
    }

    /// Whether an invite is good.
    pub async fn is_invite(&self, key_hash: &[u8], now: DateTime<Utc>) -> Result<bool, StoreError> {
        let hash = key_hash.to_owned();
        self.read(move |db| {
            let sql =
                "SELECT 1 FROM invites WHERE hash = ?1 AND used_at IS NULL AND expires_at > ?2";
            Ok(db.prepare_cached(sql)?.exists((&hash, micros(now)))?)
        })
        .await
    }

    /// All invites, newest first.
    pub async fn invites(&self) -> Result<Vec<Invite>, StoreError> {
        self.read(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT invites.id, note, maker.name AS maker, invites.created_at, expires_at, used_at, guest.name AS guest
                 FROM invites JOIN accounts AS maker ON maker.id = created_by
                 LEFT JOIN accounts AS guest ON guest.id = used_by ORDER BY invites.id DESC",
            )?;
            let mut rows = statement.query([])?;
            let mut invites = Vec::new();
            while let Some(row) = rows.next()? {
                let used_at = value::optional_instant(row, "used_at")?;
                let guest: Option<String> = row.get("guest")?;
                invites.push(Invite {
                    id: row.get("id")?,
                    note: row.get("note")?,
                    created_by: row.get("maker")?,
                    created_at: value::instant(row, "created_at")?,
                    expires_at: value::instant(row, "expires_at")?,
                    used: used_at.map(|at| (at, guest)),
                });
            }
            Ok(invites)
        })
        .await
    }

    /// Removes an invite; whether there was one.
    pub async fn remove_invite(&self, id: i64) -> Result<bool, StoreError> {
        self.write(move |db| {
            let sql = "DELETE FROM invites WHERE id = ?1";
            Ok(db.prepare_cached(sql)?.execute([id])? > 0)
        })
        .await
    }
}

/// Marks an invite as used by a new account; there must be one that is good.
pub(super) fn use_up(
    db: &Connection,
    hash: &[u8],
    by: AccountId,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let sql = "UPDATE invites SET used_by = ?2, used_at = ?3 WHERE hash = ?1 AND used_at IS NULL AND expires_at > ?3";
    match db.prepare_cached(sql)?.execute((hash, by.0, micros(now)))? {
        0 => Err(StoreError::NotFound("invite")),
        _ => Ok(()),
    }
}
