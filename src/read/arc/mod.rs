//! ARC sitemaps 2.x ("AI Readability Convention"): JSON or YAML.
//!
//! A page that does not want to be indexed, or that only its members may see, is handed on as private and with nothing
//! but its address: whoever follows the site forgets what is known of it. Snapshots are read for a title and then
//! forgotten.

mod yaml;

use std::fmt;
use std::io::{BufRead, ErrorKind, Read};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::moment::Moment;
use crate::problem::{Code, Problem};
use crate::read::address;
use crate::read::html::says_noindex;
use crate::read::json::{Plain, ShortTexts, Take, To, pass_over_list, pass_over_object};
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
        let mut json = serde_json::Deserializer::from_reader(ShortTexts::new(whole));
        (&mut walk)
            .deserialize(&mut json)
            .and_then(|()| json.end())
            .map_err(|error| {
                let code = match error.io_error_kind() {
                    Some(ErrorKind::FileTooLarge) => Code::TooLarge,
                    _ if error.is_eof() => Code::CutOff,
                    _ => Code::BadJson,
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

    fn page(&mut self, raw: &RawPage<'_>) {
        self.entries += 1;
        let number = self.entries;
        if number > MAX_PAGES {
            self.too_many = true;
            return;
        }
        let Some(written) = raw.url.text() else {
            return self.invalid(|| format!("page {number} has no `url`; it was left out"));
        };
        let mut page = Page {
            url: written.trim().to_owned(),
            is_private: self.is_private(raw, number),
            ..Page::default()
        };
        // Others read what is told here, and where a page is that wants to be left alone is none of their business.
        let is_hidden = page.is_private;
        match address::resolve(&mut page.url, self.sink.url) {
            Ok(false) => {}
            Ok(true) => self.sink.note(Code::RelativeLoc, 1, || match is_hidden {
                true => format!("the address of page {number} is relative"),
                false => format!(
                    "{} is relative; it was read as {}",
                    quote(written),
                    quote(&page.url)
                ),
            }),
            Err(error) => {
                return self.sink.note(Code::BadLoc, 1, || match is_hidden {
                    true => format!("the address of page {number} cannot be used: {error}"),
                    false => format!("{} cannot be used: {error}", quote(written)),
                });
            }
        }
        if is_hidden && !self.hosts.have(&page.url) {
            return self.sink.note(Code::ForeignPages, 1, || {
                format!("page {number} is on another site and was left out")
            });
        }
        if !is_hidden {
            self.fill(&mut page, raw, written);
        }
        self.hosts.hand_on(&mut page, 1, &mut self.list, self.sink);
    }

    /// Whoever writes `yes` or `no` means something, and whatever it is, nothing private is told by leaving out the page.
    fn is_private(&mut self, raw: &RawPage<'_>, number: usize) -> bool {
        let mut odd = |name: &str, should_be: &str| {
            self.invalid(|| {
                format!("`{name}` of page {number} is not {should_be}; the page was left out")
            });
            true
        };
        let is_closed = match raw.indexable {
            Plain::Bool(indexable) => !indexable,
            _ => odd("ai_indexable", "true or false"),
        };
        let needs_account = match raw.needs_account {
            Plain::Nothing => false,
            Plain::Bool(required) => required,
            _ => odd("auth_required", "true or false"),
        };
        let is_hidden = match &raw.robots {
            Plain::Nothing => false,
            Plain::Text(directive) => says_noindex(directive),
            _ => odd("robots_directive", "a text"),
        };
        is_closed || needs_account || is_hidden
    }

    fn fill(&mut self, page: &mut Page, raw: &RawPage<'_>, written: &str) {
        let mut faults: Vec<(&str, &str)> = Vec::new();
        for (name, value) in [
            ("lastmod", &raw.lastmod),
            ("ai_checksum", &raw.checksum),
            ("ai_summary", &raw.summary),
        ] {
            if !matches!(value, Plain::Nothing | Plain::Text(_)) {
                faults.push((name, "a text"));
            }
        }
        if raw.tags.is_odd {
            faults.push(("ai_tags", "a list of texts"));
        }
        page.tags.clone_from(&raw.tags.all);
        if raw.snapshot.is_odd {
            faults.push(("ai_snapshot", "an object with a `page`"));
        }
        // A short name, as it would stand in an address.
        let slug = || clean::title(&raw.snapshot.page.text()?.replace(['-', '_'], " "));
        let title = raw.snapshot.title.text().and_then(clean::title);
        page.title = title.or_else(slug);
        if !number(&raw.priority).is_none_or(|number| (0.0..=1.0).contains(&number)) {
            faults.push(("crawl_priority", "a number from 0 to 1"));
        }
        for (name, should_be) in faults {
            self.invalid(|| format!("`{name}` of {} is not {should_be}", quote(written)));
        }
        let read = (raw.lastmod.text()).map(|text| (text, read_lastmod(text)));
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
        page.hash = raw.checksum.text().map(str::to_owned);
        page.summary = raw.summary.text().and_then(clean::description);
    }
}

/// A number, if there is anything; YAML has it as a text here. What is none is not one from 0 to 1 either.
fn number(value: &Plain<'_>) -> Option<f64> {
    match value {
        Plain::Nothing => None,
        Plain::Number(number) => Some(*number),
        value => value
            .text()
            .and_then(|text| text.trim().parse().ok())
            .or(Some(f64::NAN)),
    }
}

/// What is read of a page.
#[derive(Default)]
struct RawPage<'a> {
    url: Plain<'a>,
    indexable: Plain<'a>,
    needs_account: Plain<'a>,
    robots: Plain<'a>,
    lastmod: Plain<'a>,
    checksum: Plain<'a>,
    summary: Plain<'a>,
    priority: Plain<'a>,
    tags: Tags,
    snapshot: Snapshot<'a>,
}

impl<'de> Take<'de> for RawPage<'de> {
    fn object<A: MapAccess<'de>>(&mut self, members: &mut A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<Plain<'de>>()? {
            let member = match name.text().unwrap_or_default() {
                "url" => &mut self.url,
                "ai_indexable" => &mut self.indexable,
                "auth_required" => &mut self.needs_account,
                "robots_directive" => &mut self.robots,
                "lastmod" => &mut self.lastmod,
                "ai_checksum" => &mut self.checksum,
                "ai_summary" => &mut self.summary,
                "crawl_priority" => &mut self.priority,
                "ai_tags" => {
                    members.next_value_seed(To(&mut self.tags))?;
                    continue;
                }
                "ai_snapshot" => {
                    members.next_value_seed(To(&mut self.snapshot))?;
                    continue;
                }
                _ => {
                    members.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *member = members.next_value()?;
        }
        Ok(())
    }
}

/// The tags of a page, as many as are shown.
#[derive(Default)]
struct Tags {
    all: Vec<String>,
    is_odd: bool,
}

impl Tags {
    fn add(&mut self, tag: &Plain<'_>) {
        self.is_odd |= tag.text().is_none();
        if self.all.len() < MAX_TAGS {
            self.all.extend(tag.text().and_then(clean::title));
        }
    }
}

impl<'de> Take<'de> for Tags {
    fn plain(&mut self, value: Plain<'de>) {
        if value != Plain::Nothing {
            self.add(&value);
            self.is_odd = true;
        }
    }

    fn list<A: SeqAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        while let Some(tag) = values.next_element()? {
            self.add(&tag);
        }
        Ok(())
    }

    fn object<A: MapAccess<'de>>(&mut self, members: &mut A) -> Result<(), A::Error> {
        self.is_odd = true;
        pass_over_object(members)
    }
}

/// What is read of a snapshot.
#[derive(Default)]
struct Snapshot<'a> {
    page: Plain<'a>,
    title: Plain<'a>,
    is_odd: bool,
}

impl<'de> Take<'de> for Snapshot<'de> {
    fn plain(&mut self, value: Plain<'de>) {
        self.is_odd = value != Plain::Nothing;
    }

    fn list<A: SeqAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        self.is_odd = true;
        pass_over_list(values)
    }

    fn object<A: MapAccess<'de>>(&mut self, members: &mut A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<Plain<'de>>()? {
            match name.text() {
                Some("page") => self.page = members.next_value()?,
                Some("title") => self.title = members.next_value()?,
                _ => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        self.is_odd = self.page.text().is_none();
        Ok(())
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
        while let Some(key) = map.next_key::<Plain<'de>>()? {
            match key.text().unwrap_or_default() {
                "arc_sitemap_version" => {
                    let version: Plain<'de> = map.next_value()?;
                    self.version = version.text().map(str::to_owned);
                }
                "site" => {
                    let site: Plain<'de> = map.next_value()?;
                    let url = site
                        .text()
                        .map(|text| address::resolve_url(text, self.sink.url));
                    self.has_site = matches!(url, Some(Ok(_)));
                }
                "generated_at" => {
                    let time: Plain<'de> = map.next_value()?;
                    let moment = time.text().and_then(|text| read_lastmod(text).moment());
                    self.list.made_at = moment.as_ref().map(Moment::to_string);
                }
                "crawl_rate" => {
                    let rate: Plain<'de> = map.next_value()?;
                    self.list.pace_ms = match &rate {
                        Plain::Text(text) => pace_ms(text),
                        // So many in a second.
                        Plain::Number(number) => pace_ms(&number.to_string()),
                        _ => None,
                    };
                    if self.list.pace_ms.is_none() && rate != Plain::Nothing {
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
        loop {
            let mut page = RawPage::default();
            if pages.next_element_seed(To(&mut page))?.is_none() {
                return Ok(());
            }
            self.0.page(&page);
        }
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
