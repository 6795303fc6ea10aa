//! A site that only exists for one history: it keeps its lists, and writes them whenever somebody asks.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Timelike, Utc};

use super::step::{Breakage, Claim, Closing, Doing, Made, Rotation, Style, Tagging};

pub const ROOT: &str = "/.well-known/resourcesync";
pub const HOST: &str = "fox.example";
/// Collections that a site may have; the rest of the history says which of them are there.
pub const COLLECTIONS: usize = 3;

const KINDS: [&str; 3] = ["created", "updated", "deleted"];
const NAMESPACES: &str = "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:rs='http://www.openarchives.org/rs/terms/'";

/// What makes a change that change, inside its collection.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub at: DateTime<Utc>,
    pub url: String,
    pub kind: &'static str,
    /// How precise the datetime is; the same instant to the day and to the second are two.
    pub rank: u8,
}

/// A change as a list tells it.
#[derive(Debug, Clone)]
struct Item {
    key: Key,
    loc: String,
    datetime: String,
}

/// The end of the time that a list covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Until {
    pub text: String,
    /// The latest instant that it can mean anywhere.
    pub latest: DateTime<Utc>,
}

/// A list as its index names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    pub path: String,
    pub from: String,
    pub until: Option<Until>,
    pub lastmod: Option<String>,
}

/// What a document says, without the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The paths of Capability Lists, and what each of them is said to describe.
    Description(Vec<(String, Option<String>)>),
    Capabilities {
        describes: Option<String>,
        lists: Vec<String>,
    },
    Index(Vec<Child>),
    List {
        is_closed: bool,
        changes: Vec<Key>,
    },
}

/// A document as it was at some time.
#[derive(Debug, Clone)]
pub struct Version {
    pub content: Content,
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

struct List {
    path: String,
    items: Vec<Item>,
    /// What was truncated, for the day on which it comes back.
    dropped: Vec<Item>,
    from: String,
    until: Option<Until>,
    /// Whether the list itself says that it is closed, and not only its index.
    says_until: bool,
    lastmod: Option<String>,
    is_listed: bool,
    is_served: bool,
    newest_first: bool,
}

struct Collection {
    is_there: bool,
    is_indexed: bool,
    claim: Claim,
    title: u32,
    lists: Vec<List>,
    /// Lists of other collections that this one names, too.
    shared: Vec<String>,
}

/// The site.
pub struct Site {
    port: u16,
    now: DateTime<Utc>,
    /// How far its clock is ahead.
    ahead: TimeDelta,
    collections: Vec<Collection>,
    broken: HashMap<String, Breakage>,
    is_lying: bool,
    tagging: Tagging,
    lists_made: u32,
    versions: HashMap<String, Vec<Version>>,
    log: Vec<(String, Answered)>,
    /// The request that nobody answers any more, counted from here.
    crash_at: Option<u32>,
    /// What is done before this request is answered.
    soon: Option<(u32, Doing)>,
    /// The documents that were read elsewhere than where they were asked for, in the last check.
    moved: HashSet<String>,
}

impl Site {
    pub fn new(port: u16, now: DateTime<Utc>, seeds: &[u8], tagging: Tagging) -> Site {
        let mut site = Site {
            port,
            now,
            ahead: TimeDelta::zero(),
            collections: Vec::new(),
            broken: HashMap::new(),
            is_lying: false,
            tagging,
            lists_made: 0,
            versions: HashMap::new(),
            log: Vec::new(),
            crash_at: None,
            soon: None,
            moved: HashSet::new(),
        };
        for n in 0..COLLECTIONS {
            let list = site.new_list(n, (now - TimeDelta::days(400)).format("%F").to_string());
            site.collections.push(Collection {
                is_there: n < seeds.len(),
                is_indexed: false,
                claim: Claim::Own,
                title: 0,
                lists: vec![list],
                shared: Vec::new(),
            });
            // One change a day, up to yesterday.
            for days in (1..=u32::from(seeds.get(n).copied().unwrap_or(0))).rev() {
                let made = Made {
                    page: (days % 4) as u8,
                    kind: 1,
                    style: if days % 3 == 0 {
                        Style::Day
                    } else {
                        Style::Second
                    },
                    ago: days * 1_440,
                };
                let item = site.item(&made);
                site.collections[n].lists[0].items.push(item);
            }
        }
        site
    }

    fn new_list(&mut self, collection: usize, from: String) -> List {
        self.lists_made += 1;
        List {
            path: format!("/c{collection}/list{}.xml", self.lists_made),
            items: Vec::new(),
            dropped: Vec::new(),
            from,
            until: None,
            says_until: true,
            lastmod: None,
            is_listed: true,
            is_served: true,
            newest_first: false,
        }
    }

    /// A check begins.
    pub fn set_now(&mut self, now: DateTime<Utc>) {
        self.now = now;
        self.moved.clear();
    }

    /// Lets something happen before a request is answered, or after the last one.
    pub fn apply_at(&mut self, request: u32, doing: Doing) {
        self.soon = Some((request, doing));
    }

    pub fn apply_what_is_left(&mut self) {
        if let Some((_, doing)) = self.soon.take() {
            self.apply(&doing);
        }
    }

    pub fn crash_at(&mut self, request: Option<u32>) {
        self.crash_at = request;
    }

    /// What was asked since the last time, and how it was answered.
    pub fn take_log(&mut self) -> Vec<(String, Answered)> {
        std::mem::take(&mut self.log)
    }

    pub fn version(&self, path: &str, version: usize) -> &Content {
        &self.versions[path][version].content
    }

    /// The address that a document was read at in the end.
    pub fn final_url(&self, path: &str) -> String {
        match self.moved.contains(path) {
            true => self.url(&format!("/moved{path}")),
            false => self.url(path),
        }
    }

    fn identity(&self, collection: usize) -> String {
        self.url(&format!("/c{collection}/"))
    }

    /// What the Capability List of a collection says that it describes.
    fn describes(&self, n: usize) -> Option<String> {
        match self.collections[n].claim {
            Claim::Own => Some(self.identity(n)),
            Claim::Nothing => None,
            Claim::That(other) => Some(self.identity(usize::from(other) % COLLECTIONS)),
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{HOST}:{}{path}", self.port)
    }

    fn clock(&self) -> DateTime<Utc> {
        self.now + self.ahead
    }

    fn item(&self, made: &Made) -> Item {
        let instant = self.clock() - TimeDelta::minutes(i64::from(made.ago));
        let (at, rank, datetime) = stamp(instant, made.style);
        let url = self.url(&format!("/p{}?a=1&b=2", made.page));
        let kind = KINDS[usize::from(made.kind) % KINDS.len()];
        Item {
            loc: url.clone(),
            key: Key {
                at,
                url,
                kind,
                rank,
            },
            datetime,
        }
    }

    /// Lets something happen; what makes no sense at present does not happen.
    pub fn apply(&mut self, doing: &Doing) {
        let collection = |n: u8| usize::from(n) % COLLECTIONS;
        match *doing {
            Doing::Publish { to, ref made } => {
                let (item, end) = (self.item(made), instant(self.clock()));
                let open = self.list(to, u8::MAX);
                open.items.push(item);
                open.until = open.until.take().map(|_| end);
            }
            Doing::Insert {
                to,
                list,
                ref made,
                is_told,
            } => {
                let (item, clock) = (self.item(made), self.clock());
                let list = self.list(to, list);
                list.items.push(item);
                list.items.sort_by_key(|item| item.key.at);
                if is_told {
                    list.lastmod = Some(clock.format("%FT%TZ").to_string());
                }
            }
            Doing::Repeat {
                to,
                list,
                item,
                is_elsewhere,
            } => {
                let items = &self.list(to, list).items;
                let Some(item) = items.get(usize::from(item) % items.len().max(1)).cloned() else {
                    return;
                };
                match is_elsewhere {
                    true => self.list(to, u8::MAX).items.push(item),
                    false => self.list(to, list).items.push(item),
                }
            }
            Doing::Rotate { to, ref how } => self.rotate(collection(to), how),
            Doing::EndNow { to } => {
                let end = instant(self.clock());
                self.list(to, u8::MAX).until = Some(end);
            }
            Doing::FinishClosing { to } => {
                for list in &mut self.collections[collection(to)].lists {
                    list.says_until = true;
                }
            }
            Doing::Truncate { to, list, count } => {
                let list = self.list(to, list);
                let count = usize::from(count).min(list.items.len());
                list.dropped.extend(list.items.drain(..count));
            }
            Doing::Restore { to, list } => {
                let list = self.list(to, list);
                list.items.splice(0..0, std::mem::take(&mut list.dropped));
            }
            Doing::Unlist { to, list, is_gone } => {
                let list = self.list(to, list);
                list.is_listed = false;
                list.is_served = !is_gone;
            }
            Doing::Relist { to, list } => {
                let list = self.list(to, list);
                (list.is_listed, list.is_served) = (true, true);
            }
            Doing::Shuffle { to, list, seed } => {
                let list = self.list(to, list);
                list.newest_first = seed % 2 == 1;
                for (n, item) in list.items.iter_mut().enumerate() {
                    if (usize::from(seed) + n).is_multiple_of(3) {
                        respell(item);
                    }
                }
                let turn = usize::from(seed / 2) % list.items.len().max(1);
                list.items.rotate_left(turn);
            }
            Doing::Break { document, how } => {
                let paths = self.paths();
                self.broken
                    .insert(paths[usize::from(document) % paths.len()].clone(), how);
            }
            Doing::Heal { document } => {
                let mut broken: Vec<String> = self.broken.keys().cloned().collect();
                broken.sort();
                if let Some(path) = broken.get(usize::from(document) % broken.len().max(1)) {
                    self.broken.remove(path);
                }
            }
            Doing::HealAll => self.broken.clear(),
            Doing::Lie => self.is_lying = true,
            Doing::TellTheTruth => self.is_lying = false,
            Doing::Tag(tagging) => self.tagging = tagging,
            Doing::MoveClock { minutes } => self.ahead += TimeDelta::minutes(i64::from(minutes)),
            Doing::Add { collection: n } => self.collections[collection(n)].is_there = true,
            Doing::Remove { collection: n } => self.collections[collection(n)].is_there = false,
            Doing::Retitle { collection: n } => self.collections[collection(n)].title += 1,
            Doing::Describe {
                collection: n,
                claim,
            } => self.collections[collection(n)].claim = claim,
            Doing::Share { of, with, list } => {
                let path = self.list(of, list).path.clone();
                let shared = &mut self.collections[collection(with)].shared;
                if collection(of) != collection(with) && !shared.contains(&path) {
                    shared.push(path);
                }
            }
            Doing::Unshare { with } => self.collections[collection(with)].shared.clear(),
        }
    }

    /// A list of a collection; the last one is the open one.
    fn list(&mut self, collection: u8, list: u8) -> &mut List {
        let lists = &mut self.collections[usize::from(collection) % COLLECTIONS].lists;
        let last = lists.len() - 1;
        match list {
            u8::MAX => &mut lists[last],
            list => &mut lists[usize::from(list) % (last + 1)],
        }
    }

    fn rotate(&mut self, n: usize, how: &Rotation) {
        if self.collections[n].lists.len() > 8 {
            return;
        }
        let clock = self.clock();
        let next = self.new_list(n, clock.format("%FT%TZ").to_string());
        let collection = &mut self.collections[n];
        let open = collection.lists.last_mut().expect("there is always one");
        match *how {
            Rotation::Closes { ago, is_date, how } => {
                collection.is_indexed = true;
                let end = clock - TimeDelta::minutes(i64::from(ago));
                open.until = Some(match is_date {
                    true => Until {
                        text: end.format("%F").to_string(),
                        latest: midnight(end) + TimeDelta::hours(36),
                    },
                    false => instant(end),
                });
                open.says_until = how == Closing::Both;
            }
            Rotation::Replaces { is_gone } => {
                open.is_listed = false;
                open.is_served = !is_gone;
            }
        }
        collection.lists.push(next);
    }

    /// The documents of the site.
    fn paths(&self) -> Vec<String> {
        let mut paths = vec![ROOT.to_owned()];
        for (n, collection) in self.collections.iter().enumerate() {
            if !collection.is_there {
                continue;
            }
            paths.push(format!("/c{n}/capabilities.xml"));
            if collection.is_indexed {
                paths.push(format!("/c{n}/index.xml"));
            }
            paths.extend(collection.lists.iter().map(|list| list.path.clone()));
        }
        paths
    }

    /// Answers a request for a path that is asked for with this tag or date; none if the asker should crash now.
    pub fn answer(&mut self, path: &str, tag: Option<&str>, since: Option<&str>) -> Option<Reply> {
        if let Some(left) = &mut self.crash_at {
            if *left == 0 {
                return None;
            }
            *left -= 1;
        }
        match self.soon.take() {
            Some((0, doing)) => self.apply(&doing),
            Some((left, doing)) => self.soon = Some((left - 1, doing)),
            None => {}
        }
        let (path, has_moved) = match path.strip_prefix("/moved") {
            Some(rest) => {
                self.moved.insert(rest.to_owned());
                (rest.to_owned(), true)
            }
            None => (path.to_owned(), false),
        };
        if path == "/about.xml" {
            return Some(Reply::ok(self.about()));
        }
        let breakage = self.broken.get(&path).copied();
        let document = self.document(&path);
        let Some((content, bytes)) = document else {
            self.log.push((path, Answered::Missing));
            return Some(Reply::status(404));
        };
        let fault = |status: u16| match status {
            400..=499 => Answered::Missing,
            _ => Answered::Broken,
        };
        let reply = match breakage {
            Some(Breakage::Moved) if !has_moved => {
                let mut reply = Reply::status(301);
                reply
                    .fields
                    .push(("Location", self.url(&format!("/moved{path}"))));
                return Some(reply);
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
            return Some(reply);
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
            return Some(Reply::status(304));
        }
        self.log.push((path, Answered::Body(current)));
        let mut reply = Reply::ok(bytes);
        if matches!(self.tagging, Tagging::Tag | Tagging::Both) {
            reply = reply.tagged(&format!("\"v{current}\""));
        }
        if matches!(self.tagging, Tagging::Date | Tagging::Both) {
            reply.fields.push(("Last-Modified", date_of(current)));
        }
        Some(reply)
    }

    /// A document as it is now, if there is one at this address.
    fn document(&self, path: &str) -> Option<(Content, String)> {
        if path == ROOT {
            return Some(self.description());
        }
        for (n, collection) in self.collections.iter().enumerate() {
            if path == format!("/c{n}/capabilities.xml") {
                return Some(self.capabilities(n, collection));
            }
            if path == format!("/c{n}/index.xml") && collection.is_indexed {
                return Some(self.index(n, collection));
            }
            let list = collection.lists.iter().find(|list| list.path == path);
            if let Some(list) = list {
                return list.is_served.then(|| self.list_document(n, list));
            }
        }
        None
    }

    fn description(&self) -> (Content, String) {
        let mut paths = Vec::new();
        let mut inside = String::from("<rs:md capability='description'/>");
        inside += &format!(
            "<rs:ln rel='describedby' href='{}'/>",
            self.url("/about.xml")
        );
        for (n, collection) in self.collections.iter().enumerate() {
            if collection.is_there {
                let path = format!("/c{n}/capabilities.xml");
                inside += &format!(
                    "<url><loc>{}</loc><rs:md capability='capabilitylist'/>{}</url>",
                    self.url(&path),
                    describes(self.describes(n).as_deref())
                );
                paths.push((path, self.describes(n)));
            }
        }
        (Content::Description(paths), urlset(&inside))
    }

    fn capabilities(&self, n: usize, collection: &Collection) -> (Content, String) {
        let mut lists: Vec<String> = match collection.is_indexed {
            true => vec![format!("/c{n}/index.xml")],
            false => named(collection).map(|list| list.path.clone()).collect(),
        };
        lists.extend(collection.shared.iter().cloned());
        let described = self.describes(n);
        let mut inside = format!(
            "<rs:ln rel='up' href='{}'/>{}
             <rs:ln rel='describedby' href='{}'/><rs:md capability='capabilitylist'/>",
            self.url(ROOT),
            describes(described.as_deref()),
            self.url("/about.xml")
        );
        for list in &lists {
            let loc = self.url(list);
            inside += &format!("<url><loc>{loc}</loc><rs:md capability='changelist'/></url>");
        }
        (
            Content::Capabilities {
                describes: described,
                lists,
            },
            urlset(&inside),
        )
    }

    fn index(&self, n: usize, collection: &Collection) -> (Content, String) {
        let mut children = Vec::new();
        let mut inside = format!(
            "<rs:ln rel='up' href='{}'/><rs:md capability='changelist' from='2025-01-01'/>",
            self.url(&format!("/c{n}/capabilities.xml"))
        );
        for list in named(collection) {
            let lastmod = list.lastmod.clone();
            let modified = lastmod
                .as_deref()
                .map(|lastmod| format!("<lastmod>{lastmod}</lastmod>"))
                .unwrap_or_default();
            inside += &format!(
                "<sitemap><loc>{}</loc>{modified}<rs:md from='{}'{}/></sitemap>",
                self.url(&list.path),
                list.from,
                until(list.until.as_ref())
            );
            children.push(Child {
                path: list.path.clone(),
                from: list.from.clone(),
                until: list.until.clone(),
                lastmod,
            });
        }
        (
            Content::Index(children),
            format!("<sitemapindex {NAMESPACES}>{inside}</sitemapindex>"),
        )
    }

    fn list_document(&self, n: usize, list: &List) -> (Content, String) {
        let until_here = list.until.as_ref().filter(|_| list.says_until);
        let index = match self.collections[n].is_indexed {
            true => format!(
                "<rs:ln rel='index' href='{}'/>",
                self.url(&format!("/c{n}/index.xml"))
            ),
            false => String::new(),
        };
        let mut inside = format!(
            "<rs:ln rel='up' href='{}'/>{index}<rs:md capability='changelist' from='{}'{}/>\n",
            self.url(&format!("/c{n}/capabilities.xml")),
            list.from,
            until(until_here)
        );
        let mut items: Vec<&Item> = list.items.iter().collect();
        if list.newest_first {
            items.reverse();
        }
        for item in &items {
            inside += &format!(
                "<url><loc>{}</loc><rs:md change='{}' datetime='{}'/></url>\n",
                item.loc.replace('&', "&amp;"),
                item.key.kind,
                item.datetime
            );
        }
        let content = Content::List {
            is_closed: until_here.is_some(),
            changes: items.iter().map(|item| item.key.clone()).collect(),
        };
        (content, urlset(&inside))
    }

    /// What the site and its collections are called.
    fn about(&self) -> String {
        let mut inside = String::new();
        let mut about = |address: String, title: String| {
            inside += &format!(
                "<rdf:Description rdf:about='{address}'><dcterms:title>{title}</dcterms:title></rdf:Description>"
            );
        };
        about(self.url("/"), "The Fox Den".to_owned());
        for (n, collection) in self.collections.iter().enumerate() {
            about(
                self.identity(n),
                format!("Collection {n}, {}", collection.title),
            );
        }
        format!(
            "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:dcterms='http://purl.org/dc/terms/'>{inside}</rdf:RDF>"
        )
    }
}

impl Reply {
    fn status(status: u16) -> Reply {
        Reply {
            status,
            fields: Vec::new(),
            body: String::new(),
            promised: None,
        }
    }

    fn ok(body: String) -> Reply {
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

fn named(collection: &Collection) -> impl Iterator<Item = &List> {
    collection.lists.iter().filter(|list| list.is_listed)
}

fn urlset(inside: &str) -> String {
    format!("<urlset {NAMESPACES}>{inside}</urlset>")
}

fn describes(address: Option<&str>) -> String {
    address
        .map(|address| format!("<rs:ln rel='describes' href='{address}'/>"))
        .unwrap_or_default()
}

fn until(until: Option<&Until>) -> String {
    until
        .map(|until| format!(" until='{}'", until.text))
        .unwrap_or_default()
}

/// An end to the second.
fn instant(end: DateTime<Utc>) -> Until {
    Until {
        text: end.format("%FT%TZ").to_string(),
        latest: end.with_nanosecond(0).unwrap_or(end),
    }
}

fn midnight(instant: DateTime<Utc>) -> DateTime<Utc> {
    instant
        .date_naive()
        .and_time(chrono::NaiveTime::MIN)
        .and_utc()
}

/// The instant that a datetime in this style means, how precise it is, and how it is written.
fn stamp(instant: DateTime<Utc>, style: Style) -> (DateTime<Utc>, u8, String) {
    let second = instant.with_nanosecond(0).unwrap_or(instant);
    let minute = second.with_second(0).unwrap_or(second);
    let day = midnight(instant);
    match style {
        Style::Month => {
            let text = instant.format("%Y-%m").to_string();
            let start = format!("{text}-01T00:00:00Z");
            (start.parse().expect("a date"), 1, text)
        }
        Style::Day => (day, 2, instant.format("%F").to_string()),
        Style::Minute => (minute, 3, minute.format("%FT%H:%MZ").to_string()),
        Style::Second => (second, 4, second.format("%FT%TZ").to_string()),
        Style::Midnight => (day, 4, day.format("%FT%TZ").to_string()),
        Style::Zone => (second, 4, in_zone(second)),
        Style::Fraction => (second, 6, second.format("%FT%T.00Z").to_string()),
    }
}

fn in_zone(instant: DateTime<Utc>) -> String {
    let local = instant + TimeDelta::minutes(570);
    local.format("%FT%T+09:30").to_string()
}

/// Says the same in other words.
fn respell(item: &mut Item) {
    if item.key.rank == 4 {
        item.datetime = match item.datetime.ends_with('Z') {
            true => in_zone(item.key.at),
            false => item.key.at.format("%FT%TZ").to_string(),
        };
    }
    item.loc = match item.loc == item.key.url {
        true => format!("\n  {} ", item.key.url.replace("http://fox", "HTTP://Fox")),
        false => item.key.url.clone(),
    };
}

/// A date for each version of a document.
fn date_of(version: usize) -> String {
    let date = DateTime::UNIX_EPOCH + TimeDelta::days(version as i64);
    date.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

fn version_of_date(date: &str) -> Option<usize> {
    (0..1_000).find(|version| date_of(*version) == date)
}
