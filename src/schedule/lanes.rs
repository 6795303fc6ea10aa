//! Where checks run: on a few threads that do nothing else, each with a runtime of its own.
//!
//! A check stays where it began, with its connections and all that it allocates, so it never waits for what another
//! thread holds and never wakes one. On two processors that is worth a fifth of all that a check costs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, available_parallelism};

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// More would only cost memory: most of a check is waiting.
const MOST: usize = 4;

/// The threads. They end with this, whatever runs there then.
pub(super) struct Lanes(Vec<Lane>);

struct Lane {
    runtime: Handle,
    /// Seats that are taken.
    taken: Arc<AtomicUsize>,
    /// Dropped at the end.
    _end: oneshot::Sender<()>,
}

/// A place on one of the threads, which counts until it is dropped.
pub(super) struct Seat {
    pub(super) runtime: Handle,
    taken: Arc<AtomicUsize>,
}

impl Lanes {
    /// As many as there are processors.
    pub(super) fn open() -> io::Result<Lanes> {
        let count = available_parallelism().map_or(1, usize::from).min(MOST);
        (0..count)
            .map(|_| Lane::open())
            .collect::<Result<_, _>>()
            .map(Lanes)
    }

    /// A seat where the fewest are taken: where one was given up a moment ago, if that was here.
    pub(super) fn seat(&self) -> Seat {
        let count = |lane: &&Lane| lane.taken.load(Ordering::Relaxed);
        let emptiest = self.0.iter().min_by_key(count);
        let lane = emptiest.expect("there is always one");
        lane.taken.fetch_add(1, Ordering::Relaxed);
        Seat {
            runtime: lane.runtime.clone(),
            taken: lane.taken.clone(),
        }
    }
}

impl Lane {
    fn open() -> io::Result<Lane> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (end, ended) = oneshot::channel::<()>();
        let lane = Lane {
            runtime: runtime.handle().clone(),
            taken: Arc::default(),
            _end: end,
        };
        thread::Builder::new()
            .name("checks".to_owned())
            .spawn(move || {
                // Nothing is ever sent: it ends when the sender is gone.
                let _ = runtime.block_on(ended);
                // A name that is looked up may take long, and nobody waits for it any more.
                runtime.shutdown_background();
            })?;
        Ok(lane)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }
}
