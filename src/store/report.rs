//! Reports for authors that somebody wanted to keep: for a time, and not too many.

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{Connection, OptionalExtension};

use super::value::{self, micros};
use super::{Store, StoreError};

/// How long a report is kept.
pub const REPORT_TIME: TimeDelta = TimeDelta::days(90);
/// Reports that are kept; beyond that the oldest go first.
const MOST_REPORTS: u32 = 10_000;

impl Store {
    /// Keeps a report under a name.
    pub async fn keep_report(
        &self,
        name: &str,
        content: String,
        made_at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let name = name.to_owned();
        self.write(move |db| {
            db.prepare_cached("INSERT INTO reports (name, made_at, content) VALUES (?1, ?2, ?3)")?
                .execute((&name, micros(made_at), &content))?;
            prune(db, made_at)
        })
        .await
    }

    /// When the report of that name was made, and what it says.
    pub async fn report(
        &self,
        name: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<(DateTime<Utc>, String)>, StoreError> {
        let name = name.to_owned();
        self.read(move |db| {
            let sql = "SELECT made_at, content FROM reports WHERE name = ?1 AND made_at > ?2";
            let mut statement = db.prepare_cached(sql)?;
            let mut rows = statement.query((&name, micros(now - REPORT_TIME)))?;
            match rows.next()? {
                Some(row) => Ok(Some((value::instant(row, "made_at")?, row.get("content")?))),
                None => Ok(None),
            }
        })
        .await
    }
}

/// Forgets what is too old, and too much.
pub(super) fn prune(db: &Connection, now: DateTime<Utc>) -> Result<(), StoreError> {
    let newest_beyond: Option<i64> = db
        .prepare_cached("SELECT made_at FROM reports ORDER BY made_at DESC LIMIT 1 OFFSET ?1")?
        .query_row([MOST_REPORTS], |row| row.get("made_at"))
        .optional()?;
    let outdated = micros(now - REPORT_TIME);
    db.prepare_cached("DELETE FROM reports WHERE made_at <= ?1")?
        .execute([newest_beyond.map_or(outdated, |at| at.max(outdated))])?;
    Ok(())
}
