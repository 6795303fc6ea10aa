//! The documents of a site as they go over the wire: each in all its versions, and perhaps broken, moved or lied about.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta};

use super::step::{Breakage, Tagging};

pub const HOST: &str = "fox.example";
/// Documents that are elsewhere are below this.
const MOVED: &str = "/moved";

/// A document as it was at some time.
#[derive(Debug, Clone)]
struct Version<C> {
    content: C,
    bytes: String,
}

/// How a request for a document was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    Body(usize),
    Unchanged(usize),
    /// There is none.
    Missing,
    /// There is one, but nobody can read it.
    Broken,
}

/// What goes over the wire.
pub struct Reply {
    pub status: u16,
    pub fields: Vec<(&'static str, String)>,
    pub body: String,
    /// The length that is promised, where it is not kept.
    pub promised: Option<usize>,
}

/// What was asked, and how it was answered.
pub type Log = Vec<(String, Answered)>;

/// All documents of a site, each of which says `C`.
pub struct Shelf<C> {
    port: u16,
    broken: HashMap<String, Breakage>,
    pub is_lying: bool,
    pub tagging: Tagging,
    versions: HashMap<String, Vec<Version<C>>>,
    log: Log,
    /// The request that nobody answers any more, counted from here.
    pub crash_at: Option<u32>,
    /// The documents that were read elsewhere than where they were asked for, in the last check.
    moved: HashSet<String>,
}

impl<C> Shelf<C> {
    pub fn new(port: u16, tagging: Tagging) -> Self {
        Shelf {
            port,
            broken: HashMap::new(),
            is_lying: false,
            tagging,
            versions: HashMap::new(),
            log: Vec::new(),
            crash_at: None,
            moved: HashSet::new(),
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{HOST}:{}{path}", self.port)
    }

    /// The address that a document was read at in the end.
    pub fn final_url(&self, path: &str) -> String {
        match self.moved.contains(path) {
            true => self.url(&format!("{MOVED}{path}")),
            false => self.url(path),
        }
    }

    pub fn version(&self, path: &str, version: usize) -> &C {
        &self.versions[path][version].content
    }

    pub fn begin_check(&mut self) {
        self.moved.clear();
    }

    /// What was asked since the last time.
    pub fn take_log(&mut self) -> Log {
        std::mem::take(&mut self.log)
    }

    pub fn damage(&mut self, path: &str, how: Breakage) {
        self.broken.insert(path.to_owned(), how);
    }

    pub fn heal(&mut self, document: u8) {
        let mut broken: Vec<String> = self.broken.keys().cloned().collect();
        broken.sort();
        if let Some(path) = broken.get(usize::from(document) % broken.len().max(1)) {
            self.broken.remove(path);
        }
    }

    pub fn heal_all(&mut self) {
        self.broken.clear();
    }

    /// Whether the asker should crash now, instead of being answered.
    pub fn is_crashing(&mut self) -> bool {
        match &mut self.crash_at {
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        }
    }

    /// Answers a request with this tag or date for the document at a path, if there is one.
    pub fn deliver(
        &mut self,
        path: &str,
        document: Option<(C, String)>,
        tag: Option<&str>,
        since: Option<&str>,
    ) -> Reply {
        let has_moved = path.starts_with(MOVED);
        let path = without_moved(path).to_owned();
        if has_moved {
            self.moved.insert(path.clone());
        }
        let breakage = self.broken.get(&path).copied();
        let Some((content, bytes)) = document else {
            self.log.push((path, Answered::Missing));
            return Reply::status(404);
        };
        let fault = |status: u16| match status {
            404 | 410 => Answered::Missing,
            _ => Answered::Broken,
        };
        let reply = match breakage {
            Some(Breakage::Moved) if !has_moved => {
                let mut reply = Reply::status(301);
                reply
                    .fields
                    .push(("Location", self.url(&format!("{MOVED}{path}"))));
                return reply;
            }
            None | Some(Breakage::Moved) => None,
            Some(Breakage::Status(status)) => Some((Reply::status(status), fault(status))),
            Some(Breakage::Malformed) => {
                let half = bytes.len() * 2 / 3;
                let bytes = format!("{}<&>{}", &bytes[..half], &bytes[half..]);
                Some((Reply::ok(bytes).tagged("\"broken\""), Answered::Broken))
            }
            Some(Breakage::CutOff) => {
                let mut reply = Reply::ok(bytes[..bytes.len() / 2].to_owned());
                reply.promised = Some(bytes.len());
                Some((reply, Answered::Broken))
            }
            Some(Breakage::HalfWritten) => {
                let whole = bytes.rfind("</").unwrap_or(0);
                Some((
                    Reply::ok(bytes[..whole].to_owned()).tagged("\"half\""),
                    Answered::Broken,
                ))
            }
            Some(Breakage::Parked) => Some((
                Reply::ok("<!DOCTYPE html><title>Parked</title><p>Soon here.".to_owned()),
                Answered::Broken,
            )),
            Some(Breakage::Empty) => Some((Reply::ok(String::new()), Answered::Broken)),
        };
        if let Some((reply, answered)) = reply {
            self.log.push((path, answered));
            return reply;
        }
        let versions = self.versions.entry(path.clone()).or_default();
        if versions.last().is_none_or(|last| last.bytes != bytes) {
            let bytes = bytes.clone();
            versions.push(Version { content, bytes });
        }
        let current = versions.len() - 1;
        let named = tag
            .and_then(|tag| tag.trim_matches('"').strip_prefix('v')?.parse().ok())
            .or_else(|| since.and_then(version_of_date));
        if let Some(named) = named
            && (named == current || self.is_lying)
        {
            self.log.push((path, Answered::Unchanged(named)));
            return Reply::status(304);
        }
        self.log.push((path, Answered::Body(current)));
        let mut reply = Reply::ok(bytes);
        if matches!(self.tagging, Tagging::Tag | Tagging::Both) {
            reply = reply.tagged(&format!("\"v{current}\""));
        }
        if matches!(self.tagging, Tagging::Date | Tagging::Both) {
            reply.fields.push(("Last-Modified", date_of(current)));
        }
        reply
    }
}

/// The path of a document, wherever it is at present.
pub fn without_moved(path: &str) -> &str {
    path.strip_prefix(MOVED).unwrap_or(path)
}

impl Reply {
    pub fn status(status: u16) -> Reply {
        Reply {
            status,
            fields: Vec::new(),
            body: String::new(),
            promised: None,
        }
    }

    pub fn ok(body: String) -> Reply {
        Reply {
            body,
            ..Reply::status(200)
        }
    }

    fn tagged(mut self, tag: &str) -> Reply {
        self.fields.push(("ETag", tag.to_owned()));
        self
    }
}

/// A date for each version of a document.
fn date_of(version: usize) -> String {
    let date = DateTime::UNIX_EPOCH + TimeDelta::days(version as i64);
    date.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

fn version_of_date(date: &str) -> Option<usize> {
    (0..1_000).find(|version| date_of(*version) == date)
}
