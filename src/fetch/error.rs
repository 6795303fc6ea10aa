//! What can go wrong with a request, as classes that a person can act on.
//!
//! The sentence is for whoever follows or owns the site; the technical cause stays in `source()` for the log. All ways
//! in which a connection can fail share one sentence on purpose: "refused", "filtered" and "something else answers
//! there" would turn the service into a port scanner.

use std::error::Error;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::guard::Refusal;

type Cause = Box<dyn Error + Send + Sync>;

/// A request that gave no document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The address, or one that it redirects to, is not one that we read.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A redirect that cannot be followed.
    #[error("{url} redirects, but {problem}")]
    Redirect {
        /// The address that answered with the redirect.
        url: String,
        /// What is wrong with it.
        problem: RedirectProblem,
    },
    /// The host was too slow.
    #[error("{host} {which}; try again later")]
    Timeout {
        /// The host.
        host: String,
        /// Which of the limits it met.
        which: Slowness,
    },
    /// No HTTP answer could be had, for whatever reason.
    #[error("could not connect to {host}; check the address, or try again later")]
    Connect {
        /// The host.
        host: String,
        /// For the log only.
        source: Cause,
    },
    /// The name has no address.
    #[error("the name {host} was not found; check its spelling, or try again later")]
    NameNotFound {
        /// The host.
        host: String,
        /// For the log only.
        source: Cause,
    },
    /// The certificate of the host is not good.
    #[error("could not connect to {host} securely: {reason}")]
    Tls {
        /// The host.
        host: String,
        /// What the owner of the site has to mend.
        reason: String,
        /// For the log only.
        source: Cause,
    },
    /// The host answered, but with something other than the document.
    #[error("{url} answered with status {status}{}", status_advice(*status))]
    Status {
        /// The address that was asked.
        url: String,
        /// The HTTP status.
        status: u16,
        /// How long the host wants to be left alone, at most seven days.
        retry_after: Option<Duration>,
    },
    /// "Not modified" in answer to a question that we did not ask.
    #[error(
        "{url} says that nothing changed since last time, but was asked for the whole document"
    )]
    UnaskedNotModified {
        /// The address that was asked.
        url: String,
    },
    /// More bytes than we take.
    #[error("{url} is larger than {limit} bytes, which is the most that is read")]
    TooLarge {
        /// The address that was asked.
        url: String,
        /// The limit, in bytes after decoding.
        limit: u64,
    },
    /// More bytes than all requests of one piece of work may take together.
    #[error("more than {limit} bytes would have come, which is the most that is taken")]
    OverBudget {
        /// The limit, in bytes as they come over the network.
        limit: u64,
    },
    /// More time than all requests of one piece of work may take together.
    #[error("it would have taken more than {} seconds, which is the most that is waited", .limit.as_secs_f32())]
    OverTime {
        /// The limit.
        limit: Duration,
    },
    /// Response header fields without measure.
    #[error("{url} sends more header fields than a website should")]
    HeadTooLarge {
        /// The address that was asked.
        url: String,
    },
    /// Compressed in a way that we cannot undo.
    #[error("{url} is compressed in a way that cannot be read: {reason}")]
    Encoding {
        /// The address that was asked.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The body stopped before its end.
    #[error("the transfer of {url} broke off before its end; try again later")]
    Broken {
        /// The address that was asked.
        url: String,
        /// For the log only.
        source: Cause,
    },
    /// The host said 429 or 503 with a time, and this time is not over. No request was made.
    #[error("{host} asked not to be read before {}", until.format("%Y-%m-%d %H:%M:%S UTC"))]
    HostAskedForPeace {
        /// The host.
        host: String,
        /// When it may be asked again.
        until: DateTime<Utc>,
        /// The same, from now.
        wait: Duration,
    },
    /// robots.txt forbids this page to us.
    #[error(
        "the robots.txt of this site does not let {url} be read; allow `sitebell` there to change this"
    )]
    RobotsForbid {
        /// The address that was not asked.
        url: String,
    },
    /// Whether robots.txt forbids this page could not be found out.
    #[error(
        "the robots.txt of this site could not be read, so {url} is left alone until it can be; try again later"
    )]
    RobotsUnreachable {
        /// The address that was not asked.
        url: String,
    },
    /// Our own reader failed on this document: a bug of ours.
    #[error("reading {url} failed inside of this service")]
    ReaderPanicked {
        /// The address that was asked.
        url: String,
    },
    /// The fetcher cannot be set up as asked.
    #[error("the fetcher cannot start: {reason}")]
    Setup {
        /// What is wrong with the settings or the machine.
        reason: String,
    },
}

/// Why a redirect was not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedirectProblem {
    /// More redirects than we follow.
    #[error("there were more than {0} redirects in a row")]
    TooMany(u32),
    /// Back to where we have been.
    #[error(
        "it leads back to {0}, in a circle (cookies are never kept here: a site that insists on one does this)"
    )]
    Loop(String),
    /// From https to http.
    #[error("it leads from a secure https address to plain http at {0}")]
    Downgrade(String),
    /// A 3xx status without a `Location`, or one that does not redirect.
    #[error("its status {0} does not say where to")]
    Nowhere(u16),
    /// A `Location` that is no address.
    #[error("its target is not an address")]
    BadTarget,
}

/// Which limit of time was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Slowness {
    /// No response head.
    #[error("did not answer within {} seconds", .0.as_secs_f32())]
    Answer(Duration),
    /// No byte of the body for a while.
    #[error("stopped sending for {} seconds in the middle of its answer", .0.as_secs_f32())]
    Silence(Duration),
    /// Bytes all the time, but too few of them.
    #[error("took more than {} seconds for its whole answer", .0.as_secs_f32())]
    Total(Duration),
}

fn status_advice(status: u16) -> &'static str {
    match status {
        401 | 403 => " (it does not let this service read it)",
        404 => " (there is no such page)",
        410 => " (the page was removed for good)",
        429 => " (it was asked too often)",
        500..=599 => " (the site has a problem of its own; try again later)",
        _ => "",
    }
}

impl FetchError {
    /// How long the host wants to be left alone, if it said so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            Self::HostAskedForPeace { wait, .. } => Some(*wait),
            _ => None,
        }
    }

    /// The host that was refused, or that did not answer as a host should; none for anything about a single document.
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Refused(refusal) => refusal.host(),
            Self::Timeout { host, .. }
            | Self::Connect { host, .. }
            | Self::NameNotFound { host, .. }
            | Self::Tls { host, .. }
            | Self::HostAskedForPeace { host, .. } => Some(host),
            _ => None,
        }
    }

    /// Whether the same request may well succeed later, without anyone changing anything.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Timeout { .. }
            | Self::Connect { .. }
            | Self::NameNotFound { .. }
            | Self::Broken { .. }
            | Self::RobotsUnreachable { .. }
            | Self::HostAskedForPeace { .. } => true,
            Self::Status { status, .. } => matches!(status, 408 | 425 | 429 | 500..=599),
            _ => false,
        }
    }

    /// Sorts what the client reports while it waits for the response head.
    pub(super) fn from_send(host: &str, error: reqwest::Error, patience: Duration) -> Self {
        let host = host.to_owned();
        if let Some(refusal) = causes(&error).find_map(|cause| cause.downcast_ref::<Refusal>()) {
            return Self::Refused(refusal.clone());
        }
        let tls = causes(&error).find_map(|cause| cause.downcast_ref::<rustls::Error>());
        if let Some(reason) = tls.and_then(tls_reason) {
            return Self::Tls {
                host,
                reason,
                source: error.without_url().into(),
            };
        }
        // A connection that times out is one that fails: see the header.
        if error.is_timeout() && !error.is_connect() {
            return Self::Timeout {
                host,
                which: Slowness::Answer(patience),
            };
        }
        let is_dns = error.is_dns();
        let source = error.without_url().into();
        if is_dns {
            Self::NameNotFound { host, source }
        } else {
            Self::Connect { host, source }
        }
    }
}

/// The error and all that caused it. An `io::Error` hides the error inside of it from `source()`.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    fn next<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
        let hidden = error
            .downcast_ref::<std::io::Error>()
            .and_then(|io| io.get_ref());
        match hidden {
            Some(inner) => Some(inner),
            None => error.source(),
        }
    }
    std::iter::successors(Some(error), |error| next(*error))
}

/// Only what is truly about TLS: a port where something else answers is a failed connection like any other.
fn tls_reason(error: &rustls::Error) -> Option<String> {
    use rustls::{CertificateError as Bad, Error};
    let reason = match error {
        Error::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => {
            "its certificate has expired"
        }
        Error::InvalidCertificate(Bad::NotValidYet | Bad::NotValidYetContext { .. }) => {
            "its certificate is not valid yet"
        }
        Error::InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => {
            "its certificate is for another name"
        }
        Error::InvalidCertificate(Bad::UnknownIssuer) => {
            "its certificate was not issued by an authority that browsers trust, or its chain is incomplete"
        }
        Error::InvalidCertificate(_) | Error::NoCertificatesPresented => {
            "its certificate is not valid"
        }
        Error::PeerIncompatible(_) | Error::AlertReceived(_) => {
            "it does not speak a current version of TLS, or has no certificate for this name"
        }
        _ => return None,
    };
    Some(reason.to_owned())
}
