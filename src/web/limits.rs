//! How much is too much: by address and by account, in one place.
//!
//! Each limit lets some requests through at once and then one in every so often (`governor`). What is over it is
//! answered with 429, with when to come back. Admins are bound by the limits of addresses, but not by quotas.
//!
//! Guesses at passwords are limited for each address and for each name, whether anybody has that name or not. Who has
//! signed in before from where they are is spared the second: a stranger who guesses cannot keep an owner out.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::header;
use governor::clock::Clock as GovernorClock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use ipnet::IpNet;
use quick_cache::sync::Cache;

use super::Service;
use super::error::WebError;
use super::frame::wait_in_words;
use super::words::count;
use crate::account::{Account, Allowance, SubscriptionId};
use crate::schedule::Clock;
use crate::site::{CollectionId, SiteId};

/// Addresses or names that are remembered before those are forgotten that have nothing to wait for.
const MOST_KEYS: usize = 10_000;
/// Addresses from which somebody has signed in.
const MOST_KNOWN: usize = 10_000;
/// Networks in which one person has all addresses.
const V6_PREFIX: u8 = 64;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Nothing gets better by itself where somebody follows too much, but asking again does no harm.
const FULL: Duration = Duration::from_secs(60 * 60);

/// What an address can do too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Sending any form.
    Send,
    /// Guessing a password or a recovery code.
    Guess,
    /// Making an account.
    SignUp,
    /// Having a site read that is new, or read again.
    Lookup,
    /// Telling that a site has changed.
    Ping,
}

impl Act {
    /// How many at once, and how long until there is one more.
    fn rate(self) -> (u32, Duration) {
        match self {
            Act::Send => (300, Duration::from_secs(1)),
            Act::Guess => (20, Duration::from_secs(10)),
            Act::SignUp => (10, Duration::from_secs(360)),
            Act::Lookup => (20, Duration::from_secs(30)),
            Act::Ping => (20, Duration::from_secs(30)),
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Act::Send => "too much was sent from your address",
            Act::Guess => "there were too many tries from your address",
            Act::SignUp => "too many accounts were made from your address",
            Act::Lookup => "too many sites were looked up from your address",
            Act::Ping => "too many changes were announced from your address",
        }
    }
}

const ACTS: [Act; 5] = [Act::Send, Act::Guess, Act::SignUp, Act::Lookup, Act::Ping];
/// How often a site can be announced as changed, whoever does it.
const SITE_RATE: (u32, Duration) = (3, Duration::from_secs(120));
/// Guesses at one name.
const NAME_RATE: (u32, Duration) = (10, Duration::from_secs(30));

/// What an account can do too much of in a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Daily {
    /// Having a site read that is new, or read again.
    Lookup,
    /// Importing a list of subscriptions.
    Import,
}

/// Where proxies say for whom they ask.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Who asks, as far as limits are concerned: an address, or the network of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Client(IpAddr);

/// All limits, and how near everybody is to theirs.
pub struct Limits {
    clock: OurClock,
    hasher: RandomState,
    proxies: Vec<IpNet>,
    usual: Allowance,
    addresses: [Keyed; ACTS.len()],
    names: Keyed,
    sites: Keyed,
    known: Cache<u64, ()>,
    /// One for each number that an account may do of something in a day.
    daily: Mutex<HashMap<(Daily, u32), Arc<Keyed>>>,
    /// Whoever holds this may follow something. One after the other, so that nobody slips past a quota.
    following: tokio::sync::Mutex<()>,
}

impl Limits {
    /// Nobody has done anything yet.
    pub fn new(usual: Allowance, proxies: Vec<IpNet>, clock: Clock) -> Limits {
        let clock = OurClock(clock);
        Limits {
            hasher: RandomState::new(),
            proxies,
            usual,
            addresses: ACTS.map(|act| Keyed::new(act.rate(), &clock)),
            names: Keyed::new(NAME_RATE, &clock),
            sites: Keyed::new(SITE_RATE, &clock),
            known: Cache::new(MOST_KNOWN),
            daily: Mutex::default(),
            following: tokio::sync::Mutex::default(),
            clock,
        }
    }

    /// Whose request this is: the address that is connected, or, if that is a proxy of the operator's, the one that the
    /// nearest of them saw. What others say in that header counts for nothing.
    pub fn client(&self, request: &HttpRequest) -> Client {
        let mut client = peer(request);
        let lines = request.headers().get_all(FORWARDED_FOR);
        let lines: Vec<&str> = lines.filter_map(|line| line.to_str().ok()).collect();
        let hops: Vec<&str> = lines.iter().flat_map(|line| line.split(',')).collect();
        for hop in hops.iter().rev() {
            if !self.is_proxy(client) {
                break;
            }
            let Some(address) = address(hop.trim()) else {
                break;
            };
            client = address;
        }
        Client::of(client)
    }

    /// Whether a program on this machine asks, and not for somebody else, as a proxy does.
    pub fn is_local(request: &HttpRequest) -> bool {
        let headers = request.headers();
        let is_forwarded =
            headers.contains_key(FORWARDED_FOR) || headers.contains_key(header::FORWARDED);
        peer(request).is_loopback() && !is_forwarded
    }

    fn is_proxy(&self, ip: IpAddr) -> bool {
        self.proxies.iter().any(|net| net.contains(&ip))
    }

    /// Counts something that an address does.
    pub fn address(&self, act: Act, client: Client) -> Result<(), WebError> {
        let limiter = &self.addresses[act as usize];
        let key = self.hasher.hash_one(client);
        limiter.check(key, &self.clock).map_err(|wait| {
            let (what, when) = (act.sentence(), wait_in_words(wait));
            WebError::TooSoon(format!("{what}; try again in {when}"), wait)
        })
    }

    /// Counts that somebody said of a site that it has changed.
    pub fn site(&self, site: SiteId) -> Result<(), WebError> {
        let key = self.hasher.hash_one(site);
        self.sites.check(key, &self.clock).map_err(|wait| {
            let when = wait_in_words(wait);
            let sentence = format!(
                "this site was announced as changed several times just now; try again in {when}"
            );
            WebError::TooSoon(sentence, wait)
        })
    }

    /// Counts a guess at the secret of a name: for the address, and for the name.
    pub fn guess(&self, name: &str, client: Client) -> Result<(), WebError> {
        self.address(Act::Guess, client)?;
        if self.known.get(&self.pair(name, client)).is_some() {
            return Ok(());
        }
        self.guess_at(self.hasher.hash_one(name.to_lowercase()), "name")
    }

    /// Counts a guess at a password by who is signed in already, and may not be the owner.
    pub fn guess_own(&self, account: &Account, client: Client) -> Result<(), WebError> {
        self.address(Act::Guess, client)?;
        self.guess_at(self.hasher.hash_one(account.id), "account")
    }

    fn guess_at(&self, key: u64, what: &str) -> Result<(), WebError> {
        self.names.check(key, &self.clock).map_err(|wait| {
            let when = wait_in_words(wait);
            let sentence =
                format!("there were too many tries for this {what}; try again in {when}");
            WebError::TooSoon(sentence, wait)
        })
    }

    /// Somebody has signed in, and is known here from now on.
    pub fn know(&self, name: &str, client: Client) {
        self.known.insert(self.pair(name, client), ());
    }

    fn pair(&self, name: &str, client: Client) -> u64 {
        self.hasher.hash_one((name.to_lowercase(), client))
    }

    /// What an account may do.
    pub fn allowance(&self, account: &Account) -> Allowance {
        account.quotas.or(self.usual)
    }

    /// What accounts may do where nothing else was said.
    pub fn usual(&self) -> Allowance {
        self.usual
    }

    /// Counts something that an account may do so often in a day.
    pub fn daily(&self, what: Daily, account: &Account) -> Result<(), WebError> {
        if account.is_admin {
            return Ok(());
        }
        let allowance = self.allowance(account);
        let (count, things) = match what {
            Daily::Lookup => (allowance.lookups, "sites looked up"),
            Daily::Import => (allowance.imports, "lists imported"),
        };
        let refuse = |wait: Duration| {
            let when = wait_in_words(wait);
            let sentence = format!(
                "your account may have {count} {things} in a day; try again in {when}, or ask whoever runs this \
                 instance for more"
            );
            Err(WebError::TooSoon(sentence, wait))
        };
        if count == 0 {
            return refuse(DAY);
        }
        let limiter = {
            let mut daily = self.daily.lock().unwrap_or_else(PoisonError::into_inner);
            let new = || Arc::new(Keyed::new((count, DAY / count), &self.clock));
            daily.entry((what, count)).or_insert_with(new).clone()
        };
        let key = self.hasher.hash_one(account.id);
        limiter.check(key, &self.clock).or_else(refuse)
    }
}

impl Service {
    /// Lets an account follow a site, or a collection of it, as far as it may; and whether it did not before.
    pub async fn follow(
        &self,
        account: &Account,
        site: SiteId,
        collection: Option<CollectionId>,
    ) -> Result<(SubscriptionId, bool), WebError> {
        let _turn = self.people.limits.following.lock().await;
        let before = self.store.subscriptions(account.id).await?;
        if !before.iter().any(|known| known.site == site) {
            self.may_follow(account, 1).await?;
        }
        let subscribe = self
            .store
            .subscribe(account.id, site, collection, (self.clock)());
        let id = subscribe.await?;
        Ok((id, !before.iter().any(|known| known.id == id)))
    }

    /// Whether an account may follow so many sites more.
    pub async fn may_follow(&self, account: &Account, more: usize) -> Result<(), WebError> {
        let most = self.people.limits.allowance(account).sites;
        if account.is_admin {
            return Ok(());
        }
        let followed = self.store.sites_followed(account.id).await?;
        if followed + more <= most as usize {
            return Ok(());
        }
        let sites = count(most, "site");
        let sentence = format!(
            "your account may follow {sites}, and follows {followed}; unfollow some, or ask whoever runs this \
             instance for more"
        );
        Err(WebError::TooSoon(sentence, FULL))
    }
}

impl Client {
    fn of(address: IpAddr) -> Client {
        Client(match address {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => {
                let mask = u128::MAX << (128 - u32::from(V6_PREFIX));
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        })
    }
}

/// The address that is connected.
fn peer(request: &HttpRequest) -> IpAddr {
    let peer = request.peer_addr().map(|peer| peer.ip().to_canonical());
    peer.unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED))
}

/// An address as proxies write it: some add the port.
fn address(text: &str) -> Option<IpAddr> {
    let address = text.parse::<IpAddr>().ok();
    let with_port = || text.parse::<std::net::SocketAddr>().ok().map(|it| it.ip());
    let in_brackets = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let address = address.or_else(with_port).or_else(in_brackets);
    address.map(|address| address.to_canonical())
}

/// One limit for many who are told apart by a number.
struct Keyed(RateLimiter<u64, HashMapStateStore<u64>, OurClock, NoOpMiddleware<Nanos>>);

impl Keyed {
    fn new((burst, period): (u32, Duration), clock: &OurClock) -> Keyed {
        let burst = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::with_period(period).expect("it is longer than nothing");
        let quota = quota.allow_burst(burst);
        Keyed(RateLimiter::new(
            quota,
            HashMapStateStore::default(),
            clock.clone(),
        ))
    }

    /// Counts one, or tells how long to wait.
    fn check(&self, key: u64, clock: &OurClock) -> Result<(), Duration> {
        if self.0.len() > MOST_KEYS {
            self.0.retain_recent();
            self.0.shrink_to_fit();
        }
        let checked = self.0.check_key(&key);
        checked.map_err(|until| until.wait_time_from(clock.now()))
    }
}

/// The clock of the service.
#[derive(Clone)]
struct OurClock(Clock);

impl GovernorClock for OurClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        let nanos = (self.0)().timestamp_nanos_opt();
        Nanos::new(
            nanos
                .and_then(|nanos| u64::try_from(nanos).ok())
                .unwrap_or(0),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;
    use chrono::Utc;

    fn limits(proxies: &[&str]) -> Limits {
        let proxies = proxies.iter().map(|net| net.parse().unwrap());
        let clock: Clock = Arc::new(Utc::now);
        Limits::new(Allowance::default(), proxies.collect(), clock)
    }

    fn seen(proxies: &[&str], peer: &str, forwarded: &[&str]) -> String {
        let mut request = TestRequest::get().peer_addr(peer.parse().unwrap());
        for line in forwarded {
            request = request.append_header(("X-Forwarded-For", *line));
        }
        limits(proxies)
            .client(&request.to_http_request())
            .0
            .to_string()
    }

    #[test]
    fn an_address_is_the_one_that_is_connected_unless_that_is_a_proxy_of_ours() {
        let forged = &["198.51.100.7"][..];
        assert_eq!(seen(&[], "203.0.113.9:1000", forged), "203.0.113.9");
        assert_eq!(seen(&[], "127.0.0.1:1000", forged), "127.0.0.1");
        let proxy = &["127.0.0.1/32"][..];
        assert_eq!(seen(proxy, "203.0.113.9:1000", forged), "203.0.113.9");
        assert_eq!(seen(proxy, "127.0.0.1:1000", forged), "198.51.100.7");
        assert_eq!(seen(proxy, "127.0.0.1:1000", &[]), "127.0.0.1");
        // Only what the proxy itself has added counts, and it adds at the end.
        let lied = &["192.0.2.1, 198.51.100.7"][..];
        assert_eq!(seen(proxy, "127.0.0.1:1000", lied), "198.51.100.7");
        let twice = &["192.0.2.1", "198.51.100.7"][..];
        assert_eq!(seen(proxy, "127.0.0.1:1000", twice), "198.51.100.7");
        let chain = &["127.0.0.1/32", "10.0.0.0/8"][..];
        let hops = &["192.0.2.1, 198.51.100.7, 10.1.2.3"][..];
        assert_eq!(seen(chain, "127.0.0.1:1000", hops), "198.51.100.7");
        for junk in ["", "unknown", "<script>", "1.2.3", "198.51.100.7, _hidden"] {
            assert_eq!(
                seen(proxy, "127.0.0.1:1000", &[junk]),
                "127.0.0.1",
                "{junk}"
            );
        }
        assert_eq!(
            seen(proxy, "127.0.0.1:1", &["198.51.100.7:4711"]),
            "198.51.100.7"
        );
    }

    #[test]
    fn one_person_has_a_whole_network_of_ipv6_addresses() {
        let one = seen(&[], "[2001:db8:1:2:3:4:5:6]:1000", &[]);
        assert_eq!(one, seen(&[], "[2001:db8:1:2:ffff::1]:1000", &[]));
        assert_ne!(one, seen(&[], "[2001:db8:1:3::1]:1000", &[]));
        assert_eq!(seen(&[], "[::ffff:203.0.113.9]:1", &[]), "203.0.113.9");
    }
}
