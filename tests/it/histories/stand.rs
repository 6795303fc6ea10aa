//! What every history needs, whatever its site is like: a server, a store, and somebody who follows the site.
//!
//! Store and connection outlive a history, because they cost most.

use std::cell::RefCell;
use std::fmt::Debug;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use sitebell::check::{CheckSettings, check_site};
use sitebell::fetch::{FetchSettings, Fetcher};
use sitebell::memory::{CheckRecord, Outcome, RoundRecord};
use sitebell::schedule::check_and_save;
use sitebell::schedule::policy::Policy;
use sitebell::site::{CheckId, SiteId, SiteStatus, SiteUrl};
use sitebell::store::Store;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use url::Url;

use super::follower::{Follower, Model};
use super::server::{Stage, serve};
use super::shelf::{HOST, Reply, Shelf, without_moved};
use super::step::{History, Tagging};
use crate::names::Loopback;

const BEGINNING: &str = "2026-03-10T12:00:00Z";

/// A site that only exists for a history.
pub trait Staged: Send + Sized + 'static {
    /// What a document says, without the bytes.
    type Content: Send;
    /// What it may do.
    type Doing: Debug + Clone + Send;
    /// Who knows what must be announced of it.
    type Model: Model<Content = Self::Content>;
    /// The site at its beginning.
    fn new(port: u16, now: DateTime<Utc>, seeds: &[u8], tagging: Tagging) -> Self;
    /// All its documents.
    fn shelf(&mut self) -> &mut Shelf<Self::Content>;
    /// It is later.
    fn set_now(&mut self, now: DateTime<Utc>);
    /// Lets something happen; what makes no sense at present does not happen.
    fn apply(&mut self, doing: &Self::Doing);
    /// What is at an address that never changes, breaks or moves.
    fn page(&self, _path: &str) -> Option<Reply> {
        None
    }
    /// A document as it is now, if there is one at this address.
    fn document(&self, path: &str) -> Option<(Self::Content, String)>;
}

/// A site on the stage.
pub struct Actor<S: Staged> {
    pub site: S,
    /// What it does before it answers this request.
    pub soon: Option<(u32, S::Doing)>,
}

impl<S: Staged> Actor<S> {
    /// Answers a request for a path that is asked for with this tag or date; none if the asker should crash now.
    pub fn answer(&mut self, path: &str, tag: Option<&str>, since: Option<&str>) -> Option<Reply> {
        if self.site.shelf().is_crashing() {
            return None;
        }
        match self.soon.take() {
            Some((0, doing)) => self.site.apply(&doing),
            Some((left, doing)) => self.soon = Some((left - 1, doing)),
            None => {}
        }
        if let Some(page) = self.site.page(path) {
            return Some(page);
        }
        let document = self.site.document(without_moved(path));
        Some(self.site.shelf().deliver(path, document, tag, since))
    }

    /// Lets happen what was to happen at a request that never came.
    pub fn apply_what_is_left(&mut self) {
        if let Some((_, doing)) = self.soon.take() {
            self.site.apply(&doing);
        }
    }
}

/// Where one history is played after the other.
pub struct Stand<S: Staged> {
    runtime: Runtime,
    fetcher: Fetcher,
    stage: Stage<S>,
    crash: Arc<Notify>,
    port: u16,
    folder: TempDir,
    store: Option<Store>,
}

impl<S: Staged> Stand<S> {
    pub fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let (stage, crash) = (Stage::<S>::default(), Arc::new(Notify::new()));
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

    pub fn play(&mut self, history: &History<S::Doing>) -> Result<(), String> {
        let now: DateTime<Utc> = BEGINNING.parse().unwrap();
        *self.stage.lock().unwrap() = Some(Actor {
            site: S::new(self.port, now, &history.seeds, history.tagging),
            soon: None,
        });
        let url: Url = format!("http://{HOST}:{}/", self.port).parse().unwrap();
        let mut desk = Desk {
            fetcher: &self.fetcher,
            stage: &self.stage,
            crash: &self.crash,
            folder: &mut self.folder,
            store: self.store.take(),
            site: SiteId(0),
            url,
            now,
        };
        let playing = async {
            desk.add_site().await;
            Follower::at(&mut desk).follow(&history.steps).await?;
            let (site, now) = (desk.site, desk.now);
            desk.store().remove_site(site, now).await.unwrap();
            Ok(())
        };
        let result = self.runtime.block_on(playing);
        self.store = desk.store;
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

/// Where somebody sits who follows the site on the stage.
pub struct Desk<'a, S: Staged> {
    fetcher: &'a Fetcher,
    pub stage: &'a Stage<S>,
    crash: &'a Notify,
    folder: &'a mut TempDir,
    store: Option<Store>,
    pub site: SiteId,
    url: Url,
    pub now: DateTime<Utc>,
}

impl<S: Staged> Desk<'_, S> {
    pub fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    pub fn on_stage<T>(&self, act: impl FnOnce(&mut Actor<S>) -> T) -> T {
        act(self.stage.lock().unwrap().as_mut().unwrap())
    }

    async fn add_site(&mut self) {
        let (site, is_new) = self.store().add_site(&self.url, self.now).await.unwrap();
        assert!(is_new, "somebody left a site behind");
        self.site = site;
    }

    /// The operator removes the site, and somebody adds it again.
    pub async fn replace_site(&mut self) {
        self.store().remove_site(self.site, self.now).await.unwrap();
        self.add_site().await;
    }

    fn advance(&mut self, minutes: u32) {
        self.now += TimeDelta::minutes(i64::from(minutes));
        let now = self.now;
        self.on_stage(|actor| {
            actor.site.set_now(now);
            actor.site.shelf().begin_check();
        });
    }

    /// A check; none if it was cut off.
    pub async fn check(&mut self, after: u32) -> Option<CheckId> {
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

    /// A check that is cut off at this request, if it has so many; then there is nothing to judge.
    pub async fn check_and_crash(&mut self, after: u32, request: u8) -> Option<CheckId> {
        self.on_stage(|actor| actor.site.shelf().crash_at = Some(u32::from(request)));
        let check = self.check(after).await;
        self.on_stage(|actor| actor.site.shelf().crash_at = None);
        if check.is_none() {
            self.on_stage(|actor| actor.site.shelf().take_log());
        }
        check
    }

    /// A check that is cut off when everything is read and nothing saved.
    pub async fn check_unsaved(&mut self, after: u32) {
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
        self.on_stage(|actor| actor.site.shelf().take_log());
    }

    /// Saves a check again, with something else in it: it must not matter.
    pub async fn save_again(&mut self, check: CheckId) -> Result<(), String> {
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
            quiet_hosts: Vec::new(),
            collections: vec![],
            covered: vec![],
            documents: vec![],
            out_of_use: vec![],
            round: RoundRecord::Dropped,
        };
        let before = self.store().site(self.site).await.unwrap();
        let saved = self.store().save_check(self.site, check, record).await;
        let is_same = before == self.store().site(self.site).await.unwrap();
        match saved.unwrap().already_saved && is_same {
            true => Ok(()),
            false => Err("a check was saved twice".to_owned()),
        }
    }

    /// Stops and starts again. Whoever is killed leaves the files as they are at that moment.
    pub async fn restart(&mut self, is_killed: bool) {
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
    }
}

/// Plays one history alone.
pub fn play<S: Staged>(history: &History<S::Doing>) {
    if let Err(error) = Stand::<S>::new().play(history) {
        panic!("{error}\n{history:#?}");
    }
}

/// Plays so many histories, or as many as the environment says, and makes one that fails as short as possible.
pub fn play_any<S, A>(histories: u32, any: impl Fn() -> A + Sync)
where
    S: Staged,
    A: Strategy<Value = History<S::Doing>>,
{
    let wanted = std::env::var("HISTORIES").map_or(histories, |text| text.parse().unwrap());
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
        let result = TestRunner::new(config).run(&any(), |history| {
            if is_over.load(Ordering::Relaxed) {
                return Ok(());
            }
            played.fetch_add(1, Ordering::Relaxed);
            // Whatever a failure leaves behind is thrown away with its stand.
            let mut used = stand.take().unwrap_or_else(Stand::<S>::new);
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
        // It may be a long time until chance finds it again.
        let kept = concat!(env!("CARGO_TARGET_TMPDIR"), "/history-that-failed.txt");
        std::fs::write(kept, &failure).unwrap();
        panic!("{failure}");
    }
}
