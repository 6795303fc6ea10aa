//! What is remembered of a site between two checks, and what one check adds to it.
//!
//! Plain data, in the words of the glossary: the check reads it, tracking decides on it, the store keeps it. None of
//! them needs to know the others.

mod pages;
mod round;

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use chrono::{DateTime, Utc};
use siphasher::sip128::{Hasher128, SipHasher13};
use tokio::sync::OnceCell;
use url::Url;

pub use self::pages::{
    Besides, Extra, KnownPage, KnownPages, PageKey, PageState, PageTable, PageWrites, Sheet, Sight,
    Sighted, Stamp, part_of,
};
pub use self::round::{Remembered, Round, RoundMemory, RoundRecord, Stop};
use crate::change::{Change, ChangeKind};
use crate::moment::Moment;
use crate::problem::Problem;
use crate::site::{About, CollectionId, Format, SiteId, SiteStatus, SiteUrl};

/// What is remembered of a site.
#[derive(Debug, Clone)]
pub struct SiteMemory {
    /// The site.
    pub id: SiteId,
    /// The address that was asked for.
    pub url: SiteUrl,
    /// The root document, once it was found.
    pub root: Option<Url>,
    /// Its format.
    pub format: Option<Format>,
    /// When all formats were last looked for.
    pub looked_at: Option<DateTime<Utc>>,
    /// What the site is called.
    pub title: Option<String>,
    /// What the site said about itself.
    pub about: About,
    /// Where it is described.
    pub described_by: Option<Url>,
    /// How things stand.
    pub status: SiteStatus,
    /// How often it is checked at present, in seconds.
    pub interval_secs: u64,
    /// Checks in a row that failed.
    pub failures: u32,
    /// Documents that were read, by the address that was asked for.
    pub documents: HashMap<Url, DocumentMemory>,
    /// Its collections.
    pub collections: Vec<CollectionMemory>,
    /// Whether a round is kept of it.
    pub has_round: bool,
}

impl SiteMemory {
    /// Whether its root document describes changes, and not only pages.
    pub fn has_log(&self) -> bool {
        self.format
            .is_none_or(|format| format == Format::ResourceSync)
    }

    /// Why something of this could not be recalled when it was needed. Whatever was concluded then is worth nothing.
    pub fn failure(&self) -> Option<RecallError> {
        let failures = |collection: &CollectionMemory| {
            let pages = collection.pages.as_ref();
            let of_pages = pages.and_then(|pages| pages.known.failure());
            collection.known.failure().or(of_pages)
        };
        self.collections.iter().find_map(failures)
    }
}

/// What is remembered of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentMemory {
    /// What to ask "has it changed?" with.
    pub validators: Option<Validators>,
    /// When its body was last read.
    pub read_at: DateTime<Utc>,
    /// The document without its changes, as JSON: it stands in for the body when nothing has changed.
    pub outline: String,
    /// What was found wrong with it.
    pub problems: Vec<Problem>,
}

/// What a server gave us to ask "has it changed since?" with, byte for byte: an `ETag` is opaque, weak or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validators {
    /// The address that gave them: after redirects the last one. They are sent to this address only, because another
    /// one could answer "not modified" about a document of its own.
    pub url: Url,
    /// The value of `ETag`.
    pub etag: Option<Vec<u8>>,
    /// The value of `Last-Modified`.
    pub last_modified: Option<Vec<u8>>,
}

/// What is remembered of a collection.
#[derive(Debug, Clone)]
pub struct CollectionMemory {
    /// The collection.
    pub id: CollectionId,
    /// The address that identifies it.
    pub identity: Url,
    /// Its Capability List.
    pub capability_list: Option<Url>,
    /// What it is called.
    pub title: String,
    /// What it said about itself.
    pub about: About,
    /// Where it is described.
    pub described_by: Option<Url>,
    /// Whether it is on the site that describes it.
    pub is_own: bool,
    /// The newest change that was processed and does not lie in the future.
    pub last_processed: Option<Moment>,
    /// When the last check began that read all of its lists: up to here nothing is missing.
    pub covered_until: Option<DateTime<Utc>>,
    /// How many changes are known.
    pub change_count: u64,
    /// Every change that was announced, or passed over in silence.
    pub known: Recollection,
    /// The Change Lists that it had.
    pub lists: Vec<ListMemory>,
    /// The pages that it had, if it lists pages and not changes.
    pub pages: Option<PagesMemory>,
}

/// What is remembered of a collection that lists its pages.
#[derive(Debug, Clone, Default)]
pub struct PagesMemory {
    /// The list as a whole.
    pub state: ListState,
    /// Whether it has pages.
    pub has_pages: bool,
    /// Its pages.
    pub known: Recollection<KnownPages>,
}

impl CollectionMemory {
    /// Whether lists that begin at `covers_from` leave out a time of which nothing is known.
    pub fn misses_before(&self, covers_from: Moment) -> bool {
        self.covered_until
            .is_some_and(|covered_until| covers_from.earliest() > covered_until)
    }
}

/// What is remembered of a Change List.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListMemory {
    /// Its address.
    pub url: Url,
    /// The time that it covers, as its index says, or itself.
    pub from: Option<Moment>,
    /// The end of that time, if it is closed.
    pub until: Option<Moment>,
    /// When it was last modified, as its index says.
    pub lastmod: Option<Moment>,
    /// When the body was read whose changes the collection has taken. Another collection may have read a later one.
    pub read_at: Option<DateTime<Utc>>,
    /// Whether it was read to its end while it was closed: then it needs no reading again.
    pub is_finished: bool,
}

impl ListMemory {
    /// No more than that there is a list at this address.
    pub fn unread(url: &Url) -> ListMemory {
        ListMemory {
            url: url.clone(),
            from: None,
            until: None,
            lastmod: None,
            read_at: None,
            is_finished: false,
        }
    }
}

/// What is remembered of a list of pages, besides its pages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListState {
    /// Its dates are those of the last build, and say nothing about single pages.
    pub is_stamped: bool,
    /// All its dates were those of the last reading itself.
    pub is_of_now: bool,
    /// How often in a row a large part of it changed at once.
    pub masses: u32,
    /// Documents that were never read: their pages are not new when they are.
    pub unread: Vec<u32>,
    /// The document that is to be read first, if the last reading ended before all were asked for.
    pub turn: Option<u32>,
    /// When the list was made that was read last, if it says so.
    pub made_at: Option<Moment>,
    /// Whether that was another list than the one before.
    pub is_made_anew: bool,
    /// The time of such a list that was last given to an edit without a date of its own.
    pub edited_at: Option<Moment>,
    /// The address of the document that gives its pages their titles, if the site names one beside the list.
    pub titles: Option<String>,
    /// Since when its documents cannot be read, if they are those of a section and cannot.
    pub broken_since: Option<DateTime<Utc>>,
    /// Since when another section cannot be read that never was, if it is that of a section and there is such another.
    pub unread_beside_since: Option<DateTime<Utc>>,
    /// Which pages it hides, all in one number; 0 if it hides none.
    pub hidden: i64,
    /// Whether the last reading was complete and saw every page that is remembered: then documents that have not changed
    /// tell nothing, and the pages need not even be recalled.
    pub is_settled: bool,
}

/// The identity of a change inside its collection: the page, the kind and the datetime with its precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChangeKey(u128);

/// Secret, so that no site can choose addresses whose keys come to lie together, and another one with every start.
static KEY_OF_KEYS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));

impl ChangeKey {
    /// The key of a change. Two spellings of one instant are the same, two precisions are not.
    pub fn new(url: &str, kind: ChangeKind, datetime: &Moment) -> ChangeKey {
        let start = datetime.start();
        // Always of one length, so it is clear where the address ends.
        let mut rest = [0; 14];
        rest[..8].copy_from_slice(&start.timestamp().to_le_bytes());
        rest[8..12].copy_from_slice(&start.timestamp_subsec_nanos().to_le_bytes());
        rest[12..].copy_from_slice(&[datetime.precision().rank(), kind as u8]);
        let mut hasher = SipHasher13::new_with_keys(*KEY_OF_KEYS, 0);
        hasher.write(url.as_bytes());
        hasher.write(&rest);
        ChangeKey(hasher.finish128().as_u128())
    }

    /// The same for a change that is at hand.
    pub fn of(change: &Change) -> ChangeKey {
        ChangeKey::new(&change.url, change.kind, &change.datetime)
    }
}

/// A key is a hash already: half of it will do.
#[derive(Debug, Clone, Copy, Default)]
struct HalfOfKey(u64);

impl Hasher for HalfOfKey {
    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        unreachable!("a key is a number, and not {} bytes", bytes.len());
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// How often each change is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    times: HashMap<ChangeKey, u32, BuildHasherDefault<HalfOfKey>>,
    /// Changes at or before this are no longer remembered one by one. It cannot be told whether such a change was
    /// announced, so it counts as known.
    pub horizon: Option<DateTime<Utc>>,
}

impl Known {
    /// Nothing is known but what lies beyond the horizon.
    pub fn since(horizon: Option<DateTime<Utc>>) -> Known {
        Known {
            horizon,
            ..Known::default()
        }
    }

    /// Makes room for so many changes, which takes longer in steps.
    pub fn make_room(&mut self, count: usize) {
        self.times.reserve(count);
    }

    /// Whether a change is so old that it is not remembered.
    pub fn is_beyond_horizon(&self, datetime: &Moment) -> bool {
        self.horizon
            .is_some_and(|horizon| datetime.start() <= horizon)
    }

    /// Remembers a change once more, and says how often it is known now.
    pub fn add(&mut self, key: ChangeKey) -> u32 {
        let times = self.times.entry(key).or_default();
        *times += 1;
        *times
    }

    /// How often a change is known.
    pub fn times(&self, key: ChangeKey) -> u32 {
        self.times.get(&key).copied().unwrap_or_default()
    }

    /// How many different changes are known.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }
}

/// Why something could not be recalled.
pub type RecallError = Arc<dyn Error + Send + Sync>;

/// The changes or pages of a collection that are known, recalled when they are first asked for: most checks find nothing
/// to compare with them. A clone is the same one.
pub struct Recollection<T = Known>(Arc<Lookup<T>>);

type Recalling<T> = Pin<Box<dyn Future<Output = Result<T, RecallError>> + Send>>;

struct Lookup<T> {
    recall: Box<dyn Fn() -> Recalling<T> + Send + Sync>,
    /// That nothing could be recalled is remembered, too.
    known: OnceCell<Result<Arc<T>, RecallError>>,
}

impl<T> Clone for Recollection<T> {
    fn clone(&self) -> Self {
        Recollection(self.0.clone())
    }
}

impl<T> Recollection<T> {
    /// What `recall` finds when it is asked.
    pub fn new(recall: impl Fn() -> Recalling<T> + Send + Sync + 'static) -> Self {
        Recollection(Arc::new(Lookup {
            recall: Box::new(recall),
            known: OnceCell::new(),
        }))
    }

    /// What is known.
    pub async fn get(&self) -> Result<Arc<T>, RecallError> {
        let recall = || async { (self.0.recall)().await.map(Arc::new) };
        self.0.known.get_or_init(recall).await.clone()
    }

    /// Whether this is the recollection of the same collection in the same check.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether anybody has asked.
    pub fn is_recalled(&self) -> bool {
        self.0.known.initialized()
    }

    fn failure(&self) -> Option<RecallError> {
        self.0.known.get()?.as_ref().err().cloned()
    }
}

/// For those who know it already.
impl<T: Clone + Send + Sync + 'static> From<T> for Recollection<T> {
    fn from(known: T) -> Self {
        Recollection::new(move || {
            let known = known.clone();
            Box::pin(async { Ok(known) })
        })
    }
}

/// For those who know nothing.
impl<T: Clone + Default + Send + Sync + 'static> Default for Recollection<T> {
    fn default() -> Self {
        Recollection::from(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for Recollection<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recollection")
            .field(&self.0.known.get())
            .finish()
    }
}

/// What a check read of one collection.
#[derive(Debug, Clone, Default)]
pub struct Finding {
    /// The changes that are not known, oldest first.
    pub changes: Vec<Change>,
    /// Whether every list was read, or is known to be as it was.
    pub is_complete: bool,
    /// The earliest time that the lists say they cover, those that were not read again included.
    pub covers_from: Option<Moment>,
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// There was something new.
    Changed,
    /// There was not.
    Unchanged,
    /// Some documents could not be read; the others count.
    Partial,
    /// Nothing could be read.
    Failed,
}

impl Outcome {
    /// Its name for programs and the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Changed => "changed",
            Outcome::Unchanged => "unchanged",
            Outcome::Partial => "partial",
            Outcome::Failed => "failed",
        }
    }

    /// The outcome of that name.
    pub fn parse(text: &str) -> Option<Outcome> {
        [
            Outcome::Changed,
            Outcome::Unchanged,
            Outcome::Partial,
            Outcome::Failed,
        ]
        .into_iter()
        .find(|outcome| outcome.as_str() == text)
    }
}

/// Everything that one check writes, in one transaction.
#[derive(Debug, Clone)]
pub struct CheckRecord {
    /// When the check began.
    pub started_at: DateTime<Utc>,
    /// When the check ended.
    pub finished_at: DateTime<Utc>,
    /// How it ended.
    pub outcome: Outcome,
    /// The same in a sentence for people.
    pub summary: String,
    /// Requests that were made.
    pub requests: u32,
    /// Bytes that came over the network.
    pub bytes: u64,
    /// What should be better.
    pub problems: Vec<Problem>,
    /// The root document and what the site says about itself, if that was read and is news.
    pub site: Option<SiteRecord>,
    /// How things stand now.
    pub status: SiteStatus,
    /// How often the site is checked from now on, in seconds.
    pub interval_secs: u64,
    /// Checks in a row that failed, this one included.
    pub failures: u32,
    /// When it is due again.
    pub next_check_at: DateTime<Utc>,
    /// Hosts that want no requests, as they said lately, and until when.
    pub quiet_hosts: Vec<(String, DateTime<Utc>)>,
    /// The collections of which something is news. Others keep what they have.
    pub collections: Vec<CollectionRecord>,
    /// Those among the others whose lists were all read, or are known to be as they were: they are covered up to the
    /// beginning of this check.
    pub covered: Vec<CollectionId>,
    /// The documents that were read. Others keep what they have.
    pub documents: Vec<(Url, DocumentMemory)>,
    /// Documents of which nothing need be remembered any more.
    pub out_of_use: Vec<Url>,
    /// What the site is asked next time, if nothing is expected to be new.
    pub round: RoundRecord,
}

/// What a check found out about the site itself.
#[derive(Debug, Clone)]
pub struct SiteRecord {
    /// The root document.
    pub root: Url,
    /// Its format.
    pub format: Format,
    /// What the site is called.
    pub title: String,
    /// What it says about itself.
    pub about: About,
    /// Where it is described.
    pub described_by: Option<Url>,
    /// When all formats were looked for, if that was now.
    pub looked_at: Option<DateTime<Utc>>,
}

/// What a check adds to a collection.
#[derive(Debug, Clone)]
pub struct CollectionRecord {
    /// The collection; none if it is new.
    pub id: Option<CollectionId>,
    /// The address that identifies it.
    pub identity: Url,
    /// Its Capability List.
    pub capability_list: Option<Url>,
    /// What it is called.
    pub title: String,
    /// What it says about itself.
    pub about: About,
    /// Where it is described.
    pub described_by: Option<Url>,
    /// Whether it is on the site that describes it.
    pub is_own: bool,
    /// As in [`CollectionMemory`].
    pub last_processed: Option<Moment>,
    /// As in [`CollectionMemory`].
    pub covered_until: Option<DateTime<Utc>>,
    /// As in [`CollectionMemory`].
    pub lists: Vec<ListMemory>,
    /// Changes that are known from now on without having been announced, oldest first.
    pub silent: Vec<Change>,
    /// What is announced, oldest first.
    pub entries: Vec<NewEntry>,
    /// What is remembered of its pages, if it lists pages and not changes.
    pub pages: Option<PagesRecord>,
}

/// What a check adds to a collection that lists its pages.
#[derive(Debug, Clone, Default)]
pub struct PagesRecord {
    /// As in [`PagesMemory`].
    pub state: ListState,
    /// What changes in what is remembered of its pages.
    pub writes: PageWrites,
}

/// An entry that has no id yet: the store makes it once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// When it was found; for the first check, when the changes were made.
    pub updated_at: DateTime<Utc>,
    /// The changes, oldest first.
    pub changes: Vec<Change>,
    /// What is to be said before them.
    pub note: Option<String>,
    /// Whether it is told for the whole site as well, and not only for the collection.
    pub is_for_site: bool,
}
