//! What an operator can set about requests, with defaults that suit a small server and are kind to others.

use std::time::Duration;

use reqwest::header::HeaderValue;

use super::Limit;
use super::decode::Bounds;
use super::error::FetchError;
use super::guard::AllowNet;

/// All settings of the fetcher.
#[derive(Debug, Clone)]
pub struct FetchSettings {
    /// To be connected, TLS included: 5 s.
    pub connect_timeout: Duration,
    /// Without a single byte: 10 s.
    pub idle_timeout: Duration,
    /// The whole request, redirects and body included, but not the wait for the host's turn: 20 s.
    pub total_timeout: Duration,
    /// Redirects that are followed: 5.
    pub max_redirects: u32,
    /// A ResourceSync or sitemap document, decoded: 52,428,800 bytes, the ceiling of the formats themselves.
    pub max_document_bytes: u64,
    /// Anything else, decoded: 1 MiB.
    pub max_other_bytes: u64,
    /// The least time between the end of a request to a host and the start of the next: 500 ms.
    pub host_gap: Duration,
    /// Requests under way in the whole service: 32.
    pub max_in_flight: usize,
    /// Networks outside of the public internet that may be read: none.
    pub allow_nets: Vec<AllowNet>,
    /// The page that tells site owners what this service is, for the User-Agent.
    pub info_url: String,
    /// How to reach the operator, for the User-Agent.
    pub contact: Option<String>,
}

impl Default for FetchSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(10),
            total_timeout: Duration::from_secs(20),
            max_redirects: 5,
            max_document_bytes: 52_428_800,
            max_other_bytes: 1 << 20,
            host_gap: Duration::from_millis(500),
            max_in_flight: 32,
            allow_nets: vec![],
            info_url: "https://sitebell.example/about-the-fetcher".to_owned(),
            contact: None,
        }
    }
}

impl FetchSettings {
    /// How large a body may be as it comes.
    pub(super) fn max_wire_bytes(&self, limit: Limit) -> u64 {
        match limit {
            Limit::Document | Limit::Packed { .. } => self.max_document_bytes,
            Limit::Other => self.max_other_bytes,
        }
    }

    /// What it is held to decoded.
    pub(super) fn bounds(&self, limit: Limit) -> Bounds {
        match limit {
            Limit::Packed {
                max_bytes,
                max_ratio,
            } => Bounds {
                max_bytes,
                max_ratio,
            },
            Limit::Document | Limit::Other => Bounds {
                max_bytes: self.max_wire_bytes(limit),
                max_ratio: None,
            },
        }
    }

    /// The same on every request, honest, and with a way to reach someone.
    pub(super) fn user_agent(&self) -> Result<HeaderValue, FetchError> {
        let contact = self
            .contact
            .as_deref()
            .map(str::trim)
            .filter(|contact| !contact.is_empty());
        let contact = contact
            .map(|contact| format!("; {contact}"))
            .unwrap_or_default();
        let text = format!(
            "Sitebell/{} (+{}{contact})",
            env!("CARGO_PKG_VERSION"),
            self.info_url
        );
        // Visible ASCII only: anything else is mangled in other people's logs.
        HeaderValue::from_str(&text).ok().filter(|value| value.to_str().is_ok()).ok_or_else(|| FetchError::Setup {
            reason: format!("the contact or the information address cannot be sent in a User-Agent: {text:?}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user_agent(contact: Option<&str>) -> Result<String, FetchError> {
        let settings = FetchSettings {
            contact: contact.map(str::to_owned),
            ..FetchSettings::default()
        };
        settings
            .user_agent()
            .map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn the_user_agent_names_the_product_and_a_contact() {
        let base = format!(
            "Sitebell/{} (+https://sitebell.example/about-the-fetcher",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(user_agent(None).unwrap(), format!("{base})"));
        assert_eq!(user_agent(Some("  ")).unwrap(), format!("{base})"));
        assert_eq!(
            user_agent(Some("mailto:me@example.org")).unwrap(),
            format!("{base}; mailto:me@example.org)")
        );
    }

    #[test]
    fn a_contact_that_is_no_header_value_is_a_clear_error() {
        for contact in ["a\nb", "a\u{0}b", "mich@bücher.example"] {
            let error = user_agent(Some(contact)).unwrap_err();
            assert!(
                error
                    .to_string()
                    .starts_with("the fetcher cannot start: the contact"),
                "{error}"
            );
        }
    }
}
