//! SPXI indexes: alone, and beside a sitemap.

use sitebell::site::Format;

use super::{NONE, NS, serve, sitemap};
use crate::den::Den;
use crate::fake_site::Reply;
use crate::following::Follower;

#[tokio::test]
async fn an_spxi_index_gives_titles_to_the_pages_of_a_sitemap() {
    let den = Den::empty();
    let index = serde_json::json!({
        "@context": {"spxi": "https://spxi.dev/vocabulary#"}, "@type": "spxi:SemanticIndex",
        "publisher": {"name": "The Den of Foxes"}, "dateModified": "2026-01-01",
        "spxi:protocolVersion": "1", "spxi:siteKernel": {"spxi:compressionSurvivalSummary": "All about foxes."},
        "spxi:hasEntity": [], "spxi:hasSurface": [{"@id": den.url("/a").as_str(), "name": "About foxes", "spxi:surfaceType": "article"}],
    });
    den.site
        .serve("/spxi-index.jsonld", Reply::text(index.to_string()));
    let text = format!(
        "<urlset {NS} xmlns:xhtml='http://www.w3.org/1999/xhtml'><url><loc>{}</loc><lastmod>2026-02-02</lastmod>
         <xhtml:link rel='alternate' hreflang='x-spxi' href='/spxi-index.jsonld'/></url><url><loc>{}</loc></url></urlset>",
        den.url("/a"), den.url("/b")
    );
    serve(&den, "/sitemap.xml", text);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await, ["updated /a 2026-02-02"]);
    let changes = follower.changes().await;
    assert_eq!(changes[0].change.title.as_deref(), Some("About foxes"));
    assert_eq!(changes[0].change.details.tags, ["article"]);
    let row = follower.row().await;
    assert_eq!(
        (row.format, row.title.as_deref()),
        (Some(Format::Spxi), Some("The Den of Foxes"))
    );
    let problems = follower.last_check().await.problems;
    let found: Vec<_> = problems.iter().map(|problem| problem.code.name()).collect();
    for code in ["spxi-incomplete", "spxi-stale", "spxi-missing"] {
        assert!(found.contains(&code), "{found:?}");
    }
    // Where the sitemap says no more of it, nobody asks for it.
    serve(
        &den,
        "/sitemap.xml",
        sitemap(&den, &["/a 2026-03-03", "/b"]),
    );
    den.site.forget_requests();
    assert_eq!(follower.check().await, ["updated /a 2026-03-03"]);
    assert_eq!(den.site.requests_to("/spxi-index.jsonld").len(), 0);
}

#[tokio::test]
async fn an_spxi_index_that_the_site_names_gives_titles_from_then_on_and_is_asked_politely() {
    let den = Den::empty();
    let robots = format!(
        "User-agent: *\nAllow: /data/spxi-index.jsonld\nSitemap: {}\n",
        den.url("/sitemap.xml")
    );
    den.site.serve("/robots.txt", Reply::text(robots));
    let surfaces = ["/a", "/b"].map(
        |path| serde_json::json!({"@id": den.url(path).as_str(), "name": format!("About {path}")}),
    );
    let index = serde_json::json!({
        "@context": {"spxi": "https://spxi.dev/vocabulary#"}, "@type": "spxi:SemanticIndex",
        "dateModified": "2025-01-01", "spxi:hasSurface": surfaces,
    });
    let path = "/data/spxi-index.jsonld";
    let reply = Reply::new(200, "application/ld+json", index.to_string());
    den.site.serve(path, reply.etag("\"1\""));
    let list = |pages: &[&str], tag: &str| {
        let reply = Reply::xml(sitemap(&den, pages)).etag(tag);
        den.site.serve("/sitemap.xml", reply);
    };
    list(&["/a 2026-01-01", "/b 2026-01-02"], "\"1\"");
    let mut follower = Follower::of(&den).await;
    follower.check().await;
    let codes = |check: sitebell::store::CheckRow| {
        let problems = check.problems.iter();
        let mut codes: Vec<&str> = problems.map(|problem| problem.code.name()).collect();
        codes.sort_unstable();
        codes
    };
    let first = codes(follower.last_check().await);
    assert!(first.contains(&"spxi-stale"), "{first:?}");
    for _ in 0..2 {
        follower.restart().await;
        den.site.forget_requests();
        assert_eq!(follower.check().await, NONE);
        let asked = den.site.requests_to(path);
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].header("if-none-match"), Some("\"1\""));
        assert_eq!(den.site.requests_to("/robots.txt").len(), 0);
        // It is as wrong as it was.
        assert_eq!(codes(follower.last_check().await), first);
    }
    list(&["/a 2026-01-01", "/b 2026-03-03"], "\"2\"");
    assert_eq!(follower.check().await, ["updated /b 2026-03-03"]);
    let changes = follower.changes().await;
    let last = &changes.last().unwrap().change;
    assert_eq!(last.title.as_deref(), Some("About /b"));
}

#[tokio::test]
async fn an_spxi_index_is_held_against_all_pages_whichever_document_has_changed() {
    let den = Den::empty();
    let robots = format!(
        "User-agent: *\nAllow: /spxi-index.jsonld\nSitemap: {}\n",
        den.url("/sitemap.xml")
    );
    den.site.serve("/robots.txt", Reply::text(robots));
    let list = |pages: &[&str], tag: &str| {
        let reply = Reply::xml(sitemap(&den, pages)).etag(tag);
        den.site.serve("/sitemap.xml", reply);
    };
    let index = |day: &str, pages: &[&str], tag: &str| {
        let surface =
            |path: &&str| serde_json::json!({"@id": den.url(path).as_str(), "name": path});
        let index = serde_json::json!({
            "@context": {"spxi": "https://spxi.dev/vocabulary#"}, "@type": "spxi:SemanticIndex",
            "dateModified": day, "spxi:hasSurface": pages.iter().map(surface).collect::<Vec<_>>(),
        });
        let reply = Reply::new(200, "application/ld+json", index.to_string());
        den.site.serve("/spxi-index.jsonld", reply.etag(tag));
    };
    let old = ["/a 2026-01-01", "/b 2026-01-02", "/c 2026-01-03"];
    list(&old, "\"1\"");
    index("2026-02-01", &["/a", "/b", "/c"], "\"1\"");
    let mut follower = Follower::of(&den).await;
    follower.check().await;
    let told = async |follower: &Follower| {
        let problems = follower.last_check().await.problems;
        let of_both = problems.into_iter().filter(|problem| {
            let code = problem.code.name();
            matches!(code, "spxi-incomplete" | "spxi-stale")
        });
        let mut told: Vec<String> = of_both.map(|problem| problem.message).collect();
        told.sort();
        told
    };
    assert_eq!(told(&follower).await, NONE);
    // The index alone gets worse, and stays so.
    index("2025-06-01", &["/a"], "\"2\"");
    let worse = [
        "2 pages of the sitemap are not in the index",
        "the index is dated 2025-06-01, and the newest page 2026-01-03",
    ];
    for _ in 0..3 {
        assert_eq!(follower.check().await, NONE);
        assert_eq!(told(&follower).await, worse);
        follower.restart().await;
    }
    // Then the sitemap alone: one page is new, one edited, and one gone.
    list(
        &["/a 2026-03-13", "/b 2026-01-02", "/d 2026-03-12"],
        "\"2\"",
    );
    assert_eq!(follower.check().await.len(), 2);
    let worse = [
        "2 pages of the sitemap are not in the index",
        "the index is dated 2025-06-01, and the newest page 2026-03-13",
    ];
    assert_eq!(told(&follower).await, worse);
    // The index is mended, in two steps.
    index("2026-03-14", &["/a", "/d"], "\"3\"");
    follower.check().await;
    assert_eq!(
        told(&follower).await,
        ["one page of the sitemap is not in the index"]
    );
    index("2026-03-14", &["/a", "/b", "/d"], "\"4\"");
    follower.check().await;
    assert_eq!(told(&follower).await, NONE);
}

#[tokio::test]
async fn an_spxi_index_without_a_sitemap_is_followed_by_its_names() {
    let den = Den::empty();
    let index = |day: &str, surfaces: &[(&str, &str)]| {
        let surface = |(path, name): &(&str, &str)| serde_json::json!({"@id": den.url(path).as_str(), "name": name});
        let index = serde_json::json!({
            "@context": "https://elsewhere.example/context.jsonld", "@type": "spxi:SemanticIndex", "name": "Foxes",
            "dateModified": day, "spxi:hasSurface": surfaces.iter().map(surface).collect::<Vec<_>>(),
        });
        let reply = Reply::new(200, "application/ld+json", index.to_string());
        den.site.serve("/spxi-index.jsonld", reply);
    };
    index("2026-01-01", &[("/a", "A"), ("/b#top", "B"), ("/c", "C")]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 3);
    index("2026-03-11", &[("/a", "A"), ("/b", "Bears"), ("/d", "D")]);
    assert_eq!(
        follower.check().await,
        ["created /d 2026-03-11", "updated /b 2026-03-11"]
    );
    assert_eq!(follower.check().await, ["deleted /c 2026-03-11"]);
    index("2026-03-11", &[("/a", "A"), ("/b", "Bulls"), ("/d", "D")]);
    assert_eq!(follower.check().await, ["updated /b 2026-03-14T12:00:00Z"]);
    let changes = follower.changes().await;
    let last = &changes.last().unwrap().change;
    assert_eq!(last.title.as_deref(), Some("Bulls"));
    assert!(last.details.is_inferred);
}

#[tokio::test]
async fn an_spxi_index_that_keeps_its_date_says_nothing_about_when() {
    let den = Den::empty();
    let index = |day: &str, surfaces: &[&str]| {
        let surface =
            |path: &&str| serde_json::json!({"@id": den.url(path).as_str(), "name": path});
        let index = serde_json::json!({
            "@type": "spxi:SemanticIndex", "dateModified": day,
            "spxi:hasSurface": surfaces.iter().map(surface).collect::<Vec<_>>(),
        });
        let reply = Reply::new(200, "application/ld+json", index.to_string());
        den.site.serve("/spxi-index.jsonld", reply);
    };
    index("2026-01-01", &["/a", "/b", "/c"]);
    let follower = Follower::of(&den).await;
    follower.check().await;
    index("2026-01-01", &["/a", "/b", "/d"]);
    assert_eq!(follower.check().await, ["created /d 2026-03-12T12:00:00Z"]);
    assert_eq!(follower.check().await, ["deleted /c 2026-03-13T12:00:00Z"]);
    // Where it moves, it is the time of whatever is new.
    index("2026-03-13", &["/a", "/d", "/e"]);
    assert_eq!(follower.check().await, ["created /e 2026-03-13"]);
    assert_eq!(follower.check().await, ["deleted /b 2026-03-13"]);
}

#[tokio::test]
async fn a_surface_without_a_name_has_that_of_the_entity_at_its_address() {
    let den = Den::empty();
    let id = |path: &str| den.url(path).to_string();
    let index = serde_json::json!({
        "@context": {"spxi": "https://spxi.dev/vocabulary#"}, "@type": "spxi:SemanticIndex",
        "spxi:hasSurface": [
            {"@id": id("/a"), "spxi:surfaceType": "Essay"}, {"@id": id("/b"), "name": "Bears"}, {"@id": id("/c")},
        ],
        "spxi:hasEntity": [
            {"@id": id("/a#it"), "spxi:canonicalName": "Ants", "spxi:bdrEstimate": {"@value": 0.5}},
            {"@id": id("/b"), "spxi:canonicalName": "Bees", "spxi:bdrEstimate": {"@value": 2.5}},
        ],
    });
    let reply = Reply::new(200, "application/ld+json", index.to_string());
    den.site.serve("/spxi-index.jsonld", reply);
    let follower = Follower::of(&den).await;
    follower.check().await;
    let changes = follower.changes().await;
    let mut titles: Vec<_> = (changes.iter())
        .map(|row| row.change.title.as_deref().unwrap_or_default())
        .collect();
    titles.sort_unstable();
    assert_eq!(titles, ["", "Ants", "Bears"]);
    let ants = changes.iter().find(|row| row.change.url == id("/a"));
    assert_eq!(ants.unwrap().change.details.tags, ["Essay"]);
    let problems = follower.last_check().await.problems;
    let told = problems
        .iter()
        .filter(|problem| problem.code.name() == "spxi-estimate");
    let told: Vec<_> = told
        .map(|problem| (problem.count, problem.message.contains("/b")))
        .collect();
    assert_eq!(told, [(1, true)]);
}

#[tokio::test]
async fn an_entity_is_no_page_and_names_the_page_of_a_sitemap_that_it_is_on() {
    let den = Den::empty();
    let entity = |path: &str, name: &str| serde_json::json!({"@id": den.url(path).as_str(), "spxi:canonicalName": name});
    let index = |entities: &[serde_json::Value]| {
        let index = serde_json::json!({
            "@type": "spxi:SemanticIndex", "dateModified": "2026-01-01",
            "spxi:hasSurface": {"@id": den.url("/a").as_str(), "name": "About"}, "spxi:hasEntity": entities,
        });
        let reply = Reply::new(200, "application/ld+json", index.to_string());
        den.site.serve("/spxi-index.jsonld", reply);
    };
    index(&[entity("/b#fox", "The Fox")]);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await, ["created /a 2026-03-11T12:00:00Z"]);
    // What becomes of it is no change of a page.
    index(&[entity("/b#fox", "The Red Fox"), entity("/c", "The Cub")]);
    assert_eq!(follower.check().await, NONE);
    index(&[]);
    for _ in 0..3 {
        assert_eq!(follower.check().await, NONE);
    }
    let den = Den::empty();
    let robots = "User-agent: *\nAllow: /spxi-index.jsonld\nSitemap: /sitemap.xml\n";
    den.site.serve("/robots.txt", Reply::text(robots));
    serve(
        &den,
        "/sitemap.xml",
        sitemap(&den, &["/a 2026-01-01", "/b 2026-01-02"]),
    );
    let index = serde_json::json!({
        "@type": "spxi:SemanticIndex",
        "spxi:hasSurface": {"@id": den.url("/a").as_str(), "name": "About"},
        "spxi:hasEntity": {"@id": den.url("/b#fox").as_str(), "spxi:canonicalName": "The Fox"},
    });
    let reply = Reply::new(200, "application/ld+json", index.to_string());
    den.site.serve("/spxi-index.jsonld", reply);
    let follower = Follower::of(&den).await;
    assert_eq!(follower.check().await.len(), 2);
    let changes = follower.changes().await;
    let titles = changes.iter().map(|row| row.change.title.as_deref());
    assert_eq!(titles.collect::<Vec<_>>(), [Some("About"), Some("The Fox")]);
}
