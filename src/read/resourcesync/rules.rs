//! What proposal IFCC-0001 asks of an author beyond what is needed to read a document at all.
//!
//! Each function looks at one document that was read; the walk through a site adds what takes two documents to see.

use url::Url;

use super::document::{Capability, Document};
use super::read::Reading;
use crate::problem::{Code, Problem, Problems};
use crate::text::quote;

/// Checks everything that can be said of a document on its own.
pub fn check(reading: &Reading, url: &Url, problems: &mut Problems) {
    let document = &reading.document;
    let mut rules = Rules {
        document,
        url,
        line: reading.line.max(1),
        problems,
    };
    match document.capability {
        Capability::Description if !document.is_index => rules.source_description(),
        Capability::CapabilityList if !document.is_index => rules.capability_list(),
        Capability::ChangeList => rules.change_list(),
        _ => {}
    }
}

/// Checks the `up` link of a document that was found through `parents`: the address that was asked for, and the one
/// that answered.
pub fn check_up(reading: &Reading, url: &Url, parents: &[&Url], problems: &mut Problems) {
    let Some(parent) = parents.first() else {
        return;
    };
    let href = quick_xml::escape::escape(parent.as_str());
    let snippet = format!("<rs:ln rel=\"up\" href=\"{href}\"/>");
    let line = reading.line.max(1);
    match up(&reading.document) {
        None => {
            let message = format!("the {} has no `up` link", reading.document.title());
            problems.add(
                Problem::new(Code::NoUp, url, message)
                    .at(line)
                    .with_snippet(snippet),
            );
        }
        Some(up)
            if parents
                .iter()
                .any(|parent| same_address(up, parent.as_str())) => {}
        Some(up) => {
            let message = format!(
                "`up` leads to {}, but {} is the document that lists this one",
                quote(up),
                quote(parent.as_str())
            );
            problems.add(
                Problem::new(Code::UpMismatch, url, message)
                    .at(line)
                    .with_snippet(snippet),
            );
        }
    }
}

/// Where a document says that it belongs. Drafts before 1.0 called the link `resourcesync`.
pub fn up(document: &Document) -> Option<&str> {
    document
        .link("up")
        .or_else(|| document.link("resourcesync"))
}

/// Whether two addresses name the same document; http and https do.
pub fn same_address(one: &str, other: &str) -> bool {
    let bare = |address: &'_ str| {
        let rest = address
            .strip_prefix("https:")
            .or_else(|| address.strip_prefix("http:"));
        rest.unwrap_or(address).to_owned()
    };
    one == other || bare(one) == bare(other)
}

struct Rules<'a> {
    document: &'a Document,
    url: &'a Url,
    line: u32,
    problems: &'a mut Problems,
}

impl Rules<'_> {
    fn source_description(&mut self) {
        let document = self.document;
        self.described_by();
        let mut collections = 0;
        for entry in &document.entries {
            match &entry.capability {
                None => {
                    let message = format!(
                        "the entry for {} has no capability; it was taken for a Capability List",
                        quote(&entry.loc)
                    );
                    self.add(Code::EntryWithoutCapability, entry.line, message);
                }
                Some(Capability::CapabilityList) => {}
                Some(other) => {
                    let message = format!(
                        "{} is listed as {}, not as a Capability List",
                        quote(&entry.loc),
                        quote(other.title())
                    );
                    self.add(Code::UnexpectedEntry, entry.line, message);
                    continue;
                }
            }
            collections += 1;
            if entry.link("describes").is_none() {
                let message = format!(
                    "the entry for {} does not say which collection it describes",
                    quote(&entry.loc)
                );
                self.add(Code::NoDescribesInDescription, entry.line, message);
            }
            if entry.link("describedby").is_none() {
                let message = format!(
                    "the entry for {} has no link to information about the collection",
                    quote(&entry.loc)
                );
                self.add(Code::NoDescribedby, entry.line, message);
            }
        }
        if collections == 0 {
            self.add(
                Code::NoCollections,
                self.line,
                "the Source Description lists no Capability List".to_owned(),
            );
        }
    }

    fn capability_list(&mut self) {
        let document = self.document;
        self.old_up();
        self.described_by();
        if document.link("describes").is_none() {
            let message =
                "the Capability List does not say which collection it describes".to_owned();
            self.add(Code::NoDescribes, self.line, message);
        }
        for entry in document
            .entries
            .iter()
            .filter(|entry| entry.capability.is_none())
        {
            let message = format!(
                "the entry for {} does not say what it leads to; it was passed over",
                quote(&entry.loc)
            );
            self.problems.add(
                Problem::new(Code::EntryWithoutCapability, self.url, message)
                    .at(entry.line.max(1))
                    .with_snippet("<rs:md capability=\"changelist\"/>"),
            );
        }
        let lists = document
            .entries
            .iter()
            .filter(|entry| entry.capability == Some(Capability::ChangeList));
        let has_pages = (document.entries.iter())
            .any(|entry| entry.capability == Some(Capability::ResourceList));
        match lists.count() {
            0 if has_pages => {
                let message =
                    "the Capability List has a Resource List, and no Change List".to_owned();
                self.add(Code::OnlyAList, self.line, message);
            }
            0 => {
                let message =
                    "the Capability List has no Change List, so no changes can be told".to_owned();
                self.add(Code::NoChangeList, self.line, message);
            }
            1 => {}
            count => {
                let message =
                    format!("the Capability List has {count} Change Lists; all of them were read");
                self.add(Code::SeveralChangeLists, self.line, message);
            }
        }
    }

    fn change_list(&mut self) {
        let document = self.document;
        self.old_up();
        if document.from.is_none() {
            let message = format!("the {} has no usable `from`", document.title());
            self.add(Code::NoFrom, self.line, message);
        }
        if !document.is_index {
            if let Some(entry) = document.entries.first() {
                let message =
                    "the list leads to other lists, so it is an index; it must be a sitemapindex"
                        .to_owned();
                self.add(Code::IndexAsUrlset, entry.line, message);
            }
            return;
        }
        for entry in document.entries.iter().filter(|entry| entry.from.is_none()) {
            let message = format!(
                "the entry for {} does not say which time it covers",
                quote(&entry.loc)
            );
            self.add(Code::IndexEntryWithoutFrom, entry.line, message);
        }
        for pair in document.entries.windows(2) {
            if let (Some(before), Some(after)) = (pair[0].from, pair[1].from)
                && after.comes_before(&before)
            {
                let message = format!("a list from {after} comes after one from {before}");
                self.add(Code::NotOldestFirst, pair[1].line, message);
            }
        }
    }

    fn described_by(&mut self) {
        if self.document.link("describedby").is_none() {
            let message = format!(
                "the {} has no link to a title and an author",
                self.document.title()
            );
            self.add(Code::NoDescribedby, self.line, message);
        }
    }

    fn old_up(&mut self) {
        if self.document.link("up").is_none() && self.document.link("resourcesync").is_some() {
            let message =
                "the link upwards is called `resourcesync`, as before ResourceSync 1.0".to_owned();
            self.add(Code::OldUp, self.line, message);
        }
    }

    fn add(&mut self, code: Code, line: u32, message: String) {
        self.problems
            .add(Problem::new(code, self.url, message).at(line.max(1)));
    }
}
