//! Programs from Debian that people read feeds with: newsboat, and rss2email, which makes mail of them.
//!
//! They ask through a [`Wire`], which notes what they were answered.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use tempfile::TempDir;

use super::*;

/// Passes requests on to the service, one for each connection.
struct Wire {
    address: SocketAddr,
    statuses: Arc<Mutex<Vec<u16>>>,
}

impl Wire {
    fn to(service: SocketAddr) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let statuses = Arc::new(Mutex::new(Vec::new()));
        let noted = statuses.clone();
        thread::spawn(move || {
            for reader in listener.incoming() {
                let status = pass_on(reader.unwrap(), service);
                noted.lock().unwrap().push(status);
            }
        });
        Wire { address, statuses }
    }

    /// What was answered since this was asked last.
    fn statuses(&self) -> Vec<u16> {
        std::mem::take(&mut self.statuses.lock().unwrap())
    }
}

fn pass_on(mut reader: TcpStream, service: SocketAddr) -> u16 {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        reader.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let lines = head.trim_end().split("\r\n");
    let lines = lines.filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
    let head = lines.collect::<Vec<_>>().join("\r\n") + "\r\nConnection: close\r\n\r\n";
    let mut upstream = TcpStream::connect(service).unwrap();
    upstream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    upstream.read_to_end(&mut answer).unwrap();
    reader.write_all(&answer).unwrap();
    reader.shutdown(Shutdown::Write).unwrap();
    // Until the reader has closed it too, so that nothing is lost on the way.
    let _ = reader.read_to_end(&mut Vec::new());
    let status = std::str::from_utf8(&answer[9..12]).unwrap();
    status.parse().unwrap()
}

/// Runs a reader that keeps everything below a folder.
fn run(home: &Path, program: &str, arguments: &[&str]) {
    let output = Command::new(program)
        .args(arguments)
        .env("HOME", home)
        .env("LC_ALL", "C.UTF-8")
        .env_remove("http_proxy")
        .current_dir(home)
        .output();
    let output = output.unwrap_or_else(|error| {
        panic!("{program} does not start ({error}); run tests/run, which installs it")
    });
    assert!(output.status.success(), "{program}: {output:?}");
}

/// What a reader has: the title of each entry, by its id.
type Shelf = BTreeMap<String, String>;

fn newsboat(home: &Path) -> Shelf {
    let arguments = [
        "-u", "urls", "-c", "cache.db", "-C", "config", "-x", "reload",
    ];
    run(home, "newsboat", &arguments);
    let db = rusqlite::Connection::open(home.join("cache.db")).unwrap();
    let mut rows = db.prepare("SELECT guid, title FROM rss_item").unwrap();
    let rows = rows
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    let mut shelf = Shelf::new();
    for (id, title) in rows.map(Result::unwrap) {
        assert_eq!(shelf.insert(id, title), None, "an entry is there twice");
    }
    shelf
}

fn rss2email(home: &Path) -> Shelf {
    run(home, "r2e", &["-c", "config", "-d", "data.json", "run"]);
    let mut shelf = Shelf::new();
    for mail in fs::read_dir(home.join("mail/new")).unwrap() {
        let mail = fs::read_to_string(mail.unwrap().path()).unwrap();
        let field = |name: &str| {
            let line = mail.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("no {name} in {mail}"))
                .to_owned()
        };
        let (id, title) = (field("X-RSS-ID: "), field("Subject: "));
        assert_eq!(shelf.insert(id, title), None, "an entry was sent twice");
    }
    shelf
}

/// A reader subscribes, and looks again and again; `settled` is how often it takes the whole feed before it asks whether
/// it has changed.
async fn reads(prepare: impl FnOnce(&Path, &str), read: impl Fn(&Path) -> Shelf, settled: usize) {
    let changes = ["created /a 2026-03-01", "updated /b 2026-03-02"];
    let followed = Followed::new(&changes).await;
    let wire = Wire::to(followed.world.address());
    let home: TempDir = tempfile::tempdir().unwrap();
    let home: PathBuf = home.path().to_owned();
    fs::create_dir_all(&home).unwrap();
    let path = followed.collection_path();
    prepare(&home, &format!("http://{}{path}", wire.address));
    let expected = || -> Shelf {
        let feed = followed.feed(&path);
        let entries = feed.entries.into_iter();
        entries.map(|entry| (entry.id, entry.title.value)).collect()
    };

    for _ in 0..settled {
        assert_eq!(read(&home), expected());
        assert_eq!(wire.statuses(), [200]);
    }
    for _ in 0..2 {
        assert_eq!(read(&home), expected(), "entries arrive once");
        assert_eq!(
            wire.statuses(),
            [304],
            "an unchanged feed is not sent again"
        );
    }

    let more = [&changes[..], &["updated /a 2026-03-09"]].concat();
    followed.change(&more).await;
    let after = read(&home);
    assert_eq!(wire.statuses(), [200]);
    assert_eq!(after.len(), 3, "an update arrives as something new");
    assert_eq!(after, expected());
    assert_eq!(read(&home), after);
    assert_eq!(wire.statuses(), [304]);
}

#[tokio::test(flavor = "multi_thread")]
async fn newsboat_gets_every_entry_once() {
    let prepare = |home: &Path, url: &str| {
        fs::write(home.join("urls"), format!("{url}\n")).unwrap();
        fs::write(home.join("config"), "").unwrap();
    };
    // It keeps no tag of a feed that it did not know before.
    reads(prepare, newsboat, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rss2email_sends_every_entry_once() {
    let prepare = |home: &Path, url: &str| {
        for folder in ["tmp", "new", "cur"] {
            fs::create_dir_all(home.join("mail").join(folder)).unwrap();
        }
        let mail = home.join("mail");
        let config = format!(
            "[DEFAULT]\nfrom = bell@fox.example\nto = fox@fox.example\nemail-protocol = maildir\n\
             maildir-path = {}\nmaildir-mailbox =\n",
            mail.display()
        );
        fs::write(home.join("config"), config).unwrap();
        run(
            home,
            "r2e",
            &["-c", "config", "-d", "data.json", "add", "fox", url],
        );
    };
    reads(prepare, rss2email, 1).await;
}
