//! What changed between what was published and what is in the folder.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use url::Url;

use super::Site;
use super::folder::{Found, PageHash};
use super::plan::Told;
use super::state::{PublishedPage, State};
use crate::change::ChangeKind;

/// What changed, in the order of the addresses.
pub(super) fn compare(site: &Site, before: Option<&State>, found: &Found) -> Vec<Told> {
    let none = BTreeMap::new();
    let old = before.map_or(&none, |state| &state.pages);
    let mut told = Vec::new();
    let mut tell = |page: &str, kind| {
        told.push(Told {
            collection: site.collection_of(page).to_owned(),
            kind,
            page: page.to_owned(),
            moved: None,
        });
    };
    for (page, then, now) in pairs(old, &found.pages) {
        match (then, now) {
            (None, Some(_)) => tell(page, ChangeKind::Created),
            // Whoever goes there still finds it.
            (Some(_), None) if found.left_out.contains(page) => {}
            (Some(_), None) => tell(page, ChangeKind::Deleted),
            (Some(then), Some(now)) if now.prints.differ(&then.prints) => {
                tell(page, ChangeKind::Updated);
            }
            _ => {}
        }
    }
    let moves = moves(site, &told, old, found);
    // Where several pages went to the same one, it is told as come from the first of them.
    let back: BTreeMap<_, _> = (moves.iter().rev()).map(|(old, new)| (new, old)).collect();
    for told in &mut told {
        told.moved = match told.kind {
            ChangeKind::Deleted => moves.get(&told.page).cloned(),
            ChangeKind::Created => back.get(&told.page).map(|old| (*old).clone()),
            ChangeKind::Updated => None,
        };
    }
    told.sort_by(|one, other| (&one.collection, &one.page).cmp(&(&other.collection, &other.page)));
    told
}

/// What is in one of two maps or in both, in the order of the keys.
pub(super) fn pairs<'a, A, B>(
    one: &'a BTreeMap<String, A>,
    other: &'a BTreeMap<String, B>,
) -> impl Iterator<Item = (&'a String, Option<&'a A>, Option<&'a B>)> {
    // Side by side: to look up every key of one in the other takes many times as long.
    let (mut ones, mut others) = (one.iter().peekable(), other.iter().peekable());
    std::iter::from_fn(move || {
        let order = match (ones.peek(), others.peek()) {
            (Some((one, _)), Some((other, _))) => one.cmp(other),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return None,
        };
        let one = ones.next_if(|_| order.is_le());
        let other = others.next_if(|_| order.is_ge());
        let key = one.map(|(key, _)| key).or(other.map(|(key, _)| key))?;
        Some((
            key,
            one.map(|(_, value)| value),
            other.map(|(_, value)| value),
        ))
    })
}

/// Which pages are where others were: the author left a signpost, or exactly one new page says what the old one said.
fn moves(
    site: &Site,
    told: &[Told],
    old: &BTreeMap<String, PublishedPage>,
    found: &Found,
) -> BTreeMap<String, String> {
    let mut moves = BTreeMap::new();
    // Nothing can have moved where nothing is gone.
    if told.iter().all(|told| told.kind != ChangeKind::Deleted) {
        return moves;
    }
    let mut by_hash: HashMap<PageHash, (Vec<&str>, Vec<&str>)> = HashMap::new();
    for told in told {
        match told.kind {
            ChangeKind::Created => {
                let hash = found.pages[&told.page].prints.words;
                by_hash.entry(hash).or_default().1.push(&told.page);
            }
            ChangeKind::Deleted => {
                let signpost = found.signposts.get(&told.page);
                match signpost.and_then(|target| target_of(site, &told.page, target)) {
                    Some(target) if found.pages.contains_key(&target) => {
                        moves.insert(told.page.clone(), target);
                    }
                    _ => {
                        let hash = old[&told.page].prints.words;
                        by_hash.entry(hash).or_default().0.push(&told.page);
                    }
                }
            }
            ChangeKind::Updated => {}
        }
    }
    for (gone, came) in by_hash.into_values() {
        if let ([old], [new]) = (&gone[..], &came[..]) {
            moves.insert((*old).to_owned(), (*new).to_owned());
        }
    }
    moves
}

/// Where a signpost leads, below the site.
fn target_of(site: &Site, page: &str, target: &str) -> Option<String> {
    let here = Url::parse(&site.address(page)).ok()?;
    let mut there = here.join(target).ok()?;
    there.set_fragment(None);
    let below = there.as_str().strip_prefix(site.url.as_str())?;
    Some(below.strip_suffix("index.html").unwrap_or(below).to_owned())
}
