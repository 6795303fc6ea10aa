//! The report for authors: what a site says about its changes, and everything that should be better, with the fix.
//!
//! A site is read for it as `sitebell check` reads it, without being followed. What was found is forgotten after a moment
//! ([`made`]), unless somebody wants to keep it ([`kept`], [`listed`]).

mod kept;
mod listed;
mod made;

use actix_web::{HttpResponse, web};
use askama::Template;
use serde::Deserialize;

use self::made::{Found, FoundCollection};
use super::badge::{self, Lines};
use super::changes::{ChangeLine, change_line, host_of};
use super::error::WebError;
use super::forms::{Field, sentence};
use super::frame::{Answer, Frame, form_again, page};
use super::live::{self, Known};
use super::session::Visitor;
use super::words::{When, count};
use super::{Data, get_or_head, only};
use crate::change::net_effect;
use crate::check::rules::{Judged, judge};
use crate::feed::size_in_words;
use crate::problem::{Problem, Severity};
use crate::site::SiteUrl;
use crate::text::readable_address;

pub use self::made::Reports;

/// The page, what came since, and reports that were kept.
pub fn routes(config: &mut web::ServiceConfig) {
    let resource = |path: &str, handler: actix_web::Route| {
        only(web::resource(path).route(handler), "GET, HEAD")
    };
    config
        .service(resource("/check", get_or_head(report)))
        .service(resource("/check/reading.json", get_or_head(reading)))
        .service(only(
            web::resource("/check/keep").route(web::post().to(kept::keep)),
            "POST",
        ))
        .service(resource("/check/{report}", get_or_head(kept::show_kept)))
        .service(resource("/settings/reports", get_or_head(listed::show_own)))
        .service(resource("/admin/reports", get_or_head(listed::show_all)))
        .service(only(
            web::resource("/check/{report}/remove").route(web::post().to(kept::remove)),
            "POST",
        ));
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
    made: Option<When>,
    /// Whether it was kept, and not made a moment ago.
    is_kept: bool,
    /// Where it is removed, for those who may.
    remove: Option<String>,
    /// Why nothing could be read at all.
    failure: Option<&'a str>,
    how: &'static str,
    root: Option<&'a str>,
    summary: String,
    verdict: Verdict,
    rules: Vec<RulePart>,
    problems: Vec<ProblemPart<'a>>,
    more_problems: usize,
    collections: Vec<CollectionPart<'a>>,
    may_add: bool,
    page: Option<String>,
    lines: Option<Lines>,
}

/// What it comes to, in a sentence.
#[derive(Default)]
struct Verdict {
    class: &'static str,
    title: String,
    sentence: String,
    is_perfect: bool,
}

struct RulePart {
    class: &'static str,
    word: &'static str,
    sentence: &'static str,
}

/// Which report is shown.
enum Shown {
    /// One that was made a moment ago.
    New,
    /// One that was kept, and where it is removed, for those who may.
    AsItWas { remove: Option<String> },
}

struct ProblemPart<'a> {
    id: String,
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
    match report.outcome() {
        Some(outcome) => show(&visitor, &site, outcome.as_ref().as_ref(), Shown::New).await,
        None => page(&ReadingPage {
            frame: visitor.frame(),
            name: readable_address(site.url()),
            progress: service.paths.report_reading(site.url().as_str()),
            documents: report.documents.into_vec(),
        }),
    }
}

/// What was found, or why nothing was.
async fn show(
    visitor: &Visitor,
    site: &SiteUrl,
    outcome: Result<&Found, &String>,
    shown: Shown,
) -> Answer {
    let (service, present) = (visitor.service(), visitor.present());
    let known = match service.store.find_site(site).await? {
        Some(id) => service.store.site(id).await?,
        None => None,
    };
    let name = readable_address(site.url());
    let shared = ReportPage {
        frame: visitor.frame(),
        title: &name,
        url: site.url().as_str(),
        name: name.clone(),
        again: service.paths.report(site.url().as_str()),
        made: None,
        is_kept: false,
        remove: None,
        failure: None,
        how: "",
        root: None,
        summary: String::new(),
        verdict: Verdict::default(),
        rules: Vec::new(),
        problems: Vec::new(),
        more_problems: 0,
        collections: Vec::new(),
        may_add: visitor.account().is_some() || service.visitors_add,
        page: known.as_ref().map(|site| service.paths.site(&site.slug)),
        lines: known
            .as_ref()
            .map(|site| badge::lines(&service.paths, site)),
    };
    let found = match outcome {
        Ok(found) => found,
        Err(failure) => {
            return page(&ReportPage {
                failure: Some(failure),
                ..shared
            });
        }
    };
    let judged = judge(found.format, &found.problems);
    let (is_kept, remove) = match shown {
        Shown::New => (false, None),
        Shown::AsItWas { remove } => (true, remove),
    };
    page(&ReportPage {
        title: &found.title,
        url: &found.url,
        made: Some(present.when(found.made_at)),
        is_kept,
        remove,
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
        verdict: verdict(&found.problems, &judged, found.root.is_some()),
        rules: judged.iter().map(rule_part).collect(),
        problems: (found.problems.iter().enumerate())
            .map(|(n, problem)| problem_part(n, problem))
            .collect(),
        more_problems: found.more_problems,
        collections: (found.collections.iter())
            .map(|collection| collection_part(visitor, collection))
            .collect(),
        // Nobody should be led to a feed that stays empty.
        lines: shared.lines.filter(|_| found.root.is_some()),
        ..shared
    })
}

/// What came since, for a page that shows a site being read.
async fn reading(
    service: Data,
    query: web::Query<Query>,
    known: web::Query<Known>,
) -> Result<HttpResponse, WebError> {
    let typed = query.url.as_deref().unwrap_or_default();
    let site = parse(&service, typed).map_err(WebError::Invalid)?;
    let report = service.reports.made(&site);
    let report = report.ok_or(WebError::NotFound("report"))?;
    let is_done = report.outcome().is_some();
    Ok(live::progress(report.documents, &known, is_done))
}

fn parse(service: &Data, typed: &str) -> Result<SiteUrl, String> {
    let site = SiteUrl::parse(typed).map_err(|error| error.to_string())?;
    let judged = service.fetcher.judge(site.url());
    judged.map_err(|refusal| refusal.to_string())?;
    Ok(site)
}

fn verdict(problems: &[Problem], judged: &[Judged], is_found: bool) -> Verdict {
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
    let kept = judged.iter().filter(|one| one.broken.is_none()).count();
    let (class, sentence) = match problems.iter().map(Problem::severity).max() {
        _ if !is_found => (
            "bad",
            "There is nothing to follow yet. The first problem says what to begin with.".to_owned(),
        ),
        Some(Severity::Error) => (
            "bad",
            format!(
                "{kept} of {} rules are kept. Each error costs something: a document, an entry or a collection that \
                 cannot be read.",
                judged.len()
            ),
        ),
        Some(Severity::Warning) => (
            "",
            format!(
                "{kept} of {} rules are kept. Everything could be read, though some of it had to be guessed.",
                judged.len()
            ),
        ),
        Some(Severity::Note) => (
            "good",
            "Everything is in order; notes are advice.".to_owned(),
        ),
        None => (
            "good",
            format!(
                "All {} are kept, and your followers hear of every change. Thank you for taking such good care of it!",
                count(number(judged.len()), "rule")
            ),
        ),
    };
    Verdict {
        class,
        title: match words.is_empty() {
            true => "All good. Nothing to fix!".to_owned(),
            false => words.join(", "),
        },
        sentence,
        is_perfect: problems.is_empty() && is_found,
    }
}

fn rule_part(judged: &Judged) -> RulePart {
    let (class, word) = match judged.broken {
        None => ("kept", "kept"),
        Some(Severity::Note) => ("advice", "advice"),
        Some(Severity::Warning) => ("advice", "not quite kept"),
        Some(Severity::Error) => ("broken", "broken"),
    };
    RulePart {
        class,
        word,
        sentence: judged.rule,
    }
}

fn problem_part(n: usize, problem: &Problem) -> ProblemPart<'_> {
    let (class, word) = match problem.severity() {
        Severity::Error => ("error-level", "Error"),
        Severity::Warning => ("warning-level", "Warning"),
        Severity::Note => ("note-level", "Note"),
    };
    ProblemPart {
        id: format!("fix-{n}"),
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
