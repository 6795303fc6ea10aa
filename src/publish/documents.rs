//! The documents that tell of a site, of its collections and of their changes.

use super::state::{Closed, Log, MARK, OPEN_LIST, in_log};
use super::{ENTRY_POINT, OWN_FOLDER, Site};
use crate::change::{Details, Link};
use crate::read::about;
use crate::read::resourcesync::{Capability, Document, Entry};
use crate::site::About;

/// The name of the Capability List of a collection.
pub(super) const CAPABILITY_LIST: &str = "capabilitylist.xml";
/// The name of the index of its lists, once there are several.
pub(super) const INDEX: &str = "changelist-index.xml";
/// The name of what says what the site and its collections are called.
pub(super) const ABOUT: &str = "about.xml";

/// The Capability List of the collection that a page is in, as an address.
pub fn capability_list_of(site: &Site, page: &str) -> String {
    site.address_of(&in_log(site.collection_of(page), CAPABILITY_LIST))
}

/// A document with the line that says who wrote it.
pub(super) fn marked(document: &str) -> String {
    document.replacen("?>\n", &format!("?>\n{MARK}\n"), 1)
}

/// The documents of one collection.
pub(super) struct Documents<'a> {
    pub(super) site: &'a Site,
    pub(super) folder: &'a str,
}

impl Documents<'_> {
    fn address(&self, file: &str) -> String {
        self.site.address_of(&in_log(self.folder, file))
    }

    fn up(&self) -> Link {
        Link::new("up", self.address(CAPABILITY_LIST))
    }

    pub(super) fn capability_list(&self, log: &Log) -> Document {
        let list = if log.closed.is_empty() {
            OPEN_LIST
        } else {
            INDEX
        };
        Document {
            capability: Capability::CapabilityList,
            links: vec![
                Link::new("up", self.site.address_of(ENTRY_POINT)),
                Link::new("describes", identity(self.site, self.folder)),
                described_by(self.site),
            ],
            entries: vec![Entry {
                loc: self.address(list),
                capability: Some(Capability::ChangeList),
                ..Entry::default()
            }],
            ..Document::default()
        }
    }

    pub(super) fn open_list(&self, log: &Log) -> Document {
        let index = (!log.closed.is_empty()).then(|| Link::new("index", self.address(INDEX)));
        Document {
            capability: Capability::ChangeList,
            from: Some(log.from),
            links: [self.up()].into_iter().chain(index).collect(),
            entries: log.open.clone(),
            ..Document::default()
        }
    }

    pub(super) fn closed_list(&self, list: &Closed, entries: Vec<Entry>) -> Document {
        Document {
            capability: Capability::ChangeList,
            from: Some(list.from),
            until: Some(list.until),
            links: vec![self.up(), Link::new("index", self.address(INDEX))],
            entries,
            ..Document::default()
        }
    }

    pub(super) fn index(&self, log: &Log) -> Document {
        let open = (OPEN_LIST, log.from, None);
        let closed =
            (log.closed.iter()).map(|list| (list.file.as_str(), list.from, Some(list.until)));
        let entries = closed.chain([open]).map(|(file, from, until)| Entry {
            loc: self.address(file),
            from: Some(from),
            until,
            ..Entry::default()
        });
        Document {
            capability: Capability::ChangeList,
            is_index: true,
            from: Some(log.closed.first().map_or(log.from, |list| list.from)),
            links: vec![self.up()],
            entries: entries.collect(),
            ..Document::default()
        }
    }
}

/// The address that identifies a collection.
fn identity(site: &Site, folder: &str) -> String {
    match folder {
        "" => site.url.to_string(),
        folder => format!("{}/", site.address_of(folder)),
    }
}

fn described_by(site: &Site) -> Link {
    Link::new(
        "describedby",
        site.address_of(&format!("{OWN_FOLDER}/{ABOUT}")),
    )
}

pub(super) fn source_description(site: &Site, listed: &[String]) -> Document {
    let entry = |folder: &String| Entry {
        loc: site.address_of(&in_log(folder, CAPABILITY_LIST)),
        capability: Some(Capability::CapabilityList),
        details: Details {
            links: vec![
                Link::new("describes", identity(site, folder)),
                described_by(site),
            ],
            ..Details::default()
        },
        ..Entry::default()
    };
    Document {
        capability: Capability::Description,
        links: vec![described_by(site)],
        entries: listed.iter().map(entry).collect(),
        ..Document::default()
    }
}

/// What the site and its collections are called, and by whom they are made.
pub(super) fn describe(site: &Site, listed: &[String]) -> String {
    let mut things = vec![(site.url.to_string(), site.about.clone())];
    let named = (site.collections.iter()).filter(|own| listed.contains(&own.folder));
    things.extend(named.map(|collection| {
        let inherited = About {
            authors: site.about.authors.clone(),
            rights: site.about.rights.clone(),
            language: site.about.language.clone(),
            ..About::default()
        };
        let about = collection.about.clone().or(inherited);
        (identity(site, &collection.folder), about)
    }));
    about::write(
        things
            .iter()
            .map(|(address, about)| (address.as_str(), about)),
    )
}
