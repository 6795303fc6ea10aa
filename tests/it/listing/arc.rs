//! ARC sitemaps: checksums, days, and pages that want to be left alone.

use std::time::Duration;

use sitebell::memory::Outcome;
use sitebell::site::Format;

use super::{NONE, index, serve, sitemap, with};
use crate::den::Den;
use crate::fake_site::Reply;
use crate::following::Follower;

/// An ARC sitemap of these pages, made on this day.
fn arc(den: &Den, made_at: &str, pages: &[serde_json::Value]) -> Reply {
    let document = serde_json::json!({
        "arc_sitemap_version": "2.1", "site": den.url("/").as_str(), "generated_at": made_at, "pages": pages,
    });
    Reply::new(200, "application/json", document.to_string())
}

fn arc_page(den: &Den, path: &str, sum: &str) -> serde_json::Value {
    serde_json::json!({
        "url": den.url(path).as_str(), "ai_indexable": true, "lastmod": "2026-03-01T00:00:00Z", "ai_checksum": sum,
        "ai_summary": format!("All about {path}"), "ai_tags": ["fox"], "ai_snapshot": {"page": "p", "title": format!("Page {path}")},
    })
}

#[tokio::test]
async fn an_arc_sitemap_is_followed_by_checksums_and_days() {
    let den = Den::empty();
    let made_at = "2026-03-11T00:00:00Z";
    let page = |path: &str, sum: &str| arc_page(&den, path, sum);
    let mut pages = vec![
        page("/a", "1"),
        page("/b", "1"),
        page("/c", "1"),
        page("/d", "1"),
    ];
    den.site
        .serve("/arc-sitemap.json", arc(&den, made_at, &pages));
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 4);
    let row = follower.row().await;
    assert_eq!(row.format, Some(Format::Arc));
    // Today's changes are in a document of their own.
    den.site.serve(
        "/arc-sitemap-deltas/2026-03-12.json",
        arc(
            &den,
            "2026-03-12T00:00:00Z",
            &[page("/b", "2"), page("/e", "1")],
        ),
    );
    let told = follower.check().await;
    assert_eq!(
        told,
        [
            "created /e 2026-03-01T00:00:00Z",
            "updated /b 2026-03-11T00:00:00Z"
        ]
    );
    let changes = follower.changes().await;
    let last = &changes.last().unwrap().change;
    assert_eq!(last.title.as_deref(), Some("Page /b"));
    assert_eq!(last.details.summary.as_deref(), Some("All about /b"));
    assert_eq!(last.details.tags, ["fox"]);
    // A page that turns private is forgotten, and nobody hears of it.
    pages[1]["ai_indexable"] = false.into();
    den.site
        .serve("/arc-sitemap-deltas/2026-03-12.json", Reply::status(404));
    den.site.serve(
        "/arc-sitemap.json",
        arc(
            &den,
            "2026-03-13T00:00:00Z",
            &[pages, vec![page("/e", "1")]].concat(),
        ),
    );
    for _ in 0..3 {
        assert_eq!(follower.check().await, NONE);
    }
    let changes = follower.changes().await;
    let of_b = changes.iter().filter(|row| row.change.url.ends_with("/b"));
    assert!(of_b.clone().count() > 0);
    for row in of_b {
        assert_eq!(
            (&row.change.title, &row.change.details.summary),
            (&None, &None)
        );
    }
}

#[tokio::test]
async fn an_arc_sitemap_is_known_by_its_version_wherever_that_stands() {
    let den = Den::empty();
    let pages: Vec<_> = (0..100)
        .map(|number| arc_page(&den, &format!("/{number}"), "1").to_string())
        .collect();
    let site = den.url("/");
    let text = format!(
        r#"{{"pages":[{}],"site":"{site}","generated_at":"2026-03-10T00:00:00Z","arc_sitemap_version":"2.1"}}"#,
        pages.join(",")
    );
    assert!(text.len() > 16 * 1024);
    let reply = Reply::new(200, "application/json", text);
    den.site.serve("/arc-sitemap.json", reply);
    let checked = den.check().await;
    assert_eq!(checked.site.format, Some(Format::Arc));
    let pages = checked.collections[0].pages.as_ref().unwrap();
    assert_eq!(pages.sighted.as_ref().unwrap().len(), 100);
}

#[tokio::test]
async fn a_pace_that_a_site_asks_for_is_kept_from_the_list_on_and_in_later_checks() {
    let den = Den::empty();
    let gap = Duration::from_millis(50);
    let pages = [arc_page(&den, "/a", "1"), arc_page(&den, "/b", "1")];
    let list = serde_json::json!({
        "arc_sitemap_version": "2.1", "site": den.url("/").as_str(), "generated_at": "2026-03-09T00:00:00Z",
        "crawl_rate": "20/s", "pages": pages,
    });
    let reply = Reply::new(200, "application/json", list.to_string());
    den.site.serve("/arc-sitemap.json", reply.etag("\"1\""));
    let mut follower = Follower::of(&den).await;
    for _ in 0..2 {
        den.site.forget_requests();
        follower.check().await;
        let requests = den.site.requests();
        let from_list = requests
            .iter()
            .skip_while(|seen| seen.path != "/arc-sitemap.json");
        let times: Vec<_> = from_list.map(|seen| seen.at).collect();
        // The list, and a document for each day since it was made.
        assert!(times.len() >= 4, "{:?}", den.site.paths());
        for pair in times.windows(2) {
            assert!(pair[1] - pair[0] >= gap, "{:?}", pair[1] - pair[0]);
        }
        // Whoever starts anew has forgotten the pace, and hears of it with a list that has not changed.
        follower.restart().await;
    }
    assert!(
        den.site
            .requests_to("/arc-sitemap.json")
            .iter()
            .all(|seen| seen.header("if-none-match").is_some())
    );
}

#[tokio::test]
async fn the_changes_of_a_day_overrule_the_list_that_they_follow() {
    let den = Den::empty();
    let pages = [arc_page(&den, "/a", "1"), arc_page(&den, "/b", "1")];
    den.site.serve(
        "/arc-sitemap.json",
        arc(&den, "2026-03-11T00:00:00Z", &pages),
    );
    let follower = Follower::of(&den).await;
    follower.check().await;
    let day = |day: &str, pages: &[serde_json::Value], tag: &str| {
        let reply = arc(&den, &format!("{day}T00:00:00Z"), pages).etag(tag);
        den.site
            .serve(&format!("/arc-sitemap-deltas/{day}.json"), reply);
    };
    let changed = [arc_page(&den, "/b", "2"), arc_page(&den, "/c", "1")];
    day("2026-03-12", &changed, "\"1\"");
    assert_eq!(follower.check().await.len(), 2);
    // The list still has the old checksum.
    assert_eq!(follower.check().await, NONE);
    day("2026-03-13", &[arc_page(&den, "/c", "2")], "\"1\"");
    assert_eq!(follower.check().await, ["updated /c 2026-03-14T12:00:00Z"]);
    for _ in 0..3 {
        assert_eq!(follower.check().await, NONE);
    }
}

#[tokio::test]
async fn a_page_that_is_listed_twice_is_one_page_with_the_newer_date() {
    let den = Den::empty();
    serve(&den, "/sitemap.xml", index(&den, &["/1.xml", "/2.xml"]));
    let lists = |old: &str, new: &str| {
        let twice = |date: &str| {
            let page = format!("/a {date}");
            sitemap(&den, &with(&[page.as_str()], &[]))
        };
        serve(&den, "/1.xml", twice(old));
        serve(&den, "/2.xml", twice(new));
    };
    lists("2026-01-01", "2026-02-01");
    let follower = Follower::of(&den).await;
    let first = follower.check().await;
    assert_eq!(first.last().unwrap(), "updated /a 2026-02-01");
    assert_eq!(follower.check().await, NONE);
    lists("2026-02-01", "2026-01-01");
    assert_eq!(follower.check().await, NONE);
    lists("2026-03-01", "2026-02-01");
    assert_eq!(follower.check().await, ["updated /a 2026-03-01"]);
    assert_eq!(follower.check().await, NONE);
}

#[tokio::test]
async fn a_page_that_one_of_its_entries_hides_is_hidden() {
    let den = Den::empty();
    let list = |pages: &[serde_json::Value]| {
        let reply = arc(&den, "2026-03-11T00:00:00Z", pages);
        den.site.serve("/arc-sitemap.json", reply);
    };
    let mut hidden = arc_page(&den, "/a", "1");
    hidden["auth_required"] = true.into();
    let shown = arc_page(&den, "/a", "2");
    let other = arc_page(&den, "/b", "1");
    list(&[shown.clone(), hidden.clone(), other.clone()]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await, ["updated /b 2026-03-01T00:00:00Z"]);
    assert_eq!(follower.check().await, NONE);
    // Shown for a while, and then hidden again by one of two.
    list(&[shown.clone(), other.clone()]);
    assert_eq!(follower.check().await.len(), 1);
    list(&[hidden, arc_page(&den, "/a", "3"), other]);
    for _ in 0..3 {
        assert_eq!(follower.check().await, NONE);
    }
}

#[tokio::test]
async fn a_page_that_comes_back_hidden_is_forgotten_as_it_was_before() {
    let den = Den::empty();
    let list = |made_at: &str, pages: &[serde_json::Value]| {
        den.site
            .serve("/arc-sitemap.json", arc(&den, made_at, pages));
    };
    let [fox, owl] = ["/fox", "/owl"].map(|path| arc_page(&den, path, "1"));
    list("2026-03-11T00:00:00Z", &[fox.clone(), owl.clone()]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 2);
    list("2026-03-12T00:00:00Z", std::slice::from_ref(&owl));
    assert_eq!(follower.check().await, NONE);
    assert_eq!(follower.check().await.len(), 1);
    let words = async || {
        let changes = follower.changes().await;
        let of_fox = changes
            .into_iter()
            .filter(|row| row.change.url.ends_with("/fox"));
        let mut words: Vec<String> = Vec::new();
        for row in of_fox {
            words.extend(row.change.title);
            words.extend(row.change.details.summary);
            words.extend(row.change.details.tags);
        }
        words
    };
    let all = ["Page /fox", "All about /fox", "fox", "Page /fox"];
    assert_eq!(words().await, all);
    let mut hidden = fox;
    hidden["ai_indexable"] = false.into();
    list("2026-03-14T00:00:00Z", &[hidden, owl]);
    assert_eq!(follower.check().await, NONE);
    assert_eq!(words().await, NONE);
    // Of the other one it is still told what it is.
    let changes = follower.changes().await;
    let owl = changes.iter().find(|row| row.change.url.ends_with("/owl"));
    assert_eq!(owl.unwrap().change.title.as_deref(), Some("Page /owl"));
}

#[tokio::test]
async fn a_page_with_two_checksums_is_not_edited_at_every_check() {
    let den = Den::empty();
    let pages = ["1", "2", "3"].map(|sum| arc_page(&den, "/a", sum));
    den.site.serve(
        "/arc-sitemap.json",
        arc(&den, "2026-03-11T00:00:00Z", &pages),
    );
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 1);
    for _ in 0..3 {
        assert_eq!(follower.check().await, NONE);
    }
}

#[tokio::test]
async fn a_page_that_is_edited_twice_under_one_date_is_told_at_two_times() {
    let den = Den::empty();
    let serve = |sum: &str| {
        let pages = [arc_page(&den, "/a", sum), arc_page(&den, "/b", "1")];
        let made_at = "2026-03-11T00:00:00Z";
        den.site
            .serve("/arc-sitemap.json", arc(&den, made_at, &pages));
    };
    serve("1");
    let follower = Follower::of(&den).await;
    follower.check().await;
    serve("2");
    assert_eq!(follower.check().await, ["updated /a 2026-03-11T00:00:00Z"]);
    serve("3");
    assert_eq!(follower.check().await, ["updated /a 2026-03-13T12:00:00Z"]);
    serve("4");
    assert_eq!(follower.check().await, ["updated /a 2026-03-14T12:00:00Z"]);
}

#[tokio::test]
async fn an_arc_sitemap_may_be_old_and_is_still_all_that_there_is_to_read() {
    let den = Den::empty();
    let pages = [arc_page(&den, "/a", "1"), arc_page(&den, "/b", "1")];
    let made_at = "2026-01-01T00:00:00Z";
    den.site
        .serve("/arc-sitemap.json", arc(&den, made_at, &pages));
    let follower = Follower::of(&den).await;
    follower.check().await;
    for _ in 0..2 {
        assert_eq!(follower.check().await, NONE);
        let check = follower.last_check().await;
        assert_eq!(check.outcome, Some(Outcome::Unchanged), "{}", check.summary);
    }
    // A page may be in the changes of a day that are no longer asked for, so nothing is known to be gone.
    den.site
        .serve("/arc-sitemap.json", arc(&den, made_at, &pages[..1]));
    for _ in 0..3 {
        assert_eq!(follower.check().await, NONE);
    }
    // Until there is a list of these days.
    let made_at = "2026-03-17T00:00:00Z";
    den.site
        .serve("/arc-sitemap.json", arc(&den, made_at, &pages[..1]));
    assert_eq!(follower.check().await, NONE);
    assert_eq!(follower.check().await, ["deleted /b 2026-03-17T00:00:00Z"]);
}

#[tokio::test]
async fn a_host_that_answers_every_address_with_a_page_has_no_changes_of_a_day() {
    let den = Den::empty();
    let page = |path: &str| arc_page(&den, path, "1");
    let list = |pages: &[serde_json::Value]| {
        let reply = arc(&den, "2026-03-10T00:00:00Z", pages);
        den.site.serve("/arc-sitemap.json", reply);
    };
    let day = |day: &str| format!("/arc-sitemap-deltas/2026-03-{day}.json");
    for number in 10..20 {
        den.html(&day(&number.to_string()), "<title>Welcome</title>");
    }
    list(&[page("/a"), page("/b"), page("/c")]);
    let follower = Follower::of(&den).await;
    follower.check().await;
    list(&[page("/a"), page("/b")]);
    assert_eq!(follower.check().await, NONE);
    let check = follower.last_check().await;
    assert_eq!(check.outcome, Some(Outcome::Unchanged), "{}", check.summary);
    assert_eq!(follower.check().await, ["deleted /c 2026-03-10T00:00:00Z"]);
    // What was the changes of a day and is a page now cannot be read, which is another thing.
    den.site
        .serve(&day("13"), arc(&den, "2026-03-13T00:00:00Z", &[page("/d")]));
    assert_eq!(follower.check().await.len(), 1);
    den.html(&day("13"), "<title>Welcome</title>");
    for _ in 0..2 {
        assert_eq!(follower.check().await, NONE);
        assert_eq!(follower.last_check().await.outcome, Some(Outcome::Partial));
    }
}

#[tokio::test]
async fn a_day_that_may_not_be_read_for_now_is_not_a_day_without_changes() {
    let den = Den::empty();
    let pages = [arc_page(&den, "/a", "1"), arc_page(&den, "/b", "1")];
    let list = arc(&den, "2026-03-11T00:00:00Z", &pages).etag("\"1\"");
    den.site.serve("/arc-sitemap.json", list);
    let follower = Follower::of(&den).await;
    follower.check().await;
    let day = "/arc-sitemap-deltas/2026-03-12.json";
    for status in [429, 403, 408, 503] {
        den.site.serve(day, Reply::status(status));
        assert_eq!(follower.check().await, NONE, "{status}");
        let outcome = follower.last_check().await.outcome;
        assert_eq!(outcome, Some(Outcome::Partial), "{status}");
    }
    let changed = [arc_page(&den, "/b", "2")];
    den.site
        .serve(day, arc(&den, "2026-03-12T00:00:00Z", &changed));
    assert_eq!(follower.check().await.len(), 1);
    assert_eq!(follower.check().await, NONE);
}

#[tokio::test]
async fn a_day_that_is_over_is_not_asked_for_again_while_the_list_is_as_it_was() {
    let den = Den::empty();
    let pages = [arc_page(&den, "/a", "1"), arc_page(&den, "/b", "1")];
    let list = |sum: &str| {
        let pages = [pages[0].clone(), arc_page(&den, "/b", sum)];
        let reply = arc(&den, "2026-03-11T00:00:00Z", &pages);
        let tag = format!("\"{sum}\"");
        den.site.serve("/arc-sitemap.json", reply.etag(tag));
    };
    let day = |day: &str| format!("/arc-sitemap-deltas/2026-03-{day}.json");
    list("1");
    let follower = Follower::of(&den).await;
    follower.check().await;
    let changed = [arc_page(&den, "/b", "2"), arc_page(&den, "/c", "1")];
    den.site
        .serve(&day("12"), arc(&den, "2026-03-12T00:00:00Z", &changed));
    assert_eq!(follower.check().await.len(), 2);
    // A day may still grow as long as it is not over.
    let changed = [&changed[..], &[arc_page(&den, "/d", "1")]].concat();
    den.site
        .serve(&day("12"), arc(&den, "2026-03-12T00:00:00Z", &changed));
    assert_eq!(follower.check().await.len(), 1);
    for _ in 0..3 {
        den.site.forget_requests();
        assert_eq!(follower.check().await, NONE);
        assert_eq!(
            follower.last_check().await.outcome,
            Some(Outcome::Unchanged)
        );
    }
    let days = ["14", "15", "16"].map(day);
    let paths = den.site.paths();
    assert_eq!(paths[paths.len() - 3..], days, "{paths:?}");
    assert!(!paths.contains(&day("12")), "{paths:?}");
    // A list that comes anew with its old words is held against all days again.
    den.site.forget_requests();
    let reply = arc(&den, "2026-03-11T00:00:00Z", &pages);
    den.site.serve("/arc-sitemap.json", reply.etag("\"3\""));
    assert_eq!(follower.check().await, NONE);
    assert!(den.site.paths().contains(&day("12")));
}

#[tokio::test]
async fn an_arc_sitemap_is_read_wherever_robots_txt_says_it_is() {
    let den = Den::empty();
    den.site
        .serve("/robots.txt", Reply::text("Sitemap: /data/sitemap.xml"));
    let arc = |pages: &[(&str, &str)]| {
        let page = |(path, sum): &(&str, &str)| serde_json::json!({"url": den.url(path).as_str(), "ai_indexable": true, "ai_checksum": sum});
        let arc = serde_json::json!({
            "arc_sitemap_version": "2.1", "site": den.url("/").as_str(), "generated_at": "2026-03-10T00:00:00Z",
            "pages": pages.iter().map(page).collect::<Vec<_>>(),
        });
        den.site
            .serve("/data/sitemap.xml", Reply::text(arc.to_string()));
    };
    arc(&[("/a", "1"), ("/b", "1")]);
    let follower = Follower::of(&den).await;
    follower.check().await;
    assert_eq!(follower.row().await.format, Some(Format::Arc));
    arc(&[("/a", "1"), ("/b", "2")]);
    assert_eq!(follower.check().await.len(), 1);
}
