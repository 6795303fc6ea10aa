//! One polite GET: the only code that talks to other people's servers.
mod client;
mod decode;
mod error;
pub mod guard;
mod pace;
pub use client::{LookingUp, Lookup, SystemLookup};
pub use error::*;
