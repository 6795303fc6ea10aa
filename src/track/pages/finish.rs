//! What was decided, with the addresses of the pages that it is about.

use std::collections::HashMap;

use super::{Event, Plan, TrackedPages, Which};
use crate::change::{Change, Details};
use crate::memory::{Extra, NewEntry, PageKey, PageWrites};
use crate::moment::Moment;
use crate::track::made_at;

impl Plan {
    /// The pages whose addresses are needed.
    pub fn wanted(&self) -> Vec<PageKey> {
        let known = self.events.iter().filter_map(|event| match event.page {
            Which::Known(place) => Some(self.sighted.known.get(place).key),
            Which::Fresh(_) => None,
        });
        known.collect()
    }

    /// What to announce and to remember, with the addresses of the [`Plan::wanted`] pages.
    pub fn finish(
        self,
        last_processed: Option<Moment>,
        urls: &HashMap<PageKey, String>,
    ) -> TrackedPages {
        let mut changes: Vec<(bool, Change)> = (self.events.iter().enumerate())
            .filter_map(|(number, event)| {
                let (url, extra) = match event.page {
                    Which::Fresh(place) => (
                        self.sighted.fresh.url(place).to_owned(),
                        self.sighted.fresh.extra(place),
                    ),
                    Which::Known(place) => (
                        urls.get(&self.sighted.known.get(place).key)?.clone(),
                        self.sighted.extra(place),
                    ),
                };
                let is_for_site = !self.apart.contains(&number);
                Some((is_for_site, change(url, event, extra)))
            })
            .collect();
        changes.sort_by(|(_, one), (_, other)| {
            let key = |change: &Change| (change.datetime.start(), change.kind);
            key(one)
                .cmp(&key(other))
                .then_with(|| one.url.cmp(&other.url))
        });
        let newest = changes.iter().map(|(_, change)| change.datetime);
        let last_processed = newest
            .filter(|moment| moment.start() <= self.now)
            .chain(last_processed)
            .max();
        let (for_site, apart): (Vec<_>, Vec<_>) = changes.into_iter().partition(|(is, _)| *is);
        let entries = [(true, for_site), (false, apart)].into_iter();
        let entries = entries.map(|(is_for_site, changes)| {
            self.entry(
                is_for_site,
                changes.into_iter().map(|(_, change)| change).collect(),
            )
        });
        let mut entries: Vec<NewEntry> = entries.flatten().collect();
        entries.sort_by_key(|entry| entry.updated_at);
        TrackedPages {
            entries,
            last_processed,
            state: self.state,
            writes: PageWrites {
                remove: self.writes.remove,
                forget: self.writes.forget,
                silence: self.writes.silence,
                update: self.writes.update,
                insert: self.sighted.fresh,
            },
            problems: self.problems,
        }
    }

    fn entry(&self, is_for_site: bool, changes: Vec<Change>) -> Option<NewEntry> {
        let last = changes.last()?;
        // A feed that starts with old pages says when they changed, and not that they were found.
        let updated_at = match self.is_first {
            true => made_at(&last.datetime, self.now),
            false => self.now,
        };
        let note = self.note.as_ref().map(|note| match note.is_cut {
            true => format!("{} The last {} are listed.", note.text, changes.len()),
            false => note.text.clone(),
        });
        Some(NewEntry {
            updated_at,
            changes,
            note,
            is_for_site,
        })
    }
}

fn change(url: String, event: &Event, extra: Option<&Extra>) -> Change {
    let details = Details {
        canonical: extra.and_then(|extra| extra.canonical.clone()),
        summary: extra.and_then(|extra| extra.summary.clone()),
        author: extra.and_then(|extra| extra.author.clone()),
        language: extra.and_then(|extra| extra.language.clone()),
        tags: extra.map(|extra| extra.tags.clone()).unwrap_or_default(),
        is_inferred: event.is_inferred,
        is_stated: !event.is_inferred,
        ..Details::default()
    };
    Change {
        url,
        kind: event.kind,
        datetime: event.at,
        title: extra.and_then(|extra| extra.title.clone()),
        details,
    }
}
