//! From whatever a person typed to the document that describes the site.
//!
//! The places are tried in the order of the proposal and of what costs a stranger's server least: the well-known
//! address, links on the typed page, `Sitemap:` lines of robots.txt, the typed address itself, and then the places where
//! sitemaps usually are. A log of changes is better than a list of pages, so that is looked for first. A document that
//! is not the top of its site leads there by its `up` link. A page on a host that many people share may speak for itself
//! where the description of the host does not know it.

mod found;
mod places;
mod told;
mod up;

use std::collections::VecDeque;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use url::Url;

use crate::fetch::{FetchError, RedirectProblem};
use crate::load::{LoadError, Loaded, LoadedList, Loader, Page};
use crate::memory::{CollectionMemory, KnownPages, Recollection, SiteMemory};
use crate::problem::{Code, Problem};
use crate::read::address;
use crate::read::link::Link;
use crate::read::list::{Outline, PLAIN};
use crate::site::{Format, SiteUrl, same_site};

pub use self::found::{DiscoverError, Discovery, Found, FoundBy, ListRoot, Root, Tried};
use self::places::{allowed_beside, linked_beside};
use self::told::outcome_of;
use self::up::climb;

/// Where the proposal wants the Source Description.
pub const WELL_KNOWN: &str = "/.well-known/resourcesync";
/// The same on hosts that serve no file without an ending.
pub const WELL_KNOWN_XML: &str = "/.well-known/resourcesync.xml";
/// A page and a robots.txt may name many documents; a site has one description.
const MAX_CANDIDATES: usize = 5;

/// A site that has nothing costs its server no more requests than this.
const MAX_REQUESTS: u32 = 10;
/// So many of them are left after the well-known addresses: for robots.txt, the page, and the first line that names a
/// sitemap.
const AFTER_WELL_KNOWN: u32 = 3;
/// And so many after the page: robots.txt may not have been asked for yet.
const AFTER_PAGE: u32 = 2;
/// And after what the page links.
const AFTER_LINKS: u32 = 1;
const NOT_ASKED: &str = "not asked for, after so many requests";
/// After this time a better format is looked for again.
const LOOK_AGAIN: TimeDelta = TimeDelta::days(30);

/// Looks for what describes a site; where something is remembered, it need only be read again.
pub async fn discover(
    loader: &mut Loader<'_>,
    site: &SiteUrl,
    memory: Option<&SiteMemory>,
    now: DateTime<Utc>,
) -> Result<Discovery, DiscoverError> {
    let listing = memory.and_then(listing);
    let pages = listing.and_then(|collection| collection.pages.as_ref());
    let beside = memory.and_then(section).or(listing);
    let beside = beside.iter().flat_map(|collection| &collection.lists);
    let mut search = Search {
        known: pages.map(|pages| pages.known.clone()).unwrap_or_default(),
        beside: beside.map(|list| list.url.clone()).collect(),
        tried: Vec::new(),
        page_error: None,
        named: Vec::new(),
        asked_before: None,
        home: None,
        is_open: false,
    };
    let remembered = memory.and_then(|memory| memory.root.as_ref());
    let is_list = memory.is_some_and(|memory| !memory.has_log());
    let is_due = memory.is_some_and(|memory| {
        memory
            .looked_at
            .is_none_or(|looked_at| looked_at + LOOK_AGAIN < now)
    });
    // What was found before and cannot be used just now is not nothing.
    let mut is_broken = false;
    let (mut found, is_anew) = match remembered {
        Some(url) if !(is_list && is_due) => search.again(loader, site, url, is_list).await?,
        Some(url) => {
            let found = search.anew(loader, site).await?;
            let format = memory.and_then(|memory| memory.format);
            match found {
                Some(found) if search.is_worth_it(&found, format) => (Some(found), true),
                found => {
                    let (found, was_looked_for) =
                        search.as_before(loader, site, url, found).await?;
                    is_broken = found.is_none() && !was_looked_for;
                    (found, true)
                }
            }
        }
        None => (search.anew(loader, site).await?, true),
    };
    if found.is_none() && is_anew && !is_broken {
        search.tell_nothing(loader, site);
    }
    match &mut found {
        Some(Found::Log(root)) if root.found_by != FoundBy::WellKnown => {
            let words = root.found_by.words();
            let message = format!("the description of the site was found {words}");
            let problem = Problem::new(Code::NotWellKnown, &root.loaded.url, message);
            loader.problems.add(problem);
        }
        Some(Found::Lists(root)) => {
            // A better format tells titles itself.
            if let Some((format, url)) = search.named.first().cloned()
                && (root.lists.iter()).all(|list| format.is_better_than(list.format))
            {
                search.note(format, &url, "read for titles");
                root.titles = Some(url);
            }
            if is_anew {
                search.note_the_others(site, &root.lists);
            }
            if let Some(list) = root.lists.first() {
                let looked_at = memory.and_then(|memory| memory.looked_at);
                let message = format!(
                    "the site has a {}, which lists its pages and not its changes; {}",
                    list.list.kind,
                    search.why_nothing_better(list.format, looked_at.filter(|_| !is_anew))
                );
                let problem = Problem::new(Code::OnlyAList, &list.url, message);
                loader.problems.add(problem.with_snippet(example(site)));
            }
        }
        None if is_anew => search.note_the_others(site, &[]),
        _ => {}
    }
    Ok(Discovery {
        found,
        is_anew: is_anew && !search.is_open,
        tried: search.tried,
    })
}

/// The collection of all pages of a site, if it lists them at its top.
pub fn listing(memory: &SiteMemory) -> Option<&CollectionMemory> {
    let mut collections = memory.collections.iter();
    let is_whole = |collection: &&CollectionMemory| {
        collection.pages.is_some() && collection.identity.fragment().is_none()
    };
    collections.find(is_whole).filter(|_| !memory.has_log())
}

/// One of the sections that the root document offers, where a site is followed by them: each knows the lists at the top.
fn section(memory: &SiteMemory) -> Option<&CollectionMemory> {
    let is_section = |collection: &&CollectionMemory| {
        collection.pages.is_some() && collection.identity.fragment().is_some()
    };
    let mut sections = memory.collections.iter().filter(is_section).peekable();
    // Most sites have none, and then there is nothing to look for in the document.
    sections.peek()?;
    let document = memory.documents.get(memory.root.as_ref()?)?;
    let offered = Outline::parse(&document.outline)?.list.sections;
    sections.find(|collection| {
        let name = collection.identity.fragment();
        offered.iter().any(|section| Some(&*section.name) == name)
    })
}

/// The search for what describes a site.
struct Search {
    /// The pages that are known, if the site lists them at its top.
    known: Recollection<KnownPages>,
    /// The documents at the top that were found before: robots.txt may name several, and they belong together.
    beside: Vec<Url>,
    tried: Vec<Tried>,
    /// What is wrong with the page that was typed, should nothing else be found.
    page_error: Option<LoadError>,
    /// The documents beside its lists that the site names. A list tells when its pages changed, and such a document what
    /// they are called.
    named: Vec<(Format, Url)>,
    /// The requests that were made before anything was looked for.
    asked_before: Option<u32>,
    /// The typed address where its host leads everybody, if that is elsewhere.
    home: Option<SiteUrl>,
    /// Whether there may be something better at a place where nobody could look for now.
    is_open: bool,
}

impl Search {
    async fn anew(
        &mut self,
        loader: &mut Loader<'_>,
        site: &SiteUrl,
    ) -> Result<Option<Found>, DiscoverError> {
        self.asked_before.get_or_insert(loader.requests());
        Ok(match self.at_well_known_address(loader, site).await? {
            Some(root) => Some(Found::Log(
                self.closer_to_what_was_typed(loader, site, root).await,
            )),
            None => {
                let home = self.home.take().unwrap_or_else(|| site.clone());
                let found = self.elsewhere(loader, &home).await;
                loader.know_page_as(home.url(), site.url());
                found
            }
        })
    }

    /// Whether what was found is to be read from now on, though what was found before may still be there.
    fn is_worth_it(&self, found: &Found, format: Option<Format>) -> bool {
        match found {
            Found::Log(_) => true,
            Found::Lists(root) => {
                let is_better = |list: &LoadedList| {
                    format.is_none_or(|format| list.format.is_better_than(format))
                };
                root.found_by.is_named() || root.lists.iter().any(is_better)
            }
        }
    }

    /// Reads the lists that were found before, though others were come upon: a robots.txt that could not be read this once
    /// must not make another site of this one. Says whether anything else was looked for where they are not.
    async fn as_before(
        &mut self,
        loader: &mut Loader<'_>,
        site: &SiteUrl,
        url: &Url,
        found: Option<Found>,
    ) -> Result<(Option<Found>, bool), DiscoverError> {
        if let Some(Found::Lists(mut root)) = found {
            if root.lists.iter().any(|list| list.asked == *url) {
                let is_read = |other: &Url| root.lists.iter().any(|list| list.asked == *other);
                let others = self.beside.iter().filter(|other| !is_read(other));
                root.more = others.cloned().collect();
                return Ok((Some(Found::Lists(root)), true));
            }
            for list in &root.lists {
                loader.forget(&list.asked);
            }
        }
        self.again(loader, site, url, true).await
    }

    /// Reads the root document that was found before. Only if it is not there any more is another one looked for.
    async fn again(
        &mut self,
        loader: &mut Loader<'_>,
        site: &SiteUrl,
        url: &Url,
        is_list: bool,
    ) -> Result<(Option<Found>, bool), DiscoverError> {
        let found = match is_list {
            true => self.lists_again(loader, url).await.map(Found::Lists),
            false => loader.document(url).await.map(|loaded| {
                let found_by = match url.path() {
                    WELL_KNOWN => FoundBy::WellKnown,
                    WELL_KNOWN_XML => FoundBy::WellKnownXml,
                    _ => FoundBy::Remembered,
                };
                Found::Log(Root { loaded, found_by })
            }),
        };
        match found {
            Ok(Found::Lists(root)) => {
                self.note(root.lists[0].format, url, "read again");
                Ok((Some(Found::Lists(root)), false))
            }
            Ok(found) => {
                self.note(Format::ResourceSync, url, "read again");
                Ok((Some(found), false))
            }
            Err(LoadError::Fetch(error)) => match *error {
                FetchError::Status { status: 410, .. } => Err(DiscoverError::Gone(url.clone())),
                FetchError::Status { status: 404, .. } => {
                    Ok((self.anew(loader, site).await?, true))
                }
                _ => Err(DiscoverError::Unreachable(error)),
            },
            // A document that broke will be mended; looking elsewhere now would make another site of this one.
            Err(error) => {
                loader.problems.add(error.problem(url, url));
                Ok((None, false))
            }
        }
    }

    /// Reads the lists that were found before, beginning with `first`. Where several belong together, one of them that
    /// cannot be read costs what it would have told.
    async fn lists_again(
        &self,
        loader: &mut Loader<'_>,
        first: &Url,
    ) -> Result<ListRoot, LoadError> {
        let others = self.beside.iter().filter(|other| *other != first);
        let mut more: VecDeque<Url> = others.cloned().collect();
        let (mut failed, mut failure) = (Vec::new(), None);
        let mut next = Some(first.clone());
        while let Some(url) = next {
            match loader.pages(&url, &self.known, true).await {
                Ok(list) => {
                    return Ok(ListRoot {
                        lists: vec![list],
                        more: more.into(),
                        failed,
                        titles: None,
                        found_by: FoundBy::Remembered,
                    });
                }
                Err(error) => {
                    if !more.is_empty() || failure.is_some() {
                        loader.problems.add(error.problem(&url, &url));
                    }
                    failure.get_or_insert(error);
                    failed.push(url);
                }
            }
            next = more.pop_front();
        }
        Err(failure.expect("the first one was asked for"))
    }

    async fn at_well_known_address(
        &mut self,
        loader: &mut Loader<'_>,
        site: &SiteUrl,
    ) -> Result<Option<Root>, Arc<FetchError>> {
        for (path, found_by) in [
            (WELL_KNOWN, FoundBy::WellKnown),
            (WELL_KNOWN_XML, FoundBy::WellKnownXml),
        ] {
            // A host that leads everybody elsewhere would do so every time.
            let home = self.home.as_ref().unwrap_or(site).clone();
            let url = home.at_root(path);
            let result = self.document_within(loader, &url, AFTER_WELL_KNOWN).await;
            let Some(result) = result else {
                self.note(Format::ResourceSync, &url, NOT_ASKED);
                continue;
            };
            if let Err(error) = &result {
                self.is_open |= may_be_there(error);
                self.home = self.home.take().or_else(|| home_of(site, error));
            }
            self.note(
                Format::ResourceSync,
                &url,
                outcome_of(result.as_ref().err()),
            );
            match result {
                // Whatever the well-known address answers with is the top, wherever its links lead.
                Ok(loaded) if found_by == FoundBy::WellKnown => {
                    return Ok(Some(Root { loaded, found_by }));
                }
                Ok(loaded) => return Ok(Some(climb(loader, loaded, found_by, &[]).await)),
                Err(LoadError::Fetch(error)) if is_hopeless(&error, &home) => return Err(error),
                // Nobody promised that there is anything.
                Err(error) if is_absence(&error) || is_refusal(&error) => {}
                // A description that is there and cannot be read is worth telling even if another one is found.
                Err(error) => loader.problems.add(error.problem(&url, &url)),
            }
        }
        Ok(None)
    }

    /// Tries everything but the well-known address.
    async fn elsewhere(&mut self, loader: &mut Loader<'_>, site: &SiteUrl) -> Option<Found> {
        let mut typed = None;
        self.page_error = None;
        let mut linked = Vec::new();
        let left = self.requests_left(loader, AFTER_PAGE).unwrap_or_default();
        loader.bound_redirects(Some(left));
        let page = loader.page(site.url(), &self.known).await;
        loader.bound_redirects(None);
        match page {
            Ok(Page::Document(result)) => typed = Some(result),
            // Whoever names a list means that list.
            Ok(Page::List(Ok(list))) => {
                self.note(list.format, site.url(), "found");
                return Some(lists(vec![*list], FoundBy::Typed));
            }
            Ok(Page::List(Err(error))) => self.page_error = Some(error),
            Ok(Page::Html(links)) => {
                let targets = targets(&links, "resourcesync");
                if targets.is_empty() {
                    self.note(Format::ResourceSync, site.url(), "the page links none");
                }
                if let Some(loaded) = self.first_linked(loader, targets).await {
                    self.note(
                        Format::ResourceSync,
                        &loaded.url,
                        "found through a link of the page",
                    );
                    return Some(Found::Log(
                        climb(loader, loaded, FoundBy::PageLink, &[]).await,
                    ));
                }
                linked = self::targets(&links, "sitemap");
                self.named = linked_beside(&links, site);
            }
            Err(error) if is_forbidden_by_robots(&error) => {}
            Err(error) => {
                self.is_open |= may_be_there(&error);
                self.page_error = Some(error);
            }
        }
        // A page on a host that many people share knows better than the host what belongs to it.
        if !site.is_whole_host()
            && let Some(found) = self
                .best_of(loader, std::mem::take(&mut linked), FoundBy::PageLink)
                .await
        {
            return Some(found);
        }
        let robots = loader.robots(site.url()).await;
        self.is_open |= (robots.as_ref()).is_none_or(|robots| robots.is_unreachable());
        let lines = (robots.as_ref()).map_or_else(Vec::new, |robots| robots.sitemaps());
        let named = resolved(&lines, &site.at_root("/"));
        let allowed = robots.iter().flat_map(|robots| robots.allowed());
        self.named.extend(allowed_beside(allowed, site));
        if named.is_empty() {
            self.note(
                PLAIN.format,
                &site.at_root("/robots.txt"),
                "no Sitemap line",
            );
        }
        if let Some(found) = self.best_of(loader, named, FoundBy::Robots).await {
            return Some(found);
        }
        match typed {
            Some(Ok(loaded)) => {
                self.note(Format::ResourceSync, site.url(), "found");
                return Some(Found::Log(climb(loader, loaded, FoundBy::Typed, &[]).await));
            }
            Some(Err(error)) => self.page_error = Some(error),
            None => {}
        }
        if let Some(found) = self.best_of(loader, linked, FoundBy::PageLink).await {
            return Some(found);
        }
        // A document that was named and is no use is the answer; others that nobody named would be a surprise.
        if matches!(self.page_error, Some(LoadError::Broken(_))) {
            return None;
        }
        self.at_usual_places(loader, site).await
    }

    /// Tells that nothing was found, and what may be the reason.
    fn tell_nothing(&mut self, loader: &mut Loader<'_>, site: &SiteUrl) {
        if let Some(error) = &self.page_error {
            loader.problems.add(error.problem(site.url(), site.url()));
        }
        let stopped = (loader.problems.iter()).any(|problem| problem.code == Code::LimitReached);
        if !stopped {
            let url = site.at_root(WELL_KNOWN);
            let message = format!("neither ResourceSync nor a sitemap was found for {site}");
            let problem = Problem::new(Code::NotFound, &url, message);
            loader.problems.add(problem);
        }
    }

    /// The best of several documents that somebody named: a log, or else all lists among them.
    async fn best_of(
        &mut self,
        loader: &mut Loader<'_>,
        named: Vec<Url>,
        found_by: FoundBy,
    ) -> Option<Found> {
        let (mut found, mut failed, mut more) = (Vec::new(), Vec::new(), Vec::new());
        let mut is_open = false;
        for (place, url) in named.into_iter().enumerate() {
            // Of a site that has something the others are read in their turn; until then it may have nothing.
            let answer = match found.is_empty() {
                true => self.ask_within_reason(loader, &url).await,
                false if place >= MAX_CANDIDATES => None,
                false => Some(loader.candidate(&url, &self.known, None).await),
            };
            let Some(answer) = answer else {
                if found.is_empty() && place < MAX_REQUESTS as usize {
                    self.note(PLAIN.format, &url, NOT_ASKED);
                }
                more.push(url);
                continue;
            };
            let was_read = self.beside.contains(&url);
            let (format, outcome) = match answer {
                Ok(Page::Document(Ok(loaded))) => {
                    self.note(Format::ResourceSync, &url, "found");
                    return Some(Found::Log(climb(loader, loaded, found_by, &[]).await));
                }
                Ok(Page::List(Ok(list))) => {
                    let format = list.format;
                    found.push(*list);
                    (format, "found".to_owned())
                }
                Ok(Page::Document(Err(error)) | Page::List(Err(error))) | Err(error) => {
                    // Somebody named it, so it should be there.
                    loader.problems.add(error.problem(&url, &url));
                    is_open |= may_be_there(&error);
                    // What never was there has no pages; anything else may be read the next time.
                    if was_read || !is_absence(&error) {
                        failed.push(url.clone());
                    }
                    (PLAIN.format, outcome_of(Some(&error)))
                }
                Ok(Page::Html(_)) => {
                    // What a page links may well be for people.
                    if found_by == FoundBy::Robots {
                        let message = "robots.txt names this as a sitemap, and it is a web page";
                        let problem = Problem::new(Code::NotAList, &url, message);
                        loader.problems.add(problem);
                    }
                    failed.extend(was_read.then(|| url.clone()));
                    (PLAIN.format, "a web page".to_owned())
                }
            };
            self.note(format, &url, outcome);
        }
        // Beside others that were found it is read again, whatever it is.
        self.is_open |= is_open && found.is_empty();
        (!found.is_empty()).then_some(Found::Lists(ListRoot {
            lists: found,
            more,
            failed,
            titles: None,
            found_by,
        }))
    }
}

/// Where the host of a site leads who asks it for a document that is not there: the same site under another name.
fn home_of(site: &SiteUrl, error: &LoadError) -> Option<SiteUrl> {
    let answered = match error {
        LoadError::Fetch(error) => match &**error {
            FetchError::Status { url, .. } => url,
            _ => return None,
        },
        LoadError::Broken(problem) => &problem.document,
        LoadError::Limit(_) | LoadError::Memory => return None,
    };
    let mut home = Url::parse(answered).ok()?;
    let is_elsewhere = home.origin() != site.url().origin();
    home.set_path(site.url().path());
    home.set_query(site.url().query());
    (is_elsewhere && same_site(&home, site.url())).then(|| SiteUrl::from(&home))
}

fn lists(lists: Vec<LoadedList>, found_by: FoundBy) -> Found {
    Found::Lists(ListRoot {
        lists,
        more: Vec::new(),
        failed: Vec::new(),
        titles: None,
        found_by,
    })
}

/// The addresses on some lines, each once.
fn resolved(lines: &[String], base: &Url) -> Vec<Url> {
    let mut urls: Vec<Url> = Vec::new();
    for line in lines {
        if let Ok(url) = address::resolve_url(line, base)
            && !urls.contains(&url)
        {
            urls.push(url);
        }
    }
    urls
}

impl Search {
    /// The first of the documents that a page links that is one of ResourceSync, as long as the line of robots.txt that comes
    /// after them can still be asked for.
    async fn first_linked(
        &self,
        loader: &mut Loader<'_>,
        targets: Vec<Url>,
    ) -> Option<Arc<Loaded>> {
        for url in targets.into_iter().take(MAX_CANDIDATES) {
            if let Ok(loaded) = self.document_within(loader, &url, AFTER_LINKS).await? {
                return Some(loaded);
            }
        }
        None
    }

    /// How many requests are left after the next one, besides those that are `reserved`. None if there is none for that.
    fn requests_left(&self, loader: &Loader<'_>, reserved: u32) -> Option<u32> {
        let asked = loader.requests() - self.asked_before.unwrap_or_default();
        (MAX_REQUESTS - reserved).checked_sub(asked + 1)
    }

    /// Reads a document, unless that leaves fewer requests than `reserved` of those that a site is asked which has nothing.
    async fn document_within(
        &self,
        loader: &mut Loader<'_>,
        url: &Url,
        reserved: u32,
    ) -> Option<Result<Arc<Loaded>, LoadError>> {
        let left = self.requests_left(loader, reserved)?;
        loader.bound_redirects(Some(left));
        let result = loader.document(url).await;
        loader.bound_redirects(None);
        let is_cut_short = matches!(&result, Err(error) if is_cut_short(error, left));
        (!is_cut_short).then_some(result)
    }
}

/// Whether a request was ended after so many redirects, and not because there are too many for everybody.
fn is_cut_short(error: &LoadError, left: u32) -> bool {
    matches!(error, LoadError::Fetch(error) if matches!(
        &**error,
        FetchError::Redirect { problem: RedirectProblem::TooMany(most), .. } if *most == left
    ))
}

/// The first of several candidates that is a ResourceSync document. The others are nobody's fault: pages link to many
/// things.
async fn first_of(
    loader: &mut Loader<'_>,
    candidates: Vec<Url>,
    left: &mut usize,
) -> Option<Arc<Loaded>> {
    for url in candidates {
        *left = left.checked_sub(1)?;
        if let Ok(loaded) = loader.document(&url).await {
            return Some(loaded);
        }
    }
    None
}

/// Where the links with this relation lead.
fn targets(links: &[Link], rel: &str) -> Vec<Url> {
    links
        .iter()
        .filter(|link| link.has_rel(rel))
        .map(|link| link.href.clone())
        .collect()
}

/// Whether no other address of the same host could give a better answer. A redirect to another host that fails says
/// nothing about this one.
fn is_hopeless(error: &FetchError, site: &SiteUrl) -> bool {
    let own = site.url().host_str().unwrap_or_default();
    // Some errors name the port as well.
    let rest = error.host().and_then(|host| host.strip_prefix(own));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// Whether there may be something that could not be looked at for now, and perhaps can be the next time.
fn may_be_there(error: &LoadError) -> bool {
    match error {
        // Whoever refuses will do so tomorrow, too, and asking all places every time for that would be rude.
        LoadError::Fetch(fetch) => fetch.is_temporary(),
        LoadError::Broken(_) => !is_absence(error),
        LoadError::Limit(_) | LoadError::Memory => false,
    }
}

/// Whether this only means that there is no description at a place where one could have been.
fn is_absence(error: &LoadError) -> bool {
    match error {
        LoadError::Fetch(error) => {
            // A server that only refuses to answer says nothing about that.
            matches!(
                **error,
                FetchError::Status {
                    status: 404 | 410,
                    ..
                }
            )
        }
        // Many sites answer every address with a page.
        LoadError::Broken(problem) => problem.code == Code::NotXml,
        LoadError::Limit(_) | LoadError::Memory => false,
    }
}

/// Whether a server does not let us look, and nobody has to mend that: some answer so for all that is not there.
fn is_refusal(error: &LoadError) -> bool {
    matches!(error, LoadError::Fetch(error) if !error.is_temporary() && matches!(
        **error,
        FetchError::Status { status: 400..=499, .. }
    ))
}

/// A site that wants its pages left alone has done nothing wrong.
fn is_forbidden_by_robots(error: &LoadError) -> bool {
    matches!(error, LoadError::Fetch(error) if matches!(**error, FetchError::RobotsForbid { .. }))
}

/// A Source Description for this very site.
fn example(site: &SiteUrl) -> String {
    Code::NotFound.snippet_for(site.at_root("/").as_str())
}
