//! Names that are made once and never change: the ids of feeds and entries, and the readable names in their addresses.
//!
//! An id is a tag URI (RFC 4151). It does not depend on where this instance is served, so that feeds survive a move.

use chrono::{DateTime, Utc};
use url::Url;

use crate::text::{readable_address, readable_segment, tag};

/// Longer names are of no help to anybody.
const MAX_SLUG_CHARS: usize = 60;
/// Names that addresses below a site may need for something else.
const RESERVED: &[&str] = &[
    "feed",
    "feed.atom",
    "check",
    "checks",
    "changes",
    "archive",
    "subscribe",
    "badge.svg",
];

/// Mints the ids of one site in one database.
pub(super) struct Minter<'a> {
    /// The name of the database.
    pub instance: &'a str,
    /// The site's address.
    pub url: &'a Url,
    /// The day of minting is part of the id.
    pub now: DateTime<Utc>,
}

impl Minter<'_> {
    /// The id of the `number`th thing of a kind.
    pub(super) fn mint(&self, kind: &str, number: &str) -> String {
        let host = tag::authority(self.url);
        // A date writes itself as such an id wants it.
        let day = self.now.date_naive();
        format!(
            "tag:{host},{day}:sitebell:{}:{kind}:{number}",
            self.instance
        )
    }
}

/// A readable name for a site that no other one has: the host, and the path where it is not a whole host.
pub(super) fn site_slug<E>(
    url: &Url,
    is_taken: impl FnMut(&str) -> Result<bool, E>,
) -> Result<String, E> {
    first_free(vec![slug(&readable_address(url))], is_taken)
}

/// A readable name for a collection that no other one of its site has: as little of its path as tells it apart.
pub(super) fn collection_slug<E>(
    identity: &Url,
    is_taken: impl FnMut(&str) -> Result<bool, E>,
) -> Result<String, E> {
    let address = readable_address(identity);
    let (host, path) = address.split_once('/').unwrap_or((&address, ""));
    // Sections of one document differ in this alone.
    let fragment = identity.fragment().map(readable_segment);
    let parts: Vec<&str> = (path.split('/').chain(fragment.as_deref()))
        .filter(|part| !part.is_empty())
        .collect();
    let mut candidates: Vec<String> = (0..parts.len())
        .rev()
        .map(|first| slug(&parts[first..].join("-")))
        .collect();
    if parts.is_empty() {
        candidates.push(slug(host));
    }
    first_free(candidates, is_taken)
}

fn first_free<E>(
    mut candidates: Vec<String>,
    mut is_taken: impl FnMut(&str) -> Result<bool, E>,
) -> Result<String, E> {
    candidates.retain(|name| !name.is_empty());
    let last = candidates
        .last()
        .cloned()
        .unwrap_or_else(|| "site".to_owned());
    let numbered = (2_u64..).map(|number| format!("{last}-{number}"));
    for name in candidates.into_iter().chain([last.clone()]).chain(numbered) {
        if !RESERVED.contains(&name.as_str()) && !is_taken(&name)? {
            return Ok(name);
        }
    }
    unreachable!("numbers do not end")
}

/// Letters and digits of any script in lower case, dots and underscores between them, and hyphens for everything else.
fn slug(text: &str) -> String {
    let mut name = String::new();
    for character in text
        .chars()
        .flat_map(char::to_lowercase)
        .take(MAX_SLUG_CHARS)
    {
        match character {
            c if c.is_alphanumeric() => name.push(c),
            c @ ('.' | '_') if !name.is_empty() => name.push(c),
            _ if !name.is_empty() && !name.ends_with('-') => name.push('-'),
            _ => {}
        }
    }
    name.truncate(name.trim_end_matches(['-', '.']).len());
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::convert::Infallible;

    fn slugs(addresses: &[&str], of_collections: bool) -> Vec<String> {
        let mut taken = HashSet::new();
        let mut names = Vec::new();
        for address in addresses {
            let url = address.parse().unwrap();
            let is_taken = |name: &str| Ok::<_, Infallible>(taken.contains(name));
            let name = match of_collections {
                true => collection_slug(&url, is_taken),
                false => site_slug(&url, is_taken),
            };
            let Ok(name) = name;
            taken.insert(name.clone());
            names.push(name);
        }
        names
    }

    #[test]
    fn a_site_is_named_after_its_host_and_path() {
        let names = slugs(
            &[
                "https://www.example.com/",
                "http://example.com/",
                "https://example.com/~Fox/den.html",
                "http://127.0.0.1:8080/",
                "https://xn--bcher-kva.example/",
                "https://[::1]/",
            ],
            false,
        );
        let expected = [
            "example.com",
            "example.com-2",
            "example.com-fox-den",
            "127.0.0.1-8080",
            "bücher.example",
            "1",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_collection_is_named_after_as_little_as_tells_it_apart() {
        let names = slugs(
            &[
                "https://example.com/",
                "https://example.com/a/fox/",
                "https://example.com/b/fox/",
                "https://example.com/b/fox/?page=2",
                "https://example.com/feed/",
                "https://example.com/%E7%8B%90/",
                "https://example.com/---/",
                "https://example.com/#blog",
                "https://example.com/b/#blog",
                "https://example.com/#%E7%8B%90.%E7%8B%B8",
            ],
            true,
        );
        let expected = [
            "example.com",
            "fox",
            "b-fox",
            "b-fox-2",
            "feed-2",
            "狐",
            "site",
            "blog",
            "b-blog",
            "狐.狸",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn an_id_can_be_a_tag_wherever_the_site_is() {
        for (address, host) in [
            ("https://bücher.example/", "xn--bcher-kva.example"),
            ("http://my_den.example/", "my-den.example"),
            ("http://127.0.0.1:8080/", "127.0.0.1"),
            ("http://[::1]/", "00000000000000000000000000000001.ip6"),
        ] {
            let minter = Minter {
                instance: "cafe",
                url: &address.parse().unwrap(),
                now: "2026-01-02T03:04:05Z".parse().unwrap(),
            };
            assert_eq!(
                minter.mint("site", "7"),
                format!("tag:{host},2026-01-02:sitebell:cafe:site:7")
            );
        }
    }
}
