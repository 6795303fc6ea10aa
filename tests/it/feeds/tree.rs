//! A document as a tree, for rules to be held against.

use std::collections::BTreeMap;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// An element, by its name as it is written.
#[derive(Debug, Default)]
pub struct Node {
    pub name: String,
    pub attributes: BTreeMap<String, String>,
    /// The text that stands directly in it.
    pub text: String,
    pub children: Vec<Node>,
}

impl Node {
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Node> {
        self.children.iter().filter(move |child| child.name == name)
    }

    pub fn one(&self, name: &str) -> Option<&Node> {
        self.children.iter().find(|child| child.name == name)
    }

    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }
}

/// The root of a document that is well-formed.
pub fn parse(text: &str) -> Node {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let mut open = vec![Node::default()];
    loop {
        let event = reader.read_event().expect("it is well-formed");
        let innermost = open.last_mut().unwrap();
        match event {
            Event::Start(tag) => open.push(element(&tag)),
            Event::Empty(tag) => innermost.children.push(element(&tag)),
            Event::End(_) => {
                let node = open.pop().unwrap();
                open.last_mut().expect("it was open").children.push(node);
            }
            Event::Text(part) => innermost.text += &part.xml10_content(),
            Event::CData(part) => innermost.text += &part.xml10_content(),
            Event::GeneralRef(reference) => {
                let character = reference.resolve_char_ref().expect("a character");
                innermost.text.push(character.unwrap_or_else(|| {
                    let known = [
                        ("amp", '&'),
                        ("lt", '<'),
                        ("gt", '>'),
                        ("quot", '"'),
                        ("apos", '\''),
                    ];
                    let found = known
                        .iter()
                        .find(|(name, _)| *name == &*reference.xml10_content());
                    found.expect("no other entity").1
                }));
            }
            Event::DocType(_) => panic!("a feed has no document type"),
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
            Event::Eof => break,
        }
    }
    assert_eq!(open.len(), 1, "every element is closed");
    let mut outside = open.pop().unwrap();
    assert_eq!(outside.text.trim(), "", "no text around the root");
    assert_eq!(outside.children.len(), 1, "one root");
    outside.children.pop().unwrap()
}

fn element(tag: &BytesStart<'_>) -> Node {
    let attribute = |attribute: quick_xml::events::attributes::Attribute<'_>| {
        let value = attribute.normalized_value(XmlVersion::Explicit1_0).unwrap();
        (attribute.key.as_ref().to_owned(), value.into_owned())
    };
    Node {
        name: tag.name().as_ref().to_owned(),
        attributes: (tag.attributes().map(Result::unwrap))
            .map(attribute)
            .collect(),
        ..Node::default()
    }
}
