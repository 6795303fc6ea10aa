//! One polite GET: the only code that talks to other people's servers.
mod body;
mod client;
mod decode;
mod error;
pub mod guard;
mod head;
mod pace;
mod redirect;
pub mod robots;
pub use client::{LookingUp, Lookup, SystemLookup};
pub use error::*;
