//! What of a page its readers come for: the words of its main part, and what they link to and show.
//!
//! Two builds of a page that differ in nothing but navigation, scripts, styles, classes, comments or white space have
//! the same main text. It is made for comparing, not for showing: entities stay as they are written.
//!
//! This goes over the bytes by itself, because the tokenizer takes many times as long as reading and hashing a page do
//! together, and a comparison need not know HTML any better: whatever is misunderstood is misunderstood the same way in
//! both builds. The one danger would be to pass over too much, so what is left out must end; see [`read`]. What comes out
//! is hashed and published, so it stays the same, byte by byte, in every version.
//!
//! [`markup`] says what a `<` begins, [`words`] takes in text and values.

mod markup;
mod words;

use memchr::{memchr, memmem};

use self::markup::{Attribute, Markup, Tag, is};
use self::words::Text;

/// The comments between which an author puts what is no news.
const IGNORE: &[u8] = b"sitebell:ignore";
const IGNORE_END: &[u8] = b"/sitebell:ignore";

/// A page that leads on within so many seconds is a signpost and not a page.
const MAX_REFRESH_SECS: u32 = 2;

/// What an element is to this reading. Almost all are nothing in particular.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Any,
    Title,
    Meta,
    Body,
    Head,
    /// Stands in the head and shows nothing.
    Unseen,
    Main,
    /// Stands around the main part, on sites that do not say `<main>`.
    Around,
    /// Ways through the site, wherever they stand.
    Nav,
    Header,
    /// A header in one of these is part of it.
    Section,
    /// Holds text up to its own end tag that is not for readers.
    Silent,
    Iframe,
}

impl Kind {
    fn of(name: &[u8]) -> Kind {
        const SHORTEST: usize = 3;
        const LONGEST: usize = 8;
        // Asked of every tag, and most names are shorter than any that matters.
        if !(SHORTEST..=LONGEST).contains(&name.len()) {
            return Kind::Any;
        }
        let mut lower = [0; LONGEST];
        let lower = &mut lower[..name.len()];
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        match &*lower {
            b"title" => Kind::Title,
            b"meta" => Kind::Meta,
            b"body" => Kind::Body,
            b"head" => Kind::Head,
            b"html" | b"link" | b"base" => Kind::Unseen,
            b"main" => Kind::Main,
            b"footer" | b"aside" => Kind::Around,
            b"nav" => Kind::Nav,
            b"header" => Kind::Header,
            b"article" | b"section" => Kind::Section,
            b"script" | b"style" | b"template" | b"noscript" | b"noframes" => Kind::Silent,
            b"iframe" => Kind::Iframe,
            _ => Kind::Any,
        }
    }

    fn is_raw(self) -> bool {
        matches!(self, Kind::Silent | Kind::Iframe)
    }

    /// Whether it does not begin the body of a page.
    fn is_in_head(self) -> bool {
        matches!(
            self,
            Kind::Title | Kind::Meta | Kind::Unseen | Kind::Silent | Kind::Head
        )
    }
}

/// Elements that have no end tag.
const VOID: [&[u8]; 14] = [
    b"area", b"base", b"br", b"col", b"embed", b"frame", b"hr", b"img", b"input", b"link", b"meta",
    b"source", b"track", b"wbr",
];

/// Whether readers see the effect of an attribute.
fn is_seen(name: &[u8]) -> bool {
    match name {
        b"href" | b"src" | b"srcset" | b"alt" | b"poster" | b"data" | b"value" | b"datetime" => {
            true
        }
        name if name.iter().any(u8::is_ascii_uppercase) => is_seen(&name.to_ascii_lowercase()),
        _ => false,
    }
}

/// An element that an author leaves out: `nav`, `.stamp` or `#visits`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// By its name.
    Name(String),
    /// By a class.
    Class(String),
    /// By its id.
    Id(String),
}

impl Selector {
    /// Reads one of the three forms.
    pub fn parse(text: &str) -> Option<Selector> {
        let is_word = |word: &str| {
            !word.is_empty()
                && (word.chars()).all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
        };
        let (make, word): (fn(String) -> Selector, &str) = match text.split_at_checked(1)? {
            (".", class) => (Selector::Class, class),
            ("#", id) => (Selector::Id, id),
            _ => (|name| Selector::Name(name.to_ascii_lowercase()), text),
        };
        is_word(word).then(|| make(word.to_owned()))
    }

    fn matches(&self, tag: &Tag<'_>) -> bool {
        match self {
            Selector::Name(name) => tag.is(name.as_bytes()),
            Selector::Class(class) => (tag.attribute(b"class").unwrap_or_default())
                .split(u8::is_ascii_whitespace)
                .any(|own| own == class.as_bytes()),
            Selector::Id(id) => tag.attribute(b"id") == Some(id.as_bytes()),
        }
    }
}

/// What was found in a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MainText {
    /// The words, one space between them, and what is linked and shown, each after a control character.
    pub text: Vec<u8>,
    /// Where the page leads at once, if it is no more than a signpost.
    pub leads_to: Option<String>,
}

/// Reads a page. `ignored` elements are left out. An element that is left out but never ends is taken in after all:
/// rather too much is compared than too little.
pub fn read(page: &[u8], ignored: &[Selector], found: &mut MainText) {
    // The memory is that of the page before.
    let memory = std::mem::take(&mut found.text);
    let mut reading = Reading::new(page, ignored, Text::new(memory, page.len()), true);
    if !reading.run() {
        let memory = reading.text.into_bytes();
        reading = Reading::new(page, ignored, Text::new(memory, page.len()), false);
        reading.run();
    }
    found.leads_to = reading.leads_to;
    found.text = reading.text.into_bytes();
}

/// Where in a page a link can be added to its head: before `</head>`. In a page that leaves out that tag, as HTML allows
/// and minifiers do, it is where the elements end that can only be in a head, or else after `<head>`.
pub fn end_of_head(page: &[u8]) -> Option<usize> {
    let (mut place, mut begin) = (0, None);
    let (mut implied, mut is_head_over) = (None, false);
    while let Some(found) = memchr(b'<', &page[place..]) {
        let at = place + found;
        is_head_over |= !page[place..at].trim_ascii().is_empty();
        let Some((markup, end)) = Markup::read(page, at) else {
            is_head_over = true;
            place = at + 1;
            continue;
        };
        place = end;
        let kind = match markup {
            Markup::End(name) if is(name, b"head") => return Some(at),
            Markup::End(name) => Kind::of(name),
            Markup::Start(tag) => {
                let kind = Kind::of(tag.name);
                if kind == Kind::Head {
                    begin = Some(end);
                } else if kind == Kind::Body {
                    break;
                } else if kind.is_raw() || kind == Kind::Title {
                    place = end_of_raw(page, end, tag.name);
                }
                kind
            }
            Markup::Comment(_) | Markup::Other => continue,
        };
        is_head_over |= !kind.is_in_head();
        if !is_head_over {
            implied = Some(place);
        }
    }
    implied.or(begin)
}

/// Where the text of an element ends that holds nothing else.
fn end_of_raw(page: &[u8], start: usize, name: &[u8]) -> usize {
    let mut from = start;
    while let Some(found) = memmem::find(&page[from..], b"</") {
        let at = from + found;
        let after = &page[at + 2..];
        if after.len() >= name.len() && is(&after[..name.len()], name) {
            return at;
        }
        from = at + 2;
    }
    page.len()
}

struct Reading<'a> {
    page: &'a [u8],
    place: usize,
    ignored: &'a [Selector],
    text: Text,
    leads_to: Option<String>,
    /// Whether elements are left out.
    may_skip: bool,
    /// Where the text of the body begins: the title stands before it.
    title_end: usize,
    in_head: bool,
    main: Main<'a>,
    /// Open `article` and `section` elements: a header in one of them is part of it.
    sections: usize,
}

/// Where the reading is with regard to `<main>`.
#[derive(PartialEq, Eq)]
enum Main<'a> {
    NotSeen,
    /// So many elements of its name are open.
    Inside(&'a [u8], usize),
    After,
}

impl<'a> Reading<'a> {
    fn new(page: &'a [u8], ignored: &'a [Selector], text: Text, may_skip: bool) -> Self {
        Reading {
            page,
            place: 0,
            ignored,
            text,
            leads_to: None,
            may_skip,
            title_end: 0,
            in_head: true,
            main: Main::NotSeen,
            sections: 0,
        }
    }

    /// Goes through the page; false if something was left out that has no end.
    fn run(&mut self) -> bool {
        loop {
            let Some(at) = self.take_text() else {
                return true;
            };
            if self.pass_plain_tag(at) {
                continue;
            }
            let Some((markup, end)) = Markup::read(self.page, at) else {
                unreachable!("text goes on to where markup begins")
            };
            self.place = end;
            match markup {
                Markup::Comment(comment) if comment.trim_ascii() == IGNORE => self.skip_ignored(),
                Markup::Comment(_) | Markup::Other => {}
                Markup::End(name) => self.close(name),
                Markup::Start(tag) => {
                    if !self.open(&tag) {
                        return false;
                    }
                }
            }
        }
    }

    /// Takes in the text up to the next piece of markup, and returns where that is.
    fn take_text(&mut self) -> Option<usize> {
        if self.in_head {
            // Pages without a head tag: words begin the body.
            let text = &self.page[self.place..];
            match text.iter().position(|byte| !byte.is_ascii_whitespace()) {
                None => return None,
                Some(gap) if Markup::begins(self.page, self.place + gap) => {
                    return Some(self.place + gap);
                }
                Some(_) => self.in_head = false,
            }
        }
        let mut at = match self.counts() {
            true => self.text.begin(self.page, self.place),
            false => next_bracket(self.page, self.place),
        };
        while at < self.page.len() && !Markup::begins(self.page, at) {
            at = match self.counts() {
                true => self.text.go_on(self.page, at),
                false => next_bracket(self.page, at + 1),
            };
        }
        if self.counts() {
            self.text.end_words();
        }
        (at < self.page.len()).then_some(at)
    }

    /// Goes past a tag that is nothing in particular, and takes in what it shows, if it is written as almost all are.
    /// Otherwise nothing has happened.
    fn pass_plain_tag(&mut self, at: usize) -> bool {
        if !self.counts() {
            return false;
        }
        let (name, place) = match self.page.get(at + 1) {
            Some(b'/') => {
                let name = markup::name(self.page, at + 2);
                (name, at + 2 + name.len())
            }
            Some(byte) if byte.is_ascii_alphabetic() => {
                let name = markup::name(self.page, at + 1);
                (name, at + 1 + name.len())
            }
            _ => return false,
        };
        if Kind::of(name) != Kind::Any {
            return false;
        }
        if let Main::Inside(main, _) = self.main
            && is(name, main)
        {
            return false;
        }
        let is_end = self.page[at + 1] == b'/';
        if is_end {
            let is_plain = !name.is_empty() && self.page.get(place) == Some(&b'>');
            if is_plain {
                self.place = place + 1;
            }
            return is_plain;
        }
        if self.may_skip && !self.ignored.is_empty() {
            return false;
        }
        let mark = self.text.len();
        match self.plain_attributes(place) {
            Some(end) => {
                self.place = end;
                true
            }
            None => {
                self.text.truncate(mark);
                false
            }
        }
    }

    /// Takes in what attributes show that are written as `name="value"`, and returns where the tag ends.
    fn plain_attributes(&mut self, mut place: usize) -> Option<usize> {
        loop {
            match self.page.get(place)? {
                b'>' => return Some(place + 1),
                byte if byte.is_ascii_whitespace() => place += 1,
                _ => {
                    let Attribute { name, quote, value } = Attribute::plain(self.page, place)?;
                    if name.len() == 4 && self.main == Main::NotSeen && is(name, b"role") {
                        return None;
                    }
                    let end = match is_seen(name) {
                        true => self.text.shown(self.page, value, quote),
                        false => words::find(self.page, value, quote),
                    };
                    place = end + 1;
                }
            }
        }
    }

    fn open(&mut self, tag: &Tag<'a>) -> bool {
        let kind = Kind::of(tag.name);
        match kind {
            Kind::Title if self.in_head && self.title_end == 0 => {
                let end = end_of_raw(self.page, self.place, tag.name);
                self.text.push_words(&self.page[self.place..end]);
                self.place = end;
                self.title_end = self.text.len();
                return true;
            }
            Kind::Meta => {
                self.meta(tag);
                return true;
            }
            Kind::Silent | Kind::Iframe => {
                if kind == Kind::Iframe {
                    self.seen(tag);
                }
                self.place = end_of_raw(self.page, self.place, tag.name);
                return true;
            }
            Kind::Head | Kind::Unseen => return true,
            Kind::Body => self.in_head = false,
            _ => {}
        }
        match &mut self.main {
            Main::NotSeen if kind == Kind::Main || tag.attribute(b"role") == Some(b"main") => {
                // What came before was not the main part after all.
                self.text.truncate(self.title_end);
                self.main = Main::Inside(tag.name, 1);
            }
            Main::Inside(name, depth) if tag.is(name) => *depth += 1,
            _ => {}
        }
        if self.may_skip && self.is_left_out(kind, tag) {
            return VOID.iter().any(|name| tag.is(name)) || self.skip_element(tag.name);
        }
        self.sections += usize::from(kind == Kind::Section);
        self.seen(tag);
        true
    }

    fn close(&mut self, name: &[u8]) {
        match Kind::of(name) {
            Kind::Head => self.in_head = false,
            Kind::Section => self.sections = self.sections.saturating_sub(1),
            _ => {}
        }
        if let Main::Inside(own, depth) = &mut self.main
            && is(name, own)
        {
            *depth -= 1;
            if *depth == 0 {
                self.main = Main::After;
            }
        }
    }

    fn is_left_out(&self, kind: Kind, tag: &Tag<'_>) -> bool {
        let is_around = match kind {
            Kind::Nav => true,
            // Whatever else is in the main part belongs there.
            Kind::Around => self.main == Main::NotSeen,
            Kind::Header => self.main == Main::NotSeen && self.sections == 0,
            _ => false,
        };
        is_around || (self.ignored.iter()).any(|selector| selector.matches(tag))
    }

    /// Goes past the end of an element that was just opened; false if it has none.
    fn skip_element(&mut self, name: &[u8]) -> bool {
        let mut depth = 1;
        while depth > 0 {
            let Some(found) = memchr(b'<', &self.page[self.place..]) else {
                return false;
            };
            let at = self.place + found;
            let Some((markup, end)) = Markup::read(self.page, at) else {
                self.place = at + 1;
                continue;
            };
            self.place = end;
            match markup {
                Markup::Start(tag) if tag.is(name) => depth += 1,
                Markup::Start(tag) if Kind::of(tag.name).is_raw() => {
                    self.place = end_of_raw(self.page, self.place, tag.name);
                }
                Markup::End(end) if is(end, name) => depth -= 1,
                _ => {}
            }
        }
        true
    }

    /// Goes past the comment that ends what the author leaves out, or to the end of the page.
    fn skip_ignored(&mut self) {
        while let Some(found) = memmem::find(&self.page[self.place..], b"<!--") {
            let at = self.place + found;
            let Some((Markup::Comment(comment), end)) = Markup::read(self.page, at) else {
                break;
            };
            self.place = end;
            if comment.trim_ascii() == IGNORE_END {
                return;
            }
        }
        self.place = self.page.len();
    }

    fn meta(&mut self, tag: &Tag<'_>) {
        let is_refresh = (tag.attribute(b"http-equiv")).is_some_and(|value| is(value, b"refresh"));
        if let Some(content) = tag.attribute(b"content").filter(|_| is_refresh) {
            let target = refresh_target(&String::from_utf8_lossy(content));
            self.leads_to = target.or(self.leads_to.take());
        }
    }

    fn counts(&self) -> bool {
        !self.in_head && self.main != Main::After
    }

    /// Takes in what the attributes of an element show.
    fn seen(&mut self, tag: &Tag<'_>) {
        self.in_head = false;
        if tag.inside.is_empty() || !self.counts() {
            return;
        }
        for (name, value) in tag.attributes() {
            if is_seen(name) {
                self.text.push_shown(value);
            }
        }
    }
}

fn next_bracket(page: &[u8], from: usize) -> usize {
    memchr(b'<', &page[from..]).map_or(page.len(), |found| from + found)
}

/// Where `<meta http-equiv="refresh">` leads, if it does so at once.
fn refresh_target(content: &str) -> Option<String> {
    let (delay, rest) = content.split_once([';', ','])?;
    let delay: u32 = delay.trim().split('.').next()?.parse().ok()?;
    let (key, target) = rest.split_once('=')?;
    let target = target.trim().trim_matches(['"', '\'']);
    let is_target = key.trim().eq_ignore_ascii_case("url") && delay <= MAX_REFRESH_SECS;
    (is_target && !target.is_empty()).then(|| target.to_owned())
}

#[cfg(test)]
mod tests;
