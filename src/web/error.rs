//! What went wrong, as an answer: a status and one sentence, written as RFC 9457 has it.
//!
//! The one place where status codes of failures are decided. What failed on our side is logged here, once, and told to
//! nobody.

use std::fmt;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header;
use actix_web::{HttpResponse, ResponseError};
use serde_json::json;

use crate::account::Scope;
use crate::schedule::AskError;
use crate::secret::SecretError;
use crate::store::StoreError;

/// Why a request is not answered as hoped.
#[derive(Debug)]
pub enum WebError {
    /// Nothing is at this path.
    NoSuchAddress(String),
    /// The address that was named belongs to nothing that is known here.
    Unknown(String),
    /// There is no such thing, or it is somebody else's: nobody can tell which.
    NotFound(&'static str),
    /// There was one, and it was removed for good.
    Gone(&'static str),
    /// The request cannot be understood.
    Malformed(String),
    /// The body is too large, or came too slowly.
    Body(StatusCode, String),
    /// It can be understood, but not be done.
    Invalid(String),
    /// Nobody showed a token that is good.
    Unauthorized(&'static str),
    /// The token is good, but not for this.
    Forbidden(Scope),
    /// Nobody is signed in, and this is where to do that.
    SignInFirst(String),
    /// Only admins may.
    NotAnAdmin,
    /// A form that did not come from one of our own pages, or from one that is too old.
    Forged,
    /// The path is right, the method is not.
    Method {
        /// What was asked.
        method: String,
        /// What could be.
        methods: &'static str,
    },
    /// Not in the state that things are in.
    Conflict(String),
    /// Too early.
    TooSoon(String, Duration),
    /// Too late: we are stopping.
    Stopping,
    /// We failed.
    Internal(StoreError),
    /// No secret could be made.
    Secret(SecretError),
    /// We failed at something that cannot fail.
    Compression(std::io::Error),
}

impl WebError {
    fn detail(&self) -> String {
        match self {
            WebError::NoSuchAddress(path) => {
                format!("there is nothing at {path}")
            }
            WebError::NotFound(what) => format!("there is no such {what}"),
            WebError::Gone(what) => {
                format!("the {what} was removed from this instance, and is not coming back")
            }
            WebError::Malformed(sentence)
            | WebError::Body(_, sentence)
            | WebError::Unknown(sentence)
            | WebError::Invalid(sentence)
            | WebError::Conflict(sentence)
            | WebError::TooSoon(sentence, _) => sentence.clone(),
            WebError::Unauthorized(sentence) => (*sentence).to_owned(),
            WebError::Forbidden(scope) => {
                format!(
                    "this needs a token with the scope {scope}; make one with sitebell account token"
                )
            }
            WebError::SignInFirst(_) => "sign in first".to_owned(),
            WebError::NotAnAdmin => "this is for admins of this instance only".to_owned(),
            WebError::Forged => {
                "this form is out of date, or it came from another site; go back, load the page again, and send \
                 it from there (cookies must be allowed for this site)"
                    .to_owned()
            }
            WebError::Method { method, methods } => {
                format!("{method} is not possible here; use {methods}")
            }
            WebError::Stopping => "the service is stopping; ask again when it is back".to_owned(),
            WebError::Internal(_) | WebError::Compression(_) | WebError::Secret(_) => {
                "something went wrong on our side; it was noted, and trying again later may help"
                    .to_owned()
            }
        }
    }
}

impl fmt::Display for WebError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail())
    }
}

impl std::error::Error for WebError {}

impl ResponseError for WebError {
    fn status_code(&self) -> StatusCode {
        match self {
            WebError::NoSuchAddress(_) | WebError::NotFound(_) | WebError::Unknown(_) => {
                StatusCode::NOT_FOUND
            }
            WebError::Gone(_) => StatusCode::GONE,
            WebError::Malformed(_) => StatusCode::BAD_REQUEST,
            WebError::Body(status, _) => *status,
            WebError::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            WebError::Unauthorized(_) => StatusCode::UNAUTHORIZED,
            WebError::SignInFirst(_) => StatusCode::SEE_OTHER,
            WebError::Forbidden(_) | WebError::NotAnAdmin | WebError::Forged => {
                StatusCode::FORBIDDEN
            }
            WebError::Method { .. } => StatusCode::METHOD_NOT_ALLOWED,
            WebError::Conflict(_) => StatusCode::CONFLICT,
            WebError::TooSoon(..) => StatusCode::TOO_MANY_REQUESTS,
            WebError::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            WebError::Internal(_) | WebError::Compression(_) | WebError::Secret(_) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        }
    }

    fn error_response(&self) -> HttpResponse {
        if let WebError::Internal(error) = self {
            tracing::error!(error = error as &dyn std::error::Error, "a request failed");
        }
        if let WebError::Compression(error) = self {
            tracing::error!(%error, "a feed could not be compressed");
        }
        if let WebError::Secret(error) = self {
            tracing::error!(%error, "no secret could be made");
        }
        let status = self.status_code();
        let mut response = HttpResponse::build(status);
        response.insert_header((header::CACHE_CONTROL, "no-store"));
        match self {
            WebError::Unauthorized(_) => {
                response.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
            }
            WebError::SignInFirst(location) => {
                response.insert_header((header::LOCATION, location.as_str()));
            }
            WebError::Method { methods, .. } => {
                response.insert_header((header::ALLOW, *methods));
            }
            WebError::TooSoon(_, wait) => {
                response.insert_header((header::RETRY_AFTER, wait.as_secs() + 1));
            }
            WebError::Stopping => {
                response.insert_header((header::RETRY_AFTER, 10));
            }
            _ => {}
        }
        let body = json!({
            "type": "about:blank",
            "title": status.canonical_reason(),
            "status": status.as_u16(),
            "detail": self.detail(),
        });
        response
            .insert_header((header::CONTENT_TYPE, "application/problem+json"))
            .body(body.to_string())
    }
}

impl From<StoreError> for WebError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound(what) => WebError::NotFound(what),
            StoreError::Closed => WebError::Stopping,
            error => WebError::Internal(error),
        }
    }
}

impl From<SecretError> for WebError {
    fn from(error: SecretError) -> Self {
        WebError::Secret(error)
    }
}

impl From<AskError> for WebError {
    fn from(error: AskError) -> Self {
        let sentence = error.to_string();
        match error {
            AskError::NoSuchSite(_) => WebError::NotFound("site"),
            AskError::Paused => WebError::Conflict(sentence),
            AskError::Peace(wait) => WebError::TooSoon(sentence, wait),
            AskError::Stopping => WebError::Stopping,
            AskError::Store(error) => error.into(),
        }
    }
}
