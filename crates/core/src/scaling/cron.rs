//! Cron scaling: replicas by the calendar, at runs ([`When::Run`]) and for windows ([`When::Window`]).
//!
//! Schedules are read and walked by `croner`, in zones of the time zone database that is compiled in, so
//! that a schedule means the same wherever the program runs. When clocks go forward, a run that falls
//! into the gap is made at its end; when they go back, a run at a fixed time of day is made at the
//! first of its two moments, and only schedules that repeat within the hour go on through both.
//!
//! [`tick`] is a function of the rules, the state that the tick before left, and what is observed. A run
//! moves the bounds of an HPA as [`adjust`] says, until the next run; while a window is open, its
//! replicas stand in for the user's least. Of a workload that nothing else scales, both say the count
//! itself ([`Saying`]). Of what overlaps, the larger holds.

mod adjust;
mod days;
mod rule;
mod schedule;
mod spec;
mod state;
mod tick;
mod upcoming;
mod zone;

pub use adjust::{Adjusted, adjust};
pub use days::{ExcludedDay, ExcludedDayError, ExcludedDays};
pub use rule::{Rule, When, Window};
pub use schedule::{Schedule, ScheduleError};
pub use spec::{CronSpec, CronSpecError};
pub use state::{CronState, Held, RuleState};
pub use tick::{Happening, Observation, Saying, Ticked, Wanted, tick};
pub use upcoming::{Occasion, Upcoming, upcoming};
pub use zone::{UnknownZone, Zone};

#[cfg(test)]
mod tests;
