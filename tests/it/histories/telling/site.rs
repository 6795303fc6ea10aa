//! A site that only exists for one history: it keeps its lists, and writes them whenever somebody asks.

use chrono::{DateTime, TimeDelta, Timelike, Utc};

use super::model::Model;
use super::step::{Claim, Closing, Doing, Made, Rotation, Style};
use crate::histories::shelf::{Reply, Shelf};
use crate::histories::stand::Staged;
use crate::histories::step::Tagging;

pub const ROOT: &str = "/.well-known/resourcesync";
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
    now: DateTime<Utc>,
    /// How far its clock is ahead.
    ahead: TimeDelta,
    collections: Vec<Collection>,
    lists_made: u32,
    shelf: Shelf<Content>,
}

impl Staged for Site {
    type Content = Content;
    type Doing = Doing;
    type Model = Model;

    fn new(port: u16, now: DateTime<Utc>, seeds: &[u8], tagging: Tagging) -> Site {
        let mut site = Site {
            now,
            ahead: TimeDelta::zero(),
            collections: Vec::new(),
            lists_made: 0,
            shelf: Shelf::new(port, tagging),
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

    fn shelf(&mut self) -> &mut Shelf<Content> {
        &mut self.shelf
    }

    fn set_now(&mut self, now: DateTime<Utc>) {
        self.now = now;
    }

    fn apply(&mut self, doing: &Doing) {
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
                let path = &paths[usize::from(document) % paths.len()];
                self.shelf.damage(path, how);
            }
            Doing::Heal { document } => self.shelf.heal(document),
            Doing::HealAll => self.shelf.heal_all(),
            Doing::Lie => self.shelf.is_lying = true,
            Doing::TellTheTruth => self.shelf.is_lying = false,
            Doing::Tag(tagging) => self.shelf.tagging = tagging,
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

    fn page(&self, path: &str) -> Option<Reply> {
        (path == "/about.xml").then(|| Reply::ok(self.about()))
    }

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
}

impl Site {
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

    fn url(&self, path: &str) -> String {
        self.shelf.url(path)
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
