//! Pages of no section: those of a plain list that offers sections, while one of them cannot be read.
//!
//! Only that list can have what is new in such a section. Until it can be read again the list is followed like any other,
//! as a collection of its own beside the sections, which go on telling of the pages that they know; and then once more, until
//! it is clear which of its pages went at last.

use std::collections::HashSet;

use url::Url;

use super::super::pages::{Walk, collection};
use super::super::{CollectionReading, titles};
use crate::load::Loader;
use crate::memory::{Besides, CollectionMemory, ListMemory, PageKey, Sighted, SiteMemory};
use crate::moment::Moment;
use crate::site::SiteUrl;

/// Added to the address of such a list, which by itself may be that of another collection. No section has a name with a dot.
const FRAGMENT: &str = "no.section";

/// The plain lists that have to be read.
#[derive(Default)]
pub(super) struct Wanted {
    /// Those of broken sections, and up to when everything is known that these had.
    broken: Vec<(Url, Moment)>,
    /// Those of sections that were mended just now.
    mended: Vec<Url>,
    /// Those that are read once more, though none of their sections is broken.
    last: Vec<Url>,
}

impl Wanted {
    pub(super) fn add(&mut self, list: &Url, since: Moment) {
        match self.broken.iter_mut().find(|(known, _)| known == list) {
            Some((_, known)) => *known = since.min(*known),
            None => self.broken.push((list.clone(), since)),
        }
    }

    pub(super) fn add_mended(&mut self, list: &Url) {
        self.mended.push(list.clone());
    }

    /// Adds those among the lists of all sections of which it is not clear what became of their pages: they were not read
    /// since their sections were mended, or there was a page missing.
    pub(super) fn add_unsettled<'a>(
        &mut self,
        lists: impl Iterator<Item = &'a Url>,
        memory: Option<&SiteMemory>,
    ) {
        for list in lists {
            let is_wanted = self.broken.iter().any(|(known, _)| known == list);
            let pages = remembered(memory, &identity(list)).and_then(|known| known.pages.as_ref());
            let is_settled = pages.is_none_or(|pages| pages.state.is_settled);
            let is_unsettled = !is_settled || (pages.is_some() && self.mended.contains(list));
            if is_unsettled && !is_wanted && !self.last.contains(list) {
                self.last.push(list.clone());
            }
        }
    }
}

fn identity(list: &Url) -> Url {
    let mut id = list.clone();
    id.set_fragment(Some(FRAGMENT));
    id
}

fn remembered<'a>(memory: Option<&'a SiteMemory>, id: &Url) -> Option<&'a CollectionMemory> {
    let mut known = memory.into_iter().flat_map(|memory| &memory.collections);
    known.find(|known| known.identity == *id)
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
    let broken = wanted.broken.into_iter();
    let broken = broken.map(|(list, since)| (list, Some(since)));
    for (list, since) in broken.chain(wanted.last.into_iter().map(|list| (list, None))) {
        let id = identity(&list);
        let known = remembered(memory, &id);
        let mut pages = Walk::in_place_of_section(loader, known, &list).await;
        pages.recall().await;
        let (mut reading, is_complete) = pages.finish(&list, false);
        let is_empty = reading.sighted.as_ref().is_none_or(Sighted::is_empty);
        // Once all its sections can be read, a list without plain entries is as it should be.
        if is_empty && (known.is_none() || since.is_none()) {
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
    since: Option<Moment>,
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
