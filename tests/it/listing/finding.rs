//! How a list is found, and found again.

use chrono::TimeDelta;
use sitebell::memory::Outcome;
use sitebell::site::Format;

use super::{NONE, NS, SIX, index, serve, sitemap, with};
use crate::ask::Ask;
use crate::den::{Den, WELL_KNOWN, codes, collections, message};
use crate::fake_site::Reply;
use crate::following::Follower;
use crate::world::World;

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
async fn a_post_that_comes_back_to_a_feed_is_not_new() {
    let den = Den::empty();
    let feed = |posts: &[&str]| {
        let items = posts
            .iter()
            .map(|path| format!("<item><link>{}</link></item>", den.url(path)));
        let items: String = items.collect();
        let text = format!("<rss><channel>{items}</channel></rss>");
        den.site.serve("/feed/", Reply::html(text));
    };
    feed(&["/1", "/2"]);
    let follower = Follower::of_part(&den, "/feed/").await;
    assert_eq!(follower.check().await.len(), 2);
    for posts in [["/2", "/3"], ["/3", "/4"]] {
        feed(&posts);
        assert_eq!(follower.check().await.len(), 1);
        assert_eq!(follower.check().await, NONE);
    }
    // The newest post is deleted, so that older ones show again.
    feed(&["/1", "/3"]);
    assert_eq!(follower.check().await, NONE);
    feed(&["/1", "/5"]);
    assert_eq!(follower.check().await, ["created /5 2026-03-17T12:00:00Z"]);
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
        for format in Format::ALL {
            assert!(formats.contains(format), "{formats:?}");
        }
    }
}

#[tokio::test]
async fn a_site_that_leads_every_stray_to_its_front_page_is_asked_no_more_often() {
    let places = [
        "/.well-known/resourcesync",
        "/.well-known/resourcesync.xml",
        "/robots.txt",
        "/sitemap.xml",
        "/sitemap_index.xml",
        "/sitemap-index.xml",
        "/.well-known/arc-sitemap.json",
        "/arc-sitemap.json",
        "/spxi-index.jsonld",
        "/sitemap.xml.gz",
        "/sitemap.txt",
        "/docs/sitemap.xml",
    ];
    for typed in ["/", "/docs/page"] {
        let den = Den::empty();
        let nothing = "<!doctype html><html><title>Nothing</title></html>";
        den.html("/", nothing);
        den.html("/docs/page", nothing);
        for path in places {
            let home = den.url("/");
            den.site.serve(path, Reply::redirect(302, home.as_str()));
        }
        let checked = den.check_typed(typed).await;
        assert_eq!(codes(&checked), ["not-found"]);
        assert!(den.site.requests().len() <= 10, "{:?}", den.site.paths());
        // Whatever was not asked for, or not to its end, is told.
        let tried = checked.site.tried.iter();
        let told = tried.filter(|tried| tried.outcome == "not asked for, after so many requests");
        assert!(told.count() > 3, "{:?}", checked.site.tried);
    }
}

/// A host whose name gives way to another in two steps, as plain http does to https and then to `www.`. Its page and its
/// sitemap are there.
fn moved_host() -> Den {
    let den = Den::empty();
    let www = |path: &str| den.site.url_as("www.fox.example", path);
    let map = format!(
        "<urlset {NS}><url><loc>{}</loc></url></urlset>",
        www("/post")
    );
    let own = [
        ("/", Reply::html("<title>The Fox Den</title>")),
        (
            "/robots.txt",
            Reply::text(format!("Sitemap: {}", www("/maps/all.xml"))),
        ),
        ("/maps/all.xml", Reply::xml(map)),
    ];
    let others = [
        "/.well-known/resourcesync",
        "/.well-known/resourcesync.xml",
        "/sitemap.xml",
        "/sitemap_index.xml",
    ];
    let others = others.map(|path| (path, Reply::status(404)));
    for (path, reply) in own.into_iter().chain(others) {
        let (secure, www) = (den.url(&format!("{path}?secure")), www(path));
        den.site.serve_with(path, move |seen| {
            let is_there = seen
                .header("host")
                .is_some_and(|host| host.starts_with("www."));
            match (is_there, seen.path.ends_with("?secure")) {
                (true, _) => reply.clone(),
                (false, true) => Reply::redirect(301, www.as_str()),
                (false, false) => Reply::redirect(301, secure.as_str()),
            }
        });
    }
    den
}

#[tokio::test]
async fn a_host_that_gives_way_to_another_name_is_asked_there_and_its_sitemap_is_found_in_time() {
    let den = moved_host();
    let checked = den.check().await;
    let map = den.site.url_as("www.fox.example", "/maps/all.xml");
    assert_eq!(checked.site.root, Some(map), "{:?}", den.site.paths());
    assert_eq!(checked.site.title, "The Fox Den");
    assert_eq!(checked.site.url, den.url("/"));
    assert!(den.site.requests().len() <= 10, "{:?}", den.site.paths());
}

#[tokio::test]
async fn the_first_sitemap_line_is_asked_for_whatever_the_page_links() {
    let den = Den::empty();
    let links: String = (0..8)
        .map(|number| format!("<link rel=resourcesync href=/link/{number}>"))
        .collect();
    den.html("/", &links);
    for number in 0..8 {
        let elsewhere = den.url(&format!("/elsewhere/{number}"));
        den.site.serve(
            &format!("/link/{number}"),
            Reply::redirect(302, elsewhere.as_str()),
        );
    }
    den.site.serve(
        "/robots.txt",
        Reply::text("Sitemap: /maps/1.xml\nSitemap: /maps/2.xml"),
    );
    serve(&den, "/maps/1.xml", sitemap(&den, &SIX));
    let checked = den.check().await;
    assert_eq!(checked.site.root, Some(den.url("/maps/1.xml")));
    let before = den.site.paths();
    let place = before.iter().position(|path| path == "/maps/1.xml");
    assert!(place.is_some_and(|place| place < 10), "{before:?}");
}

#[tokio::test]
async fn a_sitemap_line_that_leads_to_a_page_is_told_with_its_address() {
    let den = Den::empty();
    den.site.serve(
        "/robots.txt",
        Reply::text("Sitemap: /map\nSitemap: /two.xml"),
    );
    den.html("/map", "<!doctype html><title>All our pages</title>");
    serve(&den, "/two.xml", sitemap(&den, &SIX));
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["not-a-list", "only-a-list"]);
    assert_eq!(
        message(&checked, "not-a-list"),
        "robots.txt names this as a sitemap, and it is a web page"
    );
    let mut problems = checked.problems.iter();
    let told = problems.find(|problem| problem.code.name() == "not-a-list");
    assert_eq!(told.unwrap().document, den.url("/map").as_str());
    let mut tried = checked.site.tried.iter();
    let row = tried.find(|tried| tried.url == den.url("/map")).unwrap();
    assert_eq!(row.outcome, "a web page");
    // It never was a sitemap, so nothing is missing of the site.
    assert!(checked.is_complete);
    // Nor is it passed over where nothing else is found.
    den.site.remove("/two.xml");
    let checked = den.check().await;
    assert!(codes(&checked).contains(&"not-a-list"));
}

#[tokio::test]
async fn a_good_sitemap_is_found_after_many_that_are_not_there() {
    let den = Den::empty();
    let lines: String = (1..=6).map(|n| format!("Sitemap: /{n}.xml\n")).collect();
    den.site.serve("/robots.txt", Reply::text(lines));
    serve(&den, "/6.xml", sitemap(&den, &SIX));
    let checked = den.check().await;
    assert_eq!(checked.site.root, Some(den.url("/6.xml")));
    // As long as that is not asking too much.
    let den = Den::empty();
    let lines: String = (1..=30).map(|n| format!("Sitemap: /{n}.xml\n")).collect();
    den.site.serve("/robots.txt", Reply::text(lines));
    serve(&den, "/30.xml", sitemap(&den, &SIX));
    let checked = den.check().await;
    assert_eq!(checked.site.root, None);
    assert!(den.site.requests().len() <= 10, "{:?}", den.site.paths());
}

#[tokio::test]
async fn all_of_many_sitemaps_are_read() {
    let den = Den::empty();
    let lines: String = (1..=20).map(|n| format!("Sitemap: /{n}.xml\n")).collect();
    den.site.serve("/robots.txt", Reply::text(lines));
    for number in 3..=20 {
        let page = format!("/p{number} 2026-01-{number:02}");
        serve(&den, &format!("/{number}.xml"), sitemap(&den, &[&page]));
    }
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 18);
}

#[tokio::test]
async fn rare_places_are_asked_for_as_long_as_that_is_not_too_much() {
    let den = Den::empty();
    den.html("/", "<title>Nothing</title>");
    let rare = ["/sitemap.xml.gz", "/sitemap.txt"];
    let pages = Reply::text(format!("{}\n{}\n", den.url("/a"), den.url("/b")));
    for path in rare {
        den.site.serve(path, pages.clone());
    }
    let asked = |path: &&str| !den.site.requests_to(path).is_empty();
    // Ten requests, and all of them for what is more likely; that is told.
    let checked = den.check().await;
    assert_eq!(den.site.requests().len(), 10, "{:?}", den.site.paths());
    assert!(!rare.iter().any(asked), "{:?}", den.site.paths());
    for path in rare {
        let tried = checked.site.tried.iter();
        let mut tried = tried.filter(|tried| tried.url.path() == path);
        let told = tried.next().map(|tried| tried.outcome.as_str());
        assert_eq!(told, Some("not asked for, after so many requests"));
    }
    // Who knows robots.txt from the check before has one request left for them.
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await, NONE);
    den.site.forget_requests();
    assert_eq!(follower.check().await.len(), 2);
    assert_eq!(follower.row().await.root, Some(den.url(rare[0])));
    assert!(den.site.requests().len() <= 10, "{:?}", den.site.paths());
    // And who must not ask for the page has two.
    den.site.remove(rare[0]);
    den.site
        .serve("/robots.txt", Reply::text("User-agent: *\nDisallow: /"));
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await, NONE);
    den.site.forget_requests();
    assert_eq!(follower.check().await.len(), 2);
    assert_eq!(follower.row().await.root, Some(den.url(rare[1])));
    assert!(den.site.requests().len() <= 10, "{:?}", den.site.paths());
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
async fn of_every_format_it_is_told_why_it_was_not_looked_for_after_a_document_that_is_broken() {
    let den = Den::empty();
    serve(&den, "/list.xml", format!("<urlset {NS}><url>"));
    let checked = den.check_typed("/list.xml").await;
    assert!(checked.site.format.is_none());
    let told = |format| {
        let tried = checked.site.tried.iter();
        let mut of_format = tried.filter(move |tried| tried.format == format);
        let last = of_format.next_back();
        last.map(|tried| format!("{} {}", tried.url.path(), tried.outcome))
    };
    for format in Format::ALL {
        assert!(told(*format).is_some(), "{}", format.title());
    }
    assert_eq!(
        told(Format::Scp).unwrap(),
        "/sitemap.xml no sitemap was read that could announce it"
    );
    assert_eq!(
        told(Format::Arc).unwrap(),
        "/.well-known/arc-sitemap.json not looked for, after a document that cannot be read"
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
    let row = follower.row().await;
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
    let row = follower.row().await;
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
async fn a_better_format_that_could_not_be_looked_at_is_looked_for_again_at_the_next_check() {
    for status in [408, 429, 500, 503] {
        let den = Den::empty();
        serve(&den, "/sitemap.xml", sitemap(&den, &SIX));
        den.site.serve(WELL_KNOWN, Reply::status(status));
        let follower = Follower::of(&den).await;
        assert_eq!(follower.check().await.len(), 6, "{status}");
        assert_eq!(follower.row().await.format, Some(Format::Sitemap));
        let problems = follower.last_check().await.problems;
        let mut codes = problems.iter().map(|problem| problem.code.name());
        assert!(codes.any(|code| code == "http-error"), "{status}");
        let mut problems = problems.iter();
        let told = problems.find(|problem| problem.code.name() == "only-a-list");
        let told = &told.expect("a problem").message;
        let words = format!("at {WELL_KNOWN}: it could not be looked at ({status})");
        assert!(told.contains(&words), "{told}");
        den.description(&[("/capabilitylist.xml", "/")]);
        den.capability_list("/capabilitylist.xml", "/", &["/changelist.xml"]);
        den.change_list(
            "/changelist.xml",
            "from='2026-01-01'",
            &["created /a 2026-01-01", "updated /b 2026-02-02"],
        );
        assert_eq!(follower.check().await, NONE);
        let format = follower.row().await.format;
        assert_eq!(format, Some(Format::ResourceSync), "{status}");
    }
}

#[tokio::test]
async fn a_better_format_that_is_not_there_is_not_looked_for_at_every_check() {
    for reply in [
        // Some answer so for everything that is not there, which is nobody's fault.
        Reply::status(401),
        Reply::status(403),
        Reply::status(404),
        Reply::status(410),
        Reply::html("<!doctype html><title>No such page</title>"),
    ] {
        let den = Den::empty();
        serve(&den, "/sitemap.xml", sitemap(&den, &SIX));
        den.site.serve(WELL_KNOWN, reply);
        let follower = Follower::of(&den).await;
        assert_eq!(follower.check().await.len(), 6);
        den.site.forget_requests();
        assert_eq!(follower.check().await, NONE);
        assert!(den.site.requests_to(WELL_KNOWN).is_empty());
    }
}

#[tokio::test]
async fn an_edit_on_the_day_of_the_last_list_is_told_by_the_log_that_follows_it() {
    let den = Den::empty();
    serve(&den, "/sitemap.xml", sitemap(&den, &SIX));
    let follower = Follower::of(&den).await;
    follower.check().await;
    serve(
        &den,
        "/sitemap.xml",
        sitemap(&den, &with(&["/a 2026-03-12"], &[])),
    );
    assert_eq!(follower.check().await, ["updated /a 2026-03-12"]);
    den.description(&[("/capabilitylist.xml", "/")]);
    den.capability_list("/capabilitylist.xml", "/", &["/changelist.xml"]);
    den.change_list(
        "/changelist.xml",
        "from='2026-01-01'",
        &[
            "updated /c 2026-03-10",
            // The list was read at noon of that day: the first was in it, the second may not have been.
            "updated /a 2026-03-12",
            "updated /b 2026-03-12",
            "updated /d 2026-03-12T11:00:00Z",
            "updated /e 2026-03-12T13:00:00Z",
        ],
    );
    follower.pass(TimeDelta::days(30));
    assert_eq!(
        follower.check().await,
        ["updated /b 2026-03-12", "updated /e 2026-03-12T13:00:00Z"]
    );
    assert_eq!(follower.check().await, NONE);
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
    assert_eq!(found, ["not-a-list"]);
    serve(&den, "/sitemap.xml", sitemap(&den, &SIX));
    assert_eq!(follower.check().await, NONE);
}

#[tokio::test(flavor = "multi_thread")]
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
                  at /.well-known/resourcesync.xml: not there (404); at /: the page links none; \
                  SCP: not announced there; \
                  ARC sitemap and SPXI: not looked for, after a sitemap was found.";
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
        page.contains("ResourceSync and the other better formats were last looked for on 2026-"),
        "{page}"
    );
}
