//! From the root document to every change, in the steps of the proposal.
//!
//! Source Description, Capability Lists, Change Lists, with an index possible at the first and the last level and
//! nowhere else. A document that cannot be read costs what it would have told, and a problem.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use url::Url;

use super::lists::{Lists, Told};
use super::{CollectionReading, pages, titles};
use crate::discover::{FoundBy, Root};
use crate::load::{Loaded, Loader, expect};
use crate::memory::{CollectionMemory, SiteMemory};
use crate::moment::Moment;
use crate::problem::{Code, Problem, Severity};
use crate::read::resourcesync::{Capability, Entry, rules};
use crate::site::{About, same_site};
use crate::text::address::parse_near;

/// Reads everything below the root document, and says whether all of it could be read.
pub(super) async fn walk<'b>(
    loader: &mut Loader<'b>,
    root: &Root,
    memory: Option<&'b SiteMemory>,
    since: Option<Moment>,
    now: DateTime<Utc>,
) -> (Vec<CollectionReading>, bool) {
    let mut walk = Walk {
        loader,
        memory,
        since,
        now,
        listed: Vec::new(),
        collections: Vec::new(),
        is_complete: true,
    };
    walk.root(root).await;
    walk.report_nothing(root);
    (walk.collections, walk.is_complete)
}

struct Walk<'a, 'b> {
    loader: &'a mut Loader<'b>,
    memory: Option<&'b SiteMemory>,
    since: Option<Moment>,
    now: DateTime<Utc>,
    /// The Capability Lists that the site has.
    listed: Vec<Url>,
    collections: Vec<CollectionReading>,
    is_complete: bool,
}

/// A Capability List that some document lists.
struct Listed {
    url: Url,
    describes: Option<Url>,
    described_by: Option<Url>,
}

impl<'b> Walk<'_, 'b> {
    async fn root(&mut self, root: &Root) {
        let loaded = &root.loaded;
        let document = &loaded.reading.document;
        match (&document.capability, document.is_index) {
            (Capability::Description, false) => self.source_description(loaded, root).await,
            (Capability::Description, true) => {
                for entry in &document.entries {
                    if let Some(child) = self
                        .child_of_index(entry, loaded, &Capability::Description)
                        .await
                    {
                        self.source_description(&child, root).await;
                    }
                }
            }
            (Capability::CapabilityList, is_index) => {
                if root.found_by == FoundBy::WellKnown || is_index {
                    let message = format!(
                        "the site is described by a {}, as before ResourceSync 1.0",
                        document.title()
                    );
                    self.add(
                        Problem::new(Code::OldRoot, &loaded.url, message)
                            .at(loaded.reading.line.max(1)),
                    );
                }
                if is_index {
                    for entry in &document.entries {
                        let list = listed(entry, &loaded.url);
                        self.capability_list(list, loaded, root).await;
                    }
                } else {
                    let itself = Listed {
                        url: loaded.url.clone(),
                        describes: None,
                        described_by: None,
                    };
                    self.collection(loaded, itself, root).await;
                }
            }
            (Capability::ChangeList, _) => {
                let id = loaded.url.clone();
                let memory = self.remembered(&id, None);
                let mut lists =
                    Lists::new(self.loader, memory, self.since, self.now, &id, Vec::new());
                lists.read(&loaded.asked, &loaded.url).await;
                let told = lists.finish().await;
                self.finish(id, memory, None, None, true, told);
            }
            (Capability::ResourceList, _) => {
                let message = format!(
                    "the site is described by a {}, which lists no changes",
                    document.title()
                );
                let problem = Problem::new(Code::OnlyAList, &loaded.url, message);
                self.add(problem.at(loaded.reading.line.max(1)));
                let id = loaded.url.clone();
                let memory = self.remembered(&id, None);
                let urls = vec![loaded.asked.clone()];
                let about = (None, None, true);
                self.pages(id, memory, urls, &loaded.url, about).await;
            }
            (_, _) => {
                let message = format!(
                    "the site is described by a {}, which lists no changes",
                    document.title()
                );
                self.add(
                    Problem::new(Code::WrongCapability, &loaded.url, message)
                        .at(loaded.reading.line.max(1)),
                );
            }
        }
    }

    /// A site without a collection is never fine, whichever way it came about.
    fn report_nothing(&mut self, root: &Root) {
        let is_told = |problem: &Problem| problem.severity() > Severity::Note;
        if self.collections.is_empty() && !self.loader.problems.iter().any(is_told) {
            let message = "no Capability List is listed, neither here nor below".to_owned();
            self.add(Problem::new(Code::NoCollections, &root.loaded.url, message));
        }
    }

    async fn source_description(&mut self, description: &Arc<Loaded>, root: &Root) {
        let entries = &description.reading.document.entries;
        // An entry without a capability was reported, and can be nothing else.
        let is_list =
            |entry: &&Entry| matches!(entry.capability, None | Some(Capability::CapabilityList));
        let near = &description.url;
        let lists = entries.iter().filter(is_list);
        let lists: Vec<Listed> = lists.map(|entry| listed(entry, near)).collect();
        self.listed
            .extend(lists.iter().map(|list| list.url.clone()));
        for list in lists {
            self.capability_list(list, description, root).await;
        }
    }

    async fn capability_list(&mut self, listed: Listed, parent: &Arc<Loaded>, root: &Root) {
        let most = self.loader.limits().collections;
        if self.collections.len() >= most {
            let message = format!("only the first {most} collections of a site are read");
            self.add(Problem::new(Code::LimitReached, &parent.url, message));
            return;
        }
        let loaded = match self.loader.document(&listed.url).await {
            Ok(loaded) => loaded,
            Err(error) => return self.miss(error.problem(&listed.url, &parent.url)),
        };
        if let Err(problem) = expect(&loaded, &Capability::CapabilityList) {
            return self.miss(problem);
        }
        if loaded.reading.document.is_index {
            let message = "a Capability List is listed here, and an index of them found";
            return self.add(
                Problem::new(Code::NestedIndex, &loaded.url, message)
                    .at(loaded.reading.line.max(1)),
            );
        }
        let top = &root.loaded;
        let parents = [&parent.asked, &parent.url, &top.asked, &top.url];
        rules::check_up(
            &loaded.reading,
            &loaded.url,
            &parents,
            &mut self.loader.problems,
        );
        self.collection(&loaded, listed, root).await;
    }

    /// Reads one collection from its Capability List.
    async fn collection(&mut self, list: &Arc<Loaded>, listed: Listed, root: &Root) {
        let is_known =
            |known: &CollectionReading| known.capability_list.as_ref() == Some(&list.url);
        if self.collections.iter().any(is_known) {
            // The same list, listed twice.
            return;
        }
        let document = &list.reading.document;
        let link = |rel| {
            let href = document.link(rel);
            href.and_then(|href| parse_near(href, &list.url))
        };
        let own = link("describes");
        if let (Some(own), Some(other)) = (&own, &listed.describes)
            && !rules::same_address(own.as_str(), other.as_str())
        {
            let message = format!("this describes {own}, but is listed as describing {other}");
            self.add(
                Problem::new(Code::DescribesConflict, &list.url, message)
                    .at(list.reading.line.max(1)),
            );
        }
        // The Capability List is believed first: it is what the owner of the collection edits.
        let mut id = own.or(listed.describes).unwrap_or_else(|| list.url.clone());
        if self.is_taken(&id) || self.is_of_another(&id, &list.url).await {
            let message = format!("{id} is described by another Capability List already");
            self.add(
                Problem::new(Code::DuplicateCollection, &list.url, message)
                    .at(list.reading.line.max(1)),
            );
            id = list.url.clone();
            if self.is_taken(&id) {
                // Someone else describes this very document: nothing is left to call it by.
                return;
            }
        }
        let is_own = is_own(&id, root);
        if !is_own {
            let message = format!("the site describes {id}, which is on another site");
            self.add(
                Problem::new(Code::ForeignCollection, &list.url, message)
                    .at(list.reading.line.max(1)),
            );
        }
        let described_by = link("describedby").or(listed.described_by);
        let memory = self.remembered(&id, Some(&list.url));
        let has = |kind: &Capability| {
            (document.entries.iter()).any(|entry| entry.capability.as_ref() == Some(kind))
        };
        if !has(&Capability::ChangeList) && has(&Capability::ResourceList) {
            let is_pages = |entry: &&Entry| entry.capability == Some(Capability::ResourceList);
            let lists = document.entries.iter().filter(is_pages);
            let urls = lists
                .filter_map(|entry| parse_near(&entry.loc, &list.url))
                .collect();
            let about = (Some(list.url.clone()), described_by, is_own);
            return self.pages(id, memory, urls, &list.url, about).await;
        }
        let parents = vec![list.asked.clone(), list.url.clone()];
        let mut lists = Lists::new(self.loader, memory, self.since, self.now, &id, parents);
        let is_list = |entry: &&Entry| entry.capability == Some(Capability::ChangeList);
        for entry in document.entries.iter().filter(is_list) {
            if let Some(url) = parse_near(&entry.loc, &list.url) {
                lists.read(&url, &list.url).await;
            }
        }
        let told = lists.finish().await;
        self.finish(
            id,
            memory,
            Some(list.url.clone()),
            described_by,
            is_own,
            told,
        );
    }

    /// Reads a collection that has Resource Lists and no Change List.
    async fn pages(
        &mut self,
        id: Url,
        memory: Option<&'b CollectionMemory>,
        urls: Vec<Url>,
        listed_in: &Url,
        (capability_list, described_by, is_own): (Option<Url>, Option<Url>, bool),
    ) {
        let mut lists = pages::Walk::new(self.loader, memory);
        for url in &urls {
            lists.read_list(url, listed_in).await;
        }
        lists.recall().await;
        lists.dispel_doubts().await;
        let (reading, is_complete) = lists.finish(listed_in, false);
        self.is_complete &= is_complete;
        self.collections.push(CollectionReading {
            described_by,
            capability_list,
            is_own,
            ..pages::collection(id, memory, reading, is_complete)
        });
    }

    /// What is remembered of a collection. One that had no identity of its own was known by its Capability List, and
    /// keeps its feed when its author names it.
    fn remembered(&self, id: &Url, list: Option<&Url>) -> Option<&'b CollectionMemory> {
        let collections = &self.memory?.collections;
        let by_id = collections
            .iter()
            .find(|collection| collection.identity == *id);
        by_id.or_else(|| {
            let list = list?;
            collections.iter().find(|collection| {
                collection.identity == *list && collection.capability_list.as_ref() == Some(list)
            })
        })
    }

    fn is_taken(&self, id: &Url) -> bool {
        (self.collections.iter()).any(|known| rules::same_address(known.id.as_str(), id.as_str()))
    }

    /// Whether a collection is known by another Capability List, which is still listed and has not given it up. Whoever
    /// described it first keeps it, even while that list cannot be read: changes must not end up in a stranger's feed.
    async fn is_of_another(&mut self, id: &Url, list: &Url) -> bool {
        let collections = self.memory.map(|memory| &memory.collections);
        let known = (collections.into_iter().flatten()).find(|known| known.identity == *id);
        let owner = known.and_then(|known| known.capability_list.clone());
        let Some(owner) = owner.filter(|owner| owner != list && self.listed.contains(owner)) else {
            return false;
        };
        match self.loader.document(&owner).await {
            Ok(owner) => (owner.reading.document.link("describes"))
                .is_none_or(|described| rules::same_address(described, id.as_str())),
            Err(_) => true,
        }
    }

    async fn child_of_index(
        &mut self,
        entry: &Entry,
        index: &Loaded,
        kind: &Capability,
    ) -> Option<Arc<Loaded>> {
        let url = parse_near(&entry.loc, &index.url)?;
        let child = match self.loader.document(&url).await {
            Ok(child) => child,
            Err(error) => {
                self.miss(error.problem(&url, &index.url));
                return None;
            }
        };
        if let Err(problem) = expect(&child, kind) {
            self.miss(problem);
            return None;
        }
        let document = &child.reading.document;
        if document.is_index {
            let message = format!(
                "the index lists {}, which is an index itself; the lists in it were not read",
                child.url
            );
            self.add(Problem::new(Code::NestedIndex, &index.url, message).at(entry.line.max(1)));
        }
        (!document.is_index).then_some(child)
    }

    fn finish(
        &mut self,
        id: Url,
        memory: Option<&CollectionMemory>,
        list: Option<Url>,
        described_by: Option<Url>,
        is_own: bool,
        told: Told,
    ) {
        self.is_complete &= told.is_complete;
        let past = (told.changes.iter().map(|change| change.datetime))
            .filter(|moment| moment.start() <= self.now);
        self.collections.push(CollectionReading {
            known_as: memory.map(|memory| memory.id),
            title: titles::fallback(&id),
            id,
            about: About::default(),
            described_by,
            capability_list: list,
            horizon: told.horizon(),
            covers_from: told.covers_from(),
            last_processed: past.max(),
            is_complete: told.is_complete,
            change_lists: told.urls,
            lists: told.lists,
            changes: told.changes,
            is_own,
            pages: None,
            note: None,
            page_count: None,
        });
    }

    fn miss(&mut self, problem: Problem) {
        self.is_complete = false;
        self.add(problem);
    }

    fn add(&mut self, problem: Problem) {
        self.loader.problems.add(problem);
    }
}

/// Whether the site that a collection is on describes it itself. A host that sends readers of its well-known address
/// elsewhere has said so; a mere link to elsewhere is a claim.
fn is_own(id: &Url, root: &Root) -> bool {
    let loaded = &root.loaded;
    same_site(id, &loaded.url) || (root.found_by.is_well_known() && same_site(id, &loaded.asked))
}

/// `near` is the address of the document that lists it.
fn listed(entry: &Entry, near: &Url) -> Listed {
    let link = |rel| entry.link(rel).and_then(|href| parse_near(href, near));
    Listed {
        url: parse_near(&entry.loc, near).expect("the reader makes every loc an address"),
        describes: link("describes"),
        described_by: link("describedby"),
    }
}
