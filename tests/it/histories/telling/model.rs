//! What must have been announced: told by what the site answered, and by nothing else.
//!
//! Knows the rules of the guarantee and none of the ways in which they are kept. Where the rules leave a choice (a
//! closed list that was read to its end may be skipped, a list that vanished may be remembered for longer than it must)
//! there is a least and a most that may be known, and any announcement between them is right.

use std::collections::{BTreeMap, HashMap, HashSet};

use chrono::{DateTime, Months, NaiveDate, TimeDelta, Utc};
use sitebell::change::Change;
use sitebell::store::{ChangeRow, SiteRow};

use super::site::{Child, Content, Key, ROOT};
use crate::histories::follower::{self, FEED_ENTRIES, Verdict, ensure, pruned};
use crate::histories::shelf::{Answered, Shelf};

/// For how long a server is believed that nothing has changed.
const TRUST: TimeDelta = TimeDelta::days(7);

/// For how long a list is waited for that vanished and cannot be read.
const PATIENCE: TimeDelta = TimeDelta::days(30);

type Times = HashMap<Key, u32>;

/// What the follower of a site must know by now.
#[derive(Default)]
pub struct Model {
    collections: BTreeMap<String, Tracked>,
    /// The version of each document that was read last and kept, and when.
    read: HashMap<String, (usize, DateTime<Utc>)>,
    /// Every entry that there ever was.
    ids: HashSet<String>,
    /// Everything that was announced and not forgotten, as found.
    announced: Vec<ChangeRow>,
}

#[derive(Default)]
struct Tracked {
    /// All changes with their entries, oldest first; those without one were passed over in silence.
    rows: Vec<(Key, Option<String>)>,
    /// How often each change is known.
    known: Times,
    is_covered: bool,
    last_processed: Option<DateTime<Utc>>,
    horizon: Option<DateTime<Utc>>,
    /// The address that its Capability List was last read at.
    capability_list: Option<String>,
    lists: BTreeMap<String, Seen>,
}

/// A list that was read.
#[derive(Clone)]
struct Seen {
    child: Option<Child>,
    /// Read to its end while it was closed.
    is_finished: bool,
    /// If it vanishes, it must be read once more.
    is_owed: bool,
    /// When the body was made that was read last.
    read_at: DateTime<Utc>,
}

/// What one reading told of a collection.
#[derive(Default)]
struct Told {
    least: Times,
    most: Times,
    lists: BTreeMap<String, Seen>,
    is_complete: bool,
}

/// The answers of one check.
struct Reading<'a> {
    shelf: &'a Shelf<Content>,
    answers: HashMap<&'a str, Vec<Answered>>,
    now: DateTime<Utc>,
    /// When each document had been read before.
    read: HashMap<String, (usize, DateTime<Utc>)>,
}

pub fn key(change: &Change) -> Key {
    Key {
        at: change.datetime.start(),
        url: change.url.clone(),
        kind: change.kind.as_str(),
        rank: change.datetime.precision().rank(),
    }
}

impl follower::Model for Model {
    type Content = Content;
    const LAST_CHECKS: usize = 1;

    fn judge(
        &mut self,
        now: DateTime<Utc>,
        log: &[(String, Answered)],
        shelf: &Shelf<Content>,
        found: Vec<ChangeRow>,
    ) -> Result<Verdict, String> {
        let mut reading = Reading {
            shelf,
            answers: HashMap::new(),
            now,
            read: self.read.clone(),
        };
        for (path, answered) in log {
            let answers = reading.answers.entry(path.as_str()).or_default();
            answers.push(*answered);
            if let Answered::Unchanged(version) = answered {
                let read = self.read.get(path).copied();
                let is_right = read.is_some_and(|(last, at)| last == *version && at + TRUST > now);
                ensure!(
                    is_right,
                    "{path} was asked whether it has changed since version {version}, but was read {read:?}"
                );
            }
        }
        if reading.is_vague() {
            return Ok(Verdict::Vague);
        }
        let mut by_collection: BTreeMap<String, Vec<ChangeRow>> = BTreeMap::new();
        for row in &found {
            let rows = by_collection.entry(row.collection.to_string()).or_default();
            rows.push(row.clone());
        }
        let lists = match reading.content(ROOT)? {
            Some(Content::Description(lists)) => lists.clone(),
            _ => Vec::new(),
        };
        let mut taken = HashSet::new();
        for (path, listed_as) in &lists {
            let Some(Content::Capabilities {
                describes,
                lists: change_lists,
            }) = reading.content(path)?
            else {
                continue;
            };
            let own = shelf.final_url(path);
            let claim = describes.as_ref().or(listed_as.as_ref());
            let mut identity = claim.unwrap_or(&own).clone();
            if taken.contains(&identity) || self.is_of_another(&identity, &own, &reading, &lists)? {
                identity = own.clone();
            }
            if !taken.insert(identity.clone()) {
                continue;
            }
            self.name(&own, &identity);
            let tracked = self.collections.entry(identity.clone()).or_default();
            tracked.capability_list = Some(own);
            let told = reading.told(change_lists, tracked)?;
            let found = by_collection.remove(&identity).unwrap_or_default();
            tracked
                .take(now, told, &found, &mut self.ids)
                .map_err(|error| format!("{identity}: {error}"))?;
        }
        ensure!(
            by_collection.is_empty(),
            "announced without having been read: {by_collection:?}"
        );
        for (path, answered) in log {
            if let Answered::Body(version) = answered {
                self.read.insert(path.clone(), (*version, now));
            }
        }
        self.announced.extend(found);
        Ok(Verdict::Right)
    }

    fn judge_progress(&self, site: &SiteRow, now: DateTime<Utc>) -> Result<(), String> {
        site.collections.iter().try_for_each(|collection| {
            let last_processed = collection.last_processed.map(|moment| moment.start());
            self.compare_progress(collection.identity.as_str(), last_processed, now)
        })
    }

    fn announced(&self) -> &[ChangeRow] {
        &self.announced
    }

    fn prune(&mut self, keep: usize, now: DateTime<Utc>) {
        for tracked in self.collections.values_mut() {
            tracked.prune(keep, now);
        }
        let known: HashSet<&String> = (self.collections.values())
            .flat_map(|tracked| &tracked.rows)
            .filter_map(|(_, entry)| entry.as_ref())
            .collect();
        self.announced.retain(|row| known.contains(&row.entry));
    }

    fn forget(&mut self) {
        *self = Model {
            ids: std::mem::take(&mut self.ids),
            ..Model::default()
        };
    }
}

impl Model {
    /// Whether a collection is known by another Capability List, which is still there and does not describe another one.
    fn is_of_another(
        &self,
        identity: &str,
        own: &str,
        reading: &Reading<'_>,
        lists: &[(String, Option<String>)],
    ) -> Result<bool, String> {
        let known = self.collections.get(identity);
        let owner = known.and_then(|known| known.capability_list.as_deref());
        let mut paths = lists.iter().map(|(path, _)| path);
        let path = paths.find(|path| owner == Some(reading.shelf.url(path).as_str()));
        let Some(path) = path.filter(|_| owner != Some(own)) else {
            return Ok(false);
        };
        Ok(match reading.content(path)? {
            Some(Content::Capabilities { describes, .. }) => describes
                .as_ref()
                .is_none_or(|describes| describes == identity),
            _ => true,
        })
    }

    /// A collection that was known by its Capability List has got a name.
    fn name(&mut self, list: &str, identity: &str) {
        let is_nameless = (self.collections.get(list))
            .is_some_and(|known| known.capability_list.as_deref() == Some(list));
        if self.collections.contains_key(identity) || !is_nameless {
            return;
        }
        let known = self.collections.remove(list).unwrap_or_default();
        self.collections.insert(identity.to_owned(), known);
        for row in &mut self.announced {
            if row.collection.as_str() == list {
                row.collection = identity.parse().expect("an address");
            }
        }
    }

    /// That a collection has come as far as it should have, and not beyond the present.
    fn compare_progress(
        &self,
        collection: &str,
        last_processed: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Result<(), String> {
        let expected = (self.collections.get(collection)).and_then(|known| known.last_processed);
        ensure!(
            last_processed == expected && last_processed.is_none_or(|last| last <= now),
            "{collection} was processed up to {last_processed:?} instead of {expected:?}, and it is {now}"
        );
        Ok(())
    }
}

impl<'a> Reading<'a> {
    /// The versions of a document that were told; none if it was not asked for, empty if it could not be read.
    fn versions(&self, path: &str) -> Option<Vec<&'a Content>> {
        let version = |answered: &Answered| match answered {
            Answered::Body(version) | Answered::Unchanged(version) => {
                Some(self.shelf.version(path, *version))
            }
            Answered::Missing | Answered::Broken => None,
        };
        Some(self.answers.get(path)?.iter().filter_map(version).collect())
    }

    /// Whether a document could be read for one collection and not for another, because it broke in between: then nobody
    /// can say who knows it.
    fn is_vague(&self) -> bool {
        let is_failure =
            |answered: &Answered| matches!(answered, Answered::Missing | Answered::Broken);
        let mut answers = self.answers.values();
        answers.any(|all| all.iter().any(is_failure) && !all.iter().all(is_failure))
    }

    /// What a document said that must be asked for in every check.
    fn content(&self, path: &str) -> Result<Option<&'a Content>, String> {
        match self.versions(path) {
            Some(versions) => Ok(versions.last().copied()),
            None => Err(format!("{path} was not asked for")),
        }
    }

    fn told(&self, lists: &[String], tracked: &Tracked) -> Result<Told, String> {
        let mut told = Told {
            is_complete: true,
            ..Told::default()
        };
        let mut failed = HashSet::new();
        for path in lists {
            match self.content(path)? {
                Some(Content::Index(children)) => {
                    for child in children {
                        let versions = self.versions(&child.path);
                        if tracked.may_skip(child) {
                            // If it was asked for, it may have been for another collection.
                            told.take(&child.path, None, &versions.unwrap_or_default(), false);
                            let seen = tracked.lists[&child.path].clone();
                            told.lists.insert(child.path.clone(), seen);
                            continue;
                        }
                        match versions {
                            None => {
                                return Err(format!("{} was not asked for", child.path));
                            }
                            Some(versions) if versions.is_empty() => {
                                failed.insert(child.path.clone());
                            }
                            Some(versions) => told.take(&child.path, Some(child), &versions, true),
                        }
                    }
                }
                Some(_) => {
                    let versions = self.versions(path).unwrap_or_default();
                    told.take(path, None, &versions, true);
                }
                None => {
                    failed.insert(path.clone());
                }
            }
        }
        told.is_complete = failed.is_empty();
        let is_named = |path: &String| failed.contains(path) && tracked.lists.contains_key(path);
        let are_names_missing =
            !failed.is_empty() && told.lists.is_empty() && !failed.iter().any(is_named);
        for (path, seen) in &tracked.lists {
            if told.lists.contains_key(path) {
                continue;
            }
            let kept = |is_owed| Seen {
                is_owed,
                ..seen.clone()
            };
            if failed.contains(path) {
                told.lists.insert(path.clone(), kept(seen.is_owed));
                continue;
            }
            if seen.is_finished {
                // It need not be read, but may be: its end may make no sense to others.
                let versions = self.versions(path).unwrap_or_default();
                told.take(path, None, &versions, false);
                told.lists.remove(path);
                if are_names_missing {
                    told.lists.insert(path.clone(), seen.clone());
                }
                continue;
            }
            let is_missing = (self.answers.get(path.as_str()))
                .is_some_and(|answers| answers.contains(&Answered::Missing));
            match self.versions(path) {
                None => ensure!(!seen.is_owed, "{path} vanished, and was not read once more"),
                Some(versions) if versions.is_empty() => {
                    let is_of_late = seen.read_at + PATIENCE > self.now;
                    if are_names_missing || (is_of_late && !is_missing) {
                        told.is_complete = false;
                        told.lists.insert(path.clone(), kept(seen.is_owed));
                    }
                }
                Some(versions) => {
                    told.take(path, None, &versions, seen.is_owed);
                    told.lists.remove(path);
                    if are_names_missing {
                        told.lists.insert(path.clone(), seen.clone());
                    }
                }
            }
        }
        for (path, seen) in &mut told.lists {
            seen.read_at = self.read_at(path).unwrap_or(seen.read_at);
        }
        Ok(told)
    }

    /// When the body was made that a document was read from now.
    fn read_at(&self, path: &str) -> Option<DateTime<Utc>> {
        let answers = self.answers.get(path)?.iter();
        let read_at = |answered: &Answered| match answered {
            Answered::Body(_) => Some(self.now),
            Answered::Unchanged(_) => self.read.get(path).map(|(_, at)| *at),
            Answered::Missing | Answered::Broken => None,
        };
        answers.filter_map(read_at).max()
    }
}

impl Told {
    /// Takes a list. Two versions may have been told to two collections that share it.
    fn take(&mut self, path: &str, child: Option<&Child>, versions: &[&Content], is_owed: bool) {
        let mut least: Option<Times> = None;
        let mut all_closed = true;
        for content in versions {
            let Content::List { is_closed, changes } = content else {
                continue;
            };
            all_closed &= is_closed;
            let mut times = Times::new();
            for change in changes {
                *times.entry(change.clone()).or_default() += 1;
            }
            for (change, times) in &times {
                let most = self.most.entry(change.clone()).or_default();
                *most = (*most).max(*times);
            }
            least = Some(match least {
                None => times,
                Some(mut least) => {
                    for (change, fewer) in &mut least {
                        *fewer = (*fewer).min(times.get(change).copied().unwrap_or_default());
                    }
                    least
                }
            });
        }
        for (change, times) in least.into_iter().flatten().filter(|_| is_owed) {
            let least = self.least.entry(change).or_default();
            *least = (*least).max(times);
        }
        let is_finished = all_closed && child.is_some_and(|child| child.until.is_some());
        let seen = Seen {
            child: child.cloned(),
            is_finished,
            is_owed: true,
            read_at: DateTime::UNIX_EPOCH,
        };
        self.lists.insert(path.to_owned(), seen);
    }
}

impl Tracked {
    /// Whether a list may be passed over unread: it was read to its end when it was closed, its index says of it what it
    /// said then, and it was closed before the newest change that was processed.
    fn may_skip(&self, child: &Child) -> bool {
        let Some(seen) = self.lists.get(&child.path) else {
            return false;
        };
        let is_over = match (&child.until, self.last_processed) {
            (Some(until), Some(last_processed)) => until.latest < last_processed,
            _ => false,
        };
        seen.is_finished && seen.child.as_ref() == Some(child) && is_over
    }

    fn times(&self, key: &Key) -> u32 {
        self.known.get(key).copied().unwrap_or_default()
    }

    /// Takes what was told, if what was found is right.
    fn take(
        &mut self,
        now: DateTime<Utc>,
        told: Told,
        found: &[ChangeRow],
        ids: &mut HashSet<String>,
    ) -> Result<(), String> {
        let unknown = |times: &Times| -> BTreeMap<Key, u32> {
            let after_horizon = |key: &Key| self.horizon.is_none_or(|horizon| key.at > horizon);
            (times.iter())
                .filter(|(key, _)| after_horizon(key))
                .map(|(key, times)| (key.clone(), times.saturating_sub(self.times(key))))
                .filter(|(_, times)| *times > 0)
                .collect()
        };
        let (least, most) = (unknown(&told.least), unknown(&told.most));
        let is_first = self.rows.is_empty() && self.horizon.is_none() && !self.is_covered;
        let entries = entries(found)?;
        for (id, _) in &entries {
            ensure!(ids.insert(id.clone()), "the id {id} is not new");
        }
        let mut announced: BTreeMap<Key, u32> = BTreeMap::new();
        for (_, keys) in &entries {
            for key in keys {
                *announced.entry(key.clone()).or_default() += 1;
            }
        }
        let mut silent = Vec::new();
        if is_first {
            // Where one list gave two answers, it is not known which of them was for this collection; what both told was
            // told, and what came beyond that is what was announced.
            let mut surely = least.clone();
            if least != most {
                for (key, times) in &announced {
                    let told = surely.entry(key.clone()).or_default();
                    *told = (*told).max(*times);
                }
            }
            let days = days(&surely, now);
            let (old, new) = days.split_at(days.len().saturating_sub(FEED_ENTRIES));
            silent.extend(old.iter().flatten().cloned());
            let mut given: Vec<Vec<Key>> = entries.iter().map(|(_, keys)| keys.clone()).collect();
            given.iter_mut().for_each(|keys| keys.sort());
            ensure!(
                given == new,
                "the first entries are {given:?} and should be {new:?}"
            );
        } else {
            ensure!(
                entries.len() <= 1,
                "one check made {} entries",
                entries.len()
            );
            for (key, times) in &least {
                let is_told = announced.get(key).copied().unwrap_or_default() >= *times;
                ensure!(
                    is_told,
                    "lost: {times} × {key:?}, announced was {announced:?}"
                );
            }
            for (key, times) in &announced {
                let is_new = most.get(key).copied().unwrap_or_default() >= *times;
                ensure!(is_new, "not new: {times} × {key:?} of at most {most:?}");
            }
        }
        let past = (silent.iter().chain(announced.keys()))
            .map(|key| key.at)
            .filter(|at| *at <= now);
        self.last_processed = past.chain(self.last_processed).max();
        self.rows.extend(silent.into_iter().map(|key| (key, None)));
        for (id, keys) in entries {
            self.rows
                .extend(keys.into_iter().map(|key| (key, Some(id.clone()))));
        }
        self.count();
        self.is_covered |= told.is_complete;
        self.lists = told.lists;
        Ok(())
    }

    fn count(&mut self) {
        self.known.clear();
        for (key, _) in &self.rows {
            *self.known.entry(key.clone()).or_default() += 1;
        }
    }

    fn prune(&mut self, keep: usize, now: DateTime<Utc>) {
        if self.rows.len() <= keep {
            return;
        }
        let entries = self.rows.iter().map(|(_, entry)| entry.as_deref());
        let cut = pruned(entries, keep);
        let mut stays = Vec::new();
        for (key, _) in self.rows.drain(..cut).rev() {
            if over_at(&key) > now && stays.len() < keep {
                stays.push((key, None));
            } else if key.at <= now {
                self.horizon = self.horizon.max(Some(key.at));
            }
        }
        stays.reverse();
        self.rows.splice(..0, stays);
        self.count();
    }
}

/// When the time that a change names is over, wherever its author lives.
fn over_at(key: &Key) -> DateTime<Utc> {
    let end = match key.rank {
        0 => key.at + Months::new(12),
        1 => key.at + Months::new(1),
        2 => key.at + TimeDelta::days(1),
        _ => return key.at,
    };
    end + TimeDelta::hours(12)
}

/// The entries that some changes were announced in, in order, each with its changes from the oldest on.
fn entries(found: &[ChangeRow]) -> Result<Vec<(String, Vec<Key>)>, String> {
    let mut entries: Vec<(String, Vec<Key>)> = Vec::new();
    for row in found {
        let key = key(&row.change);
        match entries.last_mut() {
            Some((id, keys)) if *id == row.entry => {
                ensure!(
                    keys.last().is_none_or(|last| last.at <= key.at),
                    "{key:?} is not in order"
                );
                keys.push(key);
            }
            _ => entries.push((row.entry.clone(), vec![key])),
        }
    }
    Ok(entries)
}

/// Changes by the days on which they were made, none of which is in the future.
fn days(changes: &BTreeMap<Key, u32>, now: DateTime<Utc>) -> Vec<Vec<Key>> {
    let mut days: BTreeMap<NaiveDate, Vec<Key>> = BTreeMap::new();
    for (key, times) in changes {
        let day = days.entry(key.at.min(now).date_naive()).or_default();
        day.extend((0..*times).map(|_| key.clone()));
    }
    days.into_values().collect()
}
