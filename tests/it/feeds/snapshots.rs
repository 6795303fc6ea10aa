//! Whole feeds against the files in `snapshots`.
//!
//! With SITEBELL_WRITE_EXPECTATIONS=1 they are written anew; then the difference is there to be read before it is kept.
//! What is another in every run (the name of the database, the port of the site) is called the same in all of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::*;
use crate::den::urlset;

impl Followed {
    /// Follows a site whose description and list have this in them.
    pub(super) async fn rich(about: &str, list: &str) -> Followed {
        let den = Den::new();
        den.xml(
            "/about.xml",
            &format!(
                "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:dcterms='http://purl.org/dc/terms/'>
                <rdf:Description rdf:about='{{den}}/'>{about}</rdf:Description></rdf:RDF>"
            ),
        );
        den.xml(
            LIST,
            &urlset(&format!(
                "<rs:ln rel='up' href='{{den}}/capabilitylist.xml'/><rs:md capability='changelist' from='2026-01-01'/>{list}"
            )),
        );
        let world = World::new().await;
        let site = world.follow(&den.url("/")).await;
        Followed { den, world, site }
    }

    /// Compares a document with the file of that name.
    async fn matches(&self, path: &str, name: &str) {
        let answer = self.answer(path);
        assert_eq!(answer.status, 200, "{}", answer.text());
        self.same(answer.text(), name).await;
    }

    async fn same(&self, text: &str, name: &str) {
        let instance = self.world.store().instance().await;
        let port = self.den.url("/").port().unwrap();
        let version = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
        let text = text
            .replace(&instance, "0123456789abcdef")
            .replace(&format!(":{port}"), "")
            .replace(&format!("-{port}"), "")
            .replace(&version, "version=\"0\"");
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/it/feeds/snapshots")
            .join(name);
        if std::env::var_os("SITEBELL_WRITE_EXPECTATIONS").is_some() {
            fs::write(&file, &text).unwrap();
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        let mut lines = text.lines().zip(expected.lines()).enumerate();
        let first = lines.find(|(_, (line, expected))| line != expected);
        assert!(
            text == expected,
            "{name} is another; the first line that differs: {first:?}"
        );
    }
}

fn change(kind: &str, page: &str, more: &str) -> String {
    format!("<url><loc>{{den}}{page}</loc><rs:md change='{kind}' {more}/></url>")
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_yet() {
    let followed = Followed::new(&[]).await;
    followed
        .matches(&followed.feed_path(), "nothing-site.atom")
        .await;
    followed
        .matches(&followed.collection_path(), "nothing.atom")
        .await;
    let json = followed.collection_path().replace(".atom", ".json");
    followed.matches(&json, "nothing.json").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_change() {
    let followed = Followed::new(&["created /a 2026-03-01"]).await;
    let path = followed.collection_path();
    followed.matches(&path, "one-change.atom").await;
    followed
        .matches(&path.replace(".atom", ".json"), "one-change.json")
        .await;
    followed
        .matches(&format!("{path}?entries=pages"), "one-change-by-page.atom")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_changes_of_all_kinds_with_all_that_a_source_may_tell() {
    let about = "<dcterms:title>The Fox Den</dcterms:title><dcterms:creator>Vix &amp; Todd</dcterms:creator>
        <dcterms:creator>Reynard</dcterms:creator><dcterms:description>All about foxes.</dcterms:description>
        <dcterms:rights>CC BY 4.0</dcterms:rights><dcterms:language>en-GB</dcterms:language>";
    let changes = [
        change(
            "created",
            "/new",
            "datetime='2026-03-01' length='999' type='text/html'",
        ),
        change(
            "updated",
            "/old",
            "datetime='2026-03-01T08:30Z' length='18300'",
        ),
        change("deleted", "/gone", "datetime='2026-03-01T09:00:00.5+01:00'"),
        change("created", "/brief", "datetime='2026-03-02T10:00:00Z'"),
        change("deleted", "/brief", "datetime='2026-03-02T11:00:00Z'"),
        change(
            "updated",
            "/old",
            "datetime='2026-03-02T12:00:00Z' type='application/pdf' length='2500000'",
        ),
        change("updated", "/old", "datetime='2026-03-02T13:00:00Z'"),
        change(
            "created",
            "/later?a=[1]&amp;b=2",
            "datetime='2026-03-03T00:00:00-05:00'",
        ),
    ];
    let followed = Followed::rich(about, &changes.concat()).await;
    let path = followed.collection_path();
    followed.matches(&path, "all-kinds.atom").await;
    followed
        .matches(&format!("{path}?entries=pages"), "all-kinds-by-page.atom")
        .await;
    followed
        .matches(&path.replace(".atom", ".json"), "all-kinds.json")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_deleted_pages() {
    let followed = Followed::new(&["deleted /a 2026-03-01", "deleted /b 2026-03-01"]).await;
    let path = followed.collection_path();
    followed.matches(&path, "deleted.atom").await;
    followed
        .matches(&format!("{path}?entries=pages"), "deleted-by-page.atom")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_collections_and_somebody_who_follows_them() {
    let den = Den::new();
    den.description(&[("/capabilitylist.xml", "/"), ("/owls.xml", "/owls/")]);
    den.capability_list("/owls.xml", "/owls/", &["/owls/changelist.xml"]);
    let owls = [
        "created /owls/barn 2026-03-01",
        "updated /owls/tawny 2026-03-03",
    ];
    den.change_list_of(
        "/owls.xml",
        "/owls/changelist.xml",
        "from='2026-01-01'",
        &owls,
    );
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let followed = Followed { den, world, site };
    followed
        .matches(&followed.feed_path(), "collections.atom")
        .await;
    followed
        .matches(
            &format!("{}?entries=pages", followed.feed_path()),
            "collections-by-page.atom",
        )
        .await;
    let bob = |ask: Ask| followed.world.ask(ask.token(&followed.world.bob));
    let follow = serde_json::json!({"site": followed.site.0});
    bob(Ask::post("/api/v1/subscriptions", &follow)).json(201);
    let made = bob(Ask::new("POST", "/api/v1/feed-key")).json(201);
    let address = path(made["feed_url"].as_str().unwrap());
    let key = address.split("key=").nth(1).unwrap();
    let answer = followed.answer(&address);
    followed
        .same(&answer.text().replace(key, "sbf_0"), "private.atom")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_words() {
    let about = "<dcterms:title>&lt;script&gt;alert(1)&lt;/script&gt; &amp;amp; \u{85}\u{fffd}]]&gt;</dcterms:title>
        <dcterms:creator>&lt;b&gt;Mallory&lt;/b&gt; &lt;m@evil.example&gt;</dcterms:creator>
        <dcterms:description>&lt;img src=x onerror=alert(1)&gt;</dcterms:description>
        <dcterms:rights>&lt;/rights&gt;&lt;/feed&gt;</dcterms:rights><dcterms:language>\"&gt;</dcterms:language>";
    let changes = [
        change("created", "/plain", "datetime='2026-03-01'"),
        change(
            "updated",
            "/&lt;script&gt;alert(1)&lt;/script&gt;",
            "datetime='2026-03-01'",
        ),
        change(
            "updated",
            "/x?a={1}|^`[2]%zz#b#c",
            "datetime='2026-03-01' type='text/html&quot;&lt;i&gt;'",
        ),
        change(
            "updated",
            "/&quot;onmouseover=&quot;alert(1)",
            "datetime='2026-03-01'",
        ),
    ];
    let followed = Followed::rich(about, &changes.concat()).await;
    let path = followed.collection_path();
    followed.matches(&path, "hostile.atom").await;
    followed
        .matches(&format!("{path}?entries=pages"), "hostile-by-page.atom")
        .await;
    followed
        .matches(&path.replace(".atom", ".json"), "hostile.json")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_from_right_to_left() {
    let about = "<dcterms:title>\u{5de}\u{5d0}\u{5d5}\u{5e8}\u{5ea} \u{5d4}\u{5e9}\u{5d5}\u{5e2}\u{5dc}</dcterms:title>
        <dcterms:creator>\u{62b}\u{639}\u{644}\u{628}</dcterms:creator><dcterms:language>he</dcterms:language>";
    let changes = [
        change(
            "created",
            "/%D7%A9%D7%95%D7%A2%D7%9C",
            "datetime='2026-03-01'",
        ),
        change(
            "updated",
            "/\u{62b}\u{639}\u{644}\u{628}",
            "datetime='2026-03-01'",
        ),
    ];
    let followed = Followed::rich(about, &changes.concat()).await;
    followed
        .matches(&followed.collection_path(), "right-to-left.atom")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_entries_come_once_each_over_all_archives() {
    const ENTRIES: usize = 10_000;
    let followed = Followed::new(&[]).await;
    let (store, now) = (followed.world.store(), followed.world.now());
    let entry = |number: usize| NewEntry {
        is_for_site: true,
        updated_at: now,
        note: None,
        changes: vec![Change {
            url: followed.den.url(&format!("/{number}")).into(),
            kind: ChangeKind::Created,
            datetime: Moment::parse("2026-03-01").unwrap(),
            title: None,
            details: Details::default(),
        }],
    };
    let entries = (0..ENTRIES).map(entry).collect();
    let mut found = record(vec![collection(
        followed.den.url("/").as_str(),
        vec![],
        entries,
    )]);
    found.collections[0].title = "The Fox Den".into();
    let check = store.number_check().await.unwrap();
    store.save_check(followed.site, check, found).await.unwrap();
    followed
        .world
        .feeds()
        .changed(sitebell::web::feeds::Source::Site(followed.site));

    let (mut ids, mut walked) = (BTreeSet::new(), String::new());
    let mut next = Some(followed.collection_path());
    while let Some(path) = next {
        let feed = followed.feed(&path);
        let (newest, oldest) = (feed.entries.first().unwrap(), feed.entries.last().unwrap());
        let number =
            |entry: &atom_syndication::Entry| entry.id.rsplit('-').next().unwrap().to_owned();
        let (count, newest, oldest) = (feed.entries.len(), number(newest), number(oldest));
        walked += &format!("{path} {count} {newest} {oldest}\n");
        let is_archive = path.contains("/archive/");
        for entry in &feed.entries {
            let is_new = ids.insert(entry.id.clone());
            // Only the newest archive may tell again what the feed itself has.
            assert!(
                is_new || is_archive && ids.len() <= 50,
                "{} comes twice",
                entry.id
            );
        }
        next = link(&feed, "prev-archive").map(self::path);
    }
    assert_eq!(ids.len(), ENTRIES);
    followed.same(&walked, "ten-thousand.txt").await;
    let bytes = followed.world.feeds().bytes();
    assert!(
        bytes <= crate::world::FEED_MEMORY,
        "{bytes} bytes in memory"
    );
}
