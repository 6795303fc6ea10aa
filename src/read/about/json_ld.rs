//! JSON-LD, and plain JSON with the usual keys, as statements.
//!
//! Contexts are honoured as far as they are written in the document: `@vocab`, prefixes and aliases. A context that is
//! only an address is never fetched; its terms are then taken by their bare names, which is what they mean in practice.
//! serde_json refuses anything nested deeper than 128, and with it bounds every recursion here.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};
use url::Url;

use super::graph::{Graph, NodeId, Value, url_key};
use super::vocabulary::{self, Property};
use crate::text::clean;

/// Contexts inside contexts, and contexts side by side, that are looked at; each costs a search per key.
const MAX_CONTEXTS: usize = 16;

/// A term may be defined by a prefix that is a term itself, and so on this far.
const MAX_EXPANSIONS: usize = 4;

/// Longest address that a term stands for; each key that uses the term makes a copy.
const MAX_DEFINITION_BYTES: usize = 256;

/// The statements in the text of the document at `url`.
pub(super) fn read(text: &str, url: &Url) -> Result<Graph, serde_json::Error> {
    let json: Json = serde_json::from_str(text)?;
    let mut graph = Graph::default();
    visit(&json, &Context::default(), url, &mut graph);
    Ok(graph)
}

/// The contexts in force, the innermost first.
#[derive(Debug, Clone, Default)]
struct Context<'a>(Vec<&'a Map<String, Json>>);

impl<'a> Context<'a> {
    /// The context inside a node, which may bring its own.
    fn inside(&self, node: &'a Map<String, Json>) -> Cow<'_, Context<'a>> {
        let own: Vec<_> = match node.get("@context") {
            Some(Json::Object(own)) => vec![own],
            Some(Json::Array(several)) => {
                several.iter().rev().filter_map(Json::as_object).collect()
            }
            _ => return Cow::Borrowed(self),
        };
        let all = own.into_iter().chain(self.0.iter().copied());
        Cow::Owned(Context(all.take(MAX_CONTEXTS).collect()))
    }

    /// What a key stands for: a keyword, a full address, or itself.
    fn expand(&self, key: &str) -> String {
        let mut name = key.to_owned();
        for _ in 0..MAX_EXPANSIONS {
            match self.expand_once(&name) {
                Some(longer) if longer != name => name = longer,
                _ => break,
            }
        }
        if name.contains(':') || name.starts_with('@') {
            return name;
        }
        match self.definition("@vocab") {
            Some(vocab) => format!("{vocab}{name}"),
            None => name,
        }
    }

    fn expand_once(&self, name: &str) -> Option<String> {
        if name.starts_with('@') {
            return None;
        }
        if let Some(definition) = self.definition(name) {
            return Some(definition.to_owned());
        }
        let (prefix, rest) = name.split_once(':')?;
        if rest.starts_with("//") {
            return None;
        }
        let namespace = self
            .definition(prefix)
            .or_else(|| vocabulary::well_known_prefix(prefix))?;
        Some(format!("{namespace}{rest}"))
    }

    fn definition(&self, term: &str) -> Option<&'a str> {
        let definition = self.0.iter().find_map(|context| match context.get(term)? {
            Json::String(definition) => Some(definition.as_str()),
            Json::Object(definition) => definition.get("@id")?.as_str(),
            _ => None,
        });
        definition.filter(|definition| definition.len() <= MAX_DEFINITION_BYTES)
    }

    /// What a key says, and how much to believe it.
    fn property(&self, key: &str) -> Option<(Property, u8)> {
        let name = self.expand(key);
        vocabulary::property(&name).or_else(|| vocabulary::plain_property(&name))
    }

    /// The value of a keyword in a node, under that name or an alias of it.
    fn keyword<'b>(&self, node: &'b Map<String, Json>, keyword: &str) -> Option<&'b Json> {
        node.get(keyword).or_else(|| {
            let mut aliases = node.iter().filter(|(key, _)| self.expand(key) == keyword);
            aliases.next().map(|(_, value)| value)
        })
    }
}

/// Reads whatever nodes are in a value.
fn visit(json: &Json, context: &Context<'_>, base: &Url, graph: &mut Graph) {
    match json {
        Json::Array(items) => items
            .iter()
            .for_each(|item| visit(item, context, base, graph)),
        Json::Object(map) => {
            node(map, context, base, graph);
        }
        _ => {}
    }
}

/// Reads a node.
fn node(
    map: &Map<String, Json>,
    context: &Context<'_>,
    base: &Url,
    graph: &mut Graph,
) -> Option<NodeId> {
    let context = context.inside(map);
    // Without a context nobody said that `id` means `@id`, yet that is what it means.
    let id = context.keyword(map, "@id").or_else(|| map.get("id"));
    let kind = context.keyword(map, "@type").or_else(|| map.get("type"));
    let agent = strings(kind).any(|kind| vocabulary::is_agent(&context.expand(kind)));
    let key = match id.and_then(Json::as_str) {
        Some(label) if label.starts_with("_:") => Some(label.to_owned()),
        Some(id) => base.join(id).ok().as_ref().map(url_key),
        // A site that is known by its address alone. A person is not their home page.
        None if !agent => map
            .iter()
            .find(|(key, _)| vocabulary::is_address(&context.expand(key)))
            .and_then(|(_, value)| base.join(value.as_str()?).ok())
            .as_ref()
            .map(url_key),
        None => None,
    };
    let id = graph.node(key)?;
    if agent {
        graph.mark_agent(id);
    }
    for (name, value) in map {
        if name == "@context" {
            continue;
        }
        match context.property(name) {
            Some((property, rank)) => {
                for value in values(value, &context, base, graph) {
                    graph.state(id, property, rank, value);
                }
            }
            None => visit(value, &context, base, graph),
        }
    }
    Some(id)
}

/// The values of a property.
fn values(json: &Json, context: &Context<'_>, base: &Url, graph: &mut Graph) -> Vec<Value> {
    match json {
        Json::String(text) => vec![plain(text.clone(), false)],
        Json::Number(number) => vec![plain(number.to_string(), false)],
        Json::Array(items) => items
            .iter()
            .flat_map(|item| values(item, context, base, graph))
            .collect(),
        Json::Object(map) => {
            if let Some(value) = context.keyword(map, "@value") {
                let tagged = context.keyword(map, "@language").is_some();
                strings(Some(value))
                    .map(|text| plain(text.to_owned(), tagged))
                    .collect()
            } else if let Some(list) = ["@list", "@set"]
                .iter()
                .find_map(|keyword| context.keyword(map, keyword))
            {
                values(list, context, base, graph)
            } else if is_language_map(map, context) {
                language_map(map)
            } else {
                let id = node(map, context, base, graph);
                id.map(Value::Node).into_iter().collect()
            }
        }
        Json::Null | Json::Bool(_) => Vec::new(),
    }
}

/// Whether an object is one text in several languages, such as `{"en": "Fox", "de": "Fuchs"}`.
///
/// `name` is shaped like a language too, so anything with a known key is a node.
fn is_language_map(map: &Map<String, Json>, context: &Context<'_>) -> bool {
    !map.is_empty()
        && map.iter().all(|(key, value)| {
            let is_language = key == "@none"
                || (clean::language(key).is_some()
                    && !matches!(key.as_str(), "id" | "type" | "url")
                    && context.property(key).is_none());
            is_language && (value.is_string() || value.is_array())
        })
}

fn language_map(map: &Map<String, Json>) -> Vec<Value> {
    map.iter()
        .flat_map(|(key, value)| {
            strings(Some(value)).map(move |text| plain(text.to_owned(), key != "@none"))
        })
        .collect()
}

/// The strings in a string or a list of them.
fn strings(json: Option<&Json>) -> impl Iterator<Item = &str> {
    let items = match json {
        Some(Json::Array(items)) => items.as_slice(),
        Some(single) => std::slice::from_ref(single),
        None => &[],
    };
    items.iter().filter_map(Json::as_str)
}

fn plain(text: String, tagged: bool) -> Value {
    Value::Text { text, tagged }
}
