//! A report as it was, under an address of its own: to be sent to whoever can put things right.

use actix_web::web;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::made::{Found, FoundCollection};
use super::{Shown, parse, show};
use crate::change::{Change, ChangeKind, Details};
use crate::moment::Moment;
use crate::problem;
use crate::secret::unguessable_name;
use crate::site::Format;
use crate::store::REPORT_TIME;
use crate::web::error::WebError;
use crate::web::forms::Form;
use crate::web::frame::{Answer, see_other};
use crate::web::session::Visitor;

/// What one report may weigh. Only one that was made to be large has more.
const MAX_BYTES: usize = 64 * 1024;

/// Keeps the report that somebody looks at, and leads to its address. One that was forgotten meanwhile is made anew.
pub(super) async fn keep(visitor: Visitor, form: Form) -> Answer {
    let service = visitor.service();
    let site = parse(service, form.text("url")).map_err(WebError::Invalid)?;
    let made = service.reports.made(&site);
    let to = |name: &str| see_other(service.paths.local(&service.paths.kept_report(name)));
    if let Some(name) = made.as_ref().and_then(|report| report.kept_as()) {
        return to(name);
    }
    let outcome = made.as_ref().and_then(|report| report.outcome());
    let Some((outcome, Ok(found))) = outcome.map(|outcome| (outcome, &**outcome)) else {
        let report = service.paths.report(site.url().as_str());
        return see_other(service.paths.local(&report));
    };
    let content = to_text(found).ok_or_else(|| {
        let sentence = "this report is too long to be kept; put some of it right, and check again";
        WebError::Invalid(sentence.to_owned())
    })?;
    let name = unguessable_name()?;
    (service.store)
        .keep_report(&name, content, found.made_at)
        .await?;
    service.reports.is_kept(&site, outcome, &name);
    to(&name)
}

/// Shows one that was kept.
pub(super) async fn show_kept(visitor: Visitor, name: web::Path<String>) -> Answer {
    let service = visitor.service();
    let kept = service.store.report(&name, (service.clock)()).await?;
    let found = kept.and_then(|(made_at, content)| from_text(&content, made_at));
    let found = found.ok_or_else(|| {
        let days = REPORT_TIME.num_days();
        WebError::Unknown(format!(
            "there is no such report, or no longer: reports are kept for {days} days"
        ))
    })?;
    let site = parse(service, &found.url).map_err(WebError::Invalid)?;
    show(&visitor, &site, Ok(&found), Shown::AsItWas).await
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
                details: Details::default(),
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
    use crate::problem::{Code, Problem};

    fn found(changes: usize, problems: usize) -> Found {
        let url = "https://fox.example/".parse().unwrap();
        let change = Change {
            url: format!("https://fox.example/{}", "x".repeat(1_000)),
            kind: ChangeKind::Updated,
            datetime: "2026-03-09".parse().unwrap(),
            title: None,
            details: Details::default(),
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
