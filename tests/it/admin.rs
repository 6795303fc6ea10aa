//! What those see and do who run the instance: sites, accounts, invites, and how it is.

use serde_json::json;
use sitebell::account::{Allowance, Registration};
use sitebell::site::SiteStatus;

use crate::ask::Ask;
use crate::den::{Den, WELL_KNOWN};
use crate::fake_site::Reply;
use crate::person::Person;
use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn the_instance_is_seen_at_a_glance() {
    let den = Den::new();
    let world = World::new().await;
    world.follow(&den.url("/")).await;
    let page = world.person("alice").await.open("/admin");
    assert_eq!(page.status(), 200);
    for part in [
        "All is well",
        "1, of which 0 are due",
        "2, with 0 subscriptions",
        "<code>listen</code>",
    ] {
        assert!(page.has(part), "{part}: {}", page.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sites_are_listed_by_how_they_stand_paused_checked_and_removed() {
    let (fox, owl) = (Den::new(), Den::empty());
    owl.site.serve(WELL_KNOWN, Reply::status(500));
    let world = World::new().await;
    let fox_id = world.follow(&fox.url("/")).await;
    world.follow(&owl.site.url_as("owl.example", "/")).await;
    let bob = world.store().account_by_name("bob").await.unwrap().unwrap();
    let (store, now) = (world.store(), world.now());
    store.subscribe(bob.id, fox_id, None, now).await.unwrap();
    let mut alice = world.person("alice").await;
    let page = alice.open("/admin/sites");
    assert!(page.has("fox.example") && page.has("owl.example"));
    assert!(page.has("<td data-label=\"Followers\">1</td>"));
    assert!(!page.has("bob"), "who follows is nobody's business");
    let failing = alice.open("/admin/sites?show=failing");
    assert!(!failing.has("fox.example") && failing.has("owl.example") && failing.has("500"));
    assert!(
        alice
            .open("/admin/sites?show=paused")
            .has("There are none.")
    );

    // The first form of the page is that of the first site.
    let requests = fox.site.requests().len();
    let page = alice.send(&page, "/admin/sites/check", &[]);
    assert!(page.has("being checked"));
    world.scheduler().idle().await;
    assert!(fox.site.requests().len() > requests);
    let page = alice.send(&page, "/admin/sites/pause", &[]);
    assert!(page.path == "/admin/sites?show=all" && page.has("The site is paused"));
    let row = world.store().site(fox_id).await.unwrap().unwrap();
    assert_eq!((row.status, row.next_check_at), (SiteStatus::Paused, None));
    assert!(alice.open("/admin/sites?show=paused").has("fox.example"));
    let refused = alice.send(&page, "/admin/sites/check", &[]);
    assert!(refused.status() == 409 && refused.has("paused"));
    let page = alice.open("/admin/sites?show=paused");
    let page = alice.send(&page, "/admin/sites/pause", &[]);
    assert!(page.path == "/admin/sites?show=paused" && page.has("The site goes on"));
    world.scheduler().idle().await;

    let slug = row.slug;
    let page = alice.open(&format!("/admin/sites/remove?site={fox_id}"));
    assert!(page.has("its 1 follower."));
    let page = alice.send(&page, "/admin/sites/remove", &[]);
    assert!(page.has("The site is removed.") && !page.has("fox.example"));
    assert_eq!(world.ask(Ask::get(&format!("/sites/{slug}/"))).status, 410);
    let csrf = page.value("csrf");
    for path in [
        "/admin/sites/remove",
        "/admin/sites/check",
        "/admin/sites/pause",
    ] {
        for site in [
            fox_id.to_string().as_str(),
            "",
            "x",
            "-1",
            "99999999999999999999",
        ] {
            let answer = alice.post(path, &[("csrf", &csrf), ("site", site)]);
            assert_eq!(answer.status, 404, "{path} {site}");
        }
    }
    for query in ["?site=999", "?site=x", "", "?site=-9223372036854775808"] {
        let page = alice.open(&format!("/admin/sites/remove{query}"));
        assert!(matches!(page.status(), 400 | 404), "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_sites_are_paged() {
    let world = World::new().await;
    for number in 0..120 {
        let url: url::Url = format!("https://site{number:03}.example/").parse().unwrap();
        let (id, _) = world.store().add_site(&url, world.now()).await.unwrap();
        world
            .store()
            .set_paused(id, true, world.now())
            .await
            .unwrap();
    }
    let mut alice = world.person("alice").await;
    let (mut path, mut seen) = ("/admin/sites?show=paused".to_owned(), 0);
    loop {
        let page = alice.open(&path);
        seen += page.text().matches("<th scope=\"row\">").count();
        assert!(page.text().len() < 50_000);
        let next = page.text().split_once("rel=\"next\"");
        let Some((before, _)) = next else { break };
        let link = before.rsplit_once("href=\"").unwrap().1;
        path = link.trim_end_matches(['"', ' ']).replace("&#38;", "&");
    }
    assert_eq!(seen, 120);
    for number in 0..120 {
        let name = format!("name{number}");
        let added = world.store().add_account(&name, "", "", false, world.now());
        added.await.unwrap();
    }
    let sizes = [
        "",
        "?after=50",
        "?after=100",
        "?after=150",
        "?after=99999999999",
    ]
    .map(|query| {
        let page = alice.open(&format!("/admin/accounts{query}"));
        assert!(page.text().len() < 50_000);
        page.text().matches("<th scope=\"row\">").count()
    });
    assert_eq!(sizes, [50, 50, 22, 0, 0], "with alice and bob");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_disabled_everywhere_at_once_and_enabled_again() {
    let world = World::new().await;
    let (mut alice, mut bob) = (world.person("alice").await, world.person("bob").await);
    let page = bob.open("/settings");
    let page = bob.send(&page, "/settings/feed", &[]);
    let feed: url::Url = page.secret().replace("&#38;", "&").parse().unwrap();
    let feed = format!("{}?{}", feed.path(), feed.query().unwrap());
    assert_eq!(world.ask(Ask::get(&feed)).status, 200);
    let account = world.store().account_by_name("bob").await.unwrap().unwrap();
    let path = format!("/admin/accounts/{}", account.id.0);
    assert!(alice.open("/admin/accounts").has(&path));
    let page = alice.open(&path);
    let page = alice.send(&page, "/admin/accounts/disable", &[]);
    assert!(page.path == path && page.has("“bob” is disabled."));
    assert_eq!(bob.open("/settings").path, "/sign-in?next=%2Fsettings");
    let api = || {
        world
            .ask(Ask::get("/api/v1/sites").token(&world.bob))
            .status
    };
    assert_eq!((api(), world.ask(Ask::get(&feed)).status), (401, 404));
    let page = alice.send(&page, "/admin/accounts/disable", &[]);
    assert!(page.has("“bob” is enabled."));
    assert_eq!((api(), world.ask(Ask::get(&feed)).status), (200, 200));
    assert_eq!(
        bob.open("/settings").path,
        "/sign-in?next=%2Fsettings",
        "sign in again"
    );

    let own = world
        .store()
        .account_by_name("alice")
        .await
        .unwrap()
        .unwrap();
    let page = alice.open(&format!("/admin/accounts/{}", own.id.0));
    assert!(page.has("This is you."));
    let csrf = page.value("csrf");
    let fields = [
        ("csrf", csrf.as_str()),
        ("account", &own.id.0.to_string()),
        ("disabled", "yes"),
    ];
    assert_eq!(alice.post("/admin/accounts/disable", &fields).status, 409);
    for wrong in [
        "/admin/accounts/999",
        "/admin/accounts/x",
        "/admin/accounts/-1",
    ] {
        assert_eq!(alice.open(wrong).status(), 404, "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn quotas_are_given_to_single_accounts() {
    let mut world = World::new().await;
    world.allowance = Allowance {
        sites: 5,
        lookups: 7,
        imports: 9,
    };
    world.restart().await;
    let mut alice = world.person("alice").await;
    let account = world.store().account_by_name("bob").await.unwrap().unwrap();
    let path = format!("/admin/accounts/{}", account.id.0);
    let page = alice.open(&path);
    assert!(page.has("Everybody: 5.") && page.has("Everybody: 7.") && page.has("Everybody: 9."));
    for wrong in [
        "-1",
        "many",
        "1.5",
        "1000001",
        "99999999999999999999",
        "<b>",
    ] {
        let fields = [("sites", wrong), ("lookups", "3"), ("imports", "")];
        let page = alice.send(&page, "/admin/accounts/quotas", &fields);
        assert!(page.status() == 422 && page.error("sites").contains("whole number"));
        assert_eq!(
            (page.value("sites"), page.value("lookups")),
            (wrong.to_owned(), "3".to_owned())
        );
    }
    let fields = [("sites", "2"), ("lookups", ""), ("imports", "0")];
    let page = alice.send(&page, "/admin/accounts/quotas", &fields);
    assert!(page.path == path && page.value("sites") == "2" && page.value("imports") == "0");
    let quotas = world
        .store()
        .account(account.id)
        .await
        .unwrap()
        .unwrap()
        .quotas;
    assert_eq!(
        (quotas.sites, quotas.lookups, quotas.imports),
        (Some(2), None, Some(0))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invite_is_made_sent_used_once_and_revoked() {
    let mut world = World::new().await;
    world.registration = Registration::Invite;
    world.restart().await;
    let mut alice = world.person("alice").await;
    let page = alice.open("/admin/invites");
    for (note, part) in [("", "Say who"), (&*"x".repeat(61), "too long")] {
        let page = alice.send(&page, "/admin/invites", &[("note", note)]);
        assert!(page.status() == 422 && page.error("note").contains(part));
    }
    let invite = |alice: &mut Person, note: &str| {
        let page = alice.open("/admin/invites");
        let page = alice.send(&page, "/admin/invites", &[("note", note)]);
        let link = page.secret();
        assert!(
            link.starts_with("https://bell.example/sign-up?invite=sbi_"),
            "{link}"
        );
        link["https://bell.example".len()..].to_owned()
    };
    let (used, revoked) = (
        invite(&mut alice, "carol"),
        invite(&mut alice, "<i>dave</i>"),
    );
    let mut carol = Person::at(world.address());
    let page = carol.open(&used);
    let fields = [("name", "carol"), ("password", "correct horse")];
    assert_eq!(carol.send(&page, "/sign-up", &fields).path, "/welcome");
    let page = alice.open("/admin/invites");
    assert!(page.has("used by “carol”") && page.has("good until") && !page.has("<i>dave"));
    // The newest comes first.
    let page = alice.send(&page, "/admin/invites/revoke", &[]);
    assert!(page.has("The invite is removed.") && !page.has("dave"));
    assert_eq!(Person::at(world.address()).open(&revoked).status(), 403);
    let csrf = page.value("csrf");
    for id in ["", "x", "999"] {
        let answer = alice.post("/admin/invites/revoke", &[("csrf", &csrf), ("invite", id)]);
        assert_eq!(answer.status, 404);
    }
    assert_eq!(world.get("/api/v1/sites")["sites"], json!([]));
}
