//! Pages of no section: those of a plain list that offers sections, while one of them cannot be read.
//!
//! Only that list can have what is new in such a section. Until it can be read again the list is followed like any other,
//! as a collection of its own beside the sections, which go on telling of the pages that they know.

use std::collections::HashSet;

use url::Url;

use super::super::pages::{Walk, collection};
use super::super::{CollectionReading, titles};
use crate::load::Loader;
use crate::memory::{Besides, ListMemory, PageKey, Sighted, SiteMemory};
use crate::moment::Moment;
use crate::site::SiteUrl;

/// Added to the address of such a list, which by itself may be that of another collection. No section has a name with a dot.
const FRAGMENT: &str = "no.section";

/// The plain lists that have to be read, and up to when everything is known that the broken sections in each had.
#[derive(Default)]
pub(super) struct Wanted(Vec<(Url, Moment)>);

impl Wanted {
    pub(super) fn add(&mut self, list: &Url, since: Moment) {
        match self.0.iter_mut().find(|(known, _)| known == list) {
            Some((_, known)) => *known = since.min(*known),
            None => self.0.push((list.clone(), since)),
        }
    }
}

/// Reads the lists that are wanted, beside `sections`.
pub(super) async fn read(
    loader: &mut Loader<'_>,
    site: &SiteUrl,
    wanted: Wanted,
    sections: &[CollectionReading],
    lists: &[ListMemory],
    memory: Option<&SiteMemory>,
) -> Vec<CollectionReading> {
    let mut collections = Vec::new();
    for (list, since) in wanted.0 {
        let mut id = list.clone();
        id.set_fragment(Some(FRAGMENT));
        let mut remembered = memory.into_iter().flat_map(|memory| &memory.collections);
        let known = remembered.find(|known| known.identity == id);
        let mut pages = Walk::in_place_of_section(loader, known, &list).await;
        pages.recall().await;
        let (mut reading, is_complete) = pages.finish(&list, false);
        let is_empty = reading.sighted.as_ref().is_none_or(Sighted::is_empty);
        if is_empty && known.is_none() {
            continue;
        }
        reading.besides = Some(in_sections(sections, memory, since).await);
        let home = titles::fallback(&site.at_root("/"));
        collections.push(CollectionReading {
            title: format!("Pages of no section ({home})"),
            lists: lists.to_vec(),
            ..collection(id, known, reading, is_complete)
        });
    }
    collections
}

/// What the sections have. Whoever saves what is concluded without it is told by the memory itself.
async fn in_sections(
    sections: &[CollectionReading],
    memory: Option<&SiteMemory>,
    since: Moment,
) -> Besides {
    let mut besides = Besides {
        since,
        known: Vec::new(),
        new: HashSet::new(),
    };
    for section in sections {
        let mut remembered = memory.into_iter().flat_map(|memory| &memory.collections);
        let remembered = remembered.find(|known| Some(known.id) == section.known_as);
        if let Some(pages) = remembered.and_then(|known| known.pages.as_ref())
            && let Ok(known) = pages.known.get().await
        {
            besides.known.push(known);
        }
        // What stands in for a section brings pages of that very list.
        let own = section.pages.as_ref().filter(|pages| !pages.is_stand_in);
        if let Some(sighted) = own.and_then(|pages| pages.sighted.as_ref()) {
            let fresh = &sighted.fresh;
            let keys = (0..fresh.len()).map(|place| PageKey::of(fresh.url(place)));
            besides.new.extend(keys);
        }
    }
    besides
}
