//! Every page: how it looks, and whether everybody can use it.

use super::{Browser, Script};
use crate::den::Den;
use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn every_public_page_is_fit_for_everybody() {
    let world = World::in_browser().await;
    let den = Den::new();
    world.follow(&den.url("/")).await;
    let browser = Browser::start(Script::On).await;
    for (name, path) in [("front", "/"), ("site", "/sites/fox.example/")] {
        browser.open(&world.here(path)).await;
        browser.look(name).await;
    }
    browser.close().await;
}
