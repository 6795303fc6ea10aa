//! How fast one host is asked: one request at a time, with a pause after each, and not at all while it wants peace.
//!
//! Hosts never wait for each other, except for a place among the requests in flight of the whole service, which is
//! taken last and so never held while waiting. A [`Slot`] is a host's turn: whoever holds one keeps all other requests
//! to this host waiting, so hold one at a time.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{TimeDelta, Utc};
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};
use url::Url;

use super::error::FetchError;
use crate::site::host_key;

/// Up to here a wish for peace is waited for; beyond, the request fails at once and the caller comes back later.
const SHORT_PEACE: Duration = Duration::from_secs(5);

/// From here on, hosts that nobody waits for are forgotten whenever a new one comes.
const MANY_HOSTS: usize = 1_024;

/// Never more than this many: someone with a wildcard name could invent a host for every request and have each of
/// them ask for a week of peace.
const MOST_HOSTS: usize = 10_000;

/// The pace of all hosts.
#[derive(Debug)]
pub(super) struct Pace {
    gap: Duration,
    hosts: Mutex<HashMap<String, Arc<Host>>>,
    in_flight: Arc<Semaphore>,
    /// Hosts that asked for peace, until somebody writes them down.
    newly_quiet: Mutex<HashSet<String>>,
}

#[derive(Debug)]
struct Host {
    turn: Arc<tokio::sync::Mutex<()>>,
    times: Mutex<Times>,
}

#[derive(Debug, Clone, Copy)]
struct Times {
    free_at: Instant,
    peace_until: Instant,
    /// The pause that this host asked for, if it is longer than that of all.
    gap: Duration,
}

/// The right to have one request under way at one host, until dropped.
#[derive(Debug)]
pub(super) struct Slot {
    host: Arc<Host>,
    gap: Duration,
    _turn: OwnedMutexGuard<()>,
    _place: OwnedSemaphorePermit,
}

impl Pace {
    pub(super) fn new(gap: Duration, max_in_flight: usize) -> Self {
        Self {
            gap,
            hosts: Mutex::default(),
            in_flight: Arc::new(Semaphore::new(max_in_flight.max(1))),
            newly_quiet: Mutex::default(),
        }
    }

    /// Waits for the turn of this request at its host.
    pub(super) async fn slot(&self, url: &Url) -> Result<Slot, FetchError> {
        let key = host_key(url);
        let host = self.host(&key);
        // Asked before queueing, so that a queue does not build up for days, and again when our turn has come, since
        // the request before ours may have been the one that was turned away.
        host.short_peace(&key)?;
        let turn = host.turn.clone().lock_owned().await;
        let peace_until = host.short_peace(&key)?;
        let free_at = host.times().free_at.max(peace_until);
        if free_at > Instant::now() {
            sleep_until(free_at).await;
        }
        let place = self
            .in_flight
            .clone()
            .acquire_owned()
            .await
            .expect("the semaphore is never closed");
        Ok(Slot {
            host,
            gap: self.gap,
            _turn: turn,
            _place: place,
        })
    }

    /// How long the host of `url` still wants to be left alone, if it does.
    pub(super) fn peace(&self, url: &Url) -> Option<Duration> {
        self.peace_of(&host_key(url))
    }

    fn peace_of(&self, host: &str) -> Option<Duration> {
        let until = lock(&self.hosts).get(host)?.times().peace_until;
        let wait = until.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then_some(wait)
    }

    /// Leaves a host alone for so long.
    pub(super) fn keep_peace(&self, host: &str, wait: Duration) {
        self.host(host).times().peace_until = Instant::now() + wait;
    }

    /// The same, as the host of `url` has just asked.
    pub(super) fn turned_away(&self, url: &Url, wait: Duration) {
        let host = host_key(url);
        self.keep_peace(&host, wait);
        let mut newly_quiet = lock(&self.newly_quiet);
        if newly_quiet.len() < MOST_HOSTS {
            newly_quiet.insert(host);
        }
    }

    /// Hosts that have asked for peace since the last call, and how long they still want it.
    pub(super) fn newly_quiet(&self) -> Vec<(String, Duration)> {
        let hosts = std::mem::take(&mut *lock(&self.newly_quiet)).into_iter();
        let wait = |host: &str| self.peace_of(host);
        hosts
            .filter_map(|host| wait(&host).map(|wait| (host, wait)))
            .collect()
    }

    /// Leaves so much time after each request to the host of `url`, this one's last included.
    pub(super) fn keep_gap(&self, url: &Url, gap: Duration) {
        let host = self.host(&host_key(url));
        let mut times = host.times();
        times.gap = gap;
        times.free_at = times.free_at.max(Instant::now() + gap);
    }

    fn host(&self, key: &str) -> Arc<Host> {
        let mut hosts = lock(&self.hosts);
        if let Some(host) = hosts.get(key) {
            return host.clone();
        }
        let now = Instant::now();
        if hosts.len() >= MANY_HOSTS {
            hosts.retain(|_, host| host.is_busy() || host.times().latest() > now);
        }
        if hosts.len() >= MOST_HOSTS {
            let next = hosts
                .iter()
                .filter(|(_, host)| !host.is_busy())
                .min_by_key(|(_, host)| host.times().latest());
            if let Some(key) = next.map(|(key, _)| key.clone()) {
                hosts.remove(&key);
            }
        }
        let times = Times {
            free_at: now,
            peace_until: now,
            gap: Duration::ZERO,
        };
        let host = Arc::new(Host {
            turn: Arc::default(),
            times: Mutex::new(times),
        });
        hosts.insert(key.to_owned(), host.clone());
        host
    }
}

impl Host {
    fn times(&self) -> MutexGuard<'_, Times> {
        lock(&self.times)
    }

    /// Someone holds or waits for a slot (asked under the lock of the map, where new holders come from).
    fn is_busy(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 1
    }

    fn short_peace(&self, name: &str) -> Result<Instant, FetchError> {
        let until = self.times().peace_until;
        let wait = until.saturating_duration_since(Instant::now());
        if wait <= SHORT_PEACE {
            return Ok(until);
        }
        let until = Utc::now() + TimeDelta::from_std(wait).unwrap_or_default();
        Err(FetchError::HostAskedForPeace {
            host: name.to_owned(),
            until,
            wait,
        })
    }
}

impl Times {
    fn latest(&self) -> Instant {
        self.free_at.max(self.peace_until)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut times = self.host.times();
        times.free_at = Instant::now() + self.gap.max(times.gap);
    }
}

/// A panic elsewhere cannot leave these maps half changed, so a poisoned lock is as good as any.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Duration = Duration::from_millis(500);

    fn url(host: &str) -> Url {
        Url::parse(&format!("http://{host}/")).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn the_second_request_waits_for_the_end_of_the_first_and_the_gap() {
        let pace = Arc::new(Pace::new(GAP, 32));
        let start = Instant::now();
        let first = pace.slot(&url("a.example")).await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
        let second = tokio::spawn({
            let pace = pace.clone();
            async move {
                pace.slot(&url("a.example"))
                    .await
                    .map(|_slot| Instant::now())
            }
        });
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(!second.is_finished(), "one request at a time");
        drop(first);
        let began = second.await.unwrap().unwrap();
        assert!(began - start >= Duration::from_secs(3) + GAP);
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_asks_for_a_longer_gap_has_it_from_then_on() {
        let pace = Pace::new(GAP, 32);
        let slow = Duration::from_secs(10);
        drop(pace.slot(&url("a.example")).await.unwrap());
        pace.keep_gap(&url("a.example"), slow);
        let start = Instant::now();
        for times in 1..=2 {
            drop(pace.slot(&url("a.example")).await.unwrap());
            assert!(start.elapsed() >= slow * times, "{times}");
        }
        pace.keep_gap(&url("a.example"), Duration::ZERO);
        drop(pace.slot(&url("a.example")).await.unwrap());
        let start = Instant::now();
        drop(pace.slot(&url("a.example")).await.unwrap());
        assert!(start.elapsed() >= GAP, "never less than everybody has");
        assert!(start.elapsed() < slow);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_host_delays_no_other_host_or_port() {
        let pace = Pace::new(GAP, 32);
        let start = Instant::now();
        let _slow = pace.slot(&url("slow.example")).await.unwrap();
        let _other = pace.slot(&url("other.example")).await.unwrap();
        let _port = pace.slot(&url("slow.example:8080")).await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_dot_at_the_end_of_the_name_is_the_same_host() {
        let pace = Pace::new(GAP, 32);
        let start = Instant::now();
        drop(pace.slot(&url("a.example")).await.unwrap());
        drop(pace.slot(&url("a.example.")).await.unwrap());
        assert!(start.elapsed() >= GAP);
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_asked_for_peace_is_not_asked_until_then() {
        let pace = Pace::new(GAP, 32);
        pace.turned_away(&url("a.example"), Duration::from_secs(60));
        let error = pace.slot(&url("a.example")).await.unwrap_err();
        assert!(
            matches!(error, FetchError::HostAskedForPeace { .. }),
            "{error}"
        );
        assert!(error.retry_after().unwrap() <= Duration::from_secs(60) && error.is_temporary());
        pace.slot(&url("b.example")).await.unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        pace.slot(&url("a.example")).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_queued_before_the_wish_for_peace_obey_it_too() {
        let pace = Arc::new(Pace::new(GAP, 32));
        let first = pace.slot(&url("a.example")).await.unwrap();
        let queued = tokio::spawn({
            let pace = pace.clone();
            async move { pace.slot(&url("a.example")).await.map(drop) }
        });
        tokio::time::sleep(GAP).await;
        pace.turned_away(&url("a.example"), Duration::from_secs(60));
        drop(first);
        assert!(matches!(
            queued.await.unwrap(),
            Err(FetchError::HostAskedForPeace { .. })
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_wish_for_peace_is_waited_for() {
        let pace = Pace::new(GAP, 32);
        let start = Instant::now();
        pace.turned_away(&url("a.example"), Duration::from_secs(4));
        pace.slot(&url("a.example")).await.unwrap();
        assert!(start.elapsed() >= Duration::from_secs(4));
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_requests_than_allowed_are_in_flight() {
        let pace = Arc::new(Pace::new(GAP, 2));
        let first = pace.slot(&url("a.example")).await.unwrap();
        let _second = pace.slot(&url("b.example")).await.unwrap();
        let third = tokio::spawn({
            let pace = pace.clone();
            async move { pace.slot(&url("c.example")).await.map(drop) }
        });
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!third.is_finished());
        drop(first);
        third.await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn idle_hosts_are_forgotten_and_busy_ones_are_not() {
        let pace = Pace::new(GAP, 32);
        let _busy = pace.slot(&url("busy.example")).await.unwrap();
        pace.turned_away(&url("peace.example"), Duration::from_secs(6_000));
        for number in 0..3 * MANY_HOSTS {
            drop(
                pace.slot(&url(&format!("h{number}.example")))
                    .await
                    .unwrap(),
            );
            tokio::time::advance(GAP).await;
        }
        let hosts = lock(&pace.hosts);
        assert!(hosts.len() <= MANY_HOSTS);
        assert!(hosts.contains_key("busy.example:80") && hosts.contains_key("peace.example:80"));
    }

    #[tokio::test(start_paused = true)]
    async fn hosts_that_all_ask_for_a_week_of_peace_do_not_fill_the_memory() {
        let pace = Pace::new(GAP, 32);
        for number in 0..MOST_HOSTS + 50 {
            let host = url(&format!("h{number}.example"));
            pace.turned_away(&host, Duration::from_secs(604_800));
        }
        assert!(lock(&pace.hosts).len() <= MOST_HOSTS);
        assert!(pace.newly_quiet().len() <= MOST_HOSTS);
    }

    #[tokio::test(start_paused = true)]
    async fn hosts_that_ask_for_peace_are_told_of_once() {
        let pace = Pace::new(GAP, 32);
        let wait = Duration::from_secs(60);
        pace.turned_away(&url("a.example"), wait);
        pace.turned_away(&url("a.example"), wait);
        pace.turned_away(&url("brief.example"), Duration::ZERO);
        assert_eq!(pace.newly_quiet(), [("a.example:80".to_owned(), wait)]);
        assert_eq!(pace.newly_quiet(), []);
    }
}
