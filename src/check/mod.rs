//! One reading of a site, from what a person typed down to its changes.
//!
//! [`check_site`] finds the root document, walks from there to every Change List, and gives titles to what it found.
//! It knows no database and no clock of its own: what is new is decided elsewhere, from what this returns.

mod lists;
mod page_title;
mod pages;
pub mod rules;
mod sections;
mod titles;
mod walk;

use std::time::Duration;

use chrono::{DateTime, Utc};
use url::Url;

pub use self::page_title::page_title;
use crate::change::Change;
pub use crate::discover::DiscoverError as CheckError;
pub use crate::discover::Tried;
use crate::discover::{Discovery, Found, discover};
use crate::fetch::{Errand, FetchError, Fetcher};
pub use crate::load::{Ahead, Lap, go_round};
use crate::load::{Limits, Loaded, Loader, Progress};
use crate::memory::{Besides, DocumentMemory, ListMemory, Sighted, SiteMemory, Stop};
use crate::moment::Moment;
use crate::problem::Problem;
use crate::read::resourcesync::ReadingRules;
use crate::site::{About, CollectionId, Format, SiteUrl};
use crate::text::address::parse_near;

/// How to read a site.
#[derive(Debug, Clone, Default)]
pub struct CheckSettings {
    /// The bounds.
    pub limits: Limits,
    /// Takes `lastmod` for the time of a change that has no `datetime`.
    pub accept_lastmod: bool,
    /// Only changes that may lie after this, and only the lists that may hold such.
    pub since: Option<Moment>,
}

/// What a check found.
#[derive(Debug)]
pub struct Checked {
    /// The site.
    pub site: SiteReading,
    /// Its collections, in the order in which the site lists them.
    pub collections: Vec<CollectionReading>,
    /// What should be better.
    pub problems: Vec<Problem>,
    /// Whether everything could be read that should be.
    pub is_complete: bool,
    /// Requests that were made.
    pub requests: u32,
    /// Bytes that came over the network.
    pub bytes: u64,
    /// Documents whose bodies were read, to be remembered.
    pub documents: Vec<(Url, DocumentMemory)>,
    /// Documents of which nothing need be remembered any more.
    pub out_of_use: Vec<Url>,
    /// How long the servers promise that nothing changes.
    pub fresh_for: Option<Duration>,
    /// The documents that were asked for, and when the oldest of them was read, if all of them are as they were.
    pub round: Option<(Vec<Stop>, DateTime<Utc>)>,
}

/// A site as it was read.
#[derive(Debug)]
pub struct SiteReading {
    /// The address that was asked for, made whole.
    pub url: Url,
    /// The document that describes it, if there is one.
    pub root: Option<Url>,
    /// The address at which that document was found; it may redirect.
    pub root_asked: Option<Url>,
    /// The format of that document.
    pub format: Option<Format>,
    /// Where which formats were looked for, and what came of it.
    pub tried: Vec<Tried>,
    /// Whether all formats were looked for in this check.
    pub is_anew: bool,
    /// What the site is called: by itself, or else by its address.
    pub title: String,
    /// What it says about itself.
    pub about: About,
    /// Where it is described for people, in the words of the source.
    pub described_by: Option<Url>,
}

/// A collection as it was read.
#[derive(Debug)]
pub struct CollectionReading {
    /// The collection that it is remembered as.
    pub known_as: Option<CollectionId>,
    /// The address that identifies it.
    pub id: Url,
    /// What it is called: by itself, or else by its address.
    pub title: String,
    /// What it says about itself.
    pub about: About,
    /// Where it is described for people, in the words of the source.
    pub described_by: Option<Url>,
    /// Its Capability List; none where a Change List is all there is.
    pub capability_list: Option<Url>,
    /// The Change Lists that were read, indexes left out.
    pub change_lists: Vec<Url>,
    /// What to remember of the lists.
    pub lists: Vec<ListMemory>,
    /// How far back the lists reach, as far as they say.
    pub horizon: Option<Moment>,
    /// The same, if all of them say so.
    pub covers_from: Option<Moment>,
    /// The newest change here that does not lie in the future.
    pub last_processed: Option<Moment>,
    /// Whether all lists could be read.
    pub is_complete: bool,
    /// The changes that are not known, oldest first.
    pub changes: Vec<Change>,
    /// Whether the collection is on the site that describes it; otherwise this is only a claim.
    pub is_own: bool,
    /// Its pages, if it lists pages and not changes.
    pub pages: Option<PagesReading>,
    /// What is to be said before its changes, if they were made from its pages.
    pub note: Option<String>,
    /// How many pages it has, if they are listed and were counted.
    pub page_count: Option<usize>,
}

/// The pages of a collection, as they were read.
#[derive(Debug)]
pub struct PagesReading {
    /// The pages; none if every document is as it was, and so is every page.
    pub sighted: Option<Sighted>,
    /// The document that gives the pages their titles, if the site names one beside its lists.
    pub titles: Option<Url>,
    /// When the list was made, if it says so.
    pub made_at: Option<Moment>,
    /// The document at its top.
    pub document: Url,
    /// Since when the lists of a section cannot be read, if they cannot.
    pub broken_since: Option<DateTime<Utc>>,
    /// Since when another section of the site cannot be read that never was, if there is one.
    pub unread_beside_since: Option<DateTime<Utc>>,
    /// Whether the pages are those of plain lists in their place.
    pub is_stand_in: bool,
    /// The sections beside which a plain list is read, if it is.
    pub besides: Option<Besides>,
}

/// Reads a site once, with what is remembered of it. `now` decides which changes lie in the future.
pub async fn check_site(
    fetcher: &Fetcher,
    site: &SiteUrl,
    memory: Option<&SiteMemory>,
    settings: &CheckSettings,
    now: DateTime<Utc>,
    progress: Progress,
) -> Result<Checked, CheckError> {
    let errand = Errand::new(settings.limits.bytes, settings.limits.time);
    check_site_on(
        Ahead::new(&errand),
        fetcher,
        site,
        memory,
        settings,
        now,
        progress,
    )
    .await
}

/// The same, with what the site has answered already, on the same errand as that.
pub async fn check_site_on(
    ahead: Ahead,
    fetcher: &Fetcher,
    site: &SiteUrl,
    memory: Option<&SiteMemory>,
    settings: &CheckSettings,
    now: DateTime<Utc>,
    progress: Progress,
) -> Result<Checked, CheckError> {
    let errand = ahead.errand().clone();
    match check_address(ahead, fetcher, site, memory, settings, now, &progress).await {
        // Small sites are not always on https, and people do not type schemes.
        Err(CheckError::Unreachable(error)) if speaks_no_https(&error) => match site.over_http() {
            Some(plain) => {
                let anew = Ahead::new(&errand);
                check_address(anew, fetcher, &plain, memory, settings, now, &progress)
                    .await
                    // What is wrong with https is the better answer of the two.
                    .map_err(|_| CheckError::Unreachable(error))
            }
            None => Err(CheckError::Unreachable(error)),
        },
        result => result,
    }
}

fn speaks_no_https(error: &FetchError) -> bool {
    matches!(
        error,
        FetchError::Connect { .. } | FetchError::Tls { .. } | FetchError::Timeout { .. }
    )
}

async fn check_address(
    ahead: Ahead,
    fetcher: &Fetcher,
    site: &SiteUrl,
    memory: Option<&SiteMemory>,
    settings: &CheckSettings,
    now: DateTime<Utc>,
    progress: &Progress,
) -> Result<Checked, CheckError> {
    let rules = ReadingRules {
        accept_lastmod: settings.accept_lastmod,
    };
    let mut loader = Loader::new(
        ahead,
        fetcher,
        site.url().clone(),
        memory,
        settings.limits,
        rules,
        now,
        progress.clone(),
    );
    let Discovery {
        found,
        tried,
        is_anew,
    } = discover(&mut loader, site, memory, now).await?;
    let mut root = None;
    let (mut collections, is_complete) = match found {
        Some(Found::Log(found)) => {
            loader.settle_at(&found.loaded.url);
            root = Some(Top {
                asked: found.loaded.asked.clone(),
                url: found.loaded.url.clone(),
                format: Format::ResourceSync,
                described_by: described_by(&found.loaded),
                about: About::default(),
            });
            let walked = walk::walk(&mut loader, &found, memory, settings.since, now).await;
            if walked.1 {
                loader.forget_lists_not_asked_for();
            }
            walked
        }
        Some(Found::Lists(found)) => {
            let walked = pages::walk(&mut loader, site, found, memory, now).await;
            loader.forget_parts_beyond_bounds();
            root = Some(walked.top);
            (walked.collections, walked.is_complete)
        }
        None => (Vec::new(), false),
    };
    let about = titles::find(&mut loader, site, root.as_ref(), memory, &mut collections).await;
    let site = SiteReading {
        url: site.url().clone(),
        root: root.as_ref().map(|root| root.url.clone()),
        root_asked: root.as_ref().map(|root| root.asked.clone()),
        format: root.as_ref().map(|root| root.format),
        tried,
        is_anew,
        title: about
            .title
            .clone()
            .unwrap_or_else(|| titles::fallback(&site.at_root("/"))),
        about,
        described_by: root.and_then(|root| root.described_by),
    };
    let out_of_use = loader.out_of_use(|| documents_of(memory, &collections));
    let (requests, bytes) = (loader.requests(), loader.bytes());
    let round = loader.round();
    Ok(Checked {
        site,
        collections,
        problems: loader.problems.into_vec(),
        is_complete,
        requests,
        bytes,
        documents: loader.documents_read,
        out_of_use,
        fresh_for: loader.fresh_for,
        round,
    })
}

/// The documents that collections have, whether they were read this time or not.
fn documents_of(memory: Option<&SiteMemory>, collections: &[CollectionReading]) -> Vec<Url> {
    let root = memory.and_then(|memory| memory.root.as_ref());
    let known = memory.into_iter().flat_map(|memory| &memory.collections);
    let known = known.flat_map(|known| {
        let lists = known.lists.iter().map(|list| &list.url);
        lists.chain(&known.capability_list)
    });
    let read = collections.iter().flat_map(|read| &read.lists);
    let all = root
        .into_iter()
        .chain(known)
        .chain(read.map(|list| &list.url));
    all.cloned().collect()
}

/// The document at the top of a site, whatever its format.
struct Top {
    /// The address that was asked for.
    asked: Url,
    /// The address that answered.
    url: Url,
    format: Format,
    /// Where the site is described for people.
    described_by: Option<Url>,
    /// What the document itself says about the site.
    about: About,
}

fn described_by(loaded: &Loaded) -> Option<Url> {
    let href = loaded.reading.document.link("describedby")?;
    parse_near(href, &loaded.url)
}
