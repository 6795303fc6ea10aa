//! Sitebell rings when a page changes: it reads what a website says about its own changes and makes feeds of it.
//!
//! # The way of the data
//!
//! ```text
//! address -> discover -> fetch -> read -> track -> feed
//! ```
//!
//! A person types an address ([`site`]). [`discover`] turns it into the document that describes the site, [`load`]
//! gets single documents by joining [`fetch`], the only code that talks to other people's servers, with [`read`], which
//! is pure and knows the formats. [`check`] walks from that first document to every change. [`track`] decides what of
//! it is new, and [`feed`] renders that. [`cli`] is what a person at a terminal sees of all this, with the settings of
//! [`config`].
//!
//! # The modules, in that order
//!
//! | module | what it is for |
//! |---|---|
//! | [`text`], [`moment`], [`change`], [`problem`], [`site`] | the words of the product, as types |
//! | [`fetch`] | one polite, guarded, bounded GET |
//! | [`read`] | bytes to documents: XML, ResourceSync, HTML, metadata |
//! | [`load`] | one document within the bounds of one check |
//! | [`discover`] | from what was typed to the root document |
//! | [`check`] | one reading of a site |
//! | [`track`] | what is new |
//! | [`feed`] | Atom |
//! | [`config`], [`cli`] | settings and commands |
//!
//! Dependencies point upwards in this table and never down; `tests/it/layout.rs` keeps it so.

pub mod change;
pub mod check;
pub mod cli;
pub mod config;
pub mod discover;
pub mod feed;
pub mod fetch;
pub mod load;
pub mod moment;
pub mod problem;
pub mod read;
pub mod site;
pub mod text;
pub mod track;
