//! Asks changed pages what they are called, where their site told only their addresses.
//!
//! In the background and after the check is saved, so that no feed waits for it; through the same fetcher, so that no host
//! is asked more often than otherwise. What is not found out (the site is slow, the service stops) is left: the page is
//! shown by its address, and asked again when it changes again. Entries keep their ids and times.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{DateTime, Utc};
use tokio::sync::Semaphore;
use tokio::time::timeout_at;
use tracing::{debug, warn};
use url::Url;

use super::Inner;
use crate::change::ChangeKind;
use crate::check::page_title;
use crate::fetch::{Errand, FetchError};
use crate::site::{SiteId, same_site};
use crate::store::{ChangeRow, Cursor, PageTitle, StoreError};

/// Pages that are asked after one check, those first that changed last.
const PAGES: usize = 20;
/// Sites whose pages are asked at the same time.
const AT_ONCE: usize = 8;
/// Sites that wait for that or are at it; more than these get no titles this time.
const MOST: usize = 1_000;
/// Changes that are read at once to find the pages.
const BATCH: u32 = 1_000;

/// The searches for titles that are under way.
pub(super) struct Titles {
    permits: Semaphore,
    count: AtomicUsize,
}

impl Titles {
    pub(super) fn new() -> Titles {
        Titles {
            permits: Semaphore::new(AT_ONCE),
            count: AtomicUsize::new(0),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }
}

/// Begins to look for the titles of the pages that changed after this place.
pub(super) fn find(inner: &Arc<Inner>, site: SiteId, after: Cursor) {
    let count = &inner.titles.count;
    let counted = count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| {
        (count < MOST).then_some(count + 1)
    });
    if counted.is_err() {
        debug!(site.id = site.0, "too many sites wait for titles");
        return;
    }
    let search = Search {
        inner: inner.clone(),
        site,
    };
    inner.runtime.spawn(search.run(after));
}

/// However it ends, it counts no more.
struct Search {
    inner: Arc<Inner>,
    site: SiteId,
}

impl Drop for Search {
    fn drop(&mut self) {
        self.inner.titles.count.fetch_sub(1, Ordering::SeqCst);
        self.inner.ended.send_modify(|count| *count += 1);
    }
}

impl Search {
    async fn run(self, after: Cursor) {
        let (work, site) = (&self.inner.work, self.site);
        let mut stopping = self.inner.stopping.subscribe();
        let _permit = tokio::select! {
            permit = self.inner.titles.permits.acquire() => permit,
            _ = stopping.wait_for(|is_stopping| *is_stopping) => return,
        };
        match self.find(after).await {
            Ok(true) => (work.words_listener)(site),
            Ok(false) => {}
            Err(error) => warn!(site.id = site.0, %error, "titles of pages could not be kept"),
        }
    }

    /// Whether any was found.
    async fn find(&self, after: Cursor) -> Result<bool, StoreError> {
        let (work, site) = (&self.inner.work, self.site);
        let Some(row) = work.store.site(site).await? else {
            // It was removed a moment ago.
            return Ok(false);
        };
        let homes: Vec<Url> = [Some(row.url), row.root].into_iter().flatten().collect();
        let pages = self.untitled(after, &homes).await?;
        let titles = self.ask(pages).await;
        match titles.is_empty() {
            true => Ok(false),
            false => {
                let now = (work.clock)();
                work.store.give_titles(site, titles, now).await
            }
        }
    }

    /// The pages of the site itself that changed after this place and have no title, those that changed last first. What
    /// a site says about pages of others gives nobody a reason to ask those.
    async fn untitled(&self, after: Cursor, homes: &[Url]) -> Result<Vec<Untitled>, StoreError> {
        let mut pages = Pages::default();
        let mut next = Some(after);
        while let Some(place) = next {
            let batch = self.inner.work.store.changes(self.site, Some(place), BATCH);
            let rows;
            (rows, next) = batch.await?;
            for row in rows {
                pages.add(row);
            }
            pages.keep_newest(homes);
        }
        Ok(pages.newest_first())
    }

    async fn ask(&self, pages: Vec<Untitled>) -> Vec<PageTitle> {
        let work = &self.inner.work;
        let mut stopping = self.inner.stopping.subscribe();
        let limits = &work.settings.limits;
        let errand = Errand::new(limits.bytes, limits.time);
        let mut titles = Vec::new();
        for page in pages {
            let asking = timeout_at(
                errand.deadline(),
                page_title(&work.fetcher, &page.url, &errand),
            );
            let answer = tokio::select! {
                biased;
                _ = stopping.wait_for(|is_stopping| *is_stopping) => break,
                answer = asking => answer,
            };
            match answer {
                Ok(Ok(Some(title))) => titles.push(page.called(title)),
                Ok(Ok(None)) => {}
                Ok(Err(error)) => {
                    debug!(page.url = %page.url, %error, "a page does not tell its title");
                    if is_about_the_host(&error) {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        titles
    }
}

/// Whether asking for another page of the same host would end in the same way, or be rude.
fn is_about_the_host(error: &FetchError) -> bool {
    let is_over = matches!(
        error,
        FetchError::OverBudget { .. }
            | FetchError::OverTime { .. }
            | FetchError::RobotsUnreachable { .. }
            | FetchError::Status {
                status: 429 | 503,
                ..
            }
    );
    is_over || error.host().is_some()
}

/// A page that has no title.
struct Untitled {
    url: Url,
    changed_at: DateTime<Utc>,
    changes: Vec<Cursor>,
}

impl Untitled {
    fn called(self, title: String) -> PageTitle {
        PageTitle {
            url: self.url.into(),
            title,
            changes: self.changes,
        }
    }
}

/// Pages without a title, by their address.
#[derive(Default)]
struct Pages(HashMap<String, Untitled>);

impl Pages {
    /// Takes the next change, in the order in which they were found.
    fn add(&mut self, row: ChangeRow) {
        let (cursor, change) = (row.cursor, row.change);
        if change.kind == ChangeKind::Deleted {
            // Nobody is at home.
            self.0.remove(&change.url);
            return;
        }
        let Ok(url) = Url::parse(&change.url) else {
            return;
        };
        if change.title.is_some() {
            return;
        }
        let changed_at = change.datetime.start();
        let page = self.0.entry(change.url).or_insert(Untitled {
            url,
            changed_at,
            changes: Vec::new(),
        });
        page.changed_at = page.changed_at.max(changed_at);
        page.changes.push(cursor);
    }

    /// Forgets pages of other sites, and all but the last to change.
    fn keep_newest(&mut self, homes: &[Url]) {
        let is_own = |page: &Untitled| homes.iter().any(|home| same_site(&page.url, home));
        self.0.retain(|_, page| is_own(page));
        let newest = std::mem::take(self).newest_first().into_iter().take(PAGES);
        self.0 = newest.map(|page| (page.url.to_string(), page)).collect();
    }

    fn newest_first(self) -> Vec<Untitled> {
        let mut pages: Vec<Untitled> = self.0.into_values().collect();
        // Those of one day in the order in which they were told.
        pages.sort_by_key(|page| (Reverse(page.changed_at), page.changes[0]));
        pages
    }
}
