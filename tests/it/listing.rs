//! Sites that list their pages instead of telling their changes: how the list is found, and what becomes of two of them.

use std::io::Write;
use std::sync::Arc;

use chrono::TimeDelta;
use sitebell::check::{CheckSettings, check_site};
use sitebell::memory::Outcome;
use sitebell::site::Format;

use crate::ask::Ask;
use crate::den::{Den, codes, collections, fetcher, urlset};
use crate::fake_site::Reply;
use crate::following::Follower;
use crate::world::World;

const NS: &str = "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'";

/// A sitemap of pages such as `/a 2026-03-01`.
fn sitemap(den: &Den, pages: &[&str]) -> String {
    let entries = pages.iter().map(|page| {
        let (path, lastmod) = page.split_once(' ').unwrap_or((page, ""));
        let loc = den.url(path);
        match lastmod {
            "" => format!("<url><loc>{loc}</loc></url>"),
            lastmod => format!("<url><loc>{loc}</loc><lastmod>{lastmod}</lastmod></url>"),
        }
    });
    format!("<urlset {NS}>{}</urlset>", entries.collect::<String>())
}

fn index(den: &Den, children: &[&str]) -> String {
    let children = children
        .iter()
        .map(|path| format!("<sitemap><loc>{}</loc></sitemap>", den.url(path)));
    format!(
        "<sitemapindex {NS}>{}</sitemapindex>",
        children.collect::<String>()
    )
}

fn serve(den: &Den, path: &str, text: String) {
    den.site.serve(path, Reply::xml(text));
}

const SIX: [&str; 6] = [
    "/a 2026-01-01",
    "/b 2026-01-02",
    "/c 2026-01-03",
    "/d 2026-01-04",
    "/e 2026-01-05",
    "/f 2026-01-06",
];

/// The six pages, with some of them in another way, or not at all.
fn with<'a>(changes: &[&'a str], without: &[&str]) -> Vec<&'a str> {
    let path = |page: &str| page.split(' ').next().unwrap_or_default().to_owned();
    let changed: Vec<String> = changes.iter().map(|page| path(page)).collect();
    let kept = SIX
        .iter()
        .filter(|page| !changed.contains(&path(page)) && !without.contains(&path(page).as_str()));
    kept.copied().chain(changes.iter().copied()).collect()
}

const NONE: [String; 0] = [];

#[tokio::test]
async fn a_site_with_a_sitemap_is_followed() {
    let den = Den::empty();
    den.html("/", "<title>The Fox Den</title>");
    serve(&den, "/sitemap.xml", sitemap(&den, &SIX));
    let follower = Follower::of(&den).await;
    let first = follower.check().await;
    assert_eq!(first.len(), 6);
    assert_eq!(first[5], "updated /f 2026-01-06");
    let row = follower
        .store()
        .site(follower.site())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (row.format, row.title.as_deref()),
        (Some(Format::Sitemap), Some("The Fox Den"))
    );
    // Edited, added, removed.
    serve(
        &den,
        "/sitemap.xml",
        sitemap(
            &den,
            &with(&["/b 2026-03-11T10:00:00Z", "/g 2026-03-11"], &["/a"]),
        ),
    );
    assert_eq!(
        follower.check().await,
        ["created /g 2026-03-11", "updated /b 2026-03-11T10:00:00Z"]
    );
    assert_eq!(follower.check().await, ["deleted /a 2026-03-13T12:00:00Z"]);
    assert_eq!(follower.check().await, NONE);
    assert_eq!(
        follower.last_check().await.outcome,
        Some(Outcome::Unchanged)
    );
}

#[tokio::test]
async fn a_server_that_says_nothing_has_changed_is_believed() {
    let den = Den::empty();
    den.site.serve(
        "/sitemap.xml",
        Reply::xml(sitemap(&den, &SIX)).etag("\"1\""),
    );
    let follower = Follower::of(&den).await;
    follower.check().await;
    den.site.forget_requests();
    assert_eq!(follower.check().await, NONE);
    assert_eq!(den.site.paths(), ["/sitemap.xml"]);
    assert_eq!(
        den.site.requests()[0].header("if-none-match"),
        Some("\"1\"")
    );
    serve(
        &den,
        "/sitemap.xml",
        sitemap(&den, &with(&["/g 2026-03-12"], &[])),
    );
    assert_eq!(follower.check().await, ["created /g 2026-03-12"]);
}

#[tokio::test]
async fn pages_are_recalled_only_when_a_list_has_changed() {
    let den = Den::empty();
    let tagged = |path: &str, text: String, tag: &str| {
        den.site.serve(path, Reply::xml(text).etag(tag));
    };
    tagged("/sitemap.xml", index(&den, &["/1.xml", "/2.xml"]), "\"1\"");
    tagged("/1.xml", sitemap(&den, &SIX), "\"1\"");
    tagged("/2.xml", sitemap(&den, &["/x 2026-01-01"]), "\"1\"");
    let follower = Follower::of(&den).await;
    follower.check().await;
    let read_by = async || {
        let memory = follower.store().memory(follower.site()).await;
        let memory = memory.unwrap().unwrap();
        let (settings, now) = (
            CheckSettings::default(),
            "2026-03-12T00:00:00Z".parse().unwrap(),
        );
        let (fetcher, quiet) = (fetcher(), Arc::new(|_: &url::Url| {}));
        let checked = check_site(&fetcher, &memory.url, Some(&memory), &settings, now, quiet);
        assert!(checked.await.unwrap().is_complete);
        memory.collections[0]
            .pages
            .as_ref()
            .unwrap()
            .known
            .is_recalled()
    };
    assert!(!read_by().await, "nothing has changed");
    assert_eq!(follower.check().await, NONE);
    assert_eq!(
        follower.last_check().await.outcome,
        Some(Outcome::Unchanged)
    );
    assert!(!read_by().await, "still nothing");
    tagged("/2.xml", sitemap(&den, &[]), "\"2\"");
    assert!(read_by().await, "a list has changed");
    // As long as a page is missing, what has not changed is news.
    assert_eq!(follower.check().await, NONE);
    assert!(read_by().await, "a page is missing");
    assert_eq!(follower.check().await.len(), 1);
    assert!(!read_by().await, "it was told");
}

#[tokio::test]
async fn what_is_known_outlives_a_restart() {
    let den = Den::empty();
    serve(&den, "/sitemap.xml", sitemap(&den, &SIX));
    let mut follower = Follower::of(&den).await;
    follower.check().await;
    follower.restart().await;
    serve(
        &den,
        "/sitemap.xml",
        sitemap(&den, &with(&["/b 2026-03-11"], &["/a"])),
    );
    assert_eq!(follower.check().await, ["updated /b 2026-03-11"]);
    follower.restart().await;
    assert_eq!(follower.check().await.len(), 1);
}

#[tokio::test]
async fn an_index_is_one_list_whatever_its_parts_do() {
    let den = Den::empty();
    den.site.serve(
        "/robots.txt",
        Reply::text("User-agent: *\nsitemap: /maps/index.xml\n"),
    );
    serve(
        &den,
        "/maps/index.xml",
        index(&den, &["/maps/1.xml", "/maps/2.xml.gz"]),
    );
    serve(&den, "/maps/1.xml", sitemap(&den, &SIX));
    let second = sitemap(&den, &["/x 2026-02-01", "/y 2026-02-02"]);
    den.site
        .serve("/maps/2.xml.gz", Reply::xml(second.clone()).gzip());
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 8);
    // One part fails, and the other loses a page: nobody can know where that page is now.
    serve(&den, "/maps/1.xml", sitemap(&den, &SIX[1..]));
    den.site.serve("/maps/2.xml.gz", Reply::status(500));
    for _ in 0..3 {
        assert_eq!(follower.check().await, NONE);
        assert_eq!(follower.last_check().await.outcome, Some(Outcome::Partial));
    }
    // It is in the other part.
    den.site.serve(
        "/maps/2.xml.gz",
        Reply::xml(sitemap(
            &den,
            &["/x 2026-02-01", "/y 2026-02-02", "/a 2026-01-01"],
        )),
    );
    assert_eq!(follower.check().await, NONE);
    assert_eq!(follower.check().await, NONE);
    // A part that is gone from the index takes its pages with it, after two readings.
    serve(&den, "/maps/index.xml", index(&den, &["/maps/1.xml"]));
    assert_eq!(follower.check().await, NONE);
    assert_eq!(follower.check().await.len(), 3);
}

#[tokio::test]
async fn a_list_that_breaks_off_changes_nothing() {
    let den = Den::empty();
    serve(&den, "/sitemap.xml", sitemap(&den, &SIX));
    let follower = Follower::of(&den).await;
    follower.check().await;
    let new = sitemap(&den, &with(&["/g 2026-03-11"], &["/a", "/b"]));
    for broken in [
        new[..new.len() - 9].to_owned(),
        "<html><title>Not found</title></html>".to_owned(),
        String::new(),
    ] {
        serve(&den, "/sitemap.xml", broken);
        assert_eq!(follower.check().await, NONE);
        assert_eq!(follower.last_check().await.outcome, Some(Outcome::Failed));
    }
    serve(&den, "/sitemap.xml", format!("<urlset {NS}/>"));
    assert_eq!(follower.check().await, NONE);
    serve(&den, "/sitemap.xml", new);
    assert_eq!(follower.check().await, ["created /g 2026-03-11"]);
}

#[tokio::test]
async fn dates_of_builds_and_other_spellings_announce_nothing() {
    let den = Den::empty();
    let built = |day: &str, ending: &str| {
        let pages: Vec<String> = (0..8)
            .map(|n| format!("/p{n}{ending} 2026-03-{day}T00:00:00Z"))
            .collect();
        let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
        serve(&den, "/sitemap.xml", sitemap(&den, &pages));
    };
    built("01", "/");
    let follower = Follower::of(&den).await;
    follower.check().await;
    for (day, ending) in [("11", "/"), ("12", ""), ("13", ".html"), ("13", ".html")] {
        built(day, ending);
        assert_eq!(follower.check().await, NONE, "{day} {ending}");
        let problems = follower.last_check().await.problems;
        assert!(
            problems
                .iter()
                .any(|problem| problem.code.name() == "stamped-lastmod")
        );
    }
}

#[tokio::test]
async fn a_folder_is_followed_by_its_address() {
    let den = Den::empty();
    serve(
        &den,
        "/sitemap.xml",
        sitemap(
            &den,
            &[
                "/ 2026-01-01",
                "/blog/ 2026-01-02",
                "/blog/1 2026-01-03",
                "/blogs 2026-01-04",
            ],
        ),
    );
    den.html("/blog/", "<title>Blog</title>");
    let follower = Follower::of_part(&den, "/blog").await;
    assert_eq!(
        follower.check().await,
        ["updated /blog/ 2026-01-02", "updated /blog/1 2026-01-03"]
    );
    serve(
        &den,
        "/sitemap.xml",
        sitemap(
            &den,
            &[
                "/ 2026-01-01",
                "/blog/ 2026-01-02",
                "/blog/1 2026-01-03",
                "/new 2026-03-11",
                "/blog/2 2026-03-11",
            ],
        ),
    );
    assert_eq!(follower.check().await, ["created /blog/2 2026-03-11"]);
    let checked = den.check_typed("/blog/").await;
    assert_eq!(collections(&checked), ["/blog/"]);
    // A single page is no part of a site: then it is the whole site that is followed.
    assert_eq!(collections(&den.check_typed("/blog/1").await), ["/"]);
}

#[tokio::test]
async fn a_project_in_a_folder_has_its_sitemap_there() {
    let den = Den::empty();
    serve(
        &den,
        "/docs/sitemap.xml",
        sitemap(&den, &["/docs/ 2026-01-01", "/docs/intro 2026-01-02"]),
    );
    den.html("/docs/intro", "<title>Intro</title>");
    let checked = den.check_typed("/docs/intro").await;
    assert_eq!(checked.site.root, Some(den.url("/docs/sitemap.xml")));
    assert_eq!(collections(&checked), ["/docs/"]);
}

#[tokio::test]
async fn a_feed_is_followed_by_its_own_address() {
    let den = Den::empty();
    let feed = |pages: &[&str]| {
        let items = pages
            .iter()
            .map(|path| format!("<item><link>{}</link></item>", den.url(path)));
        let text = format!(
            "<rss><channel>{}</channel></rss>",
            items.collect::<String>()
        );
        den.site.serve("/feed/", Reply::html(text));
    };
    feed(&["/1", "/2"]);
    let follower = Follower::of_part(&den, "/feed/").await;
    assert_eq!(follower.check().await.len(), 2);
    feed(&["/2", "/3"]);
    assert_eq!(follower.check().await, ["created /3 2026-03-12T12:00:00Z"]);
}

#[tokio::test]
async fn a_sitemap_is_followed_by_its_own_address() {
    let den = Den::empty();
    serve(
        &den,
        "/sitemap.xml",
        index(&den, &["/maps/1.xml", "/maps/2.xml"]),
    );
    serve(&den, "/maps/1.xml", sitemap(&den, &SIX));
    serve(&den, "/maps/2.xml", sitemap(&den, &["/x 2026-01-01"]));
    let checked = den.check_typed("/maps/2.xml").await;
    assert_eq!(collections(&checked), ["/maps/2.xml"]);
    let follower = Follower::of_part(&den, "/maps/2.xml").await;
    assert_eq!(follower.check().await, ["updated /x 2026-01-01"]);
}

#[tokio::test]
async fn a_site_that_has_nothing_is_asked_ten_times_at_most() {
    let den = Den::empty();
    den.html("/", "<title>Nothing</title>");
    den.html("/page", "<title>Nothing</title>");
    for typed in ["/", "/page"] {
        den.site.forget_requests();
        let checked = den.check_typed(typed).await;
        assert!(checked.site.format.is_none());
        assert_eq!(codes(&checked), ["not-found"]);
        assert!(den.site.requests().len() <= 10, "{:?}", den.site.paths());
        let formats: Vec<_> = checked
            .site
            .tried
            .iter()
            .map(|tried| tried.format)
            .collect();
        for format in [
            Format::ResourceSync,
            Format::Sitemap,
            Format::Arc,
            Format::Spxi,
        ] {
            assert!(formats.contains(&format), "{formats:?}");
        }
    }
}

#[tokio::test]
async fn of_every_format_it_is_told_where_it_was_looked_for_or_why_not() {
    let den = Den::empty();
    serve(&den, "/sitemap.xml", sitemap(&den, &SIX));
    let checked = den.check().await;
    let told = |format| {
        let tried = checked.site.tried.iter();
        let of_format = tried.filter(move |tried| tried.format == format);
        of_format.map(|tried| format!("{} {}", tried.url.path(), tried.outcome))
    };
    for format in Format::ALL {
        assert!(told(*format).next().is_some(), "{}", format.title());
    }
    let last = |format| told(format).next_back().unwrap();
    assert_eq!(last(Format::Sitemap), "/sitemap.xml found");
    assert_eq!(last(Format::Scp), "/sitemap.xml not announced there");
    assert_eq!(
        last(Format::Arc),
        "/.well-known/arc-sitemap.json not looked for, after a sitemap was found"
    );
}

#[tokio::test]
async fn every_place_for_a_sitemap_is_found() {
    for path in ["/sitemap.xml", "/sitemap_index.xml", "/sitemap-index.xml"] {
        let den = Den::empty();
        serve(&den, path, sitemap(&den, &SIX));
        let checked = den.check().await;
        assert_eq!(checked.site.root, Some(den.url(path)));
        assert_eq!(collections(&checked), ["/"]);
    }
    // Robots.txt names two, in other words; the page links a third.
    let den = Den::empty();
    den.site.serve(
        "/robots.txt",
        Reply::text("SITEMAP:/one.txt\nUser-agent: *\nDisallow: /x\nSitemap: /two.rss"),
    );
    den.site.serve(
        "/one.txt",
        Reply::text(format!("{}\n{}\n", den.url("/a"), den.url("/b"))),
    );
    den.site.serve(
        "/two.rss",
        Reply::html(format!(
            "<rss><channel><item><link>{}</link><title>T</title></item></channel></rss>",
            den.url("/c")
        )),
    );
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 3);
    den.site.serve(
        "/two.rss",
        Reply::html(format!(
            "<rss><channel><item><link>{}</link><title>T</title></item></channel></rss>",
            den.url("/d")
        )),
    );
    assert_eq!(follower.check().await, ["created /d 2026-03-12T12:00:00Z"]);
    // What leaves a feed is not gone.
    for _ in 0..3 {
        assert_eq!(follower.check().await, NONE);
    }
    let den = Den::empty();
    den.html("/", "<link rel=sitemap href=/maps/all.xml>");
    serve(&den, "/maps/all.xml", sitemap(&den, &SIX));
    assert_eq!(den.check().await.site.root, Some(den.url("/maps/all.xml")));
}

/// A site whose robots.txt names two sitemaps.
fn two_sitemaps() -> Den {
    let den = Den::empty();
    let lines = Reply::text("Sitemap: /one.xml\nSitemap: /two.xml");
    den.site.serve("/robots.txt", lines);
    serve_two(&den, &[]);
    den
}

/// Serves its sitemaps, with more pages in both.
fn serve_two(den: &Den, more: &[&str]) {
    for (path, pages) in [("/one.xml", &SIX[..]), ("/two.xml", &["/x 2026-01-07"])] {
        serve(den, path, sitemap(den, &[pages, more].concat()));
    }
}

#[tokio::test]
async fn one_of_several_sitemaps_that_fails_costs_no_page_whenever_it_is() {
    for failing in ["/one.xml", "/two.xml"] {
        let den = two_sitemaps();
        let follower = Follower::of(&den).await;
        assert_eq!(follower.check().await.len(), 7);
        // Between two looks for something better, and at such a look.
        for days in [0, 0, 31, 0, 0] {
            for reply in [
                Reply::status(500),
                Reply::status(404),
                Reply::html("Back soon."),
            ] {
                den.site.serve(failing, reply);
                follower.pass(TimeDelta::days(days));
                assert_eq!(follower.check().await, NONE, "{failing} {days}");
            }
        }
        serve_two(&den, &[]);
        for _ in 0..3 {
            assert_eq!(follower.check().await, NONE, "{failing}");
        }
        assert_eq!(
            follower.last_check().await.outcome,
            Some(Outcome::Unchanged)
        );
        serve_two(&den, &["/new 2026-06-08"]);
        assert_eq!(follower.check().await, ["created /new 2026-06-08"]);
    }
}

#[tokio::test]
async fn a_sitemap_that_fails_at_first_is_read_when_it_is_there() {
    let den = two_sitemaps();
    den.site.serve("/two.xml", Reply::status(500));
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 6);
    serve(&den, "/two.xml", sitemap(&den, &["/x 2026-01-07"]));
    // It is not new, it was only not there to be seen.
    assert_eq!(follower.check().await, NONE);
    serve(&den, "/two.xml", sitemap(&den, &["/x 2026-04-07"]));
    assert_eq!(follower.check().await.len(), 1);
}

#[tokio::test]
async fn a_robots_file_that_fails_once_makes_no_other_site_of_this_one() {
    let den = two_sitemaps();
    serve(&den, "/sitemap.xml", sitemap(&den, &["/old 2020-01-01"]));
    let mut follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 7);
    den.site.serve("/robots.txt", Reply::status(500));
    for _ in 0..3 {
        follower.restart().await;
        follower.pass(TimeDelta::days(31));
        assert_eq!(follower.check().await, NONE);
    }
    den.site.remove("/sitemap.xml");
    for _ in 0..3 {
        follower.restart().await;
        follower.pass(TimeDelta::days(31));
        assert_eq!(follower.check().await, NONE);
    }
    let row = follower
        .store()
        .site(follower.site())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(row.root, Some(den.url("/one.xml")));
    serve(&den, "/two.xml", sitemap(&den, &["/x 2026-06-07"]));
    assert_eq!(follower.check().await.len(), 1);
}

#[tokio::test]
async fn a_better_format_is_noticed_within_a_month_and_announces_nothing_again() {
    let den = Den::empty();
    serve(&den, "/sitemap.xml", sitemap(&den, &SIX));
    let follower = Follower::of(&den).await;
    follower.check().await;
    den.description(&[("/capabilitylist.xml", "/")]);
    den.capability_list("/capabilitylist.xml", "/", &["/changelist.xml"]);
    den.change_list(
        "/changelist.xml",
        "from='2026-01-01'",
        &["created /a 2026-01-01", "updated /b 2026-02-02"],
    );
    assert_eq!(follower.check().await, NONE);
    follower.pass(TimeDelta::days(30));
    assert_eq!(follower.check().await, NONE);
    let row = follower
        .store()
        .site(follower.site())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(row.format, Some(Format::ResourceSync));
    den.change_list(
        "/changelist.xml",
        "from='2026-01-01'",
        &[
            "created /a 2026-01-01",
            "updated /b 2026-02-02",
            "updated /c 2026-04-13",
        ],
    );
    assert_eq!(follower.check().await, ["updated /c 2026-04-13"]);
    assert_eq!(follower.check().await, NONE);
}

#[tokio::test]
async fn a_large_part_of_a_site_makes_one_short_entry() {
    let den = Den::empty();
    let pages = |range: std::ops::Range<usize>| {
        let pages: Vec<String> = range
            .map(|n| format!("/p{n} 2026-01-{:02}", n % 28 + 1))
            .collect();
        let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
        serve(&den, "/sitemap.xml", sitemap(&den, &pages));
    };
    pages(0..50);
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    pages(0..90);
    world.pass(TimeDelta::days(2));
    world.scheduler().idle().await;
    let again = Ask::post(
        &format!("/api/v1/sites/{site}/check"),
        &serde_json::json!({}),
    )
    .token(&world.alice);
    world.ask(again);
    world.scheduler().idle().await;
    assert_eq!(world.announced(site).len(), 40);
    let feed_path = world.get(&format!("/api/v1/sites/{site}"))["feed_url"]
        .as_str()
        .unwrap()
        .to_owned();
    let feed_path = feed_path.strip_prefix("https://bell.example").unwrap();
    let answered = world.ask(Ask::get(feed_path));
    let feed = answered.text();
    assert!(
        feed.contains("Much of the site changed at once: of 50 pages, 40 new."),
        "{feed}"
    );
    assert!(feed.contains("The site lists 50 pages. These changed last"));
    assert!(feed.contains("inferred, not stated"));
    // By the dates in the list, which the author stated.
    assert_eq!(
        world.get(&format!("/api/v1/sites/{site}"))["format"],
        "sitemap"
    );
}

#[tokio::test]
async fn a_resource_list_stands_in_for_a_change_list() {
    let den = Den::empty();
    den.description(&[("/capabilitylist.xml", "/")]);
    let list = |pages: &[(&str, &str, &str)]| {
        let pages = pages.iter().map(|(path, lastmod, hash)| {
            format!(
                "<url><loc>{}</loc><lastmod>{lastmod}</lastmod><rs:md hash='{hash}'/></url>",
                den.url(path)
            )
        });
        let pages: String = pages.collect();
        den.xml(
            "/resources.xml",
            &urlset(&format!(
                "<rs:md capability='resourcelist' at='2026-03-10'/>{pages}"
            )),
        );
    };
    den.xml("/capabilitylist.xml", &urlset(&format!(
        "<rs:ln rel='up' href='{}'/><rs:ln rel='describes' href='{}'/><rs:ln rel='describedby' href='{}'/><rs:md capability='capabilitylist'/>
         <url><loc>{}</loc><rs:md capability='resourcelist'/></url>",
        den.url("/.well-known/resourcesync"), den.url("/"), den.url("/about.xml"), den.url("/resources.xml")
    )));
    den.about("/about.xml", "/", "The Fox Den");
    list(&[
        ("/a", "2026-01-01", "md5:1"),
        ("/b", "2026-01-02", "md5:2"),
        ("/c", "2026-01-03", "md5:3"),
    ]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 3);
    let check = follower.last_check().await;
    let found: Vec<_> = check
        .problems
        .iter()
        .map(|problem| problem.code.name())
        .collect();
    assert_eq!(found, ["only-a-list"]);
    // A date without another checksum is no edit; another checksum without a date is one.
    list(&[
        ("/a", "2026-03-11", "md5:1"),
        ("/b", "2026-01-02", "md5:9"),
        ("/d", "2026-03-11", "md5:4"),
    ]);
    assert_eq!(
        follower.check().await,
        ["updated /b 2026-03-10", "created /d 2026-03-11"]
    );
    assert_eq!(follower.check().await, ["deleted /c 2026-03-10"]);
    assert_eq!(follower.check().await, NONE);
}

#[tokio::test]
async fn an_index_that_lists_itself_or_too_much_ends() {
    let den = Den::empty();
    serve(
        &den,
        "/sitemap.xml",
        index(&den, &["/sitemap.xml", "/deep1.xml", "/ok.xml"]),
    );
    for level in 1..8 {
        serve(
            &den,
            &format!("/deep{level}.xml"),
            index(&den, &[&format!("/deep{}.xml", level + 1)]),
        );
    }
    serve(&den, "/ok.xml", sitemap(&den, &SIX));
    let checked = den.check().await;
    let found = codes(&checked);
    assert!(
        found.contains(&"sitemap-twice") && found.contains(&"nested-sitemaps"),
        "{found:?}"
    );
    assert!(!checked.is_complete);
    assert!(den.site.requests_to("/deep5.xml").is_empty());
}

#[tokio::test]
async fn fifty_thousand_children_are_not_all_asked_for() {
    let den = Den::empty();
    let children: Vec<String> = (0..50_000).map(|n| format!("/child{n}.xml")).collect();
    let children: Vec<&str> = children.iter().map(String::as_str).collect();
    serve(&den, "/sitemap.xml", index(&den, &children));
    serve(&den, "/child0.xml", sitemap(&den, &SIX));
    den.site.forget_requests();
    let checked = den
        .check_with(|settings| settings.limits.documents = 12)
        .await;
    assert!(den.site.requests().len() <= 130);
    assert!(codes(&checked).contains(&"limit-reached") && !checked.is_complete);
}

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
    let row = follower
        .store()
        .site(follower.site())
        .await
        .unwrap()
        .unwrap();
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
    let (changes, _) = follower
        .store()
        .changes(follower.site(), None, 100)
        .await
        .unwrap();
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
    let (changes, _) = follower
        .store()
        .changes(follower.site(), None, 100)
        .await
        .unwrap();
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
    serve(den, "/sitemap.xml", text);
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
    let row = follower
        .store()
        .site(follower.site())
        .await
        .unwrap()
        .unwrap();
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
    let row = follower.store().site(follower.site()).await.unwrap();
    assert_eq!(row.unwrap().format, Some(Format::Arc));
    arc(&[("/a", "1"), ("/b", "2")]);
    assert_eq!(follower.check().await.len(), 1);
}

#[tokio::test]
async fn a_list_of_sitemaps_that_is_written_as_one_of_pages_leads_into_them() {
    let den = Den::empty();
    serve(
        &den,
        "/sitemap.xml",
        sitemap(&den, &["/one.xml", "/two.xml"]),
    );
    serve(&den, "/one.xml", sitemap(&den, &SIX));
    serve(&den, "/two.xml", sitemap(&den, &["/x 2026-02-02"]));
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 7);
    let problems = follower.last_check().await.problems;
    let is_told = |code: &str| problems.iter().any(|problem| problem.code.name() == code);
    assert!(is_told("sitemaps-as-pages"), "{problems:?}");
    serve(&den, "/two.xml", sitemap(&den, &["/x 2026-03-03"]));
    assert_eq!(follower.check().await, ["updated /x 2026-03-03"]);
}

#[tokio::test]
async fn a_list_that_is_broken_when_a_better_format_is_looked_for_is_not_nothing() {
    let den = Den::empty();
    serve(&den, "/sitemap.xml", sitemap(&den, &SIX));
    let follower = Follower::of(&den).await;
    follower.check().await;
    serve(&den, "/sitemap.xml", "<urlset".to_owned());
    follower.pass(TimeDelta::days(31));
    assert_eq!(follower.check().await, NONE);
    let check = follower.last_check().await;
    let found: Vec<_> = (check.problems.iter())
        .map(|problem| problem.code.name())
        .collect();
    assert!(!found.contains(&"not-found"), "{found:?}");
    assert!(found.contains(&"cut-off"), "{found:?}");
    serve(&den, "/sitemap.xml", sitemap(&den, &SIX));
    assert_eq!(follower.check().await, NONE);
}

#[tokio::test]
async fn an_spxi_index_gives_titles_to_the_pages_of_a_sitemap() {
    let den = Den::empty();
    let index = serde_json::json!({
        "@context": {"spxi": "https://spxi.dev/vocabulary#"}, "@type": "spxi:SemanticIndex",
        "publisher": {"name": "The Den of Foxes"}, "dateModified": "2026-01-01",
        "spxi:protocolVersion": "1", "spxi:siteKernel": {"spxi:compressionSurvivalSummary": "All about foxes."},
        "spxi:hasEntity": [], "spxi:hasSurface": [{"@id": den.url("/a").as_str(), "name": "About foxes", "spxi:surfaceType": "article"}],
    });
    den.site
        .serve("/spxi-index.jsonld", Reply::text(index.to_string()));
    let text = format!(
        "<urlset {NS} xmlns:xhtml='http://www.w3.org/1999/xhtml'><url><loc>{}</loc><lastmod>2026-02-02</lastmod>
         <xhtml:link rel='alternate' hreflang='x-spxi' href='/spxi-index.jsonld'/></url><url><loc>{}</loc></url></urlset>",
        den.url("/a"), den.url("/b")
    );
    serve(&den, "/sitemap.xml", text);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await, ["updated /a 2026-02-02"]);
    let (changes, _) = follower
        .store()
        .changes(follower.site(), None, 100)
        .await
        .unwrap();
    assert_eq!(changes[0].change.title.as_deref(), Some("About foxes"));
    assert_eq!(changes[0].change.details.tags, ["article"]);
    let row = follower
        .store()
        .site(follower.site())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (row.format, row.title.as_deref()),
        (Some(Format::Spxi), Some("The Den of Foxes"))
    );
    let problems = follower.last_check().await.problems;
    let found: Vec<_> = problems.iter().map(|problem| problem.code.name()).collect();
    for code in ["spxi-incomplete", "spxi-stale", "spxi-missing"] {
        assert!(found.contains(&code), "{found:?}");
    }
}

#[tokio::test]
async fn an_spxi_index_that_the_site_names_gives_titles_from_then_on_and_is_asked_politely() {
    let den = Den::empty();
    let robots = format!(
        "User-agent: *\nAllow: /data/spxi-index.jsonld\nSitemap: {}\n",
        den.url("/sitemap.xml")
    );
    den.site.serve("/robots.txt", Reply::text(robots));
    let surfaces = ["/a", "/b"].map(
        |path| serde_json::json!({"@id": den.url(path).as_str(), "name": format!("About {path}")}),
    );
    let index = serde_json::json!({
        "@context": {"spxi": "https://spxi.dev/vocabulary#"}, "@type": "spxi:SemanticIndex",
        "dateModified": "2025-01-01", "spxi:hasSurface": surfaces,
    });
    let path = "/data/spxi-index.jsonld";
    let reply = Reply::new(200, "application/ld+json", index.to_string());
    den.site.serve(path, reply.etag("\"1\""));
    let list = |pages: &[&str], tag: &str| {
        let reply = Reply::xml(sitemap(&den, pages)).etag(tag);
        den.site.serve("/sitemap.xml", reply);
    };
    list(&["/a 2026-01-01", "/b 2026-01-02"], "\"1\"");
    let mut follower = Follower::of(&den).await;
    follower.check().await;
    let codes = |check: sitebell::store::CheckRow| -> Vec<&str> {
        check
            .problems
            .iter()
            .map(|problem| problem.code.name())
            .collect()
    };
    let first = codes(follower.last_check().await);
    assert!(first.contains(&"spxi-stale"), "{first:?}");
    for _ in 0..2 {
        follower.restart().await;
        den.site.forget_requests();
        assert_eq!(follower.check().await, NONE);
        let asked = den.site.requests_to(path);
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].header("if-none-match"), Some("\"1\""));
        assert_eq!(den.site.requests_to("/robots.txt").len(), 0);
        // It is as wrong as it was.
        assert_eq!(codes(follower.last_check().await).len(), first.len());
    }
    list(&["/a 2026-01-01", "/b 2026-03-03"], "\"2\"");
    assert_eq!(follower.check().await, ["updated /b 2026-03-03"]);
    let (changes, _) = (follower.store())
        .changes(follower.site(), None, 100)
        .await
        .unwrap();
    let last = &changes.last().unwrap().change;
    assert_eq!(last.title.as_deref(), Some("About /b"));
}

#[tokio::test]
async fn an_spxi_index_without_a_sitemap_is_followed_by_its_names() {
    let den = Den::empty();
    let index = |day: &str, surfaces: &[(&str, &str)]| {
        let surface = |(path, name): &(&str, &str)| serde_json::json!({"@id": den.url(path).as_str(), "name": name});
        let index = serde_json::json!({
            "@context": "https://elsewhere.example/context.jsonld", "@type": "spxi:SemanticIndex", "name": "Foxes",
            "dateModified": day, "spxi:hasSurface": surfaces.iter().map(surface).collect::<Vec<_>>(),
        });
        let reply = Reply::new(200, "application/ld+json", index.to_string());
        den.site.serve("/spxi-index.jsonld", reply);
    };
    index("2026-01-01", &[("/a", "A"), ("/b#top", "B"), ("/c", "C")]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 3);
    index("2026-03-11", &[("/a", "A"), ("/b", "Bears"), ("/d", "D")]);
    assert_eq!(
        follower.check().await,
        ["created /d 2026-03-11", "updated /b 2026-03-11"]
    );
    assert_eq!(follower.check().await, ["deleted /c 2026-03-11"]);
    index("2026-03-11", &[("/a", "A"), ("/b", "Bulls"), ("/d", "D")]);
    assert_eq!(follower.check().await, ["updated /b 2026-03-14T12:00:00Z"]);
    let (changes, _) = (follower.store())
        .changes(follower.site(), None, 100)
        .await
        .unwrap();
    let last = &changes.last().unwrap().change;
    assert_eq!(last.title.as_deref(), Some("Bulls"));
    assert!(last.details.is_inferred);
}

#[tokio::test]
async fn the_page_of_a_site_says_why_nothing_better_is_read() {
    let den = Den::empty();
    den.html("/", "<title>The Fox Den</title>");
    serve(&den, "/sitemap.xml", sitemap(&den, &SIX));
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let words = |world: &World| world.ask(Ask::get(&den.page("/"))).text().to_owned();
    let page = words(&world);
    assert!(page.contains("It has a sitemap;"), "{page}");
    let reason = "ResourceSync was looked for at /.well-known/resourcesync: not there (404); \
                  at /.well-known/resourcesync.xml: not there (404); at /: the page links none";
    assert!(page.contains(reason), "{page}");
    // What was found is read again, and better is not looked for each time.
    world.pass(TimeDelta::days(2));
    let again = Ask::post(
        &format!("/api/v1/sites/{site}/check"),
        &serde_json::json!({}),
    );
    world.ask(again.token(&world.alice));
    world.scheduler().idle().await;
    let page = words(&world);
    assert!(
        page.contains("ResourceSync was last looked for on 2026-"),
        "{page}"
    );
}

#[tokio::test]
async fn a_sitemap_that_is_a_bomb_costs_a_problem_and_nothing_else() {
    let den = Den::empty();
    serve(&den, "/sitemap.xml", index(&den, &["/a.xml.gz", "/b.xml"]));
    let head = format!("<urlset {NS}>");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(head.as_bytes()).unwrap();
    // Nobody reads them to their end: a piece of a document may have a megabyte.
    let spaces = vec![b' '; 1024 * 1024];
    for _ in 0..60 {
        encoder.write_all(&spaces).unwrap();
    }
    encoder.write_all(b"</urlset>").unwrap();
    let bomb = encoder.finish().unwrap();
    den.site
        .serve("/a.xml.gz", Reply::new(200, "application/gzip", bomb));
    serve(&den, "/b.xml", sitemap(&den, &SIX));
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 6);
    let check = follower.last_check().await;
    assert_eq!(check.outcome, Some(Outcome::Partial));
    let problem = (check.problems.iter()).find(|problem| problem.document.ends_with(".gz"));
    assert_eq!(
        problem.map(|problem| problem.code.name()),
        Some("too-complex")
    );
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
    let gzipped = |size: usize| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&lines(size)).unwrap();
        encoder.finish().unwrap()
    };
    let (large, small) = (64 * 1024 * 1024, 40 * 1024 * 1024);
    let zstd = zstd::encode_all(&lines(large)[..], 1).unwrap();
    scp_sitemap(&den, &[SNAPSHOT]);
    for (bomb, is_too_large) in [
        (Reply::new(200, "application/zstd", zstd), false),
        // Smaller than any document may be, and still far too dense.
        (Reply::new(200, "application/gzip", gzipped(small)), false),
        (Reply::text(lines(small)).gzip(), false),
        // So large that it never comes to its end.
        (Reply::new(200, "application/gzip", gzipped(large)), true),
    ] {
        den.site.serve("/blog.scp", bomb);
        let checked = den.check().await;
        let problem =
            (checked.problems.iter()).find(|problem| problem.document.ends_with("/blog.scp"));
        let problem = problem.expect("a problem");
        if !is_too_large {
            assert_eq!(problem.code.name(), "bad-compression");
            assert!(problem.message.contains("100 to 1"), "{}", problem.message);
        }
        assert_eq!(checked.site.format, Some(Format::Sitemap));
        assert_eq!(collections(&checked).len(), 1);
    }
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
