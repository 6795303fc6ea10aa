//! How soon `sitebell serve` answers with a small database, and how much memory it has while nothing is to be done.

#[path = "../common/mod.rs"]
mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

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
    Serving::start(folder.path())?;
    let mut table = Table::new("starting");
    table.row("until the first answer, ms", Limit::AtMost(50.0), || {
        let times =
            (0..ROUNDS).map(|_| Ok(Serving::start(folder.path())?.after.as_secs_f64() * 1e3));
        Ok(median(times.collect::<Result<_, Failure>>()?))
    })?;
    table.row("memory at rest, MB", Limit::AtMost(20.0), || {
        let serving = Serving::start(folder.path())?;
        std::thread::sleep(SETTLED);
        memory::megabytes(&serving.child.id().to_string(), "VmRSS:")
    })?;
    Ok(table.all_kept())
}

/// A service that has answered once. It ends with this.
struct Serving {
    child: Child,
    after: Duration,
}

impl Serving {
    fn start(data: &Path) -> Result<Serving, Failure> {
        let begun = Instant::now();
        let child = Command::new(env!("CARGO_BIN_EXE_sitebell"))
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--log",
                "error",
                "--data",
            ])
            .arg(data)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut serving = Serving {
            child,
            after: Duration::ZERO,
        };
        let output = serving.child.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split(['/', ' ']).next());
        let address: SocketAddr = address.ok_or("it does not say where it answers")?.parse()?;
        let mut stream = TcpStream::connect(address)?;
        write!(
            stream,
            "GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        serving.after = begun.elapsed();
        if !answer.starts_with("HTTP/1.1 200") {
            return Err(format!("it answered: {answer}").into());
        }
        Ok(serving)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // At once: nothing is lost by it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
