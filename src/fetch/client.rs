//! The HTTP clients, which are all alike, and the resolver and certificates that they use.
//!
//! The resolver is where a name becomes addresses, so it is where these are judged: the addresses that were judged are
//! the addresses that are dialled, with no second look-up in between. It is not told the port, but the operator's
//! exceptions depend on it; therefore each port has a client, with a resolver of its own. A pooled connection was
//! dialled through the same resolver and is as good as a new one. Address literals never reach a
//! resolver: [`Guard::check_url`] must have judged the address before.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;

use super::error::FetchError;
use super::guard::Guard;

/// XML first, since that is what sites tell their changes in.
const ACCEPTED_TYPES: &str =
    "application/xml, text/xml, application/atom+xml;q=0.9, text/html;q=0.8, */*;q=0.5";

/// The codings that `decode` undoes.
const ACCEPTED_CODINGS: &str = "gzip, br, deflate, zstd";

/// The largest response head: field count, and bytes (HTTP/2 counts them itself, HTTP/1 is counted after the fact).
const MAX_FIELDS: usize = 100;
pub(super) const MAX_HEAD_BYTES: u32 = 65_536;

/// The answer of a [`Lookup`], on its way.
pub type LookingUp = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Turns a name into addresses. A trait so that tests can put their own answers here; they are judged all the same.
pub trait Lookup: Send + Sync + 'static {
    /// Looks the name up.
    fn lookup(&self, name: String) -> LookingUp;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, name: String) -> LookingUp {
        Box::pin(async move {
            let addresses = tokio::net::lookup_host((name, 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}

/// Looks up and judges; if one answer is refused the name is, because which of them is dialled is not ours to choose.
struct GuardedResolver {
    guard: Arc<Guard>,
    lookup: Arc<dyn Lookup>,
    port: u16,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (guard, port) = (self.guard.clone(), self.port);
        let name = name.as_str().to_owned();
        let looking_up = self.lookup.lookup(name.clone());
        Box::pin(async move {
            let addresses = looking_up.await?;
            if addresses.is_empty() {
                return Err(
                    io::Error::new(io::ErrorKind::NotFound, "the name has no address").into(),
                );
            }
            addresses
                .iter()
                .try_for_each(|ip| guard.check_resolved(&name, *ip, port))?;
            let checked = addresses
                .into_iter()
                .map(move |ip| SocketAddr::new(ip, port));
            Ok(Box::new(checked) as Addrs)
        })
    }
}

/// Makes clients. What takes long is made once: the certificates.
pub(super) struct Clients {
    guard: Arc<Guard>,
    lookup: Arc<dyn Lookup>,
    user_agent: HeaderValue,
    connect_timeout: Duration,
    tls: rustls::ClientConfig,
}

impl Clients {
    pub(super) fn new(
        guard: Arc<Guard>,
        lookup: Arc<dyn Lookup>,
        user_agent: HeaderValue,
        connect_timeout: Duration,
    ) -> Result<Self, FetchError> {
        let tls = tls_config().map_err(|error| FetchError::Setup {
            reason: error.to_string(),
        })?;
        Ok(Self {
            guard,
            lookup,
            user_agent,
            connect_timeout,
            tls,
        })
    }

    /// A client for requests to this port, and to no other.
    pub(super) fn for_port(&self, port: u16) -> Result<reqwest::Client, FetchError> {
        let resolver = GuardedResolver {
            guard: self.guard.clone(),
            lookup: self.lookup.clone(),
            port,
        };
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED_TYPES));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED_CODINGS));
        reqwest::Client::builder()
            .user_agent(self.user_agent.clone())
            .default_headers(headers)
            .dns_resolver(resolver)
            .tls_backend_preconfigured(self.tls.clone())
            // Through a proxy from the environment neither the resolver nor the literal check would see the target.
            .no_proxy()
            // Redirects are followed by hand, so that each hop is judged, counted and paced.
            .redirect(Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            // A connection is never kept so long that anybody would have to ask whether it is still there.
            .tcp_keepalive(None)
            .tcp_keepalive_interval(None)
            .tcp_keepalive_retries(None)
            .tcp_user_timeout(None)
            .connect_timeout(self.connect_timeout)
            // Whoever has the client knows better, and the pool would have a task for it.
            .pool_idle_timeout(None)
            .pool_max_idle_per_host(1)
            .http1_max_headers(MAX_FIELDS)
            .http2_max_header_list_size(MAX_HEAD_BYTES)
            .build()
            .map_err(|error| FetchError::Setup {
                reason: error.to_string(),
            })
    }
}

/// Certificates are verified against what the machine trusts and against the list of authorities that comes with the
/// program: a small container often has no ca-certificates package, and an operator may have added one of their own.
fn tls_config() -> Result<rustls::ClientConfig, rustls::Error> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
    // Whatever of the machine's store cannot be read is left out: the list above is enough to work with.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    struct Answers(Vec<IpAddr>);

    impl Lookup for Answers {
        fn lookup(&self, _name: String) -> LookingUp {
            let answers = self.0.clone();
            Box::pin(async move { Ok(answers) })
        }
    }

    async fn resolve(
        answers: &[&str],
        allow: &[&str],
        port: u16,
    ) -> Result<Vec<SocketAddr>, String> {
        let guard = Guard {
            allow: allow.iter().map(|rule| rule.parse().unwrap()).collect(),
        };
        let answers = Answers(
            answers
                .iter()
                .map(|answer| answer.parse().unwrap())
                .collect(),
        );
        let resolver = GuardedResolver {
            guard: guard.into(),
            lookup: Arc::new(answers),
            port,
        };
        match resolver
            .resolve(Name::from_str("example.org").unwrap())
            .await
        {
            Ok(addresses) => Ok(addresses.collect()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[tokio::test]
    async fn exactly_the_checked_addresses_are_handed_on() {
        let addresses = resolve(&["93.184.216.34", "2606:4700::1111"], &[], 443)
            .await
            .unwrap();
        assert_eq!(
            addresses,
            [
                "93.184.216.34:443".parse().unwrap(),
                "[2606:4700::1111]:443".parse().unwrap()
            ]
        );
    }

    #[tokio::test]
    async fn one_private_answer_among_public_ones_refuses_the_name() {
        for bad in [
            "127.0.0.1",
            "10.0.0.1",
            "169.254.169.254",
            "::1",
            "fd00::1",
            "::ffff:10.0.0.1",
        ] {
            for answers in [["93.184.216.34", bad], [bad, "93.184.216.34"]] {
                let error = resolve(&answers, &[], 443).await.unwrap_err();
                assert_eq!(
                    error,
                    "example.org leads to an address that is not on the public internet"
                );
            }
        }
    }

    #[tokio::test]
    async fn the_port_is_judged_before_anything_is_dialled() {
        assert!(
            resolve(&["127.0.0.1"], &["127.0.0.0/8:8080"], 8080)
                .await
                .is_ok()
        );
        assert!(
            resolve(&["127.0.0.1"], &["127.0.0.0/8:8080"], 8081)
                .await
                .is_err()
        );
        assert!(
            resolve(&["93.184.216.34"], &["127.0.0.0/8"], 6379)
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn a_name_without_addresses_is_not_found() {
        assert_eq!(
            resolve(&[], &[], 80).await.unwrap_err(),
            "the name has no address"
        );
    }
}
