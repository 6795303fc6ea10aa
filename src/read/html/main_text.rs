//! What of a page its readers come for: the words of its main part, and what they link to and show.
//!
//! Two builds of a page that differ in nothing but navigation, scripts, styles, classes, comments or white space have
//! the same main text. It is made for comparing, not for showing: entities stay as they are written.
//!
//! This goes over the bytes by itself, because the tokenizer takes four times as long as reading and hashing a page do
//! together, and a comparison need not know HTML any better: whatever is misunderstood is misunderstood the same way in
//! both builds. The one danger would be to pass over too much, so what is left out must end; see [`read`].

use memchr::{memchr, memmem};

/// The comments between which an author puts what is no news.
const IGNORE: &[u8] = b"sitebell:ignore";
const IGNORE_END: &[u8] = b"/sitebell:ignore";

/// Stands before what an element links to or shows.
const SHOWN: u8 = 1;
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
    let mut reading = Reading::new(page, ignored, found, true);
    if !reading.run() {
        Reading::new(page, ignored, found, false).run();
    }
}

/// Where in a page a link can be added to its head: before `</head>`, or else after `<head>`.
pub fn end_of_head(page: &[u8]) -> Option<usize> {
    let (mut place, mut begin) = (0, None);
    while let Some(found) = memchr(b'<', &page[place..]) {
        let at = place + found;
        let Some((markup, end)) = Markup::read(page, at) else {
            place = at + 1;
            continue;
        };
        place = end;
        match markup {
            Markup::End(name) if is(name, b"head") => return Some(at),
            Markup::Start(tag) => match Kind::of(tag.name) {
                Kind::Head => begin = Some(end),
                Kind::Body => break,
                kind if kind.is_raw() || kind == Kind::Title => {
                    place = end_of_raw(page, end, tag.name);
                }
                _ => {}
            },
            _ => {}
        }
    }
    begin
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
    found: &'a mut MainText,
    /// Whether elements are left out.
    may_skip: bool,
    /// Where the text of the body begins: the title stands before it.
    title_end: usize,
    in_head: bool,
    main: Main,
    /// Open `article` and `section` elements: a header in one of them is part of it.
    sections: usize,
}

/// Where the reading is with regard to `<main>`.
#[derive(PartialEq, Eq)]
enum Main {
    NotSeen,
    /// So many elements of its name are open.
    Inside(Vec<u8>, usize),
    After,
}

impl<'a> Reading<'a> {
    fn new(
        page: &'a [u8],
        ignored: &'a [Selector],
        found: &'a mut MainText,
        may_skip: bool,
    ) -> Self {
        found.text.clear();
        found.leads_to = None;
        Reading {
            page,
            place: 0,
            ignored,
            found,
            may_skip,
            title_end: 0,
            in_head: true,
            main: Main::NotSeen,
            sections: 0,
        }
    }

    /// Goes through the page; false if something was left out that has no end.
    fn run(&mut self) -> bool {
        while let Some(markup) = self.next_markup() {
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
        true
    }

    /// Takes in the text up to the next piece of markup, and returns that.
    fn next_markup(&mut self) -> Option<Markup<'a>> {
        let start = self.place;
        let mut from = start;
        loop {
            let Some(found) = memchr(b'<', &self.page[from..]) else {
                self.place = self.page.len();
                self.text(&self.page[start..]);
                return None;
            };
            let at = from + found;
            if let Some((markup, end)) = Markup::read(self.page, at) {
                self.text(&self.page[start..at]);
                self.place = end;
                return Some(markup);
            }
            from = at + 1;
        }
    }

    fn open(&mut self, tag: &Tag<'a>) -> bool {
        let kind = Kind::of(tag.name);
        match kind {
            Kind::Title if self.in_head && self.title_end == 0 => {
                let end = end_of_raw(self.page, self.place, tag.name);
                push_words(&mut self.found.text, &self.page[self.place..end]);
                self.place = end;
                self.title_end = self.found.text.len();
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
                self.found.text.truncate(self.title_end);
                self.main = Main::Inside(tag.name.to_ascii_lowercase(), 1);
            }
            Main::Inside(name, depth) if tag.is(name) => *depth += 1,
            _ => {}
        }
        if self.may_skip && self.is_left_out(kind, tag) {
            return is_one_of(tag.name, &VOID) || self.skip_element(tag.name);
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
            self.found.leads_to = target.or(self.found.leads_to.take());
        }
    }

    fn counts(&self) -> bool {
        !self.in_head && self.main != Main::After
    }

    fn text(&mut self, text: &[u8]) {
        // Pages without a head tag: words begin the body.
        if self.in_head && !text.trim_ascii().is_empty() {
            self.in_head = false;
        }
        if self.counts() {
            push_words(&mut self.found.text, text);
        }
    }

    /// Takes in what the attributes of an element show.
    fn seen(&mut self, tag: &Tag<'_>) {
        self.in_head = false;
        if tag.inside.is_empty() || !self.counts() {
            return;
        }
        for (name, value) in tag.attributes() {
            if is_seen(name) {
                push_break(&mut self.found.text);
                self.found.text.push(SHOWN);
                push_words(&mut self.found.text, value);
            }
        }
    }
}

/// One piece of markup.
enum Markup<'a> {
    Comment(&'a [u8]),
    Start(Tag<'a>),
    End(&'a [u8]),
    Other,
}

impl<'a> Markup<'a> {
    /// Reads the markup that begins at `at`, and says where it ends; none if it is a mere `<`.
    fn read(page: &'a [u8], at: usize) -> Option<(Markup<'a>, usize)> {
        let rest = &page[at + 1..];
        let to_bracket = || memchr(b'>', rest).map_or(page.len(), |end| at + 1 + end + 1);
        match *rest.first()? {
            b'!' => match rest.strip_prefix(b"!--") {
                Some(rest) => Some(match memmem::find(rest, b"-->") {
                    Some(end) => (Markup::Comment(&rest[..end]), at + 4 + end + 3),
                    None => (Markup::Other, page.len()),
                }),
                None => Some((Markup::Other, to_bracket())),
            },
            b'?' => Some((Markup::Other, to_bracket())),
            b'/' => {
                let name = name(&rest[1..]);
                let after = at + 2 + name.len();
                let end = match page.get(after) {
                    Some(b'>') => after + 1,
                    _ => to_bracket(),
                };
                (!name.is_empty()).then_some((Markup::End(name), end))
            }
            byte if byte.is_ascii_alphabetic() => {
                let name = name(rest);
                let inside = &rest[name.len()..];
                let length = end_of_tag(inside);
                let tag = Tag {
                    name,
                    inside: &inside[..length],
                };
                let end = (at + 1 + name.len() + length + 1).min(page.len());
                Some((Markup::Start(tag), end))
            }
            _ => None,
        }
    }
}

/// A start tag.
struct Tag<'a> {
    name: &'a [u8],
    inside: &'a [u8],
}

impl<'a> Tag<'a> {
    fn is(&self, name: &[u8]) -> bool {
        is(self.name, name)
    }

    fn attribute(&self, wanted: &[u8]) -> Option<&'a [u8]> {
        if self.inside.len() <= wanted.len() {
            return None;
        }
        let mut attributes = self.attributes();
        attributes
            .find(|(name, _)| is(name, wanted))
            .map(|(_, value)| value)
    }

    /// Names and values, as they are written.
    fn attributes(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut rest = self.inside;
        std::iter::from_fn(move || {
            let is_gap = |byte: u8| byte.is_ascii_whitespace() || byte == b'/';
            let start = rest.iter().position(|&byte| !is_gap(byte))?;
            rest = &rest[start..];
            let length = (rest.iter().skip(1)).position(|&byte| is_gap(byte) || byte == b'=');
            let (name, after) = rest.split_at(length.map_or(rest.len(), |length| length + 1));
            rest = after;
            let Some(value) = after.trim_ascii_start().strip_prefix(b"=") else {
                return Some((name, &b""[..]));
            };
            let value = value.trim_ascii_start();
            let (value, after) = match value.first() {
                Some(&quote @ (b'"' | b'\'')) => {
                    let value = &value[1..];
                    let end = memchr(quote, value).unwrap_or(value.len());
                    (&value[..end], value.get(end + 1..).unwrap_or_default())
                }
                _ => {
                    let end = value.iter().position(u8::is_ascii_whitespace);
                    value.split_at(end.unwrap_or(value.len()))
                }
            };
            rest = after;
            Some((name, value))
        })
    }
}

/// The length of the inside of a tag: up to the `>` that is not in quotation marks.
fn end_of_tag(inside: &[u8]) -> usize {
    let (mut place, mut after_equals) = (0, false);
    while let Some(&byte) = inside.get(place) {
        place += 1;
        match byte {
            b'>' => return place - 1,
            // A quotation mark means something only where a value begins.
            b'"' | b'\'' if after_equals => {
                place += memchr(byte, &inside[place..]).map_or(0, |end| end + 1);
                after_equals = false;
            }
            b'=' => after_equals = true,
            byte if byte.is_ascii_whitespace() => {}
            _ => after_equals = false,
        }
    }
    inside.len()
}

fn name(text: &[u8]) -> &[u8] {
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/');
    let end = text.iter().position(is_end).unwrap_or(text.len());
    &text[..end]
}

fn is(name: &[u8], other: &[u8]) -> bool {
    name.eq_ignore_ascii_case(other)
}

fn is_one_of(name: &[u8], names: &[&[u8]]) -> bool {
    names.iter().any(|other| is(name, other))
}

/// Sets what comes next apart from the words before.
fn push_break(text: &mut Vec<u8>) {
    if !matches!(text.last(), None | Some(b' ' | &SHOWN)) {
        text.push(b' ');
    }
}

/// Adds words, set apart from those before and from each other by one space.
fn push_words(text: &mut Vec<u8>, words: &[u8]) {
    let words = words.trim_ascii();
    if words.is_empty() {
        return;
    }
    push_break(text);
    // Almost all text has its spaces that way already, and is then copied at once.
    if has_single_spaces(words) {
        text.extend_from_slice(words);
        return;
    }
    let mut parts = words
        .split(u8::is_ascii_whitespace)
        .filter(|part| !part.is_empty());
    text.extend_from_slice(parts.next().unwrap_or_default());
    for part in parts {
        text.push(b' ');
        text.extend_from_slice(part);
    }
}

/// Whether no white space is anything but one space between two words. Takes no way out in between, so that many bytes
/// are looked at in one step.
fn has_single_spaces(words: &[u8]) -> bool {
    let has_control = words.iter().fold(false, |any, byte| any | (*byte < b' '));
    let pairs = words.iter().zip(words.get(1..).unwrap_or_default());
    let has_gap = pairs.fold(false, |any, (one, next)| {
        any | ((*one == b' ') & (*next == b' '))
    });
    !(has_control | has_gap)
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
mod tests {
    use super::*;

    fn text_without(page: &str, ignored: &[&str]) -> String {
        let ignored: Vec<_> = (ignored.iter())
            .map(|text| Selector::parse(text).unwrap())
            .collect();
        let mut found = MainText::default();
        read(page.as_bytes(), &ignored, &mut found);
        String::from_utf8(found.text)
            .unwrap()
            .replace('\u{1}', "=")
            .trim_end()
            .to_owned()
    }

    fn text(page: &str) -> String {
        text_without(page, &[])
    }

    #[test]
    fn a_page_is_its_title_and_its_main_part() {
        let page = "<!doctype html><html><head><title>Fox\n Den</title><style>p {}</style></head><body>
            <header>Site</header><nav><a href=/>Home</a></nav>
            <main class=x><h1>Foxes</h1> <p>sleep &amp; <a href='/d'>dream</a>.</p></main><footer>2026</footer></body></html>";
        assert_eq!(text(page), "Fox Den Foxes sleep &amp; =/d dream .");
    }

    #[test]
    fn without_a_main_part_it_is_the_body_without_what_is_around() {
        let page = "<title>T</title><body><header>Site</header><nav>Home</nav>
            <article><header>Foxes</header>sleep</article><aside>Ring</aside><footer>2026</footer>";
        assert_eq!(text(page), "T Foxes sleep");
        assert_eq!(text("just words"), "just words");
        assert_eq!(text("<center><font>Hi!</font></center>"), "Hi!");
        assert_eq!(text(""), "");
    }

    #[test]
    fn what_nobody_sees_makes_no_difference() {
        let one = "<main><p class='a-1'>A <b>fox</b>.<script>var built = '<p>1'</script></p><!-- 1 --></main>";
        let other = "<MAIN>\n <p CLASS=b2>A\t<b>fox</b>.<script>2</script>\n</p></MAIN><p>2</p>";
        assert_eq!(text(one), text(other));
    }

    #[test]
    fn white_space_of_any_kind_and_length_is_one_space() {
        for gap in [" ", "  ", "\t", "\n    ", " \r\n\x0c ", "\n"] {
            let page = format!("<p>{gap}red{gap}fox{gap}</p>");
            assert_eq!(text(&page), "red fox", "{gap:?}");
        }
        assert_eq!(text("<p>red\u{1b}fox \u{e9}"), "red\u{1b}fox \u{e9}");
    }

    #[test]
    fn another_picture_or_link_is_another_page() {
        let page = |picture: &str| format!("<main><img src={picture} alt='A > fox'></main>");
        assert_eq!(text(&page("a.png")), "=a.png =A > fox");
        assert_ne!(text(&page("a.png")), text(&page("b.png")));
        assert_ne!(
            text("<frameset><frame src=a>"),
            text("<frameset><frame src=b>")
        );
    }

    #[test]
    fn an_author_leaves_out_what_is_between_two_comments() {
        let page =
            "<p>a<!-- sitebell:ignore --><p>visits: 7<!-- x --><b>!</b><!--/sitebell:ignore--><p>b";
        assert_eq!(text(page), "a b");
        assert_eq!(text("<p>a<!--sitebell:ignore-->b"), "a");
    }

    #[test]
    fn an_author_leaves_out_elements() {
        let page =
            "<main><div class='x stamp'>1<div>2</div></div><hr id=h><i id=v>3</i><u>4</u>5</main>";
        assert_eq!(text_without(page, &[".stamp", "#v", "U", "#h"]), "5");
        assert_eq!(text(page), "1 2 3 4 5");
        assert!(Selector::parse("div > p").is_none() && Selector::parse(".").is_none());
    }

    #[test]
    fn what_is_left_out_must_end() {
        assert_eq!(text("<p>a<nav>b<p>c"), "a b c");
        assert_eq!(text_without("<p>a<p id=x>b", &["#x"]), "a b");
    }

    #[test]
    fn a_signpost_is_no_page() {
        let leads_to = |content: &str| {
            let mut found = MainText::default();
            let page = format!("<head><meta http-equiv=Refresh content=\"{content}\">");
            read(page.as_bytes(), &[], &mut found);
            found.leads_to
        };
        assert_eq!(leads_to("0; URL='/new/'").as_deref(), Some("/new/"));
        assert_eq!(
            leads_to("0;url=https://a.example/").as_deref(),
            Some("https://a.example/")
        );
        assert_eq!(leads_to("300"), None);
        assert_eq!(leads_to("30; url=/slides/2"), None);
    }

    #[test]
    fn broken_markup_ends() {
        for page in [
            "<",
            "<a",
            "<a b='",
            "</",
            "<!--",
            "<!",
            "<script>",
            "a<b c=\"d",
            "<p a='>'>x",
            "<title>x",
        ] {
            text(page);
        }
        assert_eq!(text("1 < 2 <3"), "1 < 2 <3");
        assert_eq!(text("<p a='>'>x"), "x");
        assert_eq!(text("<p don't>it's"), "it's");
    }
}
