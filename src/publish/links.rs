//! The link by which a page leads to its collection, in the heads of pages, for authors who ask for it.
//!
//! It is what readers go by where a site has no `/.well-known/` of its own. Nothing else in a page is touched.

use memchr::memmem;

use crate::read::html::main_text;
use crate::read::resourcesync::write::escape;

const BEGIN: &[u8] = b"<link rel=\"resourcesync\" href=\"";
/// Tells our link from one that the author wrote; good in HTML and XHTML.
const END: &[u8] = b"\" data-sitebell=\"\"/>\n";

/// What is to be done with a page so that it has its link.
#[derive(Debug, PartialEq, Eq)]
pub enum Linking {
    /// Nothing: it has the link, or one by its author.
    Has,
    /// Nothing can be done: there is no head to put it into.
    NoHead,
    /// This is the page with the link.
    Add(Vec<u8>),
}

/// Puts the link into a page.
pub fn with_link(page: &[u8], capability_list: &str) -> Linking {
    let link = [BEGIN, escape(capability_list).as_bytes(), END].concat();
    if memmem::find(page, &link).is_some() {
        return Linking::Has;
    }
    let (mut before, mut after) = around_own_link(page);
    if after.is_empty() {
        let Some(end) = main_text::end_of_head(page) else {
            return Linking::NoHead;
        };
        (before, after) = page.split_at(end);
        if has_foreign_link(before) {
            return Linking::Has;
        }
    }
    Linking::Add([before, &link, after].concat())
}

/// What stands before and after our link; all of the page and nothing if there is none.
pub(super) fn around_own_link(page: &[u8]) -> (&[u8], &[u8]) {
    let mut from = 0;
    while let Some(found) = memmem::find(&page[from..], BEGIN) {
        let start = from + found;
        let address = start + BEGIN.len();
        let Some(quote) = memchr::memchr(b'"', &page[address..]) else {
            break;
        };
        if page[address + quote..].starts_with(END) {
            return (&page[..start], &page[address + quote + END.len()..]);
        }
        from = address + quote;
    }
    (page, &[])
}

fn has_foreign_link(head: &[u8]) -> bool {
    let mut heads = memmem::find_iter(head, b"resourcesync");
    // Good enough to leave the author's own link alone: a false alarm costs nothing but the link.
    heads.any(|at| {
        let before = head[..at].trim_ascii_end();
        before.ends_with(b"rel=") || before.ends_with(b"rel=\"") || before.ends_with(b"rel='")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "https://fox.example/a&b.xml";

    fn linked(page: &[u8], list: &str) -> String {
        match with_link(page, list) {
            Linking::Add(page) => String::from_utf8(page).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_link_is_added_once_and_follows_its_collection() {
        let page = b"<html><head><title></head></title></head><body></head>";
        let text = linked(page, LIST);
        assert_eq!(
            text,
            "<html><head><title></head></title><link rel=\"resourcesync\" href=\"https://fox.example/a&amp;b.xml\" \
             data-sitebell=\"\"/>\n</head><body></head>"
        );
        assert_eq!(with_link(text.as_bytes(), LIST), Linking::Has);
        let moved = linked(text.as_bytes(), "https://fox.example/c.xml");
        assert_eq!(linked(moved.as_bytes(), LIST), text);
        let (before, after) = around_own_link(text.as_bytes());
        assert_eq!([before, after].concat(), page);
    }

    #[test]
    fn a_page_that_leaves_out_the_tags_of_its_head_gets_the_link_where_the_head_ends() {
        for (head, body) in [
            (
                "<!doctype html><title>Fox</title>",
                "<p>words</p><title>no</title>",
            ),
            ("<!doctype html>\n<html lang=en>", "words <title>no</title>"),
            (
                "<title>Fox</title><meta name=a><script>'<p>'</script>",
                "\n<svg><title>no",
            ),
            ("<html><head><title>Fox</title>", "<p>words"),
            ("odd<head>", "<title>Fox</title><p>words"),
        ] {
            let text = linked(format!("{head}{body}").as_bytes(), LIST);
            assert!(text.starts_with(&format!("{head}<link ")), "{text}");
            assert!(text.ends_with(&format!(">\n{body}")), "{text}");
        }
    }

    #[test]
    fn a_page_with_a_link_by_its_author_is_left_alone() {
        for page in [
            "<head><link rel=resourcesync href=x></head>",
            "<title>Fox</title><link rel='resourcesync' href=x><p>words",
        ] {
            assert_eq!(with_link(page.as_bytes(), LIST), Linking::Has, "{page}");
        }
    }

    #[test]
    fn a_page_without_a_head_is_left_alone() {
        for page in [
            "",
            "<p>words",
            "words",
            "<!-- <title> -->",
            "<p><title>Fox</title>",
            "< <title>Fox</title>",
        ] {
            assert_eq!(with_link(page.as_bytes(), LIST), Linking::NoHead, "{page}");
        }
    }
}
