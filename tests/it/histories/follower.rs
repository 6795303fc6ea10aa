//! Somebody who follows a site through a history, and compares what was announced with what should have been.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use sitebell::change::{Change, Entry};
use sitebell::store::{ChangeRow, Keep, SiteRow};

use super::shelf::{Answered, Shelf};
use super::stand::{Desk, Staged};
use super::step::Step;

/// More than any history announces.
const ALL: u32 = 10_000;
/// As many entries as a feed has, which stay whatever is pruned.
pub const FEED_ENTRIES: usize = 50;

/// Leaves a judgement with what is wrong.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}
pub(super) use ensure;

/// What must have been announced: told by what a site answered, and by nothing else.
pub trait Model: Default {
    type Content;
    /// After so many readings, whatever is pending has been announced.
    const LAST_CHECKS: usize;
    /// Judges what a check at `now` found, by what it was answered.
    fn judge(
        &mut self,
        now: DateTime<Utc>,
        log: &[(String, Answered)],
        shelf: &Shelf<Self::Content>,
        found: Vec<ChangeRow>,
    ) -> Result<Verdict, String>;
    /// Judges how far a site has come with that.
    fn judge_progress(&self, _site: &SiteRow, _now: DateTime<Utc>) -> Result<(), String> {
        Ok(())
    }
    /// Everything that was announced, as found.
    fn announced(&self) -> &[ChangeRow];
    /// Forgets all but so many changes of each collection, what feeds show, and what is not over.
    fn prune(&mut self, keep: usize, now: DateTime<Utc>);
    /// The site was removed: nothing is known any more, except that no id may ever come again.
    fn forget(&mut self);
}

/// What there is to say of a check that did nothing wrong.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Right,
    /// It cannot be judged, nor can those after it.
    Vague,
}

/// How many of the oldest changes go if so many are kept; of each is told in which entry it is, if it is in one. Entries
/// go as a whole.
pub fn pruned<'a>(
    entries: impl ExactSizeIterator<Item = Option<&'a str>> + DoubleEndedIterator,
    keep: usize,
) -> usize {
    let entries: Vec<Option<&str>> = entries.collect();
    let mut cut = entries.len().saturating_sub(keep);
    let mut shown: Vec<&str> = Vec::new();
    for (place, entry) in entries.iter().enumerate().rev() {
        let Some(entry) = entry else { continue };
        if shown.last() != Some(entry) {
            if shown.len() == FEED_ENTRIES {
                break;
            }
            shown.push(entry);
        }
        cut = cut.min(place);
    }
    while cut > 0
        && cut < entries.len()
        && entries[cut].is_some()
        && entries[cut - 1] == entries[cut]
    {
        cut -= 1;
    }
    cut
}

/// Someone who follows the site on the stage.
pub struct Follower<'a, 'b, S: Staged> {
    desk: &'a mut Desk<'b, S>,
    model: S::Model,
    /// Nobody can say any more what is right.
    is_vague: bool,
}

impl<'a, 'b, S: Staged> Follower<'a, 'b, S> {
    pub fn at(desk: &'a mut Desk<'b, S>) -> Self {
        Follower {
            desk,
            model: S::Model::default(),
            is_vague: false,
        }
    }

    /// Plays it to its end, or up to the first thing that is wrong.
    pub async fn follow(&mut self, steps: &[Step<S::Doing>]) -> Result<(), String> {
        let last = vec![Step::Check { after: 1 }; S::Model::LAST_CHECKS];
        for (place, step) in steps.iter().chain(&last).enumerate() {
            self.take(step)
                .await
                .map_err(|error| format!("step {place}, {step:?}: {error}"))?;
            if self.is_vague {
                return Ok(());
            }
        }
        self.compare().await
    }

    async fn take(&mut self, step: &Step<S::Doing>) -> Result<(), String> {
        match *step {
            Step::Site(ref doing) => self.desk.on_stage(|actor| actor.site.apply(doing)),
            Step::Check { after } => {
                self.desk.check(after).await;
                self.judge().await?;
            }
            Step::CheckDuring {
                after,
                request,
                ref doing,
            } => {
                let soon = (u32::from(request), doing.clone());
                self.desk.on_stage(|actor| actor.soon = Some(soon));
                let check = self.desk.check(after).await;
                assert!(check.is_some(), "nothing cuts it off");
                self.judge().await?;
                self.desk.on_stage(|actor| actor.apply_what_is_left());
            }
            Step::CheckTwice { after } => {
                let check = self.desk.check(after).await.unwrap();
                self.judge().await?;
                if !self.is_vague {
                    self.desk.save_again(check).await?;
                    self.compare().await?;
                }
            }
            Step::Crash { after, request } => {
                if self.desk.check_and_crash(after, request).await.is_some() {
                    self.judge().await?;
                }
            }
            Step::CrashUnsaved { after } => self.desk.check_unsaved(after).await,
            Step::Restart { is_killed } => {
                self.desk.restart(is_killed).await;
                self.compare().await?;
            }
            Step::Prune { keep } => {
                let limits = Keep {
                    changes_per_collection: u32::from(keep),
                    ..Keep::default()
                };
                let now = self.desk.now;
                self.desk.store().prune(&limits, now).await.unwrap();
                self.model.prune(usize::from(keep), now);
                self.compare().await?;
            }
            Step::RemoveSite => {
                self.model.forget();
                self.desk.replace_site().await;
            }
        }
        Ok(())
    }

    /// Judges the last check by what it was answered.
    async fn judge(&mut self) -> Result<(), String> {
        let (now, site) = (self.desk.now, self.desk.site);
        let log = self.desk.on_stage(|actor| actor.site.shelf().take_log());
        let after = self.model.announced().last().map(|row| row.cursor);
        let found = self.desk.store().changes(site, after, ALL).await.unwrap().0;
        let model = &mut self.model;
        let verdict = (self.desk)
            .on_stage(|actor| model.judge(now, &log, actor.site.shelf(), found))
            .map_err(|error| format!("{error}\nasked was {log:?}"))?;
        if verdict == Verdict::Vague {
            self.is_vague = true;
            return Ok(());
        }
        let row = self.desk.store().site(site).await.unwrap().unwrap();
        self.model.judge_progress(&row, now)
    }

    /// Compares everything that was ever announced, as changes and as entries.
    async fn compare(&self) -> Result<(), String> {
        let (store, site) = (self.desk.store(), self.desk.site);
        let announced = self.model.announced();
        let changes = store.changes(site, None, ALL).await.unwrap().0;
        ensure!(
            changes == announced,
            "the history is {changes:?} and should be {announced:?}"
        );
        let row = store.site(site).await.unwrap().unwrap();
        let (mut inside, mut ids) = (0, HashSet::new());
        for (id, entry) in store.site_entries(site, ALL).await.unwrap() {
            let mut collections = row.collections.iter();
            let collection = collections.find(|collection| collection.id == id).unwrap();
            let collection = collection.identity.as_str();
            inside += compare_entry(announced, collection, &entry)?;
            ensure!(ids.insert(entry.id.clone()), "two entries are {}", entry.id);
        }
        ensure!(
            inside == announced.len(),
            "{inside} changes are in entries, and {} were announced",
            announced.len()
        );
        Ok(())
    }
}

/// That an entry holds what was announced in it; how many changes that is.
fn compare_entry(
    announced: &[ChangeRow],
    collection: &str,
    entry: &Entry,
) -> Result<usize, String> {
    let expected: Vec<&Change> = (announced.iter())
        .filter(|row| row.entry == entry.id && row.collection.as_str() == collection)
        .map(|row| &row.change)
        .collect();
    ensure!(
        expected == entry.changes.iter().collect::<Vec<_>>(),
        "entry {entry:?} of {collection} should hold {expected:?}"
    );
    Ok(expected.len())
}
