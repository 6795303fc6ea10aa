//! From a document to the top of its site; and where the top does not know what was typed, back to what does.

use std::sync::Arc;

use url::Url;

use super::{FoundBy, MAX_CANDIDATES, Root, Search, first_of, targets};
use crate::load::{Loaded, Loader, Page};
use crate::problem::{Code, Problem};
use crate::read::resourcesync::{Capability, rules};
use crate::site::{SiteUrl, is_below};

/// `up` leads from a list over its Capability List to the Source Description; a circle is possible.
const MAX_CLIMB: usize = 3;

impl Search {
    /// On a host that many people share, the description of the host may not know the page that was typed, and the page
    /// may link its own: then the page is believed.
    pub(super) async fn closer_to_what_was_typed(
        &mut self,
        loader: &mut Loader<'_>,
        site: &SiteUrl,
        host: Root,
    ) -> Root {
        if site.is_whole_host() {
            return host;
        }
        let descriptions = descriptions_below(loader, &host).await;
        let knows_the_page = (descriptions.iter())
            .flat_map(|description| described(description))
            .any(|url| is_below(site.url(), &url));
        if knows_the_page {
            return host;
        }
        let (first, found_by) = match loader.page(site.url(), &self.known).await {
            Ok(Page::Document(Ok(loaded))) => (loaded, FoundBy::Typed),
            Ok(Page::Html(links)) => {
                let targets = targets(&links, "resourcesync");
                match first_of(loader, targets, &mut { MAX_CANDIDATES }).await {
                    Some(loaded) => (loaded, FoundBy::PageLink),
                    None => return host,
                }
            }
            _ => return host,
        };
        if descriptions.iter().any(|upper| lists_it(upper, &first)) || first.url == host.loaded.url
        {
            return host;
        }
        // The way up leads to the host, as it should; but there the list would be lost.
        let of_the_host = descriptions.iter().chain([&host.loaded]);
        let closed: Vec<Url> = of_the_host
            .flat_map(|loaded| [loaded.asked.clone(), loaded.url.clone()])
            .collect();
        let own = climb(loader, first, found_by, &closed).await;
        if descriptions
            .iter()
            .any(|upper| lists_it(upper, &own.loaded))
        {
            return host;
        }
        // What is wrong with the description of the host is not the author's business who has a page there.
        loader.problems.forget(&host.loaded.url);
        own
    }
}

/// The Source Descriptions of a site: the root itself, or those that it lists.
async fn descriptions_below(loader: &mut Loader<'_>, root: &Root) -> Vec<Arc<Loaded>> {
    let document = &root.loaded.reading.document;
    if !(document.is_index && document.capability == Capability::Description) {
        return vec![root.loaded.clone()];
    }
    let mut descriptions = Vec::new();
    for entry in &document.entries {
        // The walk reads these too, and tells what is wrong with them.
        if let Ok(url) = Url::parse(&entry.loc)
            && let Ok(loaded) = loader.document(&url).await
        {
            descriptions.push(loaded);
        }
    }
    descriptions
}

/// What a Source Description or a Capability List says that it describes.
fn described(loaded: &Loaded) -> impl Iterator<Item = Url> {
    let document = &loaded.reading.document;
    let own = document.link("describes").into_iter();
    let listed = document.entries.iter();
    own.chain(listed.filter_map(|entry| entry.link("describes")))
        .filter_map(|href| Url::parse(href).ok())
}

/// Whether `upper` has an entry for `lower`.
fn lists_it(upper: &Loaded, lower: &Loaded) -> bool {
    (upper.reading.document.entries.iter()).any(|entry| {
        rules::same_address(&entry.loc, lower.url.as_str())
            || rules::same_address(&entry.loc, lower.asked.as_str())
    })
}

/// Climbs from a document to the top of its site, but not to an address that is `closed`.
pub(super) async fn climb(
    loader: &mut Loader<'_>,
    first: Arc<Loaded>,
    found_by: FoundBy,
    closed: &[Url],
) -> Root {
    let mut top = first;
    let mut visited = [closed, std::slice::from_ref(&top.url)].concat();
    for _ in 0..MAX_CLIMB {
        if top.reading.document.capability == Capability::Description {
            break;
        }
        let up = rules::up(&top.reading.document).and_then(|up| Url::parse(up).ok());
        let Some(up) = up.filter(|up| !visited.contains(up)) else {
            break;
        };
        visited.push(up.clone());
        match loader.document(&up).await {
            Ok(upper) if is_silent_about(&upper, &top) => {
                let message = format!("`up` leads to {up}, which does not list this document");
                let line = top.reading.line.max(1);
                let problem = Problem::new(Code::UpMismatch, &top.url, message);
                loader.problems.add(problem.at(line));
                break;
            }
            Ok(upper) if is_higher(&upper, &top) => top = upper,
            Ok(_) => break,
            Err(error) => {
                // The lower document is still worth following; its author should know that the way up is broken.
                loader.problems.add(error.problem(&up, &top.url));
                break;
            }
        }
    }
    Root {
        loaded: top,
        found_by,
    }
}

/// Whether following the upper document would lose the lower one. Of an index this cannot be told.
fn is_silent_about(upper: &Loaded, lower: &Loaded) -> bool {
    let (above, below) = (&upper.reading.document, &lower.reading.document);
    above.capability == Capability::Description
        && !above.is_index
        && below.capability == Capability::CapabilityList
        && !lists_it(upper, lower)
}

fn is_higher(candidate: &Loaded, than: &Loaded) -> bool {
    let rank = |loaded: &Loaded| match loaded.reading.document.capability {
        Capability::Description => 2,
        Capability::CapabilityList => 1,
        _ => 0,
    };
    rank(candidate) > rank(than)
}
