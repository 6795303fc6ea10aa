//! The whole circle: publish, follow, edit, publish again; what was edited is announced, and nothing else.

use chrono::TimeDelta;

use super::{Author, without_datetimes};
use crate::ask::Ask;
use crate::person::Person;
use crate::world::World;
use sitebell::publish::notes::Notes;

/// Publishes, lets a day pass, and returns what the service announces.
async fn announced_next_day(
    world: &World,
    author: &mut Author,
    site: sitebell::site::SiteId,
) -> Vec<String> {
    let before = world.announced(site).len();
    author.now = world.now();
    author.publish();
    world.pass(TimeDelta::days(2));
    world.scheduler().check_now(site).await.unwrap();
    world.scheduler().idle().await;
    without_datetimes(&world.announced(site)[before..])
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_edited_is_announced_and_nothing_else() {
    let world = World::new().await;
    let mut author = Author::new();
    author.collection("fox", "Foxes");
    author.now = world.now() - TimeDelta::hours(1);
    author.publish();
    let site = world.follow(&author.order.site.url).await;
    let first = without_datetimes(&world.announced(site));
    assert_eq!(first, ["created /", "created /fox/den.html"]);

    author.page("fox/den.html", "Foxes wake up");
    author.order.notes = Notes::general("Spring has come");
    assert_eq!(
        announced_next_day(&world, &mut author, site).await,
        ["updated /fox/den.html"]
    );
    let feed = world
        .ask(Ask::get("/api/v1/sites").token(&world.alice))
        .json(200);
    let feed = feed["sites"][0]["feed_url"].as_str().unwrap().to_owned();
    let feed_path = feed.strip_prefix(&world.public[..world.public.len() - 1]);
    let feed_path = feed_path.unwrap();
    let feed = world.ask(Ask::get(feed_path));
    assert!(feed.text().contains("Spring has come"), "{}", feed.text());
    // And so do the pages, for people who come without a feed reader.
    let page = feed_path.replace("feed.atom", "");
    let page = Person::at(world.address()).open(&page);
    assert!(page.has("<bdi>Spring has come</bdi>"), "{}", page.text());
    author.order.notes = Notes::default();
    assert_eq!(
        announced_next_day(&world, &mut author, site).await,
        Vec::<String>::new()
    );

    // More than the open list holds, so that it is closed while the site is followed.
    for page in 0..600 {
        author.page(&format!("fox/{page}.html"), "kit");
    }
    let many = announced_next_day(&world, &mut author, site).await;
    assert_eq!(many.len(), 600);
    author.page("fox/7.html", "grown up");
    author.remove("fox/8.html");
    assert_eq!(
        announced_next_day(&world, &mut author, site).await,
        ["updated /fox/7.html", "deleted /fox/8.html"]
    );
}
