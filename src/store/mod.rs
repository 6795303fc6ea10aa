//! What Sitebell keeps: sites, checks, changes, entries, accounts, subscriptions, in one SQLite file.
//!
//! The only home of SQL. Callers speak in the words of the glossary. Short questions are answered at once; whatever may
//! take longer runs on a thread for blocking work. Reads go side by side on connections that cannot write, writes one
//! after the other on a single connection, each kept as a whole or not at all, and on the disk when the call returns.
//!
//! Other programs (`sitebell account`, `sitebell backup`) may work on the same file; a lock is waited for and never
//! reported, unless it lasts a minute. The clock is the caller's. Instants are kept to the microsecond.

mod account;
mod brief;
mod change;
mod check;
mod collection;
mod copy;
mod document;
mod entry;
mod error;
mod feed_key;
mod file;
mod group;
mod invite;
mod json;
mod lock;
mod memory;
mod migrate;
mod name;
mod overview;
mod pages;
mod prune;
mod report;
mod round;
mod save;
mod session;
mod shape;
mod site;
mod subscription;
mod title;
mod value;
mod wait;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{Mutex as AsyncMutex, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

pub use self::account::{Admission, NewAccount, Token};
pub use self::brief::{EntryBrief, Place, PlaceError, Wanted};
pub use self::change::{ChangeRow, Cursor, CursorError, PageTitle};
pub use self::check::CheckRow;
pub use self::collection::CollectionRow;
pub use self::entry::{EntriesOf, EntryRow};
pub use self::error::StoreError;
pub use self::feed_key::{FollowedEntry, FollowedPlace};
pub use self::invite::Invite;
pub use self::lock::ServeLock;
pub use self::overview::{Counts, SiteFilter, SiteLine};
pub use self::prune::{Keep, Pruned};
pub use self::report::{
    ACCOUNT_REPORTS, KeptReport, NewReport, NoRoom, ReportLine, VISITORS_SITE_REPORTS,
};
pub use self::save::Saved;
pub use self::site::{Due, DueSite, SiteRow};

/// Reads that may run at the same time. Each is short, and each connection costs memory.
const READERS: u32 = 4;

/// The database. A clone is the same one.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    instance: String,
    /// None once it is closed.
    writer: Arc<AsyncMutex<Option<Connection>>>,
    /// What is to be written next, by whoever gets hold of the writer.
    queue: group::Queue,
    readers: Arc<Semaphore>,
    /// Connections for reading that nobody uses at the moment, and the thread that used each last.
    idle: Mutex<Vec<(ThreadId, Connection)>>,
    /// Numbers for the next checks.
    check_numbers: AsyncMutex<Range<i64>>,
}

impl Store {
    /// Opens or creates the database in a folder, which is created if it is missing. An older database is brought up to
    /// date, after a copy of it was made beside it; one that is newer, damaged or not ours is refused, and left alone.
    pub async fn open(folder: &Path) -> Result<Store, StoreError> {
        Store::open_with(folder, migrate::MIGRATIONS).await
    }

    /// The same where there is a database already; nothing is created.
    pub async fn open_existing(folder: &Path) -> Result<Store, StoreError> {
        let place = folder.to_owned();
        match blocking(move || file::is_there(&place)).await? {
            true => Store::open(folder).await,
            false => Err(StoreError::Missing {
                folder: folder.to_owned(),
            }),
        }
    }

    async fn open_with(
        folder: &Path,
        migrations: &'static [&'static str],
    ) -> Result<Store, StoreError> {
        let folder = folder.to_owned();
        let path = folder.join(file::FILE_NAME);
        let (db, instance) = blocking(move || {
            let db = file::open(&folder, migrations)?;
            let instance = db.query_row("SELECT name FROM instance", [], |row| row.get("name"))?;
            Ok::<_, StoreError>((db, instance))
        })
        .await
        .map_err(|error| error.at(&path))?;
        let inner = Inner {
            path,
            instance,
            writer: Arc::new(AsyncMutex::new(Some(db))),
            queue: group::Queue::default(),
            readers: Arc::new(Semaphore::new(READERS as usize)),
            idle: Mutex::default(),
            check_numbers: AsyncMutex::new(0..0),
        };
        Ok(Store {
            inner: Arc::new(inner),
        })
    }

    /// Waits for what is under way, then closes the file: everything is in it, and no log is left beside it (unless
    /// another program has it open). Clones of this store can do no more.
    pub async fn close(self) -> Result<(), StoreError> {
        let inner = self.inner;
        let all = inner.readers.acquire_many(READERS).await;
        let _all = all.map_err(|_| StoreError::Closed)?;
        inner.readers.close();
        let mut writer = inner.writer.clone().lock_owned().await;
        let db = writer.take().ok_or(StoreError::Closed)?;
        let idle = std::mem::take(&mut *inner.idle());
        let closed = blocking(move || {
            drop(idle);
            // Another program may be reading for longer than whoever stops us waits; then the log stays, and is read next
            // time.
            db.busy_timeout(Duration::from_millis(500))?;
            file::checkpoint(&db)?;
            db.close().map_err(|(_, error)| StoreError::from(error))
        });
        closed.await.map_err(|error| error.at(&inner.path))
    }

    /// The name of this database: random, made once, and part of every id that is minted in it.
    pub async fn instance(&self) -> String {
        self.inner.instance.clone()
    }

    /// Whether questions are answered: cheap, and writes nothing.
    pub async fn is_well(&self) -> Result<(), StoreError> {
        let ask = |db: &Connection| {
            Ok(db
                .prepare_cached("SELECT 1 FROM instance")?
                .query_row([], |_| Ok(()))?)
        };
        self.read(ask).await
    }

    /// Asks something short, within one transaction. On the thread of whoever asks: the answer takes some tens of
    /// microseconds, and so would going to another thread and back.
    async fn read<T, F>(&self, ask: F) -> Result<T, StoreError>
    where
        F: Fn(&Connection) -> Result<T, StoreError>,
    {
        let permit = self.inner.readers.acquire().await;
        let _permit = permit.map_err(|_| StoreError::Closed)?;
        let answer = self.inner.read(ask);
        answer.map_err(|error| error.at(&self.inner.path))
    }

    /// Asks something that may take long, within one transaction.
    async fn read_long<T, F>(&self, ask: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let permit = self.inner.readers.clone().acquire_owned().await;
        let permit = permit.map_err(|_| StoreError::Closed)?;
        let inner = self.inner.clone();
        blocking(move || {
            let result = inner.read(ask).map_err(|error| error.at(&inner.path));
            drop(permit);
            result
        })
        .await
    }

    /// Writes, as a whole or not at all. It may be run a second time, after all that it did was undone.
    async fn write<T, F>(&self, act: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.write_within(Duration::ZERO, act).await
    }

    /// The same for those who are not in a hurry: waits so long for others to be written together with.
    async fn write_within<T, F>(&self, patience: Duration, act: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let mut answer = self.inner.queue.add(act);
        let heard =
            |answer: Result<group::Done<T, F>, _>| match answer.map(group::Done::into_answer) {
                Ok(Ok(result)) => result,
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                Err(_) => Err(StoreError::Closed),
            };
        if !patience.is_zero()
            && let Ok(answer) = timeout(patience, &mut answer).await
        {
            return heard(answer);
        }
        loop {
            let writer = tokio::select! {
                biased;
                answer = &mut answer => return heard(answer),
                writer = self.inner.writer.clone().lock_owned() => writer,
            };
            // Nobody has done it for us, so we do it for all who wait.
            let inner = self.inner.clone();
            blocking(move || {
                let db = writer.as_ref().ok_or(StoreError::Closed)?;
                inner.queue.run(db, &inner.path);
                Ok(())
            })
            .await?;
        }
    }

    /// Uses the writer's connection, outside any transaction. Whoever waits for it holds no thread.
    async fn with_writer<T, F>(&self, act: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let writer = self.inner.writer.clone().lock_owned().await;
        let inner = self.inner.clone();
        blocking(move || {
            let db = writer.as_ref().ok_or(StoreError::Closed)?;
            act(db).map_err(|error| error.at(&inner.path))
        })
        .await
    }
}

impl Inner {
    fn read<T>(&self, ask: impl Fn(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let db = match self.idle_reader() {
            Some(db) => db,
            None => wait::patiently(|| file::open_to_read(&self.path))?,
        };
        let answer = wait::read(&db, ask);
        self.idle().push((thread::current().id(), db));
        answer
    }

    /// The connection that this thread used last, or any if there may be no more of them. What one thread has allocated
    /// and another frees makes the two wait for each other, and a connection allocates and frees all the time.
    fn idle_reader(&self) -> Option<Connection> {
        let mut idle = self.idle();
        let here = thread::current().id();
        let place = match idle.iter().rposition(|(thread, _)| *thread == here) {
            Some(place) => place,
            None => {
                // Whoever reads now has a connection or is about to take one.
                let reading = READERS as usize - self.readers.available_permits();
                if idle.len() + reading <= READERS as usize {
                    return None;
                }
                idle.len().checked_sub(1)?
            }
        };
        Some(idle.swap_remove(place).1)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(ThreadId, Connection)>> {
        // A list of connections is whole even if somebody panicked.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs on a thread where waiting hurts nobody. A panic there is one here.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(StoreError::Closed),
    }
}
