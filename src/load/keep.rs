//! Which changes of a list are kept while it is read: those that nobody knows yet.

use std::sync::Arc;

use super::LoadError;
use crate::change::ChangeKind;
use crate::memory::{ChangeKey, Known, Recollection};
use crate::moment::Moment;

/// Which changes of a list are kept while it is read.
#[derive(Debug, Clone, Default)]
pub struct Keep {
    /// Those that may lie after this.
    pub since: Option<Moment>,
    /// Those that are told more often than they are known here.
    pub known: Option<Recollection>,
}

impl Keep {
    /// A filter for the changes of one document.
    pub(super) async fn filter(&self) -> Result<Filter, LoadError> {
        let since = self.since;
        let known = match &self.known {
            Some(known) => known.get().await.map_err(|_| LoadError::Memory)?,
            None => Arc::default(),
        };
        let mut told = Known::default();
        Ok(Box::new(move |url, kind, datetime| {
            if since.is_some_and(|since| !datetime.may_be_after(&since)) {
                return false;
            }
            if known.is_beyond_horizon(datetime) {
                return false;
            }
            if known.is_empty() {
                return true;
            }
            let key = ChangeKey::new(url, kind, datetime);
            told.add(key) > known.times(key)
        }))
    }
}

/// Says which changes of a document are kept, when told of all of them in their order.
pub(super) type Filter = Box<dyn FnMut(&str, ChangeKind, &Moment) -> bool + Send>;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_known_or_beyond_the_horizon_is_not_kept() {
        let told = |url: &str, datetime: &str| {
            let datetime = Moment::parse(datetime).unwrap();
            (url.to_owned(), ChangeKind::Updated, datetime)
        };
        let (url, kind, datetime) = told("https://s.example/known", "2026-01-03");
        let mut known = Known::since("2026-01-01T00:00:00Z".parse().ok());
        known.add(ChangeKey::new(&url, kind, &datetime));
        let keep = Keep {
            since: None,
            known: Some(known.into()),
        };
        let mut is_kept = keep.filter().await.unwrap();
        let mut kept = |(url, kind, datetime): (String, _, _)| is_kept(&url, kind, &datetime);
        assert!(!kept((url.clone(), kind, datetime)));
        assert!(kept((url, kind, datetime)), "told more often than known");
        assert!(!kept(told("https://s.example/old", "2025-12-31")));
        assert!(!kept(told("https://s.example/then", "2026-01-01")));
        assert!(kept(told("https://s.example/new", "2026-01-02")));
    }
}
