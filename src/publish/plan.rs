//! What has to be written, given what was published last time and what the folder has now. Pure: no disk, no clock.
//!
//! Every page belongs to one collection. What changed since last time becomes changes of that collection, all with the
//! same datetime, in its open Change List. Before that list grows long it is closed, under a name with its date, and an
//! index lists it from then on; a closed list is never written again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, TimeDelta, Utc};
use url::Url;

use super::folder::{Found, PageHash, Prints};
use super::notes::Notes;
use super::state::{Closed, Log, MANIFEST, MARK, OPEN_LIST, PublishedPage, State, in_log};
use super::{ENTRY_POINT, OWN_FOLDER, Site};
use crate::change::{ChangeKind, Details, Link};
use crate::moment::Moment;
use crate::read::about;
use crate::read::resourcesync::read::MAX_ENTRIES;
use crate::read::resourcesync::{Capability, Document, Entry, write};
use crate::site::About;

/// The open list is what followers load again and again, so it stays small.
pub const MAX_OPEN: usize = 500;
/// A list stays well below the 50 MB of the Sitemaps protocol.
const MAX_LIST_BYTES: usize = 40_000_000;
const CAPABILITY_LIST: &str = "capabilitylist.xml";
const INDEX: &str = "changelist-index.xml";
const ABOUT: &str = "about.xml";

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

/// The Capability List of the collection that a page is in, as an address.
pub fn capability_list_of(site: &Site, page: &str) -> String {
    site.address_of(&in_log(site.collection_of(page), CAPABILITY_LIST))
}

/// A document with the line that says who wrote it.
pub(super) fn marked(document: &str) -> String {
    document.replacen("?>\n", &format!("?>\n{MARK}\n"), 1)
}

/// What changed, in the order of the addresses.
fn compare(site: &Site, before: Option<&State>, found: &Found) -> Vec<Told> {
    let none = BTreeMap::new();
    let old = before.map_or(&none, |state| &state.pages);
    let mut told = Vec::new();
    let mut tell = |page: &str, kind| {
        told.push(Told {
            collection: site.collection_of(page).to_owned(),
            kind,
            page: page.to_owned(),
            moved: None,
        });
    };
    for (page, now) in &found.pages {
        match old.get(page) {
            None => tell(page, ChangeKind::Created),
            Some(then) if now.prints.differ(&then.prints) => tell(page, ChangeKind::Updated),
            Some(_) => {}
        }
    }
    for page in old.keys().filter(|page| !found.pages.contains_key(*page)) {
        tell(page, ChangeKind::Deleted);
    }
    let moves = moves(site, &told, old, found);
    // Where several pages went to the same one, it is told as come from the first of them.
    let back: BTreeMap<_, _> = (moves.iter().rev()).map(|(old, new)| (new, old)).collect();
    for told in &mut told {
        told.moved = match told.kind {
            ChangeKind::Deleted => moves.get(&told.page).cloned(),
            ChangeKind::Created => back.get(&told.page).map(|old| (*old).clone()),
            ChangeKind::Updated => None,
        };
    }
    told.sort_by(|one, other| (&one.collection, &one.page).cmp(&(&other.collection, &other.page)));
    told
}

/// Which pages are where others were: the author left a signpost, or exactly one new page says what the old one said.
fn moves(
    site: &Site,
    told: &[Told],
    old: &BTreeMap<String, PublishedPage>,
    found: &Found,
) -> BTreeMap<String, String> {
    let mut by_hash: HashMap<PageHash, (Vec<&str>, Vec<&str>)> = HashMap::new();
    let mut moves = BTreeMap::new();
    for told in told {
        match told.kind {
            ChangeKind::Created => {
                let hash = found.pages[&told.page].prints.words;
                by_hash.entry(hash).or_default().1.push(&told.page);
            }
            ChangeKind::Deleted => {
                let signpost = found.signposts.get(&told.page);
                match signpost.and_then(|target| target_of(site, &told.page, target)) {
                    Some(target) if found.pages.contains_key(&target) => {
                        moves.insert(told.page.clone(), target);
                    }
                    _ => {
                        let hash = old[&told.page].prints.words;
                        by_hash.entry(hash).or_default().0.push(&told.page);
                    }
                }
            }
            ChangeKind::Updated => {}
        }
    }
    for (gone, came) in by_hash.into_values() {
        if let ([old], [new]) = (&gone[..], &came[..]) {
            moves.insert((*old).to_owned(), (*new).to_owned());
        }
    }
    moves
}

/// Where a signpost leads, below the site.
fn target_of(site: &Site, page: &str, target: &str) -> Option<String> {
    let here = Url::parse(&site.address(page)).ok()?;
    let mut there = here.join(target).ok()?;
    there.set_fragment(None);
    let below = there.as_str().strip_prefix(site.url.as_str())?;
    Some(below.strip_suffix("index.html").unwrap_or(below).to_owned())
}

fn pages(before: Option<&State>, found: &Found, at: Moment) -> BTreeMap<String, PublishedPage> {
    let page = |address: &String, prints: Prints| {
        let old = before.and_then(|state| state.pages.get(address));
        let same = old.filter(|old| !prints.differ(&old.prints));
        PublishedPage {
            prints,
            changed: same.map_or(at, |old| old.changed),
        }
    };
    (found.pages.iter())
        .map(|(address, now)| (address.clone(), page(address, now.prints)))
        .collect()
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

/// Adds changes to a log, and returns the lists that are closed by that, with what is in them.
fn grow(log: &mut Log, new: Vec<Entry>, at: Moment) -> Vec<(Closed, Vec<Entry>)> {
    let mut closed = Vec::new();
    if new.is_empty() || log.open.len() + new.len() <= MAX_OPEN {
        log.open.extend(new);
        return closed;
    }
    if !log.open.is_empty() {
        let entries = std::mem::take(&mut log.open);
        closed.push((close(log, at), entries));
    }
    if new.len() <= MAX_OPEN {
        log.open = new;
        return closed;
    }
    for part in parts(new) {
        closed.push((close(log, at), part));
    }
    closed
}

/// Closes the open list under a name of its own; the next one begins when it ends.
fn close(log: &mut Log, at: Moment) -> Closed {
    let date = at.start().format("%Y-%m-%d");
    let taken: BTreeSet<&str> = log.closed.iter().map(|list| list.file.as_str()).collect();
    let names = (2..).map(|number| format!("changelist-{date}-{number}.xml"));
    let file = std::iter::once(format!("changelist-{date}.xml"))
        .chain(names)
        .find(|name| !taken.contains(name.as_str()))
        .unwrap_or_else(|| unreachable!("there are more numbers than lists"));
    let list = Closed {
        file,
        from: log.from,
        until: at,
    };
    log.closed.push(list.clone());
    log.from = at;
    list
}

/// Splits changes into lists that keep the limits of the protocol.
fn parts(entries: Vec<Entry>) -> Vec<Vec<Entry>> {
    let mut parts = vec![Vec::new()];
    let mut bytes = 0;
    for entry in entries {
        // At most five bytes for a character that has to be escaped, and the tags around it all.
        let note = entry.details.note.as_ref().map_or(0, String::len);
        let links: usize = entry.details.links.iter().map(|link| link.href.len()).sum();
        let size = 300 + 5 * (entry.loc.len() + note + links);
        let last = parts
            .last_mut()
            .unwrap_or_else(|| unreachable!("it begins with one"));
        if last.len() == MAX_ENTRIES || bytes + size > MAX_LIST_BYTES {
            bytes = 0;
            parts.push(Vec::new());
        }
        bytes += size;
        if let Some(last) = parts.last_mut() {
            last.push(entry);
        }
    }
    parts
}

/// The documents of one collection.
struct Documents<'a> {
    site: &'a Site,
    folder: &'a str,
}

impl Documents<'_> {
    fn address(&self, file: &str) -> String {
        self.site.address_of(&in_log(self.folder, file))
    }

    fn up(&self) -> Link {
        Link::new("up", self.address(CAPABILITY_LIST))
    }

    fn capability_list(&self, log: &Log) -> Document {
        let list = if log.closed.is_empty() {
            OPEN_LIST
        } else {
            INDEX
        };
        Document {
            capability: Capability::CapabilityList,
            links: vec![
                Link::new("up", self.site.address_of(ENTRY_POINT)),
                Link::new("describes", identity(self.site, self.folder)),
                described_by(self.site),
            ],
            entries: vec![Entry {
                loc: self.address(list),
                capability: Some(Capability::ChangeList),
                ..Entry::default()
            }],
            ..Document::default()
        }
    }

    fn open_list(&self, log: &Log) -> Document {
        let index = (!log.closed.is_empty()).then(|| Link::new("index", self.address(INDEX)));
        Document {
            capability: Capability::ChangeList,
            from: Some(log.from),
            links: [self.up()].into_iter().chain(index).collect(),
            entries: log.open.clone(),
            ..Document::default()
        }
    }

    fn closed_list(&self, list: &Closed, entries: Vec<Entry>) -> Document {
        Document {
            capability: Capability::ChangeList,
            from: Some(list.from),
            until: Some(list.until),
            links: vec![self.up(), Link::new("index", self.address(INDEX))],
            entries,
            ..Document::default()
        }
    }

    fn index(&self, log: &Log) -> Document {
        let open = (OPEN_LIST, log.from, None);
        let closed =
            (log.closed.iter()).map(|list| (list.file.as_str(), list.from, Some(list.until)));
        let entries = closed.chain([open]).map(|(file, from, until)| Entry {
            loc: self.address(file),
            from: Some(from),
            until,
            ..Entry::default()
        });
        Document {
            capability: Capability::ChangeList,
            is_index: true,
            from: Some(log.closed.first().map_or(log.from, |list| list.from)),
            links: vec![self.up()],
            entries: entries.collect(),
            ..Document::default()
        }
    }
}

/// The address that identifies a collection.
fn identity(site: &Site, folder: &str) -> String {
    match folder {
        "" => site.url.to_string(),
        folder => format!("{}/", site.address_of(folder)),
    }
}

fn described_by(site: &Site) -> Link {
    Link::new(
        "describedby",
        site.address_of(&format!("{OWN_FOLDER}/{ABOUT}")),
    )
}

fn source_description(site: &Site, listed: &[String]) -> Document {
    let entry = |folder: &String| Entry {
        loc: site.address_of(&in_log(folder, CAPABILITY_LIST)),
        capability: Some(Capability::CapabilityList),
        details: Details {
            links: vec![
                Link::new("describes", identity(site, folder)),
                described_by(site),
            ],
            ..Details::default()
        },
        ..Entry::default()
    };
    Document {
        capability: Capability::Description,
        links: vec![described_by(site)],
        entries: listed.iter().map(entry).collect(),
        ..Document::default()
    }
}

/// What the site and its collections are called, and by whom they are made.
fn describe(site: &Site, listed: &[String]) -> String {
    let mut things = vec![(site.url.to_string(), site.about.clone())];
    let named = (site.collections.iter()).filter(|own| listed.contains(&own.folder));
    things.extend(named.map(|collection| {
        let inherited = About {
            authors: site.about.authors.clone(),
            rights: site.about.rights.clone(),
            language: site.about.language.clone(),
            ..About::default()
        };
        let about = collection.about.clone().or(inherited);
        (identity(site, &collection.folder), about)
    }));
    about::write(
        things
            .iter()
            .map(|(address, about)| (address.as_str(), about)),
    )
}
