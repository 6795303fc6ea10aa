//! The parts of Sitebell that read what strangers write, and nothing else of it: building all of the service with the
//! fuzzer's eyes in it takes minutes, and none of it would be looked at. The targets know it as `sitebell`.

// What only the rest of the service uses.
#![allow(dead_code)]

#[path = "../../src/change.rs"]
pub mod change;
#[path = "../../src/memory/mod.rs"]
pub mod memory;
#[path = "../../src/moment.rs"]
pub mod moment;
#[path = "../../src/problem.rs"]
pub mod problem;
#[path = "../../src/read/mod.rs"]
pub mod read;
#[path = "../../src/fetch/robots/file.rs"]
mod robots;
#[path = "../../src/site.rs"]
pub mod site;
#[path = "../../src/text/mod.rs"]
pub mod text;
#[path = "../../src/track/mod.rs"]
pub mod track;

/// Of the part that asks other servers, what understands an answer.
pub mod fetch {
    pub use crate::robots::Robots;
}
