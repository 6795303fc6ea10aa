//! Ids are the same for ever: byte for byte, whatever happens to the service.

use std::time::Duration;

use rusqlite::Connection;
use sitebell::account::Scope;
use sitebell::store::Store;

use super::*;

/// A database as the first version with feeds wrote it, and the ids in its feeds.
const OLD: &str = include_str!("old/0002.sql");
const OLD_IDS: &str = include_str!("old/0002.ids.txt");

/// Every feed of a place, with its id and those of its entries, in a line each.
pub fn ids(world: &World, site: SiteId, private: Option<&str>) -> String {
    let site = world.get(&format!("/api/v1/sites/{site}"));
    let collections = site["collections"].as_array().unwrap().iter();
    let feeds = collections
        .map(|one| &one["feed_url"])
        .chain([&site["feed_url"]]);
    // Whatever the public address is.
    let below = |url: &str| url[url.find("/sites/").unwrap()..].to_owned();
    let mut paths: Vec<String> = feeds.map(|url| below(url.as_str().unwrap())).collect();
    paths.extend(private.map(str::to_owned));
    let mut lines = String::new();
    for path in paths {
        let by_page = match path.contains('?') {
            true => format!("{path}&entries=pages"),
            false => format!("{path}?entries=pages"),
        };
        for path in [&path, &by_page] {
            let feed = read(&world.ask(Ask::get(path)));
            lines += &format!("{}\n", feed.id);
            for entry in &feed.entries {
                lines += &format!("  {} {}\n", entry.id, entry.updated.to_rfc3339());
            }
        }
        let json = world
            .ask(Ask::get(&path.replace("feed.atom", "feed.json")))
            .json(200);
        for item in json["items"].as_array().unwrap() {
            lines += &format!("  {}\n", item["id"].as_str().unwrap());
        }
    }
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_survive_a_new_public_address_a_restart_and_a_restored_backup() {
    let changes = [
        "created /a 2026-03-01",
        "updated /b 2026-03-01",
        "deleted /b 2026-03-09",
    ];
    let mut followed = Followed::new(&changes[..2]).await;
    followed.change(&changes).await;
    let bob = |ask: Ask| followed.world.ask(ask.token(&followed.world.bob));
    let follow = serde_json::json!({"site": followed.site.0});
    bob(Ask::post("/api/v1/subscriptions", &follow)).json(201);
    let made = bob(Ask::new("POST", "/api/v1/feed-key")).json(201);
    let private = path(made["feed_url"].as_str().unwrap());
    let before = ids(&followed.world, followed.site, Some(&private));
    assert!(before.lines().count() > 20, "{before}");

    followed.world.public = "http://elsewhere.example:8080/bell/".to_owned();
    followed.world.restart().await;
    assert_eq!(ids(&followed.world, followed.site, Some(&private)), before);

    let copy = tempfile::tempdir().unwrap();
    let copy = copy.path().join("copy.db");
    followed.world.store().back_up(&copy).await.unwrap();
    let more = [&changes[..], &["created /c 2026-03-10"]].concat();
    followed.change(&more).await;
    let lost = ids(&followed.world, followed.site, Some(&private));
    assert_ne!(lost, before);
    // What came after the backup is not found again at once.
    (followed.den).change_list(LIST, "from='2026-01-01'", &changes);
    followed.world.stop(Duration::from_secs(600)).await;
    Store::restore(&copy, followed.world.folder(), followed.world.now()).unwrap();
    followed.world.start().await;
    assert_eq!(ids(&followed.world, followed.site, Some(&private)), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_survive_every_new_version() {
    let private = "/home/feed.atom?key=sbf_xx8h1npfwrdrths6s8pc41vx3zr2d5k7";
    let earlier =
        "DROP TABLE feed_keys; DROP TABLE removed_sites; ALTER TABLE accounts DROP COLUMN feed_id;
        PRAGMA user_version = 1;";
    for (undone, private) in [("", Some(private)), (earlier, None)] {
        let mut world = World::new().await;
        world.stop(Duration::from_secs(600)).await;
        let file = world.folder().join("sitebell.sqlite3");
        std::fs::remove_file(&file).unwrap();
        let db = Connection::open(&file).unwrap();
        db.execute_batch(OLD).unwrap();
        db.execute_batch(undone).unwrap();
        db.close().unwrap();
        world.pass(TimeDelta::days(2));
        world.start().await;
        world.alice = world.account("carol", true, Scope::Admin).await;
        let found = ids(&world, SiteId(1), private);
        let expected = match private {
            Some(_) => OLD_IDS,
            // The rest is about a feed that there was not.
            None => OLD_IDS.split("tag:bell.example").next().unwrap(),
        };
        assert_eq!(found, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn feeds_from_before_entries_of_single_collections_stay_as_they_are_to_the_byte() {
    let (mut followed, _) = Followed::for_months().await;
    let follow = serde_json::json!({"site": followed.site.0});
    let bob = |ask: Ask| followed.world.ask(ask.token(&followed.world.bob));
    bob(Ask::post("/api/v1/subscriptions", &follow)).json(201);
    let made = bob(Ask::new("POST", "/api/v1/feed-key")).json(201);
    let private = path(made["feed_url"].as_str().unwrap());
    let (whole, part) = (followed.feed_path(), followed.collection_path());
    let archive = whole.replace("feed.atom", "archive/3.atom");
    let by_page = format!("{whole}?entries=pages");
    let paths = [whole, part, archive, by_page, private];
    let all = |followed: &Followed| {
        let texts = paths
            .iter()
            .map(|path| followed.answer(path).text().to_owned());
        texts.collect::<Vec<_>>()
    };
    let before = all(&followed);
    followed.world.stop(Duration::from_secs(600)).await;
    let db = Connection::open(followed.world.folder().join("sitebell.sqlite3")).unwrap();
    let earlier = "ALTER TABLE entries DROP COLUMN is_for_site; DROP TABLE quiet_hosts;
         ALTER TABLE sites ADD COLUMN quiet_until INTEGER; PRAGMA user_version = 14;";
    db.execute_batch(earlier).unwrap();
    db.close().unwrap();
    followed.world.start().await;
    assert_eq!(all(&followed), before);
}
