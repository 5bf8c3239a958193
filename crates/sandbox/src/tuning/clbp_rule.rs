//! The rule of `[CLBP]` 4.5 alone: the limit is (4.18) for rising usage and (4.19) for falling,
//! whatever the recent use.

use std::collections::VecDeque;

use evenkeel_tuning::decision::{Elasticity, MinuteSamples, SAMPLES, Trend, target};
use evenkeel_units::Amount;
use jiff::Timestamp;

use super::container::{Rhythm, Tuner, scaled};

pub(super) struct Thesis {
    samples: VecDeque<Amount>,
    turn: usize,
    seen: usize,
    margin: f64,
}

impl Thesis {
    pub(super) fn new(rhythm: Rhythm, margin: f64) -> Self {
        Self {
            samples: VecDeque::with_capacity(SAMPLES),
            turn: rhythm.turn,
            seen: 0,
            margin,
        }
    }
}

impl Tuner for Thesis {
    fn see(&mut self, _: Timestamp, used: Amount, killed: bool) {
        self.seen += 1;
        if killed {
            return;
        }
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(used);
    }

    fn limit(&mut self, _: Timestamp, current: Amount) -> Amount {
        if !self.seen.is_multiple_of(self.turn) {
            return current;
        }
        let samples: Vec<Amount> = self.samples.iter().copied().collect();
        let Ok(samples) = <[Amount; SAMPLES]>::try_from(samples) else {
            return current;
        };
        let samples = MinuteSamples(samples);
        let wanted = target(&samples, Trend::of(&samples), Elasticity::default());
        wanted.map_or(current, |wanted| scaled(wanted, self.margin))
    }
}
