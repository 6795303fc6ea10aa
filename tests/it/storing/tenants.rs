use sitebell::account::{AccountId, Scope};
use sitebell::site::CollectionId;
use sitebell::store::StoreError;

use super::{collection, first_collection, now, record, save, store_with_site, url};

#[tokio::test]
async fn bob_cannot_see_or_remove_alices_subscription() {
    let (_folder, store, site) = store_with_site().await;
    save(
        &store,
        site,
        record(vec![collection("https://s.example/", vec![], vec![])]),
    )
    .await;
    let part = Some(first_collection(&store, site).await);
    let alice = store
        .add_account("alice", "a", "b", false, now())
        .await
        .unwrap();
    let bob = store
        .add_account("bob", "a", "b", false, now())
        .await
        .unwrap();
    let whole = store.subscribe(alice, site, None, now()).await.unwrap();
    let one = store.subscribe(alice, site, part, now()).await.unwrap();
    assert_eq!(
        store.subscribe(alice, site, None, now()).await.unwrap(),
        whole
    );
    assert_eq!(
        store.subscribe(alice, site, part, now()).await.unwrap(),
        one
    );
    assert_eq!(store.subscriptions(bob).await.unwrap(), []);
    assert!(!store.unsubscribe(bob, whole, now()).await.unwrap());
    assert_eq!(store.subscriptions(alice).await.unwrap().len(), 2);
    assert!(store.unsubscribe(alice, whole, now()).await.unwrap());
    assert!(!store.unsubscribe(alice, whole, now()).await.unwrap());
    let left = store.subscriptions(alice).await.unwrap();
    assert_eq!(
        (left[0].id, left[0].site, left[0].collection),
        (one, site, part)
    );
}

#[tokio::test]
async fn nothing_that_is_not_there_can_be_followed() {
    let (_folder, store, site) = store_with_site().await;
    let (other, _) = store
        .add_site(&url("https://t.example/"), now())
        .await
        .unwrap();
    save(
        &store,
        site,
        record(vec![collection("https://s.example/", vec![], vec![])]),
    )
    .await;
    let part = first_collection(&store, site).await;
    let alice = store
        .add_account("alice", "a", "b", false, now())
        .await
        .unwrap();
    for (account, site, collection) in [
        (AccountId(99), site, None),
        (alice, sitebell::site::SiteId(99), None),
        (alice, site, Some(CollectionId(99))),
        (alice, other, Some(part)),
    ] {
        let refused = store.subscribe(account, site, collection, now()).await;
        assert!(matches!(refused, Err(StoreError::NotFound(_))));
    }
}

#[tokio::test]
async fn an_account_leaves_without_touching_sites_or_others() {
    let (_folder, store, site) = store_with_site().await;
    let alice = store
        .add_account("Alice", "pa", "ra", true, now())
        .await
        .unwrap();
    let bob = store
        .add_account("bob", "pb", "rb", false, now())
        .await
        .unwrap();
    for account in [alice, bob] {
        store.subscribe(account, site, None, now()).await.unwrap();
        store
            .add_token(account, &account.0.to_be_bytes(), "", Scope::Write, now())
            .await
            .unwrap();
    }
    assert!(store.remove_account(alice).await.unwrap());
    assert!(!store.remove_account(alice).await.unwrap());
    assert_eq!(store.account(alice).await.unwrap(), None);
    assert_eq!(store.subscriptions(alice).await.unwrap(), []);
    assert_eq!(
        store
            .account_by_token(&alice.0.to_be_bytes())
            .await
            .unwrap(),
        None
    );
    assert_eq!(store.subscriptions(bob).await.unwrap().len(), 1);
    assert!(
        store
            .account_by_token(&bob.0.to_be_bytes())
            .await
            .unwrap()
            .is_some()
    );
    assert!(store.site(site).await.unwrap().is_some());
    let again = store
        .add_account("alice", "", "", false, now())
        .await
        .unwrap();
    assert_ne!(again, alice);
}

#[tokio::test]
async fn names_of_accounts_differ_by_more_than_case() {
    let (_folder, store, _) = store_with_site().await;
    let id = store
        .add_account("Émile", "p", "r", true, now())
        .await
        .unwrap();
    let taken = store.add_account("éMILE", "p", "r", false, now()).await;
    assert!(matches!(taken, Err(StoreError::Taken)));
    let account = store.account_by_name("émile").await.unwrap().unwrap();
    assert_eq!(
        (account.id, account.name.as_str(), account.is_admin),
        (id, "Émile", true)
    );
    assert_eq!(store.accounts().await.unwrap(), [account]);
    assert_eq!(store.account_by_name("nobody").await.unwrap(), None);
}

#[tokio::test]
async fn a_password_changes_with_or_without_the_recovery_code() {
    let (_folder, store, _) = store_with_site().await;
    let id = store
        .add_account("alice", "p1", "r1", false, now())
        .await
        .unwrap();
    assert!(store.set_password(id, "p2", None).await.unwrap());
    assert_eq!(
        store.password_hash(id).await.unwrap().as_deref(),
        Some("p2")
    );
    assert_eq!(
        store.recovery_hash(id).await.unwrap().as_deref(),
        Some("r1")
    );
    assert!(store.set_password(id, "p3", Some("r3")).await.unwrap());
    assert_eq!(
        store.recovery_hash(id).await.unwrap().as_deref(),
        Some("r3")
    );
    assert!(!store.set_password(AccountId(99), "p", None).await.unwrap());
    assert_eq!(store.password_hash(AccountId(99)).await.unwrap(), None);
}

#[tokio::test]
async fn a_token_works_until_it_is_removed_or_its_account_disabled() {
    let (_folder, store, _) = store_with_site().await;
    let alice = store
        .add_account("alice", "p", "r", false, now())
        .await
        .unwrap();
    let bob = store
        .add_account("bob", "p", "r", false, now())
        .await
        .unwrap();
    store
        .add_token(alice, &[1; 32], "", Scope::Read, now())
        .await
        .unwrap();
    let (account, scope) = store.account_by_token(&[1; 32]).await.unwrap().unwrap();
    assert_eq!((account.id, scope), (alice, Scope::Read));
    assert!(matches!(
        store.add_token(bob, &[1; 32], "", Scope::Read, now()).await,
        Err(StoreError::Taken)
    ));
    assert!(matches!(
        store
            .add_token(AccountId(99), &[2; 32], "", Scope::Read, now())
            .await,
        Err(StoreError::NotFound(_))
    ));
    assert!(store.set_disabled(alice, true).await.unwrap());
    assert_eq!(store.account_by_token(&[1; 32]).await.unwrap(), None);
    assert!(store.account(alice).await.unwrap().unwrap().is_disabled);
    assert!(store.set_disabled(alice, false).await.unwrap());
    let token = store.tokens(alice).await.unwrap().pop().unwrap();
    assert_eq!((token.scope, token.created_at), (Scope::Read, now()));
    assert!(!store.remove_token(bob, token.id).await.unwrap());
    assert!(store.remove_token(alice, token.id).await.unwrap());
    assert_eq!(store.account_by_token(&[1; 32]).await.unwrap(), None);
}
