//! The operator's exceptions: networks outside of the public internet that may be read, `CIDR[:port]`.
//!
//! A rule with a port opens this port only; a rule without one opens all of them, for the addresses that it names.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use ipnet::IpNet;

/// A network that the operator opens although it is not the public internet: `CIDR[:port]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowNet {
    net: IpNet,
    port: Option<u16>,
}

/// What is wrong with an `--allow-net` value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a network: write an address or a range, and a port if only one is meant, \
     for example 127.0.0.1:8080, 10.0.0.0/8 or [::1]/128:8080"
)]
pub struct AllowNetError(String);

impl AllowNet {
    pub(super) fn holds(&self, ip: IpAddr, port: u16) -> bool {
        self.net.contains(&ip) && self.opens_port(port)
    }

    pub(super) fn opens_port(&self, port: u16) -> bool {
        self.port.is_none_or(|only| only == port)
    }
}

impl std::fmt::Display for AllowNet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.net, self.port) {
            (net, None) => write!(f, "{net}"),
            (IpNet::V4(net), Some(port)) => write!(f, "{net}:{port}"),
            (IpNet::V6(net), Some(port)) => {
                write!(f, "[{}]/{}:{port}", net.addr(), net.prefix_len())
            }
        }
    }
}

impl FromStr for AllowNet {
    type Err = AllowNetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_allow_net(text.trim()).ok_or_else(|| AllowNetError(text.to_owned()))
    }
}

/// A bare IPv6 address with a port needs brackets: its last group and the port could not be told apart.
fn parse_allow_net(text: &str) -> Option<AllowNet> {
    let (address, rest): (IpAddr, &str) = if let Some(inner) = text.strip_prefix('[') {
        let (address, rest) = inner.split_once(']')?;
        (address.parse::<Ipv6Addr>().ok()?.into(), rest)
    } else {
        let is_v6 = text.matches(':').count() > 1;
        let end = text.find(if is_v6 { &['/'][..] } else { &['/', ':'][..] });
        let (address, rest) = text.split_at(end.unwrap_or(text.len()));
        (address.parse().ok()?, rest)
    };
    let (prefix, port) = match rest.split_once(':') {
        Some((prefix, port)) => (
            prefix,
            Some(parse_number::<u16>(port).filter(|port| *port != 0)?),
        ),
        None => (rest, None),
    };
    let full = if address.is_ipv4() { 32 } else { 128 };
    let prefix = match prefix.strip_prefix('/') {
        Some(digits) => parse_number::<u8>(digits)?,
        None if prefix.is_empty() => full,
        None => return None,
    };
    let net = IpNet::new(address, prefix).ok()?.trunc();
    Some(AllowNet { net, port })
}

/// Digits only: Rust's own parser also takes a leading plus sign.
fn parse_number<T: FromStr>(digits: &str) -> Option<T> {
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| digits.parse().ok())?
}
