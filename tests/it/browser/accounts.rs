//! The stories of an account in a real browser: the first start, signing up, sessions, the private feed, and the end.

use sitebell::account::Registration;
use sitebell::secret::FirstKey;

use super::{Browser, Script};
use crate::ask::Ask;
use crate::den::Den;
use crate::person::Person;
use crate::world::World;

const PASSWORD: &str = "correct horse battery";

async fn fill_in(browser: &Browser, name: &str) {
    browser.fill("#name", name).await;
    browser.fill("#password", PASSWORD).await;
}

/// What is shown only once, on the page that is open.
async fn secret(browser: &Browser) -> String {
    browser.find("code.secret").await.text().await.unwrap()
}

async fn the_first_account_is_made(script: Script) {
    let mut world = World::in_browser().await;
    for name in ["alice", "bob"] {
        let account = world.store().account_by_name(name).await.unwrap();
        let id = account.unwrap().id;
        world.store().remove_account(id).await.unwrap();
    }
    let key = FirstKey::make().unwrap();
    world.first = Some(key.hash());
    world.restart().await;
    let browser = Browser::start(script).await;
    let link = world.here(&format!("/first-account?key={}", key.reveal()));
    browser.open(&link).await;
    fill_in(&browser, "zoe").await;
    browser.press("Make the account").await;
    browser.see("Welcome, zoe").await;
    assert_eq!(secret(&browser).await.len(), 34);
    browser.follow("Admin").await;
    browser.see("This instance").await;
    browser.open(&link).await;
    browser.see("it is used up").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_account_is_made_with_scripts() {
    the_first_account_is_made(Script::On).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_account_is_made_without_scripts() {
    the_first_account_is_made(Script::Off).await;
}

/// Signs up, out and in; revokes a session; renews the private feed; deletes the account.
async fn an_account_lives_and_ends(script: Script) {
    let mut world = World::in_browser().await;
    world.registration = Registration::Open;
    world.restart().await;
    let browser = Browser::start(script).await;
    browser.open(&world.here("/")).await;
    browser.follow("Sign up").await;
    fill_in(&browser, "carol").await;
    browser.press("Sign up").await;
    browser.see("Welcome, carol").await;
    let code = secret(&browser).await;
    browser.reload().await;
    browser.see_no_more(&code).await;
    browser.press("Sign out").await;
    browser.see("You are signed out.").await;

    // A wrong password is told, and what was typed is still there.
    browser.open(&world.here("/settings/sessions")).await;
    browser.fill("#name", "carol").await;
    browser.fill("#password", "wrong").await;
    browser.press("Sign in").await;
    browser.see("The name or the password is not right.").await;
    let name = browser.find("#name").await;
    assert_eq!(name.prop("value").await.unwrap().as_deref(), Some("carol"));
    browser.fill("#password", PASSWORD).await;
    browser.press("Sign in").await;
    browser.arrive("/settings/sessions").await;

    let mut other: Person = world.person("carol").await;
    assert_eq!(other.open("/settings").path, "/settings");
    browser.reload().await;
    assert_eq!(browser.count("tbody tr").await, 2);
    browser.click("tbody tr:not(:has(strong)) button").await;
    browser.see("That browser is signed out.").await;
    assert_eq!(other.open("/settings").path, "/sign-in?next=%2Fsettings");

    browser.open(&world.here("/settings")).await;
    browser.press("Make an address").await;
    browser.see("It is shown only now").await;
    let path = |address: String| {
        let address: url::Url = address.parse().unwrap();
        format!("{}?{}", address.path(), address.query().unwrap())
    };
    let first = path(secret(&browser).await);
    assert_eq!(world.ask(Ask::get(&first)).status, 200);
    browser.press("Make a new address").await;
    browser.see("The present address was made on").await;
    browser.see("It is shown only now").await;
    let second = path(secret(&browser).await);
    assert_ne!(first, second);
    assert_eq!(world.ask(Ask::get(&first)).status, 404);
    assert_eq!(world.ask(Ask::get(&second)).status, 200);

    browser.follow("Delete my account").await;
    browser.fill("#password", "wrong").await;
    browser.press("Delete my account").await;
    browser.see("This is not your password.").await;
    browser.fill("#password", PASSWORD).await;
    browser.press("Delete my account").await;
    browser.see("Your account is deleted").await;
    assert_eq!(world.store().account_by_name("carol").await.unwrap(), None);
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_lives_and_ends_with_scripts() {
    an_account_lives_and_ends(Script::On).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_lives_and_ends_without_scripts() {
    an_account_lives_and_ends(Script::Off).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_of_an_account_and_of_an_admin_is_fit_for_everybody() {
    let mut world = World::in_browser().await;
    let key = FirstKey::make().unwrap();
    world.first = Some(key.hash());
    world.registration = Registration::Open;
    world.restart().await;
    let den = Den::new();
    let site = world.follow(&den.url("/")).await;
    let browser = Browser::start(Script::On).await;
    for (name, path) in [("sign-in", "/sign-in"), ("recover", "/recover")] {
        browser.open(&world.here(path)).await;
        browser.look(name).await;
    }
    browser.open(&world.here("/sign-up")).await;
    browser.fill("#name", "a b").await;
    browser.fill("#password", "12345678").await;
    browser.press("Sign up").await;
    browser.see("commonest").await;
    browser.look("sign-up").await;
    fill_in(&browser, "zoe").await;
    browser.press("Sign up").await;
    browser.see("Welcome, zoe").await;
    browser.look("welcome").await;
    for (name, path) in [
        ("settings", "/settings"),
        ("settings-password", "/settings/password"),
        ("settings-sessions", "/settings/sessions"),
        ("settings-time-zone", "/settings/time-zone"),
        ("settings-delete", "/settings/delete"),
    ] {
        browser.open(&world.here(path)).await;
        browser.look(name).await;
    }
    browser.open(&world.here("/settings/tokens")).await;
    browser.fill("#name", "my script").await;
    browser.press("Make a token").await;
    browser.see("It is shown only now").await;
    browser.look("settings-tokens").await;
    browser.open(&world.here("/admin")).await;
    browser.see("for admins").await;
    browser.look("not-an-admin").await;

    let mut alice = world.person("alice").await;
    let cookie = alice.cookies.remove("sitebell").unwrap();
    browser.press("Sign out").await;
    browser.see("You are signed out.").await;
    browser.be_signed_in("sitebell", &cookie).await;
    browser.open(&world.here("/admin/invites")).await;
    browser.fill("#note", "dave").await;
    browser.press("Make an invite").await;
    browser.see("It is shown only now").await;
    browser.look("admin-invites").await;
    let remove = format!("/admin/sites/remove?site={site}");
    for (name, path) in [
        ("admin", "/admin"),
        ("admin-sites", "/admin/sites"),
        ("admin-remove", remove.as_str()),
        ("admin-accounts", "/admin/accounts"),
        ("admin-account", "/admin/accounts/2"),
    ] {
        browser.open(&world.here(path)).await;
        browser.look(name).await;
    }
    browser.close().await;
}
