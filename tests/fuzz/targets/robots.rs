//! Any bytes as a robots.txt.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sitebell::fetch::Robots;
use url::Url;

fuzz_target!(|bytes: &[u8]| {
    let url: Url = "https://s.example/fox/list.xml?a=b".parse().expect("an address");
    let robots = Robots::parse(bytes);
    let _ = robots.allows(&url);
    let _ = (robots.sitemaps(), robots.crawl_delay());
});
