//! HTML pages as descriptions.

use super::*;

#[test]
fn a_page_describes_itself_however_it_begins() {
    for start in [
        "<!DOCTYPE html>\n<html><head>",
        "<!doctype HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\">",
        "<!-- hello --><html>",
        "<?xml version='1.0'?>\n<!-- x --><!DOCTYPE html><html xmlns='http://www.w3.org/1999/xhtml'>",
        "<html xmlns='http://www.w3.org/1999/xhtml'>",
        "<HTML>",
        "<meta charset=utf-8>",
        "",
        "\u{feff}",
    ] {
        let html = format!("{start}<title>Den &amp; co</title><p>unclosed <br> & wild");
        assert_eq!(title(&html), "Den & co", "{start}");
    }
}

#[test]
fn the_type_is_not_believed() {
    let html = b"<!DOCTYPE html><title>Den</title>";
    for content_type in ["application/rdf+xml", "application/json", "nonsense;;="] {
        let about = read(html, Some(content_type), &document(), &described()).unwrap();
        assert_eq!(about.title.as_deref(), Some("Den"));
    }
    let json = b"{\"title\": \"Den\"}";
    let about = read(json, Some("text/html"), &document(), &described()).unwrap();
    assert_eq!(about.title.as_deref(), Some("Den"));
}

#[test]
fn linked_data_fills_what_the_head_leaves_out() {
    let data = "<script type='application/ld+json'>{broken</script>\
        <script type='application/ld+json'>{\"@type\":\"WebSite\",\"name\":\"Den\",\"author\":\"Ann\"}</script>";
    let without = about(&format!("<html>{data}"));
    assert_eq!(without.title.as_deref(), Some("Den"));
    assert_eq!(without.authors, ["Ann"]);
    assert_eq!(title(&format!("<html><title>Head</title>{data}")), "Head");
}

#[test]
fn a_parked_page_without_a_title_is_empty() {
    assert!(about("<html><body>Buy this domain!</body></html>").is_empty());
}
