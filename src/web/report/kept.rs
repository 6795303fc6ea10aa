//! A report as it was, under an address of its own: to be sent to whoever can put things right.
//!
//! It stays until it is removed, by the account that kept it or by an admin: whoever was sent the address, or wrote it
//! down in a bug report, finds the report there years later. What bounds this is how many are kept (see
//! [`Store::keep_report`](crate::store::Store::keep_report)), and that reports which say the same share one address.

use std::io::Read as _;

use actix_web::web;
use chrono::{DateTime, Utc};
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::made::{Found, FoundCollection};
use super::{Shown, parse, show};
use crate::account::Account;
use crate::change::{Change, ChangeKind, Details};
use crate::moment::Moment;
use crate::problem;
use crate::secret::unguessable_name;
use crate::site::Format;
use crate::store::{ACCOUNT_REPORTS, KeptReport, NewReport, NoRoom, VISITORS_SITE_REPORTS};
use crate::web::error::WebError;
use crate::web::forms::Form;
use crate::web::frame::{Answer, Notice, see_other};
use crate::web::session::{SignedIn, Visitor};

/// What one report may weigh before it is packed. Only one that was made to be large has more.
const MAX_BYTES: usize = 64 * 1024;
/// How everything begins that is packed.
const GZIP: &[u8] = b"\x1f\x8b";

/// Keeps the report that somebody looks at, and leads to its address. One that was forgotten meanwhile is made anew.
pub(super) async fn keep(visitor: Visitor, form: Form) -> Answer {
    let service = visitor.service();
    let site = parse(service, form.text("url")).map_err(WebError::Invalid)?;
    let made = service.reports.made(&site);
    let outcome = made.as_ref().and_then(|report| report.outcome());
    let Some(Ok(found)) = outcome.map(|outcome| &**outcome) else {
        let report = service.paths.report(site.url().as_str());
        return see_other(service.paths.local(&report));
    };
    let text = to_text(found).ok_or_else(|| {
        let sentence = "this report is too long to be kept; put some of it right, and check again";
        WebError::Invalid(sentence.to_owned())
    })?;
    let report = NewReport {
        name: unguessable_name()?,
        made_at: found.made_at,
        site: site.url().to_string(),
        kept_by: visitor.account().map(|account| account.id),
        print: Sha256::digest(&text).into(),
        content: pack(&text),
    };
    let kept = (service.store)
        .keep_report(report, service.reports.most_kept)
        .await?;
    match kept {
        Ok(name) => see_other(service.paths.local(&service.paths.kept_report(&name))),
        Err(reason) => Err(WebError::Conflict(no_room(reason)).into()),
    }
}

fn no_room(reason: NoRoom) -> String {
    match reason {
        NoRoom::Account => format!(
            "you keep {ACCOUNT_REPORTS} reports, which is as many as an account may; remove one that nobody needs any \
             more (they are listed in your settings), and keep this one after that"
        ),
        NoRoom::Site => format!(
            "visitors keep {VISITORS_SITE_REPORTS} reports on this site, which is as many as there is room for; with an \
             account you can keep one of your own"
        ),
        NoRoom::Visitors => "visitors keep as many reports as there is room for; with an account you can keep one of \
                             your own"
            .to_owned(),
        NoRoom::All => "as many reports are kept here as there is room for; ask those who run this service to remove \
                        some, or to allow more"
            .to_owned(),
    }
}

/// Shows one that was kept.
pub(super) async fn show_kept(visitor: Visitor, name: web::Path<String>) -> Answer {
    let service = visitor.service();
    let kept = service.store.report(&name).await?.ok_or_else(missing)?;
    let found = unpack(&kept.content).and_then(|text| from_text(&text, kept.made_at));
    let found = found.ok_or_else(missing)?;
    let site = parse(service, &found.url).map_err(WebError::Invalid)?;
    let may_remove = (visitor.account()).is_some_and(|account| may_remove(account, &kept));
    let remove = may_remove.then(|| service.paths.remove_report(&name));
    show(&visitor, &site, Ok(&found), Shown::AsItWas { remove }).await
}

/// Removes one, for whom it belongs to.
pub(super) async fn remove(own: SignedIn, name: web::Path<String>) -> Answer {
    let service = own.visitor.service();
    let kept = service.store.report(&name).await?;
    // Who has the address may know that it is there, but not more.
    let kept = kept.filter(|kept| may_remove(&own.account, kept));
    let kept = kept.ok_or(WebError::NotFound("report of yours"))?;
    service.store.remove_report(&name).await?;
    own.tell(Notice::new(
        "The report is removed. Its address leads nowhere now.",
    ));
    see_other(match kept.kept_by == Some(own.account.id) {
        true => service.paths.at("settings/reports"),
        false => service.paths.at("admin/reports"),
    })
}

fn may_remove(account: &Account, report: &KeptReport) -> bool {
    account.is_admin || report.kept_by == Some(account.id)
}

fn missing() -> WebError {
    WebError::Unknown(
        "there is no such report, or no longer: it may have been removed by who kept it".to_owned(),
    )
}

fn pack(text: &str) -> Vec<u8> {
    let mut packed = Vec::new();
    let read = GzEncoder::new(text.as_bytes(), Compression::best()).read_to_end(&mut packed);
    read.map_or_else(|_| text.as_bytes().to_vec(), |_| packed)
}

/// The text of a report; the first ones were kept as they are. None if it is neither.
fn unpack(content: &[u8]) -> Option<String> {
    if !content.starts_with(GZIP) {
        return String::from_utf8(content.to_vec()).ok();
    }
    let mut text = String::new();
    let most = u64::try_from(MAX_BYTES).ok()?;
    let read = GzDecoder::new(content).take(most).read_to_string(&mut text);
    read.ok().map(|_| text)
}

#[derive(Serialize, Deserialize)]
struct FoundForm {
    title: String,
    url: String,
    root: Option<String>,
    format: Option<String>,
    collections: Vec<CollectionForm>,
    /// As [`problem::to_stored`] writes them.
    problems: String,
    more_problems: usize,
    requests: u32,
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct CollectionForm {
    title: String,
    id: String,
    count: usize,
    changes: Vec<ChangeForm>,
}

#[derive(Serialize, Deserialize)]
struct ChangeForm {
    url: String,
    kind: String,
    datetime: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Details::is_empty")]
    details: Details,
}

/// None if it is too long even without its changes.
fn to_text(found: &Found) -> Option<String> {
    let texts = [true, false].map(|with_changes| {
        let changes = |collection: &FoundCollection| -> Vec<ChangeForm> {
            let changes = collection.changes.iter().filter(|_| with_changes);
            changes.map(change_form).collect()
        };
        let form = FoundForm {
            title: found.title.clone(),
            url: found.url.clone(),
            root: found.root.clone(),
            format: found.format.map(|format| format.as_str().to_owned()),
            collections: (found.collections.iter())
                .map(|collection| CollectionForm {
                    title: collection.title.clone(),
                    id: collection.id.to_string(),
                    count: collection.count,
                    changes: changes(collection),
                })
                .collect(),
            problems: problem::to_stored(&found.problems),
            more_problems: found.more_problems,
            requests: found.requests,
            bytes: found.bytes,
        };
        serde_json::to_string(&form).expect("texts and numbers can always be written as JSON")
    });
    texts.into_iter().find(|text| text.len() <= MAX_BYTES)
}

fn change_form(change: &Change) -> ChangeForm {
    ChangeForm {
        url: change.url.clone(),
        kind: change.kind.as_str().to_owned(),
        datetime: change.datetime.to_string(),
        title: change.title.clone(),
        details: change.details.clone(),
    }
}

/// None if it was written by something else.
fn from_text(text: &str, made_at: DateTime<Utc>) -> Option<Found> {
    let form: FoundForm = serde_json::from_str(text).ok()?;
    let collections = form.collections.into_iter().map(|collection| {
        let changes = collection.changes.into_iter().map(|change| {
            Some(Change {
                url: change.url,
                kind: ChangeKind::parse(&change.kind)?,
                datetime: Moment::parse(&change.datetime).ok()?,
                title: change.title,
                details: change.details,
            })
        });
        Some(FoundCollection {
            title: collection.title,
            id: collection.id.parse().ok()?,
            count: collection.count,
            changes: changes.collect::<Option<_>>()?,
        })
    });
    Some(Found {
        made_at,
        title: form.title,
        url: form.url,
        root: form.root,
        format: form.format.as_deref().and_then(Format::parse),
        collections: collections.collect::<Option<_>>()?,
        problems: problem::from_stored(&form.problems)?,
        more_problems: form.more_problems,
        requests: form.requests,
        bytes: form.bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Link;
    use crate::problem::{Code, Problem};

    fn found(changes: usize, problems: usize) -> Found {
        let url = "https://fox.example/".parse().unwrap();
        let change = Change {
            url: format!("https://fox.example/{}", "x".repeat(1_000)),
            kind: ChangeKind::Updated,
            datetime: "2026-03-09".parse().unwrap(),
            title: None,
            details: Details {
                note: Some("New photos".to_owned()),
                links: vec![Link::new("successor-version", "https://fox.example/den")],
                ..Details::default()
            },
        };
        let problem = Problem::new(Code::NoUp, &url, "x".repeat(500)).at(7);
        Found {
            made_at: "2026-03-10T12:00:00Z".parse().unwrap(),
            title: "Fox \"Den\"".to_owned(),
            url: url.to_string(),
            root: None,
            format: Some(Format::ResourceSync),
            collections: vec![FoundCollection {
                title: "Fox".to_owned(),
                id: url,
                count: changes,
                changes: vec![change; changes],
            }],
            problems: vec![problem; problems],
            more_problems: 3,
            requests: 4,
            bytes: 5,
        }
    }

    #[test]
    fn a_report_that_is_kept_reads_back_as_it_was() {
        let found = found(10, 3);
        let text = to_text(&found).unwrap();
        let packed = pack(&text);
        assert!(packed.len() < text.len() / 10, "{}", packed.len());
        assert_eq!(unpack(&packed).as_ref(), Some(&text));
        // As the first ones were kept.
        assert_eq!(unpack(text.as_bytes()).as_ref(), Some(&text));
        assert_eq!(from_text(&text, found.made_at), Some(found));
        assert_eq!(from_text("{}", Utc::now()), None);
    }

    #[test]
    fn a_report_that_is_too_long_leaves_out_changes_and_then_is_not_kept() {
        let long = found(100, 3);
        let kept = from_text(&to_text(&long).unwrap(), long.made_at).unwrap();
        assert_eq!(
            (kept.collections[0].count, kept.collections[0].changes.len()),
            (100, 0)
        );
        assert_eq!(to_text(&found(0, 1_000)), None);
    }
}
