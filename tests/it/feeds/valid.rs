//! What RFC 4287, RFC 4151 and RFC 5005 demand of a feed, and what the W3C's validator warns of, as rules over the parsed
//! document. That validator is in no registry that the tests could install it from; a general one holds every feed
//! against the grammar of RFC 4287 as well ([`parsers`]).
//!
//! Every feed that comes out of [`crate::world::World::ask`] goes through [`answered`], so that none escapes.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use html5gum::{Token, Tokenizer};
use serde_json::Value;
use sha2::{Digest, Sha256};
use url::Url;

use super::parsers;
use super::tree::{self, Node};
use crate::ask::Answered;

const ATOM: &str = "http://www.w3.org/2005/Atom";
const HISTORY: &str = "http://purl.org/syndication/history/1.0";
const HISTORY_RELS: [&str; 7] = [
    "current",
    "first",
    "last",
    "next",
    "next-archive",
    "prev-archive",
    "previous",
];
const OTHER_RELS: [&str; 5] = ["alternate", "describedby", "related", "self", "via"];

/// Holds an answer against the rules, if it is a feed: its address is known, and so is the present.
pub fn answered(answer: &Answered, address: &str, now: DateTime<Utc>) {
    let media_type = answer.header("content-type").unwrap_or_default();
    let is_atom = ["application/atom+xml", "application/xml"]
        .iter()
        .any(|known| media_type.starts_with(known));
    let is_json = media_type.starts_with("application/feed+json");
    if answer.status != 200 || answer.body.is_empty() || !(is_atom || is_json) {
        return;
    }
    assert!(media_type.ends_with("; charset=utf-8"), "{media_type}");
    let body = decoded(answer);
    let text = std::str::from_utf8(&body).expect("a feed is UTF-8");
    // What was good once stays good, and many tests ask for the same again and again.
    static GOOD: Mutex<BTreeSet<[u8; 32]>> = Mutex::new(BTreeSet::new());
    let good = || GOOD.lock().unwrap_or_else(PoisonError::into_inner);
    let hash: [u8; 32] = Sha256::digest(format!("{address}\n{is_atom}\n{text}")).into();
    if good().contains(&hash) {
        return;
    }
    match is_atom {
        true => atom(text, Some(address), now),
        false => json(text, address),
    }
    good().insert(hash);
}

fn decoded(answer: &Answered) -> Vec<u8> {
    let mut body = Vec::new();
    match answer.header("content-encoding") {
        None => body.clone_from(&answer.body),
        Some("gzip") => {
            let mut gzip = flate2::read::GzDecoder::new(&answer.body[..]);
            gzip.read_to_end(&mut body).unwrap();
        }
        Some("br") => brotli::BrotliDecompress(&mut &answer.body[..], &mut body).unwrap(),
        Some(other) => panic!("{other} is no coding of ours"),
    }
    body
}

/// Holds an Atom document against the rules, and has it read by every parser.
pub fn atom(text: &str, address: Option<&str>, now: DateTime<Utc>) {
    let mut rules = Rules {
        now,
        broken: Vec::new(),
    };
    rules.document(text);
    let feed = tree::parse(text);
    rules.feed(&feed, address);
    assert!(rules.broken.is_empty(), "{:#?}\n{text}", rules.broken);
    parsers::read(text, &feed);
}

struct Rules {
    now: DateTime<Utc>,
    broken: Vec<String>,
}

impl Rules {
    fn hold(&mut self, is_kept: bool, rule: impl FnOnce() -> String) {
        if !is_kept {
            self.broken.push(rule());
        }
    }

    fn document(&mut self, text: &str) {
        let declaration = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";
        self.hold(text.starts_with(declaration), || {
            "it says that it is UTF-8".into()
        });
        self.hold(text.len() < 500_000, || format!("{} bytes", text.len()));
        // XML 1.0, 2.2; and what the validator calls bad: C1 controls and replacement characters.
        let is_bad = |c: &char| {
            (*c < ' ' && !"\t\n\r".contains(*c))
                || ('\u{7f}'..='\u{9f}').contains(c)
                || matches!(c, '\u{fffd}'..='\u{ffff}')
        };
        let bad: Vec<char> = text.chars().filter(is_bad).collect();
        self.hold(bad.is_empty(), || format!("characters {bad:?}"));
        for name in ["xml:base", "xmlns:atom"] {
            self.hold(!text.contains(name), || format!("{name} is not needed"));
        }
    }

    fn feed(&mut self, feed: &Node, address: Option<&str>) {
        self.hold(feed.name == "feed", || format!("the root is {}", feed.name));
        self.hold(feed.attribute("xmlns") == Some(ATOM), || {
            "the namespace of Atom".into()
        });
        for (name, value) in &feed.attributes {
            match name.as_str() {
                "xmlns" => {}
                "xmlns:fh" => self.hold(value == HISTORY, || "the namespace of RFC 5005".into()),
                "xml:lang" => self.language(value),
                _ => self.broken.push(format!("the attribute {name}")),
            }
        }
        let known = [
            "author",
            "entry",
            "fh:archive",
            "generator",
            "id",
            "link",
            "rights",
            "subtitle",
            "title",
            "updated",
        ];
        self.children(feed, &known);
        // 4.1.1: what is about the feed comes before its entries, for readers that stop at what they know.
        let first = feed.children.iter().position(|child| child.name == "entry");
        let after = &feed.children[first.unwrap_or(feed.children.len())..];
        let mut after = after.iter().filter(|child| !child.name.contains(':'));
        self.hold(after.all(|child| child.name == "entry"), || {
            "something follows the entries".into()
        });
        self.metadata(feed);
        let generator = feed
            .one("generator")
            .map(|generator| generator.text.as_str());
        self.hold(generator == Some("Sitebell"), || {
            format!("generator {generator:?}")
        });
        self.links(feed, true);
        let rel = |rel: &str| link(feed, rel);
        // A feed that is printed has no address, so it cannot name it.
        if let Some(address) = address {
            self.hold(rel("self") == Some(address), || {
                format!("it calls itself {:?} at {address}", rel("self"))
            });
        }
        if feed.one("fh:archive").is_some() {
            self.hold(
                rel("current").is_some() && rel("current") != rel("self"),
                || "an archive names the feed that it is of".into(),
            );
            let neighbours = ["prev-archive", "next-archive"];
            self.hold(neighbours.iter().any(|name| rel(name).is_some()), || {
                "an archive has a neighbour".into()
            });
        } else {
            self.hold(
                rel("current").is_none() && rel("next-archive").is_none(),
                || "it is no archive".into(),
            );
        }
        // RFC 5005, 3: a document that is one of several says so, the last one too.
        let is_later = address.is_some_and(|address| {
            let queries = ["?before=", "&before=", "?after=", "&after="];
            queries.iter().any(|query| address.contains(query))
        });
        let is_paged = is_later || rel("next").is_some();
        self.hold(is_paged == rel("first").is_some(), || {
            format!("a page that calls {:?} the first", rel("first"))
        });
        self.hold(!is_later || rel("first") != rel("self"), || {
            "a later page is not the first".into()
        });
        self.hold(!is_paged || rel("prev-archive").is_none(), || {
            "it is paged or archived, not both".into()
        });
        self.entries(feed);
    }

    fn entries(&mut self, feed: &Node) {
        let mut ids: BTreeSet<&str> = feed.one("id").iter().map(|id| id.text.as_str()).collect();
        let mut times: Vec<DateTime<Utc>> = Vec::new();
        for entry in feed.all("entry") {
            self.entry(entry);
            if let Some(id) = entry.one("id") {
                self.hold(ids.insert(&id.text), || {
                    format!("{} is there twice", id.text)
                });
            }
            times.extend(entry.one("updated").and_then(|time| instant(&time.text)));
        }
        self.hold(times.is_sorted_by(|one, other| one > other), || {
            "entries have times of their own, newest first".into()
        });
        if let (Some(newest), Some(updated)) = (times.first(), feed.one("updated")) {
            self.hold(instant(&updated.text) == Some(*newest), || {
                format!("updated {} and the newest entry {newest}", updated.text)
            });
        }
    }

    fn entry(&mut self, entry: &Node) {
        self.hold(entry.attributes.is_empty(), || {
            format!("{:?}", entry.attributes)
        });
        let known = [
            "category", "content", "id", "link", "source", "title", "updated",
        ];
        self.children(entry, &known);
        self.metadata(entry);
        self.links(entry, false);
        let alternates = entry
            .all("link")
            .filter(|link| link.attribute("rel") == Some("alternate"));
        let count = alternates.count();
        self.hold(count == 1, || format!("an entry with {count} alternates"));
        let mut terms = BTreeSet::new();
        for category in entry.all("category") {
            let term = category.attribute("term").unwrap_or_default();
            let is_good = !term.trim().is_empty() && terms.insert(term);
            self.hold(is_good, || format!("the category “{term}”"));
        }
        let kinds = ["created", "updated", "deleted"];
        self.hold(kinds.iter().any(|kind| terms.contains(kind)), || {
            "an entry that does not tell its kind".into()
        });
        self.once(entry, "content", true);
        if let Some(content) = entry.one("content") {
            let kind = content.attribute("type");
            self.hold(kind == Some("html"), || format!("content of type {kind:?}"));
            self.hold(content.attribute("src").is_none(), || {
                "content elsewhere".into()
            });
            self.hold(!content.text.trim().is_empty(), || "empty content".into());
            let elements = ["a", "br", "h2", "li", "p", "span", "time", "ul"];
            self.html(&content.text, &elements);
        }
        self.once(entry, "source", false);
        if let Some(source) = entry.one("source") {
            let known = [
                "author", "id", "link", "rights", "subtitle", "title", "updated",
            ];
            self.children(source, &known);
            self.metadata(source);
            self.links(source, false);
            self.hold(source.one("author").is_some(), || {
                "a source without author".into()
            });
        }
    }

    /// What feeds, entries and sources have in common (4.1.1, 4.1.2, 4.2.11).
    fn metadata(&mut self, node: &Node) {
        for name in ["id", "title", "updated"] {
            self.once(node, name, true);
        }
        for name in ["generator", "rights", "subtitle", "fh:archive"] {
            self.once(node, name, false);
        }
        let text = |name: &str| node.one(name).map_or("", |child| child.text.as_str());
        self.tag(text("id"));
        self.time(text("updated"));
        for name in ["title", "subtitle", "rights"] {
            if let Some(words) = node.one(name) {
                self.words(words);
            }
        }
        if node.name == "feed" {
            self.hold(node.one("author").is_some(), || {
                "a feed without author".into()
            });
        }
        for author in node.all("author") {
            self.children(author, &["name", "uri", "email"]);
            self.once(author, "name", true);
            let name = author.one("name").map_or("", |name| name.text.as_str());
            self.hold(!name.trim().is_empty(), || "a person without a name".into());
            self.no_markup(name);
            self.hold(!(name.contains('@') && name.contains('.')), || {
                format!("“{name}” is an address")
            });
        }
    }

    /// Text constructs (3.1): what looks like markup must say so.
    fn words(&mut self, node: &Node) {
        self.hold(!node.text.trim().is_empty(), || {
            format!("an empty {}", node.name)
        });
        match node.attribute("type").unwrap_or("text") {
            "text" => self.no_markup(&node.text),
            "html" => self.html(&node.text, &[]),
            other => self.broken.push(format!("{} of type {other}", node.name)),
        }
    }

    fn no_markup(&mut self, text: &str) {
        let mut ends = text.match_indices("</").map(|(at, _)| &text[at + 2..]);
        let has_tag = ends.any(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
        let mut references = text.match_indices('&').map(|(at, _)| &text[at + 1..]);
        let has_reference = references.any(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '#');
            end.is_some_and(|end| end > 0 && rest[end..].starts_with(';'))
        });
        self.hold(!has_tag && !has_reference, || {
            format!("“{text}” is markup, or looks so")
        });
    }

    /// HTML with these elements and nothing else, well nested, harmless, with whole addresses.
    fn html(&mut self, html: &str, allowed: &[&str]) {
        let mut open: Vec<String> = Vec::new();
        for token in Tokenizer::new(html) {
            let Ok(token) = token;
            match token {
                Token::StartTag(tag) => {
                    let name = String::from_utf8_lossy(&tag.name).into_owned();
                    self.hold(allowed.contains(&name.as_str()), || {
                        format!("<{name}> in {html}")
                    });
                    for (attribute, value) in &tag.attributes {
                        let attribute = String::from_utf8_lossy(attribute);
                        let value = String::from_utf8_lossy(value);
                        match (name.as_str(), &*attribute) {
                            ("a", "href") => self
                                .hold(Url::parse(&value).is_ok_and(|url| url.has_host()), || {
                                    format!("the address {value}")
                                }),
                            ("time", "datetime") => {}
                            ("span", "lang") => self.language(&value),
                            _ => self.broken.push(format!("<{name} {attribute}>")),
                        }
                    }
                    if name != "br" {
                        open.push(name);
                    }
                }
                Token::EndTag(tag) => {
                    let name = String::from_utf8_lossy(&tag.name);
                    let last = open.pop();
                    self.hold(last.as_deref() == Some(&*name), || {
                        format!("</{name}> in {html}")
                    });
                }
                Token::String(_) => {}
                other => self.broken.push(format!("{other:?} in {html}")),
            }
        }
        self.hold(open.is_empty(), || format!("{open:?} stay open in {html}"));
    }

    fn links(&mut self, node: &Node, is_feed: bool) {
        let mut alternates = BTreeSet::new();
        for link in node.all("link") {
            let known = ["rel", "href", "type"];
            for name in link.attributes.keys() {
                self.hold(known.contains(&name.as_str()), || {
                    format!("{name} of a link")
                });
            }
            self.hold(link.text.is_empty() && link.children.is_empty(), || {
                "a link with something in it".into()
            });
            let rel = link.attribute("rel").unwrap_or_default();
            let is_history = HISTORY_RELS.contains(&rel);
            self.hold(is_history || OTHER_RELS.contains(&rel), || {
                format!("rel {rel}")
            });
            self.hold(!is_history || is_feed, || {
                format!("rel {rel} in an {}", node.name)
            });
            self.address(link.attribute("href").unwrap_or_default());
            let media_type = link.attribute("type");
            if let Some(media_type) = media_type {
                let is_one = media_type.split_once('/').is_some_and(|(one, two)| {
                    let is_token = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
                    one.chars().all(is_token) && two.chars().all(is_token)
                });
                self.hold(is_one, || format!("the media type {media_type}"));
            }
            if rel == "self" {
                self.hold(media_type == Some("application/atom+xml"), || {
                    format!("itself as {media_type:?}")
                });
            }
            if rel == "alternate" {
                self.hold(alternates.insert(media_type), || {
                    format!("two alternates as {media_type:?}")
                });
            }
        }
        for rel in HISTORY_RELS.iter().chain(&["self", "via", "describedby"]) {
            let links = node
                .all("link")
                .filter(|link| link.attribute("rel") == Some(rel));
            let count = links.count();
            self.hold(count <= 1, || format!("{count} times rel {rel}"));
        }
        if is_feed {
            self.hold(!alternates.is_empty(), || "a feed without alternate".into());
        }
    }

    /// RFC 3986 as a whole, with brackets for the host alone.
    fn address(&mut self, text: &str) {
        let is_whole = Url::parse(text).is_ok_and(|url| url.has_host());
        self.hold(is_whole, || format!("“{text}” is no whole address"));
        let rest = text.split_once("://").map_or("", |(_, rest)| rest);
        let rest = rest.find(['/', '?', '#']).map_or("", |end| &rest[end..]);
        let is_allowed = |c: char| {
            c.is_ascii_alphanumeric() || !c.is_ascii() || "-._~:/?#@!$&'()*+,;=%".contains(c)
        };
        self.hold(rest.chars().all(is_allowed), || {
            format!("characters of {text}")
        });
        self.hold(rest.matches('#').count() <= 1, || {
            format!("two fragments in {text}")
        });
        let mut percents = rest
            .match_indices('%')
            .map(|(at, _)| rest.as_bytes().get(at + 1..at + 3));
        let is_pair =
            |pair: Option<&[u8]>| pair.is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit));
        self.hold(percents.all(is_pair), || format!("percent signs of {text}"));
    }

    /// RFC 4151: `tag:` authority `,` date `:` specific. The authority is the name of a host here, and not of a person.
    fn tag(&mut self, id: &str) {
        let is_tag = || {
            let (authority, rest) = id.strip_prefix("tag:")?.split_once(',')?;
            let (date, specific) = rest.split_once(':')?;
            // A fragment may follow.
            let specific = specific.replacen('#', "", 1);
            let is_name = |label: &str| {
                let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                !label.is_empty()
                    && label.trim_matches('-') == label
                    && label.chars().all(is_allowed)
            };
            let is_specific =
                |c: char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@/?%".contains(c);
            let mut parts = date
                .split('-')
                .map(|part| (part.len(), part.bytes().all(|b| b.is_ascii_digit())));
            let is_date = parts.next() == Some((4, true)) && parts.all(|part| part == (2, true));
            let is_good = authority.split('.').all(is_name)
                && is_date
                && !specific.is_empty()
                && specific.chars().all(is_specific);
            is_good.then_some(())
        };
        self.hold(is_tag().is_some(), || format!("“{id}” is no tag URI"));
    }

    /// RFC 3339, and plausible: the validator doubts times before 1990 and in the future.
    fn time(&mut self, text: &str) {
        let at = instant(text);
        self.hold(at.is_some() && text.contains('T'), || {
            format!("“{text}” is no time")
        });
        let is_plausible = at.is_some_and(|at| {
            at >= "1990-01-01T00:00:00Z".parse::<DateTime<Utc>>().unwrap()
                && at <= self.now + TimeDelta::minutes(10)
        });
        self.hold(is_plausible, || format!("{text} is not plausible"));
    }

    fn language(&mut self, text: &str) {
        let mut parts = text.split('-');
        let first = parts.next().unwrap_or_default();
        // Longer ones are not registered, and the validator knows it.
        let is_one = (2..=3).contains(&first.len())
            && first.chars().all(|c| c.is_ascii_alphabetic())
            && parts.all(|part| {
                (1..=8).contains(&part.len()) && part.chars().all(|c| c.is_ascii_alphanumeric())
            });
        self.hold(is_one, || format!("the language {text}"));
    }

    fn children(&mut self, node: &Node, known: &[&str]) {
        for child in &node.children {
            self.hold(known.contains(&child.name.as_str()), || {
                format!("{} in {}", child.name, node.name)
            });
        }
        self.hold(node.text.trim().is_empty(), || {
            format!("text in {}", node.name)
        });
    }

    fn once(&mut self, node: &Node, name: &str, is_needed: bool) {
        let count = node.all(name).count();
        let is_good = count == 1 || (count == 0 && !is_needed);
        self.hold(is_good, || format!("{count} times {name} in {}", node.name));
    }
}

/// Where a link leads.
pub fn link<'a>(node: &'a Node, rel: &str) -> Option<&'a str> {
    let mut links = node.all("link");
    let link = links.find(|link| link.attribute("rel") == Some(rel));
    link.and_then(|link| link.attribute("href"))
}

fn instant(text: &str) -> Option<DateTime<Utc>> {
    let at = DateTime::parse_from_rfc3339(text).ok()?;
    Some(at.to_utc())
}

/// JSON Feed 1.1.
fn json(text: &str, address: &str) {
    let feed: Value = serde_json::from_str(text).expect("it is JSON");
    assert_eq!(feed["version"], "https://jsonfeed.org/version/1.1");
    assert_eq!(feed["feed_url"], address);
    let known = [
        "version",
        "title",
        "home_page_url",
        "description",
        "authors",
        "feed_url",
        "language",
        "next_url",
        "items",
    ];
    let is_filled = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
    let is_address = |value: &Value| value.as_str().is_some_and(|text| Url::parse(text).is_ok());
    let has_names = |authors: &Value| {
        let authors = authors.as_array().unwrap();
        !authors.is_empty() && authors.iter().all(|author| is_filled(&author["name"]))
    };
    assert!(
        feed.as_object()
            .unwrap()
            .keys()
            .all(|key| known.contains(&key.as_str())),
        "{text}"
    );
    assert!(
        is_filled(&feed["title"]) && is_address(&feed["home_page_url"]),
        "{text}"
    );
    assert!(has_names(&feed["authors"]), "{text}");
    assert!(
        feed.get("next_url")
            .is_none_or(|next| is_address(next) && *next != address),
        "{text}"
    );
    let mut ids = BTreeSet::new();
    for item in feed["items"].as_array().unwrap() {
        assert!(
            ids.insert(item["id"].as_str().unwrap()),
            "{item} is there twice"
        );
        assert!(
            is_address(&item["url"]) && has_names(&item["authors"]),
            "{item}"
        );
        assert!(
            is_filled(&item["title"]) && is_filled(&item["content_html"]),
            "{item}"
        );
        assert!(
            instant(item["date_published"].as_str().unwrap()).is_some(),
            "{item}"
        );
        assert!(
            item["tags"].as_array().unwrap().iter().all(is_filled),
            "{item}"
        );
    }
}

#[test]
fn the_rules_find_what_is_wrong() {
    let good = include_str!("snapshots/one-change.atom");
    let now = "2026-03-20T00:00:00Z".parse().unwrap();
    let broken = |text: &str| {
        let mut rules = Rules {
            now,
            broken: Vec::new(),
        };
        rules.document(text);
        rules.feed(&tree::parse(text), None);
        rules.broken
    };
    assert_eq!(broken(good), [""; 0]);
    for (part, instead) in [
        ("encoding=\"utf-8\"", "encoding=\"utf8\""),
        ("<id>tag:", "<id>urn:"),
        ("<id>tag:fox.", "<id>tag:my_fox."),
        ("<id>tag:fox.", "<id>tag:-fox."),
        ("<id>tag:fox.", "<id>tag:fox.."),
        ("<feed ", "<feed xml:lang=\"Portuguese\" "),
        ("<feed ", "<feed xml:lang=\"English\" "),
        ("</title>", "\u{85}</title>"),
        ("</title>", " &amp;eacute;</title>"),
        ("</title>", " &lt;/b&gt;</title>"),
        ("rel=\"via\"", "rel=\"self\""),
        ("rel=\"via\"", "rel=\"next\" type=\"?\""),
        ("rel=\"via\"", "rel=\"friend\""),
        ("rel=\"via\"", "rel=\"next\""),
        ("rel=\"via\"", "rel=\"first\""),
        ("<updated>2026-", "<updated>2027-"),
        ("<updated>2026-", "<updated>1926-"),
        ("<name>", "<name>a@b.example "),
        ("&lt;/h2&gt;", "&lt;/h2&gt;&lt;script&gt;&lt;/script&gt;"),
        ("&lt;/li&gt;", ""),
        ("term=\"created\"", "term=\"\""),
        ("<content", "<summary/><content"),
        ("<generator", "<icon/><generator"),
        ("</entry>", "</entry><rights>None</rights>"),
        ("href=\"http://fox.example/\"", "href=\"/\""),
        (
            "href=\"http://fox.example/\"",
            "href=\"http://fox.example/[1]\"",
        ),
        ("rel=\"self\"", "rel=\"current\""),
    ] {
        let text = good.replacen(part, instead, 1);
        assert_ne!(text, good, "{part} is there");
        assert!(!broken(&text).is_empty(), "{instead} goes unnoticed");
    }
}
