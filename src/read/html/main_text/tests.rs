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
