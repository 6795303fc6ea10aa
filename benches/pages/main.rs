//! How much work a page is, and how long people wait for one ([`home`]).

#[path = "../common/mod.rs"]
mod common;
mod home;

use std::path::Path;
use std::process::ExitCode;

use chrono::Utc;
use sitebell::store::Store;

use self::common::serving::{Http, Serving, cpu};
use self::common::table::{Limit, Table};
use self::common::{Arguments, Failure, filled, sites};

const SITE: &str = "https://shrine.example/";
const PAGE: &str = "/sites/shrine.example/";
/// Entries of the page, and changes of each: a hundred changes altogether.
const ENTRIES: usize = 10;
const CHANGES: usize = 10;
const REQUESTS: usize = 2_000;

fn main() -> ExitCode {
    if Arguments::read().value(sites::CHILD).is_some() {
        return common::end(sites::serve().map(|()| true));
    }
    common::end(compare())
}

fn compare() -> Result<bool, Failure> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    tokio::runtime::Runtime::new()?.block_on(fill(folder.path()))?;
    let mut table = Table::new("pages");
    table.row(
        "a site page with 100 changes, ms of processor time",
        Limit::AtMost(2.0),
        || cost_of_page(folder.path()),
    )?;
    table.row(
        "p99 of 200 timelines a second while sites are checked, ms",
        Limit::AtMost(100.0),
        home::slowest,
    )?;
    Ok(table.all_kept())
}

/// A site that nobody has to read now, with a hundred changes.
async fn fill(folder: &Path) -> Result<(), Failure> {
    let now = Utc::now();
    let store = Store::open(folder).await?;
    let url = SITE.parse()?;
    let (site, _) = store.add_site(&url, now).await?;
    let record = filled::found(&url, "A shrine", ENTRIES, CHANGES, now)?;
    let check = store.number_check().await?;
    store.save_check(site, check, record).await?;
    store.close().await?;
    Ok(())
}

/// Milliseconds that the program itself spends on a page, asked for again and again.
fn cost_of_page(data: &Path) -> Result<f64, Failure> {
    let serving = Serving::start(data, &[])?;
    let mut http = Http::to(serving.address)?;
    let page = String::from_utf8(http.get(PAGE, "Accept: text/html")?.body)?;
    let lines = page.matches("class=\"kind").count();
    if lines != ENTRIES * CHANGES {
        return Err(format!("the page has {lines} changes").into());
    }
    let before = cpu(serving.process())?;
    for _ in 0..REQUESTS {
        http.get(PAGE, "Accept: text/html")?;
    }
    let spent = cpu(serving.process())? - before;
    Ok(spent.as_secs_f64() * 1e3 / REQUESTS as f64)
}
