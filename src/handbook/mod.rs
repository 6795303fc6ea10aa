//! What Sitebell says about itself: its changes, what can be wrong with a site, and how to publish one. The same texts
//! that come with the source, as pages.
//!
//! They are part of the program. [`crate::web`] shows them in its frame, and the service publishes them as any author
//! would, so that whoever runs an older version hears of a newer one.

mod publish;

use std::sync::LazyLock;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

pub use self::publish::publish;

/// One page.
#[derive(Debug)]
pub struct Page {
    /// Its address below [`FOLDER`]; with a slash at its end for the first page of a folder.
    pub address: &'static str,
    /// What it is called.
    pub title: String,
    /// What it says, with its title, as HTML of our own.
    pub html: String,
}

impl Page {
    /// Whether it is in the folder that another is the first page of.
    pub fn is_below(&self, first: &Page) -> bool {
        first.address.ends_with('/') && self.address.starts_with(first.address)
    }
}

/// Where the pages are, below the address of the service.
pub const FOLDER: &str = "docs";

macro_rules! recipes {
    ($($name:literal)+) => {
        &[
            ("changes", include_str!("../../CHANGELOG.md")),
            ("problems", include_str!("../../docs/problems.md")),
            ("recipes/", include_str!("../../docs/recipes/README.md")),
            $((concat!("recipes/", $name), include_str!(concat!("../../docs/recipes/", $name, ".md"))),)+
        ]
    };
}

const SOURCES: &[(&str, &str)] = recipes! {
    "by-hand" "hugo" "jekyll" "pelican" "eleventy" "astro" "mkdocs" "neocities" "github-pages" "static-hosts" "ci"
};

static PAGES: LazyLock<Vec<Page>> = LazyLock::new(|| {
    let pages = SOURCES.iter();
    pages.map(|(address, text)| page(address, text)).collect()
});

/// Every page.
pub fn pages() -> &'static [Page] {
    &PAGES
}

/// The page at an address.
pub fn find(address: &str) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.address == address)
}

fn page(address: &'static str, text: &str) -> Page {
    let parsed = Parser::new_ext(text, Options::ENABLE_TABLES);
    let mut events: Vec<Event<'_>> = parsed.map(with_link).collect();
    name_codes(&mut events);
    let mut body = String::new();
    html::push_html(&mut body, events.iter().cloned());
    Page {
        address,
        title: title(&events),
        // What may have to be scrolled must be reached without a mouse, too.
        html: body.replace("<pre>", "<pre tabindex=\"0\">"),
    }
}

/// Gives the headings that begin with a code, such as those of problems, a name that can be linked to.
fn name_codes(events: &mut [Event<'_>]) {
    for place in 1..events.len() {
        let [before, here] = &mut events[place - 1..=place] else {
            unreachable!("there are two of them");
        };
        if let (Event::Start(Tag::Heading { id, .. }), Event::Code(code)) = (before, here) {
            *id = Some(code.clone());
        }
    }
}

/// The texts lead to each other as files; the pages have no ending.
fn with_link(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => Event::Start(Tag::Link {
            link_type,
            dest_url: link(dest_url),
            title,
            id,
        }),
        event => event,
    }
}

fn link(target: CowStr<'_>) -> CowStr<'_> {
    let is_elsewhere = target.contains("://");
    match target.strip_suffix(".md").filter(|_| !is_elsewhere) {
        Some("README") => "./".into(),
        Some(name) => name.to_owned().into(),
        None => target,
    }
}

/// The words of the first heading.
fn title(events: &[Event<'_>]) -> String {
    let heading = events
        .iter()
        .skip_while(|event| !matches!(event, Event::Start(Tag::Heading { .. })))
        .take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let words = heading.filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
        _ => None,
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Code;

    #[test]
    fn every_text_has_a_title_and_leads_only_to_pages_that_are_there() {
        for page in pages() {
            assert!(!page.title.is_empty(), "{}", page.address);
            assert!(page.html.starts_with("<h1>"), "{}", page.address);
            for target in page.html.split("<a href=\"").skip(1) {
                let target = target.split('"').next().unwrap();
                if target.contains("://") {
                    continue;
                }
                let base = url::Url::parse("https://bell.example/docs/").unwrap();
                let to = base.join(page.address).unwrap().join(target).unwrap();
                let address = to.path().strip_prefix("/docs/").unwrap_or_default();
                assert!(find(address).is_some(), "{}: {target}", page.address);
            }
        }
    }

    #[test]
    fn every_problem_has_a_place_of_its_own() {
        let page = find("problems").unwrap();
        for code in Code::ALL {
            let heading = format!("<h2 id=\"{code}\">");
            assert_eq!(page.html.matches(&heading).count(), 1, "{code}");
        }
    }

    #[test]
    fn every_text_in_the_folder_is_a_page() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recipes");
        let files = std::fs::read_dir(folder).unwrap().count();
        let recipes = pages()
            .iter()
            .filter(|page| page.address.starts_with("recipes/"));
        assert_eq!(recipes.count(), files);
    }
}
