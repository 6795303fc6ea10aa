//! Changes as they stand on pages: by day, each entry with its newest pages, and never more than a page should weigh.

use chrono::NaiveDate;
use url::Url;

use super::feeds::collection_subject;
use super::paths::Paths;
use super::words::{Present, When, count};
use crate::change::{Change, ChangedPage, Moved, NetChange};
use crate::feed::{self, Grain};
use crate::store::{CollectionRow, EntryBrief, SiteRow};
use crate::text::{readable_address, visible};

/// Changes on one page, and of one entry where there are others beside it.
const LINES: usize = 100;
const LINES_OF_ENTRY: usize = 25;
/// What all of them may weigh; and what an entry, a change and a note do besides their names, addresses
/// and words.
const BYTES: usize = 39_000;
const ENTRY_BYTES: usize = 350;
const LINE_BYTES: usize = 270;
const NOTE_BYTES: usize = 80;
/// Of what an author says about a change, so much is shown; the feed has all of it.
const NOTE_CHARS: usize = 300;
/// Changes that are read of an entry for the sake of its title; a larger one is told by its number alone.
pub const READ_OF_ENTRY: u32 = 200;

/// What happened on one day.
pub struct Day {
    /// `Today, Tuesday 10 March`
    pub heading: String,
    /// The entries, newest first.
    pub entries: Vec<EntryLine>,
    /// The day.
    pub date: NaiveDate,
}

/// What one check found in one collection.
pub struct EntryLine {
    /// Our page about it.
    pub url: String,
    /// What happened, in words.
    pub title: String,
    /// The pages, newest first.
    pub lines: Vec<ChangeLine>,
    /// Changes that are not listed.
    pub more: u64,
}

/// One page that changed.
pub struct ChangeLine {
    /// The class of the word.
    pub kind: &'static str,
    /// What happened.
    pub word: &'static str,
    /// The address, if there still is a page.
    pub url: Option<String>,
    /// What it is called.
    pub name: String,
    /// When.
    pub when: When,
    /// Where it went or came from, and what its author says about the change.
    pub note: Option<String>,
}

/// What may still be added to a page.
pub struct Room {
    lines: usize,
    bytes: usize,
}

impl Room {
    /// An empty page.
    pub fn new() -> Room {
        Room::beside(0)
    }

    /// A page that has so many bytes of something else.
    pub fn beside(bytes: usize) -> Room {
        Room {
            lines: LINES,
            bytes: BYTES.saturating_sub(bytes),
        }
    }

    /// Whether the page is full.
    pub fn is_full(&self) -> bool {
        self.lines == 0 || self.bytes == 0
    }

    /// How many of these pages, counted from the end, still fit; at least one does on an empty page.
    pub fn take(&mut self, pages: &[ChangedPage<'_>], most: usize) -> usize {
        let is_empty = self.lines == LINES;
        let mut taken = 0;
        self.bytes = self.bytes.saturating_sub(ENTRY_BYTES);
        for page in pages.iter().rev().take(most.min(self.lines)) {
            let url = escaped_bytes(page.last.address());
            let name = page.last.title.as_deref().map_or(url, escaped_bytes);
            let note = note_on(page.last).map_or(0, |note| NOTE_BYTES + escaped_bytes(&note));
            let bytes = url + name + note + LINE_BYTES;
            if bytes > self.bytes && !(is_empty && taken == 0) {
                self.bytes = 0;
                break;
            }
            self.bytes = self.bytes.saturating_sub(bytes);
            taken += 1;
        }
        self.lines -= taken;
        taken
    }
}

pub fn escaped_bytes(text: &str) -> usize {
    let bytes = text.bytes().map(|byte| match byte {
        b'&' | b'<' | b'>' | b'"' | b'\'' => 5,
        _ => 1,
    });
    bytes.sum()
}

/// One entry, as far as there is room.
pub fn entry_line(
    present: &Present,
    paths: &Paths,
    site: &SiteRow,
    collection: &CollectionRow,
    brief: &EntryBrief,
    room: &mut Room,
) -> EntryLine {
    let subject = collection_subject(collection);
    let url = paths.entry(&site.slug, &collection.slug, brief.n);
    let items = feed::items(&subject, &brief.entry, None, Grain::Checks);
    let pages: &[ChangedPage<'_>] = items.first().map(|item| &item.pages[..]).unwrap_or(&[]);
    let read = brief.entry.changes.len() as u64;
    let title = match items.first() {
        Some(item) if read == brief.count => item.title(),
        _ => {
            let changes = count(i64::try_from(brief.count).unwrap_or(i64::MAX), "change");
            format!("{changes} in {}", collection.title)
        }
    };
    let listed = room.take(pages, LINES_OF_ENTRY);
    let lines = pages.iter().rev().take(listed);
    let host = host_of(&site.url);
    EntryLine {
        url,
        title,
        lines: lines
            .map(|page| change_line(present, page, &host))
            .collect(),
        more: (pages.len() - listed) as u64 + (brief.count - read),
    }
}

/// What a site is called: by itself, or else by its address.
pub fn site_title(site: &SiteRow) -> String {
    let title = site.title.clone();
    title.unwrap_or_else(|| readable_address(&site.url))
}

/// What the names of a site's pages begin with that have no title.
pub fn host_of(site: &Url) -> String {
    let mut host = site.clone();
    host.set_path("/");
    host.set_query(None);
    readable_address(&host) + "/"
}

/// One page that changed. Where it is clear on which host that is, the name does not say it again.
pub fn change_line(present: &Present, page: &ChangedPage<'_>, host: &str) -> ChangeLine {
    let change = page.last;
    let (kind, word) = match page.net {
        NetChange::Created => ("created", "new"),
        NetChange::Updated => ("updated", "updated"),
        NetChange::Deleted => ("deleted", "deleted"),
        NetChange::CameAndWent => ("deleted", "came and went"),
    };
    let name = feed::page_name(change);
    let is_there = matches!(page.net, NetChange::Created | NetChange::Updated);
    ChangeLine {
        kind,
        word,
        url: is_there.then(|| change.address().to_owned()),
        name: match name.strip_prefix(host) {
            Some(rest) if change.title.is_none() && !rest.is_empty() => rest.to_owned(),
            _ => name.into_owned(),
        },
        when: present.when_told(&change.datetime),
        note: note_on(change),
    }
}

/// What there is to say about a change beyond what happened to the page.
fn note_on(change: &Change) -> Option<String> {
    let other =
        |url: &str| Url::parse(url).map_or_else(|_| url.to_owned(), |url| readable_address(&url));
    let moved = change.moved().map(|moved| match moved {
        Moved::To(url) => format!("moved to {}", other(url)),
        Moved::From(url) => format!("moved from {}", other(url)),
    });
    let note = change.details.note.as_deref();
    let note = note.map(|note| visible(note, NOTE_CHARS));
    match (moved, note) {
        (Some(moved), Some(note)) => Some(format!("{moved}: {note}")),
        (moved, note) => moved.or(note),
    }
}

/// Puts an entry, which is not newer than those before, under its day.
pub fn add(days: &mut Vec<Day>, present: &Present, date: NaiveDate, entry: EntryLine) {
    match days.last_mut() {
        Some(day) if day.date == date => day.entries.push(entry),
        _ => days.push(Day {
            heading: present.heading(date),
            entries: vec![entry],
            date,
        }),
    }
}
