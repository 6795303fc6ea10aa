//! What the lists of pages that a check read tell about what happened, collection by collection and for the whole site.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use super::record::known;
use crate::check::{CollectionReading, PagesReading};
use crate::memory::{CollectionMemory, PageKey, SiteMemory};
use crate::site::CollectionId;
use crate::store::{Store, StoreError};
use crate::track::pages::{Held, ListFinding, Plan, TrackedPages, plan, plan_stand_in, settle};

/// What a check means for the collections of a site that list their pages.
#[derive(Default)]
pub(super) struct Listed {
    /// For each collection that was read, in their order; none for one that tells its changes itself.
    pub(super) tracked: Vec<Option<TrackedPages>>,
    /// Pages that collections have to forget which were not read.
    pub(super) forgotten: HashMap<CollectionId, Vec<PageKey>>,
}

/// What is known of one collection before the others were looked at.
enum Step {
    /// It tells its changes itself.
    Told,
    /// Nothing is new.
    Same(Box<TrackedPages>),
    New(Box<Plan>),
}

impl Step {
    /// Forgets pages that the collection has dropped already.
    fn forget(&mut self, pages: Vec<PageKey>) {
        match self {
            Step::Told => {}
            Step::Same(tracked) => tracked.writes.remove.extend(pages),
            Step::New(plan) => plan.forget(pages),
        }
    }
}

/// Tells changes from the lists of pages that were read.
pub(super) async fn track_pages(
    store: &Store,
    memory: &SiteMemory,
    collections: &mut [CollectionReading],
    is_complete: bool,
    now: DateTime<Utc>,
) -> Result<Listed, StoreError> {
    // No more room than is needed: a step is large, and mostly there is one.
    let mut steps = Vec::with_capacity(collections.len());
    let mut broken = Vec::with_capacity(collections.len());
    for reading in &mut *collections {
        broken.push(reading.pages.as_ref().map(Broken::of).unwrap_or_default());
        steps.push(first_step(memory, reading, now));
    }
    let mut listed = Listed {
        tracked: Vec::with_capacity(collections.len()),
        ..Listed::default()
    };
    if let Some(others) = Others::of(memory, collections, is_complete) {
        listed.forgotten = others
            .settle(store, memory, collections, &mut steps)
            .await?;
    }
    for ((reading, step), broken) in collections.iter().zip(steps).zip(broken) {
        let known = known(memory, reading);
        let tracked = match step {
            Step::Told => None,
            Step::Same(tracked) => Some(*tracked),
            Step::New(plan) => {
                let urls = match known {
                    Some(known) => store.page_urls(known.id, plan.wanted()).await?,
                    None => HashMap::new(),
                };
                Some(plan.finish(known.and_then(|known| known.last_processed), &urls))
            }
        };
        listed.tracked.push(tracked.map(|mut tracked| {
            tracked.state.broken_since = broken.since;
            tracked.state.unread_beside_since = broken.unread_beside_since;
            tracked
        }));
    }
    Ok(listed)
}

/// Since when sections cannot be read, as in [`PagesReading`].
#[derive(Default)]
struct Broken {
    since: Option<DateTime<Utc>>,
    unread_beside_since: Option<DateTime<Utc>>,
}

impl Broken {
    fn of(reading: &PagesReading) -> Broken {
        Broken {
            since: reading.broken_since,
            unread_beside_since: reading.unread_beside_since,
        }
    }
}

/// Looks at one collection.
fn first_step(memory: &SiteMemory, reading: &mut CollectionReading, now: DateTime<Utc>) -> Step {
    let Some(pages) = reading.pages.take() else {
        return Step::Told;
    };
    let known = known(memory, reading);
    let state = known.and_then(|known| known.pages.as_ref());
    let state = state.map(|pages| &pages.state);
    let Some(sighted) = pages.sighted else {
        let last_processed = known.and_then(|known| known.last_processed);
        let unchanged = |state| TrackedPages::unchanged(state, last_processed, &pages.document);
        return state.map_or(Step::Told, |state| Step::Same(Box::new(unchanged(state))));
    };
    let finding = ListFinding {
        sighted,
        is_complete: reading.is_complete,
        made_at: pages.made_at,
        titles: pages.titles.map(String::from),
        besides: pages.besides,
        document: pages.document,
    };
    let plan = match state {
        Some(state) if pages.is_stand_in => plan_stand_in(state, finding, now),
        state => plan(state, finding, now),
    };
    Step::New(Box::new(plan))
}

/// The collections of a site that list their pages, where there are several.
struct Others {
    stamped: HashSet<CollectionId>,
    left: HashSet<CollectionId>,
}

impl Others {
    fn of(
        memory: &SiteMemory,
        collections: &[CollectionReading],
        is_complete: bool,
    ) -> Option<Others> {
        let lists = |known: &&CollectionMemory| known.pages.is_some();
        let known = || memory.collections.iter().filter(lists);
        let new = collections
            .iter()
            .filter(|reading| reading.known_as.is_none());
        if known().count() + new.count() < 2 {
            return None;
        }
        let read: HashSet<_> = (collections.iter())
            .filter_map(|reading| reading.known_as)
            .collect();
        // One whose own document could not be read is still there.
        let is_left = |known: &&CollectionMemory| {
            let may_be_there = !is_complete && known.capability_list.is_some();
            !read.contains(&known.id) && !may_be_there
        };
        let is_stamped = |known: &&CollectionMemory| {
            known
                .pages
                .as_ref()
                .is_some_and(|pages| pages.state.is_stamped)
        };
        Some(Others {
            stamped: known().filter(is_stamped).map(|known| known.id).collect(),
            left: known().filter(is_left).map(|known| known.id).collect(),
        })
    }

    /// Decides what is told for the whole site; the pages that are to be forgotten, by the collections that forget them.
    async fn settle(
        self,
        store: &Store,
        memory: &SiteMemory,
        collections: &[CollectionReading],
        steps: &mut [Step],
    ) -> Result<HashMap<CollectionId, Vec<PageKey>>, StoreError> {
        let mut plans: Vec<(Option<CollectionId>, &mut Plan)> = (collections.iter())
            .zip(&mut *steps)
            .filter_map(|(reading, step)| match step {
                Step::New(plan) => Some((reading.known_as, &mut **plan)),
                Step::Told | Step::Same(_) => None,
            })
            .collect();
        let changed: Vec<PageKey> = plans.iter().flat_map(|(_, plan)| plan.changed()).collect();
        let mut forgotten: HashMap<CollectionId, Vec<PageKey>> = HashMap::new();
        // Most often there is nothing to be told at all.
        if !changed.is_empty() {
            let held = store.pages_held(memory.id, changed).await?;
            let held = Held::new(held, self.stamped, self.left);
            for (collection, page) in settle(&mut plans, &held) {
                forgotten.entry(collection).or_default().push(page);
            }
        }
        for (reading, step) in collections.iter().zip(steps) {
            let pages = reading.known_as.and_then(|id| forgotten.remove(&id));
            step.forget(pages.unwrap_or_default());
        }
        Ok(forgotten)
    }
}
