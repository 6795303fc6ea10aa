//! One check of a followed site, from what is remembered of it to what is kept.
//!
//! This is the only way in which a check is made and saved, whoever asks for it. The times at which sites are due are in
//! the store; [`Policy`] decides on them.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use url::Url;

use crate::check::{CheckError, CheckSettings, Checked, CollectionReading, check_site_counted_by};
use crate::fetch::{FetchError, Fetcher, Meter};
use crate::memory::{
    CheckRecord, CollectionMemory, CollectionRecord, Finding, Outcome, PagesRecord, RecallError,
    SiteMemory, SiteRecord,
};
use crate::problem::{Code, Problem};
use crate::site::{CheckId, SiteId};
use crate::store::{Saved, Store, StoreError};
use crate::track::pages::{ListFinding, TrackedPages, plan, plan_stand_in};
use crate::track::{Gap, track};

use super::policy::{Past, Policy};

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
    let memory = store.memory(site).await?;
    let memory = memory.ok_or(ScheduleError::NoSuchSite(site))?;
    let watcher = Arc::new(|_: &Url| {});
    let record = read(store, &memory, watcher, fetcher, settings, policy, clock).await?;
    save(store, site, check, record, true).await
}

/// The first half: reads a site, and tells what is to be saved of it. `watcher` hears of every document before it is
/// fetched; the store is asked for nothing but the addresses of pages that are not in a list any more.
pub(super) async fn read(
    store: &Store,
    memory: &SiteMemory,
    watcher: Arc<dyn Fn(&Url) + Send + Sync>,
    fetcher: &Fetcher,
    settings: &CheckSettings,
    policy: &Policy,
    clock: &(dyn Fn() -> DateTime<Utc> + Send + Sync),
) -> Result<CheckRecord, ScheduleError> {
    let started_at = clock();
    let meter = Meter::new(settings.limits.bytes);
    let result = check_site_counted_by(
        &meter,
        fetcher,
        &memory.url,
        Some(memory),
        settings,
        started_at,
        watcher,
    )
    .await;
    if let Some(error) = memory.failure() {
        return Err(ScheduleError::Memory(error));
    }
    let planning = Planning::new(memory, policy, started_at, clock());
    Ok(match result {
        Ok(mut checked) => {
            let tracked = planning
                .track_pages(store, &mut checked.collections)
                .await?;
            planning.record(fetcher, checked, tracked)
        }
        Err(error) => planning.failure(fetcher, &error, &meter),
    })
}

/// What is to be saved of a check that was ended by a fault of our own, so that the site has its turn again, but not at
/// once.
pub(super) fn fault(memory: &SiteMemory, policy: &Policy, now: DateTime<Utc>) -> CheckRecord {
    Planning::new(memory, policy, now, now).fault()
}

/// The second half. A check that is not alone is saved together with others.
pub(super) async fn save(
    store: &Store,
    site: SiteId,
    check: CheckId,
    record: CheckRecord,
    is_alone: bool,
) -> Result<Done, ScheduleError> {
    let next_check_at = record.next_check_at;
    let saved = match is_alone {
        true => store.save_check(site, check, record).await?,
        false => store.save_check_among_others(site, check, record).await?,
    };
    Ok(Done {
        check,
        saved,
        next_check_at,
    })
}

/// Any number, but the same for the same site and time.
fn chance(site: SiteId, now: DateTime<Utc>) -> u64 {
    let site = u64::try_from(site.0).unwrap_or(0);
    site.wrapping_mul(31)
        .wrapping_add(now.timestamp().unsigned_abs())
}

/// What the record of a check is made from, besides what was read.
struct Planning<'a> {
    memory: &'a SiteMemory,
    policy: &'a Policy,
    started_at: DateTime<Utc>,
    now: DateTime<Utc>,
}

impl<'a> Planning<'a> {
    fn new(
        memory: &'a SiteMemory,
        policy: &'a Policy,
        started_at: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Self {
        Planning {
            memory,
            policy,
            started_at,
            now,
        }
    }

    /// Tells changes from the lists of pages that were read, in the place of each; none for a collection that tells its
    /// changes itself.
    async fn track_pages(
        &self,
        store: &Store,
        collections: &mut [CollectionReading],
    ) -> Result<Vec<Option<TrackedPages>>, StoreError> {
        let mut all = Vec::new();
        for reading in collections {
            let Some(pages) = reading.pages.take() else {
                all.push(None);
                continue;
            };
            let known = self.known(reading);
            let state = known.and_then(|known| known.pages.as_ref());
            let last_processed = known.and_then(|known| known.last_processed);
            let tracked = match pages.sighted {
                None => state
                    .map(|pages| &pages.state)
                    .map(|state| TrackedPages::unchanged(state, last_processed, &pages.document)),
                Some(sighted) => {
                    let finding = ListFinding {
                        sighted,
                        is_complete: reading.is_complete,
                        made_at: pages.made_at,
                        titles: pages.titles.map(String::from),
                        document: pages.document,
                    };
                    let plan = match state.map(|pages| &pages.state) {
                        Some(state) if pages.is_stand_in => plan_stand_in(state, finding, self.now),
                        state => plan(state, finding, self.now),
                    };
                    let urls = match known {
                        Some(known) => store.page_urls(known.id, plan.wanted()).await?,
                        None => HashMap::new(),
                    };
                    Some(plan.finish(last_processed, &urls))
                }
            };
            all.push(tracked.map(|mut tracked| {
                tracked.state.broken_since = pages.broken_since;
                tracked
            }));
        }
        Ok(all)
    }

    /// What a check that was made writes.
    fn record(
        &self,
        fetcher: &Fetcher,
        checked: Checked,
        tracked: Vec<Option<TrackedPages>>,
    ) -> CheckRecord {
        let mut problems = checked.problems;
        let (mut collections, mut covered) = (Vec::new(), Vec::new());
        for (reading, tracked) in checked.collections.into_iter().zip(tracked) {
            let is_complete = reading.is_complete;
            let known = self.known(&reading);
            let (collection, gap) = match tracked {
                Some(tracked) => {
                    problems.extend(tracked.problems.iter().cloned());
                    (self.listing(known, reading, tracked), None)
                }
                None => self.collection(known, reading),
            };
            if let Some(gap) = gap {
                let message = format!(
                    "the lists of {} begin at {}, but were last read at {}: what happened in between may be missing",
                    collection.title,
                    gap.until,
                    gap.after.format("%Y-%m-%d %H:%M UTC")
                );
                problems.push(Problem::new(Code::Gap, &collection.identity, message));
            }
            match known {
                Some(known) if !is_news(&collection, known) => {
                    covered.extend(is_complete.then_some(known.id));
                }
                _ => collections.push(collection),
            }
        }
        let changes: usize = (collections.iter())
            .flat_map(|collection| &collection.entries)
            .map(|entry| entry.changes.len())
            .sum();
        let outcome = match (checked.site.root.is_some(), checked.is_complete, changes) {
            (false, ..) => Outcome::Failed,
            (true, false, _) => Outcome::Partial,
            (true, true, 0) => Outcome::Unchanged,
            (true, true, _) => Outcome::Changed,
        };
        // Whichever host turned us away: asking the site again would be asking that host again.
        let failed = problems
            .iter()
            .filter(|problem| problem.code == Code::HttpError);
        let peace = failed.filter_map(|problem| fetcher.peace(&problem.document.parse().ok()?));
        let found = checked.site;
        let site = match (found.root_asked, found.format) {
            (Some(root), Some(format)) => Some(SiteRecord {
                root,
                format,
                title: found.title,
                about: found.about,
                described_by: found.described_by,
                looked_at: found.is_anew.then_some(self.started_at),
            }),
            _ => None,
        };
        let site = site.filter(|site| {
            let memory = self.memory;
            (Some(&site.root), Some(site.format)) != (memory.root.as_ref(), memory.format)
                || memory.title.as_ref() != Some(&site.title)
                || (&memory.about, &memory.described_by) != (&site.about, &site.described_by)
                || site.looked_at.is_some()
        });
        let past = Past {
            fresh_for: checked.fresh_for,
            retry_after: peace.max(),
            ..self.past(outcome)
        };
        CheckRecord {
            summary: summary(outcome, changes, &problems),
            requests: checked.requests,
            bytes: checked.bytes,
            problems,
            site,
            quiet_until: self.quiet_until(fetcher),
            collections,
            covered,
            documents: checked.documents,
            ..self.empty(past)
        }
    }

    /// What a check that could not be made writes: that it was tried, and nothing else changes.
    fn failure(&self, fetcher: &Fetcher, error: &CheckError, meter: &Meter) -> CheckRecord {
        let retry_after = match error {
            CheckError::Unreachable(error) => error.retry_after(),
            CheckError::Gone(_) => None,
        };
        let past = Past {
            retry_after,
            is_gone: matches!(error, CheckError::Gone(_)),
            ..self.past(Outcome::Failed)
        };
        let code = match error {
            CheckError::Unreachable(error) => match **error {
                FetchError::Refused(_) => Code::ForbiddenAddress,
                FetchError::Status { .. } | FetchError::Redirect { .. } => Code::HttpError,
                _ => Code::Unreachable,
            },
            CheckError::Gone(_) => Code::HttpError,
        };
        let document = self.memory.root.as_ref();
        let document = document.unwrap_or(self.memory.url.url());
        CheckRecord {
            summary: format!("The site could not be read: {error}."),
            requests: meter.requests(),
            bytes: meter.bytes(),
            problems: vec![Problem::new(code, document, error.to_string())],
            quiet_until: self.quiet_until(fetcher),
            ..self.empty(past)
        }
    }

    /// What a check writes that a fault of our own has ended.
    fn fault(&self) -> CheckRecord {
        let summary = "The site could not be read because of a fault in Sitebell, which is in its log; it is tried again.";
        CheckRecord {
            summary: summary.to_owned(),
            ..self.empty(self.past(Outcome::Failed))
        }
    }

    /// A record of nothing but how the check ended and when the next one is due.
    fn empty(&self, past: Past) -> CheckRecord {
        let chance = chance(self.memory.id, self.now);
        let plan = self.policy.plan(past, self.now, chance);
        CheckRecord {
            started_at: self.started_at,
            finished_at: self.now,
            outcome: past.outcome,
            summary: String::new(),
            requests: 0,
            bytes: 0,
            problems: Vec::new(),
            site: None,
            status: plan.status,
            interval_secs: plan.interval_secs,
            failures: plan.failures,
            next_check_at: plan.next_check_at,
            quiet_until: None,
            collections: Vec::new(),
            covered: Vec::new(),
            documents: Vec::new(),
        }
    }

    fn past(&self, outcome: Outcome) -> Past {
        Past {
            interval_secs: self.memory.interval_secs,
            failures: self.memory.failures,
            outcome,
            is_gone: false,
            fresh_for: None,
            retry_after: None,
        }
    }

    fn quiet_until(&self, fetcher: &Fetcher) -> Option<DateTime<Utc>> {
        let wait = fetcher.peace(self.memory.url.url())?;
        Some(self.now + TimeDelta::from_std(wait).ok()?)
    }

    /// What is remembered of a collection that was read.
    fn known(&self, reading: &CollectionReading) -> Option<&'a CollectionMemory> {
        let mut known = self.memory.collections.iter();
        known.find(|collection| Some(collection.id) == reading.known_as)
    }

    /// What a collection writes that lists its pages.
    fn listing(
        &self,
        known: Option<&CollectionMemory>,
        reading: CollectionReading,
        tracked: TrackedPages,
    ) -> CollectionRecord {
        CollectionRecord {
            id: reading.known_as,
            identity: reading.id,
            capability_list: reading.capability_list,
            title: reading.title,
            about: reading.about,
            described_by: reading.described_by,
            is_own: reading.is_own,
            last_processed: tracked.last_processed,
            covered_until: match reading.is_complete {
                true => Some(self.started_at),
                false => known.and_then(|known| known.covered_until),
            },
            lists: reading.lists,
            silent: Vec::new(),
            entries: tracked.entry.into_iter().collect(),
            pages: Some(PagesRecord {
                state: tracked.state,
                writes: tracked.writes,
            }),
        }
    }

    fn collection(
        &self,
        known: Option<&CollectionMemory>,
        reading: CollectionReading,
    ) -> (CollectionRecord, Option<Gap>) {
        let finding = Finding {
            changes: reading.changes,
            is_complete: reading.is_complete,
            covers_from: reading.covers_from,
        };
        let tracked = track(known, finding, self.started_at, self.now);
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
            pages: None,
        };
        (record, tracked.gap)
    }
}

/// Whether there is anything to be written of a collection but that it was read.
fn is_news(record: &CollectionRecord, known: &CollectionMemory) -> bool {
    let is_told_of = !record.entries.is_empty() || !record.silent.is_empty();
    let is_listed_anew = match (&record.pages, &known.pages) {
        (Some(now), Some(before)) => !now.writes.is_empty() || now.state != before.state,
        (None, None) => false,
        _ => true,
    };
    is_told_of
        || is_listed_anew
        || record.identity != known.identity
        || record.capability_list != known.capability_list
        || record.title != known.title
        || record.about != known.about
        || record.described_by != known.described_by
        || record.is_own != known.is_own
        || record.last_processed != known.last_processed
        || record.lists != known.lists
}

/// What came of a check, in a sentence.
fn summary(outcome: Outcome, changes: usize, problems: &[Problem]) -> String {
    let found = match changes {
        0 => "Nothing new".to_owned(),
        1 => "One new change".to_owned(),
        changes => format!("{changes} new changes"),
    };
    // The first of the worst: what follows is often its consequence.
    let worst = problems.iter().map(Problem::severity).max();
    let cause = problems
        .iter()
        .find(|problem| Some(problem.severity()) == worst)
        .map(|problem| &problem.message);
    match (outcome, cause) {
        (Outcome::Failed, Some(cause)) => format!("The site could not be read: {cause}."),
        (Outcome::Partial, Some(cause)) => {
            format!("{found}; not everything could be read: {cause}.")
        }
        _ => format!("{found}."),
    }
}
