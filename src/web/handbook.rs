//! Our own pages in the frame of all others, and the documents by which they are followed.

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;

use super::error::WebError;
use super::files;
use super::frame::{Answer, Frame, PageError, page};
use super::session::Visitor;
use super::{Data, get_or_head, only};
use crate::handbook::{self, Page};

/// The handbook, and what tells of its changes.
pub fn routes(config: &mut web::ServiceConfig) {
    let resource = |path: &str, handler: actix_web::Route| {
        only(web::resource(path).route(handler), "GET, HEAD")
    };
    config
        .service(resource("/docs/", get_or_head(index)))
        .service(resource("/docs/{page:.+}", get_or_head(show)))
        .service(resource("/.well-known/resourcesync", get_or_head(document)))
        .service(resource("/sitebell/{file:.+}", get_or_head(document)));
}

#[derive(Template)]
#[template(path = "handbook/index.html")]
struct IndexPage {
    frame: Frame,
    /// Each with the pages of its folder, where it is the first one of a folder.
    chapters: Vec<(&'static Page, Vec<&'static Page>)>,
}

#[derive(Template)]
#[template(path = "handbook/page.html")]
struct ShownPage {
    frame: Frame,
    page: &'static Page,
}

async fn index(visitor: Visitor) -> Answer {
    let mut chapters: Vec<(&Page, Vec<&Page>)> = Vec::new();
    for page in handbook::pages() {
        match chapters.last_mut() {
            Some((first, others)) if page.is_below(first) => others.push(page),
            _ => chapters.push((page, Vec::new())),
        }
    }
    page(&IndexPage {
        frame: visitor.frame(),
        chapters,
    })
}

async fn show(visitor: Visitor, request: HttpRequest, address: web::Path<String>) -> Answer {
    let found = handbook::find(&address);
    page(&ShownPage {
        page: found.ok_or_else(|| WebError::NoSuchAddress(request.path().to_owned()))?,
        frame: visitor.frame(),
    })
}

async fn document(service: Data, request: HttpRequest) -> Result<HttpResponse, PageError> {
    let found = files::answer(&service.own, request.path());
    let nothing = || WebError::NoSuchAddress(request.path().to_owned());
    Ok(found.ok_or_else(nothing)?)
}
