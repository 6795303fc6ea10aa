//! An address as a person would say it: the last resort for a title.
//!
//! For reading only, never for fetching: it leaves out scheme, credentials, query and fragment.

use icu_properties::{CodePointMapData, props::Script};
use idna::uts46::{AsciiDenyList, Hyphens, Uts46};
use percent_encoding::percent_decode_str;
use url::{Host, Url};

use crate::text::clean;

/// Letters of other alphabets that pass for Latin ones. A name made of nothing else is meant to deceive.
const LATIN_LOOKALIKES: &str = "асԁеһіјӏорԛѕԝхуьᴦгпνορτυωαικ";

/// `example.com/fox den` for `https://www.example.com/fox%20den/index.html`.
pub fn readable_address(url: &Url) -> String {
    let host = match url.host() {
        Some(Host::Domain(domain)) => readable_domain(domain),
        _ => url.host_str().unwrap_or_default().to_owned(),
    };
    let mut address = match host.strip_prefix("www.") {
        Some(rest) if rest.contains('.') => rest.to_owned(),
        _ => host,
    };
    if let Some(port) = url.port() {
        address.push_str(&format!(":{port}"));
    }
    let mut segments: Vec<&str> = url
        .path_segments()
        .into_iter()
        .flatten()
        .filter(|segment| !segment.is_empty())
        .collect();
    if let Some(last) = segments.pop() {
        segments.extend(without_extension(last));
    }
    for segment in segments {
        address.push('/');
        address.push_str(&readable_segment(segment));
    }
    clean::title(&address).unwrap_or_default()
}

/// The name of a document of a site: `maps/stories.xml` for `https://example.com/maps/stories.xml`, with its host where that is
/// another one, and with its query where it is made of that.
pub fn readable_name(url: &Url, site: &Url) -> String {
    let segments = url.path_segments().into_iter().flatten();
    let mut segments: Vec<String> = segments
        .filter(|segment| !segment.is_empty())
        .map(readable_segment)
        .collect();
    let is_ours = url.host_str() == site.host_str() && url.port() == site.port();
    if !is_ours {
        segments.insert(0, readable_address(&host_only(url)));
    }
    let mut name = segments.join("/");
    if let Some(query) = url.query() {
        name = format!("{name}?{}", readable_segment(query));
    }
    clean::title(&name).unwrap_or_else(|| readable_address(url))
}

fn host_only(url: &Url) -> Url {
    let mut host = url.clone();
    host.set_path("/");
    host
}

/// The same for an address as [`Url`] writes it; nothing if it is none. A feed has very many, and nearly all are plain.
pub fn readable(address: &str) -> Option<String> {
    let slowly = || Some(readable_address(&Url::parse(address).ok()?));
    plain(address).or_else(slowly)
}

/// An address in which there is nothing to decode, to leave out or to doubt, but for what every address has.
fn plain(address: &str) -> Option<String> {
    let rest = address.strip_prefix("https://");
    let rest = rest.or_else(|| address.strip_prefix("http://"))?;
    let (host, path) = rest.split_at(rest.find('/')?);
    let in_host = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
    let in_path = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    let top = host.rsplit('.').next().unwrap_or_default();
    let is_plain = host.bytes().all(in_host)
        && top.starts_with(|letter: char| letter.is_ascii_lowercase())
        && !host.contains("xn--")
        && path.bytes().all(in_path)
        && !path.contains("/.")
        && rest.len() <= clean::MAX_TITLE_CHARS;
    if !is_plain {
        return None;
    }
    let mut address = String::with_capacity(rest.len());
    address.push_str(match host.strip_prefix("www.") {
        Some(rest) if rest.contains('.') => rest,
        _ => host,
    });
    let (folders, last) = path
        .trim_end_matches('/')
        .rsplit_once('/')
        .unwrap_or_default();
    let folders = folders.split('/').filter(|segment| !segment.is_empty());
    for segment in folders.chain(without_extension(last).filter(|_| !last.is_empty())) {
        address.push('/');
        address.push_str(segment);
    }
    Some(address)
}

/// A file name without the ending that says only that it is a page; nothing at all for `index.html`.
fn without_extension(name: &str) -> Option<&str> {
    let stem = [".html", ".htm", ".xhtml"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(name);
    match stem {
        "index" if stem.len() < name.len() => None,
        "" => Some(name),
        _ => Some(stem),
    }
}

/// A part of an address in its own letters, if those are all there is in it.
pub fn readable_segment(segment: &str) -> String {
    let decoded = percent_decode_str(segment).decode_utf8();
    match decoded {
        Ok(text)
            if clean::title(&text).as_deref() == Some(&*text)
                && !text.contains(['/', '\\', '?', '#', '%']) =>
        {
            text.into_owned()
        }
        _ => segment.to_owned(),
    }
}

/// A domain in its own letters where no label mixes alphabets, else as it is on the wire.
fn readable_domain(domain: &str) -> String {
    let (readable, result) = Uts46::new().to_user_interface(
        domain.as_bytes(),
        AsciiDenyList::URL,
        Hyphens::Allow,
        |label, tld, _| is_honest(label, tld),
    );
    match result {
        Ok(()) => readable.into_owned(),
        Err(_) => domain.to_owned(),
    }
}

/// Whether a label may be shown in its own letters: one writing system, and not one that plays another.
fn is_honest(label: &[char], tld: &[char]) -> bool {
    let script_of = CodePointMapData::<Script>::new();
    let mut scripts: Vec<Script> = Vec::new();
    for script in label.iter().map(|c| script_of.get(*c)) {
        // Japanese is written in three scripts at once, which nobody confuses with anything.
        let script = match script {
            Script::Hiragana | Script::Katakana => Script::Han,
            other => other,
        };
        if script != Script::Common && script != Script::Inherited && !scripts.contains(&script) {
            scripts.push(script);
        }
    }
    match scripts[..] {
        // Phonetic and other rare Latin letters look like everyday ones.
        [Script::Latin] => label
            .iter()
            .all(|c| matches!(c, '\0'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')),
        [Script::Cyrillic | Script::Greek] => {
            let mimics = label
                .iter()
                .all(|c| c.is_ascii() || LATIN_LOOKALIKES.contains(*c));
            // Under a domain of the same alphabet nobody expects Latin letters.
            !(mimics && tld.iter().all(char::is_ascii))
        }
        [_] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readable(address: &str) -> String {
        readable_address(&Url::parse(address).unwrap())
    }

    #[test]
    fn the_short_way_leads_to_the_same_place() {
        let hosts = [
            "example.com",
            "www.example.com",
            "www.com",
            "a-b.example",
            "1.example",
            "xn--fiq228c.example",
            "127.0.0.1",
            "example.com:8443",
            "ann@example.com",
            "[::1]",
            "localhost",
        ];
        let paths = [
            "/",
            "/a",
            "/a/",
            "/a//b",
            "//a///b//",
            "/index.html",
            "/fox/index.html/",
            "/fox/index",
            "/fox/den.htm",
            "/.html",
            "/a/.html",
            "/a.html/b.xhtml",
            "/...",
            "/My_Fox-2/DEN.HTML",
            "/fox%20den",
            "/a?b=c",
            "/a#b",
            "/a~b",
        ];
        let long = format!("/{}", "abc/".repeat(100));
        let mut plain_ones = 0;
        for host in hosts {
            for path in paths.into_iter().chain([&*long]) {
                for scheme in ["http", "https"] {
                    let url = Url::parse(&format!("{scheme}://{host}{path}")).unwrap();
                    let expected = readable_address(&url);
                    assert_eq!(super::readable(url.as_str()), Some(expected), "{url}");
                    plain_ones += usize::from(plain(url.as_str()).is_some());
                }
            }
        }
        assert!(plain_ones > 100, "{plain_ones} take it");
        assert_eq!(super::readable("fox"), None);
        assert_eq!(plain("https://"), None);
        assert_eq!(plain("https:///fox"), None);
    }

    #[test]
    fn a_plain_address_loses_its_furniture() {
        for (address, expected) in [
            ("https://example.com/", "example.com"),
            ("http://www.example.com", "example.com"),
            ("https://www.com/", "www.com"),
            ("https://example.com:8443/a", "example.com:8443/a"),
            ("https://ann:secret@example.com/?q=1#x", "example.com"),
            ("https://example.com/fox%20den/", "example.com/fox den"),
            (
                "https://example.com/my-fox_den/index.html",
                "example.com/my-fox_den",
            ),
            ("https://example.com/den.html", "example.com/den"),
            ("https://example.com/index", "example.com/index"),
            ("https://example.com/.html", "example.com/.html"),
            ("https://example.com//a//b", "example.com/a/b"),
            ("http://127.0.0.1/x", "127.0.0.1/x"),
            ("http://[::1]/x", "[::1]/x"),
        ] {
            assert_eq!(readable(address), expected, "{address}");
        }
    }

    #[test]
    fn a_path_is_shown_in_its_own_letters() {
        assert_eq!(readable("https://example.com/狐/巣"), "example.com/狐/巣");
    }

    #[test]
    fn what_cannot_be_read_stays_encoded() {
        for path in [
            "/a%FFb",
            "/a%2Fb",
            "/a%00b",
            "/a%E2%80%AEb",
            "/a%0Ab",
            "/a%2525",
        ] {
            assert_eq!(
                readable(&format!("https://example.com{path}")),
                format!("example.com{path}")
            );
        }
    }

    #[test]
    fn a_domain_in_one_alphabet_is_shown_in_it() {
        assert_eq!(readable("https://bücher.example/"), "bücher.example");
        assert_eq!(readable("https://例え.jp/"), "例え.jp");
        assert_eq!(readable("https://лисица.example/"), "лисица.example");
    }

    #[test]
    fn a_domain_that_mixes_or_mimics_alphabets_is_shown_as_on_the_wire() {
        // Cyrillic а among Latin letters; then a word all of Cyrillic letters that look Latin.
        assert!(readable("https://pаypal.example/").starts_with("xn--"));
        assert!(readable("https://аре.example/").starts_with("xn--"));
        assert!(readable("https://ɡoogle.example/").starts_with("xn--"));
    }

    #[test]
    fn a_long_address_is_cut() {
        let address = readable(&format!("https://example.com/{}", "a".repeat(2_000)));
        assert_eq!(address.chars().count(), clean::MAX_TITLE_CHARS);
    }
}
