//! A feed is rendered when it changes, not when it is read.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::runtime::Handle;
use tokio::task::block_in_place;

use super::*;

impl Followed {
    /// How many documents were rendered since the service started, once there are at least so many.
    async fn rendered(&self, at_least: u64) -> u64 {
        let mut rendered = self.world.feeds().rendered();
        *rendered.wait_for(|count| *count >= at_least).await.unwrap()
    }

    /// Asks for each of these often, by many at once.
    fn ask_often(&self, paths: &[&str]) {
        thread::scope(|scope| {
            for path in paths {
                for _ in 0..50 {
                    scope.spawn(move || assert_eq!(self.answer(path).status, 200));
                }
            }
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_is_ready_before_anybody_asks_and_never_rendered_again_while_it_is_current() {
    let followed = Followed::new(&["created /a 2026-03-01"]).await;
    let (site, collection) = (followed.feed_path(), followed.collection_path());
    assert_eq!(
        followed.rendered(2).await,
        2,
        "the site's, and its collection's"
    );
    followed.ask_often(&[&site, &collection]);
    assert_eq!(followed.rendered(0).await, 2);

    // Nothing new is no reason either.
    followed.change(&["created /a 2026-03-01"]).await;
    followed.ask_often(&[&site, &collection]);
    assert_eq!(followed.rendered(0).await, 2);

    followed
        .change(&["created /a 2026-03-01", "updated /a 2026-03-09"])
        .await;
    assert_eq!(followed.rendered(4).await, 4);
    followed.ask_often(&[&site, &collection]);
    assert_eq!(followed.rendered(0).await, 4);
    assert_eq!(followed.feed(&site).entries.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_was_asked_for_is_rendered_again_when_it_changes() {
    let followed = Followed::new(&["created /a 2026-03-01"]).await;
    let bob = |ask: Ask| followed.world.ask(ask.token(&followed.world.bob));
    let follow = serde_json::json!({"site": followed.site.0});
    bob(Ask::post("/api/v1/subscriptions", &follow)).json(201);
    let made = bob(Ask::new("POST", "/api/v1/feed-key")).json(201);
    let private = path(made["feed_url"].as_str().unwrap());
    let by_page = format!("{}?entries=pages", followed.feed_path());
    let json = followed.collection_path().replace(".atom", ".json");
    let asked = [private.as_str(), &by_page, &json];
    followed.rendered(2).await;
    followed.ask_often(&asked);
    assert_eq!(followed.rendered(0).await, 5);

    followed
        .change(&["created /a 2026-03-01", "updated /a 2026-03-09"])
        .await;
    assert_eq!(followed.rendered(10).await, 10);
    followed.ask_often(&asked);
    assert_eq!(followed.feed(&private).entries.len(), 2);
    assert_eq!(followed.feed(&by_page).entries.len(), 2);
    assert_eq!(followed.rendered(0).await, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_who_ask_after_a_restart_share_one_rendering() {
    let mut followed = Followed::new(&["created /a 2026-03-01"]).await;
    let path = followed.feed_path();
    followed.world.restart().await;
    assert_eq!(followed.rendered(0).await, 0);
    followed.ask_often(&[&path, &path]);
    assert_eq!(followed.rendered(0).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_that_changes_under_a_hundred_readers_is_rendered_once() {
    let followed = Followed::new(&["created /a 2026-03-01"]).await;
    let (site, collection) = (followed.feed_path(), followed.collection_path());
    assert_eq!(followed.rendered(2).await, 2);
    let is_over = AtomicBool::new(false);
    let (followed, is_over) = (&followed, &is_over);
    thread::scope(|scope| {
        for path in [&site, &collection].into_iter().cycle().take(100) {
            scope.spawn(move || {
                // Not for ever, should the change fail.
                for _ in 0..1_000 {
                    assert_eq!(followed.answer(path).status, 200);
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        let changes = ["created /a 2026-03-01", "updated /a 2026-03-09"];
        let change = async {
            followed.change(&changes).await;
            followed.rendered(4).await;
        };
        block_in_place(|| Handle::current().block_on(change));
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(followed.rendered(0).await, 4);
    assert_eq!(followed.feed(&site).entries.len(), 2);
}
