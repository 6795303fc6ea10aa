//! Writes that wait for the disk together.
//!
//! Being on the disk takes far longer than being written, and it takes no longer for sixty writes than for one. So
//! writes queue, and whoever gets hold of the writer's connection runs all that wait, in one transaction, and answers
//! each when that is on the disk. Each stands alone all the same: it is kept as a whole or leaves no trace, and one that
//! fails or panics takes nothing from the others. If the group as a whole is lost (no room, a broken disk), each write
//! of it is tried once more by itself, so that only the one that is too much is refused.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::error::StoreError;
use super::wait::{self, Undo, patiently, run};

/// A group takes in no more writes after so long: those that are done want to be answered.
const LONG_ENOUGH: Duration = Duration::from_millis(20);

/// Writes that wait for the connection.
#[derive(Default)]
pub(super) struct Queue(Mutex<VecDeque<Box<dyn Write>>>);

/// The answer to a write, or the panic that it ended with.
pub(super) type Answer<T> = Result<Result<T, StoreError>, Box<dyn Any + Send>>;

/// A write that was answered. It goes back to whoever made it, because what one thread has allocated and another frees
/// makes the two wait for each other.
pub(super) struct Done<T, F>(Box<Waiting<T, F>>);

impl<T, F> Done<T, F> {
    pub(super) fn into_answer(self) -> Answer<T> {
        self.0.result.unwrap_or(Ok(Err(StoreError::Closed)))
    }
}

impl Queue {
    /// Adds a write, which is answered when it is on the disk. If nobody waits for the answer any more, it is left out.
    pub(super) fn add<T, F>(&self, act: F) -> oneshot::Receiver<Done<T, F>>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let (caller, answer) = oneshot::channel();
        self.lock().push_back(Box::new(Waiting {
            act,
            result: None,
            caller: Some(caller),
        }));
        answer
    }

    /// Runs the writes that wait, at least one of them, and answers them.
    pub(super) fn run(&self, db: &Connection, path: &Path) {
        let begun = Instant::now();
        let mut group: Vec<Box<dyn Write>> = Vec::new();
        loop {
            match self.attempt(db, &mut group, begun) {
                Attempt::Kept => break,
                Attempt::Refused(place) => {
                    group.remove(place).answer(path);
                    if group.is_empty() {
                        return;
                    }
                }
                Attempt::Lost => {
                    group.iter_mut().for_each(|write| write.run_alone(db));
                    break;
                }
                Attempt::NotBegun(error) => {
                    // The others try for themselves, as they would if they had come later.
                    let first = match group.is_empty() {
                        true => self.next(),
                        false => Some(group.remove(0)),
                    };
                    if let Some(write) = first {
                        write.refuse(error.at(path));
                    }
                    self.lock().extend(group);
                    return;
                }
            }
        }
        group.into_iter().for_each(|write| write.answer(path));
    }

    /// Runs a group in one transaction, and takes in those who wait while there is time.
    ///
    /// There is no way back for one write alone (a savepoint copies every page that is written after it), so one that
    /// fails undoes the others as well, and they are run again without it. That is seldom.
    fn attempt(&self, db: &Connection, group: &mut Vec<Box<dyn Write>>, begun: Instant) -> Attempt {
        if let Err(error) = patiently(|| run(db, "BEGIN IMMEDIATE")) {
            return Attempt::NotBegun(error);
        }
        let _undo = Undo(db);
        let mut place = 0;
        loop {
            if place == group.len() {
                let is_full = !group.is_empty() && begun.elapsed() >= LONG_ENOUGH;
                let next = if is_full { None } else { self.next() };
                match next {
                    Some(write) => group.push(write),
                    None => break,
                }
            }
            let is_kept = group[place].run(db);
            // SQLite itself ends a transaction for which there is no room.
            if db.is_autocommit() && group.len() > 1 {
                return Attempt::Lost;
            }
            if !is_kept {
                return Attempt::Refused(place);
            }
            place += 1;
        }
        match patiently(|| run(db, "COMMIT")) {
            Ok(()) => Attempt::Kept,
            Err(_) => Attempt::Lost,
        }
    }

    /// The first for whose answer somebody waits.
    fn next(&self) -> Option<Box<dyn Write>> {
        let mut waiting = self.lock();
        loop {
            let write = waiting.pop_front()?;
            if write.is_wanted() {
                return Some(write);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Box<dyn Write>>> {
        // No code of others runs while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came of running a group.
enum Attempt {
    /// All of it is on the disk.
    Kept,
    /// The write at this place failed, and nothing is left of any.
    Refused(usize),
    /// Nothing is left of it, and not because of what one of them answered.
    Lost,
    /// The file could not be had.
    NotBegun(StoreError),
}

/// A write in the queue, whatever it answers.
trait Write: Send {
    fn is_wanted(&self) -> bool;
    /// Within a transaction. Whether it succeeded.
    fn run(&mut self, db: &Connection) -> bool;
    /// In a transaction of its own.
    fn run_alone(&mut self, db: &Connection);
    fn is_kept(&self) -> bool;
    fn answer(self: Box<Self>, path: &Path);
    fn refuse(self: Box<Self>, error: StoreError);
}

struct Waiting<T, F> {
    act: F,
    result: Option<Answer<T>>,
    /// None once it is answered.
    caller: Option<oneshot::Sender<Done<T, F>>>,
}

impl<T, F> Write for Waiting<T, F>
where
    T: Send,
    F: Fn(&Connection) -> Result<T, StoreError> + Send,
{
    fn is_wanted(&self) -> bool {
        self.caller
            .as_ref()
            .is_some_and(|caller| !caller.is_closed())
    }

    fn run(&mut self, db: &Connection) -> bool {
        self.result = Some(catch_unwind(AssertUnwindSafe(|| (self.act)(db))));
        self.is_kept()
    }

    fn run_alone(&mut self, db: &Connection) {
        let act = AssertUnwindSafe(|| wait::write(db, &self.act));
        self.result = Some(catch_unwind(act));
    }

    fn is_kept(&self) -> bool {
        matches!(self.result, Some(Ok(Ok(_))))
    }

    fn answer(mut self: Box<Self>, path: &Path) {
        let answer = self.result.take();
        self.result =
            answer.map(|answer| answer.map(|result| result.map_err(|error| error.at(path))));
        if let Some(caller) = self.caller.take() {
            // Whoever has gone meanwhile finds what was written.
            let _ = caller.send(Done(self));
        }
    }

    fn refuse(mut self: Box<Self>, error: StoreError) {
        self.result = Some(Ok(Err(error)));
        if let Some(caller) = self.caller.take() {
            let _ = caller.send(Done(self));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::{file, migrate};

    fn add(db: &Connection, name: &str) -> Result<(), StoreError> {
        db.execute("INSERT INTO accounts (name, name_key, password_hash, recovery_hash, is_admin, created_at) VALUES (?1, ?1, '', '', 0, 0)", [name])?;
        Ok(())
    }

    fn names(db: &Connection) -> Vec<String> {
        let mut statement = db.prepare("SELECT name FROM accounts ORDER BY id").unwrap();
        let names = statement.query_map([], |row| row.get("name")).unwrap();
        names.collect::<Result<_, _>>().unwrap()
    }

    fn adding(
        queue: &Queue,
        name: &'static str,
    ) -> oneshot::Receiver<Done<(), impl Fn(&Connection) -> Result<(), StoreError> + use<>>> {
        queue.add(move |db| add(db, name))
    }

    fn is_kept<F>(mut done: oneshot::Receiver<Done<(), F>>) -> bool {
        matches!(done.try_recv().map(Done::into_answer), Ok(Ok(Ok(()))))
    }

    #[test]
    fn those_who_wait_share_a_transaction_and_hear_of_it_when_it_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let db = file::open(folder.path(), migrate::MIGRATIONS).unwrap();
        let path = folder.path().join(file::FILE_NAME);
        let queue = Queue::default();
        let first = Arc::new(Mutex::new(adding(&queue, "first")));
        let heard = first.clone();
        let reader = file::open_to_read(&path).unwrap();
        let second = queue.add(move |db| {
            assert_eq!(names(db), ["first"]);
            assert!(names(&reader).is_empty() && heard.lock().unwrap().is_empty());
            add(db, "second")
        });
        queue.run(&db, &path);
        assert!(is_kept(second));
        assert!(is_kept(
            Arc::into_inner(first).unwrap().into_inner().unwrap()
        ));
        assert_eq!(names(&db), ["first", "second"]);
        assert!(db.is_autocommit());
    }

    #[test]
    fn one_that_fails_or_panics_or_is_not_wanted_takes_nothing_from_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let db = file::open(folder.path(), migrate::MIGRATIONS).unwrap();
        let queue = Queue::default();
        let failing = |place: &'static str| {
            queue.add(move |db| {
                add(db, place)?;
                Err::<(), _>(StoreError::NotFound(place))
            })
        };
        let at_first = failing("fails at first");
        let kept = adding(&queue, "kept");
        let later = failing("fails later");
        let mut panicking = queue.add(|db| {
            add(db, "panics")?;
            panic!("in the middle");
            #[allow(unreachable_code)]
            Ok(())
        });
        drop(adding(&queue, "not wanted"));
        let last = adding(&queue, "last");
        while !queue.lock().is_empty() {
            queue.run(&db, folder.path());
        }
        assert!(is_kept(kept) && is_kept(last));
        assert!(!is_kept(at_first) && !is_kept(later));
        assert!(matches!(
            panicking.try_recv().map(Done::into_answer),
            Ok(Err(_))
        ));
        assert_eq!(names(&db), ["kept", "last"]);
        queue.run(&db, folder.path());
        assert!(db.is_autocommit(), "nothing to do is no trouble");
    }

    #[test]
    fn if_all_is_lost_because_of_one_the_others_are_written_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let db = file::open(folder.path(), migrate::MIGRATIONS).unwrap();
        let queue = Queue::default();
        let before = adding(&queue, "before");
        // What SQLite does by itself when the disk is full.
        let too_much = queue.add(|db| {
            add(db, "too much")?;
            db.execute_batch("ROLLBACK")?;
            Err::<(), _>(StoreError::NotFound("room"))
        });
        let after = adding(&queue, "after");
        while !queue.lock().is_empty() {
            queue.run(&db, folder.path());
        }
        assert!(is_kept(before) && !is_kept(too_much) && is_kept(after));
        assert_eq!(names(&db), ["before", "after"]);
    }
}
