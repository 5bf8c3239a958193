//! Calendar days on which a rule does nothing.

use jiff::civil::Date;

use super::day_set::DaySet;
use super::expression::parse_expression;

/// Text that names no days.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a calendar day{}; accepted: a date such as 2026-12-25, a range such as \
     2026-12-24/2026-12-31, or a cron expression whose fields below the day are all *, such as \"* \
     * 25 12 *\"",
    because(message)
)]
pub struct ExcludedDayError {
    text: String,
    message: String,
}

fn because(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    }
}

impl ExcludedDayError {
    /// The kind of error, for conditions, Events and metrics.
    pub const fn reason(&self) -> &'static str {
        "ExcludedDay"
    }
}

/// One day, or several.
#[derive(Debug, Clone)]
pub struct ExcludedDay(Days);

#[derive(Debug, Clone)]
enum Days {
    /// The first and the last, both included.
    Range(Date, Date),
    Recurring(Box<DaySet>),
}

impl ExcludedDay {
    /// The days that `text` names.
    ///
    /// # Errors
    /// Text that names none, or moments of a day rather than days.
    pub fn parse(text: &str) -> Result<Self, ExcludedDayError> {
        let refused = |message: &str| ExcludedDayError {
            text: text.chars().take(100).collect(),
            message: message.to_owned(),
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let below_a_day = match fields.len() {
            0 | 1 => return dates(text.trim()).ok_or_else(|| refused("")),
            6 => &fields[..3],
            _ => &fields[..2],
        };
        if below_a_day.iter().any(|field| *field != "*") {
            return Err(refused("it names times of a day"));
        }
        let cron = parse_expression(text).map_err(|_| refused("it is not a cron expression"))?;
        Ok(Self(Days::Recurring(Box::new(DaySet::of(&cron)))))
    }
}

fn dates(text: &str) -> Option<ExcludedDay> {
    let (first, last) = text.split_once('/').unwrap_or((text, text));
    // A date alone: the parser would take one with a time of day as well.
    let date = |text: &str| {
        (text.len() == 10)
            .then(|| text.parse::<Date>().ok())
            .flatten()
    };
    let (first, last) = date(first).zip(date(last))?;
    (first <= last).then_some(ExcludedDay(Days::Range(first, last)))
}

/// All days on which a rule does nothing, in the rule's own time zone, merged: asking for one of them
/// takes as long whatever they were made of.
#[derive(Debug, Clone, Default)]
pub struct ExcludedDays {
    recurring: DaySet,
    /// The first and the last day of each range, in their order; none overlap.
    ranges: Box<[(Date, Date)]>,
}

impl ExcludedDays {
    /// True for an excluded day.
    pub fn contain(&self, day: Date) -> bool {
        self.recurring.contains(day) || self.range_over(day).is_some()
    }

    /// The days of each year that are excluded.
    pub(crate) const fn recurring(&self) -> &DaySet {
        &self.recurring
    }

    /// The range of excluded dates in which a day lies.
    pub(crate) fn range_over(&self, day: Date) -> Option<(Date, Date)> {
        let place = self.ranges.partition_point(|(_, last)| *last < day);
        let range = self.ranges.get(place).copied();
        range.filter(|(first, _)| *first <= day)
    }

    /// The bytes that they hold.
    pub(crate) fn bytes(&self) -> usize {
        let Self {
            recurring: _,
            ranges,
        } = self;
        size_of::<Self>() + size_of_val::<[_]>(ranges)
    }
}

impl Extend<ExcludedDay> for ExcludedDays {
    fn extend<I: IntoIterator<Item = ExcludedDay>>(&mut self, days: I) {
        let mut ranges = std::mem::take(&mut self.ranges).into_vec();
        for ExcludedDay(days) in days {
            match days {
                Days::Range(first, last) => ranges.push((first, last)),
                Days::Recurring(days) => self.recurring.add(&days),
            }
        }
        self.ranges = merged(ranges);
    }
}

impl FromIterator<ExcludedDay> for ExcludedDays {
    fn from_iter<I: IntoIterator<Item = ExcludedDay>>(days: I) -> Self {
        let mut all = Self::default();
        all.extend(days);
        all
    }
}

/// The same days in ranges that follow each other.
fn merged(mut ranges: Vec<(Date, Date)>) -> Box<[(Date, Date)]> {
    ranges.sort_unstable();
    ranges.dedup_by(|(first, last), (_, last_before)| {
        let overlap = *first <= *last_before;
        if overlap {
            *last_before = (*last_before).max(*last);
        }
        overlap
    });
    ranges.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn days_are_dates_ranges_and_patterns() {
        for (text, inside, outside) in [
            ("2026-12-25", date(2026, 12, 25), date(2027, 12, 25)),
            ("2026-12-24/2027-01-01", date(2027, 1, 1), date(2027, 1, 2)),
            // Every year, in five fields and in six.
            ("* * 15 11 *", date(2031, 11, 15), date(2031, 11, 16)),
            ("* * * 15 11 *", date(2026, 11, 15), date(2026, 12, 15)),
            // Fridays; hours 0 of other November days are none of its business.
            ("* * * * * 5", date(2026, 11, 27), date(2026, 11, 28)),
            ("* * * * SUN", date(2026, 11, 29), date(2026, 11, 28)),
            ("* * L * *", date(2028, 2, 29), date(2028, 2, 28)),
        ] {
            let days: ExcludedDays = [ExcludedDay::parse(text).unwrap()].into_iter().collect();
            assert!(days.contain(inside), "{text}");
            assert!(!days.contain(outside), "{text}");
        }
    }

    #[test]
    fn ranges_that_overlap_are_one_and_others_stay_apart() {
        let texts = [
            "2026-12-24/2026-12-26",
            "2027-01-01",
            "2026-12-20/2026-12-31",
            "2026-12-25",
            "2026-12-31/2027-01-01",
            "2027-02-01",
        ];
        let days = texts.map(|text| ExcludedDay::parse(text).unwrap());
        let all: ExcludedDays = days.into_iter().collect();
        let long = (date(2026, 12, 20), date(2027, 1, 1));
        let short = (date(2027, 2, 1), date(2027, 2, 1));
        assert_eq!(*all.ranges, [long, short]);
        for (day, range) in [
            (date(2026, 12, 19), None),
            (date(2026, 12, 28), Some(long)),
            (date(2027, 1, 2), None),
            (date(2027, 2, 1), Some(short)),
            (date(2027, 2, 2), None),
        ] {
            assert_eq!(all.range_over(day), range, "{day}");
        }
    }

    #[test]
    fn what_names_no_days_is_refused() {
        for (text, told) in [
            ("", "is not a calendar day;"),
            ("christmas", "is not a calendar day;"),
            ("2026-02-30", "is not a calendar day;"),
            ("2026-12-25T08:00", "is not a calendar day;"),
            ("2026-12-31/2026-12-24", "is not a calendar day;"),
            ("0 8 * * *", "times of a day"),
            ("0 * * 15 11 *", "times of a day"),
            ("* * 15", "not a cron expression"),
            ("* * 32 1 *", "not a cron expression"),
        ] {
            let error = ExcludedDay::parse(text).unwrap_err();
            assert!(error.to_string().contains(told), "{text}: {error}");
        }
    }
}
