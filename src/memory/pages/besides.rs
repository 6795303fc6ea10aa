//! What is in the sections of a site beside which a plain list is read.

use std::collections::HashSet;
use std::sync::Arc;

use super::{KnownPages, PageKey};
use crate::moment::Moment;

/// The sections of a site, one of which at least cannot be read, or could not until now.
#[derive(Debug, Clone)]
pub struct Besides {
    /// Up to when the sections are known that cannot be read, if there are any.
    pub since: Option<Moment>,
    /// The pages that they had before this check.
    pub known: Vec<Arc<KnownPages>>,
    /// Those that came to them with it.
    pub new: HashSet<PageKey>,
}

impl Besides {
    /// Whether a page is in one of the sections.
    pub fn has(&self, key: PageKey) -> bool {
        self.new.contains(&key) || self.known.iter().any(|known| known.find(key).is_some())
    }
}
