//! A site that only exists for one history: it lists its pages, in one list or in several with an index.

use chrono::{DateTime, TimeDelta, Utc};

use super::model::Model;
use super::step::{Date, Doing};
use crate::histories::shelf::Shelf;
use crate::histories::stand::Staged;
use crate::histories::step::Tagging;

pub const ROOT: &str = "/sitemap.xml";
/// Lists that a site has, where it has several.
const LISTS: usize = 3;
/// Fewer than can ever be a mass of changes.
const PAGES: usize = 8;
const NAMESPACE: &str = "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'";

/// What a document says, without the bytes.
#[derive(Debug, Clone)]
pub enum Content {
    /// The paths of lists.
    Index(Vec<String>),
    /// Pages with their dates.
    List(Vec<(String, Option<String>)>),
}

struct List {
    /// The numbers of its pages.
    pages: Vec<usize>,
    is_listed: bool,
    is_served: bool,
}

#[derive(Clone, Default)]
struct Page {
    lastmod: Option<String>,
    has_slash: bool,
}

/// The site.
pub struct Site {
    now: DateTime<Utc>,
    is_joined: bool,
    lists: Vec<List>,
    pages: Vec<Page>,
    shelf: Shelf<Content>,
}

impl Staged for Site {
    type Content = Content;
    type Doing = Doing;
    type Model = Model;

    /// Each list begins with so many pages, one after the other.
    fn new(port: u16, now: DateTime<Utc>, seeds: &[u8], tagging: Tagging) -> Site {
        let mut site = Site {
            now,
            is_joined: false,
            lists: Vec::new(),
            pages: vec![Page::default(); PAGES],
            shelf: Shelf::new(port, tagging),
        };
        let mut next = 0;
        for n in 0..LISTS {
            let count = usize::from(seeds.get(n).copied().unwrap_or(0));
            let pages: Vec<usize> = (next..next + count).filter(|page| *page < PAGES).collect();
            next += count;
            for &page in &pages {
                let days = 10 + u32::try_from(page).unwrap_or(0);
                site.pages[page].lastmod = site.written(Date::Second(days * 1_440));
            }
            site.lists.push(List {
                pages,
                is_listed: true,
                is_served: true,
            });
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
        let place = |page: u8| usize::from(page) % PAGES;
        match *doing {
            Doing::Put { page, list, date } => {
                let page = place(page);
                if !self.lists.iter().any(|list| list.pages.contains(&page)) {
                    self.pages[page].lastmod = self.written(date);
                }
                let list = self.list(list);
                if !list.pages.contains(&page) {
                    list.pages.push(page);
                }
            }
            Doing::Edit { page, date } => self.pages[place(page)].lastmod = self.written(date),
            Doing::Delete { page } => self.take_out(place(page)),
            Doing::TakeOut { page, list } => {
                let page = place(page);
                self.list(list).pages.retain(|other| *other != page);
            }
            Doing::Move { page, list } => {
                let page = place(page);
                if self.lists.iter().any(|list| list.pages.contains(&page)) {
                    self.take_out(page);
                    self.list(list).pages.push(page);
                }
            }
            Doing::Respell { page } => self.pages[place(page)].has_slash ^= true,
            Doing::Join { is_joined } => self.is_joined = is_joined,
            Doing::Unlist { list, is_gone } => {
                let list = self.list(list);
                list.is_listed = false;
                list.is_served = !is_gone;
            }
            Doing::Relist { list } => {
                let list = self.list(list);
                (list.is_listed, list.is_served) = (true, true);
            }
            Doing::Clear => {
                for list in &mut self.lists {
                    list.pages.clear();
                }
            }
            Doing::Break { document, how } => {
                let path = match usize::from(document) {
                    0 => ROOT.to_owned(),
                    n => path_of(n - 1),
                };
                self.shelf.damage(&path, how);
            }
            Doing::Heal { document } => self.shelf.heal(document),
            Doing::HealAll => self.shelf.heal_all(),
            Doing::Lie => self.shelf.is_lying = true,
            Doing::TellTheTruth => self.shelf.is_lying = false,
            Doing::Tag(tagging) => self.shelf.tagging = tagging,
        }
    }

    fn document(&self, path: &str) -> Option<(Content, String)> {
        let listed = || {
            self.lists
                .iter()
                .enumerate()
                .filter(|(_, list)| list.is_listed)
        };
        if path == ROOT && self.is_joined {
            let mut pages: Vec<usize> = listed().flat_map(|(_, list)| list.pages.clone()).collect();
            pages.sort_unstable();
            pages.dedup();
            return Some(self.list_document(&pages));
        }
        if path == ROOT {
            let paths: Vec<String> = listed().map(|(n, _)| path_of(n)).collect();
            let entry = |path: &String| {
                let loc = self.shelf.url(path);
                format!("<sitemap><loc>{loc}</loc></sitemap>")
            };
            let inside: String = paths.iter().map(entry).collect();
            let text = format!("<sitemapindex {NAMESPACE}>{inside}</sitemapindex>");
            return Some((Content::Index(paths), text));
        }
        let n = (0..LISTS).find(|n| path_of(*n) == path)?;
        let list = &self.lists[n];
        list.is_served.then(|| self.list_document(&list.pages))
    }
}

impl Site {
    fn written(&self, date: Date) -> Option<String> {
        let before = |minutes: u32| self.now - TimeDelta::minutes(i64::from(minutes));
        match date {
            Date::None => None,
            Date::Second(ago) => Some(before(ago).format("%FT%TZ").to_string()),
            Date::Day(ago) => Some(before(ago).format("%F").to_string()),
        }
    }

    fn list(&mut self, list: u8) -> &mut List {
        &mut self.lists[usize::from(list) % LISTS]
    }

    fn take_out(&mut self, page: usize) {
        for list in &mut self.lists {
            list.pages.retain(|other| *other != page);
        }
    }

    fn list_document(&self, pages: &[usize]) -> (Content, String) {
        let mut listed = Vec::new();
        let mut inside = String::new();
        for &number in pages {
            let page = &self.pages[number];
            let slash = if page.has_slash { "/" } else { "" };
            let url = self.shelf.url(&format!("/p{number}{slash}"));
            let lastmod = page.lastmod.as_ref();
            let lastmod = lastmod.map(|date| format!("<lastmod>{date}</lastmod>"));
            inside += &format!("<url><loc>{url}</loc>{}</url>", lastmod.unwrap_or_default());
            listed.push((url, page.lastmod.clone()));
        }
        let text = format!("<urlset {NAMESPACE}>{inside}</urlset>");
        (Content::List(listed), text)
    }
}

fn path_of(list: usize) -> String {
    format!("/maps/{list}.xml")
}
