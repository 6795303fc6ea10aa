//! Parts of a site that lists its pages: each of its sitemaps, and any folder, followed from the page of the site.

use sitebell::account::{Allowance, Registration};
use sitebell::site::SiteUrl;

use crate::den::Den;
use crate::fake_site::Reply;
use crate::person::{Page, Person};
use crate::world::World;

const NS: &str = "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'";

async fn world() -> World {
    let mut world = World::new().await;
    world.registration = Registration::Open;
    world.restart().await;
    world
}

fn sign_up(world: &World, name: &str) -> Person {
    let mut person = Person::at(world.address());
    let page = person.open("/sign-up");
    let fields = [("name", name), ("password", "correct horse battery")];
    assert_eq!(person.send(&page, "/sign-up", &fields).status(), 200);
    person
}

fn sitemap(den: &Den, path: &str, pages: &[&str]) {
    let entries = pages
        .iter()
        .map(|page| format!("<url><loc>{}</loc></url>", den.url(page)));
    let text = format!("<urlset {NS}>{}</urlset>", entries.collect::<String>());
    den.site.serve(path, Reply::xml(text));
}

fn index(den: &Den, path: &str, children: &[&str]) {
    let entries = children.iter().map(|child| {
        let (child, lastmod) = child.split_once(' ').unwrap_or((child, ""));
        let lastmod = match lastmod {
            "" => String::new(),
            lastmod => format!("<lastmod>{lastmod}</lastmod>"),
        };
        format!(
            "<sitemap><loc>{}</loc>{lastmod}</sitemap>",
            den.url(child).as_str().replace('&', "&amp;")
        )
    });
    let text = format!(
        "<sitemapindex {NS}>{}</sitemapindex>",
        entries.collect::<String>()
    );
    den.site.serve(path, Reply::xml(text));
}

/// A site of two sitemaps, one for stories and one for pictures.
fn two_sitemaps() -> Den {
    let den = Den::empty();
    den.html("/", "<title>The Fox Den</title>");
    index(
        &den,
        "/sitemap.xml",
        &["/maps/stories.xml 2026-03-02", "/maps/pictures.xml"],
    );
    sitemap(
        &den,
        "/maps/stories.xml",
        &["/stories/", "/stories/1", "/stories/2"],
    );
    sitemap(&den, "/maps/pictures.xml", &["/pictures/1"]);
    den
}

async fn read(world: &World, person: &mut Person, den: &Den) -> Page {
    let front = person.open("/");
    person.send(&front, "/sites", &[("url", den.url("/").as_str())]);
    world.scheduler().idle().await;
    person.open(&den.page("/"))
}

/// Sends the form that is about `name`, with what is hidden in it.
fn follow(person: &mut Person, page: &Page, url: &str) -> Page {
    let token = page.value("csrf");
    let fields = [("csrf", token.as_str()), ("follow", "1"), ("url", url)];
    assert!(
        page.has(&format!("name=\"url\" value=\"{url}\"")),
        "{}",
        page.text()
    );
    let answer = person.post("/sites", &fields);
    let location = answer.header("location").expect("a way on").to_owned();
    person.open(&location)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_sitemap_of_a_site_is_offered_and_followed_by_itself() {
    let world = world().await;
    let den = two_sitemaps();
    let mut carol = sign_up(&world, "carol");
    let page = read(&world, &mut carol, &den).await;
    assert!(page.has("The site has 2 sitemaps"), "{}", page.text());
    assert!(page.has("<bdi>maps/stories.xml</bdi>") && page.has("3 pages"));
    assert!(page.has("<bdi>maps/pictures.xml</bdi>") && page.has("1 page<"));
    assert!(page.has("2 March"), "when the index says that it changed");
    let url = den.url("/maps/stories.xml");
    let part = follow(&mut carol, &page, url.as_str());
    assert!(part.has("You follow "), "{}", part.text());
    world.scheduler().idle().await;
    let part = carol.open(&part.path);
    for story in ["/stories/1", "/stories/2"] {
        assert!(part.has(den.url(story).as_str()), "{}", part.text());
    }
    assert!(!part.has(den.url("/pictures/1").as_str()));
    // It is no index itself, and what was typed as a list has no folders.
    assert!(!part.has("Only a part of it"), "{}", part.text());
    let page = carol.open(&den.page("/"));
    assert!(page.has("You follow this</span>"), "{}", page.text());
    assert!(
        page.has(&format!("href=\"https://bell.example{}\"", part.path)),
        "the part is linked: {}",
        page.text()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_have_the_names_of_sitemaps_are_no_parts() {
    let world = world().await;
    let den = Den::empty();
    sitemap(&den, "/sitemap.xml", &["/1.xml", "/map.xml", "/2.xml"]);
    sitemap(&den, "/map.xml", &["/a"]);
    for path in ["/1.xml", "/2.xml"] {
        den.xml(path, "<TEI xmlns='http://www.tei-c.org/ns/1.0'/>");
    }
    let mut carol = sign_up(&world, "carol");
    let page = read(&world, &mut carol, &den).await;
    assert!(page.has("The site has 1 sitemap,"), "{}", page.text());
    let offers = |path: &str| page.has(&format!("name=\"url\" value=\"{}\"", den.url(path)));
    assert!(offers("/map.xml") && !offers("/1.xml") && !offers("/2.xml"));
}

#[tokio::test(flavor = "multi_thread")]
async fn several_sitemaps_in_robots_txt_are_parts_as_well() {
    let world = world().await;
    let den = two_sitemaps();
    let lines = format!(
        "Sitemap: {}\nSitemap: {}\n",
        den.url("/maps/stories.xml"),
        den.url("/maps/pictures.xml")
    );
    den.site.serve("/robots.txt", Reply::text(lines));
    let mut carol = sign_up(&world, "carol");
    let page = read(&world, &mut carol, &den).await;
    assert!(page.has("The site has 2 sitemaps"), "{}", page.text());
    assert!(page.has("maps/stories.xml") && page.has("maps/pictures.xml"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_sitemap_is_no_part_of_itself() {
    let world = world().await;
    let den = Den::empty();
    sitemap(&den, "/sitemap.xml", &["/a", "/b"]);
    let mut carol = sign_up(&world, "carol");
    let page = read(&world, &mut carol, &den).await;
    assert!(!page.has("sitemaps, and each"), "{}", page.text());
    assert!(page.has("A folder of this site"), "{}", page.text());
    let log = Den::named("owl.example");
    let page = read(&world, &mut carol, &log).await;
    assert!(!page.has("Only a part of it"), "it tells its collections");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_a_site_is_followed_from_its_page() {
    let world = world().await;
    let den = two_sitemaps();
    let mut carol = sign_up(&world, "carol");
    let page = read(&world, &mut carol, &den).await;
    let (token, url) = (page.value("csrf"), den.url("/"));
    let fields = |folder: &'static str| {
        [
            ("csrf", token.clone()),
            ("follow", "1".to_owned()),
            ("url", url.to_string()),
            ("folder", folder.to_owned()),
        ]
    };
    let send = |person: &mut Person, folder| {
        let fields = fields(folder);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(n, v)| (*n, v.as_str())).collect();
        person.post("/sites", &fields)
    };
    let answer = send(&mut carol, " stories ");
    let location = answer.header("location").expect("a way on").to_owned();
    world.scheduler().idle().await;
    let part = carol.open(&location);
    assert!(part.has("You follow "), "{}", part.text());
    assert!(part.has(den.url("/stories/2").as_str()), "{}", part.text());
    assert!(!part.has(den.url("/pictures/1").as_str()));
    // Nothing is in this one, and that is told.
    let answer = send(&mut carol, "/nowhere/");
    let location = answer.header("location").expect("a way on").to_owned();
    world.scheduler().idle().await;
    let part = carol.open(&location);
    assert!(
        part.has("hardly a page below <code>/nowhere/</code>"),
        "{}",
        part.text()
    );
    // What is no address at all is told at a field that has it.
    let answer = send(&mut carol, "http://");
    assert_eq!(answer.status, 422);
    assert!(answer.text().contains("aria-invalid"));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_no_account_or_no_token_follows_no_part() {
    let mut world = world().await;
    let den = two_sitemaps();
    let mut carol = sign_up(&world, "carol");
    read(&world, &mut carol, &den).await;
    let url = den.url("/maps/stories.xml");
    // A visitor gets the page with its feed.
    let mut visitor = Person::at(world.address());
    let page = visitor.open(&den.page("/"));
    let part = follow(&mut visitor, &page, url.as_str());
    assert_eq!(part.status(), 200);
    assert!(!part.has("You follow"), "{}", part.text());
    let forged = [("csrf", "forged"), ("follow", "1"), ("url", url.as_str())];
    assert_eq!(carol.post("/sites", &forged).status, 403);
    // Where visitors add nothing, they look at a report.
    world.visitors_add = false;
    world.restart().await;
    let mut visitor = Person::at(world.address());
    let page = visitor.open(&den.page("/"));
    assert!(page.has("Look at<span"), "{}", page.text());
    let pictures = den.url("/maps/pictures.xml");
    let report = follow(&mut visitor, &page, pictures.as_str());
    assert!(report.path.starts_with("/check?url="), "{}", report.path);
    assert_eq!(world.store().sites(None, 10).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_holds_for_parts_as_for_sites() {
    let mut world = world().await;
    world.allowance = Allowance {
        sites: 1,
        ..Allowance::default()
    };
    world.restart().await;
    let den = two_sitemaps();
    let mut carol = sign_up(&world, "carol");
    let page = read(&world, &mut carol, &den).await;
    let url = den.url("/maps/stories.xml");
    follow(&mut carol, &page, url.as_str());
    let token = page.value("csrf");
    let other = den.url("/maps/pictures.xml");
    let fields = [
        ("csrf", token.as_str()),
        ("follow", "1"),
        ("url", other.as_str()),
    ];
    let answer = carol.post("/sites", &fields);
    assert_eq!(answer.status, 429, "{}", answer.text());
    assert!(
        answer.text().contains("may follow 1 site, and follows 1"),
        "{}",
        answer.text()
    );
    // Nothing is left of it that nobody follows.
    let other = SiteUrl::parse(other.as_str()).unwrap();
    assert_eq!(world.store().find_site(&other).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_of_many_sitemaps_lists_some_on_each_page() {
    let world = world().await;
    let den = Den::empty();
    let names: Vec<String> = (0..45)
        .map(|n| format!("/map-{n}.xml?a=1&b=<{n}>"))
        .collect();
    let children: Vec<&str> = names.iter().map(String::as_str).collect();
    index(&den, "/sitemap.xml", &children);
    sitemap(&den, "/map-0.xml?a=1&b=%3C0%3E", &["/a"]);
    let mut carol = sign_up(&world, "carol");
    let mut page = read(&world, &mut carol, &den).await;
    assert!(page.has("The site has 45 sitemaps"), "{}", page.text());
    let mut seen = std::collections::BTreeSet::new();
    for from in [0, 20, 40] {
        if from > 0 {
            let link = format!("?sitemaps={from}#only\" rel=\"next\"");
            assert!(page.has(&link), "{}", page.text());
            page = carol.open(&format!("{}?sitemaps={from}", den.page("/")));
        }
        assert!(page.text().len() < 50_000, "{} bytes", page.text().len());
        // Many are folded away, until somebody goes through them.
        assert_eq!(page.has("<details open>"), from > 0, "{}", page.text());
        let names = page.text().split("Follow<span class=\"hidden\"> ").skip(1);
        seen.extend(names.filter_map(|rest| rest.split_once("</span>").map(|(t, _)| t.to_owned())));
    }
    // The whole site is a collection, and has such a button as well.
    seen.retain(|name| name.starts_with("map-"));
    assert_eq!(seen.len(), 45, "{seen:?}");
    assert!(seen.contains("map-7.xml?a=1&#38;b=&#60;7&#62;"), "{seen:?}");
    assert!(!page.has("More sitemaps") && page.has("The sitemaps before"));
    let beyond = carol.open(&format!("{}?sitemaps=99999999999", den.page("/")));
    assert_eq!(beyond.status(), 200);
}
