//! How close publishing a folder comes to a loop that reads and hashes its files and does nothing else, and what memory
//! it takes to publish a million tiny files.
//!
//! Both go over the same ten thousand pages on the same disk, taking turns, so that whatever else the machine has to do
//! meets both alike; the middle of several rounds counts. The million comes last, because the memory that counts is the
//! most that this process ever had.

#[path = "../common/mod.rs"]
mod common;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};
use sha2::{Digest, Sha256};
use sitebell::publish::Site;
use sitebell::publish::folder::PageRules;
use sitebell::publish::notes::Notes;
use sitebell::publish::order::{Order, carry_out, prepare};
use sitebell::site::About;

use self::common::table::{Limit, Table};
use self::common::{Failure, median, memory};

const PAGES: usize = 10_000;
const ROUNDS: usize = 7;
const TINY_FILES: usize = 1_000_000;

fn main() -> ExitCode {
    common::end(compare())
}

fn compare() -> Result<bool, Failure> {
    let mut table = Table::new("publishing 10,000 pages, speed against a bare loop of hashing");
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    write_pages(folder.path(), 0)?;
    table.row(
        "control: the bare loop against itself",
        Limit::Between(0.8, 1.25),
        || {
            let times = turns(|| bare(folder.path()), || bare(folder.path()))?;
            Ok(times.0 / times.1)
        },
    )?;
    table.row("everything is new", Limit::AtLeast(0.5), || {
        let times = turns(
            || bare(folder.path()),
            || {
                clear(folder.path())?;
                publish(folder.path(), 0, PAGES)
            },
        )?;
        Ok(times.0 / times.1)
    })?;
    clear(folder.path())?;
    publish(folder.path(), 0, PAGES)?;
    table.row("nothing is new", Limit::AtLeast(0.5), || {
        let times = turns(|| bare(folder.path()), || publish(folder.path(), 0, PAGES))?;
        Ok(times.0 / times.1)
    })?;
    let mut round = 0;
    table.row("everything was edited", Limit::AtLeast(0.5), || {
        let times = turns(
            || bare(folder.path()),
            || {
                round += 1;
                write_pages(folder.path(), round)?;
                publish(folder.path(), round, PAGES)
            },
        )?;
        Ok(times.0 / times.1)
    })?;
    drop(folder);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    write_tiny_files(folder.path())?;
    // Every address is held, with its hashes, as it was and as it is, until the documents that tell of it are written.
    table.row(
        "memory for a million tiny files, kB for each",
        Limit::AtMost(1.5),
        || {
            publish(folder.path(), 0, TINY_FILES)?;
            Ok(memory::peak()? * 1024.0 / TINY_FILES as f64)
        },
    )?;
    Ok(table.all_kept())
}

/// The medians of two ways, in seconds, that take turns.
fn turns(
    mut one: impl FnMut() -> Result<f64, Failure>,
    mut other: impl FnMut() -> Result<f64, Failure>,
) -> Result<(f64, f64), Failure> {
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ones.push(one()?);
        others.push(other()?);
    }
    let (one, other) = (median(ones), median(others));
    let rate = |seconds: f64| PAGES as f64 / seconds;
    eprintln!(
        "  {:.0} pages/s bare, {:.0} with us",
        rate(one),
        rate(other)
    );
    Ok((one, other))
}

fn bare(folder: &Path) -> Result<f64, Failure> {
    let begun = Instant::now();
    let mut seen = 0;
    for part in 0..PAGES / 100 {
        for entry in fs::read_dir(folder.join(format!("part-{part}")))? {
            let digest = Sha256::digest(fs::read(entry?.path())?);
            seen += usize::from(digest[0] != 0 || digest[1] != 0);
        }
    }
    match seen {
        0 => Err("nothing was hashed".into()),
        _ => Ok(begun.elapsed().as_secs_f64()),
    }
}

fn publish(folder: &Path, round: i64, pages: usize) -> Result<f64, Failure> {
    let begun = Instant::now();
    let mut order = Order {
        folder: folder.to_owned(),
        site: Site {
            url: "https://shrine.example/".parse()?,
            about: About::default(),
            collections: Vec::new(),
        },
        rules: PageRules::default(),
        notes: Notes::default(),
        sitemap: false,
        html_links: false,
        allow_empty: false,
        dry_run: false,
    };
    let now: DateTime<Utc> = "2026-03-10T12:00:00Z".parse()?;
    let now = now + TimeDelta::minutes(round);
    let prepared = prepare(&mut order, None, now, &|_, _| {})?;
    carry_out(&order, &prepared, &mut || Ok(()))?;
    let seconds = begun.elapsed().as_secs_f64();
    match prepared.found.pages.len() {
        found if found == pages => Ok(seconds),
        found => Err(format!("{found} pages were found").into()),
    }
}

fn clear(folder: &Path) -> Result<(), Failure> {
    for own in ["sitebell", ".well-known"] {
        let own = folder.join(own);
        if own.exists() {
            fs::remove_dir_all(own)?;
        }
    }
    Ok(())
}

/// Pages as generators write them: a head, a menu, eight kilobytes of text with links, a footer.
fn write_pages(folder: &Path, round: i64) -> Result<(), Failure> {
    for page in 0..PAGES {
        let place = folder.join(format!("part-{}", page / 100));
        if page % 100 == 0 {
            fs::create_dir_all(&place)?;
        }
        let mut text = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Page {page}</title>\
             <link rel=\"stylesheet\" href=\"/style.css\"></head>\n<body><nav><a href=\"/\">Home</a></nav><main>\n\
             <h1>Page {page}, version {round}</h1>\n"
        );
        for line in 0..60 {
            text += &format!(
                "<p class=\"line\">The <a href=\"/fox/{line}.html\">fox</a> number {line} sleeps in its <em>den</em> \
                 &amp; dreams of winter berries.</p>\n"
            );
        }
        text += "</main><footer>Made by hand</footer></body></html>\n";
        fs::write(place.join(format!("page-{page}.html")), text)?;
    }
    Ok(())
}

/// Pages of a few bytes in a thousand folders. Those of a folder share one file on the disk, which makes no difference to
/// whoever reads them.
fn write_tiny_files(folder: &Path) -> Result<(), Failure> {
    const IN_A_FOLDER: usize = 1_000;
    for part in 0..TINY_FILES / IN_A_FOLDER {
        let place = folder.join(part.to_string());
        fs::create_dir(&place)?;
        let first = place.join("0.html");
        fs::write(&first, format!("<p>{part}"))?;
        for page in 1..IN_A_FOLDER {
            fs::hard_link(&first, place.join(format!("{page}.html")))?;
        }
    }
    Ok(())
}
