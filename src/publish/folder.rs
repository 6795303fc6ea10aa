//! Which pages a folder has, and what each of them says, as a hash.
//!
//! Pages are the HTML files, and whatever else an author includes. Names that begin with a dot are passed over, and so is
//! what a link leads to outside of the folder: a site must not publish what is not its own. A file that cannot be read is
//! an error and not a deleted page.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};

use super::reader::{Is, read_all};
use super::write::is_waiting;
use super::{OWN_FOLDER, PublishError, at};
use crate::text::MAX_ADDRESS_CHARS;

pub use super::prints::{PageHash, Prints};
pub use super::rules::PageRules;

/// What must be written as `%…` in the path of an address. `\` would be read as `/`.
const ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A page that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPage {
    /// Its place below the folder.
    pub path: PathBuf,
    /// What it is.
    pub prints: Prints,
}

/// What is known of pages by the very same rules, by their addresses below that of the site. Of a page with the same
/// bytes nothing else has to be found out.
pub type Known<'a> = &'a (dyn Fn(&str) -> Option<Prints> + Sync);

/// What was found in a folder, by the address below that of the site.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The pages.
    pub pages: BTreeMap<String, FoundPage>,
    /// Pages that do no more than lead to another, with that address as they write it.
    pub signposts: BTreeMap<String, String>,
    /// Pages that were published before and are none any more by the rules of the author, though their files are there.
    pub left_out: BTreeSet<String>,
    /// What was passed over and might surprise, as sentences.
    pub remarks: Vec<String>,
    /// What a run that was killed has left beside pages, as whole paths.
    pub leftovers: Vec<PathBuf>,
    /// The rules by which the words of pages were told apart from the rest.
    pub rules: String,
}

/// A path as part of an address.
pub(super) fn encode(path: &[u8]) -> String {
    percent_encode(path, ENCODED).to_string()
}

/// The file of a page below the folder, if it is there.
pub(super) fn file_of(folder: &Path, address: &str) -> Option<PathBuf> {
    let path: Vec<u8> = percent_decode_str(address).collect();
    let names: &[&str] = match address.is_empty() || address.ends_with('/') {
        true => &["index.html"],
        false => &["", ".html"],
    };
    let mut paths = names.iter().map(|name| {
        let path = [&path[..], name.as_bytes()].concat();
        PathBuf::from(OsStr::from_bytes(&path))
    });
    let is_file = |path: &PathBuf| {
        let file = folder.join(path).symlink_metadata();
        file.is_ok_and(|file| file.is_file())
    };
    paths.find(is_file)
}

/// The address of a file, below that of the site.
pub(super) fn address_of(path: &Path, clean_urls: bool) -> String {
    let mut address = encode(path.as_os_str().as_bytes());
    let name = address.rfind('/').map_or(0, |slash| slash + 1);
    if &address[name..] == "index.html" {
        address.truncate(name);
    } else if clean_urls && address[name..].ends_with(".html") {
        address.truncate(address.len() - ".html".len());
    }
    address
}

/// Finds and reads all pages of a folder. `progress` hears how many of how many are done.
pub fn read(
    folder: &Path,
    site_chars: usize,
    rules: &PageRules,
    known: Known<'_>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Found, PublishError> {
    let root = folder
        .canonicalize()
        .map_err(at(folder, "cannot be read"))?;
    let mut walk = Walk {
        folder,
        root,
        rules,
        paths: Vec::new(),
        remarks: Vec::new(),
        leftovers: Vec::new(),
    };
    walk.walk(Path::new(""))?;
    let Walk {
        paths,
        remarks,
        leftovers,
        ..
    } = walk;
    let mut found = Found {
        remarks,
        leftovers,
        rules: rules.print(),
        ..Found::default()
    };
    let read = read_all(folder, &paths, rules, known, progress)?;
    let mut pages = Vec::with_capacity(read.len());
    for (path, page) in paths.into_iter().zip(read) {
        let address = page.address;
        if site_chars + address.chars().count() > MAX_ADDRESS_CHARS {
            let place = path.display();
            found.remarks.push(format!(
                "{place} was left out: its address is longer than {MAX_ADDRESS_CHARS} characters"
            ));
            continue;
        }
        match page.is {
            Is::Signpost(target) => drop(found.signposts.insert(address, target)),
            Is::Page(prints) => pages.push((address, FoundPage { path, prints })),
        }
    }
    // All at once, which takes less than one by one.
    found.pages = pages.into_iter().collect();
    Ok(found)
}

struct Walk<'a> {
    folder: &'a Path,
    /// The folder without links in its path.
    root: PathBuf,
    rules: &'a PageRules,
    paths: Vec<PathBuf>,
    remarks: Vec<String>,
    leftovers: Vec<PathBuf>,
}

impl Walk<'_> {
    fn walk(&mut self, below: &Path) -> Result<(), PublishError> {
        let here = self.folder.join(below);
        let unreadable = "cannot be read; make it readable, or leave it out with --ignore";
        let failed = |error| at(&here, unreadable)(error);
        for entry in fs::read_dir(&here).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let is_top = below.as_os_str().is_empty();
            let is_hidden = name.as_bytes().starts_with(b".");
            if (is_hidden && !is_waiting(&name)) || (is_top && name == OWN_FOLDER) {
                continue;
            }
            let path = below.join(&name);
            let kind = entry.file_type();
            let mut kind = kind.map_err(|error| at(&entry.path(), unreadable)(error))?;
            if is_hidden {
                self.leftovers.extend(kind.is_file().then(|| entry.path()));
                continue;
            }
            if kind.is_symlink() {
                match self.behind(&entry.path()) {
                    Some(target) => kind = target,
                    None => {
                        if self.rules.is_page(&path) || path.extension().is_none() {
                            let place = path.display();
                            self.remarks.push(format!(
                                "{place} was left out: it is a link that leads out of the folder, to a folder or nowhere"
                            ));
                        }
                        continue;
                    }
                }
            }
            if kind.is_dir() {
                if !self.rules.is_ignored_folder(&path) {
                    self.walk(&path)?;
                }
            } else if kind.is_file() && self.rules.is_page(&path) {
                self.paths.push(path);
            }
        }
        Ok(())
    }

    /// What a link leads to, if that is a file in the folder. Links to folders could go round in circles.
    fn behind(&self, link: &Path) -> Option<fs::FileType> {
        let target = link.canonicalize().ok()?;
        let kind = fs::metadata(&target).ok()?.file_type();
        (target.starts_with(&self.root) && kind.is_file()).then_some(kind)
    }
}

/// Whether a folder would be where a document of ours is: those of a collection are in a folder of the same name.
pub fn is_named_like_a_document(folder: &str) -> bool {
    let is_document = |part: &str| part.ends_with(".xml") || part.ends_with(".json");
    folder.split('/').any(is_document)
}

/// Whether a name can be the folder of a collection: inside the site, and written in one way.
pub fn is_plain_folder(folder: &str) -> bool {
    !folder.is_empty()
        && !folder.contains('\\')
        && (folder.split('/')).all(|part| {
            !part.is_empty() && !part.starts_with('.') && OsStr::new(part) != OWN_FOLDER
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_that_hosts_answer_to() {
        let address = |path: &str| address_of(Path::new(path), false);
        assert_eq!(address("index.html"), "");
        assert_eq!(address("fox/index.html"), "fox/");
        assert_eq!(address("fox/den.html"), "fox/den.html");
        assert_eq!(address("fox/index.htm"), "fox/index.htm");
        assert_eq!(
            address("a b/50%?#[x]\\.html"),
            "a%20b/50%25%3F%23%5Bx%5D%5C.html"
        );
        assert_eq!(address("狐.html"), "%E7%8B%90.html");
        assert_eq!(address_of(Path::new("fox/den.html"), true), "fox/den");
        let odd = Path::new(OsStr::from_bytes(b"\xff.html"));
        assert_eq!(address_of(odd, false), "%FF.html");
    }
}
