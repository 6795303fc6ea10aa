//! Checks: when a site was read, and what came of it.

use std::ops::Range;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row};

use super::value::{self, Column, integer, micros};
use super::{Store, StoreError};
use crate::memory::{CheckRecord, Outcome};
use crate::problem::{self, Problem};
use crate::site::{CheckId, SiteId};

/// What is said of a check that a crash has ended.
const ABANDONED: &str = "The check was cut off when Sitebell stopped; it is done again.";

/// Checks that a crash cut off are among so many that began last. An index would find them, too, but every check would
/// have to keep it up to date for the sake of one question at the next start.
const BEGUN_LAST: u32 = 100_000;

/// Checks for which numbers are reserved at once, so that a number costs no write: whoever needs the next ones waits for
/// all that is being written, and nothing is begun meanwhile.
const NUMBERS_AT_ONCE: i64 = 4096;

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
    /// A number for a check, which no other one has or will get.
    pub async fn number_check(&self) -> Result<CheckId, StoreError> {
        let mut numbers = self.inner.check_numbers.lock().await;
        if numbers.is_empty() {
            *numbers = self.write(reserve_numbers).await?;
        }
        let number = numbers.start;
        numbers.start += 1;
        Ok(CheckId(number))
    }

    /// Notes that a check has begun. It may be left out, then the check is to be seen when it has ended.
    pub async fn begin_check(
        &self,
        site: SiteId,
        check: CheckId,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.write(move |db| {
            db.prepare_cached(
                "INSERT INTO checks (id, site, started_at) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING",
            )?
            .execute((check.0, site.0, micros(now)))
            .map_err(|error| no_such_site(error.into()))?;
            Ok(())
        })
        .await
    }

    /// Ends the checks that a crash or a stop left unfinished, and says how many. They are done again: their sites are
    /// due at once, even if somebody had only asked for a check, but not before their host may be asked again.
    pub async fn abandon_checks(&self, now: DateTime<Utc>) -> Result<u64, StoreError> {
        self.write(move |db| {
            let mut unfinished = db.prepare_cached(
                "SELECT id, site FROM checks WHERE finished_at IS NULL AND id > (SELECT max(id) FROM checks) - ?1",
            )?;
            let mut end = db.prepare_cached(
                "UPDATE checks SET finished_at = ?2, outcome = ?3, summary = ?4 WHERE id = ?1",
            )?;
            let mut make_due = db.prepare_cached(
                "UPDATE sites SET next_check_at = min(next_check_at, max(?2, ifnull(
                   (SELECT until FROM quiet_hosts WHERE host = sites.host), ?2)))
                 WHERE id = ?1",
            )?;
            let rows = unfinished.query_map([BEGUN_LAST], |row| Ok((row.get("id")?, row.get("site")?)))?;
            let checks: Vec<(i64, i64)> = rows.collect::<Result<_, _>>()?;
            for (check, site) in &checks {
                end.execute((check, micros(now), Outcome::Failed.as_str(), ABANDONED))?;
                make_due.execute((site, micros(now)))?;
            }
            Ok(checks.len() as u64)
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

/// Notes how a check ended, unless it had ended before; whether it did so now.
pub(super) fn end(
    db: &Connection,
    site: SiteId,
    check: CheckId,
    record: &CheckRecord,
    new_changes: u64,
) -> Result<bool, StoreError> {
    let ended = db
        .prepare_cached(
            "INSERT INTO checks (id, site, started_at, finished_at, outcome, summary, new_changes, requests, bytes, problems)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT (id) DO UPDATE SET finished_at = excluded.finished_at, outcome = excluded.outcome,
               summary = excluded.summary, new_changes = excluded.new_changes, requests = excluded.requests,
               bytes = excluded.bytes, problems = excluded.problems
             WHERE finished_at IS NULL AND site = excluded.site",
        )?
        .execute((
            check.0,
            site.0,
            micros(record.started_at),
            micros(record.finished_at),
            record.outcome.as_str(),
            &record.summary,
            integer(new_changes),
            record.requests,
            integer(record.bytes),
            problems_as_column(&record.problems),
        ))
        .map_err(|error| no_such_site(error.into()))?;
    Ok(ended > 0)
}

/// A check belongs to a site.
fn no_such_site(error: StoreError) -> StoreError {
    match error.is_orphan() {
        true => StoreError::NotFound("site"),
        false => error,
    }
}

/// Numbers for the next checks, which are no other program's from now on.
fn reserve_numbers(db: &Connection) -> Result<Range<i64>, StoreError> {
    let last = "SELECT seq FROM sqlite_sequence WHERE name = 'checks'";
    let last: Option<i64> = db.query_row(last, [], |row| row.get("seq")).optional()?;
    let next = last.unwrap_or(0) + 1;
    let numbers = next..next + NUMBERS_AT_ONCE;
    let sql = match last {
        Some(_) => "UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'checks'",
        None => "INSERT INTO sqlite_sequence (name, seq) VALUES ('checks', ?1)",
    };
    db.execute(sql, [numbers.end - 1])?;
    Ok(numbers)
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
        problems: problems_from(row, "problems")?,
    })
}

pub(super) fn problems_from(
    row: &Row<'_>,
    column: impl Column,
) -> Result<Vec<Problem>, StoreError> {
    Ok(value::parsed(row, column, problem::from_stored)?.unwrap_or_default())
}

/// None if there are none.
pub(super) fn problems_as_column(problems: &[Problem]) -> Option<String> {
    (!problems.is_empty()).then(|| problem::to_stored(problems))
}
