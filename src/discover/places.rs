//! Where documents usually are, for sites that do not say where theirs is.

use url::Url;

use super::told::outcome_of;
use super::up::climb;
use super::{Found, FoundBy, MAX_REQUESTS, NOT_ASKED, Search, lists};
use crate::load::{Loader, Page};
use crate::read::link::Link;
use crate::read::list::READERS;
use crate::site::{Format, SiteUrl, same_site};

/// A site has one SPXI index, and may name it twice.
const MAX_INDEXES: usize = 2;
/// What it is called.
const INDEX_NAME: &str = "spxi-index.jsonld";

impl Search {
    /// Looks where such documents usually are, as long as that is not asking too much.
    pub(super) async fn at_usual_places(
        &mut self,
        loader: &mut Loader<'_>,
        site: &SiteUrl,
    ) -> Option<Found> {
        // A host that sends everybody elsewhere would do so every time.
        let home = (loader.known_page(site.url())).map_or(site.url(), |(answered, _)| answered);
        let home = match same_site(home, site.url()) {
            true => SiteUrl::from(home),
            false => site.clone(),
        };
        // A project that has a folder of a host keeps its sitemap there.
        let in_folder = home.url().join("sitemap.xml").ok();
        let in_folder = in_folder.filter(|url| *url != home.at_root("/sitemap.xml"));
        let in_folder = in_folder.into_iter().map(|url| (Format::Sitemap, url));
        // A plain sitemap is what nearly everybody has, and the last of all formats.
        let readers = READERS.iter().rev().take(1);
        let readers = readers.chain(&READERS[..READERS.len().saturating_sub(1)]);
        let at_root = readers.flat_map(|reader| {
            let places = reader.places.iter();
            places.map(|path| (reader.format, home.at_root(path)))
        });
        let mut places: Vec<(Format, Url)> = in_folder.chain(at_root).collect();
        // What is named comes before all that is guessed, but a sitemap tells when its pages changed, and an index not.
        let after = (places.iter()).position(|(_, url)| url.path() == "/sitemap.xml");
        let after = after.map_or(0, |place| place + 1);
        places.retain(|(_, url)| !self.indexes.contains(url));
        let named = self.indexes.iter().take(MAX_INDEXES).cloned();
        places.splice(after..after, named.map(|url| (Format::Spxi, url)));
        for (format, url) in places {
            if loader.requests() >= MAX_REQUESTS {
                self.note(format, &url, NOT_ASKED);
                continue;
            }
            let outcome = match loader.candidate(&url, &self.known).await {
                Ok(Page::Document(Ok(loaded))) => {
                    self.note(Format::ResourceSync, &url, "found");
                    let root = climb(loader, loaded, FoundBy::UsualPlace, &[]).await;
                    return Some(Found::Log(root));
                }
                Ok(Page::List(Ok(list))) => {
                    self.note(list.format, &url, "found");
                    return Some(lists(vec![*list], FoundBy::UsualPlace));
                }
                Ok(Page::Html(_)) => "a web page".to_owned(),
                Ok(Page::Document(Err(error)) | Page::List(Err(error))) => {
                    // It is there and broken, which is worth knowing.
                    loader.problems.add(error.problem(&url, &url));
                    outcome_of(Some(&error))
                }
                Err(error) => outcome_of(Some(&error)),
            };
            self.note(format, &url, outcome);
        }
        None
    }
}

/// The SPXI indexes of the site that its page links.
pub(super) fn linked_indexes(links: &[Link], site: &SiteUrl) -> Vec<Url> {
    let is_index = |link: &&Link| {
        let is_alternate = link.rels.iter().any(|rel| rel == "alternate");
        let is_json = link.media_type.as_deref() == Some("application/ld+json");
        let has_name = link.href.path().ends_with(INDEX_NAME);
        is_alternate && is_json && has_name && same_site(&link.href, site.url())
    };
    let indexes = links.iter().filter(is_index);
    indexes.map(|link| link.href.clone()).collect()
}
