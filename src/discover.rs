//! From whatever a person typed to the document that describes the site.
//!
//! The places are tried in the order of the proposal and of what costs a stranger's server least: the well-known
//! address, links on the typed page, `Sitemap:` lines of robots.txt, and the typed address itself. A document that is
//! not the top of its site leads there by its `up` link.

use std::sync::Arc;

use url::Url;

use crate::fetch::FetchError;
use crate::load::{LoadError, Loaded, Loader, Page};
use crate::problem::{Code, Problem};
use crate::read::address;
use crate::read::link::Link;
use crate::read::resourcesync::{Capability, rules};
use crate::site::SiteUrl;

/// Where the proposal wants the Source Description.
pub const WELL_KNOWN: &str = "/.well-known/resourcesync";
/// The same on hosts that serve no file without an ending.
pub const WELL_KNOWN_XML: &str = "/.well-known/resourcesync.xml";
/// `up` leads from a list over its Capability List to the Source Description; a circle is possible.
const MAX_CLIMB: usize = 3;
/// A page or a robots.txt may name many documents; a site has one description.
const MAX_CANDIDATES: usize = 5;

/// How the root document was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// At the well-known address.
    WellKnown,
    /// At the well-known address with `.xml`.
    WellKnownXml,
    /// Through a link on the typed page.
    PageLink,
    /// Through a `Sitemap:` line of robots.txt.
    Robots,
    /// It is what was typed, or `up` from there.
    Typed,
}

impl FoundBy {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            FoundBy::WellKnown => "at the well-known address",
            FoundBy::WellKnownXml => "at the well-known address with .xml",
            FoundBy::PageLink => "through a link on the page",
            FoundBy::Robots => "through robots.txt",
            FoundBy::Typed => "from the typed address itself",
        }
    }
}

/// The document that describes a site.
pub struct Root {
    /// The document.
    pub loaded: Arc<Loaded>,
    /// How it was found.
    pub found_by: FoundBy,
}

/// What looking for the root document gave.
pub enum Discovery {
    /// A root document.
    Found(Root),
    /// The site answers, but describes itself nowhere.
    Nothing,
}

/// Looks for the root document of a site.
///
/// An error means that the site could not be asked at all.
pub async fn discover(
    loader: &mut Loader<'_>,
    site: &SiteUrl,
) -> Result<Discovery, Arc<FetchError>> {
    // What was found wrong on the way matters only if nothing better turns up.
    let mut disappointments = Vec::new();
    for (path, found_by) in [
        (WELL_KNOWN, FoundBy::WellKnown),
        (WELL_KNOWN_XML, FoundBy::WellKnownXml),
    ] {
        let url = site.at_root(path);
        match loader.document(&url).await {
            Ok(loaded) => return Ok(found(loader, loaded, found_by).await),
            Err(LoadError::Fetch(error)) if is_hopeless(&error) => return Err(error),
            Err(error) => disappointments.extend(disappointment(&error, &url)),
        }
    }
    let mut typed = None;
    match loader.page(site.url()).await {
        Ok(Page::Document(result)) => typed = Some(result),
        Ok(Page::Html(_, links)) => {
            if let Some(loaded) = first_document(loader, targets(&links)).await {
                return Ok(found(loader, loaded, FoundBy::PageLink).await);
            }
        }
        Err(error) => disappointments.extend(disappointment(&error, site.url())),
    }
    let named: Vec<Url> = (loader.sitemaps(site.url()).await.iter())
        .filter_map(|line| address::resolve_url(line, &site.at_root("/")).ok())
        .collect();
    if let Some(loaded) = first_document(loader, named).await {
        return Ok(found(loader, loaded, FoundBy::Robots).await);
    }
    match typed {
        Some(Ok(loaded)) => return Ok(found(loader, loaded, FoundBy::Typed).await),
        Some(Err(error)) => disappointments.extend(disappointment(&error, site.url())),
        None => {}
    }
    let url = site.at_root(WELL_KNOWN);
    let message = format!("no ResourceSync description was found for {site}");
    loader
        .problems
        .add(Problem::new(Code::NotFound, &url, message).with_snippet(example(site)));
    loader.problems.extend(disappointments);
    Ok(Discovery::Nothing)
}

/// Climbs from a document to the top of its site.
async fn found(loader: &mut Loader<'_>, first: Arc<Loaded>, found_by: FoundBy) -> Discovery {
    let mut top = first;
    let mut visited = vec![top.url.clone()];
    for _ in 0..MAX_CLIMB {
        if top.reading.document.capability == Capability::Description {
            break;
        }
        let up = rules::up(&top.reading.document).and_then(|up| Url::parse(up).ok());
        // A well-known address that answers with a Capability List is the top, whatever it links to.
        let Some(up) = up.filter(|up| !visited.contains(up) && found_by != FoundBy::WellKnown)
        else {
            break;
        };
        visited.push(up.clone());
        match loader.document(&up).await {
            Ok(loaded) if is_higher(&loaded, &top) => top = loaded,
            Ok(_) => break,
            Err(error) => {
                // The lower document is still worth following; its author should know that the way up is broken.
                loader.problems.add(error.problem(&up));
                break;
            }
        }
    }
    if !matches!(found_by, FoundBy::WellKnown) {
        let message = format!("the description of the site was found {}", found_by.words());
        loader
            .problems
            .add(Problem::new(Code::NotWellKnown, &top.url, message));
    }
    Discovery::Found(Root {
        loaded: top,
        found_by,
    })
}

fn is_higher(candidate: &Loaded, than: &Loaded) -> bool {
    let rank = |loaded: &Loaded| match loaded.reading.document.capability {
        Capability::Description => 2,
        Capability::CapabilityList => 1,
        _ => 0,
    };
    rank(candidate) > rank(than)
}

/// The first of several candidates that is a ResourceSync document. The others are nobody's fault: pages link to many
/// things, and robots.txt usually names plain sitemaps.
async fn first_document(loader: &mut Loader<'_>, candidates: Vec<Url>) -> Option<Arc<Loaded>> {
    for url in candidates.into_iter().take(MAX_CANDIDATES) {
        if let Ok(loaded) = loader.document(&url).await {
            return Some(loaded);
        }
    }
    None
}

/// Where the links that announce ResourceSync lead.
fn targets(links: &[Link]) -> Vec<Url> {
    links
        .iter()
        .filter(|link| link.has_rel("resourcesync"))
        .map(|link| link.href.clone())
        .collect()
}

/// Whether no other address of the same host could give a better answer.
fn is_hopeless(error: &FetchError) -> bool {
    matches!(
        error,
        FetchError::Refused(_)
            | FetchError::Timeout { .. }
            | FetchError::Connect { .. }
            | FetchError::NameNotFound { .. }
            | FetchError::Tls { .. }
            | FetchError::HostAskedForPeace { .. }
    )
}

/// What an author should hear about a place where a description could have been.
fn disappointment(error: &LoadError, url: &Url) -> Option<Problem> {
    match error {
        // Nobody promised that there is anything.
        LoadError::Fetch(fault)
            if matches!(
                **fault,
                FetchError::Status {
                    status: 400..=499,
                    ..
                }
            ) =>
        {
            None
        }
        LoadError::Fetch(fault) if matches!(**fault, FetchError::RobotsForbid { .. }) => None,
        // Many sites answer every address with a page.
        LoadError::Broken(problem) if problem.code == Code::NotXml => None,
        error => Some(error.problem(url)),
    }
}

/// A Source Description for this very site.
fn example(site: &SiteUrl) -> String {
    let own = site.at_root("/");
    Code::NotFound
        .snippet()
        .replace("https://example.com/", own.as_str())
}
