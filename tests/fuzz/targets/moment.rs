//! Any text as a datetime: what was read can be written, and reads back as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sitebell::moment::Moment;

fuzz_target!(|text: &str| {
    if let Ok(moment) = Moment::parse(text) {
        assert_eq!(Moment::parse(&moment.to_string()), Ok(moment));
        assert!(moment.start() < moment.end());
        assert!(moment.earliest() <= moment.latest());
    }
});
