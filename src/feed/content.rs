//! What happened, for people: the title of an item, and its pages as a piece of HTML.

use std::borrow::Cow;
use std::fmt::Write as _;

use askama::Template;
use chrono::{Datelike, Timelike};

use crate::change::{Change, ChangeKind, ChangedPage, NetChange};
use crate::moment::{Moment, Precision};
use crate::text::readable;

use super::words::{href, language};

/// What a page takes besides its address and its name, escaped twice.
const LINE_BYTES: usize = 330;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// What is said of a change that its author did not tell.
const INFERRED: &str = "inferred, not stated";

/// What is said of one that the author told by the date of a page. That a log of changes states them goes without saying.
const STATED: &str = "stated by its date";

/// The content of an item: its pages by kind.
#[derive(Template)]
#[template(path = "feed/entry.html")]
struct Contents<'a> {
    note: Option<&'a str>,
    /// Whether no page is listed here.
    is_empty: bool,
    groups: Vec<Group<'a>>,
    more: usize,
    more_url: Option<&'a str>,
}

struct Group<'a> {
    heading: &'static str,
    pages: Vec<PageLine<'a>>,
}

struct PageLine<'a> {
    url: Cow<'a, str>,
    name: Cow<'a, str>,
    linked: bool,
    datetime: String,
    time: String,
    facts: String,
    note: Option<&'a str>,
    summary: Option<&'a str>,
    language: Option<&'a str>,
}

/// The pages that are listed if so many bytes are allowed: the newest ones.
pub(super) fn listed<'a, 'b>(
    pages: &'b [ChangedPage<'a>],
    allowed: usize,
) -> &'b [ChangedPage<'a>] {
    let mut bytes = 0;
    let fits = pages.iter().rev().take_while(|page| {
        bytes += page_cost(page);
        bytes <= allowed
    });
    let count = fits.count();
    &pages[pages.len() - count..]
}

/// The content: these pages of so many.
pub(super) fn html(
    listed: &[ChangedPage<'_>],
    all: usize,
    more_url: Option<&str>,
    note: Option<&str>,
) -> String {
    let contents = Contents {
        note,
        is_empty: listed.is_empty(),
        groups: groups(listed),
        more: all - listed.len(),
        more_url,
    };
    contents.render().unwrap_or_default()
}

/// How many bytes a list of these pages takes.
pub(super) fn cost(pages: &[ChangedPage<'_>]) -> usize {
    pages.iter().map(page_cost).sum()
}

fn page_cost(page: &ChangedPage<'_>) -> usize {
    let url = escaped_twice(page.last.address());
    let name = page.last.title.as_deref().map_or(url, escaped_twice);
    let details = &page.last.details;
    let said = details.note.iter().chain(&details.summary);
    let said = said.chain(&details.author);
    let said: usize = said.map(|text| escaped_twice(text)).sum();
    // The address once as a link of the item, once in the text.
    2 * url + name + said + LINE_BYTES
}

fn escaped_twice(text: &str) -> usize {
    let bytes = text.bytes().map(|byte| match byte {
        b'&' | b'<' | b'>' | b'"' | b'\'' => 10,
        _ => 1,
    });
    bytes.sum()
}

/// "Two pages updated, one new in Fox Den"
pub(super) fn title(pages: &[ChangedPage<'_>], collection: &str) -> String {
    let count = |net| pages.iter().filter(|page| page.net == net).count();
    let phrases = [
        (count(NetChange::Updated), "updated"),
        (count(NetChange::Created), "new"),
        (count(NetChange::Deleted), "deleted"),
        (count(NetChange::CameAndWent), "that came and went"),
    ];
    let mut words = String::new();
    for (count, word) in phrases.into_iter().filter(|(count, _)| *count > 0) {
        if words.is_empty() {
            let noun = if count == 1 { "page" } else { "pages" };
            words = match word {
                "new" => format!("{} new {noun}", in_words(count)),
                word => format!("{} {noun} {word}", in_words(count)),
            };
        } else {
            words = format!("{words}, {} {word}", in_words(count));
        }
    }
    let mut letters = words.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string())
        .unwrap_or_default();
    format!("{first}{} in {collection}", letters.as_str())
}

fn in_words(count: usize) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    WORDS
        .get(count)
        .map_or_else(|| count.to_string(), |word| (*word).to_owned())
}

fn groups<'a>(pages: &[ChangedPage<'a>]) -> Vec<Group<'a>> {
    let kinds = [
        (NetChange::Created, "New pages"),
        (NetChange::Updated, "Updated pages"),
        (NetChange::Deleted, "Deleted pages"),
        (NetChange::CameAndWent, "Pages that came and went"),
    ];
    let group = |(net, heading)| Group {
        heading,
        pages: pages
            .iter()
            .filter(|page| page.net == net)
            .map(page_line)
            .collect(),
    };
    kinds
        .into_iter()
        .map(group)
        .filter(|group| !group.pages.is_empty())
        .collect()
}

/// What a page is called: by its title, or else by its address.
pub fn name(change: &Change) -> Cow<'_, str> {
    match &change.title {
        Some(title) => Cow::Borrowed(title),
        None => readable(&change.url).map_or(Cow::Borrowed(&change.url), Cow::Owned),
    }
}

fn page_line<'a>(page: &ChangedPage<'a>) -> PageLine<'a> {
    let change = page.last;
    let details = &change.details;
    let mut facts = String::new();
    let mut add = |fact: std::fmt::Arguments<'_>| {
        let comma = if facts.is_empty() { "" } else { ", " };
        // A text takes all that is written to it.
        let _ = write!(facts, "{comma}{fact}");
    };
    if let Some(media_type) = &details.media_type {
        add(format_args!("{media_type}"));
    }
    if let Some(length) = details.length {
        add(format_args!("{}", size_in_words(length)));
    }
    if let Some(author) = &details.author {
        add(format_args!("by {author}"));
    }
    if let Some(moved) = change.moved() {
        add(format_args!("{moved}"));
    }
    if details.is_inferred {
        add(format_args!("{INFERRED}"));
    } else if details.is_stated {
        add(format_args!("{STATED}"));
    }
    PageLine {
        url: href(change.address()),
        name: name(change),
        linked: is_there(page.net),
        datetime: change.datetime.to_string(),
        time: time_in_words(&change.datetime),
        facts,
        note: details.note.as_deref(),
        summary: details.summary.as_deref(),
        language: language(details.language.as_ref()),
    }
}

/// Whether there is something to link to.
pub(super) fn is_there(net: NetChange) -> bool {
    matches!(net, NetChange::Created | NetChange::Updated)
}

/// What it comes to, as a kind of change.
pub(super) fn kind(net: NetChange) -> ChangeKind {
    match net {
        NetChange::Created => ChangeKind::Created,
        NetChange::Updated => ChangeKind::Updated,
        NetChange::Deleted | NetChange::CameAndWent => ChangeKind::Deleted,
    }
}

/// A time as precise as its source, for people.
pub fn time_in_words(moment: &Moment) -> String {
    let start = moment.start();
    let (year, day) = (start.year(), start.day());
    let month = MONTHS[start.month0() as usize];
    match moment.precision() {
        Precision::Year => year.to_string(),
        Precision::Month => format!("{month} {year}"),
        Precision::Day => format!("{day} {month} {year}"),
        Precision::Minute | Precision::Second | Precision::Fraction(_) => {
            let (hour, minute) = (start.hour(), start.minute());
            format!("{day} {month} {year}, {hour:02}:{minute:02} UTC")
        }
    }
}

/// A number of bytes, for people.
pub fn size_in_words(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
