//! Documents that are wide, deep or long where nobody wants to know: reading one takes no more memory than what is used of
//! it.
//!
//! Memory is that of a whole process, so each is read in one of its own: this very test, run again with the name of the
//! document.

use std::io::{BufReader, Cursor, Read};
use std::process::Command;
use std::{env, fs};

use sitebell::problem::Problems;
use sitebell::read::list::{Hosts, MAX_UNPACKED_BYTES, Sink, read};
use url::Url;

/// Names the document, in the process that reads it.
const DOCUMENT: &str = "SITEBELL_TEST_DOCUMENT";
/// What reading any of them may take beyond what reading nothing takes.
const MAX_KILOBYTES: u64 = 24 * 1024;

const ARC: &str = r#"{"arc_sitemap_version":"2.1","site":"https://fox.example","generated_at":"2026-01-09T08:00:00Z","pages":["#;
const ARC_PAGE: &str = r#"{"url":"https://fox.example/a","ai_indexable":true"#;
const SPXI: &str =
    r#"{"@type":"spxi:SemanticIndex","spxi:hasSurface":{"@id":"https://fox.example/a"}"#;
const SCP: &str = r#"{"collection":{"id":"a","section":"a","type":"snapshot","generated":"2026-01-01T00:00:00Z","version":"0.1"}}
{"url":"https://fox.example/a","title":"","description":"","modified":"2026-01-01","language":"en","content":[]"#;
const SITEMAP: &str = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:x='urn:x'><url><loc>https://fox.example/a</loc>";

/// A document: its name, how it begins, a piece that comes so often, and how it ends. Then what is made of it: how many
/// pages, or the code of its refusal.
type Document = (
    &'static str,
    String,
    &'static str,
    usize,
    &'static str,
    &'static str,
);

fn documents() -> Vec<Document> {
    let arc = |name, member: &str, piece, count, end, told| {
        (
            name,
            format!("{ARC}{ARC_PAGE},{member}"),
            piece,
            count,
            end,
            told,
        )
    };
    let spxi = |name, member: &str, piece, count, end, told| {
        (name, format!("{SPXI},{member}"), piece, count, end, told)
    };
    let scp = |name, member: &str, piece, count, end, told| {
        (name, format!("{SCP},{member}"), piece, count, end, told)
    };
    let xml = |name, piece, count, end, told| (name, SITEMAP.to_owned(), piece, count, end, told);
    vec![
        ("nothing", String::new(), "", 0, "", "not-a-list"),
        arc(
            "an ARC page that is wide",
            "\"x\":[0",
            ",{\"a\":0}",
            2_000_000,
            "]}]}",
            "1",
        ),
        arc(
            "a wide snapshot",
            "\"ai_snapshot\":{\"page\":\"p\"",
            ",\"a\":[0,0,0]",
            1_000_000,
            "}}]}",
            "1",
        ),
        arc(
            "many tags",
            "\"ai_tags\":[\"a\"",
            ",\"b\"",
            4_000_000,
            "]}]}",
            "1",
        ),
        arc("a deep ARC page", "\"x\":[", "[", 16_000_000, "", "cut-off"),
        arc(
            "a long text in ARC",
            "\"ai_summary\":\"",
            "0123456789",
            4_000_000,
            "\"}]}",
            "too-large",
        ),
        arc(
            "a long name in ARC",
            "\"",
            "0123456789",
            4_000_000,
            "\":0}]}",
            "too-large",
        ),
        spxi(
            "a wide SPXI index",
            "\"x\":[0",
            ",{\"a\":0}",
            500_000,
            "]}",
            "1",
        ),
        spxi(
            "many SPXI entities",
            "\"spxi:hasEntity\":[{}",
            ",{\"a\":0}",
            500_000,
            "]}",
            "1",
        ),
        spxi(
            "many markers",
            "\"spxi:hasEntity\":{\"spxi:semanticIntegrityMarker\":[0",
            ",\"a\"",
            1_000_000,
            "]}}",
            "1",
        ),
        spxi(
            "a wide context",
            "\"@context\":[0",
            ",{\"a\":\"b\"}",
            380_000,
            "]}",
            "1",
        ),
        scp(
            "a wide author",
            "\"author\":[0",
            ",{\"a\":0}",
            110_000,
            "]}",
            "1",
        ),
        scp(
            "a wide SCP page",
            "\"x\":[0",
            ",{\"a\":0}",
            110_000,
            "]}",
            "1",
        ),
        xml(
            "a wide sitemap",
            "<x:x x:a='1'><x:y/>z</x:x>",
            600_000,
            "</url></urlset>",
            "1",
        ),
        xml("a deep sitemap", "<x:x>", 3_000_000, "", "too-complex"),
        xml(
            "a long text in XML",
            "&amp;0123456789",
            1_000_000,
            "</url></urlset>",
            "1",
        ),
    ]
}

/// The same piece again and again.
struct Repeated {
    piece: Cursor<&'static str>,
    left: usize,
}

impl Read for Repeated {
    fn read(&mut self, target: &mut [u8]) -> std::io::Result<usize> {
        let count = self.piece.read(target)?;
        if count > 0 || self.left == 0 {
            return Ok(count);
        }
        self.left -= 1;
        self.piece.set_position(0);
        self.piece.read(target)
    }
}

/// What is made of a document.
fn told(document: Document) -> String {
    let (_, begin, piece, left, end, _) = document;
    let mut piece = Cursor::new(piece);
    piece.set_position(piece.get_ref().len() as u64);
    let whole = Cursor::new(begin)
        .chain(Repeated { piece, left })
        .chain(end.as_bytes());
    let url: Url = "https://fox.example/list".parse().unwrap();
    let (mut count, mut problems) = (0, Problems::default());
    let mut sink = Sink {
        url: &url,
        max_unpacked_bytes: MAX_UNPACKED_BYTES,
        problems: &mut problems,
        each: &mut |_| count += 1,
    };
    match read(&mut BufReader::new(whole), &Hosts::of([&url]), &mut sink) {
        Ok(_) => count.to_string(),
        Err(problem) => problem.code.name().to_owned(),
    }
}

/// The most memory that this process had at any time, in kilobytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    let peak = lines.find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn what_nobody_wants_to_know_is_never_in_memory() {
    if let Ok(name) = env::var(DOCUMENT) {
        let mut all = documents().into_iter();
        let document = all.find(|document| document.0 == name).unwrap();
        let told = told(document);
        println!("\nread: {told} {}", peak());
        return;
    }
    let read_apart = |name: &str| {
        let test = "bombs::what_nobody_wants_to_know_is_never_in_memory";
        let mut child = Command::new(env::current_exe().unwrap());
        let child = child
            .args(["--exact", test, "--nocapture"])
            .env(DOCUMENT, name);
        let output = String::from_utf8(child.output().unwrap().stdout).unwrap();
        let line = output.lines().find_map(|line| line.strip_prefix("read: "));
        let line = line.unwrap_or_else(|| panic!("{name}: {output}"));
        let (told, peak) = line.split_once(' ').unwrap();
        (told.to_owned(), peak.parse::<u64>().unwrap())
    };
    let (_, nothing) = read_apart("nothing");
    for (name, _, _, _, _, expected) in documents() {
        let (told, peak) = read_apart(name);
        assert_eq!(told, expected, "{name}");
        let more = peak.saturating_sub(nothing);
        assert!(more <= MAX_KILOBYTES, "{name}: {more} kB");
    }
}
