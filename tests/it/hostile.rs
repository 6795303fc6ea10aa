//! Documents that were made to do harm: each is refused by name, and soon.
//!
//! Most of them are never in memory, not even here: they are made while they are read, and what is asserted is how far
//! the reader went before it had enough. Time is not asserted; it follows from that.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use sitebell::problem::Code;
use sitebell::read::resourcesync::read::MAX_ENTRIES;

use crate::reading::{Whole, read_whole};

const HEAD: &str = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' \
                    xmlns:rs='http://www.openarchives.org/rs/terms/'><rs:md capability='changelist' from='2026'/>";
const ENTRY: &str = "<url><loc>https://fox.example/den.html</loc><rs:md change='updated' datetime='2026-03-02'/></url>";
const TAIL: &str = "</urlset>";
const MEGABYTE: usize = 1024 * 1024;
/// What is read at a time, and so the least that can be read.
const CHUNK: usize = 32 * 1024;
/// The longest thing that is read as a whole, and the chunk in which it turns out to be too long.
const ONE_EVENT: usize = MEGABYTE + 3 * CHUNK;

/// A document that is made while it is read: a beginning, numbered pieces, an end.
struct Endless<F> {
    piece: F,
    next: usize,
    count: usize,
    ready: Vec<u8>,
    end: Vec<u8>,
    pulled: Rc<Cell<usize>>,
}

impl<F: Fn(usize) -> String> Read for Endless<F> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        while self.ready.len() < target.len() && self.next < self.count {
            self.ready.extend((self.piece)(self.next).bytes());
            self.next += 1;
        }
        if self.next == self.count {
            self.ready.append(&mut self.end);
        }
        let amount = self.ready.len().min(target.len());
        target[..amount].copy_from_slice(&self.ready[..amount]);
        self.ready.drain(..amount);
        self.pulled.set(self.pulled.get() + amount);
        Ok(amount)
    }
}

/// Reads such a document, and says how many bytes it took.
fn read_endless(
    begin: &str,
    count: usize,
    piece: impl Fn(usize) -> String,
    end: &str,
) -> (Whole, usize) {
    let pulled = Rc::new(Cell::new(0));
    let whole = read_whole(Endless {
        piece,
        next: 0,
        count,
        ready: begin.as_bytes().to_vec(),
        end: end.as_bytes().to_vec(),
        pulled: pulled.clone(),
    });
    (whole, pulled.get())
}

#[test]
fn a_hundred_thousand_levels_are_refused_in_the_first_chunk() {
    for piece in ["<x>", "<url>", "<loc>", "<rs:md capability='changelist'>"] {
        let (whole, pulled) = read_endless(HEAD, 100_000, |_| piece.to_owned(), "");
        assert_eq!(whole.refusal(), Code::TooComplex, "{piece}");
        assert!(pulled <= CHUNK, "{pulled} bytes");
    }
}

#[test]
fn two_hundred_thousand_attributes_are_refused() {
    for name in ["a", "rs:a", "change"] {
        let attribute = |number| format!(" {name}{number}=''");
        let (whole, pulled) =
            read_endless(&format!("{HEAD}<rs:md"), 200_000, attribute, "/></urlset>");
        assert_eq!(whole.refusal(), Code::TooComplex);
        assert!(pulled <= ONE_EVENT, "{pulled} bytes");
    }
    // As many as fit into one event are counted, too.
    let (whole, _) = read_endless(
        &format!("{HEAD}<rs:md"),
        65,
        |n| format!(" a{n}=''"),
        "/></urlset>",
    );
    assert_eq!(whole.refusal(), Code::TooComplex);
    let (whole, _) = read_endless(
        &format!("{HEAD}<rs:md"),
        64,
        |n| format!(" a{n}=''"),
        "/></urlset>",
    );
    assert!(whole.result.is_ok());
}

#[test]
fn fifty_thousand_prefixes_are_refused() {
    let prefix = |number| format!(" xmlns:p{number}='urn:{number}'");
    let (whole, pulled) = read_endless("<urlset", 50_000, prefix, "/>");
    assert_eq!(whole.refusal(), Code::TooComplex);
    assert!(pulled <= ONE_EVENT, "{pulled} bytes");
    let (whole, _) = read_endless("<urlset", 40, prefix, "/>");
    assert_eq!(whole.refusal(), Code::TooComplex);
}

#[test]
fn fifty_thousand_prefixes_one_after_the_other_do_not_pile_up() {
    let element = |number| format!("<p{number}:x xmlns:p{number}='urn:{number}' p{number}:a=''/>");
    let (whole, _) = read_endless(HEAD, 50_000, element, TAIL);
    assert!(whole.result.is_ok());
}

#[test]
fn an_attribute_of_ten_megabytes_is_refused_after_one() {
    for begin in ["<urlset a='", "<urlset xmlns='"] {
        let (whole, pulled) = read_endless(begin, 10 * 1024, |_| "x".repeat(1024), "'/>");
        assert_eq!(whole.refusal(), Code::TooComplex, "{begin}");
        assert!(pulled <= ONE_EVENT, "{pulled} bytes");
        let (whole, _) = read_endless(begin, 9, |_| "x".repeat(1024), "'/>");
        assert_eq!(whole.refusal(), Code::TooComplex, "{begin}");
    }
}

#[test]
fn sixty_megabytes_of_anything_in_one_piece_are_refused_after_one() {
    for (begin, end) in [
        (format!("{HEAD}<url><loc>"), "</loc></url></urlset>"),
        (
            format!("{HEAD}<url><loc><![CDATA["),
            "]]></loc></url></urlset>",
        ),
        (format!("{HEAD}<!--"), "--></urlset>"),
        (format!("{HEAD}<?x "), "?></urlset>"),
        (format!("{HEAD}<"), "/></urlset>"),
        (format!("{HEAD}</"), ">"),
        (format!("{HEAD}&"), ";</urlset>"),
        ("<!DOCTYPE x [".to_owned(), "]><x/>"),
        ("<".to_owned(), "/>"),
        (String::new(), HEAD),
    ] {
        for filling in ["x", " ", "\n"] {
            let (whole, pulled) = read_endless(&begin, 60 * 1024, |_| filling.repeat(1024), end);
            let case = format!("{}{filling:?}", begin.replace(HEAD, ""));
            assert_eq!(whole.refusal(), Code::TooComplex, "{case}");
            assert!(pulled <= ONE_EVENT, "{case}: {pulled} bytes");
        }
    }
}

#[test]
fn sixty_megabytes_of_text_in_many_pieces_cost_the_entry_and_no_memory() {
    let piece = |_| format!("<![CDATA[{}]]>&amp;", "x".repeat(10_000));
    let begin = format!("{HEAD}{ENTRY}<url><loc>https://fox.example/");
    let end = format!("</loc><rs:md change='updated' datetime='2026-03-02'/></url>{ENTRY}{TAIL}");
    let (whole, pulled) = read_endless(&begin, 6_000, piece, &end);
    assert!(pulled > 60_000_000);
    assert_eq!(whole.codes(), [Code::BadLoc]);
    assert_eq!((whole.handed_on.len(), whole.reading().ignored), (2, 1));
}

#[test]
fn fifty_thousand_entries_are_read_and_one_more_is_refused() {
    let entry = |_| ENTRY.to_owned();
    let (whole, _) = read_endless(HEAD, MAX_ENTRIES, entry, TAIL);
    assert_eq!(whole.reading().handed_on, MAX_ENTRIES);
    let (whole, _) = read_endless(HEAD, MAX_ENTRIES + 1, entry, TAIL);
    assert_eq!(whole.refusal(), Code::TooManyEntries);
    assert_eq!(whole.handed_on.len(), MAX_ENTRIES);
}

#[test]
fn entries_are_counted_even_if_they_are_empty_or_wait_for_their_metadata() {
    let plain = HEAD.replace("<rs:md capability='changelist' from='2026'/>", "");
    for (begin, piece, end) in [
        (HEAD, "<url/>", TAIL),
        (
            plain.as_str(),
            ENTRY,
            "<rs:md capability='changelist'/></urlset>",
        ),
    ] {
        let (whole, pulled) = read_endless(begin, 1_000_000, |_| piece.to_owned(), end);
        assert_eq!(whole.refusal(), Code::TooManyEntries);
        assert!(whole.handed_on.is_empty());
        assert!(pulled <= (MAX_ENTRIES + 1) * piece.len() + 2 * CHUNK);
    }
}

#[test]
fn links_and_metadata_without_end_do_not_pile_up() {
    let link = |number| format!("<rs:ln rel='alternate' href='https://fox.example/{number}'/>");
    let (whole, _) = read_endless(HEAD, 100_000, link, TAIL);
    assert_eq!(whole.reading().document.links.len(), 64);
    let begin = format!(
        "{HEAD}<url><loc>https://fox.example/</loc><rs:md change='updated' datetime='2026'/>"
    );
    let end = format!("</url>{ENTRY}{TAIL}");
    let (whole, _) = read_endless(&begin, 100_000, link, &end);
    assert_eq!(whole.handed_on[0].details.links.len(), 64);
    let metadata = |_| "<rs:md length='7'/>".to_owned();
    let (whole, _) = read_endless(&begin, 100_000, metadata, &end);
    assert_eq!(
        (whole.handed_on.len(), whole.codes()),
        (2, vec![Code::RepeatedMetadata])
    );
}

#[test]
fn a_hundred_thousand_problems_are_one() {
    let entry = |number| format!("<url><loc>ftp://fox.example/{number}</loc></url>");
    let (whole, _) = read_endless(HEAD, MAX_ENTRIES, entry, TAIL);
    let problems: Vec<_> = whole.problems.iter().collect();
    assert_eq!((problems.len(), problems[0].count), (1, 50_000));
    let link = |_| "<rs:ln rel='up'/><x:url xmlns:x='urn:x'/>".to_owned();
    let (whole, _) = read_endless(HEAD, 100_000, link, TAIL);
    assert_eq!(whole.codes(), [Code::BadLink, Code::EntryNamespace]);
}

#[test]
fn every_kind_of_entity_bomb_is_refused_at_its_doctype() {
    let laughs: String = (1..10)
        .map(|n| format!("<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10)))
        .collect();
    for document in [
        format!("<!DOCTYPE urlset [<!ENTITY l0 \"yip\">{laughs}]>{HEAD}&l9;{TAIL}"),
        format!(
            "<!DOCTYPE urlset [<!ENTITY a \"{}\">]>{HEAD}{}{TAIL}",
            "x".repeat(5000),
            "&a;".repeat(5000)
        ),
        format!("<!DOCTYPE urlset [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>{HEAD}&a;{TAIL}"),
        format!(
            "<!DOCTYPE urlset [<!ENTITY % a SYSTEM \"http://169.254.169.254/\">%a;]>{HEAD}{TAIL}"
        ),
        format!("<!DOCTYPE urlset PUBLIC \"-//x\" \"http://elsewhere.example/x.dtd\">{HEAD}{TAIL}"),
        format!("<!doctype urlset>{HEAD}{TAIL}"),
        format!("{HEAD}<!DOCTYPE urlset>{TAIL}"),
        format!("{HEAD}{TAIL}<!DOCTYPE urlset>"),
    ] {
        let whole = read_whole(document.as_bytes());
        assert_eq!(whole.refusal(), Code::Doctype, "{}", &document[..80]);
    }
}

#[test]
fn references_that_only_a_doctype_could_define_are_refused() {
    for reference in ["&a;", "&nbsp;", "&AMP;", "&xxe;"] {
        for document in [
            format!("{HEAD}{reference}{TAIL}"),
            format!("{HEAD}<url a='{reference}'/>{TAIL}"),
        ] {
            assert_eq!(
                read_whole(document.as_bytes()).refusal(),
                Code::Doctype,
                "{document}"
            );
        }
    }
}

#[test]
fn every_character_that_xml_forbids_is_refused_raw_and_as_a_reference() {
    for number in (0..=0x20u32).chain([0xFFFE, 0xFFFF, 0xFFFD, 0x85, 0x10FFFF]) {
        let character = char::from_u32(number).unwrap();
        let allowed = matches!(number, 9 | 10 | 13 | 0x20 | 0xFFFD | 0x85 | 0x10FFFF);
        for written in [
            character.to_string(),
            format!("&#{number};"),
            format!("&#x{number:x};"),
            format!("&#x000{number:X};"),
        ] {
            for document in [
                format!("{HEAD}<x>{written}</x>{TAIL}"),
                format!("{HEAD}<x a='{written}'/>{TAIL}"),
                format!("{HEAD}<url><loc>https://fox.example/{written}</loc></url>{TAIL}"),
            ] {
                let whole = read_whole(document.as_bytes());
                match allowed {
                    true => assert!(whole.result.is_ok(), "U+{number:04X} in {document}"),
                    false => assert_eq!(
                        whole.refusal(),
                        Code::BadEncoding,
                        "U+{number:04X} in {document}"
                    ),
                }
            }
        }
        let raw = format!(
            "{HEAD}<!--{character}--><?x {character}?><y><![CDATA[{character}]]></y>{TAIL}"
        );
        assert_eq!(
            read_whole(raw.as_bytes()).result.is_ok(),
            allowed,
            "U+{number:04X}"
        );
    }
}

#[test]
fn references_to_no_character_are_refused() {
    for number in ["#xD800", "#xDFFF", "#x110000", "#1114112"] {
        let document = format!("{HEAD}&{number};{TAIL}");
        assert_eq!(
            read_whole(document.as_bytes()).refusal(),
            Code::BadEncoding,
            "{number}"
        );
    }
    for reference in [
        "&;",
        "&#;",
        "&#x;",
        "&#-1;",
        "&#+65;",
        "&#99999999999;",
        "& ",
        "&#X41;",
    ] {
        let document = format!("{HEAD}{reference}{TAIL}");
        assert_eq!(
            read_whole(document.as_bytes()).refusal(),
            Code::BareAmpersand,
            "{reference}"
        );
    }
}

#[test]
fn names_of_a_megabyte_do_not_come_back_as_messages_of_a_megabyte() {
    let name = "x".repeat(900_000);
    for document in [
        format!("{HEAD}<{name}>{TAIL}"),
        format!("{HEAD}<{name} a=1/>{TAIL}"),
        format!("{HEAD}<{name}:a/>{TAIL}"),
        format!("{HEAD}</{name}>{TAIL}"),
        format!("<{name}/>"),
        format!("<{name}>"),
        format!("<urlset xmlns='{}'/>", &name[..8000]),
        format!("{HEAD}&{};{TAIL}", &name[..60_000]),
    ] {
        let problem = read_whole(document.as_bytes()).result.unwrap_err();
        assert!(
            problem.message.len() < 3000,
            "{} bytes",
            problem.message.len()
        );
    }
}

#[test]
fn a_web_page_is_refused_in_the_first_chunk() {
    for begin in [
        "<!DOCTYPE html><html><body>",
        "<html><body>",
        "<HTML>",
        "Not found",
    ] {
        let (whole, pulled) = read_endless(begin, 60 * 1024, |_| "<p>gone<br>".repeat(100), "");
        assert_eq!(whole.refusal(), Code::NotXml, "{begin}");
        assert!(pulled <= CHUNK, "{pulled} bytes");
    }
}

/// Gives one byte at a time, and then fails.
struct Drip<'a> {
    bytes: &'a [u8],
    fails: bool,
}

impl Read for Drip<'_> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                target[0] = *first;
                self.bytes = rest;
                Ok(1)
            }
            None if self.fails => Err(io::ErrorKind::ConnectionReset.into()),
            None => Ok(0),
        }
    }
}

#[test]
fn a_document_that_comes_byte_by_byte_is_the_same_document() {
    let text = format!("{HEAD}{}{TAIL}", ENTRY.repeat(20));
    let whole = read_whole(Drip {
        bytes: text.as_bytes(),
        fails: false,
    });
    assert_eq!(whole.handed_on, read_whole(text.as_bytes()).handed_on);
    assert_eq!(whole.handed_on.len(), 20);
}

#[test]
fn a_connection_that_breaks_is_never_the_end_of_a_document() {
    for text in [
        format!("{HEAD}{ENTRY}{TAIL}"),
        format!("{HEAD}{ENTRY}"),
        String::new(),
    ] {
        let whole = read_whole(Drip {
            bytes: text.as_bytes(),
            fails: true,
        });
        assert_eq!(whole.refusal(), Code::CutOff, "{text}");
    }
}
