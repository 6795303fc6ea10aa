//! Sections that share pages, break and are mended in any order, beside plain entries that have what they like: whatever
//! happens, the site tells each state of a page once, calls no page gone that is anywhere, and misses nothing that a
//! section has.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::Config;
use tokio::runtime::Runtime;

use super::offering::Offering;

const SECTIONS: [&str; 2] = ["blog", "news"];
/// Few, so that they meet.
const PAGES: usize = 4;
/// After so many checks the plain entries count.
const PATIENCE: usize = 3;

#[derive(Debug, Clone)]
enum Doing {
    Put(usize, usize),
    TakeOut(usize, usize),
    List(usize),
    Unlist(usize),
    Edit(usize),
    Break(usize),
    Mend(usize),
}

fn doing() -> impl Strategy<Value = Doing> {
    let (page, section) = (0..PAGES, 0..SECTIONS.len());
    prop_oneof![
        3 => (page.clone(), section.clone()).prop_map(|(page, section)| Doing::Put(page, section)),
        2 => (page.clone(), section.clone()).prop_map(|(page, section)| Doing::TakeOut(page, section)),
        2 => page.clone().prop_map(Doing::List),
        1 => page.clone().prop_map(Doing::Unlist),
        2 => page.prop_map(Doing::Edit),
        2 => section.clone().prop_map(Doing::Break),
        1 => section.prop_map(Doing::Mend),
    ]
}

struct Site {
    offering: Offering,
    checks: usize,
    modified: [String; PAGES],
    sections: [BTreeSet<usize>; SECTIONS.len()],
    /// What was last read of each section.
    read: [BTreeSet<usize>; SECTIONS.len()],
    /// How many checks in a row could not read it.
    failed: [usize; SECTIONS.len()],
    is_broken: [bool; SECTIONS.len()],
    plain: BTreeSet<usize>,
    /// For each page the times that were told since it was last gone.
    told: BTreeMap<String, BTreeSet<String>>,
}

impl Site {
    async fn new() -> Site {
        Site {
            offering: Offering::new(&[]).await,
            checks: 0,
            modified: [0, 1, 2, 3].map(|page| format!("2026-02-{:02}T00:00:00Z", page + 1)),
            sections: [BTreeSet::from([0, 1]), BTreeSet::from([1, 2])],
            read: [BTreeSet::new(), BTreeSet::new()],
            failed: [0, 0],
            is_broken: [false, false],
            plain: BTreeSet::from([0, 1, 2]),
            told: BTreeMap::new(),
        }
    }

    fn apply(&mut self, doing: &Doing, minute: usize) {
        match *doing {
            Doing::Put(page, section) => drop(self.sections[section].insert(page)),
            Doing::TakeOut(page, section) => drop(self.sections[section].remove(&page)),
            Doing::List(page) => drop(self.plain.insert(page)),
            Doing::Unlist(page) => drop(self.plain.remove(&page)),
            Doing::Edit(page) => {
                // Some time before the next check.
                let day = chrono::NaiveDate::from_ymd_opt(2026, 3, 11).unwrap();
                let day = day + chrono::Days::new(self.checks as u64);
                self.modified[page] = format!("{day}T{:02}:{minute:02}:00Z", 2 + 2 * page);
            }
            Doing::Break(section) => self.is_broken[section] = true,
            Doing::Mend(section) => self.is_broken[section] = false,
        }
    }

    async fn check(&mut self) -> Result<(), TestCaseError> {
        for (place, name) in SECTIONS.into_iter().enumerate() {
            // One that stays, so that no list is ever empty.
            let steady = format!("/{name} 2026-01-0{}", place + 1);
            let pages = self.written(&self.sections[place]);
            let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
            self.offering
                .section(name, &[&pages[..], &[&steady]].concat());
            match self.is_broken[place] {
                true => {
                    self.offering.break_section(name);
                    self.failed[place] += 1;
                }
                false => {
                    self.offering.mend(name);
                    self.failed[place] = 0;
                    self.read[place].clone_from(&self.sections[place]);
                }
            }
        }
        let plain = self.written(&self.plain);
        let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
        self.offering.plain(&[&plain[..], &["/about"]].concat());
        self.checks += 1;
        let told = self.offering.check().await;
        let is_plain_read = self.failed.iter().any(|failed| *failed > PATIENCE);
        for change in told.get("site").into_iter().flatten() {
            let words: Vec<&str> = change.split(' ').collect();
            let [kind, path, time] = words[..] else {
                return Err(TestCaseError::fail(change.clone()));
            };
            let times = self.told.entry(path.to_owned()).or_default();
            if kind == "deleted" {
                let is_there = (0..PAGES).any(|page| {
                    let is_listed = is_plain_read && self.plain.contains(&page);
                    let is_in_section = self.read.iter().any(|read| read.contains(&page));
                    path == path_of(page) && (is_listed || is_in_section)
                });
                prop_assert!(!is_there, "{} although it is there", change);
                times.clear();
            } else {
                let is_first = times.insert(time.to_owned());
                prop_assert!(is_first, "{} again", change);
            }
        }
        Ok(())
    }

    fn written(&self, pages: &BTreeSet<usize>) -> Vec<String> {
        let written = |page: &usize| format!("{} {}", path_of(*page), self.modified[*page]);
        pages.iter().map(written).collect()
    }

    /// When all can be read, all that the sections have was told, as it is.
    async fn settle(&mut self) -> Result<(), TestCaseError> {
        self.is_broken = [false, false];
        for _ in 0..3 {
            self.check().await?;
        }
        for page in self.sections.iter().flatten() {
            let (path, modified) = (path_of(*page), &self.modified[*page]);
            let is_told = self
                .told
                .get(&path)
                .is_some_and(|times| times.contains(modified));
            prop_assert!(
                is_told,
                "{} {} was not told: {:?}",
                path,
                modified,
                self.told
            );
        }
        Ok(())
    }
}

fn path_of(page: usize) -> String {
    format!("/p{page}")
}

/// What happens between one check and the next, from the first one on.
async fn tell(is_broken: [bool; 2], history: &[Vec<Doing>]) -> Result<(), TestCaseError> {
    let mut site = Site::new().await;
    site.is_broken = is_broken;
    site.check().await?;
    for (minute, doings) in history.iter().enumerate() {
        doings.iter().for_each(|doing| site.apply(doing, minute));
        site.check().await?;
    }
    site.settle().await
}

proptest! {
    #![proptest_config(Config::with_cases(48))]

    #[test]
    fn the_site_tells_each_page_of_its_sections_once_whatever_breaks(
        history in prop::collection::vec(prop::collection::vec(doing(), 0..3), 1..16),
    ) {
        Runtime::new().unwrap().block_on(tell([false, false], &history))?;
    }

    #[test]
    fn the_site_tells_each_page_once_if_a_section_could_never_be_read(
        history in prop::collection::vec(prop::collection::vec(doing(), 0..3), 1..16),
        first in 0..SECTIONS.len(),
    ) {
        let is_broken = [0, 1].map(|section| section == first);
        Runtime::new().unwrap().block_on(tell(is_broken, &history))?;
    }
}
