//! The report for authors: rule by rule, kept under an address of its own, and what to put on one's page.

use chrono::TimeDelta;
use sitebell::store::Keep;

use crate::ask::Ask;
use crate::den::{Den, urlset};
use crate::person::{Page, Person};
use crate::world::World;

const LIST: &str = "/changelist.xml";

/// The report on a site, once that was read.
fn report(author: &mut Person, den: &Den) -> Page {
    let address = format!("/check?url={}", den.url("/"));
    loop {
        let page = author.open(&address);
        if !page.has("Reading the site") {
            return page;
        }
    }
}

/// The words of a page without its tags.
fn words(page: &Page) -> String {
    let parts = page
        .text()
        .split('<')
        .map(|part| match part.split_once('>') {
            Some((_, words)) => words,
            None => part,
        });
    let words: String = parts.collect();
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_with_nothing_to_fix_is_told_so_and_which_rules_it_keeps() {
    let world = World::new().await;
    let den = Den::new();
    let page = report(&mut Person::at(world.address()), &den);
    let words = words(&page);
    assert!(
        words.contains("All good. Nothing to fix! All 13 rules are kept"),
        "{words}"
    );
    assert!(
        words.contains("Every document can be fetched. kept"),
        "{words}"
    );
    assert!(words.contains("What followers see"), "{words}");
    assert!(!words.contains("broken"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_is_broken_is_told_beside_those_that_are_kept() {
    let world = World::new().await;
    let den = Den::new();
    den.change_list(LIST, "", &["created /a yesterday", "created /b 2026-03-01"]);
    let page = report(&mut Person::at(world.address()), &den);
    let words = words(&page);
    for part in [
        "11 of 13 rules are kept.",
        "Every document can be fetched. kept",
        "Change Lists say which time they cover, and leave no gap. not quite kept",
        "Every change says what happened and when, oldest first. broken",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    // What the author writes is shown as such.
    assert!(
        page.has("<code>datetime</code>") && !words.contains('`'),
        "{words}"
    );
    // The code leads to what there is to say about it.
    let place = "/docs/problems#bad-datetime";
    assert!(
        page.has(&format!("<a href=\"{place}\"><code>[bad-datetime]")),
        "{}",
        page.text()
    );
    // What is to be copied is what is shown.
    assert!(
        page.has("data-copy=\"&#60;rs:md change="),
        "{}",
        page.text()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lines_to_copy_are_about_this_very_site() {
    let world = World::new().await;
    let den = Den::new();
    den.xml(
        "/capabilitylist.xml",
        &urlset(
            "<rs:ln rel='up' href='{den}/.well-known/resourcesync'/><rs:ln rel='describes' href='{den}/'/>
            <rs:md capability='capabilitylist'/>
            <url><loc>{den}/changelist.xml</loc><rs:md capability='changelist'/></url>",
        ),
    );
    let page = report(&mut Person::at(world.address()), &den);
    let own = den.url("/about.xml");
    let line = format!("&#60;rs:ln rel=&#34;describedby&#34; href=&#34;{own}&#34;/&#62;");
    assert!(page.has(&line), "{line} in {}", page.text());
    assert!(!page.has("https://example.com/"), "{}", page.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_kept_as_it_was_for_those_who_want_that() {
    let mut world = World::new().await;
    let den = Den::new();
    den.change_list(LIST, "", &["created /a 2026-03-01"]);
    let mut author = Person::at(world.address());
    let page = report(&mut author, &den);
    let kept = author.send(&page, "/check/keep", &[]);
    let address = kept_at(&mut author, &page);
    assert_eq!(author.open(&address).text(), kept.text(), "twice is once");
    let now = words(&page);
    let then = words(&kept);
    for part in ["[no-from]", "12 of 13 rules are kept", "The Fox Den"] {
        assert!(now.contains(part) && then.contains(part), "{part}: {then}");
    }
    assert!(then.contains("Its address stays."), "{then}");
    assert!(!then.contains("Keep this report"), "{then}");

    // The site gets better, the report stays: through years, the nightly cleaning and a restart.
    den.change_list(LIST, "from='2026-01-01'", &["created /a 2026-03-01"]);
    for years in 1..=20 {
        world.pass(TimeDelta::days(365));
        world.clean(&Keep::default()).await;
        let later = Person::at(world.address()).open(&address);
        assert_eq!(later.status(), 200, "after {years} years");
        assert!(words(&later).contains("[no-from]"));
    }
    world.restart().await;
    let mut friend = Person::at(world.address());
    assert!(words(&friend.open(&address)).contains("[no-from]"));
    let none = friend.open("/check/0000000000000000");
    assert_eq!(none.status(), 404);
    assert!(none.has("There is no such report"), "{}", none.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_that_say_the_same_share_one_address() {
    let mut world = World::new().await;
    let den = Den::new();
    let mut author = Person::at(world.address());
    let page = report(&mut author, &den);
    let first = kept_at(&mut author, &page);
    // Read again, by somebody else, on another day, with nothing changed.
    world.pass(TimeDelta::days(1));
    world.restart().await;
    let mut friend = Person::at(world.address());
    let page = report(&mut friend, &den);
    assert_eq!(kept_at(&mut friend, &page), first);
    // Who has an account keeps their own, so that nobody else's removal takes it away.
    let mut bob = world.person("bob").await;
    let page = report(&mut bob, &den);
    let own = kept_at(&mut bob, &page);
    assert_ne!(own, first);
    assert_eq!(kept_at(&mut bob, &page), own);
    den.change_list(LIST, "", &["created /b 2026-03-02"]);
    world.restart().await;
    let mut friend = Person::at(world.address());
    let page = report(&mut friend, &den);
    assert_ne!(kept_at(&mut friend, &page), first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_removed_by_who_kept_it_or_by_an_admin_and_by_nobody_else() {
    let world = World::new().await;
    let den = Den::new();
    let mut bob = world.person("bob").await;
    let page = report(&mut bob, &den);
    let kept = kept_at(&mut bob, &page);
    let mut visitor = Person::at(world.address());
    assert!(!visitor.open(&kept).has("Remove this report"));
    let shown = bob.open("/settings/reports");
    assert!(shown.has(&kept), "{}", shown.text());
    assert!(bob.open("/settings/data.json").has(&kept));
    let page = bob.open(&kept);
    let removed = bob.send(&page, &format!("{kept}/remove"), &[]);
    assert!(removed.has("The report is removed"), "{}", removed.text());
    assert!(!removed.has(&kept), "{}", removed.text());
    assert_eq!(bob.open(&kept).status(), 404);

    let page = report(&mut visitor, &den);
    let kept = kept_at(&mut visitor, &page);
    let csrf = bob.open("/settings").value("csrf");
    let refused = bob.post(&format!("{kept}/remove"), &[("csrf", &csrf)]);
    assert_eq!(refused.status, 404);
    assert_eq!(visitor.open(&kept).status(), 200);
    let mut alice = world.person("alice").await;
    let all = alice.open("/admin/reports");
    assert!(all.has(&kept) && all.has("a visitor"), "{}", all.text());
    let removed = alice.send(&all, &format!("{kept}/remove"), &[]);
    assert!(removed.has("There are none"), "{}", removed.text());
    assert_eq!(visitor.open(&kept).status(), 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_room_for_so_many_reports_and_who_finds_none_is_told_why() {
    let mut world = World::new().await;
    world.keep_reports = 4;
    world.restart().await;
    let mut visitor = Person::at(world.address());
    let keep = |who: &mut Person| {
        let den = Den::new();
        let page = report(who, &den);
        let answer = who.send_only(&page, "/check/keep", &[]);
        (answer.status, answer.text().to_owned())
    };
    assert_eq!(keep(&mut visitor).0, 303);
    assert_eq!(keep(&mut visitor).0, 303);
    let (status, text) = keep(&mut visitor);
    assert_eq!(status, 409);
    let told = "with an account you can keep one of your own";
    assert!(text.contains(told), "{text}");
    let mut bob = world.person("bob").await;
    assert_eq!(keep(&mut bob).0, 303);
    assert_eq!(keep(&mut bob).0, 303);
    let (status, text) = keep(&mut bob);
    assert_eq!(status, 409);
    let told = "As many reports are kept here as there is room for";
    assert!(text.contains(told), "{text}");
    // What is kept stays, whoever goes.
    let id = world
        .store()
        .account_by_name("bob")
        .await
        .unwrap()
        .unwrap()
        .id;
    assert!(world.store().remove_account(id).await.unwrap());
    let reports = world.store().reports(None, None, 10).await.unwrap();
    assert_eq!(reports.len(), 4);
    assert!(reports.iter().all(|report| report.kept_by.is_none()));
}

/// Where the report is that somebody keeps.
fn kept_at(author: &mut Person, page: &Page) -> String {
    let answer = author.send_only(page, "/check/keep", &[]);
    assert_eq!(answer.status, 303);
    let address = answer.header("location").unwrap().to_owned();
    assert_eq!(address.len(), "/check/".len() + 16, "{address}");
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_nobody_made_is_made_before_it_is_kept() {
    let world = World::new().await;
    let den = Den::new();
    let mut author = Person::at(world.address());
    let csrf = author.open("/sign-in").value("csrf");
    let url = den.url("/");
    let answer = author.post("/check/keep", &[("csrf", &csrf), ("url", url.as_str())]);
    assert_eq!(answer.status, 303);
    let location = answer.header("location").unwrap();
    assert!(location.starts_with("/check?url="), "{location}");
    assert!(den.site.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_author_gets_a_badge_and_lines_to_copy() {
    let world = World::new().await;
    let den = Den::new();
    den.about("/about.xml", "/", "Fox &amp; \"Co\" &lt;script&gt;");
    let mut author = Person::at(world.address());
    assert!(!report(&mut author, &den).has("For your own page"));
    world.follow(&den.url("/")).await;
    let page = report(&mut author, &den);
    assert!(page.has("For your own page"));
    let site = format!("https://bell.example{}", den.page("/"));
    let line = "&#60;a href=&#34;{site}&#34;&#62;&#60;img src=&#34;{site}badge.svg&#34; alt=&#34;Follow Fox &#38;#38; &#38;#34;Co&#38;#34;";
    let line = line.replace("{site}", &site);
    assert!(page.has(&line), "{line} in {}", page.text());
    assert!(page.has(&format!("href=&#34;{site}feed.atom&#34;")));

    let badge = world.ask(Ask::get(&den.page("/badge.svg")));
    assert_eq!(badge.status, 200);
    assert_eq!(badge.header("content-type"), Some("image/svg+xml"));
    assert_eq!(badge.header("cache-control"), Some("public, max-age=3600"));
    assert_eq!(badge.header("set-cookie"), None);
    let picture = badge.text();
    assert!(picture.len() < 2_000, "{}", picture.len());
    assert!(
        picture.contains("Follow Fox &#38; &#34;Co&#34; &#60;script&#62; with Sitebell"),
        "{picture}"
    );
    assert!(picture.contains(">2 Mar 2026</text>"), "{picture}");
    assert_eq!(
        world.ask(Ask::get("/sites/none.example/badge.svg")).status,
        404
    );
}
