//! SPXI-Sitemap 1.0: the semantic index of a site, for the names of its pages.
//!
//! Not a JSON-LD processor: the prefix is the one that the document itself binds, and no context is ever fetched. The
//! rules of the protocol are advice here; only a document that is no index at all is refused. Its texts were written to
//! persuade machines, and are nothing but texts.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use serde_json::{Map, Value};

use crate::problem::{Code, Problem};
use crate::read::address;
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
    let root: Value = serde_json::from_slice(bytes).map_err(|error| {
        let code = if error.is_eof() {
            Code::CutOff
        } else {
            Code::BadJson
        };
        refuse(code, error.to_string(), error.line())
    })?;
    let Value::Object(root) = root else {
        return Err(refuse(
            Code::SpxiRoot,
            "the index is not one object".to_owned(),
            1,
        ));
    };
    let words = Words::of(root.get("@context"));
    if !words.types(&root).any(|name| name == "SemanticIndex") {
        let message = "the root is not of the type SemanticIndex".to_owned();
        return Err(refuse(Code::SpxiRoot, message, 1));
    }
    let mut index = Index {
        words,
        hosts,
        sink,
        list: List {
            kind: "SPXI index".to_owned(),
            ..List::default()
        },
    };
    if bytes.len() > ADVISED_BYTES {
        index.advise(Code::SpxiSize, || {
            format!(
                "the index has {} bytes, more than {ADVISED_BYTES}",
                bytes.len()
            )
        });
    }
    index.root(&root)?;
    Ok(index.list)
}

/// The names of the vocabulary as this document writes them.
struct Words {
    prefix: String,
}

impl Words {
    fn of(context: Option<&Value>) -> Words {
        let contexts = match context {
            Some(Value::Array(all)) => all.iter().collect(),
            Some(one) => vec![one],
            None => Vec::new(),
        };
        let bound = contexts
            .iter()
            .filter_map(|context| context.as_object())
            .flatten();
        let prefix = bound
            .filter(|(_, iri)| iri.as_str() == Some(VOCABULARY))
            .map(|(name, _)| name.clone())
            .next();
        Words {
            prefix: prefix.unwrap_or_else(|| "spxi".to_owned()),
        }
    }

    /// A member of the vocabulary, with its prefix or with its whole name.
    fn get<'a>(&self, object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
        object
            .get(&format!("{}:{name}", self.prefix))
            .or_else(|| object.get(&format!("{VOCABULARY}{name}")))
            .filter(|value| !value.is_null())
    }

    /// The types of an object, without prefixes.
    fn types<'a>(&self, object: &'a Map<String, Value>) -> impl Iterator<Item = &'a str> {
        let types = object.get("@type").map(values).unwrap_or_default();
        types.into_iter().filter_map(Value::as_str).map(|name| {
            let name = name.strip_prefix(VOCABULARY).unwrap_or(name);
            name.rsplit(':').next().unwrap_or(name)
        })
    }
}

/// One value or several: JSON-LD makes no difference.
fn values(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(all) => all.iter().collect(),
        Value::Null => Vec::new(),
        one => vec![one],
    }
}

/// A text, plain or as `{"@value": …}`.
fn text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        Value::Object(object) => object.get("@value").and_then(Value::as_str),
        Value::Array(all) => all.first().and_then(text),
        _ => None,
    }
}

/// A number, plain or as `{"@value": …}`.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Object(object) => object.get("@value").and_then(Value::as_f64),
        Value::Array(all) => all.first().and_then(number),
        plain => plain.as_f64(),
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

struct Index<'a, 's> {
    words: Words,
    hosts: &'a Hosts,
    sink: &'a mut Sink<'s>,
    list: List,
}

impl Index<'_, '_> {
    fn root(&mut self, root: &Map<String, Value>) -> Result<(), Problem> {
        self.about(root);
        if self.words.get(root, "protocolVersion").is_none() {
            self.advise(Code::SpxiMissing, || {
                "the index has no `protocolVersion`".to_owned()
            });
        }
        let modified = root.get("dateModified").and_then(text);
        let modified = modified.and_then(|text| read_lastmod(text).moment());
        self.list.made_at = modified.map(|moment| moment.to_string());
        // Surfaces are pages; entities have names for those that are no surfaces, or surfaces without a name.
        let mut pages = Pages::default();
        for surface in self.objects(root, "hasSurface") {
            let kind = self.words.get(&surface, "surfaceType").and_then(text);
            let name = surface.get("name").and_then(text);
            self.page(&surface, name, kind, &mut pages);
        }
        let entities = self.objects(root, "hasEntity");
        if entities.is_empty() {
            self.advise(Code::SpxiMissing, || {
                "the index has no `hasEntity`".to_owned()
            });
        }
        for entity in entities {
            self.judge(&entity);
            let name = self.words.get(&entity, "canonicalName").and_then(text);
            self.page(&entity, name, None, &mut pages);
        }
        if pages.are_too_many {
            let message = format!("the document has more than {MAX_PAGES} entries");
            return Err(Problem::new(Code::TooManyEntries, self.sink.url, message).at(1));
        }
        for page in &mut pages.all {
            // There are no dates of single pages, so another name is all that can tell a change.
            page.hash = Some(format!(
                "{}\n{}",
                page.title.as_deref().unwrap_or_default(),
                page.tags.join("\n")
            ));
            self.hosts.hand_on(page, 1, &mut self.list, self.sink);
        }
        Ok(())
    }

    fn about(&mut self, root: &Map<String, Value>) {
        let name_of = |member: &str| {
            let object = root.get(member).map(values)?.first()?.as_object()?;
            object.get("name").and_then(text)
        };
        let kernel = self.words.get(root, "siteKernel").map(values);
        let kernel = kernel.and_then(|all| all.first().and_then(|one| one.as_object().cloned()));
        let summary = kernel.as_ref().and_then(|kernel| {
            let summary = self.words.get(kernel, "compressionSurvivalSummary")?;
            text(summary)
        });
        match summary {
            None => self.advise(Code::SpxiKernel, || {
                "the index has no summary of the site".to_owned()
            }),
            Some(summary) if summary.split_whitespace().count() > MAX_KERNEL_WORDS => {
                let words = summary.split_whitespace().count();
                self.advise(Code::SpxiKernel, || {
                    format!("the summary of the site has {words} words")
                });
            }
            Some(_) => {}
        }
        let title = name_of("publisher").or_else(|| root.get("name").and_then(text));
        self.list.about = About {
            title: title.and_then(clean::title),
            description: summary.and_then(clean::description),
            authors: name_of("author")
                .and_then(clean::title)
                .into_iter()
                .collect(),
            ..About::default()
        };
    }

    fn objects(&self, root: &Map<String, Value>, name: &str) -> Vec<Map<String, Value>> {
        let all = self.words.get(root, name).map(values).unwrap_or_default();
        all.into_iter()
            .filter_map(|value| value.as_object().cloned())
            .collect()
    }

    fn page(
        &mut self,
        object: &Map<String, Value>,
        name: Option<&str>,
        kind: Option<&str>,
        pages: &mut Pages,
    ) {
        let Some(id) = object.get("@id").and_then(Value::as_str) else {
            return self.advise(Code::SpxiId, || "an entry has no `@id`".to_owned());
        };
        let Ok(url) = address::resolve_url(id, self.sink.url) else {
            return self.advise(Code::SpxiId, || {
                format!("the `@id` {} is not an address", quote(id))
            });
        };
        let mut url = String::from(url);
        url.truncate(url.find('#').unwrap_or(url.len()));
        pages.add(Page {
            url,
            title: name.and_then(clean::title),
            tags: kind.and_then(clean::title).into_iter().collect(),
            ..Page::default()
        });
    }

    /// The rules that a single entity can break.
    fn judge(&mut self, entity: &Map<String, Value>) {
        let id = entity
            .get("@id")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        for name in ["entityType", "canonicalName"] {
            if self.words.get(entity, name).and_then(text).is_none() {
                self.advise(Code::SpxiMissing, || {
                    format!("{} has no `{name}`", quote(&id))
                });
            }
        }
        let phrases = |name| {
            let all = self.words.get(entity, name).map(values).unwrap_or_default();
            all.into_iter()
                .filter_map(text)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let (tags, markers) = (phrases("negativeTag"), phrases("semanticIntegrityMarker"));
        let is_long = |phrase: &&String| phrase.chars().count() > MAX_PHRASE_CHARS;
        let bad = tags
            .iter()
            .find(|tag| !tag.starts_with("NOT ") || is_long(tag));
        if tags.is_empty() || bad.is_some() {
            self.advise(Code::SpxiNegativeTag, || match bad {
                Some(tag) => format!("{} does not begin with “NOT ”, or is too long", quote(tag)),
                None => format!("{} has no negative tag", quote(&id)),
            });
        }
        if markers.len() < 2 || markers.iter().any(|marker| is_long(&marker)) {
            self.advise(Code::SpxiMarkers, || {
                format!(
                    "{} has {} markers, or one that is too long",
                    quote(&id),
                    markers.len()
                )
            });
        }
        let estimate = self.words.get(entity, "bdrEstimate").cloned();
        if let Some(estimate) = estimate
            && !number(&estimate).is_some_and(|number| (0.0..=1.0).contains(&number))
        {
            self.advise(Code::SpxiEstimate, || {
                format!("the estimate of {} is {estimate}", quote(&id))
            });
        }
        let kind = self
            .words
            .get(entity, "entityType")
            .and_then(text)
            .map(str::to_owned);
        if let Some(kind) = kind
            && !kind
                .rsplit([':', '/', '#'])
                .next()
                .is_some_and(is_type_name)
        {
            self.advise(Code::SpxiEntityType, || {
                format!("{} is no type", quote(&kind))
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
