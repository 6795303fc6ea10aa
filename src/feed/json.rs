//! A document as JSON Feed 1.1.

use chrono::SecondsFormat;
use serde_json::{Value, json};

use super::room::{Room, fitting};
use super::words::{href, language, legal};
use super::{Document, Item, authors, subtitle};
use crate::change::ChangedPage;

/// Writes the document at the end of what is there.
pub fn write_json(document: &Document<'_>, written: &mut Vec<u8>) {
    fitting(written, |room, written| {
        written.extend_from_slice(format!("{}\n", feed(document, room)).as_bytes());
    });
}

fn feed(document: &Document<'_>, room: Room) -> Value {
    let subject = document.subject;
    let items = document.laid_out(room);
    let items: Vec<Value> = items
        .map(|(item, listed)| {
            let mut json = item_json(item, listed, room);
            if let Some(language) = document.language_of(item) {
                json["language"] = language.into();
            }
            json
        })
        .collect();
    let mut feed = json!({
        "version": "https://jsonfeed.org/version/1.1",
        "title": legal(subject.title),
        "home_page_url": href(subject.page.as_str()),
        "description": legal(subtitle(subject)),
        "authors": persons(&authors(subject, room)),
    });
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            feed[name] = value.into();
        }
    };
    add("feed_url", document.links.own.clone());
    let said = language(subject.about.language.as_ref());
    add("language", said.map(str::to_owned));
    let next = document.links.next.as_ref();
    add(
        "next_url",
        next.or(document.links.prev_archive.as_ref()).cloned(),
    );
    feed["items"] = items.into();
    feed
}

fn item_json(item: &Item<'_>, listed: &[ChangedPage<'_>], room: Room) -> Value {
    let html = item.content(listed, room);
    let kinds = item.kinds().into_iter();
    let kinds = kinds.map(|kind| kind.as_str().to_owned());
    let tags: Vec<String> = kinds.chain(item.tags(room.tags)).collect();
    let digits = match item.updated_at.timestamp_subsec_nanos() % 1_000 {
        0 => SecondsFormat::Micros,
        _ => SecondsFormat::Nanos,
    };
    let time = item.updated_at.to_rfc3339_opts(digits, true);
    json!({
        "id": legal(&*item.id),
        "url": href(item.alternate(listed).0),
        "title": legal(room.cut(&item.title())),
        "content_html": legal(html),
        "date_published": time,
        "authors": persons(&authors(item.subject, room)),
        "tags": tags,
    })
}

fn persons(names: &[String]) -> Vec<Value> {
    names.iter().map(|name| json!({"name": name})).collect()
}
