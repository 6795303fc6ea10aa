//! `sitebell account`: by an operator at a terminal, and by a script.

use std::io::Read;
use std::process::{Child, ChildStdin};
use std::time::{Duration, Instant};

use sitebell::account::Scope;
use sitebell::secret::{RecoveryCode, Token, verify_password};
use sitebell::store::ServeLock;

use super::*;

/// The recovery code in what was printed.
fn code_in(text: &str) -> RecoveryCode {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Recovery code: "));
    RecoveryCode::parse(line.expect("a line with the code")).unwrap()
}

#[tokio::test]
async fn an_account_is_added_with_a_password_and_a_recovery_code() {
    let place = Place::new();
    let said = place.add("Émile", &["--admin"]);
    assert!(said.contains("Added the admin “Émile”."), "{said}");
    assert!(!said.contains("owls"), "{said}");
    let store = place.store().await;
    let account = store.account_by_name("émile").await.unwrap().unwrap();
    assert!(account.is_admin && !account.is_disabled);
    let hash = store.password_hash(account.id).await.unwrap().unwrap();
    assert!(
        hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
        "{hash}"
    );
    let typed = PASSWORD.trim_end();
    assert_eq!(verify_password(typed, Some(&hash)).await, Ok(true));
    assert_eq!(verify_password(PASSWORD, Some(&hash)).await, Ok(false));
    let kept = store.recovery_hash(account.id).await.unwrap().unwrap();
    let code = code_in(&said);
    assert!(code.is(&kept));
    store.close().await.unwrap();
    for (path, bytes) in place.files() {
        for secret in [
            typed.to_owned(),
            code.reveal(),
            code.reveal().replace('-', ""),
        ] {
            let found = bytes
                .windows(secret.len())
                .any(|part| part.eq_ignore_ascii_case(secret.as_bytes()));
            assert!(!found, "{secret} is in {}", path.display());
        }
    }
}

#[tokio::test]
async fn the_password_is_the_first_line_of_input_without_its_end() {
    let place = Place::new();
    for (name, input, password) in [
        ("a", &b" with spaces \n"[..], " with spaces "),
        ("b", b"without an end", "without an end"),
        ("c", b"from windows\r\n", "from windows"),
        ("d", b"first of two\nsecond of two\n", "first of two"),
        ("e", "fuchs und füchsin\n".as_bytes(), "fuchs und füchsin"),
    ] {
        let arguments = ["account", "add", name, "--password-stdin"];
        let said = printed(&place.run_with_input(&arguments, input));
        assert!(!said.contains(password.trim()), "{said}");
        let store = place.store().await;
        let account = store.account_by_name(name).await.unwrap().unwrap();
        let hash = store.password_hash(account.id).await.unwrap();
        let fits = verify_password(password, hash.as_deref()).await;
        assert_eq!(fits, Ok(true), "{name}");
        store.close().await.unwrap();
    }
}

#[test]
fn a_bad_password_or_name_is_refused_and_nothing_is_made() {
    let place = Place::new();
    let long = "x".repeat(1_001);
    for (input, part) in [
        (&b"\n"[..], "at least 8 characters"),
        (b"", "at least 8 characters"),
        (b"7 chars", "at least 8 characters"),
        (b"PassWord1\n", "one of the commonest"),
        (long.as_bytes(), "too long"),
        (b"\xff\xfe\xff\xfe\xff\xfe\xff\xfe\n", "UTF-8"),
    ] {
        let arguments = ["account", "add", "alice", "--password-stdin"];
        let output = place.run_with_input(&arguments, input);
        assert_refused(&output, &[part]);
        assert!(!stderr(&output).contains("PassWord1"));
    }
    for (name, part) in [
        ("", "the name is empty"),
        ("a b", "“a b”"),
        ("a\u{202e}b", "a character other than"),
        ("a\u{1b}[2Jb", "a character other than"),
        (".hidden", "does not begin with"),
        (&"x".repeat(65), "too long"),
    ] {
        let arguments = ["account", "add", name, "--password-stdin"];
        let output = place.run_with_input(&arguments, PASSWORD.as_bytes());
        assert_refused(&output, &[part]);
        assert!(!stderr(&output).contains(['\u{202e}', '\u{1b}']));
    }
    let output = place.run(&["account", "add", "alice"]);
    assert_refused(&output, &["no terminal", "--password-stdin"]);
    assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 0);
}

#[test]
fn a_name_is_taken_in_upper_and_lower_case() {
    let place = Place::new();
    place.add("Alice", &[]);
    for name in ["Alice", "aLICE", "ＡＬＩＣＥ"] {
        // Before any password is read.
        let arguments = ["account", "add", name];
        place.refused(&arguments, &["there is an account “Alice” already"]);
    }
    place.add("Alicia", &[]);
}

#[tokio::test]
async fn a_disabled_account_can_be_enabled_again() {
    let place = Place::new();
    place.add("bob", &[]);
    let token = place.done(&["account", "token", "bob"]);
    let hash = Token::parse(token.trim_end()).unwrap().hash();
    for (command, works) in [("disable", false), ("disable", false), ("enable", true)] {
        let said = place.done(&["account", command, "BOB"]);
        assert!(said.contains(&format!("“bob” is {command}d")), "{said}");
        let store = place.store().await;
        let owner = store.account_by_token(&hash).await.unwrap();
        assert_eq!(owner.is_some(), works);
        store.close().await.unwrap();
        if !works {
            place.refused(&["account", "token", "bob"], &["disabled", "enable"]);
        }
    }
}

#[tokio::test]
async fn a_new_password_comes_with_a_new_recovery_code() {
    let place = Place::new();
    let old = code_in(&place.add("bob", &[]));
    let arguments = ["account", "reset-password", "bob", "--password-stdin"];
    let refused = place.run_with_input(&arguments, b"12345678");
    assert_refused(&refused, &["commonest"]);
    let said = printed(&place.run_with_input(&arguments, b"nine owls, one fox\n"));
    assert!(said.contains("“bob” has a new password."), "{said}");
    assert!(!said.contains("owls"));
    let store = place.store().await;
    let bob = store.account_by_name("bob").await.unwrap().unwrap().id;
    let hash = store.password_hash(bob).await.unwrap();
    let fits = async |typed: &str| verify_password(typed, hash.as_deref()).await.unwrap();
    assert!(fits("nine owls, one fox").await);
    assert!(!fits(PASSWORD.trim_end()).await);
    let kept = store.recovery_hash(bob).await.unwrap().unwrap();
    assert!(code_in(&said).is(&kept) && !old.is(&kept));
}

#[tokio::test]
async fn a_token_is_all_that_is_printed_and_only_its_hash_is_kept() {
    let place = Place::new();
    place.add("alice", &["--admin"]);
    place.add("bob", &[]);
    for (name, more, scope) in [
        ("bob", &[][..], Scope::Write),
        ("bob", &["--scope", "read"], Scope::Read),
        ("bob", &["--scope", "write"], Scope::Write),
        ("alice", &["--scope=admin"], Scope::Admin),
    ] {
        let said = place.done(&[&["account", "token", name], more].concat());
        let text = said.strip_suffix('\n').unwrap();
        let token = Token::parse(text).expect("a token and nothing else");
        let store = place.store().await;
        let (account, granted) = (store.account_by_token(&token.hash()).await)
            .unwrap()
            .unwrap();
        assert_eq!((account.name.as_str(), granted), (name, scope));
        store.close().await.unwrap();
        for (path, bytes) in place.files() {
            let random = &text.as_bytes()["sbt_".len()..];
            let found = bytes.windows(random.len()).any(|part| part == random);
            assert!(!found, "{} holds a token", path.display());
        }
    }
    let arguments = ["account", "token", "bob", "--scope", "admin"];
    place.refused(&arguments, &["“bob” is not an admin", "read or write"]);
    let arguments = ["account", "token", "bob", "--scope", "all"];
    place.refused(&arguments, &["all", "read, write, admin"]);
}

#[tokio::test]
async fn an_account_is_removed_only_when_that_is_meant() {
    let place = Place::new();
    place.add("Bob", &[]);
    place.add("carol", &[]);
    let token = place.done(&["account", "token", "bob"]);
    let output = place.run_with_input(&["account", "remove", "bob"], b"Bob\n");
    assert_refused(&output, &["“Bob”", "--yes"]);
    let said = place.done(&["account", "remove", "bob", "--yes"]);
    assert!(said.contains("Removed “Bob”"), "{said}");
    let store = place.store().await;
    let hash = Token::parse(token.trim_end()).unwrap().hash();
    assert_eq!(store.account_by_token(&hash).await.unwrap(), None);
    let names: Vec<_> = store.accounts().await.unwrap();
    assert_eq!(names.len(), 1);
    store.close().await.unwrap();
    place.add("bob", &[]);
}

#[test]
fn accounts_are_listed_for_people_and_for_programs() {
    let place = Place::new();
    place.add("x", &[]);
    place.done(&["account", "remove", "x", "--yes"]);
    let said = place.done(&["account", "list"]);
    assert!(said.contains("no accounts yet") && said.contains("account add"));
    let said = place.done(&["account", "list", "--json"]);
    assert_eq!(said, "{\n  \"accounts\": []\n}\n");

    place.add("bob", &[]);
    place.add("Alexandra", &["--admin"]);
    place.done(&["account", "disable", "bob"]);
    let said = place.done(&["account", "list"]);
    let today = |text: &str| {
        let day = text.split_whitespace().last().unwrap().to_owned();
        assert!(day.parse::<chrono::NaiveDate>().is_ok(), "{text}");
        text.replace(&day, "<day>")
    };
    let lines: Vec<_> = said.lines().skip(1).map(today).collect();
    assert_eq!(
        said.lines().next(),
        Some("name       admin  disabled  created")
    );
    assert_eq!(
        lines,
        [
            "Alexandra  yes    -         <day>",
            "bob        -      yes       <day>"
        ]
    );
    let json = place.done(&["account", "list", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let first = &json["accounts"][0];
    assert_eq!(
        (&first["name"], &first["admin"]),
        (&"Alexandra".into(), &true.into())
    );
    assert_eq!(json["accounts"][1]["disabled"], true);
    let made = first["created_at"].as_str().unwrap();
    assert!(
        made.parse::<chrono::DateTime<chrono::Utc>>().is_ok(),
        "{made}"
    );
}

#[test]
fn an_account_that_is_not_there_is_told() {
    let place = Place::new();
    place.add("alice", &[]);
    for arguments in [
        &["account", "disable", "nobody"][..],
        &["account", "enable", "nobody"],
        &["account", "reset-password", "nobody"],
        &["account", "remove", "nobody", "--yes"],
        &["account", "token", "nobody"],
    ] {
        place.refused(arguments, &["there is no account “nobody”", "account list"]);
    }
}

#[test]
fn without_a_database_there_is_nothing_to_manage_and_none_is_made() {
    let place = Place::new();
    fs::create_dir(place.data()).unwrap();
    for arguments in [
        &["account", "list"][..],
        &["account", "disable", "a"],
        &["account", "enable", "a"],
        &["account", "reset-password", "a"],
        &["account", "remove", "a", "--yes"],
        &["account", "token", "a"],
        &["account", "list", "--data", "elsewhere/far"],
    ] {
        place.refused(arguments, &["there is no Sitebell database in", "--data"]);
    }
    assert!(!place.path("elsewhere").exists());
    fs::write(place.data().join("sitebell.sqlite3"), "").unwrap();
    place.refused(&["account", "list"], &["there is no Sitebell database"]);
}

#[test]
fn the_data_is_named_by_a_flag_or_a_variable_or_the_file() {
    let place = Place::new();
    let add = |name: &str, more: &[&str], variable: &str| {
        let mut command = place.command(&["account", "add", name, "--password-stdin"]);
        command.args(more).env("SITEBELL_DATA", variable);
        command.stdin(Stdio::from({
            fs::write(place.path("password"), PASSWORD).unwrap();
            fs::File::open(place.path("password")).unwrap()
        }));
        printed(&command.output().unwrap());
    };
    let names = |folder: &str| {
        let said = place.done(&["account", "list", "--json", "--data", folder]);
        let json: serde_json::Value = serde_json::from_str(&said).unwrap();
        let accounts = json["accounts"].as_array().unwrap().clone();
        let names = accounts.iter().map(|account| account["name"].to_string());
        names.collect::<String>()
    };
    add("default", &[], "");
    fs::write(
        place.path("sitebell.toml"),
        "data = 'file'\nhost-gap = '1s'",
    )
    .unwrap();
    add("file", &[], "");
    add("variable", &[], "variable");
    add("flag", &["--data", "flag"], "variable");
    fs::write(place.path("other.toml"), "data = 'other'").unwrap();
    add("other", &["--config", "other.toml"], "");
    fs::write(place.path("sitebell.toml"), "").unwrap();
    add("again", &[], "");
    for (folder, expected) in [
        ("data", "\"again\"\"default\""),
        ("file", "\"file\""),
        ("variable", "\"variable\""),
        ("flag", "\"flag\""),
        ("other", "\"other\""),
    ] {
        assert_eq!(names(folder), expected, "{folder}");
    }
    let before = place.done(&["account", "--data", "flag", "list"]);
    assert!(before.contains("flag"), "the flag may also come first");
    for (file, part) in [
        ("data = ''", "data in sitebell.toml"),
        ("data =", "sitebell.toml"),
    ] {
        fs::write(place.path("sitebell.toml"), file).unwrap();
        place.refused(&["account", "list"], &[part]);
    }
    place.refused(&["backup", "b", "--config", "no.toml"], &["no.toml"]);
}

#[test]
fn accounts_are_managed_beside_a_service() {
    let place = Place::new();
    let _lock = ServeLock::take(&place.data()).unwrap();
    let (_service, mut lines) = crate::storing::beside::writer(&place.data());
    lines.next().unwrap();
    place.add("bob", &[]);
    let token = place.done(&["account", "token", "bob"]);
    assert!(Token::parse(token.trim_end()).is_some());
    place.done(&["account", "disable", "bob"]);
    assert!(place.done(&["account", "list"]).contains("bob"));
    place.done(&["account", "remove", "bob", "--yes"]);
    assert!(lines.next().is_some(), "the service still writes");
}

#[test]
fn databases_that_cannot_be_used_are_refused_and_left_alone() {
    let place = Place::new();
    place.add("alice", &[]);
    let file = place.data().join("sitebell.sqlite3");
    let good = fs::read(&file).unwrap();
    let mut newer = good.clone();
    newer[60..64].copy_from_slice(&77_u32.to_be_bytes());
    let mut broken = good.clone();
    broken[4096..].fill(0x55);
    for (bytes, part) in [
        (&b"something else"[..], "not a Sitebell database"),
        (&newer, "newer Sitebell"),
        (&good[..good.len() / 2], "damaged"),
        (&broken, "damaged"),
    ] {
        fs::write(&file, bytes).unwrap();
        for arguments in [
            &["account", "list"][..],
            &["account", "add", "bob", "--password-stdin"],
            &["account", "token", "alice"],
            &["backup", "copy"],
        ] {
            place.refused(arguments, &["sitebell.sqlite3", part, ";"]);
        }
    }
    fs::write(place.path("file"), "").unwrap();
    for folder in ["file", "file/below"] {
        let arguments = [
            "account",
            "add",
            "bob",
            "--password-stdin",
            "--data",
            folder,
        ];
        let output = place.run_with_input(&arguments, PASSWORD.as_bytes());
        assert_refused(&output, &["file", "not a folder", "choose another"]);
    }
}

/// Makes a command run as somebody who may not touch what the tests make. None where that cannot be done.
#[cfg(unix)]
fn as_a_stranger(command: &mut Command) -> Option<Output> {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let output = command.uid(NOBODY).gid(NOBODY).current_dir("/").output();
    output.ok()
}

#[cfg(unix)]
#[test]
fn a_folder_without_permission_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.add("alice", &[]);
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(place.folder.path(), open).unwrap();
    let before = place.files();
    let data = place.data();
    for arguments in [
        &["account", "list"][..],
        &["account", "add", "bob"],
        &["backup", "/tmp/never-written"],
    ] {
        let mut command = place.command(arguments);
        command.arg("--data").arg(&data);
        // Only the superuser may become somebody else.
        let Some(output) = as_a_stranger(&mut command) else {
            return;
        };
        assert_refused(&output, &["may not be read or written", "own it"]);
    }
    let mut command = place.command(&["account", "add", "bob", "--password-stdin"]);
    command.arg("--data").arg(place.path("new"));
    command.stdin(fs::File::open(file_with_password(&place)).unwrap());
    let output = as_a_stranger(&mut command).unwrap();
    assert_refused(&output, &["new may not be read or written"]);
    fs::remove_file(place.path("password")).unwrap();
    assert!(place.files() == before);
}

#[cfg(unix)]
fn file_with_password(place: &Place) -> PathBuf {
    fs::write(place.path("password"), PASSWORD).unwrap();
    place.path("password")
}

#[cfg(unix)]
#[test]
fn what_the_superuser_makes_belongs_to_the_owner_of_the_folder() {
    use std::os::unix::fs::{MetadataExt, chown};
    let place = Place::new();
    fs::create_dir(place.data()).unwrap();
    if chown(place.data(), Some(12_345), Some(12_345)).is_err() {
        return; // Only the superuser may.
    }
    place.add("alice", &[]);
    let owner = |path: PathBuf| fs::metadata(path).unwrap().uid();
    assert_eq!(owner(place.data().join("sitebell.sqlite3")), 12_345);
    place.done(&["backup", "copy"]);
    assert_eq!(owner(place.path("copy")), owner(place.folder.path().into()));
    place.done(&["restore", "copy"]);
    assert_eq!(owner(place.data().join("sitebell.sqlite3")), 12_345);
}

/// A program at a pseudo-terminal, which a test talks to like a person: reading first.
struct Screen {
    child: Child,
    keyboard: ChildStdin,
    shown: String,
    terminal: String,
}

const PATIENCE: Duration = Duration::from_secs(60);

impl Screen {
    /// None where there are no such programs as util-linux's `script` and `stty`.
    fn start(place: &Place, arguments: &str) -> Option<Screen> {
        let program = env!("CARGO_BIN_EXE_sitebell");
        let command = format!("tty && exec {program} {arguments}");
        let mut child = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH")?)
            .env("SHELL", "/bin/sh")
            .current_dir(place.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        let keyboard = child.stdin.take()?;
        let mut screen = Screen {
            child,
            keyboard,
            shown: String::new(),
            terminal: String::new(),
        };
        screen.wait_for("\n");
        screen.terminal = screen.shown.trim().to_owned();
        let answer = Command::new("stty").args(["-F", &screen.terminal]).output();
        answer.is_ok().then_some(screen)
    }

    /// Reads until this is on the screen.
    fn wait_for(&mut self, text: &str) {
        let output = self.child.stdout.as_mut().unwrap();
        let mut bytes = Vec::from(std::mem::take(&mut self.shown));
        while !String::from_utf8_lossy(&bytes).contains(text) {
            let mut byte = [0];
            let read = output.read(&mut byte).unwrap();
            assert_ne!(
                read,
                0,
                "{} ends without {text}",
                String::from_utf8_lossy(&bytes)
            );
            bytes.push(byte[0]);
        }
        self.shown = String::from_utf8(bytes).unwrap();
    }

    fn type_line(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
        self.keyboard.write_all(b"\n").unwrap();
    }

    /// Types what must not be seen, once the program has stopped the terminal from showing it.
    fn type_secret(&mut self, prompt: &str, text: &str) {
        self.wait_for(prompt);
        let begun = Instant::now();
        loop {
            let state = Command::new("stty")
                .args(["-a", "-F", &self.terminal])
                .output();
            if stdout(&state.unwrap()).contains("-echo ") {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "everybody would see it");
        }
        self.type_line(text);
    }

    /// Everything that was ever on the screen, and how the program ended.
    fn end(mut self) -> (String, i32) {
        let mut rest = String::new();
        let output = self.child.stdout.as_mut().unwrap();
        output.read_to_string(&mut rest).unwrap();
        let status = self.child.wait().unwrap();
        (self.shown + &rest, status.code().unwrap())
    }
}

#[tokio::test]
async fn a_terminal_asks_twice_and_shows_nothing() {
    let place = Place::new();
    let Some(mut screen) = Screen::start(&place, "account add alice") else {
        return;
    };
    screen.type_secret("better 15): ", "seven owls, no fox");
    screen.type_secret("The same again: ", "seven owls, no fox");
    let (shown, code) = screen.end();
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains("owls"), "{shown}");
    assert!(shown.contains("Added the account “alice”."), "{shown}");
    let store = place.store().await;
    let alice = store.account_by_name("alice").await.unwrap().unwrap();
    let hash = store.password_hash(alice.id).await.unwrap();
    let fits = verify_password("seven owls, no fox", hash.as_deref()).await;
    assert_eq!(fits, Ok(true));
    let kept = store.recovery_hash(alice.id).await.unwrap().unwrap();
    assert!(code_in(&shown.replace('\r', "")).is(&kept));
    store.close().await.unwrap();

    let Some(mut screen) = Screen::start(&place, "account reset-password alice") else {
        return;
    };
    screen.type_secret("better 15): ", "nine owls, one fox");
    screen.type_secret("The same again: ", "nine owls, one fux");
    let (shown, code) = screen.end();
    assert_eq!(code, 2);
    assert!(shown.contains("sitebell: the two passwords are not the same"));
    assert!(!shown.contains("owls"), "{shown}");
    let store = place.store().await;
    assert_eq!(store.password_hash(alice.id).await.unwrap(), hash);
}

#[test]
fn a_terminal_does_not_ask_twice_for_a_bad_password() {
    let place = Place::new();
    let Some(mut screen) = Screen::start(&place, "account add alice") else {
        return;
    };
    screen.type_secret("better 15): ", "password");
    let (shown, code) = screen.end();
    assert_eq!(code, 2);
    assert!(shown.contains("one of the commonest") && !shown.contains("again"));
    assert_eq!(place.files(), BTreeMap::new());
}

#[test]
fn a_terminal_asks_for_the_name_before_anything_is_removed() {
    let place = Place::new();
    place.add("Bob", &[]);
    for (typed, expected) in [("", 2), ("bab", 2), ("yes", 2), ("Bob", 0)] {
        let Some(mut screen) = Screen::start(&place, "account remove bob") else {
            return;
        };
        screen.wait_for("Type the name to go on: ");
        screen.type_line(typed);
        let (shown, code) = screen.end();
        assert_eq!(code, expected, "{shown}");
        let is_there = place.done(&["account", "list"]).contains("Bob");
        assert_eq!(is_there, expected == 2, "{typed}");
    }
}
