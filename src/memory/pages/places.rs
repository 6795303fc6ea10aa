//! Where a page is among many in the order of their keys.
//!
//! Keys are hashes, so the first bits of one tell nearly where it is: two looks into memory in place of the sixteen of a
//! binary search. Whoever makes up addresses with keys that are all alike is searched for as ever.

use super::PageKey;

/// A few keys to each group: fewer would take more room, more would take longer.
const KEYS_OF_GROUP: usize = 4;

/// The groups of the keys that begin with the same bits.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// How far a key is shifted to be the number of its group.
    shift: u32,
    /// Where each group begins, and where the last one ends.
    starts: Vec<u32>,
}

impl Places {
    /// The groups of these keys, which are in order.
    pub(super) fn of(keys: &[PageKey]) -> Places {
        let groups = (keys.len() / KEYS_OF_GROUP).next_power_of_two().max(2);
        let shift = u64::BITS - groups.trailing_zeros();
        let mut starts = Vec::with_capacity(groups + 1);
        for (place, key) in keys.iter().enumerate() {
            // There are never four thousand million of them.
            let place = u32::try_from(place).unwrap_or(u32::MAX);
            while starts.len() <= group_of(*key, shift) {
                starts.push(place);
            }
        }
        starts.resize(groups + 1, u32::try_from(keys.len()).unwrap_or(u32::MAX));
        Places { shift, starts }
    }

    /// The place of a key among the same keys.
    pub(super) fn find(&self, keys: &[PageKey], key: PageKey) -> Option<usize> {
        let group = group_of(key, self.shift);
        let (start, end) = (self.starts[group] as usize, self.starts[group + 1] as usize);
        let place = keys[start..end].binary_search(&key).ok()?;
        Some(start + place)
    }
}

/// The first bits of a key, such that groups have the order of their keys.
fn group_of(key: PageKey, shift: u32) -> usize {
    let bits = key.0.cast_unsigned() ^ (1 << 63);
    // Never more than there are groups.
    (bits >> shift) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_key_is_found_at_its_place_and_no_other_is(
            spread in prop::collection::btree_set(any::<i64>(), 0..300),
            near in prop::collection::btree_set(-40_i64..40, 0..60),
            others in prop::collection::vec(any::<i64>(), 20),
        ) {
            let all: std::collections::BTreeSet<i64> =
                spread.union(&near).copied().chain([i64::MIN, i64::MAX]).collect();
            for chosen in [&spread, &near, &all] {
                let keys: Vec<PageKey> = chosen.iter().copied().map(PageKey).collect();
                let places = Places::of(&keys);
                for key in others.iter().chain(&near).chain(&spread).copied().map(PageKey) {
                    prop_assert_eq!(places.find(&keys, key), keys.binary_search(&key).ok());
                }
            }
        }
    }
}
