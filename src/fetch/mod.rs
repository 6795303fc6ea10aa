//! One polite GET: the only code that talks to other people's servers.
pub mod guard;
