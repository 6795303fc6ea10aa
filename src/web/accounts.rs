//! The way in and out: sign up, sign in, sign out, a new password, and the first account of all.
//!
//! Whether a name or a password is wrong is told to nobody, and takes as long. That a name is taken must be told to
//! who wants it.

use actix_web::http::StatusCode;
use actix_web::web;
use askama::Template;
use serde::Deserialize;

use super::error::WebError;
use super::forms::{Field, Form};
use super::frame::{Answer, Frame, Notice, form_again, page, page_as, see_other};
use super::limits::Act;
use super::session::{SignedIn, Visitor};
use super::{Data, get_or_head, only};
use crate::account::{AccountName, Registration};
use crate::secret::{
    FirstKey, InviteKey, Password, RecoveryCode, hash_password, is_outdated, verify_password,
};
use crate::store::{Admission, NewAccount, StoreError};

const RECOVERY: &str = "This is your recovery code. It is shown only now:";

/// The way in and out.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(only(
            web::resource("/sign-in")
                .route(get_or_head(show_sign_in))
                .route(web::post().to(sign_in)),
            "GET, HEAD, POST",
        ))
        .service(only(
            web::resource("/sign-out").route(web::post().to(sign_out)),
            "POST",
        ))
        .service(only(
            web::resource("/sign-up")
                .route(get_or_head(show_sign_up))
                .route(web::post().to(sign_up)),
            "GET, HEAD, POST",
        ))
        .service(only(
            web::resource("/first-account")
                .route(get_or_head(show_first))
                .route(web::post().to(first)),
            "GET, HEAD, POST",
        ))
        .service(only(
            web::resource("/recover")
                .route(get_or_head(show_recover))
                .route(web::post().to(recover)),
            "GET, HEAD, POST",
        ))
        .service(only(
            web::resource("/welcome").route(get_or_head(welcome)),
            "GET, HEAD",
        ));
}

#[derive(Template)]
#[template(path = "accounts/sign_in.html")]
struct SignInPage {
    frame: Frame,
    next: String,
    name: Field,
    password: Field,
    wrong: Option<&'static str>,
}

#[derive(Deserialize)]
struct Next {
    next: Option<String>,
}

async fn show_sign_in(visitor: Visitor, query: web::Query<Next>) -> Answer {
    let next = query.into_inner().next.unwrap_or_default();
    if visitor.account().is_some() {
        return see_other(landing(visitor.service(), &next));
    }
    page(&SignInPage {
        frame: visitor.frame(),
        next,
        name: Field::default(),
        password: Field::default(),
        wrong: None,
    })
}

async fn sign_in(visitor: Visitor, form: Form) -> Answer {
    let service = visitor.service().clone();
    let (typed, password) = (form.text("name"), form.text("password"));
    service.people.limits.guess(typed, visitor.client())?;
    // What cannot be a name is nobody's, and takes as long as if it were somebody's.
    let name = AccountName::parse(typed).ok();
    let account = match &name {
        Some(name) => service.store.account_by_name(name.as_str()).await?,
        None => None,
    };
    let kept = match &account {
        Some(account) => service.store.password_hash(account.id).await?,
        None => None,
    };
    let is_right = verify_password(password, kept.as_deref()).await?;
    let (Some(account), Some(kept), true) = (account, kept, is_right) else {
        return refuse_sign_in(&visitor, &form, "The name or the password is not right.");
    };
    if account.is_disabled {
        return refuse_sign_in(
            &visitor,
            &form,
            "This account is disabled; ask whoever runs this instance.",
        );
    }
    if is_outdated(&kept)
        && let Ok(password) = Password::parse(password)
    {
        let hash = hash_password(&password).await?;
        (service.store)
            .rehash_password(account.id, &kept, &hash)
            .await?;
    }
    service.people.limits.know(typed, visitor.client());
    visitor.sign_in(account.id).await?;
    see_other(landing(&service, form.text("next")))
}

fn refuse_sign_in(visitor: &Visitor, form: &Form, wrong: &'static str) -> Answer {
    form_again(&SignInPage {
        frame: visitor.frame(),
        next: form.text("next").to_owned(),
        name: Field::new(form.text("name")),
        password: Field::default(),
        wrong: Some(wrong),
    })
}

/// Where somebody goes who has signed in.
fn landing(service: &Data, next: &str) -> String {
    let next = service.paths.own_page(next);
    next.unwrap_or_else(|| service.paths.timeline())
}

async fn sign_out(signed_in: SignedIn) -> Answer {
    let service = signed_in.visitor.service();
    (service.store)
        .end_session(signed_in.account.id, signed_in.session.id)
        .await?;
    signed_in.visitor.forget();
    signed_in.tell(Notice::new("You are signed out."));
    see_other(service.paths.at(""))
}

#[derive(Template)]
#[template(path = "accounts/sign_up.html")]
struct SignUpPage {
    frame: Frame,
    title: &'static str,
    about: &'static str,
    action: &'static str,
    button: &'static str,
    key: String,
    name: Field,
    password: Field,
}

#[derive(Template)]
#[template(path = "accounts/no_sign_up.html")]
struct NoSignUpPage {
    frame: Frame,
    sentence: &'static str,
}

#[derive(Deserialize)]
struct Invitation {
    invite: Option<String>,
}

async fn show_sign_up(visitor: Visitor, query: web::Query<Invitation>) -> Answer {
    if visitor.account().is_some() {
        return see_other(visitor.service().paths.timeline());
    }
    let key = query.into_inner().invite.unwrap_or_default();
    match admission(&visitor, &key).await? {
        Ok(_) => page(&sign_up_page(&visitor, key)),
        Err(sentence) => no_sign_up(&visitor, sentence),
    }
}

async fn sign_up(visitor: Visitor, form: Form) -> Answer {
    let key = form.text("key").to_owned();
    let admission = match admission(&visitor, &key).await? {
        Ok(admission) => admission,
        Err(sentence) => return no_sign_up(&visitor, sentence),
    };
    let empty = sign_up_page(&visitor, key);
    match make_account(&visitor, &form, admission).await? {
        Made::Account => see_other(visitor.service().paths.at("welcome")),
        Made::Wrong(name, password) => form_again(&SignUpPage {
            name,
            password,
            ..empty
        }),
        Made::TooLate => no_sign_up(&visitor, USED_INVITE),
    }
}

const USED_INVITE: &str =
    "This invite was used already, or it is too old. Ask for another one where you got it.";

/// Why a visitor may sign up, or a sentence why not.
async fn admission(
    visitor: &Visitor,
    key: &str,
) -> Result<Result<Admission, &'static str>, WebError> {
    let service = visitor.service();
    Ok(match service.people.registration {
        Registration::Open => Ok(Admission::Open),
        Registration::Closed => Err(
            "Nobody can sign up here at present; accounts are made by whoever runs this instance.",
        ),
        Registration::Invite => {
            let hash = InviteKey::parse(key).map(|key| key.hash());
            let now = (service.clock)();
            match hash {
                None if key.is_empty() => Err(
                    "Only those who were invited can sign up here. Open the link that you were sent.",
                ),
                Some(hash) if service.store.is_invite(&hash, now).await? => {
                    Ok(Admission::Invited(hash))
                }
                _ => Err(USED_INVITE),
            }
        }
    })
}

fn sign_up_page(visitor: &Visitor, key: String) -> SignUpPage {
    SignUpPage {
        frame: visitor.frame(),
        title: "Sign up",
        about: "With an account you follow sites and see everything that changed in one place, and as one feed.",
        action: "sign-up",
        button: "Sign up",
        key,
        name: Field::default(),
        password: Field::default(),
    }
}

fn no_sign_up(visitor: &Visitor, sentence: &'static str) -> Answer {
    let page = NoSignUpPage {
        frame: visitor.frame(),
        sentence,
    };
    page_as(StatusCode::FORBIDDEN, &page)
}

/// What came of wanting an account.
enum Made {
    /// There is one now, and this browser is signed in.
    Account,
    /// Something that was typed cannot be used.
    Wrong(Field, Field),
    /// Somebody else was faster.
    TooLate,
}

async fn make_account(
    visitor: &Visitor,
    form: &Form,
    admission: Admission,
) -> Result<Made, WebError> {
    let service = visitor.service();
    let name = AccountName::parse(form.text("name"));
    let password = Password::parse(form.text("password"));
    let (name, password) = match (name, password) {
        (Ok(name), Ok(password)) => (name, password),
        (name, password) => {
            let typed = Field::new(form.text("name"));
            let name = match name {
                Ok(_) => typed,
                Err(error) => typed.wrong(error),
            };
            let password = password.err().map(Field::secret);
            return Ok(Made::Wrong(name, password.unwrap_or_default()));
        }
    };
    let taken = || {
        let name = Field::new(name.as_str()).wrong("the name is taken; choose another one");
        Made::Wrong(name, Field::default())
    };
    // Before the work of hashing.
    if (service.store.account_by_name(name.as_str()).await?).is_some() {
        // Who is here must be told now and then, but not to those who ask for one name after the other.
        (service.people.limits).address(Act::Guess, visitor.client())?;
        return Ok(taken());
    }
    (service.people.limits).address(Act::SignUp, visitor.client())?;
    let code = RecoveryCode::make()?;
    let account = NewAccount {
        name: name.as_str().to_owned(),
        password_hash: hash_password(&password).await?,
        recovery_hash: code.hash(),
    };
    let now = (service.clock)();
    let id = match service.store.admit_account(account, admission, now).await {
        Ok(id) => id,
        Err(StoreError::Taken) => return Ok(taken()),
        Err(StoreError::NotFound(_)) => return Ok(Made::TooLate),
        Err(error) => return Err(error.into()),
    };
    visitor.sign_in(id).await?;
    visitor.tell(Notice::with_secret(RECOVERY, &code.reveal()));
    Ok(Made::Account)
}

#[derive(Deserialize)]
struct First {
    key: Option<String>,
}

async fn show_first(visitor: Visitor, query: web::Query<First>) -> Answer {
    let key = query.into_inner().key.unwrap_or_default();
    if !is_first(&visitor, &key).await? {
        return no_sign_up(&visitor, USED_LINK);
    }
    page(&first_page(&visitor, key))
}

async fn first(visitor: Visitor, form: Form) -> Answer {
    let key = form.text("key").to_owned();
    if !is_first(&visitor, &key).await? {
        return no_sign_up(&visitor, USED_LINK);
    }
    let empty = first_page(&visitor, key);
    match make_account(&visitor, &form, Admission::First).await? {
        Made::Account => see_other(visitor.service().paths.at("welcome")),
        Made::Wrong(name, password) => form_again(&SignUpPage {
            name,
            password,
            ..empty
        }),
        Made::TooLate => no_sign_up(&visitor, USED_LINK),
    }
}

const USED_LINK: &str = "This link was for the first account of this instance, and it is used up. \
     “sitebell account add” makes others.";

/// Whether this is what was printed at the start, and there is still no account.
async fn is_first(visitor: &Visitor, key: &str) -> Result<bool, WebError> {
    let service = visitor.service();
    let shown = FirstKey::parse(key).map(|key| key.hash());
    match (service.people.first, shown) {
        // Hashes: how far they agree tells nothing.
        (Some(kept), Some(shown)) if kept == shown => Ok(!service.store.has_accounts().await?),
        _ => Ok(false),
    }
}

fn first_page(visitor: &Visitor, key: String) -> SignUpPage {
    SignUpPage {
        title: "The first account",
        about: "It is an admin: it runs this instance. Others are made by signing up, or with “sitebell account add”.",
        action: "first-account",
        button: "Make the account",
        ..sign_up_page(visitor, key)
    }
}

#[derive(Template)]
#[template(path = "accounts/welcome.html")]
struct WelcomePage {
    frame: Frame,
    name: String,
}

async fn welcome(signed_in: SignedIn) -> Answer {
    page(&WelcomePage {
        frame: signed_in.frame(),
        name: signed_in.account.name,
    })
}

#[derive(Template)]
#[template(path = "accounts/recover.html")]
struct RecoverPage {
    frame: Frame,
    name: Field,
    code: Field,
    password: Field,
}

async fn show_recover(visitor: Visitor) -> Answer {
    page(&RecoverPage {
        frame: visitor.frame(),
        name: Field::default(),
        code: Field::default(),
        password: Field::default(),
    })
}

async fn recover(visitor: Visitor, form: Form) -> Answer {
    let service = visitor.service();
    let typed = Field::new(form.text("name"));
    let again = |code: Field, password: Field| {
        form_again(&RecoverPage {
            frame: visitor.frame(),
            name: typed.clone(),
            code,
            password,
        })
    };
    let code = RecoveryCode::parse(form.text("code"));
    let password = Password::parse(form.text("password"));
    let (code, password) = match (code, password) {
        (Ok(code), Ok(password)) => (code, password),
        (code, password) => {
            let code = code.err().map(Field::secret);
            let password = password.err().map(Field::secret);
            return again(code.unwrap_or_default(), password.unwrap_or_default());
        }
    };
    (service.people.limits).guess(form.text("name"), visitor.client())?;
    let account = match AccountName::parse(form.text("name")) {
        Ok(name) => service.store.account_by_name(name.as_str()).await?,
        Err(_) => None,
    };
    let kept = match &account {
        Some(account) => service.store.recovery_hash(account.id).await?,
        None => None,
    };
    let is_right = code.is(kept.as_deref().unwrap_or_default());
    // The work is done in any case, so that how long it takes says nothing.
    let hash = hash_password(&password).await?;
    let (Some(account), true) = (account.filter(|account| !account.is_disabled), is_right) else {
        let wrong = "this is not the recovery code of an account of that name";
        return again(Field::secret(wrong), Field::default());
    };
    let code = RecoveryCode::make()?;
    (service.store)
        .set_password(account.id, &hash, Some(&code.hash()))
        .await?;
    visitor.sign_in(account.id).await?;
    visitor.tell(Notice::with_secret(
        "You have a new password, and are signed out everywhere else. The old recovery code is used up; this is the \
         new one, which is shown only now:",
        &code.reveal(),
    ));
    see_other(service.paths.at("welcome"))
}
