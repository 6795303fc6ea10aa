//! Sections that have pages in common: each tells all that happens to its own, and the site tells it once.

use std::collections::BTreeSet;

use atom_syndication::Feed;
use chrono::TimeDelta;
use serde_json::{Value, json};
use sitebell::account::Scope;
use sitebell::site::SiteId;
use sitebell::store::{EntriesOf, Place};
use url::Url;

use super::offering::{Feeds, Offering, told};
use crate::ask::Ask;
use crate::den::{Den, urlset};
use crate::fake_site::Reply;
use crate::following::Follower;
use crate::world::World;

const A: &str = "/a 2026-03-01";
const B: &str = "/b 2026-03-02";
const C: &str = "/c 2026-03-03";

/// Two sections that have `/b` in common.
async fn overlapping() -> Offering {
    let mut offering = Offering::new(&[("blog", &[A, B]), ("news", &[B, C])]).await;
    assert_eq!(
        offering.check().await,
        told(&[
            ("blog", &["updated /a 2026-03-01", "updated /b 2026-03-02"]),
            ("news", &["updated /b 2026-03-02", "updated /c 2026-03-03"]),
            (
                "site",
                &[
                    "updated /a 2026-03-01",
                    "updated /b 2026-03-02",
                    "updated /c 2026-03-03"
                ]
            ),
        ])
    );
    assert_eq!(offering.check().await, told(&[]));
    offering
}

#[tokio::test]
async fn an_edit_of_a_page_of_two_sections_is_told_once_for_the_site() {
    let mut offering = overlapping().await;
    let edited = "/b 2026-03-12T09:00:00Z";
    offering.section("blog", &[A, edited]);
    offering.section("news", &[edited, C]);
    let line = &["updated /b 2026-03-12T09:00:00Z"][..];
    let expected = told(&[("blog", line), ("news", line), ("site", line)]);
    assert_eq!(offering.check().await, expected);
    // Another section that tells it later, with the day alone, tells nothing new.
    offering.section("blog", &[A, "/b 2026-03-14T09:00:00Z"]);
    let line = &["updated /b 2026-03-14T09:00:00Z"][..];
    let expected = told(&[("blog", line), ("site", line)]);
    assert_eq!(offering.check().await, expected);
    offering.section("news", &["/b 2026-03-14", C]);
    let expected = told(&[("news", &["updated /b 2026-03-14"])]);
    assert_eq!(offering.check().await, expected);
    assert_eq!(offering.check().await, told(&[]));
}

#[tokio::test]
async fn a_section_that_is_behind_tells_the_site_no_edit_that_is_older_than_the_last() {
    let mut offering = overlapping().await;
    for edit in ["/b 2026-03-12T09:00:00Z", "/b 2026-03-13T09:00:00Z"] {
        offering.section("blog", &[A, edit]);
        assert!(offering.check().await.contains_key("site"));
    }
    offering.section("news", &["/b 2026-03-12T09:00:00Z", C]);
    let expected = told(&[("news", &["updated /b 2026-03-12T09:00:00Z"])]);
    assert_eq!(offering.check().await, expected);
    // What is newer than that is news, whoever tells it.
    offering.section("news", &["/b 2026-03-15T09:00:00Z", C]);
    let line = &["updated /b 2026-03-15T09:00:00Z"][..];
    assert_eq!(
        offering.check().await,
        told(&[("news", line), ("site", line)])
    );
}

#[tokio::test]
async fn a_date_in_the_future_in_one_section_hides_nothing_that_another_tells() {
    let mut offering = overlapping().await;
    offering.section("blog", &[A, "/b 2027-01-01"]);
    assert!(offering.check().await.contains_key("site"));
    offering.section("news", &["/b 2026-03-13T09:00:00Z", C]);
    let line = &["updated /b 2026-03-13T09:00:00Z"][..];
    assert_eq!(
        offering.check().await,
        told(&[("news", line), ("site", line)])
    );
}

#[tokio::test]
async fn dates_of_a_build_in_one_section_hide_nothing_that_another_tells() {
    let built = |day: &str| ["/a", "/b", "/d", "/e", "/f"].map(|page| format!("{page} {day}"));
    let mut offering = Offering::new(&[("news", &[B, C])]).await;
    let before = built("2026-03-05T00:00:00Z");
    offering.section("blog", &before.each_ref().map(String::as_str));
    offering.check().await;
    let after = built("2026-03-12T10:00:00Z");
    offering.section("blog", &after.each_ref().map(String::as_str));
    assert_eq!(offering.check().await, told(&[]));
    offering.section("news", &["/b 2026-03-12T09:00:00Z", C]);
    let line = &["updated /b 2026-03-12T09:00:00Z"][..];
    assert_eq!(
        offering.check().await,
        told(&[("news", line), ("site", line)])
    );
}

#[tokio::test]
async fn a_page_that_is_new_in_two_sections_is_new_to_the_site_once() {
    let mut offering = overlapping().await;
    let new = "/new 2026-03-12T08:00:00Z";
    offering.section("blog", &[A, B, new]);
    offering.section("news", &[B, C, new]);
    let line = &["created /new 2026-03-12T08:00:00Z"][..];
    let expected = told(&[("blog", line), ("news", line), ("site", line)]);
    assert_eq!(offering.check().await, expected);
    // A page that one of them had already is only new there.
    offering.section("news", &[A, B, C, new]);
    let expected = told(&[("news", &["created /a 2026-03-01"])]);
    assert_eq!(offering.check().await, expected);
}

#[tokio::test]
async fn a_page_that_leaves_one_section_is_gone_from_the_site_when_it_leaves_the_last() {
    let mut offering = overlapping().await;
    offering.section("blog", &[A]);
    assert_eq!(offering.check().await, told(&[]));
    let expected = told(&[("blog", &["deleted /b 2026-03-14T00:00:00Z"])]);
    assert_eq!(offering.check().await, expected);
    offering.section("news", &[C]);
    assert_eq!(offering.check().await, told(&[]));
    let line = &["deleted /b 2026-03-16T00:00:00Z"][..];
    assert_eq!(
        offering.check().await,
        told(&[("news", line), ("site", line)])
    );
    // When it comes back it is news, although it is as old as before.
    offering.section("blog", &[A, B]);
    let line = &["created /b 2026-03-02"][..];
    assert_eq!(
        offering.check().await,
        told(&[("blog", line), ("site", line)])
    );
}

#[tokio::test]
async fn a_page_that_leaves_all_sections_at_once_is_gone_once() {
    let mut offering = overlapping().await;
    offering.section("blog", &[A]);
    offering.section("news", &[C]);
    assert_eq!(offering.check().await, told(&[]));
    let line = &["deleted /b 2026-03-14T00:00:00Z"][..];
    let expected = told(&[("blog", line), ("news", line), ("site", line)]);
    assert_eq!(offering.check().await, expected);
}

#[tokio::test]
async fn a_page_that_moves_from_one_section_to_another_is_neither_gone_nor_new_to_the_site() {
    let mut offering = overlapping().await;
    offering.section("blog", &[B]);
    assert_eq!(offering.check().await, told(&[]));
    // One that is away for a day only, or comes just as the other lets go of it.
    offering.section("news", &[A, B, C]);
    let expected = told(&[
        ("blog", &["deleted /a 2026-03-14T00:00:00Z"]),
        ("news", &["created /a 2026-03-01"]),
    ]);
    assert_eq!(offering.check().await, expected);
}

#[tokio::test]
async fn a_section_that_comes_later_starts_with_what_the_site_knows_without_telling_it_again() {
    let mut offering = overlapping().await;
    offering.section("all-of-it", &[A, B, C, "/d 2026-03-09"]);
    let expected = told(&[
        (
            "all-of-it",
            &[
                "updated /a 2026-03-01",
                "updated /b 2026-03-02",
                "updated /c 2026-03-03",
                "updated /d 2026-03-09",
            ],
        ),
        ("site", &["updated /d 2026-03-09"]),
    ]);
    assert_eq!(offering.check().await, expected);
    let entries = offering.follower.row().await.entry_count;
    assert_eq!(
        entries, 3,
        "entries that the site does not tell have no place"
    );
}

#[tokio::test]
async fn a_section_that_is_not_offered_any_more_keeps_no_page_from_being_gone() {
    let mut offering = overlapping().await;
    offering.withdraw("blog");
    assert_eq!(offering.check().await, told(&[]));
    offering.section("news", &[C]);
    assert_eq!(offering.check().await, told(&[]));
    let line = &["deleted /b 2026-03-15T00:00:00Z"][..];
    assert_eq!(
        offering.check().await,
        told(&[("news", line), ("site", line)])
    );
    // It forgets the page with the site: should that come back, it is told.
    offering.section("news", &[B, C]);
    let line = &["created /b 2026-03-02"][..];
    assert_eq!(
        offering.check().await,
        told(&[("news", line), ("site", line)])
    );
}

#[tokio::test]
async fn a_section_that_is_broken_keeps_its_pages_from_being_gone() {
    let mut offering = overlapping().await;
    offering.break_section("blog");
    offering.section("news", &[C]);
    assert_eq!(offering.check().await, told(&[]));
    let expected = told(&[("news", &["deleted /b 2026-03-14T00:00:00Z"])]);
    assert_eq!(offering.check().await, expected);
    // Mended without it, and then the last one lets go of it.
    offering.mend("blog");
    offering.section("blog", &[A]);
    assert_eq!(offering.check().await, told(&[]));
    let line = &["deleted /b 2026-03-16T00:00:00Z"][..];
    assert_eq!(
        offering.check().await,
        told(&[("blog", line), ("site", line)])
    );
}

#[tokio::test]
async fn an_edit_told_by_a_section_that_let_go_of_the_page_is_not_told_again_by_one_that_was_behind()
 {
    let mut offering = overlapping().await;
    let edited = "/b 2026-03-12T09:00:00Z";
    offering.section("blog", &[A, edited]);
    let line = &["updated /b 2026-03-12T09:00:00Z"][..];
    let expected = told(&[("blog", line), ("site", line)]);
    assert_eq!(offering.check().await, expected);
    offering.section("blog", &[A]);
    assert_eq!(offering.check().await, told(&[]));
    let expected = told(&[("blog", &["deleted /b 2026-03-15T00:00:00Z"])]);
    assert_eq!(offering.check().await, expected);
    // Neither by the other section, nor by the same one, to which the page is new then.
    offering.section("news", &[edited, C]);
    assert_eq!(offering.check().await, told(&[("news", line)]));
    offering.section("blog", &[A, edited]);
    let created = &["created /b 2026-03-12T09:00:00Z"][..];
    assert_eq!(offering.check().await, told(&[("blog", created)]));
    assert_eq!(offering.check().await, told(&[]));
}

#[tokio::test]
async fn an_edit_is_not_told_again_when_the_page_comes_back_to_the_section_that_told_it() {
    let mut offering = overlapping().await;
    let edited = "/b 2026-03-12T09:00:00Z";
    offering.section("blog", &[A, edited]);
    assert!(offering.check().await.contains_key("site"));
    offering.section("blog", &[A]);
    offering.check().await;
    offering.check().await;
    offering.section("blog", &[A, edited]);
    let expected = told(&[("blog", &["created /b 2026-03-12T09:00:00Z"])]);
    assert_eq!(offering.check().await, expected);
}

#[tokio::test]
async fn nothing_of_a_page_is_remembered_once_the_last_section_has_let_go_of_it() {
    let mut offering = overlapping().await;
    let edited = "/b 2026-03-12T09:00:00Z";
    offering.section("blog", &[A, edited]);
    assert!(offering.check().await.contains_key("site"));
    for (section, pages) in [("blog", A), ("news", C)] {
        offering.section(section, &[pages]);
        assert_eq!(offering.check().await, told(&[]));
        offering.check().await;
    }
    // So it is news when it comes back as it was, in whichever section.
    offering.section("news", &[C, edited]);
    let line = &["created /b 2026-03-12T09:00:00Z"][..];
    assert_eq!(
        offering.check().await,
        told(&[("news", line), ("site", line)])
    );
}

#[tokio::test]
async fn pages_that_go_with_many_others_are_news_when_they_come_back_like_any_others() {
    let dated = |day: u32| -> Vec<String> {
        let page = |n: u32| format!("/p{n:02} 2026-03-{:02}T{:02}:00:00Z", day + n / 24, n % 24);
        (0..40).map(page).collect()
    };
    let (older, newer) = (dated(1), dated(5));
    fn with<'a>(page: &'a str, others: &'a [String]) -> Vec<&'a str> {
        let others = others.iter().map(String::as_str);
        [page].into_iter().chain(others).collect()
    }
    let mut offering = Offering::new(&[]).await;
    offering.section("blog", &with(A, &newer));
    offering.section("news", &with(C, &older));
    offering.check().await;
    // First they leave the section that told the newer dates, and then the site. Twenty of them are named.
    for (section, page) in [("blog", A), ("news", C)] {
        offering.section(section, &[page]);
        assert_eq!(offering.check().await, told(&[]));
        assert_eq!(offering.check().await[section].len(), 20);
    }
    offering.section("news", &with(C, &newer[..15]));
    let told = offering.check().await;
    assert_eq!((told["news"].len(), told["site"].len()), (15, 15));
}

#[tokio::test]
async fn an_edit_is_told_once_though_its_page_comes_back_with_an_older_date_first() {
    let mut offering = overlapping().await;
    let edited = "/b 2026-03-12T09:00:00Z";
    offering.section("blog", &[A, edited]);
    assert!(offering.check().await.contains_key("site"));
    offering.section("blog", &[A]);
    offering.check().await;
    offering.check().await;
    offering.section("blog", &[A, "/b 2026-03-05"]);
    let expected = told(&[("blog", &["created /b 2026-03-05"])]);
    assert_eq!(offering.check().await, expected);
    for section in ["blog", "news"] {
        offering.section(section, &[A, C, edited]);
        let told = offering.check().await;
        assert!(!told.contains_key("site"), "{told:?}");
    }
    let edited = "/b 2026-03-18T09:00:00Z";
    offering.section("blog", &[A, C, edited]);
    let line = &["updated /b 2026-03-18T09:00:00Z"][..];
    let expected = told(&[("blog", line), ("site", line)]);
    assert_eq!(offering.check().await, expected);
}

/// Serves two collections that list their pages; of a collection without pages nothing can be read.
fn resource_lists(den: &Den, lists: [(&str, &[&str]); 2]) {
    for (name, pages) in lists {
        let list = format!("{name}-pages.xml");
        let entry = |page: &&str| {
            let (path, lastmod) = page.split_once(' ').unwrap();
            format!("<url><loc>{{den}}{path}</loc><lastmod>{lastmod}</lastmod></url>")
        };
        let entries: String = pages.iter().map(entry).collect();
        let head = "<rs:md capability='resourcelist' at='2026-03-10'/>";
        den.xml(&list, &urlset(&format!("{head}{entries}")));
        let capabilities = format!(
            "<rs:ln rel='describes' href='{{den}}{name}/'/><rs:md capability='capabilitylist'/>
             <url><loc>{{den}}{list}</loc><rs:md capability='resourcelist'/></url>"
        );
        match pages.is_empty() {
            true => den.site.serve(&format!("{name}.xml"), Reply::status(500)),
            false => den.xml(&format!("{name}.xml"), &urlset(&capabilities)),
        }
    }
    den.description(&[("/art.xml", "/art/"), ("/ink.xml", "/ink/")]);
}

#[tokio::test]
async fn resource_lists_with_pages_in_common_tell_the_site_once_also_while_one_cannot_be_read() {
    let den = Den::empty();
    resource_lists(&den, [("/art", &[A, B]), ("/ink", &[B, C])]);
    let follower = Follower::of(&den).await;
    let mut feeds = Feeds::default();
    follower.check().await;
    let first = feeds.news(&follower).await;
    assert_eq!(
        (
            first["site"].len(),
            first["/art/"].len(),
            first["/ink/"].len()
        ),
        (3, 2, 2)
    );
    resource_lists(
        &den,
        [
            ("/art", &[A, "/b 2026-03-12"]),
            ("/ink", &["/b 2026-03-12", C]),
        ],
    );
    follower.check().await;
    let line = &["updated /b 2026-03-12"][..];
    let expected = told(&[("/art/", line), ("/ink/", line), ("site", line)]);
    assert_eq!(feeds.news(&follower).await, expected);
    // The page is gone from one collection. Whether it is still in the other nobody knows.
    resource_lists(&den, [("/art", &[A]), ("/ink", &[])]);
    follower.check().await;
    assert_eq!(feeds.news(&follower).await, told(&[]));
    follower.check().await;
    let news = feeds.news(&follower).await;
    assert_eq!(news.keys().collect::<Vec<_>>(), ["/art/"], "{news:?}");
}

#[tokio::test]
async fn the_page_of_a_site_counts_and_shows_what_the_site_tells() {
    let mut offering = overlapping().await;
    let edited = "/b 2026-03-12T09:00:00Z";
    offering.section("blog", &[A, edited]);
    offering.section("news", &[edited, C]);
    offering.check().await;
    let (store, row) = (offering.follower.store(), offering.follower.row().await);
    let (briefs, next) = store
        .briefs(EntriesOf::Site(row.id), Place::FIRST, 100, 100)
        .await
        .unwrap();
    let changes: u64 = briefs.iter().map(|brief| brief.count).sum();
    assert_eq!((changes, next), (4, None));
    let since = "2026-01-01".parse().unwrap();
    let days = store.activity(EntriesOf::Site(row.id), since).await;
    assert_eq!(days.unwrap().values().sum::<u64>(), 4);
    let news = row.collections.iter();
    let news = news.filter(|one| one.identity.fragment() == Some("news"));
    for collection in news {
        let of = EntriesOf::Collection(collection.id);
        let days = store.activity(of, since).await;
        assert_eq!(days.unwrap().values().sum::<u64>(), 3);
    }
}

/// How often each page of the den is named by something in a text: a link in a page, or an entry in a feed.
fn named(den: &Den, text: &str, by: &str) -> [usize; 3] {
    ["/a", "/b", "/c"].map(|path| {
        text.matches(&by.replace("URL", den.url(path).as_str()))
            .count()
    })
}

const IN_PAGE: &str = "href=\"URL\"";
const IN_FEED: &str = "<link href=\"URL\" rel=\"related\"";

/// The path of an address of ours.
fn path(url: &Value) -> String {
    let url: Url = url.as_str().unwrap().parse().unwrap();
    url[url::Position::BeforePath..].to_owned()
}

/// A collection as programs see it.
fn collection(world: &World, site: SiteId, name: &str) -> Value {
    let site = world.get(&format!("/api/v1/sites/{site}"));
    let collections = site["collections"].as_array().unwrap().iter();
    let mut named = collections.filter(|one| one["id"].as_str().unwrap().ends_with(name));
    named.next().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_follows_the_site_sees_a_change_once_and_whoever_follows_a_section_its_own() {
    let mut offering = Offering::new(&[("blog", &[A, B]), ("news", &[B, C])]).await;
    offering.serve();
    let world = World::new().await;
    world.pass(TimeDelta::days(1));
    let den = &offering.den;
    let site = world.follow(&den.url("/")).await;
    let news = collection(&world, site, "#news");
    let answer = |path: &str| world.ask(Ask::get(path)).text().to_owned();
    let (once, own) = ([1, 1, 1], [0, 1, 1]);
    let feed = answer(&den.page("/feed.atom"));
    assert_eq!(named(den, &feed, IN_FEED), once, "{feed}");
    let by_page = answer(&den.page("/feed.atom?entries=pages"));
    assert_eq!(by_page.matches("<entry").count(), 3, "{by_page}");
    let json = world.ask(Ask::get(&den.page("/feed.json"))).json(200);
    assert_eq!(json["items"].as_array().unwrap().len(), 2);
    let page = answer(&den.page("/"));
    assert_eq!(named(den, &page, IN_PAGE), once, "{page}");
    let section = answer(&path(&news["feed_url"]));
    assert_eq!(named(den, &section, IN_FEED), own, "{section}");
    let page = answer(&path(&news["page_url"]));
    assert_eq!(named(den, &page, IN_PAGE), own, "{page}");
    let changes = world.get(&format!("/api/v1/sites/{site}/changes"));
    assert_eq!(changes["changes"].as_array().unwrap().len(), 4);
    // Carol follows the section, and then the site as well.
    let token = world.account("carol", false, Scope::Write).await;
    let mut carol = world.person("carol").await;
    for (collection, expected) in [(Some(&news["id"]), own), (None, once)] {
        let about = json!({"site": site.0, "collection": collection});
        let ask = Ask::post("/api/v1/subscriptions", &about).token(&token);
        world.ask(ask).json(201);
        let made = world.ask(Ask::new("POST", "/api/v1/feed-key").token(&token));
        let private = answer(&path(&made.json(201)["feed_url"]));
        assert_eq!(named(den, &private, IN_FEED), expected, "{private}");
        let home = carol.open("/home");
        let shown = named(den, home.text(), IN_PAGE);
        assert_eq!(shown, expected, "{}", home.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn archives_of_a_site_have_no_holes_where_sections_tell_what_is_known() {
    let mut offering = Offering::new(&[("blog", &[A, B]), ("news", &[B, C])]).await;
    offering.serve();
    let world = World::new().await;
    world.pass(TimeDelta::days(1));
    let site = world.follow(&offering.den.url("/")).await;
    for minute in 0..60 {
        // Each edit is told by both, and by the blog first.
        let edited = format!("/b 2026-03-10T13:{minute:02}:00Z");
        offering.section("blog", &[A, &edited]);
        offering.section("news", &[&edited, C]);
        offering.serve();
        world.pass(TimeDelta::days(2));
        world.scheduler().idle().await;
    }
    let walk = |start: String| {
        let (mut ids, mut sizes) = (BTreeSet::new(), Vec::new());
        let mut next = Some(start);
        while let Some(place) = next.take() {
            let answer = world.ask(Ask::get(&place));
            assert_eq!(answer.status, 200, "{place}");
            let feed: Feed = answer.text().parse().unwrap();
            sizes.push(feed.entries.len());
            ids.extend(feed.entries.iter().map(|entry| entry.id.clone()));
            let before = feed.links.iter().find(|link| link.rel == "prev-archive");
            next = before.map(|link| path(&json!(link.href)));
        }
        (ids.len(), sizes)
    };
    let of = |name| path(&collection(&world, site, name)["feed_url"]);
    assert_eq!(walk(of("#blog")), (61, vec![50, 25, 25]));
    assert_eq!(walk(of("#news")), (62, vec![50, 25, 25]));
    // One for the page that only the other section has, and those of the blog.
    let whole = offering.den.page("/feed.atom");
    assert_eq!(walk(whole), (62, vec![50, 25, 25]));
}
