//! The scheduler: what is due is read in good time, politely, and not too much at once.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use sitebell::memory::Outcome;
use sitebell::schedule::upkeep::{self, Copies};
use sitebell::schedule::{AskError, WordsListener};
use sitebell::site::{SiteId, SiteStatus};
use sitebell::store::{Keep, Store};

use crate::den::{Den, WELL_KNOWN, open_settings};
use crate::fake_site::{FakeSite, Gate, Reply};
use crate::world::World;

const LIST: &str = "/changelist.xml";

/// A den under a name of its own.
fn den_called(host: &'static str) -> Den {
    let mut den = Den::empty();
    den.host = host;
    den.description(&[("/capabilitylist.xml", "/")]);
    den.capability_list("/capabilitylist.xml", "/", &[LIST]);
    den.change_list(LIST, "from='2026-01-01'", &["created /a 2026-03-01"]);
    den.about("/about.xml", "/", "A den");
    den
}

async fn add(world: &World, den: &Den) -> SiteId {
    let (site, _) = (world.store())
        .add_site(&den.url("/"), world.now())
        .await
        .unwrap();
    site
}

/// Waits until a condition holds that other threads bring about.
pub async fn until(mut condition: impl FnMut() -> bool) {
    let patience = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), patience).await;
    waited.expect("it should have come about");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_is_read_when_it_is_due_and_not_before() {
    let den = Den::new();
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    assert_eq!(world.announced(site).len(), 2);
    den.site.forget_requests();
    world.pass(TimeDelta::hours(23));
    world.scheduler().idle().await;
    assert!(den.site.requests().is_empty());
    world.pass(TimeDelta::hours(4));
    world.scheduler().idle().await;
    assert!(!den.site.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_fetches_nothing_that_is_not_due() {
    let den = Den::new();
    let mut world = World::new().await;
    world.follow(&den.url("/")).await;
    den.site.forget_requests();
    for _ in 0..3 {
        world.restart().await;
        world.scheduler().idle().await;
    }
    assert!(den.site.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_asked_for_with_the_validators_they_came_with_byte_for_byte() {
    let den = Den::new();
    let (tag, date) = ("W/\"fox; \\ \u{e9}\"", "Tue, 10 Mar 2026 09:00:00 GMT");
    let list = crate::den::change_list("/capabilitylist.xml", "from='2026-01-01'", &[]);
    let list = Reply::xml(den.filled(&list));
    den.site.serve(LIST, list.etag(tag).last_modified(date));
    let mut world = World::new().await;
    world.follow(&den.url("/")).await;
    assert_eq!(den.site.requests_to(LIST)[0].header("if-none-match"), None);
    den.site.forget_requests();
    world.restart().await;
    world.pass(TimeDelta::days(2));
    world.scheduler().idle().await;
    let again = &den.site.requests_to(LIST)[0];
    assert_eq!(again.header_bytes("if-none-match"), Some(tag.as_bytes()));
    assert_eq!(
        again.header_bytes("if-modified-since"),
        Some(date.as_bytes())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sites_of_one_host_are_read_one_after_the_other_with_a_gap() {
    let gap = Duration::from_millis(20);
    let mut settings = open_settings();
    settings.host_gap = gap;
    let site = FakeSite::start();
    for name in ["one", "two", "three"] {
        site.serve(
            &format!("/{name}/"),
            Reply::html("<title>Nothing here</title>"),
        );
    }
    let world = World::with(settings, 8).await;
    for name in ["one", "two", "three"] {
        let url = site.url_as("shared.example", &format!("/{name}/"));
        world.store().add_site(&url, world.now()).await.unwrap();
    }
    world.scheduler().idle().await;
    let times: Vec<_> = site.requests().iter().map(|seen| seen.at).collect();
    assert!(times.len() > 3);
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] >= gap);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_does_not_answer_delays_nobody_else() {
    let slow = den_called("slow.example");
    let gate = Gate::default();
    slow.site
        .serve(WELL_KNOWN, Reply::status(404).behind(&gate));
    let quick: Vec<Den> = ["a.example", "b.example", "c.example"]
        .map(den_called)
        .into();
    let world = World::with(open_settings(), 2).await;
    add(&world, &slow).await;
    world.scheduler().wake();
    until(|| !slow.site.requests().is_empty()).await;
    let mut sites = Vec::new();
    for den in &quick {
        sites.push(add(&world, den).await);
    }
    world.scheduler().wake();
    let read = |den: &Den| !den.site.requests_to("/about.xml").is_empty();
    until(|| quick.iter().all(read)).await;
    gate.open();
    world.scheduler().idle().await;
    for site in sites {
        assert_eq!(world.announced(site), ["created /a 2026-03-01"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_hosts_are_read_at_once_than_the_operator_allows() {
    let gate = Gate::default();
    let dens = ["a.example", "b.example", "c.example", "d.example"].map(den_called);
    for den in &dens {
        den.site
            .serve("/capabilitylist.xml", Reply::status(404).behind(&gate));
    }
    let world = World::with(open_settings(), 2).await;
    for den in &dens {
        add(&world, den).await;
    }
    world.scheduler().wake();
    let waiting = |den: &&Den| !den.site.requests_to("/capabilitylist.xml").is_empty();
    until(|| dens.iter().filter(waiting).count() == 2).await;
    let begun = dens.iter().filter(|den| !den.site.requests().is_empty());
    assert_eq!(begun.count(), 2);
    gate.open();
    world.scheduler().idle().await;
    assert!(dens.iter().all(|den| !den.site.requests().is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_while_a_site_is_read_gets_the_check_that_is_under_way() {
    let den = den_called("fox.example");
    let gate = Gate::default();
    let list = Reply::xml(den.filled(&crate::den::urlset("<rs:md capability='description'/>")));
    den.site.serve(WELL_KNOWN, list.behind(&gate));
    let world = World::new().await;
    let site = add(&world, &den).await;
    let first = world.scheduler().check_now(site).await.unwrap();
    until(|| !den.site.requests_to(WELL_KNOWN).is_empty()).await;
    for _ in 0..3 {
        assert_eq!(world.scheduler().check_now(site).await.unwrap(), first);
    }
    world.scheduler().wake();
    gate.open();
    world.scheduler().idle().await;
    assert_eq!(den.site.requests_to(WELL_KNOWN).len(), 1);
    let checks = world.store().checks(site, None, 10).await.unwrap();
    assert_eq!(checks.len(), 1);
    let later = world.scheduler().check_now(site).await.unwrap();
    assert_ne!(later, first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_somebody_asks_for_goes_before_those_that_are_only_due() {
    let [busy, due, asked] = ["a.example", "b.example", "c.example"].map(den_called);
    let gate = Gate::default();
    busy.site
        .serve(WELL_KNOWN, Reply::status(404).behind(&gate));
    let world = World::with(open_settings(), 1).await;
    let mut sites = Vec::new();
    for den in [&busy, &due, &asked] {
        sites.push(add(&world, den).await);
    }
    world.scheduler().wake();
    until(|| !busy.site.requests().is_empty()).await;
    world.scheduler().check_now(sites[2]).await.unwrap();
    gate.open();
    world.scheduler().idle().await;
    let first = |den: &Den| den.site.requests()[0].at;
    assert!(first(&asked) < first(&due));
    let checks = world.store().checks(sites[2], None, 10).await.unwrap();
    assert_eq!(checks.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_asks_for_peace_has_it_from_everybody_and_after_a_restart() {
    let den = Den::new();
    den.site
        .serve(WELL_KNOWN, Reply::status(503).retry_after(3600));
    let mut world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let peace = |error| matches!(error, AskError::Peace(wait) if wait.as_secs() > 3500);
    assert!(peace(world.scheduler().check_now(site).await.unwrap_err()));
    world.restart().await;
    den.site.forget_requests();
    assert!(peace(world.scheduler().check_now(site).await.unwrap_err()));
    let beside = den.url("/beside/");
    let (beside, _) = (world.store().add_site(&beside, world.now()))
        .await
        .unwrap();
    world.scheduler().idle().await;
    assert!(den.site.requests().is_empty());
    let row = world.store().site(beside).await.unwrap().unwrap();
    assert!(row.next_check_at.unwrap() > world.now() + TimeDelta::minutes(59));
    assert_eq!(row.status, SiteStatus::New);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_to_which_a_site_only_leads_has_its_peace_after_a_restart_too() {
    let (typed, den) = (FakeSite::start(), Den::new());
    let away = den.url(WELL_KNOWN);
    typed.serve(WELL_KNOWN, Reply::redirect(302, away.as_str()));
    let mut world = World::new().await;
    let site = world.follow(&typed.url_as("typed.example", "/")).await;
    den.site
        .serve(WELL_KNOWN, Reply::status(503).retry_after(3600));
    world.scheduler().check_now(site).await.unwrap();
    world.scheduler().idle().await;
    world.restart().await;
    den.site.forget_requests();
    let row = world.store().site(site).await.unwrap().unwrap();
    assert!(row.next_check_at.unwrap() > world.now() + TimeDelta::minutes(59));
    for address in ["/", "/beside/"] {
        let at_host = (world.store().add_site(&den.url(address), world.now())).await;
        let refusal = world.scheduler().check_now(at_host.unwrap().0).await;
        assert!(matches!(refusal, Err(AskError::Peace(_))), "{refusal:?}");
    }
    world.scheduler().idle().await;
    assert!(den.site.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_takes_too_long_is_given_up_at_the_stop_and_done_again_at_the_start() {
    let den = den_called("fox.example");
    let gate = Gate::default();
    let list = den.filled(&crate::den::change_list(
        "/capabilitylist.xml",
        "from='2026-01-01'",
        &["created /a 2026-03-01"],
    ));
    den.site.serve(LIST, Reply::xml(list.clone()).behind(&gate));
    let mut world = World::new().await;
    let site = add(&world, &den).await;
    world.scheduler().wake();
    until(|| !den.site.requests_to(LIST).is_empty()).await;
    world.stop(Duration::ZERO).await;
    let store = Store::open(world.folder()).await.unwrap();
    let checks = store.checks(site, None, 10).await.unwrap();
    assert_eq!(checks[0].outcome, Some(Outcome::Failed));
    assert!(checks[0].summary.contains("done again"));
    store.close().await.unwrap();
    gate.open();
    world.start().await;
    world.scheduler().idle().await;
    assert_eq!(world.announced(site), ["created /a 2026-03-01"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_was_asked_for_and_is_given_up_at_the_stop_is_done_again_though_nothing_is_due()
 {
    let den = den_called("fox.example");
    let mut world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let gate = Gate::default();
    let list = |changes: &[&str]| {
        let up = "/capabilitylist.xml";
        den.filled(&crate::den::change_list(up, "from='2026-01-01'", changes))
    };
    let news = list(&["created /a 2026-03-01", "updated /a 2026-03-09"]);
    den.site.serve(LIST, Reply::xml(news).behind(&gate));
    den.site.forget_requests();
    world.scheduler().check_now(site).await.unwrap();
    until(|| !den.site.requests_to(LIST).is_empty()).await;
    world.stop(Duration::ZERO).await;
    gate.open();
    world.start().await;
    world.scheduler().idle().await;
    let announced = world.announced(site);
    assert_eq!(announced.last().unwrap(), "updated /a 2026-03-09");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_was_asked_for_and_waits_at_the_stop_is_done_at_the_next_start() {
    let [busy, asked] = ["a.example", "b.example"].map(den_called);
    let gate = Gate::default();
    let mut world = World::with(open_settings(), 1).await;
    let site = world.follow(&asked.url("/")).await;
    busy.site
        .serve(WELL_KNOWN, Reply::status(404).behind(&gate));
    add(&world, &busy).await;
    world.scheduler().wake();
    until(|| !busy.site.requests().is_empty()).await;
    asked.site.forget_requests();
    world.scheduler().check_now(site).await.unwrap();
    world.stop(Duration::ZERO).await;
    gate.open();
    world.start().await;
    world.scheduler().idle().await;
    assert_eq!(asked.site.requests_to(WELL_KNOWN).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_cannot_be_saved_holds_up_no_other_and_is_not_read_again_at_once() {
    let dens = ["a.example", "b.example"].map(den_called);
    let world = World::new().await;
    let odd = add(&world, &dens[0]).await;
    let database = rusqlite::Connection::open(world.folder().join("sitebell.sqlite3")).unwrap();
    let refuse = format!(
        "CREATE TRIGGER refuse BEFORE INSERT ON collections WHEN NEW.site = {odd}
         BEGIN SELECT RAISE(ABORT, 'not this one'); END"
    );
    database.execute_batch(&refuse).unwrap();
    let other = add(&world, &dens[1]).await;
    world.scheduler().idle().await;
    assert_eq!(world.announced(other), ["created /a 2026-03-01"]);
    let check = &world.store().checks(odd, None, 10).await.unwrap()[0];
    assert_eq!(check.outcome, Some(Outcome::Failed));
    assert!(
        check.summary.contains("a fault in Sitebell"),
        "{}",
        check.summary
    );
    let row = world.store().site(odd).await.unwrap().unwrap();
    assert_eq!(row.status, SiteStatus::Failing);
    assert_eq!(dens[0].site.requests_to(LIST).len(), 1);
    database.execute_batch("DROP TRIGGER refuse").unwrap();
    world.pass(TimeDelta::days(2));
    world.scheduler().idle().await;
    assert_eq!(world.announced(odd), ["created /a 2026-03-01"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_of_which_nothing_can_be_recalled_holds_up_no_other() {
    let dens = ["a.example", "b.example"].map(den_called);
    let world = World::new().await;
    let odd = world.follow(&dens[0].url("/")).await;
    let database = rusqlite::Connection::open(world.folder().join("sitebell.sqlite3")).unwrap();
    let spoil = format!("UPDATE collections SET lists = 'a word' WHERE site = {odd}");
    database.execute_batch(&spoil).unwrap();
    let other = add(&world, &dens[1]).await;
    world.pass(TimeDelta::days(2));
    world.scheduler().idle().await;
    assert_eq!(world.announced(other), ["created /a 2026-03-01"]);
    let checks = world.store().checks(odd, None, 10).await.unwrap();
    assert_eq!(checks.len(), 2);
    assert!(checks[0].summary.contains("a fault in Sitebell"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_site_is_left_alone_until_it_goes_on() {
    let den = Den::new();
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let now = world.now();
    assert!(world.store().set_paused(site, true, now).await.unwrap());
    den.site.forget_requests();
    world.pass(TimeDelta::days(30));
    world.scheduler().idle().await;
    let refusal = world.scheduler().check_now(site).await.unwrap_err();
    assert!(matches!(refusal, AskError::Paused));
    assert!(den.site.requests().is_empty());
    let now = world.now();
    assert!(world.store().set_paused(site, false, now).await.unwrap());
    world.scheduler().idle().await;
    assert!(!den.site.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_vanishes_is_asked_less_and_less_and_followed_again_when_it_is_back() {
    let den = Den::new();
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let good = den.filled(&crate::den::urlset(
        "<rs:md capability='description'/><url><loc>{den}/capabilitylist.xml</loc>
         <rs:md capability='capabilitylist'/><rs:ln rel='describes' href='{den}/'/></url>",
    ));
    den.site.serve(WELL_KNOWN, Reply::status(500));
    let mut waits = Vec::new();
    for _ in 0..4 {
        let row = world.store().site(site).await.unwrap().unwrap();
        world.pass(row.next_check_at.unwrap() - world.now());
        world.scheduler().idle().await;
        let row = world.store().site(site).await.unwrap().unwrap();
        assert_eq!(row.status, SiteStatus::Failing);
        waits.push(row.next_check_at.unwrap() - world.now());
    }
    assert!(waits.is_sorted() && waits[3] > waits[0]);
    assert_eq!(world.announced(site).len(), 2, "its history stays");
    den.site.serve(WELL_KNOWN, Reply::xml(good));
    den.change_list(LIST, "from='2026-01-01'", &["deleted /a 2026-03-09"]);
    world.pass(waits[3]);
    world.scheduler().idle().await;
    let row = world.store().site(site).await.unwrap().unwrap();
    assert_eq!(row.status, SiteStatus::Ok);
    assert_eq!(
        world.announced(site).last().unwrap(),
        "deleted /a 2026-03-09"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_typed_without_a_scheme_is_followed_over_plain_http() {
    let den = Den::new();
    let world = World::new().await;
    let typed = den.url("/");
    let typed = typed.as_str().strip_prefix("http://").unwrap();
    let typed = sitebell::site::SiteUrl::parse(typed).unwrap();
    let now = world.now();
    let (site, _) = world.store().add_site(typed.clone(), now).await.unwrap();
    world.scheduler().idle().await;
    assert_eq!(world.announced(site).len(), 2);
    let again = world.store().add_site(typed, now).await.unwrap();
    assert_eq!(again, (site, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn at_night_a_copy_is_made_and_old_copies_go_but_nothing_else_does() {
    let den = Den::new();
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("sitebell-notes.sqlite3");
    std::fs::write(&mine, "mine").unwrap();
    let copies = Copies {
        folder: folder.path().join("."),
        at: "0 0 4 * * *".parse().unwrap(),
        keep: 2,
    };
    let cut_off = folder.path().join("sitebell-20260309T040000Z.sqlite3.part");
    std::fs::write(&cut_off, "half").unwrap();
    let mut made = Vec::new();
    for _ in 0..4 {
        world.pass(TimeDelta::days(1));
        let copy = upkeep::back_up(world.store(), &copies, world.now()).await;
        made.push(copy.unwrap());
    }
    let there: Vec<bool> = made.iter().map(|copy| copy.exists()).collect();
    assert_eq!(there, [false, false, true, true]);
    assert!(mine.exists());
    assert!(!cut_off.exists());
    let restored = tempfile::tempdir().unwrap();
    Store::restore(&made[3], restored.path(), world.now()).unwrap();
    let store = Store::open(restored.path()).await.unwrap();
    let (changes, _) = store.changes(site, None, 10).await.unwrap();
    assert_eq!(changes.len(), 2);
    let quiet: WordsListener = Arc::new(|_| ());
    let cleaned = upkeep::clean(&store, &Keep::default(), &quiet, world.now()).await;
    cleaned.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn at_night_the_sessions_that_are_over_go_whoever_they_are_of() {
    let world = World::new().await;
    let store = world.store();
    let mut accounts = Vec::new();
    for (name, key) in [("vix", b"vix"), ("tod", b"tod")] {
        let account = store.add_account(name, "", "", false, world.now());
        accounts.push(account.await.unwrap());
        let begun = store.begin_session(accounts[accounts.len() - 1], key, "Firefox", world.now());
        begun.await.unwrap();
    }
    world.pass(TimeDelta::days(29));
    // Only one of them was there again.
    assert!(
        store
            .account_by_session(b"vix", world.now())
            .await
            .unwrap()
            .is_some()
    );
    world.pass(TimeDelta::days(2));
    world.clean(&Keep::default()).await;
    let left = store.clear_sessions(world.now()).await.unwrap();
    assert_eq!(left, 0, "the night has cleared them away");
    assert_eq!(
        store
            .sessions(accounts[0], world.now())
            .await
            .unwrap()
            .len(),
        1
    );
    // Back on the day before, the other one would still be there if it had only been hidden.
    let before = world.now() - TimeDelta::days(2);
    assert_eq!(store.sessions(accounts[1], before).await.unwrap(), []);
}

#[test]
fn a_check_that_begins_while_everything_ends_holds_up_nobody() {
    let runtime = || tokio::runtime::Runtime::new().unwrap();
    let (ending, other) = (runtime(), runtime());
    let (world, site, _den) = ending.block_on(async {
        let (world, den) = (World::new().await, Den::new());
        let site = world.follow(&den.url("/")).await;
        (world, site, den)
    });
    drop(ending);
    other.block_on(async {
        world.scheduler().check_now(site).await.unwrap();
        world.scheduler().idle().await;
    });
    assert_eq!(world.scheduler().tally().under_way, 0);
}

#[test]
fn a_cron_line_that_is_none_is_refused_with_an_example() {
    let refusal = "at four".parse::<upkeep::CronLine>().unwrap_err();
    assert!(refusal.contains("0 30 3 * * *"));
}
