//! The JSON API: the shapes that programs rely on, who may ask for what, and what a refusal looks like.

use chrono::TimeDelta;
use serde_json::{Value, json};
use sitebell::account::Scope;

use crate::ask::Ask;
use crate::den::{Den, WELL_KNOWN};
use crate::fake_site::Reply;
use crate::world::{PUBLIC, World};

const SITES: &str = "/api/v1/sites";
const SUBSCRIPTIONS: &str = "/api/v1/subscriptions";

fn members(value: &Value) -> Vec<&str> {
    let object = value.as_object().unwrap();
    object.keys().map(String::as_str).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_is_added_read_and_told_with_all_that_programs_rely_on() {
    let den = Den::new();
    let world = World::new().await;
    let add = Ask::post(SITES, &json!({"url": den.url("/").as_str()})).token(&world.bob);
    let answer = world.ask(add.clone());
    let site = answer.json(202);
    let number = site["id"].as_i64().unwrap();
    assert_eq!(
        answer.header("location"),
        Some(format!("{PUBLIC}api/v1/sites/{number}").as_str())
    );
    assert_eq!(site["status"], "new");
    world.scheduler().idle().await;
    assert_eq!(world.ask(add).json(200)["id"], number, "it is known now");

    let site = world.get(&format!("{SITES}/{number}"));
    assert_eq!(
        members(&site),
        [
            "id",
            "url",
            "root",
            "format",
            "title",
            "status",
            "feed_url",
            "page_url",
            "last_check_at",
            "next_check_at",
            "collections"
        ]
    );
    assert_eq!(site["url"], den.url("/").as_str());
    assert_eq!(site["root"], den.url(WELL_KNOWN).as_str());
    assert_eq!(site["format"], "resourcesync");
    assert_eq!(site["status"], "ok");
    let page = site["page_url"].as_str().unwrap();
    assert!(page.starts_with("https://bell.example/sites/fox.example"));
    assert_eq!(site["feed_url"], format!("{page}feed.atom"));
    assert_eq!(site["last_check_at"], "2026-03-10T12:00:00.000Z");
    let collection = &site["collections"][0];
    assert_eq!(
        members(collection),
        ["id", "title", "feed_url", "page_url", "last_processed"]
    );
    assert_eq!(collection["id"], den.url("/").as_str());
    assert_eq!(collection["title"], "The Fox Den");
    assert_eq!(collection["last_processed"], "2026-03-02T08:00:00Z");

    let changes = world.get(&format!("{SITES}/{number}/changes"));
    assert_eq!(changes["next"], Value::Null);
    let first = &changes["changes"][0];
    assert_eq!(
        members(first),
        [
            "collection",
            "url",
            "kind",
            "datetime",
            "title",
            "basis",
            "found_at",
            "entry"
        ]
    );
    assert_eq!(first["kind"], "created");
    assert_eq!(first["datetime"], "2026-03-01", "a bare date stays one");
    assert_eq!(first["collection"], den.url("/").as_str());
    assert!(first["entry"].as_str().unwrap().starts_with("tag:"));

    let checks = world.get(&format!("{SITES}/{number}/checks"));
    let check = &checks["checks"][0];
    assert_eq!(
        members(check),
        [
            "id",
            "started_at",
            "finished_at",
            "outcome",
            "summary",
            "new_changes",
            "requests",
            "bytes",
            "problems"
        ]
    );
    assert_eq!(check["outcome"], "changed");
    assert_eq!(check["new_changes"], 2);
    assert_eq!(check["requests"], den.site.requests().len());
    assert_eq!(check["summary"], "2 new changes.");
    let path = format!("{SITES}/{number}/checks/{}", check["id"]);
    assert_eq!(&world.get(&path), check);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_failed_says_why_in_a_sentence() {
    let den = Den::empty();
    den.site.serve(WELL_KNOWN, Reply::status(500));
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let checks = world.get(&format!("{SITES}/{site}/checks"));
    let check = &checks["checks"][0];
    assert_eq!(check["outcome"], "failed");
    assert_eq!(check["requests"], den.site.requests().len());
    let summary = check["summary"].as_str().unwrap();
    assert!(summary.contains("500"), "{summary}");
    let problem = &check["problems"][0];
    assert_eq!(
        members(problem),
        [
            "code", "severity", "document", "line", "count", "message", "fix"
        ]
    );
    assert_eq!(world.get(&format!("{SITES}/{site}"))["status"], "failing");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_and_checks_are_paged_without_losing_or_repeating_one() {
    let den = Den::new();
    let changes: Vec<String> = (1..=9)
        .map(|day| format!("updated /page 2026-03-0{day}"))
        .collect();
    let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
    den.change_list("/changelist.xml", "from='2026-01-01'", &changes);
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    for _ in 0..4 {
        world.pass(TimeDelta::days(8));
        world.scheduler().idle().await;
    }
    let walk = |list: &str, place: &str| {
        let (mut found, mut path) = (Vec::new(), format!("{SITES}/{site}/{list}?limit=2"));
        loop {
            let page = world.get(&path);
            let items = page[list].as_array().unwrap();
            assert!(items.len() <= 2);
            found.extend(items.clone());
            match page["next"].as_str() {
                Some(next) => path = format!("{SITES}/{site}/{list}?limit=2&{place}={next}"),
                None => return found,
            }
        }
    };
    let found = walk("changes", "after");
    let dates: Vec<&str> = found
        .iter()
        .map(|c| c["datetime"].as_str().unwrap())
        .collect();
    assert_eq!(dates.len(), 9);
    assert!(dates.is_sorted());
    let ids: Vec<i64> = walk("checks", "before")
        .iter()
        .map(|check| check["id"].as_i64().unwrap())
        .collect();
    assert_eq!(ids.len(), 5);
    assert!(ids.is_sorted_by(|one, other| one > other), "newest first");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_follows_a_site_or_a_collection_and_nobody_else_sees_it() {
    let den = Den::new();
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let bob = |ask: Ask| world.ask(ask.token(&world.bob));
    let all = bob(Ask::post(SUBSCRIPTIONS, &json!({"site": site.0}))).json(201);
    assert_eq!(all["collection"], Value::Null);
    let one = json!({"site": site.0, "collection": den.url("/").as_str()});
    let one = bob(Ask::post(SUBSCRIPTIONS, &one)).json(201);
    assert_eq!(one["collection"], den.url("/").as_str());
    let again = bob(Ask::post(SUBSCRIPTIONS, &json!({"site": site.0}))).json(200);
    assert_eq!(again, all);
    let mine = bob(Ask::get(SUBSCRIPTIONS)).json(200);
    assert_eq!(mine["subscriptions"], json!([all, one]));
    assert_eq!(world.get(SUBSCRIPTIONS)["subscriptions"], json!([]));

    let path = format!("{SUBSCRIPTIONS}/{}", one["id"]);
    let missing = format!("{SUBSCRIPTIONS}/999999");
    let alice = |method: &str, path: &str| world.ask(Ask::new(method, path).token(&world.alice));
    for method in ["GET", "DELETE"] {
        let (other, none) = (alice(method, &path), alice(method, &missing));
        assert_eq!(other.refusal(404), none.refusal(404));
        assert_eq!(other.body, none.body);
    }
    assert_eq!(bob(Ask::get(&path)).json(200), one);
    assert_eq!(bob(Ask::new("DELETE", &path)).status, 204);
    bob(Ask::new("DELETE", &path)).refusal(404);
    for body in [
        json!({"site": 999_999}),
        json!({"site": site.0, "collection": "https://other.example/"}),
        json!({"site": site.0, "collection": "nonsense"}),
    ] {
        bob(Ask::post(SUBSCRIPTIONS, &body)).refusal(404);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_admins_see_all_sites_and_others_see_what_they_follow() {
    let (fox, owl) = (Den::new(), Den::new());
    let world = World::new().await;
    let fox = world.follow(&fox.url("/")).await;
    let owl = world.follow(&owl.site.url_as("owl.example", "/")).await;
    let numbers = |token: &str, query: &str| -> (Vec<i64>, Value) {
        let list = world
            .ask(Ask::get(&format!("{SITES}{query}")).token(token))
            .json(200);
        let sites = list["sites"].as_array().unwrap().iter();
        let sites = sites.map(|site| site["id"].as_i64().unwrap());
        (sites.collect(), list["next"].clone())
    };
    assert_eq!(numbers(&world.alice, ""), (vec![fox.0, owl.0], Value::Null));
    assert_eq!(numbers(&world.bob, ""), (vec![], Value::Null));
    for site in [owl, fox] {
        let follow = Ask::post(SUBSCRIPTIONS, &json!({"site": site.0})).token(&world.bob);
        world.ask(follow).json(201);
    }
    for token in [&world.alice, &world.bob] {
        let (first, next) = numbers(token, "?limit=1");
        assert_eq!(first, [fox.0]);
        let next = next.as_str().unwrap();
        let (second, next) = numbers(token, &format!("?limit=1&after={next}"));
        assert_eq!((second, next), (vec![owl.0], Value::Null));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_is_asked_for_unless_the_host_wants_peace_or_the_site_rests() {
    let den = Den::new();
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let path = format!("{SITES}/{site}/check");
    let ask = || world.ask(Ask::new("POST", &path).token(&world.bob));
    let answer = ask();
    let number = answer.json(202)["check"].as_i64().unwrap();
    let place = format!("{PUBLIC}api/v1/sites/{site}/checks/{number}");
    assert_eq!(answer.header("location"), Some(place.as_str()));
    world.scheduler().idle().await;
    let check = world.get(&format!("{SITES}/{site}/checks/{number}"));
    assert_eq!(check["outcome"], "unchanged");

    let rest = |paused: bool| {
        let body = json!({"paused": paused});
        Ask::new("PATCH", &format!("{SITES}/{site}")).json(&body)
    };
    assert_eq!(
        world.ask(rest(true).token(&world.alice)).json(200)["status"],
        "paused"
    );
    assert!(ask().refusal(409).contains("paused"));
    world.ask(rest(false).token(&world.bob)).refusal(403);
    world.ask(rest(false).token(&world.alice)).json(200);
    world.scheduler().idle().await;

    den.site
        .serve(WELL_KNOWN, Reply::status(429).retry_after(1800));
    ask().json(202);
    world.scheduler().idle().await;
    let refused = ask();
    refused.refusal(429);
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1700..=1800).contains(&wait), "{wait}");
    world
        .ask(Ask::new("POST", &format!("{SITES}/999/check")).token(&world.bob))
        .refusal(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_removes_a_site_and_then_it_is_gone() {
    let den = Den::new();
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let remove = || Ask::new("DELETE", &format!("{SITES}/{site}"));
    world.ask(remove().token(&world.bob)).refusal(403);
    assert_eq!(world.ask(remove().token(&world.alice)).status, 204);
    world.ask(remove().token(&world.alice)).refusal(404);
    for path in ["", "/checks", "/changes", "/checks/1"] {
        let path = format!("{SITES}/{site}{path}");
        world.ask(Ask::get(&path).token(&world.alice)).refusal(404);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_followed_is_refused_with_a_sentence() {
    let world = World::with(Default::default(), 8).await;
    for (address, part) in [
        ("", "there is no address"),
        ("ftp://fox.example/", "use http or https"),
        ("https://me:secret@fox.example/", "password"),
        (
            "http://127.0.0.1:9/",
            "not an address on the public internet",
        ),
        ("http://[::1]/", "not an address on the public internet"),
        (
            "http://2130706433/",
            "not an address on the public internet",
        ),
        ("localhost", "inside one network"),
        ("http://fox.example:6379/", "port"),
    ] {
        let ask = Ask::post(SITES, &json!({"url": address})).token(&world.bob);
        let sentence = world.ask(ask).refusal(422);
        assert!(sentence.contains(part), "{address}: {sentence}");
    }
    assert_eq!(world.get(SITES)["sites"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_understood_is_refused_with_a_sentence() {
    let world = World::new().await;
    let bob = |ask: Ask| world.ask(ask.token(&world.bob));
    let typed = |text: &str| {
        Ask::new("POST", SITES)
            .header("Content-Type", "application/json")
            .body(text)
    };
    assert!(bob(typed("{\"url\":")).refusal(400).contains("body"));
    assert!(bob(typed("{}")).refusal(400).contains("url"));
    assert!(bob(typed("[\u{0}]")).refusal(400).contains("body"));
    let large = format!("{{\"url\":\"{}\"}}", "x".repeat(20_000));
    assert!(bob(typed(&large)).refusal(413).contains("16384"));
    let form = Ask::new("POST", SITES).body("url=fox.example");
    assert!(bob(form).refusal(415).contains("application/json"));
    for query in [
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=many",
        "after=here",
    ] {
        bob(Ask::get(&format!("{SITES}?{query}"))).refusal(400);
    }
    bob(Ask::get(&format!("{SITES}/fox"))).refusal(404);
    bob(Ask::get("/api/v1/elsewhere")).refusal(404);
    bob(Ask::get("/api/v2/")).refusal(404);
    let wrong = bob(Ask::new("PUT", SITES));
    wrong.refusal(405);
    assert_eq!(wrong.header("allow"), Some("GET, HEAD, POST"));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_token_in_its_field_opens_a_door_and_only_as_far_as_its_scope() {
    let world = World::new().await;
    let reader = world.account("carol", false, Scope::Read).await;
    // An admin's scope without an admin's account, as it is when somebody stops being one.
    let former = world.account("dave", false, Scope::Admin).await;
    let sites = |value: &str| world.ask(Ask::get(SITES).header("Authorization", value));
    assert_eq!(sites(&format!("Bearer {reader}")).status, 200);
    assert_eq!(sites(&format!("bearer  {reader} ")).status, 200);
    for wrong in [
        format!("Basic {reader}"),
        reader.clone(),
        format!("Bearer {}", reader.to_uppercase()),
        format!("Bearer {}x", reader),
        "Bearer ".to_owned(),
        "Bearer sbt_00000000000000000000000000000000".to_owned(),
    ] {
        let answer = sites(&wrong);
        assert!(!answer.refusal(401).contains("sbt_"), "{wrong}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    let in_address = world.ask(Ask::get(&format!("{SITES}?token={reader}")));
    in_address.refusal(401);
    let add = || Ask::post(SITES, &json!({"url": "https://fox.example/"}));
    let sentence = world.ask(add().token(&reader)).refusal(403);
    assert!(sentence.contains("write"));
    let remove = Ask::new("DELETE", &format!("{SITES}/1"));
    world.ask(remove.token(&former)).refusal(403);

    let carol = world
        .store()
        .account_by_name("carol")
        .await
        .unwrap()
        .unwrap();
    world.store().set_disabled(carol.id, true).await.unwrap();
    sites(&format!("Bearer {reader}")).refusal(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_that_is_described_is_there_and_wants_a_token() {
    let world = World::new().await;
    let description = world.ask(Ask::get("/api/v1/openapi.json")).json(200);
    assert_eq!(description["openapi"], "3.1.0");
    let mut operations = std::collections::BTreeSet::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(operations.insert(id.to_owned()), "{id} is there twice");
            assert!(operation["security"][0]["token"].is_array(), "{id}");
            let path = path
                .replace("{site}", "1")
                .replace("{check}", "1")
                .replace("{subscription}", "1");
            let ask = Ask::new(&method.to_uppercase(), &format!("/api/v1{path}"));
            let ask = ask.json(&json!({"url": "https://fox.example/", "site": 1, "paused": true}));
            world.ask(ask).refusal(401);
        }
    }
    assert_eq!(operations.len(), 14);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_tells_browsers_to_be_careful() {
    let world = World::new().await;
    for (ask, status) in [
        (Ask::get("/healthz"), 200),
        (Ask::new("HEAD", "/healthz"), 200),
        (Ask::get("/api/v1/openapi.json"), 200),
        (Ask::get(SITES), 401),
        (Ask::get("/nowhere"), 404),
        (Ask::new("POST", "/healthz"), 405),
    ] {
        let answer = world.ask(ask);
        assert_eq!(answer.status, status);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(
            answer.header("strict-transport-security"),
            Some("max-age=31536000"),
            "people reach this one over https"
        );
    }
}
