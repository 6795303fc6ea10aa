//! How much one check may take.

use std::time::Duration;

use crate::read::list::MAX_UNPACKED_BYTES;

/// The bounds of one check.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Documents that are fetched.
    pub documents: u32,
    /// Documents among them that are neither on the site that was asked for nor where its description is.
    pub foreign_documents: u32,
    /// Capability Lists of one site.
    pub collections: usize,
    /// Pages and metadata that are fetched for titles and authors.
    pub descriptions: u32,
    /// Changes that are kept in memory. The document that goes beyond it is still taken whole.
    pub changes: usize,
    /// Pages of lists of pages that are kept in memory. The document that goes beyond it is still taken whole.
    pub pages: usize,
    /// Lists that other lists name, all of them together: indexes may name more of them without end.
    pub parts: usize,
    /// Bytes that come over the network.
    pub bytes: u64,
    /// Bytes of a list that comes packed, unpacked.
    pub unpacked_bytes: u64,
    /// The whole check.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            documents: 100,
            foreign_documents: 20,
            collections: 100,
            descriptions: 20,
            changes: 250_000,
            pages: 5_000_000,
            parts: 100_000,
            bytes: 200 * 1024 * 1024,
            unpacked_bytes: MAX_UNPACKED_BYTES,
            time: Duration::from_secs(60),
        }
    }
}
