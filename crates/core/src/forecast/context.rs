//! Everything a model may read when it forecasts one load.

use jiff::{SignedDuration, Timestamp};

use super::calendar::{Calendar, CalendarTime};
use super::history::History;

/// The past of one load, its place in time, and what the models of all targets share.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The past of the load, in all resolutions.
    pub history: &'a History,
    /// The time of the newest step of the grid that models have observed; forecasts begin one step
    /// later.
    pub origin: Timestamp,
    /// The distance of the steps of that grid; above zero.
    pub step: SignedDuration,
    /// Calendar and parameters that are the same for all targets.
    pub shared: &'a Shared,
}

/// Calendar and parameters that the models of all targets share.
#[derive(Debug, Default)]
pub struct Shared {
    /// The calendar that the loads live by.
    pub calendar: Calendar,
    /// A model trained across many targets, if there is one.
    pub global: Option<GlobalModel>,
}

/// The parameters of a model that was trained across many targets. No such model exists yet, so
/// this type has no value.
#[derive(Debug)]
pub enum GlobalModel {}

impl Context<'_> {
    /// The time of the step `ahead` steps after the origin; `None` beyond [`Timestamp::MAX`].
    #[must_use]
    pub(super) fn time_of(&self, ahead: usize) -> Option<Timestamp> {
        let distance = self.step.checked_mul(i32::try_from(ahead).ok()?)?;
        self.origin.checked_add(distance).ok()
    }

    /// Time of day and of the week of that step.
    #[must_use]
    pub fn calendar_time_of(&self, ahead: usize) -> Option<CalendarTime> {
        Some(self.shared.calendar.at(self.time_of(ahead)?))
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::Weekday;

    use super::*;

    #[test]
    fn steps_count_from_the_origin() {
        let (history, shared) = (History::default(), Shared::default());
        let context = Context {
            history: &history,
            origin: "2027-01-15T23:59:30Z".parse().unwrap(),
            step: SignedDuration::from_secs(15),
            shared: &shared,
        };
        let time = context.calendar_time_of(3).unwrap();
        assert_eq!((time.second_of_day, time.weekday), (15, Weekday::Saturday));
        assert_eq!(context.time_of(usize::MAX), None);
    }
}
