//! Checks that happen by themselves: what is due is read and saved, in good time and not too much at once.
//!
//! The store knows what is due, so a restart asks for nothing that is not. The [`Scheduler`] is woken every second, and
//! whenever a check has ended or somebody asked for one. It reads one site of a host at a time and a bounded number of
//! hosts side by side, so that a slow host holds one place and no more. Whoever asks, timer, button or program, asks
//! here, and a site that is being read already is not read twice.
//!
//! [`check_and_save`] is one check, `listed` tells what happened from lists of pages, `record` is what a check writes,
//! `lanes` are the threads that make them, [`policy`] decides when the next one is due, `titles` asks pages what they are
//! called once their changes are saved, [`upkeep`] runs at night.

mod lanes;
mod listed;
mod once;
mod places;
pub mod policy;
mod preview;
mod record;
mod titles;
pub mod upkeep;

use std::collections::HashSet;
use std::fmt::Display;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{error, info, warn};
use url::Url;

use crate::check::CheckSettings;
use crate::fetch::Fetcher;
use crate::memory::{CheckRecord, Outcome, Remembered};
use crate::site::{CheckId, SiteId, SiteStatus};
use crate::store::{DueSite, SiteRow, Store, StoreError};

use self::lanes::{Lanes, Seat};
pub use self::once::{Done, ScheduleError, check_and_save};
use self::places::{Numbered, Places};
use self::policy::Policy;
pub use self::preview::preview;
use self::titles::Titles;

/// A store that failed once (a full disk, say) fails again: nothing new is begun for so long, and longer every time.
const SHORTEST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(60);

/// Tells the time. Tests have their own.
pub type Clock = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// Hears of a check that was saved: of which site, whether something visible changed, and when the next one is due.
pub type Listener = Arc<dyn Fn(SiteId, bool, DateTime<Utc>) + Send + Sync>;

/// Hears of a site of which feeds showed something already that is another now: titles of pages, or how far back it goes.
pub type WordsListener = Arc<dyn Fn(SiteId) + Send + Sync>;

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
    /// Whether changed pages are asked for their titles, where their site does not tell them.
    pub page_titles: bool,
    /// The time.
    pub clock: Clock,
    /// Told of every check that was saved.
    pub listener: Listener,
    /// Told when pages have got their titles.
    pub words_listener: WordsListener,
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
    /// Where checks run.
    lanes: Lanes,
    /// Where pages are asked for their titles.
    runtime: Handle,
    places: Mutex<Places>,
    titles: Titles,
    rest: Mutex<Rest>,
    wake: Notify,
    /// Turns true once.
    stopping: watch::Sender<bool>,
    /// How many checks and searches for titles have ended, for those who wait for one.
    ended: watch::Sender<u64>,
    done: Mutex<Tally>,
}

/// A pause that everything makes because nothing can be saved.
#[derive(Default)]
struct Rest {
    until: Option<Instant>,
    pause: Duration,
}

/// What was done since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Checks that wait for their turn, read, or are being saved now.
    pub under_way: u64,
    /// Checks that were saved.
    pub checks: u64,
    /// Of these, those that could not read the site.
    pub failed: u64,
    /// Changes that they announced.
    pub changes: u64,
}

/// Why no checks can be made.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// What a crash left could not be put right.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system has no threads for us.
    #[error("the threads that read sites could not be started: {0}")]
    Threads(#[from] io::Error),
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
    /// Begins to work, on threads of its own and the runtime that this is called on, and goes on until [`stop`](Scheduler::stop).
    ///
    /// Checks that a crash cut off are ended, and hosts that had asked for peace before still have it.
    pub async fn start(work: Work) -> Result<Scheduler, StartError> {
        let now = (work.clock)();
        let cut_off = work.store.abandon_checks(now).await?;
        if cut_off > 0 {
            info!(checks = cut_off, "checks that were cut off are done again");
        }
        for (host, until) in work.store.quiet_hosts(now).await? {
            let wait = (until - now).to_std().unwrap_or_default();
            work.fetcher.keep_peace(&host, wait);
        }
        let scheduler = Scheduler {
            inner: Arc::new(Inner {
                places: Mutex::new(Places::new(work.hosts_at_once)),
                work,
                titles: Titles::new(),
                lanes: Lanes::open()?,
                runtime: Handle::current(),
                rest: Mutex::default(),
                wake: Notify::new(),
                stopping: watch::channel(false).0,
                ended: watch::channel(0).0,
                done: Mutex::default(),
            }),
        };
        let running = scheduler.clone();
        tokio::spawn(async move { running.run().await });
        scheduler.wake();
        Ok(scheduler)
    }

    /// What was done since the start.
    pub fn tally(&self) -> Tally {
        Tally {
            under_way: self.inner.places().count() as u64,
            ..*self.inner.done()
        }
    }

    /// Looks whether something is due.
    pub fn wake(&self) {
        self.inner.wake.notify_one();
    }

    /// Asks for a check now, or for the one that is under way, and tells its number. Does not wait for its end.
    pub async fn check_now(&self, site: SiteId) -> Result<CheckId, AskError> {
        let row = self.readable(site).await?;
        let number = self.inner.work.store.number_check().await?;
        let check = {
            let mut places = self.inner.places();
            if *self.inner.stopping.borrow() {
                return Err(AskError::Stopping);
            }
            match places.check_for(site) {
                Some(check) => check,
                None => {
                    if let Some(wait) = self.inner.peace(&row) {
                        return Err(AskError::Peace(wait));
                    }
                    places.ask(site, row.url, number)
                }
            }
        };
        self.wake();
        // Whoever asked wants to see it from its beginning on.
        let store = &self.inner.work.store;
        let begin = || store.begin_check(site, check.id, (self.inner.work.clock)());
        let begun = check.is_begun.get_or_try_init(begin).await;
        begun.map_err(|error| match error {
            StoreError::NotFound(_) => AskError::NoSuchSite(site),
            error => AskError::Store(error),
        })?;
        Ok(check.id)
    }

    /// Asks for a check of what a site says from now on, and tells from when on it can be expected. A check that waits
    /// for its turn will do; one that is reading already may have come too early, and is followed by another. A host
    /// that wants peace has it first.
    pub async fn check_anew(&self, site: SiteId) -> Result<DateTime<Utc>, AskError> {
        let row = self.readable(site).await?;
        let work = &self.inner.work;
        let number = work.store.number_check().await?;
        {
            let mut places = self.inner.places();
            if *self.inner.stopping.borrow() {
                return Err(AskError::Stopping);
            }
            places.ask_after(site, number);
        }
        let at = (work.clock)() + wait_of(self.inner.peace(&row));
        // Kept in the store, so that a crash does not forget what somebody was told.
        work.store.make_due(site, at).await?;
        self.wake();
        Ok(at)
    }

    /// A site that may be read.
    async fn readable(&self, site: SiteId) -> Result<SiteRow, AskError> {
        let row = self.inner.work.store.site(site).await?;
        let row = row.ok_or(AskError::NoSuchSite(site))?;
        match row.status {
            SiteStatus::Paused => Err(AskError::Paused),
            _ => Ok(row),
        }
    }

    /// Waits until nothing is under way and nothing is due.
    pub async fn idle(&self) {
        let mut ended = self.inner.ended.subscribe();
        loop {
            self.fill().await;
            if self.inner.is_idle() {
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
        self.inner.places().close();
        let mut ended = self.inner.ended.subscribe();
        let all_ended = async { while !self.inner.is_idle() && ended.changed().await.is_ok() {} };
        let (store, now) = (&self.inner.work.store, (self.inner.work.clock)());
        if timeout(within, all_ended).await.is_err() {
            let given_up = self.inner.places().give_up();
            warn!(
                checks = given_up.len(),
                "giving up checks that take too long"
            );
            for (site, check) in given_up {
                // A site that was removed meanwhile needs no word about it.
                let _ = store.begin_check(site, check, now).await;
            }
        }
        store.abandon_checks(now).await.map(drop)
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

    /// Gives every free place to a site, and sees to it that enough of them wait for one.
    async fn fill(&self) {
        let work = &self.inner.work;
        loop {
            if !self.inner.may_begin() {
                return;
            }
            self.inner.begin_waiting();
            let (wanted, busy) = {
                let places = self.inner.places();
                match places.wanted() {
                    0 => return,
                    wanted => (wanted, places.busy()),
                }
            };
            let now = (work.clock)();
            let limit = u32::try_from(wanted).unwrap_or(u32::MAX);
            let due = match work.store.due(now, limit, &busy).await {
                Ok(due) => due,
                Err(error) => return self.inner.rest(&error),
            };
            let is_all = due.sites.len() < wanted;
            self.inner.places().note_due(is_all, &due.at_busy_hosts);
            if due.sites.is_empty() {
                return;
            }
            if let Err(error) = self.announce(due.sites, now).await {
                return self.inner.rest(&error);
            }
        }
    }

    /// Lets what is due wait for a place. Sites at hosts that want peace are put off.
    async fn announce(&self, due: Vec<DueSite>, now: DateTime<Utc>) -> Result<(), StoreError> {
        let work = &self.inner.work;
        let mut quiet = HashSet::new();
        for site in due {
            if quiet.contains(&site.host) {
                continue;
            }
            if let wait @ Some(_) = work.fetcher.peace(&site.url) {
                work.store
                    .leave_alone(&site.host, now + wait_of(wait))
                    .await?;
                quiet.insert(site.host);
                continue;
            }
            let id = work.store.number_check().await?;
            self.inner.places().announce(site.id, site.url, id);
        }
        Ok(())
    }
}

impl Inner {
    fn places(&self) -> MutexGuard<'_, Places> {
        // Nothing is changed in steps that could be left halfway.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done(&self) -> MutexGuard<'_, Tally> {
        // Nothing in it depends on anything else.
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long a site is to be left alone: because of its host, or of the one that its host leads to.
    fn peace(&self, site: &SiteRow) -> Option<Duration> {
        let peace = |url| self.work.fetcher.peace(url);
        peace(&site.url).max(site.root.as_ref().and_then(peace))
    }

    fn is_idle(&self) -> bool {
        self.places().is_empty() && self.titles.is_idle()
    }

    fn may_begin(&self) -> bool {
        let rests = self
            .rest_until()
            .is_some_and(|until| until > Instant::now());
        !rests && !*self.stopping.borrow()
    }

    fn rest_until(&self) -> Option<Instant> {
        self.lock_rest().until
    }

    fn lock_rest(&self) -> MutexGuard<'_, Rest> {
        // Its parts are set together.
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins nothing for a while, after a fault of the store that has nothing to do with what was asked of it.
    fn rest(&self, error: &dyn Display) {
        let (mut rest, now) = (self.lock_rest(), Instant::now());
        if rest.until.is_some_and(|until| until > now) {
            return;
        }
        rest.pause = (rest.pause * 2).clamp(SHORTEST_REST, LONGEST_REST);
        rest.until = Some(now + rest.pause);
        error!(%error, "nothing can be saved; it is tried again in {} s", rest.pause.as_secs());
    }

    /// Waits for the end of that; whether it came before the end of everything.
    async fn has_rested(&self) -> bool {
        let until = self.rest_until().unwrap_or_else(Instant::now);
        let mut stopping = self.stopping.subscribe();
        tokio::select! {
            () = sleep_until(until) => true,
            _ = stopping.wait_for(|is_stopping| *is_stopping) => false,
        }
    }

    fn is_well_again(&self) {
        *self.lock_rest() = Rest::default();
    }

    /// Gives every free place to a site that waits.
    fn begin_waiting(self: &Arc<Self>) {
        while self.may_begin() {
            let next = self.places().next();
            let Some(next) = next else { return };
            let (site, check) = (next.site, next.check.id);
            let turn = Turn {
                inner: self.clone(),
                site,
            };
            let seat = self.lanes.seat();
            let runtime = seat.runtime.clone();
            // Nobody holds the places meanwhile: a runtime that is ending drops the task at once, and that gives one back.
            let task = runtime.spawn(turn.take(seat, next.check));
            self.places().set_task(site, check, task.abort_handle());
        }
    }
}

/// The turn of a site. However it ends, others are next.
struct Turn {
    inner: Arc<Inner>,
    site: SiteId,
}

impl Turn {
    async fn take(self, seat: Seat, check: Arc<Numbered>) {
        let read = self.read(&check).await;
        self.leave_place(seat);
        let Some(mut record) = read else { return };
        if self.inner.places().is_followed(self.site) {
            // Kept in the store, so that a stop or a crash does not forget what somebody was told.
            let soonest = record.finished_at + wait_of(self.inner.work.fetcher.peace(&check.url));
            record.next_check_at = record.next_check_at.min(soonest);
        }
        self.save(&check, Arc::new(record)).await;
    }

    /// What is to be saved. On the thread that reads, because what is allocated here is best used and freed here.
    async fn read(&self, check: &Numbered) -> Option<CheckRecord> {
        let (work, site) = (&self.inner.work, self.site);
        let now = || (work.clock)();
        let memory = match work.store.remembered(site).await {
            // None if it was removed a moment ago.
            Ok(memory) => memory?,
            Err(error) if error.is_of_the_file() => {
                self.inner.rest(&error);
                return None;
            }
            Err(error) => {
                error!(site.url = %check.url, %error, "what is kept of the site cannot be read");
                return Some(once::fault_at(site, &work.policy, now()));
            }
        };
        match or_fault(reading(work, site, &memory)).await {
            Ok(Ok(record)) => return Some(record),
            Ok(Err(ScheduleError::NoSuchSite(_))) => return None,
            Ok(Err(ScheduleError::Store(error))) if error.is_of_the_file() => {
                self.inner.rest(&error);
                return None;
            }
            Ok(Err(error)) => {
                error!(site.url = %check.url, %error, "what is kept of the site cannot be read");
            }
            Err(Fault) => {
                error!(site.url = %check.url, "the check met a fault in Sitebell and was ended");
            }
        }
        Some(once::fault(&memory, &work.policy, now()))
    }

    /// Saves what was read, however long that takes: asking the site once more would be rude.
    async fn save(&self, check: &Numbered, mut record: Arc<CheckRecord>) {
        let (work, site) = (&self.inner.work, self.site);
        let mut is_whole = true;
        loop {
            let is_alone = self.inner.places().is_quiet();
            let saving = once::save(&work.store, site, check.id, &record, is_alone);
            let error = match or_fault(Box::pin(saving)).await {
                Ok(Ok(done)) => return self.saved(check, &record, &done),
                Ok(Err(ScheduleError::NoSuchSite(_))) => return,
                Ok(Err(ScheduleError::Store(StoreError::NotFound(_)))) => return,
                Ok(Err(ScheduleError::Store(error))) if error.is_of_the_file() => {
                    self.inner.rest(&error);
                    if !self.inner.has_rested().await {
                        return;
                    }
                    continue;
                }
                Ok(Err(error)) => error.to_string(),
                Err(fault) => fault.to_string(),
            };
            error!(site.url = %check.url, %error, "what was read of the site cannot be saved");
            if !is_whole {
                return self.inner.rest(&error);
            }
            // At least that it was read, so that it is not read again at once.
            record = Arc::new(record::without_findings(&record));
            is_whole = false;
        }
    }

    fn saved(&self, check: &Numbered, record: &CheckRecord, done: &Done) {
        let (work, site) = (&self.inner.work, self.site);
        {
            let mut tally = self.inner.done();
            tally.checks += 1;
            tally.failed += u64::from(record.outcome == Outcome::Failed);
            tally.changes += done.saved.new_changes;
        }
        self.inner.is_well_again();
        (work.listener)(site, done.saved.is_visible, done.next_check_at);
        if work.page_titles && done.saved.new_changes > 0 {
            titles::find(&self.inner, site, done.saved.after);
        }
        info!(site.url = %check.url, new_changes = done.saved.new_changes, "checked");
    }

    fn leave_place(&self, seat: Seat) {
        drop(seat);
        self.inner.places().has_read(self.site);
        self.inner.begin_waiting();
        // Not only when a check has ended: many end at the same moment, when they are on the disk, and none in between.
        if self.inner.places().has_room() {
            self.inner.wake.notify_one();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let has_room = {
            let mut places = self.inner.places();
            places.end(self.site);
            places.has_room()
        };
        self.inner.ended.send_modify(|count| *count += 1);
        if has_room {
            self.inner.wake.notify_one();
        }
    }
}

/// From now on, what is left of the peace that a host asked for.
fn wait_of(peace: Option<Duration>) -> TimeDelta {
    TimeDelta::from_std(peace.unwrap_or_default()).unwrap_or(TimeDelta::days(1))
}

/// The reading of a site, on the heap, and gone when the site has been read: those that wait to be saved are many and need
/// little.
fn reading<'a>(
    work: &'a Work,
    site: SiteId,
    memory: &'a Remembered,
) -> Pin<Box<dyn Future<Output = Result<CheckRecord, ScheduleError>> + Send + 'a>> {
    let watcher = work.watcher.clone();
    Box::pin(once::read(
        &work.store,
        memory,
        Arc::new(move |url| watcher(site, url)),
        &work.fetcher,
        &work.settings,
        &work.policy,
        &*work.clock,
    ))
}

/// A fault of our own.
#[derive(Debug, thiserror::Error)]
#[error("there was a fault in Sitebell, which is told above")]
struct Fault;

/// So that a fault in the reading of one site ends that reading and nothing else.
async fn or_fault<T>(mut work: impl Future<Output = T> + Unpin) -> Result<T, Fault> {
    std::future::poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| Pin::new(&mut work).poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(_) => Poll::Ready(Err(Fault)),
        }
    })
    .await
}
