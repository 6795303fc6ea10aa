//! What programs of whoever runs the instance are told.

use sitebell::account::Scope;

use crate::ask::Ask;
use crate::den::Den;
use crate::world::World;

/// The value of a metric.
fn value(text: &str, name: &str) -> u64 {
    let mut lines = text.lines();
    let line = lines.find(|line| line.split(' ').next() == Some(name));
    let line = line.unwrap_or_else(|| panic!("{name} is missing:\n{text}"));
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_tell_what_there_is_and_what_was_done() {
    let world = World::new().await;
    let answer = world.ask(Ask::get("/metrics"));
    assert_eq!(answer.status, 200);
    let kind = answer.header("content-type");
    assert_eq!(kind, Some("text/plain; version=0.0.4; charset=utf-8"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let before = answer.text();
    assert_eq!(value(before, "sitebell_sites"), 0);
    assert_eq!(value(before, "sitebell_checks_total"), 0);
    assert!(value(before, "sitebell_database_bytes") > 0);

    let den = Den::new();
    let changes = ["created /a 2026-03-01", "updated /b 2026-03-02"];
    den.change_list("/changelist.xml", "from='2026-01-01'", &changes);
    world.follow(&den.url("/")).await;
    let nothing = Den::empty();
    world.follow(&nothing.site.url_as("owl.example", "/")).await;
    let answer = world.ask(Ask::get("/metrics"));
    let after = answer.text();
    assert_eq!(value(after, "sitebell_sites"), 2);
    assert_eq!(value(after, "sitebell_sites_failing"), 1);
    assert_eq!(value(after, "sitebell_checks_total"), 2);
    assert_eq!(value(after, "sitebell_checks_failed_total"), 1);
    assert_eq!(value(after, "sitebell_changes_total"), 2);
    assert_eq!(value(after, "sitebell_checks_under_way"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_metric_is_written_as_prometheus_reads_it() {
    let world = World::new().await;
    let answer = world.ask(Ask::get("/metrics"));
    let text = answer.text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        text.ends_with('\n') && lines.len().is_multiple_of(3),
        "{text}"
    );
    for three in lines.chunks(3) {
        let name = three[0].strip_prefix("# HELP ").unwrap();
        let (name, help) = name.split_once(' ').unwrap();
        assert!(
            name.starts_with("sitebell_") && help.ends_with('.'),
            "{help}"
        );
        let kind = three[1].strip_prefix(&format!("# TYPE {name} ")).unwrap();
        let is_counter = name.ends_with("_total");
        assert_eq!(kind, if is_counter { "counter" } else { "gauge" });
        let (shown, value) = three[2].rsplit_once(' ').unwrap();
        assert_eq!(shown.split('{').next(), Some(name));
        assert!(value.parse::<u64>().is_ok(), "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_comes_through_a_proxy_needs_the_token_of_an_admin() {
    let world = World::new().await;
    let admin = world.account("root", true, Scope::Admin).await;
    for name in ["X-Forwarded-For", "Forwarded"] {
        let through = || Ask::get("/metrics").header(name, "127.0.0.1");
        world.ask(through()).refusal(401);
        world.ask(through().token(&world.bob)).refusal(403);
        assert_eq!(world.ask(through().token(&admin)).status, 200);
    }
}
