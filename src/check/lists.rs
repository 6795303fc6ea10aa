//! The changes of one collection, gathered from lists that may overlap.

use std::collections::HashMap;

use url::Url;

use crate::change::{Change, ChangeKind};
use crate::moment::Moment;

/// The changes of one collection, gathered from its lists.
pub(super) struct Lists {
    /// The collection.
    pub(super) home: Url,
    /// The lists that were read.
    pub(super) urls: Vec<Url>,
    /// How far back they reach.
    pub(super) horizon: Option<Moment>,
    /// What they tell, in the order of the lists, each list oldest first.
    pub(super) changes: Vec<Change>,
    /// How often each change was told by the list that told it most often.
    told: HashMap<(String, ChangeKind, Moment), usize>,
}

impl Lists {
    /// None yet, of the collection at `home`.
    pub(super) fn of(home: &Url) -> Lists {
        Lists {
            home: home.clone(),
            urls: Vec::new(),
            horizon: None,
            changes: Vec::new(),
            told: HashMap::new(),
        }
    }

    /// Lists overlap: a change that two of them tell happened once, one that a single list tells twice happened twice.
    pub(super) fn add(&mut self, changes: &[Change], newest_first: bool) {
        let mut here: HashMap<(&str, ChangeKind, Moment), usize> = HashMap::new();
        let mut ordered: Vec<&Change> = changes.iter().collect();
        if newest_first {
            ordered.reverse();
        }
        for change in ordered {
            let count = here
                .entry((&change.url, change.kind, change.datetime))
                .or_default();
            *count += 1;
            let told = self
                .told
                .entry((change.url.clone(), change.kind, change.datetime))
                .or_default();
            if *count > *told {
                *told = *count;
                self.changes.push(change.clone());
            }
        }
    }
}
