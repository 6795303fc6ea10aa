//! Which collection is which, whose it is, and what the links between documents say.

use crate::den::*;
use crate::fake_site::Reply;

/// The parts of a Capability List that differ from test to test.
fn capability_list(links: &str) -> String {
    urlset(&format!(
        "{links}<rs:ln rel='describedby' href='{{den}}/about.xml'/><rs:md capability='capabilitylist'/>
        <url><loc>{{den}}/changelist.xml</loc><rs:md capability='changelist'/></url>"
    ))
}

fn description(links: &str) -> String {
    urlset(&format!(
        "<rs:ln rel='describedby' href='{{den}}/about.xml'/><rs:md capability='description'/>
        <url><loc>{{den}}/capabilitylist.xml</loc><rs:md capability='capabilitylist'/>{links}
        <rs:ln rel='describedby' href='{{den}}/about.xml'/></url>"
    ))
}

const UP: &str = "<rs:ln rel='up' href='{den}/.well-known/resourcesync'/>";

#[tokio::test]
async fn the_capability_list_is_believed_where_the_two_documents_disagree() {
    let den = Den::new();
    den.description(&[("/capabilitylist.xml", "/elsewhere/")]);
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["describes-conflict"]);
    assert_eq!(collections(&checked), ["/"]);
    let said = message(&checked, "describes-conflict");
    assert!(said.contains("/elsewhere/"), "{said}");
}

#[tokio::test]
async fn http_and_https_are_no_disagreement() {
    let den = Den::new();
    let secure = den.url("/").as_str().replace("http:", "https:");
    den.description(&[("/capabilitylist.xml", &secure)]);
    assert_eq!(codes(&den.check().await), [""; 0]);
}

#[tokio::test]
async fn what_only_the_capability_list_describes_is_enough() {
    let den = Den::new();
    den.xml(WELL_KNOWN, &description(""));
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["no-describes-in-description"]);
    assert_eq!(collections(&checked), ["/"]);
}

#[tokio::test]
async fn what_only_the_source_description_describes_stands_in() {
    let den = Den::new();
    den.description(&[("/capabilitylist.xml", "/fox/")]);
    den.xml("/capabilitylist.xml", &capability_list(UP));
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["no-describes"]);
    assert_eq!(collections(&checked), ["/fox/"]);
}

#[tokio::test]
async fn a_collection_that_nobody_names_is_known_by_its_capability_list() {
    let den = Den::new();
    den.xml(WELL_KNOWN, &description(""));
    den.xml("/capabilitylist.xml", &capability_list(UP));
    let checked = den.check().await;
    assert_eq!(
        codes(&checked),
        ["no-describes", "no-describes-in-description"]
    );
    assert_eq!(collections(&checked), ["/capabilitylist.xml"]);
    assert_eq!(told(&checked).len(), 2);
}

#[tokio::test]
async fn a_collection_on_another_site_is_only_a_claim() {
    let (den, victim) = (Den::new(), Den::new());
    let there = victim.site.url_as("owl.example", "/");
    den.description(&[("/capabilitylist.xml", there.as_str())]);
    den.capability_list("/capabilitylist.xml", there.as_str(), &["/changelist.xml"]);
    den.site.remove("/about.xml");
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["foreign-collection", "http-error"]);
    assert!(!checked.collections[0].is_own);
    assert_eq!(checked.collections[0].id, there);
    victim.site.assert_untouched();
}

#[tokio::test]
async fn two_lists_that_claim_one_collection_are_kept_apart() {
    let den = Den::new();
    let secure = den.url("/").as_str().replace("http:", "https:");
    den.description(&[
        ("/capabilitylist.xml", "/"),
        ("/second.xml", "/"),
        ("/third.xml", &secure),
    ]);
    den.capability_list("/second.xml", "/", &["/changelist.xml"]);
    den.capability_list("/third.xml", &secure, &["/changelist.xml"]);
    let checked = den.check().await;
    assert_eq!(collections(&checked), ["/", "/second.xml", "/third.xml"]);
    let found: Vec<_> = codes(&checked);
    assert_eq!(
        found,
        [
            "duplicate-collection",
            "duplicate-collection",
            "up-mismatch"
        ],
        "and the Change List of the first belongs to the first"
    );
}

#[tokio::test]
async fn no_two_collections_have_one_identity_whatever_the_documents_claim() {
    let den = Den::new();
    den.description(&[
        ("/capabilitylist.xml", "/two.xml"),
        ("/two.xml", "/two.xml"),
    ]);
    den.capability_list("/capabilitylist.xml", "/two.xml", &["/changelist.xml"]);
    den.capability_list("/two.xml", "/two.xml", &["/changelist.xml"]);
    let checked = den.check().await;
    assert_eq!(collections(&checked), ["/two.xml"]);
    assert_eq!(codes(&checked), ["duplicate-collection"]);
}

#[tokio::test]
async fn a_capability_list_that_is_listed_twice_is_one_collection() {
    let den = Den::new();
    den.description(&[("/capabilitylist.xml", "/"), ("/capabilitylist.xml", "/")]);
    let checked = den.check().await;
    assert_eq!(codes(&checked), [""; 0]);
    assert_eq!(collections(&checked), ["/"]);
    den.description(&[("/capabilitylist.xml", "/"), ("/capabilitylist.xml", "/b/")]);
    den.xml("/capabilitylist.xml", &capability_list(UP));
    assert_eq!(collections(&den.check().await), ["/"]);
}

#[tokio::test]
async fn a_document_without_a_way_up_is_told_with_the_right_one() {
    let den = Den::new();
    den.xml(
        "/capabilitylist.xml",
        &capability_list("<rs:ln rel='describes' href='{den}/'/>"),
    );
    den.xml(
        "/changelist.xml",
        &urlset("<rs:md capability='changelist' from='2026-01-01'/>"),
    );
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["no-up", "no-up"]);
    let lines: Vec<_> = (checked.problems.iter())
        .map(|problem| problem.snippet.as_str())
        .collect();
    let up = |path| format!("<rs:ln rel=\"up\" href=\"{}\"/>", den.url(path));
    assert_eq!(lines, [up(WELL_KNOWN), up("/capabilitylist.xml")]);
}

#[tokio::test]
async fn a_way_up_that_leads_elsewhere_is_told_and_costs_nothing() {
    let den = Den::new();
    den.capability_list_of(
        "/description.xml",
        "/capabilitylist.xml",
        "/",
        &["/changelist.xml"],
    );
    den.change_list_of(
        WELL_KNOWN,
        "/changelist.xml",
        "from='2026-01-01'",
        &["updated /a 2026-03-01"],
    );
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["up-mismatch", "up-mismatch"]);
    assert_eq!(told(&checked).len(), 1);
    assert!(!den.site.paths().contains(&"/description.xml".to_owned()));
}

#[tokio::test]
async fn the_way_up_may_be_the_address_before_or_after_a_redirect() {
    for up in [WELL_KNOWN, "/rs/description.xml"] {
        let den = Den::new();
        den.site
            .serve(WELL_KNOWN, Reply::redirect(301, "/rs/description.xml"));
        den.description_at("/rs/description.xml", &[("/capabilitylist.xml", "/")]);
        den.capability_list_of(up, "/capabilitylist.xml", "/", &["/changelist.xml"]);
        assert_eq!(codes(&den.check().await), [""; 0], "{up}");
    }
}

#[tokio::test]
async fn a_host_that_keeps_its_documents_elsewhere_still_describes_itself() {
    let (den, mut store) = (Den::empty(), Den::new());
    store.host = "store.example";
    let home = den.url("/");
    den.site.serve(
        WELL_KNOWN,
        Reply::redirect(302, store.url("/description.xml")),
    );
    store.description_at(
        "/description.xml",
        &[("/capabilitylist.xml", home.as_str())],
    );
    store.capability_list_of(
        "/description.xml",
        "/capabilitylist.xml",
        home.as_str(),
        &["/changelist.xml"],
    );
    let page = den.url("/page");
    let change = format!("updated {page} 2026-03-01");
    store.change_list("/changelist.xml", "from='2026-01-01'", &[&change]);
    let checked = den
        .check_with(|settings| settings.limits.foreign_documents = 0)
        .await;
    assert_eq!(codes(&checked), [""; 0]);
    assert!(checked.collections[0].is_own);
    assert_eq!(checked.collections[0].id, home);
    assert_eq!(told(&checked), ["updated /page 2026-03-01"]);
}

#[tokio::test]
async fn a_site_with_and_without_www_is_one_site() {
    let den = Den::new();
    let www = den.site.url_as("www.fox.example", "/");
    den.description(&[("/capabilitylist.xml", www.as_str())]);
    den.capability_list("/capabilitylist.xml", www.as_str(), &["/changelist.xml"]);
    let checked = den.check().await;
    assert_eq!(codes(&checked), [""; 0]);
    assert!(checked.collections[0].is_own);
}

#[tokio::test]
async fn pages_of_another_site_are_mentioned() {
    let den = Den::new();
    let changes = [
        "updated http://owl.example/1 2026-03-01",
        "updated /2 2026-03-02",
    ];
    den.change_list("/changelist.xml", "from='2026-01-01'", &changes);
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["off-site-pages"]);
    assert_eq!(told(&checked).len(), 2);
}

#[tokio::test]
async fn a_capability_list_at_the_well_known_address_is_followed_as_of_old() {
    let den = Den::new();
    den.capability_list("/fox.xml", "/", &["/changelist.xml"]);
    den.capability_list(WELL_KNOWN, "/", &["/changelist.xml"]);
    den.change_list_of(
        WELL_KNOWN,
        "/changelist.xml",
        "from='2026-01-01'",
        &["updated /a 2026-03-01"],
    );
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["old-root"]);
    assert_eq!(collections(&checked), ["/"]);
    assert_eq!(told(&checked).len(), 1);
}

#[tokio::test]
async fn an_index_of_capability_lists_at_the_well_known_address_is_followed_as_of_old() {
    let den = Den::new();
    den.xml(
        WELL_KNOWN,
        &sitemapindex(
            "<rs:md capability='capabilitylist'/><sitemap><loc>{den}/capabilitylist.xml</loc></sitemap>",
        ),
    );
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["old-root"]);
    assert_eq!(told(&checked).len(), 2);
}

#[tokio::test]
async fn a_resource_list_at_the_well_known_address_lists_pages() {
    let den = Den::empty();
    den.xml(
        WELL_KNOWN,
        &urlset("<rs:md capability='resourcelist' at='2026-01-01'/><url><loc>{den}/a</loc></url>"),
    );
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["only-a-list"]);
    assert_eq!(
        message(&checked, "only-a-list"),
        "the site is described by a Resource List, which lists no changes"
    );
    assert!(checked.collections[0].pages.is_some());
}
