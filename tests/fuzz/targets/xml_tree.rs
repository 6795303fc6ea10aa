//! Any bytes as an XML document.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sitebell::read::xml::tree;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(root) = tree::parse(bytes) {
        assert!(root.text().len() <= 3 * bytes.len());
    }
});
