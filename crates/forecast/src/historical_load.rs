//! The past of a load as models read it, independent of its storage.

use std::fmt;

use evenkeel_units::i64_as_f64;
use jiff::{SignedDuration, Timestamp};

pub trait HistoricalLoad: fmt::Debug + Send + Sync {
    /// `None` where it is not known.
    fn at(&self, time: Timestamp) -> Option<f64>;

    /// The first time from `time` on at which [`Self::at`] has a value.
    fn known_from(&self, time: Timestamp) -> Option<Timestamp>;

    /// `time` lies on the line between two measurements, where the load was uncertain.
    fn is_uncertain(&self, time: Timestamp) -> bool;
}

/// A load recorded whole, on a grid without gaps, of which a first part is visible.
#[derive(Debug, Clone, Copy)]
pub struct Recording<'a> {
    start: Timestamp,
    step: SignedDuration,
    values: &'a [f64],
}

impl<'a> Recording<'a> {
    /// On a grid from `start`, `step` apart, which is above zero.
    pub const fn new(start: Timestamp, step: SignedDuration, values: &'a [f64]) -> Self {
        Self {
            start,
            step,
            values,
        }
    }

    pub const fn values(&self) -> &'a [f64] {
        self.values
    }

    /// Whole steps from the start to `time`, and the nanoseconds beyond; `None` before the start.
    fn steps_to(&self, time: Timestamp) -> Option<(usize, i128)> {
        let since = time.duration_since(self.start).as_nanos();
        let step = self.step.as_nanos().max(1);
        let whole = usize::try_from(since.div_euclid(step)).ok()?;
        Some((whole, since.rem_euclid(step)))
    }
}

impl HistoricalLoad for Recording<'_> {
    /// Linear between two steps.
    fn at(&self, time: Timestamp) -> Option<f64> {
        let (whole, beyond) = self.steps_to(time)?;
        let before = *self.values.get(whole)?;
        if beyond == 0 {
            return Some(before);
        }
        let after = *self.values.get(whole + 1)?;
        let nanoseconds = |span: i128| i64::try_from(span).map_or(f64::MAX, i64_as_f64);
        let share = nanoseconds(beyond) / nanoseconds(self.step.as_nanos());
        Some(before * (1.0 - share) + after * share)
    }

    fn known_from(&self, time: Timestamp) -> Option<Timestamp> {
        let from = time.max(self.start);
        self.at(from).map(|_| from)
    }

    fn is_uncertain(&self, _: Timestamp) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_exact_on_its_grid_and_ends_with_what_is_told() {
        let time = |second| Timestamp::from_second(second).unwrap();
        let (step, values) = (SignedDuration::from_secs(60), [1.0, 2.0, 4.0]);
        let past = Recording::new(time(120), step, &values);
        for (second, load) in [
            (119, None),
            (120, Some(1.0)),
            (150, Some(1.5)),
            (180, Some(2.0)),
            (225, Some(3.5)),
            (240, Some(4.0)),
            (241, None),
        ] {
            assert_eq!(past.at(time(second)), load, "{second}");
        }
        assert_eq!(past.known_from(time(0)), Some(time(120)));
        assert_eq!(past.known_from(time(130)), Some(time(130)));
        assert_eq!(past.known_from(time(241)), None);
    }
}
