//! A site that offers sections, each with a snapshot that is made anew before every check, and its follower.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use sitebell::store::{EntriesOf, EntryRow};
use url::Url;

use super::{NS, serve};
use crate::den::{Den, NOW};
use crate::fake_site::Reply;
use crate::following::Follower;

/// The feeds of a site and of its collections, by their names; that of the site is `site`.
pub type Told = BTreeMap<String, Vec<String>>;

pub struct Offering {
    pub den: Den,
    pub follower: Follower,
    days: i64,
    sections: BTreeMap<&'static str, Section>,
    /// The plain entries of the sitemap.
    plain: Vec<String>,
    feeds: Feeds,
}

#[derive(Default)]
struct Section {
    pages: Vec<String>,
    is_broken: bool,
    /// Nothing but what changed is offered.
    has_no_snapshot: bool,
}

impl Offering {
    /// One with these sections, each with its pages, such as `/a 2026-03-01`.
    pub async fn new(sections: &[(&'static str, &[&str])]) -> Offering {
        let den = Den::empty();
        let mut offering = Offering {
            follower: Follower::of(&den).await,
            den,
            days: 0,
            sections: BTreeMap::new(),
            plain: Vec::new(),
            feeds: Feeds::default(),
        };
        for (name, pages) in sections {
            offering.section(name, pages);
        }
        offering
    }

    /// The section has these pages from now on.
    pub fn section(&mut self, name: &'static str, pages: &[&str]) {
        let section = self.sections.entry(name).or_default();
        section.pages = pages.iter().map(|page| (*page).to_owned()).collect();
    }

    /// The section is not offered any more.
    pub fn withdraw(&mut self, name: &str) {
        self.sections.remove(name);
    }

    pub fn break_section(&mut self, name: &str) {
        self.sections.get_mut(name).unwrap().is_broken = true;
    }

    pub fn mend(&mut self, name: &str) {
        self.sections.get_mut(name).unwrap().is_broken = false;
    }

    /// The section offers nothing but what changed, or its snapshot as well.
    pub fn offer_snapshot(&mut self, name: &str, is_offered: bool) {
        self.sections.get_mut(name).unwrap().has_no_snapshot = !is_offered;
    }

    /// The sitemap has these plain entries from now on.
    pub fn plain(&mut self, pages: &[&str]) {
        self.plain = pages.iter().map(|page| (*page).to_owned()).collect();
    }

    /// Serves everything as it is on the day of the next check.
    pub fn serve(&mut self) {
        self.days += 1;
        let now: DateTime<Utc> = NOW.parse().unwrap();
        let made = (now + TimeDelta::days(self.days)).format("%Y-%m-%dT00:00:00Z");
        let mut offers = String::new();
        for (name, section) in &self.sections {
            let url = self.den.url(&format!("/{name}.scp"));
            let kind = match section.has_no_snapshot {
                true => "scp:delta period='1' since='2026-03-01T00:00:00Z'",
                false => "scp:collection type='snapshot'",
            };
            offers += &format!(
                "<scp:section name='{name}' updateFreq='daily' pages='~4'/>
                 <{kind} section='{name}' url='{url}' generated='{made}'
                   expires='2999-01-01T00:00:00Z' pages='4' size='1'/>"
            );
            let mut lines = vec![format!(
                "{{\"collection\":{{\"id\":\"{name}-1\",\"section\":\"{name}\",\"type\":\"snapshot\",\"generated\":\"{made}\",\"version\":\"0.1\"}}}}"
            )];
            lines.extend(section.pages.iter().map(|page| self.line(page)));
            if section.is_broken {
                lines.push("{".to_owned());
            }
            self.den
                .site
                .serve(&format!("/{name}.scp"), Reply::text(lines.join("\n")));
        }
        let plain = self.plain.iter().map(|page| {
            let (path, lastmod) = page.split_once(' ').unwrap_or((page, ""));
            let lastmod = match lastmod {
                "" => String::new(),
                lastmod => format!("<lastmod>{lastmod}</lastmod>"),
            };
            format!("<url><loc>{}</loc>{lastmod}</url>", self.den.url(path))
        });
        let plain: String = plain.collect();
        let scp = "xmlns:scp='https://scp-protocol.org/schemas/sitemap/1.0'";
        let text = format!("<urlset {NS} {scp}>{offers}{plain}</urlset>");
        serve(&self.den, "/sitemap.xml", text);
    }

    fn line(&self, page: &str) -> String {
        let (path, modified) = page.split_once(' ').unwrap();
        serde_json::json!({
            "url": self.den.url(path).as_str(), "title": format!("Page {path}"), "description": "d",
            "modified": modified, "language": "en", "content": [{"type": "text", "text": "t"}],
        })
        .to_string()
    }

    /// A check on the next day; tells what it added to each feed.
    pub async fn check(&mut self) -> Told {
        self.serve();
        self.follower.check().await;
        self.feeds.news(&self.follower).await
    }
}

/// Somebody who reads the feeds of a site and of all its collections.
#[derive(Default)]
pub struct Feeds {
    seen: BTreeSet<(String, i64)>,
}

impl Feeds {
    /// What came to each feed.
    pub async fn news(&mut self, follower: &Follower) -> Told {
        let row = follower.row().await;
        let mut feeds = vec![("site".to_owned(), EntriesOf::Site(row.id))];
        feeds.extend(row.collections.iter().map(|collection| {
            let id = &collection.identity;
            let name = id.fragment().unwrap_or(id.path());
            (name.to_owned(), EntriesOf::Collection(collection.id))
        }));
        let mut told = Told::new();
        for (name, feed) in feeds {
            let entries = follower.store().entries_before(feed, i64::MAX, 1_000);
            let mut entries = entries.await.unwrap();
            entries.retain(|entry| self.seen.insert((name.clone(), entry.n)));
            let mut changes: Vec<String> = entries.iter().flat_map(changes).collect();
            changes.sort();
            told.extend((!changes.is_empty()).then_some((name, changes)));
        }
        told
    }
}

fn changes(row: &EntryRow) -> impl Iterator<Item = String> {
    row.entry.changes.iter().map(|change| {
        let url = Url::parse(&change.url).unwrap();
        format!("{} {} {}", change.kind, url.path(), change.datetime)
    })
}

/// What feeds told.
pub fn told(feeds: &[(&str, &[&str])]) -> Told {
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    (feeds.iter())
        .map(|(name, told)| ((*name).to_owned(), lines(told)))
        .collect()
}
