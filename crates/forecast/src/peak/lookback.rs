//! The past of a load in minutes as inputs read it: from a tracked history or a long series.

use evenkeel_units::count_as_f64;
use jiff::{SignedDuration, Timestamp};

use crate::calendar::Calendar;
use crate::load_ring_buffer::{BRIDGED, LoadHighs, LoadRingBuffer, Resolution, line};

/// The past of a load, counted back from a moment.
pub trait Lookback {
    /// The moment from which it counts back, in seconds since the epoch.
    fn origin(&self) -> i64;

    /// Mean load of the minute that ended `ago` minutes before the origin.
    fn minute(&self, ago: usize) -> Option<f64>;

    /// Mean load of the 5-minute step that holds the moment `ago` minutes before the origin;
    /// negative is after it.
    fn five_minutes(&self, ago: i64) -> Option<f64>;

    /// Highest mean of a minute within the ten minutes that hold a second since the epoch, of the
    /// last eight days.
    fn high(&self, second: i64) -> Option<f64>;

    /// The largest of [`Self::high`] over the seconds from one to another.
    fn highest(&self, from: i64, to: i64) -> Option<f64> {
        let steps = from.div_euclid(LoadHighs::STEP)..=to.div_euclid(LoadHighs::STEP);
        let highs = steps.map(|step| self.high(step * LoadHighs::STEP));
        highs.reduce(|one, other| Some(one?.max(other?)))?
    }

    fn calendar(&self) -> &Calendar;

    /// From local midnight to the origin.
    fn second_of_day(&self) -> i64 {
        let origin = Timestamp::from_second(self.origin()).unwrap_or(Timestamp::MAX);
        self.calendar().second_of_day(origin)
    }

    /// Minutes since the same local time of so many days before: of one day 1380 or 1500 where
    /// clocks change.
    fn days(&self, days: i32) -> i64 {
        let origin = Timestamp::from_second(self.origin()).unwrap_or(Timestamp::MAX);
        let before = self.calendar().days_before(origin, days);
        before.map_or(MINUTES_OF_DAY * i64::from(days), |before| {
            origin.duration_since(before).as_mins()
        })
    }
}

const MINUTES_OF_DAY: i64 = 24 * 60;

#[derive(Debug, Clone, Copy)]
pub(super) struct TrackedLookback<'a> {
    history: &'a LoadRingBuffer,
    calendar: &'a Calendar,
    /// Seconds since the epoch, because each forecast looks up hundreds of minutes.
    origin: i64,
}

/// Seconds before the newest step that the finest ring holds, with a minute to spare.
const FINE: i64 = 29 * MINUTE;
/// The same of the ring of minutes.
const MINUTES: i64 = 178 * MINUTE;
const MINUTE: i64 = 60;

impl<'a> TrackedLookback<'a> {
    /// Back from the end of the step at `newest`; `None` at the end of time.
    pub(super) fn from(
        history: &'a LoadRingBuffer,
        calendar: &'a Calendar,
        newest: Timestamp,
    ) -> Option<Self> {
        let origin = newest.checked_add(Resolution::Fine.step()).ok()?;
        Some(Self {
            history,
            calendar,
            origin: origin.as_second(),
        })
    }

    /// Back from the end of a whole minute, which is counted from the epoch.
    pub(super) fn of_minute(
        history: &'a LoadRingBuffer,
        calendar: &'a Calendar,
        minute: i64,
    ) -> Option<Self> {
        let origin = Timestamp::from_second(minute.checked_mul(MINUTE)?).ok()?;
        Some(Self {
            history,
            calendar,
            origin: origin.as_second(),
        })
    }
}

impl Lookback for TrackedLookback<'_> {
    fn origin(&self) -> i64 {
        self.origin
    }

    fn minute(&self, ago: usize) -> Option<f64> {
        let ago = i64::try_from(ago).ok()?;
        let end = self.origin.checked_sub(ago.checked_mul(MINUTE)?)?;
        let middle = end.checked_sub(MINUTE / 2)?;
        let age = self.history.newest_second()?.checked_sub(middle)?;
        if age > MINUTES {
            return self.history.step_at(Resolution::FiveMinutes, middle);
        }
        // The ring of minutes holds a whole minute already.
        let is_whole = end.rem_euclid(MINUTE) == 0;
        let in_ring = self.history.step_at(Resolution::Minute, middle);
        if age > FINE || is_whole && in_ring.is_some() {
            return in_ring;
        }
        let step = Resolution::Fine.step().as_secs();
        let quarters = (1..=4).filter_map(|back| {
            let second = end.checked_sub(step * back)?;
            self.history.step_at(Resolution::Fine, second)
        });
        let (count, sum) =
            quarters.fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
        (count >= 2).then(|| sum / f64::from(count))
    }

    fn five_minutes(&self, ago: i64) -> Option<f64> {
        let second = self.origin.checked_sub(ago.checked_mul(MINUTE)?)?;
        self.history.step_at(Resolution::FiveMinutes, second)
    }

    fn high(&self, second: i64) -> Option<f64> {
        self.history.high_at(second)
    }

    fn calendar(&self) -> &Calendar {
        self.calendar
    }
}

/// Back from one minute of a series.
#[derive(Debug, Clone, Copy)]
pub struct MinuteLookback<'a> {
    values: &'a [f32],
    fives: &'a [f32],
    highs: &'a [f32],
    start: i64,
    index: usize,
    calendar: &'a Calendar,
}

/// A series of minutes with its means of five.
#[derive(Debug, Clone)]
pub struct Minutes {
    start: i64,
    values: Vec<f32>,
    /// Means of the 5-minute steps, from the one that holds the first minute.
    fives: Vec<f32>,
    /// The highest minute of each ten, from those that hold the first minute.
    highs: Vec<f32>,
    calendar: Calendar,
}

impl Minutes {
    /// As [`Self::new`], with gaps up to [`BRIDGED`] interpolated: a database leaves out minutes in
    /// which Pods started, and in these a load rose.
    pub fn bridged(start: i64, mut values: Vec<f32>) -> Self {
        let known = (0_i64..).zip(&values).filter(|(_, value)| !value.is_nan());
        let known: Vec<(i64, f32)> = known.map(|(minute, &value)| (minute, value)).collect();
        for pair in known.windows(2) {
            let [(from, first), (to, last)] = [pair[0], pair[1]];
            if SignedDuration::from_mins(to - from) > BRIDGED {
                continue;
            }
            for (minute, value) in line(from, first, to, last) {
                let place = usize::try_from(minute).ok();
                if let Some(place) = place.and_then(|place| values.get_mut(place)) {
                    *place = value;
                }
            }
        }
        Self::new(start, values)
    }

    /// Loads of consecutive minutes from `start`, in seconds since the epoch and rounded down to a
    /// minute; NaN where one is missing.
    pub fn new(start: i64, values: Vec<f32>) -> Self {
        let minute = start.div_euclid(60);
        let before = usize::try_from(minute.rem_euclid(5)).unwrap_or_default();
        let steps = (before + values.len()).div_ceil(5);
        let fives = (0..steps).map(|step| {
            let from = (step * 5).saturating_sub(before);
            let to = ((step + 1) * 5 - before).min(values.len());
            let known = values[from..to].iter().filter(|value| !value.is_nan());
            let count = known.clone().count();
            // Half of the step, as in a history.
            if count * 2 < 5 {
                return f32::NAN;
            }
            #[expect(clippy::cast_possible_truncation, reason = "a mean of 32-bit numbers")]
            let mean =
                (known.map(|&value| f64::from(value)).sum::<f64>() / count_as_f64(count)) as f32;
            mean
        });
        let mut highs = Vec::new();
        for (second, value) in (minute * 60..).step_by(60).zip(&values) {
            let step = second.div_euclid(LoadHighs::STEP);
            if highs.last().is_none_or(|(last, _)| *last != step) {
                highs.push((step, f32::NAN));
            }
            if let Some((_, high)) = highs.last_mut() {
                *high = high.max(*value);
            }
        }
        Self {
            start: minute * 60,
            fives: fives.collect(),
            highs: highs.into_iter().map(|(_, high)| high).collect(),
            values,
            calendar: Calendar::default(),
        }
    }

    /// The calendar of the load; UTC without this.
    pub fn by(self, calendar: Calendar) -> Self {
        Self { calendar, ..self }
    }

    /// By minute; NaN where one is missing.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The highest minute of each ten, from those that hold the first minute; NaN where none is known.
    pub fn ten_minute_highs(&self) -> &[f32] {
        &self.highs
    }

    /// Begin of the first minute, in seconds since the epoch.
    pub const fn start(&self) -> i64 {
        self.start
    }

    /// Back from the end of the minute `index`.
    pub fn past(&self, index: usize) -> MinuteLookback<'_> {
        MinuteLookback {
            values: &self.values,
            fives: &self.fives,
            highs: &self.highs,
            start: self.start,
            index,
            calendar: &self.calendar,
        }
    }
}

impl Lookback for MinuteLookback<'_> {
    fn origin(&self) -> i64 {
        let minutes = i64::try_from(self.index + 1).unwrap_or(i64::MAX);
        self.start.saturating_add(minutes.saturating_mul(60))
    }

    fn minute(&self, ago: usize) -> Option<f64> {
        let value = *self.values.get(self.index.checked_sub(ago)?)?;
        (!value.is_nan()).then_some(f64::from(value))
    }

    fn five_minutes(&self, ago: i64) -> Option<f64> {
        let time = self.origin().checked_sub(ago.checked_mul(60)?)?;
        let step = time.div_euclid(300) - self.start.div_euclid(300);
        let value = *self.fives.get(usize::try_from(step).ok()?)?;
        (!value.is_nan()).then_some(f64::from(value))
    }

    fn high(&self, second: i64) -> Option<f64> {
        let step = |second: i64| second.div_euclid(LoadHighs::STEP);
        let place = usize::try_from(step(second) - step(self.start)).ok()?;
        let value = *self.highs.get(place)?;
        (!value.is_nan()).then_some(f64::from(value))
    }

    fn calendar(&self) -> &Calendar {
        self.calendar
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    #[test]
    fn yesterday_is_the_same_time_by_the_clocks_that_the_load_lives_by() {
        // Clocks went forward five hours before.
        let end: Timestamp = "2027-03-28T07:00:00Z".parse().unwrap();
        let start = end.as_second() - 3 * 86_400;
        let utc = Minutes::new(start, vec![1.0; 3 * 1440]);
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let berlin = utc.clone().by(Calendar::new(zone));
        let known = |minutes: &Minutes| {
            let past = minutes.past(3 * 1440 - 1);
            (past.days(1), past.second_of_day())
        };
        assert_eq!(known(&utc), (1440, 7 * 3600));
        assert_eq!(known(&berlin), (1380, 9 * 3600));
        let week = |minutes: &Minutes| minutes.past(3 * 1440 - 1).days(7);
        assert_eq!([week(&utc), week(&berlin)], [7 * 1440, 7 * 1440 - 60]);
        let history = LoadRingBuffer::default();
        let newest = end - Resolution::Fine.step();
        let tracked = TrackedLookback::from(&history, &berlin.calendar, newest).unwrap();
        assert_eq!((tracked.days(1), tracked.second_of_day()), (1380, 9 * 3600));
    }

    #[test]
    fn short_gaps_of_a_past_are_led_across_and_long_ones_stay() {
        let mut values = vec![f32::NAN; 40];
        for (minute, value) in [(1, 10.0), (4, 16.0), (20, 5.0), (35, 20.0)] {
            values[minute] = value;
        }
        let bridged = Minutes::bridged(0, values);
        let known = |minute: usize| Some(bridged.values()[minute]).filter(|value| !value.is_nan());
        let found = [0, 1, 2, 3, 4, 5, 19, 20, 21, 34, 35, 36].map(known);
        let expected = [
            None,
            Some(10.0),
            Some(12.0),
            Some(14.0),
            Some(16.0),
            None,
            None,
            Some(5.0),
            Some(6.0),
            Some(19.0),
            Some(20.0),
            None,
        ];
        assert_eq!(found, expected);
        assert!(Minutes::bridged(0, Vec::new()).values().is_empty());
    }
}
