//! A folder of pages that a program makes, before it is published: exactly these files, and no file is touched that is
//! as it should be.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::{PublishError, at};

/// Writes these files below a folder, and removes all others from the folders that they are in; `folder` itself, where
/// other things are, is not cleared.
pub fn lay_out(folder: &Path, files: &BTreeMap<String, String>) -> Result<(), PublishError> {
    let mut folders = BTreeSet::new();
    for (name, text) in files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(at(parent, "cannot be made"))?;
        if parent != folder {
            folders.insert(parent.to_owned());
        }
        let is_there = fs::read(&path).is_ok_and(|found| found == text.as_bytes());
        if !is_there {
            fs::write(&path, text).map_err(at(&path, "cannot be written"))?;
        }
    }
    for inner in folders {
        let found = fs::read_dir(&inner).map_err(at(&inner, "cannot be read"))?;
        for file in found.flatten() {
            let path = file.path();
            let name = path.strip_prefix(folder).ok().and_then(Path::to_str);
            let is_wanted = name.is_some_and(|name| files.contains_key(name));
            if !is_wanted && path.is_file() {
                fs::remove_file(&path).map_err(at(&path, "cannot be removed"))?;
            }
        }
    }
    Ok(())
}
