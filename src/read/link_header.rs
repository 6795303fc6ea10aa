//! The `Link` header of a response (RFC 8288): links of a page that need no HTML.
//!
//! Forgiving, as the RFC asks: reading stops at the first thing that is not a link, and what came before it counts.
//! Links about another page (`anchor`) are dropped, because a page may only speak for itself here.

use percent_encoding::percent_decode_str;
use url::Url;

use super::address;
use super::link::{self, Link};
use crate::text::clean;

/// Most links kept from one header value; the head of a response is bounded, this bounds what is made of it.
const MAX_LINKS: usize = 100;

/// The links in the value of one `Link` header of the page at `base`.
pub fn parse(value: &str, base: &Url) -> Vec<Link> {
    let mut links = Vec::new();
    let mut rest = value;
    while links.len() < MAX_LINKS {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let Some((target, after)) = rest.strip_prefix('<').and_then(|open| open.split_once('>'))
        else {
            break;
        };
        let (parameters, after) = parameters(after);
        links.extend(link(target, &parameters, base));
        // Whatever stands between the last parameter and the next comma belongs to no link.
        rest = after.find(',').map_or("", |comma| &after[comma..]);
    }
    links
}

fn link(target: &str, parameters: &[(String, String)], base: &Url) -> Option<Link> {
    // The first of each name counts; RFC 8288 says so for `rel` and leaves no reason to differ for the others.
    let parameter = |name: &str| {
        parameters
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    };
    if let Some(anchor) = parameter("anchor") {
        let anchor = base.join(anchor).ok()?;
        if without_fragment(&anchor) != without_fragment(base) {
            return None;
        }
    }
    let rels = link::rels(parameter("rel")?);
    if rels.is_empty() {
        return None;
    }
    Some(Link {
        rels,
        href: address::resolve_url(target, base).ok()?,
        media_type: parameter("type").and_then(link::media_type),
        title: parameter("title*")
            .and_then(extended_value)
            .or_else(|| parameter("title").map(str::to_owned))
            .and_then(|title| clean::title(&title)),
    })
}

fn without_fragment(url: &Url) -> &str {
    url.as_str().split('#').next().unwrap_or_default()
}

/// The parameters after a target, names in lower case, and what follows the last of them.
fn parameters(mut rest: &str) -> (Vec<(String, String)>, &str) {
    let mut parameters = Vec::new();
    loop {
        rest = skip_space(rest);
        let Some(after) = rest.strip_prefix(';') else {
            return (parameters, rest);
        };
        let (name, after) = token(skip_space(after), &[' ', '\t', '=', ';', ',']);
        rest = skip_space(after);
        let mut value = String::new();
        if let Some(after) = rest.strip_prefix('=') {
            let after = skip_space(after);
            (value, rest) = match after.strip_prefix('"') {
                Some(quoted) => quoted_string(quoted),
                None => {
                    let (word, after) = token(after, &[';', ',']);
                    (word.trim_end().to_owned(), after)
                }
            };
        }
        if !name.is_empty() {
            parameters.push((name.to_ascii_lowercase(), value));
        }
    }
}

fn skip_space(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

fn token<'a>(text: &'a str, ends: &[char]) -> (&'a str, &'a str) {
    text.split_at(text.find(ends).unwrap_or(text.len()))
}

/// The inside of a quoted string, given what follows its opening quote. A missing closing quote ends at the end.
fn quoted_string(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => value.extend(chars.next()),
            _ => value.push(c),
        }
    }
    (value, chars.as_str())
}

/// A value in the form `UTF-8'en'f%C3%BCr` (RFC 8187), the one encoding that senders must use.
fn extended_value(value: &str) -> Option<String> {
    let mut parts = value.splitn(3, '\'');
    let charset = parts.next()?;
    let text = parts.nth(1)?;
    if !charset.eq_ignore_ascii_case("utf-8") {
        return None;
    }
    let text = percent_decode_str(text).decode_utf8().ok()?;
    Some(text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn base() -> Url {
        Url::parse("https://example.com/den/page?x=1").unwrap()
    }

    fn hrefs(value: &str) -> Vec<String> {
        parse(value, &base())
            .iter()
            .map(|link| link.href.to_string())
            .collect()
    }

    #[test]
    fn an_empty_header_has_no_links() {
        assert!(parse("", &base()).is_empty());
        assert!(parse(" , ,", &base()).is_empty());
    }

    #[test]
    fn a_link_has_its_relations_type_and_title() {
        let links = parse(
            "</about.xml>; REL=\"DescribedBy  meta\"; type=\"application/rdf+xml; q=1\"; title=Foxes",
            &base(),
        );
        assert_eq!(links.len(), 1);
        assert_eq!(links[0].href.as_str(), "https://example.com/about.xml");
        assert_eq!(links[0].rels, ["describedby", "meta"]);
        assert!(links[0].has_rel("describedby"));
        assert_eq!(links[0].media_type.as_deref(), Some("application/rdf+xml"));
        assert_eq!(links[0].title.as_deref(), Some("Foxes"));
    }

    #[test]
    fn several_links_in_one_header_are_all_read() {
        assert_eq!(
            hrefs("<a>;rel=a, <b>; rel=\"b\" ,<../c>;rel=c;"),
            [
                "https://example.com/den/a",
                "https://example.com/den/b",
                "https://example.com/c"
            ]
        );
    }

    #[test]
    fn commas_semicolons_and_escaped_quotes_in_quotes_end_nothing() {
        let links = parse(
            r#"<a>; title="one, \"two\"; <x>; rel=evil"; rel="up", <b,c;d>; rel=next"#,
            &base(),
        );
        assert_eq!(links.len(), 2);
        assert_eq!(
            links[0].title.as_deref(),
            Some("one, \"two\"; <x>; rel=evil")
        );
        assert_eq!(links[0].rels, ["up"]);
        assert_eq!(links[1].href.as_str(), "https://example.com/den/b,c;d");
    }

    #[test]
    fn the_first_rel_counts() {
        let links = parse("<a>; rel=first; rel=second", &base());
        assert_eq!(links[0].rels, ["first"]);
    }

    #[test]
    fn a_link_without_a_relation_is_dropped() {
        assert!(hrefs("<a>, <b>; rel, <c>; rel=\"\", <d>; rev=up").is_empty());
    }

    #[test]
    fn a_link_about_another_page_is_dropped() {
        assert_eq!(
            hrefs(
                "<a>;rel=up;anchor=\"https://other.example/\", <b>;rel=up;anchor=\"#top\", \
                 <c>;rel=up;anchor=\"/den/page\", <d>;rel=up;anchor=\"\""
            ),
            ["https://example.com/den/b", "https://example.com/den/d"]
        );
    }

    #[test]
    fn only_web_addresses_are_targets() {
        assert!(
            hrefs("<javascript:alert(1)>;rel=up, <file:///x>;rel=up, <//ann:pw@x.example/>;rel=up, <data:,x>;rel=up").is_empty()
        );
        assert!(hrefs(&format!("<{}>;rel=up", "a".repeat(5_000))).is_empty());
    }

    #[test]
    fn an_extended_title_wins_over_a_plain_one() {
        let links = parse("<a>;rel=up;title=\"fur\";title*=UTF-8'de'f%C3%BCr", &base());
        assert_eq!(links[0].title.as_deref(), Some("für"));
        let links = parse("<a>;rel=up;title=\"fur\";title*=latin1'de'f%FCr", &base());
        assert_eq!(links[0].title.as_deref(), Some("fur"));
    }

    #[test]
    fn reading_stops_at_garbage_and_keeps_what_came_before() {
        assert_eq!(
            hrefs("<a>;rel=up, nonsense, <b>;rel=up"),
            ["https://example.com/den/a"]
        );
        assert!(hrefs("<a;rel=up").is_empty());
        assert_eq!(hrefs("<a>;rel=\"up").len(), 1);
    }

    proptest! {
        #[test]
        fn no_header_makes_it_panic(value in ".*") {
            parse(&value, &base());
        }

        #[test]
        fn no_arrangement_of_delimiters_makes_it_panic(value in "[<>;,=\"\\\\ a*'%#é]{0,60}") {
            for link in parse(&value, &base()) {
                prop_assert!(!link.rels.is_empty());
            }
        }
    }
}
