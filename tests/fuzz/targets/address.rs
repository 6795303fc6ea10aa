//! Any text as an address: what comes out is what [`Url`] writes, and stays as it is when read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sitebell::read::address::resolve;
use url::Url;

fuzz_target!(|text: &str| {
    let base: Url = "https://s.example/fox/list.xml".parse().expect("an address");
    let mut address = text.to_owned();
    if resolve(&mut address, &base).is_ok() {
        let url = Url::parse(&address).expect("a good address");
        assert_eq!(url.as_str(), address);
        assert!(matches!(url.scheme(), "http" | "https"));
        assert!(url.username().is_empty() && url.password().is_none());
    }
});
