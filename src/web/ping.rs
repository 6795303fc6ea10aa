//! The deploy hook: an author, or the last step of a build, says that a site has changed, and it is read.
//!
//! Anybody may say so, people with a form and programs with `url=…` in a body or in the address, because nothing depends
//! on who does: a site that is not known is not fetched, a host that wants peace has it, and both who asks and what is
//! asked for are limited in rate.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, ResponseError, web};
use askama::Template;
use chrono::{DateTime, SecondsFormat, Utc};
use serde::Deserialize;
use serde_json::json;

use super::changes::site_title;
use super::error::WebError;
use super::forms::{Field, Form, is_from_program};
use super::frame::{Answer, Frame, page, page_as};
use super::limits::Act;
use super::session::Visitor;
use super::words::When;
use super::{get_or_head, only};
use crate::site::SiteUrl;
use crate::store::SiteRow;

/// The form, and where it and every hook go.
pub fn routes(config: &mut web::ServiceConfig) {
    let resource = web::resource("/ping").route(get_or_head(form));
    let resource = resource.route(web::post().to(ping));
    config.service(only(resource, "GET, HEAD, POST"));
}

#[derive(Deserialize)]
struct Query {
    #[serde(default)]
    url: String,
}

#[derive(Template)]
#[template(path = "ping/form.html")]
struct FormPage {
    frame: Frame,
    url: Field,
    /// What a build runs.
    step: String,
    /// What a host calls.
    call: String,
}

impl FormPage {
    fn new(visitor: &Visitor, url: Field) -> FormPage {
        let hook = visitor.service().paths.ping();
        FormPage {
            frame: visitor.frame(),
            url,
            step: format!("curl --fail --retry 3 -d url=https://fox.example/ {hook}"),
            call: format!("{hook}?url=https://fox.example/"),
        }
    }
}

#[derive(Template)]
#[template(path = "ping/done.html")]
struct DonePage {
    frame: Frame,
    title: String,
    /// None if it is read at once.
    later: Option<When>,
    page: String,
}

async fn form(visitor: Visitor, query: web::Query<Query>) -> Answer {
    page(&FormPage::new(&visitor, Field::new(&query.url)))
}

async fn ping(
    visitor: Visitor,
    request: HttpRequest,
    query: web::Query<Query>,
    form: Form,
) -> Answer {
    let typed = match query.url.as_str() {
        "" => form.text("url"),
        given => given,
    };
    let is_from_program = is_from_program(&request);
    let (site, at) = match ask(&visitor, typed).await {
        Ok(asked) => asked,
        Err(error @ (WebError::Invalid(_) | WebError::Unknown(_))) if !is_from_program => {
            let url = Field::new(typed).wrong(&error);
            return page_as(error.status_code(), &FormPage::new(&visitor, url));
        }
        Err(error) => return Err(error.into()),
    };
    let service = visitor.service();
    if is_from_program {
        return Ok(HttpResponse::Accepted().json(json!({
            "url": site.url.as_str(),
            "page_url": service.paths.site(&site.slug),
            "read_at": at.to_rfc3339_opts(SecondsFormat::Secs, true),
        })));
    }
    let present = visitor.present();
    let done = DonePage {
        frame: visitor.frame(),
        title: site_title(&site),
        later: (at > present.now).then(|| present.when(at)),
        page: service.paths.local(&service.paths.site(&site.slug)),
    };
    page_as(StatusCode::ACCEPTED, &done)
}

/// Has a site read from now on, as far as it is known.
async fn ask(visitor: &Visitor, typed: &str) -> Result<(SiteRow, DateTime<Utc>), WebError> {
    let service = visitor.service();
    let limits = &service.people.limits;
    limits.address(Act::Ping, visitor.client())?;
    if typed.trim().is_empty() {
        let sentence = "the address of the site is missing; send it as url=https://…";
        return Err(WebError::Invalid(sentence.to_owned()));
    }
    let typed = SiteUrl::parse(typed).map_err(|error| WebError::Invalid(error.to_string()))?;
    let unknown = || {
        let (url, home) = (typed.url(), service.paths.home());
        WebError::Unknown(format!(
            "{url} is not followed here, so it was not read; is this the address that is followed? To begin, enter \
             it at {home}"
        ))
    };
    let id = service.store.find_site(&typed).await?;
    let id = id.ok_or_else(unknown)?;
    limits.site(id)?;
    let at = service.scheduler.check_anew(id).await?;
    let site = service.store.site(id).await?;
    Ok((site.ok_or_else(unknown)?, at))
}
