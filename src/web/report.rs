//! The report for authors: what a site says about its changes, and everything that should be better, with the fix.
//!
//! A site is read for it as `sitebell check` reads it, without being kept or followed. Several people who ask for the same
//! site at the same time share one reading, and what was found is shown for a moment before it is read again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use actix_web::{HttpResponse, web};
use askama::Template;
use serde::Deserialize;
use tokio::runtime::Handle;
use url::Url;

use super::changes::{ChangeLine, change_line, host_of};
use super::error::WebError;
use super::forms::{Field, sentence};
use super::frame::{Answer, Frame, form_again, page};
use super::live::{self, Documents, Known};
use super::session::Visitor;
use super::words::count;
use super::{Data, get_or_head, only};
use crate::change::{Change, net_effect};
use crate::check::{CheckSettings, Checked, CollectionReading, check_site};
use crate::feed::size_in_words;
use crate::fetch::Fetcher;
use crate::problem::{Problem, Severity};
use crate::schedule::preview;
use crate::site::{Format, SiteUrl};
use crate::text::readable_address;

/// Sites that are read for reports at the same time.
const AT_ONCE: usize = 8;
/// Reports that are remembered.
const MAX_REPORTS: usize = 100;
/// What was found is shown for so long to those who ask again; an author who has put something right waits no longer.
const FRESH: Duration = Duration::from_secs(10);
/// After this it is forgotten.
const KEPT: Duration = Duration::from_secs(600);
/// Changes of each collection that are shown.
const CHANGES: usize = 10;
/// Problems that are shown. Each stands for all of its kind in one document.
const PROBLEMS: usize = 60;

/// The page, and what came since.
pub fn routes(config: &mut web::ServiceConfig) {
    let resource = |path: &str, handler: actix_web::Route| {
        only(web::resource(path).route(handler), "GET, HEAD")
    };
    config
        .service(resource("/check", get_or_head(report)))
        .service(resource("/check/reading.json", get_or_head(reading)));
}

/// The reports that are being made, and those that were made a moment ago.
pub struct Reports {
    settings: CheckSettings,
    /// Where sites are read: threads that answer are for short work.
    runtime: Handle,
    made: Mutex<HashMap<Url, Report>>,
}

#[derive(Clone)]
struct Report {
    documents: Documents,
    began: Instant,
    /// None while the site is being read.
    found: Option<(Instant, Arc<Result<Found, String>>)>,
}

/// What a reading found, as far as it is shown.
struct Found {
    title: String,
    url: String,
    root: Option<String>,
    format: Option<Format>,
    collections: Vec<FoundCollection>,
    problems: Vec<Problem>,
    more_problems: usize,
    requests: u32,
    bytes: u64,
}

struct FoundCollection {
    title: String,
    id: Url,
    count: usize,
    /// The newest changes, oldest first.
    changes: Vec<Change>,
}

impl Reports {
    /// Reads on the runtime that this is called on.
    pub fn new(settings: CheckSettings) -> Reports {
        Reports {
            settings,
            runtime: Handle::current(),
            made: Mutex::default(),
        }
    }

    /// The report on a site as it stands; begins one if there is none, or if that is not fresh.
    fn ask(self: &Arc<Self>, visitor: &Visitor, site: &SiteUrl) -> Result<Report, WebError> {
        let service = visitor.service();
        let mut made = self.lock();
        made.retain(|_, report| report.began.elapsed() < KEPT);
        if let Some(report) = made.get(site.url()) {
            let is_stale = |(at, _): &(Instant, _)| at.elapsed() >= FRESH;
            if !report.found.as_ref().is_some_and(is_stale) {
                return Ok(report.clone());
            }
        }
        let running = made.values().filter(|report| report.found.is_none());
        if running.count() >= AT_ONCE || made.len() >= MAX_REPORTS {
            let busy = "many sites are being read for others at the moment; ask again in a minute";
            return Err(WebError::TooSoon(busy.to_owned(), Duration::from_secs(60)));
        }
        visitor.look_up()?;
        let report = Report {
            documents: Documents::default(),
            began: Instant::now(),
            found: None,
        };
        made.insert(site.url().clone(), report.clone());
        drop(made);
        self.runtime.spawn({
            let (reports, site) = (self.clone(), site.clone());
            let (fetcher, now) = (service.fetcher.clone(), (service.clock)());
            async move { reports.read(&fetcher, site, now).await }
        });
        Ok(report)
    }

    async fn read(
        self: Arc<Self>,
        fetcher: &Fetcher,
        site: SiteUrl,
        now: chrono::DateTime<chrono::Utc>,
    ) {
        // Ends the report even if reading met a fault of our own.
        let mut ending = Ending {
            reports: self.clone(),
            url: site.url().clone(),
            found: Err("The site could not be read because of a fault in Sitebell.".to_owned()),
        };
        let watcher = {
            let (reports, url) = (self.clone(), site.url().clone());
            Arc::new(move |document: &Url| {
                if let Some(report) = reports.lock().get_mut(&url) {
                    report.documents.add(document);
                }
            })
        };
        let checked = check_site(fetcher, &site, None, &self.settings, now, watcher).await;
        ending.found = match checked {
            Ok(mut checked) => {
                preview(&mut checked, None, now);
                Ok(Found::from(checked))
            }
            Err(error) => Err(sentence(&format!("the site cannot be read: {error}"))),
        };
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Url, Report>> {
        // Every report in it is whole even if somebody panicked.
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Ending {
    reports: Arc<Reports>,
    url: Url,
    found: Result<Found, String>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        let found = std::mem::replace(&mut self.found, Err(String::new()));
        if let Some(report) = self.reports.lock().get_mut(&self.url) {
            report.found = Some((Instant::now(), Arc::new(found)));
        }
    }
}

impl From<Checked> for Found {
    fn from(checked: Checked) -> Found {
        let mut problems = checked.problems;
        problems.sort_by_key(|problem| std::cmp::Reverse(problem.severity()));
        let more_problems = problems.len().saturating_sub(PROBLEMS);
        problems.truncate(PROBLEMS);
        let site = checked.site;
        Found {
            title: site.title,
            url: site.url.into(),
            root: site.root.map(Into::into),
            format: site.format,
            collections: (checked.collections.into_iter())
                .map(FoundCollection::from)
                .collect(),
            problems,
            more_problems,
            requests: checked.requests,
            bytes: checked.bytes,
        }
    }
}

impl From<CollectionReading> for FoundCollection {
    fn from(reading: CollectionReading) -> FoundCollection {
        let mut changes = reading.changes;
        let count = changes.len();
        FoundCollection {
            title: reading.title,
            id: reading.id,
            count,
            changes: changes.split_off(count.saturating_sub(CHANGES)),
        }
    }
}

#[derive(Deserialize)]
struct Query {
    url: Option<String>,
}

#[derive(Template)]
#[template(path = "report/ask.html")]
struct AskPage {
    frame: Frame,
    url: Field,
}

#[derive(Template)]
#[template(path = "report/reading.html")]
struct ReadingPage {
    frame: Frame,
    name: String,
    progress: String,
    documents: Vec<String>,
}

#[derive(Template)]
#[template(path = "report/report.html")]
struct ReportPage<'a> {
    frame: Frame,
    title: &'a str,
    url: &'a str,
    name: String,
    again: String,
    /// Why nothing could be read at all.
    failure: Option<&'a str>,
    how: &'static str,
    root: Option<&'a str>,
    summary: String,
    verdict: Verdict,
    problems: Vec<ProblemPart<'a>>,
    more_problems: usize,
    collections: Vec<CollectionPart<'a>>,
    may_add: bool,
    page: Option<String>,
}

/// What it comes to, in a sentence.
struct Verdict {
    class: &'static str,
    title: String,
    sentence: &'static str,
}

struct ProblemPart<'a> {
    class: &'static str,
    word: &'static str,
    sentence: String,
    code: &'static str,
    document: &'a str,
    line: Option<u32>,
    fix: &'static str,
    snippet: &'a str,
}

struct CollectionPart<'a> {
    title: &'a str,
    id: &'a str,
    name: String,
    count: String,
    lines: Vec<ChangeLine>,
    more: usize,
}

async fn report(visitor: Visitor, query: web::Query<Query>) -> Answer {
    let service = visitor.service();
    let Some(typed) = query.url.as_deref() else {
        return page(&AskPage {
            frame: visitor.frame(),
            url: Field::default(),
        });
    };
    let site = match parse(service, typed) {
        Ok(site) => site,
        Err(error) => {
            return form_again(&AskPage {
                frame: visitor.frame(),
                url: Field::new(typed).wrong(error),
            });
        }
    };
    let report = service.reports.ask(&visitor, &site)?;
    let name = readable_address(site.url());
    let Some((_, found)) = report.found else {
        return page(&ReadingPage {
            frame: visitor.frame(),
            name,
            progress: service.paths.report_reading(site.url().as_str()),
            documents: report.documents.into_vec(),
        });
    };
    let known = match service.store.find_site(&site).await? {
        Some(id) => service.store.site(id).await?,
        None => None,
    };
    let shared = ReportPage {
        frame: visitor.frame(),
        title: &name,
        url: site.url().as_str(),
        name: name.clone(),
        again: service.paths.report(site.url().as_str()),
        failure: None,
        how: "",
        root: None,
        summary: String::new(),
        verdict: verdict(&[], false),
        problems: Vec::new(),
        more_problems: 0,
        collections: Vec::new(),
        may_add: visitor.account().is_some() || service.visitors_add,
        page: known.map(|site| service.paths.site(&site.slug)),
    };
    match &*found {
        Err(failure) => page(&ReportPage {
            failure: Some(failure),
            ..shared
        }),
        Ok(found) => page(&ReportPage {
            title: &found.title,
            url: &found.url,
            how: match found.format {
                Some(format) => format.sentence(),
                None => "It says nothing about its changes that a program could read.",
            },
            root: found.root.as_deref(),
            summary: format!(
                "{}, read with {} ({})",
                count(number(found.collections.len()), "collection"),
                count(i64::from(found.requests), "request"),
                size_in_words(found.bytes)
            ),
            verdict: verdict(&found.problems, found.root.is_some()),
            problems: found.problems.iter().map(problem_part).collect(),
            more_problems: found.more_problems,
            collections: (found.collections.iter())
                .map(|collection| collection_part(&visitor, collection))
                .collect(),
            ..shared
        }),
    }
}

/// What came since, for a page that shows a site being read.
async fn reading(
    service: Data,
    query: web::Query<Query>,
    known: web::Query<Known>,
) -> Result<HttpResponse, WebError> {
    let typed = query.url.as_deref().unwrap_or_default();
    let site = parse(&service, typed).map_err(WebError::Invalid)?;
    let report = service.reports.lock().get(site.url()).cloned();
    let report = report.ok_or(WebError::NotFound("report"))?;
    let is_done = report.found.is_some();
    Ok(live::progress(report.documents, &known, is_done))
}

fn parse(service: &Data, typed: &str) -> Result<SiteUrl, String> {
    let site = SiteUrl::parse(typed).map_err(|error| error.to_string())?;
    let judged = service.fetcher.judge(site.url());
    judged.map_err(|refusal| refusal.to_string())?;
    Ok(site)
}

fn verdict(problems: &[Problem], is_found: bool) -> Verdict {
    let of = |severity| {
        let found = problems.iter().filter(|one| one.severity() == severity);
        number(found.count())
    };
    let words = [
        (of(Severity::Error), "error"),
        (of(Severity::Warning), "warning"),
        (of(Severity::Note), "note"),
    ];
    let words: Vec<String> = (words.into_iter())
        .filter(|(number, _)| *number > 0)
        .map(|(number, noun)| count(number, noun))
        .collect();
    let (class, sentence) = match problems.iter().map(Problem::severity).max() {
        _ if !is_found => (
            "bad",
            "There is nothing to follow yet. The first problem says what to begin with.",
        ),
        Some(Severity::Error) => (
            "bad",
            "Each error costs something: a document, an entry or a collection that cannot be read.",
        ),
        Some(Severity::Warning) => (
            "",
            "Everything could be read, though some of it had to be guessed.",
        ),
        Some(Severity::Note) => ("good", "Everything is in order. Notes are advice."),
        None => ("good", "Everything is in order."),
    };
    Verdict {
        class,
        title: match words.is_empty() {
            true => "Nothing to fix".to_owned(),
            false => words.join(", "),
        },
        sentence,
    }
}

fn problem_part(problem: &Problem) -> ProblemPart<'_> {
    let (class, word) = match problem.severity() {
        Severity::Error => ("error-level", "Error"),
        Severity::Warning => ("warning-level", "Warning"),
        Severity::Note => ("note-level", "Note"),
    };
    ProblemPart {
        class,
        word,
        sentence: sentence(&problem.sentence()),
        code: problem.code.name(),
        document: &problem.document,
        line: problem.line,
        fix: problem.code.fix(),
        snippet: &problem.snippet,
    }
}

fn collection_part<'a>(visitor: &Visitor, collection: &'a FoundCollection) -> CollectionPart<'a> {
    let present = visitor.present();
    let pages = net_effect(&collection.changes);
    let host = host_of(&collection.id);
    CollectionPart {
        title: &collection.title,
        id: collection.id.as_str(),
        name: readable_address(&collection.id),
        count: count(number(collection.count), "change"),
        lines: (pages.iter().rev())
            .map(|page| change_line(&present, page, &host))
            .collect(),
        more: collection.count - collection.changes.len(),
    }
}

fn number(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
