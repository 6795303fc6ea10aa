//! Backups, and getting them back.
//!
//! A backup is made by SQLite itself while the service runs; copying the file by hand would miss what is in the log. A
//! file that is to be restored is examined to the last page before anything is touched.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use super::file::{self, FILE_NAME, beside};
use super::{ServeLock, Store, StoreError, blocking};

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

    /// The same from outside: copies the database in a folder, beside a service that uses it or without one. It need not
    /// be of this version and stays as it is; without a database nothing happens.
    pub async fn back_up_folder(folder: &Path, file: &Path) -> Result<(), StoreError> {
        let (folder, file) = (folder.to_owned(), file.to_owned());
        blocking(move || {
            if !file::is_there(&folder)? {
                return Err(StoreError::Missing { folder });
            }
            if fs::symlink_metadata(&file).is_ok() {
                return Err(StoreError::Exists { path: file });
            }
            let db = file::open_to_copy(&folder)?;
            file::copy_into(&db, &file, |_| Ok(true))
        })
        .await
    }

    /// Puts a backup in the place of the database in a folder, while nobody serves or uses that. What was there is kept
    /// beside it as `….before-restore-<time>`, and its path is returned.
    pub fn restore(
        file: &Path,
        folder: &Path,
        now: DateTime<Utc>,
    ) -> Result<Option<PathBuf>, StoreError> {
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
        let _lock = ServeLock::take(folder)?;
        let target = folder.join(FILE_NAME);
        let ready = folder.join(format!("{FILE_NAME}.restored"));
        file::copy_into(&backup, &ready, |copy| {
            rename_instance(copy)?;
            Ok(true)
        })?;
        file::hand_over(&ready);
        let done = move_aside(&target, now).and_then(|aside| {
            let renamed = fs::rename(&ready, &target);
            renamed.map_err(|error| StoreError::io(&target, error))?;
            Ok(aside)
        });
        if done.is_err() {
            let _ = fs::remove_file(&ready);
        }
        file::sync_folder_of(&target);
        done
    }
}

/// What was found after the backup was made is lost, but feed readers have seen it. So that none of its ids is made once
/// more, for something else, ids are made under another name from now on; those that there are stay as they are.
fn rename_instance(copy: &Path) -> Result<(), StoreError> {
    let db = Connection::open(copy)?;
    db.execute("UPDATE instance SET name = lower(hex(randomblob(8)))", [])?;
    db.close().map_err(|(_, error)| StoreError::from(error))
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
fn move_aside(target: &Path, now: DateTime<Utc>) -> Result<Option<PathBuf>, StoreError> {
    if fs::symlink_metadata(target).is_err() {
        return Ok(None);
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
    Ok(Some(aside))
}
