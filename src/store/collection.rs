//! Collections, as pages and programs see them.

use rusqlite::{Connection, OptionalExtension, Row};
use url::Url;

use super::{Store, StoreError, json, value};
use crate::moment::Moment;
use crate::site::{About, CollectionId, SiteId};

/// A collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionRow {
    /// The collection.
    pub id: CollectionId,
    /// The address that identifies it.
    pub identity: Url,
    /// Its name in our addresses: readable, unique inside the site, and never changed.
    pub slug: String,
    /// What it is called.
    pub title: String,
    /// What it says about itself.
    pub about: About,
    /// Where it is described.
    pub described_by: Option<Url>,
    /// Whether it is on the site that describes it.
    pub is_own: bool,
    /// The newest change that was processed and does not lie in the future.
    pub last_processed: Option<Moment>,
    /// The id of its feed: a tag URI, made once.
    pub feed_id: String,
    /// Its Capability List.
    pub capability_list: Option<Url>,
    /// Entries that it ever had.
    pub entry_count: i64,
}

impl Store {
    /// The collection of a site that this address identifies.
    pub async fn collection(
        &self,
        site: SiteId,
        identity: &Url,
    ) -> Result<Option<CollectionId>, StoreError> {
        let identity = identity.to_string();
        self.read(move |db| {
            let id = db
                .prepare_cached("SELECT id FROM collections WHERE site = ?1 AND identity = ?2")?
                .query_row((site.0, &identity), |row| row.get("id"))
                .optional()?;
            Ok(id.map(CollectionId))
        })
        .await
    }
}

/// The collections of a site, in the order in which they were found.
pub(super) fn collections(db: &Connection, site: SiteId) -> Result<Vec<CollectionRow>, StoreError> {
    let mut statement =
        db.prepare_cached("SELECT * FROM collections WHERE site = ?1 ORDER BY id")?;
    let mut rows = statement.query([site.0])?;
    let mut collections = Vec::new();
    while let Some(row) = rows.next()? {
        collections.push(collection_from_row(row)?);
    }
    Ok(collections)
}

fn collection_from_row(row: &Row<'_>) -> Result<CollectionRow, StoreError> {
    Ok(CollectionRow {
        id: CollectionId(row.get("id")?),
        identity: value::url(row, "identity")?,
        slug: row.get("slug")?,
        title: row.get("title")?,
        about: value::parsed(row, "about", json::to_about)?.unwrap_or_default(),
        described_by: value::optional_url(row, "described_by")?,
        is_own: row.get("is_own")?,
        last_processed: value::parsed(row, "last_processed", |text| Moment::parse(text).ok())?,
        feed_id: row.get("feed_id")?,
        capability_list: value::optional_url(row, "capability_list")?,
        entry_count: row.get("next_entry")?,
    })
}
