//! The command line: which commands there are and what they take.
//!
//! Every command ends in one of three ways, which are the exit codes: done; done, and problems were found; could not be
//! done, with one clear sentence.

mod account;
mod backup;
mod check;
mod demo;
mod publish;
mod report;
mod serve;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::config::{Config, ConfigError, Group, SETTINGS, Values};
use crate::secret::SecretError;
use crate::store::StoreError;

/// Why a command could not be done.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// A setting.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A password.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// An argument.
    #[error("{0}")]
    Argument(String),
    /// The thing itself.
    #[error("{0}")]
    Failed(String),
}

/// How a command ended that could be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to complain about.
    Done,
    /// Problems were found.
    ProblemsFound,
}

/// Runs the command that the arguments name.
pub fn run(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> ExitCode {
    let matches = match command().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        // Help and version, asked for or not: the texts are clap's own.
        Err(error) if !error.use_stderr() || is_help(&error) => {
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
        Err(error) => return fail(&misuse(&error)),
    };
    let result = match matches.subcommand() {
        Some(("check", arguments)) => check::run(arguments),
        Some(("publish", arguments)) => publish::run(arguments),
        Some(("serve", arguments)) => serve::run(arguments),
        Some(("account", arguments)) => account::run(arguments),
        Some(("backup", arguments)) => backup::run_backup(arguments),
        Some(("restore", arguments)) => backup::run_restore(arguments),
        _ => Err(CliError::Argument(
            "there is no such command; see sitebell --help".to_owned(),
        )),
    };
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::ProblemsFound) => ExitCode::from(1),
        Err(error) => fail(&error.to_string()),
    }
}

fn fail(sentence: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "sitebell: {sentence}");
    ExitCode::from(2)
}

fn is_help(error: &clap::Error) -> bool {
    error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}

/// What clap says in several lines, as one sentence.
fn misuse(error: &clap::Error) -> String {
    let text = error.to_string();
    let said = text.split("\nUsage:").next().unwrap_or_default();
    let said = said.split("\nFor more information").next().unwrap_or(said);
    let words: Vec<&str> = said
        .strip_prefix("error:")
        .unwrap_or(said)
        .split_whitespace()
        .collect();
    // What people type comes back in clap's texts, so it is made harmless for the terminal.
    let sentence = words.join(" ").replace(" tip: ", "; ");
    let harmless = sentence.replace(|character: char| character.is_control(), "?");
    format!("{harmless}; see sitebell --help")
}

/// All commands.
pub fn command() -> Command {
    Command::new("sitebell")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Follow any website: reads what a site says about its changes and makes feeds of it")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(with_settings(
            serve::command(),
            &[Group::Service, Group::Data, Group::Reading],
        ))
        .subcommand(with_settings(check::command(), &[Group::Reading]))
        .subcommand(with_settings(publish::command(), &[Group::Reading]))
        .subcommand(with_settings(account::command(), &[Group::Data]))
        .subcommand(with_settings(backup::backup_command(), &[Group::Data]))
        .subcommand(with_settings(backup::restore_command(), &[Group::Data]))
}

/// Adds settings to a command.
fn with_settings(command: Command, groups: &[Group]) -> Command {
    let settings = SETTINGS
        .iter()
        .filter(|setting| groups.contains(&setting.group));
    let settings = settings.map(|setting| {
        let action = if setting.is_list() {
            ArgAction::Append
        } else {
            ArgAction::Set
        };
        Arg::new(setting.name)
            .long(setting.name)
            .value_name(setting.value)
            .action(action)
            .allow_negative_numbers(true) // Refused by name, and not as a flag that nobody knows.
            .global(true) // `account` has commands of its own.
            .help(setting.to_string())
            .help_heading("Settings (a flag, or the environment, or sitebell.toml)")
    });
    let file = Arg::new("config")
        .long("config")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .global(true)
        .help("Read settings from this file instead of sitebell.toml in the working directory")
        .help_heading("Settings (a flag, or the environment, or sitebell.toml)");
    command.arg(file).args(settings)
}

/// Runs what has to wait for something.
fn wait_for<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime =
        runtime.map_err(|error| CliError::Failed(format!("the program cannot start: {error}")))?;
    runtime.block_on(work)
}

/// The settings that hold for a command.
fn config(arguments: &ArgMatches) -> Result<Config, CliError> {
    Ok(values(arguments)?.config()?)
}

/// Where the data is. What else is set does not matter to those who ask this.
fn data_folder(arguments: &ArgMatches) -> Result<PathBuf, CliError> {
    Ok(values(arguments)?.data()?)
}

fn values(arguments: &ArgMatches) -> Result<Values, ConfigError> {
    let flag = |name: &str| {
        // A command does not take the settings of others.
        let values = arguments.try_get_many::<String>(name).ok().flatten();
        values.map(|values| values.cloned().collect())
    };
    Values::gather(
        |name| flag(name).unwrap_or_default(),
        |name| {
            // A value that is no text should be refused as what it is, not passed over.
            let value = std::env::var_os(name)?.to_string_lossy().into_owned();
            (!value.is_empty()).then_some(value)
        },
        arguments.get_one::<PathBuf>("config").map(PathBuf::as_path),
    )
}

/// Writes to standard output. A reader that has seen enough (`| head`) is no error.
fn print(text: &str) -> Result<(), CliError> {
    let mut output = std::io::stdout().lock();
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(CliError::Failed(
            format!("the output could not be written: {error}"),
        )),
        _ => Ok(()),
    }
}

/// Whether colour is welcome on standard output.
fn wants_colour() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal()
        && !set("NO_COLOR")
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
