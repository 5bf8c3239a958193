//! A regular grid of values with gaps, and the one rule by which gaps are filled. Fewer than 3
//! missing steps between two values are interpolated. Longer gaps have no sensible values: the
//! series starts anew after them.

use jiff::{SignedDuration, Timestamp};

/// Missing steps in a row from which they are not filled.
const GAP: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RegularSeriesError {
    #[error("a step of {0:#} is not accepted: it must be longer than zero")]
    Step(SignedDuration),
    /// The last step is beyond [`Timestamp::MAX`].
    #[error(
        "a series of {0} steps from its start is not accepted: it would end after the last \
        possible time"
    )]
    End(usize),
}

/// A missing value is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct RegularSeries {
    start: Timestamp,
    end: Timestamp,
    step: SignedDuration,
    values: Vec<Option<f64>>,
}

/// The newest part of a series without gaps after filling.
#[derive(Debug, Clone, PartialEq)]
pub struct GapFreeSeries {
    /// Oldest first, up to the last known one.
    pub values: Vec<f64>,
    /// Missing steps after the last known one: fewer than 3.
    pub missing: usize,
}

impl RegularSeries {
    /// Values that are not finite are gaps.
    ///
    /// # Errors
    /// A step that is not above zero, or a grid that ends beyond [`Timestamp::MAX`].
    pub fn new(
        start: Timestamp,
        step: SignedDuration,
        mut values: Vec<Option<f64>>,
    ) -> Result<Self, RegularSeriesError> {
        if !step.is_positive() {
            return Err(RegularSeriesError::Step(step));
        }
        let last = values.len().saturating_sub(1);
        let end = i32::try_from(last)
            .ok()
            .and_then(|steps| step.checked_mul(steps))
            .and_then(|length| start.checked_add(length).ok())
            .ok_or(RegularSeriesError::End(values.len()))?;
        for value in &mut values {
            *value = value.filter(|value| value.is_finite());
        }
        Ok(Self {
            start,
            end,
            step,
            values,
        })
    }

    pub const fn start(&self) -> Timestamp {
        self.start
    }

    /// That of the first step if there is no value.
    pub const fn end(&self) -> Timestamp {
        self.end
    }

    pub const fn step(&self) -> SignedDuration {
        self.step
    }

    pub fn values(&self) -> &[Option<f64>] {
        &self.values
    }

    /// Everything since the last gap that is not filled.
    pub fn usable(&self) -> GapFreeSeries {
        let mut filler = Filler::default();
        let mut values = Vec::with_capacity(self.values.len());
        for &value in &self.values {
            match filler.accept(value) {
                Arrival::Values(line, value) => values.extend(line.chain([value])),
                Arrival::Restart => values.clear(),
                Arrival::Nothing => {}
            }
        }
        GapFreeSeries {
            values,
            missing: filler.missing(),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Filler {
    last: Option<f64>,
    missing: usize,
}

/// The effect of an observation on a model that follows the series.
pub(crate) enum Arrival {
    /// A value, after those that fill the gap before it.
    Values(GapInterpolation, f64),
    /// The gap is too long: all before it is to be forgotten.
    Restart,
    /// A missing step, filled or part of a gap later.
    Nothing,
}

impl Filler {
    /// As after the values of `usable`.
    pub(crate) fn after(usable: &GapFreeSeries) -> Self {
        Self {
            last: usable.values.last().copied(),
            missing: usable.missing,
        }
    }

    /// A value that is not finite is missing.
    pub(crate) fn accept(&mut self, observation: Option<f64>) -> Arrival {
        match (observation.filter(|value| value.is_finite()), self.last) {
            (Some(value), last) => {
                let filling = GapInterpolation {
                    from: last.unwrap_or(value),
                    to: value,
                    next: 1,
                    missing: self.missing,
                };
                *self = Self {
                    last: Some(value),
                    missing: 0,
                };
                Arrival::Values(filling, value)
            }
            (None, None) => Arrival::Nothing,
            (None, Some(_)) => {
                self.missing += 1;
                if self.missing < GAP {
                    return Arrival::Nothing;
                }
                *self = Self::default();
                Arrival::Restart
            }
        }
    }

    /// The number of steps missing since the last value; 0 before the first.
    pub(crate) const fn missing(&self) -> usize {
        self.missing
    }
}

/// The interpolated values of a gap.
pub(crate) struct GapInterpolation {
    from: f64,
    to: f64,
    next: u8,
    missing: usize,
}

impl Iterator for GapInterpolation {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        if usize::from(self.next) > self.missing {
            return None;
        }
        let share = f64::from(self.next) / evenkeel_units::count_as_f64(self.missing + 1);
        self.next += 1;
        Some(self.from * (1.0 - share) + self.to * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usable(values: &[Option<f64>]) -> (Vec<f64>, usize) {
        let step = SignedDuration::from_secs(15);
        let series = RegularSeries::new(Timestamp::UNIX_EPOCH, step, values.to_vec()).unwrap();
        let GapFreeSeries { values, missing } = series.usable();
        (values, missing)
    }

    #[test]
    fn short_gaps_are_filled_on_the_line_and_long_ones_restart() {
        let (a, b) = (Some(1.0), Some(4.0));
        for (given, values, missing) in [
            (vec![], vec![], 0),
            (vec![None, None, None, None], vec![], 0),
            (vec![None, None, None, a], vec![1.0], 0),
            (vec![a, b], vec![1.0, 4.0], 0),
            (vec![a, None, b], vec![1.0, 2.5, 4.0], 0),
            (vec![a, None, None, b], vec![1.0, 2.0, 3.0, 4.0], 0),
            (vec![a, None, None, None, b], vec![4.0], 0),
            (vec![a, b, None, None], vec![1.0, 4.0], 2),
            (vec![a, b, None, None, None], vec![], 0),
            (vec![a, Some(f64::NAN), b], vec![1.0, 2.5, 4.0], 0),
        ] {
            assert_eq!(usable(&given), (values, missing), "{given:?}");
        }
    }

    #[test]
    fn a_grid_moves_forward_and_ends_in_time() {
        let start = Timestamp::UNIX_EPOCH;
        let zero = RegularSeries::new(start, SignedDuration::ZERO, vec![]);
        assert_eq!(zero, Err(RegularSeriesError::Step(SignedDuration::ZERO)));
        let late = RegularSeries::new(
            Timestamp::MAX,
            SignedDuration::from_secs(1),
            vec![None, None],
        );
        assert_eq!(late, Err(RegularSeriesError::End(2)));
        let step = SignedDuration::from_secs(60);
        let series = RegularSeries::new(start, step, vec![None, Some(1.0), None]).unwrap();
        assert_eq!(series.end().as_second(), 120);
    }
}
