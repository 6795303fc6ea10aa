//! JSON-LD and plain JSON.

use super::*;

#[test]
fn plain_json_is_read_by_its_keys() {
    let about = about(
        r#" {"title": "Den", "description": "A shrine", "author": {"name": "Ann"},
             "copyright": "CC0", "lang": "en"}"#,
    );
    let expected = About {
        title: Some("Den".into()),
        description: Some("A shrine".into()),
        authors: vec!["Ann".into()],
        rights: Some("CC0".into()),
        language: Some("en".into()),
    };
    assert_eq!(about, expected);
}

#[test]
fn json_that_says_nothing_is_empty_not_wrong() {
    for text in ["{}", "[]", "[1, null, \"x\", [true]]", "{\"title\": null}"] {
        assert!(about(text).is_empty(), "{text}");
    }
}

#[test]
fn broken_json_is_an_error() {
    for text in ["{", "{\"title\": \"Den\"", "[1,]", "{} {}"] {
        assert!(
            matches!(try_about(text), Err(AboutError::Json(_))),
            "{text}"
        );
    }
}

#[test]
fn a_context_elsewhere_is_not_needed() {
    assert_eq!(
        title(r#"{"@context": "https://schema.org", "@type": "WebSite", "name": "Den"}"#),
        "Den"
    );
}

#[test]
fn vocabularies_prefixes_and_aliases_are_followed() {
    for text in [
        r#"{"@context": {"@vocab": "http://purl.org/dc/terms/"}, "title": "Den"}"#,
        r#"{"@context": {"x": "http://purl.org/dc/terms/"}, "x:title": "Den"}"#,
        r#"{"@context": ["https://remote.example/", {"label": {"@id": "dcterms:title"}}], "label": "Den"}"#,
        r#"{"@context": {"p": "http://schema.org/", "called": "p:name"}, "called": "Den"}"#,
        r#"{"dct:title": "Den"}"#,
        r#"{"http://purl.org/dc/terms/title": [{"@value": "Den"}]}"#,
        r#"{"@context": {"v": "@value"}, "title": {"v": "Den"}}"#,
    ] {
        assert_eq!(title(text), "Den", "{text}");
    }
}

#[test]
fn a_term_of_another_vocabulary_means_nothing_here() {
    let text = r#"{"@context": {"@vocab": "https://cars.example/"}, "title": "Deed of ownership"}"#;
    assert!(about(text).is_empty());
}

#[test]
fn terms_that_stand_for_each_other_end() {
    about(r#"{"@context": {"a": "b", "b": "a", "c": "c:c"}, "a": "x", "c": "y", "c:d": "z"}"#);
}

#[test]
fn the_described_node_is_found_in_a_graph() {
    let text = r##"{"@context": {"id": "@id", "things": "@graph"}, "things": [
        {"id": "https://other.example/", "name": "Other"},
        {"id": "./", "name": "Den", "creator": [{"id": "#ann"}, "Bea", "https://example.com/den/about.xml#cat"]},
        {"id": "#ann", "type": "Person", "name": "Ann"},
        {"id": "#cat", "name": "Cat"}]}"##;
    let about = about(text);
    assert_eq!(about.title.as_deref(), Some("Den"));
    assert_eq!(about.authors, ["Ann", "Bea", "Cat"]);
}

#[test]
fn a_site_may_be_known_by_its_url() {
    let text = r#"[{"@type": "Organization", "name": "Fox Ltd", "url": "https://example.com/den/"},
        {"@type": "WebPage", "name": "Page", "url": "https://example.com/other"},
        {"@type": "WebSite", "name": "Den", "url": "https://example.com/den"}]"#;
    assert_eq!(title(text), "Den");
}

#[test]
fn people_are_not_titles() {
    let text = r#"[{"@type": ["Thing", "Person"], "name": "Ann"}, {"name": "Den", "author": {"name": "Bea"}}]"#;
    assert_eq!(title(text), "Den");
}

#[test]
fn languages_are_chosen_like_everywhere() {
    assert_eq!(title(r#"{"title": {"de": "Bau", "en": "Den"}}"#), "Bau");
    assert_eq!(
        title(r#"{"title": {"de": "Bau", "@none": "Plain"}}"#),
        "Plain"
    );
    assert_eq!(
        title(r#"{"title": [{"@value": "Bau", "@language": "de"}, {"@value": "Plain"}]}"#),
        "Plain"
    );
    assert_eq!(
        title(
            r#"{"title": [{"@value": "Bau", "@language": "de"}, {"@value": "Den", "@language": "en"}]}"#
        ),
        "Bau"
    );
}

#[test]
fn lists_and_sets_are_opened() {
    let about = about(r#"{"title": {"@set": ["Den"]}, "creator": {"@list": ["Ann", ["Bea"]]}}"#);
    assert_eq!(about.title.as_deref(), Some("Den"));
    assert_eq!(about.authors, ["Ann", "Bea"]);
}

#[test]
fn a_json_feed_is_plain_json() {
    let about = about(
        r#"{"version": "https://jsonfeed.org/version/1.1", "title": "Den", "authors": [{"name": "Ann"}],
            "items": [{"id": "1", "title": "One"}]}"#,
    );
    assert_eq!(about.title.as_deref(), Some("Den"));
    assert_eq!(about.authors, ["Ann"]);
}

#[test]
fn numbers_are_titles_too() {
    assert_eq!(title(r#"{"name": 1984}"#), "1984");
}
