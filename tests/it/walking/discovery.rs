//! From what was typed to the root document: where is looked, in which order, and what is accepted.

use sitebell::site::Format;

use crate::den::*;
use crate::fake_site::Reply;

const WELL_KNOWN_XML: &str = "/.well-known/resourcesync.xml";

/// A good site whose description is not at the well-known address, and nothing leads there yet.
fn hidden() -> Den {
    let den = Den::new();
    den.site.remove(WELL_KNOWN);
    den.description_at("/sd.xml", &[("/capabilitylist.xml", "/")]);
    den.capability_list_of("/sd.xml", "/capabilitylist.xml", "/", &["/changelist.xml"]);
    den
}

fn lead_by_robots(den: &Den, lines: &str) {
    den.site
        .serve("/robots.txt", Reply::text(den.filled(lines)));
}

#[tokio::test]
async fn the_well_known_address_comes_first() {
    let den = Den::new();
    den.html("/", "<link rel=resourcesync href=/other.xml>");
    lead_by_robots(&den, "Sitemap: {den}/other.xml");
    assert_eq!(codes(&den.check().await), [""; 0]);
    assert!(!den.site.paths().contains(&"/".to_owned()));
}

#[tokio::test]
async fn a_site_without_a_source_description_at_the_well_known_address_is_told_so() {
    let den = hidden();
    den.html("/", "<title>Fox</title>");
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["not-found"]);
    assert!(checked.problems[0].fix().contains(WELL_KNOWN));
    den.html("/", "<link rel=resourcesync href=/sd.xml>");
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["not-well-known"]);
    assert!(checked.problems[0].fix().contains(WELL_KNOWN));
}

#[tokio::test]
async fn the_well_known_address_with_an_ending_comes_second() {
    let den = hidden();
    den.description_at(WELL_KNOWN_XML, &[("/capabilitylist.xml", "/")]);
    den.html("/", "<link rel=resourcesync href=/sd.xml>");
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["not-well-known", "up-mismatch"]);
    assert_eq!(den.site.paths()[..2], [WELL_KNOWN, WELL_KNOWN_XML]);
    assert_eq!(checked.site.root, Some(den.url(WELL_KNOWN_XML)));
    assert_eq!(
        message(&checked, "not-well-known"),
        "the description of the site was found at the well-known address with .xml"
    );
}

#[tokio::test]
async fn a_link_of_the_page_comes_third_and_leads_up_to_the_source_description() {
    let den = hidden();
    den.html(
        "/",
        "<!DOCTYPE html><title>Fox</title><link rel='alternate resourcesync' href='capabilitylist.xml'>",
    );
    lead_by_robots(&den, "Sitemap: {den}/other.xml");
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["not-well-known"]);
    assert_eq!(checked.site.root, Some(den.url("/sd.xml")));
    assert_eq!(told(&checked).len(), 2);
    assert_eq!(
        den.site.paths(),
        [
            WELL_KNOWN,
            WELL_KNOWN_XML,
            "/robots.txt",
            "/",
            "/capabilitylist.xml",
            "/sd.xml",
            "/changelist.xml",
            "/about.xml"
        ],
        "what was read on the way is not read again"
    );
    assert_eq!(checked.requests, 8);
}

#[tokio::test]
async fn a_link_in_the_head_of_the_response_is_as_good() {
    let den = hidden();
    let page = Reply::html("<title>Fox</title>").header(
        "Link",
        "</style.css>; rel=stylesheet, </sd.xml>; rel=\"resourcesync\"",
    );
    den.site.serve("/", page);
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["not-well-known"]);
    assert_eq!(checked.site.root, Some(den.url("/sd.xml")));
}

#[tokio::test]
async fn a_line_of_robots_txt_comes_fourth_and_is_climbed_from() {
    let den = hidden();
    den.xml("/sitemap.xml", &urlset("<url><loc>{den}/a</loc></url>"));
    den.xml(
        "/resourcelist.xml",
        &urlset(
            "<rs:ln rel='up' href='{den}/capabilitylist.xml'/><rs:md capability='resourcelist' at='2026-01-01'/>",
        ),
    );
    lead_by_robots(
        &den,
        "User-agent: other\nDisallow: /\nSITEMAP:{den}/sitemap.xml\nsitemap : {den}/resourcelist.xml",
    );
    let checked = den.check().await;
    assert_eq!(
        codes(&checked),
        ["not-well-known"],
        "a plain sitemap is nobody's fault"
    );
    assert_eq!(checked.site.root, Some(den.url("/sd.xml")));
    assert_eq!(told(&checked).len(), 2);
}

#[tokio::test]
async fn the_typed_document_itself_comes_last() {
    for typed in ["/sd.xml", "/capabilitylist.xml", "/changelist.xml"] {
        let den = hidden();
        let checked = den.check_typed(typed).await;
        assert_eq!(codes(&checked), ["not-well-known"], "{typed}");
        assert_eq!(checked.site.root, Some(den.url("/sd.xml")), "{typed}");
        assert_eq!(told(&checked).len(), 2, "{typed}");
        assert_eq!(den.site.requests_to(typed).len(), 1, "{typed}");
    }
}

#[tokio::test]
async fn a_typed_document_may_be_large_or_compressed_or_both() {
    let den = hidden();
    let changes: Vec<String> = (0..3_000)
        .map(|number| format!("updated /page/{number} 2026-03-01"))
        .collect();
    let changes: Vec<_> = changes.iter().map(String::as_str).collect();
    let text = den.filled(&change_list(
        "/capabilitylist.xml",
        "from='2026-01-01'",
        &changes,
    ));
    assert!(text.len() > 200_000);
    let gzip_file = {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    den.capability_list_of("/sd.xml", "/capabilitylist.xml", "/", &["/typed.xml.gz"]);
    for reply in [
        Reply::xml(text.clone()),
        Reply::xml(text.clone()).gzip(),
        Reply::new(200, "application/gzip", gzip_file),
        Reply::new(200, "application/octet-stream", text.clone()).chunked(),
    ] {
        den.site.serve("/typed.xml.gz", reply);
        let checked = den.check_typed("/typed.xml.gz").await;
        assert_eq!(codes(&checked), ["large-change-list", "not-well-known"]);
        assert_eq!(told(&checked).len(), 3_000);
    }
}

#[tokio::test]
async fn a_typed_change_list_without_a_way_up_is_a_collection_of_its_own() {
    let den = Den::empty();
    den.xml(
        "/changes.xml",
        &urlset(
            "<rs:md capability='changelist' from='2026-01-01'/>
            <url><loc>{den}/a</loc><rs:md change='updated' datetime='2026-03-01'/></url>",
        ),
    );
    let checked = den.check_typed("/changes.xml").await;
    assert_eq!(codes(&checked), ["not-well-known"]);
    assert_eq!(collections(&checked), ["/changes.xml"]);
    assert_eq!(checked.collections[0].capability_list, None);
    assert_eq!(told(&checked), ["updated /a 2026-03-01"]);
}

#[tokio::test]
async fn a_plain_sitemap_is_second_best() {
    let den = Den::empty();
    den.xml("/sitemap.xml", &urlset("<url><loc>{den}/a</loc></url>"));
    let checked = den.check_typed("/sitemap.xml").await;
    assert_eq!(codes(&checked), ["only-a-list"]);
    assert!(checked.collections[0].pages.is_some());
}

#[tokio::test]
async fn a_site_that_answers_everything_with_a_page_is_passed_over_quietly() {
    let den = Den::empty();
    for path in [WELL_KNOWN, WELL_KNOWN_XML, "/", "/robots.txt"] {
        den.html(path, "<!DOCTYPE html><title>My app</title>");
    }
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["not-found"]);
    assert_eq!(checked.site.title, "My app");
}

#[tokio::test]
async fn a_page_about_documents_is_a_page() {
    let den = hidden();
    den.html(
        "/",
        "<title>What a &lt;urlset> and a sitemapindex are: urlset</title><link rel=resourcesync href=/sd.xml>",
    );
    assert_eq!(codes(&den.check().await), ["not-well-known"]);
}

#[tokio::test]
async fn where_nothing_is_found_ten_requests_are_enough() {
    let den = Den::empty();
    let links: String = (0..20)
        .map(|number| format!("<link rel=resourcesync href=/link/{number}>"))
        .collect();
    let lines: String = (0..20)
        .map(|number| format!("Sitemap: {{den}}/sitemap/{number}\n"))
        .collect();
    den.html("/page", &links);
    lead_by_robots(&den, &lines);
    let checked = den.check_typed("/page").await;
    // What robots.txt names should be there; what pages link to is their own business.
    assert_eq!(codes(&checked), ["http-error", "not-found"]);
    let requests = den.site.paths().len();
    assert!(requests <= 10, "{:?}", den.site.paths());
    assert_eq!(checked.requests as usize, requests);
    assert_eq!(checked.site.root, None);
    assert_eq!(checked.site.format, None);
    let problem = &checked.problems[1];
    assert!(
        problem
            .snippet
            .contains(den.url("/capabilitylist.xml").as_str()),
        "the example is for this very site"
    );
}

#[tokio::test]
async fn an_spxi_index_is_found_where_robots_txt_or_the_page_names_it() {
    let index = r#"{"@context": {"spxi": "https://spxi.dev/vocabulary#"}, "@type": "spxi:SemanticIndex",
        "spxi:hasSurface": [{"@id": "{den}/a", "name": "About foxes"}]}"#;
    let by_robots = Den::empty();
    lead_by_robots(
        &by_robots,
        "User-agent: *\nAllow: /data/spxi-index.jsonld\n",
    );
    let by_page = Den::empty();
    by_page.html(
        "/",
        "<link rel=alternate type=application/ld+json href=/data/spxi-index.jsonld>
         <link rel=alternate type=application/ld+json href=/other.jsonld>",
    );
    for den in [by_robots, by_page] {
        den.xml("/data/spxi-index.jsonld", index);
        let checked = den.check().await;
        assert_eq!(checked.site.format, Some(Format::Spxi));
        assert_eq!(den.site.requests_to("/other.jsonld").len(), 0);
        assert!(den.site.paths().len() <= 10, "{:?}", den.site.paths());
        // A sitemap knows when pages changed, and the index what they are called.
        den.xml("/sitemap.xml", &urlset("<url><loc>{den}/b</loc></url>"));
        den.site.forget_requests();
        let checked = den.check().await;
        assert_eq!(checked.site.format, Some(Format::Spxi));
        assert_eq!(checked.site.root, Some(den.url("/sitemap.xml")));
        assert!(
            codes(&checked).contains(&"spxi-incomplete"),
            "/b is not in it"
        );
        assert_eq!(den.site.requests_to("/data/spxi-index.jsonld").len(), 1);
    }
}

#[tokio::test]
async fn a_host_that_wants_to_be_left_alone_is_not_called_a_site_without_a_description() {
    let den = Den::empty();
    let peace = Reply::status(429).retry_after(3_600);
    den.site.serve(WELL_KNOWN, peace);
    let error = check_typed(den.url("/").as_str()).await.unwrap_err();
    assert!(
        error.to_string().contains("asked not to be read"),
        "{error}"
    );
    assert_eq!(den.site.paths(), [WELL_KNOWN]);
}

#[tokio::test]
async fn a_mistyped_address_is_told_as_such() {
    let den = Den::empty();
    let checked = den.check_typed("/typo").await;
    assert_eq!(codes(&checked), ["http-error", "not-found"]);
    assert!(message(&checked, "http-error").contains("/typo answered with status 404"));
}

#[tokio::test]
async fn a_page_that_robots_txt_forbids_is_not_read_for_links() {
    let den = hidden();
    den.html("/", "<link rel=resourcesync href=/sd.xml>");
    lead_by_robots(&den, "User-agent: sitebell\nDisallow: /");
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["not-found"]);
    assert_eq!(den.site.requests_to("/").len(), 0);
}

#[tokio::test]
async fn robots_txt_does_not_stand_between_us_and_documents_for_machines() {
    let den = Den::new();
    lead_by_robots(&den, "User-agent: *\nDisallow: /");
    let checked = den.check().await;
    assert_eq!(codes(&checked), [""; 0]);
    assert_eq!(told(&checked).len(), 2);
}

#[tokio::test]
async fn relative_addresses_are_resolved_against_where_the_well_known_address_leads() {
    let den = Den::new();
    den.site
        .serve(WELL_KNOWN, Reply::redirect(301, "/rs/sd.xml"));
    den.xml(
        "/rs/sd.xml",
        &urlset(
            "<rs:ln rel='describedby' href='{den}/about.xml'/><rs:md capability='description'/>
            <url><loc>../capabilitylist.xml</loc><rs:md capability='capabilitylist'/>
            <rs:ln rel='describes' href='/'/><rs:ln rel='describedby' href='../about.xml'/></url>",
        ),
    );
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["relative-loc"]);
    assert_eq!(collections(&checked), ["/"]);
    assert_eq!(checked.site.root, Some(den.url("/rs/sd.xml")));
    assert_eq!(told(&checked).len(), 2);
    assert_eq!(checked.requests, 5, "redirects are requests too");
}

#[tokio::test]
async fn links_of_a_page_are_resolved_against_where_the_page_is() {
    let den = hidden();
    den.site.serve("/", Reply::redirect(302, "/home/"));
    den.html("/home/", "<link rel=resourcesync href=../sd.xml>");
    assert_eq!(den.check().await.site.root, Some(den.url("/sd.xml")));
}

#[tokio::test]
async fn plain_http_is_tried_where_no_scheme_was_typed() {
    let den = Den::new();
    let host = format!("fox.example:{}", den.site.port());
    let checked = check_typed(&host).await.unwrap();
    assert_eq!(codes(&checked), [""; 0]);
    assert_eq!(checked.site.url, den.url("/"));
    let error = check_typed(&format!("https://{host}")).await.unwrap_err();
    assert!(error.to_string().contains("fox.example"), "{error}");
}

#[tokio::test]
async fn a_redirect_of_the_well_known_address_to_a_bad_place_is_told_and_the_rest_is_tried() {
    let den = hidden();
    den.site.serve(
        WELL_KNOWN,
        Reply::redirect(302, "http://name:secret@owl.example/"),
    );
    den.html("/", "<link rel=resourcesync href=/sd.xml>");
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["forbidden-address", "not-well-known"]);
    let said = message(&checked, "forbidden-address");
    assert!(said.contains("owl.example") && !said.contains("secret"));
}

#[tokio::test]
async fn a_way_up_that_goes_round_in_circles_ends() {
    let den = Den::empty();
    den.capability_list_of("/b.xml", "/a.xml", "/", &["/changelist.xml"]);
    den.capability_list_of("/a.xml", "/b.xml", "/", &["/changelist.xml"]);
    den.capability_list_of("/self.xml", "/self.xml", "/", &["/changelist.xml"]);
    den.change_list_of(
        "/a.xml",
        "/changelist.xml",
        "from='2026-01-01'",
        &["updated /a 2026-03-01"],
    );
    for typed in ["/a.xml", "/self.xml"] {
        let checked = den.check_typed(typed).await;
        assert_eq!(told(&checked).len(), 1, "{typed}");
        assert_eq!(den.site.requests_to(typed).len(), 1, "{typed}");
        assert_eq!(checked.site.root, Some(den.url(typed)));
        den.site.forget_requests();
    }
}

#[tokio::test]
async fn a_source_description_whose_way_up_leads_down_is_still_the_top() {
    // Hyrax does this.
    let den = Den::new();
    den.xml(
        WELL_KNOWN,
        &urlset(
            "<rs:ln rel='up' href='{den}/capabilitylist.xml'/><rs:ln rel='describedby' href='{den}/about.xml'/>
            <rs:md capability='description'/><url><loc>{den}/capabilitylist.xml</loc><rs:md capability='capabilitylist'/>
            <rs:ln rel='describes' href='{den}/'/><rs:ln rel='describedby' href='{den}/about.xml'/></url>",
        ),
    );
    let checked = den.check().await;
    assert_eq!(codes(&checked), [""; 0]);
    assert_eq!(told(&checked).len(), 2);
}

#[tokio::test]
async fn a_way_up_that_leads_nowhere_is_told_and_the_lower_document_followed() {
    let den = hidden();
    den.site.remove("/sd.xml");
    let checked = den.check_typed("/capabilitylist.xml").await;
    assert_eq!(codes(&checked), ["http-error", "not-well-known"]);
    assert_eq!(told(&checked).len(), 2);
}

#[tokio::test]
async fn a_way_up_to_a_document_that_does_not_list_this_one_is_not_taken() {
    let den = hidden();
    den.description_at("/sd.xml", &[("/owl.xml", "/owl/")]);
    den.capability_list_of("/sd.xml", "/owl.xml", "/owl/", &[]);
    let checked = den.check_typed("/capabilitylist.xml").await;
    assert_eq!(codes(&checked), ["not-well-known", "up-mismatch"]);
    assert_eq!(collections(&checked), ["/"]);
    assert_eq!(
        told(&checked).len(),
        2,
        "or what was asked for would be lost"
    );
}
