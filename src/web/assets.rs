//! Files that are part of the program: styles, the bell, and a small script.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};

use super::error::WebError;
use super::frame::PageError;
use super::{get_or_head, only};

/// They change with the program only, and are asked for again after a day at most.
const CACHE: &str = "public, max-age=86400";
const ETAG: &str = concat!("\"", env!("CARGO_PKG_VERSION"), "\"");

const FILES: &[(&str, &str, &str)] = &[
    (
        "style.css",
        "text/css; charset=utf-8",
        include_str!("../../static/style.css"),
    ),
    (
        "feed.css",
        "text/css; charset=utf-8",
        include_str!("../../static/feed.css"),
    ),
    (
        "site.js",
        "text/javascript; charset=utf-8",
        include_str!("../../static/site.js"),
    ),
    (
        "bell.svg",
        "image/svg+xml",
        include_str!("../../static/bell.svg"),
    ),
];

/// Everything below `/static`.
pub fn routes(config: &mut web::ServiceConfig) {
    let resource = web::resource("/static/{name}").route(get_or_head(show));
    config.service(only(resource, "GET, HEAD"));
}

async fn show(request: HttpRequest, name: web::Path<String>) -> Result<HttpResponse, PageError> {
    let file = FILES.iter().find(|(known, ..)| *known == *name);
    let Some((_, media_type, text)) = file else {
        return Err(WebError::NoSuchAddress(request.path().to_owned()).into());
    };
    let mut response = HttpResponse::Ok();
    response
        .insert_header((header::CONTENT_TYPE, *media_type))
        .insert_header((header::CACHE_CONTROL, CACHE))
        .insert_header((header::ETAG, ETAG));
    Ok(response.body(*text))
}
