//! The demo: a small site that changes every minute, so that somebody new sees the whole circle at once and offline.
//!
//! [`pages`] is the site at a time. [`Demo`] writes it into a folder and publishes it, as any author would with
//! `sitebell publish`. What the site says is a matter of the clock alone, so nothing has to be remembered.

mod pages;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};
use url::Url;

use crate::publish::folder::PageRules;
use crate::publish::lay_out::lay_out;
use crate::publish::notes::Notes;
use crate::publish::order::{Order, carry_out, prepare};
use crate::publish::settings::{CollectionDetails, CollectionSettings, Names, PublishSettings};
use crate::publish::{PublishError, Site};

/// The sample site, in a folder.
#[derive(Debug)]
pub struct Demo {
    folder: PathBuf,
    url: Url,
}

impl Demo {
    /// A site in this folder that is served at this address. Nothing is written yet.
    pub fn new(folder: PathBuf, url: Url) -> Demo {
        Demo { folder, url }
    }

    /// Where it is served.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The folder that is served.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the site what it was a minute ago, and publishes it: whoever has just started it shall not have to wait that
    /// long for something to happen.
    pub fn begin(&self, now: DateTime<Utc>) -> Result<usize, PublishError> {
        self.publish(&pages::at(now - TimeDelta::minutes(1)), now)
    }

    /// Makes the site what it is at a time, and publishes it; how many pages changed.
    pub fn update(&self, now: DateTime<Utc>) -> Result<usize, PublishError> {
        self.publish(&pages::at(now), now)
    }

    fn publish(
        &self,
        files: &BTreeMap<String, String>,
        now: DateTime<Utc>,
    ) -> Result<usize, PublishError> {
        lay_out(&self.folder, files)?;
        let mut order = self.order()?;
        let prepared = prepare(&mut order, None, now, &|_, _| ())?;
        carry_out(&order, &prepared, &mut || Ok(()))?;
        Ok(prepared.plan.told.len())
    }

    fn order(&self) -> Result<Order, PublishError> {
        let collections = pages::COLLECTIONS
            .iter()
            .map(|(folder, title, description)| {
                let details = CollectionDetails {
                    title: Some((*title).to_owned()),
                    description: Some((*description).to_owned()),
                    ..CollectionDetails::default()
                };
                ((*folder).to_owned(), CollectionSettings::More(details))
            });
        let settings = PublishSettings {
            author: Names(vec![pages::AUTHOR.to_owned()]),
            collections: collections.collect(),
            ..PublishSettings::default()
        };
        Ok(Order {
            folder: self.folder.clone(),
            site: Site {
                url: self.url.clone(),
                about: settings.about(),
                collections: settings.collections().map_err(PublishError::Folder)?,
            },
            rules: PageRules::default(),
            notes: Notes::default(),
            sitemap: false,
            html_links: false,
            allow_empty: false,
            dry_run: false,
        })
    }
}
