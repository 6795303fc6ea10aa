//! ARC sitemaps 2.x ("AI Readability Convention"): JSON or YAML.
//!
//! A page that does not want to be indexed, or that only its members may see, is handed on as private and with nothing
//! but its address: whoever follows the site forgets what is known of it. Snapshots are read for a title and then
//! forgotten.

mod yaml;

use std::fmt;
use std::io::{BufRead, Read};

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::moment::Moment;
use crate::problem::{Code, Problem};
use crate::read::address;
use crate::read::html::says_noindex;
use crate::read::list::{
    Beginning, Hosts, Lastmod, List, ListReader, MAX_PAGES, Page, Sink, begin, read_lastmod,
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

    fn page(&mut self, raw: RawPage) {
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
        // Whoever writes `yes` or `no` means something, and whatever it is, nothing private is told by leaving out the page.
        let indexable = raw.ai_indexable.yes_or_no();
        let closed = raw.auth_required.yes_or_no();
        for (name, value) in [("ai_indexable", &indexable), ("auth_required", &closed)] {
            if *value == Answer::Odd || (*value == Answer::None && name == "ai_indexable") {
                self.invalid(|| {
                    format!(
                        "`{name}` of {} is not true or false; the page was left out",
                        quote(written)
                    )
                });
            }
        }
        let is_hidden = match &raw.robots_directive {
            Field::Text(directive) => says_noindex(directive),
            Field::Nothing => false,
            Field::Bool(_) | Field::Other => {
                self.invalid(|| {
                    format!(
                        "`robots_directive` of {} is not a text; the page was left out",
                        quote(written)
                    )
                });
                true
            }
        };
        page.is_private =
            indexable != Answer::Yes || !matches!(closed, Answer::No | Answer::None) || is_hidden;
        if !page.is_private {
            self.fill(&mut page, &raw);
        }
        self.hosts.hand_on(&mut page, 1, &mut self.list, self.sink);
    }

    fn fill(&mut self, page: &mut Page, raw: &RawPage) {
        match raw.lastmod.text().map(|text| (text, read_lastmod(text))) {
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
        page.lastmod = raw
            .lastmod
            .text()
            .and_then(|text| read_lastmod(text).moment());
        page.hash = raw.ai_checksum.text().map(str::to_owned);
        page.summary = raw.ai_summary.text().and_then(clean::description);
        page.tags = raw
            .ai_tags
            .0
            .iter()
            .filter_map(|tag| clean::title(tag))
            .collect();
        let named = raw.ai_snapshot.title.as_deref().and_then(clean::title);
        page.title = named.or_else(|| {
            // A short name, as it would stand in an address.
            let name = raw.ai_snapshot.page.as_deref()?.replace(['-', '_'], " ");
            clean::title(&name)
        });
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
                    let version: Field = map.next_value()?;
                    self.version = version.text().map(str::to_owned);
                }
                "site" => {
                    let site: Field = map.next_value()?;
                    let url = site
                        .text()
                        .map(|text| address::resolve_url(text, self.sink.url));
                    self.has_site = matches!(url, Some(Ok(_)));
                }
                "generated_at" => {
                    let time: Field = map.next_value()?;
                    let moment = time.text().and_then(|text| read_lastmod(text).moment());
                    self.list.made_at = moment.as_ref().map(Moment::to_string);
                }
                "crawl_rate" => {
                    let rate: Field = map.next_value()?;
                    self.list.pace_ms = rate.text().and_then(pace_ms);
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
        while let Some(page) = pages.next_element::<RawPage>()? {
            self.0.page(page);
        }
        Ok(())
    }
}

/// A page as it is written, whatever its members are.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct RawPage {
    url: Field,
    lastmod: Field,
    ai_indexable: Field,
    ai_summary: Field,
    ai_tags: Tags,
    ai_checksum: Field,
    ai_snapshot: Snapshot,
    auth_required: Field,
    robots_directive: Field,
}

/// One value of any kind. `null` and nothing are the same.
#[derive(Default)]
enum Field {
    Text(String),
    Bool(bool),
    Other,
    #[default]
    Nothing,
}

/// What a field that is true or false says.
#[derive(PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    /// Something that is neither.
    Odd,
    None,
}

impl Field {
    fn yes_or_no(&self) -> Answer {
        match self {
            Field::Bool(true) => Answer::Yes,
            Field::Bool(false) => Answer::No,
            Field::Text(_) | Field::Other => Answer::Odd,
            Field::Nothing => Answer::None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Field::Text(text) => Some(text),
            _ => None,
        }
    }
}

#[derive(Default)]
struct Tags(Vec<String>);

#[derive(Default)]
struct Snapshot {
    title: Option<String>,
    page: Option<String>,
}

/// Takes a value of any kind; each of the three types keeps what it has a use for.
macro_rules! takes_anything {
    ($type:ident, $visitor:ident, $number:expr, { $($special:item)* }) => {
        impl<'de> de::Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
                source.deserialize_any($visitor)
            }
        }

        struct $visitor;

        impl<'de> Visitor<'de> for $visitor {
            type Value = $type;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_unit<E: de::Error>(self) -> Result<$type, E> {
                Ok($type::default())
            }

            fn visit_i64<E: de::Error>(self, _: i64) -> Result<$type, E> {
                Ok($number)
            }

            fn visit_u64<E: de::Error>(self, _: u64) -> Result<$type, E> {
                Ok($number)
            }

            fn visit_f64<E: de::Error>(self, _: f64) -> Result<$type, E> {
                Ok($number)
            }

            $($special)*
        }
    };
}

takes_anything!(Field, FieldVisitor, Field::Other, {
    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Field, E> {
        Ok(Field::Bool(value))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Field, E> {
        Ok(Field::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Field, A::Error> {
        while all.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Field::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Field, A::Error> {
        while all.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Field::Other)
    }
});

takes_anything!(Tags, TagsVisitor, Tags::default(), {
    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Tags, E> {
        Ok(Tags::default())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Tags, E> {
        Ok(Tags(vec![text.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Tags, A::Error> {
        let mut tags = Vec::new();
        while let Some(tag) = all.next_element::<Field>()? {
            if let (Field::Text(text), true) = (tag, tags.len() < MAX_TAGS) {
                tags.push(text);
            }
        }
        Ok(Tags(tags))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Tags, A::Error> {
        while all.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Tags::default())
    }
});

takes_anything!(Snapshot, SnapshotVisitor, Snapshot::default(), {
    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Snapshot, E> {
        Ok(Snapshot::default())
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Snapshot, E> {
        Ok(Snapshot::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Snapshot, A::Error> {
        while all.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Snapshot::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Snapshot, A::Error> {
        let mut snapshot = Snapshot::default();
        while let Some(key) = all.next_key::<String>()? {
            let target = match key.as_str() {
                "title" => &mut snapshot.title,
                "page" => &mut snapshot.page,
                _ => {
                    all.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *target = all.next_value::<Field>()?.text().map(str::to_owned);
        }
        Ok(snapshot)
    }
});

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
