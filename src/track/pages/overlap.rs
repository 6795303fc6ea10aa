//! What is told for a whole site of which several collections list the same pages.
//!
//! Each collection tells everything that happens to its pages. For the site a page is new when the first of them lists it,
//! another than before when the first of them says so, and gone when the last of them has dropped it; what the others tell
//! of that is told for those who follow that one collection.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use super::{Event, Plan, Which, is_later};
use crate::change::ChangeKind;
use crate::memory::{KnownPage, PageKey, Stamp};
use crate::site::CollectionId;

/// What all collections of a site remember of the pages that changed, as it was before this check.
#[derive(Debug, Default)]
pub struct Held {
    pages: HashMap<PageKey, Vec<(CollectionId, KnownPage)>>,
    /// Collections whose dates are those of builds: they tell none of them.
    stamped: HashSet<CollectionId>,
    /// Collections that nobody reads any more. What they told was told, but they do not keep a page from being gone.
    left: HashSet<CollectionId>,
}

impl Held {
    /// Puts together what is remembered.
    pub fn new(
        pages: Vec<(CollectionId, KnownPage)>,
        stamped: HashSet<CollectionId>,
        left: HashSet<CollectionId>,
    ) -> Held {
        let mut held = Held {
            stamped,
            left,
            ..Held::default()
        };
        for (collection, page) in pages {
            let holders = held.pages.entry(page.key).or_default();
            holders.push((collection, page));
        }
        held
    }

    /// What the collections besides one remember of a page.
    fn beside(
        &self,
        own: Option<CollectionId>,
        key: PageKey,
    ) -> impl Iterator<Item = (CollectionId, KnownPage)> {
        let holders = self.pages.get(&key).into_iter().flatten().copied();
        holders.filter(move |(collection, _)| Some(*collection) != own)
    }

    /// What they told of it.
    fn told(&self, own: Option<CollectionId>, key: PageKey) -> impl Iterator<Item = Version> {
        let holders = self.beside(own, key);
        let holders = holders.filter(|(_, page)| !page.state.is_untold);
        holders.map(|(holder, page)| Version {
            stamp: page.stamp,
            hash: page.hash,
            is_stamped: self.stamped.contains(&holder),
        })
    }

    /// Those that still remember it, though nobody reads them any more.
    fn left(&self, key: PageKey) -> impl Iterator<Item = (CollectionId, PageKey)> {
        let holders = self.beside(None, key).map(|(holder, _)| holder);
        let left = holders.filter(|holder| self.left.contains(holder));
        left.map(move |holder| (holder, key))
    }
}

/// Decides which changes are told for the whole site, and which for their collection alone; each plan comes with its
/// collection, if that is known. Collections that are not read any more have to forget the pages that are returned: these
/// are gone, and are news should they come back.
pub fn settle(
    plans: &mut [(Option<CollectionId>, &mut Plan)],
    held: &Held,
) -> Vec<(CollectionId, PageKey)> {
    let mut telling = Telling {
        held,
        after: After::of(plans),
        told: HashMap::new(),
        gone: HashSet::new(),
        kept: HashMap::new(),
    };
    for (own, plan) in &mut *plans {
        let events = plan.events.iter().enumerate();
        let apart = events.filter(|(_, event)| !telling.is_news(*own, plan, event));
        plan.apart = apart.map(|(number, _)| number).collect();
    }
    for (key, stamp) in telling.kept {
        plans
            .iter_mut()
            .for_each(|(_, plan)| plan.take_over(key, stamp));
    }
    let gone = telling.gone.into_iter();
    gone.flat_map(|key| held.left(key)).collect()
}

/// What is told for the site by one check.
struct Telling<'a> {
    held: &'a Held,
    after: After,
    /// The newest version of each page that was told so far.
    told: HashMap<PageKey, Version>,
    gone: HashSet<PageKey>,
    /// Pages that a collection has dropped and another still has, and when they were modified as far as that was told.
    kept: HashMap<PageKey, Stamp>,
}

impl Telling<'_> {
    /// Whether something that happened in a collection is news for the site.
    fn is_news(&mut self, own: Option<CollectionId>, plan: &Plan, event: &Event) -> bool {
        let key = plan.key(event.page);
        if event.kind == ChangeKind::Deleted {
            let is_kept = self.after.has(own, key, self.held);
            if is_kept && let Some(stamp) = plan.told(event.page) {
                let kept = self.kept.entry(key).or_insert(stamp);
                *kept = stamp.max(*kept);
            }
            return !is_kept && self.gone.insert(key);
        }
        let version = plan.version(event.page);
        let before = self.told.get(&key).copied();
        if before.is_none_or(|before| before.stamp < version.stamp) {
            self.told.insert(key, version);
        }
        let mut known = self.held.told(own, key).chain(before);
        !known.any(|known| known.tells(event.kind, version, plan.now))
    }
}

/// What of a page somebody knows.
#[derive(Clone, Copy)]
struct Version {
    stamp: Stamp,
    hash: u32,
    /// Whether its date may be that of a build, and was not told.
    is_stamped: bool,
}

impl Version {
    /// Whether whoever tells of this version has told of what another one makes of the page.
    fn tells(self, kind: ChangeKind, other: Version, now: DateTime<Utc>) -> bool {
        if kind == ChangeKind::Created && (self.is_stamped || self.stamp == Stamp::NONE) {
            return true;
        }
        // As in one collection, a checksum decides alone.
        if self.hash != 0 && other.hash != 0 {
            return self.hash == other.hash;
        }
        let (Some(mine), Some(_)) = (self.stamp.moment(), other.stamp.moment()) else {
            return kind == ChangeKind::Created;
        };
        // A date in the future hides nothing.
        let is_possible = self.stamp == other.stamp || mine.start() <= now;
        !self.is_stamped && is_possible && !is_later(self.stamp, other.stamp)
    }
}

/// Which pages the collections have when this check is over, as far as that is another than before.
struct After {
    dropped: HashSet<(Option<CollectionId>, PageKey)>,
    added: HashSet<PageKey>,
}

impl After {
    fn of(plans: &[(Option<CollectionId>, &mut Plan)]) -> After {
        let (mut dropped, mut added) = (HashSet::new(), HashSet::new());
        let is_deletion = |plan: &Plan| {
            let mut kinds = plan.events.iter().map(|event| event.kind);
            kinds.any(|kind| kind == ChangeKind::Deleted)
        };
        // Nobody asks otherwise, and there may be many pages.
        if plans.iter().any(|(_, plan)| is_deletion(plan)) {
            for (id, plan) in plans {
                let writes = &plan.writes;
                let keys = writes.remove.iter().chain(&writes.forget);
                dropped.extend(keys.map(|key| (*id, *key)));
                let fresh = &plan.sighted.fresh;
                added.extend((0..fresh.len()).map(|place| PageKey::of(fresh.url(place))));
            }
        }
        After { dropped, added }
    }

    /// Whether a collection besides one has a page, and is read.
    fn has(&self, own: Option<CollectionId>, key: PageKey, held: &Held) -> bool {
        let keeps = |(holder, _): (CollectionId, KnownPage)| {
            !held.left.contains(&holder) && !self.dropped.contains(&(Some(holder), key))
        };
        self.added.contains(&key) || held.beside(own, key).any(keeps)
    }
}

impl Plan {
    /// The pages that something happened to.
    pub fn changed(&self) -> impl Iterator<Item = PageKey> {
        self.events.iter().map(|event| self.key(event.page))
    }

    fn key(&self, page: Which) -> PageKey {
        match page {
            Which::Known(place) => self.sighted.known.get(place).key,
            Which::Fresh(place) => PageKey::of(self.sighted.fresh.url(place)),
        }
    }

    /// When a known page was modified, as far as it was told.
    fn told(&self, page: Which) -> Option<Stamp> {
        let Which::Known(place) = page else {
            return None;
        };
        let page = self.sighted.known.get(place);
        (!page.state.is_untold).then_some(page.stamp)
    }

    /// A page of which nothing is told here, because another collection did, is told of here from now on: that one has
    /// dropped it. What came after the last that was told of it is news.
    fn take_over(&mut self, key: PageKey, stamp: Stamp) {
        let Some(place) = self.sighted.known.find(key) else {
            return self.sighted.fresh.take_over(key, stamp);
        };
        let page = self.sighted.known.get(place);
        let mut written = self.writes.update.iter_mut();
        match written.find(|page| page.key == key) {
            Some(page) if page.state.is_untold => {
                (page.stamp, page.state.is_untold) = (stamp, false);
            }
            None if page.state.is_untold => {
                let mut page = KnownPage { stamp, ..page };
                page.state.is_untold = false;
                self.writes.update.push(page);
            }
            _ => {}
        }
    }

    /// What the list says of a page.
    fn version(&self, page: Which) -> Version {
        let (stamp, hash) = match page {
            Which::Known(place) => match self.sighted.other.get(&place) {
                Some(sight) => (sight.stamp, sight.hash),
                None => (Stamp::NONE, 0),
            },
            Which::Fresh(place) => {
                let page = self.sighted.fresh.known(place);
                (page.stamp, page.hash)
            }
        };
        Version {
            stamp,
            hash,
            is_stamped: false,
        }
    }
}
