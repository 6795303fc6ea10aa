use super::*;
use proptest::prelude::*;

fn base() -> Url {
    Url::parse("https://example.com/den/index.html").unwrap()
}

fn parse(html: &str) -> HtmlHead {
    HtmlHead::parse(html.as_bytes(), Some("text/html"), &base())
}

fn title(html: &str) -> Option<String> {
    parse(html).title
}

fn hrefs(html: &str) -> Vec<String> {
    let links = parse(html).links;
    links.iter().map(|link| link.href.to_string()).collect()
}

#[test]
fn an_empty_page_says_nothing() {
    assert_eq!(parse(""), HtmlHead::default());
}

#[test]
fn a_full_head_is_read() {
    let head = parse(
        r#"<!DOCTYPE html><html lang="en-GB"><head>
        <title>Fox &amp; <b>den</b>&nbsp;</title>
        <meta name="Description" content="All about   foxes">
        <meta name=author content=Ann><meta name=author content=Bea>
        <meta name=copyright content="CC0">
        <link REL="ResourceSync Alternate" href="/rs.xml" type="Application/XML; q=1" title="Log">
        </head><body><p>Hi</p></body></html>"#,
    );
    assert_eq!(head.title.as_deref(), Some("Fox & <b>den</b>"));
    assert_eq!(head.description.as_deref(), Some("All about foxes"));
    assert_eq!(head.author.as_deref(), Some("Ann"));
    assert_eq!(head.rights.as_deref(), Some("CC0"));
    assert_eq!(head.language.as_deref(), Some("en-GB"));
    assert_eq!(head.links.len(), 1);
    assert_eq!(head.links[0].rels, ["resourcesync", "alternate"]);
    assert_eq!(head.links[0].href.as_str(), "https://example.com/rs.xml");
    assert_eq!(head.links[0].media_type.as_deref(), Some("application/xml"));
    assert_eq!(head.links[0].title.as_deref(), Some("Log"));
}

#[test]
fn a_page_without_a_head_element_has_a_head_all_the_same() {
    let head = parse("<title>Fox</title>\n<link rel=resourcesync href=rs.xml><p>Hello");
    assert_eq!(head.title.as_deref(), Some("Fox"));
    assert_eq!(head.links.len(), 1);
}

#[test]
fn the_first_of_two_titles_counts() {
    assert_eq!(
        title("<title>a</title><title>b</title>").as_deref(),
        Some("a")
    );
}

#[test]
fn an_empty_title_gives_way_to_what_social_networks_are_told() {
    let metas = "<meta property=og:site_name content=Site><meta property=og:title content=Page>";
    assert_eq!(
        title(&format!("<title> </title>{metas}")).as_deref(),
        Some("Page")
    );
    assert_eq!(
        title(&format!("{metas}<title>T</title>")).as_deref(),
        Some("T")
    );
    assert_eq!(
        title("<meta property=og:site_name content=Site>").as_deref(),
        Some("Site")
    );
}

#[test]
fn the_title_of_a_drawing_is_not_the_title_of_the_page() {
    assert_eq!(title("<body><svg><title>Icon</title></svg>"), None);
    assert_eq!(
        title("<svg><title/></svg><title>Page</title>").as_deref(),
        Some("Page")
    );
    assert_eq!(title("<svg/><title>Page</title>").as_deref(), Some("Page"));
    assert_eq!(
        title("<svg><g><title>Icon</title></g><p><title>Page</title>").as_deref(),
        Some("Page")
    );
}

#[test]
fn a_title_in_the_body_is_the_last_choice() {
    assert_eq!(
        title("<body><title>Strayed</title>").as_deref(),
        Some("Strayed")
    );
    assert_eq!(
        title("<meta property=og:title content=Head><p><title>Strayed</title>").as_deref(),
        Some("Head")
    );
}

#[test]
fn a_title_that_never_ends_is_no_title() {
    assert_eq!(title("<title>Fox<p>and all the rest"), None);
}

#[test]
fn markup_in_a_title_is_text_and_stays_text() {
    assert_eq!(
        title("<title><script>alert(1)</script></title>").as_deref(),
        Some("<script>alert(1)</script>")
    );
}

#[test]
fn a_script_may_contain_anything() {
    let head = parse(
        "<script>document.write('<title>x</title><link rel=resourcesync href=/evil>')</script>\
         <title>Fox</title>",
    );
    assert_eq!(head.title.as_deref(), Some("Fox"));
    assert!(head.links.is_empty());
}

#[test]
fn links_in_comments_scripts_styles_templates_and_noscript_are_not_links() {
    for (open, close) in [
        ("<!--", "-->"),
        ("<script>", "</script>"),
        ("<style>", "</style>"),
        ("<template><template></template>", "</template>"),
        ("<template><svg>", "</template>"),
        ("<noscript>", "</noscript>"),
        ("<textarea>", "</textarea>"),
        ("<title>", "</title>"),
        ("<svg>", "</svg>"),
    ] {
        let html =
            format!("<head>{open}<link rel=icon href=/evil>{close}<link rel=icon href=/good>");
        assert_eq!(hrefs(&html), ["https://example.com/good"], "{open}");
    }
}

#[test]
fn what_hides_in_the_head_does_not_end_it() {
    for hidden in [
        "<script>x</script>",
        "<style>x</style>",
        "<noscript><img src=x></noscript>",
        "<template><p>x</p></template>",
        "</head>",
        "<!-- x -->",
    ] {
        let html = format!("<head>{hidden}\n<link rel=resourcesync href=/rs>");
        assert_eq!(hrefs(&html), ["https://example.com/rs"], "{hidden}");
    }
}

#[test]
fn a_link_smuggled_into_the_body_does_not_take_over_the_site() {
    for start in [
        "<body>",
        "<p>",
        "some text",
        "<svg></svg>",
        "</body>",
        "<math>",
    ] {
        let html = format!("{start}<p><link rel='resourcesync' href=/evil>");
        assert!(hrefs(&html).is_empty(), "{start}");
    }
    let links = parse("<body><link rel='resourcesync alternate' href=/feed>").links;
    assert_eq!(links[0].rels, ["alternate"]);
}

#[test]
fn a_base_in_the_head_moves_links_before_and_after_it() {
    assert_eq!(
        hrefs("<link rel=a href=a><base href=/deep/><base href=/no/><link rel=b href=b><p>"),
        ["https://example.com/deep/a", "https://example.com/deep/b"]
    );
}

#[test]
fn a_base_in_the_body_moves_nothing() {
    assert_eq!(
        hrefs("<link rel=a href=a><p><base href=//evil.example/>"),
        ["https://example.com/den/a"]
    );
}

#[test]
fn only_web_addresses_are_links() {
    assert!(
        hrefs(
            "<link rel=a href='javascript:alert(1)'><link rel=a href='data:,x'><link rel=a>\
             <link href=x><link rel='' href=x>"
        )
        .is_empty()
    );
    assert_eq!(hrefs("<base href='data:,x'><link rel=a href=a>").len(), 1);
}

#[test]
fn a_utf_16_page_is_read() {
    let html = "<title>狐の巣</title>";
    let mut bytes = vec![0xfe, 0xff];
    bytes.extend(html.encode_utf16().flat_map(u16::to_be_bytes));
    let head = HtmlHead::parse(&bytes, None, &base());
    assert_eq!(head.title.as_deref(), Some("狐の巣"));
}

#[test]
fn a_shift_jis_page_is_read() {
    let html = "<html><head><meta charset=\"Shift_JIS\"><title>狐の巣 表示</title>";
    let bytes = encoding_rs::SHIFT_JIS.encode(html).0;
    let head = HtmlHead::parse(&bytes, Some("text/html"), &base());
    assert_eq!(head.title.as_deref(), Some("狐の巣 表示"));
}

#[test]
fn broken_utf_8_is_left_out() {
    let head = HtmlHead::parse(b"<title>f\xffx</title>", None, &base());
    assert_eq!(head.title.as_deref(), Some("fx"));
    let head = HtmlHead::parse(b"<title>\xff\xfe \xff</title>", None, &base());
    assert_eq!(head.title, None);
}

#[test]
fn elements_that_close_themselves_do_so_in_xhtml() {
    let xhtml = "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml' xml:lang='de'>\
        <head><script src='x'/><title>Bau</title><link rel='resourcesync' href='/rs'/></head></html>";
    let head = parse(xhtml);
    assert_eq!(head.title.as_deref(), Some("Bau"));
    assert_eq!(head.language.as_deref(), Some("de"));
    assert_eq!(head.links.len(), 1);
}

#[test]
fn linked_data_is_handed_on_as_it_stands() {
    let head = parse("<body><script type='application/ld+json'>{\"name\":\"</b>\"}</script>");
    assert_eq!(head.json_ld, ["{\"name\":\"</b>\"}"]);
}

#[test]
fn a_page_may_ask_not_to_be_told_of() {
    for hidden in [
        "<meta name=robots content='noindex'>",
        "<meta name=ROBOTS content='follow,NoIndex'>",
        "<meta name=sitebell content='none'>",
    ] {
        assert!(parse(hidden).is_hidden, "{hidden}");
    }
    for shown in [
        "",
        "<meta name=robots content='index, nofollow, max-snippet:-1'>",
        "<meta name=otherbot content=noindex>",
        "<body><meta name=robots content=noindex>",
        "<meta name=robots content='max-image-preview: none'>",
    ] {
        assert!(!parse(shown).is_hidden, "{shown}");
    }
}

#[test]
fn so_may_the_head_of_a_response() {
    for hidden in [
        "noindex",
        "nofollow, NOINDEX",
        "none",
        "sitebell: noindex",
        "max-snippet: 5, noindex",
    ] {
        assert!(tag_says_noindex(hidden), "{hidden}");
    }
    for shown in [
        "",
        "index, nofollow",
        "otherbot: noindex, nofollow",
        "unavailable_after: 25 Jun 2050 15:00:00 GMT",
        "max-image-preview:none",
    ] {
        assert!(!tag_says_noindex(shown), "{shown}");
    }
}

#[test]
fn a_page_beyond_the_limit_is_read_up_to_it() {
    let html = format!(
        "<title>Fox</title>{}<link rel=a href=a>",
        " ".repeat(MAX_BYTES)
    );
    let head = parse(&html);
    assert_eq!(head.title.as_deref(), Some("Fox"));
    assert!(head.links.is_empty());
}

#[test]
fn a_page_of_nothing_but_links_is_bounded() {
    assert_eq!(
        parse(&"<link rel=a href=a>".repeat(10_000)).links.len(),
        MAX_LINKS
    );
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        HtmlHead::parse(&bytes, None, &base());
    }

    #[test]
    fn no_arrangement_of_tags_makes_it_panic_or_smuggles_a_link(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "<svg>", "</svg>", "<template>", "</template>", "<script>", "</script>", "<title>",
                "</title>", "<!--", "-->", "<p>", "<style>", "</style>", "<noscript>",
                "</noscript>", "x", "&amp;", "<meta name=author content='", "'>", "<math/>", "<",
            ]),
            0..20,
        )
    ) {
        let html = format!("<body>{}<link rel=resourcesync href=/evil>", parts.concat());
        prop_assert!(parse(&html).links.is_empty());
    }
}
