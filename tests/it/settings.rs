//! What is one's own: password, sessions, tokens, the private feed, the time zone, one's data, and the end of it.

use chrono::TimeDelta;
use serde_json::json;
use sitebell::account::Registration;

use crate::ask::Ask;
use crate::den::Den;
use crate::person::{Page, Person};
use crate::world::World;

const PASSWORD: &str = "correct horse";

/// A world with carol, who has signed up, and her recovery code.
async fn world() -> (World, Person, String) {
    let mut world = World::new().await;
    world.registration = Registration::Open;
    world.restart().await;
    let mut carol = Person::at(world.address());
    let page = carol.open("/sign-up");
    let fields = [("name", "carol"), ("password", PASSWORD)];
    let page = carol.send(&page, "/sign-up", &fields);
    let code = page.secret();
    (world, carol, code)
}

fn sign_in(world: &World, password: &str) -> (Person, Page) {
    let mut carol = Person::at(world.address());
    let page = carol.open("/sign-in?next=/settings");
    let fields = [("name", "carol"), ("password", password)];
    let page = carol.send(&page, "/sign-in", &fields);
    (carol, page)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_changed_by_who_knows_it_and_other_browsers_are_signed_out() {
    let (world, mut carol, _) = world().await;
    let (mut other, page) = sign_in(&world, PASSWORD);
    assert_eq!(page.path, "/settings");
    let mut change = |current: &str, password: &str| {
        let page = carol.open("/settings/password");
        let fields = [("current", current), ("password", password)];
        carol.send(&page, "/settings/password", &fields)
    };
    let page = change("wrong horse", "better horse");
    assert_eq!(page.error("current"), "This is not your password.");
    for (password, part) in [("", "too short"), ("12345678", "commonest")] {
        let page = change(PASSWORD, password);
        assert!(page.status() == 422 && page.error("password").contains(part));
    }
    assert_eq!(other.open("/settings").path, "/settings");
    let page = change(PASSWORD, "better horse");
    assert!(page.path == "/settings" && page.has("signed out everywhere else"));
    assert_eq!(carol.open("/settings").path, "/settings", "not here");
    assert_eq!(other.open("/settings").path, "/sign-in?next=%2Fsettings");
    assert_eq!(sign_in(&world, PASSWORD).1.status(), 422);
    assert_eq!(sign_in(&world, "better horse").1.path, "/settings");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_recovery_code_replaces_the_old_one() {
    let (world, mut carol, old) = world().await;
    let page = carol.open("/settings/password");
    let page = carol.send(&page, "/settings/recovery-code", &[("own", "wrong horse")]);
    assert_eq!(page.error("own"), "This is not your password.");
    let page = carol.send(&page, "/settings/recovery-code", &[("own", PASSWORD)]);
    let new = page.secret();
    assert!(!carol.open("/settings").has(&new), "it is shown once");
    let recover = |code: &str| {
        let mut person = Person::at(world.address());
        let page = person.open("/recover");
        let fields = [
            ("name", "carol"),
            ("code", code),
            ("password", "third horse"),
        ];
        person.send(&page, "/recover", &fields).status()
    };
    assert_eq!((recover(&old), recover(&new)), (422, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_listed_and_revoked_one_by_one_or_all_but_this() {
    let (world, mut carol, _) = world().await;
    let (mut second, _) = sign_in(&world, PASSWORD);
    let (mut third, _) = sign_in(&world, PASSWORD);
    let page = carol.open("/settings/sessions");
    assert_eq!(
        page.text().matches("Firefox on Linux").count(),
        6,
        "each with its button"
    );
    assert_eq!(page.text().matches("(this one)").count(), 1);
    let ids = || page.text().split("name=\"session\" value=\"").skip(1);
    let ids: Vec<&str> = ids().map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(ids.len(), 3);
    // The one that signed in second stands second.
    let token = page.value("csrf");
    let answer = carol.post(
        "/settings/sessions",
        &[("csrf", &token), ("session", ids[1])],
    );
    assert_eq!(answer.status, 303);
    assert_eq!(second.open("/settings").path, "/sign-in?next=%2Fsettings");
    assert_eq!(third.open("/settings").path, "/settings");
    for wrong in [ids[1], "", "x", "-1", "999999", "9999999999999999999999"] {
        let answer = carol.post(
            "/settings/sessions",
            &[("csrf", &token), ("session", wrong)],
        );
        assert_eq!(answer.status, 404, "{wrong}");
    }
    let page = carol.open("/settings/sessions");
    let page = carol.send(&page, "/settings/sessions/others", &[]);
    assert!(page.has("signed out everywhere else") && !page.has("/settings/sessions/others"));
    assert_eq!(third.open("/settings").path, "/sign-in?next=%2Fsettings");
    // Its own session, too.
    let page = carol.send(&page, "/settings/sessions", &[]);
    assert!(page.path == "/" && page.has("You are signed out."));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_by_itself_when_nobody_comes_and_at_last_anyway() {
    let (world, mut carol, _) = world().await;
    let (mut idle, _) = sign_in(&world, PASSWORD);
    for _ in 0..8 {
        world.pass(TimeDelta::days(20));
        assert_eq!(carol.open("/settings").path, "/settings");
    }
    assert_eq!(idle.open("/settings").path, "/sign-in?next=%2Fsettings");
    world.pass(TimeDelta::days(21));
    assert_eq!(carol.open("/settings").path, "/sign-in?next=%2Fsettings");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_shown_once_does_what_it_may_and_is_revoked() {
    let (world, mut carol, _) = world().await;
    let page = carol.open("/settings/tokens");
    assert!(!page.has("value=\"admin\""), "carol is none");
    for (name, part) in [("", "say what"), (&*"x".repeat(61), "too long")] {
        let fields = [("name", name), ("scope", "read")];
        let page = carol.send(&page, "/settings/tokens", &fields);
        assert!(page.status() == 422);
        assert!(page.error("name").to_lowercase().contains(part));
        assert_eq!(page.value("name"), name);
    }
    let hostile = "<b>mine</b>\"'";
    let page = carol.send(
        &page,
        "/settings/tokens",
        &[("name", hostile), ("scope", "read")],
    );
    let token = page.secret();
    assert!(!page.has("<b>mine") && page.has("&#60;b&#62;mine"));
    assert!(!carol.open("/settings/tokens").has(&token));
    let get = Ask::get("/api/v1/sites").token(&token);
    assert_eq!(world.ask(get.clone()).status, 200);
    let add = Ask::post("/api/v1/sites", &json!({"url": "https://fox.example/"}));
    assert_eq!(world.ask(add.token(&token)).status, 403);
    let admin = [("name", "more"), ("scope", "admin")];
    assert_eq!(carol.send(&page, "/settings/tokens", &admin).status(), 403);
    let page = carol.open("/settings/tokens");
    let page = carol.send(&page, "/settings/tokens/revoke", &[]);
    assert!(page.has("The token is revoked."));
    assert_eq!(world.ask(get).status, 401);
    // Not somebody else's.
    let alice = world
        .store()
        .account_by_name("alice")
        .await
        .unwrap()
        .unwrap();
    let hers = world.store().tokens(alice.id).await.unwrap()[0]
        .id
        .to_string();
    let csrf = page.value("csrf");
    for id in [hers.as_str(), "999999"] {
        let fields = [("csrf", csrf.as_str()), ("token", id)];
        assert_eq!(carol.post("/settings/tokens/revoke", &fields).status, 404);
    }
    assert_eq!(
        world.get("/api/v1/sites")["sites"],
        json!([]),
        "alice's still works"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_private_feed_gets_a_new_address_and_the_old_one_is_dead() {
    let (world, mut carol, _) = world().await;
    let mut renew = || {
        let page = carol.open("/settings");
        let page = carol.send(&page, "/settings/feed", &[]);
        let url: url::Url = page.secret().replace("&#38;", "&").parse().unwrap();
        format!("{}?{}", url.path(), url.query().unwrap())
    };
    let first = renew();
    assert_eq!(world.ask(Ask::get(&first)).status, 200);
    let second = renew();
    assert_eq!(world.ask(Ask::get(&first)).status, 404);
    assert_eq!(world.ask(Ask::get(&second)).status, 200);
    assert!(
        carol
            .open("/settings")
            .has("The present address was made on")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn times_are_shown_where_one_lives() {
    let (world, mut carol, _) = world().await;
    let page = carol.open("/settings/time-zone");
    assert!(page.text().len() < 50_000 && page.has("<option selected>UTC"));
    for wrong in ["", "Mars/Olympus", "<script>"] {
        let page = carol.send(&page, "/settings/time-zone", &[("zone", wrong)]);
        assert!(page.status() == 422 && page.has("There is no such time zone"));
    }
    assert!(
        carol
            .open("/settings/sessions")
            .has("10 March 2026, 12:00 UTC")
    );
    let page = carol.send(&page, "/settings/time-zone", &[("zone", "Asia/Tokyo")]);
    assert!(page.has("Asia/Tokyo"));
    assert!(
        carol
            .open("/settings/sessions")
            .has("10 March 2026, 21:00 JST")
    );
    drop(world);
}

#[tokio::test(flavor = "multi_thread")]
async fn ones_data_is_downloaded_and_has_no_secrets() {
    let (world, mut carol, code) = world().await;
    let den = Den::new();
    let site = world.follow(&den.url("/")).await;
    let account = world
        .store()
        .account_by_name("carol")
        .await
        .unwrap()
        .unwrap();
    let (store, now) = (world.store(), world.now());
    store.subscribe(account.id, site, None, now).await.unwrap();
    let page = carol.open("/settings/tokens");
    let page = carol.send(
        &page,
        "/settings/tokens",
        &[("name", "reader"), ("scope", "read")],
    );
    let token = page.secret();
    let page = carol.open("/settings/data.json");
    let disposition = page.answer.header("content-disposition").unwrap();
    assert!(disposition.starts_with("attachment"));
    assert_eq!(
        page.answer.header("cache-control"),
        Some("no-store, private")
    );
    let data = page.answer.json(200);
    assert_eq!(data["account"]["name"], "carol");
    assert_eq!(data["subscriptions"][0]["site"], den.url("/").as_str());
    assert_eq!(data["sessions"][0]["browser"], "Firefox on Linux");
    assert_eq!(data["tokens"][0]["name"], "reader");
    let secrets = [
        code,
        token,
        "argon2".to_owned(),
        carol.cookies["__Host-sitebell"].clone(),
    ];
    assert!(secrets.iter().all(|secret| !page.has(secret)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_deleted_by_who_knows_its_password_with_all_that_is_its_own() {
    let (world, mut carol, _) = world().await;
    let den = Den::new();
    let site = world.follow(&den.url("/")).await;
    let account = world
        .store()
        .account_by_name("carol")
        .await
        .unwrap()
        .unwrap();
    let (store, now) = (world.store(), world.now());
    store.subscribe(account.id, site, None, now).await.unwrap();
    let page = carol.open("/settings");
    let page = carol.send(&page, "/settings/feed", &[]);
    let feed: url::Url = page.secret().replace("&#38;", "&").parse().unwrap();
    let feed = format!("{}?{}", feed.path(), feed.query().unwrap());
    assert_eq!(world.ask(Ask::get(&feed)).status, 200);
    let page = carol.open("/settings/delete");
    for wrong in ["", "wrong horse"] {
        let page = carol.send(&page, "/settings/delete", &[("password", wrong)]);
        assert_eq!(page.error("password"), "This is not your password.");
    }
    let page = carol.send(&page, "/settings/delete", &[("password", PASSWORD)]);
    assert!(page.path == "/" && page.has("Your account is deleted"));
    assert!(!carol.open("/").has("Your account is deleted"), "told once");
    assert_eq!(world.store().account_by_name("carol").await.unwrap(), None);
    assert_eq!(world.ask(Ask::get(&feed)).status, 404);
    assert_eq!(sign_in(&world, PASSWORD).1.status(), 422);
    assert_eq!(
        world.get(&format!("/api/v1/sites/{site}"))["status"],
        "ok",
        "the site stays"
    );
}
