//! What is read of the service's answers; what else stands in them is passed over.

use jiff::Timestamp;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct Targets {
    pub targets: Vec<Told>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Told {
    pub namespace: String,
    pub object: Object,
    pub min: Option<i32>,
    pub max: Option<i32>,
    pub horizon_seconds: Option<i64>,
    #[serde(default)]
    pub loads: Vec<ToldLoad>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Object {
    pub kind: String,
    pub name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToldLoad {
    pub resource: String,
    /// What one Pod requests, in the resource's base unit.
    pub request: f64,
    /// The share of it that is aimed at.
    pub target: f64,
    pub forecast: Option<ToldForecast>,
    pub trust: Option<ToldTrust>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToldForecast {
    pub model: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToldTrust {
    pub trusted: bool,
    pub reason: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct History {
    #[serde(alias = "stepSeconds")]
    pub step: i64,
    pub points: Vec<ToldPoint>,
}

/// A point is told with names, or as a row of the same values.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Wire {
    Named(Named),
    Row(
        i64,
        Option<f64>,
        Option<f64>,
        Option<f64>,
        Option<f64>,
        Option<i32>,
        Option<i32>,
    ),
}

#[derive(Debug, Deserialize)]
struct Named {
    at: Timestamp,
    load: Option<f64>,
    forecast: Option<f64>,
    lower80: Option<f64>,
    upper80: Option<f64>,
    current: Option<i32>,
    floor: Option<i32>,
}

impl TryFrom<Wire> for ToldPoint {
    type Error = jiff::Error;

    fn try_from(wire: Wire) -> Result<Self, Self::Error> {
        Ok(match wire {
            Wire::Named(point) => Self {
                at: point.at,
                load: point.load,
                forecast: point.forecast,
                lower80: point.lower80,
                upper80: point.upper80,
                current: point.current,
                floor: point.floor,
            },
            Wire::Row(at, load, forecast, lower80, upper80, current, floor) => Self {
                at: Timestamp::from_second(at)?,
                load,
                forecast,
                lower80,
                upper80,
                current,
                floor,
            },
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "Wire")]
pub(super) struct ToldPoint {
    pub at: Timestamp,
    pub load: Option<f64>,
    pub forecast: Option<f64>,
    pub lower80: Option<f64>,
    pub upper80: Option<f64>,
    pub current: Option<i32>,
    pub floor: Option<i32>,
}

impl ToldTrust {
    pub(super) fn text(&self) -> String {
        let word = if self.trusted {
            "trusted"
        } else {
            "not trusted"
        };
        match &self.reason {
            Some(reason) if !reason.starts_with(word) => format!("{word} ({reason})"),
            Some(reason) => reason.clone(),
            None => word.to_owned(),
        }
    }
}
