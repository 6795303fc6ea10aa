//! Who is being read, who waits for that, and who is next. Bookkeeping and nothing else.
//!
//! A host is read at one place, and there are so many places. A site that was read leaves its place before it is saved,
//! so that nobody waits for the disk; but only so many may be unsaved, so that a slow disk slows reading down.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use tokio::sync::OnceCell;
use tokio::task::AbortHandle;
use url::Url;

use crate::site::{CheckId, SiteId, host_key};

/// Sites that were read and are not saved yet, for each place.
const UNSAVED: usize = 4;

/// Sites that wait, for each place, when more are looked for: whoever looks walks past all that are under way.
const WAITING: usize = 8;

/// The places of a scheduler, and everyone who has one or wants one.
pub(super) struct Places {
    count: usize,
    /// Sites that wait for their turn, are being read, or are being saved.
    under_way: HashMap<SiteId, UnderWay>,
    /// Sites that somebody asked for, and that wait for a place.
    asked: VecDeque<SiteId>,
    /// Sites that are due, and that wait for a place.
    due: VecDeque<SiteId>,
    /// Hosts that are being read.
    hosts: HashSet<String>,
    /// The hosts of all that are under way, and of how many.
    busy: HashMap<String, usize>,
    /// Sites that are being saved.
    unsaved: usize,
    /// Whether nothing else was due when it was last looked for.
    is_all_due: bool,
    /// Whether nothing more is begun.
    is_closed: bool,
}

struct UnderWay {
    host: String,
    check: Arc<Numbered>,
    /// None while it waits, and until the task is known.
    task: Option<AbortHandle>,
    /// Whether it waits no more.
    has_begun: bool,
    is_reading: bool,
    /// The check that comes after this one, which may have read too early.
    followed_by: Option<CheckId>,
}

/// A check and its number.
pub(super) struct Numbered {
    pub(super) id: CheckId,
    pub(super) url: Url,
    /// Whether the store knows that it has begun.
    pub(super) is_begun: OnceCell<()>,
}

/// A site whose turn it is.
pub(super) struct Next {
    pub(super) site: SiteId,
    pub(super) check: Arc<Numbered>,
}

impl Places {
    pub(super) fn new(count: usize) -> Self {
        Places {
            count,
            under_way: HashMap::new(),
            asked: VecDeque::new(),
            due: VecDeque::new(),
            hosts: HashSet::new(),
            busy: HashMap::new(),
            unsaved: 0,
            is_all_due: false,
            is_closed: false,
        }
    }

    /// The check of a site that is under way, for somebody who asks for it: if it waits, it goes before those that are only
    /// due.
    pub(super) fn check_for(&mut self, site: SiteId) -> Option<Arc<Numbered>> {
        let under_way = self.under_way.get(&site)?;
        if let Some(place) = self.due.iter().position(|due| *due == site) {
            self.due.remove(place);
            self.asked.push_back(site);
        }
        Some(under_way.check.clone())
    }

    /// Lets a site wait that somebody asked for.
    pub(super) fn ask(&mut self, site: SiteId, url: Url, id: CheckId) -> Arc<Numbered> {
        self.asked.push_back(site);
        self.begin(site, url, id)
    }

    /// Lets another check follow if the site is being read: what was read before now may be out of date.
    pub(super) fn ask_after(&mut self, site: SiteId, id: CheckId) {
        if let Some(under_way) = self.under_way.get_mut(&site)
            && under_way.has_begun
        {
            under_way.followed_by.get_or_insert(id);
        }
    }

    /// Whether what was read of a site may be out of date already.
    pub(super) fn is_followed(&self, site: SiteId) -> bool {
        let under_way = self.under_way.get(&site);
        under_way.is_some_and(|under_way| under_way.followed_by.is_some())
    }

    /// Lets a site wait that is due, if its host has time for it.
    pub(super) fn announce(&mut self, site: SiteId, url: Url, id: CheckId) {
        if self.busy.contains_key(&host_key(&url)) {
            // It is looked for again when its host is free.
            self.is_all_due = false;
            return;
        }
        self.due.push_back(site);
        self.begin(site, url, id);
    }

    fn forget(&mut self, site: SiteId) -> Option<UnderWay> {
        let forgotten = self.under_way.remove(&site)?;
        if let Some(count) = self.busy.get_mut(&forgotten.host) {
            *count -= 1;
            if *count == 0 {
                self.busy.remove(&forgotten.host);
            }
        }
        Some(forgotten)
    }

    fn begin(&mut self, site: SiteId, url: Url, id: CheckId) -> Arc<Numbered> {
        let host = host_key(&url);
        let check = Arc::new(Numbered {
            id,
            url,
            is_begun: OnceCell::new(),
        });
        *self.busy.entry(host.clone()).or_default() += 1;
        let under_way = UnderWay {
            host,
            check: check.clone(),
            task: None,
            has_begun: false,
            is_reading: false,
            followed_by: None,
        };
        self.under_way.insert(site, under_way);
        check
    }

    /// Gives a free place to a site: first to those that somebody waits for, then to those that are due.
    pub(super) fn next(&mut self) -> Option<Next> {
        if self.is_full() {
            return None;
        }
        let is_free = |site: &SiteId| {
            let under_way = self.under_way.get(site);
            under_way.is_some_and(|site| !self.hosts.contains(&site.host))
        };
        let asked = self.asked.iter().position(is_free);
        let site = match asked.and_then(|place| self.asked.remove(place)) {
            Some(site) => site,
            None => {
                let place = self.due.iter().position(is_free)?;
                self.due.remove(place)?
            }
        };
        let under_way = self.under_way.get_mut(&site)?;
        (under_way.has_begun, under_way.is_reading) = (true, true);
        self.hosts.insert(under_way.host.clone());
        Some(Next {
            site,
            check: under_way.check.clone(),
        })
    }

    /// The task that reads and saves a site. It may have ended already.
    pub(super) fn set_task(&mut self, site: SiteId, check: CheckId, task: AbortHandle) {
        let under_way = self.under_way.get_mut(&site);
        if let Some(under_way) = under_way.filter(|under_way| under_way.check.id == check) {
            under_way.task = Some(task);
        }
    }

    /// The place of a site is free; it is still to be saved.
    pub(super) fn has_read(&mut self, site: SiteId) {
        if let Some(under_way) = self.under_way.get_mut(&site)
            && under_way.is_reading
        {
            under_way.is_reading = false;
            self.hosts.remove(&under_way.host);
            self.unsaved += 1;
        }
    }

    /// All is done for a site.
    pub(super) fn end(&mut self, site: SiteId) {
        self.has_read(site);
        let Some(ended) = self.forget(site) else {
            return;
        };
        if ended.has_begun {
            self.unsaved -= 1;
        }
        if let Some(next) = ended.followed_by.filter(|_| !self.is_closed) {
            self.ask(site, ended.check.url.clone(), next);
        }
    }

    /// How many more sites should wait, so that no place is ever free for want of them.
    pub(super) fn wanted(&self) -> usize {
        match self.due.len() <= self.count {
            true => WAITING * self.count - self.due.len(),
            false => 0,
        }
    }

    /// Notes whether those who wait and those who are under way are all that are due. Whatever becomes due later wakes the
    /// scheduler by itself.
    pub(super) fn note_due(&mut self, is_all: bool, at_busy_hosts: &[SiteId]) {
        let mut others = at_busy_hosts.iter();
        self.is_all_due = is_all && others.all(|site| self.under_way.contains_key(site));
    }

    /// Whether there is something to do: for a site that waits, or in finding more of them.
    pub(super) fn has_room(&self) -> bool {
        let is_somebody_waiting = !(self.asked.is_empty() && self.due.is_empty());
        (is_somebody_waiting && !self.is_full()) || (self.wanted() > 0 && !self.is_all_due)
    }

    fn is_full(&self) -> bool {
        self.hosts.len() >= self.count || self.unsaved >= self.count * UNSAVED
    }

    /// The hosts of all that are under way.
    pub(super) fn busy(&self) -> Vec<String> {
        self.busy.keys().cloned().collect()
    }

    /// Whether no site is being read, so that none will soon be saved.
    pub(super) fn is_quiet(&self) -> bool {
        self.hosts.is_empty()
    }

    /// How many sites are under way.
    pub(super) fn count(&self) -> usize {
        self.under_way.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Forgets all that wait, and lets nothing more follow.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.asked.clear();
        self.due.clear();
        let waiting = self.under_way.iter().filter(|(_, site)| !site.has_begun);
        let waiting: Vec<SiteId> = waiting.map(|(site, _)| *site).collect();
        for site in waiting {
            self.forget(site);
        }
    }

    /// Ends all that are being read or saved, and tells which checks.
    pub(super) fn give_up(&mut self) -> Vec<(SiteId, CheckId)> {
        let tasks = self.under_way.iter().filter_map(|(site, under_way)| {
            under_way.task.as_ref()?.abort();
            Some((*site, under_way.check.id))
        });
        tasks.collect()
    }
}
