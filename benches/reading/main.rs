//! How fast a long Change List is read, and in how little memory.
//!
//! Judges ratios only, never times: two ways of reading the same bytes take turns within one run, and their medians are
//! compared. The control compares a way with itself, and so tells how much of a ratio is noise. A limit that is missed
//! is measured again before it counts, because somebody else may have been using the machine.
//!
//! `benches/run` adds the Python readers; `cargo bench` alone leaves them out.

#[path = "../common/mod.rs"]
mod common;
mod document;
mod memory;
mod peers;
mod turns;

use std::path::Path;
use std::process::ExitCode;

use self::common::table::{Limit, Table};
use self::common::{Arguments, Failure};
use self::document::{change_list, read_known};
use self::turns::{median, ratio};

/// Entries of the longest document that the Sitemaps protocol allows.
const MANY: usize = 50_000;

fn main() -> ExitCode {
    let arguments = Arguments::read();
    common::end(match arguments.value(memory::CHILD) {
        Some(file) => memory::tell(Path::new(file)).map(|()| true),
        None => compare(arguments.python()),
    })
}

/// Measures everything and prints the table. Says whether every limit was kept.
fn compare(python: Option<&Path>) -> Result<bool, Failure> {
    let many = change_list(MANY)?;
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("changelist.xml");
    std::fs::write(&file, &many)?;
    let mut ours = || read_known(&many[..]);
    let mut plain = || peers::plain_loop(&many);
    let mut table = Table::new("reading a Change List");

    table.row(
        "control: the plain quick-xml loop against itself",
        Limit::Between(0.9, 1.1),
        || ratio(&mut plain, &mut || peers::plain_loop(&many)),
    )?;
    table.row(
        "speed, against a plain quick-xml loop",
        Limit::AtLeast(1.3),
        || ratio(&mut plain, &mut ours),
    )?;
    for few in [1_000, 10_000] {
        let short = change_list(few)?;
        // As many entries in all, so that the turns are equally long.
        let mut repeated =
            || (0..MANY / few).try_fold(0, |sum, _| Ok(sum + read_known(&short[..])?));
        table.row(
            &format!("time for one of {MANY} entries, against one of {few}"),
            Limit::AtMost(1.25),
            || ratio(&mut ours, &mut repeated),
        )?;
    }
    table.row(
        &format!("MB above idle while reading {MANY} known entries"),
        Limit::AtMost(8.0),
        || memory::megabytes(&file),
    )?;
    if let Some(python) = python {
        for (name, times) in [("lxml", 12.0), ("resync", 100.0)] {
            table.row(
                &format!("speed, against {name} (Python)"),
                Limit::AtLeast(times),
                || {
                    // A turn before and one after, because the peer's own takes long.
                    let before = median(&mut ours)?;
                    let theirs = peers::python(python, name, &file)?;
                    let after = median(&mut ours)?;
                    Ok(theirs / before.midpoint(after))
                },
            )?;
        }
    }
    Ok(table.all_kept())
}
