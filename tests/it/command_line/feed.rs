//! `--atom`: held against the rules for feeds, as those of the service are.

use std::collections::HashSet;

use atom_syndication::{Entry, Feed};
use chrono::Utc;

use super::*;
use crate::feeds::valid;
use crate::listing::offering::Offering;

fn feed(den: &Den) -> Feed {
    let output = check(den, &["--atom"]);
    let text = stdout(&output);
    valid::atom(text, None, Utc::now());
    text.parse().unwrap()
}

fn content(entry: &Entry) -> &str {
    let content = entry.content.as_ref().unwrap();
    assert_eq!(content.content_type.as_deref(), Some("html"));
    content.value.as_deref().unwrap()
}

#[test]
fn the_feed_has_an_entry_for_each_day_newest_first() {
    let den = den();
    let feed = feed(&den);
    assert_eq!(feed.title.as_str(), "The Fox Den");
    assert_eq!(feed.authors[0].name, "The Fox Den");
    assert_eq!(feed.generator.as_ref().unwrap().value, "Sitebell");
    let entries: Vec<_> = (feed.entries.iter())
        .map(|entry| (entry.title.as_str(), entry.updated.to_rfc3339()))
        .collect();
    assert_eq!(
        entries,
        [
            (
                "One page updated, one deleted in The Fox Den",
                "2026-03-02T09:30:00+00:00".into()
            ),
            (
                "One new page in The Fox Den",
                "2026-03-01T00:00:00+00:00".into()
            ),
        ]
    );
    assert_eq!(feed.updated, feed.entries[0].updated);
}

#[test]
fn a_deleted_page_has_no_link() {
    let den = den();
    let feed = feed(&den);
    let newest = &feed.entries[0];
    let (kept, gone) = (den.url("/a"), den.url("/b"));
    let related: Vec<_> = (newest.links.iter())
        .filter(|link| link.rel == "related")
        .map(|link| link.href.as_str())
        .collect();
    assert_eq!(related, [kept.as_str()]);
    let html = content(newest);
    assert!(html.contains(&format!("href=\"{kept}\"")), "{html}");
    assert!(
        !html.contains(gone.as_str()) && html.contains("/b"),
        "{html}"
    );
}

#[test]
fn ids_are_unique_and_times_differ_over_several_collections() {
    let den = den();
    // The same folder with and without a port's worth of difference, a query, and brackets.
    let names = ["/fox/", "/fox", "/fox/?a=[1]", "/fox/#part"];
    let lists: Vec<String> = (0..names.len())
        .map(|number| format!("/{number}.xml"))
        .collect();
    let listed: Vec<_> = lists.iter().map(String::as_str).zip(names).collect();
    den.description(&listed);
    for (list, name) in listed {
        den.capability_list(list, name, &["/changelist.xml"]);
    }
    let feed = feed(&den);
    assert_eq!(feed.entries.len(), 8);
    let ids: HashSet<_> = feed.entries.iter().map(|entry| &entry.id).collect();
    let times: HashSet<_> = feed.entries.iter().map(|entry| entry.updated).collect();
    assert_eq!((ids.len(), times.len()), (8, 8));
    let sources: HashSet<_> = (feed.entries.iter())
        .map(|entry| entry.source.as_ref().unwrap().id.as_str())
        .collect();
    assert_eq!(sources.len(), 4);
    assert!(!sources.contains(feed.id.as_str()));
    for id in ids.into_iter().map(String::as_str).chain(sources) {
        assert!(
            id.starts_with("tag:127.0.0.1,2022:sitebell:127.0.0.1:"),
            "{id}"
        );
        assert!(!id.contains(['[', ']', '#', ' ']), "{id} is no tag URI");
    }
}

#[test]
fn a_site_without_changes_has_an_empty_feed() {
    let den = den();
    den.change_list("/changelist.xml", "from='2026-01-01'", &[]);
    assert_eq!(feed(&den).entries.len(), 0);
}

#[test]
fn nothing_that_a_site_writes_becomes_markup() {
    let den = den();
    den.about(
        "/about.xml",
        "/",
        "&lt;script>alert(1)&lt;/script>&amp;lt;b> ]]&gt;&quot;'",
    );
    let list = change_list("/capabilitylist.xml", "from='2026-01-01'", &[]);
    let entry = |loc: &str| {
        format!(
            "<url><loc>{loc}</loc><rs:md change='updated' datetime='2026-03-01' type='text/html&quot;&lt;i>'/></url>"
        )
    };
    let locs = [
        "javascript:alert(1)",
        "data:text/html,&lt;script>alert(1)&lt;/script>",
        "{den}/&lt;script>alert(1)&lt;/script>",
        "{den}/&quot;onmouseover=&quot;alert(1)",
        "{den}/?&quot;>&lt;img src=x onerror=alert(1)>",
        "{den}/#&lt;/a>&lt;script>",
    ];
    let entries: String = locs.iter().map(|loc| entry(loc)).collect();
    den.xml(
        "/changelist.xml",
        &list.replace("</urlset>", &format!("{entries}</urlset>")),
    );
    let feed = feed(&den);
    assert_eq!(
        feed.title.as_str(),
        "&lt;script&gt;alert(1)&lt;/script&gt;&amp;lt;b&gt; ]]&gt;&quot;'"
    );
    assert_eq!(feed.title.r#type, atom_syndication::TextType::Html);
    assert_eq!(
        feed.entries[0].title.r#type,
        atom_syndication::TextType::Html
    );
    let html = content(&feed.entries[0]);
    let mut elements: Vec<_> = html.split('<').skip(1).map(name_of).collect();
    elements.sort_unstable();
    elements.dedup();
    assert_eq!(
        elements,
        [
            "/a", "/h2", "/li", "/time", "/ul", "a", "h2", "li", "time", "ul"
        ],
        "{html}"
    );
    assert!(
        !html.contains("javascript:") && !html.contains("\"onmouseover"),
        "{html}"
    );
    for link in feed.entries.iter().flat_map(|entry| &entry.links) {
        assert!(link.href.starts_with("http://127.0.0.1"), "{}", link.href);
    }
}

fn name_of(tag: &str) -> &str {
    let end = tag.find([' ', '>']).unwrap_or(tag.len());
    &tag[..end]
}

#[tokio::test]
async fn a_page_of_two_sections_is_in_the_feed_once() {
    let (a, b, c) = ("/a 2026-03-01", "/b 2026-03-02", "/c 2026-03-03");
    let mut offering = Offering::new(&[("blog", &[a, b]), ("news", &[b, c])]).await;
    offering.den.host = "127.0.0.1";
    offering.serve();
    let feed = feed(&offering.den);
    let links = feed.entries.iter().flat_map(|entry| &entry.links);
    let related = links.filter(|link| link.rel == "related");
    let mut pages: Vec<&str> = related.map(|link| link.href.as_str()).collect();
    pages.sort_unstable();
    let once = ["/a", "/b", "/c"].map(|path| offering.den.url(path).to_string());
    assert_eq!(pages, once);
}
