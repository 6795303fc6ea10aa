//! Colour and progress: for people at a terminal, and for nobody else.

use std::io::Read;

use super::*;
use crate::fake_site::Gate;

/// Runs a check on a pseudo-terminal, by util-linux's `script`. None where there is no such program.
fn on_a_terminal(den: &Den, variables: &[(&str, &str)], arguments: &str) -> Option<(String, i32)> {
    let command = format!(
        "{} check --allow-net 127.0.0.0/8 --host-gap 0s {} {arguments}",
        env!("CARGO_BIN_EXE_sitebell"),
        den.url("/")
    );
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH")?)
        .env("TERM", "xterm")
        .env("SHELL", "/bin/sh")
        .envs(variables.iter().copied())
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    Some((text, output.status.code()?))
}

/// What is left on the screen: a line counts from where it was last wiped.
pub(super) fn screen(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let line = line.trim_end_matches('\r');
        line.rsplit("\u{1b}[2K").next().unwrap_or(line)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn has_colour(text: &str) -> bool {
    text.split("\u{1b}[").skip(1).any(|sequence| {
        let end = sequence.find(|c: char| !c.is_ascii_digit() && c != ';');
        end.is_some_and(|end| sequence[end..].starts_with('m'))
    })
}

#[test]
fn a_terminal_sees_colour_and_progress_and_the_progress_is_gone_at_the_end() {
    let den = den();
    let Some((text, code)) = on_a_terminal(&den, &[], "") else {
        return;
    };
    assert_eq!(code, 0);
    assert!(has_colour(&text), "{text:?}");
    assert!(text.contains("reading http://127.0.0.1"), "{text:?}");
    assert!(!screen(&text).contains("reading http"), "{text:?}");
    assert!(screen(&text).contains("Nothing to fix."));
}

#[test]
fn a_terminal_that_wants_no_colour_gets_none() {
    let den = den();
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let Some((text, _)) = on_a_terminal(&den, &[(name, value)], "") else {
            return;
        };
        assert!(!has_colour(&text), "{name}: {text:?}");
        assert!(text.contains("Nothing to fix."));
    }
}

#[test]
fn output_that_goes_to_a_program_has_neither_colour_nor_progress() {
    let den = den();
    for form in [&[][..], &["--json"], &["--atom"]] {
        let output = check(&den, form);
        assert!(!stdout(&output).contains('\u{1b}'), "{form:?}");
        assert_eq!(stderr(&output), "", "{form:?}");
    }
    let output = sitebell()
        .args([
            "check",
            den.url("/").as_str(),
            "--allow-net",
            "127.0.0.0/8",
            "--host-gap",
            "0s",
        ])
        .envs([("CLICOLOR_FORCE", "1"), ("TERM", "xterm")])
        .output()
        .unwrap();
    assert!(!stdout(&output).contains('\u{1b}'));
}

#[test]
fn output_to_a_closed_pipe_is_no_accident() {
    let den = den();
    let gate = Gate::default();
    let text = change_list(
        "/capabilitylist.xml",
        "from='2026-01-01'",
        &["updated /a 2026-03-01"],
    );
    den.site.serve(
        "/changelist.xml",
        Reply::xml(den.filled(&text)).behind(&gate),
    );
    for form in ["--json", "--atom", "--host-gap=0s"] {
        let mut child = sitebell()
            .args([
                "check",
                den.url("/").as_str(),
                "--allow-net",
                "127.0.0.0/8",
                form,
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Closed before the program can have written anything: the site still holds its answer back.
        drop(child.stdout.take());
        gate.open();
        let mut said = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{form}: {said}");
        assert_eq!(said, "", "{form}");
    }
}
