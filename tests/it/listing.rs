//! Sites that list their pages instead of telling their changes: how the list is found, and what becomes of two of them.

mod any_order; // sections that share pages and break
mod arc; // checksums, days, privacy
mod finding; // how a list is found, and found again
mod leaving; // documents that a site uses no more
mod long; // more documents than one check reads
mod mending; // sections that break
pub mod offering; // a site that offers sections
mod overlapping; // sections with pages in common
mod scp; // sections
mod spxi; // titles from an index

use std::io::Write;
use std::sync::Arc;

use chrono::TimeDelta;
use sitebell::check::{CheckSettings, check_site};
use sitebell::memory::Outcome;
use sitebell::site::Format;

use crate::ask::Ask;
use crate::den::{Den, codes, fetcher, urlset};
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
    let row = follower.row().await;
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
async fn a_news_sitemap_may_be_empty() {
    let den = Den::empty();
    let news = |pages: &[&str]| {
        let entries = pages.iter().map(|path| {
            format!(
                "<url><loc>{}</loc><n:news><n:title>{path}</n:title></n:news></url>",
                den.url(path)
            )
        });
        let news = "xmlns:n='http://www.google.com/schemas/sitemap-news/0.9'";
        let entries: String = entries.collect();
        serve(
            &den,
            "/sitemap.xml",
            format!("<urlset {NS} {news}>{entries}</urlset>"),
        );
    };
    news(&["/a", "/b"]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 2);
    news(&[]);
    for _ in 0..3 {
        assert_eq!(follower.check().await, NONE);
        let check = follower.last_check().await;
        let told = check.problems.iter().map(|problem| problem.code.name());
        assert_eq!(told.collect::<Vec<_>>(), ["only-a-list"]);
    }
    news(&["/c"]);
    assert_eq!(follower.check().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
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
    assert!(feed.contains("stated by its date"));
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
async fn pages_that_have_the_names_of_sitemaps_are_pages() {
    let den = Den::empty();
    let editions: Vec<String> = (1..=8)
        .map(|n| format!("/edition{n}.xml 2026-01-{n:02}"))
        .collect();
    for number in 1..=9 {
        let text = "<TEI xmlns='http://www.tei-c.org/ns/1.0'><text/></TEI>";
        den.xml(&format!("/edition{number}.xml"), text);
    }
    let mut pages: Vec<&str> = editions.iter().map(String::as_str).collect();
    serve(&den, "/sitemap.xml", sitemap(&den, &pages));
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 8);
    pages[1] = "/edition2.xml 2026-03-11";
    pages.push("/edition9.xml 2026-03-12");
    pages.remove(2);
    serve(&den, "/sitemap.xml", sitemap(&den, &pages));
    den.site.forget_requests();
    assert_eq!(
        follower.check().await,
        [
            "updated /edition2.xml 2026-03-11",
            "created /edition9.xml 2026-03-12"
        ]
    );
    // Some are asked what they are, but not all of them every time.
    let paths = den.site.paths();
    let asked = paths.iter().filter(|path| path.starts_with("/edition"));
    assert_eq!(asked.count(), 3, "{paths:?}");
    assert_eq!(follower.check().await.len(), 1);
    let check = follower.last_check().await;
    assert_eq!(check.outcome, Some(Outcome::Changed), "{}", check.summary);
    let told = check.problems.iter().map(|problem| problem.code.name());
    assert_eq!(told.collect::<Vec<_>>(), ["only-a-list"]);
}

#[tokio::test]
async fn a_sitemap_that_was_read_before_is_no_page_when_it_is_broken() {
    let den = Den::empty();
    serve(
        &den,
        "/sitemap.xml",
        sitemap(&den, &["/one.xml", "/two.xml"]),
    );
    let children = || {
        serve(&den, "/one.xml", sitemap(&den, &SIX));
        serve(&den, "/two.xml", sitemap(&den, &["/x 2026-02-02"]));
    };
    children();
    let follower = Follower::of(&den).await;
    follower.check().await;
    for path in ["/one.xml", "/two.xml"] {
        den.html(path, "<title>Back soon</title>");
        assert_eq!(follower.check().await, NONE);
        assert_eq!(follower.last_check().await.outcome, Some(Outcome::Partial));
    }
    children();
    for _ in 0..3 {
        assert_eq!(follower.check().await, NONE);
    }
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
