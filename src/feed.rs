//! Entries as an Atom document.
//!
//! Knows nothing of where the entries came from. Everything that a site wrote is text here: titles and summaries are
//! `type="text"`, and the HTML of an entry's content is made by our own template, which escapes.

use askama::Template;
use atom_syndication::{
    Category, Content, Entry as AtomEntry, Feed, FixedDateTime, Generator, Link, Person, Source,
    Text,
};
use chrono::{DateTime, TimeDelta, Utc};
use url::Url;

use crate::change::{Change, ChangeKind, ChangedPage, Entry, NetChange, net_effect};
use crate::moment::{Moment, Precision};
use crate::site::About;
use crate::text::is_legal;
use crate::text::readable_address;

/// What a feed is about: a collection, or a whole site.
pub struct Subject<'a> {
    /// The id of the feed.
    pub id: String,
    /// What it is called.
    pub title: &'a str,
    /// What it says about itself.
    pub about: &'a About,
    /// The page that the feed describes.
    pub page: &'a Url,
    /// Where that is described further.
    pub described_by: Option<&'a Url>,
}

/// The entries of one collection, newest first.
pub struct Part<'a> {
    /// The collection.
    pub subject: Subject<'a>,
    /// What was found in it.
    pub entries: Vec<Entry>,
}

/// The feed of a whole site over the entries of its collections. `none_at` stands in for `updated` where there is no
/// entry.
pub fn site_feed(site: &Subject<'_>, parts: &[Part<'_>], none_at: DateTime<Utc>) -> String {
    let mut found: Vec<(&Subject<'_>, &Entry)> = parts
        .iter()
        .flat_map(|part| part.entries.iter().map(|entry| (&part.subject, entry)))
        .collect();
    found.sort_by(|(_, one), (_, other)| {
        other
            .updated_at
            .cmp(&one.updated_at)
            .then_with(|| one.id.cmp(&other.id))
    });
    let mut entries: Vec<AtomEntry> = Vec::with_capacity(found.len());
    let mut before: Option<DateTime<Utc>> = None;
    for (subject, entry) in found {
        // Readers take two entries with one time for one; a millisecond tells them apart.
        let updated = match before {
            Some(before) if before <= entry.updated_at => before - TimeDelta::milliseconds(1),
            _ => entry.updated_at,
        };
        before = Some(updated);
        entries.push(atom_entry(subject, entry, updated));
    }
    let updated = entries
        .first()
        .map_or(none_at.fixed_offset(), |entry| *entry.updated());
    let mut feed = Feed {
        id: legal(&site.id),
        title: text(site.title),
        updated,
        authors: authors(site),
        links: links(site),
        subtitle: Some(text(&subtitle(site))),
        generator: Some(Generator {
            value: "Sitebell".into(),
            uri: None,
            version: Some(env!("CARGO_PKG_VERSION").into()),
        }),
        rights: site.about.rights.as_deref().map(text),
        lang: site.about.language.clone(),
        ..Feed::default()
    };
    feed.entries = entries;
    feed.to_string() + "\n"
}

fn atom_entry(subject: &Subject<'_>, entry: &Entry, updated: DateTime<Utc>) -> AtomEntry {
    let pages = net_effect(&entry.changes);
    let updated: FixedDateTime = updated.fixed_offset();
    let mut links: Vec<Link> = vec![link("alternate", subject.page.as_str())];
    links.extend(
        pages
            .iter()
            .filter(|page| is_there(page.net))
            .map(|page| link("related", &page.last.url)),
    );
    let content = Contents {
        groups: groups(&pages),
    }
    .render()
    .unwrap_or_default();
    AtomEntry {
        id: legal(&entry.id),
        title: text(&title(&pages, subject.title)),
        updated,
        categories: categories(&entry.changes),
        links,
        source: Some(Source {
            id: legal(&subject.id),
            title: text(subject.title),
            updated,
            ..Source::default()
        }),
        content: Some(Content {
            value: Some(legal(&content)),
            content_type: Some("html".into()),
            ..Content::default()
        }),
        ..AtomEntry::default()
    }
}

/// "Two pages updated, one new in Fox Den"
fn title(pages: &[ChangedPage<'_>], collection: &str) -> String {
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

/// The content of an entry: its pages by kind.
#[derive(Template)]
#[template(path = "feed/entry.html")]
struct Contents {
    groups: Vec<Group>,
}

struct Group {
    heading: &'static str,
    pages: Vec<PageLine>,
}

struct PageLine {
    url: String,
    name: String,
    linked: bool,
    datetime: String,
    time: String,
    facts: String,
}

fn groups(pages: &[ChangedPage<'_>]) -> Vec<Group> {
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

fn page_line(page: &ChangedPage<'_>) -> PageLine {
    let change = page.last;
    let readable = Url::parse(&change.url).map(|url| readable_address(&url));
    let details = &change.details;
    let facts: Vec<String> = details
        .media_type
        .iter()
        .cloned()
        .chain(details.length.map(size_in_words))
        .collect();
    PageLine {
        url: change.url.clone(),
        name: change
            .title
            .clone()
            .unwrap_or_else(|| readable.unwrap_or_else(|_| change.url.clone())),
        linked: is_there(page.net),
        datetime: change.datetime.to_string(),
        time: time_in_words(&change.datetime),
        facts: facts.join(", "),
    }
}

fn is_there(net: NetChange) -> bool {
    matches!(net, NetChange::Created | NetChange::Updated)
}

/// A time as precise as its source, for people.
pub fn time_in_words(moment: &Moment) -> String {
    let start = moment.start();
    let format = match moment.precision() {
        Precision::Year => "%Y",
        Precision::Month => "%B %Y",
        Precision::Day => "%-d %B %Y",
        Precision::Minute | Precision::Second | Precision::Fraction(_) => "%-d %B %Y, %H:%M UTC",
    };
    start.format(format).to_string()
}

/// A number of bytes, for people.
pub fn size_in_words(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

fn categories(changes: &[Change]) -> Vec<Category> {
    let kinds = [
        ChangeKind::Created,
        ChangeKind::Updated,
        ChangeKind::Deleted,
    ];
    let present = kinds
        .into_iter()
        .filter(|kind| changes.iter().any(|change| change.kind == *kind));
    present
        .map(|kind| Category {
            term: kind.as_str().into(),
            scheme: None,
            label: None,
        })
        .collect()
}

fn authors(subject: &Subject<'_>) -> Vec<Person> {
    let person = |name: &str| Person {
        name: legal(name),
        ..Person::default()
    };
    match subject.about.authors.as_slice() {
        // Atom demands an author; the site is the best that is known.
        [] => vec![person(subject.title)],
        authors => authors.iter().map(|name| person(name)).collect(),
    }
}

fn links(subject: &Subject<'_>) -> Vec<Link> {
    let mut links = vec![link("alternate", subject.page.as_str())];
    links.extend(
        subject
            .described_by
            .map(|url| link("describedby", url.as_str())),
    );
    links
}

fn subtitle(subject: &Subject<'_>) -> String {
    let description = subject.about.description.clone();
    description
        .unwrap_or_else(|| format!("Changes to the pages of {}", readable_address(subject.page)))
}

fn link(rel: &str, href: &str) -> Link {
    Link {
        rel: rel.into(),
        href: legal(href),
        ..Link::default()
    }
}

fn text(value: &str) -> Text {
    Text::plain(legal(value))
}

/// Without the characters that would break the feed for every reader: those that XML 1.0 forbids, and C1 controls.
fn legal(text: &str) -> String {
    text.chars()
        .filter(|&character| is_legal(character) && !matches!(character, '\u{7F}'..='\u{9F}'))
        .collect()
}
