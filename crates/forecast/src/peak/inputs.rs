//! The inputs of `global` and `own`: a load relative to itself.

use std::f64::consts::TAU;

use evenkeel_units::{count_as_f64, i64_as_f64};

use super::lookback::Lookback;
use crate::tree_inputs::TreeInputs;
use crate::trees::TreeInput;

pub const INPUTS: usize = LAGS.len() + MEANS.len() + 20;

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
    /// The six days before it are.
    pub week: bool,
}

impl Masks {
    pub const NONE: Self = Self {
        minutes: usize::MAX,
        day: true,
        week: true,
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
    let since_then = past.days(1);
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
    for input in earlier_days(past, window, masks, (last, scale)) {
        all.push(input);
    }
    let turn = TAU * i64_as_f64(past.second_of_day()) / 86_400.0;
    all.push(turn.sin());
    all.push(turn.cos());
    Some(Inputs {
        values: all.values(),
        last,
        scale,
    })
}

/// Highest loads at this time of earlier days, relative to the last load and in parts of the scale:
/// of the window and of the half hour after it too, yesterday and a week ago; then how much higher
/// the window was than the half hour before it; then the mean and the largest of the last seven
/// days, and the number of days known. The ten minutes that hold the ends of a window count whole,
/// so that a peak which comes a few minutes earlier or later than yesterday is seen.
fn earlier_days(
    past: &impl Lookback,
    window: usize,
    masks: Masks,
    (last, scale): (f64, f64),
) -> [f64; 9] {
    const HALF_HOUR: i64 = 1800;
    let ahead = i64::try_from(window).unwrap_or(0) * 60;
    let visible = |day: i64| masks.minutes > 1440 && masks.day && (masks.week || day == 1);
    let (yesterday, last_week) = (past.days(1) * 60, past.days(7) * 60);
    let high = |day: i64, from: i64, to: i64| {
        let back = match day {
            7 => last_week,
            day => yesterday + (day - 1) * 86_400,
        };
        let then = past.origin() - back;
        let high = past.highest(then + from, then + to - 1);
        high.filter(|_| visible(day))
    };
    let days: Vec<Option<f64>> = (1..=7).map(|day| high(day, 0, ahead)).collect();
    let relative = |value: Option<f64>| value.map_or(f64::NAN, |value| (value - last) / scale);
    let rise = |day: i64, then: Option<f64>| {
        let before = high(day, -HALF_HOUR, 0);
        let rise = then.zip(before).map(|(then, before)| then - before);
        rise.map_or(f64::NAN, |rise| rise / scale)
    };
    let known = days.iter().flatten();
    let count = count_as_f64(known.clone().count());
    let mean = (count > 0.0).then(|| known.clone().sum::<f64>() / count);
    [
        relative(days[0]),
        relative(days[6]),
        relative(high(7, 0, ahead + HALF_HOUR)),
        rise(1, days[0]),
        rise(7, days[6]),
        relative(high(1, 0, ahead + HALF_HOUR)),
        relative(mean),
        relative(known.copied().reduce(f64::max)),
        if count > 0.0 { count / 8.0 } else { f64::NAN },
    ]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peak::Minutes;

    const NIGHTS: usize = 8;

    /// A load of 1, with 3 in the minutes from 10:05 to 10:08, at 10:02 of the last day.
    fn known(days: usize, masks: Masks) -> [f64; 9] {
        let minute = |minute: usize| match minute % 1440 {
            605..608 => 3.0,
            _ => 1.0,
        };
        let past = Minutes::new(0, (0..days * 1440 + 602).map(minute).collect());
        earlier_days(&past.past(past.values().len() - 1), 4, masks, (1.0, 2.0))
    }

    #[test]
    fn peaks_of_earlier_days_count_at_about_their_time() {
        // The window ends at 10:06.
        let all = known(NIGHTS, Masks::NONE);
        // The ten minutes of now count on both sides of a rise.
        let expected = [1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 7.0 / 8.0];
        assert!(
            all.iter()
                .zip(expected)
                .all(|(found, wanted)| (found - wanted).abs() < 1e-9),
            "{all:?}"
        );
        let day = Masks {
            week: false,
            ..Masks::NONE
        };
        for (days, masks) in [(NIGHTS, day), (1, Masks::NONE)] {
            let found = known(days, masks);
            let is_known = found.map(|input| !input.is_nan());
            let expected = [true, false, false, true, false, true, true, true, true];
            assert_eq!(is_known, expected, "{days} {found:?}");
            assert!((found[8] - 1.0 / 8.0).abs() < 1e-9, "{found:?}");
        }
        let new = Masks {
            day: false,
            ..Masks::NONE
        };
        assert!(known(NIGHTS, new).iter().all(|input| input.is_nan()));
    }
}
