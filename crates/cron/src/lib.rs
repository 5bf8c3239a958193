//! Cron scaling: replicas by the calendar, at runs ([`RuleTiming::Run`]) and for windows ([`RuleTiming::CronWindow`]).
//!
//! Schedules are read by `croner` and walked on bitmaps, in zones of the time zone database that is
//! compiled in, so that a schedule means the same wherever the program runs. When clocks go forward, a
//! run at a named time of day that falls into the gap is made at its end; when they go back, it is made
//! at the first of its two moments. Schedules that repeat, by `*` or by steps within the day, go on
//! through both. No schedule and no number of excluded days makes a walk long, and the [`ScheduleCache`] of an
//! object keeps what was found until it has passed.
//!
//! [`tick`] is a function of the rules, the state that the tick before left, and what is observed. A run
//! moves the bounds of an HPA as [`adjust`] says, until the next run; while a window is open, its
//! replicas stand in for the user's least. If nothing else scales a workload, runs and windows
//! set its replica count ([`CronEffect`]). If two overlap, the larger count applies.

mod adjust;
mod day_set;
mod days;
mod dst;
mod expression;
mod field;
mod next_occurrences;
mod rule;
mod schedule;
mod schedule_cache;
mod spec;
mod state;
pub mod tick;
mod times;
mod walk;
mod windows;
mod zone;

pub use adjust::{CronAdjustment, adjust};
pub use days::{ExcludedDay, ExcludedDayError, ExcludedDays};
pub use expression::ScheduleError;
pub use next_occurrences::{CronOccasion, UpcomingOccurrence, local_time, upcoming};
pub use rule::{CronWindow, Rule, RuleTiming};
pub use schedule::Schedule;
pub use schedule_cache::ScheduleCache;
pub use spec::{CronSpec, CronSpecError};
pub use state::{ActiveRun, CronState, RuleState};
pub use tick::{CronEffect, CronEvent, CronObservation, CronTickResult, RequestedMinimum, tick};
pub use windows::{OpenWindows, asked};
pub use zone::{UnknownZone, Zone};

#[cfg(test)]
mod tests;
