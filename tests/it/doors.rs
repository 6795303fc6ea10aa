//! Every route, as nobody, as somebody else and as an admin. The list of routes is held against the source, so that one
//! that is added without saying here who may use it fails.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use chrono::TimeDelta;
use sitebell::secret::{Password, hash_password};

use crate::ask::{Answered, Ask};
use crate::den::Den;
use crate::person::Person;
use crate::world::World;

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    /// Everybody.
    All,
    /// Who is signed in.
    SignedIn,
    /// Who runs the instance.
    Admins,
    /// Programs with a token; tests/it/api.rs walks these.
    Programs,
}

use Who::{Admins, All, Programs, SignedIn};

/// Every route with its methods and who may use it.
const ROUTES: &[(&str, &str, Who)] = &[
    ("/", "GET", All),
    ("/sites", "POST", All),
    ("/check", "GET", All),
    ("/check/reading.json", "GET", All),
    ("/check/keep", "POST", All),
    ("/check/{report}", "GET", All),
    ("/check/{report}/remove", "POST", SignedIn),
    ("/ping", "GET, POST", All),
    ("/docs/", "GET", All),
    ("/docs/{page:.+}", "GET", All),
    ("/.well-known/resourcesync", "GET", All),
    ("/sitebell/{file:.+}", "GET", All),
    ("/healthz", "GET", All),
    // From this machine; tests/it/operating.rs knows more.
    ("/metrics", "GET", All),
    ("/static/{name}", "GET", All),
    ("/sites/{site}", "GET", All),
    ("/sites/{site}/", "GET", All),
    ("/sites/{site}/reading.json", "GET", All),
    ("/sites/{site}/badge.svg", "GET", All),
    ("/sites/{site}/feed.{form}", "GET", All),
    ("/sites/{site}/archive/{archive}.{form}", "GET", All),
    ("/sites/{site}/{collection}", "GET", All),
    ("/sites/{site}/{collection}/", "GET", All),
    ("/sites/{site}/{collection}/feed.{form}", "GET", All),
    (
        "/sites/{site}/{collection}/archive/{archive}.{form}",
        "GET",
        All,
    ),
    ("/sites/{site}/{collection}/entries/{n}", "GET", All),
    // With a key in its address.
    ("/home/feed.{form}", "GET", All),
    ("/sign-in", "GET, POST", All),
    ("/sign-up", "GET, POST", All),
    ("/first-account", "GET, POST", All),
    ("/recover", "GET, POST", All),
    ("/sign-out", "POST", SignedIn),
    ("/welcome", "GET", SignedIn),
    ("/home", "GET", SignedIn),
    ("/home/sites", "GET", SignedIn),
    ("/home/folder", "POST", SignedIn),
    ("/home/import", "GET, POST", SignedIn),
    ("/home/import/reading.json", "GET", SignedIn),
    ("/home/export.opml", "GET", SignedIn),
    ("/follow", "POST", SignedIn),
    ("/unfollow", "POST", SignedIn),
    ("/settings", "GET", SignedIn),
    ("/settings/password", "GET, POST", SignedIn),
    ("/settings/recovery-code", "POST", SignedIn),
    ("/settings/sessions", "GET, POST", SignedIn),
    ("/settings/sessions/others", "POST", SignedIn),
    ("/settings/tokens", "GET, POST", SignedIn),
    ("/settings/tokens/revoke", "POST", SignedIn),
    ("/settings/feed", "POST", SignedIn),
    ("/settings/time-zone", "GET, POST", SignedIn),
    ("/settings/reports", "GET", SignedIn),
    ("/settings/data.json", "GET", SignedIn),
    ("/settings/delete", "GET, POST", SignedIn),
    ("/admin", "GET", Admins),
    ("/admin/sites", "GET", Admins),
    ("/admin/sites/check", "POST", Admins),
    ("/admin/sites/pause", "POST", Admins),
    ("/admin/sites/remove", "GET, POST", Admins),
    ("/admin/accounts", "GET", Admins),
    ("/admin/accounts/disable", "POST", Admins),
    ("/admin/accounts/quotas", "POST", Admins),
    ("/admin/accounts/{account}", "GET", Admins),
    ("/admin/reports", "GET", Admins),
    ("/admin/invites", "GET, POST", Admins),
    ("/admin/invites/revoke", "POST", Admins),
    ("/api/v1", "", Programs),
];

/// A path that the route answers, of things that are there.
fn example(route: &str) -> String {
    let route = match route {
        "/admin/sites/remove" => "/admin/sites/remove?site=1",
        "/static/{name}" => "/static/style.css",
        route => route,
    };
    (route.replace("{form}", "atom"))
        .replace("{account}", "1")
        .replace("{site}", "fox.example")
}

fn has(methods: &str, method: &str) -> bool {
    methods.split(", ").any(|known| known == method)
}

/// Every path in the functions that make routes.
fn routes_in_the_source() -> BTreeSet<String> {
    let mut files = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/web")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    let mut routes = BTreeSet::new();
    for file in files.iter().filter(|file| !file.ends_with("api/mod.rs")) {
        let text = fs::read_to_string(file).unwrap();
        for body in text.split("pub fn routes(").skip(1) {
            let body = body.split("\n}\n").next().unwrap();
            let literals = body.split('"').skip(1).step_by(2);
            routes.extend(
                literals
                    .filter(|text| text.starts_with('/'))
                    .map(str::to_owned),
            );
        }
    }
    routes
}

#[test]
fn the_list_of_routes_is_whole() {
    let listed: BTreeSet<String> = ROUTES.iter().map(|(path, ..)| (*path).to_owned()).collect();
    assert_eq!(listed.len(), ROUTES.len(), "one of them is there twice");
    assert_eq!(routes_in_the_source(), listed);
}

/// The token that forms of this browser carry.
fn token(person: &mut Person) -> String {
    person.open("/sign-in").value("csrf")
}

fn is_sent_to_sign_in(answer: &Answered) -> bool {
    let location = answer.header("location").unwrap_or_default();
    answer.status == 303 && location.starts_with("/sign-in")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_door_is_closed_to_those_who_may_not_enter() {
    let world = World::new().await;
    let mut bob = world.person("bob").await;
    let mut alice = world.person("alice").await;
    let mut visitor = Person::at(world.address());
    let visitors = token(&mut visitor);
    let bobs = bob.open("/settings").value("csrf");
    for (route, methods, who) in ROUTES.iter().filter(|(.., who)| *who != Programs) {
        let path = example(route);
        if has(methods, "GET") {
            let nobody = visitor.ask(Ask::get(&path));
            let somebody = bob.ask(Ask::get(&path));
            match who {
                All | Programs => assert!(!is_sent_to_sign_in(&nobody), "{route}"),
                SignedIn => {
                    assert!(is_sent_to_sign_in(&nobody), "{route}");
                    assert_eq!(somebody.status, 200, "{route}");
                }
                Admins => {
                    assert!(is_sent_to_sign_in(&nobody), "{route}");
                    assert_eq!(somebody.status, 403, "{route}");
                    assert!(somebody.text().contains("for admins"), "{route}");
                    let status = alice.ask(Ask::get(&path)).status;
                    assert!(matches!(status, 200 | 404), "{route}: {status}");
                }
            }
            if *who != All {
                for answer in [&nobody, &somebody] {
                    let caching = answer.header("cache-control").unwrap();
                    assert!(caching.contains("no-store"), "{route}: {caching}");
                }
                assert!(nobody.text().len() < 5_000, "{route} shows nothing");
            }
        }
        if has(methods, "POST") && *who != All {
            let answer = visitor.post(&path, &[("csrf", &visitors)]);
            assert!(is_sent_to_sign_in(&answer), "{route}: {}", answer.status);
            if *who == Admins {
                let fields = [
                    ("csrf", bobs.as_str()),
                    ("site", "1"),
                    ("account", "1"),
                    ("note", "x"),
                ];
                assert_eq!(bob.post(&path, &fields).status, 403, "{route}");
            }
        }
    }
    assert_eq!(world.store().invites().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_changes_without_the_token_of_a_form_or_from_another_site() {
    let world = World::new().await;
    let mut alice = world.person("alice").await;
    let good = alice.open("/settings").value("csrf");
    for (route, methods, who) in ROUTES.iter().filter(|(.., who)| *who != Programs) {
        let path = example(route);
        // The second takes no token, because nothing depends on who sends it; tests/it/pinging.rs knows more.
        if matches!(*route, "/healthz" | "/metrics" | "/ping") {
            continue;
        }
        // Nobody sends so many forms at once.
        world.pass(TimeDelta::minutes(10));
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            let send = |body: String, site: &str| {
                let ask = Ask::new(method, &path).body(body);
                let ask = ask.header("Content-Type", "application/x-www-form-urlencoded");
                ask.header("Sec-Fetch-Site", site)
            };
            for ask in [
                send(String::new(), "same-origin"),
                send("csrf=1".to_owned(), "same-origin"),
                send(format!("csrf={good}"), "cross-site"),
                send(format!("csrf={good}"), "same-site"),
            ] {
                let answer = alice.ask(ask);
                assert_eq!(answer.status, 403, "{method} {route}");
                assert!(answer.text().contains("out of date"), "{method} {route}");
            }
            // With it, only what is there is answered.
            if !has(methods, method) {
                let answer = alice.ask(send(format!("csrf={good}"), "same-origin"));
                assert_eq!(answer.status, 405, "{method} {route} {who:?}");
            }
        }
    }
    assert_eq!(
        alice.open("/settings").status(),
        200,
        "still there, still signed in"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_tells_browsers_to_be_careful() {
    let den = Den::new();
    let world = World::new().await;
    world.follow(&den.url("/")).await;
    let mut alice = world.person("alice").await;
    let mut visitor = Person::at(world.address());
    for (route, methods, who) in ROUTES.iter().filter(|(.., who)| *who != Programs) {
        if !has(methods, "GET") {
            continue;
        }
        for person in [&mut alice, &mut visitor] {
            let answer = person.ask(Ask::get(&example(route)));
            let header = |name: &str| {
                answer
                    .header(name)
                    .unwrap_or_else(|| panic!("{route}: {name}"))
            };
            let policy = header("content-security-policy");
            for part in [
                "default-src 'none'",
                "script-src 'self'",
                "form-action 'self'",
                "base-uri 'none'",
                "frame-ancestors 'none'",
            ] {
                assert!(policy.contains(part), "{route}: {policy}");
            }
            assert!(!policy.contains("unsafe"), "{route}: {policy}");
            assert_eq!(header("x-content-type-options"), "nosniff");
            assert_eq!(header("x-frame-options"), "DENY");
            assert_eq!(header("referrer-policy"), "no-referrer");
            assert_eq!(header("cross-origin-opener-policy"), "same-origin");
            let is_page = answer
                .header("content-type")
                .is_some_and(|it| it.starts_with("text/html"));
            if is_page {
                let text = answer.text();
                assert!(
                    !text.contains("<script>")
                        && !text.contains(" style=")
                        && !text.contains(" onclick")
                );
                assert_eq!(text.matches("<h1").count(), 1, "{route} {who:?}");
                assert!(text.len() < 50_000, "{route}");
            }
        }
    }
}

/// Every field of every form.
const FIELDS: &[&str] = &[
    "name",
    "password",
    "next",
    "key",
    "code",
    "current",
    "own",
    "session",
    "token",
    "scope",
    "zone",
    "site",
    "back",
    "paused",
    "account",
    "disabled",
    "sites",
    "lookups",
    "imports",
    "invite",
    "note",
    "url",
    "collection",
    "subscription",
    "folder",
    "file",
];

#[tokio::test(flavor = "multi_thread")]
async fn every_form_survives_whatever_is_typed_into_it() {
    let world = World::new().await;
    let alice = world
        .store()
        .account_by_name("alice")
        .await
        .unwrap()
        .unwrap();
    let password = Password::parse("correct horse").unwrap();
    let hash = hash_password(&password).await.unwrap();
    world
        .store()
        .set_password(alice.id, &hash, None)
        .await
        .unwrap();
    let long = "x".repeat(500);
    let hostile = [
        "",
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "'; DROP TABLE accounts; --",
        "javascript:alert(1)",
        "//evil.example/",
        "\u{202e}\u{0}\r\nSet-Cookie: a=b",
        "-9223372036854775808",
        &long,
    ];
    for (route, methods, _) in ROUTES.iter().filter(|(_, methods, _)| has(methods, "POST")) {
        for typed in hostile {
            world.pass(TimeDelta::minutes(10));
            let mut person = world.person("alice").await;
            let csrf = person.open("/settings").value("csrf");
            let fields = FIELDS.iter().map(|name| (*name, typed));
            let fields: Vec<(&str, &str)> = [("csrf", csrf.as_str())]
                .into_iter()
                .chain(fields.clone())
                .chain(fields)
                .collect();
            let answer = person.post(&example(route), &fields);
            assert!(
                answer.status < 500,
                "{route} {methods} {typed}: {}",
                answer.status
            );
            let text = answer.text();
            assert!(
                !text.contains("<script>alert") && !text.contains("<img src=x"),
                "{route}: {text}"
            );
            assert!(!text.contains("href=\"javascript:"), "{route}: {text}");
            let location = answer.header("location").unwrap_or("/");
            let is_ours = location.starts_with('/') && !location.starts_with("//");
            assert!(is_ours, "{route} leads to {location}");
            let cookies = answer
                .headers
                .iter()
                .filter(|(name, _)| name == "set-cookie");
            assert!(
                cookies.clone().all(|(_, value)| !value.starts_with("a=")),
                "{route}"
            );
        }
        let mut person = world.person("alice").await;
        let csrf = person.open("/settings").value("csrf");
        // A list that is imported may be longer than anything that is typed.
        let huge = "x".repeat(if *route == "/home/import" {
            1_100_000
        } else {
            20_000
        });
        let answer = person.post(&example(route), &[("csrf", &csrf), ("name", &huge)]);
        assert_eq!(answer.status, 413, "{route}");
    }
    let name = world
        .store()
        .account(alice.id)
        .await
        .unwrap()
        .map(|account| account.name);
    assert_eq!(name.as_deref(), Some("alice"), "nothing of this was meant");
}
