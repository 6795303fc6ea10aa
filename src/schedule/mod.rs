//! Checks that happen by themselves: what is due is read and saved, in good time and not too much at once.
//!
//! The store knows what is due, so a restart asks for nothing that is not. The [`Scheduler`] is woken every second, and
//! whenever a check has ended or somebody asked for one. It reads one site of a host at a time and a bounded number of
//! hosts side by side, so that a slow host holds one place and no more. Whoever asks, timer, button or program, asks
//! here, and a site that is being read already is not read twice.
//!
//! [`check_and_save`] is one check, [`policy`] decides when the next one is due, [`upkeep`] runs at night.

mod once;
pub mod policy;
pub mod upkeep;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::runtime::Handle;
use tokio::sync::{Notify, OnceCell, watch};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, timeout};
use tracing::{error, info, warn};
use url::Url;

use crate::check::CheckSettings;
use crate::fetch::Fetcher;
use crate::site::{CheckId, SiteId, SiteStatus, host_key};
use crate::store::{Store, StoreError};

pub use self::once::{Done, ScheduleError, check_and_save};
use self::once::{check_and_save_as, save_panic};
use self::policy::Policy;

/// A store that failed once (a full disk, say) fails again: nothing new is begun for so long.
const REST: Duration = Duration::from_secs(60);

/// Tells the time. Tests have their own.
pub type Clock = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// Hears of a check that was saved: of which site, whether something visible changed, and when the next one is due.
pub type Listener = Arc<dyn Fn(SiteId, bool, DateTime<Utc>) + Send + Sync>;

/// Hears of every document of a site before it is fetched.
pub type Watcher = Arc<dyn Fn(SiteId, &Url) + Send + Sync>;

/// What a scheduler works with.
pub struct Work {
    /// What is due, and where results go.
    pub store: Store,
    /// The one fetcher of the service.
    pub fetcher: Arc<Fetcher>,
    /// How to read.
    pub settings: CheckSettings,
    /// How often.
    pub policy: Policy,
    /// Hosts that are read at the same time.
    pub hosts_at_once: usize,
    /// The time.
    pub clock: Clock,
    /// Told of every check that was saved.
    pub listener: Listener,
    /// Told of every document that is read.
    pub watcher: Watcher,
}

/// Checks sites when they are due or when it is asked to. A clone is the same one.
#[derive(Clone)]
pub struct Scheduler {
    inner: Arc<Inner>,
}

struct Inner {
    work: Work,
    /// Where checks run: those who ask may be on threads of their own, which are for short work.
    runtime: Handle,
    state: Mutex<State>,
    wake: Notify,
    /// Turns true once.
    stopping: watch::Sender<bool>,
    /// How many checks have ended, for those who wait for one.
    ended: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    /// Sites that wait for their turn or are being read.
    under_way: HashMap<SiteId, UnderWay>,
    /// Sites that somebody asked for, and that wait for a place.
    asked: VecDeque<SiteId>,
    /// Hosts that are being read.
    hosts: HashMap<String, AbortHandle>,
    rest_until: Option<Instant>,
}

#[derive(Clone)]
struct UnderWay {
    url: Url,
    host: String,
    /// The number of the check, made by whoever needs it first.
    check: Arc<OnceCell<CheckId>>,
}

/// Why a check was not begun though somebody asked.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The site is not known.
    #[error("there is no site with the number {0}")]
    NoSuchSite(SiteId),
    /// The operator paused it.
    #[error("the site is paused; an admin can let it go on")]
    Paused,
    /// Its host asked to be left alone.
    #[error(
        "the host of the site asked to be left alone for now; ask again in {} seconds",
        .0.as_secs() + 1
    )]
    Peace(Duration),
    /// The service is about to end.
    #[error("the service is stopping; ask again when it is back")]
    Stopping,
    /// We failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Scheduler {
    /// Begins to work, on the runtime that this is called on, and goes on until [`stop`](Scheduler::stop).
    ///
    /// Checks that a crash cut off are ended, and hosts that had asked for peace before still have it.
    pub async fn start(work: Work) -> Result<Scheduler, StoreError> {
        let now = (work.clock)();
        let cut_off = work.store.abandon_checks(now).await?;
        if cut_off > 0 {
            info!(checks = cut_off, "checks that were cut off are done again");
        }
        for (url, until) in work.store.quiet_hosts(now).await? {
            let wait = (until - now).to_std().unwrap_or_default();
            work.fetcher.keep_peace(&url, wait);
        }
        let scheduler = Scheduler {
            inner: Arc::new(Inner {
                work,
                runtime: Handle::current(),
                state: Mutex::default(),
                wake: Notify::new(),
                stopping: watch::channel(false).0,
                ended: watch::channel(0).0,
            }),
        };
        let running = scheduler.clone();
        tokio::spawn(async move { running.run().await });
        scheduler.wake();
        Ok(scheduler)
    }

    /// Looks whether something is due.
    pub fn wake(&self) {
        self.inner.wake.notify_one();
    }

    /// Asks for a check now, or for the one that is under way, and tells its number. Does not wait for its end.
    pub async fn check_now(&self, site: SiteId) -> Result<CheckId, AskError> {
        let row = self.inner.work.store.site(site).await?;
        let row = row.ok_or(AskError::NoSuchSite(site))?;
        if row.status == SiteStatus::Paused {
            return Err(AskError::Paused);
        }
        let check = {
            let mut state = self.inner.state();
            if *self.inner.stopping.borrow() {
                return Err(AskError::Stopping);
            }
            match state.under_way.get(&site) {
                Some(under_way) => under_way.check.clone(),
                None => {
                    if let Some(wait) = self.inner.work.fetcher.peace(&row.url) {
                        return Err(AskError::Peace(wait));
                    }
                    state.asked.push_back(site);
                    state.begin(site, row.url)
                }
            }
        };
        self.wake();
        let number = self.inner.number(site, &check).await;
        number.map_err(|error| match error {
            StoreError::NotFound(_) => AskError::NoSuchSite(site),
            error => AskError::Store(error),
        })
    }

    /// Waits until nothing is under way and nothing is due.
    pub async fn idle(&self) {
        let mut ended = self.inner.ended.subscribe();
        loop {
            self.fill().await;
            if self.inner.state().under_way.is_empty() {
                return;
            }
            if ended.changed().await.is_err() {
                return;
            }
        }
    }

    /// Begins nothing more, waits for what is under way, and gives up what takes longer than that: it is done again at
    /// the next start. Nothing is left half written.
    pub async fn stop(&self, within: Duration) -> Result<(), StoreError> {
        self.inner.stopping.send_replace(true);
        let waiting: Vec<SiteId> = self.inner.state().asked.drain(..).collect();
        for site in waiting {
            self.inner.state().under_way.remove(&site);
        }
        let mut ended = self.inner.ended.subscribe();
        let all_ended = async {
            while !self.inner.state().under_way.is_empty() && ended.changed().await.is_ok() {}
        };
        if timeout(within, all_ended).await.is_err() {
            let mut state = self.inner.state();
            warn!(
                checks = state.hosts.len(),
                "giving up checks that take too long"
            );
            for (_, task) in state.hosts.drain() {
                task.abort();
            }
        }
        let now = (self.inner.work.clock)();
        self.inner.work.store.abandon_checks(now).await.map(drop)
    }

    async fn run(self) {
        let mut stopping = self.inner.stopping.subscribe();
        while !*stopping.borrow_and_update() {
            self.fill().await;
            tokio::select! {
                () = self.inner.wake.notified() => {}
                _ = stopping.changed() => {}
            }
        }
    }

    /// Gives every free place to a site: first to those that somebody waits for, then to those that are due.
    async fn fill(&self) {
        if !self.inner.may_begin() {
            return;
        }
        self.begin_asked();
        loop {
            let (free, busy) = {
                let state = self.inner.state();
                let free = self
                    .inner
                    .work
                    .hosts_at_once
                    .saturating_sub(state.hosts.len());
                let waiting = state.under_way.values().map(|site| site.host.clone());
                (free, waiting.collect::<Vec<_>>())
            };
            if free == 0 {
                return;
            }
            let now = (self.inner.work.clock)();
            let limit = u32::try_from(free).unwrap_or(u32::MAX);
            let due = match self.inner.work.store.due(now, limit, &busy).await {
                Ok(due) => due,
                Err(error) => return self.inner.rest(&error),
            };
            if due.is_empty() {
                return;
            }
            for site in due {
                if let Some(wait) = self.inner.work.fetcher.peace(&site.url) {
                    let until = now + TimeDelta::from_std(wait).unwrap_or(TimeDelta::days(1));
                    if let Err(error) = self.inner.work.store.leave_alone(&site.host, until).await {
                        return self.inner.rest(&error);
                    }
                    continue;
                }
                let mut state = self.inner.state();
                if *self.inner.stopping.borrow() {
                    return;
                }
                let is_free = state.hosts.len() < self.inner.work.hosts_at_once;
                let is_busy = state.hosts.contains_key(&site.host);
                if is_free && !is_busy && !state.under_way.contains_key(&site.id) {
                    state.begin(site.id, site.url);
                    self.spawn(&mut state, site.id);
                }
            }
        }
    }

    fn begin_asked(&self) {
        let mut state = self.inner.state();
        let mut later = VecDeque::new();
        while let Some(site) = state.asked.pop_front() {
            let is_free = state.hosts.len() < self.inner.work.hosts_at_once;
            let under_way = state.under_way.get(&site);
            if under_way.is_some_and(|site| is_free && !state.hosts.contains_key(&site.host)) {
                self.spawn(&mut state, site);
            } else if under_way.is_some() {
                later.push_back(site);
            }
        }
        state.asked = later;
    }

    /// Reads a site on a task of its own.
    fn spawn(&self, state: &mut State, site: SiteId) {
        let Some(under_way) = state.under_way.get(&site).cloned() else {
            return;
        };
        let host = under_way.host.clone();
        let place = Place {
            inner: self.inner.clone(),
            site,
            host: host.clone(),
        };
        let task = self.inner.runtime.spawn(async move {
            place.inner.check(site, &under_way).await;
        });
        state.hosts.insert(host, task.abort_handle());
    }
}

impl State {
    fn begin(&mut self, site: SiteId, url: Url) -> Arc<OnceCell<CheckId>> {
        let check = Arc::<OnceCell<CheckId>>::default();
        let under_way = UnderWay {
            host: host_key(&url),
            url,
            check: check.clone(),
        };
        self.under_way.insert(site, under_way);
        check
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing is changed in steps that could be left halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn may_begin(&self) -> bool {
        let rests = self
            .state()
            .rest_until
            .is_some_and(|until| until > Instant::now());
        !rests && !*self.stopping.borrow()
    }

    fn rest(&self, error: &StoreError) {
        error!(%error, "nothing can be saved; checks go on in a minute");
        self.state().rest_until = Some(Instant::now() + REST);
    }

    /// The number of a check, which begins by that.
    async fn number(&self, site: SiteId, check: &OnceCell<CheckId>) -> Result<CheckId, StoreError> {
        let begin = || self.work.store.begin_check(site, (self.work.clock)());
        check.get_or_try_init(begin).await.copied()
    }

    async fn check(self: &Arc<Self>, site: SiteId, under_way: &UnderWay) {
        let url = &under_way.url;
        let number = match self.number(site, &under_way.check).await {
            Ok(number) => number,
            // It was removed a moment ago.
            Err(StoreError::NotFound(_)) => return,
            Err(error) => return self.rest(&error),
        };
        // On a task of its own, so that a fault in the reading of one site ends that reading and nothing else.
        let inner = self.clone();
        let reading: JoinHandle<_> = tokio::spawn(async move {
            let work = &inner.work;
            let watcher = work.watcher.clone();
            check_and_save_as(
                number,
                Arc::new(move |url| watcher(site, url)),
                &work.store,
                &work.fetcher,
                site,
                &work.settings,
                &work.policy,
                &*work.clock,
            )
            .await
        });
        let reading = AbortOnDrop(reading);
        let result = match reading.join().await {
            Ok(result) => result,
            Err(error) if error.is_panic() => {
                error!(site.url = %url,
                    "the check met a fault in Sitebell and was ended"
                );
                save_panic(
                    &self.work.store,
                    site,
                    number,
                    &self.work.policy,
                    (self.work.clock)(),
                )
                .await
            }
            Err(_) => return,
        };
        match result {
            Ok(Done {
                saved,
                next_check_at,
                ..
            }) => {
                (self.work.listener)(site, saved.is_visible, next_check_at);
                info!(site.url = %url, new_changes = saved.new_changes, "checked");
            }
            Err(ScheduleError::NoSuchSite(_) | ScheduleError::Store(StoreError::NotFound(_))) => {}
            Err(ScheduleError::Store(error)) => self.rest(&error),
        }
    }
}

/// A task that ends with whoever waits for it.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> AbortOnDrop<T> {
    async fn join(mut self) -> Result<T, tokio::task::JoinError> {
        (&mut self.0).await
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The place of a site that is being read, free again when dropped, however the reading ended.
struct Place {
    inner: Arc<Inner>,
    site: SiteId,
    host: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.inner.state();
        state.under_way.remove(&self.site);
        state.hosts.remove(&self.host);
        drop(state);
        self.inner.ended.send_modify(|count| *count += 1);
        self.inner.wake.notify_one();
    }
}
