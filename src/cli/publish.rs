//! `sitebell publish`: makes the pages in a folder followable.

use std::fs;
use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};

use chrono::Utc;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use url::Url;

use super::{CliError, Outcome, config, print, wait_for};
use crate::change::ChangeKind;
use crate::config::DEFAULT_FILE;
use crate::fetch::Fetcher;
use crate::publish::folder::PageRules;
use crate::publish::notes::Notes;
use crate::publish::order::{Order, Prepared, carry_out, prepare};
use crate::publish::settings::{CollectionSettings, Names, PublishSettings};
use crate::publish::{ENTRY_POINT, PublishError, Site, previous};
use crate::site::SiteUrl;
use crate::text::{quote, visible};

/// Changes that are listed one by one.
const MAX_SHOWN: usize = 50;
/// Files from which on a bar shows how far it is.
const MANY: usize = 500;

pub(super) fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::SetTrue)
            .help(help)
    };
    let text = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    let list = |name: &'static str, value: &'static str, help: &'static str| {
        text(name, value, help).action(ArgAction::Append)
    };
    let file = Arg::new("changelog")
        .long("changelog")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .conflicts_with("note")
        .help("Take your words from the newest part of this file; lines such as fox/den.html: … are about that page");
    Command::new("publish")
        .about("Make a folder of pages followable: write the documents that tell what changed")
        .long_about(
            "Compares the pages in a folder with what was published last time, and writes what tells their followers \
             what changed: .well-known/resourcesync, and the folder sitebell with everything that it leads to. Upload \
             both with your pages. Nothing else is touched.\n\nExit status: 0 if it is done, also if there was nothing \
             to do; 2 if it could not be done.",
        )
        .arg(
            Arg::new("folder")
                .required(true)
                .value_name("FOLDER")
                .value_parser(value_parser!(PathBuf))
                .help("The folder with the finished pages, as it is uploaded"),
        )
        .arg(text("url", "ADDRESS", "Where the site is on the web: https://fox.example/"))
        .arg(list("collection", "FOLDER=TITLE", "A folder that can be followed by itself: fox=Fox Den; may be given several times"))
        .arg(text("title", "TEXT", "What the site is called; the title of its front page where nothing is given"))
        .arg(list("author", "NAME", "Who makes it; may be given several times"))
        .arg(text("description", "TEXT", "What it is about"))
        .arg(list("ignore", "PATTERN", "Files to leave out (drafts/**), or what is no news in a page: element:.stamp, text:Built on [0-9-]+"))
        .arg(list("include", "PATTERN", "Other files to tell of beside HTML: art/*.png"))
        .arg(flag("exact", "Compare pages byte by byte, not only their titles and main parts"))
        .arg(flag("clean-urls", "Tell about.html as about, for hosts that serve it so"))
        .arg(text("note", "TEXT", "Your own words about what changed"))
        .arg(file)
        .arg(text("previous", "ADDRESS", "Take what was published last time from the live site, for builds that start from an empty folder"))
        .arg(flag("sitemap", "Write a plain sitemap.xml, too"))
        .arg(flag("html-links", "Add a link to the collection to the head of every page"))
        .arg(flag("allow-empty", "Go on if there are no pages: the last one was deleted on purpose"))
        .arg(flag("dry-run", "Show what would be written, and write nothing"))
}

pub(super) fn run(arguments: &ArgMatches) -> Result<Outcome, CliError> {
    let mut order = order(arguments)?;
    let failed = |error: PublishError| CliError::Failed(error.to_string());
    let live = match arguments.get_one::<String>("previous") {
        Some(typed) => {
            let config = config(arguments)?;
            let site = folder_address("--previous", typed)?;
            let fetcher =
                Fetcher::new(config.fetch).map_err(|error| CliError::Failed(error.to_string()))?;
            wait_for(async { previous::read(&fetcher, &site).await.map_err(failed) })?
        }
        None => None,
    };
    let bar = progress_bar();
    let progress = |done: usize, of: usize| {
        if of >= MANY {
            bar.set_length(of as u64);
            bar.set_position(done as u64);
        }
    };
    let prepared = prepare(&mut order, live, Utc::now(), &progress);
    bar.finish_and_clear();
    let prepared = prepared.map_err(failed)?;
    if !order.dry_run {
        carry_out(&order, &prepared, &mut || Ok(())).map_err(failed)?;
    }
    for remark in &prepared.found.remarks {
        let _ = writeln!(std::io::stderr(), "sitebell: {}", visible(remark, 500));
    }
    let asked_live = arguments.contains_id("previous");
    print(&report(&order, &prepared, asked_live))?;
    Ok(Outcome::Done)
}

/// What is asked for: by the flags, or else by the file.
fn order(arguments: &ArgMatches) -> Result<Order, CliError> {
    let misuse = CliError::Argument;
    let folder = arguments
        .get_one::<PathBuf>("folder")
        .cloned()
        .unwrap_or_default();
    let mut settings = settings(arguments, &folder)?;
    let text = |name: &str| arguments.get_one::<String>(name).cloned();
    let list = |name: &str| -> Vec<String> {
        let given = arguments.get_many::<String>(name);
        given
            .map(|given| given.cloned().collect())
            .unwrap_or_default()
    };
    settings.title = text("title").or(settings.title);
    settings.description = text("description").or(settings.description);
    if arguments.contains_id("author") {
        settings.author = Names(list("author"));
    }
    for collection in list("collection") {
        let Some((folder, title)) = collection.split_once('=') else {
            return Err(misuse(format!(
                "--collection is {}: it must be a folder and its title, such as fox=Fox Den",
                quote(&collection)
            )));
        };
        let title = CollectionSettings::Title(title.to_owned());
        settings.collections.insert(folder.trim().to_owned(), title);
    }
    settings.ignore.extend(list("ignore"));
    settings.include.extend(list("include"));
    let mut rules = PageRules::parse(&settings.ignore, &settings.include).map_err(misuse)?;
    rules.exact = settings.exact || arguments.get_flag("exact");
    rules.clean_urls = settings.clean_urls || arguments.get_flag("clean-urls");
    let url = text("url").or_else(|| settings.url.clone());
    let url = url.ok_or_else(|| {
        misuse(
            "the address of the site is missing; say it with --url https://fox.example/".to_owned(),
        )
    })?;
    let site = Site {
        url: folder_address("--url", &url)?,
        about: settings.about(),
        collections: settings.collections().map_err(misuse)?,
    };
    Ok(Order {
        notes: notes(arguments, &settings)?,
        folder,
        site,
        rules,
        sitemap: settings.sitemap || arguments.get_flag("sitemap"),
        html_links: settings.html_links || arguments.get_flag("html-links"),
        allow_empty: arguments.get_flag("allow-empty"),
        dry_run: arguments.get_flag("dry-run"),
    })
}

/// The part `[publish]` of the file that `--config` names, or of the one in the folder, or of that in the working
/// directory.
fn settings(arguments: &ArgMatches, folder: &Path) -> Result<PublishSettings, CliError> {
    let named = arguments.get_one::<PathBuf>("config").cloned();
    let usual = [folder.join(DEFAULT_FILE), PathBuf::from(DEFAULT_FILE)];
    let found = usual.into_iter().find(|path| path.is_file());
    let Some(path) = named.or(found) else {
        return Ok(PublishSettings::default());
    };
    let fault = |reason: String| {
        let path = path.display();
        CliError::Argument(format!("{path} cannot be used: {reason}"))
    };
    let text = fs::read_to_string(&path).map_err(|error| fault(error.to_string()))?;
    PublishSettings::parse(&text).map_err(fault)
}

fn notes(arguments: &ArgMatches, settings: &PublishSettings) -> Result<Notes, CliError> {
    if let Some(note) = arguments.get_one::<String>("note") {
        return Ok(Notes::general(note));
    }
    let named = arguments.get_one::<PathBuf>("changelog").cloned();
    let Some(path) = named.or_else(|| settings.changelog.as_ref().map(PathBuf::from)) else {
        return Ok(Notes::default());
    };
    let text = fs::read_to_string(&path).map_err(|error| {
        let path = path.display();
        CliError::Argument(format!("the changelog {path} cannot be read: {error}"))
    })?;
    Ok(Notes::from_changelog(&text))
}

/// The address of a folder of a host.
fn folder_address(flag: &str, typed: &str) -> Result<Url, CliError> {
    let site = SiteUrl::parse(typed)
        .map_err(|error| CliError::Argument(format!("{flag} is {}: {error}", quote(typed))))?;
    let mut url = site.url().clone();
    url.set_query(None);
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}

/// Hidden unless a person is looking.
fn progress_bar() -> ProgressBar {
    if !std::io::stdout().is_terminal() || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("reading {wide_bar} {pos} of {len} pages") {
        bar.set_style(style);
    }
    bar
}

fn report(order: &Order, prepared: &Prepared, asked_live: bool) -> String {
    let mut text = String::new();
    let mut say = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    let told = &prepared.plan.told;
    let mut collection = None;
    for told in told.iter().take(MAX_SHOWN) {
        if collection != Some(&told.collection) {
            collection = Some(&told.collection);
            let named = (order.site.collections.iter()).find(|own| own.folder == told.collection);
            let about = named.map_or(&order.site.about, |own| &own.about);
            let name = about.title.as_deref().unwrap_or("The site");
            say(&format!("{}:", visible(name, 100)));
        }
        let kind = match told.kind {
            ChangeKind::Created => "new    ",
            ChangeKind::Updated => "updated",
            ChangeKind::Deleted => "deleted",
        };
        let moved = told.moved.as_ref().map(|other| match told.kind {
            ChangeKind::Deleted => format!(", moved to {}", order.site.address(other)),
            _ => format!(", moved from {}", order.site.address(other)),
        });
        let page = order.site.address(&told.page);
        say(&format!("  {kind}  {page}{}", moved.unwrap_or_default()));
    }
    if told.len() > MAX_SHOWN {
        say(&format!("  and {} more", told.len() - MAX_SHOWN));
    }
    let pages = count(prepared.found.pages.len(), "page");
    say(&match (told.len(), prepared.to_write.len()) {
        (0, 0) => format!("Nothing changed on {pages}, and nothing was written."),
        (changes, files) => {
            let would = if order.dry_run {
                "would be written"
            } else {
                "written"
            };
            let changes = count(changes, "change");
            format!("{changes} on {pages}; {} {would}.", count(files, "file"))
        }
    });
    if order.dry_run {
        for file in &prepared.to_write {
            say(&format!("  {}", visible(file, 300)));
        }
    } else if prepared.is_first {
        let url = &order.site.url;
        say(&format!(
            "Upload the folder; then {url} can be followed, and sitebell check {url} tells how it looks."
        ));
        say(match asked_live {
            false => {
                "If the site was published before, this build has lost its history: publish with --previous and its address."
            }
            true => {
                "Nothing is published at the address of --previous, so every page is told as new. If it should be there, do not upload this, and look at the address."
            }
        });
    }
    if let Some(first) = prepared.without_head.first() {
        let pages = count(prepared.without_head.len(), "page");
        let such_as = visible(first, 300);
        say(&format!(
            "{pages} without a head got no link, such as {such_as}: give them a title, or put the link in yourself."
        ));
    }
    if order.site.url.path() != "/" && !order.html_links {
        say(&format!(
            "Readers look for /{ENTRY_POINT} at the top of a host, which is not in this folder: let the pages lead there with --html-links."
        ));
    }
    text
}

fn count(count: usize, noun: &str) -> String {
    match count {
        0 => format!("No {noun}s"),
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}
