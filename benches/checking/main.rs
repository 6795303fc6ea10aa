//! How many sites are checked and stored in a second, against a bare loop of requests and against urlwatch.
//!
//! Two thousand small sites of three documents each (Source Description, Capability List, Change List with twenty
//! changes), each at a loopback address of its own, 64 at once, served by another process ([`server`]). Ours is the
//! scheduler of the service with a store on the disk; the peer ([`bare`]) is a loop around reqwest that makes the same
//! requests, counted by the server, reads the bodies and throws them away. The two take turns on one runtime, and a turn is
//! over when every connection is closed at both ends.
//!
//! - *first check*: nothing is known of the site. We also ask for the page that describes it, because it has a title; so
//!   does the peer.
//! - *new content*: the sites were read once, and all three documents are new, with twenty new changes in every list.
//! - *nothing new*: the sites are known, and everything is answered with 304.
//!
//! `benches/run` adds urlwatch, which reads one document of each site; `cargo bench` alone leaves it out.

mod bare;
#[path = "../common/mod.rs"]
mod common;
mod ours;
mod urlwatch;

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use self::bare::Bare;
use self::common::sites::{CHANGES, DOCUMENTS, Server};
use self::common::table::{Limit, Table};
use self::common::{Arguments, Failure, median, sites};
use self::ours::Ours;

const SITES: usize = 2_000;
const AT_ONCE: usize = 64;
/// Odd, so that there is a middle one.
const ROUNDS: usize = 5;
/// What a first check asks for.
const FIRST_REQUESTS: [&str; 4] = [DOCUMENTS[0], DOCUMENTS[1], DOCUMENTS[2], "/"];
/// How long an answer takes in the row about latency, which is far longer than anything else takes.
const LATENCY: Duration = Duration::from_millis(50);
/// The argument that makes this program check sites for the sake of its memory.
const MEMORY: &str = "--memory-at-port";

fn main() -> ExitCode {
    let arguments = Arguments::read();
    if arguments.value(sites::CHILD).is_some() {
        return common::end(sites::serve().map(|()| true));
    }
    // For the bare client; ours brings its own.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return common::end(Err(error.into())),
    };
    common::end(match arguments.value(MEMORY) {
        Some(port) => tell_memory(&runtime, port).map(|()| true),
        None => compare(&runtime, &arguments),
    })
}

fn compare(runtime: &Runtime, arguments: &Arguments) -> Result<bool, Failure> {
    let mut table = Table::new("checking 2,000 sites, 64 at once, and storing the results");
    let mut bench = runtime.block_on(Bench::new())?;
    table.row(
        "control: the bare loop against itself",
        Limit::Between(0.9, 1.1),
        || runtime.block_on(bench.control()),
    )?;
    table.row(
        "first check, against a bare reqwest loop",
        Limit::AtLeast(0.6),
        || runtime.block_on(bench.first_checks()),
    )?;
    table.row(
        "new content, against a bare reqwest loop",
        Limit::AtLeast(0.6),
        || runtime.block_on(bench.new_content()),
    )?;
    table.row(
        "nothing new, against a bare reqwest loop",
        Limit::AtLeast(0.8),
        || runtime.block_on(bench.nothing_new()),
    )?;
    table.row(
        "50 ms of latency, against what it allows",
        Limit::AtLeast(0.85),
        || runtime.block_on(bench.latency()),
    )?;
    table.row("peak memory, MB", Limit::AtMost(40.0), || {
        let port = bench.server.port.to_string();
        let child = Command::new(std::env::current_exe()?)
            .args([MEMORY, &port])
            .output()?;
        Ok(String::from_utf8(child.stdout)?.trim().parse()?)
    })?;
    if let Some(python) = arguments.python() {
        table.row("new content, against urlwatch", Limit::AtLeast(4.0), || {
            let theirs = urlwatch::seconds_a_site(python, &mut bench.server)?;
            let ours = runtime.block_on(bench.our_new_content())?;
            Ok(theirs * SITES as f64 / ours)
        })?;
    }
    runtime.block_on(bench.ours.end())?;
    Ok(table.all_kept())
}

struct Bench {
    server: Server,
    bare: Bare,
    /// With a list of requests of its own.
    bare_first: Bare,
    ours: Ours,
    /// Sets of sites so far. The first is known to us.
    sets: usize,
}

impl Bench {
    async fn new() -> Result<Bench, Failure> {
        let mut server = Server::start()?;
        let bare = Bare::new(server.port, &DOCUMENTS);
        let bare_first = Bare::new(server.port, &FIRST_REQUESTS);
        let ours = Ours::new(server.port).await?;
        ours.add(0).await?;
        ours.turn().await?;
        check_requests(&mut server, FIRST_REQUESTS.len())?;
        if ours.new_changes().await? != (SITES * CHANGES) as u64 {
            return Err("not every change was announced".into());
        }
        Ok(Bench {
            server,
            bare,
            bare_first,
            ours,
            sets: 1,
        })
    }

    async fn control(&mut self) -> Result<f64, Failure> {
        let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            firsts.push(timed(&mut self.server, self.bare.turn(0, 200)).await?);
            seconds.push(timed(&mut self.server, self.bare.turn(0, 200)).await?);
        }
        self.server.requests()?;
        Ok(median(firsts) / median(seconds))
    }

    async fn first_checks(&mut self) -> Result<f64, Failure> {
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        // A store of its own, because sites stay due.
        for _ in 0..ROUNDS.min(3) {
            let store = Ours::new(self.server.port).await?;
            store.add(self.sets).await?;
            let bare = self.bare_first.turn(self.sets, 200);
            theirs.push(timed(&mut self.server, bare).await?);
            check_requests(&mut self.server, FIRST_REQUESTS.len())?;
            ours.push(timed(&mut self.server, store.turn()).await?);
            check_requests(&mut self.server, FIRST_REQUESTS.len())?;
            store.end().await?;
            self.sets += 1;
        }
        tell("first check", &theirs, &ours);
        Ok(median(theirs) / median(ours))
    }

    async fn new_content(&mut self) -> Result<f64, Failure> {
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            // A store of its own: with every turn there is more to know, and these are to be small sites.
            let store = Ours::new(self.server.port).await?;
            store.add(0).await?;
            store.turn().await?;
            check_requests(&mut self.server, FIRST_REQUESTS.len())?;
            theirs.push(timed(&mut self.server, self.bare.turn(0, 200)).await?);
            check_requests(&mut self.server, DOCUMENTS.len())?;
            ours.push(new_content(&store, &mut self.server).await?);
            store.end().await?;
        }
        tell("new content", &theirs, &ours);
        Ok(median(theirs) / median(ours))
    }

    async fn our_new_content(&mut self) -> Result<f64, Failure> {
        new_content(&self.ours, &mut self.server).await
    }

    async fn nothing_new(&mut self) -> Result<f64, Failure> {
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        // What the last reading of ours was lately enough.
        self.our_new_content().await?;
        self.bare.learn_tags().await?;
        self.server.requests()?;
        for _ in 0..ROUNDS {
            theirs.push(timed(&mut self.server, self.bare.turn(0, 304)).await?);
            check_requests(&mut self.server, DOCUMENTS.len())?;
            ours.push(timed(&mut self.server, self.ours.turn()).await?);
            check_requests(&mut self.server, DOCUMENTS.len())?;
        }
        self.bare.forget_tags();
        tell("nothing new", &theirs, &ours);
        Ok(median(theirs) / median(ours))
    }

    async fn latency(&mut self) -> Result<f64, Failure> {
        self.server.wait(LATENCY)?;
        let ours = self.our_new_content().await?;
        self.server.wait(Duration::ZERO)?;
        let one_site = LATENCY * DOCUMENTS.len() as u32;
        let ceiling = one_site.as_secs_f64() * SITES as f64 / AT_ONCE as f64;
        Ok(ceiling / ours)
    }
}

/// The seconds that all sites take us when everything in them is new.
async fn new_content(ours: &Ours, server: &mut Server) -> Result<f64, Failure> {
    server.renew()?;
    server.requests()?;
    let time = timed(server, ours.turn()).await?;
    check_requests(server, DOCUMENTS.len())?;
    if ours.new_changes().await? != (SITES * CHANGES) as u64 {
        return Err("not every change was announced".into());
    }
    Ok(time)
}

/// How many seconds it takes until all is done, at the other end of the connections, too: one side that closes them as it
/// goes and another that closes all of them at its end would not be asked for the same.
async fn timed(
    server: &mut Server,
    turn: impl Future<Output = Result<(), Failure>>,
) -> Result<f64, Failure> {
    let begun = Instant::now();
    turn.await?;
    server.quiet()?;
    Ok(begun.elapsed().as_secs_f64())
}

/// Whoever asks for less has not done the same work.
fn check_requests(server: &mut Server, each: usize) -> Result<(), Failure> {
    let requests = server.requests()?;
    if requests != (SITES * each) as u64 {
        return Err(format!("{requests} requests instead of {each} for each site").into());
    }
    Ok(())
}

/// For orientation only.
fn tell(what: &str, theirs: &[f64], ours: &[f64]) {
    let rate = |times: &[f64]| SITES as f64 / median(times.to_vec());
    eprintln!(
        "  {what}: {:.0} sites/s in a bare loop, {:.0} with us",
        rate(theirs),
        rate(ours)
    );
}

/// The child: checks everything for the first time, and once again, and tells the most memory that it had.
fn tell_memory(runtime: &Runtime, port: &str) -> Result<(), Failure> {
    runtime.block_on(async {
        let ours = Ours::new(port.parse()?).await?;
        ours.add(0).await?;
        ours.turn().await?;
        ours.turn().await?;
        ours.end().await
    })?;
    println!("{}", common::memory::peak()?);
    Ok(())
}
