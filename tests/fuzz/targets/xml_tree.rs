//! Any bytes as an XML document: what we accept, quick-xml reads in the same way.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};
use sitebell::read::xml::tree::{Element, Node, parse};

/// Our reading, written down: names without prefixes, values, text.
fn ours(element: &Element, outline: &mut String) {
    outline.push_str(&format!("<{}", element.name));
    for attribute in &element.attributes {
        outline.push_str(&format!(" {}={}", attribute.name, attribute.value));
    }
    outline.push('>');
    for child in &element.children {
        match child {
            Node::Element(element) => ours(element, outline),
            Node::Text(text) => outline.push_str(text),
        }
    }
    outline.push_str("</>");
}

/// The same by quick-xml.
fn theirs(text: &str) -> Result<String, Box<dyn std::error::Error>> {
    fn open(tag: &BytesStart<'_>, outline: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        outline.push_str(&format!("<{}", without_prefix(tag.name().as_ref())));
        for attribute in tag.attributes() {
            let attribute = attribute?;
            let key = attribute.key.as_ref();
            if key != "xmlns" && !key.starts_with("xmlns:") {
                let value = unescape(&attribute.value)?;
                outline.push_str(&format!(" {}={value}", without_prefix(key)));
            }
        }
        outline.push('>');
        Ok(())
    }
    let mut reader = quick_xml::Reader::from_str(text);
    reader.config_mut().check_comments = true;
    let (mut outline, mut depth) = (String::new(), 0);
    loop {
        match reader.read_event()? {
            Event::Start(tag) => {
                depth += 1;
                open(&tag, &mut outline)?;
            }
            Event::Empty(tag) => {
                open(&tag, &mut outline)?;
                outline.push_str("</>");
            }
            Event::End(_) => {
                depth -= 1;
                outline.push_str("</>");
            }
            Event::Text(text) if depth > 0 => outline.push_str(&text),
            Event::CData(text) if depth > 0 => outline.push_str(&text),
            Event::GeneralRef(name) => outline.push_str(&unescape(&format!("&{};", &*name))?),
            Event::Eof => return Ok(outline),
            _ => {}
        }
    }
}

fn without_prefix(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, name)| name)
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(root) = parse(bytes) else {
        return;
    };
    // quick-xml is given text, so only what is UTF-8 for us too can be compared.
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if text.contains("encoding") || text.contains('\0') {
        return;
    }
    let mut outline = String::new();
    ours(&root, &mut outline);
    assert_eq!(theirs(text).expect("we accepted it"), outline);
});
