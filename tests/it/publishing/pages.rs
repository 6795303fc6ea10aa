//! What counts as a change of a page, and what does not.

use std::fs;

use sitebell::publish::folder::PageRules;

use super::Author;

fn rules(ignore: &[&str], include: &[&str]) -> PageRules {
    let strings = |patterns: &[&str]| -> Vec<String> {
        patterns
            .iter()
            .map(|pattern| (*pattern).to_owned())
            .collect()
    };
    PageRules::parse(&strings(ignore), &strings(include)).unwrap()
}

const NOTHING: Vec<String> = Vec::new();

#[test]
fn another_build_of_the_same_words_is_no_change() {
    let page = |build: u32, words: &str| {
        format!(
            "<!doctype html><html><head><title>Den</title><meta name=generator content='v{build}'>
            <link rel=stylesheet href=/style.{build}.css></head><body><nav>menu {build}</nav>
            <main><p class=x{build}>{words}</p><!-- sitebell:ignore --><i>{build} visits</i><!-- /sitebell:ignore --></main>
            <footer>built {build}</footer><script>var build = {build}</script></body></html>"
        )
    };
    let mut author = Author::with_nothing();
    author.file("index.html", &page(1, "Foxes"));
    author.publish();
    author.file("index.html", &page(2, "Foxes"));
    assert_eq!(author.publish(), NOTHING);
    author.file("index.html", &page(2, "Foxes sleep"));
    assert_eq!(author.publish(), ["updated "]);
    // Other rules make no other page.
    author.order.rules.exact = true;
    assert_eq!(author.publish(), NOTHING);
    author.file("index.html", &page(3, "Foxes sleep"));
    assert_eq!(author.publish(), ["updated "]);
}

#[test]
fn an_author_names_what_is_no_page_and_what_is_no_news() {
    let mut author = Author::new();
    let ignore = ["drafts/", "element:.stamp", "text:Built on [0-9-]+"];
    author.order.rules = rules(&ignore, &["art/*.png"]);
    author.page("drafts/new.html", "Draft");
    author.page("fox/drafts/told.html", "Told");
    author.file("art/fox.png", "one");
    author.file("art/more/fox.png", "one");
    author.page(
        "index.html",
        "Hi <b class='stamp'>1</b> Built on 2026-03-01",
    );
    let told = author.publish();
    assert_eq!(
        told,
        [
            "created ",
            "created art/fox.png",
            "created fox/den.html",
            "created fox/drafts/told.html"
        ]
    );
    author.page(
        "index.html",
        "Hi <b class='stamp'>2</b> Built on 2026-03-02",
    );
    author.file("art/fox.png", "two");
    assert_eq!(author.publish(), ["updated art/fox.png"]);
}

#[test]
fn rules_that_change_are_no_news_and_hold_from_then_on() {
    let mut author = Author::new();
    author.page("index.html", "Hi <b class=stamp>1</b>");
    author.publish();
    author.order.rules = rules(&["element:.stamp"], &[]);
    assert_eq!(author.publish(), NOTHING);
    author.page("index.html", "Hi <b class=stamp>2</b>");
    assert_eq!(author.publish(), NOTHING);
    author.page("index.html", "Ho <b class=stamp>2</b>");
    assert_eq!(author.publish(), ["updated "]);
}

#[test]
fn a_page_that_its_author_leaves_out_from_now_on_is_not_called_deleted() {
    let mut author = Author::new();
    author.order.rules = rules(&[], &["art/*.png"]);
    author.file("art/fox.png", "one");
    author.page("fox/old.html", "Old");
    author.publish();
    author.order.rules = rules(&["fox/den.html", "fox/old.html"], &[]);
    author.remove("fox/old.html");
    assert_eq!(author.publish(), ["deleted fox/old.html"]);
    assert_eq!(author.publish(), NOTHING);
    author.order.rules = rules(&[], &[]);
    assert_eq!(author.publish(), ["created fox/den.html"]);
}

#[test]
fn the_page_for_errors_and_what_is_hidden_are_no_pages() {
    let mut author = Author::new();
    author.page("404.html", "Not here");
    author.page(".git/doc.html", "Hidden");
    author.page("fox/.old.html", "Hidden");
    author.page("fox/404.html", "A page about the number");
    assert_eq!(
        author.publish(),
        ["created ", "created fox/404.html", "created fox/den.html"]
    );
}

#[tokio::test]
async fn hosts_with_clean_addresses_are_told_by_them() {
    let mut author = Author::new();
    author.order.rules.clean_urls = true;
    author.publish();
    assert_eq!(author.log().await, ["created /", "created /fox/den"]);
}

#[test]
fn pages_in_other_encodings_are_compared_by_their_words() {
    let page = |words: &str, build: u32| {
        let text = format!("<html><head><title>狐</title></head><body><main>{words}</main>{build}");
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [0xff, 0xfe].into_iter().chain(units).collect::<Vec<u8>>()
    };
    let mut author = Author::new();
    fs::write(author.path("utf-16.html"), page("foxes", 1)).unwrap();
    author.publish();
    fs::write(author.path("utf-16.html"), page("foxes", 2)).unwrap();
    assert_eq!(author.publish(), NOTHING);
    fs::write(author.path("utf-16.html"), page("owls", 2)).unwrap();
    assert_eq!(author.publish(), ["updated utf-16.html"]);
}

#[test]
fn an_empty_page_is_a_page() {
    let mut author = Author::with_nothing();
    author.file("index.html", "");
    assert_eq!(author.publish(), ["created "]);
    author.file("index.html", "<body><script>app(1)</script>");
    assert_eq!(author.publish(), ["updated "]);
    // Where there are no words at all, every byte counts.
    author.file("index.html", "<body><script>app(2)</script>");
    assert_eq!(author.publish(), ["updated "]);
}

#[test]
fn parts_of_a_sitemap_that_was_longer_are_removed_and_those_of_others_stay() {
    let mut author = Author::new();
    author.order.sitemap = true;
    for part in 1..4 {
        let mark = sitebell::publish::state::MARK;
        author.file(format!("sitemap-{part}.xml"), &format!("{mark}<urlset/>"));
    }
    author.file("sitemap-4.xml", "<urlset/>");
    author.publish();
    let there = (1..5).filter(|part| author.path(format!("sitemap-{part}.xml")).exists());
    assert_eq!(there.collect::<Vec<_>>(), [4]);
    assert!(author.path("sitemap.xml").exists());
}
