//! How the log of a collection grows: in its open list, which is closed before it is long.

use std::collections::BTreeSet;

use super::state::{Closed, Log};
use crate::moment::Moment;
use crate::read::resourcesync::Entry;
use crate::read::resourcesync::read::MAX_ENTRIES;

/// The open list is what followers load again and again, so it stays small.
const MAX_OPEN: usize = 500;
/// A list stays well below the 50 MB of the Sitemaps protocol.
const MAX_LIST_BYTES: usize = 40_000_000;

/// Adds changes to a log, and returns the lists that are closed by that, with what is in them.
pub(super) fn grow(log: &mut Log, new: Vec<Entry>, at: Moment) -> Vec<(Closed, Vec<Entry>)> {
    let mut closed = Vec::new();
    if new.is_empty() || log.open.len() + new.len() <= MAX_OPEN {
        log.open.extend(new);
        return closed;
    }
    if !log.open.is_empty() {
        let entries = std::mem::take(&mut log.open);
        closed.push((close(log, at), entries));
    }
    if new.len() <= MAX_OPEN {
        log.open = new;
        return closed;
    }
    for part in parts(new) {
        closed.push((close(log, at), part));
    }
    closed
}

/// Closes the open list under a name of its own; the next one begins when it ends.
fn close(log: &mut Log, at: Moment) -> Closed {
    let date = at.start().format("%Y-%m-%d");
    let taken: BTreeSet<&str> = log.closed.iter().map(|list| list.file.as_str()).collect();
    let names = (2..).map(|number| format!("changelist-{date}-{number}.xml"));
    let file = std::iter::once(format!("changelist-{date}.xml"))
        .chain(names)
        .find(|name| !taken.contains(name.as_str()))
        .unwrap_or_else(|| unreachable!("there are more numbers than lists"));
    let list = Closed {
        file,
        from: log.from,
        until: at,
    };
    log.closed.push(list.clone());
    log.from = at;
    list
}

/// Splits changes into lists that keep the limits of the protocol.
fn parts(entries: Vec<Entry>) -> Vec<Vec<Entry>> {
    let mut parts = vec![Vec::new()];
    let mut bytes = 0;
    for entry in entries {
        // At most five bytes for a character that has to be escaped, and the tags around it all.
        let note = entry.details.note.as_ref().map_or(0, String::len);
        let links: usize = entry.details.links.iter().map(|link| link.href.len()).sum();
        let size = 300 + 5 * (entry.loc.len() + note + links);
        let last = parts
            .last_mut()
            .unwrap_or_else(|| unreachable!("it begins with one"));
        if last.len() == MAX_ENTRIES || bytes + size > MAX_LIST_BYTES {
            bytes = 0;
            parts.push(Vec::new());
        }
        bytes += size;
        if let Some(last) = parts.last_mut() {
            last.push(entry);
        }
    }
    parts
}
