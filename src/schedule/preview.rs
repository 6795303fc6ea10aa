//! What following a site would start with, for those who only look.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use crate::check::Checked;
use crate::moment::Moment;
use crate::track::pages::{ListFinding, plan};

/// Where a site lists its pages, lets the entry that its feed would start with stand for its changes.
pub fn preview(checked: &mut Checked, since: Option<Moment>, now: DateTime<Utc>) {
    for collection in &mut checked.collections {
        let Some(pages) = collection.pages.take() else {
            continue;
        };
        let finding = ListFinding {
            // Nobody who only looks remembers anything, so it was read.
            sighted: pages.sighted.unwrap_or_default(),
            is_complete: collection.is_complete,
            titles: None,
            besides: None,
            made_at: pages.made_at,
            document: pages.document,
        };
        let tracked = plan(None, finding, now).finish(None, &HashMap::new());
        checked.problems.extend(tracked.problems);
        collection.last_processed = tracked.last_processed;
        if let Some(entry) = tracked.entries.into_iter().next() {
            collection.changes = entry.changes;
            collection.note = entry.note;
        }
        if let Some(since) = since {
            collection
                .changes
                .retain(|change| change.datetime.may_be_after(&since));
        }
        collection.page_count = Some(tracked.writes.insert.len());
    }
}
