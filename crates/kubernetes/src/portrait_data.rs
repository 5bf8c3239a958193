//! The data of a portrait as objects hold it: one count, windows by the calendar, or a series of counts.
//!
//! It is in the providers of an IntelligentHorizontalPodAutoscaler, in the status of a HorizontalPortrait,
//! and in the ConfigMap that the job of an external algorithm leaves ([`read_result`]). All three are checked
//! here, once, into the [`Portrait`] of the core.

mod result;

use evenkeel_core::scaling::cron::CronSpec;
use evenkeel_core::scaling::portrait::{
    Portrait, ReplicaPoint, Replicas, TimeSeries, TimeSeriesError,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::cron_hpa::{CronHpaError, CronRule, check_windows};

pub use self::result::{ResultData, ResultError, read_result};

/// The most points of a series: a week of them every five minutes, and some more.
pub const MOST_POINTS: usize = 2880;

/// The data of a portrait.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PortraitData {
    /// `Static`, `Cron` or `TimeSeries`.
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(rename = "static", skip_serializing_if = "Option::is_none")]
    pub constant: Option<StaticData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<CronData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_series: Option<TimeSeriesData>,
    /// When it has expired unless it is renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire_time: Option<Timestamp>,
}

/// One count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StaticData {
    pub replicas: i32,
}

/// Windows by the calendar.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CronData {
    pub crons: Vec<ReplicaCron>,
}

/// One window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ReplicaCron {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    pub start: String,
    pub end: String,
    pub replicas: i32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_dates: Vec<String>,
}

/// A series of counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TimeSeriesData {
    pub time_series: Vec<SeriesPoint>,
}

/// From when on there are to be how many replicas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeriesPoint {
    /// Seconds since 1970.
    pub timestamp: i64,
    pub replicas: i32,
}

/// Data that make no portrait, with the place of what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PortraitDataError {
    /// A window is not accepted; the error names its own place.
    #[error(transparent)]
    Cron(#[from] CronHpaError),
    /// A series is not accepted.
    #[error("{path}.timeSeries.timeSeries: {error}")]
    Series {
        path: String,
        error: TimeSeriesError,
    },
    /// A point is at no moment that there is.
    #[error(
        "{path}.timeSeries.timeSeries[{place}].timestamp: {timestamp} is not a time; accepted: \
         seconds since 1970"
    )]
    Timestamp {
        path: String,
        place: usize,
        timestamp: i64,
    },
    /// There are more points than are read.
    #[error(
        "{path}.timeSeries.timeSeries: there are {count} points; accepted: at most {MOST_POINTS}"
    )]
    TooMany { path: String, count: usize },
    /// A series has no end.
    #[error(
        "{path}.expireTime: is missing; accepted: the time from which a series is no longer valid"
    )]
    NoEnd { path: String },
    /// A count is below zero.
    #[error("{path}.static.replicas: {replicas} is not accepted; accepted: 0 or more")]
    Count { path: String, replicas: i32 },
    /// The type is not known, or its field is missing.
    #[error(
        "{path}.type: {given:?} is not accepted; accepted: Static with static, Cron with cron, or TimeSeries with timeSeries"
    )]
    Form { path: String, given: String },
}

impl PortraitDataError {
    /// The kind of error, for conditions, Events and metrics.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Cron(error) => error.reason(),
            Self::Series { error, .. } => error.reason(),
            Self::Timestamp { .. } => "Timestamp",
            Self::TooMany { .. } => "TooMany",
            Self::NoEnd { .. } => "NoExpireTime",
            Self::Count { .. } => "Replicas",
            Self::Form { .. } => "Form",
        }
    }
}

impl PortraitData {
    /// The portrait that these data make, which stand at `path`.
    ///
    /// # Errors
    /// The first thing in them that is not accepted.
    pub fn check(&self, path: &str) -> Result<Portrait, PortraitDataError> {
        let Self {
            kind,
            constant,
            cron,
            time_series,
            expire_time,
        } = self;
        let replicas = match (kind.as_str(), constant, cron, time_series) {
            ("Static", Some(constant), _, _) => Replicas::Static(constant.check(path)?),
            ("Cron", _, Some(cron), _) => Replicas::Cron(cron.check(&format!("{path}.cron"))?),
            ("TimeSeries", _, _, Some(_)) if expire_time.is_none() => {
                let path = path.to_owned();
                return Err(PortraitDataError::NoEnd { path });
            }
            ("TimeSeries", _, _, Some(series)) => Replicas::TimeSeries(series.check(path)?),
            _ => {
                return Err(PortraitDataError::Form {
                    path: path.to_owned(),
                    given: kind.clone(),
                });
            }
        };
        Ok(Portrait {
            replicas,
            expires: *expire_time,
        })
    }
}

impl StaticData {
    /// The count.
    ///
    /// # Errors
    /// One below zero.
    pub(crate) fn check(self, path: &str) -> Result<i32, PortraitDataError> {
        let Self { replicas } = self;
        if replicas < 0 {
            let path = path.to_owned();
            return Err(PortraitDataError::Count { path, replicas });
        }
        Ok(replicas)
    }
}

impl CronData {
    /// The windows, which stand at `path`.
    ///
    /// # Errors
    /// The first thing in them that is not accepted.
    pub(crate) fn check(&self, path: &str) -> Result<CronSpec, CronHpaError> {
        let crons = self.crons.iter().map(|cron| {
            let ReplicaCron {
                name,
                description: _,
                time_zone,
                start,
                end,
                replicas,
                exclude_dates,
            } = cron.clone();
            CronRule {
                name: Some(name),
                start: Some(start),
                end: Some(end),
                replicas: Some(replicas),
                time_zone,
                exclude_dates,
                ..CronRule::default()
            }
        });
        check_windows(path, crons.collect())
    }
}

impl TimeSeriesData {
    fn check(&self, path: &str) -> Result<TimeSeries, PortraitDataError> {
        let path = || path.to_owned();
        let Self { time_series } = self;
        let count = time_series.len();
        if count > MOST_POINTS {
            return Err(PortraitDataError::TooMany {
                path: path(),
                count,
            });
        }
        let mut points = Vec::with_capacity(count);
        for (place, point) in time_series.iter().enumerate() {
            let SeriesPoint {
                timestamp,
                replicas,
            } = *point;
            let at =
                Timestamp::from_second(timestamp).map_err(|_| PortraitDataError::Timestamp {
                    path: path(),
                    place,
                    timestamp,
                })?;
            points.push(ReplicaPoint { at, replicas });
        }
        TimeSeries::new(points).map_err(|error| PortraitDataError::Series {
            path: path(),
            error,
        })
    }
}

#[cfg(test)]
mod tests;
