//! What a document says, given its bytes: no network, no clock, no database.

pub mod charset;
pub mod clean;
pub mod html;
pub mod link;
pub mod link_header;
