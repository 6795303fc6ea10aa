use std::fs;
use std::path::{Path, PathBuf};

use sitebell::store::{Store, StoreError};

use super::{change, collection, entry, now, record, save, url};

fn file_in(folder: &Path) -> PathBuf {
    folder.join("sitebell.sqlite3")
}

/// A database with something in it, closed.
async fn database() -> (tempfile::TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let (site, _) = store
        .add_site(&url("https://s.example/"), now())
        .await
        .unwrap();
    let changes = (0..2000)
        .map(|n| change(&format!("page-{n}"), "2026-01-01"))
        .collect();
    save(
        &store,
        site,
        record(vec![collection(
            "https://s.example/",
            vec![],
            vec![entry(changes)],
        )]),
    )
    .await;
    store.close().await.unwrap();
    let bytes = fs::read(file_in(folder.path())).unwrap();
    (folder, bytes)
}

/// Opens a folder whose database has these bytes: it must be refused, and nothing may change.
async fn refused(bytes: &[u8]) -> StoreError {
    let folder = tempfile::tempdir().unwrap();
    fs::write(file_in(folder.path()), bytes).unwrap();
    let error = Store::open(folder.path()).await.err().expect("it opens");
    assert_eq!(fs::read(file_in(folder.path())).unwrap(), bytes);
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing is left beside it"
    );
    let sentence = error.to_string();
    assert!(
        sentence.contains("sitebell.sqlite3") && sentence.contains(';'),
        "{sentence}"
    );
    assert_eq!(sentence.lines().count(), 1);
    error
}

#[tokio::test]
async fn files_that_are_no_database_of_ours_are_refused() {
    let (_folder, ours) = database().await;
    let mut foreign = ours.clone();
    foreign[68..72].fill(0);
    let half_header = &ours[..50];
    for bytes in [b"hello".as_slice(), &[0; 5000], half_header, &foreign] {
        assert!(matches!(
            refused(bytes).await,
            StoreError::NotADatabase { .. }
        ));
    }
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let (_folder, mut bytes) = database().await;
    bytes[60..64].copy_from_slice(&77_u32.to_be_bytes());
    let error = refused(&bytes).await;
    assert!(matches!(error, StoreError::TooNew { found: 77, .. }));
    assert!(error.to_string().contains("77"));
}

#[tokio::test]
async fn a_database_that_is_cut_off_is_refused() {
    let (_folder, bytes) = database().await;
    assert!(matches!(
        refused(&bytes[..bytes.len() / 2]).await,
        StoreError::Corrupt { .. }
    ));
    assert!(matches!(
        refused(&bytes[..4096]).await,
        StoreError::Corrupt { .. }
    ));
}

#[tokio::test]
async fn a_database_that_is_overwritten_says_so_when_it_is_read() {
    let (folder, mut bytes) = database().await;
    let end = bytes.len();
    bytes[4096..end].fill(0x55);
    fs::write(file_in(folder.path()), &bytes).unwrap();
    let error = Store::open(folder.path()).await.err().expect("it opens");
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    assert_eq!(fs::read(file_in(folder.path())).unwrap(), bytes);
}

#[tokio::test]
async fn places_that_cannot_be_written_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for place in [file.clone(), file.join("below")] {
        let error = Store::open(&place).await.err().expect("it opens");
        assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
        assert!(error.to_string().contains("file"));
    }
    fs::create_dir_all(file_in(&folder.path().join("data"))).unwrap();
    assert!(Store::open(&folder.path().join("data")).await.is_err());
}

#[cfg(unix)]
#[tokio::test]
async fn what_may_not_be_read_is_refused_and_what_is_made_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, bytes) = database().await;
    let file = file_in(folder.path());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o077, 0);
    let read_only = fs::Permissions::from_mode(0o400);
    fs::set_permissions(&file, read_only).unwrap();
    if fs::OpenOptions::new().append(true).open(&file).is_ok() {
        return; // The superuser may do everything.
    }
    let error = Store::open(folder.path()).await.err().expect("it opens");
    assert!(
        matches!(error, StoreError::NoPermission { .. }),
        "{error:?}"
    );
    assert_eq!(fs::read(&file).unwrap(), bytes);
}

#[tokio::test]
async fn a_closed_database_is_one_file_and_answers_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("a/b");
    let store = Store::open(&deep).await.unwrap();
    store.is_well().await.unwrap();
    let clone = store.clone();
    store.close().await.unwrap();
    assert_eq!(fs::read_dir(&deep).unwrap().count(), 1);
    assert!(matches!(clone.is_well().await, Err(StoreError::Closed)));
    assert!(matches!(
        clone.abandon_checks(now()).await,
        Err(StoreError::Closed)
    ));
    assert!(matches!(clone.close().await, Err(StoreError::Closed)));
}

#[tokio::test]
async fn restoring_refuses_junk_and_leaves_everything_as_it_was() {
    let (folder, bytes) = database().await;
    let mut broken = bytes.clone();
    let end = broken.len();
    broken[8192..end].fill(0x55);
    let mut newer = bytes.clone();
    newer[60..64].copy_from_slice(&77_u32.to_be_bytes());
    for junk in [&b"junk"[..], b"", &broken, &newer] {
        let elsewhere = tempfile::tempdir().unwrap();
        let file = elsewhere.path().join("backup");
        fs::write(&file, junk).unwrap();
        let error = Store::restore(&file, folder.path(), now()).expect_err("it is restored");
        assert!(error.to_string().contains("backup"), "{error}");
        assert_eq!(fs::read(file_in(folder.path())).unwrap(), bytes);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    let missing = Store::restore(&folder.path().join("none"), folder.path(), now());
    assert!(matches!(missing, Err(StoreError::Io { .. })));
}
