//! Readers' own parsers: feed-rs, atom_syndication, and Python's feedparser, which runs once for all tests; and a
//! validator, libxml2 with the grammar in `atom.rng`.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use atom_syndication::Feed;
use serde_json::{Value, json};

use super::tree::Node;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const PYTHON: &str = "target/readers/bin/python";

/// Has a feed read by all of them; each must find what the tree has.
pub fn read(text: &str, feed: &Node) {
    let ids: Vec<&str> = feed.all("entry").map(id).collect();

    let read = feed_rs::parser::parse(text.as_bytes()).expect("feed-rs reads it");
    assert_eq!(read.id, id(feed));
    let found: Vec<&str> = read.entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(found, ids, "feed-rs");

    let read: Feed = text.parse().expect("atom_syndication reads it");
    assert_eq!(read.id, id(feed));
    let found: Vec<&str> = read.entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(found, ids, "atom_syndication");

    let read = python(text);
    assert_eq!(read["broken"], json!([]), "libxml2, by atom.rng");
    assert_eq!(read["bozo"], Value::Null, "feedparser complains");
    assert_eq!(read["version"], "atom10");
    assert_eq!(read["id"], id(feed));
    let entries = read["entries"].as_array().unwrap();
    let found: Vec<&str> = entries
        .iter()
        .map(|entry| entry["id"].as_str().unwrap())
        .collect();
    assert_eq!(found, ids, "feedparser");
    for (entry, node) in entries.iter().zip(feed.all("entry")) {
        let title = node.one("title").unwrap();
        // Those that are declared as HTML are shown to people as that.
        if title.attribute("type") != Some("html") {
            assert_eq!(entry["title"], title.text.trim(), "feedparser");
        }
        assert!(
            entry["updated"].is_array() && entry["link"].is_string(),
            "{entry}"
        );
        let pages = node.one("content").unwrap().text.matches("<li>").count();
        assert_eq!(entry["pages"], pages, "feedparser keeps the whole list");
    }
}

fn id(node: &Node) -> &str {
    &node.one("id").unwrap().text
}

struct Python {
    _child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What libxml2 and feedparser make of a feed.
pub fn python(text: &str) -> Value {
    static PYTHON_PROCESS: OnceLock<Mutex<Python>> = OnceLock::new();
    let python = PYTHON_PROCESS.get_or_init(|| Mutex::new(start()));
    // Each question and its answer are whole, unless the process is gone; then the next one fails as well.
    let mut python = python.lock().unwrap_or_else(PoisonError::into_inner);
    writeln!(python.input, "{}", text.len()).unwrap();
    python.input.write_all(text.as_bytes()).unwrap();
    python.input.flush().unwrap();
    let mut line = String::new();
    python.output.read_line(&mut line).unwrap();
    serde_json::from_str(&line).expect("feedparser answers")
}

fn start() -> Python {
    let python = Path::new(ROOT).join(PYTHON);
    assert!(
        python.exists(),
        "Python's feedparser and lxml, which read every feed of these tests, are not installed; run tests/run, which installs them"
    );
    let mut child = Command::new(python)
        .arg(Path::new(ROOT).join("tests/it/feeds/parse.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    Python {
        input: child.stdin.take().unwrap(),
        output: BufReader::new(child.stdout.take().unwrap()),
        _child: child,
    }
}

#[test]
fn the_grammar_finds_what_is_wrong() {
    let good = include_str!("snapshots/one-change.atom");
    assert_eq!(python(good)["broken"], json!([]));
    for (part, instead) in [
        ("<id>", "<id/><id>"),
        ("<id>tag:", "<id>"),
        ("rel=\"self\"", "rol=\"self\""),
        ("+00:00</updated>", "</updated>"),
        ("<author>", "<author><age>7</age>"),
        ("<entry>", "<entry><subtitle/>"),
        ("type=\"html\"", "type=\"htm\""),
    ] {
        let text = good.replacen(part, instead, 1);
        assert_ne!(text, good, "{part} is there");
        assert_ne!(
            python(&text)["broken"],
            json!([]),
            "{instead} goes unnoticed"
        );
    }
}
