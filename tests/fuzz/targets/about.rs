//! Any bytes as a description of a collection, in whatever format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sitebell::read::about::read;
use url::Url;

fuzz_target!(|bytes: &[u8]| {
    let url: Url = "https://s.example/fox/about".parse().expect("an address");
    let described: Url = "https://s.example/fox/".parse().expect("an address");
    let _ = read(bytes, None, &url, &described);
});
