//! Saving a check: all that it found, in one transaction, or nothing of it.
//!
//! The guarantee that every change is announced once rests on this: changes, entries, validators and the time of the
//! next check are on the disk together. Saving the same check again changes nothing.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};
use url::Url;

use super::name::{Minter, collection_slug};
use super::site::reworded;
use super::title::Titles;
use super::value::{self, integer, micros};
use super::{Cursor, Store, StoreError, change, check, entry, json, pages, round, shape};
use crate::memory::{CheckRecord, CollectionRecord, DocumentMemory, RoundRecord, SiteRecord};
use crate::site::{CheckId, CollectionId, SiteId, SiteStatus};

/// Nobody waits for a check to be saved, and whoever is saved together with others costs the disk less.
const PATIENCE: Duration = Duration::from_millis(10);

/// What saving a check came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Saved {
    /// Changes that are announced by it.
    pub new_changes: u64,
    /// The ids of the Atom entries that announce them.
    pub entries: Vec<String>,
    /// The changes that it found come after this place.
    pub after: Cursor,
    /// Whether something changed that a feed or a page shows.
    pub is_visible: bool,
    /// Whether feeds are others now in a way that the time of their newest entry does not tell: in other words, or with
    /// entries of earlier times.
    pub is_reworded: bool,
    /// Whether this check had ended before; then nothing was written.
    pub already_saved: bool,
}

impl Store {
    /// Saves what a check found. A check that has ended already is left as it is.
    pub async fn save_check(
        &self,
        site: SiteId,
        check: CheckId,
        record: impl Into<Arc<CheckRecord>>,
    ) -> Result<Saved, StoreError> {
        let record = record.into();
        self.save_within(Duration::ZERO, site, check, record).await
    }

    /// The same where other checks are about to end, too.
    pub async fn save_check_among_others(
        &self,
        site: SiteId,
        check: CheckId,
        record: impl Into<Arc<CheckRecord>>,
    ) -> Result<Saved, StoreError> {
        let record = record.into();
        self.save_within(PATIENCE, site, check, record).await
    }

    async fn save_within(
        &self,
        patience: Duration,
        site: SiteId,
        check: CheckId,
        record: Arc<CheckRecord>,
    ) -> Result<Saved, StoreError> {
        let inner = self.inner.clone();
        self.write_within(patience, move |db| {
            save(db, &inner.instance, site, check, &record)
        })
        .await
    }
}

fn save(
    db: &Connection,
    instance: &str,
    site: SiteId,
    check: CheckId,
    record: &CheckRecord,
) -> Result<Saved, StoreError> {
    let entries = record.collections.iter().flat_map(|one| &one.entries);
    let new_changes = entries.map(|entry| entry.changes.len() as u64).sum();
    let mut saved = Saved {
        new_changes,
        ..Saved::default()
    };
    if !check::end(db, site, check, record, new_changes)? {
        return Ok(Saved {
            already_saved: true,
            ..Saved::default()
        });
    }
    let next = match record.collections.is_empty() {
        true => None,
        false => Some(save_collections(db, instance, site, record, &mut saved)?),
    };
    cover(db, site, record)?;
    save_documents(db, site, &record.documents)?;
    forget_documents(db, site, &record.out_of_use)?;
    round::save(db, site, &record.round)?;
    save_quiet_hosts(db, record)?;
    if let Some(found) = &record.site {
        saved.is_reworded |= describe_site(db, site, found)?;
    }
    saved.is_visible |= saved.is_reworded;
    save_site(db, site, record, next)?;
    if saved.is_reworded {
        reworded(db, site, record.finished_at)?;
    }
    Ok(saved)
}

fn save_collections(
    db: &Connection,
    instance: &str,
    site: SiteId,
    record: &CheckRecord,
    saved: &mut Saved,
) -> Result<Next, StoreError> {
    let (url, mut next) = site_in_brief(db, site)?;
    saved.after = Cursor(next.n - 1);
    let minter = Minter {
        instance,
        url: &url,
        now: record.finished_at,
    };
    for collection in &record.collections {
        save_collection(db, site, &minter, collection, &mut next, saved)?;
    }
    Ok(next)
}

/// Notes of collections that nothing is new there.
fn cover(db: &Connection, site: SiteId, record: &CheckRecord) -> Result<(), StoreError> {
    if record.covered.is_empty() {
        return Ok(());
    }
    let mut update =
        db.prepare_cached("UPDATE collections SET covered_until = ?3 WHERE id = ?1 AND site = ?2")?;
    for collection in &record.covered {
        update.execute((collection.0, site.0, micros(record.started_at)))?;
    }
    Ok(())
}

/// The numbers that the next change and the next entry of a site get.
#[derive(Clone, Copy)]
struct Next {
    n: i64,
    entry: i64,
}

fn site_in_brief(db: &Connection, site: SiteId) -> Result<(Url, Next), StoreError> {
    let mut statement =
        db.prepare_cached("SELECT url, next_n, next_entry FROM sites WHERE id = ?1")?;
    let mut rows = statement.query([site.0])?;
    let row = rows.next()?.ok_or(StoreError::NotFound("site"))?;
    let next = Next {
        n: row.get("next_n")?,
        entry: row.get("next_entry")?,
    };
    Ok((value::url(row, "url")?, next))
}

fn save_collection(
    db: &Connection,
    site: SiteId,
    minter: &Minter<'_>,
    record: &CollectionRecord,
    next: &mut Next,
    saved: &mut Saved,
) -> Result<(), StoreError> {
    let found = match find(db, site, record)? {
        Some(found) => found,
        None => add(db, site, minter, record)?,
    };
    let (id, head) = (found.id, found.head);
    let before = next.n;
    let mut changes = change::Writer::new(db)?;
    for several in record.silent.chunks(change::AT_ONCE) {
        let several: Vec<_> = several.iter().map(Cow::Borrowed).collect();
        next.n = changes.add(id, &head, next.n, &several)?;
    }
    let mut place = found.next_entry;
    let mut titles = Titles::find(db, id, &head, next.n, &record.entries)?;
    let mut entries = entry::Writer::new(db, minter)?;
    for entry in record
        .entries
        .iter()
        .filter(|entry| !entry.changes.is_empty())
    {
        let first = next.n;
        for several in entry.changes.chunks(change::AT_ONCE) {
            let several = several.iter().map(|change| titles.complete(change));
            let several: Vec<_> = several.collect();
            next.n = changes.add(id, &head, next.n, &several)?;
        }
        let range = (first, next.n - 1);
        let entry_id = entries.add(site, id, range, (place, next.entry), entry)?;
        // Readers are told times to the second.
        saved.is_reworded |= entry.updated_at.timestamp() < minter.now.timestamp();
        saved.entries.push(entry_id);
        place += 1;
        next.entry += i64::from(entry.is_for_site);
        saved.is_visible = true;
    }
    let update = "UPDATE collections SET title = ?2, is_own = ?3, change_count = change_count + ?4, next_entry = ?5,
           last_processed = ?6, covered_until = ?7, capability_list = ?8, described_by = ?9, about = ?10, lists = ?11,
           list = ?12
         WHERE id = ?1";
    match &record.pages {
        Some(record) => saved.is_reworded |= pages::write(db, id, &head, &record.writes)?,
        None if found.has_pages => pages::clear(db, id)?,
        None => {}
    }
    saved.is_reworded |= !found.looks_the_same;
    let pages = record.pages.as_ref();
    if !found.has_identity {
        // Apart, because it stands in an index, which would be written anew every time.
        db.prepare_cached("UPDATE collections SET identity = ?2 WHERE id = ?1")?
            .execute((id.0, record.identity.as_str()))?;
    }
    db.prepare_cached(update)?.execute((
        id.0,
        &record.title,
        record.is_own,
        next.n - before,
        place,
        record.last_processed.map(|moment| moment.to_string()),
        record.covered_until.map(micros),
        record.capability_list.as_ref().map(Url::as_str),
        record.described_by.as_ref().map(Url::as_str),
        json::from_about(&record.about),
        json::from_lists(&record.lists),
        pages.map(|pages| json::from_list_state(&pages.state)),
    ))?;
    Ok(())
}

/// A collection as it was before.
struct Found {
    id: CollectionId,
    head: String,
    /// The place of its next entry.
    next_entry: i64,
    has_pages: bool,
    /// Whether it is still identified by the same address.
    has_identity: bool,
    /// Whether it says now what it said before about itself.
    looks_the_same: bool,
}

/// The collection, if it is there. By its number if the check knew it, for then it must be there.
fn find(
    db: &Connection,
    site: SiteId,
    record: &CollectionRecord,
) -> Result<Option<Found>, StoreError> {
    let by = match record.id {
        Some(_) => "id = ?2",
        None => "identity = ?3",
    };
    let sql = format!(
        "SELECT id, head, next_entry, list IS NOT NULL AS has_pages, identity = ?3 AS has_identity,
           title = ?4 AND is_own = ?5 AND capability_list IS ?6 AND described_by IS ?7 AND about IS ?8 AS looks_the_same
         FROM collections WHERE site = ?1 AND {by}"
    );
    let found = db
        .prepare_cached(&sql)?
        .query_row(
            (
                site.0,
                record.id.map(|id| id.0),
                record.identity.as_str(),
                &record.title,
                record.is_own,
                record.capability_list.as_ref().map(Url::as_str),
                record.described_by.as_ref().map(Url::as_str),
                json::from_about(&record.about),
            ),
            |row| {
                let has_identity = row.get("has_identity")?;
                Ok(Found {
                    id: CollectionId(row.get("id")?),
                    head: row.get("head")?,
                    next_entry: row.get("next_entry")?,
                    has_pages: row.get("has_pages")?,
                    has_identity,
                    looks_the_same: has_identity && row.get("looks_the_same")?,
                })
            },
        )
        .optional()?;
    match (found, record.id) {
        (None, Some(_)) => Err(StoreError::NotFound("collection")),
        (found, _) => Ok(found),
    }
}

fn add(
    db: &Connection,
    site: SiteId,
    minter: &Minter<'_>,
    record: &CollectionRecord,
) -> Result<Found, StoreError> {
    let slug = collection_slug(&record.identity, |slug| {
        db.prepare_cached("SELECT 1 FROM collections WHERE site = ?1 AND slug = ?2")?
            .exists((site.0, slug))
            .map_err(StoreError::from)
    })?;
    let announced = record.entries.iter().flat_map(|entry| &entry.changes);
    let urls = record
        .silent
        .iter()
        .chain(announced)
        .map(|change| change.url.as_str());
    // A list of pages shows better than a few changes what they have in common.
    let listed = record.pages.as_ref().map(|pages| &pages.writes.insert);
    let listed = listed
        .into_iter()
        .flat_map(|table| (0..table.len()).map(|place| table.url(place)));
    let head = shape::common_head(record.identity.as_str(), urls.chain(listed));
    db.prepare_cached(
        "INSERT INTO collections (site, identity, slug, feed_id, head, title, is_own)
         VALUES (?1, ?2, ?3, '', ?4, '', 0)",
    )?
    .execute((site.0, record.identity.as_str(), slug, &head))?;
    let id = CollectionId(db.last_insert_rowid());
    db.prepare_cached("UPDATE collections SET feed_id = ?2 WHERE id = ?1")?
        .execute((id.0, minter.mint("collection", &id.to_string())))?;
    Ok(Found {
        id,
        head,
        next_entry: 0,
        has_pages: false,
        has_identity: true,
        looks_the_same: false,
    })
}

fn save_documents(
    db: &Connection,
    site: SiteId,
    documents: &[(Url, DocumentMemory)],
) -> Result<(), StoreError> {
    if documents.is_empty() {
        return Ok(());
    }
    // Mostly it is there, and then this takes less than to insert it and meet it.
    let mut update = db.prepare_cached(
        "UPDATE documents SET read_at = ?3, validators_url = ?4, etag = ?5, last_modified = ?6, problems = ?7, outline = ?8
         WHERE site = ?1 AND url = ?2",
    )?;
    let mut insert = db.prepare_cached(
        "INSERT INTO documents (site, url, read_at, validators_url, etag, last_modified, problems, outline)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for (url, document) in documents {
        let validators = document.validators.as_ref();
        let problems = check::problems_as_column(&document.problems);
        let values = (
            site.0,
            url.as_str(),
            micros(document.read_at),
            validators.map(|validators| validators.url.as_str()),
            validators.and_then(|validators| validators.etag.as_deref()),
            validators.and_then(|validators| validators.last_modified.as_deref()),
            &problems,
            &document.outline,
        );
        if update.execute(values)? == 0 {
            insert.execute(values)?;
        }
    }
    Ok(())
}

fn forget_documents(db: &Connection, site: SiteId, urls: &[Url]) -> Result<(), StoreError> {
    for url in urls {
        db.prepare_cached("DELETE FROM documents WHERE site = ?1 AND url = ?2")?
            .execute((site.0, url.as_str()))?;
    }
    Ok(())
}

fn save_site(
    db: &Connection,
    site: SiteId,
    record: &CheckRecord,
    next: Option<Next>,
) -> Result<(), StoreError> {
    // The operator's pause is kept beside the status, and outlives a check that was under way.
    let status = Some(record.status).filter(|status| *status != SiteStatus::Paused);
    // By place, as all that every check writes: looking for names takes as long as writing.
    let update =
        "UPDATE sites SET status = ifnull(?2, status), interval_secs = ?3, failures = ?4, last_check_at = ?5,
           next_check_at = ?6, next_n = ifnull(?7, next_n), next_entry = ifnull(?8, next_entry), round_at = ?9
         WHERE id = ?1";
    db.prepare_cached(update)?.execute((
        site.0,
        status.map(SiteStatus::as_str),
        integer(record.interval_secs),
        record.failures,
        micros(record.finished_at),
        micros(record.next_check_at),
        next.map(|next| next.n),
        next.map(|next| next.entry),
        (record.round == RoundRecord::Gone).then(|| micros(record.started_at)),
    ))?;
    Ok(())
}

fn save_quiet_hosts(db: &Connection, record: &CheckRecord) -> Result<(), StoreError> {
    for (host, until) in &record.quiet_hosts {
        db.prepare_cached(
            "INSERT INTO quiet_hosts (host, until) VALUES (?1, ?2) ON CONFLICT (host) DO UPDATE SET until = excluded.until",
        )?
        .execute((host, micros(*until)))?;
    }
    Ok(())
}

/// Notes what a site says about itself; whether that is something else than before.
fn describe_site(db: &Connection, site: SiteId, found: &SiteRecord) -> Result<bool, StoreError> {
    let changed = db
        .prepare_cached(
            "UPDATE sites SET root = ?2, format = ?3, title = ?4, about = ?5, described_by = ?6 WHERE id = ?1
               AND (root IS NOT ?2 OR format IS NOT ?3 OR title IS NOT ?4 OR about IS NOT ?5 OR described_by IS NOT ?6)",
        )?
        .execute((
            site.0,
            found.root.as_str(),
            found.format.as_str(),
            &found.title,
            json::from_about(&found.about),
            found.described_by.as_ref().map(Url::as_str),
        ))?;
    if let Some(looked_at) = found.looked_at {
        db.prepare_cached("UPDATE sites SET looked_at = ?2 WHERE id = ?1")?
            .execute((site.0, micros(looked_at)))?;
    }
    Ok(changed > 0)
}
