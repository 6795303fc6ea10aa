use std::collections::HashMap;

use chrono::TimeDelta;
use sitebell::change::{ChangeKind, Details, Link};
use sitebell::memory::{
    ChangeKey, DocumentMemory, Known, ListMemory, NewEntry, Outcome, Validators,
};
use sitebell::moment::Moment;
use sitebell::problem::{Code, Problem};
use sitebell::site::{About, CollectionId, Format, SiteId, SiteStatus};
use sitebell::store::{EntriesOf, EntryRow, Store, StoreError};

use super::{
    at, change, collection, entry, first_collection, now, record, save, store_with_site, url,
};

fn about(title: &str) -> About {
    About {
        title: Some(title.into()),
        description: Some("“Quoted”, <b>, \u{1F98A}".into()),
        authors: vec!["Fox".into(), "Hen".into()],
        rights: Some("CC0".into()),
        language: Some("en".into()),
    }
}

fn moment(text: &str) -> Moment {
    Moment::parse(text).unwrap()
}

#[tokio::test]
async fn everything_that_a_record_holds_comes_back() {
    let (folder, store, site) = store_with_site().await;
    let check = store.number_check().await.unwrap();
    store.begin_check(site, check, now()).await.unwrap();
    assert_eq!(
        store.check(site, check).await.unwrap().unwrap().finished_at,
        None
    );

    let mut rich = change("fox/1", "2026-01-02T03:04:05.060+05:30");
    rich.kind = ChangeKind::Deleted;
    rich.title = Some("The fox".into());
    rich.details = Details {
        canonical: Some("https://fox.example/blog/page".into()),
        length: Some(u64::MAX),
        media_type: Some("text/html".into()),
        encoding: Some("gzip".into()),
        hash: Some("md5:1 sha-256:2".into()),
        note: Some("redrew the vixen".into()),
        links: vec![
            Link::new("alternate", "https://m.example/1"),
            Link {
                pri: Some(1),
                modified: Some(moment("2026-01")),
                length: Some(7),
                media_type: Some("text/plain".into()),
                encoding: Some("br".into()),
                hash: Some("md5:3".into()),
                ..Link::new("duplicate", "https://m.example/2")
            },
        ],
        summary: Some("All about the fox".into()),
        author: Some("Ann".into()),
        language: Some("en".into()),
        tags: vec!["foxes".into(), "dens".into()],
        is_inferred: true,
        is_stated: true,
    };
    let mut elsewhere = change("", "2026-01-02");
    elsewhere.url = "http://elsewhere.example/page".into();
    let silent = vec![change("fox/0", "2025")];
    let first = entry(vec![rich.clone(), elsewhere.clone()]);
    let mut second = entry(vec![change("fox/2", "2026-01-03T00:00-00:00")]);
    second.updated_at = at("2026-01-03T00:00:00.5Z");
    let mut fox = collection(
        "https://s.example/fox/",
        silent.clone(),
        vec![first.clone(), entry(vec![]), second.clone()],
    );
    fox.capability_list = Some(url("https://s.example/fox/cap.xml"));
    fox.about = about("Fox");
    fox.described_by = Some(url("https://s.example/fox/about"));
    fox.is_own = false;
    fox.last_processed = Some(moment("2026-01-03T00:00-00:00"));
    fox.covered_until = Some(now());
    fox.lists = vec![ListMemory {
        url: url("https://s.example/fox/changes.xml"),
        from: Some(moment("2026")),
        until: Some(moment("2026-02-03T04:05:06Z")),
        lastmod: Some(moment("2026-02")),
        read_at: Some(now()),
        is_finished: true,
    }];
    let mut whole = record(vec![
        fox.clone(),
        collection("https://s.example/", vec![], vec![]),
    ]);
    let problem = Problem::new(Code::NoFrom, &url("https://s.example/c.xml"), "it has none").at(3);
    whole.problems = vec![problem.clone()];
    whole.site.as_mut().unwrap().about = about("Site");
    whole.failures = 2;
    whole.outcome = Outcome::Partial;
    whole.status = SiteStatus::Failing;
    let document = DocumentMemory {
        validators: Some(Validators {
            url: url("https://s.example/final.xml"),
            etag: Some(b"W/\"\xff\x00\"".to_vec()),
            last_modified: Some(b"".to_vec()),
        }),
        read_at: now(),
        outline: "<urlset/>".into(),
        problems: vec![problem.clone()],
    };
    let bare = DocumentMemory {
        validators: None,
        outline: String::new(),
        problems: vec![],
        ..document.clone()
    };
    let documents = [
        (url("https://s.example/a"), document),
        (url("https://s.example/b"), bare),
    ];
    whole.documents = documents.to_vec();

    let saved = store.save_check(site, check, whole.clone()).await.unwrap();
    assert_eq!(
        (saved.new_changes, saved.entries.len(), saved.already_saved),
        (3, 2, false)
    );
    store.close().await.unwrap();
    let store = Store::open(folder.path()).await.unwrap();

    let row = store.site(site).await.unwrap().unwrap();
    assert_eq!(
        row.root,
        Some(url("https://s.example/.well-known/resourcesync"))
    );
    assert_eq!(
        (row.format, row.title.as_deref()),
        (Some(Format::ResourceSync), Some("A site"))
    );
    assert_eq!(
        (row.status, row.about),
        (SiteStatus::Failing, about("Site"))
    );
    assert_eq!(row.last_check_at, Some(whole.finished_at));
    assert_eq!(row.next_check_at, Some(whole.next_check_at));
    assert_eq!(row.collections.len(), 2);
    let shown = &row.collections[0];
    assert_eq!(
        (&shown.identity, shown.title.as_str()),
        (&fox.identity, "A collection")
    );
    assert_eq!((&shown.about, shown.is_own), (&fox.about, false));
    assert_eq!(
        (&shown.described_by, shown.last_processed),
        (&fox.described_by, fox.last_processed)
    );

    let memory = store.memory(site).await.unwrap().unwrap();
    assert_eq!((memory.interval_secs, memory.failures), (3600, 2));
    assert_eq!(memory.documents, HashMap::from(documents));
    let kept = &memory.collections[0];
    assert_eq!(kept.id, shown.id);
    assert_eq!((&kept.lists, &kept.about), (&fox.lists, &fox.about));
    assert_eq!(
        (&kept.capability_list, kept.covered_until),
        (&fox.capability_list, fox.covered_until)
    );
    assert_eq!(kept.last_processed, fox.last_processed);
    let mut known = Known::default();
    for change in silent.iter().chain(&first.changes).chain(&second.changes) {
        known.add(ChangeKey::new(&change.url, change.kind, &change.datetime));
    }
    assert_eq!(*kept.known.get().await.unwrap(), known);

    let entries = store.entries(kept.id, 50).await.unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(
        (entries[0].updated_at.timestamp(), &entries[0].changes),
        (second.updated_at.timestamp(), &second.changes)
    );
    assert_eq!(
        (entries[1].updated_at.timestamp(), &entries[1].changes),
        (first.updated_at.timestamp(), &first.changes)
    );
    assert_eq!(
        [&entries[1].id, &entries[0].id],
        [&saved.entries[0], &saved.entries[1]]
    );

    let checks = store.checks(site, None, 10).await.unwrap();
    assert_eq!(checks.len(), 1);
    assert_eq!(
        Some(&checks[0]),
        store.check(site, check).await.unwrap().as_ref()
    );
    assert_eq!(
        (checks[0].outcome, checks[0].finished_at),
        (Some(Outcome::Partial), Some(now()))
    );
    assert_eq!(
        (checks[0].requests, checks[0].bytes, checks[0].new_changes),
        (3, 4096, 3)
    );
    assert_eq!(
        (checks[0].summary.as_str(), &checks[0].problems),
        ("Something new.", &vec![problem])
    );
    assert_eq!(store.checks(site, Some(check), 10).await.unwrap(), []);
}

#[tokio::test]
async fn saving_a_check_twice_changes_nothing() {
    let (_folder, store, site) = store_with_site().await;
    let check = store.number_check().await.unwrap();
    store.begin_check(site, check, now()).await.unwrap();
    let changes = || vec![entry(vec![change("a", "2026-01-01")])];
    let once = record(vec![collection("https://s.example/", vec![], changes())]);
    store.save_check(site, check, once.clone()).await.unwrap();
    let before = (
        store.site(site).await.unwrap(),
        store.changes(site, None, 10).await.unwrap(),
    );
    let mut other = once;
    other.next_check_at = now() + TimeDelta::days(9);
    let again = store.save_check(site, check, other).await.unwrap();
    assert!(again.already_saved && again.entries.is_empty());
    let after = (
        store.site(site).await.unwrap(),
        store.changes(site, None, 10).await.unwrap(),
    );
    assert_eq!(before, after);
}

#[tokio::test]
async fn a_change_that_comes_several_times_is_known_several_times() {
    let (_folder, store, site) = store_with_site().await;
    let twice = vec![change("a", "2026-01-01"), change("a", "2026-01-01")];
    save(
        &store,
        site,
        record(vec![collection(
            "https://s.example/",
            twice.clone(),
            vec![entry(twice.clone())],
        )]),
    )
    .await;
    let memory = store.memory(site).await.unwrap().unwrap();
    let key = ChangeKey::new(&twice[0].url, twice[0].kind, &twice[0].datetime);
    let known = memory.collections[0].known.get().await.unwrap();
    assert_eq!((known.times(key), known.len()), (4, 1));
}

#[tokio::test]
async fn what_a_later_check_did_not_read_keeps_what_it_has() {
    let (_folder, store, site) = store_with_site().await;
    let mut first = record(vec![collection(
        "https://s.example/",
        vec![],
        vec![entry(vec![change("a", "2026")])],
    )]);
    let document = DocumentMemory {
        validators: None,
        read_at: now(),
        outline: "1".into(),
        problems: vec![],
    };
    first.documents = vec![(url("https://s.example/a"), document)];
    save(&store, site, first).await;
    let mut failed = record(vec![]);
    failed.site = None;
    failed.status = SiteStatus::Failing;
    save(&store, site, failed).await;
    let row = store.site(site).await.unwrap().unwrap();
    assert_eq!(
        (row.status, row.title.as_deref()),
        (SiteStatus::Failing, Some("A site"))
    );
    let memory = store.memory(site).await.unwrap().unwrap();
    assert_eq!(
        (memory.documents.len(), memory.collections[0].change_count),
        (1, 1)
    );
}

#[tokio::test]
async fn changes_are_paged_in_the_order_in_which_they_were_found() {
    let (_folder, store, site) = store_with_site().await;
    let pages = |names: &[&str]| {
        names
            .iter()
            .map(|name| change(name, "2026"))
            .collect::<Vec<_>>()
    };
    for round in ["1", "2"] {
        let named = |names: [&str; 2]| {
            pages(
                &names
                    .map(|name| format!("{name}{round}"))
                    .each_ref()
                    .map(String::as_str),
            )
        };
        let record = record(vec![
            collection(
                "https://s.example/x/",
                named(["hush", "hush"]),
                vec![entry(named(["a", "b"])), entry(named(["c", "d"]))],
            ),
            collection(
                "https://s.example/y/",
                vec![],
                vec![entry(named(["e", "f"]))],
            ),
        ]);
        save(&store, site, record).await;
    }
    let expected: Vec<String> = [
        "a1", "b1", "c1", "d1", "e1", "f1", "a2", "b2", "c2", "d2", "e2", "f2",
    ]
    .iter()
    .map(|name| format!("https://s.example/{name}"))
    .collect();
    for limit in [1, 2, 3, 5, 12, 100] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let (rows, next) = store.changes(site, after, limit).await.unwrap();
            assert!(rows.len() <= limit as usize);
            found.extend(rows.into_iter().map(|row| row.change.url));
            match next {
                Some(next) => after = Some(next.to_string().parse().unwrap()),
                None => break,
            }
        }
        assert_eq!(found, expected, "{limit} at a time");
    }
    let newest = store
        .newest_changes(first_collection(&store, site).await, 3)
        .await
        .unwrap();
    let newest: Vec<_> = newest.iter().map(|row| row.change.url.as_str()).collect();
    assert_eq!(
        newest,
        [
            "https://s.example/d2",
            "https://s.example/c2",
            "https://s.example/b2"
        ]
    );
    let entries = store.site_entries(site, 2).await.unwrap();
    assert_eq!(entries[0].1.changes, pages(&["e2", "f2"]));
    assert_eq!(entries[1].1.changes, pages(&["c2", "d2"]));
    let (rows, _) = store.changes(site, None, 1).await.unwrap();
    assert_eq!(
        (rows[0].collection.as_str(), rows[0].found_at),
        ("https://s.example/x/", now())
    );
    assert_eq!(
        rows[0].entry,
        store
            .entries(first_collection(&store, site).await, 9)
            .await
            .unwrap()[3]
            .id
    );
    let last = store
        .changes(site, None, 100)
        .await
        .unwrap()
        .0
        .pop()
        .unwrap()
        .cursor;
    assert_eq!(
        store.changes(site, Some(last), 100).await.unwrap(),
        (vec![], None)
    );
}

#[tokio::test]
async fn sites_are_due_when_their_time_has_come_and_they_are_not_paused() {
    let (_folder, store, site) = store_with_site().await;
    let (later, _) = store
        .add_site(&url("https://t.example/"), now() + TimeDelta::hours(2))
        .await
        .unwrap();
    let due = async |hours| -> Vec<SiteId> {
        let due = store
            .due(now() + TimeDelta::hours(hours), 10, &[])
            .await
            .unwrap();
        due.sites.into_iter().map(|due| due.id).collect()
    };
    assert_eq!(due(-1).await, []);
    assert_eq!(due(0).await, [site]);
    assert_eq!(due(3).await, [site, later]);
    assert_eq!(store.next_due_at().await.unwrap(), Some(now()));
    assert!(store.set_paused(site, true, now()).await.unwrap());
    assert_eq!(due(3).await, [later]);
    let row = store.site(site).await.unwrap().unwrap();
    assert_eq!((row.status, row.next_check_at), (SiteStatus::Paused, None));
    // A check that was under way is saved, and the pause stays.
    save(&store, site, record(vec![])).await;
    assert_eq!(
        store.memory(site).await.unwrap().unwrap().status,
        SiteStatus::Paused
    );
    assert!(store.set_paused(site, false, now()).await.unwrap());
    assert_eq!(
        store.site(site).await.unwrap().unwrap().status,
        SiteStatus::Ok
    );
    assert_eq!(due(0).await, [site]);
    assert!(!store.set_paused(SiteId(99), true, now()).await.unwrap());
    assert_eq!(
        store
            .add_site(&url("https://t.example/"), now())
            .await
            .unwrap(),
        (later, false)
    );
    assert_eq!(store.sites(Some(site), 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_check_that_a_crash_cut_off_is_ended_at_the_next_start() {
    let (folder, store, site) = store_with_site().await;
    let check = store.number_check().await.unwrap();
    store.begin_check(site, check, now()).await.unwrap();
    drop(store);
    let store = Store::open(folder.path()).await.unwrap();
    assert_eq!(store.abandon_checks(now()).await.unwrap(), 1);
    assert_eq!(store.abandon_checks(now()).await.unwrap(), 0);
    let row = store.check(site, check).await.unwrap().unwrap();
    assert_eq!(
        (row.outcome, row.finished_at),
        (Some(Outcome::Failed), Some(now()))
    );
    assert!(!row.summary.is_empty());
}

#[tokio::test]
async fn a_site_that_is_removed_takes_everything_of_its_own_with_it() {
    let (_folder, store, site) = store_with_site().await;
    let (other, _) = store
        .add_site(&url("https://t.example/"), now())
        .await
        .unwrap();
    let changes = || vec![entry(vec![change("a", "2026")])];
    save(
        &store,
        other,
        record(vec![collection("https://t.example/", vec![], changes())]),
    )
    .await;
    save(
        &store,
        site,
        record(vec![collection("https://s.example/", vec![], changes())]),
    )
    .await;
    let check = store.number_check().await.unwrap();
    store.begin_check(site, check, now()).await.unwrap();
    assert!(store.remove_site(site, now()).await.unwrap());
    assert!(!store.remove_site(site, now()).await.unwrap());
    assert!(
        store.site(site).await.unwrap().is_none() && store.memory(site).await.unwrap().is_none()
    );
    let late = store.save_check(site, check, record(vec![])).await;
    assert!(matches!(late, Err(StoreError::NotFound(_))));
    assert!(matches!(
        store
            .begin_check(site, store.number_check().await.unwrap(), now())
            .await,
        Err(StoreError::NotFound("site"))
    ));
    assert_eq!(store.changes(other, None, 9).await.unwrap().0.len(), 1);
    let (again, _) = store
        .add_site(&url("https://s.example/"), now())
        .await
        .unwrap();
    assert_ne!(again, site);
}

#[tokio::test]
async fn many_checks_saved_at_once_are_each_saved_as_if_alone() {
    let (_folder, store, _) = store_with_site().await;
    let mut saving = tokio::task::JoinSet::new();
    for number in 0..64 {
        let store = store.clone();
        saving.spawn(async move {
            let address = url(&format!("https://s{number}.example/"));
            let (site, _) = store.add_site(&address, now()).await.unwrap();
            let check = store.number_check().await.unwrap();
            store.begin_check(site, check, now()).await.unwrap();
            let changes = vec![change("page", "2026-01-01")];
            let mut found = collection(address.as_str(), vec![], vec![entry(changes)]);
            // Every fourth one fails when half of it is written.
            let fails = number % 4 == 0;
            let mut broken = found.clone();
            broken.id = Some(CollectionId(i64::MAX));
            let mut all = vec![found.clone()];
            if fails {
                all.push(broken);
            }
            let result = store.save_check(site, check, record(all)).await;
            let row = store.site(site).await.unwrap().unwrap();
            let done = store.check(site, check).await.unwrap().unwrap();
            if fails {
                assert!(matches!(result, Err(StoreError::NotFound("collection"))));
                assert!(row.collections.is_empty() && done.finished_at.is_none());
                // And the next try is as good as ever.
                found.title = "Another try".into();
                let result = store.save_check(site, check, record(vec![found])).await;
                assert_eq!(result.unwrap().new_changes, 1);
            } else {
                assert_eq!(result.unwrap().new_changes, 1);
                assert_eq!(row.collections.len(), 1);
                assert_eq!(done.new_changes, 1);
            }
            site
        });
    }
    for site in saving.join_all().await {
        assert_eq!(store.changes(site, None, 10).await.unwrap().0.len(), 1);
    }
}

#[tokio::test]
async fn no_two_entries_of_a_site_have_the_same_time_and_each_keeps_its_own() {
    let (_folder, store, site) = store_with_site().await;
    let entry = |page: &str| entry(vec![change(page, "2026-01-03")]);
    let collections = || {
        let entries = |names: [&str; 2]| names.map(entry).into();
        vec![
            collection("https://s.example/fox/", vec![], entries(["a", "b"])),
            collection("https://s.example/owl/", vec![], entries(["c", "d"])),
        ]
    };
    save(&store, site, record(collections())).await;
    let before = store.site_entries(site, 50).await.unwrap();
    let times: std::collections::BTreeSet<_> =
        before.iter().map(|(_, entry)| entry.updated_at).collect();
    assert_eq!(times.len(), 4);
    assert!(
        times
            .iter()
            .all(|time| time.timestamp() == now().timestamp())
    );
    save(&store, site, record(vec![])).await;
    assert_eq!(store.site_entries(site, 50).await.unwrap(), before);
}

/// In a feed over several sites, also where every page has an entry of its own and so a time of its own.
#[tokio::test]
async fn no_two_entries_of_different_sites_have_the_same_time() {
    let (_folder, store, first) = store_with_site().await;
    let mut sites = vec![first];
    // The last of them is the thousandth after the first, from which on last digits are those of others again.
    for number in 1..=1_000 {
        let url = format!("https://s{number}.example/").parse().unwrap();
        sites.push(store.add_site(&url, now()).await.unwrap().0);
    }
    let page = |place| change(&format!("page-{place}"), "2026-01-03");
    let mut taken = std::collections::BTreeSet::new();
    for site in [sites[0], sites[1], sites[300], sites[999], sites[1_000]] {
        for count in [300, 1, 250] {
            let changes = (0..count).map(page).collect();
            let found = collection("https://s.example/fox/", vec![], vec![entry(changes)]);
            save(&store, site, record(vec![found])).await;
            let (_, newest) = store.site_entries(site, 1).await.unwrap().remove(0);
            assert_eq!(newest.updated_at.timestamp(), now().timestamp());
            for place in 0..count {
                let time = newest.updated_at + TimeDelta::microseconds(place);
                assert!(taken.insert(time), "two pages have the time {time}");
            }
        }
    }
}

#[tokio::test]
async fn an_entry_for_one_collection_alone_takes_no_place_among_those_of_the_site() {
    let (_folder, store, site) = store_with_site().await;
    let alone = |mut entry: NewEntry| {
        entry.is_for_site = false;
        entry
    };
    let named = |name: &str| entry(vec![change(name, "2026-03-01")]);
    let x = vec![alone(named("a")), named("b"), alone(named("c"))];
    let y = vec![named("d"), alone(named("e"))];
    let collections = vec![
        collection("https://s.example/x/", vec![], x),
        collection("https://s.example/y/", vec![], y),
    ];
    save(&store, site, record(collections)).await;
    let row = store.site(site).await.unwrap().unwrap();
    let counts: Vec<i64> = row.collections.iter().map(|one| one.entry_count).collect();
    assert_eq!((row.entry_count, counts), (2, vec![3, 2]));
    let pages = |rows: Vec<EntryRow>| -> Vec<String> {
        let changes = rows.into_iter().flat_map(|row| row.entry.changes);
        changes
            .map(|change| change.url.replace("https://s.example/", ""))
            .collect()
    };
    let of_site = EntriesOf::Site(site);
    let in_places = store.entries_in(of_site, 0..9).await.unwrap();
    assert_eq!(pages(in_places), ["d", "b"]);
    for place in [0, 1] {
        let one = store.entries_in(of_site, place..place + 1).await.unwrap();
        assert_eq!(one.len(), 1, "at {place}");
    }
    let newest = store.entries_before(of_site, i64::MAX, 9).await.unwrap();
    assert_eq!(pages(newest), ["d", "b"]);
    assert_eq!(store.first_place(of_site).await.unwrap(), Some(0));
    let of_x = EntriesOf::Collection(row.collections[0].id);
    let newest = store.entries_before(of_x, i64::MAX, 9).await.unwrap();
    assert_eq!(pages(newest), ["c", "b", "a"]);
}
