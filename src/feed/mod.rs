//! Entries as documents for feed readers: [`atom`] and [`json`].
//!
//! Knows nothing of where the entries came from. Everything that a site wrote is text here: titles are text, and
//! the HTML of an item's content is made by our own template, which escapes. Equal data gives equal bytes: there is no
//! clock, and nothing of the moment of rendering. [`content`] is what is said of pages, [`words`] how words and addresses
//! may stand in a feed, and [`room`] how many of them.

mod atom;
mod content;
mod json;
mod room;
mod words;

use std::borrow::Cow;

use chrono::{DateTime, TimeDelta, Utc};
use url::Url;

use crate::change::{Change, ChangeKind, ChangedPage, Entry, NetChange, net_effect};
use crate::site::About;

pub use atom::{to_atom, write_atom};
pub use content::{name as page_name, size_in_words, time_in_words};
pub use json::write_json;

use room::Room;
use words::{language, legal, media_type, person_name};

/// What our own pages are, and those of sites as a whole.
const HTML: &str = "text/html";

/// What a feed is about: a collection, a whole site, or all that somebody follows.
pub struct Subject<'a> {
    /// The id of the feed.
    pub id: String,
    /// What it is called.
    pub title: &'a str,
    /// What it says about itself.
    pub about: &'a About,
    /// The page that the feed describes.
    pub page: Cow<'a, Url>,
    /// Where that is described further.
    pub described_by: Option<&'a Url>,
    /// The document that the changes came from.
    pub via: Option<&'a Url>,
}

/// One item of a feed: what a check found in a collection, or what it found about one page.
pub struct Item<'a> {
    /// Its id.
    pub id: Cow<'a, str>,
    /// When it was found; another time for each item.
    pub updated_at: DateTime<Utc>,
    /// The collection.
    pub subject: &'a Subject<'a>,
    /// What happened, page by page.
    pub pages: Vec<ChangedPage<'a>>,
    /// Our page about it, if there is one.
    pub url: Option<String>,
    /// What is to be said before the pages.
    pub note: Option<&'a str>,
    /// The page's place in the entry, if it is about one page.
    page: Option<i64>,
}

/// How what a check found becomes items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Grain {
    /// One item for each check.
    Checks,
    /// One item for each changed page.
    Pages,
}

/// The id of a feed in this grain: it tells the same in another way, so it is another feed.
pub fn feed_id(id: &str, grain: Grain) -> String {
    match grain {
        Grain::Checks => id.to_owned(),
        Grain::Pages => format!("{id}:pages"),
    }
}

/// A document, and its place among others.
pub struct Document<'a> {
    /// What it is about.
    pub subject: &'a Subject<'a>,
    /// What it tells, in any order.
    pub items: Vec<Item<'a>>,
    /// Whether the items are of several collections, and say which.
    pub has_sources: bool,
    /// Stands in for the time of the newest item where there is none.
    pub none_at: DateTime<Utc>,
    /// When it last became another one without a new item: words of older ones changed, or older ones joined.
    pub reworded_at: Option<DateTime<Utc>>,
    /// Addresses.
    pub links: Links,
}

/// Where a document is, and where others are that belong to it (RFC 5005).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// The document itself.
    pub own: Option<String>,
    /// The same as JSON, in an Atom document.
    pub json: Option<String>,
    /// A stylesheet for people who open it in a browser.
    pub stylesheet: Option<String>,
    /// The feed that this is an archive of. An archive never changes any more.
    pub current: Option<String>,
    /// The archive before this document.
    pub prev_archive: Option<String>,
    /// The archive after this one.
    pub next_archive: Option<String>,
    /// The first page, where there are several and no archives: every one of them names it, because the last one would
    /// have nothing else that says so.
    pub first: Option<String>,
    /// The next page of older items.
    pub next: Option<String>,
}

/// The items of an entry.
pub fn items<'a>(
    subject: &'a Subject<'a>,
    entry: &'a Entry,
    url: Option<String>,
    grain: Grain,
) -> Vec<Item<'a>> {
    let pages = net_effect(&entry.changes);
    match grain {
        Grain::Checks => vec![Item {
            id: Cow::Borrowed(&entry.id),
            updated_at: entry.updated_at,
            subject,
            pages,
            url,
            note: entry.note.as_deref(),
            page: None,
        }],
        Grain::Pages => (pages.into_iter())
            .map(|page| page_item(subject, entry, page, url.clone()))
            .collect(),
    }
}

/// The place of the page's last change in the entry makes id and time: an entry never changes, so they never do.
fn page_item<'a>(
    subject: &'a Subject<'a>,
    entry: &'a Entry,
    page: ChangedPage<'a>,
    url: Option<String>,
) -> Item<'a> {
    let place = (entry.changes.iter())
        .position(|change| std::ptr::eq(change, page.last))
        .unwrap_or_default();
    let apart = i64::try_from(place).unwrap_or_default();
    Item {
        id: Cow::Owned(format!("{}:page:{place}", entry.id)),
        // Changes are numbered as entries are, so the next entry's time lies beyond those of all its pages.
        updated_at: entry.updated_at + TimeDelta::microseconds(apart),
        subject,
        pages: vec![page],
        url,
        note: None,
        page: Some(apart),
    }
}

impl Item<'_> {
    /// What happened, in words: "Two pages updated, one new in Fox Den".
    pub fn title(&self) -> String {
        match (&self.pages[..], self.page) {
            ([page], Some(_)) => {
                let what = match page.net {
                    NetChange::Created => "new",
                    NetChange::Updated => "updated",
                    NetChange::Deleted => "deleted",
                    NetChange::CameAndWent => "came and went",
                };
                let name = content::name(page.last);
                format!("{name} ({what} in {})", self.subject.title)
            }
            (pages, _) => content::title(pages, self.subject.title),
        }
    }

    /// Its place in the entry that it was made from.
    pub fn place(&self) -> i64 {
        self.page.unwrap_or_default()
    }

    /// The pages that there is room for as HTML, with a word on how many there are besides.
    fn content(&self, listed: &[ChangedPage<'_>], room: Room) -> String {
        let note = self.note.filter(|_| room.has_words);
        content::html(listed, self.pages.len(), self.url.as_deref(), note)
    }

    /// Some of its pages as HTML, with a word on how many there are besides.
    pub fn html(&self, pages: std::ops::Range<usize>) -> String {
        let url = self.url.as_deref();
        content::html(&self.pages[pages], self.pages.len(), url, self.note)
    }

    /// Some of its pages as HTML, and nothing else.
    pub fn html_of(&self, pages: std::ops::Range<usize>) -> String {
        let count = pages.len();
        content::html(&self.pages[pages], count, None, None)
    }

    /// How the entry that it was made from became items.
    fn grain(&self) -> Grain {
        match self.page {
            Some(_) => Grain::Pages,
            None => Grain::Checks,
        }
    }

    /// The page that a reader should open, if these are listed, and its media type if that is known.
    fn alternate(&self, listed: &[ChangedPage<'_>]) -> (&str, Option<&str>) {
        match (&self.pages[..], self.page, &self.url) {
            ([page], Some(_), url)
                if content::is_there(page.net) && (!listed.is_empty() || url.is_none()) =>
            {
                let said = page.last.details.media_type.as_deref();
                (page.last.address(), said.and_then(media_type))
            }
            (_, _, Some(url)) => (url, Some(HTML)),
            _ => (self.subject.page.as_str(), Some(HTML)),
        }
    }

    /// What its pages are filed under, the kinds of changes aside: a few, each once.
    fn tags(&self, most: usize) -> Vec<String> {
        let all = self.pages.iter().flat_map(|page| &page.last.details.tags);
        let kinds = ["", "created", "updated", "deleted"];
        let mut tags: Vec<String> = Vec::new();
        for tag in all.map(|tag| legal(tag.trim())) {
            if tags.len() < most && !kinds.contains(&&*tag) && !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        tags
    }

    /// The kinds of its changes.
    fn kinds(&self) -> Vec<ChangeKind> {
        let has = |kind| move |page: &ChangedPage<'_>| content::kind(page.net) == kind;
        let kinds = [
            ChangeKind::Created,
            ChangeKind::Updated,
            ChangeKind::Deleted,
        ];
        (kinds.into_iter())
            .filter(|kind| self.pages.iter().any(has(*kind)))
            .collect()
    }
}

impl Document<'_> {
    /// The newest item's time.
    pub fn updated_at(&self) -> DateTime<Utc> {
        let times = self.items.iter().map(|item| item.updated_at);
        times.max().unwrap_or(self.none_at)
    }

    /// When it last became another one.
    pub fn modified_at(&self) -> DateTime<Utc> {
        let reworded_at = self.reworded_at.into_iter();
        reworded_at.fold(self.updated_at(), DateTime::max)
    }

    /// The language of an item, unless it is said of the document as a whole.
    fn language_of<'a>(&self, item: &Item<'a>) -> Option<&'a str> {
        let own = language(item.subject.about.language.as_ref());
        own.filter(|own| self.subject.about.language.as_deref() != Some(*own))
    }

    /// The items, newest first, each with the pages that there is room for.
    fn laid_out(&self, room: Room) -> impl Iterator<Item = (&Item<'_>, &[ChangedPage<'_>])> {
        let mut items: Vec<&Item<'_>> = self.items.iter().collect();
        items.sort_by(|one, other| {
            (other.updated_at.cmp(&one.updated_at)).then_with(|| one.id.cmp(&other.id))
        });
        let wanted: Vec<usize> = items
            .iter()
            .map(|item| content::cost(&item.pages))
            .collect();
        let own = move |bytes: usize| bytes.min(room.item_bytes);
        let sure: usize = wanted.iter().map(|&bytes| own(bytes)).sum();
        let mut left = room.bytes.saturating_sub(sure);
        let allowed = wanted.into_iter().map(move |bytes| {
            let more = (bytes - own(bytes)).min(left);
            left -= more;
            own(bytes) + more
        });
        let items = items.into_iter().zip(allowed);
        items.map(|(item, allowed)| (item, content::listed(&item.pages, allowed)))
    }
}

/// Who made it. There has to be somebody; the site is the best that is known.
fn authors(subject: &Subject<'_>, room: Room) -> Vec<String> {
    let person_name = |name: &str| person_name(&room.cut(name));
    let named = subject.about.authors.iter().map(|name| person_name(name));
    let named = named.filter(|name| !name.is_empty()).take(room.authors);
    let named: Vec<String> = named.collect();
    if !named.is_empty() {
        return named;
    }
    let name = person_name(subject.title);
    match name.is_empty() {
        true => vec![crate::text::readable_address(&subject.page)],
        false => vec![name],
    }
}

fn subtitle(subject: &Subject<'_>) -> String {
    let description = subject.about.description.clone();
    description.unwrap_or_else(|| {
        let page = crate::text::readable_address(&subject.page);
        format!("Changes to the pages of {page}")
    })
}

/// Whether a change is worth a link.
fn links_of<'a>(pages: &'a [ChangedPage<'a>]) -> impl Iterator<Item = &'a Change> {
    let there = pages.iter().filter(|page| content::is_there(page.net));
    there.map(|page| page.last)
}
