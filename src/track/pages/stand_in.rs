//! What a plain list tells in the place of a section that cannot be read.
//!
//! It need not have the pages of the section, nor date them in the same way. So it only tells which of the known pages
//! were edited, and leaves no trace that would hide something once the section can be read again: by this list no page
//! comes or goes, and dates that may be those of a build are not even remembered.

use chrono::{DateTime, Utc};

use super::{ListFinding, Plan, Planning, Which, kept, usual};
use crate::memory::{ListState, PageTable};

/// Decides what is new by a list that stands in for that of which `state` is remembered.
pub fn plan_stand_in(state: &ListState, finding: ListFinding, now: DateTime<Utc>) -> Plan {
    let mut planning = Planning::new(Some(state), finding, now);
    let updates = planning.find_updates();
    match planning.state.is_stamped || updates.len() > usual(planning.count_known()) {
        true => planning.events.clear(),
        false => planning.keep_dates(),
    }
    planning.sighted.fresh = PageTable::default();
    planning.state = state.clone();
    planning.plan(false, None)
}

impl Planning {
    /// Remembers the new dates of the pages that were edited.
    fn keep_dates(&mut self) {
        for event in &self.events {
            let Which::Known(place) = event.page else {
                continue;
            };
            let mut page = self.sighted.known.get(place);
            page.stamp = kept(page.stamp, self.sighted.other[&place].stamp, self.now);
            self.writes.update.push(page);
        }
    }
}
