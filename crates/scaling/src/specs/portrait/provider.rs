//! The statement of a provider for all times, and its request at one of them.

use evenkeel_cron as cron;
use evenkeel_cron::{CronSpec, ScheduleCache};
use jiff::Timestamp;

use super::series::TimeSeries;
use crate::merge::recommendation::{Ask, Unavailable};

/// The statement of a provider, and the time for which it stands.
#[derive(Debug, Clone)]
pub struct Portrait {
    pub replicas: Replicas,
    /// When it has expired unless it is renewed; `None` where it stands until it is changed.
    pub expires: Option<Timestamp>,
}

/// The replicas of a portrait over time.
#[derive(Debug, Clone)]
pub enum Replicas {
    /// One count.
    Static(i32),
    /// Those of the windows that are open. Of several, the larger holds.
    Cron(CronSpec),
    /// Those of a series.
    TimeSeries(TimeSeries),
}

impl Portrait {
    /// The request at `now`, with its end. The `agenda` is that of its windows; without windows it stays unchanged.
    pub fn at(&self, agenda: &mut ScheduleCache, now: Timestamp) -> (Ask, Option<Timestamp>) {
        let Self { replicas, expires } = self;
        if expires.is_some_and(|end| end <= now) {
            return (Ask::Unavailable(Unavailable::Expired), *expires);
        }
        match replicas.at(agenda, now) {
            (Ask::Exactly(count), until) => {
                let ends = until.into_iter().chain(*expires);
                (Ask::Exactly(count), ends.min())
            }
            other => other,
        }
    }
}

impl Replicas {
    fn at(&self, agenda: &mut ScheduleCache, now: Timestamp) -> (Ask, Option<Timestamp>) {
        const ABSENT: Ask = Ask::Unavailable(Unavailable::Absent);
        match self {
            Self::Static(replicas) => (Ask::Exactly(*replicas), None),
            Self::Cron(spec) => match cron::asked(spec, agenda, now) {
                cron::OpenWindows::Replicas { replicas, until } => {
                    (Ask::Exactly(replicas), Some(until))
                }
                cron::OpenWindows::Nothing { until } => (ABSENT, until),
            },
            Self::TimeSeries(series) => {
                let point = series.at(now);
                let ask = point.map_or(ABSENT, |point| Ask::Exactly(point.replicas));
                (ask, series.next(now).map(|next| next.at))
            }
        }
    }
}
