//! The reports that are kept, for who keeps them and for admins, who may remove any.

use actix_web::web;
use askama::Template;
use serde::Deserialize;
use url::Url;

use crate::store::ReportLine;
use crate::text::readable_address;
use crate::web::error::WebError;
use crate::web::frame::{Answer, Frame, page};
use crate::web::session::{SignedIn, SignedInAdmin};
use crate::web::words::When;

/// Reports on one page.
const LINES: u32 = 50;

#[derive(Deserialize)]
pub(super) struct Query {
    after: Option<i64>,
}

#[derive(Template)]
#[template(path = "report/listed.html")]
struct ListedPage {
    frame: Frame,
    /// Whether these are the reports of everybody.
    is_all: bool,
    most: u32,
    lines: Vec<Line>,
    more: Option<String>,
}

struct Line {
    site: String,
    address: String,
    remove: String,
    made: When,
    keeper: String,
}

/// One's own.
pub(super) async fn show_own(own: SignedIn, query: web::Query<Query>) -> Answer {
    page(&listed(&own, query.after, false).await?)
}

/// Everybody's.
pub(super) async fn show_all(admin: SignedInAdmin, query: web::Query<Query>) -> Answer {
    page(&listed(&admin.0, query.after, true).await?)
}

async fn listed(own: &SignedIn, after: Option<i64>, is_all: bool) -> Result<ListedPage, WebError> {
    let service = own.visitor.service();
    let keeper = (!is_all).then_some(own.account.id);
    let mut reports = service.store.reports(keeper, after, LINES + 1).await?;
    let here = match is_all {
        true => service.paths.at("admin/reports"),
        false => service.paths.at("settings/reports"),
    };
    let has_more = reports.len() > LINES as usize;
    reports.truncate(LINES as usize);
    let last = reports.last().filter(|_| has_more);
    let more = last.map(|report| format!("{here}?after={}", report.id));
    let frame = own.frame();
    let line = |report: ReportLine| Line {
        site: Url::parse(&report.site).map_or(report.site, |url| readable_address(&url)),
        address: service.paths.kept_report(&report.name),
        remove: service.paths.remove_report(&report.name),
        made: frame.when(report.made_at),
        keeper: report.kept_by.unwrap_or_else(|| "a visitor".to_owned()),
    };
    let lines = reports.into_iter().map(line).collect();
    Ok(ListedPage {
        is_all,
        most: match is_all {
            true => service.reports.most_kept,
            false => crate::store::ACCOUNT_REPORTS,
        },
        lines,
        more,
        frame,
    })
}
