//! The days of a cron expression, as a bitmap that holds for all years.
//!
//! Which days of a month an expression means follows from the month, its length and the weekday on
//! which it begins. So 91 words say it for ever: thirteen kinds of months by seven weekdays, a bit for
//! each day. Sets of many expressions are merged into one, and looking a month up is one step whatever
//! they were made of.

use croner::{Cron, Weekday};
use jiff::civil::Date;

/// The twelve months, and February of a leap year.
const KINDS: usize = 13;

/// The place of February of a leap year, after the twelve.
const LEAP_FEBRUARY: usize = 12;

/// A year and month of each length, from 28 to 31 days.
const OF_LENGTH: [(i32, u32, u32); 4] =
    [(2001, 2, 28), (2000, 2, 29), (2001, 4, 30), (2001, 1, 31)];

/// The bits of a word that are days, from 1 to 31.
const ALL_DAYS: u32 = u32::MAX << 1;

/// Days that recur, in a bit each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DaySet([[u32; 7]; KINDS]);

impl DaySet {
    /// The days that an expression means, whatever its hours.
    pub(crate) fn of(cron: &Cron) -> Self {
        let pattern = &cron.pattern;
        let of_length = OF_LENGTH.map(|(year, month, length)| {
            [0, 1, 2, 3, 4, 5, 6].map(|first| {
                let means = |day: &u32| {
                    let weekday = Weekday::from_days_from_sunday(first + day - 1);
                    let found = pattern.day_match(year, month, *day, weekday);
                    found.unwrap_or(false)
                };
                (1..=length)
                    .filter(means)
                    .fold(0, |days, day| days | 1 << day)
            })
        });
        let [of_28, of_29, of_30, of_31] = of_length;
        let mut set = Self::default();
        for (month, days) in (1..).zip(&mut set.0) {
            let (month, of_month) = match month {
                13 => (2, of_29),
                2 => (2, of_28),
                4 | 6 | 9 | 11 => (month, of_30),
                _ => (month, of_31),
            };
            if pattern.month_match(month).unwrap_or(false) {
                *days = of_month;
            }
        }
        set
    }

    /// True where no day ever is one of these.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_flattened().iter().all(|days| *days == 0)
    }

    /// True where each day of the other set is one of this one.
    pub(crate) fn includes(&self, other: &Self) -> bool {
        let mut pairs = self.0.as_flattened().iter().zip(other.0.as_flattened());
        pairs.all(|(days, others)| others & !days == 0)
    }

    /// True where some days are in both.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        let both = self.0.as_flattened().iter().zip(other.0.as_flattened());
        both.into_iter().any(|(own, other)| own & other != 0)
    }

    /// Takes in the days of another set.
    pub(crate) fn add(&mut self, other: &Self) {
        let all = self.0.as_flattened_mut().iter_mut();
        for (days, others) in all.zip(other.0.as_flattened()) {
            *days |= others;
        }
    }

    /// True for one of these days.
    pub(crate) fn contains(&self, day: Date) -> bool {
        self.of_month(day) & bit(day) != 0
    }

    /// The days in the month of a date, in the bits that have their numbers.
    pub(crate) fn of_month(&self, date: Date) -> u32 {
        let first = date.first_of_month();
        let kind = if first.month() == 2 && first.in_leap_year() {
            LEAP_FEBRUARY
        } else {
            place(first.month()) - 1
        };
        self.0[kind][place(first.weekday().to_sunday_zero_offset())]
    }
}

/// The bit of a date within its month.
fn bit(date: Date) -> u32 {
    1 << place(date.day())
}

/// The bits of a date and of all after it.
pub(crate) fn from(date: Date) -> u32 {
    ALL_DAYS & !(bit(date) - 1)
}

/// The bits of a date and of all before it.
pub(crate) fn until(date: Date) -> u32 {
    ALL_DAYS & (bit(date) | (bit(date) - 1))
}

fn place(number: i8) -> usize {
    usize::from(number.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use croner::parser::CronParser;
    use jiff::civil::date;

    use super::*;

    /// As croner itself says of each day of 28 years and of a century without a leap day.
    #[test]
    fn a_set_has_the_days_that_the_expression_means_in_every_year() {
        for text in [
            "* * * * *",
            "* * L * *",
            "* * LW * *",
            "* * 15W * *",
            "* * 1W,31W 2,12 *",
            "* * 29 2 *",
            "* * * * SUN#5",
            "* * * 3,10 SUN#L",
            "* * 13 * FRI",
            "* * 13 * +FRI",
            "* * */7 */5 *",
        ] {
            let cron = CronParser::new().parse(text).unwrap();
            let set = DaySet::of(&cron);
            for year in (1999..2028).chain([2100]) {
                let mut day = date(year, 1, 1);
                while day.year() == year {
                    let means = cron.is_time_matching(&day.at(0, 0, 0, 0)).unwrap();
                    assert_eq!(set.contains(day), means, "{text} on {day}");
                    day = day.tomorrow().unwrap();
                }
            }
        }
    }

    #[test]
    fn a_set_without_days_is_empty_and_takes_in_others() {
        let of = |text: &str| DaySet::of(&CronParser::new().parse(text).unwrap());
        let mut set = of("* * 30 2 *");
        assert!(set.is_empty());
        set.add(&of("* * 29 2 *"));
        set.add(&of("* * 1 * *"));
        assert!(!set.is_empty());
        for (day, is_in) in [
            (date(2028, 2, 29), true),
            (date(2027, 3, 1), true),
            (date(2027, 3, 29), false),
        ] {
            assert_eq!(set.contains(day), is_in, "{day}");
        }
    }
}
