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

fn run(db: &Connection, sql: &str) -> Result<(), StoreError> {
    db.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// Ends a transaction that is still open, also when something panics.
struct Undo<'a>(&'a Connection);

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // It can only fail if SQLite has rolled back already.
            let _ = run(self.0, "ROLLBACK");
        }
    }
}
