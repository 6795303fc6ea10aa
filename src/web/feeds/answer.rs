//! What a reader gets of a document: all of it in the coding it likes, or that nothing changed.

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderValue, HttpDate};
use actix_web::{HttpResponse, HttpResponseBuilder};
use chrono::{DateTime, Utc};

use super::prepared::{Coding, Prepared, Rendered};
use crate::web::Data;
use crate::web::error::WebError;

/// The answer to a request with these headers.
pub async fn answer(
    service: &Data,
    feed: &Prepared,
    asked: &HeaderMap,
) -> Result<HttpResponse, WebError> {
    let now = (service.clock)();
    if let Some(answer) = answer_at_once(feed, asked, now) {
        return Ok(answer);
    }
    feed.make_brotli(service).await?;
    answer_at_once(feed, asked, now).ok_or(WebError::Stopping)
}

/// The same, unless there is something to be compressed first.
pub fn answer_at_once(
    feed: &Prepared,
    asked: &HeaderMap,
    now: DateTime<Utc>,
) -> Option<HttpResponse> {
    let rendered = feed.rendered();
    let known = known(asked, rendered);
    // Caches know what they hold by its tag, so they are told the one that they named.
    let (coding, tag) = match known {
        Known::Tagged(tag) => (Coding::Plain, tag),
        Known::Nothing | Known::Document => {
            let coding = feed.coding(wanted(asked))?;
            (coding, &rendered.tags[coding as usize])
        }
    };
    let is_known = !matches!(known, Known::Nothing);
    let mut response = HttpResponseBuilder::new(match is_known {
        true => StatusCode::NOT_MODIFIED,
        false => StatusCode::OK,
    });
    let vary = HeaderValue::from_static("Accept, Accept-Encoding");
    response
        .insert_header((header::ETAG, tag.clone()))
        .insert_header((header::LAST_MODIFIED, rendered.last_modified.clone()))
        .insert_header((header::CACHE_CONTROL, feed.cache_control(now)))
        .insert_header((header::VARY, vary));
    if is_known {
        return Some(response.finish());
    }
    let media_type = HeaderValue::from_static(rendered.media_type(is_browser(asked)));
    response.insert_header((header::CONTENT_TYPE, media_type));
    let name = match coding {
        Coding::Brotli => Some("br"),
        Coding::Gzip => Some("gzip"),
        Coding::Plain => None,
    };
    if let Some(name) = name {
        response.insert_header((header::CONTENT_ENCODING, HeaderValue::from_static(name)));
    }
    Some(match feed.body(coding) {
        Ok(body) => response.body(body),
        // What we compressed ourselves a moment ago.
        Err(_) => HttpResponse::new(StatusCode::INTERNAL_SERVER_ERROR).map_into_boxed_body(),
    })
}

/// Whether a person looks at it: browsers want pages, and know nothing of feeds.
fn is_browser(asked: &HeaderMap) -> bool {
    let accepted = asked.get(header::ACCEPT);
    let accepted = accepted.and_then(|value| value.to_str().ok());
    accepted.is_some_and(|types| {
        types.contains("text/html") && !types.contains("atom+xml") && !types.contains("rss+xml")
    })
}

/// The coding that a reader likes best, and the one that it likes best but for brotli; the smaller one where it likes
/// both.
fn wanted(asked: &HeaderMap) -> (Coding, Coding) {
    let mut given: [Option<f32>; 3] = [None; 3];
    let mut others: Option<f32> = None;
    for list in asked.get_all(header::ACCEPT_ENCODING) {
        for part in list.to_str().unwrap_or_default().split(',') {
            let (name, weight) = part.split_once(';').unwrap_or((part, ""));
            let weight = weight.trim();
            let weight = weight.strip_prefix("q=").or(weight.strip_prefix("Q="));
            let weight = weight.map_or(1.0, |weight| weight.trim().parse().unwrap_or(0.0));
            let is = |coding: &str| name.trim().eq_ignore_ascii_case(coding);
            if is("identity") {
                given[Coding::Plain as usize] = Some(weight);
            } else if is("gzip") || is("x-gzip") {
                given[Coding::Gzip as usize] = Some(weight);
            } else if is("br") {
                given[Coding::Brotli as usize] = Some(weight);
            } else if is("*") {
                others = Some(weight);
            }
        }
    }
    let better = |than: (Coding, f32), coding: Coding| {
        let weight = given[coding as usize].or(others).unwrap_or(0.0);
        match weight > 0.0 && weight >= than.1 {
            true => (coding, weight),
            false => than,
        }
    };
    let plain = (Coding::Plain, given[Coding::Plain as usize].unwrap_or(0.0));
    let gzip = better(plain, Coding::Gzip);
    (better(gzip, Coding::Brotli).0, gzip.0)
}

/// What a reader has already.
enum Known<'a> {
    Nothing,
    /// The document, as it says itself.
    Document,
    /// The document in the coding with this tag.
    Tagged(&'a HeaderValue),
}

/// What the reader has already. A tag is the better witness: where one is given, the time is not looked at.
fn known<'a>(asked: &HeaderMap, feed: &'a Rendered) -> Known<'a> {
    let mut tags = asked.get_all(header::IF_NONE_MATCH).peekable();
    if tags.peek().is_some() {
        let found = tags.find_map(|value| named(value, feed));
        return found.unwrap_or(Known::Nothing);
    }
    let since = asked.get(header::IF_MODIFIED_SINCE);
    let since = since.and_then(|value| value.to_str().ok()?.parse::<HttpDate>().ok());
    match since.is_some_and(|since| feed.modified <= since) {
        true => Known::Document,
        false => Known::Nothing,
    }
}

/// What a list of tags has of ours. A coding may have been undone or done on the way, so each of them will do.
fn named<'a>(value: &HeaderValue, feed: &'a Rendered) -> Option<Known<'a>> {
    let text = value.to_str().ok()?;
    if text.trim() == "*" {
        return Some(Known::Document);
    }
    let mut tags = text.split(',').map(|tag| {
        let tag = tag.trim();
        tag.strip_prefix("W/").unwrap_or(tag)
    });
    tags.find_map(|tag| {
        let mut own = feed.tags.iter();
        own.find(|own| own.as_bytes() == tag.as_bytes())
            .map(Known::Tagged)
    })
}
