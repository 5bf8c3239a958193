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
    for input in earlier_days(past, window, masks, (last, scale, since_then)) {
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

/// Highest loads at this time of earlier days, relative to the last load and in parts of the scale.
/// The ten minutes that hold the ends of a window count whole, so that a peak that comes a few
/// minutes earlier or later than yesterday is seen.
fn earlier_days(
    past: &impl Lookback,
    window: usize,
    masks: Masks,
    (last, scale, since_then): (f64, f64, i64),
) -> [f64; 9] {
    const HALF_HOUR: i64 = 1800;
    let ahead = i64::try_from(window).unwrap_or(0) * 60;
    let visible = |day: i32| masks.minutes > 1440 && masks.day && (masks.week || day == 1);
    // Each day by the calendar is slow, and needed only if clocks have changed.
    let week = past.days(7);
    let back = |day: i32| match day {
        1 => since_then,
        7 => week,
        day if week == 7 * DAY => i64::from(day) * DAY,
        day => past.days(day),
    };
    let high = |day: i32, from: i64, to: i64| {
        let back = back(day) * 60;
        let then = past.origin() - back;
        visible(day).then(|| past.highest(then + from, then + to - 1))?
    };
    let days = [1, 2, 3, 4, 5, 6, 7].map(|day| high(day, 0, ahead));
    let relative = |value: Option<f64>| value.map_or(f64::NAN, |value| (value - last) / scale);
    let rise = |day: i32, then: Option<f64>| {
        let before = high(day, -HALF_HOUR, 0);
        let rise = then.zip(before).map(|(then, before)| then - before);
        rise.map_or(f64::NAN, |rise| rise / scale)
    };
    let known = days.iter().flatten();
    let count = count_as_f64(known.clone().count());
    let mean = (count > 0.0).then(|| known.clone().sum::<f64>() / count);
    [
        // Of the window, yesterday and a week ago.
        relative(days[0]),
        relative(days[6]),
        // With the half hour after it.
        relative(high(7, 0, ahead + HALF_HOUR)),
        // How much higher than in the half hour before.
        rise(1, days[0]),
        rise(7, days[6]),
        relative(high(1, 0, ahead + HALF_HOUR)),
        // Of seven days, of which so many are known.
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
    use jiff::Timestamp;
    use jiff::tz::TimeZone;

    use super::*;
    use crate::calendar::Calendar;
    use crate::load_ring_buffer::{LoadRingBuffer, Resolution};
    use crate::peak::Minutes;
    use crate::peak::lookback::TrackedLookback;

    /// 10:10 in Berlin, three days after clocks went forward at 01:00 UTC.
    const NOW: &str = "2027-03-31T08:10:00Z";
    const CHANGE: &str = "2027-03-28T01:00:00Z";

    fn second(time: &str) -> i64 {
        time.parse::<Timestamp>().unwrap().as_second()
    }

    /// A load of 1 by local time. A day so many days ago had 5 at 9:50, 10 more than that number at
    /// 10:17, and 100 more at 10:35.
    fn load(second_of_time: i64, offset: impl Fn(i64) -> i64) -> f32 {
        let local = |time: i64| time + offset(time);
        let (now, then) = (local(second(NOW)), local(second_of_time));
        let ago = now.div_euclid(86_400) - then.div_euclid(86_400);
        let ago = f32::from(u8::try_from(ago).unwrap());
        match then.rem_euclid(86_400) / 60 {
            590 => 5.0,
            617 => 10.0 + ago,
            635 => 100.0 + ago,
            _ => 1.0,
        }
    }

    fn minutes(days: i64, offset: impl Fn(i64) -> i64) -> Minutes {
        let start = second(NOW) - days * 86_400 - 3600;
        let values = (start..second(NOW)).step_by(60);
        Minutes::new(start, values.map(|time| load(time, &offset)).collect())
    }

    fn known(past: &impl Lookback, masks: Masks) -> [f64; 9] {
        earlier_days(past, 4, masks, (1.0, 2.0, past.days(1)))
    }

    fn newest(minutes: &Minutes, masks: Masks) -> [f64; 9] {
        known(&minutes.past(minutes.values().len() - 1), masks)
    }

    fn assert_near(found: [f64; 9], expected: [f64; 9], within: f64) {
        let mut pairs = found.iter().zip(expected);
        let near = pairs.all(|(found, wanted)| (found - wanted).abs() <= within * wanted.abs());
        assert!(near, "{found:?}");
    }

    /// The window ends at 10:14, within the ten minutes of the first peak.
    const EXPECTED: [f64; 9] = [5.0, 8.0, 53.0, 3.0, 6.0, 50.0, 6.5, 8.0, 7.0 / 8.0];

    #[test]
    fn peaks_of_earlier_days_count_at_about_their_time() {
        let utc = |_| 7200;
        let all = minutes(8, utc);
        assert_near(newest(&all, Masks::NONE), EXPECTED, 1e-9);
        let day = Masks {
            week: false,
            ..Masks::NONE
        };
        for (past, masks) in [(&all, day), (&minutes(1, utc), Masks::NONE)] {
            let found = newest(past, masks);
            let is_known = found.map(|input| !input.is_nan());
            let expected = [true, false, false, true, false, true, true, true, true];
            assert_eq!(is_known, expected, "{found:?}");
            let of_days = [found[6] - 5.0, found[7] - 5.0, found[8] - 1.0 / 8.0];
            assert!(of_days.iter().all(|off| off.abs() < 1e-9), "{found:?}");
        }
        let new = Masks {
            day: false,
            ..Masks::NONE
        };
        assert!(newest(&all, new).iter().all(|input| input.is_nan()));
    }

    #[test]
    fn earlier_days_are_those_of_the_clocks() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let berlin = |time: i64| {
            if time < second(CHANGE) { 3600 } else { 7200 }
        };
        let past = minutes(8, berlin).by(Calendar::new(zone));
        assert_near(newest(&past, Masks::NONE), EXPECTED, 1e-9);
    }

    #[test]
    fn a_tracked_history_has_the_earlier_days_of_a_series() {
        let offset = |_| 7200;
        let mut history = LoadRingBuffer::default();
        for time in (second(NOW) - 8 * 86_400 + 7200..second(NOW)).step_by(15) {
            let at = Timestamp::from_second(time).unwrap();
            let value = f64::from(load(time, offset));
            history.insert(at, value, at).unwrap();
        }
        let calendar = Calendar::default();
        let end = Timestamp::from_second(second(NOW)).unwrap() - Resolution::Fine.step();
        let past = TrackedLookback::from(&history, &calendar, end).unwrap();
        // A high is within 0.4 % of its load, and a rise is the difference of two.
        assert_near(known(&past, Masks::NONE), EXPECTED, 0.02);
    }
}
