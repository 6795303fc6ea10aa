//! Histories that once went wrong, each as short as it can be.

use super::site;
use super::step::Doing::{self, *};
use super::step::{Claim, Closing, Made, Rotation, Style};
use crate::histories::stand::play;
use crate::histories::step::Step::*;
use crate::histories::step::{Breakage, History, Tagging};

type Step = crate::histories::step::Step<Doing>;

/// A change that is made and told at the same time.
fn publish(to: u8) -> Step {
    let made = Made {
        page: 0,
        kind: 0,
        style: Style::Second,
        ago: 0,
    };
    Site(Publish { to, made })
}

/// The open list of the first collection is closed now, and another one begun.
fn rotate() -> Step {
    let how = Rotation::Closes {
        ago: 0,
        is_date: false,
        how: Closing::Both,
    };
    Site(Rotate { to: 0, how })
}

fn breaks(document: u8, how: Breakage) -> Step {
    Site(Break { document, how })
}

const SHARE: Doing = Share {
    of: 0,
    with: 1,
    list: u8::MAX,
};

fn replay(collections: usize, steps: Vec<Step>) {
    play::<site::Site>(&History {
        seeds: vec![0; collections],
        tagging: Tagging::Both,
        steps,
    });
}

#[test]
fn a_list_that_another_collection_has_read_before_is_new_to_this_one() {
    replay(
        2,
        vec![
            publish(0),
            Check { after: 1 },
            Site(SHARE),
            Check { after: 1 },
        ],
    );
}

#[test]
fn a_list_that_another_collection_read_meanwhile_has_changed_for_this_one() {
    replay(
        2,
        vec![
            Site(SHARE),
            Check { after: 1 },
            publish(0),
            breaks(3, Breakage::Status(500)),
            Check { after: 1 },
            Site(HealAll),
            Check { after: 1 },
        ],
    );
}

#[test]
fn what_a_new_collection_passes_over_is_known_though_its_list_told_another_one_less() {
    let made = Made {
        page: 0,
        kind: 0,
        style: Style::Second,
        ago: 0,
    };
    play::<site::Site>(&History {
        seeds: vec![0, 50],
        tagging: Tagging::Both,
        steps: vec![
            Site(SHARE),
            Site(Lie),
            Check { after: 1 },
            Site(Insert {
                to: 0,
                list: u8::MAX,
                made,
                is_told: false,
            }),
            breaks(8, Breakage::Moved),
            Site(Tag(Tagging::Both)),
            Check { after: 1 },
        ],
    });
}

#[test]
fn a_list_that_grows_between_two_collections_has_grown_for_both() {
    let Site(doing) = publish(0) else {
        unreachable!("the site does it")
    };
    replay(
        2,
        vec![
            Site(SHARE),
            publish(0),
            publish(1),
            Check { after: 1 },
            publish(0),
            CheckDuring {
                after: 1,
                request: 5,
                doing,
            },
            Check { after: 1 },
        ],
    );
}

#[test]
fn a_list_that_vanished_and_is_half_written_is_read_again() {
    replay(
        1,
        vec![
            Check { after: 1 },
            Site(Rotate {
                to: 0,
                how: Rotation::Replaces { is_gone: false },
            }),
            breaks(2, Breakage::HalfWritten),
            Check { after: 1 },
            Site(HealAll),
        ],
    );
}

#[test]
fn an_index_that_fails_twice_makes_no_list_forgotten() {
    replay(
        1,
        vec![
            rotate(),
            Check { after: 1 },
            breaks(2, Breakage::Status(404)),
            Check { after: 1 },
            Check { after: 1 },
        ],
    );
}

#[test]
fn a_collection_that_cannot_be_read_is_not_taken_over_by_another_one() {
    replay(
        2,
        vec![
            publish(1),
            Site(Describe {
                collection: 1,
                claim: Claim::That(0),
            }),
            Check { after: 1 },
            breaks(1, Breakage::Status(500)),
            Check { after: 1 },
        ],
    );
}

#[test]
fn the_index_of_a_list_that_two_collections_name_brings_no_changes_into_the_wrong_one() {
    replay(
        1,
        vec![
            Check { after: 1 },
            Site(MoveClock { minutes: 1642 }),
            Site(Add { collection: 2 }),
            rotate(),
            Site(Share {
                of: 0,
                with: 2,
                list: 255,
            }),
            Site(Rotate {
                to: 2,
                how: Rotation::Replaces { is_gone: false },
            }),
            rotate(),
            publish(0),
            Check { after: 1 },
        ],
    );
}
