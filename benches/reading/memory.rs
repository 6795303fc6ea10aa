//! The memory that reading takes, seen from a process that does nothing else.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::common::Failure;
use crate::common::memory::peak;
use crate::document::{change_list, read_known};

/// The argument that makes this program the child.
pub const CHILD: &str = "--memory-of";

/// How far reading the file raises the highest amount of memory that was ever in use, in MB.
pub fn megabytes(file: &Path) -> Result<f64, Failure> {
    let child = Command::new(std::env::current_exe()?)
        .arg(CHILD)
        .arg(file)
        .output()?;
    let numbers: Result<Vec<f64>, _> = std::str::from_utf8(&child.stdout)?
        .split_whitespace()
        .map(str::parse)
        .collect();
    match numbers?[..] {
        [idle, peak] => Ok(peak - idle),
        _ => Err("the child that measures its memory failed".into()),
    }
}

/// The child: reads a short document, then the file while it comes from the disk, and tells both peaks in MB.
pub fn tell(file: &Path) -> Result<(), Failure> {
    read_known(&change_list(1)?[..])?;
    let idle = peak()?;
    read_known(File::open(file)?)?;
    writeln!(std::io::stdout(), "{idle} {}", peak()?)?;
    Ok(())
}
