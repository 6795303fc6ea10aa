//! SCP: sections with their snapshots and deltas.

use std::io::Write;
use std::sync::Arc;

use chrono::TimeDelta;
use sitebell::check::{CheckSettings, Checked};
use sitebell::fetch::{FetchSettings, Fetcher};
use sitebell::memory::Outcome;
use sitebell::site::Format;

use super::{NONE, NS, index, serve, sitemap};
use crate::ask::Ask;
use crate::den::{Den, collections, message, open_settings, run};
use crate::fake_site::Reply;
use crate::following::Follower;
use crate::names::Loopback;
use crate::world::World;

fn scp_file(den: &Den, kind: &str, pages: &[&str]) -> String {
    let head = format!(
        "{{\"collection\":{{\"id\":\"blog-1\",\"section\":\"blog\",{kind},\"version\":\"0.1\"}}}}"
    );
    let page = |page: &&str| {
        let (path, modified) = page.split_once(' ').unwrap();
        serde_json::json!({
            "url": den.url(path).as_str(), "title": format!("Page {path}"), "description": "d", "modified": modified,
            "language": "en", "content": [{"type": "text", "text": "t"}], "author": "Ann",
        })
        .to_string()
    };
    std::iter::once(head)
        .chain(pages.iter().map(page))
        .collect::<Vec<_>>()
        .join("\n")
}

fn scp_sitemap(den: &Den, offers: &[&str]) {
    scp_sitemap_at(den, "/sitemap.xml", offers);
}

fn scp_sitemap_at(den: &Den, path: &str, offers: &[&str]) {
    let offers: String = offers
        .iter()
        .map(|offer| offer.replace("URL", den.url("/").as_str()))
        .collect();
    let text = format!(
        "<urlset {NS} xmlns:scp='https://scp-protocol.org/schemas/sitemap/1.0'>
         <scp:section name='blog' updateFreq='daily' pages='~4'/>{offers}
         <url><loc>{}</loc></url></urlset>",
        den.url("/plain")
    );
    serve(den, path, text);
}

const SNAPSHOT: &str = "<scp:collection section='blog' type='snapshot' url='URLblog.scp' generated='2026-03-10T00:00:00Z' expires='2026-06-01T00:00:00Z' pages='4' size='1'/>";
const DELTA: &str = "<scp:delta section='blog' period='1' url='URLdelta1.scp' generated='2026-03-11T00:00:00Z' expires='2026-06-01T00:00:00Z' pages='1' size='1' since='2026-03-10T00:00:00Z'/>";
const GAP: &str = "<scp:delta section='blog' period='3' url='URLdelta3.scp' generated='2026-03-13T00:00:00Z' expires='2026-06-01T00:00:00Z' pages='1' size='1' since='2026-03-12T00:00:00Z'/>";
const NEW_SNAPSHOT: &str = "<scp:collection section='blog' type='snapshot' url='URLblog2.scp' generated='2026-03-13T00:00:00Z' expires='2026-06-01T00:00:00Z' pages='4' size='1'/>";

#[tokio::test]
async fn a_section_is_followed_by_its_snapshots_and_deltas() {
    let den = Den::empty();
    let old = [
        "/a 2026-03-01T00:00:00Z",
        "/b 2026-03-02T00:00:00Z",
        "/c 2026-03-03T00:00:00Z",
        "/d 2026-03-04T00:00:00Z",
    ];
    let snapshot = |at: &str, pages: &[&str]| {
        scp_file(
            &den,
            &format!("\"type\":\"snapshot\",\"generated\":\"{at}\""),
            pages,
        )
    };
    den.site.serve(
        "/blog.scp",
        Reply::text(snapshot("2026-03-10T00:00:00Z", &old)),
    );
    scp_sitemap(&den, &[SNAPSHOT]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 4);
    let row = follower.row().await;
    assert_eq!(row.format, Some(Format::Scp));
    // What follows without a gap is all that is read.
    let kind = "\"type\":\"delta\",\"generated\":\"2026-03-11T00:00:00Z\",\"since\":\"2026-03-10T00:00:00Z\"";
    den.site.serve(
        "/delta1.scp",
        Reply::text(scp_file(
            &den,
            kind,
            &["/b 2026-03-10T09:00:00Z", "/e 2026-03-10T10:00:00Z"],
        )),
    );
    scp_sitemap(&den, &[SNAPSHOT, DELTA]);
    den.site.forget_requests();
    assert_eq!(
        follower.check().await,
        [
            "updated /b 2026-03-10T09:00:00Z",
            "created /e 2026-03-10T10:00:00Z"
        ]
    );
    assert!(den.site.requests_to("/blog.scp").is_empty());
    assert_eq!(follower.check().await, NONE);
    // A gap is closed by the newest snapshot, without which nothing is known to be deleted.
    let kind = "\"type\":\"delta\",\"generated\":\"2026-03-13T00:00:00Z\",\"since\":\"2026-03-12T00:00:00Z\"";
    den.site
        .serve("/delta3.scp", Reply::text(scp_file(&den, kind, &[])));
    let new = [
        "/b 2026-03-10T09:00:00Z",
        "/c 2026-03-12T00:00:00Z",
        "/d 2026-03-04T00:00:00Z",
        "/e 2026-03-10T10:00:00Z",
    ];
    den.site.serve(
        "/blog2.scp",
        Reply::text(snapshot("2026-03-13T00:00:00Z", &new)),
    );
    scp_sitemap(&den, &[NEW_SNAPSHOT, GAP]);
    assert_eq!(follower.check().await, ["updated /c 2026-03-12T00:00:00Z"]);
    // It is read as a whole again when a week has gone by, and only then is the page gone for sure.
    follower.pass(TimeDelta::days(7));
    assert_eq!(
        follower.check().await,
        [format!("deleted /a {}", "2026-03-13T00:00:00Z")]
    );
}

/// A den with one section of four pages that is followed, and a delta is offered.
async fn section_with_a_delta() -> (Den, Follower, String) {
    let den = Den::empty();
    let old = [
        "/a 2026-03-01T00:00:00Z",
        "/b 2026-03-02T00:00:00Z",
        "/c 2026-03-03T00:00:00Z",
        "/d 2026-03-04T00:00:00Z",
    ];
    let kind = "\"type\":\"snapshot\",\"generated\":\"2026-03-10T00:00:00Z\"";
    den.site
        .serve("/blog.scp", Reply::text(scp_file(&den, kind, &old)));
    scp_sitemap(&den, &[SNAPSHOT]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 4);
    scp_sitemap(&den, &[SNAPSHOT, DELTA]);
    let kind = "\"type\":\"delta\",\"generated\":\"2026-03-11T00:00:00Z\",\"since\":\"2026-03-10T00:00:00Z\"";
    let delta = scp_file(&den, kind, &["/b 2026-03-10T09:00:00Z"]);
    (den, follower, delta)
}

/// Serves a delta from one day of March to another, with these pages, and gives the offer of it.
fn delta_of(den: &Den, since: u8, until: u8, pages: &[&str]) -> String {
    let (since, until) = (
        format!("2026-03-{since}T00:00:00Z"),
        format!("2026-03-{until}T00:00:00Z"),
    );
    let path = format!("delta-of-{until}.scp");
    let kind = format!("\"type\":\"delta\",\"generated\":\"{until}\",\"since\":\"{since}\"");
    den.site.serve(
        &format!("/{path}"),
        Reply::text(scp_file(den, &kind, pages)),
    );
    format!(
        "<scp:delta section='blog' period='1' url='URL{path}' generated='{until}' expires='2026-06-01T00:00:00Z' \
         pages='1' size='1' since='{since}'/>"
    )
}

/// What the last check said of a gap.
async fn gap(follower: &Follower) -> Option<String> {
    let problems = follower.last_check().await.problems;
    let mut problems = problems.into_iter();
    let gap = problems.find(|problem| problem.code.name() == "section-gap");
    gap.map(|problem| problem.message)
}

#[tokio::test]
async fn deltas_are_read_however_old_the_snapshot_is_to_which_they_do_not_reach_back() {
    let (den, follower, delta) = section_with_a_delta().await;
    den.site.serve("/delta1.scp", Reply::text(delta));
    assert_eq!(follower.check().await, ["updated /b 2026-03-10T09:00:00Z"]);
    follower.pass(TimeDelta::days(10));
    for day in 11..15 {
        let edit = format!("/c 2026-03-{day}T09:00:00Z");
        let offer = delta_of(&den, day, day + 1, &[&edit]);
        scp_sitemap(&den, &[SNAPSHOT, &offer]);
        assert_eq!(follower.check().await, [format!("updated {edit}")]);
        // Of what went nobody hears before there is a newer snapshot.
        let gap = gap(&follower).await.expect("a problem");
        assert!(gap.contains("up to 2026-03-10T00:00:00Z"), "{gap}");
        assert_eq!(follower.check().await, NONE);
    }
}

#[tokio::test]
async fn an_scp_gap_with_an_older_snapshot_is_told_and_what_is_behind_it_is_read() {
    let (den, follower, delta) = section_with_a_delta().await;
    den.site.serve("/delta1.scp", Reply::text(delta));
    scp_sitemap(&den, &[SNAPSHOT, DELTA]);
    assert_eq!(follower.check().await, ["updated /b 2026-03-10T09:00:00Z"]);
    assert_eq!(gap(&follower).await, None);
    let behind = delta_of(&den, 12, 13, &["/c 2026-03-12T09:00:00Z"]);
    scp_sitemap(&den, &[SNAPSHOT, &behind]);
    den.site.forget_requests();
    assert_eq!(follower.check().await, ["updated /c 2026-03-12T09:00:00Z"]);
    let told = gap(&follower).await.expect("a problem");
    assert!(told.contains("section “blog”"), "{told}");
    assert!(told.contains("from 2026-03-12T00:00:00Z on"), "{told}");
    assert_eq!(den.site.requests_to("/blog.scp").len(), 1);
    // It goes on from there.
    let next = delta_of(&den, 13, 14, &["/d 2026-03-13T09:00:00Z"]);
    scp_sitemap(&den, &[SNAPSHOT, &behind, &next]);
    assert_eq!(follower.check().await, ["updated /d 2026-03-13T09:00:00Z"]);
    assert_eq!(gap(&follower).await, None);
    // What happened in the gap is in the next snapshot.
    let pages = [
        "/a 2026-03-11T09:00:00Z",
        "/b 2026-03-10T09:00:00Z",
        "/c 2026-03-12T09:00:00Z",
        "/d 2026-03-13T09:00:00Z",
    ];
    let kind = "\"type\":\"snapshot\",\"generated\":\"2026-03-15T00:00:00Z\"";
    den.site
        .serve("/blog2.scp", Reply::text(scp_file(&den, kind, &pages)));
    let snapshot = NEW_SNAPSHOT.replace("2026-03-13", "2026-03-15");
    scp_sitemap(&den, &[&snapshot, &behind, &next]);
    assert_eq!(follower.check().await, ["updated /a 2026-03-11T09:00:00Z"]);
    assert_eq!(gap(&follower).await, None);
}

#[tokio::test]
async fn a_section_whose_first_reading_has_a_gap_is_read_to_its_end() {
    let (den, _, _) = section_with_a_delta().await;
    let behind = delta_of(&den, 12, 13, &["/c 2026-03-12T09:00:00Z"]);
    scp_sitemap(&den, &[SNAPSHOT, &behind]);
    let follower = Follower::of(&den).await;
    follower.pass(TimeDelta::days(3));
    let first = follower.check().await;
    assert_eq!(first.last().unwrap(), "updated /c 2026-03-12T09:00:00Z");
    assert!(gap(&follower).await.is_some());
    let next = delta_of(&den, 13, 14, &["/d 2026-03-13T09:00:00Z"]);
    scp_sitemap(&den, &[SNAPSHOT, &behind, &next]);
    assert_eq!(follower.check().await, ["updated /d 2026-03-13T09:00:00Z"]);
    assert_eq!(follower.check().await, NONE);
}

#[tokio::test]
async fn a_page_that_a_delta_brings_is_new_if_it_was_published_after_the_delta_begins() {
    let (den, follower, delta) = section_with_a_delta().await;
    den.site.serve("/delta1.scp", Reply::text(delta));
    follower.check().await;
    // Begins before the end of the last one, and has a page that was not in that.
    let kind = "\"type\":\"delta\",\"generated\":\"2026-03-12T00:00:00Z\",\"since\":\"2026-03-10T00:00:00Z\"";
    let pages = ["/new 2026-03-11T08:00:00Z", "/old 2026-03-11T09:00:00Z"];
    let file = scp_file(&den, kind, &pages);
    let published = |file: &str, title: &str, at: &str| {
        let (title, at) = (
            format!("\"title\":\"Page {title}\""),
            format!(",\"published\":\"{at}\""),
        );
        file.replace(&title, &format!("{title}{at}"))
    };
    let file = published(&file, "/new", "2026-03-10T10:00:00Z");
    let file = published(&file, "/old", "2026-03-09T10:00:00Z");
    den.site.serve("/delta2.scp", Reply::text(file));
    let second = DELTA.replace("delta1", "delta2");
    let second = second.replace("generated='2026-03-11", "generated='2026-03-12");
    scp_sitemap(&den, &[SNAPSHOT, DELTA, &second]);
    assert_eq!(
        follower.check().await,
        [
            "created /new 2026-03-10T10:00:00Z",
            "updated /old 2026-03-11T09:00:00Z"
        ]
    );
}

#[tokio::test]
async fn a_delta_that_could_not_be_read_is_read_at_the_next_check() {
    let (den, follower, delta) = section_with_a_delta().await;
    let cut = delta[..delta.len() - 9].to_owned();
    for broken in [Reply::status(500), Reply::text(cut), Reply::status(403)] {
        den.site.serve("/delta1.scp", broken);
        assert_eq!(follower.check().await, NONE);
        assert_eq!(follower.last_check().await.outcome, Some(Outcome::Partial));
    }
    den.site.serve("/delta1.scp", Reply::text(delta));
    assert_eq!(follower.check().await, ["updated /b 2026-03-10T09:00:00Z"]);
    assert_eq!(follower.check().await, NONE);
}

#[tokio::test]
async fn a_delta_that_is_not_there_has_no_changes() {
    let (den, follower, _) = section_with_a_delta().await;
    den.site.serve("/delta1.scp", Reply::status(404));
    assert_eq!(follower.check().await, NONE);
    let check = follower.last_check().await;
    assert_eq!(check.outcome, Some(Outcome::Unchanged));
    assert!(
        (check.problems.iter()).all(|problem| problem.code.name() == "only-a-list"),
        "{:?}",
        check.problems
    );
}

#[tokio::test]
async fn a_snapshot_from_the_future_hides_nothing() {
    let den = Den::empty();
    let snapshot = |path: &str, at: &str, pages: &[&str]| {
        let kind = format!("\"type\":\"snapshot\",\"generated\":\"{at}\"");
        den.site
            .serve(path, Reply::text(scp_file(&den, &kind, pages)));
    };
    let (a, b) = ("/a 2026-03-01T00:00:00Z", "/b 2026-03-02T00:00:00Z");
    snapshot("/blog.scp", "2027-03-10T00:00:00Z", &[a, b]);
    scp_sitemap(&den, &[&SNAPSHOT.replace("2026-03-10", "2027-03-10")]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 2);
    assert_eq!(follower.check().await, NONE);
    snapshot(
        "/blog2.scp",
        "2026-03-13T00:00:00Z",
        &["/a 2026-03-12T00:00:00Z", b],
    );
    scp_sitemap(&den, &[NEW_SNAPSHOT]);
    assert_eq!(follower.check().await, ["updated /a 2026-03-12T00:00:00Z"]);
}

#[tokio::test]
async fn a_section_whose_snapshots_have_expired_leaves_the_plain_sitemap() {
    let den = Den::empty();
    scp_sitemap(&den, &[&SNAPSHOT.replace("2026-06-01", "2026-03-01")]);
    let checked = den.check().await;
    assert_eq!(checked.site.format, Some(Format::Sitemap));
    assert_eq!(collections(&checked), ["/"]);
}

#[tokio::test]
async fn a_section_goes_on_by_its_deltas_when_its_snapshot_has_expired() {
    let (den, follower, delta) = section_with_a_delta().await;
    den.site.serve("/delta1.scp", Reply::text(delta));
    follower.pass(TimeDelta::days(10));
    scp_sitemap(
        &den,
        &[&SNAPSHOT.replace("2026-06-01", "2026-03-11"), DELTA],
    );
    assert_eq!(follower.check().await, ["updated /b 2026-03-10T09:00:00Z"]);
    assert_eq!(follower.check().await, NONE);
}

#[tokio::test]
async fn changes_in_the_place_of_a_snapshot_are_not_taken_for_all_there_is() {
    let (den, follower, delta) = section_with_a_delta().await;
    den.site.serve("/blog.scp", Reply::text(delta));
    scp_sitemap(&den, &[SNAPSHOT]);
    follower.pass(TimeDelta::days(10));
    for _ in 0..3 {
        assert_eq!(follower.check().await, NONE);
        assert_eq!(follower.last_check().await.outcome, Some(Outcome::Partial));
    }
}

#[tokio::test]
async fn a_section_without_a_snapshot_goes_on_if_it_is_known_and_is_told_otherwise() {
    let (den, follower, delta) = section_with_a_delta().await;
    den.site.serve("/delta1.scp", Reply::text(delta));
    scp_sitemap(&den, &[DELTA]);
    assert_eq!(follower.check().await, ["updated /b 2026-03-10T09:00:00Z"]);
    let stranger = Follower::of(&den).await;
    stranger.check().await;
    let problems = stranger.last_check().await.problems;
    let told = problems
        .iter()
        .find(|problem| problem.code.name() == "no-whole-list");
    let told = told.expect("a problem").message.clone();
    assert!(told.contains("no snapshot"), "{told}");
}

#[tokio::test]
async fn a_section_of_all_pages_is_left_out_where_there_are_others_and_that_is_told() {
    let (den, _, _) = section_with_a_delta().await;
    let all = SNAPSHOT.replace("section='blog'", "section='all'");
    let told = |checked: &Checked| {
        let problems = checked.problems.iter();
        let mut told = problems.filter(|problem| problem.code.name() == "section-of-all");
        told.next().map(|problem| problem.message.clone())
    };
    let sections = |checked: &Checked| {
        let ids = checked.collections.iter().map(|collection| &collection.id);
        let names = ids.map(|id| id.fragment().map(str::to_owned));
        names.collect::<Vec<_>>()
    };
    scp_sitemap(&den, &[&all, SNAPSHOT]);
    let checked = den.check().await;
    assert_eq!(sections(&checked), [Some("blog".to_owned())]);
    assert_eq!(
        told(&checked).as_deref(),
        Some("the section “all” has the pages of all others; those are followed, and it is not")
    );
    assert_eq!(den.site.requests_to("/blog.scp").len(), 2);
    // Where it is the only one that can be read, it is followed.
    scp_sitemap(&den, &[&all]);
    let checked = den.check().await;
    assert_eq!(sections(&checked), [Some("all".to_owned())]);
    assert_eq!(told(&checked), None);
}

#[tokio::test]
async fn sections_are_followed_whichever_sitemap_offers_them() {
    let (den, _, delta) = section_with_a_delta().await;
    let lines = Reply::text("Sitemap: /other.xml\nSitemap: /sitemap.xml");
    den.site.serve("/robots.txt", lines);
    serve(&den, "/other.xml", sitemap(&den, &["/plain 2026-01-01"]));
    scp_sitemap(&den, &[SNAPSHOT]);
    let follower = Follower::of(&den).await;
    follower.check().await;
    den.site.serve("/delta1.scp", Reply::text(delta));
    scp_sitemap(&den, &[SNAPSHOT, DELTA]);
    assert_eq!(follower.check().await, ["updated /b 2026-03-10T09:00:00Z"]);
}

/// The same offer for the section `shop`.
fn of_shop(offer: &str) -> String {
    let offer = offer.replace("section='blog'", "section='shop'");
    offer.replace("URL", "URLshop-")
}

/// Two sitemaps that robots.txt names, each with one section of two pages.
fn two_sitemaps_with_sections() -> Den {
    let den = Den::empty();
    let kind = "\"type\":\"snapshot\",\"generated\":\"2026-03-10T00:00:00Z\"";
    let blog = ["/a 2026-03-01T00:00:00Z", "/b 2026-03-02T00:00:00Z"];
    let shop = ["/c 2026-03-03T00:00:00Z", "/d 2026-03-04T00:00:00Z"];
    let serve = |path: &str, file: String| den.site.serve(path, Reply::text(file));
    serve("/blog.scp", scp_file(&den, kind, &blog));
    serve("/shop-blog.scp", scp_file(&den, kind, &shop));
    let kind = "\"type\":\"delta\",\"generated\":\"2026-03-11T00:00:00Z\",\"since\":\"2026-03-10T00:00:00Z\"";
    let news = scp_file(&den, kind, &["/d 2026-03-10T09:00:00Z"]);
    serve("/shop-delta1.scp", news);
    serve(
        "/robots.txt",
        "Sitemap: /blog.xml\nSitemap: /shop.xml".to_owned(),
    );
    scp_sitemap_at(&den, "/blog.xml", &[SNAPSHOT]);
    scp_sitemap_at(&den, "/shop.xml", &[&of_shop(SNAPSHOT)]);
    den
}

#[tokio::test]
async fn the_sections_of_several_sitemaps_are_all_followed_at_every_check() {
    let den = two_sitemaps_with_sections();
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 4);
    scp_sitemap_at(&den, "/shop.xml", &[&of_shop(SNAPSHOT), &of_shop(DELTA)]);
    assert_eq!(follower.check().await, ["updated /d 2026-03-10T09:00:00Z"]);
    assert_eq!(follower.check().await, NONE);
    assert_eq!(
        follower.last_check().await.outcome,
        Some(Outcome::Unchanged)
    );
}

#[tokio::test]
async fn a_sitemap_that_fails_hides_nothing_of_the_sections_of_another() {
    let den = two_sitemaps_with_sections();
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 4);
    let row = follower.row().await;
    den.site.serve("/blog.xml", Reply::status(500));
    scp_sitemap_at(&den, "/shop.xml", &[&of_shop(SNAPSHOT), &of_shop(DELTA)]);
    assert_eq!(follower.check().await, ["updated /d 2026-03-10T09:00:00Z"]);
    assert_eq!(follower.last_check().await.outcome, Some(Outcome::Partial));
    // Neither of the two stands in for the other.
    assert_eq!(follower.row().await.root, row.root);
    scp_sitemap_at(&den, "/blog.xml", &[SNAPSHOT]);
    den.site.serve("/shop.xml", Reply::status(500));
    assert_eq!(follower.check().await, NONE);
    assert_eq!(follower.last_check().await.outcome, Some(Outcome::Partial));
    scp_sitemap_at(&den, "/shop.xml", &[&of_shop(SNAPSHOT), &of_shop(DELTA)]);
    assert_eq!(follower.check().await, NONE);
    assert_eq!(
        follower.last_check().await.outcome,
        Some(Outcome::Unchanged)
    );
}

#[tokio::test]
async fn a_plain_sitemap_does_not_take_the_place_of_one_with_sections_that_fails() {
    let den = two_sitemaps_with_sections();
    den.site.serve("/shop.xml", Reply::status(500));
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 2);
    den.site.serve("/blog.xml", Reply::status(500));
    serve(&den, "/shop.xml", sitemap(&den, &["/plain 2026-01-01"]));
    assert_eq!(follower.check().await, NONE);
    assert_eq!(follower.last_check().await.outcome, Some(Outcome::Partial));
    assert_eq!(follower.row().await.format, Some(Format::Scp));
    scp_sitemap_at(&den, "/blog.xml", &[SNAPSHOT]);
    assert_eq!(follower.check().await, NONE);
    assert_eq!(
        follower.last_check().await.outcome,
        Some(Outcome::Unchanged)
    );
}

#[tokio::test]
async fn no_more_sections_are_read_than_the_operator_allows_collections() {
    let den = two_sitemaps_with_sections();
    let checked = den.check_with(|settings| settings.limits.collections = 1);
    let checked = checked.await;
    assert_eq!(collections(&checked).len(), 1);
    assert!(message(&checked, "limit-reached").contains("first 1 sections"));
    assert_eq!(den.site.requests_to("/shop-blog.scp").len(), 0);
}

#[tokio::test]
async fn a_section_that_two_sitemaps_offer_is_announced_once() {
    let den = two_sitemaps_with_sections();
    scp_sitemap_at(&den, "/shop.xml", &[SNAPSHOT]);
    let follower = Follower::of(&den).await;
    let told = async || {
        let problems = follower.last_check().await.problems;
        let mut codes = problems.iter().map(|problem| problem.code.name());
        codes.any(|code| code == "section-twice")
    };
    assert_eq!(follower.check().await.len(), 2);
    assert!(!told().await);
    // Nor is it when everything is looked for anew, with what else is offered under its name.
    scp_sitemap_at(
        &den,
        "/shop.xml",
        &[&SNAPSHOT.replace("blog.scp", "shop-blog.scp")],
    );
    follower.pass(TimeDelta::days(31));
    for _ in 0..2 {
        assert_eq!(follower.check().await, NONE);
        assert!(told().await);
    }
}

#[tokio::test]
async fn a_section_that_is_broken_leaves_the_plain_sitemap() {
    let den = Den::empty();
    den.site
        .serve("/blog.scp", Reply::text("{\"collection\":{}}\n"));
    scp_sitemap(&den, &[SNAPSHOT]);
    let follower = Follower::of(&den).await;
    assert_eq!(
        follower.check().await,
        ["created /plain 2026-03-11T12:00:00Z"]
    );
    let problems = follower.last_check().await.problems;
    assert!(
        problems
            .iter()
            .any(|problem| problem.code.name() == "scp-invalid")
    );
}

/// A section that is followed, and from now on has a delta that cannot be read; its sitemap lists these pages.
async fn section_that_breaks(plain: &[&str]) -> (Den, Follower) {
    let (den, follower, delta) = section_with_a_delta().await;
    let sum = format!("\"version\":\"0.1\",\"checksum\":\"{}\"", "0".repeat(64));
    let broken = delta.replace("\"version\":\"0.1\"", &sum);
    den.site.serve("/delta1.scp", Reply::text(broken));
    let offers = [SNAPSHOT, DELTA].concat();
    let scp = "xmlns:scp='https://scp-protocol.org/schemas/sitemap/1.0'";
    let offers = offers.replace("URL", den.url("/").as_str());
    let text = sitemap(&den, plain).replacen('>', &format!(" {scp}>{offers}"), 1);
    serve(&den, "/sitemap.xml", text);
    for _ in 0..3 {
        assert_eq!(follower.check().await, NONE);
        let check = follower.last_check().await;
        assert_eq!(check.outcome, Some(Outcome::Partial));
        let mut codes = check.problems.iter().map(|problem| problem.code.name());
        assert!(codes.any(|code| code == "scp-checksum"));
    }
    (den, follower)
}

/// The delta is there as it should be, with these pages.
fn mend(den: &Den, pages: &[&str]) {
    let kind = "\"type\":\"delta\",\"generated\":\"2026-03-15T00:00:00Z\",\"since\":\"2026-03-10T00:00:00Z\"";
    den.site
        .serve("/delta1.scp", Reply::text(scp_file(den, kind, pages)));
}

#[tokio::test]
async fn a_section_that_stays_broken_is_followed_by_the_plain_sitemap_until_it_is_mended() {
    let plain = [
        "/a 2026-03-01",
        "/b 2026-03-14",
        "/c 2026-02-01",
        "/e 2026-03-14",
    ];
    let (den, follower) = section_that_breaks(&plain).await;
    let row = follower.row().await;
    assert_eq!(
        follower.check().await,
        ["updated /b 2026-03-14", "created /e 2026-03-14"]
    );
    assert_eq!(follower.last_check().await.outcome, Some(Outcome::Partial));
    for _ in 0..10 {
        assert_eq!(follower.check().await, NONE);
    }
    let now = follower.row().await;
    assert_eq!((now.root, now.format), (row.root, row.format));
    // What the section told is not told again, and what is new to it is.
    mend(
        &den,
        &["/b 2026-03-14T09:00:00Z", "/e 2026-03-14T10:00:00Z"],
    );
    assert_eq!(follower.check().await, ["created /e 2026-03-14T10:00:00Z"]);
    assert_eq!(follower.check().await, NONE);
}

#[tokio::test]
async fn a_sitemap_that_is_dated_by_its_build_hides_nothing_of_a_broken_section() {
    let pages = ["/a", "/b", "/c", "/d", "/e", "/f"];
    let plain = pages.map(|page| format!("{page} 2026-03-15"));
    let (den, follower) = section_that_breaks(&plain.each_ref().map(String::as_str)).await;
    assert_eq!(follower.check().await, NONE);
    mend(&den, &["/b 2026-03-14T09:00:00Z"]);
    assert_eq!(follower.check().await, ["updated /b 2026-03-14T09:00:00Z"]);
}

#[tokio::test]
async fn sections_that_an_index_of_sitemaps_offers_are_followed() {
    let (den, _, delta) = section_with_a_delta().await;
    let offer = |offers: &[&str]| {
        let offers = offers.concat().replace("URL", den.url("/").as_str());
        let index = index(&den, &["/child.xml"]);
        let scp = "<sitemapindex xmlns:scp='https://scp-protocol.org/schemas/sitemap/1.0'";
        let index = index.replace("<sitemapindex", scp);
        let index = index.replace("</sitemapindex>", &format!("{offers}</sitemapindex>"));
        serve(&den, "/sitemap.xml", index);
    };
    offer(&[SNAPSHOT]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 4);
    den.site.serve("/delta1.scp", Reply::text(delta));
    offer(&[SNAPSHOT, DELTA]);
    assert_eq!(follower.check().await, ["updated /b 2026-03-10T09:00:00Z"]);
    assert_eq!(den.site.requests_to("/child.xml").len(), 0);
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An index over a plain sitemap and one that has nothing but sections, as their generator writes it.
fn index_with_sections_in_a_child(den: &Den, offers: &[&str]) {
    serve(den, "/posts.xml", sitemap(den, &["/plain 2026-01-01"]));
    serve(den, "/sitemap.xml", index(den, &["/posts.xml", "/scp.xml"]));
    let offers = offers.concat().replace("URL", den.url("/").as_str());
    let scp = "xmlns:scp='https://scp-protocol.org/schemas/sitemap/1.0'";
    serve(
        den,
        "/scp.xml",
        format!("<urlset {NS} {scp}>{offers}</urlset>"),
    );
}

#[tokio::test]
async fn sections_that_a_child_of_an_index_offers_are_followed() {
    let (den, _, delta) = section_with_a_delta().await;
    den.site.serve("/delta1.scp", Reply::text(delta));
    index_with_sections_in_a_child(&den, &[SNAPSHOT]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 4);
    assert_eq!(follower.row().await.format, Some(Format::Scp));
    den.site.forget_requests();
    index_with_sections_in_a_child(&den, &[SNAPSHOT, DELTA]);
    assert_eq!(follower.check().await, ["updated /b 2026-03-10T09:00:00Z"]);
    for path in ["/sitemap.xml", "/posts.xml"] {
        assert_eq!(den.site.requests_to(path).len(), 0);
    }
}

#[tokio::test]
async fn a_child_with_sections_that_fails_when_all_is_looked_for_anew_changes_nothing() {
    let (den, _, _) = section_with_a_delta().await;
    den.site
        .serve("/robots.txt", Reply::text("Sitemap: /sitemap.xml"));
    index_with_sections_in_a_child(&den, &[SNAPSHOT]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 4);
    follower.pass(TimeDelta::days(31));
    den.site.serve("/scp.xml", Reply::status(500));
    assert_eq!(follower.check().await, NONE);
    assert_eq!(follower.last_check().await.outcome, Some(Outcome::Partial));
    assert_eq!(follower.row().await.format, Some(Format::Scp));
}

#[tokio::test]
async fn a_site_whose_sections_in_a_child_are_of_no_use_is_followed_by_its_sitemaps() {
    let den = Den::empty();
    index_with_sections_in_a_child(&den, &[SNAPSHOT]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await, ["updated /plain 2026-01-01"]);
    serve(
        &den,
        "/posts.xml",
        sitemap(&den, &["/plain 2026-01-01", "/new 2026-03-11"]),
    );
    assert_eq!(follower.check().await, ["created /new 2026-03-11"]);
}

#[tokio::test]
async fn a_section_that_is_a_bomb_does_no_harm() {
    let den = Den::empty();
    let head = scp_file(
        &den,
        "\"type\":\"snapshot\",\"generated\":\"2026-03-10T00:00:00Z\"",
        &[],
    );
    let lines = |size: usize| [head.as_bytes(), b"\n", &vec![b'\n'; size]].concat();
    // One is larger than any other document may be, and one is smaller and still far too dense.
    let (large, small) = (64 * 1024 * 1024, 40 * 1024 * 1024);
    let zstd = zstd::encode_all(&lines(large)[..], 1).unwrap();
    let zstd = Reply::new(200, "application/zstd", zstd);
    scp_sitemap(&den, &[SNAPSHOT]);
    for bomb in [
        zstd.clone(),
        zstd.header("Content-Encoding", "zstd"),
        Reply::new(200, "application/gzip", gzipped(&lines(small))),
        Reply::text(lines(small)).gzip(),
        Reply::new(200, "application/gzip", gzipped(&lines(large))),
    ] {
        den.site.serve("/blog.scp", bomb);
        let checked = den.check().await;
        let problem =
            (checked.problems.iter()).find(|problem| problem.document.ends_with("/blog.scp"));
        let problem = problem.expect("a problem");
        assert_eq!(problem.code.name(), "bad-compression");
        assert!(problem.message.contains("100 to 1"), "{}", problem.message);
        assert_eq!(checked.site.format, Some(Format::Sitemap));
        assert_eq!(collections(&checked).len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_led_where_a_page_of_a_section_says_that_it_belongs() {
    let den = Den::empty();
    let kind = "\"type\":\"snapshot\",\"generated\":\"2026-03-10T00:00:00Z\"";
    let pages = ["/a 2026-03-01T00:00:00Z", "/b 2026-03-02T00:00:00Z"];
    let file = scp_file(&den, kind, &pages);
    let canonical = format!("\"canonical\":\"{}\",\"content\"", den.url("/blog/a"));
    let file = file.replacen("\"content\"", &canonical, 1);
    den.site.serve("/blog.scp", Reply::text(file));
    scp_sitemap(&den, &[SNAPSHOT]);
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let leads_to = |text: &str, path: &str| text.contains(&format!("{}\"", den.url(path)));
    for path in ["/feed.atom", "/"] {
        let answer = world.ask(Ask::get(&den.page(path)));
        let text = answer.text();
        assert!(leads_to(text, "/blog/a"), "{text}");
        assert!(leads_to(text, "/b"), "{text}");
        assert!(!leads_to(text, "/a"), "{text}");
    }
    // It is known by its own address all the same.
    let path = format!("/api/v1/sites/{site}/changes");
    let changes = world.ask(Ask::get(&path).token(&world.alice)).json(200);
    let urls: Vec<&str> = (changes["changes"].as_array().unwrap().iter())
        .map(|change| change["url"].as_str().unwrap())
        .collect();
    assert_eq!(urls, [den.url("/a").as_str(), den.url("/b").as_str()]);
}

#[tokio::test]
async fn a_snapshot_that_unpacks_to_more_than_the_operator_wants_is_refused_as_a_whole() {
    let den = Den::empty();
    let snapshot = |path: &str, at: &str, page: &str| {
        let kind = format!("\"type\":\"snapshot\",\"generated\":\"{at}\"");
        let others = (0..100).map(|n| format!("/{n} 2026-03-01T00:00:00Z"));
        let pages: Vec<String> = [page.to_owned()].into_iter().chain(others).collect();
        let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
        let file = scp_file(&den, &kind, &pages);
        let packed = zstd::encode_all(file.as_bytes(), 3).unwrap();
        den.site
            .serve(path, Reply::new(200, "application/zstd", packed));
        file.len() as u64
    };
    snapshot(
        "/blog.scp",
        "2026-03-10T00:00:00Z",
        "/a 2026-03-01T00:00:00Z",
    );
    scp_sitemap(&den, &[SNAPSHOT]);
    let follower = Follower::of(&den).await;
    follower.check().await;
    let size = snapshot(
        "/blog2.scp",
        "2026-03-13T00:00:00Z",
        "/a 2026-03-12T00:00:00Z",
    );
    scp_sitemap(&den, &[NEW_SNAPSHOT]);
    let mut settings = CheckSettings::default();
    settings.limits.unpacked_bytes = size - 1;
    for _ in 0..2 {
        assert_eq!(follower.check_with(&settings).await, NONE);
        let check = follower.last_check().await;
        assert_eq!(check.outcome, Some(Outcome::Partial));
        let mut problems = check.problems.iter();
        let told = problems.find(|problem| problem.code.name() == "too-large");
        let told = told.expect("a problem");
        assert!(told.document.ends_with("/blog2.scp"), "{}", told.document);
        let limit = format!("larger than {} bytes", size - 1);
        assert!(told.message.contains(&limit), "{}", told.message);
    }
    settings.limits.unpacked_bytes = size;
    assert_eq!(
        follower.check_with(&settings).await,
        ["updated /a 2026-03-12T00:00:00Z"]
    );
}

#[tokio::test]
async fn a_section_that_is_well_compressed_is_read() {
    let den = Den::empty();
    let pages: Vec<String> = (0..5_000)
        .map(|n| format!("/{n} 2026-03-01T00:00:00Z"))
        .collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let kind = "\"type\":\"snapshot\",\"generated\":\"2026-03-10T00:00:00Z\"";
    let file = scp_file(&den, kind, &pages);
    assert!(file.len() > 500_000);
    den.site.serve("/blog.scp", Reply::text(file).gzip());
    scp_sitemap(&den, &[SNAPSHOT]);
    let checked = den.check().await;
    assert_eq!(checked.site.format, Some(Format::Scp));
}

#[tokio::test]
async fn a_section_may_be_larger_than_other_documents_however_it_is_packed() {
    let den = Den::empty();
    let pages: Vec<String> = (0..1_000)
        .map(|n| format!("/{n} 2026-03-01T00:00:00Z"))
        .collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let kind = "\"type\":\"snapshot\",\"generated\":\"2026-03-10T00:00:00Z\"";
    let file = scp_file(&den, kind, &pages);
    scp_sitemap(&den, &[SNAPSHOT]);
    let check = async |reply: &Reply, unpacked_bytes: usize| {
        den.site.serve("/blog.scp", reply.clone());
        let mut settings = CheckSettings::default();
        settings.limits.unpacked_bytes = unpacked_bytes as u64;
        let fetching = FetchSettings {
            max_document_bytes: 20_000,
            ..open_settings()
        };
        let fetcher = Fetcher::with_lookup(fetching, Arc::new(Loopback)).unwrap();
        let checked = run(fetcher, den.url("/").as_str(), &settings).await;
        let checked = checked.unwrap();
        let mut problems = checked.problems.iter();
        let told = problems.find(|problem| problem.code.name() == "too-large");
        (
            checked.site.format,
            told.map(|problem| problem.message.clone()),
        )
    };
    let zstd = zstd::encode_all(file.as_bytes(), 3).unwrap();
    let zstd = Reply::new(200, "application/x-ndjson", zstd);
    let gzip = Reply::new(200, "application/x-ndjson", gzipped(file.as_bytes()));
    for packed in [
        zstd.clone(),
        zstd.header("Content-Encoding", "zstd"),
        gzip.clone(),
        gzip.header("Content-Encoding", "gzip"),
    ] {
        let (format, told) = check(&packed, file.len()).await;
        assert_eq!((format, told), (Some(Format::Scp), None));
        let (format, told) = check(&packed, file.len() - 1).await;
        assert_eq!(format, Some(Format::Sitemap));
        let limit = format!("larger than {} bytes", file.len() - 1);
        assert!(told.is_some_and(|told| told.contains(&limit)));
    }
    // On its way it is a document like any other.
    let (format, told) = check(&Reply::text(file.clone()), file.len()).await;
    assert_eq!(format, Some(Format::Sitemap));
    assert!(told.is_some_and(|told| told.contains("larger than 20000 bytes")));
}
