//! Sites that tell their changes: every change that a complete reading showed is announced exactly once, in one entry of
//! the right collection.

mod corpus;
mod model;
mod site;
mod step;

use self::site::Site;
use self::step::any_telling;
use super::stand::play_any;

/// Histories that are played each time.
const HISTORIES: u32 = 10_000;

#[test]
fn whatever_a_site_does_every_change_is_announced_once() {
    play_any::<Site, _>(HISTORIES, any_telling);
}
