//! Requests as a site sees them: polite, conditional, counted, and never more than it asked for.

mod bodies; // what comes back: whole, cut, slow, compressed, endless
mod canaries; // where requests must never go
mod robots; // what robots.txt says
mod secure; // certificates

use std::sync::Arc;
use std::time::Duration;

use sitebell::fetch::{
    Answer, Errand, FetchError, FetchSettings, Fetched, Fetcher, Limit, LookingUp, Lookup,
    RedirectProblem, Request, Slowness, Validators,
};
use url::Url;

use crate::fake_site::{FakeSite, Gate, Reply};
use crate::names::Names;

/// Quick, and open to all of loopback.
fn settings() -> FetchSettings {
    FetchSettings {
        host_gap: Duration::ZERO,
        allow_nets: vec!["127.0.0.0/8".parse().unwrap()],
        ..FetchSettings::default()
    }
}

fn fetcher() -> Fetcher {
    Fetcher::new(settings()).unwrap()
}

fn document(url: Url) -> Request {
    Request::new(url, Limit::Document)
}

async fn text(fetched: Fetched) -> String {
    let (bytes, _) = fetched
        .answer
        .into_body()
        .expect("a body")
        .bytes()
        .await
        .unwrap();
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn a_request_says_who_asks_and_nothing_else() {
    let (site, other) = (FakeSite::start(), FakeSite::start_on("127.0.0.2"));
    site.serve(
        "/",
        Reply::redirect(302, other.url("/a.xml")).header("Set-Cookie", "id=1"),
    );
    other.serve("/a.xml", Reply::xml("<a/>"));
    let fetcher = Fetcher::new(FetchSettings {
        contact: Some("me@example.org".into()),
        ..settings()
    })
    .unwrap();
    text(fetcher.get(document(site.url("/#part"))).await.unwrap()).await;
    for (host, seen) in [
        (site.address(), &site.requests()[0]),
        (other.address(), &other.requests()[0]),
    ] {
        assert_eq!(seen.method, "GET");
        let agent = format!(
            "Sitebell/{} (+https://sitebell.example/about-the-fetcher; me@example.org)",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(seen.header("user-agent"), Some(agent.as_str()));
        assert!(
            seen.header("accept")
                .unwrap()
                .starts_with("application/xml")
        );
        assert_eq!(
            seen.header("accept-encoding"),
            Some("gzip, br, deflate, zstd")
        );
        let mut names: Vec<_> = seen
            .headers
            .iter()
            .map(|(name, _)| name.to_ascii_lowercase())
            .collect();
        names.sort();
        assert_eq!(names, ["accept", "accept-encoding", "host", "user-agent"]);
        assert_eq!(seen.header("host"), Some(host.to_string().as_str()));
    }
    assert_eq!(site.paths(), ["/"], "a fragment is not sent");
}

#[tokio::test]
async fn an_answer_tells_what_its_head_says() {
    let site = FakeSite::start();
    let reply = Reply::xml("<a/>")
        .header("Date", "Sun, 06 Nov 1994 08:49:37 GMT")
        .header("Cache-Control", "max-age=60")
        .header("Link", "</one>; rel=\"resourcesync\"")
        .header("Link", "</two>; rel=\"describedby\"");
    site.serve("/a.xml", reply);
    let fetched = fetcher().get(document(site.url("/a.xml"))).await.unwrap();
    assert_eq!(
        (fetched.status, fetched.requests, fetched.permanently_moved),
        (200, 1, false)
    );
    assert_eq!(fetched.url, site.url("/a.xml"));
    assert_eq!(
        fetched.date.unwrap().to_rfc3339(),
        "1994-11-06T08:49:37+00:00"
    );
    assert_eq!(fetched.fresh_for, Some(Duration::from_secs(60)));
    assert_eq!(fetched.content_type.as_deref(), Some("application/xml"));
    assert_eq!(
        fetched.link_headers,
        [
            "</one>; rel=\"resourcesync\"",
            "</two>; rel=\"describedby\""
        ]
    );
    assert_eq!(fetched.validators, None);
    assert_eq!(text(fetched).await, "<a/>");
}

#[tokio::test]
async fn an_errand_uses_its_connection_again_and_the_next_one_has_its_own() {
    let site = FakeSite::start();
    site.serve("/a.xml", Reply::xml("<a/>"));
    let fetcher = fetcher();
    for errands in 1..=2 {
        let errand = Errand::default();
        for _ in 0..3 {
            let request = document(site.url("/a.xml")).on(&errand);
            text(fetcher.get(request).await.unwrap()).await;
        }
        assert_eq!(
            (site.requests().len(), site.connections()),
            (3 * errands, errands)
        );
    }
}

#[tokio::test]
async fn an_empty_answer_is_an_empty_body() {
    let site = FakeSite::start();
    site.serve("/204", Reply::status(204));
    site.serve(
        "/200",
        Reply::status(200).header("Content-Encoding", "gzip"),
    );
    for path in ["/204", "/200"] {
        assert_eq!(
            text(fetcher().get(document(site.url(path))).await.unwrap()).await,
            ""
        );
    }
}

#[tokio::test]
async fn redirects_are_followed_and_counted() {
    let site = FakeSite::start();
    for hop in 0..5 {
        site.serve(
            &format!("/{hop}"),
            Reply::redirect(301 + 7 * (hop % 2), format!("{}?x#y", hop + 1)),
        );
    }
    site.serve("/5", Reply::xml("<end/>"));
    let fetched = fetcher().get(document(site.url("/0"))).await.unwrap();
    assert_eq!(fetched.url, site.url("/5?x"));
    assert_eq!((fetched.requests, fetched.permanently_moved), (6, true));
    assert_eq!(text(fetched).await, "<end/>");
    site.serve("/3", Reply::redirect(302, "/5"));
    let fetched = fetcher().get(document(site.url("/0"))).await.unwrap();
    assert!(
        !fetched.permanently_moved,
        "one temporary hop makes all of it temporary"
    );
}

#[tokio::test]
async fn redirects_that_lead_nowhere_are_errors() {
    let site = FakeSite::start();
    for number in 0..10 {
        site.serve(
            &format!("/many{number}"),
            Reply::redirect(307, format!("/many{}", number + 1)),
        );
    }
    site.serve("/loop", Reply::redirect(301, "/pool"));
    site.serve("/pool", Reply::redirect(301, "/loop"));
    site.serve(
        "/self",
        Reply::redirect(302, "/self").header("Set-Cookie", "seen=1"),
    );
    site.serve("/300", Reply::redirect(300, "/x"));
    site.serve("/no-location", Reply::status(302));
    site.serve("/bad", Reply::redirect(302, "http://[::1"));
    let problem = async |path: &str| match fetcher().get(document(site.url(path))).await {
        Err(FetchError::Redirect { problem, .. }) => problem,
        other => panic!("{path}: {other:?}"),
    };
    assert_eq!(problem("/many0").await, RedirectProblem::TooMany(5));
    assert_eq!(site.requests().len(), 6);
    assert_eq!(
        problem("/loop").await,
        RedirectProblem::Loop(site.url("/loop").into())
    );
    assert_eq!(
        problem("/self").await,
        RedirectProblem::Loop(site.url("/self").into())
    );
    assert_eq!(problem("/300").await, RedirectProblem::Nowhere(300));
    assert_eq!(problem("/no-location").await, RedirectProblem::Nowhere(302));
    assert_eq!(problem("/bad").await, RedirectProblem::BadTarget);
}

#[tokio::test]
async fn an_unchanged_document_is_not_sent_again() {
    let site = FakeSite::start();
    let odd_tag = b"W/\"caf\xe9, 1\"";
    site.serve(
        "/a.xml",
        Reply::xml("<a/>").etag(odd_tag).last_modified("long ago"),
    );
    let fetcher = fetcher();
    let first = fetcher.get(document(site.url("/a.xml"))).await.unwrap();
    let validators = first.validators.clone().unwrap();
    text(first).await;
    let request = Request {
        validators: Some(validators.clone()),
        ..document(site.url("/a.xml"))
    };
    let second = fetcher.get(request).await.unwrap();
    assert!(matches!(second.answer, Answer::NotModified));
    assert_eq!((second.status, second.validators), (304, Some(validators)));
    let seen = &site.requests()[1];
    assert_eq!(seen.header_bytes("if-none-match"), Some(&odd_tag[..]));
    assert_eq!(seen.header("if-modified-since"), Some("long ago"));
}

#[tokio::test]
async fn validators_go_only_to_the_address_that_gave_them() {
    let site = FakeSite::start();
    site.serve("/old", Reply::redirect(302, "/new"));
    site.serve("/new", Reply::xml("<a/>").etag("\"1\""));
    let fetcher = fetcher();
    let first = fetcher.get(document(site.url("/old"))).await.unwrap();
    let validators = first.validators.clone().unwrap();
    assert_eq!(validators.url, site.url("/new"));
    drop(first);
    let request = Request {
        validators: Some(validators),
        ..document(site.url("/old"))
    };
    let again = fetcher.get(request.clone()).await.unwrap();
    assert!(matches!(again.answer, Answer::NotModified));
    assert_eq!(again.requests, 2);
    let seen = site.requests();
    assert_eq!(
        seen[2].header("if-none-match"),
        None,
        "the redirect knows nothing of this tag"
    );
    assert_eq!(seen[3].header("if-none-match"), Some("\"1\""));
    // The redirect now leads to another document, which happens to have the same tag: it is another document.
    site.serve("/old", Reply::redirect(302, "/other"));
    site.serve("/other", Reply::xml("<b/>").etag("\"1\""));
    assert_eq!(text(fetcher.get(request).await.unwrap()).await, "<b/>");
}

#[tokio::test]
async fn not_modified_without_being_asked_is_an_error() {
    let site = FakeSite::start();
    site.serve("/a.xml", Reply::status(304));
    let empty = Validators {
        url: site.url("/a.xml"),
        etag: None,
        last_modified: None,
    };
    for validators in [None, Some(empty)] {
        let error = fetcher()
            .get(Request {
                validators,
                ..document(site.url("/a.xml"))
            })
            .await
            .unwrap_err();
        assert!(
            matches!(error, FetchError::UnaskedNotModified { .. }),
            "{error}"
        );
    }
}

#[tokio::test]
async fn other_statuses_are_errors_that_name_them() {
    let site = FakeSite::start();
    for (status, is_temporary) in [
        (206, false),
        (404, false),
        (410, false),
        (401, false),
        (500, true),
        (429, true),
    ] {
        site.serve(
            "/a.xml",
            Reply::new(status, "text/html", "<html>sorry</html>"),
        );
        let error = fetcher()
            .get(document(site.url("/a.xml")))
            .await
            .unwrap_err();
        assert!(
            matches!(&error, FetchError::Status { status: found, .. } if *found == status),
            "{error:?}"
        );
        assert_eq!(error.is_temporary(), is_temporary, "{status}");
        assert!(
            error
                .to_string()
                .contains(&format!("answered with status {status}")),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_host_that_asks_for_peace_gets_it() {
    let (site, other) = (FakeSite::start(), FakeSite::start());
    let fetcher = fetcher();
    for status in [429, 503] {
        let site = FakeSite::start();
        site.serve("/", Reply::status(status).retry_after(3_600));
        let error = fetcher.get(document(site.url("/"))).await.unwrap_err();
        assert_eq!(error.retry_after(), Some(Duration::from_secs(3_600)));
        let error = fetcher.get(document(site.url("/other"))).await.unwrap_err();
        assert!(
            matches!(error, FetchError::HostAskedForPeace { .. }),
            "{error}"
        );
        assert!(error.retry_after().unwrap() > Duration::from_secs(3_000));
        assert_eq!(site.paths(), ["/"], "no request inside of the window");
    }
    // Neither other hosts nor other statuses are affected; nonsense is ignored.
    other.serve("/", Reply::status(500).retry_after(3_600));
    site.serve("/", Reply::status(503).retry_after("soon"));
    for site in [&site, &other] {
        for _ in 0..2 {
            let error = fetcher.get(document(site.url("/"))).await.unwrap_err();
            assert!(matches!(error, FetchError::Status { .. }), "{error}");
        }
        assert_eq!(site.requests().len(), 2);
    }
}

#[tokio::test]
async fn one_host_gets_one_request_at_a_time_until_its_body_is_read() {
    let site = FakeSite::start();
    site.serve("/a.xml", Reply::xml("<a/>"));
    let fetcher = Arc::new(fetcher());
    let first = fetcher.get(document(site.url("/a.xml"))).await.unwrap();
    let second = tokio::spawn({
        let (fetcher, url) = (fetcher.clone(), site.url("/a.xml"));
        async move { text(fetcher.get(document(url)).await.unwrap()).await }
    });
    // Another host is asked meanwhile: when it has answered, the second request had its chance and did not take it.
    let other = FakeSite::start();
    other.serve("/b.xml", Reply::xml("<b/>"));
    text(fetcher.get(document(other.url("/b.xml"))).await.unwrap()).await;
    assert_eq!(site.requests().len(), 1);
    text(first).await;
    assert_eq!(second.await.unwrap(), "<a/>");
}

#[tokio::test]
async fn a_slow_host_does_not_delay_another() {
    let (slow, quick) = (FakeSite::start(), FakeSite::start());
    let gate = Gate::default();
    slow.serve("/", Reply::xml("<slow/>").behind(&gate));
    quick.serve("/", Reply::xml("<quick/>"));
    let fetcher = Arc::new(fetcher());
    let waiting = tokio::spawn({
        let (fetcher, url) = (fetcher.clone(), slow.url("/"));
        async move { text(fetcher.get(document(url)).await.unwrap()).await }
    });
    slow.wait_for_requests(1).await;
    for _ in 0..5 {
        text(fetcher.get(document(quick.url("/"))).await.unwrap()).await;
    }
    assert!(!waiting.is_finished());
    gate.open();
    assert_eq!(waiting.await.unwrap(), "<slow/>");
}

#[tokio::test]
async fn a_host_that_does_not_answer_is_given_up() {
    let site = FakeSite::start();
    site.serve("/", Reply::silence());
    let brief = Duration::from_millis(100);
    let settings = FetchSettings {
        connect_timeout: brief,
        idle_timeout: brief,
        ..settings()
    };
    let error = Fetcher::new(settings)
        .unwrap()
        .get(document(site.url("/")))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            FetchError::Timeout {
                which: Slowness::Answer(_),
                ..
            }
        ),
        "{error}"
    );
    assert!(error.is_temporary());
}

#[tokio::test]
async fn ways_of_not_connecting_cannot_be_told_apart() {
    let site = FakeSite::start();
    site.serve("/hang-up", Reply::hang_up());
    site.serve("/banner", Reply::raw("220 mail.example.org ESMTP\r\n"));
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    // The last one never completes its TLS handshake, as a filtered port never completes a connection.
    let settings = FetchSettings {
        connect_timeout: Duration::from_millis(200),
        ..settings()
    };
    let mut sentences = vec![];
    for url in [
        site.url("/hang-up"),
        site.url("/banner"),
        Url::parse(&format!("http://127.0.0.1:{closed}/")).unwrap(),
        Url::parse(&format!("https://127.0.0.1:{}/", site.port())).unwrap(),
    ] {
        let error = Fetcher::new(settings.clone())
            .unwrap()
            .get(document(url))
            .await
            .unwrap_err();
        assert!(matches!(error, FetchError::Connect { .. }), "{error:?}");
        assert!(
            std::error::Error::source(&error).is_some(),
            "the log still learns the cause"
        );
        sentences.push(error.to_string());
    }
    sentences.dedup();
    assert_eq!(
        sentences,
        ["could not connect to 127.0.0.1; check the address, or try again later"]
    );
}

#[tokio::test]
async fn a_name_that_does_not_exist_has_an_error_of_its_own() {
    let fetcher = Fetcher::with_lookup(settings(), Names::new([])).unwrap();
    let error = fetcher
        .get(document(Url::parse("https://exmaple.org/").unwrap()))
        .await
        .unwrap_err();
    assert!(
        matches!(error, FetchError::NameNotFound { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_response_head_without_measure_is_refused() {
    let site = FakeSite::start();
    let many = (0..200).fold(Reply::xml("<a/>"), |reply, number| {
        reply.header(&format!("X-{number}"), "x")
    });
    site.serve("/many", many);
    site.serve(
        "/long",
        Reply::xml("<a/>").header("X-Long", "x".repeat(100_000)),
    );
    assert!(fetcher().get(document(site.url("/many"))).await.is_err());
    let error = fetcher()
        .get(document(site.url("/long")))
        .await
        .unwrap_err();
    assert!(matches!(error, FetchError::HeadTooLarge { .. }), "{error}");
}

/// A proxy from the environment would see every request, and our own checks would see only the proxy.
#[test]
fn proxies_from_the_environment_are_not_used() {
    let (site, proxy) = (FakeSite::start(), FakeSite::start());
    site.serve("/a.xml", Reply::xml("<a/>"));
    let address = format!("http://{}", proxy.address());
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args([
        "--exact",
        "fetching::a_child_with_proxies_in_its_environment",
    ]);
    for name in [
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ] {
        child.env(name, &address);
    }
    let output = child
        .env("SITEBELL_TEST_TARGET", site.url("/a.xml").as_str())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(site.paths(), ["/a.xml"]);
    proxy.assert_untouched();
}

/// The other half of the test above: does nothing unless started by it.
#[tokio::test]
async fn a_child_with_proxies_in_its_environment() {
    if let Ok(target) = std::env::var("SITEBELL_TEST_TARGET") {
        assert_eq!(
            text(
                fetcher()
                    .get(document(target.parse().unwrap()))
                    .await
                    .unwrap()
            )
            .await,
            "<a/>"
        );
    }
}
