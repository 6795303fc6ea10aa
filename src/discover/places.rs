//! Where documents usually are, for sites that do not say where theirs is.

use url::Url;

use super::told::outcome_of;
use super::up::climb;
use super::{Found, FoundBy, NOT_ASKED, Search, is_cut_short, lists, may_be_there};
use crate::load::{LoadError, Loader, Page};
use crate::read::address;
use crate::read::link::Link;
use crate::read::list::{Beside, ListReader, PLAIN, READERS};
use crate::site::{Format, SiteUrl, same_site};

/// A site has one document beside its lists, and may name it twice.
const MAX_NAMED: usize = 2;

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
        let mut places = guessed(&home);
        // What is named comes before all that is guessed, but a plain list tells when its pages changed, and what is
        // beside it not.
        let is_named = |url: &Url| self.named.iter().any(|(_, named)| named == url);
        places.retain(|(_, url)| !is_named(url));
        let (after, named) = (places.len().min(1), self.named.iter().take(MAX_NAMED));
        places.splice(after..after, named.cloned());
        // A project that has a folder of a host keeps its list there.
        let in_folder = (PLAIN.places.first()).and_then(|path| home.url().join(&path[1..]).ok());
        let in_folder = in_folder.filter(|url| places.iter().all(|(_, other)| other != url));
        places.splice(0..0, in_folder.map(|url| (PLAIN.format, url)));
        for (format, url) in places {
            let Some(answer) = self.ask_within_reason(loader, &url).await else {
                self.note(format, &url, NOT_ASKED);
                continue;
            };
            let outcome = match answer {
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
                    self.is_open |= may_be_there(&error);
                    loader.problems.add(error.problem(&url, &url));
                    outcome_of(Some(&error))
                }
                Err(error) => {
                    self.is_open |= may_be_there(&error);
                    outcome_of(Some(&error))
                }
            };
            self.note(format, &url, outcome);
        }
        None
    }

    /// Asks for what may be a document, unless that takes more requests than a site that has nothing is asked; every
    /// redirect is one. None if it does.
    pub(super) async fn ask_within_reason(
        &self,
        loader: &mut Loader<'_>,
        url: &Url,
    ) -> Option<Result<Page, LoadError>> {
        let left = self.requests_left(loader, 0)?;
        let answer = loader.candidate(url, &self.known, Some(left)).await;
        let is_cut_short = matches!(&answer, Err(error) if is_cut_short(error, left));
        (!is_cut_short).then_some(answer)
    }
}

/// Where a host may keep its list, if nobody says so: what nearly everybody has comes first.
fn guessed(home: &SiteUrl) -> Vec<(Format, Url)> {
    let at_root = |reader: &ListReader, paths: &[&str]| {
        let places = paths.iter();
        let places = places.map(|path| (reader.format, home.at_root(path)));
        places.collect::<Vec<_>>()
    };
    let better = READERS
        .iter()
        .filter(|reader| reader.format != PLAIN.format);
    let usual = [PLAIN].into_iter().chain(better);
    let usual = usual.flat_map(|reader| at_root(reader, reader.places));
    let rare = READERS.iter();
    let rare = rare.flat_map(|reader| at_root(reader, reader.rare_places));
    usual.chain(rare).collect()
}

/// The documents beside the lists of a site that its page links.
pub(super) fn linked_beside(links: &[Link], site: &SiteUrl) -> Vec<(Format, Url)> {
    let own = links
        .iter()
        .filter(|link| same_site(&link.href, site.url()));
    let named = own.filter_map(|link| {
        let format = format_that(|beside| (beside.is_linked)(link))?;
        Some((format, link.href.clone()))
    });
    named.collect()
}

/// Those among the paths that its robots.txt allows by name.
pub(super) fn allowed_beside<'a>(
    paths: impl Iterator<Item = &'a String>,
    site: &SiteUrl,
) -> Vec<(Format, Url)> {
    let mut named = Vec::new();
    for path in paths {
        if let Some(format) = format_that(|beside| (beside.is_allowed)(path))
            && let Ok(url) = address::resolve_url(path, &site.at_root("/"))
            && !named.contains(&(format, url.clone()))
        {
            named.push((format, url));
        }
        if named.len() == MAX_NAMED {
            break;
        }
    }
    named
}

/// The format of documents beside others for which this holds.
fn format_that(holds: impl Fn(&Beside) -> bool) -> Option<Format> {
    let is_one = |reader: &&ListReader| reader.beside.as_ref().is_some_and(&holds);
    READERS.iter().find(is_one).map(|reader| reader.format)
}
