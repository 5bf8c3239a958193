//! Times of day and of the week, by which loads repeat.
//!
//! People work by local time, so the time zone is part of the calendar. On days on which clocks
//! change, the local time is what counts: 09:00 stays 09:00.

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;

/// The calendar of one time zone.
#[derive(Debug, Clone)]
pub struct Calendar {
    zone: TimeZone,
}

/// Where a time stands in its day and week.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalendarTime {
    /// Seconds on the local clock since it showed 00:00:00: from 0 to 86,399.
    pub second_of_day: u32,
    /// Local day of the week.
    pub weekday: Weekday,
}

impl Calendar {
    /// The calendar of a time zone.
    #[must_use]
    pub const fn new(zone: TimeZone) -> Self {
        Self { zone }
    }

    /// Time of day and of the week at `time`.
    #[must_use]
    pub fn at(&self, time: Timestamp) -> CalendarTime {
        let local = self.zone.to_datetime(time);
        let [hour, minute, second] = [local.hour(), local.minute(), local.second()]
            .map(|part| u32::from(part.unsigned_abs()));
        CalendarTime {
            second_of_day: (hour * 60 + minute) * 60 + second,
            weekday: local.weekday(),
        }
    }
}

impl Default for Calendar {
    /// The calendar of UTC.
    fn default() -> Self {
        Self::new(TimeZone::UTC)
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::Offset;

    use super::*;

    #[test]
    fn the_same_instant_is_another_day_elsewhere() {
        let friday_evening: Timestamp = "2027-01-15T20:30:05Z".parse().unwrap();
        let tokyo = Calendar::new(TimeZone::fixed(Offset::constant(9)));
        for (calendar, second_of_day, weekday) in [
            (
                Calendar::default(),
                20 * 3600 + 30 * 60 + 5,
                Weekday::Friday,
            ),
            (tokyo, 5 * 3600 + 30 * 60 + 5, Weekday::Saturday),
        ] {
            let expected = CalendarTime {
                second_of_day,
                weekday,
            };
            assert_eq!(calendar.at(friday_evening), expected);
        }
    }
}
