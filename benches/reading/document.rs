//! The document that is read, and our way of reading it.

use std::io::Read;

use chrono::{DateTime, TimeDelta};
use sitebell::change::ChangeKind;
use sitebell::moment::Moment;
use sitebell::problem::Problems;
use sitebell::read::resourcesync::{Capability, Document, Entry, ReadingRules, read, write};

use crate::common::Failure;

const ADDRESS: &str = "https://example.com/my-shrine/changelist.xml";

/// A Change List as a shrine has it, oldest change first, about 184 bytes an entry.
pub fn change_list(entries: usize) -> Result<Vec<u8>, Failure> {
    let first = DateTime::from_timestamp(1_667_727_000, 0).ok_or("no such time")?;
    let kinds = [
        ChangeKind::Updated,
        ChangeKind::Created,
        ChangeKind::Updated,
        ChangeKind::Deleted,
    ];
    let entries = (0..entries).zip(0_i64..).map(|(number, minutes)| {
        let datetime = Moment::from_utc(first + TimeDelta::minutes(minutes));
        Entry {
            loc: format!("https://example.com/my-shrine/page-{number:05}.html"),
            lastmod: Some(datetime),
            change: Some(kinds[number % kinds.len()]),
            datetime: Some(datetime),
            ..Entry::default()
        }
    });
    let document = Document {
        capability: Capability::ChangeList,
        from: Some(Moment::from_utc(first)),
        entries: entries.collect(),
        ..Document::default()
    };
    Ok(write(&document).into_bytes())
}

/// Reads a document of which every entry is known already: all checks are made, nothing is kept.
pub fn read_known(source: impl Read) -> Result<usize, Failure> {
    let mut problems = Problems::default();
    let rules = ReadingRules::default();
    let mut bytes = 0;
    let mut look = |entry: &Entry| bytes += entry.loc.len();
    let reading = read(source, &ADDRESS.parse()?, rules, &mut problems, &mut look)
        .map_err(|problem| problem.message)?;
    if !problems.is_empty() || reading.ignored > 0 || bytes == 0 {
        return Err("the document should be read without a problem".into());
    }
    Ok(reading.handed_on)
}
