//! Lists of pages in every format: each document in `tests/data/lists` against its stored expectation.
//!
//! With SITEBELL_WRITE_EXPECTATIONS=1 they are written anew, as those of [`crate::sweep`].

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufReader, Read};
use std::path::PathBuf;

use proptest::prelude::*;
use sitebell::problem::{Code, Problems};
use sitebell::read::list::{Hosts, List, MAX_UNPACKED_BYTES, Page, Sink, read};
use sitebell::read::scp;
use url::Url;

use crate::sweep::{expectation_of, files_in, is_expectation, problem_line, shortened, word};

fn documents() -> Vec<PathBuf> {
    let files = files_in("tests/data/lists").into_iter();
    files.filter(|path| !is_expectation(path)).collect()
}

#[test]
fn every_list_reads_as_it_is_expected_to() {
    let write = std::env::var_os("SITEBELL_WRITE_EXPECTATIONS").is_some();
    let mut wrong = Vec::new();
    for path in documents() {
        let rendered = render(&path);
        assert!(
            !rendered.contains(" line ? "),
            "{}\n{rendered}",
            path.display()
        );
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
fn every_expectation_of_a_list_belongs_to_one() {
    let expected: BTreeSet<_> = documents()
        .iter()
        .map(|path| expectation_of(path))
        .collect();
    let files = files_in("tests/data/lists").into_iter();
    let found: BTreeSet<_> = files.filter(|path| is_expectation(path)).collect();
    assert_eq!(found, expected);
    assert_eq!(expected.len(), documents().len());
}

fn render(path: &PathBuf) -> String {
    let bytes = fs::read(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let url: Url = format!("https://fox.example/shrine/{name}")
        .parse()
        .unwrap();
    let (result, pages, problems) = read_list(&bytes, &url);
    let mut text = String::new();
    match result {
        Err(refusal) => {
            let _ = writeln!(text, "refused {}", problem_line(&refusal));
        }
        Ok((format, list)) => {
            let _ = writeln!(text, "{} ({})", list.kind, format.as_str());
            assert_eq!(list.pages, pages.len());
            let whole = serde_json::to_value(&list).unwrap();
            for (name, value) in whole.as_object().unwrap() {
                if !matches!(name.as_str(), "kind" | "pages") {
                    let _ = writeln!(text, "{name} {value}");
                }
            }
        }
    }
    for page in &pages {
        let _ = writeln!(text, "page {}", page_line(page));
    }
    for problem in problems.iter() {
        let _ = writeln!(text, "{}", problem_line(problem));
    }
    text
}

type Result = std::result::Result<(sitebell::site::Format, List), sitebell::problem::Problem>;

fn read_list(bytes: &[u8], url: &Url) -> (Result, Vec<Page>, Problems) {
    let mut problems = Problems::default();
    let mut pages = Vec::new();
    let mut each = |page: &Page| pages.push(page.clone());
    let mut sink = Sink {
        url,
        max_unpacked_bytes: MAX_UNPACKED_BYTES,
        problems: &mut problems,
        each: &mut each,
    };
    let hosts = Hosts::of([url]);
    let result = read(&mut &*bytes, &hosts, &mut sink);
    (result, pages, problems)
}

fn page_line(page: &Page) -> String {
    let mut text = shortened(&page.url);
    let canonical = page.canonical.as_deref();
    word(&mut text, "canonical", canonical);
    word(&mut text, "lastmod", page.lastmod);
    word(&mut text, "published", page.published);
    word(&mut text, "hash", page.hash.as_deref());
    word(&mut text, "language", page.language.as_deref());
    word(&mut text, "author", page.author.as_deref());
    if page.is_private {
        text += " private";
    }
    if !page.tags.is_empty() {
        let _ = write!(text, " tags={}", page.tags.join("|"));
    }
    if let Some(title) = &page.title {
        let _ = write!(text, "\n  title {title}");
    }
    if let Some(summary) = &page.summary {
        let _ = write!(text, "\n  summary {}", shortened(summary));
    }
    text
}

/// A surface takes fifteen bytes, and an index may have four million: whoever compared each with all others before it
/// would be at it for an hour.
#[test]
fn an_spxi_index_of_too_many_surfaces_is_refused() {
    let surfaces: Vec<String> = (0..150_000)
        .map(|n| format!("{{\"@id\":\"/{n}\"}}"))
        .collect();
    let index = format!(
        "{{\"@type\":\"spxi:SemanticIndex\",\"spxi:hasSurface\":[{}]}}",
        surfaces.join(",")
    );
    let url = "https://fox.example/spxi-index.jsonld".parse().unwrap();
    let (result, pages, _) = read_list(index.as_bytes(), &url);
    assert_eq!(result.unwrap_err().code, Code::TooManyEntries);
    assert!(pages.is_empty());
}

const SCP_HEAD: &str = "{\"collection\":{\"id\":\"a\",\"section\":\"a\",\"type\":\"snapshot\",\
    \"generated\":\"2026-01-01T00:00:00Z\",\"version\":\"0.1\"}}\n";

/// A page of an SCP file, with so many bytes of text.
fn scp_page(text: usize) -> String {
    let text = "t".repeat(text);
    format!(
        "{{\"url\":\"https://fox.example/a\",\"title\":\"\",\"description\":\"\",\"modified\":\"2026-01-01\",\
        \"language\":\"en\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}\n"
    )
}

#[test]
fn an_scp_file_with_a_page_that_is_too_large_is_refused_as_a_whole() {
    let most = scp::MAX_LINE_BYTES - scp_page(0).len();
    let url = "https://fox.example/a.scp".parse().unwrap();
    let read = |large: usize| {
        let file = [SCP_HEAD, &scp_page(1), &scp_page(large)].concat();
        read_list(file.as_bytes(), &url).0
    };
    assert_eq!(read(most).unwrap().1.pages, 2);
    let refusal = read(most + 1).unwrap_err();
    assert_eq!((refusal.code, refusal.line), (Code::TooLarge, Some(3)));
}

/// One piece again and again.
struct Repeated<'a> {
    piece: &'a [u8],
    rest: &'a [u8],
    left: usize,
}

impl Read for Repeated<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.rest.is_empty() && self.left > 0 {
            self.rest = self.piece;
            self.left -= 1;
        }
        self.rest.read(buffer)
    }
}

#[test]
fn an_scp_file_of_too_many_pages_is_refused() {
    let page = scp_page(0);
    let pages = Repeated {
        piece: page.as_bytes(),
        rest: &[],
        left: scp::MAX_PAGES + 1,
    };
    let mut file = BufReader::new(SCP_HEAD.as_bytes().chain(pages));
    let url = "https://fox.example/a.scp".parse().unwrap();
    let (mut count, mut problems) = (0, Problems::default());
    let mut sink = Sink {
        url: &url,
        max_unpacked_bytes: MAX_UNPACKED_BYTES,
        problems: &mut problems,
        each: &mut |_| count += 1,
    };
    let refusal = read(&mut file, &Hosts::of([&url]), &mut sink).unwrap_err();
    assert_eq!(refusal.code, Code::TooManyEntries);
    assert_eq!(count, scp::MAX_PAGES);
}

fn any_sample() -> impl Strategy<Value = Vec<u8>> {
    let samples: Vec<Vec<u8>> = (documents().iter())
        .map(|path| fs::read(path).unwrap())
        .collect();
    prop::sample::select(samples)
}

proptest! {
    /// Whatever happens to a document on its way, what comes out are whole addresses of the site itself, and clean text.
    #[test]
    fn a_mutilated_list_gives_nothing_but_pages_of_its_site(
        sample in any_sample(),
        cut in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        place in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = sample;
        if !bytes.is_empty() {
            let at = place.index(bytes.len());
            bytes[at] = byte;
            if is_cut {
                bytes.truncate(cut.index(bytes.len()));
            }
        }
        let url: Url = "https://fox.example/shrine/list".parse().unwrap();
        let (_, pages, _) = read_list(&bytes, &url);
        for page in pages {
            let parsed = Url::parse(&page.url).unwrap();
            prop_assert_eq!(parsed.as_str(), page.url.as_str());
            prop_assert!(matches!(parsed.host_str(), Some("fox.example" | "www.fox.example")));
            prop_assert!(!page.url.contains('#'));
            for text in page.title.iter().chain(&page.summary).chain(&page.author).chain(&page.tags) {
                prop_assert!(!text.contains(|c: char| c.is_control()), "{}", text);
            }
        }
    }

    /// XML that ends too early is never a shorter list.
    #[test]
    fn a_sitemap_that_is_cut_off_is_refused(cut in any::<prop::sample::Index>()) {
        let whole = include_bytes!("../data/lists/sitemap.xml");
        let end = whole.iter().rposition(|byte| *byte == b'>').unwrap();
        let url: Url = "https://fox.example/list".parse().unwrap();
        prop_assert!(read_list(&whole[..cut.index(end)], &url).0.is_err());
    }
}
