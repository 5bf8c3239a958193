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
    pub max: i32,
    pub horizon_seconds: i64,
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
#[serde(rename_all = "camelCase")]
pub(super) struct History {
    pub unit: String,
    pub step_seconds: i64,
    pub request: f64,
    pub target: f64,
    pub points: Vec<ToldPoint>,
}

#[derive(Debug, Deserialize)]
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
