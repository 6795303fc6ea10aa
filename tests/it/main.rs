//! What Sitebell does, seen from outside.

mod fake_site; // a website on loopback, told what to serve
mod fetching; // requests: where they go, how politely, and what comes back
