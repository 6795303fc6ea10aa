//! Sites: what is followed, when it is due, how it stands.

use std::collections::{BTreeMap, HashSet};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, named_params};
use url::Url;

use super::collection::CollectionRow;
use super::name::{Minter, site_slug};
use super::value::{self, Column, columns, micros};
use super::{Store, StoreError, json};
use crate::account::AccountId;
use crate::site::{About, Format, SiteId, SiteStatus, SiteUrl, host_key};

/// How often a new site should be checked is not known.
const FIRST_INTERVAL_SECS: i64 = 0;

columns! {
    /// Of what is due, answered from the index alone, and in its order, so that whoever has enough can stop.
    DueColumn: id, url, host;
    "FROM sites
     WHERE is_paused = 0 AND next_check_at / 900000000 <= ?1 / 900000000 AND next_check_at <= ?1
     ORDER BY next_check_at / 900000000, id"
}

/// A site with its collections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteRow {
    /// The site.
    pub id: SiteId,
    /// The address that was asked for.
    pub url: Url,
    /// Its name in our addresses: readable, unique, and never changed.
    pub slug: String,
    /// The id of its feed: a tag URI, made once.
    pub feed_id: String,
    /// The root document, once it was found.
    pub root: Option<Url>,
    /// The format of that.
    pub format: Option<Format>,
    /// What the site is called.
    pub title: Option<String>,
    /// What it says about itself.
    pub about: About,
    /// Where it is described, in the words of the source.
    pub described_by: Option<Url>,
    /// How things stand.
    pub status: SiteStatus,
    /// When its last check ended.
    pub last_check_at: Option<DateTime<Utc>>,
    /// When it is due; none while it is paused.
    pub next_check_at: Option<DateTime<Utc>>,
    /// When it was added.
    pub added_at: DateTime<Utc>,
    /// When its feeds last became others in a way that the time of their newest entry does not tell.
    pub reworded_at: Option<DateTime<Utc>>,
    /// Entries that it ever had.
    pub entry_count: i64,
    /// Its collections, in the order in which they were found.
    pub collections: Vec<CollectionRow>,
}

/// A site that should be checked now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueSite {
    /// The site.
    pub id: SiteId,
    /// The address that was asked for.
    pub url: Url,
    /// Its host.
    pub host: String,
}

/// What is due.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Due {
    /// What can be checked, up to the limit.
    pub sites: Vec<DueSite>,
    /// What was passed over on the way.
    pub at_busy_hosts: Vec<SiteId>,
}

impl Store {
    /// Adds a site, which is due at once; and whether it is new.
    pub async fn add_site(
        &self,
        site: impl Into<SiteUrl>,
        now: DateTime<Utc>,
    ) -> Result<(SiteId, bool), StoreError> {
        let (site, instance) = (site.into(), self.instance().await);
        self.write(move |db| {
            if let Some(id) = known(db, &site)? {
                return Ok((id, false));
            }
            let url = site.url();
            let slug = site_slug(url, |slug| is_taken(db, slug))?;
            db.prepare_cached(
                "INSERT INTO sites
                   (url, scheme_given, slug, feed_id, host, status, interval_secs, next_check_at, added_at)
                 VALUES (:url, :scheme_given, :slug, '', :host, :status, :interval_secs, :now, :now)",
            )?
            .execute(named_params! {
                ":url": url.as_str(),
                ":scheme_given": site.is_scheme_given(),
                ":slug": slug,
                ":host": host_key(url),
                ":status": SiteStatus::New.as_str(),
                ":interval_secs": FIRST_INTERVAL_SECS,
                ":now": micros(now),
            })?;
            let id = db.last_insert_rowid();
            let minter = Minter {
                instance: &instance,
                url,
                now,
            };
            db.prepare_cached("UPDATE sites SET feed_id = ?2 WHERE id = ?1")?
                .execute((id, minter.mint("site", &id.to_string())))?;
            Ok((SiteId(id), true))
        })
        .await
    }

    /// A site.
    pub async fn site(&self, id: SiteId) -> Result<Option<SiteRow>, StoreError> {
        self.read(move |db| {
            let mut statement = db.prepare_cached("SELECT * FROM sites WHERE id = ?1")?;
            let mut rows = statement.query([id.0])?;
            let Some(row) = rows.next()? else {
                return Ok(None);
            };
            site_from_row(db, row).map(Some)
        })
        .await
    }

    /// The site that somebody means who typed this.
    pub async fn find_site(&self, typed: &SiteUrl) -> Result<Option<SiteId>, StoreError> {
        self.read(|db| known(db, typed)).await
    }

    /// The site with this address.
    pub async fn site_by_url(&self, url: &Url) -> Result<Option<SiteId>, StoreError> {
        let url = url.to_string();
        self.read(move |db| id_by(db, "url", &url)).await
    }

    /// The site with this name in our addresses.
    pub async fn site_by_slug(&self, slug: &str) -> Result<Option<SiteId>, StoreError> {
        let slug = slug.to_owned();
        self.read(move |db| id_by(db, "slug", &slug)).await
    }

    /// Sites in the order in which they were added.
    pub async fn sites(
        &self,
        after: Option<SiteId>,
        limit: u32,
    ) -> Result<Vec<SiteRow>, StoreError> {
        let after = after.map_or(0, |id| id.0);
        self.read(move |db| {
            let mut statement =
                db.prepare_cached("SELECT * FROM sites WHERE id > ?1 ORDER BY id LIMIT ?2")?;
            let mut rows = statement.query((after, limit))?;
            let mut sites = Vec::new();
            while let Some(row) = rows.next()? {
                sites.push(site_from_row(db, row)?);
            }
            Ok(sites)
        })
        .await
    }

    /// The sites that an account follows, as a whole or in part.
    pub async fn followed_sites(
        &self,
        account: AccountId,
    ) -> Result<BTreeMap<SiteId, SiteRow>, StoreError> {
        self.read_long(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT * FROM sites WHERE id IN (SELECT site FROM subscriptions WHERE account = ?1)",
            )?;
            let mut rows = statement.query([account.0])?;
            let mut sites = BTreeMap::new();
            while let Some(row) = rows.next()? {
                let site = site_from_row(db, row)?;
                sites.insert(site.id, site);
            }
            Ok(sites)
        })
        .await
    }

    /// Pauses a site, or goes on with it, and then it is due at once; whether there is such a site.
    pub async fn set_paused(
        &self,
        id: SiteId,
        paused: bool,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        self.write(move |db| {
            let changed = db
                .prepare_cached(
                    "UPDATE sites SET is_paused = :paused, next_check_at =
                       CASE WHEN is_paused AND NOT :paused THEN :now ELSE next_check_at END
                     WHERE id = :id",
                )?
                .execute(named_params! {":id": id.0, ":paused": paused, ":now": micros(now)})?;
            Ok(changed > 0)
        })
        .await
    }

    /// Removes a site with everything that is known of it; whether there was one. The operator's act alone: accounts
    /// come and go without it.
    pub async fn remove_site(&self, id: SiteId, now: DateTime<Utc>) -> Result<bool, StoreError> {
        self.write(move |db| {
            db.prepare_cached(
                "INSERT OR IGNORE INTO removed_sites (slug, removed_at) SELECT slug, ?2 FROM sites WHERE id = ?1",
            )?
            .execute((id.0, micros(now)))?;
            db.prepare_cached(
                "UPDATE accounts SET unfollowed_at = ?2 WHERE id IN (SELECT account FROM subscriptions WHERE site = ?1)",
            )?
            .execute((id.0, micros(now)))?;
            let removed = db
                .prepare_cached("DELETE FROM sites WHERE id = ?1")?
                .execute([id.0])?;
            Ok(removed > 0)
        })
        .await
    }

    /// Whether a site of this name was removed.
    pub async fn is_removed(&self, slug: &str) -> Result<bool, StoreError> {
        let slug = slug.to_owned();
        self.read(move |db| was_removed(db, &slug)).await
    }

    /// Sites that should be checked now, but for those at hosts that are `busy`: those first that have waited longest, to
    /// the quarter of an hour, and among these in the order in which they were added.
    pub async fn due(
        &self,
        now: DateTime<Utc>,
        limit: u32,
        busy: &[String],
    ) -> Result<Due, StoreError> {
        let busy: HashSet<&str> = busy.iter().map(String::as_str).collect();
        self.read(|db| {
            let mut statement = db.prepare_cached(DueColumn::SELECT)?;
            let mut rows = statement.query([micros(now)])?;
            let mut due = Due::default();
            while due.sites.len() < limit as usize
                && let Some(row) = rows.next()?
            {
                let id = SiteId(value::get(row, DueColumn::id)?);
                let host = row.get_ref(DueColumn::host as usize)?.as_str();
                let host = host.map_err(|_| StoreError::Unreadable("host"))?;
                if busy.contains(host) {
                    due.at_busy_hosts.push(id);
                    continue;
                }
                due.sites.push(DueSite {
                    id,
                    url: value::url(row, DueColumn::url)?,
                    host: host.to_owned(),
                });
            }
            Ok(due)
        })
        .await
    }

    /// Makes a site due at a time, unless it is due before.
    pub async fn make_due(&self, id: SiteId, at: DateTime<Utc>) -> Result<(), StoreError> {
        self.write(move |db| {
            db.prepare_cached(
                "UPDATE sites SET next_check_at = ?2 WHERE id = ?1 AND next_check_at > ?2",
            )?
            .execute((id.0, micros(at)))?;
            Ok(())
        })
        .await
    }

    /// Moves the sites of a host that are due before `until` to that time, because the host wants peace. Tells how many.
    pub async fn leave_alone(&self, host: &str, until: DateTime<Utc>) -> Result<u64, StoreError> {
        let host = host.to_owned();
        self.write(move |db| {
            let moved = db
                .prepare_cached(
                    "UPDATE sites SET next_check_at = ?2
                     WHERE next_check_at / 900000000 <= ?2 / 900000000 AND next_check_at < ?2
                       AND is_paused = 0 AND host = ?1",
                )?
                .execute((&host, micros(until)))?;
            Ok(moved as u64)
        })
        .await
    }

    /// Hosts that want no requests at present, and until when.
    pub async fn quiet_hosts(
        &self,
        now: DateTime<Utc>,
    ) -> Result<Vec<(String, DateTime<Utc>)>, StoreError> {
        self.read(move |db| {
            let mut statement =
                db.prepare_cached("SELECT host, until FROM quiet_hosts WHERE until > ?1")?;
            let mut rows = statement.query([micros(now)])?;
            let mut hosts = Vec::new();
            while let Some(row) = rows.next()? {
                hosts.push((row.get("host")?, value::instant(row, "until")?));
            }
            Ok(hosts)
        })
        .await
    }

    /// When the next site is due.
    pub async fn next_due_at(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        self.read(move |db| {
            let mut statement = db
                .prepare_cached("SELECT min(next_check_at) AS at FROM sites WHERE is_paused = 0")?;
            let mut rows = statement.query([])?;
            match rows.next()? {
                Some(row) => value::optional_instant(row, "at"),
                None => Ok(None),
            }
        })
        .await
    }
}

/// Notes that the feeds of a site are others from now on, although no new entry says so. A clock that was set back moves
/// nothing back.
pub(super) fn reworded(
    db: &Connection,
    site: SiteId,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let sql = "UPDATE sites SET reworded_at = max(ifnull(reworded_at, ?2), ?2) WHERE id = ?1";
    db.prepare_cached(sql)?.execute((site.0, micros(now)))?;
    Ok(())
}

fn known(db: &Connection, site: &SiteUrl) -> Result<Option<SiteId>, StoreError> {
    // A site that is known over http is the one that is meant by a name without a scheme.
    for spelling in [Some(site.clone()), site.over_http()].into_iter().flatten() {
        if let Some(id) = id_by(db, "url", spelling.url().as_str())? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

fn is_taken(db: &Connection, slug: &str) -> Result<bool, StoreError> {
    Ok(id_by(db, "slug", slug)?.is_some() || was_removed(db, slug)?)
}

fn was_removed(db: &Connection, slug: &str) -> Result<bool, StoreError> {
    let mut statement = db.prepare_cached("SELECT 1 FROM removed_sites WHERE slug = ?1")?;
    Ok(statement.exists([slug])?)
}

fn id_by(db: &Connection, column: &str, text: &str) -> Result<Option<SiteId>, StoreError> {
    let sql = format!("SELECT id FROM sites WHERE {column} = ?1");
    let mut statement = db.prepare_cached(&sql)?;
    let id = statement
        .query_row([text], |row| row.get("id"))
        .optional()?;
    Ok(id.map(SiteId))
}

fn site_from_row(db: &Connection, row: &Row<'_>) -> Result<SiteRow, StoreError> {
    let id = SiteId(row.get("id")?);
    let status = status_from_row(row)?;
    Ok(SiteRow {
        id,
        url: value::url(row, "url")?,
        slug: row.get("slug")?,
        feed_id: row.get("feed_id")?,
        root: value::optional_url(row, "root")?,
        format: value::parsed(row, "format", Format::parse)?,
        title: row.get("title")?,
        about: value::parsed(row, "about", json::to_about)?.unwrap_or_default(),
        described_by: value::optional_url(row, "described_by")?,
        status,
        last_check_at: value::optional_instant(row, "last_check_at")?,
        next_check_at: value::optional_instant(row, "next_check_at")?
            .filter(|_| status != SiteStatus::Paused),
        added_at: value::instant(row, "added_at")?,
        reworded_at: value::optional_instant(row, "reworded_at")?,
        entry_count: row.get("next_entry")?,
        collections: super::collection::collections(db, id)?,
    })
}

/// A paused site keeps the status that it will have again.
pub(super) fn status_from_row(row: &Row<'_>) -> Result<SiteStatus, StoreError> {
    status_from(row, "is_paused", "status")
}

pub(super) fn status_from(
    row: &Row<'_>,
    is_paused: impl Column,
    status: impl Column,
) -> Result<SiteStatus, StoreError> {
    if value::get(row, is_paused)? {
        return Ok(SiteStatus::Paused);
    }
    value::parsed(row, status, SiteStatus::parse)?.ok_or(StoreError::Unreadable("status"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{file, migrate};

    #[test]
    fn asking_what_is_due_reads_nothing_but_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let db = file::open(folder.path(), migrate::MIGRATIONS).unwrap();
        let mut plan = db
            .prepare(&format!("EXPLAIN QUERY PLAN {}", DueColumn::SELECT))
            .unwrap();
        let steps = plan.query_map([0], |row| row.get("detail")).unwrap();
        let steps: Vec<String> = steps.collect::<Result<_, _>>().unwrap();
        assert_eq!(
            steps,
            ["SEARCH sites USING COVERING INDEX sites_due (<expr><?)"]
        );
    }
}
