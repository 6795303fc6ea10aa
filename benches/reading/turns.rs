//! Times that mean something on a machine that others use too: many short turns, and their median.

use std::hint::black_box;
use std::time::Instant;

use crate::common::{self, Failure};

/// Odd, so that there is a middle one.
const ROUNDS: usize = 15;

/// A way of reading. It says how many entries it found.
type Way<'a> = &'a mut dyn FnMut() -> Result<usize, Failure>;

/// How many times as long the first way takes as the second, taking turns.
pub fn ratio(first: Way<'_>, second: Way<'_>) -> Result<f64, Failure> {
    let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
    // The first round finds cold caches and does not count.
    for round in 0..=ROUNDS {
        let (one, other) = (seconds_of(first)?, seconds_of(second)?);
        if round > 0 {
            firsts.push(one);
            seconds.push(other);
        }
    }
    Ok(common::median(firsts) / common::median(seconds))
}

/// The seconds that a way takes.
pub fn median(way: Way<'_>) -> Result<f64, Failure> {
    let times: Result<Vec<f64>, Failure> = (0..ROUNDS).map(|_| seconds_of(way)).collect();
    Ok(common::median(times?))
}

fn seconds_of(way: Way<'_>) -> Result<f64, Failure> {
    let start = Instant::now();
    let entries = black_box(way()?);
    let seconds = start.elapsed().as_secs_f64();
    // Whoever finds fewer entries has not done the same work.
    if entries != crate::MANY {
        return Err(format!("{entries} entries were found instead of {}", crate::MANY).into());
    }
    Ok(seconds)
}
