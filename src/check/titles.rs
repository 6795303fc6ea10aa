//! What a site and its collections are called, and by whom they are made.
//!
//! First what `describedby` says, then the title of the described page, then the address. Each costs a request, so each
//! address is asked once, and only a few in one check.

use std::collections::HashMap;

use url::Url;

use super::{CollectionReading, Top};
use crate::load::{Described, LoadError, Loader};
use crate::memory::SiteMemory;
use crate::problem::{Code, Problem};
use crate::read::about;
use crate::site::{About, SiteUrl, same_site};
use crate::text::readable_address;

/// Fills in what the collections are called, and says the same of the site.
pub(super) async fn find(
    loader: &mut Loader<'_>,
    site: &SiteUrl,
    root: Option<&Top>,
    memory: Option<&SiteMemory>,
    collections: &mut [CollectionReading],
) -> About {
    if let Some(memory) = memory.filter(|_| !is_worth_asking(loader, root, collections)) {
        for collection in collections.iter_mut() {
            let known =
                (memory.collections.iter()).find(|known| Some(known.id) == collection.known_as);
            collection.describe(known.map(|known| known.about.clone()).unwrap_or_default());
        }
        return memory.about.clone();
    }
    let mut titles = Titles {
        loader,
        descriptions: HashMap::new(),
        pages: HashMap::new(),
        asked_by: root.map_or_else(|| site.url().clone(), |root| root.url.clone()),
    };
    let home = site.at_root("/");
    let mut about = match root.and_then(|root| root.described_by.as_ref()) {
        Some(url) => titles.description(url, &home).await,
        None => About::default(),
    };
    if let Some(root) = root {
        about = about.or(root.about.clone());
    }
    for collection in collections.iter_mut() {
        let mut found = match collection.described_by.clone() {
            Some(url) => titles.description(&url, &collection.id).await,
            None => About::default(),
        };
        // A page of another site is that site's business.
        let is_document = collection.capability_list.as_ref() == Some(&collection.id)
            || root.is_some_and(|root| root.url == collection.id || root.asked == collection.id);
        let has_page = collection.is_own && !is_document && collection.id.fragment().is_none();
        if found.title.is_none() && has_page {
            found = found.or(titles.page(&collection.id).await);
        }
        collection.describe(found);
    }
    // The only collection of a site and the site are one thing to their author.
    if let [only] = collections
        && same_site(&only.id, &home)
    {
        about = about.or(only.about.clone());
    }
    // Of a site that has nothing no more is asked.
    if about.title.is_none() && (root.is_some() || titles.loader.known_page(&home).is_some()) {
        about = about.or(titles.page(&home).await);
    }
    about
}

/// Whether any document that could lead to other titles is new.
fn is_worth_asking(
    loader: &Loader<'_>,
    root: Option<&Top>,
    collections: &[CollectionReading],
) -> bool {
    let root = root.map(|root| &root.asked);
    let lists = collections
        .iter()
        .filter_map(|collection| collection.capability_list.as_ref());
    root.into_iter().chain(lists).any(|url| loader.is_news(url))
}

impl CollectionReading {
    fn describe(&mut self, about: About) {
        if let Some(title) = &about.title {
            self.title.clone_from(title);
        }
        self.about = about;
    }
}

/// A title for something that has none.
pub(super) fn fallback(url: &Url) -> String {
    readable_address(url)
}

struct Titles<'a, 'b> {
    loader: &'a mut Loader<'b>,
    /// One document may describe all collections of a site.
    descriptions: HashMap<Url, Option<Described>>,
    pages: HashMap<Url, About>,
    /// The document that is told when there are more descriptions than are read.
    asked_by: Url,
}

impl Titles<'_, '_> {
    /// What a `describedby` document says about `described`.
    async fn description(&mut self, url: &Url, described: &Url) -> About {
        if !self.descriptions.contains_key(url) {
            let found = match self.loader.description(url, false).await {
                Ok(found) => Some(found),
                Err(error) => {
                    let problem = error.problem(url, &self.asked_by);
                    self.loader.problems.add(problem);
                    None
                }
            };
            self.descriptions.insert(url.clone(), found);
        }
        let Some(Some(found)) = self.descriptions.get(url) else {
            return About::default();
        };
        let content_type = found.content_type.as_deref();
        about::read(&found.bytes, content_type, &found.url, described).unwrap_or_else(|error| {
            let message = format!("the description is of no use: {error}");
            let problem = Problem::new(Code::MetadataUnreadable, url, message);
            self.loader.problems.add(problem);
            About::default()
        })
    }

    /// What a page says about itself. Nobody promised a page, so its absence is no problem.
    async fn page(&mut self, url: &Url) -> About {
        if let Some(known) = self.pages.get(url) {
            return known.clone();
        }
        let about = match self.loader.known_page(url) {
            Some((answered, head)) => about::of_page((**head).clone(), answered, url),
            None => self.read_page(url).await.unwrap_or_default(),
        };
        self.pages.insert(url.clone(), about.clone());
        about
    }

    async fn read_page(&mut self, url: &Url) -> Result<About, LoadError> {
        let found = self.loader.description(url, true).await?;
        let content_type = found.content_type.as_deref();
        Ok(about::read(&found.bytes, content_type, &found.url, url).unwrap_or_default())
    }
}
