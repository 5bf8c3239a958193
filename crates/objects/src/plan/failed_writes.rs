//! A pause for each failed write, so that a refused write costs next to nothing. The pause doubles
//! with each refusal of the same write. If the basis of a write changes, it is tried at once. If
//! the API server does not answer, the pause is 5 seconds.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// The rest after the first refusal, about a tick of the scaling loop; each further one doubles it.
const FIRST: Duration = Duration::from_secs(15);
/// The longest rest, so that a change of the cluster's policy takes effect within this time.
const LONGEST: Duration = Duration::from_mins(10);
/// The rest where the API server did not say anything about the write.
const UNANSWERED: Duration = Duration::from_secs(5);
/// The number of entries from which those that are over are looked for.
const MANY: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Refused,
    /// The API server was not reached, did not answer in time, or failed itself.
    Unanswered,
}

/// The writes that are left alone, by the places where they wait.
#[derive(Debug)]
pub struct FailedWrites<K> {
    resting: HashMap<K, WriteBackoff>,
    /// The number of entries at which those that are over are removed.
    full: usize,
}

#[derive(Debug, Clone, Copy)]
struct WriteBackoff {
    /// The number of the grounds of the write, see [`super::Write::basis`].
    basis: u64,
    refusals: u32,
    until: Instant,
}

impl<K> Default for FailedWrites<K> {
    fn default() -> Self {
        Self {
            resting: HashMap::new(),
            full: MANY,
        }
    }
}

impl<K: Eq + Hash> FailedWrites<K> {
    /// Takes note of a failure at `now`.
    pub fn failed(&mut self, place: K, basis: u64, fault: Fault, now: Instant) {
        let before = self.resting.get(&place).filter(|rest| rest.basis == basis);
        let refusals = before.map_or(0, |rest| rest.refusals);
        let (refusals, rest) = match fault {
            Fault::Unanswered => (refusals, UNANSWERED),
            Fault::Refused => {
                let doubled = FIRST.saturating_mul(1 << refusals.min(16));
                (refusals.saturating_add(1), doubled.min(LONGEST))
            }
        };
        let rest = WriteBackoff {
            basis,
            refusals,
            until: now + rest,
        };
        self.resting.insert(place, rest);
        if self.resting.len() >= self.full {
            self.resting.retain(|_, rest| now < rest.until + LONGEST);
            self.full = MANY.max(2 * self.resting.len());
        }
    }

    pub fn forget(&mut self, place: &K) {
        self.resting.remove(place);
    }

    /// True while a write is to be left alone; `basis` is only asked for where the last one failed.
    pub fn rests(&self, place: &K, basis: impl FnOnce() -> u64, now: Instant) -> bool {
        let rest = self.resting.get(place);
        rest.is_some_and(|rest| now < rest.until && rest.basis == basis())
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // some moment to count from; nothing waits
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_left_alone_for_longer_each_time_and_up_to_ten_minutes() {
        let (mut failed, mut now) = (FailedWrites::default(), Instant::now());
        let mut rests = Vec::new();
        for _ in 0..40 {
            failed.failed("a", 1, Fault::Refused, now);
            let until = failed.resting["a"].until;
            assert!(failed.rests(
                &"a",
                || 1,
                until.checked_sub(Duration::from_millis(1)).unwrap()
            ));
            assert!(!failed.rests(&"a", || 1, until) && !failed.rests(&"b", || 1, now));
            rests.push(until.duration_since(now).as_secs());
            now = until;
        }
        assert_eq!(rests[..8], [15, 30, 60, 120, 240, 480, 600, 600]);
        assert_eq!(rests[39], 600);
    }

    #[test]
    fn who_changes_what_it_was_decided_on_is_heard_at_once() {
        let now = Instant::now();
        let mut failed = FailedWrites::default();
        for _ in 0..9 {
            failed.failed("a", 1, Fault::Refused, now);
        }
        assert!(failed.rests(&"a", || 1, now) && !failed.rests(&"a", || 2, now));
        failed.failed("a", 2, Fault::Refused, now);
        assert!(!failed.rests(&"a", || 2, now + FIRST), "it begins anew");
        failed.forget(&"a");
        assert!(!failed.rests(&"a", || 2, now));
    }

    #[test]
    fn an_api_server_that_is_away_says_nothing_about_a_write() {
        let mut now = Instant::now();
        let mut failed = FailedWrites::default();
        for _ in 0..100 {
            failed.failed("a", 1, Fault::Unanswered, now);
            assert!(failed.rests(&"a", || 1, now));
            now += UNANSWERED;
            assert!(!failed.rests(&"a", || 1, now));
        }
        failed.failed("a", 1, Fault::Refused, now);
        assert!(!failed.rests(&"a", || 1, now + FIRST), "the first refusal");
    }

    #[test]
    fn what_is_over_takes_no_memory() {
        let mut now = Instant::now();
        let mut failed = FailedWrites::default();
        for place in 0..100_000_u32 {
            failed.failed(place, 1, Fault::Refused, now);
            now += Duration::from_secs(1);
        }
        assert!(failed.resting.len() < 3 * MANY, "{}", failed.resting.len());
    }
}
