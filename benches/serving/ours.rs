//! `sitebell serve` on a database full of sites.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use chrono::{TimeDelta, Utc};
use sitebell::change::{Change, ChangeKind, Details};
use sitebell::memory::{CheckRecord, CollectionRecord, NewEntry, Outcome, SiteRecord};
use sitebell::moment::Moment;
use sitebell::site::{About, Format, SiteStatus};
use sitebell::store::Store;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::common::Failure;
use super::load::THEIR_CORE;

const ENTRIES: usize = 50;
/// Written at the same time, so that they share what the disk costs.
const AT_ONCE: usize = 200;
/// Room for all of them.
const FEED_MEMORY: &str = "256MiB";

/// A folder with data, and the feeds in it.
pub struct Data {
    folder: TempDir,
    pub paths: Vec<String>,
}

impl Data {
    /// So many sites with fifty entries each, none of them due.
    pub fn new(sites: usize) -> Result<Data, Failure> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let runtime = tokio::runtime::Runtime::new()?;
        let paths = runtime.block_on(async {
            let store = Store::open(folder.path()).await?;
            let (mut writing, mut paths) = (JoinSet::new(), Vec::new());
            for number in 0..sites {
                if writing.len() == AT_ONCE {
                    paths.extend(writing.join_next().await.transpose()?.transpose()?);
                }
                writing.spawn(add(store.clone(), number));
            }
            while let Some(path) = writing.join_next().await {
                paths.push(path??);
            }
            store.close().await?;
            Ok::<_, Failure>(paths)
        })?;
        Ok(Data { folder, paths })
    }
}

/// Adds a site, and returns the path of its only collection's feed.
async fn add(store: Store, number: usize) -> Result<String, Failure> {
    let now = Utc::now();
    let home: url::Url = format!("https://site-{number}.example/").parse()?;
    let (site, _) = store.add_site(&home, now).await?;
    let entries = (0..ENTRIES).map(|entry| {
        let change = |page: usize| Change {
            url: format!("{home}gallery/page-{entry}-{page}.html"),
            kind: [ChangeKind::Updated, ChangeKind::Created][(entry + page) % 2],
            datetime: Moment::parse("2026-03-01T08:00:00Z").expect("a moment"),
            title: None,
            details: Details::default(),
        };
        NewEntry {
            updated_at: now - TimeDelta::hours((ENTRIES - entry) as i64),
            changes: vec![change(0), change(1)],
        }
    });
    let record = CheckRecord {
        started_at: now,
        finished_at: now,
        outcome: Outcome::Changed,
        summary: String::new(),
        requests: 3,
        bytes: 4096,
        problems: vec![],
        site: Some(SiteRecord {
            root: home.join(".well-known/resourcesync")?,
            format: Format::ResourceSync,
            title: format!("Site {number}"),
            about: About::default(),
        }),
        status: SiteStatus::Ok,
        interval_secs: 86_400,
        failures: 0,
        next_check_at: now + TimeDelta::days(7),
        quiet_until: None,
        collections: vec![CollectionRecord {
            id: None,
            identity: home.join("gallery/")?,
            capability_list: Some(home.join("capabilitylist.xml")?),
            title: format!("Gallery {number}"),
            about: About::default(),
            described_by: None,
            is_own: true,
            last_processed: None,
            covered_until: None,
            lists: vec![],
            silent: vec![],
            entries: entries.collect(),
        }],
        covered: vec![],
        documents: vec![],
    };
    let check = store.number_check().await?;
    store.save_check(site, check, record).await?;
    let row = store.site(site).await?.ok_or("the site is gone")?;
    let (site, collection) = (&row.slug, &row.collections[0].slug);
    Ok(format!("/sites/{site}/{collection}/feed.atom"))
}

/// A service that answers. It ends with this.
pub struct Serving {
    child: Child,
    pub address: SocketAddr,
}

impl Serving {
    pub fn start(data: &Data) -> Result<Serving, Failure> {
        let mut child = Command::new("taskset")
            .args(["-c", THEIR_CORE, env!("CARGO_BIN_EXE_sitebell"), "serve"])
            .args([
                "--listen",
                "127.0.0.1:0",
                "--log",
                "error",
                "--feed-memory",
                FEED_MEMORY,
            ])
            .arg("--data")
            .arg(data.folder.path())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split(['/', ' ']).next());
        let address = address.ok_or("it does not say where it answers")?.parse()?;
        Ok(Serving { child, address })
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // At once: nothing is lost by it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
