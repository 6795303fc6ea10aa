//! Too much of something is answered with 429, a sentence, and when to come back; and never with whether an account exists.

use chrono::TimeDelta;
use serde_json::json;
use sitebell::account::{Allowance, Registration};

use crate::ask::{Answered, Ask};
use crate::person::Person;
use crate::world::World;

async fn world(registration: Registration) -> World {
    let mut world = World::new().await;
    world.registration = registration;
    world.proxies = vec!["127.0.0.0/8".parse().unwrap()];
    world.restart().await;
    world
}

fn sign_up(world: &World, name: &str) -> Answered {
    let mut person = Person::at(world.address());
    let page = person.open("/sign-up");
    person.send_only(
        &page,
        "/sign-up",
        &[("name", name), ("password", "correct horse")],
    )
}

fn guess(world: &World, name: &str, password: &str) -> Answered {
    guess_from(world, "192.0.2.1", name, password)
}

fn guess_from(world: &World, from: &'static str, name: &str, password: &str) -> Answered {
    let mut person = Person::at(world.address());
    person.from = Some(from);
    let page = person.open("/sign-in");
    person.send_only(&page, "/sign-in", &[("name", name), ("password", password)])
}

fn wait(answer: &Answered) -> i64 {
    assert_eq!(answer.status, 429, "{}", answer.text());
    assert!(answer.text().contains("try again in"), "{}", answer.text());
    answer.header("retry-after").unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_at_a_name_are_slowed_down_whether_anybody_has_it() {
    let world = world(Registration::Open).await;
    assert_eq!(sign_up(&world, "carol").status, 303);
    let mut tries = Vec::new();
    for (from, name) in [("192.0.2.2", "nobody"), ("192.0.2.3", "carol")] {
        let guess = || guess_from(&world, from, name, "x");
        tries.push((0..).find(|_| guess().status == 429).unwrap());
        let answer = guess();
        assert!(answer.text().contains("for this name"), "{}", answer.text());
        assert!(wait(&answer) <= 31);
    }
    assert_eq!(tries, [10, 10]);
    // The right password does not help while others guess, but a short wait does.
    let refused = guess(&world, "CAROL", "correct horse");
    world.pass(TimeDelta::seconds(wait(&refused)));
    assert_eq!(guess(&world, "carol", "correct horse").status, 303);
    // From where she has signed in she is known, and guesses of others do not keep her out.
    assert_eq!(guess_from(&world, "192.0.2.3", "carol", "x").status, 429);
    assert_eq!(guess(&world, "carol", "correct horse").status, 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_anybody_claims_to_be_forwarded_counts_for_nothing_without_a_proxy() {
    let mut world = world(Registration::Open).await;
    world.proxies = Vec::new();
    world.restart().await;
    let addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].into_iter().cycle();
    let mut answers = addresses
        .take(100)
        .enumerate()
        .map(|(number, from)| guess_from(&world, from, &format!("name{number}"), "x").status);
    assert_eq!(answers.position(|status| status == 429), Some(20));
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_from_one_address_are_slowed_down_whatever_the_name() {
    let world = world(Registration::Open).await;
    let names = (0..100).map(|number| format!("name{number}"));
    let mut answers = names.map(|name| guess(&world, &name, "x"));
    let refused = answers.position(|answer| answer.status == 429);
    assert_eq!(refused, Some(20));
    let mut person = Person::at(world.address());
    person.from = Some("192.0.2.1");
    let page = person.open("/recover");
    let code = "0000-0000-0000-0000-0000-0000-0000";
    let fields = [
        ("name", "carol"),
        ("code", code),
        ("password", "correct horse"),
    ];
    let answer = person.send_only(&page, "/recover", &fields);
    assert!(answer.text().contains("from your address"));
    world.pass(TimeDelta::seconds(wait(&answer)));
    assert_eq!(person.send_only(&page, "/recover", &fields).status, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_here_is_not_told_to_those_who_ask_for_many_names() {
    let world = world(Registration::Open).await;
    let answers = (0..100).map(|_| sign_up(&world, "alice").status);
    let answers: Vec<u16> = answers.take_while(|status| *status == 422).collect();
    assert_eq!(answers.len(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_makes_a_few_accounts_and_then_waits() {
    let world = world(Registration::Open).await;
    for number in 0..10 {
        assert_eq!(sign_up(&world, &format!("name{number}")).status, 303);
    }
    let answer = sign_up(&world, "more");
    let wait = wait(&answer);
    assert!((300..=361).contains(&wait), "{wait}");
    world.pass(TimeDelta::seconds(wait));
    assert_eq!(sign_up(&world, "more").status, 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_sends_so_many_forms_and_then_waits() {
    let world = world(Registration::Closed).await;
    let mut person = Person::at(world.address());
    let count = (0..400).find(|_| person.post("/sign-in", &[]).status == 429);
    assert_eq!(count, Some(300));
    assert!(wait(&person.post("/sign-in", &[])) <= 2);
    assert_eq!(person.open("/sign-in").status(), 200, "looking is free");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_follows_and_looks_up_as_much_as_its_quota_says() {
    let mut world = World::new().await;
    world.allowance = Allowance {
        sites: 2,
        lookups: 3,
        imports: 1,
    };
    world.restart().await;
    let add = |token: &str, name: &str| {
        let url = format!("https://{name}.example/");
        world.ask(Ask::post("/api/v1/sites", &json!({"url": url})).token(token))
    };
    let sites: Vec<i64> = ["a", "b", "c"]
        .map(|name| add(&world.bob, name).json(202)["id"].as_i64().unwrap())
        .to_vec();
    let refused = add(&world.bob, "d");
    let sentence = refused.refusal(429);
    assert!(
        sentence.contains("3 sites looked up in a day"),
        "{sentence}"
    );
    let wait: i64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=28_801).contains(&wait), "{wait}");
    let check = Ask::new("POST", &format!("/api/v1/sites/{}/check", sites[0]));
    world.ask(check.token(&world.bob)).refusal(429);
    assert_eq!(add(&world.alice, "d").status, 202, "admins have no quota");
    world.pass(TimeDelta::seconds(wait));
    assert_eq!(add(&world.bob, "e").status, 202);

    let follow = |site: i64| {
        let body = json!({"site": site});
        world.ask(Ask::post("/api/v1/subscriptions", &body).token(&world.bob))
    };
    follow(sites[0]).json(201);
    follow(sites[1]).json(201);
    let refused = follow(sites[2]);
    let sentence = refused.refusal(429);
    assert!(
        sentence.contains("may follow 2 sites, and follows 2"),
        "{sentence}"
    );
    assert!(refused.header("retry-after").is_some());
    follow(sites[0]).json(200);
    let bob = world.store().account_by_name("bob").await.unwrap().unwrap();
    let more = sitebell::account::Quotas {
        sites: Some(3),
        ..Default::default()
    };
    world.store().set_quotas(bob.id, more).await.unwrap();
    follow(sites[2]).json(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_slips_past_a_quota_by_asking_all_at_once() {
    let mut world = World::new().await;
    world.allowance.sites = 2;
    world.restart().await;
    let mut sites = Vec::new();
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        let url: url::Url = format!("https://{name}.example/").parse().unwrap();
        sites.push(world.store().add_site(&url, world.now()).await.unwrap().0);
    }
    let follow = |site: i64| {
        let body = json!({"site": site});
        let asked = Ask::post("/api/v1/subscriptions", &body).token(&world.bob);
        world.ask(asked).status
    };
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let asked: Vec<_> = sites
            .iter()
            .map(|site| scope.spawn(|| follow(site.0)))
            .collect();
        asked
            .into_iter()
            .map(|asked| asked.join().unwrap())
            .collect()
    });
    let followed = statuses.iter().filter(|status| **status == 201).count();
    assert_eq!(followed, 2, "{statuses:?}");
    let bob = world.store().account_by_name("bob").await.unwrap().unwrap();
    assert_eq!(world.store().sites_followed(bob.id).await.unwrap(), 2);
}
