//! From the lists at the top of a site to all of its pages.
//!
//! Knows nothing of formats: a list has pages, and parts that are lists themselves, and perhaps sections with lists of
//! their own. Their union is one collection. A document that cannot be read costs what it would have told, a problem,
//! and every conclusion from absence.

mod doubts;
mod folder;
mod names;
mod turns;

use std::collections::HashSet;
use std::time::Duration;

use chrono::{DateTime, Days, NaiveDate, Utc};
use url::Url;

use self::doubts::Doubts;
use self::folder::identity;
use self::turns::Due;
use super::lists::is_not_there;
use super::sections::Offering;
use super::{CollectionReading, PagesReading, Top, sections, titles};
use crate::discover::{ListRoot, listing};
use crate::load::{LoadError, LoadedList, Loader};
use crate::memory::{
    CollectionMemory, KnownPages, ListMemory, Recollection, Sighted, SiteMemory, part_of,
};
use crate::moment::Moment;
use crate::problem::{Code, Problem};
use crate::read::list::List;
use crate::site::{About, Format, SiteUrl};

/// An index, an index in it, and the lists in that.
const MAX_DEPTH: usize = 3;
/// Changes of single days that are read; a list that is older than that is too old.
const MAX_DAYS: usize = 7;

/// What the lists of a site told.
pub(super) struct Walked {
    pub(super) top: Top,
    pub(super) collections: Vec<CollectionReading>,
    pub(super) is_complete: bool,
}

/// Reads all lists of a site.
pub(super) async fn walk(
    loader: &mut Loader<'_>,
    site: &SiteUrl,
    mut root: ListRoot,
    memory: Option<&SiteMemory>,
    now: DateTime<Utc>,
) -> Walked {
    loader.make_room_for_lists();
    let remembered = memory.and_then(listing);
    let found_by = root.found_by;
    if offers_sections(loader, &root) {
        let offering = offered_at_top(loader, &mut root, memory).await;
        let failed = root.failed.clone();
        let walked = sections::walk(loader, site, offering, &failed, memory, now).await;
        if let Some(walked) = walked {
            return walked;
        }
        // None of them could be read; the plain list still says something.
    }
    let lists: Vec<ListMemory> = (root.lists.iter().map(|list| &list.asked))
        .chain(&root.failed)
        .chain(&root.more)
        .map(ListMemory::unread)
        .collect();
    // Where sections are offered they are looked for the next time, whichever list comes first.
    let first = root.lists.iter().find(|list| has_sections(list));
    let first = first.unwrap_or(&root.lists[0]);
    // The first one stays the first, should it fail this once.
    let before = memory.and_then(|memory| memory.root.as_ref());
    let before = before.filter(|url| root.failed.contains(url));
    let mut top = Top {
        asked: before.unwrap_or(&first.asked).clone(),
        url: first.url.clone(),
        format: first.format,
        described_by: None,
        about: first.list.about.clone(),
    };
    let mut walk = Walk::new(loader, remembered);
    let named = root.titles.clone();
    walk.read(root).await;
    if let Some(walked) = walk.follow_sections(site, memory, now).await {
        return walked;
    }
    walk.read_days(now).await;
    walk.find_titles(named, remembered);
    let is_as_before = remembered.is_some_and(|known| known.lists == lists && walk.is_as(known));
    if !is_as_before {
        walk.recall().await;
        walk.dispel_doubts().await;
    }
    walk.give_titles(&mut top, is_as_before).await;
    let is_whole = walk.is_whole;
    let (mut reading, is_complete) = walk.finish(&top.url, is_as_before);
    let id = match (&mut reading.sighted, remembered) {
        (None, Some(known)) => known.identity.clone(),
        (sighted, _) => {
            let sighted = sighted.get_or_insert_default();
            identity(sighted, site, found_by, &top, remembered)
        }
    };
    let collection = CollectionReading {
        lists,
        ..collection(id, remembered, reading, is_complete && is_whole)
    };
    if is_complete {
        loader.forget_lists_not_asked_for();
    }
    Walked {
        top,
        collections: vec![collection],
        is_complete,
    }
}

fn has_sections(list: &LoadedList) -> bool {
    !list.list.sections.is_empty()
}

/// Whether a list at the top offers sections, or did so when it was last read.
fn offers_sections(loader: &Loader<'_>, root: &ListRoot) -> bool {
    let mut others = root.failed.iter().chain(&root.more);
    let did = |url: &Url| loader.remembered_list(url).map(|list| list.sections);
    root.lists.iter().any(has_sections)
        || others.any(|url| did(url).is_some_and(|sections| !sections.is_empty()))
}

/// The sections that the lists at the top offer. Those that were not read yet are read for it, and one that fails this
/// once offers what it did: the others must not make another site of this one.
async fn offered_at_top(
    loader: &mut Loader<'_>,
    root: &mut ListRoot,
    memory: Option<&SiteMemory>,
) -> Offering {
    let known = memory.and_then(listing);
    let known = known.and_then(|collection| collection.pages.as_ref());
    let known = known.map(|pages| pages.known.clone()).unwrap_or_default();
    for url in std::mem::take(&mut root.more) {
        match loader.pages(&url, &known, true).await {
            Ok(list) => root.lists.push(list),
            Err(error) => {
                loader.problems.add(error.problem(&url, &url));
                root.failed.push(url);
            }
        }
    }
    // The first one stays the first.
    let before = memory.and_then(|memory| memory.root.as_ref());
    let (first, others): (Vec<_>, Vec<_>) =
        (root.failed.iter()).partition(|url| Some(*url) == before);
    let mut offering = Offering::default();
    for url in first {
        offering.take_again(url, loader);
    }
    for list in &root.lists {
        offering.take(&list.asked, &list.url, &list.list, &mut loader.problems);
    }
    for url in others {
        offering.take_again(url, loader);
    }
    offering
}

/// A collection of pages of which no more is known.
pub(super) fn collection(
    id: Url,
    memory: Option<&CollectionMemory>,
    reading: PagesReading,
    is_complete: bool,
) -> CollectionReading {
    CollectionReading {
        known_as: memory.map(|collection| collection.id),
        title: titles::fallback(&id),
        id,
        about: About::default(),
        described_by: None,
        capability_list: None,
        change_lists: Vec::new(),
        lists: Vec::new(),
        horizon: None,
        covers_from: None,
        last_processed: None,
        is_complete,
        changes: Vec::new(),
        is_own: true,
        pages: Some(reading),
        note: None,
        page_count: None,
    }
}

/// Reads the lists of one collection.
pub(super) struct Walk<'a, 'b> {
    loader: &'a mut Loader<'b>,
    known: Recollection<KnownPages>,
    has_pages: bool,
    /// The format of its lists, if they are those of a section.
    format: Option<Format>,
    sighted: Sighted,
    /// The sections that parts of the list offer.
    offering: Offering,
    /// Whether every document could be read.
    is_complete: bool,
    /// Whether those documents are all that there ever was, so that what is not in them is not there.
    is_whole: bool,
    /// The document whose turn it is, if the last reading ended before it.
    turn: Option<u32>,
    /// The documents that were never read, and those that belong to them.
    late: HashSet<u32>,
    doubts: Doubts,
    /// The documents that were read or are to be read.
    seen: HashSet<Url>,
    /// Those among them with pages that have not changed.
    unchanged: Vec<Url>,
    /// The document that gives the pages their titles.
    titles: Option<Url>,
    /// The same, if it is the site that names it and not its lists: that is not asked every time.
    named_titles: Option<Url>,
    days: Option<Url>,
    /// Up to when nothing is missing of what is remembered.
    covered_until: Option<DateTime<Utc>>,
    /// Whether documents of single days are there as well, which are others each day.
    has_days: bool,
    made_at: Option<Moment>,
}

impl<'a, 'b> Walk<'a, 'b> {
    pub(super) fn new(loader: &'a mut Loader<'b>, memory: Option<&CollectionMemory>) -> Self {
        let pages = memory.and_then(|collection| collection.pages.as_ref());
        Walk {
            loader,
            known: pages.map(|pages| pages.known.clone()).unwrap_or_default(),
            has_pages: pages.is_some_and(|pages| pages.has_pages),
            format: None,
            sighted: Sighted::default(),
            offering: Offering::default(),
            is_complete: true,
            is_whole: true,
            turn: pages.and_then(|pages| pages.state.turn),
            late: pages.map_or_else(HashSet::new, |pages| {
                pages.state.unread.iter().copied().collect()
            }),
            doubts: Doubts::default(),
            seen: HashSet::new(),
            unchanged: Vec::new(),
            titles: None,
            named_titles: None,
            days: None,
            covered_until: memory.and_then(|collection| collection.covered_until),
            has_days: false,
            made_at: None,
        }
    }

    /// The same for the lists of a section in this format.
    pub(super) fn of_section(
        loader: &'a mut Loader<'b>,
        memory: Option<&CollectionMemory>,
        format: Format,
    ) -> Self {
        Walk {
            format: Some(format),
            ..Walk::new(loader, memory)
        }
    }

    /// Reads a plain list in the place of those of a section that cannot be read. Nobody remembers its own pages, so it
    /// may not say that they have not changed.
    pub(super) async fn in_place_of_section(
        loader: &'a mut Loader<'b>,
        memory: Option<&CollectionMemory>,
        list: &Url,
    ) -> Self {
        let mut walk = Walk {
            has_pages: false,
            ..Walk::new(loader, memory)
        };
        walk.read_list(list, list).await;
        let parts = walk.seen.iter().filter(|url| *url != list);
        parts.for_each(|url| walk.loader.forget(url));
        walk.made_at = None;
        walk
    }

    /// Up to when the documents that were read so far tell what happened.
    pub(super) fn made_at(&self) -> Option<Moment> {
        self.made_at
    }

    async fn load(&mut self, url: &Url, may_be_unchanged: bool) -> Result<LoadedList, LoadError> {
        self.loader
            .pages_in(self.format, url, &self.known, may_be_unchanged)
            .await
    }

    async fn read(&mut self, root: ListRoot) {
        let mut queue = Vec::new();
        for list in root.lists {
            self.seen.insert(list.asked.clone());
            if list.list.is_delta {
                let due = Due::new(&list.asked, &list.url);
                self.miss(&due, &only_changes(&list));
                continue;
            }
            self.take(list, 0, &mut queue);
        }
        for url in root.failed {
            self.is_complete = false;
            self.sighted.miss(part_of(url.as_str()));
            self.seen.insert(url);
        }
        for url in &root.more {
            self.add(Due::new(url, url), &mut queue);
        }
        self.read_all(queue).await;
    }

    /// Where parts of the list offer sections, these are followed as if the parts were at the top, and the next time they
    /// are. Nothing is remembered of lists whose pages nobody takes.
    async fn follow_sections(
        &mut self,
        site: &SiteUrl,
        memory: Option<&SiteMemory>,
        now: DateTime<Utc>,
    ) -> Option<Walked> {
        let offering = std::mem::take(&mut self.offering);
        let others = self.seen.iter().filter(|url| !offering.is_in(url));
        let others: Vec<Url> = others.cloned().collect();
        let walked = sections::walk(self.loader, site, offering, &[], memory, now).await?;
        for url in &others {
            self.loader.forget(url);
        }
        let is_complete = walked.is_complete && self.is_complete;
        Some(Walked {
            is_complete,
            ..walked
        })
    }

    /// Reads the list at this address, and all its parts. Says whether that could be done.
    pub(super) async fn read_list(&mut self, url: &Url, listed_in: &Url) -> bool {
        let mut queue = Vec::new();
        self.add(Due::new(url, listed_in), &mut queue);
        self.read_all(queue).await;
        self.is_complete
    }

    /// Reads a document of changes, and says whether nothing of it was missed: one that is not there has none.
    pub(super) async fn read_delta(&mut self, url: &Url, listed_in: &Url) -> bool {
        match self.load(url, self.has_pages).await {
            Ok(list) => self.take(list, 0, &mut Vec::new()),
            Err(LoadError::Fetch(error)) if is_not_there(&error) => {}
            Err(error) => {
                self.miss(&Due::new(url, listed_in), &error);
                return false;
            }
        }
        true
    }

    /// Reads documents, and then those that they list.
    async fn read_all(&mut self, mut queue: Vec<Due>) {
        while !queue.is_empty() {
            let (now, mut later) = self.next_of(queue);
            for due in now {
                if self.is_surely_a_page(&due) {
                    self.take_as_page(&due).await;
                    continue;
                }
                // Only a list whose pages are remembered may say that nothing is new.
                match self.load(&due.url, self.has_pages).await {
                    Ok(list) if list.list.is_delta => self.miss(&due, &only_changes(&list)),
                    Ok(list) => {
                        self.tell_of_list(&due);
                        self.take(list, due.depth, &mut later);
                    }
                    Err(error) if is_no_list(&error) && self.may_be_a_page(&due) => {
                        self.take_as_page(&due).await;
                    }
                    Err(error) => self.miss(&due, &error),
                }
            }
            queue = later;
        }
    }

    fn take(&mut self, loaded: LoadedList, depth: usize, queue: &mut Vec<Due>) {
        let part = part_of(loaded.asked.as_str());
        if depth > 0 {
            let problems = &mut self.loader.problems;
            self.offering
                .take(&loaded.asked, &loaded.url, &loaded.list, problems);
        }
        let List {
            pages,
            parts,
            left_out,
            titles,
            is_window,
            made_at,
            since,
            pace_ms,
            days,
            ..
        } = loaded.list;
        if let Some(pace) = pace_ms {
            self.loader
                .keep_pace(&loaded.url, Duration::from_millis(pace));
        }
        self.days = self
            .days
            .take()
            .or_else(|| days.and_then(|url| Url::parse(&url).ok()));
        match loaded.is_unchanged {
            true => {
                self.sighted.take_unchanged(part);
                self.unchanged.extend((pages > 0).then_some(loaded.asked));
            }
            false => self.sighted.take(loaded.sheet, part, is_window),
        }
        let made_at = made_at.and_then(|text| Moment::parse(&text).ok());
        self.made_at = self.made_at.max(made_at);
        if let Some(since) = since.and_then(|text| Moment::parse(&text).ok()) {
            self.sighted.tells_since(part, since);
        }
        if self.titles.is_none() {
            self.titles = titles.and_then(|url| Url::parse(&url).ok());
        }
        if left_out > 0 {
            let most = self.loader.limits().parts;
            let message = format!(
                "the indexes of a site may list {most} documents in all; {left_out} of those listed here were left unread"
            );
            let problem = Problem::new(Code::LimitReached, &loaded.url, message);
            self.loader.problems.add(problem);
            self.is_complete = false;
        }
        if depth >= MAX_DEPTH && !parts.is_empty() {
            let message = format!(
                "indexes are nested more than {MAX_DEPTH} deep; what is below was not read"
            );
            self.loader
                .problems
                .add(Problem::new(Code::NestedSitemaps, &loaded.url, message));
            for part in &parts {
                self.sighted.miss(part_of(&part.url));
            }
            self.is_complete = false;
            return;
        }
        if depth > 0 && !parts.is_empty() {
            let message = "an index lists this index; it was read all the same".to_owned();
            self.loader
                .problems
                .add(Problem::new(Code::NestedSitemaps, &loaded.url, message));
        }
        let is_late = self.late.contains(&part);
        for part in parts {
            if let Ok(url) = Url::parse(&part.url) {
                if is_late {
                    self.late.insert(part_of(url.as_str()));
                    self.sighted.late.push(part_of(url.as_str()));
                }
                let lastmod = part.lastmod.and_then(|text| Moment::parse(&text).ok());
                let due = Due {
                    depth: depth + 1,
                    lastmod,
                    is_doubtful: part.is_doubtful,
                    ..Due::new(&url, &loaded.url)
                };
                self.add(due, queue);
            }
        }
    }

    fn add(&mut self, due: Due, queue: &mut Vec<Due>) {
        if !self.seen.insert(due.url.clone()) {
            let url = &due.url;
            let message =
                format!("{url} is listed more than once, or lists itself; it was read once");
            let problem = Problem::new(Code::SitemapTwice, &due.listed_in, message);
            return self.loader.problems.add(problem);
        }
        queue.push(due);
    }

    fn miss(&mut self, due: &Due, error: &LoadError) {
        self.is_complete = false;
        self.sighted.miss(part_of(due.url.as_str()));
        self.put_off(due, error);
        self.loader
            .problems
            .add(error.problem(&due.url, &due.listed_in));
        // A part that fails this once must not make another site of this one.
        if due.depth > 0 {
            self.offering.take_again(&due.url, self.loader);
        }
    }

    /// Reads what changed since the list was made, where there is a document for each day. A day without one is a day
    /// without changes.
    async fn read_days(&mut self, now: DateTime<Utc>) {
        let (Some(folder), Some(made_at)) = (self.days.take(), self.made_at) else {
            return;
        };
        self.has_days = true;
        let (first, today) = (made_at.start().date_naive(), now.date_naive());
        let days: Vec<_> = first.iter_days().take_while(|day| *day <= today).collect();
        // Of what is further back nobody knows whether it is all.
        self.is_whole = days.len() <= MAX_DAYS;
        // The newest comes last, and has the last word.
        let skipped = days.len().saturating_sub(MAX_DAYS);
        for day in days.into_iter().skip(skipped) {
            let Ok(url) = folder.join(&format!("{day}.json")) else {
                continue;
            };
            // Only where the list has not changed either is it clear what the changes come to: one that was read anew
            // takes back what it does not know yet, and needs every day since it was made.
            let may_be_unchanged = self.has_pages && self.sighted.is_unchanged();
            if may_be_unchanged && self.was_over(day) {
                self.sighted.take_unchanged(part_of(url.as_str()));
                continue;
            }
            match self.loader.pages(&url, &self.known, may_be_unchanged).await {
                Ok(list) => {
                    let part = part_of(list.asked.as_str());
                    match list.is_unchanged {
                        true => self.sighted.take_unchanged(part),
                        false => self.sighted.take_newer(list.sheet, part),
                    }
                }
                Err(LoadError::Fetch(error)) if is_not_there(&error) => {}
                // Nobody named this address, and many hosts answer every address with a page.
                Err(error) if is_no_list(&error) && self.loader.last_read_at(&url).is_none() => {}
                Err(error) => {
                    self.is_complete = false;
                    self.loader.problems.add(error.problem(&url, &folder));
                }
            }
        }
    }

    /// Whether a day was over everywhere on earth when all was last read, so that its changes were all there.
    fn was_over(&self, day: NaiveDate) -> bool {
        let end = day.checked_add_days(Days::new(2));
        let read = self.covered_until.map(|time| time.date_naive());
        end.is_some_and(|end| read.is_some_and(|read| read >= end))
    }

    /// Whether all that was read is as it was when the pages of a collection were last seen.
    fn is_as(&self, memory: &CollectionMemory) -> bool {
        let Some(pages) = &memory.pages else {
            return false;
        };
        let is_same_age = self.made_at.is_none() || self.made_at == pages.state.made_at;
        let is_same = self.is_complete && !self.has_days && self.sighted.is_unchanged();
        let has_same_titles =
            self.named_titles.as_ref().map(Url::as_str) == pages.state.titles.as_deref();
        is_same && is_same_age && has_same_titles && self.has_pages && pages.state.is_settled
    }

    /// Finds out which pages are known. Whoever saves what is concluded without it is told by the memory itself.
    pub(super) async fn recall(&mut self) {
        match self.known.get().await {
            Ok(known) => self.sighted.know(known),
            Err(_) => self.is_complete = false,
        }
    }

    /// Reads the documents that have not changed as well, if a page that another one has dropped may be in them. Only
    /// then is it absent.
    pub(super) async fn dispel_doubts(&mut self) {
        while self.has_doubts() {
            let mut queue = Vec::new();
            for url in std::mem::take(&mut self.unchanged) {
                match self.load(&url, false).await {
                    // It may have changed after all, and list its parts now.
                    Ok(list) => self.take(list, 0, &mut queue),
                    Err(error) => {
                        self.is_complete = false;
                        self.loader.problems.add(error.problem(&url, &url));
                    }
                }
            }
            self.read_all(queue).await;
        }
    }

    fn has_doubts(&self) -> bool {
        let is_concluded_from =
            (self.is_complete && self.is_whole) || !self.sighted.fresh.is_empty();
        is_concluded_from && !self.unchanged.is_empty() && self.sighted.has_doubts()
    }

    /// All pages, and whether nothing was left unread. Problems of the whole are told of `document`.
    pub(super) fn finish(mut self, document: &Url, is_as_before: bool) -> (PagesReading, bool) {
        self.sighted.settle();
        self.sighted.began_at = Some(self.loader.began_at());
        let reading = PagesReading {
            sighted: (!is_as_before).then_some(self.sighted),
            titles: self.named_titles,
            made_at: self.made_at,
            document: document.clone(),
            broken_since: None,
            unread_beside_since: None,
            is_stand_in: false,
            besides: None,
        };
        (reading, self.is_complete)
    }
}

/// Whether a document is there, and is something else than a list.
fn is_no_list(error: &LoadError) -> bool {
    matches!(error, LoadError::Broken(problem) if problem.code == Code::NotAList)
}

/// A document that lists what changed is not taken for the whole list, or all else would seem to be gone.
fn only_changes(list: &LoadedList) -> LoadError {
    let message = "the whole list should be here, and it is only what changed since some time";
    LoadError::Broken(Box::new(Problem::new(
        Code::NoWholeList,
        &list.url,
        message,
    )))
}
