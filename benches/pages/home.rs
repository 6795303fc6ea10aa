//! A thousand people who follow fifty sites each, and look at their timelines while the service reads those sites.
//!
//! Requests come at their time whether or not those before them were answered, as people do, and each is timed from the
//! moment at which it should have been sent. The sites have new changes all the time.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use sitebell::secret::SessionKey;
use sitebell::store::Store;
use tokio::task::JoinSet;

use super::common::serving::{Http, Serving};
use super::common::sites::{Server, host};
use super::common::{Failure, filled};

const SITES: usize = 500;
const ACCOUNTS: usize = 1_000;
const FOLLOWED: usize = 50;
/// Entries that each site has before, and changes of each.
const ENTRIES: usize = 20;
const CHANGES: usize = 3;

const A_SECOND: usize = 200;
const SECONDS: usize = 20;
/// At its start the service has to read everything that is due.
const BEFORE: Duration = Duration::from_secs(5);
/// Every site is read about once in this time.
const CHECK_EVERY: &str = "10s";
/// After this all sites have something new.
const RENEWED: Duration = Duration::from_secs(4);
/// More than are ever under way.
const CONNECTIONS: usize = 64;
/// Fewer checks than this while it lasts would make it easier than it should be.
const LEAST_REQUESTS: u64 = 2_000;

/// Milliseconds within which all but one in a hundred were answered.
pub fn slowest() -> Result<f64, Failure> {
    let mut server = Server::start()?;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let runtime = tokio::runtime::Runtime::new()?;
    let cookies = runtime.block_on(fill(folder.path(), server.port))?;
    let allowed = format!("127.0.0.0/8:{}", server.port);
    let mut settings = vec!["--allow-net", &allowed, "--host-gap", "0ms"];
    for pace in ["--check-every", "--check-floor", "--check-ceiling"] {
        settings.extend([pace, CHECK_EVERY]);
    }
    let serving = Serving::start(folder.path(), &settings)?;
    thread::sleep(BEFORE);
    server.requests()?;

    let cookies: Arc<[String]> = cookies.into();
    let begun = Instant::now();
    let next = Arc::new(AtomicUsize::new(0));
    let visitors: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (next, cookies, address) = (next.clone(), cookies.clone(), serving.address);
            thread::spawn(move || visit(Http::to(address)?, begun, &next, &cookies))
        })
        .collect();
    while begun.elapsed() < Duration::from_secs(SECONDS as u64) {
        server.renew()?;
        thread::sleep(RENEWED);
    }
    let mut waited = Vec::new();
    for visitor in visitors {
        waited.extend(visitor.join().map_err(|_| "a visitor fell over")??);
    }
    let requests = server.requests()?;
    if requests < LEAST_REQUESTS {
        return Err(format!("sites were asked only {requests} times meanwhile").into());
    }
    waited.sort();
    let at = |share: f64| waited[(waited.len() as f64 * share) as usize].as_secs_f64() * 1e3;
    eprintln!(
        "  {} timelines, half of them within {:.1} ms, while sites were asked {requests} times",
        waited.len(),
        at(0.5)
    );
    Ok(at(0.99))
}

/// Takes the next request again and again, and waits until it is time for it.
fn visit(
    mut http: Http,
    begun: Instant,
    next: &AtomicUsize,
    cookies: &[String],
) -> Result<Vec<Duration>, Failure> {
    let mut waited = Vec::new();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= A_SECOND * SECONDS {
            return Ok(waited);
        }
        let at = begun + Duration::from_secs(number as u64) / A_SECOND as u32;
        thread::sleep(at.saturating_duration_since(Instant::now()));
        // A step that has nothing in common with their number reaches everybody before anybody twice.
        let cookie = &cookies[number * 387 % cookies.len()];
        let page = http.get("/home", cookie)?.body;
        waited.push(at.elapsed());
        if !page.windows(6).any(|word| word == b"class=") {
            return Err("that is no timeline".into());
        }
    }
}

/// Sites that are due within the next seconds, and the cookies of people who follow some of them.
async fn fill(folder: &Path, port: u16) -> Result<Vec<String>, Failure> {
    let now = Utc::now();
    let store = Store::open(folder).await?;
    let mut sites = Vec::new();
    for number in 0..SITES {
        let url = format!("http://{}/", host(0, number, port)).parse()?;
        let (site, _) = store.add_site(&url, now).await?;
        let mut record = filled::found(&url, "A shrine", ENTRIES, CHANGES, now)?;
        record.next_check_at = now + TimeDelta::milliseconds(20 * number as i64);
        let check = store.number_check().await?;
        store.save_check(site, check, record).await?;
        sites.push(site);
    }
    let mut following = JoinSet::new();
    for number in 0..ACCOUNTS {
        let (store, sites) = (store.clone(), sites.clone());
        following.spawn(async move {
            let account = store
                .add_account(&format!("visitor-{number}"), "", "", false, now)
                .await?;
            for step in 0..FOLLOWED {
                let site = sites[(number + step * 7) % SITES];
                store.subscribe(account, site, None, now).await?;
            }
            let key = SessionKey::make()?;
            store
                .begin_session(account, &key.hash(), "a benchmark", now)
                .await?;
            Ok::<_, Failure>(format!("Cookie: sitebell={}", key.reveal()))
        });
    }
    let cookies: Result<Vec<String>, Failure> = following.join_all().await.into_iter().collect();
    store.close().await?;
    cookies
}
