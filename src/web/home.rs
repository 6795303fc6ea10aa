//! The timeline: everything that somebody follows, by day and site, with a mark where the last visit ended.

use std::collections::BTreeSet;

use actix_web::web;
use askama::Template;
use chrono::{DateTime, NaiveDate, Utc};
use serde::Deserialize;

use super::changes::{EntryLine, READ_OF_ENTRY, Room, entry_line, site_title};
use super::error::WebError;
use super::frame::{Answer, Frame, page};
use super::paths::with_query;
use super::session::SignedIn;
use super::words::When;
use super::{get_or_head, only};
use crate::change::ChangeKind;
use crate::site::SiteId;
use crate::store::{EntryBrief, Place, PlaceError, SiteRow, Wanted};

/// Entries that are looked at for one page.
const ENTRIES: u32 = 50;
/// Sites to choose from; those beyond are reached from the list of all.
const MAX_CHOICES: usize = 100;
/// The longest text that is searched for.
const MAX_SEARCH_CHARS: usize = 200;

/// The timeline.
pub fn routes(config: &mut web::ServiceConfig) {
    config.service(only(
        web::resource("/home").route(get_or_head(home)),
        "GET, HEAD",
    ));
}

#[derive(Deserialize, Default)]
struct Query {
    #[serde(default)]
    site: String,
    #[serde(default)]
    folder: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    q: String,
    after: Option<String>,
}

#[derive(Template)]
#[template(path = "home/home.html")]
struct HomePage {
    frame: Frame,
    query: Query,
    /// For the lists of the form.
    sites: Vec<(String, String)>,
    folders: Vec<String>,
    follows_any: bool,
    is_filtered: bool,
    blocks: Vec<Block>,
    clear: String,
    older: Option<String>,
    newest: Option<String>,
}

/// What was found on one day, or the part of it before or after the last visit.
struct Block {
    /// When that was, if it ended just before this.
    mark: Option<When>,
    heading: String,
    groups: Vec<Group>,
    key: (NaiveDate, bool),
}

/// What one site had that day.
struct Group {
    site: SiteId,
    title: String,
    url: String,
    entries: Vec<EntryLine>,
}

async fn home(own: SignedIn, query: web::Query<Query>) -> Answer {
    let service = own.visitor.service();
    let (account, present) = (own.account.id, own.visitor.present());
    let query = query.into_inner();
    let is_filtered = [&query.site, &query.folder, &query.kind, &query.q]
        .iter()
        .any(|text| !text.is_empty());
    let after = match query.after.as_deref() {
        None => Place::FIRST,
        Some(text) => text
            .parse()
            .map_err(|error: PlaceError| WebError::Malformed(error.to_string()))?,
    };
    // Looking back or for something is no visit that would move the mark.
    let is_visit = !is_filtered && query.after.is_none();
    let mark = match is_visit {
        true => service.store.visit(account, present.now).await?,
        false => service.store.mark(account).await?,
    };
    let subscriptions = service.store.subscriptions(account).await?;
    let sites = service.store.followed_sites(account).await?;
    let mut wanted = Wanted {
        site: None,
        folder: Some(query.folder.clone()).filter(|folder| !folder.is_empty()),
        kind: ChangeKind::parse(&query.kind),
        text: Some(query.q.trim().chars().take(MAX_SEARCH_CHARS).collect())
            .filter(|text: &String| !text.is_empty()),
    };
    if !query.site.is_empty() {
        let known = sites.values().find(|site| site.slug == query.site);
        wanted.site = Some(known.ok_or(WebError::NotFound("site"))?.id);
    }
    let (briefs, mut next) = (service.store)
        .timeline(account, &wanted, after, ENTRIES, READ_OF_ENTRY)
        .await?;
    let mut timeline = Timeline {
        mark,
        // The mark stands between what was there and what is new; where nothing is new there is none.
        is_new: query.after.is_none(),
        blocks: Vec::new(),
    };
    let mut room = Room::new();
    for (place, brief) in briefs.iter().enumerate() {
        if room.is_full() {
            next = place.checked_sub(1).map(|before| briefs[before].place());
            break;
        }
        let Some(site) = sites.get(&brief.site) else {
            continue;
        };
        let mut collections = site.collections.iter();
        let Some(collection) = collections.find(|known| known.id == brief.collection) else {
            continue;
        };
        let line = entry_line(&present, &service.paths, site, collection, brief, &mut room);
        timeline.add(&present, &service.paths.site(&site.slug), site, brief, line);
    }
    let here = service.paths.timeline();
    let link = |after: Option<Place>| {
        let after = after.map(|place| place.to_string()).unwrap_or_default();
        let pairs = [
            ("site", query.site.as_str()),
            ("folder", &query.folder),
            ("kind", &query.kind),
            ("q", &query.q),
            ("after", &after),
        ];
        let pairs: Vec<_> = pairs
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .collect();
        match pairs.is_empty() {
            true => here.clone(),
            false => with_query(here.clone(), &pairs),
        }
    };
    let names = (sites.values()).map(|site| (site.slug.clone(), site_title(site)));
    let mut names: Vec<(String, String)> = names.collect();
    names.sort_by_key(|(_, title)| title.to_lowercase());
    let is_chosen = |(slug, _): &(String, String)| *slug == query.site;
    let chosen = names.iter().position(is_chosen).unwrap_or_default();
    if chosen >= MAX_CHOICES {
        names.swap(0, chosen);
    }
    names.truncate(MAX_CHOICES);
    let folders: BTreeSet<String> = (subscriptions.iter())
        .map(|subscription| subscription.folder.clone())
        .filter(|folder| !folder.is_empty())
        .collect();
    page(&HomePage {
        frame: own.frame(),
        older: next.map(|place| link(Some(place))),
        newest: query.after.as_ref().map(|_| link(None)),
        clear: here.clone(),
        sites: names,
        folders: folders.into_iter().collect(),
        follows_any: !subscriptions.is_empty(),
        is_filtered,
        blocks: timeline.blocks,
        query,
    })
}

/// Entries, newest first, on their way to the page.
struct Timeline {
    mark: Option<DateTime<Utc>>,
    is_new: bool,
    blocks: Vec<Block>,
}

impl Timeline {
    fn add(
        &mut self,
        present: &super::words::Present,
        url: &str,
        site: &SiteRow,
        brief: &EntryBrief,
        line: EntryLine,
    ) {
        let date = present.day(brief.entry.updated_at);
        let is_seen = self.mark.is_some_and(|mark| brief.entry.updated_at <= mark);
        if self.blocks.last().map(|block| block.key) != Some((date, is_seen)) {
            let before = self.blocks.last();
            let ends_here = is_seen && self.is_new && before.is_some_and(|before| !before.key.1);
            self.blocks.push(Block {
                mark: self.mark.filter(|_| ends_here).map(|at| present.when(at)),
                heading: present.heading(date),
                groups: Vec::new(),
                key: (date, is_seen),
            });
        }
        let Some(block) = self.blocks.last_mut() else {
            return;
        };
        let group = block.groups.iter_mut().find(|group| group.site == site.id);
        match group {
            Some(group) => group.entries.push(line),
            None => block.groups.push(Group {
                site: site.id,
                title: site_title(site),
                url: url.to_owned(),
                entries: vec![line],
            }),
        }
    }
}
