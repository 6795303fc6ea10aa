//! Pages for people: a site, a collection, an entry.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header;
use actix_web::middleware::Next;
use actix_web::{HttpRequest, HttpResponse, ResponseError, web};
use askama::Template;
use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::error::WebError;
use super::feeds::{collection_subject, find, site_subject};
use super::paths::{FeedPath, Paths};
use super::{Data, get_or_head, only};
use crate::feed::{self, Grain, Subject};
use crate::site::{Format, SiteStatus};
use crate::store::{CollectionRow, EntriesOf, EntryRow, SiteRow};
use crate::text::readable_address;

/// Entries on one page.
const ENTRIES: u32 = 20;
/// Pages that are listed below an entry where there are several entries.
const PAGES_IN_BRIEF: usize = 10;
/// Pages of an entry that are listed at once.
const PAGES: usize = 500;

/// Pages and their addresses.
pub fn routes(config: &mut web::ServiceConfig) {
    let resource = |path: &str, handler: actix_web::Route| {
        only(web::resource(path).route(handler), "GET, HEAD")
    };
    config
        .service(resource("/", get_or_head(home)))
        .service(resource("/sites/{site}", get_or_head(add_slash)))
        .service(resource("/sites/{site}/", get_or_head(site)))
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

/// A refusal as a page.
#[derive(Debug)]
pub struct PageError(WebError);

impl From<WebError> for PageError {
    fn from(error: WebError) -> Self {
        PageError(error)
    }
}

impl From<crate::store::StoreError> for PageError {
    fn from(error: crate::store::StoreError) -> Self {
        PageError(error.into())
    }
}

impl std::fmt::Display for PageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl ResponseError for PageError {
    fn status_code(&self) -> StatusCode {
        self.0.status_code()
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = self.0.error_response();
        response.extensions_mut().insert(Refusal {
            title: match self.status_code() {
                StatusCode::NOT_FOUND => "There is nothing here",
                StatusCode::GONE => "This was removed",
                _ => "That did not work",
            },
            sentence: self.0.to_string(),
        });
        response
    }
}

/// What an error page says.
#[derive(Clone)]
struct Refusal {
    title: &'static str,
    sentence: String,
}

/// Makes pages of refusals that are meant for people. An error does not know our addresses, so it is done here.
pub async fn with_error_pages(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let service = request.app_data::<Data>().cloned();
    let mut response = next.call(request).await?.map_into_boxed_body();
    let refusal = response.response().extensions().get::<Refusal>().cloned();
    let (Some(refusal), Some(service)) = (refusal, service) else {
        return Ok(response);
    };
    let page = ErrorPage {
        paths: &service.paths,
        title: refusal.title,
        sentence: refusal.sentence,
    };
    let html = header::HeaderValue::from_static("text/html; charset=utf-8");
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, html);
    let page = page.render().unwrap_or_default();
    Ok(response.map_body(|_, _| BoxBody::new(page)))
}

#[derive(Template)]
#[template(path = "pages/error.html")]
struct ErrorPage<'a> {
    paths: &'a Paths,
    title: &'a str,
    sentence: String,
}

#[derive(Template)]
#[template(path = "pages/home.html")]
struct HomePage<'a> {
    paths: &'a Paths,
}

#[derive(Template)]
#[template(path = "pages/feed.html")]
struct FeedPage<'a> {
    paths: &'a Paths,
    title: &'a str,
    description: Option<&'a str>,
    page: String,
    page_name: String,
    status: String,
    atom: String,
    atom_by_page: String,
    json: String,
    parts_heading: &'static str,
    parts: Vec<PartLink<'a>>,
    entries: Vec<EntryPart>,
    older: Option<String>,
}

struct PartLink<'a> {
    url: String,
    title: &'a str,
}

struct EntryPart {
    url: String,
    title: String,
    datetime: String,
    time: String,
    html: String,
}

#[derive(Template)]
#[template(path = "pages/entry.html")]
struct EntryPage<'a> {
    paths: &'a Paths,
    title: String,
    datetime: String,
    time: String,
    up: String,
    up_title: &'a str,
    html: String,
    more: Option<String>,
    count: usize,
}

#[derive(Deserialize)]
struct Query {
    before: Option<i64>,
}

type Answer = Result<HttpResponse, PageError>;

async fn home(service: Data) -> Answer {
    let paths = &service.paths;
    page(&HomePage { paths })
}

/// Addresses of folders end with a slash.
async fn add_slash(service: Data, request: HttpRequest) -> Answer {
    let names: Vec<&str> = request.match_info().iter().map(|(_, name)| name).collect();
    let site = find(&service, names[0]).await?;
    let to = match names.get(1) {
        Some(name) => {
            let named = |collection: &&CollectionRow| collection.slug == **name;
            let found = site.collections.iter().find(named);
            let found = found.ok_or(WebError::NotFound("collection"))?;
            service.paths.collection(&site.slug, &found.slug)
        }
        None => service.paths.site(&site.slug),
    };
    Ok(HttpResponse::MovedPermanently()
        .insert_header((header::LOCATION, to))
        .finish())
}

async fn site(service: Data, name: web::Path<String>, query: web::Query<Query>) -> Answer {
    let site = find(&service, &name).await?;
    let parts = site.collections.iter().map(|collection| PartLink {
        url: service.paths.collection(&site.slug, &collection.slug),
        title: &collection.title,
    });
    let parts = parts.collect();
    let own = site_subject(&site);
    show_feed(
        &service,
        &site,
        None,
        &own,
        "Collections",
        parts,
        query.before,
    )
    .await
}

async fn collection(
    service: Data,
    names: web::Path<(String, String)>,
    query: web::Query<Query>,
) -> Answer {
    let (site, name) = &*names;
    let site = find(&service, site).await?;
    let found = site.collections.iter().find(|known| known.slug == *name);
    let found = found.ok_or(WebError::NotFound("collection"))?;
    let parts = vec![PartLink {
        url: service.paths.site(&site.slug),
        title: site.title.as_deref().unwrap_or(&site.slug),
    }];
    let own = collection_subject(found);
    show_feed(
        &service,
        &site,
        Some(found),
        &own,
        "Part of",
        parts,
        query.before,
    )
    .await
}

async fn show_feed(
    service: &Data,
    site: &SiteRow,
    collection: Option<&CollectionRow>,
    subject: &Subject<'_>,
    parts_heading: &'static str,
    parts: Vec<PartLink<'_>>,
    before: Option<i64>,
) -> Answer {
    let paths = &service.paths;
    let of = match collection {
        Some(collection) => EntriesOf::Collection(collection.id),
        None => EntriesOf::Site(site.id),
    };
    let before = before.unwrap_or(i64::MAX);
    let mut rows = service
        .store
        .entries_before(of, before, ENTRIES + 1)
        .await?;
    let has_more = rows.len() > ENTRIES as usize;
    rows.truncate(ENTRIES as usize);
    let path = FeedPath {
        site: &site.slug,
        collection: collection.map(|collection| collection.slug.as_str()),
        extension: "atom",
        by_page: false,
    };
    let own = match collection {
        Some(collection) => paths.collection(&site.slug, &collection.slug),
        None => paths.site(&site.slug),
    };
    let older = rows.last().filter(|_| has_more);
    page(&FeedPage {
        paths,
        title: subject.title,
        description: subject.about.description.as_deref(),
        page: subject.page.to_string(),
        page_name: readable_address(&subject.page),
        status: status(site, (service.clock)()),
        atom: paths.feed(&path),
        atom_by_page: paths.feed(&FeedPath {
            by_page: true,
            ..path
        }),
        json: paths.feed(&FeedPath {
            extension: "json",
            ..path
        }),
        parts_heading,
        parts,
        entries: (rows.iter())
            .filter_map(|row| entry_part(paths, site, row))
            .collect(),
        older: older.map(|row| format!("{own}?before={}", row.n)),
    })
}

fn entry_part(paths: &Paths, site: &SiteRow, row: &EntryRow) -> Option<EntryPart> {
    let mut collections = site.collections.iter();
    let collection = collections.find(|known| known.id == row.collection)?;
    let subject = collection_subject(collection);
    let url = paths.entry(&site.slug, &collection.slug, row.n);
    let items = feed::items(&subject, &row.entry, Some(url.clone()), Grain::Checks);
    let item = items.first()?;
    let newest = item.pages.len().saturating_sub(PAGES_IN_BRIEF);
    Some(EntryPart {
        url,
        title: item.title(),
        datetime: row.entry.updated_at.to_rfc3339(),
        time: in_words(row.entry.updated_at),
        html: item.html(newest..item.pages.len()),
    })
}

async fn entry(
    service: Data,
    names: web::Path<(String, String, i64)>,
    query: web::Query<Query>,
) -> Answer {
    let (site, name, n) = &*names;
    let site = find(&service, site).await?;
    let collection = site.collections.iter().find(|known| known.slug == *name);
    let collection = collection.ok_or(WebError::NotFound("collection"))?;
    let row = service.store.entry(collection.id, *n).await?;
    let row = row.ok_or(WebError::NotFound("entry"))?;
    let subject = collection_subject(collection);
    let own = service.paths.entry(&site.slug, &collection.slug, row.n);
    let items = feed::items(&subject, &row.entry, Some(own.clone()), Grain::Checks);
    let item = items.first().ok_or(WebError::NotFound("entry"))?;
    let count = item.pages.len();
    // The newest ones first; `before` says how many are left.
    let end = query.before.and_then(|left| usize::try_from(left).ok());
    let end = end.unwrap_or(count).min(count);
    let start = end.saturating_sub(PAGES);
    page(&EntryPage {
        paths: &service.paths,
        title: item.title(),
        datetime: row.entry.updated_at.to_rfc3339(),
        time: in_words(row.entry.updated_at),
        up: service.paths.collection(&site.slug, &collection.slug),
        up_title: &collection.title,
        html: item.html_of(start..end),
        more: (start > 0).then(|| format!("{own}?before={start}")),
        count,
    })
}

fn page(template: &impl Template) -> Answer {
    // A template that cannot be written is a fault of ours, and there is nothing better to say.
    let text = template.render().unwrap_or_default();
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/html; charset=utf-8"))
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .body(text))
}

/// How things stand with a site.
fn status(site: &SiteRow, now: DateTime<Utc>) -> String {
    let checked = match site.last_check_at {
        Some(at) => format!("Read {} ago", span((now - at).num_seconds())),
        None => "Not read yet".to_owned(),
    };
    let what = match site.status {
        SiteStatus::New | SiteStatus::Ok => "",
        SiteStatus::Failing => ", which did not go well",
        SiteStatus::Gone => ", and it says that it is gone for good",
        SiteStatus::Paused => ", and paused since",
    };
    let next = site.next_check_at.map(|at| match (at - now).num_seconds() {
        ..=0 => "; being read again now".to_owned(),
        seconds => format!("; the next time is in {}", span(seconds)),
    });
    let how = match site.format {
        Some(Format::ResourceSync) => " It describes itself in ResourceSync.".to_owned(),
        Some(format) => {
            let title = format.title();
            format!(
                " It has a list of its pages ({title}), so its changes are inferred from one reading to the next."
            )
        }
        None => String::new(),
    };
    format!("{checked}{what}{}.{how}", next.unwrap_or_default())
}

fn span(seconds: i64) -> String {
    let (count, unit) = match seconds.max(0) {
        seconds @ 0..60 => (seconds, "second"),
        seconds @ 60..3_600 => (seconds / 60, "minute"),
        seconds @ 3_600..172_800 => (seconds / 3_600, "hour"),
        seconds => (seconds / 86_400, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

fn in_words(at: DateTime<Utc>) -> String {
    at.format("%-d %B %Y, %H:%M UTC").to_string()
}
