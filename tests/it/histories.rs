//! The main guarantee, against any history of a site: every change that a complete reading showed is announced exactly
//! once, in one entry of the right collection.
//!
//! A [`site`] that only exists for the test does what sites do ([`step`]), behind a real server, and is followed in the
//! real way: with a fetcher, a store and `check_and_save`. After each check the [`model`] says what must have been
//! announced. A history that fails is made as short as possible and printed in a form that can be put into the
//! [`corpus`], where every history stays that ever found something.
//!
//! `HISTORIES=100000 cargo test --test it histories` plays more of them.

mod corpus;
mod model;
mod server;
mod site;
mod step;

use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use sitebell::check::{CheckSettings, check_site};
use sitebell::fetch::{FetchSettings, Fetcher};
use sitebell::memory::{CheckRecord, Outcome};
use sitebell::schedule::check_and_save;
use sitebell::schedule::policy::Policy;
use sitebell::site::{CheckId, SiteId, SiteStatus, SiteUrl};
use sitebell::store::{ChangeRow, Keep, Store};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use url::Url;

use self::model::{Model, Verdict};
use self::server::{Stage, serve};
use self::site::{HOST, Site};
use self::step::{History, Step, any_history};
use crate::names::Loopback;

/// Histories that are played each time.
const HISTORIES: u32 = 10_000;
const BEGINNING: &str = "2026-03-10T12:00:00Z";
/// More than any history announces.
const ALL: u32 = 10_000;

/// One follower after the other, each of one site. Store and connection outlive them, because they cost most.
struct Stand {
    runtime: Runtime,
    fetcher: Fetcher,
    stage: Stage,
    crash: Arc<Notify>,
    port: u16,
    folder: TempDir,
    store: Option<Store>,
}

impl Stand {
    fn new() -> Stand {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let (stage, crash) = (Stage::default(), Arc::new(Notify::new()));
        let settings = FetchSettings {
            host_gap: Duration::ZERO,
            allow_nets: vec!["127.0.0.0/8".parse().unwrap()],
            ..FetchSettings::default()
        };
        let folder = folder();
        let (port, fetcher, store) = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = listener.local_addr().unwrap().port();
            tokio::spawn(serve(listener, stage.clone(), crash.clone()));
            let fetcher = Fetcher::with_lookup(settings, Arc::new(Loopback)).unwrap();
            (port, fetcher, Store::open(folder.path()).await.unwrap())
        });
        Stand {
            runtime,
            fetcher,
            stage,
            crash,
            port,
            folder,
            store: Some(store),
        }
    }

    /// Plays a history to its end, or up to the first thing that is wrong.
    fn play(&mut self, history: &History) -> Result<(), String> {
        let now: DateTime<Utc> = BEGINNING.parse().unwrap();
        let site = Site::new(self.port, now, &history.seeds, history.tagging);
        *self.stage.lock().unwrap() = Some(site);
        let url: Url = format!("http://{HOST}:{}/", self.port).parse().unwrap();
        let mut follower = Follower {
            fetcher: &self.fetcher,
            stage: &self.stage,
            crash: &self.crash,
            folder: &mut self.folder,
            store: self.store.take(),
            site: SiteId(0),
            url,
            now,
            model: Model::default(),
            is_vague: false,
        };
        let result = self.runtime.block_on(follower.follow(&history.steps));
        self.store = follower.store;
        result
    }
}

/// A new folder, in memory where that is possible: nothing here is about disks.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    }
}

/// Someone who follows the site on the stage.
struct Follower<'a> {
    fetcher: &'a Fetcher,
    stage: &'a Stage,
    crash: &'a Notify,
    folder: &'a mut TempDir,
    store: Option<Store>,
    site: SiteId,
    url: Url,
    now: DateTime<Utc>,
    model: Model,
    /// Nobody can say any more what is right.
    is_vague: bool,
}

impl Follower<'_> {
    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn on_stage<T>(&self, act: impl FnOnce(&mut Site) -> T) -> T {
        act(self.stage.lock().unwrap().as_mut().unwrap())
    }

    async fn follow(&mut self, steps: &[Step]) -> Result<(), String> {
        self.add_site().await;
        for (place, step) in steps.iter().enumerate() {
            self.take(step)
                .await
                .map_err(|error| format!("step {place}, {step:?}: {error}"))?;
            if self.is_vague {
                break;
            }
        }
        if !self.is_vague {
            self.check(1)
                .await
                .map_err(|error| format!("the last check: {error}"))?;
            self.compare().await?;
        }
        self.store().remove_site(self.site, self.now).await.unwrap();
        Ok(())
    }

    async fn add_site(&mut self) {
        let (site, is_new) = self.store().add_site(&self.url, self.now).await.unwrap();
        assert!(is_new, "somebody left a site behind");
        self.site = site;
    }

    async fn take(&mut self, step: &Step) -> Result<(), String> {
        match *step {
            Step::Site(ref doing) => self.on_stage(|site| site.apply(doing)),
            Step::Check { after } => drop(self.check(after).await?),
            Step::CheckDuring {
                after,
                request,
                ref doing,
            } => {
                self.on_stage(|site| site.apply_at(u32::from(request), doing.clone()));
                let check = self.try_check(after).await;
                assert!(check.is_some(), "nothing cuts it off");
                self.judge().await?;
                self.on_stage(Site::apply_what_is_left);
            }
            Step::CheckTwice { after } => {
                let check = self.check(after).await?;
                if !self.is_vague {
                    self.save_again(check).await?;
                }
            }
            Step::Crash { after, request } => {
                self.on_stage(|site| site.crash_at(Some(u32::from(request))));
                let is_over = self.try_check(after).await;
                self.on_stage(|site| site.crash_at(None));
                match is_over {
                    Some(_) => self.judge().await?,
                    None => drop(self.on_stage(Site::take_log)),
                }
            }
            Step::CrashUnsaved { after } => {
                self.advance(after);
                let check = self.store().number_check().await.unwrap();
                self.store()
                    .begin_check(self.site, check, self.now)
                    .await
                    .unwrap();
                let memory = self.store().memory(self.site).await.unwrap().unwrap();
                let address = SiteUrl::parse(self.url.as_str()).unwrap();
                let settings = CheckSettings::default();
                let _lost = check_site(
                    self.fetcher,
                    &address,
                    Some(&memory),
                    &settings,
                    self.now,
                    Arc::new(|_| {}),
                )
                .await;
                self.on_stage(Site::take_log);
            }
            Step::Restart { is_killed } => self.restart(is_killed).await?,
            Step::Prune { keep } => {
                let limits = Keep {
                    changes_per_collection: u32::from(keep),
                    ..Keep::default()
                };
                self.store().prune(self.now, &limits).await.unwrap();
                self.model.prune(usize::from(keep));
                self.compare().await?;
            }
            Step::RemoveSite => {
                self.store().remove_site(self.site, self.now).await.unwrap();
                self.model.forget();
                self.add_site().await;
            }
        }
        Ok(())
    }

    fn advance(&mut self, minutes: u32) {
        self.now += TimeDelta::minutes(i64::from(minutes));
        let now = self.now;
        self.on_stage(|site| site.set_now(now));
    }

    async fn check(&mut self, after: u32) -> Result<CheckId, String> {
        let check = self.try_check(after).await.unwrap();
        self.judge().await?;
        Ok(check)
    }

    /// A check; none if it was cut off.
    async fn try_check(&mut self, after: u32) -> Option<CheckId> {
        self.advance(after);
        let (settings, policy, now) = (CheckSettings::default(), Policy::default(), self.now);
        let clock = move || now;
        let (store, site) = (self.store(), self.site);
        tokio::select! {
            done = check_and_save(store, self.fetcher, site, &settings, &policy, &clock) => {
                Some(done.unwrap().check)
            }
            () = self.crash.notified() => None,
        }
    }

    /// Judges the last check by what it was answered.
    async fn judge(&mut self) -> Result<(), String> {
        let log = self.on_stage(Site::take_log);
        let after = self.model.announced.last().map(|row| row.cursor);
        let found = self.store().changes(self.site, after, ALL).await.unwrap().0;
        let (now, stage, model) = (self.now, self.stage, &mut self.model);
        let judge = |site: &Site| model.judge(now, &log, site, found);
        let verdict = judge(stage.lock().unwrap().as_ref().unwrap())
            .map_err(|error| format!("{error}\nasked was {log:?}"))?;
        if verdict == Verdict::Vague {
            self.is_vague = true;
            return Ok(());
        }
        let row = self.store().site(self.site).await.unwrap().unwrap();
        for collection in row.collections {
            let last_processed = collection.last_processed.map(|moment| moment.start());
            let identity = collection.identity.as_str();
            self.model
                .compare_progress(identity, last_processed, self.now)?;
        }
        Ok(())
    }

    /// Saves a check again, with something else in it: it must not matter.
    async fn save_again(&mut self, check: CheckId) -> Result<(), String> {
        let record = CheckRecord {
            started_at: self.now,
            finished_at: self.now,
            outcome: Outcome::Failed,
            summary: "This was never said.".into(),
            requests: 0,
            bytes: 0,
            problems: vec![],
            site: None,
            status: SiteStatus::Failing,
            interval_secs: 1,
            failures: 77,
            next_check_at: self.now,
            quiet_until: None,
            collections: vec![],
            covered: vec![],
            documents: vec![],
        };
        let before = self.store().site(self.site).await.unwrap();
        let saved = self.store().save_check(self.site, check, record).await;
        let is_same = before == self.store().site(self.site).await.unwrap();
        match saved.unwrap().already_saved && is_same {
            true => self.compare().await,
            false => Err("a check was saved twice".to_owned()),
        }
    }

    /// Stops and starts again. Whoever is killed leaves the files as they are at that moment.
    async fn restart(&mut self, is_killed: bool) -> Result<(), String> {
        let store = self.store.take().unwrap();
        if is_killed {
            let left = folder();
            for file in std::fs::read_dir(self.folder.path()).unwrap() {
                let path = file.unwrap().path();
                let name = path.file_name().unwrap();
                if !name.to_string_lossy().ends_with("-shm") {
                    std::fs::copy(&path, left.path().join(name)).unwrap();
                }
            }
            drop(store);
            *self.folder = left;
        } else {
            store.close().await.unwrap();
        }
        self.store = Some(Store::open(self.folder.path()).await.unwrap());
        self.store().abandon_checks(self.now).await.unwrap();
        self.compare().await
    }

    /// Compares everything that was ever announced.
    async fn compare(&self) -> Result<(), String> {
        let changes: Vec<ChangeRow> = self.store().changes(self.site, None, ALL).await.unwrap().0;
        let row = self.store().site(self.site).await.unwrap().unwrap();
        let entries = self.store().site_entries(self.site, ALL).await.unwrap();
        let entries: Vec<_> = (entries.into_iter())
            .map(|(id, entry)| {
                let mut collections = row.collections.iter();
                let collection = collections.find(|collection| collection.id == id);
                (collection.unwrap().identity.to_string(), entry)
            })
            .collect();
        self.model.compare(&changes, &entries)
    }
}

/// Plays one history alone.
fn play(history: &History) {
    if let Err(error) = Stand::new().play(history) {
        panic!("{error}\n{history:#?}");
    }
}

#[test]
fn whatever_a_site_does_every_change_is_announced_once() {
    let wanted = std::env::var("HISTORIES").map_or(HISTORIES, |text| text.parse().unwrap());
    // Half of them wait for their stores at any time.
    let threads = 2 * std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let is_over = AtomicBool::new(false);
    let played = AtomicU64::new(0);
    let started = Instant::now();
    let failure: Mutex<Option<String>> = Mutex::new(None);
    let run = || {
        let stand = RefCell::new(None);
        let config = Config {
            cases: wanted.div_ceil(threads),
            failure_persistence: None,
            max_shrink_iters: 3_000,
            ..Config::default()
        };
        let mut runner = TestRunner::new(config);
        let result = runner.run(&any_history(), |history| {
            if is_over.load(Ordering::Relaxed) {
                return Ok(());
            }
            played.fetch_add(1, Ordering::Relaxed);
            // Whatever a failure leaves behind is thrown away with its stand.
            let mut used = stand.take().unwrap_or_else(Stand::new);
            used.play(&history).map_err(TestCaseError::fail)?;
            stand.replace(Some(used));
            Ok(())
        });
        if let Err(TestError::Fail(reason, history)) = result {
            is_over.store(true, Ordering::Relaxed);
            *failure.lock().unwrap() = Some(format!("{reason}\n{history:#?}"));
        } else {
            result.unwrap();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(run);
        }
    });
    eprintln!(
        "{} histories in {:?}",
        played.into_inner(),
        started.elapsed()
    );
    if let Some(failure) = failure.into_inner().unwrap() {
        panic!("{failure}");
    }
}
