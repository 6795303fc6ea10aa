//! What was published last time: the manifest, and the open lists that it goes with.
//!
//! The manifest (`sitebell/manifest.json`) holds what the documents do not say: a hash of every page, and which lists
//! are closed. It travels with the site and may come from the live one, so it is held to its form like anything from
//! outside: no name in it leads out of the folder.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use url::Url;

use super::folder::{PageHash, is_plain_folder};
use super::{ENTRY_POINT, OWN_FOLDER, PublishError, at};
use crate::moment::Moment;
use crate::problem::Problems;
use crate::read::resourcesync::{self, Capability, Entry, ReadingRules};

/// The name of the manifest in [`OWN_FOLDER`].
pub const MANIFEST: &str = "manifest.json";
/// The form of the manifest.
const VERSION: u32 = 1;
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
}

/// A page as it was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedPage {
    /// What it said.
    pub hash: PageHash,
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
    #[serde(with = "as_text")]
    pub from: Moment,
    /// When it ends.
    #[serde(with = "as_text")]
    pub until: Moment,
}

/// The manifest as it is written.
#[derive(Debug, Serialize, Deserialize)]
pub struct Manifest {
    sitebell: u32,
    #[serde(with = "as_text")]
    site: Url,
    #[serde(with = "as_text")]
    newest: Moment,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changelog: Option<String>,
    collections: BTreeMap<String, ManifestLog>,
    /// A line for each: the hash and the datetime.
    pages: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ManifestLog {
    #[serde(with = "as_text")]
    from: Moment,
    /// How many changes the open list has: one from another time does not go with this manifest.
    changes: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    closed: Vec<Closed>,
}

impl Manifest {
    /// Reads a manifest; says what is wrong with it if it is none.
    pub fn parse(text: &[u8]) -> Result<Manifest, String> {
        #[derive(Deserialize)]
        struct Version {
            sitebell: u32,
        }
        let version: Version = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if version.sitebell != VERSION {
            return Err("it was written by a newer version of sitebell".to_owned());
        }
        let manifest: Manifest = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let is_name = |file: &str| {
            file.starts_with("changelist-") && file.ends_with(".xml") && !file.contains(['/', '\\'])
        };
        for (folder, log) in &manifest.collections {
            if !folder.is_empty() && !is_plain_folder(folder) {
                return Err(format!("“{folder}” is no folder of a site"));
            }
            if let Some(list) = log.closed.iter().find(|list| !is_name(&list.file)) {
                return Err(format!("“{}” is no name of a list", list.file));
            }
        }
        let is_foreign = |page: &&String| match manifest.site.join(&format!("./{page}")) {
            Ok(address) => address.as_str().strip_prefix(manifest.site.as_str()) != Some(page),
            Err(_) => true,
        };
        match manifest.pages.keys().find(is_foreign) {
            Some(page) => Err(format!("“{page}” is no page of the site")),
            None => Ok(manifest),
        }
    }

    /// The site that it is about.
    pub fn site(&self) -> &Url {
        &self.site
    }

    /// The files that go with it: of every collection the open list, and the closed ones.
    pub fn files(&self) -> impl Iterator<Item = (&str, String, Vec<String>)> {
        self.collections.iter().map(|(folder, log)| {
            let closed = log.closed.iter().map(|list| in_log(folder, &list.file));
            (folder.as_str(), in_log(folder, OPEN_LIST), closed.collect())
        })
    }

    /// Puts it together with the open lists. Those of the live site may be from another time than the manifest.
    pub fn into_state(
        self,
        mut open: BTreeMap<String, Vec<u8>>,
        is_live: bool,
    ) -> Result<State, String> {
        let mut pages = BTreeMap::new();
        for (address, line) in self.pages {
            let page =
                page_from(&line).ok_or_else(|| format!("“{line}” is no hash and datetime"))?;
            pages.insert(address, page);
        }
        let mut logs = BTreeMap::new();
        for (folder, log) in self.collections {
            let path = in_log(&folder, OPEN_LIST);
            let list = open.remove(&folder).unwrap_or_default();
            let entries =
                read_open(&list, &self.site).map_err(|reason| format!("{path}: {reason}"))?;
            if is_live && entries.len() != log.changes {
                return Err(format!(
                    "{path} has {} changes where the manifest knows {}: the two are from different times, so try \
                     again in a few minutes",
                    entries.len(),
                    log.changes
                ));
            }
            let log = Log {
                from: log.from,
                open: entries,
                closed: log.closed,
            };
            logs.insert(folder, log);
        }
        Ok(State {
            site: self.site,
            newest: self.newest,
            pages,
            logs,
            changelog: self.changelog,
        })
    }
}

impl State {
    /// The manifest, ready to be written.
    pub fn manifest(&self) -> String {
        let log = |log: &Log| ManifestLog {
            from: log.from,
            changes: log.open.len(),
            closed: log.closed.clone(),
        };
        let manifest = Manifest {
            sitebell: VERSION,
            site: self.site.clone(),
            newest: self.newest,
            changelog: self.changelog.clone(),
            collections: (self.logs.iter())
                .map(|(folder, own)| (folder.clone(), log(own)))
                .collect(),
            pages: (self.pages.iter())
                .map(|(address, page)| (address.clone(), page_to(page)))
                .collect(),
        };
        let mut text = serde_json::to_string_pretty(&manifest)
            .expect("texts and numbers can always be written as JSON");
        text.push('\n');
        text
    }
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

fn read_open(list: &[u8], site: &Url) -> Result<Vec<Entry>, String> {
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

fn page_to(page: &PublishedPage) -> String {
    let hash: String = (page.hash.0.iter())
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{hash} {}", page.changed)
}

fn page_from(line: &str) -> Option<PublishedPage> {
    let (hex, datetime) = line.split_once(' ')?;
    let mut hash = PageHash([0; 16]);
    if hex.len() != 2 * hash.0.len() || !hex.is_ascii() {
        return None;
    }
    for (position, byte) in hash.0.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * position..2 * position + 2], 16).ok()?;
    }
    let changed = Moment::parse(datetime).ok()?;
    Some(PublishedPage { hash, changed })
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

/// A moment or an address as the text that it is in every document.
mod as_text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<T: Display, S: Serializer>(
        value: &T,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(super) fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
