//! What was looked for where, and what came of it, for whoever asks why nothing better was found.

use chrono::{DateTime, Utc};
use url::Url;

use super::{ListRoot, Search, Tried};
use crate::fetch::FetchError;
use crate::load::LoadError;
use crate::read::list::READERS;
use crate::site::{Format, SiteUrl};

impl Search {
    pub(super) fn note(&mut self, format: Format, url: &Url, outcome: impl Into<String>) {
        self.tried.push(Tried {
            format,
            url: url.clone(),
            outcome: outcome.into(),
        });
    }

    /// Says of the formats that were not looked for why they were not.
    pub(super) fn note_the_others(&mut self, site: &SiteUrl, root: &ListRoot) {
        let Some(found) = root.lists.first() else {
            return;
        };
        for reader in READERS {
            if self.tried.iter().any(|tried| tried.format == reader.format) {
                continue;
            }
            let sections = root.lists.iter().flat_map(|list| &list.list.sections);
            let announced = sections.filter(|section| section.format == reader.format);
            match reader.places.first() {
                Some(place) => {
                    let words = format!("not looked for, after a {} was found", found.list.kind);
                    self.note(reader.format, &site.at_root(place), words);
                }
                None => {
                    let words = match announced.count() {
                        0 => "not announced there".to_owned(),
                        1 => "announced there: one section".to_owned(),
                        count => format!("announced there: {count} sections"),
                    };
                    self.note(reader.format, &found.url, words);
                }
            }
        }
    }

    /// Why it is no log of changes that was found; `looked_at` is when it was looked for, if that was not now.
    pub(super) fn why_nothing_better(&self, looked_at: Option<DateTime<Utc>>) -> String {
        if let Some(looked_at) = looked_at {
            let day = looked_at.format("%Y-%m-%d");
            return format!(
                "ResourceSync was last looked for on {day}, and is again about a month later"
            );
        }
        let tried = (self.tried.iter()).filter(|tried| tried.format == Format::ResourceSync);
        let places: Vec<String> = tried
            .map(|tried| format!("at {}: {}", tried.url.path(), tried.outcome))
            .collect();
        format!("ResourceSync was looked for {}", places.join("; "))
    }
}

/// What came of asking for a document, in words.
pub(super) fn outcome_of(error: Option<&LoadError>) -> String {
    match error {
        None => "found".to_owned(),
        Some(LoadError::Fetch(error)) => match **error {
            FetchError::Status { status, .. } => format!("not there ({status})"),
            _ => error.to_string(),
        },
        Some(LoadError::Broken(problem)) => problem.message.clone(),
        Some(LoadError::Limit(reason)) => reason.clone(),
        Some(LoadError::Memory) => "not read".to_owned(),
    }
}
