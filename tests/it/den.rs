//! A small site with everything in its place, to be broken in one place at a time.
//!
//! ```ignore
//! let den = Den::new();
//! den.change_list("/changelist.xml", "from='2026-01-01'", &["created /new 2026-03-02"]);
//! let checked = den.check().await;
//! assert_eq!(told(&checked), ["created /new 2026-03-02"]);
//! ```
//!
//! The documents that the helpers write are good ones, with all that the proposal asks for. For bad ones there is
//! [`Den::xml`], in whose text `{den}` stands for the address of the site.

use std::sync::Arc;

use sitebell::check::{CheckError, CheckSettings, Checked, check_site};
use sitebell::fetch::{FetchSettings, Fetcher, Lookup};
use sitebell::site::SiteUrl;
use url::Url;

use crate::fake_site::{FakeSite, Reply};
use crate::names::Loopback;

pub const WELL_KNOWN: &str = "/.well-known/resourcesync";
/// The present, for every check.
pub const NOW: &str = "2026-03-10T12:00:00Z";

const NAMESPACES: &str = "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:rs='http://www.openarchives.org/rs/terms/'";

/// A list with this inside.
pub fn urlset(inside: &str) -> String {
    format!("<urlset {NAMESPACES}>{inside}</urlset>")
}

/// An index with this inside.
pub fn sitemapindex(inside: &str) -> String {
    format!("<sitemapindex {NAMESPACES}>{inside}</sitemapindex>")
}

/// The site, under the name fox.example.
pub struct Den {
    pub site: FakeSite,
    pub host: &'static str,
}

impl Den {
    /// One collection, one list, two changes, and nothing to complain about.
    pub fn new() -> Den {
        Den::named("fox.example")
    }

    /// The same under another name.
    pub fn named(host: &'static str) -> Den {
        let den = Den {
            host,
            ..Den::empty()
        };
        den.description(&[("/capabilitylist.xml", "/")]);
        den.capability_list("/capabilitylist.xml", "/", &["/changelist.xml"]);
        let changes = ["created /a 2026-03-01", "updated /b 2026-03-02T08:00:00Z"];
        den.change_list("/changelist.xml", "from='2026-01-01'", &changes);
        den.about("/about.xml", "/", "The Fox Den");
        den
    }

    /// A site that answers everything with 404.
    pub fn empty() -> Den {
        Den::of(FakeSite::start())
    }

    pub fn of(site: FakeSite) -> Den {
        Den {
            site,
            host: "fox.example",
        }
    }

    pub fn url(&self, path: &str) -> Url {
        self.site.url_as(self.host, path)
    }

    /// A page of ours about the site, such as `/gallery/`.
    pub fn page(&self, path: &str) -> String {
        format!("/sites/{}-{}{path}", self.host, self.site.port())
    }

    /// Serves a text in which `{den}` stands for the address of the site.
    pub fn xml(&self, path: &str, text: &str) {
        self.site.serve(path, Reply::xml(self.filled(text)));
    }

    pub fn html(&self, path: &str, text: &str) {
        self.site.serve(path, Reply::html(self.filled(text)));
    }

    pub fn filled(&self, text: &str) -> String {
        let root = self.url("/");
        text.replace("{den}", root.as_str().trim_end_matches('/'))
    }

    /// The Source Description at the well-known address, over Capability Lists and what they describe.
    pub fn description(&self, lists: &[(&str, &str)]) {
        self.description_at(WELL_KNOWN, lists);
    }

    pub fn description_at(&self, path: &str, lists: &[(&str, &str)]) {
        let entry = |(list, describes): &(&str, &str)| {
            let (list, describes) = (absolute(list), absolute(describes));
            format!(
                "<url><loc>{list}</loc><rs:md capability='capabilitylist'/>
                <rs:ln rel='describes' href='{describes}'/><rs:ln rel='describedby' href='{{den}}/about.xml'/></url>"
            )
        };
        let entries: String = lists.iter().map(entry).collect();
        let head =
            "<rs:ln rel='describedby' href='{den}/about.xml'/><rs:md capability='description'/>";
        self.xml(path, &urlset(&format!("{head}{entries}")));
    }

    pub fn capability_list(&self, path: &str, describes: &str, change_lists: &[&str]) {
        self.capability_list_of(WELL_KNOWN, path, describes, change_lists);
    }

    pub fn capability_list_of(&self, up: &str, path: &str, describes: &str, change_lists: &[&str]) {
        let entry = |list: &&str| {
            let list = absolute(list);
            format!("<url><loc>{list}</loc><rs:md capability='changelist'/></url>")
        };
        let entries: String = change_lists.iter().map(entry).collect();
        let (up, describes) = (absolute(up), absolute(describes));
        self.xml(
            path,
            &urlset(&format!(
                "<rs:ln rel='up' href='{up}'/><rs:ln rel='describes' href='{describes}'/>
                <rs:ln rel='describedby' href='{{den}}/about.xml'/><rs:md capability='capabilitylist'/>{entries}"
            )),
        );
    }

    /// A Change List of `/capabilitylist.xml`, with changes such as `updated /page 2026-03-01`.
    pub fn change_list(&self, path: &str, span: &str, changes: &[&str]) {
        self.change_list_of("/capabilitylist.xml", path, span, changes);
    }

    pub fn change_list_of(&self, up: &str, path: &str, span: &str, changes: &[&str]) {
        self.xml(path, &change_list(up, span, changes));
    }

    /// A Change List Index of `/capabilitylist.xml`, over lists and the time they cover.
    pub fn index(&self, path: &str, span: &str, children: &[(&str, &str)]) {
        let entry = |(list, span): &(&str, &str)| {
            let list = absolute(list);
            format!("<sitemap><loc>{list}</loc><rs:md {span}/></sitemap>")
        };
        let entries: String = children.iter().map(entry).collect();
        self.xml(
            path,
            &sitemapindex(&format!(
                "<rs:ln rel='up' href='{{den}}/capabilitylist.xml'/><rs:md capability='changelist' {span}/>{entries}"
            )),
        );
    }

    /// A description in RDF/XML.
    pub fn about(&self, path: &str, describes: &str, title: &str) {
        self.xml(
            path,
            &format!(
                "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:dcterms='http://purl.org/dc/terms/'>
                <rdf:Description rdf:about='{}'><dcterms:title>{title}</dcterms:title></rdf:Description></rdf:RDF>",
                absolute(describes)
            ),
        );
    }

    pub async fn check(&self) -> Checked {
        self.check_with(|_| {}).await
    }

    pub async fn check_since(&self, since: &str) -> Checked {
        self.check_with(|settings| settings.since = Some(since.parse().unwrap()))
            .await
    }

    /// A check with other settings.
    pub async fn check_with(&self, change: impl FnOnce(&mut CheckSettings)) -> Checked {
        let mut settings = CheckSettings::default();
        change(&mut settings);
        let typed = self.url("/");
        run(fetcher(), typed.as_str(), &settings).await.unwrap()
    }

    /// A check of another address of the site.
    pub async fn check_typed(&self, path: &str) -> Checked {
        let typed = self.url(path);
        check_typed(typed.as_str()).await.unwrap()
    }
}

/// A Change List as text, for a capability list at `up`.
pub fn change_list(up: &str, span: &str, changes: &[&str]) -> String {
    let entry = |change: &&str| {
        let words: Vec<&str> = change.split(' ').collect();
        let [kind, page, datetime] = words[..] else {
            panic!("{change} is no change")
        };
        let page = absolute(page);
        format!("<url><loc>{page}</loc><rs:md change='{kind}' datetime='{datetime}'/></url>\n")
    };
    let entries: String = changes.iter().map(entry).collect();
    let up = absolute(up);
    urlset(&format!(
        "<rs:ln rel='up' href='{up}'/><rs:md capability='changelist' {span}/>\n{entries}"
    ))
}

/// A path is one of the den's own.
fn absolute(address: &str) -> String {
    match address.starts_with('/') {
        true => format!("{{den}}{address}"),
        false => address.to_owned(),
    }
}

/// A fetcher for which all names lead to loopback, and all of loopback is open.
pub fn fetcher() -> Fetcher {
    Fetcher::with_lookup(open_settings(), Arc::new(Loopback)).unwrap()
}

/// A fetcher for which this one address is open, and nothing else of loopback.
pub fn fetcher_for(site: &FakeSite, lookup: Arc<dyn Lookup>) -> Fetcher {
    let settings = FetchSettings {
        allow_nets: vec![site.address().to_string().parse().unwrap()],
        ..open_settings()
    };
    Fetcher::with_lookup(settings, lookup).unwrap()
}

pub fn open_settings() -> FetchSettings {
    FetchSettings {
        host_gap: std::time::Duration::ZERO,
        allow_nets: vec!["127.0.0.0/8".parse().unwrap()],
        ..FetchSettings::default()
    }
}

/// A check of whatever is typed.
pub async fn check_typed(typed: &str) -> Result<Checked, CheckError> {
    run(fetcher(), typed, &CheckSettings::default()).await
}

pub async fn run(
    fetcher: Fetcher,
    typed: &str,
    settings: &CheckSettings,
) -> Result<Checked, CheckError> {
    let site = SiteUrl::parse(typed).unwrap();
    let now = NOW.parse().unwrap();
    check_site(&fetcher, &site, None, settings, now, Arc::new(|_| {})).await
}

/// The changes of all collections, in order, as [`Den::change_list`] takes them.
pub fn told(checked: &Checked) -> Vec<String> {
    let changes = checked
        .collections
        .iter()
        .flat_map(|collection| &collection.changes);
    changes
        .map(|change| {
            let path = Url::parse(&change.url).unwrap().path().to_owned();
            format!("{} {path} {}", change.kind, change.datetime)
        })
        .collect()
}

/// The paths that identify the collections.
pub fn collections(checked: &Checked) -> Vec<&str> {
    let ids = checked.collections.iter().map(|collection| &collection.id);
    ids.map(Url::path).collect()
}

/// The codes of all problems, in alphabetical order.
pub fn codes(checked: &Checked) -> Vec<&str> {
    let problems = checked.problems.iter();
    let mut codes: Vec<_> = problems.map(|problem| problem.code.name()).collect();
    codes.sort_unstable();
    codes
}

/// The message of the only problem with this code.
pub fn message<'a>(checked: &'a Checked, code: &str) -> &'a str {
    let problems = checked.problems.iter();
    let found: Vec<_> = problems
        .filter(|problem| problem.code.name() == code)
        .collect();
    match found[..] {
        [problem] => &problem.message,
        _ => panic!("{} times {code} in {:?}", found.len(), codes(checked)),
    }
}
