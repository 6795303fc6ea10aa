//! What sites and collections are called: by their description, by their page, by their address.

use crate::den::*;
use crate::fake_site::Reply;

#[tokio::test]
async fn a_description_in_any_common_format_gives_the_title() {
    let rdf = "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:dcterms='http://purl.org/dc/terms/'>
        <rdf:Description rdf:about='{den}/'><dcterms:title>Den</dcterms:title>
        <dcterms:creator>Vix</dcterms:creator></rdf:Description></rdf:RDF>";
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><title>Den</title><author><name>Vix</name></author></feed>";
    let json = r#"{"@context":"https://schema.org","@id":"{den}/","@type":"WebSite","name":"Den","author":"Vix"}"#;
    let html = "<!DOCTYPE html><title>Den</title><meta name=author content=Vix>";
    for (text, media_type) in [
        (rdf, "application/rdf+xml"),
        (atom, "application/atom+xml"),
        (json, "application/ld+json"),
        (html, "text/html"),
        (rdf, "application/octet-stream"),
    ] {
        let den = Den::new();
        den.site
            .serve("/about.xml", Reply::new(200, media_type, den.filled(text)));
        let checked = den.check().await;
        assert_eq!(codes(&checked), [""; 0], "{media_type}");
        let collection = &checked.collections[0];
        assert_eq!(collection.title, "Den", "{media_type}");
        assert_eq!(collection.about.authors, ["Vix"], "{media_type}");
        assert_eq!(checked.site.title, "Den", "the only collection is the site");
    }
}

#[tokio::test]
async fn without_a_description_the_page_gives_the_title() {
    let den = Den::new();
    den.site.remove("/about.xml");
    den.html("/", "<title>A  fox\n lives here</title>");
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["http-error"]);
    assert_eq!(checked.collections[0].title, "A fox lives here");
    assert_eq!(checked.site.title, "A fox lives here");
    assert_eq!(den.site.requests_to("/").len(), 1);
    let paths = den.site.paths();
    let place = |wanted: &str| paths.iter().position(|path| path == wanted).unwrap();
    assert!(place("/robots.txt") < place("/"));
}

#[tokio::test]
async fn a_page_that_robots_txt_forbids_is_not_asked_for_its_title() {
    let den = Den::new();
    den.site.remove("/about.xml");
    den.html("/", "<title>Private</title>");
    den.site
        .serve("/robots.txt", Reply::text("User-agent: *\nDisallow: /"));
    let checked = den.check().await;
    assert_eq!(
        den.site.requests_to("/").len(),
        0,
        "documents are for machines, pages are not"
    );
    let address = format!("fox.example:{}", den.site.port());
    assert_eq!(checked.collections[0].title, address);
    assert_eq!(told(&checked).len(), 2);
}

#[tokio::test]
async fn without_anything_the_address_is_the_title() {
    let den = Den::new();
    den.site.remove("/about.xml");
    den.description(&[("/capabilitylist.xml", "/my-shrine/")]);
    den.capability_list("/capabilitylist.xml", "/my-shrine/", &["/changelist.xml"]);
    let checked = den.check().await;
    let host = format!("fox.example:{}", den.site.port());
    assert_eq!(checked.collections[0].title, format!("{host}/my-shrine"));
    assert_eq!(checked.site.title, host);
}

#[tokio::test]
async fn one_document_may_describe_all_collections_and_is_asked_for_once() {
    let den = Den::new();
    den.description(&[("/capabilitylist.xml", "/"), ("/owl.xml", "/owl/")]);
    den.capability_list("/owl.xml", "/owl/", &["/changelist.xml"]);
    let about = |path: &str, title: &str| {
        format!(
            "<rdf:Description rdf:about='{{den}}{path}'><dcterms:title>{title}</dcterms:title></rdf:Description>"
        )
    };
    den.xml(
        "/about.xml",
        &format!(
            "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:dcterms='http://purl.org/dc/terms/'>{}{}</rdf:RDF>",
            about("/", "Fox"),
            about("/owl/", "Owl")
        ),
    );
    let checked = den.check().await;
    let titles: Vec<_> = (checked.collections.iter())
        .map(|collection| collection.title.as_str())
        .collect();
    assert_eq!(titles, ["Fox", "Owl"]);
    assert_eq!(den.site.requests_to("/about.xml").len(), 1);
}

#[tokio::test]
async fn only_a_few_descriptions_are_read_and_all_changes() {
    let den = Den::new();
    let names: Vec<String> = (0..6).map(|number| format!("/{number}")).collect();
    let lists: Vec<String> = names.iter().map(|name| format!("{name}.xml")).collect();
    let listed: Vec<_> = (lists.iter())
        .zip(&names)
        .map(|(list, name)| (list.as_str(), name.as_str()))
        .collect();
    den.description(&listed);
    for (list, name) in listed {
        let up = "<rs:ln rel='up' href='{den}/.well-known/resourcesync'/>";
        den.xml(
            list,
            &urlset(&format!(
                "{up}<rs:ln rel='describes' href='{{den}}{name}'/><rs:ln rel='describedby' href='{{den}}/about{name}'/>
                <rs:md capability='capabilitylist'/><url><loc>{{den}}{name}-changes</loc><rs:md capability='changelist'/></url>"
            )),
        );
        den.about(&format!("/about{name}"), name, &format!("Number {name}"));
        let change = format!("updated {name} 2026-03-01");
        den.change_list_of(
            list,
            &format!("{name}-changes"),
            "from='2026-01-01'",
            &[&change],
        );
    }
    let checked = den
        .check_with(|settings| settings.limits.descriptions = 3)
        .await;
    assert_eq!(codes(&checked), ["limit-reached"]);
    assert_eq!(checked.problems[0].count, 4);
    assert_eq!(
        checked.problems[0].document,
        den.url(WELL_KNOWN).as_str(),
        "told once, of the root"
    );
    assert_eq!(told(&checked).len(), 6);
    assert_eq!(checked.collections[1].title, "Number /1");
    assert!(checked.collections[2].title.ends_with("/2"));
}

#[tokio::test]
async fn a_description_that_cannot_be_used_is_told_and_costs_only_the_title() {
    for (reply, code) in [
        (Reply::status(404), "http-error"),
        (Reply::text("My site, by me"), "metadata-unreadable"),
        (Reply::xml("<rdf:RDF"), "metadata-unreadable"),
        (Reply::xml(""), "metadata-unreadable"),
        (Reply::text("{\"name\": "), "metadata-unreadable"),
        (Reply::html("<title>x</title>".repeat(100_000)), "too-large"),
    ] {
        let den = Den::new();
        den.site.serve("/about.xml", reply);
        let checked = den.check().await;
        assert_eq!(codes(&checked), [code]);
        assert_eq!(told(&checked).len(), 2);
        assert!(checked.collections[0].title.starts_with("fox.example"));
    }
}

#[tokio::test]
async fn of_a_page_without_end_only_the_beginning_is_read() {
    let den = Den::new();
    den.site.remove("/about.xml");
    let page = "<title>Long</title><p>and so on</p>";
    den.site.serve("/", Reply::html(page).endless());
    assert_eq!(den.check().await.site.title, "Long");
}

#[tokio::test]
async fn the_typed_page_is_not_asked_for_twice() {
    let den = Den::empty();
    den.html("/", "<title>Nothing to see</title>");
    let checked = den.check().await;
    assert_eq!(checked.site.title, "Nothing to see");
    assert_eq!(den.site.requests_to("/").len(), 1);
}

#[tokio::test]
async fn what_a_title_hides_is_taken_out() {
    let den = Den::new();
    den.about(
        "/about.xml",
        "/",
        "Fox\u{202e}neD\u{200b} &lt;script&gt;\u{9b}31m",
    );
    assert_eq!(den.check().await.collections[0].title, "FoxneD <script>31m");
}
