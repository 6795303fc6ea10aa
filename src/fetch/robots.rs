//! What robots.txt means for a request: whether it may be made, and for how long that is known.

mod cache;
mod file; // what it says

use std::io::{BufRead, Read};
use std::time::Duration;

use url::Url;

use super::error::FetchError;
pub(super) use cache::RobotsCache;
use file::MAX_ROBOTS_BYTES;
pub use file::Robots;

/// How long a robots.txt is remembered (RFC 9309, 2.4), and for how long it is believed that there is none to be had.
const KEPT_FOR: Duration = Duration::from_secs(24 * 60 * 60);
const UNREACHABLE_FOR: Duration = Duration::from_secs(10 * 60);

impl Robots {
    /// Whether we may read this page, as an error that tells a robots.txt that says no from one that could not be read.
    pub(super) fn check(&self, url: &Url) -> Result<(), FetchError> {
        match self.is_unreachable() {
            _ if self.allows(url) => Ok(()),
            true => Err(FetchError::RobotsUnreachable {
                url: url.to_string(),
            }),
            false => Err(FetchError::RobotsForbid {
                url: url.to_string(),
            }),
        }
    }
}

/// Reads the part of a robots.txt that counts; a longer one is no error.
pub(super) fn read(reader: &mut dyn BufRead) -> Robots {
    let mut bytes = Vec::new();
    // An error here is a fault of the body, and comes back as such.
    let _ = reader.take(MAX_ROBOTS_BYTES as u64).read_to_end(&mut bytes);
    Robots::parse(&bytes)
}

/// What the outcome of asking for robots.txt means (RFC 9309, 2.3.1), and how long to believe it.
///
/// A redirect that leads nowhere, or to a place that is refused, is a file that does not exist. 429 is no answer to the
/// question, unlike the other 4xx.
pub(super) fn settle(read: Result<Robots, FetchError>) -> (Robots, Duration) {
    match read {
        Ok(robots) => (robots, KEPT_FOR),
        Err(
            FetchError::Status {
                status: 400..=428 | 430..=499,
                ..
            }
            | FetchError::Redirect { .. },
        ) => (Robots::missing(), KEPT_FOR),
        Err(FetchError::Refused(_)) => (Robots::missing(), UNREACHABLE_FOR),
        // Our own thrift, not the site's doing: nobody else should have to believe it.
        Err(FetchError::OverBudget { .. } | FetchError::OverTime { .. }) => {
            (Robots::unreachable(), Duration::ZERO)
        }
        Err(_) => (Robots::unreachable(), UNREACHABLE_FOR),
    }
}
