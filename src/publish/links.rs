//! The link by which a page leads to its collection, in the heads of pages, for authors who ask for it.
//!
//! It is what readers go by where a site has no `/.well-known/` of its own. Nothing else in a page is touched.

use memchr::memmem;

use crate::read::html::main_text;
use crate::read::resourcesync::write::escape;

const BEGIN: &[u8] = b"<link rel=\"resourcesync\" href=\"";
/// Tells our link from one that the author wrote; good in HTML and XHTML.
const END: &[u8] = b"\" data-sitebell=\"\"/>\n";

/// The page with the link, or none if it has it already, has one by its author, or has no head.
pub fn with_link(page: &[u8], capability_list: &str) -> Option<Vec<u8>> {
    let link = [BEGIN, escape(capability_list).as_bytes(), END].concat();
    let (before, after) = around_own_link(page);
    if memmem::find(page, &link).is_some() {
        return None;
    }
    if after.is_empty() {
        let head = &page[..main_text::end_of_head(page)?];
        if has_foreign_link(head) {
            return None;
        }
        let (before, after) = page.split_at(head.len());
        return Some([before, &link, after].concat());
    }
    Some([before, &link, after].concat())
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

    #[test]
    fn a_link_is_added_once_and_follows_its_collection() {
        let page = b"<html><head><title></head></title></head><body></head>";
        let linked = with_link(page, LIST).unwrap();
        let text = String::from_utf8(linked.clone()).unwrap();
        assert_eq!(
            text,
            "<html><head><title></head></title><link rel=\"resourcesync\" href=\"https://fox.example/a&amp;b.xml\" \
             data-sitebell=\"\"/>\n</head><body></head>"
        );
        assert_eq!(with_link(&linked, LIST), None);
        let moved = with_link(&linked, "https://fox.example/c.xml").unwrap();
        assert_eq!(with_link(&moved, LIST).unwrap(), linked);
        let (before, after) = around_own_link(&linked);
        assert_eq!([before, after].concat(), page);
    }

    #[test]
    fn pages_without_a_head_or_with_a_link_of_their_own_are_left_alone() {
        assert_eq!(with_link(b"<p>words", LIST), None);
        assert_eq!(
            with_link(b"<head><link rel=resourcesync href=x></head>", LIST),
            None
        );
        assert_eq!(with_link(b"", LIST), None);
    }
}
