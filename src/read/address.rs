//! Addresses in documents: made absolute, checked, and written as [`url::Url`] writes them.
//!
//! Only http and https without credentials come out, so that nothing later needs to ask again. Whether an address may
//! be fetched is a different question, and the fetcher's.

use url::{Position, Url};

use crate::text::MAX_ADDRESS_CHARS;
use crate::text::address::{is_plain_path, parse_near, path_at};

/// Why an address cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not an address at all.
    #[error("it is not an address")]
    NotAnAddress,
    /// Another scheme than http and https.
    #[error("it begins with {0}: and not with http: or https:")]
    Scheme(String),
    /// A name or password before the host.
    #[error("it contains a name or password")]
    Credentials,
    /// Longer than [`MAX_ADDRESS_CHARS`].
    #[error("it is longer than {MAX_ADDRESS_CHARS} characters")]
    TooLong,
}

/// Whether `text` is surely absolute, good, and written as it should be; [`resolve`] would leave it as it is.
fn is_whole(text: &str, base: &Url) -> bool {
    text.len() <= MAX_ADDRESS_CHARS && is_serialised(text, base)
}

/// The host of a document, for the thousands of addresses in it that are on the same one.
#[derive(Debug)]
pub struct Home {
    /// What addresses there begin with; nothing if pages cannot be there.
    head: Option<String>,
}

impl Home {
    /// The host of this address.
    pub fn of(base: &Url) -> Home {
        let head = base[..Position::BeforePath].to_owned();
        Home {
            head: has_plain_origin(base).then_some(head),
        }
    }

    /// Whether `text` is an address here that [`resolve`] would leave as it is. A no only means that it has to be asked.
    pub fn has(&self, text: &str) -> bool {
        let head = self.head.as_deref();
        let path = head.and_then(|head| text.strip_prefix(head));
        path.is_some_and(|path| {
            path.starts_with('/')
                && text.len() <= MAX_ADDRESS_CHARS
                && is_plain_path(path.as_bytes())
        })
    }
}

/// Makes `text` absolute, in place. Says whether it was relative.
pub fn resolve(text: &mut String, base: &Url) -> Result<bool, AddressError> {
    if is_whole(text, base) {
        return Ok(false);
    }
    if text.len() > MAX_ADDRESS_CHARS && text.chars().count() > MAX_ADDRESS_CHARS {
        return Err(AddressError::TooLong);
    }
    let (url, relative) = match Url::parse(text) {
        Ok(url) => (url, false),
        Err(url::ParseError::RelativeUrlWithoutBase) => (
            base.join(text).map_err(|_| AddressError::NotAnAddress)?,
            true,
        ),
        Err(_) => return Err(AddressError::NotAnAddress),
    };
    check(&url)?;
    text.clear();
    text.push_str(url.as_str());
    Ok(relative)
}

/// The same for a single address that is wanted as a [`Url`].
pub fn resolve_url(text: &str, base: &Url) -> Result<Url, AddressError> {
    let mut text = text.trim().to_owned();
    resolve(&mut text, base)?;
    parse_near(&text, base).ok_or(AddressError::NotAnAddress)
}

fn check(url: &Url) -> Result<(), AddressError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(AddressError::Scheme(
            url.scheme().chars().take(20).collect(),
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(AddressError::Credentials);
    }
    Ok(())
}

/// Whether `text` is surely a good address in the form in which [`Url`] would write it.
///
/// Nearly every address in a Change List is, and parsing it would take longer than reading the entry around it. A no
/// only means that the parser has to be asked.
fn is_serialised(text: &str, base: &Url) -> bool {
    // Mostly pages are where their list is, and of that host we know how it is written.
    if path_at(text, base).is_some() {
        return has_plain_origin(base);
    }
    let Some(rest) = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"))
    else {
        return false;
    };
    let bytes = rest.as_bytes();
    let Some(slash) = bytes.iter().position(|&byte| !is_host(byte)) else {
        return false;
    };
    is_plain_host(&bytes[..slash]) && bytes[slash] == b'/' && is_plain_path(&bytes[slash..])
}

/// Whether pages may be at the origin of `base`.
fn has_plain_origin(base: &Url) -> bool {
    check(base).is_ok() && base.has_host()
}

fn is_host(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.')
}

/// A name of ASCII labels that is neither an IPv4 address nor in need of IDNA.
fn is_plain_host(host: &[u8]) -> bool {
    let mut labels = host.split(|&byte| byte == b'.').peekable();
    while let Some(label) = labels.next() {
        let plain = !label.is_empty() && !label.windows(2).any(|pair| pair == b"--");
        let last_is_a_word =
            labels.peek().is_some() || label.first().is_some_and(u8::is_ascii_lowercase);
        if !plain || !last_is_a_word {
            return false;
        }
    }
    host.len() <= 253
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn base() -> Url {
        "https://s.example/fox/list.xml".parse().unwrap()
    }

    fn resolved(text: &str) -> Result<(String, bool), AddressError> {
        let mut text = text.to_owned();
        let relative = resolve(&mut text, &base())?;
        Ok((text, relative))
    }

    #[test]
    fn relative_addresses_are_completed_and_told_apart() {
        for (text, url) in [
            ("den.html", "https://s.example/fox/den.html"),
            ("/den.html", "https://s.example/den.html"),
            ("//cdn.example/x", "https://cdn.example/x"),
            ("?page=2", "https://s.example/fox/list.xml?page=2"),
            ("../owl/", "https://s.example/owl/"),
        ] {
            assert_eq!(resolved(text), Ok((url.into(), true)), "{text}");
        }
    }

    #[test]
    fn absolute_addresses_are_written_in_one_way() {
        for (text, url) in [
            ("HTTPS://S.Example:443", "https://s.example/"),
            ("http://s.example/a/../b/./c", "http://s.example/b/c"),
            ("http://s.example/%2e%2E/x", "http://s.example/x"),
            (
                "http://bücher.example/ü",
                "http://xn--bcher-kva.example/%C3%BC",
            ),
            ("http://127.1/", "http://127.0.0.1/"),
            (
                "http://s.example/a?b='c'#d",
                "http://s.example/a?b=%27c%27#d",
            ),
            ("http://s.example/a%20b", "http://s.example/a%20b"),
        ] {
            assert_eq!(resolved(text), Ok((url.into(), false)), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_a_page_is_refused_with_a_reason() {
        assert_eq!(
            resolved("javascript:alert(1)"),
            Err(AddressError::Scheme("javascript".into()))
        );
        assert_eq!(
            resolved("ftp://s.example/"),
            Err(AddressError::Scheme("ftp".into()))
        );
        assert_eq!(
            resolved("http://me:secret@s.example/"),
            Err(AddressError::Credentials)
        );
        assert_eq!(resolved("http://"), Err(AddressError::NotAnAddress));
        let long = format!("https://s.example/{}", "x".repeat(MAX_ADDRESS_CHARS));
        assert_eq!(resolved(&long), Err(AddressError::TooLong));
    }

    proptest! {
        #[test]
        fn the_short_cut_never_disagrees_with_the_parser(
            text in r"https?://[a-z0-9.-]{0,12}(\.[a-z0-9.-]{0,5})?(:[0-9]{1,3})?[/?#a-zA-Z0-9%.'|{}^@~!$&()*+,;=:_\[\] -]{0,30}",
            plain in r"https?://[a-z0-9]{1,6}(\.[a-z0-9-]{1,4}){0,3}/[a-z0-9./?%-]{0,20}",
        ) {
            for text in [text, plain] {
                for base in [base(), Url::parse(&text).unwrap_or_else(|_| base())] {
                    if !is_serialised(&text, &base) && !Home::of(&base).has(&text) {
                        continue;
                    }
                    let url = Url::parse(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
                    prop_assert_eq!(url.as_str(), text.as_str());
                    prop_assert_eq!(check(&url), Ok(()));
                }
            }
        }
    }

    #[test]
    fn the_usual_address_takes_the_short_cut() {
        assert!(is_serialised(
            "https://example.com/my-shrine/page-00017.html",
            &base()
        ));
        let odd = Url::parse("http://127.0.0.1:8080/list.xml").unwrap();
        assert!(is_serialised("http://127.0.0.1:8080/den/?a=b", &odd));
        assert!(!is_serialised("http://127.0.0.1:80/den/", &odd));
        assert!(!is_serialised("http://127.0.0.1:80801/", &odd));
        assert!(!is_serialised("http://127.0.0.1:8080/a/../b", &odd));
        assert!(is_serialised(
            "http://www.example.com/a_b/~c/?d=e&f=%20g",
            &base()
        ));
        assert!(!is_serialised("https://example.com", &base()));
        assert!(!is_serialised("https://1.2.3.4/", &base()));
        assert!(!is_serialised("https://xn--bcher-kva.example/", &base()));
    }
}
