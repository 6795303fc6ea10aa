//! From an address to a timeline, with scripts and without.

use chrono::TimeDelta;
use sitebell::account::Registration;

use super::{Browser, Script};
use crate::den::{Den, change_list, sitemapindex, urlset};
use crate::fake_site::{Gate, Reply};
use crate::world::World;

/// A world in which everybody may sign up.
pub async fn world() -> World {
    let mut world = World::in_browser().await;
    world.registration = Registration::Open;
    world.restart().await;
    world
}

pub async fn sign_up(browser: &Browser, world: &World, name: &str) {
    browser.open(&world.here("/sign-up")).await;
    browser.fill("#name", name).await;
    browser.fill("#password", "correct horse battery").await;
    browser.press("Sign up").await;
    browser.see("Welcome").await;
}

/// Paste an address, watch it being read, take the feed; sign up, follow, see a change arrive, unfollow and undo.
async fn story(script: Script) {
    let world = world().await;
    let (den, gate) = (Den::new(), Gate::default());
    let changes = ["created /a 2026-03-01", "updated /b 2026-03-02T08:00:00Z"];
    let list = |changes: &[&str]| {
        den.filled(&change_list(
            "/capabilitylist.xml",
            "from='2026-01-01'",
            changes,
        ))
    };
    let reply = Reply::xml(list(&changes)).behind(&gate);
    den.site.serve("/changelist.xml", reply);

    let browser = Browser::start(script).await;
    browser.open(&world.here("/")).await;
    browser.fill("#url", den.url("/").as_str()).await;
    browser.press("Look at it").await;
    browser.arrive(&den.page("/")).await;
    browser.see("Reading the site").await;
    browser.see("/.well-known/resourcesync").await;
    // The last document is on its way; as soon as it is there, the page says what was found.
    browser.see("/changelist.xml").await;
    gate.open();
    browser.see("Sunday 1 March").await;
    browser.see("in ResourceSync").await;
    browser.see(&world.here(&den.page("/feed.atom"))).await;
    assert_eq!(browser.count("[data-live]").await, 0);
    if script == Script::On {
        browser.press("Copy").await;
        browser.see("Copied").await;
    } else {
        assert!(
            !browser.text().await.contains("Copy\n"),
            "a button that could do nothing"
        );
    }

    sign_up(&browser, &world, "carol").await;
    browser.open(&world.here(&den.page("/"))).await;
    browser.press("Follow the site").await;
    browser.see("You follow The Fox Den now.").await;
    browser.follow("Timeline").await;
    browser.see("One new page in The Fox Den").await;

    world.pass(TimeDelta::days(2));
    let news = [changes[0], changes[1], "created /news 2026-03-12T09:00:00Z"];
    den.site.serve("/changelist.xml", Reply::xml(list(&news)));
    world.scheduler().idle().await;
    browser.reload().await;
    browser.see("news").await;
    browser.see("You were here 2 days ago").await;

    browser.follow("Followed").await;
    browser.see("What you follow").await;
    browser.click("form[action$='/unfollow'] button").await;
    browser.see("You no longer follow The Fox Den.").await;
    browser.press("Undo").await;
    browser.see("You follow The Fox Den now.").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_an_address_to_a_timeline_with_scripts() {
    story(Script::On).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_an_address_to_a_timeline_without_scripts() {
    story(Script::Off).await;
}

/// Follow one sitemap of a site, and one folder of it, from its page.
async fn parts(script: Script) {
    let world = world().await;
    let den = Den::empty();
    let part = |path: &str| format!("<sitemap><loc>{{den}}{path}</loc></sitemap>");
    let page = |path: &str| format!("<url><loc>{{den}}{path}</loc></url>");
    den.xml(
        "/sitemap.xml",
        &sitemapindex(&format!("{}{}", part("/a.xml"), part("/b.xml"))),
    );
    den.xml(
        "/a.xml",
        &urlset(&format!("{}{}", page("/tales/1"), page("/tales/2"))),
    );
    den.xml("/b.xml", &urlset(&page("/art/1")));
    world.follow(&den.url("/")).await;
    let browser = Browser::start(script).await;
    sign_up(&browser, &world, "carol").await;
    browser.open(&world.here(&den.page("/"))).await;
    browser.see("The site has 2 sitemaps").await;
    browser.click("[aria-labelledby=only] .parts button").await;
    // The notice is on the page only until the site was read; this stays.
    browser.see("You follow this.").await;
    browser.see("tales/2").await;
    browser.open(&world.here(&den.page("/"))).await;
    browser.see("You follow this").await;
    browser.fill("#folder", "tales").await;
    browser.press("Follow this folder").await;
    browser.see("You follow this.").await;
    browser.see("tales/1").await;
    assert!(!browser.text().await.contains("art/1"));
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_site_is_followed_with_scripts() {
    parts(Script::On).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_site_is_followed_without_scripts() {
    parts(Script::Off).await;
}

/// A list goes out of one account and into another.
async fn round_trip(script: Script) {
    let world = world().await;
    let den = Den::new();
    world.follow(&den.url("/")).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("list.opml");
    let text = format!(
        "<opml version='2.0'><head/><body><outline text='Foxes'><outline text='Den' htmlUrl='{}'/>
         <outline text='Not a site' htmlUrl='mailto:fox@example.com'/></outline></body></opml>",
        den.url("/")
    );
    std::fs::write(&file, text).unwrap();
    let browser = Browser::start(script).await;
    sign_up(&browser, &world, "carol").await;
    browser.follow("Followed").await;
    browser.follow("Import a list").await;
    browser.choose("#file", &file).await;
    browser.press("Import").await;
    browser
        .see("You follow 1 subscription of the list now.")
        .await;
    browser.see("Not a site").await;
    if script == Script::On {
        browser.reload().await;
        browser.look("import").await;
    }
    browser.follow("Followed").await;
    browser.see("Foxes").await;
    let exported = browser
        .download(&world.here("/home/export.opml"), "sitebell.opml")
        .await;
    assert!(exported.contains("text=\"Foxes\"") && exported.contains(&den.page("/feed.atom")));
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_subscriptions_comes_and_goes_with_scripts() {
    round_trip(Script::On).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_subscriptions_comes_and_goes_without_scripts() {
    round_trip(Script::Off).await;
}
