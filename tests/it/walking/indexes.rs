//! Lists of lists: which are read, which are skipped, and what goes round in circles.

use crate::den::*;

/// January is closed, February is closed, March is open.
fn den_with_months() -> Den {
    let den = Den::new();
    let spans = [
        "from='2026-01-01' until='2026-02-01T00:00:00Z'",
        "from='2026-02-01' until='2026-03-01T00:00:00Z'",
        "from='2026-03-01'",
    ];
    let lists = ["/january.xml", "/february.xml", "/march.xml"];
    let children: Vec<_> = lists.into_iter().zip(spans).collect();
    den.index("/changelist.xml", "from='2026-01-01'", &children);
    for (month, (list, span)) in children.iter().enumerate() {
        let change = format!("updated /page 2026-0{}-05T08:00:00Z", month + 1);
        den.change_list(list, span, &[&change]);
    }
    den
}

fn lists_read(den: &Den) -> Vec<String> {
    let mut paths = den.site.paths();
    paths.retain(|path| !["/about.xml", "/capabilitylist.xml", WELL_KNOWN].contains(&&path[..]));
    paths
}

#[tokio::test]
async fn a_change_list_index_leads_to_its_open_and_closed_lists() {
    let den = den_with_months();
    let checked = den.check().await;
    assert_eq!(codes(&checked), [""; 0]);
    assert_eq!(told(&checked).len(), 3);
    let months = ["/january.xml", "/february.xml", "/march.xml"];
    assert_eq!(
        checked.collections[0].change_lists,
        months.map(|list| den.url(list)),
        "the index itself is not among the lists"
    );
}

#[tokio::test]
async fn change_lists_closed_before_the_last_processing_are_skipped() {
    let den = den_with_months();
    let checked = den.check_since("2026-02-10T00:00:00Z").await;
    assert_eq!(
        lists_read(&den),
        ["/changelist.xml", "/february.xml", "/march.xml"]
    );
    assert_eq!(told(&checked), ["updated /page 2026-03-05T08:00:00Z"]);
    assert_eq!(codes(&checked), [""; 0]);
}

#[tokio::test]
async fn a_list_that_closed_at_the_very_time_of_the_last_processing_is_read() {
    let den = den_with_months();
    den.check_since("2026-02-01T00:00:00Z").await;
    assert!(lists_read(&den).contains(&"/january.xml".to_owned()));
    den.site.forget_requests();
    den.check_since("2026-02-01T00:00:01Z").await;
    assert!(!lists_read(&den).contains(&"/january.xml".to_owned()));
}

#[tokio::test]
async fn a_list_that_closed_on_a_date_is_skipped_only_when_that_day_is_over_everywhere() {
    let den = den_with_months();
    let closed = "from='2026-01-01' until='2026-01-31'";
    den.index(
        "/changelist.xml",
        "from='2026-01-01'",
        &[("/january.xml", closed)],
    );
    for (since, is_read) in [
        ("2026-02-01T11:59:00Z", true),
        ("2026-02-01T12:01:00Z", false),
        ("2026-02-02", true),
        ("2026-02-03", false),
    ] {
        den.site.forget_requests();
        den.check_since(since).await;
        assert_eq!(
            lists_read(&den).contains(&"/january.xml".to_owned()),
            is_read,
            "{since}"
        );
    }
}

#[tokio::test]
async fn a_list_that_the_capability_list_names_is_read_even_if_it_is_closed() {
    let den = Den::new();
    let span = "from='2026-01-01' until='2026-02-01'";
    den.change_list("/changelist.xml", span, &["updated /a 2026-01-02"]);
    den.check_since("2026-03-01").await;
    assert_eq!(lists_read(&den), ["/changelist.xml"]);
}

#[tokio::test]
async fn a_change_on_the_boundary_of_two_lists_is_told_once() {
    let den = den_with_months();
    let boundary = "updated /page 2026-02-01T00:00:00Z";
    den.change_list(
        "/january.xml",
        "from='2026-01-01' until='2026-02-01T00:00:00Z'",
        &["created /page 2026-01-05", boundary],
    );
    den.change_list(
        "/february.xml",
        "from='2026-02-01' until='2026-03-01T00:00:00Z'",
        &[boundary, boundary, "deleted /page 2026-02-03"],
    );
    den.change_list("/march.xml", "from='2026-03-01'", &[]);
    assert_eq!(
        told(&den.check().await),
        [
            "created /page 2026-01-05",
            boundary,
            boundary,
            "deleted /page 2026-02-03"
        ],
        "as often as the list says that tells it most often"
    );
}

#[tokio::test]
async fn a_child_that_is_listed_twice_is_read_once() {
    let den = den_with_months();
    let open = "from='2026-03-01'";
    den.index(
        "/changelist.xml",
        open,
        &[("/march.xml", open), ("/march.xml", open)],
    );
    let checked = den.check().await;
    assert_eq!(told(&checked).len(), 1);
    assert_eq!(lists_read(&den), ["/changelist.xml", "/march.xml"]);
}

#[tokio::test]
async fn two_addresses_of_one_list_tell_it_once() {
    let den = den_with_months();
    let open = "from='2026-03-01'";
    den.site.serve(
        "/newest.xml",
        crate::fake_site::Reply::redirect(302, "/march.xml"),
    );
    den.index(
        "/changelist.xml",
        open,
        &[("/newest.xml", open), ("/march.xml", open)],
    );
    let checked = den.check().await;
    assert_eq!(told(&checked).len(), 1);
    assert_eq!(checked.collections[0].change_lists, [den.url("/march.xml")]);
}

#[tokio::test]
async fn an_index_inside_an_index_is_not_read() {
    let den = den_with_months();
    let span = "from='2026-01-01'";
    den.index(
        "/inner.xml",
        span,
        &[("/january.xml", "from='2026-01-01' until='2026-02-01'")],
    );
    den.index(
        "/changelist.xml",
        span,
        &[("/inner.xml", span), ("/march.xml", "from='2026-03-01'")],
    );
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["nested-index"]);
    assert_eq!(told(&checked).len(), 1);
    assert!(!lists_read(&den).contains(&"/january.xml".to_owned()));
}

#[tokio::test]
async fn an_index_that_lists_itself_ends() {
    let den = den_with_months();
    let span = "from='2026-01-01'";
    den.index(
        "/changelist.xml",
        span,
        &[
            ("/changelist.xml", span),
            ("/march.xml", "from='2026-03-01'"),
        ],
    );
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["nested-index"]);
    assert_eq!(told(&checked).len(), 1);
    assert_eq!(lists_read(&den), ["/changelist.xml", "/march.xml"]);
}

#[tokio::test]
async fn two_indexes_that_list_each_other_end() {
    let den = Den::new();
    let span = "from='2026-01-01'";
    den.index("/changelist.xml", span, &[("/other.xml", span)]);
    den.index("/other.xml", span, &[("/changelist.xml", span)]);
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["nested-index"]);
    assert_eq!(lists_read(&den), ["/changelist.xml", "/other.xml"]);
}

#[tokio::test]
async fn a_source_description_index_that_lists_itself_ends() {
    let den = Den::empty();
    den.xml(
        WELL_KNOWN,
        &sitemapindex(
            "<rs:md capability='description'/><sitemap><loc>{den}/.well-known/resourcesync</loc></sitemap>",
        ),
    );
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["nested-index"]);
    assert_eq!(den.site.requests_to(WELL_KNOWN).len(), 1);
}

/// An index as POD and WEKO3 wrote it.
fn disguised_index(children: &[&str]) -> String {
    let entry = |list: &&str| {
        format!(
            "<url><loc>{{den}}{list}</loc><rs:md capability='changelist' from='2026-01-01'/></url>"
        )
    };
    let entries: String = children.iter().map(entry).collect();
    urlset(&format!(
        "<rs:ln rel='up' href='{{den}}/capabilitylist.xml'/><rs:md capability='changelist' from='2026-01-01'/>{entries}"
    ))
}

#[tokio::test]
async fn an_index_that_is_written_as_a_list_is_read_as_an_index() {
    let den = den_with_months();
    den.xml(
        "/changelist.xml",
        &disguised_index(&["/january.xml", "/march.xml"]),
    );
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["index-as-urlset"]);
    assert_eq!(told(&checked).len(), 2, "and none of them is a page");
    assert_eq!(
        checked.collections[0].change_lists,
        [den.url("/january.xml"), den.url("/march.xml")]
    );
}

#[tokio::test]
async fn a_disguised_index_inside_another_is_told_as_one() {
    let den = den_with_months();
    den.xml(
        "/changelist.xml",
        &disguised_index(&["/inner.xml", "/changelist.xml"]),
    );
    den.xml("/inner.xml", &disguised_index(&["/january.xml"]));
    let checked = den.check().await;
    assert_eq!(
        codes(&checked),
        ["index-as-urlset", "index-as-urlset", "nested-index"]
    );
    assert_eq!(lists_read(&den), ["/changelist.xml", "/inner.xml"]);
}

#[tokio::test]
async fn a_list_that_the_index_calls_closed_and_that_is_open_is_told() {
    let den = den_with_months();
    den.change_list("/january.xml", "from='2026-01-01'", &[]);
    den.change_list("/march.xml", "from='2026-03-01' until='2026-03-09'", &[]);
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["index-until-mismatch"]);
    assert_eq!(checked.problems[0].count, 2);
}

#[tokio::test]
async fn a_child_of_an_index_that_is_no_change_list_costs_only_itself() {
    let den = den_with_months();
    den.description_at("/february.xml", &[("/capabilitylist.xml", "/")]);
    let checked = den.check().await;
    assert_eq!(codes(&checked), ["wrong-capability"]);
    assert_eq!(told(&checked).len(), 2);
}

#[tokio::test]
async fn a_large_change_list_without_an_index_gets_advice() {
    let den = Den::new();
    let large = ["updated /a 2026-03-02"; 1_001];
    den.change_list("/changelist.xml", "from='2026-01-01'", &large[1..]);
    assert_eq!(codes(&den.check().await), [""; 0]);
    den.change_list("/changelist.xml", "from='2026-01-01'", &large);
    assert_eq!(codes(&den.check().await), ["large-change-list"]);
    den.change_list("/large.xml", "from='2026-01-01'", &large);
    let children = [("/large.xml", "from='2026-01-01'")];
    den.index("/changelist.xml", "from='2026-01-01'", &children);
    assert_eq!(codes(&den.check().await), [""; 0]);
}
