//! What a document says, given its bytes, whoever wrote it: no network, no clock, no database.
//!
//! A document is a log of changes ([`resourcesync`]) or a list of pages ([`list`], in any of its formats).

pub mod about;
pub mod address;
pub mod arc;
pub mod charset;
pub mod html;
pub mod json;
pub mod link;
pub mod link_header;
pub mod list;
pub mod opml;
pub mod resourcesync;
pub mod scp;
pub mod sitemap;
pub mod spxi;
pub mod xml;
