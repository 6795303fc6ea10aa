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

/// Elements around the main part, on sites that do not say `<main>`.
const AROUND: [&[u8]; 3] = [b"nav", b"footer", b"aside"];
/// Elements whose content is text up to their own end tag, and not for readers.
const SILENT: [&[u8]; 6] = [
    b"script",
    b"style",
    b"template",
    b"noscript",
    b"noframes",
    b"iframe",
];
/// Elements that have no end tag.
const VOID: [&[u8]; 14] = [
    b"area", b"base", b"br", b"col", b"embed", b"frame", b"hr", b"img", b"input", b"link", b"meta",
    b"source", b"track", b"wbr",
];
/// Attributes that readers see the effect of.
const SEEN: [&[u8]; 8] = [
    b"href",
    b"src",
    b"srcset",
    b"alt",
    b"poster",
    b"data",
    b"value",
    b"datetime",
];
/// A page that leads on within so many seconds is a signpost and not a page.
const MAX_REFRESH_SECS: u32 = 2;

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
            Markup::Start(tag) if tag.is(b"head") => begin = Some(end),
            Markup::Start(tag) if tag.is(b"body") => break,
            Markup::Start(tag) if is_one_of(tag.name, &SILENT) || tag.is(b"title") => {
                place = end_of_raw(page, end, tag.name);
            }
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
        if tag.is(b"title") && self.in_head && self.title_end == 0 {
            let end = end_of_raw(self.page, self.place, b"title");
            push_words(&mut self.found.text, &self.page[self.place..end]);
            self.place = end;
            self.title_end = self.found.text.len();
            return true;
        }
        if tag.is(b"meta") {
            self.meta(tag);
            return true;
        }
        if is_one_of(tag.name, &SILENT) {
            if tag.is(b"iframe") {
                self.seen(tag);
            }
            self.place = end_of_raw(self.page, self.place, tag.name);
            return true;
        }
        if tag.is(b"body") {
            self.in_head = false;
        }
        if matches!(self.main, Main::NotSeen)
            && (tag.is(b"main") || tag.attribute(b"role") == Some(b"main"))
        {
            // What came before was not the main part after all.
            self.found.text.truncate(self.title_end);
            self.main = Main::Inside(tag.name.to_ascii_lowercase(), 1);
        } else if let Main::Inside(name, depth) = &mut self.main
            && tag.is(name)
        {
            *depth += 1;
        }
        if self.may_skip && self.is_left_out(tag) {
            return is_one_of(tag.name, &VOID) || self.skip_element(tag.name);
        }
        if tag.is(b"article") || tag.is(b"section") {
            self.sections += 1;
        }
        self.seen(tag);
        true
    }

    fn close(&mut self, name: &[u8]) {
        if is(name, b"head") {
            self.in_head = false;
        }
        if is(name, b"article") || is(name, b"section") {
            self.sections = self.sections.saturating_sub(1);
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

    fn is_left_out(&self, tag: &Tag<'_>) -> bool {
        let is_around = match self.main {
            Main::NotSeen => {
                is_one_of(tag.name, &AROUND) || (tag.is(b"header") && self.sections == 0)
            }
            // Whatever is in the main part belongs there, but for ways through the site.
            _ => tag.is(b"nav"),
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
                Markup::Start(tag) if is_one_of(tag.name, &SILENT) => {
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
        if is_one_of(tag.name, &[b"html", b"head", b"link", b"base"]) {
            return;
        }
        self.in_head = false;
        if !self.counts() {
            return;
        }
        for (name, value) in tag.attributes() {
            if is_one_of(name, &SEEN) {
                self.found.text.push(1);
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
                (!name.is_empty()).then(|| (Markup::End(name), to_bracket()))
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
    let mut place = 0;
    while let Some(found) = memchr::memchr3(b'>', b'"', b'\'', &inside[place..]) {
        let at = place + found;
        let quote = inside[at];
        // A quotation mark means something only where a value begins.
        if quote == b'>' {
            return at;
        }
        let opens = inside[..at].trim_ascii_end().ends_with(b"=");
        let end = memchr(quote, &inside[at + 1..]).filter(|_| opens);
        place = at + 1 + end.map_or(0, |end| end + 1);
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

/// Adds words, set apart from those before by one space.
fn push_words(text: &mut Vec<u8>, words: &[u8]) {
    for word in words.split(u8::is_ascii_whitespace) {
        if !word.is_empty() {
            text.extend_from_slice(word);
            text.push(b' ');
        }
    }
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
