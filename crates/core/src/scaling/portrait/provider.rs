//! The statement of a provider for all times, and its outcome at one of them.

use std::sync::Arc;

use jiff::Timestamp;

use super::outcome::{ProviderOutcome, Value};
use super::series::TimeSeries;
use crate::scaling::cron::{self, CronSpec, ScheduleCache};

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

/// The outcome of one provider, with its name and its priority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRecommendation {
    /// The name, unique among the providers of one target.
    pub name: Arc<str>,
    /// Of those that have a value, the highest holds.
    pub priority: i32,
    pub outcome: ProviderOutcome,
}

impl Portrait {
    /// The outcome at `now`. The `agenda` is that of its windows; without windows it stays unchanged.
    #[must_use]
    pub fn at(&self, agenda: &mut ScheduleCache, now: Timestamp) -> ProviderOutcome {
        let Self { replicas, expires } = self;
        if let Some(at) = expires.filter(|end| *end <= now) {
            return ProviderOutcome::Expired { at };
        }
        match replicas.at(agenda, now) {
            ProviderOutcome::Value(Value { replicas, until }) => ProviderOutcome::Value(Value {
                replicas,
                until: until.into_iter().chain(*expires).min(),
            }),
            other => other,
        }
    }
}

impl Replicas {
    fn at(&self, agenda: &mut ScheduleCache, now: Timestamp) -> ProviderOutcome {
        let value = |replicas, until| ProviderOutcome::Value(Value { replicas, until });
        match self {
            Self::Static(replicas) => value(*replicas, None),
            Self::Cron(spec) => match cron::asked(spec, agenda, now) {
                cron::OpenWindows::Replicas { replicas, until } => value(replicas, Some(until)),
                cron::OpenWindows::Nothing { until } => ProviderOutcome::Absent { until },
            },
            Self::TimeSeries(series) => {
                let until = series.next(now).map(|next| next.at);
                match series.at(now) {
                    Some(point) => value(point.replicas, until),
                    None => ProviderOutcome::Absent { until },
                }
            }
        }
    }
}
