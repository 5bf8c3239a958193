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
    pub step: i64,
    pub points: Vec<ToldPoint>,
}

/// The time in seconds since 1970, and then load, forecast, its interval, replicas and floor.
type Row = (
    i64,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<i32>,
    Option<i32>,
);

#[derive(Debug, Deserialize)]
#[serde(try_from = "Row")]
pub(super) struct ToldPoint {
    pub at: Timestamp,
    pub load: Option<f64>,
    pub forecast: Option<f64>,
    pub lower80: Option<f64>,
    pub upper80: Option<f64>,
    pub current: Option<i32>,
    pub floor: Option<i32>,
}

impl TryFrom<Row> for ToldPoint {
    type Error = jiff::Error;

    fn try_from(row: Row) -> Result<Self, Self::Error> {
        let (at, load, forecast, lower80, upper80, current, floor) = row;
        Ok(Self {
            at: Timestamp::from_second(at)?,
            load,
            forecast,
            lower80,
            upper80,
            current,
            floor,
        })
    }
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
