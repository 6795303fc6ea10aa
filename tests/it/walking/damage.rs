//! What a broken document costs: what it would have told, and nothing else.

use sitebell::check::CheckSettings;
use sitebell::fetch::{FetchSettings, Fetcher};
use std::sync::Arc;

use crate::den::*;
use crate::fake_site::Reply;
use crate::names::Loopback;

/// Every way in which a document can be no document, with the problem that it is.
fn ways(good: &str) -> Vec<(&'static str, Reply, &'static str)> {
    let half = good.len() / 2;
    vec![
        ("gone", Reply::status(404), "http-error"),
        ("gone for good", Reply::status(410), "http-error"),
        ("forbidden", Reply::status(403), "http-error"),
        (
            "failing",
            Reply::new(500, "text/html", "<h1>Oh"),
            "http-error",
        ),
        ("a part", Reply::new(206, "text/xml", good), "http-error"),
        ("in a circle", Reply::redirect(302, "?again"), "http-error"),
        (
            "cut in transfer",
            Reply::xml(good).cut_after(half),
            "cut-off",
        ),
        ("cut on the disk", Reply::xml(&good[..half]), "cut-off"),
        (
            "a page",
            Reply::html("<!DOCTYPE html><title>Not found</title>"),
            "not-xml",
        ),
        ("empty", Reply::xml(""), "not-xml"),
        (
            "a sentence",
            Reply::text("There is nothing here."),
            "not-xml",
        ),
        (
            "noise",
            Reply::xml(b"\x89PNG\r\n\x1a\n\0\0".as_slice()),
            "bad-encoding",
        ),
        (
            "a tag unclosed",
            Reply::xml(good.replace("</urlset>", "</urlse>")),
            "malformed-xml",
        ),
        (
            "no capability",
            Reply::xml(good.replace("capability=", "ability=")),
            "no-capability",
        ),
        (
            "with a bomb",
            Reply::xml(format!("<!DOCTYPE urlset [<!ENTITY a 'a'>]>{good}")),
            "doctype",
        ),
        (
            "not compressed",
            Reply::xml(good).header("Content-Encoding", "gzip"),
            "bad-compression",
        ),
        (
            "unknown coding",
            Reply::xml(good).header("Content-Encoding", "lzma"),
            "bad-compression",
        ),
        ("hung up", Reply::hang_up(), "unreachable"),
    ]
}

/// Two collections, of which the second one is going to be damaged.
fn den_of_two() -> Den {
    let den = Den::new();
    den.description(&[("/owl.xml", "/owl/"), ("/capabilitylist.xml", "/")]);
    den.capability_list("/owl.xml", "/owl/", &["/owl-changes.xml"]);
    let changes = ["updated /owl/1 2026-03-01", "updated /owl/2 2026-03-01"];
    den.change_list_of(
        "/owl.xml",
        "/owl-changes.xml",
        "from='2026-01-01'",
        &changes,
    );
    den
}

const FOX: [&str; 2] = ["created /a 2026-03-01", "updated /b 2026-03-02T08:00:00Z"];

#[tokio::test]
async fn a_damaged_change_list_costs_its_changes_and_is_told() {
    let den = den_of_two();
    let changes = ["updated /owl/1 2026-03-01"; 9];
    let good = den.filled(&change_list("/owl.xml", "from='2026-01-01'", &changes));
    for (how, reply, code) in ways(&good) {
        den.site.serve("/owl-changes.xml", reply);
        let checked = den.check().await;
        assert_eq!(codes(&checked), [code], "{how}");
        assert!(checked.problems[0].document.contains("/owl-changes.xml"));
        assert_eq!(told(&checked), FOX, "{how}: all of it or nothing");
        assert_eq!(collections(&checked), ["/owl/", "/"], "{how}");
        assert!(checked.collections[0].change_lists.is_empty(), "{how}");
    }
}

#[tokio::test]
async fn a_damaged_capability_list_costs_its_collection_and_is_told() {
    let den = den_of_two();
    let good = den.filled(&urlset(
        "<rs:md capability='capabilitylist'/><url><loc>{den}/x</loc></url>",
    ));
    for (how, reply, code) in ways(&good) {
        den.site.serve("/owl.xml", reply);
        let checked = den.check().await;
        assert_eq!(codes(&checked), [code], "{how}");
        assert_eq!(told(&checked), FOX, "{how}");
        assert_eq!(collections(&checked), ["/"], "{how}");
    }
}

#[tokio::test]
async fn a_damaged_source_description_costs_what_it_lists_and_is_told() {
    let den = Den::new();
    let children =
        "<sitemap><loc>{den}/bad.xml</loc></sitemap><sitemap><loc>{den}/good.xml</loc></sitemap>";
    den.xml(
        WELL_KNOWN,
        &sitemapindex(&format!("<rs:md capability='description'/>{children}")),
    );
    den.description_at("/good.xml", &[("/capabilitylist.xml", "/")]);
    let good = den.filled(&urlset(
        "<rs:md capability='description'/><url><loc>{den}/x</loc></url>",
    ));
    for (how, reply, code) in ways(&good) {
        den.site.serve("/bad.xml", reply);
        let checked = den.check().await;
        assert_eq!(codes(&checked), [code], "{how}");
        assert_eq!(told(&checked), FOX, "{how}");
    }
}

#[tokio::test]
async fn a_damaged_child_of_an_index_leaves_the_other_lists() {
    let den = Den::new();
    let span = "from='2026-01-01'";
    let children = [("/one.xml", span), ("/two.xml", span), ("/three.xml", span)];
    den.index("/changelist.xml", span, &children);
    for list in ["/one.xml", "/two.xml", "/three.xml"] {
        let change = format!("updated {list} 2026-03-01");
        den.change_list(list, span, &[&change]);
    }
    let good = den.filled(&change_list(
        "/capabilitylist.xml",
        span,
        &["updated /x 2026-03-01"; 9],
    ));
    for (how, reply, code) in ways(&good) {
        den.site.serve("/two.xml", reply);
        let checked = den.check().await;
        assert_eq!(codes(&checked), [code], "{how}");
        assert_eq!(
            told(&checked),
            [
                "updated /one.xml 2026-03-01",
                "updated /three.xml 2026-03-01"
            ],
            "{how}"
        );
    }
}

#[tokio::test]
async fn a_document_that_is_too_large_costs_only_itself() {
    let den = den_of_two();
    den.site.serve(
        "/owl-changes.xml",
        Reply::xml(format!("<!-- {} -->", "x".repeat(200_000))).gzip(),
    );
    let settings = FetchSettings {
        max_document_bytes: 100_000,
        ..open_settings()
    };
    let fetcher = Fetcher::with_lookup(settings, Arc::new(Loopback)).unwrap();
    let checked = run(fetcher, den.url("/").as_str(), &CheckSettings::default())
        .await
        .unwrap();
    assert_eq!(codes(&checked), ["too-large"]);
    assert_eq!(told(&checked), FOX);
}

#[tokio::test]
async fn a_document_that_was_damaged_is_asked_for_once() {
    let den = Den::new();
    den.capability_list(
        "/capabilitylist.xml",
        "/",
        &["/changelist.xml", "/changelist.xml"],
    );
    den.site.serve("/changelist.xml", Reply::status(500));
    den.check().await;
    assert_eq!(den.site.requests_to("/changelist.xml").len(), 1);
}

#[tokio::test]
async fn a_damaged_root_document_is_told_and_the_other_places_are_tried() {
    let den = Den::new();
    let good = den.filled(&urlset("<rs:md capability='description'/>"));
    den.description_at("/sd.xml", &[("/capabilitylist.xml", "/")]);
    den.capability_list_of("/sd.xml", "/capabilitylist.xml", "/", &["/changelist.xml"]);
    den.html("/", "<link rel=resourcesync href=/sd.xml>");
    for (how, reply, code) in ways(&good) {
        den.site.serve(WELL_KNOWN, reply);
        if how == "hung up" {
            continue; // Then the host itself is at fault, and nothing else is tried.
        }
        let checked = den.check().await;
        let mut expected = vec![code, "not-well-known"];
        // Nobody promised that there is anything.
        if code == "not-xml" || matches!(how, "gone" | "gone for good" | "forbidden") {
            expected.remove(0);
        }
        expected.sort_unstable();
        assert_eq!(codes(&checked), expected, "{how}");
        assert_eq!(told(&checked), FOX, "{how}");
    }
}
