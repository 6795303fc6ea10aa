//! Files that are part of the program: styles, the bell, and a small script.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};

use super::error::WebError;
use super::frame::PageError;
use super::{get_or_head, only};

/// They change with the program only, and are asked for again after a day at most.
const CACHE: &str = "public, max-age=86400";

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

/// What tells each file from what it was in other versions.
static MARKS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mark = |text: &str| {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    };
    FILES.iter().map(|(_, _, text)| mark(text)).collect()
});

/// A file with its mark, for links: the pages of a new version are not shown with the style that browsers have kept of
/// the old one.
pub fn marked(name: &str) -> String {
    let place = FILES.iter().position(|(known, ..)| *known == name);
    match place {
        Some(place) => format!("{name}?v={}", MARKS[place]),
        None => name.to_owned(),
    }
}

/// Everything below `/static`.
pub fn routes(config: &mut web::ServiceConfig) {
    let resource = web::resource("/static/{name}").route(get_or_head(show));
    config.service(only(resource, "GET, HEAD"));
}

async fn show(request: HttpRequest, name: web::Path<String>) -> Result<HttpResponse, PageError> {
    let place = FILES.iter().position(|(known, ..)| *known == *name);
    let Some(place) = place else {
        return Err(WebError::NoSuchAddress(request.path().to_owned()).into());
    };
    let (_, media_type, text) = &FILES[place];
    let etag = format!("\"{}\"", MARKS[place]);
    let known = request.headers().get(header::IF_NONE_MATCH);
    let is_known = known.is_some_and(|known| known.as_bytes() == etag.as_bytes());
    let mut response = match is_known {
        true => HttpResponse::NotModified(),
        false => HttpResponse::Ok(),
    };
    response
        .insert_header((header::CONTENT_TYPE, *media_type))
        .insert_header((header::CACHE_CONTROL, CACHE))
        .insert_header((header::ETAG, etag));
    Ok(match is_known {
        true => response.finish(),
        false => response.body(*text),
    })
}
