//! Histories of a site that lists its pages, rule by rule, and then any history against a model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::change::Page;
use crate::memory::{KnownPages, Sheet, part_of};

/// What a store would keep.
#[derive(Default)]
struct Kept {
    pages: BTreeMap<PageKey, (KnownPage, String)>,
    state: Option<ListState>,
}

/// One document of a list, and how reading it goes.
enum Doc<'a> {
    Pages(&'a [Page]),
    News(&'a [Page]),
    Unchanged,
    Fails,
}

impl Kept {
    fn read(&mut self, docs: &[(&str, Doc<'_>)], now: &str) -> TrackedPages {
        let mut known = KnownPages::default();
        for (page, _) in self.pages.values() {
            known.push(*page);
        }
        let known = Arc::new(known);
        let mut sighted = Sighted::new(known.clone());
        let mut is_complete = true;
        for (name, doc) in docs {
            let part = part_of(name);
            match doc {
                Doc::Pages(pages) | Doc::News(pages) => {
                    let mut sheet = Sheet::new(known.clone());
                    pages.iter().for_each(|page| sheet.add(page));
                    sighted.take(sheet, part, matches!(doc, Doc::News(_)));
                }
                Doc::Unchanged => sighted.take_unchanged(part),
                Doc::Fails => {
                    is_complete = false;
                    sighted.miss(part);
                }
            }
        }
        sighted.settle();
        let finding = ListFinding {
            sighted,
            is_complete,
            made_at: None,
            titles: None,
            besides: None,
            document: "https://fox.example/sitemap.xml".parse().unwrap(),
        };
        let plan = plan(self.state.as_ref(), finding, time(now));
        let urls = (plan.wanted().into_iter())
            .map(|key| (key, self.pages[&key].1.clone()))
            .collect();
        let tracked = plan.finish(None, &urls);
        for key in tracked.writes.remove.iter().chain(&tracked.writes.forget) {
            assert!(
                self.pages.remove(key).is_some(),
                "what is removed was there"
            );
        }
        for page in &tracked.writes.update {
            self.pages
                .get_mut(&page.key)
                .expect("what is updated is there")
                .0 = *page;
        }
        for place in 0..tracked.writes.insert.len() {
            let page = tracked.writes.insert.known(place);
            let url = tracked.writes.insert.url(place).to_owned();
            assert!(
                self.pages.insert(page.key, (page, url)).is_none(),
                "what is added was not there"
            );
        }
        self.state = Some(tracked.state.clone());
        tracked
    }

    /// Reads one document and says what was announced.
    fn one(&mut self, pages: &[Page], now: &str) -> Vec<String> {
        told(&self.read(&[("a", Doc::Pages(pages))], now))
    }
}

fn told(tracked: &TrackedPages) -> Vec<String> {
    let changes = tracked.entries.iter().flat_map(|entry| &entry.changes);
    let words = changes.map(|change| {
        let basis = if change.details.is_inferred {
            "inferred"
        } else {
            "stated"
        };
        let path = change
            .url
            .strip_prefix("https://fox.example/")
            .unwrap_or(&change.url);
        format!("{} {path} {} {basis}", change.kind, change.datetime)
    });
    words.collect()
}

fn codes(tracked: &TrackedPages) -> Vec<Code> {
    tracked
        .problems
        .iter()
        .map(|problem| problem.code)
        .collect()
}

fn time(text: &str) -> DateTime<Utc> {
    Moment::parse(text).unwrap().start()
}

fn page(path: &str, lastmod: &str) -> Page {
    Page {
        url: format!("https://fox.example/{path}"),
        lastmod: (!lastmod.is_empty()).then(|| Moment::parse(lastmod).unwrap()),
        ..Page::default()
    }
}

fn numbered(count: usize, lastmod: &str) -> Vec<Page> {
    (0..count)
        .map(|n| page(&format!("p{n}"), lastmod))
        .collect()
}

/// Pages with a day of January each.
fn dated(count: usize) -> Vec<Page> {
    (0..count)
        .map(|n| page(&format!("p{n}"), &format!("2026-01-{:02}", n % 28 + 1)))
        .collect()
}

const DAY1: &str = "2026-03-01T00:00:00Z";
const DAY2: &str = "2026-03-02T00:00:00Z";
const DAY3: &str = "2026-03-03T00:00:00Z";
const DAY4: &str = "2026-03-04T00:00:00Z";

#[test]
fn the_first_reading_lists_the_pages_that_changed_last() {
    let mut kept = Kept::default();
    let mut tracked = kept.read(&[("a", Doc::Pages(&dated(28)))], DAY1);
    let told = told(&tracked);
    assert_eq!(told.len(), SHOWN_PAGES);
    assert_eq!(told.last().unwrap(), "updated p27 2026-01-28 stated");
    let entry = tracked.entries.remove(0);
    assert_eq!(entry.updated_at, time("2026-01-28"));
    assert!(entry.note.unwrap().contains("28 pages"));
    assert_eq!(kept.pages.len(), 28);
    assert_eq!(kept.one(&dated(28), DAY2), [] as [String; 0]);
}

#[test]
fn a_site_without_dates_starts_with_some_of_its_pages() {
    let tracked = Kept::default().read(&[("a", Doc::Pages(&numbered(3, "")))], DAY1);
    assert_eq!(
        told(&tracked)[0],
        "created p0 2026-03-01T00:00:00Z inferred"
    );
    let note = tracked.entries[0].note.as_ref().unwrap();
    assert!(note.contains("without dates"));
    let empty = Kept::default().read(&[("a", Doc::Pages(&[]))], DAY1);
    assert_eq!(empty.entries, []);
}

#[test]
fn a_new_page_an_edit_and_a_deletion_are_announced_once() {
    let mut kept = Kept::default();
    kept.one(&dated(6), DAY1);
    let mut pages = dated(6);
    pages[1] = page("p1", "2026-03-01T10:00:00Z");
    pages.push(page("new", "2026-03-01"));
    pages.remove(0);
    assert_eq!(
        kept.one(&pages, DAY2),
        [
            "created new 2026-03-01 inferred",
            "updated p1 2026-03-01T10:00:00Z stated"
        ]
    );
    assert_eq!(
        kept.one(&pages, DAY3),
        ["deleted p0 2026-03-03T00:00:00Z inferred"]
    );
    assert_eq!(kept.one(&pages, DAY4), [] as [String; 0]);
    assert_eq!(kept.pages.len(), 6);
}

#[test]
fn a_page_that_comes_back_in_time_was_never_gone() {
    let mut kept = Kept::default();
    kept.one(&dated(6), DAY1);
    assert_eq!(kept.one(&dated(5), DAY2), [] as [String; 0]);
    assert_eq!(kept.one(&dated(6), DAY3), [] as [String; 0]);
    assert_eq!(
        kept.one(&dated(5), DAY4),
        [] as [String; 0],
        "it must be missing twice in a row"
    );
}

#[test]
fn nothing_is_deleted_while_a_part_cannot_be_read() {
    let mut kept = Kept::default();
    let (a, b) = (dated(6), [page("b/1", "2026-01-01")]);
    kept.read(&[("a", Doc::Pages(&a)), ("b", Doc::Pages(&b))], DAY1);
    for day in [DAY2, DAY3, DAY4] {
        let shorter = kept.read(&[("a", Doc::Pages(&a[1..])), ("b", Doc::Fails)], day);
        assert_eq!(told(&shorter), [] as [String; 0]);
    }
    let whole = [("a", Doc::Pages(&a[1..])), ("b", Doc::Unchanged)];
    assert_eq!(told(&kept.read(&whole, DAY4)), [] as [String; 0]);
    assert_eq!(told(&kept.read(&whole, DAY4)).len(), 1);
}

#[test]
fn a_part_that_vanishes_from_the_index_takes_its_pages_with_it() {
    let mut kept = Kept::default();
    let (a, b) = (dated(6), [page("b/1", "2026-01-01")]);
    kept.read(&[("a", Doc::Pages(&a)), ("b", Doc::Pages(&b))], DAY1);
    assert_eq!(kept.one(&a, DAY2), [] as [String; 0]);
    assert_eq!(
        kept.one(&a, DAY3),
        ["deleted b/1 2026-03-03T00:00:00Z inferred"]
    );
}

#[test]
fn a_page_that_moves_between_parts_is_unchanged() {
    let mut kept = Kept::default();
    let (a, b) = (dated(6), [page("b/1", "2026-01-01")]);
    kept.read(&[("a", Doc::Pages(&a)), ("b", Doc::Pages(&b))], DAY1);
    let b = [b[0].clone(), a[5].clone()];
    let moved = kept.read(&[("a", Doc::Pages(&a[..5])), ("b", Doc::Pages(&b))], DAY2);
    assert_eq!(told(&moved), [] as [String; 0]);
    // From now on it is the second part that speaks for it.
    let parts = [("a", Doc::Pages(&a[..5])), ("b", Doc::Unchanged)];
    for day in [DAY3, DAY4] {
        assert_eq!(told(&kept.read(&parts, day)), [] as [String; 0]);
    }
}

#[test]
fn pages_of_a_part_that_was_never_read_are_not_new_when_it_is() {
    let mut kept = Kept::default();
    let (a, b) = (dated(6), [page("b/1", "2026-01-01")]);
    kept.read(&[("a", Doc::Pages(&a)), ("b", Doc::Fails)], DAY1);
    kept.read(&[("a", Doc::Unchanged), ("b", Doc::Fails)], DAY2);
    let both = kept.read(&[("a", Doc::Unchanged), ("b", Doc::Pages(&b))], DAY3);
    assert_eq!(told(&both), [] as [String; 0]);
    let b = [b[0].clone(), page("b/2", "2026-03-03")];
    let both = kept.read(&[("a", Doc::Unchanged), ("b", Doc::Pages(&b))], DAY4);
    assert_eq!(told(&both), ["created b/2 2026-03-03 inferred"]);
}

#[test]
fn an_address_in_another_spelling_is_the_same_page() {
    let mut kept = Kept::default();
    let urls = |make: &dyn Fn(usize) -> String| -> Vec<Page> {
        let page = |n| Page {
            url: make(n),
            ..page("", &format!("2026-01-{:02}", n + 1))
        };
        (0..25).map(page).collect()
    };
    kept.one(&urls(&|n| format!("https://fox.example/p{n}/")), DAY1);
    for make in [
        &|n: usize| format!("https://fox.example/p{n}") as String,
        &|n| format!("http://www.fox.example/p{n}.html"),
        &|n| format!("https://fox.example/p{n}/index.html"),
    ] as [&dyn Fn(usize) -> String; 3]
    {
        assert_eq!(kept.one(&urls(make), DAY2), [] as [String; 0]);
        assert_eq!(kept.one(&urls(make), DAY3), [] as [String; 0]);
        assert_eq!(kept.pages.len(), 25);
    }
}

#[test]
fn two_spellings_that_are_both_listed_are_two_pages() {
    let mut kept = Kept::default();
    let mut pages = dated(6);
    pages.push(page("p1.html", "2026-01-01"));
    kept.one(&pages, DAY1);
    pages[1] = page("p1", "2026-03-01");
    assert_eq!(kept.one(&pages, DAY2), ["updated p1 2026-03-01 stated"]);
    pages.remove(1);
    kept.one(&pages, DAY3);
    assert_eq!(
        kept.one(&pages, DAY4),
        ["deleted p1 2026-03-04T00:00:00Z inferred"]
    );
}

#[test]
fn dates_of_a_build_tell_no_edits() {
    let mut kept = Kept::default();
    let first = kept.read(
        &[("a", Doc::Pages(&numbered(8, "2026-02-01T00:00:00Z")))],
        DAY1,
    );
    assert_eq!(codes(&first), [Code::StampedLastmod]);
    let mut pages = numbered(9, "2026-03-02T00:00:00Z");
    pages[3] = page("p3", "2026-03-01T23:59:59Z");
    let next = kept.read(&[("a", Doc::Pages(&pages))], "2026-03-02T01:00:00Z");
    assert_eq!(told(&next), ["created p8 2026-03-02T00:00:00Z inferred"]);
    assert_eq!(codes(&next), [Code::StampedLastmod]);
    assert!(next.state.is_stamped);
    // A document that has not changed says nothing new about its dates.
    let same = kept.read(&[("a", Doc::Unchanged)], DAY3);
    assert_eq!(codes(&same), [Code::StampedLastmod]);
    // One date that moves while the others stay is an edit after all.
    pages[5] = page("p5", "2026-03-03T12:00:00Z");
    let edit = kept.read(&[("a", Doc::Pages(&pages))], DAY4);
    assert_eq!(told(&edit), ["updated p5 2026-03-03T12:00:00Z stated"]);
    assert_eq!(codes(&edit), []);
}

#[test]
fn a_few_pages_may_all_change_at_once() {
    let mut kept = Kept::default();
    kept.one(&numbered(4, "2026-02-01"), DAY1);
    assert_eq!(kept.one(&numbered(4, "2026-03-01"), DAY2).len(), 4);
}

/// However few they are: a site whose pages are made when they are asked for says "just now" each time.
#[test]
fn dates_that_are_always_the_time_of_asking_tell_no_edits() {
    let mut kept = Kept::default();
    let made_at = |day: u8| {
        vec![
            page("a", &format!("2026-03-0{day}T11:59:58Z")),
            page("b", &format!("2026-03-0{day}T12:00:01.250Z")),
        ]
    };
    for day in 1..5 {
        let tracked = kept.read(
            &[("a", Doc::Pages(&made_at(day)))],
            &format!("2026-03-0{day}T12:00:00Z"),
        );
        assert_eq!(tracked.state.is_stamped, day > 1, "day {day}");
        if day > 1 {
            assert_eq!(told(&tracked), [] as [&str; 0], "day {day}");
            assert_eq!(codes(&tracked), [Code::StampedLastmod]);
        }
    }
    // Whoever edits all of a small site once, and has it read at once, has edited it.
    let mut kept = Kept::default();
    kept.one(&numbered(2, "2026-02-01T08:00:00Z"), DAY1);
    let edited = [
        page("p0", "2026-03-02T11:59:58Z"),
        page("p1", "2026-03-02T11:59:59Z"),
    ];
    assert_eq!(kept.one(&edited, "2026-03-02T12:00:00Z").len(), 2);
}

/// Its author tells of every deploy, so it is read within a minute of each.
#[test]
fn a_site_of_two_pages_that_is_read_after_each_of_its_edits_has_been_edited() {
    let mut kept = Kept::default();
    for day in 1..5 {
        let edited = [
            page("p0", &format!("2026-03-0{day}T11:59:10Z")),
            page("p1", &format!("2026-03-0{day}T11:59:20Z")),
        ];
        let told = kept.one(&edited, &format!("2026-03-0{day}T12:00:00Z"));
        assert_eq!(told.len(), 2, "day {day}");
    }
}

#[test]
fn a_large_part_of_a_site_is_announced_in_one_sentence() {
    let mut kept = Kept::default();
    kept.one(&dated(100), DAY1);
    let mut pages = dated(100);
    for (n, edited) in pages.iter_mut().enumerate().take(50) {
        *edited = page(
            &format!("p{n}"),
            &format!("2026-02-{:02}T{:02}:00:00Z", n % 28 + 1, n % 24),
        );
    }
    let mass = kept.read(&[("a", Doc::Pages(&pages))], DAY2);
    assert_eq!(told(&mass).len(), SHOWN_PAGES);
    assert_eq!(codes(&mass), [Code::MassChange]);
    let note = mass.entries[0].note.clone().unwrap();
    assert!(note.contains("of 100 pages, 50 changed"), "{note}");
    // All of it is known now.
    assert_eq!(kept.one(&pages, DAY3), [] as [String; 0]);
    // The same again within an hour is no edit, but a build that touches half of the pages.
    for (n, edited) in pages.iter_mut().enumerate().take(50) {
        *edited = page(&format!("p{n}"), &format!("2026-03-04T12:{n:02}:00Z"));
    }
    let again = kept.read(&[("a", Doc::Pages(&pages))], "2026-03-05T00:00:00Z");
    assert_eq!(told(&again), [] as [String; 0]);
    assert_eq!(codes(&again), [Code::StampedLastmod]);
}

#[test]
fn edits_of_many_pages_are_told_each_time_if_they_were_not_made_at_one_time() {
    let mut kept = Kept::default();
    kept.one(&dated(100), DAY1);
    let mut pages = dated(100);
    for day in [2, 3, 4] {
        for (n, edited) in pages.iter_mut().enumerate().take(50) {
            let hour = n % 12;
            *edited = page(
                &format!("p{n}"),
                &format!("2026-03-{day:02}T{hour:02}:00:00Z"),
            );
        }
        let now = format!("2026-03-{day:02}T13:00:00Z");
        let mass = kept.read(&[("a", Doc::Pages(&pages))], &now);
        assert_eq!(told(&mass).len(), SHOWN_PAGES, "day {day}");
        assert_eq!(codes(&mass), [Code::MassChange], "day {day}");
    }
}

#[test]
fn a_build_that_touches_many_pages_hides_no_edit_that_a_checksum_tells() {
    let mut kept = Kept::default();
    let with = |lastmod: &str, sum: &str| -> Vec<Page> {
        let mut pages = dated(60);
        for (n, page) in pages.iter_mut().enumerate().take(30) {
            page.lastmod = Some(Moment::parse(&format!("{lastmod}T12:{n:02}:00Z")).unwrap());
        }
        pages[59].hash = Some(sum.to_owned());
        pages
    };
    kept.one(&with("2026-02-01", "md5:a"), DAY1);
    kept.one(&with("2026-03-01", "md5:a"), DAY2);
    let build = kept.read(&[("a", Doc::Pages(&with("2026-03-02", "md5:b")))], DAY3);
    assert_eq!(told(&build), ["updated p59 2026-03-03T00:00:00Z inferred"]);
    assert_eq!(codes(&build), [Code::StampedLastmod]);
}

#[test]
fn a_list_that_empties_deletes_nothing() {
    let mut kept = Kept::default();
    kept.one(&dated(6), DAY1);
    for day in [DAY2, DAY3, DAY4] {
        let empty = kept.read(&[("a", Doc::Pages(&[]))], day);
        assert_eq!(
            (told(&empty), codes(&empty)),
            (vec![], vec![Code::EmptyList])
        );
    }
    assert_eq!(kept.one(&dated(6), DAY4), [] as [String; 0]);
}

#[test]
fn a_page_that_leaves_the_news_is_not_deleted() {
    let mut kept = Kept::default();
    let lasting = dated(6);
    let news = [page("n1", "2026-03-01"), page("n2", "2026-03-01")];
    kept.read(
        &[("a", Doc::Pages(&lasting)), ("n", Doc::News(&news))],
        DAY1,
    );
    // One of them is in the archive now, the other is nowhere.
    let mut archive = lasting.clone();
    archive.push(news[0].clone());
    for day in [DAY2, DAY3] {
        let read = kept.read(&[("a", Doc::Pages(&archive)), ("n", Doc::News(&[]))], day);
        assert_eq!(told(&read), [] as [String; 0]);
    }
    // What passed by is remembered, should it come again.
    assert_eq!(kept.pages.len(), 8);
    kept.one(&lasting, DAY3);
    assert_eq!(
        kept.one(&lasting, DAY4),
        ["deleted n1 2026-03-04T00:00:00Z inferred"]
    );
}

#[test]
fn a_page_that_enters_the_news_again_is_not_new() {
    let mut kept = Kept::default();
    let post = |n: usize, lastmod: &str| page(&format!("n{n}"), lastmod);
    let news = |from: usize| -> Vec<Page> {
        (from..from + 3)
            .map(|n| post(n, &format!("2026-02-{n:02}")))
            .collect()
    };
    kept.read(&[("n", Doc::News(&news(1)))], DAY1);
    for (from, day) in [(4, DAY2), (7, DAY3), (10, DAY4)] {
        let read = kept.read(&[("n", Doc::News(&news(from)))], day);
        assert_eq!(told(&read).len(), 3);
        let same = kept.read(&[("n", Doc::Unchanged)], day);
        assert_eq!(told(&same), [] as [String; 0]);
        assert!(same.state.is_settled);
    }
    // A later post was deleted, so older ones show again; one of them was edited.
    let mut shown = news(1);
    shown[1] = post(2, "2026-03-04");
    let again = kept.read(&[("n", Doc::News(&shown))], DAY4);
    assert_eq!(told(&again), ["updated n2 2026-03-04 stated"]);
    // In another spelling it is the same as well.
    let respelled = [page("n5/", "2026-02-05")];
    let again = kept.read(&[("n", Doc::News(&respelled))], DAY4);
    assert_eq!(told(&again), [] as [String; 0]);
}

#[test]
fn of_news_no_more_is_remembered_than_a_site_may_have_passed_by() {
    let mut kept = Kept::default();
    let news = |n: usize| -> Vec<Page> {
        let at = |k: usize| 1_767_225_600 + i64::try_from(n * 1_000 + k).unwrap();
        let page = |k: usize| Page {
            lastmod: Moment::from_parts(at(k), 4),
            ..page(&format!("n{n}/{k}"), "")
        };
        (0..1_000).map(page).collect()
    };
    for n in 0..16 {
        kept.read(&[("n", Doc::News(&news(n)))], DAY4);
    }
    // Those that are listed and those that are missing for the first time are more than have passed by.
    assert_eq!(kept.pages.len(), MAX_PASSED + 2_000);
    // The oldest are forgotten first.
    let known = |n: usize| kept.pages.contains_key(&PageKey::of(&news(n)[0].url));
    assert!(!known(0) && known(15) && known(5));
}

#[test]
fn a_checksum_overrules_dates() {
    let mut kept = Kept::default();
    let with = |lastmod: &str, sums: [&str; 6]| -> Vec<Page> {
        let page = |(n, sum): (usize, &&str)| Page {
            hash: Some((*sum).to_owned()),
            ..page(&format!("p{n}"), lastmod)
        };
        sums.iter().enumerate().map(page).collect()
    };
    kept.one(&with("2026-01-01", ["a"; 6]), DAY1);
    assert_eq!(
        kept.one(&with("2026-03-01", ["a"; 6]), DAY2),
        [] as [String; 0]
    );
    assert_eq!(
        kept.one(&with("2026-03-01", ["a", "b", "a", "a", "a", "a"]), DAY3),
        ["updated p1 2026-03-03T00:00:00Z inferred"]
    );
    let newer = with("2026-03-03", ["c", "b", "a", "a", "a", "a"]);
    assert_eq!(kept.one(&newer, DAY4), ["updated p0 2026-03-03 stated"]);
}

#[test]
fn a_checksum_in_another_algorithm_order_or_spelling_is_no_edit() {
    let mut kept = Kept::default();
    let with = |sum: &str| -> Vec<Page> {
        let mut pages = dated(6);
        pages[1].hash = Some(sum.to_owned());
        pages
    };
    kept.one(&with("md5:1E0D"), DAY1);
    for same in [
        "md5:1e0d",
        "MD5:1E0D",
        "md5:1e0d sha-256:8540",
        "sha-256:8540  md5:1e0d",
        "sha-256:8540",
        "SHA-256:8540 sha-512:77aa",
    ] {
        assert_eq!(kept.one(&with(same), DAY2), [] as [String; 0], "{same}");
    }
    for other in [
        "sha-512:77ab sha-256:8541",
        "md5:1e0e sha-256:8542",
        "md5:1e0f",
    ] {
        let told = kept.one(&with(other), DAY3);
        assert_eq!(
            told,
            ["updated p1 2026-03-03T00:00:00Z inferred"],
            "{other}"
        );
    }
    // What is no such list is one text, in which case counts.
    kept.one(&with("Zm94ZXM="), DAY3);
    assert_eq!(kept.one(&with("ZM94ZXM="), DAY4).len(), 1);
}

#[test]
fn a_checksum_that_was_remembered_as_one_text_is_still_the_same() {
    let mut kept = Kept::default();
    let list = "md5:1E0D sha-256:8540";
    let mut pages = dated(6);
    pages[1].hash = Some(list.to_owned());
    kept.one(&pages, DAY1);
    let (known, _) = kept.pages.get_mut(&PageKey::of(&pages[1].url)).unwrap();
    // As it was written by earlier versions.
    known.hash = part_of(list);
    for _ in 0..2 {
        assert_eq!(kept.one(&pages, DAY2), [] as [String; 0]);
    }
    pages[1].hash = Some("md5:1e0e sha-256:8541".to_owned());
    assert_eq!(kept.one(&pages, DAY3).len(), 1);
}

#[test]
fn a_page_that_turns_private_is_forgotten_without_a_word() {
    let mut kept = Kept::default();
    let mut pages = dated(6);
    kept.one(&pages, DAY1);
    pages[2].is_private = true;
    for day in [DAY2, DAY3, DAY4] {
        let read = kept.read(&[("a", Doc::Pages(&pages))], day);
        assert_eq!(told(&read), [] as [String; 0]);
        assert_eq!(read.writes.forget.len(), usize::from(day == DAY2));
        // It may have been known before that, which is looked up once.
        assert_eq!(read.writes.silence.len(), usize::from(day == DAY3));
    }
    assert_eq!(kept.pages.len(), 5);
}

#[test]
fn times_that_cannot_be_are_not_shown_and_do_not_last() {
    let mut kept = Kept::default();
    let mut pages = dated(6);
    kept.one(&pages, DAY1);
    pages[0] = page("p0", "2099-01-01");
    assert_eq!(
        kept.one(&pages, DAY2),
        ["updated p0 2026-03-02T00:00:00Z stated"]
    );
    pages[0] = page("p0", "2026-03-02");
    assert_eq!(
        kept.one(&pages, DAY3),
        [] as [String; 0],
        "a date that goes back is no edit"
    );
    pages[0] = page("p0", "2026-03-03");
    assert_eq!(kept.one(&pages, DAY4), ["updated p0 2026-03-03 stated"]);
}

#[test]
fn a_server_that_is_behind_announces_nothing_twice() {
    let mut kept = Kept::default();
    let old = dated(6);
    let mut new = old.clone();
    new[0] = page("p0", "2026-03-01");
    kept.one(&old, DAY1);
    assert_eq!(kept.one(&new, DAY2).len(), 1);
    for pages in [&old, &new, &old, &new] {
        assert_eq!(kept.one(pages, DAY3), [] as [String; 0]);
    }
}

#[test]
fn a_day_and_a_time_of_that_day_are_no_edit() {
    let mut kept = Kept::default();
    let mut pages = dated(6);
    kept.one(&pages, DAY1);
    pages[0] = page("p0", "2026-01-01T10:00:00Z");
    pages[1] = page("p1", "");
    assert_eq!(kept.one(&pages, DAY2), [] as [String; 0]);
    pages[0] = page("p0", "2026-01-01T11:00:00Z");
    assert_eq!(kept.one(&pages, DAY3).len(), 1);
}

/// What an author does, and how the next reading goes.
#[derive(Debug, Clone)]
enum Act {
    Create(u8),
    Edit(u8),
    Delete(u8),
    Respell(u8),
    Move(u8),
}

fn acts() -> impl Strategy<Value = Vec<(Vec<Act>, [u8; 2])>> {
    let act = prop_oneof![
        any::<u8>().prop_map(Act::Create),
        any::<u8>().prop_map(Act::Edit),
        any::<u8>().prop_map(Act::Delete),
        any::<u8>().prop_map(Act::Respell),
        any::<u8>().prop_map(Act::Move),
    ];
    // Each document is read, has not changed if that is so, or fails.
    let step = (prop::collection::vec(act, 0..6), [0..4_u8, 0..4_u8]);
    prop::collection::vec(step, 1..25)
}

/// A page of the model.
#[derive(Debug, Clone, PartialEq)]
struct Real {
    spelling: u32,
    edited: u32,
    part: usize,
}

/// What the tracker should know of a page, or say about it.
#[derive(Default)]
struct Model {
    site: BTreeMap<u8, Real>,
    /// The pages that were announced or in the first reading, with the edit and the spelling that are known.
    known: BTreeMap<u8, (u32, u32)>,
    missing: BTreeSet<u8>,
}

fn url_of(n: u8, real: &Real) -> String {
    let slash = if real.spelling % 2 == 1 { "/" } else { "" };
    format!("https://fox.example/m{n}{slash}")
}

proptest! {
    #[test]
    fn any_history_is_announced_exactly_once(history in acts()) {
        let mut kept = Kept::default();
        let mut model = Model::default();
        // Enough pages that stay as they are, so that no step is a large part of the site.
        let steady: [Vec<Page>; 2] = [dated(40), (0..40).map(|n| page(&format!("s{n}"), "2026-01-05")).collect()];
        let mut served: [Option<Vec<Page>>; 2] = [None, None];
        let mut read_before = [false; 2];
        for (number, (acts, reading)) in history.iter().enumerate() {
            let edit = number as u32 + 1;
            for act in acts {
                match act {
                    Act::Create(n) => {
                        // A page that comes back under its name before its deletion is noticed would be an edit of it.
                        if !model.known.contains_key(n) {
                            let part = usize::from(n % 2);
                            model.site.entry(*n).or_insert(Real { spelling: 0, edited: edit, part });
                        }
                    }
                    Act::Edit(n) => { if let Some(real) = model.site.get_mut(n) { real.edited = edit } }
                    Act::Delete(n) => { model.site.remove(n); }
                    Act::Respell(n) => { if let Some(real) = model.site.get_mut(n) { real.spelling += 1 } }
                    Act::Move(n) => { if let Some(real) = model.site.get_mut(n) { real.part = 1 - real.part } }
                }
            }
            let documents: Vec<Vec<Page>> = (0..2).map(|part| {
                let own = model.site.iter().filter(|(_, real)| real.part == part).map(|(n, real)| Page {
                    url: url_of(*n, real),
                    lastmod: Moment::from_parts(1_767_225_600 + i64::from(real.edited) * 1000, 4),
                    ..Page::default()
                });
                steady[part].iter().cloned().chain(own).collect()
            }).collect();
            let mut docs = Vec::new();
            let mut reached = [true; 2];
            for part in 0..2 {
                let name = ["a", "b"][part];
                let is_same = served[part].as_ref() == Some(&documents[part]);
                docs.push((name, match reading[part] {
                    0 => { reached[part] = false; Doc::Fails }
                    1 if is_same => Doc::Unchanged,
                    _ => { served[part] = Some(documents[part].clone()); Doc::Pages(&documents[part]) }
                }));
            }
            let is_first = kept.state.is_none();
            // The first reading must give something, or nothing begins.
            if is_first && reached == [false, false] { continue }
            let tracked = kept.read(&docs, &format!("2026-03-{:02}T00:00:00Z", number + 1));
            let complete = reached == [true, true];
            let (mut expected, mut respelled) = (BTreeSet::new(), BTreeSet::new());
            for (n, real) in &model.site {
                if !reached[real.part] { continue }
                let is_baseline = is_first || !read_before[real.part];
                match model.known.insert(*n, (real.edited, real.spelling % 2)) {
                    None if !is_baseline => { expected.insert(format!("created m{n}")); }
                    Some((_, spelling)) if spelling != real.spelling % 2 => { respelled.insert(*n); }
                    Some((before, _)) if before < real.edited => { expected.insert(format!("updated m{n}")); }
                    _ => {}
                }
                model.missing.remove(n);
            }
            if complete {
                let gone: Vec<u8> = model.known.keys().copied().filter(|n| !model.site.contains_key(n)).collect();
                for n in gone {
                    if !model.missing.insert(n) {
                        model.missing.remove(&n);
                        model.known.remove(&n);
                        expected.insert(format!("deleted m{n}"));
                    }
                }
            }
            for part in 0..2 { read_before[part] |= reached[part] }
            if is_first { continue }
            let told: Vec<String> = tracked.entries.iter().flat_map(|entry| &entry.changes)
                .map(|change| {
                    let path = change.url.trim_end_matches('/').rsplit('/').next().unwrap().to_owned();
                    format!("{} {path}", change.kind)
                })
                .collect();
            let set: BTreeSet<String> = told.iter().cloned().collect();
            prop_assert_eq!(told.len(), set.len(), "nothing is told twice");
            prop_assert_eq!(set, expected, "step {}, respelled {:?}", number, respelled);
        }
    }
}
