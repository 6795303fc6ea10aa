//! Sitebell reads what a website says about its own changes and turns it into feeds.
#![allow(missing_docs)]

pub mod change;
pub mod check;
pub mod cli;
pub mod config;
pub mod discover;
pub mod feed;
pub mod fetch;
pub mod load;
pub mod moment;
pub mod problem;
pub mod read;
pub mod site;
pub mod text;
pub mod track;
