//! What robots.txt says to us: which pages, which sitemaps, how slowly.
//!
//! Parsed by `texting_robots`, which has been run over millions of real files. What it was not made for is dealt with
//! here: rules with a `$` each become a regular expression (a 500 KiB file of them takes 10 s and 370 MB, measured),
//! and a group for `Sitebell/0.1.0` is one for us. Never panics, whatever the bytes.

use std::panic::catch_unwind;
use std::time::Duration;

use texting_robots::Robot;
use url::Url;

/// The name that site owners use for us in robots.txt.
const PRODUCT_TOKEN: &str = "sitebell";

/// What RFC 9309 asks of a reader; the rest of a longer file is not looked at.
pub(super) const MAX_ROBOTS_BYTES: usize = 500 * 1024;

/// Lines with a `$`; real files have a few dozen.
const MAX_DOLLAR_LINES: usize = 300;

/// What the parser may keep in memory for such a line (twice its own limit of 42 KiB, at worst), and for each byte of
/// any other: a rule is a few dozen bytes around a text that may be as short as one.
const DOLLAR_LINE_WEIGHT: usize = 65_536;
const BYTE_WEIGHT: usize = 16;

/// A site may list a sitemap per line, but we will not follow thousands of them.
const MAX_SITEMAPS: usize = 100;

/// Paths that are allowed by name; a file with more of them is about something else.
const MAX_ALLOWED: usize = 1_000;

/// The longest delay that we take seriously.
const MAX_CRAWL_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The rules of one origin.
#[derive(Debug)]
pub struct Robots {
    rules: Rules,
    sitemaps: Vec<String>,
    allowed: Vec<String>,
    crawl_delay: Option<Duration>,
    /// About how many bytes of memory this takes.
    pub(super) weight: usize,
}

#[derive(Debug)]
enum Rules {
    AllowAll,
    ForbidAll,
    File(Box<Robot>),
}

impl Robots {
    /// Reads a robots.txt. One that cannot be understood at all forbids everything: it may have meant to.
    pub fn parse(bytes: &[u8]) -> Self {
        let bytes = &bytes[..bytes.len().min(MAX_ROBOTS_BYTES)];
        let dollar_lines = lines(bytes).filter(|line| line.contains(&b'$')).count();
        if dollar_lines > MAX_DOLLAR_LINES {
            return Self::unreachable();
        }
        let text = for_our_token(bytes);
        // No input is known to make the parser panic; if one does, it must not take the check of a site with it.
        let Ok(Ok(mut robot)) = catch_unwind(|| Robot::new(PRODUCT_TOKEN, &text)) else {
            return Self::unreachable();
        };
        let mut sitemaps = std::mem::take(&mut robot.sitemaps);
        sitemaps.retain(|sitemap| !sitemap.is_empty());
        sitemaps.truncate(MAX_SITEMAPS);
        let crawl_delay = robot.delay.map(|seconds| {
            // Infinity and other wonders parse as numbers too.
            Duration::try_from_secs_f32(seconds)
                .unwrap_or(MAX_CRAWL_DELAY)
                .min(MAX_CRAWL_DELAY)
        });
        Self {
            rules: Rules::File(Box::new(robot)),
            sitemaps,
            allowed: allowed(&text),
            crawl_delay,
            weight: dollar_lines * DOLLAR_LINE_WEIGHT + bytes.len() * BYTE_WEIGHT,
        }
    }

    /// There is no robots.txt (any 4xx): everything may be read.
    pub fn missing() -> Self {
        Self {
            rules: Rules::AllowAll,
            sitemaps: vec![],
            allowed: vec![],
            crawl_delay: None,
            weight: 0,
        }
    }

    /// The robots.txt could not be read (5xx, no connection): as long as that lasts, nothing may be (RFC 9309, 2.3.1.4).
    pub fn unreachable() -> Self {
        Self {
            rules: Rules::ForbidAll,
            sitemaps: vec![],
            allowed: vec![],
            crawl_delay: None,
            weight: 0,
        }
    }

    /// Whether we may read this page of the origin.
    pub fn allows(&self, url: &Url) -> bool {
        match &self.rules {
            Rules::AllowAll => true,
            Rules::ForbidAll => false,
            Rules::File(robot) => robot.allowed(url.as_str()),
        }
    }

    /// Whether it could not be read.
    pub fn is_unreachable(&self) -> bool {
        matches!(self.rules, Rules::ForbidAll)
    }

    /// The addresses on `Sitemap:` lines, as they stand there; they count for everyone.
    pub fn sitemaps(&self) -> Vec<String> {
        self.sitemaps.clone()
    }

    /// The paths on `Allow:` lines that name one document, as they stand there: some sites tell of a document so.
    pub fn allowed(&self) -> &[String] {
        &self.allowed
    }

    /// The pause that the site would like between two requests.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| matches!(byte, b'\n' | b'\r' | 0))
}

/// The parser compares whole names, but RFC 9309 wants the product token alone compared: people copy
/// `Sitebell/0.1.0` from their logs.
fn for_our_token(bytes: &[u8]) -> Vec<u8> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut text = Vec::with_capacity(bytes.len() + 1);
    for line in lines(bytes) {
        if names_us(line) {
            text.extend_from_slice(b"User-agent: sitebell");
        } else {
            text.extend_from_slice(line);
        }
        text.push(b'\n');
    }
    text
}

/// The name and the value of a line.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    Some((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()))
}

fn allowed(bytes: &[u8]) -> Vec<String> {
    let allowed = lines(bytes).filter_map(field).filter_map(|(name, value)| {
        let value = std::str::from_utf8(value).ok()?;
        let path = value.split('#').next()?.trim();
        let is_path = path.starts_with('/') && !path.starts_with("//");
        let is_one = is_path && !path.ends_with('/') && !path.contains(['*', '$']);
        (name.eq_ignore_ascii_case(b"allow") && is_one).then(|| path.to_owned())
    });
    allowed.take(MAX_ALLOWED).collect()
}

fn names_us(line: &[u8]) -> bool {
    let Some((field, value)) = field(line) else {
        return false;
    };
    let token_end = value
        .iter()
        .position(|byte| !(byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-')));
    let token = &value[..token_end.unwrap_or(value.len())];
    field.eq_ignore_ascii_case(b"user-agent")
        && token.eq_ignore_ascii_case(PRODUCT_TOKEN.as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn documents_are_known_by_the_lines_that_allow_them() {
        let robots = Robots::parse(
            b"User-agent: *\nDisallow: /x.jsonld\nallow : /a/spxi-index.jsonld # here\nAllow: /*.jsonld\n\
              Allow: /folder/\nAllow: //evil/d.jsonld\nAllow:/b\nAllow: /c$",
        );
        assert_eq!(robots.allowed(), ["/a/spxi-index.jsonld", "/b"]);
        assert_eq!(Robots::parse(b"Allow").allowed(), [""; 0]);
        let many = Robots::parse(&b"Allow: /a\n".repeat(2 * MAX_ALLOWED));
        assert_eq!(many.allowed().len(), MAX_ALLOWED);
    }

    fn allows(robots: &str, path: &str) -> bool {
        Robots::parse(robots.as_bytes()).allows(
            &Url::parse("https://example.org")
                .unwrap()
                .join(path)
                .unwrap(),
        )
    }

    #[test]
    fn our_group_counts_and_else_the_one_for_everyone() {
        let robots = "User-agent: *\nDisallow: /\n\nUser-agent: SiteBell\nDisallow: /private\nAllow: /private/open\n";
        assert!(allows(robots, "/page"));
        assert!(!allows(robots, "/private/page"));
        assert!(allows(robots, "/private/open"));
        assert!(!allows("User-agent: *\nDisallow: /\n", "/page"));
        assert!(allows("User-agent: other\nDisallow: /\n", "/page"));
        assert!(!allows(
            "User-agent: sitebells\nDisallow:\n\nUser-agent: *\nDisallow: /",
            "/page"
        ));
    }

    #[test]
    fn a_group_for_our_name_with_a_version_is_ours() {
        for name in [
            "Sitebell/0.1.0",
            "sitebell",
            "SITEBELL (anything)",
            "sitebell # us",
        ] {
            let robots =
                format!("User-Agent : {name}\r\nDisallow: /\r\n\r\nUser-agent: *\r\nDisallow:\r\n");
            assert!(!allows(&robots, "/page"), "{name}");
        }
    }

    #[test]
    fn wildcards_and_ends_are_understood() {
        let robots = "User-agent: *\nDisallow: /*.pdf$\nDisallow: /a*b\n";
        assert!(!allows(robots, "/x/y.pdf"));
        assert!(allows(robots, "/x/y.pdf?download"));
        assert!(!allows(robots, "/axxb/c"));
        assert!(allows(robots, "/b"));
    }

    #[test]
    fn sitemap_lines_are_found_in_any_case_and_place() {
        let robots = "\u{feff}SITEMAP:https://a.example/1.xml\r\nUser-agent: other\r\nDisallow: /\r\n  \
                      sitemap :  https://a.example/2.xml  # second\r\n\r\nSitemap: /3.xml\rSiTeMaP:\t4.xml\nSitemap:\n\
                      #Sitemap: no.xml\nSitemap: https://a.example/5.xml";
        let found = Robots::parse(robots.as_bytes()).sitemaps();
        let expected = [
            "https://a.example/1.xml",
            "https://a.example/2.xml",
            "/3.xml",
            "4.xml",
            "https://a.example/5.xml",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_crawl_delay_is_a_duration_whatever_it_says() {
        let delay = |value: &str| {
            Robots::parse(format!("User-agent: *\nCrawl-delay: {value}").as_bytes()).crawl_delay()
        };
        assert_eq!(delay("2.5"), Some(Duration::from_millis(2_500)));
        assert_eq!(delay("0"), Some(Duration::ZERO));
        for long in ["inf", "1e30", "99999999999"] {
            assert_eq!(delay(long), Some(MAX_CRAWL_DELAY), "{long}");
        }
        for garbage in ["-1", "soon", "NaN", ""] {
            assert_eq!(delay(garbage), None, "{garbage}");
        }
    }

    #[test]
    fn a_missing_file_allows_all_and_an_unreachable_one_nothing() {
        let page = Url::parse("https://example.org/page").unwrap();
        assert!(Robots::missing().allows(&page));
        assert!(!Robots::unreachable().allows(&page));
        assert!(Robots::parse(b"").allows(&page));
        assert!(Robots::parse(b"<!DOCTYPE html><html><body>Not found</body></html>").allows(&page));
    }

    #[test]
    fn a_hostile_file_is_read_in_bounded_time_and_memory() {
        let page = Url::parse(&format!("https://example.org/{}", "a".repeat(2_000))).unwrap();
        for line in [
            "Disallow: /*$\n",
            "Disallow: /*a*a*a*a*a*a*ab\n",
            "\n",
            "Sitemap: x\n",
            "User-agent: sitebell\n",
            "a",
            "*$",
        ] {
            let robots = Robots::parse(&line.repeat(2_000_000 / line.len()).into_bytes());
            robots.allows(&page);
            assert!(robots.sitemaps().len() <= MAX_SITEMAPS);
        }
        let huge_rule = format!("User-agent: *\nDisallow: /{}$\n", "*a".repeat(20_000));
        assert!(
            !Robots::parse(huge_rule.as_bytes()).allows(&page),
            "a rule that is not understood may have meant us"
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            Robots::parse(&bytes).allows(&Url::parse("https://example.org/a?b").unwrap());
        }

        #[test]
        fn no_lines_make_it_panic(
            lines in proptest::collection::vec("(?i)(user-agent|allow|disallow|sitemap|crawl-delay)? ?:?[ -~é\\*\\$%]{0,20}", 0..30)
        ) {
            Robots::parse(lines.join("\n").as_bytes()).allows(&Url::parse("https://example.org/é*$%").unwrap());
        }
    }
}
