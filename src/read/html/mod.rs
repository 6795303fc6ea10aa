//! What an HTML page says about itself: title, description, author, language, links.
//!
//! Reads the first [`MAX_BYTES`] and never fails: a page that says nothing gives an empty [`HtmlHead`]. No script runs,
//! nothing is fetched, no markup passes through: every string is plain text, cleaned, and still to be escaped.

pub mod main_text;
mod place;
mod text;

use html5gum::{StartTag, Token, Tokenizer};
use url::Url;

use super::link::{self, Link};
use super::{address, charset};
use crate::text::clean;
use place::Place;
pub use text::plain_text;

/// How much of a page is read. Heads grow large with inlined styles, but not larger than this.
pub const MAX_BYTES: usize = 256 * 1_024;

/// Most links kept from one page.
const MAX_LINKS: usize = 256;

/// Most pieces of JSON-LD kept from one page.
const MAX_JSON_LD: usize = 16;

/// Relations that decide what is read next on the site's behalf.
///
/// Browsers honour a `<link>` in the body too, but that is where comments and guest books stand: a visitor who smuggles
/// one in must not take over what the site says about itself. So these count in the head alone.
const HEAD_ONLY_RELS: [&str; 3] = ["resourcesync", "describedby", "sitemap"];

/// What a page says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HtmlHead {
    /// `<title>`, else what social networks are told, else a `<title>` strayed into the body.
    pub title: Option<String>,
    /// `<meta name=description>`, else what social networks are told.
    pub description: Option<String>,
    /// `<meta name=author>`.
    pub author: Option<String>,
    /// `<meta name=copyright>`.
    pub rights: Option<String>,
    /// The language of the page.
    pub language: Option<String>,
    /// Whether it asks search engines, or us, not to tell of it.
    pub is_hidden: bool,
    /// `<link>` elements, in order.
    pub links: Vec<Link>,
    /// The text of `<script type="application/ld+json">` elements, neither checked nor cleaned.
    pub json_ld: Vec<String>,
}

impl HtmlHead {
    /// Reads the page at `base`. The content type serves only to find the encoding.
    pub fn parse(bytes: &[u8], content_type: Option<&str>, base: &Url) -> Self {
        let bytes = &bytes[..bytes.len().min(MAX_BYTES)];
        let html = charset::decode_html(bytes, content_type);
        let mut page = Page::new(is_xml(content_type, &html));
        let mut tokenizer = Tokenizer::new(html.as_ref());
        while let Some(Ok(token)) = tokenizer.next() {
            match token {
                Token::StartTag(tag) => {
                    if let Some(state) = page.place.open(&tag) {
                        tokenizer.set_state(state);
                    }
                    page.open(&tag, base);
                }
                Token::EndTag(tag) => {
                    page.place.close(&tag.name);
                    page.close();
                }
                Token::String(text) => {
                    page.place.text(&text);
                    page.text(&text);
                }
                Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
            }
        }
        page.finish(base)
    }
}

/// Whether the page is XHTML meant as XML, where elements may close themselves.
fn is_xml(content_type: Option<&str>, html: &str) -> bool {
    html.starts_with("<?xml") || content_type.is_some_and(|value| value.contains("xml"))
}

/// The best of several candidates: the lowest rank, and among equals the first.
#[derive(Debug, Default)]
struct Best(Option<(u8, String)>);

impl Best {
    fn offer(&mut self, rank: u8, text: Option<String>) {
        if let Some(text) = text
            && self.0.as_ref().is_none_or(|(own, _)| rank < *own)
        {
            self.0 = Some((rank, text));
        }
    }

    fn take(self) -> Option<String> {
        self.0.map(|(_, text)| text)
    }
}

/// An element whose text is being collected.
#[derive(Debug)]
enum Collecting {
    Title { rank: u8, text: String },
    JsonLd(String),
}

/// A link whose target is not resolved yet, because a `<base>` may come after it.
#[derive(Debug)]
struct PendingLink {
    href: String,
    rels: Vec<String>,
    media_type: Option<String>,
    title: Option<String>,
}

#[derive(Debug)]
struct Page {
    place: Place,
    collecting: Option<Collecting>,
    title: Best,
    description: Best,
    author: Best,
    rights: Best,
    language: Best,
    is_hidden: bool,
    base: Option<Url>,
    links: Vec<PendingLink>,
    json_ld: Vec<String>,
}

impl Page {
    fn new(xml: bool) -> Self {
        Self {
            place: Place::new(xml),
            collecting: None,
            title: Best::default(),
            description: Best::default(),
            author: Best::default(),
            rights: Best::default(),
            language: Best::default(),
            is_hidden: false,
            base: None,
            links: Vec::new(),
            json_ld: Vec::new(),
        }
    }

    fn open(&mut self, tag: &StartTag<()>, document: &Url) {
        if !self.place.counts() {
            return;
        }
        let in_head = self.place.in_head();
        match &**tag.name {
            b"html" => {
                let language = attribute(tag, "lang").or_else(|| attribute(tag, "xml:lang"));
                self.language
                    .offer(0, language.as_deref().and_then(clean::language));
            }
            b"title" if self.place.in_raw_text() => {
                self.collecting = Some(Collecting::Title {
                    rank: if in_head { 0 } else { 9 },
                    text: String::new(),
                });
            }
            b"script" if self.place.in_raw_text() && is_json_ld(tag) => {
                self.collecting = Some(Collecting::JsonLd(String::new()));
            }
            b"meta" if in_head => self.meta(tag),
            // A base in the body would move the links of the head: see HEAD_ONLY_RELS.
            b"base" if in_head && self.base.is_none() => {
                self.base = attribute(tag, "href")
                    .and_then(|href| address::resolve_url(&href, document).ok());
            }
            b"link" => self.link(tag, in_head),
            _ => {}
        }
    }

    fn meta(&mut self, tag: &StartTag<()>) {
        let Some(content) = attribute(tag, "content") else {
            return;
        };
        let name = ["name", "property", "http-equiv"]
            .iter()
            .find_map(|key| attribute(tag, key))
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        match name.as_str() {
            "og:title" => self.title.offer(1, clean::title(&content)),
            "og:site_name" => self.title.offer(2, clean::title(&content)),
            "dcterms.title" | "dc.title" => self.title.offer(3, clean::title(&content)),
            "description" => self.description.offer(0, clean::description(&content)),
            "og:description" => self.description.offer(1, clean::description(&content)),
            "dcterms.description" | "dc.description" => {
                self.description.offer(2, clean::description(&content));
            }
            "author" => self.author.offer(0, clean::title(&content)),
            "dcterms.creator" | "dc.creator" => self.author.offer(1, clean::title(&content)),
            "copyright" => self.rights.offer(0, clean::description(&content)),
            "dcterms.rights" | "dc.rights" => self.rights.offer(1, clean::description(&content)),
            "robots" | "sitebell" => self.is_hidden |= says_noindex(&content),
            "content-language" => self.language.offer(1, clean::language(&content)),
            _ => {}
        }
    }

    fn link(&mut self, tag: &StartTag<()>, in_head: bool) {
        let mut rels = link::rels(&attribute(tag, "rel").unwrap_or_default());
        if !in_head {
            rels.retain(|rel| !HEAD_ONLY_RELS.contains(&rel.as_str()));
        }
        if let Some(href) = attribute(tag, "href")
            && !rels.is_empty()
            && self.links.len() < MAX_LINKS
        {
            self.links.push(PendingLink {
                href,
                rels,
                media_type: attribute(tag, "type").and_then(|value| link::media_type(&value)),
                title: attribute(tag, "title").and_then(|value| clean::title(&value)),
            });
        }
    }

    fn text(&mut self, bytes: &[u8]) {
        match &mut self.collecting {
            Some(Collecting::Title { text, .. } | Collecting::JsonLd(text)) => {
                text.push_str(&String::from_utf8_lossy(bytes));
            }
            None => {}
        }
    }

    /// Passes an end tag. An element that never ends never gets here, so an unclosed title is not the rest of the page.
    fn close(&mut self) {
        match self.collecting.take() {
            Some(Collecting::Title { rank, text }) => self.title.offer(rank, clean::title(&text)),
            Some(Collecting::JsonLd(text)) if self.json_ld.len() < MAX_JSON_LD => {
                self.json_ld.push(text);
            }
            _ => {}
        }
    }

    fn finish(self, document: &Url) -> HtmlHead {
        let base = self.base.as_ref().unwrap_or(document);
        let links = self.links.into_iter().filter_map(|pending| {
            Some(Link {
                href: address::resolve_url(&pending.href, base).ok()?,
                rels: pending.rels,
                media_type: pending.media_type,
                title: pending.title,
            })
        });
        HtmlHead {
            links: links.collect(),
            title: self.title.take(),
            description: self.description.take(),
            author: self.author.take(),
            rights: self.rights.take(),
            language: self.language.take(),
            is_hidden: self.is_hidden,
            json_ld: self.json_ld,
        }
    }
}

/// Whether rules for robots, such as `noindex, nofollow`, forbid to tell of a page.
pub fn says_noindex(rules: &str) -> bool {
    // One with a colon, such as `max-image-preview:none`, is about something else.
    let plain = rules.split(',').filter(|rule| !rule.contains(':'));
    let mut words = plain.flat_map(str::split_whitespace);
    words.any(|word| {
        ["noindex", "none"]
            .iter()
            .any(|no| word.eq_ignore_ascii_case(no))
    })
}

/// The same for a value of `X-Robots-Tag`, which may be meant for one robot alone.
pub fn tag_says_noindex(value: &str) -> bool {
    let rules = [
        "max-snippet",
        "max-image-preview",
        "max-video-preview",
        "unavailable_after",
    ];
    let is_robot = |name: &str| {
        let name = name.trim();
        !name.contains(',') && !rules.iter().any(|rule| name.eq_ignore_ascii_case(rule))
    };
    match value.split_once(':') {
        Some((robot, rules)) if is_robot(robot) => {
            robot.trim().eq_ignore_ascii_case("sitebell") && says_noindex(rules)
        }
        _ => says_noindex(value),
    }
}

fn is_json_ld(tag: &StartTag<()>) -> bool {
    attribute(tag, "type")
        .and_then(|value| link::media_type(&value))
        .is_some_and(|value| value == "application/ld+json")
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests;
