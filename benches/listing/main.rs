//! How fast lists of pages are read and compared with what is known, and in how little memory.
//!
//! Ratios only, as in the benchmark of reading: two ways of going through the same bytes take turns.

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code)] // Only ratios are of use here.
#[path = "../reading/turns.rs"]
mod turns;

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, ExitCode};
use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::events::Event;
use sitebell::change::Page;
use sitebell::memory::{KnownPages, PageKey, Sheet, Sighted, part_of};
use sitebell::problem::Problems;
use sitebell::read::list::{Hosts, MAX_UNPACKED_BYTES, Sink, read};
use sitebell::track::pages::{ListFinding, plan};
use url::Url;

use self::common::memory::peak;
use self::common::table::{Limit, Table};
use self::common::{Arguments, Failure};
use self::turns::ratio;

/// Pages of the longest sitemap that the protocol allows.
pub const MANY: usize = 50_000;
/// How many such sitemaps make a million pages.
const SITEMAPS: usize = 20;
/// The argument that makes this program the child that measures its memory.
const CHILD: &str = "--million";

fn main() -> ExitCode {
    let arguments = Arguments::read();
    common::end(match arguments.value(CHILD) {
        Some(_) => tell_memory().map(|()| true),
        None => compare(),
    })
}

fn compare() -> Result<bool, Failure> {
    let mut table = Table::new("lists of pages");
    let bytes = sitemap(0);
    let known = Arc::new(known_after(&[&bytes])?);
    let mut ours = || diff(&bytes, &known);
    let mut plain = || plain_loop(&bytes);
    table.row(
        "a sitemap of 50000 known pages, against a bare quick-xml loop",
        Limit::AtLeast(0.4),
        || ratio(&mut plain, &mut ours),
    )?;
    let snapshot = zstd::encode_all(&scp()[..], 3)?;
    let mut ours = || Ok(see(&snapshot, &Arc::default())?.len() / 2);
    let mut split = || {
        let lines = BufReader::new(zstd::Decoder::new(&snapshot[..])?).split(b'\n');
        let count = lines
            .filter(|line| line.as_ref().is_ok_and(|line| !line.is_empty()))
            .count();
        Ok((count - 1) / 2)
    };
    table.row(
        "an SCP snapshot of 100000 pages, against decompressing and splitting",
        Limit::AtLeast(0.5),
        || ratio(&mut split, &mut ours),
    )?;
    table.row(
        "MB while a million pages are read and compared",
        Limit::AtMost(300.0),
        || {
            let child = Command::new(std::env::current_exe()?)
                .args([CHILD, "x"])
                .output()?;
            Ok(std::str::from_utf8(&child.stdout)?.trim().parse()?)
        },
    )?;
    Ok(table.all_kept())
}

/// The child: a first reading of a million pages, and a second in which nothing has changed.
fn tell_memory() -> Result<(), Failure> {
    let mut known = Arc::new(KnownPages::default());
    for _ in 0..2 {
        let mut sighted = Sighted::new(known.clone());
        for number in 0..SITEMAPS {
            let sheet = see(&sitemap(number), &known)?;
            sighted.take(sheet, part_of(&number.to_string()), false);
        }
        known = Arc::new(track(sighted, known.is_empty(), &known)?);
    }
    writeln!(std::io::stdout(), "{}", peak()?)?;
    Ok(())
}

fn host() -> Url {
    "https://fox.example/sitemap.xml"
        .parse()
        .expect("an address")
}

/// A sitemap of [`MANY`] pages; another one for each number.
fn sitemap(number: usize) -> Vec<u8> {
    let mut text = String::from(
        "<?xml version=\"1.0\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    for page in 0..MANY {
        let (month, day) = (page % 12 + 1, page % 28 + 1);
        text += &format!(
            "  <url>\n    <loc>https://fox.example/section-{number}/page-{page}.html</loc>\n    <lastmod>2025-{month:02}-{day:02}T10:{:02}:00Z</lastmod>\n  </url>\n",
            page % 60
        );
    }
    (text + "</urlset>\n").into_bytes()
}

/// An SCP snapshot of twice as many.
fn scp() -> Vec<u8> {
    let mut text = String::from(
        "{\"collection\":{\"id\":\"a\",\"section\":\"all\",\"type\":\"snapshot\",\"generated\":\"2026-01-01T00:00:00Z\",\"version\":\"0.1\"}}\n",
    );
    for page in 0..2 * MANY {
        let words: String = (0..120)
            .map(|word| format!("word{} ", (page * 7919 + word * 104_729) % 9973))
            .collect();
        text += &format!(
            "{{\"url\":\"https://fox.example/page-{page}.html\",\"title\":\"Page {page}\",\"description\":\"About page {page}\",\"modified\":\"2025-06-01T10:00:00Z\",\"language\":\"en\",\"content\":[{{\"type\":\"heading\",\"level\":1,\"text\":\"Page {page}\"}},{{\"type\":\"text\",\"text\":\"{words}\"}}]}}\n"
        );
    }
    text.into_bytes()
}

/// Reads a list as a check does.
fn see(mut bytes: &[u8], known: &Arc<KnownPages>) -> Result<Sheet, Failure> {
    let (url, mut problems) = (host(), Problems::default());
    let mut sheet = Sheet::new(known.clone());
    let mut each = |page: &Page| sheet.add(page);
    let mut sink = Sink {
        url: &url,
        max_unpacked_bytes: MAX_UNPACKED_BYTES,
        problems: &mut problems,
        each: &mut each,
    };
    read(&mut bytes, &Hosts::of([&url]), &mut sink).map_err(|problem| problem.message)?;
    Ok(sheet)
}

/// Decides on what was seen, and gives what is known afterwards.
fn track(sighted: Sighted, is_first: bool, known: &KnownPages) -> Result<KnownPages, Failure> {
    let finding = ListFinding {
        sighted,
        is_complete: true,
        made_at: None,
        titles: None,
        besides: None,
        document: host(),
    };
    let now = "2026-03-01T00:00:00Z".parse()?;
    let state = (!is_first).then(Default::default);
    let tracked = plan(state.as_ref(), finding, now).finish(None, &Default::default());
    let added = &tracked.writes.insert;
    let mut pages: Vec<_> = (0..added.len()).map(|place| added.known(place)).collect();
    pages.sort_unstable_by_key(|page| page.key);
    let mut all = match pages.is_empty() {
        true => known.clone(),
        false => KnownPages::default(),
    };
    pages.into_iter().for_each(|page| all.push(page));
    Ok(all)
}

fn known_after(documents: &[&[u8]]) -> Result<KnownPages, Failure> {
    let mut sighted = Sighted::new(Arc::default());
    for document in documents {
        sighted.take(see(document, &Arc::default())?, 1, false);
    }
    track(sighted, true, &KnownPages::default())
}

/// A second reading in which nothing has changed: read, compared, decided.
fn diff(bytes: &[u8], known: &Arc<KnownPages>) -> Result<usize, Failure> {
    let mut sighted = Sighted::new(known.clone());
    sighted.take(see(bytes, known)?, 1, false);
    let count = sighted.len();
    let after = track(sighted, false, known)?;
    match after.len() == known.len() && after.find(PageKey::of("")).is_none() {
        true => Ok(count),
        false => Err("something changed".into()),
    }
}

/// The bare loop: every event, and nothing made of it but a count of the pages.
fn plain_loop(bytes: &[u8]) -> Result<usize, Failure> {
    let mut reader = Reader::from_reader(bytes);
    let mut count = 0;
    loop {
        match reader.read_event()? {
            Event::Start(tag) if tag.name().as_ref() == "url" => count += 1,
            Event::Eof => return Ok(count),
            _ => {}
        }
    }
}
