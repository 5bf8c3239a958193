//! The highest loads of a longer past, in less memory than the past itself.

use jiff::{SignedDuration, Timestamp};

use crate::series::RegularSeries;

/// By the day, for the limit of what a floor covers.
type DailyHighs = StepHighs<86_400, 14>;
/// By ten minutes, for the same time on earlier days.
type TenMinuteHighs = StepHighs<{ LoadHighs::STEP }, { LoadHighs::STEPS }>;

/// The highest load of each of the last fourteen days of UTC, and of each ten minutes of the last
/// eight days.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadHighs {
    daily: DailyHighs,
    ten_minutes: TenMinuteHighs,
}

/// The highest load of each of the last `LENGTH` steps of `SECONDS`. A load is kept as the upper half
/// of its 32 bits, within 0.4 % of it.
#[derive(Debug, Clone, PartialEq, Default)]
struct StepHighs<const SECONDS: i64, const LENGTH: usize> {
    /// By the number of the step modulo the length; [`UNSEEN`] where there was no load. Empty before
    /// the first load.
    values: Box<[u16]>,
    newest: i64,
}

/// The upper half of a NaN.
const UNSEEN: u16 = u16::MAX;

impl LoadHighs {
    /// Seconds of a step within a day.
    pub const STEP: i64 = 600;
    /// Such steps that are remembered: eight days.
    pub(crate) const STEPS: usize = 8 * 144;

    /// Of a past: means of minutes, each with seconds since the epoch; NaN is left out.
    pub fn of(minutes: impl IntoIterator<Item = (i64, f32)>) -> Self {
        let mut highs = Self::default();
        for (second, load) in minutes {
            if !load.is_nan() {
                highs.see(second, load);
                highs.see_mean(second, load);
            }
        }
        highs
    }

    /// A load at so many seconds since the epoch. One of a day that is forgotten has no effect.
    pub(super) fn see(&mut self, second: i64, load: f32) {
        self.daily.see(second, load);
    }

    /// The mean load of the minutes from so many seconds since the epoch.
    pub(super) fn see_mean(&mut self, second: i64, load: f32) {
        self.ten_minutes.see(second, load);
    }

    /// Gives their memory back; a load that nothing learns from needs no means.
    pub(super) fn forget_means(&mut self) {
        self.ten_minutes = TenMinuteHighs::default();
    }

    pub(super) fn take(&mut self, others: &Self) {
        self.daily.take(&others.daily);
        self.ten_minutes.take(&others.ten_minutes);
    }

    /// `None` before the first load.
    pub(super) fn highest(&self) -> Option<f64> {
        let highs = self.daily.steps().filter_map(|day| self.daily.get(day));
        highs.reduce(f64::max)
    }

    /// The highest mean of a minute in the step that holds a second; `None` if it is not known.
    pub(super) fn at(&self, second: i64) -> Option<f64> {
        self.ten_minutes.get(second.div_euclid(Self::STEP))
    }

    /// The highest means of minutes of the steps that are over at `now`, from the first known.
    pub(super) fn series(&self, now: Timestamp) -> Option<RegularSeries> {
        let after = now.as_second().div_euclid(Self::STEP);
        let steps = after - length::<{ Self::STEPS }>()..after;
        let first = steps
            .clone()
            .find(|step| self.ten_minutes.get(*step).is_some())?;
        let values = (first..after).map(|step| self.ten_minutes.get(step));
        let start = Timestamp::from_second(first.checked_mul(Self::STEP)?).ok()?;
        let step = SignedDuration::from_secs(Self::STEP);
        RegularSeries::new(start, step, values.collect()).ok()
    }

    /// In bytes, without itself.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.daily.values) + size_of_val(&*self.ten_minutes.values)
    }
}

impl<const SECONDS: i64, const LENGTH: usize> StepHighs<SECONDS, LENGTH> {
    fn see(&mut self, second: i64, load: f32) {
        self.see_step(second.div_euclid(SECONDS), narrowed(load));
    }

    fn take(&mut self, others: &Self) {
        for step in others.steps() {
            let value = others.values[place::<LENGTH>(step)];
            if value != UNSEEN {
                self.see_step(step, value);
            }
        }
    }

    fn see_step(&mut self, step: i64, value: u16) {
        if self.values.is_empty() {
            self.values = vec![UNSEEN; LENGTH].into();
            self.newest = step;
        }
        let first = step - length::<LENGTH>() + 1;
        for passed in (self.newest + 1).max(first)..=step {
            self.values[place::<LENGTH>(passed)] = UNSEEN;
        }
        self.newest = self.newest.max(step);
        if step > self.newest - length::<LENGTH>() {
            let high = &mut self.values[place::<LENGTH>(step)];
            // Halves of numbers of at least 0 have the order of the numbers.
            *high = if *high == UNSEEN {
                value
            } else {
                value.max(*high)
            };
        }
    }

    fn get(&self, step: i64) -> Option<f64> {
        let value = *self.values.get(place::<LENGTH>(step))?;
        let held = step <= self.newest && step > self.newest - length::<LENGTH>();
        let load = f32::from_bits(u32::from(value) << 16);
        (held && value != UNSEEN).then_some(f64::from(load))
    }

    /// The remembered steps by number since the epoch.
    fn steps(&self) -> impl Iterator<Item = i64> + use<SECONDS, LENGTH> {
        let first = self.newest - length::<LENGTH>() + 1;
        let known = !self.values.is_empty();
        (first..=self.newest).filter(move |_| known)
    }
}

/// The upper half of a load, rounded to the nearest; a zero may have a sign.
fn narrowed(load: f32) -> u16 {
    let bits = load.abs().to_bits();
    let [high, low] = [bits >> 16, bits >> 15 & 1];
    // A load is not NaN, and the largest one is rounded to infinity.
    u16::try_from(high + low).unwrap_or(UNSEEN)
}

fn length<const LENGTH: usize>() -> i64 {
    i64::try_from(LENGTH).expect("a week or two")
}

fn place<const LENGTH: usize>(step: i64) -> usize {
    let place = step.rem_euclid(length::<LENGTH>());
    usize::try_from(place).expect("a remainder is not negative and short")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    #[test]
    fn two_weeks_are_remembered_in_whatever_order_they_come() {
        let mut highs = LoadHighs::of([(3 * DAY + 5, 7.0), (3 * DAY, f32::NAN), (3 * DAY, 2.0)]);
        assert_eq!(highs.highest(), Some(7.0));
        assert_eq!(LoadHighs::default().highest(), None);
        highs.see(4 * DAY, -0.0);
        highs.see(4 * DAY, 3.0);
        highs.see(16 * DAY, 4.0);
        assert_eq!(highs.highest(), Some(7.0), "it is the fourteenth day");
        highs.see(17 * DAY, 1.0);
        assert_eq!(highs.highest(), Some(4.0));
        highs.see(3 * DAY, 9.0);
        assert_eq!(highs.highest(), Some(4.0), "that day is forgotten");
        highs.see(5 * DAY, 6.0);
        assert_eq!(highs.highest(), Some(6.0), "that one is not");
        highs.see(100 * DAY, 0.5);
        assert_eq!(highs.highest(), Some(0.5));
    }

    #[test]
    fn each_ten_minutes_of_eight_days_has_its_high() {
        let mut highs = LoadHighs::of([(0, 3.0), (540, 5.0), (600, 0.0)]);
        let of = |highs: &LoadHighs, seconds: [i64; 4]| seconds.map(|second| highs.at(second));
        let first = [-1, 0, 599, 600];
        assert_eq!(of(&highs, first), [None, Some(5.0), Some(5.0), Some(0.0)]);
        highs.see_mean(8 * DAY - 600, 1.0);
        let last = [0, 1200, 8 * DAY - 600, 8 * DAY];
        assert_eq!(of(&highs, last), [Some(5.0), None, Some(1.0), None]);
        highs.see_mean(8 * DAY, 1.0);
        assert_eq!(
            of(&highs, [0, 600, 8 * DAY, 1]),
            [None, Some(0.0), Some(1.0), None]
        );
    }

    #[test]
    fn the_series_of_highs_ends_with_the_last_step_that_is_over() {
        let series =
            |highs: &LoadHighs, second| highs.series(Timestamp::from_second(second).unwrap());
        let mut highs = LoadHighs::of([(600, 3.0), (1800, 5.0), (2400, 7.0)]);
        let known = series(&highs, 2999).unwrap();
        assert_eq!(known.start(), Timestamp::from_second(600).unwrap());
        assert_eq!(known.values(), [Some(3.0), None, Some(5.0)]);
        let later = series(&highs, 3600).unwrap();
        assert_eq!(later.values()[3..], [Some(7.0), None]);
        assert_eq!(series(&highs, 599), None);
        assert_eq!(
            series(&highs, 9 * DAY),
            None,
            "all is older than eight days"
        );
        highs.forget_means();
        assert_eq!(series(&highs, 3600), None);
    }

    #[test]
    fn the_past_from_elsewhere_counts_as_if_it_had_been_seen() {
        let days = (0..20).map(|day: u8| (i64::from(day) * DAY, 30.0 - f32::from(day)));
        let past = LoadHighs::of(days);
        let mut highs = LoadHighs::of([(20 * DAY, 1.0)]);
        highs.take(&past);
        assert_eq!(highs.highest(), Some(23.0), "of the eighth day on");
        let mut older = past;
        older.take(&LoadHighs::of([(20 * DAY, 1.0)]));
        assert_eq!(older, highs);
        highs.take(&LoadHighs::default());
        assert_eq!(older, highs);
    }

    #[test]
    fn a_high_is_within_half_a_percent_of_its_load() {
        for load in [0.0, 1e-3, 1.003, 999.9, 123_456.7, 3e9] {
            let found = LoadHighs::of([(0, load)]).at(0).unwrap();
            let load = f64::from(load);
            assert!((found - load).abs() <= 0.004 * load, "{load} {found}");
        }
    }
}
