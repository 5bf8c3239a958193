//! The values of a past by steps of one length, of which some may be missing.

use evenkeel_scaling::targets::history_backfill::Points;
use evenkeel_scaling::tracker::backfill_pace::BackfillRemainder;
use jiff::{SignedDuration, Timestamp};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// The end of the newest.
    pub(super) end: Timestamp,
    pub(super) step: SignedDuration,
    pub(super) steps: usize,
}

/// The values of consecutive steps, NaN where one is missing.
#[derive(Debug, Clone)]
pub(super) struct Steps {
    pub(super) start: Timestamp,
    pub(super) step: SignedDuration,
    pub(super) values: Vec<f32>,
}

impl Span {
    /// All of it, to be asked for.
    pub(super) fn rest(&self) -> BackfillRemainder {
        let steps = u32::try_from(self.steps).unwrap_or(u32::MAX);
        BackfillRemainder::of(self.end, self.step, steps)
    }

    /// The steps, of which nothing is known; `None` where they begin before all time.
    pub(super) fn empty(&self) -> Option<Steps> {
        let length = self.step.checked_mul(i32::try_from(self.steps).ok()?)?;
        Some(Steps {
            start: self.end.checked_sub(length).ok()?,
            step: self.step,
            values: vec![f32::NAN; self.steps],
        })
    }
}

impl Steps {
    /// The value of a step; `None` where it is missing.
    pub(super) fn at(&self, place: usize) -> Option<f64> {
        let value = self.values.get(place).copied().map(f64::from);
        value.filter(|value| !value.is_nan())
    }

    /// The same without the steps before so many of the newest.
    pub(super) fn newest(mut self, steps: usize) -> Self {
        let older = self.values.len().saturating_sub(steps);
        let skipped = i32::try_from(older).ok();
        let skipped = skipped.and_then(|older| self.step.checked_mul(older));
        if let Some(start) = skipped.and_then(|skipped| self.start.checked_add(skipped).ok()) {
            self.start = start;
            self.values.drain(..older);
        }
        self
    }

    pub(super) fn middle(&self, place: usize) -> Option<Timestamp> {
        let before = self.step.checked_mul(i32::try_from(place).ok()?)?;
        self.start.checked_add(before + self.step / 2).ok()
    }

    /// Takes values for the steps that they lie in; those of other times are left out.
    pub(super) fn take(&mut self, points: &Points) {
        for &(at, value) in points {
            let since = at.duration_since(self.start).as_secs();
            let place = usize::try_from(since.div_euclid(self.step.as_secs())).ok();
            let place = place.and_then(|place| self.values.get_mut(place));
            #[expect(clippy::cast_possible_truncation, reason = "histories are of 32 bits")]
            let narrow = value as f32;
            if let Some(place) = place.filter(|_| narrow.is_finite() && narrow >= 0.0) {
                *place = narrow;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_the_steps_that_they_lie_in() {
        let at = |seconds: i64| Timestamp::from_second(1_800_000_000 + seconds).unwrap();
        let span = Span {
            end: at(180),
            step: SignedDuration::from_mins(1),
            steps: 3,
        };
        let mut steps = span.empty().unwrap();
        assert_eq!(steps.start, at(0));
        steps.take(&vec![
            (at(-1), 9.0),
            (at(30), 1.0),
            (at(119), 2.0),
            (at(150), -1.0),
            (at(150), f64::NAN),
            (at(150), 1e300),
            (at(180), 9.0),
        ]);
        assert_eq!(steps.values[..2], [1.0, 2.0]);
        assert_eq!(
            (steps.at(1), steps.at(2), steps.at(3)),
            (Some(2.0), None, None)
        );
        assert_eq!(steps.middle(1), Some(at(90)));
        let newest = steps.clone().newest(2);
        assert_eq!((newest.start, newest.at(0)), (at(60), Some(2.0)));
        let all = steps.newest(9);
        assert_eq!((all.start, all.values.len()), (at(0), 3));
    }
}
