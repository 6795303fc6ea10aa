//! Authors who tell that their site has changed: by hand, from a build, and more often than they should.

use std::time::Duration;

use chrono::TimeDelta;

use crate::ask::{Answered, Ask};
use crate::den::{Den, WELL_KNOWN};
use crate::fake_site::{FakeSite, Gate, Reply};
use crate::person::Person;
use crate::scheduling::until;
use crate::world::World;

const LIST: &str = "/changelist.xml";
const FORM: &str = "application/x-www-form-urlencoded";

fn ping(world: &World, url: &str) -> Answered {
    let ask = Ask::new("POST", "/ping").header("Content-Type", FORM);
    world.ask(ask.body(format!("url={url}")))
}

fn change(den: &Den, changes: &[&str]) {
    den.change_list(LIST, "from='2026-01-01'", changes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_is_done_has_its_site_read_at_once() {
    let den = Den::new();
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let before = world.announced(site).len();
    change(&den, &["created /a 2026-03-01", "updated /c 2026-03-09"]);
    let told = ping(&world, den.url("/").as_str()).json(202);
    assert_eq!(told["url"], den.url("/").as_str());
    assert_eq!(told["read_at"], "2026-03-10T12:00:00Z");
    let page = told["page_url"].as_str().unwrap();
    assert!(page.starts_with("https://bell.example/sites/fox.example"));
    world.scheduler().idle().await;
    let announced = world.announced(site);
    assert_eq!(announced[before..], ["updated /c 2026-03-09"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_has_only_an_address_may_send_along_what_it_likes() {
    let den = Den::new();
    let world = World::new().await;
    world.follow(&den.url("/")).await;
    den.site.forget_requests();
    let path = format!("/ping?url={}", den.url("/"));
    let body = format!("{{\"payload\": \"{}\"}}", "x".repeat(100_000));
    let ask = Ask::new("POST", &path).header("Content-Type", "application/json");
    world.ask(ask.body(body)).json(202);
    world.scheduler().idle().await;
    assert!(!den.site.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_nobody_follows_is_not_fetched() {
    let stranger = FakeSite::start();
    let world = World::new().await;
    let url = stranger.url_as("owl.example", "/");
    let sentence = ping(&world, url.as_str()).refusal(404);
    assert!(
        sentence.starts_with(&format!("{url} is not followed here")),
        "{sentence}"
    );
    assert!(sentence.contains("https://bell.example/"), "{sentence}");
    world.scheduler().idle().await;
    assert!(stranger.requests().is_empty());
    assert!(world.store().sites(None, 10).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_address_is_told_so() {
    let world = World::new().await;
    let sentence = ping(&world, "").refusal(422);
    assert!(sentence.contains("url=https://"), "{sentence}");
    ping(&world, "javascript:alert(1)").refusal(422);
    let json = Ask::new("POST", "/ping").header("Content-Type", "application/json");
    let sentence = world.ask(json.body("{}")).refusal(415);
    assert!(sentence.contains(FORM), "{sentence}");
    let sentence = ping(&world, &"x".repeat(20_000)).refusal(413);
    assert!(sentence.contains("16 kB"), "{sentence}");
    let elsewhere = Ask::new("POST", "/ping").header("Content-Type", FORM);
    let elsewhere = elsewhere.header("Sec-Fetch-Site", "cross-site");
    world.ask(elsewhere.body("url=fox.example")).refusal(403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_comes_while_the_site_is_read_is_read_after_that() {
    let den = Den::new();
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let before = world.announced(site).len();
    den.site.forget_requests();
    // The list as it was is on its way when the site changes.
    let gate = Gate::default();
    let list = crate::den::change_list(
        "/capabilitylist.xml",
        "from='2026-01-01'",
        &["created /a 2026-03-01"],
    );
    let list = Reply::xml(den.filled(&list)).behind(&gate);
    den.site.serve(LIST, list);
    ping(&world, den.url("/").as_str()).json(202);
    until(|| !den.site.requests_to(LIST).is_empty()).await;
    change(&den, &["created /a 2026-03-01", "updated /c 2026-03-09"]);
    ping(&world, den.url("/").as_str()).json(202);
    ping(&world, den.url("/").as_str()).json(202);
    gate.open();
    world.scheduler().idle().await;
    assert_eq!(world.announced(site)[before..], ["updated /c 2026-03-09"]);
    assert_eq!(
        den.site.requests_to(WELL_KNOWN).len(),
        2,
        "both are answered by one more check"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_comes_while_the_site_is_read_is_read_after_a_stop_that_comes_first() {
    let den = Den::new();
    let mut world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    den.site.forget_requests();
    let gate = Gate::default();
    let up = "/capabilitylist.xml";
    let list = crate::den::change_list(up, "from='2026-01-01'", &["created /a 2026-03-01"]);
    let list = Reply::xml(den.filled(&list)).behind(&gate);
    den.site.serve(LIST, list);
    ping(&world, den.url("/").as_str()).json(202);
    until(|| !den.site.requests_to(LIST).is_empty()).await;
    change(&den, &["created /a 2026-03-01", "updated /c 2026-03-09"]);
    ping(&world, den.url("/").as_str()).json(202);
    let scheduler = world.scheduler().clone();
    let mut stopping = Box::pin(scheduler.stop(Duration::from_secs(600)));
    let begun = tokio::time::timeout(Duration::ZERO, &mut stopping).await;
    assert!(begun.is_err(), "it waits for the check that is under way");
    gate.open();
    stopping.await.unwrap();
    world.restart().await;
    world.scheduler().idle().await;
    let announced = world.announced(site);
    assert_eq!(announced.last().unwrap(), "updated /c 2026-03-09");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_wants_peace_has_it_and_the_site_is_read_afterwards() {
    let den = Den::new();
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    den.site
        .serve(WELL_KNOWN, Reply::status(429).retry_after(1800));
    world.scheduler().check_now(site).await.unwrap();
    world.scheduler().idle().await;
    den.site.forget_requests();
    let told = ping(&world, den.url("/").as_str()).json(202);
    let at = told["read_at"].as_str().unwrap();
    assert!(
        ("2026-03-10T12:25".."2026-03-10T12:31").contains(&at),
        "{at}"
    );
    world.scheduler().idle().await;
    assert!(den.site.requests().is_empty());
    let row = world.store().site(site).await.unwrap().unwrap();
    assert!(row.next_check_at.unwrap() <= world.now() + TimeDelta::minutes(31));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_is_announced_a_few_times_and_then_waits_whoever_does_it() {
    let den = Den::new();
    let mut world = World::new().await;
    world.proxies = vec!["127.0.0.0/8".parse().unwrap()];
    world.restart().await;
    world.follow(&den.url("/")).await;
    let ping = |from: &str| {
        let ask = Ask::new("POST", "/ping").header("Content-Type", FORM);
        let ask = ask.header("X-Forwarded-For", from);
        world.ask(ask.body(format!("url={}", den.url("/"))))
    };
    for from in ["192.0.2.1", "192.0.2.2", "192.0.2.3"] {
        ping(from).json(202);
    }
    world.scheduler().idle().await;
    den.site.forget_requests();
    let refused = ping("192.0.2.4");
    let sentence = refused.refusal(429);
    assert!(
        sentence.contains("this site") && sentence.contains("try again in"),
        "{sentence}"
    );
    let wait: i64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((110..=121).contains(&wait), "{wait}");
    world.scheduler().idle().await;
    assert!(den.site.requests().is_empty());
    world.pass(TimeDelta::seconds(wait));
    ping("192.0.2.4").json(202);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_announces_so_much_and_then_waits() {
    let world = World::new().await;
    let count = (0..100).find(|n| ping(&world, &format!("site{n}.example")).status == 429);
    assert_eq!(count, Some(20));
    let refused = ping(&world, "fox.example");
    assert!(refused.refusal(429).contains("from your address"));
    assert!(refused.header("retry-after").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_site_rests() {
    let den = Den::new();
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let store = world.store();
    store.set_paused(site, true, world.now()).await.unwrap();
    den.site.forget_requests();
    let sentence = ping(&world, den.url("/").as_str()).refusal(409);
    assert!(sentence.contains("paused"), "{sentence}");
    world.scheduler().idle().await;
    assert!(den.site.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_author_rings_by_hand_and_is_told_what_comes_of_it() {
    let den = Den::new();
    let world = World::new().await;
    world.follow(&den.url("/")).await;
    let mut author = Person::at(world.address());
    assert!(author.open("/check").has("href=\"/ping\""));
    let page = author.open("/ping");
    assert!(
        page.has("curl --fail --retry 3 -d url=https://fox.example/ https://bell.example/ping")
    );
    let done = author.send(&page, "/ping", &[("url", den.url("/").as_str())]);
    assert_eq!(done.status(), 202);
    assert!(done.has("The Fox Den</bdi> is read now"), "{}", done.text());
    assert!(done.has(&format!("href=\"{}\"", den.page("/"))));
    let wrong = author.send(&page, "/ping", &[("url", "no address")]);
    assert_eq!(wrong.status(), 422);
    wrong.error("url");
    let unknown = author.send(&page, "/ping", &[("url", "owl.example")]);
    assert_eq!(unknown.status(), 404);
    assert!(unknown.error("url").contains("is not followed here"));
    world.scheduler().idle().await;
}
