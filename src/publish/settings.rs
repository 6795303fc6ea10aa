//! What an author asks for, in the part `[publish]` of `sitebell.toml`.
//!
//! ```toml
//! [publish]
//! url = "https://fox.example/"
//! title = "The Fox Den"
//! author = "Kit"
//! ignore = ["drafts/**", "element:.build-stamp"]
//!
//! [publish.collections]
//! fox = "Fox Den"
//! owl = { title = "Owl Tower", author = "Ori", description = "Every owl there is" }
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Collection;
use super::folder::{is_named_like_a_document, is_plain_folder};
use crate::site::About;
use crate::text::clean;

/// Everything that can be said in the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PublishSettings {
    /// Where the site will be.
    pub url: Option<String>,
    /// What it is called.
    pub title: Option<String>,
    /// Who makes it.
    pub author: Names,
    /// What it is about.
    pub description: Option<String>,
    /// What others may do with it.
    pub rights: Option<String>,
    /// The language it is in.
    pub language: Option<String>,
    /// What is no page, or no news.
    pub ignore: Vec<String>,
    /// What else is a page.
    pub include: Vec<String>,
    /// Whether the host serves `about.html` as `about`.
    pub clean_urls: bool,
    /// Whether every byte of a page counts.
    pub exact: bool,
    /// Whether a plain sitemap is wanted, too.
    pub sitemap: bool,
    /// Whether pages get a link to their collection.
    pub html_links: bool,
    /// A file with the author's words about changes.
    pub changelog: Option<String>,
    /// The collections, by their folders.
    pub collections: BTreeMap<String, CollectionSettings>,
}

/// A collection in the file: its title, or more than that.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum CollectionSettings {
    /// Its title.
    Title(String),
    /// More.
    More(CollectionDetails),
}

/// What can be said of a collection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CollectionDetails {
    /// What it is called.
    pub title: Option<String>,
    /// Who makes it.
    pub author: Names,
    /// What it is about.
    pub description: Option<String>,
}

/// One name or several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "OneOrMany")]
pub struct Names(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Names {
    fn from(names: OneOrMany) -> Names {
        Names(match names {
            OneOrMany::One(name) => vec![name],
            OneOrMany::Many(names) => names,
        })
    }
}

impl PublishSettings {
    /// Reads the text of a file. What else is in it is somebody else's; says what is wrong with this part.
    pub fn parse(text: &str) -> Result<PublishSettings, String> {
        #[derive(Deserialize)]
        struct File {
            #[serde(default)]
            publish: PublishSettings,
        }
        let file: File = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        Ok(file.publish)
    }

    /// What the author says about the site.
    pub fn about(&self) -> About {
        About {
            title: self.title.as_deref().and_then(clean::title),
            description: self.description.as_deref().and_then(clean::description),
            authors: self.author.clean(),
            rights: self.rights.as_deref().and_then(clean::description),
            language: self.language.as_deref().and_then(clean::language),
        }
    }

    /// The collections, in the order of their folders; says which name cannot be one.
    pub fn collections(&self) -> Result<Vec<Collection>, String> {
        let collection = |(folder, said): (&String, &CollectionSettings)| {
            let bare = folder.trim_start_matches("./").trim_matches('/');
            if !is_plain_folder(bare) {
                return Err(format!(
                    "“{folder}” cannot be a collection: name a folder of the site, such as fox"
                ));
            }
            if is_named_like_a_document(bare) {
                return Err(format!(
                    "“{folder}” cannot be a collection, because it has the name of a document; give the folder another one"
                ));
            }
            let said = match said {
                CollectionSettings::Title(title) => CollectionDetails {
                    title: Some(title.clone()),
                    ..CollectionDetails::default()
                },
                CollectionSettings::More(details) => details.clone(),
            };
            let about = About {
                title: said.title.as_deref().and_then(clean::title),
                description: said.description.as_deref().and_then(clean::description),
                authors: said.author.clean(),
                ..About::default()
            };
            Ok(Collection::new(bare, about))
        };
        self.collections.iter().map(collection).collect()
    }
}

impl Names {
    fn clean(&self) -> Vec<String> {
        self.0
            .iter()
            .filter_map(|name| clean::title(name))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_above_is_read() {
        let example: String = include_str!("settings.rs")
            .lines()
            .skip_while(|line| *line != "//! ```toml")
            .skip(1)
            .take_while(|line| *line != "//! ```")
            .map(|line| line.trim_start_matches("//!").trim_start().to_owned() + "\n")
            .collect();
        let settings = PublishSettings::parse(&example).unwrap();
        let collections = settings.collections().unwrap();
        assert_eq!(collections[1].folder, "owl");
        assert_eq!(collections[1].about.authors, ["Ori"]);
        assert_eq!(settings.about().authors, ["Kit"]);
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        let error = PublishSettings::parse("[publish]\ntitel = 'x'").unwrap_err();
        assert!(error.contains("titel"), "{error}");
        assert_eq!(
            PublishSettings::parse("listen = 'x'"),
            Ok(PublishSettings::default())
        );
        for folder in ["..", "a/../b", ".git", "sitebell", "a//b"] {
            let text = format!("[publish.collections]\n'{folder}' = 'x'");
            let settings = PublishSettings::parse(&text).unwrap();
            assert!(settings.collections().unwrap_err().contains(folder));
        }
    }
}
