//! Any bytes as a ResourceSync document: what was read can be written, and reads back as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sitebell::problem::Problems;
use sitebell::read::resourcesync::{Document, ReadingRules, read, write};
use url::Url;

fn whole(bytes: &[u8]) -> Option<Document> {
    let url: Url = "https://s.example/fox/list.xml".parse().expect("an address");
    let mut problems = Problems::default();
    let mut handed_on = Vec::new();
    let mut keep = |entry: &_| handed_on.push(Clone::clone(entry));
    let rules = ReadingRules::default();
    let mut document = read(bytes, &url, rules, &mut problems, &mut keep)
        .ok()?
        .document;
    document.entries.extend(handed_on);
    // Where an entry stood is no part of what it says.
    for entry in &mut document.entries {
        entry.line = 0;
    }
    Some(document)
}

fuzz_target!(|bytes: &[u8]| {
    if let Some(document) = whole(bytes) {
        let text = write(&document);
        assert_eq!(whole(text.as_bytes()), Some(document), "{text}");
    }
});
