//! A page that speaks for itself on a host of many.

use crate::den::*;
use crate::fake_site::Reply;

/// A host whose description knows the guild only, and a page on it that links its own Capability List.
fn tilde() -> Den {
    let den = Den::new();
    den.xml(
        WELL_KNOWN,
        &urlset(
            "<rs:md capability='description'/><url><loc>{den}/guild.xml</loc><rs:md capability='capabilitylist'/>
            <rs:ln rel='describes' href='{den}/guild/'/></url>",
        ),
    );
    den.capability_list("/guild.xml", "/guild/", &[]);
    den.html(
        "/~fox/",
        "<title>Fox</title><link rel=resourcesync href=capabilitylist.xml>",
    );
    den.capability_list(
        "/~fox/capabilitylist.xml",
        "/~fox/",
        &["/~fox/changelist.xml"],
    );
    den.change_list_of(
        "/~fox/capabilitylist.xml",
        "/~fox/changelist.xml",
        "from='2026-01-01'",
        &["updated /~fox/cv 2026-03-01"],
    );
    den
}

#[tokio::test]
async fn a_page_that_the_host_does_not_know_is_followed_by_its_own_link() {
    let den = tilde();
    let checked = den.check_typed("/~fox/").await;
    assert_eq!(collections(&checked), ["/~fox/"]);
    assert_eq!(told(&checked), ["updated /~fox/cv 2026-03-01"]);
    assert_eq!(
        codes(&checked),
        ["not-well-known"],
        "the way up leads to the host, as it should, and what is wrong with the host is not told"
    );
    assert!(!den.site.paths().contains(&"/guild.xml".to_owned()));
}

#[tokio::test]
async fn a_page_below_what_the_host_describes_is_not_even_asked_for() {
    let den = tilde();
    den.description(&[
        ("/guild.xml", "/guild/"),
        ("/~fox/capabilitylist.xml", "/~fox/"),
    ]);
    for typed in ["/~fox/", "/~fox", "/~fox/cv.html"] {
        let checked = den.check_typed(typed).await;
        assert_eq!(collections(&checked), ["/guild/", "/~fox/"], "{typed}");
        assert_eq!(checked.site.root, Some(den.url(WELL_KNOWN)), "{typed}");
        assert_eq!(den.site.requests_to(typed).len(), 0, "{typed}");
        den.site.forget_requests();
    }
}

#[tokio::test]
async fn a_host_that_describes_all_of_itself_speaks_for_every_page() {
    let den = tilde();
    den.description(&[("/capabilitylist.xml", "/")]);
    let checked = den.check_typed("/~fox/").await;
    assert_eq!(checked.site.root, Some(den.url(WELL_KNOWN)));
    assert_eq!(den.site.requests_to("/~fox/").len(), 0);
}

#[tokio::test]
async fn a_name_that_only_begins_alike_is_not_below() {
    let den = tilde();
    den.description(&[("/guild.xml", "/~fo"), ("/guild.xml", "/~foxes/")]);
    let checked = den.check_typed("/~fox/").await;
    assert_eq!(collections(&checked), ["/~fox/"]);
}

#[tokio::test]
async fn the_host_itself_is_described_by_its_own_description() {
    let den = tilde();
    den.html("/", "<link rel=resourcesync href=/~fox/capabilitylist.xml>");
    assert_eq!(collections(&den.check().await), ["/guild/"]);
    assert_eq!(den.site.requests_to("/").len(), 0);
}

#[tokio::test]
async fn where_the_page_has_nothing_to_say_the_host_speaks() {
    for page in [
        Reply::html("<title>Fox</title>"),
        Reply::html("<link rel=resourcesync href=/gone.xml>"),
        Reply::html("<link rel=resourcesync href=/~fox/>"),
        Reply::status(404),
        Reply::status(500),
    ] {
        let den = tilde();
        den.site.serve("/~fox/", page);
        let checked = den.check_typed("/~fox/").await;
        assert_eq!(collections(&checked), ["/guild/"]);
        assert_eq!(codes(&checked), ["no-change-list", "no-describedby"]);
    }
}

#[tokio::test]
async fn where_the_page_may_not_be_read_the_host_speaks() {
    let den = tilde();
    den.site.serve(
        "/robots.txt",
        Reply::text("User-agent: *\nDisallow: /~fox/"),
    );
    let checked = den.check_typed("/~fox/").await;
    assert_eq!(collections(&checked), ["/guild/"]);
    assert_eq!(den.site.requests_to("/~fox/").len(), 0);
}

#[tokio::test]
async fn a_list_that_the_host_lists_without_saying_what_it_describes_is_the_hosts() {
    let den = tilde();
    den.xml(
        WELL_KNOWN,
        &urlset(
            "<rs:ln rel='describedby' href='{den}/about.xml'/><rs:md capability='description'/>
            <url><loc>{den}/~fox/capabilitylist.xml</loc><rs:md capability='capabilitylist'/></url>
            <url><loc>{den}/guild.xml</loc><rs:md capability='capabilitylist'/></url>",
        ),
    );
    let checked = den.check_typed("/~fox/").await;
    assert_eq!(checked.site.root, Some(den.url(WELL_KNOWN)));
    assert_eq!(collections(&checked), ["/~fox/", "/guild/"]);
}

#[tokio::test]
async fn a_typed_list_that_the_host_does_not_know_is_followed() {
    let den = tilde();
    for typed in ["/~fox/capabilitylist.xml", "/~fox/changelist.xml"] {
        let checked = den.check_typed(typed).await;
        assert_eq!(collections(&checked), ["/~fox/"], "{typed}");
    }
}

#[tokio::test]
async fn all_source_descriptions_of_an_index_are_asked_whether_they_know_the_page() {
    let den = tilde();
    den.xml(
        WELL_KNOWN,
        &sitemapindex(
            "<rs:md capability='description'/><sitemap><loc>{den}/sd1.xml</loc></sitemap><sitemap><loc>{den}/sd2.xml</loc></sitemap>",
        ),
    );
    den.description_at("/sd1.xml", &[("/guild.xml", "/guild/")]);
    den.description_at("/sd2.xml", &[("/~fox/capabilitylist.xml", "/~fox/")]);
    let checked = den.check_typed("/~fox/").await;
    assert_eq!(collections(&checked), ["/guild/", "/~fox/"]);
    assert_eq!(den.site.requests_to("/~fox/").len(), 0);
    assert_eq!(den.site.requests_to("/sd1.xml").len(), 1);
    den.description_at("/sd2.xml", &[("/owl.xml", "/owl/")]);
    assert_eq!(collections(&den.check_typed("/~fox/").await), ["/~fox/"]);
}
