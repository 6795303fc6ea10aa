//! Documents that are listed as pages and have the names of sitemaps. Some write an index so; others have pages in XML.
//!
//! What such a document is, it says itself. But a site may have fifty thousand pages in XML, and nobody has to read them
//! all to know that the next one is a page, too.

use super::Walk;
use super::turns::Due;
use crate::change::Page;
use crate::memory::part_of;
use crate::problem::{Code, Problem};

/// After so many that are pages the others are not asked.
const ENOUGH_PAGES: usize = 3;

/// What was found out about such documents so far.
#[derive(Default)]
pub(super) struct Doubts {
    pages: usize,
    /// Whether one of them is a list.
    is_list: bool,
}

impl Walk<'_, '_> {
    /// Whether a document need not be asked what it is.
    pub(super) fn is_surely_a_page(&self, due: &Due) -> bool {
        let are_pages = self.doubts.pages >= ENOUGH_PAGES && !self.doubts.is_list;
        are_pages && self.may_be_a_page(due)
    }

    /// Whether a document that is no list is a page. One that was a list before is only broken.
    pub(super) fn may_be_a_page(&self, due: &Due) -> bool {
        due.is_doubtful && self.loader.last_read_at(&due.url).is_none()
    }

    pub(super) async fn take_as_page(&mut self, due: &Due) {
        self.doubts.pages += 1;
        let mut url = due.url.clone();
        url.set_fragment(None);
        let page = Page {
            url: url.into(),
            lastmod: due.lastmod,
            ..Page::default()
        };
        let sheet = self.loader.sheet_of(&page, &due.listed_in, &self.known);
        match sheet.await {
            Ok(sheet) => {
                let part = part_of(due.url.as_str());
                self.sighted.take(sheet, part, false);
            }
            Err(error) => self.miss(due, &error),
        }
    }

    /// One of them is a list: tells, once, that its index is not written as one.
    pub(super) fn tell_of_list(&mut self, due: &Due) {
        if due.is_doubtful && !self.doubts.is_list {
            self.doubts.is_list = true;
            let message =
                "the entries are sitemaps, so this is an index; it must be a <sitemapindex>";
            let problem = Problem::new(Code::SitemapsAsPages, &due.listed_in, message);
            self.loader.problems.add(problem);
        }
    }
}
