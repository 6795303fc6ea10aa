//! What a site that tells its changes can do.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::histories::step::{
    Breakage, History, Pace, Tagging, any_breakage, any_history, any_tagging,
};

/// What a site does. Collections and lists are counted in circles; list 255 is the open one.
#[derive(Debug, Clone)]
pub enum Doing {
    /// A change is added to the open list.
    Publish { to: u8, made: Made },
    /// A change is added to any list, even a closed one, and its index may tell so.
    Insert {
        to: u8,
        list: u8,
        made: Made,
        is_told: bool,
    },
    /// A change is told once more, by the same list or by the open one.
    Repeat {
        to: u8,
        list: u8,
        item: u8,
        is_elsewhere: bool,
    },
    /// A new list is begun.
    Rotate { to: u8, how: Rotation },
    /// The open list says that it ends now, and goes on to say so whenever it grows.
    EndNow { to: u8 },
    /// Lists that only the index called closed say it themselves.
    FinishClosing { to: u8 },
    /// The oldest changes of a list are dropped.
    Truncate { to: u8, list: u8, count: u8 },
    /// They come back.
    Restore { to: u8, list: u8 },
    /// A list is named no more, and may be gone.
    Unlist { to: u8, list: u8, is_gone: bool },
    /// It is named again.
    Relist { to: u8, list: u8 },
    /// A list is put into another order and other words.
    Shuffle { to: u8, list: u8, seed: u8 },
    /// A document breaks.
    Break { document: u8, how: Breakage },
    /// A broken one is mended.
    Heal { document: u8 },
    /// All are.
    HealAll,
    /// The server says to everyone who asks whether something has changed that nothing has.
    Lie,
    /// It does so no more.
    TellTheTruth,
    /// It lets people ask in another way.
    Tag(Tagging),
    /// Its clock is set.
    MoveClock { minutes: i32 },
    /// A collection appears.
    Add { collection: u8 },
    /// A collection is listed no more.
    Remove { collection: u8 },
    /// A collection is called something else.
    Retitle { collection: u8 },
    /// The Capability List of a collection says that it describes something else.
    Describe { collection: u8, claim: Claim },
    /// A collection names a list of another one as its own.
    Share { of: u8, with: u8, list: u8 },
    /// And no more.
    Unshare { with: u8 },
}

/// A change, made so many minutes before it is told.
#[derive(Debug, Clone)]
pub struct Made {
    pub page: u8,
    pub kind: u8,
    pub style: Style,
    pub ago: u32,
}

/// How a datetime is written.
#[derive(Debug, Clone, Copy)]
pub enum Style {
    Month,
    Day,
    Minute,
    Second,
    /// To the second, but it is always midnight.
    Midnight,
    /// To the second, in another time zone.
    Zone,
    Fraction,
}

/// How a new list is begun.
#[derive(Debug, Clone)]
pub enum Rotation {
    /// The old list is closed, as of so many minutes ago, and stays in an index.
    Closes {
        ago: u32,
        is_date: bool,
        how: Closing,
    },
    /// The new list takes its place.
    Replaces { is_gone: bool },
}

/// Who says that a list is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    Both,
    /// The list comes from an older cache.
    IndexOnly,
}

/// What a Capability List says that it describes.
#[derive(Debug, Clone, Copy)]
pub enum Claim {
    Own,
    Nothing,
    /// What another collection is known by.
    That(u8),
}

fn any_made() -> impl Strategy<Value = Made> {
    let style = prop_oneof![
        6 => Just(Style::Second),
        6 => Just(Style::Day),
        1 => Just(Style::Minute),
        2 => Just(Style::Midnight),
        1 => Just(Style::Zone),
        1 => Just(Style::Fraction),
        1 => Just(Style::Month),
    ];
    let ago = prop_oneof![
        4 => Just(0_u32),
        2 => 0..600_u32,
        2 => 0..60_000_u32,
    ];
    (0..4_u8, 0..3_u8, style, ago).prop_map(|(page, kind, style, ago)| Made {
        page,
        kind,
        style,
        ago,
    })
}

fn any_rotation() -> impl Strategy<Value = Rotation> {
    let closing = prop_oneof![4 => Just(Closing::Both), 1 => Just(Closing::IndexOnly)];
    let closes = (
        prop_oneof![Just(0_u32), 0..6_000_u32],
        any::<bool>(),
        closing,
    )
        .prop_map(|(ago, is_date, how)| Rotation::Closes { ago, is_date, how });
    let replaces = any::<bool>().prop_map(|is_gone| Rotation::Replaces { is_gone });
    prop_oneof![4 => closes, 1 => replaces]
}

fn any_doing() -> impl Strategy<Value = Doing> {
    // Most of a history is about one collection.
    let to = || prop_oneof![3 => Just(0_u8), 1 => 0..3_u8];
    let list = || prop_oneof![Just(u8::MAX), 0..8_u8];
    prop_oneof![
        12 => (to(), any_made()).prop_map(|(to, made)| Doing::Publish { to, made }),
        4 => (to(), list(), any_made(), any::<bool>())
            .prop_map(|(to, list, made, is_told)| Doing::Insert { to, list, made, is_told }),
        2 => (to(), list(), any::<u8>(), any::<bool>())
            .prop_map(|(to, list, item, is_elsewhere)| Doing::Repeat { to, list, item, is_elsewhere }),
        4 => (to(), any_rotation()).prop_map(|(to, how)| Doing::Rotate { to, how }),
        1 => to().prop_map(|to| Doing::EndNow { to }),
        1 => to().prop_map(|to| Doing::FinishClosing { to }),
        2 => (to(), list(), 1..9_u8)
            .prop_map(|(to, list, count)| Doing::Truncate { to, list, count }),
        1 => (to(), list()).prop_map(|(to, list)| Doing::Restore { to, list }),
        1 => (to(), list(), any::<bool>())
            .prop_map(|(to, list, is_gone)| Doing::Unlist { to, list, is_gone }),
        1 => (to(), list()).prop_map(|(to, list)| Doing::Relist { to, list }),
        2 => (to(), list(), any::<u8>())
            .prop_map(|(to, list, seed)| Doing::Shuffle { to, list, seed }),
        5 => (0..12_u8, any_breakage())
            .prop_map(|(document, how)| Doing::Break { document, how }),
        2 => any::<u8>().prop_map(|document| Doing::Heal { document }),
        2 => Just(Doing::HealAll),
        2 => Just(Doing::Lie),
        1 => Just(Doing::TellTheTruth),
        1 => any_tagging().prop_map(Doing::Tag),
        1 => (-3_000..3_000_i32).prop_map(|minutes| Doing::MoveClock { minutes }),
        2 => (0..3_u8).prop_map(|collection| Doing::Add { collection }),
        1 => (0..3_u8).prop_map(|collection| Doing::Remove { collection }),
        1 => (0..3_u8).prop_map(|collection| Doing::Retitle { collection }),
        1 => (0..3_u8, prop_oneof![Just(Claim::Own), Just(Claim::Nothing), (0..3_u8).prop_map(Claim::That)])
            .prop_map(|(collection, claim)| Doing::Describe { collection, claim }),
        2 => (to(), 0..3_u8, list())
            .prop_map(|(of, with, list)| Doing::Share { of, with, list }),
        1 => (0..3_u8).prop_map(|with| Doing::Unshare { with }),
    ]
}

/// Any history of a site that begins with one collection or two, each with so many days on which something changed.
pub fn any_telling() -> impl Strategy<Value = History<Doing>> {
    let seed = prop_oneof![12 => 0..4_u8, 1 => 40..70_u8];
    let pace = Pace {
        doing: 60,
        checks: 22,
        longest: 20_000,
    };
    any_history(vec(seed, 1..3), pace, any_doing().boxed())
}
