//! What was looked for and what was found.

use std::sync::Arc;

use url::Url;

use crate::fetch::FetchError;
use crate::load::{Loaded, LoadedList};
use crate::site::Format;

/// How the root document was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// At the well-known address.
    WellKnown,
    /// At the well-known address with `.xml`.
    WellKnownXml,
    /// Through a link on the typed page.
    PageLink,
    /// Through a `Sitemap:` line of robots.txt.
    Robots,
    /// It is what was typed, or `up` from there.
    Typed,
    /// It is where such documents usually are.
    UsualPlace,
    /// It was found before.
    Remembered,
}

impl FoundBy {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            FoundBy::WellKnown => "at the well-known address",
            FoundBy::WellKnownXml => "at the well-known address with .xml",
            FoundBy::PageLink => "through a link on the page",
            FoundBy::Robots => "through robots.txt",
            FoundBy::Typed => "from the typed address itself",
            FoundBy::UsualPlace => "at one of the usual addresses",
            FoundBy::Remembered => "where it was before",
        }
    }

    /// Whether somebody named it, and it was not only come upon.
    pub fn is_named(self) -> bool {
        matches!(self, FoundBy::PageLink | FoundBy::Robots | FoundBy::Typed)
    }

    /// Whether the host itself pointed there, and not just one of its pages.
    pub fn is_well_known(self) -> bool {
        matches!(self, FoundBy::WellKnown | FoundBy::WellKnownXml)
    }
}

/// The document that describes a site.
pub struct Root {
    /// The document.
    pub loaded: Arc<Loaded>,
    /// How it was found.
    pub found_by: FoundBy,
}

/// The lists of pages that a site has at its top.
pub struct ListRoot {
    /// Those that were read.
    pub lists: Vec<LoadedList>,
    /// Those that are still to be read.
    pub more: Vec<Url>,
    /// Those that belong to them and could not be read, which was told: their pages are as they were.
    pub failed: Vec<Url>,
    /// A document that the site names, which gives the pages their titles.
    pub titles: Option<Url>,
    /// How they were found.
    pub found_by: FoundBy,
}

/// What describes a site.
pub enum Found {
    /// A log of its changes.
    Log(Root),
    /// Lists of its pages.
    Lists(ListRoot),
}

/// Where something was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// What.
    pub format: Format,
    /// Where.
    pub url: Url,
    /// What came of it, in words.
    pub outcome: String,
}

/// What came of looking.
pub struct Discovery {
    /// What was found; none if the site answers, but describes itself nowhere.
    pub found: Option<Found>,
    /// Where it was looked for, in that order.
    pub tried: Vec<Tried>,
    /// Whether it was looked for everywhere, and not only read again where it was. Where nobody could look for now it has to
    /// be looked for again soon.
    pub is_anew: bool,
}

/// Why a site could not be asked at all.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DiscoverError {
    /// It did not answer, or may not be asked.
    #[error(transparent)]
    Unreachable(#[from] Arc<FetchError>),
    /// The root document that it had is gone for good.
    #[error("{0} says that it is gone for good")]
    Gone(Url),
}
