//! What is being read right now, for those who watch: each document as it happens.
//!
//! In memory, and bounded: the scheduler says which document comes next ([`Readings::document`]) and when a site has been
//! read ([`Readings::ended`]). A page that shows it asks again and again for what came since; without scripts the
//! whole page is loaded again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use actix_web::HttpResponse;
use actix_web::http::header;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::site::SiteId;

/// Documents of one reading that are shown.
const MAX_DOCUMENTS: usize = 200;
/// Readings that are remembered. Far more than run at the same time.
const MAX_READINGS: usize = 1_000;

/// The readings that are under way.
#[derive(Default)]
pub struct Readings(Mutex<HashMap<SiteId, Documents>>);

/// The documents of a reading, in order.
#[derive(Debug, Clone, Default)]
pub struct Documents(Vec<String>);

impl Documents {
    /// The next one.
    pub fn add(&mut self, url: &Url) {
        // A document that is asked for once more is no other one.
        if self.0.len() < MAX_DOCUMENTS && self.0.last().map(String::as_str) != Some(url.as_str()) {
            self.0.push(url.to_string());
        }
    }

    /// The next line of something else that is read.
    pub fn add_text(&mut self, text: String) {
        self.0.push(text);
    }

    /// All of them.
    pub fn into_vec(self) -> Vec<String> {
        self.0
    }
}

impl Readings {
    /// A document of a site is read now.
    pub fn document(&self, site: SiteId, url: &Url) {
        let mut readings = self.lock();
        if readings.len() >= MAX_READINGS && !readings.contains_key(&site) {
            return;
        }
        readings.entry(site).or_default().add(url);
    }

    /// A site has been read.
    pub fn ended(&self, site: SiteId) {
        self.lock().remove(&site);
    }

    /// What was read so far in the reading that is under way.
    pub fn of(&self, site: SiteId) -> Documents {
        self.lock().get(&site).cloned().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SiteId, Documents>> {
        // A list is whole even if somebody panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many documents a page knows already.
#[derive(Deserialize)]
pub struct Known {
    #[serde(default)]
    after: usize,
}

#[derive(Serialize)]
struct Progress<'a> {
    documents: &'a [String],
    done: bool,
}

/// What came since.
pub fn progress(documents: Documents, known: &Known, is_done: bool) -> HttpResponse {
    let documents = documents.into_vec();
    HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(Progress {
            documents: documents.get(known.after..).unwrap_or_default(),
            done: is_done,
        })
}
