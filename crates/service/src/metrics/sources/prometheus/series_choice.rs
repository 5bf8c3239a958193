//! Several series of one node or Pod, and which of them is taken. To take none would let any
//! exporter blind a node. So of the newest ones the largest is taken: a load that is too high sends
//! Pods elsewhere, one that is too low overfills the node. The others are counted, and the
//! configured matchers keep strangers out.

use std::collections::hash_map::{Entry, HashMap};
use std::hash::{BuildHasher, Hash};

use evenkeel_units::Amount;
use jiff::{SignedDuration, Timestamp};

use crate::metrics::rejected_samples::{DropCause, RejectedSamples};

/// The values of series by node or Pod, of several the largest.
pub(super) struct LargestSeriesValues<K, S> {
    pub(super) values: HashMap<K, Amount, S>,
    pub(super) dropped: RejectedSamples,
}

impl<K, S: Default> Default for LargestSeriesValues<K, S> {
    fn default() -> Self {
        Self {
            values: HashMap::default(),
            dropped: RejectedSamples::default(),
        }
    }
}

impl<K: Eq + Hash, S: BuildHasher> LargestSeriesValues<K, S> {
    pub(super) fn take(&mut self, key: Option<K>, value: Result<Amount, DropCause>) {
        let (key, value) = match (key, value) {
            (_, Err(cause)) => return self.dropped.add(cause),
            (None, Ok(_)) => return self.dropped.add(DropCause::Unnamed),
            (Some(key), Ok(value)) => (key, value),
        };
        match self.values.entry(key) {
            Entry::Vacant(free) => {
                free.insert(value);
            }
            Entry::Occupied(mut claimed) => {
                self.dropped.add(DropCause::Ambiguous);
                let larger = value.max(*claimed.get());
                claimed.insert(larger);
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SeriesCandidate {
    pub(super) value: Amount,
    pub(super) at: Timestamp,
    /// True where its own exporter is dated, and not only another one of the node.
    pub(super) is_dated: bool,
}

/// The series to take; those at most `about` older than the newest are as new.
pub(super) fn choose(
    candidates: &[SeriesCandidate],
    about: SignedDuration,
) -> Option<SeriesCandidate> {
    let dated = candidates.iter().any(|series| series.is_dated);
    let equals = || candidates.iter().filter(|series| series.is_dated == dated);
    let newest = equals().map(|series| series.at).max()?;
    let as_new = equals().filter(|series| newest.duration_since(series.at) <= about);
    as_new
        .max_by_key(|series| (series.value, series.at))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(value: u64, at: i64, is_dated: bool) -> SeriesCandidate {
        SeriesCandidate {
            value: Amount::new(value),
            at: Timestamp::from_second(at).unwrap(),
            is_dated,
        }
    }

    #[test]
    fn the_newest_is_taken_and_of_those_the_largest() {
        let about = SignedDuration::from_secs(60);
        for (candidates, taken) in [
            (vec![], None),
            (vec![(5, 100, true)], Some(5)),
            (vec![(5, 100, true), (9, 99, true), (7, 70, true)], Some(9)),
            (vec![(5, 100, true), (9, 39, true)], Some(5)),
            (vec![(5, 100, true), (9, 40, true)], Some(9)),
            (vec![(5, 10, true), (9, 100, false)], Some(5)),
            (vec![(5, 10, false), (9, 100, false)], Some(9)),
        ] {
            let mut all: Vec<SeriesCandidate> = candidates
                .iter()
                .map(|(value, at, is_dated)| series(*value, *at, *is_dated))
                .collect();
            for _ in 0..2 {
                let value = choose(&all, about).map(|series| series.value.get());
                assert_eq!(value, taken, "{candidates:?}");
                all.reverse();
            }
        }
    }
}
