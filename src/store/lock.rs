//! One service for each folder.
//!
//! The lock is the operating system's: it goes with the program, however that ends, and the file that is left behind
//! means nothing. Commands that only read or write the database do not need it.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use super::error::StoreError;
use super::file;

/// The name of the locked file in the folder.
const FILE_NAME: &str = "serve.lock";

/// Held by whoever serves a folder, or puts another database there. Dropping it lets the next one in.
#[derive(Debug)]
pub struct ServeLock {
    _file: File,
}

impl ServeLock {
    /// Takes the lock of a folder, which is created if it is missing. Does not wait.
    pub fn take(folder: &Path) -> Result<ServeLock, StoreError> {
        file::make_folder(folder)?;
        let path = folder.join(FILE_NAME);
        let is_new = std::fs::symlink_metadata(&path).is_err();
        file::make_private(&path)?;
        if is_new {
            file::hand_over(&path);
        }
        let io = |error| StoreError::io(&path, error);
        let file = OpenOptions::new().write(true).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => Ok(ServeLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Served {
                folder: folder.to_owned(),
            }),
            Err(TryLockError::Error(error)) => Err(io(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_served_once() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("new");
        let lock = ServeLock::take(&place).unwrap();
        let second = ServeLock::take(&place).unwrap_err();
        let sentence = format!("another sitebell serves {}; stop it first", place.display());
        assert_eq!(second.to_string(), sentence);
        drop(lock);
        ServeLock::take(&place).unwrap();
        assert!(ServeLock::take(&place.join("serve.lock")).is_err());
    }
}
