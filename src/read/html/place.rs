//! Where in a page the reader is: in the head or past it, inside raw text, a template or a drawing.
//!
//! Knows as much of the HTML tree builder as it takes to answer that and no more; it builds no tree. The head ends where
//! browsers end it, at the first thing that cannot stand in one, whether or not the page wrote `<head>` or `</head>`.

use html5gum::{StartTag, State};

/// Elements that may stand in the head; any other start tag begins the body.
const HEAD_ELEMENTS: [&[u8]; 13] = [
    b"html",
    b"head",
    b"base",
    b"basefont",
    b"bgsound",
    b"link",
    b"meta",
    b"title",
    b"noscript",
    b"noframes",
    b"style",
    b"script",
    b"template",
];

/// Elements that cannot stand in a drawing or formula: an unclosed `<svg>` ends at the first of them.
const ENDS_FOREIGN: [&[u8]; 24] = [
    b"blockquote",
    b"body",
    b"br",
    b"center",
    b"code",
    b"div",
    b"dl",
    b"embed",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"head",
    b"hr",
    b"img",
    b"li",
    b"meta",
    b"ol",
    b"p",
    b"pre",
    b"table",
    b"ul",
];

/// The reader's place in a page, moved by one token at a time.
#[derive(Debug)]
pub(super) struct Place {
    /// Whether the page is written in XML, where `<script/>` is a whole element.
    xml: bool,
    head: bool,
    /// Inside an element whose content is text, whatever it looks like.
    raw: bool,
    templates: usize,
    foreign: usize,
}

impl Place {
    pub(super) fn new(xml: bool) -> Self {
        Self {
            xml,
            head: true,
            raw: false,
            templates: 0,
            foreign: 0,
        }
    }

    /// Whether the body has not begun.
    pub(super) fn in_head(&self) -> bool {
        self.head
    }

    /// Whether elements here are part of the page itself, not of a template, a drawing or a formula.
    pub(super) fn counts(&self) -> bool {
        self.templates == 0 && self.foreign == 0
    }

    /// Whether the element just opened holds text until its own end tag.
    pub(super) fn in_raw_text(&self) -> bool {
        self.raw
    }

    /// Passes a start tag; returns how the tokenizer has to go on, if not as before.
    pub(super) fn open(&mut self, tag: &StartTag<()>) -> Option<State> {
        let name: &[u8] = &tag.name;
        if self.foreign > 0 {
            if !ENDS_FOREIGN.contains(&name) {
                self.foreign += usize::from(is_foreign(name) && !tag.self_closing);
                return None;
            }
            self.foreign = 0;
        }
        if self.templates == 0 && !HEAD_ELEMENTS.contains(&name) {
            self.head = false;
        }
        if is_foreign(name) {
            self.foreign = usize::from(!tag.self_closing);
            return None;
        }
        if self.xml && tag.self_closing {
            return None;
        }
        if name == b"template" {
            self.templates += 1;
        }
        let state = content_state(name);
        self.raw = state.is_some();
        state
    }

    /// Passes an end tag.
    pub(super) fn close(&mut self, name: &[u8]) {
        if self.raw {
            // In raw text the tokenizer reports no end tag but the right one.
            self.raw = false;
        } else if name == b"template" && self.templates > 0 {
            // Takes a drawing left open inside the template with it.
            self.templates -= 1;
            self.foreign = 0;
        } else if is_foreign(name) {
            self.foreign = self.foreign.saturating_sub(1);
        } else if matches!(name, b"body" | b"html" | b"br") {
            self.head = false;
        }
    }

    /// Passes text.
    pub(super) fn text(&mut self, text: &[u8]) {
        if !self.raw && self.templates == 0 && !text.trim_ascii().is_empty() {
            self.head = false;
        }
    }
}

fn is_foreign(name: &[u8]) -> bool {
    matches!(name, b"svg" | b"math")
}

/// How the content of an element is read, where that is not as more elements.
///
/// `<noscript>` is raw text as in a browser that runs scripts: its content is for nobody else.
fn content_state(name: &[u8]) -> Option<State> {
    match name {
        b"title" | b"textarea" => Some(State::RcData),
        b"script" => Some(State::ScriptData),
        b"style" | b"noscript" | b"noframes" | b"noembed" | b"iframe" | b"xmp" => {
            Some(State::RawText)
        }
        b"plaintext" => Some(State::PlainText),
        _ => None,
    }
}
