//! The Pods of a target of late, against which its loads are held.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};

/// The time that counts are remembered for: a load that could only be estimated is known that much later
/// at most, and a Pod takes no longer to start.
const REMEMBERED: SignedDuration = SignedDuration::from_mins(30);

/// The Pods of a target of late.
#[derive(Debug, Default)]
pub(super) struct PodCountHistory {
    ready: TimedCounts,
    /// The counts that a recommendation would have asked for.
    asked: TimedCounts,
}

/// The Pods at a tick, as far as they are known.
#[derive(Debug, Clone, Copy)]
pub(super) struct PodsNow {
    /// Those that are ready.
    pub(super) ready: i32,
    /// The count that a decision asks for without effect; `None` if decisions take effect.
    pub(super) asked_in_vain: Option<i32>,
}

/// Counts, each with the time from which on it held.
#[derive(Debug, Default)]
struct TimedCounts(VecDeque<(Timestamp, i32)>);

impl PodCountHistory {
    /// Takes the Pods of a tick.
    pub(super) fn see(&mut self, pods: PodsNow, now: Timestamp) {
        let PodsNow {
            ready,
            asked_in_vain,
        } = pods;
        self.ready.see(ready, now);
        match asked_in_vain {
            Some(asked) => self.asked.see(asked, now),
            None => self.asked = TimedCounts::default(),
        }
    }

    /// The Pods that were ready at `at`, and those with them that would have been if recommendations were
    /// followed and each took `start_up` to be ready. `None` where that is not remembered.
    pub(super) fn ready(&self, at: Timestamp, start_up: SignedDuration) -> Option<i32> {
        let ready = self.ready.least(at, SignedDuration::ZERO)?;
        let asked = self.asked.least(at, start_up);
        Some(asked.map_or(ready, |asked| asked.max(ready)))
    }
}

impl TimedCounts {
    fn see(&mut self, count: i32, now: Timestamp) {
        let Self(counts) = self;
        if counts.back().is_none_or(|&(_, last)| last != count) {
            counts.push_back((now, count));
        }
        // The one before the first that is young enough still says what there was then.
        while let Some(&(next, _)) = counts.get(1)
            && now.duration_since(next) > REMEMBERED
        {
            counts.pop_front();
        }
    }

    /// The least count from a time before `at` until then; `None` where that is not remembered.
    fn least(&self, at: Timestamp, before: SignedDuration) -> Option<i32> {
        let Self(counts) = self;
        let from = at.checked_sub(before).ok()?;
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

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn seen(counts: &[(i64, i32, Option<i32>)]) -> PodCountHistory {
        let mut carried = PodCountHistory::default();
        for &(second, ready, asked_in_vain) in counts {
            let pods = PodsNow {
                ready,
                asked_in_vain,
            };
            carried.see(pods, at(second));
        }
        carried
    }

    const MINUTE: SignedDuration = SignedDuration::from_mins(1);

    /// The harm: Pods that waited for a node or a quota counted as ready, and the risk as held.
    #[test]
    fn what_was_ready_counts_and_not_what_was_asked_for() {
        let mut carried = seen(&[(0, 4, None), (600, 6, None), (1200, 3, None)]);
        for (second, expected) in [
            (-1, None),
            (30, Some(4)),
            (599, Some(4)),
            (600, Some(6)),
            (1199, Some(6)),
            (1200, Some(3)),
        ] {
            assert_eq!(carried.ready(at(second), MINUTE), expected, "{second}");
        }
        let pods = PodsNow {
            ready: 3,
            asked_in_vain: None,
        };
        carried.see(pods, at(1200 + 30 * 60 + 1));
        assert_eq!(carried.ready(at(700), MINUTE), None, "it is forgotten");
    }

    #[test]
    fn a_recommendation_is_judged_as_if_it_were_followed() {
        let carried = seen(&[(0, 4, Some(4)), (600, 4, Some(10)), (1200, 5, Some(3))]);
        for (second, expected) in [
            (30, Some(4)),
            (659, Some(4)),
            (660, Some(10)),
            (1199, Some(10)),
            (1200, Some(5)),
        ] {
            assert_eq!(carried.ready(at(second), MINUTE), expected, "{second}");
        }
    }
}
