//! `sitebell serve --demo`: the sample site at a port of its own, followed, and changed every minute.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, interval_at};
use tracing::error;
use url::Url;

use super::CliError;
use super::serve::listen;
use crate::demo::Demo;
use crate::fetch::FetchSettings;
use crate::publish::PublishError;
use crate::schedule::{AskError, Clock, Scheduler};
use crate::site::SiteId;
use crate::store::Store;
use crate::web::{files, local_url};

/// How often the site changes.
const EVERY: Duration = Duration::from_secs(60);
/// When it changes for the first time: once what was there before has been read, and while somebody is still looking.
const FIRST: Duration = Duration::from_secs(20);

/// The port that the sample site will be at. Only this machine reaches it.
pub(super) struct Stage {
    listener: TcpListener,
    address: SocketAddr,
}

impl Stage {
    /// Takes the port next to that of the service, or any that is free where the service does, and lets it be read: it,
    /// and nothing else of this machine.
    pub(super) fn open(service: SocketAddr, fetch: &mut FetchSettings) -> Result<Stage, CliError> {
        let failed = |error: &dyn std::fmt::Display| {
            CliError::Failed(format!("there is no place for the demo: {error}"))
        };
        let port = match service.port() {
            0 => 0,
            port => port.wrapping_add(1),
        };
        let next = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = listen(next).map_err(|error| failed(&error))?;
        let address = listener.local_addr().map_err(|error| failed(&error))?;
        let net = address.to_string().parse();
        fetch
            .allow_nets
            .push(net.expect("an address and a port are a network"));
        Ok(Stage { listener, address })
    }

    /// Publishes the site below the folder of the data, serves and follows it, and lets it change from now on. Tells its
    /// address, and its name in ours.
    pub(super) async fn begin(
        self,
        data: &Path,
        rhythm: &Rhythm,
        scheduler: &Scheduler,
    ) -> Result<(Url, String), CliError> {
        let (store, clock) = (&rhythm.store, &rhythm.clock);
        let failed = |error: &dyn std::fmt::Display| {
            CliError::Failed(format!("the demo cannot begin: {error}"))
        };
        let url = local_url(self.address);
        // At another port it is another site.
        let folder = data.join(format!("demo-{}", self.address.port()));
        let demo = Arc::new(Demo::new(folder.clone(), url.clone()));
        change(&demo, clock, Demo::begin)
            .await
            .map_err(|error| failed(&error))?;
        let (site, _) = store.add_site(&url, clock()).await?;
        // Known before it answers, and so before a check of it can end.
        rhythm.site.get_or_init(|| site);
        let (server, _) = files::serve(folder, self.listener).map_err(|error| failed(&error))?;
        tokio::spawn(server);
        let row = store.site(site).await?;
        let row = row.ok_or_else(|| failed(&"its site is not there"))?;
        tokio::spawn(keep_changing(demo, site, scheduler.clone(), clock.clone()));
        Ok((url, row.slug))
    }
}

/// When the sample site is read: after every change of it, and not only when a site like it would be due. Pages and feeds
/// tell what is in the store, so it is written there.
pub(super) struct Rhythm {
    site: OnceLock<SiteId>,
    store: Store,
    clock: Clock,
}

impl Rhythm {
    /// The rhythm of a sample site that is still to begin.
    pub(super) fn new(store: Store, clock: Clock) -> Rhythm {
        Rhythm {
            site: OnceLock::new(),
            store,
            clock,
        }
    }

    /// When a site that was just checked, and is due at a time, is really read next. `tell` hears of it once it is in the
    /// store, for whoever looked there too early.
    pub(super) fn next(
        &self,
        site: SiteId,
        due: DateTime<Utc>,
        tell: impl FnOnce(DateTime<Utc>) + Send + 'static,
    ) -> DateTime<Utc> {
        if self.site.get() != Some(&site) {
            return due;
        }
        // It has just changed, so a minute from now it has changed again and been read.
        let next = due.min((self.clock)() + EVERY);
        let store = self.store.clone();
        tokio::spawn(async move {
            match store.make_due(site, next).await {
                Ok(_) => tell(next),
                Err(error) => error!(%error, "the next check of the demo could not be noted"),
            }
        });
        next
    }
}

/// Every minute, as an author who rings after each upload.
async fn keep_changing(demo: Arc<Demo>, site: SiteId, scheduler: Scheduler, clock: Clock) {
    let mut changes = interval_at(Instant::now() + FIRST, EVERY);
    loop {
        match scheduler.check_anew(site).await {
            Ok(_) | Err(AskError::Paused) => {}
            Err(AskError::NoSuchSite(_) | AskError::Stopping) => return,
            Err(error) => error!(%error, "the demo could not be read; it tries again in a minute"),
        }
        changes.tick().await;
        if let Err(error) = change(&demo, &clock, Demo::update).await {
            error!(%error, "the demo could not change; it tries again in a minute");
        }
    }
}

async fn change(
    demo: &Arc<Demo>,
    clock: &Clock,
    how: fn(&Demo, DateTime<Utc>) -> Result<usize, PublishError>,
) -> Result<usize, String> {
    let (demo, now) = (demo.clone(), clock());
    let changed = spawn_blocking(move || how(&demo, now)).await;
    let changed = changed.map_err(|_| "there was a fault in Sitebell".to_owned())?;
    changed.map_err(|error| error.to_string())
}
