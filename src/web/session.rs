//! Who asks, in a browser: a handler that takes one of these is only called for those who may.
//!
//! [`Visitor`] is anybody, [`SignedIn`] somebody with an account, [`SignedInAdmin`] somebody who runs the instance.
//! A session is a secret in a cookie that scripts cannot read and other sites cannot send along with a form; the store
//! has its hash. Cookies that are given or taken on the way are written by [`around`], which also keeps pages that show
//! who is signed in out of every cache.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::cookie::time::Duration as CookieTime;
use actix_web::cookie::{Cookie, SameSite};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{FromRequest, HttpMessage, HttpRequest, ResponseError};
use chrono_tz::Tz;

use super::error::WebError;
use super::frame::{Frame, Notice, PageError, error_page};
use super::limits::{Act, Client, Daily};
use super::paths::Paths;
use super::words::Present;
use super::{Data, forms};
use crate::account::{Account, AccountId, Session};
use crate::secret::{SessionKey, VisitKey, form_token};

/// Browsers forget it after this; the store may end it earlier.
const COOKIE_DAYS: i64 = 180;
/// The longest description of a browser that says nothing we know.
const AGENT_CHARS: usize = 60;

/// Somebody, signed in or not.
#[derive(Clone)]
pub struct Visitor(Rc<Inner>);

struct Inner {
    service: Data,
    signed_in: Option<(Account, Session)>,
    agent: String,
    client: Client,
    /// What was asked for.
    path: String,
    /// What the browser shows in its cookie, or will from now on.
    secret: RefCell<Option<String>>,
    /// Cookies to give and to take.
    cookies: RefCell<Vec<Cookie<'static>>>,
}

/// Somebody with an account.
pub struct SignedIn {
    /// The account.
    pub account: Account,
    /// The session.
    pub session: Session,
    /// The same as anybody.
    pub visitor: Visitor,
}

/// Somebody who runs the instance.
pub struct SignedInAdmin(pub SignedIn);

impl Visitor {
    async fn of(request: &HttpRequest) -> Result<Visitor, WebError> {
        // Asked once for each request: by the handler, and by the page that says that something went wrong.
        if let Some(known) = request.extensions().get::<Visitor>() {
            return Ok(known.clone());
        }
        let service = request.app_data::<Data>().cloned();
        let service = service.expect("every app has its service");
        let shown = cookie(request, session_cookie(&service.paths));
        let key = shown.as_deref().and_then(SessionKey::parse);
        let signed_in = match &key {
            Some(key) => {
                let now = (service.clock)();
                service.store.account_by_session(&key.hash(), now).await?
            }
            None => None,
        };
        let mut cookies = Vec::new();
        let secret = match (&signed_in, &key) {
            (Some(_), Some(key)) => Some(key.reveal().to_owned()),
            _ => {
                // A session that is over would stand in the way of the forms of a visitor.
                if shown.is_some() {
                    cookies.push(taken(&service.paths, session_cookie(&service.paths)));
                }
                visit_secret(request, &service.paths)
            }
        };
        let agent = request.headers().get(header::USER_AGENT);
        let agent = agent.and_then(|value| value.to_str().ok());
        let client = service.people.limits.client(request);
        let visitor = Visitor(Rc::new(Inner {
            service,
            client,
            signed_in,
            agent: describe(agent.unwrap_or_default()),
            path: request.path().to_owned(),
            secret: RefCell::new(secret),
            cookies: RefCell::new(cookies),
        }));
        request.extensions_mut().insert(visitor.clone());
        Ok(visitor)
    }

    /// The service.
    pub fn service(&self) -> &Data {
        &self.0.service
    }

    /// Whether they asked for a page such as `settings`, or for one below it.
    pub fn is_in(&self, page: &str) -> bool {
        let below = self.0.path.strip_prefix('/').unwrap_or_default();
        let rest = below.strip_prefix(page);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Whether they asked for this very page.
    pub fn is_at(&self, page: &str) -> bool {
        self.0.path.strip_prefix('/') == Some(page)
    }

    /// Where they ask from, for limits.
    pub fn client(&self) -> Client {
        self.0.client
    }

    /// Counts a site that they have read, which is new or is read again: for the account, or for the address of a
    /// visitor without one.
    pub fn look_up(&self) -> Result<(), WebError> {
        let limits = &self.0.service.people.limits;
        match self.account() {
            Some(account) => limits.daily(Daily::Lookup, account),
            None => limits.address(Act::Lookup, self.client()),
        }
    }

    /// The account, if somebody is signed in.
    pub fn account(&self) -> Option<&Account> {
        self.0.signed_in.as_ref().map(|(account, _)| account)
    }

    /// The time, where they live.
    pub fn present(&self) -> Present {
        Present {
            now: (self.0.service.clock)(),
            zone: self.account().map_or(Tz::UTC, |account| account.time_zone),
        }
    }

    /// What every page shows around itself. What was to be told is told on this page, and then no more.
    pub fn frame(&self) -> Frame {
        let secret = self.0.secret.borrow();
        let notices = &self.0.service.people.notices;
        let notice = secret.as_ref().and_then(|secret| notices.take(secret));
        Frame::new(self.clone(), notice)
    }

    /// What forms of this browser carry. A browser that shows no cookie yet gets one.
    pub fn form_token(&self) -> String {
        self.secret()
            .map(|secret| form_token(&secret))
            .unwrap_or_default()
    }

    /// Tells something on the next page that this browser shows.
    pub fn tell(&self, notice: Notice) {
        if let Some(secret) = self.secret() {
            self.0.service.people.notices.put(&secret, notice);
        }
    }

    fn secret(&self) -> Option<String> {
        let mut secret = self.0.secret.borrow_mut();
        if secret.is_none() {
            // Without random numbers there are no forms, which are refused then.
            let key = VisitKey::make().ok()?;
            let paths = &self.0.service.paths;
            let value = key.reveal().to_owned();
            self.0
                .cookies
                .borrow_mut()
                .push(given(paths, visit_cookie(paths), value.clone()));
            *secret = Some(value);
        }
        secret.clone()
    }

    /// Signs in: a new session, whose secret was never shown before. The one from before ends.
    pub async fn sign_in(&self, account: AccountId) -> Result<(), WebError> {
        let service = &self.0.service;
        let key = SessionKey::make().map_err(WebError::Secret)?;
        if let Some((before, session)) = &self.0.signed_in {
            service.store.end_session(before.id, session.id).await?;
        }
        let now = (service.clock)();
        (service.store)
            .begin_session(account, &key.hash(), &self.0.agent, now)
            .await?;
        let (paths, value) = (&service.paths, key.reveal().to_owned());
        let mut cookies = self.0.cookies.borrow_mut();
        cookies.retain(|cookie| cookie.name() != session_cookie(paths));
        cookies.push(given(paths, session_cookie(paths), value.clone()));
        cookies.push(taken(paths, visit_cookie(paths)));
        *self.0.secret.borrow_mut() = Some(value);
        Ok(())
    }

    /// Forgets the session in this browser. In the store it ends by itself or by `end_session`.
    pub fn forget(&self) {
        let paths = &self.0.service.paths;
        let mut cookies = self.0.cookies.borrow_mut();
        cookies.push(taken(paths, session_cookie(paths)));
        *self.0.secret.borrow_mut() = None;
    }
}

impl SignedIn {
    /// What every page shows around itself.
    pub fn frame(&self) -> Frame {
        self.visitor.frame()
    }

    /// Tells something on the next page.
    pub fn tell(&self, notice: Notice) {
        self.visitor.tell(notice);
    }
}

macro_rules! people {
    ($($name:ident: $find:expr;)+) => {$(
        impl FromRequest for $name {
            type Error = PageError;
            type Future = Pin<Box<dyn Future<Output = Result<Self, PageError>>>>;

            fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
                let request = request.clone();
                Box::pin(async move { $find(&request).await.map_err(PageError::from) })
            }
        }
    )+};
}

people! {
    Visitor: Visitor::of;
    SignedIn: signed_in;
    SignedInAdmin: signed_in_admin;
}

async fn signed_in(request: &HttpRequest) -> Result<SignedIn, WebError> {
    let visitor = Visitor::of(request).await?;
    match &visitor.0.signed_in {
        Some((account, session)) => Ok(SignedIn {
            account: account.clone(),
            session: session.clone(),
            visitor: visitor.clone(),
        }),
        None => {
            // Only a page can be come back to.
            let page = request.uri().path_and_query();
            let page = page.filter(|_| matches!(*request.method(), Method::GET | Method::HEAD));
            let paths = &visitor.service().paths;
            let location = paths.sign_in_to(page.map(|page| page.as_str()));
            Err(WebError::SignInFirst(location))
        }
    }
}

async fn signed_in_admin(request: &HttpRequest) -> Result<SignedInAdmin, WebError> {
    let signed_in = signed_in(request).await?;
    match signed_in.account.is_admin {
        true => Ok(SignedInAdmin(signed_in)),
        false => Err(WebError::NotAnAdmin),
    }
}

/// Stands around every handler: lets in what may come in, and finishes what goes out.
pub async fn around(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let response = match forms::admit(&mut request).await {
        Ok(()) => next.call(request).await?.map_into_boxed_body(),
        Err(error) => request.into_response(PageError::from(error).error_response()),
    };
    let refusal = response.response().extensions().get().cloned();
    let refusal = refusal.filter(|_| !forms::is_from_program(response.request()));
    let mut response = match refusal {
        Some(refusal) => {
            let visitor = Visitor::of(response.request()).await.ok();
            error_page(response, visitor.as_ref(), refusal)
        }
        None => response,
    };
    let visitor = response.request().extensions().get::<Visitor>().cloned();
    let Some(visitor) = visitor else {
        return Ok(response);
    };
    let cookies = visitor.0.cookies.take();
    let is_personal = visitor.account().is_some() || !cookies.is_empty();
    let headers = response.headers_mut();
    for cookie in cookies {
        if let Ok(value) = HeaderValue::from_str(&cookie.to_string()) {
            headers.append(header::SET_COOKIE, value);
        }
    }
    headers.insert(header::VARY, HeaderValue::from_static("Cookie"));
    if is_personal {
        let never = HeaderValue::from_static("no-store, private");
        headers.insert(header::CACHE_CONTROL, never);
    }
    Ok(response)
}

/// What a browser shows that its forms can be told by.
pub fn cookie_secret(request: &HttpRequest, paths: &Paths) -> Option<String> {
    match cookie(request, session_cookie(paths)) {
        Some(shown) => Some(SessionKey::parse(&shown)?.reveal().to_owned()),
        None => visit_secret(request, paths),
    }
}

fn visit_secret(request: &HttpRequest, paths: &Paths) -> Option<String> {
    let shown = cookie(request, visit_cookie(paths))?;
    Some(VisitKey::parse(&shown)?.reveal().to_owned())
}

fn cookie(request: &HttpRequest, name: &str) -> Option<String> {
    Some(request.cookie(name)?.value().to_owned())
}

/// Browsers take a cookie of such a name only over https, for one host alone.
fn session_cookie(paths: &Paths) -> &'static str {
    match paths.is_https() {
        true => "__Host-sitebell",
        false => "sitebell",
    }
}

fn visit_cookie(paths: &Paths) -> &'static str {
    match paths.is_https() {
        true => "__Host-sitebell-visit",
        false => "sitebell-visit",
    }
}

fn given(paths: &Paths, name: &'static str, value: String) -> Cookie<'static> {
    Cookie::build(name, value)
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(paths.is_https())
        .max_age(CookieTime::days(COOKIE_DAYS))
        .finish()
}

fn taken(paths: &Paths, name: &'static str) -> Cookie<'static> {
    let mut cookie = given(paths, name, String::new());
    cookie.make_removal();
    cookie
}

/// A browser in a few words: `Firefox on Linux`.
fn describe(agent: &str) -> String {
    let among = |names: &[(&str, &'static str)]| {
        let mut names = names.iter();
        names
            .find(|(part, _)| agent.contains(part))
            .map(|(_, name)| *name)
    };
    // Most of them say that they are most of the others too.
    let browser = among(&[
        ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"),
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("SamsungBrowser/", "Samsung Internet"),
        ("Chrome/", "Chrome"),
        ("CriOS/", "Chrome"),
        ("Safari/", "Safari"),
    ]);
    let system = among(&[
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("CrOS", "ChromeOS"),
        ("Linux", "Linux"),
    ]);
    match (browser, system) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(browser), None) => browser.to_owned(),
        _ => {
            let name = agent.chars().filter(|c| !c.is_control());
            let name: String = name.take(AGENT_CHARS).collect();
            match name.trim() {
                "" => "An unknown browser".to_owned(),
                name => name.to_owned(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_told_in_a_few_words() {
        for (agent, told) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
                "Firefox on Linux",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 \
                 Safari/537.36 Edg/140.0.0.0",
                "Edge on Windows",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                 Version/18.0 Mobile/15E148 Safari/604.1",
                "Safari on iPhone",
            ),
            ("curl/8.5", "curl/8.5"),
            ("", "An unknown browser"),
        ] {
            assert_eq!(describe(agent), told);
        }
        assert_eq!(describe(&"x".repeat(5_000)).len(), AGENT_CHARS);
    }
}
