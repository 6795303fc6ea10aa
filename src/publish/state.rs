//! What was published last time: the [manifest](super::manifest), and the open lists that it goes with.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use url::Url;

use super::manifest::{MANIFEST, Manifest};
use super::prints::Prints;
use super::{ENTRY_POINT, OWN_FOLDER, PublishError, at};
use crate::moment::Moment;
use crate::problem::Problems;
use crate::read::resourcesync::{self, Capability, Entry, ReadingRules};

/// How the entry point, and everything else outside of [`OWN_FOLDER`], says that it is ours to replace.
pub const MARK: &str = "<!-- Written by sitebell publish -->";

/// What was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Where.
    pub site: Url,
    /// The newest change of all.
    pub newest: Moment,
    /// Every page, by its address below that of the site.
    pub pages: BTreeMap<String, PublishedPage>,
    /// The log of every collection that there ever was, by its folder.
    pub logs: BTreeMap<String, Log>,
    /// The part of the author's changelog that was told last, as a hash.
    pub changelog: Option<String>,
    /// The rules by which the words of its pages were told apart from the rest.
    pub rules: String,
}

/// A page as it was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedPage {
    /// What it was.
    pub prints: Prints,
    /// When it was created or last changed, as far as the log goes back.
    pub changed: Moment,
}

/// The log of one collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// When its open list begins.
    pub from: Moment,
    /// The changes of the open list, oldest first.
    pub open: Vec<Entry>,
    /// Its closed lists, oldest first.
    pub closed: Vec<Closed>,
}

/// A list that will not change any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// The name of the file.
    pub file: String,
    /// When it begins.
    #[serde(with = "super::manifest::as_text")]
    pub from: Moment,
    /// When it ends.
    #[serde(with = "super::manifest::as_text")]
    pub until: Moment,
}

/// The name of the open list of a collection.
pub const OPEN_LIST: &str = "changelist.xml";

/// The path of a file that belongs to a collection, below the folder of the site.
pub fn in_log(folder: &str, file: &str) -> String {
    match folder {
        "" => format!("{OWN_FOLDER}/{file}"),
        folder => format!("{OWN_FOLDER}/{folder}/{file}"),
    }
}

pub(super) fn read_open(list: &[u8], site: &Url) -> Result<Vec<Entry>, String> {
    let (mut problems, mut entries) = (Problems::default(), Vec::new());
    let mut each = |entry: &Entry| {
        entries.push(Entry {
            line: 0,
            ..entry.clone()
        });
    };
    let rules = ReadingRules::default();
    let reading = resourcesync::read(list, site, rules, &mut problems, &mut each)
        .map_err(|problem| problem.sentence())?;
    match reading.document.capability {
        Capability::ChangeList if !reading.document.is_index => Ok(entries),
        _ => Err("it is no Change List".to_owned()),
    }
}

/// What the folder itself says was published last; none if nothing was.
pub fn in_folder(folder: &Path) -> Result<Option<State>, PublishError> {
    let path = format!("{OWN_FOLDER}/{MANIFEST}");
    let read = |path: &str| {
        let place = folder.join(path);
        fs::read(&place).map_err(at(&place, "cannot be read"))
    };
    let text = match fs::read(folder.join(&path)) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(at(&folder.join(&path), "cannot be read")(error)),
    };
    let advice = format!(
        "bring it back from a copy, or take the state of the live site with --previous, or remove the folder \
         {OWN_FOLDER} to begin anew"
    );
    let broken =
        |reason: String| PublishError::State(format!("{path} cannot be used: {reason}; {advice}"));
    let manifest = Manifest::parse(&text).map_err(broken)?;
    let mut open = BTreeMap::new();
    for (own, list, closed) in manifest.files() {
        open.insert(own.to_owned(), read(&list)?);
        if let Some(missing) = closed.iter().find(|file| !folder.join(file).is_file()) {
            let reason = format!("{missing} is missing; {advice}");
            return Err(PublishError::State(reason));
        }
    }
    manifest.into_state(open, false).map(Some).map_err(broken)
}

/// Refuses a folder in which the places that we write to are somebody else's, or lead elsewhere.
pub fn check_places(folder: &Path) -> Result<(), PublishError> {
    let refuse = |sentence: String| Err(PublishError::Folder(sentence));
    let own = folder.join(OWN_FOLDER);
    for place in [&own, &folder.join(".well-known"), &folder.join(ENTRY_POINT)] {
        if place.is_symlink() {
            let place = place.display();
            return refuse(format!(
                "{place} is a link; put a folder of its own in its place"
            ));
        }
    }
    if own.exists() && !own.join(MANIFEST).exists() {
        let own = own.display();
        return refuse(format!(
            "{own} exists and was not made by sitebell publish, which needs this name; give it another one"
        ));
    }
    check_mark(&folder.join(ENTRY_POINT))
}

/// Refuses to replace a file that somebody else has written.
pub fn check_mark(path: &Path) -> Result<(), PublishError> {
    match fs::read(path) {
        Ok(text) if memchr::memmem::find(&text, MARK.as_bytes()).is_some() => Ok(()),
        Ok(_) => Err(PublishError::Folder(format!(
            "{} exists and was not written by sitebell publish; move it away first",
            path.display()
        ))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(at(path, "cannot be read")(error)),
    }
}
