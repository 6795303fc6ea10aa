//! What is one's own: password, sessions, tokens, the private feed, the time zone, one's data, and the end of it.

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use askama::Template;
use chrono::SecondsFormat;
use chrono_tz::{TZ_VARIANTS, Tz};
use serde_json::json;

use super::error::WebError;
use super::forms::{Field, Form};
use super::frame::{Answer, Frame, Notice, form_again, page, see_other};
use super::session::SignedIn;
use super::words::When;
use super::{Data, get_or_head, only};
use crate::account::{Scope, SessionId};
use crate::secret::{Password, RecoveryCode, Token, hash_password, verify_password};
use crate::store::ACCOUNT_REPORTS;

/// The longest name of a token.
const MAX_NAME_CHARS: usize = 60;
/// Tokens of one account.
const MOST_TOKENS: usize = 50;

/// Everything below `/settings`.
pub fn routes(config: &mut web::ServiceConfig) {
    let post =
        |path: &str, handler: actix_web::Route| only(web::resource(path).route(handler), "POST");
    let both = |path: &str, show: actix_web::Route, act: actix_web::Route| {
        only(
            web::resource(path).route(show).route(act),
            "GET, HEAD, POST",
        )
    };
    config
        .service(only(
            web::resource("/settings").route(get_or_head(show)),
            "GET, HEAD",
        ))
        .service(both(
            "/settings/password",
            get_or_head(show_password),
            web::post().to(change_password),
        ))
        .service(post("/settings/recovery-code", web::post().to(renew_code)))
        .service(both(
            "/settings/sessions",
            get_or_head(show_sessions),
            web::post().to(end_session),
        ))
        .service(post(
            "/settings/sessions/others",
            web::post().to(end_others),
        ))
        .service(both(
            "/settings/tokens",
            get_or_head(show_tokens),
            web::post().to(make_token),
        ))
        .service(post(
            "/settings/tokens/revoke",
            web::post().to(revoke_token),
        ))
        .service(post("/settings/feed", web::post().to(renew_feed)))
        .service(both(
            "/settings/time-zone",
            get_or_head(show_zone),
            web::post().to(set_zone),
        ))
        .service(only(
            web::resource("/settings/data.json").route(get_or_head(data)),
            "GET, HEAD",
        ))
        .service(both(
            "/settings/delete",
            get_or_head(show_delete),
            web::post().to(delete),
        ));
}

#[derive(Template)]
#[template(path = "settings/index.html")]
struct IndexPage {
    name: String,
    is_admin: bool,
    zone: &'static str,
    feed_made: Option<When>,
    frame: Frame,
}

async fn show(service: Data, own: SignedIn) -> Answer {
    let made = service.store.feed_key_made_at(own.account.id).await?;
    let frame = own.frame();
    page(&IndexPage {
        name: own.account.name,
        is_admin: own.account.is_admin,
        zone: own.account.time_zone.name(),
        feed_made: made.map(|at| frame.when(at)),
        frame,
    })
}

#[derive(Template)]
#[template(path = "settings/password.html")]
struct PasswordPage {
    frame: Frame,
    name: String,
    current: Field,
    password: Field,
    own: Field,
}

fn password_page(own: &SignedIn) -> PasswordPage {
    PasswordPage {
        frame: own.frame(),
        name: own.account.name.clone(),
        current: Field::default(),
        password: Field::default(),
        own: Field::default(),
    }
}

async fn show_password(own: SignedIn) -> Answer {
    page(&password_page(&own))
}

async fn change_password(service: Data, own: SignedIn, form: Form) -> Answer {
    let password = match Password::parse(form.text("password")) {
        Ok(password) => password,
        Err(error) => {
            return form_again(&PasswordPage {
                password: Field::secret(error),
                ..password_page(&own)
            });
        }
    };
    if let Some(current) = wrong_password(&own, form.text("current")).await? {
        return form_again(&PasswordPage {
            current,
            ..password_page(&own)
        });
    }
    let hash = hash_password(&password).await?;
    (service.store)
        .set_password(own.account.id, &hash, None)
        .await?;
    own.visitor.sign_in(own.account.id).await?;
    own.tell(Notice::new(
        "Your password is changed, and you are signed out everywhere else.",
    ));
    see_other(service.paths.at("settings"))
}

async fn renew_code(service: Data, own: SignedIn, form: Form) -> Answer {
    if let Some(wrong) = wrong_password(&own, form.text("own")).await? {
        return form_again(&PasswordPage {
            own: wrong,
            ..password_page(&own)
        });
    }
    let code = RecoveryCode::make()?;
    (service.store)
        .set_recovery(own.account.id, &code.hash())
        .await?;
    own.tell(Notice::with_secret(
        "This is your new recovery code. It is shown only now:",
        &code.reveal(),
    ));
    see_other(service.paths.at("settings"))
}

/// The field of a password with what is wrong about it; none if it is the right one. Guesses are limited here too: a
/// session may be somebody else's.
async fn wrong_password(own: &SignedIn, typed: &str) -> Result<Option<Field>, WebError> {
    let service = own.visitor.service();
    (service.people.limits).guess_own(&own.account, own.visitor.client())?;
    let kept = service.store.password_hash(own.account.id).await?;
    let is_right = verify_password(typed, kept.as_deref()).await?;
    Ok((!is_right).then(|| Field::secret("this is not your password")))
}

#[derive(Template)]
#[template(path = "settings/sessions.html")]
struct SessionsPage {
    lines: Vec<SessionLine>,
    frame: Frame,
}

struct SessionLine {
    id: i64,
    agent: String,
    is_this: bool,
    created: When,
    seen: When,
}

async fn show_sessions(service: Data, own: SignedIn) -> Answer {
    let now = (service.clock)();
    let sessions = service.store.sessions(own.account.id, now).await?;
    let frame = own.frame();
    let line = |session: crate::account::Session| SessionLine {
        id: session.id.0,
        is_this: session.id == own.session.id,
        agent: session.agent,
        created: frame.when(session.created_at),
        seen: frame.when(session.seen_at),
    };
    page(&SessionsPage {
        lines: sessions.into_iter().map(line).collect(),
        frame,
    })
}

async fn end_session(service: Data, own: SignedIn, form: Form) -> Answer {
    let id = form.number("session").map(SessionId);
    let id = id.ok_or(WebError::NotFound("session"))?;
    if !service.store.end_session(own.account.id, id).await? {
        return Err(WebError::NotFound("session").into());
    }
    if id == own.session.id {
        own.visitor.forget();
        own.tell(Notice::new("You are signed out."));
        return see_other(service.paths.at(""));
    }
    own.tell(Notice::new("That browser is signed out."));
    see_other(service.paths.at("settings/sessions"))
}

async fn end_others(service: Data, own: SignedIn) -> Answer {
    (service.store)
        .end_other_sessions(own.account.id, own.session.id)
        .await?;
    own.tell(Notice::new("You are signed out everywhere else."));
    see_other(service.paths.at("settings/sessions"))
}

#[derive(Template)]
#[template(path = "settings/tokens.html")]
struct TokensPage {
    lines: Vec<TokenLine>,
    name: Field,
    scopes: Vec<(&'static str, &'static str, bool)>,
    frame: Frame,
}

struct TokenLine {
    id: i64,
    name: String,
    scope: &'static str,
    created: When,
}

async fn tokens_page(own: &SignedIn, name: Field, chosen: Scope) -> Result<TokensPage, WebError> {
    let service = own.visitor.service();
    let tokens = service.store.tokens(own.account.id).await?;
    let frame = own.frame();
    let line = |token: crate::store::Token| TokenLine {
        id: token.id,
        name: match token.name.is_empty() {
            true => "made at the command line".to_owned(),
            false => token.name,
        },
        scope: may(token.scope),
        created: frame.when(token.created_at),
    };
    let scopes = [Scope::Read, Scope::Write, Scope::Admin].into_iter();
    let scopes = scopes.filter(|scope| *scope != Scope::Admin || own.account.is_admin);
    Ok(TokensPage {
        lines: tokens.into_iter().map(line).collect(),
        name,
        scopes: scopes
            .map(|scope| (scope.as_str(), may(scope), scope == chosen))
            .collect(),
        frame,
    })
}

/// What a scope means.
fn may(scope: Scope) -> &'static str {
    match scope {
        Scope::Read => "Look",
        Scope::Write => "Look, follow, and ask for checks",
        Scope::Admin => "Everything, with all sites",
    }
}

async fn show_tokens(own: SignedIn) -> Answer {
    page(&tokens_page(&own, Field::default(), Scope::Write).await?)
}

async fn make_token(service: Data, own: SignedIn, form: Form) -> Answer {
    let scope = Scope::parse(form.text("scope")).unwrap_or(Scope::Read);
    if scope == Scope::Admin && !own.account.is_admin {
        return Err(WebError::NotAnAdmin.into());
    }
    let name = form.text("name").trim();
    let wrong = if name.is_empty() {
        Some("say what it is for, so that you know later which one to revoke".to_owned())
    } else if name.chars().count() > MAX_NAME_CHARS {
        Some(format!(
            "that is too long; take at most {MAX_NAME_CHARS} characters"
        ))
    } else if service.store.tokens(own.account.id).await?.len() >= MOST_TOKENS {
        Some(format!(
            "you have {MOST_TOKENS} tokens; revoke one that is not needed"
        ))
    } else {
        None
    };
    if let Some(wrong) = wrong {
        let name = Field::new(name).wrong(wrong);
        return form_again(&tokens_page(&own, name, scope).await?);
    }
    let token = Token::make()?;
    let now = (service.clock)();
    (service.store)
        .add_token(own.account.id, &token.hash(), name, scope, now)
        .await?;
    own.tell(Notice::with_secret(
        "This is your new token. It is shown only now:",
        token.reveal(),
    ));
    see_other(service.paths.at("settings/tokens"))
}

async fn revoke_token(service: Data, own: SignedIn, form: Form) -> Answer {
    let id = form.number("token").ok_or(WebError::NotFound("token"))?;
    if !service.store.remove_token(own.account.id, id).await? {
        return Err(WebError::NotFound("token").into());
    }
    own.tell(Notice::new("The token is revoked."));
    see_other(service.paths.at("settings/tokens"))
}

async fn renew_feed(service: Data, own: SignedIn) -> Answer {
    let feed_url = super::feeds::renew(&service, own.account.id).await?;
    own.tell(Notice::with_secret(
        "This is the address of your private feed; give it to your feed reader. It is shown only now:",
        &feed_url,
    ));
    see_other(service.paths.at("settings"))
}

#[derive(Template)]
#[template(path = "settings/time_zone.html")]
struct ZonePage {
    frame: Frame,
    zones: Vec<&'static str>,
    chosen: String,
    wrong: Option<&'static str>,
}

fn zone_page(own: &SignedIn, chosen: &str, wrong: Option<&'static str>) -> ZonePage {
    // Names without a place are of other times.
    let names = TZ_VARIANTS.iter().map(|zone| zone.name());
    let names = names.filter(|name| name.contains('/') || *name == "UTC");
    ZonePage {
        frame: own.frame(),
        zones: names.filter(|name| !name.starts_with("Etc/")).collect(),
        chosen: chosen.to_owned(),
        wrong,
    }
}

async fn show_zone(own: SignedIn) -> Answer {
    page(&zone_page(&own, own.account.time_zone.name(), None))
}

async fn set_zone(service: Data, own: SignedIn, form: Form) -> Answer {
    let typed = form.text("zone");
    let Ok(zone) = typed.parse::<Tz>() else {
        let wrong = "There is no such time zone; choose one of these.";
        return form_again(&zone_page(&own, own.account.time_zone.name(), Some(wrong)));
    };
    service.store.set_time_zone(own.account.id, zone).await?;
    own.tell(Notice::new(format!("Times are those of {}.", zone.name())));
    see_other(service.paths.at("settings"))
}

/// Everything that is kept about an account, but for what only hashes are kept of.
async fn data(service: Data, own: SignedIn) -> Answer {
    let (store, account, now) = (&service.store, &own.account, (service.clock)());
    let instant = |at: chrono::DateTime<chrono::Utc>| at.to_rfc3339_opts(SecondsFormat::Secs, true);
    let mut subscriptions = Vec::new();
    let sites = store.followed_sites(account.id).await?;
    for subscription in store.subscriptions(account.id).await? {
        let Some(site) = sites.get(&subscription.site) else {
            continue;
        };
        let mut collections = site.collections.iter();
        let collection = collections.find(|known| Some(known.id) == subscription.collection);
        subscriptions.push(json!({
            "site": site.url.as_str(),
            "title": site.title,
            "collection": collection.map(|collection| collection.identity.as_str()),
            "folder": subscription.folder,
        }));
    }
    let sessions = store.sessions(account.id, now).await?.into_iter();
    let sessions = sessions.map(|session| {
        json!({
            "browser": session.agent,
            "signed_in_at": instant(session.created_at),
            "last_seen_at": instant(session.seen_at),
        })
    });
    let tokens = store.tokens(account.id).await?.into_iter();
    let tokens = tokens.map(|token| {
        json!({
            "name": token.name,
            "scope": token.scope.as_str(),
            "created_at": instant(token.created_at),
        })
    });
    let kept = store
        .reports(Some(account.id), None, ACCOUNT_REPORTS)
        .await?;
    let reports = kept.into_iter().map(|report| {
        json!({
            "site": report.site,
            "read_at": instant(report.made_at),
            "report": service.paths.kept_report(&report.name),
        })
    });
    let data = json!({
        "account": {
            "name": account.name,
            "admin": account.is_admin,
            "created_at": instant(account.created_at),
            "time_zone": account.time_zone.name(),
            "timeline_seen_until": store.visited_at(account.id).await?.map(instant),
            "private_feed_made_at": store.feed_key_made_at(account.id).await?.map(instant),
        },
        "subscriptions": subscriptions,
        "sessions": sessions.collect::<Vec<_>>(),
        "tokens": tokens.collect::<Vec<_>>(),
        "reports": reports.collect::<Vec<_>>(),
    });
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "application/json"))
        .insert_header((
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"sitebell.json\"",
        ))
        .body(format!("{data:#}\n")))
}

#[derive(Template)]
#[template(path = "settings/delete.html")]
struct DeletePage {
    frame: Frame,
    name: String,
    password: Field,
}

async fn show_delete(own: SignedIn) -> Answer {
    page(&DeletePage {
        frame: own.frame(),
        name: own.account.name,
        password: Field::default(),
    })
}

async fn delete(service: Data, own: SignedIn, form: Form) -> Answer {
    if let Some(password) = wrong_password(&own, form.text("password")).await? {
        return form_again(&DeletePage {
            frame: own.frame(),
            name: own.account.name,
            password,
        });
    }
    service.store.remove_account(own.account.id).await?;
    service.feeds.renewed(own.account.id);
    own.visitor.forget();
    own.tell(Notice::new(
        "Your account is deleted, with everything that it followed.",
    ));
    see_other(service.paths.at(""))
}
