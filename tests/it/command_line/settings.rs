//! Flags, variables and the settings file: what they do, and what is said when they are wrong.

use sitebell::config::{Group, SETTINGS};

use super::*;

/// The check of a site that needs no network, from a folder of its own with this settings file.
fn in_folder(file: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sitebell.toml"), file).unwrap();
    let mut command = sitebell();
    command.current_dir(folder.path()).arg("check");
    command.args(arguments).envs(variables.iter().copied());
    command.output().unwrap()
}

#[test]
fn a_wrong_flag_is_told_in_one_sentence() {
    for (arguments, parts) in [
        (
            &["check", "example.com", "--hst-gap", "1s"][..],
            &["--hst-gap", "--host-gap"][..],
        ),
        (&["check"], &["ADDRESS", "--help"]),
        (&["check", "a.example", "b.example"], &["b.example"]),
        (&["chek", "a.example"], &["chek", "check"]),
        (&["check", "a.example", "--host-gap"], &["--host-gap"]),
        (
            &["check", "a.example", "--host-gap", "soon"],
            &["--host-gap is “soon”", "500ms"],
        ),
        (
            &["check", "a.example", "--host-gap", "5"],
            &["--host-gap is “5”"],
        ),
        (
            &["check", "a.example", "--max-documents", "-1"],
            &["--max-documents", "-1"],
        ),
        (
            &["check", "a.example", "--max-documents", "many"],
            &["whole number"],
        ),
        (
            &["check", "a.example", "--max-requests", "0"],
            &["at least 1"],
        ),
        (
            &["check", "a.example", "--allow-net", "everything"],
            &["--allow-net is “everything”"],
        ),
        (&["check", "a.example", "--contact", "a\nb"], &["contact"]),
        (
            &["check", "a.example", "--config", "no/such.toml"],
            &["no/such.toml", "cannot be read"],
        ),
    ] {
        let output = sitebell().args(arguments).output().unwrap();
        assert_refused(&output, parts);
    }
}

#[test]
fn a_wrong_variable_is_told_by_its_name() {
    let output = in_folder("", &["a.example"], &[("SITEBELL_HOST_GAP", "soon")]);
    assert_refused(&output, &["SITEBELL_HOST_GAP", "“soon”"]);
    let output = in_folder(
        "",
        &["a.example"],
        &[("SITEBELL_ALLOW_NET", "10.0.0.0/8,x")],
    );
    assert_refused(&output, &["SITEBELL_ALLOW_NET", "“x”"]);
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let value = std::ffi::OsStr::from_bytes(b"\xff1s");
    let output = sitebell()
        .args(["check", "a.example"])
        .env("SITEBELL_HOST_GAP", value)
        .output()
        .unwrap();
    assert_refused(&output, &["SITEBELL_HOST_GAP"]);
}

#[test]
fn a_wrong_settings_file_is_told_by_its_name_and_key() {
    for (file, parts) in [
        ("host-gap = ", &["sitebell.toml", "cannot be read"][..]),
        (
            "hots-gap = '1s'",
            &["sitebell.toml", "“hots-gap”", "not a setting"],
        ),
        (
            "host-gap = 'soon'",
            &["host-gap in sitebell.toml", "“soon”"],
        ),
        (
            "max-documents = 'many'",
            &["max-documents in sitebell.toml", "whole number"],
        ),
        ("[fetch]\nhost-gap = '1s'", &["“fetch”", "not a setting"]),
    ] {
        assert_refused(&in_folder(file, &["a.example"], &[]), parts);
    }
}

#[test]
fn a_flag_comes_before_a_variable_and_a_variable_before_the_file() {
    let den = den();
    let typed = den.url("/");
    let open = "allow-net = ['127.0.0.0/8']\nhost-gap = '0s'\nmax-documents = 1";
    let unread = |arguments: &[&str], variables: &[(&str, &str)]| {
        let arguments = [&[typed.as_str()], arguments].concat();
        let output = in_folder(open, &arguments, variables);
        stdout(&output).contains("[limit-reached]")
    };
    assert!(unread(&[], &[]), "the file is read");
    assert!(!unread(&[], &[("SITEBELL_MAX_DOCUMENTS", "50")]));
    assert!(
        unread(&[], &[("SITEBELL_MAX_DOCUMENTS", "")]),
        "an empty variable is none"
    );
    let variables = [("SITEBELL_MAX_DOCUMENTS", "50")];
    assert!(unread(&["--max-documents", "2"], &variables));
}

#[test]
fn another_settings_file_can_be_named() {
    let den = den();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.toml");
    std::fs::write(&file, "allow-net = '127.0.0.0/8'\nhost-gap = '0s'").unwrap();
    let typed = den.url("/");
    let output = sitebell()
        .args(["check", typed.as_str(), "--config"])
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn the_help_of_every_command_lists_every_setting_with_its_variable_and_default() {
    let all = [Group::Service, Group::Data, Group::Reading];
    for (arguments, groups) in [
        (&["check", "--help"][..], &[Group::Reading][..]),
        (&["help", "check"], &[Group::Reading]),
        (&["check", "-h"], &[Group::Reading]),
        (&["serve", "--help"], &all),
        (&["account", "add", "--help"], &[Group::Data]),
        (&["backup", "--help"], &[Group::Data]),
    ] {
        let output = sitebell().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let help = stdout(&output)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        for setting in SETTINGS {
            if !groups.contains(&setting.group) {
                assert!(!help.contains(&format!("--{} <", setting.name)));
                continue;
            }
            assert!(help.contains(&format!("--{} <{}>", setting.name, setting.value)));
            assert!(help.contains(setting.help), "{}", setting.name);
            assert!(help.contains(&format!("[env: {}]", setting.variable())));
            if !setting.default.is_empty() {
                assert!(help.contains(&format!("[default: {}]", setting.default)));
            }
        }
        assert!(help.contains("--config"));
    }
}

#[test]
fn the_help_of_check_lists_its_own_options() {
    let output = sitebell().args(["check", "--help"]).output().unwrap();
    for own in ["--json", "--atom", "--since", "--accept-lastmod"] {
        assert!(stdout(&output).contains(own), "{own}");
    }
}

#[test]
fn the_program_says_what_it_can_do_and_what_it_is() {
    let output = sitebell().arg("--help").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("check") && stdout(&output).contains("Read a site once"));
    let output = sitebell().arg("--version").output().unwrap();
    assert_eq!(
        stdout(&output),
        format!("sitebell {}\n", env!("CARGO_PKG_VERSION"))
    );
    let output = sitebell().output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains("Usage: sitebell"));
}
