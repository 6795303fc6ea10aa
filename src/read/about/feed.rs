//! The head of an Atom or RSS feed. Entries are not read: they are about other things.

use crate::read::html;
use crate::read::xml::tree::Element;
use crate::site::{About, MAX_AUTHORS};
use crate::text::clean;

const ATOM: &str = "http://www.w3.org/2005/Atom";
const ELEMENTS: &str = "http://purl.org/dc/elements/1.1/";
const ITUNES: &str = "http://www.itunes.com/dtds/podcast-1.0.dtd";
const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// What a feed says about itself, if `root` is one.
pub(super) fn read(root: &Element) -> Option<About> {
    match (root.namespace.as_str(), root.name.as_str()) {
        (ATOM, "feed" | "entry") => Some(atom(root)),
        ("", "rss") => root.elements().find(|e| is(e, "", "channel")).map(rss),
        _ => None,
    }
}

fn atom(feed: &Element) -> About {
    let child = |name| feed.elements().find(|e| is(e, ATOM, name));
    let description = child("subtitle").or_else(|| child("summary"));
    let names = feed
        .elements()
        .filter(|e| is(e, ATOM, "author"))
        .filter_map(|author| author.elements().find(|e| is(e, ATOM, "name")))
        .map(Element::text);
    About {
        title: child("title").and_then(|e| clean::title(&atom_text(e))),
        description: description.and_then(|e| clean::description(&atom_text(e))),
        authors: authors(names),
        rights: child("rights").and_then(|e| clean::description(&atom_text(e))),
        language: feed.attribute_ns(XML, "lang").and_then(clean::language),
    }
}

/// The words of an Atom text: as they are, in escaped HTML, or in XHTML (whose elements are elements).
fn atom_text(element: &Element) -> String {
    let text = element.text();
    match element.attribute("type") {
        Some("html" | "text/html") => html::plain_text(&text),
        _ => text,
    }
}

fn rss(channel: &Element) -> About {
    // RSS does not say whether its texts are HTML, so feeds in the wild write it everywhere.
    let text = |namespace, name| {
        let element = channel.elements().find(|e| is(e, namespace, name))?;
        Some(html::plain_text(&element.text()))
    };
    let editor = text("", "managingEditor").and_then(|text| editor_name(&text));
    let creators = channel
        .elements()
        .filter(|e| is(e, ELEMENTS, "creator") || is(e, ITUNES, "author"))
        .map(|e| html::plain_text(&e.text()));
    let rights = text("", "copyright").or_else(|| text(ELEMENTS, "rights"));
    let language = text("", "language").or_else(|| text(ELEMENTS, "language"));
    About {
        title: text("", "title").and_then(|text| clean::title(&text)),
        description: text("", "description").and_then(|text| clean::description(&text)),
        authors: authors(editor.into_iter().chain(creators)),
        rights: rights.and_then(|text| clean::description(&text)),
        language: language.and_then(|text| clean::language(&text)),
    }
}

/// The name in `ann@example.com (Ann)`; the address alone is nobody's to show.
fn editor_name(editor: &str) -> Option<String> {
    if let Some((_, name)) = editor.split_once('(') {
        return Some(name.trim_end().trim_end_matches(')').to_owned());
    }
    (!editor.contains('@')).then(|| editor.to_owned())
}

fn authors(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut authors = Vec::new();
    for name in names.filter_map(|name| clean::title(&name)) {
        if authors.len() < MAX_AUTHORS && !authors.contains(&name) {
            authors.push(name);
        }
    }
    authors
}

fn is(element: &Element, namespace: &str, name: &str) -> bool {
    element.namespace == namespace && element.name == name
}
