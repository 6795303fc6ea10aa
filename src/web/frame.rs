//! What is the same on every page: who is signed in, what just happened, and how a refusal looks.

use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::dev::ServiceResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpResponse, ResponseError};
use askama::Template;
use chrono::{DateTime, Utc};
use quick_cache::sync::Cache;

use super::error::WebError;
use super::forms::sentence;
use super::paths::Paths;
use super::session::Visitor;
use super::words::When;
use crate::account::{Account, Registration};
use crate::secret::form_token;

/// Browsers that are to be told something at the same time.
const MOST_NOTICES: usize = 1_000;

/// What every page shows around itself: each template has one, called `frame`.
pub struct Frame {
    visitor: Visitor,
    notice: Option<Notice>,
}

impl Frame {
    pub(super) fn new(visitor: Visitor, notice: Option<Notice>) -> Frame {
        Frame { visitor, notice }
    }

    /// Our own addresses.
    pub fn paths(&self) -> &Paths {
        &self.visitor.service().paths
    }

    /// Who is signed in.
    pub fn account(&self) -> Option<&Account> {
        self.visitor.account()
    }

    /// Whether this is the page at a place, such as `home`: links to it say so.
    pub fn is_at(&self, page: &str) -> bool {
        self.visitor.is_at(page)
    }

    /// Whether this is the page at a place, such as `settings`, or one below it.
    pub fn is_in(&self, page: &str) -> bool {
        self.visitor.is_in(page)
    }

    /// What just happened.
    pub fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref()
    }

    /// What every form that is sent with POST carries in a hidden field called `csrf`.
    pub fn csrf(&self) -> String {
        self.visitor.form_token()
    }

    /// An instant as whoever is signed in reads it.
    pub fn when(&self, at: DateTime<Utc>) -> When {
        self.visitor.present().when(at)
    }

    /// Whether everybody may make an account.
    pub fn may_sign_up(&self) -> bool {
        self.visitor.service().people.registration == Registration::Open
    }
}

/// Something that is told once, on the next page.
#[derive(Debug, Clone, Default)]
pub struct Notice {
    /// What happened.
    pub text: String,
    /// A secret that is shown only now.
    pub secret: Option<String>,
    /// A way back.
    pub undo: Option<Undo>,
}

/// A button that takes something back.
#[derive(Debug, Clone)]
pub struct Undo {
    /// What is on it.
    pub label: &'static str,
    /// Where its form goes.
    pub action: String,
    /// The fields of that.
    pub fields: Vec<(&'static str, String)>,
}

impl Notice {
    /// What happened.
    pub fn new(text: impl Into<String>) -> Notice {
        Notice {
            text: text.into(),
            ..Notice::default()
        }
    }

    /// What happened, and a secret that is shown only now.
    pub fn with_secret(text: impl Into<String>, secret: &str) -> Notice {
        Notice {
            secret: Some(secret.to_owned()),
            ..Notice::new(text)
        }
    }

    /// What happened, and a way back.
    pub fn with_undo(text: impl Into<String>, undo: Undo) -> Notice {
        Notice {
            undo: Some(undo),
            ..Notice::new(text)
        }
    }
}

/// What is to be told to whom. In memory: who waits for a page has it in a moment.
pub struct Notices(Cache<String, Notice>);

impl Default for Notices {
    fn default() -> Notices {
        Notices(Cache::new(MOST_NOTICES))
    }
}

impl Notices {
    pub(super) fn put(&self, secret: &str, notice: Notice) {
        self.0.insert(form_token(secret), notice);
    }

    pub(super) fn take(&self, secret: &str) -> Option<Notice> {
        // Mostly there is none, and then nothing need be worked out.
        if self.0.is_empty() {
            return None;
        }
        self.0.remove(&form_token(secret)).map(|(_, notice)| notice)
    }
}

/// How handlers of pages answer.
pub type Answer = Result<HttpResponse, PageError>;

/// A page.
pub fn page(template: &impl Template) -> Answer {
    page_as(StatusCode::OK, template)
}

/// A form that could not be used, with what is wrong at each field.
pub fn form_again(template: &impl Template) -> Answer {
    page_as(StatusCode::UNPROCESSABLE_ENTITY, template)
}

/// A page with another status.
pub fn page_as(status: StatusCode, template: &impl Template) -> Answer {
    // A template that cannot be written is a fault of ours, and there is nothing better to say.
    let text = template.render().unwrap_or_default();
    Ok(HttpResponse::build(status)
        .insert_header((header::CONTENT_TYPE, "text/html; charset=utf-8"))
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .body(text))
}

/// On to another page, after something was done: loading that one again does it not again.
pub fn see_other(location: String) -> Answer {
    Ok(HttpResponse::SeeOther()
        .insert_header((header::LOCATION, location))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .finish())
}

/// A refusal as a page.
#[derive(Debug)]
pub struct PageError(WebError);

impl<E: Into<WebError>> From<E> for PageError {
    fn from(error: E) -> Self {
        PageError(error.into())
    }
}

impl std::fmt::Display for PageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl ResponseError for PageError {
    fn status_code(&self) -> StatusCode {
        self.0.status_code()
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = self.0.error_response();
        response.extensions_mut().insert(Refusal {
            title: match self.status_code() {
                StatusCode::NOT_FOUND => "There is nothing here",
                StatusCode::GONE => "This was removed",
                StatusCode::TOO_MANY_REQUESTS => "Too much at once",
                _ => "That did not work",
            },
            sentence: sentence(&self.0.to_string()),
            is_missing: self.status_code() == StatusCode::NOT_FOUND,
        });
        response
    }
}

/// What an error page says.
#[derive(Clone)]
pub struct Refusal {
    title: &'static str,
    sentence: String,
    is_missing: bool,
}

/// Where not even the frame of a page can be made.
const BARE: &str = "<!doctype html><html lang=\"en\"><title>Sitebell</title><h1>That did not work</h1>\
     <p>Something went wrong on our side; trying again later may help.</p></html>";

/// Makes a page of a refusal that is meant for people. An error does not know who asked, so it is done here.
pub(super) fn error_page(
    mut response: ServiceResponse<BoxBody>,
    visitor: Option<&Visitor>,
    refusal: Refusal,
) -> ServiceResponse<BoxBody> {
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, html);
    let page = match visitor {
        Some(visitor) => ErrorPage {
            frame: Frame::new(visitor.clone(), None),
            title: refusal.title,
            sentence: refusal.sentence,
            is_missing: refusal.is_missing,
        }
        .render()
        .unwrap_or_default(),
        // Who asks cannot be found out, so the frame is left out.
        None => BARE.to_owned(),
    };
    response.map_body(|_, _| BoxBody::new(page))
}

#[derive(Template)]
#[template(path = "pages/error.html")]
struct ErrorPage {
    frame: Frame,
    title: &'static str,
    sentence: String,
    is_missing: bool,
}

/// How long to wait, in words.
pub fn wait_in_words(wait: Duration) -> String {
    let seconds = wait.as_secs() + 1;
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds.div_ceil(60), "minute"),
        _ => (seconds.div_ceil(3_600), "hour"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}
