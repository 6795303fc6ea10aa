//! What whoever runs the instance looks at: everything at a glance, and lists of sites.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use rusqlite::named_params;
use url::Url;

use super::site::status_from_row;
use super::value::{self, micros};
use super::{Store, StoreError};
use crate::account::AccountId;
use crate::site::{SiteId, SiteStatus};

/// How much there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Accounts.
    pub accounts: u64,
    /// Subscriptions of all of them.
    pub subscriptions: u64,
    /// Sites.
    pub sites: u64,
    /// Of these, those that should be checked now.
    pub due: u64,
    /// Those whose last check failed, or that are gone.
    pub failing: u64,
    /// Those that are paused.
    pub paused: u64,
    /// The size of the database, in bytes.
    pub bytes: u64,
}

/// Which sites to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiteFilter {
    /// All of them.
    All,
    /// Those that should be checked now.
    Due,
    /// Those whose last check failed, or that are gone.
    Failing,
    /// Those that are paused.
    Paused,
}

/// A site in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteLine {
    /// The site.
    pub id: SiteId,
    /// The address that was asked for.
    pub url: Url,
    /// Its name in our addresses.
    pub slug: String,
    /// What it is called.
    pub title: Option<String>,
    /// How things stand.
    pub status: SiteStatus,
    /// When its last check ended.
    pub last_check_at: Option<DateTime<Utc>>,
    /// When it is due; none while it is paused.
    pub next_check_at: Option<DateTime<Utc>>,
    /// What came of the last check, in a sentence.
    pub summary: Option<String>,
    /// How many accounts follow it, as a whole or in part.
    pub followers: u64,
}

impl Store {
    /// How much there is.
    pub async fn counts(&self, now: DateTime<Utc>) -> Result<Counts, StoreError> {
        self.read_long(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT (SELECT count(*) FROM accounts) AS accounts,
                   (SELECT count(*) FROM subscriptions) AS subscriptions,
                   count(*) AS sites,
                   count(*) FILTER (WHERE is_paused = 0 AND next_check_at <= ?1) AS due,
                   count(*) FILTER (WHERE is_paused = 0 AND status IN ('failing', 'gone')) AS failing,
                   count(*) FILTER (WHERE is_paused) AS paused,
                   (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size) AS bytes
                 FROM sites",
            )?;
            let mut rows = statement.query([micros(now)])?;
            let Some(row) = rows.next()? else {
                return Ok(Counts::default());
            };
            Ok(Counts {
                accounts: value::natural(row, "accounts")?,
                subscriptions: value::natural(row, "subscriptions")?,
                sites: value::natural(row, "sites")?,
                due: value::natural(row, "due")?,
                failing: value::natural(row, "failing")?,
                paused: value::natural(row, "paused")?,
                bytes: value::natural(row, "bytes")?,
            })
        })
        .await
    }

    /// Some sites after one of them, in the order in which they were added.
    pub async fn site_lines(
        &self,
        filter: SiteFilter,
        after: Option<SiteId>,
        limit: u32,
        now: DateTime<Utc>,
    ) -> Result<Vec<SiteLine>, StoreError> {
        let after = after.map_or(0, |id| id.0);
        let which = match filter {
            SiteFilter::All => 0,
            SiteFilter::Due => 1,
            SiteFilter::Failing => 2,
            SiteFilter::Paused => 3,
        };
        self.read_long(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT id, url, slug, title, status, is_paused, last_check_at, next_check_at,
                   (SELECT summary FROM checks WHERE site = sites.id AND finished_at IS NOT NULL
                    ORDER BY id DESC LIMIT 1) AS summary,
                   (SELECT count(DISTINCT account) FROM subscriptions WHERE site = sites.id) AS followers
                 FROM sites WHERE id > :after AND CASE :which
                   WHEN 1 THEN is_paused = 0 AND next_check_at <= :now
                   WHEN 2 THEN is_paused = 0 AND status IN ('failing', 'gone')
                   WHEN 3 THEN is_paused
                   ELSE 1 END
                 ORDER BY id LIMIT :limit",
            )?;
            let mut rows = statement.query(named_params! {
                ":after": after, ":which": which, ":now": micros(now), ":limit": limit,
            })?;
            let mut lines = Vec::new();
            while let Some(row) = rows.next()? {
                let status = status_from_row(row)?;
                let next_check_at = value::optional_instant(row, "next_check_at")?;
                lines.push(SiteLine {
                    id: SiteId(row.get("id")?),
                    url: value::url(row, "url")?,
                    slug: row.get("slug")?,
                    title: row.get("title")?,
                    status,
                    last_check_at: value::optional_instant(row, "last_check_at")?,
                    next_check_at: next_check_at.filter(|_| status != SiteStatus::Paused),
                    summary: row.get("summary")?,
                    followers: value::natural(row, "followers")?,
                });
            }
            Ok(lines)
        })
        .await
    }

    /// How many sites each account follows.
    pub async fn sites_followed_by_all(&self) -> Result<HashMap<AccountId, u64>, StoreError> {
        self.read_long(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT account, count(DISTINCT site) AS count FROM subscriptions GROUP BY account",
            )?;
            let mut rows = statement.query([])?;
            let mut counts = HashMap::new();
            while let Some(row) = rows.next()? {
                counts.insert(
                    AccountId(row.get("account")?),
                    value::natural(row, "count")?,
                );
            }
            Ok(counts)
        })
        .await
    }
}
