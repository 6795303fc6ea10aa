//! Sections that break and are mended: what is new in them meanwhile is told by the plain sitemap, and told once.

use super::offering::{Offering, Told, told};

const A: &str = "/a 2026-03-01";
const B: &str = "/b 2026-03-02";
const ABOUT: &str = "/about";

/// The collection of the plain entries.
const PLAIN: &str = "no.section";

/// A blog that is followed, and breaks; the next check is the first after which the plain entries count.
async fn broken(sections: &[(&'static str, &[&str])], plain: &[&str]) -> Offering {
    let mut offering = Offering::new(sections).await;
    offering.plain(plain);
    offering.check().await;
    break_blog(&mut offering).await;
    offering
}

async fn break_blog(offering: &mut Offering) {
    offering.break_section("blog");
    for _ in 0..3 {
        assert_eq!(offering.check().await, told(&[]));
    }
}

/// What the plain entries tell, and with them the site.
fn by_plain(lines: &[&str]) -> Told {
    told(&[(PLAIN, lines), ("site", lines)])
}

#[tokio::test]
async fn pages_that_are_new_while_a_section_is_broken_are_told_by_the_plain_entries() {
    let mut offering = broken(&[("blog", &[A, B])], &[A, B, ABOUT]).await;
    // What changed since the section was last read is new; what was there before is not.
    offering.plain(&[A, B, ABOUT, "/late 2026-03-13", "/old 2026-03-05"]);
    let expected = by_plain(&["created /late 2026-03-13"]);
    assert_eq!(offering.check().await, expected);
    let plain = [A, B, ABOUT, "/late 2026-03-13", "/old 2026-03-05"];
    offering.plain(&[&plain[..], &["/new 2026-03-16", "/dateless"]].concat());
    let lines = [
        "created /dateless 2026-03-16T12:00:00Z",
        "created /new 2026-03-16",
    ];
    assert_eq!(offering.check().await, by_plain(&lines));
    assert_eq!(offering.check().await, told(&[]));
    // An edit of a page that the section knows is told there.
    let edited = "/b 2026-03-18";
    offering.plain(&[A, edited, ABOUT, "/late 2026-03-18", "/old 2026-03-05"]);
    let line = "updated /b 2026-03-18";
    let own = "updated /late 2026-03-18";
    let expected = told(&[("blog", &[line]), (PLAIN, &[own]), ("site", &[line, own])]);
    assert_eq!(offering.check().await, expected);
}

#[tokio::test]
async fn what_the_plain_entries_told_is_not_told_again_for_the_site_when_the_section_is_mended() {
    let mut offering = broken(&[("blog", &[A, B])], &[A, B, ABOUT]).await;
    let plain = [A, B, ABOUT, "/late 2026-03-13"];
    offering.plain(&plain);
    offering.check().await;
    offering.plain(&[&plain[..], &["/dateless"]].concat());
    offering.check().await;
    offering.mend("blog");
    let late = "/late 2026-03-13T10:00:00Z";
    let dateless = "/dateless 2026-03-16T08:00:00Z";
    let unheard = "/unheard 2026-03-16T09:00:00Z";
    // A page that was there all the time was told nowhere, and is new to the section.
    offering.section(
        "blog",
        &[A, B, late, dateless, unheard, "/about 2026-03-01"],
    );
    let (about, new) = (
        "created /about 2026-03-01",
        "created /unheard 2026-03-16T09:00:00Z",
    );
    let blog = [
        about,
        "created /dateless 2026-03-16T08:00:00Z",
        "created /late 2026-03-13T10:00:00Z",
        new,
    ];
    let expected = told(&[("blog", &blog), ("site", &[about, new])]);
    assert_eq!(offering.check().await, expected);
    // From now on nobody reads the plain entries, so nothing in them comes or goes.
    offering.plain(&["/other"]);
    for _ in 0..4 {
        assert_eq!(offering.check().await, told(&[]));
    }
    // A page of the section that goes is gone.
    offering.section("blog", &[A, B, late, unheard, "/about 2026-03-01"]);
    assert_eq!(offering.check().await, told(&[]));
    let gone = "deleted /dateless 2026-03-23T00:00:00Z";
    let expected = told(&[("blog", &[gone]), ("site", &[gone])]);
    assert_eq!(offering.check().await, expected);
    // And is new when it comes back as it was.
    offering.section(
        "blog",
        &[A, B, late, dateless, unheard, "/about 2026-03-01"],
    );
    let back = "created /dateless 2026-03-16T08:00:00Z";
    let expected = told(&[("blog", &[back]), ("site", &[back])]);
    assert_eq!(offering.check().await, expected);
}

#[tokio::test]
async fn a_section_that_breaks_again_leaves_the_plain_entries_where_they_were() {
    let mut offering = broken(&[("blog", &[A, B])], &[A, B, ABOUT, "/brief"]).await;
    assert_eq!(offering.check().await, told(&[]));
    offering.mend("blog");
    let post = "/post 2026-03-16T08:00:00Z";
    offering.section("blog", &[A, B, post]);
    let line = ["created /post 2026-03-16T08:00:00Z"];
    let expected = told(&[("blog", &line), ("site", &line)]);
    assert_eq!(offering.check().await, expected);
    offering.plain(&[A, B, ABOUT, "/brief", post, "/between"]);
    break_blog(&mut offering).await;
    let expected = by_plain(&["created /between 2026-03-20T12:00:00Z"]);
    assert_eq!(offering.check().await, expected);
    // Now that they are read every time, a page of no section can be seen to go.
    offering.plain(&[A, B, ABOUT, post, "/between"]);
    assert_eq!(offering.check().await, told(&[]));
    let expected = by_plain(&["deleted /brief 2026-03-22T12:00:00Z"]);
    assert_eq!(offering.check().await, expected);
}

#[tokio::test]
async fn a_page_of_no_section_is_not_gone_because_its_list_was_not_read() {
    let mut offering = broken(&[("blog", &[A, B])], &[A, B, ABOUT, "/brief"]).await;
    offering.check().await;
    offering.mend("blog");
    assert_eq!(offering.check().await, told(&[]));
    // It leaves the list for as long as nobody reads that.
    offering.plain(&[A, B]);
    for _ in 0..5 {
        assert_eq!(offering.check().await, told(&[]));
    }
    offering.plain(&[A, B, ABOUT, "/brief"]);
    break_blog(&mut offering).await;
    for _ in 0..3 {
        assert_eq!(offering.check().await, told(&[]));
    }
}

#[tokio::test]
async fn pages_of_sections_that_can_be_read_are_theirs_to_tell() {
    let sections: [(&'static str, &[&str]); 2] = [("blog", &[A]), ("news", &[B])];
    let mut offering = broken(&sections, &[A, B, ABOUT]).await;
    assert_eq!(offering.check().await, told(&[]));
    // The news are told of their pages when they say so, and not by another list that says so first.
    offering.plain(&[A, "/b 2026-03-16", ABOUT]);
    assert_eq!(offering.check().await, told(&[]));
    offering.section("news", &["/b 2026-03-16T08:00:00Z"]);
    let line = ["updated /b 2026-03-16T08:00:00Z"];
    let expected = told(&[("news", &line), ("site", &line)]);
    assert_eq!(offering.check().await, expected);
    // A page that they do not have yet may be of the section that cannot be read, and is told once.
    let new = "/new 2026-03-17";
    offering.plain(&[A, "/b 2026-03-16", ABOUT, new]);
    let expected = by_plain(&["created /new 2026-03-17"]);
    assert_eq!(offering.check().await, expected);
    offering.section(
        "news",
        &["/b 2026-03-16T08:00:00Z", "/new 2026-03-17T08:00:00Z"],
    );
    let expected = told(&[("news", &["created /new 2026-03-17T08:00:00Z"])]);
    assert_eq!(offering.check().await, expected);
    // And is theirs from then on.
    let edited = "/new 2026-03-20";
    offering.plain(&[A, "/b 2026-03-16", ABOUT, edited]);
    assert_eq!(offering.check().await, told(&[]));
    offering.section(
        "news",
        &["/b 2026-03-16T08:00:00Z", "/new 2026-03-20T08:00:00Z"],
    );
    let line = ["updated /new 2026-03-20T08:00:00Z"];
    let expected = told(&[("news", &line), ("site", &line)]);
    assert_eq!(offering.check().await, expected);
}

#[tokio::test]
async fn a_page_that_moves_into_a_broken_section_is_not_gone() {
    let sections: [(&'static str, &[&str]); 2] = [("blog", &[A]), ("news", &[A, B])];
    let mut offering = broken(&sections, &[A, B]).await;
    assert_eq!(offering.check().await, told(&[]));
    offering.section("news", &[A]);
    assert_eq!(offering.check().await, told(&[]));
    let expected = told(&[("news", &["deleted /b 2026-03-17T00:00:00Z"])]);
    assert_eq!(offering.check().await, expected);
    assert_eq!(offering.check().await, told(&[]));
    // It is when it leaves the plain entries, too.
    offering.plain(&[A]);
    assert_eq!(offering.check().await, told(&[]));
    let expected = by_plain(&["deleted /b 2026-03-20T12:00:00Z"]);
    assert_eq!(offering.check().await, expected);
}

#[tokio::test]
async fn plain_entries_that_are_dated_by_their_build_announce_no_old_pages() {
    let plain = ["/a", "/b", "/c", "/d", "/e"].map(|page| format!("{page} 2026-03-14"));
    let plain = plain.each_ref().map(String::as_str);
    let mut offering = broken(&[("blog", &[A, B])], &plain).await;
    assert_eq!(offering.check().await, told(&[]));
    let plain = ["/a", "/b", "/c", "/d", "/e", "/new"].map(|page| format!("{page} 2026-03-16"));
    offering.plain(&plain.each_ref().map(String::as_str));
    let expected = by_plain(&["created /new 2026-03-16"]);
    assert_eq!(offering.check().await, expected);
}

#[tokio::test]
async fn a_sitemap_of_nothing_but_sections_begins_no_other_collection() {
    let mut offering = broken(&[("blog", &[A, B])], &[]).await;
    assert_eq!(offering.check().await, told(&[]));
    assert_eq!(offering.follower.row().await.collections.len(), 1);
    offering.plain(&["/new 2026-03-16"]);
    let expected = by_plain(&["created /new 2026-03-16"]);
    assert_eq!(offering.check().await, expected);
    let row = offering.follower.row().await;
    let title = &row.collections[1].title;
    assert!(title.starts_with("Pages of no section ("), "{title}");
}

#[tokio::test]
async fn a_page_that_the_plain_entries_alone_still_have_goes_on_being_told_of() {
    let sections: [(&'static str, &[&str]); 2] = [("blog", &[A]), ("news", &[A, B])];
    let mut offering = broken(&sections, &[A, B]).await;
    assert_eq!(offering.check().await, told(&[]));
    offering.section("news", &[A]);
    offering.check().await;
    // Its last edit was not the section's to tell any more.
    let edited = "/b 2026-03-17T09:00:00Z";
    offering.plain(&[A, edited]);
    let gone = told(&[("news", &["deleted /b 2026-03-17T00:00:00Z"])]);
    assert_eq!(offering.check().await, gone);
    let expected = by_plain(&["updated /b 2026-03-17T09:00:00Z"]);
    assert_eq!(offering.check().await, expected);
    // The section that it moved to has nothing to add.
    offering.mend("blog");
    offering.section("blog", &[A, edited]);
    let expected = told(&[("blog", &["created /b 2026-03-17T09:00:00Z"])]);
    assert_eq!(offering.check().await, expected);
}

#[tokio::test]
async fn a_page_that_goes_just_when_the_section_is_mended_is_gone() {
    let mut offering = broken(&[("blog", &[A, B])], &[A, B, ABOUT]).await;
    offering.plain(&[A, B, ABOUT, "/new 2026-03-14"]);
    let expected = by_plain(&["created /new 2026-03-14"]);
    assert_eq!(offering.check().await, expected);
    offering.mend("blog");
    offering.plain(&[A, B, ABOUT]);
    assert_eq!(offering.check().await, told(&[]));
    let expected = by_plain(&["deleted /new 2026-03-17T12:00:00Z"]);
    assert_eq!(offering.check().await, expected);
    // Now that this is clear nobody reads the plain entries any more.
    offering.plain(&[A, B, "/other"]);
    for _ in 0..3 {
        assert_eq!(offering.check().await, told(&[]));
    }
}

#[tokio::test]
async fn a_sitemap_without_plain_entries_is_no_empty_list_once_the_section_is_mended() {
    let mut offering = broken(&[("blog", &[A, B])], &[A, B, ABOUT]).await;
    assert_eq!(offering.check().await, told(&[]));
    offering.mend("blog");
    offering.plain(&[]);
    for _ in 0..3 {
        assert_eq!(offering.check().await, told(&[]));
        let problems = offering.follower.last_check().await.problems;
        let mut codes = problems.iter().map(|problem| problem.code.name());
        assert!(codes.all(|code| code != "empty-list"), "{problems:?}");
    }
}

/// Two sections, one of which cannot be read from the first.
async fn never_read(plain: &[&str]) -> Offering {
    let mut offering = Offering::new(&[("blog", &[A]), ("news", &[B])]).await;
    offering.break_section("blog");
    offering.plain(plain);
    let line = ["updated /b 2026-03-02"];
    let expected = told(&[("news", &line), ("site", &line)]);
    assert_eq!(offering.check().await, expected);
    offering
}

#[tokio::test]
async fn pages_of_a_section_that_was_never_read_are_told_by_the_plain_entries() {
    let mut offering = never_read(&[A, B, ABOUT]).await;
    for _ in 0..2 {
        assert_eq!(offering.check().await, told(&[]));
    }
    // What changed since the section was first looked for is new.
    let plain = [A, B, ABOUT, "/late 2026-03-12", "/old 2026-03-05"];
    offering.plain(&plain);
    let expected = by_plain(&["created /late 2026-03-12"]);
    assert_eq!(offering.check().await, expected);
    let plain = [&plain[..], &["/new 2026-03-15", "/dateless"]].concat();
    offering.plain(&plain);
    let lines = [
        "created /dateless 2026-03-15T12:00:00Z",
        "created /new 2026-03-15",
    ];
    assert_eq!(offering.check().await, by_plain(&lines));
    // When it can be read at last, it starts like any other, and the site is told what it does not know yet.
    offering.mend("blog");
    let (late, dateless) = ("/late 2026-03-12T10:00:00Z", "/dateless 2026-03-14");
    let (new, unheard) = ("/new 2026-03-15", "/unheard 2026-03-15T09:00:00Z");
    offering.section("blog", &[A, late, dateless, new, unheard]);
    let (a, news) = (
        "updated /a 2026-03-01",
        "updated /unheard 2026-03-15T09:00:00Z",
    );
    let blog = [
        a,
        "updated /dateless 2026-03-14",
        "updated /late 2026-03-12T10:00:00Z",
        "updated /new 2026-03-15",
        news,
    ];
    let expected = told(&[("blog", &blog), ("site", &[a, news])]);
    assert_eq!(offering.check().await, expected);
    offering.plain(&["/other"]);
    for _ in 0..3 {
        assert_eq!(offering.check().await, told(&[]));
    }
}

#[tokio::test]
async fn pages_of_a_section_without_a_snapshot_to_begin_with_are_told_by_the_plain_entries() {
    let mut offering = Offering::new(&[("blog", &[A]), ("news", &[B])]).await;
    offering.offer_snapshot("blog", false);
    offering.plain(&[A, B]);
    let line = ["updated /b 2026-03-02"];
    let expected = told(&[("news", &line), ("site", &line)]);
    assert_eq!(offering.check().await, expected);
    for _ in 0..2 {
        assert_eq!(offering.check().await, told(&[]));
    }
    offering.plain(&[A, B, "/late 2026-03-12"]);
    let expected = by_plain(&["created /late 2026-03-12"]);
    assert_eq!(offering.check().await, expected);
    // It starts like any other when there is a snapshot at last.
    offering.offer_snapshot("blog", true);
    offering.section("blog", &[A, "/late 2026-03-12T10:00:00Z"]);
    let (a, late) = (
        "updated /a 2026-03-01",
        "updated /late 2026-03-12T10:00:00Z",
    );
    let expected = told(&[("blog", &[a, late]), ("site", &[a])]);
    assert_eq!(offering.check().await, expected);
    assert_eq!(offering.check().await, told(&[]));
}

#[tokio::test]
async fn a_section_that_is_read_before_long_begins_no_collection_of_plain_entries() {
    let mut offering = never_read(&[A, B, ABOUT]).await;
    assert_eq!(offering.check().await, told(&[]));
    offering.mend("blog");
    let line = ["updated /a 2026-03-01"];
    let expected = told(&[("blog", &line), ("site", &line)]);
    assert_eq!(offering.check().await, expected);
    // Nor does that time count for one that is offered later.
    offering.plain(&[A, B, ABOUT, "/new"]);
    offering.check().await;
    offering.section("ink", &["/c 2026-03-03"]);
    offering.break_section("ink");
    for _ in 0..3 {
        assert_eq!(offering.check().await, told(&[]));
    }
    assert_eq!(offering.follower.row().await.collections.len(), 2);
    assert_eq!(offering.check().await, told(&[]));
    assert_eq!(offering.follower.row().await.collections.len(), 3);
}
