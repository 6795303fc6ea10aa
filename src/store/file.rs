//! The file: what it may be, how it is opened, and how an older one becomes a current one.
//!
//! A file that is not ours, is newer than this program, or is damaged is refused before anything is written to it. The
//! rule for changing the schema: append a file to [`MIGRATIONS`], and never edit one that was released.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::error::StoreError;
use super::wait::{BUSY_TIMEOUT, patiently, write};

/// The name of the file in its folder.
pub(super) const FILE_NAME: &str = "sitebell.sqlite3";
/// "Bell": how a file says that it is ours.
const APPLICATION_ID: u32 = 0x4265_6C6C;
/// Every step from nothing to the current schema.
pub(super) const MIGRATIONS: &[&str] = &[include_str!(
    "../../migrations/0001_sites_changes_accounts.sql"
)];
/// Statements that are kept prepared; more than there are.
const STATEMENTS: usize = 64;

/// The first hundred bytes of a database, as far as they matter: reading them ourselves leaves no trace.
struct Header {
    version: u32,
}

/// Looks at a file without touching it. None if there is nothing in it yet.
fn examine(path: &Path, supported: u32) -> Result<Option<Header>, StoreError> {
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
    // While a write-ahead log is there, the missing pages may be in it.
    let has_log = fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0);
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
    examine(&path, count(migrations))?;
    make_private(&path)?;
    let opened = || -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(&path, flags)?;
        db.busy_timeout(BUSY_TIMEOUT)?;
        db.set_prepared_statement_cache_capacity(STATEMENTS);
        db.execute_batch(
            "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA synchronous = FULL;",
        )?;
        migrate(&db, &path, migrations)?;
        // After the schema, so that the first page always says whose file this is.
        patiently(|| Ok(db.execute_batch("PRAGMA journal_mode = WAL")?))?;
        // Small, because memory is scarcer than reading from the system's own cache is slow.
        db.execute_batch(
            "PRAGMA cache_size = -2048; PRAGMA mmap_size = 0; PRAGMA journal_size_limit = 8388608;",
        )?;
        Ok(db)
    };
    opened().map_err(|error| error.at(&path))
}

/// Opens a database that is there, for reading only.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    db.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA cache_size = -512; PRAGMA mmap_size = 0;",
    )?;
    Ok(db)
}

/// Opens a file that somebody calls a backup, if it is one that this program can use.
pub(super) fn open_backup(path: &Path) -> Result<Connection, StoreError> {
    if examine(path, count(MIGRATIONS))?.is_none_or(|header| header.version == 0) {
        return Err(StoreError::NotADatabase {
            path: path.to_owned(),
        });
    }
    open_to_read(path)
}

/// Brings the schema up to date, after a copy was made of what is there.
fn migrate(db: &Connection, path: &Path, migrations: &[&str]) -> Result<(), StoreError> {
    let supported = count(migrations);
    let found = patiently(|| version(db))?;
    if found == supported {
        return Ok(());
    }
    if found > 0 && found < supported {
        keep_copy(db, path, found, supported)?;
    }
    write(db, |db| {
        // Another program may have been faster.
        let found = version(db)?;
        if found > supported {
            return Err(StoreError::TooNew {
                path: path.to_owned(),
                found,
                supported,
            });
        }
        for migration in migrations
            .iter()
            .skip(usize::try_from(found).unwrap_or(usize::MAX))
        {
            db.execute_batch(migration)?;
        }
        db.pragma_update(None, "application_id", APPLICATION_ID)?;
        db.pragma_update(None, "user_version", supported)?;
        Ok(())
    })?;
    // The version belongs into the file itself, where an older program looks for it.
    patiently(|| checkpoint(db))
}

fn version(db: &Connection) -> Result<u32, StoreError> {
    Ok(
        db.query_row("SELECT user_version FROM pragma_user_version", [], |row| {
            row.get("user_version")
        })?,
    )
}

/// Copies the database to `….before-v<N>` while it is still of the version that was found.
fn keep_copy(db: &Connection, path: &Path, found: u32, supported: u32) -> Result<(), StoreError> {
    let copy = beside(path, &format!(".before-v{supported}"));
    copy_into(db, &copy, |draft| {
        // Another program that migrates at this moment must not make ours a copy of the new version.
        Ok(examine(draft, supported)?.is_some_and(|header| header.version == found))
    })
}

/// Writes a copy under a passing name and gives it its own when it is whole and pleases.
pub(super) fn copy_into(
    db: &Connection,
    file: &Path,
    pleases: impl Fn(&Path) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let draft = beside(file, ".part");
    let io = |error| StoreError::io(&draft, error);
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
        _ => make_private(&draft)?,
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
    let result = made().map_err(|error| error.at(file));
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
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    (builder.create(folder)).map_err(|error| match error.kind() {
        // "Exists already" would be no help: something else than a folder is there.
        io::ErrorKind::AlreadyExists => StoreError::Io {
            path: folder.to_owned(),
            source: io::ErrorKind::NotADirectory.into(),
        },
        _ => StoreError::io(folder, error),
    })
}

/// Creates an empty file for its owner only, because the hashes of passwords will be in it. Leaves an existing one.
fn make_private(path: &Path) -> Result<(), StoreError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
        .open(path)
        .map(drop)
        .map_err(|error| StoreError::io(path, error))
}

fn count(migrations: &[&str]) -> u32 {
    u32::try_from(migrations.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: &str = "CREATE TABLE more (id INTEGER PRIMARY KEY) STRICT;";

    #[test]
    fn a_migration_keeps_a_copy_of_what_was() {
        let folder = tempfile::tempdir().unwrap();
        let name = |db: &Connection| -> String {
            db.query_row("SELECT name FROM instance", [], |row| row.get("name"))
                .unwrap()
        };
        let db = open(folder.path(), MIGRATIONS).unwrap();
        let instance = name(&db);
        drop(db);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

        let longer = [MIGRATIONS, &[SECOND]].concat();
        let db = open(folder.path(), &longer).unwrap();
        assert_eq!((version(&db).unwrap(), name(&db)), (2, instance.clone()));
        let copy = beside(&folder.path().join(FILE_NAME), ".before-v2");
        let old = open_to_read(&copy).unwrap();
        assert_eq!((version(&old).unwrap(), name(&old)), (1, instance));
        assert!(
            db.prepare("SELECT * FROM more").is_ok() && old.prepare("SELECT * FROM more").is_err()
        );

        // While the newer program still runs, an older one sees what it must not touch.
        let error = open(folder.path(), MIGRATIONS).unwrap_err();
        assert!(matches!(
            error,
            StoreError::TooNew {
                found: 2,
                supported: 1,
                ..
            }
        ));
    }

    #[test]
    fn a_migration_that_fails_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        drop(open(folder.path(), MIGRATIONS).unwrap());
        let before = fs::read(folder.path().join(FILE_NAME)).unwrap();
        let broken = [MIGRATIONS, &[SECOND, "CREATE TABLE more (again)"]].concat();
        assert!(open(folder.path(), &broken).is_err());
        assert_eq!(fs::read(folder.path().join(FILE_NAME)).unwrap(), before);
        drop(open(folder.path(), MIGRATIONS).unwrap());
    }

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
