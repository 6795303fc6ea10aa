//! A document as Atom (RFC 4287), with its place among others (RFC 5005).

use std::borrow::Cow;
use std::collections::BTreeMap;

use atom_syndication::extension::{Extension, ExtensionMap};
use atom_syndication::{
    Category, Content, Entry as AtomEntry, Feed, FixedDateTime, Generator, Link, Person, Source,
    Text, WriteConfig,
};
use chrono::{DateTime, Utc};

use super::room::{Room, fitting};
use super::words::{href, language, legal};
use super::{Document, HTML, Item, Subject, authors, feed_id, links_of, subtitle};
use crate::change::ChangedPage;

const ATOM: &str = "application/atom+xml";
const JSON: &str = "application/feed+json";
/// Room for a document, so that it seldom has to move while it is written.
const USUAL_BYTES: usize = 64 << 10;
const HISTORY: &str = "http://purl.org/syndication/history/1.0";

/// The document.
pub fn to_atom(document: &Document<'_>) -> String {
    let mut written = Vec::with_capacity(USUAL_BYTES);
    write_atom(document, &mut written);
    String::from_utf8(written).expect("only text was written")
}

/// Writes the document at the end of what is there.
pub fn write_atom(document: &Document<'_>, written: &mut Vec<u8>) {
    fitting(written, |room, written| write(document, room, written));
}

fn write(document: &Document<'_>, room: Room, written: &mut Vec<u8>) {
    let subject = document.subject;
    let entries = document.laid_out(room);
    let entries = entries.map(|(item, listed)| entry(document, item, listed, room));
    let mut feed = Feed {
        id: legal(&*subject.id),
        title: text(subject.title),
        updated: time(document.updated_at()),
        authors: persons(subject, room),
        links: links(document),
        subtitle: Some(text(subtitle(subject))),
        generator: Some(Generator {
            value: "Sitebell".into(),
            uri: None,
            version: Some(env!("CARGO_PKG_VERSION").into()),
        }),
        rights: subject.about.rights.as_deref().map(text),
        lang: language(subject.about.language.as_ref()).map(str::to_owned),
        entries: entries.collect(),
        ..Feed::default()
    };
    if document.links.current.is_some() {
        feed.namespaces.insert("fh".into(), HISTORY.into());
        let archive = Extension {
            name: "fh:archive".into(),
            ..Extension::default()
        };
        let archive = BTreeMap::from([("archive".to_owned(), vec![archive])]);
        feed.extensions.insert("fh".into(), archive);
    }
    written.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
    if let Some(url) = &document.links.stylesheet {
        let url = escaped(url);
        let line = format!("<?xml-stylesheet type=\"text/css\" href=\"{url}\"?>\n");
        written.extend_from_slice(line.as_bytes());
    }
    let config = WriteConfig {
        write_document_declaration: false,
        indent_size: None,
    };
    let done = feed.write_with_config(&mut *written, config);
    done.expect("a vector takes all that is written to it");
    written.push(b'\n');
}

fn entry(
    document: &Document<'_>,
    item: &Item<'_>,
    listed: &[ChangedPage<'_>],
    room: Room,
) -> AtomEntry {
    let subject = item.subject;
    let (alternate, media_type) = item.alternate(listed);
    let mut links = vec![link("alternate", alternate, media_type)];
    // A page that is the alternate already needs no second link.
    let related = links_of(listed).filter(|page| page.address() != alternate);
    links.extend(related.map(|page| link("related", page.address(), None)));
    let html = item.content(listed, room);
    let rights = subject.about.rights.as_deref().filter(|_| room.has_words);
    // Every field is named, because the default of a time is read from a text each time.
    AtomEntry {
        id: legal(&*item.id),
        title: text(room.cut(&item.title())),
        updated: time(item.updated_at),
        categories: categories(item, room),
        links,
        source: document.has_sources.then(|| Source {
            id: legal(feed_id(&subject.id, item.grain())),
            title: text(room.cut(subject.title)),
            updated: time(item.updated_at),
            authors: persons(subject, room),
            links: vec![link("alternate", subject.page.as_str(), Some(HTML))],
            categories: Vec::new(),
            contributors: Vec::new(),
            generator: None,
            icon: None,
            logo: None,
            rights: rights.map(text),
            subtitle: None,
        }),
        content: Some(Content {
            value: Some(legal(html)),
            content_type: Some("html".into()),
            lang: document.language_of(item).map(str::to_owned),
            ..Content::default()
        }),
        authors: Vec::new(),
        contributors: Vec::new(),
        published: None,
        rights: None,
        summary: None,
        extensions: ExtensionMap::default(),
        namespaces: BTreeMap::new(),
    }
}

fn categories(item: &Item<'_>, room: Room) -> Vec<Category> {
    let category = |term: String| Category {
        term,
        scheme: None,
        label: None,
    };
    let kinds = item.kinds().into_iter();
    let kinds = kinds.map(|kind| kind.as_str().to_owned());
    kinds.chain(item.tags(room.tags)).map(category).collect()
}

fn links(document: &Document<'_>) -> Vec<Link> {
    let (subject, places) = (document.subject, &document.links);
    let page = subject.page.as_str();
    let mut links = Vec::new();
    let mut add = |rel: &str, href: Option<&str>, media_type: Option<&str>| {
        links.extend(href.map(|href| link(rel, href, media_type)));
    };
    add("self", places.own.as_deref(), Some(ATOM));
    add("alternate", Some(page), Some(HTML));
    add("alternate", places.json.as_deref(), Some(JSON));
    add(
        "describedby",
        subject.described_by.map(url::Url::as_str),
        None,
    );
    add("via", subject.via.map(url::Url::as_str), None);
    add("current", places.current.as_deref(), Some(ATOM));
    add("prev-archive", places.prev_archive.as_deref(), Some(ATOM));
    add("next-archive", places.next_archive.as_deref(), Some(ATOM));
    add("first", places.first.as_deref(), Some(ATOM));
    add("next", places.next.as_deref(), Some(ATOM));
    links
}

fn persons(subject: &Subject<'_>, room: Room) -> Vec<Person> {
    let person = |name| Person {
        name,
        ..Person::default()
    };
    let names = authors(subject, room).into_iter();
    names.map(person).collect()
}

fn link(rel: &str, to: &str, media_type: Option<&str>) -> Link {
    Link {
        rel: rel.into(),
        href: href(to).into_owned(),
        mime_type: media_type.map(str::to_owned),
        ..Link::default()
    }
}

/// Words. Those that look like markup are declared as HTML and escaped, because so many readers take them for it.
fn text<'a>(value: impl Into<Cow<'a, str>>) -> Text {
    let value = legal(value);
    match value.contains(['<', '&']) {
        true => Text::html(escaped(&value)),
        false => Text::plain(value),
    }
}

fn time(at: DateTime<Utc>) -> FixedDateTime {
    at.fixed_offset()
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
