//! Any history of a folder: the documents tell exactly what happened, across closings and restarts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;
use sitebell::problem::Problems;
use sitebell::publish::folder::{Found, FoundPage, PageHash, Prints};
use sitebell::publish::manifest::Manifest;
use sitebell::publish::notes::Notes;
use sitebell::publish::plan::{Plan, plan};
use sitebell::publish::state::State;
use sitebell::publish::{Collection, Site, sitemap};
use sitebell::read::resourcesync::{Entry, ReadingRules, read};
use url::Url;

use super::about;
use crate::den::NOW;

const SITE: &str = "https://fox.example/den/";

/// What the folder has at one time: for each page what it says, by a number; how long it took to get there; and what its
/// author says about it.
type Step = (BTreeMap<u16, u8>, i64, Option<u8>);

fn any_step() -> impl Strategy<Value = Step> {
    let few = prop::collection::btree_map(0u16..8, 0u8..6, 0..8);
    let many = (0u8..4, 0u16..1_300)
        .prop_map(|(says, pages)| (0..pages).map(|page| (page, says)).collect());
    (
        prop_oneof![3 => few, 1 => many],
        prop_oneof![Just(0), -90i64..90_000],
        prop::option::of(0u8..3),
    )
}

fn site() -> Site {
    Site {
        url: SITE.parse().unwrap(),
        about: about("Den"),
        collections: vec![Collection::new("odd", about("Odd"))],
    }
}

fn address(page: u16) -> String {
    match page % 2 {
        1 => format!("odd/{page}.html"),
        _ => format!("{page}.html"),
    }
}

fn found(pages: &BTreeMap<u16, u8>) -> Found {
    let page = |(page, says): (&u16, &u8)| {
        // Pages that say the same can be taken for each other when one of them moves.
        let hash = PageHash(u128::from(*says).to_be_bytes());
        (
            address(*page),
            FoundPage {
                path: PathBuf::new(),
                prints: Prints {
                    bytes: hash,
                    words: hash,
                },
            },
        )
    };
    Found {
        pages: pages.iter().map(page).collect(),
        ..Found::default()
    }
}

/// The model of moving: where exactly one page that is gone said what exactly one that is new says.
fn moved(before: &BTreeMap<u16, u8>, now: &BTreeMap<u16, u8>) -> BTreeMap<u16, u16> {
    let only = |one: &BTreeMap<u16, u8>, other: &BTreeMap<u16, u8>, says: u8| {
        let pages = one
            .iter()
            .filter(|(page, own)| **own == says && !other.contains_key(page));
        let pages: Vec<u16> = pages.map(|(page, _)| *page).collect();
        <[u16; 1]>::try_from(pages).ok().map(|[page]| page)
    };
    let mut moved = BTreeMap::new();
    for says in 0..6 {
        if let (Some(gone), Some(came)) = (only(before, now, says), only(now, before, says)) {
            moved.extend([(gone, came), (came, gone)]);
        }
    }
    moved
}

/// The folder on the host.
type Files = BTreeMap<String, String>;

/// Reads everything again from the files alone, as a new run does.
fn state(files: &Files) -> State {
    let manifest = Manifest::parse(files["sitebell/manifest.json"].as_bytes()).unwrap();
    let open = (manifest.files())
        .map(|(folder, list, closed)| {
            assert!(closed.iter().all(|file| files.contains_key(file)));
            (folder.to_owned(), files[&list].clone().into_bytes())
        })
        .collect();
    manifest.into_state(open, true).unwrap()
}

/// Follows a Capability List down to every change.
fn changes(files: &Files, list: &str) -> Vec<String> {
    let (document, _) = read_document(files, list);
    let (changes, told) = read_document(files, &document[0].loc);
    if !told.is_empty() || changes.is_empty() {
        return told;
    }
    (changes.iter())
        .flat_map(|child| read_document(files, &child.loc).1)
        .collect()
}

fn read_document(files: &Files, address: &str) -> (Vec<Entry>, Vec<String>) {
    let path = address.strip_prefix(SITE).unwrap();
    let url: Url = address.parse().unwrap();
    let (mut problems, mut told) = (Problems::default(), Vec::new());
    let mut each = |entry: &Entry| {
        let (kind, datetime) = (entry.change.unwrap(), entry.datetime.unwrap());
        let mut line = format!("{kind} {} {datetime}", &entry.loc[SITE.len()..]);
        for link in &entry.details.links {
            line += &format!(" {} {}", link.rel, &link.href[SITE.len()..]);
        }
        line += &entry
            .details
            .note
            .as_ref()
            .map_or_else(String::new, |note| format!(": {note}"));
        told.push(line);
    };
    let text = files[path].as_bytes();
    let reading = read(
        text,
        &url,
        ReadingRules::default(),
        &mut problems,
        &mut each,
    )
    .unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    assert!(told.len() <= 50_000);
    (reading.document.entries, told)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn what_is_published_is_read_back_as_it_happened(steps in prop::collection::vec(any_step(), 1..12)) {
        let site = site();
        let mut now: DateTime<Utc> = NOW.parse().unwrap();
        let mut files = Files::new();
        let mut before: BTreeMap<u16, u8> = BTreeMap::new();
        let mut history: [Vec<String>; 2] = Default::default();
        let mut newest = None;
        for (pages, pause, note) in steps {
            let note = note.map(|note| format!("<{note}> & more"));
            let notes = note.as_deref().map(Notes::general).unwrap_or_default();
            now += TimeDelta::seconds(pause);
            let known = (!files.is_empty()).then(|| state(&files));
            let Plan { files: new, told, .. } = plan(&site, known.as_ref(), &found(&pages), &notes, now);
            files.extend(new);
            // The model: what is told, in the order of the addresses, at a time that nothing was told at before.
            let after = |newest: DateTime<Utc>| newest + TimeDelta::seconds(1);
            let at = newest.map_or(now, |newest| now.max(after(newest)));
            let mut count = 0;
            let all: std::collections::BTreeSet<u16> = before.keys().chain(pages.keys()).copied().collect();
            let moved = moved(&before, &pages);
            let mut happened: Vec<(String, &str, usize, String)> = Vec::new();
            for page in all {
                let kind = match (before.get(&page), pages.get(&page)) {
                    (None, Some(_)) => "created",
                    (Some(_), None) => "deleted",
                    (Some(one), Some(other)) if one != other => "updated",
                    _ => continue,
                };
                count += 1;
                let other = moved.get(&page).map(|other| match kind {
                    "deleted" => format!(" successor-version {}", address(*other)),
                    _ => format!(" predecessor-version {}", address(*other)),
                });
                happened.push((address(page), kind, usize::from(page % 2), other.unwrap_or_default()));
            }
            happened.sort();
            for (page, kind, collection, other) in happened {
                let note = note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
                history[collection].push(format!("{kind} {page} {}{other}{note}", at.format("%FT%TZ")));
            }
            prop_assert_eq!(told.len(), count);
            if count > 0 || newest.is_none() {
                newest = Some(at);
            }
            before = pages;
            for (list, history) in [("capabilitylist.xml", &history[0]), ("odd/capabilitylist.xml", &history[1])] {
                if files.contains_key(&format!("sitebell/{list}")) {
                    prop_assert_eq!(&changes(&files, &format!("{SITE}sitebell/{list}")), history);
                } else {
                    prop_assert!(history.is_empty());
                }
            }
            // A run with nothing new plans what is there already.
            let again = plan(&site, Some(&state(&files)), &found(&before), &Notes::default(), now + TimeDelta::days(1));
            prop_assert!(again.told.is_empty());
            prop_assert!(again.files.iter().all(|(path, text)| files.get(path) == Some(text)));
        }
    }
}

/// Publishes pages for the first time, and returns what was written.
fn published(pages: u16, times: u16, notes: &Notes) -> Files {
    let mut all = Found::default();
    for part in 0..times {
        let one = found(&(0..pages).map(|page| (page, 0)).collect());
        let named = one.pages.into_iter();
        (all.pages).extend(named.map(|(address, page)| (format!("{part}/{address}"), page)));
    }
    let now = NOW.parse().unwrap();
    plan(&site(), None, &all, notes, now).files
}

#[test]
fn no_list_has_more_entries_than_the_protocol_allows() {
    let files = published(25_001, 4, &Notes::default());
    let list = format!("{SITE}sitebell/capabilitylist.xml");
    // Each list is held to the limit where it is read.
    assert_eq!(changes(&files, &list).len(), 4 * 25_001);
    let lists = files
        .keys()
        .filter(|file| file.contains("/changelist-2026"));
    assert_eq!(lists.count(), 3);
}

#[test]
fn no_list_is_larger_than_the_protocol_allows() {
    // Nothing takes more room than what has to be escaped.
    let files = published(6_000, 1, &Notes::general(&"&".repeat(2_000)));
    let list = format!("{SITE}sitebell/capabilitylist.xml");
    assert_eq!(changes(&files, &list).len(), 6_000);
    let sizes: Vec<usize> = files.values().map(String::len).collect();
    assert!(sizes.iter().sum::<usize>() > 50_000_000, "{sizes:?}");
    assert!(sizes.iter().all(|size| *size <= 50_000_000), "{sizes:?}");
}

/// The sitemap of pages with addresses of this length.
fn sitemap(pages: usize, chars: usize) -> Vec<(String, String)> {
    let mut all = Found::default();
    let one = found(&BTreeMap::from([(0, 0)]))
        .pages
        .remove("0.html")
        .unwrap();
    for page in 0..pages {
        (all.pages).insert(format!("{page:0chars$}"), one.clone());
    }
    let now = NOW.parse().unwrap();
    let state = plan(&site(), None, &all, &Notes::default(), now).state;
    sitemap::write(&site(), &state)
}

#[test]
fn no_sitemap_has_more_pages_or_bytes_than_the_protocol_allows() {
    let locs = |text: &str| text.matches("<loc>").count();
    for (pages, chars, files) in [(50_000, 8, 1), (50_001, 8, 7), (30_000, 1_900, 9)] {
        let sitemap = sitemap(pages, chars);
        assert_eq!(sitemap.len(), files, "{pages} pages of {chars} characters");
        assert!(sitemap.iter().all(|(_, text)| text.len() < 50_000_000));
        let (name, last) = sitemap.last().unwrap();
        assert_eq!(name, "sitemap.xml");
        if files == 1 {
            assert_eq!(locs(last), pages);
            continue;
        }
        assert!(last.contains("<sitemapindex "), "{last}");
        let parts = &sitemap[..files - 1];
        for (name, text) in parts {
            assert!(last.contains(&format!("<loc>{SITE}{name}</loc>")), "{last}");
            assert!(locs(text) <= 10_000);
        }
        let all: usize = parts.iter().map(|(_, text)| locs(text)).sum();
        assert_eq!((locs(last), all), (files - 1, pages));
    }
}
