//! The shape of the source: which part may use which, which crate has one home, and what the README promises.

use std::fs;
use std::path::{Path, PathBuf};

use sitebell::config::SETTINGS;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The parts from the bottom up, and of which others each may know. `read`, `fetch`, `track` and `feed` do not know each
/// other, so that each can be changed, tested and replaced alone.
const MAY_USE: &[(&str, &[&str])] = &[
    ("text", &[]),
    ("moment", &[]),
    ("change", &["moment"]),
    ("problem", &["text"]),
    ("site", &["text"]),
    ("account", &["text", "site"]),
    ("secret", &[]),
    ("memory", &["moment", "change", "problem", "site"]),
    ("read", &["text", "moment", "change", "problem", "site"]),
    ("fetch", &["site", "memory"]),
    (
        "load",
        &[
            "text", "moment", "change", "problem", "site", "memory", "read", "fetch",
        ],
    ),
    (
        "discover",
        &["problem", "site", "memory", "read", "fetch", "load"],
    ),
    (
        "check",
        &[
            "text", "moment", "change", "problem", "site", "memory", "read", "fetch", "load",
            "discover",
        ],
    ),
    (
        "publish",
        &[
            "text", "moment", "change", "problem", "site", "read", "fetch",
        ],
    ),
    ("demo", &["publish"]),
    ("handbook", &["publish", "site"]),
    ("track", &["moment", "change", "problem", "site", "memory"]),
    (
        "store",
        &[
            "text", "moment", "change", "problem", "site", "account", "memory",
        ],
    ),
    (
        "schedule",
        &[
            "moment", "change", "problem", "site", "memory", "fetch", "check", "track", "store",
        ],
    ),
    ("feed", &["text", "moment", "change", "site"]),
    (
        "web",
        &[
            "text", "moment", "change", "problem", "site", "account", "secret", "memory", "read",
            "fetch", "check", "store", "schedule", "feed", "handbook",
        ],
    ),
    (
        "config",
        &["account", "fetch", "load", "check", "store", "schedule"],
    ),
    (
        "cli",
        &[
            "text", "moment", "change", "problem", "site", "account", "secret", "fetch", "load",
            "check", "publish", "demo", "handbook", "track", "store", "schedule", "feed", "web",
            "config",
        ],
    ),
];

/// Crates that only one part may use, by the beginning of the path.
const HOMES: &[(&str, &[&str])] = &[
    ("reqwest", &["fetch/"]),
    ("quick_xml", &["read/"]),
    ("clap", &["cli/"]),
    ("indicatif", &["cli/"]),
    ("atom_syndication", &["feed/"]),
    ("askama", &["feed/", "web/"]),
    ("rusqlite", &["store/"]),
    ("actix_web", &["web/"]),
    ("actix_http", &["web/"]),
    ("actix_service", &["web/"]),
    ("utoipa", &["web/api/"]),
    ("tokio_cron_scheduler", &["schedule/"]),
    ("argon2", &["secret.rs"]),
    ("getrandom", &["secret.rs"]),
    (
        "sha2",
        &[
            "secret.rs",
            "web/feeds/",
            "web/report/",
            "publish/",
            "handbook/",
            "read/scp/",
        ],
    ),
    ("saphyr_parser", &["read/arc/"]),
    ("zstd", &["fetch/", "read/scp/"]),
    ("opml", &["web/lists.rs", "read/"]),
    ("globset", &["publish/"]),
    ("regex", &["publish/"]),
    ("pulldown_cmark", &["handbook/"]),
    ("rustix", &["publish/"]),
    ("rpassword", &["cli/"]),
    ("governor", &["web/limits.rs"]),
    ("multer", &["web/forms.rs"]),
];

/// Every source file with its path below `src` and its text, without tests.
fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    collect(&Path::new(ROOT).join("src"), &mut files);
    assert!(files.len() > 30, "the source is where it was");
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        // Tests stand at the end of a file.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let below = path.strip_prefix(Path::new(ROOT).join("src")).unwrap();
        (below.to_str().unwrap().replace('\\', "/"), code.to_owned())
    };
    files.into_iter().map(read).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

/// The part that a file belongs to; none for `lib.rs` and `main.rs`, which only name the parts.
fn part(path: &str) -> Option<&str> {
    let part = path.split(['/', '.']).next()?;
    (!matches!(part, "lib" | "main")).then_some(part)
}

/// Lines that are not comments.
fn code_lines(code: &str) -> impl Iterator<Item = &str> {
    code.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
}

/// Whether a word stands alone in a line.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(start, _)| {
        !line[..start].ends_with(is_part) && !line[start + word.len()..].starts_with(is_part)
    })
}

#[test]
fn every_part_has_its_place() {
    for (path, _) in sources() {
        if let Some(part) = part(&path) {
            assert!(
                MAY_USE.iter().any(|(known, _)| *known == part),
                "{path} belongs to a part that MAY_USE does not know"
            );
        }
    }
}

#[test]
fn every_part_uses_only_what_is_below_it() {
    for (position, (part, uses)) in MAY_USE.iter().enumerate() {
        for used in *uses {
            let below = MAY_USE[..position].iter().any(|(name, _)| name == used);
            assert!(below, "{part} may not use {used}, which is above it");
        }
    }
    for (path, code) in sources() {
        let Some(own) = part(&path) else { continue };
        let allowed = MAY_USE
            .iter()
            .find(|(part, _)| *part == own)
            .map(|(_, uses)| *uses);
        let allowed = allowed.unwrap_or_default();
        for line in code_lines(&code) {
            assert!(
                !line.contains("crate::{"),
                "{path}: one line for each part: {line}"
            );
            for (start, _) in line.match_indices("crate::") {
                let rest = &line[start + "crate::".len()..];
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                let used = &rest[..end.unwrap_or(rest.len())];
                assert!(
                    used == own || allowed.contains(&used),
                    "{path}: {own} does not know {used}: {line}"
                );
            }
        }
    }
}

#[test]
fn every_crate_with_a_home_stays_there() {
    for (path, code) in sources() {
        for (name, homes) in HOMES {
            if homes.iter().any(|home| path.starts_with(home)) {
                continue;
            }
            let found = code_lines(&code).find(|line| has_word(line, name));
            assert_eq!(found, None, "{path}: {name} belongs in {homes:?}");
        }
    }
}

/// What follows the readers knows that a site tells its changes, or lists its pages, and no more: whatever else differs
/// from one list to another is said by its reader. What is wrong with a list has its code among all other problems.
#[test]
fn no_format_that_lists_pages_is_named_outside_of_the_readers() {
    for (path, code) in sources() {
        if path.starts_with("read/") || matches!(path.as_str(), "site.rs" | "problem.rs") {
            continue;
        }
        let names_one = |line: &&str| {
            let named = ["Format::Sitemap", "Format::Arc", "Scp", "Spxi"];
            named.iter().any(|name| line.contains(name))
        };
        let found = code_lines(&code).find(names_one);
        assert_eq!(found, None, "{path}: let the reader say what it needs");
    }
}

#[test]
fn nothing_is_unwrapped_outside_of_tests() {
    for (path, code) in sources() {
        let found = code_lines(&code).find(|line| line.contains(".unwrap()"));
        assert_eq!(found, None, "{path}: say why it cannot fail, with expect");
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    for (path, code) in sources() {
        assert!(code.starts_with("//! "), "{path} has no header");
    }
}

#[test]
fn the_fuzzer_reads_with_the_crates_that_the_service_reads_with() {
    let dependencies = |path: &str| {
        let text = fs::read_to_string(Path::new(ROOT).join(path)).unwrap();
        let table: toml::Table = text.parse().unwrap();
        table["dependencies"].as_table().unwrap().clone()
    };
    let ours = dependencies("Cargo.toml");
    for (name, wanted) in dependencies("tests/fuzz/Cargo.toml") {
        match name.as_str() {
            "libfuzzer-sys" => {}
            // It reads nothing, so only a small part of it is there.
            "tokio" => assert_eq!(ours["tokio"]["version"], wanted["version"]),
            _ => assert_eq!(ours.get(&name), Some(&wanted), "{name}"),
        }
    }
}

/// The table of settings as the README has it.
fn table() -> String {
    let mut table =
        String::from("| flag | variable | default | what it does |\n|---|---|---|---|\n");
    for setting in SETTINGS {
        let default = match setting.default {
            "" => "none".to_owned(),
            default => format!("`{default}`"),
        };
        let (name, value, help) = (setting.name, setting.value, setting.help);
        let variable = setting.variable();
        table += &format!("| `--{name} {value}` | `{variable}` | {default} | {help} |\n");
    }
    table
}

#[test]
fn the_readme_lists_every_setting_as_the_source_has_it() {
    let path = Path::new(ROOT).join("README.md");
    let text = fs::read_to_string(&path).unwrap();
    let (start, end) = ("<!-- settings -->\n", "<!-- /settings -->");
    let (before, rest) = text
        .split_once(start)
        .expect("the mark where the table begins");
    let (written, after) = rest.split_once(end).expect("the mark where the table ends");
    if std::env::var_os("SITEBELL_WRITE_DOCS").is_some() {
        fs::write(&path, [before, start, &table(), end, after].concat()).unwrap();
        return;
    }
    assert!(
        written == table(),
        "run SITEBELL_WRITE_DOCS=1 cargo test readme"
    );
}
