//! What an answer costs, against nginx with the same bytes from files that were compressed beforehand (gzip_static).
//!
//! Ours is `sitebell serve` with 10,000 sites of 50 entries each ([`ours`]); the peer is Debian's nginx with one worker
//! and the same documents ([`nginx`]). Each is kept to one core and asked by wrk ([`load`]) from the other one over 32
//! connections, in turns. What counts is the CPU time of the process for each request, as the system counts it.
//! `cargo bench --bench serving -- --sites 100` is a quick look with fewer sites.

#[path = "../common/mod.rs"]
mod common;
mod load;
mod nginx;
mod ours;

use std::process::ExitCode;

use self::common::serving::{Http, Serving, cpu};
use self::common::table::{Limit, Table};
use self::common::{Arguments, Failure, median};
use self::load::{Asked, BROTLI, Cost, GZIP};
use self::nginx::Nginx;
use self::ours::Data;

/// Odd, so that there is a middle one.
const ROUNDS: usize = 5;
const SITES: usize = 10_000;
/// Feeds that are rendered to see what that costs.
const RENDERED: usize = 1_000;

fn main() -> ExitCode {
    common::end(compare())
}

fn compare() -> Result<bool, Failure> {
    let sites = Arguments::read().value("--sites").map(str::parse);
    let data = Data::new(sites.transpose()?.unwrap_or(SITES))?;
    let mut table = Table::new("serving a feed of 50 entries");
    table.row(
        "rendering it and packing it with gzip, CPU ms",
        Limit::AtMost(1.0),
        || Ok(preparing(&data)?.0),
    )?;
    table.row(
        "the same, and packing it with brotli once a reader wants that, CPU ms",
        Limit::AtMost(1.0),
        || {
            let (gzip, brotli) = preparing(&data)?;
            Ok(gzip + brotli)
        },
    )?;
    let serving = ours::start(&data)?;
    let nginx = Nginx::start(&data, serving.address)?;
    let bench = Bench {
        serving,
        nginx,
        paths: &data.paths,
    };
    let first = &data.paths[..1];
    table.row(
        "control: nginx against itself",
        Limit::Between(0.9, 1.1),
        || {
            let (one, other) = (bench.theirs(first, false)?, bench.theirs(first, false)?);
            Ok(one.cpu / other.cpu)
        },
    )?;
    let (mut whole, mut known) = (Vec::new(), Vec::new());
    table.row("gzip, CPU, against nginx", Limit::AtMost(1.0), || {
        bench.against(first, false, &mut whole)
    })?;
    table.row("... p99", Limit::AtMost(1.5), || Ok(slowness(&whole)))?;
    table.row("304, CPU, against nginx", Limit::AtMost(1.2), || {
        bench.against(first, true, &mut known)
    })?;
    table.row("... p99", Limit::AtMost(1.5), || Ok(slowness(&known)))?;
    table.row(
        "10,000 feeds at random, gzip, CPU, against nginx",
        Limit::AtMost(1.5),
        || bench.against(bench.paths, false, &mut whole),
    )?;
    Ok(table.all_kept())
}

/// What it takes to make a feed that has changed ready for all, and then for those who like brotli; without what it takes
/// to send it.
fn preparing(data: &Data) -> Result<(f64, f64), Failure> {
    let serving = ours::start(data)?;
    let mut http = Http::to(serving.address)?;
    let paths = &data.paths[..RENDERED.min(data.paths.len())];
    let mut ask_all = |coding| -> Result<f64, Failure> {
        let before = cpu(serving.process())?;
        for path in paths {
            http.get(path, coding)?;
        }
        let spent = cpu(serving.process())? - before;
        Ok(spent.as_secs_f64() * 1e3 / paths.len() as f64)
    };
    let (first, first_brotli) = (ask_all(GZIP)?, ask_all(BROTLI)?);
    let sending = ask_all(GZIP)?;
    Ok((first - sending, first_brotli - sending))
}

struct Bench<'a> {
    serving: Serving,
    nginx: Nginx,
    paths: &'a [String],
}

impl Bench<'_> {
    /// How many times the CPU time of nginx we need; the last measurements are left in `costs`.
    fn against(
        &self,
        paths: &[String],
        is_known: bool,
        costs: &mut Vec<(Cost, Cost)>,
    ) -> Result<f64, Failure> {
        costs.clear();
        for _ in 0..ROUNDS {
            let theirs = self.theirs(paths, is_known)?;
            let ours = Asked {
                address: self.serving.address,
                process: self.serving.process(),
                paths,
                is_known,
            };
            costs.push((ours.ask()?, theirs));
        }
        let middle = |of: fn(&(Cost, Cost)) -> f64| median(costs.iter().map(of).collect());
        let (ours, theirs) = (middle(|pair| pair.0.cpu), middle(|pair| pair.1.cpu));
        eprintln!(
            "  {:.1} µs with us, {:.1} with nginx",
            ours * 1e6,
            theirs * 1e6
        );
        Ok(ours / theirs)
    }

    fn theirs(&self, paths: &[String], is_known: bool) -> Result<Cost, Failure> {
        let asked = Asked {
            address: self.nginx.address,
            process: self.nginx.worker()?,
            paths,
            is_known,
        };
        asked.ask()
    }
}

/// How many times as long as with nginx all but one in a hundred take.
fn slowness(costs: &[(Cost, Cost)]) -> f64 {
    let p99 = |of: fn(&(Cost, Cost)) -> f64| median(costs.iter().map(of).collect());
    p99(|pair| pair.0.p99) / p99(|pair| pair.1.p99)
}
