//! What Sitebell does, seen from outside.
#![allow(clippy::unwrap_used)] // A test that cannot go on should say where.

mod command_line; // the program itself: what it prints, and how it ends
mod den; // a small site with everything in its place
mod fake_site; // a website on loopback, told what to serve
mod fetching; // requests: where they go, how politely, and what comes back
mod layout; // which part of the source may use which, and what the README promises
mod names; // resolvers
mod walking; // one check of a site, from what was typed to its changes
