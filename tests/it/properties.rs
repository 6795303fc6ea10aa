//! What holds for any document: written and read back, disguised, cut off, mutilated.

use proptest::prelude::*;
use proptest::sample::select;
use sitebell::problem::{Code, Severity};
use sitebell::read::resourcesync::read::MAX_ENTRIES;
use sitebell::read::resourcesync::{Capability, Document, Entry, write};

use crate::any_document::{any_change_list, any_document};
use crate::disguise::{Encoding, Style, disguise};
use crate::reading::{Whole, read_whole, without_lines};

fn any_style() -> impl Strategy<Value = Style> {
    let prefixes = [
        ("", "rs"),
        ("sm", "rs"),
        ("rs", "sm"),
        ("rs", ""),
        ("a", "b"),
    ];
    let encodings = [
        Encoding::Utf8,
        Encoding::Utf8WithMark,
        Encoding::Utf16 { big: true },
        Encoding::Utf16 { big: false },
    ];
    (
        any::<u64>(),
        select(prefixes.to_vec()),
        select(encodings.to_vec()),
    )
        .prop_map(|(seed, prefixes, encoding)| Style {
            seed,
            sitemap_prefix: prefixes.0,
            rs_prefix: prefixes.1,
            encoding,
        })
}

/// Whether the reader hands an entry on instead of keeping it.
fn is_handed_on(document: &Document, entry: &Entry) -> bool {
    !document.is_index
        && match document.capability {
            Capability::ChangeList => entry.change.is_some(),
            Capability::ResourceList => true,
            _ => false,
        }
}

/// That a reading is the document, each entry where it belongs and none missing.
fn assert_is(whole: &Whole, document: &Document) -> Result<(), TestCaseError> {
    let mut read = whole.reading().document.clone();
    read.entries = without_lines(&read.entries);
    let (handed_on, entries) = document
        .entries
        .iter()
        .cloned()
        .partition(|entry| is_handed_on(document, entry));
    let expected = Document {
        entries,
        ..document.clone()
    };
    prop_assert_eq!(read, expected);
    prop_assert_eq!(whole.changes(), handed_on);
    prop_assert_eq!(whole.reading().ignored, 0);
    Ok(())
}

/// Entries that cost themselves and nothing else, with what is said about them.
const BAD_ENTRIES: &[(&str, Code)] = &[
    ("<url/>", Code::NoLoc),
    (
        "<url><loc> </loc><rs:md change='updated' datetime='2026'/></url>",
        Code::NoLoc,
    ),
    (
        "<url><loc>https://a.example/</loc><loc>https://b.example/</loc></url>",
        Code::SeveralLocs,
    ),
    (
        "<url><loc>javascript:x</loc><rs:md change='updated' datetime='2026'/></url>",
        Code::BadLoc,
    ),
    ("<url><loc>https://a.example/</loc></url>", Code::NoMetadata),
    (
        "<url><loc>https://a.example/</loc><rs:md datetime='2026'/></url>",
        Code::NoChange,
    ),
    (
        "<url><loc>https://a.example/</loc><rs:md change='moved' datetime='2026'/></url>",
        Code::UnknownChange,
    ),
    (
        "<url><loc>https://a.example/</loc><lastmod>2026</lastmod><rs:md change='updated'/></url>",
        Code::NoDatetime,
    ),
    (
        "<url><loc>https://a.example/</loc><rs:md change='updated' datetime='2026-02-30'/></url>",
        Code::BadDatetime,
    ),
    (
        "<url><loc>https://a.example/</loc><rs:md change='updated' datetime='2026-01-01T00:00:00+1é2'/></url>",
        Code::BadDatetime,
    ),
    (
        "<url><loc>https://a.example/</loc><rs:md change='updated' datetime='2026'/><rs:md change='deleted'/></url>",
        Code::ConflictingMetadata,
    ),
    (
        "<url xmlns=''><loc>https://a.example/</loc><rs:md change='updated' datetime='2026'/></url>",
        Code::EntryNamespace,
    ),
];

/// Pieces from which documents are broken and made up.
const PIECES: &[&str] = &[
    "<",
    ">",
    "/>",
    "</",
    "&",
    ";",
    "&#",
    "&#x;",
    "&#1114112;",
    "\"",
    "'",
    "=",
    "]]>",
    "<![CDATA[",
    "<!--",
    "-->",
    "--",
    "<?",
    "?>",
    "<!DOCTYPE",
    "\0",
    "\u{FEFF}",
    "\u{FFFE}",
    "é",
    "𝔘",
    "\r\n",
    " ",
    ":60",
    "+1é2",
    "2026-01-01T00:00:00",
    "9999-12-31T23:59:59-12:00",
    "<url>",
    "</url>",
    "<sitemap>",
    "<loc>",
    "</loc>",
    "https://a.example/",
    "<lastmod>",
    "<rs:md ",
    "<rs:ln rel='up' href='x'/>",
    "change='updated' ",
    "datetime='2026' ",
    "capability='changelist' ",
    "xmlns='' ",
    "xmlns:rs='' ",
    "xmlns:xml='u' ",
    "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:rs='http://www.openarchives.org/rs/terms/'>",
    "</urlset>",
];

fn any_piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..4),
    ]
}

/// One wound: where it begins, how much is lost there, and what comes in its place.
fn any_wound() -> impl Strategy<Value = (prop::sample::Index, usize, Vec<u8>)> {
    let nothing = Just(Vec::new());
    (
        any::<prop::sample::Index>(),
        0..12usize,
        prop_oneof![nothing.boxed(), any_piece().boxed()],
    )
}

/// That something was decided, and within bounds.
fn assert_survived(bytes: &[u8]) -> Result<(), TestCaseError> {
    let whole = read_whole(bytes);
    prop_assert!(whole.handed_on.len() <= MAX_ENTRIES);
    if let Ok(reading) = &whole.result {
        prop_assert_eq!(reading.handed_on, whole.handed_on.len());
        let cost = whole.problems.worst() == Some(Severity::Error);
        prop_assert!(reading.ignored == 0 || cost, "ignored without an error");
    }
    for problem in whole.problems.iter().chain(whole.result.as_ref().err()) {
        let message = &problem.message;
        prop_assert!(
            !message.chars().any(char::is_control) && message.len() < 4000,
            "{message:?}"
        );
        prop_assert!(problem.line.is_some(), "no line: {message}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_equal(document in any_document(6)) {
        let text = write(&document);
        assert_is(&read_whole(text.as_bytes()), &document)?;
    }

    #[test]
    fn what_is_remembered_of_a_document_is_the_document(document in any_document(6)) {
        let outline = serde_json::to_string(&document).unwrap();
        let remembered: Document = serde_json::from_str(&outline).unwrap();
        prop_assert_eq!(remembered, document);
    }

    #[test]
    fn the_same_document_in_other_xml_is_the_same_document(document in any_document(6), style in any_style()) {
        let plain = read_whole(write(&document).as_bytes());
        let other = read_whole(&disguise(&document, &style)[..]);
        assert_is(&other, &document)?;
        prop_assert_eq!(other.reading().newest_first, plain.reading().newest_first);
        let known = |whole: &Whole| {
            let mut codes = whole.codes();
            codes.retain(|&code| code != Code::NotUtf8);
            codes.sort();
            codes
        };
        prop_assert_eq!(known(&other), known(&plain));
        let is_utf16 = matches!(style.encoding, Encoding::Utf16 { .. });
        prop_assert_eq!(other.codes().contains(&Code::NotUtf8), is_utf16);
    }

    #[test]
    fn a_document_that_is_cut_anywhere_is_refused(
        document in any_document(3),
        style in any_style(),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = disguise(&document, &style);
        let cut = cut.index(bytes.len());
        let whole = read_whole(&bytes[..cut]);
        prop_assert!(whole.result.is_err(), "cut at {cut} of {}", bytes.len());
    }

    #[test]
    fn a_bad_entry_costs_itself_and_nothing_else(
        document in any_change_list(),
        place in any::<prop::sample::Index>(),
        (bad, code) in select(BAD_ENTRIES),
    ) {
        let text = write(&document);
        let before = read_whole(text.as_bytes());
        let mut places: Vec<_> = text.match_indices("  <url>").map(|(at, _)| at).collect();
        places.push(text.rfind("</urlset>").unwrap());
        let (head, tail) = text.split_at(places[place.index(places.len())]);
        let after = read_whole(format!("{head}{bad}{tail}").as_bytes());
        prop_assert_eq!(after.changes(), before.changes());
        prop_assert_eq!(after.reading().ignored, 1);
        prop_assert_eq!(after.reading().newest_first, before.reading().newest_first);
        let mut new = after.codes();
        new.retain(|code| !before.codes().contains(code));
        prop_assert_eq!(new, vec![code]);
    }

    #[test]
    fn arbitrary_bytes_never_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        assert_survived(&bytes)?;
    }

    #[test]
    fn arbitrary_pieces_of_xml_never_make_the_reader_panic(pieces in prop::collection::vec(any_piece(), 0..40)) {
        assert_survived(&pieces.concat())?;
    }

    #[test]
    fn a_mutilated_document_never_makes_the_reader_panic(
        document in any_document(3),
        style in any_style(),
        wounds in prop::collection::vec(any_wound(), 1..6),
    ) {
        let mut bytes = disguise(&document, &style);
        for (place, lost, piece) in wounds {
            let start = place.index(bytes.len() + 1);
            let end = (start + lost).min(bytes.len());
            bytes.splice(start..end, piece);
        }
        assert_survived(&bytes)?;
    }
}

#[test]
fn a_short_document_that_is_cut_at_each_byte_is_refused() {
    let text = write(&Document {
        capability: Capability::ChangeList,
        entries: vec![Entry {
            loc: "https://fox.example/狐?a&b".into(),
            ..Entry::default()
        }],
        ..Document::default()
    });
    let text = text.trim_end();
    for cut in 0..text.len() {
        let whole = read_whole(&text.as_bytes()[..cut]);
        assert!(whole.result.is_err(), "cut at {cut}");
    }
    assert!(read_whole(text.as_bytes()).result.is_ok());
}
