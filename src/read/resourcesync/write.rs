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
    let mut metadata = Tag::new(&mut text, "  ", "rs:md");
    metadata.text("capability", Some(document.capability.as_str()));
    metadata.moments(&[
        ("from", document.from),
        ("until", document.until),
        ("at", document.at),
        ("completed", document.completed),
    ]);
    metadata.finish();
    for entry in &document.entries {
        write_entry(&mut text, item, entry);
    }
    let _ = writeln!(text, "</{root}>");
    text
}

fn write_entry(text: &mut String, item: &str, entry: &Entry) {
    let _ = write!(text, "  <{item}>\n    <loc>");
    push_escaped(text, &entry.loc);
    text.push_str("</loc>\n");
    if let Some(lastmod) = entry.lastmod {
        let _ = writeln!(text, "    <lastmod>{lastmod}</lastmod>");
    }
    let mut metadata = Tag::new(text, "    ", "rs:md");
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
    metadata.finish_if_used();
    for link in &entry.details.links {
        write_link(text, "    ", link);
    }
    if let Some(note) = &entry.details.note {
        text.push_str("    <dcterms:description>");
        push_escaped(text, note);
        text.push_str("</dcterms:description>\n");
    }
    let _ = writeln!(text, "  </{item}>");
}

fn write_link(text: &mut String, indent: &str, link: &Link) {
    let mut tag = Tag::new(text, indent, "rs:ln");
    tag.text("rel", Some(&link.rel));
    tag.text("href", Some(&link.href));
    tag.number("pri", link.pri.map(u64::from));
    tag.moments(&[("modified", link.modified)]);
    tag.text("hash", link.hash.as_deref());
    tag.number("length", link.length);
    tag.text("type", link.media_type.as_deref());
    tag.text("encoding", link.encoding.as_deref());
    tag.finish();
}

/// A tag without content, attribute by attribute.
struct Tag<'a> {
    text: &'a mut String,
    begin: usize,
    has_attributes: bool,
}

impl<'a> Tag<'a> {
    fn new(text: &'a mut String, indent: &str, name: &str) -> Tag<'a> {
        let begin = text.len();
        text.push_str(indent);
        text.push('<');
        text.push_str(name);
        Tag {
            text,
            begin,
            has_attributes: false,
        }
    }

    fn begin_value(&mut self, name: &str) {
        self.has_attributes = true;
        self.text.push(' ');
        self.text.push_str(name);
        self.text.push_str("=\"");
    }

    fn text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.begin_value(name);
            // White space as it is would come back as spaces from other readers.
            match value.contains(['\n', '\t']) {
                true => {
                    let value = escape(value).replace('\n', "&#10;").replace('\t', "&#9;");
                    self.text.push_str(&value);
                }
                false => push_escaped(self.text, value),
            }
            self.text.push('"');
        }
    }

    fn number(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.begin_value(name);
            let _ = write!(self.text, "{value}\"");
        }
    }

    fn moments(&mut self, moments: &[(&str, Option<Moment>)]) {
        for (name, moment) in moments {
            if let Some(moment) = moment {
                self.begin_value(name);
                let _ = write!(self.text, "{moment}\"");
            }
        }
    }

    fn finish(self) {
        self.text.push_str("/>\n");
    }

    /// Leaves no tag that says nothing.
    fn finish_if_used(self) {
        match self.has_attributes {
            true => self.finish(),
            false => self.text.truncate(self.begin),
        }
    }
}

fn push_escaped(text: &mut String, value: &str) {
    // Addresses are almost always as they should be, and a list has thousands of them.
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !b"<>&'\"".contains(byte);
    match value.as_bytes().iter().all(is_plain) {
        true => text.push_str(value),
        false => text.push_str(&escape(value)),
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
