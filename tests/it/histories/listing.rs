//! The same for sites that list their pages: each page is announced once as created, as updated whenever its date moves
//! on, and as deleted once, after two complete readings without it; and never because something could not be read.

mod corpus;
mod model;
mod site;
mod step;

use chrono::{DateTime, Utc};

use self::model::Model;
use self::site::Site;
use self::step::{History, Step, any_history};
use super::model::Verdict;
use super::stand::{Desk, Played, Staged, play_any};

/// Histories that are played each time.
const HISTORIES: u32 = 5_000;
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
        // Whatever is pending at the end has been announced after two more readings.
        let last = [Step::Check { after: 1 }, Step::Check { after: 1 }];
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
                self.desk.check(after).await;
                self.judge().await?;
                self.desk.on_stage(Site::apply_what_is_left);
            }
            Step::CheckTwice { after } => {
                let check = self.desk.check(after).await.unwrap();
                self.judge().await?;
                self.desk.save_again(check).await?;
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
        self.is_vague = verdict == Verdict::Vague;
        Ok(())
    }

    /// Compares everything that was ever announced.
    async fn compare(&self) -> Result<(), String> {
        let (store, site) = (self.desk.store(), self.desk.site);
        let changes = store.changes(site, None, ALL).await.unwrap().0;
        match changes == self.model.announced {
            true => Ok(()),
            false => Err(format!(
                "the history is {changes:?} and should be {:?}",
                self.model.announced
            )),
        }
    }
}

#[test]
fn whatever_a_list_does_every_page_is_announced_once() {
    play_any(HISTORIES, any_history);
}
