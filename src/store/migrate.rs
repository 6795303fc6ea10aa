//! How a database of an older version becomes a current one.
//!
//! All steps in one transaction, after a copy of what is there was made beside it. The rule: append a file to
//! [`MIGRATIONS`], and never edit one that was released.

use std::path::Path;

use rusqlite::Connection;

use super::error::StoreError;
use super::file::{APPLICATION_ID, beside, checkpoint, copy_into, examine};
use super::wait::{patiently, write};

/// Every step from nothing to the current schema.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/0001_sites_changes_accounts.sql"),
    include_str!("../../migrations/0002_feeds.sql"),
    include_str!("../../migrations/0003_people.sql"),
    include_str!("../../migrations/0004_timeline.sql"),
    include_str!("../../migrations/0005_pages.sql"),
    include_str!("../../migrations/0006_reports.sql"),
    include_str!("../../migrations/0007_reworded.sql"),
    include_str!("../../migrations/0008_due.sql"),
    include_str!("../../migrations/0009_outlines.sql"),
    include_str!("../../migrations/0010_reports_that_stay.sql"),
    include_str!("../../migrations/0011_described_by.sql"),
    include_str!("../../migrations/0012_times_of_entries.sql"),
    include_str!("../../migrations/0013_unfollowed.sql"),
    include_str!("../../migrations/0014_rounds.sql"),
    include_str!("../../migrations/0015_entries_of_parts.sql"),
    include_str!("../../migrations/0016_quiet_hosts.sql"),
];

/// Brings the schema up to date, after a copy was made of what is there.
pub(super) fn migrate(db: &Connection, path: &Path, migrations: &[&str]) -> Result<(), StoreError> {
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

/// The version that these steps lead to.
pub(super) fn count(migrations: &[&str]) -> u32 {
    u32::try_from(migrations.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::file::{FILE_NAME, open, open_to_read};
    use std::fs;

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

        let (current, next) = (count(MIGRATIONS), count(MIGRATIONS) + 1);
        let longer = [MIGRATIONS, &[SECOND]].concat();
        let db = open(folder.path(), &longer).unwrap();
        assert_eq!((version(&db).unwrap(), name(&db)), (next, instance.clone()));
        let ending = format!(".before-v{next}");
        let copy = beside(&folder.path().join(FILE_NAME), &ending);
        let old = open_to_read(&copy).unwrap();
        assert_eq!((version(&old).unwrap(), name(&old)), (current, instance));
        assert!(
            db.prepare("SELECT * FROM more").is_ok() && old.prepare("SELECT * FROM more").is_err()
        );

        // While the newer program still runs, an older one sees what it must not touch.
        let error = open(folder.path(), MIGRATIONS).unwrap_err();
        let StoreError::TooNew {
            found, supported, ..
        } = error
        else {
            panic!("{error:?}");
        };
        assert_eq!((found, supported), (next, current));
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
    fn documents_that_were_remembered_as_xml_are_read_once_more() {
        let folder = tempfile::tempdir().unwrap();
        let before = MIGRATIONS
            .iter()
            .position(|step| step.contains("outline LIKE"));
        let db = open(folder.path(), &MIGRATIONS[..before.unwrap()]).unwrap();
        db.execute_batch(
            "INSERT INTO sites (url, scheme_given, slug, feed_id, host, status, interval_secs, added_at, next_check_at)
               VALUES ('https://s.example/', 1, 's', 'tag:s', 's.example:443', 'ok', 1, 0, 0);
             INSERT INTO documents (site, url, read_at, validators_url, etag, outline) VALUES
               (1, 'https://s.example/log.xml', 0, 'https://s.example/log.xml', x'22', '<urlset/>'),
               (1, 'https://s.example/sitemap.xml', 0, 'https://s.example/sitemap.xml', x'22', '{}');",
        )
        .unwrap();
        drop(db);
        let db = open(folder.path(), MIGRATIONS).unwrap();
        let asked_with =
            "SELECT url FROM documents WHERE validators_url IS NOT NULL OR etag IS NOT NULL";
        let url: String = db.query_row(asked_with, [], |row| row.get(0)).unwrap();
        assert_eq!(url, "https://s.example/sitemap.xml");
    }
}
