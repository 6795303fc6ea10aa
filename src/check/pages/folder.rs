//! What the pages of a list are known by: a whole host, or the folder of it that somebody typed.

use url::Url;

use super::Top;
use crate::discover::FoundBy;
use crate::memory::{CollectionMemory, Sighted};
use crate::site::SiteUrl;

/// Fewer pages below an address do not make a part of a site of it.
const ENOUGH_PAGES: usize = 2;

/// The address that the pages are known by: the host, or the part of it that was typed; for a list that was typed, its
/// own. Keeps only the pages that belong there.
pub(super) fn identity(
    sighted: &mut Sighted,
    site: &SiteUrl,
    found_by: FoundBy,
    top: &Top,
    remembered: Option<&CollectionMemory>,
) -> Url {
    let typed = site.url();
    if let Some(collection) = remembered {
        let id = collection.identity.clone();
        // A list that was typed may well have an address that ends like a folder's.
        let is_folder = id.path().ends_with('/') && id.path() != "/" && id != top.asked;
        if let Some(folder) = Folder::of(&id).filter(|_| is_folder) {
            sighted.keep_fresh(|url| folder.has(url));
        }
        return id;
    }
    if found_by == FoundBy::Typed {
        return top.asked.clone();
    }
    // A list in a folder is about that folder.
    let own = top.asked.join("./").ok();
    let own = own.filter(|own| own.path() != "/" && typed.path().starts_with(own.path()));
    let place = own.as_ref().unwrap_or(typed);
    if let Some(folder) = Folder::of(place).filter(|_| !site.is_whole_host()) {
        let fresh = &sighted.fresh;
        let below = (0..fresh.len()).filter(|&place| folder.has(fresh.url(place)));
        if below.take(ENOUGH_PAGES).count() == ENOUGH_PAGES {
            sighted.keep_fresh(|url| folder.has(url));
            let mut id = place.clone();
            id.set_query(None);
            id.set_path(&format!("{}/", place.path().trim_end_matches('/')));
            return id;
        }
    }
    site.at_root("/")
}

/// A folder of a host, with and without `www.` and over http and https.
struct Folder {
    tail: String,
}

impl Folder {
    /// The folder that an address is, unless it has the name of a file.
    fn of(url: &Url) -> Option<Folder> {
        let path = url.path().trim_end_matches('/');
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_file = name.contains('.') && !url.path().ends_with('/');
        let mut whole = url.clone();
        whole.set_query(None);
        whole.set_path(path);
        let tail = bare(whole.as_str()).trim_end_matches('/').to_owned();
        (!is_file).then_some(Folder { tail })
    }

    fn has(&self, url: &str) -> bool {
        let rest = bare(url).strip_prefix(self.tail.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

fn bare(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.strip_prefix("www.").unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_what_is_in_it() {
        let folder = Folder::of(&"https://fox.example/den".parse().unwrap()).unwrap();
        for url in [
            "https://www.fox.example/den",
            "http://fox.example/den/",
            "https://fox.example/den/a",
        ] {
            assert!(folder.has(url), "{url}");
        }
        for url in [
            "https://fox.example/dens",
            "https://fox.example/",
            "https://owl.example/den/a",
        ] {
            assert!(!folder.has(url), "{url}");
        }
        assert!(Folder::of(&"https://fox.example/den.html".parse().unwrap()).is_none());
    }
}
