//! `sitebell serve`: the service and the scheduler, until somebody stops them.

use std::io::{self, IsTerminal};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use clap::{Arg, ArgAction, ArgMatches, Command};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tracing::{info, warn};
use tracing_subscriber::EnvFilter;
use url::Url;

use super::demo::{Rhythm, Stage};
use super::{CliError, Outcome, config, print};
use crate::config::Config;
use crate::fetch::Fetcher;
use crate::handbook;
use crate::schedule::{Clock, Scheduler, WordsListener, Work, upkeep};
use crate::secret::FirstKey;
use crate::store::{ServeLock, Store};
use crate::web::feeds::Feeds;
use crate::web::frame::Notices;
use crate::web::limits::Limits;
use crate::web::lists::Imports;
use crate::web::live::Readings;
use crate::web::paths::Paths;
use crate::web::report::Reports;
use crate::web::{self, People, Service};

/// Checks that are under way when the service stops have so long to end. Whoever stops services waits ten seconds and
/// then kills, so this leaves time to close the database.
const STOP_TIME: Duration = Duration::from_secs(7);
/// And everything together so long: whatever takes longer, such as a backup, is cut off, which does no harm.
const LAST_CALL: Duration = Duration::from_secs(9);

pub(super) fn command() -> Command {
    Command::new("serve")
        .about("Run the service: check the sites that are followed, and answer people and programs")
        .long_about(
            "Runs the service: checks the sites that are followed when they are due, and answers people and programs \
             over HTTP. Needs no configuration. Stop it with Ctrl-C or SIGTERM; it ends within ten seconds, and \
             nothing is lost however it ends.",
        )
        .arg(
            Arg::new("demo")
                .long("demo")
                .action(ArgAction::SetTrue)
                .help("Also serve a small sample site at the next port of this machine, follow it, and let it change every minute"),
        )
}

pub(super) fn run(arguments: &ArgMatches) -> Result<Outcome, CliError> {
    let config = config(arguments)?;
    start_log(&config.service.log)?;
    // Checks and requests have threads of their own; what is left for this one is little.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime =
        runtime.map_err(|error| CliError::Failed(format!("the program cannot start: {error}")))?;
    let served = runtime.block_on(serve(config, arguments.get_flag("demo")));
    // Nobody waits any more for a name that is looked up, or for a backup.
    runtime.shutdown_background();
    served.map(|()| Outcome::Done)
}

fn start_log(filter: &str) -> Result<(), CliError> {
    // A bare level is meant for Sitebell: what its parts have to say is mostly about themselves.
    let is_level = filter.parse::<tracing::Level>().is_ok();
    let wanted = match is_level {
        true => format!("warn,sitebell={filter}"),
        false => filter.to_owned(),
    };
    let wanted = EnvFilter::try_new(wanted).map_err(|_| {
        CliError::Argument(format!(
            "--log is “{filter}”: it must be error, warn, info, debug or trace, or a filter such as sitebell=debug,warn"
        ))
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(wanted)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        .init();
    Ok(())
}

async fn serve(mut config: Config, with_demo: bool) -> Result<(), CliError> {
    let failed = |error: &dyn std::fmt::Display| CliError::Failed(error.to_string());
    // Whoever is told that the service is there may stop it at once.
    let mut orders = Orders::listen().map_err(|error| failed(&error))?;
    // Whatever can fail without leaving a trace comes first.
    let listener = listen(config.service.listen)?;
    let stage = match with_demo {
        true => Some(Stage::open(config.service.listen, &mut config.fetch)?),
        false => None,
    };
    let settings = config.check_settings();
    for net in &config.fetch.allow_nets {
        warn!(network = %net, "sites in this network may be read");
    }
    let fetcher = Arc::new(Fetcher::new(config.fetch).map_err(|error| failed(&error))?);
    if let Some(copies) = &config.service.upkeep.copies {
        copies.prepare().map_err(|error| failed(&error))?;
    }
    let _lock = ServeLock::take(&config.data).map_err(|error| failed(&error))?;
    let store = Store::open(&config.data)
        .await
        .map_err(|error| failed(&error))?;
    let clock: Clock = Arc::new(Utc::now);
    let feeds = Arc::new(Feeds::new(config.service.feed_memory));
    let readings = Arc::new(Readings::default());
    let reports = Arc::new(Reports::new(settings.clone(), config.service.keep_reports));
    let rhythm = Arc::new(Rhythm::new(store.clone(), clock.clone()));
    let words_listener: WordsListener = Arc::new({
        let feeds = feeds.clone();
        move |site| feeds.reworded(site)
    });
    let scheduler = Scheduler::start(Work {
        store: store.clone(),
        fetcher: fetcher.clone(),
        settings,
        policy: config.service.policy,
        hosts_at_once: config.service.max_hosts,
        page_titles: config.service.page_titles,
        clock: clock.clone(),
        listener: Arc::new({
            let (feeds, readings, rhythm) = (feeds.clone(), readings.clone(), rhythm.clone());
            move |site, is_visible, next| {
                let late = feeds.clone();
                let next = rhythm.next(site, next, move |next| late.checked(site, false, next));
                feeds.checked(site, is_visible, next);
                readings.ended(site);
            }
        }),
        words_listener: words_listener.clone(),
        watcher: Arc::new({
            let readings = readings.clone();
            move |site, url| readings.document(site, url)
        }),
    })
    .await
    .map_err(|error| failed(&error))?;
    let mut jobs = upkeep::start(
        config.service.upkeep,
        scheduler.clone(),
        store.clone(),
        words_listener,
        clock.clone(),
    )
    .await
    .map_err(|error| failed(&error))?;
    let address = listener.local_addr().map_err(|error| failed(&error))?;
    let public_url = config.service.public_url;
    let public_url = public_url.unwrap_or_else(|| web::local_url(address));
    let paths = Paths::new(public_url.clone());
    // Whoever sees what is printed here runs the machine, and makes the first account.
    let first = match store.has_accounts().await.map_err(|error| failed(&error))? {
        true => None,
        false => Some(FirstKey::make().map_err(|error| failed(&error))?),
    };
    let first_hash = first.as_ref().map(FirstKey::hash);
    let welcome = first.map(|key| paths.first_account(key.reveal()));
    let own = config.data.join("own");
    let people = People {
        registration: config.service.registration,
        first: first_hash,
        limits: Limits::new(
            config.service.allowance,
            config.service.trusted_proxies,
            clock.clone(),
        ),
        notices: Notices::default(),
        settings: config.shown,
    };
    let service = Service {
        store: store.clone(),
        scheduler: scheduler.clone(),
        fetcher,
        feeds,
        paths,
        people,
        visitors_add: config.service.visitors_add,
        readings,
        reports,
        imports: Imports::new(),
        own: own.clone(),
        clock: clock.clone(),
    };
    let (server, handle) = web::serve(service, listener).map_err(|error| failed(&error))?;
    let server = tokio::spawn(server);
    publish_own(own, public_url.clone(), clock());
    let first = welcome.map(|link| {
        format!("There is no account yet. This link makes the first one, an admin:\n{link}\n")
    });
    let demo = match stage {
        Some(stage) => Some(stage.begin(&config.data, &rhythm, &scheduler).await?),
        None => None,
    };
    let demo = demo.map(|(url, site)| {
        let page = Paths::new(public_url.clone()).site(&site);
        format!("The demo is at {url} and changes every minute. This is what its followers see:\n{page}\n")
    });
    print(&format!(
        "Sitebell answers at {public_url} (Ctrl-C stops it)\n{}{}",
        demo.unwrap_or_default(),
        first.unwrap_or_default()
    ))?;
    info!(%address, data = %config.data.display(), "ready");

    orders.next().await;
    info!("stopping");
    let stopping = async {
        let (stopped, ()) = tokio::join!(scheduler.stop(STOP_TIME), handle.stop(true));
        if let Err(error) = jobs.shutdown().await {
            warn!(%error, "the clock did not stop");
        }
        let _ = server.await;
        stopped?;
        store.close().await
    };
    tokio::select! {
        result = stopping => result.map_err(|error| failed(&error)),
        () = sleep(LAST_CALL) => {
            warn!("something took too long and was cut off; nothing is lost");
            Ok(())
        }
        // Twice is an order: nothing is lost by it either.
        () = orders.next() => Err(CliError::Failed("stopped at once; what was under way is done again at the next start".to_owned())),
    }
}

pub(super) fn listen(address: SocketAddr) -> Result<TcpListener, CliError> {
    let bind = || {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    bind().map_err(|error: io::Error| {
        let sentence = match error.kind() {
            io::ErrorKind::AddrInUse => {
                format!("another program answers at {address} already; stop it, or choose another port with --listen")
            }
            io::ErrorKind::PermissionDenied => format!(
                "answering at {address} is not permitted; choose a port from 1024 on with --listen, such as 127.0.0.1:8080"
            ),
            io::ErrorKind::AddrNotAvailable => {
                format!("{address} is not an address of this machine; choose one that is with --listen")
            }
            _ => format!("answering at {address} is not possible: {error}; choose another address with --listen"),
        };
        CliError::Failed(sentence)
    })
}

/// Publishes the handbook, without keeping anybody waiting.
fn publish_own(folder: PathBuf, url: Url, now: DateTime<Utc>) {
    spawn_blocking(move || match handbook::publish(&folder, &url, now) {
        Ok(0) => {}
        Ok(pages) => info!(pages, "the handbook is published anew"),
        Err(error) => warn!(%error, "the handbook cannot be followed"),
    });
}

/// Ctrl-C and SIGTERM, from when this is made.
struct Orders {
    interrupt: Signal,
    terminate: Signal,
}

impl Orders {
    fn listen() -> io::Result<Orders> {
        Ok(Orders {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
