//! The shapes that programs rely on. Members may be added; none goes or changes its meaning.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::account::Subscription;
use crate::memory::Outcome;
use crate::problem::Problem;
use crate::store::{ChangeRow, CheckRow, CollectionRow, SiteRow};
use crate::web::paths::Paths;

/// A site that is followed, or could be.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Site)]
pub struct SiteShape {
    /// Its number.
    id: i64,
    /// The address that was asked for, made whole.
    #[schema(format = Uri)]
    url: String,
    /// The document that describes it, once it was found.
    #[schema(format = Uri, required)]
    root: Option<String>,
    /// The format of that.
    #[schema(required, example = "resourcesync")]
    format: Option<&'static str>,
    /// What it is called, once that is known.
    #[schema(required)]
    title: Option<String>,
    #[schema(inline)]
    status: StatusShape,
    /// Its feed, over all collections.
    #[schema(format = Uri)]
    feed_url: String,
    /// Its page.
    #[schema(format = Uri)]
    page_url: String,
    /// When its last check ended.
    #[schema(format = DateTime, required)]
    last_check_at: Option<String>,
    /// When it is checked again; null while it is paused.
    #[schema(format = DateTime, required)]
    next_check_at: Option<String>,
    /// Its collections, in the order in which they were found.
    collections: Vec<CollectionShape>,
}

/// How things stand with a site.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
enum StatusShape {
    New,
    Ok,
    Failing,
    Gone,
    Paused,
}

/// A part of a site that can be followed by itself.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Collection)]
pub struct CollectionShape {
    /// The address that identifies it.
    #[schema(format = Uri)]
    id: String,
    /// What it is called.
    title: String,
    /// Its feed.
    #[schema(format = Uri)]
    feed_url: String,
    /// Its page.
    #[schema(format = Uri)]
    page_url: String,
    /// The datetime of the newest change that was processed, as the source wrote it.
    #[schema(required, example = "2026-01-31")]
    last_processed: Option<String>,
}

/// A page of sites.
#[derive(Debug, Serialize, ToSchema)]
pub struct Sites {
    /// Some sites, in the order in which they were added.
    pub sites: Vec<SiteShape>,
    /// What to give as `after` for the following ones; null at the end.
    #[schema(required)]
    pub next: Option<String>,
}

/// One reading of a site.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Check)]
pub struct CheckShape {
    /// Its number.
    id: i64,
    /// When it began.
    #[schema(format = DateTime)]
    started_at: String,
    /// When it ended; null while it runs.
    #[schema(format = DateTime, required)]
    finished_at: Option<String>,
    /// How it ended; null while it runs.
    #[schema(inline, required)]
    outcome: Option<OutcomeShape>,
    /// The same in a sentence for people.
    summary: String,
    /// Changes that were found.
    new_changes: u64,
    /// Requests that were made.
    requests: u32,
    /// Bytes that came over the network.
    bytes: u64,
    /// What the author of the site should fix.
    #[schema(value_type = Vec<ProblemShape>)]
    problems: Vec<Problem>,
}

/// How a check ended.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum OutcomeShape {
    Changed,
    Unchanged,
    Partial,
    Failed,
}

/// A departure from the rules, found while reading.
#[derive(ToSchema)]
#[schema(as = Problem)]
#[allow(dead_code)] // Only described: `Problem` writes itself.
struct ProblemShape {
    /// Its name, which never changes.
    code: String,
    #[schema(inline)]
    severity: SeverityShape,
    /// The document.
    document: String,
    /// The line in it.
    #[schema(required)]
    line: Option<u32>,
    /// How often it was found.
    count: u32,
    /// What is wrong, in a sentence.
    message: String,
    /// What to do about it.
    fix: String,
}

/// How much a problem costs.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[allow(dead_code)]
enum SeverityShape {
    Error,
    Warning,
    Note,
}

/// A page of checks.
#[derive(Debug, Serialize, ToSchema)]
pub struct Checks {
    /// Some checks, newest first.
    pub checks: Vec<CheckShape>,
    /// What to give as `before` for the ones before; null at the end.
    #[schema(required)]
    pub next: Option<String>,
}

/// The check that was asked for.
#[derive(Debug, Serialize, ToSchema)]
pub struct CheckAsked {
    /// Its number.
    pub check: i64,
}

/// One page was created, updated or deleted.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Change)]
pub struct ChangeShape {
    /// The address that identifies its collection.
    #[schema(format = Uri)]
    collection: String,
    /// The page.
    url: String,
    #[schema(inline)]
    kind: KindShape,
    /// When, as the source wrote it: a bare date stays a bare date.
    #[schema(example = "2026-01-31T12:00:00Z")]
    datetime: String,
    /// What the page is called, where the source says so.
    #[schema(required)]
    title: Option<String>,
    /// Whether the source stated it, or it was inferred from two lists of pages.
    #[schema(inline)]
    basis: BasisShape,
    /// When it was found.
    #[schema(format = DateTime)]
    found_at: String,
    /// The id of the Atom entry that announced it.
    entry: String,
}

/// What happened to a page.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum KindShape {
    Created,
    Updated,
    Deleted,
}

/// How a change is known.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum BasisShape {
    Stated,
    Inferred,
}

/// A page of changes.
#[derive(Debug, Serialize, ToSchema)]
pub struct Changes {
    /// Some changes, in the order in which they were found.
    pub changes: Vec<ChangeShape>,
    /// What to give as `after` for the following ones; null at the end.
    #[schema(required)]
    pub next: Option<String>,
}

/// Somebody follows a site, or one collection of it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Subscription)]
pub struct SubscriptionShape {
    /// Its number.
    pub id: i64,
    /// The number of the site.
    pub site: i64,
    /// The id of the collection; null for all of them.
    #[schema(format = Uri, required)]
    pub collection: Option<String>,
}

/// A private feed over everything that an account follows.
#[derive(Debug, Serialize, ToSchema)]
pub struct PrivateFeed {
    /// Its address. Whoever knows it can read the feed, and nothing else.
    #[schema(format = Uri)]
    pub feed_url: String,
}

/// Everything that an account follows.
#[derive(Debug, Serialize, ToSchema)]
pub struct Subscriptions {
    /// In the order in which it began to.
    pub subscriptions: Vec<SubscriptionShape>,
}

/// A site to be followed.
#[derive(Debug, Deserialize, ToSchema)]
pub struct NewSite {
    /// The address, as a person would type it.
    #[schema(example = "example.com")]
    pub url: String,
}

/// What an admin may change about a site.
#[derive(Debug, Deserialize, ToSchema)]
pub struct SiteChange {
    /// Whether it should rest.
    pub paused: bool,
}

/// Something to follow.
#[derive(Debug, Deserialize, ToSchema)]
pub struct NewSubscription {
    /// The number of the site.
    pub site: i64,
    /// The id of the collection; null or left out for all of them.
    #[serde(default)]
    #[schema(format = Uri)]
    pub collection: Option<String>,
}

/// Where to go on, and how far.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct After {
    /// The `next` of the answer before.
    pub after: Option<String>,
    /// The most that is wanted, up to 1000; 100 where nothing is said.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// Where to go on, backwards, and how far.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Before {
    /// The `next` of the answer before.
    pub before: Option<String>,
    /// The most that is wanted, up to 1000; 100 where nothing is said.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// Why a request was not answered as hoped (RFC 9457).
#[derive(ToSchema)]
#[allow(dead_code)] // Only described: `WebError` writes itself.
pub struct ProblemDetails {
    /// Always `about:blank`: the status says it all.
    r#type: String,
    /// The status in words.
    title: String,
    /// The status.
    status: u16,
    /// What is wrong, in a sentence.
    detail: String,
}

impl SiteShape {
    pub(super) fn new(site: &SiteRow, paths: &Paths) -> SiteShape {
        use crate::site::SiteStatus;
        SiteShape {
            id: site.id.0,
            url: site.url.to_string(),
            root: site.root.as_ref().map(ToString::to_string),
            format: site.format.map(|format| format.as_str()),
            title: site.title.clone(),
            status: match site.status {
                SiteStatus::New => StatusShape::New,
                SiteStatus::Ok => StatusShape::Ok,
                SiteStatus::Failing => StatusShape::Failing,
                SiteStatus::Gone => StatusShape::Gone,
                SiteStatus::Paused => StatusShape::Paused,
            },
            feed_url: paths.site_feed(&site.slug),
            page_url: paths.site(&site.slug),
            last_check_at: site.last_check_at.map(instant),
            next_check_at: site.next_check_at.map(instant),
            collections: (site.collections.iter())
                .map(|collection| CollectionShape::new(site, collection, paths))
                .collect(),
        }
    }
}

impl CollectionShape {
    fn new(site: &SiteRow, collection: &CollectionRow, paths: &Paths) -> CollectionShape {
        CollectionShape {
            id: collection.identity.to_string(),
            title: collection.title.clone(),
            feed_url: paths.collection_feed(&site.slug, &collection.slug),
            page_url: paths.collection(&site.slug, &collection.slug),
            last_processed: collection.last_processed.map(|moment| moment.to_string()),
        }
    }
}

impl From<CheckRow> for CheckShape {
    fn from(check: CheckRow) -> Self {
        CheckShape {
            id: check.id.0,
            started_at: instant(check.started_at),
            finished_at: check.finished_at.map(instant),
            outcome: check.outcome.map(|outcome| match outcome {
                Outcome::Changed => OutcomeShape::Changed,
                Outcome::Unchanged => OutcomeShape::Unchanged,
                Outcome::Partial => OutcomeShape::Partial,
                Outcome::Failed => OutcomeShape::Failed,
            }),
            summary: check.summary,
            new_changes: check.new_changes,
            requests: check.requests,
            bytes: check.bytes,
            problems: check.problems,
        }
    }
}

impl From<ChangeRow> for ChangeShape {
    fn from(row: ChangeRow) -> Self {
        use crate::change::ChangeKind;
        ChangeShape {
            collection: row.collection.into(),
            url: row.change.url.to_string(),
            kind: match row.change.kind {
                ChangeKind::Created => KindShape::Created,
                ChangeKind::Updated => KindShape::Updated,
                ChangeKind::Deleted => KindShape::Deleted,
            },
            datetime: row.change.datetime.to_string(),
            title: row.change.title,
            basis: match row.change.details.is_inferred {
                true => BasisShape::Inferred,
                false => BasisShape::Stated,
            },
            found_at: instant(row.found_at),
            entry: row.entry,
        }
    }
}

impl SubscriptionShape {
    /// A subscription to something on `site`.
    pub(super) fn new(subscription: Subscription, site: Option<&SiteRow>) -> SubscriptionShape {
        let collection = subscription.collection.and_then(|wanted| {
            let mut collections = site?.collections.iter();
            let found = collections.find(|collection| collection.id == wanted)?;
            Some(found.identity.to_string())
        });
        SubscriptionShape {
            id: subscription.id.0,
            site: subscription.site.0,
            collection,
        }
    }
}

fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}
