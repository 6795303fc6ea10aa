//! Any bytes as a web page.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sitebell::read::html::HtmlHead;
use url::Url;

fuzz_target!(|bytes: &[u8]| {
    let base: Url = "https://s.example/fox/".parse().expect("an address");
    for content_type in [None, Some("application/xhtml+xml")] {
        let head = HtmlHead::parse(bytes, content_type, &base);
        for link in head.links {
            assert!(matches!(link.href.scheme(), "http" | "https"));
        }
    }
});
