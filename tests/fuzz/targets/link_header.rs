//! Any text as the value of a `Link` header.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sitebell::read::link_header::parse;
use url::Url;

fuzz_target!(|value: &str| {
    let base: Url = "https://s.example/fox/".parse().expect("an address");
    for link in parse(value, &base) {
        assert!(!link.rels.is_empty());
        assert!(matches!(link.href.scheme(), "http" | "https"));
    }
});
