//! Any two lists, one after the other, as readings of one site: whatever they are, what they tell comes to an end. A
//! second reading of a list may find that pages are gone for good, a third one finds nothing.
//!
//! What comes before the line `---` is the first list, and what follows it the second.
#![no_main]

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use sitebell::change::{Change, Page};
use sitebell::memory::{KnownPage, KnownPages, ListState, PageKey, Sheet, Sighted, part_of};
use sitebell::moment::Moment;
use sitebell::problem::Problems;
use sitebell::read::list::{Hosts, MAX_UNPACKED_BYTES, Sink, read};
use sitebell::track::pages::{ListFinding, plan};
use url::Url;

const BETWEEN: &[u8] = b"\n---\n";

/// What a store would keep.
struct Kept {
    pages: BTreeMap<PageKey, (KnownPage, String)>,
    state: Option<ListState>,
    /// How many readings there were, one a day.
    days: u32,
}

impl Kept {
    /// What a reading of this document announces; none if it cannot be read.
    fn read(&mut self, mut bytes: &[u8]) -> Option<Vec<Change>> {
        let url: Url = "https://s.example/list".parse().expect("an address");
        let mut known = KnownPages::default();
        self.pages.values().for_each(|(page, _)| known.push(*page));
        let known = Arc::new(known);
        let mut sheet = Sheet::new(known.clone());
        let mut problems = Problems::default();
        let mut each = |page: &Page| sheet.add(page);
        let mut sink = Sink {
            url: &url,
            max_unpacked_bytes: MAX_UNPACKED_BYTES,
            problems: &mut problems,
            each: &mut each,
        };
        let list = read(&mut bytes, &Hosts::of([&url]), &mut sink).ok()?.1;
        let mut sighted = Sighted::new(known);
        sighted.take(sheet, part_of(url.as_str()), list.is_window);
        sighted.settle();
        let finding = ListFinding {
            sighted,
            is_complete: true,
            titles: None,
            made_at: list.made_at.and_then(|text| text.parse().ok()),
            besides: None,
            document: url,
        };
        self.days += 1;
        let now = Moment::parse(&format!("2026-03-{:02}", self.days)).expect("a day").start();
        let plan = plan(self.state.as_ref(), finding, now);
        let wanted = plan.wanted().into_iter();
        let urls = wanted.map(|key| (key, self.pages[&key].1.clone())).collect();
        let tracked = plan.finish(None, &urls);
        for key in tracked.writes.remove.iter().chain(&tracked.writes.forget) {
            self.pages.remove(key).expect("what is removed was there");
        }
        for page in &tracked.writes.update {
            self.pages.get_mut(&page.key).expect("what is updated is there").0 = *page;
        }
        let added = &tracked.writes.insert;
        for place in 0..added.len() {
            let page = added.known(place);
            let before = self.pages.insert(page.key, (page, added.url(place).to_owned()));
            assert!(before.is_none(), "what is added was not there");
        }
        self.state = Some(tracked.state);
        let entries = tracked.entries.into_iter();
        Some(entries.flat_map(|entry| entry.changes).collect())
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some(middle) = bytes.windows(BETWEEN.len()).position(|window| window == BETWEEN) else {
        return;
    };
    let (first, second) = (&bytes[..middle], &bytes[middle + BETWEEN.len()..]);
    let mut kept = Kept {
        pages: BTreeMap::new(),
        state: None,
        days: 0,
    };
    kept.read(first);
    let Some(changes) = kept.read(second) else {
        return;
    };
    let told: HashSet<_> = changes.iter().map(|change| (&change.url, change.kind)).collect();
    assert_eq!(told.len(), changes.len(), "told twice at once: {changes:?}");
    kept.read(second);
    assert_eq!(kept.read(second), Some(Vec::new()), "told again");
});
