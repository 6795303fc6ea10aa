//! When a site is checked again. Pure: what happened goes in, the next time comes out.
//!
//! Sites that change are asked more often and sites that do not less often, between two bounds. Errors are met with
//! patience, never with giving up.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::memory::Outcome;
use crate::site::SiteStatus;

/// Sites wish for years of peace, or promise that nothing changes for ever; more than this is not believed.
const LONGEST_WISH: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// A site that says it is gone for good may still be wrong about it, and is asked once a month.
const GONE_PAUSE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The bounds where the operator gives none: an hour and a week if sites are checked daily.
const FLOOR_PARTS: u32 = 24;
const CEILING_TIMES: u32 = 7;
/// Times are kept in whole seconds.
const SHORTEST: Duration = Duration::from_secs(1);
/// Sites that were added together should not be asked together for ever.
const JITTER_PERCENT: u64 = 10;

/// What the operator wants.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// How often a site is checked to begin with.
    pub every: Duration,
    /// The shortest time between two checks, and the first pause after a failure; it doubles from there.
    pub floor: Duration,
    /// The longest time between two checks, after failures, too.
    pub ceiling: Duration,
}

impl Policy {
    /// Checks so often, with bounds in proportion where none are given.
    pub fn new(every: Duration, floor: Option<Duration>, ceiling: Option<Duration>) -> Policy {
        let every = every.max(SHORTEST);
        let floor = floor.unwrap_or(every / FLOOR_PARTS).max(SHORTEST);
        let ceiling = ceiling.unwrap_or(every.saturating_mul(CEILING_TIMES));
        Policy {
            every,
            floor,
            ceiling: ceiling.max(floor),
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Policy::new(Duration::from_secs(24 * 60 * 60), None, None)
    }
}

/// What happened in a check, as far as it matters for the next one.
#[derive(Debug, Clone, Copy)]
pub struct Past {
    /// How often the site was checked so far, in seconds; 0 for a new one.
    pub interval_secs: u64,
    /// Checks in a row that had failed before.
    pub failures: u32,
    /// How this one ended.
    pub outcome: Outcome,
    /// Whether the site says that it is gone.
    pub is_gone: bool,
    /// How long the servers promise that nothing changes.
    pub fresh_for: Option<Duration>,
    /// How long the host wants to be left alone.
    pub retry_after: Option<Duration>,
}

/// What follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// How things stand.
    pub status: SiteStatus,
    /// How often the site is checked from now on, in seconds.
    pub interval_secs: u64,
    /// Checks in a row that failed.
    pub failures: u32,
    /// When the next one is due.
    pub next_check_at: DateTime<Utc>,
}

impl Policy {
    /// Plans the next check. `chance` is any number, the same for the same site and time.
    pub fn plan(&self, past: Past, now: DateTime<Utc>, chance: u64) -> Plan {
        let before = Duration::from_secs(past.interval_secs);
        let interval = match past.outcome {
            // That a first check finds something says nothing about how often there is something to find.
            _ if before.is_zero() => self.every,
            Outcome::Changed => before / 2,
            Outcome::Unchanged => before * 5 / 4,
            Outcome::Partial => before,
            // What failed says nothing about how often it changes; a site that comes back is met with fresh interest.
            Outcome::Failed => before.min(self.every),
        };
        let interval = interval.clamp(self.floor, self.ceiling);
        let failures = match past.outcome {
            Outcome::Failed => past.failures.saturating_add(1),
            _ => 0,
        };
        let pause = match (past.is_gone, failures) {
            (true, _) => GONE_PAUSE.max(self.ceiling),
            (false, 0) => interval,
            (false, failures) => (self.floor)
                .saturating_mul(1 << (failures - 1).min(16))
                .min(self.ceiling),
        };
        let wishes = past
            .fresh_for
            .max(past.retry_after)
            .unwrap_or_default()
            .min(LONGEST_WISH);
        // Never earlier than the site wishes, and not all at the same moment.
        let pause = pause + pause * u32::try_from(chance % JITTER_PERCENT).unwrap_or(0) / 100;
        let wait = TimeDelta::from_std(pause.max(wishes)).unwrap_or(TimeDelta::days(1));
        Plan {
            status: match (past.is_gone, failures) {
                (true, _) => SiteStatus::Gone,
                (false, 0) => SiteStatus::Ok,
                (false, _) => SiteStatus::Failing,
            },
            interval_secs: interval.as_secs(),
            failures,
            next_check_at: now + wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 24 * 60 * 60;

    fn now() -> DateTime<Utc> {
        "2026-03-10T12:00:00Z".parse().unwrap()
    }

    fn past(outcome: Outcome) -> Past {
        let (fresh_for, retry_after) = (None, None);
        Past {
            interval_secs: DAY,
            failures: 0,
            outcome,
            is_gone: false,
            fresh_for,
            retry_after,
        }
    }

    fn wait(past: Past) -> u64 {
        let plan = Policy::default().plan(past, now(), 0);
        u64::try_from((plan.next_check_at - now()).num_seconds()).unwrap()
    }

    #[test]
    fn a_new_site_is_checked_daily_to_begin_with() {
        for outcome in [Outcome::Partial, Outcome::Changed, Outcome::Unchanged] {
            let past = Past {
                interval_secs: 0,
                ..past(outcome)
            };
            assert_eq!(wait(past), DAY);
        }
    }

    #[test]
    fn bounds_are_in_proportion_where_the_operator_gives_none() {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        let policy = Policy::new(hours(48), None, None);
        assert_eq!((policy.floor, policy.ceiling), (hours(2), hours(14 * 24)));
        let policy = Policy::new(hours(24), Some(hours(12)), Some(hours(6)));
        assert_eq!((policy.floor, policy.ceiling), (hours(12), hours(12)));
        let policy = Policy::new(Duration::ZERO, None, None);
        assert_eq!(policy.floor, SHORTEST);
    }

    #[test]
    fn sites_that_change_are_asked_more_often_and_others_less_often_within_bounds() {
        assert_eq!(wait(past(Outcome::Changed)), DAY / 2);
        assert_eq!(wait(past(Outcome::Unchanged)), DAY * 5 / 4);
        assert_eq!(
            wait(Past {
                interval_secs: 3600,
                ..past(Outcome::Changed)
            }),
            3600
        );
        assert_eq!(
            wait(Past {
                interval_secs: 7 * DAY,
                ..past(Outcome::Unchanged)
            }),
            7 * DAY
        );
    }

    #[test]
    fn failures_back_off_to_a_week_and_never_to_off() {
        let waits: Vec<u64> = (0..12)
            .map(|failures| {
                wait(Past {
                    failures,
                    ..past(Outcome::Failed)
                })
            })
            .collect();
        assert_eq!(waits[..4], [3600, 2 * 3600, 4 * 3600, 8 * 3600]);
        assert_eq!(waits[11], 7 * DAY);
        assert!(waits.is_sorted());
        assert_eq!(
            wait(Past {
                failures: u32::MAX,
                ..past(Outcome::Failed)
            }),
            7 * DAY
        );
    }

    #[test]
    fn recovery_is_immediate() {
        let plan = Policy::default().plan(
            Past {
                failures: 9,
                ..past(Outcome::Unchanged)
            },
            now(),
            0,
        );
        assert_eq!((plan.status, plan.failures), (SiteStatus::Ok, 0));
    }

    #[test]
    fn a_site_that_is_gone_is_asked_monthly() {
        let past = Past {
            is_gone: true,
            ..past(Outcome::Failed)
        };
        assert_eq!(wait(past), 30 * DAY);
        let hourly = Policy::new(Duration::from_secs(60 * 60), None, None);
        let plan = hourly.plan(past, now(), 0);
        assert_eq!(plan.next_check_at, now() + TimeDelta::days(30));
        assert_eq!(
            Policy::default().plan(past, now(), 0).status,
            SiteStatus::Gone
        );
    }

    #[test]
    fn what_the_site_wishes_is_a_floor() {
        let day = |days: u64| Some(Duration::from_secs(days * DAY));
        assert_eq!(
            wait(Past {
                fresh_for: day(3),
                ..past(Outcome::Unchanged)
            }),
            3 * DAY
        );
        assert_eq!(
            wait(Past {
                retry_after: day(2),
                ..past(Outcome::Failed)
            }),
            2 * DAY
        );
        assert_eq!(
            wait(Past {
                fresh_for: day(3000),
                ..past(Outcome::Unchanged)
            }),
            7 * DAY
        );
    }

    #[test]
    fn sites_that_were_checked_together_drift_apart_but_never_come_early() {
        let plan = |chance| {
            Policy::default()
                .plan(past(Outcome::Partial), now(), chance)
                .next_check_at
        };
        assert!(plan(7) > plan(0) && plan(0) == now() + TimeDelta::days(1));
    }
}
