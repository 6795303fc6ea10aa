//! `sitebell serve`: how it starts, how it stops, and what it says when it cannot.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Place, den};
use crate::ask::Ask;
use crate::den::change_list;
use crate::fake_site::{Gate, Reply};
use crate::person::Person;

/// A service that was started, and is killed if a test forgets it.
pub struct Served {
    child: Child,
    output: BufReader<ChildStdout>,
    pub address: SocketAddr,
}

impl Served {
    /// Starts the service in a place, at a port that is free.
    pub fn start(place: &Place, more: &[&str]) -> Served {
        let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
        Served::of(command.args(more))
    }

    pub fn of(command: &mut Command) -> Served {
        Served::logging_to(Stdio::null(), command)
    }

    fn logging_to(log: impl Into<Stdio>, command: &mut Command) -> Served {
        let mut child = (command.stdout(Stdio::piped()).stderr(log))
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let url = line.split(' ').find(|word| word.starts_with("http://"));
        let url: url::Url = url.unwrap_or_else(|| panic!("{line:?}")).parse().unwrap();
        let address = url.socket_addrs(|| None).unwrap()[0];
        Served {
            child,
            output,
            address,
        }
    }

    /// The next line that it prints.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM, and tells how it ended. Like all who stop services, it waits ten seconds and then kills, which is
    /// no code.
    pub fn terminate(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(status.success());
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(10) {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::yield_now();
        }
        self.child.kill().unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_service_starts_with_nothing_set_reads_sites_and_ends_when_told_to() {
    let (place, den) = (Place::new(), den());
    place.add("alice", &[]);
    let token = place.done(&["account", "token", "alice"]);
    let served = Served::start(&place, &["--allow-net", "127.0.0.0/8", "--host-gap", "0"]);
    let health = Ask::get("/healthz").to(served.address).json(200);
    assert_eq!(health["status"], "ok");
    let add = Ask::post("/api/v1/sites", &json!({"url": den.url("/").as_str()}));
    let site = add.token(token.trim()).to(served.address).json(202);
    let path = format!("/api/v1/sites/{}/changes", site["id"]);
    let changes = || {
        Ask::get(&path)
            .token(token.trim())
            .to(served.address)
            .json(200)
    };
    while changes()["changes"].as_array().unwrap().len() < 3 {
        std::thread::yield_now();
    }
    // Our own pages are published beside all this.
    while Ask::get("/.well-known/resourcesync")
        .to(served.address)
        .status
        != 200
    {
        std::thread::yield_now();
    }
    assert_eq!(served.terminate(), Some(0));
    let left = std::fs::read_dir(place.data()).unwrap();
    let mut left: Vec<_> = left.map(|file| file.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["own", "sitebell.sqlite3"], "and no log beside it");
}

#[test]
fn the_service_ends_in_time_though_a_site_never_answers_and_somebody_reads_the_database() {
    let (place, den) = (Place::new(), den());
    place.add("alice", &[]);
    let token = place.done(&["account", "token", "alice"]);
    let gate = Gate::default();
    let silent = Reply::status(404).behind(&gate);
    den.site.serve("/.well-known/resourcesync", silent);
    let served = Served::start(&place, &["--allow-net", "127.0.0.0/8", "--host-gap", "0"]);
    let add = Ask::post("/api/v1/sites", &json!({"url": den.url("/").as_str()}));
    add.token(token.trim()).to(served.address).json(202);
    while den.site.requests().is_empty() {
        std::thread::yield_now();
    }
    let reader = rusqlite::Connection::open(place.data().join("sitebell.sqlite3")).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let ask = || reader.query_row("SELECT count(*) FROM sites", [], |row| row.get::<_, i64>(0));
    assert_eq!(ask().unwrap(), 1);
    assert_eq!(served.terminate(), Some(0));
    assert_eq!(ask().unwrap(), 1);
}

/// Limits how long the files of a process may get; files that are longer already cannot be written at their ends.
fn limit_files(process: u32, bytes: &str) {
    let limit = Command::new("prlimit")
        .args([&format!("--pid={process}"), &format!("--fsize={bytes}:")])
        .status();
    assert!(limit.unwrap().success());
}

#[test]
fn what_was_read_while_nothing_could_be_saved_is_saved_later_and_no_site_is_asked_twice() {
    let (place, den) = (Place::new(), den());
    place.add("alice", &[]);
    let token = place.done(&["account", "token", "alice"]);
    let gate = Gate::default();
    let list = "/changelist.xml";
    let up = "/capabilitylist.xml";
    let body = change_list(up, "from='2026-01-01'", &["created /a 2026-03-01"]);
    den.site
        .serve(list, Reply::xml(den.filled(&body)).behind(&gate));
    // A process that ignores the signal is told that its file is too long.
    let command = place.command(&[
        "serve",
        "--listen=127.0.0.1:0",
        "--allow-net=127.0.0.0/8",
        "--host-gap=0",
    ]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]);
    shell.arg(command.get_program()).args(command.get_args());
    shell.current_dir(command.get_current_dir().unwrap());
    let mut served = Served::logging_to(Stdio::piped(), &mut shell);
    let mut log = BufReader::new(served.child.stderr.take().unwrap()).lines();
    let add = Ask::post("/api/v1/sites", &json!({"url": den.url("/").as_str()}));
    let site = add.token(token.trim()).to(served.address).json(202);
    while den.site.requests_to(list).is_empty() {
        std::thread::yield_now();
    }
    limit_files(served.child.id(), "1");
    gate.open();
    let failed = |line: &String| line.contains("nothing can be saved");
    for _ in 0..2 {
        let line = log.by_ref().map(Result::unwrap).find(failed).unwrap();
        assert!(line.contains("is tried again in"), "{line}");
    }
    limit_files(served.child.id(), "unlimited");
    std::thread::spawn(move || log.for_each(drop));
    let path = format!("/api/v1/sites/{}/changes", site["id"]);
    let changes = || Ask::get(&path).token(token.trim()).to(served.address);
    while changes().json(200)["changes"]
        .as_array()
        .unwrap()
        .is_empty()
    {
        std::thread::yield_now();
    }
    assert_eq!(den.site.requests_to(list).len(), 1);
    assert_eq!(served.terminate(), Some(0));
}

#[test]
fn the_key_of_a_private_feed_is_never_logged() {
    let place = Place::new();
    place.add("alice", &[]);
    let token = place.done(&["account", "token", "alice"]);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0", "--log", "trace"]);
    let served = Served::logging_to(std::fs::File::create(&log).unwrap(), &mut command);
    let make = Ask::new("POST", "/api/v1/feed-key").token(token.trim());
    let made = make.to(served.address).json(201);
    let address: url::Url = made["feed_url"].as_str().unwrap().parse().unwrap();
    let key = address.query().unwrap();
    let secret = key.strip_prefix("key=").unwrap();
    for (method, query, status) in [
        ("GET", key.to_owned(), 200),
        ("HEAD", format!("{key}&entries=pages"), 200),
        ("GET", format!("{key}&entries=words"), 400),
        ("GET", format!("{key}&after=now"), 400),
        ("GET", format!("{key}0"), 404),
        ("PUT", key.to_owned(), 403),
    ] {
        let ask = Ask::new(method, &format!("{}?{query}", address.path()));
        let answer = ask.to(served.address);
        assert_eq!(answer.status, status, "{method} {query}");
    }
    assert_eq!(served.terminate(), Some(0));
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("ready") && !log.contains(secret), "{log}");
}

#[test]
fn the_first_start_prints_a_link_that_makes_the_first_account_and_later_ones_do_not() {
    let place = Place::new();
    let mut served = Served::start(&place, &[]);
    assert!(served.line().contains("the first one, an admin"));
    let link: url::Url = served.line().trim().parse().unwrap();
    assert_eq!(link.socket_addrs(|| None).unwrap()[0], served.address);
    let path = format!("{}?{}", link.path(), link.query().unwrap());
    let mut alice = Person::at(served.address);
    let page = alice.open(&path);
    let fields = [("name", "alice"), ("password", "correct horse")];
    let page = alice.send(&page, "/first-account", &fields);
    assert!(page.path == "/welcome" && page.has("Welcome, <bdi>alice"));
    assert_eq!(alice.open("/admin").status(), 200);
    assert_eq!(Person::at(served.address).open(&path).status(), 403);
    let listed = place.done(&["account", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["accounts"][0]["admin"], true);
    assert_eq!(served.terminate(), Some(0));

    let mut served = Served::start(&place, &[]);
    assert_eq!(
        alice_at(&alice, &served).open("/admin").status(),
        200,
        "still signed in"
    );
    let id = served.child.id().to_string();
    Command::new("kill").args(["-TERM", &id]).status().unwrap();
    assert_eq!(served.line(), "", "nothing more is printed");
}

/// The same browser, after the service came back at another port.
fn alice_at(person: &Person, served: &Served) -> Person {
    let mut moved = Person::at(served.address);
    moved.cookies = person.cookies.clone();
    moved
}

#[test]
fn what_the_operator_does_to_an_account_ends_its_sessions_beside_a_running_service() {
    let place = Place::new();
    place.add("alice", &[]);
    let served = Served::start(&place, &[]);
    let sign_in = |password: &str| {
        let mut alice = Person::at(served.address);
        let page = alice.open("/sign-in?next=/settings");
        let fields = [("name", "alice"), ("password", password)];
        let page = alice.send(&page, "/sign-in", &fields);
        (alice, page.path)
    };
    let is_in = |alice: &mut Person| alice.open("/settings").path == "/settings";
    let password = super::PASSWORD.trim_end();
    let (mut alice, path) = sign_in(password);
    assert_eq!(path, "/settings");
    place.done(&["account", "disable", "alice"]);
    assert!(!is_in(&mut alice));
    assert_eq!(sign_in(password).1, "/sign-in");
    place.done(&["account", "enable", "alice"]);
    assert!(!is_in(&mut alice), "it has to sign in again");
    let (mut alice, _) = sign_in(password);
    assert!(is_in(&mut alice));
    let reset = ["account", "reset-password", "alice", "--password-stdin"];
    let done = place.run_with_input(&reset, b"better horse\n");
    assert!(done.status.success());
    assert!(!is_in(&mut alice));
    assert_eq!(sign_in(password).1, "/sign-in");
    let (mut alice, _) = sign_in("better horse");
    assert!(is_in(&mut alice));
    place.done(&["account", "remove", "alice", "--yes"]);
    assert!(!is_in(&mut alice));
}

#[test]
fn a_folder_that_cannot_hold_backups_is_told_at_the_start() {
    let place = Place::new();
    std::fs::write(place.data().with_file_name("copies"), "a file").unwrap();
    let refused = place.run(&["serve", "--listen", "127.0.0.1:0", "--backup-to", "copies"]);
    assert_eq!(refused.status.code(), Some(2));
    let sentence = String::from_utf8(refused.stderr).unwrap();
    assert!(
        sentence.contains("the folder copies cannot be used for backups"),
        "{sentence}"
    );
    assert!(sentence.contains("--backup-to"), "{sentence}");
    assert!(!place.data().exists(), "nothing was written");
}

#[test]
fn a_folder_is_served_once_and_can_be_served_again_after_a_sudden_death() {
    let place = Place::new();
    let served = Served::start(&place, &[]);
    let second = place.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(second.status.code(), Some(2));
    let sentence = String::from_utf8(second.stderr).unwrap();
    assert!(sentence.contains("another sitebell serves data; stop it first"));
    served.kill();
    assert_eq!(Served::start(&place, &[]).terminate(), Some(0));
}

#[test]
fn what_keeps_the_service_from_starting_is_one_sentence_and_leaves_no_trace() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    place.refused(&["serve", "--listen", &taken], &[&taken, "--listen"]);
    for (arguments, parts) in [
        (
            ["--listen", "here"],
            ["--listen is “here”", "127.0.0.1:8080"],
        ),
        (
            ["--listen", "203.0.113.1:80"],
            ["203.0.113.1:80", "--listen"],
        ),
        (
            ["--public-url", "bell"],
            ["--public-url is “bell”", "https://"],
        ),
        (
            ["--public-url", "ftp://bell.example"],
            ["--public-url", "https://"],
        ),
        (
            ["--check-every", "often"],
            ["--check-every is “often”", "12h"],
        ),
        (
            ["--registration", "maybe"],
            ["--registration", "open, invite or closed"],
        ),
        (["--max-hosts", "0"], ["--max-hosts", "at least 1"]),
        (
            ["--prune-at", "noon"],
            ["--prune-at is “noon”", "0 30 3 * * *"],
        ),
        (["--log", "a=b=c"], ["--log is “a=b=c”", "debug"]),
    ] {
        let arguments = [&["serve"], &arguments[..]].concat();
        place.refused(&arguments, &parts);
    }
    std::fs::write(place.path("file"), "mine").unwrap();
    place.refused(
        &["serve", "--listen", "127.0.0.1:0", "--data", "file"],
        &["file"],
    );
    std::fs::create_dir(place.data()).unwrap();
    std::fs::write(place.data().join("sitebell.sqlite3"), "not a database").unwrap();
    place.refused(&["serve", "--listen", "127.0.0.1:0"], &["sitebell.sqlite3"]);
}

#[test]
fn the_help_of_serve_lists_every_setting_with_its_default() {
    let help = Place::new().done(&["serve", "--help"]);
    for part in [
        "--listen",
        "127.0.0.1:8080",
        "--data",
        "--public-url",
        "--registration",
        "--check-every",
        "1d",
        "--allow-net",
        "--host-gap",
        "500ms",
        "--contact",
        "SITEBELL_LISTEN",
    ] {
        assert!(help.contains(part), "{part}");
    }
}

#[test]
fn the_demo_is_served_and_followed_and_opens_nothing_else_of_this_machine() {
    let place = Place::new();
    let mut served = Served::start(&place, &["--demo", "--host-gap", "0"]);
    let line = served.line();
    let demo = line.split(' ').find(|word| word.starts_with("http://"));
    let demo: url::Url = demo.unwrap_or_else(|| panic!("{line:?}")).parse().unwrap();
    assert!(line.contains("changes every minute"), "{line}");
    let page: url::Url = served.line().trim().parse().unwrap();
    let mut visitor = Person::at(served.address);
    while !visitor.open(page.path()).has("The Lantern Room") {
        std::thread::yield_now();
    }
    assert!(
        visitor
            .open(&format!("{}moths/", page.path()))
            .has("Visitors")
    );
    // Its page and its feed tell when it is really read next: when it has changed, within a minute.
    let soon = chrono::Utc::now() + chrono::TimeDelta::minutes(3);
    let next = |text: &str| -> Option<chrono::DateTime<chrono::Utc>> {
        let (_, next) = text.split_once("Next check <time datetime=\"")?;
        next.split_once('"')?.0.parse().ok()
    };
    while next(visitor.open(page.path()).text()).is_none_or(|next| next > soon) {
        assert!(
            chrono::Utc::now() < soon,
            "{}",
            visitor.open(page.path()).text()
        );
        std::thread::yield_now();
    }
    let feed = || Ask::get(&format!("{}feed.atom", page.path())).to(served.address);
    while feed().header("cache-control") != Some("public, max-age=60") {
        assert!(chrono::Utc::now() < soon, "{}", feed().text());
        std::thread::yield_now();
    }
    let there = demo.socket_addrs(|| None).unwrap()[0];
    assert!(Ask::get("/").to(there).text().contains("A shrine to moths"));
    let front = visitor.open("/");
    for other in [
        served.address,
        TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap(),
    ] {
        let refused = visitor.send(&front, "/sites", &[("url", &format!("http://{other}/"))]);
        assert_eq!(refused.status(), 422, "{other}");
    }
    assert_eq!(served.terminate(), Some(0));
}

#[test]
fn the_demo_changes_by_itself_and_its_followers_hear_of_it() {
    let place = Place::new();
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0", "--demo"]);
    let mut served = Served::logging_to(Stdio::piped(), command.args(["--host-gap", "0"]));
    served.line();
    let page: url::Url = served.line().trim().parse().unwrap();
    let log = BufReader::new(served.child.stderr.take().unwrap());
    let mut read = (log.lines().map(Result::unwrap)).filter(|line| line.contains("new_changes="));
    let entries = || {
        let feed = Ask::get(&format!("{}feed.atom", page.path())).to(served.address);
        feed.text().matches("<entry>").count()
    };
    // The log goes on only when there is something to tell, so this waits for the site and for nothing else.
    assert!(read.next().is_some());
    let first = entries();
    let line = read.next().unwrap();
    assert!(!line.contains("new_changes=0"), "{line}");
    assert!(entries() > first, "{line}");
}

#[test]
fn a_demo_without_a_place_says_so() {
    let place = Place::new();
    // A port whose neighbour is taken.
    let (taken, before) = loop {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        if let Ok(before) = TcpListener::bind(("127.0.0.1", port - 1)) {
            break (taken, before);
        }
    };
    let listen = before.local_addr().unwrap().to_string();
    drop(before);
    let demo = taken.local_addr().unwrap().to_string();
    place.refused(
        &["serve", "--demo", "--listen", &listen],
        &["no place for the demo", &demo],
    );
}
