//! Which answers of the metrics source are new measurements of a target.
//!
//! A query that is slower than a round leaves its answer to several rounds. It is one measurement all
//! the same, of the time that it speaks of, and taken once.

use jiff::Timestamp;

use crate::controller::scaling::samples::Sample;
use evenkeel_core::scaling::signal::Signal;

/// The answers that one target has taken.
#[derive(Debug, Default)]
pub(super) struct AnswersTaken {
    /// When the last answer for each signal was asked for.
    asked: Vec<(Signal, Timestamp)>,
}

impl AnswersTaken {
    /// True where the answer for a signal in `sample` has not been taken before `now`. From here on it
    /// counts as taken.
    pub(super) fn take(&mut self, signal: &Signal, sample: &Sample, now: Timestamp) -> bool {
        let Some(asked) = sample.asked(signal) else {
            return false;
        };
        let of_signal = self.asked.iter_mut().find(|(of, _)| of == signal);
        match of_signal {
            // One that was taken later than now was so before the clock was set back.
            Some((_, last)) if asked <= *last && *last <= now => return false,
            Some((_, last)) => *last = asked,
            None => self.asked.push((signal.clone(), asked)),
        }
        true
    }
}
