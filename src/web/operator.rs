//! For the programs of whoever runs the instance: whether it is well, and how much there is to do.

use std::fmt::Write as _;

use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpResponse, web};
use serde_json::json;

use super::auth::Operator;
use super::error::WebError;
use super::{Data, get_or_head, only};

/// The format of Prometheus, which all collectors of metrics read.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
const NEVER_KEPT: (header::HeaderName, HeaderValue) =
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));

/// `/healthz` and `/metrics`.
pub fn routes(config: &mut web::ServiceConfig) {
    let get =
        |path: &str, show: actix_web::Route| only(web::resource(path).route(show), "GET, HEAD");
    config
        .service(get("/healthz", get_or_head(health)))
        .service(get("/metrics", get_or_head(metrics)));
}

/// Whether the service is well: `ok`, or what is not.
async fn health(service: Data) -> HttpResponse {
    match service.store.is_well().await {
        Ok(()) => (HttpResponse::Ok().insert_header(NEVER_KEPT)).json(json!({"status": "ok"})),
        Err(error) => {
            tracing::error!(%error, "the store is not well");
            HttpResponse::ServiceUnavailable()
                .insert_header(NEVER_KEPT)
                .json(json!({"status": "failing", "detail": "the database cannot be read"}))
        }
    }
}

/// How much there is, and what was done since the start.
async fn metrics(service: Data, _: Operator) -> Result<HttpResponse, WebError> {
    let counts = service.store.counts((service.clock)()).await?;
    let tally = service.scheduler.tally();
    let rendered = *service.feeds.rendered().borrow();
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!(
        "# HELP sitebell_info The version that runs.\n# TYPE sitebell_info gauge\nsitebell_info{{version=\"{version}\"}} 1\n"
    );
    for (name, kind, help, value) in [
        ("sites", "gauge", "Sites that are known.", counts.sites),
        (
            "sites_due",
            "gauge",
            "Sites that should be checked now.",
            counts.due,
        ),
        (
            "sites_failing",
            "gauge",
            "Sites whose last check failed, or that are gone.",
            counts.failing,
        ),
        (
            "sites_paused",
            "gauge",
            "Sites that are paused.",
            counts.paused,
        ),
        ("accounts", "gauge", "Accounts.", counts.accounts),
        (
            "subscriptions",
            "gauge",
            "Subscriptions of all accounts.",
            counts.subscriptions,
        ),
        (
            "database_bytes",
            "gauge",
            "Size of the database.",
            counts.bytes,
        ),
        (
            "checks_under_way",
            "gauge",
            "Checks that wait, read or are being saved.",
            tally.under_way,
        ),
        (
            "checks_total",
            "counter",
            "Checks that ended since the start.",
            tally.checks,
        ),
        (
            "checks_failed_total",
            "counter",
            "Of these, those that could not read the site.",
            tally.failed,
        ),
        (
            "changes_total",
            "counter",
            "Changes that were announced since the start.",
            tally.changes,
        ),
        (
            "feeds_rendered_total",
            "counter",
            "Feeds that were rendered since the start.",
            rendered,
        ),
        (
            "feed_memory_bytes",
            "gauge",
            "Memory that rendered feeds take.",
            service.feeds.bytes(),
        ),
    ] {
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "# HELP sitebell_{name} {help}\n# TYPE sitebell_{name} {kind}\nsitebell_{name} {value}"
        );
    }
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, TEXT))
        .insert_header(NEVER_KEPT)
        .body(text))
}
