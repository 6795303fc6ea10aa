//! Reads a document and keeps everything that comes out.

use std::io::Read;

use sitebell::problem::{Code, Problem, Problems};
use sitebell::read::resourcesync::{Entry, Reading, ReadingRules, read, rules};
use url::Url;

/// Where all documents of these tests say they are from.
pub const ADDRESS: &str = "https://fox.example/shrine/document.xml";

/// A reading with what was handed on and what was found fault with.
pub struct Whole {
    pub result: Result<Reading, Problem>,
    pub handed_on: Vec<Entry>,
    pub problems: Problems,
}

/// Reads a document, and checks it against the rules if it could be read.
pub fn read_whole(source: impl Read) -> Whole {
    let url = address();
    let mut problems = Problems::default();
    let mut handed_on = Vec::new();
    let mut each = |entry: &Entry| handed_on.push(entry.clone());
    let result = read(
        source,
        &url,
        ReadingRules::default(),
        &mut problems,
        &mut each,
    );
    if let Ok(reading) = &result {
        rules::check(reading, &url, &mut problems);
    }
    Whole {
        result,
        handed_on,
        problems,
    }
}

pub fn address() -> Url {
    ADDRESS.parse().unwrap()
}

impl Whole {
    /// The reading of a document that should have been readable.
    pub fn reading(&self) -> &Reading {
        match &self.result {
            Ok(reading) => reading,
            Err(problem) => panic!("refused: {} ({})", problem.message, problem.code),
        }
    }

    /// Why the document was refused.
    pub fn refusal(&self) -> Code {
        match &self.result {
            Ok(reading) => panic!("read as a {}", reading.document.title()),
            Err(problem) => problem.code,
        }
    }

    /// What was found fault with, without repetitions.
    pub fn codes(&self) -> Vec<Code> {
        self.problems.iter().map(|problem| problem.code).collect()
    }

    /// What was handed on, with the lines taken off: they say where, not what.
    pub fn changes(&self) -> Vec<Entry> {
        without_lines(&self.handed_on)
    }
}

pub fn without_lines(entries: &[Entry]) -> Vec<Entry> {
    let plain = entries.iter().map(|entry| Entry {
        line: 0,
        ..entry.clone()
    });
    plain.collect()
}
