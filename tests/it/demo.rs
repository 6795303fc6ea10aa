//! The demo: the sample site is a good one, changes with the clock, and is followed.

use std::net::TcpListener;
use std::sync::Arc;

use chrono::TimeDelta;
use sitebell::check::{CheckSettings, check_site};
use sitebell::demo::Demo;
use sitebell::fetch::Fetcher;
use sitebell::site::SiteUrl;
use sitebell::web::{files, local_url};
use tempfile::TempDir;
use url::Url;

use crate::ask::Ask;
use crate::den::open_settings;
use crate::world::World;

/// The sample site, served for as long as the test lasts.
fn demo(folder: &TempDir) -> Demo {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = local_url(listener.local_addr().unwrap());
    let (server, _) = files::serve(folder.path().to_owned(), listener).unwrap();
    tokio::spawn(server);
    Demo::new(folder.path().to_owned(), url)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sample_site_has_two_collections_and_nothing_to_fix() {
    let (folder, world) = (tempfile::tempdir().unwrap(), World::new().await);
    let demo = demo(&folder);
    demo.update(world.now()).unwrap();
    let fetcher = Fetcher::new(open_settings()).unwrap();
    let site = SiteUrl::parse(demo.url().as_str()).unwrap();
    let (settings, quiet) = (CheckSettings::default(), Arc::new(|_: &Url| ()));
    let checked = check_site(&fetcher, &site, None, &settings, world.now(), quiet);
    let checked = checked.await.unwrap();
    assert!(checked.problems.is_empty(), "{:?}", checked.problems);
    assert_eq!(checked.site.title, "The Lantern Room");
    let titles: Vec<_> = checked
        .collections
        .iter()
        .map(|one| one.title.as_str())
        .collect();
    assert!(
        titles.contains(&"Visitors") && titles.contains(&"Lamps"),
        "{titles:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_minute_is_announced_once() {
    let (folder, world) = (tempfile::tempdir().unwrap(), World::new().await);
    let demo = demo(&folder);
    demo.update(world.now()).unwrap();
    let site = world.follow(demo.url()).await;
    let mut known = world.announced(site).len();
    assert!(known > 10);
    for minute in 1..=6 {
        world.pass(TimeDelta::minutes(1));
        let changes = demo.update(world.now()).unwrap();
        assert!((1..=4).contains(&changes), "{changes} at minute {minute}");
        assert_eq!(
            demo.update(world.now()).unwrap(),
            0,
            "once a minute is enough"
        );
        world.scheduler().check_anew(site).await.unwrap();
        world.scheduler().idle().await;
        let announced = world.announced(site);
        assert_eq!(
            announced.len(),
            known + changes,
            "{:?}",
            &announced[known..]
        );
        known = announced.len();
    }
    let announced = world.announced(site).join("\n");
    // 12:03, three minutes after the beginning.
    assert!(
        announced.contains("created /moths/log-1203.html"),
        "{announced}"
    );
    assert!(
        announced.contains("deleted /moths/log-1154.html"),
        "{announced}"
    );
}

#[test]
fn whoever_starts_the_demo_need_not_wait_a_minute_for_its_first_change() {
    for second in [0, 20, 45, 59] {
        let folder = tempfile::tempdir().unwrap();
        let url = "http://127.0.0.1:8081/".parse().unwrap();
        let demo = Demo::new(folder.path().to_owned(), url);
        let now: chrono::DateTime<chrono::Utc> = crate::den::NOW.parse().unwrap();
        let now = now + TimeDelta::seconds(second);
        assert!(demo.begin(now).unwrap() > 10);
        let soon = now + TimeDelta::seconds(20);
        assert!(demo.update(soon).unwrap() > 0, "at second {second}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sample_site_serves_its_folder_and_nothing_else() {
    let (folder, world) = (tempfile::tempdir().unwrap(), World::new().await);
    std::fs::write(folder.path().join("secret"), "x").unwrap();
    let inner = folder.path().join("site");
    std::fs::create_dir(&inner).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let (server, _) = files::serve(inner.clone(), listener).unwrap();
    tokio::spawn(server);
    Demo::new(inner, local_url(address))
        .update(world.now())
        .unwrap();
    let get = |path: &str| Ask::get(path).to(address);
    assert!(get("/").text().contains("A shrine to moths"));
    assert_eq!(
        get("/moths/").header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(get("/.well-known/resourcesync").status, 200);
    for path in [
        "/../secret",
        "/%2e%2e/secret",
        "/moths/../../secret",
        "//secret",
        "/none",
    ] {
        assert_eq!(get(path).status, 404, "{path}");
    }
    let post = Ask::new("POST", "/").to(address);
    assert_eq!(post.status, 405);
}
