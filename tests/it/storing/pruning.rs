use sitebell::memory::ChangeKey;
use sitebell::store::{Keep, Pruned};

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
        change("future", "2030-01-01T00:00:00.000000001Z"),
        change("future", "2030-01-01T00:00:00.000000002+00:00"),
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

    let pruned = store.prune(&KEEP).await.unwrap();
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
    let horizon = Some(at("2030-01-01T00:00:00.000000002Z"));
    let memory = store.memory(site).await.unwrap().unwrap();
    let known = memory.collections[0].known.get().await.unwrap();
    let gone = ChangeKey::new(&silent[0].url, silent[0].kind, &silent[0].datetime);
    assert_eq!(
        (known.horizon, known.times(gone), known.len()),
        (horizon, 0, 50)
    );
    assert_eq!(store.prune(&KEEP).await.unwrap(), Pruned::default());

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
    store.prune(&KEEP).await.unwrap();
    let memory = store.memory(site).await.unwrap().unwrap();
    let known = memory.collections[0].known.get().await.unwrap();
    assert_eq!((known.horizon, known.len()), (horizon, 50));
}

#[tokio::test]
async fn an_entry_is_whole_or_gone() {
    let (_folder, store, site) = store_with_site().await;
    let mut entries = vec![
        entry(vec![change("a", "2026"); 3]),
        entry(vec![change("b", "2026"); 4]),
    ];
    entries.extend((0..49).map(|_| entry(vec![change("c", "2026")])));
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
    assert_eq!(store.prune(&keep).await.unwrap().changes, 3);
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
    assert_eq!(store.prune(&KEEP).await.unwrap().checks, 2);
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
