//! Every document in `tests/data` against its stored expectation.
//!
//! An expectation is the whole reading as text: what the document is, every entry and change, and every problem. With
//! SITEBELL_WRITE_EXPECTATIONS=1 they are written anew; then the difference is there to be read before it is kept.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sitebell::change::Link;
use sitebell::moment::Moment;
use sitebell::problem::{Code, Problem, Problems};
use sitebell::read::resourcesync::{Document, Entry, ReadingRules, read, rules};
use url::Url;

/// Codes that no single document can earn: they take a server, a clock, or a second document.
const OF_A_WALK: &[Code] = &[
    Code::Gap,
    Code::BadCompression,
    Code::NotFound,
    Code::NotWellKnown,
    Code::Unreachable,
    Code::HttpError,
    Code::ForbiddenAddress,
    Code::TooLarge,
    Code::LimitReached,
    Code::WrongCapability,
    Code::TooManyEntries, // One document would do, but not one to keep in a repository; see `hostile`.
    Code::MetadataUnreadable,
    Code::NoUp,
    Code::UpMismatch,
    Code::DescribesConflict,
    Code::DuplicateCollection,
    Code::ForeignCollection,
    Code::FutureDatetime,
    Code::OffSitePages,
    Code::LargeChangeList,
    Code::IndexUntilMismatch,
    Code::NestedIndex,
    Code::OldRoot,
    Code::StampedLastmod,
    Code::MassChange,
    Code::EmptyList,
    Code::OnlyAList,
    Code::NestedSitemaps,
    Code::SitemapTwice,
    Code::SitemapsAsPages,
    Code::SpxiStale,
    Code::SpxiIncomplete,
    Code::NoWholeList,
    Code::SectionGap,
    Code::SectionOfAll,
    Code::SectionTwice,
];

#[test]
fn every_document_reads_as_it_is_expected_to() {
    let write = std::env::var_os("SITEBELL_WRITE_EXPECTATIONS").is_some();
    let mut wrong = Vec::new();
    for path in documents() {
        let rendered = render(&path);
        let expectation = expectation_of(&path);
        if write {
            fs::write(&expectation, &rendered).unwrap();
        }
        let expected = fs::read_to_string(&expectation).unwrap_or_default();
        if rendered != expected {
            wrong.push(format!(
                "{}\n--- expected\n{expected}--- read\n{rendered}",
                path.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_expectation_belongs_to_a_document() {
    let expected: BTreeSet<_> = documents()
        .iter()
        .map(|path| expectation_of(path))
        .collect();
    let found: BTreeSet<_> = files()
        .into_iter()
        .filter(|path| is_expectation(path))
        .collect();
    assert_eq!(found, expected);
    // Two documents that differ in their ending only would share one.
    assert_eq!(expected.len(), documents().len());
}

#[test]
fn every_problem_that_one_document_can_have_is_shown_by_one() {
    let lists = files_in("tests/data/lists");
    let everything: String = documents()
        .iter()
        .chain(&lists)
        .map(|path| fs::read_to_string(expectation_of(path)).unwrap_or_default())
        .collect();
    let shown = |code: &Code| everything.contains(&format!(" {code} line "));
    let missing: Vec<_> = Code::ALL
        .iter()
        .filter(|code| !OF_A_WALK.contains(code) && !shown(code))
        .collect();
    assert_eq!(missing, Vec::<&Code>::new());
}

#[test]
fn every_problem_has_a_line() {
    for path in documents() {
        let rendered = render(&path);
        assert!(
            !rendered.contains(" line ? "),
            "{}\n{rendered}",
            path.display()
        );
    }
}

fn files() -> Vec<PathBuf> {
    files_in("tests/data")
}

/// The files of a folder, those of other folders in it left out.
pub fn files_in(folder: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.is_file())
        .filter(|path| !path.file_name().unwrap().to_str().unwrap().starts_with('.'))
        .collect();
    files.sort();
    files
}

fn documents() -> Vec<PathBuf> {
    let documents = files().into_iter().filter(|path| !is_expectation(path));
    documents.collect()
}

pub fn is_expectation(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "expect")
}

pub fn expectation_of(document: &Path) -> PathBuf {
    document.with_extension("expect")
}

/// The reading of a document as text; and once more with `lastmod` accepted, if that changes anything.
fn render(path: &Path) -> String {
    let bytes = fs::read(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let url: Url = format!("https://fox.example/shrine/{name}")
        .parse()
        .unwrap();
    let strict = render_with(&bytes, &url, ReadingRules::default());
    let lenient = render_with(
        &bytes,
        &url,
        ReadingRules {
            accept_lastmod: true,
        },
    );
    match strict == lenient {
        true => strict,
        false => format!("{strict}\nwith lastmod accepted\n{lenient}"),
    }
}

fn render_with(bytes: &[u8], url: &Url, how: ReadingRules) -> String {
    let mut problems = Problems::default();
    let mut changes = String::new();
    let mut each = |entry: &Entry| {
        let _ = writeln!(changes, "handed on {}", entry_line(entry));
    };
    let result = read(bytes, url, how, &mut problems, &mut each);
    let mut text = String::new();
    match result {
        Err(refusal) => {
            let _ = writeln!(text, "refused {}", problem_line(&refusal));
        }
        Ok(reading) => {
            rules::check(&reading, url, &mut problems);
            text += &document_lines(&reading.document);
            let order = if reading.newest_first {
                ", newest first"
            } else {
                ""
            };
            let _ = writeln!(
                text,
                "line {}: {} handed on, {} kept, {} ignored{order}",
                reading.line,
                reading.handed_on,
                reading.document.entries.len(),
                reading.ignored
            );
        }
    }
    text += &changes;
    for problem in problems.iter() {
        let _ = writeln!(text, "{}", problem_line(problem));
        if problem.snippet != problem.code.snippet_for(&problem.document) {
            let _ = writeln!(text, "  write {}", problem.snippet);
        }
    }
    text
}

fn document_lines(document: &Document) -> String {
    let root = if document.is_index {
        "sitemapindex"
    } else {
        "urlset"
    };
    let mut text = format!(
        "{} ({root}, {})",
        document.title().escape_debug(),
        document.capability.as_str().escape_debug()
    );
    moment(&mut text, "from", document.from);
    moment(&mut text, "until", document.until);
    moment(&mut text, "at", document.at);
    moment(&mut text, "completed", document.completed);
    text.push('\n');
    for link in &document.links {
        let _ = writeln!(text, "link {}", link_words(link));
    }
    for entry in &document.entries {
        let _ = writeln!(text, "kept {}", entry_line(entry));
    }
    text
}

fn entry_line(entry: &Entry) -> String {
    let mut text = format!("line {}", entry.line);
    if let Some(capability) = &entry.capability {
        let _ = write!(text, " {}", capability.as_str());
    }
    if let Some(change) = entry.change {
        let _ = write!(text, " {change}");
    }
    let _ = write!(text, " {}", shortened(&entry.loc));
    moment(&mut text, "datetime", entry.datetime);
    moment(&mut text, "lastmod", entry.lastmod);
    moment(&mut text, "from", entry.from);
    moment(&mut text, "until", entry.until);
    moment(&mut text, "at", entry.at);
    moment(&mut text, "completed", entry.completed);
    let details = &entry.details;
    word(&mut text, "path", entry.path.as_deref());
    word(&mut text, "hash", details.hash.as_deref());
    word(&mut text, "length", details.length);
    word(&mut text, "type", details.media_type.as_deref());
    word(&mut text, "encoding", details.encoding.as_deref());
    for link in &details.links {
        let _ = write!(text, "\n  link {}", link_words(link));
    }
    text
}

fn link_words(link: &Link) -> String {
    let mut text = format!("{} {}", link.rel, shortened(&link.href));
    word(&mut text, "pri", link.pri);
    moment(&mut text, "modified", link.modified);
    word(&mut text, "hash", link.hash.as_deref());
    word(&mut text, "length", link.length);
    word(&mut text, "type", link.media_type.as_deref());
    word(&mut text, "encoding", link.encoding.as_deref());
    text
}

pub fn problem_line(problem: &Problem) -> String {
    let severity = format!("{:?}", problem.severity()).to_lowercase();
    let line = problem.line.map_or("?".to_owned(), |line| line.to_string());
    format!(
        "{severity} {} line {line} x{} {}",
        problem.code, problem.count, problem.message
    )
}

fn moment(text: &mut String, name: &str, moment: Option<Moment>) {
    word(text, name, moment);
}

pub fn word(text: &mut String, name: &str, value: Option<impl std::fmt::Display>) {
    if let Some(value) = value {
        let _ = write!(text, " {name}={value}");
    }
}

pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(120) {
        Some((cut, _)) => format!("{}…({} characters)", &text[..cut], text.chars().count()),
        None => text.to_owned(),
    }
}
