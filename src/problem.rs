//! What can be wrong with a site, said so that its author can put it right.
//!
//! [`Code`] is the one list of everything that Sitebell finds fault with; `docs/problems.md` is made from it. A code
//! never changes its name: authors search for it and programs compare it.
//!
//! A problem of severity *error* costs something (a document, an entry, a collection); a *warning* breaks a rule whose
//! meaning could still be guessed; a *note* is advice.

use std::collections::HashMap;
use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize, Serializer};
use url::Url;

use crate::text::visible;

/// Messages are cut here: room for three quotations and a sentence around them.
const MAX_MESSAGE_CHARS: usize = 600;

/// How much a problem costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Advice.
    Note,
    /// A rule is broken, nothing is lost.
    Warning,
    /// Something could not be read.
    Error,
}

/// Where the addresses in the examples are.
const EXAMPLE_HOST: &str = "https://example.com/";

/// A departure from the rules, found while reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Which one.
    pub code: Code,
    /// The address of the document in which it was found.
    pub document: String,
    /// The first line on which it was found.
    pub line: Option<u32>,
    /// What was found, in one sentence.
    pub message: String,
    /// The corrected lines; the code's own example if nothing better is known.
    pub snippet: String,
    /// How often it was found in this document.
    pub count: u32,
}

impl Code {
    /// The example as an author can copy it: with the addresses of the host that the document is on.
    pub fn snippet_for(self, document: &str) -> String {
        let end_of_host = |(colon, _)| {
            let host = colon + "://".len();
            document[host..].find('/').map(|slash| host + slash + 1)
        };
        let host = document.match_indices("://").next().and_then(end_of_host);
        match host {
            Some(end) => self.snippet().replace(EXAMPLE_HOST, &document[..end]),
            None => self.snippet().to_owned(),
        }
    }
}

impl Problem {
    /// A problem of a whole document.
    pub fn new(code: Code, document: &Url, message: impl Into<String>) -> Problem {
        Problem {
            code,
            document: document.as_str().to_owned(),
            line: None,
            // Names of elements and prefixes come into it without quotation marks, and they may be anything.
            message: visible(&message.into(), MAX_MESSAGE_CHARS),
            snippet: code.snippet_for(document.as_str()),
            count: 1,
        }
    }

    /// The same, at a line.
    pub fn at(mut self, line: u32) -> Problem {
        self.line = Some(line);
        self
    }

    /// The same, with corrected lines made for this very place.
    pub fn with_snippet(mut self, snippet: impl Into<String>) -> Problem {
        self.snippet = snippet.into();
        self
    }

    /// How much it costs.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// The sentence, and how often it holds.
    pub fn sentence(&self) -> String {
        match self.count {
            0 | 1 => self.message.clone(),
            count => format!("{} ({count} times in this document)", self.message),
        }
    }

    /// What to do about it, with the corrected lines.
    pub fn fix(&self) -> String {
        if self.snippet.is_empty() {
            self.code.fix().to_owned()
        } else {
            format!("{}\n{}", self.code.fix(), self.snippet)
        }
    }
}

/// The shape that programs rely on.
impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            code: &'a str,
            severity: Severity,
            document: &'a str,
            line: Option<u32>,
            count: u32,
            message: String,
            fix: String,
        }
        let shape = Shape {
            code: self.code.name(),
            severity: self.severity(),
            document: &self.document,
            line: self.line,
            count: self.count,
            message: self.sentence(),
            fix: self.fix(),
        };
        shape.serialize(serializer)
    }
}

/// A problem as it is kept: only what the code does not say already.
#[derive(Serialize, Deserialize)]
struct Stored {
    code: String,
    document: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    message: String,
    /// None where it is the code's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    snippet: Option<String>,
    count: u32,
}

/// Problems as JSON, for keeping. Not the shape that programs rely on: it leaves out what [`Code`] knows.
pub fn to_stored(problems: &[Problem]) -> String {
    let stored: Vec<Stored> = (problems.iter())
        .map(|problem| Stored {
            code: problem.code.name().to_owned(),
            document: problem.document.clone(),
            line: problem.line,
            message: problem.message.clone(),
            snippet: (problem.snippet != problem.code.snippet_for(&problem.document))
                .then(|| problem.snippet.clone()),
            count: problem.count,
        })
        .collect();
    serde_json::to_string(&stored).expect("texts and numbers can always be written as JSON")
}

/// The problems that [`to_stored`] wrote; none if it wrote no such thing. A code that this version does not know was
/// kept by a newer one, and is passed over.
pub fn from_stored(text: &str) -> Option<Vec<Problem>> {
    let stored: Vec<Stored> = serde_json::from_str(text).ok()?;
    let problems = stored.into_iter().filter_map(|stored| {
        let code = Code::parse(&stored.code)?;
        let usual = || code.snippet_for(&stored.document);
        Some(Problem {
            code,
            snippet: stored.snippet.unwrap_or_else(usual),
            document: stored.document,
            line: stored.line,
            message: stored.message,
            count: stored.count,
        })
    });
    Some(problems.collect())
}

/// The problems of a check. The same one in the same document is kept once and counted, so that fifty thousand bad
/// entries are one problem.
#[derive(Debug, Clone, Default)]
pub struct Problems {
    list: Vec<Problem>,
    places: HashMap<(Code, String), usize>,
}

impl Problems {
    /// Keeps or counts a problem.
    pub fn add(&mut self, problem: Problem) {
        match self.places.get(&(problem.code, problem.document.clone())) {
            Some(&place) => {
                self.list[place].count = self.list[place].count.saturating_add(problem.count)
            }
            None => {
                self.places
                    .insert((problem.code, problem.document.clone()), self.list.len());
                self.list.push(problem);
            }
        }
    }

    /// Gives the problems of a document that have no line yet theirs: what adds them may not know it.
    pub fn place(&mut self, document: &str, line: u32) {
        for problem in self.list.iter_mut().rev() {
            if problem.line.is_none() && problem.document == document {
                problem.line = Some(line);
            }
        }
    }

    /// Whether this was found in this document already: then a new message need not even be written.
    pub fn count_again(&mut self, code: Code, document: &str) -> bool {
        // A document has few different problems, and the newest are at the end.
        let known = self
            .list
            .iter_mut()
            .rev()
            .find(|p| p.code == code && p.document == document);
        if let Some(problem) = known {
            problem.count = problem.count.saturating_add(1);
            return true;
        }
        false
    }

    /// Forgets everything about a document that turned out not to matter.
    pub fn forget(&mut self, document: &Url) {
        let kept = std::mem::take(self).list.into_iter();
        self.extend(kept.filter(|problem| problem.document != document.as_str()));
    }

    /// All of them, in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.list.iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The worst one's severity.
    pub fn worst(&self) -> Option<Severity> {
        self.list.iter().map(Problem::severity).max()
    }

    /// The list itself.
    pub fn into_vec(self) -> Vec<Problem> {
        self.list
    }
}

impl Extend<Problem> for Problems {
    fn extend<T: IntoIterator<Item = Problem>>(&mut self, problems: T) {
        for problem in problems {
            self.add(problem);
        }
    }
}

macro_rules! codes {
    ($($(#[doc = $meaning:literal])+ $variant:ident = $name:literal, $severity:ident, $fix:literal, $snippet:literal;)+) => {
        /// Everything that Sitebell finds fault with.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $($(#[doc = $meaning])+ $variant,)+
        }

        impl Code {
            /// Every code, in the order of reading a site.
            pub const ALL: &'static [Code] = &[$(Code::$variant),+];

            /// The name by which authors and programs know it; it never changes.
            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)+ }
            }

            /// The code of that name.
            pub fn parse(name: &str) -> Option<Code> {
                Code::ALL.iter().copied().find(|code| code.name() == name)
            }

            /// How much it costs.
            pub fn severity(self) -> Severity {
                match self { $(Code::$variant => Severity::$severity,)+ }
            }

            /// What it means, for the documentation.
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$variant => concat!($($meaning),+).trim_ascii(),)+ }
            }

            /// What an author does about it.
            pub fn fix(self) -> &'static str {
                match self { $(Code::$variant => $fix,)+ }
            }

            /// An example of how it should look; empty where lines would not help.
            pub fn snippet(self) -> &'static str {
                match self { $(Code::$variant => $snippet,)+ }
            }
        }
    };
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

codes! {
    /// No description of the site was found at any of the places where one may be.
    NotFound = "not-found", Error,
        "Publish a Source Description at /.well-known/resourcesync.",
        r#"<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
  <rs:md capability="description"/>
  <url>
    <loc>https://example.com/capabilitylist.xml</loc>
    <rs:md capability="capabilitylist"/>
    <rs:ln rel="describes" href="https://example.com/"/>
  </url>
</urlset>"#;
    /// The Source Description is not at `/.well-known/resourcesync`, where readers look first.
    NotWellKnown = "not-well-known", Warning,
        "Serve the Source Description at /.well-known/resourcesync, or redirect from there.", "";
    /// The site lists its pages, but does not tell its changes: they are concluded from one list to the next, and when an
    /// edit is not dated rightly nobody hears of it.
    OnlyAList = "only-a-list", Note,
        "Publish ResourceSync, which tells exactly what changed and when.",
        r#"<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
  <rs:md capability="description"/>
  <url>
    <loc>https://example.com/capabilitylist.xml</loc>
    <rs:md capability="capabilitylist"/>
    <rs:ln rel="describes" href="https://example.com/"/>
  </url>
</urlset>"#;
    /// The server could not be reached, or stopped answering.
    Unreachable = "unreachable", Error,
        "Make sure that the address is right and that the server answers; it is tried again at the next check.", "";
    /// The server answered with an error instead of the document.
    HttpError = "http-error", Error,
        "Upload the document to this address, or correct the link that leads here.", "";
    /// The address may not be fetched: it is not on the public internet, or not http or https.
    ForbiddenAddress = "forbidden-address", Error,
        "Use a public http or https address.", "";
    /// The document is larger than the Sitemaps limit of 50 MB.
    TooLarge = "too-large", Error,
        "Split the list into several and link them from an index.",
        r#"<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
  <rs:ln rel="up" href="https://example.com/capabilitylist.xml"/>
  <rs:md capability="changelist" from="2026-01-01"/>
  <sitemap>
    <loc>https://example.com/changes-2026-01.xml</loc>
    <rs:md from="2026-01-01" until="2026-02-01"/>
  </sitemap>
</sitemapindex>"#;
    /// One check reads a bounded number of documents and bytes, for a bounded time; the rest was left unread.
    LimitReached = "limit-reached", Warning,
        "Publish fewer or smaller documents: close old Change Lists and keep the open one small.", "";

    /// The document is not XML; often it is a web page that says “not found”.
    NotXml = "not-xml", Error,
        "Serve the XML document itself at this address.", "";
    /// The document ends in the middle.
    CutOff = "cut-off", Error,
        "Upload the whole document again; it must end with its closing tag.", "</urlset>";
    /// The document is compressed in a way that cannot be undone.
    BadCompression = "bad-compression", Error,
        "Serve the document uncompressed, or compress it again with gzip and upload all of it.", "";
    /// The document breaks XML's own rules, so nothing in it can be relied on.
    Malformed = "malformed-xml", Error,
        "Correct the line; every tag needs its closing tag, every attribute its quotation marks.", "";
    /// An ampersand stands where XML wants `&amp;`.
    BareAmpersand = "bare-ampersand", Error,
        "Write &amp; for every & in an address or text.", "<loc>https://example.com/page?a=1&amp;b=2</loc>";
    /// The document has a DOCTYPE or uses entities that only a DOCTYPE could define.
    Doctype = "doctype", Error,
        "Remove the <!DOCTYPE …> and write characters as themselves (é, not &eacute;).", "";
    /// A prefix such as `rs:` is used but not declared.
    UnknownPrefix = "undeclared-prefix", Error,
        "Declare the prefix on the root element.",
        r#"<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">"#;
    /// The bytes do not fit the encoding of the document, or it contains characters that XML forbids.
    BadEncoding = "bad-encoding", Error,
        "Save the document as UTF-8, without control characters.", r#"<?xml version="1.0" encoding="UTF-8"?>"#;
    /// The document is readable, but not in UTF-8 as the Sitemaps protocol demands.
    NotUtf8 = "not-utf-8", Warning,
        "Save the document as UTF-8.", r#"<?xml version="1.0" encoding="UTF-8"?>"#;
    /// The document is nested too deeply or has too many attributes to be a list of pages.
    TooComplex = "too-complex", Error,
        "Keep to the elements of ResourceSync.", "";
    /// The root element is not in the Sitemaps namespace.
    WrongNamespace = "wrong-namespace", Error,
        "Write the namespace exactly like this.",
        r#"<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">"#;
    /// `md` and `ln` are not in the ResourceSync namespace.
    WrongRsNamespace = "wrong-rs-namespace", Error,
        "Write the namespace exactly like this.", r#"xmlns:rs="http://www.openarchives.org/rs/terms/""#;
    /// The root element is neither `urlset` nor `sitemapindex`.
    WrongRoot = "wrong-root", Error,
        "Use <urlset> for a list and <sitemapindex> for an index.",
        r#"<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">"#;
    /// The root element has no `rs:md` with a `capability`, so the document does not say what it is.
    NoCapability = "no-capability", Error,
        "Say what the document is, directly below the root element.", r#"<rs:md capability="changelist" from="2026-01-01"/>"#;
    /// The document is of another kind than the link that leads to it promises.
    WrongCapability = "wrong-capability", Error,
        "Correct the link, or the capability of the document.", "";
    /// The document has more than 50,000 entries.
    TooManyEntries = "too-many-entries", Error,
        "Split the list into several and link them from an index.",
        r#"<sitemap>
  <loc>https://example.com/changes-2026-01.xml</loc>
  <rs:md from="2026-01-01" until="2026-02-01"/>
</sitemap>"#;

    /// The Source Description lists no Capability List, so there is nothing to follow.
    NoCollections = "no-collections", Error,
        "List at least one Capability List.",
        r#"<url>
  <loc>https://example.com/capabilitylist.xml</loc>
  <rs:md capability="capabilitylist"/>
  <rs:ln rel="describes" href="https://example.com/"/>
</url>"#;
    /// An entry of a Source Description or Capability List does not say what it leads to.
    EntryWithoutCapability = "entry-without-capability", Warning,
        "Give the entry its capability.", r#"<rs:md capability="capabilitylist"/>"#;
    /// An entry leads to something that does not belong in this document; it was passed over.
    UnexpectedEntry = "unexpected-entry", Warning,
        "List only Capability Lists in a Source Description.", r#"<rs:md capability="capabilitylist"/>"#;
    /// An entry of the Source Description does not say which collection its Capability List describes.
    NoDescribesInDescription = "no-describes-in-description", Warning,
        "Name the collection's own address in the entry.", r#"<rs:ln rel="describes" href="https://example.com/my-shrine/"/>"#;
    /// There is no link to information about the site or collection, such as its title and author.
    NoDescribedby = "no-describedby", Note,
        "Link a document with the title and the author.", r#"<rs:ln rel="describedby" href="https://example.com/about.xml"/>"#;
    /// The document that describes the site or collection could not be used.
    MetadataUnreadable = "metadata-unreadable", Warning,
        "Publish RDF/XML, Atom, JSON-LD or HTML with a title at this address.",
        r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dcterms="http://purl.org/dc/terms/">
  <rdf:Description rdf:about="https://example.com/my-shrine/">
    <dcterms:title>My Shrine</dcterms:title>
    <dcterms:creator>Me</dcterms:creator>
  </rdf:Description>
</rdf:RDF>"#;

    /// The document has no `up` link.
    NoUp = "no-up", Warning,
        "Link the document one level higher: a Capability List the Source Description, a Change List the Capability List.",
        r#"<rs:ln rel="up" href="https://example.com/capabilitylist.xml"/>"#;
    /// The `up` link leads to another document than the one that led here.
    UpMismatch = "up-mismatch", Warning,
        "Let `up` name the document that lists this one.", r#"<rs:ln rel="up" href="https://example.com/capabilitylist.xml"/>"#;
    /// The Capability List does not say which collection it describes, so its feed has no identity of its own.
    NoDescribes = "no-describes", Error,
        "Name the collection's own address, directly below the root element.",
        r#"<rs:ln rel="describes" href="https://example.com/my-shrine/"/>"#;
    /// The Source Description and the Capability List name different collections; the Capability List is believed.
    DescribesConflict = "describes-conflict", Warning,
        "Use the same address in both documents.", r#"<rs:ln rel="describes" href="https://example.com/my-shrine/"/>"#;
    /// Two Capability Lists claim to describe the same collection; they are kept apart by their own addresses.
    DuplicateCollection = "duplicate-collection", Warning,
        "Give each collection its own address.", r#"<rs:ln rel="describes" href="https://example.com/my-other-shrine/"/>"#;
    /// The site describes a collection at another site; this is shown as a claim and never replaces that site's own word.
    ForeignCollection = "foreign-collection", Warning,
        "Describe collections below the site's own address.", r#"<rs:ln rel="describes" href="https://example.com/my-shrine/"/>"#;
    /// The Capability List has no Change List, so no changes can be told.
    NoChangeList = "no-change-list", Error,
        "Add the Change List to the Capability List.",
        r#"<url>
  <loc>https://example.com/changelist.xml</loc>
  <rs:md capability="changelist"/>
</url>"#;
    /// The Capability List has several Change Lists where exactly one is allowed; all of them are read.
    SeveralChangeLists = "several-change-lists", Warning,
        "Link one Change List Index instead.",
        r#"<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
  <rs:ln rel="up" href="https://example.com/capabilitylist.xml"/>
  <rs:md capability="changelist" from="2026-01-01"/>
  <sitemap>
    <loc>https://example.com/changes-1.xml</loc>
    <rs:md from="2026-01-01" until="2026-02-01"/>
  </sitemap>
  <sitemap>
    <loc>https://example.com/changes-2.xml</loc>
    <rs:md from="2026-02-01"/>
  </sitemap>
</sitemapindex>"#;

    /// The Change List does not say since when it holds all changes, so missing ones cannot be noticed.
    NoFrom = "no-from", Warning,
        "Add `from` to the root's rs:md.", r#"<rs:md capability="changelist" from="2026-01-01"/>"#;
    /// `from` or `until` is not a W3C datetime; it was not used.
    BadSpan = "bad-span", Warning,
        "Write a date, or a date with a time and a time zone.", r#"<rs:md capability="changelist" from="2026-01-01T00:00:00Z"/>"#;
    /// `until` is earlier than `from`; neither was used.
    UntilBeforeFrom = "until-before-from", Warning,
        "Let `until` be the later one.", r#"<rs:md capability="changelist" from="2026-01-01" until="2026-02-01"/>"#;
    /// An entry has no `rs:md`, so it does not tell a change; it was ignored.
    NoMetadata = "no-metadata", Error,
        "Say what happened to the page, and when.", r#"<rs:md change="updated" datetime="2026-01-31T12:00:00Z"/>"#;
    /// An entry has several `rs:md`; they were read as one.
    RepeatedMetadata = "repeated-metadata", Warning,
        "Put all attributes into one rs:md.", r#"<rs:md change="updated" datetime="2026-01-31T12:00:00Z" type="text/html"/>"#;
    /// An entry has several `rs:md` that contradict each other; it was ignored.
    ConflictingMetadata = "conflicting-metadata", Error,
        "Write one entry for each change.",
        r#"<url>
  <loc>https://example.com/my-shrine/page.html</loc>
  <rs:md change="created" datetime="2026-01-30T12:00:00Z"/>
</url>
<url>
  <loc>https://example.com/my-shrine/page.html</loc>
  <rs:md change="updated" datetime="2026-01-31T12:00:00Z"/>
</url>"#;
    /// An entry does not say what kind of change it is; it was ignored.
    NoChange = "no-change", Error,
        "Add `change` (created, updated or deleted), without a prefix.", r#"<rs:md change="updated" datetime="2026-01-31T12:00:00Z"/>"#;
    /// An entry's `change` is none of created, updated and deleted; it was ignored.
    UnknownChange = "unknown-change", Error,
        "Use created, updated or deleted, in small letters; a page that moved is deleted in one place and created in the other.",
        r#"<rs:md change="updated" datetime="2026-01-31T12:00:00Z"/>"#;
    /// An entry does not say when the change was made; it was ignored.
    NoDatetime = "no-datetime", Error,
        "Add `datetime` to the rs:md of every entry. Readers of this site can also ask for lastmod to be used (--accept-lastmod).",
        r#"<rs:md change="updated" datetime="2026-01-31T12:00:00Z"/>"#;
    /// An entry's time is not a W3C datetime; it was ignored.
    BadDatetime = "bad-datetime", Error,
        "Write a date, or a date with a time and a time zone.", r#"<rs:md change="updated" datetime="2026-01-31T12:00:00Z"/>"#;
    /// An entry's time has 60 seconds; it was read as 59.
    LeapSecond = "leap-second", Warning,
        "Use seconds from 00 to 59.", r#"<rs:md change="updated" datetime="2026-12-31T23:59:59Z"/>"#;
    /// Entries have no `datetime`, and their `lastmod` was used because the reader was asked to.
    LastmodAccepted = "lastmod-accepted", Note,
        "Add `datetime` to the rs:md of every entry, so that all readers can use the list.",
        r#"<rs:md change="updated" datetime="2026-01-31T12:00:00Z"/>"#;
    /// An entry is not in the Sitemaps namespace, although the root element is; it was ignored.
    EntryNamespace = "wrong-entry-namespace", Error,
        "Give the entries the same namespace as the root element: no xmlns of their own, and the same prefix or none.",
        r#"<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
  <url>…</url>
</urlset>"#;
    /// A list has `sitemap` entries or an index has `url` entries; they were read all the same.
    WrongEntryElement = "wrong-entry-element", Warning,
        "Use <url> in a <urlset> and <sitemap> in a <sitemapindex>.", "";
    /// An entry has no `loc`, or an empty one; it was ignored.
    NoLoc = "no-loc", Error,
        "Give the address of the page.", "<loc>https://example.com/my-shrine/page.html</loc>";
    /// An entry has more than one `loc`; it was ignored.
    SeveralLocs = "several-locs", Error,
        "Write one entry for each page.", "<loc>https://example.com/my-shrine/page.html</loc>";
    /// An entry's address is not one that can be used; it was ignored.
    BadLoc = "bad-loc", Error,
        "Use an http or https address of at most 2,048 characters, without a name or password in it.",
        "<loc>https://example.com/my-shrine/page.html</loc>";
    /// An address is relative, which the Sitemaps protocol does not allow; it was completed with the document's own address.
    RelativeLoc = "relative-loc", Warning,
        "Write the whole address.", "<loc>https://example.com/my-shrine/page.html</loc>";
    /// A link has no usable address; the link was ignored.
    BadLink = "bad-link", Warning,
        "Give the link an http or https address.", r#"<rs:ln rel="describes" href="https://example.com/my-shrine/"/>"#;
    /// A change lies outside the time that its Change List says it covers.
    OutsideSpan = "outside-span", Warning,
        "Let `from` and `until` embrace all changes of the list.", r#"<rs:md capability="changelist" from="2026-01-01"/>"#;
    /// A change is dated in the future; it is announced now, once.
    FutureDatetime = "future-datetime", Warning,
        "Use the time of the change, and check the clock and the time zone.", r#"<rs:md change="updated" datetime="2026-01-31T12:00:00Z"/>"#;
    /// The entries are not in the order of their time, oldest first.
    NotOldestFirst = "not-oldest-first", Warning,
        "Add new entries at the end of the list.", "";
    /// Pages of the list are on another site.
    OffSitePages = "off-site-pages", Note,
        "List pages of the site itself; another site can publish its own list.", "";
    /// A Change List is large and not part of an index, so every reader loads the whole history each time.
    LargeChangeList = "large-change-list", Note,
        "Close old lists and link them from a Change List Index.",
        r#"<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
  <rs:ln rel="up" href="https://example.com/capabilitylist.xml"/>
  <rs:md capability="changelist" from="2025-01-01"/>
  <sitemap>
    <loc>https://example.com/changes-2025.xml</loc>
    <rs:md from="2025-01-01" until="2026-01-01"/>
  </sitemap>
  <sitemap>
    <loc>https://example.com/changes.xml</loc>
    <rs:md from="2026-01-01"/>
  </sitemap>
</sitemapindex>"#;

    /// The lists begin later than the last check: changes in between may be missing, and nobody can tell.
    Gap = "gap", Warning,
        "Keep changes in the list for longer, or close old lists and link them from a Change List Index.",
        r#"<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
  <rs:ln rel="up" href="https://example.com/capabilitylist.xml"/>
  <rs:md capability="changelist" from="2026-01-01"/>
  <sitemap>
    <loc>https://example.com/changes-2026-01.xml</loc>
    <rs:md from="2026-01-01" until="2026-02-01"/>
  </sitemap>
</sitemapindex>"#;

    /// An entry of a Change List Index does not say which time its list covers, so it must be read each time.
    IndexEntryWithoutFrom = "index-entry-without-from", Warning,
        "Give every list of the index its time span.", r#"<rs:md from="2026-01-01" until="2026-02-01"/>"#;
    /// The index calls a list closed that says it is open, or the other way round.
    IndexUntilMismatch = "index-until-mismatch", Warning,
        "Use the same `until` in the index and in the list, or in neither of them while the list is open.",
        r#"<rs:md from="2026-01-01" until="2026-02-01"/>"#;
    /// An index lists another index, which ResourceSync does not allow; the inner one was not read.
    NestedIndex = "nested-index", Error,
        "List the Change Lists themselves in one index.",
        r#"<sitemap>
  <loc>https://example.com/changes-2026-01.xml</loc>
  <rs:md from="2026-01-01" until="2026-02-01"/>
</sitemap>"#;
    /// An index is written as a `urlset`; it was read as an index.
    IndexAsUrlset = "index-as-urlset", Warning,
        "Use <sitemapindex> and <sitemap> for an index.",
        r#"<sitemap>
  <loc>https://example.com/changes-2026-01.xml</loc>
  <rs:md from="2026-01-01" until="2026-02-01"/>
</sitemap>"#;

    /// This is no list of pages in any format that is known; often it is a web page that says “not found”.
    NotAList = "not-a-list", Error,
        "Serve the sitemap itself at this address.", "";
    /// The namespace of a sitemap is not written as it should be; it was read all the same.
    SitemapNamespace = "sitemap-namespace", Warning,
        "Write the namespace exactly like this.", r#"<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">"#;
    /// A `lastmod` is not a W3C datetime, but could be understood.
    LooseLastmod = "loose-lastmod", Warning,
        "Write a date, or a date with a time and a time zone.", "<lastmod>2026-01-31T12:00:00Z</lastmod>";
    /// A `lastmod` says no time, or one that cannot be true; it was not used.
    BadLastmod = "bad-lastmod", Warning,
        "Write a date, or a date with a time and a time zone; leave `lastmod` out where it is not known.",
        "<lastmod>2026-01-31T12:00:00Z</lastmod>";
    /// Pages of a list are on another site; they were left out, because a site speaks for its own pages.
    ForeignPages = "foreign-pages", Warning,
        "List only pages of the host that the list is on.", "<loc>https://example.com/page.html</loc>";
    /// A sitemap index lists another index, which the Sitemaps protocol does not allow; up to three levels are read.
    NestedSitemaps = "nested-sitemaps", Warning,
        "List the sitemaps themselves in one index.", "<sitemap><loc>https://example.com/sitemap-1.xml</loc></sitemap>";
    /// A sitemap is listed more than once, or lists itself; it was read once.
    SitemapTwice = "sitemap-twice", Warning,
        "List every sitemap once.", "<sitemap><loc>https://example.com/sitemap-1.xml</loc></sitemap>";
    /// The dates in a list are those of its last build, so they do not tell which pages were edited: only pages that are
    /// new or gone are announced.
    StampedLastmod = "stamped-lastmod", Warning,
        "Let `lastmod` be the time at which the page itself was last changed, or leave it out; better, publish a Change List.",
        "<lastmod>2026-01-31T12:00:00Z</lastmod>";
    /// A large part of the site changed at once; that is announced in one entry that does not list every page.
    MassChange = "mass-change", Note,
        "Nothing needs to be done if this was meant. If it was not, keep addresses and dates as they are from one build to the next.", "";
    /// A list that had pages has none any more; nothing was concluded from that.
    EmptyList = "empty-list", Warning,
        "Upload the whole list again; if the pages are gone for good, remove the list.", "";
    /// The entries of a `urlset` are sitemaps; they were read as the parts of an index.
    SitemapsAsPages = "sitemaps-as-pages", Warning,
        "Use <sitemapindex> and <sitemap> for an index.",
        r#"<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
  <sitemap><loc>https://example.com/sitemap-1.xml</loc></sitemap>
</sitemapindex>"#;
    /// An entry of a sitemap index has its address without a `loc` around it; it was read all the same.
    BareSitemapEntry = "sitemap-without-loc", Warning,
        "Put the address into a <loc>.", "<sitemap><loc>https://example.com/sitemap-1.xml</loc></sitemap>";
    /// Where the whole list of a section should be there is only what changed in it, so nobody can begin to follow it.
    NoWholeList = "no-whole-list", Error,
        "Offer a snapshot of every section, and not only its changes.",
        r#"<scp:collection section="blog" type="snapshot" url="https://example.com/blog.scp.zst" generated="2026-01-31T12:00:00Z" expires="2026-02-28T12:00:00Z" pages="300" size="204800"/>"#;
    /// The changes that a section offers begin later than its snapshot ends, and later than it was last read: what happened in
    /// between is in neither.
    SectionGap = "section-gap", Warning,
        "Offer every delta until there is a newer snapshot.",
        r#"<scp:delta section="blog" period="2026-01-31" url="https://example.com/blog-delta.scp.zst" generated="2026-01-31T12:00:00Z" expires="2026-02-28T12:00:00Z" pages="3" size="2048" since="2026-01-30T12:00:00Z"/>"#;
    /// A section holds all pages of the others, which would be told twice; only the others are followed.
    SectionOfAll = "section-of-all", Note,
        "Nothing needs to be done, if every page is in one of the other sections.", "";
    /// Two sitemaps offer a section of the same name, and not the same documents of it; one of them is followed.
    SectionTwice = "section-twice", Warning,
        "Offer every section in one sitemap, or the same documents in all of them; give sections that are not the same different names.", "";

    /// The document should be JSON and is not, so nothing in it can be relied on.
    BadJson = "bad-json", Error,
        "Correct the line, and write the document with a program that knows JSON.", "";
    /// The document is YAML that is broken, or that uses what is not accepted from strangers: anchors, aliases, tags.
    BadYaml = "bad-yaml", Error,
        "Publish the sitemap as JSON, or as YAML without anchors, aliases and tags, of at most 1 MB.", "";
    /// An ARC sitemap is of a version that is not known.
    ArcVersion = "arc-version", Error,
        "Publish version 2.1.", "\"arc_sitemap_version\": \"2.1\"";
    /// An ARC sitemap is of a newer version than 2.1; it was read as if it were 2.1.
    ArcNewer = "arc-newer", Note,
        "Nothing needs to be done if 2.1 is a part of it.", "";
    /// An ARC sitemap lacks something that its schema demands; pages without it were left out.
    ArcInvalid = "arc-invalid", Error,
        "Give the sitemap `site`, `generated_at` and `pages`, and every page `url` and `ai_indexable`.",
        "{ \"url\": \"https://example.com/page\", \"ai_indexable\": true, \"lastmod\": \"2026-01-31T12:00:00Z\" }";

    /// The document is no SPXI index: it is not one object of the type SemanticIndex.
    SpxiRoot = "spxi-root", Error,
        "Publish one object of the type spxi:SemanticIndex.", "\"@type\": \"spxi:SemanticIndex\"";
    /// An SPXI index lacks a member that the protocol demands.
    SpxiMissing = "spxi-missing", Warning,
        "Add the member.", "\"spxi:protocolVersion\": \"EA-SPXI-SITEMAP-01 v1.0\"";
    /// An SPXI index is larger than the protocol advises.
    SpxiSize = "spxi-size", Note,
        "Keep the index below 100 KB.", "";
    /// An entry of an SPXI index has no address of its own.
    SpxiId = "spxi-id", Warning,
        "Give every entity and every surface the address of its page.", "\"@id\": \"https://example.com/about\"";
    /// The summary of a site in its SPXI index is missing, or has more than 100 words.
    SpxiKernel = "spxi-kernel", Warning,
        "Sum up the site in at most 100 words.", "\"spxi:siteKernel\": { \"spxi:compressionSurvivalSummary\": \"…\" }";
    /// A negative tag of an SPXI index is missing, does not begin with “NOT ”, or is longer than 200 characters.
    SpxiNegativeTag = "spxi-negative-tag", Warning,
        "Begin every negative tag with NOT and a space.", "\"spxi:negativeTag\": [\"NOT a band\"]";
    /// An entity of an SPXI index has fewer than two semantic integrity markers, or one longer than 200 characters.
    SpxiMarkers = "spxi-markers", Warning,
        "Give every entity at least two markers.", "\"spxi:semanticIntegrityMarker\": [\"…\", \"…\"]";
    /// The estimate of an entity in an SPXI index is not a number from 0 to 1.
    SpxiEstimate = "spxi-estimate", Warning,
        "Use a number from 0.0 to 1.0.", "\"spxi:bdrEstimate\": 0.5";
    /// The type of an entity in an SPXI index does not look like a type.
    SpxiEntityType = "spxi-entity-type", Warning,
        "Use a type of schema.org.", "\"spxi:entityType\": \"Person\"";
    /// The SPXI index is older than the newest page of the sitemap.
    SpxiStale = "spxi-stale", Note,
        "Make the index anew whenever the sitemap changes.", "";
    /// Pages of the sitemap are missing from the SPXI index.
    SpxiIncomplete = "spxi-incomplete", Note,
        "List every page of the sitemap in spxi:hasSurface.", "";

    /// An SCP file is of a version that is not known.
    ScpVersion = "scp-version", Error,
        "Publish version 0.1.", "\"version\": \"0.1\"";
    /// An SCP file breaks its own rules, so nothing in it can be relied on.
    ScpInvalid = "scp-invalid", Error,
        "Give the first line `id`, `section`, `type`, `generated` and `version`, and every page `url`, `title`, `description`, `modified`, `language` and `content`.",
        "{\"collection\":{\"id\":\"blog-1\",\"section\":\"blog\",\"type\":\"snapshot\",\"generated\":\"2026-01-31T12:00:00Z\",\"version\":\"0.1\"}}";
    /// The checksum of an SCP file does not fit it in any of the ways in which it may have been meant.
    ScpChecksum = "scp-checksum", Error,
        "Upload the file again, or leave the checksum out.", "";
    /// A block of a page in an SCP file is not one of those that the protocol knows; it was passed over.
    ScpBlock = "scp-block", Warning,
        "Use the blocks of SCP 0.1, with headings from 1 to 6.", "{\"type\":\"heading\",\"level\":1,\"text\":\"…\"}";
    /// A sitemap announces an SCP file without saying all that is needed to read it.
    ScpAnnouncement = "scp-announcement", Warning,
        "Give every scp:collection and scp:delta its section, url and generated, and every delta its since.",
        r#"<scp:delta section="blog" period="2026-01-31" url="https://example.com/blog-delta.scp.zst" generated="2026-01-31T12:00:00Z" expires="2026-02-28T12:00:00Z" pages="3" size="2048" since="2026-01-30T12:00:00Z"/>"#;

    /// The well-known address answers with a Capability List, as before ResourceSync 1.0.
    OldRoot = "old-root", Warning,
        "Publish a Source Description that lists the Capability List.",
        r#"<url>
  <loc>https://example.com/capabilitylist.xml</loc>
  <rs:md capability="capabilitylist"/>
  <rs:ln rel="describes" href="https://example.com/"/>
</url>"#;
    /// The link upwards is called `resourcesync`, as before ResourceSync 1.0.
    OldUp = "old-up", Warning,
        "Call the link `up`.", r#"<rs:ln rel="up" href="https://example.com/capabilitylist.xml"/>"#;
    /// The root has `modified`, as before ResourceSync 1.0, and not `from` or `at`.
    OldModified = "old-modified", Warning,
        "Use `from` in a Change List and `at` in a Resource List.", r#"<rs:md capability="changelist" from="2026-01-01"/>"#;
    /// The capability is spelled as in a draft of ResourceSync.
    OldCapability = "old-capability", Warning,
        "Use the names of ResourceSync 1.1: description, capabilitylist, changelist, resourcelist.", r#"<rs:md capability="changelist" from="2026-01-01"/>"#;
}

/// `docs/problems.md`.
pub fn documentation() -> String {
    let mut page = String::from(
        "# Problems\n\nWhat `sitebell check` and the report for authors may say about a site. \
         This page is made from `src/problem.rs`.\n\n\
         An **error** costs something: a document, an entry or a collection could not be used. \
         A **warning** breaks a rule whose meaning could still be guessed. A **note** is advice.\n",
    );
    for code in Code::ALL {
        let severity = format!("{:?}", code.severity()).to_lowercase();
        let _ = write!(
            page,
            "\n## `{code}`\n\n*{severity}.* {}\n\n{}\n",
            code.meaning(),
            code.fix()
        );
        if !code.snippet().is_empty() {
            let _ = write!(page, "\n```xml\n{}\n```\n", code.snippet());
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_code_has_a_name_of_its_own_a_meaning_and_a_fix() {
        let names: HashSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            assert!(
                code.name()
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            );
            assert!(
                code.meaning().ends_with('.') && code.fix().ends_with(['.', ')']),
                "{code}"
            );
        }
    }

    #[test]
    fn the_documentation_lists_every_code_as_the_source_has_it() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/problems.md");
        if std::env::var_os("SITEBELL_WRITE_DOCS").is_some() {
            std::fs::write(path, documentation()).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == documentation(),
            "run SITEBELL_WRITE_DOCS=1 cargo test documentation"
        );
    }

    #[test]
    fn what_is_kept_reads_back_equal() {
        let url = "https://a.example/".parse().unwrap();
        let mut problems: Vec<_> = (Code::ALL.iter())
            .map(|&code| Problem::new(code, &url, "what \"was\" found"))
            .collect();
        problems.push(
            Problem::new(Code::NoLoc, &url, "")
                .at(7)
                .with_snippet("<loc/>"),
        );
        problems.push(Problem::new(Code::NoChangeList, &url, "").with_snippet(""));
        assert_eq!(from_stored(&to_stored(&problems)), Some(problems));
        assert_eq!(from_stored("[]"), Some(vec![]));
        assert_eq!(from_stored("junk"), None);
    }

    #[test]
    fn an_example_has_the_addresses_of_the_host_that_is_to_be_corrected() {
        let url = "http://fox.example:8080/den/list.xml?page=2"
            .parse()
            .unwrap();
        let problem = Problem::new(Code::NoDescribedby, &url, "none");
        assert_eq!(
            problem.snippet,
            "<rs:ln rel=\"describedby\" href=\"http://fox.example:8080/about.xml\"/>"
        );
        for code in Code::ALL {
            assert!(!code.snippet_for(url.as_str()).contains("example.com"));
        }
    }

    #[test]
    fn a_code_of_a_newer_version_is_passed_over() {
        let kept = r#"[{"code":"of-tomorrow","document":"https://a.example/","message":"m","count":1,"colour":"red"},
                       {"code":"no-loc","document":"https://a.example/","message":"m","count":2}]"#;
        let read = from_stored(kept).unwrap();
        assert_eq!(
            (read.len(), read[0].code, read[0].count),
            (1, Code::NoLoc, 2)
        );
    }

    #[test]
    fn the_same_problem_in_one_document_is_counted_not_repeated() {
        let (a, b) = (
            "https://a.example/".parse().unwrap(),
            "https://b.example/".parse().unwrap(),
        );
        let mut problems = Problems::default();
        problems.add(Problem::new(Code::NoDatetime, &a, "first").at(3));
        problems.add(Problem::new(Code::NoDatetime, &a, "second").at(9));
        problems.add(Problem::new(Code::NoDatetime, &b, "elsewhere").at(1));
        assert!(problems.count_again(Code::NoDatetime, a.as_str()));
        assert!(!problems.count_again(Code::NoLoc, a.as_str()));
        let list = problems.into_vec();
        assert_eq!(list.len(), 2);
        assert_eq!(
            (list[0].count, list[0].line, list[0].message.as_str()),
            (3, Some(3), "first")
        );
    }

    #[test]
    fn a_message_is_as_harmless_as_a_quotation() {
        let url = "https://a.example/".parse().unwrap();
        let long = format!("<\u{9b}2J{}> is not closed", "x".repeat(1_000_000));
        let message = Problem::new(Code::Malformed, &url, long).message;
        assert!(message.starts_with("<\\u{9b}2Jxxx") && message.len() < 1000);
    }
}
