//! Feeds over HTTP, as readers meet them: valid, honest, and never rendered twice.

pub mod ids; // the same for ever
mod odd; // sources that say what no feed may say
mod parsers; // every feed, read by three parsers
mod readers; // programs that people read feeds with
mod rendering; // when a feed is rendered, and when not
mod snapshots; // whole feeds, stored in files
mod tree; // a document for rules to be held against
pub mod valid; // the rules for feeds; every feed that a test asks for goes through them

use std::collections::BTreeSet;

use atom_syndication::{Content, Feed};
use chrono::{DateTime, TimeDelta};
use serde_json::Value;
use sitebell::change::{Change, ChangeKind, Details};
use sitebell::memory::NewEntry;
use sitebell::moment::Moment;
use sitebell::site::{About, SiteId};
use sitebell::store::Keep;

use crate::ask::{Answered, Ask};
use crate::den::Den;
use crate::fake_site::Reply;
use crate::storing::{collection, record};
use crate::world::World;

const LIST: &str = "/changelist.xml";

/// The path of an address of ours.
fn path(url: &str) -> String {
    let url: url::Url = url.parse().unwrap();
    let query = url.query().map(|query| format!("?{query}"));
    format!("{}{}", url.path(), query.unwrap_or_default())
}

struct Followed {
    den: Den,
    world: World,
    site: SiteId,
}

impl Followed {
    async fn new(changes: &[&str]) -> Followed {
        let den = Den::new();
        den.change_list(LIST, "from='2026-01-01'", changes);
        let world = World::new().await;
        let site = world.follow(&den.url("/")).await;
        Followed { den, world, site }
    }

    /// One that had 130 changes, each found by a check of its own.
    async fn for_months() -> (Followed, Vec<String>) {
        let changes = (0..130).map(|n| format!("updated /page-{n} 2026-03-01"));
        let changes: Vec<String> = changes.collect();
        let all: Vec<&str> = changes.iter().map(String::as_str).collect();
        let followed = Followed::new(&all[..1]).await;
        for count in 2..=all.len() {
            followed.change(&all[..count]).await;
        }
        (followed, changes)
    }

    /// The list has these changes from now on, and is read.
    async fn change(&self, changes: &[&str]) {
        self.den.change_list(LIST, "from='2026-01-01'", changes);
        self.world.pass(TimeDelta::days(2));
        self.world.scheduler().idle().await;
    }

    fn site(&self) -> Value {
        self.world.get(&format!("/api/v1/sites/{}", self.site))
    }

    /// The feed of the site.
    fn feed_path(&self) -> String {
        path(self.site()["feed_url"].as_str().unwrap())
    }

    /// The feed of its only collection.
    fn collection_path(&self) -> String {
        path(self.site()["collections"][0]["feed_url"].as_str().unwrap())
    }

    fn answer(&self, path: &str) -> Answered {
        self.world.ask(Ask::get(path))
    }

    fn feed(&self, path: &str) -> Feed {
        read(&self.answer(path))
    }

    /// The time that a feed gives to readers that know only times.
    fn modified(&self, path: &str) -> String {
        let answer = self.answer(path);
        answer.header("last-modified").unwrap().to_owned()
    }

    /// What such a reader is answered.
    fn since(&self, path: &str, date: &str) -> Answered {
        let ask = Ask::get(path).header("If-Modified-Since", date);
        self.world.ask(ask)
    }
}

/// A feed as a reader has it. That it is valid was seen when it was asked for.
fn read(answer: &Answered) -> Feed {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text().parse().unwrap()
}

fn link<'a>(feed: &'a Feed, rel: &str) -> Option<&'a str> {
    let link = feed.links.iter().find(|link| link.rel == rel);
    link.map(|link| link.href.as_str())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_and_its_site_have_feeds_with_the_entries_of_every_check() {
    let followed = Followed::new(&["created /a 2026-03-01", "updated /b 2026-03-02"]).await;
    let feed = followed.feed(&followed.collection_path());
    assert_eq!(feed.title.as_str(), "The Fox Den");
    assert_eq!(
        link(&feed, "alternate"),
        Some(followed.den.url("/").as_str())
    );
    assert_eq!(
        link(&feed, "describedby"),
        Some(followed.den.url("/about.xml").as_str())
    );
    assert_eq!(
        link(&feed, "via"),
        Some(followed.den.url("/capabilitylist.xml").as_str())
    );
    let whole = followed.feed(&followed.feed_path());
    assert_eq!(
        link(&whole, "describedby"),
        Some(followed.den.url("/about.xml").as_str())
    );
    let titles: Vec<_> = feed
        .entries
        .iter()
        .map(|entry| entry.title.as_str())
        .collect();
    assert_eq!(
        titles,
        [
            "One page updated in The Fox Den",
            "One new page in The Fox Den"
        ]
    );
    assert!(feed.entries.iter().all(|entry| entry.source.is_none()));
    let whole = followed.feed(&followed.feed_path());
    assert_ne!(whole.id, feed.id);
    for entry in &whole.entries {
        assert_eq!(entry.source.as_ref().unwrap().id, feed.id);
    }
    // Whoever looks for an entry in the feed that it names as its source finds it there.
    let by_page = |path: String| followed.feed(&format!("{path}?entries=pages"));
    let (feed_by_page, whole_by_page) = (
        by_page(followed.collection_path()),
        by_page(followed.feed_path()),
    );
    for entry in &whole_by_page.entries {
        assert_eq!(entry.source.as_ref().unwrap().id, feed_by_page.id);
        assert!(feed_by_page.entries.iter().any(|own| own.id == entry.id));
    }

    followed
        .change(&[
            "created /a 2026-03-01",
            "updated /b 2026-03-02",
            "deleted /a 2026-03-09",
        ])
        .await;
    let after = followed.feed(&followed.collection_path());
    assert_eq!(
        after.entries[1..],
        feed.entries[..],
        "what was said stays said"
    );
    assert_eq!(
        after.entries[0].title.as_str(),
        "One page deleted in The Fox Den"
    );
    assert_eq!(after.entries[0].categories[0].term, "deleted");
    let pages = after.entries[0]
        .links
        .iter()
        .filter(|link| link.rel == "related");
    assert_eq!(pages.count(), 0, "there is nothing to link to");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_data_gives_the_same_bytes_after_a_restart_and_another_public_address() {
    let mut followed = Followed::new(&["created /a 2026-03-01"]).await;
    let path = followed.feed_path();
    let before = followed.answer(&path);
    assert_eq!(followed.answer(&path).body, before.body);
    followed.world.restart().await;
    let after = followed.answer(&path);
    assert_eq!(after.body, before.body);
    assert_eq!(after.header("etag"), before.header("etag"));
    followed.world.public = "http://other.example/at/".to_owned();
    followed.world.restart().await;
    let moved = followed.feed(&path);
    let feed = read(&before);
    assert_eq!(moved.id, feed.id);
    assert_eq!(moved.updated, feed.updated);
    let ids = |feed: &Feed| -> Vec<String> { feed.entries.iter().map(|e| e.id.clone()).collect() };
    assert_eq!(ids(&moved), ids(&feed));
    assert!(
        link(&moved, "self")
            .unwrap()
            .starts_with("http://other.example/at/sites/")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_can_have_an_item_for_each_page_with_ids_of_its_own() {
    let changes = ["created /a 2026-03-01", "updated /b 2026-03-01T08:00:00Z"];
    let followed = Followed::new(&changes).await;
    let by_check = followed.feed(&followed.collection_path());
    let path = format!("{}?entries=pages", followed.collection_path());
    let by_page = followed.feed(&path);
    assert_ne!(by_page.id, by_check.id);
    assert_eq!(by_check.entries.len(), 1);
    assert_eq!(by_page.entries.len(), 2);
    let first = &by_page.entries[1];
    assert_eq!(first.links[0].href, followed.den.url("/a").as_str());
    let all =
        |feed: &Feed| -> BTreeSet<String> { feed.entries.iter().map(|e| e.id.clone()).collect() };
    assert!(all(&by_page).is_disjoint(&all(&by_check)));
    let more = [&changes[..], &["deleted /b 2026-03-09"]].concat();
    followed.change(&more).await;
    let after = followed.feed(&path);
    assert_eq!(after.entries[1..], by_page.entries[..]);
    let gone = &after.entries[0];
    assert!(gone.title.as_str().contains("deleted"));
    assert!(gone.links[0].href.contains("/entries/"), "not to the page");
    followed
        .answer(&format!("{}?entries=words", followed.collection_path()))
        .refusal(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_was_away_for_months_walks_the_archives_and_misses_nothing() {
    let (followed, all) = Followed::for_months().await;
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let live = followed.feed(&followed.collection_path());
    assert_eq!(live.entries.len(), 50);
    let mut ids: BTreeSet<String> = live.entries.iter().map(|entry| entry.id.clone()).collect();
    let mut next = link(&live, "prev-archive").map(path);
    let mut archives = Vec::new();
    while let Some(path) = next {
        let archive = followed.feed(&path);
        assert_eq!(archive.entries.len(), 25);
        assert_eq!(archive.id, live.id);
        assert!(followed.answer(&path).text().contains("<fh:archive"));
        let current = link(&archive, "current").unwrap();
        assert_eq!(self::path(current), followed.collection_path());
        ids.extend(archive.entries.iter().map(|entry| entry.id.clone()));
        next = link(&archive, "prev-archive").map(self::path);
        archives.push((path, followed.answer(&self::path(current)).status));
    }
    assert_eq!(ids.len(), all.len());
    assert_eq!(archives.len(), 5);
    let (oldest, _) = archives.last().unwrap();
    let before = followed.answer(oldest);
    let more = [&all[..], &["created /new 2026-03-09"]].concat();
    followed.change(&more).await;
    assert_eq!(
        followed.answer(oldest).body,
        before.body,
        "an archive never changes"
    );
    let beyond = oldest.replace("/0.atom", "/5.atom");
    followed.answer(&beyond).refusal(404);

    let mut pages = BTreeSet::new();
    let mut next = Some(format!("{}?entries=pages", followed.collection_path()));
    while let Some(path) = next {
        let feed = followed.feed(&path);
        for entry in &feed.entries {
            assert!(pages.insert(entry.id.clone()), "{} comes twice", entry.id);
        }
        next = link(&feed, "next").map(self::path);
    }
    assert_eq!(pages.len(), more.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_pruned_is_gone_and_nothing_leads_there() {
    let (followed, _) = Followed::for_months().await;
    let archive = |number: u32| {
        let feed = followed.collection_path();
        feed.replace("/feed.atom", &format!("/archive/{number}.atom"))
    };
    let oldest = followed.feed(&archive(0));
    let first = path(&oldest.entries[24].links[0].href);
    assert_eq!(followed.answer(&first).status, 200);
    let beyond = first.replace("/entries/", "/entries/9999");
    let keep = Keep {
        changes_per_collection: 60,
        ..Keep::default()
    };
    let date = followed.modified(&followed.feed_path());
    followed.world.pass(TimeDelta::minutes(1));
    assert_eq!(followed.since(&followed.feed_path(), &date).status, 304);
    followed.world.clean(&keep).await;
    assert_eq!(followed.since(&followed.feed_path(), &date).status, 200);
    for feed in [followed.collection_path(), followed.feed_path()] {
        let (mut count, mut next) = (0, Some(feed));
        while let Some(path) = next {
            let document = followed.feed(&path);
            count += document.entries.len();
            next = link(&document, "prev-archive").map(self::path);
        }
        // The live feed and two whole archives, which overlap, and what is left of a third one.
        assert_eq!(count, 50 + 25 + 25 + 5);
    }
    for (status, paths) in [
        (410, [archive(0), archive(1), first]),
        (404, [archive(5), archive(6), beyond]),
    ] {
        for path in paths {
            assert_eq!(followed.answer(&path).status, status, "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_stays_below_half_a_megabyte_whatever_its_site_tells() {
    let followed = Followed::new(&[]).await;
    let long = |chars: usize| "&".repeat(chars);
    let entry = |n: i64| NewEntry {
        is_for_site: true,
        updated_at: followed.world.now() + TimeDelta::seconds(n),
        note: Some(long(300)),
        changes: vec![Change {
            url: followed.den.url(&format!("/{n}?{}", long(1_900))).into(),
            kind: ChangeKind::Updated,
            datetime: Moment::parse("2026-03-01").unwrap(),
            title: Some(long(300)),
            details: Details {
                summary: Some(long(2_000)),
                note: Some(long(2_000)),
                author: Some(long(300)),
                tags: (0..30).map(|tag| format!("{tag}{}", long(290))).collect(),
                ..Details::default()
            },
        }],
    };
    let mut found = record(vec![collection(
        followed.den.url("/").as_str(),
        vec![],
        (0..60).map(entry).collect(),
    )]);
    found.collections[0].title = long(300);
    found.collections[0].about = About {
        authors: (0..20).map(|n| format!("{n}{}", long(290))).collect(),
        description: Some(long(2_000)),
        rights: Some(long(500)),
        ..About::default()
    };
    let store = followed.world.store();
    let check = store.number_check().await.unwrap();
    store.save_check(followed.site, check, found).await.unwrap();
    followed.world.feeds().reworded(followed.site);
    for feed in [followed.feed_path(), followed.collection_path()] {
        for form in ["feed.atom", "feed.json"] {
            for grain in ["", "?entries=pages"] {
                let path = format!("{}{grain}", feed.replace("feed.atom", form));
                let answer = followed.answer(&path);
                let size = answer.text().len();
                assert!(size < 500_000, "{path} has {size} bytes");
                let count = answer.text().matches("too long for a feed").count();
                assert_eq!(count, 50, "{path}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_huge_entry_is_cut_short_in_the_feed_and_whole_on_its_page() {
    let changes: Vec<String> = (0..6_000)
        .map(|n| {
            format!("created /a-rather-long-name-for-a-page-that-has-the-number-{n} 2026-03-01")
        })
        .collect();
    let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
    let followed = Followed::new(&changes).await;
    let feed = followed.feed(&followed.collection_path());
    assert_eq!(feed.entries.len(), 1);
    assert!(feed.entries[0].title.as_str().starts_with("6000 new pages"));
    let content = feed.entries[0].content.as_ref().unwrap();
    assert!(content.value.as_ref().unwrap().contains("more: <a href="));
    let mut next = Some(path(&feed.entries[0].links[0].href));
    let mut seen = 0;
    while let Some(path) = next {
        let page = followed.answer(&path);
        assert_eq!(page.status, 200);
        seen += page.text().matches("class=\"kind").count();
        let more = page
            .text()
            .split("<a href=\"")
            .find(|part| part.contains("rel=\"next\""));
        next = more.map(|part| self::path(part.split('"').next().unwrap()));
    }
    assert_eq!(seen, changes.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_reader_has_already_is_not_sent_again() {
    let followed = Followed::new(&["created /a 2026-03-01"]).await;
    let path = followed.feed_path();
    let ask = |headers: &[(&str, &str)]| {
        let ask = headers.iter().fold(Ask::get(&path), |ask, (name, value)| {
            ask.header(name, value)
        });
        followed.world.ask(ask)
    };
    let whole = ask(&[]);
    let tag = whole.header("etag").unwrap().to_owned();
    let date = whole.header("last-modified").unwrap().to_owned();
    assert!(tag.starts_with('"'), "strong");
    assert_eq!(whole.header("vary"), Some("Accept, Accept-Encoding"));
    assert_eq!(whole.header("set-cookie"), None);
    let cache = whole.header("cache-control").unwrap();
    let age = cache
        .strip_prefix("public, max-age=")
        .unwrap()
        .parse::<u64>()
        .unwrap();
    assert!((86_000..=86_400).contains(&age), "about a day: {age}");

    let weak = format!("W/{tag}");
    let among = format!("\"other\", {weak}");
    for known in [&tag, &weak, &among, "*"] {
        let answer = ask(&[("If-None-Match", known)]);
        assert_eq!(answer.status, 304, "{known}");
        assert!(answer.body.is_empty());
        for name in ["etag", "cache-control", "vary", "last-modified"] {
            assert!(answer.header(name).is_some(), "{name}");
        }
        assert_eq!(answer.header("content-type"), None);
    }
    assert_eq!(ask(&[("If-Modified-Since", &date)]).status, 304);
    assert_eq!(
        ask(&[("If-Modified-Since", "Mon, 01 Jan 2001 00:00:00 GMT")]).status,
        200
    );
    assert_eq!(ask(&[("If-Modified-Since", "soon")]).status, 200);
    let both = [
        ("If-None-Match", "\"other\""),
        ("If-Modified-Since", &*date),
    ];
    assert_eq!(ask(&both).status, 200, "the tag is the better witness");

    let head = followed.world.ask(Ask::new("HEAD", &path));
    assert_eq!(head.status, 200);
    assert!(head.body.is_empty());
    assert_eq!(head.header("etag"), Some(tag.as_str()));
    assert_eq!(
        head.header("content-length"),
        Some(whole.body.len().to_string().as_str())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_that_is_ready_is_answered_without_the_database() {
    let followed = Followed::new(&["created /a 2026-03-01"]).await;
    let path = followed.feed_path();
    let whole = followed.answer(&path);
    let tag = whole.header("etag").unwrap();
    let store = followed.world.store().clone();
    store.close().await.unwrap();
    let again = Ask::get(&path).header("If-None-Match", tag);
    assert_eq!(followed.world.ask(again).status, 304);
    assert_eq!(followed.answer(&path).body, whole.body);
    let other = followed.answer(&format!("{path}?entries=pages"));
    assert!(other.status >= 500, "which nobody asked for before");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_coding_holds_the_same_feed_and_has_a_tag_of_its_own() {
    let followed = Followed::new(&["created /a 2026-03-01"]).await;
    let path = followed.feed_path();
    let plain = followed.answer(&path);
    let mut tags = BTreeSet::from([plain.header("etag").unwrap().to_owned()]);
    for (accepted, coding) in [
        ("gzip", Some("gzip")),
        ("br", Some("br")),
        ("gzip, deflate, br", Some("br")),
        ("br;q=0, gzip", Some("gzip")),
        ("br;Q=0, GZIP", Some("gzip")),
        ("identity", None),
        ("zstd", None),
    ] {
        let answer = followed
            .world
            .ask(Ask::get(&path).header("Accept-Encoding", accepted));
        assert_eq!(answer.header("content-encoding"), coding, "{accepted}");
        let body = match coding {
            Some("gzip") => {
                let mut body = Vec::new();
                let mut gzip = flate2::read::GzDecoder::new(&answer.body[..]);
                std::io::Read::read_to_end(&mut gzip, &mut body).unwrap();
                body
            }
            Some(_) => {
                let mut body = Vec::new();
                brotli::BrotliDecompress(&mut &answer.body[..], &mut body).unwrap();
                body
            }
            None => answer.body.clone(),
        };
        assert_eq!(body, plain.body);
        tags.insert(answer.header("etag").unwrap().to_owned());
    }
    assert_eq!(tags.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_likes_both_codings_gets_the_smaller_one() {
    let nothing = Followed::new(&[]).await;
    let one = Followed::new(&["created /a 2026-03-01"]).await;
    let day = |day: u32| format!("updated /page-{day} 2026-03-{day:02}");
    let days: Vec<String> = (1..=28).map(day).collect();
    let days: Vec<&str> = days.iter().map(String::as_str).collect();
    let many = Followed::new(&days).await;
    for followed in [nothing, one, many] {
        let path = followed.feed_path();
        let bytes = |accepted: &str| {
            let ask = Ask::get(&path).header("Accept-Encoding", accepted);
            followed.world.ask(ask).body.len()
        };
        let (gzip, brotli) = (bytes("gzip"), bytes("br"));
        for both in ["gzip, br", "br, gzip, deflate", "*", "gzip;q=0.5, br;q=0.5"] {
            assert_eq!(bytes(both), gzip.min(brotli), "{both}: {gzip} and {brotli}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_is_told_by_its_own_tag_that_nothing_changed() {
    let followed = Followed::new(&["created /a 2026-03-01"]).await;
    let path = followed.feed_path();
    for accepted in ["identity", "gzip", "br"] {
        let ask = Ask::get(&path).header("Accept-Encoding", accepted);
        let tag = followed.world.ask(ask).header("etag").unwrap().to_owned();
        let again = Ask::get(&path)
            .header("Accept-Encoding", "gzip, br")
            .header("If-None-Match", &format!("\"other\", {tag}"));
        let answer = followed.world.ask(again);
        assert_eq!(answer.status, 304, "{accepted}");
        assert_eq!(answer.header("etag"), Some(&*tag), "{accepted}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_entries_are_there_as_json_feed() {
    let followed = Followed::new(&["created /a 2026-03-01", "deleted /b 2026-03-02"]).await;
    let atom = followed.feed(&followed.feed_path());
    let answer = followed.answer(&followed.feed_path().replace(".atom", ".json"));
    assert_eq!(
        answer.header("content-type"),
        Some("application/feed+json; charset=utf-8")
    );
    let feed = answer.json(200);
    assert_eq!(feed["version"], "https://jsonfeed.org/version/1.1");
    assert_eq!(feed["title"], atom.title.as_str());
    let items = feed["items"].as_array().unwrap();
    for (item, entry) in items.iter().zip(&atom.entries) {
        assert_eq!(item["id"], entry.id.as_str());
        assert_eq!(item["title"], entry.title.as_str());
        assert_eq!(item["url"], entry.links[0].href.as_str());
        let at: DateTime<chrono::FixedOffset> =
            item["date_published"].as_str().unwrap().parse().unwrap();
        assert_eq!(at, entry.updated);
    }
    assert_eq!(items.len(), atom.entries.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_site_writes_cannot_break_a_feed_or_a_page() {
    let den = Den::new();
    let title = "&lt;script&gt;alert(1)&lt;/script&gt; &#x202E;fox \u{5e9}\u{5dc}\u{5d5}\u{5dd}";
    den.about("/about.xml", "/", title);
    let nasty = "{den}/x?a=1&amp;b=&lt;i&gt;[1]&quot;'";
    den.xml(
        LIST,
        &crate::den::urlset(&format!(
            "<rs:ln rel='up' href='{{den}}/capabilitylist.xml'/><rs:md capability='changelist' from='2026-01-01'/>
             <url><loc>{nasty}</loc><rs:md change='updated' datetime='2026-03-01'/></url>"
        )),
    );
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let followed = Followed { den, world, site };
    let feed = followed.feed(&followed.feed_path());
    assert!(!feed.title.as_str().contains('\u{202e}'));
    let content = feed.entries[0]
        .content
        .as_ref()
        .unwrap()
        .value
        .as_ref()
        .unwrap();
    assert!(!content.contains("<script") && !content.contains("<i>"));
    let page = path(followed.site()["page_url"].as_str().unwrap());
    for path in [page, path(&feed.entries[0].links[0].href)] {
        let page = followed.answer(&path);
        assert_eq!(page.status, 200);
        assert!(!page.text().contains("<script>") && !page.text().contains("<i>"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_a_list_of_pages_may_tell() {
    let followed = Followed::new(&[]).await;
    let change = |page: &str, details: Details| Change {
        url: followed.den.url(page).into(),
        kind: ChangeKind::Updated,
        datetime: Moment::parse("2026-03-01").unwrap(),
        title: Some(format!("About {page}")),
        details,
    };
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let entry = NewEntry {
        is_for_site: true,
        updated_at: followed.world.now(),
        note: Some("Much of the site changed at once & <i>so</i>.".into()),
        changes: vec![
            change(
                "/fox",
                Details {
                    summary: Some("All about <b>the fox</b>".into()),
                    author: Some("Vix & Todd".into()),
                    language: Some("en-GB".into()),
                    tags: words(&["foxes & dens", "created", "\u{fffd}", " "]),
                    is_inferred: true,
                    ..Details::default()
                },
            ),
            change(
                "/owl",
                Details {
                    note: Some("Redrew the \"owl\"".into()),
                    summary: Some("\u{5d9}\u{5e0}\u{5e9}\u{5d5}\u{5e3}".into()),
                    tags: words(&["ow\u{fffd}ls", "foxes & dens"]),
                    ..Details::default()
                },
            ),
        ],
    };
    let mut found = record(vec![collection(
        followed.den.url("/").as_str(),
        vec![],
        vec![entry],
    )]);
    found.collections[0].title = "The Fox Den".into();
    found.collections[0].about = About {
        language: Some("de".into()),
        rights: Some("CC BY 4.0".into()),
        ..About::default()
    };
    let store = followed.world.store();
    let check = store.number_check().await.unwrap();
    store.save_check(followed.site, check, found).await.unwrap();
    followed.world.feeds().reworded(followed.site);
    // Among entries of other collections, one says what its own feed says once.
    let mixed = followed.feed(&followed.feed_path());
    let one = &mixed.entries[0];
    let rights = one
        .source
        .as_ref()
        .and_then(|source| source.rights.as_ref());
    assert_eq!(rights.map(|rights| rights.as_str()), Some("CC BY 4.0"));
    let language = |content: &Content| content.lang.clone();
    let of_content = one.content.as_ref().and_then(language);
    assert_eq!(of_content.as_deref(), Some("de"));
    let path = followed.collection_path();
    let feed = followed.feed(&path);
    assert_eq!(feed.lang.as_deref(), Some("de"));
    let entry = &feed.entries[0];
    assert_eq!(entry.content.as_ref().and_then(language), None);
    let terms: Vec<_> = (entry.categories.iter())
        .map(|category| category.term.as_str())
        .collect();
    assert_eq!(terms, ["updated", "foxes & dens", "owls"]);
    let content = entry.content.as_ref().and_then(|content| content.value());
    let content = content.unwrap();
    for part in [
        "<p>Much of the site changed at once",
        "<span lang=\"en-GB\">All about",
        "inferred, not stated",
        "Redrew the",
        "<span>\u{5d9}",
    ] {
        assert!(content.contains(part), "{part} is not in {content}");
    }
    assert!(!content.contains("<b>") && !content.contains("<i>"));
    let json = followed.answer(&path.replace(".atom", ".json")).json(200);
    assert_eq!(json["items"][0]["tags"], serde_json::json!(terms));
    assert_eq!(json["language"], "de");
    assert_eq!(json["items"][0]["language"], Value::Null);
    let mixed = followed.feed_path().replace(".atom", ".json");
    let mixed = followed.answer(&mixed).json(200);
    assert_eq!(mixed["items"][0]["language"], "de");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_an_entry_leads_readers_to_the_feed() {
    let followed = Followed::new(&["created /a 2026-03-01"]).await;
    let feed = followed.feed(&followed.collection_path());
    let page = followed.answer(&path(&feed.entries[0].links[0].href));
    let link = link(&feed, "self").unwrap();
    let found = format!("title=\"The Fox Den: All changes\" href=\"{link}\"");
    assert!(page.text().contains(&found), "{}", page.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_never_was_is_404_what_was_removed_is_410_and_a_missing_slash_is_301() {
    let followed = Followed::new(&["created /a 2026-03-01"]).await;
    let site = followed.site();
    let page = path(site["page_url"].as_str().unwrap());
    let collection = path(site["collections"][0]["page_url"].as_str().unwrap());
    for path in [&page, &collection] {
        let found = followed.answer(path);
        assert_eq!(found.status, 200);
        assert!(
            found.text().contains("application/atom+xml"),
            "autodiscovery"
        );
        let bare = followed.answer(path.trim_end_matches('/'));
        assert_eq!(bare.status, 301);
        assert_eq!(self::path(bare.header("location").unwrap()), *path);
    }
    for path in [
        "/sites/nobody/feed.atom",
        "/sites/nobody/",
        "/sites/nobody",
        "/nowhere",
    ] {
        assert_eq!(followed.answer(path).status, 404, "{path}");
    }
    let none = followed.answer(&format!("{page}nothing/feed.atom"));
    assert_eq!(none.status, 404);
    followed
        .answer(&format!("{page}archive/first.atom"))
        .refusal(404);
    followed
        .answer(&format!("{page}feed.atom?entries=pages&before=now"))
        .refusal(400);
    let feed = followed.feed_path();
    followed.feed(&feed);
    let remove = Ask::new("DELETE", &format!("/api/v1/sites/{}", followed.site));
    let removed = followed.world.ask(remove.token(&followed.world.alice));
    assert_eq!(removed.status, 204);
    for path in [&feed, &page, &collection] {
        assert_eq!(followed.answer(path).status, 410, "{path}");
    }
    let again = followed.world.follow(&followed.den.url("/")).await;
    let again = followed.world.get(&format!("/api/v1/sites/{again}"));
    assert_ne!(
        again["feed_url"], site["feed_url"],
        "an address means one thing for ever"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_with_no_changes_yet_has_a_valid_feed() {
    let followed = Followed::new(&[]).await;
    let feed = followed.feed(&followed.feed_path());
    assert!(feed.entries.is_empty());
    let page = followed.answer(&path(followed.site()["page_url"].as_str().unwrap()));
    assert!(page.text().contains("None yet."));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_has_a_private_feed_over_everything_it_follows() {
    let followed = Followed::new(&["created /a 2026-03-01"]).await;
    let owl = Den::new();
    let owl = followed
        .world
        .follow(&owl.site.url_as("owl.example", "/"))
        .await;
    let bob = |ask: Ask| followed.world.ask(ask.token(&followed.world.bob));
    let made = bob(Ask::new("POST", "/api/v1/feed-key"));
    assert_eq!(made.header("cache-control"), Some("no-store"));
    let address = path(made.json(201)["feed_url"].as_str().unwrap());
    assert!(address.starts_with("/home/feed.atom?key=sbf_"));
    let empty = followed.answer(&address);
    assert!(read(&empty).entries.is_empty());
    let cache = empty.header("cache-control").unwrap();
    assert!(cache.starts_with("private, "), "{cache}");

    for site in [followed.site, owl] {
        let follow = serde_json::json!({"site": site.0});
        bob(Ask::post("/api/v1/subscriptions", &follow)).json(201);
    }
    let feed = followed.feed(&address);
    assert_eq!(feed.title.as_str(), "What bob follows");
    assert_eq!(feed.entries.len(), 3);
    let sources: BTreeSet<_> = (feed.entries.iter())
        .map(|entry| entry.source.as_ref().unwrap().id.clone())
        .collect();
    assert_eq!(sources.len(), 2);
    let tag = followed.answer(&address).header("etag").unwrap().to_owned();
    let again = Ask::get(&address).header("If-None-Match", &tag);
    assert_eq!(followed.world.ask(again).status, 304);

    followed
        .change(&["created /a 2026-03-01", "updated /a 2026-03-09"])
        .await;
    let after = followed.feed(&address);
    assert_eq!(after.entries.len(), 4);
    assert_eq!(after.id, feed.id);
    let pages = followed.feed(&format!("{address}&entries=pages"));
    assert_eq!(pages.entries.len(), 4);
    let json = followed
        .answer(&address.replace(".atom", ".json"))
        .json(200);
    assert_eq!(json["items"].as_array().unwrap().len(), 4);

    // Renewed, the old address is as dead as one that never was.
    let renewed = bob(Ask::new("POST", "/api/v1/feed-key")).json(201);
    let renewed = path(renewed["feed_url"].as_str().unwrap());
    let dead = followed.answer(&address);
    let never = followed.answer("/home/feed.atom?key=sbf_00000000000000000000000000000000");
    assert_eq!(dead.refusal(404), never.refusal(404));
    followed.answer("/home/feed.atom").refusal(404);
    assert_eq!(followed.feed(&renewed).id, feed.id);
    let token = Ask::get("/api/v1/sites").token(renewed.split("key=").nth(1).unwrap());
    followed.world.ask(token).refusal(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_knows_only_times_gets_what_was_told_before_somebody_followed_it() {
    let owl = Den::new();
    let followed = Followed::new(&["created /a 2026-03-01"]).await;
    let owl = followed
        .world
        .follow(&owl.site.url_as("owl.example", "/"))
        .await;
    followed
        .change(&["created /a 2026-03-01", "updated /a 2026-03-09"])
        .await;
    let bob = |ask: Ask| followed.world.ask(ask.token(&followed.world.bob));
    let made = bob(Ask::new("POST", "/api/v1/feed-key")).json(201);
    let address = path(made["feed_url"].as_str().unwrap());
    let follow = |site: SiteId| {
        let follow = serde_json::json!({"site": site.0});
        bob(Ask::post("/api/v1/subscriptions", &follow)).json(201);
    };
    follow(followed.site);
    let date = followed.answer(&address);
    let date = date.header("last-modified").unwrap();
    let since = || {
        let ask = Ask::get(&address).header("If-Modified-Since", date);
        followed.world.ask(ask)
    };
    followed.world.pass(TimeDelta::minutes(1));
    assert_eq!(since().status, 304);
    // All that the other site told is older than that.
    follow(owl);
    assert_eq!(read(&since()).entries.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_knows_only_times_gets_what_came_late_with_old_dates() {
    let den = Den::new();
    den.site.serve(LIST, Reply::status(500));
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let followed = Followed { den, world, site };
    let path = followed.collection_path();
    let date = followed.modified(&path);
    assert_eq!(followed.since(&path, &date).status, 304);
    followed.change(&["created /a 2026-03-01"]).await;
    let late = followed.since(&path, &date);
    assert_eq!(read(&late).entries.len(), 1);
    let date = late.header("last-modified").unwrap();
    followed.world.pass(TimeDelta::days(2));
    followed.world.scheduler().idle().await;
    assert_eq!(followed.since(&path, date).status, 304);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_a_private_feed_never_goes_back() {
    let owl = Den::named("owl.example");
    let followed = Followed::new(&["created /a 2026-03-01"]).await;
    let owl = followed.world.follow(&owl.url("/")).await;
    let bob = |ask: Ask| followed.world.ask(ask.token(&followed.world.bob));
    let made = bob(Ask::new("POST", "/api/v1/feed-key")).json(201);
    let address = path(made["feed_url"].as_str().unwrap());
    let follow = |site: SiteId| {
        let follow = serde_json::json!({"site": site.0});
        let made = bob(Ask::post("/api/v1/subscriptions", &follow)).json(201);
        followed.world.pass(TimeDelta::minutes(1));
        made["id"].clone()
    };
    follow(followed.site);
    let last_one = follow(owl);
    let date = || DateTime::parse_from_rfc2822(&followed.modified(&address)).unwrap();
    let mut last = date();
    // The one that was followed last goes first, then the operator removes the other one.
    for path in [
        format!("/api/v1/subscriptions/{last_one}"),
        format!("/api/v1/sites/{}", followed.site),
    ] {
        let ask = Ask::new("DELETE", &path);
        let answer = match path.contains("/sites/") {
            true => followed.world.ask(ask.token(&followed.world.alice)),
            false => bob(ask),
        };
        assert_eq!(answer.status, 204, "{path}");
        assert!(date() > last, "{path}");
        last = date();
        followed.world.pass(TimeDelta::minutes(1));
        assert_eq!(date(), last);
    }
    assert!(followed.feed(&address).entries.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_feed_is_paged_without_losing_or_repeating_an_entry() {
    let all: Vec<String> = (0..70)
        .map(|n| format!("updated /page-{n} 2026-03-01"))
        .collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let followed = Followed::new(&all[..1]).await;
    for count in (1..=all.len()).step_by(3) {
        followed.change(&all[..count]).await;
    }
    let bob = |ask: Ask| followed.world.ask(ask.token(&followed.world.bob));
    let follow = serde_json::json!({"site": followed.site.0});
    bob(Ask::post("/api/v1/subscriptions", &follow)).json(201);
    let made = bob(Ask::new("POST", "/api/v1/feed-key")).json(201);
    let address = path(made["feed_url"].as_str().unwrap());
    for (query, count) in [("", 24), ("&entries=pages", 70)] {
        let mut ids = BTreeSet::new();
        let mut next = Some(format!("{address}{query}"));
        while let Some(path) = next {
            let feed = followed.feed(&path);
            for entry in &feed.entries {
                assert!(ids.insert(entry.id.clone()), "{} comes twice", entry.id);
            }
            next = link(&feed, "next").map(self::path);
        }
        assert_eq!(ids.len(), count, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_opens_a_feed_in_a_browser_sees_it_with_a_style() {
    let followed = Followed::new(&["created /a 2026-03-01"]).await;
    let path = followed.feed_path();
    let opened = |accept: &str| {
        let answer = followed.world.ask(Ask::get(&path).header("Accept", accept));
        answer.header("content-type").unwrap().to_owned()
    };
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    assert_eq!(opened(browser), "application/xml; charset=utf-8");
    for reader in [
        "*/*",
        "application/atom+xml,application/rss+xml;q=0.9,text/html;q=0.1",
    ] {
        assert_eq!(opened(reader), "application/atom+xml; charset=utf-8");
    }
    let text = followed.answer(&path).text().to_owned();
    let style = text
        .split("href=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let style = followed.answer(&self::path(style));
    assert_eq!(style.status, 200);
    assert_eq!(
        style.header("content-type"),
        Some("text/css; charset=utf-8")
    );
}
