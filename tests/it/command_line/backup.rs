//! `sitebell backup` and `sitebell restore`: nothing is lost, and nothing is overwritten.

use rusqlite::{Connection, OpenFlags, types::Value};
use sitebell::change::Entry;
use sitebell::store::ServeLock;

use super::*;
use crate::storing::{beside, change, collection, entry, now, record, save, url};

/// A place with a site, two entries, and an account that follows.
async fn place() -> Place {
    let place = Place::new();
    let store = place.store().await;
    let site = store.add_site(&url("https://s.example/"), now()).await;
    let (site, _) = site.unwrap();
    for page in ["a", "b"] {
        let entries = vec![entry(vec![change(page, "2026-01-01")])];
        let collections = vec![collection("https://s.example/", vec![], entries)];
        save(&store, site, record(collections)).await;
    }
    let added = store.add_account("alice", "hash", "other", true, now());
    let alice = added.await.unwrap();
    store.subscribe(alice, site, None, now()).await.unwrap();
    store.close().await.unwrap();
    place
}

fn open(file: &std::path::Path) -> Connection {
    Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

/// Every row of every table.
fn content(file: &std::path::Path) -> Vec<(String, Vec<Vec<Value>>)> {
    let db = open(file);
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    let mut tables = db.prepare(sql).unwrap();
    let tables = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let rows = |table: &str| {
        let mut rows = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = rows.column_count();
        let values = rows.query_map([], |row| (0..columns).map(|n| row.get(n)).collect());
        let mut values: Vec<Vec<Value>> = values.unwrap().map(Result::unwrap).collect();
        values.sort_by_key(|row| format!("{row:?}"));
        values
    };
    let tables = tables.map(Result::unwrap);
    tables.map(|name| (name.clone(), rows(&name))).collect()
}

/// The same without the name under which ids are made from now on.
fn found(file: &std::path::Path) -> Vec<(String, Vec<Vec<Value>>)> {
    let mut tables = content(file);
    tables.retain(|(name, _)| name != "instance");
    tables
}

/// The ids of the site's feeds and of its entries.
async fn ids(place: &Place) -> (Vec<String>, Vec<String>) {
    let store = place.store().await;
    let site = store.sites(None, 10).await.unwrap().remove(0);
    let entries = store.site_entries(site.id, 100).await.unwrap();
    let entries = entries.into_iter().map(|(_, Entry { id, .. })| id);
    let feeds = site.collections.iter().map(|one| one.feed_id.clone());
    let feeds = feeds.chain([site.feed_id.clone()]).collect();
    let ids = (feeds, entries.collect());
    store.close().await.unwrap();
    ids
}

#[tokio::test]
async fn what_is_backed_up_and_restored_is_the_same_to_the_last_id() {
    let place = place().await;
    let file = place.data().join("sitebell.sqlite3");
    let (before, found_before) = (content(&file), found(&file));
    let ids_before = ids(&place).await;
    assert_eq!((ids_before.0.len(), ids_before.1.len()), (2, 2));
    let data = fs::read(&file).unwrap();
    let said = place.done(&["backup", "copy.sqlite3"]);
    assert!(
        said.contains("copy.sqlite3") && said.contains("data"),
        "{said}"
    );
    assert_eq!(
        fs::read(&file).unwrap(),
        data,
        "a backup leaves the data alone"
    );
    assert_eq!(fs::read_dir(place.data()).unwrap().count(), 1);
    assert!(content(&place.path("copy.sqlite3")) == before);

    // Something happens to the data.
    place.done(&["account", "remove", "alice", "--yes"]);
    let changed = content(&file);
    assert!(changed != before);
    let said = place.done(&["restore", "copy.sqlite3"]);
    assert!(found(&file) == found_before);
    assert_eq!(ids(&place).await, ids_before);
    let aside = fs::read_dir(place.data())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_aside = |path: &PathBuf| path.to_string_lossy().contains(".before-restore-");
    let aside: Vec<PathBuf> = aside.filter(is_aside).collect();
    assert_eq!(aside.len(), 1);
    assert!(content(&aside[0]) == changed, "nothing is lost");
    let name = aside[0].file_name().unwrap().to_str().unwrap();
    assert!(said.contains(name), "{said}");

    // Into a folder that is not there yet.
    let said = place.done(&["restore", "copy.sqlite3", "--data", "deep/new"]);
    assert!(!said.contains("before"), "{said}");
    assert!(found(&place.path("deep/new/sitebell.sqlite3")) == found_before);
}

#[cfg(unix)]
#[tokio::test]
async fn a_backup_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let place = place().await;
    place.done(&["backup", "copy"]);
    let mode = fs::metadata(place.path("copy"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0);
}

#[tokio::test]
async fn a_backup_overwrites_nothing() {
    let place = place().await;
    fs::write(place.path("letter"), "dear fox").unwrap();
    fs::create_dir(place.path("folder")).unwrap();
    for file in ["letter", "folder", "data/sitebell.sqlite3"] {
        place.refused(&["backup", file], &[file, "exists already", "another name"]);
    }
    place.refused(
        &["backup", "no/such/folder"],
        &["no/such/folder", "not there"],
    );
    place.refused(&["backup", "letter/x"], &["letter/x", "below a file"]);
    place.refused(&["backup"], &["FILE"]);
}

#[test]
fn without_data_there_is_nothing_to_back_up() {
    let place = Place::new();
    place.refused(
        &["backup", "copy"],
        &["nothing to back up in data", "--data"],
    );
    let arguments = ["backup", "copy", "--data", "elsewhere"];
    place.refused(&arguments, &["nothing to back up in elsewhere"]);
    assert!(!place.data().exists() && !place.path("elsewhere").exists());
}

#[test]
fn a_backup_beside_a_service_that_writes_is_whole() {
    let place = Place::new();
    let _lock = ServeLock::take(&place.data()).unwrap();
    let (_service, mut lines) = beside::writer(&place.data());
    for round in 0..3 {
        let told = lines.by_ref().take(10).last().unwrap();
        let told: i64 = told.rsplit(' ').next().unwrap().parse().unwrap();
        let name = format!("copy-{round}");
        place.done(&["backup", &name]);
        let db = open(&place.path(&name));
        let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        let verdict: String = db
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(verdict, "ok");
        let changes = count("SELECT count(*) FROM changes");
        assert!(changes > told, "what was saved before is in it");
        let finished = "SELECT count(*) FROM checks WHERE finished_at IS NOT NULL";
        assert_eq!(changes, count(finished), "of one moment");
        // And it can be used.
        let folder = format!("restored-{round}");
        place.done(&["restore", &name, "--data", &folder]);
    }
    assert!(lines.next().is_some(), "the service still writes");
}

#[tokio::test]
async fn nothing_is_restored_below_a_running_service() {
    let place = place().await;
    place.done(&["backup", "copy"]);
    let lock = ServeLock::take(&place.data()).unwrap();
    let sentence = "another sitebell serves data; stop it first";
    place.refused(&["restore", "copy"], &[sentence]);
    drop(lock);
    // A service of another kind that has the database open.
    let store = place.store().await;
    store.is_well().await.unwrap();
    let output = place.run(&["restore", "copy"]);
    assert_refused(&output, &["in use by another program"]);
    store.close().await.unwrap();
    place.done(&["restore", "copy"]);
}

#[tokio::test]
async fn what_is_no_whole_backup_is_not_restored() {
    let place = place().await;
    place.done(&["backup", "copy"]);
    let good = fs::read(place.path("copy")).unwrap();
    let mut newer = good.clone();
    newer[60..64].copy_from_slice(&77_u32.to_be_bytes());
    let mut broken = good.clone();
    broken[8192..].fill(0x55);
    for (bytes, part) in [
        (&b"dear fox"[..], "not a backup of Sitebell"),
        (b"", "not a backup of Sitebell"),
        (&newer, "newer Sitebell"),
        (&good[..good.len() / 2], "damaged"),
        (&broken, "damaged"),
    ] {
        fs::write(place.path("copy"), bytes).unwrap();
        place.refused(&["restore", "copy"], &["copy ", part, ";"]);
        let arguments = ["restore", "copy", "--data", "new"];
        place.refused(&arguments, &["copy ", part, ";"]);
        assert!(!place.path("new").exists());
    }
    place.refused(&["restore", "missing"], &["missing", "not there"]);
    place.refused(&["restore", "data"], &["data", "folder", "name a file"]);
}

#[tokio::test]
async fn a_damaged_database_gives_way_to_a_backup() {
    let place = place().await;
    place.done(&["backup", "copy"]);
    let file = place.data().join("sitebell.sqlite3");
    let before = found(&file);
    fs::write(&file, "eaten by a fox").unwrap();
    place.done(&["restore", "copy"]);
    assert!(found(&file) == before);
}
