use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use sitebell::site::SiteId;
use sitebell::store::{Store, StoreError};

use super::{change, collection, entry, now, record, save, store_with_site, url};

/// Saves a check with one change, whose page is the number.
async fn save_number(store: &Store, site: SiteId, number: u32) {
    let changes = vec![change(&number.to_string(), "2026-01-01")];
    save(
        store,
        site,
        record(vec![collection(
            "https://s.example/",
            vec![],
            vec![entry(changes)],
        )]),
    )
    .await;
}

async fn count(store: &Store, site: SiteId) -> usize {
    store.changes(site, None, 100_000).await.unwrap().0.len()
}

#[test]
fn two_programs_write_at_once_and_neither_hears_of_a_lock() {
    let folder = tempfile::tempdir().unwrap();
    let work = |host: &'static str| {
        let folder = folder.path().to_owned();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_time()
                .build()
                .unwrap();
            runtime.block_on(async {
                // Opening and migrating at the same time is part of it.
                let store = Store::open(&folder).await.unwrap();
                let (site, _) = store.add_site(&url(host), now()).await.unwrap();
                for number in 0..50 {
                    save_number(&store, site, number).await;
                    store.memory(site).await.unwrap().unwrap();
                    if number % 10 == 0 {
                        store.checkpoint().await.unwrap();
                    }
                }
                assert_eq!(count(&store, site).await, 50);
                store.close().await.unwrap();
            });
        })
    };
    let threads = [
        "https://a.example/",
        "https://b.example/",
        "https://c.example/",
    ]
    .map(work);
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

#[tokio::test]
async fn a_backup_made_while_writing_can_be_restored() {
    let (folder, store, site) = store_with_site().await;
    save_number(&store, site, 0).await;
    let before = (
        store.sites(None, 10).await.unwrap(),
        store.changes(site, None, 1).await.unwrap().0,
    );
    let writing = {
        let store = store.clone();
        tokio::spawn(async move {
            for number in 1..100 {
                save_number(&store, site, number).await;
            }
        })
    };
    let elsewhere = tempfile::tempdir().unwrap();
    let backup = elsewhere.path().join("backup.sqlite3");
    store.back_up(&backup).await.unwrap();
    assert!(matches!(
        store.back_up(&backup).await,
        Err(StoreError::Exists { .. })
    ));
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 1);
    writing.await.unwrap();

    // In use: refused, and nothing happens.
    let refused = Store::restore(&backup, folder.path(), now());
    assert!(
        matches!(refused, Err(StoreError::Busy { .. })),
        "{refused:?}"
    );
    assert_eq!(count(&store, site).await, 100);
    let instance = store.instance().await;
    store.close().await.unwrap();

    Store::restore(&backup, folder.path(), now()).unwrap();
    let aside = folder
        .path()
        .join("sitebell.sqlite3.before-restore-20260504T030201Z");
    assert!(aside.exists());
    let store = Store::open(folder.path()).await.unwrap();
    let restored = count(&store, site).await;
    assert!((1..=100).contains(&restored));
    assert_eq!(
        store
            .checks(site, None, 200)
            .await
            .unwrap()
            .iter()
            .filter(|check| check.finished_at.is_some())
            .count(),
        restored
    );
    assert_eq!(store.changes(site, None, 1).await.unwrap().0, before.1);
    let row = store.site(site).await.unwrap().unwrap();
    // What was written meanwhile may be in the backup or not.
    let mut collections = before.0[0].collections.clone();
    collections[0].entry_count = restored as i64;
    assert_eq!(
        (&row.feed_id, row.collections),
        (&before.0[0].feed_id, collections)
    );
    assert_ne!(store.instance().await, instance, "no id is made twice");

    // Into an empty place, and from the one that was put aside.
    let fresh = tempfile::tempdir().unwrap();
    Store::restore(&aside, &fresh.path().join("new"), now()).unwrap();
    let fresh = Store::open(&fresh.path().join("new")).await.unwrap();
    assert_eq!(count(&fresh, site).await, 100);
}

const CHILD: &str = "SITEBELL_TEST_STORE_TO_WRITE";

/// Not a test of its own: the program that the next test kills.
#[tokio::test]
async fn a_program_that_writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(CHILD) else {
        return;
    };
    let store = Store::open(Path::new(&folder)).await.unwrap();
    let (site, _) = store
        .add_site(&url("https://s.example/"), now())
        .await
        .unwrap();
    // Several at once, so that they wait for the disk together.
    let mut writing = tokio::task::JoinSet::new();
    for task in 0..8 {
        let store = store.clone();
        writing.spawn(async move {
            for number in (task..).step_by(8) {
                save_number(&store, site, number).await;
                println!("saved {number}");
            }
        });
    }
    writing.join_all().await;
}

/// A program that is killed when it is no longer needed.
pub struct Writer(Child);

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A program that writes to the database in a folder, and says so in lines.
pub fn writer(folder: &Path) -> (Writer, impl Iterator<Item = String> + use<>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "--nocapture",
            "storing::beside::a_program_that_writes_until_it_is_killed",
        ])
        .env(CHILD, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let saved = lines
        .map_while(Result::ok)
        .filter(|line| line.contains("saved "));
    (Writer(child), saved)
}

#[tokio::test]
async fn whatever_was_saved_is_there_after_sudden_death() {
    let folder = tempfile::tempdir().unwrap();
    let mut saved = 0;
    for round in 0..3 {
        let (child, lines) = writer(folder.path());
        let told = lines.take(20 + round).count();
        drop(child);
        saved += told;
        let store = Store::open(folder.path()).await.unwrap();
        let site = store
            .site_by_url(&url("https://s.example/"))
            .await
            .unwrap()
            .unwrap();
        let found = count(&store, site).await;
        assert!(found >= saved, "{found} of {saved}");
        let finished = store.checks(site, None, 10_000).await.unwrap();
        let finished = finished
            .iter()
            .filter(|check| check.finished_at.is_some())
            .count();
        let memory = store.memory(site).await.unwrap().unwrap();
        let mut known = 0;
        for collection in &memory.collections {
            known += collection.known.get().await.unwrap().len();
        }
        assert_eq!(
            found, finished,
            "a check and its changes are saved together"
        );
        assert!(known <= found);
        saved = found;
        let backup = folder.path().join(format!("backup-{round}"));
        store.back_up(&backup).await.unwrap();
        // Restoring examines every page.
        Store::restore(
            &backup,
            &folder.path().join(format!("restored-{round}")),
            now(),
        )
        .unwrap();
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn what_a_restore_lost_keeps_its_ids_for_itself() {
    let (folder, store, site) = store_with_site().await;
    let found = |page: &'static str| {
        let changes = vec![change(page, "2026-01-01")];
        let entries = vec![entry(changes)];
        record(vec![collection("https://s.example/", vec![], entries)])
    };
    save(&store, site, found("kept")).await;
    let backup = folder.path().join("backup.sqlite3");
    store.back_up(&backup).await.unwrap();
    let lost = save(&store, site, found("lost")).await;
    store.close().await.unwrap();
    Store::restore(&backup, folder.path(), now()).unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let found = save(&store, site, found("another")).await;
    assert_ne!(found.entries, lost.entries);
}

#[test]
fn programs_that_meet_at_a_new_folder_all_get_in() {
    for _ in 0..40 {
        let folder = tempfile::tempdir().unwrap();
        let open = |_| {
            let folder = folder.path().to_owned();
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build();
                let opened = runtime.unwrap().block_on(async {
                    let store = Store::open(&folder).await?;
                    let instance = store.instance().await;
                    store.close().await.map(|()| instance)
                });
                opened.unwrap_or_else(|error| panic!("{error:?}"))
            })
        };
        let threads: Vec<_> = (0..8).map(open).collect();
        let instances: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        assert!(instances.iter().all(|instance| *instance == instances[0]));
    }
}
