//! One check of a followed site, from what is remembered of it to what is kept.
//!
//! This is the only way in which a check is made and saved, whoever asks for it. The times at which sites are due are in
//! the store; [`Policy`] decides on them.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use url::Url;

use crate::check::{Ahead, CheckSettings, Lap, check_site_on, go_round};
use crate::fetch::{Errand, Fetcher};
use crate::memory::{CheckRecord, RecallError, Remembered, RoundMemory};
use crate::site::{CheckId, SiteId};
use crate::store::{Saved, Store, StoreError};

use super::listed::track_pages;
use super::policy::Policy;
use super::record::Planning;

/// Why a check was not made.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// The site is not known.
    #[error("there is no site with the number {0}")]
    NoSuchSite(SiteId),
    /// What is remembered could not be read, or the result not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is known of a collection could not be read.
    #[error("{0}")]
    Memory(RecallError),
}

/// A check that was made and saved.
#[derive(Debug)]
pub struct Done {
    /// Its number.
    pub check: CheckId,
    /// What was saved.
    pub saved: Saved,
    /// When the next one is due.
    pub next_check_at: DateTime<Utc>,
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
    let check = store.number_check().await?;
    let memory = store.remembered(site).await?;
    let memory = memory.ok_or(ScheduleError::NoSuchSite(site))?;
    let watcher = Arc::new(|_: &Url| {});
    let record = read(store, &memory, watcher, fetcher, settings, policy, clock).await?;
    save(store, site, check, &Arc::new(record), true).await
}

/// The first half: reads a site, and tells what is to be saved of it. `watcher` hears of every document before it is
/// fetched; the store is asked for nothing but what was not recalled yet and the addresses of pages that are not in a
/// list any more.
pub(super) async fn read(
    store: &Store,
    remembered: &Remembered,
    watcher: Arc<dyn Fn(&Url) + Send + Sync>,
    fetcher: &Fetcher,
    settings: &CheckSettings,
    policy: &Policy,
    clock: &(dyn Fn() -> DateTime<Utc> + Send + Sync),
) -> Result<CheckRecord, ScheduleError> {
    let found = find(store, remembered, watcher, fetcher, settings, policy, clock);
    let record = found.await?;
    let until = |wait| Some(record.finished_at + TimeDelta::from_std(wait).ok()?);
    let quiet_hosts = fetcher.newly_quiet().into_iter();
    Ok(CheckRecord {
        quiet_hosts: quiet_hosts
            .filter_map(|(host, wait)| Some((host, until(wait)?)))
            .collect(),
        ..record
    })
}

async fn find(
    store: &Store,
    remembered: &Remembered,
    watcher: Arc<dyn Fn(&Url) + Send + Sync>,
    fetcher: &Fetcher,
    settings: &CheckSettings,
    policy: &Policy,
    clock: &(dyn Fn() -> DateTime<Utc> + Send + Sync),
) -> Result<CheckRecord, ScheduleError> {
    let started_at = clock();
    let errand = Errand::new(settings.limits.bytes, settings.limits.time);
    let planning = |now| Planning::new(remembered, policy, started_at, now);
    let recalled;
    let (memory, ahead) = match remembered {
        Remembered::Whole(memory) => (&**memory, Ahead::new(&errand)),
        Remembered::Round(memory) => {
            let RoundMemory { id, round, .. } = &**memory;
            let limits = &settings.limits;
            let lap = go_round(&errand, fetcher, round, limits, started_at, &watcher).await;
            let ahead = match lap {
                Lap::AsBefore(fresh_for) => {
                    return Ok(planning(clock()).as_before(round, fresh_for, &errand));
                }
                Lap::Otherwise(ahead) => ahead,
            };
            let memory = store.memory(*id).await?;
            recalled = memory.ok_or(ScheduleError::NoSuchSite(*id))?;
            (&recalled, ahead)
        }
    };
    // On the heap: most sites are as before, and need no room for it.
    let checking = Box::pin(check_site_on(
        ahead,
        fetcher,
        &memory.url,
        Some(memory),
        settings,
        started_at,
        watcher,
    ));
    let result = checking.await;
    if let Some(error) = memory.failure() {
        return Err(ScheduleError::Memory(error));
    }
    let planning = planning(clock());
    Ok(match result {
        Ok(mut checked) => {
            let is_complete = checked.is_complete;
            let collections = &mut checked.collections;
            let listed = track_pages(store, memory, collections, is_complete, planning.now).await?;
            planning.record(memory, fetcher, checked, listed)
        }
        Err(error) => planning.failure(memory, &error, &errand),
    })
}

/// What is to be saved of a check that was ended by a fault of our own, so that the site has its turn again, but not at
/// once.
pub(super) fn fault(remembered: &Remembered, policy: &Policy, now: DateTime<Utc>) -> CheckRecord {
    Planning::new(remembered, policy, now, now).fault()
}

/// The same of a site of which nothing can be recalled.
pub(super) fn fault_at(site: SiteId, policy: &Policy, now: DateTime<Utc>) -> CheckRecord {
    Planning::of_unknown(site, policy, now).fault()
}

/// The second half. A check that is not alone is saved together with others.
pub(super) async fn save(
    store: &Store,
    site: SiteId,
    check: CheckId,
    record: &Arc<CheckRecord>,
    is_alone: bool,
) -> Result<Done, ScheduleError> {
    let next_check_at = record.next_check_at;
    let saved = match is_alone {
        true => store.save_check(site, check, record.clone()).await?,
        false => {
            let saving = store.save_check_among_others(site, check, record.clone());
            saving.await?
        }
    };
    Ok(Done {
        check,
        saved,
        next_check_at,
    })
}
