//! Documents that a site uses no more: they are forgotten about a month after they were last read, and no others.

use chrono::TimeDelta;
use sitebell::check::CheckSettings;

use super::{NONE, SIX, index, serve, sitemap};
use crate::den::Den;
use crate::fake_site::Reply;
use crate::following::Follower;

/// The paths of the documents that are remembered, in order.
async fn remembered(follower: &Follower) -> Vec<String> {
    let memory = follower.store().memory(follower.site()).await;
    let documents = memory.unwrap().unwrap().documents.into_keys();
    let mut paths: Vec<String> = documents.map(|url| url.path().to_owned()).collect();
    paths.sort();
    paths
}

#[tokio::test]
async fn a_part_that_is_listed_no_more_is_forgotten_after_a_month() {
    let den = Den::empty();
    serve(&den, "/sitemap.xml", index(&den, &["/1.xml", "/2.xml"]));
    serve(&den, "/1.xml", sitemap(&den, &SIX));
    serve(&den, "/2.xml", sitemap(&den, &["/x 2026-01-01"]));
    let follower = Follower::of(&den).await;
    follower.check().await;
    serve(&den, "/sitemap.xml", index(&den, &["/1.xml"]));
    follower.check().await;
    assert_eq!(follower.check().await.len(), 1, "its page is gone");
    follower.pass(TimeDelta::days(27));
    follower.check().await;
    assert!(remembered(&follower).await.contains(&"/2.xml".to_owned()));
    follower.pass(TimeDelta::days(1));
    follower.check().await;
    assert_eq!(remembered(&follower).await, ["/1.xml", "/sitemap.xml"]);
    // Should it come back, it is read like any other.
    serve(&den, "/sitemap.xml", index(&den, &["/1.xml", "/2.xml"]));
    assert_eq!(follower.check().await.len(), 1);
    assert_eq!(follower.check().await, NONE);
}

#[tokio::test]
async fn a_document_that_is_listed_is_remembered_however_long_it_waits_or_fails() {
    let den = Den::empty();
    let parts: Vec<String> = (0..30).map(|number| format!("/{number:02}.xml")).collect();
    let paths: Vec<&str> = parts.iter().map(String::as_str).collect();
    for (number, path) in paths.iter().enumerate() {
        let page = format!("/page{number} 2026-01-01");
        serve(&den, path, sitemap(&den, &[&page]));
    }
    serve(&den, "/inner.xml", index(&den, &paths[15..]));
    let outer = [&paths[..15], &["/inner.xml"]].concat();
    serve(&den, "/sitemap.xml", index(&den, &outer));
    let follower = Follower::of(&den).await;
    follower.check().await;
    let all = remembered(&follower).await;
    assert_eq!(all.len(), 32);
    // Only ten documents are read in each check from now on, an index fails, and a month goes by in between.
    let mut settings = CheckSettings::default();
    settings.limits.documents = 1;
    den.site.serve("/inner.xml", Reply::status(500));
    for _ in 0..3 {
        follower.pass(TimeDelta::days(31));
        assert_eq!(follower.check_with(&settings).await, NONE);
        assert_eq!(remembered(&follower).await, all);
    }
    // The whole site fails.
    den.site.serve("/sitemap.xml", Reply::status(500));
    for _ in 0..3 {
        follower.pass(TimeDelta::days(31));
        assert_eq!(follower.check().await, NONE);
        assert_eq!(remembered(&follower).await, all);
    }
    serve(&den, "/sitemap.xml", index(&den, &outer));
    serve(&den, "/inner.xml", index(&den, &paths[15..]));
    assert_eq!(follower.check().await, NONE);
}

#[tokio::test]
async fn the_changes_of_days_that_are_long_over_are_forgotten() {
    let den = Den::empty();
    let arc = |made_at: &str, paths: &[&str]| {
        let page =
            |path: &&str| serde_json::json!({"url": den.url(path).as_str(), "ai_indexable": true});
        let document = serde_json::json!({
            "arc_sitemap_version": "2.1", "site": den.url("/").as_str(), "generated_at": made_at,
            "pages": paths.iter().map(page).collect::<Vec<_>>(),
        });
        Reply::new(200, "application/json", document.to_string())
    };
    let day = "/arc-sitemap-deltas/2026-03-11.json";
    den.site
        .serve("/arc-sitemap.json", arc("2026-03-11T00:00:00Z", &["/a"]));
    den.site.serve(day, arc("2026-03-11T00:00:00Z", &["/b"]));
    let follower = Follower::of(&den).await;
    follower.check().await;
    assert!(remembered(&follower).await.contains(&day.to_owned()));
    follower.pass(TimeDelta::days(31));
    den.site.serve(
        "/arc-sitemap.json",
        arc("2026-04-11T00:00:00Z", &["/a", "/b"]),
    );
    assert_eq!(follower.check().await, NONE);
    assert_eq!(remembered(&follower).await, ["/arc-sitemap.json"]);
    assert_eq!(follower.check().await, NONE);
}

#[tokio::test]
async fn change_lists_that_are_closed_and_listed_are_never_read_again() {
    let den = Den::new();
    let (old, new) = ("/2026-01.xml", "/2026-02.xml");
    let closed = "from='2026-01-01' until='2026-02-01'";
    let open = "from='2026-02-01'";
    den.index(
        "/changelist.xml",
        "from='2026-01-01'",
        &[(old, closed), (new, open)],
    );
    den.change_list(old, closed, &["created /a 2026-01-05"]);
    den.change_list(new, open, &["created /b 2026-02-05"]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 2);
    for _ in 0..3 {
        follower.pass(TimeDelta::days(31));
        den.site.forget_requests();
        assert_eq!(follower.check().await, NONE);
        assert_eq!(den.site.requests_to(old).len(), 0);
        assert!(remembered(&follower).await.contains(&old.to_owned()));
    }
    // What replaces all of them leaves nothing behind.
    den.change_list(
        "/changelist.xml",
        "from='2026-01-01'",
        &["created /c 2026-06-20"],
    );
    assert_eq!(follower.check().await, ["created /c 2026-06-20"]);
    follower.pass(TimeDelta::days(31));
    assert_eq!(follower.check().await, NONE);
    let left = remembered(&follower).await;
    assert!(
        !left.iter().any(|path| path == old || path == new),
        "{left:?}"
    );
}
