//! Backups, and getting them back.
//!
//! A backup is made by SQLite itself while the service runs; copying the file by hand would miss what is in the log. A
//! file that is to be restored is examined to the last page before anything is touched.

use std::fs;
use std::io;
use std::path::Path;

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use super::file::{self, FILE_NAME, beside};
use super::{Store, StoreError, blocking};

impl Store {
    /// Writes a consistent copy of everything to a new file, whatever is going on meanwhile.
    pub async fn back_up(&self, file: &Path) -> Result<(), StoreError> {
        let (path, file) = (self.inner.path.clone(), file.to_owned());
        blocking(move || {
            if fs::symlink_metadata(&file).is_ok() {
                return Err(StoreError::Exists { path: file });
            }
            // A connection of its own: neither writers nor readers wait for it.
            let db = file::open_to_read(&path).map_err(|error| error.at(&path))?;
            file::copy_into(&db, &file, |_| Ok(true))
        })
        .await
    }

    /// Puts a backup in the place of the database in a folder, while nobody uses that. What was there is kept beside it
    /// as `….before-restore-<time>`.
    pub fn restore(file: &Path, folder: &Path, now: DateTime<Utc>) -> Result<(), StoreError> {
        let io = |error| StoreError::io(file, error);
        fs::metadata(file).map_err(io)?;
        let backup = file::open_backup(file).map_err(|error| error.at(file))?;
        is_whole(&backup)
            .map_err(|error| error.at(file))
            .and_then(|is_whole| match is_whole {
                true => Ok(()),
                false => Err(StoreError::Corrupt {
                    path: file.to_owned(),
                }),
            })?;
        file::make_folder(folder)?;
        let target = folder.join(FILE_NAME);
        let ready = folder.join(format!("{FILE_NAME}.restored"));
        file::copy_into(&backup, &ready, |_| Ok(true))?;
        let done = move_aside(&target, now).and_then(|()| {
            fs::rename(&ready, &target).map_err(|error| StoreError::io(&target, error))
        });
        if done.is_err() {
            let _ = fs::remove_file(&ready);
        }
        file::sync_folder_of(&target);
        done
    }
}

fn is_whole(db: &Connection) -> Result<bool, StoreError> {
    let verdict: String = db.query_row(
        "SELECT integrity_check FROM pragma_integrity_check LIMIT 1",
        [],
        |row| row.get("integrity_check"),
    )?;
    let has_orphans = db
        .prepare("SELECT 1 FROM pragma_foreign_key_check")?
        .exists([])?;
    Ok(verdict == "ok" && !has_orphans)
}

/// Keeps what is in the way under another name. Refused while another program uses it.
fn move_aside(target: &Path, now: DateTime<Utc>) -> Result<(), StoreError> {
    if fs::symlink_metadata(target).is_err() {
        return Ok(());
    }
    // Leaving the mode with a log needs the file for itself alone, and leaves a single file. A broken database cannot
    // do that; then its log goes with it.
    let alone =
        Connection::open(target).and_then(|db| db.execute_batch("PRAGMA journal_mode = DELETE"));
    if let Err(error) = alone.map_err(StoreError::from)
        && error.is_busy()
    {
        return Err(error.at(target));
    }
    let aside = beside(
        target,
        &now.format(".before-restore-%Y%m%dT%H%M%SZ").to_string(),
    );
    if fs::symlink_metadata(&aside).is_ok() {
        return Err(StoreError::Exists { path: aside });
    }
    for ending in ["", "-wal", "-shm", "-journal"] {
        match fs::rename(beside(target, ending), beside(&aside, ending)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io(target, error));
            }
            _ => {}
        }
    }
    Ok(())
}
