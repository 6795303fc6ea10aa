//! A site is asked what it was asked last time, before anybody recalls what is known of it.
//!
//! If all documents are as they were, that is all. If one is not, what was answered so far is handed to the [`Loader`] that
//! reads the site from its top, so that nothing is asked twice.
//!
//! [`Loader`]: super::Loader

use std::time::Duration;

use chrono::{DateTime, Utc};
use url::Url;

use super::error::LoadError;
use super::{Limits, Progress, TRUST_UNCHANGED, earlier};
use crate::fetch::{Answer, Errand, Fetched, Fetcher, Limit, Request};
use crate::memory::Round;

/// What came of a round.
#[derive(Debug)]
pub enum Lap {
    /// Every document is as it was. For so long the servers promise that it stays so.
    AsBefore(Option<Duration>),
    /// Something is not.
    Otherwise(Ahead),
}

/// Answers that came ahead of whoever will want them.
#[derive(Debug)]
pub struct Ahead {
    errand: Errand,
    answers: Vec<(Url, Result<Fetched, LoadError>)>,
}

impl Ahead {
    /// No answers yet; what is asked is a part of `errand`.
    pub fn new(errand: &Errand) -> Self {
        Ahead {
            errand: errand.clone(),
            answers: Vec::new(),
        }
    }

    /// The work that all of this is a part of.
    pub fn errand(&self) -> &Errand {
        &self.errand
    }

    /// The answer to a request, if it came.
    pub(super) fn take(&mut self, request: &Request) -> Option<Result<Fetched, LoadError>> {
        let mut answers = self.answers.iter();
        let place = answers.position(|(url, _)| *url == request.url)?;
        let (_, answer) = self.answers.swap_remove(place);
        let is_unchanged = |fetched: &Fetched| matches!(fetched.answer, Answer::NotModified);
        // That nothing has changed is no answer to those who did not ask for that.
        let is_wanted = request.validators.is_some() || !answer.as_ref().is_ok_and(is_unchanged);
        is_wanted.then_some(answer)
    }

    /// Whether the answer of a document came.
    pub(super) fn knows(&self, url: &Url) -> bool {
        self.answers.iter().any(|(known, _)| known == url)
    }

    /// Lets go of what nobody wanted: a body holds the turn of its host.
    pub(super) fn forget(&mut self) {
        self.answers.clear();
    }
}

/// Asks for everything in a round, until something is not as it was, as a part of `errand`.
pub async fn go_round(
    errand: &Errand,
    fetcher: &Fetcher,
    round: &Round,
    limits: &Limits,
    now: DateTime<Utc>,
    progress: &Progress,
) -> Lap {
    let is_trusted = round.read_at + TRUST_UNCHANGED > now;
    if !is_trusted || round.documents.len() > limits.documents as usize {
        return Lap::Otherwise(Ahead::new(errand));
    }
    let mut fresh_for = None;
    let mut ahead = Ahead::new(errand);
    for stop in &round.documents {
        progress(&stop.url);
        let mut request = Request::new(stop.url.clone(), Limit::Document).on(errand);
        request.validators = Some(stop.validators.clone());
        let answer = fetcher.get(request).await.map_err(LoadError::from);
        let is_unchanged = match &answer {
            Ok(fetched) => {
                fresh_for = earlier(fresh_for, fetched.fresh_for);
                matches!(fetched.answer, Answer::NotModified)
            }
            Err(_) => false,
        };
        ahead.answers.push((stop.url.clone(), answer));
        if !is_unchanged {
            return Lap::Otherwise(ahead);
        }
    }
    Lap::AsBefore(fresh_for)
}
