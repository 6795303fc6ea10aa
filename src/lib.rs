//! Sitebell rings when a page changes: it reads what a website says about its own changes and makes feeds of it.
//!
//! # The way of the data
//!
//! ```text
//! address -> discover -> fetch -> read -> track -> store -> feed
//!                                                        -> web
//! ```
//!
//! A person types an address ([`site`]). [`discover`] turns it into the document that describes the site, [`load`]
//! gets single documents by joining [`fetch`], the only code that talks to other people's servers, with [`read`], which
//! is pure and knows the formats: a document is a log of changes, or a list of pages, and what follows knows no more than
//! that. [`check`] walks from that first document to every change or page, with what is remembered of the site
//! ([`memory`]). [`track`] decides what of it is new. [`schedule`] does all this for every site that is due, and saves it
//! in the [`store`], the only code that knows SQL. [`feed`] renders it, and [`web`] answers people and programs. The other
//! way round, [`publish`] writes for a folder of pages what `read` reads. [`cli`] is what the operator at a terminal sees
//! of all this, with the settings of [`config`].
//!
//! # The modules, in that order
//!
//! | module | what it is for |
//! |---|---|
//! | [`text`], [`moment`], [`change`], [`problem`], [`site`], [`account`], [`secret`], [`memory`] | the words of the product, as types |
//! | [`read`] | bytes to documents: XML, ResourceSync, lists of pages in five formats, HTML, metadata, OPML |
//! | [`fetch`] | one polite, guarded, bounded GET |
//! | [`load`] | one document within the bounds of one check |
//! | [`discover`] | from what was typed to the root document |
//! | [`check`] | one reading of a site |
//! | [`track`] | what is new |
//! | [`store`] | what is kept, in SQLite |
//! | [`schedule`] | what is due is checked and saved, in good time and not too much at once |
//! | [`publish`] | the author's side: a folder of pages, as the documents that [`read`] reads |
//! | [`feed`] | Atom |
//! | [`handbook`] | what Sitebell says about itself, as pages |
//! | [`web`] | the service over HTTP |
//! | [`demo`] | a sample site that keeps changing, published with [`publish`] |
//! | [`config`], [`cli`] | settings and commands |
//!
//! Dependencies point upwards in this table and never down; `tests/it/layout.rs` keeps it so.

pub mod account;
pub mod change;
pub mod check;
pub mod cli;
pub mod config;
pub mod demo;
pub mod discover;
pub mod feed;
pub mod fetch;
pub mod handbook;
pub mod load;
pub mod memory;
pub mod moment;
pub mod problem;
pub mod publish;
pub mod read;
pub mod schedule;
pub mod secret;
pub mod site;
pub mod store;
pub mod text;
pub mod track;
pub mod web;
