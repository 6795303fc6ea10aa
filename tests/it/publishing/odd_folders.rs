//! Folders with things in them that get in the way.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::Author;
use crate::den::fetcher;
use sitebell::fetch::{Limit, Request};
use sitebell::site::About;

fn refusal(author: &mut Author) -> String {
    let before = author.files();
    let refused = author.try_publish().unwrap_err().to_string();
    assert!(author.files() == before, "nothing is touched: {refused}");
    refused
}

#[tokio::test]
async fn names_of_every_kind_are_told_and_found() {
    let mut author = Author::with_nothing();
    let names: [&[u8]; 10] = [
        b"a b.html",
        b"100%.html",
        b"%2e%2e.html",
        b"what?.html",
        b"#1.html",
        b"back\\slash.html",
        b"new\nline.html",
        b"<b>&amp;.html",
        "\u{72d0}\u{202e}.html".as_bytes(),
        b"\xff\xfe.html",
    ];
    for name in names {
        author.page("x.html", "words");
        fs::rename(
            author.path("x.html"),
            author.path(Path::new(OsStr::from_bytes(name))),
        )
        .unwrap();
    }
    author.page("Case.html", "upper");
    author.page("case.html", "lower");
    author.publish();
    let checked = author.good_check().await;
    let changes = &checked.collections[0].changes;
    assert_eq!(changes.len(), 12);
    for change in changes {
        let url: url::Url = change.url.parse().unwrap();
        let answer = fetcher().get(Request::new(url.clone(), Limit::Other)).await;
        let body = answer.unwrap().answer.into_body().unwrap();
        let (page, _) = body.bytes().await.unwrap();
        assert!(page.ends_with(b"</html>"), "{url} leads to the page");
    }
    assert_eq!(author.publish(), Vec::<String>::new());
}

#[test]
fn what_a_link_leads_to_outside_of_the_folder_is_not_published() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.html"), "secret").unwrap();
    let mut author = Author::new();
    symlink(outside.path().join("secret.html"), author.path("leak.html")).unwrap();
    symlink(outside.path(), author.path("leaks")).unwrap();
    symlink(".", author.path("fox/round")).unwrap();
    symlink("nowhere", author.path("gone.html")).unwrap();
    symlink("fox/den.html", author.path("inside.html")).unwrap();
    let told = author.publish();
    assert_eq!(
        told,
        ["created ", "created fox/den.html", "created inside.html"]
    );
}

#[test]
fn a_front_page_outside_of_the_folder_says_nothing_about_the_site() {
    let outside = tempfile::tempdir().unwrap();
    let secret = "<title>Secret</title>";
    fs::write(outside.path().join("index.html"), secret).unwrap();
    let mut author = Author::new();
    author.remove("index.html");
    symlink(outside.path().join("index.html"), author.path("index.html")).unwrap();
    author.order.site.about = About::default();
    assert_eq!(author.publish(), ["created fox/den.html"]);
    let about = fs::read_to_string(author.path("sitebell/about.xml")).unwrap_or_default();
    assert!(!about.contains("Secret"), "{about}");
}

#[test]
fn links_in_the_places_of_our_own_are_refused() {
    for place in ["sitebell", ".well-known"] {
        let outside = tempfile::tempdir().unwrap();
        let mut author = Author::new();
        symlink(outside.path(), author.path(place)).unwrap();
        let refused = refusal(&mut author);
        assert!(
            refused.contains(place) && refused.contains("is a link"),
            "{refused}"
        );
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}

#[test]
fn what_somebody_else_has_written_is_not_replaced() {
    let mut author = Author::new();
    author.file("sitebell/index.html", "a page about bells");
    assert!(refusal(&mut author).contains("give it another one"));
    let mut author = Author::new();
    author.file(".well-known/resourcesync", "<urlset/>");
    assert!(refusal(&mut author).contains("move it away first"));
}

#[test]
fn other_files_beside_ours_stay() {
    let mut author = Author::new();
    author.file(".well-known/security.txt", "Contact: kit");
    author.publish();
    author.file("sitebell/notes.txt", "mine");
    author.page("index.html", "Another");
    author.publish();
    let read = |path: &str| fs::read_to_string(author.path(path)).unwrap();
    assert_eq!(read("sitebell/notes.txt"), "mine");
    assert_eq!(read(".well-known/security.txt"), "Contact: kit");
}

#[test]
fn an_empty_folder_is_refused_and_never_taken_for_a_site_without_pages() {
    let mut author = Author::with_nothing();
    assert!(refusal(&mut author).contains("has no pages; name the folder"));
    let mut author = Author::new();
    author.publish();
    author.remove("index.html");
    author.remove("fox/den.html");
    assert!(refusal(&mut author).contains("--allow-empty"));
    author.order.allow_empty = true;
    assert_eq!(author.publish(), ["deleted ", "deleted fox/den.html"]);
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let mut author = Author::new();
    author.order.folder = author.path("nowhere");
    let refused = author.try_publish().unwrap_err().to_string();
    assert!(refused.contains("nowhere is not a folder"), "{refused}");
    let mut author = Author::new();
    author.collection("fx", "Fox");
    assert!(refusal(&mut author).contains("there is no folder fx"));
}

#[test]
fn what_cannot_be_read_is_not_gone() {
    for place in ["fox/den.html", "fox"] {
        let mut author = Author::new();
        author.publish();
        fs::set_permissions(author.path(place), fs::Permissions::from_mode(0o000)).unwrap();
        let before = fs::read(author.path("sitebell/manifest.json")).unwrap();
        let refused = as_nobody_special(&author);
        let sentence = format!("{place} cannot be read; make it readable");
        assert!(refused.contains(&sentence), "{refused}");
        fs::set_permissions(author.path(place), fs::Permissions::from_mode(0o755)).unwrap();
        let after = fs::read(author.path("sitebell/manifest.json")).unwrap();
        assert!(after == before);
        assert_eq!(author.publish(), Vec::<String>::new());
    }
}

/// What the program says to somebody who may not read everything, as the superuser may who perhaps runs the tests.
fn as_nobody_special(author: &Author) -> String {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("sitebell");
    fs::copy(env!("CARGO_BIN_EXE_sitebell"), &program).unwrap();
    let mut command = Command::new(&program);
    command.arg("publish").arg(author.path(""));
    command.arg("--url").arg(author.order.site.url.as_str());
    if fs::metadata(author.path("")).unwrap().uid() == 0 {
        let everybody = fs::Permissions::from_mode(0o777);
        fs::set_permissions(place.path(), everybody.clone()).unwrap();
        fs::set_permissions(author.path(""), everybody).unwrap();
        command.uid(65_534).gid(65_534);
    }
    let output = command.current_dir("/").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}

#[tokio::test]
async fn collections_that_differ_only_in_case_are_two() {
    let mut author = Author::new();
    for folder in ["Fox", "fox"] {
        author.page(&format!("{folder}/index.html"), folder);
        author.collection(folder, folder);
    }
    author.publish();
    assert_eq!(author.good_check().await.collections.len(), 3);
    author.page("Fox/index.html", "Another");
    assert_eq!(author.publish(), ["updated Fox/"]);
    let checked = author.good_check().await;
    let counts = checked.collections.iter().map(|one| one.changes.len());
    assert_eq!(counts.collect::<Vec<_>>(), [1, 2, 2]);
}

#[test]
fn another_address_is_refused_until_the_author_begins_anew() {
    let mut author = Author::new();
    author.publish();
    author.order.site.url = "https://new.example/".parse().unwrap();
    assert!(refusal(&mut author).contains("to publish it at https://new.example/"));
}

#[test]
fn a_manifest_that_leads_elsewhere_or_makes_no_sense_is_refused() {
    let mut author = Author::new();
    author.publish();
    let manifest = fs::read_to_string(author.path("sitebell/manifest.json")).unwrap();
    let bad = [
        manifest.replace("\"fox/den.html\"", "\"../../etc/passwd\""),
        manifest.replace(
            "\"collections\": {\n    \"\"",
            "\"collections\": {\n    \"../x\"",
        ),
        manifest[..manifest.len() / 2].to_owned(),
        manifest.replace("\"sitebell\": 1", "\"sitebell\": 2"),
        String::new(),
    ];
    for text in bad {
        assert_ne!(text, manifest);
        author.file("sitebell/manifest.json", &text);
        let refused = refusal(&mut author);
        assert!(
            refused.contains("manifest.json cannot be used"),
            "{refused}"
        );
    }
    author.file("sitebell/manifest.json", &manifest);
    assert_eq!(author.publish(), Vec::<String>::new());
}

#[test]
fn two_runs_at_once_do_not_mix() {
    let mut author = Author::new();
    author.publish();
    let lock = fs::File::open(author.path("")).unwrap();
    lock.lock().unwrap();
    let refused = author.try_publish().unwrap_err().to_string();
    assert!(refused.contains("is being published already"), "{refused}");
}
