//! Sites, their checks and their changes.

use std::collections::BTreeSet;

use actix_web::http::header;
use actix_web::{HttpResponse, web};

use super::input::Json;
use super::shapes::{
    After, Before, Changes, CheckAsked, CheckShape, Checks, NewSite, ProblemDetails, SiteChange,
    SiteShape, Sites,
};
use crate::site::{CheckId, SiteId, SiteUrl};
use crate::store::SiteRow;
use crate::web::Data;
use crate::web::auth::{Admin, Caller, Reader, Writer};
use crate::web::error::WebError;
use crate::web::feeds::Source;
use crate::web::limits::Daily;

const USUAL_LIMIT: u32 = 100;
const MAX_LIMIT: u32 = 1_000;

type Answer = Result<HttpResponse, WebError>;

/// The sites that the account follows; for an admin, all sites.
#[utoipa::path(get, path = "/sites", operation_id = "list_sites", tag = "sites", params(After), security(("token" = [])), responses(
    (status = 200, description = "Some sites", body = Sites),
    (status = "4XX", description = "Refused", body = ProblemDetails, content_type = "application/problem+json"),
))]
pub async fn list(service: Data, reader: Reader, query: web::Query<After>) -> Answer {
    let limit = limit(query.limit)?;
    let after = query.after.as_deref().map(number).transpose()?.map(SiteId);
    let (sites, more) = match reader.0.is_admin() {
        true => {
            let sites = service.store.sites(after, limit + 1).await?;
            let more = sites.len() > limit as usize;
            (sites, more)
        }
        false => followed(&service, &reader.0, after, limit).await?,
    };
    let sites = &sites[..sites.len().min(limit as usize)];
    let next = sites
        .last()
        .filter(|_| more)
        .map(|site| site.id.to_string());
    let sites = sites
        .iter()
        .map(|site| SiteShape::new(site, &service.paths));
    Ok(HttpResponse::Ok().json(Sites {
        sites: sites.collect(),
        next,
    }))
}

async fn followed(
    service: &Data,
    caller: &Caller,
    after: Option<SiteId>,
    limit: u32,
) -> Result<(Vec<SiteRow>, bool), WebError> {
    let subscriptions = service.store.subscriptions(caller.account.id).await?;
    let followed: BTreeSet<SiteId> = (subscriptions.into_iter())
        .map(|subscription| subscription.site)
        .filter(|site| Some(*site) > after)
        .collect();
    let mut sites = Vec::new();
    for id in followed.iter().take(limit as usize) {
        sites.extend(service.store.site(*id).await?);
    }
    Ok((sites, followed.len() > limit as usize))
}

/// Adds a site, whose first check begins at once; or finds it, if it is known.
#[utoipa::path(post, path = "/sites", operation_id = "add_site", tag = "sites", request_body = NewSite, security(("token" = [])), responses(
    (status = 202, description = "It is new, and being read", body = SiteShape),
    (status = 200, description = "It was known", body = SiteShape),
    (status = "4XX", description = "Refused", body = ProblemDetails, content_type = "application/problem+json"),
))]
pub async fn add(service: Data, writer: Writer, body: Json<NewSite>) -> Answer {
    let invalid = |error: &dyn std::fmt::Display| WebError::Invalid(error.to_string());
    let typed = SiteUrl::parse(&body.0.url).map_err(|error| invalid(&error))?;
    let judged = service.fetcher.judge(typed.url());
    judged.map_err(|refusal| invalid(&refusal))?;
    (service.people.limits).daily(Daily::Lookup, &writer.0.account)?;
    let (id, is_new) = service.store.add_site(typed, (service.clock)()).await?;
    if is_new {
        service.scheduler.wake();
    }
    let site = find(&service, id).await?;
    let mut response = match is_new {
        true => HttpResponse::Accepted(),
        false => HttpResponse::Ok(),
    };
    Ok(response
        .insert_header((header::LOCATION, service.paths.api_site(id)))
        .json(SiteShape::new(&site, &service.paths)))
}

/// A site.
#[utoipa::path(get, path = "/sites/{site}", operation_id = "show_site", tag = "sites", params(("site" = i64, Path, description = "Its number")),
    security(("token" = [])), responses(
    (status = 200, description = "The site", body = SiteShape),
    (status = "4XX", description = "Refused", body = ProblemDetails, content_type = "application/problem+json"),
))]
pub async fn show(service: Data, _reader: Reader, id: web::Path<i64>) -> Answer {
    let site = find(&service, SiteId(*id)).await?;
    Ok(HttpResponse::Ok().json(SiteShape::new(&site, &service.paths)))
}

/// Pauses a site, or lets it go on.
#[utoipa::path(patch, path = "/sites/{site}", operation_id = "change_site", tag = "sites", params(("site" = i64, Path, description = "Its number")),
    request_body = SiteChange, security(("token" = [])), responses(
    (status = 200, description = "The site as it is now", body = SiteShape),
    (status = "4XX", description = "Refused", body = ProblemDetails, content_type = "application/problem+json"),
))]
pub async fn change(
    service: Data,
    _admin: Admin,
    id: web::Path<i64>,
    body: Json<SiteChange>,
) -> Answer {
    let (id, now) = (SiteId(*id), (service.clock)());
    if !service.store.set_paused(id, body.0.paused, now).await? {
        return Err(WebError::NotFound("site"));
    }
    service.scheduler.wake();
    let site = find(&service, id).await?;
    Ok(HttpResponse::Ok().json(SiteShape::new(&site, &service.paths)))
}

/// Removes a site with everything that is known of it.
#[utoipa::path(delete, path = "/sites/{site}", operation_id = "remove_site", tag = "sites", params(("site" = i64, Path, description = "Its number")),
    security(("token" = [])), responses(
    (status = 204, description = "It is gone"),
    (status = "4XX", description = "Refused", body = ProblemDetails, content_type = "application/problem+json"),
))]
pub async fn remove(service: Data, _admin: Admin, id: web::Path<i64>) -> Answer {
    match service
        .store
        .remove_site(SiteId(*id), (service.clock)())
        .await?
    {
        true => {
            service.feeds.changed(Source::Site(SiteId(*id)));
            Ok(HttpResponse::NoContent().finish())
        }
        false => Err(WebError::NotFound("site")),
    }
}

/// Asks for a check now. One that is under way already is the one that is told.
#[utoipa::path(post, path = "/sites/{site}/check", operation_id = "check_site", tag = "checks",
    params(("site" = i64, Path, description = "Its number")), security(("token" = [])), responses(
    (status = 202, description = "The check has begun, or waits for its turn", body = CheckAsked),
    (status = 429, description = "The host of the site asked to be left alone until Retry-After is over",
        body = ProblemDetails, content_type = "application/problem+json"),
    (status = "4XX", description = "Refused", body = ProblemDetails, content_type = "application/problem+json"),
))]
pub async fn check_now(service: Data, writer: Writer, id: web::Path<i64>) -> Answer {
    let site = SiteId(*id);
    (service.people.limits).daily(Daily::Lookup, &writer.0.account)?;
    let check = service.scheduler.check_now(site).await?;
    Ok(HttpResponse::Accepted()
        .insert_header((header::LOCATION, service.paths.api_check(site, check)))
        .json(CheckAsked { check: check.0 }))
}

/// The checks of a site.
#[utoipa::path(get, path = "/sites/{site}/checks", operation_id = "list_checks", tag = "checks",
    params(("site" = i64, Path, description = "Its number"), Before), security(("token" = [])), responses(
    (status = 200, description = "Some checks, newest first", body = Checks),
    (status = "4XX", description = "Refused", body = ProblemDetails, content_type = "application/problem+json"),
))]
pub async fn checks(
    service: Data,
    _reader: Reader,
    id: web::Path<i64>,
    query: web::Query<Before>,
) -> Answer {
    let limit = limit(query.limit)?;
    let before = query.before.as_deref().map(number).transpose()?;
    let site = find(&service, SiteId(*id)).await?;
    let before = before.map(CheckId);
    let mut checks = service.store.checks(site.id, before, limit + 1).await?;
    let more = checks.len() > limit as usize;
    checks.truncate(limit as usize);
    let next = checks
        .last()
        .filter(|_| more)
        .map(|check| check.id.to_string());
    Ok(HttpResponse::Ok().json(Checks {
        checks: checks.into_iter().map(CheckShape::from).collect(),
        next,
    }))
}

/// A check of a site.
#[utoipa::path(get, path = "/sites/{site}/checks/{check}", operation_id = "show_check", tag = "checks", params(
        ("site" = i64, Path, description = "The number of the site"),
        ("check" = i64, Path, description = "The number of the check")),
    security(("token" = [])), responses(
    (status = 200, description = "The check", body = CheckShape),
    (status = "4XX", description = "Refused", body = ProblemDetails, content_type = "application/problem+json"),
))]
pub async fn check(service: Data, _reader: Reader, ids: web::Path<(i64, i64)>) -> Answer {
    let (site, check) = *ids;
    let check = service.store.check(SiteId(site), CheckId(check)).await?;
    let check = check.ok_or(WebError::NotFound("check"))?;
    Ok(HttpResponse::Ok().json(CheckShape::from(check)))
}

/// The changes of a site, in the order in which they were found.
#[utoipa::path(get, path = "/sites/{site}/changes", operation_id = "list_changes", tag = "changes",
    params(("site" = i64, Path, description = "Its number"), After), security(("token" = [])), responses(
    (status = 200, description = "Some changes", body = Changes),
    (status = "4XX", description = "Refused", body = ProblemDetails, content_type = "application/problem+json"),
))]
pub async fn changes(
    service: Data,
    _reader: Reader,
    id: web::Path<i64>,
    query: web::Query<After>,
) -> Answer {
    let limit = limit(query.limit)?;
    let after = query.after.as_deref().map(str::parse).transpose();
    let after =
        after.map_err(|error: crate::store::CursorError| WebError::Malformed(error.to_string()))?;
    let site = find(&service, SiteId(*id)).await?;
    let (rows, next) = service.store.changes(site.id, after, limit).await?;
    Ok(HttpResponse::Ok().json(Changes {
        changes: rows.into_iter().map(Into::into).collect(),
        next: next.map(|cursor| cursor.to_string()),
    }))
}

pub(super) async fn find(service: &Data, id: SiteId) -> Result<SiteRow, WebError> {
    let site = service.store.site(id).await?;
    site.ok_or(WebError::NotFound("site"))
}

fn limit(asked: Option<u32>) -> Result<u32, WebError> {
    match asked.unwrap_or(USUAL_LIMIT) {
        limit @ 1..=MAX_LIMIT => Ok(limit),
        other => Err(WebError::Malformed(format!(
            "limit is {other}; it must be between 1 and {MAX_LIMIT}"
        ))),
    }
}

fn number(text: &str) -> Result<i64, WebError> {
    let number = text.parse().ok().filter(|number| *number >= 0);
    number.ok_or_else(|| {
        WebError::Malformed(format!(
            "“{text}” is not a place in the list; use the `next` of the answer before"
        ))
    })
}
