//! What is remembered of single documents, for whoever shows it; checks read all of it with the memory of their site.

use rusqlite::OptionalExtension;
use url::Url;

use super::{Store, StoreError, json, value};
use crate::site::SiteId;

impl Store {
    /// The documents at the top of a site that lists its pages: one, or those that its robots.txt names.
    pub async fn top_lists(&self, site: SiteId) -> Result<Vec<Url>, StoreError> {
        self.read(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT identity, lists FROM collections WHERE site = ?1 AND list IS NOT NULL ORDER BY id",
            )?;
            let mut rows = statement.query([site.0])?;
            while let Some(row) = rows.next()? {
                let near = value::url(row, "identity")?;
                let lists = value::parsed(row, "lists", |text| json::to_lists(text, &near))?;
                let lists = lists.unwrap_or_default();
                if !lists.is_empty() {
                    return Ok(lists.into_iter().map(|list| list.url).collect());
                }
            }
            Ok(Vec::new())
        })
        .await
    }

    /// What is remembered of some documents of a site in place of their bodies, in the same order; nothing of those that
    /// were not read, or of which it is more than `max_bytes`.
    pub async fn outlines(
        &self,
        site: SiteId,
        urls: Vec<Url>,
        max_bytes: u32,
    ) -> Result<Vec<Option<String>>, StoreError> {
        self.read(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT outline FROM documents WHERE site = ?1 AND url = ?2 AND octet_length(outline) <= ?3",
            )?;
            let mut outlines = Vec::with_capacity(urls.len());
            for url in &urls {
                let outline = statement
                    .query_row((site.0, url.as_str(), max_bytes), |row| row.get("outline"))
                    .optional()?;
                outlines.push(outline);
            }
            Ok(outlines)
        })
        .await
    }
}
