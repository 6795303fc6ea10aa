//! Everything that a check needs to know of a site, read in one transaction; what is known of its changes and pages only
//! when it is asked for.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Row};
use url::Url;

use super::error::StoreError;
use super::shape::Shape;
use super::value::columns;
use super::{Store, check, json, pages, round, site, value};
use crate::memory::{
    ChangeKey, CollectionMemory, DocumentMemory, Known, KnownPages, PagesMemory, RecallError,
    Recollection, Remembered, RoundMemory, SiteMemory, Validators,
};
use crate::moment::Moment;
use crate::site::{CollectionId, Format, SiteId, SiteUrl};

/// So many are walked through in less than a millisecond.
const FEW_CHANGES: u64 = 2_000;

columns! {
    /// Of a site.
    Site: url, scheme_given, root, format, looked_at, title, about, described_by, status, is_paused, interval_secs,
    failures;
    "FROM sites WHERE id = ?1"
}

columns! {
    /// Of a document.
    Document: url, read_at, validators_url, etag, last_modified, problems, outline;
    "FROM documents WHERE site = ?1"
}

columns! {
    /// Of a collection.
    Collection: id, identity, capability_list, title, about, described_by, is_own, last_processed, covered_until,
    change_count, lists, list;
    "FROM collections WHERE site = ?1"
}

impl Store {
    /// What is remembered of a site.
    pub async fn memory(&self, id: SiteId) -> Result<Option<SiteMemory>, StoreError> {
        self.read(move |db| {
            let round = round::of(db, id)?;
            memory(db, self, id, round)
        })
        .await
    }

    /// What is recalled of a site at the beginning of a check.
    pub async fn remembered(&self, id: SiteId) -> Result<Option<Remembered>, StoreError> {
        self.read(move |db| remembered(db, self, id)).await
    }

    /// The pages of a collection, to be asked for when they are needed.
    fn pages_recollection(&self, id: CollectionId) -> Recollection<KnownPages> {
        let store = self.clone();
        Recollection::new(move || {
            let store = store.clone();
            Box::pin(async move {
                let known = store.read_long(move |db| pages::known(db, id)).await;
                known.map_err(|error| Arc::new(error) as RecallError)
            })
        })
    }

    /// What is known of the changes of a collection, to be asked for when it is needed.
    fn recollection(&self, id: CollectionId, change_count: u64) -> Recollection {
        let store = self.clone();
        Recollection::new(move || {
            let store = store.clone();
            Box::pin(async move {
                let known = match change_count {
                    ..=FEW_CHANGES => store.read(move |db| known(db, id)).await,
                    _ => store.read_long(move |db| known(db, id)).await,
                };
                known.map_err(|error| Arc::new(error) as RecallError)
            })
        })
    }
}

fn remembered(
    db: &Connection,
    store: &Store,
    id: SiteId,
) -> Result<Option<Remembered>, StoreError> {
    if let Some(memory) = round::of(db, id)? {
        return Ok(Some(Remembered::Round(Box::new(memory))));
    }
    let memory = memory(db, store, id, None)?;
    Ok(memory.map(|memory| Remembered::Whole(Box::new(memory))))
}

fn memory(
    db: &Connection,
    store: &Store,
    id: SiteId,
    round: Option<RoundMemory>,
) -> Result<Option<SiteMemory>, StoreError> {
    let mut statement = db.prepare_cached(Site::SELECT)?;
    let mut rows = statement.query([id.0])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let url = value::url(row, Site::url)?;
    let mut collections = collections(db, store, id, &url)?;
    for collection in &mut collections {
        let round = round.as_ref();
        let round = round.filter(|memory| memory.round.covered.contains(&collection.id));
        let gone_at = round.and_then(|round| round.gone_at);
        collection.covered_until = collection.covered_until.max(gone_at);
    }
    Ok(Some(SiteMemory {
        id,
        root: value::optional_url_near(row, Site::root, &url)?,
        format: value::parsed(row, Site::format, Format::parse)?,
        looked_at: value::optional_instant(row, Site::looked_at)?,
        title: value::get(row, Site::title)?,
        about: value::parsed(row, Site::about, json::to_about)?.unwrap_or_default(),
        described_by: value::optional_url_near(row, Site::described_by, &url)?,
        status: site::status_from(row, Site::is_paused, Site::status)?,
        interval_secs: value::natural(row, Site::interval_secs)?,
        failures: value::natural(row, Site::failures)?,
        documents: documents(db, id, &url)?,
        collections,
        has_round: round.is_some(),
        url: SiteUrl::kept(url, value::get(row, Site::scheme_given)?),
    }))
}

fn documents(
    db: &Connection,
    site: SiteId,
    near: &Url,
) -> Result<HashMap<Url, DocumentMemory>, StoreError> {
    let mut statement = db.prepare_cached(Document::SELECT)?;
    let mut rows = statement.query([site.0])?;
    let mut documents = HashMap::new();
    while let Some(row) = rows.next()? {
        let url = value::url_near(row, Document::url, near)?;
        let document = document_from_row(row, &url)?;
        documents.insert(url, document);
    }
    Ok(documents)
}

fn document_from_row(row: &Row<'_>, url: &Url) -> Result<DocumentMemory, StoreError> {
    let text = row
        .get_ref(Document::validators_url as usize)?
        .as_str_or_null();
    let validators_url = match text.map_err(|_| StoreError::Unreadable("validators_url"))? {
        // Mostly so, and an address takes its time to be read.
        Some(same) if same == url.as_str() => Some(url.clone()),
        Some(_) => value::optional_url_near(row, Document::validators_url, url)?,
        None => None,
    };
    let validators = match validators_url {
        Some(url) => Some(Validators {
            url,
            etag: value::get(row, Document::etag)?,
            last_modified: value::get(row, Document::last_modified)?,
        }),
        None => None,
    };
    Ok(DocumentMemory {
        validators,
        read_at: value::instant(row, Document::read_at)?,
        outline: value::get(row, Document::outline)?,
        problems: check::problems_from(row, Document::problems)?,
    })
}

fn collections(
    db: &Connection,
    store: &Store,
    site: SiteId,
    near: &Url,
) -> Result<Vec<CollectionMemory>, StoreError> {
    let mut statement = db.prepare_cached(Collection::SELECT)?;
    let mut rows = statement.query([site.0])?;
    let mut collections = Vec::new();
    while let Some(row) = rows.next()? {
        let id = CollectionId(value::get(row, Collection::id)?);
        let pages = match value::parsed(row, Collection::list, json::to_list_state)? {
            Some(state) => Some(PagesMemory {
                state,
                has_pages: pages::has_any(db, id)?,
                known: store.pages_recollection(id),
            }),
            None => None,
        };
        let change_count = value::natural(row, Collection::change_count)?;
        collections.push(CollectionMemory {
            id,
            identity: value::url_near(row, Collection::identity, near)?,
            capability_list: value::optional_url_near(row, Collection::capability_list, near)?,
            title: value::get(row, Collection::title)?,
            about: value::parsed(row, Collection::about, json::to_about)?.unwrap_or_default(),
            described_by: value::optional_url_near(row, Collection::described_by, near)?,
            is_own: value::get(row, Collection::is_own)?,
            last_processed: value::parsed(row, Collection::last_processed, |text| {
                Moment::parse(text).ok()
            })?,
            covered_until: value::optional_instant(row, Collection::covered_until)?,
            change_count,
            known: store.recollection(id, change_count),
            lists: value::parsed(row, Collection::lists, |text| json::to_lists(text, near))?
                .unwrap_or_default(),
            pages,
        });
    }
    // Mostly there is one, and the database would make room for sorting thousands.
    collections.sort_by_key(|collection| collection.id);
    Ok(collections)
}

pub(super) fn horizon_from_row(row: &Row<'_>) -> Result<Option<DateTime<Utc>>, StoreError> {
    value::parsed(row, "horizon", |text| text.parse().ok())
}

/// The keys of all changes: one walk through the collection's part of the table. With the horizon of the same moment,
/// for whatever lies beyond it may have gone from the table meanwhile.
fn known(db: &Connection, collection: CollectionId) -> Result<Known, StoreError> {
    let mut statement =
        db.prepare_cached("SELECT head, horizon, change_count FROM collections WHERE id = ?1")?;
    let mut rows = statement.query([collection.0])?;
    // A collection that was removed has nothing, and nothing can be saved for it.
    let Some(row) = rows.next()? else {
        return Ok(Known::default());
    };
    let head: String = row.get("head")?;
    let mut known = Known::since(horizon_from_row(row)?);
    known.make_room(value::natural(row, "change_count")?);
    let mut statement =
        db.prepare_cached("SELECT at, shape, url FROM changes WHERE collection = ?1")?;
    let (at, shape, url) = (
        statement.column_index("at")?,
        statement.column_index("shape")?,
        statement.column_index("url")?,
    );
    let mut rows = statement.query([collection.0])?;
    let mut whole = head.clone();
    let number = |row: &Row<'_>, place, name| {
        let number = row.get_ref(place)?.as_i64();
        number.map_err(|_| StoreError::Unreadable(name))
    };
    while let Some(row) = rows.next()? {
        let shape = Shape::read(number(row, at, "at")?, number(row, shape, "shape")?)?;
        let tail = row.get_ref(url)?.as_str();
        let tail = tail.map_err(|_| StoreError::Unreadable("url"))?;
        whole.truncate(head.len());
        whole.push_str(tail);
        let url = if shape.has_head { &whole } else { tail };
        known.add(ChangeKey::new(url, shape.kind, &shape.datetime));
    }
    Ok(known)
}
