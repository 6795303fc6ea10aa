//! RDF/XML.

use super::*;
use crate::site::MAX_AUTHORS;

fn rdf(inside: &str) -> String {
    format!(
        "<?xml version='1.0'?>\n<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' \
         xmlns:t='http://purl.org/dc/terms/' xmlns:dc='http://purl.org/dc/elements/1.1/' \
         xmlns:foaf='http://xmlns.com/foaf/0.1/' xmlns:rdfs='http://www.w3.org/2000/01/rdf-schema#' \
         xmlns:s='https://schema.org/'>{inside}</rdf:RDF>"
    )
}

fn authors(inside: &str) -> Vec<String> {
    about(&rdf(&format!(
        "<rdf:Description rdf:about='/den/'>{inside}</rdf:Description>"
    )))
    .authors
}

#[test]
fn everything_that_can_be_said_is_read() {
    let about = about(&rdf(
        "<rdf:Description rdf:about='https://example.com/den/'>
           <t:title>The Fox Den</t:title><t:description>A  shrine</t:description>
           <t:creator>Ann</t:creator><t:creator>Bea</t:creator><t:creator>Ann</t:creator>
           <t:rights>CC0</t:rights><t:language>en</t:language></rdf:Description>",
    ));
    let expected = About {
        title: Some("The Fox Den".into()),
        description: Some("A shrine".into()),
        authors: vec!["Ann".into(), "Bea".into()],
        rights: Some("CC0".into()),
        language: Some("en".into()),
    };
    assert_eq!(about, expected);
}

#[test]
fn a_document_that_says_nothing_is_empty_not_wrong() {
    assert!(about(&rdf("")).is_empty());
}

#[test]
fn the_described_thing_is_found_wherever_it_stands() {
    let other = "<s:WebSite rdf:about='/other/'><s:name>Other</s:name></s:WebSite>";
    let itself = "<rdf:Description rdf:about=''><t:title>The file</t:title></rdf:Description>";
    let den = "<s:WebSite rdf:about='../den'><s:name>Den</s:name></s:WebSite>";
    assert_eq!(title(&rdf(&format!("{other}{itself}{den}"))), "Den");
    assert_eq!(title(&rdf(&format!("{other}{itself}"))), "The file");
    assert_eq!(title(&rdf(other)), "Other");
}

#[test]
fn two_descriptions_of_one_thing_are_one() {
    let about = about(&rdf("<rdf:Description rdf:about='/den/' dc:title='Den'/>\
         <rdf:Description rdf:about='/den/'><dc:creator>Ann</dc:creator></rdf:Description>"));
    assert_eq!(about.title.as_deref(), Some("Den"));
    assert_eq!(about.authors, ["Ann"]);
}

#[test]
fn xml_base_moves_the_addresses() {
    assert_eq!(
        title(&rdf(
            "<rdf:Description xml:base='https://other.example/' rdf:about='/den/' t:title='No'/>\
             <rdf:Description xml:base='https://example.com/den/x/' rdf:about='..' t:title='Yes'/>"
        )),
        "Yes"
    );
}

#[test]
fn a_person_is_not_a_title() {
    let person = "<foaf:Person><foaf:name>Ann</foaf:name></foaf:Person>\
        <rdf:Description rdf:nodeID='b'><rdf:type rdf:resource='http://xmlns.com/foaf/0.1/Person'/>\
        <foaf:name>Bea</foaf:name></rdf:Description>";
    assert!(about(&rdf(person)).is_empty());
    assert_eq!(
        title(&rdf(&format!("{person}<foaf:Document t:title='Den'/>"))),
        "Den"
    );
}

#[test]
fn authors_come_in_every_shape_of_rdf() {
    for shape in [
        "<t:creator>Ann</t:creator>",
        "<dc:creator> Ann\n</dc:creator>",
        "<t:creator><foaf:Person><foaf:name>Ann</foaf:name></foaf:Person></t:creator>",
        "<t:creator><foaf:Person foaf:name='Ann'/></t:creator>",
        "<t:creator><t:Agent rdfs:label='Ann'/></t:creator>",
        "<t:creator foaf:name='Ann'/>",
        "<t:creator rdf:parseType='Resource'><foaf:name>Ann</foaf:name></t:creator>",
        "<foaf:maker><rdf:Description rdf:about='#ann'><foaf:name>Ann</foaf:name></rdf:Description></foaf:maker>",
        "<s:author><s:Person><s:name>Ann</s:name></s:Person></s:author>",
        "<t:creator><rdf:Seq><rdf:li>Ann</rdf:li></rdf:Seq></t:creator>",
        "<t:creator><rdf:Bag><rdf:_1><foaf:Person foaf:name='Ann'/></rdf:_1></rdf:Bag></t:creator>",
        "<t:creator rdf:parseType='Collection'><foaf:Person foaf:name='Ann'/></t:creator>",
    ] {
        assert_eq!(authors(shape), ["Ann"], "{shape}");
    }
}

#[test]
fn an_author_may_be_described_elsewhere_in_the_document() {
    for (pointer, node) in [
        ("rdf:resource='#ann'", "rdf:about='#ann'"),
        ("rdf:resource='#ann'", "rdf:ID='ann'"),
        (
            "rdf:resource='https://ann.example'",
            "rdf:about='https://ann.example/'",
        ),
        ("rdf:nodeID='ann'", "rdf:nodeID='ann'"),
    ] {
        let about = about(&rdf(&format!(
            "<foaf:Person {node}><foaf:name>Ann</foaf:name></foaf:Person>\
             <rdf:Description rdf:about='/den/'><t:creator {pointer}/></rdf:Description>"
        )));
        assert_eq!(about.authors, ["Ann"], "{pointer}");
    }
}

#[test]
fn an_author_known_only_by_address_is_not_a_name() {
    assert!(authors("<t:creator rdf:resource='https://ann.example/'/>").is_empty());
    assert!(authors("<t:creator>mailto:ann@example.com</t:creator>").is_empty());
}

#[test]
fn authors_are_at_most_twenty() {
    let many: String = (0..50)
        .map(|i| format!("<t:creator>A{i}</t:creator>"))
        .collect();
    assert_eq!(authors(&many).len(), MAX_AUTHORS);
    let list: String = (0..50).map(|i| format!("<rdf:li>A{i}</rdf:li>")).collect();
    assert_eq!(
        authors(&format!("<t:creator><rdf:Seq>{list}</rdf:Seq></t:creator>")).len(),
        MAX_AUTHORS
    );
}

#[test]
fn lists_that_list_each_other_end() {
    let about = about(&rdf(
        "<rdf:Description rdf:about='/den/' t:title='Den'><t:creator rdf:resource='#a'/></rdf:Description>\
         <rdf:Seq rdf:about='#a'><rdf:li rdf:resource='#b'/><rdf:li rdf:resource='#a'/></rdf:Seq>\
         <rdf:Seq rdf:about='#b'><rdf:li rdf:resource='#a'/></rdf:Seq>",
    ));
    assert!(about.authors.is_empty());
}

#[test]
fn a_text_without_a_language_comes_before_one_with_and_the_first_before_the_second() {
    let describe = |titles: &str| {
        rdf(&format!(
            "<rdf:Description rdf:about='/den/'>{titles}</rdf:Description>"
        ))
    };
    let de = "<t:title xml:lang='de'>Bau</t:title>";
    let en = "<t:title xml:lang='en'>Den</t:title>";
    assert_eq!(title(&describe(&format!("{de}{en}"))), "Bau");
    assert_eq!(
        title(&describe(&format!("{de}{en}<t:title>Plain</t:title>"))),
        "Plain"
    );
}

#[test]
fn the_more_particular_vocabulary_wins() {
    assert_eq!(
        title(&rdf(
            "<rdf:Description rdf:about='/den/' rdfs:label='C' dc:title='B' t:title='A'/>"
        )),
        "A"
    );
}

#[test]
fn a_licence_is_named_or_given_by_address() {
    let rights = |inside: &str| {
        about(&rdf(&format!(
            "<rdf:Description rdf:about='/den/'>{inside}</rdf:Description>"
        )))
        .rights
    };
    assert_eq!(
        rights("<t:license rdf:resource='https://licence.example/by'/>").as_deref(),
        Some("https://licence.example/by")
    );
    assert_eq!(
        rights("<t:license rdf:resource='javascript:alert(1)'/>"),
        None
    );
    assert_eq!(
        rights("<t:rights><t:RightsStatement rdfs:label='All yours'/></t:rights>").as_deref(),
        Some("All yours")
    );
}

#[test]
fn one_node_may_stand_without_rdf_around_it() {
    assert_eq!(
        title("<s:WebSite xmlns:s='http://schema.org/'><s:name>Den</s:name></s:WebSite>"),
        "Den"
    );
    assert_eq!(
        title(
            "<metadata xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:title>Den</dc:title></metadata>"
        ),
        "Den"
    );
}

#[test]
fn prefixes_mean_nothing_and_namespaces_everything() {
    let swapped = "<dc:RDF xmlns:dc='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:rdf='http://purl.org/dc/terms/'>\
        <dc:Description dc:about='/den/'><rdf:title>Den</rdf:title></dc:Description></dc:RDF>";
    assert_eq!(title(swapped), "Den");
}

#[test]
fn markup_in_a_literal_becomes_words() {
    let about = about(&rdf(
        "<rdf:Description rdf:about='/den/'><t:description rdf:parseType='Literal'>A <b>red</b> fox</t:description>\
         <t:title rdf:datatype='http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML'>&lt;i>Den&lt;/i> &amp;amp; more</t:title>\
         </rdf:Description>",
    ));
    assert_eq!(about.description.as_deref(), Some("A red fox"));
    assert_eq!(about.title.as_deref(), Some("Den & more"));
}

#[test]
fn an_rss_1_channel_is_rdf() {
    assert_eq!(
        title(
            "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>\
             <channel rdf:about='https://example.com/news'><title>News</title></channel>\
             <item rdf:about='https://example.com/1'><title>One</title></item></rdf:RDF>"
        ),
        "News"
    );
}

#[test]
fn utf_16_is_read_with_and_without_a_mark() {
    let text = "<d xmlns:dc='http://purl.org/dc/terms/' dc:title='狐'/>";
    let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(units.iter().copied())
        .collect();
    for bytes in [marked, units] {
        let about = read(&bytes, None, &document(), &described()).unwrap();
        assert_eq!(about.title.as_deref(), Some("狐"));
    }
}
