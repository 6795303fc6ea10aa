//! Asking with wrk, and what it costs whoever answers.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use super::common::Failure;
use super::common::serving::{Http, cpu};

/// The core of whoever answers, and the core of whoever asks.
pub const THEIR_CORE: &str = "0";
const OUR_CORE: &str = "1";
const CONNECTIONS: &str = "32";
const SECONDS: &str = "2s";
/// What readers of feeds ask for.
pub const GZIP: &str = "Accept-Encoding: gzip";
/// And how one that likes brotli better does.
pub const BROTLI: &str = "Accept-Encoding: br";

/// Some paths, asked for at random as often as can be.
pub struct Asked<'a> {
    pub address: SocketAddr,
    pub process: u32,
    pub paths: &'a [String],
    /// Whether whoever asks has them already; then there is only one of them.
    pub is_known: bool,
}

/// What it came to for each request.
pub struct Cost {
    /// Seconds of CPU time.
    pub cpu: f64,
    /// Within so many milliseconds all but one in a hundred were answered.
    pub p99: f64,
}

impl Asked<'_> {
    pub fn ask(&self) -> Result<Cost, Failure> {
        let folder = tempfile::tempdir()?;
        let script = folder.path().join("ask.lua");
        let mut headers = "[\"Accept-Encoding\"] = \"gzip\"".to_owned();
        if self.is_known {
            let answer = Http::to(self.address)?.get(&self.paths[0], GZIP)?;
            let tag = answer.header("etag").ok_or("no tag")?.replace('"', "\\\"");
            headers += &format!(", [\"If-None-Match\"] = \"{tag}\"");
        }
        let paths: Vec<String> = self
            .paths
            .iter()
            .map(|path| format!("\"{path}\""))
            .collect();
        let lua = format!(
            "local paths = {{{}}}\nlocal headers = {{{headers}}}\nlocal asked = {{}}
            init = function() math.randomseed(1)
                for n, path in ipairs(paths) do asked[n] = wrk.format(\"GET\", path, headers) end end
            request = function() return asked[math.random(#asked)] end\n",
            paths.join(",")
        );
        fs::write(&script, lua)?;
        let before = cpu(self.process)?;
        let output = Command::new("taskset")
            .args([
                "-c",
                OUR_CORE,
                "wrk",
                "-t1",
                "-c",
                CONNECTIONS,
                "-d",
                SECONDS,
            ])
            .args(["--latency", "-s"])
            .arg(&script)
            .arg(format!("http://{}{}", self.address, self.paths[0]))
            .output()?;
        let spent = cpu(self.process)? - before;
        let text = String::from_utf8(output.stdout)?;
        if !output.status.success() || text.contains("Non-2xx") || text.contains("Socket errors") {
            return Err(format!("wrk: {text}").into());
        }
        let word_before = |mark: &str| {
            let line = text.lines().find(|line| line.contains(mark))?;
            line.split_whitespace().next().map(str::to_owned)
        };
        let requests = word_before("requests in").ok_or("wrk counted nothing")?;
        let requests: f64 = requests.parse()?;
        let slow = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("99%"));
        Ok(Cost {
            cpu: spent.as_secs_f64() / requests,
            p99: milliseconds(slow.ok_or("wrk tells no latency")?.trim())?,
        })
    }
}

fn milliseconds(text: &str) -> Result<f64, Failure> {
    for (unit, factor) in [("us", 1e-3), ("ms", 1.0), ("s", 1e3)] {
        if let Some(number) = text.strip_suffix(unit) {
            return Ok(number.parse::<f64>()? * factor);
        }
    }
    Err(format!("“{text}” is no time").into())
}
