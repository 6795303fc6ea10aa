//! What a check writes: what was read, judged in the light of what is remembered.
//!
//! Makes the record of a check and nothing else; [`once`](super::once) reads and saves.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::check::{CheckError, Checked, CollectionReading};
use crate::fetch::{Errand, FetchError, Fetcher};
use crate::memory::{
    CheckRecord, CollectionMemory, CollectionRecord, Finding, Outcome, PageKey, PageWrites,
    PagesRecord, Remembered, Round, RoundRecord, SiteMemory, SiteRecord,
};
use crate::problem::{Code, Problem};
use crate::site::{SiteId, SiteStatus};
use crate::track::pages::TrackedPages;
use crate::track::{Gap, track};

use super::listed::Listed;
use super::policy::{Past, Policy};

/// What is said of a check that a fault of our own has ended.
const FAULT: &str = "The site could not be read because of a fault in Sitebell, which is in its log; it is tried again.";

/// Any number, but the same for the same site and time.
fn chance(site: SiteId, now: DateTime<Utc>) -> u64 {
    let site = u64::try_from(site.0).unwrap_or(0);
    site.wrapping_mul(31)
        .wrapping_add(now.timestamp().unsigned_abs())
}

/// What the record of a check is made from, besides what was read.
pub(super) struct Planning<'a> {
    site: SiteId,
    interval_secs: u64,
    failures: u32,
    has_round: bool,
    policy: &'a Policy,
    started_at: DateTime<Utc>,
    pub(super) now: DateTime<Utc>,
}

impl<'a> Planning<'a> {
    pub(super) fn new(
        remembered: &'a Remembered,
        policy: &'a Policy,
        started_at: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Self {
        let (site, interval_secs, failures, has_round) = match remembered {
            // There is a round only after a check that went well.
            Remembered::Round(memory) => (memory.id, memory.interval_secs, 0, true),
            Remembered::Whole(memory) => {
                let (interval_secs, failures) = (memory.interval_secs, memory.failures);
                (memory.id, interval_secs, failures, memory.has_round)
            }
        };
        Planning {
            site,
            interval_secs,
            failures,
            has_round,
            policy,
            started_at,
            now,
        }
    }

    /// For a site of which nothing can be recalled.
    pub(super) fn of_unknown(site: SiteId, policy: &'a Policy, now: DateTime<Utc>) -> Self {
        Planning {
            site,
            interval_secs: 0,
            failures: 0,
            has_round: false,
            policy,
            started_at: now,
            now,
        }
    }

    /// What a check writes that found everything as it was.
    pub(super) fn as_before(
        &self,
        round: &Round,
        fresh_for: Option<Duration>,
        errand: &Errand,
    ) -> CheckRecord {
        let past = Past {
            fresh_for,
            ..self.past(Outcome::Unchanged)
        };
        CheckRecord {
            summary: summary(Outcome::Unchanged, 0, &round.problems),
            requests: errand.requests(),
            bytes: errand.bytes(),
            problems: round.problems.clone(),
            round: RoundRecord::Gone,
            ..self.empty(past)
        }
    }

    /// What a check that was made writes.
    pub(super) fn record(
        &self,
        memory: &SiteMemory,
        fetcher: &Fetcher,
        checked: Checked,
        listed: Listed,
    ) -> CheckRecord {
        let mut problems = checked.problems;
        let (mut collections, mut covered) = (Vec::new(), Vec::new());
        for (reading, tracked) in checked.collections.into_iter().zip(listed.tracked) {
            let is_complete = reading.is_complete;
            let known = known(memory, &reading);
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
        collections.extend(memory.collections.iter().filter_map(|known| {
            let pages = listed.forgotten.get(&known.id)?;
            forgetting(known, pages)
        }));
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
        let mut record = CheckRecord {
            summary: summary(outcome, changes, &problems),
            requests: checked.requests,
            bytes: checked.bytes,
            problems,
            site,
            collections,
            covered,
            documents: checked.documents,
            out_of_use: checked.out_of_use,
            ..self.empty(past)
        };
        if let Some((documents, read_at)) = checked.round
            && may_go_round(memory, &record)
        {
            record.round = RoundRecord::New(Round {
                documents,
                read_at,
                covered: record.covered.clone(),
                problems: record.problems.clone(),
            });
        }
        record
    }

    /// What a check that could not be made writes: that it was tried, and nothing else changes.
    pub(super) fn failure(
        &self,
        memory: &SiteMemory,
        error: &CheckError,
        errand: &Errand,
    ) -> CheckRecord {
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
        let document = memory.root.as_ref();
        let document = document.unwrap_or(memory.url.url());
        CheckRecord {
            summary: format!("The site could not be read: {error}."),
            requests: errand.requests(),
            bytes: errand.bytes(),
            problems: vec![Problem::new(code, document, error.to_string())],
            ..self.empty(past)
        }
    }

    /// What a check writes that a fault of our own has ended.
    pub(super) fn fault(&self) -> CheckRecord {
        CheckRecord {
            summary: FAULT.to_owned(),
            ..self.empty(self.past(Outcome::Failed))
        }
    }

    /// A record of nothing but how the check ended and when the next one is due.
    fn empty(&self, past: Past) -> CheckRecord {
        let chance = chance(self.site, self.now);
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
            quiet_hosts: Vec::new(),
            collections: Vec::new(),
            covered: Vec::new(),
            documents: Vec::new(),
            out_of_use: Vec::new(),
            round: match self.has_round {
                true => RoundRecord::Dropped,
                false => RoundRecord::None,
            },
        }
    }

    fn past(&self, outcome: Outcome) -> Past {
        Past {
            interval_secs: self.interval_secs,
            failures: self.failures,
            outcome,
            is_gone: false,
            fresh_for: None,
            retry_after: None,
        }
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
            entries: tracked.entries,
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

/// What is left of a record that the store does not take: that the check was made, and when the next one is due.
pub(super) fn without_findings(record: &CheckRecord) -> CheckRecord {
    CheckRecord {
        outcome: Outcome::Failed,
        summary: FAULT.to_owned(),
        problems: Vec::new(),
        site: None,
        status: SiteStatus::Failing,
        failures: record.failures + 1,
        quiet_hosts: record.quiet_hosts.clone(),
        collections: Vec::new(),
        covered: Vec::new(),
        documents: Vec::new(),
        out_of_use: Vec::new(),
        round: RoundRecord::Dropped,
        ..*record
    }
}

/// What is remembered of a collection that was read.
pub(super) fn known<'m>(
    memory: &'m SiteMemory,
    reading: &CollectionReading,
) -> Option<&'m CollectionMemory> {
    let mut known = memory.collections.iter();
    known.find(|collection| Some(collection.id) == reading.known_as)
}

/// A collection that was not read, without some of its pages.
fn forgetting(known: &CollectionMemory, pages: &[PageKey]) -> Option<CollectionRecord> {
    let state = known.pages.as_ref()?.state.clone();
    let writes = PageWrites {
        remove: pages.to_vec(),
        ..PageWrites::default()
    };
    Some(CollectionRecord {
        id: Some(known.id),
        identity: known.identity.clone(),
        capability_list: known.capability_list.clone(),
        title: known.title.clone(),
        about: known.about.clone(),
        described_by: known.described_by.clone(),
        is_own: known.is_own,
        last_processed: known.last_processed,
        covered_until: known.covered_until,
        lists: known.lists.clone(),
        silent: Vec::new(),
        entries: Vec::new(),
        pages: Some(PagesRecord { state, writes }),
    })
}

/// Whether a site may be asked the same next time: nothing of what is remembered is another now, so the same would come of
/// it. A list of pages is looked at with the time in mind, even if it has not changed.
fn may_go_round(memory: &SiteMemory, record: &CheckRecord) -> bool {
    record.outcome == Outcome::Unchanged
        && record.site.is_none()
        && record.collections.is_empty()
        && record.documents.is_empty()
        && memory.has_log()
        && memory
            .collections
            .iter()
            .all(|collection| collection.pages.is_none())
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
