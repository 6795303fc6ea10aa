//! What has to be done now and then: waking the scheduler, forgetting what is too old, keeping the file in shape, and a
//! copy of it every night if the operator wants one. Each on its own cron line.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};
use tracing::{error, info};

use super::{Clock, Scheduler, WordsListener};
use crate::store::{Keep, Store, StoreError};

/// Sites are due to the second.
const WAKE: &str = "* * * * * *";
/// The log beside the database is emptied before it grows large.
const CHECKPOINT: &str = "0 7 * * * *";
/// Copies are called so, with the time in between; nothing else in their folder is ever touched.
const COPY_BEGIN: &str = "sitebell-";
const COPY_END: &str = ".sqlite3";
const A_DAY: TimeDelta = TimeDelta::days(1);
/// And so while they are made. A service that is killed meanwhile leaves one behind.
const DRAFT_END: &str = ".sqlite3.part";

/// When something happens: seconds, minutes, hours, days, months, weekdays, in UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronLine(String);

impl FromStr for CronLine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match Job::new(text, |_, _| {}) {
            Ok(_) => Ok(CronLine(text.to_owned())),
            Err(_) => Err(
                "it must be a cron line of seconds, minutes, hours, days, months and weekdays, such as 0 30 3 * * *"
                    .to_owned(),
            ),
        }
    }
}

/// What is done, and when.
#[derive(Debug, Clone)]
pub struct Upkeep {
    /// When what is too old is forgotten.
    pub prune_at: CronLine,
    /// What is not.
    pub keep: Keep,
    /// A copy of the data, if wanted.
    pub copies: Option<Copies>,
}

/// Copies of the data.
#[derive(Debug, Clone)]
pub struct Copies {
    /// Where they go.
    pub folder: PathBuf,
    /// When one is made.
    pub at: CronLine,
    /// How many are kept.
    pub keep: usize,
}

/// Starts everything that happens by the clock. It ends when the result is dropped or shut down.
pub async fn start(
    upkeep: Upkeep,
    scheduler: Scheduler,
    store: Store,
    listener: WordsListener,
    clock: Clock,
) -> Result<JobScheduler, JobSchedulerError> {
    let jobs = JobScheduler::new().await?;
    jobs.add(Job::new(WAKE, move |_, _| scheduler.wake())?)
        .await?;
    let (at, keep) = (upkeep.prune_at, upkeep.keep);
    let (db, today) = (store.clone(), clock.clone());
    let prune = Job::new_async(at.0.as_str(), move |_, _| {
        let (store, listener, now) = (db.clone(), listener.clone(), today());
        Box::pin(async move {
            let cleaned = clean(&store, &keep, &listener, now).await;
            told("the nightly cleaning", cleaned);
        })
    });
    jobs.add(prune?).await?;
    let db = store.clone();
    let checkpoint = Job::new_async(CHECKPOINT, move |_, _| {
        let store = db.clone();
        Box::pin(async move { told("emptying the log", store.checkpoint().await) })
    });
    jobs.add(checkpoint?).await?;
    if let Some(copies) = upkeep.copies {
        let at = copies.at.0.clone();
        let copy = Job::new_async(at.as_str(), move |_, _| {
            let (store, copies, now) = (store.clone(), copies.clone(), clock());
            Box::pin(async move { told("the backup", back_up(&store, &copies, now).await) })
        });
        jobs.add(copy?).await?;
    }
    jobs.start().await?;
    Ok(jobs)
}

fn told<T, E: std::fmt::Display>(what: &str, result: Result<T, E>) {
    if let Err(error) = result {
        error!(%error, "{what} failed; it is tried again at its next time");
    }
}

/// Forgets what is too old.
pub async fn clean(
    store: &Store,
    keep: &Keep,
    listener: &WordsListener,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let pruned = store.prune(keep, now).await?;
    for site in &pruned.sites {
        listener(*site);
    }
    let sessions = store.clear_sessions(now).await?;
    store.optimize().await?;
    info!(
        checks = pruned.checks,
        changes = pruned.changes,
        sessions,
        "forgot what is too old"
    );
    Ok(())
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum BackUpError {
    /// The copy itself.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The folder.
    #[error("the folder {} cannot be used for backups ({cause}); see to that, or choose another one with --backup-to", folder.display())]
    Folder {
        /// Which.
        folder: PathBuf,
        /// Why.
        cause: io::Error,
    },
}

impl Copies {
    /// Makes sure that copies can be made, so that whoever wants some is not told at night that there are none.
    pub fn prepare(&self) -> Result<(), BackUpError> {
        let probe = self.folder.join(format!("{COPY_BEGIN}probe"));
        fs::create_dir_all(&self.folder)
            .and_then(|()| fs::write(&probe, ""))
            .and_then(|()| fs::remove_file(&probe))
            .map_err(|cause| self.fault(cause))
    }

    fn fault(&self, cause: io::Error) -> BackUpError {
        BackUpError::Folder {
            folder: self.folder.clone(),
            cause,
        }
    }
}

/// Makes a copy, and removes the oldest ones beyond the number that is kept.
pub async fn back_up(
    store: &Store,
    copies: &Copies,
    now: DateTime<Utc>,
) -> Result<PathBuf, BackUpError> {
    let fault = |cause| copies.fault(cause);
    fs::create_dir_all(&copies.folder).map_err(fault)?;
    let old = copies.folder.join(called(now - A_DAY, DRAFT_END));
    for draft in list(&copies.folder, DRAFT_END).map_err(fault)? {
        // A younger one may be in the making, by another service.
        if draft < old {
            fs::remove_file(draft).map_err(fault)?;
        }
    }
    let file = copies.folder.join(called(now, COPY_END));
    store.back_up(&file).await?;
    info!(file = %file.display(), "made a copy of the data");
    let mut all = list(&copies.folder, COPY_END).map_err(fault)?;
    all.sort();
    let too_many = all.len().saturating_sub(copies.keep.max(1));
    for old in all.into_iter().take(too_many) {
        fs::remove_file(old).map_err(fault)?;
    }
    Ok(file)
}

fn called(now: DateTime<Utc>, end: &str) -> String {
    format!("{COPY_BEGIN}{}{end}", now.format("%Y%m%dT%H%M%SZ"))
}

/// The copies in a folder whose names end so. They sort by time.
fn list(folder: &Path, end: &str) -> io::Result<Vec<PathBuf>> {
    let is_copy = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        let time = name.and_then(|name| name.strip_prefix(COPY_BEGIN)?.strip_suffix(end));
        time.is_some_and(|time| time.len() == 16 && time.ends_with('Z'))
    };
    let mut copies = Vec::new();
    for entry in fs::read_dir(folder)? {
        copies.push(entry?.path());
    }
    copies.retain(is_copy);
    Ok(copies)
}
