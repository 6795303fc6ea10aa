//! Checks: when a site was read, and what came of it.

use chrono::{DateTime, Utc};
use rusqlite::Row;

use super::value::{self, micros};
use super::{Store, StoreError};
use crate::memory::Outcome;
use crate::problem::{self, Problem};
use crate::site::{CheckId, SiteId};

/// What is said of a check that a crash has ended.
const ABANDONED: &str = "The check was cut off when Sitebell stopped; it is done again.";

/// A check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRow {
    /// The check.
    pub id: CheckId,
    /// When it began.
    pub started_at: DateTime<Utc>,
    /// When it ended; none while it runs.
    pub finished_at: Option<DateTime<Utc>>,
    /// How it ended; none while it runs.
    pub outcome: Option<Outcome>,
    /// The same in a sentence for people.
    pub summary: String,
    /// Changes that were announced.
    pub new_changes: u64,
    /// Requests that were made.
    pub requests: u32,
    /// Bytes that came over the network.
    pub bytes: u64,
    /// What should be better.
    pub problems: Vec<Problem>,
}

impl Store {
    /// Notes that a check has begun.
    pub async fn begin_check(
        &self,
        site: SiteId,
        now: DateTime<Utc>,
    ) -> Result<CheckId, StoreError> {
        self.write(move |db| {
            db.prepare_cached("INSERT INTO checks (site, started_at) VALUES (?1, ?2)")?
                .execute((site.0, micros(now)))
                .map_err(StoreError::from)
                .map_err(|error| match error.is_orphan() {
                    true => StoreError::NotFound("site"),
                    false => error,
                })?;
            Ok(CheckId(db.last_insert_rowid()))
        })
        .await
    }

    /// At start: ends the checks that a crash left unfinished, and says how many.
    pub async fn abandon_checks(&self, now: DateTime<Utc>) -> Result<u64, StoreError> {
        self.write(move |db| {
            let abandoned = db
                .prepare_cached(
                    "UPDATE checks SET finished_at = ?1, outcome = ?2, summary = ?3
                     WHERE finished_at IS NULL",
                )?
                .execute((micros(now), Outcome::Failed.as_str(), ABANDONED))?;
            Ok(abandoned as u64)
        })
        .await
    }

    /// The checks of a site, newest first.
    pub async fn checks(
        &self,
        site: SiteId,
        before: Option<CheckId>,
        limit: u32,
    ) -> Result<Vec<CheckRow>, StoreError> {
        let before = before.map_or(i64::MAX, |id| id.0);
        self.read(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT * FROM checks WHERE site = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
            )?;
            let mut rows = statement.query((site.0, before, limit))?;
            let mut checks = Vec::new();
            while let Some(row) = rows.next()? {
                checks.push(check_from_row(row)?);
            }
            Ok(checks)
        })
        .await
    }

    /// A check of a site.
    pub async fn check(&self, site: SiteId, id: CheckId) -> Result<Option<CheckRow>, StoreError> {
        self.read(move |db| {
            let mut statement =
                db.prepare_cached("SELECT * FROM checks WHERE site = ?1 AND id = ?2")?;
            let mut rows = statement.query((site.0, id.0))?;
            rows.next()?.map(check_from_row).transpose()
        })
        .await
    }
}

fn check_from_row(row: &Row<'_>) -> Result<CheckRow, StoreError> {
    Ok(CheckRow {
        id: CheckId(row.get("id")?),
        started_at: value::instant(row, "started_at")?,
        finished_at: value::optional_instant(row, "finished_at")?,
        outcome: value::parsed(row, "outcome", Outcome::parse)?,
        summary: row.get("summary")?,
        new_changes: value::natural(row, "new_changes")?,
        requests: value::natural(row, "requests")?,
        bytes: value::natural(row, "bytes")?,
        problems: problems_from_row(row)?,
    })
}

pub(super) fn problems_from_row(row: &Row<'_>) -> Result<Vec<Problem>, StoreError> {
    Ok(value::parsed(row, "problems", problem::from_stored)?.unwrap_or_default())
}

/// None if there are none.
pub(super) fn problems_as_column(problems: &[Problem]) -> Option<String> {
    (!problems.is_empty()).then(|| problem::to_stored(problems))
}
