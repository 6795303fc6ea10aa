//! Hashes that are out there. A page that was not touched must have the same ones in every version of Sitebell, or else
//! all pages of all sites look edited at once. Never adjust an expectation here: if what counts of a page has to change,
//! the rules have to say so (`WORDS_VERSION`), because then equal bytes keep a page from being told.

use std::fmt::Write as _;
use std::fs;

use sha2::{Digest, Sha256};
use sitebell::publish::folder::PageRules;
use sitebell::read::html::main_text::{self, MainText, Selector};

use super::Author;

/// A picture that is told as it is.
const SVG: &str = "880485a05a519b27d5adda3edaa47788 880485a05a519b27d5adda3edaa47788";

/// Pages with what has a meaning of its own, and what the manifest said of them: the words, then the bytes.
const PAGES: &[(&str, &str, &str)] = &[
    (
        "as generators write them",
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Fox\n Den</title><link \
         rel=\"stylesheet\" href=\"/style.css\"></head>\n<body><nav><a href=\"/\">Home</a></nav><main class=x>\n<h1 \
         id=a>Foxes</h1>\n<p>sleep &amp; <a href='/d?a=1&amp;b=2' title=no>dream</a>.</p></main><footer>2026</footer>\
         </body></html>\n",
        "8b0967b79c0708f8285f605225fe2ff9 4afbd9ac2c52474815859291e58049b1",
    ),
    (
        "without a main part",
        "<title>T</title><body><header>Site</header><nav>Home</nav><article><header>Foxes</header>sleep</article>\
         <aside>Ring</aside><section><h2>More</h2></section><header>Other</header><footer>2026</footer>",
        "3dbe7db9029db1c3c1866216752a0c9c 04a64ebea12179da7a28dc850e953823",
    ),
    (
        "with a role",
        "<body><div>before</div><DIV ROLE=main><div>in</div> it<div role=\"main\"><i>still</i></div></DIV>after",
        "d6c8e4e9324554e47d3a05ee2d76f30b e54764c97b168710d4d0243d98b36a9a",
    ),
    (
        "old and loud",
        "<HTML><BODY BGCOLOR=#ffffff><CENTER><FONT SIZE=+2>Hi!<BR>\r\n\r\n<IMG SRC=fox.gif ALT='A > fox'></FONT>\
         </CENTER><A HREF = \"a b.html\" >a\tb</A><FRAMESET><FRAME SRC=a><IFRAME SRC=b>none</IFRAME>",
        "636ea0942072b1a2310f0b178c560fc0 feeda329ee5938c20ffcc7c081d8a8e5",
    ),
    (
        "no markup",
        "just words \u{e9}\u{1b} \x0b 1 < 2 <3 </ > & more",
        "843410f56e62e24eaa3ca112d86f466b 843410f56e62e24eaa3ca112d86f466b",
    ),
    (
        "nothing",
        "",
        "e3b0c44298fc1c149afbf4c8996fb924 e3b0c44298fc1c149afbf4c8996fb924",
    ),
    (
        "no words",
        "<body><script>app(1)</script><style>p{}</style>",
        "38c9cc2b5c05697716944d53b6806fdb 38c9cc2b5c05697716944d53b6806fdb",
    ),
    (
        "that does not end",
        "<p>a<nav>b<p>c<aside><!-- x <b>d</b> -> <i a='>e</i>",
        "0e9f64031fcb2bc708b531c2a2044158 32cf8a0585b87c1d1eeb7fb71cce1066",
    ),
    (
        "with comments for us",
        "<p>a<!-- sitebell:ignore --><p>visits: 7<!-- x --><b>!</b><!--/sitebell:ignore--><p>b <!--\n\
         sitebell:ignore-->rest",
        "c8687a08aa5d6ed2044328fa6a697ab8 497fdf0a6a6fd98b5fd6513a69550d49",
    ),
    (
        "with a link of ours",
        "<head><title>x</title><link rel=\"resourcesync\" href=\"https://fox.example/sitebell/capabilitylist.xml\" \
         data-sitebell=\"\"/>\n</head><body>words</body>",
        "b170da10f6a9aeed0f0602a6d131b5f4 cef7fc92f071918c7f388783a47e0265",
    ),
    (
        "with all that is seen",
        "<main><img src=a srcset='a 1x, b 2x' alt=c><video poster=p><source src=s></video><object data=d></object>\
         <input value=v><time datetime=2026-01-01>day</time><a HREF=x/ hReF='y' data-href=z href>w</a><br/><p \
         don't>it's<p a=\"b\"c=d/e href=f/>g</main>",
        "128611d04f47b337a3576a347750754f f4c01c71937c434815fa83e6767fc68e",
    ),
    (
        "with titles, metas and raw text",
        "<html><meta name=a content=b><title>One</title><title>Two</title></head><title>Three</title><noscript><p>no\
         </noscript><template><p>no</p></template><noframes>no</noframes><script>'<main>'</script >yes<textarea>area\
         </textarea><svg><title>Four</title></svg></html>",
        "dcf93f2fce5d3e84ae2cf559ae758193 858c00b43d5325ae25d2c02025b6e306",
    ),
    (
        "with white space of all kinds",
        "<p>  red \n\n fox\t\tand \x0c owl \r\n</p>\n<p> </p><p>\u{a0}wide\u{3000}  space</p><a href=' a  b\n'> x </a>",
        "4988c602e58995e66b80f023a6156bdd 8a45e1a3ea23cc19adf4d17c2dd78b4e",
    ),
    (
        "with main twice",
        "<body>a<main>b<main>c</main>d</main>e<main>f</main>g<nav>h</nav>",
        "488a18d5567cf130b2b13e1f715cc4b9 1d0af665b65f1bebfe800c04c1251d2a",
    ),
];

#[test]
fn what_a_page_was_known_by_it_is_known_by_for_ever() {
    let mut author = Author::with_nothing();
    for (number, (_, page, _)) in PAGES.iter().enumerate() {
        author.file(format!("{number}.html"), page);
    }
    author.file("picture.svg", "<svg>");
    author.order.rules = PageRules::parse(&[], &["*.svg".to_owned()]).unwrap();
    author.publish();
    for (number, (name, _, prints)) in PAGES.iter().enumerate() {
        assert_eq!(
            known_by(&author, &format!("{number}.html")),
            *prints,
            "{name}"
        );
    }
    assert_eq!(known_by(&author, "picture.svg"), SVG);
}

#[test]
fn pages_under_the_rules_of_an_author_are_known_by_the_same_for_ever() {
    let page = "<title>T</title><body>Built on 2026-01-01 <b class='x stamp'>1</b><i id=v>2</i><u>3</u><hr id=h>words";
    let mut author = Author::with_nothing();
    author.file("index.html", page);
    let ignore = [
        "element:.stamp",
        "element:#v",
        "element:u",
        "element:#h",
        "text:Built on [0-9-]+",
    ];
    author.order.rules = PageRules::parse(&ignore.map(str::to_owned), &[]).unwrap();
    author.publish();
    assert_eq!(
        known_by(&author, ""),
        "6cc24b647efb5d901426a170a65261c8 78760879104b7691702ca08750ee774f"
    );
    assert_eq!(
        manifest(&author)["rules"],
        "dd438a82e0f7bd5ce1ebdfaeaba24e65"
    );
    author.order.rules = PageRules::default();
    author.order.rules.exact = true;
    author.publish();
    assert_eq!(
        known_by(&author, ""),
        "78760879104b7691702ca08750ee774f 78760879104b7691702ca08750ee774f"
    );
    assert_eq!(
        manifest(&author)["rules"],
        "9dcf97a184f32623d11a73124ceb99a5"
    );
    author.order.rules = PageRules::default();
    author.publish();
    assert_eq!(
        manifest(&author)["rules"],
        "47dc540c94ceb704a23875c11273e16b"
    );
}

/// Pages of pieces in any order, which are broken in more ways than anybody thinks of.
#[test]
fn the_main_text_of_broken_pages_is_the_same_for_ever() {
    const PIECES: &[&str] = &[
        "<",
        ">",
        "</",
        "/>",
        "<!--",
        "-->",
        "<!",
        "<?",
        "\"",
        "'",
        "=",
        " ",
        "\n",
        "\t ",
        "  ",
        "words",
        "&amp;",
        "é",
        "fox ",
        " den",
        "<p>",
        "</p>",
        "<p class=a>",
        "<a href='/x y'>",
        "</a>",
        "<br>",
        "<br/>",
        "<img src=a alt=\"b>\">",
        "<main>",
        "</main>",
        "<MAIN id=m>",
        "</Main >",
        "<div role=main>",
        "<div>",
        "</div>",
        "<nav>",
        "</nav>",
        "<header>",
        "</header>",
        "<footer>",
        "</footer>",
        "<aside>",
        "</aside>",
        "<article>",
        "</article>",
        "<section x>",
        "</section>",
        "<head>",
        "</head>",
        "<body>",
        "<body class=b>",
        "</body>",
        "<html>",
        "</html>",
        "<title>",
        "</title>",
        "<meta charset=utf-8>",
        "<meta http-equiv=refresh content='0; url=/y'>",
        "<meta http-equiv='Refresh' content=\"9;URL=z\">",
        "<link href=l>",
        "<script>",
        "</script>",
        "<style>",
        "</style>",
        "<template>",
        "</template>",
        "<noscript>",
        "</noscript>",
        "<iframe src=f>",
        "</iframe>",
        "<!-- sitebell:ignore -->",
        "<!-- /sitebell:ignore -->",
        "<!--sitebell:ignore-->",
        "<!-- x -->",
        "<!doctype html>",
        "<b class='stamp x'>",
        "</b>",
        "<i id=v>",
        "</i>",
        "<input value=' v  w '>",
        "<time datetime=d>",
        "<x",
        " y=z",
        " href",
        " SRC=",
        "\u{1}",
        "\u{0}",
        "\u{c}",
        "<p a=b'c>",
        "<p a= \"d\" href=e>",
        "<é>",
        "<hr id=v>",
    ];
    let ignored = [".stamp", "#v"].map(|text| Selector::parse(text).unwrap());
    let mut state: u64 = 7;
    let mut next = |below: usize| {
        // Any sequence will do that is the same everywhere and always.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let (mut found, mut all) = (MainText::default(), Sha256::new());
    let (mut words, mut signposts) = (0, 0);
    for _ in 0..20_000 {
        let pieces = next(40);
        let page: String = (0..pieces).map(|_| PIECES[next(PIECES.len())]).collect();
        let ignored = &ignored[..next(3)];
        main_text::read(page.as_bytes(), ignored, &mut found);
        words += found.text.len();
        signposts += usize::from(found.leads_to.is_some());
        all.update(u32::try_from(found.text.len()).unwrap().to_le_bytes());
        all.update(&found.text);
        all.update(found.leads_to.take().unwrap_or_default());
    }
    // So that it is known that there was something to compare.
    assert!(words > 100_000 && signposts > 1_000, "{words} {signposts}");
    assert_eq!(
        hex(&all.finalize()),
        "a0f6649b1ce9981e81d641a4c8778b85ecda9877a20f32486209ba68a1ea92c0"
    );
}

fn hex(bytes: &[u8]) -> String {
    let mut hex = String::new();
    for byte in bytes {
        write!(hex, "{byte:02x}").unwrap();
    }
    hex
}

fn manifest(author: &Author) -> serde_json::Value {
    let text = fs::read(author.path("sitebell/manifest.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// The hashes of the words and of the bytes of a page, as they were published.
fn known_by(author: &Author, page: &str) -> String {
    let manifest = manifest(author);
    let line = manifest["pages"][page].as_str().unwrap();
    line.rsplit_once(' ').unwrap().0.to_owned()
}
