//! Reads and hashes files, on all cores: the part of a publication that takes long.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{Mode, OFlags, openat};
use sha2::{Digest, Sha256};

use super::folder::{Known, address_of};
use super::prints::{PageHash, Prints};
use super::rules::{PageRules, is_html};
use super::{PublishError, at, links};
use crate::read::charset;
use crate::read::html::main_text::{self, MainText};

/// Files that a thread takes at a time.
const BATCH: usize = 64;
/// Memory for a file, to begin with: more than almost all pages need.
const ROOM: usize = 1 << 16;
/// Memory that a thread keeps after a file that needed more.
const MOST_ROOM: usize = 1 << 22;

const UNREADABLE: &str = "cannot be read; make it readable, or leave it out with --ignore";

/// What became of a file.
pub(super) struct Page {
    /// Its address, below that of the site.
    pub(super) address: String,
    pub(super) is: Is,
}

/// What a file is.
pub(super) enum Is {
    Page(Prints),
    Signpost(String),
}

/// Reads and hashes files, in the order of `paths`.
pub(super) fn read_all(
    folder: &Path,
    paths: &[PathBuf],
    rules: &PageRules,
    known: Known<'_>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Page>, PublishError> {
    let root = File::open(folder).map_err(at(folder, "cannot be read"))?;
    let root = OwnedFd::from(root);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(paths.len().div_ceil(BATCH));
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results: Mutex<Vec<(usize, Vec<Page>)>> = Mutex::default();
    let work = || -> Result<(), PublishError> {
        let mut reader = Reader {
            rules,
            known,
            root: &root,
            bytes: vec![0; ROOM],
            length: 0,
            found: MainText::default(),
        };
        loop {
            let start = next.fetch_add(BATCH, Ordering::Relaxed);
            let Some(batch) = paths.get(start..paths.len().min(start + BATCH)) else {
                return Ok(());
            };
            if batch.is_empty() {
                return Ok(());
            }
            let mut pages = Vec::with_capacity(batch.len());
            for path in batch {
                let page = reader.page(path);
                pages.push(page.map_err(|error| at(&folder.join(path), UNREADABLE)(error))?);
            }
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
struct Reader<'a> {
    rules: &'a PageRules,
    known: Known<'a>,
    /// The folder, open, so that the way to it need not be gone for every file.
    root: &'a OwnedFd,
    /// Memory, of which the first `length` bytes are a file.
    bytes: Vec<u8>,
    length: usize,
    found: MainText,
}

impl Reader<'_> {
    fn page(&mut self, path: &Path) -> io::Result<Page> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let mut file = File::from(openat(self.root, path, flags, Mode::empty())?);
        let address = address_of(path, self.rules.clean_urls);
        if !is_html(path) {
            let bytes = self.raw(file)?;
            let words = bytes;
            let is = Is::Page(Prints { bytes, words });
            return Ok(Page { address, is });
        }
        self.whole(&mut file)?;
        // The link that we may have added ourselves is no news.
        let (before, after) = links::around_own_link(&self.bytes[..self.length]);
        let mut hasher = Sha256::new();
        hasher.update(before);
        hasher.update(after);
        let bytes = PageHash::of(hasher);
        let known = (self.known)(&address).filter(|known| known.bytes == bytes);
        let is = match known {
            Some(known) => Is::Page(known),
            None => self.html(bytes),
        };
        Ok(Page { address, is })
    }

    /// Takes in a whole file. Its size is not asked for: that would be one more question for every file, and the answer
    /// may be wrong by the time that it is read.
    fn whole(&mut self, file: &mut File) -> io::Result<()> {
        if self.bytes.len() > MOST_ROOM {
            self.bytes.truncate(ROOM);
            self.bytes.shrink_to_fit();
        }
        self.length = 0;
        loop {
            if self.length == self.bytes.len() {
                self.bytes.resize(2 * self.length, 0);
            }
            match file.read(&mut self.bytes[self.length..]) {
                Ok(0) => return Ok(()),
                Ok(read) => self.length += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// A file of any size, piece by piece.
    fn raw(&mut self, mut file: File) -> io::Result<PageHash> {
        let mut hasher = Sha256::new();
        loop {
            match file.read(&mut self.bytes) {
                Ok(0) => return Ok(PageHash::of(hasher)),
                Ok(read) => hasher.update(&self.bytes[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn html(&mut self, bytes: PageHash) -> Is {
        let page = &self.bytes[..self.length];
        // Every other encoding has its markup in ASCII.
        let page = match page.starts_with(b"\xff\xfe") || page.starts_with(b"\xfe\xff") {
            true => Cow::Owned(charset::decode_html(page, None).into_owned().into_bytes()),
            false => Cow::Borrowed(page),
        };
        main_text::read(&page, &self.rules.elements, &mut self.found);
        if let Some(target) = self.found.leads_to.take() {
            return Is::Signpost(target);
        }
        // Where there are no words at all, every byte counts.
        let words = match self.rules.exact || self.found.text.is_empty() {
            true => bytes,
            false => self.words(),
        };
        Is::Page(Prints { bytes, words })
    }

    fn words(&self) -> PageHash {
        let mut text = Cow::Borrowed(&self.found.text[..]);
        for pattern in &self.rules.texts {
            text = pattern.replace_all(&text, &b""[..]).into_owned().into();
        }
        let mut hasher = Sha256::new();
        hasher.update(text);
        PageHash::of(hasher)
    }
}
