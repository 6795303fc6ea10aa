//! What a site or a collection is called, and by whom it is: the document that `describedby` points to.
//!
//! Proposal IFCC-0001 leaves the format open, so the common ones are read: RDF/XML, Atom, RSS, JSON-LD, plain JSON and
//! HTML, told apart by their content, whatever their name or type. Turtle is not read. Nothing is fetched, neither
//! contexts nor profiles. Every text that comes out has been through [`clean`](crate::text::clean).

mod feed;
mod graph;
mod json_ld;
mod rdf;
mod vocabulary;
mod write;

use url::Url;

use super::charset;
use super::html::HtmlHead;
use super::xml::{self, XmlError};
use crate::site::About;
pub use write::write;

/// Longest document that is read.
pub const MAX_BYTES: usize = 1_024 * 1_024;

impl From<HtmlHead> for About {
    fn from(head: HtmlHead) -> Self {
        About {
            title: head.title,
            description: head.description,
            authors: head.author.into_iter().collect(),
            rights: head.rights,
            language: head.language,
        }
    }
}

/// Why a description could not be read.
#[derive(Debug, thiserror::Error)]
pub enum AboutError {
    /// There are no bytes, or only white space.
    #[error("the description is empty")]
    Empty,
    /// More than [`MAX_BYTES`].
    #[error("the description has {0} bytes, more than the {MAX_BYTES} that are read")]
    TooLarge(usize),
    /// None of the formats above.
    #[error("unknown format: a description is RDF/XML, Atom, RSS, JSON-LD or HTML")]
    UnknownFormat,
    /// It begins like XML and goes on otherwise.
    #[error("the description is not good XML: {0}")]
    Xml(#[source] XmlError),
    /// It begins like JSON and goes on otherwise.
    #[error("the description is not good JSON: {0}")]
    Json(#[source] serde_json::Error),
}

/// Reads the description at `url` of the site or collection at `described`.
///
/// A document of a known format that says nothing of interest is an empty [`About`], not an error.
pub fn read(
    bytes: &[u8],
    content_type: Option<&str>,
    url: &Url,
    described: &Url,
) -> Result<About, AboutError> {
    if bytes.len() > MAX_BYTES {
        return Err(AboutError::TooLarge(bytes.len()));
    }
    if is_unmarked_utf_16(bytes) {
        return read_xml(bytes, url, described);
    }
    let text = charset::decode_html(bytes, content_type);
    match sniff(&text) {
        Format::Empty => Err(AboutError::Empty),
        Format::Json => {
            let text = charset::decode_plain(bytes, content_type);
            let graph = json_ld::read(text.trim_ascii(), url).map_err(AboutError::Json)?;
            Ok(graph.about(described, url))
        }
        Format::Html => Ok(read_html(bytes, content_type, url, described)),
        Format::Xml => read_xml(bytes, url, described),
        Format::Unknown => Err(AboutError::UnknownFormat),
    }
}

fn read_html(bytes: &[u8], content_type: Option<&str>, url: &Url, described: &Url) -> About {
    of_page(HtmlHead::parse(bytes, content_type, url), url, described)
}

/// What the page at `url` says about `described`, for a page that was read already.
pub fn of_page(mut head: HtmlHead, url: &Url, described: &Url) -> About {
    let scripts = std::mem::take(&mut head.json_ld);
    let mut about = About::from(head);
    for script in scripts {
        // Broken linked data in a good page is no reason to refuse the page.
        if let Ok(graph) = json_ld::read(&script, url) {
            about = about.or(graph.about(described, url));
        }
    }
    about
}

fn read_xml(bytes: &[u8], url: &Url, described: &Url) -> Result<About, AboutError> {
    let root = xml::tree::parse(bytes).map_err(AboutError::Xml)?;
    if let Some(about) = feed::read(&root) {
        return Ok(about);
    }
    let about = rdf::read(&root, url).about(described, url);
    if about.is_empty() && !rdf::is_rdf(&root, "RDF") {
        return Err(AboutError::UnknownFormat);
    }
    Ok(about)
}

#[derive(Debug, PartialEq, Eq)]
enum Format {
    Empty,
    Json,
    Html,
    Xml,
    Unknown,
}

/// UTF-16 without a byte order mark, which only XML can be recognised in.
fn is_unmarked_utf_16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"<\0") || bytes.starts_with(b"\0<")
}

/// Tells the format by the first thing in the text that is not a comment or an instruction.
fn sniff(text: &str) -> Format {
    let mut rest = text.trim_ascii_start();
    match rest.chars().next() {
        None => return Format::Empty,
        Some('{' | '[') => return Format::Json,
        _ => {}
    }
    loop {
        let after = if let Some(comment) = rest.strip_prefix("<!--") {
            comment.split_once("-->")
        } else if let Some(instruction) = rest.strip_prefix("<?") {
            instruction.split_once("?>")
        } else {
            break;
        };
        match after {
            Some((_, after)) => rest = after.trim_ascii_start(),
            None => return Format::Xml,
        }
    }
    let Some(tag) = rest.strip_prefix('<') else {
        // An instruction with nothing good after it is still XML, and XML's own error says more.
        return if text.trim_ascii_start().starts_with("<?xml") {
            Format::Xml
        } else {
            Format::Unknown
        };
    };
    sniff_tag(tag)
}

fn sniff_tag(tag: &str) -> Format {
    /// Elements that pages begin with when they leave out `<html>`; no XML vocabulary has them as its root.
    const HTML: [&str; 17] = [
        "html", "head", "title", "meta", "link", "base", "style", "script", "body", "div", "p",
        "center", "h1", "table", "header", "main", "font",
    ];
    let is_name_end = |c: char| c.is_ascii_whitespace() || matches!(c, '>' | '/');
    let name_end = tag.find(is_name_end).unwrap_or(tag.len());
    let (name, after) = tag.split_at(name_end);
    if name.eq_ignore_ascii_case("!doctype") {
        let root = after.trim_ascii_start().get(..4).unwrap_or_default();
        return if root.eq_ignore_ascii_case("html") {
            Format::Html
        } else {
            Format::Xml
        };
    }
    if HTML.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        return Format::Html;
    }
    // Turtle begins with an address in angle brackets: `<https://…>` or `<#me>`.
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let is_address = name.ends_with(':') && after.starts_with('/');
    if is_name && !is_address {
        Format::Xml
    } else {
        Format::Unknown
    }
}

#[cfg(test)]
mod tests;
