//! Patience: other programs work on the same file, so "it is locked" is a reason to wait and not an answer.

use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::error::StoreError;

/// How long SQLite waits by itself.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long we go on after that: longer than any transaction of ours, short enough for a person to wait.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two tries where SQLite does not wait at all.
const PAUSE: Duration = Duration::from_millis(5);

/// Tries until it is done, fails for another reason, or took too long.
pub(super) fn patiently<T>(
    mut act: impl FnMut() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let begun = Instant::now();
    loop {
        match act() {
            Err(error) if error.is_busy() && begun.elapsed() < PATIENCE => sleep(PAUSE),
            result => return result,
        }
    }
}

/// Runs something in a transaction of its own, which is kept if it succeeds and leaves no trace if it does not.
///
/// A writer says so at once (`BEGIN IMMEDIATE`): a reader that turns into a writer is refused without any waiting.
pub(super) fn write<T>(
    db: &Connection,
    act: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    patiently(|| run(db, "BEGIN IMMEDIATE"))?;
    let undo = Undo(db);
    let result = act(db)?;
    patiently(|| run(db, "COMMIT"))?;
    drop(undo);
    Ok(result)
}

/// Reads in a transaction of its own, so that everything it sees is of one moment.
pub(super) fn read<T>(
    db: &Connection,
    ask: impl Fn(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    patiently(|| {
        run(db, "BEGIN")?;
        let undo = Undo(db);
        let answer = ask(db)?;
        drop(undo);
        Ok(answer)
    })
}

pub(super) fn run(db: &Connection, sql: &str) -> Result<(), StoreError> {
    db.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// Ends a transaction that is still open, also when something panics.
pub(super) struct Undo<'a>(pub(super) &'a Connection);

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // It can only fail if SQLite has rolled back already.
            let _ = run(self.0, "ROLLBACK");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::store::{file, migrate};

    fn names(db: &Connection) -> Result<Vec<String>, StoreError> {
        let mut statement = db.prepare_cached("SELECT name FROM accounts ORDER BY id")?;
        let names = statement.query_map([], |row| row.get("name"))?;
        Ok(names.collect::<Result<_, _>>()?)
    }

    fn add(db: &Connection, name: &str) -> Result<(), StoreError> {
        db.execute("INSERT INTO accounts (name, name_key, password_hash, recovery_hash, is_admin, created_at) VALUES (?1, ?1, '', '', 0, 0)", [name])?;
        Ok(())
    }

    #[test]
    fn what_is_cut_off_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let db = file::open(folder.path(), migrate::MIGRATIONS).unwrap();
        write(&db, |db| add(db, "kept")).unwrap();
        let failed = write(&db, |db| {
            add(db, "lost")?;
            add(db, "kept")
        });
        assert!(failed.is_err());
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            write(&db, |db| {
                add(db, "lost")?;
                panic!("in the middle");
                #[allow(unreachable_code)]
                Ok(())
            })
        }));
        assert!(panicked.is_err());
        write(&db, |db| add(db, "after")).unwrap();
        assert_eq!(names(&db).unwrap(), ["kept", "after"]);
    }

    #[test]
    fn a_reader_that_stays_sees_one_moment_and_holds_up_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let db = file::open(folder.path(), migrate::MIGRATIONS).unwrap();
        write(&db, |db| add(db, "first")).unwrap();
        let reader = file::open_to_read(&folder.path().join(file::FILE_NAME)).unwrap();
        reader.execute_batch("BEGIN").unwrap();
        assert_eq!(names(&reader).unwrap(), ["first"]);
        for number in 0..100 {
            write(&db, |db| add(db, &number.to_string())).unwrap();
        }
        assert_eq!(names(&reader).unwrap(), ["first"]);
        reader.execute_batch("ROLLBACK").unwrap();
        file::checkpoint(&db).unwrap();
        assert_eq!(names(&reader).unwrap().len(), 101);
        assert!(add(&reader, "a reader cannot write").is_err());
    }

    #[test]
    fn a_lock_of_another_program_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let mut db = file::open(folder.path(), migrate::MIGRATIONS).unwrap();
        let other = file::open(folder.path(), migrate::MIGRATIONS).unwrap();
        let (refused, was_refused) = mpsc::channel();
        let refuse = move |_tries| {
            // Nobody listens any more once the lock is gone.
            let _ = refused.send(());
            false
        };
        db.busy_handler(Some(refuse)).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                was_refused.recv().unwrap();
                other.execute_batch("COMMIT").unwrap();
            });
            write(&db, |db| add(db, "patient")).unwrap();
        });
    }
}
