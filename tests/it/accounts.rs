//! The way in and out, as a person in front of a browser sees it: sign up, sign in, sign out, recover.

use chrono::TimeDelta;
use sitebell::account::Registration;
use sitebell::secret::{FirstKey, InviteKey};

use crate::ask::Ask;
use crate::person::Person;
use crate::world::World;

const SESSION: &str = "__Host-sitebell";
const VISIT: &str = "__Host-sitebell-visit";

async fn world(registration: Registration) -> World {
    let mut world = World::new().await;
    world.registration = registration;
    world.restart().await;
    world
}

fn sign_up(world: &World, name: &str, password: &str) -> (Person, String) {
    let mut person = Person::at(world.address());
    let page = person.open("/sign-up");
    let page = person.send(&page, "/sign-up", &[("name", name), ("password", password)]);
    assert_eq!(
        (page.status(), page.path.as_str()),
        (200, "/welcome"),
        "{}",
        page.text()
    );
    let code = page.secret();
    (person, code)
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_signs_up_sees_the_recovery_code_once_signs_out_and_in_again() {
    let world = world(Registration::Open).await;
    let (mut carol, code) = sign_up(&world, "carol", "correct horse");
    assert_eq!(code.len(), 34);
    assert!(!carol.open("/welcome").has(&code), "it is shown once");
    let session = carol.cookies[SESSION].clone();
    let page = carol.open("/welcome");
    assert_eq!(
        page.answer.header("cache-control"),
        Some("no-store, private")
    );
    let page = carol.send(&page, "/sign-out", &[]);
    assert!(page.path == "/" && page.has("You are signed out."));
    assert!(!carol.cookies.contains_key(SESSION));
    // Whoever kept the cookie has nothing.
    let mut thief = Person::at(world.address());
    thief.cookies.insert(SESSION.to_owned(), session.clone());
    assert_eq!(thief.open("/welcome").path, "/sign-in?next=%2Fwelcome");

    let page = carol.open("/welcome");
    let page = carol.send(
        &page,
        "/sign-in",
        &[("name", "CAROL"), ("password", "correct horse")],
    );
    assert_eq!(
        (page.status(), page.path.as_str()),
        (200, "/welcome"),
        "where it was headed"
    );
    assert_ne!(
        carol.cookies[SESSION], session,
        "each sign-in is a new session"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_is_for_this_host_alone_and_not_for_scripts() {
    let world = world(Registration::Open).await;
    let mut carol = Person::at(world.address());
    let page = carol.open("/sign-up");
    let visit = page.answer.header("set-cookie").unwrap();
    assert!(visit.starts_with(&format!("{VISIT}=")));
    let fields = [("name", "carol"), ("password", "correct horse")];
    let answer = carol.send_only(&page, "/sign-up", &fields);
    let cookies = answer
        .headers
        .iter()
        .filter(|(name, _)| name == "set-cookie");
    let session = cookies
        .map(|(_, value)| value.as_str())
        .find(|value| value.starts_with(&format!("{SESSION}=")));
    for cookie in [visit, session.unwrap()] {
        for part in ["HttpOnly", "SameSite=Lax", "Secure", "Path=/"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        assert!(!cookie.contains("Domain"), "{cookie}");
    }
    let mut plain = World::new().await;
    plain.public = "http://127.0.0.1/".to_owned();
    plain.restart().await;
    let page = Person::at(plain.address()).open("/sign-in");
    let cookie = page.answer.header("set-cookie").unwrap();
    assert!(
        cookie.starts_with("sitebell-visit=") && !cookie.contains("Secure"),
        "{cookie}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_sign_up_is_the_operators_choice() {
    let closed = world(Registration::Closed).await;
    let mut carol = Person::at(closed.address());
    let page = carol.open("/sign-up");
    assert_eq!(page.status(), 403);
    assert!(page.has("Nobody can sign up here"));
    assert!(!carol.open("/").has("/sign-up"));

    let world = world(Registration::Invite).await;
    let page = carol_at(&world).open("/sign-up");
    assert!(page.status() == 403 && page.has("Only those who were invited"));
    let alice = world
        .store()
        .account_by_name("alice")
        .await
        .unwrap()
        .unwrap();
    let (good, late) = (InviteKey::make().unwrap(), InviteKey::make().unwrap());
    for (key, days) in [(&good, 7), (&late, -1)] {
        let (until, hash) = (world.now() + TimeDelta::days(days), key.hash());
        let added = world
            .store()
            .add_invite(alice.id, &hash, "carol", world.now(), until);
        added.await.unwrap();
    }
    for wrong in [late.reveal(), "sbi_00000000000000000000000000000000", "x"] {
        let page = carol_at(&world).open(&format!("/sign-up?invite={wrong}"));
        assert!(page.status() == 403 && page.has("too old"), "{wrong}");
    }
    let link = format!("/sign-up?invite={}", good.reveal());
    let fields = |name: &'static str| [("name", name), ("password", "correct horse")];
    let (mut carol, mut dave) = (carol_at(&world), carol_at(&world));
    let (first, second) = (carol.open(&link), dave.open(&link));
    assert_eq!(
        carol.send(&first, "/sign-up", &fields("carol")).path,
        "/welcome"
    );
    let page = dave.send(&second, "/sign-up", &fields("dave"));
    assert!(
        page.status() == 403 && page.has("used already"),
        "an invite is good for one"
    );
    assert_eq!(world.store().account_by_name("dave").await.unwrap(), None);
}

fn carol_at(world: &World) -> Person {
    Person::at(world.address())
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_up_makes_no_admins_whatever_the_form_says() {
    let world = world(Registration::Open).await;
    let mut carol = Person::at(world.address());
    let page = carol.open("/sign-up");
    let fields = [
        ("name", "carol"),
        ("password", "correct horse"),
        ("is_admin", "1"),
        ("admin", "on"),
    ];
    carol.send(&page, "/sign-up", &fields);
    let account = world
        .store()
        .account_by_name("carol")
        .await
        .unwrap()
        .unwrap();
    assert!(!account.is_admin);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_used_is_told_at_its_field_and_what_was_typed_is_kept() {
    let world = world(Registration::Open).await;
    let mut carol = Person::at(world.address());
    let huge = "x".repeat(12_000);
    for (name, password, at, part) in [
        ("", "correct horse", "name", "The name is empty"),
        ("a b", "correct horse", "name", "character other than"),
        (
            "<script>alert(1)</script>",
            "correct horse",
            "name",
            "character other than",
        ),
        (
            "\"><img src=x onerror=alert(1)>",
            "correct horse",
            "name",
            "character other than",
        ),
        (&huge, "correct horse", "name", "too long"),
        ("ALICE", "correct horse", "name", "taken"),
        ("carol", "", "password", "too short"),
        ("carol", "password", "password", "commonest"),
        ("carol", &huge, "password", "too long"),
    ] {
        let page = carol.open("/sign-up");
        let page = carol.send(&page, "/sign-up", &[("name", name), ("password", password)]);
        assert_eq!(page.status(), 422, "{name}");
        assert!(page.error(at).contains(part), "{}", page.error(at));
        assert_eq!(page.value("name"), name);
        assert!(
            !page.has("<script>") && !page.has("<img src=x"),
            "{}",
            page.text()
        );
        assert!(
            password.is_empty() || !page.has(&format!("value=\"{password}\"")),
            "a password is never sent back"
        );
    }
    let page = carol.open("/sign-up");
    let page = carol.send(&page, "/sign-up", &[("name", &"x".repeat(20_000))]);
    assert!(page.status() == 413 && page.has("larger than 16 kB"));
    // Twice the same field: the first one counts.
    let page = carol.open("/sign-up");
    let fields = [
        ("name", "carol"),
        ("name", "alice"),
        ("password", "correct horse"),
        ("password", ""),
    ];
    assert_eq!(carol.send(&page, "/sign-up", &fields).path, "/welcome");
    // The same form twice: the second time the browser is somebody's already.
    assert_eq!(carol.send_only(&page, "/sign-up", &fields).status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_name_and_a_wrong_password_look_the_same() {
    let world = world(Registration::Open).await;
    sign_up(&world, "carol", "correct horse");
    let tries = [
        ("carol", "wrong horse"),
        ("nobody", "wrong horse"),
        ("carol", ""),
        ("no name at all", "x"),
    ];
    let mut seen = Vec::new();
    for (name, password) in tries {
        let mut person = Person::at(world.address());
        let page = person.open("/sign-in");
        let page = person.send(&page, "/sign-in", &[("name", name), ("password", password)]);
        assert_eq!(page.status(), 422);
        assert_eq!(page.value("name"), name);
        assert!(!person.cookies.contains_key(SESSION));
        let (before, after) = page.text().split_once("<main").unwrap();
        assert!(!before.contains("Sign out"));
        let answer = after.split("<form").next().unwrap().to_owned();
        seen.push(answer);
    }
    seen.dedup();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(seen[0].contains("The name or the password is not right."));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_account_is_told_so_only_if_the_password_is_right() {
    let world = world(Registration::Open).await;
    sign_up(&world, "carol", "correct horse");
    let account = world.store().account_by_name("carol").await.unwrap();
    let id = account.unwrap().id;
    world.store().set_disabled(id, true).await.unwrap();
    let try_with = |password: &str| {
        let mut carol = Person::at(world.address());
        let page = carol.open("/sign-in");
        let fields = [("name", "carol"), ("password", password)];
        let page = carol.send(&page, "/sign-in", &fields);
        assert_eq!(page.status(), 422);
        assert!(!carol.cookies.contains_key(SESSION));
        page.has("This account is disabled")
    };
    assert!(try_with("correct horse") && !try_with("wrong horse"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_that_was_hashed_in_an_older_way_is_hashed_anew_when_it_is_used() {
    use argon2::password_hash::PasswordHasher;
    use argon2::{Algorithm, Argon2, Params, Version};

    let world = world(Registration::Open).await;
    let (_, code) = sign_up(&world, "carol", "correct horse");
    let weak = Params::new(64, 1, 1, None).unwrap();
    let weak = Argon2::new(Algorithm::Argon2id, Version::V0x13, weak);
    let weak = weak.hash_password(b"correct horse").unwrap().to_string();
    let account = world.store().account_by_name("carol").await.unwrap();
    let id = account.unwrap().id;
    world.store().set_password(id, &weak, None).await.unwrap();
    for _ in 0..2 {
        let mut carol = Person::at(world.address());
        let page = carol.open("/sign-in?next=/welcome");
        let fields = [("name", "carol"), ("password", "correct horse")];
        assert_eq!(carol.send(&page, "/sign-in", &fields).path, "/welcome");
        let kept = world.store().password_hash(id).await.unwrap().unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
    }
    assert_eq!(code.len(), 34);
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_with_files_carry_the_token_too() {
    let world = world(Registration::Open).await;
    let (carol, _) = sign_up(&world, "carol", "correct horse");
    let token = carol.clone().open("/welcome").value("csrf");
    let send = |body: &str| {
        let ask = Ask::new("POST", "/sign-out").body(body);
        let ask = ask.header("Content-Type", "multipart/form-data; boundary=xx");
        carol.clone().ask(ask).status
    };
    let part = |name: &str, value: &str| {
        format!("--xx\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let many = part("x", "y").repeat(200) + &part("csrf", &token) + "--xx--\r\n";
    let cut_off = part("csrf", &token);
    for (body, status) in [
        ("", 400),
        ("nonsense", 400),
        (&cut_off, 400),
        (&many, 400),
        (&(part("csrf", "wrong") + "--xx--\r\n"), 403),
        ("--xx--\r\n", 403),
        (
            &(part("file", "content") + &part("csrf", &token) + "--xx--\r\n"),
            303,
        ),
    ] {
        assert_eq!(send(body), status, "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_led_elsewhere_after_signing_in() {
    let world = world(Registration::Open).await;
    let (carol, _) = sign_up(&world, "carol", "correct horse");
    for next in [
        "//evil.example/",
        "https://evil.example/",
        "/\\evil.example",
        "/%09/evil.example",
        "javascript:alert(1)",
    ] {
        let mut again = carol.clone();
        let answer = again.ask(Ask::get(&format!(
            "/sign-in?next={}",
            next.replace('\\', "%5C")
        )));
        assert_eq!(answer.header("location"), Some("/home"), "{next}");
    }
    let answer = carol.clone().ask(Ask::get("/sign-in?next=/settings?x=1"));
    assert_eq!(answer.header("location"), Some("/settings?x=1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_password_is_replaced_with_the_recovery_code_once() {
    let world = world(Registration::Open).await;
    let (mut before, code) = sign_up(&world, "carol", "correct horse");
    let mut carol = Person::at(world.address());
    let mut recover = |name: &str, code: &str, password: &str| {
        let page = carol.open("/recover");
        let fields = [("name", name), ("code", code), ("password", password)];
        carol.send(&page, "/recover", &fields)
    };
    let page = recover("carol", "", "short");
    assert!(
        page.error("code").contains("seven groups") && page.error("password").contains("too short")
    );
    let other = "0000-0000-0000-0000-0000-0000-0000";
    for (name, code) in [("carol", other), ("alice", &code), ("nobody", &code)] {
        let page = recover(name, code, "better horse");
        assert_eq!(
            page.error("code"),
            "This is not the recovery code of an account of that name."
        );
        assert_eq!(page.value("name"), name);
    }
    let page = recover("carol", &code.to_lowercase(), "better horse");
    assert_eq!(page.path, "/welcome");
    let next = page.secret();
    assert_ne!(next, code);
    assert_eq!(
        before.open("/welcome").path,
        "/sign-in?next=%2Fwelcome",
        "sessions end"
    );
    let mut carol = Person::at(world.address());
    let page = carol.open("/sign-in");
    let page = carol.send(
        &page,
        "/sign-in",
        &[("name", "carol"), ("password", "correct horse")],
    );
    assert_eq!(page.status(), 422, "the old password is dead");
    let page = carol.open("/recover");
    let fields = [
        ("name", "carol"),
        ("code", code.as_str()),
        ("password", "third horse"),
    ];
    assert_eq!(
        carol.send(&page, "/recover", &fields).status(),
        422,
        "so is the old code"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_account_is_an_admin_and_made_with_the_link_once() {
    let mut world = World::new().await;
    let key = FirstKey::make().unwrap();
    world.first = Some(key.hash());
    world.restart().await;
    let link = format!("/first-account?key={}", key.reveal());
    let mut carol = Person::at(world.address());
    let page = carol.open(&link);
    assert!(
        page.status() == 403 && page.has("used up"),
        "there are accounts"
    );
    for name in ["alice", "bob"] {
        let account = world.store().account_by_name(name).await.unwrap().unwrap();
        world.store().remove_account(account.id).await.unwrap();
    }
    for wrong in [
        "/first-account",
        "/first-account?key=",
        "/first-account?key=sb1_00000000000000000000000000000000",
    ] {
        assert_eq!(carol.open(wrong).status(), 403, "{wrong}");
    }
    let fields = |name: &'static str| [("name", name), ("password", "correct horse")];
    let mut dave = Person::at(world.address());
    let (page, other) = (carol.open(&link), dave.open(&link));
    let page = carol.send(&page, "/first-account", &fields("carol"));
    assert!(page.path == "/welcome" && page.has("/admin"));
    assert_eq!(
        dave.send(&other, "/first-account", &fields("dave"))
            .status(),
        403
    );
    assert_eq!(carol.open(&link).status(), 403);
    assert_eq!(world.store().accounts().await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_of_other_sites_change_nothing() {
    let world = world(Registration::Open).await;
    let (carol, _) = sign_up(&world, "carol", "correct horse");
    let page = carol.clone().open("/welcome");
    let token = page.value("csrf");
    let other = Person::at(world.address()).open("/sign-in").value("csrf");
    let post = |headers: &[(&str, &str)], body: &str| {
        let ask = Ask::new("POST", "/sign-out").body(body);
        let ask = headers
            .iter()
            .fold(ask, |ask, (name, value)| ask.header(name, value));
        carol.clone().ask(ask)
    };
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let good = format!("csrf={token}");
    for (headers, body) in [
        (vec![form], ""),
        (vec![form], "csrf="),
        (vec![form], &format!("csrf={other}")),
        (vec![form], &format!("csrf={}", "0".repeat(64))),
        (vec![form, ("Sec-Fetch-Site", "cross-site")], &good),
        (vec![form, ("Sec-Fetch-Site", "same-site")], &good),
        (vec![form, ("Origin", "https://evil.example")], &good),
        (vec![form, ("Origin", "http://bell.example")], &good),
        (vec![form, ("Origin", "https://bell.example:444")], &good),
        (vec![form, ("Origin", "nonsense")], &good),
        (vec![], ""),
    ] {
        let answer = post(&headers, body);
        assert_eq!(answer.status, 403, "{headers:?} {body}");
        assert!(answer.text().contains("out of date"));
    }
    let typed = post(&[("Content-Type", "text/plain")], &good);
    assert_eq!(typed.status, 415);
    assert_eq!(
        carol.clone().open("/welcome").status(),
        200,
        "still signed in"
    );
    // Nothing happens with GET.
    assert_eq!(carol.clone().ask(Ask::get("/sign-out")).status, 405);
    let own = post(&[form, ("Origin", "https://bell.example")], &good);
    assert_eq!(own.status, 303);
    for headers in [
        vec![form],
        vec![form, ("Origin", "null"), ("Sec-Fetch-Site", "same-origin")],
    ] {
        let (carol, _) = sign_up(&world, &format!("carol{}", headers.len()), "correct horse");
        let token = carol.clone().open("/welcome").value("csrf");
        let ask = Ask::new("POST", "/sign-out").body(format!("csrf={token}"));
        let ask = headers
            .iter()
            .fold(ask, |ask, (name, value)| ask.header(name, value));
        assert_eq!(carol.clone().ask(ask).status, 303, "{headers:?}");
    }
}
