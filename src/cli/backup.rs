//! `sitebell backup` and `sitebell restore`: a copy of everything, and back.

use std::path::PathBuf;

use chrono::Utc;
use clap::{Arg, ArgMatches, Command, value_parser};

use super::{CliError, Outcome, data_folder, print, wait_for};
use crate::store::{Store, StoreError};

pub(super) fn backup_command() -> Command {
    Command::new("backup")
        .about("Write a copy of all data to a new file, also while the service runs")
        .long_about(
            "Writes a consistent copy of all data to a new file, also while the service runs. The file holds the hashes \
             of passwords and tokens, so it is for its owner only.",
        )
        .arg(file("The file to write; it must not exist yet"))
}

pub(super) fn restore_command() -> Command {
    Command::new("restore")
        .about("Put a backup in the place of the data, while the service is stopped")
        .long_about(
            "Puts a backup in the place of the data, while the service is stopped. The backup is examined to the last \
             page first, and what was there before is kept beside it. Feeds and entries keep the ids of the backup.",
        )
        .arg(file("A file that sitebell backup has made"))
}

fn file(help: &'static str) -> Arg {
    Arg::new("file")
        .required(true)
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help(help)
}

pub(super) fn run_backup(arguments: &ArgMatches) -> Result<Outcome, CliError> {
    let (folder, file) = places(arguments)?;
    let done = wait_for(async { Ok(Store::back_up_folder(&folder, &file).await?) });
    done.map_err(|error| match error {
        CliError::Store(StoreError::Missing { folder }) => CliError::Failed(format!(
            "there is nothing to back up in {}; name the folder of the data with --data",
            folder.display()
        )),
        error => error,
    })?;
    print(&format!(
        "The data in {} is now also in {}.\n",
        folder.display(),
        file.display()
    ))?;
    Ok(Outcome::Done)
}

pub(super) fn run_restore(arguments: &ArgMatches) -> Result<Outcome, CliError> {
    let (folder, file) = places(arguments)?;
    let aside = Store::restore(&file, &folder, Utc::now())?;
    let before = aside.map(|aside| format!(" What was there before is in {}.", aside.display()));
    print(&format!(
        "The data in {} is now that of {}.{}\n",
        folder.display(),
        file.display(),
        before.unwrap_or_default()
    ))?;
    Ok(Outcome::Done)
}

fn places(arguments: &ArgMatches) -> Result<(PathBuf, PathBuf), CliError> {
    let file = arguments.get_one::<PathBuf>("file");
    let file = file.cloned().unwrap_or_default();
    Ok((data_folder(arguments)?, file))
}
