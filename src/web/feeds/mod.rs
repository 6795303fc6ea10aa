//! Feeds over HTTP: rendered and compressed when they change, and then only handed out.
//!
//! What a feed shows changes when a check finds something; the scheduler says so ([`Feeds::checked`]), and that is all
//! that a request has to look at: a feed that is current is answered from memory, with no database on the way. Memory is
//! bounded; what is asked for least goes first, and is rendered again if somebody asks.

mod answer;
mod render;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_web::{HttpRequest, HttpResponse, web};
use chrono::{DateTime, Utc};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use serde::Deserialize;

use super::error::WebError;
use super::{Data, get_or_head, only};
use crate::feed::Grain;
use crate::site::SiteId;

use self::answer::Prepared;
pub use self::render::{collection_subject, find, site_subject};

/// What a feed takes in memory besides its bytes, about.
const OVERHEAD_BYTES: u64 = 400;
/// A feed has about so many bytes, compressed.
const USUAL_BYTES: u64 = 8_000;

/// Every feed that somebody asked for lately.
pub struct Feeds {
    prepared: Cache<Key, Arc<Prepared>, Bytes>,
    sites: Mutex<HashMap<SiteId, Now>>,
}

/// What the scheduler said last about a site.
#[derive(Debug, Clone, Copy, Default)]
struct Now {
    /// Rises whenever something visible has changed.
    generation: u64,
    next_check_at: Option<DateTime<Utc>>,
}

/// Which document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    site: String,
    collection: Option<String>,
    form: Form,
    grain: Grain,
    part: Part,
}

/// In which format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Form {
    Atom,
    Json,
}

/// Which part of the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    /// The newest items.
    Live,
    /// A part that is full and never changes: the number of it.
    Archive(i64),
    /// What lies before the change of this number.
    Before(i64),
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Arc<Prepared>> for Bytes {
    fn weight(&self, _key: &Key, feed: &Arc<Prepared>) -> u64 {
        feed.bytes() + OVERHEAD_BYTES
    }
}

impl Feeds {
    /// Nothing yet, and at most so many bytes later.
    pub fn new(max_bytes: u64) -> Feeds {
        let items = usize::try_from(max_bytes / USUAL_BYTES).unwrap_or(usize::MAX);
        Feeds {
            prepared: Cache::with_weighter(items.max(16), max_bytes, Bytes),
            sites: Mutex::default(),
        }
    }

    /// A check has ended: whether it changed anything that feeds show, and when the next one is due.
    pub fn checked(&self, site: SiteId, is_visible: bool, next_check_at: DateTime<Utc>) {
        let mut sites = self.sites();
        let now = sites.entry(site).or_default();
        now.generation += u64::from(is_visible);
        now.next_check_at = Some(next_check_at);
    }

    /// A site was removed.
    pub fn removed(&self, site: SiteId) {
        self.sites().entry(site).or_default().generation += 1;
    }

    fn now(&self, site: SiteId) -> Now {
        self.sites().get(&site).copied().unwrap_or_default()
    }

    fn sites(&self) -> MutexGuard<'_, HashMap<SiteId, Now>> {
        // Numbers that are only ever counted up: there is nothing to be left halfway.
        self.sites.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The document, as it is now.
    async fn get(&self, service: &Data, key: Key) -> Result<Arc<Prepared>, WebError> {
        let is_current = |feed: &Prepared| self.now(feed.site).generation == feed.generation;
        if let Some(feed) = self.prepared.get(&key) {
            if is_current(&feed) {
                return Ok(feed);
            }
            self.prepared.remove_if(&key, |feed| !is_current(feed));
        }
        // Whoever comes while it is rendered waits for it.
        let render = render::render(service, &key);
        self.prepared.get_or_insert_async(&key, render).await
    }
}

/// Everything below `/sites`.
pub fn routes(config: &mut web::ServiceConfig) {
    let resource = |path: &str| {
        let resource = web::resource(path).route(get_or_head(show));
        only(resource, "GET, HEAD")
    };
    config
        .service(resource("/sites/{site}/feed.{form}"))
        .service(resource("/sites/{site}/archive/{archive}.{form}"))
        .service(resource("/sites/{site}/{collection}/feed.{form}"))
        .service(resource(
            "/sites/{site}/{collection}/archive/{archive}.{form}",
        ));
}

#[derive(Deserialize)]
struct Place {
    site: String,
    collection: Option<String>,
    form: String,
    archive: Option<i64>,
}

#[derive(Deserialize)]
struct Query {
    entries: Option<String>,
    before: Option<i64>,
}

async fn show(
    service: Data,
    request: HttpRequest,
    place: web::Path<Place>,
    query: web::Query<Query>,
) -> Result<HttpResponse, WebError> {
    let nothing = || WebError::NoSuchAddress(request.path().to_owned());
    let form = match place.form.as_str() {
        "atom" => Form::Atom,
        "json" => Form::Json,
        _ => return Err(nothing()),
    };
    let grain = match query.entries.as_deref() {
        None | Some("checks") => Grain::Checks,
        Some("pages") => Grain::Pages,
        Some(other) => {
            let sentence = format!("entries is “{other}”; it must be pages or checks");
            return Err(WebError::Malformed(sentence));
        }
    };
    let part = match (place.archive, query.before, grain) {
        (None, None, _) => Part::Live,
        (Some(archive), None, Grain::Checks) if archive >= 0 => Part::Archive(archive),
        (None, Some(before), Grain::Pages) => Part::Before(before),
        _ => return Err(nothing()),
    };
    let key = Key {
        site: place.site.clone(),
        collection: place.collection.clone(),
        form,
        grain,
        part,
    };
    let feed = service.feeds.get(&service, key).await?;
    let next_check_at = service.feeds.now(feed.site).next_check_at;
    let now = (service.clock)();
    let next_check_at = next_check_at.or(feed.next_check_at);
    let fresh_for = next_check_at.map_or(0, |at| (at - now).num_seconds());
    Ok(answer::answer(&feed, &request, fresh_for))
}
