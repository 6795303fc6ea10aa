//! `--json`: the shape that programs rely on.

use serde_json::Value;

use super::*;

fn json(den: &Den, arguments: &[&str]) -> Value {
    let output = check(den, &[&["--json"], arguments].concat());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn members(value: &Value) -> Vec<&str> {
    let object = value.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

#[test]
fn every_object_has_the_members_that_programs_rely_on() {
    let den = den();
    den.change_list("/changelist.xml", "", &["created /a 2026-03-01"]);
    let report = json(&den, &[]);
    assert_eq!(
        members(&report),
        [
            "site",
            "collections",
            "rules",
            "problems",
            "requests",
            "bytes"
        ]
    );
    assert_eq!(
        members(&report["site"]),
        ["url", "root", "format", "title", "tried"]
    );
    assert_eq!(
        members(&report["site"]["tried"][0]),
        ["format", "url", "outcome"]
    );
    let collection = &report["collections"][0];
    assert_eq!(
        members(collection),
        [
            "id",
            "title",
            "capability_list",
            "change_lists",
            "horizon",
            "last_processed",
            "pages",
            "changes"
        ]
    );
    assert_eq!(
        members(&collection["changes"][0]),
        ["url", "kind", "datetime", "title", "basis"]
    );
    assert_eq!(members(&report["rules"][0]), ["rule", "broken"]);
    assert_eq!(
        members(&report["problems"][0]),
        [
            "code", "severity", "document", "line", "count", "message", "fix"
        ]
    );
}

#[test]
fn values_are_what_the_site_says() {
    let den = den();
    let report = json(&den, &[]);
    let root = den.url("/");
    assert_eq!(report["site"]["url"], root.as_str());
    assert_eq!(
        report["site"]["root"],
        format!("{root}.well-known/resourcesync")
    );
    assert_eq!(report["site"]["format"], "resourcesync");
    assert_eq!(report["site"]["title"], "The Fox Den");
    let collection = &report["collections"][0];
    assert_eq!(collection["id"], root.as_str());
    assert_eq!(
        collection["capability_list"],
        format!("{root}capabilitylist.xml")
    );
    assert_eq!(
        collection["change_lists"][0],
        format!("{root}changelist.xml")
    );
    assert_eq!(collection["horizon"], "2026-01-01");
    assert_eq!(collection["last_processed"], "2026-03-02T09:30Z");
    assert_eq!(report["requests"], 4);
    assert!(report["bytes"].as_u64().unwrap() > 500);
    assert_eq!(report["problems"].as_array().unwrap().len(), 0);
}

#[test]
fn changes_come_oldest_first_with_their_datetimes_as_given() {
    let changes = &json(&den(), &[])["collections"][0]["changes"];
    let told: Vec<_> = (changes.as_array().unwrap().iter())
        .map(|change| {
            (
                change["kind"].as_str().unwrap(),
                change["datetime"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("created", "2026-03-01"),
            ("updated", "2026-03-02T08:00:00+01:00"),
            ("deleted", "2026-03-02T09:30Z")
        ]
    );
}

#[test]
fn a_problem_tells_where_it_is_and_what_to_do() {
    let den = den();
    den.change_list("/changelist.xml", "", &["created /a 2026-03-01"]);
    let problem = &json(&den, &[])["problems"][0];
    assert_eq!(problem["code"], "no-from");
    assert_eq!(problem["severity"], "warning");
    assert_eq!(problem["document"], den.url("/changelist.xml").as_str());
    assert_eq!(problem["line"], 1);
    assert_eq!(problem["count"], 1);
    assert!(
        problem["fix"]
            .as_str()
            .unwrap()
            .contains("from=\"2026-01-01\"")
    );
}

#[test]
fn rules_that_are_kept_and_rules_that_are_broken_are_told() {
    let den = den();
    den.change_list("/changelist.xml", "", &["created /a 2026-03-01"]);
    let report = json(&den, &[]);
    let rules = report["rules"].as_array().unwrap();
    let broken: Vec<_> = (rules.iter())
        .filter(|rule| !rule["broken"].is_null())
        .collect();
    assert_eq!((rules.len(), broken.len()), (13, 1));
    assert_eq!(broken[0]["broken"], "warning");
    let rule = "Change Lists say which time they cover, and leave no gap.";
    assert_eq!(broken[0]["rule"], rule);
}

#[test]
fn a_site_without_a_description_is_an_answer_too() {
    let mut den = Den::empty();
    den.host = "127.0.0.1";
    den.html("/", "<title>Fox</title>");
    let report = json(&den, &[]);
    assert_eq!(report["site"]["root"], Value::Null);
    assert_eq!(report["site"]["format"], Value::Null);
    assert_eq!(report["site"]["title"], "Fox");
    assert_eq!(report["collections"].as_array().unwrap().len(), 0);
    assert_eq!(report["problems"][0]["code"], "not-found");
    assert_eq!(report["problems"][0]["severity"], "error");
}

#[test]
fn json_and_atom_exclude_each_other() {
    assert_refused(&check(&den(), &["--json", "--atom"]), &["--json", "--atom"]);
}
