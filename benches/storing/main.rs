//! How close saving comes to bare inserts, how much room changes take, and how fast they are found again.
//!
//! `cargo bench --bench storing [-- saving|room|finding|due]`. Every figure that matters is a ratio taken side by side on the same disk, or has a
//! limit far from what the machine's mood can reach; a row that misses its limit ends the program with status 1.
#![allow(clippy::unwrap_used)] // A bench that cannot go on should say where.

use std::path::Path;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::Connection;
use sitebell::change::{Change, ChangeKind, Details};
use sitebell::memory::{CheckRecord, CollectionRecord, NewEntry, Outcome};
use sitebell::moment::Moment;
use sitebell::site::{About, SiteId, SiteStatus};
use sitebell::store::Store;

const FILE: &str = "sitebell.sqlite3";
const SITE: &str = "https://shrine.example/";

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let mut table = Table::default();
    runtime.block_on(async {
        if is_asked_for("saving") {
            saving(&mut table, 20, 2000).await;
            saving(&mut table, 1000, 200).await;
        }
        if is_asked_for("room") {
            room(&mut table).await;
        }
        if is_asked_for("finding") {
            finding(&mut table).await;
        }
        if is_asked_for("due") {
            due(&mut table).await;
        }
    });
    table.end();
}

/// Everything, unless some of it was named.
fn is_asked_for(part: &str) -> bool {
    let mut named = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .peekable();
    named.peek().is_none() || named.any(|name| name == part)
}

/// `save_check` against a prepared statement and nothing else: the same rows into the same table, as durable.
///
/// The two take turns, transaction by transaction, so that whatever else the disk has to do meets both alike.
async fn saving(table: &mut Table, batch: usize, transactions: usize) {
    let (bare, ours) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, site) = open(bare.path()).await;
    save(&store, site, record("", changes(0, 20))).await;
    store.close().await.unwrap();
    let db = Connection::open(bare.path().join(FILE)).unwrap();
    db.execute_batch(
        "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA cache_size = -2048;
         PRAGMA journal_size_limit = 8388608;",
    )
    .unwrap();
    let mut n = 1000;
    insert(&db, &changes(0, WARM_UP), &mut n);
    let (store, site) = open(ours.path()).await;
    save(&store, site, record("", changes(0, WARM_UP))).await;

    let pages = changes(WARM_UP, batch * transactions);
    let mut turns = Vec::new();
    for pages in pages.chunks(batch) {
        // Before the clock runs, so that beginning a check takes over no work of saving one.
        let check = store.begin_check(site, now()).await.unwrap();
        turns.push((check, record("", pages.to_vec()), pages));
    }
    let (mut bare_times, mut our_times) = (Vec::new(), Vec::new());
    for (check, record, pages) in turns {
        let begun = Instant::now();
        insert(&db, pages, &mut n);
        bare_times.push(begun.elapsed());
        let begun = Instant::now();
        store.save_check(site, check, record).await.unwrap();
        our_times.push(begun.elapsed());
    }
    let totals: [f64; 2] =
        [&bare_times, &our_times].map(|times| times.iter().sum::<Duration>().as_secs_f64());
    let medians = [&mut bare_times, &mut our_times].map(|times| {
        times.sort();
        times[transactions / 2]
    });
    let rows = (batch * transactions) as f64;
    println!(
        "{batch} a transaction: bare {:.0} rows/s (median {:?}), save_check {:.0} rows/s (median {:?})",
        rows / totals[0],
        medians[0],
        rows / totals[1],
        medians[1],
    );
    let what = format!("save_check against bare inserts, {batch} a transaction");
    table.at_least(&what, totals[0] / totals[1], 0.70, "");
    let what = format!("the same, median transaction, {batch} a transaction");
    let ratio = medians[0].as_secs_f64() / medians[1].as_secs_f64();
    table.at_least(&what, ratio, 0.70, "");
}

/// As many changes fill a write-ahead log to the size that it keeps. Until then every transaction makes the file longer,
/// which costs far more than writing over it, and whoever writes least would pay that longest.
const WARM_UP: usize = 100_000;

fn insert(db: &Connection, pages: &[Change], n: &mut i64) {
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    let sql = "INSERT INTO changes (collection, n, at, shape, url, title, details)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let mut insert = db.prepare_cached(sql).unwrap();
    for page in pages {
        let url = &page.url[SITE.len()..];
        let at = page.datetime.start().timestamp();
        let row = (1, *n, at, 37, url, &page.title, None::<String>);
        insert.execute(row).unwrap();
        *n += 1;
    }
    db.execute_batch("COMMIT").unwrap();
}

/// How much the file grows with each change: checks, entries and free space included.
async fn room(table: &mut Table) {
    for batch in [20, 1000] {
        let folder = tempfile::tempdir().unwrap();
        let (store, site) = open(folder.path()).await;
        store.checkpoint().await.unwrap();
        let before = std::fs::metadata(folder.path().join(FILE)).unwrap().len();
        let pages = changes(0, 40_000);
        let address_bytes = pages.iter().map(|page| page.url.len()).sum::<usize>() / pages.len();
        // Two collections that grow by turns.
        for (number, pages) in pages.chunks(batch).enumerate() {
            let path = ["", "other/"][number % 2];
            save(&store, site, record(path, pages.to_vec())).await;
        }
        store.checkpoint().await.unwrap();
        let after = std::fs::metadata(folder.path().join(FILE)).unwrap().len();
        let what = format!("a change with {address_bytes} bytes of address, {batch} a transaction");
        table.at_most(
            &what,
            (after - before) as f64 / pages.len() as f64,
            120.0,
            "bytes",
        );
    }
}

async fn finding(table: &mut Table) {
    const COLLECTIONS: usize = 20;
    let folder = tempfile::tempdir().unwrap();
    let (store, site) = open(folder.path()).await;
    for round in 0..10 {
        for number in 0..COLLECTIONS {
            let path = format!("part-{number}/");
            save(&store, site, record(&path, changes(round * 5000, 5000))).await;
        }
    }
    let row = store.site(site).await.unwrap().unwrap();
    assert_eq!(row.collections.len(), COLLECTIONS);
    let mut times = Vec::new();
    for _ in 0..5000 {
        let begun = Instant::now();
        store.is_well().await.unwrap();
        times.push(begun.elapsed());
    }
    times.sort();
    println!(
        "the smallest question: median {:?}, p99 {:?}",
        times[2500], times[4950]
    );
    let mut times = Vec::new();
    for number in 0..5000 {
        let collection = row.collections[number * 7 % COLLECTIONS].id;
        let begun = Instant::now();
        let found = store.newest_changes(collection, 50).await.unwrap();
        times.push(begun.elapsed());
        assert_eq!(found.len(), 50);
    }
    times.sort();
    println!(
        "newest 50 of 1,000,000: median {:?}",
        times[times.len() / 2]
    );
    let p99 = times[times.len() * 99 / 100].as_secs_f64() * 1e6;
    table.at_most("the newest 50 of 1,000,000 changes, p99", p99, 100.0, "µs");
    let begun = Instant::now();
    let memory = store.memory(site).await.unwrap().unwrap();
    let known: usize = memory
        .collections
        .iter()
        .map(|collection| collection.known.len())
        .sum();
    println!(
        "everything known of 1,000,000 changes ({known} different): {:?}",
        begun.elapsed()
    );
}

async fn due(table: &mut Table) {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = open(folder.path()).await;
    let db = Connection::open(folder.path().join(FILE)).unwrap();
    let fill = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
         INSERT INTO sites (url, scheme_given, slug, feed_id, host, status, interval_secs, next_check_at, added_at)
         SELECT 'https://host-' || n || '.example/', 1, 'host-' || n, 'tag:host-' || n,
           'host-' || n || '.example:443', 'ok', 86400, n * 7919 % 100000, 0
         FROM numbers";
    db.execute(fill, []).unwrap();
    drop(db);
    let mut times = Vec::new();
    for _ in 0..200 {
        let begun = Instant::now();
        let due = store.due(now(), 500, &[]).await.unwrap();
        times.push(begun.elapsed());
        assert_eq!(due.len(), 500);
    }
    times.sort();
    let p99 = times[times.len() * 99 / 100].as_secs_f64() * 1e3;
    table.at_most("500 due sites of 100,000, p99", p99, 5.0, "ms");
}

fn now() -> DateTime<Utc> {
    "2026-05-04T03:02:01Z".parse().unwrap()
}

async fn open(folder: &Path) -> (Store, SiteId) {
    let store = Store::open(folder).await.unwrap();
    let (site, _) = store
        .add_site(&SITE.parse::<url::Url>().unwrap(), now())
        .await
        .unwrap();
    (store, site)
}

async fn save(store: &Store, site: SiteId, record: CheckRecord) {
    let check = store.begin_check(site, now()).await.unwrap();
    store.save_check(site, check, record).await.unwrap();
}

fn changes(first: usize, count: usize) -> Vec<Change> {
    let begin = now() - TimeDelta::days(300);
    let page = |n: usize| Change {
        url: format!(
            "{SITE}section-{:02}/a-page-about-something-{:06}.html",
            n % 17,
            n % 999_983
        ),
        kind: ChangeKind::Updated,
        datetime: Moment::from_utc(begin + TimeDelta::seconds(n as i64 * 61)),
        title: None,
        details: Details::default(),
    };
    (first..first + count).map(page).collect()
}

fn record(path: &str, changes: Vec<Change>) -> CheckRecord {
    let last_processed = changes.last().map(|change| change.datetime);
    CheckRecord {
        finished_at: now(),
        outcome: Outcome::Changed,
        summary: "There was something new.".into(),
        requests: 3,
        bytes: 4096,
        problems: vec![],
        site: None,
        status: SiteStatus::Ok,
        interval_secs: 86_400,
        failures: 0,
        next_check_at: now() + TimeDelta::days(1),
        quiet_until: None,
        collections: vec![CollectionRecord {
            id: None,
            identity: format!("{SITE}{path}").parse().unwrap(),
            capability_list: None,
            title: "A collection".into(),
            about: About::default(),
            described_by: None,
            is_own: true,
            last_processed,
            covered_until: Some(now()),
            lists: vec![],
            silent: vec![],
            entries: vec![NewEntry {
                updated_at: now(),
                changes,
            }],
        }],
        documents: vec![],
    }
}

/// What was measured against what is allowed.
#[derive(Default)]
struct Table {
    rows: Vec<String>,
    has_failed: bool,
}

impl Table {
    fn at_least(&mut self, what: &str, value: f64, limit: f64, unit: &str) {
        self.row(what, value, ">=", limit, unit, value >= limit);
    }

    fn at_most(&mut self, what: &str, value: f64, limit: f64, unit: &str) {
        self.row(what, value, "<=", limit, unit, value <= limit);
    }

    fn row(&mut self, what: &str, value: f64, sign: &str, limit: f64, unit: &str, is_good: bool) {
        let verdict = if is_good { "ok" } else { "MISSED" };
        self.has_failed |= !is_good;
        self.rows.push(format!(
            "{what:<62} {value:>8.2} {unit:<5} {sign} {limit:<6} {verdict}"
        ));
    }

    fn end(self) {
        println!("\n{}", self.rows.join("\n"));
        if self.has_failed {
            std::process::exit(1);
        }
    }
}
