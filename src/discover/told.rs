//! What was looked for where, and what came of it, for whoever asks why nothing better was found.

use chrono::{DateTime, Utc};
use url::Url;

use super::{Search, Tried};
use crate::fetch::FetchError;
use crate::load::{LoadError, LoadedList};
use crate::read::list::{PLAIN, READERS};
use crate::site::{Format, SiteUrl};

impl Search {
    pub(super) fn note(&mut self, format: Format, url: &Url, outcome: impl Into<String>) {
        self.tried.push(Tried {
            format,
            url: url.clone(),
            outcome: outcome.into(),
        });
    }

    /// Says of the formats that were not looked for why they were not; `lists` are those that were found.
    pub(super) fn note_the_others(&mut self, site: &SiteUrl, lists: &[LoadedList]) {
        for reader in READERS {
            if self.tried.iter().any(|tried| tried.format == reader.format) {
                continue;
            }
            let place = reader.places.first().map(|place| site.at_root(place));
            let (url, words) = match (place, lists.first()) {
                (Some(place), Some(found)) => {
                    let words = format!("not looked for, after a {} was found", found.list.kind);
                    (place, words)
                }
                (Some(place), None) => {
                    let words = "not looked for, after a document that cannot be read";
                    (place, words.to_owned())
                }
                (None, Some(found)) => (found.url.clone(), announced(reader.format, lists)),
                (None, None) => {
                    let words = "no sitemap was read that could announce it";
                    (site.at_root(PLAIN.places[0]), words.to_owned())
                }
            };
            self.note(reader.format, &url, words);
        }
    }

    /// Why nothing better than `format` was found; `looked_at` is when it was looked for, if that was not now.
    pub(super) fn why_nothing_better(
        &self,
        format: Format,
        looked_at: Option<DateTime<Utc>>,
    ) -> String {
        if let Some(looked_at) = looked_at {
            let day = looked_at.format("%Y-%m-%d");
            return format!(
                "ResourceSync and the other better formats were last looked for on {day}, and are again about a month later"
            );
        }
        let tried = (self.tried.iter()).filter(|tried| tried.format == Format::ResourceSync);
        let places = tried.map(|tried| format!("at {}: {}", tried.url.path(), tried.outcome));
        let first = places.collect::<Vec<_>>().join("; ");
        let others = self.why_no_other(format).into_iter();
        let others = others.map(|(outcome, formats)| {
            let titles: Vec<&str> = formats.into_iter().map(Format::title).collect();
            format!("; {}: {outcome}", titles.join(" and "))
        });
        format!(
            "ResourceSync was looked for {first}{}",
            others.collect::<String>()
        )
    }

    /// What came last of looking for the other formats that are better, and for which of them.
    fn why_no_other(&self, format: Format) -> Vec<(&str, Vec<Format>)> {
        let mut outcomes: Vec<(&str, Vec<Format>)> = Vec::new();
        let others = Format::ALL.iter().skip(1);
        for other in others.filter(|other| other.is_better_than(format)) {
            let mut tried = self.tried.iter().rev();
            let Some(tried) = tried.find(|tried| tried.format == *other) else {
                continue;
            };
            match outcomes
                .iter_mut()
                .find(|(outcome, _)| *outcome == tried.outcome)
            {
                Some((_, formats)) => formats.push(*other),
                None => outcomes.push((&tried.outcome, vec![*other])),
            }
        }
        outcomes
    }
}

/// What some lists offer in a format that has no place of its own.
fn announced(format: Format, lists: &[LoadedList]) -> String {
    let sections = lists.iter().flat_map(|list| &list.list.sections);
    match sections.filter(|section| section.format == format).count() {
        0 => "not announced there".to_owned(),
        1 => "announced there: one section".to_owned(),
        count => format!("announced there: {count} sections"),
    }
}

/// What came of asking for a document, in words.
pub(super) fn outcome_of(error: Option<&LoadError>) -> String {
    match error {
        None => "found".to_owned(),
        Some(LoadError::Fetch(error)) => match **error {
            FetchError::Status {
                status: status @ (404 | 410),
                ..
            } => format!("not there ({status})"),
            FetchError::Status { status, .. } => format!("it could not be looked at ({status})"),
            _ => error.to_string(),
        },
        Some(LoadError::Broken(problem)) => problem.message.clone(),
        Some(LoadError::Limit(reason)) => reason.clone(),
        Some(LoadError::Memory) => "not read".to_owned(),
    }
}
