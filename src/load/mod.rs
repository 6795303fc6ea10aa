//! One document, from its address to what it says, within the bounds of one check.
//!
//! Joins [`crate::fetch`] and [`crate::read`] and does the bookkeeping: every document at most once, so many documents,
//! bytes and seconds and no more. Decides nothing about what comes next.

mod error;
mod limits;
mod sniff;

use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::sync::Arc;

use tokio::time::Instant;
use url::Url;

pub use error::LoadError;
use error::out_of_bytes;
pub use limits::Limits;

use crate::change::Change;
use crate::fetch::{FetchError, Fetched, Fetcher, Limit, Meter, Request};
use crate::problem::{Code, Problem, Problems};
use crate::read::html::HtmlHead;
use crate::read::resourcesync::{self, Capability, Entry, Reading, ReadingRules, rules};
use crate::read::{html, link, link_header};
use crate::site::same_site;

/// Decides which changes are kept while a list is read.
pub type Keep = Arc<dyn Fn(&Change) -> bool + Send + Sync>;
/// Hears of every document before it is fetched.
pub type Progress = Arc<dyn Fn(&Url) + Send + Sync>;

/// A document that was read.
#[derive(Debug)]
pub struct Loaded {
    /// The address that was asked for.
    pub asked: Url,
    /// The address that answered.
    pub url: Url,
    /// The document without its changes.
    pub reading: Reading,
    /// The changes that were kept, in the order of the document.
    pub changes: Vec<Change>,
}

/// What a typed address turned out to be.
pub enum Page {
    /// A document after all.
    Document(Result<Arc<Loaded>, LoadError>),
    /// A page, with the links of its head and of the response.
    Html(Vec<link::Link>),
}

/// Loads the documents of one check.
pub struct Loader<'a> {
    fetcher: &'a Fetcher,
    limits: Limits,
    rules: ReadingRules,
    keep: Keep,
    progress: Progress,
    deadline: Instant,
    /// Documents here are no stranger's.
    homes: Vec<Url>,
    loaded: HashMap<Url, Result<Arc<Loaded>, LoadError>>,
    pages: HashMap<Url, (Url, Box<HtmlHead>)>,
    documents: u32,
    foreign_documents: u32,
    descriptions: u32,
    changes: usize,
    meter: Meter,
    /// Everything found wrong so far.
    pub problems: Problems,
}

impl<'a> Loader<'a> {
    /// A loader for a check of `site` that begins now.
    pub fn new(
        fetcher: &'a Fetcher,
        site: Url,
        limits: Limits,
        rules: ReadingRules,
        keep: Keep,
        progress: Progress,
    ) -> Self {
        Loader {
            fetcher,
            limits,
            rules,
            keep,
            progress,
            deadline: Instant::now() + limits.time,
            homes: vec![site],
            loaded: HashMap::new(),
            pages: HashMap::new(),
            documents: 0,
            foreign_documents: 0,
            descriptions: 0,
            changes: 0,
            meter: Meter::new(limits.bytes),
            problems: Problems::default(),
        }
    }

    /// Counts the documents beside this one as the site's own from now on: a site that moved, or that keeps its
    /// documents elsewhere, is still one site.
    pub fn settle_at(&mut self, root: &Url) {
        self.homes.push(root.clone());
    }

    /// Requests made so far.
    pub fn requests(&self) -> u32 {
        self.meter.requests()
    }

    /// Bytes that came over the network so far.
    pub fn bytes(&self) -> u64 {
        self.meter.bytes()
    }

    /// A page that was read already, with the address that answered.
    pub fn known_page(&self, url: &Url) -> Option<&(Url, Box<HtmlHead>)> {
        self.pages.get(url)
    }

    /// The bounds that hold.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Reads a document; asked again, it gives the same answer without another request.
    pub async fn document(&mut self, url: &Url) -> Result<Arc<Loaded>, LoadError> {
        let mut key = url.clone();
        key.set_fragment(None);
        if let Some(known) = self.loaded.get(&key) {
            return known.clone();
        }
        let result = self.fetch_document(&key).await;
        self.remember(key, &result);
        result
    }

    fn remember(&mut self, key: Url, result: &Result<Arc<Loaded>, LoadError>) {
        if let Ok(loaded) = result {
            self.loaded
                .entry(loaded.url.clone())
                .or_insert_with(|| result.clone());
        }
        self.loaded.insert(key, result.clone());
    }

    async fn fetch_document(&mut self, url: &Url) -> Result<Arc<Loaded>, LoadError> {
        self.spend_document(url)?;
        let request = Request::new(url.clone(), Limit::Document).counted_by(&self.meter);
        let fetched = self.within(self.fetcher.get(request)).await?;
        let final_url = fetched.url.clone();
        if let Some(Ok(known)) = self.loaded.get(&final_url) {
            // Two addresses, one document: reading it twice could only tell everything twice.
            return Ok(known.clone());
        }
        let parse = self.parser(final_url.clone());
        let parsed = self.read_body(fetched, move |reader| parse(reader)).await?;
        self.take(url.clone(), final_url, parsed)
    }

    /// Fetches what a person typed, whatever it is.
    pub async fn page(&mut self, url: &Url) -> Result<Page, LoadError> {
        if let Some(known) = self.loaded.get(url) {
            return Ok(Page::Document(known.clone()));
        }
        self.spend_document(url)?;
        let request = Request::new(url.clone(), Limit::Document).counted_by(&self.meter);
        // Documents are there for programs to read; robots.txt is asked only about pages.
        let fetched = match is_named_like_a_document(url) {
            true => self.within(self.fetcher.get(request)).await?,
            false => self.within(self.fetcher.get_page(request)).await?,
        };
        let final_url = fetched.url.clone();
        let content_type = fetched.content_type.clone();
        let from_header: Vec<_> = (fetched.link_headers.iter())
            .flat_map(|header| link_header::parse(header, &final_url))
            .collect();
        let parse = self.parser(final_url.clone());
        let base = final_url.clone();
        let seen = self
            .read_body(fetched, move |reader| {
                read_as_it_is(reader, parse, content_type.as_deref(), &base)
            })
            .await?;
        match seen {
            Seen::Document(parsed) => {
                let result = self.take(url.clone(), final_url, *parsed);
                self.remember(url.clone(), &result);
                Ok(Page::Document(result))
            }
            Seen::Html(head) => {
                let links = head.links.iter().cloned().chain(from_header).collect();
                self.pages.insert(url.clone(), (final_url, head));
                Ok(Page::Html(links))
            }
        }
    }

    /// Fetches a page or a description for its title; only a few of them in one check.
    pub async fn description(&mut self, url: &Url, is_page: bool) -> Result<Described, LoadError> {
        if self.descriptions >= self.limits.descriptions {
            return Err(LoadError::Limit(format!(
                "a check reads {} descriptions at most",
                self.limits.descriptions
            )));
        }
        self.check_time_and_bytes()?;
        self.descriptions += 1;
        (self.progress)(url);
        // Of a page, only the beginning is read, however long it is.
        let (limit, most) = match is_page {
            true => (Limit::Document, html::MAX_BYTES as u64),
            false => (Limit::Other, u64::MAX),
        };
        let request = Request::new(url.clone(), limit).counted_by(&self.meter);
        let fetched = match is_page {
            true => self.within(self.fetcher.get_page(request)).await?,
            false => self.within(self.fetcher.get(request)).await?,
        };
        let (url, content_type) = (fetched.url.clone(), fetched.content_type.clone());
        let bytes = self.read_body(fetched, move |reader| {
            let mut bytes = Vec::new();
            // A failed transfer is reported by the body itself.
            let _ = reader.take(most).read_to_end(&mut bytes);
            bytes
        });
        Ok(Described {
            url,
            content_type,
            bytes: bytes.await?,
        })
    }

    /// The `Sitemap:` lines of the robots.txt of a site.
    pub async fn sitemaps(&mut self, url: &Url) -> Vec<String> {
        if self.check_time_and_bytes().is_err() {
            return Vec::new();
        }
        let robots = self.fetcher.robots_counted_by(url, &self.meter);
        match tokio::time::timeout_at(self.deadline, robots).await {
            Ok(robots) => robots.sitemaps(),
            Err(_) => Vec::new(),
        }
    }

    /// Checks and counts what one more document takes from the bounds.
    fn spend_document(&mut self, url: &Url) -> Result<(), LoadError> {
        let limits = self.limits;
        let stop = |reason| Err(LoadError::Limit(reason));
        if self.documents >= limits.documents {
            let most = limits.documents;
            return stop(format!("a check reads {most} documents at most"));
        }
        if self.changes >= limits.changes {
            let most = limits.changes;
            return stop(format!("a check takes in {most} changes at most"));
        }
        self.check_time_and_bytes()?;
        if !self.homes.iter().any(|home| same_site(url, home)) {
            if self.foreign_documents >= limits.foreign_documents {
                let most = limits.foreign_documents;
                return stop(format!(
                    "a check reads {most} documents of other sites at most"
                ));
            }
            self.foreign_documents += 1;
        }
        self.documents += 1;
        (self.progress)(url);
        Ok(())
    }

    /// Nothing is even begun once these are used up.
    fn check_time_and_bytes(&self) -> Result<(), LoadError> {
        if Instant::now() >= self.deadline {
            return Err(self.out_of_time());
        }
        if self.meter.is_used_up() {
            return Err(out_of_bytes(self.limits.bytes));
        }
        Ok(())
    }

    async fn within(
        &mut self,
        request: impl Future<Output = Result<Fetched, FetchError>>,
    ) -> Result<Fetched, LoadError> {
        match tokio::time::timeout_at(self.deadline, request).await {
            Ok(result) => Ok(result?),
            Err(_) => Err(self.out_of_time()),
        }
    }

    async fn read_body<T, F>(&mut self, fetched: Fetched, parse: F) -> Result<T, LoadError>
    where
        T: Send + 'static,
        F: FnOnce(&mut dyn BufRead) -> T + Send + 'static,
    {
        let url = fetched.url;
        let Some(body) = fetched.answer.into_body() else {
            let url = url.to_string();
            return Err(FetchError::UnaskedNotModified { url }.into());
        };
        match tokio::time::timeout_at(self.deadline, body.read_with(parse)).await {
            Ok(result) => Ok(result?.0),
            Err(_) => Err(self.out_of_time()),
        }
    }

    fn out_of_time(&self) -> LoadError {
        LoadError::Limit(format!(
            "a check takes {} seconds at most",
            self.limits.time.as_secs_f32()
        ))
    }

    fn parser(&self, url: Url) -> impl FnOnce(&mut dyn BufRead) -> Parsed + Send + 'static {
        let (rules, keep) = (self.rules, self.keep.clone());
        move |reader| Parsed::read(reader, &url, rules, &keep)
    }

    fn take(&mut self, asked: Url, url: Url, parsed: Parsed) -> Result<Arc<Loaded>, LoadError> {
        let reading = parsed
            .reading
            .map_err(|problem| LoadError::Broken(Box::new(problem)))?;
        self.problems.extend(parsed.problems.into_vec());
        self.changes += parsed.changes.len();
        Ok(Arc::new(Loaded {
            asked,
            url,
            reading,
            changes: parsed.changes,
        }))
    }
}

/// A description as it came.
pub struct Described {
    /// The address that answered.
    pub url: Url,
    /// Its media type, as far as the server knows.
    pub content_type: Option<String>,
    /// The document.
    pub bytes: Vec<u8>,
}

/// What reading one document gave.
struct Parsed {
    reading: Result<Reading, Problem>,
    changes: Vec<Change>,
    problems: Problems,
}

impl Parsed {
    fn read(reader: &mut dyn BufRead, url: &Url, rules: ReadingRules, keep: &Keep) -> Parsed {
        let mut problems = Problems::default();
        let mut changes = Vec::new();
        let mut each = |entry: &Entry| {
            if let Some(change) = change_of(entry)
                && keep(&change)
            {
                changes.push(change);
            }
        };
        let reading = resourcesync::read(reader, url, rules, &mut problems, &mut each);
        if let Ok(reading) = &reading {
            rules::check(reading, url, &mut problems);
        }
        Parsed {
            reading,
            changes,
            problems,
        }
    }
}

/// The change that an entry tells, if it tells one.
fn change_of(entry: &Entry) -> Option<Change> {
    Some(Change {
        url: entry.loc.clone(),
        kind: entry.change?,
        datetime: entry.datetime?,
        title: None,
        details: entry.details.clone(),
    })
}

enum Seen {
    Document(Box<Parsed>),
    Html(Box<HtmlHead>),
}

/// Reads a document as a document, and anything else as a page.
fn read_as_it_is(
    reader: &mut dyn BufRead,
    parse: impl FnOnce(&mut dyn BufRead) -> Parsed,
    content_type: Option<&str>,
    base: &Url,
) -> Seen {
    let (is_document, mut whole) = sniff::is_document(reader);
    if is_document {
        return Seen::Document(Box::new(parse(&mut whole)));
    }
    let mut bytes = Vec::new();
    // A failed transfer is reported by the body itself.
    let _ = whole.take(html::MAX_BYTES as u64).read_to_end(&mut bytes);
    Seen::Html(Box::new(HtmlHead::parse(&bytes, content_type, base)))
}

fn is_named_like_a_document(url: &Url) -> bool {
    let path = url.path().to_ascii_lowercase();
    [".xml", ".xml.gz", ".gz", "/resourcesync"]
        .iter()
        .any(|ending| path.ends_with(ending))
}

/// Whether a document of this kind is what a link promised; says what is wrong if not.
pub fn expect(loaded: &Loaded, capability: &Capability) -> Result<(), Problem> {
    let document = &loaded.reading.document;
    if document.capability == *capability {
        return Ok(());
    }
    let message = format!(
        "this was listed as a {}, but it is a {}",
        capability.title(),
        document.title()
    );
    Err(Problem::new(Code::WrongCapability, &loaded.url, message).at(loaded.reading.line.max(1)))
}
