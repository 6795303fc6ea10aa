//! What changed pages are called: as their site says, or else as they say themselves when they are asked.

use std::time::Duration;

use chrono::TimeDelta;
use serde_json::Value;
use sitebell::site::SiteId;
use sitebell::store::{Cursor, PageTitle};

use crate::ask::Ask;
use crate::den::{Den, open_settings};
use crate::fake_site::{FakeSite, Gate, Reply};
use crate::feeds::ids::ids;
use crate::following::Follower;
use crate::scheduling::until;
use crate::world::World;

/// A service that asks pages for their titles.
async fn world() -> World {
    let mut world = World::new().await;
    world.page_titles = true;
    world.restart().await;
    world
}

/// A site with a sitemap of these pages, such as `/a 2026-03-01`, and nothing else.
fn den(pages: &[&str]) -> Den {
    let den = Den::empty();
    list(&den, pages);
    den
}

fn list(den: &Den, pages: &[&str]) {
    let entry = |page: &&str| {
        let (path, lastmod) = page.split_once(' ').unwrap();
        let url = match path.starts_with('/') {
            true => den.url(path).to_string(),
            false => path.to_owned(),
        };
        format!("<url><loc>{url}</loc><lastmod>{lastmod}</lastmod></url>")
    };
    let entries: String = pages.iter().map(entry).collect();
    let text =
        format!("<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{entries}</urlset>");
    den.site.serve("/sitemap.xml", Reply::xml(text));
}

/// The site has an ARC sitemap of two pages, called after their paths if there is something to say before these; the
/// first one may be hidden.
fn arc(den: &Den, is_shown: bool, title: Option<&str>) {
    let page = |path: &str, is_shown: bool| {
        let mut page = serde_json::json!({
            "url": den.url(path).as_str(), "ai_indexable": is_shown, "lastmod": "2026-03-01",
        });
        if let Some(title) = title {
            page["ai_snapshot"] =
                serde_json::json!({"page": "p", "title": format!("{title} {path}")});
        }
        page
    };
    let document = serde_json::json!({
        "arc_sitemap_version": "2.1", "site": den.url("/").as_str(), "generated_at": "2026-03-01T00:00:00Z",
        "pages": [page("/p/a", is_shown), page("/p/b", true)],
    });
    let reply = Reply::new(200, "application/json", document.to_string());
    den.site.serve("/arc-sitemap.json", reply);
}

fn titled(title: &str) -> Reply {
    Reply::html(format!("<title>{title}</title>"))
}

/// Every change of a site with its title, as found: `/a The Fox`.
fn titles(world: &World, site: SiteId) -> Vec<String> {
    let changes = world.get(&format!("/api/v1/sites/{site}/changes?limit=1000"));
    let tell = |change: &Value| {
        let url: url::Url = change["url"].as_str().unwrap().parse().unwrap();
        format!(
            "{} {}",
            url.path(),
            change["title"].as_str().unwrap_or("none")
        )
    };
    let changes = changes["changes"].as_array().unwrap();
    changes.iter().map(tell).collect()
}

/// The pages below `/p/` that were asked for, in their order.
fn asked(den: &Den) -> Vec<String> {
    let mut paths = den.site.paths();
    paths.retain(|path| path.starts_with("/p/"));
    paths
}

#[tokio::test(flavor = "multi_thread")]
async fn a_title_that_comes_later_changes_neither_the_id_nor_the_time_of_an_entry() {
    let den = den(&["/p/a 2026-03-01", "/p/b 2026-03-02"]);
    let gate = Gate::default();
    den.site
        .serve("/p/a", titled("About the fox").behind(&gate));
    den.site
        .serve("/p/b", titled("About the den").behind(&gate));
    let world = world().await;
    let (site, _) = (world.store())
        .add_site(&den.url("/"), world.now())
        .await
        .unwrap();
    world.scheduler().wake();
    until(|| !asked(&den).is_empty()).await;
    // The feed is there before any page has answered.
    let before = ids(&world, site, None);
    assert!(before.contains("tag:"), "{before}");
    let feed = den.page("/feed.atom");
    let answer = world.ask(Ask::get(&feed));
    let text = answer.text();
    assert!(
        text.contains("/p/a") && !text.contains("About the"),
        "{text}"
    );
    let date = answer.header("last-modified").unwrap();
    let since = || world.ask(Ask::get(&feed).header("If-Modified-Since", date));
    assert_eq!(since().status, 304);
    world.pass(TimeDelta::seconds(1));
    gate.open();
    world.scheduler().idle().await;
    let answer = since();
    assert_eq!(answer.status, 200, "for readers that know no tags");
    let text = answer.text();
    assert!(
        text.contains("About the fox") && text.contains("About the den"),
        "{text}"
    );
    assert_eq!(ids(&world, site, None), before);
    assert_eq!(
        titles(&world, site),
        ["/p/a About the fox", "/p/b About the den"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_author_hides_leaves_the_feeds_with_the_next_check() {
    let den = Den::empty();
    let serve = |is_shown| arc(&den, is_shown, Some("All about"));
    serve(true);
    let world = World::new().await;
    world.follow(&den.url("/")).await;
    let feed = den.page("/feed.atom");
    let before = world.ask(Ask::get(&feed));
    assert!(
        before.text().contains("All about /p/a"),
        "{}",
        before.text()
    );
    serve(false);
    world.pass(TimeDelta::days(2));
    world.scheduler().idle().await;
    let date = before.header("last-modified").unwrap();
    let after = world.ask(Ask::get(&feed).header("If-Modified-Since", date));
    let text = after.text();
    assert!(
        text.contains("All about /p/b") && !text.contains("All about /p/a"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn only_pages_that_changed_are_asked_those_first_that_changed_last() {
    let pages: Vec<String> = (1..=9).map(|n| format!("/p/{n} 2026-01-0{n}")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let den = den(&pages);
    let world = world().await;
    let site = world.follow(&den.url("/")).await;
    let all: Vec<String> = (1..=9).rev().map(|n| format!("/p/{n}")).collect();
    assert_eq!(asked(&den), all);
    den.site.forget_requests();
    // One is edited, one is new, one is gone.
    let mut pages = pages[1..].to_vec();
    pages[0] = "/p/2 2026-03-10";
    pages.push("/p/new 2026-03-11");
    list(&den, &pages);
    den.site.serve("/p/2", titled("Two, again"));
    for _ in 0..2 {
        world.pass(TimeDelta::days(2));
        world.scheduler().idle().await;
    }
    assert_eq!(asked(&den), ["/p/new", "/p/2"]);
    let titles = titles(&world, site);
    assert!(
        titles.contains(&"/p/2 none".to_owned()),
        "what it was before"
    );
    assert!(titles.contains(&"/p/2 Two, again".to_owned()), "{titles:?}");
    assert!(titles.contains(&"/p/1 none".to_owned()), "deleted");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_most_twenty_pages_are_asked_after_a_check() {
    let den = Den::empty();
    let mut pages: Vec<String> = (0..60).map(|n| format!("/old/{n} 2026-01-01")).collect();
    let serve = |pages: &[String]| {
        let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
        list(&den, &pages);
    };
    serve(&pages);
    let world = world().await;
    world.follow(&den.url("/")).await;
    den.site.forget_requests();
    pages.extend((1..=25).map(|n| format!("/p/{n} 2026-02-{n:02}")));
    serve(&pages);
    world.pass(TimeDelta::days(2));
    world.scheduler().idle().await;
    let newest: Vec<String> = (6..=25).rev().map(|n| format!("/p/{n}")).collect();
    assert_eq!(asked(&den), newest);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_of_a_site_that_tells_its_changes_are_asked_too() {
    let den = Den::new();
    let changes = [
        "created /p/a 2026-03-01",
        "updated /p/a 2026-03-02",
        "created /p/b 2026-03-03",
        "deleted /p/b 2026-03-04",
    ];
    den.change_list("/changelist.xml", "from='2026-01-01'", &changes);
    den.site.serve("/p/a", titled("The fox"));
    let world = world().await;
    let site = world.follow(&den.url("/")).await;
    assert_eq!(asked(&den), ["/p/a"], "once, and nobody who is gone");
    assert_eq!(
        titles(&world, site),
        ["/p/a The fox", "/p/a The fox", "/p/b none", "/p/b none"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_gone_is_shown_by_the_title_that_it_had_and_without_a_link() {
    let den = Den::new();
    let mut changes = vec!["created /p/a 2026-03-01", "created /p/b 2026-03-02"];
    let list = |changes: &[&str]| den.change_list("/changelist.xml", "from='2026-01-01'", changes);
    list(&changes);
    den.site.serve("/p/a", titled("The fox"));
    let world = world().await;
    let site = world.follow(&den.url("/")).await;
    let feed = den.page("/feed.atom");
    let entries = || {
        let feed: atom_syndication::Feed = world.ask(Ask::get(&feed)).text().parse().unwrap();
        feed.entries
    };
    let before = entries();
    den.site.serve("/p/a", Reply::status(410));
    changes.extend(["deleted /p/a 2026-03-08", "deleted /p/b 2026-03-09"]);
    list(&changes);
    world.pass(TimeDelta::days(2));
    world.scheduler().idle().await;
    assert_eq!(
        titles(&world, site),
        ["/p/a The fox", "/p/b none", "/p/a The fox", "/p/b none"]
    );
    let after = entries();
    assert_eq!(after[1..], before[..], "what was said stays said");
    let content = after[0]
        .content
        .as_ref()
        .and_then(|content| content.value());
    let content = content.unwrap();
    assert!(content.contains("<li>The fox, <time"), "{content}");
    assert!(!content.contains("href"), "{content}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_title_that_a_site_gives_wins() {
    let den = Den::empty();
    let news = "http://www.google.com/schemas/sitemap-news/0.9";
    let title = "<n:title>As the site says</n:title>";
    den.xml(
        "/sitemap.xml",
        &format!(
            "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:n='{news}'><url><loc>{{den}}/p/a</loc>
             <n:news>{title}<n:publication_date>2026-03-01</n:publication_date></n:news></url></urlset>"
        ),
    );
    den.site.serve("/p/a", titled("As the page says"));
    let world = world().await;
    let site = world.follow(&den.url("/")).await;
    assert_eq!(asked(&den), [""; 0]);
    assert_eq!(titles(&world, site), ["/p/a As the site says"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_do_not_want_it_or_are_no_pages_are_shown_by_their_address() {
    let elsewhere = FakeSite::start_on("127.0.0.2");
    let foreign = elsewhere.url("/p/foreign").to_string();
    elsewhere.serve("/p/foreign", titled("Of another site"));
    let den = den(&[
        "/p/robots 2026-03-01",
        "/p/noindex 2026-03-01",
        "/p/tagged 2026-03-01",
        "/p/image 2026-03-01",
        "/p/no-type 2026-03-01",
        "/p/leads-away 2026-03-01",
        "/p/broken 2026-03-01",
        "/p/long 2026-03-01",
        "/p/untitled 2026-03-01",
        "/p/whole 2026-03-01",
        &format!("{foreign} 2026-03-01"),
    ]);
    den.site.serve(
        "/robots.txt",
        Reply::text("User-agent: *\nDisallow: /p/robots\n"),
    );
    let page = "<title>A title</title>";
    let site = &den.site;
    site.serve("/p/robots", Reply::html(page));
    site.serve(
        "/p/noindex",
        Reply::html(format!("{page}<meta name=robots content=noindex>")),
    );
    site.serve(
        "/p/tagged",
        Reply::html(page).header("X-Robots-Tag", "noindex"),
    );
    site.serve("/p/image", Reply::new(200, "image/svg+xml", page));
    site.serve("/p/no-type", Reply::new(200, "", page));
    site.serve("/p/leads-away", Reply::redirect(302, &foreign));
    site.serve("/p/broken", Reply::html(page).cut_after(10));
    let long = format!("<style>{}</style>{page}", "x".repeat(64 * 1024));
    site.serve("/p/long", Reply::html(long));
    site.serve("/p/untitled", Reply::html("<h1>Fox</h1>"));
    let whole = format!("{page}{}", "<p>x</p>".repeat(200_000));
    site.serve("/p/whole", Reply::html(whole));
    let world = world().await;
    let site = world.follow(&den.url("/")).await;
    let mut found = titles(&world, site);
    found.retain(|line| !line.ends_with(" none"));
    assert_eq!(found, ["/p/whole A title"]);
    let asked = asked(&den);
    assert_eq!(asked.len(), 9, "{asked:?}");
    assert!(!asked.contains(&"/p/robots".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_title_is_text_whatever_it_looks_like() {
    let den = den(&["/p/a 2026-03-01", "/p/b 2026-03-01", "/p/c 2026-03-01"]);
    den.site.serve(
        "/p/a",
        titled("&lt;script>alert(1)&lt;/script> &amp;amp; \u{202e}\u{0}fox"),
    );
    den.site.serve("/p/b", titled(&"very long ".repeat(5_000)));
    let latin = b"<meta charset=iso-8859-1><title>F\xfcchse</title>".to_vec();
    den.site.serve("/p/c", Reply::new(200, "text/html", latin));
    let world = world().await;
    let site = world.follow(&den.url("/")).await;
    let titles = titles(&world, site);
    assert!(
        titles[0].contains("<script>alert(1)</script> &amp;"),
        "{titles:?}"
    );
    assert!(!titles[0].contains(['\u{202e}', '\u{0}']));
    assert!(titles[1].len() < 1_000);
    assert_eq!(titles[2], "/p/c Füchse");
    // The feed is valid, which `ask` sees to, and no page of ours has markup of theirs.
    world.ask(Ask::get(&den.page("/feed.atom")));
    let answer = world.ask(Ask::get(&den.page("/")));
    let page = answer.text();
    assert!(
        page.contains("&#60;script&#62;alert") && !page.contains("<script>alert"),
        "{page}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_asked_as_politely_as_documents() {
    let gap = Duration::from_millis(20);
    let mut settings = open_settings();
    settings.host_gap = gap;
    let mut world = World::with(settings, 8).await;
    world.page_titles = true;
    world.restart().await;
    let den = den(&["/p/a 2026-03-03", "/p/b 2026-03-02", "/p/c 2026-03-01"]);
    world.follow(&den.url("/")).await;
    let times: Vec<_> = den.site.requests().iter().map(|seen| seen.at).collect();
    assert!(asked(&den).len() == 3);
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] >= gap);
    }
    // A host that has had enough is left alone.
    let den = Den {
        host: "tired.example",
        ..self::den(&["/p/a 2026-03-03", "/p/b 2026-03-02"])
    };
    list(&den, &["/p/a 2026-03-03", "/p/b 2026-03-02"]);
    den.site
        .serve("/p/a", Reply::status(429).retry_after(3_600));
    world.follow(&den.url("/")).await;
    assert_eq!(asked(&den), ["/p/a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_may_leave_pages_alone() {
    let den = den(&["/p/a 2026-03-01"]);
    den.site.serve("/p/a", titled("The fox"));
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    assert_eq!(asked(&den), [""; 0]);
    assert_eq!(titles(&world, site), ["/p/a none"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_does_not_answer_holds_up_no_stop_and_what_came_before_it_is_kept() {
    let den = den(&["/p/a 2026-03-02", "/p/b 2026-03-01"]);
    den.site.serve("/p/a", titled("The fox"));
    den.site.serve("/p/b", Reply::silence());
    let mut world = world().await;
    let (site, _) = (world.store())
        .add_site(&den.url("/"), world.now())
        .await
        .unwrap();
    world.scheduler().wake();
    until(|| asked(&den).len() == 2).await;
    let stopping = world.stop(Duration::from_secs(600));
    let stopped = tokio::time::timeout(Duration::from_secs(5), stopping).await;
    stopped.expect("nobody waits for titles");
    world.start().await;
    world.scheduler().idle().await;
    assert_eq!(titles(&world, site), ["/p/b none", "/p/a The fox"]);
    assert_eq!(asked(&den).len(), 2, "asked again when it changes again");
}

#[tokio::test]
async fn a_page_that_was_hidden_before_its_title_came_gets_none() {
    let den = Den::empty();
    let serve = |is_shown| arc(&den, is_shown, None);
    serve(true);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 2);
    serve(false);
    follower.check().await;
    let (store, site) = (follower.store(), follower.site());
    let (changes, _) = store.changes(site, None, 10).await.unwrap();
    let titles = |changes: &[sitebell::store::ChangeRow]| -> Vec<PageTitle> {
        let title = |row: &sitebell::store::ChangeRow| PageTitle {
            url: row.change.url.clone(),
            title: "A title".to_owned(),
            changes: vec![row.cursor],
        };
        changes.iter().map(title).collect()
    };
    let now = chrono::Utc::now();
    let given = store.give_titles(site, titles(&changes), now);
    assert!(given.await.unwrap());
    let (changes, _) = store.changes(site, None, 10).await.unwrap();
    for row in &changes {
        let is_hidden = row.change.url.ends_with("/p/a");
        assert_eq!(row.change.title.is_none(), is_hidden, "{}", row.change.url);
    }
    // What has a title keeps it, and another site's changes are none of this one's.
    let given = store.give_titles(site, titles(&changes), now);
    assert!(!given.await.unwrap());
    let stranger = SiteId(site.0 + 1);
    let nobody = PageTitle {
        changes: vec![Cursor::default()],
        ..titles(&changes).remove(0)
    };
    let given = store.give_titles(stranger, vec![nobody], now);
    assert!(!given.await.unwrap());
}
