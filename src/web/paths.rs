//! Every address of ours that is printed, made in one place.
//!
//! They hang on the public URL that the operator names, never on what a request says.

use url::{Url, form_urlencoded};

use super::assets;
use crate::site::{CheckId, SiteId};
use crate::text::tag;

/// Makes addresses.
#[derive(Debug, Clone)]
pub struct Paths {
    /// Ends with a slash.
    root: Url,
}

/// Which feed.
#[derive(Debug, Clone, Copy)]
pub struct FeedPath<'a> {
    /// The name of the site.
    pub site: &'a str,
    /// The name of the collection; none for the whole site.
    pub collection: Option<&'a str>,
    /// `atom` or `json`.
    pub extension: &'a str,
    /// Whether it has an item for each page.
    pub by_page: bool,
}

impl Paths {
    /// Addresses below `root`, which ends with a slash.
    pub fn new(root: Url) -> Paths {
        Paths { root }
    }

    /// Whether people reach us over https.
    pub fn is_https(&self) -> bool {
        self.root.scheme() == "https"
    }

    /// The style of our pages.
    pub fn style(&self) -> String {
        format!("{}static/{}", self.root, assets::marked("style.css"))
    }

    /// The script of our pages.
    pub fn script(&self) -> String {
        format!("{}static/{}", self.root, assets::marked("site.js"))
    }

    /// The bell.
    pub fn icon(&self) -> String {
        self.below(&["static", "bell.svg"])
    }

    /// The description of the API.
    pub fn openapi(&self) -> String {
        self.below(&["api", "v1", "openapi.json"])
    }

    /// The address of the service.
    pub fn root(&self) -> &Url {
        &self.root
    }

    /// The first page.
    pub fn home(&self) -> String {
        self.root.to_string()
    }

    /// The timeline that a private feed tells of.
    pub fn followed(&self) -> Url {
        let page = self.root.join("home");
        page.unwrap_or_else(|_| self.root.clone())
    }

    /// A page at a fixed place, such as `settings/tokens`, for links, forms and redirects of pages. It names no host,
    /// so that people stay at the one where they are signed in.
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.root.path())
    }

    /// Where people sign in, to come back to a page afterwards: a path of ours with its query.
    pub fn sign_in_to(&self, page: Option<&str>) -> String {
        let next = page.filter(|page| *page != "/").map(|page| {
            let mut query = form_urlencoded::Serializer::new(String::new());
            format!("?{}", query.append_pair("next", page).finish())
        });
        self.at("sign-in") + &next.unwrap_or_default()
    }

    /// The timeline of whoever is signed in.
    pub fn timeline(&self) -> String {
        self.at("home")
    }

    /// Where somebody makes an account with an invite, to be sent to them.
    pub fn invitation(&self, invite: &str) -> String {
        format!("{}?invite={invite}", self.below(&["sign-up"]))
    }

    /// Where the first account is made.
    pub fn first_account(&self, key: &str) -> String {
        format!("{}?key={key}", self.below(&["first-account"]))
    }

    /// A page of ours by its path as a request has it, such as somebody was sent here with; none where that could lead
    /// elsewhere.
    pub fn own_page(&self, path: &str) -> Option<String> {
        let path = path.strip_prefix('/')?;
        let is_odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
        if path.starts_with('/') || path.contains(is_odd) {
            return None;
        }
        Some(self.at(path))
    }

    /// One of our own addresses as a request for it has it, for [`own_page`](Paths::own_page).
    pub fn asked(&self, address: &str) -> String {
        let rest = address.strip_prefix(self.root.as_str());
        format!("/{}", rest.unwrap_or_default())
    }

    /// One of our own addresses without the host, for redirects.
    pub fn local(&self, address: &str) -> String {
        let origin = self.root.as_str().len() - self.root.path().len();
        address.get(origin..).unwrap_or("/").to_owned()
    }

    /// The report on a site for its author.
    pub fn report(&self, url: &str) -> String {
        with_query(self.below(&["check"]), &[("url", url)])
    }

    /// What our handbook says about a problem.
    pub fn problem(&self, code: &str) -> String {
        self.at(&format!("docs/problems#{code}"))
    }

    /// A report that was kept.
    pub fn kept_report(&self, name: &str) -> String {
        self.below(&["check", name])
    }

    /// Where a report is removed that was kept.
    pub fn remove_report(&self, name: &str) -> String {
        self.local(&self.below(&["check", name, "remove"]))
    }

    /// A picture for the author's own page, which leads to the page of the site.
    pub fn badge(&self, site: &str) -> String {
        self.below(&["sites", site, "badge.svg"])
    }

    /// Where authors tell that their site has changed.
    pub fn ping(&self) -> String {
        self.below(&["ping"])
    }

    /// What was read so far for that.
    pub fn report_reading(&self, url: &str) -> String {
        with_query(self.at("check/reading.json"), &[("url", url)])
    }

    /// What was read so far of a site.
    pub fn reading(&self, site: &str) -> String {
        self.local(&self.below(&["sites", site, "reading.json"]))
    }

    /// The page of a site.
    pub fn site(&self, site: &str) -> String {
        self.below(&["sites", site, ""])
    }

    /// The feed of a site.
    pub fn site_feed(&self, site: &str) -> String {
        self.below(&["sites", site, "feed.atom"])
    }

    /// A feed.
    pub fn feed(&self, feed: &FeedPath<'_>) -> String {
        self.document(feed, &format!("feed.{}", feed.extension), None)
    }

    /// A part of a feed that is full and never changes.
    pub fn archive(&self, feed: &FeedPath<'_>, number: i64) -> String {
        let name = format!("archive/{number}.{}", feed.extension);
        self.document(feed, &name, None)
    }

    /// What a feed had before a change.
    pub fn feed_before(&self, feed: &FeedPath<'_>, n: i64) -> String {
        self.document(feed, &format!("feed.{}", feed.extension), Some(n))
    }

    fn document(&self, feed: &FeedPath<'_>, name: &str, before: Option<i64>) -> String {
        let mut parts = vec!["sites", feed.site];
        parts.extend(feed.collection);
        parts.extend(name.split('/'));
        let mut url = self.below(&parts);
        let by_page = feed.by_page.then(|| "entries=pages".to_owned());
        let before = before.map(|n| format!("before={n}"));
        let query: Vec<String> = by_page.into_iter().chain(before).collect();
        if !query.is_empty() {
            url.push('?');
            url.push_str(&query.join("&"));
        }
        url
    }

    /// The private feed of an account.
    pub fn account_feed(
        &self,
        extension: &str,
        key: &str,
        by_page: bool,
        after: Option<&str>,
    ) -> String {
        let url = self.below(&["home", &format!("feed.{extension}")]);
        let by_page = if by_page { "&entries=pages" } else { "" };
        let after = after.map(|place| format!("&after={place}"));
        format!("{url}?key={key}{by_page}{}", after.unwrap_or_default())
    }

    /// Who mints the ids of private feeds: our own host, as far as the operator says.
    pub fn authority(&self) -> String {
        tag::authority(&self.root)
    }

    /// The page of an entry.
    pub fn entry(&self, site: &str, collection: &str, n: i64) -> String {
        self.below(&["sites", site, collection, "entries", &n.to_string()])
    }

    /// What feeds look like in a browser.
    pub fn feed_style(&self) -> String {
        self.below(&["static", "feed.css"])
    }

    /// The page of a collection.
    pub fn collection(&self, site: &str, collection: &str) -> String {
        self.below(&["sites", site, collection, ""])
    }

    /// The feed of a collection.
    pub fn collection_feed(&self, site: &str, collection: &str) -> String {
        self.below(&["sites", site, collection, "feed.atom"])
    }

    /// A site in the API.
    pub fn api_site(&self, site: SiteId) -> String {
        self.below(&["api", "v1", "sites", &site.to_string()])
    }

    /// A check in the API.
    pub fn api_check(&self, site: SiteId, check: CheckId) -> String {
        let (site, check) = (site.to_string(), check.to_string());
        self.below(&["api", "v1", "sites", &site, "checks", &check])
    }

    /// A subscription in the API.
    pub fn api_subscription(&self, id: i64) -> String {
        self.below(&["api", "v1", "subscriptions", &id.to_string()])
    }

    /// An address of ours as the service is asked for it, whatever its public address is.
    pub fn below_root<'a>(&self, address: &'a str) -> &'a str {
        let slash = self.root.as_str().len() - 1;
        address.get(slash..).unwrap_or(address)
    }

    fn below(&self, parts: &[&str]) -> String {
        // Nearly all names are plain. A feed has very many addresses, so these are not taken apart and put together.
        match parts.iter().all(|part| is_plain(part)) {
            true => format!("{}{}", self.root, parts.join("/")),
            false => self.below_slowly(parts),
        }
    }

    fn below_slowly(&self, parts: &[&str]) -> String {
        let mut url = self.root.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(parts);
        }
        url.into()
    }
}

/// Whether a part of a path stands in an address as it is.
fn is_plain(part: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    !part.starts_with('.') && part.bytes().all(is_plain)
}

/// An address with a query.
pub fn with_query(mut address: String, pairs: &[(&str, &str)]) -> String {
    address.push('?');
    let start = address.len();
    form_urlencoded::Serializer::for_suffix(address, start)
        .extend_pairs(pairs)
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_ours_are_come_back_to() {
        let paths = Paths::new("https://bell.example/at/".parse().unwrap());
        let own = |path: &str| paths.own_page(path);
        assert_eq!(
            own("/home?kind=updated").as_deref(),
            Some("/at/home?kind=updated")
        );
        for bad in [
            "",
            "home",
            "//evil.example/",
            "///evil.example/",
            "/\\evil.example/",
            "\\\\evil.example/",
            "/\t/evil.example/",
            "/ /evil.example",
            "/\n",
            "https://evil.example/",
            "javascript:alert(1)",
        ] {
            assert_eq!(own(bad), None, "{bad}");
        }
        assert_eq!(
            paths.sign_in_to(Some("/home?a=1&b=2")),
            "/at/sign-in?next=%2Fhome%3Fa%3D1%26b%3D2"
        );
    }

    #[test]
    fn the_short_way_to_an_address_leads_to_the_same_place() {
        for root in ["https://bell.example/at/", "http://[::1]:8080/"] {
            let paths = Paths::new(root.parse().unwrap());
            let names = ["fox.example", "a-b_c~d", ".", "..", ".a", "%2e", "é", "a b"];
            for name in names
                .into_iter()
                .chain(["", "a/b", "?", "#", "a\tb", "a:b"])
            {
                for parts in [&["sites", name, "feed.atom"][..], &["sites", name, ""]] {
                    assert_eq!(paths.below(parts), paths.below_slowly(parts), "{parts:?}");
                }
            }
        }
    }

    #[test]
    fn addresses_hang_below_the_public_url_and_are_always_whole() {
        let paths = Paths::new("https://bell.example/at/".parse().unwrap());
        assert_eq!(paths.home(), "https://bell.example/at/");
        assert_eq!(
            paths.site("fox.example"),
            "https://bell.example/at/sites/fox.example/"
        );
        assert_eq!(
            paths.collection_feed("fox.example", "den"),
            "https://bell.example/at/sites/fox.example/den/feed.atom"
        );
        assert_eq!(
            paths.site_feed("a/b?c"),
            "https://bell.example/at/sites/a%2Fb%3Fc/feed.atom"
        );
        assert_eq!(paths.below_root(&paths.site("fox")), "/sites/fox/");
    }
}
