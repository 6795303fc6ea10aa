//! The whole service with a clock of its own: alice, an admin, and bob, who is none.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use chrono::{DateTime, TimeDelta, Utc};
use ipnet::IpNet;
use serde_json::{Value, json};
use sitebell::account::{Allowance, Registration, Scope};
use sitebell::check::CheckSettings;
use sitebell::fetch::{FetchSettings, Fetcher};
use sitebell::schedule::policy::Policy;
use sitebell::schedule::{Clock, Scheduler, WordsListener, Work, upkeep};
use sitebell::secret::{SessionKey, Token};
use sitebell::site::SiteId;
use sitebell::store::{Keep, Store};
use sitebell::web::feeds::Feeds;
use sitebell::web::frame::Notices;
use sitebell::web::limits::Limits;
use sitebell::web::lists::Imports;
use sitebell::web::live::Readings;
use sitebell::web::paths::Paths;
use sitebell::web::report::Reports;
use sitebell::web::{self, People, Service};
use tempfile::TempDir;
use tokio::runtime::{Handle, RuntimeFlavor};
use url::Url;

use crate::ask::{Answered, Ask};
use crate::den::{NOW, open_settings};
use crate::feeds::valid;
use crate::names::Loopback;
use crate::person::Person;

/// Where the service says it is.
pub const PUBLIC: &str = "https://bell.example/";

/// What there is for feeds that are ready.
pub const FEED_MEMORY: u64 = 1 << 20;

pub struct World {
    folder: TempDir,
    now: Arc<Mutex<DateTime<Utc>>>,
    fetch: FetchSettings,
    hosts_at_once: usize,
    /// Whether changed pages are asked for their titles, from its next start on; most tests count other requests.
    pub page_titles: bool,
    /// Where the service says it is, from its next start on; empty for where it really is.
    pub public: String,
    /// Who may sign up, and the hash of what makes the first account, from its next start on.
    pub registration: Registration,
    pub first: Option<[u8; 32]>,
    /// Whether people without an account may add sites, from its next start on.
    pub visitors_add: bool,
    /// Reports that are kept, from its next start on.
    pub keep_reports: u32,
    /// How much accounts may do, from its next start on.
    pub allowance: Allowance,
    /// Proxies in front of it, from its next start on.
    pub proxies: Vec<IpNet>,
    running: Option<Running>,
    /// Tokens that may do anything their account may.
    pub alice: String,
    pub bob: String,
}

struct Running {
    store: Store,
    feeds: Arc<Feeds>,
    public: Url,
    scheduler: Scheduler,
    address: SocketAddr,
    server: ServerHandle,
}

impl World {
    pub async fn new() -> World {
        World::with(open_settings(), 8).await
    }

    /// One whose links lead to itself.
    pub async fn in_browser() -> World {
        World::at("", open_settings(), 8).await
    }

    /// With other settings for fetching, and so many hosts at once.
    pub async fn with(fetch: FetchSettings, hosts_at_once: usize) -> World {
        World::at(PUBLIC, fetch, hosts_at_once).await
    }

    async fn at(public: &str, fetch: FetchSettings, hosts_at_once: usize) -> World {
        let mut world = World {
            folder: tempfile::tempdir().unwrap(),
            now: Arc::new(Mutex::new(NOW.parse().unwrap())),
            fetch,
            hosts_at_once,
            page_titles: false,
            public: public.to_owned(),
            registration: Registration::Closed,
            first: None,
            visitors_add: true,
            keep_reports: 10_000,
            allowance: Allowance::default(),
            proxies: Vec::new(),
            running: None,
            alice: String::new(),
            bob: String::new(),
        };
        world.start().await;
        world.alice = world.account("alice", true, Scope::Admin).await;
        world.bob = world.account("bob", false, Scope::Write).await;
        world
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn running(&self) -> &Running {
        self.running.as_ref().unwrap()
    }

    pub fn store(&self) -> &Store {
        &self.running().store
    }

    pub fn scheduler(&self) -> &Scheduler {
        &self.running().scheduler
    }

    pub fn feeds(&self) -> &Feeds {
        &self.running().feeds
    }

    /// What happens every night.
    pub async fn clean(&self, keep: &Keep) {
        let listener: WordsListener = Arc::new({
            let feeds = self.running().feeds.clone();
            move |site| feeds.reworded(site)
        });
        let cleaned = upkeep::clean(self.store(), keep, &listener, self.now()).await;
        cleaned.unwrap();
    }

    pub fn address(&self) -> SocketAddr {
        self.running().address
    }

    /// A path of ours as an address for a browser.
    pub fn here(&self, path: &str) -> String {
        format!("http://{}{path}", self.address())
    }

    pub fn clock(&self) -> Clock {
        let now = self.now.clone();
        Arc::new(move || *now.lock().unwrap())
    }

    pub fn now(&self) -> DateTime<Utc> {
        *self.now.lock().unwrap()
    }

    pub fn pass(&self, time: TimeDelta) {
        *self.now.lock().unwrap() += time;
    }

    pub async fn start(&mut self) {
        let flavor = Handle::current().runtime_flavor();
        assert_eq!(
            flavor,
            RuntimeFlavor::MultiThread,
            "asking holds up the thread that the service works on"
        );
        let store = Store::open(self.folder.path()).await.unwrap();
        let fetcher = Fetcher::with_lookup(self.fetch.clone(), Arc::new(Loopback)).unwrap();
        let fetcher = Arc::new(fetcher);
        let feeds = Arc::new(Feeds::new(FEED_MEMORY));
        let readings = Arc::new(Readings::default());
        let work = Work {
            store: store.clone(),
            fetcher: fetcher.clone(),
            settings: CheckSettings::default(),
            policy: Policy::default(),
            hosts_at_once: self.hosts_at_once,
            page_titles: self.page_titles,
            clock: self.clock(),
            listener: Arc::new({
                let (feeds, readings) = (feeds.clone(), readings.clone());
                move |site, is_visible, next| {
                    feeds.checked(site, is_visible, next);
                    readings.ended(site);
                }
            }),
            words_listener: Arc::new({
                let feeds = feeds.clone();
                move |site| feeds.reworded(site)
            }),
            watcher: Arc::new({
                let readings = readings.clone();
                move |site, url| readings.document(site, url)
            }),
        };
        let scheduler = Scheduler::start(work).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let public: Url = match self.public.as_str() {
            "" => web::local_url(address),
            public => public.parse().unwrap(),
        };
        let service = Service {
            store: store.clone(),
            scheduler: scheduler.clone(),
            fetcher,
            feeds: feeds.clone(),
            paths: Paths::new(public.clone()),
            people: People {
                registration: self.registration,
                first: self.first,
                limits: Limits::new(self.allowance, self.proxies.clone(), self.clock()),
                notices: Notices::default(),
                settings: vec![("listen", address.to_string())],
            },
            visitors_add: self.visitors_add,
            readings,
            imports: Imports::new(),
            own: self.folder.path().join("own"),
            reports: Arc::new(Reports::new(CheckSettings::default(), self.keep_reports)),
            clock: self.clock(),
        };
        let (server, handle) = web::serve(service, listener).unwrap();
        tokio::spawn(server);
        self.running = Some(Running {
            store,
            feeds,
            public,
            scheduler,
            address,
            server: handle,
        });
    }

    /// Stops everything; checks that are under way have this time to end.
    pub async fn stop(&mut self, within: Duration) {
        let running = self.running.take().unwrap();
        running.scheduler.stop(within).await.unwrap();
        running.server.stop(true).await;
        running.store.close().await.unwrap();
    }

    pub async fn restart(&mut self) {
        self.stop(Duration::from_secs(600)).await;
        self.start().await;
    }

    /// Adds an account, and a token of it.
    pub async fn account(&self, name: &str, is_admin: bool, scope: Scope) -> String {
        let (store, now) = (self.store(), self.now());
        let id = (store.add_account(name, "no hash", "no hash", is_admin, now))
            .await
            .unwrap();
        let token = Token::make().unwrap();
        store
            .add_token(id, &token.hash(), "", scope, now)
            .await
            .unwrap();
        token.reveal().to_owned()
    }

    /// A browser in which an account is signed in.
    pub async fn person(&self, name: &str) -> Person {
        let account = self.store().account_by_name(name).await.unwrap().unwrap();
        let key = SessionKey::make().unwrap();
        let (hash, now) = (key.hash(), self.now());
        let begun = self
            .store()
            .begin_session(account.id, &hash, "Firefox on Linux", now);
        begun.await.unwrap();
        let mut person = Person::at(self.address());
        let cookie = if self.public.starts_with("https") {
            "__Host-sitebell"
        } else {
            "sitebell"
        };
        person
            .cookies
            .insert(cookie.to_owned(), key.reveal().to_owned());
        person
    }

    /// The answer to a request. A feed is held against every rule that there is for feeds, whoever asked for it.
    pub fn ask(&self, ask: Ask) -> Answered {
        let answer = ask.to(self.address());
        let address = format!("{}{}", self.running().public, &ask.path()[1..]);
        valid::answered(&answer, &address, self.now());
        answer
    }

    /// What alice gets.
    pub fn get(&self, path: &str) -> Value {
        self.ask(Ask::get(path).token(&self.alice)).json(200)
    }

    /// Adds a site over the API, and waits until it was read.
    pub async fn follow(&self, url: &Url) -> SiteId {
        let ask = Ask::post("/api/v1/sites", &json!({"url": url.as_str()})).token(&self.alice);
        let site = self.ask(ask).json(202);
        self.scheduler().idle().await;
        SiteId(site["id"].as_i64().unwrap())
    }

    /// Everything that was announced of a site, as found.
    pub fn announced(&self, site: SiteId) -> Vec<String> {
        let path = format!("/api/v1/sites/{site}/changes?limit=1000");
        let changes = self.get(&path)["changes"].as_array().unwrap().clone();
        let tell = |change: &Value| {
            let page = Url::parse(change["url"].as_str().unwrap()).unwrap();
            let (kind, datetime) = (&change["kind"], &change["datetime"]);
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            format!("{} {} {}", text(kind), page.path(), text(datetime))
        };
        changes.iter().map(tell).collect()
    }
}
