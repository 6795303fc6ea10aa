//! Why the store could not do what it was asked: one sentence each, with the file and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why something could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file is something else.
    #[error("{} is not a Sitebell database; move it away, or choose another folder with --data", .path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// A newer version has written it.
    #[error(
        "{} was written by a newer Sitebell (its version is {found}, this one knows {supported}); use the newer one",
        .path.display()
    )]
    TooNew {
        /// The file.
        path: PathBuf,
        /// The version of the database.
        found: u32,
        /// The newest version that this program knows.
        supported: u32,
    },
    /// The file or its folder may not be read or written.
    #[error(
        "{} may not be read or written; let the user that runs sitebell own it and its folder",
        .path.display()
    )]
    NoPermission {
        /// The file or folder.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("there is no space left for {}; free some", .path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("{} could not be used: {}", .path.display(), advice(.source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// A file is in the way.
    #[error("{} exists already; choose another name", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Others kept it locked for longer than anyone should.
    #[error("{} is in use by another program; stop that one, or try again later", .path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged.
    #[error("{} is damaged; restore a backup that is whole (sitebell restore <file>)", .path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
    },
    /// The file is to be restored and is something else.
    #[error("{} is not a backup of Sitebell; name a file that sitebell backup has made", .path.display())]
    NotABackup {
        /// The file.
        path: PathBuf,
    },
    /// There is no database where one is needed.
    #[error("there is no Sitebell database in {}; name its folder with --data, or make one with sitebell account add", .folder.display())]
    Missing {
        /// The folder.
        folder: PathBuf,
    },
    /// Only one may serve a folder, and nobody may put another database there meanwhile.
    #[error("another sitebell serves {}; stop it first", .folder.display())]
    Served {
        /// The folder.
        folder: PathBuf,
    },
    /// The disk failed, or something else between us and the file.
    #[error("{} could not be read or written ({source}); see whether the disk is well, and try again", .path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The name belongs to somebody already.
    #[error("the name is taken; choose another one")]
    Taken,
    /// The site, collection, check or account is not there (any more).
    #[error("there is no such {0}; it may have been removed")]
    NotFound(&'static str),
    /// A value that this version cannot read.
    #[error(
        "the database holds a “{0}” that cannot be read; restore a backup (sitebell restore <file>)"
    )]
    Unreadable(&'static str),
    /// The store was closed, or the program is about to end.
    #[error("the database was closed; start sitebell again")]
    Closed,
    /// Anything else that SQLite says.
    #[error(
        "the database could not be used ({0}); if trying again does not help, restore a backup (sitebell restore <file>)"
    )]
    Sqlite(#[from] rusqlite::Error),
}

impl StoreError {
    /// The same with the name of the file, and said in our words where we have some.
    pub(super) fn at(self, path: &Path) -> StoreError {
        let StoreError::Sqlite(error) = self else {
            return self;
        };
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => StoreError::NotADatabase { path },
            Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
                StoreError::NoPermission { path }
            }
            Some(ErrorCode::SystemIoFailure) => StoreError::Disk {
                path,
                source: error,
            },
            _ => StoreError::Sqlite(error),
        }
    }

    /// What the operating system said about a file.
    pub(super) fn io(path: &Path, source: io::Error) -> StoreError {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::NoPermission { path }
            }
            io::ErrorKind::StorageFull => StoreError::Full { path },
            io::ErrorKind::AlreadyExists => StoreError::Exists { path },
            _ => StoreError::Io { path, source },
        }
    }

    /// The same about the database, where something went wrong while it was copied to another file.
    pub(super) fn of_source(self, path: &Path) -> StoreError {
        let path = path.to_owned();
        match self {
            StoreError::Corrupt { .. } => StoreError::Corrupt { path },
            StoreError::NotADatabase { .. } => StoreError::NotADatabase { path },
            StoreError::Busy { .. } => StoreError::Busy { path },
            error => error,
        }
    }

    /// Whether it is about the file or the disk, and not about what was to be kept or read: then everything fails.
    pub fn is_of_the_file(&self) -> bool {
        !matches!(
            self,
            StoreError::Taken
                | StoreError::NotFound(_)
                | StoreError::Unreadable(_)
                | StoreError::Sqlite(_)
        )
    }

    /// Whether waiting may help.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self, StoreError::Sqlite(error) if matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        ))
    }

    /// Whether a row stands in the way that must be the only one of its kind.
    pub(super) fn is_duplicate(&self) -> bool {
        matches!(self, StoreError::Sqlite(rusqlite::Error::SqliteFailure(error, _))
            if error.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE)
    }

    /// Whether a row is missing that another one names.
    pub(super) fn is_orphan(&self) -> bool {
        matches!(self, StoreError::Sqlite(rusqlite::Error::SqliteFailure(error, _))
            if error.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY)
    }
}

/// What the operating system said, and what to do about it.
fn advice(error: &io::Error) -> String {
    let sentence = match error.kind() {
        io::ErrorKind::NotFound => "it or its folder is not there; see whether the name is right",
        io::ErrorKind::NotADirectory => {
            "it is not a folder, or is below a file; choose another one"
        }
        io::ErrorKind::IsADirectory => "it is a folder; name a file",
        io::ErrorKind::InvalidFilename => "the name cannot be used; choose another one",
        _ => return format!("{error}; see to that, or choose another place"),
    };
    sentence.to_owned()
}
