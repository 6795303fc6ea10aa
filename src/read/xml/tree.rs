//! A small XML document as a tree, for metadata that is looked at rather than streamed.

use std::io::Read;

use super::{Item, XmlError, XmlReader};

/// An element with everything inside it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Element {
    /// The namespace URI; empty if there is none.
    pub namespace: String,
    /// The name without its prefix.
    pub name: String,
    /// Attributes, without the namespace declarations.
    pub attributes: Vec<Attribute>,
    /// Elements and text in document order.
    pub children: Vec<Node>,
}

/// An attribute with its namespace resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// The namespace URI; empty for an attribute without a prefix.
    pub namespace: String,
    /// The name without its prefix.
    pub name: String,
    /// The value with its references resolved.
    pub value: String,
}

/// What an element contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// An element.
    Element(Element),
    /// Text; neighbouring pieces are joined.
    Text(String),
}

impl Element {
    /// The value of the attribute `name` that has no namespace.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attribute_ns("", name)
    }

    /// The value of an attribute of a namespace.
    pub fn attribute_ns(&self, namespace: &str, name: &str) -> Option<&str> {
        let found = self
            .attributes
            .iter()
            .find(|a| a.name == name && a.namespace == namespace);
        found.map(|attribute| attribute.value.as_str())
    }

    /// The child elements.
    pub fn elements(&self) -> impl Iterator<Item = &Element> {
        self.children.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// All the text inside, in document order.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.collect_text(&mut text);
        text
    }

    // The depth of a tree is bounded by `super::MAX_DEPTH`, and so is this recursion.
    fn collect_text(&self, text: &mut String) {
        for node in &self.children {
            match node {
                Node::Element(element) => element.collect_text(text),
                Node::Text(piece) => text.push_str(piece),
            }
        }
    }
}

/// Reads a whole document; the caller bounds its size.
pub fn parse(source: impl Read) -> Result<Element, XmlError> {
    let mut reader = XmlReader::new(source);
    let mut open: Vec<Element> = Vec::new();
    let mut root = Element::default();
    loop {
        let next = match reader.next() {
            Ok(item) => item,
            Err(what) => {
                return Err(XmlError {
                    what,
                    line: reader.line(),
                });
            }
        };
        let closed = match next {
            Item::Open(tag) => {
                let element = Element {
                    namespace: tag.namespace().to_owned(),
                    name: tag.name().to_owned(),
                    attributes: tag
                        .attributes()
                        .map(|(namespace, name, value)| Attribute {
                            namespace: namespace.to_owned(),
                            name: name.to_owned(),
                            value: value.to_owned(),
                        })
                        .collect(),
                    children: Vec::new(),
                };
                if tag.is_empty() {
                    Some(element)
                } else {
                    open.push(element);
                    None
                }
            }
            Item::Close => open.pop(),
            Item::Text(text) => {
                if let Some(parent) = open.last_mut() {
                    match parent.children.last_mut() {
                        Some(Node::Text(before)) => before.push_str(text),
                        _ => parent.children.push(Node::Text(text.to_owned())),
                    }
                }
                None
            }
            Item::Skipped => None,
            Item::End => return Ok(root),
        };
        if let Some(element) = closed {
            match open.last_mut() {
                Some(parent) => parent.children.push(Node::Element(element)),
                None => root = element,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_attributes_and_text_are_where_they_were() {
        let root = parse(
            r#"<a xmlns="urn:a" xmlns:b="urn:b" x="1" b:x="2"><b:c>one &amp; <![CDATA[<two>]]></b:c><d/>three</a>"#
                .as_bytes(),
        )
        .unwrap();
        assert_eq!(
            (root.namespace.as_str(), root.name.as_str()),
            ("urn:a", "a")
        );
        assert_eq!(root.attribute("x"), Some("1"));
        assert_eq!(root.attribute_ns("urn:b", "x"), Some("2"));
        assert_eq!(root.attributes.len(), 2);
        let names: Vec<_> = root
            .elements()
            .map(|e| (e.namespace.as_str(), e.name.as_str()))
            .collect();
        assert_eq!(names, [("urn:b", "c"), ("urn:a", "d")]);
        assert_eq!(root.text(), "one & <two>three");
    }

    #[test]
    fn xml_lang_has_the_namespace_that_needs_no_declaration() {
        let root = parse(r#"<a xml:lang="de"/>"#.as_bytes()).unwrap();
        assert_eq!(
            root.attribute_ns("http://www.w3.org/XML/1998/namespace", "lang"),
            Some("de")
        );
    }
}
