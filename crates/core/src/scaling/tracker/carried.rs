//! The Pods of a target of late, against which its loads are held.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};

/// The time that counts are remembered for: a load that could only be estimated is known that much later
/// at most, and a Pod takes no longer to start.
const REMEMBERED: SignedDuration = SignedDuration::from_mins(30);

/// The counts of a target of late, what was asked for included: a recommendation is judged as if it were
/// followed.
#[derive(Debug, Default)]
pub(super) struct Carried {
    /// Each count with the time from which on it was asked for.
    counts: VecDeque<(Timestamp, i32)>,
}

impl Carried {
    /// Takes the count that is asked for at a tick.
    pub(super) fn see(&mut self, count: i32, now: Timestamp) {
        if self.counts.back().is_none_or(|&(_, last)| last != count) {
            self.counts.push_back((now, count));
        }
        // The one before the first that is young enough still says what there was then.
        while let Some(&(next, _)) = self.counts.get(1)
            && now.duration_since(next) > REMEMBERED
        {
            self.counts.pop_front();
        }
    }

    /// The Pods that were ready at `at`, where each takes `start_up` to be: the fewest that were asked for
    /// between then and that time before. `None` where that is not remembered.
    pub(super) fn ready(&self, at: Timestamp, start_up: SignedDuration) -> Option<i32> {
        let counts = &self.counts;
        let from = at.checked_sub(start_up).ok()?;
        let ends = counts.iter().skip(1).map(|&(next, _)| next);
        let ends = ends.chain(std::iter::once(Timestamp::MAX));
        let within = counts.iter().zip(ends);
        let within = within.filter(|&(&(begin, _), end)| begin <= at && end > from);
        let counts = within.map(|(&(_, count), _)| count);
        counts.min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_ready_once_it_has_started_and_not_any_more_once_it_is_taken_away() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut carried = Carried::default();
        for (second, count) in [(0, 4), (600, 10), (1200, 3)] {
            carried.see(count, at(second));
        }
        let minute = SignedDuration::from_mins(1);
        for (second, expected) in [
            (-1, None),
            (30, Some(4)),
            (659, Some(4)),
            (660, Some(10)),
            (1199, Some(10)),
            (1200, Some(3)),
        ] {
            assert_eq!(carried.ready(at(second), minute), expected, "{second}");
        }
        carried.see(3, at(1200 + 30 * 60 + 1));
        assert_eq!(carried.ready(at(700), minute), None, "it is forgotten");
    }
}
