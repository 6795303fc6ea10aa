//! The steps of the proposal, "Checking for Updates", one by one.

use crate::den::*;

#[tokio::test]
async fn the_steps_of_the_proposal_are_taken_in_order_and_nothing_is_wrong() {
    let den = Den::new();
    let checked = den.check().await;
    assert_eq!(codes(&checked), [""; 0]);
    assert_eq!(
        told(&checked),
        ["created /a 2026-03-01", "updated /b 2026-03-02T08:00:00Z"]
    );
    assert_eq!(
        den.site.paths(),
        [
            WELL_KNOWN,
            "/capabilitylist.xml",
            "/changelist.xml",
            "/about.xml"
        ]
    );
    assert_eq!(checked.requests, 4);
    assert_eq!(checked.site.root, Some(den.url(WELL_KNOWN)));
    let collection = &checked.collections[0];
    assert_eq!(collection.id, den.url("/"));
    assert_eq!(
        collection.capability_list,
        Some(den.url("/capabilitylist.xml"))
    );
    assert_eq!(collection.change_lists, [den.url("/changelist.xml")]);
    assert_eq!(
        collection.horizon.map(|at| at.to_string()),
        Some("2026-01-01".into())
    );
    assert_eq!(
        collection.last_processed.map(|at| at.to_string()),
        Some("2026-03-02T08:00:00Z".into())
    );
    assert!(collection.is_own);
}

#[tokio::test]
async fn the_bytes_of_all_answers_are_counted() {
    let den = Den::new();
    den.site.serve(
        "/changelist.xml",
        crate::fake_site::Reply::xml("x".repeat(10_000)),
    );
    let checked = den.check().await;
    assert!(
        (10_000..15_000).contains(&checked.bytes),
        "{}",
        checked.bytes
    );
}

#[tokio::test]
async fn each_capability_list_gets_its_own_collection() {
    let den = Den::new();
    den.description(&[("/fox.xml", "/fox/"), ("/owl.xml", "/owl/")]);
    for (name, page) in [("fox", "/fox/1"), ("owl", "/owl/1")] {
        let (list, changes) = (format!("/{name}.xml"), format!("/{name}-changes.xml"));
        den.capability_list(&list, &format!("/{name}/"), &[&changes]);
        let change = format!("updated {page} 2026-03-01");
        den.change_list_of(&list, &changes, "from='2026-01-01'", &[&change]);
    }
    let checked = den.check().await;
    assert_eq!(codes(&checked), [""; 0]);
    assert_eq!(collections(&checked), ["/fox/", "/owl/"]);
    let pages: Vec<_> = (checked.collections.iter())
        .map(|collection| (collection.changes.len(), collection.changes[0].url.as_str()))
        .collect();
    let (fox, owl) = (den.url("/fox/1"), den.url("/owl/1"));
    assert_eq!(pages, [(1, fox.as_str()), (1, owl.as_str())]);
}

#[tokio::test]
async fn a_source_description_index_leads_to_its_source_descriptions() {
    let den = Den::new();
    let children =
        "<sitemap><loc>{den}/sd1.xml</loc></sitemap><sitemap><loc>{den}/sd2.xml</loc></sitemap>";
    den.xml(
        WELL_KNOWN,
        &sitemapindex(&format!("<rs:md capability='description'/>{children}")),
    );
    den.description_at("/sd1.xml", &[("/capabilitylist.xml", "/")]);
    den.description_at("/sd2.xml", &[("/owl.xml", "/owl/")]);
    den.capability_list("/owl.xml", "/owl/", &["/owl-changes.xml"]);
    den.change_list_of(
        "/owl.xml",
        "/owl-changes.xml",
        "from='2026-01-01'",
        &["updated /owl/1 2026-03-03"],
    );
    let checked = den.check().await;
    assert_eq!(codes(&checked), [""; 0], "`up` may lead to the index");
    assert_eq!(collections(&checked), ["/", "/owl/"]);
    assert_eq!(told(&checked).len(), 3);
    assert_eq!(
        den.site.paths()[..4],
        [
            WELL_KNOWN,
            "/sd1.xml",
            "/capabilitylist.xml",
            "/changelist.xml"
        ]
    );
}

#[tokio::test]
async fn a_source_description_index_without_descriptions_is_told() {
    let den = Den::empty();
    den.xml(
        WELL_KNOWN,
        &sitemapindex("<rs:md capability='description'/>"),
    );
    assert_eq!(codes(&den.check().await), ["no-collections"]);
}

#[tokio::test]
async fn dereferencing_a_listed_capability_list_must_give_one() {
    let den = Den::new();
    den.description(&[("/changelist.xml", "/not/"), ("/capabilitylist.xml", "/")]);
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["wrong-capability"]);
    assert_eq!(
        message(&checked, "wrong-capability"),
        "this was listed as a Capability List, but it is a Change List"
    );
    assert_eq!(collections(&checked), ["/"], "the other one is still read");
}

#[tokio::test]
async fn dereferencing_a_listed_change_list_must_give_one() {
    let den = Den::new();
    den.capability_list(
        "/capabilitylist.xml",
        "/",
        &["/capabilitylist.xml", "/changelist.xml"],
    );
    let checked = den.check().await;
    assert_eq!(
        codes(&checked),
        ["several-change-lists", "wrong-capability"]
    );
    assert_eq!(told(&checked).len(), 2);
}

#[tokio::test]
async fn no_change_list_means_no_changes() {
    let den = Den::new();
    den.capability_list("/capabilitylist.xml", "/", &[]);
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["no-change-list"]);
    assert_eq!(collections(&checked), ["/"]);
    assert_eq!(told(&checked), [""; 0]);
    assert_eq!(checked.collections[0].last_processed, None);
}

#[tokio::test]
async fn an_empty_change_list_is_fine() {
    let den = Den::new();
    den.change_list("/changelist.xml", "from='2026-01-01'", &[]);
    let checked = den.check().await;
    assert_eq!(codes(&checked), [""; 0]);
    assert_eq!(checked.collections[0].change_lists.len(), 1);
}

#[tokio::test]
async fn two_change_lists_in_one_capability_list_are_both_read() {
    let den = Den::new();
    den.capability_list("/capabilitylist.xml", "/", &["/one.xml", "/two.xml"]);
    den.change_list(
        "/one.xml",
        "from='2026-02-01'",
        &["updated /one 2026-02-02"],
    );
    den.change_list(
        "/two.xml",
        "from='2026-01-01'",
        &["updated /two 2026-01-02"],
    );
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["several-change-lists"]);
    assert_eq!(
        told(&checked),
        ["updated /two 2026-01-02", "updated /one 2026-02-02"]
    );
    assert_eq!(
        checked.collections[0].horizon.map(|at| at.to_string()),
        Some("2026-01-01".into()),
        "the horizon is that of the list that reaches back further"
    );
}

#[tokio::test]
async fn other_entries_of_a_capability_list_are_left_alone() {
    let den = Den::new();
    den.xml(
        "/capabilitylist.xml",
        &urlset(
            "<rs:ln rel='up' href='{den}/.well-known/resourcesync'/><rs:ln rel='describes' href='{den}/'/>
            <rs:ln rel='describedby' href='{den}/about.xml'/><rs:md capability='capabilitylist'/>
            <url><loc>{den}/resourcelist.xml</loc><rs:md capability='resourcelist'/></url>
            <url><loc>{den}/changelist.xml</loc><rs:md capability='changelist'/></url>
            <url><loc>{den}/dump.zip</loc><rs:md capability='changedump'/></url>",
        ),
    );
    let checked = den.check().await;
    assert_eq!(codes(&checked), [""; 0]);
    assert_eq!(told(&checked).len(), 2);
    assert!(!den.site.paths().contains(&"/resourcelist.xml".to_owned()));
}

#[tokio::test]
async fn only_changes_after_the_last_processing_are_collected() {
    let den = Den::new();
    let changes = [
        "updated /before 2026-03-01T09:59:59Z",
        "updated /at 2026-03-01T10:00:00Z",
        "updated /after 2026-03-01T10:00:01Z",
        "updated /zone 2026-03-01T10:30:00+01:00",
    ];
    den.change_list("/changelist.xml", "from='2026-01-01'", &changes);
    let checked = den.check_since("2026-03-01T10:00:00Z").await;
    assert_eq!(told(&checked), ["updated /after 2026-03-01T10:00:01Z"]);
}

#[tokio::test]
async fn a_date_without_a_time_has_the_benefit_of_the_doubt() {
    let den = Den::new();
    let changes = [
        "updated /yesterday 2026-02-28",
        "updated /today 2026-03-01",
        "updated /tomorrow 2026-03-02",
    ];
    den.change_list("/changelist.xml", "from='2026-01-01'", &changes);
    let checked = den.check_since("2026-03-01T23:00:00Z").await;
    assert_eq!(
        told(&checked),
        ["updated /today 2026-03-01", "updated /tomorrow 2026-03-02"]
    );
    let checked = den.check_since("2026-03-01").await;
    assert_eq!(
        told(&checked),
        ["updated /today 2026-03-01", "updated /tomorrow 2026-03-02"],
        "a date is not after itself for sure, nor surely not"
    );
}

#[tokio::test]
async fn entries_without_datetime_are_ignored() {
    let den = Den::new();
    let list = "<rs:ln rel='up' href='{den}/capabilitylist.xml'/><rs:md capability='changelist' from='2026-01-01'/>
        <url><loc>{den}/without</loc><lastmod>2026-03-01</lastmod><rs:md change='updated'/></url>
        <url><loc>{den}/with</loc><rs:md change='updated' datetime='2026-03-02'/></url>";
    den.xml("/changelist.xml", &urlset(list));
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["no-datetime"]);
    assert_eq!(told(&checked), ["updated /with 2026-03-02"]);
    let checked = den
        .check_with(|settings| settings.accept_lastmod = true)
        .await;
    assert_eq!(codes(&checked), ["lastmod-accepted"]);
    assert_eq!(
        told(&checked),
        ["updated /without 2026-03-01", "updated /with 2026-03-02"]
    );
}

#[tokio::test]
async fn a_list_that_is_newest_first_comes_out_oldest_first_with_equal_times_turned_round() {
    let den = Den::new();
    let newest_first = [
        "deleted /a 2026-03-03",
        "updated /a 2026-03-02",
        "created /a 2026-03-02",
        "created /b 2026-03-01",
    ];
    den.change_list("/changelist.xml", "from='2026-01-01'", &newest_first);
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["not-oldest-first"]);
    assert_eq!(
        told(&checked),
        [
            "created /b 2026-03-01",
            "created /a 2026-03-02",
            "updated /a 2026-03-02",
            "deleted /a 2026-03-03"
        ]
    );
}

#[tokio::test]
async fn equal_times_keep_the_order_of_a_good_list() {
    let den = Den::new();
    let changes = [
        "created /b 2026-03-02",
        "created /a 2026-03-02",
        "deleted /b 2026-03-02",
    ];
    den.change_list("/changelist.xml", "from='2026-01-01'", &changes);
    assert_eq!(told(&den.check().await), changes);
}

#[tokio::test]
async fn the_same_change_twice_in_one_list_happened_twice() {
    let den = Den::new();
    let changes = ["updated /a 2026-03-02", "updated /a 2026-03-02"];
    den.change_list("/changelist.xml", "from='2026-01-01'", &changes);
    assert_eq!(told(&den.check().await), changes);
}

#[tokio::test]
async fn a_change_in_the_future_is_told_and_does_not_move_the_last_processed_datetime() {
    let den = Den::new();
    let changes = ["updated /a 2026-03-09", "updated /b 2999-01-01"];
    den.change_list("/changelist.xml", "from='2026-01-01'", &changes);
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["future-datetime"]);
    assert_eq!(told(&checked), changes);
    assert_eq!(
        checked.collections[0]
            .last_processed
            .map(|at| at.to_string()),
        Some("2026-03-09".into())
    );
}

#[tokio::test]
async fn today_and_a_clock_a_minute_ahead_are_not_the_future() {
    let den = Den::new();
    let changes = ["updated /a 2026-03-10T12:01:00Z", "updated /b 2026-03-10"];
    den.change_list("/changelist.xml", "from='2026-01-01'", &changes[..1]);
    assert_eq!(codes(&den.check().await), [""; 0]);
    den.change_list("/changelist.xml", "from='2026-01-01'", &changes[1..]);
    assert_eq!(codes(&den.check().await), [""; 0]);
}
