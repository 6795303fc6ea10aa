//! Everything that a check needs to know of a site, read in one transaction.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Row};
use url::Url;

use super::shape::Shape;
use super::{Store, StoreError, check, json, pages, site, value};
use crate::memory::{
    ChangeKey, CollectionMemory, DocumentMemory, Known, PagesMemory, SiteMemory, Validators,
};
use crate::moment::Moment;
use crate::site::{CollectionId, Format, SiteId, SiteUrl};

/// So many are walked through in less than a millisecond.
const FEW_CHANGES: i64 = 2_000;

impl Store {
    /// What is remembered of a site.
    pub async fn memory(&self, id: SiteId) -> Result<Option<SiteMemory>, StoreError> {
        match self.read(move |db| change_count(db, id)).await? {
            ..=FEW_CHANGES => self.read(move |db| memory(db, id)).await,
            _ => self.read_long(move |db| memory(db, id)).await,
        }
    }
}

fn change_count(db: &Connection, id: SiteId) -> Result<i64, StoreError> {
    let sql = "SELECT ifnull(sum(change_count), 0) AS count FROM collections WHERE site = ?1";
    let mut statement = db.prepare_cached(sql)?;
    Ok(statement.query_row([id.0], |row| row.get("count"))?)
}

fn memory(db: &Connection, id: SiteId) -> Result<Option<SiteMemory>, StoreError> {
    let mut statement = db.prepare_cached("SELECT * FROM sites WHERE id = ?1")?;
    let mut rows = statement.query([id.0])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    Ok(Some(SiteMemory {
        id,
        url: SiteUrl::kept(value::url(row, "url")?, row.get("scheme_given")?),
        root: value::optional_url(row, "root")?,
        format: value::parsed(row, "format", Format::parse)?,
        looked_at: value::optional_instant(row, "looked_at")?,
        about: value::parsed(row, "about", json::to_about)?.unwrap_or_default(),
        status: site::status_from_row(row)?,
        interval_secs: value::natural(row, "interval_secs")?,
        failures: value::natural(row, "failures")?,
        documents: documents(db, id)?,
        collections: collections(db, id)?,
    }))
}

fn documents(db: &Connection, site: SiteId) -> Result<HashMap<Url, DocumentMemory>, StoreError> {
    let mut statement = db.prepare_cached("SELECT * FROM documents WHERE site = ?1")?;
    let mut rows = statement.query([site.0])?;
    let mut documents = HashMap::new();
    while let Some(row) = rows.next()? {
        let url = value::url(row, "url")?;
        let document = document_from_row(row, &url)?;
        documents.insert(url, document);
    }
    Ok(documents)
}

fn document_from_row(row: &Row<'_>, url: &Url) -> Result<DocumentMemory, StoreError> {
    let text = row.get_ref("validators_url")?.as_str_or_null();
    let validators_url = match text.map_err(|_| StoreError::Unreadable("validators_url"))? {
        // Mostly so, and an address takes its time to be read.
        Some(same) if same == url.as_str() => Some(url.clone()),
        Some(_) => value::optional_url(row, "validators_url")?,
        None => None,
    };
    let validators = match validators_url {
        Some(url) => Some(Validators {
            url,
            etag: row.get("etag")?,
            last_modified: row.get("last_modified")?,
        }),
        None => None,
    };
    Ok(DocumentMemory {
        validators,
        read_at: value::instant(row, "read_at")?,
        outline: row.get("outline")?,
        problems: check::problems_from_row(row)?,
    })
}

fn collections(db: &Connection, site: SiteId) -> Result<Vec<CollectionMemory>, StoreError> {
    let mut statement =
        db.prepare_cached("SELECT * FROM collections WHERE site = ?1 ORDER BY id")?;
    let mut rows = statement.query([site.0])?;
    let mut collections = Vec::new();
    while let Some(row) = rows.next()? {
        let id = CollectionId(row.get("id")?);
        let head: String = row.get("head")?;
        let pages = match value::parsed(row, "list", json::to_list_state)? {
            Some(state) => Some(PagesMemory {
                state,
                known: Arc::new(pages::known(db, id)?),
            }),
            None => None,
        };
        collections.push(CollectionMemory {
            id,
            identity: value::url(row, "identity")?,
            capability_list: value::optional_url(row, "capability_list")?,
            about: value::parsed(row, "about", json::to_about)?.unwrap_or_default(),
            last_processed: value::parsed(row, "last_processed", |text| Moment::parse(text).ok())?,
            horizon: horizon_from_row(row)?,
            covered_until: value::optional_instant(row, "covered_until")?,
            known: Arc::new(known(db, id, &head)?),
            lists: value::parsed(row, "lists", json::to_lists)?.unwrap_or_default(),
            pages,
        });
    }
    Ok(collections)
}

pub(super) fn horizon_from_row(row: &Row<'_>) -> Result<Option<DateTime<Utc>>, StoreError> {
    value::parsed(row, "horizon", |text| text.parse().ok())
}

/// The keys of all changes: one walk through the collection's part of the table.
fn known(db: &Connection, collection: CollectionId, head: &str) -> Result<Known, StoreError> {
    let mut statement =
        db.prepare_cached("SELECT at, shape, url FROM changes WHERE collection = ?1")?;
    let (at, shape, url) = (
        statement.column_index("at")?,
        statement.column_index("shape")?,
        statement.column_index("url")?,
    );
    let mut rows = statement.query([collection.0])?;
    let mut known = Known::default();
    let mut whole = String::from(head);
    while let Some(row) = rows.next()? {
        let shape = Shape::read(row.get(at)?, row.get(shape)?)?;
        let tail = row.get_ref(url)?.as_str();
        let tail = tail.map_err(|_| StoreError::Unreadable("url"))?;
        whole.truncate(head.len());
        whole.push_str(tail);
        let url = if shape.has_head { &whole } else { tail };
        known.add(ChangeKey::new(url, shape.kind, &shape.datetime));
    }
    Ok(known)
}
