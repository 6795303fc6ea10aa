//! Feeds over HTTP: rendered and compressed when they change, and then only handed out. (Brotli, which not all of them are
//! ever asked for in, is made for the first who asks, once.)
//!
//! What a feed shows changes when a check finds something; the scheduler says so ([`Feeds::checked`]). Then the feeds of
//! that site are rendered again at once, in the background ([`keep_ready`]): those that everybody is told of, and all
//! others that somebody asked for and that are still in memory. A request that comes meanwhile waits for the same
//! rendering. All that a request has to look at is a number: a feed that is current is answered from memory, with no
//! database on the way.
//!
//! Memory is bounded; what is asked for least goes first, and is rendered again if somebody asks. So it is with every
//! feed after a restart. Keeping them on the disk would save nothing: rendering takes about a millisecond, and a copy
//! could be older than what it is a copy of.

mod answer;
mod compress;
mod prepared;
mod private;
mod render;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use actix_web::http::Method;
use actix_web::http::header::HeaderMap;
use actix_web::{HttpRequest, HttpResponse, web};
use chrono::{DateTime, Utc};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use serde::Deserialize;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use super::api::{path_config, query_config};
use super::error::WebError;
use super::paths::{FeedPath, Paths};
use super::{Data, Service, get_or_head, only};
use crate::account::AccountId;
use crate::feed::Grain;
use crate::site::SiteId;
use crate::store::FollowedPlace;

use self::compress::Compressor;
use self::prepared::Prepared;
pub use self::private::renew;
pub use self::render::{collection_subject, find, site_subject};

/// What a feed takes in memory besides its bytes, about.
const OVERHEAD_BYTES: u64 = 1_000;
/// A feed has about so many bytes, compressed.
const USUAL_BYTES: u64 = 8_000;
/// A feed that changed again while it was rendered is rendered once more, but not for ever.
const ATTEMPTS: usize = 3;

/// Every feed that somebody asked for lately, by its address below that of the service.
pub struct Feeds {
    prepared: Cache<String, Arc<Prepared>, Bytes>,
    sources: Mutex<HashMap<Source, Arc<Now>>>,
    /// Newest documents that were rendered of a source. Those that are no longer in memory leave with its next change.
    held: Mutex<HashMap<Source, HashSet<Key>>>,
    changes: UnboundedSender<Source>,
    /// For whoever renders what changed; none once there is somebody.
    to_render: Mutex<Option<UnboundedReceiver<Source>>>,
    rendered: watch::Sender<u64>,
    /// One that nobody uses now. Feeds are rendered one after the other, unless several people ask at once.
    compressor: Mutex<Option<Compressor>>,
    keys: private::Keys,
}

/// What feeds are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// What was found on a site.
    Site(SiteId),
    /// What an account follows.
    Account(AccountId),
}

/// How things stand with a source that something was rendered of.
#[derive(Debug, Default)]
struct Now {
    /// Rises whenever something visible has changed.
    generation: AtomicU64,
    /// In seconds since 1970; 0 if nothing is known.
    next_check_at: AtomicI64,
}

/// Which document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    whose: Whose,
    form: Form,
    grain: Grain,
    part: Part,
}

/// Whose feed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Whose {
    /// A site's, or a collection's of it, by their names.
    Site {
        site: String,
        collection: Option<String>,
    },
    /// An account's own, and the key that opened it, which is part of its address.
    Account { account: AccountId, key: String },
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
    /// What comes after a place in a private feed.
    After(FollowedPlace),
}

#[derive(Clone)]
struct Bytes;

impl Weighter<String, Arc<Prepared>> for Bytes {
    fn weight(&self, _address: &String, feed: &Arc<Prepared>) -> u64 {
        feed.bytes() + OVERHEAD_BYTES
    }
}

impl Key {
    /// The address of the document.
    fn address(&self, paths: &Paths) -> String {
        let by_page = self.grain == Grain::Pages;
        let extension = self.form.extension();
        match &self.whose {
            Whose::Site { site, collection } => {
                let path = FeedPath {
                    site,
                    collection: collection.as_deref(),
                    extension,
                    by_page,
                };
                match self.part {
                    Part::Live | Part::After(_) => paths.feed(&path),
                    Part::Archive(archive) => paths.archive(&path, archive),
                    Part::Before(n) => paths.feed_before(&path, n),
                }
            }
            Whose::Account { key, .. } => {
                let place = match self.part {
                    Part::After(place) => Some(private::written(&place)),
                    _ => None,
                };
                paths.account_feed(extension, key, by_page, place.as_deref())
            }
        }
    }
}

impl Feeds {
    /// Nothing yet, and at most so many bytes later.
    pub fn new(max_bytes: u64) -> Feeds {
        let items = usize::try_from(max_bytes / USUAL_BYTES).unwrap_or(usize::MAX);
        let (changes, to_render) = unbounded_channel();
        Feeds {
            prepared: Cache::with_weighter(items.max(16), max_bytes, Bytes),
            sources: Mutex::default(),
            held: Mutex::default(),
            changes,
            to_render: Mutex::new(Some(to_render)),
            rendered: watch::Sender::new(0),
            compressor: Mutex::default(),
            keys: private::Keys::default(),
        }
    }

    /// A check has ended: whether it changed anything that feeds show, and when the next one is due.
    pub fn checked(&self, site: SiteId, is_visible: bool, next_check_at: DateTime<Utc>) {
        let source = Source::Site(site);
        if let Some(now) = locked(&self.sources).get(&source) {
            let seconds = next_check_at.timestamp();
            now.next_check_at.store(seconds, Ordering::Relaxed);
        }
        if is_visible {
            self.changed(source);
        }
    }

    /// What feeds showed of a site already is another: pages have got titles, or old entries went.
    pub fn reworded(&self, site: SiteId) {
        self.changed(Source::Site(site));
    }

    /// What is shown of a source is another from now on.
    pub fn changed(&self, source: Source) {
        if let Some(now) = locked(&self.sources).get(&source) {
            now.generation.fetch_add(1, Ordering::SeqCst);
        }
        // Nobody is there to do it before the service has started and after it has ended.
        let _ = self.changes.send(source);
    }

    /// How many documents were rendered so far.
    pub fn rendered(&self) -> watch::Receiver<u64> {
        self.rendered.subscribe()
    }

    /// How many bytes are kept ready.
    pub fn bytes(&self) -> u64 {
        self.prepared.weight()
    }

    /// The key of an account's private feed was renewed.
    pub fn renewed(&self, account: AccountId) {
        self.keys.forget(account);
    }

    /// The answer to a request for a document that is ready and for everybody, by its address as it is printed.
    pub fn ready(
        &self,
        method: &Method,
        address: &str,
        headers: &HeaderMap,
        now: DateTime<Utc>,
    ) -> Option<HttpResponse> {
        if !matches!(*method, Method::GET | Method::HEAD) || !address.starts_with("/sites/") {
            return None;
        }
        let feed = self.prepared.get(address)?;
        let is_ready = feed.is_current() && feed.is_for_everybody();
        is_ready.then(|| answer::answer_at_once(&feed, headers, now))?
    }

    /// Does something that takes a compressor.
    fn compress_with<T>(&self, work: impl FnOnce(&mut Compressor) -> T) -> T {
        let spare = locked(&self.compressor).take();
        let mut compressor = spare.unwrap_or_else(Compressor::new);
        let done = work(&mut compressor);
        *locked(&self.compressor) = Some(compressor);
        done
    }

    fn now(&self, source: Source) -> Arc<Now> {
        locked(&self.sources).entry(source).or_default().clone()
    }

    /// The document, as it is now.
    async fn get(&self, service: &Data, key: &Key) -> Result<Arc<Prepared>, WebError> {
        let address = key.address(&service.paths);
        let address = service.paths.below_root(&address);
        if let Some(feed) = self.prepared.get(address)
            && feed.is_current()
        {
            return Ok(feed);
        }
        let mut attempts = 1;
        loop {
            self.prepared.remove_if(address, |feed| !feed.is_current());
            // Whoever comes while it is rendered waits for it.
            let feed = (self.prepared)
                .get_or_insert_async(address, self.render(service, key))
                .await?;
            if feed.is_current() || attempts == ATTEMPTS {
                return Ok(feed);
            }
            attempts += 1;
        }
    }

    async fn render(&self, service: &Data, key: &Key) -> Result<Arc<Prepared>, WebError> {
        let feed = match &key.whose {
            Whose::Site { site, collection } => {
                render::render(service, key, site, collection.as_deref()).await?
            }
            Whose::Account {
                account,
                key: secret,
            } => private::render(service, key, *account, secret).await?,
        };
        self.rendered.send_modify(|count| *count += 1);
        if key.part == Part::Live {
            let mut held = locked(&self.held);
            for source in feed.sources() {
                held.entry(source).or_default().insert(key.clone());
            }
        }
        Ok(feed)
    }

    /// Renders what shows a source that has changed.
    async fn prepare(&self, service: &Data, source: Source) {
        let mut keys = locked(&self.held).remove(&source).unwrap_or_default();
        keys.retain(|key| {
            let address = key.address(&service.paths);
            self.prepared
                .contains_key(service.paths.below_root(&address))
        });
        if let Source::Site(site) = source
            && let Ok(Some(site)) = service.store.site(site).await
        {
            let collections = site.collections.iter().map(|one| Some(one.slug.clone()));
            keys.extend(collections.chain([None]).map(|collection| Key {
                whose: Whose::Site {
                    site: site.slug.clone(),
                    collection,
                },
                form: Form::Atom,
                grain: Grain::Checks,
                part: Part::Live,
            }));
        }
        for key in keys {
            // Whoever asks for it is told why it cannot be had.
            if let Err(error) = self.get(service, &key).await {
                tracing::debug!(%error, "a feed was not rendered");
            }
        }
    }
}

/// Renders what changes, one document at a time, for as long as the service is there.
pub(super) fn keep_ready(service: &Data) {
    let Some(mut changes) = locked(&service.feeds.to_render).take() else {
        return;
    };
    let service: Weak<Service> = Arc::downgrade(&service.clone().into_inner());
    tokio::spawn(async move {
        while let Some(source) = changes.recv().await {
            let Some(service) = service.upgrade() else {
                return;
            };
            let service = Data::from(service);
            let work = async move { service.feeds.prepare(&service, source).await };
            // In a task of its own, so that a fault that one feed meets keeps no other from being rendered.
            if let Err(error) = tokio::spawn(work).await {
                tracing::error!(%error, "a feed could not be rendered");
            }
        }
    });
}

/// What is in there is whole at any time, so it does not matter how its last user ended.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Everything below `/sites`, and private feeds.
pub fn routes(config: &mut web::ServiceConfig) {
    let resource = |path: &str| {
        let resource = web::resource(path).route(get_or_head(show));
        let resource = resource.app_data(path_config()).app_data(query_config());
        only(resource, "GET, HEAD")
    };
    config
        .service(resource("/sites/{site}/feed.{form}"))
        .service(resource("/sites/{site}/archive/{archive}.{form}"))
        .service(resource("/sites/{site}/{collection}/feed.{form}"))
        .service(resource(
            "/sites/{site}/{collection}/archive/{archive}.{form}",
        ))
        .service(only(
            web::resource("/home/feed.{form}").route(get_or_head(private::show)),
            "GET, HEAD",
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
    let form = Form::parse(&place.form).ok_or_else(nothing)?;
    let grain = grain(query.entries.as_deref())?;
    let part = match (place.archive, query.before, grain) {
        (None, None, _) => Part::Live,
        (Some(archive), None, Grain::Checks) if archive >= 0 => Part::Archive(archive),
        (None, Some(before), Grain::Pages) => Part::Before(before),
        _ => return Err(nothing()),
    };
    let key = Key {
        whose: Whose::Site {
            site: place.site.clone(),
            collection: place.collection.clone(),
        },
        form,
        grain,
        part,
    };
    let feed = service.feeds.get(&service, &key).await?;
    answer::answer(&service, &feed, request.headers()).await
}

impl Form {
    fn parse(extension: &str) -> Option<Form> {
        match extension {
            "atom" => Some(Form::Atom),
            "json" => Some(Form::Json),
            _ => None,
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Form::Atom => "atom",
            Form::Json => "json",
        }
    }
}

fn grain(asked: Option<&str>) -> Result<Grain, WebError> {
    match asked {
        None | Some("checks") => Ok(Grain::Checks),
        Some("pages") => Ok(Grain::Pages),
        Some(other) => Err(WebError::Malformed(format!(
            "entries is “{other}”; it must be pages or checks"
        ))),
    }
}
