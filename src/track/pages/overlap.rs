//! What is told for a whole site of which several collections list the same pages.
//!
//! Each collection tells everything that happens to its pages. For the site a page is new when the first of them lists it,
//! another than before when the first of them says so, and gone when the last of them has dropped it; what the others tell
//! of that is told for those who follow that one collection.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use super::{Event, Plan, Which, is_later, kept};
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

    /// What the collections besides one remember of a page, and that one itself of a page that it has dropped.
    fn beside(
        &self,
        own: Option<CollectionId>,
        key: PageKey,
    ) -> impl Iterator<Item = (CollectionId, KnownPage)> {
        let holders = self.pages.get(&key).into_iter().flatten().copied();
        holders.filter(move |(collection, page)| Some(*collection) != own || page.state.is_dropped)
    }

    /// What they told of it.
    fn told(&self, own: Option<CollectionId>, key: PageKey) -> impl Iterator<Item = Version> {
        let holders = self.beside(own, key);
        let holders = holders.filter(|(_, page)| !page.state.is_untold);
        holders.map(|(holder, page)| self.version(Some(holder), page))
    }

    fn version(&self, holder: Option<CollectionId>, page: KnownPage) -> Version {
        Version {
            stamp: page.stamp,
            hash: page.hash,
            is_stamped: holder.is_some_and(|holder| self.stamped.contains(&holder)),
        }
    }

    /// Those that still remember it, though they have dropped it, or nobody reads them any more.
    fn left(&self, key: PageKey) -> impl Iterator<Item = (CollectionId, PageKey)> {
        let holders = self.beside(None, key);
        let left = holders.filter(|(holder, page)| self.is_left(*holder, page));
        left.map(move |(holder, _)| (holder, key))
    }

    fn is_left(&self, holder: CollectionId, page: &KnownPage) -> bool {
        page.state.is_dropped || self.left.contains(&holder)
    }
}

/// Decides which changes are told for the whole site, and which for their collection alone; each plan comes with its
/// collection, if that is known. The pages that are returned have to be forgotten by collections that remember them without
/// having them: these are gone, and are news should they come back.
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
        telling.keep_what_was_told(*own, plan);
    }
    for (own, plan) in &mut *plans {
        // Also of those that are too many to be named.
        let removed = plan.writes.remove.iter().copied();
        let gone = removed.filter(|key| !telling.after.has(*own, *key, held));
        telling.gone.extend(gone);
        plan.remember_what_was_told(*own, held);
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
            return !self.after.has(own, key, self.held) && self.gone.insert(key);
        }
        let version = plan.version(event.page);
        let before = self.told.get(&key).copied();
        if before.is_none_or(|before| before.stamp < version.stamp) {
            self.told.insert(key, version);
        }
        let mut known = self.held.told(own, key).chain(before);
        // A first reading tells what is there, and not that it was edited.
        let kind = match plan.is_first {
            true => ChangeKind::Created,
            false => event.kind,
        };
        !known.any(|known| known.tells(kind, version, plan.now))
    }

    /// What was told of a page lives on when its collection has dropped it and another has it: that one may be behind, and
    /// would tell it again.
    fn keep_what_was_told(&mut self, own: Option<CollectionId>, plan: &mut Plan) {
        let known = plan.sighted.known.clone();
        let removed = plan.writes.remove.iter();
        let removed = removed.filter_map(|key| Some(known.get(known.find(*key)?)));
        let kept: Vec<KnownPage> = removed
            .filter(|page| !page.state.is_untold && self.after.has(own, page.key, self.held))
            .collect();
        let mut dropped = HashSet::new();
        for mut page in kept {
            let stamp = self.kept.entry(page.key).or_insert(page.stamp);
            *stamp = page.stamp.max(*stamp);
            if !self.is_known_beside(own, page, plan.now) {
                page.state.is_dropped = true;
                dropped.insert(page.key);
                plan.writes.update.push(page);
            }
        }
        plan.writes.remove.retain(|key| !dropped.contains(key));
    }

    /// Whether another collection told as much of a page, and goes on remembering it.
    fn is_known_beside(
        &self,
        own: Option<CollectionId>,
        page: KnownPage,
        now: DateTime<Utc>,
    ) -> bool {
        let version = self.held.version(own, page);
        let mut holders = self.held.beside(own, page.key).filter(|(holder, page)| {
            !page.state.is_untold && !self.after.has_dropped(Some(*holder), page.key)
        });
        holders.any(|(holder, page)| {
            let known = self.held.version(Some(holder), page);
            known.tells(ChangeKind::Updated, version, now)
        })
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
        // Nobody asks otherwise, and there may be many pages.
        if (plans.iter()).any(|(_, plan)| !plan.writes.remove.is_empty()) {
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
        let keeps = |(holder, page): (CollectionId, KnownPage)| {
            !held.is_left(holder, &page) && !self.has_dropped(Some(holder), key)
        };
        self.added.contains(&key) || held.beside(own, key).any(keeps)
    }

    fn has_dropped(&self, holder: Option<CollectionId>, key: PageKey) -> bool {
        self.dropped.contains(&(holder, key))
    }
}

impl Plan {
    /// The pages that something happened to, or that are not there any more.
    pub fn changed(&self) -> impl Iterator<Item = PageKey> {
        let changed = self.events.iter().map(|event| self.key(event.page));
        changed.chain(self.writes.remove.iter().copied())
    }

    /// Pages that were dropped before are to be forgotten.
    pub fn forget(&mut self, pages: Vec<PageKey>) {
        self.writes.remove.extend(pages);
    }

    fn key(&self, page: Which) -> PageKey {
        match page {
            Which::Known(place) => self.sighted.known.get(place).key,
            Which::Fresh(place) => PageKey::of(self.sighted.fresh.url(place)),
        }
    }

    /// A page that comes back to the collection that dropped it may be older than what was told of it then, which would be
    /// told again.
    fn remember_what_was_told(&mut self, own: Option<CollectionId>, held: &Held) {
        for event in &self.events {
            let Which::Fresh(place) = event.page else {
                continue;
            };
            let key = PageKey::of(self.sighted.fresh.url(place));
            // Of its own, a collection has only what it has dropped beside what it has.
            let mut beside = held.beside(own, key);
            if let Some((_, page)) = beside.find(|(holder, _)| Some(*holder) == own) {
                let stamp = kept(page.stamp, self.sighted.fresh.stamp(place), self.now);
                self.sighted.fresh.set_stamp(place, stamp);
            }
        }
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
