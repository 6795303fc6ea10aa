//! The integration tests, one module for each thing that can be held against Sitebell.

// Every document in tests/data against its stored expectation.
mod sweep;
