//! Decides where a request may go: pure, no network, no clock.
//!
//! Everything that a stranger can write into an address is judged here, and nowhere else: scheme, credentials, port,
//! host name and the addresses that a name leads to. IPv4 is "public unless listed", IPv6 is "refused unless in
//! 2000::/3 and not listed" (a range that we forgot fails closed), and an IPv4 address inside an IPv6 address is
//! taken out and judged itself.
//!
//! The one rule: judge the parsed [`Url`], never its text. The `url` crate turns `127.1`, `0x7f.1` and `①②⑦.⓪.⓪.①`
//! into 127.0.0.1 before we look.

mod allow;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};
use url::{Host, Url};

pub use allow::{AllowNet, AllowNetError};

/// Ports from 1024 up where something that is not a website usually answers: a request must never poke at these.
/// (Below 1024 only 80 and 443 are open at all, which covers mail, SSH and the rest.)
const BLOCKED_PORTS: &[u16] = &[
    1080, 1433, 1434, 1521, 1719, 1720, 1723, 1883, 2049, 2181, 2375, 2376, 2379, 2380, 3128, 3306,
    3389, 3659, 4045, 4190, 4369, 5060, 5061, 5432, 5672, 5900, 5984, 6000, 6379, 6443, 6566, 6665,
    6666, 6667, 6668, 6669, 6679, 6697, 9042, 9092, 9200, 9300, 10080, 10250, 11211, 27017, 27018,
    27019, 33060, 50000, 61616,
];

/// IPv4 ranges that are not the public internet.
const NOT_PUBLIC_V4: &[(Ipv4Addr, u8)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The part of IPv6 that is in use on the public internet.
const PUBLIC_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// What is not public inside of [`PUBLIC_V6`]: protocol assignments with Teredo, documentation twice, 6to4.
const NOT_PUBLIC_V6: &[(Ipv6Addr, u8)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// NAT64: how a host that has only IPv6 reaches IPv4. The one range outside of [`PUBLIC_V6`] that we can use.
const NAT64: (Ipv6Addr, u8) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Why a request was not made, in words for whoever typed the address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Neither http nor https.
    #[error("only http and https addresses can be read, not {scheme}:")]
    Scheme {
        /// The scheme, without its colon.
        scheme: String,
    },
    /// An address without a host.
    #[error("the address names no website")]
    NoHost,
    /// `http://name:password@host/`.
    #[error(
        "the address for {host} contains a user name or password; leave it out, this service never signs in"
    )]
    Credentials {
        /// The host.
        host: String,
    },
    /// A port that belongs to something other than websites.
    #[error(
        "port {port} of {host} is not one that websites use; 80, 443 and most ports from 1024 up are read"
    )]
    Port {
        /// The host.
        host: String,
        /// The port.
        port: u16,
    },
    /// A name that means something only inside of one network.
    #[error(
        "{host} is a name for use inside one network only, not a website on the public internet"
    )]
    LocalName {
        /// The host.
        host: String,
    },
    /// An address literal outside of the public internet.
    #[error("{host} is not an address on the public internet")]
    Address {
        /// The host.
        host: String,
    },
    /// A name with at least one address outside of the public internet. Which address is not told, because this
    /// sentence would otherwise be a map of the operator's network.
    #[error("{host} leads to an address that is not on the public internet")]
    LeadsInside {
        /// The host.
        host: String,
    },
}

impl Refusal {
    /// The host that was refused.
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Scheme { .. } | Self::NoHost => None,
            Self::Credentials { host }
            | Self::Port { host, .. }
            | Self::LocalName { host }
            | Self::Address { host }
            | Self::LeadsInside { host } => Some(host),
        }
    }

    /// Whether an operator who means it can open this place with an exception for its network.
    pub fn is_about_the_network(&self) -> bool {
        matches!(
            self,
            Self::LocalName { .. } | Self::Address { .. } | Self::LeadsInside { .. }
        )
    }
}

/// The judge. Knows nothing but the operator's exceptions.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    /// Networks outside of the public internet that may be read; empty by default.
    pub allow: Vec<AllowNet>,
}

impl Guard {
    /// Judges all that an address tells before its name is looked up. An address literal is judged completely, since
    /// no resolver will ever see it.
    pub fn check_url(&self, url: &Url) -> Result<(), Refusal> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refusal::Scheme {
                scheme: url.scheme().to_owned(),
            });
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(Refusal::NoHost);
        };
        let shown = host.to_string();
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::Credentials { host: shown });
        }
        match host {
            Host::Ipv4(ip) => self.check_addr(ip.into(), port),
            Host::Ipv6(ip) => self.check_addr(ip.into(), port),
            Host::Domain(name) => self.check_name(name, port),
        }
    }

    fn check_name(&self, name: &str, port: u16) -> Result<(), Refusal> {
        if is_onion(name) || (is_local_name(name) && self.allow.is_empty()) {
            return Err(Refusal::LocalName {
                host: name.to_owned(),
            });
        }
        // An exception may open this port for the addresses behind the name: that is judged when they are known.
        let may_be_opened = self.allow.iter().any(|rule| rule.opens_port(port));
        if !is_web_port(port) && !may_be_opened {
            return Err(Refusal::Port {
                host: name.to_owned(),
                port,
            });
        }
        Ok(())
    }

    /// Judges one address with the port that would be dialled.
    pub fn check_addr(&self, ip: IpAddr, port: u16) -> Result<(), Refusal> {
        if self.is_allowed(ip, port) {
            return Ok(());
        }
        let host = if ip.is_ipv6() {
            format!("[{ip}]")
        } else {
            ip.to_string()
        };
        if !is_public(ip) {
            return Err(Refusal::Address { host });
        }
        if !is_web_port(port) {
            return Err(Refusal::Port { host, port });
        }
        Ok(())
    }

    /// Judges one of the addresses that `name` leads to; a name is refused as soon as one of them is.
    ///
    /// A name that is local by its very form must lead to an allowed network: a public answer for `localhost` is a
    /// lie of the resolver, not a website.
    pub fn check_resolved(&self, name: &str, ip: IpAddr, port: u16) -> Result<(), Refusal> {
        if is_local_name(name) && !self.is_allowed(ip, port) {
            return Err(Refusal::LocalName {
                host: name.to_owned(),
            });
        }
        self.check_addr(ip, port).map_err(|refusal| match refusal {
            Refusal::Port { .. } => Refusal::Port {
                host: name.to_owned(),
                port,
            },
            _ => Refusal::LeadsInside {
                host: name.to_owned(),
            },
        })
    }

    fn is_allowed(&self, ip: IpAddr, port: u16) -> bool {
        self.allow
            .iter()
            .any(|rule| rule.holds(ip.to_canonical(), port))
    }
}

fn is_web_port(port: u16) -> bool {
    match port {
        80 | 443 => true,
        0..1024 => false,
        _ => !BLOCKED_PORTS.contains(&port),
    }
}

/// `localhost`, `*.localhost`, `*.local`, `*.internal`, `*.onion` and names of a single label, in the lower case that
/// the `url` crate gives; a dot at the end changes nothing.
fn is_local_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    match name.rsplit_once('.') {
        None => true,
        Some((_, top)) => matches!(top, "localhost" | "local" | "internal" | "onion" | ""),
    }
}

/// Refused whatever the operator allows: such a name must not even be looked up in the DNS (RFC 7686).
fn is_onion(name: &str) -> bool {
    name.strip_suffix('.').unwrap_or(name).ends_with(".onion")
}

fn is_public(ip: IpAddr) -> bool {
    // `to_canonical` takes an IPv4 address out of its mapped form (`::ffff:a.b.c.d`), which the operating system
    // would dial as IPv4.
    match ip.to_canonical() {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    !NOT_PUBLIC_V4
        .iter()
        .any(|&(net, prefix)| Ipv4Net::new_assert(net, prefix).contains(&ip))
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let within = |(net, prefix): (Ipv6Addr, u8)| Ipv6Net::new_assert(net, prefix).contains(&ip);
    let [.., high, low] = ip.segments();
    let inner = Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    if within(NAT64) {
        return is_public_v4(inner);
    }
    // ISATAP hides an IPv4 address behind an interface identifier, whatever the prefix is.
    let segments = ip.segments();
    let is_isatap = matches!(segments[4], 0 | 0x200) && segments[5] == 0x5efe;
    within(PUBLIC_V6)
        && !NOT_PUBLIC_V6.iter().copied().any(within)
        && (!is_isatap || is_public_v4(inner))
}

#[cfg(test)]
mod tests;
