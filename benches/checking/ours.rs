//! Sitebell: what is due is found, read, judged and stored on a real disk by the scheduler of the service.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use sitebell::check::CheckSettings;
use sitebell::fetch::{FetchSettings, Fetcher};
use sitebell::schedule::policy::Policy;
use sitebell::schedule::{Clock, Scheduler, Work};
use sitebell::store::Store;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::common::Failure;
use crate::common::sites::host;
use crate::{AT_ONCE, SITES};

/// Every site is due again after this, or a tenth more.
const HOUR: Duration = Duration::from_secs(3600);
/// Between two turns.
const STEP_SECS: i64 = 4000;

/// How often is looked whether all is done: seldom enough to cost nothing, often enough to add nothing.
const GLANCE: Duration = Duration::from_millis(1);

pub struct Ours {
    store: Store,
    scheduler: Scheduler,
    /// Seconds that the clock was put forward.
    forward: Arc<AtomicI64>,
    port: u16,
    _folder: TempDir,
}

impl Ours {
    pub async fn new(port: u16) -> Result<Ours, Failure> {
        // Not in /tmp, which is memory on some machines.
        let folder = tempfile::tempdir_in(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
        let store = Store::open(folder.path()).await?;
        let fetcher = Arc::new(Fetcher::new(FetchSettings {
            host_gap: Duration::ZERO,
            max_in_flight: AT_ONCE,
            allow_nets: vec![format!("127.0.0.0/8:{port}").parse()?],
            ..FetchSettings::default()
        })?);
        let forward = Arc::new(AtomicI64::new(0));
        let clock: Clock = {
            let forward = forward.clone();
            Arc::new(move || beginning() + TimeDelta::seconds(forward.load(Ordering::Relaxed)))
        };
        let work = Work {
            listener: Arc::new(|_, _, _| {}),
            words_listener: Arc::new(|_| {}),
            watcher: Arc::new(|_, _| {}),
            store: store.clone(),
            fetcher,
            settings: CheckSettings::default(),
            policy: Policy::new(HOUR, Some(HOUR), Some(HOUR)),
            hosts_at_once: AT_ONCE,
            page_titles: false,
            clock,
        };
        Ok(Ours {
            scheduler: Scheduler::start(work).await?,
            store,
            forward,
            port,
            _folder: folder,
        })
    }

    /// Adds all sites of a set, but not before their time has come.
    pub async fn add(&self, set: usize) -> Result<(), Failure> {
        let due = self.now() + TimeDelta::seconds(STEP_SECS);
        let mut adding = JoinSet::new();
        for site in 0..SITES {
            let url = format!("http://{}/", host(set, site, self.port)).parse()?;
            let store = self.store.clone();
            adding.spawn(async move { store.add_site(&url, due).await });
        }
        for added in adding.join_all().await {
            added?;
        }
        Ok(())
    }

    /// Lets an hour pass, and checks all that is due then.
    pub async fn turn(&self) -> Result<(), Failure> {
        let before = self.scheduler.tally().checks;
        self.forward.fetch_add(STEP_SECS, Ordering::Relaxed);
        let begun = Instant::now();
        self.scheduler.wake();
        // Whoever waits for the scheduler makes it look for work, so that is asked for only when nothing is left.
        while self.scheduler.tally().checks < before + SITES as u64 {
            if begun.elapsed() > HOUR {
                return Err("the sites were not checked".into());
            }
            tokio::time::sleep(GLANCE).await;
        }
        self.scheduler.idle().await;
        Ok(())
    }

    fn now(&self) -> DateTime<Utc> {
        beginning() + TimeDelta::seconds(self.forward.load(Ordering::Relaxed))
    }

    /// How many changes the last checks have announced.
    pub async fn new_changes(&self) -> Result<u64, Failure> {
        let mut changes = 0;
        let mut after = None;
        loop {
            let sites = self.store.sites(after, 500).await?;
            let Some(last) = sites.last() else { break };
            after = Some(last.id);
            for site in &sites {
                let newest = self.store.checks(site.id, None, 1).await?;
                changes += newest.iter().map(|check| check.new_changes).sum::<u64>();
            }
        }
        Ok(changes)
    }

    pub async fn end(self) -> Result<(), Failure> {
        self.scheduler.stop(HOUR).await?;
        Ok(self.store.close().await?)
    }
}

/// After every change that the sites tell of; and a Thursday, because titles are asked for again with every new week of
/// the epoch, which should not begin in the middle of the benchmark.
fn beginning() -> DateTime<Utc> {
    DateTime::from_timestamp(2927 * 604_800, 0).unwrap_or_default()
}
