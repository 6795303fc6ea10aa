//! One document, from its address to what it says, within the bounds of one check.
//!
//! Joins [`crate::fetch`] and [`crate::read`] and does the bookkeeping: every document at most once, so many documents,
//! bytes and seconds and no more. Decides nothing about what comes next.

mod error;
mod keep;
mod limits;
mod parsed;
mod round;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::Instant;
use url::Url;

pub use error::LoadError;
use error::{out_of_bytes, out_of_time};
use keep::Filter;
pub use keep::Keep;
pub use limits::Limits;
use parsed::{Parsed, ParsedList, Seen, read_as_it_is};
pub use round::{Ahead, Lap, go_round};

use crate::change::Change;
use crate::fetch::{
    Answer, BodyStats, Errand, FetchError, Fetched, Fetcher, Limit, Request, Robots,
};
use crate::memory::{
    DocumentMemory, KnownPages, Recollection, Sheet, SiteMemory, Stop, Validators,
};
use crate::problem::{Code, Problem, Problems};
use crate::read::html::HtmlHead;
use crate::read::list::{self, Hosts, List, ListReader, Outline};
use crate::read::resourcesync::{Capability, Reading, ReadingRules};
use crate::read::{html, link, link_header};
use crate::site::{Format, same_site};

/// How old a reading may be for which a server may still say that nothing has changed. Some servers say it for ever.
const TRUST_UNCHANGED: TimeDelta = TimeDelta::days(7);

/// A document that is not used any more is remembered for so long after it was last read. Long before that it has to be
/// read anew in any case.
const KEEP_UNUSED: TimeDelta = TimeDelta::days(30);

/// A site that lists its pages may have so many times more documents than one that lists its changes.
const LIST_ROOM: u32 = 10;

/// Hears of every document before it is fetched.
pub type Progress = Arc<dyn Fn(&Url) + Send + Sync>;

/// A request on its way.
type Asking<'r> = Pin<Box<dyn Future<Output = Result<Fetched, FetchError>> + Send + 'r>>;

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
    /// Whether the server said that nothing has changed; then there are no changes here.
    pub is_unchanged: bool,
    /// When its body was read: now, or when it had not changed yet.
    pub read_at: DateTime<Utc>,
    keep: Keep,
}

impl Loaded {
    /// Whether the changes here are those that `keep` asks for. Nothing new is an answer only to those who know the rest.
    fn serves(&self, keep: &Keep, may_be_unchanged: bool) -> bool {
        if self.is_unchanged {
            return may_be_unchanged;
        }
        let same_known = match (&self.keep.known, &keep.known) {
            (Some(mine), Some(theirs)) => mine.is(theirs),
            (mine, theirs) => mine.is_none() && theirs.is_none(),
        };
        self.reading.handed_on == 0 || (self.keep.since == keep.since && same_known)
    }
}

/// A list of pages that was read.
#[derive(Debug)]
pub struct LoadedList {
    /// The address that was asked for.
    pub asked: Url,
    /// The address that answered.
    pub url: Url,
    /// Its format.
    pub format: Format,
    /// The document without its pages.
    pub list: List,
    /// Its pages, compared with those that are known.
    pub sheet: Sheet,
    /// Whether the server said that nothing has changed; then there are no pages here.
    pub is_unchanged: bool,
}

/// What an address turned out to be.
pub enum Page {
    /// A ResourceSync document.
    Document(Result<Arc<Loaded>, LoadError>),
    /// A list of pages in another format.
    List(Result<Box<LoadedList>, LoadError>),
    /// A page, with the links of its head and of the response.
    Html(Vec<link::Link>),
}

/// Loads the documents of one check.
pub struct Loader<'a> {
    fetcher: &'a Fetcher,
    limits: Limits,
    rules: ReadingRules,
    memory: Option<&'a SiteMemory>,
    now: DateTime<Utc>,
    progress: Progress,
    /// Documents here are no stranger's.
    homes: Vec<Url>,
    /// So many redirects may a document take for now, if that is fewer than otherwise.
    max_redirects: Option<u32>,
    /// Documents that were asked for, and not only known.
    asked: HashSet<Url>,
    /// What was answered before anybody asked.
    ahead: Ahead,
    /// How many answers there were, whatever they were.
    answers: usize,
    /// The documents among them that are as they were, and when each was read.
    unchanged: Vec<(Stop, DateTime<Utc>)>,
    loaded: HashMap<Url, Result<Arc<Loaded>, LoadError>>,
    pages: HashMap<Url, (Url, Box<HtmlHead>)>,
    documents: u32,
    foreign_documents: u32,
    descriptions: u32,
    changes: usize,
    list_pages: usize,
    /// How many parts each list has that was read, or that has not changed.
    parts: HashMap<Url, usize>,
    errand: Errand,
    /// Everything found wrong so far.
    pub problems: Problems,
    /// Documents whose bodies were read so far, to be remembered.
    pub documents_read: Vec<(Url, DocumentMemory)>,
    /// The shortest time for which a server promises that its document stays as it is.
    pub fresh_for: Option<Duration>,
}

impl<'a> Loader<'a> {
    /// A loader for a check of `site` that begins `now`, with what is remembered of that site, and what it has answered
    /// already.
    #[allow(clippy::too_many_arguments)] // Each is another thing, and this is called in one place.
    pub fn new(
        ahead: Ahead,
        fetcher: &'a Fetcher,
        site: Url,
        memory: Option<&'a SiteMemory>,
        limits: Limits,
        rules: ReadingRules,
        now: DateTime<Utc>,
        progress: Progress,
    ) -> Self {
        Loader {
            fetcher,
            limits,
            rules,
            memory,
            now,
            progress,
            homes: vec![site],
            max_redirects: None,
            asked: HashSet::new(),
            answers: 0,
            unchanged: Vec::new(),
            loaded: HashMap::new(),
            pages: HashMap::new(),
            documents: 0,
            foreign_documents: 0,
            descriptions: 0,
            changes: 0,
            list_pages: 0,
            parts: HashMap::new(),
            errand: ahead.errand().clone(),
            problems: Problems::default(),
            documents_read: Vec::new(),
            fresh_for: None,
            ahead,
        }
    }

    /// Whether a document that was read differs from what is remembered of it, its changes aside.
    pub fn is_news(&self, url: &Url) -> bool {
        let read = self.documents_read.iter().find(|(asked, _)| asked == url);
        let Some((_, read)) = read else { return false };
        let before = self.memory.and_then(|memory| memory.documents.get(url));
        before.is_none_or(|before| {
            before.outline != read.outline || week(before.read_at) != week(read.read_at)
        })
    }

    /// What is remembered of a list without its pages, however long ago it was read.
    pub fn remembered_list(&self, url: &Url) -> Option<List> {
        let memory = self.memory?.documents.get(url)?;
        Outline::parse(&memory.outline).map(|outline| outline.list)
    }

    /// When the body of a document was last read and kept, whoever wanted it.
    pub fn last_read_at(&self, url: &Url) -> Option<DateTime<Utc>> {
        let memory = self.memory?.documents.get(url)?;
        Some(memory.read_at)
    }

    /// Whether a document was an index of others when it was last read.
    pub fn had_parts(&self, url: &Url) -> bool {
        let memory = self.memory.and_then(|memory| memory.documents.get(url));
        let outline = memory.and_then(|memory| Outline::parse(&memory.outline));
        outline.is_some_and(|outline| !outline.list.parts.is_empty())
    }

    /// Counts the documents beside this one as the site's own from now on: a site that moved, or that keeps its
    /// documents elsewhere, is still one site.
    pub fn settle_at(&mut self, root: &Url) {
        self.homes.push(root.clone());
    }

    /// When the check began.
    pub fn began_at(&self) -> DateTime<Utc> {
        self.now
    }

    /// How many more documents may be read in this check.
    pub fn documents_left(&self) -> usize {
        self.limits.documents.saturating_sub(self.documents) as usize
    }

    /// Requests made so far.
    pub fn requests(&self) -> u32 {
        self.errand.requests()
    }

    /// Bytes that came over the network so far.
    pub fn bytes(&self) -> u64 {
        self.errand.bytes()
    }

    /// A page that was read already, with the address that answered.
    pub fn known_page(&self, url: &Url) -> Option<&(Url, Box<HtmlHead>)> {
        self.pages.get(url)
    }

    /// The page that was asked for here is that of another address as well, which leads here.
    pub fn know_page_as(&mut self, url: &Url, other: &Url) {
        if let Some(page) = self.pages.get(url).cloned() {
            self.pages.entry(other.clone()).or_insert(page);
        }
    }

    /// From now on a document takes so many redirects at most.
    pub fn bound_redirects(&mut self, most: Option<u32>) {
        self.max_redirects = most;
    }

    /// The bounds that hold.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Reads a document; asked again, it gives the same answer without another request.
    pub async fn document(&mut self, url: &Url) -> Result<Arc<Loaded>, LoadError> {
        self.list(url, &Keep::default(), true).await
    }

    /// Reads a document of which only some changes are kept. `may_be_unchanged` allows the server to say that nothing
    /// has changed since it was last read, on behalf of whoever keeps the changes.
    pub async fn list(
        &mut self,
        url: &Url,
        keep: &Keep,
        may_be_unchanged: bool,
    ) -> Result<Arc<Loaded>, LoadError> {
        let mut key = url.clone();
        key.set_fragment(None);
        match self.loaded.get(&key) {
            Some(Ok(loaded)) if loaded.serves(keep, may_be_unchanged) => return Ok(loaded.clone()),
            Some(Err(error)) => return Err(error.clone()),
            _ => {}
        }
        let result = self.fetch_document(&key, keep, may_be_unchanged).await;
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

    async fn fetch_document(
        &mut self,
        url: &Url,
        keep: &Keep,
        may_be_unchanged: bool,
    ) -> Result<Arc<Loaded>, LoadError> {
        self.spend_document(url)?;
        let remembered = self.remembered(url).filter(|_| may_be_unchanged);
        let mut request = Request::new(url.clone(), Limit::Document).on(&self.errand);
        request.max_redirects = self.max_redirects;
        request.validators = remembered.and_then(|memory| memory.validators.clone());
        let fetched = self.ask(request).await?;
        let final_url = fetched.url.clone();
        if let Some(Ok(loaded)) = self.loaded.get(&final_url)
            && loaded.serves(keep, may_be_unchanged)
        {
            // Two addresses, one document: reading it twice could only tell everything twice.
            return Ok(loaded.clone());
        }
        if let (Answer::NotModified, Some(memory)) = (&fetched.answer, remembered) {
            if let Some(validators) = memory.validators.clone() {
                let url = url.clone();
                self.unchanged
                    .push((Stop { url, validators }, memory.read_at));
            }
            return Ok(self.unchanged(url, final_url, memory, keep));
        }
        let validators = fetched.validators.clone();
        let parse = self.parser(final_url.clone(), keep.filter().await?);
        let (parsed, _) = self.read_body(fetched, parse).await?;
        self.take(url.clone(), final_url, parsed, validators, keep)
    }

    /// What is remembered of a document, if it was read lately enough to rely on it.
    fn remembered(&self, url: &Url) -> Option<&'a DocumentMemory> {
        let memory = self.memory?.documents.get(url)?;
        (memory.read_at + TRUST_UNCHANGED > self.now).then_some(memory)
    }

    /// A document that is as it was: what is remembered of it stands in for its body.
    fn unchanged(
        &mut self,
        asked: &Url,
        url: Url,
        memory: &DocumentMemory,
        keep: &Keep,
    ) -> Arc<Loaded> {
        self.problems.extend(memory.problems.iter().cloned());
        // We wrote the outline ourselves; should it not be readable all the same, the document is as good as empty.
        let document = serde_json::from_str(&memory.outline).unwrap_or_default();
        Arc::new(Loaded {
            asked: asked.clone(),
            url,
            reading: Reading {
                document,
                ..Reading::default()
            },
            changes: Vec::new(),
            is_unchanged: true,
            read_at: memory.read_at,
            keep: keep.clone(),
        })
    }

    /// Fetches what a person typed, whatever it is.
    pub async fn page(
        &mut self,
        url: &Url,
        known: &Recollection<KnownPages>,
    ) -> Result<Page, LoadError> {
        // Documents are there for programs to read; robots.txt is asked only about pages.
        self.look_at(url, known, !is_named_like_a_document(url), None)
            .await
    }

    /// Fetches what may be a document of any format, after so many redirects at most.
    pub async fn candidate(
        &mut self,
        url: &Url,
        known: &Recollection<KnownPages>,
        max_redirects: Option<u32>,
    ) -> Result<Page, LoadError> {
        self.look_at(url, known, false, max_redirects).await
    }

    async fn look_at(
        &mut self,
        url: &Url,
        known: &Recollection<KnownPages>,
        is_page: bool,
        max_redirects: Option<u32>,
    ) -> Result<Page, LoadError> {
        if let Some(known) = self.loaded.get(url) {
            return Ok(Page::Document(known.clone()));
        }
        self.spend_document(url)?;
        let mut request = Request::new(url.clone(), Limit::Document).on(&self.errand);
        request.max_redirects = max_redirects.or(self.max_redirects);
        let fetched = match is_page {
            false => self.hear(Box::pin(self.fetcher.get(request))).await?,
            true => self.hear(Box::pin(self.fetcher.get_page(request))).await?,
        };
        let final_url = fetched.url.clone();
        let content_type = fetched.content_type.clone();
        let from_header: Vec<_> = (fetched.link_headers.iter())
            .flat_map(|header| link_header::parse(header, &final_url))
            .collect();
        let validators = fetched.validators.clone();
        let keep = Keep::default();
        let parse = self.parser(final_url.clone(), keep.filter().await?);
        let base = final_url.clone();
        let (hosts, sheet) = (self.hosts(&final_url), new_sheet(known).await?);
        let (max, kind) = (self.limits.unpacked_bytes, content_type);
        let (seen, size) = self
            .read_body(fetched, move |reader| {
                read_as_it_is(reader, parse, &hosts, max, sheet, kind.as_deref(), &base)
            })
            .await?;
        match seen {
            Seen::Document(parsed) => {
                let result = self.take(url.clone(), final_url, *parsed, validators, &keep);
                self.remember(url.clone(), &result);
                Ok(Page::Document(result))
            }
            Seen::List(parsed) => {
                let parsed = parsed.held_to_ratio(&size, &final_url);
                let list = self.take_list(url.clone(), final_url, parsed, validators);
                Ok(Page::List(list.map(Box::new)))
            }
            Seen::Html(head) => {
                let links = head.links.iter().cloned().chain(from_header).collect();
                self.pages.insert(url.clone(), (final_url, head));
                Ok(Page::Html(links))
            }
        }
    }

    /// Reads a list of pages in whichever format it is. `may_be_unchanged` allows the server to say that it has not
    /// changed since it was last read, on behalf of whoever knows its pages.
    pub async fn pages(
        &mut self,
        url: &Url,
        known: &Recollection<KnownPages>,
        may_be_unchanged: bool,
    ) -> Result<LoadedList, LoadError> {
        self.pages_in(None, url, known, may_be_unchanged).await
    }

    /// The same for a list that must be in one `format`, if there is one: it is made to come packed, and may be larger
    /// than others once it is unpacked.
    pub async fn pages_in(
        &mut self,
        format: Option<Format>,
        url: &Url,
        known: &Recollection<KnownPages>,
        may_be_unchanged: bool,
    ) -> Result<LoadedList, LoadError> {
        self.spend_document(url)?;
        let remembered = self.remembered(url).filter(|_| may_be_unchanged);
        let outline = remembered.and_then(|memory| {
            let outline = Outline::parse(&memory.outline)?;
            Some((memory, outline))
        });
        let limit = match format {
            Some(format) => Limit::Packed {
                max_bytes: self.limits.unpacked_bytes,
                max_ratio: list::reader_of(format).max_ratio,
            },
            None => Limit::Document,
        };
        let mut request = Request::new(url.clone(), limit).on(&self.errand);
        request.validators = (outline.as_ref()).and_then(|(memory, _)| memory.validators.clone());
        let fetched = self.ask(request).await?;
        let final_url = fetched.url.clone();
        if let (Answer::NotModified, Some((memory, outline))) = (&fetched.answer, outline) {
            self.problems.extend(memory.problems.iter().cloned());
            let mut list = outline.list;
            self.leave_out_parts(url, &mut list);
            return Ok(LoadedList {
                asked: url.clone(),
                url: final_url,
                format: outline.format,
                list,
                sheet: Sheet::default(),
                is_unchanged: true,
            });
        }
        let validators = fetched.validators.clone();
        let sheet = new_sheet(known).await?;
        let (hosts, base) = (self.hosts(&final_url), final_url.clone());
        let max = self.limits.unpacked_bytes;
        let (parsed, size) = self
            .read_body(fetched, move |reader| {
                let (beginning, mut whole) = list::begin(reader);
                let is_wanted =
                    |reader: &&ListReader| format.is_none_or(|format| reader.format == format);
                // Readers of other formats count on documents that are not as large.
                match list::reader_for(&beginning).filter(is_wanted) {
                    Some(reader) => ParsedList::read(&mut whole, reader, &base, &hosts, max, sheet),
                    None => ParsedList::refused(&beginning, &base),
                }
            })
            .await?;
        let parsed = parsed.held_to_ratio(&size, &final_url);
        self.take_list(url.clone(), final_url, parsed, validators)
    }

    /// A page that is known from elsewhere than a list at its own address, as a list at `listed_in` would show it.
    pub async fn sheet_of(
        &mut self,
        page: &crate::change::Page,
        listed_in: &Url,
        known: &Recollection<KnownPages>,
    ) -> Result<Sheet, LoadError> {
        let mut sheet = new_sheet(known).await?;
        if self.hosts(listed_in).have(&page.url) {
            sheet.add(page);
        }
        self.list_pages += sheet.len();
        Ok(sheet)
    }

    /// Whoever drops a list drops its pages, too. Should it come back as it was, it has to be read anew: nobody would
    /// know its pages any more.
    pub fn forget_lists_not_asked_for(&mut self) {
        let known = self.memory.iter().flat_map(|memory| &memory.documents);
        for (url, memory) in known {
            let is_left_out = memory.validators.is_some() && !self.asked.contains(url);
            if is_left_out && Outline::parse(&memory.outline).is_some() {
                let memory = DocumentMemory {
                    validators: None,
                    ..memory.clone()
                };
                self.documents_read.push((url.clone(), memory));
            }
        }
    }

    /// Remembers no more parts of lists than one reading may have, those of lists included that were not asked for. A
    /// list that loses its parts so is read anew when it is asked for again.
    pub fn forget_parts_beyond_bounds(&mut self) {
        let known = self.memory.iter().flat_map(|memory| &memory.documents);
        let mut others: Vec<_> = (known.filter(|(url, _)| !self.parts.contains_key(url)))
            .filter_map(|(url, memory)| Some((url, memory, Outline::parse(&memory.outline)?)))
            .filter(|(_, _, outline)| !outline.list.parts.is_empty())
            .collect();
        others.sort_by_key(|(_, memory, _)| Reverse(memory.read_at));
        let mut room = self.room_for_parts();
        for (url, memory, mut outline) in others {
            let count = outline.list.parts.len();
            if count <= room {
                room -= count;
                continue;
            }
            outline.list.parts.clear();
            let memory = DocumentMemory {
                validators: None,
                outline: outline.to_text(),
                ..memory.clone()
            };
            self.documents_read.push((url.clone(), memory));
        }
    }

    /// The documents that can be forgotten: they were read long ago, and neither was any of them asked for this time nor is
    /// it one of `kept`, or listed by a document that is. A part of a long index may well wait for its turn.
    pub fn out_of_use(&self, kept: impl FnOnce() -> Vec<Url>) -> Vec<Url> {
        let Some(memory) = self.memory else {
            return Vec::new();
        };
        let known = memory.documents.iter();
        let old = known.filter(|(_, document)| document.read_at + KEEP_UNUSED < self.now);
        let mut unused: HashSet<&Url> = old.map(|(url, _)| url).collect();
        unused.retain(|url| !self.asked.contains(url));
        if unused.is_empty() {
            return Vec::new();
        }
        let read: HashMap<&Url, &DocumentMemory> = self
            .documents_read
            .iter()
            .map(|(url, document)| (url, document))
            .collect();
        let mut used: Vec<Url> = self.asked.iter().cloned().chain(kept()).collect();
        let mut seen = HashSet::new();
        while let Some(url) = used.pop() {
            unused.remove(&url);
            let document = read.get(&url).copied().or(memory.documents.get(&url));
            let outline = document.and_then(|document| Outline::parse(&document.outline));
            if seen.insert(url)
                && let Some(outline) = outline
            {
                let listed = outline.list.documents();
                used.extend(listed.filter_map(|url| Url::parse(url).ok()));
            }
        }
        unused.into_iter().cloned().collect()
    }

    /// Leaves out the parts of a list for which there is no room beside those of the others.
    fn leave_out_parts(&mut self, asked: &Url, list: &mut List) {
        self.parts.remove(asked);
        let room = self.room_for_parts();
        list.left_out += list.parts.len().saturating_sub(room);
        list.parts.truncate(room);
        self.parts.insert(asked.clone(), list.parts.len());
    }

    fn room_for_parts(&self) -> usize {
        let used: usize = self.parts.values().sum();
        self.limits.parts.saturating_sub(used)
    }

    /// Remembers nothing of a document that was read for nothing: nobody knows its pages.
    pub fn forget(&mut self, url: &Url) {
        self.documents_read.retain(|(read, _)| read != url);
        self.parts.remove(url);
    }

    /// Reports something that is wrong with a document in the light of others. It is remembered with the document, and
    /// told again as long as that has not changed.
    pub fn blame(&mut self, asked: &Url, problem: Problem) {
        let mut read = self.documents_read.iter_mut();
        if let Some((_, memory)) = read.find(|(url, _)| url == asked) {
            memory.problems.push(problem.clone());
        }
        self.problems.add(problem);
    }

    /// From now on keeps to the pace that a site asks for.
    pub fn keep_pace(&mut self, url: &Url, pace: Duration) {
        self.fetcher.keep_gap(url, pace);
    }

    /// The hosts that a list at this address may speak for: its own, and that of the site.
    fn hosts(&self, url: &Url) -> Hosts {
        Hosts::of(self.homes.iter().chain([url]))
    }

    fn take_list(
        &mut self,
        asked: Url,
        url: Url,
        parsed: ParsedList,
        validators: Option<Validators>,
    ) -> Result<LoadedList, LoadError> {
        let list = parsed.list;
        let (format, mut list) = list.map_err(|problem| LoadError::Broken(Box::new(problem)))?;
        self.leave_out_parts(&asked, &mut list);
        let problems = parsed.problems.into_vec();
        self.problems.extend(problems.iter().cloned());
        self.list_pages += parsed.sheet.len();
        let outline = Outline::new(format, list);
        let memory = DocumentMemory {
            validators,
            read_at: self.now,
            outline: outline.to_text(),
            problems,
        };
        self.documents_read.push((asked.clone(), memory));
        Ok(LoadedList {
            asked,
            url,
            format,
            list: outline.list,
            sheet: parsed.sheet,
            is_unchanged: false,
        })
    }

    /// From now on lists of pages are read, which are many and large: more documents, and more time for them.
    pub fn make_room_for_lists(&mut self) {
        self.limits.documents = self.limits.documents.saturating_mul(LIST_ROOM);
        let more = self.limits.time * (LIST_ROOM - 1) / 2;
        self.errand.prolong(more);
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
        let request = Request::new(url.clone(), limit).on(&self.errand);
        let fetched = match is_page {
            true => self.hear(Box::pin(self.fetcher.get_page(request))).await?,
            false => self.hear(Box::pin(self.fetcher.get(request))).await?,
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
            bytes: bytes.await?.0,
        })
    }

    /// The robots.txt of a site, if there is time for it.
    pub async fn robots(&mut self, url: &Url) -> Option<Arc<Robots>> {
        self.check_time_and_bytes().ok()?;
        self.answers += 1;
        self.ahead.forget();
        Some(self.fetcher.robots_on(url, &self.errand).await)
    }

    /// Checks and counts what one more document takes from the bounds.
    fn spend_document(&mut self, url: &Url) -> Result<(), LoadError> {
        self.asked.insert(url.clone());
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
        if self.list_pages >= limits.pages {
            let most = limits.pages;
            return stop(format!("a check takes in {most} pages at most"));
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
        if !self.ahead.knows(url) {
            (self.progress)(url);
        }
        Ok(())
    }

    /// Nothing is even begun once these are used up.
    fn check_time_and_bytes(&self) -> Result<(), LoadError> {
        if Instant::now() >= self.errand.deadline() {
            return Err(out_of_time(self.errand.max_time()));
        }
        if self.errand.is_used_up() {
            return Err(out_of_bytes(self.limits.bytes));
        }
        Ok(())
    }

    /// Asks for a document, unless the answer is there already.
    async fn ask(&mut self, request: Request) -> Result<Fetched, LoadError> {
        match self.ahead.take(&request) {
            Some(answer) => self.heard(answer),
            None => self.hear(Box::pin(self.fetcher.get(request))).await,
        }
    }

    /// The request is on the heap: it would be a part of everything that waits for it, each time with what it was made
    /// from, and most of what a check takes up.
    async fn hear(&mut self, request: Asking<'_>) -> Result<Fetched, LoadError> {
        self.ahead.forget();
        let answer = request.await;
        self.heard(answer.map_err(LoadError::from))
    }

    fn heard(&mut self, answer: Result<Fetched, LoadError>) -> Result<Fetched, LoadError> {
        self.answers += 1;
        let fetched = answer?;
        self.fresh_for = earlier(self.fresh_for, fetched.fresh_for);
        Ok(fetched)
    }

    /// The documents that were asked for, and when the oldest of them was read, if all of them are as they were and
    /// nothing else was asked.
    pub fn round(&mut self) -> Option<(Vec<Stop>, DateTime<Utc>)> {
        let read_at = self.unchanged.iter().map(|(_, read_at)| *read_at).min()?;
        let is_all = self.unchanged.len() == self.answers;
        let documents = std::mem::take(&mut self.unchanged).into_iter();
        is_all.then(|| (documents.map(|(stop, _)| stop).collect(), read_at))
    }

    async fn read_body<T, F>(
        &mut self,
        fetched: Fetched,
        parse: F,
    ) -> Result<(T, BodyStats), LoadError>
    where
        T: Send + 'static,
        F: FnOnce(&mut dyn BufRead) -> T + Send + 'static,
    {
        let url = fetched.url;
        let Some(body) = fetched.answer.into_body() else {
            let url = url.to_string();
            return Err(FetchError::UnaskedNotModified { url }.into());
        };
        match tokio::time::timeout_at(self.errand.deadline(), body.read_with(parse)).await {
            Ok(result) => Ok(result?),
            Err(_) => Err(out_of_time(self.errand.max_time())),
        }
    }

    fn parser(
        &self,
        url: Url,
        is_kept: Filter,
    ) -> impl FnOnce(&mut dyn BufRead) -> Parsed + Send + 'static + use<> {
        let rules = self.rules;
        move |reader| Parsed::read(reader, &url, rules, is_kept)
    }

    fn take(
        &mut self,
        asked: Url,
        url: Url,
        parsed: Parsed,
        validators: Option<Validators>,
        keep: &Keep,
    ) -> Result<Arc<Loaded>, LoadError> {
        let reading = parsed
            .reading
            .map_err(|problem| LoadError::Broken(Box::new(problem)))?;
        let problems = parsed.problems.into_vec();
        self.problems.extend(problems.iter().cloned());
        self.changes += parsed.changes.len();
        // One that is read twice in a check may have changed in between; then nobody has all that came with the last one.
        let mut read_before = (self.documents_read.iter()).filter(|(url, _)| *url == asked);
        let validators = validators
            .filter(|new| read_before.all(|(_, read)| read.validators.as_ref() == Some(new)));
        let memory = DocumentMemory {
            validators,
            read_at: self.now,
            outline: serde_json::to_string(&reading.document).unwrap_or_default(),
            problems,
        };
        self.documents_read.push((asked.clone(), memory));
        Ok(Arc::new(Loaded {
            asked,
            url,
            reading,
            changes: parsed.changes,
            is_unchanged: false,
            read_at: self.now,
            keep: keep.clone(),
        }))
    }
}

/// The shorter of two promises, where there are any.
fn earlier(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// An empty sheet for a collection of which these pages are known.
async fn new_sheet(known: &Recollection<KnownPages>) -> Result<Sheet, LoadError> {
    let known = known.get().await.map_err(|_| LoadError::Memory)?;
    Ok(Sheet::new(known))
}

/// What is not in the documents themselves is looked at again when a new week has begun.
fn week(time: DateTime<Utc>) -> i64 {
    time.timestamp().div_euclid(TRUST_UNCHANGED.num_seconds())
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

fn is_named_like_a_document(url: &Url) -> bool {
    let path = url.path().to_ascii_lowercase();
    [
        ".xml",
        ".gz",
        ".zst",
        ".json",
        ".jsonld",
        ".jsonl",
        ".yaml",
        ".yml",
        ".txt",
        ".rss",
        ".atom",
        "/resourcesync",
    ]
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
