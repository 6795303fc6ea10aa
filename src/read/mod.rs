//! What a document says, whoever wrote it.

pub mod xml;
