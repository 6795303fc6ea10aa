//! What a site that lists its pages can do.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::histories::step::{
    Breakage, History, Pace, Tagging, any_breakage, any_history, any_tagging,
};

/// What a site does. Pages and lists are counted in circles.
#[derive(Debug, Clone)]
pub enum Doing {
    /// A page is put into a list, whether or not it is in another.
    Put {
        page: u8,
        list: u8,
        date: Date,
    },
    /// A page gets another date wherever it is.
    Edit {
        page: u8,
        date: Date,
    },
    /// A page is taken out of all lists.
    Delete {
        page: u8,
    },
    /// A page is taken out of one list.
    TakeOut {
        page: u8,
        list: u8,
    },
    /// A page goes from wherever it is into one list.
    Move {
        page: u8,
        list: u8,
    },
    /// The address of a page gets a slash, or loses it.
    Respell {
        page: u8,
    },
    /// The lists become one, or several with an index.
    Join {
        is_joined: bool,
    },
    /// A list is in the index no more, and may be gone.
    Unlist {
        list: u8,
        is_gone: bool,
    },
    /// It is back.
    Relist {
        list: u8,
    },
    /// All pages are gone, from all lists.
    Clear,
    /// A document breaks; 0 is the one at the top.
    Break {
        document: u8,
        how: Breakage,
    },
    Heal {
        document: u8,
    },
    HealAll,
    /// The server says to everyone who asks whether something has changed that nothing has.
    Lie,
    TellTheTruth,
    Tag(Tagging),
}

/// When a page says that it was modified.
#[derive(Debug, Clone, Copy)]
pub enum Date {
    /// It does not say.
    None,
    /// So many minutes ago, to the second.
    Second(u32),
    /// On that day.
    Day(u32),
}

fn any_date() -> impl Strategy<Value = Date> {
    let ago = || prop_oneof![3 => Just(0_u32), 1 => 0..600_u32, 1 => 0..30_000_u32];
    prop_oneof![
        1 => Just(Date::None),
        4 => ago().prop_map(Date::Second),
        2 => ago().prop_map(Date::Day),
    ]
}

fn any_doing() -> impl Strategy<Value = Doing> {
    let page = || 0..8_u8;
    let list = || 0..3_u8;
    prop_oneof![
        8 => (page(), list(), any_date())
            .prop_map(|(page, list, date)| Doing::Put { page, list, date }),
        8 => (page(), any_date()).prop_map(|(page, date)| Doing::Edit { page, date }),
        4 => page().prop_map(|page| Doing::Delete { page }),
        4 => (page(), list()).prop_map(|(page, list)| Doing::TakeOut { page, list }),
        4 => (page(), list()).prop_map(|(page, list)| Doing::Move { page, list }),
        3 => page().prop_map(|page| Doing::Respell { page }),
        1 => any::<bool>().prop_map(|is_joined| Doing::Join { is_joined }),
        3 => (list(), any::<bool>())
            .prop_map(|(list, is_gone)| Doing::Unlist { list, is_gone }),
        2 => list().prop_map(|list| Doing::Relist { list }),
        1 => Just(Doing::Clear),
        6 => (0..4_u8, any_breakage())
            .prop_map(|(document, how)| Doing::Break { document, how }),
        2 => any::<u8>().prop_map(|document| Doing::Heal { document }),
        3 => Just(Doing::HealAll),
        2 => Just(Doing::Lie),
        1 => Just(Doing::TellTheTruth),
        1 => any_tagging().prop_map(Doing::Tag),
    ]
}

/// Any history of a site with three lists that begin with so many pages.
pub fn any_listing() -> impl Strategy<Value = History<Doing>> {
    let pace = Pace {
        doing: 50,
        checks: 30,
        longest: 60_000,
    };
    any_history(vec(0..4_u8, 3), pace, any_doing().boxed())
}
