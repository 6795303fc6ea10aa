//! A sitemap of one address a line.

use std::io::{BufRead, Read};

use crate::problem::{Code, Problem};
use crate::read::address;
use crate::read::list::{Hosts, List, MAX_PAGES, Page, Sink};
use crate::text::quote;

/// Whatever is longer is no address.
const MAX_LINE_BYTES: u64 = 16 * 1024;

/// Whether text that begins so is lines of addresses.
pub(super) fn recognises(text: &str) -> bool {
    // The last line may be cut off, but not so much that it begins differently.
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_address = |line: &str| {
        (line.starts_with("http://") || line.starts_with("https://"))
            && !line.contains(char::is_whitespace)
    };
    let last_is_short = |line: &str| "https://".starts_with(line);
    lines.next().is_some_and(is_address)
        && lines.all(|line| is_address(line) || last_is_short(line))
}

pub(super) fn read(
    mut source: &mut dyn BufRead,
    hosts: &Hosts,
    sink: &mut Sink<'_>,
) -> Result<List, Problem> {
    let mut list = List {
        kind: "text sitemap".to_owned(),
        ..List::default()
    };
    let mut page = Page::default();
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let read = Read::take(&mut source, MAX_LINE_BYTES).read_until(b'\n', &mut bytes);
        match read {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                let message = format!("the document could not be read to its end: {error}");
                return Err(Problem::new(Code::CutOff, sink.url, message).at(number));
            }
        }
        let Ok(line) = std::str::from_utf8(&bytes) else {
            let message = "the line is not in UTF-8";
            return Err(Problem::new(Code::BadEncoding, sink.url, message).at(number));
        };
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() {
            continue;
        }
        page.clear();
        page.url.push_str(line);
        // Text has no other way to be an address than to be a whole one.
        let is_whole = line.starts_with("http://") || line.starts_with("https://");
        if !is_whole || address::resolve(&mut page.url, sink.url).is_err() {
            sink.note(Code::BadLoc, number, || {
                format!("the line {} is no address that can be used", quote(line))
            });
            continue;
        }
        if list.pages == MAX_PAGES {
            let message = format!("the document has more than {MAX_PAGES} entries");
            return Err(Problem::new(Code::TooManyEntries, sink.url, message).at(number));
        }
        hosts.hand_on(&mut page, number, &mut list, sink);
    }
    Ok(list)
}
