//! [`About`] to bytes: RDF/XML with Dublin Core, which [`super::read`] believes first.

use std::fmt::Write as _;

use super::vocabulary::{RDF, TERMS};
use crate::read::resourcesync::write::escape;
use crate::site::About;

/// Describes things by their addresses, in one document.
pub fn write<'a>(things: impl IntoIterator<Item = (&'a str, &'a About)>) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<rdf:RDF xmlns:rdf=\"{RDF}\" xmlns:dcterms=\"{TERMS}\">"
    );
    for (address, about) in things {
        let _ = writeln!(
            text,
            "  <rdf:Description rdf:about=\"{}\">",
            escape(address)
        );
        let mut say = |name: &str, value: &str| {
            let value = escape(value);
            let _ = writeln!(text, "    <dcterms:{name}>{value}</dcterms:{name}>");
        };
        let said = |value: &'a Option<String>| value.as_deref().into_iter();
        said(&about.title).for_each(|value| say("title", value));
        (about.authors.iter()).for_each(|value| say("creator", value));
        said(&about.description).for_each(|value| say("description", value));
        said(&about.rights).for_each(|value| say("rights", value));
        said(&about.language).for_each(|value| say("language", value));
        text.push_str("  </rdf:Description>\n");
    }
    text.push_str("</rdf:RDF>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use url::Url;

    #[test]
    fn what_is_written_is_read_again() {
        let about = About {
            title: Some("Fox & <Den>".into()),
            description: Some("All \"about\" foxes".into()),
            authors: vec!["Kit".into(), "Vix".into()],
            rights: Some("CC0".into()),
            language: Some("en".into()),
        };
        let other = About {
            title: Some("Owls".into()),
            ..About::default()
        };
        let here = "https://fox.example/?a&b";
        let text = write([(here, &about), ("https://fox.example/owl/", &other)]);
        let url = Url::parse("https://fox.example/about.xml").unwrap();
        let read = |of: &str| super::super::read(text.as_bytes(), None, &url, &of.parse().unwrap());
        assert_eq!(read(here).unwrap(), about);
        assert_eq!(read("https://fox.example/owl/").unwrap(), other);
    }
}
