//! What a site is asked when nothing is expected to be new.
//!
//! A check in which every document is as it was changes nothing of what is remembered, so the next one would ask for the
//! same documents in the same order, and come to the same end if they answer the same. What that takes is kept apart from
//! all that is known of the site, and is far less.

use chrono::{DateTime, Utc};
use url::Url;

use super::{SiteMemory, Validators};
use crate::problem::Problem;
use crate::site::{CollectionId, SiteId, SiteUrl};

/// The documents of a site that a check asked for, all of which were as they had been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// The documents, in the order in which they were asked for.
    pub documents: Vec<Stop>,
    /// When the one was read that was read longest ago.
    pub read_at: DateTime<Utc>,
    /// The collections of which all lists are among these documents, or need no reading any more.
    pub covered: Vec<CollectionId>,
    /// What should be better.
    pub problems: Vec<Problem>,
}

/// A document in a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// The address that is asked for.
    pub url: Url,
    /// What it is asked with.
    pub validators: Validators,
}

/// What is remembered of a site before it is known whether anything there is new.
#[derive(Debug, Clone)]
pub struct RoundMemory {
    /// The site.
    pub id: SiteId,
    /// The address that was asked for.
    pub url: SiteUrl,
    /// How often it is checked at present, in seconds.
    pub interval_secs: u64,
    /// What it is asked.
    pub round: Round,
    /// When it was last asked all of that, and everything was as it had been.
    pub gone_at: Option<DateTime<Utc>>,
}

/// What is recalled of a site when it is about to be checked.
#[derive(Debug)]
pub enum Remembered {
    /// What it is asked where nothing is expected to be new; the rest is recalled if there is.
    Round(Box<RoundMemory>),
    /// Everything.
    Whole(Box<SiteMemory>),
}

impl Remembered {
    /// The site.
    pub fn id(&self) -> SiteId {
        match self {
            Remembered::Round(memory) => memory.id,
            Remembered::Whole(memory) => memory.id,
        }
    }
}

/// What a check says about the round of its site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoundRecord {
    /// There was none, and there is none.
    None,
    /// Everything in it is as it was, and its collections are covered up to the beginning of this check.
    Gone,
    /// There is one from now on, in the place of another or not.
    New(Round),
    /// There is none any more: next time the site is read from its top.
    Dropped,
}
