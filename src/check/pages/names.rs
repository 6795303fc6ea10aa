//! Titles of pages from a document beside their list.

use std::collections::{HashMap, HashSet};

use super::{Top, Walk};
use crate::load::LoadedList;
use crate::memory::{Extra, PageKey, Recollection};
use crate::moment::Moment;
use crate::problem::{Code, Problem};

impl Walk<'_, '_> {
    /// A document may be there to give the pages their titles, and to say what the site is.
    pub(super) async fn give_titles(&mut self, top: &mut Top) {
        let Some(url) = self.titles.clone() else {
            return;
        };
        match self
            .loader
            .pages(&url, &Recollection::default(), false)
            .await
        {
            Ok(index) => {
                let titles: HashMap<PageKey, Extra> = index.sheet.titles().collect();
                self.sighted.entitle(&titles);
                top.format = index.format;
                top.about = index.list.about.clone().or(top.about.clone());
                self.compare(&index);
            }
            Err(error) => self.loader.problems.add(error.problem(&url, &top.url)),
        }
    }

    /// The index should know every page, and be as new as the newest.
    fn compare(&mut self, index: &LoadedList) {
        let listed: HashSet<&str> = index.sheet.urls().collect();
        let fresh = &self.sighted.fresh;
        let missing = (0..fresh.len())
            .filter(|&place| !listed.contains(fresh.url(place)))
            .count();
        if missing > 0 {
            let message = format!("{missing} pages of the sitemap are not in the index");
            let problem = Problem::new(Code::SpxiIncomplete, &index.url, message);
            self.loader.problems.add(problem);
        }
        let newest = (0..fresh.len())
            .filter_map(|place| fresh.stamp(place).moment())
            .max();
        let made_at = index
            .list
            .made_at
            .as_deref()
            .and_then(|text| Moment::parse(text).ok());
        if let (Some(made_at), Some(newest)) = (made_at, newest)
            && made_at.comes_before(&newest)
        {
            let message = format!("the index is dated {made_at}, and the newest page {newest}");
            self.loader
                .problems
                .add(Problem::new(Code::SpxiStale, &index.url, message));
        }
    }
}
