//! The pages of a site, of a collection and of an entry.
//!
//! A site that was never read shows what is being read of it, and one that says nothing about its changes says why.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use serde::Deserialize;

use super::calendar::{Calendar, calendar, first_day};
use super::changes::{
    self, ChangeLine, Day, READ_OF_ENTRY, Room, escaped_bytes, host_of, site_title,
};
use super::error::WebError;
use super::feeds::{collection_subject, find, site_subject};
use super::forms::sentence;
use super::frame::{Answer, Frame, page};
use super::live::{self, Known};
use super::parts::{self, Offers};
use super::paths::{FeedPath, Paths};
use super::session::Visitor;
use super::words::{Present, When};
use super::{Data, get_or_head, only};
use crate::account::Subscription;
use crate::feed::{self, Grain, Subject};
use crate::problem::{Code, Severity};
use crate::site::{Format, SiteStatus};
use crate::store::{CheckRow, CollectionRow, EntriesOf, Place, PlaceError, SiteRow};
use crate::text::readable_address;

/// Entries that are looked at for one page.
const ENTRIES: u32 = 60;
/// Collections that one page lists; the others are a click away.
const PARTS: usize = 20;
/// What each of them takes besides its address and its title, and with a form to follow it.
const PART_BYTES: usize = 350;
const PART_FORM_BYTES: usize = 750;

/// Everything below `/sites`, feeds left out.
pub fn routes(config: &mut web::ServiceConfig) {
    let resource = |path: &str, handler: actix_web::Route| {
        only(web::resource(path).route(handler), "GET, HEAD")
    };
    config
        .service(resource("/sites/{site}", get_or_head(add_slash)))
        .service(resource("/sites/{site}/", get_or_head(site)))
        .service(resource("/sites/{site}/reading.json", get_or_head(reading)))
        .service(resource(
            "/sites/{site}/{collection}",
            get_or_head(add_slash),
        ))
        .service(resource(
            "/sites/{site}/{collection}/",
            get_or_head(collection),
        ))
        .service(resource(
            "/sites/{site}/{collection}/entries/{n}",
            get_or_head(entry),
        ));
}

#[derive(Template)]
#[template(path = "sites/site.html")]
struct SitePage<'a> {
    frame: Frame,
    title: String,
    description: Option<&'a str>,
    part_of: Option<(String, String)>,
    page: String,
    page_name: String,
    is_claim: bool,
    status: Status,
    live: Option<Live>,
    follow: Follow,
    parts: Vec<PartLine<'a>>,
    fewer_parts: Option<String>,
    more_parts: Option<String>,
    offers: Offers,
    fewer_lists: Option<String>,
    more_lists: Option<String>,
    feeds: Vec<FeedLine>,
    root: Option<String>,
    how: Option<String>,
    report: String,
    trouble: Option<Trouble>,
    is_empty: bool,
    calendar: Option<Calendar>,
    days: Vec<Day>,
    newest: Option<String>,
    older: Option<String>,
}

/// How things stand, in words.
struct Status {
    checked: Option<When>,
    next: Option<When>,
    also: &'static str,
}

/// A reading that is under way.
struct Live {
    progress: String,
    documents: Vec<String>,
}

/// Whether whoever looks follows this.
enum Follow {
    /// Nobody knows: this is where to sign in.
    SignIn(String),
    /// No, but they could.
    Not(FollowForm),
    /// Yes.
    Yes(FollowForm),
    /// The whole site, whose page is here.
    Whole(String),
}

struct FollowForm {
    action: &'static str,
    label: &'static str,
    site: i64,
    collection: String,
    subscription: String,
    back: String,
}

struct PartLine<'a> {
    url: String,
    title: &'a str,
    latest: Option<When>,
    form: Option<FollowForm>,
}

impl PartLine<'_> {
    /// What it takes on a page, about.
    fn bytes(&self) -> usize {
        let form = self.form.as_ref().map_or(0, |_| PART_FORM_BYTES);
        self.url.len() + 2 * escaped_bytes(self.title) + PART_BYTES + form
    }
}

struct FeedLine {
    id: &'static str,
    label: &'static str,
    media_type: &'static str,
    url: String,
}

/// What the last check found wrong.
struct Trouble {
    title: &'static str,
    sentence: String,
    /// The document that it is about, and the line there, unless it is about the site.
    place: Option<(String, Option<u32>)>,
    fix: &'static str,
    is_bad: bool,
}

#[derive(Template)]
#[template(path = "sites/entry.html")]
struct EntryPage<'a> {
    frame: Frame,
    title: String,
    when: When,
    site: (String, String),
    up: String,
    up_title: &'a str,
    feeds: Vec<FeedLine>,
    lines: Vec<ChangeLine>,
    more: Option<String>,
    count: usize,
}

#[derive(Deserialize)]
struct Query {
    after: Option<String>,
    /// Collections to pass over.
    #[serde(default)]
    collections: usize,
    /// Lists of pages to pass over.
    #[serde(default)]
    sitemaps: usize,
}

#[derive(Deserialize)]
struct EntryQuery {
    before: Option<i64>,
}

/// Addresses of folders end with a slash.
async fn add_slash(service: Data, request: HttpRequest) -> Answer {
    let names: Vec<&str> = request.match_info().iter().map(|(_, name)| name).collect();
    let site = find(&service, names[0]).await?;
    let to = match names.get(1) {
        Some(name) => {
            let found = named(&site, name)?;
            service.paths.collection(&site.slug, &found.slug)
        }
        None => service.paths.site(&site.slug),
    };
    Ok(HttpResponse::MovedPermanently()
        .insert_header((header::LOCATION, to))
        .finish())
}

fn named<'a>(site: &'a SiteRow, name: &str) -> Result<&'a CollectionRow, WebError> {
    let mut collections = site.collections.iter();
    let found = collections.find(|known| known.slug == name);
    found.ok_or(WebError::NotFound("collection"))
}

async fn site(visitor: Visitor, name: web::Path<String>, query: web::Query<Query>) -> Answer {
    let site = find(visitor.service(), &name).await?;
    show(&visitor, &site, None, &site_subject(&site), &query).await
}

async fn collection(
    visitor: Visitor,
    names: web::Path<(String, String)>,
    query: web::Query<Query>,
) -> Answer {
    let (site, name) = &*names;
    let site = find(visitor.service(), site).await?;
    let found = named(&site, name)?;
    let subject = collection_subject(found);
    show(&visitor, &site, Some(found), &subject, &query).await
}

/// What came since, for a page that shows a site being read.
async fn reading(service: Data, name: web::Path<String>, known: web::Query<Known>) -> Answer {
    let site = find(&service, &name).await?;
    let documents = service.readings.of(site.id);
    Ok(live::progress(documents, &known, !is_new(&site)))
}

/// Whether the first reading is still to come, or under way.
fn is_new(site: &SiteRow) -> bool {
    site.status == SiteStatus::New && site.last_check_at.is_none()
}

async fn show(
    visitor: &Visitor,
    site: &SiteRow,
    collection: Option<&CollectionRow>,
    subject: &Subject<'_>,
    query: &Query,
) -> Answer {
    let service = visitor.service();
    let (paths, present) = (&service.paths, visitor.present());
    let of = match collection {
        Some(collection) => EntriesOf::Collection(collection.id),
        None => EntriesOf::Site(site.id),
    };
    let own = match collection {
        Some(collection) => paths.collection(&site.slug, &collection.slug),
        None => paths.site(&site.slug),
    };
    let after = match query.after.as_deref() {
        None => Place::FIRST,
        Some(text) => text
            .parse()
            .map_err(|error: PlaceError| WebError::Malformed(error.to_string()))?,
    };
    let activity = match query.after {
        Some(_) => None,
        None => {
            let since = first_day(present.today());
            Some(service.store.activity(of, since).await?)
        }
    };
    let subscriptions = match visitor.account() {
        Some(account) => Some(service.store.subscriptions(account.id).await?),
        None => None,
    };
    let following = Following {
        paths,
        site,
        own: &own,
        subscriptions: subscriptions.as_deref(),
    };
    let lines = match collection {
        Some(_) => Vec::new(),
        None => following.parts(&present, query.collections),
    };
    let offers = match collection {
        Some(_) => Offers::default(),
        None => parts::offers(visitor, site, subscriptions.as_deref(), query.sitemaps).await?,
    };
    let beside: usize = lines.iter().map(PartLine::bytes).sum();
    let room = Room::beside(beside + offers.bytes());
    let (days, older) = days(service, &present, site, of, after, &own, room).await?;
    let parts_from = |from: usize| format!("{own}?collections={from}#collections");
    let lists_from = |from: usize| format!("{own}?sitemaps={from}#only");
    let (first, beyond) = (query.collections, query.collections + lines.len());
    let has_more = !lines.is_empty() && beyond < site.collections.len();
    let checks = service.store.checks(site.id, None, 2).await?;
    let last = checks.iter().find(|check| check.finished_at.is_some());
    let live = is_new(site).then(|| Live {
        progress: paths.reading(&site.slug),
        documents: service.readings.of(site.id).into_vec(),
    });
    page(&SitePage {
        frame: visitor.frame(),
        title: match collection {
            Some(collection) => collection.title.clone(),
            None => site_title(site),
        },
        description: subject.about.description.as_deref(),
        part_of: collection.map(|_| (site_title(site), paths.site(&site.slug))),
        page: subject.page.to_string(),
        page_name: readable_address(&subject.page),
        is_claim: collection.is_some_and(|collection| !collection.is_own),
        status: status(&present, site),
        live,
        follow: following.whole(collection),
        parts: lines,
        fewer_parts: (first > 0).then(|| parts_from(first.saturating_sub(PARTS))),
        more_parts: has_more.then(|| parts_from(beyond)),
        fewer_lists: offers.before().map(lists_from),
        more_lists: offers.next.map(lists_from),
        offers,
        feeds: feeds(paths, site, collection),
        root: site.root.as_ref().map(ToString::to_string),
        how: site.format.map(|format| how(format, last)),
        report: paths.report(site.url.as_str()),
        trouble: last.and_then(|check| trouble(site, check)),
        is_empty: site.collections.is_empty(),
        calendar: activity.map(|days| calendar(&days, present.today())),
        days,
        newest: query.after.as_ref().map(|_| own.clone()),
        older,
    })
}

/// As many entries as a page has room for, by day, and where the others are.
async fn days(
    service: &Data,
    present: &Present,
    site: &SiteRow,
    of: EntriesOf,
    after: Place,
    own: &str,
    mut room: Room,
) -> Result<(Vec<Day>, Option<String>), WebError> {
    let (briefs, mut next) = (service.store)
        .briefs(of, after, ENTRIES, READ_OF_ENTRY)
        .await?;
    let mut days = Vec::new();
    for (place, brief) in briefs.iter().enumerate() {
        if room.is_full() {
            next = place.checked_sub(1).map(|before| briefs[before].place());
            break;
        }
        let mut collections = site.collections.iter();
        let Some(collection) = collections.find(|known| known.id == brief.collection) else {
            continue;
        };
        let entry =
            changes::entry_line(present, &service.paths, site, collection, brief, &mut room);
        let day = present.day(brief.entry.updated_at);
        changes::add(&mut days, present, day, entry);
    }
    Ok((days, next.map(|place| format!("{own}?after={place}"))))
}

fn status(present: &Present, site: &SiteRow) -> Status {
    let next = site.next_check_at;
    let is_due = next.is_some_and(|at| at <= present.now);
    Status {
        checked: site.last_check_at.map(|at| present.when(at)),
        next: next.filter(|_| !is_due).map(|at| present.when(at)),
        also: match site.status {
            SiteStatus::Paused => "Paused by whoever runs this instance",
            SiteStatus::Gone => "It says that it is gone for good",
            SiteStatus::New | SiteStatus::Ok | SiteStatus::Failing if is_due => "Being checked now",
            SiteStatus::New | SiteStatus::Ok | SiteStatus::Failing => "",
        },
    }
}

/// How a site is read, and why not better.
fn how(format: Format, last: Option<&CheckRow>) -> String {
    let mut problems = last.iter().flat_map(|check| &check.problems);
    // It says first what there is, and then why it is nothing better.
    let only = problems.find(|problem| problem.code == Code::OnlyAList);
    let reason = only.and_then(|problem| problem.message.split_once("; "));
    match reason {
        Some((_, reason)) => format!("{} {}", format.sentence(), sentence(reason)),
        None => format.sentence().to_owned(),
    }
}

/// What is worth telling everybody about the last check: not advice, which is for the author alone.
fn trouble(site: &SiteRow, check: &CheckRow) -> Option<Trouble> {
    let problems = check.problems.iter();
    let worst = problems.max_by_key(|problem| problem.severity())?;
    let is_failing = matches!(site.status, SiteStatus::Failing | SiteStatus::Gone);
    if worst.severity() == Severity::Note && !is_failing {
        return None;
    }
    Some(Trouble {
        title: match is_failing {
            true => "The last check did not go well",
            false => "The last check found something to fix",
        },
        sentence: match is_failing {
            true => check.summary.clone(),
            false => sentence(&worst.sentence()),
        },
        place: (!is_failing).then(|| (worst.document.clone(), worst.line)),
        fix: worst.code.fix(),
        is_bad: is_failing,
    })
}

fn feeds(paths: &Paths, site: &SiteRow, collection: Option<&CollectionRow>) -> Vec<FeedLine> {
    let path = FeedPath {
        site: &site.slug,
        collection: collection.map(|collection| collection.slug.as_str()),
        extension: "atom",
        by_page: false,
    };
    let atom = "application/atom+xml";
    let by_page = FeedPath {
        by_page: true,
        ..path
    };
    let json = FeedPath {
        extension: "json",
        ..path
    };
    vec![
        FeedLine {
            id: "feed",
            label: "All changes",
            media_type: atom,
            url: paths.feed(&path),
        },
        FeedLine {
            id: "feed-by-page",
            label: "An entry for each page",
            media_type: atom,
            url: paths.feed(&by_page),
        },
        FeedLine {
            id: "feed-json",
            label: "As JSON Feed",
            media_type: "application/feed+json",
            url: paths.feed(&json),
        },
    ]
}

/// What somebody follows of a site.
struct Following<'a> {
    paths: &'a Paths,
    site: &'a SiteRow,
    own: &'a str,
    /// None for somebody who is not signed in.
    subscriptions: Option<&'a [Subscription]>,
}

impl Following<'_> {
    fn subscription(&self, collection: Option<&CollectionRow>) -> Option<&Subscription> {
        let id = collection.map(|collection| collection.id);
        let mut subscriptions = self.subscriptions.unwrap_or_default().iter();
        subscriptions.find(|one| one.site == self.site.id && one.collection == id)
    }

    fn form(&self, collection: Option<&CollectionRow>) -> FollowForm {
        let known = self.subscription(collection);
        let number = known.map(|known| known.id.0.to_string());
        FollowForm {
            action: match known {
                Some(_) => "unfollow",
                None => "follow",
            },
            label: match (known, collection) {
                (Some(_), _) => "Unfollow",
                (None, Some(_)) => "Follow",
                (None, None) => "Follow the site",
            },
            site: self.site.id.0,
            collection: collection.map_or_else(String::new, |known| known.id.0.to_string()),
            subscription: number.unwrap_or_default(),
            back: self.paths.asked(self.own),
        }
    }

    /// The page's own subject.
    fn whole(&self, collection: Option<&CollectionRow>) -> Follow {
        if self.subscriptions.is_none() {
            let back = self.paths.asked(self.own);
            return Follow::SignIn(self.paths.sign_in_to(Some(&back)));
        }
        if self.subscription(collection).is_some() {
            return Follow::Yes(self.form(collection));
        }
        match collection.and_then(|_| self.subscription(None)) {
            Some(_) => Follow::Whole(self.paths.site(&self.site.slug)),
            None => Follow::Not(self.form(collection)),
        }
    }

    /// Some collections of a site.
    fn parts(&self, present: &Present, from: usize) -> Vec<PartLine<'_>> {
        let may_choose = self.subscriptions.is_some() && self.subscription(None).is_none();
        let part = |collection| part(self, present, collection, may_choose);
        let collections = self.site.collections.iter();
        collections.skip(from).take(PARTS).map(part).collect()
    }
}

fn part<'a>(
    following: &Following<'_>,
    present: &Present,
    collection: &'a CollectionRow,
    may_choose: bool,
) -> PartLine<'a> {
    let latest = collection.last_processed.as_ref();
    let followed = following.subscription(Some(collection)).is_some();
    PartLine {
        url: (following.paths).collection(&following.site.slug, &collection.slug),
        title: &collection.title,
        latest: latest.map(|moment| present.when_told(moment)),
        form: (may_choose || followed).then(|| following.form(Some(collection))),
    }
}

async fn entry(
    visitor: Visitor,
    names: web::Path<(String, String, i64)>,
    query: web::Query<EntryQuery>,
) -> Answer {
    let (site, name, n) = &*names;
    let service = visitor.service();
    let site = find(service, site).await?;
    let collection = named(&site, name)?;
    let row = service.store.entry(collection.id, *n).await?;
    let Some(row) = row else {
        return Err(match service.store.is_pruned(collection.id, *n).await? {
            true => WebError::Gone("entry").into(),
            false => WebError::NotFound("entry").into(),
        });
    };
    let subject = collection_subject(collection);
    let items = feed::items(&subject, &row.entry, None, Grain::Checks);
    let item = items.first().ok_or(WebError::NotFound("entry"))?;
    let count = item.pages.len();
    // The newest ones first; `before` says how many are left.
    let end = query.before.and_then(|left| usize::try_from(left).ok());
    let end = end.unwrap_or(count).min(count);
    let listed = Room::new().take(&item.pages[..end], usize::MAX);
    let present = visitor.present();
    let own = service.paths.entry(&site.slug, &collection.slug, row.n);
    let lines = item.pages[end - listed..end].iter().rev();
    let host = host_of(&site.url);
    page(&EntryPage {
        frame: visitor.frame(),
        title: item.title(),
        when: present.when(row.entry.updated_at),
        site: (site_title(&site), service.paths.site(&site.slug)),
        up: service.paths.collection(&site.slug, &collection.slug),
        up_title: &collection.title,
        feeds: feeds(&service.paths, &site, Some(collection)),
        lines: (lines.map(|page| changes::change_line(&present, page, &host))).collect(),
        more: (end > listed).then(|| format!("{own}?before={}", end - listed)),
        count,
    })
}
