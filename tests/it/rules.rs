//! Proposal IFCC-0001, rule by rule.
//!
//! [`RULES`] maps every rule of its sections "For Authors" and "For Feed Generators" to the test that holds us to it.
//! What one document can show is tested here; what takes a site, in `walking`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use sitebell::change::ChangeKind;
use sitebell::problem::{Code, Problems, Severity};
use sitebell::read::resourcesync::{Capability, rules};

use crate::reading::{Whole, address, read_whole};

/// A rule in short, where in the proposal it stands, the file of its test and the test.
#[rustfmt::skip] // Two lines for each rule: what it says, and who sees to it.
const RULES: &[(&str, &str, &str, &str)] = &[
    // For Authors
    ("a Source Description or its index must be at the well-known address", "Authors, Source Descriptions",
        "walking/discovery", "a_site_without_a_source_description_at_the_well_known_address_is_told_so"),
    ("describes is required on the entries", "Authors, Source Descriptions",
        "rules", "an_entry_of_a_source_description_must_say_what_it_describes"),
    ("the href of describes identifies the collection", "Authors, Source Descriptions",
        "rules", "the_describes_of_an_entry_identifies_the_collection"),
    ("describedby is optional but recommended", "Authors, Source Descriptions",
        "rules", "a_source_description_without_describedby_gets_advice_and_nothing_worse"),
    ("describedby should point to metadata: title, authorship", "Authors, Source Descriptions",
        "walking/titles", "a_description_in_any_common_format_gives_the_title"),
    ("the root must have capability=description", "Authors, Source Descriptions",
        "rules", "a_source_description_must_call_itself_description"),
    ("the entries must have capability=capabilitylist", "Authors, Source Descriptions",
        "rules", "every_entry_of_a_source_description_must_be_a_capability_list"),
    ("several Capability Lists may be provided", "Authors, Source Descriptions",
        "rules", "a_source_description_may_have_several_capability_lists"),
    ("the loc of such an entry must lead to a Capability List", "Authors, Capability Lists",
        "walking/steps", "dereferencing_a_listed_capability_list_must_give_one"),
    ("up is required", "Authors, Capability Lists",
        "rules", "a_capability_list_must_have_an_up_link"),
    ("up must lead to the Source Description", "Authors, Capability Lists",
        "rules", "the_up_link_of_a_capability_list_must_lead_to_the_source_description"),
    ("describes is required on the root", "Authors, Capability Lists",
        "rules", "a_capability_list_must_say_what_it_describes"),
    ("the href of describes identifies the collection", "Authors, Capability Lists",
        "rules", "the_describes_of_a_capability_list_identifies_the_collection"),
    ("both documents identify the same collection", "Authors, Capability Lists",
        "walking/identities", "the_capability_list_is_believed_where_the_two_documents_disagree"),
    ("describedby is optional but recommended", "Authors, Capability Lists",
        "rules", "a_capability_list_without_describedby_gets_advice_and_nothing_worse"),
    ("the root must have capability=capabilitylist", "Authors, Capability Lists",
        "rules", "a_capability_list_must_call_itself_capabilitylist"),
    ("rs:md is required on the entries", "Authors, Capability Lists",
        "rules", "every_entry_of_a_capability_list_must_say_what_it_leads_to"),
    ("exactly one entry is a Change List: not none", "Authors, Capability Lists",
        "rules", "a_capability_list_without_a_change_list_is_told_so"),
    ("exactly one entry is a Change List: not two", "Authors, Capability Lists",
        "rules", "a_capability_list_with_two_change_lists_is_told_so"),
    ("other entries may be provided", "Authors, Capability Lists",
        "rules", "a_capability_list_may_have_other_entries"),
    ("the loc of such an entry must lead to a Change List or its index", "Authors, Change Lists",
        "walking/steps", "dereferencing_a_listed_change_list_must_give_one"),
    ("up is required", "Authors, Change Lists",
        "rules", "a_change_list_must_have_an_up_link"),
    ("up must lead to the Capability List", "Authors, Change Lists",
        "rules", "the_up_link_of_a_change_list_must_lead_to_the_capability_list"),
    ("the root must have capability=changelist", "Authors, Change Lists",
        "rules", "a_change_list_must_call_itself_changelist"),
    ("the root must have from, which is a date", "Authors, Change Lists",
        "rules", "a_change_list_must_say_from_when_it_holds_all_changes"),
    ("the root may have until", "Authors, Change Lists",
        "rules", "a_change_list_may_say_until_when_it_holds_all_changes"),
    ("entries must have rs:md with change: created, updated or deleted", "Authors, Change Lists",
        "rules", "a_change_must_be_created_updated_or_deleted"),
    ("entries must have datetime", "Authors, Change Lists",
        "rules", "a_change_must_have_a_datetime"),
    ("a Change List need not convey the whole history", "Authors, Change Lists",
        "rules", "a_change_list_need_not_tell_the_whole_history"),
    ("an index of lists for time ranges is recommended", "Authors, Change Lists",
        "walking/indexes", "a_large_change_list_without_an_index_gets_advice"),
    ("several changes may be in one list", "Authors, Change Lists",
        "rules", "a_change_list_may_hold_several_changes_of_one_page"),
    // For Feed Generators
    ("an index is recognised by its root sitemapindex", "Generators, Sitemaps and Sitemap Indices",
        "rules", "an_index_is_recognised_by_its_root_element_alone"),
    ("the sitemap elements provide the actual documents", "Generators, Sitemaps and Sitemap Indices",
        "rules", "the_sitemap_elements_of_an_index_are_the_documents_to_read"),
    ("... of a Source Description Index", "Generators, Sitemaps and Sitemap Indices",
        "walking/steps", "a_source_description_index_leads_to_its_source_descriptions"),
    ("... of a Change List Index", "Generators, Sitemaps and Sitemap Indices",
        "walking/indexes", "a_change_list_index_leads_to_its_open_and_closed_lists"),
    ("discovery at the well-known address", "Generators, Finding the Source Description(s)",
        "walking/discovery", "the_well_known_address_comes_first"),
    ("a Source Description must be a urlset with capability=description", "Generators, Finding the Source Description(s)",
        "rules", "a_sitemap_that_does_not_call_itself_anything_is_no_source_description"),
    ("it may have describedby", "Generators, Finding the Source Description(s)",
        "rules", "the_describedby_of_a_source_description_is_kept"),
    ("each url with capability=capabilitylist identifies a collection", "Generators, Processing the Source Description(s)",
        "rules", "only_capability_lists_in_a_source_description_are_collections"),
    ("the locs lead to Capability Lists, which should be processed", "Generators, Processing the Source Description(s)",
        "walking/steps", "each_capability_list_gets_its_own_collection"),
    ("each collection should have its own feed", "Generators, Processing the Source Description(s)",
        "feeds", "a_collection_and_its_site_have_feeds_with_the_entries_of_every_check"),
    ("there may be a feed of the whole source", "Generators, Processing the Source Description(s)",
        "command_line/feed", "ids_are_unique_and_times_differ_over_several_collections"),
    ("a Capability List must be a urlset with capability=capabilitylist", "Generators, Processing the Capability List",
        "rules", "a_capability_list_must_call_itself_capabilitylist"),
    ("it must have describes", "Generators, Processing the Capability List",
        "rules", "a_capability_list_must_say_what_it_describes"),
    ("it may have describedby", "Generators, Processing the Capability List",
        "rules", "the_describedby_of_a_capability_list_is_kept"),
    ("changes must be pulled from the linked Change List", "Generators, Processing the Capability List",
        "walking/steps", "the_steps_of_the_proposal_are_taken_in_order_and_nothing_is_wrong"),
    ("... or Change List Index", "Generators, Processing the Capability List",
        "walking/indexes", "a_change_list_index_leads_to_its_open_and_closed_lists"),
    ("otherwise no changes can be determined", "Generators, Processing the Capability List",
        "walking/steps", "no_change_list_means_no_changes"),
    ("entries of a Change List Index should have from and perhaps until", "Generators, Processing the Change List Index",
        "rules", "an_entry_of_a_change_list_index_should_say_which_time_it_covers"),
    ("this can be used to pass over what was processed", "Generators, Processing the Change List Index",
        "walking/indexes", "change_lists_closed_before_the_last_processing_are_skipped"),
    ("each entry of a Change List must have rs:md with change", "Generators, Processing the Change List",
        "rules", "an_entry_without_a_change_is_no_change"),
    ("the values are created, updated and deleted", "Generators, Processing the Change List",
        "rules", "a_change_must_be_created_updated_or_deleted"),
    ("datetime gives the time of the change", "Generators, Processing the Change List",
        "rules", "the_datetime_and_nothing_else_is_the_time_of_a_change"),
    ("entries without datetime must be ignored", "Generators, Processing the Change List",
        "rules", "an_entry_without_a_datetime_is_ignored"),
    ("step 1: fetch the description from the well-known address", "Generators, Checking for Updates",
        "walking/discovery", "the_well_known_address_comes_first"),
    ("step 1: it may be an index", "Generators, Checking for Updates",
        "walking/steps", "a_source_description_index_leads_to_its_source_descriptions"),
    ("step 2: fetch the Capability List whose describes is the collection", "Generators, Checking for Updates",
        "walking/steps", "each_capability_list_gets_its_own_collection"),
    ("step 3: fetch its Change List", "Generators, Checking for Updates",
        "walking/steps", "the_steps_of_the_proposal_are_taken_in_order_and_nothing_is_wrong"),
    ("step 3: of an index, all lists without an until before the last processing", "Generators, Checking for Updates",
        "walking/indexes", "a_list_that_closed_at_the_very_time_of_the_last_processing_is_read"),
    ("step 4: collect the changes after the last processing", "Generators, Checking for Updates",
        "walking/steps", "only_changes_after_the_last_processing_are_collected"),
    ("step 5: add an Atom entry that summarises them", "Generators, Checking for Updates",
        "feeds", "a_collection_and_its_site_have_feeds_with_the_entries_of_every_check"),
];

/// The names of the tests in a file, if there is one.
fn tests_in(file: &str) -> Option<BTreeSet<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it")
        .join(file);
    let source = fs::read_to_string(path.with_extension("rs")).ok()?;
    let mut lines = source.lines().map(str::trim);
    let mut names = BTreeSet::new();
    while let Some(line) = lines.next() {
        if line == "#[test]" || line.starts_with("#[tokio::test") {
            let signature = lines.next()?.trim_start_matches("async ");
            let (name, _) = signature.strip_prefix("fn ")?.split_once('(')?;
            names.insert(name.to_owned());
        }
    }
    Some(names)
}

#[test]
fn every_rule_has_its_test() {
    let here = tests_in("rules").unwrap();
    assert!(here.contains("every_rule_has_its_test"));
    for (rule, section, file, test) in RULES {
        let tests = tests_in(file).unwrap_or_else(|| panic!("there is no {file}.rs"));
        assert!(
            tests.contains(*test),
            "{section}: {rule}: there is no {test} in {file}.rs"
        );
    }
    let named: BTreeSet<_> = RULES.iter().map(|rule| rule.3.to_owned()).collect();
    let without_a_rule: Vec<_> = here.difference(&named).collect();
    assert_eq!(without_a_rule, ["every_rule_has_its_test"]);
}

/// A document with this root and this content.
fn document(root: &str, content: &str) -> Whole {
    let text = format!(
        "<{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
         xmlns:rs=\"http://www.openarchives.org/rs/terms/\">\n{content}\n</{root}>"
    );
    read_whole(text.as_bytes())
}

const SITE_METADATA: &str = "<rs:ln rel='describedby' href='https://fox.example/about.rdf'/>";
const DESCRIPTION: &str = "<rs:md capability='description'/>";
const SHRINE: &str = "<url><loc>https://fox.example/shrine/capabilitylist.xml</loc><rs:md capability='capabilitylist'/>\
                      <rs:ln rel='describes' href='https://fox.example/shrine/'/>\
                      <rs:ln rel='describedby' href='https://fox.example/shrine/about.rdf'/></url>";

fn source_description(content: &str) -> Whole {
    document("urlset", &format!("{SITE_METADATA}{DESCRIPTION}{content}"))
}

const COLLECTION: &str = "<rs:md capability='capabilitylist'/><rs:ln rel='describes' href='https://fox.example/shrine/'/>";
const UP: &str = "<rs:ln rel='up' href='https://fox.example/.well-known/resourcesync'/>";
const CHANGES: &str =
    "<url><loc>https://fox.example/changes.xml</loc><rs:md capability='changelist'/></url>";

fn capability_list(content: &str) -> Whole {
    document(
        "urlset",
        &format!("{UP}{SITE_METADATA}{COLLECTION}{content}"),
    )
}

const SINCE: &str = "<rs:md capability='changelist' from='2026-03-01'/>";

fn change_list(content: &str) -> Whole {
    document("urlset", &format!("{UP}{SINCE}{content}"))
}

fn change(metadata: &str) -> String {
    format!("<url><loc>https://fox.example/den.html</loc>{metadata}</url>")
}

/// What is said of a document's `up`, if it was found through the Source Description at the well-known address.
fn about_up(whole: &Whole) -> Vec<Code> {
    let mut problems = Problems::default();
    let parent = "https://fox.example/.well-known/resourcesync"
        .parse()
        .unwrap();
    rules::check_up(whole.reading(), &address(), &[&parent], &mut problems);
    problems.iter().map(|problem| problem.code).collect()
}

#[test]
fn an_entry_of_a_source_description_must_say_what_it_describes() {
    assert_eq!(source_description(SHRINE).codes(), []);
    let silent = SHRINE.replace("rel='describes'", "rel='related'");
    assert_eq!(
        source_description(&silent).codes(),
        [Code::NoDescribesInDescription]
    );
}

#[test]
fn the_describes_of_an_entry_identifies_the_collection() {
    let whole = source_description(SHRINE);
    let entry = &whole.reading().document.entries[0];
    assert_eq!(entry.link("describes"), Some("https://fox.example/shrine/"));
}

#[test]
fn a_source_description_without_describedby_gets_advice_and_nothing_worse() {
    let whole = document("urlset", &format!("{DESCRIPTION}{SHRINE}"));
    assert_eq!(whole.codes(), [Code::NoDescribedby]);
    assert_eq!(whole.problems.worst(), Some(Severity::Note));
    let silent = SHRINE.replace("rel='describedby'", "rel='related'");
    let whole = source_description(&silent);
    assert_eq!(whole.codes(), [Code::NoDescribedby]);
    assert_eq!(whole.problems.worst(), Some(Severity::Note));
}

#[test]
fn a_source_description_must_call_itself_description() {
    assert_eq!(
        source_description(SHRINE).reading().document.capability,
        Capability::Description
    );
    let nameless = document("urlset", &format!("<rs:md/>{SHRINE}"));
    assert_eq!(nameless.refusal(), Code::NoCapability);
    let other = document(
        "urlset",
        &format!("<rs:md capability='resourcelist'/>{SHRINE}"),
    );
    assert_eq!(
        other.reading().document.capability,
        Capability::ResourceList
    );
}

#[test]
fn every_entry_of_a_source_description_must_be_a_capability_list() {
    let bare = SHRINE.replace("<rs:md capability='capabilitylist'/>", "");
    assert_eq!(
        source_description(&bare).codes(),
        [Code::EntryWithoutCapability]
    );
    let other = SHRINE.replace("'capabilitylist'", "'changelist'");
    assert_eq!(
        source_description(&format!("{SHRINE}{other}")).codes(),
        [Code::UnexpectedEntry]
    );
}

#[test]
fn a_source_description_may_have_several_capability_lists() {
    let moths = SHRINE.replace("shrine", "moths");
    let whole = source_description(&format!("{SHRINE}{moths}"));
    assert_eq!(whole.codes(), []);
    assert_eq!(whole.reading().document.entries.len(), 2);
}

#[test]
fn a_capability_list_must_have_an_up_link() {
    assert_eq!(about_up(&capability_list(CHANGES)), []);
    let whole = document("urlset", &format!("{COLLECTION}{CHANGES}"));
    assert_eq!(about_up(&whole), [Code::NoUp]);
}

#[test]
fn the_up_link_of_a_capability_list_must_lead_to_the_source_description() {
    let up = |address: &str| {
        let up = format!("<rs:ln rel='up' href='{address}'/>");
        about_up(&document("urlset", &format!("{up}{COLLECTION}{CHANGES}")))
    };
    assert_eq!(up("https://fox.example/.well-known/resourcesync"), []);
    assert_eq!(up("HTTP://FOX.example/.well-known/resourcesync"), []);
    assert_eq!(
        up("https://fox.example/description.xml"),
        [Code::UpMismatch]
    );
}

#[test]
fn a_capability_list_must_say_what_it_describes() {
    assert_eq!(capability_list(CHANGES).codes(), []);
    let bare = "<rs:md capability='capabilitylist'/>";
    let whole = document("urlset", &format!("{UP}{SITE_METADATA}{bare}{CHANGES}"));
    assert_eq!(whole.codes(), [Code::NoDescribes]);
    // It is followed all the same: the Source Description may have said it.
    assert_eq!(whole.reading().document.entries.len(), 1);
}

#[test]
fn the_describes_of_a_capability_list_identifies_the_collection() {
    let whole = capability_list(CHANGES);
    assert_eq!(
        whole.reading().document.link("describes"),
        Some("https://fox.example/shrine/")
    );
}

#[test]
fn a_capability_list_without_describedby_gets_advice_and_nothing_worse() {
    let whole = document("urlset", &format!("{UP}{COLLECTION}{CHANGES}"));
    assert_eq!(whole.codes(), [Code::NoDescribedby]);
    assert_eq!(whole.problems.worst(), Some(Severity::Note));
}

#[test]
fn a_capability_list_must_call_itself_capabilitylist() {
    assert_eq!(
        capability_list(CHANGES).reading().document.capability,
        Capability::CapabilityList
    );
    let links = COLLECTION.replace("<rs:md capability='capabilitylist'/>", "");
    let whole = document("urlset", &format!("{UP}{links}{CHANGES}"));
    assert_eq!(whole.refusal(), Code::NoCapability);
}

#[test]
fn every_entry_of_a_capability_list_must_say_what_it_leads_to() {
    let bare = CHANGES.replace("<rs:md capability='changelist'/>", "");
    let whole = capability_list(&format!("{CHANGES}{bare}"));
    assert_eq!(whole.codes(), [Code::EntryWithoutCapability]);
}

#[test]
fn a_capability_list_without_a_change_list_is_told_so() {
    assert_eq!(capability_list("").codes(), [Code::NoChangeList]);
    let pages = CHANGES.replace("'changelist'", "'resourcelist'");
    assert_eq!(capability_list(&pages).codes(), [Code::OnlyAList]);
}

#[test]
fn a_capability_list_with_two_change_lists_is_told_so() {
    let whole = capability_list(&CHANGES.repeat(2));
    assert_eq!(whole.codes(), [Code::SeveralChangeLists]);
    // Nothing may be lost by the mistake.
    assert_eq!(whole.reading().document.entries.len(), 2);
}

#[test]
fn a_capability_list_may_have_other_entries() {
    let others: String = [
        "resourcelist",
        "changedump",
        "change-notification",
        "something-new",
    ]
    .map(|kind| CHANGES.replace("'changelist'", &format!("'{kind}'")))
    .concat();
    assert_eq!(capability_list(&format!("{others}{CHANGES}")).codes(), []);
}

#[test]
fn a_change_list_must_have_an_up_link() {
    assert_eq!(about_up(&change_list("")), []);
    assert_eq!(about_up(&document("urlset", SINCE)), [Code::NoUp]);
    assert_eq!(about_up(&document("sitemapindex", SINCE)), [Code::NoUp]);
}

#[test]
fn the_up_link_of_a_change_list_must_lead_to_the_capability_list() {
    let elsewhere = UP.replace(".well-known/resourcesync", "changes-index.xml");
    let whole = document("urlset", &format!("{elsewhere}{SINCE}"));
    assert_eq!(about_up(&whole), [Code::UpMismatch]);
}

#[test]
fn a_change_list_must_call_itself_changelist() {
    assert_eq!(
        change_list("").reading().document.capability,
        Capability::ChangeList
    );
    let whole = document("urlset", &format!("{UP}<rs:md from='2026-03-01'/>"));
    assert_eq!(whole.refusal(), Code::NoCapability);
}

#[test]
fn a_change_list_must_say_from_when_it_holds_all_changes() {
    for root in ["urlset", "sitemapindex"] {
        assert_eq!(document(root, SINCE).codes(), []);
        let bare = "<rs:md capability='changelist'/>";
        assert_eq!(document(root, bare).codes(), [Code::NoFrom]);
        let no_date = SINCE.replace("2026-03-01", "last spring");
        assert_eq!(
            document(root, &no_date).codes(),
            [Code::BadSpan, Code::NoFrom]
        );
    }
}

#[test]
fn a_change_list_may_say_until_when_it_holds_all_changes() {
    assert_eq!(change_list("").reading().document.until, None);
    let closed = SINCE.replace("/>", " until='2026-04-01'/>");
    let whole = document("urlset", &closed);
    assert_eq!(whole.codes(), []);
    let until = whole.reading().document.until.unwrap();
    assert_eq!(until.to_string(), "2026-04-01");
}

#[test]
fn a_change_must_be_created_updated_or_deleted() {
    for (name, kind) in [
        ("created", ChangeKind::Created),
        ("updated", ChangeKind::Updated),
        ("deleted", ChangeKind::Deleted),
    ] {
        let whole = change_list(&change(&format!(
            "<rs:md change='{name}' datetime='2026-03-02'/>"
        )));
        assert_eq!(whole.handed_on[0].change, Some(kind));
        assert_eq!(whole.codes(), []);
    }
    for name in ["moved", "Created", "update", "", "created updated"] {
        let whole = change_list(&change(&format!(
            "<rs:md change='{name}' datetime='2026-03-02'/>"
        )));
        assert_eq!((whole.handed_on.len(), whole.reading().ignored), (0, 1));
        assert_eq!(whole.codes(), [Code::UnknownChange], "{name}");
    }
}

#[test]
fn a_change_must_have_a_datetime() {
    let whole = change_list(&change("<rs:md change='updated'/>"));
    assert_eq!(whole.codes(), [Code::NoDatetime]);
    assert_eq!(whole.problems.worst(), Some(Severity::Error));
    let whole = change_list(&change("<rs:md change='updated' datetime='soon'/>"));
    assert_eq!(whole.codes(), [Code::BadDatetime]);
}

#[test]
fn a_change_list_need_not_tell_the_whole_history() {
    let since_ever = SINCE.replace("2026-03-01", "1972-12-31");
    assert_eq!(document("urlset", &since_ever).codes(), []);
    let one = change("<rs:md change='updated' datetime='2026-03-02'/>");
    assert_eq!(
        document("urlset", &format!("{since_ever}{one}")).codes(),
        []
    );
}

#[test]
fn a_change_list_may_hold_several_changes_of_one_page() {
    let changes = [
        "created' datetime='2026-03-02",
        "updated' datetime='2026-03-02",
        "deleted' datetime='2026-03-03",
    ]
    .map(|metadata| change(&format!("<rs:md change='{metadata}'/>")));
    let whole = change_list(&changes.concat());
    assert_eq!(whole.codes(), []);
    let kinds: Vec<_> = whole
        .handed_on
        .iter()
        .map(|entry| entry.change.unwrap().as_str())
        .collect();
    assert_eq!(kinds, ["created", "updated", "deleted"]);
}

#[test]
fn an_index_is_recognised_by_its_root_element_alone() {
    for metadata in [DESCRIPTION, SINCE] {
        assert!(
            document("sitemapindex", metadata)
                .reading()
                .document
                .is_index
        );
        assert!(!document("urlset", metadata).reading().document.is_index);
    }
}

#[test]
fn the_sitemap_elements_of_an_index_are_the_documents_to_read() {
    let documents = "<sitemap><loc>https://fox.example/1.xml</loc><rs:md from='2026-03-01'/></sitemap>\
                     <sitemap><loc>https://fox.example/2.xml</loc><rs:md from='2026-03-02'/></sitemap>";
    for metadata in [DESCRIPTION, SINCE] {
        let whole = document("sitemapindex", &format!("{metadata}{documents}"));
        let locs: Vec<_> = whole
            .reading()
            .document
            .entries
            .iter()
            .map(|entry| entry.loc.as_str())
            .collect();
        assert_eq!(
            locs,
            ["https://fox.example/1.xml", "https://fox.example/2.xml"]
        );
        // They are no pages and no changes.
        assert!(whole.handed_on.is_empty());
        assert_eq!(whole.codes(), []);
    }
}

#[test]
fn a_sitemap_that_does_not_call_itself_anything_is_no_source_description() {
    let sitemap = "<url><loc>https://fox.example/</loc><lastmod>2026-03-02</lastmod></url>";
    assert_eq!(document("urlset", sitemap).refusal(), Code::NoCapability);
    assert_eq!(document("html", sitemap).refusal(), Code::NotXml);
    assert_eq!(document("feed", sitemap).refusal(), Code::WrongRoot);
}

#[test]
fn the_describedby_of_a_source_description_is_kept() {
    let whole = source_description(SHRINE);
    let document = &whole.reading().document;
    assert_eq!(
        document.link("describedby"),
        Some("https://fox.example/about.rdf")
    );
    assert_eq!(
        document.entries[0].link("describedby"),
        Some("https://fox.example/shrine/about.rdf")
    );
}

#[test]
fn only_capability_lists_in_a_source_description_are_collections() {
    let pages = SHRINE.replace("'capabilitylist'", "'resourcelist'");
    let whole = source_description(&pages);
    assert_eq!(whole.codes(), [Code::UnexpectedEntry, Code::NoCollections]);
    assert_eq!(source_description("").codes(), [Code::NoCollections]);
}

#[test]
fn the_describedby_of_a_capability_list_is_kept() {
    let whole = capability_list(CHANGES);
    assert_eq!(
        whole.reading().document.link("describedby"),
        Some("https://fox.example/about.rdf")
    );
}

#[test]
fn an_entry_of_a_change_list_index_should_say_which_time_it_covers() {
    let entry = |metadata: &str| {
        format!("<sitemap><loc>https://fox.example/1.xml</loc>{metadata}</sitemap>")
    };
    let index = |metadata: &str| document("sitemapindex", &format!("{SINCE}{}", entry(metadata)));
    assert_eq!(index("").codes(), [Code::IndexEntryWithoutFrom]);
    assert_eq!(index("<rs:md from='2026-03-01'/>").codes(), []);
    let closed = index("<rs:md from='2026-03-01' until='2026-04-01'/>");
    assert_eq!(closed.codes(), []);
    let entry = &closed.reading().document.entries[0];
    assert_eq!(entry.from.unwrap().to_string(), "2026-03-01");
    assert_eq!(entry.until.unwrap().to_string(), "2026-04-01");
}

#[test]
fn an_entry_without_a_change_is_no_change() {
    for (metadata, code) in [
        ("", Code::NoMetadata),
        ("<rs:md datetime='2026-03-02'/>", Code::NoChange),
        (
            "<rs:md rs:change='updated' datetime='2026-03-02'/>",
            Code::NoChange,
        ),
    ] {
        let whole = change_list(&change(metadata));
        assert_eq!(whole.codes(), [code], "{metadata}");
        assert_eq!((whole.handed_on.len(), whole.reading().ignored), (0, 1));
    }
}

#[test]
fn the_datetime_and_nothing_else_is_the_time_of_a_change() {
    let whole = change_list(&change(
        "<lastmod>2001-01-01</lastmod><rs:md change='updated' datetime='2026-03-02' at='2003-03-03'/>",
    ));
    assert_eq!(
        whole.handed_on[0].datetime.unwrap().to_string(),
        "2026-03-02"
    );
    assert_eq!(whole.codes(), []);
}

#[test]
fn an_entry_without_a_datetime_is_ignored() {
    let good = change("<rs:md change='created' datetime='2026-03-02'/>");
    for silent in [
        "<rs:md change='updated'/>",
        "<lastmod>2026-03-02</lastmod><rs:md change='updated'/>",
        "<rs:md change='updated' at='2026-03-02'/>",
        "<rs:md change='updated' rs:datetime='2026-03-02'/>",
    ] {
        let whole = change_list(&format!("{good}{}{good}", change(silent)));
        assert_eq!(whole.codes(), [Code::NoDatetime], "{silent}");
        assert_eq!((whole.handed_on.len(), whole.reading().ignored), (2, 1));
    }
}
