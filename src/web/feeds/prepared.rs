//! A document that is ready to be sent, in every coding that readers like.
//!
//! Whatever can be known beforehand is made when the document is rendered, so that an answer is put together from parts.
//! Only brotli is left for the first reader who wants it, because many documents are read by nobody before they change
//! again.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use actix_web::http::header::{HeaderValue, HttpDate};
use actix_web::web::Bytes;
use chrono::{DateTime, SubsecRound, Utc};
use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;
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
    let rendered = compress(service, work).await?;
    Ok(Arc::new(Prepared {
        made_of,
        whom,
        rendered,
    }))
}

async fn compress<T: Send + 'static>(
    service: &Data,
    work: impl FnOnce(&mut Compressor) -> std::io::Result<T> + Send + 'static,
) -> Result<T, WebError> {
    let service = service.clone();
    match spawn_blocking(move || service.feeds.compress_with(work)).await {
        Ok(done) => done.map_err(WebError::Compression),
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
    /// When it became what it is: to the second, because that is all that comes back.
    pub modified: HttpDate,
    /// The same as a header.
    pub last_modified: HeaderValue,
    /// Strong, so another one for each coding.
    pub tags: [HeaderValue; 3],
    gzip: Bytes,
    /// None if it is no smaller than gzip.
    brotli: OnceCell<Option<Bytes>>,
}

/// How a document is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// Not at all.
    Plain,
    /// With gzip, which there always is.
    Gzip,
    /// With brotli, unless that is no smaller.
    Brotli,
}

impl Rendered {
    /// Renders and compresses a document.
    pub fn new(
        form: Form,
        document: &Document<'_>,
        compressor: &mut Compressor,
    ) -> std::io::Result<Rendered> {
        compressor.write(|text| match form {
            Form::Atom => feed::write_atom(document, text),
            Form::Json => feed::write_json(document, text),
        });
        let gzip = compressor.gzip()?;
        // Equal documents are packed alike, and what is packed is read much faster.
        let hash = Sha256::digest(&gzip);
        let tag: String = (hash.iter().take(16))
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let modified = HttpDate::from(SystemTime::from(document.modified_at().trunc_subsecs(0)));
        Ok(Rendered {
            form,
            modified,
            last_modified: value(&modified.to_string()),
            tags: ["", "-gzip", "-br"].map(|coding| value(&format!("\"{tag}{coding}\""))),
            gzip: gzip.into(),
            brotli: OnceCell::new(),
        })
    }

    /// Browsers show Atom as bare text, unless it is called XML.
    pub fn media_type(&self, is_browser: bool) -> &'static str {
        match (self.form, is_browser) {
            (Form::Atom, false) => "application/atom+xml; charset=utf-8",
            (Form::Atom, true) => "application/xml; charset=utf-8",
            (Form::Json, _) => "application/feed+json; charset=utf-8",
        }
    }
}

impl Prepared {
    /// What it may take in memory: brotli is kept only if it is smaller than gzip.
    pub fn bytes(&self) -> u64 {
        2 * self.rendered.gzip.len() as u64
    }

    /// The coding that a reader gets who likes these: the best of all, and the best but for brotli. None if that is not
    /// known before it [has brotli](Prepared::make_brotli).
    pub fn coding(&self, (best, without_brotli): (Coding, Coding)) -> Option<Coding> {
        match (best, self.rendered.brotli.get()) {
            (Coding::Brotli, None) => None,
            (Coding::Brotli, Some(None)) => Some(without_brotli),
            _ => Some(best),
        }
    }

    /// Packs it with brotli, unless that was done. Whoever comes meanwhile waits for it.
    pub async fn make_brotli(&self, service: &Data) -> Result<(), WebError> {
        let make = || {
            let gzip = self.rendered.gzip.clone();
            compress(service, move |compressor| {
                compressor.write(|text| unpack(&gzip, text))?;
                let brotli = compressor.brotli()?;
                Ok((brotli.len() < gzip.len()).then(|| brotli.into()))
            })
        };
        self.rendered.brotli.get_or_try_init(make).await?;
        Ok(())
    }

    /// What is sent of it in a coding.
    pub fn body(&self, coding: Coding) -> std::io::Result<Bytes> {
        let brotli = self.rendered.brotli.get();
        match (coding, brotli.and_then(Option::as_ref)) {
            (Coding::Brotli, Some(brotli)) => Ok(brotli.clone()),
            (Coding::Gzip, _) => Ok(self.rendered.gzip.clone()),
            (Coding::Plain | Coding::Brotli, _) => {
                let mut plain = Vec::new();
                unpack(&self.rendered.gzip, &mut plain)?;
                Ok(plain.into())
            }
        }
    }

    /// Its parts.
    pub fn rendered(&self) -> &Rendered {
        &self.rendered
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
    pub fn cache_control(&self, now: DateTime<Utc>) -> String {
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

fn unpack(gzip: &[u8], text: &mut Vec<u8>) -> std::io::Result<()> {
    GzDecoder::new(gzip).read_to_end(text).map(|_| ())
}
