//! Reading sites for reports: bounded, and shared by those who ask for the same site at the same time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio::runtime::Handle;
use url::Url;

use crate::change::Change;
use crate::check::{CheckSettings, Checked, CollectionReading, check_site};
use crate::fetch::Fetcher;
use crate::problem::Problem;
use crate::schedule::preview;
use crate::site::{Format, SiteUrl};
use crate::web::error::WebError;
use crate::web::forms::sentence;
use crate::web::live::Documents;
use crate::web::session::Visitor;

/// Sites that are read for reports at the same time.
const AT_ONCE: usize = 8;
/// Reports that are remembered.
const MAX_REPORTS: usize = 100;
/// What was found is shown for so long to those who ask again; an author who has put something right waits no longer.
const FRESH: Duration = Duration::from_secs(10);
/// After this it is forgotten.
const KEPT: Duration = Duration::from_secs(600);
/// Changes of each collection that are shown.
const CHANGES: usize = 10;
/// Problems that are shown. Each stands for all of its kind in one document.
const PROBLEMS: usize = 60;

/// The reports that are being made, and those that were made a moment ago.
pub struct Reports {
    settings: CheckSettings,
    /// How many are kept.
    pub(super) most_kept: u32,
    /// Where sites are read: threads that answer are for short work.
    runtime: Handle,
    made: Mutex<HashMap<Url, Report>>,
}

/// A report, or what there is of it.
#[derive(Clone)]
pub(super) struct Report {
    pub(super) documents: Documents,
    began: Instant,
    /// None while the site is being read.
    found: Option<(Instant, Outcome)>,
}

/// What came of a reading; a sentence where nothing did.
pub(super) type Outcome = Arc<Result<Found, String>>;

impl Report {
    /// What was found, once the site was read.
    pub(super) fn outcome(&self) -> Option<&Outcome> {
        self.found.as_ref().map(|(_, outcome)| outcome)
    }
}

/// What a reading found, as far as it is shown.
#[derive(Debug, PartialEq)]
pub(super) struct Found {
    /// When it was read.
    pub(super) made_at: DateTime<Utc>,
    pub(super) title: String,
    pub(super) url: String,
    pub(super) root: Option<String>,
    pub(super) format: Option<Format>,
    pub(super) collections: Vec<FoundCollection>,
    pub(super) problems: Vec<Problem>,
    pub(super) more_problems: usize,
    pub(super) requests: u32,
    pub(super) bytes: u64,
}

#[derive(Debug, PartialEq)]
pub(super) struct FoundCollection {
    pub(super) title: String,
    pub(super) id: Url,
    pub(super) count: usize,
    /// The newest changes, oldest first.
    pub(super) changes: Vec<Change>,
}

impl Reports {
    /// Reads on the runtime that this is called on. So many reports are kept, for those who want that.
    pub fn new(settings: CheckSettings, most_kept: u32) -> Reports {
        Reports {
            settings,
            most_kept,
            runtime: Handle::current(),
            made: Mutex::default(),
        }
    }

    /// The report on a site as it stands; begins one if there is none, or if that is not fresh.
    pub(super) fn ask(
        self: &Arc<Self>,
        visitor: &Visitor,
        site: &SiteUrl,
    ) -> Result<Report, WebError> {
        let service = visitor.service();
        let mut made = self.lock();
        made.retain(|_, report| report.began.elapsed() < KEPT);
        if let Some(report) = made.get(site.url()) {
            let is_stale = |(at, _): &(Instant, _)| at.elapsed() >= FRESH;
            if !report.found.as_ref().is_some_and(is_stale) {
                return Ok(report.clone());
            }
        }
        let running = made.values().filter(|report| report.found.is_none());
        if running.count() >= AT_ONCE || made.len() >= MAX_REPORTS {
            let busy = "many sites are being read for others at the moment; ask again in a minute";
            return Err(WebError::TooSoon(busy.to_owned(), Duration::from_secs(60)));
        }
        visitor.look_up()?;
        let report = Report {
            documents: Documents::default(),
            began: Instant::now(),
            found: None,
        };
        made.insert(site.url().clone(), report.clone());
        drop(made);
        self.runtime.spawn({
            let (reports, site) = (self.clone(), site.clone());
            let (fetcher, now) = (service.fetcher.clone(), (service.clock)());
            async move { reports.read(&fetcher, site, now).await }
        });
        Ok(report)
    }

    async fn read(self: Arc<Self>, fetcher: &Fetcher, site: SiteUrl, now: DateTime<Utc>) {
        // Ends the report even if reading met a fault of our own.
        let mut ending = Ending {
            reports: self.clone(),
            url: site.url().clone(),
            found: Err("The site could not be read because of a fault in Sitebell.".to_owned()),
        };
        let watcher = {
            let (reports, url) = (self.clone(), site.url().clone());
            Arc::new(move |document: &Url| {
                if let Some(report) = reports.lock().get_mut(&url) {
                    report.documents.add(document);
                }
            })
        };
        let checked = check_site(fetcher, &site, None, &self.settings, now, watcher).await;
        ending.found = match checked {
            Ok(mut checked) => {
                preview(&mut checked, None, now);
                Ok(Found::new(checked, now))
            }
            Err(error) => Err(sentence(&format!("the site cannot be read: {error}"))),
        };
    }

    /// The report on a site as it stands, if there is one.
    pub(super) fn made(&self, site: &SiteUrl) -> Option<Report> {
        self.lock().get(site.url()).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Url, Report>> {
        // Every report in it is whole even if somebody panicked.
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Ending {
    reports: Arc<Reports>,
    url: Url,
    found: Result<Found, String>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        let found = std::mem::replace(&mut self.found, Err(String::new()));
        if let Some(report) = self.reports.lock().get_mut(&self.url) {
            report.found = Some((Instant::now(), Arc::new(found)));
        }
    }
}

impl Found {
    fn new(checked: Checked, made_at: DateTime<Utc>) -> Found {
        let mut problems = checked.problems;
        problems.sort_by_key(|problem| std::cmp::Reverse(problem.severity()));
        let more_problems = problems.len().saturating_sub(PROBLEMS);
        problems.truncate(PROBLEMS);
        let site = checked.site;
        Found {
            made_at,
            title: site.title,
            url: site.url.into(),
            root: site.root.map(Into::into),
            format: site.format,
            collections: (checked.collections.into_iter())
                .map(FoundCollection::from)
                .collect(),
            problems,
            more_problems,
            requests: checked.requests,
            bytes: checked.bytes,
        }
    }
}

impl From<CollectionReading> for FoundCollection {
    fn from(reading: CollectionReading) -> FoundCollection {
        let mut changes = reading.changes;
        let count = changes.len();
        FoundCollection {
            title: reading.title,
            id: reading.id,
            count,
            changes: changes.split_off(count.saturating_sub(CHANGES)),
        }
    }
}
