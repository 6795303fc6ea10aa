//! The manifest (`sitebell/manifest.json`): what the documents do not say, a hash of every page, and which lists are closed.
//!
//! It travels with the site and may come from the live one, so it is held to its form like anything from outside: no name
//! in it leads out of the folder.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use url::Url;

use super::folder::is_plain_folder;
use super::is_plain;
use super::state::{Closed, Log, OPEN_LIST, PublishedPage, State, in_log, read_open};
use crate::moment::Moment;

/// The name of the manifest in [`OWN_FOLDER`](super::OWN_FOLDER).
pub const MANIFEST: &str = "manifest.json";
/// The form of the manifest.
const VERSION: u32 = 1;

/// The manifest as it is read; see [`State::manifest`].
#[derive(Debug, Deserialize)]
pub struct Manifest {
    sitebell: u32,
    #[serde(with = "as_text")]
    site: Url,
    #[serde(with = "as_text")]
    newest: Moment,
    #[serde(default)]
    changelog: Option<String>,
    collections: BTreeMap<String, ManifestLog>,
    /// By which rules the words of pages were told apart from the rest.
    rules: String,
    /// A line for each: the hashes of its words and its bytes, and the datetime.
    #[serde(deserialize_with = "as_lines::deserialize")]
    pages: BTreeMap<String, PublishedPage>,
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
        let read: Result<Manifest, _> = serde_json::from_slice(text);
        let version = match &read {
            Ok(manifest) => Ok(manifest.sitebell),
            // A later one may have another form, but says which it is.
            Err(_) => serde_json::from_slice(text).map(|version: Version| version.sitebell),
        };
        match version {
            Ok(VERSION) | Err(_) => {}
            Ok(_) => return Err("it was written by a newer version of sitebell".to_owned()),
        }
        let manifest = read.map_err(|error| error.to_string())?;
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
        let is_foreign = |page: &&String| {
            !is_plain(page)
                && match manifest.site.join(&format!("./{page}")) {
                    Ok(address) => {
                        address.as_str().strip_prefix(manifest.site.as_str()) != Some(page)
                    }
                    Err(_) => true,
                }
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
            pages: self.pages,
            logs,
            changelog: self.changelog,
            rules: self.rules,
        })
    }
}

impl State {
    /// The manifest, ready to be written.
    pub fn manifest(&self) -> String {
        /// The same as [`Manifest`], without a copy of everything.
        #[derive(Serialize)]
        struct Written<'a> {
            sitebell: u32,
            site: &'a str,
            #[serde(with = "as_text")]
            newest: Moment,
            #[serde(skip_serializing_if = "Option::is_none")]
            changelog: Option<&'a str>,
            collections: BTreeMap<&'a str, ManifestLog>,
            rules: &'a str,
            #[serde(serialize_with = "as_lines::serialize")]
            pages: &'a BTreeMap<String, PublishedPage>,
        }
        let log = |log: &Log| ManifestLog {
            from: log.from,
            changes: log.open.len(),
            closed: log.closed.clone(),
        };
        let manifest = Written {
            sitebell: VERSION,
            site: self.site.as_str(),
            newest: self.newest,
            changelog: self.changelog.as_deref(),
            collections: (self.logs.iter())
                .map(|(folder, own)| (folder.as_str(), log(own)))
                .collect(),
            rules: &self.rules,
            pages: &self.pages,
        };
        let mut text = serde_json::to_string_pretty(&manifest)
            .expect("texts and numbers can always be written as JSON");
        text.push('\n');
        text
    }
}

/// A moment or an address as the text that it is in every document.
pub(super) mod as_text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(in crate::publish) fn serialize<T: Display, S: Serializer>(
        value: &T,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(in crate::publish) fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Pages as lines: the hashes of the words and the bytes, and the datetime.
mod as_lines {
    use std::collections::BTreeMap;
    use std::fmt;

    use serde::de::{Deserializer, Error, MapAccess, Visitor};
    use serde::ser::{SerializeMap as _, Serializer};

    use super::PublishedPage;
    use crate::moment::Moment;
    use crate::publish::prints::{PageHash, Prints};

    type Pages = BTreeMap<String, PublishedPage>;

    pub(super) fn serialize<S: Serializer>(pages: &Pages, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(pages.len()))?;
        let mut line = String::new();
        // Most pages changed together with the one before.
        let mut last: Option<(Moment, String)> = None;
        for (address, page) in pages {
            line.clear();
            page.prints.words.write_to(&mut line);
            line.push(' ');
            page.prints.bytes.write_to(&mut line);
            line.push(' ');
            let changed = match last.take() {
                Some(last) if last.0 == page.changed => last,
                _ => (page.changed, page.changed.to_string()),
            };
            line.push_str(&changed.1);
            last = Some(changed);
            map.serialize_entry(address, &line)?;
        }
        map.end()
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Pages, D::Error> {
        from.deserialize_map(Lines)
    }

    struct Lines;

    impl<'de> Visitor<'de> for Lines {
        type Value = Pages;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a line for each page")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pages, A::Error> {
            let mut pages = Vec::new();
            let mut last = None;
            while let Some(address) = map.next_key::<String>()? {
                let line: std::borrow::Cow<'de, str> = map.next_value()?;
                let page = page(&line, &mut last);
                let page =
                    page.ok_or_else(|| Error::custom(format!("“{line}” is no line about a page")))?;
                pages.push((address, page));
            }
            Ok(pages.into_iter().collect())
        }
    }

    fn page(line: &str, last: &mut Option<(String, Moment)>) -> Option<PublishedPage> {
        let mut parts = line.split(' ');
        let mut hash = || PageHash::parse(parts.next()?);
        let (words, bytes) = (hash()?, hash()?);
        let text = parts.next()?;
        let changed = match last {
            Some((known, moment)) if known == text => *moment,
            _ => last.insert((text.to_owned(), Moment::parse(text).ok()?)).1,
        };
        let prints = Prints { bytes, words };
        Some(PublishedPage { prints, changed })
    }
}
