//! The names that the world has for a title, a description, an author, rights and a language.
//!
//! A rank says which name to believe when several are given: 0 is the most particular to the purpose.

/// What a statement is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Property {
    Title,
    Description,
    Author,
    Rights,
    Language,
    /// An item of a list of authors that is a node of its own.
    Member,
}

/// The namespace of RDF itself.
pub(super) const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";

pub(super) const TERMS: &str = "http://purl.org/dc/terms/";
const ELEMENTS: &str = "http://purl.org/dc/elements/1.1/";
const FOAF: &str = "http://xmlns.com/foaf/0.1/";
const RDFS: &str = "http://www.w3.org/2000/01/rdf-schema#";
const RSS_1: &str = "http://purl.org/rss/1.0/";
const SCHEMA: &str = "https://schema.org/";
const SCHEMA_HTTP: &str = "http://schema.org/";

/// Prefixes so common that documents use them without saying what they stand for.
const PREFIXES: [(&str, &str); 8] = [
    ("dcterms", TERMS),
    ("dct", TERMS),
    ("dc", ELEMENTS),
    ("dc11", ELEMENTS),
    ("foaf", FOAF),
    ("rdf", RDF),
    ("rdfs", RDFS),
    ("schema", SCHEMA),
];

/// The namespace that a prefix means when nobody says otherwise.
pub(super) fn well_known_prefix(prefix: &str) -> Option<&'static str> {
    let known = PREFIXES.iter().find(|(name, _)| *name == prefix);
    known.map(|(_, namespace)| *namespace)
}

/// What a property says, given its full address, and how much to believe it.
pub(super) fn property(iri: &str) -> Option<(Property, u8)> {
    let (namespace, name) = split(iri)?;
    Some(match (namespace, name) {
        (TERMS, "title") => (Property::Title, 0),
        (ELEMENTS, "title") => (Property::Title, 1),
        (SCHEMA, "name") => (Property::Title, 2),
        (FOAF, "name") => (Property::Title, 3),
        (RSS_1, "title") => (Property::Title, 4),
        (SCHEMA, "headline") => (Property::Title, 5),
        (RDFS, "label") => (Property::Title, 6),
        (FOAF, "nick") => (Property::Title, 7),
        (RDF, "value") => (Property::Title, 8),
        (TERMS, "description") => (Property::Description, 0),
        (ELEMENTS, "description") => (Property::Description, 1),
        (SCHEMA, "description") => (Property::Description, 2),
        (TERMS, "abstract") => (Property::Description, 3),
        (RSS_1, "description") => (Property::Description, 4),
        (RDFS, "comment") => (Property::Description, 5),
        (TERMS, "creator") => (Property::Author, 0),
        (ELEMENTS, "creator") => (Property::Author, 1),
        (SCHEMA, "author") => (Property::Author, 2),
        (SCHEMA, "creator") => (Property::Author, 3),
        (FOAF, "maker") => (Property::Author, 4),
        (TERMS, "rights") => (Property::Rights, 0),
        (ELEMENTS, "rights") => (Property::Rights, 1),
        (SCHEMA, "copyrightNotice") => (Property::Rights, 2),
        (TERMS, "license") => (Property::Rights, 3),
        (SCHEMA, "license") => (Property::Rights, 4),
        (TERMS, "language") => (Property::Language, 0),
        (ELEMENTS, "language") => (Property::Language, 1),
        (SCHEMA, "inLanguage") => (Property::Language, 2),
        (RDF, "li") => (Property::Member, 0),
        (RDF, name) if is_numbered(name) => (Property::Member, 0),
        _ => return None,
    })
}

/// What a key of plain JSON says, or of JSON-LD whose context is elsewhere and is not fetched.
pub(super) fn plain_property(name: &str) -> Option<(Property, u8)> {
    Some(match name {
        "title" => (Property::Title, 0),
        "name" => (Property::Title, 2),
        "headline" => (Property::Title, 5),
        "label" => (Property::Title, 6),
        "description" => (Property::Description, 2),
        "abstract" => (Property::Description, 3),
        "summary" => (Property::Description, 4),
        "author" | "authors" => (Property::Author, 2),
        "creator" | "creators" => (Property::Author, 3),
        "rights" => (Property::Rights, 0),
        "copyrightNotice" | "copyright" => (Property::Rights, 2),
        "license" => (Property::Rights, 4),
        "language" | "inLanguage" | "lang" => (Property::Language, 2),
        _ => return None,
    })
}

/// Whether a type, as a full address or a bare name, is that of people: their name is not a site's title.
pub(super) fn is_agent(kind: &str) -> bool {
    let name = match split(kind) {
        Some((FOAF | SCHEMA | TERMS, name)) => name,
        Some(_) => return false,
        None => kind,
    };
    matches!(name, "Person" | "Agent" | "Organization" | "Group")
}

/// Whether a property is the address of the thing itself on the web.
pub(super) fn is_address(iri: &str) -> bool {
    iri == "url" || split(iri) == Some((SCHEMA, "url"))
}

fn split(iri: &str) -> Option<(&'static str, &str)> {
    if let Some(name) = iri.strip_prefix(SCHEMA_HTTP) {
        return Some((SCHEMA, name));
    }
    [TERMS, ELEMENTS, SCHEMA, FOAF, RDFS, RDF, RSS_1]
        .into_iter()
        .find_map(|namespace| Some((namespace, iri.strip_prefix(namespace)?)))
}

/// `_1`, `_2` and so on: the items of a list in their long form.
fn is_numbered(name: &str) -> bool {
    name.strip_prefix('_')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_org_is_one_vocabulary_under_two_schemes() {
        assert_eq!(
            property("http://schema.org/name"),
            property("https://schema.org/name")
        );
        assert_eq!(
            property("https://schema.org/name"),
            Some((Property::Title, 2))
        );
    }

    #[test]
    fn a_title_of_honour_is_not_a_title() {
        assert_eq!(property("http://xmlns.com/foaf/0.1/title"), None);
    }

    #[test]
    fn people_are_known_by_their_type() {
        assert!(is_agent("http://xmlns.com/foaf/0.1/Person"));
        assert!(is_agent("Organization"));
        assert!(!is_agent("https://schema.org/WebSite"));
        assert!(!is_agent("https://other.example/Person"));
    }
}
