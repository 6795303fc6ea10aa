//! What has to be done now and then: waking the scheduler, forgetting what is too old, keeping the file in shape, and a
//! copy of it every night if the operator wants one. Each on its own cron line.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use chrono::{DateTime, Utc};
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
    #[error("the folder {} cannot be used for backups: {cause}", folder.display())]
    Folder {
        /// Which.
        folder: PathBuf,
        /// Why.
        cause: io::Error,
    },
}

/// Makes a copy, and removes the oldest ones beyond the number that is kept.
pub async fn back_up(
    store: &Store,
    copies: &Copies,
    now: DateTime<Utc>,
) -> Result<PathBuf, BackUpError> {
    let fault = |cause| BackUpError::Folder {
        folder: copies.folder.clone(),
        cause,
    };
    fs::create_dir_all(&copies.folder).map_err(fault)?;
    let name = format!("{COPY_BEGIN}{}{COPY_END}", now.format("%Y%m%dT%H%M%SZ"));
    let file = copies.folder.join(name);
    store.back_up(&file).await?;
    info!(file = %file.display(), "made a copy of the data");
    let mut all = list(&copies.folder).map_err(fault)?;
    all.sort();
    let too_many = all.len().saturating_sub(copies.keep.max(1));
    for old in all.into_iter().take(too_many) {
        fs::remove_file(old).map_err(fault)?;
    }
    Ok(file)
}

/// The copies in a folder. Their names sort by time.
fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_copy = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        let time = name.and_then(|name| name.strip_prefix(COPY_BEGIN)?.strip_suffix(COPY_END));
        time.is_some_and(|time| time.len() == 16 && time.ends_with('Z'))
    };
    let mut copies = Vec::new();
    for entry in fs::read_dir(folder)? {
        copies.push(entry?.path());
    }
    copies.retain(is_copy);
    Ok(copies)
}
