//! What is kept as JSON, because nothing is ever looked up by it: what a source adds about a page, a collection's lists,
//! and metadata. Members that say nothing are left out; members that this version does not know are passed over.

use chrono::DateTime;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use url::Url;

use super::value::micros;
use crate::change::Details;
use crate::memory::{ListMemory, ListState};
use crate::moment::Moment;
use crate::site::About;
use crate::text::address::parse_near;

#[derive(Serialize, Deserialize)]
struct ListForm {
    url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<Moment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Moment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lastmod: Option<Moment>,
    /// In microseconds, as everywhere in the store: it is compared with what is kept of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read_at: Option<i64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_finished: bool,
}

/// None if there is nothing to say.
pub(super) fn from_details(details: &Details) -> Option<String> {
    // Asked of every change: the comparison is much cheaper than writing nothing.
    if details.is_empty() {
        return None;
    }
    Some(written(details))
}

pub(super) fn to_details(text: &str) -> Option<Details> {
    read(text)
}

/// None if there are none.
pub(super) fn from_lists(lists: &[ListMemory]) -> Option<String> {
    let forms = lists.iter().map(|list| ListForm {
        url: list.url.to_string(),
        from: list.from,
        until: list.until,
        lastmod: list.lastmod,
        read_at: list.read_at.map(micros),
        is_finished: list.is_finished,
    });
    (!lists.is_empty()).then(|| written(&forms.collect::<Vec<_>>()))
}

/// `near` is an address at the site that has them.
pub(super) fn to_lists(text: &str, near: &Url) -> Option<Vec<ListMemory>> {
    let forms: Vec<ListForm> = read(text)?;
    let lists = forms.into_iter().map(|form| {
        Some(ListMemory {
            url: parse_near(&form.url, near)?,
            from: form.from,
            until: form.until,
            lastmod: form.lastmod,
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
    turn: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_at: Option<Moment>,
    #[serde(
        default,
        rename = "made_anew",
        skip_serializing_if = "std::ops::Not::not"
    )]
    is_made_anew: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edited_at: Option<Moment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    titles: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    broken_since: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unread_beside_since: Option<i64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    hidden: i64,
    #[serde(
        default,
        rename = "settled",
        skip_serializing_if = "std::ops::Not::not"
    )]
    is_settled: bool,
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

pub(super) fn from_list_state(state: &ListState) -> String {
    written(&ListStateForm {
        is_stamped: state.is_stamped,
        is_of_now: state.is_of_now,
        masses: state.masses,
        unread: state.unread.clone(),
        turn: state.turn,
        made_at: state.made_at,
        is_made_anew: state.is_made_anew,
        edited_at: state.edited_at,
        titles: state.titles.clone(),
        broken_since: state.broken_since.map(micros),
        unread_beside_since: state.unread_beside_since.map(micros),
        hidden: state.hidden,
        is_settled: state.is_settled,
    })
}

pub(super) fn to_list_state(text: &str) -> Option<ListState> {
    let form: ListStateForm = read(text)?;
    Some(ListState {
        is_stamped: form.is_stamped,
        is_of_now: form.is_of_now,
        masses: form.masses,
        unread: form.unread,
        turn: form.turn,
        made_at: form.made_at,
        is_made_anew: form.is_made_anew,
        edited_at: form.edited_at,
        titles: form.titles,
        broken_since: (form.broken_since).and_then(DateTime::from_timestamp_micros),
        unread_beside_since: (form.unread_beside_since).and_then(DateTime::from_timestamp_micros),
        hidden: form.hidden,
        is_settled: form.is_settled,
    })
}

/// None if there is nothing to say.
pub(super) fn from_about(about: &About) -> Option<String> {
    (!about.is_empty()).then(|| written(about))
}

pub(super) fn to_about(text: &str) -> Option<About> {
    read(text)
}

pub(super) fn read<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

pub(super) fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers can always be written as JSON")
}
