//! Which answers of the metrics source are new measurements of a target, and of when they speak.
//!
//! A query that is slower than a round leaves its answer to several rounds. It is one measurement
//! all the same: taken once, for the time at which it was asked for. Where the target has lost Pods
//! since, or the answer lacks some of those that are ready, the sum over the Pods of now is not the
//! load of then, and nothing is taken.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;

use evenkeel_core::scaling::observation::LoadSample;
use evenkeel_core::scaling::pod::PodFacts;
use evenkeel_core::scaling::signal::Signal;

/// The answers that one target has taken, and the Pods that it had meanwhile.
#[derive(Debug, Default)]
pub(super) struct AnswersTaken {
    /// When the last answer for each signal was asked for.
    asked: Vec<(Signal, Timestamp)>,
    members: Vec<Arc<PodFacts>>,
    /// The tick at which a Pod was last found gone.
    lost: Option<Timestamp>,
}

impl AnswersTaken {
    /// Takes note of the Pods that the target has at `now`.
    pub(super) fn see(&mut self, members: &[Arc<PodFacts>], now: Timestamp) {
        let same = |(before, after): (&Arc<PodFacts>, &Arc<PodFacts>)| Arc::ptr_eq(before, after);
        let unchanged = self.members.len() == members.len();
        if unchanged && self.members.iter().zip(members).all(same) {
            return;
        }
        let names: HashSet<&str> = members.iter().map(|pod| &*pod.name).collect();
        if self.members.iter().any(|pod| !names.contains(&*pod.name)) {
            self.lost = Some(now);
        }
        self.members = members.to_vec();
    }

    /// The time for which a load counts that is in an answer, at a tick of `now`; `None` where it has
    /// been taken before, or is not the load of its time. From here on it counts as taken.
    pub(super) fn take(
        &mut self,
        signal: &Signal,
        load: &LoadSample,
        answer: Answer,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let Answer { asked, age } = answer;
        let of_signal = self.asked.iter_mut().find(|(of, _)| of == signal);
        match of_signal {
            // One that was taken later than now was so before the clock was set back.
            Some((_, last)) if asked <= *last && *last <= now => return None,
            Some((_, last)) => *last = asked,
            None => self.asked.push((signal.clone(), asked)),
        }
        let lost = self.lost.is_some_and(|lost| asked < lost && lost <= now);
        match age {
            Age::OfTheRound => Some(now),
            Age::Recent => (!lost).then_some(asked),
            Age::Late => (load.is_whole && !lost).then_some(asked),
        }
    }
}

/// An answer by the time at which it was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) asked: Timestamp,
    pub(super) age: Age,
}

/// The age of an answer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Age {
    /// It was asked for with the newest round, whose time is that of the tick.
    OfTheRound,
    /// It was asked for by itself, at one of the last ticks.
    Recent,
    /// It has taken so long that new Pods may be missing in it.
    Late,
}
