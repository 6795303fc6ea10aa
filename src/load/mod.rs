//! One document, from its address to what it says, within the bounds of one check.
//!
//! Joins [`crate::fetch`] and [`crate::read`] and does the bookkeeping: every document at most once, so many documents,
//! bytes and seconds and no more. Decides nothing about what comes next.

use std::collections::HashMap;
use std::io::{BufRead, Cursor, Read};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use crate::change::Change;
use crate::fetch::{FetchError, Fetched, Fetcher, Limit, Request};
use crate::problem::{Code, Problem, Problems};
use crate::read::html::HtmlHead;
use crate::read::resourcesync::{self, Capability, Entry, Reading, ReadingRules, rules};
use crate::read::{html, link, link_header};
use crate::site::same_site;

/// How much of a page is looked at to see whether it is a document.
const SNIFF_BYTES: u64 = 1024;

/// The bounds of one check.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Documents that are fetched.
    pub documents: u32,
    /// Documents among them that are on other sites than the one that was asked for.
    pub foreign_documents: u32,
    /// Capability Lists of one site.
    pub collections: usize,
    /// Pages and metadata that are fetched for titles and authors.
    pub descriptions: u32,
    /// Bytes that come over the network.
    pub bytes: u64,
    /// The whole check.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            documents: 100,
            foreign_documents: 20,
            collections: 100,
            descriptions: 20,
            bytes: 200 * 1024 * 1024,
            time: Duration::from_secs(60),
        }
    }
}

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

/// Why there is no document.
#[derive(Debug, Clone)]
pub enum LoadError {
    /// It could not be fetched.
    Fetch(Arc<FetchError>),
    /// It was fetched and could not be read.
    Broken(Box<Problem>),
    /// The check has used up what it may use.
    Limit(String),
}

/// What a typed address turned out to be.
pub enum Page {
    /// A document after all.
    Document(Result<Arc<Loaded>, LoadError>),
    /// A page with what it says about itself, and the links of its head and of the response.
    Html(Box<HtmlHead>, Vec<link::Link>),
}

/// Loads the documents of one check.
pub struct Loader<'a> {
    fetcher: &'a Fetcher,
    limits: Limits,
    rules: ReadingRules,
    keep: Keep,
    progress: Progress,
    deadline: Instant,
    site: Url,
    loaded: HashMap<Url, Result<Arc<Loaded>, LoadError>>,
    documents: u32,
    foreign_documents: u32,
    descriptions: u32,
    /// Everything found wrong so far.
    pub problems: Problems,
    /// Requests made so far.
    pub requests: u32,
    /// Bytes that came over the network so far.
    pub bytes: u64,
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
            site,
            loaded: HashMap::new(),
            documents: 0,
            foreign_documents: 0,
            descriptions: 0,
            problems: Problems::default(),
            requests: 0,
            bytes: 0,
        }
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
        let fetched = self
            .within(self.fetcher.get(Request::new(url.clone(), Limit::Document)))
            .await?;
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
        let request = Request::new(url.clone(), Limit::Document);
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
                sniff(reader, parse, content_type.as_deref(), &base)
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
                Ok(Page::Html(head, links))
            }
        }
    }

    /// Fetches a page or a description for its title; only a few of them in one check.
    pub async fn description(&mut self, url: &Url, is_page: bool) -> Result<Described, LoadError> {
        if self.descriptions >= self.limits.descriptions {
            return Err(LoadError::Limit(format!(
                "only {} descriptions are read in one check",
                self.limits.descriptions
            )));
        }
        self.descriptions += 1;
        (self.progress)(url);
        let request = Request::new(url.clone(), Limit::Other);
        let fetched = match is_page {
            true => self.within(self.fetcher.get_page(request)).await?,
            false => self.within(self.fetcher.get(request)).await?,
        };
        let (url, content_type) = (fetched.url.clone(), fetched.content_type.clone());
        let bytes = self.read_body(fetched, |reader| {
            let mut bytes = Vec::new();
            // A failed transfer is reported by the body itself.
            let _ = reader.read_to_end(&mut bytes);
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
        self.requests += 1;
        match tokio::time::timeout_at(self.deadline, self.fetcher.robots(url)).await {
            Ok(robots) => robots.sitemaps(),
            Err(_) => Vec::new(),
        }
    }

    /// Checks and counts what one more document takes from the bounds.
    fn spend_document(&mut self, url: &Url) -> Result<(), LoadError> {
        if self.documents >= self.limits.documents {
            return Err(LoadError::Limit(format!(
                "a check reads {} documents at most",
                self.limits.documents
            )));
        }
        if self.bytes >= self.limits.bytes {
            return Err(LoadError::Limit(format!(
                "a check reads {} bytes at most",
                self.limits.bytes
            )));
        }
        if !same_site(url, &self.site) {
            if self.foreign_documents >= self.limits.foreign_documents {
                let limit = self.limits.foreign_documents;
                return Err(LoadError::Limit(format!(
                    "a check reads {limit} documents of other sites at most"
                )));
            }
            self.foreign_documents += 1;
        }
        self.documents += 1;
        (self.progress)(url);
        Ok(())
    }

    async fn within(
        &mut self,
        request: impl Future<Output = Result<Fetched, FetchError>>,
    ) -> Result<Fetched, LoadError> {
        match tokio::time::timeout_at(self.deadline, request).await {
            Ok(Ok(fetched)) => {
                self.requests += fetched.requests;
                Ok(fetched)
            }
            Ok(Err(error)) => {
                self.requests += 1;
                Err(LoadError::Fetch(Arc::new(error)))
            }
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
            let error = FetchError::UnaskedNotModified {
                url: url.to_string(),
            };
            return Err(LoadError::Fetch(Arc::new(error)));
        };
        match tokio::time::timeout_at(self.deadline, body.read_with(parse)).await {
            Ok(Ok((value, stats))) => {
                self.bytes += stats.wire_bytes;
                Ok(value)
            }
            Ok(Err(error)) => Err(LoadError::Fetch(Arc::new(error))),
            Err(_) => Err(self.out_of_time()),
        }
    }

    fn out_of_time(&self) -> LoadError {
        LoadError::Limit(format!(
            "a check takes {} seconds at most",
            self.limits.time.as_secs()
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

/// Decides by its first bytes whether this is a document, and reads it as what it is.
fn sniff(
    reader: &mut dyn BufRead,
    parse: impl FnOnce(&mut dyn BufRead) -> Parsed,
    content_type: Option<&str>,
    base: &Url,
) -> Seen {
    let mut head = Vec::new();
    // Here and below, a failed transfer is reported by the body itself.
    let _ = Read::take(&mut *reader, SNIFF_BYTES).read_to_end(&mut head);
    // Without the zero bytes, UTF-16 looks like ASCII, which is enough to find a name.
    let names: Vec<u8> = head.iter().copied().filter(|&byte| byte != 0).collect();
    let is_document = [&b"urlset"[..], b"sitemapindex"]
        .iter()
        .any(|name| memchr::memmem::find(&names, name).is_some());
    let mut whole = Cursor::new(head).chain(reader);
    if is_document {
        return Seen::Document(Box::new(parse(&mut whole)));
    }
    let mut bytes = Vec::new();
    let _ = whole.take(html::MAX_BYTES as u64).read_to_end(&mut bytes);
    Seen::Html(Box::new(HtmlHead::parse(&bytes, content_type, base)))
}

fn is_named_like_a_document(url: &Url) -> bool {
    let path = url.path().to_ascii_lowercase();
    [".xml", ".xml.gz", ".gz", "/resourcesync"]
        .iter()
        .any(|ending| path.ends_with(ending))
}

impl LoadError {
    /// The problem that an author sees, for a document that was asked for at `url`.
    pub fn problem(&self, url: &Url) -> Problem {
        match self {
            LoadError::Broken(problem) => (**problem).clone(),
            LoadError::Limit(reason) => Problem::new(
                Code::LimitReached,
                url,
                format!("this document was left unread: {reason}"),
            ),
            LoadError::Fetch(error) => {
                let code = match **error {
                    FetchError::Refused(_) | FetchError::Redirect { .. } => Code::ForbiddenAddress,
                    FetchError::TooLarge { .. } => Code::TooLarge,
                    FetchError::Status { .. } => Code::HttpError,
                    FetchError::Broken { .. } => Code::CutOff,
                    _ => Code::Unreachable,
                };
                Problem::new(code, url, error.to_string())
            }
        }
    }
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
