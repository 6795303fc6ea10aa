//! Histories that once went wrong, each as short as it can be.

use super::site;
use super::step::Date;
use super::step::Doing::{self, *};
use crate::histories::stand::play;
use crate::histories::step::Step::*;
use crate::histories::step::{Breakage, History, Tagging};

type Step = crate::histories::step::Step<Doing>;

const NOW: Date = Date::Second(0);

fn replay(seeds: [u8; 3], steps: Vec<Step>) {
    play::<site::Site>(&History {
        seeds: seeds.to_vec(),
        tagging: Tagging::Both,
        steps,
    });
}

/// Something that is seen by two checks, so that what it makes missing would be gone.
fn seen(doing: Doing) -> [Step; 3] {
    [Site(doing), Check { after: 1 }, Check { after: 1 }]
}

#[test]
fn a_page_in_two_lists_is_not_gone_when_one_of_them_drops_it() {
    let both = Put {
        page: 0,
        list: 1,
        date: NOW,
    };
    let dropped = TakeOut { page: 0, list: 0 };
    let steps = [seen(both), seen(dropped)].concat();
    replay([2, 2, 0], steps);
}

#[test]
fn a_page_in_two_lists_is_not_gone_with_one_of_them() {
    let both = Put {
        page: 0,
        list: 1,
        date: NOW,
    };
    let vanished = Unlist {
        list: 0,
        is_gone: true,
    };
    let steps = [seen(both), seen(vanished)].concat();
    replay([2, 2, 0], steps);
}

#[test]
fn a_page_that_has_an_older_twin_in_an_unchanged_list_is_another_page() {
    let steps = vec![
        Site(Put {
            page: 0,
            list: 1,
            date: NOW,
        }),
        Check { after: 1 },
        Site(TakeOut { page: 0, list: 0 }),
        Check { after: 1 },
        Site(Respell { page: 0 }),
        Check { after: 1 },
        Check { after: 1 },
    ];
    replay([2, 2, 0], steps);
}

#[test]
fn a_list_that_was_left_out_until_its_pages_were_gone_is_read_again() {
    let steps = vec![
        Check { after: 1 },
        Site(Unlist {
            list: 1,
            is_gone: false,
        }),
        Check { after: 1 },
        CheckDuring {
            after: 1,
            request: 1,
            doing: Relist { list: 1 },
        },
    ];
    replay([0, 1, 1], steps);
}

#[test]
fn a_list_that_became_an_index_while_its_server_said_unchanged_is_read_with_its_parts() {
    let steps = vec![
        CheckDuring {
            after: 1,
            request: 0,
            doing: Lie,
        },
        CheckDuring {
            after: 1,
            request: 0,
            doing: Delete { page: 0 },
        },
        Site(Join { is_joined: true }),
        Check { after: 10079 },
        Site(Join { is_joined: false }),
    ];
    replay([1, 0, 1], steps);
}

#[test]
fn a_page_under_another_spelling_in_a_list_that_was_broken_costs_the_first_one_nothing() {
    let steps = vec![
        Site(Break {
            document: 2,
            how: Breakage::Status(404),
        }),
        Check { after: 1 },
        Site(Respell { page: 0 }),
        Site(Lie),
        Site(Unlist {
            list: 0,
            is_gone: true,
        }),
        Site(Heal { document: 0 }),
        Site(Put {
            page: 0,
            list: 1,
            date: Date::None,
        }),
        Check { after: 1 },
        Check { after: 10078 },
    ];
    replay([1, 0, 0], steps);
}

#[test]
fn a_page_that_moved_while_a_list_was_missing_is_not_new_when_that_list_has_not_changed() {
    let steps = vec![
        Check { after: 1 },
        Site(Put {
            page: 4,
            list: 0,
            date: Date::None,
        }),
        Check { after: 1 },
        Site(Respell { page: 4 }),
        Site(Break {
            document: 1,
            how: Breakage::Status(404),
        }),
        Check { after: 1 },
        Site(Lie),
        Site(Heal { document: 0 }),
    ];
    replay([1, 3, 1], steps);
}

#[test]
fn an_edit_of_a_page_that_one_list_dates_and_another_does_not_is_told_when_the_other_is_gone() {
    let edit = |date| Edit { page: 7, date };
    let steps = vec![
        Site(Put {
            page: 7,
            list: 0,
            date: Date::None,
        }),
        Check { after: 1 },
        RemoveSite,
        CheckDuring {
            after: 1,
            request: 5,
            doing: edit(Date::None),
        },
        Site(edit(NOW)),
        Site(Break {
            document: 1,
            how: Breakage::Status(404),
        }),
        Check { after: 1 },
    ];
    replay([3, 3, 2], steps);
}
