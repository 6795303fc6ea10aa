//! ARC sitemaps 2.x ("AI Readability Convention"): JSON or YAML.
//!
//! A page that does not want to be indexed, or that only its members may see, is handed on as private and with nothing
//! but its address: whoever follows the site forgets what is known of it. Snapshots are read for a title and then
//! forgotten.

mod yaml;

use std::fmt;
use std::io::{BufRead, Read};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::moment::Moment;
use crate::problem::{Code, Problem};
use crate::read::address;
use crate::read::html::says_noindex;
use crate::read::list::{
    Beginning, Hosts, Lastmod, List, ListReader, MAX_PAGES, Page, Rule, Sink, begin, read_lastmod,
};
use crate::site::Format;
use crate::text::{clean, quote};

/// Tags of one page.
const MAX_TAGS: usize = 20;
/// A slower pace than one request in this time would mean never to be done.
const SLOWEST_PACE_MS: f64 = 10_000.0;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Where the changes of single days are, if they are anywhere.
const DAYS: &str = "/arc-sitemap-deltas/";

/// Reads ARC sitemaps.
pub const READER: ListReader = ListReader {
    format: Format::Arc,
    places: &["/.well-known/arc-sitemap.json", "/arc-sitemap.json"],
    rare_places: &[],
    beside: None,
    rule: Some(Rule {
        sentence: "The ARC sitemap keeps to its format.",
        codes: &[Code::ArcVersion, Code::ArcNewer, Code::ArcInvalid],
    }),
    max_ratio: None,
    recognises,
    read,
};

fn recognises(beginning: &Beginning) -> bool {
    match beginning {
        Beginning::Json { keys, .. } => keys.iter().any(|key| key == "arc_sitemap_version"),
        Beginning::Text(text) => yaml::recognises(text),
        _ => false,
    }
}

fn read(source: &mut dyn BufRead, hosts: &Hosts, sink: &mut Sink<'_>) -> Result<List, Problem> {
    let (beginning, mut whole) = begin(source);
    let mut walk = Walk {
        hosts,
        list: List {
            kind: "ARC sitemap".to_owned(),
            days: (sink.url.join(DAYS).ok()).map(String::from),
            ..List::default()
        },
        sink,
        version: None,
        has_site: false,
        has_pages: false,
        entries: 0,
        too_many: false,
    };
    let url = walk.sink.url;
    let faulty = |code, error: String, line: usize| {
        let line = u32::try_from(line).unwrap_or(u32::MAX).max(1);
        Problem::new(code, url, error).at(line)
    };
    if matches!(beginning, Beginning::Json { .. }) {
        // What went wrong here goes wrong below, and is told there.
        if (whole.fill_buf()).is_ok_and(|bytes| bytes.starts_with(BYTE_ORDER_MARK)) {
            whole.consume(BYTE_ORDER_MARK.len());
        }
        let mut json = serde_json::Deserializer::from_reader(&mut whole);
        (&mut walk)
            .deserialize(&mut json)
            .and_then(|()| json.end())
            .map_err(|error| {
                let code = if error.is_eof() {
                    Code::CutOff
                } else {
                    Code::BadJson
                };
                faulty(code, error.to_string(), error.line())
            })?;
    } else {
        let mut bytes = Vec::new();
        let most = yaml::MAX_BYTES + 1;
        if let Err(error) = Read::take(&mut whole, most).read_to_end(&mut bytes) {
            return Err(faulty(Code::CutOff, error.to_string(), 1));
        }
        let value = yaml::read(&bytes).map_err(|(line, why)| faulty(Code::BadYaml, why, line))?;
        (&mut walk)
            .deserialize(value)
            .map_err(|error| faulty(Code::BadYaml, error.to_string(), 1))?;
    }
    walk.finish()
}

/// Goes through the document once, and hands on its pages as they come.
struct Walk<'a, 's> {
    hosts: &'a Hosts,
    sink: &'a mut Sink<'s>,
    list: List,
    version: Option<String>,
    has_site: bool,
    has_pages: bool,
    entries: usize,
    too_many: bool,
}

impl Walk<'_, '_> {
    fn finish(mut self) -> Result<List, Problem> {
        let refuse = |code, message: String| Err(Problem::new(code, self.sink.url, message).at(1));
        if self.too_many {
            let message = format!("the document has more than {MAX_PAGES} entries");
            return refuse(Code::TooManyEntries, message);
        }
        let Some(version) = self.version.take() else {
            return refuse(
                Code::ArcVersion,
                "`arc_sitemap_version` is not a text such as \"2.1\"".to_owned(),
            );
        };
        let (major, minor) = version.split_once('.').unwrap_or((&version, "0"));
        match (major.trim().parse::<u32>(), minor.trim().parse::<u32>()) {
            (Ok(2), Ok(0 | 1)) => {}
            (Ok(2), Ok(_)) => self.sink.note(Code::ArcNewer, 1, || {
                format!(
                    "the sitemap is of version {}; it was read as 2.1",
                    quote(&version)
                )
            }),
            _ => {
                let message = format!("the sitemap is of version {}, not 2.1", quote(&version));
                return refuse(Code::ArcVersion, message);
            }
        }
        if !self.has_pages {
            return refuse(Code::ArcInvalid, "the sitemap has no `pages`".to_owned());
        }
        if !self.has_site {
            self.invalid(|| "`site` is not the address of the site".to_owned());
        }
        if self.list.made_at.is_none() {
            self.invalid(|| "`generated_at` is not a datetime".to_owned());
        }
        Ok(self.list)
    }

    fn invalid(&mut self, message: impl FnOnce() -> String) {
        self.sink.note(Code::ArcInvalid, 1, message);
    }

    fn page(&mut self, raw: &Value) {
        self.entries += 1;
        let number = self.entries;
        if number > MAX_PAGES {
            self.too_many = true;
            return;
        }
        let Some((raw, written)) = raw
            .as_object()
            .and_then(|raw| Some((raw, raw.get("url")?.as_str()?)))
        else {
            return self.invalid(|| format!("page {number} has no `url`; it was left out"));
        };
        let mut page = Page {
            url: written.trim().to_owned(),
            ..Page::default()
        };
        match address::resolve(&mut page.url, self.sink.url) {
            Ok(false) => {}
            Ok(true) => self.sink.note(Code::RelativeLoc, 1, || {
                format!(
                    "{} is relative; it was read as {}",
                    quote(written),
                    quote(&page.url)
                )
            }),
            Err(error) => {
                return self.sink.note(Code::BadLoc, 1, || {
                    format!("{} cannot be used: {error}", quote(written))
                });
            }
        }
        page.is_private = self.is_private(raw, written);
        if !page.is_private {
            self.fill(&mut page, raw, written);
        }
        self.hosts.hand_on(&mut page, 1, &mut self.list, self.sink);
    }

    /// Whoever writes `yes` or `no` means something, and whatever it is, nothing private is told by leaving out the page.
    fn is_private(&mut self, raw: &Members, page: &str) -> bool {
        let mut odd = |name: &str, should_be: &str| {
            self.invalid(|| {
                let page = quote(page);
                format!("`{name}` of {page} is not {should_be}; the page was left out")
            });
            true
        };
        let is_closed = match raw.get("ai_indexable") {
            Some(Value::Bool(indexable)) => !indexable,
            _ => odd("ai_indexable", "true or false"),
        };
        let needs_account = match raw.get("auth_required") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(required)) => *required,
            Some(_) => odd("auth_required", "true or false"),
        };
        let is_hidden = match raw.get("robots_directive") {
            None | Some(Value::Null) => false,
            Some(Value::String(directive)) => says_noindex(directive),
            Some(_) => odd("robots_directive", "a text"),
        };
        is_closed || needs_account || is_hidden
    }

    fn fill(&mut self, page: &mut Page, raw: &Members, written: &str) {
        let mut faults: Vec<(&str, &str)> = Vec::new();
        let mut text = |name: &'static str| match raw.get(name) {
            Some(Value::String(text)) => Some(text.as_str()),
            None | Some(Value::Null) => None,
            Some(_) => {
                faults.push((name, "a text"));
                None
            }
        };
        let (lastmod, checksum, summary) =
            (text("lastmod"), text("ai_checksum"), text("ai_summary"));
        match raw.get("ai_tags") {
            None | Some(Value::Null) => {}
            Some(tags) => {
                let all = tags
                    .as_array()
                    .map_or(std::slice::from_ref(tags), Vec::as_slice);
                if !tags.is_array() || !all.iter().all(Value::is_string) {
                    faults.push(("ai_tags", "a list of texts"));
                }
                let tags = all.iter().filter_map(Value::as_str).take(MAX_TAGS);
                page.tags = tags.filter_map(clean::title).collect();
            }
        }
        match raw.get("ai_snapshot") {
            None | Some(Value::Null) => {}
            Some(Value::Object(snapshot)) => {
                let named = |name: &str| snapshot.get(name).and_then(Value::as_str);
                if named("page").is_none() {
                    faults.push(("ai_snapshot", "an object with a `page`"));
                }
                // A short name, as it would stand in an address.
                let slug = || clean::title(&named("page")?.replace(['-', '_'], " "));
                page.title = named("title").and_then(clean::title).or_else(slug);
            }
            Some(_) => faults.push(("ai_snapshot", "an object with a `page`")),
        }
        let priority = raw.get("crawl_priority").filter(|value| !value.is_null());
        if !priority.is_none_or(|value| number(value).is_some_and(|n| (0.0..=1.0).contains(&n))) {
            faults.push(("crawl_priority", "a number from 0 to 1"));
        }
        for (name, should_be) in faults {
            self.invalid(|| format!("`{name}` of {} is not {should_be}", quote(written)));
        }
        let read = lastmod.map(|text| (text, read_lastmod(text)));
        match &read {
            None | Some((_, Lastmod::Good(_))) => {}
            Some((text, Lastmod::Repaired(moment))) => {
                self.sink.note(Code::LooseLastmod, 1, || {
                    format!("`lastmod` is {}; it was read as {moment}", quote(text))
                })
            }
            Some((text, _)) => self.sink.note(Code::BadLastmod, 1, || {
                format!("`lastmod` is {}; it was not used", quote(text))
            }),
        }
        page.lastmod = read.and_then(|(_, lastmod)| lastmod.moment());
        page.hash = checksum.map(str::to_owned);
        page.summary = summary.and_then(clean::description);
    }
}

type Members = serde_json::Map<String, Value>;

/// A number, which YAML has as a text here.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_f64(),
    }
}

/// The least time between two requests for a pace such as `1/s`, in milliseconds.
fn pace_ms(text: &str) -> Option<u64> {
    let (count, unit) = text.split_once('/').unwrap_or((text, "s"));
    let count: f64 = count
        .trim()
        .parse()
        .ok()
        .filter(|count: &f64| *count > 0.0 && count.is_finite())?;
    let unit_ms = match unit.trim() {
        "s" | "sec" | "second" => 1_000.0,
        "m" | "min" | "minute" => 60_000.0,
        "h" | "hour" => 3_600_000.0,
        _ => return None,
    };
    // Between nothing and ten seconds, so the number fits.
    Some((unit_ms / count).min(SLOWEST_PACE_MS) as u64)
}

/// The top of the document.
impl<'de> DeserializeSeed<'de> for &mut Walk<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Walk<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an ARC sitemap")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "arc_sitemap_version" => {
                    let version: Value = map.next_value()?;
                    self.version = version.as_str().map(str::to_owned);
                }
                "site" => {
                    let site: Value = map.next_value()?;
                    let url = site
                        .as_str()
                        .map(|text| address::resolve_url(text, self.sink.url));
                    self.has_site = matches!(url, Some(Ok(_)));
                }
                "generated_at" => {
                    let time: Value = map.next_value()?;
                    let moment = time.as_str().and_then(|text| read_lastmod(text).moment());
                    self.list.made_at = moment.as_ref().map(Moment::to_string);
                }
                "crawl_rate" => {
                    let rate: Value = map.next_value()?;
                    self.list.pace_ms = match &rate {
                        Value::String(text) => pace_ms(text),
                        // So many in a second.
                        Value::Number(number) => pace_ms(&number.to_string()),
                        _ => None,
                    };
                    if self.list.pace_ms.is_none() && !rate.is_null() {
                        self.invalid(|| "`crawl_rate` is not a pace such as 1/s".to_owned());
                    }
                }
                "pages" => {
                    self.has_pages = true;
                    map.next_value_seed(Pages(self))?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

struct Pages<'w, 'a, 's>(&'w mut Walk<'a, 's>);

impl<'de> DeserializeSeed<'de> for Pages<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Pages<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the pages of an ARC sitemap")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pages: A) -> Result<(), A::Error> {
        while let Some(page) = pages.next_element::<Value>()? {
            self.0.page(&page);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_a_time_between_requests() {
        for (text, pace) in [
            ("1/s", Some(1_000)),
            ("4/s", Some(250)),
            ("30/min", Some(2_000)),
            ("2", Some(500)),
            ("1/h", Some(10_000)),
            ("0/s", None),
            ("-1/s", None),
            ("fast", None),
            ("1/fortnight", None),
            ("NaN/s", None),
        ] {
            assert_eq!(pace_ms(text), pace, "{text}");
        }
    }
}
