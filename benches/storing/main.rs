//! How close saving comes to bare inserts, how much room changes take, and how fast they are found again.
//!
//! Speed is judged side by side with bare inserts into the same table on the same disk, transaction by transaction. The
//! other limits are absolute, and far from what the mood of the machine can reach.

#[path = "../common/mod.rs"]
mod common;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::Connection;
use sitebell::change::{Change, ChangeKind, Details};
use sitebell::memory::{CheckRecord, CollectionRecord, NewEntry, Outcome, RoundRecord};
use sitebell::moment::Moment;
use sitebell::site::{About, SiteId, SiteStatus};
use sitebell::store::Store;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use self::common::table::{Limit, Table};
use self::common::{Arguments, Failure, median, memory};

const FILE: &str = "sitebell.sqlite3";
const SITE: &str = "https://shrine.example/";
/// The argument that makes this program ask what is due for the sake of its memory.
const MEMORY: &str = "--memory-of";

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return common::end(Err(error.into())),
    };
    common::end(match Arguments::read().value(MEMORY) {
        Some(folder) => runtime
            .block_on(tell_memory(Path::new(folder)))
            .map(|()| true),
        None => compare(&runtime),
    })
}

fn compare(runtime: &Runtime) -> Result<bool, Failure> {
    let mut table = Table::new("storing");
    table.row(
        "control: bare inserts against themselves, 20 a transaction",
        Limit::Between(0.9, 1.1),
        || runtime.block_on(control()),
    )?;
    for (batch, transactions) in [(20, 1000), (1000, 100)] {
        table.row(
            &format!("rows a second, against bare inserts, {batch} a transaction"),
            Limit::AtLeast(0.7),
            || runtime.block_on(saving(batch, transactions)),
        )?;
    }
    for batch in [20, 1000] {
        table.row(
            &format!("bytes on disk for a change, 60 its address, {batch} at a time"),
            Limit::AtMost(120.0),
            || runtime.block_on(room(batch)),
        )?;
    }
    let many = runtime.block_on(Many::new())?;
    table.row(
        "the newest 50 of 1,000,000 changes, p99, microseconds",
        Limit::AtMost(100.0),
        || runtime.block_on(many.newest()),
    )?;
    drop(many);
    let followed = runtime.block_on(followed())?;
    table.row(
        "choosing 500 due ones of 100,000 sites, p99, ms",
        Limit::AtMost(5.0),
        || runtime.block_on(due(followed.path())),
    )?;
    table.row(
        "resident memory with 100,000 sites, MB",
        Limit::AtMost(100.0),
        || {
            let child = Command::new(std::env::current_exe()?)
                .arg(MEMORY)
                .arg(followed.path())
                .output()?;
            Ok(String::from_utf8(child.stdout)?.trim().parse()?)
        },
    )?;
    Ok(table.all_kept())
}

/// A folder on the disk: /tmp is memory on some machines.
fn folder() -> Result<TempDir, Failure> {
    Ok(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?)
}

/// A database with our schema, used without us.
struct Bare {
    db: Connection,
    n: i64,
    _folder: TempDir,
}

impl Bare {
    async fn new() -> Result<Bare, Failure> {
        let folder = folder()?;
        let (store, site) = open(folder.path()).await?;
        save(&store, site, record("", changes(0, 20))?).await?;
        store.close().await?;
        let db = Connection::open(folder.path().join(FILE))?;
        db.execute_batch(
            "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA cache_size = -2048;
             PRAGMA journal_size_limit = 8388608;",
        )?;
        let mut bare = Bare {
            db,
            n: 1000,
            _folder: folder,
        };
        bare.insert(&changes(0, WARM_UP))?;
        Ok(bare)
    }

    fn insert(&mut self, pages: &[Change]) -> Result<Duration, Failure> {
        let begun = Instant::now();
        self.db.execute_batch("BEGIN IMMEDIATE")?;
        let sql = "INSERT INTO changes (collection, n, at, shape, url, title, details)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let mut insert = self.db.prepare_cached(sql)?;
        for page in pages {
            let url = &page.url[SITE.len()..];
            let at = page.datetime.start().timestamp();
            let row = (1, self.n, at, 37, url, &page.title, None::<String>);
            insert.execute(row)?;
            self.n += 1;
        }
        drop(insert);
        self.db.execute_batch("COMMIT")?;
        Ok(begun.elapsed())
    }
}

async fn control() -> Result<f64, Failure> {
    let (mut one, mut other) = (Bare::new().await?, Bare::new().await?);
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    for pages in changes(WARM_UP, 20 * 1000).chunks(20) {
        ones.push(one.insert(pages)?.as_secs_f64());
        others.push(other.insert(pages)?.as_secs_f64());
    }
    Ok(median(ones) / median(others))
}

/// `save_check` against a prepared statement and nothing else: the same rows into the same table, as durable.
///
/// The two take turns, transaction by transaction, so that whatever else the disk has to do meets both alike, and the
/// medians are compared, so that a hiccup of the disk in one of them does not count.
async fn saving(batch: usize, transactions: usize) -> Result<f64, Failure> {
    let mut bare = Bare::new().await?;
    let ours = folder()?;
    let (store, site) = open(ours.path()).await?;
    save(&store, site, record("", changes(0, WARM_UP))?).await?;
    let pages = changes(WARM_UP, batch * transactions);
    let (mut bare_times, mut our_times) = (Vec::new(), Vec::new());
    for pages in pages.chunks(batch) {
        let record = record("", pages.to_vec())?;
        // Before the clock runs: a bare loop has no checks.
        let check = store.number_check().await?;
        store.begin_check(site, check, now()).await?;
        bare_times.push(bare.insert(pages)?.as_secs_f64());
        let begun = Instant::now();
        store.save_check(site, check, record).await?;
        our_times.push(begun.elapsed().as_secs_f64());
    }
    store.close().await?;
    let (bare, ours) = (median(bare_times), median(our_times));
    let rate = |seconds: f64| batch as f64 / seconds;
    eprintln!("  {:.0} rows/s bare, {:.0} with us", rate(bare), rate(ours));
    Ok(bare / ours)
}

/// As many changes fill a write-ahead log to the size that it keeps. Until then every transaction makes the file longer,
/// which costs far more than writing over it, and whoever writes least would pay that longest.
const WARM_UP: usize = 100_000;

/// How much the file grows with each change: checks, entries and free space included.
async fn room(batch: usize) -> Result<f64, Failure> {
    let folder = folder()?;
    let (store, site) = open(folder.path()).await?;
    let size = || std::fs::metadata(folder.path().join(FILE)).map(|file| file.len());
    store.checkpoint().await?;
    let before = size()?;
    let pages = changes(0, 40_000);
    let address_bytes = pages.iter().map(|page| page.url.len()).sum::<usize>() / pages.len();
    if address_bytes != 60 {
        return Err(format!("addresses have {address_bytes} bytes").into());
    }
    // Two collections that grow by turns.
    for (number, pages) in pages.chunks(batch).enumerate() {
        let path = ["", "other/"][number % 2];
        save(&store, site, record(path, pages.to_vec())?).await?;
    }
    store.checkpoint().await?;
    Ok((size()? - before) as f64 / pages.len() as f64)
}

/// Twenty collections with a million changes.
struct Many {
    store: Store,
    collections: Vec<sitebell::site::CollectionId>,
    _folder: TempDir,
}

impl Many {
    async fn new() -> Result<Many, Failure> {
        const COLLECTIONS: usize = 20;
        let folder = folder()?;
        let (store, site) = open(folder.path()).await?;
        for round in 0..10 {
            for number in 0..COLLECTIONS {
                let path = format!("part-{number}/");
                save(&store, site, record(&path, changes(round * 5000, 5000))?).await?;
            }
        }
        let row = store.site(site).await?.ok_or("the site is not there")?;
        Ok(Many {
            store,
            collections: row.collections.iter().map(|row| row.id).collect(),
            _folder: folder,
        })
    }

    /// The middle one of several, so that a moment in which the machine had other things to do does not count.
    async fn newest(&self) -> Result<f64, Failure> {
        let mut p99s = Vec::new();
        for _ in 0..11 {
            let mut times = Vec::new();
            for number in 0..500 {
                let collection = self.collections[number * 7 % self.collections.len()];
                let begun = Instant::now();
                let found = self.store.newest_changes(collection, 50).await?;
                times.push(begun.elapsed().as_secs_f64() * 1e6);
                if found.len() != 50 {
                    return Err("there should be 50 changes".into());
                }
            }
            p99s.push(p99(times));
        }
        Ok(median(p99s))
    }
}

/// A database with a hundred thousand sites, of which the first thousands are due.
async fn followed() -> Result<TempDir, Failure> {
    let folder = folder()?;
    let (store, _) = open(folder.path()).await?;
    store.close().await?;
    let db = Connection::open(folder.path().join(FILE))?;
    let fill = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
         INSERT INTO sites (url, scheme_given, slug, feed_id, host, status, interval_secs, next_check_at, added_at)
         SELECT 'https://host-' || n || '.example/', 1, 'host-' || n, 'tag:host-' || n,
           'host-' || n || '.example:443', 'ok', 86400, n * 7919 % 100000, 0
         FROM numbers";
    db.execute(fill, [])?;
    Ok(folder)
}

async fn due(folder: &Path) -> Result<f64, Failure> {
    let store = Store::open(folder).await?;
    // As many as a scheduler has under way.
    let busy: Vec<_> = (0..64).map(|n| format!("host-{n}.example:443")).collect();
    let mut times = Vec::new();
    for _ in 0..200 {
        let begun = Instant::now();
        let due = store.due(now(), 500, &busy).await?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        if due.sites.len() != 500 {
            return Err("500 sites should be due".into());
        }
    }
    store.close().await?;
    Ok(p99(times))
}

fn p99(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() * 99 / 100]
}

/// The child: asks what is due, and tells how much memory it has then.
async fn tell_memory(folder: &Path) -> Result<(), Failure> {
    due(folder).await?;
    println!("{}", memory::resident()?);
    Ok(())
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_777_863_721, 0).unwrap_or_default()
}

async fn open(folder: &Path) -> Result<(Store, SiteId), Failure> {
    let store = Store::open(folder).await?;
    let (site, _) = store.add_site(&SITE.parse()?, now()).await?;
    Ok((store, site))
}

async fn save(store: &Store, site: SiteId, record: CheckRecord) -> Result<(), Failure> {
    let check = store.number_check().await?;
    store.begin_check(site, check, now()).await?;
    store.save_check(site, check, record).await?;
    Ok(())
}

fn changes(first: usize, count: usize) -> Vec<Change> {
    let begin = now() - TimeDelta::days(300);
    let page = |n: usize| Change {
        url: format!(
            "{SITE}section-{:02}/a-page-about-x-{:06}.html",
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

fn record(path: &str, changes: Vec<Change>) -> Result<CheckRecord, Failure> {
    let last_processed = changes.last().map(|change| change.datetime);
    Ok(CheckRecord {
        started_at: now(),
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
        quiet_hosts: Vec::new(),
        collections: vec![CollectionRecord {
            pages: None,
            id: None,
            identity: format!("{SITE}{path}").parse()?,
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
                is_for_site: true,
                note: None,
                updated_at: now(),
                changes,
            }],
        }],
        covered: vec![],
        documents: vec![],
        out_of_use: vec![],
        round: RoundRecord::None,
    })
}
