//! A typed link from a page to another document, as both HTML and HTTP write it.

use url::Url;

/// Most relation types kept for one link; honest ones have one or two.
const MAX_RELS: usize = 16;

/// One link: what the target is to the page, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Relation types, in lower case and in the order given; never empty.
    pub rels: Vec<String>,
    /// The target: absolute, http or https, without credentials.
    pub href: Url,
    /// The media type the link promises, in lower case and without parameters.
    pub media_type: Option<String>,
    /// The link's own title.
    pub title: Option<String>,
}

impl Link {
    /// Whether the target stands in this relation (given in lower case) to the page.
    pub fn has_rel(&self, rel: &str) -> bool {
        self.rels.iter().any(|own| own == rel)
    }
}

/// The relation types in a `rel` value: words, in any case.
pub(super) fn rels(value: &str) -> Vec<String> {
    value
        .split_ascii_whitespace()
        .take(MAX_RELS)
        .map(str::to_ascii_lowercase)
        .collect()
}

/// A media type without its parameters.
pub fn media_type(value: &str) -> Option<String> {
    let essence = value.split(';').next()?.trim().to_ascii_lowercase();
    (!essence.is_empty()).then_some(essence)
}
