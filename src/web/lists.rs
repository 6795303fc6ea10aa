//! Lists of subscriptions that come and go: OPML, as feed readers exchange it.
//!
//! An import only writes down what to follow; sites that are new are read in their turn, like all others, so that a long
//! list makes no burst of requests. What becomes of each line can be watched.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use askama::Template;
use chrono::{DateTime, Utc};
use opml::{Head, OPML, Outline as Written};
use tokio::runtime::Handle;
use url::Url;

use super::error::WebError;
use super::feeds::Source;
use super::forms::{Field, Form};
use super::frame::{Answer, Frame, form_again, page, see_other};
use super::limits::Daily;
use super::live::{self, Documents, Known};
use super::paths::FeedPath;
use super::session::SignedIn;
use super::words::count;
use super::{Data, get_or_head, only};
use crate::account::{Account, AccountId};
use crate::read::opml::{self as list, Outline};
use crate::site::{CollectionId, SiteId, SiteUrl};
use crate::text::is_legal;

/// What became of an import can be looked at for so long.
const KEPT: Duration = Duration::from_secs(60 * 60);
/// Lines that could not be used, as far as they are told.
const MAX_REFUSED: usize = 100;

/// Import and export.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(only(
            web::resource("/home/import")
                .route(get_or_head(show_import))
                .route(web::post().to(import)),
            "GET, HEAD, POST",
        ))
        .service(only(
            web::resource("/home/import/reading.json").route(get_or_head(reading)),
            "GET, HEAD",
        ))
        .service(only(
            web::resource("/home/export.opml").route(get_or_head(export)),
            "GET, HEAD",
        ));
}

/// The imports that are under way, and those that ended lately.
pub struct Imports {
    /// Where they run: threads that answer are for short work.
    runtime: Handle,
    lists: Mutex<HashMap<AccountId, Import>>,
}

#[derive(Clone)]
struct Import {
    began: Instant,
    total: usize,
    done: Documents,
    sites: Vec<SiteId>,
    /// What could not be used, and why.
    refused: Vec<(String, String)>,
    is_done: bool,
}

impl Imports {
    /// Works on the runtime that this is called on.
    pub fn new() -> Imports {
        Imports {
            runtime: Handle::current(),
            lists: Mutex::default(),
        }
    }

    fn of(&self, account: AccountId) -> Option<Import> {
        let mut lists = self.lock();
        lists.retain(|_, import| !import.is_done || import.began.elapsed() < KEPT);
        lists.get(&account).cloned()
    }

    fn change(&self, account: AccountId, change: impl FnOnce(&mut Import)) {
        if let Some(import) = self.lock().get_mut(&account) {
            change(import);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AccountId, Import>> {
        // Every import in it is whole even if somebody panicked.
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Imports {
    fn default() -> Self {
        Imports::new()
    }
}

#[derive(Template)]
#[template(path = "home/import.html")]
struct ImportPage {
    frame: Frame,
    file: Field,
    import: Option<Shown>,
}

struct Shown {
    is_done: bool,
    progress: String,
    documents: Vec<String>,
    total: usize,
    summary: String,
    refused: Vec<(String, String)>,
    unread: usize,
}

async fn show_import(own: SignedIn) -> Answer {
    let import = shown(&own).await?;
    page(&ImportPage {
        frame: own.frame(),
        file: Field::default(),
        import,
    })
}

async fn shown(own: &SignedIn) -> Result<Option<Shown>, WebError> {
    let service = own.visitor.service();
    let Some(import) = service.imports.of(own.account.id) else {
        return Ok(None);
    };
    let mut unread = 0;
    for site in import.sites.iter().filter(|_| import.is_done) {
        let site = service.store.site(*site).await?;
        unread += usize::from(site.is_some_and(|site| site.last_check_at.is_none()));
    }
    let followed = i64::try_from(import.sites.len()).unwrap_or(i64::MAX);
    Ok(Some(Shown {
        is_done: import.is_done,
        progress: service.paths.at("home/import/reading.json"),
        documents: import.done.into_vec(),
        total: import.total,
        summary: format!(
            "You follow {} of the list now.",
            count(followed, "subscription")
        ),
        refused: import.refused,
        unread,
    }))
}

async fn reading(own: SignedIn, known: web::Query<Known>) -> Answer {
    let import = own.visitor.service().imports.of(own.account.id);
    let (documents, is_done) = match import {
        Some(import) => (import.done, import.is_done),
        None => (Documents::default(), true),
    };
    Ok(live::progress(documents, &known, is_done))
}

async fn import(own: SignedIn, form: Form) -> Answer {
    let service = own.visitor.service();
    let again = |error: &dyn std::fmt::Display| {
        form_again(&ImportPage {
            frame: own.frame(),
            file: Field::default().wrong(error),
            import: None,
        })
    };
    let bytes = form.bytes("file");
    if bytes.is_empty() {
        return again(&"there is no file; choose an OPML file that a feed reader has exported");
    }
    let outlines = match list::read(bytes) {
        Ok(outlines) => outlines,
        Err(error) => return again(&error),
    };
    if outlines.is_empty() {
        return again(&"the list is empty; choose another file");
    }
    let account = own.account.id;
    let owner = own.account.clone();
    if service
        .imports
        .of(account)
        .is_some_and(|import| !import.is_done)
    {
        return again(&"another list is still being imported; wait until that is done");
    }
    service.people.limits.daily(Daily::Import, &own.account)?;
    service.imports.lock().insert(
        account,
        Import {
            began: Instant::now(),
            total: outlines.len(),
            done: Documents::default(),
            sites: Vec::new(),
            refused: Vec::new(),
            is_done: false,
        },
    );
    let working = service.clone();
    service.imports.runtime.spawn(async move {
        let ending = Ending(working.clone(), account);
        for outline in outlines {
            let name = name(&outline);
            let result = follow(&working, &owner, outline).await;
            ending.0.imports.change(account, |import| {
                import.done.add_text(name.clone());
                match result {
                    Ok(site) => import.sites.push(site),
                    Err(reason) if import.refused.len() < MAX_REFUSED => {
                        import.refused.push((name, reason));
                    }
                    Err(_) => {}
                }
            });
        }
    });
    see_other(service.paths.at("home/import"))
}

/// Ends an import, whatever happens on the way.
struct Ending(Data, AccountId);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0
            .imports
            .change(self.1, |import| import.is_done = true);
        self.0.feeds.changed(Source::Account(self.1));
        self.0.scheduler.wake();
    }
}

fn name(outline: &Outline) -> String {
    let address = outline.site.as_ref().or(outline.feed.as_ref());
    let name = outline.title.as_ref().or(address);
    name.cloned().unwrap_or_default()
}

/// Follows what one line of a list means; or why that cannot be done.
async fn follow(service: &Data, owner: &Account, outline: Outline) -> Result<SiteId, String> {
    let account = owner.id;
    let ours = "something went wrong on our side; try it again later".to_owned();
    let told = |error: crate::store::StoreError| {
        tracing::error!(error = &error as &dyn std::error::Error, "an import failed");
        ours.clone()
    };
    let now = (service.clock)();
    let own = outline
        .feed
        .as_deref()
        .and_then(|feed| own_feed(service, feed));
    let known = match own {
        Some((site, collection)) => known(service, &site, collection.as_deref())
            .await
            .map_err(&told)?,
        None => None,
    };
    let (site, collection) = match known {
        Some(known) => known,
        None => {
            let address = outline.site.as_deref().or(outline.feed.as_deref());
            let typed = SiteUrl::parse(address.unwrap_or_default()).map_err(|e| e.to_string())?;
            let judged = service.fetcher.judge(typed.url());
            judged.map_err(|refusal| refusal.to_string())?;
            match service.store.find_site(&typed).await.map_err(&told)? {
                Some(site) => (site, None),
                None => {
                    // Nothing is added for somebody who may not follow it.
                    let allowed = service.may_follow(owner, 1).await;
                    allowed.map_err(|refusal| refusal.to_string())?;
                    let added = service.store.add_site(typed, now).await;
                    (added.map_err(&told)?.0, None)
                }
            }
        }
    };
    let (id, _) = match service.follow(owner, site, collection).await {
        Ok(followed) => followed,
        Err(WebError::Internal(error)) => return Err(told(error)),
        Err(refusal) => return Err(refusal.to_string()),
    };
    if !outline.folder.is_empty() {
        let set = service.store.set_folder(account, id, &outline.folder);
        set.await.map_err(&told)?;
    }
    Ok(site)
}

/// The names of site and collection, if this is the address of one of our own feeds.
fn own_feed(service: &Data, feed: &str) -> Option<(String, Option<String>)> {
    let feed = Url::parse(feed).ok()?;
    let rest = feed.as_str().strip_prefix(service.paths.root().as_str())?;
    let rest = rest.split(['?', '#']).next()?;
    let decode = |text: &str| {
        let text = percent_encoding::percent_decode_str(text).decode_utf8();
        text.ok().map(|text| text.into_owned())
    };
    match rest.split('/').collect::<Vec<_>>()[..] {
        ["sites", site, file] if file.starts_with("feed.") => Some((decode(site)?, None)),
        ["sites", site, collection, file] if file.starts_with("feed.") => {
            Some((decode(site)?, Some(decode(collection)?)))
        }
        _ => None,
    }
}

async fn known(
    service: &Data,
    site: &str,
    collection: Option<&str>,
) -> Result<Option<(SiteId, Option<CollectionId>)>, crate::store::StoreError> {
    let Some(id) = service.store.site_by_slug(site).await? else {
        return Ok(None);
    };
    let Some(site) = service.store.site(id).await? else {
        return Ok(None);
    };
    let Some(name) = collection else {
        return Ok(Some((id, None)));
    };
    let found = site.collections.iter().find(|known| known.slug == name);
    Ok(found.map(|collection| (id, Some(collection.id))))
}

/// Everything that the account follows, for another program or another instance.
async fn export(own: SignedIn) -> Answer {
    let service = own.visitor.service();
    let mut outlines: Vec<Written> = Vec::new();
    let sites = service.store.followed_sites(own.account.id).await?;
    for subscription in service.store.subscriptions(own.account.id).await? {
        let Some(site) = sites.get(&subscription.site) else {
            continue;
        };
        let mut collections = site.collections.iter();
        let collection = subscription
            .collection
            .and_then(|id| collections.find(|known| known.id == id));
        let title = match collection {
            Some(collection) => &collection.title,
            None => site.title.as_ref().unwrap_or(&site.slug),
        };
        let page = collection.map_or(&site.url, |collection| &collection.identity);
        let outline = Written {
            text: legal(title),
            title: Some(legal(title)),
            r#type: Some("rss".to_owned()),
            xml_url: Some(service.paths.feed(&FeedPath {
                site: &site.slug,
                collection: collection.map(|collection| collection.slug.as_str()),
                extension: "atom",
                by_page: false,
            })),
            html_url: Some(page.to_string()),
            ..Written::default()
        };
        if subscription.folder.is_empty() {
            outlines.push(outline);
            continue;
        }
        let folder = legal(&subscription.folder);
        let place =
            (outlines.iter()).position(|known| known.xml_url.is_none() && known.text == folder);
        match place {
            Some(place) => outlines[place].outlines.push(outline),
            None => outlines.push(Written {
                text: folder,
                outlines: vec![outline],
                ..Written::default()
            }),
        }
    }
    let document = OPML {
        head: Some(head(&own.account.name, (service.clock)())),
        body: opml::Body { outlines },
        ..OPML::default()
    };
    let text = document.to_string().unwrap_or_default();
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/x-opml; charset=utf-8"))
        .insert_header((
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"sitebell.opml\"",
        ))
        .body(format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{text}\n"
        )))
}

fn head(name: &str, now: DateTime<Utc>) -> Head {
    Head {
        title: Some(legal(&format!("What {name} follows"))),
        date_created: Some(now.to_rfc2822()),
        ..Head::default()
    }
}

/// Without the characters that would make a file that nobody can read.
fn legal(text: &str) -> String {
    text.chars()
        .filter(|&character| is_legal(character))
        .collect()
}
