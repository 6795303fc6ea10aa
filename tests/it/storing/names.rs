use std::collections::HashSet;

use sitebell::store::Store;

use super::{change, collection, entry, now, record, save, store_with_site, url};

fn one() -> Vec<sitebell::memory::NewEntry> {
    vec![entry(vec![change("a", "2026")])]
}

#[tokio::test]
async fn ids_differ_and_stay() {
    let (folder, store, site) = store_with_site().await;
    let (other, _) = store
        .add_site(&url("https://bücher.example/"), now())
        .await
        .unwrap();
    let mut ids = Vec::new();
    for site in [site, other] {
        for _ in 0..2 {
            let x = collection("https://s.example/x/", vec![], [one(), one()].concat());
            let y = collection("https://s.example/y/", vec![], one());
            ids.extend(save(&store, site, record(vec![x, y])).await.entries);
        }
    }
    assert_eq!(ids.len(), 12);
    for row in store.sites(None, 10).await.unwrap() {
        ids.push(row.feed_id);
        ids.extend(
            row.collections
                .into_iter()
                .map(|collection| collection.feed_id),
        );
    }
    let instance = store.instance().await;
    assert!(
        ids.iter()
            .all(|id| id.starts_with("tag:") && id.is_ascii() && id.contains(&instance))
    );
    assert!(ids.contains(&format!(
        "tag:xn--bcher-kva.example,2026-05-04:sitebell:{instance}:site:2"
    )));
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 18);

    let before = store.sites(None, 10).await.unwrap();
    store.close().await.unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    assert_eq!(store.sites(None, 10).await.unwrap(), before);
    assert_eq!(store.instance().await, instance);
    let kept: Vec<String> = store
        .site_entries(site, 50)
        .await
        .unwrap()
        .into_iter()
        .map(|(_, entry)| entry.id)
        .collect();
    assert!(kept.len() == 6 && kept.iter().all(|id| ids.contains(id)));

    let (_folder, elsewhere, _) = store_with_site().await;
    assert_ne!(elsewhere.instance().await, instance);
}

#[tokio::test]
async fn names_in_addresses_are_readable_unique_and_never_change() {
    let (_folder, store, site) = store_with_site().await;
    let identities = [
        "https://s.example/",
        "https://s.example/a/fox/",
        "https://s.example/b/fox/",
    ];
    let collections = || {
        identities
            .iter()
            .map(|identity| collection(identity, vec![], vec![]))
            .collect::<Vec<_>>()
    };
    save(&store, site, record(collections())).await;
    let slugs = async || -> Vec<String> {
        let row = store.site(site).await.unwrap().unwrap();
        row.collections
            .into_iter()
            .map(|collection| collection.slug)
            .collect()
    };
    assert_eq!(slugs().await, ["s.example", "fox", "b-fox"]);
    let mut renamed = collections();
    renamed[1].title = "Another name".into();
    renamed.reverse();
    save(&store, site, record(renamed)).await;
    assert_eq!(slugs().await, ["s.example", "fox", "b-fox"]);

    let (idn, _) = store
        .add_site(&url("https://bücher.example/"), now())
        .await
        .unwrap();
    let (plain, _) = store
        .add_site(&url("http://s.example/"), now())
        .await
        .unwrap();
    assert_eq!(
        store.site_by_slug("bücher.example").await.unwrap(),
        Some(idn)
    );
    assert_eq!(
        store.site_by_slug("s.example-2").await.unwrap(),
        Some(plain)
    );
    assert_eq!(
        store.site_by_url(&url("https://s.example/")).await.unwrap(),
        Some(site)
    );
    assert_eq!(store.site_by_slug("none").await.unwrap(), None);
}

#[tokio::test]
async fn a_collection_is_found_by_its_address_inside_its_site_only() {
    let (_folder, store, site) = store_with_site().await;
    let (other, _) = store
        .add_site(&url("https://t.example/"), now())
        .await
        .unwrap();
    let identity = "https://s.example/x/";
    save(
        &store,
        site,
        record(vec![collection(identity, vec![], vec![])]),
    )
    .await;
    assert!(
        store
            .collection(site, &url(identity))
            .await
            .unwrap()
            .is_some()
    );
    assert!(
        store
            .collection(other, &url(identity))
            .await
            .unwrap()
            .is_none()
    );
}
