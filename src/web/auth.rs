//! Who asks. A handler that takes one of these is only called for those who may.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::{FromRequest, HttpRequest};

use super::Data;
use super::error::WebError;
use super::limits::Limits;
use crate::account::{Account, Scope};
use crate::secret::Token;

/// Somebody who may look.
pub struct Reader(pub Caller);
/// Somebody who may follow, and ask for checks.
pub struct Writer(pub Caller);
/// Somebody who may run the instance.
pub struct Admin(pub Caller);

/// Whoever runs the instance: asks from its own machine, or shows an admin's token.
pub struct Operator;

/// Whose token came with a request, and what it may do.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The account.
    pub account: Account,
    /// The scope of the token.
    pub scope: Scope,
}

impl Caller {
    /// Whether the instance is theirs to run. An account that is no admin any more has tokens that were made before.
    pub fn is_admin(&self) -> bool {
        self.scope == Scope::Admin && self.account.is_admin
    }

    fn may(&self, scope: Scope) -> bool {
        match scope {
            Scope::Admin => self.is_admin(),
            scope => self.scope >= scope,
        }
    }
}

macro_rules! callers {
    ($($name:ident: $scope:expr;)+) => {$(
        impl FromRequest for $name {
            type Error = WebError;
            type Future = Pin<Box<dyn Future<Output = Result<Self, WebError>>>>;

            fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
                let request = request.clone();
                Box::pin(async move { caller(&request, $scope).await.map($name) })
            }
        }
    )+};
}

callers! {
    Reader: Scope::Read;
    Writer: Scope::Write;
    Admin: Scope::Admin;
}

impl FromRequest for Operator {
    type Error = WebError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, WebError>>>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            match Limits::is_local(&request) {
                true => Ok(Operator),
                false => caller(&request, Scope::Admin).await.map(|_| Operator),
            }
        })
    }
}

fn service(request: &HttpRequest) -> &Data {
    (request.app_data::<Data>()).expect("every app has its service")
}

async fn caller(request: &HttpRequest, scope: Scope) -> Result<Caller, WebError> {
    let none = "this needs a token: Authorization: Bearer, followed by one that sitebell account token prints";
    let unknown = "the token is not known, or its account is disabled; sitebell account token prints a new one";
    let shown = bearer(request).ok_or(WebError::Unauthorized(none))?;
    let token = Token::parse(&shown).ok_or(WebError::Unauthorized(unknown))?;
    let found = (service(request).store)
        .account_by_token(&token.hash())
        .await?;
    let (account, given) = found.ok_or(WebError::Unauthorized(unknown))?;
    let caller = Caller {
        account,
        scope: given,
    };
    match caller.may(scope) {
        true => Ok(caller),
        false => Err(WebError::Forbidden(scope)),
    }
}

/// The token of a request. Only ever from this field: what is in an address ends up in logs.
fn bearer(request: &HttpRequest) -> Option<String> {
    let value = request
        .headers()
        .get(header::AUTHORIZATION)?
        .to_str()
        .ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim().to_owned())
}
