//! A document that is ready, and what a reader gets of it: all of it in the coding it likes, or that nothing changed.
//!
//! Whatever can be known beforehand is made when the document is rendered, so that an answer is put together from parts.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderValue, HttpDate};
use actix_web::web::Bytes;
use actix_web::{HttpResponse, HttpResponseBuilder};
use chrono::{DateTime, SubsecRound, Utc};
use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};
use tokio::task::spawn_blocking;

use super::compress::Compressor;
use super::{Form, Now, Source};
use crate::feed::{self, Document};
use crate::web::Data;
use crate::web::error::WebError;

/// Nobody should wait longer to ask again, and nobody needs to ask more often.
const LONGEST_FRESH_SECS: i64 = 24 * 60 * 60;
const SHORTEST_FRESH_SECS: i64 = 60;
/// Readers of a private feed may ask four times an hour.
const PRIVATE_FRESH_SECS: i64 = 15 * 60;

/// Does the work of rendering on a thread where it holds up nobody.
pub async fn prepare(
    service: &Data,
    made_of: MadeOf,
    whom: Whom,
    work: impl FnOnce(&mut Compressor) -> std::io::Result<Rendered> + Send + 'static,
) -> Result<Arc<Prepared>, WebError> {
    let service = service.clone();
    match spawn_blocking(move || service.feeds.compress_with(work)).await {
        Ok(Ok(rendered)) => Ok(Arc::new(Prepared {
            made_of,
            whom,
            rendered,
        })),
        Ok(Err(error)) => Err(WebError::Compression(error)),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(WebError::Stopping),
    }
}

/// What a document was made of, and which generation of that.
pub struct MadeOf(Vec<(Source, Arc<Now>, u64)>);

impl MadeOf {
    /// These, as they are now. To be asked for before anything that is shown.
    pub fn now(service: &Data, sources: impl IntoIterator<Item = Source>) -> MadeOf {
        let mut made_of = MadeOf(Vec::new());
        made_of.add(service, sources);
        made_of
    }

    /// These too.
    pub fn add(&mut self, service: &Data, sources: impl IntoIterator<Item = Source>) {
        self.0.extend(sources.into_iter().map(|source| {
            let now = service.feeds.now(source);
            let generation = now.generation.load(Ordering::SeqCst);
            (source, now, generation)
        }));
    }
}

/// Who may see and keep a document.
pub enum Whom {
    /// Everybody, and every cache on the way; and when there may be something new, as far as was known then.
    Everybody(Option<DateTime<Utc>>),
    /// Nobody but the one who asked.
    One,
}

/// A document that is ready to be sent.
pub struct Prepared {
    made_of: MadeOf,
    whom: Whom,
    rendered: Rendered,
}

/// A document as it is sent. Kept compressed: nearly every reader wants it so.
pub struct Rendered {
    form: Form,
    /// To the second, because that is all that comes back.
    modified: HttpDate,
    last_modified: HeaderValue,
    /// Strong, so another one for each coding.
    tags: [HeaderValue; 3],
    gzip: Bytes,
    brotli: Bytes,
}

impl Rendered {
    /// Renders and compresses a document.
    pub fn new(
        form: Form,
        document: &Document<'_>,
        compressor: &mut Compressor,
    ) -> std::io::Result<Rendered> {
        let text = compressor.write(|text| match form {
            Form::Atom => feed::write_atom(document, text),
            Form::Json => text.extend_from_slice(feed::to_json(document).as_bytes()),
        });
        let hash = Sha256::digest(text);
        let tag: String = (hash.iter().take(16))
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let modified = HttpDate::from(SystemTime::from(document.modified_at().trunc_subsecs(0)));
        Ok(Rendered {
            form,
            modified,
            last_modified: value(&modified.to_string()),
            tags: ["", "-gzip", "-br"].map(|coding| value(&format!("\"{tag}{coding}\""))),
            gzip: compressor.gzip()?.into(),
            brotli: compressor.brotli()?.into(),
        })
    }

    fn plain(&self) -> std::io::Result<Bytes> {
        let mut plain = Vec::new();
        GzDecoder::new(&self.gzip[..]).read_to_end(&mut plain)?;
        Ok(plain.into())
    }

    /// Browsers show Atom as bare text, unless it is called XML.
    fn media_type(&self, is_browser: bool) -> &'static str {
        match (self.form, is_browser) {
            (Form::Atom, false) => "application/atom+xml; charset=utf-8",
            (Form::Atom, true) => "application/xml; charset=utf-8",
            (Form::Json, _) => "application/feed+json; charset=utf-8",
        }
    }
}

impl Prepared {
    /// What it takes in memory.
    pub fn bytes(&self) -> u64 {
        (self.rendered.gzip.len() + self.rendered.brotli.len()) as u64
    }

    /// What it was made of.
    pub fn sources(&self) -> impl Iterator<Item = Source> {
        self.made_of.0.iter().map(|(source, ..)| *source)
    }

    /// Whether nothing of that has changed since.
    pub fn is_current(&self) -> bool {
        let mut made_of = self.made_of.0.iter();
        made_of.all(|(_, now, made)| now.generation.load(Ordering::SeqCst) == *made)
    }

    /// Whether it needs no key.
    pub fn is_for_everybody(&self) -> bool {
        matches!(self.whom, Whom::Everybody(_))
    }

    /// Until when nobody needs to ask again.
    fn cache_control(&self, now: DateTime<Utc>) -> String {
        let next_check = |known: Option<DateTime<Utc>>| {
            let told = self.made_of.0.iter();
            let told = told.map(|(_, now, _)| now.next_check_at.load(Ordering::Relaxed));
            let told = told.filter(|seconds| *seconds > 0).min();
            told.or(known.map(|at| at.timestamp()))
        };
        let (whom, fresh_for) = match self.whom {
            Whom::Everybody(known) => {
                let fresh_for = next_check(known).map_or(0, |at| at - now.timestamp());
                ("public", fresh_for)
            }
            Whom::One => ("private", PRIVATE_FRESH_SECS),
        };
        let fresh_for = fresh_for.clamp(SHORTEST_FRESH_SECS, LONGEST_FRESH_SECS);
        format!("{whom}, max-age={fresh_for}")
    }
}

fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("dates and digits may stand in a header")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Plain,
    Gzip,
    Brotli,
}

/// The answer to a request with these headers.
pub fn answer(feed: &Prepared, asked: &HeaderMap, now: DateTime<Utc>) -> HttpResponse {
    let coding = wanted(asked);
    let is_known = is_known(asked, feed);
    let mut response = HttpResponseBuilder::new(match is_known {
        true => StatusCode::NOT_MODIFIED,
        false => StatusCode::OK,
    });
    let vary = HeaderValue::from_static("Accept, Accept-Encoding");
    response
        .insert_header((header::ETAG, feed.rendered.tags[coding as usize].clone()))
        .insert_header((header::LAST_MODIFIED, feed.rendered.last_modified.clone()))
        .insert_header((header::CACHE_CONTROL, feed.cache_control(now)))
        .insert_header((header::VARY, vary));
    if is_known {
        return response.finish();
    }
    let media_type = HeaderValue::from_static(feed.rendered.media_type(is_browser(asked)));
    response.insert_header((header::CONTENT_TYPE, media_type));
    let name = match coding {
        Coding::Brotli => Some("br"),
        Coding::Gzip => Some("gzip"),
        Coding::Plain => None,
    };
    if let Some(name) = name {
        response.insert_header((header::CONTENT_ENCODING, HeaderValue::from_static(name)));
    }
    let body = match coding {
        Coding::Brotli => Ok(feed.rendered.brotli.clone()),
        Coding::Gzip => Ok(feed.rendered.gzip.clone()),
        Coding::Plain => feed.rendered.plain(),
    };
    match body {
        Ok(body) => response.body(body),
        // What we compressed ourselves a moment ago.
        Err(_) => HttpResponse::new(StatusCode::INTERNAL_SERVER_ERROR).map_into_boxed_body(),
    }
}

/// Whether a person looks at it: browsers want pages, and know nothing of feeds.
fn is_browser(asked: &HeaderMap) -> bool {
    let accepted = asked.get(header::ACCEPT);
    let accepted = accepted.and_then(|value| value.to_str().ok());
    accepted.is_some_and(|types| {
        types.contains("text/html") && !types.contains("atom+xml") && !types.contains("rss+xml")
    })
}

/// The coding that a reader likes best, of those that there are; the smaller one where it likes both.
fn wanted(asked: &HeaderMap) -> Coding {
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
    let mut best = (Coding::Plain, given[Coding::Plain as usize].unwrap_or(0.0));
    for coding in [Coding::Gzip, Coding::Brotli] {
        let weight = given[coding as usize].or(others).unwrap_or(0.0);
        if weight > 0.0 && weight >= best.1 {
            best = (coding, weight);
        }
    }
    best.0
}

/// Whether the reader has it already. A tag is the better witness: where one is given, the time is not looked at.
fn is_known(asked: &HeaderMap, feed: &Prepared) -> bool {
    let mut tags = asked.get_all(header::IF_NONE_MATCH).peekable();
    if tags.peek().is_some() {
        return tags.any(|value| names(value, feed));
    }
    let since = asked.get(header::IF_MODIFIED_SINCE);
    let since = since.and_then(|value| value.to_str().ok()?.parse::<HttpDate>().ok());
    since.is_some_and(|since| feed.rendered.modified <= since)
}

/// Whether a list of tags has one of ours. A coding may have been undone or done on the way, so each of them will do.
fn names(value: &HeaderValue, feed: &Prepared) -> bool {
    let Ok(text) = value.to_str() else {
        return false;
    };
    text.trim() == "*"
        || text.split(',').any(|tag| {
            let tag = tag.trim();
            let tag = tag.strip_prefix("W/").unwrap_or(tag);
            feed.rendered
                .tags
                .iter()
                .any(|own| own.as_bytes() == tag.as_bytes())
        })
}
