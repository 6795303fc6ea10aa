//! What a check found, for a person at a terminal.

use std::fmt::Write as _;

use chrono::NaiveDate;

use crate::change::ChangeKind;
use crate::check::rules::judge;
use crate::check::{Checked, CollectionReading, Tried};
use crate::feed::size_in_words;
use crate::moment::{Moment, Precision};
use crate::problem::{Code, Problem, Severity};
use crate::site::Format;

/// Changes of one collection that are shown; programs ask for JSON.
const MAX_CHANGES: usize = 50;

/// Renders a check.
pub(super) fn render(checked: &Checked, since: Option<Moment>, colour: bool) -> String {
    let mut report = Report {
        text: String::new(),
        colour,
    };
    report.site(checked);
    for collection in &checked.collections {
        report.collection(collection, since);
    }
    report.rules(checked);
    report.problems(&checked.problems);
    report.text
}

struct Report {
    text: String,
    colour: bool,
}

#[derive(Clone, Copy)]
enum Style {
    Bold,
    Dim,
    Red,
    Yellow,
    Green,
    Blue,
}

impl Report {
    fn site(&mut self, checked: &Checked) {
        let site = &checked.site;
        let title = self.paint(Style::Bold, &site.title);
        self.line(&format!("{title}  {}", site.url));
        match &site.root {
            Some(root) => {
                let format = site.format.unwrap_or(Format::ResourceSync);
                self.line(&match format {
                    Format::ResourceSync => format!("described in ResourceSync by {root}"),
                    format => format!("its pages are listed by the {} {root}", format.title()),
                });
            }
            None => self.line("no description of its changes was found"),
        }
        self.tried(&site.tried);
        let changes = checked
            .collections
            .iter()
            .map(|collection| collection.changes.len())
            .sum();
        let summary = format!(
            "{}, {}; read with {} ({})",
            count(checked.collections.len(), "collection"),
            count(changes, "change"),
            count(checked.requests as usize, "request"),
            size_in_words(checked.bytes)
        );
        let summary = self.paint(Style::Dim, &summary);
        self.line(&summary);
    }

    /// Which formats were looked for, unless the best was found at once.
    fn tried(&mut self, tried: &[Tried]) {
        if tried.len() < 2 {
            return;
        }
        for one in tried {
            let title = capitalised(one.format.title());
            let line = format!("  {title}: {} - {}", one.url, one.outcome);
            let line = self.paint(Style::Dim, &line);
            self.line(&line);
        }
    }

    fn collection(&mut self, collection: &CollectionReading, since: Option<Moment>) {
        self.line("");
        let title = self.paint(Style::Bold, &collection.title);
        self.line(&format!("{title}  {}", collection.id));
        if let Some(pages) = collection.page_count {
            let counted = || format!("{}.", count(pages, "page"));
            let note = collection.note.clone().unwrap_or_else(counted);
            self.line(&format!("  {note}"));
            if collection.changes.is_empty() {
                return;
            }
        }
        if collection.changes.is_empty() {
            match since {
                Some(since) => self.line(&format!("  no changes since {since}")),
                None => self.line("  no changes"),
            }
            return;
        }
        let mut day = None;
        for change in collection.changes.iter().rev().take(MAX_CHANGES) {
            let of_day = day_of(&change.datetime);
            if day.as_ref() != Some(&of_day) {
                self.line(&format!("  {of_day}"));
                day = Some(of_day);
            }
            let (kind, style) = match change.kind {
                ChangeKind::Created => ("new     ", Style::Green),
                ChangeKind::Updated => ("updated ", Style::Blue),
                ChangeKind::Deleted => ("deleted ", Style::Red),
            };
            let kind = self.paint(style, kind);
            let time = time_of(&change.datetime);
            self.line(&format!("    {kind} {time}{}", change.url));
            let moved = change.moved().map(|moved| moved.to_string());
            for note in moved.iter().chain(&change.details.note) {
                self.line(&format!("                    {note}"));
            }
        }
        if let Some(more) = collection
            .changes
            .len()
            .checked_sub(MAX_CHANGES)
            .filter(|more| *more > 0)
        {
            self.line(&format!(
                "  and {} before; --json lists all of them",
                count(more, "change")
            ));
        }
    }

    fn rules(&mut self, checked: &Checked) {
        let judged = judge(checked.site.format, &checked.problems);
        if judged.is_empty() {
            return;
        }
        self.line("");
        let title = self.paint(Style::Bold, "Rules");
        self.line(&title);
        for one in judged {
            let (word, style) = match one.broken {
                None => ("kept    ", Style::Green),
                Some(Severity::Error) => ("broken  ", Style::Red),
                Some(Severity::Warning) => ("broken  ", Style::Yellow),
                Some(Severity::Note) => ("advice  ", Style::Blue),
            };
            let word = self.paint(style, word);
            self.line(&format!("  {word} {}", one.rule));
        }
    }

    fn problems(&mut self, problems: &[Problem]) {
        self.line("");
        if problems.is_empty() {
            let fine = self.paint(Style::Green, "Nothing to fix.");
            return self.line(&fine);
        }
        let mut sorted: Vec<&Problem> = problems.iter().collect();
        sorted.sort_by_key(|problem| std::cmp::Reverse(problem.severity()));
        for problem in &sorted {
            self.problem(problem);
        }
        let of = |severity| {
            problems
                .iter()
                .filter(|problem| problem.severity() == severity)
                .count()
        };
        let counts: Vec<String> = [
            (Severity::Error, "error"),
            (Severity::Warning, "warning"),
            (Severity::Note, "note"),
        ]
        .into_iter()
        .filter(|(severity, _)| of(*severity) > 0)
        .map(|(severity, noun)| count(of(severity), noun))
        .collect();
        self.line(&counts.join(", "));
    }

    fn problem(&mut self, problem: &Problem) {
        let (word, style) = match problem.severity() {
            Severity::Error => ("error", Style::Red),
            Severity::Warning => ("warning", Style::Yellow),
            Severity::Note => ("note", Style::Blue),
        };
        let word = self.paint(style, word);
        let code = self.paint(Style::Dim, &format!("[{}]", problem.code));
        self.line(&format!(
            "{word}: {} {code}",
            capitalised(&problem.sentence())
        ));
        let line = problem
            .line
            .map(|line| format!(", line {line}"))
            .unwrap_or_default();
        self.line(&format!("  in {}{line}", problem.document));
        self.line(&format!("  Fix: {}", problem.code.fix()));
        if problem.code == Code::ForbiddenAddress {
            self.line("  To read your own network from here, allow it with --allow-net.");
        }
        for line in problem.snippet.lines() {
            let line = self.paint(Style::Dim, line);
            self.line(&format!("    {line}"));
        }
        self.line("");
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    fn paint(&self, style: Style, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match style {
            Style::Bold => 1,
            Style::Dim => 2,
            Style::Red => 31,
            Style::Yellow => 33,
            Style::Green => 32,
            Style::Blue => 34,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// The heading under which a change belongs: its day, or what is known of it.
fn day_of(moment: &Moment) -> String {
    let date: NaiveDate = moment.start().date_naive();
    match moment.precision() {
        Precision::Year => date.format("%Y").to_string(),
        Precision::Month => date.format("%B %Y").to_string(),
        _ => date.format("%A, %-d %B %Y").to_string(),
    }
}

fn time_of(moment: &Moment) -> String {
    match moment.has_time() {
        true => moment.start().format("%H:%M  ").to_string(),
        false => "       ".to_owned(),
    }
}

fn count(count: usize, noun: &str) -> String {
    match count {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

fn capitalised(sentence: &str) -> String {
    // An address is written as it is, wherever it stands.
    if sentence.starts_with("http://") || sentence.starts_with("https://") {
        return sentence.to_owned();
    }
    let mut letters = sentence.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string())
        .unwrap_or_default();
    first + letters.as_str()
}
