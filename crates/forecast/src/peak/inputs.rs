//! The inputs of `global` and `own`: a load relative to itself.

use std::f64::consts::TAU;

use evenkeel_units::{count_as_f64, i64_as_f64};

use super::lookback::Lookback;
use crate::tree_inputs::TreeInputs;
use crate::trees::TreeInput;

pub const INPUTS: usize = LAGS.len() + MEANS.len() + 11;

/// Ages of the loads that are read, in minutes.
const LAGS: [usize; 12] = [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 45, 60];
/// Windows of the means, in minutes.
const MEANS: [usize; 4] = [5, 15, 60, 180];
/// Window of the spread, in minutes.
const SPREAD: usize = 30;
/// Window of the mean that scales all inputs, in minutes.
const SCALE: usize = 240;
/// Minutes that must be known before a forecast.
pub(super) const LEAST: usize = 15;
const DAY: i64 = 24 * 60;

/// The inputs at one moment, with what turns answers back into loads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inputs {
    pub values: [TreeInput; INPUTS],
    /// Load of the last minute.
    pub last: f64,
    /// Mean load of the last four hours, or of the last day if these had none; all inputs are
    /// divided by it.
    pub scale: f64,
}

/// Known inputs left out in training, so that models also work without them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Masks {
    /// Minutes of visible past.
    pub minutes: usize,
    /// Yesterday is visible.
    pub day: bool,
}

impl Masks {
    pub const NONE: Self = Self {
        minutes: usize::MAX,
        day: true,
    };
}

/// For the largest load of the next `window` minutes; `None` if the last minute or most of the last
/// quarter of an hour is missing, or there was no load for a day.
pub fn inputs(past: &impl Lookback, window: usize, masks: Masks) -> Option<Inputs> {
    let minute = |ago: usize| past.minute(ago).filter(|_| ago < masks.minutes);
    let last = minute(0)?;
    let mut sums = RunningSums::default();
    let mut means = [f64::NAN; MEANS.len()];
    let mut spread = f64::NAN;
    for ago in 0..SCALE {
        if let Some(value) = minute(ago) {
            sums.add(value);
        }
        if let Some(place) = MEANS.iter().position(|&length| length == ago + 1) {
            means[place] = sums.mean_of(ago + 1);
        }
        if ago + 1 == SPREAD {
            spread = sums.deviation_of(SPREAD);
        }
        if ago + 1 == LEAST && sums.count * 2 < LEAST {
            return None;
        }
    }
    let scale = Some(sums.mean_of(sums.count)).filter(|scale| *scale > 0.0);
    let scale = scale.or_else(|| mean_of_day(past, masks))?;
    let relative = |value: f64| (value - last) / scale;
    let mut all = TreeInputs::<INPUTS>::default();
    for lag in LAGS {
        all.push(minute(lag).map_or(f64::NAN, relative));
    }
    for mean in means {
        all.push(relative(mean));
    }
    all.push(spread / scale);
    all.push(last / scale - 1.0);
    all.push(count_as_f64(window) / 16.0);
    let since_then = past.day();
    let day = |ahead: usize| {
        let ahead = i64::try_from(ahead).unwrap_or(since_then);
        past.five_minutes(since_then - ahead)
            .filter(|_| masks.day && masks.minutes > 1440)
    };
    let then = day(0).unwrap_or(f64::NAN);
    let since = |value: Option<f64>| value.map_or(f64::NAN, |value| (value - then) / scale);
    all.push(relative(then));
    all.push(since(day(window.div_ceil(2))));
    all.push(since(day(window)));
    all.push(since(day(window * 2)));
    let within = (0..=window.div_ceil(5)).filter_map(|five| day((five * 5).min(window)));
    all.push(since(within.reduce(f64::max)));
    // An hour later, for slow rises.
    all.push(since(day(60)));
    let turn = TAU * i64_as_f64(past.second_of_day()) / 86_400.0;
    all.push(turn.sin());
    all.push(turn.cos());
    Some(Inputs {
        values: all.values(),
        last,
        scale,
    })
}

/// Mean load of the last day, if it is known and above 0: the scale of a load that is 0 at night.
fn mean_of_day(past: &impl Lookback, masks: Masks) -> Option<f64> {
    let steps = (0..DAY / 5).filter(|_| masks.day && masks.minutes > 1440);
    let steps: Vec<f64> = steps
        .filter_map(|step| past.five_minutes(step * 5))
        .collect();
    let mean = steps.iter().sum::<f64>() / count_as_f64(steps.len());
    (mean > 0.0).then_some(mean)
}

#[derive(Debug, Default)]
struct RunningSums {
    count: usize,
    sum: f64,
    squares: f64,
}

impl RunningSums {
    fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
    }

    /// The mean over `minutes`, if half of them are known.
    fn mean_of(&self, minutes: usize) -> f64 {
        if self.count == 0 || self.count * 2 < minutes {
            return f64::NAN;
        }
        self.sum / count_as_f64(self.count)
    }

    fn deviation_of(&self, minutes: usize) -> f64 {
        let mean = self.mean_of(minutes);
        let variance = self.squares / count_as_f64(self.count.max(1)) - mean * mean;
        variance.max(0.0).sqrt()
    }
}
