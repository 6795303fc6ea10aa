//! `sitebell publish`.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use super::{Place, assert_refused, printed, sitebell, stderr, stdout};
use crate::fake_site::{FakeSite, Reply};

/// A folder `site` with two pages, and a host that serves it.
struct Den {
    place: Place,
    host: FakeSite,
}

impl Den {
    fn new() -> Den {
        let den = Den {
            place: Place::new(),
            host: FakeSite::start(),
        };
        den.page("index.html", "Welcome");
        den.page("fox/den.html", "Foxes");
        den.host.serve_folder(&den.path(""));
        den
    }

    fn path(&self, path: &str) -> PathBuf {
        self.place.path("site").join(path)
    }

    fn page(&self, path: &str, words: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(
            path,
            format!("<html><head><title>Den</title></head><body>{words}</body></html>"),
        )
        .unwrap();
    }

    fn url(&self) -> String {
        self.host.url("/").to_string()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let url = self.url();
        let all = [&["publish", "site", "--url", &url], arguments].concat();
        self.place.run(&all)
    }

    fn publish(&self, arguments: &[&str]) -> String {
        printed(&self.run(arguments))
    }

    /// What `sitebell check` says, which must have nothing to complain about.
    fn check(&self) -> String {
        let url = self.url();
        let open = [
            "check",
            "--allow-net",
            "127.0.0.0/8",
            "--host-gap",
            "0s",
            &url,
        ];
        printed(&self.place.run(&open))
    }
}

#[test]
fn a_folder_is_published_and_checked() {
    let den = Den::new();
    let first = den.publish(&["--collection", "fox=Fox Den", "--author", "Kit"]);
    let url = den.url();
    assert_eq!(
        first,
        format!(
            "Den:\n  new      {url}\nFox Den:\n  new      {url}fox/den.html\n2 changes on 2 pages; 7 files written.\n\
             Upload the folder; then {url} can be followed, and sitebell check {url} tells how it looks.\n\
             If the site was published before, this build has lost its history: publish with --previous and its address.\n"
        )
    );
    assert!(den.check().contains("Nothing to fix."));
    den.page("fox/den.html", "More foxes");
    let second = den.publish(&["--collection", "fox=Fox Den", "--author", "Kit"]);
    assert_eq!(
        second,
        format!("Fox Den:\n  updated  {url}fox/den.html\n1 change on 2 pages; 2 files written.\n")
    );
    let third = den.publish(&["--collection", "fox=Fox Den", "--author", "Kit"]);
    assert_eq!(
        third,
        "Nothing changed on 2 pages, and nothing was written.\n"
    );
}

#[test]
fn a_page_that_moved_and_what_its_author_says_are_shown_to_whoever_checks() {
    let den = Den::new();
    den.publish(&[]);
    fs::rename(den.path("fox/den.html"), den.path("fox/burrow.html")).unwrap();
    let told = den.publish(&["--note", "Dug deeper"]);
    let url = den.url();
    let moved = format!("new      {url}fox/burrow.html, moved from {url}fox/den.html");
    assert!(told.contains(&moved), "{told}");
    let checked = den.check();
    let lines: Vec<&str> = checked.lines().map(str::trim).collect();
    for (change, about) in [
        (
            format!("{url}fox/den.html"),
            format!("moved to {url}fox/burrow.html"),
        ),
        (
            format!("{url}fox/burrow.html"),
            format!("moved from {url}fox/den.html"),
        ),
    ] {
        let is_change = |line: &str| line.ends_with(&change) && !line.starts_with("moved");
        let place = lines.iter().position(|line| is_change(line));
        let place = place.unwrap_or_else(|| panic!("{change}: {checked}"));
        assert_eq!(
            lines[place + 1..place + 3],
            [about.as_str(), "Dug deeper"],
            "{checked}"
        );
    }
}

#[test]
fn a_large_folder_shows_a_terminal_how_far_it_is_and_a_program_nothing() {
    let den = Den::new();
    for page in 0..600 {
        den.page(&format!("fox/{page}.html"), "kit");
    }
    let run = |more: &str| {
        let program = env!("CARGO_BIN_EXE_sitebell");
        let command = format!("{program} publish site --url https://fox.example/ {more}");
        let shown = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .env_clear()
            .envs([("TERM", "xterm"), ("SHELL", "/bin/sh")])
            .env("PATH", std::env::var_os("PATH").unwrap())
            .current_dir(den.place.path(""))
            .stdin(Stdio::null())
            .output();
        String::from_utf8(shown.unwrap().stdout).unwrap()
    };
    let shown = run("");
    assert!(shown.contains("of 602 pages"), "{shown:?}");
    assert!(super::terminal::screen(&shown).contains("602 changes on 602 pages"));
    assert!(
        !super::terminal::screen(&shown).contains("reading"),
        "{shown:?}"
    );
    let few = run("--ignore 'fox/*'");
    assert!(!few.contains("reading"), "{few:?}");
    let den = Den::new();
    for page in 0..600 {
        den.page(&format!("fox/{page}.html"), "kit");
    }
    assert!(!den.publish(&[]).contains("reading"));
}

#[test]
fn a_dry_run_shows_what_would_be_written_and_writes_nothing() {
    let den = Den::new();
    let before = den.place.files();
    let text = den.publish(&["--dry-run", "--sitemap", "--html-links"]);
    assert!(den.place.files() == before);
    for file in [
        ".well-known/resourcesync",
        "sitebell/manifest.json",
        "sitemap.xml",
        "fox/den.html",
    ] {
        assert!(text.contains(&format!("\n  {file}\n")), "{text}");
    }
    assert!(text.contains("8 files would be written."), "{text}");
}

#[test]
fn a_link_is_put_into_pages_and_nothing_else() {
    let den = Den::new();
    let list = "<opml><head><title>Den</title></head><body/></opml>";
    fs::write(den.path("fox/list.opml"), list).unwrap();
    let asked = ["--html-links", "--include", "fox/*.opml"];
    let text = den.publish(&asked);
    assert!(text.contains("3 changes on 3 pages"), "{text}");
    assert!(!text.contains("without a head"), "{text}");
    assert_eq!(fs::read_to_string(den.path("fox/list.opml")).unwrap(), list);
    let again = den.publish(&asked);
    assert!(again.starts_with("Nothing changed on 3 pages"), "{again}");
}

#[test]
fn an_author_is_told_of_pages_that_have_no_place_for_a_link() {
    let den = Den::new();
    fs::write(den.path("fox/bare.html"), "words").unwrap();
    fs::write(den.path("fox/short.html"), "<title>Fox</title>words").unwrap();
    let told = "1 page without a head got no link, such as fox/bare.html: give them a title, or put the link in yourself.\n";
    let text = den.publish(&["--html-links"]);
    assert!(text.contains(told), "{text}");
    let short = fs::read_to_string(den.path("fox/short.html")).unwrap();
    assert!(short.starts_with("<title>Fox</title><link "), "{short}");
    // As long as it is so.
    let again = den.publish(&["--html-links"]);
    assert!(again.contains(told), "{again}");
    assert!(!den.publish(&[]).contains("got no link"));
}

#[test]
fn the_file_in_the_folder_says_what_flags_could() {
    let den = Den::new();
    let file = format!(
        "[publish]\nurl = '{}'\ntitle = 'From the file'\nignore = ['fox/**']\n[publish.collections]\n",
        den.url()
    );
    fs::write(den.path("sitebell.toml"), &file).unwrap();
    let text = printed(
        &den.place
            .run(&["publish", "site", "--title", "From the flag"]),
    );
    assert!(text.starts_with("From the flag:\n  new "), "{text}");
    assert!(text.contains("1 change on 1 page;"), "{text}");
    // Settings and wishes may share a file; what is neither is refused.
    fs::write(
        den.path("sitebell.toml"),
        format!("host-gap = '1s'\n{file}"),
    )
    .unwrap();
    printed(&den.place.run(&["publish", "site"]));
    fs::write(den.path("sitebell.toml"), "[publish]\nurll = 'x'").unwrap();
    assert_refused(
        &den.place.run(&["publish", "site"]),
        &["sitebell.toml", "urll"],
    );
}

#[test]
fn what_is_missing_or_makes_no_sense_is_named() {
    let den = Den::new();
    let refused = |arguments: &[&str], parts: &[&str]| den.place.refused(arguments, parts);
    refused(&["publish", "site"], &["--url"]);
    refused(
        &["publish", "site", "--url", "mailto:kit"],
        &["--url", "mailto"],
    );
    refused(
        &["publish", "nowhere", "--url", "a.example"],
        &["nowhere is not a folder"],
    );
    let flag =
        |flags: &[&'static str]| [&["publish", "site", "--url", "a.example"], flags].concat();
    refused(&flag(&["--collection", "fox"]), &["“fox”", "fox=Fox Den"]);
    refused(&flag(&["--collection", "../x=X"]), &["“../x”"]);
    // Such a folder would be where one of our documents is.
    fs::create_dir(den.path("changelist.xml")).unwrap();
    for name in ["changelist.xml", "fox/manifest.json"] {
        let collection = format!("{name}=Lists");
        let flags = [
            "publish",
            "site",
            "--url",
            "a.example",
            "--collection",
            &collection,
        ];
        refused(&flags, &[name, "the name of a document"]);
    }
    refused(&flag(&["--ignore", "text:("]), &["“text:(”"]);
    refused(&flag(&["--changelog", "nowhere.md"]), &["nowhere.md"]);
}

#[test]
fn a_build_from_nothing_goes_on_from_the_live_site() {
    let den = Den::new();
    for page in 0..600 {
        den.page(&format!("fox/{page}.html"), "kit");
    }
    den.publish(&[]);
    // The next build starts in an empty folder.
    fs::rename(den.path(""), den.place.path("live")).unwrap();
    den.host.serve_folder(&den.place.path("live"));
    let copy = |path: &str| {
        let to = den.path(path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(den.place.path("live").join(path), to).unwrap();
    };
    copy("index.html");
    for page in 0..600 {
        copy(&format!("fox/{page}.html"));
    }
    den.page("fox/7.html", "grown up");
    let url = den.url();
    let live = [
        "--previous",
        &url,
        "--allow-net",
        "127.0.0.0/8",
        "--host-gap",
        "0s",
    ];
    let text = den.publish(&live);
    assert_eq!(
        text.lines().collect::<Vec<_>>()[1..3],
        [
            format!("  updated  {url}fox/7.html"),
            format!("  deleted  {url}fox/den.html")
        ],
        "{text}"
    );
    den.host.serve_folder(&den.path(""));
    let checked = den.check();
    assert!(checked.contains("1 collection, 604 changes"), "{checked}");
    assert!(checked.contains("Nothing to fix."), "{checked}");
}

#[test]
fn a_live_site_that_cannot_be_read_stops_everything() {
    let den = Den::new();
    let url = den.url();
    let live = [
        "--previous",
        &url,
        "--allow-net",
        "127.0.0.0/8",
        "--host-gap",
        "0s",
    ];
    let manifest = "/sitebell/manifest.json";
    for (reply, part) in [
        (Reply::status(503), "status 503"),
        (Reply::html("<html>app"), "leave out --previous this once"),
        (Reply::text("{"), "manifest.json cannot be used"),
    ] {
        den.host.serve(manifest, reply);
        let all = [&["publish", "site", "--url", &url], &live[..]].concat();
        den.place.refused(&all, &[part]);
    }
    // One that has no state was never published.
    den.host.remove(manifest);
    let text = den.publish(&live);
    assert!(text.contains("2 changes"), "{text}");
    assert!(
        text.contains("Nothing is published at the address of --previous"),
        "{text}"
    );
    // A list from another time than the manifest would lose or repeat changes.
    let list = fs::read_to_string(den.path("sitebell/changelist.xml")).unwrap();
    den.page("fox/den.html", "More");
    den.publish(&[]);
    den.host.serve("/sitebell/changelist.xml", Reply::xml(list));
    let all = [&["publish", "site", "--url", &url], &live[..]].concat();
    den.place.refused(&all, &["different times"]);
}

#[test]
fn a_site_below_the_top_of_its_host_is_told_about_links() {
    let den = Den::new();
    let url = format!("{}den/", den.url());
    let text = printed(&den.place.run(&["publish", "site", "--url", &url]));
    assert!(
        text.contains("let the pages lead there with --html-links"),
        "{text}"
    );
}

#[test]
fn files_that_are_left_out_are_named_on_standard_error() {
    let den = Den::new();
    std::os::unix::fs::symlink("/etc/hostname", den.path("leak.html")).unwrap();
    let output = den.run(&[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        stderr(&output).contains("leak.html was left out"),
        "{}",
        stderr(&output)
    );
    assert!(!stdout(&output).contains("leak"));
}

#[test]
fn a_run_that_is_killed_leaves_a_site_without_fault() {
    let den = Den::new();
    for page in 0..700 {
        den.page(&format!("p{page}.html"), "one");
    }
    den.publish(&[]);
    for round in 0..3 {
        for page in 0..700 {
            den.page(&format!("p{page}.html"), &format!("round {round}"));
        }
        let url = den.url();
        let mut child = sitebell()
            .args(["publish", "--url", &url])
            .arg(den.path(""))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Somewhere on the way: the folder changes places with one that is being filled.
        while !den.path(".sitebell-new").exists() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let _ = child.kill();
        child.wait().unwrap();
        den.check();
        den.publish(&[]);
        assert!(
            den.check()
                .contains(&format!("{} changes", 702 + 700 * (round + 1)))
        );
        assert!(!den.path(".sitebell-new").exists());
    }
}

#[test]
fn fifty_thousand_tiny_files_are_published_within_bounded_memory() {
    let place = Place::new();
    for folder in 0..50 {
        let folder = place.path("site").join(folder.to_string());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("0.html"), "<p>fox").unwrap();
        for page in 1..1_000 {
            fs::hard_link(folder.join("0.html"), folder.join(format!("{page}.html"))).unwrap();
        }
    }
    // What the system gives to the program: more than it asks for it does not get, and the program ends there.
    let limited = "ulimit -d 131072 && exec \"$0\" publish site --url https://fox.example/";
    let publish = || {
        let program = sitebell().get_program().to_owned();
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(limited).arg(program);
        let output = shell.current_dir(place.path("")).output().unwrap();
        printed(&output)
    };
    let first = publish();
    assert!(first.contains("50000 changes on 50000 pages"), "{first}");
    let second = publish();
    assert!(
        second.contains("Nothing changed on 50000 pages"),
        "{second}"
    );
}
