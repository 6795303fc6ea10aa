//! From the root document to every change, in the steps of the proposal.
//!
//! Source Description, Capability Lists, Change Lists, with an index possible at the first and the last level and
//! nowhere else. A document that cannot be read costs what it would have told, and a problem.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use url::Url;

use super::lists::Lists;
use super::{CollectionReading, titles};
use crate::change::Change;
use crate::discover::{FoundBy, Root};
use crate::load::{Loaded, Loader, expect};
use crate::moment::Moment;
use crate::problem::{Code, Problem, Severity};
use crate::read::resourcesync::{Capability, Entry, rules};
use crate::site::{About, same_site};

/// Clocks differ a little; a change is in the future only beyond this.
const CLOCK_SKEW: TimeDelta = TimeDelta::minutes(5);
/// From this size on, a single Change List should be split.
const LARGE_CHANGE_LIST: usize = 1_000;

/// Reads everything below the root document.
pub(super) async fn walk(
    loader: &mut Loader<'_>,
    root: &Root,
    since: Option<Moment>,
    now: DateTime<Utc>,
) -> Vec<CollectionReading> {
    let mut walk = Walk {
        loader,
        since,
        now,
        collections: Vec::new(),
    };
    walk.root(root).await;
    walk.report_nothing(root);
    walk.collections
}

struct Walk<'a, 'b> {
    loader: &'a mut Loader<'b>,
    since: Option<Moment>,
    now: DateTime<Utc>,
    collections: Vec<CollectionReading>,
}

/// A Capability List that some document lists.
struct Listed {
    url: Url,
    describes: Option<Url>,
    described_by: Option<Url>,
}

impl Walk<'_, '_> {
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
                        self.capability_list(listed(entry), loaded, root).await;
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
                let mut lists = Lists::of(&loaded.url);
                self.change_list(loaded, &[], &mut lists).await;
                self.finish(loaded.url.clone(), None, None, true, lists);
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
        for entry in &description.reading.document.entries {
            // An entry without a capability was reported, and can be nothing else.
            if matches!(entry.capability, None | Some(Capability::CapabilityList)) {
                self.capability_list(listed(entry), description, root).await;
            }
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
            Err(error) => return self.add(error.problem(&listed.url, &parent.url)),
        };
        if let Err(problem) = expect(&loaded, &Capability::CapabilityList) {
            return self.add(problem);
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
        let own = document
            .link("describes")
            .and_then(|href| Url::parse(href).ok());
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
        if self.is_taken(&id) {
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
        let described_by = document
            .link("describedby")
            .and_then(|href| Url::parse(href).ok())
            .or(listed.described_by);
        let mut lists = Lists::of(&id);
        for entry in document
            .entries
            .iter()
            .filter(|entry| entry.capability == Some(Capability::ChangeList))
        {
            let Ok(url) = Url::parse(&entry.loc) else {
                continue;
            };
            match self.loader.document(&url).await {
                Ok(loaded) => match expect(&loaded, &Capability::ChangeList) {
                    Ok(()) => {
                        self.change_list(&loaded, &[&list.asked, &list.url], &mut lists)
                            .await
                    }
                    Err(problem) => self.add(problem),
                },
                Err(error) => self.add(error.problem(&url, &list.url)),
            }
        }
        self.finish(id, Some(list.url.clone()), described_by, is_own, lists);
    }

    fn is_taken(&self, id: &Url) -> bool {
        (self.collections.iter()).any(|known| rules::same_address(known.id.as_str(), id.as_str()))
    }

    /// Reads a Change List, or the lists of an index. `parents` are the addresses of the Capability List.
    async fn change_list(&mut self, list: &Arc<Loaded>, parents: &[&Url], lists: &mut Lists) {
        let document = &list.reading.document;
        rules::check_up(&list.reading, &list.url, parents, &mut self.loader.problems);
        // An index that is written as a list may tell changes of its own as well.
        if !document.is_index && (document.entries.is_empty() || list.reading.handed_on > 0) {
            self.take(list, lists);
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
        for entry in &document.entries {
            if self.is_over(entry) {
                continue;
            }
            let Some(child) = self
                .child_of_index(entry, list, &Capability::ChangeList)
                .await
            else {
                continue;
            };
            rules::check_up(
                &child.reading,
                &child.url,
                parents,
                &mut self.loader.problems,
            );
            let span = &child.reading.document;
            if document.is_index && entry.until.is_some() != span.until.is_some() {
                let (here, there) = match entry.until {
                    Some(_) => ("closed", "has no `until`"),
                    None => ("open", "has one"),
                };
                let message = format!(
                    "the index calls {} {here} by its `until`, but that list {there}",
                    child.url
                );
                self.add(
                    Problem::new(Code::IndexUntilMismatch, &list.url, message)
                        .at(entry.line.max(1)),
                );
            }
            self.take(&child, lists);
        }
    }

    /// The proposal's short cut: a list that was closed before the time of last processing holds nothing new.
    fn is_over(&self, entry: &Entry) -> bool {
        match (self.since, entry.until) {
            (Some(since), Some(until)) => until.latest() < since.earliest(),
            _ => false,
        }
    }

    async fn child_of_index(
        &mut self,
        entry: &Entry,
        index: &Loaded,
        kind: &Capability,
    ) -> Option<Arc<Loaded>> {
        let url = Url::parse(&entry.loc).ok()?;
        let child = match self.loader.document(&url).await {
            Ok(child) => child,
            Err(error) => {
                self.add(error.problem(&url, &index.url));
                return None;
            }
        };
        if let Err(problem) = expect(&child, kind) {
            self.add(problem);
            return None;
        }
        let document = &child.reading.document;
        let is_disguised = *kind == Capability::ChangeList && !document.entries.is_empty();
        if document.is_index || is_disguised {
            let message = format!(
                "the index lists {}, which is an index itself; the lists in it were not read",
                child.url
            );
            self.add(Problem::new(Code::NestedIndex, &index.url, message).at(entry.line.max(1)));
        }
        (!document.is_index).then_some(child)
    }

    /// Takes the changes of one Change List.
    fn take(&mut self, list: &Arc<Loaded>, lists: &mut Lists) {
        if lists.urls.contains(&list.url) {
            return;
        }
        lists.urls.push(list.url.clone());
        lists.horizon = match (lists.horizon, list.reading.document.from) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        lists.add(&list.changes, list.reading.newest_first);
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
        let home = lists.home.clone();
        let away = |change: &&Change| {
            Url::parse(&change.url)
                .is_ok_and(|url| !same_site(&url, &list.url) && !same_site(&url, &home))
        };
        if let Some(change) = list.changes.iter().find(away) {
            let message = format!(
                "{} is on another site than the collection and its list",
                change.url
            );
            self.add(Problem::new(Code::OffSitePages, &list.url, message));
        }
    }

    fn finish(
        &mut self,
        id: Url,
        list: Option<Url>,
        described_by: Option<Url>,
        is_own: bool,
        lists: Lists,
    ) {
        let mut changes = lists.changes;
        // A stable sort: where datetimes are equal, the order of the documents stands.
        changes.sort_by_key(|change| change.datetime.start());
        let past = changes
            .iter()
            .map(|change| change.datetime)
            .filter(|moment| moment.start() <= self.now);
        self.collections.push(CollectionReading {
            title: titles::fallback(&id),
            id,
            about: About::default(),
            described_by,
            capability_list: list,
            change_lists: lists.urls,
            horizon: lists.horizon,
            last_processed: past.max(),
            changes,
            is_own,
        });
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

fn listed(entry: &Entry) -> Listed {
    let link = |rel| entry.link(rel).and_then(|href| Url::parse(href).ok());
    Listed {
        url: Url::parse(&entry.loc)
            .unwrap_or_else(|_| unreachable!("the reader makes every loc an address")),
        describes: link("describes"),
        described_by: link("describedby"),
    }
}
