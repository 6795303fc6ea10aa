//! The author's side: a folder of pages becomes a site that can be followed.

mod histories; // any history of a folder, against what the documents tell
mod interrupted; // a run that is killed at any step
mod odd_folders; // names, links and files that get in the way
mod pages; // what counts as a change of a page
mod peers; // other people's programs
mod pinned; // hashes that stay what they are
mod recipes; // the recipes of docs/recipes, run
mod stories; // publish, follow, edit, publish again

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};
use sitebell::check::{CheckSettings, Checked};
use sitebell::publish::folder::PageRules;
use sitebell::publish::notes::Notes;
use sitebell::publish::order::{Order, Prepared, carry_out, prepare};
use sitebell::publish::{Collection, PublishError, Site};
use sitebell::site::About;
use tempfile::TempDir;

use crate::den::{NOW, fetcher, run, told};
use crate::fake_site::FakeSite;

/// An author with a folder, a host that serves it, and a clock.
pub struct Author {
    folder: TempDir,
    /// Serves the folder for as long as it is here.
    _host: FakeSite,
    pub order: Order,
    pub now: DateTime<Utc>,
}

impl Author {
    /// Two pages, and nothing published yet.
    pub fn new() -> Author {
        let author = Author::with_nothing();
        author.page("index.html", "Welcome to the den");
        author.page("fox/den.html", "Foxes sleep here");
        author
    }

    pub fn with_nothing() -> Author {
        let folder = tempfile::tempdir().unwrap();
        let host = FakeSite::start();
        host.serve_folder(folder.path());
        let order = Order {
            folder: folder.path().to_owned(),
            site: Site {
                url: host.url_as("fox.example", "/"),
                about: about("The Fox Den"),
                collections: Vec::new(),
            },
            rules: PageRules::default(),
            notes: Notes::default(),
            sitemap: false,
            html_links: false,
            allow_empty: false,
            dry_run: false,
        };
        let now: DateTime<Utc> = NOW.parse().unwrap();
        Author {
            folder,
            _host: host,
            order,
            now: now - TimeDelta::days(3),
        }
    }

    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(path)
    }

    pub fn collection(&mut self, folder: &str, title: &str) {
        let collection = Collection::new(folder, about(title));
        self.order.site.collections.push(collection);
    }

    /// Writes a page that says this.
    pub fn page(&self, path: &str, words: &str) {
        let head = "<!doctype html><html><head><title>A page</title></head><body>";
        self.file(path, &format!("{head}<p>{words}</p></body></html>"));
    }

    pub fn file(&self, path: impl AsRef<Path>, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    /// Publishes a minute later, and returns what was told as new: `updated fox/den.html`.
    pub fn publish(&mut self) -> Vec<String> {
        self.try_publish().unwrap()
    }

    pub fn try_publish(&mut self) -> Result<Vec<String>, PublishError> {
        self.now += TimeDelta::minutes(1);
        self.publish_watched(&mut || Ok(()))
    }

    /// What would be done.
    pub fn prepare(&mut self) -> Result<Prepared, PublishError> {
        prepare(&mut self.order, None, self.now, &|_, _| {})
    }

    pub fn publish_watched(
        &mut self,
        watch: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<Vec<String>, PublishError> {
        let prepared = self.prepare()?;
        carry_out(&self.order, &prepared, watch)?;
        let told = prepared.plan.told.iter();
        Ok(told
            .map(|told| format!("{} {}", told.kind, told.page))
            .collect())
    }

    /// What a reader finds.
    pub async fn check(&self) -> Checked {
        let typed = self.order.site.url.to_string();
        let checked = run(fetcher(), &typed, &CheckSettings::default()).await;
        checked.unwrap()
    }

    /// What a reader finds where there is nothing to complain about, not even a note.
    pub async fn good_check(&self) -> Checked {
        let checked = self.check().await;
        let problems: Vec<_> = (checked.problems.iter())
            .map(|problem| {
                format!(
                    "{} in {}: {}",
                    problem.code, problem.document, problem.message
                )
            })
            .collect();
        assert_eq!(problems, Vec::<String>::new());
        assert!(checked.is_complete);
        checked
    }

    /// The changes that a reader finds, without their datetimes.
    pub async fn log(&self) -> Vec<String> {
        without_datetimes(&told(&self.good_check().await))
    }

    /// Everything in the folder, byte by byte, with the time at which it was written.
    pub fn files(&self) -> BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let path = entry.path();
                if entry.file_type().unwrap().is_dir() {
                    folders.push(path);
                } else if let Ok(bytes) = fs::read(&path) {
                    let time = fs::metadata(&path).unwrap().modified().unwrap();
                    files.insert(path, (bytes, time));
                }
            }
        }
        files
    }
}

pub fn about(title: &str) -> About {
    About {
        title: Some(title.to_owned()),
        authors: vec!["Kit".to_owned()],
        ..About::default()
    }
}

pub fn without_datetimes(changes: &[String]) -> Vec<String> {
    let cut = |change: &String| change.rsplit_once(' ').unwrap().0.to_owned();
    changes.iter().map(cut).collect()
}

#[tokio::test]
async fn a_published_folder_leaves_nothing_to_complain_about() {
    let mut author = Author::new();
    author.page("owl/index.html", "Owls");
    author.page("owl/a & b's \"tower\".html", "More owls");
    author.page("art/狐/50% off?.html", "Art");
    author.collection("owl", "Owl Tower");
    author.collection("art/狐", "Foxes & <friends>");
    author.publish();
    let checked = author.good_check().await;
    let titles: Vec<_> = (checked.collections.iter())
        .map(|collection| (collection.id.path(), collection.title.as_str()))
        .collect();
    assert_eq!(
        titles,
        [
            ("/", "The Fox Den"),
            ("/owl/", "Owl Tower"),
            ("/art/%E7%8B%90/", "Foxes & <friends>")
        ]
    );
    assert_eq!(checked.site.title, "The Fox Den");
    assert_eq!(checked.site.about.authors, ["Kit"]);
    assert_eq!(
        without_datetimes(&told(&checked)),
        [
            "created /",
            "created /fox/den.html",
            "created /owl/",
            "created /owl/a%20&%20b's%20%22tower%22.html",
            "created /art/%E7%8B%90/50%25%20off%3F.html",
        ]
    );
}

#[tokio::test]
async fn exactly_what_changed_is_told() {
    let mut author = Author::new();
    author.page("old.html", "Going");
    author.publish();
    author.page("fox/den.html", "Foxes wake up");
    author.page("fox/kits.html", "Kits");
    author.remove("old.html");
    let new = [
        "updated fox/den.html",
        "created fox/kits.html",
        "deleted old.html",
    ];
    assert_eq!(author.publish(), new);
    assert_eq!(
        author.log().await[3..],
        [
            "updated /fox/den.html",
            "created /fox/kits.html",
            "deleted /old.html"
        ]
    );
    author.page("old.html", "Back");
    assert_eq!(author.publish(), ["created old.html"]);
}

#[test]
fn a_second_run_with_nothing_changed_writes_nothing() {
    let mut author = Author::new();
    author.collection("fox", "Foxes");
    (author.order.sitemap, author.order.html_links) = (true, true);
    author.publish();
    let before = author.files();
    assert_eq!(author.publish(), Vec::<String>::new());
    assert!(author.files() == before);
    // The same content with another time is no change either.
    let page = author.path("fox/den.html");
    let text = fs::read(&page).unwrap();
    fs::remove_file(&page).unwrap();
    fs::write(&page, text).unwrap();
    assert_eq!(author.publish(), Vec::<String>::new());
}

#[tokio::test]
async fn a_list_that_grows_is_closed_and_indexed_and_never_written_again() {
    let mut author = Author::new();
    author.publish();
    for round in 0..6 {
        for page in 0..200 {
            author.page(&format!("p/{page}.html"), &format!("round {round}"));
        }
        author.publish();
    }
    let checked = author.good_check().await;
    assert_eq!(told(&checked).len(), 2 + 6 * 200);
    assert_eq!(checked.collections[0].change_lists.len(), 3);
    let closed = author.path("sitebell/changelist-2026-03-07.xml");
    let before = author.files()[&closed].clone();
    for page in 0..200 {
        author.page(&format!("p/{page}.html"), "again");
    }
    author.publish();
    assert!(author.files()[&closed] == before);
    assert_eq!(author.log().await.len(), 2 + 7 * 200);
}

#[tokio::test]
async fn a_large_site_is_told_in_closed_lists_from_the_start() {
    let mut author = Author::with_nothing();
    for page in 0..1_200 {
        author.page(&format!("p{page}.html"), "words");
    }
    author.publish();
    assert_eq!(author.log().await.len(), 1_200);
    author.page("p7.html", "other words");
    author.publish();
    let open = fs::read_to_string(author.path("sitebell/changelist.xml")).unwrap();
    assert_eq!(open.matches("<loc>").count(), 1);
    assert_eq!(author.log().await.len(), 1_201);
}

#[tokio::test]
async fn a_clock_that_was_put_back_leaves_the_log_in_order() {
    let mut author = Author::new();
    author.publish();
    author.now -= TimeDelta::days(2);
    author.page("fox/den.html", "Before its time");
    author.publish();
    assert_eq!(author.log().await[2..], ["updated /fox/den.html"]);
}

#[tokio::test]
async fn a_collection_may_come_later_go_and_come_back() {
    let mut author = Author::new();
    author.publish();
    author.collection("fox", "Foxes");
    assert_eq!(author.publish(), Vec::<String>::new());
    author.page("fox/den.html", "One");
    author.publish();
    let checked = author.good_check().await;
    assert_eq!(checked.collections.len(), 2);
    assert_eq!(checked.collections[1].changes.len(), 1);
    let foxes = author.order.site.collections.pop().unwrap();
    author.page("fox/den.html", "Two");
    author.publish();
    let checked = author.good_check().await;
    assert_eq!(checked.collections.len(), 1);
    assert_eq!(checked.collections[0].changes.len(), 3);
    author.order.site.collections.push(foxes);
    author.page("fox/den.html", "Three");
    author.publish();
    let checked = author.good_check().await;
    assert_eq!(checked.collections[1].changes.len(), 2);
}

#[tokio::test]
async fn a_site_of_nothing_but_collections_has_no_other() {
    let mut author = Author::with_nothing();
    author.page("fox/index.html", "Fox");
    author.collection("fox", "Foxes");
    author.publish();
    let checked = author.good_check().await;
    assert_eq!(crate::den::collections(&checked), ["/fox/"]);
}

#[tokio::test]
async fn a_page_that_moved_is_told_as_gone_and_new_with_a_link_between_the_two() {
    let mut author = Author::new();
    author.page("a.html", "Alpha");
    author.page("b.html", "Beta");
    author.publish();
    author.remove("a.html");
    author.page("alpha/index.html", "Alpha");
    // A signpost in the old place tells where it went, even if the page is another by now.
    author.file(
        "b.html",
        "<head><meta http-equiv=refresh content='0; url=/beta.html'></head>",
    );
    author.page("beta.html", "Beta, extended");
    author.publish();
    let checked = author.good_check().await;
    let changes = &checked.collections[0].changes[4..];
    let url = |path: &str| author.order.site.address(path);
    let moved: Vec<_> = (changes.iter())
        .map(|change| {
            let link = &change.details.links[0];
            (change.url.clone(), link.rel.as_str(), link.href.clone())
        })
        .collect();
    assert_eq!(
        moved,
        [
            (url("a.html"), "successor-version", url("alpha/")),
            (url("alpha/"), "predecessor-version", url("a.html")),
            (url("b.html"), "successor-version", url("beta.html")),
            (url("beta.html"), "predecessor-version", url("b.html")),
        ]
    );
}

#[tokio::test]
async fn the_words_of_the_author_go_with_the_change() {
    let mut author = Author::new();
    author.publish();
    author.order.notes = Notes::general("Redrew the <vixen> & her den");
    author.page("fox/den.html", "Redrawn");
    author.publish();
    author.order.notes = Notes::default();
    author.page("index.html", "Hello");
    author.publish();
    let checked = author.good_check().await;
    let notes: Vec<_> = (checked.collections[0].changes.iter())
        .map(|change| change.details.note.as_deref())
        .collect();
    assert_eq!(
        notes,
        [None, None, Some("Redrew the <vixen> & her den"), None]
    );
}

#[test]
fn a_changelog_is_told_once() {
    let mut author = Author::new();
    author.publish();
    author.order.notes = Notes::from_changelog("## March\n- fox/den.html: redrew the vixen\n");
    author.page("fox/den.html", "One");
    author.publish();
    author.page("fox/den.html", "Two");
    author.publish();
    let list = fs::read_to_string(author.path("sitebell/changelist.xml")).unwrap();
    assert_eq!(list.matches("redrew the vixen").count(), 1);
}

#[test]
fn a_sitemap_lists_the_pages_with_the_time_of_their_last_change() {
    let mut author = Author::new();
    author.order.sitemap = true;
    author.publish();
    let first = author.now.format("%FT%TZ").to_string();
    author.page("fox/den.html", "Later");
    author.publish();
    let second = author.now.format("%FT%TZ").to_string();
    let sitemap = fs::read_to_string(author.path("sitemap.xml")).unwrap();
    let url = &author.order.site.url;
    for (page, time) in [("", first), ("fox/den.html", second)] {
        let entry = format!("<loc>{url}{page}</loc>\n    <lastmod>{time}</lastmod>");
        assert!(sitemap.contains(&entry), "{sitemap}");
    }
    author.file("sitemap.xml", "<urlset/>");
    let refused = author.try_publish().unwrap_err().to_string();
    assert!(
        refused.contains("sitemap.xml exists and was not written by"),
        "{refused}"
    );
}

#[tokio::test]
async fn pages_lead_to_their_collection_where_the_author_asks_for_it() {
    let mut author = Author::new();
    author.collection("fox", "Foxes");
    author.order.html_links = true;
    author.publish();
    let page = fs::read_to_string(author.path("fox/den.html")).unwrap();
    let list = author.order.site.address("sitebell/fox/capabilitylist.xml");
    let link = format!("<link rel=\"resourcesync\" href=\"{list}\" data-sitebell=\"\"/>\n</head>");
    assert!(page.contains(&link), "{page}");
    // Without a well-known address, a page leads to everything.
    author.remove(".well-known/resourcesync");
    author.file("sitebell/description.xml", "");
    let typed = author.order.site.address("fox/den.html");
    let checked = crate::den::check_typed(&typed).await.unwrap();
    assert_eq!(crate::den::collections(&checked), ["/fox/"]);
}
