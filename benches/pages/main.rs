//! How much work a page is: the time that the program itself spends on one, asked for again and again.

#[path = "../common/mod.rs"]
mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use chrono::{TimeDelta, Utc};
use sitebell::change::{Change, ChangeKind, Details};
use sitebell::memory::{CheckRecord, CollectionRecord, NewEntry, Outcome};
use sitebell::moment::Moment;
use sitebell::site::{About, SiteStatus};
use sitebell::store::Store;

use self::common::Failure;
use self::common::table::{Limit, Table};

const SITE: &str = "https://shrine.example/";
const PAGE: &str = "/sites/shrine.example/";
/// Entries of the page, and changes of each: a hundred changes altogether.
const ENTRIES: usize = 10;
const CHANGES: usize = 10;
/// Enough for the clock of the system, which counts hundredths of a second.
const REQUESTS: usize = 2_000;

fn main() -> ExitCode {
    common::end(compare())
}

fn compare() -> Result<bool, Failure> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    tokio::runtime::Runtime::new()?.block_on(fill(folder.path()))?;
    let mut serving = Serving::start(folder.path())?;
    let mut table = Table::new("pages");
    table.row(
        "a site page with 100 changes, ms of processor time",
        Limit::AtMost(2.0),
        || serving.cost_of(PAGE),
    )?;
    Ok(table.all_kept())
}

/// A site that nobody has to read now, with a hundred changes.
async fn fill(folder: &Path) -> Result<(), Failure> {
    let now = Utc::now();
    let store = Store::open(folder).await?;
    let (site, _) = store.add_site(&SITE.parse()?, now).await?;
    let entry = |n: usize| {
        let at = now - TimeDelta::days(30 * (ENTRIES - n) as i64);
        let page = |place: usize| Change {
            url: format!("{SITE}gallery/a-page-about-x-{n:03}-{place:03}.html"),
            kind: [
                ChangeKind::Created,
                ChangeKind::Updated,
                ChangeKind::Deleted,
            ][place % 3],
            datetime: Moment::from_utc(at),
            title: None,
            details: Details::default(),
        };
        NewEntry {
            updated_at: at,
            changes: (0..CHANGES).map(page).collect(),
        }
    };
    let record = CheckRecord {
        started_at: now,
        finished_at: now,
        outcome: Outcome::Changed,
        summary: "There was something new.".into(),
        requests: 3,
        bytes: 4096,
        problems: vec![],
        site: None,
        status: SiteStatus::Ok,
        interval_secs: 86_400,
        failures: 0,
        next_check_at: now + TimeDelta::days(1),
        quiet_until: None,
        collections: vec![CollectionRecord {
            id: None,
            identity: SITE.parse()?,
            capability_list: None,
            title: "A collection".into(),
            about: About::default(),
            described_by: None,
            is_own: true,
            last_processed: None,
            covered_until: Some(now),
            lists: vec![],
            silent: vec![],
            entries: (0..ENTRIES).map(entry).collect(),
        }],
        covered: vec![],
        documents: vec![],
    };
    let check = store.number_check().await?;
    store.save_check(site, check, record).await?;
    store.close().await?;
    Ok(())
}

/// The program, with a connection to it. It ends with this.
struct Serving {
    child: Child,
    connection: BufReader<TcpStream>,
}

impl Serving {
    fn start(data: &Path) -> Result<Serving, Failure> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sitebell"))
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--log",
                "error",
                "--data",
            ])
            .arg(data)
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line.split("http://").nth(1);
        let address = address.and_then(|rest| rest.split(['/', ' ']).next());
        let address: SocketAddr = address.ok_or("it does not say where it answers")?.parse()?;
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Serving {
            child,
            connection: BufReader::new(stream),
        })
    }

    /// Milliseconds of processor time for each request.
    fn cost_of(&mut self, path: &str) -> Result<f64, Failure> {
        let body = self.get(path)?;
        let lines = String::from_utf8_lossy(&body)
            .matches("class=\"kind")
            .count();
        if lines != ENTRIES * CHANGES {
            return Err(format!("the page has {lines} changes").into());
        }
        let before = self.ticks()?;
        for _ in 0..REQUESTS {
            self.get(path)?;
        }
        // The system counts in hundredths of a second, on every machine that we know of.
        Ok((self.ticks()? - before) * 10.0 / REQUESTS as f64)
    }

    fn get(&mut self, path: &str) -> Result<Vec<u8>, Failure> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        self.connection.get_mut().write_all(request.as_bytes())?;
        let (mut length, mut line) = (0, String::new());
        loop {
            line.clear();
            self.connection.read_line(&mut line)?;
            let field = line.trim_end().to_ascii_lowercase();
            if field.is_empty() {
                break;
            }
            if let Some(number) = field.strip_prefix("content-length: ") {
                length = number.parse()?;
            }
        }
        let mut body = vec![0; length];
        self.connection.read_exact(&mut body)?;
        Ok(body)
    }

    /// What the process has used so far.
    fn ticks(&self) -> Result<f64, Failure> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, fields) = text.rsplit_once(") ").ok_or("an odd line")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        // The fourteenth and fifteenth of all: user and system.
        let ticks = |place: usize| fields.get(place).ok_or("a short line");
        Ok(ticks(11)?.parse::<f64>()? + ticks(12)?.parse::<f64>()?)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // At once: nothing is lost by it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
