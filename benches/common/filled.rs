//! Data as checks leave it.

use chrono::{DateTime, TimeDelta, Utc};
use sitebell::change::{Change, ChangeKind, Details};
use sitebell::memory::{CheckRecord, CollectionRecord, NewEntry, Outcome, RoundRecord, SiteRecord};
use sitebell::moment::Moment;
use sitebell::site::{About, Format, SiteStatus};
use url::Url;

use super::Failure;

const KINDS: [ChangeKind; 3] = [
    ChangeKind::Updated,
    ChangeKind::Created,
    ChangeKind::Deleted,
];

/// A check that found a site with one collection, and so many entries of so many changes in it, one for each hour.
pub fn found(
    site: &Url,
    title: &str,
    entries: usize,
    changes: usize,
    now: DateTime<Utc>,
) -> Result<CheckRecord, Failure> {
    let entry = |number: usize| {
        let at = now - TimeDelta::hours((entries - number) as i64);
        let change = |place: usize| Change {
            url: format!("{site}pages/{number}-{place}.html"),
            kind: KINDS[(number + place) % KINDS.len()],
            datetime: Moment::from_utc(at),
            title: None,
            details: Details::default(),
        };
        NewEntry {
            is_for_site: true,
            updated_at: at,
            changes: (0..changes).map(change).collect(),
            note: None,
        }
    };
    Ok(CheckRecord {
        started_at: now,
        finished_at: now,
        outcome: Outcome::Changed,
        summary: String::new(),
        requests: 3,
        bytes: 4096,
        problems: vec![],
        site: Some(SiteRecord {
            root: site.join(".well-known/resourcesync")?,
            format: Format::ResourceSync,
            title: title.to_owned(),
            about: About::default(),
            described_by: None,
            looked_at: None,
        }),
        status: SiteStatus::Ok,
        interval_secs: 86_400,
        failures: 0,
        next_check_at: now + TimeDelta::days(7),
        quiet_hosts: Vec::new(),
        collections: vec![CollectionRecord {
            id: None,
            identity: site.clone(),
            capability_list: Some(site.join("capabilitylist.xml")?),
            title: title.to_owned(),
            about: About::default(),
            described_by: None,
            is_own: true,
            last_processed: None,
            covered_until: None,
            lists: vec![],
            silent: vec![],
            entries: (0..entries).map(entry).collect(),
            pages: None,
        }],
        covered: vec![],
        documents: vec![],
        out_of_use: vec![],
        round: RoundRecord::None,
    })
}
