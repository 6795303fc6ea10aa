//! Text that grows by words, set apart from each other by one space whatever stood between them.
//!
//! Pieces of text are short, a few words between two tags, so they are looked at and copied eight bytes at a time: that
//! is less work than to begin a search for each of them.

/// Stands before what an element links to or shows.
const SHOWN: u8 = 1;

/// Bytes that are looked at together.
const LANES: usize = 8;
/// The highest bit of each of them is unset, all others are set.
const LOW_BITS: u64 = u64::from_ne_bytes([0x7f; LANES]);

/// The highest bit of each byte that is not zero.
fn nonzero(lanes: u64) -> u64 {
    (lanes & LOW_BITS).wrapping_add(LOW_BITS) | lanes
}

/// The highest bit of each byte that is another than this one.
fn unlike(lanes: u64, byte: u8) -> u64 {
    nonzero(lanes ^ u64::from_ne_bytes([byte; LANES]))
}

/// The highest bit of each byte that is no control character.
fn no_control(lanes: u64) -> u64 {
    nonzero(lanes & u64::from_ne_bytes([0xe0; LANES]))
}

/// Which byte the first bit stands for.
fn first(bits: u64) -> usize {
    bits.trailing_zeros() as usize / 8
}

/// Where a byte is, from `place` on; the end of the page if there is none.
pub(super) fn find(page: &[u8], mut place: usize, wanted: u8) -> usize {
    while let Some(bytes) = page.get(place..).and_then(<[u8]>::first_chunk::<LANES>) {
        let found = !unlike(u64::from_le_bytes(*bytes), wanted) & !LOW_BITS;
        if found != 0 {
            return place + first(found);
        }
        place += LANES;
    }
    while page.get(place).is_some_and(|&byte| byte != wanted) {
        place += 1;
    }
    place
}

/// The text, in memory that is larger, so that eight bytes can be written where fewer count.
pub(super) struct Text {
    bytes: Vec<u8>,
    len: usize,
    /// Where the words begin that are being taken in; where no word was met yet, none.
    has_begun: bool,
}

impl Text {
    /// No text, in the memory of another one, with room for a page of that length.
    pub(super) fn new(mut memory: Vec<u8>, length: usize) -> Text {
        memory.resize(length + 8 * LANES, 0);
        Text {
            bytes: memory,
            len: 0,
            has_begun: false,
        }
    }

    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.truncate(self.len);
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Forgets what came after the first `len` bytes.
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    fn last(&self) -> Option<u8> {
        self.bytes[..self.len].last().copied()
    }

    fn push(&mut self, byte: u8) {
        match self.bytes.get_mut(self.len) {
            Some(place) => *place = byte,
            None => self.bytes.push(byte),
        }
        self.len += 1;
    }

    /// Sets what comes next apart from the words before.
    fn push_break(&mut self) {
        if !matches!(self.last(), None | Some(b' ' | SHOWN)) {
            self.push(b' ');
        }
    }

    /// Takes in words from `place` up to the next `<`, and says where that is.
    pub(super) fn begin(&mut self, page: &[u8], place: usize) -> usize {
        self.has_begun = false;
        self.take(page, place, b'<')
    }

    /// Takes in the `<` at `at`, which is but a character, and what follows.
    pub(super) fn go_on(&mut self, page: &[u8], at: usize) -> usize {
        self.begin_words();
        self.push(b'<');
        self.take(page, at + 1, b'<')
    }

    /// Adds words, set apart from those before and from each other by one space.
    pub(super) fn push_words(&mut self, words: &[u8]) {
        self.has_begun = false;
        let mut place = 0;
        loop {
            // Whatever is asked for, it may be among the words.
            place = self.take(words, place, 0);
            if place == words.len() {
                break;
            }
            self.begin_words();
            self.push(0);
            place += 1;
        }
        self.end_words();
    }

    /// Adds what an attribute shows.
    pub(super) fn push_shown(&mut self, value: &[u8]) {
        self.push_break();
        self.push(SHOWN);
        self.push_words(value);
    }

    /// Adds what an attribute shows whose value begins at `place` and goes on to the next `quote`; says where that is.
    pub(super) fn shown(&mut self, page: &[u8], place: usize, quote: u8) -> usize {
        self.push_break();
        self.push(SHOWN);
        self.has_begun = false;
        let end = self.take(page, place, quote);
        self.end_words();
        end
    }

    fn begin_words(&mut self) {
        if !self.has_begun {
            self.has_begun = true;
            self.push_break();
        }
    }

    /// What was taken in since is a piece: another one is set apart from it.
    pub(super) fn end_words(&mut self) {
        if self.has_begun && self.last() == Some(b' ') {
            self.len -= 1;
        }
    }

    /// Takes in words up to the next `stop`, or to the end, and says where that is.
    #[inline]
    fn take(&mut self, page: &[u8], mut place: usize, stop: u8) -> usize {
        if !self.has_begun {
            place = after_gap(page, place);
            match page.get(place) {
                None => return place,
                Some(&byte) if byte == stop => return place,
                Some(_) => self.begin_words(),
            }
        }
        // Nothing becomes longer by being taken in.
        let room = self.len + (page.len() - place) + LANES;
        if self.bytes.len() < room {
            self.bytes.resize(room, 0);
        }
        let (text, mut len) = (&mut self.bytes[..], self.len);
        let mut after_space = 0;
        loop {
            while let Some(bytes) = page.get(place..).and_then(<[u8]>::first_chunk::<LANES>) {
                let lanes = u64::from_le_bytes(*bytes);
                let spaces = !unlike(lanes, b' ') & !LOW_BITS;
                let others = unlike(lanes, stop) & no_control(lanes);
                let stops = (!others & !LOW_BITS) | (spaces & (spaces << 8 | after_space));
                text[len..len + LANES].copy_from_slice(bytes);
                if stops != 0 {
                    let taken = first(stops);
                    len += taken;
                    place += taken;
                    break;
                }
                after_space = spaces >> 56;
                len += LANES;
                place += LANES;
            }
            after_space = 0;
            let Some(&byte) = page.get(place).filter(|&&byte| byte != stop) else {
                break;
            };
            let mut one = byte;
            place += 1;
            if byte.is_ascii_whitespace() {
                place = after_gap(page, place);
                if text[len - 1] == b' ' {
                    continue;
                }
                one = b' ';
            }
            text[len] = one;
            len += 1;
        }
        self.len = len;
        place
    }
}

fn after_gap(page: &[u8], mut place: usize) -> usize {
    while page.get(place).is_some_and(u8::is_ascii_whitespace) {
        place += 1;
    }
    place
}
