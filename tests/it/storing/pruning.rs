use std::sync::Arc;

use chrono::TimeDelta;
use sitebell::change::Change;
use sitebell::memory::{ChangeKey, Known};
use sitebell::moment::Moment;
use sitebell::site::{CollectionId, SiteId};
use sitebell::store::{Keep, Pruned, Store};

use super::{at, change, collection, entry, first_collection, now, record, save, store_with_site};

const KEEP: Keep = Keep {
    checks_per_site: 3,
    changes_per_collection: 10,
};

#[tokio::test]
async fn the_oldest_go_and_the_horizon_is_the_latest_among_them() {
    let (_folder, store, site) = store_with_site().await;
    let silent = vec![
        change("old", "2020-01-01"),
        change("late", "2026-04-01T00:00:00.000000001Z"),
        change("late", "2026-04-01T00:00:00.000000002+00:00"),
    ];
    save(
        &store,
        site,
        record(vec![collection(
            "https://s.example/",
            silent.clone(),
            vec![],
        )]),
    )
    .await;
    let entries = (0..60)
        .map(|n| entry(vec![change(&format!("p{n}"), "2026-01-01"); 2]))
        .collect();
    save(
        &store,
        site,
        record(vec![collection("https://s.example/", vec![], entries)]),
    )
    .await;
    let id = first_collection(&store, site).await;
    let shown = store.entries(id, 50).await.unwrap();

    let pruned = store.prune(&KEEP, now()).await.unwrap();
    // 123 changes, of which 50 entries with two each stay although only ten changes should.
    assert_eq!(
        pruned,
        Pruned {
            checks: 0,
            changes: 23,
            entries: 10,
            sites: [site].into(),
        }
    );
    assert_eq!(store.entries(id, 100).await.unwrap(), shown);
    let horizon = Some(at("2026-04-01T00:00:00.000000002Z"));
    let memory = store.memory(site).await.unwrap().unwrap();
    let known = memory.collections[0].known.get().await.unwrap();
    let gone = ChangeKey::new(&silent[0].url, silent[0].kind, &silent[0].datetime);
    assert_eq!(
        (known.horizon, known.times(gone), known.len()),
        (horizon, 0, 50)
    );
    assert_eq!(store.prune(&KEEP, now()).await.unwrap(), Pruned::default());

    // It never moves back, and never sets free a number or an id.
    let more = (0..60)
        .map(|n| entry(vec![change(&format!("q{n}"), "2026-02-02")]))
        .collect();
    let before = store.entries(id, 1).await.unwrap();
    let saved = save(
        &store,
        site,
        record(vec![collection("https://s.example/", vec![], more)]),
    )
    .await;
    assert!(!saved.entries.contains(&before[0].id));
    store.prune(&KEEP, now()).await.unwrap();
    let memory = store.memory(site).await.unwrap().unwrap();
    let known = memory.collections[0].known.get().await.unwrap();
    assert_eq!((known.horizon, known.len()), (horizon, 50));
}

/// A collection in which these changes are told by the oldest entry, and so many entries follow that it goes.
async fn pruned_after(
    told: Vec<Change>,
    keep: &Keep,
) -> (tempfile::TempDir, Store, SiteId, CollectionId) {
    let (folder, store, site) = store_with_site().await;
    let newer = (0..60).map(|n| vec![change(&format!("p{n}"), "2026-05-03T00:00:00Z")]);
    let entries = [told].into_iter().chain(newer).map(entry).collect();
    let found = record(vec![collection("https://s.example/", vec![], entries)]);
    save(&store, site, found).await;
    store.prune(keep, now()).await.unwrap();
    let id = first_collection(&store, site).await;
    (folder, store, site, id)
}

async fn known(store: &Store, site: SiteId) -> Arc<Known> {
    let memory = store.memory(site).await.unwrap().unwrap();
    memory.collections[0].known.get().await.unwrap()
}

fn times(known: &Known, change: &Change) -> u32 {
    known.times(ChangeKey::of(change))
}

#[tokio::test]
async fn a_change_whose_time_is_not_over_stays_known_and_hides_nothing() {
    let future = change("future", "2062-03-01");
    let today = change("today", "2026-05-04");
    let past = change("past", "2026-05-02T00:00:00Z");
    let told = vec![future.clone(), today.clone(), today.clone(), past.clone()];
    let (_folder, store, site, id) = pruned_after(told, &KEEP).await;
    assert_eq!(store.entries(id, 100).await.unwrap().len(), 50);
    let kept = known(&store, site).await;
    // The present is the latest that can be hidden.
    assert_eq!(kept.horizon, Some(at("2026-05-03T00:00:00Z")));
    let is_known = |change| times(&kept, change);
    assert_eq!(
        (is_known(&future), is_known(&today), is_known(&past)),
        (1, 2, 0)
    );
    let is_hidden = |text| kept.is_beyond_horizon(&Moment::parse(text).unwrap());
    assert!(is_hidden("2026-05-02") && !is_hidden("2026-05-04") && !is_hidden("2027"));
    // Nobody asks for their entry, which is gone.
    let changes = store.changes(site, None, 100).await.unwrap().0;
    assert!(changes.iter().all(|row| row.change.url.contains("/p")));
    assert!(store.is_pruned(id, 1).await.unwrap());
    assert_eq!(store.prune(&KEEP, now()).await.unwrap(), Pruned::default());

    // When the day is over everywhere, the horizon stands for it.
    let tomorrow = now() + TimeDelta::hours(36);
    let pruned = store.prune(&KEEP, tomorrow).await.unwrap();
    assert_eq!((pruned.changes, pruned.entries), (2, 0));
    let kept = known(&store, site).await;
    assert_eq!(kept.horizon, Some(at("2026-05-04T00:00:00Z")));
    assert_eq!((times(&kept, &future), times(&kept, &today)), (1, 0));
}

#[tokio::test]
async fn what_lies_in_the_future_is_not_kept_without_end() {
    let told = (0..30).map(|n| change(&format!("f{n}"), "2062-03-01"));
    let told: Vec<Change> = told.chain([change("year", "2026")]).collect();
    let (_folder, store, site, _id) = pruned_after(told.clone(), &KEEP).await;
    let kept = known(&store, site).await;
    let stay = told.iter().filter(|change| times(&kept, change) > 0);
    assert_eq!(stay.count(), KEEP.changes_per_collection as usize);
    assert_eq!(times(&kept, &told[30]), 1, "the last one that was found");
    assert_eq!(kept.horizon, Some(at("2026-05-03T00:00:00Z")));
}

#[tokio::test]
async fn an_entry_is_whole_or_gone() {
    let (_folder, store, site) = store_with_site().await;
    let mut entries = vec![
        entry(vec![change("a", "2025"); 3]),
        entry(vec![change("b", "2025"); 4]),
    ];
    entries.extend((0..49).map(|_| entry(vec![change("c", "2025")])));
    save(
        &store,
        site,
        record(vec![collection("https://s.example/", vec![], entries)]),
    )
    .await;
    let id = first_collection(&store, site).await;
    // Ends inside the second entry, which therefore stays.
    let keep = Keep {
        changes_per_collection: 51,
        ..KEEP
    };
    assert_eq!(store.prune(&keep, now()).await.unwrap().changes, 3);
    let entries = store.entries(id, 100).await.unwrap();
    assert_eq!((entries.len(), entries[49].changes.len()), (50, 4));
}

#[tokio::test]
async fn of_checks_the_newest_stay_and_one_that_runs() {
    let (_folder, store, site) = store_with_site().await;
    let running = store.number_check().await.unwrap();
    store.begin_check(site, running, now()).await.unwrap();
    for _ in 0..5 {
        save(&store, site, record(vec![])).await;
    }
    assert_eq!(store.prune(&KEEP, now()).await.unwrap().checks, 2);
    let left = store.checks(site, None, 10).await.unwrap();
    assert_eq!((left.len(), left[3].id), (4, running));
    assert!(
        !store
            .save_check(site, running, record(vec![]))
            .await
            .unwrap()
            .already_saved
    );
}
