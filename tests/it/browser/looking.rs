//! Every page: how it looks, and whether everybody can use it.

use chrono::TimeDelta;
use sitebell::secret::FirstKey;

use super::following::{sign_up, world};
use super::{Browser, Script};
use crate::den::{Den, sitemapindex, urlset};
use crate::fake_site::{Gate, Reply};
use crate::world::World;

/// A site with much to show: a year of changes in two collections, and something to put right.
fn rich() -> Den {
    let den = Den::empty();
    den.description(&[("/gallery.xml", "/gallery/"), ("/stories.xml", "/stories/")]);
    for name in ["gallery", "stories"] {
        let (list, changed) = (format!("/{name}.xml"), format!("/{name}-list.xml"));
        den.capability_list(&list, &format!("/{name}/"), &[&changed]);
        let kinds = ["created", "updated", "updated", "deleted"];
        let seasons = ["winter", "spring", "summer", "autumn"];
        let changes: Vec<String> = (0..40)
            .map(|n| {
                let (kind, season) = (kinds[n % 4], seasons[n % 3]);
                let month = (n * n) % 8 + 5;
                let day = (n * 7) % 28 + 1;
                format!("{kind} /{name}/{season}-{n}.html 2025-{month:02}-{day:02}T10:00:00Z")
            })
            .chain([format!(
                "created /{name}/a-new-page.html 2026-03-10T09:30:00Z"
            )])
            .collect();
        let mut changes: Vec<&str> = changes.iter().map(String::as_str).collect();
        changes.sort_by_key(|change| change.rsplit(' ').next());
        den.change_list_of(&list, &changed, "from='2025-01-01'", &changes);
    }
    let about = |path: &str, title: &str, text: &str| {
        format!(
            "<rdf:Description rdf:about='{{den}}{path}'><dcterms:title>{title}</dcterms:title>
            <dcterms:description>{text}</dcterms:description></rdf:Description>"
        )
    };
    let all = [
        about(
            "/",
            "The Fox Den",
            "A shrine to all things vulpine: drawings, stories, and a webring for friends of the fox.",
        ),
        about("/gallery/", "Gallery", "Ink and pencil."),
        about(
            "/stories/",
            "Stories about foxes and other animals",
            "Mostly true.",
        ),
    ];
    den.xml(
        "/about.xml",
        &format!(
            "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:dcterms='http://purl.org/dc/terms/'>{}</rdf:RDF>",
            all.concat()
        ),
    );
    den
}

/// A site of many sitemaps, some of them with names that are long.
fn mapped() -> Den {
    let den = Den {
        host: "map.example",
        ..Den::empty()
    };
    let names: Vec<String> = (1..31)
        .map(|n| match n % 5 {
            0 => format!("/maps/{}-{n}.xml", "a-name-that-goes-on-and-on".repeat(2)),
            _ => format!("/maps/posts-{n}.xml"),
        })
        .collect();
    let parts = names.iter().map(|name| {
        format!("<sitemap><loc>{{den}}{name}</loc><lastmod>2026-03-02</lastmod></sitemap>")
    });
    den.xml("/sitemap.xml", &sitemapindex(&parts.collect::<String>()));
    for name in &names {
        let page =
            |n| format!("<url><loc>{{den}}{name}/{n}</loc><lastmod>2026-02-{n:02}</lastmod></url>");
        den.xml(name, &urlset(&(1..4).map(page).collect::<String>()));
    }
    den
}

async fn look(browser: &Browser, world: &World, pages: &[(&str, &str)]) {
    for (name, path) in pages {
        browser.open(&world.here(path)).await;
        browser.look(name).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_public_page_is_fit_for_everybody() {
    let world = World::in_browser().await;
    let (den, plain, slow) = (rich(), Den::empty(), Den::named("slow.example"));
    let owl = Den {
        host: "owl.example",
        ..plain
    };
    let maps = mapped();
    world.follow(&den.url("/")).await;
    world.follow(&owl.url("/")).await;
    world.follow(&maps.url("/")).await;
    let gate = Gate::default();
    let reply = Reply::xml(slow.filled(&urlset(""))).behind(&gate);
    slow.site.serve("/changelist.xml", reply);
    let browser = Browser::start(Script::On).await;
    let pages = [
        ("front", "/"),
        ("site", &den.page("/")),
        ("collection", &den.page("/gallery/")),
        ("entry", &den.page("/gallery/entries/1")),
        ("nothing", &owl.page("/")),
        ("sitemaps", &maps.page("/")),
        ("check", "/check"),
        ("ping", "/ping"),
        ("handbook", "/docs/"),
        ("handbook-page", "/docs/recipes/"),
        ("sign-in", "/sign-in"),
        ("recover", "/recover"),
        ("missing", "/sites/none.example/"),
    ];
    look(&browser, &world, &pages).await;

    browser.open(&world.here("/")).await;
    browser.fill("#url", "fox den").await;
    browser.press("Look at it").await;
    browser.see("is not the address of a website").await;
    browser.look("front-wrong").await;
    browser.fill("#url", slow.url("/").as_str()).await;
    browser.press("Look at it").await;
    browser.see("/changelist.xml").await;
    browser.look("reading").await;
    gate.open();
    browser.see_no_more("Reading the site").await;

    let report = format!("/check?url={}", owl.url("/"));
    browser.open(&world.here(&report)).await;
    browser.see("What to put right").await;
    // As it loads, not as it takes the place of the page that showed the reading.
    browser.reload().await;
    browser.see("What to put right").await;
    browser.look("report").await;
    browser.press("Keep this report").await;
    browser.see("Its address stays.").await;
    browser.look("report-kept").await;

    let good = Den::new();
    world.follow(&good.url("/")).await;
    let report = format!("/check?url={}", good.url("/"));
    browser.open(&world.here(&report)).await;
    browser.see("All good").await;
    browser.reload().await;
    browser.see("All good").await;
    browser.look("report-good").await;
    browser.open(&world.here("/ping")).await;
    browser.fill("#url", den.url("/").as_str()).await;
    browser.press("Ring").await;
    browser.see("is read now").await;
    browser.look("ping-done").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_of_an_account_is_fit_for_everybody() {
    let world = world().await;
    let den = rich();
    world.follow(&den.url("/")).await;
    let browser = Browser::start(Script::On).await;
    sign_up(&browser, &world, "carol").await;
    let empty = [("home-empty", "/home"), ("followed-empty", "/home/sites")];
    look(&browser, &world, &empty).await;
    browser.open(&world.here(&den.page("/"))).await;
    browser.press("Follow the site").await;
    browser.see("You follow The Fox Den now.").await;
    browser.look("site-followed").await;
    world.pass(TimeDelta::days(1));
    den.change_list_of(
        "/gallery.xml",
        "/gallery-list.xml",
        "from='2025-01-01'",
        &["updated /gallery/a-new-page.html 2026-03-11T09:30:00Z"],
    );
    world.scheduler().idle().await;
    let pages = [
        ("home", "/home"),
        ("home-searched", "/home?q=summer&kind=updated"),
        ("followed", "/home/sites"),
        ("settings", "/settings"),
        ("settings-password", "/settings/password"),
        ("settings-sessions", "/settings/sessions"),
        ("settings-tokens", "/settings/tokens"),
        ("settings-time-zone", "/settings/time-zone"),
        ("settings-delete", "/settings/delete"),
    ];
    look(&browser, &world, &pages).await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_of_an_admin_is_fit_for_everybody() {
    let mut world = World::in_browser().await;
    let key = FirstKey::make().unwrap();
    world.first = Some(key.hash());
    world.restart().await;
    let den = rich();
    world.follow(&den.url("/")).await;
    for account in world.store().accounts().await.unwrap() {
        world.store().remove_account(account.id).await.unwrap();
    }
    let browser = Browser::start(Script::On).await;
    let first = format!("/first-account?key={}", key.reveal());
    look(&browser, &world, &[("first-account", &first)]).await;
    browser.fill("#name", "carol").await;
    browser.fill("#password", "correct horse battery").await;
    browser.click("main form button").await;
    browser.see("Welcome").await;
    browser.look("welcome").await;
    let pages = [
        ("admin", "/admin"),
        ("admin-sites", "/admin/sites"),
        ("admin-remove", "/admin/sites/remove?site=1"),
        ("admin-accounts", "/admin/accounts"),
        ("admin-invites", "/admin/invites"),
    ];
    look(&browser, &world, &pages).await;
    browser.close().await;
}

/// A note, a calendar and few changes, beside a column that is taller than all of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_short_page_beside_a_tall_column_has_no_holes() {
    let world = World::in_browser().await;
    let den = Den::new();
    let changes = ["created /a 2026-03-01", "created /b yesterday"];
    den.change_list("/changelist.xml", "from='2026-01-01'", &changes);
    world.follow(&den.url("/")).await;
    let browser = Browser::start(Script::On).await;
    browser.open(&world.here(&den.page("/"))).await;
    browser.see("The last check found something to fix").await;
    let holes = "const parts = [...document.querySelectorAll('.columns > div > *')].map(part => part.getBoundingClientRect());
        const aside = document.querySelector('aside').getBoundingClientRect();
        return [aside.bottom - parts.at(-1).bottom, ...parts.slice(1).map((part, n) => part.top - parts[n].bottom)]";
    let holes = browser.run(holes).await;
    let holes: Vec<f64> = serde_json::from_value(holes).unwrap();
    assert!(holes[0] > 0.0, "the column is not taller: {holes:?}");
    assert!(holes[1..].iter().all(|hole| *hole < 60.0), "{holes:?}");
    browser.look("site-short").await;
    browser.close().await;
}

/// What has the focus: what it says, and whether one sees that it has it.
const FOCUSED: &str = "const one = document.activeElement, box = one.getBoundingClientRect(), style = getComputedStyle(one);
    return one === document.body ? null : [
        one.id || one.name || one.textContent.trim(),
        style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 && box.width > 0 && box.top >= 0 && box.left >= 0,
    ]";

#[tokio::test(flavor = "multi_thread")]
async fn a_site_is_looked_at_with_the_keyboard_alone_and_the_focus_is_always_seen() {
    let (world, den) = (World::in_browser().await, Den::new());
    let browser = Browser::start(Script::On).await;
    browser.open(&world.here("/")).await;
    browser.key("Tab").await;
    let first = browser.run(FOCUSED).await;
    assert_eq!(first, serde_json::json!(["Skip to the content", true]));
    browser.key("Enter").await;
    browser.key("Tab").await;
    assert_eq!(
        browser.run(FOCUSED).await[0],
        "url",
        "the links are skipped"
    );
    browser
        .find("#url")
        .await
        .send_keys(den.url("/").as_str())
        .await
        .unwrap();
    browser.key("Enter").await;
    browser.arrive(&den.page("/")).await;
    browser.see("Sign in to follow").await;

    // As it loads, not as it takes the place of the page that showed the reading.
    browser.reload().await;
    let mut stops = Vec::new();
    loop {
        browser.key("Tab").await;
        let stop = browser.run(FOCUSED).await;
        // Beyond the last one is the browser itself, and then the first one again.
        let Some(words) = stop[0].as_str() else { break };
        if stops.first().is_some_and(|first| first == words) {
            break;
        }
        assert_eq!(stop[1], true, "{words}");
        stops.push(words.to_owned());
    }
    for stop in [
        "Sitebell",
        "Sign in to follow",
        "Copy",
        "The same in other forms",
        "the report for authors",
    ] {
        assert!(stops.iter().any(|known| known == stop), "{stop}: {stops:?}");
    }
    browser.close().await;
}
