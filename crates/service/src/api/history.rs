//! `GET /api/v1/scaling/history?namespace=&name=[&kind=][&resource=]`: the last two hours of one
//! load of a target, and the forecasts for the next ten minutes. Each point is a row `[seconds since
//! 1970, load, forecast, lower80, upper80, replicas, floor, plain HPA]`, with `null` for unknown
//! values: half the size of objects with names.

use jiff::Timestamp;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScalingHistory {
    /// Distance of the points of the last 30 minutes in seconds; older points are a minute apart.
    /// Steps without any value are left out.
    pub step: i64,
    /// Oldest first.
    pub points: Vec<HistoryPoint>,
}

/// One step of the history.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(into = "HistoryPointRow")]
pub struct HistoryPoint {
    /// Start of the step.
    pub at: Timestamp,
    /// Sum over all Pods, in the base unit of the resource.
    pub load: Option<f64>,
    /// Forecast for this step that was made one horizon before.
    pub forecast: Option<ForecastBand>,
    pub replicas: Option<i32>,
    /// The raised minimum.
    pub floor: Option<i32>,
    /// The count of a plain HPA.
    pub plain_hpa: Option<i32>,
}

/// A forecast with its 80 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForecastBand {
    pub mean: f64,
    pub lower80: f64,
    pub upper80: f64,
}

type HistoryPointRow = (
    i64,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<i32>,
    Option<i32>,
    Option<i32>,
);

impl From<HistoryPoint> for HistoryPointRow {
    fn from(point: HistoryPoint) -> Self {
        let HistoryPoint {
            at,
            load,
            forecast,
            replicas,
            floor,
            plain_hpa,
        } = point;
        (
            at.as_second(),
            load,
            forecast.map(|band| band.mean),
            forecast.map(|band| band.lower80),
            forecast.map(|band| band.upper80),
            replicas,
            floor,
            plain_hpa,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_one_row() {
        let point = HistoryPoint {
            at: Timestamp::from_second(60).unwrap(),
            load: Some(5.0),
            forecast: Some(ForecastBand {
                mean: 7.0,
                lower80: 6.0,
                upper80: 8.0,
            }),
            replicas: Some(3),
            floor: None,
            plain_hpa: Some(2),
        };
        let row = "[60,5.0,7.0,6.0,8.0,3,null,2]";
        assert_eq!(serde_json::to_string(&point).unwrap(), row);
    }
}
