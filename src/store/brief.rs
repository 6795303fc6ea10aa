//! What pages show: entries in brief, the activity of a year, and the timeline of an account.
//!
//! An entry may hold a quarter of a million changes, and a page shows a few of them; so only the newest ones of each are
//! read here, and counting is left to the numbers of the changes.

use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use rusqlite::{CachedStatement, Connection, Row, named_params};

use super::shape::Columns;
use super::value::{self, micros};
use super::{EntriesOf, Store, StoreError, entry};
use crate::account::AccountId;
use crate::change::{Change, ChangeKind, Entry};
use crate::site::{CollectionId, SiteId};

/// Changes that are looked through for one page of a timeline that is searched.
const LOOKED_THROUGH: usize = 20_000;
/// A pause this long ends a visit.
const SAME_VISIT: TimeDelta = TimeDelta::minutes(15);
/// How exactly the end of a visit is known.
const NOTED: TimeDelta = TimeDelta::minutes(1);
const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// An entry with its newest changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryBrief {
    /// The site.
    pub site: SiteId,
    /// The collection.
    pub collection: CollectionId,
    /// The number of its first change, which is its own inside the site.
    pub n: i64,
    /// The changes that it has altogether.
    pub count: u64,
    /// The entry, with the newest of its changes.
    pub entry: Entry,
}

/// A place among entries, newest first: when an entry is dated in microseconds since 1970, its collection, and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    at: i64,
    collection: i64,
    n: i64,
}

impl Place {
    /// Before all entries.
    pub const FIRST: Place = Place {
        at: i64::MAX,
        collection: i64::MAX,
        n: i64::MAX,
    };
}

/// As it stands in addresses.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.at, self.collection, self.n)
    }
}

/// The text is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("that is not a place among the changes; use the links of the page")]
pub struct PlaceError;

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let mut numbers = text.splitn(3, '.').map(|part| part.parse().ok());
        let mut next = || numbers.next().flatten().ok_or(PlaceError);
        Ok(Place {
            at: next()?,
            collection: next()?,
            n: next()?,
        })
    }
}

impl EntryBrief {
    /// Where it stands.
    pub fn place(&self) -> Place {
        Place {
            at: micros(self.entry.updated_at),
            collection: self.collection.0,
            n: self.n,
        }
    }
}

/// What of a timeline is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Only this site.
    pub site: Option<SiteId>,
    /// Only what is in this folder.
    pub folder: Option<String>,
    /// Only changes of this kind.
    pub kind: Option<ChangeKind>,
    /// Only pages with this in their title or address.
    pub text: Option<String>,
}

impl Wanted {
    fn wants(&self, change: &Change) -> bool {
        let has = |text: &str, part: &str| text.to_lowercase().contains(part);
        let is_kind = self.kind.is_none_or(|kind| kind == change.kind);
        is_kind
            && self.text.as_deref().is_none_or(|part| {
                let part = part.to_lowercase();
                has(&change.url, &part)
                    || change
                        .title
                        .as_deref()
                        .is_some_and(|title| has(title, &part))
            })
    }

    fn is_choosy(&self) -> bool {
        self.kind.is_some() || self.text.is_some()
    }
}

impl Store {
    /// The entries of a site or a collection after a place, newest first, each with its newest changes; and where to go
    /// on, if there are more.
    pub async fn briefs(
        &self,
        of: EntriesOf,
        after: Place,
        limit: u32,
        changes: u32,
    ) -> Result<(Vec<EntryBrief>, Option<Place>), StoreError> {
        self.read(move |db| {
            let collections = match of {
                EntriesOf::Collection(id) => HashMap::from([(id.0, What::All)]),
                EntriesOf::Site(id) => collections(db, id)?,
            };
            newest(db, collections, &Wanted::default(), after, limit, changes)
        })
        .await
    }

    /// How many changes were announced on each day from `since` on, as the entries are dated.
    pub async fn activity(
        &self,
        of: EntriesOf,
        since: NaiveDate,
    ) -> Result<BTreeMap<NaiveDate, u64>, StoreError> {
        self.read(move |db| {
            let (condition, id) = match of {
                EntriesOf::Collection(id) => ("c.id = ?1", id.0),
                EntriesOf::Site(id) => ("c.site = ?1 AND e.is_for_site", id.0),
            };
            let sql = format!(
                "SELECT e.updated_at / {DAY_MICROS} AS day, sum(e.last_n - e.first_n + 1) AS changes
                 FROM collections c JOIN entries e ON e.collection = c.id
                 WHERE {condition} AND e.updated_at >= ?2 GROUP BY day"
            );
            let since = since.and_time(chrono::NaiveTime::MIN).and_utc();
            let mut statement = db.prepare_cached(&sql)?;
            let mut rows = statement.query((id, micros(since)))?;
            let mut days = BTreeMap::new();
            while let Some(row) = rows.next()? {
                let day: i64 = row.get("day")?;
                let date = DateTime::from_timestamp_micros(day.saturating_mul(DAY_MICROS));
                let date = date.ok_or(StoreError::Unreadable("day"))?.date_naive();
                days.insert(date, value::natural(row, "changes")?);
            }
            Ok(days)
        })
        .await
    }

    /// What an account follows, after a place, newest first, each with its newest changes that are wanted; and
    /// where to go on, if there may be more.
    pub async fn timeline(
        &self,
        account: AccountId,
        wanted: &Wanted,
        after: Place,
        limit: u32,
        changes: u32,
    ) -> Result<(Vec<EntryBrief>, Option<Place>), StoreError> {
        let wanted = wanted.clone();
        self.read_long(move |db| {
            let collections = followed(db, account, &wanted)?;
            newest(db, collections, &wanted, after, limit, changes)
        })
        .await
    }
}

/// Which entries of a collection are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// All of them.
    All,
    /// Those that are told for the whole site.
    ForSite,
}

/// The newest entries of some collections after a place: of each collection the next one is at hand, and the newest of
/// those is taken.
fn newest(
    db: &Connection,
    collections: HashMap<i64, What>,
    wanted: &Wanted,
    after: Place,
    limit: u32,
    changes: u32,
) -> Result<(Vec<EntryBrief>, Option<Place>), StoreError> {
    let mut next = Next::new(db)?;
    let mut heads = BinaryHeap::new();
    for (&collection, &what) in &collections {
        heads.extend(next.after(collection, what, after)?);
    }
    let mut reader = Reader::new(db)?;
    let (mut found, mut looked) = (Vec::new(), 0);
    while let Some(place) = heads.pop() {
        let what = collections.get(&place.collection).copied();
        heads.extend(next.after(place.collection, what.unwrap_or(What::All), place)?);
        let brief = match wanted.is_choosy() {
            false => reader.at(place, changes)?,
            true => {
                let mut brief = reader.at(place, LOOKED_THROUGH as u32)?;
                looked += brief.entry.changes.len();
                brief.entry.changes.retain(|change| wanted.wants(change));
                brief.count = brief.entry.changes.len() as u64;
                let extra = brief.entry.changes.len().saturating_sub(changes as usize);
                brief.entry.changes.drain(..extra);
                brief
            }
        };
        if !brief.entry.changes.is_empty() {
            found.push(brief);
        }
        if found.len() == limit as usize || looked >= LOOKED_THROUGH {
            return Ok((found, heads.peek().map(|_| place)));
        }
    }
    Ok((found, None))
}

impl Store {
    /// Notes that an account looks at its timeline, and says until when it had seen it before. Whoever looks again within
    /// a quarter of an hour is still on the same visit.
    pub async fn visit(
        &self,
        account: AccountId,
        now: DateTime<Utc>,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        let (visited_at, marked_at) = self.read(move |db| visits(db, account)).await?;
        let is_same = visited_at.is_some_and(|at| now - at < SAME_VISIT);
        let mark = match is_same {
            true => marked_at,
            false => visited_at,
        };
        // Not with every click: it is only about when a visit ended.
        if is_same && visited_at.is_some_and(|at| now - at < NOTED) {
            return Ok(mark);
        }
        self.write(move |db| {
            db.prepare_cached("UPDATE accounts SET visited_at = ?2, marked_at = ?3 WHERE id = ?1")?
                .execute((account.0, micros(now), mark.map(micros)))?;
            Ok(mark)
        })
        .await
    }

    /// Where the visit before the present one ended.
    pub async fn mark(&self, account: AccountId) -> Result<Option<DateTime<Utc>>, StoreError> {
        let visits = self.read(move |db| visits(db, account)).await?;
        Ok(visits.1)
    }
}

type Visits = (Option<DateTime<Utc>>, Option<DateTime<Utc>>);

fn visits(db: &Connection, account: AccountId) -> Result<Visits, StoreError> {
    let mut statement =
        db.prepare_cached("SELECT visited_at, marked_at FROM accounts WHERE id = ?1")?;
    let mut rows = statement.query([account.0])?;
    match rows.next()? {
        Some(row) => Ok((
            value::optional_instant(row, "visited_at")?,
            value::optional_instant(row, "marked_at")?,
        )),
        None => Err(StoreError::NotFound("account")),
    }
}

const SELECT: &str =
    "SELECT c.site, c.id AS collection, c.head, e.first_n, e.last_n, e.id, e.updated_at, e.nanos, e.note
     FROM collections c JOIN entries e ON e.collection = c.id";

fn collections(db: &Connection, site: SiteId) -> Result<HashMap<i64, What>, StoreError> {
    let mut statement = db.prepare_cached("SELECT id FROM collections WHERE site = ?1")?;
    let ids = statement.query_map([site.0], |row| Ok((row.get("id")?, What::ForSite)))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// The collections that an account follows, alone or with their sites. Whoever follows the site is told each change once,
/// whichever of its collections are followed as well.
fn followed(
    db: &Connection,
    account: AccountId,
    wanted: &Wanted,
) -> Result<HashMap<i64, What>, StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT c.id, max(s.collection IS NULL) AS with_site FROM subscriptions s
         JOIN collections c ON c.site = s.site AND (s.collection IS NULL OR s.collection = c.id)
         WHERE s.account = :account AND (:site IS NULL OR s.site = :site)
           AND (:folder IS NULL OR s.folder = :folder)
         GROUP BY c.id",
    )?;
    let ids = statement.query_map(
        named_params! {
            ":account": account.0,
            ":site": wanted.site.map(|site| site.0),
            ":folder": wanted.folder,
        },
        |row| {
            let what = match row.get("with_site")? {
                true => What::ForSite,
                false => What::All,
            };
            Ok((row.get("id")?, what))
        },
    )?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// Finds the entry of a collection that comes after a place. The later an entry is dated, the higher are the numbers of
/// its changes, so this is a look at the end of the collection.
struct Next<'a>(CachedStatement<'a>);

impl<'a> Next<'a> {
    fn new(db: &'a Connection) -> Result<Self, StoreError> {
        Ok(Next(db.prepare_cached(
            "SELECT first_n, updated_at FROM entries WHERE collection = ?1
               AND (updated_at, collection, first_n) < (?2, ?3, ?4) AND (is_for_site OR ?5)
               ORDER BY first_n DESC LIMIT 1",
        )?))
    }

    fn after(
        &mut self,
        collection: i64,
        what: What,
        place: Place,
    ) -> Result<Option<Place>, StoreError> {
        let has_all = what == What::All;
        let mut rows =
            (self.0).query((collection, place.at, place.collection, place.n, has_all))?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        Ok(Some(Place {
            at: row.get("updated_at")?,
            collection,
            n: row.get("first_n")?,
        }))
    }
}

/// Reads entries with their newest changes.
struct Reader<'a> {
    entry: CachedStatement<'a>,
    changes: CachedStatement<'a>,
    columns: Columns,
}

impl<'a> Reader<'a> {
    fn new(db: &'a Connection) -> Result<Self, StoreError> {
        let changes = db.prepare_cached(
            "SELECT at, shape, url, title, details FROM changes
             WHERE collection = ?1 AND n BETWEEN ?2 AND ?3 ORDER BY n DESC LIMIT ?4",
        )?;
        let entry = format!("{SELECT} WHERE c.id = ?1 AND e.first_n = ?2");
        Ok(Reader {
            entry: db.prepare_cached(&entry)?,
            columns: Columns::of(&changes)?,
            changes,
        })
    }

    fn at(&mut self, place: Place, changes: u32) -> Result<EntryBrief, StoreError> {
        let Reader {
            entry,
            changes: inside,
            columns,
        } = self;
        let mut rows = entry.query((place.collection, place.n))?;
        let row = rows.next()?.ok_or(StoreError::NotFound("entry"))?;
        brief(row, inside, columns, changes)
    }
}

fn brief(
    row: &Row<'_>,
    inside: &mut CachedStatement<'_>,
    columns: &Columns,
    limit: u32,
) -> Result<EntryBrief, StoreError> {
    let (collection, head): (i64, String) = (row.get("collection")?, row.get("head")?);
    let (first, last): (i64, i64) = (row.get("first_n")?, row.get("last_n")?);
    let mut changes = Vec::new();
    let mut rows = inside.query((collection, first, last, limit))?;
    while let Some(row) = rows.next()? {
        changes.push(columns.change(row, &head)?);
    }
    changes.reverse();
    Ok(EntryBrief {
        site: SiteId(row.get("site")?),
        collection: CollectionId(collection),
        n: first,
        count: (last - first + 1).unsigned_abs(),
        entry: Entry {
            id: row.get("id")?,
            updated_at: entry::told_at(row.get("updated_at")?, row.get("nanos")?)?,
            changes,
            note: row.get("note")?,
        },
    })
}
