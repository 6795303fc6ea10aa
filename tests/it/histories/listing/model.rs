//! What must have been announced of a site that lists its pages: told by what it answered, and by nothing else.
//!
//! Where the rules leave a choice (dates that may be those of a build, a page in a list that was never read, an address
//! that changed while not everything could be read), either is right, and the model goes on from what was chosen.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use sitebell::change::ChangeKind;
use sitebell::memory::Stamp;
use sitebell::moment::Moment;
use sitebell::store::ChangeRow;

use super::site::{Content, ROOT};
use crate::histories::follower::{self, Verdict, ensure, pruned};
use crate::histories::shelf::{Answered, Shelf};

/// For how long a server is believed that nothing has changed.
const TRUST: TimeDelta = TimeDelta::days(7);
/// From so many dates on, they may be taken for those of a build.
const ENOUGH_DATES: usize = 5;
/// With so many pages a feed begins.
const SHOWN_PAGES: usize = 20;

/// What the follower of a site must know by now.
#[derive(Default)]
pub struct Model {
    is_begun: bool,
    known: BTreeMap<String, Known>,
    /// Lists that could never be read: their pages are not new when they are.
    unread: HashSet<String>,
    /// Addresses that gave way to others while not everything could be read. A list that was missing then, and says that
    /// it has not changed, may still have them, but nobody is told what it has.
    moved: HashSet<String>,
    /// The version of each document that was read last and kept, and when.
    read: HashMap<String, (usize, DateTime<Utc>)>,
    /// Every entry that there ever was.
    ids: HashSet<String>,
    /// Everything that was announced, as found.
    announced: Vec<ChangeRow>,
}

/// A page that is known.
struct Known {
    /// When it was modified: the least and the most that may be remembered of a page that was found twice.
    least: Stamp,
    most: Stamp,
    /// The last complete reading was without it.
    is_missing: bool,
    /// It came with a list that could never be read before, and so was not announced.
    late: Late,
    /// It may have been taken for a page that came late under its other address.
    is_doubtful: bool,
}

#[derive(Clone, Copy)]
enum Late {
    No,
    Perhaps,
    Yes,
}

/// What all documents together said.
#[derive(Default)]
struct Union {
    /// The pages, with every date and the lists they are in.
    pages: BTreeMap<String, Listed>,
    failed: HashSet<String>,
}

#[derive(Default)]
struct Listed {
    dates: Vec<Stamp>,
    paths: HashSet<String>,
    /// Whether one of these lists was read, and did not only say that it has not changed.
    is_read: bool,
}

/// What a check announced, from which everything that is right is taken away.
struct Found(BTreeSet<(String, &'static str)>);

impl Found {
    fn take(&mut self, url: &str, kind: ChangeKind) -> bool {
        self.0.remove(&(url.to_owned(), kind.as_str()))
    }

    fn must(&mut self, url: &str, kind: ChangeKind) -> Result<(), String> {
        ensure!(self.take(url, kind), "{url} was not announced as {kind}");
        Ok(())
    }
}

fn is_later(before: Stamp, now: Stamp) -> bool {
    match (before.moment(), now.moment()) {
        (Some(before), Some(now)) => before.comes_before(&now),
        _ => false,
    }
}

/// The address without what its spellings differ in.
fn page_of(url: &str) -> &str {
    url.trim_end_matches('/')
}

impl follower::Model for Model {
    type Content = Content;
    /// What is missing is gone when it was missed twice.
    const LAST_CHECKS: usize = 2;

    fn judge(
        &mut self,
        now: DateTime<Utc>,
        log: &[(String, Answered)],
        shelf: &Shelf<Content>,
        found: Vec<ChangeRow>,
    ) -> Result<Verdict, String> {
        let mut answers: HashMap<&str, Vec<Answered>> = HashMap::new();
        for (path, answered) in log {
            answers.entry(path).or_default().push(*answered);
            if let Answered::Unchanged(version) = answered {
                let read = self.read.get(path).copied();
                let is_right = read.is_some_and(|(last, at)| last == *version && at + TRUST > now);
                ensure!(
                    is_right,
                    "{path} was asked whether it has changed since version {version}, but was read {read:?}"
                );
            }
        }
        let is_failure =
            |answered: &Answered| matches!(answered, Answered::Missing | Answered::Broken);
        let is_torn =
            |all: &Vec<Answered>| all.iter().any(is_failure) && !all.iter().all(is_failure);
        if answers.values().any(is_torn) {
            return Ok(Verdict::Vague);
        }
        let union = Union::of(&answers, shelf)?;
        self.check_entry(&found)?;
        let mut left = Found(BTreeSet::new());
        for row in &found {
            let change = &row.change;
            let is_new = left.0.insert((change.url.clone(), change.kind.as_str()));
            ensure!(is_new, "{} was announced twice at once", change.url);
        }
        match union {
            Some(union) if self.is_begun => self.take_next(union, &mut left)?,
            Some(union) => self.take_first(union, &mut left)?,
            None => {}
        }
        ensure!(left.0.is_empty(), "nobody said this: {:?}", left.0);
        for (path, answered) in log {
            if let Answered::Body(version) = answered {
                self.read.insert(path.clone(), (*version, now));
            }
        }
        self.announced.extend(found);
        Ok(Verdict::Right)
    }

    fn announced(&self) -> &[ChangeRow] {
        &self.announced
    }

    /// What is known of the pages does not depend on what was announced.
    fn prune(&mut self, keep: usize, _now: DateTime<Utc>) {
        if self.announced.len() > keep {
            let entries = self.announced.iter().map(|row| Some(row.entry.as_str()));
            self.announced.drain(..pruned(entries, keep));
        }
    }

    fn forget(&mut self) {
        *self = Model {
            ids: std::mem::take(&mut self.ids),
            ..Model::default()
        };
    }
}

impl Model {
    /// All that a check found is in one entry, with an id that nothing ever had.
    fn check_entry(&mut self, found: &[ChangeRow]) -> Result<(), String> {
        let Some(first) = found.first() else {
            return Ok(());
        };
        let is_one = found.iter().all(|row| row.entry == first.entry);
        ensure!(is_one, "more than one entry: {found:?}");
        let is_new = self.ids.insert(first.entry.clone());
        ensure!(is_new, "the id {} came again", first.entry);
        Ok(())
    }

    /// The first reading creates no changes, but shows some of the pages.
    fn take_first(&mut self, union: Union, left: &mut Found) -> Result<(), String> {
        ensure!(left.0.len() <= SHOWN_PAGES, "more than twenty pages");
        ensure!(
            union.pages.is_empty() || !left.0.is_empty(),
            "the feed begins without an entry"
        );
        let listed = |url: &String| union.pages.contains_key(url);
        left.0
            .retain(|(url, kind)| !listed(url) || *kind == "deleted");
        for (url, page) in union.pages {
            self.known.insert(url, Known::of(&page));
        }
        self.unread = union.failed;
        self.is_begun = true;
        Ok(())
    }

    fn take_next(&mut self, union: Union, left: &mut Found) -> Result<(), String> {
        let was_unread = std::mem::take(&mut self.unread);
        self.unread = was_unread.intersection(&union.failed).cloned().collect();
        // A list that was emptied is more likely a mistake than the end of all pages.
        if union.pages.is_empty() {
            return Ok(());
        }
        let is_complete = union.failed.is_empty();
        let dated = union
            .pages
            .values()
            .filter(|page| page.newest() != Stamp::NONE);
        let may_be_stamps = dated.count() >= ENOUGH_DATES;
        let mut fresh = Vec::new();
        for (url, page) in &union.pages {
            let Some(known) = self.known.get_mut(url) else {
                fresh.push((url, page));
                continue;
            };
            known.is_missing = false;
            if std::mem::take(&mut known.is_doubtful) && left.take(url, ChangeKind::Created) {
                *known = Known::of(page);
                continue;
            }
            let newest = page.newest();
            let must = !may_be_stamps && page.dates.iter().any(|date| is_later(known.most, *date));
            // Nothing is later than no date, so the least of them need not be the one that allows most.
            let is_edit =
                |date: &Stamp| is_later(known.least, *date) || is_later(known.most, *date);
            let may = page.dates.iter().any(is_edit);
            let is_told = match (must, may) {
                (true, _) => left.must(url, ChangeKind::Updated).map(|()| true)?,
                (false, true) => left.take(url, ChangeKind::Updated),
                (false, false) => false,
            };
            let is_certain = is_told || known.least == known.most;
            known.most = known.most.max(newest);
            if is_certain {
                known.least = known.most;
            }
        }
        let mut renamed = HashSet::new();
        for (url, page) in fresh {
            if self.moved.contains(url) && !page.is_read {
                continue;
            }
            self.moved.remove(url);
            let mut others = self.known.iter_mut();
            let other = others.find(|(other, _)| {
                page_of(other) == page_of(url) && !union.pages.contains_key(*other)
            });
            let was_never_read = page.paths.iter().any(|path| was_unread.contains(path));
            let was_read = page.paths.iter().any(|path| !was_unread.contains(path));
            let is_created = match &other {
                // Under another address, and so nothing new.
                Some((_, other)) if is_complete && !other.is_doubtful => false,
                Some(_) => left.take(url, ChangeKind::Created),
                None if was_never_read && was_read => left.take(url, ChangeKind::Created),
                None if was_never_read => false,
                None => left.must(url, ChangeKind::Created).map(|()| true)?,
            };
            let late = match other.filter(|_| !is_created) {
                // The list that has the other address may be one that could not be read.
                Some((_, other)) if was_never_read && !is_complete => {
                    other.is_doubtful = true;
                    Late::Perhaps
                }
                Some((other, _)) => {
                    renamed.insert(other.clone());
                    self.moved.extend((!is_complete).then(|| other.clone()));
                    Late::No
                }
                None if was_never_read && !is_created => Late::Yes,
                None => Late::No,
            };
            let known = Known {
                late,
                ..Known::of(page)
            };
            self.known.insert(url.clone(), known);
        }
        self.known.retain(|url, _| !renamed.contains(url));
        if !is_complete {
            return Ok(());
        }
        let mut gone = Vec::new();
        // It is there under an address that was never announced.
        let listed = (self.known.iter()).filter(|(url, _)| union.pages.contains_key(*url));
        let late: HashMap<String, Late> = listed
            .map(|(url, known)| (page_of(url).to_owned(), known.late))
            .collect();
        for (url, known) in &mut self.known {
            if union.pages.contains_key(url) {
                continue;
            }
            if known.is_missing {
                match late.get(page_of(url)).copied().unwrap_or(Late::No) {
                    Late::Yes => {}
                    Late::No if !known.is_doubtful => left.must(url, ChangeKind::Deleted)?,
                    Late::No | Late::Perhaps => drop(left.take(url, ChangeKind::Deleted)),
                }
                gone.push(url.clone());
            }
            known.is_missing = true;
        }
        self.known.retain(|url, _| !gone.contains(url));
        Ok(())
    }
}

impl Known {
    fn of(page: &Listed) -> Known {
        let least = page.dates.iter().min();
        Known {
            least: least.copied().unwrap_or(Stamp::NONE),
            most: page.newest(),
            is_missing: false,
            late: Late::No,
            is_doubtful: false,
        }
    }
}

impl Listed {
    fn newest(&self) -> Stamp {
        self.dates.iter().max().copied().unwrap_or(Stamp::NONE)
    }
}

impl Union {
    /// None if the document at the top could not be read.
    fn of(
        answers: &HashMap<&str, Vec<Answered>>,
        shelf: &Shelf<Content>,
    ) -> Result<Option<Union>, String> {
        let content = |path: &str| {
            let last = answers.get(path).and_then(|all| all.last());
            let last = last.ok_or_else(|| format!("{path} was not asked for"))?;
            let is_read = matches!(last, Answered::Body(_));
            Ok::<_, String>(match last {
                Answered::Body(version) | Answered::Unchanged(version) => {
                    Some((shelf.version(path, *version), is_read))
                }
                Answered::Missing | Answered::Broken => None,
            })
        };
        let mut union = Union::default();
        match content(ROOT)? {
            None => return Ok(None),
            Some((Content::List(pages), is_read)) => union.add(ROOT, pages, is_read)?,
            Some((Content::Index(paths), _)) => {
                for path in paths {
                    match content(path)? {
                        Some((Content::List(pages), is_read)) => union.add(path, pages, is_read)?,
                        Some((Content::Index(_), _)) => return Err(format!("{path} is an index")),
                        None => drop(union.failed.insert(path.clone())),
                    }
                }
            }
        }
        Ok(Some(union))
    }

    fn add(
        &mut self,
        path: &str,
        pages: &[(String, Option<String>)],
        is_read: bool,
    ) -> Result<(), String> {
        for (url, lastmod) in pages {
            let moment = lastmod.as_deref().map(Moment::parse).transpose();
            let moment = moment.map_err(|error| format!("{lastmod:?}: {error:?}"))?;
            let listed = self.pages.entry(url.clone()).or_default();
            listed.dates.push(Stamp::of(moment));
            listed.paths.insert(path.to_owned());
            listed.is_read |= is_read;
        }
        Ok(())
    }
}
