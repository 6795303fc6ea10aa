//! What happened to a page.

use std::fmt;

use serde::Serialize;

use crate::moment::Moment;

/// One page, one kind, one datetime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The address of the page, as [`url::Url`] writes it.
    pub url: String,
    /// What happened.
    pub kind: ChangeKind,
    /// When it happened, as precisely as the source said.
    pub datetime: Moment,
    /// The page's title, where a format has one.
    pub title: Option<String>,
    /// What else the source said about the page.
    pub details: Details,
}

/// What can happen to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// The page is new.
    Created,
    /// The page was there before.
    Updated,
    /// The page is gone.
    Deleted,
}

impl ChangeKind {
    /// The kind that a source names; nothing else is accepted.
    pub fn parse(text: &str) -> Option<ChangeKind> {
        match text {
            "created" => Some(ChangeKind::Created),
            "updated" => Some(ChangeKind::Updated),
            "deleted" => Some(ChangeKind::Deleted),
            _ => None,
        }
    }

    /// Its name in ResourceSync, JSON and feeds.
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Created => "created",
            ChangeKind::Updated => "updated",
            ChangeKind::Deleted => "deleted",
        }
    }
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a source may add about a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Details {
    /// Bytes of the page.
    pub length: Option<u64>,
    /// Its media type.
    pub media_type: Option<String>,
    /// Its content coding.
    pub encoding: Option<String>,
    /// Digests as the source wrote them, `algorithm:value`, separated by spaces.
    pub hash: Option<String>,
    /// Where else to look: mirrors, other forms, earlier versions, metadata.
    pub links: Vec<Link>,
}

/// A typed link of a document or an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The relation in lower case, or a URI.
    pub rel: String,
    /// Where it leads, as [`url::Url`] writes it; always http or https.
    pub href: String,
    /// Of links with the same relation, the lower one is preferred.
    pub pri: Option<u32>,
    /// When the target was last modified.
    pub modified: Option<Moment>,
    /// What is said about the target.
    pub length: Option<u64>,
    /// The target's media type.
    pub media_type: Option<String>,
    /// The target's content coding.
    pub encoding: Option<String>,
    /// The target's digests.
    pub hash: Option<String>,
}

impl Link {
    /// A link that says no more than where it leads.
    pub fn new(rel: impl Into<String>, href: impl Into<String>) -> Link {
        Link {
            rel: rel.into(),
            href: href.into(),
            pri: None,
            modified: None,
            length: None,
            media_type: None,
            encoding: None,
            hash: None,
        }
    }
}
