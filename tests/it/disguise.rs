//! The same document in other XML: prefixes, order, quotation marks, references, CDATA, comments, indentation, encoding.

use sitebell::change::Link;
use sitebell::moment::Moment;
use sitebell::read::resourcesync::document::{RS, SITEMAP};
use sitebell::read::resourcesync::{Document, Entry};

/// How a document is written; everything that XML leaves open follows from a number.
#[derive(Debug, Clone)]
pub struct Style {
    pub seed: u64,
    pub sitemap_prefix: &'static str,
    pub rs_prefix: &'static str,
    pub encoding: Encoding,
}

#[derive(Debug, Clone, Copy)]
pub enum Encoding {
    Utf8,
    Utf8WithMark,
    Utf16 { big: bool },
}

/// Writes a document in a style.
pub fn disguise(document: &Document, style: &Style) -> Vec<u8> {
    let mut writer = Writer {
        chance: style.seed | 1,
        style,
    };
    let text = writer.document(document);
    let units = || text.encode_utf16();
    match style.encoding {
        Encoding::Utf8 => text.into_bytes(),
        Encoding::Utf8WithMark => format!("\u{FEFF}{text}").into_bytes(),
        Encoding::Utf16 { big: true } => [0xFE, 0xFF]
            .into_iter()
            .chain(units().flat_map(u16::to_be_bytes))
            .collect(),
        Encoding::Utf16 { big: false } => units().flat_map(u16::to_le_bytes).collect(),
    }
}

struct Writer<'a> {
    chance: u64,
    style: &'a Style,
}

type Attribute = (&'static str, Option<String>);

impl Writer<'_> {
    /// A number below `sides`; the same seed gives the same document again.
    fn roll(&mut self, sides: usize) -> usize {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        usize::try_from(self.chance % 1_000_003).unwrap() % sides
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            let other = self.roll(last + 1);
            list.swap(last, other);
        }
    }

    fn document(&mut self, document: &Document) -> String {
        let root = if document.is_index {
            "sitemapindex"
        } else {
            "urlset"
        };
        let mut namespaces = [
            declaration(self.style.sitemap_prefix, SITEMAP),
            declaration(self.style.rs_prefix, RS),
            "xmlns:ext='urn:ext'".to_owned(),
        ];
        self.shuffle(&mut namespaces);
        let metadata = self.empty(
            "md",
            vec![
                ("capability", Some(document.capability.as_str().to_owned())),
                ("from", written(document.from)),
                ("until", written(document.until)),
                ("at", written(document.at)),
                ("completed", written(document.completed)),
            ],
        );
        // Links keep their order among themselves, and so do the entries: it means something.
        let links: Vec<_> = document.links.iter().map(|link| self.link(link)).collect();
        let entries: Vec<_> = document
            .entries
            .iter()
            .map(|entry| self.entry(entry, document.is_index))
            .collect();
        let body = self.interleave(vec![vec![metadata], links, entries]);
        let name = qualified(self.style.sitemap_prefix, root);
        let space = self.space();
        let start = [
            "",
            "<?xml version='1.0'?>",
            "<?xml version=\"1.0\"?>\n<!-- < & -->\n",
        ];
        let start = start[self.roll(start.len())];
        format!(
            "{start}<{name} {}>{body}</{name}{space}>",
            namespaces.join("\n ")
        )
    }

    fn entry(&mut self, entry: &Entry, is_index: bool) -> String {
        let details = &entry.details;
        let capability = entry
            .capability
            .as_ref()
            .map(|kind| kind.as_str().to_owned());
        let metadata = self.empty(
            "md",
            vec![
                ("capability", capability),
                ("change", entry.change.map(|kind| kind.as_str().to_owned())),
                ("datetime", written(entry.datetime)),
                ("from", written(entry.from)),
                ("until", written(entry.until)),
                ("at", written(entry.at)),
                ("completed", written(entry.completed)),
                ("path", entry.path.clone()),
                ("hash", details.hash.clone()),
                ("length", details.length.map(|length| length.to_string())),
                ("type", details.media_type.clone()),
                ("encoding", details.encoding.clone()),
            ],
        );
        let links: Vec<_> = details.links.iter().map(|link| self.link(link)).collect();
        let loc = self.text_element("loc", &entry.loc);
        let lastmod: Vec<_> = entry
            .lastmod
            .map(|moment| self.text_element("lastmod", &moment.to_string()))
            .into_iter()
            .collect();
        let note = (details.note.iter()).map(|note| {
            let note = self.escape(note);
            format!("<d:description xmlns:d='http://purl.org/dc/terms/'>{note}</d:description>")
        });
        let note: Vec<_> = note.collect();
        let body = self.interleave(vec![vec![loc], lastmod, vec![metadata], links, note]);
        let name = qualified(
            self.style.sitemap_prefix,
            if is_index { "sitemap" } else { "url" },
        );
        format!("<{name}>{body}</{name}>")
    }

    fn link(&mut self, link: &Link) -> String {
        self.empty(
            "ln",
            vec![
                ("rel", Some(link.rel.clone())),
                ("href", Some(link.href.clone())),
                ("pri", link.pri.map(|pri| pri.to_string())),
                ("modified", written(link.modified)),
                ("hash", link.hash.clone()),
                ("length", link.length.map(|length| length.to_string())),
                ("type", link.media_type.clone()),
                ("encoding", link.encoding.clone()),
            ],
        )
    }

    /// An element of ResourceSync: it has attributes only.
    fn empty(&mut self, name: &str, mut attributes: Vec<Attribute>) -> String {
        attributes.push(("ext:change", Some("deleted".to_owned())));
        attributes.push(("unheard-of", Some("x".to_owned())));
        self.shuffle(&mut attributes);
        let name = qualified(self.style.rs_prefix, name);
        let mut tag = format!("<{name}");
        for (key, value) in attributes {
            if let Some(value) = value {
                let (before, after) = (self.space(), self.space());
                let quote = ['"', '\''][self.roll(2)];
                let value = self.escape(&value);
                tag += &format!(" {before}{key}{before}={after}{quote}{value}{quote}");
            }
        }
        match self.roll(3) {
            0 => tag + "/>",
            1 => tag + "\n/>",
            _ => format!("{tag}><!-- nothing --></{name}>"),
        }
    }

    fn text_element(&mut self, name: &str, text: &str) -> String {
        let name = qualified(self.style.sitemap_prefix, name);
        let (before, after) = (self.space(), self.space());
        let text = match self.roll(3) {
            0 => format!("<![CDATA[{text}]]>"),
            1 => {
                let (cut, _) = text.char_indices().nth(3).unwrap_or((0, ' '));
                let (head, tail) = text.split_at(cut);
                format!("{}<!-- - -->{}", self.escape(head), self.escape(tail))
            }
            _ => self.escape(text),
        };
        format!("<{name}>{before}{text}{after}</{name}>")
    }

    /// Text in which any character may be a reference, and some must be.
    fn escape(&mut self, text: &str) -> String {
        let mut escaped = String::new();
        for character in text.chars() {
            let number = u32::from(character);
            let must = matches!(character, '<' | '&' | '"' | '\'' | '>' | '\n' | '\t' | '\r');
            match (must, self.roll(8)) {
                (true, 0..4) | (false, 0) => escaped += &format!("&#{number};"),
                (true, _) | (false, 1) => escaped += &format!("&#x{number:X};"),
                (false, _) => escaped.push(character),
            }
        }
        escaped
    }

    /// Mixes the groups, each of which stays in its order, with things between them that say nothing.
    fn interleave(&mut self, mut groups: Vec<Vec<String>>) -> String {
        let mut mixed = String::new();
        loop {
            groups.retain(|group| !group.is_empty());
            if groups.is_empty() {
                return mixed;
            }
            let group = self.roll(groups.len());
            mixed += &groups[group].remove(0);
            let nothing = [
                "",
                "\n  ",
                "\r\n\t",
                "<!-- <loc>x</loc> -->",
                "<?pi <url> ?>",
                "<ext:md capability='x'><ext:loc>x</ext:loc></ext:md>",
            ];
            mixed += nothing[self.roll(nothing.len())];
        }
    }

    fn space(&mut self) -> &'static str {
        ["", "", " ", "\n\t "][self.roll(4)]
    }
}

fn declaration(prefix: &str, namespace: &str) -> String {
    match prefix {
        "" => format!("xmlns=\"{namespace}\""),
        prefix => format!("xmlns:{prefix}='{namespace}'"),
    }
}

fn qualified(prefix: &str, name: &str) -> String {
    match prefix {
        "" => name.to_owned(),
        prefix => format!("{prefix}:{name}"),
    }
}

fn written(moment: Option<Moment>) -> Option<String> {
    moment.map(|moment| moment.to_string())
}
