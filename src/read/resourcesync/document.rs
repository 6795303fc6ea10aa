//! The grammar of ResourceSync as types: what a document is, before anybody asks what it means.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::change::{ChangeKind, Details, Link};
use crate::moment::Moment;

/// The namespace of `urlset`, `sitemapindex` and what is in them.
pub const SITEMAP: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";
/// The namespace of `md` and `ln`.
pub const RS: &str = "http://www.openarchives.org/rs/terms/";

/// The namespace of `description`: what an author says about a change. ResourceSync has no element for words, but has
/// room for those of others.
pub const DCTERMS: &str = "http://purl.org/dc/terms/";

/// What kind of document something is, or leads to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Capability {
    /// A Source Description: which collections a site has.
    #[default]
    Description,
    /// A Capability List: one collection.
    CapabilityList,
    /// A Change List: what happened to its pages.
    ChangeList,
    /// A Resource List: which pages it has.
    ResourceList,
    /// Change Lists that are kept for the record.
    ChangeListArchive,
    /// A channel on which changes are pushed.
    ChangeNotification,
    /// Any other, as it is written.
    Other(String),
}

impl Capability {
    /// Reads a `capability`, and says whether it was spelled as in a draft of ResourceSync.
    pub fn parse(text: &str) -> (Capability, bool) {
        let capability = match text {
            "description" => Capability::Description,
            "capabilitylist" => Capability::CapabilityList,
            "changelist" => Capability::ChangeList,
            "resourcelist" => Capability::ResourceList,
            "changelist-archive" => Capability::ChangeListArchive,
            "change-notification" => Capability::ChangeNotification,
            _ => {
                return match text.to_ascii_lowercase().as_str() {
                    // 0.9 called the Source Description so.
                    "resourcesync" | "description" => (Capability::Description, true),
                    "capabilitylist" => (Capability::CapabilityList, true),
                    // DSpace calls an index so; the root element says as much.
                    "changelist" | "changelistindex" => (Capability::ChangeList, true),
                    "resourcelist" | "resourcelistindex" => (Capability::ResourceList, true),
                    _ => (Capability::Other(text.to_owned()), false),
                };
            }
        };
        (capability, false)
    }

    /// Its name in ResourceSync 1.1.
    pub fn as_str(&self) -> &str {
        match self {
            Capability::Description => "description",
            Capability::CapabilityList => "capabilitylist",
            Capability::ChangeList => "changelist",
            Capability::ResourceList => "resourcelist",
            Capability::ChangeListArchive => "changelist-archive",
            Capability::ChangeNotification => "change-notification",
            Capability::Other(name) => name,
        }
    }

    /// Its name for people.
    pub fn title(&self) -> &str {
        match self {
            Capability::Description => "Source Description",
            Capability::CapabilityList => "Capability List",
            Capability::ChangeList => "Change List",
            Capability::ResourceList => "Resource List",
            Capability::ChangeListArchive => "Change List Archive",
            Capability::ChangeNotification => "Change Notification channel",
            Capability::Other(name) => name,
        }
    }
}

impl Serialize for Capability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Capability {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(source)?;
        Ok(Capability::parse(&text).0)
    }
}

/// One document. As JSON it is what is remembered of it in place of its body.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Document {
    /// Its kind.
    pub capability: Capability,
    /// Whether it is an index of documents of that kind.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_index: bool,
    /// All changes since then are inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Moment>,
    /// And up to then: the document is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Moment>,
    /// When the taking of a snapshot began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Moment>,
    /// And when it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<Moment>,
    /// Links of the document itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Its entries. A reader hands on the changes and pages of long lists instead of collecting them here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<Entry>,
}

/// One `url` or `sitemap`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// The address of the page or document, as [`url::Url`] writes it.
    pub loc: String,
    /// When the page or document was last modified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lastmod: Option<Moment>,
    /// The kind of document that it leads to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability: Option<Capability>,
    /// What happened to the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<ChangeKind>,
    /// When that happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datetime: Option<Moment>,
    /// The time that a listed document covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Moment>,
    /// The end of that time, if the listed document is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Moment>,
    /// When the taking of a listed snapshot began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Moment>,
    /// And when it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<Moment>,
    /// The place of a page in a dump.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What else is said about the page or document, links included.
    #[serde(skip_serializing_if = "Details::is_empty")]
    pub details: Details,
    /// The line on which the entry begins; 0 where there is none.
    #[serde(skip)]
    pub line: u32,
}

impl Document {
    /// Where the document's first link with this relation leads.
    pub fn link(&self, rel: &str) -> Option<&str> {
        link(&self.links, rel)
    }

    /// What it is called: "Change List Index".
    pub fn title(&self) -> String {
        let index = if self.is_index { " Index" } else { "" };
        format!("{}{index}", self.capability.title())
    }
}

impl Entry {
    /// Where the entry's first link with this relation leads.
    pub fn link(&self, rel: &str) -> Option<&str> {
        link(&self.details.links, rel)
    }

    /// Makes it as good as new, keeping its memory.
    pub(super) fn clear(&mut self) {
        let mut loc = std::mem::take(&mut self.loc);
        let mut links = std::mem::take(&mut self.details.links);
        loc.clear();
        links.clear();
        *self = Entry {
            loc,
            details: Details {
                links,
                ..Details::default()
            },
            ..Entry::default()
        };
    }
}

/// Links rank by `pri`, where the lower number wins and none counts as the last.
fn link<'a>(links: &'a [Link], rel: &str) -> Option<&'a str> {
    let matching = links.iter().filter(|link| link.rel == rel);
    matching
        .min_by_key(|link| link.pri.unwrap_or(999_999))
        .map(|link| link.href.as_str())
}
