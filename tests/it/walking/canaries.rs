//! Where no document may lead: the canary is a real listener on an address that is not open.

use std::sync::Arc;

use sitebell::check::{CheckSettings, Checked};

use crate::den::*;
use crate::fake_site::{FakeSite, Reply};
use crate::names::Names;

/// A site that may be read, and beside it a place that may not: as an address, and as a name.
struct Cage {
    den: Den,
    canary: FakeSite,
}

impl Cage {
    fn new() -> Cage {
        Cage {
            den: Den::new(),
            canary: FakeSite::start_on("127.0.0.2"),
        }
    }

    fn forbidden(&self) -> [String; 3] {
        let port = self.canary.port();
        [
            format!("http://127.0.0.2:{port}/x.xml"),
            format!("http://inside.example:{port}/x.xml"),
            format!("http://[::ffff:127.0.0.2]:{port}/x.xml"),
        ]
    }

    async fn check(&self, path: &str) -> Checked {
        let names = Names::new([
            ("fox.example", &["127.0.0.1"]),
            ("inside.example", &["127.0.0.2"]),
        ]);
        let fetcher = fetcher_for(&self.den.site, names);
        let typed = self.den.url(path);
        run(fetcher, typed.as_str(), &CheckSettings::default())
            .await
            .unwrap()
    }

    /// Checks the den with each forbidden address in the place that `build` puts it.
    async fn try_each(&self, build: impl Fn(&Den, &str)) {
        for target in self.forbidden() {
            build(&self.den, &target);
            let checked = self.check("/").await;
            let said = message(&checked, "forbidden-address");
            assert!(said.contains("public internet"), "{said}");
        }
    }
}

#[tokio::test]
async fn no_capability_list_is_fetched_from_inside() {
    let cage = Cage::new();
    cage.try_each(|den, target| {
        den.description(&[("/capabilitylist.xml", "/"), (target, "/x/")]);
    })
    .await;
    cage.canary.assert_untouched();
}

#[tokio::test]
async fn no_change_list_is_fetched_from_inside() {
    let cage = Cage::new();
    cage.try_each(|den, target| {
        den.capability_list("/capabilitylist.xml", "/", &["/changelist.xml", target]);
    })
    .await;
    cage.canary.assert_untouched();
}

#[tokio::test]
async fn no_child_of_an_index_is_fetched_from_inside() {
    let cage = Cage::new();
    cage.try_each(|den, target| {
        let span = "from='2026-01-01'";
        den.index("/changelist.xml", span, &[(target, span)]);
    })
    .await;
    cage.try_each(|den, target| {
        let child = format!("<sitemap><loc>{target}</loc></sitemap>");
        let index = format!("<rs:md capability='description'/>{child}");
        den.xml(WELL_KNOWN, &sitemapindex(&index));
    })
    .await;
    cage.canary.assert_untouched();
}

#[tokio::test]
async fn no_description_is_fetched_from_inside() {
    let cage = Cage::new();
    cage.try_each(|den, target| {
        let head = format!("<rs:ln rel='describedby' href='{target}'/>");
        den.xml(
            WELL_KNOWN,
            &urlset(&format!(
                "{head}<rs:md capability='description'/><url><loc>{{den}}/capabilitylist.xml</loc>
                <rs:md capability='capabilitylist'/><rs:ln rel='describes' href='{{den}}/'/>{head}</url>"
            )),
        );
        den.xml(
            "/capabilitylist.xml",
            &urlset(&format!(
                "{head}<rs:md capability='capabilitylist'/><rs:ln rel='describes' href='{{den}}/'/>
                <url><loc>{{den}}/changelist.xml</loc><rs:md capability='changelist'/></url>"
            )),
        );
    })
    .await;
    cage.canary.assert_untouched();
}

#[tokio::test]
async fn no_described_page_is_fetched_from_inside() {
    let cage = Cage::new();
    cage.den.site.remove("/about.xml");
    for target in cage.forbidden() {
        cage.den.description(&[("/capabilitylist.xml", &target)]);
        cage.den
            .capability_list("/capabilitylist.xml", &target, &["/changelist.xml"]);
        let checked = cage.check("/").await;
        assert!(codes(&checked).contains(&"foreign-collection"));
    }
    cage.canary.assert_untouched();
}

#[tokio::test]
async fn no_way_up_leads_inside() {
    let cage = Cage::new();
    cage.den.site.remove(WELL_KNOWN);
    for target in cage.forbidden() {
        cage.den
            .capability_list_of(&target, "/capabilitylist.xml", "/", &["/changelist.xml"]);
        let checked = cage.check("/capabilitylist.xml").await;
        assert!(codes(&checked).contains(&"forbidden-address"));
        assert_eq!(told(&checked).len(), 2);
    }
    cage.canary.assert_untouched();
}

#[tokio::test]
async fn no_redirect_in_the_middle_leads_inside() {
    let mut cage = Cage::new();
    for path in [
        "/changelist.xml",
        "/capabilitylist.xml",
        "/about.xml",
        WELL_KNOWN,
        "/",
        "/robots.txt",
    ] {
        for target in cage.forbidden() {
            cage.den = Den::new();
            // Without a description, the page is asked for its title, and robots.txt before it.
            cage.den.site.remove("/about.xml");
            cage.den.site.serve(path, Reply::redirect(302, &target));
            cage.check("/").await;
            assert!(cage.den.site.paths().contains(&path.to_owned()), "{path}");
        }
    }
    cage.canary.assert_untouched();
}

#[tokio::test]
async fn no_link_of_a_page_and_no_line_of_robots_txt_leads_inside() {
    let cage = Cage::new();
    let den = &cage.den;
    den.site.remove(WELL_KNOWN);
    for target in cage.forbidden() {
        let page = Reply::html(format!("<link rel=resourcesync href='{target}'>"))
            .header("Link", format!("<{target}>; rel=resourcesync"));
        den.site.serve("/", page);
        den.site
            .serve("/robots.txt", Reply::text(format!("Sitemap: {target}")));
        let checked = cage.check("/").await;
        assert_eq!(codes(&checked), ["forbidden-address", "not-found"]);
    }
    assert_eq!(den.site.requests_to("/robots.txt").len(), 3);
    cage.canary.assert_untouched();
}

#[tokio::test]
async fn a_name_that_moves_inside_in_the_middle_of_a_check_is_refused_then() {
    // The canary has the same port on another address, because a name changes its address and keeps its port.
    let (site, canary) = loop {
        let site = FakeSite::start_on("127.0.0.2");
        if let Ok(canary) = FakeSite::try_start_on("127.0.0.3", site.port()) {
            break (site, canary);
        }
    };
    let den = Den::of(site);
    // The connection is closed after each answer, so that the name must be looked up again.
    let description = "<rs:md capability='description'/><url><loc>{den}/capabilitylist.xml</loc><rs:md capability='capabilitylist'/></url>";
    den.site.serve(
        WELL_KNOWN,
        Reply::xml(den.filled(&urlset(description))).without_length(),
    );
    let names = Names::new([("fox.example", &["127.0.0.2", "127.0.0.3"])]);
    let fetcher = fetcher_for(&den.site, Arc::clone(&names) as _);
    let typed = den.url("/");
    let checked = run(fetcher, typed.as_str(), &CheckSettings::default())
        .await
        .unwrap();
    assert!(codes(&checked).contains(&"forbidden-address"));
    assert!(names.asked().len() >= 2);
    canary.assert_untouched();
}

#[tokio::test]
async fn a_typed_address_inside_is_refused_and_its_name_is_told() {
    let canary = FakeSite::start_on("127.0.0.2");
    let den = Den::new();
    for host in ["127.0.0.2", "inside.example"] {
        let names = Names::new([("inside.example", &["127.0.0.2"])]);
        let fetcher = fetcher_for(&den.site, names);
        for typed in [
            canary.url_as(host, "/").to_string(),
            format!("{host}:{}", canary.port()),
        ] {
            let fetcher = &fetcher;
            let site = sitebell::site::SiteUrl::parse(&typed).unwrap();
            let now = NOW.parse().unwrap();
            let error = sitebell::check::check_site(
                fetcher,
                &site,
                None,
                &CheckSettings::default(),
                now,
                Arc::new(|_| {}),
            )
            .await
            .unwrap_err();
            assert!(error.to_string().contains(host), "{error}");
        }
    }
    canary.assert_untouched();
}
