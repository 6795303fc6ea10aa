//! Statements about things, and what they come to for the one thing asked about.
//!
//! RDF/XML and JSON-LD are two ways to write the same statements; both end up here, so that which node is meant, and
//! which of several titles, is decided once. The thing meant is the described address; else the document itself; else
//! the first node with a title that is not a person. Of texts in several languages the first without a language is
//! taken, else the first.

use std::collections::{HashMap, HashSet};

use url::Url;

use super::vocabulary::Property;
use crate::site::{About, MAX_AUTHORS};
use crate::text::clean;

/// Most statements kept about one node; honest ones have a dozen.
const MAX_STATEMENTS: usize = 256;

/// Most nodes kept; the rest of a longer document is passed over.
const MAX_NODES: usize = 5_000;

/// Longest address that names a node. Short references to a long base could otherwise fill the memory.
const MAX_KEY_BYTES: usize = 2_048;

/// A node of a [`Graph`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct NodeId(usize);

/// What a statement says of its node.
#[derive(Debug)]
pub(super) enum Value {
    /// Words, and whether they are marked as being in some language.
    Text { text: String, tagged: bool },
    /// Another node.
    Node(NodeId),
}

#[derive(Debug)]
struct Node {
    /// The address or label it goes by; none if it is only ever spoken of in place.
    key: Option<String>,
    agent: bool,
    statements: Vec<(Property, u8, Value)>,
}

/// Everything a document states.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    by_key: HashMap<String, NodeId>,
    /// Nodes that are the author of something, whatever their type.
    authors: HashSet<NodeId>,
}

/// The key of the node for an address. A slash at the end is not worth missing a description for.
pub(super) fn url_key(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}

impl Graph {
    /// The node with this key, or a new one; nothing if there are too many. Two descriptions of one thing are one node.
    pub(super) fn node(&mut self, key: Option<String>) -> Option<NodeId> {
        let key = key.filter(|key| key.len() <= MAX_KEY_BYTES);
        if let Some(known) = key.as_ref().and_then(|key| self.by_key.get(key)) {
            return Some(*known);
        }
        if self.nodes.len() >= MAX_NODES {
            return None;
        }
        let id = NodeId(self.nodes.len());
        if let Some(key) = &key {
            self.by_key.insert(key.clone(), id);
        }
        self.nodes.push(Node {
            key,
            agent: false,
            statements: Vec::new(),
        });
        Some(id)
    }

    /// Notes that a node is a person or a group of them.
    pub(super) fn mark_agent(&mut self, id: NodeId) {
        self.nodes[id.0].agent = true;
    }

    /// Notes a statement about a node.
    pub(super) fn state(&mut self, id: NodeId, property: Property, rank: u8, value: Value) {
        if let (Property::Author | Property::Member, Value::Node(author)) = (property, &value) {
            self.authors.insert(*author);
        }
        let statements = &mut self.nodes[id.0].statements;
        if statements.len() < MAX_STATEMENTS {
            statements.push((property, rank, value));
        }
    }

    /// What the document says of the thing at `described`.
    pub(super) fn about(&self, described: &Url, document: &Url) -> About {
        for url in [described, document] {
            if let Some(id) = self.by_key.get(&url_key(url)) {
                let about = self.about_node(&self.nodes[id.0]);
                if !about.is_empty() {
                    return about;
                }
            }
        }
        self.nodes
            .iter()
            .enumerate()
            .filter(|(index, node)| !node.agent && !self.authors.contains(&NodeId(*index)))
            .find(|(_, node)| self.title(node).is_some())
            .map(|(_, node)| self.about_node(node))
            .unwrap_or_default()
    }

    fn about_node(&self, node: &Node) -> About {
        let texts = |property| self.texts(node, property).into_iter();
        About {
            title: self.title(node),
            description: texts(Property::Description).find_map(|text| clean::description(&text)),
            authors: self.author_names(node),
            rights: texts(Property::Rights).find_map(|text| clean::description(&text)),
            language: texts(Property::Language).find_map(|text| clean::language(&text)),
        }
    }

    fn title(&self, node: &Node) -> Option<String> {
        let mut texts = self.texts(node, Property::Title).into_iter();
        texts.find_map(|text| clean::title(&text))
    }

    /// The texts of a property, the one to believe first.
    fn texts(&self, node: &Node, property: Property) -> Vec<String> {
        let mut found: Vec<(u8, bool, String)> = node
            .statements
            .iter()
            .filter(|(own, ..)| *own == property)
            .filter_map(|(_, rank, value)| match value {
                Value::Text { text, tagged } => Some((*rank, *tagged, text.clone())),
                // A licence is as good by its address as by its name.
                Value::Node(id) if property == Property::Rights => Some((
                    *rank,
                    false,
                    self.name(*id).or_else(|| self.web_address(*id))?,
                )),
                Value::Node(id) => Some((*rank, false, self.name(*id)?)),
            })
            .collect();
        found.sort_by_key(|(rank, tagged, _)| (*rank, *tagged));
        found.into_iter().map(|(_, _, text)| text).collect()
    }

    /// What a node is called in words; a node called by yet another node has no name.
    fn name(&self, id: NodeId) -> Option<String> {
        self.nodes[id.0]
            .statements
            .iter()
            .filter_map(|(property, rank, value)| match (property, value) {
                (Property::Title, Value::Text { text, tagged }) => Some(((*rank, *tagged), text)),
                _ => None,
            })
            .min_by_key(|(order, _)| *order)
            .map(|(_, text)| text.clone())
    }

    fn web_address(&self, id: NodeId) -> Option<String> {
        let key = self.nodes[id.0].key.as_ref()?;
        let is_web = key.starts_with("http://") || key.starts_with("https://");
        is_web.then(|| key.clone())
    }

    fn author_names(&self, node: &Node) -> Vec<String> {
        let mut statements: Vec<_> = node
            .statements
            .iter()
            .filter(|(property, ..)| *property == Property::Author)
            .collect();
        statements.sort_by_key(|(_, rank, _)| *rank);
        let mut names = Vec::new();
        for (_, _, value) in statements {
            match (self.author_name(value), value) {
                (None, Value::Node(id)) => {
                    // Lists of lists are not followed: nobody writes them but to make us count.
                    for item in self.members(*id) {
                        push_name(&mut names, self.author_name(item));
                    }
                }
                (name, _) => push_name(&mut names, name),
            }
        }
        names
    }

    fn author_name(&self, value: &Value) -> Option<String> {
        let name = match value {
            Value::Text { text, .. } => match Url::parse(text.trim()) {
                // An address in place of a name is a pointer that lost its type, or nothing to show.
                Ok(url) if matches!(url.scheme(), "http" | "https" | "mailto") => {
                    self.name(*self.by_key.get(&url_key(&url))?)
                }
                _ => Some(text.clone()),
            },
            Value::Node(id) => self.name(*id),
        };
        name.and_then(|name| clean::title(&name))
    }

    fn members(&self, id: NodeId) -> impl Iterator<Item = &Value> {
        let statements = self.nodes[id.0].statements.iter();
        statements
            .filter_map(|(property, _, value)| (*property == Property::Member).then_some(value))
    }
}

fn push_name(names: &mut Vec<String>, name: Option<String>) {
    if let Some(name) = name
        && names.len() < MAX_AUTHORS
        && !names.contains(&name)
    {
        names.push(name);
    }
}
