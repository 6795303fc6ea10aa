//! Any bytes as a list of pages, in whichever format they look like: what comes out are whole addresses of the site
//! itself and clean text, and the same bytes give the same list.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sitebell::change::Page;
use sitebell::problem::Problems;
use sitebell::read::list::{Hosts, List, MAX_UNPACKED_BYTES, Sink, read};
use url::Url;

fn whole(mut bytes: &[u8]) -> Option<(List, Vec<Page>)> {
    let url: Url = "https://s.example/fox/list".parse().expect("an address");
    let mut problems = Problems::default();
    let mut pages = Vec::new();
    let mut each = |page: &Page| pages.push(page.clone());
    let mut sink = Sink {
        url: &url,
        max_unpacked_bytes: MAX_UNPACKED_BYTES,
        problems: &mut problems,
        each: &mut each,
    };
    let list = read(&mut bytes, &Hosts::of([&url]), &mut sink).ok()?.1;
    Some((list, pages))
}

fuzz_target!(|bytes: &[u8]| {
    if let Some((list, pages)) = whole(bytes) {
        assert_eq!(list.pages, pages.len());
        for page in &pages {
            let url = Url::parse(&page.url).expect("an address");
            assert_eq!(url.as_str(), page.url);
            assert!(matches!(url.host_str(), Some("s.example" | "www.s.example")));
            let texts = page.title.iter().chain(&page.summary).chain(&page.author).chain(&page.tags);
            for text in texts {
                assert!(!text.contains(char::is_control));
            }
        }
        assert_eq!(whole(bytes), Some((list, pages)));
    }
});
