//! The table of what was measured and what it had to be.

use super::{Arguments, Failure};

/// How often something is measured before a missed limit counts.
const ATTEMPTS: usize = 3;

/// What a number has to be.
pub enum Limit {
    AtLeast(f64),
    AtMost(f64),
    Between(f64, f64),
}

impl Limit {
    fn is_kept(&self, number: f64) -> bool {
        match *self {
            Limit::AtLeast(least) => number >= least,
            Limit::AtMost(most) => number <= most,
            Limit::Between(least, most) => (least..=most).contains(&number),
        }
    }

    fn text(&self) -> String {
        match self {
            Limit::AtLeast(least) => format!(">= {least}"),
            Limit::AtMost(most) => format!("<= {most}"),
            Limit::Between(least, most) => format!("{least} to {most}"),
        }
    }
}

/// What was measured. A row is printed as soon as it is known.
pub struct Table {
    all_kept: bool,
    /// `--only` with some words of a row measures no other, for whoever works on it.
    only: Option<String>,
}

impl Table {
    /// Prints the head. What has no unit in its name is a ratio.
    pub fn new(subject: &str) -> Table {
        println!("{subject:66} | {:>8} | {:>10} | ok", "measured", "limit");
        println!("{:-<66}-|-{:-<8}-|-{:-<10}-|---", "", "", "");
        Table {
            all_kept: true,
            only: Arguments::read().value("--only").map(str::to_owned),
        }
    }

    /// Measures until the limit is kept, or often enough to say that it is not.
    pub fn row(
        &mut self,
        what: &str,
        limit: Limit,
        mut measure: impl FnMut() -> Result<f64, Failure>,
    ) -> Result<(), Failure> {
        if self.only.as_ref().is_some_and(|only| !what.contains(only)) {
            return Ok(());
        }
        let mut number = measure()?;
        for _ in 1..ATTEMPTS {
            if limit.is_kept(number) {
                break;
            }
            number = measure()?;
        }
        let kept = limit.is_kept(number);
        self.all_kept &= kept;
        let verdict = if kept { "yes" } else { "NO" };
        println!(
            "{what:66} | {number:8.2} | {:>10} | {verdict}",
            limit.text()
        );
        Ok(())
    }

    /// Whether no limit was missed.
    pub fn all_kept(&self) -> bool {
        self.all_kept
    }
}
