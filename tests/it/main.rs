//! What Sitebell does, seen from outside.
#![allow(clippy::unwrap_used)] // A test that cannot go on should say where.

mod fake_site; // a website on loopback, told what to serve
mod fetching; // requests: where they go, how politely, and what comes back
