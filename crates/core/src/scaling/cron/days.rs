//! Calendar days on which a rule does nothing.

use croner::Cron;
use jiff::civil::{Date, Time};

use super::schedule::parse_expression;

/// Text that names no days.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} names no days{}; accepted: a date such as 2026-12-25, a range such as \
     2026-12-24/2026-12-31, or a cron expression whose fields below the day are all *, such as \
     \"* * 25 12 *\"",
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
    #[must_use]
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
    Matching(Box<Cron>),
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
            return Err(refused("it names moments of a day"));
        }
        let cron = parse_expression(text).map_err(|_| refused("it is no cron expression"))?;
        Ok(Self(Days::Matching(Box::new(cron))))
    }

    fn contains(&self, day: Date) -> bool {
        match &self.0 {
            Days::Range(first, last) => (*first..=*last).contains(&day),
            Days::Matching(cron) => {
                let midnight = day.to_datetime(Time::midnight());
                cron.is_time_matching(&midnight).unwrap_or(false)
            }
        }
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

/// All days on which a rule does nothing, in the rule's own time zone.
#[derive(Debug, Clone, Default)]
pub struct ExcludedDays(Vec<ExcludedDay>);

impl ExcludedDays {
    /// True for an excluded day.
    #[must_use]
    pub fn contain(&self, day: Date) -> bool {
        self.0.iter().any(|one| one.contains(day))
    }
}

impl FromIterator<ExcludedDay> for ExcludedDays {
    fn from_iter<I: IntoIterator<Item = ExcludedDay>>(days: I) -> Self {
        Self(days.into_iter().collect())
    }
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
    fn what_names_no_days_is_refused() {
        for (text, told) in [
            ("", "names no days;"),
            ("christmas", "names no days;"),
            ("2026-02-30", "names no days;"),
            ("2026-12-25T08:00", "names no days;"),
            ("2026-12-31/2026-12-24", "names no days;"),
            ("0 8 * * *", "moments of a day"),
            ("0 * * 15 11 *", "moments of a day"),
            ("* * 15", "no cron expression"),
            ("* * 32 1 *", "no cron expression"),
        ] {
            let error = ExcludedDay::parse(text).unwrap_err();
            assert!(error.to_string().contains(told), "{text}: {error}");
        }
    }
}
