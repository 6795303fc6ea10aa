//! What an account follows: beginning and ending it, folders, and the list of all of it.

use std::collections::BTreeSet;

use actix_web::web;
use askama::Template;
use serde::Deserialize;

use super::changes::site_title;
use super::error::WebError;
use super::feeds::Source;
use super::forms::Form;
use super::frame::{Answer, Frame, Notice, Undo, page, see_other};
use super::paths::Paths;
use super::session::{SignedIn, Visitor};
use super::words::{Present, When};
use super::{get_or_head, only};
use crate::account::{Account, Subscription, SubscriptionId};
use crate::site::{CollectionId, SiteId, SiteStatus};
use crate::store::SiteRow;
use crate::text::clean;
use crate::text::readable_address;

/// The longest name of a folder.
const MAX_FOLDER_CHARS: usize = 60;
/// Folders that are proposed.
const MAX_FOLDERS: usize = 50;
/// Subscriptions on one page.
const LINES: usize = 25;

/// Forms, and the list.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(only(
            web::resource("/follow").route(web::post().to(follow)),
            "POST",
        ))
        .service(only(
            web::resource("/unfollow").route(web::post().to(unfollow)),
            "POST",
        ))
        .service(only(
            web::resource("/home/folder").route(web::post().to(set_folder)),
            "POST",
        ))
        .service(only(
            web::resource("/home/sites").route(get_or_head(list)),
            "GET, HEAD",
        ));
}

/// Where to go on after a form: the page that it was on, as far as it is one of ours.
fn back(paths: &Paths, form: &Form) -> String {
    let back = paths.own_page(form.text("back"));
    back.unwrap_or_else(|| paths.at("home/sites"))
}

/// Follows a site, or one collection of it.
async fn follow(own: SignedIn, form: Form) -> Answer {
    let service = own.visitor.service();
    let site = form.number("site").map(SiteId);
    let site = service
        .store
        .site(site.ok_or(WebError::NotFound("site"))?)
        .await?;
    let site = site.ok_or(WebError::NotFound("site"))?;
    let collection = match form.text("collection") {
        "" => None,
        _ => {
            let id = form.number("collection").map(CollectionId);
            let mut known = site.collections.iter();
            let found = known.find(|collection| Some(collection.id) == id);
            Some(found.ok_or(WebError::NotFound("collection"))?.id)
        }
    };
    let id = follow_as(&own.visitor, &own.account, &site, collection).await?;
    if let Some(folder) = folder(form.text("folder")) {
        let account = own.account.id;
        service.store.set_folder(account, id, &folder).await?;
    }
    see_other(back(&service.paths, &form))
}

/// Lets an account follow a site, or one collection of it, and says so on the next page.
pub async fn follow_as(
    visitor: &Visitor,
    account: &Account,
    site: &SiteRow,
    collection: Option<CollectionId>,
) -> Result<SubscriptionId, WebError> {
    let service = visitor.service();
    let (id, _) = service.follow(account, site.id, collection).await?;
    service.feeds.changed(Source::Account(account.id));
    let followed = name(site, collection);
    visitor.tell(Notice::new(format!("You follow {followed} now.")));
    Ok(id)
}

/// Ends it, with a way back.
async fn unfollow(own: SignedIn, form: Form) -> Answer {
    let service = own.visitor.service();
    let account = own.account.id;
    let id = form.number("subscription").map(SubscriptionId);
    let id = id.ok_or(WebError::NotFound("subscription"))?;
    let subscriptions = service.store.subscriptions(account).await?;
    let known = subscriptions.into_iter().find(|known| known.id == id);
    let known = known.ok_or(WebError::NotFound("subscription"))?;
    let site = service.store.site(known.site).await?;
    let now = (service.clock)();
    service.store.unsubscribe(account, id, now).await?;
    service.feeds.changed(Source::Account(account));
    if let Some(site) = site {
        let collection = known.collection.map(|id| id.0.to_string());
        let undo = Undo {
            label: "Undo",
            action: service.paths.at("follow"),
            fields: vec![
                ("site", site.id.0.to_string()),
                ("collection", collection.unwrap_or_default()),
                ("folder", known.folder),
                ("back", form.text("back").to_owned()),
            ],
        };
        let text = format!("You no longer follow {}.", name(&site, known.collection));
        own.tell(Notice::with_undo(text, undo));
    }
    see_other(back(&service.paths, &form))
}

/// Puts a subscription into a folder, or takes it out.
async fn set_folder(own: SignedIn, form: Form) -> Answer {
    let service = own.visitor.service();
    let id = form.number("subscription").map(SubscriptionId);
    let id = id.ok_or(WebError::NotFound("subscription"))?;
    let folder = folder(form.text("folder")).unwrap_or_default();
    let set = service.store.set_folder(own.account.id, id, &folder);
    if !set.await? {
        return Err(WebError::NotFound("subscription").into());
    }
    own.tell(Notice::new(match folder.as_str() {
        "" => "It is in no folder now.".to_owned(),
        folder => format!("It is in the folder {folder} now."),
    }));
    see_other(service.paths.at("home/sites"))
}

/// The name of a folder that somebody typed.
fn folder(typed: &str) -> Option<String> {
    let name: String = clean::title(typed)?
        .chars()
        .take(MAX_FOLDER_CHARS)
        .collect();
    Some(name.trim().to_owned())
}

fn name(site: &SiteRow, collection: Option<CollectionId>) -> String {
    let mut collections = site.collections.iter();
    let found = collection.and_then(|id| collections.find(|known| known.id == id));
    match found {
        Some(collection) => collection.title.clone(),
        None => site_title(site),
    }
}

#[derive(Template)]
#[template(path = "home/sites.html")]
struct ListPage {
    frame: Frame,
    folders: Vec<Folder>,
    names: Vec<String>,
    count: usize,
    before: Option<String>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Query {
    #[serde(default)]
    from: usize,
}

struct Folder {
    name: String,
    lines: Vec<Line>,
}

struct Line {
    subscription: i64,
    title: String,
    part_of: Option<String>,
    url: String,
    address: String,
    trouble: &'static str,
    checked: Option<When>,
    folder: String,
}

/// Everything that somebody follows, by folder and title.
async fn list(own: SignedIn, query: web::Query<Query>) -> Answer {
    let service = own.visitor.service();
    let present = own.visitor.present();
    let mut lines: Vec<Line> = Vec::new();
    let sites = service.store.followed_sites(own.account.id).await?;
    for subscription in service.store.subscriptions(own.account.id).await? {
        if let Some(site) = sites.get(&subscription.site) {
            lines.push(line(&service.paths, &present, site, &subscription));
        }
    }
    lines.sort_by_key(|line| (line.folder.to_lowercase(), line.title.to_lowercase()));
    let names: BTreeSet<String> = (lines.iter())
        .map(|line| line.folder.clone())
        .filter(|name| !name.is_empty())
        .collect();
    let (count, from) = (lines.len(), query.from);
    let mut folders: Vec<Folder> = Vec::new();
    for line in lines.into_iter().skip(from).take(LINES) {
        match folders.last_mut() {
            Some(folder) if folder.name == line.folder => folder.lines.push(line),
            _ => folders.push(Folder {
                name: line.folder.clone(),
                lines: vec![line],
            }),
        }
    }
    let link = |from: usize| format!("{}?from={from}", service.paths.at("home/sites"));
    page(&ListPage {
        frame: own.frame(),
        names: names.into_iter().take(MAX_FOLDERS).collect(),
        folders,
        count,
        before: (from > 0).then(|| link(from.saturating_sub(LINES))),
        next: (count > from.saturating_add(LINES)).then(|| link(from + LINES)),
    })
}

fn line(paths: &Paths, present: &Present, site: &SiteRow, subscription: &Subscription) -> Line {
    let mut collections = site.collections.iter();
    let collection = subscription
        .collection
        .and_then(|id| collections.find(|known| known.id == id));
    let whole = site_title(site);
    Line {
        subscription: subscription.id.0,
        title: collection.map_or_else(|| whole.clone(), |known| known.title.clone()),
        part_of: collection.map(|_| whole.clone()),
        url: match collection {
            Some(collection) => paths.collection(&site.slug, &collection.slug),
            None => paths.site(&site.slug),
        },
        address: readable_address(collection.map_or(&site.url, |known| &known.identity)),
        trouble: match site.status {
            SiteStatus::Ok | SiteStatus::New => "",
            SiteStatus::Failing => "the last check did not go well",
            SiteStatus::Gone => "it says that it is gone for good",
            SiteStatus::Paused => "paused by whoever runs this instance",
        },
        checked: site.last_check_at.map(|at| present.when(at)),
        folder: subscription.folder.clone(),
    }
}
