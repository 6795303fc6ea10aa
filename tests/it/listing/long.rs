//! Indexes of more parts than one check reads, and lists of more pages than a list may have.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sitebell::check::CheckSettings;
use sitebell::memory::Outcome;
use sitebell::read::list::Outline;

use super::{NONE, NS, SIX, index, serve, sitemap};
use crate::den::{Den, codes};
use crate::fake_site::Reply;
use crate::following::Follower;

/// So many parts, of which a check reads less than half.
const PARTS: usize = 100;

/// Settings with which a check finds a list, and reads forty documents.
fn short() -> CheckSettings {
    let mut settings = CheckSettings::default();
    settings.limits.documents = 4;
    settings
}

fn part(number: usize) -> String {
    format!("/part{number}.xml")
}

/// Serves a part with a page of its own, and perhaps another one.
fn serve_part(den: &Den, number: usize, more: &str) {
    let (month, day) = (number / 28 + 1, number % 28 + 1);
    let page = format!("/page{number} 2025-{month:02}-{day:02}");
    let pages: Vec<&str> = [page.as_str(), more]
        .into_iter()
        .filter(|page| !page.is_empty())
        .collect();
    let text = sitemap(den, &pages);
    let tag = format!("\"{more}\"");
    den.site.serve(&part(number), Reply::xml(text).etag(tag));
}

/// An index of all parts, each of which was modified when `lastmod` says.
fn dated_index(den: &Den, lastmod: impl Fn(usize) -> Option<&'static str>) -> String {
    let entries = (0..PARTS).map(|number| {
        let lastmod = lastmod(number).map(|lastmod| format!("<lastmod>{lastmod}</lastmod>"));
        let loc = den.url(&part(number));
        format!(
            "<sitemap><loc>{loc}</loc>{}</sitemap>",
            lastmod.unwrap_or_default()
        )
    });
    let entries: String = entries.collect();
    format!("<sitemapindex {NS}>{entries}</sitemapindex>")
}

/// Follows the site until every part was read. Nothing of that is new.
async fn follow_all(den: &Den) -> Follower {
    let follower = Follower::of(den).await;
    follower.check_with(&short()).await;
    for _ in 0..6 {
        assert_eq!(follower.check_with(&short()).await, NONE);
        assert_eq!(follower.last_check().await.outcome, Some(Outcome::Partial));
    }
    let asked: HashSet<String> = den.site.paths().into_iter().collect();
    for number in 0..PARTS {
        assert!(asked.contains(&part(number)), "{number} was never read");
    }
    follower
}

/// A page is added to each of some parts: each is announced once, in a few checks.
async fn assert_that_all_is_told(den: &Den, follower: &Follower) {
    let numbers = [0, 1, 49, 50, PARTS - 2, PARTS - 1];
    let new: Vec<String> = (numbers.iter())
        .map(|number| format!("/new{number} 2026-03-12"))
        .collect();
    for (number, page) in numbers.iter().zip(&new) {
        serve_part(den, *number, page);
    }
    let mut told = Vec::new();
    for _ in 0..6 {
        told.extend(follower.check_with(&short()).await);
    }
    told.sort();
    let mut wanted: Vec<String> = new.iter().map(|page| format!("created {page}")).collect();
    wanted.sort();
    assert_eq!(told, wanted);
}

#[tokio::test]
async fn every_part_of_a_long_index_has_its_turn_whatever_its_dates_say() {
    let today = |_: usize| Some("2030-01-01");
    let of_the_first = |number: usize| (number < 60).then_some("2030-01-01");
    let dates: [&dyn Fn(usize) -> Option<&'static str>; 3] = [&|_| None, &today, &of_the_first];
    for lastmod in dates {
        let den = Den::empty();
        (0..PARTS).for_each(|number| serve_part(&den, number, ""));
        serve(&den, "/sitemap.xml", dated_index(&den, lastmod));
        let follower = follow_all(&den).await;
        assert_that_all_is_told(&den, &follower).await;
    }
}

#[tokio::test]
async fn the_parts_of_several_indexes_have_their_turns_together() {
    let den = Den::empty();
    (0..PARTS).for_each(|number| serve_part(&den, number, ""));
    let parts: Vec<String> = (0..PARTS).map(part).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    serve(&den, "/inner.xml", index(&den, &parts[60..]));
    let outer = [&parts[..60], &["/inner.xml"]].concat();
    serve(&den, "/sitemap.xml", index(&den, &outer));
    let follower = follow_all(&den).await;
    assert_that_all_is_told(&den, &follower).await;
}

#[tokio::test]
async fn a_part_that_its_index_says_was_modified_is_read_at_once() {
    let den = Den::empty();
    (0..PARTS).for_each(|number| serve_part(&den, number, ""));
    serve(
        &den,
        "/sitemap.xml",
        dated_index(&den, |_| Some("2026-01-01")),
    );
    let follower = follow_all(&den).await;
    for number in [PARTS - 1, 0, 50] {
        let page = format!("/new{number} 2026-03-12");
        serve_part(&den, number, &page);
        let lastmod = |other| {
            Some(if other == number {
                "2026-12-01"
            } else {
                "2026-01-01"
            })
        };
        serve(&den, "/sitemap.xml", dated_index(&den, lastmod));
        let told = follower.check_with(&short()).await;
        assert_eq!(told, [format!("created {page}")]);
    }
}

#[tokio::test]
async fn a_host_that_has_had_enough_is_asked_for_the_rest_the_next_time() {
    let den = Den::empty();
    let paths: Vec<String> = (0..6).map(part).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    serve(&den, "/sitemap.xml", index(&den, &paths));
    // In each check it answers for so many parts.
    let patience = Arc::new(AtomicUsize::new(6));
    let serve_all = |pages: [&str; 6]| {
        for (path, page) in paths.iter().zip(pages) {
            let (text, patience) = (sitemap(&den, &[page]), patience.clone());
            den.site.serve_with(path, move |_| {
                let left = patience.load(Ordering::SeqCst);
                patience.store(left.saturating_sub(1), Ordering::SeqCst);
                match left {
                    0 => Reply::status(429),
                    _ => Reply::xml(text.clone()),
                }
            });
        }
    };
    serve_all(SIX);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 6);
    serve_all(SIX.map(|page| match page {
        "/f 2026-01-06" => "/f 2026-03-12",
        page => page,
    }));
    let mut told = Vec::new();
    for _ in 0..6 {
        patience.store(2, Ordering::SeqCst);
        told.extend(follower.check().await);
    }
    assert_eq!(told, ["updated /f 2026-03-12"]);
}

/// Settings with which the lists of a site may name so many others.
fn with_room_for(parts: usize) -> CheckSettings {
    let mut settings = CheckSettings::default();
    settings.limits.parts = parts;
    settings
}

/// What was said about lists that were left unread for want of room, by the documents that name them.
async fn left_unread(follower: &Follower) -> Vec<String> {
    let problems = follower.last_check().await.problems.into_iter();
    let told = problems.filter(|problem| problem.code.name() == "limit-reached");
    told.map(|problem| {
        let url = url::Url::parse(&problem.document).unwrap();
        format!("{}: {}", url.path(), problem.message)
    })
    .collect()
}

/// How many parts are remembered, and of how many lists.
async fn remembered_parts(follower: &Follower) -> (usize, usize) {
    let memory = follower.store().memory(follower.site()).await;
    let documents = memory.unwrap().unwrap().documents.into_values();
    let counts: Vec<usize> = documents
        .filter_map(|document| Outline::parse(&document.outline))
        .map(|outline| outline.list.parts.len())
        .filter(|count| *count > 0)
        .collect();
    (counts.iter().sum(), counts.len())
}

#[tokio::test]
async fn lists_beyond_the_most_that_a_site_may_name_are_told_and_their_pages_are_not_called_deleted()
 {
    let den = Den::empty();
    (0..6).for_each(|number| serve_part(&den, number, ""));
    let parts: Vec<String> = (0..6).map(part).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let tagged = |path: &str, children: &[&str], tag: &str| {
        let reply = Reply::xml(index(&den, children)).etag(tag);
        den.site.serve(path, reply);
    };
    tagged("/sitemap.xml", &["/first.xml", "/last.xml"], "\"1\"");
    tagged("/first.xml", &parts[..2], "\"1\"");
    tagged("/last.xml", &parts[2..], "\"1\"");
    let settings = with_room_for(8);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check_with(&settings).await.len(), 6);
    assert_eq!(left_unread(&follower).await, NONE);
    // The first one grows, and there is no room for all of the last.
    let more: Vec<String> = (0..3).map(|number| format!("/more{number}.xml")).collect();
    for (number, path) in more.iter().enumerate() {
        let page = format!("/more{number} 2026-03-12");
        serve(&den, path, sitemap(&den, &[&page]));
    }
    let grown: Vec<&str> = parts[..2]
        .iter()
        .copied()
        .chain(more.iter().map(String::as_str))
        .collect();
    tagged("/first.xml", &grown, "\"2\"");
    let told = "/last.xml: the indexes of a site may list 8 documents in all; 3 of those listed here were left unread";
    assert_eq!(follower.check_with(&settings).await.len(), 3);
    for _ in 0..3 {
        assert_eq!(left_unread(&follower).await, [told]);
        assert_eq!(follower.last_check().await.outcome, Some(Outcome::Partial));
        assert_eq!(follower.check_with(&settings).await, NONE);
    }
    tagged("/last.xml", &parts[2..], "\"2\"");
    assert_eq!(follower.check_with(&settings).await, NONE);
    assert_eq!(left_unread(&follower).await, [told]);
    // Once there is room again, nothing of that is new, and nothing is gone.
    tagged("/first.xml", &parts[..2], "\"3\"");
    tagged("/last.xml", &parts[2..], "\"3\"");
    assert_eq!(follower.check_with(&settings).await, NONE);
    assert_eq!(left_unread(&follower).await, NONE);
    assert_eq!(
        follower.check_with(&settings).await.len(),
        3,
        "those of the first are gone"
    );
}

#[tokio::test]
async fn indexes_that_name_other_indexes_each_time_are_not_remembered_without_end() {
    let den = Den::empty();
    let settings = with_room_for(20);
    let follower = Follower::of(&den).await;
    for day in 0..6 {
        let inner: Vec<String> = (0..3)
            .map(|number| format!("/{day}-{number}.xml"))
            .collect();
        for path in &inner {
            let children: Vec<String> = (0..5)
                .map(|number| format!("{path}-{number}.xml"))
                .collect();
            let children: Vec<&str> = children.iter().map(String::as_str).collect();
            den.site
                .serve(path, Reply::xml(index(&den, &children)).etag("\"1\""));
        }
        let inner: Vec<&str> = inner.iter().map(String::as_str).collect();
        serve(&den, "/sitemap.xml", index(&den, &inner));
        follower.check_with(&settings).await;
        let (parts, lists) = remembered_parts(&follower).await;
        assert!(parts <= 20, "{parts} in {lists} lists");
    }
}

#[tokio::test]
async fn a_list_of_one_page_too_many_is_not_read_in_any_format() {
    let den = Den::empty();
    let urls = |count: usize| (0..count).map(|number| den.url(&format!("/{number}")));
    let plain = |count| {
        let entries = urls(count).map(|url| format!("<url><loc>{url}</loc></url>"));
        Reply::xml(format!(
            "<urlset {NS}>{}</urlset>",
            entries.collect::<String>()
        ))
    };
    let text = |count| {
        Reply::text(
            urls(count)
                .map(|url| format!("{url}\n"))
                .collect::<String>(),
        )
    };
    let arc = |count| {
        let pages =
            urls(count).map(|url| serde_json::json!({"url": url.as_str(), "ai_indexable": true}));
        let list = serde_json::json!({
            "arc_sitemap_version": "2.1", "site": den.url("/").as_str(), "generated_at": "2026-03-10T00:00:00Z",
            "pages": pages.collect::<Vec<_>>(),
        });
        Reply::new(200, "application/json", list.to_string())
    };
    let lists: [&dyn Fn(usize) -> Reply; 3] = [&plain, &text, &arc];
    for list in lists {
        den.site.serve("/sitemap.xml", list(50_000));
        let checked = den.check().await;
        let pages = checked.collections[0].pages.as_ref().unwrap();
        assert_eq!(pages.sighted.as_ref().unwrap().len(), 50_000);
        assert_eq!(codes(&checked), ["only-a-list"]);
        den.site.serve("/sitemap.xml", list(50_001));
        let checked = den.check().await;
        assert!(checked.collections.is_empty() && checked.site.format.is_none());
        let found = codes(&checked);
        assert!(found.contains(&"too-many-entries"), "{found:?}");
    }
}
