//! What a person asks to follow.

use std::fmt;

use serde::{Deserialize, Serialize};
use url::{Position, Url};

use crate::text::MAX_ADDRESS_CHARS;

/// The formats, the best first: the more it tells, the better. This is the one place where a format is registered: how it
/// is called in the code, the module below [`crate::read`] that has its reader, its name for programs and the store, its
/// name for people, and how a site of this format is followed. `$with` makes something of the rows.
macro_rules! formats {
    ($with:ident) => {
        $with! {
            /// ResourceSync, as proposal IFCC-0001 asks.
            ResourceSync, resourcesync::list, "resourcesync", "ResourceSync", "It describes itself in ResourceSync.";
            /// The Site Content Protocol, which a sitemap announces.
            Scp, scp, "scp", "SCP", "It offers its pages in SCP; changes are inferred from what it offers.";
            /// A sitemap of the AI Readability Convention.
            Arc, arc, "arc", "ARC sitemap", "It has an ARC sitemap; changes are inferred from one reading to the next.";
            /// A sitemap with an SPXI index beside it, or the index alone.
            Spxi, spxi, "spxi", "SPXI", "It has a sitemap with an SPXI index; changes are inferred from one reading to the next.";
            /// A plain sitemap: XML, text, RSS or Atom.
            Sitemap, sitemap, "sitemap", "sitemap", "It has a sitemap; changes are inferred from one reading to the next.";
        }
    };
}
pub(crate) use formats;

macro_rules! define_format {
    ($($(#[doc = $doc:literal])+ $variant:ident, $($module:ident)::+, $name:literal, $title:literal, $sentence:literal;)+) => {
        /// How a site describes itself to machines.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Format {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+
        }

        impl Format {
            /// Every format, the best first.
            pub const ALL: &'static [Format] = &[$(Format::$variant),+];

            /// Whether it comes before another one there.
            pub fn is_better_than(self, other: Format) -> bool {
                (self as u8) < other as u8
            }

            /// Its name for programs and the store.
            pub fn as_str(self) -> &'static str {
                match self { $(Format::$variant => $name,)+ }
            }

            /// Its name for people.
            pub fn title(self) -> &'static str {
                match self { $(Format::$variant => $title,)+ }
            }

            /// How a site of this format is followed, in a sentence for people.
            pub fn sentence(self) -> &'static str {
                match self { $(Format::$variant => $sentence,)+ }
            }
        }
    };
}

formats!(define_format);

impl Format {
    /// The format of that name.
    pub fn parse(text: &str) -> Option<Format> {
        Format::ALL
            .iter()
            .copied()
            .find(|format| format.as_str() == text)
    }
}

/// Most authors kept; a longer list is a directory.
pub const MAX_AUTHORS: usize = 20;

/// Metadata of a site or a collection, every text cleaned and plain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// What it is called.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Who made it: names, at most [`MAX_AUTHORS`], each once.
    pub authors: Vec<String>,
    /// What others may do with it, in words or as the address of a licence.
    pub rights: Option<String>,
    /// The language it is in, as a tag.
    pub language: Option<String>,
}

impl About {
    /// Whether nothing at all is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Fills what is missing here from `other`.
    #[must_use]
    pub fn or(self, other: About) -> About {
        About {
            title: self.title.or(other.title),
            description: self.description.or(other.description),
            authors: if self.authors.is_empty() {
                other.authors
            } else {
                self.authors
            },
            rights: self.rights.or(other.rights),
            language: self.language.or(other.language),
        }
    }
}

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

ids! {
    /// The number of a site.
    SiteId;
    /// The number of a collection.
    CollectionId;
    /// The number of a check.
    CheckId;
}

/// How things stand with a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SiteStatus {
    /// It was not checked yet.
    New,
    /// The last check could be done.
    Ok,
    /// The last check failed.
    Failing,
    /// It says that it is gone for good; it is still checked now and then.
    Gone,
    /// The operator paused it.
    Paused,
}

impl SiteStatus {
    /// Its name for programs and the store.
    pub fn as_str(self) -> &'static str {
        match self {
            SiteStatus::New => "new",
            SiteStatus::Ok => "ok",
            SiteStatus::Failing => "failing",
            SiteStatus::Gone => "gone",
            SiteStatus::Paused => "paused",
        }
    }

    /// The status of that name.
    pub fn parse(text: &str) -> Option<SiteStatus> {
        [
            SiteStatus::New,
            SiteStatus::Ok,
            SiteStatus::Failing,
            SiteStatus::Gone,
            SiteStatus::Paused,
        ]
        .into_iter()
        .find(|status| status.as_str() == text)
    }
}

/// An address that a person typed, made whole.
///
/// Bare hosts, missing schemes, upper case, stray spaces and names in any script are what people type. Everything that
/// is not the address of a website is refused with one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteUrl {
    url: Url,
    scheme_given: bool,
}

/// Why a text is not the address of a site.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SiteUrlError {
    /// Nothing was typed.
    #[error("there is no address; type one such as example.com")]
    Empty,
    /// Longer than any address.
    #[error("the address is longer than {MAX_ADDRESS_CHARS} characters")]
    TooLong,
    /// `ftp:`, `mailto:` and the like.
    #[error("“{0}:” is not a kind of address that can be followed; use http or https")]
    Scheme(String),
    /// A name or password.
    #[error("the address contains a name or password; leave out everything before the @")]
    Credentials,
    /// Characters on which programs disagree.
    #[error("the address contains a backslash or a control character; type it again without")]
    Characters,
    /// No host name can be seen in it.
    #[error("“{0}” is not the address of a website; type one such as example.com")]
    NotAnAddress(String),
}

impl SiteUrl {
    /// Reads what a person typed.
    pub fn parse(text: &str) -> Result<SiteUrl, SiteUrlError> {
        let typed = text
            .trim()
            .trim_matches(['<', '>', '"', '\'', '“', '”'])
            .trim();
        if typed.is_empty() {
            return Err(SiteUrlError::Empty);
        }
        if typed.chars().count() > MAX_ADDRESS_CHARS {
            return Err(SiteUrlError::TooLong);
        }
        if typed.contains(|character: char| character == '\\' || character.is_control()) {
            return Err(SiteUrlError::Characters);
        }
        let not_an_address = || SiteUrlError::NotAnAddress(typed.chars().take(80).collect());
        let scheme_given = match typed.split_once(':') {
            Some((scheme, _)) if is_web(scheme) => true,
            // A host with a port looks like a scheme; a scheme is not followed by digits.
            Some((scheme, rest)) if is_scheme(scheme) && !begins_with_port(rest) => {
                return Err(SiteUrlError::Scheme(scheme.to_ascii_lowercase()));
            }
            _ => false,
        };
        let whole = match scheme_given {
            true => typed.to_owned(),
            false => format!("https://{}", typed.trim_start_matches('/')),
        };
        // The parser forgives `https:example.com`, and so do we; it forgives no space in a host name.
        let mut url = Url::parse(&whole).map_err(|_| not_an_address())?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(SiteUrlError::Credentials);
        }
        let host = url.host_str().ok_or_else(not_an_address)?;
        if let Some(bare) = host.strip_suffix('.').map(str::to_owned) {
            url.set_host(Some(&bare)).map_err(|_| not_an_address())?;
        }
        url.set_fragment(None);
        Ok(SiteUrl { url, scheme_given })
    }

    /// What was read before and kept.
    pub fn kept(url: Url, scheme_given: bool) -> SiteUrl {
        SiteUrl { url, scheme_given }
    }

    /// Whether the person said http or https.
    pub fn is_scheme_given(&self) -> bool {
        self.scheme_given
    }

    /// The address.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The same over plain http, if the person did not say https.
    pub fn over_http(&self) -> Option<SiteUrl> {
        let mut url = self.url.clone();
        (!self.scheme_given && url.set_scheme("http").is_ok()).then_some(SiteUrl {
            url,
            scheme_given: true,
        })
    }

    /// Whether this is a whole host, and not a page or a part of one.
    pub fn is_whole_host(&self) -> bool {
        self.url.path() == "/" && self.url.query().is_none()
    }

    /// An address at the root of the same host.
    pub fn at_root(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        url.set_path(path);
        url.set_query(None);
        url
    }
}

/// An address that is whole already.
impl From<&Url> for SiteUrl {
    fn from(url: &Url) -> Self {
        SiteUrl::kept(url.clone(), true)
    }
}

impl fmt::Display for SiteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.as_str())
    }
}

/// Whose server an address leads to: name and port; for an address literal, the address. Who is asked how often is
/// decided by it.
pub fn host_key(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let mut key = String::with_capacity(host.len() + ":65535".len());
    key.push_str(host);
    match url.port() {
        // As it stands in the address.
        Some(_) => key.push_str(&url[Position::AfterHost..Position::AfterPort]),
        None => key.push_str(match url.scheme() {
            "https" => ":443",
            "http" => ":80",
            _ => ":0",
        }),
    }
    key
}

fn is_web(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

fn begins_with_port(text: &str) -> bool {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    digits > 0
        && text[digits..]
            .chars()
            .next()
            .is_none_or(|next| matches!(next, '/' | '?' | '#'))
}

/// Whether two addresses are on the same site: the same host and port, with or without `www.`, over http or https.
pub fn same_site(one: &Url, other: &Url) -> bool {
    fn host(url: &Url) -> Option<&str> {
        let host = url.host_str()?;
        Some(host.strip_prefix("www.").unwrap_or(host))
    }
    host(one) == host(other) && one.port() == other.port()
}

/// Whether `inner` is the page `outer` or lies below it, on the same site.
pub fn is_below(inner: &Url, outer: &Url) -> bool {
    let above = outer.path().trim_end_matches('/');
    let rest = inner.path().strip_prefix(above);
    same_site(inner, outer) && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_lies_below_its_folder_and_not_below_a_name_that_begins_alike() {
        let below =
            |inner: &str, outer: &str| is_below(&inner.parse().unwrap(), &outer.parse().unwrap());
        assert!(below(
            "https://a.example/~fox/den",
            "http://a.example/~fox/"
        ));
        assert!(below("https://a.example/~fox", "https://a.example/~fox/"));
        assert!(below("https://a.example/~fox/", "https://a.example/"));
        assert!(!below(
            "https://a.example/~foxtrot/",
            "https://a.example/~fox"
        ));
        assert!(!below("https://b.example/~fox/", "https://a.example/"));
    }

    #[test]
    fn what_people_type_becomes_an_address() {
        for (typed, url) in [
            ("example.com", "https://example.com/"),
            ("  example.com \n", "https://example.com/"),
            ("Example.COM", "https://example.com/"),
            ("HTTP://Example.com/Fox", "http://example.com/Fox"),
            ("https:example.com", "https://example.com/"),
            ("//example.com/fox/", "https://example.com/fox/"),
            ("<https://example.com/fox>", "https://example.com/fox"),
            ("example.com:8080/x", "https://example.com:8080/x"),
            ("127.0.0.1:8080", "https://127.0.0.1:8080/"),
            ("[::1]:8080/x", "https://[::1]:8080/x"),
            ("example.com./fox", "https://example.com/fox"),
            ("example.com/fox den", "https://example.com/fox%20den"),
            ("example.com/fox#top", "https://example.com/fox"),
            ("example.com/?page=1", "https://example.com/?page=1"),
            ("bücher.example", "https://xn--bcher-kva.example/"),
            ("例え.テスト", "https://xn--r8jz45g.xn--zckzah/"),
        ] {
            assert_eq!(
                SiteUrl::parse(typed).map(|site| site.to_string()),
                Ok(url.into()),
                "{typed}"
            );
        }
    }

    #[test]
    fn everything_else_is_refused_with_one_sentence() {
        for (typed, part) in [
            ("", "there is no address"),
            ("  \t ", "there is no address"),
            ("ftp://example.com/", "“ftp:”"),
            ("mailto:me@example.com", "“mailto:”"),
            ("javascript:alert(1)", "“javascript:”"),
            ("file:///etc/passwd", "“file:”"),
            ("https://me:secret@example.com/", "name or password"),
            ("me@example.com", "name or password"),
            ("https://example.com\\@evil.example/", "backslash"),
            ("exam\nple.com", "control character"),
            ("exam ple.com", "not the address of a website"),
            ("https://", "not the address of a website"),
            ("http:///", "not the address of a website"),
            (&"x".repeat(3000), "longer than"),
        ] {
            let error = SiteUrl::parse(typed).expect_err(typed).to_string();
            assert!(error.contains(part), "{typed}: {error}");
            assert!(!error.contains("secret"));
        }
    }

    #[test]
    fn plain_http_is_tried_only_where_nobody_asked_for_https() {
        assert_eq!(
            SiteUrl::parse("example.com")
                .unwrap()
                .over_http()
                .unwrap()
                .to_string(),
            "http://example.com/"
        );
        assert_eq!(
            SiteUrl::parse("https://example.com").unwrap().over_http(),
            None
        );
    }

    #[test]
    fn a_site_is_the_same_with_and_without_www_and_https() {
        let same =
            |one: &str, other: &str| same_site(&one.parse().unwrap(), &other.parse().unwrap());
        assert!(same("https://www.example.com/a", "http://example.com/b"));
        assert!(!same("https://example.com/", "https://example.org/"));
        assert!(!same("https://example.com/", "https://example.com:8443/"));
    }
}
