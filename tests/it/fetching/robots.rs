//! Pages are read only where robots.txt lets us; documents for machines always are.

use super::*;

async fn page(fetcher: &Fetcher, url: Url) -> Result<Fetched, FetchError> {
    fetcher.get_page(Request::new(url, Limit::Other)).await
}

#[tokio::test]
async fn robots_txt_is_asked_once_and_obeyed_for_pages() {
    let site = FakeSite::start();
    site.serve(
        "/robots.txt",
        Reply::text("User-agent: *\nDisallow: /private\nSitemap: /s.xml\nCrawl-delay: 2\n"),
    );
    site.serve("/open", Reply::html("<p>open"));
    site.serve("/private", Reply::html("<p>private"));
    let fetcher = fetcher();
    for _ in 0..2 {
        assert_eq!(
            text(page(&fetcher, site.url("/open")).await.unwrap()).await,
            "<p>open"
        );
        let error = page(&fetcher, site.url("/private")).await.unwrap_err();
        assert!(matches!(error, FetchError::RobotsForbid { .. }), "{error}");
    }
    assert_eq!(
        text(fetcher.get(document(site.url("/private"))).await.unwrap()).await,
        "<p>private"
    );
    let robots = fetcher.robots(&site.url("/whatever")).await;
    assert_eq!(robots.sitemaps(), ["/s.xml"]);
    assert_eq!(robots.crawl_delay(), Some(Duration::from_secs(2)));
    assert_eq!(site.paths(), ["/robots.txt", "/open", "/open", "/private"]);
}

#[tokio::test]
async fn every_hop_of_a_redirect_asks_its_own_robots_txt() {
    let (site, other) = (FakeSite::start(), FakeSite::start_on("127.0.0.2"));
    site.serve("/a", Reply::redirect(302, other.url("/b")));
    site.serve("/c", Reply::redirect(302, "/secret"));
    site.serve(
        "/robots.txt",
        Reply::text("User-agent: sitebell\nDisallow: /secret"),
    );
    other.serve("/robots.txt", Reply::text("User-agent: *\nDisallow: /"));
    let fetcher = fetcher();
    for path in ["/a", "/c"] {
        let error = page(&fetcher, site.url(path)).await.unwrap_err();
        assert!(matches!(error, FetchError::RobotsForbid { .. }), "{error}");
    }
    assert_eq!(site.paths(), ["/robots.txt", "/a", "/c"]);
    assert_eq!(other.paths(), ["/robots.txt"]);
}

#[tokio::test]
async fn a_site_without_robots_txt_is_open_and_one_that_fails_is_not() {
    for (reply, is_open) in [
        (Reply::status(404), true),
        (Reply::status(410), true),
        (Reply::status(403), true),
        (Reply::redirect(302, "/robots.txt"), true),
        (Reply::html("<html>a page for every address</html>"), true),
        (Reply::text("\n".repeat(600_000)), true),
        (Reply::text("\n".repeat(3_000_000)), true),
        (Reply::status(500), false),
        (Reply::status(503), false),
        (Reply::status(429), false),
        (Reply::hang_up(), false),
        (Reply::text("User-agent: *\nAllow: /").cut_after(3), false),
    ] {
        let site = FakeSite::start();
        site.serve("/robots.txt", reply);
        site.serve("/", Reply::html("<p>home"));
        match page(&fetcher(), site.url("/")).await {
            Ok(_) => assert!(is_open),
            Err(error) => {
                assert!(
                    !is_open && matches!(error, FetchError::RobotsUnreachable { .. }),
                    "{error}"
                );
                assert!(error.is_temporary());
                assert_eq!(site.requests_to("/").len(), 0);
            }
        }
    }
}
