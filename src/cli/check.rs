//! `sitebell check`: reads a site once, writes nothing, and prints what it found.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::IsTerminal;
use std::sync::Arc;

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use clap::{Arg, ArgAction, ArgMatches, Command};
use indicatif::{ProgressBar, ProgressStyle};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use url::Url;

use super::{CliError, Outcome, config, print, report, wait_for, wants_colour};
use crate::change::Entry;
use crate::check::rules::{Judged, judge};
use crate::check::{CheckError, CheckSettings, Checked, CollectionReading, Tried, check_site};
use crate::feed::{self, Document, Grain, Links, Subject};
use crate::fetch::{FetchError, Fetcher};
use crate::load::Progress;
use crate::moment::Moment;
use crate::problem::Severity;
use crate::schedule::preview;
use crate::site::SiteUrl;
use crate::text::tag;
use crate::track::{first_entries, made_at};

pub(super) fn command() -> Command {
    Command::new("check")
        .about("Read a site once and print its collections, changes and problems")
        .long_about(
            "Reads a site once, writes nothing, and prints its collections, its changes and what its author should \
             fix.\n\nExit status: 0 if there is nothing to fix; 1 if there are errors or warnings (notes are advice \
             and do not count); 2 if the site could not be checked.",
        )
        .arg(Arg::new("address").required(true).value_name("ADDRESS").help("A site, a page or a document: example.com"))
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .conflicts_with("atom")
                .help("Print everything as JSON, for programs"),
        )
        .arg(
            Arg::new("atom")
                .long("atom")
                .action(ArgAction::SetTrue)
                .help("Print the Atom feed that following this site would start with"),
        )
        .arg(
            Arg::new("since")
                .long("since")
                .value_name("DATETIME")
                .help("Only changes after this W3C datetime, such as 2026-01-31 or 2026-01-31T12:00:00Z"),
        )
        .arg(
            Arg::new("accept-lastmod")
                .long("accept-lastmod")
                .action(ArgAction::SetTrue)
                .help("Take lastmod for the time of changes without datetime, as ResourceSync 1.0 meant it"),
        )
}

pub(super) fn run(arguments: &ArgMatches) -> Result<Outcome, CliError> {
    let config = config(arguments)?;
    let typed = arguments
        .get_one::<String>("address")
        .map(String::as_str)
        .unwrap_or_default();
    let site = SiteUrl::parse(typed).map_err(|error| CliError::Argument(error.to_string()))?;
    let since = arguments.get_one::<String>("since").map(|text| {
        Moment::parse(text.trim())
            .map_err(|error| CliError::Argument(format!("--since is “{text}”: {error}")))
    });
    let settings = CheckSettings {
        accept_lastmod: arguments.get_flag("accept-lastmod"),
        since: since.transpose()?,
        ..config.check_settings()
    };
    let fetcher =
        Fetcher::new(config.fetch).map_err(|error| CliError::Failed(error.to_string()))?;
    let now = Utc::now();
    let bar = progress_bar();
    let checked = wait_for(async {
        let progress = progress(&bar);
        Ok(check_site(&fetcher, &site, None, &settings, now, progress).await)
    });
    bar.finish_and_clear();
    let mut checked = checked?.map_err(|error| {
        let hint = allow_net_hint(&error);
        CliError::Failed(format!("{site} cannot be checked: {error}{hint}"))
    })?;
    preview(&mut checked, settings.since, now);
    let text = if arguments.get_flag("json") {
        format!("{:#}\n", to_json(&checked))
    } else if arguments.get_flag("atom") {
        to_atom(&checked, now)
    } else {
        report::render(&checked, settings.since, wants_colour())
    };
    print(&text)?;
    let worst = checked
        .problems
        .iter()
        .map(|problem| problem.severity())
        .max();
    Ok(if worst > Some(Severity::Note) {
        Outcome::ProblemsFound
    } else {
        Outcome::Done
    })
}

/// Who runs the command may well mean a place inside of their own network.
fn allow_net_hint(error: &CheckError) -> &'static str {
    let CheckError::Unreachable(error) = error else {
        return "";
    };
    match &**error {
        FetchError::Refused(refusal) if refusal.is_about_the_network() => {
            "; if it is yours to read, allow its network with --allow-net"
        }
        _ => "",
    }
}

/// A line that says what is being read; hidden unless a person is looking at the output.
fn progress_bar() -> ProgressBar {
    if !std::io::stdout().is_terminal() || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(std::time::Duration::from_millis(100));
    bar
}

fn progress(bar: &ProgressBar) -> Progress {
    let bar = bar.clone();
    Arc::new(move |url: &Url| bar.set_message(format!("reading {url}")))
}

/// The shape that programs rely on.
fn to_json(checked: &Checked) -> Value {
    let collections: Vec<Value> = checked.collections.iter().map(collection_to_json).collect();
    json!({
        "site": {
            "url": checked.site.url.as_str(),
            "root": checked.site.root.as_ref().map(Url::as_str),
            "format": checked.site.format.map(|format| format.as_str()),
            "title": checked.site.title,
            "tried": checked.site.tried.iter().map(tried_to_json).collect::<Vec<_>>(),
        },
        "collections": collections,
        "rules": judge(checked.site.format, &checked.problems).iter().map(rule_to_json).collect::<Vec<_>>(),
        "problems": checked.problems,
        "requests": checked.requests,
        "bytes": checked.bytes,
    })
}

fn tried_to_json(tried: &Tried) -> Value {
    json!({
        "format": tried.format.as_str(),
        "url": tried.url.as_str(),
        "outcome": tried.outcome,
    })
}

fn rule_to_json(judged: &Judged) -> Value {
    json!({
        "rule": judged.rule,
        "broken": judged.broken,
    })
}

fn collection_to_json(collection: &CollectionReading) -> Value {
    let as_given = |moment: Option<Moment>| moment.map(|moment| moment.to_string());
    let changes = collection.changes.iter().map(|change| {
        let mut shape = json!({
            "url": change.url,
            "kind": change.kind,
            "datetime": change.datetime.to_string(),
            "title": change.title,
            "basis": if change.details.is_inferred { "inferred" } else { "stated" },
        });
        if let Some(note) = &change.details.note {
            shape["note"] = json!(note);
        }
        shape
    });
    json!({
        "id": collection.id.as_str(),
        "title": collection.title,
        "capability_list": collection.capability_list.as_ref().map(Url::as_str),
        "change_lists": collection.change_lists.iter().map(Url::as_str).collect::<Vec<_>>(),
        "horizon": as_given(collection.horizon),
        "last_processed": as_given(collection.last_processed),
        "pages": collection.page_count,
        "changes": changes.collect::<Vec<_>>(),
    })
}

/// The feed of the whole site, as its first check would make it.
fn to_atom(checked: &Checked, now: DateTime<Utc>) -> String {
    let site = &checked.site;
    let home = site.root.as_ref().unwrap_or(&site.url);
    let page = home.join("/").unwrap_or_else(|_| home.clone());
    let mut told = HashMap::new();
    let parts: Vec<(Subject<'_>, Vec<Entry>)> = (checked.collections.iter())
        .map(|collection| {
            let subject = Subject {
                id: tag_of(&collection.id, None),
                title: &collection.title,
                about: &collection.about,
                page: Cow::Borrowed(&collection.id),
                described_by: collection.described_by.as_ref(),
                via: collection.capability_list.as_ref(),
            };
            let id_of = |day| tag_of(&collection.id, Some(day));
            let entries = match collection.page_count {
                Some(_) => {
                    let entry = whole_entry(collection, &mut told, now, id_of);
                    entry.into_iter().collect()
                }
                None => first_entries(&collection.changes, now, id_of),
            };
            (subject, entries)
        })
        .collect();
    let mut items: Vec<_> = (parts.iter())
        .flat_map(|(subject, found)| found.iter().map(move |entry| (subject, entry)))
        .flat_map(|(subject, entry)| feed::items(subject, entry, None, Grain::Checks))
        .collect();
    // Readers take two items with one time for one; where collections changed on the same day, a microsecond tells them
    // apart.
    let mut times = HashSet::new();
    for item in &mut items {
        while !times.insert(item.updated_at) {
            item.updated_at += TimeDelta::microseconds(1);
        }
    }
    let subject = Subject {
        id: tag_of(&page, None) + "#site",
        title: &site.title,
        about: &site.about,
        page: Cow::Borrowed(&page),
        described_by: site.described_by.as_ref(),
        via: site.root.as_ref(),
    };
    feed::to_atom(&Document {
        subject: &subject,
        items,
        has_sources: true,
        // Nothing happened at any particular time; today will do, and stays the same for a day.
        none_at: now.date_naive().and_time(NaiveTime::MIN).and_utc(),
        reworded_at: None,
        links: Links::default(),
    })
}

/// The one entry with which a collection starts that lists its pages, without what was `told` of pages that others have
/// as well.
fn whole_entry<'c>(
    collection: &'c CollectionReading,
    told: &mut HashMap<&'c str, Moment>,
    now: DateTime<Utc>,
    id_of: impl Fn(NaiveDate) -> String,
) -> Option<Entry> {
    let mut changes = collection.changes.clone();
    changes.retain(|change| {
        let before = told.get(change.url.as_str());
        before.is_none_or(|before| before.comes_before(&change.datetime))
    });
    for change in &collection.changes {
        let at = told.entry(&change.url).or_insert(change.datetime);
        *at = change.datetime.max(*at);
    }
    let updated_at = made_at(&changes.last()?.datetime, now);
    Some(Entry {
        id: id_of(updated_at.date_naive()),
        updated_at,
        changes,
        note: collection.note.clone(),
    })
}

/// What a tag URI may hold as it is (RFC 4151, and RFC 3986 for what an address holds).
const IN_A_TAG: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@')
    .remove(b'/')
    .remove(b'?')
    .remove(b'%');

/// An id for something that is printed and forgotten: the same every time, because it is made of nothing but the
/// address and the day.
fn tag_of(url: &Url, day: Option<NaiveDate>) -> String {
    let host = tag::authority(url);
    let rest = &url.as_str()[url.scheme().len() + "://".len()..];
    let rest = utf8_percent_encode(rest, IN_A_TAG);
    let day = day.map(|day| format!(":{day}")).unwrap_or_default();
    // RFC 4151: since when the name is used this way, which is as good as any day of the proposal's year.
    format!("tag:{host},2022:sitebell:{rest}{day}")
}
