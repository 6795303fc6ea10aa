//! What can happen in a history, and any history made of it.
//!
//! Every step can be taken at any time; a step that makes no sense at that time changes nothing. So histories can be
//! made shorter by leaving out steps, whatever the others are.

use std::fmt::Debug;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// A site from its beginning on. What it does is another thing for every kind of site.
#[derive(Debug, Clone)]
pub struct History<D> {
    /// What it begins with.
    pub seeds: Vec<u8>,
    pub tagging: Tagging,
    pub steps: Vec<Step<D>>,
}

#[derive(Debug, Clone)]
pub enum Step<D> {
    /// The site does something.
    Site(D),
    /// It is checked so many minutes later.
    Check { after: u32 },
    /// The same, and the site does something before it answers this request.
    CheckDuring { after: u32, request: u8, doing: D },
    /// The same, and the check is saved a second time.
    CheckTwice { after: u32 },
    /// The same, but the process dies while it waits for the answer to this request.
    Crash { after: u32, request: u8 },
    /// The same, but the process dies when everything is read and nothing saved.
    CrashUnsaved { after: u32 },
    /// The service stops in good order, or is killed, and starts again.
    Restart { is_killed: bool },
    /// The oldest changes are forgotten.
    Prune { keep: u8 },
    /// The operator removes the site, and somebody adds it again.
    RemoveSite,
}

/// What can be wrong with a document.
#[derive(Debug, Clone, Copy)]
pub enum Breakage {
    Status(u16),
    Malformed,
    /// The connection ends before the document does.
    CutOff,
    /// The document ends before it should.
    HalfWritten,
    /// A page of somebody else.
    Parked,
    Empty,
    /// Nothing is wrong: it is only elsewhere.
    Moved,
}

/// What can be asked "has it changed?" with.
#[derive(Debug, Clone, Copy)]
pub enum Tagging {
    Nothing,
    Tag,
    Date,
    Both,
}

pub fn any_tagging() -> impl Strategy<Value = Tagging> {
    select(vec![
        Tagging::Both,
        Tagging::Tag,
        Tagging::Date,
        Tagging::Nothing,
    ])
}

pub fn any_breakage() -> impl Strategy<Value = Breakage> {
    select(vec![
        Breakage::Status(404),
        Breakage::Status(500),
        Breakage::Status(410),
        Breakage::Status(403),
        Breakage::Status(429),
        Breakage::Malformed,
        Breakage::CutOff,
        Breakage::HalfWritten,
        Breakage::Parked,
        Breakage::Empty,
        Breakage::Moved,
    ])
}

/// How a history of some kind of site goes.
pub struct Pace {
    /// How often the site does something, of a hundred steps.
    pub doing: u32,
    /// How often it is checked.
    pub checks: u32,
    /// The longest time between two checks, in minutes.
    pub longest: u32,
}

fn any_step<D: Debug + Clone + 'static>(
    pace: Pace,
    doing: BoxedStrategy<D>,
) -> impl Strategy<Value = Step<D>> {
    let after = || {
        prop_oneof![
            3 => 1..120_u32,
            3 => 120..3_000_u32,
            1 => 3_000..pace.longest,
        ]
    };
    prop_oneof![
        pace.doing => doing.clone().prop_map(Step::Site),
        pace.checks => after().prop_map(|after| Step::Check { after }),
        6 => (after(), 0..9_u8, doing)
            .prop_map(|(after, request, doing)| Step::CheckDuring { after, request, doing }),
        2 => after().prop_map(|after| Step::CheckTwice { after }),
        5 => (after(), 0..12_u8).prop_map(|(after, request)| Step::Crash { after, request }),
        2 => after().prop_map(|after| Step::CrashUnsaved { after }),
        2 => any::<bool>().prop_map(|is_killed| Step::Restart { is_killed }),
        2 => (0..70_u8).prop_map(|keep| Step::Prune { keep }),
        1 => Just(Step::RemoveSite),
    ]
}

/// Any history of a site that begins with any of these, and does any of that.
pub fn any_history<D: Debug + Clone + 'static>(
    seeds: impl Strategy<Value = Vec<u8>>,
    pace: Pace,
    doing: BoxedStrategy<D>,
) -> impl Strategy<Value = History<D>> {
    (seeds, any_tagging(), vec(any_step(pace, doing), 1..28)).prop_map(|(seeds, tagging, steps)| {
        History {
            seeds,
            tagging,
            steps,
        }
    })
}
