//! [`Document`] to bytes, in the shape of the specification's own examples.

use std::fmt::Write as _;

use super::document::{DCTERMS, Document, Entry, RS, SITEMAP};
use crate::change::Link;
use crate::moment::Moment;

/// Writes a document, ready to be served.
pub fn write(document: &Document) -> String {
    let (root, item) = match document.is_index {
        true => ("sitemapindex", "sitemap"),
        false => ("urlset", "url"),
    };
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let has_notes = (document.entries.iter()).any(|entry| entry.details.note.is_some());
    let words = match has_notes {
        true => format!(" xmlns:dcterms=\"{DCTERMS}\""),
        false => String::new(),
    };
    let _ = writeln!(
        text,
        "<{root} xmlns=\"{SITEMAP}\" xmlns:rs=\"{RS}\"{words}>"
    );
    for link in &document.links {
        write_link(&mut text, "  ", link);
    }
    let mut metadata = Tag::new("  ", "rs:md");
    metadata.text("capability", Some(document.capability.as_str()));
    metadata.moments(&[
        ("from", document.from),
        ("until", document.until),
        ("at", document.at),
        ("completed", document.completed),
    ]);
    metadata.finish(&mut text);
    for entry in &document.entries {
        write_entry(&mut text, item, entry);
    }
    let _ = writeln!(text, "</{root}>");
    text
}

fn write_entry(text: &mut String, item: &str, entry: &Entry) {
    let _ = writeln!(text, "  <{item}>\n    <loc>{}</loc>", escape(&entry.loc));
    if let Some(lastmod) = entry.lastmod {
        let _ = writeln!(text, "    <lastmod>{lastmod}</lastmod>");
    }
    let mut metadata = Tag::new("    ", "rs:md");
    metadata.text(
        "capability",
        entry
            .capability
            .as_ref()
            .map(|capability| capability.as_str()),
    );
    metadata.text("change", entry.change.map(|change| change.as_str()));
    metadata.moments(&[
        ("datetime", entry.datetime),
        ("from", entry.from),
        ("until", entry.until),
        ("at", entry.at),
        ("completed", entry.completed),
    ]);
    metadata.text("hash", entry.details.hash.as_deref());
    metadata.number("length", entry.details.length);
    metadata.text("type", entry.details.media_type.as_deref());
    metadata.text("encoding", entry.details.encoding.as_deref());
    metadata.text("path", entry.path.as_deref());
    if metadata.has_attributes {
        metadata.finish(text);
    }
    for link in &entry.details.links {
        write_link(text, "    ", link);
    }
    if let Some(note) = &entry.details.note {
        let note = escape(note);
        let _ = writeln!(
            text,
            "    <dcterms:description>{note}</dcterms:description>"
        );
    }
    let _ = writeln!(text, "  </{item}>");
}

fn write_link(text: &mut String, indent: &str, link: &Link) {
    let mut tag = Tag::new(indent, "rs:ln");
    tag.text("rel", Some(&link.rel));
    tag.text("href", Some(&link.href));
    tag.number("pri", link.pri.map(u64::from));
    tag.moments(&[("modified", link.modified)]);
    tag.text("hash", link.hash.as_deref());
    tag.number("length", link.length);
    tag.text("type", link.media_type.as_deref());
    tag.text("encoding", link.encoding.as_deref());
    tag.finish(text);
}

/// A tag without content, attribute by attribute.
struct Tag {
    text: String,
    has_attributes: bool,
}

impl Tag {
    fn new(indent: &str, name: &str) -> Tag {
        Tag {
            text: format!("{indent}<{name}"),
            has_attributes: false,
        }
    }

    fn text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            // White space as it is would come back as spaces from other readers.
            let value = escape(value).replace('\n', "&#10;").replace('\t', "&#9;");
            let _ = write!(self.text, " {name}=\"{value}\"");
            self.has_attributes = true;
        }
    }

    fn number(&mut self, name: &str, value: Option<u64>) {
        self.text(name, value.map(|value| value.to_string()).as_deref());
    }

    fn moments(&mut self, moments: &[(&str, Option<Moment>)]) {
        for (name, moment) in moments {
            self.text(name, moment.map(|moment| moment.to_string()).as_deref());
        }
    }

    fn finish(self, text: &mut String) {
        text.push_str(&self.text);
        text.push_str("/>\n");
    }
}

/// Text for an element or an attribute. What XML cannot say at all is left out.
pub fn escape(text: &str) -> String {
    let legal: String = text
        .chars()
        .filter(|&character| crate::text::is_legal(character))
        .collect();
    quick_xml::escape::escape(&legal).into_owned()
}
