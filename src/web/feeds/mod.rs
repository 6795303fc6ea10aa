//! Feeds over HTTP: rendered and compressed when they change, and then only handed out.
//!
//! What a feed shows changes when a check finds something; the scheduler says so ([`Feeds::checked`]), and that is all
//! that a request has to look at: a feed that is current is answered from memory, with no database on the way. Memory is
//! bounded; what is asked for least goes first, and is rendered again if somebody asks.

mod answer;
mod private;
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
use crate::account::AccountId;
use crate::feed::Grain;
use crate::site::SiteId;
use crate::store::FollowedPlace;

use self::answer::Prepared;
pub use self::private::renew;
pub use self::render::{collection_subject, find, site_subject};

/// What a feed takes in memory besides its bytes, about.
const OVERHEAD_BYTES: u64 = 400;
/// A feed has about so many bytes, compressed.
const USUAL_BYTES: u64 = 8_000;

/// Every feed that somebody asked for lately.
pub struct Feeds {
    prepared: Cache<Key, Arc<Prepared>, Bytes>,
    sources: Mutex<HashMap<Source, Now>>,
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

/// What is known of a source.
#[derive(Debug, Clone, Copy, Default)]
struct Now {
    /// Rises whenever something visible has changed.
    generation: u64,
    next_check_at: Option<DateTime<Utc>>,
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
            sources: Mutex::default(),
            keys: private::Keys::default(),
        }
    }

    /// A check has ended: whether it changed anything that feeds show, and when the next one is due.
    pub fn checked(&self, site: SiteId, is_visible: bool, next_check_at: DateTime<Utc>) {
        let mut sources = self.sources();
        let now = sources.entry(Source::Site(site)).or_default();
        now.generation += u64::from(is_visible);
        now.next_check_at = Some(next_check_at);
    }

    /// A site was removed, or an account follows something else than before.
    pub fn changed(&self, source: Source) {
        self.sources().entry(source).or_default().generation += 1;
    }

    fn now(&self, source: Source) -> Now {
        self.sources().get(&source).copied().unwrap_or_default()
    }

    fn sources(&self) -> MutexGuard<'_, HashMap<Source, Now>> {
        // Numbers that are only ever counted up: there is nothing to be left halfway.
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key of an account's private feed was renewed.
    pub fn renewed(&self, account: AccountId) {
        self.keys.forget(account);
    }

    fn is_current(&self, feed: &Prepared) -> bool {
        let sources = self.sources();
        let generation = |source| sources.get(source).copied().unwrap_or_default().generation;
        (feed.made_of.iter()).all(|(source, made)| generation(source) == *made)
    }

    /// The document, as it is now.
    async fn get(&self, service: &Data, key: Key) -> Result<Arc<Prepared>, WebError> {
        if let Some(feed) = self.prepared.get(&key) {
            if self.is_current(&feed) {
                return Ok(feed);
            }
            self.prepared.remove_if(&key, |feed| !self.is_current(feed));
        }
        // Whoever comes while it is rendered waits for it.
        let render = async {
            match &key.whose {
                Whose::Site { site, collection } => {
                    render::render(service, &key, site, collection.as_deref()).await
                }
                Whose::Account {
                    account,
                    key: secret,
                } => private::render(service, &key, *account, secret).await,
            }
        };
        self.prepared.get_or_insert_async(&key, render).await
    }
}

/// Everything below `/sites`, and private feeds.
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
    let feed = service.feeds.get(&service, key).await?;
    let sources = feed.made_of.iter();
    let next = sources.filter_map(|(source, _)| service.feeds.now(*source).next_check_at);
    let next_check_at = next.min().or(feed.next_check_at);
    let now = (service.clock)();
    let fresh_for = next_check_at.map_or(0, |at| (at - now).num_seconds());
    Ok(answer::answer(
        &feed,
        &request,
        answer::For::Everybody,
        fresh_for,
    ))
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
