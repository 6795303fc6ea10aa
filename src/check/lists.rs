//! The Change Lists of one collection: which are read, and what they tell together.
//!
//! Lists overlap, close, rotate and vanish. What must be read is decided by what is remembered of them; what they tell
//! is put together so that every change comes out as often as the list that tells it most often.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use url::{Position, Url};

use crate::change::Change;
use crate::fetch::FetchError;
use crate::load::{Keep, LoadError, Loaded, Loader, expect};
use crate::memory::{ChangeKey, CollectionMemory, Known, ListMemory};
use crate::moment::Moment;
use crate::problem::{Code, Problem};
use crate::read::resourcesync::{Capability, Entry, rules};
use crate::site::same_site;
use crate::text::address::parse_near;

/// Clocks differ a little; a change is in the future only beyond this.
const CLOCK_SKEW: TimeDelta = TimeDelta::minutes(5);
/// From this size on, a single Change List should be split.
const LARGE_CHANGE_LIST: usize = 1_000;

/// What the lists of a collection told.
#[derive(Default)]
pub(super) struct Told {
    /// The lists that were read, or are known to be as they were.
    pub(super) urls: Vec<Url>,
    /// What to remember of the lists.
    pub(super) lists: Vec<ListMemory>,
    /// Whether nothing was left unread that should have been read.
    pub(super) is_complete: bool,
    /// The changes, oldest first.
    pub(super) changes: Vec<Change>,
}

impl Told {
    /// How far back the lists reach, as far as they say.
    pub(super) fn horizon(&self) -> Option<Moment> {
        self.lists.iter().filter_map(|list| list.from).min()
    }

    /// The same, but only if every list says so: then it can be told that something is missing.
    pub(super) fn covers_from(&self) -> Option<Moment> {
        let froms: Option<Vec<Moment>> = self.lists.iter().map(|list| list.from).collect();
        froms.and_then(|froms| froms.into_iter().min())
    }
}

/// Reads the lists of one collection.
pub(super) struct Lists<'a, 'b> {
    loader: &'a mut Loader<'b>,
    memory: Option<&'b CollectionMemory>,
    keep: Keep,
    now: DateTime<Utc>,
    /// The collection.
    home: Url,
    /// The addresses of the Capability List.
    parents: Vec<Url>,
    told: Told,
    /// The changes of each list, with its place in the index.
    groups: Vec<(usize, Vec<Change>)>,
    /// How often each change is in the groups; found out when there is a second one to compare with.
    times: Option<Known>,
}

impl<'a, 'b> Lists<'a, 'b> {
    pub(super) fn new(
        loader: &'a mut Loader<'b>,
        memory: Option<&'b CollectionMemory>,
        since: Option<Moment>,
        now: DateTime<Utc>,
        home: &Url,
        parents: Vec<Url>,
    ) -> Self {
        let known = memory.map(|memory| memory.known.clone());
        let told = Told {
            is_complete: true,
            ..Told::default()
        };
        Lists {
            loader,
            memory,
            keep: Keep { since, known },
            now,
            home: home.clone(),
            parents,
            told,
            groups: Vec::new(),
            times: None,
        }
    }

    /// Reads a Change List or a Change List Index that `listed_in` names.
    pub(super) async fn read(&mut self, url: &Url, listed_in: &Url) {
        let list = match self.load(url, listed_in).await {
            Ok(list) => list,
            Err(problem) => return self.miss_list(url, problem),
        };
        self.check_up(&list);
        let document = &list.reading.document;
        // An index that is written as a list may tell changes of its own as well.
        if !document.is_index && (document.entries.is_empty() || list.reading.handed_on > 0) {
            self.take(&list, None, 0);
            if document.entries.is_empty() && list.reading.handed_on > LARGE_CHANGE_LIST {
                let message = format!(
                    "the Change List has {} entries and is not part of an index",
                    list.reading.handed_on
                );
                self.add(
                    Problem::new(Code::LargeChangeList, &list.url, message)
                        .at(list.reading.line.max(1)),
                );
            }
        }
        self.children(&list).await;
    }

    /// Reads what was left over from before, looks for what is missing, and puts everything together.
    pub(super) async fn finish(mut self) -> Told {
        self.read_what_vanished().await;
        if self.is_something_missing() {
            self.read_archives().await;
        }
        // A stable sort: where datetimes are equal, the order of the lists and their entries stands.
        self.groups.sort_by_key(|(position, _)| *position);
        self.told.changes = self
            .groups
            .into_iter()
            .flat_map(|(_, group)| group)
            .collect();
        self.told
            .changes
            .sort_by_key(|change| change.datetime.start());
        self.told
    }

    async fn load(&mut self, url: &Url, listed_in: &Url) -> Result<Arc<Loaded>, Problem> {
        let may_be_unchanged = (self.remembered(url)).is_some_and(|list| self.is_up_to_date(list));
        let loaded = self.loader.list(url, &self.keep, may_be_unchanged).await;
        let loaded = loaded.map_err(|error| error.problem(url, listed_in))?;
        expect(&loaded, &Capability::ChangeList)?;
        Ok(loaded)
    }

    async fn children(&mut self, index: &Arc<Loaded>) {
        let document = &index.reading.document;
        let mut entries: Vec<(usize, &Entry)> = document.entries.iter().enumerate().collect();
        if entries.len() > self.loader.documents_left() {
            // Not all of them can be read this time: the oldest matter least.
            entries.reverse();
        }
        for (position, entry) in entries {
            let Some(url) = parse_near(&entry.loc, &index.url) else {
                continue;
            };
            if self.is_finished(&url, entry) {
                self.told.lists.extend(self.remembered(&url).cloned());
                continue;
            }
            if self.is_over(entry) {
                continue;
            }
            let child = match self.load(&url, &index.url).await {
                Ok(child) => child,
                Err(problem) => {
                    self.miss_list(&url, problem);
                    continue;
                }
            };
            let inner = &child.reading.document;
            if inner.is_index || !inner.entries.is_empty() {
                let message = format!(
                    "the index lists {}, which is an index itself; the lists in it were not read",
                    child.url
                );
                self.add(
                    Problem::new(Code::NestedIndex, &index.url, message).at(entry.line.max(1)),
                );
            }
            if inner.is_index {
                continue;
            }
            self.check_up(&child);
            if document.is_index {
                self.check_until(index, entry, &child);
            }
            self.take(&child, Some(entry), position);
        }
    }

    /// Whether a list needs no reading any more: it was read to its end when it was closed, its index says of it what
    /// it said then, and it was closed before the newest change that was processed.
    fn is_finished(&self, url: &Url, entry: &Entry) -> bool {
        let (Some(list), Some(memory)) = (self.remembered(url), self.memory) else {
            return false;
        };
        let same =
            (list.from, list.until, list.lastmod) == (entry.from, entry.until, entry.lastmod);
        let over = match (entry.until, memory.last_processed) {
            (Some(until), Some(last_processed)) => until.latest() < last_processed.start(),
            _ => false,
        };
        list.is_finished && same && over
    }

    /// The proposal's short cut, for those who ask for changes since some time: a list that was closed before that
    /// holds none.
    fn is_over(&self, entry: &Entry) -> bool {
        match (self.keep.since, entry.until) {
            (Some(since), Some(until)) => until.latest() < since.earliest(),
            _ => false,
        }
    }

    fn remembered(&self, url: &Url) -> Option<&'b ListMemory> {
        self.memory?.lists.iter().find(|list| list.url == *url)
    }

    /// Only of a list whose changes this very collection has taken may a server say that nothing is new. Another
    /// collection that names it, too, may have read it since.
    fn is_up_to_date(&self, list: &ListMemory) -> bool {
        list.read_at.is_some() && list.read_at == self.loader.last_read_at(&list.url)
    }

    /// A list that was still growing and is named no more may have grown once more before it was replaced.
    async fn read_what_vanished(&mut self) {
        let Some(memory) = self.memory else { return };
        // Where not even the names of the lists could be read, none of them has vanished.
        let are_names_missing = !self.told.is_complete && self.told.lists.is_empty();
        for list in &memory.lists {
            if self.told.lists.iter().any(|told| told.url == list.url) {
                continue;
            }
            if list.is_finished {
                self.told
                    .lists
                    .extend(are_names_missing.then(|| list.clone()));
                continue;
            }
            let may_be_unchanged = self.is_up_to_date(list);
            let loaded = self.loader.list(&list.url, &self.keep, may_be_unchanged);
            match loaded.await {
                Ok(loaded) if loaded.reading.document.capability == Capability::ChangeList => {
                    self.take_changes(&loaded, usize::MAX);
                    self.told
                        .lists
                        .extend(are_names_missing.then(|| ListMemory {
                            read_at: Some(loaded.read_at),
                            ..list.clone()
                        }));
                }
                Ok(_) => {}
                Err(LoadError::Fetch(error)) if is_not_there(&error) && !are_names_missing => {}
                // It may come back; then nothing must have been forgotten.
                Err(_) => self.told.lists.push(list.clone()),
            }
        }
    }

    fn is_something_missing(&self) -> bool {
        match (self.memory, self.told.covers_from()) {
            (Some(memory), Some(covers_from)) => memory.misses_before(covers_from),
            _ => false,
        }
    }

    /// The lists may say where older ones are kept.
    async fn read_archives(&mut self) {
        let mut places: Vec<Url> = Vec::new();
        for url in self.told.urls.clone() {
            let Ok(list) = self.loader.list(&url, &self.keep, true).await else {
                continue;
            };
            for rel in ["index", "archives"] {
                let link = list
                    .reading
                    .document
                    .link(rel)
                    .and_then(|href| parse_near(href, &list.url));
                places.extend(link.filter(|link| !places.contains(link)));
            }
        }
        for place in places {
            match self.loader.document(&place).await {
                Ok(archive) if is_archive(&archive) && !self.is_of_another(&archive).await => {
                    self.children(&archive).await;
                }
                Ok(_) => {}
                Err(error) => self.miss(error.problem(&place, &self.home.clone())),
            }
        }
    }

    /// Two collections may name one list; the index of that list then belongs to one of them, with everything that it
    /// names. A Capability List that cannot be read tells nothing of whose it is.
    async fn is_of_another(&mut self, archive: &Loaded) -> bool {
        let up = archive.reading.document.link("up");
        let Some(up) = up.and_then(|href| parse_near(href, &archive.url)) else {
            return false;
        };
        if self.parents.is_empty() || self.parents.contains(&up) {
            return false;
        }
        let Ok(parent) = self.loader.document(&up).await else {
            return false;
        };
        let document = &parent.reading.document;
        let describes = (document.link("describes")).and_then(|href| parse_near(href, &parent.url));
        document.capability == Capability::CapabilityList
            && !self.parents.contains(&parent.url)
            && describes.is_none_or(|describes| describes != self.home)
    }

    fn check_up(&mut self, list: &Loaded) {
        let parents: Vec<&Url> = self.parents.iter().collect();
        rules::check_up(
            &list.reading,
            &list.url,
            &parents,
            &mut self.loader.problems,
        );
    }

    fn check_until(&mut self, index: &Loaded, entry: &Entry, child: &Loaded) {
        let (here, there) = match (entry.until, child.reading.document.until) {
            (Some(_), None) => ("closed", "has no `until`"),
            (None, Some(_)) => ("open", "has one"),
            _ => return,
        };
        let message = format!(
            "the index calls {} {here} by its `until`, but that list {there}",
            child.url
        );
        self.add(Problem::new(Code::IndexUntilMismatch, &index.url, message).at(entry.line.max(1)));
    }

    /// Takes a list with what its index says of it.
    fn take(&mut self, list: &Arc<Loaded>, entry: Option<&Entry>, position: usize) {
        if self.told.urls.contains(&list.url) {
            return;
        }
        let document = &list.reading.document;
        self.told.urls.push(list.url.clone());
        self.told.lists.push(match entry {
            Some(entry) => ListMemory {
                url: list.asked.clone(),
                from: entry.from.or(document.from),
                until: entry.until,
                lastmod: entry.lastmod,
                read_at: Some(list.read_at),
                is_finished: entry.until.is_some() && document.until.is_some(),
            },
            None => ListMemory {
                url: list.asked.clone(),
                from: document.from,
                until: document.until,
                lastmod: None,
                read_at: Some(list.read_at),
                is_finished: false,
            },
        });
        self.take_changes(list, position);
    }

    fn take_changes(&mut self, list: &Arc<Loaded>, position: usize) {
        self.add_changes(&list.changes, list.reading.newest_first, position);
        let latest = self.now + CLOCK_SKEW;
        if let Some(change) = list
            .changes
            .iter()
            .find(|change| change.datetime.earliest() > latest)
        {
            let message = format!(
                "{} is dated {}, which is in the future",
                change.url, change.datetime
            );
            self.add(Problem::new(Code::FutureDatetime, &list.url, message));
        }
        let home = &self.home;
        let origin = &list.url[..Position::BeforePath];
        let away = |change: &&Change| {
            // Mostly so, and an address takes its time to be read.
            let path = change.url.strip_prefix(origin);
            !path.is_some_and(|path| path.starts_with('/'))
                && Url::parse(&change.url)
                    .is_ok_and(|url| !same_site(&url, &list.url) && !same_site(&url, home))
        };
        if let Some(change) = list.changes.iter().find(away) {
            let message = format!(
                "{} is on another site than the collection and its list",
                change.url
            );
            self.add(Problem::new(Code::OffSitePages, &list.url, message));
        }
    }

    /// A change that two lists tell happened once, one that a single list tells twice happened twice.
    fn add_changes(&mut self, changes: &[Change], newest_first: bool, position: usize) {
        let mut group = changes.to_vec();
        if newest_first {
            group.reverse();
        }
        // Mostly there is one list, and nothing to compare it with.
        if !self.groups.is_empty() {
            let groups = &self.groups;
            let times = self.times.get_or_insert_with(|| {
                let mut times = Known::default();
                let all = groups.iter().flat_map(|(_, group)| group);
                for change in all {
                    times.add(ChangeKey::of(change));
                }
                times
            });
            let mut here = Known::default();
            group.retain(|change| {
                let key = ChangeKey::of(change);
                here.add(key);
                let is_more = here.times(key) > times.times(key);
                if is_more {
                    times.add(key);
                }
                is_more
            });
        }
        self.groups.push((position, group));
    }

    /// What is remembered of a list that cannot be read stays as it is.
    fn miss_list(&mut self, url: &Url, problem: Problem) {
        self.told.lists.extend(self.remembered(url).cloned());
        self.miss(problem);
    }

    fn miss(&mut self, problem: Problem) {
        self.told.is_complete = false;
        self.add(problem);
    }

    fn add(&mut self, problem: Problem) {
        self.loader.problems.add(problem);
    }
}

fn is_archive(loaded: &Loaded) -> bool {
    let document = &loaded.reading.document;
    matches!(
        document.capability,
        Capability::ChangeList | Capability::ChangeListArchive
    )
}

/// Whether there is no such document. A server that only refuses to answer says nothing about that.
pub(super) fn is_not_there(error: &FetchError) -> bool {
    matches!(
        error,
        FetchError::Status {
            status: 404 | 410,
            ..
        }
    )
}
