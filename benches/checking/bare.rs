//! The peer: reqwest and a loop, as one writes it in ten minutes. Bodies are read and thrown away.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::header::{ETAG, HeaderValue, IF_NONE_MATCH};
use tokio::task::JoinSet;

use crate::common::Failure;
use crate::common::sites::host;
use crate::{AT_ONCE, SITES};

/// Otherwise thousands of connections would lie around, and it is about speed here.
const POOL_IDLE: Duration = Duration::from_secs(1);

pub struct Bare {
    port: u16,
    /// What is asked of every site.
    paths: Vec<String>,
    /// The validators of one site; all have the same.
    tags: Vec<Option<HeaderValue>>,
}

impl Bare {
    pub fn new(port: u16, paths: &[&str]) -> Bare {
        Bare {
            port,
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            tags: vec![None; paths.len()],
        }
    }

    /// Asks one site, to know what to ask with from now on.
    pub async fn learn_tags(&mut self) -> Result<(), Failure> {
        let client = client()?;
        for (path, tag) in self.paths.iter().zip(&mut self.tags) {
            let url = format!("http://{}{path}", host(0, 0, self.port));
            let response = client.get(url).send().await?;
            *tag = response.headers().get(ETAG).cloned();
        }
        Ok(())
    }

    pub fn forget_tags(&mut self) {
        self.tags.fill(None);
    }

    /// Asks all sites of a set. `status` is what they should answer.
    pub async fn turn(&self, set: usize, status: u16) -> Result<(), Failure> {
        let next = Arc::new(AtomicUsize::new(0));
        let client = client()?;
        let mut loops = JoinSet::new();
        for _ in 0..AT_ONCE {
            let (client, port, next) = (client.clone(), self.port, next.clone());
            let asks: Vec<_> = self.paths.iter().cloned().zip(self.tags.clone()).collect();
            loops.spawn(async move {
                loop {
                    let site = next.fetch_add(1, Ordering::Relaxed);
                    if site >= SITES {
                        return Ok::<_, Failure>(());
                    }
                    for (path, tag) in &asks {
                        let mut request =
                            client.get(format!("http://{}{path}", host(set, site, port)));
                        if let Some(tag) = tag {
                            request = request.header(IF_NONE_MATCH, tag.clone());
                        }
                        let response = request.send().await?;
                        if response.status() != status {
                            return Err(format!("{} from {path}", response.status()).into());
                        }
                        response.bytes().await?;
                    }
                }
            });
        }
        while let Some(done) = loops.join_next().await {
            done??;
        }
        // Otherwise connections would end at the cost of whoever is next; the server tells when all are closed.
        drop(client);
        Ok(())
    }
}

fn client() -> Result<reqwest::Client, Failure> {
    let builder = reqwest::Client::builder().no_proxy();
    Ok(builder.pool_idle_timeout(POOL_IDLE).build()?)
}
