//! Entries as documents for feed readers: [`atom`] and [`json`].
//!
//! Knows nothing of where the entries came from. Everything that a site wrote is text here: titles are text, and
//! the HTML of an item's content is made by our own template, which escapes. Equal data gives equal bytes: there is no
//! clock, and nothing of the moment of rendering.

mod atom;
mod content;
mod json;

use std::borrow::Cow;

use chrono::{DateTime, TimeDelta, Utc};
use url::Url;

use crate::change::{Change, ChangeKind, ChangedPage, Entry, NetChange, net_effect};
use crate::site::About;
use crate::text::is_legal;

pub use atom::{to_atom, write_atom};
pub use content::{name as page_name, size_in_words, time_in_words};
pub use json::write_json;

/// The most that a document has; feed readers give up on documents that are much larger.
const MAX_BYTES: usize = 490_000;

/// Whether a byte may stand anywhere in an address.
const PLAIN_IN_HREF: [bool; 256] = {
    let mut is_plain = [false; 256];
    let bytes = b"-._~:/?=&+,;@0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut place = 0;
    while place < bytes.len() {
        is_plain[bytes[place] as usize] = true;
        place += 1;
    }
    is_plain
};

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

/// How much of everything there is room for in a document.
#[derive(Debug, Clone, Copy)]
struct Room {
    /// Bytes for the lists of pages.
    bytes: usize,
    /// What an item may have of that whatever the others need.
    item_bytes: usize,
    /// Categories of one item that come from its pages.
    tags: usize,
    /// Authors of each subject.
    authors: usize,
    /// Characters of a title or a name.
    chars: usize,
    /// Whether items say what is said before their pages, and what others may do with them.
    has_words: bool,
}

/// What nearly all documents have room for, and what those have whose sites tell as much as they can: their items list no
/// page whose address alone is too long, but lead to our own page about it.
const ROOMS: [Room; 2] = [
    Room {
        bytes: 400_000,
        item_bytes: 6_000,
        tags: 20,
        authors: usize::MAX,
        chars: usize::MAX,
        has_words: true,
    },
    Room {
        bytes: 100_000,
        item_bytes: 2_000,
        tags: 0,
        authors: 1,
        chars: 100,
        has_words: false,
    },
];

impl Room {
    /// A title or a name, as far as there is room for it.
    fn cut<'a>(self, text: &'a str) -> Cow<'a, str> {
        match text.char_indices().nth(self.chars) {
            Some((end, _)) => Cow::Owned(format!("{}\u{2026}", &text[..end])),
            None => Cow::Borrowed(text),
        }
    }
}

/// Writes a document at the end of what is there, so that it is not too large.
fn fitting(written: &mut Vec<u8>, write: impl Fn(Room, &mut Vec<u8>)) {
    let begin = written.len();
    for room in ROOMS {
        written.truncate(begin);
        write(room, written);
        if written.len() - begin <= MAX_BYTES {
            break;
        }
    }
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
    /// The next page of older items, where there are no archives.
    pub next: Option<String>,
    /// The page of newer items before this one.
    pub previous: Option<String>,
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

    /// The page that a reader should open, if these are listed.
    fn alternate(&self, listed: &[ChangedPage<'_>]) -> Cow<'_, str> {
        match (&self.pages[..], self.page, &self.url) {
            ([page], Some(_), url)
                if content::is_there(page.net) && (!listed.is_empty() || url.is_none()) =>
            {
                Cow::Borrowed(&page.last.url)
            }
            (_, _, Some(url)) => Cow::Borrowed(url),
            _ => Cow::Borrowed(self.subject.page.as_str()),
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
    fn language_of<'a>(&self, item: &Item<'a>) -> Option<&'a String> {
        let own = item.subject.about.language.as_ref();
        own.filter(|own| self.subject.about.language.as_ref() != Some(*own))
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

/// A name cannot be declared as HTML, so what looks like it is written with other characters; and addresses of mail are
/// nobody's name.
fn person_name(name: &str) -> String {
    let words = name.split_whitespace();
    let words = words.filter(|word| !is_mail_address(word.trim_matches(['<', '>', '(', ')'])));
    let words: Vec<String> = words
        .map(|word| {
            let word = word.replace('<', "\u{2039}").replace('>', "\u{203A}");
            match word.split_once('&') {
                Some((_, rest)) if rest.contains(';') => legal(word.replace('&', "\u{FF06}")),
                _ => legal(word),
            }
        })
        .collect();
    words.join(" ")
}

fn is_mail_address(word: &str) -> bool {
    let parts = word.split_once('@');
    parts.is_some_and(|(who, host)| !who.is_empty() && host.contains('.'))
}

fn subtitle(subject: &Subject<'_>) -> String {
    let description = subject.about.description.clone();
    description.unwrap_or_else(|| {
        let page = crate::text::readable_address(&subject.page);
        format!("Changes to the pages of {page}")
    })
}

/// Without the characters that would break the feed for every reader (those that XML 1.0 forbids), or that tell of broken
/// text: C1 controls, and what stands for bytes that could not be read.
fn legal<'a>(text: impl Into<Cow<'a, str>>) -> String {
    let text = text.into();
    // Nearly all text is plain, and taken as it is. All bytes are looked at, which is faster than to stop at one.
    let is_odd = |byte: u8| !matches!(byte, b'\n' | b' '..=b'~');
    if !(text.bytes()).fold(false, |is_any, byte| is_any | is_odd(byte)) {
        return text.into_owned();
    }
    let is_good = |c: char| is_legal(c) && !matches!(c, '\u{7F}'..='\u{9F}' | '\u{FFFD}');
    text.chars()
        .filter(|&character| is_good(character))
        .collect()
}

/// An address as it may stand in a feed. What a URL may hold in practice is more than RFC 3986 has: brackets are for hosts
/// alone, a percent sign begins a pair of digits, and the fragment is the end.
fn href(url: &str) -> Cow<'_, str> {
    // Nearly all are plain, and taken as they are.
    if url.bytes().all(|byte| PLAIN_IN_HREF[usize::from(byte)]) {
        return Cow::Borrowed(url);
    }
    let authority_ends = url.find("://").map_or(0, |place| {
        let rest = &url[place + 3..];
        place + 3 + rest.find(['/', '?', '#']).unwrap_or(rest.len())
    });
    let (host, rest) = url.split_at(authority_ends);
    let mut written = host.to_owned();
    let mut has_fragment = false;
    for (place, character) in rest.char_indices() {
        let is_plain = match character {
            '%' => (rest.as_bytes().get(place + 1..place + 3))
                .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)),
            '#' => !std::mem::replace(&mut has_fragment, true),
            _ => !character.is_ascii_control() && !"[]\\^`{|} <>\"".contains(character),
        };
        match is_plain {
            true => written.push(character),
            false => written.push_str(&format!("%{:02X}", u32::from(character))),
        }
    }
    Cow::Owned(legal(written))
}

/// Whether a change is worth a link.
fn links_of<'a>(pages: &'a [ChangedPage<'a>]) -> impl Iterator<Item = &'a Change> {
    let there = pages.iter().filter(|page| content::is_there(page.net));
    there.map(|page| page.last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_only_what_rfc_3986_allows() {
        for (url, written) in [
            (
                "https://[::1]/a[1]?b[2]#c[3]",
                "https://[::1]/a%5B1%5D?b%5B2%5D#c%5B3%5D",
            ),
            (
                "https://a.example/%41%4%zz%",
                "https://a.example/%41%254%25zz%25",
            ),
            (
                "https://a.example/?a|b^{c}`\\",
                "https://a.example/?a%7Cb%5E%7Bc%7D%60%5C",
            ),
            ("https://a.example/#one#two", "https://a.example/#one%23two"),
            (
                "https://a.example/~a;b=(c)*!$'",
                "https://a.example/~a;b=(c)*!$'",
            ),
        ] {
            assert_eq!(href(url), written);
        }
    }

    #[test]
    fn a_name_is_no_markup_and_no_address_of_mail() {
        for (given, written) in [
            ("Fox", "Fox"),
            ("Fox <fox@den.example>", "Fox"),
            ("fox@den.example", ""),
            ("Fox @ Den", "Fox @ Den"),
            ("<b>Fox</b>", "\u{2039}b\u{203A}Fox\u{2039}/b\u{203A}"),
            ("Fox & Hen, R&D; &lt;", "Fox & Hen, R\u{FF06}D; \u{FF06}lt;"),
        ] {
            assert_eq!(person_name(given), written);
        }
    }
}
