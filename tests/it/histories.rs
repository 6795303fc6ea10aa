//! The main guarantee, against any history of a site: everything is announced exactly once, and where it belongs.
//!
//! A site that only exists for the test does what sites do, behind a real server ([`stand`]), and is followed in the real
//! way ([`follower`]): with a fetcher, a store and `check_and_save`. After each check a model says what must have been
//! announced. A history ([`step`]) that fails is made as short as possible and printed in a form that can be put into a
//! corpus, where every history stays that ever found something. There are sites that tell their changes ([`telling`]) and
//! sites that list their pages ([`listing`]).
//!
//! `HISTORIES=100000 cargo test --test it histories` plays more of them.

mod follower;
mod listing;
mod server;
mod shelf;
mod stand;
mod step;
mod telling;
