//! One publication, from what an author asks for to what is on the disk.
//!
//! [`prepare`] reads and decides, [`carry_out`] writes. In between, an author can look at what would happen.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use url::Url;

use super::documents::capability_list_of;
use super::folder::{self, Found, PageRules};
use super::links::{self, Linking};
use super::notes::Notes;
use super::plan::{self, Plan};
use super::rules::is_html;
use super::state::{self, State};
use super::write::{self, Copied, Watch};
use super::{OWN_FOLDER, PublishError, Site, at, sitemap};
use crate::read::html::HtmlHead;
use crate::site::About;

/// What an author asks for.
#[derive(Debug)]
pub struct Order {
    /// The folder of the site.
    pub folder: PathBuf,
    /// The site.
    pub site: Site,
    /// Which files are pages, and what of them counts.
    pub rules: PageRules,
    /// The author's words about what changed.
    pub notes: Notes,
    /// Whether a plain sitemap is wanted, too.
    pub sitemap: bool,
    /// Whether pages get a link to their collection.
    pub html_links: bool,
    /// Whether a site may lose its last page.
    pub allow_empty: bool,
    /// Whether this is only to see what would be done.
    pub dry_run: bool,
}

/// What would be done.
#[derive(Debug)]
pub struct Prepared {
    /// The documents and the changes.
    pub plan: Plan,
    /// What is in the folder.
    pub found: Found,
    /// Whether nothing was published before.
    pub is_first: bool,
    /// The files that would be written, in the order of their paths.
    pub to_write: BTreeSet<String>,
    copied: Vec<Copied>,
    sitemap: Vec<(String, String)>,
    /// The parts of an earlier sitemap that are none of this one.
    old_sitemaps: Vec<PathBuf>,
    /// The pages that get a link, by their addresses below that of the site.
    linked: Vec<String>,
    /// The files of pages that should get a link, and have no head to put it into.
    pub without_head: Vec<String>,
    _lock: File,
}

/// Reads the folder, compares it with what was published before (by `live`, or else by the folder itself), and decides
/// what to write at `now`.
pub fn prepare(
    order: &mut Order,
    live: Option<(State, Vec<Copied>)>,
    now: DateTime<Utc>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Prepared, PublishError> {
    let folder = &order.folder;
    if !folder.is_dir() {
        return refuse(format!(
            "{} is not a folder; name the one that your pages are in",
            folder.display()
        ));
    }
    let lock = write::lock(folder)?;
    if order.dry_run && write::is_between(folder) {
        return refuse(format!(
            "the last publication of {} was interrupted; publish once without --dry-run, which puts that right",
            folder.display()
        ));
    }
    if !order.dry_run {
        write::recover(folder)?;
    }
    state::check_places(folder)?;
    let (before, copied) = match live {
        Some((state, copied)) => (Some(state), copied),
        None => (state::in_folder(folder)?, Vec::new()),
    };
    let site_chars = order.site.url.as_str().len();
    let rules = order.rules.print();
    let known = before.as_ref().filter(|state| state.rules == rules);
    let known = |page: &str| known.and_then(|state| Some(state.pages.get(page)?.prints));
    let mut found = folder::read(folder, site_chars, &order.rules, &known, progress)?;
    found.left_out = left_out(folder, before.as_ref(), &found);
    check(order, before.as_ref(), &found)?;
    let said = front_page(folder, &found, &order.site.url);
    order.site.about = std::mem::take(&mut order.site.about).or(said);
    let plan = plan::plan(&order.site, before.as_ref(), &found, &order.notes, now);
    let (sitemap, old_sitemaps) = match order.sitemap {
        true => {
            let files = sitemap::write(&order.site, &plan.state);
            let old = sitemap::left_over(folder, &files);
            (files, old)
        }
        false => (Vec::new(), Vec::new()),
    };
    let mut prepared = Prepared {
        to_write: write::differences(folder, &plan, &copied)
            .into_iter()
            .collect(),
        is_first: before.is_none(),
        plan,
        found,
        copied,
        sitemap,
        old_sitemaps,
        linked: Vec::new(),
        without_head: Vec::new(),
        _lock: lock,
    };
    for (name, text) in &prepared.sitemap {
        state::check_mark(&folder.join(name))?;
        if !write::is_there(&folder.join(name), text.as_bytes()) {
            prepared.to_write.insert(name.clone());
        }
    }
    if order.html_links {
        // Others have no heads, whatever is in them.
        let pages = prepared.found.pages.iter();
        for (address, page) in pages.filter(|(_, page)| is_html(&page.path)) {
            let list = capability_list_of(&order.site, address);
            let shown = || page.path.to_string_lossy().into_owned();
            match linked(folder, &page.path, &list)? {
                Linking::Has => {}
                Linking::NoHead => prepared.without_head.push(shown()),
                Linking::Add(_) => {
                    prepared.to_write.insert(shown());
                    prepared.linked.push(address.clone());
                }
            }
        }
    }
    Ok(prepared)
}

/// Writes what was prepared.
pub fn carry_out(order: &Order, prepared: &Prepared, watch: Watch<'_>) -> Result<(), PublishError> {
    let folder = &order.folder;
    for left in &prepared.found.leftovers {
        write::remove_file(left)?;
    }
    write::write(folder, &prepared.plan, &prepared.copied, watch)?;
    for (name, text) in &prepared.sitemap {
        let path = folder.join(name);
        if !write::is_there(&path, text.as_bytes()) {
            write::write_file(&path, text.as_bytes(), watch)?;
        }
    }
    for old in &prepared.old_sitemaps {
        write::remove_file(old)?;
    }
    for address in &prepared.linked {
        let page = &prepared.found.pages[address];
        let list = capability_list_of(&order.site, address);
        if let Linking::Add(text) = linked(folder, &page.path, &list)? {
            // A link to a page stays one.
            let place = folder.join(&page.path);
            let place = place
                .canonicalize()
                .map_err(at(&place, "cannot be found"))?;
            write::write_file(&place, &text, watch)?;
        }
    }
    Ok(())
}

fn refuse<T>(sentence: String) -> Result<T, PublishError> {
    Err(PublishError::Folder(sentence))
}

/// Refuses what would tell followers something that the author can hardly mean.
fn check(order: &Order, before: Option<&State>, found: &Found) -> Result<(), PublishError> {
    let (site, folder) = (&order.site, &order.folder);
    if let Some(before) = before.filter(|before| before.site != site.url) {
        return Err(PublishError::State(format!(
            "this site was published as {}; to publish it at {}, remove the folder {OWN_FOLDER} first, and its \
             followers begin anew there",
            before.site, site.url
        )));
    }
    if found.pages.is_empty() && !order.allow_empty {
        let folder = folder.display();
        return refuse(match before.is_some_and(|state| !state.pages.is_empty()) {
            true => format!(
                "{folder} has no pages any more; if all of them were deleted on purpose, say so with --allow-empty"
            ),
            false => format!("{folder} has no pages; name the folder that your HTML files are in"),
        });
    }
    for collection in &site.collections {
        let is_known = before.is_some_and(|state| state.logs.contains_key(&collection.folder));
        if !is_known && !folder.join(&collection.folder).is_dir() {
            return refuse(format!(
                "there is no folder {} in {}; a collection is a folder and its title, such as fox=Fox Den",
                collection.folder,
                folder.display()
            ));
        }
    }
    Ok(())
}

/// The pages that were published and are none any more by the rules of the author, though their files are there.
fn left_out(folder: &Path, before: Option<&State>, found: &Found) -> BTreeSet<String> {
    let published = before.iter().flat_map(|state| state.pages.keys());
    let is_found =
        |page: &String| found.pages.contains_key(page) || found.signposts.contains_key(page);
    let missing: Vec<&String> = published.filter(|page| !is_found(page)).collect();
    if missing.is_empty() {
        return BTreeSet::new();
    }
    // One that is there under another address has moved.
    let files: HashSet<&Path> = found.pages.values().map(|page| &*page.path).collect();
    let is_left_out = |page: &&String| {
        let file = folder::file_of(folder, page);
        file.is_some_and(|file| !files.contains(&*file))
    };
    missing.into_iter().filter(is_left_out).cloned().collect()
}

/// What the front page says about the site, for what its author did not say otherwise. One that is no page of the site,
/// such as a link out of the folder, says nothing.
fn front_page(folder: &Path, found: &Found, url: &Url) -> About {
    let is_page = |name: &&str| {
        found
            .pages
            .values()
            .any(|page| page.path == Path::new(name))
    };
    let page = ["index.html", "index.htm"]
        .iter()
        .filter(|name| is_page(name))
        .find_map(|name| fs::read(folder.join(name)).ok());
    page.map(|page| HtmlHead::parse(&page, None, url).into())
        .unwrap_or_default()
}

/// A page with its link.
fn linked(folder: &Path, page: &Path, list: &str) -> Result<Linking, PublishError> {
    let path = folder.join(page);
    let text = fs::read(&path).map_err(at(&path, "cannot be read"))?;
    Ok(links::with_link(&text, list))
}
