//! Cron scaling: replicas by the calendar, at runs ([`When::Run`]) and for windows ([`When::Window`]).
//!
//! Schedules are read by `croner` and walked on bitmaps, in zones of the time zone database that is
//! compiled in, so that a schedule means the same wherever the program runs. When clocks go forward, a
//! run at a named time of day that falls into the gap is made at its end; when they go back, it is made
//! at the first of its two moments. Schedules that repeat, by `*` or by steps within the day, go on
//! through both. No schedule and no number of excluded days makes a walk long, and the [`Agenda`] of an
//! object keeps what was found until it has passed.
//!
//! [`tick`] is a function of the rules, the state that the tick before left, and what is observed. A run
//! moves the bounds of an HPA as [`adjust`] says, until the next run; while a window is open, its
//! replicas stand in for the user's least. Of a workload that nothing else scales, both say the count
//! itself ([`Saying`]). Of what overlaps, the larger holds.

mod adjust;
mod agenda;
mod clocks;
mod day_set;
mod days;
mod expression;
mod field;
mod rule;
mod schedule;
mod spec;
mod state;
mod tick;
mod times;
mod upcoming;
mod walk;
mod windows;
mod zone;

pub use adjust::{Adjusted, adjust};
pub use agenda::Agenda;
pub use days::{ExcludedDay, ExcludedDayError, ExcludedDays};
pub use expression::ScheduleError;
pub use rule::{Rule, When, Window};
pub use schedule::Schedule;
pub use spec::{CronSpec, CronSpecError};
pub use state::{CronState, Held, RuleState};
pub use tick::{Happening, Observation, Saying, Ticked, Wanted, tick};
pub use upcoming::{Occasion, Upcoming, local_time, upcoming};
pub use windows::{Asked, asked};
pub use zone::{UnknownZone, Zone};

#[cfg(test)]
mod tests;
