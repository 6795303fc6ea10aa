//! How soon `sitebell serve` answers with a small database, and how much memory it has while nothing is to be done.

#[path = "../common/mod.rs"]
mod common;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use self::common::serving::{Http, Serving};
use self::common::table::{Limit, Table};
use self::common::{Failure, median, memory};

/// Odd, so that there is a middle one.
const ROUNDS: usize = 9;
/// So long after its start the program has nothing left to do.
const SETTLED: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    common::end(compare())
}

fn compare() -> Result<bool, Failure> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    // Makes the database.
    start(folder.path())?;
    let mut table = Table::new("starting");
    table.row("until the first answer, ms", Limit::AtMost(50.0), || {
        let times = (0..ROUNDS).map(|_| Ok(start(folder.path())?.1.as_secs_f64() * 1e3));
        Ok(median(times.collect::<Result<_, Failure>>()?))
    })?;
    table.row("memory at rest, MB", Limit::AtMost(20.0), || {
        let (serving, _) = start(folder.path())?;
        std::thread::sleep(SETTLED);
        memory::megabytes(&serving.process().to_string(), "VmRSS:")
    })?;
    Ok(table.all_kept())
}

/// A service that has answered once, and how long that took.
fn start(data: &Path) -> Result<(Serving, Duration), Failure> {
    let begun = Instant::now();
    let serving = Serving::start(data, &[])?;
    Http::to(serving.address)?.get("/healthz", "Connection: close")?;
    Ok((serving, begun.elapsed()))
}
