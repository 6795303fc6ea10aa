//! What is kept as JSON, because nothing is ever looked up by it: what a source adds about a page, a collection's lists,
//! and metadata. Members that say nothing are left out; members that this version does not know are passed over.

use chrono::DateTime;
use serde::{Deserialize, Serialize};
use url::Url;

use super::value::micros;
use crate::change::{Details, Link};
use crate::memory::{ListMemory, ListState};
use crate::moment::Moment;
use crate::site::About;

#[derive(Serialize, Deserialize)]
struct DetailsForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    links: Vec<LinkForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(
        default,
        rename = "inferred",
        skip_serializing_if = "std::ops::Not::not"
    )]
    is_inferred: bool,
}

#[derive(Serialize, Deserialize)]
struct LinkForm {
    rel: String,
    href: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pri: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct ListForm {
    url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lastmod: Option<String>,
    /// In microseconds, as everywhere in the store: it is compared with what is kept of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read_at: Option<i64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_finished: bool,
}

/// None if there is nothing to say.
pub(super) fn from_details(details: &Details) -> Option<String> {
    // Asked of every change: the comparison is much cheaper than a form that stays empty.
    if *details == Details::default() {
        return None;
    }
    let links = (details.links.iter()).map(|link| LinkForm {
        rel: link.rel.clone(),
        href: link.href.clone(),
        pri: link.pri,
        modified: link.modified.map(|moment| moment.to_string()),
        length: link.length,
        media_type: link.media_type.clone(),
        encoding: link.encoding.clone(),
        hash: link.hash.clone(),
    });
    Some(written(&DetailsForm {
        length: details.length,
        media_type: details.media_type.clone(),
        encoding: details.encoding.clone(),
        hash: details.hash.clone(),
        note: details.note.clone(),
        links: links.collect(),
        summary: details.summary.clone(),
        author: details.author.clone(),
        language: details.language.clone(),
        tags: details.tags.clone(),
        is_inferred: details.is_inferred,
    }))
}

pub(super) fn to_details(text: &str) -> Option<Details> {
    let form: DetailsForm = serde_json::from_str(text).ok()?;
    let links = form.links.into_iter().map(|link| {
        Some(Link {
            rel: link.rel,
            href: link.href,
            pri: link.pri,
            modified: moment(link.modified)?,
            length: link.length,
            media_type: link.media_type,
            encoding: link.encoding,
            hash: link.hash,
        })
    });
    Some(Details {
        length: form.length,
        media_type: form.media_type,
        encoding: form.encoding,
        hash: form.hash,
        note: form.note,
        links: links.collect::<Option<_>>()?,
        summary: form.summary,
        author: form.author,
        language: form.language,
        tags: form.tags,
        is_inferred: form.is_inferred,
    })
}

pub(super) fn from_strings(strings: &[String]) -> String {
    written(&strings)
}

/// None if there are none.
pub(super) fn from_lists(lists: &[ListMemory]) -> Option<String> {
    let forms = lists.iter().map(|list| ListForm {
        url: list.url.to_string(),
        from: list.from.map(|moment| moment.to_string()),
        until: list.until.map(|moment| moment.to_string()),
        lastmod: list.lastmod.map(|moment| moment.to_string()),
        read_at: list.read_at.map(micros),
        is_finished: list.is_finished,
    });
    (!lists.is_empty()).then(|| written(&forms.collect::<Vec<_>>()))
}

pub(super) fn to_lists(text: &str) -> Option<Vec<ListMemory>> {
    let forms: Vec<ListForm> = serde_json::from_str(text).ok()?;
    let lists = forms.into_iter().map(|form| {
        Some(ListMemory {
            url: Url::parse(&form.url).ok()?,
            from: moment(form.from)?,
            until: moment(form.until)?,
            lastmod: moment(form.lastmod)?,
            read_at: form.read_at.and_then(DateTime::from_timestamp_micros),
            is_finished: form.is_finished,
        })
    });
    lists.collect()
}

#[derive(Serialize, Deserialize)]
struct ListStateForm {
    #[serde(
        default,
        rename = "stamped",
        skip_serializing_if = "std::ops::Not::not"
    )]
    is_stamped: bool,
    #[serde(default, rename = "of_now", skip_serializing_if = "std::ops::Not::not")]
    is_of_now: bool,
    #[serde(default, skip_serializing_if = "is_zero")]
    masses: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unread: Vec<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edited_at: Option<String>,
    #[serde(
        default,
        rename = "settled",
        skip_serializing_if = "std::ops::Not::not"
    )]
    is_settled: bool,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

pub(super) fn from_list_state(state: &ListState) -> String {
    written(&ListStateForm {
        is_stamped: state.is_stamped,
        is_of_now: state.is_of_now,
        masses: state.masses,
        unread: state.unread.clone(),
        made_at: state.made_at.map(|moment| moment.to_string()),
        edited_at: state.edited_at.map(|moment| moment.to_string()),
        is_settled: state.is_settled,
    })
}

pub(super) fn to_list_state(text: &str) -> Option<ListState> {
    let form: ListStateForm = serde_json::from_str(text).ok()?;
    Some(ListState {
        is_stamped: form.is_stamped,
        is_of_now: form.is_of_now,
        masses: form.masses,
        unread: form.unread,
        made_at: moment(form.made_at)?,
        edited_at: moment(form.edited_at)?,
        is_settled: form.is_settled,
    })
}

/// None if there is nothing to say.
pub(super) fn from_about(about: &About) -> Option<String> {
    (!about.is_empty()).then(|| written(about))
}

pub(super) fn to_about(text: &str) -> Option<About> {
    serde_json::from_str(text).ok()
}

/// None if the text is no moment; a moment that is missing is one, too.
fn moment(text: Option<String>) -> Option<Option<Moment>> {
    match text {
        Some(text) => Moment::parse(&text).ok().map(Some),
        None => Some(None),
    }
}

fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers can always be written as JSON")
}
