//! One piece of work at other people's servers, such as a check: what it takes from them, and the connections that it has.
//!
//! Every request that is sent and every byte that arrives is counted, whatever becomes of it: redirects, robots.txt,
//! answers that break off. A limit that only counted what went well would be none. Its time runs from the beginning.
//!
//! Its connections are its own and end with it: nobody else comes to the same host so soon that keeping them would pay.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Client;
use tokio::time::Instant;

use super::pace::lock;

/// An idle connection is used again for less than the five seconds after which common servers close it, because a request
/// on a connection that is just being closed fails.
const MAX_IDLE: Duration = Duration::from_secs(4);

/// No work takes so long, and every clock can count so far.
const LONGER_THAN_ANY: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// What requests that belong together have in common. A copy is the same one.
#[derive(Debug, Clone)]
pub struct Errand(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    requests: AtomicU32,
    bytes: AtomicU64,
    max_bytes: u64,
    begun_at: Instant,
    /// Milliseconds.
    max_time: AtomicU64,
    /// Few: only a redirect leads to another port.
    clients: Mutex<Vec<Used>>,
}

/// The client for a port, and when it was last asked for.
#[derive(Debug)]
struct Used {
    port: u16,
    client: Client,
    at: Instant,
}

impl Errand {
    /// An errand that lets so many bytes pass, and so much time.
    pub fn new(max_bytes: u64, max_time: Duration) -> Self {
        Self(Arc::new(Inner {
            requests: AtomicU32::new(0),
            bytes: AtomicU64::new(0),
            max_bytes,
            begun_at: Instant::now(),
            max_time: AtomicU64::new(millis(max_time)),
            clients: Mutex::default(),
        }))
    }

    /// When the time is over.
    pub fn deadline(&self) -> Instant {
        self.0.begun_at + self.max_time()
    }

    /// The time that there is in all.
    pub fn max_time(&self) -> Duration {
        Duration::from_millis(self.0.max_time.load(Ordering::Relaxed))
    }

    /// Gives it more time.
    pub fn prolong(&self, by: Duration) {
        self.0.max_time.fetch_add(millis(by), Ordering::Relaxed);
    }

    /// Requests sent so far.
    pub fn requests(&self) -> u32 {
        self.0.requests.load(Ordering::Relaxed)
    }

    /// Bytes of bodies that came over the network so far.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// The most bytes that may come.
    pub fn max_bytes(&self) -> u64 {
        self.0.max_bytes
    }

    /// Whether nothing more may come.
    pub fn is_used_up(&self) -> bool {
        self.bytes() >= self.0.max_bytes
    }

    /// The client for requests to this port, which is made when it is first asked for, and anew when its connection has
    /// been idle for too long.
    pub(super) fn client<E>(
        &self,
        port: u16,
        make: impl FnOnce() -> Result<Client, E>,
    ) -> Result<Client, E> {
        let now = Instant::now();
        let mut clients = lock(&self.0.clients);
        clients.retain(|used| used.at + MAX_IDLE > now);
        if let Some(used) = clients.iter_mut().find(|used| used.port == port) {
            used.at = now;
            return Ok(used.client.clone());
        }
        let client = make()?;
        clients.push(Used {
            port,
            client: client.clone(),
            at: now,
        });
        Ok(client)
    }

    pub(super) fn count_request(&self) {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts bytes that came, and says whether they were still within the limit.
    pub(super) fn count_bytes(&self, count: u64) -> bool {
        self.0.bytes.fetch_add(count, Ordering::Relaxed) + count <= self.0.max_bytes
    }
}

/// One that never stops anything.
impl Default for Errand {
    fn default() -> Self {
        Self::new(u64::MAX, LONGER_THAN_ANY)
    }
}

fn millis(time: Duration) -> u64 {
    let millis = time.min(LONGER_THAN_ANY).as_millis();
    u64::try_from(millis).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_port_has_one_client_until_its_connection_was_idle_for_too_long() {
        // As the service does when it starts.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let errand = Errand::default();
        let mut made = 0;
        let mut ask = |port| {
            let make = || {
                made += 1;
                Ok::<_, Infallible>(Client::new())
            };
            errand.client(port, make).unwrap();
            made
        };
        assert_eq!([80, 443, 80, 443].map(&mut ask), [1, 2, 2, 2]);
        tokio::time::advance(MAX_IDLE / 2).await;
        assert_eq!(ask(80), 2);
        tokio::time::advance(MAX_IDLE / 2).await;
        assert_eq!([80, 443].map(&mut ask), [2, 3]);
    }
}
