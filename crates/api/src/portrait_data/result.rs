//! The result of an external algorithm's job, in the data of a ConfigMap: `type`, `expireTime` and
//! `timeSeries`, the last a JSON object from seconds since 1970 to replicas.
//!
//! Python writes whole numbers that have gone through its libraries as `1700000000.0`; they are read as the
//! whole numbers that they are. Keys in no order are put in order; what else is odd is refused, since half of a
//! forecast is no forecast.

use evenkeel_objects::truncate::{OF_VALUE, excerpt};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{MOST_POINTS, PortraitData, SeriesPoint, TimeSeriesData};

/// The most bytes of a series: several times what as many points take as a portrait may have.
const LONGEST_SERIES: usize = 100 * MOST_POINTS;

/// Beyond it, not every whole number has a float of its own.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A ConfigMap that holds no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResultError {
    /// A key is missing.
    #[error("data.{0} is missing; accepted: type, expireTime and timeSeries")]
    Missing(&'static str),
    /// The type is another one.
    #[error("data.type: {0:?} is not accepted; accepted: TimeSeries")]
    Type(String),
    /// The time is none.
    #[error(
        "data.expireTime: {0:?} is not accepted; accepted: a time such as 2026-11-23T08:00:00Z"
    )]
    Time(String),
    /// The series is damaged.
    #[error(
        "data.timeSeries: {0}; accepted: a JSON object from seconds since 1970 to replicas, such as {{\"1764144000\": 3}}"
    )]
    Series(String),
}

impl ResultError {
    /// The kind of error, for conditions, Events and metrics.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Missing(_) => "ResultMissing",
            Self::Type(_) => "ResultType",
            Self::Time(_) => "ResultExpireTime",
            Self::Series(_) => "ResultTimeSeries",
        }
    }
}

/// The fields that are read from the data of a ConfigMap.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResultData {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub expire_time: Option<String>,
    pub time_series: Option<String>,
}

/// The portrait data in a result.
///
/// # Errors
/// The first thing in it that is not accepted.
pub fn read_result(data: &ResultData) -> Result<PortraitData, ResultError> {
    let ResultData {
        kind,
        expire_time,
        time_series,
    } = data;
    let missing = ResultError::Missing;
    let kind = kind.as_deref().ok_or(missing("type"))?.trim();
    if kind != "TimeSeries" {
        return Err(ResultError::Type(excerpt(kind, OF_VALUE)));
    }
    let expires = expire_time.as_deref();
    let expires = expires.ok_or(missing("expireTime"))?.trim();
    let expire_time: Timestamp = expires
        .parse()
        .map_err(|_| ResultError::Time(excerpt(expires, OF_VALUE)))?;
    let series = time_series.as_deref().ok_or(missing("timeSeries"))?;
    if series.len() > LONGEST_SERIES {
        let error = format!("is longer than {LONGEST_SERIES} bytes");
        return Err(ResultError::Series(error));
    }
    let series: Map<String, Value> =
        serde_json::from_str(series).map_err(|error| ResultError::Series(error.to_string()))?;
    let points = series
        .iter()
        .map(|(at, replicas)| point(at, replicas))
        .collect::<Result<Vec<_>, _>>();
    let mut time_series = points.map_err(ResultError::Series)?;
    time_series.sort_by_key(|point| point.timestamp);
    Ok(PortraitData {
        kind: kind.to_owned(),
        time_series: Some(TimeSeriesData { time_series }),
        expire_time: Some(expire_time),
        ..PortraitData::default()
    })
}

fn point(at: &str, replicas: &Value) -> Result<SeriesPoint, String> {
    let refused = |what: &str, text: &str| format!("{:?} is not a {what}", excerpt(text, OF_VALUE));
    let timestamp = serde_json::from_str::<Value>(at.trim())
        .ok()
        .and_then(|at| whole(&at))
        .ok_or_else(|| refused("time in seconds", at))?;
    let count = whole(replicas).and_then(|count| i32::try_from(count).ok());
    Ok(SeriesPoint {
        timestamp,
        replicas: count.ok_or_else(|| refused("replica count", &replicas.to_string()))?,
    })
}

/// A whole number, in whichever way it is written.
fn whole(number: &Value) -> Option<i64> {
    if let Some(whole) = number.as_i64() {
        return Some(whole);
    }
    let float = number.as_f64().filter(|float| float.abs() <= EXACT)?;
    let is_whole = float.trunc().total_cmp(&float).is_eq();
    is_whole.then(|| evenkeel_units::i64_nearest(float))
}
