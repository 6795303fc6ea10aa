//! How much memory a process uses, as the system counts it.

use super::Failure;

/// The most that this process ever had, in MB.
pub fn peak() -> Result<f64, Failure> {
    megabytes("self", "VmHWM:")
}

/// What this process has now, in MB.
pub fn resident() -> Result<f64, Failure> {
    megabytes("self", "VmRSS:")
}

/// A line of the status of a process that is given in kB.
pub fn megabytes(process: &str, line: &str) -> Result<f64, Failure> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let rest = status.lines().find_map(|text| text.strip_prefix(line));
    let number = rest.and_then(|rest| rest.split_whitespace().next());
    let number: f64 = number.ok_or("no such line in the status")?.parse()?;
    Ok(number / 1024.0)
}
