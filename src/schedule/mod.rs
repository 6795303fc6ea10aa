//! One check of a followed site, from what is remembered of it to what is kept.
//!
//! [`check_and_save`] is the only way in which a check is made and saved, whoever asks for it. The times at which sites
//! are due are in the store; [`policy`] decides on them.

pub mod policy;

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::check::{CheckError, CheckSettings, Checked, CollectionReading, check_site};
use crate::fetch::{FetchError, Fetcher};
use crate::memory::{
    CheckRecord, CollectionMemory, CollectionRecord, Finding, Outcome, SiteMemory, SiteRecord,
};
use crate::problem::{Code, Problem};
use crate::site::{CheckId, SiteId, SiteUrl};
use crate::store::{Saved, Store, StoreError};
use crate::track::{Gap, track};

use policy::{Past, Policy};

/// Why a check was not made.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// The site is not known.
    #[error("there is no site with the number {0}")]
    NoSuchSite(SiteId),
    /// What is remembered could not be read, or the result not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A check that was made and saved.
#[derive(Debug)]
pub struct Done {
    /// Its number.
    pub check: CheckId,
    /// What was saved.
    pub saved: Saved,
}

/// Checks a site and saves what was found, in one transaction. `clock` is asked at the beginning and at the end.
pub async fn check_and_save(
    store: &Store,
    fetcher: &Fetcher,
    site: SiteId,
    settings: &CheckSettings,
    policy: &Policy,
    clock: &(dyn Fn() -> DateTime<Utc> + Send + Sync),
) -> Result<Done, ScheduleError> {
    let memory = store
        .memory(site)
        .await?
        .ok_or(ScheduleError::NoSuchSite(site))?;
    let started_at = clock();
    let check = store.begin_check(site, started_at).await?;
    // What was typed was made whole when the site was added, so this cannot fail; if it does, the site is as good as gone.
    let address =
        SiteUrl::parse(memory.url.as_str()).map_err(|_| ScheduleError::NoSuchSite(site))?;
    let result = check_site(
        fetcher,
        &address,
        Some(&memory),
        settings,
        started_at,
        Arc::new(|_| {}),
    )
    .await;
    let now = clock();
    let chance = u64::try_from(site.0)
        .unwrap_or(0)
        .wrapping_mul(31)
        .wrapping_add(now.timestamp().unsigned_abs());
    let record = match result {
        Ok(checked) => record(&memory, checked, policy, started_at, now, chance),
        Err(error) => failure(&memory, &error, policy, now, chance),
    };
    let saved = store.save_check(site, check, record).await?;
    Ok(Done { check, saved })
}

/// What a check that was made writes.
fn record(
    memory: &SiteMemory,
    checked: Checked,
    policy: &Policy,
    started_at: DateTime<Utc>,
    now: DateTime<Utc>,
    chance: u64,
) -> CheckRecord {
    let mut problems = checked.problems;
    let mut collections = Vec::new();
    for reading in checked.collections {
        let (collection, gap) = collection_record(memory, reading, started_at, now);
        if let Some(gap) = gap {
            let message = format!(
                "the lists of {} begin at {}, but were last read at {}: what happened in between may be missing",
                collection.title,
                gap.until,
                gap.after.format("%Y-%m-%d %H:%M UTC")
            );
            problems.push(Problem::new(Code::Gap, &collection.identity, message));
        }
        collections.push(collection);
    }
    let changes: usize = (collections
        .iter()
        .flat_map(|collection| &collection.entries))
    .map(|entry| entry.changes.len())
    .sum();
    let outcome = match (checked.site.root.is_some(), checked.is_complete, changes) {
        (false, ..) => Outcome::Failed,
        (true, false, _) => Outcome::Partial,
        (true, true, 0) => Outcome::Unchanged,
        (true, true, _) => Outcome::Changed,
    };
    let plan = policy.plan(
        Past {
            fresh_for: checked.fresh_for,
            ..past(memory, outcome)
        },
        now,
        chance,
    );
    let site = match (checked.site.root_asked, checked.site.format) {
        (Some(root), Some(format)) => Some(SiteRecord {
            root,
            format,
            title: checked.site.title,
            about: checked.site.about,
        }),
        _ => None,
    };
    CheckRecord {
        finished_at: now,
        outcome,
        summary: summary(outcome, changes, &problems),
        requests: checked.requests,
        bytes: checked.bytes,
        problems,
        site,
        status: plan.status,
        interval_secs: plan.interval_secs,
        failures: plan.failures,
        next_check_at: plan.next_check_at,
        quiet_until: None,
        collections,
        documents: checked.documents,
    }
}

/// What a check that could not be made writes: that it was tried, and nothing else changes.
fn failure(
    memory: &SiteMemory,
    error: &CheckError,
    policy: &Policy,
    now: DateTime<Utc>,
    chance: u64,
) -> CheckRecord {
    let retry_after = match error {
        CheckError::Unreachable(error) => error.retry_after(),
        CheckError::Gone(_) => None,
    };
    let past = Past {
        retry_after,
        is_gone: matches!(error, CheckError::Gone(_)),
        ..past(memory, Outcome::Failed)
    };
    let plan = policy.plan(past, now, chance);
    let code = match error {
        CheckError::Unreachable(error) => match **error {
            FetchError::Refused(_) => Code::ForbiddenAddress,
            FetchError::Status { .. } | FetchError::Redirect { .. } => Code::HttpError,
            _ => Code::Unreachable,
        },
        CheckError::Gone(_) => Code::HttpError,
    };
    let document = memory.root.as_ref().unwrap_or(&memory.url);
    CheckRecord {
        finished_at: now,
        outcome: Outcome::Failed,
        summary: format!("The site could not be read: {error}."),
        requests: 1,
        bytes: 0,
        problems: vec![Problem::new(code, document, error.to_string())],
        site: None,
        status: plan.status,
        interval_secs: plan.interval_secs,
        failures: plan.failures,
        next_check_at: plan.next_check_at,
        quiet_until: None,
        collections: Vec::new(),
        documents: Vec::new(),
    }
}

fn past(memory: &SiteMemory, outcome: Outcome) -> Past {
    Past {
        interval_secs: memory.interval_secs,
        failures: memory.failures,
        outcome,
        is_gone: false,
        fresh_for: None,
        retry_after: None,
    }
}

fn collection_record(
    memory: &SiteMemory,
    reading: CollectionReading,
    started_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> (CollectionRecord, Option<Gap>) {
    let known: Option<&CollectionMemory> = memory
        .collections
        .iter()
        .find(|collection| Some(collection.id) == reading.known_as);
    let finding = Finding {
        changes: reading.changes,
        is_complete: reading.is_complete,
        covers_from: reading.covers_from,
    };
    let tracked = track(known, finding, started_at, now);
    let record = CollectionRecord {
        id: reading.known_as,
        identity: reading.id,
        capability_list: reading.capability_list,
        title: reading.title,
        about: reading.about,
        described_by: reading.described_by,
        is_own: reading.is_own,
        last_processed: tracked.last_processed,
        covered_until: tracked.covered_until,
        lists: reading.lists,
        silent: tracked.silent,
        entries: tracked.entries,
    };
    (record, tracked.gap)
}

fn summary(outcome: Outcome, changes: usize, problems: &[Problem]) -> String {
    let found = match changes {
        0 => "Nothing new".to_owned(),
        1 => "One new change".to_owned(),
        changes => format!("{changes} new changes"),
    };
    match (
        outcome,
        problems.iter().max_by_key(|problem| problem.severity()),
    ) {
        (Outcome::Failed | Outcome::Partial, Some(worst)) => {
            format!(
                "{found}; not everything could be read: {}.",
                worst.sentence()
            )
        }
        _ => format!("{found}."),
    }
}
