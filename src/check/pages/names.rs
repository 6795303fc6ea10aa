//! Titles of pages from a document beside their list.

use std::collections::{HashMap, HashSet};

use url::Url;

use super::super::lists::is_not_there;
use super::{Top, Walk};
use crate::load::{LoadError, LoadedList};
use crate::memory::{CollectionMemory, Extra, PageKey, Recollection, Stamp};
use crate::moment::Moment;
use crate::problem::Problem;
use crate::read::list::reader_of;

impl Walk<'_, '_> {
    /// A list may say which document gives its pages their titles; otherwise it is the one that the site names (`named`),
    /// or named when it was last looked for.
    pub(super) fn find_titles(&mut self, named: Option<Url>, memory: Option<&CollectionMemory>) {
        if self.titles.is_some() {
            return;
        }
        let known = memory.and_then(|memory| memory.pages.as_ref());
        let known = known.and_then(|pages| Url::parse(pages.state.titles.as_ref()?).ok());
        self.named_titles = named.or(known);
        self.titles.clone_from(&self.named_titles);
    }

    /// A document may be there to give the pages their titles, and to say what the site is.
    pub(super) async fn give_titles(&mut self, top: &mut Top, is_as_before: bool) {
        let Some(url) = self.titles.clone() else {
            return;
        };
        let known = Recollection::default();
        match self.loader.pages(&url, &known, is_as_before).await {
            Ok(index) if index.is_unchanged => {
                top.format = index.format;
                top.about = index.list.about.or(top.about.clone());
            }
            Ok(index) => {
                self.sighted.entitle(&titles_of(&index));
                top.format = index.format;
                top.about = index.list.about.clone().or(top.about.clone());
                self.compare(&index).await;
            }
            Err(error) => {
                if matches!(&error, LoadError::Fetch(error) if is_not_there(error)) {
                    self.named_titles = None;
                }
                self.loader.problems.add(error.problem(&url, &top.url));
            }
        }
    }

    /// The index should know every page of the lists, and be as new as the newest, whichever of them was read anew.
    async fn compare(&mut self, index: &LoadedList) {
        let Some(beside) = &reader_of(index.format).beside else {
            return;
        };
        // Where nothing of the lists is new, nobody has asked for their pages yet.
        let Ok(known) = self.known.get().await else {
            return;
        };
        self.sighted.know(known);
        let named = index.list.names.iter().map(|(url, _)| url.as_str());
        let listed: HashSet<PageKey> = index.sheet.urls().chain(named).map(PageKey::of).collect();
        let (mut missing, mut newest) = (0, Stamp::NONE);
        for (key, stamp) in self.sighted.listed() {
            missing += usize::from(!listed.contains(&key));
            newest = newest.max(stamp);
        }
        if missing > 0 {
            let message = match missing {
                1 => "one page of the sitemap is not in the index".to_owned(),
                _ => format!("{missing} pages of the sitemap are not in the index"),
            };
            let problem = Problem::new(beside.incomplete, &index.url, message);
            self.loader.blame(&index.asked, problem);
        }
        let made_at = index.list.made_at.as_deref();
        let made_at = made_at.and_then(|text| Moment::parse(text).ok());
        if let (Some(made_at), Some(newest)) = (made_at, newest.moment())
            && made_at.comes_before(&newest)
        {
            let message = format!("the index is dated {made_at}, and the newest page {newest}");
            let problem = Problem::new(beside.stale, &index.url, message);
            self.loader.blame(&index.asked, problem);
        }
    }
}

/// What a document says about the pages of others: more of those that it lists itself, of the others their names.
fn titles_of(index: &LoadedList) -> HashMap<PageKey, Extra> {
    let names = index.list.names.iter().map(|(url, name)| {
        let extra = Extra {
            title: Some(name.clone()),
            ..Extra::default()
        };
        (PageKey::of(url), extra)
    });
    names.chain(index.sheet.titles()).collect()
}
