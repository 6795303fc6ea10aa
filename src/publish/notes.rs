//! The author's own words about a change: a note for everything, or the newest part of a changelog.
//!
//! The newest part of a changelog is what stands below its first heading, or all of it if there is none. In it, a line
//! that begins with a page (`- fox/den.html: redrew the vixen`) is about that page; the other lines are about every
//! page that changed. The same part is told once: it does not become news again when something else changes.

use sha2::{Digest, Sha256};

use crate::text::clean;

/// What an author says about the changes of one publication.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    /// About every page.
    general: Option<String>,
    /// About single pages, by their addresses or files below the site.
    pages: Vec<(String, String)>,
    /// The part of the changelog that this came from, as a hash.
    changelog: Option<String>,
}

impl Notes {
    /// A note about everything.
    pub fn general(note: &str) -> Notes {
        Notes {
            general: clean::description(note),
            ..Notes::default()
        }
    }

    /// The newest part of a changelog.
    pub fn from_changelog(text: &str) -> Notes {
        let part = newest_part(text);
        let digest = Sha256::digest(part.join("\n").as_bytes());
        let mut notes = Notes {
            changelog: Some(
                digest[..16]
                    .iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect(),
            ),
            ..Notes::default()
        };
        let mut general = Vec::new();
        for line in part {
            let line = line.trim().trim_start_matches(['-', '*', '+']).trim();
            match about_page(line) {
                Some((page, note)) => {
                    let note = clean::description(note);
                    notes.pages.extend(note.map(|note| (page, note)));
                }
                None if line.is_empty() => {}
                None => general.push(line),
            }
        }
        notes.general = clean::description(&general.join(" "));
        notes
    }

    /// The same without what was told before.
    pub fn since(self, told: Option<&str>) -> Notes {
        match &self.changelog {
            Some(own) if Some(own.as_str()) == told => Notes {
                changelog: self.changelog,
                ..Notes::default()
            },
            _ => self,
        }
    }

    /// What to remember as told.
    pub fn changelog(&self) -> Option<&str> {
        self.changelog.as_deref()
    }

    /// What is said about a page, given by its address below that of the site.
    pub fn about(&self, page: &str) -> Option<&str> {
        let own = self.pages.iter().find(|(named, _)| names(named, page));
        own.map(|(_, note)| note.as_str())
            .or(self.general.as_deref())
    }
}

/// Whether an author who writes this means that page.
fn names(named: &str, page: &str) -> bool {
    let bare = |name: &str| {
        let name = name.trim_start_matches('/');
        let name = name.strip_suffix("index.html").unwrap_or(name);
        let name = name.strip_suffix(".html").unwrap_or(name);
        name.trim_end_matches('/').to_owned()
    };
    let decoded = percent_encoding::percent_decode_str(page).decode_utf8_lossy();
    named == page || bare(named) == bare(&decoded)
}

/// The page that a line is about: a path or file name before a colon.
fn about_page(line: &str) -> Option<(String, &str)> {
    let (page, note) = line.split_once(": ")?;
    let page = page.trim_matches(['`', '*', '"']);
    let is_path = page.starts_with('/') || page.contains(".htm") || page.ends_with('/');
    (is_path && !page.contains(char::is_whitespace)).then(|| (page.to_owned(), note))
}

/// The lines below the first heading of the lowest level in use, or all of them.
fn newest_part(text: &str) -> Vec<&str> {
    // A title at the top is no heading of a part: the level that is used most is.
    let level = |line: &&str| line.bytes().take_while(|byte| *byte == b'#').count();
    let count = |wanted| text.lines().filter(|line| level(line) == wanted).count();
    let heading = if count(2) > 0 { 2 } else { 1 };
    let mut lines = text.lines().skip_while(|line| level(line) != heading);
    if count(heading) == 0 {
        return text.lines().collect();
    }
    lines.next();
    lines
        .take_while(|line| level(line) == 0 || level(line) > heading)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_part_of_a_changelog_is_told_page_by_page() {
        let notes = Notes::from_changelog(
            "# Changes\n\n## March\n- `fox/den.html`: redrew the vixen\n- /owl/: new feathers\nSpring cleaning.\n\n## February\nold\n",
        );
        assert_eq!(notes.about("fox/den.html"), Some("redrew the vixen"));
        assert_eq!(notes.about("owl/"), Some("new feathers"));
        assert_eq!(notes.about("cat.html"), Some("Spring cleaning."));
        let told = notes.changelog().map(str::to_owned);
        assert_eq!(notes.since(told.as_deref()).about("cat.html"), None);
    }

    #[test]
    fn a_changelog_without_headings_is_one_part() {
        assert_eq!(
            Notes::from_changelog("hello: you\n").about("x"),
            Some("hello: you")
        );
        assert_eq!(
            Notes::from_changelog("# One\na\n# Two\nb").about("x"),
            Some("a")
        );
        assert_eq!(Notes::from_changelog("").about("x"), None);
        assert_eq!(Notes::general("  ").about("x"), None);
    }
}
