//! How close saving comes to bare inserts, how much room changes take, and how fast they are found again.
//!
//! `cargo bench --bench storing`. Every figure that matters is a ratio taken side by side on the same disk, or has a
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

const ROUNDS: usize = 5;
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
        for (batch, transactions) in [(20, 500), (1000, 100)] {
            saving(&mut table, batch, transactions).await;
        }
        room(&mut table).await;
        finding(&mut table).await;
        due(&mut table).await;
    });
    table.end();
}

/// Rows a second of `save_check` against a prepared statement and nothing else.
async fn saving(table: &mut Table, batch: usize, transactions: usize) {
    let mut ratios = Vec::new();
    let mut best = (0.0_f64, 0.0_f64);
    for _ in 0..ROUNDS {
        let bare = bare_rows_per_second(batch, transactions).await;
        let ours = saved_rows_per_second(batch, transactions).await;
        ratios.push(ours / bare);
        best = (best.0.max(bare), best.1.max(ours));
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "{batch} a transaction: bare {:.0} rows/s, save_check {:.0} rows/s",
        best.0, best.1
    );
    let what = format!("save_check against bare inserts, {batch} a transaction");
    table.at_least(&what, ratios[ROUNDS / 2], 0.70, "");
}

async fn bare_rows_per_second(batch: usize, transactions: usize) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let (store, site) = open(folder.path()).await;
    save(&store, site, record("", changes(0, 20))).await;
    store.close().await.unwrap();
    let db = Connection::open(folder.path().join(FILE)).unwrap();
    db.execute_batch(
        "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA cache_size = -2048;",
    )
    .unwrap();
    let pages: Vec<Change> = changes(0, batch * transactions);
    let begun = Instant::now();
    let mut n = 1000_i64;
    for pages in pages.chunks(batch) {
        db.execute_batch("BEGIN IMMEDIATE").unwrap();
        let sql = "INSERT INTO changes (collection, n, at, shape, url, title, details)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let mut insert = db.prepare_cached(sql).unwrap();
        for page in pages {
            let url = &page.url[SITE.len()..];
            let at = page.datetime.start().timestamp();
            (insert.execute((1, n, at, 37, url, &page.title, None::<String>))).unwrap();
            n += 1;
        }
        db.execute_batch("COMMIT").unwrap();
    }
    per_second(batch * transactions, begun.elapsed())
}

async fn saved_rows_per_second(batch: usize, transactions: usize) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let (store, site) = open(folder.path()).await;
    save(&store, site, record("", changes(0, 20))).await;
    let pages = changes(0, batch * transactions);
    let records: Vec<_> = pages
        .chunks(batch)
        .map(|pages| record("", pages.to_vec()))
        .collect();
    let mut spent = Duration::ZERO;
    for record in records {
        let check = store.begin_check(site, now()).await.unwrap();
        let begun = Instant::now();
        store.save_check(site, check, record).await.unwrap();
        spent += begun.elapsed();
    }
    per_second(batch * transactions, spent)
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
         INSERT INTO sites (url, slug, feed_id, status, interval_secs, next_check_at)
         SELECT 'https://host-' || n || '.example/', 'host-' || n, 'tag:host-' || n, 'ok', 86400, n * 7919 % 100000
         FROM numbers";
    db.execute(fill, []).unwrap();
    drop(db);
    let mut times = Vec::new();
    for _ in 0..200 {
        let begun = Instant::now();
        let due = store.due(now(), 500).await.unwrap();
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
    let (site, _) = store.add_site(&SITE.parse().unwrap(), now()).await.unwrap();
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

fn per_second(rows: usize, time: Duration) -> f64 {
    rows as f64 / time.as_secs_f64()
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
