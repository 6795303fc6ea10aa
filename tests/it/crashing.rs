//! The real program on a real file, killed again and again while it reads sites that keep changing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use serde_json::{Value, json};

use crate::ask::Ask;
use crate::command_line::Place;
use crate::command_line::serve::Served;
use crate::den::{Den, change_list};
use crate::fake_site::Reply;

/// How often the program is killed.
const KILLS: usize = 100;
const SITES: usize = 32;
/// Requests that a program may live for, at most.
const LONGEST_LIFE: usize = 12;
const LIST: &str = "/changelist.xml";

/// Counts requests over all sites, and lets a test wait for one.
#[derive(Default)]
struct Counter {
    count: Mutex<usize>,
    came: Condvar,
}

impl Counter {
    fn count(&self) {
        *self.count.lock().unwrap() += 1;
        self.came.notify_all();
    }

    fn wait_for(&self, more: usize) {
        let mut count = self.count.lock().unwrap();
        let target = *count + more;
        while *count < target {
            count = self.came.wait(count).unwrap();
        }
    }
}

/// A site whose list is one change longer every time somebody looks, until it is told to rest.
struct Restless {
    den: Den,
    length: Arc<AtomicUsize>,
    rests: Arc<std::sync::atomic::AtomicBool>,
}

impl Restless {
    fn new(counter: &Arc<Counter>) -> Restless {
        let mut den = Den::empty();
        den.host = "127.0.0.1";
        den.description(&[("/capabilitylist.xml", "/")]);
        den.capability_list("/capabilitylist.xml", "/", &[LIST]);
        let site = Restless {
            length: Arc::default(),
            rests: Arc::default(),
            den,
        };
        let (length, rests) = (site.length.clone(), site.rests.clone());
        let (counter, root) = (counter.clone(), site.den.url("/"));
        let root = root.as_str().trim_end_matches('/').to_owned();
        site.den.site.serve_with(LIST, move |_| {
            counter.count();
            if !rests.load(Ordering::SeqCst) {
                length.fetch_add(1, Ordering::SeqCst);
            }
            let changes = changes(length.load(Ordering::SeqCst));
            let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
            let list = change_list("/capabilitylist.xml", "from='2026-01-01'", &changes);
            Reply::xml(list.replace("{den}", &root))
        });
        site
    }
}

/// The first changes of a site: several a minute, all on one day, and many with the same time.
fn changes(count: usize) -> Vec<String> {
    let kinds = ["created", "updated", "deleted"];
    (0..count)
        .map(|n| {
            let (kind, page) = (kinds[n % 3], n / 3);
            let (hour, minute) = (n / 240, n / 4 % 60);
            format!("{kind} /page-{page} 2026-03-01T{hour:02}:{minute:02}:00Z")
        })
        .collect()
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }
}

#[test]
fn killed_a_hundred_times_it_loses_no_change_and_repeats_none() {
    let place = Place::new();
    place.add("alice", &[]);
    let token = place.done(&["account", "token", "alice"]);
    let token = token.trim();
    let counter = Arc::<Counter>::default();
    let sites: Vec<Restless> = (0..SITES).map(|_| Restless::new(&counter)).collect();
    let start = || {
        let more = [
            "--allow-net",
            "127.0.0.0/8",
            "--host-gap",
            "0",
            "--check-every",
            "1s",
        ];
        Served::start(&place, &more)
    };
    let ask = |served: &Served, ask: Ask| ask.token(token).to(served.address);

    let served = start();
    let mut numbers = Vec::new();
    for site in &sites {
        let url = json!({"url": site.den.url("/").as_str()});
        let added = ask(&served, Ask::post("/api/v1/sites", &url)).json(202);
        numbers.push(added["id"].as_i64().unwrap());
    }
    served.kill();

    let mut dice = Dice(0x5EED_BE11);
    for _ in 0..KILLS {
        let served = start();
        counter.wait_for(1 + dice.roll(LONGEST_LIFE));
        // Anywhere between the answer of the site and the end of what is done with it.
        for _ in 0..dice.roll(200) {
            std::thread::yield_now();
        }
        served.kill();
    }

    for site in &sites {
        site.rests.store(true, Ordering::SeqCst);
    }
    let served = start();
    for (site, number) in sites.iter().zip(&numbers) {
        // Two whole readings after the last change: one may have begun before it.
        let seen = site.den.site.requests_to(LIST).len();
        while site.den.site.requests_to(LIST).len() < seen + 2 {
            counter.wait_for(1);
        }
        let told = everything(|path| ask(&served, Ask::get(path)).json(200), *number);
        let expected = changes(site.length.load(Ordering::SeqCst));
        assert!(
            expected.len() > KILLS / SITES,
            "the site was read in between"
        );
        let mut once = BTreeMap::new();
        for change in &expected {
            *once.entry(change.clone()).or_insert(0) += 1;
        }
        assert_eq!(told, once);
    }
    assert_eq!(served.terminate(), Some(0));
    let file = place.data().join("sitebell.sqlite3");
    let db = rusqlite::Connection::open(file).unwrap();
    let verdict: String = db
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(verdict, "ok");
    let running: i64 = db
        .query_row(
            "SELECT count(*) FROM checks WHERE finished_at IS NULL",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(running, 0, "no check is left open");
}

/// What a site is said to have changed, and how often that was announced.
fn everything(get: impl Fn(&str) -> Value, site: i64) -> BTreeMap<String, usize> {
    let mut told = BTreeMap::new();
    let mut path = format!("/api/v1/sites/{site}/changes?limit=500");
    loop {
        let page = get(&path);
        for change in page["changes"].as_array().unwrap() {
            let text = |name: &str| change[name].as_str().unwrap().to_owned();
            let url: url::Url = text("url").parse().unwrap();
            let change = format!("{} {} {}", text("kind"), url.path(), text("datetime"));
            *told.entry(change).or_insert(0) += 1;
        }
        match page["next"].as_str() {
            Some(next) => path = format!("/api/v1/sites/{site}/changes?limit=500&after={next}"),
            None => return told,
        }
    }
}
