//! One polite GET: the only code that talks to other people's servers.
//!
//! Every request, and every hop of a redirect, goes the same way: the [`guard`] judges the address, the host's turn is
//! awaited, the client dials nothing but judged addresses, and the body is a stream that is held to its limits. There
//! is no second path. Only GET, never cookies, credentials, proxies or a referrer.
//!
//! The one rule: a [`Body`] holds its host's turn; read or drop it before asking the same host again.
//!
//! `get` is for documents that a site publishes for machines (robots.txt, sitemaps, ResourceSync); [`Fetcher::get_page`]
//! is for pages and asks robots.txt first.

mod body;
mod client;
mod decode;
mod errand;
mod error;
pub mod guard;
mod head;
mod pace;
mod redirect;
pub mod robots;
mod settings;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use reqwest::Method;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

pub use body::{Body, BodyStats};
pub use client::{LookingUp, Lookup, SystemLookup};
pub use errand::Errand;
pub use error::{FetchError, RedirectProblem, Slowness};
pub use guard::{AllowNet, AllowNetError, Guard, Refusal};
pub use robots::Robots;
pub use settings::FetchSettings;

pub use crate::memory::Validators;

use body::BodyLimits;
use client::{Clients, MAX_HEAD_BYTES};
use decode::Coding;
use pace::{Pace, Slot};
use redirect::Trail;
use robots::RobotsCache;

/// How much of a body is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// A ResourceSync or sitemap document: up to the ceiling of these formats.
    Document,
    /// A document that is made to come packed: on its way it is held to the same ceiling.
    Packed {
        /// Its bytes when it is unpacked.
        max_bytes: u64,
        /// How many of them may come of one, if its format has a limit.
        max_ratio: Option<u64>,
    },
    /// Anything else: robots.txt, a page, a description.
    Other,
}

/// What to get.
#[derive(Debug, Clone)]
pub struct Request {
    /// The address. Its fragment is not sent.
    pub url: Url,
    /// How much of it is taken.
    pub limit: Limit,
    /// What the last answer gave us, to ask "only if it changed".
    pub validators: Option<Validators>,
    /// The work that it is a part of.
    pub errand: Errand,
    /// Redirects that are followed at most, if those are fewer than are followed otherwise.
    pub max_redirects: Option<u32>,
}

impl Request {
    /// An unconditional request.
    pub fn new(url: Url, limit: Limit) -> Self {
        Self {
            url,
            limit,
            validators: None,
            errand: Errand::default(),
            max_redirects: None,
        }
    }

    /// The same as a part of `errand`.
    pub fn on(mut self, errand: &Errand) -> Self {
        self.errand = errand.clone();
        self
    }
}

/// An answer.
#[derive(Debug)]
pub struct Fetched {
    /// The address that answered, after all redirects.
    pub url: Url,
    /// There were redirects, and all of them were permanent.
    pub permanently_moved: bool,
    /// The HTTP status: 2xx or 304.
    pub status: u16,
    /// The body, or that it has not changed.
    pub answer: Answer,
    /// What to ask with next time. Keep them only once the body has been read without an error.
    pub validators: Option<Validators>,
    /// The server's clock.
    pub date: Option<DateTime<Utc>>,
    /// The values of all `Link` fields.
    pub link_headers: Vec<String>,
    /// The values of all `X-Robots-Tag` fields.
    pub robots_tags: Vec<String>,
    /// The value of `Content-Type`.
    pub content_type: Option<String>,
    /// How long the server promises that this stays as it is, at most seven days.
    pub fresh_for: Option<Duration>,
    /// Requests made for this, redirects included.
    pub requests: u32,
}

/// What came back.
#[derive(Debug)]
pub enum Answer {
    /// A body, possibly empty.
    Body(Body),
    /// Nothing changed since the validators were given out.
    NotModified,
}

impl Answer {
    /// The body, unless nothing changed.
    pub fn into_body(self) -> Option<Body> {
        match self {
            Self::Body(body) => Some(body),
            Self::NotModified => None,
        }
    }
}

/// Makes requests. One for the whole service, because it keeps the pace of every host.
pub struct Fetcher {
    settings: FetchSettings,
    guard: Arc<Guard>,
    clients: Clients,
    pace: Pace,
    robots: RobotsCache,
}

/// Whether robots.txt is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Obey {
    Robots,
    Nothing,
}

impl Fetcher {
    /// A fetcher with the resolver of the operating system.
    pub fn new(settings: FetchSettings) -> Result<Self, FetchError> {
        Self::with_lookup(settings, Arc::new(SystemLookup))
    }

    /// A fetcher that asks `lookup` for the addresses of names. They are judged all the same.
    pub fn with_lookup(
        settings: FetchSettings,
        lookup: Arc<dyn Lookup>,
    ) -> Result<Self, FetchError> {
        let guard = Arc::new(Guard {
            allow: settings.allow_nets.clone(),
        });
        let (user_agent, patience) = (settings.user_agent()?, settings.connect_timeout);
        Ok(Self {
            clients: Clients::new(guard.clone(), lookup, user_agent, patience)?,
            pace: Pace::new(settings.host_gap, settings.max_in_flight),
            robots: RobotsCache::default(),
            guard,
            settings,
        })
    }

    /// Gets a document that is meant for machines.
    pub async fn get(&self, request: Request) -> Result<Fetched, FetchError> {
        self.run(request, Obey::Nothing).await
    }

    /// Gets a page, unless robots.txt of its site, or of any site that it redirects to, says no.
    pub async fn get_page(&self, request: Request) -> Result<Fetched, FetchError> {
        self.run(request, Obey::Robots).await
    }

    /// Whether an address may be asked at all, as far as can be told without looking up its name.
    pub fn judge(&self, url: &Url) -> Result<(), Refusal> {
        self.guard.check_url(url)
    }

    /// How long the host of `url` still wants to be left alone, if it said so.
    pub fn peace(&self, url: &Url) -> Option<Duration> {
        self.pace.peace(url)
    }

    /// Leaves a host alone for so long, as it had asked before this fetcher was made.
    pub fn keep_peace(&self, host: &str, wait: Duration) {
        self.pace.keep_peace(host, wait);
    }

    /// Hosts that have asked for peace since the last call, and how long they still want it.
    pub fn newly_quiet(&self) -> Vec<(String, Duration)> {
        self.pace.newly_quiet()
    }

    /// Leaves so much time between two requests to the host of `url` from now on, as it asked; never less than
    /// everybody has.
    pub fn keep_gap(&self, url: &Url, gap: Duration) {
        self.pace.keep_gap(url, gap);
    }

    /// The robots.txt of the origin of `url`, remembered for a day.
    pub async fn robots(&self, url: &Url) -> Arc<Robots> {
        self.robots_on(url, &Errand::default()).await
    }

    /// The same; if it has to be asked for, that is a part of `errand`.
    pub async fn robots_on(&self, url: &Url, errand: &Errand) -> Arc<Robots> {
        if let Some(robots) = self.robots.get(url) {
            return robots;
        }
        let (robots, keep_for) = self.fetch_robots(url, errand).await;
        let robots = Arc::new(robots);
        self.robots.put(url, robots.clone(), keep_for);
        robots
    }

    async fn fetch_robots(&self, url: &Url, errand: &Errand) -> (Robots, Duration) {
        let Ok(url) = url.join("/robots.txt") else {
            return (Robots::missing(), Duration::ZERO);
        };
        // The larger limit, since only the first part of it is read in any case.
        // Boxed because this is a request inside of a request: `get_page` asks for robots, robots are got.
        let request = Request::new(url, Limit::Document).on(errand);
        let fetched = Box::pin(self.run(request, Obey::Nothing)).await;
        let read = match fetched.map(|fetched| fetched.answer.into_body()) {
            Ok(Some(body)) => body
                .read_with(|reader| robots::read(reader))
                .await
                .map(|(robots, _)| robots),
            Ok(None) => Ok(Robots::missing()),
            Err(error) => Err(error),
        };
        robots::settle(read)
    }

    async fn run(&self, mut request: Request, obey: Obey) -> Result<Fetched, FetchError> {
        request.url.set_fragment(None);
        let most = self.settings.max_redirects;
        let most = (request.max_redirects).map_or(most, |fewer| fewer.min(most));
        let mut trail = Trail::new(most);
        // Waiting for a host's turn costs nothing of it: only the network's time counts.
        let mut time_left = self.settings.total_timeout;
        loop {
            let url = &request.url;
            self.guard.check_url(url)?;
            if obey == Obey::Robots {
                let robots = self.robots_on(url, &request.errand).await;
                robots.check(url)?;
            }
            let over_time = || FetchError::OverTime {
                limit: request.errand.max_time(),
            };
            let work_ends = request.errand.deadline();
            let slot = timeout_at(work_ends, self.pace.slot(url)).await;
            let slot = slot.map_err(|_| over_time())??;
            let started = Instant::now();
            let work_left = work_ends.saturating_duration_since(started);
            let validators = request.validators.as_ref();
            let conditions = validators.map(|validators| validators.conditions(url));
            let conditions = conditions.unwrap_or_default();
            let was_asked = !conditions.is_empty();
            request.errand.count_request();
            let port = url.port_or_known_default().unwrap_or_default();
            let client = (request.errand).client(port, || self.clients.for_port(port))?;
            let sent = self.send(client, url, conditions, time_left.min(work_left));
            let response = match sent.await {
                Err(FetchError::Timeout { .. }) if Instant::now() >= work_ends => {
                    return Err(over_time());
                }
                sent => sent?,
            };
            let status = response.status().as_u16();
            if matches!(status, 300..=399) && status != 304 {
                let next = trail.follow(url, status, response.headers());
                request.url = next.map_err(|problem| FetchError::Redirect {
                    url: url.to_string(),
                    problem,
                })?;
                time_left = time_left.saturating_sub(started.elapsed());
                continue;
            }
            let deadline = started + time_left;
            return self.answer(request, &trail, response, slot, deadline, was_asked);
        }
    }

    /// Sends one request to a judged address and waits for the head of the response.
    async fn send(
        &self,
        client: reqwest::Client,
        url: &Url,
        conditions: HeaderMap,
        time_left: Duration,
    ) -> Result<reqwest::Response, FetchError> {
        let host = url.host_str().unwrap_or_default();
        let patience = self.settings.connect_timeout + self.settings.idle_timeout;
        let too_slow = |which| FetchError::Timeout {
            host: host.to_owned(),
            which,
        };
        let mut request = reqwest::Request::new(Method::GET, url.clone());
        *request.headers_mut() = conditions;
        let sending = client.execute(request);
        let response = match timeout(patience.min(time_left), sending).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(FetchError::from_send(host, error, patience)),
            Err(_) if time_left <= patience => {
                return Err(too_slow(Slowness::Total(self.settings.total_timeout)));
            }
            Err(_) => return Err(too_slow(Slowness::Answer(patience))),
        };
        self.check_peer(url, response.remote_addr())?;
        if head::size(response.headers()) > MAX_HEAD_BYTES as usize {
            return Err(FetchError::HeadTooLarge {
                url: url.to_string(),
            });
        }
        Ok(response)
    }

    /// The last line of defence: whatever happened in between, nothing is read from an address that is refused.
    fn check_peer(&self, url: &Url, peer: Option<SocketAddr>) -> Result<(), Refusal> {
        let host = url.host_str().unwrap_or_default();
        let Some(peer) = peer else {
            return Err(Refusal::LeadsInside {
                host: host.to_owned(),
            });
        };
        match url.domain() {
            Some(name) => self.guard.check_resolved(name, peer.ip(), peer.port()),
            None => self.guard.check_addr(peer.ip(), peer.port()),
        }
    }

    fn answer(
        &self,
        request: Request,
        trail: &Trail,
        response: reqwest::Response,
        slot: Slot,
        deadline: Instant,
        was_asked: bool,
    ) -> Result<Fetched, FetchError> {
        let url = request.url;
        let status = response.status().as_u16();
        let headers = response.headers();
        let now = SystemTime::now();
        let mut fetched = Fetched {
            permanently_moved: trail.has_moved_for_good(),
            status,
            answer: Answer::NotModified,
            validators: Validators::from_head(&url, headers),
            date: head::date(headers),
            link_headers: head::links(headers),
            robots_tags: head::robots_tags(headers),
            content_type: head::content_type(headers),
            fresh_for: head::fresh_for(headers, now),
            requests: trail.requests(),
            url,
        };
        match status {
            304 if was_asked => {
                let newer = fetched.validators.take();
                fetched.validators = request.validators.map(|sent| sent.updated_by(newer));
            }
            304 => {
                return Err(FetchError::UnaskedNotModified {
                    url: fetched.url.into(),
                });
            }
            // 206 is a part of a document, and we never ask for parts.
            206 | 0..200 | 300.. => {
                let retry_after = head::retry_after(headers, now);
                if let (429 | 503, Some(wait)) = (status, retry_after) {
                    self.pace.turned_away(&fetched.url, wait);
                }
                return Err(FetchError::Status {
                    url: fetched.url.into(),
                    status,
                    retry_after,
                });
            }
            _ => {
                let codings = headers
                    .get_all(CONTENT_ENCODING)
                    .iter()
                    .map(|value| value.as_bytes());
                let coding = Coding::parse(codings).map_err(|reason| FetchError::Encoding {
                    url: fetched.url.to_string(),
                    reason,
                })?;
                let limits = BodyLimits {
                    max_wire_bytes: self.settings.max_wire_bytes(request.limit),
                    decoded: self.settings.bounds(request.limit),
                    idle: self.settings.idle_timeout,
                    total: self.settings.total_timeout,
                    deadline,
                };
                fetched.answer =
                    Answer::Body(Body::new(response, coding, limits, slot, request.errand)?);
            }
        }
        Ok(fetched)
    }
}
