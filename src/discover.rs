//! From whatever a person typed to the document that describes the site.
//!
//! The places are tried in the order of the proposal and of what costs a stranger's server least: the well-known
//! address, links on the typed page, `Sitemap:` lines of robots.txt, and the typed address itself. A document that is
//! not the top of its site leads there by its `up` link. A page on a host that many people share may speak for itself
//! where the description of the host does not know it.

use std::sync::Arc;

use url::Url;

use crate::fetch::FetchError;
use crate::load::{LoadError, Loaded, Loader, Page};
use crate::problem::{Code, Problem};
use crate::read::address;
use crate::read::link::Link;
use crate::read::resourcesync::{Capability, rules};
use crate::site::{SiteUrl, is_below};

/// Where the proposal wants the Source Description.
pub const WELL_KNOWN: &str = "/.well-known/resourcesync";
/// The same on hosts that serve no file without an ending.
pub const WELL_KNOWN_XML: &str = "/.well-known/resourcesync.xml";
/// `up` leads from a list over its Capability List to the Source Description; a circle is possible.
const MAX_CLIMB: usize = 3;
/// A page and a robots.txt may name many documents; a site has one description.
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
    /// It was found before.
    Remembered,
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
            FoundBy::Remembered => "where it was before",
        }
    }

    /// Whether the host itself pointed there, and not just one of its pages.
    pub fn is_well_known(self) -> bool {
        matches!(self, FoundBy::WellKnown | FoundBy::WellKnownXml)
    }
}

/// The document that describes a site.
pub struct Root {
    /// The document.
    pub loaded: Arc<Loaded>,
    /// How it was found.
    pub found_by: FoundBy,
}

/// Why a site could not be asked at all.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DiscoverError {
    /// It did not answer, or may not be asked.
    #[error(transparent)]
    Unreachable(#[from] Arc<FetchError>),
    /// The root document that it had is gone for good.
    #[error("{0} says that it is gone for good")]
    Gone(Url),
}

/// Looks for the root document of a site; where one is `remembered`, it need only be read again. None means that the
/// site answers, but describes itself nowhere.
pub async fn discover(
    loader: &mut Loader<'_>,
    site: &SiteUrl,
    remembered: Option<&Url>,
) -> Result<Option<Root>, DiscoverError> {
    let root = match remembered {
        Some(url) => again(loader, site, url).await?,
        None => anew(loader, site).await?,
    };
    if let Some(root) = &root
        && root.found_by != FoundBy::WellKnown
    {
        let words = root.found_by.words();
        let message = format!("the description of the site was found {words}");
        let problem = Problem::new(Code::NotWellKnown, &root.loaded.url, message);
        loader.problems.add(problem);
    }
    Ok(root)
}

async fn anew(loader: &mut Loader<'_>, site: &SiteUrl) -> Result<Option<Root>, DiscoverError> {
    Ok(match at_well_known_address(loader, site).await? {
        Some(root) => Some(closer_to_what_was_typed(loader, site, root).await),
        None => elsewhere(loader, site).await,
    })
}

/// Reads the root document that was found before. Only if it is not there any more is another one looked for.
async fn again(
    loader: &mut Loader<'_>,
    site: &SiteUrl,
    url: &Url,
) -> Result<Option<Root>, DiscoverError> {
    match loader.document(url).await {
        Ok(loaded) => {
            let found_by = match url.path() {
                WELL_KNOWN => FoundBy::WellKnown,
                WELL_KNOWN_XML => FoundBy::WellKnownXml,
                _ => FoundBy::Remembered,
            };
            Ok(Some(Root { loaded, found_by }))
        }
        Err(LoadError::Fetch(error)) => match *error {
            FetchError::Status { status: 410, .. } => Err(DiscoverError::Gone(url.clone())),
            FetchError::Status { status: 404, .. } => anew(loader, site).await,
            _ => Err(DiscoverError::Unreachable(error)),
        },
        // A document that broke will be mended; looking elsewhere now would make another site of this one.
        Err(error) => {
            loader.problems.add(error.problem(url, url));
            Ok(None)
        }
    }
}

async fn at_well_known_address(
    loader: &mut Loader<'_>,
    site: &SiteUrl,
) -> Result<Option<Root>, Arc<FetchError>> {
    for (path, found_by) in [
        (WELL_KNOWN, FoundBy::WellKnown),
        (WELL_KNOWN_XML, FoundBy::WellKnownXml),
    ] {
        let url = site.at_root(path);
        match loader.document(&url).await {
            // Whatever the well-known address answers with is the top, wherever its links lead.
            Ok(loaded) if found_by == FoundBy::WellKnown => {
                return Ok(Some(Root { loaded, found_by }));
            }
            Ok(loaded) => return Ok(Some(climb(loader, loaded, found_by, &[]).await)),
            Err(LoadError::Fetch(error)) if is_hopeless(&error, site) => return Err(error),
            // A description that is there and cannot be read is worth telling even if another one is found.
            Err(error) if !is_absence(&error) => loader.problems.add(error.problem(&url, &url)),
            Err(_) => {}
        }
    }
    Ok(None)
}

/// Tries everything but the well-known address.
async fn elsewhere(loader: &mut Loader<'_>, site: &SiteUrl) -> Option<Root> {
    let mut candidates_left = MAX_CANDIDATES;
    let mut typed = None;
    let mut page_error = None;
    match loader.page(site.url()).await {
        Ok(Page::Document(result)) => typed = Some(result),
        Ok(Page::Html(links)) => {
            if let Some(loaded) = first_of(loader, targets(&links), &mut candidates_left).await {
                return Some(climb(loader, loaded, FoundBy::PageLink, &[]).await);
            }
        }
        Err(error) if is_forbidden_by_robots(&error) => {}
        Err(error) => page_error = Some(error),
    }
    let named: Vec<Url> = (loader.sitemaps(site.url()).await.iter())
        .filter_map(|line| address::resolve_url(line, &site.at_root("/")).ok())
        .collect();
    if let Some(loaded) = first_of(loader, named, &mut candidates_left).await {
        return Some(climb(loader, loaded, FoundBy::Robots, &[]).await);
    }
    match typed {
        Some(Ok(loaded)) => return Some(climb(loader, loaded, FoundBy::Typed, &[]).await),
        Some(Err(error)) => page_error = Some(error),
        None => {}
    }
    if let Some(error) = &page_error {
        loader.problems.add(error.problem(site.url(), site.url()));
    }
    let stopped = (loader.problems.iter()).any(|problem| problem.code == Code::LimitReached);
    if !stopped {
        let url = site.at_root(WELL_KNOWN);
        let message = format!("no ResourceSync description was found for {site}");
        let problem = Problem::new(Code::NotFound, &url, message);
        loader.problems.add(problem.with_snippet(example(site)));
    }
    None
}

/// On a host that many people share, the description of the host may not know the page that was typed, and the page
/// may link its own: then the page is believed.
async fn closer_to_what_was_typed(loader: &mut Loader<'_>, site: &SiteUrl, host: Root) -> Root {
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
    let (first, found_by) = match loader.page(site.url()).await {
        Ok(Page::Document(Ok(loaded))) => (loaded, FoundBy::Typed),
        Ok(Page::Html(links)) => {
            match first_of(loader, targets(&links), &mut { MAX_CANDIDATES }).await {
                Some(loaded) => (loaded, FoundBy::PageLink),
                None => return host,
            }
        }
        _ => return host,
    };
    if descriptions.iter().any(|upper| lists(upper, &first)) || first.url == host.loaded.url {
        return host;
    }
    // The way up leads to the host, as it should; but there the list would be lost.
    let of_the_host = descriptions.iter().chain([&host.loaded]);
    let closed: Vec<Url> = of_the_host
        .flat_map(|loaded| [loaded.asked.clone(), loaded.url.clone()])
        .collect();
    let own = climb(loader, first, found_by, &closed).await;
    if descriptions.iter().any(|upper| lists(upper, &own.loaded)) {
        return host;
    }
    // What is wrong with the description of the host is not the author's business who has a page there.
    loader.problems.forget(&host.loaded.url);
    own
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
fn lists(upper: &Loaded, lower: &Loaded) -> bool {
    (upper.reading.document.entries.iter()).any(|entry| {
        rules::same_address(&entry.loc, lower.url.as_str())
            || rules::same_address(&entry.loc, lower.asked.as_str())
    })
}

/// Climbs from a document to the top of its site, but not to an address that is `closed`.
async fn climb(
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
        && !lists(upper, lower)
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
async fn first_of(
    loader: &mut Loader<'_>,
    candidates: Vec<Url>,
    left: &mut usize,
) -> Option<Arc<Loaded>> {
    for url in candidates {
        *left = left.checked_sub(1)?;
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

/// Whether no other address of the same host could give a better answer. A redirect to another host that fails says
/// nothing about this one.
fn is_hopeless(error: &FetchError, site: &SiteUrl) -> bool {
    error.host().is_some() && error.host() == site.url().host_str()
}

/// Whether this only means that there is no description at a place where one could have been.
fn is_absence(error: &LoadError) -> bool {
    match error {
        LoadError::Fetch(error) => {
            matches!(**error, FetchError::Status { status, .. } if (400..500).contains(&status))
        }
        // Many sites answer every address with a page.
        LoadError::Broken(problem) => problem.code == Code::NotXml,
        LoadError::Limit(_) | LoadError::Memory => false,
    }
}

/// A site that wants its pages left alone has done nothing wrong.
fn is_forbidden_by_robots(error: &LoadError) -> bool {
    matches!(error, LoadError::Fetch(error) if matches!(**error, FetchError::RobotsForbid { .. }))
}

/// A Source Description for this very site.
fn example(site: &SiteUrl) -> String {
    let own = site.at_root("/");
    Code::NotFound
        .snippet()
        .replace("https://example.com/", own.as_str())
}
