//! Sections: parts of a site that offer their whole list, and what changed in it since.
//!
//! As long as the changes follow one another without a gap from where the last reading ended, they are all that is read.
//! Otherwise, and once a week in any case, the whole list is read, and the changes that are newer than it: changes do
//! not tell deletions. Changes that leave a gap which no whole list fills are read all the same, and the gap is told.
//!
//! A section that cannot be read any more leaves the plain list that offers it: that tells which of its pages were edited,
//! and which pages are new, until the section can be read again. Of one that never could be read it tells the new pages.

mod besides;

use chrono::{DateTime, TimeDelta, Utc};
use url::Url;

use super::pages::{Walk, Walked, collection};
use super::{CollectionReading, Top, titles};
use crate::load::Loader;
use crate::memory::{CollectionMemory, ListMemory, Sighted, SiteMemory};
use crate::moment::Moment;
use crate::problem::{Code, Problem, Problems};
use crate::read::list::{List, Offer, Section};
use crate::site::{About, SiteUrl};
use crate::text::quote;

/// After this time the whole list is read again.
const READ_WHOLE: TimeDelta = TimeDelta::days(7);
/// What could not be read for this time will not be mended soon.
const PATIENCE: TimeDelta = TimeDelta::days(3);
/// Of all lists together. Fewer are read, but not until it is known which of them can be.
const MAX_SECTIONS: usize = 1_000;

/// The sections of a site, each with the list that offers it.
#[derive(Default)]
pub(super) struct Offering {
    sections: Vec<(Section, Url)>,
    /// The lists that offer them, by the addresses that were asked for, and what they say about the site.
    lists: Vec<(Url, About)>,
}

impl Offering {
    /// Takes the sections that a list offers. One that was offered before is followed as it was offered first: two lists
    /// that do not agree would make pages come and go.
    pub(super) fn take(&mut self, asked: &Url, url: &Url, list: &List, problems: &mut Problems) {
        if list.sections.is_empty() {
            return;
        }
        self.lists.push((asked.clone(), list.about.clone()));
        for section in &list.sections {
            let mut known = self.sections.iter();
            match known.find(|(known, _)| known.name == section.name) {
                Some((known, listed_in)) if known != section => {
                    let message = format!(
                        "the section {} is offered here in another way than in {listed_in}, where it is followed",
                        quote(&section.name)
                    );
                    problems.add(Problem::new(Code::SectionTwice, url, message));
                }
                None if self.sections.len() < MAX_SECTIONS => {
                    self.sections.push((section.clone(), url.clone()))
                }
                _ => {}
            }
        }
    }

    /// Takes the sections that a list offered when it was last read.
    pub(super) fn take_again(&mut self, url: &Url, loader: &mut Loader<'_>) {
        if let Some(list) = loader.remembered_list(url) {
            self.take(url, url, &list, &mut loader.problems);
        }
    }

    /// Whether the list that was asked for here offers any.
    pub(super) fn is_in(&self, asked: &Url) -> bool {
        self.lists.iter().any(|(list, _)| list == asked)
    }

    /// The document at the top of a site that is followed by its sections. Where they are offered they are looked for the
    /// next time.
    fn top(&self) -> Option<Top> {
        let ((section, url), (asked, about)) = (self.sections.first()?, self.lists.first()?);
        Some(Top {
            asked: asked.clone(),
            url: url.clone(),
            format: section.format,
            described_by: None,
            about: about.clone(),
        })
    }
}

/// Reads the sections that a site offers. None if nothing at all was to be had of them. The lists that `failed` may offer
/// others.
pub(super) async fn walk(
    loader: &mut Loader<'_>,
    site: &SiteUrl,
    offering: Offering,
    failed: &[Url],
    memory: Option<&SiteMemory>,
    now: DateTime<Utc>,
) -> Option<Walked> {
    let top = offering.top()?;
    let lists = offering.lists.iter().map(|(asked, _)| asked);
    let others = failed.iter().filter(|url| !offering.is_in(url));
    let lists: Vec<ListMemory> = lists.chain(others).map(ListMemory::unread).collect();
    let mut sections = offering.sections;
    let identity = |section: &Section| {
        let mut id = site.at_root("/");
        id.set_fragment(Some(&section.name));
        id
    };
    let known = |id: &Url| {
        let mut known = memory.into_iter().flat_map(|memory| &memory.collections);
        known.find(|known| known.identity == *id)
    };
    let mut never_begun: Vec<Url> = Vec::new();
    sections.retain(|(section, listed_in)| {
        let has_begun = known(&identity(section)).is_some_and(|known| known.pages.is_some());
        if section.snapshots.is_empty() && !has_begun {
            let message = format!(
                "the section {} offers what changed, and no snapshot to begin with; it was not read",
                quote(&section.name)
            );
            let problem = Problem::new(Code::NoWholeList, listed_in, message);
            loader.problems.add(problem);
            // One of all pages would be left out where there are others.
            never_begun.extend((!section.has_all).then(|| listed_in.clone()));
            return false;
        }
        true
    });
    // Every page of it is in another section as well, and nobody wants to hear of it twice.
    let is_other = |(section, _): &(Section, Url)| !section.has_all;
    if sections.iter().any(is_other)
        && let Some((all, listed_in)) = sections.iter().find(|section| !is_other(section))
    {
        let message = format!(
            "the section {} has the pages of all others; those are followed, and it is not",
            quote(&all.name)
        );
        let problem = Problem::new(Code::SectionOfAll, listed_in, message);
        loader.problems.add(problem);
        sections.retain(is_other);
    }
    let most = loader.limits().collections;
    if let Some((_, listed_in)) = sections.get(most) {
        let message = format!("only the first {most} sections of a site are read");
        let problem = Problem::new(Code::LimitReached, listed_in, message);
        loader.problems.add(problem);
        sections.truncate(most);
    }
    let mut collections = Vec::new();
    let mut wanted = besides::Wanted::default();
    // Nothing is remembered of a section that was never read, so the others remember it.
    let states = sections.iter().filter_map(|(section, _)| {
        let pages = known(&identity(section))?.pages.as_ref();
        pages.map(|pages| &pages.state)
    });
    let unread_since = states.filter_map(|state| state.unread_beside_since).min();
    let unread_since = unread_since.unwrap_or(now);
    let mut unread: Vec<&Url> = never_begun.iter().collect();
    let is_overdue = |since: DateTime<Utc>| since + PATIENCE <= now;
    let mut is_complete = failed.is_empty();
    for (section, listed_in) in &sections {
        let id = identity(section);
        let known = known(&id);
        let state = known.and_then(|known| known.pages.as_ref());
        let state = state.map(|pages| &pages.state);
        let plan = Plan::make(section, known, now);
        plan.tell_gap(section, listed_in, &mut loader.problems);
        let mut pages = Walk::of_section(loader, known, section.format);
        let is_read = plan.read(&mut pages, listed_in).await;
        let broken_since = state.and_then(|state| state.broken_since).unwrap_or(now);
        let was_overdue = is_overdue(state.map_or(unread_since, |_| broken_since));
        if is_read && was_overdue {
            wanted.add_mended(listed_in);
        }
        let broken = state.filter(|_| !is_read && is_overdue(broken_since));
        if let Some(state) = broken {
            let since = state.made_at.unwrap_or(Moment::from_utc(broken_since));
            wanted.add(listed_in, since);
        }
        // What could be read of it and is new is better than what a plain list can tell.
        let is_stand_in = broken.is_some_and(|state| pages.made_at() <= state.made_at);
        if is_stand_in {
            plan.urls().for_each(|url| loader.forget(url));
            pages = Walk::in_place_of_section(loader, known, listed_in).await;
        }
        let is_as_before = plan.is_empty() && known.is_some_and(|known| known.pages.is_some());
        if !is_as_before {
            pages.recall().await;
        }
        if plan.is_whole {
            pages.dispel_doubts().await;
        }
        let (mut reading, was_read) = pages.finish(listed_in, is_as_before);
        let was_read = was_read && is_read;
        reading.broken_since = (!is_read).then_some(broken_since);
        reading.is_stand_in = is_stand_in;
        let is_empty = reading.sighted.as_ref().is_some_and(Sighted::is_empty);
        if is_empty && known.is_none() && (!was_read || plan.is_empty()) {
            // Nothing at all was to be had of it, so nothing begins.
            is_complete = false;
            unread.push(listed_in);
            continue;
        }
        // Whether everything could be read is one thing, whether it was everything another.
        is_complete &= was_read;
        // What could not be read is asked for again the next time.
        if is_read {
            reading.made_at = reading.made_at.max(plan.reaches);
        }
        // A whole list may well be older than what was read already.
        let last = state.and_then(|state| state.made_at);
        let later = |made_at: Moment| last.unwrap_or(made_at).max(made_at);
        reading.made_at = reading.made_at.map(later);
        // A time in the future would hide everything until then.
        reading.made_at = reading.made_at.filter(|moment| moment.start() <= now);
        let home = titles::fallback(&site.at_root("/"));
        collections.push(CollectionReading {
            title: format!("{} ({home})", section.name),
            lists: lists.clone(),
            ..collection(id, known, reading, was_read && plan.is_whole)
        });
    }
    if !unread.is_empty() {
        let readings = collections.iter_mut();
        for reading in readings.filter_map(|reading| reading.pages.as_mut()) {
            reading.unread_beside_since = Some(unread_since);
        }
    }
    if is_overdue(unread_since) {
        let since = Moment::from_utc(unread_since);
        unread.iter().for_each(|list| wanted.add(list, since));
    }
    let offered = sections.iter().map(|(_, listed_in)| listed_in);
    wanted.add_unsettled(offered, memory);
    let others = besides::read(loader, site, wanted, &collections, &lists, memory).await;
    collections.extend(others);
    // Their lists are read by turns, so that none is forgotten because it was not asked for this time.
    (!collections.is_empty()).then_some(Walked {
        top,
        collections,
        is_complete,
    })
}

/// What of a section is read.
#[derive(Default)]
struct Plan {
    /// The whole list.
    snapshot: Option<Url>,
    /// The changes that follow one another, or follow it, and then those behind a gap.
    deltas: Vec<Url>,
    /// Whether that is the whole section as it is now.
    is_whole: bool,
    /// Up to when the section is known then.
    reaches: Option<Moment>,
    gap: Option<Gap>,
}

/// A time of which a section does not tell what happened in it.
struct Gap {
    from: Moment,
    until: Moment,
}

impl Plan {
    fn is_empty(&self) -> bool {
        self.snapshot.is_none() && self.deltas.is_empty()
    }

    fn urls(&self) -> impl Iterator<Item = &Url> {
        self.snapshot.iter().chain(&self.deltas)
    }

    /// Reads one document after the other, and says whether that could be done. After one that could not be read the
    /// others would leave a gap.
    async fn read(&self, pages: &mut Walk<'_, '_>, listed_in: &Url) -> bool {
        if let Some(url) = &self.snapshot
            && !pages.read_list(url, listed_in).await
        {
            return false;
        }
        for url in &self.deltas {
            if !pages.read_delta(url, listed_in).await {
                return false;
            }
        }
        true
    }

    fn tell_gap(&self, section: &Section, listed_in: &Url, problems: &mut Problems) {
        let Some(Gap { from, until }) = &self.gap else {
            return;
        };
        let message = format!(
            "the section {} tells what there is up to {from}, and what changed from {until} on: nobody can tell what \
             happened in between",
            quote(&section.name)
        );
        problems.add(Problem::new(Code::SectionGap, listed_in, message));
    }

    fn make(section: &Section, memory: Option<&CollectionMemory>, now: DateTime<Utc>) -> Plan {
        let snapshots = Offered::of(&section.snapshots, now);
        let deltas = Offered::of(&section.deltas, now);
        let state = memory.and_then(|memory| memory.pages.as_ref());
        let last = state.and_then(|pages| pages.state.made_at);
        let read_at = memory.and_then(|memory| memory.covered_until);
        let is_fresh = read_at.is_some_and(|read_at| read_at + READ_WHOLE > now);
        let newest = snapshots.last();
        let from_last = last.map(|last| Chain::of(&deltas, last));
        let is_behind = |chain: &Chain| {
            newest.is_some_and(|snapshot| chain.end.comes_before(&snapshot.generated))
        };
        // Until there is a whole list again, the changes are better than nothing.
        let is_enough = |chain: &Chain| {
            newest.is_none() || (is_fresh && chain.gap.is_none() && !is_behind(chain))
        };
        let (snapshot, from_last) = match (newest, from_last) {
            (_, Some(chain)) if is_enough(&chain) => return chain.plan(),
            (Some(snapshot), from_last) => (snapshot, from_last),
            (None, _) => return Plan::default(),
        };
        let whole = Chain::of(&deltas, snapshot.generated);
        let reaches_back = last.is_none_or(|last| !whole.end.comes_before(&last));
        let is_whole = reaches_back && whole.gap.is_none();
        let plan = match from_last {
            // What was read already is newer, so it is from there that nothing must be left out.
            Some(from_last) if !reaches_back => Plan {
                gap: whole.gap,
                ..from_last.plan()
            },
            _ => whole.plan(),
        };
        Plan {
            snapshot: Some(snapshot.url.clone()),
            is_whole,
            ..plan
        }
    }
}

/// The changes from a time on.
struct Chain {
    /// Those that follow one another without a gap, and then the others.
    urls: Vec<Url>,
    /// Up to when there is no gap.
    end: Moment,
    /// What comes after that.
    gap: Option<Gap>,
    /// Up to when the last of them tells what happened.
    reaches: Moment,
}

impl Chain {
    fn of(deltas: &[Offered], from: Moment) -> Chain {
        let mut end = from;
        let (mut urls, mut others) = (Vec::new(), Vec::new());
        for delta in deltas {
            let follows = delta.since.is_some_and(|since| !end.comes_before(&since));
            let is_later = end.start() < delta.generated.start();
            if follows && is_later {
                urls.push(delta.url.clone());
                end = delta.generated;
            } else if is_later {
                others.push(delta);
            }
        }
        // What is behind a gap may have been bridged by another one after it.
        others.retain(|delta| end.start() < delta.generated.start());
        let gap = others.first().map(|delta| Gap {
            from: end,
            until: delta.since.unwrap_or(delta.generated),
        });
        urls.extend(others.iter().map(|delta| delta.url.clone()));
        let reaches = others.last().map_or(end, |delta| delta.generated);
        Chain {
            urls,
            end,
            gap,
            reaches,
        }
    }

    /// The changes alone.
    fn plan(self) -> Plan {
        Plan {
            deltas: self.urls,
            reaches: Some(self.reaches),
            gap: self.gap,
            ..Plan::default()
        }
    }
}

/// A document that can be had.
struct Offered {
    url: Url,
    generated: Moment,
    since: Option<Moment>,
}

impl Offered {
    /// Those that have not expired, oldest first.
    fn of(offers: &[Offer], now: DateTime<Utc>) -> Vec<Offered> {
        let moment = |text: &String| Moment::parse(text).ok();
        let mut all: Vec<Offered> = (offers.iter())
            .filter(|offer| {
                let expires = offer.expires.as_ref().and_then(moment);
                expires.is_none_or(|expires| expires.latest() > now)
            })
            .filter_map(|offer| {
                Some(Offered {
                    url: Url::parse(&offer.url).ok()?,
                    generated: moment(&offer.generated)?,
                    since: offer.since.as_ref().and_then(moment),
                })
            })
            .collect();
        all.sort_by_key(|offered| offered.generated.start());
        all
    }
}
