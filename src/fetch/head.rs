//! What a response head tells: validators, dates, freshness, and how long to stay away.
//!
//! Pure: `now` is a parameter. A field that cannot be understood is as good as none.

use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use url::Url;

use crate::memory::Validators;

/// Whatever a site says, we come back after this time: it may say 3000 years.
const LONGEST_WAIT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

impl Validators {
    pub(super) fn from_head(url: &Url, headers: &HeaderMap) -> Option<Self> {
        let field = |name: HeaderName| headers.get(name).map(|value| value.as_bytes().to_vec());
        let (etag, last_modified) = (field(header::ETAG), field(header::LAST_MODIFIED));
        let has_some = etag.is_some() || last_modified.is_some();
        has_some.then(|| Self {
            url: url.clone(),
            etag,
            last_modified,
        })
    }

    /// The conditional fields of a request to `url`: both of them, as RFC 9110 (13.1.3) advises.
    pub(super) fn conditions(&self, url: &Url) -> HeaderMap {
        let mut conditions = HeaderMap::new();
        if self.url != *url {
            return conditions;
        }
        let fields = [
            (header::IF_NONE_MATCH, &self.etag),
            (header::IF_MODIFIED_SINCE, &self.last_modified),
        ];
        for (name, value) in fields {
            // What is no header value cannot have come from a response, so there is nothing to send back.
            if let Some(value) = value
                .as_deref()
                .and_then(|bytes| HeaderValue::from_bytes(bytes).ok())
            {
                conditions.insert(name, value);
            }
        }
        conditions
    }

    /// A 304 may bring newer validators; what it does not mention stays.
    pub(super) fn updated_by(self, newer: Option<Self>) -> Self {
        match newer {
            None => self,
            Some(newer) => Self {
                url: newer.url,
                etag: newer.etag.or(self.etag),
                last_modified: newer.last_modified.or(self.last_modified),
            },
        }
    }
}

/// `Retry-After`: seconds, or a date.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match seconds(value) {
        Some(wait) => wait,
        None => httpdate::parse_http_date(value)
            .ok()?
            .duration_since(now)
            .unwrap_or_default(),
    };
    Some(wait.min(LONGEST_WAIT))
}

/// `Date`: the server's own clock.
pub(super) fn date(headers: &HeaderMap) -> Option<DateTime<Utc>> {
    http_date(headers, header::DATE).map(DateTime::from)
}

/// How long the server promises that the document stays as it is: `Cache-Control: max-age` less `Age`, or `Expires`.
pub(super) fn fresh_for(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let mut max_age = None;
    for field in headers.get_all(header::CACHE_CONTROL) {
        for directive in field.to_str().unwrap_or_default().split(',') {
            let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
            match name.trim().to_ascii_lowercase().as_str() {
                "no-cache" | "no-store" => return Some(Duration::ZERO),
                "max-age" => max_age = max_age.or(seconds(value.trim().trim_matches('"'))),
                _ => {}
            }
        }
    }
    let fresh_for = match max_age {
        Some(max_age) => {
            let age = headers
                .get(header::AGE)
                .and_then(|age| seconds(age.to_str().ok()?.trim()));
            max_age.saturating_sub(age.unwrap_or_default())
        }
        None => {
            let expires = http_date(headers, header::EXPIRES)?;
            let sent = http_date(headers, header::DATE).unwrap_or(now);
            expires.duration_since(sent).unwrap_or_default()
        }
    };
    Some(fresh_for.min(LONGEST_WAIT))
}

/// All `Link` fields, in order.
pub(super) fn links(headers: &HeaderMap) -> Vec<String> {
    headers.get_all(header::LINK).iter().map(text).collect()
}

/// `X-Robots-Tag`: what robots may do with a page.
pub(super) fn robots_tags(headers: &HeaderMap) -> Vec<String> {
    let tags = headers.get_all(HeaderName::from_static("x-robots-tag"));
    tags.iter().map(text).collect()
}

/// `Content-Type`, as it stands.
pub(super) fn content_type(headers: &HeaderMap) -> Option<String> {
    headers.get(header::CONTENT_TYPE).map(text)
}

/// The size of the head as HTTP/1 sends it, near enough.
pub(super) fn size(headers: &HeaderMap) -> usize {
    headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum()
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

fn http_date(headers: &HeaderMap, name: HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(name)?.to_str().ok()?.trim()).ok()
}

/// Digits only; more of them than fit mean "very long".
fn seconds(text: &str) -> Option<Duration> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| Duration::from_secs(text.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(fields: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(
                HeaderName::from_static(name),
                HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            );
        }
        headers
    }

    fn now() -> SystemTime {
        httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap()
    }

    #[test]
    fn retry_after_is_read_in_both_forms_and_clamped() {
        let wait = |value: &str| {
            retry_after(&head(&[("retry-after", value)]), now()).map(|wait| wait.as_secs())
        };
        assert_eq!(wait("120"), Some(120));
        assert_eq!(wait(" 0 "), Some(0));
        assert_eq!(wait("Sun, 06 Nov 1994 08:50:37 GMT"), Some(60));
        assert_eq!(wait("Sunday, 06-Nov-94 08:50:37 GMT"), Some(60));
        assert_eq!(wait("Sun Nov  6 08:50:37 1994"), Some(60));
        assert_eq!(
            wait("Sun, 06 Nov 1994 08:00:00 GMT"),
            Some(0),
            "a date in the past"
        );
        for long in [
            "94608000000",
            "99999999999999999999999999",
            "Fri, 31 Dec 9999 23:59:59 GMT",
        ] {
            assert_eq!(wait(long), Some(7 * 86_400), "{long}");
        }
        for garbage in [
            "",
            "-1",
            "+5",
            "1.5",
            "soon",
            "120 seconds",
            "Sun, 99 Nov 1994 08:49:37 GMT",
            "é",
        ] {
            assert_eq!(wait(garbage), None, "{garbage}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now()), None);
    }

    #[test]
    fn freshness_comes_from_max_age_or_expires() {
        let fresh = |fields: &[(&'static str, &str)]| {
            fresh_for(&head(fields), now()).map(|fresh| fresh.as_secs())
        };
        assert_eq!(fresh(&[]), None);
        assert_eq!(
            fresh(&[("cache-control", "public, Max-Age=300")]),
            Some(300)
        );
        assert_eq!(
            fresh(&[("cache-control", "max-age=300"), ("age", "100")]),
            Some(200)
        );
        assert_eq!(
            fresh(&[("cache-control", "max-age=300"), ("age", "900")]),
            Some(0)
        );
        assert_eq!(
            fresh(&[("cache-control", "max-age=300"), ("expires", "0")]),
            Some(300)
        );
        assert_eq!(
            fresh(&[
                ("cache-control", "max-age=300"),
                ("cache-control", "no-cache")
            ]),
            Some(0)
        );
        assert_eq!(
            fresh(&[("cache-control", "max-age=99999999999")]),
            Some(7 * 86_400)
        );
        assert_eq!(fresh(&[("cache-control", "max-age=soon")]), None);
        assert_eq!(
            fresh(&[("expires", "Sun, 06 Nov 1994 08:50:37 GMT")]),
            Some(60)
        );
        let date = ("date", "Sun, 06 Nov 1994 08:50:07 GMT");
        assert_eq!(
            fresh(&[("expires", "Sun, 06 Nov 1994 08:50:37 GMT"), date]),
            Some(30)
        );
        assert_eq!(fresh(&[("expires", "0")]), None);
    }

    #[test]
    fn validators_go_back_byte_for_byte_and_only_to_where_they_came_from() {
        let url = Url::parse("https://example.org/a.xml").unwrap();
        let mut headers = head(&[("last-modified", "yesterday, more or less")]);
        let odd = b"W/\"caf\xe9 ,\xff\"";
        headers.insert(header::ETAG, HeaderValue::from_bytes(odd).unwrap());
        let validators = Validators::from_head(&url, &headers).unwrap();
        let conditions = validators.conditions(&url);
        assert_eq!(conditions[header::IF_NONE_MATCH].as_bytes(), odd);
        assert_eq!(
            conditions[header::IF_MODIFIED_SINCE].as_bytes(),
            b"yesterday, more or less"
        );
        assert!(
            validators
                .conditions(&url.join("/b.xml").unwrap())
                .is_empty()
        );
        assert_eq!(Validators::from_head(&url, &HeaderMap::new()), None);
    }
}
