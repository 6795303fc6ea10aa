//! Sources that say what no feed may say. That the feeds are valid all the same was seen when they were asked for.

use super::*;
use crate::den::urlset;

#[tokio::test(flavor = "multi_thread")]
async fn a_language_that_is_none_is_not_told() {
    let about = "<dcterms:language>Portuguese</dcterms:language>";
    let list = "<url><loc>{den}/a</loc><rs:md change='created' datetime='2026-03-01'/></url>";
    let followed = Followed::rich(about, list).await;
    let path = followed.collection_path();
    assert_eq!(followed.feed(&path).lang, None);
    // Nor is one that was kept when it was still taken for a language.
    let mut found = record(vec![collection(
        followed.den.url("/").as_str(),
        vec![],
        vec![NewEntry {
            is_for_site: true,
            updated_at: followed.world.now(),
            note: None,
            changes: vec![Change {
                url: followed.den.url("/b").into(),
                kind: ChangeKind::Updated,
                datetime: Moment::parse("2026-03-02").unwrap(),
                title: None,
                details: Details {
                    summary: Some("Sobre raposas".into()),
                    language: Some("Portuguese".into()),
                    ..Details::default()
                },
            }],
        }],
    )]);
    found.collections[0].about.language = Some("English".into());
    let store = followed.world.store();
    let check = store.number_check().await.unwrap();
    store.save_check(followed.site, check, found).await.unwrap();
    followed.world.feeds().reworded(followed.site);
    let feed = followed.feed(&path);
    assert_eq!((feed.lang, feed.entries.len()), (None, 2));
    let mixed = followed.answer(&followed.feed_path());
    assert!(mixed.text().contains("Sobre raposas"));
    assert!(!mixed.text().contains("lang="), "{}", mixed.text());
    let json = path.replace(".atom", ".json");
    assert_eq!(followed.answer(&json).json(200)["language"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn dates_before_there_were_websites_make_a_plausible_feed() {
    let changes = [
        "created /zip 1980-01-01",
        "updated /clock 1970-01-01T00:00:00Z",
        "updated /a 2026-03-01",
    ];
    let followed = Followed::new(&changes).await;
    let path = followed.collection_path();
    let feed = followed.feed(&path);
    assert_eq!(feed.entries.len(), 2);
    let content = feed.entries[1].content.as_ref().unwrap().value().unwrap();
    for told in ["1 January 1980", "1 January 1970"] {
        assert!(content.contains(told), "{content}");
    }
    assert_eq!(
        followed
            .feed(&format!("{path}?entries=pages"))
            .entries
            .len(),
        3
    );

    let den = Den::empty();
    let pages = "<url><loc>{den}/zip</loc><lastmod>1980-01-01</lastmod></url>";
    den.xml("/sitemap.xml", &urlset(pages));
    let world = World::new().await;
    let site = world.follow(&den.url("/")).await;
    let followed = Followed { den, world, site };
    assert_eq!(followed.feed(&followed.feed_path()).entries.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_of_which_nothing_can_be_read_is_no_title() {
    let about = "<dcterms:title>\u{fffd}\u{fffd}</dcterms:title>";
    let followed = Followed::rich(about, "").await;
    let feed = followed.feed(&followed.collection_path());
    assert!(
        feed.title.as_str().contains("fox.example"),
        "{:?}",
        feed.title
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_are_tags_whatever_the_names_of_hosts_are() {
    let den = Den::named("my_den.example");
    let mut world = World::new().await;
    world.public = "http://[::1]:8080/".to_owned();
    world.restart().await;
    let site = world.follow(&den.url("/")).await;
    let followed = Followed { den, world, site };
    let feed = followed.feed(&followed.feed_path());
    let ids = feed.entries.iter().map(|entry| &entry.id);
    for id in ids.chain([&feed.id]) {
        assert!(id.starts_with("tag:my-den.example,"), "{id}");
    }
    let made = Ask::new("POST", "/api/v1/feed-key").token(&followed.world.bob);
    let made = followed.world.ask(made).json(201);
    let own = followed.feed(&path(made["feed_url"].as_str().unwrap()));
    let host = "tag:00000000000000000000000000000001.ip6,";
    assert!(own.id.starts_with(host), "{}", own.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_item_of_a_page_says_what_the_page_is_if_that_is_known() {
    let change = |page: &str, more: &str| {
        format!("<url><loc>{{den}}{page}</loc><rs:md datetime='2026-03-01' {more}/></url>")
    };
    let changes = [
        change("/drawing", "change='created' type='image/png'"),
        change("/gone", "change='deleted' type='image/png'"),
        change("/page", "change='created' type='text/html; charset=utf-8'"),
        change("/unknown", "change='created'"),
    ];
    let followed = Followed::rich("", &changes.concat()).await;
    let path = followed.collection_path();
    let feed = followed.feed(&format!("{path}?entries=pages"));
    let mut types: Vec<_> = (feed.entries.iter())
        .map(|entry| {
            let page = entry.title.as_str().split(' ').next().unwrap();
            let link = &entry.links[0];
            (page.rsplit('/').next().unwrap(), link.mime_type.as_deref())
        })
        .collect();
    types.sort();
    assert_eq!(
        types,
        [
            ("drawing", Some("image/png")),
            ("gone", Some("text/html")),
            ("page", Some("text/html")),
            ("unknown", None),
        ]
    );
}
