//! From what is kept to a document.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use url::Url;

use super::compress::Compressor;
use super::prepared::{MadeOf, Prepared, Rendered, Whom, prepare};
use super::{Key, Part, Source};
use crate::feed::{self, Document, Grain, Item, Links, Subject};
use crate::site::{CollectionId, SiteId};
use crate::store::{CollectionRow, EntriesOf, EntryRow, SiteRow};
use crate::web::Data;
use crate::web::error::WebError;
use crate::web::paths::{FeedPath, Paths};

/// Items of the live document.
const ITEMS: i64 = 50;
/// Items of an archive: so many that there are always two of them, each with a link to the other, or none.
const ARCHIVE_ITEMS: i64 = ITEMS / 2;

/// Renders and compresses a document.
pub(super) async fn render(
    service: &Data,
    key: &Key,
    site: &str,
    collection: Option<&str>,
) -> Result<Arc<Prepared>, WebError> {
    let id = find_id(service, site).await?;
    // Asked for before anything that is shown: what comes in between makes it outdated, and not the other way round.
    let made_of = MadeOf::now(service, [Source::Site(id)]);
    let site = service.store.site(id).await?;
    let site = site.ok_or(WebError::NotFound("site"))?;
    let collection = match collection {
        Some(slug) => {
            let found = (site.collections.iter()).position(|collection| collection.slug == slug);
            Some(found.ok_or(WebError::NotFound("collection"))?)
        }
        None => None,
    };
    let subject_of = collection.map(|place| &site.collections[place]);
    let (of, count) = match subject_of {
        Some(collection) => (EntriesOf::Collection(collection.id), collection.entry_count),
        None => (EntriesOf::Site(site.id), site.entry_count),
    };
    // Only where there are archives.
    let first = match count > ITEMS {
        true => service.store.first_place(of).await?.unwrap_or(count),
        false => 0,
    };
    let rows = match key.part {
        Part::Archive(archive) => {
            let places = places(archive);
            if places.end > count {
                return Err(WebError::NotFound("archive"));
            }
            if places.end <= first {
                return Err(WebError::Gone("archive"));
            }
            service.store.entries_in(of, places).await?
        }
        Part::Live => newest(service, key, of, i64::MAX).await?,
        Part::Before(n) => newest(service, key, of, n).await?,
        Part::After(_) => return Err(WebError::NotFound("feed")),
    };
    let whom = Whom::Everybody(site.next_check_at);
    let (paths, key) = (service.paths.clone(), key.clone());
    let compose = move |compressor: &mut Compressor| {
        let places = first..count;
        compose(&paths, &key, &site, collection, places, &rows, compressor)
    };
    prepare(service, made_of, whom, compose).await
}

/// The site of that name.
pub async fn find(service: &Data, slug: &str) -> Result<SiteRow, WebError> {
    let id = find_id(service, slug).await?;
    let site = service.store.site(id).await?;
    site.ok_or(WebError::NotFound("site"))
}

/// The number of the site of that name; or whether there was one.
async fn find_id(service: &Data, slug: &str) -> Result<SiteId, WebError> {
    match service.store.site_by_slug(slug).await? {
        Some(id) => Ok(id),
        None if service.store.is_removed(slug).await? => Err(WebError::Gone("site")),
        None => Err(WebError::NotFound("site")),
    }
}

/// The newest entries before a change: as many as there are items, and one more to see whether there are others.
async fn newest(
    service: &Data,
    key: &Key,
    of: EntriesOf,
    n: i64,
) -> Result<Vec<EntryRow>, WebError> {
    let limit = match key.grain {
        Grain::Checks => ITEMS,
        Grain::Pages => ITEMS + 1,
    };
    Ok(service.store.entries_before(of, n, limit as u32).await?)
}

/// The places of the entries of an archive.
fn places(archive: i64) -> Range<i64> {
    let start = archive.saturating_mul(ARCHIVE_ITEMS);
    start..start.saturating_add(ARCHIVE_ITEMS)
}

fn compose(
    paths: &Paths,
    key: &Key,
    site: &SiteRow,
    collection: Option<usize>,
    there: Range<i64>,
    rows: &[EntryRow],
    compressor: &mut Compressor,
) -> std::io::Result<Rendered> {
    let parts: HashMap<CollectionId, (Subject<'_>, &CollectionRow)> = (site.collections.iter())
        .map(|collection| (collection.id, (collection_subject(collection), collection)))
        .collect();
    let mut subject = match collection {
        Some(place) => collection_subject(&site.collections[place]),
        None => site_subject(site),
    };
    subject.id = feed::feed_id(&subject.id, key.grain);
    let path = FeedPath {
        site: &site.slug,
        collection: collection.map(|place| site.collections[place].slug.as_str()),
        extension: key.form.extension(),
        by_page: key.grain == Grain::Pages,
    };
    let mut items: Vec<(i64, Item<'_>)> = Vec::new();
    for row in rows {
        let Some((part, collection)) = parts.get(&row.collection) else {
            continue;
        };
        let url = paths.entry(&site.slug, &collection.slug, row.n);
        let found = feed::items(part, &row.entry, Some(url), key.grain);
        items.extend(found.into_iter().map(|item| (row.n + item.place(), item)));
    }
    let mut links = Links {
        own: Some(key.address(paths)),
        json: Some(paths.feed(&FeedPath {
            extension: "json",
            ..path
        })),
        stylesheet: Some(paths.feed_style()),
        ..Links::default()
    };
    // Of archives whose entries were all pruned there is nothing to be seen any more.
    let archive_before = |archive: i64| {
        let before = archive - 1;
        (before >= 0 && places(before).end > there.start).then(|| paths.archive(&path, before))
    };
    match key.part {
        Part::Live if key.grain == Grain::Checks => {
            if there.end > ITEMS {
                links.prev_archive = archive_before(there.end / ARCHIVE_ITEMS);
            }
        }
        Part::Archive(archive) => {
            links.json = None;
            links.current = Some(paths.feed(&path));
            links.prev_archive = archive_before(archive);
            let has_next = places(archive + 1).end <= there.end;
            links.next_archive = has_next.then(|| paths.archive(&path, archive + 1));
        }
        Part::Live | Part::Before(_) | Part::After(_) => {
            let end = match key.part {
                Part::Before(n) => n,
                _ => i64::MAX,
            };
            items.retain(|(n, _)| *n < end);
            items.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
            let has_more = items.len() > ITEMS as usize;
            items.truncate(ITEMS as usize);
            let last = items.last().filter(|_| has_more);
            links.next = last.map(|(n, _)| paths.feed_before(&path, *n));
            let is_paged = has_more || key.part != Part::Live;
            links.first = is_paged.then(|| paths.feed(&path));
        }
    }
    let document = Document {
        subject: &subject,
        items: items.into_iter().map(|(_, item)| item).collect(),
        has_sources: collection.is_none(),
        none_at: site.added_at,
        reworded_at: site.reworded_at,
        links,
    };
    Rendered::new(key.form, &document, compressor)
}

/// A collection as the subject of a feed.
pub fn collection_subject(collection: &CollectionRow) -> Subject<'_> {
    Subject {
        id: collection.feed_id.clone(),
        title: &collection.title,
        about: &collection.about,
        page: Cow::Borrowed(&collection.identity),
        described_by: collection.described_by.as_ref(),
        via: collection.capability_list.as_ref(),
    }
}

/// A site as the subject of a feed.
pub fn site_subject(site: &SiteRow) -> Subject<'_> {
    Subject {
        id: site.feed_id.clone(),
        title: site.title.as_deref().unwrap_or(&site.slug),
        about: &site.about,
        page: Cow::Owned(reached(&site.url, site.root.as_ref())),
        described_by: site.described_by.as_ref(),
        via: site.root.as_ref(),
    }
}

/// The page of a site, at the scheme that it was reached over.
fn reached(url: &Url, root: Option<&Url>) -> Url {
    let mut url = url.clone();
    if let Some(root) = root
        && root.host() == url.host()
        && root.port() == url.port()
    {
        // Between http and https it cannot fail.
        let _ = url.set_scheme(root.scheme());
    }
    url
}
