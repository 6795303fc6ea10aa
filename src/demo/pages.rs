//! What the sample site says: a shrine to moths and the lamps that they come to, written by its keeper as the night goes
//! on. Every minute one moth is seen again, every other minute a lamp is seen to, and every third a page of the log is
//! begun while the oldest is torn out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use chrono::{DateTime, Utc};

/// Who writes it.
pub(super) const AUTHOR: &str = "Odile, who keeps the lamps";
/// The folders, their titles, and what they are about.
pub(super) const COLLECTIONS: &[(&str, &str, &str)] = &[
    (
        "moths",
        "Visitors",
        "Every moth that comes to the window, and the log of the night.",
    ),
    ("lamps", "Lamps", "What burns, and what it burns."),
];

const MINUTES_OF_DAY: i64 = 24 * 60;
/// Minutes until another page of the log is begun.
const LOG_EVERY: i64 = 3;
/// Pages of the log that are kept.
const LOG_PAGES: i64 = 3;

struct Moth {
    file: &'static str,
    name: &'static str,
    about: &'static str,
}

const MOTHS: &[Moth] = &[
    Moth {
        file: "ghost",
        name: "The ghost moth",
        about: "White as paper, and never in a hurry. It hangs in the air over the lawn as if somebody had let go of it.",
    },
    Moth {
        file: "hawk",
        name: "The elephant hawk-moth",
        about: "Pink and olive, like a sweet from another century. Comes for the honeysuckle and stays for the lamp.",
    },
    Moth {
        file: "plume",
        name: "The white plume",
        about: "Five feathers and a thought. When it sits on the wall it looks like a letter that nobody can read.",
    },
    Moth {
        file: "tiger",
        name: "The garden tiger",
        about: "No two are marked alike. This one I know by the blot on its left wing, which is the shape of a boot.",
    },
];

struct Lamp {
    file: &'static str,
    name: &'static str,
    about: &'static str,
}

const LAMPS: &[Lamp] = &[
    Lamp {
        file: "storm",
        name: "The storm lantern",
        about: "It has been down a mine and up a mast. Burns anything, complains of nothing.",
    },
    Lamp {
        file: "paper",
        name: "The paper lantern",
        about: "For still nights only. The moths like it best, because it is nearly one of them.",
    },
    Lamp {
        file: "desk",
        name: "The green desk lamp",
        about: "Electric, and a little ashamed of it.",
    },
];

const PLACES: &[&str] = &[
    "on the north window",
    "under the eaves",
    "in the honeysuckle",
    "on my sleeve",
    "asleep behind the clock",
    "going round the storm lantern, clockwise",
    "on the page that I was writing",
];

const CARE: &[&str] = &[
    "trimmed the wick",
    "wiped the glass with newspaper",
    "filled it to the brim",
    "turned it down, there is a moon",
    "turned it up again, there was a cloud",
];

/// Every file of the site at a time, by its name.
pub(super) fn at(now: DateTime<Utc>) -> BTreeMap<String, String> {
    let minute = now.timestamp().div_euclid(60).rem_euclid(MINUTES_OF_DAY);
    let mut files = BTreeMap::from([
        ("style.css".to_owned(), STYLE.to_owned()),
        ("index.html".to_owned(), front()),
    ]);
    let count = MOTHS.len() as i64;
    for (n, moth) in (0..).zip(MOTHS) {
        // One of them comes each minute, in turn.
        let seen = (minute + (count - n) % count) / count;
        let last = pick(PLACES, seen + n);
        let lately = match seen {
            0 => "Not seen yet tonight.".to_owned(),
            _ => format!("Seen {} since midnight, the last time {last}.", times(seen)),
        };
        let text = format!("<p>{}</p>\n<p>{lately}</p>", moth.about);
        let file = format!("moths/{}.html", moth.file);
        files.insert(file, page(moth.name, &text, ""));
    }
    let count = 2 * LAMPS.len() as i64;
    for (n, lamp) in (0..).zip(LAMPS) {
        let seen_to = (minute + count - 1 - 2 * n) / count;
        let lately = match seen_to {
            0 => "Not seen to yet tonight.".to_owned(),
            _ => {
                let care = pick(CARE, seen_to + n);
                format!(
                    "Seen to {} since midnight. Just now I {care}.",
                    times(seen_to)
                )
            }
        };
        let text = format!("<p>{}</p>\n<p>{lately}</p>", lamp.about);
        let file = format!("lamps/{}.html", lamp.file);
        files.insert(file, page(lamp.name, &text, ""));
    }
    let newest = minute - minute % LOG_EVERY;
    let logs: Vec<i64> = (0..LOG_PAGES)
        .map(|n| (newest - n * LOG_EVERY).rem_euclid(MINUTES_OF_DAY))
        .collect();
    for log in &logs {
        let title = format!("The log at {}", clock(*log));
        let text = format!(
            "<p>{} of oil left, wind from nowhere. {} {}. I opened the window a little wider.</p>",
            pick(&["Two fingers", "Three fingers", "A thumb"], *log),
            MOTHS[(log / LOG_EVERY) as usize % MOTHS.len()].name,
            pick(PLACES, *log / 2)
        );
        files.insert(log_file(*log), page(&title, &text, ""));
    }
    files.insert("moths/index.html".to_owned(), visitors(&logs));
    files.insert("lamps/index.html".to_owned(), lamps());
    files
}

fn log_file(minute: i64) -> String {
    format!("moths/log-{}.html", clock(minute).replace(':', ""))
}

fn clock(minute: i64) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

fn pick<'a>(among: &[&'a str], n: i64) -> &'a str {
    among[n.rem_euclid(among.len() as i64) as usize]
}

fn times(count: i64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

fn front() -> String {
    page(
        "The Lantern Room",
        "<p>A shrine to moths, and to the lamps that they come to. It is always night here, and something happens every \
         minute.</p>\n<ul><li><a href=\"/moths/\">Visitors</a></li><li><a href=\"/lamps/\">Lamps</a></li></ul>",
        "<meta name=\"description\" content=\"A shrine to moths, and to the lamps that they come to.\">",
    )
}

/// Lists of pages are for finding one's way: they are no news, and so they are not in the main part.
fn visitors(logs: &[i64]) -> String {
    let mut list = String::new();
    for moth in MOTHS {
        let _ = write!(
            list,
            "<li><a href=\"{}.html\">{}</a></li>",
            moth.file, moth.name
        );
    }
    for log in logs {
        let file = log_file(*log).replace("moths/", "");
        let _ = write!(
            list,
            "<li><a href=\"{file}\">The log at {}</a></li>",
            clock(*log)
        );
    }
    let text = format!("<p>Who was here, and when.</p>\n<nav><ul>{list}</ul></nav>");
    page("Visitors", &text, "")
}

fn lamps() -> String {
    let mut list = String::new();
    for lamp in LAMPS {
        let _ = write!(
            list,
            "<li><a href=\"{}.html\">{}</a></li>",
            lamp.file, lamp.name
        );
    }
    let text = format!("<p>What burns, and what it burns.</p>\n<nav><ul>{list}</ul></nav>");
    page("Lamps", &text, "")
}

/// Only words of our own come in here, so nothing has to be escaped.
fn page(title: &str, text: &str, head: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n{head}\n<link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body>\n\
         <header><a href=\"/\">The Lantern Room</a></header>\n<main>\n<h1>{title}</h1>\n{text}\n</main>\n\
         <footer>This is the demo of Sitebell. It changes every minute, and it is on your own machine.</footer>\n\
         </body>\n</html>\n"
    )
}

const STYLE: &str = "\
:root { color-scheme: dark; }
body { max-width: 34rem; margin: 3rem auto; padding: 0 1.25rem; color: #f3e3c3; background: #17130f; font: 1.15rem/1.6 Georgia, serif; }
main { margin: 2rem 0; padding: 1.5rem; border-radius: 1rem; background: radial-gradient(circle at 50% 0, #4a3413, #221a12 70%); }
a { color: #ffcf7a; }
h1 { margin-top: 0; font-weight: normal; }
footer { color: #b39c78; font-size: 0.9rem; }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_minute_of_a_day_changes_one_moth_and_keeps_the_files_in_number() {
        let start: DateTime<Utc> = "2026-03-10T00:00:00Z".parse().unwrap();
        let mut before = at(start);
        for minute in 1..MINUTES_OF_DAY {
            let now = at(start + chrono::TimeDelta::minutes(minute));
            assert_eq!(now.len(), before.len());
            let changed = now.iter().filter(|(name, text)| {
                before.get(*name).is_some_and(|known| known != *text) && name.starts_with("moths/")
            });
            let changed: Vec<_> = changed
                .map(|(name, _)| name.as_str())
                .filter(|name| *name != "moths/index.html")
                .collect();
            assert_eq!(changed.len(), 1, "at minute {minute}: {changed:?}");
            let is_new = now.keys().any(|name| !before.contains_key(name));
            assert_eq!(is_new, minute % LOG_EVERY == 0);
            before = now;
        }
    }
}
