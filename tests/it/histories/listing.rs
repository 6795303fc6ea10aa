//! The same for sites that list their pages: each page is announced once as created, as updated whenever its date moves
//! on, and as deleted once, after two complete readings without it; and never because something could not be read.

mod corpus;
mod model;
mod site;
mod step;

use self::site::Site;
use self::step::any_listing;
use super::stand::play_any;

/// Histories that are played each time.
const HISTORIES: u32 = 5_000;

#[test]
fn whatever_a_list_does_every_page_is_announced_once() {
    play_any::<Site, _>(HISTORIES, any_listing);
}
