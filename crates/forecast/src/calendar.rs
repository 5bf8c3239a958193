//! The calendar of a load. Local time counts when clocks change: 09:00 stays 09:00.

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calendar {
    zone: TimeZone,
}

impl Calendar {
    pub const fn new(zone: TimeZone) -> Self {
        Self { zone }
    }

    /// `None` for a zone that is in no database.
    pub fn name(&self) -> Option<&str> {
        self.zone.iana_name()
    }

    /// The same local time so many days before; `None` before [`Timestamp::MIN`].
    pub(crate) fn days_before(&self, time: Timestamp, days: i32) -> Option<Timestamp> {
        let local = self.zone.to_datetime(time).checked_sub(days.days()).ok()?;
        self.zone.to_timestamp(local).ok()
    }

    /// Local seconds since midnight.
    pub(crate) fn second_of_day(&self, time: Timestamp) -> i64 {
        self.second_of_week(time).rem_euclid(24 * 3600)
    }

    /// Local seconds since Monday 00:00.
    pub fn second_of_week(&self, time: Timestamp) -> i64 {
        let local = self.zone.to_datetime(time);
        let days = i64::from(local.date().weekday().to_monday_zero_offset());
        let [hours, minutes, seconds] = [local.hour(), local.minute(), local.second()];
        let [hours, minutes, seconds] = [hours, minutes, seconds].map(i64::from);
        ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    }
}

impl Default for Calendar {
    fn default() -> Self {
        Self::new(TimeZone::UTC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_as_long_as_the_clocks_of_its_zone_make_it() {
        // Clocks go forward on the 28th at 02:00 and back on the 31st of October at 03:00.
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let berlin = Calendar::new(berlin);
        for (calendar, time, before) in [
            (
                &Calendar::default(),
                "2027-03-28T07:00:05Z",
                "2027-03-27T07:00:05Z",
            ),
            (&berlin, "2027-03-27T08:00:05Z", "2027-03-26T08:00:05Z"),
            (&berlin, "2027-03-28T07:00:05Z", "2027-03-27T08:00:05Z"),
            (&berlin, "2027-10-31T08:00:05Z", "2027-10-30T07:00:05Z"),
        ] {
            let found = calendar.days_before(time.parse().unwrap(), 1);
            assert_eq!(found, before.parse().ok(), "{time}");
        }
        assert_eq!(berlin.days_before(Timestamp::MIN, 1), None);
    }
}
