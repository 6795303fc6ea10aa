//! What people without scripts see: looking at a site, following it, the timeline, lists that come and go.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use sitebell::account::Registration;
use sitebell::site::SiteId;

use crate::ask::Ask;
use crate::den::Den;
use crate::fake_site::{Gate, Reply};
use crate::person::{Page, Person};
use crate::world::World;

/// Whatever is waited for has so long, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(20);

/// A world in which everybody may sign up.
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

/// Types an address into the field on the first page.
fn look_at(person: &mut Person, address: &str) -> Page {
    let front = person.open("/");
    person.send(&front, "/sites", &[("url", address)])
}

/// A site with a gallery and stories, each with a change.
fn two_collections() -> Den {
    let den = Den::empty();
    den.description(&[("/gallery.xml", "/gallery/"), ("/stories.xml", "/stories/")]);
    for (name, changes) in [
        ("gallery", ["created /gallery/fox 2026-03-08"]),
        ("stories", ["updated /stories/tale 2026-03-09T10:00:00Z"]),
    ] {
        let (list, changed) = (format!("/{name}.xml"), format!("/{name}-list.xml"));
        den.capability_list(&list, &format!("/{name}/"), &[&changed]);
        den.change_list_of(&list, &changed, "from='2026-01-01'", &changes);
    }
    den.about("/about.xml", "/", "The Fox Den");
    den
}

/// Adds the site over a page, and waits until it was read.
async fn read(world: &World, person: &mut Person, den: &Den) -> Page {
    look_at(person, den.url("/").as_str());
    world.scheduler().idle().await;
    person.open(&den.page("/"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_sees_what_is_being_read_and_then_what_was_found() {
    let world = World::new().await;
    let (den, gate) = (Den::new(), Gate::default());
    let list = den.filled(&crate::den::change_list(
        "/capabilitylist.xml",
        "from='2026-01-01'",
        &["created /a 2026-03-01", "deleted /b 2026-03-02T08:00:00Z"],
    ));
    den.site
        .serve("/changelist.xml", Reply::xml(list).behind(&gate));
    let mut visitor = Person::at(world.address());
    let page = look_at(&mut visitor, den.url("/").as_str());
    assert_eq!(page.path, den.page("/"));
    let page = until(&mut visitor, &page.path, "changelist.xml</li>");
    assert!(page.has("Reading the site") && page.has("http-equiv=\"refresh\""));
    assert!(page.has("/.well-known/resourcesync</li>"));
    let progress = &den.page("/reading.json?after=1");
    let answer = world.ask(Ask::get(progress)).json(200);
    assert_eq!(answer["done"], false);
    gate.open();
    world.scheduler().idle().await;
    let page = visitor.open(&den.page("/"));
    for part in [
        "<h1><bdi>The Fox Den</bdi></h1>",
        "in ResourceSync",
        &format!("https://bell.example{}", den.page("/feed.atom")),
        "<span class=\"kind created\">new</span>",
        "<span class=\"kind deleted\">deleted</span>",
        "Checked <time datetime=\"2026-03-10T12:00:00Z\" title=\"10 March 2026, 12:00 UTC\">just now",
        "2 changes on 2 days in the last year",
        "Sunday 1 March",
    ] {
        assert!(page.has(part), "{part}: {}", page.text());
    }
    assert!(!page.has("http-equiv"));
    let answer = world.ask(Ask::get(progress)).json(200);
    assert_eq!(answer["done"], true);
    // Whoever types it again finds the same.
    let again = look_at(&mut visitor, den.url("/").as_str());
    assert_eq!(again.path, den.page("/"));
}

/// Opens a page again and again until it says this.
fn until(person: &mut Person, path: &str, text: &str) -> Page {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let page = person.open(path);
        if page.has(text) {
            return page;
        }
    }
    panic!("{path} never says {text}: {}", person.open(path).text());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_the_address_of_a_site_is_told_at_the_field() {
    let world = World::new().await;
    let mut visitor = Person::at(world.address());
    let huge = "x".repeat(3_000);
    for (typed, sentence) in [
        ("", "There is no address; type one such as example.com."),
        (
            "ftp://fox.example/",
            "“ftp:” is not a kind of address that can be followed; use http or https.",
        ),
        (
            "https://me:secret@fox.example/",
            "The address contains a name or password; leave out everything before the @.",
        ),
        ("<script>alert(1)</script>", "not the address of a website"),
        ("http://10.0.0.1/", "not"),
        (&huge, "longer than"),
    ] {
        let page = look_at(&mut visitor, typed);
        assert_eq!(page.status(), 422, "{typed}");
        let error = page.error("url");
        assert!(error.contains(sentence), "{typed}: {error}");
        assert!(!page.has("<script>alert"));
    }
    assert!(world.store().sites(None, 10).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_says_nothing_about_its_changes_is_told_so_with_what_to_do() {
    let world = World::new().await;
    let den = Den::empty();
    den.html("/", "<title>A plain site</title>");
    let mut visitor = Person::at(world.address());
    let page = read(&world, &mut visitor, &den).await;
    for part in [
        "There is nothing to follow here yet",
        "If it is somebody else’s site",
        "If it is yours",
        "The last check did not go well",
        "/check?url=http%3A%2F%2Ffox.example",
    ] {
        assert!(page.has(part), "{part}: {}", page.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_visitors_may_not_add_sites_they_see_what_there_is_all_the_same() {
    let mut world = world().await;
    world.visitors_add = false;
    world.restart().await;
    let den = Den::new();
    let mut visitor = Person::at(world.address());
    let page = look_at(&mut visitor, den.url("/").as_str());
    assert!(page.path.starts_with("/check?url="), "{}", page.path);
    let page = until(&mut visitor, &page.path, "Nothing to fix");
    assert!(page.has("The Fox Den") && page.has("Sign in</a> to follow it"));
    assert!(world.store().sites(None, 10).await.unwrap().is_empty());
    let mut carol = sign_up(&world, "carol");
    let page = look_at(&mut carol, den.url("/").as_str());
    assert_eq!(page.path, den.page("/"));
    world.scheduler().idle().await;
    // What is known can be viewed by everybody.
    let page = look_at(&mut visitor, den.url("/").as_str());
    assert_eq!(page.path, den.page("/"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_author_reads_what_is_wrong_where_and_how_to_put_it_right() {
    let world = World::new().await;
    let den = Den::new();
    den.xml(
        "/changelist.xml",
        &crate::den::urlset(
            "<rs:ln rel='up' href='{den}/capabilitylist.xml'/><rs:md capability='changelist' from='2026-01-01'/>
            <url><loc>{den}/x</loc><rs:md change='updated'/></url>
            <url><loc>{den}/&lt;b&gt;y</loc><rs:md change='updated' datetime='2026-03-01'/></url>",
        ),
    );
    let mut author = Person::at(world.address());
    assert!(author.open("/check").has("Address of your site"));
    let address = format!("/check?url={}", den.url("/"));
    let first = author.open(&address);
    assert!(first.has("Reading the site") || first.has("1 error"));
    let page = until(&mut author, &address, "1 error");
    for part in [
        "Error: The entry for",
        "[no-datetime]",
        ", line 2",
        "Add <code>datetime</code>",
        "&#60;rs:md change=",
        "1 change</span>",
        "Make feeds of it",
    ] {
        assert!(page.has(part), "{part}: {}", page.text());
    }
    assert!(world.store().sites(None, 10).await.unwrap().is_empty());
    let wrong = author.open("/check?url=javascript:alert(1)");
    assert_eq!(wrong.status(), 422);
    assert!(wrong.error("url").contains("use http or https"));
    let gone = author.open("/check?url=http://127.0.0.1:1/");
    let gone = match gone.has("could not be read") {
        true => gone,
        false => until(
            &mut author,
            "/check?url=http://127.0.0.1:1/",
            "could not be read",
        ),
    };
    assert!(gone.has("The site cannot be read"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_site_names_the_document_and_the_line_that_need_care() {
    let world = world().await;
    let den = Den::new();
    let changes = ["created /a 2026-03-01", "created /b yesterday"];
    den.change_list("/changelist.xml", "from='2026-01-01'", &changes);
    let page = read(&world, &mut Person::at(world.address()), &den).await;
    let place = format!("In <bdi>{}</bdi>, line ", den.url("/changelist.xml"));
    assert!(page.text().contains(&place), "{}", page.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_follows_a_site_or_single_collections_and_takes_it_back() {
    let world = world().await;
    let den = two_collections();
    let mut carol = sign_up(&world, "carol");
    let page = read(&world, &mut carol, &den).await;
    assert!(page.has("Follow the site") && page.has("The Fox Den"));
    let page = carol.send(&page, "/follow", &[]);
    assert_eq!(page.path, den.page("/"));
    assert!(page.has("You follow The Fox Den now.") && page.has("You follow this."));
    let part = carol.open(&den.page("/gallery/"));
    assert!(part.has("You follow the <a"), "{}", part.text());
    assert!(carol.open("/home").has("/stories/tale"));

    let page = carol.send(&page, "/unfollow", &[]);
    assert!(page.has("You no longer follow The Fox Den."));
    assert!(carol.open("/home").has("You follow nothing yet"));
    let page = carol.open(&den.page("/"));
    let part = carol.open(&den.page("/gallery/"));
    let part = carol.send(&part, "/follow", &[("folder", "Art")]);
    assert!(part.has("You follow this."));
    let home = carol.open("/home");
    assert!(home.has("/gallery/fox") && !home.has("/stories/tale"));
    assert!(page.has("Follow the site"));
    let list = carol.open("/home/sites");
    assert!(list.has("<h2><bdi>Art</bdi></h2>") && list.has("Part of <bdi>The Fox Den</bdi>"));

    // A way back, with everything as it was.
    let list = carol.send(&list, "/unfollow", &[]);
    assert_eq!(list.path, "/home/sites");
    let list = carol.send(&list, "/follow", &[]);
    assert!(list.has("<h2><bdi>Art</bdi></h2>"), "{}", list.text());
    let list = carol.send(&list, "/home/folder", &[("folder", " ")]);
    assert!(list.has("It is in no folder now.") && !list.has("<bdi>Art</bdi>"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_touches_what_another_follows() {
    let world = world().await;
    let den = Den::new();
    let (mut carol, mut dave) = (sign_up(&world, "carol"), sign_up(&world, "dave"));
    let page = read(&world, &mut carol, &den).await;
    carol.send(&page, "/follow", &[]);
    let own = carol.open("/home/sites");
    let subscription = own.value("subscription");
    let forms = dave.open("/");
    let csrf = forms.value("csrf");
    for (path, field) in [("/unfollow", "back"), ("/home/folder", "folder")] {
        let fields = [
            ("csrf", csrf.as_str()),
            ("subscription", &subscription),
            (field, "x"),
        ];
        let (theirs, nobodys) = (dave.post(path, &fields), {
            let fields = [
                ("csrf", csrf.as_str()),
                ("subscription", "999"),
                (field, "x"),
            ];
            dave.post(path, &fields)
        });
        assert_eq!((theirs.status, nobodys.status), (404, 404), "{path}");
    }
    assert!(carol.open("/home/sites").has("The Fox Den"));
    assert!(!dave.open("/home/sites").has("The Fox Den"));
    assert!(!dave.open("/home").has("The Fox Den"));
    for path in [
        "/home",
        "/home/sites",
        "/home/import",
        "/home/export.opml",
        "/home/import/reading.json",
    ] {
        let mut visitor = Person::at(world.address());
        assert!(
            visitor.open(path).path.starts_with("/sign-in?next="),
            "{path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_timeline_has_a_mark_where_the_last_visit_ended() {
    let world = world().await;
    let den = Den::new();
    let mut carol = sign_up(&world, "carol");
    let page = read(&world, &mut carol, &den).await;
    carol.send(&page, "/follow", &[]);
    assert!(!carol.open("/home").has("You were here"));
    world.pass(TimeDelta::days(2));
    let news = [
        "created /a 2026-03-01",
        "updated /b 2026-03-02T08:00:00Z",
        "created /news 2026-03-12T09:00:00Z",
    ];
    den.change_list("/changelist.xml", "from='2026-01-01'", &news);
    world.scheduler().idle().await;
    let home = carol.open("/home");
    let (new, mark, old) = (
        home.text().find("/news\""),
        home.text().find("You were here"),
        home.text().find("/b\""),
    );
    assert!(new.is_some() && new < mark && mark < old, "{}", home.text());
    assert!(home.has("Today, Thursday 12 March") && home.has("2 days ago"));
    // Still the same visit.
    world.pass(TimeDelta::minutes(10));
    assert!(carol.open("/home").has("You were here"));
    // Everything was seen by then.
    world.pass(TimeDelta::hours(3));
    assert!(!carol.open("/home").has("You were here"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_timeline_is_searched_and_chosen_from() {
    let world = world().await;
    let den = two_collections();
    let mut carol = sign_up(&world, "carol");
    let page = read(&world, &mut carol, &den).await;
    carol.send(&page, "/follow", &[("folder", "Foxes")]);
    let mut shows = |query: &str| {
        let page = carol.open(&format!("/home?{query}"));
        assert_eq!(page.status(), 200, "{query}");
        (page.has("/gallery/fox\""), page.has("/stories/tale\""))
    };
    assert_eq!(shows(""), (true, true));
    assert_eq!(shows("kind=created"), (true, false));
    assert_eq!(shows("kind=updated"), (false, true));
    assert_eq!(shows("kind=deleted"), (false, false));
    assert_eq!(shows("q=TALE"), (false, true));
    assert_eq!(shows("q=%25"), (false, false));
    assert_eq!(
        shows(&format!("site={}&q=fox", &den.page("")[7..])),
        (true, true)
    );
    assert_eq!(shows("folder=Foxes"), (true, true));
    assert_eq!(shows("folder=Other"), (false, false));
    assert!(carol.open("/home?q=nothing").has("Nothing fits."));
    assert_eq!(carol.open("/home?site=other.example").status(), 404);
    assert_eq!(carol.open("/home?after=x").status(), 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_of_many_collections_lists_some_on_each_page() {
    let world = world().await;
    let den = Den::empty();
    let name = |n: usize| format!("{}-{n}", "collection".repeat(8));
    let lists: Vec<_> = (0..45)
        .map(|n| (format!("/{n}.xml"), format!("/{}/", name(n))))
        .collect();
    let described: Vec<(&str, &str)> = lists.iter().map(|(list, of)| (&**list, &**of)).collect();
    den.description(&described);
    for (list, of) in &lists {
        let changed = list.replace(".xml", "-changes.xml");
        let changes: Vec<String> = (0..9)
            .map(|n| format!("updated {of}a-page-with-a-long-name-{n} 2026-03-0{}", n + 1))
            .collect();
        let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
        den.capability_list(list, of, &[&changed]);
        den.change_list_of(list, &changed, "from='2026-01-01'", &changes);
    }
    let mut carol = sign_up(&world, "carol");
    let mut page = read(&world, &mut carol, &den).await;
    let mut seen = std::collections::BTreeSet::new();
    for from in [0, 20, 40] {
        if from > 0 {
            let link = format!("?collections={from}#collections\" rel=\"next\"");
            assert!(page.has(&link), "{}", page.text());
            page = carol.open(&format!("{}?collections={from}", den.page("/")));
        }
        assert!(page.text().len() < 50_000, "{} bytes", page.text().len());
        let titles = page.text().split("Follow<span class=\"hidden\"> ").skip(1);
        seen.extend(titles.filter_map(|rest| rest.split_once('<').map(|(t, _)| t.to_owned())));
    }
    assert_eq!(seen.len(), 45, "{seen:?}");
    assert!(!page.has("More collections") && page.has("The collections before"));
    let beyond = carol.open(&format!("{}?collections=99999999999", den.page("/")));
    assert_eq!(beyond.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_is_on_some_page_and_no_page_is_too_long() {
    let world = world().await;
    let den = Den::new();
    let long = "long-".repeat(150);
    let changes: Vec<String> = (0..400)
        .map(|n| {
            format!(
                "updated /{n}/{long}{n} 2026-0{}-{:02}T08:00:00Z",
                n % 3 + 1,
                n % 9 + 1
            )
        })
        .collect();
    let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
    den.change_list("/changelist.xml", "from='2026-01-01'", &changes);
    let mut carol = sign_up(&world, "carol");
    let page = read(&world, &mut carol, &den).await;
    carol.send(&page, "/follow", &[]);
    for start in [den.page("/").as_str(), "/home"] {
        let mut seen = std::collections::BTreeSet::new();
        let mut waiting = vec![start.to_owned()];
        let mut pages = 0;
        while let Some(path) = waiting.pop() {
            let page = carol.open(&path);
            pages += 1;
            assert!(
                page.text().len() < 50_000,
                "{path}: {} bytes",
                page.text().len()
            );
            assert!(pages < 500, "there is an end to it");
            for (_, rest) in page
                .text()
                .match_indices(&format!("/{long}"))
                .map(|(at, _)| (at, &page.text()[at..]))
            {
                let name: String = rest[long.len() + 1..]
                    .chars()
                    .take_while(char::is_ascii_digit)
                    .collect();
                seen.insert(name);
            }
            let follow = page.text().split("href=\"").skip(1).filter_map(|rest| {
                let (href, rest) = rest.split_once('"')?;
                let is_next = rest.starts_with(" class=\"button plain\" rel=\"next\"")
                    || rest.starts_with(">and ");
                let path = href
                    .trim_start_matches("https://bell.example")
                    .replace("&#38;", "&");
                is_next.then_some(path)
            });
            waiting.extend(follow);
        }
        assert_eq!(seen.len(), 400, "{start}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_subscriptions_comes_and_goes_with_its_folders() {
    let world = world().await;
    let den = two_collections();
    let other = Den::named("owl.example");
    let mut carol = sign_up(&world, "carol");
    read(&world, &mut carol, &den).await;
    let part = carol.open(&den.page("/gallery/"));
    carol.send(&part, "/follow", &[("folder", "Art & <Craft>")]);
    look_at(&mut carol, other.url("/").as_str());
    world.scheduler().idle().await;
    let page = carol.open(&other.page("/"));
    carol.send(&page, "/follow", &[]);

    let exported = carol.open("/home/export.opml");
    assert_eq!(
        exported.answer.header("content-type"),
        Some("text/x-opml; charset=utf-8")
    );
    let list = opml::OPML::from_str(exported.text()).unwrap();
    assert_eq!(list.body.outlines.len(), 2);
    let folder = &list.body.outlines[0];
    assert_eq!(folder.text, "Art & <Craft>");
    let feed = folder.outlines[0].xml_url.as_deref();
    let address = format!("https://bell.example{}", den.page("/gallery/feed.atom"));
    assert_eq!(feed, Some(address.as_str()));

    let mut dave = sign_up(&world, "dave");
    let import = dave.open("/home/import");
    let page = send_file(&mut dave, &import, exported.text());
    assert_eq!(page.path, "/home/import");
    until(
        &mut dave,
        "/home/import",
        "You follow 2 subscriptions of the list now.",
    );
    let again = dave.open("/home/export.opml");
    assert_eq!(
        again.text().replace("dave", "carol"),
        exported.text(),
        "what comes out is what went in"
    );
}

/// Chooses a file on the page for imports.
fn send_file(person: &mut Person, page: &Page, file: &str) -> Page {
    let csrf = page.value("csrf");
    let body = format!(
        "--b\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\n{csrf}\r\n--b\r\nContent-Disposition: form-data; \
         name=\"file\"; filename=\"x.opml\"\r\nContent-Type: text/xml\r\n\r\n{file}\r\n--b--\r\n"
    );
    let ask = Ask::new("POST", "/home/import")
        .header("Content-Type", "multipart/form-data; boundary=b")
        .header("Sec-Fetch-Site", "same-origin");
    let answer = person.ask(ask.body(body));
    match answer.status {
        303 => person.open("/home/import"),
        _ => Page {
            path: "/home/import".to_owned(),
            answer,
        },
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_that_cannot_be_used_are_refused_and_lines_that_cannot_are_told() {
    let world = world().await;
    let mut carol = sign_up(&world, "carol");
    let deep = format!("<opml><body>{}", "<outline>".repeat(10_000));
    for (file, sentence) in [
        ("", "There is no file"),
        ("no list", "The file cannot be read"),
        ("<html/>", "not a list of subscriptions"),
        ("<opml><body/></opml>", "The list is empty"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><opml/>", "cannot be read"),
        (&deep, "cannot be read"),
    ] {
        let import = carol.open("/home/import");
        let page = send_file(&mut carol, &import, file);
        assert_eq!(page.status(), 422, "{file:.40}");
        assert!(page.error("file").contains(sentence), "{}", page.text());
    }
    let den = Den::new();
    let list = format!(
        "<opml><body><outline text='Good' htmlUrl='{}'/><outline text='Bad' htmlUrl='javascript:alert(1)'/>
        <outline text='Inside' xmlUrl='http://10.0.0.1/'/></body></opml>",
        den.url("/")
    );
    let import = carol.open("/home/import");
    send_file(&mut carol, &import, &list);
    let page = until(
        &mut carol,
        "/home/import",
        "You follow 1 subscription of the list now.",
    );
    assert!(
        page.has("<bdi>Bad</bdi>") && page.has("<bdi>Inside</bdi>") && !page.has("<bdi>Good</bdi>")
    );
    world.scheduler().idle().await;
    assert!(carol.open("/home").has("The Fox Den"));
    assert_eq!(world.announced(SiteId(1)).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_a_site_wrote_becomes_part_of_a_page() {
    let world = world().await;
    let den = Den::new();
    let evil = "&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt;\"'";
    den.about("/about.xml", "/", evil);
    let changes = [
        "created /<script>alert(3)</script> 2026-03-01".replace('<', "&lt;"),
        "updated /a?\"onmouseover=\"alert(4) 2026-03-02".replace('"', "&quot;"),
        "updated javascript:alert(5) 2026-03-03".to_owned(),
        "deleted /x 2026-03-04T&lt;b&gt;".to_owned(),
    ];
    let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
    den.change_list("/changelist.xml", "from='2026-01-01'", &changes);
    let mut carol = sign_up(&world, "carol");
    let page = read(&world, &mut carol, &den).await;
    carol.send(&page, "/follow", &[("folder", "<i>x</i>")]);
    let report = format!("/check?url={}", den.url("/"));
    until(&mut carol, &report, "What to put right");
    for path in [
        den.page("/").as_str(),
        &den.page("/fox.example/"),
        "/home",
        "/home?q=<script>alert(6)</script>&folder=%3Ci%3E",
        "/home/sites",
        &report,
        "/check?url=<script>alert(7)</script>",
    ] {
        let page = carol.open(&path.replace('<', "%3C").replace('>', "%3E"));
        let text = page.text();
        for part in [
            "<script>",
            "<img src=x",
            "<b>",
            "<i>",
            "\"onmouseover",
            "href=\"javascript",
        ] {
            assert!(!text.contains(part), "{path}: {part} in {text}");
        }
    }
    assert!(carol.open(&den.page("/")).has("&#60;script&#62;alert(1)"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_that_somebody_is_on_is_marked_among_the_links() {
    let world = world().await;
    let mut alice = world.person("alice").await;
    for (path, label) in [
        ("/home", "Timeline"),
        ("/home/sites", "Followed"),
        ("/home/import", "Followed"),
        ("/settings", "Settings"),
        ("/settings/tokens", "Settings"),
    ] {
        let page = alice.open(path);
        assert!(
            page.has(&format!(" aria-current=\"page\">{label}</a>")),
            "{path}"
        );
        assert_eq!(page.text().matches("aria-current").count(), 1, "{path}");
    }
    for (path, label) in [("/sign-in", "Sign in"), ("/check", "For authors")] {
        let page = Person::at(world.address()).open(path);
        assert!(
            page.has(&format!(" aria-current=\"page\">{label}</a>")),
            "{path}"
        );
    }
    assert!(!alice.open("/").has("aria-current"));
    assert!(!alice.open("/settingsx").has("aria-current"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_page_says_where_to_go_from_there() {
    let world = world().await;
    let (mut visitor, mut bob) = (Person::at(world.address()), world.person("bob").await);
    let missing = visitor.open("/sites/none.example/");
    assert_eq!(missing.status(), 404);
    assert!(missing.has("Enter its address on the first page"));
    assert!(missing.has("<a href=\"/\" class=\"button plain\">To the first page</a>"));
    assert!(!missing.has("To your timeline"));
    let forbidden = bob.open("/admin");
    assert_eq!(forbidden.status(), 403);
    assert!(forbidden.has("To the first page") && forbidden.has("To your timeline"));
    assert!(!forbidden.has("Enter its address"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_asks_for_the_style_and_the_script_of_its_own_version() {
    let world = World::in_browser().await;
    let front = Person::at(world.address()).open("/");
    for name in ["style.css", "site.js"] {
        let start = format!("/static/{name}?v=");
        let (_, mark) = front.text().split_once(&start).unwrap();
        let (mark, _) = mark.split_once('"').unwrap();
        let ask = || Ask::get(&format!("{start}{mark}"));
        let file = world.ask(ask());
        assert_eq!(file.status, 200);
        // Another text has another mark.
        let etag = format!("\"{mark}\"");
        assert_eq!(file.header("etag"), Some(etag.as_str()));
        let again = world.ask(ask().header("If-None-Match", &etag));
        assert!(again.status == 304 && again.body.is_empty());
        let changed = world.ask(ask().header("If-None-Match", "\"0123456789abcdef\""));
        assert_eq!(changed.text(), file.text());
    }
}
