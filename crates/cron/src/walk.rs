//! From one day of a schedule to the next and the one before, past the days that are excluded.
//!
//! A step is a month, or a range of excluded days. No walk is longer than the months of
//! [`MOST_YEARS`] and the number of ranges, whatever the schedule and the excluded days are.

use jiff::civil::Date;

use super::day_set::{self, DaySet};
use super::days::ExcludedDays;

/// The most years that are looked through. Of all schedules those come most seldom that mean 29
/// February on one weekday: every 28 years, and 40 across a century without a leap day.
pub(crate) const MOST_YEARS: i16 = 50;

/// Days that some are excluded from, and the years in which they are looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Walk<'a> {
    days: &'a DaySet,
    excluded: &'a ExcludedDays,
    first_year: i16,
    last_year: i16,
}

impl<'a> Walk<'a> {
    /// The days around one from which a walk begins.
    pub(crate) fn around(begin: Date, days: &'a DaySet, excluded: &'a ExcludedDays) -> Self {
        Self {
            days,
            excluded,
            first_year: begin.year().saturating_sub(MOST_YEARS),
            last_year: begin.year().saturating_add(MOST_YEARS),
        }
    }

    /// The first day that is not before `from`.
    pub(crate) fn next_from(&self, mut from: Date) -> Option<Date> {
        while from.year() <= self.last_year {
            let days = self.of_month(from) & day_set::from(from);
            let Some(day) = lowest(days) else {
                from = from.last_of_month().tomorrow().ok()?;
                continue;
            };
            let found = Date::new(from.year(), from.month(), day).ok()?;
            match self.excluded.range_over(found) {
                None => return Some(found),
                Some((_, last)) => from = last.tomorrow().ok()?,
            }
        }
        None
    }

    /// The last day that is not after `until`.
    pub(crate) fn last_until(&self, mut until: Date) -> Option<Date> {
        while until.year() >= self.first_year {
            let days = self.of_month(until) & day_set::until(until);
            let Some(day) = highest(days) else {
                until = until.first_of_month().yesterday().ok()?;
                continue;
            };
            let found = Date::new(until.year(), until.month(), day).ok()?;
            match self.excluded.range_over(found) {
                None => return Some(found),
                Some((first, _)) => until = first.yesterday().ok()?,
            }
        }
        None
    }

    /// The days in the month of a date that recur, and are not excluded by others that recur.
    fn of_month(&self, date: Date) -> u32 {
        #[cfg(test)]
        steps::count();
        self.days.of_month(date) & !self.excluded.recurring().of_month(date)
    }
}

fn lowest(days: u32) -> Option<i8> {
    let day = i8::try_from(days.trailing_zeros()).ok()?;
    (days != 0).then_some(day)
}

fn highest(days: u32) -> Option<i8> {
    i8::try_from(days.checked_ilog2()?).ok()
}

/// The steps of all walks of one test.
#[cfg(test)]
pub(crate) mod steps {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<u32> = const { Cell::new(0) };
    }

    pub(crate) fn count() {
        STEPS.with(|steps| steps.set(steps.get() + 1));
    }

    /// The steps that `work` takes.
    pub(crate) fn of<T>(work: impl FnOnce() -> T) -> (u32, T) {
        let before = STEPS.with(Cell::get);
        let done = work();
        (STEPS.with(Cell::get) - before, done)
    }
}
