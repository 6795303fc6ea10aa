//! Descriptions of every format, good and bad, through the one door.

mod feeds;
mod json;
mod pages;
mod rdf;

use super::*;
use proptest::prelude::*;

fn document() -> Url {
    Url::parse("https://example.com/den/about.xml").unwrap()
}

fn described() -> Url {
    Url::parse("https://example.com/den/").unwrap()
}

fn try_about(text: &str) -> Result<About, AboutError> {
    read(text.as_bytes(), None, &document(), &described())
}

fn about(text: &str) -> About {
    try_about(text).unwrap()
}

fn title(text: &str) -> String {
    about(text).title.unwrap_or_default()
}

#[test]
fn gaps_are_filled_and_nothing_is_overwritten() {
    let own = About {
        title: Some("Own".into()),
        authors: vec!["Ann".into()],
        ..About::default()
    };
    let other = About {
        title: Some("Other".into()),
        description: Some("More".into()),
        authors: vec!["Bea".into()],
        ..About::default()
    };
    let both = own.or(other.clone());
    assert_eq!(both.title.as_deref(), Some("Own"));
    assert_eq!(both.description.as_deref(), Some("More"));
    assert_eq!(both.authors, ["Ann"]);
    assert_eq!(About::default().or(other.clone()), other);
    assert!(About::default().is_empty());
    assert!(!other.is_empty());
}

#[test]
fn nothing_is_an_error_of_its_own() {
    assert!(matches!(try_about(""), Err(AboutError::Empty)));
    assert!(matches!(try_about("\u{feff} \n"), Err(AboutError::Empty)));
}

#[test]
fn other_formats_are_unknown_by_name() {
    for text in [
        "@prefix dc: <http://purl.org/dc/terms/> .\n<> dc:title \"Fox\" .",
        "<https://example.com/den/> <http://purl.org/dc/terms/title> \"Fox\" .",
        "<#me> a foaf:Person .",
        "<> dc:title \"Fox\" .",
        "Just some words.",
        "\u{1}\u{2}\u{3}",
        "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>x</loc></url></urlset>",
    ] {
        let error = try_about(text).unwrap_err();
        assert!(
            matches!(error, AboutError::UnknownFormat),
            "{text}: {error}"
        );
        assert!(error.to_string().starts_with("unknown format"));
    }
}

#[test]
fn a_document_beyond_the_limit_is_refused() {
    let text = " ".repeat(MAX_BYTES + 1);
    assert!(matches!(try_about(&text), Err(AboutError::TooLarge(_))));
}

#[test]
fn broken_xml_is_an_error_not_a_short_success() {
    for text in [
        "<rdf:RDF",
        "<?xml version='1.0'?>",
        "<!-- never closed",
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>Fox</title>",
        "<rss><channel><title>Fox</title>",
        "<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>",
    ] {
        let error = try_about(text).unwrap_err();
        assert!(matches!(error, AboutError::Xml(_)), "{text}: {error}");
    }
}

#[test]
fn every_text_is_cleaned() {
    let about = about("{\"title\": \" a\\u202e\\n b\\u0000\", \"author\": \"\\u200bAnn\"}");
    assert_eq!(about.title.as_deref(), Some("a b"));
    assert_eq!(about.authors, ["Ann"]);
    let long = format!(
        "{{\"title\": \"{0}\", \"description\": \"{0}\"}}",
        "x".repeat(9_999)
    );
    let about = super::read(long.as_bytes(), None, &document(), &described()).unwrap();
    assert_eq!(about.title.unwrap().chars().count(), 300);
    assert_eq!(about.description.unwrap().chars().count(), 2_000);
}

#[test]
fn documents_made_to_waste_time_do_not() {
    let ids: String = (0..20_000)
        .map(|i| format!("<x rdf:about='#{i}'/>"))
        .collect();
    let refs = "<dc:creator rdf:resource='#l'/>".repeat(15_000);
    let items = "<rdf:li rdf:resource='#l'/>".repeat(15_000);
    let rdf = |inside: &str| {
        format!(
            "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' \
             xmlns:dc='http://purl.org/dc/terms/' xml:base='https://example.com/{}'>{inside}</rdf:RDF>",
            "b".repeat(2_000)
        )
    };
    let vocab = format!(
        "{{\"@context\": {{\"@vocab\": \"{}\"}}, {}}}",
        "v".repeat(500_000),
        (0..30_000)
            .map(|i| format!("\"k{i}\": 1"))
            .collect::<Vec<_>>()
            .join(",")
    );
    let contexts = format!("[{}]", vec!["{\"@context\":[{},{},{}]}"; 40_000].join(","));
    for text in [
        rdf(&ids),
        rdf(&format!(
            "<rdf:Description rdf:about=''>{refs}</rdf:Description><rdf:Seq rdf:about='#l'>{items}</rdf:Seq>"
        )),
        vocab,
        contexts,
        "[".repeat(1_000_000),
        "{\"a\":".repeat(200_000),
        "<a>".repeat(300_000),
        "<div>".repeat(200_000),
    ] {
        assert!(text.len() <= MAX_BYTES);
        // A cost that grew with the square of the size would take hours here.
        let _ = try_about(&text);
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes, None, &document(), &described());
    }

    #[test]
    fn no_arrangement_of_the_pieces_makes_it_panic(
        start in prop::sample::select(vec!["", "<", "{", "[", "<!DOCTYPE ", "<?xml", "<!--"]),
        rest in "[a-z<>{}\\[\\]\":@/!?= é\u{0}-]{0,60}",
    ) {
        let _ = try_about(&format!("{start}{rest}"));
    }
}
