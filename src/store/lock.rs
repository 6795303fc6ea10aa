//! One service for each folder.
//!
//! The lock is the operating system's, on the folder itself: it goes with the program, however that ends, and leaves
//! nothing behind. Commands that only read or write the database do not need it.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::error::StoreError;
use super::file;

/// Held by whoever serves a folder, or puts another database there. Dropping it lets the next one in.
#[derive(Debug)]
pub struct ServeLock {
    _folder: File,
}

impl ServeLock {
    /// Takes the lock of a folder, which is created if it is missing. Does not wait.
    pub fn take(folder: &Path) -> Result<ServeLock, StoreError> {
        let io = |error| StoreError::io(folder, error);
        file::make_folder(folder)?;
        let opened = File::open(folder).map_err(io)?;
        match opened.try_lock() {
            Ok(()) => Ok(ServeLock { _folder: opened }),
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
        assert!(std::fs::read_dir(&place).unwrap().next().is_none());
    }
}
