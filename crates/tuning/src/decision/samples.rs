//! The five newest one-minute samples of a container. A repeated sample counts once. A gap, or a
//! clock that is set back, empties the window: five samples of ten minutes do not show if usage
//! rises.

use std::collections::VecDeque;

use evenkeel_units::Amount;
use jiff::{SignedDuration, Timestamp};

pub const SAMPLES: usize = 5;

/// The samples U1 to U5 of `[CLBP] (4.18)`, the newest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinuteSamples(pub [Amount; SAMPLES]);

impl MinuteSamples {
    pub fn newest(&self) -> Amount {
        self.0[SAMPLES - 1]
    }

    pub fn highest(&self) -> Amount {
        self.0.iter().copied().max().unwrap_or_default()
    }

    pub fn lowest(&self) -> Amount {
        self.0.iter().copied().min().unwrap_or_default()
    }

    pub fn mean(&self) -> f64 {
        mean(&self.0)
    }

    /// Mean of those before the newest.
    pub fn mean_before(&self) -> f64 {
        mean(&self.0[..SAMPLES - 1])
    }
}

fn mean(amounts: &[Amount]) -> f64 {
    let sum: f64 = amounts.iter().map(|amount| amount.as_f64()).sum();
    sum / evenkeel_units::count_as_f64(amounts.len().max(1))
}

/// The samples of one container as they arrive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SampleWindow<T> {
    samples: VecDeque<(Timestamp, T)>,
}

impl<T: Copy> SampleWindow<T> {
    /// `at` is the end of the sample's span. A sample less than most of an interval newer is a
    /// repetition; a much newer one follows a gap. One older by more than an interval is from a
    /// clock that was set back, which makes earlier samples useless.
    pub fn push(&mut self, at: Timestamp, value: T, interval: SignedDuration) {
        if let Some((last, _)) = self.samples.back() {
            let passed = at.duration_since(*last);
            if passed < -interval {
                self.samples.clear();
            } else if passed < interval.saturating_mul(3) / 4 {
                return;
            }
            if passed > interval.saturating_mul(5) / 2 {
                self.samples.clear();
            }
        }
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back((at, value));
    }

    /// Oldest first; `None` if there are fewer than five, or the newest is older than `max_age` or
    /// as far ahead of `now`.
    pub fn samples(&self, now: Timestamp, max_age: SignedDuration) -> Option<[T; SAMPLES]> {
        let (newest, _) = self.samples.back()?;
        if now.duration_since(*newest).abs() > max_age {
            return None;
        }
        let values: Vec<T> = self.samples.iter().map(|(_, value)| *value).collect();
        values.try_into().ok()
    }

    pub fn newest(&self) -> Option<Timestamp> {
        self.samples.back().map(|(at, _)| *at)
    }
}
