//! For those who run the instance: its sites, its accounts, its invites, and how it is.
//!
//! What an account follows is nobody's business: only how much it is is shown.

use actix_web::web;
use askama::Template;
use chrono::TimeDelta;
use serde::Deserialize;

use super::error::WebError;
use super::feeds::Source;
use super::forms::{Field, Form};
use super::frame::{Answer, Frame, Notice, form_again, page, see_other};
use super::session::{SignedIn, SignedInAdmin};
use super::words::{When, count};
use super::{Data, get_or_head, only};
use crate::account::{Account, AccountId, Quotas, Registration};
use crate::secret::InviteKey;
use crate::site::{SiteId, SiteStatus};
use crate::store::{Counts, Invite, SiteFilter, SiteLine};
use crate::text::readable_address;

/// Sites on one page. Each comes with its forms.
const SITES: u32 = 15;
/// Accounts or invites on one page.
const LINES: usize = 50;
/// The largest quota.
const MAX_QUOTA: u32 = 1_000_000;
/// The longest note on an invite.
const MAX_NOTE_CHARS: usize = 60;
/// How long an invite is good.
const INVITE_DAYS: i64 = 14;

/// Everything below `/admin`.
pub fn routes(config: &mut web::ServiceConfig) {
    let get =
        |path: &str, show: actix_web::Route| only(web::resource(path).route(show), "GET, HEAD");
    let post = |path: &str, act: actix_web::Route| only(web::resource(path).route(act), "POST");
    let both = |path: &str, show: actix_web::Route, act: actix_web::Route| {
        only(
            web::resource(path).route(show).route(act),
            "GET, HEAD, POST",
        )
    };
    config
        .service(get("/admin", get_or_head(show)))
        .service(get("/admin/sites", get_or_head(show_sites)))
        .service(post("/admin/sites/check", web::post().to(check_site)))
        .service(post("/admin/sites/pause", web::post().to(pause_site)))
        .service(both(
            "/admin/sites/remove",
            get_or_head(show_remove),
            web::post().to(remove_site),
        ))
        .service(get("/admin/accounts", get_or_head(show_accounts)))
        .service(post("/admin/accounts/disable", web::post().to(disable)))
        .service(post("/admin/accounts/quotas", web::post().to(set_quotas)))
        .service(get("/admin/accounts/{account}", get_or_head(show_account)))
        .service(both(
            "/admin/invites",
            get_or_head(show_invites),
            web::post().to(make_invite),
        ))
        .service(post("/admin/invites/revoke", web::post().to(revoke_invite)));
}

#[derive(Template)]
#[template(path = "admin/index.html")]
struct IndexPage<'a> {
    frame: Frame,
    health: &'static str,
    counts: Counts,
    subscriptions: String,
    size: String,
    version: &'static str,
    settings: &'a [(&'static str, String)],
}

async fn show(service: Data, admin: SignedInAdmin) -> Answer {
    // Whoever sees this page was found in the database, so that is well; what sites are due for long is not.
    let counts = service.store.counts((service.clock)()).await?;
    let health = match (service.store.is_well().await, counts.due) {
        (Err(_), _) => "The database cannot be read.",
        (Ok(()), 0) => "All is well: nothing waits to be checked.",
        (Ok(()), _) => "All is well: what is due is being checked.",
    };
    page(&IndexPage {
        frame: admin.0.frame(),
        health,
        subscriptions: count(counts.subscriptions, "subscription"),
        counts,
        size: size(counts.bytes),
        version: env!("CARGO_PKG_VERSION"),
        settings: &service.people.settings,
    })
}

fn size(bytes: u64) -> String {
    match bytes {
        ..10_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        _ => format!("{} MB", bytes.div_ceil(1_000_000)),
    }
}

#[derive(Template)]
#[template(path = "admin/sites.html")]
struct SitesPage {
    filters: Vec<(&'static str, &'static str, bool)>,
    caption: &'static str,
    lines: Vec<SiteView>,
    back: String,
    more: Option<String>,
    frame: Frame,
}

struct SiteView {
    id: SiteId,
    page: String,
    title: String,
    address: String,
    status: &'static str,
    is_paused: bool,
    summary: Option<String>,
    last: Option<When>,
    next: Option<When>,
    followers: u64,
}

#[derive(Deserialize)]
struct Which {
    show: Option<String>,
    after: Option<i64>,
}

const FILTERS: [(SiteFilter, &str, &str); 4] = [
    (SiteFilter::All, "all", "All sites"),
    (SiteFilter::Due, "due", "Due now"),
    (SiteFilter::Failing, "failing", "Failing"),
    (SiteFilter::Paused, "paused", "Paused"),
];

async fn show_sites(service: Data, admin: SignedInAdmin, query: web::Query<Which>) -> Answer {
    let asked = query.show.as_deref();
    let chosen = FILTERS.iter().find(|(_, name, _)| Some(*name) == asked);
    let (filter, name, caption) = *chosen.unwrap_or(&FILTERS[0]);
    let (after, now) = (query.after.map(SiteId), (service.clock)());
    let mut lines = (service.store)
        .site_lines(filter, after, SITES + 1, now)
        .await?;
    let has_more = lines.len() > SITES as usize;
    lines.truncate(SITES as usize);
    let last = lines.last().filter(|_| has_more).map(|line| line.id);
    let own = format!("admin/sites?show={name}");
    let frame = admin.0.frame();
    page(&SitesPage {
        filters: FILTERS
            .map(|(other, name, label)| (name, label, other == filter))
            .to_vec(),
        caption,
        lines: lines
            .into_iter()
            .map(|line| site_view(&frame, line))
            .collect(),
        back: match query.after {
            Some(after) => format!("/{own}&after={after}"),
            None => format!("/{own}"),
        },
        more: last.map(|id| format!("{}&after={id}", service.paths.at(&own))),
        frame,
    })
}

fn site_view(frame: &Frame, line: SiteLine) -> SiteView {
    SiteView {
        id: line.id,
        page: frame.paths().site(&line.slug),
        title: line.title.unwrap_or(line.slug),
        address: readable_address(&line.url),
        status: match line.status {
            SiteStatus::New => "new",
            SiteStatus::Ok => "well",
            SiteStatus::Failing => "failing",
            SiteStatus::Gone => "gone",
            SiteStatus::Paused => "paused",
        },
        is_paused: line.status == SiteStatus::Paused,
        summary: line.summary.filter(|summary| !summary.is_empty()),
        last: line.last_check_at.map(|at| frame.when(at)),
        next: line.next_check_at.map(|at| frame.when(at)),
        followers: line.followers,
    }
}

/// The page of the list that somebody came from.
fn back(service: &Data, form: &Form) -> String {
    let back = service.paths.own_page(form.text("back"));
    back.unwrap_or_else(|| service.paths.at("admin/sites"))
}

fn site_of(form: &Form) -> Result<SiteId, WebError> {
    let id = form.number("site").map(SiteId);
    id.ok_or(WebError::NotFound("site"))
}

async fn check_site(service: Data, admin: SignedInAdmin, form: Form) -> Answer {
    service.scheduler.check_now(site_of(&form)?).await?;
    admin.0.tell(Notice::new("The site is being checked."));
    see_other(back(&service, &form))
}

async fn pause_site(service: Data, admin: SignedInAdmin, form: Form) -> Answer {
    let is_paused = form.text("paused") == "yes";
    let (id, now) = (site_of(&form)?, (service.clock)());
    if !service.store.set_paused(id, is_paused, now).await? {
        return Err(WebError::NotFound("site").into());
    }
    service.scheduler.wake();
    admin.0.tell(Notice::new(match is_paused {
        true => "The site is paused: it is not checked until it goes on.",
        false => "The site goes on, and is checked now.",
    }));
    see_other(back(&service, &form))
}

#[derive(Template)]
#[template(path = "admin/remove.html")]
struct RemovePage {
    frame: Frame,
    id: SiteId,
    title: String,
    address: String,
    followers: String,
}

#[derive(Deserialize)]
struct One {
    site: Option<i64>,
}

async fn show_remove(service: Data, admin: SignedInAdmin, query: web::Query<One>) -> Answer {
    let id = SiteId(query.site.ok_or(WebError::NotFound("site"))?);
    let before = Some(SiteId(id.0.saturating_sub(1)));
    let lines = (service.store)
        .site_lines(SiteFilter::All, before, 1, (service.clock)())
        .await?;
    let line = lines.into_iter().find(|line| line.id == id);
    let line = line.ok_or(WebError::NotFound("site"))?;
    page(&RemovePage {
        frame: admin.0.frame(),
        id,
        title: line.title.unwrap_or(line.slug),
        address: readable_address(&line.url),
        followers: count(line.followers, "follower"),
    })
}

async fn remove_site(service: Data, admin: SignedInAdmin, form: Form) -> Answer {
    let (id, now) = (site_of(&form)?, (service.clock)());
    if !service.store.remove_site(id, now).await? {
        return Err(WebError::NotFound("site").into());
    }
    service.feeds.changed(Source::Site(id));
    admin.0.tell(Notice::new("The site is removed."));
    see_other(service.paths.at("admin/sites"))
}

#[derive(Template)]
#[template(path = "admin/accounts.html")]
struct AccountsPage {
    registration: &'static str,
    lines: Vec<AccountLine>,
    more: Option<String>,
    frame: Frame,
}

struct AccountLine {
    id: i64,
    name: String,
    created: When,
    state: &'static str,
    sites: u64,
}

#[derive(Deserialize)]
struct Lines {
    after: Option<usize>,
}

impl Lines {
    /// The lines of this page, and where the next one begins.
    fn of<T>(&self, all: Vec<T>) -> (Vec<T>, Option<usize>) {
        let start = self.after.unwrap_or_default();
        let end = start.saturating_add(LINES);
        let next = (all.len() > end).then_some(end);
        (all.into_iter().skip(start).take(LINES).collect(), next)
    }
}

async fn show_accounts(service: Data, admin: SignedInAdmin, query: web::Query<Lines>) -> Answer {
    let (accounts, next) = query.of(service.store.accounts().await?);
    let followed = service.store.sites_followed_by_all().await?;
    let frame = admin.0.frame();
    let line = |account: Account| AccountLine {
        id: account.id.0,
        created: frame.when(account.created_at),
        state: match (account.is_disabled, account.is_admin) {
            (true, _) => "disabled",
            (false, true) => "admin",
            (false, false) => "",
        },
        sites: followed.get(&account.id).copied().unwrap_or_default(),
        name: account.name,
    };
    page(&AccountsPage {
        registration: registration(&service),
        lines: accounts.into_iter().map(line).collect(),
        more: next.map(|next| format!("{}?after={next}", service.paths.at("admin/accounts"))),
        frame,
    })
}

/// Who may sign up, in a sentence.
fn registration(service: &Data) -> &'static str {
    match service.people.registration {
        Registration::Open => {
            "Everybody can sign up (--registration open), so invites are not needed."
        }
        Registration::Invite => "Those who were invited can sign up (--registration invite).",
        Registration::Closed => {
            "Nobody can sign up (--registration closed). “sitebell account add” makes accounts; with --registration \
             invite, invites do."
        }
    }
}

#[derive(Template)]
#[template(path = "admin/account.html")]
struct AccountPage {
    id: i64,
    name: String,
    state: &'static str,
    created: When,
    followed: String,
    is_own: bool,
    is_disabled: bool,
    sites: Field,
    lookups: Field,
    imports: Field,
    usual_sites: String,
    usual_lookups: String,
    usual_imports: String,
    frame: Frame,
}

async fn account_page(own: &SignedIn, account: Account) -> Result<AccountPage, WebError> {
    let service = own.visitor.service();
    let frame = own.frame();
    let field = |quota: Option<u32>| {
        let text = quota.map(|quota| quota.to_string());
        Field::new(&text.unwrap_or_default())
    };
    let usual = service.people.limits.usual();
    let hint = |count: u32| format!("Everybody: {count}.");
    Ok(AccountPage {
        id: account.id.0,
        state: match (account.is_disabled, account.is_admin) {
            (true, _) => "Disabled.",
            (false, true) => "An admin.",
            (false, false) => "",
        },
        created: frame.when(account.created_at),
        followed: count(service.store.sites_followed(account.id).await?, "site"),
        is_own: account.id == own.account.id,
        is_disabled: account.is_disabled,
        sites: field(account.quotas.sites),
        lookups: field(account.quotas.lookups),
        imports: field(account.quotas.imports),
        usual_sites: hint(usual.sites),
        usual_lookups: hint(usual.lookups),
        usual_imports: hint(usual.imports),
        name: account.name,
        frame,
    })
}

async fn show_account(service: Data, admin: SignedInAdmin, id: web::Path<String>) -> Answer {
    let account = account(&service, id.parse().ok()).await?;
    page(&account_page(&admin.0, account).await?)
}

async fn account(service: &Data, id: Option<i64>) -> Result<Account, WebError> {
    let id = AccountId(id.ok_or(WebError::NotFound("account"))?);
    let account = service.store.account(id).await?;
    account.ok_or(WebError::NotFound("account"))
}

async fn disable(service: Data, admin: SignedInAdmin, form: Form) -> Answer {
    let account = account(&service, form.number("account")).await?;
    let is_disabled = form.text("disabled") == "yes";
    if account.id == admin.0.account.id {
        let sentence = "you cannot disable yourself; another admin can";
        return Err(WebError::Conflict(sentence.to_owned()).into());
    }
    service.store.set_disabled(account.id, is_disabled).await?;
    service.feeds.renewed(account.id);
    let name = &account.name;
    admin.0.tell(Notice::new(match is_disabled {
        true => format!("“{name}” is disabled."),
        false => format!("“{name}” is enabled."),
    }));
    see_other(
        service
            .paths
            .at(&format!("admin/accounts/{}", account.id.0)),
    )
}

async fn set_quotas(service: Data, admin: SignedInAdmin, form: Form) -> Answer {
    let account = account(&service, form.number("account")).await?;
    let read = |name: &str| -> Result<Option<u32>, Field> {
        match form.text(name).trim() {
            "" => Ok(None),
            text => match text.parse() {
                Ok(count) if count <= MAX_QUOTA => Ok(Some(count)),
                _ => Err(Field::new(text).wrong(format!(
                    "it must be a whole number, at most {MAX_QUOTA}, or nothing"
                ))),
            },
        }
    };
    let (sites, lookups, imports) = (read("sites"), read("lookups"), read("imports"));
    if let (Ok(sites), Ok(lookups), Ok(imports)) = (&sites, &lookups, &imports) {
        let quotas = Quotas {
            sites: *sites,
            lookups: *lookups,
            imports: *imports,
        };
        service.store.set_quotas(account.id, quotas).await?;
        (admin.0).tell(Notice::new(format!(
            "“{}” has these quotas now.",
            account.name
        )));
        return see_other(
            service
                .paths
                .at(&format!("admin/accounts/{}", account.id.0)),
        );
    }
    let field = |name: &str, read: Result<Option<u32>, Field>| match read {
        Ok(_) => Field::new(form.text(name).trim()),
        Err(field) => field,
    };
    form_again(&AccountPage {
        sites: field("sites", sites),
        lookups: field("lookups", lookups),
        imports: field("imports", imports),
        ..account_page(&admin.0, account).await?
    })
}

#[derive(Template)]
#[template(path = "admin/invites.html")]
struct InvitesPage {
    registration: &'static str,
    days: i64,
    lines: Vec<InviteLine>,
    more: Option<String>,
    note: Field,
    frame: Frame,
}

struct InviteLine {
    id: i64,
    note: String,
    by: String,
    created: When,
    state: String,
    remove: &'static str,
}

async fn invites_page(own: &SignedIn, page: &Lines, note: Field) -> Result<InvitesPage, WebError> {
    let service = own.visitor.service();
    let now = (service.clock)();
    let (invites, next) = page.of(service.store.invites().await?);
    let frame = own.frame();
    let line = |invite: Invite| {
        let state = match &invite.used {
            Some((at, Some(name))) => format!("used by “{name}”, {}", frame.when(*at).exact),
            Some((at, None)) => format!("used {}", frame.when(*at).exact),
            None if invite.expires_at <= now => "too old".to_owned(),
            None => format!("good until {}", frame.when(invite.expires_at).exact),
        };
        let is_open = invite.used.is_none() && invite.expires_at > now;
        InviteLine {
            id: invite.id,
            note: invite.note,
            by: invite.created_by,
            created: frame.when(invite.created_at),
            state,
            remove: if is_open { "Revoke" } else { "Forget" },
        }
    };
    Ok(InvitesPage {
        registration: registration(service),
        days: INVITE_DAYS,
        lines: invites.into_iter().map(line).collect(),
        more: next.map(|next| format!("{}?after={next}", service.paths.at("admin/invites"))),
        note,
        frame,
    })
}

async fn show_invites(admin: SignedInAdmin, query: web::Query<Lines>) -> Answer {
    page(&invites_page(&admin.0, &query, Field::default()).await?)
}

async fn make_invite(service: Data, admin: SignedInAdmin, form: Form) -> Answer {
    let note = form.text("note").trim();
    let wrong = match note.chars().count() {
        0 => Some("say who it is for, so that you know later".to_owned()),
        1..=MAX_NOTE_CHARS => None,
        _ => Some(format!(
            "that is too long; take at most {MAX_NOTE_CHARS} characters"
        )),
    };
    if let Some(wrong) = wrong {
        let note = Field::new(note).wrong(wrong);
        return form_again(&invites_page(&admin.0, &Lines { after: None }, note).await?);
    }
    let key = InviteKey::make()?;
    let now = (service.clock)();
    let until = now + TimeDelta::days(INVITE_DAYS);
    (service.store)
        .add_invite(admin.0.account.id, &key.hash(), note, now, until)
        .await?;
    admin.0.tell(Notice::with_secret(
        "Send this link to whom you invite. It is shown only now:",
        &service.paths.invitation(key.reveal()),
    ));
    see_other(service.paths.at("admin/invites"))
}

async fn revoke_invite(service: Data, admin: SignedInAdmin, form: Form) -> Answer {
    let id = form.number("invite").ok_or(WebError::NotFound("invite"))?;
    if !service.store.remove_invite(id).await? {
        return Err(WebError::NotFound("invite").into());
    }
    admin.0.tell(Notice::new("The invite is removed."));
    see_other(service.paths.at("admin/invites"))
}
