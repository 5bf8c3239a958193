//! The inputs of `gbdt`: a load on its grid, relative to its last value and divided by the mean of
//! the last four hours, so that size does not matter. Unknown values, such as a day before there
//! was one, are missing, which trees handle.

use evenkeel_units::{count_as_f64, i64_as_f64};

use crate::tree_inputs::TreeInputs;
use crate::trees::TreeInput;

pub(super) const INPUTS: usize = COMMON + 17;

/// Values read before the last one.
const LAGS: usize = 23;
/// Windows of the means, in steps.
const MEANS: [usize; 6] = [3, 6, 12, 36, 72, 288];
/// Inputs that every horizon shares.
const COMMON: usize = LAGS + MEANS.len() + 1;
/// Window of the mean that scales all inputs, in hours.
const SCALE_HOURS: i64 = 4;
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
const DAYS_OF_WEEK: i64 = 7;
/// Days, and hours, over which values at the same time are averaged.
const REPEATS: [usize; 2] = [7, 6];

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Grid {
    /// Step length, above zero.
    seconds: f64,
}

/// Values up to an origin, without a gap.
#[derive(Debug, Clone, Copy)]
pub(super) struct GaplessHistory<'a>(pub(super) &'a [f64]);

impl GaplessHistory<'_> {
    /// The value `steps` before the origin.
    fn ago(self, steps: usize) -> Option<f64> {
        let index = self.0.len().checked_sub(1)?.checked_sub(steps)?;
        self.0.get(index).copied()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GbdtOriginInputs {
    pub(super) last: f64,
    /// Turns answers back into loads.
    pub(super) scale: f64,
    common: [TreeInput; COMMON],
}

impl Grid {
    /// Steps of so many nanoseconds, above zero.
    pub(super) fn new(nanoseconds: i128) -> Self {
        let nanoseconds = i64::try_from(nanoseconds).unwrap_or(i64::MAX).max(1);
        Self {
            seconds: i64_as_f64(nanoseconds) / 1e9,
        }
    }

    /// The nearest number of steps; `None` if it is below two.
    fn steps(self, seconds: i64) -> Option<usize> {
        let steps = (i64_as_f64(seconds) / self.seconds).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it saturates, and steps are above zero"
        )]
        let steps = steps as usize;
        (steps >= 2).then_some(steps)
    }

    /// Window of the mean that scales all inputs, in steps; at most a day of minutes.
    fn scale_steps(self) -> usize {
        self.steps(SCALE_HOURS * HOUR).unwrap_or(1).min(1440)
    }
}

impl GbdtOriginInputs {
    /// For a load of about `level`. `None` if `past` is empty or the last hours are all 0.
    pub(super) fn at(past: GaplessHistory<'_>, grid: Grid, level: f64) -> Option<Self> {
        let last = past.ago(0)?;
        let sizes = (0..grid.scale_steps()).filter_map(|ago| past.ago(ago).map(f64::abs));
        let scale = mean(sizes)?;
        if !scale.is_finite() || scale <= 0.0 {
            return None;
        }
        let relative = |value: Option<f64>| value.map_or(f64::NAN, |value| (value - last) / scale);
        let mut inputs = TreeInputs::<COMMON>::default();
        for ago in 1..=LAGS {
            inputs.push(relative(past.ago(ago)));
        }
        let (mut sum, mut from) = (0.0, 0);
        for steps in MEANS {
            sum += (from..steps).filter_map(|ago| past.ago(ago)).sum::<f64>();
            from = steps;
            let is_known = past.ago(steps - 1).is_some();
            inputs.push(relative(is_known.then(|| sum / count_as_f64(steps))));
        }
        inputs.push(last / level);
        Some(Self {
            last,
            scale,
            common: inputs.values(),
        })
    }

    /// Inputs for the value `ahead` steps after the origin, which is `second` seconds after the
    /// epoch.
    pub(super) fn towards(
        &self,
        past: GaplessHistory<'_>,
        grid: Grid,
        ahead: usize,
        second: i64,
    ) -> [TreeInput; INPUTS] {
        let mut inputs = TreeInputs::<INPUTS>::default();
        self.common.iter().for_each(|&input| inputs.put(input));
        let season = |seconds| Season {
            past,
            ahead,
            length: grid.steps(seconds),
        };
        let relative =
            |value: Option<f64>| value.map_or(f64::NAN, |v| (v - self.last) / self.scale);
        let change = |value: Option<f64>| value.map_or(f64::NAN, |value| value / self.scale);
        let (day, week) = (season(DAY), season(DAYS_OF_WEEK * DAY));
        for (season, around) in [(day, 6), (week, 3)] {
            inputs.push(relative(season.value(1, 0)));
            inputs.push(change(season.change(1)));
            inputs.push(relative(season.then()));
            inputs.push(relative(season.around(around)));
        }
        inputs.push(relative(day.value(1, -1)));
        inputs.push(relative(day.value(1, 1)));
        let [days, hours] = REPEATS;
        inputs.push(relative(repeated(days, |back| day.value(back, 0))));
        inputs.push(change(repeated(days, |back| day.change(back))));
        let hour = season(HOUR);
        inputs.push(relative(hour.value(1, 0)));
        inputs.push(relative(repeated(hours, |back| hour.value(back, 0))));
        #[expect(clippy::cast_possible_truncation, reason = "it saturates")]
        let time = second.saturating_add((count_as_f64(ahead) * grid.seconds) as i64);
        let share = |of: i64| i64_as_f64(time.rem_euclid(of)) / i64_as_f64(of);
        inputs.push(share(DAY));
        inputs.push(i64_as_f64(time.div_euclid(DAY).rem_euclid(DAYS_OF_WEEK)));
        inputs.push(share(HOUR));
        inputs.values()
    }
}

/// A repetition of the load, seen from a value ahead of the origin.
#[derive(Clone, Copy)]
struct Season<'a> {
    past: GaplessHistory<'a>,
    ahead: usize,
    /// `None` where the grid is too coarse for it.
    length: Option<usize>,
}

impl Season<'_> {
    /// The value `back` repetitions before the one ahead, moved by a few steps.
    fn value(self, back: usize, moved: isize) -> Option<f64> {
        let before = self.length?.checked_mul(back)?;
        let ago = before.checked_sub(self.ahead)?.checked_add_signed(-moved)?;
        self.past.ago(ago)
    }

    /// One repetition before the origin.
    fn then(self) -> Option<f64> {
        self.past.ago(self.length?)
    }

    /// How far the value `back` repetitions ago lies above that at its origin.
    fn change(self, back: usize) -> Option<f64> {
        let origin = self.length?.checked_mul(back)?;
        Some(self.value(back, 0)? - self.past.ago(origin)?)
    }

    /// The mean around the value a repetition ago, if more than half are known.
    fn around(self, steps: isize) -> Option<f64> {
        let values = (-steps..=steps).filter_map(|moved| self.value(1, moved));
        let least = usize::try_from(steps).unwrap_or_default();
        (values.clone().count() > least).then(|| mean(values))?
    }
}

/// The mean over up to so many repetitions, if at least two are known.
fn repeated(most: usize, value: impl Fn(usize) -> Option<f64>) -> Option<f64> {
    let values = || (1..=most).filter_map(&value);
    (values().count() >= 2).then(|| mean(values()))?
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0_usize, 0.0), |(count, sum), value| {
        (count + 1, sum + value)
    });
    (count > 0).then(|| sum / count_as_f64(count))
}

#[cfg(test)]
mod tests;
