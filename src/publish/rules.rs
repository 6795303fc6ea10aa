//! Which files are pages, and what of them counts, by the wishes of an author.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::bytes::Regex;
use sha2::{Digest, Sha256};

use super::prints::PageHash;
use crate::read::html::main_text::Selector;

/// Files that hosts show instead of a page.
const ERROR_PAGE: &str = "404.html";
/// Another number whenever the same page gives other words than before.
const WORDS_VERSION: u8 = 1;

/// Which files are pages, and what of them counts.
#[derive(Debug, Default)]
pub struct PageRules {
    ignored: GlobSet,
    included: GlobSet,
    /// Elements that are no news.
    pub(super) elements: Vec<Selector>,
    /// Text that is no news.
    pub(super) texts: Vec<Regex>,
    /// Whether every byte counts.
    pub exact: bool,
    /// Whether the host serves `about.html` as `about`.
    pub clean_urls: bool,
    /// The patterns for what is no news, as they were given.
    unseen: Vec<String>,
}

impl PageRules {
    /// Reads the patterns of an author. Those to be ignored are globs of files, `element:` with a name, `.class` or
    /// `#id`, or `text:` with a regular expression.
    pub fn parse(ignore: &[String], include: &[String]) -> Result<PageRules, String> {
        let mut rules = PageRules {
            included: globs(include.iter().map(String::as_str))?,
            ..PageRules::default()
        };
        let mut files = Vec::new();
        for pattern in ignore {
            if let Some(selector) = pattern.strip_prefix("element:") {
                let selector = Selector::parse(selector.trim()).ok_or_else(|| {
                    format!(
                        "“{pattern}” does not name an element: write element:nav, element:.class or element:#id"
                    )
                })?;
                rules.elements.push(selector);
            } else if let Some(text) = pattern.strip_prefix("text:") {
                let text = Regex::new(text.trim_start()).map_err(|_| {
                    format!("“{pattern}” is no regular expression after text:, such as text:Built on [0-9-]+")
                })?;
                rules.texts.push(text);
            } else {
                files.push(pattern.as_str());
                continue;
            }
            rules.unseen.push(pattern.clone());
        }
        rules.ignored = globs(files.into_iter())?;
        Ok(rules)
    }

    /// By what is known again which words of a page count.
    pub fn print(&self) -> String {
        let mut hasher = Sha256::new();
        hasher.update([WORDS_VERSION, u8::from(self.exact)]);
        for pattern in &self.unseen {
            hasher.update(pattern);
            hasher.update([0]);
        }
        PageHash::of(hasher).to_string()
    }

    /// Whether a file below the folder is a page.
    pub(super) fn is_page(&self, path: &Path) -> bool {
        if self.ignored.is_match(path) {
            return false;
        }
        (is_html(path) && path != Path::new(ERROR_PAGE)) || self.included.is_match(path)
    }

    /// Whether nothing in a folder can be a page.
    pub(super) fn is_ignored_folder(&self, path: &Path) -> bool {
        self.ignored.is_match(path)
    }
}

fn globs<'a>(patterns: impl Iterator<Item = &'a str>) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        // A folder is meant with everything in it, with a slash at its end or without.
        let trimmed = pattern.trim().trim_start_matches('/').trim_end_matches('/');
        let glob = GlobBuilder::new(trimmed).literal_separator(true).build();
        set.add(
            glob.map_err(|error| format!("“{pattern}” is no pattern for files: {}", error.kind()))?,
        );
    }
    set.build().map_err(|error| error.to_string())
}

/// Whether a file is HTML, by its name.
pub(super) fn is_html(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    ["html", "htm", "xhtml"]
        .iter()
        .any(|html| ending.eq_ignore_ascii_case(html))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_mean_nothing_are_refused_by_name() {
        for pattern in ["element:div > p", "text:(", "[x"] {
            let error = PageRules::parse(&[pattern.to_owned()], &[]).unwrap_err();
            assert!(error.contains(pattern), "{error}");
        }
    }
}
