//! What a document says, given its bytes, whoever wrote it: no network, no clock, no database.

pub mod about;
pub mod address;
pub mod charset;
pub mod html;
pub mod link;
pub mod link_header;
pub mod opml;
pub mod resourcesync;
pub mod xml;
