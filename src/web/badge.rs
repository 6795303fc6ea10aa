//! A small picture for the author's own page: that the site can be followed, and when it last changed.

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use askama::Template;

use super::changes::site_title;
use super::feeds::find;
use super::frame::PageError;
use super::paths::Paths;
use super::{Data, get_or_head, only};
use crate::moment::Precision;
use crate::store::SiteRow;

/// Many people look at a page with a badge, and it says nothing that is different within the hour.
const CACHE: &str = "public, max-age=3600";

/// The picture.
pub fn routes(config: &mut web::ServiceConfig) {
    let resource = web::resource("/sites/{site}/badge.svg").route(get_or_head(badge));
    config.service(only(resource, "GET, HEAD"));
}

#[derive(Template)]
#[template(path = "sites/badge.svg", escape = "html")]
struct Badge {
    label: String,
    line: String,
}

async fn badge(service: Data, name: web::Path<String>) -> Result<HttpResponse, PageError> {
    let site = find(&service, &name).await?;
    let badge = Badge {
        label: label(&site),
        line: last_change(&site).unwrap_or_else(|| "follow me".to_owned()),
    };
    // A template that cannot be written is a fault of ours, and an empty picture says no less than none.
    let picture = badge.render().unwrap_or_default();
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "image/svg+xml"))
        .insert_header((header::CACHE_CONTROL, CACHE))
        .body(picture))
}

fn label(site: &SiteRow) -> String {
    format!("Follow {} with Sitebell", site_title(site))
}

/// The day of the newest change.
fn last_change(site: &SiteRow) -> Option<String> {
    let moments = site.collections.iter().filter_map(|one| one.last_processed);
    let moment = moments.max()?;
    let form = match moment.precision() {
        Precision::Year => "%Y",
        Precision::Month => "%b %Y",
        _ => "%-d %b %Y",
    };
    Some(moment.start().format(form).to_string())
}

/// The lines that an author copies.
pub struct Lines {
    /// The badge, with a link to the page of the site.
    pub badge: String,
    /// The feed, for the head of a page.
    pub feed: String,
    /// Where the picture is.
    pub picture: String,
    /// What it says to those who do not see it.
    pub label: String,
}

#[derive(Template)]
#[template(
    source = r#"<a href="{{ page }}"><img src="{{ picture }}" alt="{{ label }}" width="88" height="31"></a>"#,
    ext = "html"
)]
struct BadgeLine<'a> {
    page: String,
    picture: &'a str,
    label: &'a str,
}

#[derive(Template)]
#[template(
    source = r#"<link rel="alternate" type="application/atom+xml" title="Changes of {{ title }}" href="{{ feed }}">"#,
    ext = "html"
)]
struct FeedLine {
    title: String,
    feed: String,
}

/// What the author of a site puts on a page of it.
pub fn lines(paths: &Paths, site: &SiteRow) -> Lines {
    let (picture, label) = (paths.badge(&site.slug), label(site));
    let badge = BadgeLine {
        page: paths.site(&site.slug),
        picture: &picture,
        label: &label,
    };
    let feed = FeedLine {
        title: site_title(site),
        feed: paths.site_feed(&site.slug),
    };
    Lines {
        badge: badge.render().unwrap_or_default(),
        feed: feed.render().unwrap_or_default(),
        picture,
        label,
    }
}
