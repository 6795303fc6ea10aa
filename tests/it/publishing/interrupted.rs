//! A run that is killed: whatever the step, a reader finds what was published before, or what is published now.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::Author;
use crate::den::told;

/// An author with something of every kind to write: two collections, a list to close, another page in each.
fn author() -> Author {
    let mut author = Author::with_nothing();
    author.page("index.html", "Welcome");
    author.collection("fox", "Foxes");
    author.order.sitemap = true;
    author.page("fox/index.html", "Fox");
    author.publish();
    for page in 0..499 {
        author.page(&format!("fox/{page}.html"), "one");
    }
    author.publish();
    for page in 0..20 {
        author.page(&format!("fox/{page}.html"), "two");
    }
    author.page("index.html", "Welcome again");
    author.remove("fox/300.html");
    author
}

/// Lets this many steps pass.
fn killed_after(steps: usize) -> impl FnMut() -> io::Result<()> {
    let mut left = steps;
    move || match left {
        0 => Err(io::Error::other("killed")),
        _ => {
            left -= 1;
            Ok(())
        }
    }
}

/// What is in the folder and waits to take its place.
fn waiting(author: &Author) -> Vec<PathBuf> {
    let files = author.files().into_keys();
    let is_waiting = |path: &PathBuf| path.to_str().unwrap().contains("-new");
    files.filter(is_waiting).collect()
}

#[tokio::test]
async fn whatever_the_step_a_reader_finds_the_old_or_the_new() {
    let mut steps = 0;
    loop {
        let mut author = author();
        let before = told(&author.good_check().await);
        let now = author.now;
        let survived = author.publish_watched(&mut killed_after(steps)).is_ok();
        let after = told(&author.good_check().await);
        author.now = now;
        author.publish_watched(&mut || Ok(())).unwrap();
        let new = told(&author.good_check().await);
        assert_eq!(new.len(), 501 + 22, "step {steps}");
        assert!(
            after == before || after == new,
            "step {steps}: neither old nor new"
        );
        assert_eq!(waiting(&author), Vec::<PathBuf>::new());
        if survived {
            assert_eq!(after, new);
            break;
        }
        steps += 1;
    }
    assert!(steps > 10, "{steps} steps are too few to be all");
}

#[tokio::test]
async fn a_first_run_that_is_killed_leaves_no_site_or_a_whole_one() {
    let mut steps = 0;
    loop {
        let mut author = Author::new();
        author.collection("fox", "Foxes");
        let survived = author.publish_watched(&mut killed_after(steps)).is_ok();
        if author.path(".well-known/resourcesync").exists() {
            assert_eq!(author.log().await.len(), 2);
        } else {
            assert_eq!(author.check().await.collections.len(), 0);
        }
        author.publish();
        assert_eq!(author.log().await, ["created /", "created /fox/den.html"]);
        if survived {
            break;
        }
        steps += 1;
    }
}

#[tokio::test]
async fn a_run_that_is_killed_while_collections_come_and_go_leaves_nothing_to_complain_about() {
    let mut steps = 0;
    loop {
        let mut author = Author::new();
        author.page("owl/index.html", "Owls");
        author.collection("fox", "Foxes");
        author.publish();
        let before = told(&author.good_check().await);
        author.order.site.collections.clear();
        author.collection("owl", "Owls");
        for page in ["index.html", "fox/den.html", "owl/index.html"] {
            author.page(page, "Another");
        }
        let survived = author.publish_watched(&mut killed_after(steps)).is_ok();
        let after = told(&author.good_check().await);
        author.publish();
        let new = told(&author.good_check().await);
        // The lists are of one time, whether they are listed as collections yet or not.
        let is_old = after == before;
        let is_new = after
            .iter()
            .all(|change| new.contains(change) || before.contains(change));
        assert!(is_old || is_new, "step {steps}: {after:?}");
        for page in ["updated /", "updated /fox/den.html", "updated /owl/"] {
            let count = new
                .iter()
                .filter(|change| change.rsplit_once(' ').unwrap().0 == page);
            assert_eq!(count.count(), 1, "step {steps}: {new:?}");
        }
        if survived {
            assert_eq!(after, new);
            break;
        }
        steps += 1;
    }
}

#[test]
fn a_run_that_is_killed_while_it_puts_links_into_pages_leaves_whole_pages_and_the_next_tidies_up() {
    let (mut steps, mut has_left_something) = (0, false);
    loop {
        let mut author = Author::new();
        let pages = ["index.html", "fox/den.html"].map(|page| author.path(page));
        let plain = pages.clone().map(|page| fs::read(page).unwrap());
        author.order.html_links = true;
        let survived = author.publish_watched(&mut killed_after(steps)).is_ok();
        for (page, plain) in pages.iter().zip(&plain) {
            let now = fs::read_to_string(page).unwrap();
            let is_linked = now.contains("rel=\"resourcesync\"") && now.ends_with("</html>");
            assert!(now.as_bytes() == plain || is_linked, "step {steps}: {now}");
        }
        has_left_something |= !waiting(&author).is_empty();
        let before = author.files();
        author.order.dry_run = true;
        author.prepare().unwrap();
        assert!(
            author.files() == before,
            "step {steps}: a dry run writes nothing"
        );
        // Another run may want something else of the pages.
        (author.order.dry_run, author.order.html_links) = (false, false);
        author.publish();
        assert_eq!(waiting(&author), Vec::<PathBuf>::new(), "step {steps}");
        if survived {
            break;
        }
        steps += 1;
    }
    assert!(has_left_something, "{steps} steps");
}

#[test]
fn a_dry_run_between_the_old_and_the_new_says_how_to_go_on() {
    let mut author = Author::new();
    author.publish();
    // As file systems have it that cannot let two folders change places.
    fs::rename(author.path("sitebell"), author.path(".sitebell-old")).unwrap();
    let before = author.files();
    author.order.dry_run = true;
    let refused = author.prepare().unwrap_err().to_string();
    assert!(
        refused.contains("interrupted; publish once without --dry-run"),
        "{refused}"
    );
    assert!(author.files() == before);
    author.order.dry_run = false;
    assert_eq!(author.publish(), Vec::<String>::new());
}
