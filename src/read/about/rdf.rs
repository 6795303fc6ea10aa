//! RDF/XML, and any XML that uses its vocabularies, as statements.
//!
//! Reads the striped syntax in full as far as names and texts are concerned: typed nodes, nested nodes, property
//! attributes, lists, `rdf:resource`, `rdf:nodeID`, `rdf:parseType`. Reification and datatypes are passed over, all but HTML
//! literals, whose markup is removed.

use url::Url;

use super::graph::{Graph, NodeId, Value, url_key};
use super::vocabulary::{self, RDF};
use crate::read::html;
use crate::read::xml::tree::Element;

const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// The statements under `root` in the document at `url`.
pub(super) fn read(root: &Element, url: &Url) -> Graph {
    let mut graph = Graph::default();
    let scope = Scope {
        base: url.clone(),
        tagged: false,
    };
    let scope = scope.inside(root);
    if is_rdf(root, "RDF") {
        for element in root.elements() {
            node(element, &scope, &mut graph);
        }
    } else {
        // A document about one thing may leave out rdf:RDF.
        node(root, &scope, &mut graph);
    }
    graph
}

/// Whether an element has this name in RDF's own namespace.
pub(super) fn is_rdf(element: &Element, name: &str) -> bool {
    element.namespace == RDF && element.name == name
}

/// What an element inherits from those around it.
#[derive(Debug, Clone)]
struct Scope {
    base: Url,
    /// Whether `xml:lang` is in force.
    tagged: bool,
}

impl Scope {
    fn inside(&self, element: &Element) -> Self {
        let mut scope = self.clone();
        if let Some(base) = element.attribute_ns(XML, "base")
            && let Ok(base) = self.base.join(base)
        {
            scope.base = base;
        }
        if let Some(language) = element.attribute_ns(XML, "lang") {
            scope.tagged = !language.is_empty();
        }
        scope
    }

    fn key(&self, reference: &str) -> Option<String> {
        self.base.join(reference.trim()).ok().as_ref().map(url_key)
    }

    fn text(&self, text: String) -> Value {
        Value::Text {
            text,
            tagged: self.tagged,
        }
    }
}

/// Reads a node element. The depth of the recursion is that of the tree, which is bounded.
fn node(element: &Element, scope: &Scope, graph: &mut Graph) -> Option<NodeId> {
    let scope = scope.inside(element);
    let rdf = |name| element.attribute_ns(RDF, name);
    let key = if let Some(about) = rdf("about").or_else(|| element.attribute("about")) {
        scope.key(about)
    } else if let Some(id) = rdf("ID") {
        scope.key(&format!("#{id}"))
    } else {
        rdf("nodeID").map(blank_key)
    };
    let id = graph.node(key)?;
    if vocabulary::is_agent(&iri(&element.namespace, &element.name)) {
        graph.mark_agent(id);
    }
    property_attributes(element, id, &scope, graph);
    for child in element.elements() {
        property(child, id, &scope, graph);
    }
    Some(id)
}

fn property_attributes(element: &Element, subject: NodeId, scope: &Scope, graph: &mut Graph) {
    for attribute in &element.attributes {
        let name = iri(&attribute.namespace, &attribute.name);
        if let Some((property, rank)) = vocabulary::property(&name) {
            graph.state(subject, property, rank, scope.text(attribute.value.clone()));
        }
    }
}

/// Reads one property element of the node `subject`.
fn property(element: &Element, subject: NodeId, scope: &Scope, graph: &mut Graph) {
    let scope = scope.inside(element);
    if is_rdf(element, "type") {
        if element
            .attribute_ns(RDF, "resource")
            .is_some_and(vocabulary::is_agent)
        {
            graph.mark_agent(subject);
        }
        return;
    }
    let values = values(element, &scope, graph);
    if let Some((property, rank)) = vocabulary::property(&iri(&element.namespace, &element.name)) {
        for value in values {
            graph.state(subject, property, rank, value);
        }
    }
}

/// The values of a property element; whatever it nests is read on the way, known property or not.
fn values(element: &Element, scope: &Scope, graph: &mut Graph) -> Vec<Value> {
    let rdf = |name| element.attribute_ns(RDF, name);
    match rdf("parseType") {
        Some("Resource") => {
            let Some(id) = graph.node(None) else {
                return Vec::new();
            };
            for child in element.elements() {
                property(child, id, scope, graph);
            }
            return vec![Value::Node(id)];
        }
        Some("Literal") => return vec![scope.text(element.text())],
        // "Collection" is one nested node after the other, as below.
        _ => {}
    }
    let reference = rdf("resource")
        .and_then(|resource| scope.key(resource))
        .or_else(|| rdf("nodeID").map(blank_key));
    let described = element
        .attributes
        .iter()
        .any(|own| vocabulary::property(&iri(&own.namespace, &own.name)).is_some());
    if reference.is_some() || described {
        let Some(id) = graph.node(reference) else {
            return Vec::new();
        };
        property_attributes(element, id, scope, graph);
        return vec![Value::Node(id)];
    }
    let nested: Vec<Value> = element
        .elements()
        .filter_map(|child| Some(Value::Node(node(child, scope, graph)?)))
        .collect();
    if !nested.is_empty() {
        return nested;
    }
    let text = element.text();
    let is_html = rdf("datatype") == Some("http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML");
    vec![scope.text(if is_html {
        html::plain_text(&text)
    } else {
        text
    })]
}

fn blank_key(label: &str) -> String {
    format!("_:{label}")
}

fn iri(namespace: &str, name: &str) -> String {
    format!("{namespace}{name}")
}
