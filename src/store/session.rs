//! Sessions: the browsers in which an account is signed in, by the hashes of what they show.

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{Connection, Row};

use super::account::account_from_row;
use super::value::{self, micros};
use super::{Store, StoreError};
use crate::account::{Account, AccountId, Session, SessionId};

/// A session ends when nobody came for so long.
const IDLE: TimeDelta = TimeDelta::days(30);
/// And at the latest after this.
const LONGEST: TimeDelta = TimeDelta::days(180);
/// That somebody came is noted again after this, so that looking at pages writes nothing.
const NOTED: TimeDelta = TimeDelta::minutes(10);
/// Sessions of one account; the one that was away longest goes first.
const MOST: u32 = 50;

impl Store {
    /// Begins a session of an account, and clears away those that are over.
    pub async fn begin_session(
        &self,
        account: AccountId,
        key_hash: &[u8],
        agent: &str,
        now: DateTime<Utc>,
    ) -> Result<SessionId, StoreError> {
        let (hash, agent) = (key_hash.to_owned(), agent.to_owned());
        self.write(move |db| {
            db.prepare_cached(
                "DELETE FROM sessions WHERE account = ?1 AND (expires_at <= ?2 OR seen_at <= ?3)",
            )?
            .execute((account.0, micros(now), micros(now - IDLE)))?;
            db.prepare_cached(
                "INSERT INTO sessions (account, hash, agent, created_at, seen_at, expires_at)
                 VALUES (?1, ?2, ?3, ?4, ?4, ?5)",
            )?
            .execute((account.0, &hash, &agent, micros(now), micros(now + LONGEST)))
            .map_err(|error| match StoreError::from(error) {
                error if error.is_orphan() => StoreError::NotFound("account"),
                error => error,
            })?;
            let id = SessionId(db.last_insert_rowid());
            db.prepare_cached(
                "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE account = ?1
                 ORDER BY id = ?2 DESC, seen_at DESC LIMIT -1 OFFSET ?3)",
            )?
            .execute((account.0, id.0, MOST))?;
            Ok(id)
        })
        .await
    }

    /// Who is signed in with this key. Nobody where the session is over or the account disabled.
    pub async fn account_by_session(
        &self,
        key_hash: &[u8],
        now: DateTime<Utc>,
    ) -> Result<Option<(Account, Session)>, StoreError> {
        let hash = key_hash.to_owned();
        let found = self
            .read(move |db| {
                let mut statement = db.prepare_cached(
                    "SELECT accounts.*, sessions.id AS session_id, agent, sessions.created_at AS begun_at, seen_at
                     FROM sessions JOIN accounts ON accounts.id = sessions.account
                     WHERE hash = ?1 AND is_disabled = 0 AND expires_at > ?2 AND seen_at > ?3",
                )?;
                let mut rows = statement.query((&hash, micros(now), micros(now - IDLE)))?;
                match rows.next()? {
                    Some(row) => Ok(Some((account_from_row(row)?, session_from_row(row)?))),
                    None => Ok(None),
                }
            })
            .await?;
        let Some((account, session)) = found else {
            return Ok(None);
        };
        if now - session.seen_at >= NOTED {
            let id = session.id;
            self.write(move |db| {
                let sql = "UPDATE sessions SET seen_at = max(seen_at, ?2) WHERE id = ?1";
                Ok(db.prepare_cached(sql)?.execute((id.0, micros(now)))?)
            })
            .await?;
        }
        Ok(Some((account, session)))
    }

    /// The sessions of an account, the one that was last there first.
    pub async fn sessions(
        &self,
        account: AccountId,
        now: DateTime<Utc>,
    ) -> Result<Vec<Session>, StoreError> {
        self.read(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT id AS session_id, agent, created_at AS begun_at, seen_at FROM sessions
                 WHERE account = ?1 AND expires_at > ?2 AND seen_at > ?3 ORDER BY seen_at DESC, id DESC",
            )?;
            let mut rows = statement.query((account.0, micros(now), micros(now - IDLE)))?;
            let mut sessions = Vec::new();
            while let Some(row) = rows.next()? {
                sessions.push(session_from_row(row)?);
            }
            Ok(sessions)
        })
        .await
    }

    /// Clears away the sessions of all accounts that are over; how many.
    pub async fn clear_sessions(&self, now: DateTime<Utc>) -> Result<usize, StoreError> {
        self.write(move |db| {
            let sql = "DELETE FROM sessions WHERE expires_at <= ?1 OR seen_at <= ?2";
            let mut statement = db.prepare_cached(sql)?;
            Ok(statement.execute((micros(now), micros(now - IDLE)))?)
        })
        .await
    }

    /// Ends a session of an account; whether it had that one.
    pub async fn end_session(&self, account: AccountId, id: SessionId) -> Result<bool, StoreError> {
        self.write(move |db| {
            let sql = "DELETE FROM sessions WHERE account = ?1 AND id = ?2";
            Ok(db.prepare_cached(sql)?.execute((account.0, id.0))? > 0)
        })
        .await
    }

    /// Ends all sessions of an account but one; how many.
    pub async fn end_other_sessions(
        &self,
        account: AccountId,
        kept: SessionId,
    ) -> Result<usize, StoreError> {
        self.write(move |db| {
            let sql = "DELETE FROM sessions WHERE account = ?1 AND id <> ?2";
            Ok(db.prepare_cached(sql)?.execute((account.0, kept.0))?)
        })
        .await
    }
}

/// Ends all sessions of an account.
pub(super) fn end_all(db: &Connection, account: AccountId) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM sessions WHERE account = ?1")?
        .execute([account.0])?;
    Ok(())
}

fn session_from_row(row: &Row<'_>) -> Result<Session, StoreError> {
    Ok(Session {
        id: SessionId(row.get("session_id")?),
        agent: row.get("agent")?,
        created_at: value::instant(row, "begun_at")?,
        seen_at: value::instant(row, "seen_at")?,
    })
}
