//! The checksum of an SCP file, which the protocol wants inside the very file that it is of.
//!
//! That cannot be, so there are several ways to have meant it. Any that fits will do: it tells a file that arrived from
//! one that did not, and nothing about who wrote it.

use sha2::{Digest, Sha256};

pub(super) struct Checksum {
    /// As it stands in the file, in lower case.
    expected: String,
    /// The file with the checksum cut out of its first line, which is how the first program for it does it.
    without: Sha256,
    /// The file without its first line.
    rest: Sha256,
    /// The file as it is.
    literal: Sha256,
    /// Whether a line end is held back: it may have been counted or not.
    has_end: bool,
    /// Whether the first line is over.
    has_rest: bool,
}

impl Checksum {
    pub(super) fn new(expected: &str, first_line: &[u8]) -> Checksum {
        let mut checksum = Checksum {
            expected: expected
                .trim()
                .trim_start_matches("sha256:")
                .to_ascii_lowercase(),
            without: Sha256::new(),
            rest: Sha256::new(),
            literal: Sha256::new(),
            has_end: false,
            has_rest: false,
        };
        let (line, has_end) = without_end(first_line);
        checksum.without.update(cut_out(line, expected));
        checksum.literal.update(line);
        checksum.has_end = has_end;
        checksum
    }

    pub(super) fn add(&mut self, line: &[u8]) {
        let end: &[u8] = if self.has_end { b"\n" } else { b"" };
        self.without.update(end);
        self.literal.update(end);
        // The end of the first line is no part of the rest.
        if self.has_rest {
            self.rest.update(end);
        }
        let (line, has_end) = without_end(line);
        self.without.update(line);
        self.rest.update(line);
        self.literal.update(line);
        self.has_end = has_end;
        self.has_rest = true;
    }

    pub(super) fn fits(&self) -> bool {
        [&self.without, &self.rest, &self.literal]
            .into_iter()
            .any(|hasher| {
                let bare = hex(&hasher.clone().finalize());
                let ended = hex(&hasher.clone().chain_update(b"\n").finalize());
                self.expected == bare || self.expected == ended
            })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn without_end(line: &[u8]) -> (&[u8], bool) {
    match line.strip_suffix(b"\n") {
        Some(line) => (line, true),
        None => (line, false),
    }
}

/// The line without the member `"checksum"` and one comma beside it.
fn cut_out(line: &[u8], value: &str) -> Vec<u8> {
    let found = memchr::memmem::find(line, b"\"checksum\"");
    let whole = || line.to_vec();
    let Some(start) = found else { return whole() };
    let quoted = format!("\"{value}\"");
    let Some(after) = memchr::memmem::find(&line[start..], quoted.as_bytes()) else {
        return whole();
    };
    let end = start + after + quoted.len();
    let head = line[..start].trim_ascii_end();
    let tail = line[end..].trim_ascii_start();
    match (head.strip_suffix(b","), tail.strip_prefix(b",")) {
        (Some(head), _) => [head, &line[end..]].concat(),
        (None, Some(tail)) => [&line[..start], tail.trim_ascii_start()].concat(),
        (None, None) => [&line[..start], &line[end..]].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(text: &str) -> String {
        hex(&Sha256::digest(text.as_bytes()))
    }

    fn fits(expected: &str, file: &str) -> bool {
        let mut lines = file.split_inclusive('\n').map(str::as_bytes);
        let mut checksum = Checksum::new(expected, lines.next().unwrap());
        lines.for_each(|line| checksum.add(line));
        checksum.fits()
    }

    #[test]
    fn every_way_to_mean_it_fits() {
        let bare = "{\"collection\":{\"id\":\"a\"}}";
        let rest = "{\"url\":1}\n{\"url\":2}";
        for expected in [
            sum(&format!("{bare}\n{rest}")),
            sum(&format!("{bare}\n{rest}\n")),
            sum(rest),
            sum(&format!("{rest}\n")),
            sum(rest).to_uppercase(),
            format!("sha256:{}", sum(rest)),
        ] {
            for end in ["", "\n"] {
                for first in [
                    format!("{{\"collection\":{{\"id\":\"a\",\"checksum\":\"{expected}\"}}}}"),
                    format!("{{\"collection\":{{\"id\":\"a\", \"checksum\": \"{expected}\"}}}}"),
                    format!("{{\"collection\":{{\"checksum\":\"{expected}\",\"id\":\"a\"}}}}"),
                ] {
                    assert!(fits(&expected, &format!("{first}\n{rest}{end}")), "{first}");
                }
            }
        }
        assert!(!fits(&sum("another"), &format!("{bare}\n{rest}")));
        assert!(!fits("", bare));
    }
}
