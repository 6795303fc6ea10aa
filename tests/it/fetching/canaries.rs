//! Places that must never be reached: each canary is a real listener that counts who connects.

use super::*;
use sitebell::fetch::Refusal;

/// Nothing but the public internet.
fn guarded(lookup: Arc<dyn Lookup>) -> Fetcher {
    Fetcher::with_lookup(FetchSettings::default(), lookup).unwrap()
}

/// One loopback address is open, all others are as closed as ever.
fn open_to(site: &FakeSite, lookup: Arc<dyn Lookup>) -> Fetcher {
    let allow_nets = vec![site.address().to_string().parse().unwrap()];
    Fetcher::with_lookup(
        FetchSettings {
            allow_nets,
            ..settings()
        },
        lookup,
    )
    .unwrap()
}

/// Fails the test when it is asked at all.
struct NeverAsked;

impl Lookup for NeverAsked {
    fn lookup(&self, name: String) -> LookingUp {
        panic!("{name} was looked up")
    }
}

async fn refusal(fetcher: &Fetcher, url: Url) -> Refusal {
    match fetcher.get(document(url.clone())).await {
        Err(FetchError::Refused(refusal)) => refusal,
        other => panic!("{url}: {other:?}"),
    }
}

#[tokio::test]
async fn no_spelling_of_a_forbidden_address_reaches_it() {
    let canary = FakeSite::start();
    let port = canary.port();
    let fetcher = guarded(Arc::new(NeverAsked));
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0177.0.0.1",
        "0x7f.1",
        "①②⑦.⓪.⓪.①",
        "%31%32%37.0.0.1",
        "127.0.0.1.",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "localhost",
        "localhost.",
        "x.localhost",
        "LOCALHOST",
    ] {
        refusal(
            &fetcher,
            Url::parse(&format!("http://{host}:{port}/")).unwrap(),
        )
        .await;
    }
    canary.assert_untouched();
}

#[tokio::test]
async fn a_name_that_leads_inside_is_refused_even_if_it_also_leads_outside() {
    let canary = FakeSite::start();
    let names = Names::new([
        ("inside.example", &["127.0.0.1"]),
        ("both.example", &["93.184.216.34 127.0.0.1"]),
        ("mapped.example", &["::ffff:127.0.0.1"]),
    ]);
    let fetcher = guarded(names);
    for host in ["inside.example", "both.example", "mapped.example"] {
        let refusal = refusal(&fetcher, canary.url_as(host, "/")).await;
        assert_eq!(refusal, Refusal::LeadsInside { host: host.into() });
    }
    canary.assert_untouched();
}

#[tokio::test]
async fn a_name_that_moves_inside_the_second_time_is_refused_then() {
    // The canary has the same port on another address, because a name changes its address and keeps its port.
    let (site, canary) = loop {
        let site = FakeSite::start_on("127.0.0.2");
        if let Ok(canary) = FakeSite::try_start_on("127.0.0.3", site.port()) {
            break (site, canary);
        }
    };
    site.serve("/", Reply::xml("<a/>").without_length());
    let names = Names::new([("rebinding.example", &["127.0.0.2", "127.0.0.3"])]);
    let fetcher = open_to(&site, names.clone());
    let url = site.url_as("rebinding.example", "/");
    assert_eq!(
        text(fetcher.get(document(url.clone())).await.unwrap()).await,
        "<a/>"
    );
    assert_eq!(
        names.asked().len(),
        1,
        "what was checked is what was dialled: one look-up for one connection"
    );
    refusal(&fetcher, url).await;
    assert_eq!(names.asked().len(), 2);
    canary.assert_untouched();
}

#[tokio::test]
async fn no_redirect_leads_to_a_forbidden_place() {
    let (site, canary) = (FakeSite::start(), FakeSite::start_on("127.0.0.2"));
    let names = Names::new([
        ("inside.example", &["127.0.0.2"]),
        ("site.example", &["127.0.0.1"]),
    ]);
    let fetcher = open_to(&site, names);
    let port = canary.port();
    for target in [
        canary.url("/").to_string(),
        format!("//127.0.0.2:{port}/"),
        format!("http://127.2:{port}/"),
        format!("http://[::ffff:127.0.0.2]:{port}/"),
        format!("http://inside.example:{port}/"),
        format!("http://user:password@site.example:{}/", site.port()),
        "file:///etc/passwd".to_owned(),
        "ftp://example.org/".to_owned(),
        "javascript:alert(1)".to_owned(),
        "data:text/xml,<a/>".to_owned(),
    ] {
        site.serve("/", Reply::redirect(302, &target));
        for start in [site.url("/"), site.url_as("site.example", "/")] {
            refusal(&fetcher, start).await;
        }
    }
    canary.assert_untouched();
}

#[tokio::test]
async fn an_allowed_port_does_not_open_its_neighbours() {
    let (site, canary) = (FakeSite::start(), FakeSite::start());
    site.serve("/", Reply::xml("<a/>"));
    let names = Names::new([
        ("both.example", &["127.0.0.1"]),
        ("localhost", &["127.0.0.1"]),
    ]);
    let fetcher = open_to(&site, names);
    for host in ["127.0.0.1", "both.example", "localhost"] {
        assert_eq!(
            text(fetcher.get(document(site.url_as(host, "/"))).await.unwrap()).await,
            "<a/>"
        );
        refusal(&fetcher, canary.url_as(host, "/")).await;
    }
    canary.assert_untouched();
}

#[tokio::test]
async fn many_requests_at_once_to_one_name_on_two_ports_keep_them_apart() {
    let (site, canary) = (FakeSite::start(), FakeSite::start());
    site.serve("/", Reply::xml("<a/>").without_length());
    let fetcher = Arc::new(open_to(
        &site,
        Names::new([("both.example", &["127.0.0.1"])]),
    ));
    let (good, bad) = (
        site.url_as("both.example", "/"),
        canary.url_as("both.example", "/"),
    );
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let (fetcher, url) = (
                fetcher.clone(),
                if number % 2 == 0 {
                    good.clone()
                } else {
                    bad.clone()
                },
            );
            tokio::spawn(async move { fetcher.get(document(url)).await.is_ok() })
        })
        .collect();
    for (number, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), number % 2 == 0);
    }
    canary.assert_untouched();
}

#[tokio::test]
async fn a_local_name_must_lead_to_an_allowed_network() {
    let site = FakeSite::start();
    let names = Names::new([
        ("localhost", &["93.184.216.34"]),
        ("printer.local", &["127.0.0.1 10.0.0.1"]),
    ]);
    let fetcher = open_to(&site, names);
    for host in ["localhost", "printer.local"] {
        let refusal = refusal(&fetcher, site.url_as(host, "/")).await;
        assert_eq!(refusal, Refusal::LocalName { host: host.into() });
    }
    site.assert_untouched();
}

#[tokio::test]
async fn robots_txt_of_a_forbidden_place_is_not_asked_for_either() {
    let canary = FakeSite::start();
    let fetcher = guarded(Arc::new(NeverAsked));
    assert!(fetcher.get_page(document(canary.url("/"))).await.is_err());
    fetcher.robots(&canary.url("/")).await;
    canary.assert_untouched();
}
