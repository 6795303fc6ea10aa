//! ResourceSync 1.1 as proposal IFCC-0001 uses it, and as publishers really write it.
//!
//! [`document`] is the grammar, [`read`] turns bytes into it, [`rules`] says what an author should do better, and
//! [`write`] turns it into bytes again.

pub mod document;
pub mod list;
pub mod read;
pub mod rules;
pub mod write;

pub use self::document::{Capability, Document, Entry};
pub use self::read::{Reading, ReadingRules, read};
pub use self::write::write;
