//! A document as JSON Feed 1.1.

use chrono::SecondsFormat;
use serde_json::{Value, json};

use super::{Document, Item, authors, content, href, legal, subtitle};

/// The document.
pub fn to_json(document: &Document<'_>) -> String {
    let subject = document.subject;
    let items = document.laid_out().into_iter();
    let items: Vec<Value> = items
        .map(|(item, allowed)| item_json(item, allowed))
        .collect();
    let mut feed = json!({
        "version": "https://jsonfeed.org/version/1.1",
        "title": legal(subject.title),
        "home_page_url": href(subject.page.as_str()),
        "description": legal(subtitle(subject)),
        "authors": persons(&authors(subject)),
    });
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            feed[name] = value.into();
        }
    };
    add("feed_url", document.links.own.clone());
    add("language", subject.about.language.clone());
    let next = document.links.next.as_ref();
    add(
        "next_url",
        next.or(document.links.prev_archive.as_ref()).cloned(),
    );
    feed["items"] = items.into();
    format!("{feed}\n")
}

fn item_json(item: &Item<'_>, allowed: usize) -> Value {
    let listed = content::listed(&item.pages, allowed);
    let html = content::html(listed, item.pages.len(), item.url.as_deref(), item.note);
    let kinds = item.kinds().into_iter();
    let kinds = kinds.map(|kind| kind.as_str().to_owned());
    let tags: Vec<String> = kinds.chain(item.tags()).collect();
    let time = item.updated_at.to_rfc3339_opts(SecondsFormat::Micros, true);
    json!({
        "id": legal(&*item.id),
        "url": href(&item.alternate()),
        "title": legal(item.title()),
        "content_html": legal(html),
        "date_published": time,
        "authors": persons(&authors(item.subject)),
        "tags": tags,
    })
}

fn persons(names: &[String]) -> Vec<Value> {
    names.iter().map(|name| json!({"name": name})).collect()
}
