//! What is kept: that it comes back, that it is there after the worst, and that nobody else's is touched.

pub mod beside; // other programs, backups, sudden death
mod files; // files that are not what they should be
mod model; // anything in any order, against a simple model
mod names; // ids and readable names
mod pruning; // what is forgotten
mod records; // a check and everything in it
mod tenants; // accounts, tokens, subscriptions

use chrono::{DateTime, TimeDelta, Utc};
use sitebell::change::{Change, ChangeKind, Details};
use sitebell::memory::{CheckRecord, CollectionRecord, NewEntry, Outcome, RoundRecord, SiteRecord};
use sitebell::moment::Moment;
use sitebell::site::{About, CollectionId, Format, SiteId, SiteStatus};
use sitebell::store::{Saved, Store};
use url::Url;

pub fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

pub fn now() -> DateTime<Utc> {
    at("2026-05-04T03:02:01.123456Z")
}

pub fn url(text: &str) -> Url {
    text.parse().unwrap()
}

pub fn change(page: &str, datetime: &str) -> Change {
    Change {
        url: format!("https://s.example/{page}"),
        kind: ChangeKind::Updated,
        datetime: Moment::parse(datetime).unwrap(),
        title: None,
        details: Details::default(),
    }
}

pub fn entry(changes: Vec<Change>) -> NewEntry {
    NewEntry {
        is_for_site: true,
        note: None,
        updated_at: now(),
        changes,
    }
}

pub fn collection(identity: &str, silent: Vec<Change>, entries: Vec<NewEntry>) -> CollectionRecord {
    CollectionRecord {
        pages: None,
        id: None,
        identity: url(identity),
        capability_list: None,
        title: "A collection".into(),
        about: About::default(),
        described_by: None,
        is_own: true,
        last_processed: None,
        covered_until: None,
        lists: vec![],
        silent,
        entries,
    }
}

pub fn record(collections: Vec<CollectionRecord>) -> CheckRecord {
    CheckRecord {
        started_at: now(),
        finished_at: now(),
        outcome: Outcome::Changed,
        summary: "Something new.".into(),
        requests: 3,
        bytes: 4096,
        problems: vec![],
        site: Some(SiteRecord {
            looked_at: None,
            root: url("https://s.example/.well-known/resourcesync"),
            format: Format::ResourceSync,
            title: "A site".into(),
            about: About::default(),
            described_by: None,
        }),
        status: SiteStatus::Ok,
        interval_secs: 3600,
        failures: 0,
        next_check_at: now() + TimeDelta::hours(1),
        quiet_hosts: Vec::new(),
        collections,
        covered: vec![],
        documents: vec![],
        out_of_use: vec![],
        round: RoundRecord::None,
    }
}

pub async fn save(store: &Store, site: SiteId, record: CheckRecord) -> Saved {
    let check = store.number_check().await.unwrap();
    store.begin_check(site, check, now()).await.unwrap();
    store.save_check(site, check, record).await.unwrap()
}

pub async fn store_with_site() -> (tempfile::TempDir, Store, SiteId) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let (site, is_new) = store
        .add_site(&url("https://s.example/"), now())
        .await
        .unwrap();
    assert!(is_new);
    (folder, store, site)
}

pub async fn first_collection(store: &Store, site: SiteId) -> CollectionId {
    store.site(site).await.unwrap().unwrap().collections[0].id
}
