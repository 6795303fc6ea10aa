//! Remembers robots.txt by origin, for as long as it is told and within a fixed amount of memory.
//!
//! Both origins and bytes are bounded: someone with a wildcard name has any number of origins, each with the largest
//! robots.txt that is read. What would be asked for again soonest is forgotten first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use super::Robots;
use crate::fetch::pace::lock;

/// Origins whose robots.txt is remembered.
const MAX_ORIGINS: usize = 1_000;

/// The memory for all of them, by the estimate of [`Robots`].
const MAX_WEIGHT: usize = 64 << 20;

/// What is known of robots.txt, by origin.
#[derive(Debug, Default)]
pub(in crate::fetch) struct RobotsCache(Mutex<HashMap<String, (Arc<Robots>, Instant)>>);

impl RobotsCache {
    pub(in crate::fetch) fn get(&self, url: &Url) -> Option<Arc<Robots>> {
        let cache = lock(&self.0);
        let (robots, until) = cache.get(&origin(url))?;
        (*until > Instant::now()).then(|| robots.clone())
    }

    pub(in crate::fetch) fn put(&self, url: &Url, robots: Arc<Robots>, keep_for: Duration) {
        let mut cache = lock(&self.0);
        let now = Instant::now();
        cache.remove(&origin(url));
        cache.retain(|_, (_, until)| *until > now);
        let mut weight: usize = cache.values().map(|(robots, _)| robots.weight).sum();
        while cache.len() >= MAX_ORIGINS || weight + robots.weight > MAX_WEIGHT {
            let next = cache.iter().min_by_key(|(_, (_, until))| *until);
            let Some(origin) = next.map(|(origin, _)| origin.clone()) else {
                break;
            };
            weight -= cache.remove(&origin).map_or(0, |(robots, _)| robots.weight);
        }
        cache.insert(origin(url), (robots, now + keep_for));
    }
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT_FOR: Duration = Duration::from_secs(24 * 60 * 60);

    #[test]
    fn only_so_many_origins_are_remembered() {
        let cache = RobotsCache::default();
        for number in 0..MAX_ORIGINS + 10 {
            let url = Url::parse(&format!("https://h{number}.example/a")).unwrap();
            cache.put(&url, Robots::missing().into(), KEPT_FOR);
            assert!(cache.get(&url.join("/b").unwrap()).is_some());
        }
        assert_eq!(lock(&cache.0).len(), MAX_ORIGINS);
    }

    #[test]
    fn large_files_are_remembered_for_fewer_origins() {
        let cache = RobotsCache::default();
        let large: Arc<Robots> = Robots::parse(&b"Disallow: /*$\n".repeat(300)).into();
        for number in 0..20 {
            let url = Url::parse(&format!("https://h{number}.example/")).unwrap();
            cache.put(&url, large.clone(), KEPT_FOR);
            assert!(cache.get(&url).is_some());
        }
        let kept = lock(&cache.0).len();
        assert!((1..=MAX_WEIGHT / large.weight).contains(&kept), "{kept}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_robots_txt_is_asked_for_again_after_a_day() {
        let cache = RobotsCache::default();
        let url = Url::parse("https://example.org/").unwrap();
        cache.put(&url, Robots::missing().into(), KEPT_FOR);
        tokio::time::advance(KEPT_FOR - Duration::from_secs(1)).await;
        assert!(cache.get(&url).is_some());
        assert!(
            cache
                .get(&Url::parse("http://example.org/").unwrap())
                .is_none(),
            "another origin"
        );
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(cache.get(&url).is_none());
    }
}
