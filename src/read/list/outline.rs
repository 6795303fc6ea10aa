//! What is remembered of a list in place of its body, for when its server says that it has not changed.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::{List, Part};
use crate::site::{About, Format};

/// A list has so many parts at a glance. The longest index has fifty thousand, which nobody wants to page through.
pub const GLANCED_PARTS: usize = 1_000;

/// A list without its pages.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outline {
    /// In which format it was.
    pub format: Format,
    /// The list.
    pub list: List,
}

impl Outline {
    /// What to remember of a list.
    pub fn new(format: Format, list: List) -> Outline {
        Outline { format, list }
    }

    /// Reads what [`Outline::to_text`] wrote; what is remembered of other documents is none.
    pub fn parse(text: &str) -> Option<Outline> {
        serde_json::from_str(text).ok()
    }

    /// As text.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What there is to say of a list without going through all of its parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// What it calls itself.
    pub title: Option<String>,
    /// How many pages it has itself.
    pub pages: usize,
    /// The first [`GLANCED_PARTS`] of its parts.
    pub parts: Vec<Part>,
    /// How many parts it has.
    pub part_count: usize,
}

impl Glance {
    /// The same text as [`Outline::parse`] reads, at a glance.
    pub fn at(text: &str) -> Option<Glance> {
        let GlancedOutline { list } = serde_json::from_str(text).ok()?;
        Some(Glance {
            title: list.about.title,
            pages: list.pages,
            parts: list.parts.first,
            part_count: list.parts.count,
        })
    }
}

#[derive(Deserialize)]
struct GlancedOutline {
    list: GlancedList,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GlancedList {
    about: About,
    pages: usize,
    parts: GlancedParts,
}

#[derive(Default)]
struct GlancedParts {
    first: Vec<Part>,
    count: usize,
}

impl<'de> Deserialize<'de> for GlancedParts {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_seq(GlancedPartsVisitor)
    }
}

struct GlancedPartsVisitor;

impl<'de> Visitor<'de> for GlancedPartsVisitor {
    type Value = GlancedParts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of parts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<GlancedParts, A::Error> {
        let mut glanced = GlancedParts::default();
        while glanced.count < GLANCED_PARTS {
            let Some(part) = parts.next_element()? else {
                return Ok(glanced);
            };
            glanced.first.push(part);
            glanced.count += 1;
        }
        while parts.next_element::<IgnoredAny>()?.is_some() {
            glanced.count += 1;
        }
        Ok(glanced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(count: usize) -> List {
        let part = |number| Part {
            url: format!("https://fox.example/{number}.xml"),
            lastmod: None,
            is_doubtful: false,
        };
        List {
            kind: "sitemap index".to_owned(),
            parts: (0..count).map(part).collect(),
            ..List::default()
        }
    }

    #[test]
    fn an_outline_is_the_list_that_it_came_from() {
        let text = Outline::new(Format::Sitemap, index(3)).to_text();
        let outline = Outline::parse(&text).unwrap();
        assert_eq!(outline.format, Format::Sitemap);
        assert_eq!(outline.list, index(3));
        assert!(Outline::parse("<urlset/>").is_none());
    }

    #[test]
    fn a_glance_counts_all_parts_and_shows_the_first() {
        for (count, shown) in [(0, 0), (1, 1), (GLANCED_PARTS + 7, GLANCED_PARTS)] {
            let list = index(count);
            let glance =
                Glance::at(&Outline::new(Format::Sitemap, list.clone()).to_text()).unwrap();
            assert_eq!(glance.part_count, count);
            assert_eq!(glance.parts, list.parts[..shown]);
        }
        assert_eq!(Glance::at("<urlset/>"), None);
    }
}
