//! The data of a portrait, checked into a [`Portrait`]. Every place that holds such data is read here.

use evenkeel_api::cron_hpa::spec::CronRule;
use evenkeel_api::portrait_data::{
    CronData, MOST_POINTS, PortraitData, ReplicaCron, SeriesPoint, StaticData, TimeSeriesData,
};
use evenkeel_cron::CronSpec;
use jiff::Timestamp;

use super::{Portrait, ReplicaPoint, Replicas, TimeSeries, TimeSeriesError};
use crate::specs::cron_hpa::{CronHpaError, check_windows};

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

/// The portrait that these data make, which stand at `path`.
///
/// # Errors
/// The first thing in them that is not accepted.
pub fn portrait(data: &PortraitData, path: &str) -> Result<Portrait, PortraitDataError> {
    let PortraitData {
        kind,
        constant,
        cron,
        time_series,
        expire_time,
    } = data;
    let replicas = match (kind.as_str(), constant, cron, time_series) {
        ("Static", Some(constant), _, _) => Replicas::Static(static_count(*constant, path)?),
        ("Cron", _, Some(cron), _) => Replicas::Cron(windows(cron, &format!("{path}.cron"))?),
        ("TimeSeries", _, _, Some(_)) if expire_time.is_none() => {
            let path = path.to_owned();
            return Err(PortraitDataError::NoEnd { path });
        }
        ("TimeSeries", _, _, Some(time_series)) => Replicas::TimeSeries(series(time_series, path)?),
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

/// The count.
///
/// # Errors
/// One below zero.
pub(crate) fn static_count(data: StaticData, path: &str) -> Result<i32, PortraitDataError> {
    let StaticData { replicas } = data;
    if replicas < 0 {
        let path = path.to_owned();
        return Err(PortraitDataError::Count { path, replicas });
    }
    Ok(replicas)
}

/// The windows, which stand at `path`.
///
/// # Errors
/// The first thing in them that is not accepted.
pub(crate) fn windows(data: &CronData, path: &str) -> Result<CronSpec, CronHpaError> {
    let crons = data.crons.iter().map(|cron| {
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

fn series(data: &TimeSeriesData, path: &str) -> Result<TimeSeries, PortraitDataError> {
    let path = || path.to_owned();
    let TimeSeriesData { time_series } = data;
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
        let at = Timestamp::from_second(timestamp).map_err(|_| PortraitDataError::Timestamp {
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

#[cfg(test)]
mod tests;
