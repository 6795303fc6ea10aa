//! Writes what was planned, so that whoever reads the folder finds what was there before or what is there now.
//!
//! All documents but the entry point are in one folder, so a new one is made beside it and the two change places in one
//! step. The entry point changes only when the set of collections does, and is renamed into its place after that.
//! Whatever a run that was killed has left behind is tidied up by the next.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::plan::Plan;
use super::{ENTRY_POINT, OWN_FOLDER, PublishError, at};

/// The new folder until it takes its place, and the old one after that.
const NEW_FOLDER: &str = ".sitebell-new";
/// The old folder, on file systems where two folders cannot change places in one step.
const OLD_FOLDER: &str = ".sitebell-old";

/// How the names of files end that wait beside their places.
const WAITING: &str = ".sitebell-new";

/// Files that are written before they are waited for.
const AT_ONCE: usize = 16;

/// Asked before every step that touches the disk; an error stops the run there, as if it had been killed.
pub type Watch<'a> = &'a mut dyn FnMut() -> io::Result<()>;

/// A file to be written in full, at its path below the folder of the site.
pub type Copied = (String, Vec<u8>);

/// Which of the files of a plan are not there yet as they should be.
pub fn differences(folder: &Path, plan: &Plan, copied: &[Copied]) -> Vec<String> {
    let own = plan
        .files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_bytes()));
    let copied = copied
        .iter()
        .map(|(path, bytes)| (path.as_str(), &bytes[..]));
    let entry_point = (ENTRY_POINT, plan.entry_point.as_bytes());
    own.chain(copied)
        .chain([entry_point])
        .filter(|(path, bytes)| !is_there(&folder.join(path), bytes))
        .map(|(path, _)| path.to_owned())
        .collect()
}

/// Whether a file has exactly this content.
pub fn is_there(path: &Path, bytes: &[u8]) -> bool {
    let has_size = fs::metadata(path).is_ok_and(|file| file.len() == bytes.len() as u64);
    has_size && fs::read(path).is_ok_and(|found| found == bytes)
}

/// Keeps everybody else from publishing the same folder until it is dropped.
pub fn lock(folder: &Path) -> Result<File, PublishError> {
    let file = File::open(folder).map_err(at(folder, "cannot be read"))?;
    match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Err(PublishError::Folder(format!(
            "{} is being published already; wait for that to end",
            folder.display()
        ))),
        // Where folders cannot be locked, nobody can tell.
        _ => Ok(file),
    }
}

/// Whether a run was killed between the two steps of [`follow_in_place`].
pub fn is_between(folder: &Path) -> bool {
    folder.join(OLD_FOLDER).is_dir() && !folder.join(OWN_FOLDER).exists()
}

/// Tidies up after a run that was killed.
pub fn recover(folder: &Path) -> Result<(), PublishError> {
    let (own, old) = (folder.join(OWN_FOLDER), folder.join(OLD_FOLDER));
    if is_between(folder) {
        fs::rename(&old, &own).map_err(at(&old, "cannot be put back"))?;
    }
    remove_file(&beside(&folder.join(ENTRY_POINT)))?;
    for left in [NEW_FOLDER, OLD_FOLDER] {
        remove(&folder.join(left))?;
    }
    Ok(())
}

/// Writes a plan, and files of before that are not in the folder.
pub fn write(
    folder: &Path,
    plan: &Plan,
    copied: &[Copied],
    watch: Watch<'_>,
) -> Result<(), PublishError> {
    let (own, new) = (folder.join(OWN_FOLDER), folder.join(NEW_FOLDER));
    let in_own = |path: &str| {
        PathBuf::from(
            path.strip_prefix(OWN_FOLDER)
                .unwrap_or(path)
                .trim_start_matches('/'),
        )
    };
    let texts = plan
        .files
        .iter()
        .map(|(path, text)| (path, text.as_bytes()));
    let copies = copied.iter().map(|(path, bytes)| (path, &bytes[..]));
    let files: Vec<(PathBuf, &[u8])> = (copies.chain(texts))
        .map(|(path, bytes)| (in_own(path), bytes))
        .collect();
    let differs = |(path, bytes): &(PathBuf, &[u8])| !is_there(&own.join(path), bytes);
    // The entry point waits beside its place, so that it is on the disk together with the others.
    let entry_point = folder.join(ENTRY_POINT);
    let mut waiting = None;
    if !is_there(&entry_point, plan.entry_point.as_bytes()) {
        step(watch, &entry_point)?;
        waiting = Some(put_beside(&entry_point, plan.entry_point.as_bytes())?);
    }
    let is_waiting = waiting.is_some();
    if files.iter().any(differs) {
        step(watch, &new)?;
        fs::create_dir(&new).map_err(at(&new, "cannot be made"))?;
        if own.is_dir() {
            take_over(&own, &new, watch)?;
        }
        for part in files.chunks(AT_ONCE) {
            let mut written = Vec::new();
            for (path, bytes) in part {
                let place = new.join(path);
                step(watch, &place)?;
                let file = replace(&place, bytes).map_err(at(&place, "cannot be written"))?;
                written.push((place, file));
            }
            written.extend(waiting.take());
            reach_the_disk(&written)?;
        }
        step(watch, &own)?;
        change_places(folder, watch)?;
        step(watch, &new)?;
        remove(&new)?;
    }
    if let Some(file) = waiting.take() {
        reach_the_disk(&[file])?;
    }
    if is_waiting {
        step(watch, &entry_point)?;
        take_place(&entry_point)?;
    }
    Ok(())
}

/// Writes a file so that it is there as a whole or as it was.
pub fn write_file(path: &Path, bytes: &[u8], watch: Watch<'_>) -> Result<(), PublishError> {
    let file = put_beside(path, bytes)?;
    reach_the_disk(&[file])?;
    step(watch, path)?;
    take_place(path)
}

/// Where a file waits until it takes its place.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(WAITING);
    path.with_file_name(name)
}

/// Whether a file of this name waits to take its place.
pub(super) fn is_waiting(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b".") && name.len() > 1 + WAITING.len() && name.ends_with(WAITING.as_bytes())
}

/// Writes a file beside its place. It need not be on the disk yet.
fn put_beside(path: &Path, bytes: &[u8]) -> Result<(PathBuf, File), PublishError> {
    let failed = |error| at(path, "cannot be written")(error);
    let beside = beside(path);
    let file = replace(&beside, bytes).map_err(failed)?;
    if let Ok(old) = fs::metadata(path) {
        file.set_permissions(old.permissions()).map_err(failed)?;
    }
    Ok((beside, file))
}

/// Puts a file where it belongs that waits beside.
fn take_place(path: &Path) -> Result<(), PublishError> {
    let failed = |error| at(path, "cannot be written")(error);
    fs::rename(beside(path), path).map_err(failed)
}

fn step(watch: Watch<'_>, path: &Path) -> Result<(), PublishError> {
    watch().map_err(at(path, "was not written"))
}

/// Writes a file in a place where nobody looks yet, never through a link to another. It need not be on the disk yet.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    unlink(path)?;
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    Ok(file)
}

/// Waits until all of these files are on the disk. They wait together: one after the other, each would wait as long.
fn reach_the_disk(files: &[(PathBuf, File)]) -> Result<(), PublishError> {
    let reach = |(path, file): &(PathBuf, File)| {
        let synced = file.sync_all();
        synced.map_err(at(path, "cannot be written"))
    };
    if let [one] = files {
        return reach(one);
    }
    std::thread::scope(|scope| {
        let waiting: Vec<_> = (files.iter())
            .map(|file| scope.spawn(move || reach(file)))
            .collect();
        waiting.into_iter().try_for_each(|one| match one.join() {
            Ok(reached) => reached,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

/// Fills the new folder with what is in the old one, without copying where that can be helped.
fn take_over(from: &Path, to: &Path, watch: Watch<'_>) -> Result<(), PublishError> {
    for entry in fs::read_dir(from).map_err(at(from, "cannot be read"))? {
        let entry = entry.map_err(at(from, "cannot be read"))?;
        let (old, new) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(at(&old, "cannot be read"))?;
        step(watch, &new)?;
        if kind.is_dir() {
            fs::create_dir(&new).map_err(at(&new, "cannot be made"))?;
            take_over(&old, &new, watch)?;
        } else if kind.is_symlink() {
            let target = fs::read_link(&old).map_err(at(&old, "cannot be read"))?;
            std::os::unix::fs::symlink(target, &new).map_err(at(&new, "cannot be made"))?;
        } else if fs::hard_link(&old, &new).is_err() {
            fs::copy(&old, &new).map_err(at(&old, "cannot be copied"))?;
        }
    }
    Ok(())
}

/// Puts the new folder where the old one was, and the old one where the new one was.
fn change_places(folder: &Path, watch: Watch<'_>) -> Result<(), PublishError> {
    let (own, new) = (folder.join(OWN_FOLDER), folder.join(NEW_FOLDER));
    let failed = |error| at(&own, "cannot be replaced")(error);
    if !own.exists() {
        return fs::rename(&new, &own).map_err(failed);
    }
    match renameat_with(CWD, &new, CWD, &own, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        // Some file systems cannot do that.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => follow_in_place(folder, watch),
        Err(error) => Err(failed(error.into())),
    }
}

/// Puts the new folder where the old one was, in two steps. Between them there is neither, until [`recover`] puts the old
/// one back.
fn follow_in_place(folder: &Path, watch: Watch<'_>) -> Result<(), PublishError> {
    let [own, new, old] = [OWN_FOLDER, NEW_FOLDER, OLD_FOLDER].map(|name| folder.join(name));
    let failed = |error| at(&own, "cannot be replaced")(error);
    fs::rename(&own, &old).map_err(failed)?;
    step(watch, &own)?;
    fs::rename(&new, &own).map_err(failed)?;
    step(watch, &old)?;
    remove(&old)
}

/// Removes a file, if it is there.
pub fn remove_file(path: &Path) -> Result<(), PublishError> {
    unlink(path).map_err(at(path, "cannot be removed"))
}

fn unlink(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn remove(folder: &Path) -> Result<(), PublishError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(at(folder, "cannot be removed")(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder in which an old set of documents is about to be followed by a new one.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [(OWN_FOLDER, "old"), (NEW_FOLDER, "new")] {
            for file in ["manifest.json", "fox/changelist.xml"] {
                replace(&folder.path().join(name).join(file), text.as_bytes()).unwrap();
            }
        }
        folder
    }

    /// What the set of documents is: old or new, but not something of both; none where there is no set.
    fn set(folder: &Path) -> Option<String> {
        let read = |file: &str| fs::read_to_string(folder.join(OWN_FOLDER).join(file)).ok();
        let (one, other) = (read("manifest.json"), read("fox/changelist.xml"));
        assert_eq!(one, other);
        one
    }

    fn names(folder: &Path) -> Vec<std::ffi::OsString> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    }

    #[test]
    fn without_an_exchange_of_names_a_killed_run_is_put_right_by_the_next() {
        let mut seen = Vec::new();
        for steps in 0.. {
            let folder = folder();
            let mut left = steps;
            let mut kill = || match left {
                0 => Err(io::Error::other("killed")),
                _ => {
                    left -= 1;
                    Ok(())
                }
            };
            let survived = follow_in_place(folder.path(), &mut kill).is_ok();
            let at_once = set(folder.path());
            recover(folder.path()).unwrap();
            seen.push((at_once, set(folder.path())));
            assert_eq!(names(folder.path()), [OWN_FOLDER], "after {steps} steps");
            if survived {
                break;
            }
        }
        let (old, new) = (Some("old".to_owned()), Some("new".to_owned()));
        assert_eq!(
            seen,
            [(None, old), (new.clone(), new.clone()), (new.clone(), new)]
        );
    }

    #[test]
    fn an_old_set_that_was_being_removed_does_not_come_back() {
        let folder = folder();
        let mut steps = 0;
        let mut kill = || match steps {
            0 => {
                steps += 1;
                Ok(())
            }
            _ => Err(io::Error::other("killed")),
        };
        follow_in_place(folder.path(), &mut kill).unwrap_err();
        fs::remove_file(folder.path().join(OLD_FOLDER).join("manifest.json")).unwrap();
        recover(folder.path()).unwrap();
        assert_eq!(set(folder.path()).as_deref(), Some("new"));
        assert_eq!(names(folder.path()), [OWN_FOLDER]);
    }

    #[test]
    fn both_ways_to_change_places_end_alike() {
        for change in [change_places, follow_in_place] {
            let folder = folder();
            change(folder.path(), &mut || Ok(())).unwrap();
            remove(&folder.path().join(NEW_FOLDER)).unwrap();
            assert_eq!(set(folder.path()).as_deref(), Some("new"));
            assert_eq!(names(folder.path()), [OWN_FOLDER]);
        }
    }
}
