//! How much there is room for in a document: feed readers give up on documents that are too large.

use std::borrow::Cow;

/// The most that a document has.
const MAX_BYTES: usize = 490_000;

/// How much of everything there is room for in a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Bytes for the lists of pages.
    pub(super) bytes: usize,
    /// What an item may have of that whatever the others need.
    pub(super) item_bytes: usize,
    /// Categories of one item that come from its pages.
    pub(super) tags: usize,
    /// Authors of each subject.
    pub(super) authors: usize,
    /// Characters of a title or a name.
    chars: usize,
    /// Whether items say what is said before their pages, and what others may do with them.
    pub(super) has_words: bool,
}

/// What nearly all documents have room for, and what those have whose sites tell as much as they can: their items list no
/// page whose address alone is too long, but lead to our own page about it.
const ROOMS: [Room; 2] = [
    Room {
        bytes: 400_000,
        item_bytes: 6_000,
        tags: 20,
        authors: usize::MAX,
        chars: usize::MAX,
        has_words: true,
    },
    Room {
        bytes: 100_000,
        item_bytes: 2_000,
        tags: 0,
        authors: 1,
        chars: 100,
        has_words: false,
    },
];

impl Room {
    /// A title or a name, as far as there is room for it.
    pub(super) fn cut<'a>(self, text: &'a str) -> Cow<'a, str> {
        match text.char_indices().nth(self.chars) {
            Some((end, _)) => Cow::Owned(format!("{}\u{2026}", &text[..end])),
            None => Cow::Borrowed(text),
        }
    }
}

/// Writes a document at the end of what is there, so that it is not too large.
pub(super) fn fitting(written: &mut Vec<u8>, write: impl Fn(Room, &mut Vec<u8>)) {
    let begin = written.len();
    for room in ROOMS {
        written.truncate(begin);
        write(room, written);
        if written.len() - begin <= MAX_BYTES {
            break;
        }
    }
}
