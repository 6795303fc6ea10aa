//! What can be followed of a site that lists its pages: each of its lists, and any folder.
//!
//! Both are addresses, and are followed like any other that somebody types, so this only offers them.

use url::Url;

use super::changes::escaped_bytes;
use super::error::WebError;
use super::session::Visitor;
use super::words::{When, count};
use crate::account::Subscription;
use crate::moment::Moment;
use crate::read::list::{GLANCED_PARTS, Glance, Part};
use crate::site::{Format, SiteUrl};
use crate::store::{CollectionRow, SiteRow};
use crate::text::{clean, readable_name};

/// Lists that one page offers; the others are a click away.
const LISTS: usize = 20;
/// So many need not be unfolded.
const FEW_LISTS: usize = 5;
/// What all of them may take on a page, should their addresses be long. One is always shown.
const LISTS_BYTES: usize = 20 * 1024;
/// What each of them takes besides its address and its name.
const LIST_BYTES: usize = 650;
/// What is remembered of a list that is worth reading only to name it.
const NAME_BYTES: u32 = 64 * 1024;

/// What a page offers.
#[derive(Default)]
pub struct Offers {
    /// What whoever looks can do with a part: follow it, or only look at it.
    pub verb: &'static str,
    /// Some of the lists.
    pub lists: Vec<ListLine>,
    /// How many there are, in words.
    pub how_many: String,
    /// Whether there are more than can be paged through.
    pub is_cut: bool,
    /// Which of them comes first.
    pub first: usize,
    /// Which one comes after those that are here, if there is one.
    pub next: Option<usize>,
    /// The address whose folders can be followed.
    pub folders_of: Option<Folders>,
    /// The folder that was asked for, where it has no pages and so the whole site is followed.
    pub missed: Option<String>,
}

/// Where a folder is looked for.
pub struct Folders {
    /// The site, or the folder of it that is followed.
    pub url: String,
    /// An example to begin with.
    pub example: String,
}

/// One list.
pub struct ListLine {
    /// Its address.
    pub url: String,
    /// What it is called, or the readable end of its address.
    pub name: String,
    /// How many pages it has, if that is known.
    pub pages: Option<String>,
    /// When it last changed, if its index says so.
    pub changed: Option<When>,
    /// Its page, if somebody follows it already.
    pub page: Option<String>,
    /// Whether whoever looks follows it.
    pub is_followed: bool,
}

impl ListLine {
    fn bytes(&self) -> usize {
        escaped_bytes(&self.url) + 2 * escaped_bytes(&self.name) + LIST_BYTES
    }
}

impl Offers {
    /// Where the lists before these begin.
    pub fn before(&self) -> Option<usize> {
        (self.first > 0).then(|| self.first.saturating_sub(LISTS))
    }

    /// What they take on a page, about.
    pub fn bytes(&self) -> usize {
        self.lists.iter().map(ListLine::bytes).sum()
    }

    /// Whether the lists are shown at once: a long list would stand before everything else on a small screen, but whoever
    /// goes from page to page of it wants to see it.
    pub fn is_open(&self) -> bool {
        self.lists.len() <= FEW_LISTS || self.first > 0
    }

    /// Whether there is anything to show.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty() && self.folders_of.is_none()
    }
}

/// What there is to be followed of a site, beginning with the list number `from`.
pub async fn offers(
    visitor: &Visitor,
    site: &SiteRow,
    subscriptions: Option<&[Subscription]>,
    from: usize,
) -> Result<Offers, WebError> {
    let has_log = site
        .format
        .is_none_or(|format| format == Format::ResourceSync);
    // Sections have lists of their own, and are collections already.
    let mut collections = site.collections.iter();
    let whole = collections.find(|one| one.identity.fragment().is_none());
    let Some(collection) = whole.filter(|_| !has_log) else {
        return Ok(Offers::default());
    };
    let (parts, part_count) = parts(visitor, site).await?;
    let may_add = visitor.account().is_some() || visitor.service().visitors_add;
    let mut offers = Offers {
        verb: match may_add {
            true => "Follow",
            false => "Look at",
        },
        how_many: count(part_count, "sitemap"),
        is_cut: part_count > GLANCED_PARTS,
        first: from,
        folders_of: folders_of(collection),
        missed: missed(site, collection),
        ..Offers::default()
    };
    let shown: Vec<Part> = parts.iter().skip(from).take(LISTS).cloned().collect();
    offers.lists = lines(visitor, site, subscriptions, shown).await?;
    let next = from + offers.lists.len();
    offers.next = (!offers.lists.is_empty() && next < parts.len()).then_some(next);
    Ok(offers)
}

/// The lists of a site, as many as can be paged through, and how many there are; none if there is only one.
async fn parts(visitor: &Visitor, site: &SiteRow) -> Result<(Vec<Part>, usize), WebError> {
    let store = &visitor.service().store;
    let mut tops = store.top_lists(site.id).await?;
    if tops.len() == 1 {
        let outlines = store.outlines(site.id, tops, u32::MAX >> 1).await?;
        let outline = outlines.into_iter().next().flatten();
        let glance = outline.and_then(|outline| Glance::at(&outline));
        let glance = glance.unwrap_or_default();
        return match glance.parts.iter().any(|part| part.is_doubtful) {
            true => lists_among(visitor, site, glance.parts).await,
            false => Ok((glance.parts, glance.part_count)),
        };
    }
    let part_count = tops.len();
    tops.truncate(GLANCED_PARTS);
    let part = |url: Url| Part {
        url: url.into(),
        lastmod: None,
        is_doubtful: false,
    };
    Ok((tops.into_iter().map(part).collect(), part_count))
}

/// Those that were read as lists: the others are pages, and only their names are not.
async fn lists_among(
    visitor: &Visitor,
    site: &SiteRow,
    mut parts: Vec<Part>,
) -> Result<(Vec<Part>, usize), WebError> {
    parts.retain(|part| Url::parse(&part.url).is_ok());
    let urls = parts.iter().filter_map(|part| Url::parse(&part.url).ok());
    let store = &visitor.service().store;
    let outlines = store
        .outlines(site.id, urls.collect(), u32::MAX >> 1)
        .await?;
    let lists = parts.into_iter().zip(outlines);
    let lists = lists.filter_map(|(part, outline)| outline.map(|_| part));
    let lists: Vec<Part> = lists.collect();
    let count = lists.len();
    Ok((lists, count))
}

async fn lines(
    visitor: &Visitor,
    site: &SiteRow,
    subscriptions: Option<&[Subscription]>,
    parts: Vec<Part>,
) -> Result<Vec<ListLine>, WebError> {
    let service = visitor.service();
    let present = visitor.present();
    let parts: Vec<(Url, Part)> = (parts.into_iter())
        .filter_map(|part| Some((Url::parse(&part.url).ok()?, part)))
        .collect();
    let urls = parts.iter().map(|(url, _)| url.clone()).collect();
    let outlines = service.store.outlines(site.id, urls, NAME_BYTES).await?;
    let mut lines = Vec::new();
    let mut bytes = 0;
    for ((url, part), outline) in parts.into_iter().zip(outlines) {
        let glance = outline.and_then(|outline| Glance::at(&outline));
        let glance = glance.unwrap_or_default();
        let known = service.store.find_site(&SiteUrl::from(&url)).await?;
        let page = match known {
            Some(id) => service.store.site(id).await?,
            None => None,
        };
        let mut followed = subscriptions.unwrap_or_default().iter();
        let moment = part
            .lastmod
            .as_deref()
            .and_then(|text| Moment::parse(text).ok());
        let line = ListLine {
            name: name(&glance, &url, &site.url),
            pages: (glance.pages > 0).then(|| count(glance.pages, "page")),
            changed: moment.map(|moment| present.when_told(&moment)),
            page: page.map(|page| service.paths.site(&page.slug)),
            is_followed: followed.any(|one| Some(one.site) == known && one.collection.is_none()),
            url: part.url,
        };
        bytes += line.bytes();
        if bytes > LISTS_BYTES && !lines.is_empty() {
            break;
        }
        lines.push(line);
    }
    Ok(lines)
}

/// What a list calls itself, or else the readable end of its address.
fn name(glance: &Glance, url: &Url, site: &Url) -> String {
    let title = glance.title.as_deref().and_then(clean::title);
    title.unwrap_or_else(|| readable_name(url, site))
}

/// Only what is followed as a whole, or as a folder, has folders: a list that was typed has pages from anywhere.
fn folders_of(collection: &CollectionRow) -> Option<Folders> {
    let identity = &collection.identity;
    identity.path().ends_with('/').then(|| Folders {
        url: identity.to_string(),
        example: match identity.path() {
            "/" => "/blog/".to_owned(),
            path => format!("{path}2026/"),
        },
    })
}

/// The folder whose address was typed, if that is not what is followed.
fn missed(site: &SiteRow, collection: &CollectionRow) -> Option<String> {
    let path = site.url.path();
    let is_whole = collection.identity.path() == "/" && collection.identity.query().is_none();
    (is_whole && path.len() > 1 && path.ends_with('/')).then(|| path.to_owned())
}

/// The address of a folder of a site, as somebody typed it: a path, or the whole address after all.
pub fn folder(base: &str, typed: &str) -> String {
    let typed = typed.trim();
    let is_whole = ["http://", "https://"].iter().any(|scheme| {
        (typed.get(..scheme.len())).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    let Some(mut url) = Url::parse(base).ok().filter(|_| !is_whole) else {
        return typed.to_owned();
    };
    let host = url.host_str().unwrap_or_default().to_owned();
    let bare = host.strip_prefix("www.").unwrap_or(&host);
    // Somebody may well say of which site.
    let path = [host.as_str(), bare]
        .iter()
        .find_map(|host| typed.strip_prefix(host)?.strip_prefix('/'))
        .map(|path| format!("/{path}"));
    let path = path.unwrap_or_else(|| match typed.starts_with('/') {
        true => typed.to_owned(),
        false => format!("{}{typed}", url.path()),
    });
    let path = path.trim_matches('/');
    url.set_query(None);
    url.set_path(&match path {
        "" => "/".to_owned(),
        path => format!("/{path}/"),
    });
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_in_many_ways() {
        for typed in [
            "blog",
            "/blog",
            "blog/",
            " /blog/ ",
            "//blog//",
            "fox.example/blog",
            "./blog",
        ] {
            assert_eq!(
                folder("https://fox.example/", typed),
                "https://fox.example/blog/",
                "{typed}"
            );
        }
        assert_eq!(
            folder("https://fox.example/blog/", "2026"),
            "https://fox.example/blog/2026/"
        );
        assert_eq!(
            folder("https://fox.example/blog/", "/art"),
            "https://fox.example/art/"
        );
        assert_eq!(
            folder("https://fox.example/", "https://owl.example/blog"),
            "https://owl.example/blog"
        );
    }

    #[test]
    fn no_path_leads_to_another_site() {
        for typed in [
            "//owl.example/",
            "javascript:alert(1)",
            "../..",
            "/",
            "a?b#c",
            "ü",
        ] {
            let url = folder("https://fox.example/", typed);
            assert!(url.starts_with("https://fox.example/"), "{typed}: {url}");
        }
    }
}
