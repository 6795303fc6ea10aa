//! Our own pages: they are shown in the frame of all others, and can be followed like any site.

use chrono::TimeDelta;
use sitebell::handbook;
use url::Url;

use crate::ask::Ask;
use crate::person::Person;
use crate::world::World;

fn own_address(world: &World) -> Url {
    world.here("/").parse().unwrap()
}

fn publish(world: &World, url: &Url) -> usize {
    handbook::publish(&world.folder().join("own"), url, world.now()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_finds_nothing_to_fix_in_itself_and_can_follow_itself() {
    let world = World::in_browser().await;
    let url = own_address(&world);
    assert_eq!(publish(&world, &url), handbook::pages().len());
    let site = world.follow(&url).await;
    let announced = world.announced(site);
    assert_eq!(announced.len(), handbook::pages().len());
    assert!(announced[0].starts_with("created /docs/"), "{announced:?}");
    let checks = world.get(&format!("/api/v1/sites/{site}/checks"));
    let check = &checks["checks"][0];
    assert_eq!(check["problems"].as_array().unwrap().len(), 0, "{check}");
    // Every page that is announced is there.
    let mut visitor = Person::at(world.address());
    for page in handbook::pages() {
        let shown = visitor.open(&format!("/docs/{}", page.address));
        assert_eq!(shown.status(), 200, "{}", page.address);
        assert!(shown.has("<h1>"), "{}", page.address);
    }
    assert_eq!(visitor.open("/docs/none").status(), 404);
    // All of them are in the table of contents, the recipes below their own first page.
    let contents = visitor.open("/docs/");
    for page in handbook::pages() {
        let link = format!("<a href=\"/docs/{}\">", page.address);
        assert!(contents.has(&link), "{}", page.address);
    }
    assert!(contents.has("Recipes</a>\n<ul>\n<li><a href=\"/docs/recipes/by-hand\">"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_is_no_news() {
    let world = World::new().await;
    let url: Url = crate::world::PUBLIC.parse().unwrap();
    let get = |path: &str| Ask::get(path).to(world.address());
    assert_eq!(get("/.well-known/resourcesync").status, 404);
    publish(&world, &url);
    let documents = || {
        let first = get("/.well-known/resourcesync");
        assert_eq!(first.header("content-type"), Some("application/xml"));
        let list = first.text().split("<loc>").nth(1).unwrap();
        let list = list.split("</loc>").next().unwrap();
        let path = list.strip_prefix("https://bell.example").unwrap();
        let second = get(path);
        assert_eq!(second.status, 200, "{path}");
        (first.body, second.body)
    };
    let before = documents();
    world.pass(TimeDelta::days(3));
    assert_eq!(publish(&world, &url), 0);
    assert_eq!(documents(), before);
    // At another address it is another site.
    let moved = "https://other.example/".parse().unwrap();
    assert_eq!(publish(&world, &moved), handbook::pages().len());
    for path in [
        "/sitebell/../../sitebell.sqlite3",
        "/sitebell/../docs/changes.html",
    ] {
        assert_eq!(get(path).status, 404, "{path}");
    }
}
