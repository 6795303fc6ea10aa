//! The main guarantee, against any history of a site: every change that a complete reading showed is announced exactly
//! once, in one entry of the right collection.
//!
//! A [`site`] that only exists for the test does what sites do ([`step`]), behind a real server, and is followed in the
//! real way: with a fetcher, a store and `check_and_save` ([`stand`]). After each check the [`model`] says what must have
//! been announced. A history that fails is made as short as possible and printed in a form that can be put into the
//! [`corpus`], where every history stays that ever found something. [`listing`] does the same with sites that list their
//! pages instead of telling their changes.
//!
//! `HISTORIES=100000 cargo test --test it histories` plays more of them.

mod corpus;
mod listing;
mod model;
mod server;
mod shelf;
mod site;
mod stand;
mod step;

use chrono::{DateTime, Utc};
use sitebell::store::{ChangeRow, Keep};

use self::model::{Model, Verdict};
use self::site::Site;
use self::stand::{Desk, Played, Staged, play_any};
use self::step::{History, Step, any_history};

/// Histories that are played each time.
const HISTORIES: u32 = 10_000;
/// More than any history announces.
const ALL: u32 = 10_000;

impl Played for History {
    type Site = Site;

    fn site(&self, port: u16, now: DateTime<Utc>) -> Site {
        Site::new(port, now, &self.seeds, self.tagging)
    }

    async fn play(&self, desk: &mut Desk<'_, Site>) -> Result<(), String> {
        let mut follower = Follower {
            desk,
            model: Model::default(),
            is_vague: false,
        };
        follower.follow(&self.steps).await
    }
}

/// Someone who follows the site on the stage.
struct Follower<'a, 'b> {
    desk: &'a mut Desk<'b, Site>,
    model: Model,
    /// Nobody can say any more what is right.
    is_vague: bool,
}

impl Follower<'_, '_> {
    async fn follow(&mut self, steps: &[Step]) -> Result<(), String> {
        for (place, step) in steps.iter().enumerate() {
            self.take(step)
                .await
                .map_err(|error| format!("step {place}, {step:?}: {error}"))?;
            if self.is_vague {
                break;
            }
        }
        if !self.is_vague {
            self.desk.check(1).await;
            self.judge()
                .await
                .map_err(|error| format!("the last check: {error}"))?;
            self.compare().await?;
        }
        Ok(())
    }

    async fn take(&mut self, step: &Step) -> Result<(), String> {
        match *step {
            Step::Site(ref doing) => self.desk.on_stage(|site| site.apply(doing)),
            Step::Check { after } => {
                self.desk.check(after).await;
                self.judge().await?;
            }
            Step::CheckDuring {
                after,
                request,
                ref doing,
            } => {
                self.desk
                    .on_stage(|site| site.apply_at(u32::from(request), doing.clone()));
                let check = self.desk.check(after).await;
                assert!(check.is_some(), "nothing cuts it off");
                self.judge().await?;
                self.desk.on_stage(Site::apply_what_is_left);
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
                self.desk.store().prune(now, &limits).await.unwrap();
                self.model.prune(usize::from(keep));
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
        let log = self.desk.on_stage(Site::take_log);
        let after = self.model.announced.last().map(|row| row.cursor);
        let found = self.desk.store().changes(site, after, ALL).await.unwrap().0;
        let model = &mut self.model;
        let verdict = (self.desk)
            .on_stage(|site| model.judge(now, &log, &site.shelf, found))
            .map_err(|error| format!("{error}\nasked was {log:?}"))?;
        if verdict == Verdict::Vague {
            self.is_vague = true;
            return Ok(());
        }
        let row = self.desk.store().site(site).await.unwrap().unwrap();
        for collection in row.collections {
            let last_processed = collection.last_processed.map(|moment| moment.start());
            let identity = collection.identity.as_str();
            self.model.compare_progress(identity, last_processed, now)?;
        }
        Ok(())
    }

    /// Compares everything that was ever announced.
    async fn compare(&self) -> Result<(), String> {
        let (store, site) = (self.desk.store(), self.desk.site);
        let changes: Vec<ChangeRow> = store.changes(site, None, ALL).await.unwrap().0;
        let row = store.site(site).await.unwrap().unwrap();
        let entries = store.site_entries(site, ALL).await.unwrap();
        let entries: Vec<_> = (entries.into_iter())
            .map(|(id, entry)| {
                let mut collections = row.collections.iter();
                let collection = collections.find(|collection| collection.id == id);
                (collection.unwrap().identity.to_string(), entry)
            })
            .collect();
        self.model.compare(&changes, &entries)
    }
}

#[test]
fn whatever_a_site_does_every_change_is_announced_once() {
    play_any(HISTORIES, any_history);
}
