//! Where a redirect leads, and whether it may be followed. The address itself is judged by the guard, like any other.

use reqwest::header::{HeaderMap, LOCATION};
use url::Url;

use super::error::RedirectProblem;

/// The addresses that one request went through.
#[derive(Debug)]
pub(super) struct Trail {
    /// Nothing as long as there is no redirect.
    visited: Vec<Url>,
    max_redirects: u32,
    is_permanent: bool,
}

impl Trail {
    pub(super) fn new(max_redirects: u32) -> Self {
        Self {
            visited: Vec::new(),
            max_redirects,
            is_permanent: true,
        }
    }

    /// The next address. `from` has no fragment, which is not part of a request. Any 3xx that does not lead to one is a problem: it is certainly not the document.
    pub(super) fn follow(
        &mut self,
        from: &Url,
        status: u16,
        headers: &HeaderMap,
    ) -> Result<Url, RedirectProblem> {
        let location = headers
            .get(LOCATION)
            .filter(|_| matches!(status, 301 | 302 | 303 | 307 | 308));
        let location = location.ok_or(RedirectProblem::Nowhere(status))?.as_bytes();
        let location = std::str::from_utf8(location).map_err(|_| RedirectProblem::BadTarget)?;
        let mut target = from
            .join(location)
            .map_err(|_| RedirectProblem::BadTarget)?;
        target.set_fragment(None);
        if from.scheme() == "https" && target.scheme() == "http" {
            return Err(RedirectProblem::Downgrade(target.into()));
        }
        if self.visited.is_empty() {
            self.visited.push(from.clone());
        }
        if self.visited.contains(&target) {
            return Err(RedirectProblem::Loop(target.into()));
        }
        if self.visited.len() > self.max_redirects as usize {
            return Err(RedirectProblem::TooMany(self.max_redirects));
        }
        self.is_permanent &= matches!(status, 301 | 308);
        self.visited.push(target.clone());
        Ok(target)
    }

    /// There was a redirect, and every one of them was for good.
    pub(super) fn has_moved_for_good(&self) -> bool {
        self.visited.len() > 1 && self.is_permanent
    }

    /// How many requests were made.
    pub(super) fn requests(&self) -> u32 {
        u32::try_from(self.visited.len().max(1)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn follow(from: &str, status: u16, location: &[u8]) -> Result<String, RedirectProblem> {
        let from = Url::parse(from).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, HeaderValue::from_bytes(location).unwrap());
        Trail::new(5)
            .follow(&from, status, &headers)
            .map(String::from)
    }

    #[test]
    fn targets_are_resolved_against_the_address_that_redirects() {
        let from = "https://example.org/a/b?c";
        let table: [(&[u8], &str); 6] = [
            (b"d", "https://example.org/a/d"),
            (b"/d#part", "https://example.org/d"),
            (b"//other.example/", "https://other.example/"),
            (b"?q", "https://example.org/a/b?q"),
            (
                b"https://other.example:8443/x",
                "https://other.example:8443/x",
            ),
            ("/ü".as_bytes(), "https://example.org/%C3%BC"),
        ];
        for (location, target) in table {
            assert_eq!(follow(from, 302, location).unwrap(), target);
        }
    }

    #[test]
    fn what_cannot_be_followed_is_a_problem_with_a_name() {
        let from = "https://example.org/a";
        for status in [300, 304, 305, 306, 399] {
            assert_eq!(
                follow(from, status, b"/b"),
                Err(RedirectProblem::Nowhere(status))
            );
        }
        assert_eq!(
            follow(from, 302, b"https://"),
            Err(RedirectProblem::BadTarget)
        );
        assert_eq!(follow(from, 302, b"/\xff"), Err(RedirectProblem::BadTarget));
        assert_eq!(
            follow(from, 302, b""),
            Err(RedirectProblem::Loop(from.into()))
        );
        assert_eq!(
            follow(from, 302, b"#part"),
            Err(RedirectProblem::Loop(from.into()))
        );
        let plain = "http://example.org/a";
        assert_eq!(
            follow(from, 301, plain.as_bytes()),
            Err(RedirectProblem::Downgrade(plain.into()))
        );
        assert_eq!(follow(plain, 301, from.as_bytes()).unwrap(), from);
        let start = Url::parse(from).unwrap();
        let nowhere = Trail::new(5).follow(&start, 301, &HeaderMap::new());
        assert_eq!(nowhere, Err(RedirectProblem::Nowhere(301)));
    }
}
