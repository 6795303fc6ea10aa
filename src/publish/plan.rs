//! What has to be written, given what was published last time and what the folder has now. Pure: no disk, no clock.
//!
//! Every page belongs to one collection. What changed since last time becomes changes of that collection, all with the
//! same datetime, in its open Change List. Before that list grows long it is closed, under a name with its date, and an
//! index lists it from then on; a closed list is never written again.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::compare::{compare, pairs};
use super::documents::{
    ABOUT, CAPABILITY_LIST, Documents, INDEX, describe, marked, source_description,
};
use super::folder::Found;
use super::log::grow;
use super::manifest::MANIFEST;
use super::notes::Notes;
use super::state::{Log, OPEN_LIST, PublishedPage, State, in_log};
use super::{OWN_FOLDER, Site};
use crate::change::{ChangeKind, Details, Link};
use crate::moment::Moment;
use crate::read::resourcesync::{Document, Entry, write};

/// What has to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The files in [`OWN_FOLDER`], by their paths below the folder of the site. Closed lists of before are not among
    /// them: they stay as they are.
    pub files: BTreeMap<String, String>,
    /// The file at [`ENTRY_POINT`].
    pub entry_point: String,
    /// What will have been published.
    pub state: State,
    /// What is told as new, collection by collection.
    pub told: Vec<Told>,
}

/// A change that is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The folder of its collection; empty for the site's own.
    pub collection: String,
    /// What happened.
    pub kind: ChangeKind,
    /// The page, by its address below that of the site.
    pub page: String,
    /// Where it went, or came from, if it moved.
    pub moved: Option<String>,
}

/// Compares `found` with what was published `before`, and plans what to write at `now`.
pub fn plan(
    site: &Site,
    before: Option<&State>,
    found: &Found,
    notes: &Notes,
    now: DateTime<Utc>,
) -> Plan {
    // A clock that was put back must not put the lists out of order; and two runs within a second that tell of the same
    // page must be told apart, or readers take the second change for the first.
    let now = Moment::from_utc(now);
    let after = |newest: Moment| Moment::from_utc(newest.start() + TimeDelta::seconds(1));
    let at = before.map_or(now, |state| now.max(after(state.newest)));
    let notes = notes
        .clone()
        .since(before.and_then(|state| state.changelog.as_deref()));
    let told = compare(site, before, found);
    let mut state = State {
        site: site.url.clone(),
        newest: match (before, told.is_empty()) {
            (Some(state), true) => state.newest,
            _ => at,
        },
        pages: pages(before, found, at),
        logs: before.map(|state| state.logs.clone()).unwrap_or_default(),
        changelog: before.and_then(|state| state.changelog.clone()),
        rules: found.rules.clone(),
    };
    if !told.is_empty() {
        state.changelog = (notes.changelog().map(str::to_owned)).or(state.changelog);
    }
    let mut files = BTreeMap::new();
    let listed = listed(site, &state, found);
    for folder in &listed {
        let new: Vec<Entry> = (told.iter())
            .filter(|told| told.collection == *folder)
            .map(|told| entry(site, told, at, &notes))
            .collect();
        let log = (state.logs.entry(folder.clone())).or_insert_with(|| Log {
            from: at,
            open: Vec::new(),
            closed: Vec::new(),
        });
        let documents = Documents { site, folder };
        for (list, entries) in grow(log, new, at) {
            let text = write(&documents.closed_list(&list, entries));
            files.insert(in_log(folder, &list.file), text);
        }
        let mut add = |file: &str, document: Document| {
            files.insert(in_log(folder, file), write(&document));
        };
        add(OPEN_LIST, documents.open_list(log));
        add(CAPABILITY_LIST, documents.capability_list(log));
        if !log.closed.is_empty() {
            add(INDEX, documents.index(log));
        }
    }
    files.insert(format!("{OWN_FOLDER}/{ABOUT}"), describe(site, &listed));
    files.insert(format!("{OWN_FOLDER}/{MANIFEST}"), state.manifest());
    Plan {
        files,
        entry_point: marked(&write(&source_description(site, &listed))),
        state,
        told,
    }
}

fn pages(before: Option<&State>, found: &Found, at: Moment) -> BTreeMap<String, PublishedPage> {
    let none = BTreeMap::new();
    let old = before.map_or(&none, |state| &state.pages);
    let published = pairs(old, &found.pages).filter_map(|(address, then, now)| {
        let prints = now?.prints;
        let same = then.filter(|then| !prints.differ(&then.prints));
        let changed = same.map_or(at, |then| then.changed);
        Some((address.clone(), PublishedPage { prints, changed }))
    });
    // In order, so that they need not be put in one by one.
    published.collect::<Vec<_>>().into_iter().collect()
}

/// The folders of the collections that the site lists. What is in none of the named ones is the site's own.
fn listed(site: &Site, state: &State, found: &Found) -> Vec<String> {
    let is_own = |page: &String| site.collection_of(page).is_empty();
    let has_own = site.collections.is_empty()
        || state.logs.contains_key("")
        || found.pages.keys().any(is_own);
    let named = site
        .collections
        .iter()
        .map(|collection| collection.folder.clone());
    has_own.then(String::new).into_iter().chain(named).collect()
}

fn entry(site: &Site, told: &Told, at: Moment, notes: &Notes) -> Entry {
    let link = told.moved.as_ref().map(|other| {
        // ResourceSync knows no moving, so the two changes name each other.
        let rel = match told.kind {
            ChangeKind::Deleted => "successor-version",
            _ => "predecessor-version",
        };
        Link::new(rel, site.address(other))
    });
    Entry {
        loc: site.address(&told.page),
        change: Some(told.kind),
        datetime: Some(at),
        details: Details {
            links: link.into_iter().collect(),
            note: notes.about(&told.page).map(str::to_owned),
            ..Details::default()
        },
        ..Entry::default()
    }
}
