//! The program itself: what it takes, what it prints, and how it ends.

mod accounts; // sitebell account
mod backup; // sitebell backup, sitebell restore
mod feed; // --atom
mod json; // --json
mod publish; // sitebell publish
pub mod serve; // sitebell serve
mod settings; // flags, variables, sitebell.toml, --help
mod terminal; // colour, progress, pipes

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use sitebell::store::Store;

use crate::den::{Den, change_list};
use crate::fake_site::{FakeSite, Reply};

/// A good site at an address that needs no resolver.
fn den() -> Den {
    let mut den = Den::empty();
    den.host = "127.0.0.1";
    den.description(&[("/capabilitylist.xml", "/")]);
    den.capability_list("/capabilitylist.xml", "/", &["/changelist.xml"]);
    let changes = [
        "created /a 2026-03-01",
        "updated /a 2026-03-02T08:00:00+01:00",
        "deleted /b 2026-03-02T09:30Z",
    ];
    den.change_list("/changelist.xml", "from='2026-01-01'", &changes);
    den.about("/about.xml", "/", "The Fox Den");
    den
}

/// The program in an empty folder, with nothing in its environment.
fn sitebell() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sitebell"));
    command
        .env_clear()
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::null());
    command
}

/// A folder to run commands on data in, which is in `data` below it.
pub struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        Place { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = sitebell();
        command.current_dir(self.folder.path()).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command with something on its standard input.
    fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped());
        let mut child = (command.stdout(Stdio::piped()).stderr(Stdio::piped()))
            .spawn()
            .unwrap();
        // It may have ended without reading.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }

    /// Runs a command that must be done, and returns what it printed.
    pub fn done(&self, arguments: &[&str]) -> String {
        printed(&self.run(arguments))
    }

    /// Adds an account with [`PASSWORD`].
    pub fn add(&self, name: &str, more: &[&str]) -> String {
        let arguments = [&["account", "add", name, "--password-stdin"], more].concat();
        printed(&self.run_with_input(&arguments, PASSWORD.as_bytes()))
    }

    async fn store(&self) -> Store {
        Store::open(&self.data()).await.unwrap()
    }

    /// What there is, with its size and the first bytes that differ if anything changes.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => drop(files.insert(path.clone(), fs::read(&path).unwrap())),
                }
            }
        }
        files
    }

    /// Runs a command that must be refused, and must change nothing.
    fn refused(&self, arguments: &[&str], parts: &[&str]) {
        let before = self.files();
        assert_refused(&self.run(arguments), parts);
        assert!(self.files() == before, "{arguments:?} changed something");
    }
}

const PASSWORD: &str = "seven owls, no fox\n";

/// What a command printed that was done.
fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    assert_eq!(stderr(output), "");
    stdout(output).to_owned()
}

/// `sitebell check` of a site on loopback, with further arguments.
fn check(den: &Den, arguments: &[&str]) -> Output {
    let open = ["check", "--allow-net", "127.0.0.0/8", "--host-gap", "0s"];
    let typed = den.url("/");
    sitebell()
        .args(open)
        .arg(typed.as_str())
        .args(arguments)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// It could not be done: 2, one sentence, and nothing on standard output.
fn assert_refused(output: &Output, parts: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(stdout(output), "");
    assert!(said.starts_with("sitebell: "), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    for part in parts {
        assert!(said.contains(part), "{said} does not say {part}");
    }
}

#[test]
fn a_good_site_ends_with_zero() {
    let output = check(&den(), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert!(stdout(&output).ends_with("\nNothing to fix.\n"));
    assert_eq!(stderr(&output), "");
}

#[test]
fn the_report_tells_what_a_person_wants_to_know() {
    let den = den();
    let output = check(&den, &[]);
    let site = den.url("/");
    let expected = format!(
        "The Fox Den  {site}
described in ResourceSync by {site}.well-known/resourcesync
1 collection, 3 changes; read with 4 requests (1.8 kB)

The Fox Den  {site}
  Monday, 2 March 2026
    deleted  09:30  {site}b
    updated  07:00  {site}a
  Sunday, 1 March 2026
    new             {site}a

Rules
  kept     Its description is where readers look for it, and tells its changes.
  kept     Every document can be fetched.
  kept     Every document is well-formed, whole, and in UTF-8.
  kept     Every document says what it is, in the words of ResourceSync 1.1.
  kept     The description leads to the collections.
  kept     Every collection has an address of its own.
  kept     Titles and authors are told.
  kept     Every document names the one above it.
  kept     Every collection has one Change List.
  kept     Change Lists say which time they cover, and leave no gap.
  kept     The open list is small, and closed ones are listed in an index.
  kept     Every change says what happened and when, oldest first.
  kept     Every entry names a page of the site by its whole address.

Nothing to fix.
"
    );
    let size = |text: &str| {
        let (start, end) = (text.find(" (").unwrap(), text.find(")\n").unwrap());
        format!("{}{}", &text[..start], &text[end..])
    };
    assert_eq!(size(stdout(&output)), size(&expected));
}

#[test]
fn a_site_with_something_to_fix_ends_with_one() {
    let den = den();
    den.change_list("/changelist.xml", "", &["created /a 2026-03-01"]);
    let output = check(&den, &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = stdout(&output);
    assert!(
        said.contains("warning: ")
            && said.contains("[no-from]")
            && said.contains("  broken   Change Lists say which time they cover")
            && said.contains("  kept     Every document can be fetched."),
        "{said}"
    );
    assert!(said.contains(&format!("  in {}, line 1\n", den.url("/changelist.xml"))));
    assert!(said.contains("  Fix: Add `from`"), "{said}");
    assert!(said.ends_with("\n1 warning\n"), "{said}");
    for other in ["--json", "--atom"] {
        assert_eq!(check(&den, &[other]).status.code(), Some(1), "{other}");
    }
}

#[test]
fn advice_alone_is_no_fault() {
    let den = den();
    let changes = ["created http://owl.example/ 2026-03-01"];
    den.change_list("/changelist.xml", "from='2026-01-01'", &changes);
    let output = check(&den, &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("note: ") && stdout(&output).contains("[off-site-pages]"));
}

#[test]
fn a_site_without_a_description_is_told_how_to_write_one() {
    let mut den = Den::empty();
    den.host = "127.0.0.1";
    den.html("/", "<title>Fox</title>");
    let output = check(&den, &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = stdout(&output);
    assert!(said.contains("no description of its changes was found"));
    assert!(said.contains(&format!("<loc>{}capabilitylist.xml</loc>", den.url("/"))));
}

#[test]
fn a_host_that_does_not_answer_cannot_be_checked() {
    let closed = FakeSite::start();
    let typed = closed.url("/").to_string();
    drop(closed);
    let open = ["check", "--allow-net", "127.0.0.0/8", &typed];
    let output = sitebell().args(open).output().unwrap();
    assert_refused(&output, &["127.0.0.1", "could not connect", "try again"]);
}

#[test]
fn a_private_address_is_refused_by_default_and_the_way_out_is_told() {
    let den = den();
    let typed = den.url("/");
    let output = sitebell().args(["check", typed.as_str()]).output().unwrap();
    assert_refused(
        &output,
        &[
            "127.0.0.1",
            "not an address on the public internet",
            "--allow-net",
        ],
    );
    den.site.assert_untouched();
    let elsewhere = ["check", "--allow-net", "10.0.0.0/8", typed.as_str()];
    let output = sitebell().args(elsewhere).output().unwrap();
    assert_refused(&output, &["127.0.0.1", "--allow-net"]);
    let output = sitebell().args(["check", "localhost"]).output().unwrap();
    assert_refused(&output, &["localhost", "--allow-net"]);
}

#[test]
fn a_link_to_a_private_address_is_a_problem_and_the_way_out_is_told() {
    let (den, canary) = (den(), FakeSite::start_on("127.0.0.2"));
    let there = canary.url("/x.xml");
    den.description(&[("/capabilitylist.xml", "/"), (there.as_str(), "/x/")]);
    let typed = den.url("/");
    let open = format!("127.0.0.1/32:{}", den.site.port());
    let output = sitebell()
        .args([
            "check",
            "--host-gap",
            "0s",
            "--allow-net",
            &open,
            typed.as_str(),
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(said.contains("[forbidden-address]") && said.contains("--allow-net"));
    canary.assert_untouched();
}

#[test]
fn what_is_no_address_is_refused() {
    for (typed, part) in [
        ("", "there is no address"),
        ("ftp://example.com/", "“ftp:”"),
        ("https://me:secret@example.com/", "name or password"),
    ] {
        let output = sitebell().args(["check", typed]).output().unwrap();
        assert_refused(&output, &[part]);
        assert!(!stderr(&output).contains("secret"));
    }
}

#[test]
fn only_changes_after_a_datetime_are_shown_when_asked_for() {
    let den = den();
    let output = check(&den, &["--since", "2026-03-02T09:00:00Z"]);
    let said = stdout(&output);
    assert!(
        said.contains("1 change;") && said.contains("deleted"),
        "{said}"
    );
    assert!(!said.contains("updated"), "{said}");
    let output = check(&den, &["--since", " 2026-03-03 "]);
    assert!(stdout(&output).contains("no changes since 2026-03-03\n"));
    for (bad, part) in [
        ("yesterday", "W3C datetime"),
        ("2026-03-02T09:00:00", "time zone"),
        ("2026-02-30", "no such date"),
        ("", "W3C datetime"),
    ] {
        let output = check(&den, &["--since", bad]);
        assert_refused(&output, &[&format!("--since is “{bad}”"), part]);
    }
}

#[test]
fn lastmod_is_taken_for_the_time_of_a_change_only_when_asked_for() {
    let den = den();
    den.xml(
        "/changelist.xml",
        &change_list(
            "/capabilitylist.xml",
            "from='2026-01-01'",
            &["updated /a 2026-03-01"],
        )
        .replace(
            "<rs:md change='updated' datetime='2026-03-01'/>",
            "<lastmod>2026-03-01</lastmod><rs:md change='updated'/>",
        ),
    );
    let output = check(&den, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("[no-datetime]"));
    let output = check(&den, &["--accept-lastmod"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("Sunday, 1 March 2026"));
}

#[test]
fn the_same_site_gives_the_same_bytes_every_time() {
    let (den, empty) = (den(), den());
    empty.change_list("/changelist.xml", "from='2026-01-01'", &[]);
    for site in [&den, &empty] {
        for form in [&["--atom"][..], &["--json"], &[]] {
            let (one, other) = (check(site, form), check(site, form));
            assert!(!one.stdout.is_empty());
            assert_eq!(stdout(&one), stdout(&other), "{form:?}");
        }
    }
}

#[test]
fn what_a_site_writes_cannot_move_the_cursor_or_turn_the_text() {
    let den = den();
    den.about("/about.xml", "/", "Fox \u{9b}31m\u{202e}den\u{2028}");
    let list = change_list("/capabilitylist.xml", "from='2026-01-01'", &[]);
    let entries = "<url><loc>{den}/\u{202e}a b</loc><rs:md change='\u{202e}moved\u{9b}2J' datetime='2026-03-01'/></url>
        <url><loc>{den}/\u{202e}a b\u{9b}</loc><rs:md change='updated' datetime='2026-03-01'/></url>";
    den.xml(
        "/changelist.xml",
        &list.replace("</urlset>", &format!("{entries}</urlset>")),
    );
    den.site.serve(
        "/owl.xml",
        Reply::xml("<\u{feff}x\u{202e}y xmlns='a\u{9b}b'/>"),
    );
    for form in [&[][..], &["--json"], &["--atom"]] {
        let output = check(&den, form);
        let hidden = |character: char| {
            (character.is_control() && character != '\n')
                || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        let found: Vec<char> = stdout(&output).chars().filter(|&c| hidden(c)).collect();
        assert!(
            found.is_empty(),
            "{form:?}: {found:?} in {}",
            stdout(&output)
        );
    }
}
