//! What pages that are gone were called: nobody can be asked any more, but it was told before.

use std::borrow::Cow;
use std::collections::HashMap;

use rusqlite::Connection;

use super::StoreError;
use crate::change::{Change, ChangeKind};
use crate::memory::NewEntry;
use crate::site::CollectionId;

/// Changes of a site that are looked through for it, the newest ones: a page that was not heard of for longer is shown by
/// its address.
const RECENT: i64 = 10_000;

/// The titles of pages that are told to be gone without saying what they were called, by address.
pub(super) struct Titles<'a>(HashMap<&'a str, Option<String>>);

impl<'a> Titles<'a> {
    /// Those that are needed for these entries, as they were told before the change with this number.
    pub(super) fn find(
        db: &Connection,
        collection: CollectionId,
        head: &str,
        n: i64,
        entries: &'a [NewEntry],
    ) -> Result<Titles<'a>, StoreError> {
        let changes = entries.iter().flat_map(|entry| &entry.changes);
        let gone = changes.filter(|change| is_nameless(change));
        let mut titles: HashMap<&str, Option<String>> =
            gone.map(|change| (change.url.as_str(), None)).collect();
        if !titles.is_empty() {
            // Bit 2 of the shape says whether the head applies.
            let mut told = db.prepare_cached(
                "SELECT iif(shape & 4, ?3 || url, url) AS url, title FROM changes
                 WHERE collection = ?1 AND n >= ?2 AND title IS NOT NULL ORDER BY n",
            )?;
            let mut rows = told.query((collection.0, n.saturating_sub(RECENT), head))?;
            while let Some(row) = rows.next()? {
                let url = row.get_ref("url")?.as_str();
                let url = url.map_err(|_| StoreError::Unreadable("url"))?;
                if let Some(title) = titles.get_mut(url) {
                    *title = row.get("title")?;
                }
            }
        }
        Ok(Titles(titles))
    }

    /// The change with what its page was called. They come in the order in which they are saved.
    pub(super) fn complete<'b>(&mut self, change: &'b Change) -> Cow<'b, Change> {
        match self.0.get_mut(change.url.as_str()) {
            Some(Some(title)) if is_nameless(change) => Cow::Owned(Change {
                title: Some(title.clone()),
                ..change.clone()
            }),
            Some(title) if change.title.is_some() => {
                title.clone_from(&change.title);
                Cow::Borrowed(change)
            }
            _ => Cow::Borrowed(change),
        }
    }
}

fn is_nameless(change: &Change) -> bool {
    change.kind == ChangeKind::Deleted && change.title.is_none()
}
