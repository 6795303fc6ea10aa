//! What happened to a page, and what one check found of it.

use std::collections::HashMap;
use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
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

/// One page, as a list has it. Readers fill and clear one and the same again and again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Its address, as [`url::Url`] writes it, without a fragment.
    pub url: String,
    /// Where its author would rather have people go, on the same site, if that is another address.
    pub canonical: Option<String>,
    /// When it was last modified.
    pub lastmod: Option<Moment>,
    /// As long as this stays as it is, so does the page, whatever its dates say.
    pub hash: Option<String>,
    /// When it was first published.
    pub published: Option<Moment>,
    /// What it is called.
    pub title: Option<String>,
    /// What it is about.
    pub summary: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// The language it is in, as a tag.
    pub language: Option<String>,
    /// What it is filed under.
    pub tags: Vec<String>,
    /// Whether its author wants nothing to be known about it: then nothing else is said here.
    pub is_private: bool,
}

impl Page {
    /// Makes it as good as new, keeping its memory.
    pub fn clear(&mut self) {
        let mut url = std::mem::take(&mut self.url);
        url.clear();
        *self = Page {
            url,
            ..Page::default()
        };
    }
}

/// Where the page of a change went, or came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved<'a> {
    /// It is at this address now.
    To(&'a str),
    /// It was at this address before.
    From(&'a str),
}

impl fmt::Display for Moved<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moved::To(url) => write!(f, "moved to {url}"),
            Moved::From(url) => write!(f, "moved from {url}"),
        }
    }
}

impl Change {
    /// Where people find the page.
    pub fn address(&self) -> &str {
        self.details.canonical.as_deref().unwrap_or(&self.url)
    }

    /// Whether the page has moved, as far as its author says so: one that is gone names the one that follows it, and one
    /// that is new the one that it follows.
    pub fn moved(&self) -> Option<Moved<'_>> {
        let link = |rel: &str| self.details.links.iter().find(|link| link.rel == rel);
        match self.kind {
            ChangeKind::Deleted => link("successor-version").map(|link| Moved::To(&link.href)),
            ChangeKind::Created => link("predecessor-version").map(|link| Moved::From(&link.href)),
            ChangeKind::Updated => None,
        }
    }
}

/// What a source may add about a page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    /// Bytes of the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// Its media type.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Its content coding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Digests as the source wrote them, `algorithm:value`, separated by spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Where its author would rather have people go, on the same site. It is known by its own address all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
    /// What the author says about the change, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where else to look: mirrors, other forms, earlier versions, metadata.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// What the page is about, cleaned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Who wrote it, cleaned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The language it is in, as a tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// What it is filed under, cleaned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whether nobody said so: the change was concluded from two lists of pages.
    #[serde(
        default,
        rename = "inferred",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub is_inferred: bool,
    /// Whether the date of the page in a list of pages says so. A change that is told as one is not concluded at all.
    #[serde(default, rename = "stated", skip_serializing_if = "std::ops::Not::not")]
    pub is_stated: bool,
}

impl Details {
    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        *self == Details::default()
    }
}

/// A typed link of a document or an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The relation in lower case, or a URI.
    pub rel: String,
    /// Where it leads, as [`url::Url`] writes it; always http or https.
    pub href: String,
    /// Of links with the same relation, the lower one is preferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pri: Option<u32>,
    /// When the target was last modified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<Moment>,
    /// What is said about the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// The target's media type.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The target's content coding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// The target's digests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

/// What one check found new in one collection: one entry of its feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The id of the Atom entry.
    pub id: String,
    /// When it was found; for the first check, when the changes were made.
    pub updated_at: DateTime<Utc>,
    /// The changes, oldest first.
    pub changes: Vec<Change>,
    /// What is to be said before them.
    pub note: Option<String>,
}

/// What several changes of one page come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NetChange {
    /// The page is new.
    Created,
    /// The page is another than before.
    Updated,
    /// The page is gone.
    Deleted,
    /// The page was new, and is gone again.
    CameAndWent,
}

/// A page with everything that happened to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPage<'a> {
    /// What it comes to.
    pub net: NetChange,
    /// The last of its changes.
    pub last: &'a Change,
}

/// Sums up changes, which come oldest first, page by page. The page that changed last comes last.
pub fn net_effect(changes: &[Change]) -> Vec<ChangedPage<'_>> {
    // As it is most often.
    if let [last] = changes {
        let net = match last.kind {
            ChangeKind::Created => NetChange::Created,
            ChangeKind::Updated => NetChange::Updated,
            ChangeKind::Deleted => NetChange::Deleted,
        };
        return vec![ChangedPage { net, last }];
    }
    let mut spans: HashMap<&str, (ChangeKind, usize)> = HashMap::new();
    for (position, change) in changes.iter().enumerate() {
        let span = spans.entry(&change.url).or_insert((change.kind, position));
        span.1 = position;
    }
    let mut pages: Vec<(usize, ChangedPage<'_>)> = (spans.into_values())
        .map(|(first, position)| {
            let last = &changes[position];
            let net = match (first, last.kind) {
                (ChangeKind::Created, ChangeKind::Deleted) => NetChange::CameAndWent,
                (_, ChangeKind::Deleted) => NetChange::Deleted,
                (ChangeKind::Created, _) => NetChange::Created,
                // Deleted and created again is a page that was there before.
                (ChangeKind::Updated | ChangeKind::Deleted, _) => NetChange::Updated,
            };
            (position, ChangedPage { net, last })
        })
        .collect();
    pages.sort_by_key(|(position, _)| *position);
    pages.into_iter().map(|(_, page)| page).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(kinds: &[ChangeKind]) -> NetChange {
        let changes: Vec<_> = (kinds.iter())
            .map(|&kind| Change {
                url: "https://s.example/".into(),
                kind,
                datetime: Moment::parse("2026-01-01").unwrap(),
                title: None,
                details: Details::default(),
            })
            .collect();
        let pages = net_effect(&changes);
        assert_eq!(pages.len(), 1);
        pages[0].net
    }

    #[test]
    fn several_changes_of_a_page_are_summed_up() {
        use ChangeKind::{Created, Deleted, Updated};
        assert_eq!(net(&[Created]), NetChange::Created);
        assert_eq!(net(&[Updated]), NetChange::Updated);
        assert_eq!(net(&[Deleted]), NetChange::Deleted);
        assert_eq!(net(&[Created, Updated, Updated]), NetChange::Created);
        assert_eq!(net(&[Created, Updated, Deleted]), NetChange::CameAndWent);
        assert_eq!(net(&[Deleted, Created]), NetChange::Updated);
        assert_eq!(net(&[Updated, Deleted]), NetChange::Deleted);
        assert_eq!(net(&[Deleted, Created, Deleted]), NetChange::Deleted);
    }
}
