//! How much one check takes, whatever a site offers.

use std::time::Duration;

use crate::den::*;
use crate::fake_site::Reply;

/// An index over so many lists of one change each.
fn den_with_lists(count: usize) -> Den {
    let den = Den::new();
    let paths: Vec<String> = (0..count).map(|number| format!("/{number}.xml")).collect();
    let children: Vec<_> = (paths.iter())
        .map(|path| (path.as_str(), "from='2026-01-01'"))
        .collect();
    den.index("/changelist.xml", "from='2026-01-01'", &children);
    for path in &paths {
        den.change_list(
            path,
            "from='2026-01-01'",
            &[&format!("updated {path} 2026-03-01")],
        );
    }
    den
}

#[tokio::test]
async fn an_index_with_a_thousand_lists_is_read_as_far_as_allowed_and_told_once() {
    let den = den_with_lists(1_000);
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["limit-reached"]);
    assert_eq!(told(&checked).len(), 97);
    assert_eq!(checked.problems[0].count, 903);
    // The newest lists are read first, because they matter most.
    let said = format!(
        "{} was left unread: a check reads 100 documents at most",
        den.url("/902.xml")
    );
    assert_eq!(message(&checked, "limit-reached"), said);
    assert_eq!(
        checked.problems[0].document,
        den.url("/changelist.xml").as_str()
    );
    assert_eq!(den.site.paths().len(), 101, "and the description");
}

#[tokio::test]
async fn only_so_many_changes_are_taken_in_and_every_list_is_whole() {
    let den = den_with_lists(5);
    den.change_list(
        "/1.xml",
        "from='2026-01-01'",
        &["updated /x 2026-03-01", "updated /y 2026-03-01"],
    );
    let checked = den.check_with(|settings| settings.limits.changes = 2).await;
    assert_eq!(codes(&checked), ["limit-reached"]);
    assert_eq!(told(&checked).len(), 3);
    assert_eq!(checked.problems[0].count, 3);
}

#[tokio::test]
async fn changes_that_are_not_kept_do_not_count() {
    let den = den_with_lists(5);
    let checked = den
        .check_with(|settings| {
            settings.limits.changes = 2;
            settings.since = Some("2026-03-05".parse().unwrap());
        })
        .await;
    assert_eq!(codes(&checked), [""; 0]);
}

#[tokio::test]
async fn only_a_few_documents_of_other_sites_are_read() {
    let (den, victim) = (Den::new(), Den::empty());
    let lists: Vec<_> = (0..30)
        .map(|number| victim.site.url_as("owl.example", &format!("/{number}.xml")))
        .collect();
    let mut children: Vec<_> = (lists.iter())
        .map(|url| (url.as_str(), "from='2026-01-01'"))
        .collect();
    children.push(("/own.xml", "from='2026-01-01'"));
    den.index("/changelist.xml", "from='2026-01-01'", &children);
    den.change_list("/own.xml", "from='2026-01-01'", &["updated /a 2026-03-01"]);
    let checked = den
        .check_with(|settings| settings.limits.foreign_documents = 5)
        .await;
    assert_eq!(victim.site.requests().len(), 5);
    let limit = (checked.problems.iter())
        .find(|problem| problem.code.name() == "limit-reached")
        .unwrap();
    assert_eq!(limit.count, 25);
    assert_eq!(told(&checked).len(), 1, "the site's own are read");
}

#[tokio::test]
async fn only_so_many_collections_are_read() {
    let den = Den::new();
    let lists: Vec<_> = (0..10)
        .map(|number| (format!("/{number}.xml"), format!("/{number}/")))
        .collect();
    let listed: Vec<_> = (lists.iter())
        .map(|(list, describes)| (list.as_str(), describes.as_str()))
        .collect();
    den.description(&listed);
    for (list, describes) in &listed {
        den.capability_list(list, describes, &[]);
    }
    let checked = den
        .check_with(|settings| settings.limits.collections = 3)
        .await;
    assert_eq!(collections(&checked), ["/0/", "/1/", "/2/"]);
    let limit = (checked.problems.iter())
        .find(|problem| problem.code.name() == "limit-reached")
        .unwrap();
    assert_eq!(limit.count, 7);
    assert!(!den.site.paths().contains(&"/3.xml".to_owned()));
}

#[tokio::test]
async fn an_endless_document_ends_with_the_bytes_of_the_check() {
    let den = den_with_lists(3);
    den.site.serve(
        "/0.xml",
        Reply::xml("<!-- and so on and so on -->".repeat(50)).endless(),
    );
    let checked = den
        .check_with(|settings| settings.limits.bytes = 500_000)
        .await;
    assert_eq!(codes(&checked), ["limit-reached"; 2]);
    assert!(
        (500_000..700_000).contains(&checked.bytes),
        "{}",
        checked.bytes
    );
    assert_eq!(told(&checked), [""; 0]);
    let unread: Vec<_> = checked
        .problems
        .iter()
        .map(|problem| problem.count)
        .collect();
    assert_eq!(unread, [3, 1], "three lists, and one description");
    assert!(!den.site.paths().contains(&"/1.xml".to_owned()));
    assert!(!den.site.paths().contains(&"/about.xml".to_owned()));
}

#[tokio::test]
async fn the_bytes_of_broken_documents_count_too() {
    let den = den_with_lists(50);
    for number in 0..50 {
        let body = Reply::xml("<!-- -->".repeat(10_000)).cut_after(50_000);
        den.site.serve(&format!("/{number}.xml"), body);
    }
    let checked = den
        .check_with(|settings| settings.limits.bytes = 200_000)
        .await;
    assert!(checked.bytes < 300_000, "{}", checked.bytes);
    assert!(!den.site.paths().contains(&"/10.xml".to_owned()));
}

#[tokio::test]
async fn a_root_document_that_never_ends_ends_with_the_time_of_the_check() {
    for reply in [
        Reply::silence(),
        Reply::xml("<!-- and so on -->").endless(),
        Reply::xml("<urlset>").stall_after(3),
    ] {
        let den = Den::new();
        den.site.serve(WELL_KNOWN, reply);
        let checked = den
            .check_with(|settings| settings.limits.time = Duration::from_millis(50))
            .await;
        assert!(codes(&checked).contains(&"limit-reached"));
        assert!(
            !codes(&checked).contains(&"not-found"),
            "who did not look does not know"
        );
        assert!(checked.collections.is_empty());
    }
}

#[tokio::test]
async fn a_check_without_time_asks_for_nothing() {
    let den = Den::new();
    let checked = den
        .check_with(|settings| settings.limits.time = Duration::ZERO)
        .await;
    assert_eq!(checked.requests, 0);
    assert!(codes(&checked).contains(&"limit-reached"));
    den.site.assert_untouched();
}

#[tokio::test]
async fn a_generator_of_ever_new_lists_is_not_followed() {
    let den = Den::new();
    let next = |number: usize, root: &str, inside: &str| {
        inside.replace("{den}", root).replace(
            "{next}",
            &format!("<loc>{root}/changelist.xml?{}</loc>", number + 1),
        )
    };
    let root = den.filled("{den}");
    let md = "<rs:ln rel='up' href='{den}/capabilitylist.xml'/><rs:md capability='changelist' from='2026-01-01'/>";
    for inside in [
        sitemapindex(&format!(
            "{md}<sitemap>{{next}}<rs:md from='2026-01-01'/></sitemap>"
        )),
        urlset(&format!(
            "{md}<url>{{next}}<rs:md capability='changelist' from='2026-01-01'/></url>"
        )),
    ] {
        let root = root.clone();
        den.site.forget_requests();
        den.site.serve_with("/changelist.xml", move |seen| {
            let number = seen
                .path
                .split_once('?')
                .map_or(0, |(_, n)| n.parse().unwrap());
            Reply::xml(next(number, &root, &inside))
        });
        let checked = den.check().await;
        assert!(codes(&checked).contains(&"nested-index"));
        assert_eq!(den.site.requests_to("/changelist.xml").len(), 2);
    }
}

#[tokio::test]
async fn a_generator_of_ever_higher_documents_is_not_climbed() {
    let den = Den::empty();
    let root = den.filled("{den}");
    den.site.serve_with("/list.xml", move |seen| {
        let number: usize = seen
            .path
            .split_once('?')
            .map_or(0, |(_, n)| n.parse().unwrap());
        let up = format!("{root}/list.xml?{}", number + 1);
        Reply::xml(urlset(&format!(
            "<rs:ln rel='up' href='{up}'/><rs:md capability='capabilitylist'/>"
        )))
    });
    den.check_typed("/list.xml").await;
    assert!(den.site.requests_to("/list.xml").len() <= 4);
}
