//! `urlset` and `sitemapindex`, with the extensions that say something about a page.

use std::io::BufRead;

use super::add_text;
use crate::moment::Moment;
use crate::problem::{Code, Problem};
use crate::read::list::{Hosts, Lastmod, List, MAX_PAGES, Page, Part, Sink, read_lastmod};
use crate::read::resourcesync::document::SITEMAP;
use crate::read::resourcesync::read::broken;
use crate::read::xml::{Item, Tag, XmlReader};
use crate::read::{address, scp};
use crate::text::{clean, quote};

/// Keywords of one page.
const MAX_TAGS: usize = 20;

const XHTML: &str = "http://www.w3.org/1999/xhtml";
const NEWS: &str = "http://www.google.com/schemas/sitemap-news/";
const VIDEO: &str = "http://www.google.com/schemas/sitemap-video/";

/// How else the namespace is written by programs that mean the right one.
fn is_almost_sitemap(namespace: &str) -> bool {
    let bare = namespace.trim().trim_end_matches('/');
    let rest = bare.split_once("://").map_or(bare, |(_, rest)| rest);
    let rest = rest.strip_prefix("www.").unwrap_or(rest);
    matches!(
        rest,
        "" | "sitemaps.org/schemas/sitemap/0.9"
            | "google.com/schemas/sitemap/0.84"
            | "google.com/schemas/sitemap/0.9"
            | "google.com/schemas/sitemap/0.90"
    )
}

pub(super) fn read(
    source: &mut dyn BufRead,
    hosts: &Hosts,
    sink: &mut Sink<'_>,
) -> Result<List, Problem> {
    let url = sink.url;
    let mut xml = XmlReader::new(source);
    let mut parser = Parser {
        hosts,
        sink,
        list: List::default(),
        namespace: String::new(),
        is_index: false,
        depth: 0,
        entry: None,
        entries: 0,
        news: 0,
        field: Field::Nothing,
        draft: Draft::default(),
        seem_sitemaps: Vec::new(),
        home: address::Home::of(url),
    };
    loop {
        xml.skip_text(parser.field == Field::Nothing);
        let step = match xml.next() {
            Ok(Item::Open(tag)) => parser.open(&tag),
            Ok(Item::Close) => Ok(parser.close()),
            Ok(Item::Text(text)) => {
                parser.text(text);
                Ok(Step::On)
            }
            Ok(Item::Skipped) => Ok(Step::On),
            Ok(Item::End) => break,
            Err(fault) => return Err(broken(fault, url).at(xml.line())),
        };
        match step {
            Ok(Step::On) => {}
            Ok(Step::Begin) => parser.draft.line = xml.line(),
            Ok(Step::Finish) => parser.finish_entry(),
            Err(problem) => return Err(problem.at(xml.line())),
        }
    }
    if let Some(encoding) = xml.foreign_encoding() {
        let message = format!("the document is in {encoding}, not in UTF-8");
        parser.sink.note(Code::NotUtf8, 1, || message);
    }
    Ok(parser.finish())
}

/// What the loop does after an element.
enum Step {
    On,
    /// An entry was opened.
    Begin,
    /// An entry was closed.
    Finish,
}

/// Which text is being collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Nothing,
    Loc,
    Lastmod,
    /// Directly in the entry of an index.
    Bare,
    Title,
    Summary,
    Published,
    Language,
    Keywords,
}

/// Whether an entry stands for a page or for another sitemap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Page,
    Sitemap,
}

/// An entry while it is read.
#[derive(Default)]
struct Draft {
    page: Page,
    lastmod: String,
    bare: String,
    /// The text of a field that is cleaned when it ends.
    text: String,
    locs: u32,
    lastmods: u32,
    is_news: bool,
    line: u32,
}

impl Draft {
    fn clear(&mut self) {
        self.page.clear();
        self.lastmod.clear();
        self.bare.clear();
        self.text.clear();
        (self.locs, self.lastmods, self.is_news) = (0, 0, false);
    }
}

struct Parser<'a, 's> {
    hosts: &'a Hosts,
    sink: &'a mut Sink<'s>,
    list: List,
    /// Of the root element: its children are in the same one, or are not meant.
    namespace: String,
    is_index: bool,
    depth: usize,
    /// The entry that is open.
    entry: Option<Kind>,
    entries: usize,
    /// How many entries were news.
    news: usize,
    field: Field,
    draft: Draft,
    /// Entries for pages that have the names of sitemaps, as long as there are no others.
    seem_sitemaps: Vec<(Page, u32)>,
    home: address::Home,
}

impl Parser<'_, '_> {
    fn open(&mut self, tag: &Tag<'_>) -> Result<Step, Problem> {
        let depth = self.depth + 1;
        if !tag.is_empty() {
            self.depth = depth;
        }
        if depth == 1 {
            return self.open_root(tag);
        }
        let is_own = tag.namespace() == self.namespace;
        match (depth, tag.name()) {
            (2, name @ ("url" | "sitemap")) if is_own => {
                return self.open_entry(name, tag.is_empty());
            }
            (2, "url" | "sitemap") => {
                let namespace = tag.namespace().to_owned();
                self.sink.note(Code::EntryNamespace, self.draft.line, || {
                    format!(
                        "an entry is in the namespace {}, unlike the root element",
                        quote(&namespace)
                    )
                });
            }
            (2, _) if tag.namespace() == scp::NAMESPACE => {
                scp::announce(tag, &mut self.list, self.sink);
            }
            (3, name) if is_own && self.entry.is_some() => {
                let (field, count) = match name {
                    "loc" => (Field::Loc, &mut self.draft.locs),
                    "lastmod" => (Field::Lastmod, &mut self.draft.lastmods),
                    _ => return Ok(Step::On),
                };
                *count += 1;
                if *count == 1 && !tag.is_empty() {
                    self.field = field;
                }
            }
            (3.., _) if self.entry == Some(Kind::Page) => self.open_extension(tag),
            _ => {}
        }
        Ok(Step::On)
    }

    fn open_root(&mut self, tag: &Tag<'_>) -> Result<Step, Problem> {
        let url = self.sink.url;
        self.is_index = match tag.name() {
            "urlset" => false,
            "sitemapindex" => true,
            other => {
                let message =
                    format!("the root element is <{other}>, not <urlset> or <sitemapindex>");
                return Err(Problem::new(Code::WrongRoot, url, message));
            }
        };
        tag.namespace().clone_into(&mut self.namespace);
        if self.namespace != SITEMAP {
            let found = match self.namespace.as_str() {
                "" => "in no namespace".to_owned(),
                namespace => format!("in the namespace {}", quote(namespace)),
            };
            let message = format!("the root element is {found}, not {SITEMAP}");
            if !is_almost_sitemap(&self.namespace) {
                return Err(Problem::new(Code::WrongNamespace, url, message));
            }
            self.sink.note(Code::SitemapNamespace, 1, || message);
        }
        Ok(Step::On)
    }

    fn open_entry(&mut self, name: &str, is_empty: bool) -> Result<Step, Problem> {
        self.entries += 1;
        if self.entries > MAX_PAGES {
            let message = format!("the document has more than {MAX_PAGES} entries");
            return Err(Problem::new(Code::TooManyEntries, self.sink.url, message));
        }
        self.draft.clear();
        let kind = match name {
            "sitemap" => Kind::Sitemap,
            _ => Kind::Page,
        };
        if !is_empty {
            self.entry = Some(kind);
            // Some write the address without a <loc> around it.
            self.field = match kind {
                Kind::Sitemap => Field::Bare,
                Kind::Page => Field::Nothing,
            };
        }
        Ok(Step::Begin)
    }

    /// News and videos have titles, and links to SPXI have hidden themselves among the languages.
    fn open_extension(&mut self, tag: &Tag<'_>) {
        let namespace = tag.namespace();
        let field = match tag.name() {
            "link" if namespace == XHTML => return self.link(tag),
            name if namespace.starts_with(NEWS) => {
                self.draft.is_news = true;
                match name {
                    "title" => Field::Title,
                    "publication_date" => Field::Published,
                    "language" => Field::Language,
                    "keywords" => Field::Keywords,
                    _ => return,
                }
            }
            "title" if namespace.starts_with(VIDEO) => Field::Title,
            "description" if namespace.starts_with(VIDEO) => Field::Summary,
            _ => return,
        };
        if !tag.is_empty() {
            self.draft.text.clear();
            self.field = field;
        }
    }

    fn link(&mut self, tag: &Tag<'_>) {
        let value = |wanted| {
            let mut attributes = tag.plain_attributes();
            attributes.find_map(|(name, value)| (name == wanted).then_some(value.trim()))
        };
        if self.list.titles.is_none()
            && value("hreflang").is_some_and(|language| language.eq_ignore_ascii_case("x-spxi"))
            && let Some(href) = value("href")
        {
            let url = address::resolve_url(href, self.sink.url);
            self.list.titles = url.ok().map(String::from);
        }
    }

    fn text(&mut self, text: &str) {
        let target = match self.field {
            Field::Nothing => return,
            Field::Loc => &mut self.draft.page.url,
            Field::Lastmod => &mut self.draft.lastmod,
            Field::Bare => &mut self.draft.bare,
            _ => &mut self.draft.text,
        };
        let text = match target.is_empty() {
            true => text.trim_start(),
            false => text,
        };
        add_text(target, text);
    }

    fn close(&mut self) -> Step {
        let depth = self.depth;
        self.depth -= 1;
        self.take_field();
        match (depth, self.entry) {
            (2, Some(_)) => return Step::Finish,
            (3, Some(Kind::Sitemap)) => self.field = Field::Bare,
            _ => self.field = Field::Nothing,
        }
        Step::On
    }

    /// Takes the text of an extension; of several titles the first is the page's.
    fn take_field(&mut self) {
        let (page, text) = (&mut self.draft.page, self.draft.text.as_str());
        match self.field {
            Field::Title => page.title = page.title.take().or_else(|| clean::title(text)),
            Field::Summary => {
                page.summary = page.summary.take().or_else(|| clean::description(text))
            }
            Field::Language => page.language = clean::language(text),
            Field::Published => page.published = read_lastmod(text).moment(),
            Field::Keywords => {
                let words = text.split(',').filter_map(clean::title);
                page.tags = words.take(MAX_TAGS).collect();
            }
            Field::Nothing | Field::Loc | Field::Lastmod | Field::Bare => {}
        }
    }

    fn finish_entry(&mut self) {
        let kind = self.entry.take().unwrap_or(Kind::Page);
        if (kind == Kind::Sitemap) != self.is_index {
            self.sink
                .note(Code::WrongEntryElement, self.draft.line, || {
                    "an entry is of the other kind than the root element promises".to_owned()
                });
        }
        self.field = Field::Nothing;
        let line = self.draft.line;
        if self.draft.locs == 0 && !self.draft.bare.trim().is_empty() {
            std::mem::swap(&mut self.draft.page.url, &mut self.draft.bare);
            self.sink.note(Code::BareSitemapEntry, line, || {
                "an entry has its address without a <loc> around it".to_owned()
            });
        }
        if !self.take_address() {
            return;
        }
        self.take_lastmod();
        let page = &mut self.draft.page;
        page.lastmod = page.lastmod.or(page.published);
        if kind == Kind::Sitemap {
            let (url, lastmod) = (page.url.clone(), page.lastmod);
            return self.add_part(url, lastmod, false);
        }
        if self.list.pages == 0 && !self.draft.is_news && is_named_like_a_sitemap(&page.url) {
            self.seem_sitemaps.push((page.clone(), line));
            return;
        }
        self.release();
        let (page, before) = (&mut self.draft.page, self.list.pages);
        self.hosts.hand_on(page, line, &mut self.list, self.sink);
        // Those of other sites are not counted, whatever they are.
        let is_taken = self.list.pages > before;
        self.news += usize::from(self.draft.is_news && is_taken);
    }

    /// Makes the address of an entry whole, if it has one.
    fn take_address(&mut self) -> bool {
        let Draft {
            page, line, locs, ..
        } = &mut self.draft;
        page.url.truncate(page.url.trim_end().len());
        if page.url.is_empty() {
            self.sink
                .note(Code::NoLoc, *line, || "an entry has no address".to_owned());
            return false;
        }
        if *locs > 1 {
            self.sink.note(Code::SeveralLocs, *line, || {
                format!("the entry for {} has {locs} addresses", quote(&page.url))
            });
            return false;
        }
        // Mostly there is nothing to do, and nothing to tell.
        if self.home.has(&page.url) {
            return true;
        }
        let written = page.url.clone();
        match address::resolve(&mut page.url, self.sink.url) {
            Ok(false) => true,
            Ok(true) => {
                self.sink.note(Code::RelativeLoc, *line, || {
                    format!(
                        "{} is relative; it was read as {}",
                        quote(&written),
                        quote(&page.url)
                    )
                });
                true
            }
            Err(error) => {
                self.sink.note(Code::BadLoc, *line, || {
                    format!("{} cannot be used: {error}", quote(&written))
                });
                false
            }
        }
    }

    fn take_lastmod(&mut self) {
        let Draft {
            page,
            line,
            lastmod,
            lastmods,
            ..
        } = &mut self.draft;
        if lastmod.is_empty() {
            return;
        }
        let found = match lastmods {
            1 => read_lastmod(lastmod),
            _ => Lastmod::Bad,
        };
        match found {
            Lastmod::Good(_) => {}
            Lastmod::Repaired(moment) => self.sink.note(Code::LooseLastmod, *line, || {
                format!("`lastmod` is {}; it was read as {moment}", quote(lastmod))
            }),
            Lastmod::Missing | Lastmod::Bad => self.sink.note(Code::BadLastmod, *line, || {
                format!("`lastmod` is {}; it was not used", quote(lastmod))
            }),
        }
        page.lastmod = found.moment();
    }

    fn add_part(&mut self, url: String, lastmod: Option<Moment>, is_doubtful: bool) {
        self.list.parts.push(Part {
            url,
            lastmod: lastmod.map(|moment| moment.to_string()),
            is_doubtful,
        });
    }

    /// There are pages after all, so those that have the names of sitemaps are pages, too.
    fn release(&mut self) {
        for (mut page, line) in std::mem::take(&mut self.seem_sitemaps) {
            self.hosts
                .hand_on(&mut page, line, &mut self.list, self.sink);
        }
    }

    fn finish(mut self) -> List {
        // Whether they are sitemaps is for those to tell who read them.
        for (page, _) in std::mem::take(&mut self.seem_sitemaps) {
            self.add_part(page.url, page.lastmod, true);
        }
        self.list.is_window = self.news > 0 && self.news == self.list.pages;
        self.list.kind = match (self.is_index, self.list.is_window) {
            (true, _) => "sitemap index",
            (false, true) => "news sitemap",
            (false, false) => "sitemap",
        }
        .to_owned();
        self.list
    }
}

fn is_named_like_a_sitemap(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let path = path.strip_suffix(".gz").unwrap_or(path);
    path.len() >= 4 && path.as_bytes()[path.len() - 4..].eq_ignore_ascii_case(b".xml")
}
