//! A site of which nothing is new is asked the same again and again, and whatever is new after that is found all the same.

use std::hash::{DefaultHasher, Hash, Hasher};

use sitebell::memory::Outcome;

use crate::den::{Den, WELL_KNOWN, change_list, urlset};
use crate::fake_site::Reply;
use crate::following::Follower;

const CAPABILITIES: &str = "/capabilitylist.xml";
const LIST: &str = "/changelist.xml";
const ROUND: [&str; 3] = [WELL_KNOWN, CAPABILITIES, LIST];

/// Serves a document with a tag of its own for each text.
fn tagged(den: &Den, path: &str, text: &str) {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let tag = format!("\"{:x}\"", hasher.finish());
    let reply = Reply::xml(den.filled(text)).etag(tag);
    den.site.serve(path, reply);
}

fn description(den: &Den, comment: &str) {
    let text = format!(
        "<rs:md capability='description'/><!-- {comment} -->
        <url><loc>{{den}}{CAPABILITIES}</loc><rs:md capability='capabilitylist'/></url>"
    );
    tagged(den, WELL_KNOWN, &urlset(&text));
}

fn capability_list(den: &Den, list: &str, comment: &str) {
    let text = format!(
        "<rs:ln rel='up' href='{{den}}{WELL_KNOWN}'/><rs:ln rel='describes' href='{{den}}/'/>
        <rs:md capability='capabilitylist'/><!-- {comment} -->
        <url><loc>{{den}}{list}</loc><rs:md capability='changelist'/></url>"
    );
    tagged(den, CAPABILITIES, &urlset(&text));
}

fn changes(den: &Den, path: &str, from: &str, changes: &[&str]) {
    let span = format!("from='{from}'");
    tagged(den, path, &change_list(CAPABILITIES, &span, changes));
}

/// A site whose documents all have tags, and somebody who has asked it often enough to expect nothing new.
async fn quiet_den() -> (Den, Follower) {
    let den = Den::empty();
    description(&den, "as it was");
    capability_list(&den, LIST, "as it was");
    changes(&den, LIST, "2026-01-01", &["created /a 2026-03-01"]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await, ["created /a 2026-03-01"]);
    for _ in 0..3 {
        assert_eq!(follower.check().await, [""; 0]);
    }
    den.site.forget_requests();
    (den, follower)
}

/// Asked for these documents first, and for nothing twice. A page may follow, which has a title.
fn assert_asked_once(den: &Den, documents: &[&str]) {
    let paths = den.site.paths();
    assert_eq!(paths[..documents.len()], *documents);
    let others = &paths[documents.len()..];
    assert!(others.is_empty() || others == ["/"], "{others:?}");
}

/// The codes of what the last check found wrong.
async fn problems(follower: &Follower) -> Vec<&'static str> {
    let check = follower.last_check().await;
    let codes = check.problems.iter().map(|problem| problem.code.name());
    codes.collect()
}

#[tokio::test]
async fn a_site_of_which_nothing_is_new_is_asked_for_the_same_and_says_the_same() {
    let (den, mut follower) = quiet_den().await;
    let told = problems(&follower).await;
    assert!(!told.is_empty(), "the den has no title, and that is told");
    for _ in 0..2 {
        assert_eq!(follower.check().await, [""; 0]);
        assert_eq!(den.site.paths(), ROUND);
        let requests = den.site.requests();
        assert!((requests.iter()).all(|request| request.header("if-none-match").is_some()));
        let check = follower.last_check().await;
        assert_eq!(check.outcome, Some(Outcome::Unchanged));
        assert_eq!(
            (check.summary.as_str(), check.requests),
            ("Nothing new.", 3)
        );
        assert_eq!(problems(&follower).await, told);
        den.site.forget_requests();
        follower.restart().await;
    }
}

#[tokio::test]
async fn what_is_new_after_many_quiet_checks_takes_no_request_more() {
    for first_new in ROUND {
        let (den, follower) = quiet_den().await;
        match first_new {
            WELL_KNOWN => description(&den, "another word"),
            CAPABILITIES => capability_list(&den, LIST, "another word"),
            _ => {}
        }
        let both = ["created /a 2026-03-01", "updated /a 2026-03-14"];
        changes(&den, LIST, "2026-01-01", &both);
        assert_eq!(follower.check().await, ["updated /a 2026-03-14"]);
        assert_asked_once(&den, &ROUND);
        assert_eq!(follower.check().await, [""; 0]);
    }
}

#[tokio::test]
async fn another_list_is_found_in_the_middle_of_a_round() {
    let (den, follower) = quiet_den().await;
    capability_list(&den, "/next.xml", "another list");
    changes(&den, "/next.xml", "2026-03-01", &["updated /b 2026-03-14"]);
    assert_eq!(follower.check().await, ["updated /b 2026-03-14"]);
    // What was replaced may have grown once more, and is asked a last time.
    assert_asked_once(&den, &[WELL_KNOWN, CAPABILITIES, "/next.xml", LIST]);
    den.site.forget_requests();
    for _ in 0..2 {
        assert_eq!(follower.check().await, [""; 0]);
    }
    assert_eq!(
        den.site.paths()[..3],
        [WELL_KNOWN, CAPABILITIES, "/next.xml"]
    );
}

#[tokio::test]
async fn a_document_that_fails_in_a_round_is_asked_for_once_and_loses_nothing() {
    let (den, follower) = quiet_den().await;
    den.site.serve_once(LIST, Reply::status(500));
    assert_eq!(follower.check().await, [""; 0]);
    assert_eq!(den.site.paths(), ROUND);
    assert_eq!(follower.last_check().await.outcome, Some(Outcome::Partial));
    let both = ["created /a 2026-03-01", "updated /a 2026-03-02"];
    changes(&den, LIST, "2026-01-01", &both);
    assert_eq!(follower.check().await, ["updated /a 2026-03-02"]);
}

#[tokio::test]
async fn a_site_that_goes_away_in_a_round_fails_and_comes_back() {
    let (den, follower) = quiet_den().await;
    den.site.serve_once(WELL_KNOWN, Reply::status(503));
    assert_eq!(follower.check().await, [""; 0]);
    assert_eq!(den.site.paths(), [WELL_KNOWN]);
    assert_eq!(follower.last_check().await.outcome, Some(Outcome::Failed));
    assert_eq!(follower.check().await, [""; 0]);
    assert_eq!(
        follower.last_check().await.outcome,
        Some(Outcome::Unchanged)
    );
}

#[tokio::test]
async fn quiet_checks_cover_the_time_that_they_were_made_in() {
    // The last of the quiet checks was on the 14th at noon, and the list was last read on the 11th.
    for (from, is_gap) in [
        ("2026-03-14T06:00:00Z", false),
        ("2026-03-14T18:00:00Z", true),
    ] {
        let (den, follower) = quiet_den().await;
        changes(&den, LIST, from, &["updated /b 2026-03-15"]);
        assert_eq!(follower.check().await, ["updated /b 2026-03-15"]);
        let codes = problems(&follower).await;
        assert_eq!(codes.contains(&"gap"), is_gap, "{from}: {codes:?}");
    }
}

#[tokio::test]
async fn how_far_quiet_checks_covered_outlives_a_check_that_failed() {
    let (den, follower) = quiet_den().await;
    den.site.serve_once(LIST, Reply::status(500));
    follower.check().await;
    let from = "2026-03-14T06:00:00Z";
    changes(&den, LIST, from, &["updated /b 2026-03-15"]);
    assert_eq!(follower.check().await, ["updated /b 2026-03-15"]);
    let codes = problems(&follower).await;
    assert!(!codes.contains(&"gap"), "{codes:?}");
}
