//! What a document says, whoever wrote it.

pub mod address;
pub mod resourcesync;
pub mod xml;
