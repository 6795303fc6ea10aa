//! urlwatch, as it comes: one document of each site, compared with what it kept.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::SITES;
use crate::common::Failure;
use crate::common::sites::{DOCUMENTS, Server, host};

/// The seconds that it takes for one of many sites whose Change Lists are new, without those of its start.
pub fn seconds_a_site(python: &Path, server: &mut Server) -> Result<f64, Failure> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let mut runs = |sites: usize| -> Result<f64, Failure> {
        let name = |what: &str| folder.path().join(format!("{what}-{sites}"));
        let mut jobs = String::new();
        for site in 0..sites {
            let (host, path) = (host(0, site, server.port), DOCUMENTS[2]);
            write!(jobs, "---\nurl: http://{host}{path}\n")?;
        }
        std::fs::write(name("jobs"), jobs)?;
        // It says what is new on its standard output and nowhere else.
        std::fs::write(
            name("config"),
            "report: {text: {details: false}, stdout: {enabled: true}}\n",
        )?;
        std::fs::write(name("hooks"), "")?;
        let mut times = Vec::new();
        server.requests()?;
        // The first run learns what there is.
        for _ in 0..2 {
            server.renew()?;
            let begun = Instant::now();
            let done = Command::new(python.with_file_name("urlwatch"))
                .arg("--urls")
                .arg(name("jobs"))
                .arg("--config")
                .arg(name("config"))
                .arg("--hooks")
                .arg(name("hooks"))
                .arg("--cache")
                .arg(name("cache"))
                .output()?;
            times.push(begun.elapsed().as_secs_f64());
            if !done.status.success() {
                return Err(String::from_utf8_lossy(&done.stderr).into());
            }
        }
        let requests = server.requests()?;
        if requests != 2 * sites as u64 {
            return Err(format!("urlwatch made {requests} requests").into());
        }
        Ok(times[1])
    };
    let start = runs(1)?;
    let all = runs(SITES)?;
    Ok((all - start) / (SITES - 1) as f64)
}
