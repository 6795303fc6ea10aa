//! Which pages a folder has, and what each of them says, as a hash.
//!
//! Pages are the HTML files, and whatever else an author includes. Names that begin with a dot are passed over, and so is
//! what a link leads to outside of the folder: a site must not publish what is not its own. A file that cannot be read is
//! an error and not a deleted page.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use regex::bytes::Regex;
use sha2::{Digest, Sha256};

use super::{OWN_FOLDER, PublishError, at, links};
use crate::read::charset;
use crate::read::html::main_text::{self, MainText, Selector};
use crate::text::MAX_ADDRESS_CHARS;

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

/// Files that hosts show instead of a page.
const ERROR_PAGE: &str = "404.html";
/// Another number whenever the same page gives other words than before.
const WORDS_VERSION: u8 = 1;
/// Bytes of the hash that are kept: enough that no two versions of a page share one.
const HASH_BYTES: usize = 16;

/// What a page says, or what a file is, in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageHash(pub [u8; HASH_BYTES]);

/// As hexadecimal digits.
impl fmt::Display for PageHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl PageHash {
    /// Reads what is written so.
    pub fn parse(hex: &str) -> Option<PageHash> {
        let mut hash = [0; HASH_BYTES];
        if hex.len() != 2 * HASH_BYTES || !hex.is_ascii() {
            return None;
        }
        for (position, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * position..2 * position + 2], 16).ok()?;
        }
        Some(PageHash(hash))
    }
}

/// A page that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPage {
    /// Its place below the folder.
    pub path: PathBuf,
    /// What it is.
    pub prints: Prints,
}

/// By what a page is known again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prints {
    /// Its bytes.
    pub bytes: PageHash,
    /// What it says, by the rules of its author.
    pub words: PageHash,
}

impl Prints {
    /// Whether a page is another than it was. The same bytes are the same page, whatever the rules are by now.
    pub fn differ(&self, before: &Prints) -> bool {
        self.bytes != before.bytes && self.words != before.words
    }
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
    /// What was passed over and might surprise, as sentences.
    pub remarks: Vec<String>,
    /// The rules by which the words of pages were told apart from the rest.
    pub rules: String,
}

/// Which files are pages, and what of them counts.
#[derive(Debug, Default)]
pub struct PageRules {
    ignored: GlobSet,
    included: GlobSet,
    elements: Vec<Selector>,
    texts: Vec<Regex>,
    /// Whether every byte counts.
    pub exact: bool,
    /// Whether the host serves `about.html` as `about`.
    pub clean_urls: bool,
    /// The patterns for what is no news, as they were given.
    unseen: Vec<String>,
}

impl PageRules {
    /// Reads the patterns of an author. Those to be ignored are globs of files, `element:` with a name, `.class` or
    /// `#id`, or `text:` with a regular expression.
    pub fn parse(ignore: &[String], include: &[String]) -> Result<PageRules, String> {
        let mut rules = PageRules {
            included: globs(include.iter().map(String::as_str))?,
            ..PageRules::default()
        };
        let mut files = Vec::new();
        for pattern in ignore {
            if let Some(selector) = pattern.strip_prefix("element:") {
                let selector = Selector::parse(selector.trim()).ok_or_else(|| {
                    format!(
                        "“{pattern}” does not name an element: write element:nav, element:.class or element:#id"
                    )
                })?;
                rules.elements.push(selector);
            } else if let Some(text) = pattern.strip_prefix("text:") {
                let text = Regex::new(text.trim_start()).map_err(|_| {
                    format!("“{pattern}” is no regular expression after text:, such as text:Built on [0-9-]+")
                })?;
                rules.texts.push(text);
            } else {
                files.push(pattern.as_str());
                continue;
            }
            rules.unseen.push(pattern.clone());
        }
        rules.ignored = globs(files.into_iter())?;
        Ok(rules)
    }

    /// By what is known again which words of a page count.
    pub fn print(&self) -> String {
        let mut hasher = Sha256::new();
        hasher.update([WORDS_VERSION, u8::from(self.exact)]);
        for pattern in &self.unseen {
            hasher.update(pattern);
            hasher.update([0]);
        }
        short(hasher).to_string()
    }

    /// Whether a file below the folder is a page.
    fn is_page(&self, path: &Path) -> bool {
        if self.ignored.is_match(path) {
            return false;
        }
        (is_html(path) && path != Path::new(ERROR_PAGE)) || self.included.is_match(path)
    }

    /// Whether nothing in a folder can be a page.
    fn is_ignored_folder(&self, path: &Path) -> bool {
        self.ignored.is_match(path)
    }
}

fn globs<'a>(patterns: impl Iterator<Item = &'a str>) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        // A folder is meant with everything in it, with a slash at its end or without.
        let trimmed = pattern.trim().trim_start_matches('/').trim_end_matches('/');
        let glob = GlobBuilder::new(trimmed).literal_separator(true).build();
        set.add(
            glob.map_err(|error| format!("“{pattern}” is no pattern for files: {}", error.kind()))?,
        );
    }
    set.build().map_err(|error| error.to_string())
}

fn is_html(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    ["html", "htm", "xhtml"]
        .iter()
        .any(|html| ending.eq_ignore_ascii_case(html))
}

/// A path as part of an address.
pub(super) fn encode(path: &[u8]) -> String {
    percent_encode(path, ENCODED).to_string()
}

/// The address of a file, below that of the site.
fn address_of(path: &Path, clean_urls: bool) -> String {
    let address = encode(path.as_os_str().as_bytes());
    let (folder, name) = address.rsplit_once('/').unwrap_or(("", &address));
    let slash = if folder.is_empty() { "" } else { "/" };
    match name {
        "index.html" => format!("{folder}{slash}"),
        name => match name.strip_suffix(".html").filter(|_| clean_urls) {
            Some(name) => format!("{folder}{slash}{name}"),
            None => address,
        },
    }
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
    };
    walk.walk(Path::new(""))?;
    let Walk { paths, remarks, .. } = walk;
    let mut found = Found {
        remarks,
        rules: rules.print(),
        ..Found::default()
    };
    let read = hash_all(folder, &paths, rules, known, progress)?;
    for (path, page) in paths.into_iter().zip(read) {
        let address = address_of(&path, rules.clean_urls);
        if site_chars + address.chars().count() > MAX_ADDRESS_CHARS {
            let place = path.display();
            found.remarks.push(format!(
                "{place} was left out: its address is longer than {MAX_ADDRESS_CHARS} characters"
            ));
            continue;
        }
        match page {
            Page::Signpost(target) => drop(found.signposts.insert(address, target)),
            Page::Is(prints) => drop(found.pages.insert(address, FoundPage { path, prints })),
        }
    }
    Ok(found)
}

struct Walk<'a> {
    folder: &'a Path,
    /// The folder without links in its path.
    root: PathBuf,
    rules: &'a PageRules,
    paths: Vec<PathBuf>,
    remarks: Vec<String>,
}

impl Walk<'_> {
    fn walk(&mut self, below: &Path) -> Result<(), PublishError> {
        let here = self.folder.join(below);
        let unreadable = "cannot be read; make it readable, or leave it out with --ignore";
        for entry in fs::read_dir(&here).map_err(at(&here, unreadable))? {
            let entry = entry.map_err(at(&here, unreadable))?;
            let name = entry.file_name();
            let path = below.join(&name);
            if name.as_bytes().starts_with(b".") || path == Path::new(OWN_FOLDER) {
                continue;
            }
            let mut kind = entry.file_type().map_err(at(&entry.path(), unreadable))?;
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

/// What became of a file.
enum Page {
    Is(Prints),
    Signpost(String),
}

/// Reads and hashes files on all cores, in the order of `paths`.
fn hash_all(
    folder: &Path,
    paths: &[PathBuf],
    rules: &PageRules,
    known: Known<'_>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Page>, PublishError> {
    /// Files that a thread takes at a time.
    const BATCH: usize = 64;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results: Mutex<Vec<(usize, Vec<Page>)>> = Mutex::default();
    let work = || -> Result<(), PublishError> {
        let mut reader = Reader::default();
        loop {
            let start = next.fetch_add(BATCH, Ordering::Relaxed);
            let Some(batch) = paths.get(start..paths.len().min(start + BATCH)) else {
                return Ok(());
            };
            if batch.is_empty() {
                return Ok(());
            }
            let pages: Result<Vec<Page>, _> = (batch.iter())
                .map(|path| reader.page(folder, path, rules, known))
                .collect();
            let pages = pages?;
            if let Ok(mut results) = results.lock() {
                results.push((start, pages));
            }
            let done = done.fetch_add(batch.len(), Ordering::Relaxed) + batch.len();
            progress(done, paths.len());
        }
    };
    std::thread::scope(|scope| -> Result<(), PublishError> {
        let threads: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mine = work();
        for thread in threads {
            match thread.join() {
                Ok(done) => done?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        mine
    })?;
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(start, _)| *start);
    Ok(results.into_iter().flat_map(|(_, pages)| pages).collect())
}

/// Reads one file after the other into the same memory.
#[derive(Default)]
struct Reader {
    bytes: Vec<u8>,
    found: MainText,
}

impl Reader {
    fn page(
        &mut self,
        folder: &Path,
        path: &Path,
        rules: &PageRules,
        known: Known<'_>,
    ) -> Result<Page, PublishError> {
        let place = folder.join(path);
        let unreadable = "cannot be read; make it readable, or leave it out with --ignore";
        let mut file = File::open(&place).map_err(at(&place, unreadable))?;
        if !is_html(path) {
            let bytes = self.raw(file).map_err(at(&place, unreadable))?;
            return Ok(Page::Is(Prints {
                bytes,
                words: bytes,
            }));
        }
        self.bytes.clear();
        file.read_to_end(&mut self.bytes)
            .map_err(at(&place, unreadable))?;
        // The link that we may have added ourselves is no news.
        let (before, after) = links::around_own_link(&self.bytes);
        let mut hasher = Sha256::new();
        hasher.update(before);
        hasher.update(after);
        let bytes = short(hasher);
        let known = known(&address_of(path, rules.clean_urls));
        Ok(match known.filter(|known| known.bytes == bytes) {
            Some(known) => Page::Is(known),
            None => self.html(bytes, rules),
        })
    }

    /// A file of any size, piece by piece.
    fn raw(&mut self, mut file: File) -> std::io::Result<PageHash> {
        let mut hasher = Sha256::new();
        self.bytes.resize(1 << 16, 0);
        loop {
            match file.read(&mut self.bytes)? {
                0 => return Ok(short(hasher)),
                read => hasher.update(&self.bytes[..read]),
            }
        }
    }

    fn html(&mut self, bytes: PageHash, rules: &PageRules) -> Page {
        // Every other encoding has its markup in ASCII.
        if self.bytes.starts_with(b"\xff\xfe") || self.bytes.starts_with(b"\xfe\xff") {
            self.bytes = charset::decode_html(&self.bytes, None)
                .into_owned()
                .into_bytes();
        }
        main_text::read(&self.bytes, &rules.elements, &mut self.found);
        if let Some(target) = self.found.leads_to.take() {
            return Page::Signpost(target);
        }
        // Where there are no words at all, every byte counts.
        let words = match rules.exact || self.found.text.is_empty() {
            true => bytes,
            false => self.words(rules),
        };
        Page::Is(Prints { bytes, words })
    }

    fn words(&self, rules: &PageRules) -> PageHash {
        let mut text = std::borrow::Cow::Borrowed(&self.found.text[..]);
        for pattern in &rules.texts {
            text = pattern.replace_all(&text, &b""[..]).into_owned().into();
        }
        let mut hasher = Sha256::new();
        hasher.update(text);
        short(hasher)
    }
}

fn short(hasher: Sha256) -> PageHash {
    let mut hash = [0; HASH_BYTES];
    hash.copy_from_slice(&hasher.finalize()[..HASH_BYTES]);
    PageHash(hash)
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

    #[test]
    fn patterns_that_mean_nothing_are_refused_by_name() {
        for pattern in ["element:div > p", "text:(", "[x"] {
            let error = PageRules::parse(&[pattern.to_owned()], &[]).unwrap_err();
            assert!(error.contains(pattern), "{error}");
        }
    }
}
