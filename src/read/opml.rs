//! Lists of subscriptions from other programs (OPML), read with the same care as every document from a stranger.
//!
//! Forgiving about everything that lists in the wild get wrong: all that counts is outlines with an address.

use super::xml::XmlError;
use super::xml::tree::{self, Element};
use crate::text::clean;

/// Outlines with an address in one list.
pub const MAX_OUTLINES: usize = 1_000;

/// Something that somebody follows elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// What it is called.
    pub title: Option<String>,
    /// The address of the site, as it was written.
    pub site: Option<String>,
    /// The address of its feed, as it was written.
    pub feed: Option<String>,
    /// The name of the folder that it is in.
    pub folder: String,
}

/// Why a list cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpmlError {
    /// It is not XML that can be read.
    #[error("the file cannot be read: {0}; choose an OPML file that a feed reader has exported")]
    Xml(#[from] XmlError),
    /// It is other XML.
    #[error(
        "the file is not a list of subscriptions; choose an OPML file that a feed reader has exported"
    )]
    NotOpml,
    /// It is too long.
    #[error("the list has more than {MAX_OUTLINES} subscriptions; import it in parts")]
    TooMany,
}

/// Reads a list; the caller bounds its size.
pub fn read(bytes: &[u8]) -> Result<Vec<Outline>, OpmlError> {
    let root = tree::parse(bytes)?;
    if root.name != "opml" {
        return Err(OpmlError::NotOpml);
    }
    let mut found = Vec::new();
    for body in root.elements().filter(|element| element.name == "body") {
        collect(body, "", &mut found)?;
    }
    Ok(found)
}

// The depth of a tree is bounded, and so is this recursion.
fn collect(parent: &Element, folder: &str, found: &mut Vec<Outline>) -> Result<(), OpmlError> {
    for element in parent.elements().filter(|child| child.name == "outline") {
        let text = |name: &str| {
            element
                .attribute(name)
                .filter(|text| !text.trim().is_empty())
        };
        let title = text("title").or(text("text")).and_then(clean::title);
        let (site, feed) = (text("htmlUrl"), text("xmlUrl"));
        if site.is_some() || feed.is_some() {
            if found.len() == MAX_OUTLINES {
                return Err(OpmlError::TooMany);
            }
            found.push(Outline {
                title: title.clone(),
                site: site.map(str::to_owned),
                feed: feed.map(str::to_owned),
                folder: folder.to_owned(),
            });
        }
        collect(element, title.as_deref().unwrap_or(folder), found)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        let tell = |outline: Outline| {
            format!(
                "{}/{} {} {}",
                outline.folder,
                outline.title.unwrap_or_default(),
                outline.site.unwrap_or_default(),
                outline.feed.unwrap_or_default()
            )
        };
        read(text.as_bytes())
            .unwrap()
            .into_iter()
            .map(tell)
            .collect()
    }

    #[test]
    fn outlines_with_an_address_are_found_in_their_folders() {
        let list = "<opml version='2.0'><head><title>x</title></head><body>
            <outline text='Foxes'><outline text='Den' title='The Den' htmlUrl='https://fox.example/' xmlUrl='https://b.example/f'/>
            <outline text='Deep'><outline xmlUrl='https://c.example/feed'/></outline></outline>
            <outline htmlUrl=' ' text='nothing'/><outline text='Bare' htmlUrl='https://d.example/'/></body></opml>";
        assert_eq!(
            told(list),
            [
                "Foxes/The Den https://fox.example/ https://b.example/f",
                "Deep/  https://c.example/feed",
                "/Bare https://d.example/ ",
            ]
        );
        assert!(told("<opml/>").is_empty());
    }

    #[test]
    fn other_files_are_refused_with_a_sentence() {
        let refusal = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
        assert!(refusal("").contains("choose an OPML file"));
        assert!(refusal("<html/>").contains("not a list of subscriptions"));
        let bomb = "<!DOCTYPE x [<!ENTITY a 'aaaa'>]><opml><body/></opml>";
        assert!(refusal(bomb).contains("cannot be read"));
        let deep = format!("<opml><body>{}", "<outline>".repeat(100_000));
        assert!(refusal(&deep).contains("cannot be read"));
        let many = "<outline htmlUrl='https://a.example/'/>".repeat(MAX_OUTLINES + 1);
        assert!(refusal(&format!("<opml><body>{many}</body></opml>")).contains("in parts"));
    }
}
