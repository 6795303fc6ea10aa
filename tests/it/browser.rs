//! What people see: the pages in a real browser, with its scripts running and without.

mod accounts; // the stories of an account, from the first start to its end
mod driver; // Chromium, and what it sees
mod following; // from an address to a timeline
mod looking; // every page: how it looks, and whether everybody can use it

pub use driver::{Browser, Script};
