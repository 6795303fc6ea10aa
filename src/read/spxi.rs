//! SPXI-Sitemap 1.0: the semantic index of a site, for the names of its pages.
//!
//! Not a JSON-LD processor: the prefix is the one that the document itself binds, and no context is ever fetched. The
//! rules of the protocol are advice here; only a document that is no index at all is refused. Its texts were written to
//! persuade machines, and are nothing but texts.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess};

use crate::problem::{Code, Problem};
use crate::read::address;
use crate::read::json::{Plain, Take, To, pass_over_list};
use crate::read::link::Link;
use crate::read::list::{
    Beginning, Beside, Hosts, List, ListReader, MAX_PAGES, Page, Rule, Sink, read_lastmod,
};
use crate::site::{About, Format};
use crate::text::{clean, quote};

/// Where its words are from.
const VOCABULARY: &str = "https://spxi.dev/vocabulary#";
/// The protocol asks for 100 KB at most.
const ADVISED_BYTES: usize = 100 * 1024;
/// It is held in memory as a whole.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
const MAX_KERNEL_WORDS: usize = 100;
const MAX_PHRASE_CHARS: usize = 200;

/// Reads SPXI indexes.
pub const READER: ListReader = ListReader {
    format: Format::Spxi,
    places: &["/spxi-index.jsonld"],
    rare_places: &[],
    beside: Some(Beside {
        is_linked,
        is_allowed: |path| path.ends_with(".jsonld"),
        incomplete: Code::SpxiIncomplete,
        stale: Code::SpxiStale,
    }),
    rule: Some(Rule {
        sentence: "The SPXI index keeps to its format, and is whole.",
        codes: &[
            Code::SpxiRoot,
            Code::SpxiMissing,
            Code::SpxiSize,
            Code::SpxiId,
            Code::SpxiKernel,
            Code::SpxiNegativeTag,
            Code::SpxiMarkers,
            Code::SpxiEstimate,
            Code::SpxiEntityType,
            Code::SpxiStale,
            Code::SpxiIncomplete,
        ],
    }),
    max_ratio: None,
    recognises,
    read,
};

/// Pages have JSON-LD of many kinds beside them; this is told by its name.
fn is_linked(link: &Link) -> bool {
    link.has_rel("alternate")
        && link.media_type.as_deref() == Some("application/ld+json")
        && link.href.path().ends_with("spxi-index.jsonld")
}

fn recognises(beginning: &Beginning) -> bool {
    match beginning {
        Beginning::Json { keys, text, .. } => {
            keys.iter().any(|key| key == "@type") && text.contains("SemanticIndex")
                || keys.iter().any(|key| key.ends_with(":siteKernel"))
        }
        _ => false,
    }
}

fn read(source: &mut dyn BufRead, hosts: &Hosts, sink: &mut Sink<'_>) -> Result<List, Problem> {
    let mut bytes = Vec::new();
    let refuse = |code, message: String, line: usize| {
        let line = u32::try_from(line).unwrap_or(u32::MAX).max(1);
        Problem::new(code, sink.url, message).at(line)
    };
    if let Err(error) = Read::take(source, MAX_BYTES + 1).read_to_end(&mut bytes) {
        return Err(refuse(Code::CutOff, error.to_string(), 1));
    }
    if bytes.len() as u64 > MAX_BYTES {
        let message = format!("the index is larger than {MAX_BYTES} bytes");
        return Err(refuse(Code::TooLarge, message, 1));
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    let broken = |error: serde_json::Error| {
        let code = match error.is_eof() {
            true => Code::CutOff,
            false => Code::BadJson,
        };
        refuse(code, error.to_string(), error.line())
    };
    let mut head = Head::default();
    take(bytes, &mut head).map_err(broken)?;
    if !head.is_object {
        let message = "the index is not one object".to_owned();
        return Err(refuse(Code::SpxiRoot, message, 1));
    }
    if !head.types.have_index {
        let message = "the root is not of the type SemanticIndex".to_owned();
        return Err(refuse(Code::SpxiRoot, message, 1));
    }
    let mut index = Index {
        words: Words::of(head.context),
        sink,
        site: Site::default(),
        pages: Pages::default(),
        names: Vec::new(),
    };
    if bytes.len() > ADVISED_BYTES {
        index.advise(Code::SpxiSize, || {
            format!(
                "the index has {} bytes, more than {ADVISED_BYTES}",
                bytes.len()
            )
        });
    }
    take(bytes, &mut index).map_err(broken)?;
    index.finish(hosts)
}

/// Goes through the whole document once.
fn take<'de>(bytes: &'de [u8], target: &mut impl Take<'de>) -> Result<(), serde_json::Error> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    To(target).deserialize(&mut json)?;
    json.end()
}

/// What has to be known of an index before it can be read, and may be said after everything else.
#[derive(Default)]
struct Head {
    is_object: bool,
    types: Types,
    context: Context,
}

impl<'de> Take<'de> for Head {
    fn object<A: MapAccess<'de>>(&mut self, members: &mut A) -> Result<(), A::Error> {
        self.is_object = true;
        while let Some(name) = members.next_key::<Plain<'de>>()? {
            match name.text() {
                Some("@type") => members.next_value_seed(To(&mut self.types))?,
                Some("@context") => members.next_value_seed(To(&mut self.context))?,
                _ => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// The types of an object, without prefixes.
#[derive(Default)]
struct Types {
    have_index: bool,
}

impl<'de> Take<'de> for Types {
    fn plain(&mut self, value: Plain<'de>) {
        let name = value.text().unwrap_or_default();
        let name = name.strip_prefix(VOCABULARY).unwrap_or(name);
        self.have_index |= name.rsplit(':').next() == Some("SemanticIndex");
    }

    fn list<A: SeqAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        while values.next_element_seed(To(&mut *self))?.is_some() {}
        Ok(())
    }
}

/// One context or several, of which only the name of the vocabulary is of use.
#[derive(Default)]
struct Context {
    prefix: Option<String>,
}

impl<'de> Take<'de> for Context {
    fn list<A: SeqAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        while values.next_element_seed(To(&mut *self))?.is_some() {}
        Ok(())
    }

    fn object<A: MapAccess<'de>>(&mut self, members: &mut A) -> Result<(), A::Error> {
        while let Some((name, iri)) = members.next_entry::<Plain<'de>, Plain<'de>>()? {
            if iri.text() == Some(VOCABULARY) && self.prefix.is_none() {
                self.prefix = name.text().map(str::to_owned);
            }
        }
        Ok(())
    }
}

/// The names of the vocabulary as this document writes them.
struct Words {
    prefix: String,
}

/// The name of a member.
enum Word<'n> {
    /// One of the vocabulary, without its prefix.
    Ours(&'n str),
    /// Any other.
    Other(&'n str),
}

impl Words {
    fn of(context: Context) -> Words {
        let prefix = context.prefix.as_deref().unwrap_or("spxi");
        Words {
            prefix: format!("{prefix}:"),
        }
    }

    /// A member of the vocabulary has its prefix, or its whole name.
    fn read<'n>(&self, name: &'n str) -> Word<'n> {
        let ours = (name.strip_prefix(&self.prefix)).or_else(|| name.strip_prefix(VOCABULARY));
        ours.map_or(Word::Other(name), Word::Ours)
    }
}

/// A text or a number, plain or as `{"@value": …}`; of several the first.
#[derive(Default)]
struct Literal<'a>(Plain<'a>);

impl<'de> Take<'de> for Literal<'de> {
    fn plain(&mut self, value: Plain<'de>) {
        self.0 = value;
    }

    fn list<A: SeqAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        values.next_element_seed(To(&mut *self))?;
        pass_over_list(values)
    }

    fn object<A: MapAccess<'de>>(&mut self, members: &mut A) -> Result<(), A::Error> {
        self.0 = Plain::Other;
        while let Some(name) = members.next_key::<Plain<'de>>()? {
            match name.text() {
                Some("@value") => self.0 = members.next_value()?,
                _ => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

fn literal<'de, A: MapAccess<'de>>(members: &mut A) -> Result<Plain<'de>, A::Error> {
    let mut value = Literal::default();
    members.next_value_seed(To(&mut value))?;
    Ok(value.0)
}

/// Phrases, one or several, held to the rules for all of them.
#[derive(Default)]
struct Phrases {
    count: usize,
    has_long: bool,
    /// The first that says no “not”, or is too long.
    bad: Option<String>,
}

impl Phrases {
    fn add(&mut self, phrase: &Plain<'_>) {
        let Some(phrase) = phrase.text() else { return };
        let is_long = phrase.chars().count() > MAX_PHRASE_CHARS;
        self.count += 1;
        self.has_long |= is_long;
        if self.bad.is_none() && (is_long || !phrase.starts_with("NOT ")) {
            self.bad = Some(phrase.to_owned());
        }
    }
}

impl<'de> Take<'de> for Phrases {
    fn plain(&mut self, value: Plain<'de>) {
        self.add(&value);
    }

    fn list<A: SeqAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        let mut phrase = Literal::default();
        while values.next_element_seed(To(&mut phrase))?.is_some() {
            self.add(&std::mem::take(&mut phrase).0);
        }
        Ok(())
    }

    fn object<A: MapAccess<'de>>(&mut self, members: &mut A) -> Result<(), A::Error> {
        let mut phrase = Literal::default();
        phrase.object(members)?;
        self.add(&phrase.0);
        Ok(())
    }
}

/// What is read of any object in an index: of the site, its kernel and its people, of surfaces and entities.
#[derive(Default)]
struct Thing<'a> {
    id: Plain<'a>,
    name: Plain<'a>,
    surface_type: Plain<'a>,
    entity_type: Plain<'a>,
    canonical_name: Plain<'a>,
    summary: Plain<'a>,
    estimate: Plain<'a>,
    negative_tags: Phrases,
    markers: Phrases,
}

/// A thing while it is read; of several the first.
struct Reading<'t, 'de> {
    words: &'t Words,
    thing: &'t mut Thing<'de>,
}

impl<'de> Take<'de> for Reading<'_, 'de> {
    fn list<A: SeqAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        values.next_element_seed(To(&mut *self))?;
        pass_over_list(values)
    }

    fn object<A: MapAccess<'de>>(&mut self, members: &mut A) -> Result<(), A::Error> {
        let thing = &mut *self.thing;
        while let Some(name) = members.next_key::<Plain<'de>>()? {
            match self.words.read(name.text().unwrap_or_default()) {
                Word::Other("@id") => thing.id = members.next_value()?,
                Word::Other("name") => thing.name = literal(members)?,
                Word::Ours("surfaceType") => thing.surface_type = literal(members)?,
                Word::Ours("entityType") => thing.entity_type = literal(members)?,
                Word::Ours("canonicalName") => thing.canonical_name = literal(members)?,
                Word::Ours("compressionSurvivalSummary") => thing.summary = literal(members)?,
                Word::Ours("bdrEstimate") => thing.estimate = literal(members)?,
                Word::Ours("negativeTag") => {
                    members.next_value_seed(To(&mut thing.negative_tags))?;
                }
                Word::Ours("semanticIntegrityMarker") => {
                    members.next_value_seed(To(&mut thing.markers))?;
                }
                _ => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// The pages of an index, each once.
#[derive(Default)]
struct Pages {
    all: Vec<Page>,
    places: HashMap<String, usize>,
    are_too_many: bool,
}

impl Pages {
    /// Takes a page, if there is room for it. One that was there before without a name gets this one.
    fn add(&mut self, page: Page) {
        if let Some(&place) = self.places.get(&page.url) {
            let known = &mut self.all[place];
            known.title = known.title.take().or(page.title);
            return;
        }
        self.are_too_many |= self.all.len() == MAX_PAGES;
        if !self.are_too_many {
            self.places.insert(page.url.clone(), self.all.len());
            self.all.push(page);
        }
    }
}

/// What an index says of the site.
#[derive(Default)]
struct Site<'a> {
    name: Plain<'a>,
    modified: Plain<'a>,
    protocol: Plain<'a>,
    kernel: Thing<'a>,
    publisher: Thing<'a>,
    author: Thing<'a>,
    has_entities: bool,
}

/// An index while it is read.
struct Index<'de, 'a, 's> {
    words: Words,
    sink: &'a mut Sink<'s>,
    site: Site<'de>,
    /// Surfaces.
    pages: Pages,
    /// The names of entities, with the addresses of the pages that they are on.
    names: Vec<(String, String)>,
}

impl<'de> Take<'de> for Index<'de, '_, '_> {
    fn object<A: MapAccess<'de>>(&mut self, members: &mut A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<Plain<'de>>()? {
            let site = &mut self.site;
            let thing = match self.words.read(name.text().unwrap_or_default()) {
                Word::Other("name") => {
                    site.name = literal(members)?;
                    continue;
                }
                Word::Other("dateModified") => {
                    site.modified = literal(members)?;
                    continue;
                }
                Word::Ours("protocolVersion") => {
                    site.protocol = literal(members)?;
                    continue;
                }
                Word::Ours("hasSurface") => {
                    let (index, take) = (&mut *self, Index::surface as fn(&mut _, &_));
                    members.next_value_seed(To(&mut Each { index, take }))?;
                    continue;
                }
                Word::Ours("hasEntity") => {
                    let (index, take) = (&mut *self, Index::entity as fn(&mut _, &_));
                    members.next_value_seed(To(&mut Each { index, take }))?;
                    continue;
                }
                Word::Ours("siteKernel") => &mut site.kernel,
                Word::Other("publisher") => &mut site.publisher,
                Word::Other("author") => &mut site.author,
                _ => {
                    members.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            let words = &self.words;
            members.next_value_seed(To(&mut Reading { words, thing }))?;
        }
        Ok(())
    }
}

/// Surfaces or entities, one or several.
struct Each<'i, 'de, 'a, 's> {
    index: &'i mut Index<'de, 'a, 's>,
    take: fn(&mut Index<'de, 'a, 's>, &Thing<'de>),
}

impl<'de> Take<'de> for Each<'_, 'de, '_, '_> {
    fn list<A: SeqAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        while values.next_element_seed(To(&mut *self))?.is_some() {}
        Ok(())
    }

    fn object<A: MapAccess<'de>>(&mut self, members: &mut A) -> Result<(), A::Error> {
        let mut thing = Thing::default();
        let mut reading = Reading {
            words: &self.index.words,
            thing: &mut thing,
        };
        reading.object(members)?;
        (self.take)(self.index, &thing);
        Ok(())
    }
}

impl Index<'_, '_, '_> {
    fn surface(&mut self, surface: &Thing<'_>) {
        let Some(url) = self.address(surface) else {
            return;
        };
        let kind = surface.surface_type.text();
        self.pages.add(Page {
            url,
            title: surface.name.text().and_then(clean::title),
            tags: kind.and_then(clean::title).into_iter().collect(),
            ..Page::default()
        });
    }

    fn entity(&mut self, entity: &Thing<'_>) {
        self.site.has_entities = true;
        self.judge(entity);
        let Some(url) = self.address(entity) else {
            return;
        };
        let name = entity.canonical_name.text().and_then(clean::title);
        self.pages.are_too_many |= self.names.len() == MAX_PAGES;
        if !self.pages.are_too_many {
            self.names.extend(name.map(|name| (url, name)));
        }
    }

    /// The address of the page that something is, or is on.
    fn address(&mut self, thing: &Thing<'_>) -> Option<String> {
        let Some(id) = thing.id.text() else {
            self.advise(Code::SpxiId, || "an entry has no `@id`".to_owned());
            return None;
        };
        let Ok(url) = address::resolve_url(id, self.sink.url) else {
            self.advise(Code::SpxiId, || {
                format!("the `@id` {} is not an address", quote(id))
            });
            return None;
        };
        let mut url = String::from(url);
        url.truncate(url.find('#').unwrap_or(url.len()));
        Some(url)
    }

    fn finish(mut self, hosts: &Hosts) -> Result<List, Problem> {
        let site = std::mem::take(&mut self.site);
        let mut list = List {
            kind: "SPXI index".to_owned(),
            about: self.about(&site),
            ..List::default()
        };
        if site.protocol == Plain::Nothing {
            self.advise(Code::SpxiMissing, || {
                "the index has no `protocolVersion`".to_owned()
            });
        }
        if !site.has_entities {
            self.advise(Code::SpxiMissing, || {
                "the index has no `hasEntity`".to_owned()
            });
        }
        let modified = site.modified.text();
        let modified = modified.and_then(|text| read_lastmod(text).moment());
        list.made_at = modified.map(|moment| moment.to_string());
        // Surfaces are pages. Entities are not, and have names for surfaces without one, and for pages of other lists.
        for (url, name) in std::mem::take(&mut self.names) {
            match self.pages.places.get(&url) {
                Some(&place) => {
                    let page = &mut self.pages.all[place];
                    page.title = page.title.take().or(Some(name));
                }
                None => list.names.push((url, name)),
            }
        }
        if self.pages.are_too_many {
            let message = format!("the document has more than {MAX_PAGES} entries");
            return Err(Problem::new(Code::TooManyEntries, self.sink.url, message).at(1));
        }
        for page in &mut self.pages.all {
            // There are no dates of single pages, so another name is all that can tell a change.
            page.hash = Some(format!(
                "{}\n{}",
                page.title.as_deref().unwrap_or_default(),
                page.tags.join("\n")
            ));
            hosts.hand_on(page, 1, &mut list, self.sink);
        }
        Ok(list)
    }

    fn about(&mut self, site: &Site<'_>) -> About {
        let summary = site.kernel.summary.text();
        let words = summary.map(|summary| summary.split_whitespace().count());
        match words {
            None => self.advise(Code::SpxiKernel, || {
                "the index has no summary of the site".to_owned()
            }),
            Some(words) if words > MAX_KERNEL_WORDS => self.advise(Code::SpxiKernel, || {
                format!("the summary of the site has {words} words")
            }),
            Some(_) => {}
        }
        let title = site.publisher.name.text().or_else(|| site.name.text());
        let author = site.author.name.text();
        About {
            title: title.and_then(clean::title),
            description: summary.and_then(clean::description),
            authors: author.and_then(clean::title).into_iter().collect(),
            ..About::default()
        }
    }

    /// The rules that a single entity can break.
    fn judge(&mut self, entity: &Thing<'_>) {
        let id = entity.id.text().unwrap_or_default();
        for (name, value) in [
            ("entityType", &entity.entity_type),
            ("canonicalName", &entity.canonical_name),
        ] {
            if value.text().is_none() {
                self.advise(Code::SpxiMissing, || {
                    format!("{} has no `{name}`", quote(id))
                });
            }
        }
        let tags = &entity.negative_tags;
        if tags.count == 0 || tags.bad.is_some() {
            self.advise(Code::SpxiNegativeTag, || match &tags.bad {
                Some(tag) => format!("{} does not begin with “NOT ”, or is too long", quote(tag)),
                None => format!("{} has no negative tag", quote(id)),
            });
        }
        let markers = &entity.markers;
        if markers.count < 2 || markers.has_long {
            self.advise(Code::SpxiMarkers, || {
                format!(
                    "{} has {} markers, or one that is too long",
                    quote(id),
                    markers.count
                )
            });
        }
        let estimate = match &entity.estimate {
            Plain::Nothing => None,
            Plain::Number(number) if (0.0..=1.0).contains(number) => None,
            Plain::Number(number) => Some(number.to_string()),
            other => Some(other.text().map_or_else(|| "no number".to_owned(), quote)),
        };
        if let Some(estimate) = estimate {
            self.advise(Code::SpxiEstimate, || {
                format!("the estimate of {} is {estimate}", quote(id))
            });
        }
        let kind = entity.entity_type.text();
        if let Some(kind) = kind
            && !kind
                .rsplit([':', '/', '#'])
                .next()
                .is_some_and(is_type_name)
        {
            self.advise(Code::SpxiEntityType, || {
                format!("{} is no type", quote(kind))
            });
        }
    }

    fn advise(&mut self, code: Code, message: impl FnOnce() -> String) {
        self.sink.note(code, 1, message);
    }
}

/// Whether this looks like the name of a type. Which types there are is not for us to know.
fn is_type_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric())
}
