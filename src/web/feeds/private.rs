//! The private feed of an account: everything that it follows, behind a key in the address.
//!
//! Whoever has the address can read the feed, which is how feed readers are; so the key opens nothing else, is never
//! logged, and can be renewed. It is looked up again after a minute at most.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix_web::{HttpRequest, HttpResponse, web};
use serde::Deserialize;

use super::answer::answer;
use super::compress::Compressor;
use super::prepared::{MadeOf, Prepared, Rendered, Whom, prepare};
use super::render::collection_subject;
use super::{Form, Key, Part, Source, Whose, grain};
use crate::account::AccountId;
use crate::feed::{self, Document, Grain, Item, Links, Subject};
use crate::secret::FeedKey;
use crate::site::{About, SiteId};
use crate::store::{FollowedEntry, FollowedPlace, SiteRow};
use crate::web::Data;
use crate::web::error::WebError;

/// Items of a document.
const ITEMS: usize = 50;
/// So long a key is believed without asking again whether it was renewed or its account disabled.
const BELIEVED: Duration = Duration::from_secs(60);
/// Far more than there are readers of one instance.
const MOST_KEYS: usize = 10_000;

/// Keys that were good a moment ago, by their hashes.
#[derive(Default)]
pub(super) struct Keys(Mutex<HashMap<[u8; 32], (AccountId, Instant)>>);

impl Keys {
    fn known(&self, hash: &[u8; 32]) -> Option<AccountId> {
        let keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (account, at) = keys.get(hash)?;
        (at.elapsed() < BELIEVED).then_some(*account)
    }

    fn remember(&self, hash: [u8; 32], account: AccountId) {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= MOST_KEYS {
            keys.clear();
        }
        keys.insert(hash, (account, Instant::now()));
    }

    /// Forgets the keys of an account.
    pub(super) fn forget(&self, account: AccountId) {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.retain(|_, (known, _)| *known != account);
    }
}

#[derive(Deserialize)]
pub(super) struct Query {
    key: Option<String>,
    entries: Option<String>,
    after: Option<String>,
}

/// Gives the private feed of an account a new address, and tells it; the one from before is dead.
pub async fn renew(service: &Data, account: AccountId) -> Result<String, WebError> {
    let key = FeedKey::make()?;
    let now = (service.clock)();
    (service.store)
        .renew_feed_key(account, &key.hash(), now)
        .await?;
    service.feeds.renewed(account);
    Ok((service.paths).account_feed("atom", key.reveal(), false, None))
}

/// Answers with the feed. That a key is wrong, and that there is none, looks the same.
pub(super) async fn show(
    service: Data,
    request: HttpRequest,
    form: web::Path<String>,
    query: web::Query<Query>,
) -> Result<HttpResponse, WebError> {
    let nothing = || WebError::NotFound("feed");
    let key = query.key.as_deref().and_then(FeedKey::parse);
    let key = key.ok_or_else(nothing)?;
    let hash = key.hash();
    let account = match service.feeds.keys.known(&hash) {
        Some(account) => account,
        None => {
            let found = service.store.account_by_feed_key(&hash).await?;
            let account = found.ok_or_else(nothing)?.id;
            service.feeds.keys.remember(hash, account);
            account
        }
    };
    let part = match query.after.as_deref() {
        None => Part::Live,
        Some(text) => Part::After(parse_place(text).ok_or_else(|| {
            WebError::Malformed("after is not a place in this feed; use its own links".to_owned())
        })?),
    };
    let key = Key {
        whose: Whose::Account {
            account,
            key: key.reveal().to_owned(),
        },
        form: Form::parse(&form).ok_or_else(nothing)?,
        grain: grain(query.entries.as_deref())?,
        part,
    };
    let feed = service.feeds.get(&service, &key).await?;
    answer(&service, &feed, request.headers()).await
}

/// A place as [`parse_place`] reads it.
pub(super) fn written(place: &FollowedPlace) -> String {
    format!("{}.{}.{}", place.found_at, place.collection, place.n)
}

fn parse_place(text: &str) -> Option<FollowedPlace> {
    let mut numbers = text.splitn(3, '.').map(|part| part.parse().ok());
    let mut next = || numbers.next().flatten();
    Some(FollowedPlace {
        found_at: next()?,
        collection: next()?,
        n: next()?,
    })
}

/// Renders and compresses a document.
pub(super) async fn render(
    service: &Data,
    key: &Key,
    account: AccountId,
    secret: &str,
) -> Result<Arc<Prepared>, WebError> {
    // Asked for before anything that is shown: what comes in between makes it outdated, and not the other way round.
    let own = Source::Account(account);
    let mut made_of = MadeOf::now(service, [own]);
    let subscriptions = service.store.subscriptions(account).await?;
    let sites: BTreeSet<SiteId> = subscriptions.iter().map(|one| one.site).collect();
    made_of.add(service, sites.into_iter().map(Source::Site));
    let reworded_at = service.store.feed_reworded_at(account).await?;
    let found = service.store.account(account).await?;
    let found = found.ok_or(WebError::NotFound("feed"))?;
    let (name, none_at) = (found.name, found.created_at);
    let host = service.paths.authority();
    let day = (service.clock)().format("%Y-%m-%d").to_string();
    let mint =
        move |instance: &str| format!("tag:{host},{day}:sitebell:{instance}:account:{}", account.0);
    let id = service.store.feed_id(account, mint).await?;
    let after = match key.part {
        Part::After(place) => place,
        _ => FollowedPlace::FIRST,
    };
    let limit = u32::try_from(ITEMS + 1).unwrap_or(u32::MAX);
    let rows = service
        .store
        .followed_entries(account, after, limit)
        .await?;
    let mut sites: BTreeMap<SiteId, SiteRow> = BTreeMap::new();
    for row in &rows {
        if !sites.contains_key(&row.site)
            && let Some(site) = service.store.site(row.site).await?
        {
            sites.insert(row.site, site);
        }
    }
    let (paths, key, secret) = (service.paths.clone(), key.clone(), secret.to_owned());
    let compose = move |compressor: &mut Compressor| {
        let title = format!("What {name} follows");
        let about = About {
            authors: vec![name.clone()],
            description: Some(format!("Changes to the pages that {name} follows")),
            ..About::default()
        };
        let subject = Subject {
            id: feed::feed_id(&id, key.grain),
            title: &title,
            about: &about,
            page: Cow::Owned(paths.followed()),
            described_by: None,
            via: None,
        };
        let subjects: HashMap<_, _> = (sites.values())
            .flat_map(|site| {
                site.collections
                    .iter()
                    .map(move |collection| (site, collection))
            })
            .map(|(site, collection)| {
                (
                    collection.id,
                    (collection_subject(collection), site, collection),
                )
            })
            .collect();
        let mut items: Vec<(FollowedPlace, Item<'_>)> = Vec::new();
        for FollowedEntry { row, found_at, .. } in &rows {
            let Some((part, site, collection)) = subjects.get(&row.collection) else {
                continue;
            };
            let url = paths.entry(&site.slug, &collection.slug, row.n);
            let found = feed::items(part, &row.entry, Some(url), key.grain);
            items.extend(found.into_iter().map(|item| {
                let place = FollowedPlace {
                    found_at: *found_at,
                    collection: row.collection.0,
                    n: row.n + item.place(),
                };
                (place, item)
            }));
        }
        items.retain(|(place, _)| *place < after);
        items.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
        let has_more = items.len() > ITEMS;
        items.truncate(ITEMS);
        let path = |form: Form, place: Option<&FollowedPlace>| {
            let place = place.map(written);
            let by_page = key.grain == Grain::Pages;
            paths.account_feed(form.extension(), &secret, by_page, place.as_deref())
        };
        let last = items.last().filter(|_| has_more).map(|(place, _)| *place);
        let links = Links {
            own: Some(key.address(&paths)),
            json: Some(path(Form::Json, None)),
            stylesheet: Some(paths.feed_style()),
            first: (has_more || key.part != Part::Live).then(|| path(key.form, None)),
            next: last.map(|place| path(key.form, Some(&place))),
            ..Links::default()
        };
        let document = Document {
            subject: &subject,
            items: items.into_iter().map(|(_, item)| item).collect(),
            has_sources: true,
            none_at,
            reworded_at,
            links,
        };
        Rendered::new(key.form, &document, compressor)
    };
    prepare(service, made_of, Whom::One, compose).await
}
