//! A run that is killed: whatever the step, a reader finds what was published before, or what is published now.

use std::io;

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

#[tokio::test]
async fn whatever_the_step_a_reader_finds_the_old_or_the_new() {
    let mut steps = 0;
    loop {
        let mut author = author();
        let before = told(&author.good_check().await);
        let now = author.now;
        let mut left = steps;
        let mut kill = || match left {
            0 => Err(io::Error::other("killed")),
            _ => {
                left -= 1;
                Ok(())
            }
        };
        let survived = author.publish_watched(&mut kill).is_ok();
        let after = told(&author.good_check().await);
        author.now = now;
        author.publish_watched(&mut || Ok(())).unwrap();
        let new = told(&author.good_check().await);
        assert_eq!(new.len(), 501 + 22, "step {steps}");
        assert!(
            after == before || after == new,
            "step {steps}: neither old nor new"
        );
        let left = author.files().into_keys();
        let left: Vec<_> = left
            .filter(|path| path.to_str().unwrap().contains("-new"))
            .collect();
        assert_eq!(left, Vec::<std::path::PathBuf>::new());
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
        let mut left = steps;
        let mut kill = || match left {
            0 => Err(io::Error::other("killed")),
            _ => {
                left -= 1;
                Ok(())
            }
        };
        let survived = author.publish_watched(&mut kill).is_ok();
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
        let mut left = steps;
        let mut kill = || match left {
            0 => Err(io::Error::other("killed")),
            _ => {
                left -= 1;
                Ok(())
            }
        };
        let survived = author.publish_watched(&mut kill).is_ok();
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
