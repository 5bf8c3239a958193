//! What the ready Pods of a target carried, by which the level of its floors is steered.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};

use super::tick::TickInput;
use super::tracked_load::TrackedLoad;
use crate::scaling::policy::Policy;

/// The load over the target from which Pods carry too much: the HPA's own tolerance.
const TOO_MUCH: f64 = 1.1;
/// The longest time that one sample speaks for.
const LONGEST: f64 = 2.0;
/// The time that counts are remembered for.
const REMEMBERED: SignedDuration = SignedDuration::from_mins(30);

/// The counts of a target of late, what was asked for included: a recommendation is judged as if it were
/// followed.
#[derive(Debug, Default)]
pub(super) struct Carried {
    /// Each count with the time from which on it was asked for.
    counts: VecDeque<(Timestamp, i32)>,
    /// The times of the samples that were judged last, in the order of the loads.
    judged: Vec<Option<Timestamp>>,
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

    /// Tells each load whether the Pods that were ready at its newest certain sample carried too much. Where the
    /// count is at its most, no forecast could have brought more.
    pub(super) fn judge(
        &mut self,
        loads: &mut [TrackedLoad],
        policy: &Policy,
        input: &TickInput<'_>,
    ) {
        self.judged.resize(loads.len(), None);
        for (load, judged) in loads.iter_mut().zip(&mut self.judged) {
            let mut scaled = input.signals.iter();
            let Some(scaled) = scaled.find(|scaled| scaled.signal == load.signal) else {
                continue;
            };
            let Some(sample) = load.certain.filter(|sample| Some(sample.at) > *judged) else {
                continue;
            };
            let before = judged.replace(sample.at);
            let start_up = policy
                .lead
                .start_up
                .saturating_add(policy.lead.node_start_up);
            let ready = ready(&self.counts, sample.at, start_up);
            let Some((before, ready)) = before.zip(ready) else {
                continue;
            };
            let minutes = sample.at.duration_since(before).as_secs_f64() / 60.0;
            let carries = scaled.capacity.request() * scaled.capacity.target();
            let enough = f64::from(ready) * carries * TOO_MUCH;
            let too_much = sample.load.sum > enough && ready < policy.bounds.max();
            load.pass(minutes.min(LONGEST), too_much);
        }
    }
}

/// The Pods that were ready at `at`, where each takes `start_up` to be: the fewest that were asked for
/// between then and that time before. `None` where that is not remembered.
fn ready(
    counts: &VecDeque<(Timestamp, i32)>,
    at: Timestamp,
    start_up: SignedDuration,
) -> Option<i32> {
    let from = at.checked_sub(start_up).ok()?;
    let ends = counts.iter().skip(1).map(|&(next, _)| next);
    let ends = ends.chain(std::iter::once(Timestamp::MAX));
    let within = counts.iter().zip(ends);
    let within = within.filter(|&(&(begin, _), end)| begin <= at && end > from);
    let counts = within.map(|(&(_, count), _)| count);
    counts.min()
}
