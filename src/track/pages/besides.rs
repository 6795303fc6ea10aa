//! What a plain list tells beside sections, one of which cannot be read.
//!
//! It tells of the pages of no section. Those that the sections know are theirs to tell of, and those that were there
//! when the list was first read are nothing new; both are remembered as untold, for whoever tells of them later tells
//! something new.

use std::collections::HashSet;

use super::{Event, Note, Planning, Which};
use crate::change::ChangeKind;
use crate::memory::PageKey;

impl Planning {
    /// Whether a page is in one of the sections beside which the list is read.
    pub(super) fn is_elsewhere(&self, key: PageKey) -> bool {
        let besides = self.besides.as_ref();
        besides.is_some_and(|besides| besides.has(key))
    }

    /// The same of a page that was not known.
    pub(super) fn is_fresh_elsewhere(&self, place: usize) -> bool {
        self.besides.is_some() && self.is_elsewhere(PageKey::of(self.sighted.fresh.url(place)))
    }

    /// The first reading. The sections are known up to some time, so what came since is new.
    pub(super) fn first_besides(&mut self) -> Option<Note> {
        self.state.is_stamped = self.are_all_dates_equal();
        self.tell_stamped(self.state.is_stamped);
        for place in 0..self.sighted.fresh.len() {
            let stamp = self.sighted.fresh.stamp(place);
            let is_late = stamp.moment().is_some_and(|moment| {
                let besides = self.besides.as_ref();
                let since = besides.and_then(|besides| besides.since);
                since.is_some_and(|since| moment.may_be_after(&since))
            });
            if self.state.is_stamped || !is_late || self.is_fresh_elsewhere(place) {
                self.sighted.fresh.call_untold(place);
                continue;
            }
            self.events.push(Event {
                kind: ChangeKind::Created,
                at: self.time(stamp),
                is_inferred: true,
                page: Which::Fresh(place),
            });
        }
        self.sum_up(self.sighted.len())
    }

    /// Whoever hears of an edit knows that the page is there.
    pub(super) fn note_what_is_told(&mut self) {
        if self.besides.is_none() {
            return;
        }
        let known = &self.sighted.known;
        let places = self.events.iter().filter_map(|event| match event.page {
            Which::Known(place) => Some(place),
            Which::Fresh(_) => None,
        });
        let told: HashSet<PageKey> = places.map(|place| known.get(place).key).collect();
        for page in &mut self.writes.update {
            page.state.is_untold &= !told.contains(&page.key);
        }
    }
}
