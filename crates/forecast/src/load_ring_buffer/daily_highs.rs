//! The highest load of each of the last days, in less memory than the past.

/// Days remembered, of UTC; the newest is not over.
const DAYS: usize = 14;

const DAY: i64 = 86_400;

/// The highest load of each of the last fourteen days of UTC.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DailyHighs {
    /// By day number modulo their count; 0 where nothing was seen.
    values: [f32; DAYS],
    newest: Option<i64>,
}

impl Default for DailyHighs {
    fn default() -> Self {
        Self {
            values: [0.0; DAYS],
            newest: None,
        }
    }
}

impl DailyHighs {
    /// `loads` have seconds since the epoch; NaN is left out.
    pub fn of(loads: impl IntoIterator<Item = (i64, f32)>) -> Self {
        let mut highs = Self::default();
        for (second, load) in loads {
            if !load.is_nan() {
                highs.see(second, load);
            }
        }
        highs
    }

    /// `second` is since the epoch. A load of a day that is forgotten has no effect.
    pub(super) fn see(&mut self, second: i64, load: f32) {
        self.see_day(second.div_euclid(DAY), load);
    }

    pub(super) fn take(&mut self, others: &Self) {
        for day in others.days() {
            self.see_day(day, others.values[place(day)]);
        }
    }

    /// `None` before the first load.
    pub(super) fn highest(&self) -> Option<f64> {
        let highs = self.days().map(|day| f64::from(self.values[place(day)]));
        highs.reduce(f64::max)
    }

    fn see_day(&mut self, day: i64, load: f32) {
        let newest = *self.newest.get_or_insert(day);
        let first = day - days() + 1;
        for passed in (newest + 1).max(first)..=day {
            self.values[place(passed)] = 0.0;
        }
        self.newest = Some(newest.max(day));
        if day > newest - days() {
            let high = &mut self.values[place(day)];
            *high = high.max(load);
        }
    }

    /// By number since the epoch.
    fn days(&self) -> impl Iterator<Item = i64> + use<> {
        let newest = self.newest;
        newest
            .into_iter()
            .flat_map(|newest| newest - days() + 1..=newest)
    }
}

fn days() -> i64 {
    i64::try_from(DAYS).expect("two weeks")
}

fn place(day: i64) -> usize {
    usize::try_from(day.rem_euclid(days())).expect("a remainder is not negative and short")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_weeks_are_remembered_in_whatever_order_they_come() {
        let mut highs = DailyHighs::of([(3 * DAY + 5, 7.0), (3 * DAY, f32::NAN), (3 * DAY, 2.0)]);
        assert_eq!(highs.highest(), Some(7.0));
        assert_eq!(DailyHighs::default().highest(), None);
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
    fn the_past_from_elsewhere_counts_as_if_it_had_been_seen() {
        let past =
            DailyHighs::of((0..20).map(|day: u8| (i64::from(day) * DAY, 30.0 - f32::from(day))));
        let mut highs = DailyHighs::of([(20 * DAY, 1.0)]);
        highs.take(&past);
        assert_eq!(highs.highest(), Some(23.0), "of the eighth day on");
        let mut older = past;
        older.take(&DailyHighs::of([(20 * DAY, 1.0)]));
        assert_eq!(older, highs);
    }
}
