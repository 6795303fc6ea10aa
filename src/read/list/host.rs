//! For which hosts a list may speak.

use memchr::memchr;
use url::Url;

use super::{List, Page, Sink};
use crate::problem::Code;
use crate::text::quote;

/// The hosts whose pages are taken: with and without `www.`, over http and https.
#[derive(Debug, Clone)]
pub struct Hosts {
    /// The beginnings of their addresses.
    heads: Vec<String>,
}

impl Hosts {
    /// The hosts of these addresses.
    pub fn of<'a>(urls: impl IntoIterator<Item = &'a Url>) -> Hosts {
        let mut heads = Vec::new();
        for url in urls {
            let host = url.host_str().unwrap_or_default();
            let bare = host.strip_prefix("www.").unwrap_or(host);
            let port = url
                .port()
                .map(|port| format!(":{port}"))
                .unwrap_or_default();
            // The page that was named comes first: most addresses begin like it.
            for scheme in [url.scheme(), "https", "http"] {
                for name in [host, bare, &format!("www.{bare}")] {
                    let head = format!("{scheme}://{name}{port}/");
                    if !heads.contains(&head) {
                        heads.push(head);
                    }
                }
            }
        }
        Hosts { heads }
    }

    /// Whether a page is on one of them. The address must be one that [`Url`] wrote.
    pub fn have(&self, url: &str) -> bool {
        self.heads.iter().any(|head| url.starts_with(head.as_str()))
    }

    /// Hands on a page whose address is whole, unless it is somebody else's.
    pub(crate) fn hand_on(&self, page: &mut Page, line: u32, list: &mut List, sink: &mut Sink<'_>) {
        if let Some(fragment) = memchr(b'#', page.url.as_bytes()) {
            page.url.truncate(fragment);
        }
        if self.have(&page.url) {
            list.pages += 1;
            (sink.each)(page);
        } else {
            sink.note(Code::ForeignPages, line, || {
                format!("{} is on another site and was left out", quote(&page.url))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_its_pages_with_and_without_www_and_https() {
        let hosts = Hosts::of(&["https://www.fox.example:8443/a".parse().unwrap()]);
        assert!(hosts.have("https://fox.example:8443/b"));
        assert!(hosts.have("http://www.fox.example:8443/"));
        for url in [
            "https://fox.example/b",
            "https://fox.example.evil.example:8443/",
            "https://blog.fox.example:8443/",
        ] {
            assert!(!hosts.have(url), "{url}");
        }
    }
}
