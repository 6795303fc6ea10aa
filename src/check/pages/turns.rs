//! Which document of a long list is read next.
//!
//! A check may end before all parts of an index are read: by its own limits, or because the host has had enough. So the
//! parts go round: the next check begins where this one ended, and every part has its turn sooner or later. What may be
//! new does not wait that long; but as nobody can rely on the dates of an index, it never takes more than every other
//! place.

use std::cmp::Reverse;

use url::Url;

use super::Walk;
use crate::fetch::FetchError;
use crate::load::LoadError;
use crate::memory::part_of;
use crate::moment::Moment;

/// A document that is to be read.
pub(super) struct Due {
    pub(super) url: Url,
    pub(super) listed_in: Url,
    pub(super) depth: usize,
    /// When it was last modified, as its list says.
    pub(super) lastmod: Option<Moment>,
    /// As in [`crate::read::list::Part`].
    pub(super) is_doubtful: bool,
}

impl Due {
    /// A document at the top.
    pub(super) fn new(url: &Url, listed_in: &Url) -> Due {
        Due {
            url: url.clone(),
            listed_in: listed_in.clone(),
            depth: 0,
            lastmod: None,
            is_doubtful: false,
        }
    }
}

impl Walk<'_, '_> {
    /// What is read now, in this order, and what has to wait until that is done. Indexes come first, so that the parts of
    /// all of them go round together.
    pub(super) fn next_of(&self, queue: Vec<Due>) -> (Vec<Due>, Vec<Due>) {
        let is_index = |due: &Due| self.loader.had_parts(&due.url);
        let (indexes, others): (Vec<Due>, Vec<Due>) = queue.into_iter().partition(is_index);
        match indexes.is_empty() {
            true => (self.in_order(others), Vec::new()),
            false => (indexes, others),
        }
    }

    /// Those whose turn it is, and between them those that may be new; otherwise as they are listed.
    fn in_order(&self, mut all: Vec<Due>) -> Vec<Due> {
        if let Some(turn) = self.turn {
            all.sort_by_cached_key(|due| steps(turn, part_of(due.url.as_str())));
        }
        let mut ranks: Vec<usize> = (0..all.len()).map(|place| 2 * place + 1).collect();
        for (rank, place) in self.may_be_new(&all).into_iter().enumerate() {
            ranks[place] = ranks[place].min(2 * rank);
        }
        let mut ranked: Vec<(usize, Due)> = ranks.into_iter().zip(all).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        ranked.into_iter().map(|(_, due)| due).collect()
    }

    /// The places of those that were never read, and then of those that changed since, the latest first.
    fn may_be_new(&self, all: &[Due]) -> Vec<usize> {
        let mut new: Vec<(bool, usize)> = (all.iter().enumerate())
            .filter_map(|(place, due)| match self.loader.last_read_at(&due.url) {
                None => Some((false, place)),
                Some(read_at) => {
                    let is_later = |lastmod: Moment| lastmod.latest() > read_at;
                    due.lastmod.is_some_and(is_later).then_some((true, place))
                }
            })
            .collect();
        new.sort_by_key(|&(was_read, place)| {
            let lastmod = all[place].lastmod.map(|lastmod| lastmod.start());
            (was_read, Reverse(lastmod))
        });
        new.into_iter().map(|(_, place)| place).collect()
    }

    /// Remembers where the next reading has to begin, if a document was not even asked for.
    pub(super) fn put_off(&mut self, due: &Due, error: &LoadError) {
        if !is_put_off(error) {
            return;
        }
        let turn = self.turn.unwrap_or_default();
        let all = self
            .sighted
            .turn
            .into_iter()
            .chain([part_of(due.url.as_str())]);
        self.sighted.turn = all.min_by_key(|part| steps(turn, *part));
    }
}

/// How far a document is from the one whose turn it is. They go round in the order of their hashes, which stays the same
/// when others come and go.
fn steps(turn: u32, part: u32) -> u32 {
    part.wrapping_sub(turn)
}

/// Whether a document could not be read for a reason that is not its own.
fn is_put_off(error: &LoadError) -> bool {
    match error {
        LoadError::Limit(_) => true,
        LoadError::Fetch(error) => matches!(
            **error,
            FetchError::HostAskedForPeace { .. } | FetchError::Status { status: 429, .. }
        ),
        LoadError::Broken(_) | LoadError::Memory => false,
    }
}
