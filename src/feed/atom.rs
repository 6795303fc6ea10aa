//! A document as Atom (RFC 4287), with its place among others (RFC 5005).

use std::borrow::Cow;
use std::collections::BTreeMap;

use atom_syndication::extension::{Extension, ExtensionMap};
use atom_syndication::{
    Category, Content, Entry as AtomEntry, Feed, FixedDateTime, Generator, Link, Person, Source,
    Text, WriteConfig,
};
use chrono::{DateTime, Utc};

use super::{Document, Item, Subject, authors, content, href, legal, links_of, subtitle};

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
    let subject = document.subject;
    let entries = document.laid_out().into_iter();
    let entries = entries.map(|(item, allowed)| entry(item, allowed, document.has_sources));
    let mut feed = Feed {
        id: legal(&*subject.id),
        title: text(subject.title),
        updated: time(document.updated_at()),
        authors: persons(subject),
        links: links(document),
        subtitle: Some(text(subtitle(subject))),
        generator: Some(Generator {
            value: "Sitebell".into(),
            uri: None,
            version: Some(env!("CARGO_PKG_VERSION").into()),
        }),
        rights: subject.about.rights.as_deref().map(text),
        lang: subject.about.language.clone(),
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

fn entry(item: &Item<'_>, allowed: usize, has_source: bool) -> AtomEntry {
    let listed = content::listed(&item.pages, allowed);
    let mut links = vec![link("alternate", &item.alternate(), Some("text/html"))];
    // A page that is the alternate already needs no second link.
    let alternate = item.alternate();
    let related = links_of(listed).filter(|page| page.url != *alternate);
    links.extend(related.map(|page| link("related", &page.url, None)));
    let html = content::html(listed, item.pages.len(), item.url.as_deref(), item.note);
    // Every field is named, because the default of a time is read from a text each time.
    AtomEntry {
        id: legal(&*item.id),
        title: text(item.title()),
        updated: time(item.updated_at),
        categories: categories(item),
        links,
        source: has_source.then(|| Source {
            id: legal(&*item.subject.id),
            title: text(item.subject.title),
            updated: time(item.updated_at),
            authors: persons(item.subject),
            links: vec![link(
                "alternate",
                item.subject.page.as_str(),
                Some("text/html"),
            )],
            categories: Vec::new(),
            contributors: Vec::new(),
            generator: None,
            icon: None,
            logo: None,
            rights: None,
            subtitle: None,
        }),
        content: Some(Content {
            value: Some(legal(html)),
            content_type: Some("html".into()),
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

fn categories(item: &Item<'_>) -> Vec<Category> {
    let category = |term: String| Category {
        term,
        scheme: None,
        label: None,
    };
    let kinds = item.kinds().into_iter();
    let kinds = kinds.map(|kind| kind.as_str().to_owned());
    kinds.chain(item.tags()).map(category).collect()
}

fn links(document: &Document<'_>) -> Vec<Link> {
    let (subject, places) = (document.subject, &document.links);
    let page = subject.page.as_str();
    let mut links = Vec::new();
    let mut add = |rel: &str, href: Option<&str>, media_type: Option<&str>| {
        links.extend(href.map(|href| link(rel, href, media_type)));
    };
    add("self", places.own.as_deref(), Some(ATOM));
    add("alternate", Some(page), Some("text/html"));
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
    add("next", places.next.as_deref(), Some(ATOM));
    add("previous", places.previous.as_deref(), Some(ATOM));
    links
}

fn persons(subject: &Subject<'_>) -> Vec<Person> {
    let person = |name| Person {
        name,
        ..Person::default()
    };
    authors(subject).into_iter().map(person).collect()
}

fn link(rel: &str, to: &str, media_type: Option<&str>) -> Link {
    Link {
        rel: rel.into(),
        href: href(to),
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
