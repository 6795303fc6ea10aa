//! `sitebell account`: who may sign in, for the operator at a terminal or in a script.
//!
//! Works on the database itself, beside a running service or before there is one. A password comes from a terminal or
//! from standard input, never from the command line, where others could see it.

use std::io::{BufRead, IsTerminal, Read, Write};
use std::path::Path;

use chrono::Utc;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::json;

use super::{CliError, Outcome, data_folder, print, wait_for};
use crate::account::{Account, AccountName, Scope};
use crate::secret::{
    GOOD_PASSWORD_CHARS, MIN_PASSWORD_CHARS, Password, RecoveryCode, Token, hash_password,
};
use crate::store::{Store, StoreError};

/// More than any password; what comes after it is not read.
const MAX_LINE_BYTES: u64 = 64 * 1024;

pub(super) fn command() -> Command {
    let name = || {
        Arg::new("name")
            .required(true)
            .value_name("NAME")
            .help("The name of the account")
    };
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::SetTrue)
            .help(help)
    };
    let password = || {
        flag(
            "password-stdin",
            "Read the password from standard input (one line) instead of asking for it",
        )
    };
    Command::new("account")
        .about("Add, list, disable and remove accounts, and make tokens for the API")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("add")
                .about("Add an account, and print its recovery code")
                .arg(name())
                .arg(flag("admin", "Let it run the instance"))
                .arg(password()),
        )
        .subcommand(
            Command::new("list")
                .about("List all accounts")
                .arg(flag("json", "Print them as JSON, for programs")),
        )
        .subcommand(
            Command::new("disable")
                .about("Keep an account, but sign it out everywhere and let neither it nor its tokens in")
                .arg(name()),
        )
        .subcommand(
            Command::new("enable")
                .about("Let a disabled account in again")
                .arg(name()),
        )
        .subcommand(
            Command::new("reset-password")
                .about("Give an account a new password, sign it out everywhere, and print its new recovery code")
                .arg(name())
                .arg(password()),
        )
        .subcommand(
            Command::new("remove")
                .about("Remove an account with its subscriptions and tokens")
                .arg(name())
                .arg(flag("yes", "Do not ask whether it is meant")),
        )
        .subcommand(
            Command::new("token")
                .about("Make a new token for the API, and print it and nothing else")
                .arg(name())
                .arg(
                    Arg::new("scope")
                        .long("scope")
                        .value_name("SCOPE")
                        .value_parser(PossibleValuesParser::new(
                            [Scope::Read, Scope::Write, Scope::Admin].map(Scope::as_str),
                        ))
                        .default_value(Scope::Write.as_str())
                        .help("What it may do; only those of an admin may be admin"),
                ),
        )
}

pub(super) fn run(arguments: &ArgMatches) -> Result<Outcome, CliError> {
    let Some((command, arguments)) = arguments.subcommand() else {
        return Err(CliError::Argument("see sitebell account --help".to_owned()));
    };
    let folder = data_folder(arguments)?;
    wait_for(async {
        match command {
            "add" => add(&folder, arguments).await,
            "list" => list(&folder, arguments.get_flag("json")).await,
            "disable" => set_disabled(&folder, arguments, true).await,
            "enable" => set_disabled(&folder, arguments, false).await,
            "reset-password" => reset_password(&folder, arguments).await,
            "remove" => remove(&folder, arguments).await,
            _ => token(&folder, arguments).await,
        }
    })?;
    Ok(Outcome::Done)
}

async fn add(folder: &Path, arguments: &ArgMatches) -> Result<(), CliError> {
    let name = name(arguments)?;
    let taken = |name: &str| {
        CliError::Failed(format!(
            "there is an account “{name}” already; choose another name"
        ))
    };
    // Before the password is asked for; nothing is created until there is one.
    let namesake = using(Store::open_existing(folder).await, async |store| {
        Ok(store.account_by_name(name.as_str()).await?)
    });
    match namesake.await {
        Ok(None) | Err(CliError::Store(StoreError::Missing { .. })) => {}
        Ok(Some(account)) => return Err(taken(&account.name)),
        Err(error) => return Err(error),
    }
    let password = hash_password(&password(&name, arguments)?).await?;
    let code = RecoveryCode::make()?;
    let is_admin = arguments.get_flag("admin");
    let added = using(Store::open(folder).await, async |store| {
        let (name, code) = (name.as_str(), code.hash());
        let added = store.add_account(name, &password, &code, is_admin, Utc::now());
        Ok(added.await?)
    });
    added.await.map_err(|error| match error {
        CliError::Store(StoreError::Taken) => taken(name.as_str()),
        error => error,
    })?;
    let what = if is_admin { "admin" } else { "account" };
    print(&format!("Added the {what} “{name}”.\n{}", shown(&code)))
}

async fn list(folder: &Path, as_json: bool) -> Result<(), CliError> {
    let accounts = using(Store::open_existing(folder).await, async |store| {
        Ok(store.accounts().await?)
    });
    let accounts = accounts.await?;
    print(&match as_json {
        true => format!("{:#}\n", to_json(&accounts)),
        false => to_table(&accounts),
    })
}

async fn set_disabled(
    folder: &Path,
    arguments: &ArgMatches,
    disabled: bool,
) -> Result<(), CliError> {
    let account = with_account(folder, arguments, async |store, account| {
        found(store.set_disabled(account.id, disabled).await?, &account)?;
        Ok(account.name)
    });
    let name = account.await?;
    print(&match disabled {
        true => format!("“{name}” is disabled: it cannot sign in, and its tokens do nothing.\n"),
        false => format!("“{name}” is enabled.\n"),
    })
}

async fn reset_password(folder: &Path, arguments: &ArgMatches) -> Result<(), CliError> {
    let done = with_account(folder, arguments, async |store, account| {
        let password = hash_password(&password(&name(arguments)?, arguments)?).await?;
        // Whoever knows the old password may know the old code.
        let code = RecoveryCode::make()?;
        let hash = code.hash();
        let done = store.set_password(account.id, &password, Some(&hash));
        found(done.await?, &account)?;
        Ok((account.name, code))
    });
    let (name, code) = done.await?;
    print(&format!("“{name}” has a new password.\n{}", shown(&code)))
}

async fn remove(folder: &Path, arguments: &ArgMatches) -> Result<(), CliError> {
    let removed = with_account(folder, arguments, async |store, account| {
        if !arguments.get_flag("yes") {
            confirm(&account)?;
        }
        found(store.remove_account(account.id).await?, &account)?;
        Ok(account.name)
    });
    let name = removed.await?;
    print(&format!(
        "Removed “{name}” with its subscriptions and tokens.\n"
    ))
}

async fn token(folder: &Path, arguments: &ArgMatches) -> Result<(), CliError> {
    let scope = arguments.get_one::<String>("scope");
    let scope = scope.and_then(|text| Scope::parse(text));
    let scope = scope.unwrap_or(Scope::Write);
    let made = with_account(folder, arguments, async |store, account| {
        let name = &account.name;
        if scope == Scope::Admin && !account.is_admin {
            return Err(CliError::Failed(format!(
                "“{name}” is not an admin, so its tokens cannot be either; choose --scope read or write"
            )));
        }
        if account.is_disabled {
            return Err(CliError::Failed(format!(
                "“{name}” is disabled, so its tokens would do nothing; enable it first"
            )));
        }
        let token = Token::make()?;
        let hash = token.hash();
        let added = store
            .add_token(account.id, &hash, "", scope, Utc::now())
            .await;
        added.map_err(|error| match error {
            StoreError::NotFound(_) => nobody(name),
            error => error.into(),
        })?;
        Ok(token)
    });
    let token = made.await?;
    print(&format!("{}\n", token.reveal()))
}

/// Does something with the database, and closes it however that ends, so that no log is left beside it.
async fn using<T>(
    opened: Result<Store, StoreError>,
    act: impl AsyncFnOnce(&Store) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let store = opened?;
    let result = act(&store).await;
    // What was written is on the disk already.
    let _ = store.close().await;
    result
}

/// Does something with the account that the arguments name.
async fn with_account<T>(
    folder: &Path,
    arguments: &ArgMatches,
    act: impl AsyncFnOnce(&Store, Account) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let name = name(arguments)?;
    let done = using(Store::open_existing(folder).await, async |store| {
        let account = store.account_by_name(name.as_str()).await?;
        let account = account.ok_or_else(|| nobody(name.as_str()))?;
        act(store, account).await
    });
    done.await
}

/// Somebody else may have removed it meanwhile.
fn found(is_there: bool, account: &Account) -> Result<(), CliError> {
    match is_there {
        true => Ok(()),
        false => Err(nobody(&account.name)),
    }
}

fn nobody(name: &str) -> CliError {
    CliError::Failed(format!(
        "there is no account “{name}”; see sitebell account list"
    ))
}

fn name(arguments: &ArgMatches) -> Result<AccountName, CliError> {
    let typed = arguments.get_one::<String>("name").map(String::as_str);
    let name = AccountName::parse(typed.unwrap_or_default());
    name.map_err(|error| CliError::Argument(error.to_string()))
}

/// The new password: a line of standard input, or typed twice.
fn password(name: &AccountName, arguments: &ArgMatches) -> Result<Password, CliError> {
    if arguments.get_flag("password-stdin") {
        return Ok(Password::parse(&line_of_input()?)?);
    }
    if !std::io::stdin().is_terminal() {
        return Err(CliError::Failed(
            "there is no terminal to ask for the password on; give it on standard input with --password-stdin"
                .to_owned(),
        ));
    }
    let ask = |prompt: String| {
        rpassword::prompt_password(prompt).map_err(|error| {
            CliError::Failed(format!(
                "the password could not be asked for ({error}); give it on standard input with --password-stdin"
            ))
        })
    };
    let typed = ask(format!(
        "Password for {name} (at least {MIN_PASSWORD_CHARS} characters, better {GOOD_PASSWORD_CHARS}): "
    ))?;
    let password = Password::parse(&typed)?;
    if ask("The same again: ".to_owned())? != typed {
        return Err(CliError::Failed(
            "the two passwords are not the same; try again".to_owned(),
        ));
    }
    Ok(password)
}

/// The first line of standard input, without its end.
fn line_of_input() -> Result<String, CliError> {
    let mut line = Vec::new();
    let mut input = std::io::stdin().lock().take(MAX_LINE_BYTES);
    let read = input.read_until(b'\n', &mut line);
    read.map_err(|error| {
        CliError::Failed(format!(
            "the password could not be read from standard input: {error}"
        ))
    })?;
    if line.ends_with(b"\n") {
        line.pop();
        if line.ends_with(b"\r") {
            line.pop();
        }
    }
    String::from_utf8(line).map_err(|_| {
        CliError::Failed(
            "the password on standard input is not text in UTF-8; give it in that encoding"
                .to_owned(),
        )
    })
}

/// Asks for the name, because what is removed does not come back.
fn confirm(account: &Account) -> Result<(), CliError> {
    let name = &account.name;
    if !std::io::stdin().is_terminal() {
        return Err(CliError::Failed(format!(
            "nobody can be asked whether “{name}” is to be removed; say so with --yes"
        )));
    }
    let mut screen = std::io::stderr();
    let asked = write!(
        screen,
        "This removes “{name}” with its subscriptions and tokens, for good.\nType the name to go on: "
    );
    let mut typed = String::new();
    let read = asked
        .and_then(|()| screen.flush())
        .and_then(|()| std::io::stdin().read_line(&mut typed));
    match read {
        Ok(_) if typed.trim() == name => Ok(()),
        _ => Err(CliError::Failed(format!(
            "that is not “{name}”, so nothing was removed; try again if it is meant"
        ))),
    }
}

/// A recovery code, and what to do with it.
fn shown(code: &RecoveryCode) -> String {
    format!(
        "Recovery code: {}\nIt is shown only now. Whoever forgets the password needs it; keep it somewhere safe.\n",
        code.reveal()
    )
}

fn to_json(accounts: &[Account]) -> serde_json::Value {
    let accounts = accounts.iter().map(|account| {
        json!({
            "name": account.name,
            "admin": account.is_admin,
            "disabled": account.is_disabled,
            "created_at": account.created_at.format("%Y-%m-%dT%H:%M:%SZ").to_string(),
        })
    });
    json!({ "accounts": accounts.collect::<Vec<_>>() })
}

fn to_table(accounts: &[Account]) -> String {
    if accounts.is_empty() {
        return "There are no accounts yet; add one with sitebell account add <name>.\n".to_owned();
    }
    let yes = |is: bool| if is { "yes" } else { "-" };
    let names = accounts.iter().map(|account| account.name.chars().count());
    let width = names.max().unwrap_or_default().max("name".len());
    let mut table = format!("{:width$}  admin  disabled  created\n", "name");
    for account in accounts {
        let Account {
            name,
            is_admin,
            is_disabled,
            created_at,
            ..
        } = account;
        let (admin, disabled) = (yes(*is_admin), yes(*is_disabled));
        let day = created_at.format("%Y-%m-%d");
        table += &format!("{name:width$}  {admin:5}  {disabled:8}  {day}\n");
    }
    table
}
