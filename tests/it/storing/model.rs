use proptest::prelude::*;
use proptest::test_runner::Config;
use sitebell::change::{Change, ChangeKind, Entry};
use sitebell::memory::{ChangeKey, Known};
use sitebell::moment::Moment;
use sitebell::site::SiteId;
use sitebell::store::{Keep, Store};

use super::{collection, entry, now, record, save, store_with_site};

/// Silent changes, then the changes of entries.
type Found = (Vec<Change>, Vec<Vec<Change>>);

#[derive(Debug, Clone)]
enum Step {
    /// For each of two collections what was found, if it was read.
    Save([Option<Found>; 2]),
    Reopen,
    Prune(u32),
}

/// All that should be known of a collection: one list of changes, oldest first, each with its entry.
#[derive(Debug, Default)]
struct Model {
    changes: Vec<(Change, Option<usize>)>,
    entries: usize,
    horizon: Option<chrono::DateTime<chrono::Utc>>,
}

impl Model {
    fn prune(&mut self, keep: usize) {
        let Some(mut cut) = self.changes.len().checked_sub(keep).filter(|cut| *cut > 0) else {
            return;
        };
        let shown = self.entries.saturating_sub(50);
        let first_shown = self
            .changes
            .iter()
            .position(|(_, entry)| entry.is_some_and(|entry| entry >= shown));
        cut = cut.min(first_shown.unwrap_or(cut));
        while cut > 0
            && cut < self.changes.len()
            && self.changes[cut].1.is_some()
            && self.changes[cut - 1].1 == self.changes[cut].1
        {
            cut -= 1;
        }
        let mut stays = Vec::new();
        for (change, _) in self.changes.drain(..cut).rev() {
            let is_over = change.datetime.latest() <= now();
            if !is_over && stays.len() < keep {
                stays.push((change, None));
            } else if change.datetime.start() <= now() {
                self.horizon = self.horizon.max(Some(change.datetime.start()));
            }
        }
        stays.reverse();
        self.changes.splice(..0, stays);
    }

    fn known(&self) -> Known {
        let mut known = Known::since(self.horizon);
        for (change, _) in &self.changes {
            known.add(ChangeKey::new(&change.url, change.kind, &change.datetime));
        }
        known
    }

    /// A page that is gone without a word about its title is shown by the last one that it had.
    fn completed(&self, change: &Change) -> Change {
        let mut change = change.clone();
        if change.kind == ChangeKind::Deleted && change.title.is_none() {
            let before = self.changes.iter().rev().map(|(change, _)| change);
            let mut same = before.filter(|before| before.url == change.url);
            change.title = same.find_map(|before| before.title.clone());
        }
        change
    }

    fn entries(&self) -> Vec<Vec<Change>> {
        let mut entries: Vec<(usize, Vec<Change>)> = Vec::new();
        for (change, entry) in &self.changes {
            let Some(entry) = entry else { continue };
            match entries.last_mut() {
                Some((last, changes)) if last == entry => changes.push(change.clone()),
                _ => entries.push((*entry, vec![change.clone()])),
            }
        }
        entries
            .into_iter()
            .rev()
            .map(|(_, changes)| changes)
            .collect()
    }
}

fn any_change() -> impl Strategy<Value = Change> {
    let datetime = prop_oneof![
        (2020..2027_i32).prop_map(|year| year.to_string()),
        (1..13, 1..29).prop_map(|(m, d)| format!("2026-{m:02}-{d:02}")),
        (
            0..24,
            0..60,
            "(\\.[0-9]{1,9})?",
            "Z|[+-](0[0-9]|1[0-3]):[0-5][0-9]|[+-]00:00"
        )
            .prop_map(|(h, m, fraction, zone)| format!(
                "2026-01-01T{h:02}:{m:02}:00{fraction}{zone}"
            )),
        (0..24).prop_map(|h| format!("2026-01-01T{h:02}:00Z")),
    ];
    let page = prop_oneof![
        "https://s.example/(x/|y/)?[a-c]",
        "http://[a-c].example/",
        "https://s.ex"
    ];
    let kind = prop_oneof![
        Just(ChangeKind::Created),
        Just(ChangeKind::Updated),
        Just(ChangeKind::Deleted)
    ];
    (page, kind, datetime, proptest::option::of("[ -~é]{0,9}")).prop_map(
        |(url, kind, datetime, title)| Change {
            url,
            kind,
            datetime: Moment::parse(&datetime).unwrap(),
            title,
            details: Default::default(),
        },
    )
}

fn any_step() -> impl Strategy<Value = Step> {
    let changes = |range| proptest::collection::vec(any_change(), range);
    let found = || {
        proptest::option::of((
            changes(0..6),
            proptest::collection::vec(changes(0..4), 0..30),
        ))
    };
    prop_oneof![
        4 => [found(), found()].prop_map(Step::Save),
        1 => Just(Step::Reopen),
        2 => (0..60_u32).prop_map(Step::Prune),
    ]
}

async fn agrees(store: &Store, site: SiteId, models: &[Model; 2]) -> Result<(), TestCaseError> {
    let memory = store.memory(site).await.unwrap().unwrap();
    for collection in &memory.collections {
        let model = &models[usize::from(collection.identity.path() == "/y/")];
        prop_assert_eq!(&*collection.known.get().await.unwrap(), &model.known());
        let entries = store.entries(collection.id, 1000).await.unwrap();
        let found: Vec<_> = entries
            .iter()
            .map(|entry: &Entry| entry.changes.clone())
            .collect();
        prop_assert_eq!(found, model.entries());
        let newest = store.newest_changes(collection.id, 7).await.unwrap();
        let newest: Vec<_> = newest.into_iter().map(|row| row.change).collect();
        let announced = model
            .changes
            .iter()
            .rev()
            .filter(|(_, entry)| entry.is_some());
        prop_assert_eq!(
            newest,
            announced
                .take(7)
                .map(|(change, _)| change.clone())
                .collect::<Vec<_>>()
        );
    }
    Ok(())
}

async fn follow(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let (folder, mut store, site) = store_with_site().await;
    let mut models = [Model::default(), Model::default()];
    for step in steps {
        match step {
            Step::Save(found) => {
                let mut records = Vec::new();
                for ((found, model), identity) in found.into_iter().zip(&mut models).zip(["x", "y"])
                {
                    let Some((silent, entries)) = found else {
                        continue;
                    };
                    model
                        .changes
                        .extend(silent.iter().map(|change| (change.clone(), None)));
                    for changes in entries.iter().filter(|changes| !changes.is_empty()) {
                        for change in changes {
                            let change = model.completed(change);
                            model.changes.push((change, Some(model.entries)));
                        }
                        model.entries += 1;
                    }
                    let entries = entries.into_iter().map(entry).collect();
                    records.push(collection(
                        &format!("https://s.example/{identity}/"),
                        silent,
                        entries,
                    ));
                }
                save(&store, site, record(records)).await;
            }
            Step::Reopen => {
                store.close().await.unwrap();
                store = Store::open(folder.path()).await.unwrap();
            }
            Step::Prune(keep) => {
                let limits = Keep {
                    checks_per_site: 2,
                    changes_per_collection: keep,
                };
                store.prune(&limits, now()).await.unwrap();
                models
                    .iter_mut()
                    .for_each(|model| model.prune(keep as usize));
            }
        }
        agrees(&store, site, &models).await?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(Config::with_cases(40))]

    #[test]
    fn whatever_happens_in_whatever_order_the_store_is_as_simple_as_a_list(
        steps in proptest::collection::vec(any_step(), 1..10),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(follow(steps))?;
    }
}
