//! `sitebell serve` on a database full of sites.

use chrono::Utc;
use sitebell::store::Store;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::common::serving::Serving;
use super::common::{Failure, filled};
use super::load::THEIR_CORE;

const ENTRIES: usize = 50;
/// Written at the same time, so that they share what the disk costs.
const AT_ONCE: usize = 200;
/// Room for all of them.
const FEED_MEMORY: &str = "256MiB";

/// A folder with data, and the feeds in it.
pub struct Data {
    folder: TempDir,
    pub paths: Vec<String>,
}

impl Data {
    /// So many sites with fifty entries each, none of them due.
    pub fn new(sites: usize) -> Result<Data, Failure> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let runtime = tokio::runtime::Runtime::new()?;
        let paths = runtime.block_on(async {
            let store = Store::open(folder.path()).await?;
            let (mut writing, mut paths) = (JoinSet::new(), Vec::new());
            for number in 0..sites {
                if writing.len() == AT_ONCE {
                    paths.extend(writing.join_next().await.transpose()?.transpose()?);
                }
                writing.spawn(add(store.clone(), number));
            }
            while let Some(path) = writing.join_next().await {
                paths.push(path??);
            }
            store.close().await?;
            Ok::<_, Failure>(paths)
        })?;
        Ok(Data { folder, paths })
    }
}

/// Adds a site, and returns the path of its only collection's feed.
async fn add(store: Store, number: usize) -> Result<String, Failure> {
    let now = Utc::now();
    let home = format!("https://site-{number}.example/").parse()?;
    let (site, _) = store.add_site(&home, now).await?;
    let record = filled::found(&home, &format!("Site {number}"), ENTRIES, 1, now)?;
    let check = store.number_check().await?;
    store.save_check(site, check, record).await?;
    let row = store.site(site).await?.ok_or("the site is gone")?;
    let (site, collection) = (&row.slug, &row.collections[0].slug);
    Ok(format!("/sites/{site}/{collection}/feed.atom"))
}

/// The service, kept to its core.
pub fn start(data: &Data) -> Result<Serving, Failure> {
    Serving::start_with(
        &["taskset", "-c", THEIR_CORE],
        data.folder.path(),
        &["--feed-memory", FEED_MEMORY],
    )
}
