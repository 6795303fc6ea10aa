//! A site that is followed: every change is announced once, whatever happens to its documents.

use std::sync::Mutex;

use chrono::{DateTime, TimeDelta, Utc};
use sitebell::check::CheckSettings;
use sitebell::fetch::Fetcher;
use sitebell::memory::Outcome;
use sitebell::schedule::check_and_save;
use sitebell::schedule::policy::Policy;
use sitebell::site::{SiteId, SiteStatus};
use sitebell::store::{ChangeRow, CheckRow, Keep, SiteRow, Store};
use tempfile::TempDir;
use url::Url;

use crate::den::{Den, NOW, WELL_KNOWN, change_list, fetcher, urlset};
use crate::fake_site::Reply;

const LIST: &str = "/changelist.xml";

/// Someone who follows one site, with a clock of their own.
pub struct Follower {
    folder: TempDir,
    store: Option<Store>,
    fetcher: Fetcher,
    site: SiteId,
    now: Mutex<DateTime<Utc>>,
}

impl Follower {
    pub async fn of(den: &Den) -> Follower {
        Follower::of_part(den, "/").await
    }

    /// Of an address on the site.
    pub async fn of_part(den: &Den, path: &str) -> Follower {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let now: DateTime<Utc> = NOW.parse().unwrap();
        let (site, _) = store.add_site(&den.url(path), now).await.unwrap();
        Follower {
            folder,
            store: Some(store),
            fetcher: fetcher(),
            site,
            now: Mutex::new(now),
        }
    }

    pub fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    /// Stops and starts again.
    pub async fn restart(&mut self) {
        self.store.take().unwrap().close().await.unwrap();
        self.store = Some(Store::open(self.folder.path()).await.unwrap());
        self.fetcher = fetcher();
    }

    /// Time goes by without a check.
    pub fn pass(&self, time: TimeDelta) {
        *self.now.lock().unwrap() += time;
    }

    pub fn site(&self) -> SiteId {
        self.site
    }

    /// A check on the next day; tells what was announced by it.
    pub async fn check(&self) -> Vec<String> {
        self.check_with(&CheckSettings::default()).await
    }

    /// The same with other settings.
    pub async fn check_with(&self, settings: &CheckSettings) -> Vec<String> {
        *self.now.lock().unwrap() += TimeDelta::days(1);
        let before = self.announced().await.len();
        let clock = || *self.now.lock().unwrap();
        check_and_save(
            self.store(),
            &self.fetcher,
            self.site,
            settings,
            &Policy::default(),
            &clock,
        )
        .await
        .unwrap();
        self.announced().await.split_off(before)
    }

    /// Everything that was ever announced, as found.
    pub async fn announced(&self) -> Vec<String> {
        let (changes, next) = self.store().changes(self.site, None, 1_000).await.unwrap();
        assert!(next.is_none() || changes.len() < 1_000);
        let text = |url: &str| Url::parse(url).unwrap().path().to_owned();
        (changes.iter())
            .map(|row| {
                format!(
                    "{} {} {}",
                    row.change.kind,
                    text(&row.change.url),
                    row.change.datetime
                )
            })
            .collect()
    }

    pub async fn last_check(&self) -> CheckRow {
        self.store()
            .checks(self.site, None, 1)
            .await
            .unwrap()
            .remove(0)
    }

    /// The names of what the last check found wrong.
    pub async fn problems(&self) -> Vec<&'static str> {
        let problems = self.last_check().await.problems;
        problems.iter().map(|problem| problem.code.name()).collect()
    }

    /// The site as it is kept.
    pub async fn row(&self) -> SiteRow {
        self.store().site(self.site).await.unwrap().unwrap()
    }

    /// The first hundred changes that were announced.
    pub async fn changes(&self) -> Vec<ChangeRow> {
        let changes = self.store().changes(self.site, None, 100).await;
        changes.unwrap().0
    }

    async fn status(&self) -> SiteStatus {
        self.row().await.status
    }
}

/// The den, but its list holds these changes.
fn den_with(changes: &[&str]) -> Den {
    let den = Den::new();
    den.change_list(LIST, "from='2026-01-01'", changes);
    den
}

#[tokio::test]
async fn what_is_known_is_never_announced_again() {
    let den = den_with(&["created /a 2026-03-01", "updated /a 2026-03-02T08:00:00Z"]);
    let follower = Follower::of(&den).await;
    assert_eq!(
        follower.check().await,
        ["created /a 2026-03-01", "updated /a 2026-03-02T08:00:00Z"]
    );
    assert_eq!(follower.check().await, [""; 0]);
    den.change_list(
        LIST,
        "from='2026-01-01'",
        &[
            "created /a 2026-03-01",
            "updated /a 2026-03-02T08:00:00Z",
            "deleted /a 2026-03-12",
        ],
    );
    assert_eq!(follower.check().await, ["deleted /a 2026-03-12"]);
    assert_eq!(follower.check().await, [""; 0]);
    assert_eq!(
        follower.last_check().await.outcome,
        Some(Outcome::Unchanged)
    );
}

#[tokio::test]
async fn a_change_of_the_future_hides_nothing_when_its_entry_is_forgotten() {
    let den = den_with(&["updated /b 2062-03-01"]);
    let follower = Follower::of(&den).await;
    let check_with = async |told: Vec<String>| {
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        den.change_list(LIST, "from='2026-01-01'", &told);
        follower.check().await
    };
    let pages = |count: usize| {
        let pages = (0..count).map(|n| format!("updated /page-{n} 2026-03-01"));
        pages.chain(["updated /b 2062-03-01".to_owned()])
    };
    // One entry more than a feed has, so that the first one can go.
    for count in 0..=50 {
        assert_eq!(check_with(pages(count).collect()).await.len(), 1);
    }
    let keep = Keep {
        changes_per_collection: 10,
        ..Keep::default()
    };
    let now = follower.row().await.last_check_at.unwrap();
    let pruned = follower.store().prune(&keep, now).await.unwrap();
    assert_eq!(pruned.entries, 1);
    let new = "created /new 2026-04-30".to_owned();
    let told = pages(50).chain([new.clone()]).collect();
    assert_eq!(check_with(told).await, [new]);
}

#[tokio::test]
async fn a_page_edited_after_the_check_on_a_day_that_was_stamped_before_is_not_lost() {
    let den = den_with(&["updated /a 2026-03-11"]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 1);
    // Another page, later on the same day: its stamp is a midnight that lies before the check.
    den.change_list(
        LIST,
        "from='2026-01-01'",
        &["updated /a 2026-03-11", "updated /b 2026-03-11"],
    );
    assert_eq!(follower.check().await, ["updated /b 2026-03-11"]);
}

#[tokio::test]
async fn late_and_back_dated_changes_are_announced_when_they_appear() {
    let den = den_with(&["updated /a 2026-03-05"]);
    let follower = Follower::of(&den).await;
    follower.check().await;
    den.change_list(
        LIST,
        "from='2026-01-01'",
        &["created /old 2026-02-01", "updated /a 2026-03-05"],
    );
    assert_eq!(follower.check().await, ["created /old 2026-02-01"]);
}

#[tokio::test]
async fn two_edits_of_one_page_on_one_day_are_two_changes() {
    let den = den_with(&["updated /a 2026-03-05"]);
    let follower = Follower::of(&den).await;
    follower.check().await;
    den.change_list(
        LIST,
        "from='2026-01-01'",
        &["updated /a 2026-03-05", "updated /a 2026-03-05"],
    );
    assert_eq!(follower.check().await, ["updated /a 2026-03-05"]);
    assert_eq!(follower.check().await, [""; 0]);
}

#[tokio::test]
async fn a_change_from_the_future_is_announced_once_and_hides_nothing() {
    let den = den_with(&["updated /a 2999-01-01"]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await, ["updated /a 2999-01-01"]);
    den.change_list(
        LIST,
        "from='2026-01-01'",
        &["updated /b 2026-03-11", "updated /a 2999-01-01"],
    );
    assert_eq!(follower.check().await, ["updated /b 2026-03-11"]);
}

#[tokio::test]
async fn lists_that_drop_their_oldest_entries_take_nothing_back() {
    let den = den_with(&["updated /a 2026-03-01", "updated /b 2026-03-02"]);
    let follower = Follower::of(&den).await;
    follower.check().await;
    den.change_list(LIST, "from='2026-01-01'", &["updated /c 2026-03-11"]);
    assert_eq!(follower.check().await, ["updated /c 2026-03-11"]);
    // And what comes back is known.
    den.change_list(
        LIST,
        "from='2026-01-01'",
        &["updated /a 2026-03-01", "updated /c 2026-03-11"],
    );
    assert_eq!(follower.check().await, [""; 0]);
    assert_eq!(follower.announced().await.len(), 3);
}

#[tokio::test]
async fn a_document_that_is_cut_off_changes_nothing_and_is_read_again() {
    let den = den_with(&["updated /a 2026-03-01"]);
    let follower = Follower::of(&den).await;
    follower.check().await;
    let entry = "<url><loc>{den}/b</loc><rs:md change='updated' datetime='2026-03-11'/></url>";
    let whole = urlset(&format!(
        "<rs:md capability='changelist' from='2026-01-01'/>{entry}"
    ));
    den.xml(LIST, whole.strip_suffix("</urlset>").unwrap());
    assert_eq!(follower.check().await, [""; 0]);
    assert_eq!(follower.last_check().await.outcome, Some(Outcome::Partial));
    den.xml(LIST, &whole);
    assert_eq!(follower.check().await, ["updated /b 2026-03-11"]);
}

#[tokio::test]
async fn one_broken_collection_does_not_hold_up_the_others() {
    let den = Den::empty();
    den.description(&[("/one.xml", "/one/"), ("/two.xml", "/two/")]);
    den.capability_list("/one.xml", "/one/", &["/one-changes.xml"]);
    den.capability_list("/two.xml", "/two/", &["/two-changes.xml"]);
    den.about("/about.xml", "/", "Two");
    den.xml("/one-changes.xml", "<broken");
    den.change_list_of(
        "/two.xml",
        "/two-changes.xml",
        "from='2026-01-01'",
        &["created /two/a 2026-03-01"],
    );
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await, ["created /two/a 2026-03-01"]);
    den.change_list_of(
        "/one.xml",
        "/one-changes.xml",
        "from='2026-01-01'",
        &["created /one/a 2026-03-01"],
    );
    assert_eq!(follower.check().await, ["created /one/a 2026-03-01"]);
}

#[tokio::test]
async fn a_site_that_vanishes_keeps_its_history_and_comes_back() {
    let den = den_with(&["updated /a 2026-03-01"]);
    let follower = Follower::of(&den).await;
    follower.check().await;
    for reply in [
        Reply::status(500),
        Reply::status(503),
        Reply::html("<p>parked"),
        Reply::xml(""),
    ] {
        den.site.serve(WELL_KNOWN, reply);
        assert_eq!(follower.check().await, [""; 0]);
        assert_eq!(follower.status().await, SiteStatus::Failing);
        assert_eq!(follower.announced().await.len(), 1);
    }
    den.site.serve(WELL_KNOWN, Reply::status(410));
    follower.check().await;
    assert_eq!(follower.status().await, SiteStatus::Gone);
    den.description(&[("/capabilitylist.xml", "/")]);
    den.change_list(
        LIST,
        "from='2026-01-01'",
        &["updated /a 2026-03-01", "updated /b 2026-03-13"],
    );
    assert_eq!(follower.check().await, ["updated /b 2026-03-13"]);
    assert_eq!(follower.status().await, SiteStatus::Ok);
}

#[tokio::test]
async fn a_restart_forgets_nothing() {
    let den = den_with(&["updated /a 2026-03-01"]);
    let mut follower = Follower::of(&den).await;
    follower.check().await;
    follower.restart().await;
    assert_eq!(follower.check().await, [""; 0]);
    den.change_list(
        LIST,
        "from='2026-01-01'",
        &["updated /a 2026-03-01", "deleted /a 2026-03-12"],
    );
    follower.restart().await;
    assert_eq!(follower.check().await, ["deleted /a 2026-03-12"]);
}

/// Serves a Change List with this tag, come what may.
fn tagged(den: &Den, tag: &[u8], changes: &[&str]) {
    let list = den.filled(&change_list(
        "/capabilitylist.xml",
        "from='2026-01-01'",
        changes,
    ));
    den.site.serve(LIST, Reply::xml(list).etag(tag));
}

#[tokio::test]
async fn a_list_that_has_not_changed_is_not_sent_again() {
    let tag: &[u8] = b"W/\"odd \xE9\"";
    let den = Den::new();
    tagged(&den, tag, &["updated /a 2026-03-01"]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 1);
    assert_eq!(follower.check().await, [""; 0]);
    let requests = den.site.requests_to(LIST);
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].header_bytes("if-none-match"), None);
    assert_eq!(requests[1].header_bytes("if-none-match"), Some(tag));
    assert_eq!(
        follower.last_check().await.outcome,
        Some(Outcome::Unchanged)
    );
    tagged(
        &den,
        b"\"another\"",
        &["updated /a 2026-03-01", "updated /b 2026-03-12"],
    );
    assert_eq!(follower.check().await, ["updated /b 2026-03-12"]);
}

#[tokio::test]
async fn a_server_that_always_says_unchanged_is_found_out_within_a_week() {
    let den = Den::new();
    tagged(&den, b"\"for ever\"", &["updated /a 2026-03-01"]);
    let follower = Follower::of(&den).await;
    follower.check().await;
    tagged(
        &den,
        b"\"for ever\"",
        &["updated /a 2026-03-01", "updated /b 2026-03-12"],
    );
    let mut told = Vec::new();
    for _ in 0..8 {
        told.extend(follower.check().await);
    }
    assert_eq!(told, ["updated /b 2026-03-12"]);
}

#[tokio::test]
async fn closed_lists_are_read_once_and_late_entries_in_open_ones_are_found() {
    let den = Den::new();
    den.capability_list("/capabilitylist.xml", "/", &["/index.xml"]);
    let january = ("/january.xml", "from='2026-01-01' until='2026-02-01'");
    den.index(
        "/index.xml",
        "from='2026-01-01'",
        &[january, ("/open.xml", "from='2026-02-01'")],
    );
    den.change_list(
        "/january.xml",
        "from='2026-01-01' until='2026-02-01'",
        &["created /a 2026-01-05"],
    );
    den.change_list("/open.xml", "from='2026-02-01'", &["created /b 2026-03-05"]);
    let follower = Follower::of(&den).await;
    assert_eq!(
        follower.check().await,
        ["created /a 2026-01-05", "created /b 2026-03-05"]
    );
    den.change_list(
        "/open.xml",
        "from='2026-02-01'",
        &["created /late 2026-02-02", "created /b 2026-03-05"],
    );
    assert_eq!(follower.check().await, ["created /late 2026-02-02"]);
    assert_eq!(den.site.requests_to("/january.xml").len(), 1);
    assert_eq!(den.site.requests_to("/open.xml").len(), 2);
}

#[tokio::test]
async fn a_list_that_is_replaced_is_read_once_more() {
    let den = den_with(&["updated /a 2026-03-01"]);
    let follower = Follower::of(&den).await;
    follower.check().await;
    // The old list grew once more before it was replaced by another one.
    den.change_list(
        LIST,
        "from='2026-01-01'",
        &["updated /a 2026-03-01", "updated /last 2026-03-11"],
    );
    den.capability_list("/capabilitylist.xml", "/", &["/next.xml"]);
    den.change_list(
        "/next.xml",
        "from='2026-03-11'",
        &["updated /first 2026-03-12"],
    );
    assert_eq!(
        follower.check().await,
        ["updated /last 2026-03-11", "updated /first 2026-03-12"]
    );
    assert_eq!(follower.check().await, [""; 0]);
}

/// Another list has taken the place of the only one, and begins when that one ended.
fn replace_list(den: &Den) {
    den.capability_list("/capabilitylist.xml", "/", &["/next.xml"]);
    den.change_list(
        "/next.xml",
        "from='2026-03-13'",
        &["updated /first 2026-03-13"],
    );
}

#[tokio::test]
async fn a_list_that_is_replaced_and_cannot_be_read_for_now_is_read_when_it_can() {
    for status in [403, 408, 429, 500] {
        let den = den_with(&["updated /a 2026-03-01"]);
        let follower = Follower::of(&den).await;
        follower.check().await;
        den.change_list(
            LIST,
            "from='2026-01-01'",
            &["updated /a 2026-03-01", "updated /last 2026-03-11"],
        );
        replace_list(&den);
        den.site.serve_once(LIST, Reply::status(status));
        assert_eq!(follower.check().await, ["updated /first 2026-03-13"]);
        assert_eq!(follower.last_check().await.outcome, Some(Outcome::Partial));
        assert_eq!(follower.check().await, ["updated /last 2026-03-11"]);
    }
}

#[tokio::test]
async fn a_gap_is_told() {
    let den = den_with(&["updated /a 2026-03-01"]);
    let follower = Follower::of(&den).await;
    follower.check().await;
    den.change_list(LIST, "from='2026-03-13'", &["updated /b 2026-03-13"]);
    follower.check().await;
    assert!(follower.problems().await.contains(&"gap"));
}

#[tokio::test]
async fn a_gap_is_told_when_a_list_that_was_replaced_is_waited_for_in_vain() {
    let den = den_with(&["updated /a 2026-03-01"]);
    let follower = Follower::of(&den).await;
    follower.check().await;
    replace_list(&den);
    den.site.serve(LIST, Reply::status(500));
    for _ in 0..2 {
        follower.check().await;
        assert_eq!(follower.problems().await, ["http-error"]);
    }
    den.site.serve(LIST, Reply::status(404));
    follower.check().await;
    assert!(follower.problems().await.contains(&"gap"));
    assert_eq!(
        follower.last_check().await.outcome,
        Some(Outcome::Unchanged)
    );
    let asked = den.site.requests_to(LIST).len();
    follower.check().await;
    assert_eq!(den.site.requests_to(LIST).len(), asked);
}

#[tokio::test]
async fn a_list_that_was_replaced_and_stays_unreadable_is_given_up_after_a_month() {
    let den = den_with(&["updated /a 2026-03-01"]);
    let follower = Follower::of(&den).await;
    follower.check().await;
    replace_list(&den);
    den.site.serve(LIST, Reply::status(403));
    follower.pass(TimeDelta::days(20));
    follower.check().await;
    assert_eq!(follower.last_check().await.outcome, Some(Outcome::Partial));
    follower.pass(TimeDelta::days(10));
    follower.check().await;
    assert!(follower.problems().await.contains(&"gap"));
    let asked = den.site.requests_to(LIST).len();
    follower.check().await;
    assert_eq!(den.site.requests_to(LIST).len(), asked);
}

#[tokio::test]
async fn a_collection_keeps_its_feed_when_its_author_names_it() {
    let den = Den::new();
    let list = |describes: &str| {
        urlset(&format!(
            "<rs:ln rel='up' href='{{den}}{WELL_KNOWN}'/>{describes}<rs:md capability='capabilitylist'/>
            <url><loc>{{den}}{LIST}</loc><rs:md capability='changelist'/></url>"
        ))
    };
    den.xml(
        WELL_KNOWN,
        &urlset("<rs:md capability='description'/><url><loc>{den}/capabilitylist.xml</loc><rs:md capability='capabilitylist'/></url>"),
    );
    den.xml("/capabilitylist.xml", &list(""));
    let follower = Follower::of(&den).await;
    follower.check().await;
    let feed = |site: sitebell::store::SiteRow| {
        let one = site.collections.into_iter().next().unwrap();
        (one.feed_id, one.identity.path().to_owned())
    };
    let before = feed(follower.store().site(follower.site).await.unwrap().unwrap());
    den.xml(
        "/capabilitylist.xml",
        &list("<rs:ln rel='describes' href='{den}/'/>"),
    );
    assert_eq!(follower.check().await, [""; 0]);
    let after = follower.store().site(follower.site).await.unwrap().unwrap();
    assert_eq!(after.collections.len(), 1);
    assert_eq!(feed(after), (before.0, "/".to_owned()));
    assert_eq!(before.1, "/capabilitylist.xml");
}
