//! The author's side: a folder of pages, as ResourceSync documents that [`crate::read`] reads.
//!
//! [`order`] is the whole of it, from the wishes of an author ([`settings`]) to files: [`folder`] finds the pages by the
//! author's [`rules`] and what each of them says ([`prints`]), [`state`] knows what was published last time, with the
//! [`manifest`], [`plan`] (pure) compares the two and says what has to be written, and [`write`](mod@write) writes it so
//! that a reader finds either what was there before or what is there now. [`previous`] gets the state from the live site, for builds that start from nothing; [`links`] and [`sitemap`] are
//! what an author may ask for beyond that. [`lay_out`] is for authors that are programs.
//!
//! Two places in the folder belong to this, and nothing else is touched: `.well-known/resourcesync`, and the folder
//! [`OWN_FOLDER`] with everything that it leads to.

mod compare;
mod documents;
pub mod folder;
pub mod lay_out;
pub mod links;
mod log;
pub mod manifest;
pub mod notes;
pub mod order;
pub mod plan;
pub mod previous;
pub mod prints;
mod reader;
pub mod rules;
pub mod settings;
pub mod sitemap;
pub mod state;
pub mod write;

use std::io;
use std::path::{Path, PathBuf};

use url::Url;

use crate::site::About;

/// Where the documents are, below the folder of the site. No dot: some hosts pass over such names.
pub const OWN_FOLDER: &str = "sitebell";
/// Where readers begin, below the folder of the site.
pub const ENTRY_POINT: &str = ".well-known/resourcesync";

/// A site that is to be published.
#[derive(Debug, Clone)]
pub struct Site {
    /// Where it will be; ends with a slash.
    pub url: Url,
    /// What its author says about it.
    pub about: About,
    /// Its named collections, in the order of their folders. Pages in none of them are the site's own.
    pub collections: Vec<Collection>,
}

/// A folder of the site that can be followed by itself.
#[derive(Debug, Clone)]
pub struct Collection {
    /// The folder, with `/` between its parts and none at either end.
    pub folder: String,
    /// What its author says about it.
    pub about: About,
    /// How the addresses of its pages begin, below that of the site.
    prefix: String,
}

impl Collection {
    /// A collection of what is in a folder.
    pub fn new(folder: &str, about: About) -> Collection {
        Collection {
            folder: folder.to_owned(),
            about,
            prefix: format!("{}/", folder::encode(folder.as_bytes())),
        }
    }
}

impl Site {
    /// The folder of the collection that a page belongs to: the deepest one that holds it, or the whole site, which is
    /// the empty one. `page` is its address below that of the site.
    pub fn collection_of(&self, page: &str) -> &str {
        let holds = |collection: &&Collection| page.starts_with(&collection.prefix);
        let deepest = (self.collections.iter().filter(holds)).max_by_key(|own| own.prefix.len());
        deepest.map_or("", |collection| collection.folder.as_str())
    }

    /// The address of a file below the folder of the site.
    pub fn address_of(&self, path: &str) -> String {
        self.address(&folder::encode(path.as_bytes()))
    }

    /// The whole address of something whose address below that of the site is known.
    pub fn address(&self, below: &str) -> String {
        let whole = [self.url.as_str(), below].concat();
        if is_plain(below) {
            return whole;
        }
        // As the parser would write it, so that readers find what they compare it with.
        Url::parse(&whole).map_or(whole, String::from)
    }
}

/// Whether an address below another one is what the parser would make of it, as almost all are. Parsing takes longer than
/// everything else that is done with a page once it is read.
fn is_plain(below: &str) -> bool {
    let is_plain =
        |&byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.');
    // `.` and `..` have a meaning of their own.
    below.as_bytes().iter().all(is_plain) && !below.starts_with('.') && !below.contains("/.")
}

/// Why a folder cannot be published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Something in the folder cannot be read or written.
    #[error("{} {what}: {source}", path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// What was published last time does not fit.
    #[error("{0}")]
    State(String),
    /// There is nothing to publish, or something in the way.
    #[error("{0}")]
    Folder(String),
    /// The live site.
    #[error("{0}")]
    Previous(String),
}

/// Gives an error of the system its place.
fn at(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> PublishError {
    let path = path.to_owned();
    move |source| PublishError::Io { path, what, source }
}
