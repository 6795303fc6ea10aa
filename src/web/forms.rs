//! What people send: forms, read within bounds, and only from our own pages.
//!
//! [`admit`] stands before every handler, so that no route can forget it: a request that may change something is let
//! through only if its browser does not say that another site sent it, and if it carries the token that our own page
//! gave to that browser (see [`form_token`]). Programs that show a token of their own instead of a cookie are let
//! through, at the paths that are meant for them. A form that anybody may send, because nothing depends on who does,
//! needs no token; but a browser that says that the page of another site sent it is refused there too.

use std::future::{Ready, ready};
use std::rc::Rc;
use std::time::Duration;

use actix_web::dev::{Payload, ServiceRequest};
use actix_web::http::header::{self, HeaderMap};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{self, Bytes};
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use tokio::time::timeout;
use url::{Url, form_urlencoded};

use super::Data;
use super::error::WebError;
use super::limits::Act;
use super::session;
use crate::secret::{form_token, is_same};

/// The field that carries the token.
pub const TOKEN_FIELD: &str = "csrf";
/// More than any form that is filled in by hand.
const MAX_BYTES: usize = 16 * 1024;
/// A form this small comes in a moment, or somebody is holding a connection open.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Forms with a file: where they go, and how large they may be.
const WITH_FILES: &[(&str, usize)] = &[("/home/import", 1 << 20)];
/// A file may take longer.
const FILE_TIMEOUT: Duration = Duration::from_secs(60);
/// More than any form has.
const MAX_FIELDS: usize = 100;
/// Where programs ask, which show no cookie.
const FOR_PROGRAMS: &[&str] = &["/api/", "/healthz", "/metrics"];
/// The form that anybody may send, people and programs.
const OPEN: &str = "/ping";

/// The fields of a form that was sent from one of our pages.
#[derive(Clone, Default)]
pub struct Form(Rc<Vec<(String, Bytes)>>);

impl Form {
    /// What is in a field; nothing where there is none, or where it is not text. The first one counts.
    pub fn text(&self, name: &str) -> &str {
        std::str::from_utf8(self.bytes(name)).unwrap_or_default()
    }

    /// The content of a field, or of the file that was chosen there.
    pub fn bytes(&self, name: &str) -> &[u8] {
        let field = self.0.iter().find(|(known, _)| known == name);
        field.map(|(_, value)| &value[..]).unwrap_or_default()
    }

    /// Whether a field is there at all, as that of a box is that was ticked.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// A number in a field, such as that of a row.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.text(name).parse().ok()
    }
}

impl FromRequest for Form {
    type Error = WebError;
    type Future = Ready<Result<Form, WebError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let form = request.extensions().get::<Form>().cloned();
        // A handler that takes a form but is asked with GET gets an empty one.
        ready(Ok(form.unwrap_or_default()))
    }
}

/// Lets a request through that changes nothing, or that one of our own pages sent; the form is kept for the handler.
pub async fn admit(request: &mut ServiceRequest) -> Result<(), WebError> {
    let is_safe = matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE
    );
    let path = request.path();
    if is_safe || FOR_PROGRAMS.iter().any(|head| path.starts_with(head)) {
        return Ok(());
    }
    let service = request.app_data::<Data>().cloned();
    let service = service.expect("every app has its service");
    if is_from_elsewhere(request.headers(), service.paths.root()) {
        return Err(WebError::Forged);
    }
    let limits = &service.people.limits;
    limits.address(Act::Send, limits.client(request.request()))?;
    let is_open = request.path() == OPEN;
    if is_open && !request.query_string().is_empty() {
        // A hook that can be given nothing but an address sends along what it likes, and nobody reads that.
        return Ok(());
    }
    let form = read(request).await?;
    if is_open {
        request.extensions_mut().insert(form);
        return Ok(());
    }
    let secret = session::cookie_secret(request.request(), &service.paths);
    let expected = form_token(&secret.ok_or(WebError::Forged)?);
    if !is_same(&expected, form.text(TOKEN_FIELD)) {
        return Err(WebError::Forged);
    }
    request.extensions_mut().insert(form);
    Ok(())
}

/// Whether this is from a program, which is answered in JSON where people and programs ask at the same address.
pub fn is_from_program(request: &HttpRequest) -> bool {
    let accepted = request.headers().get_all(header::ACCEPT);
    let mut accepted = accepted.filter_map(|value| value.to_str().ok());
    request.path() == OPEN && !accepted.any(|value| value.contains("text/html"))
}

/// Whether a browser says that the page of another site sent this. Where it says nothing, the token decides alone; so
/// it does where it hides the origin, as our own policy for referrers makes some do.
fn is_from_elsewhere(headers: &HeaderMap, own: &Url) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(site) = text("sec-fetch-site") {
        return !matches!(site, "same-origin" | "none");
    }
    let Some(origin) = text("origin").filter(|origin| *origin != "null") else {
        return false;
    };
    let Ok(origin) = Url::parse(origin) else {
        return true;
    };
    let host = origin.host_str().map(|host| match origin.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    });
    origin.origin() != own.origin() && host.as_deref() != text("host")
}

async fn read(request: &mut ServiceRequest) -> Result<Form, WebError> {
    let media_type = request.headers().get(header::CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok());
    let media_type = media_type.unwrap_or_default().to_owned();
    let file = WITH_FILES.iter().find(|(path, _)| *path == request.path());
    let (limit, time) = match file {
        Some((_, limit)) => (*limit, FILE_TIMEOUT),
        None => (MAX_BYTES, TIMEOUT),
    };
    let unreadable = || WebError::Malformed("the form could not be read; send it again".to_owned());
    let body = request.extract::<web::Payload>().await;
    let body = body.map_err(|_| unreadable())?.to_bytes_limited(limit);
    let body = match timeout(time, body).await {
        Ok(Ok(Ok(body))) => body,
        Ok(Ok(Err(_))) => return Err(unreadable()),
        Ok(Err(_)) => {
            let sentence = format!(
                "what was sent is larger than {} kB; send less",
                limit / 1024
            );
            return Err(WebError::Body(StatusCode::PAYLOAD_TOO_LARGE, sentence));
        }
        Err(_) => {
            let sentence = "the form came too slowly; send it again".to_owned();
            return Err(WebError::Body(StatusCode::REQUEST_TIMEOUT, sentence));
        }
    };
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    let fields = match essence.to_ascii_lowercase().as_str() {
        "application/x-www-form-urlencoded" => form_urlencoded::parse(&body)
            .take(MAX_FIELDS)
            .map(|(name, value)| (name.into_owned(), Bytes::from(value.into_owned())))
            .collect(),
        "multipart/form-data" => parts(&media_type, body).await.ok_or_else(unreadable)?,
        // An empty form may come without a type.
        "" if body.is_empty() => Vec::new(),
        _ => {
            let sentence =
                "this takes the fields of a form (Content-Type: application/x-www-form-urlencoded)";
            return Err(WebError::Body(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                sentence.to_owned(),
            ));
        }
    };
    Ok(Form(Rc::new(fields)))
}

/// The fields of a form with files.
async fn parts(media_type: &str, body: Bytes) -> Option<Vec<(String, Bytes)>> {
    let boundary = multer::parse_boundary(media_type).ok()?;
    let mut parts = multer::Multipart::with_reader(&body[..], boundary);
    let mut fields = Vec::new();
    while let Some(part) = parts.next_field().await.ok()? {
        let name = part.name()?.to_owned();
        fields.push((name, part.bytes().await.ok()?));
        if fields.len() > MAX_FIELDS {
            return None;
        }
    }
    Some(fields)
}

/// One field of a form: what was typed, and what is wrong with it.
#[derive(Debug, Clone, Default)]
pub struct Field {
    /// What was typed; never a secret.
    pub value: String,
    /// A sentence, where it cannot be used.
    pub error: Option<String>,
}

impl Field {
    /// A field with something in it.
    pub fn new(value: &str) -> Field {
        Field {
            value: value.to_owned(),
            error: None,
        }
    }

    /// The same with something wrong about it. Sentences of ours begin small, in the middle of other sentences.
    pub fn wrong(mut self, error: impl std::fmt::Display) -> Field {
        self.error = Some(sentence(&error.to_string()));
        self
    }

    /// A field that stays empty, with something wrong about what was typed.
    pub fn secret(error: impl std::fmt::Display) -> Field {
        Field::default().wrong(error)
    }
}

/// A sentence as it stands alone: with a capital and a full stop.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    // The name of a host or an address is written as it is, wherever it stands.
    let is_name = |word: &str| word.trim_end_matches(['.', ',', ':']).contains(['.', ':']);
    let mut sentence: String = match text.split(' ').next().is_some_and(is_name) {
        true => text.to_owned(),
        false => {
            let first = letters.next().map(char::to_uppercase);
            first.into_iter().flatten().chain(letters).collect()
        }
    };
    if !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}
