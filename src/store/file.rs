//! The file: what it may be, how it is opened, how it is copied.
//!
//! A file that is not ours, is newer than this program, or is damaged is refused before anything is written to it. What
//! is made here is for its owner only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::error::StoreError;
use super::migrate::{MIGRATIONS, count, migrate};
use super::wait::{BUSY_TIMEOUT, patiently};

/// The name of the file in its folder.
pub(super) const FILE_NAME: &str = "sitebell.sqlite3";
/// "Bell": how a file says that it is ours.
pub(super) const APPLICATION_ID: u32 = 0x4265_6C6C;
/// How often a file that seems cut off is looked at again, which a program that writes it needs far less than.
const LOOKS: u32 = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// Statements that are kept prepared; more than there are.
const STATEMENTS: usize = 64;

/// The first hundred bytes of a database, as far as they matter: reading them ourselves leaves no trace.
pub(super) struct Header {
    pub version: u32,
}

/// Looks at a file without touching it. None if there is nothing in it yet.
///
/// Nothing is locked, so another program may be in the middle of making it longer: only a file that stays cut off is.
pub(super) fn examine(path: &Path, supported: u32) -> Result<Option<Header>, StoreError> {
    for _ in 0..LOOKS {
        match look(path, supported) {
            Err(StoreError::Corrupt { .. }) => sleep(BETWEEN_LOOKS),
            result => return result,
        }
    }
    look(path, supported)
}

fn look(path: &Path, supported: u32) -> Result<Option<Header>, StoreError> {
    let io = |error| StoreError::io(path, error);
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    let length = file.metadata().map_err(io)?.len();
    if length == 0 {
        return Ok(None);
    }
    let not_ours = || StoreError::NotADatabase {
        path: path.to_owned(),
    };
    let mut header = [0; 100];
    (file.read_exact(&mut header)).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => not_ours(),
        _ => io(error),
    })?;
    let number = |at: usize| {
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    if !header.starts_with(b"SQLite format 3\0") || number(68) != APPLICATION_ID {
        return Err(not_ours());
    }
    let version = number(60);
    if version > supported {
        return Err(StoreError::TooNew {
            path: path.to_owned(),
            found: version,
            supported,
        });
    }
    let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    // While there is a log of either kind, the missing pages may be in it, or the file is about to be put right.
    let has_log = ["-wal", "-journal"]
        .iter()
        .any(|ending| fs::metadata(beside(path, ending)).is_ok_and(|log| log.len() > 0));
    let is_cut_off = number(24) == number(92) && u64::from(number(28)) * page_bytes > length;
    if is_cut_off && !has_log {
        return Err(StoreError::Corrupt {
            path: path.to_owned(),
        });
    }
    Ok(Some(Header { version }))
}

/// Opens or creates the database for writing, with the current schema.
pub(super) fn open(folder: &Path, migrations: &[&str]) -> Result<Connection, StoreError> {
    make_folder(folder)?;
    let path = folder.join(FILE_NAME);
    let is_new = examine(&path, count(migrations))?.is_none();
    make_private(&path)?;
    if is_new {
        hand_over(&path);
    }
    let opened = || -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(&path, flags)?;
        prepare(&db)?;
        db.execute_batch(
            "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA synchronous = FULL;",
        )?;
        migrate(&db, &path, migrations)?;
        // After the schema, so that the first page always says whose file this is.
        patiently(|| Ok(db.execute_batch("PRAGMA journal_mode = WAL")?))?;
        // Small, because memory is scarcer than reading from the system's own cache is slow.
        db.execute_batch(
            "PRAGMA cache_size = -2048; PRAGMA mmap_size = 0;
             PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 16777216;",
        )?;
        Ok(db)
    };
    opened().map_err(|error| error.at(&path))
}

/// Opens a database that is there, for reading only.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    prepare(&db)?;
    db.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA cache_size = -512; PRAGMA mmap_size = 0;",
    )?;
    Ok(db)
}

/// Whether there is a database in a folder; one that this program cannot use is refused.
pub(super) fn is_there(folder: &Path) -> Result<bool, StoreError> {
    let header = examine(&folder.join(FILE_NAME), count(MIGRATIONS))?;
    Ok(header.is_some_and(|header| header.version > 0))
}

/// Opens the database that is in a folder, in whatever version, to copy it.
///
/// Not for reading only: the last one to close a database then clears its log away. Nothing else is written.
pub(super) fn open_to_copy(folder: &Path) -> Result<Connection, StoreError> {
    let path = folder.join(FILE_NAME);
    let opened = || -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(&path, flags)?;
        prepare(&db)?;
        db.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cache_size = -512;")?;
        Ok(db)
    };
    opened().map_err(|error| error.at(&path))
}

/// What every connection needs.
fn prepare(db: &Connection) -> Result<(), StoreError> {
    db.busy_timeout(BUSY_TIMEOUT)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    // Otherwise SQLite plans a prepared statement anew whenever a value in it changes, which takes as long as the rest.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Opens a file that somebody calls a backup, if it is one that this program can use.
pub(super) fn open_backup(path: &Path) -> Result<Connection, StoreError> {
    let not_ours = || StoreError::NotABackup {
        path: path.to_owned(),
    };
    match examine(path, count(MIGRATIONS)) {
        Ok(Some(header)) if header.version > 0 => open_to_read(path),
        Ok(_) | Err(StoreError::NotADatabase { .. }) => Err(not_ours()),
        Err(error) => Err(error),
    }
}

/// Writes a copy under a passing name and gives it its own when it is whole and pleases.
pub(super) fn copy_into(
    db: &Connection,
    file: &Path,
    pleases: impl Fn(&Path) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let draft = beside(file, ".part");
    let io = |error| StoreError::io(file, error);
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
        _ => create(&draft).map_err(io)?,
    }
    let made = || -> Result<(), StoreError> {
        let name = draft
            .to_str()
            .ok_or_else(|| StoreError::io(&draft, io::ErrorKind::InvalidFilename.into()))?;
        patiently(|| Ok(db.execute("VACUUM INTO ?1", [name])?))?;
        (File::open(&draft).and_then(|copy| copy.sync_all())).map_err(io)?;
        if pleases(&draft)? {
            fs::rename(&draft, file).map_err(io)?;
            sync_folder_of(file);
        }
        Ok(())
    };
    let source = PathBuf::from(db.path().unwrap_or_default());
    let result = made().map_err(|error| error.at(file).of_source(&source));
    // Gone already if all went well.
    let _ = fs::remove_file(&draft);
    result
}

/// Moves what the log holds into the file, as far as readers allow.
pub(super) fn checkpoint(db: &Connection) -> Result<(), StoreError> {
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

/// The path with something added to the file's name.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Makes a rename last through a power cut, where folders can be synced.
pub(super) fn sync_folder_of(path: &Path) {
    if let Some(folder) = path.parent().and_then(|folder| File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
}

pub(super) fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let is_new = fs::symlink_metadata(folder).is_err();
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let made = (builder.create(folder)).map_err(|error| match error.kind() {
        // "Exists already" would be no help: something else than a folder is there.
        io::ErrorKind::AlreadyExists => StoreError::Io {
            path: folder.to_owned(),
            source: io::ErrorKind::NotADirectory.into(),
        },
        _ => StoreError::io(folder, error),
    });
    if is_new && made.is_ok() {
        hand_over(folder);
    }
    made
}

/// Creates an empty file for its owner only, because the hashes of passwords will be in it. Leaves an existing one.
pub(super) fn make_private(path: &Path) -> Result<(), StoreError> {
    create(path).map_err(|error| StoreError::io(path, error))
}

fn create(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Gives what was just made to the owner of the folder that it is in, if we may: an operator who runs a command as
/// root must not leave files that the service cannot open. SQLite does the same with its log.
pub(super) fn hand_over(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, lchown};
        // A bare name is in the working directory.
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = fs::metadata(folder.unwrap_or(Path::new(".")));
        let own = fs::symlink_metadata(path);
        if let (Ok(own), Ok(folder)) = (own, folder)
            && own.uid() != folder.uid()
        {
            let _ = lchown(path, Some(folder.uid()), Some(folder.gid()));
        }
    }
    #[cfg(not(unix))]
    let _ = path;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::migrate::MIGRATIONS;

    #[test]
    fn the_file_is_as_safe_as_promised() {
        let folder = tempfile::tempdir().unwrap();
        let db = open(folder.path(), MIGRATIONS).unwrap();
        for (pragma, expected) in [
            ("synchronous", 2),
            ("foreign_keys", 1),
            ("busy_timeout", 5000),
        ] {
            let value: i64 = db
                .pragma_query_value(None, pragma, |row| row.get(0))
                .unwrap();
            assert_eq!(value, expected, "{pragma}");
        }
        let mode: String = db
            .pragma_query_value(None, "journal_mode", |row| row.get(0))
            .unwrap();
        assert_eq!(mode, "wal");
        assert!(
            rusqlite::version_number() >= 3_051_003,
            "older ones can damage a log"
        );
        assert!(db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND sql NOT LIKE '%STRICT%'").unwrap().query([]).unwrap().next().unwrap().is_none());
    }
}
