//! What all benchmarks share: the table of limits, the memory of a process, the service and sites for it to read, and the
//! way in which they end.
#![allow(dead_code)] // Each uses a part of it.

pub mod filled;
pub mod memory;
pub mod serving;
pub mod sites;
pub mod table;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

/// Whatever keeps a benchmark from being run.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The arguments. `cargo bench` adds `--bench`, which tells nothing here.
pub struct Arguments(Vec<String>);

impl Arguments {
    pub fn read() -> Arguments {
        Arguments(std::env::args().skip(1).collect())
    }

    /// What follows this name.
    pub fn value(&self, name: &str) -> Option<&str> {
        let place = self.0.iter().position(|argument| argument == name)?;
        self.0.get(place + 1).map(String::as_str)
    }

    /// A Python with the peers installed.
    pub fn python(&self) -> Option<&Path> {
        self.value("--python").map(Path::new)
    }
}

/// Success if every limit was kept.
pub fn end(done: Result<bool, Failure>) -> ExitCode {
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("the benchmark could not be run: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// The one in the middle.
pub fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
