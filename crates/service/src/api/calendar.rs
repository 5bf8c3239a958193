//! `GET /api/v1/calendar`: CronHPAs, autoscalers by portraits and tuned workloads, as their objects
//! in memory report them.

use evenkeel_api::cron_hpa::status::CronHpaStatus;
use evenkeel_api::ihpa::status::IhpaStatus;
use evenkeel_objects::condition::Condition;
use evenkeel_tuning::plan::TuningStatus;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The objects of all namespaces that have opted in, by namespace and name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Calendar {
    pub cron_hpas: Vec<CronHpaEntry>,
    pub ihpas: Vec<IhpaEntry>,
    pub portraits: Vec<PortraitEntry>,
    pub tuning: Vec<TuningEntry>,
    pub resizes: Vec<ResizeEntry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CronHpaEntry {
    pub namespace: String,
    pub name: String,
    pub target: String,
    pub suspended: bool,
    /// The reason why the spec is not accepted.
    pub problem: Option<String>,
    pub crons: Vec<CronEntry>,
    pub status: Option<CronHpaStatus>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CronEntry {
    pub name: String,
    /// The schedule with its time zone.
    pub when: String,
    pub replicas: i32,
    pub suspended: bool,
}

/// An IntelligentHorizontalPodAutoscaler.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IhpaEntry {
    pub namespace: String,
    pub name: String,
    pub target: String,
    /// The reason why the spec is not accepted.
    pub problem: Option<String>,
    pub status: Option<IhpaStatus>,
}

/// A HorizontalPortrait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortraitEntry {
    pub namespace: String,
    pub name: String,
    pub target: String,
    /// The reason why its data are not accepted.
    pub problem: Option<String>,
    pub expires: Option<Timestamp>,
    /// The condition that says whether there is a portrait, and why not.
    pub generated: Option<Condition>,
    /// When the next hours were computed.
    pub computed: Option<Timestamp>,
    /// The highest ten minutes of each of the next hours; empty where Evenkeel computes none.
    pub hours: Vec<HourEntry>,
    /// The present step and the next ones, at most [`Self::MOST_STEPS`].
    pub steps: Vec<PortraitStep>,
}

impl PortraitEntry {
    pub const MOST_STEPS: usize = 48;
}

/// The load that is expected in an hour, at its highest, of one metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HourEntry {
    pub metric: String,
    pub from: Timestamp,
    /// A quantity, such as `1500m` for 1.5 cores.
    pub value: String,
    /// The ends of the interval that holds the value in 80 % of cases.
    pub lower: String,
    pub upper: String,
    pub replicas: i32,
    /// The replicas for the upper end.
    pub upper_replicas: i32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortraitStep {
    /// The time from which it holds; `null` for a count without times.
    pub at: Option<Timestamp>,
    pub replicas: i32,
}

/// A workload with a status of tuning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TuningEntry {
    pub namespace: String,
    pub kind: String,
    pub name: String,
    pub status: TuningStatus,
}

/// A Pod with resources that Evenkeel changed in place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResizeEntry {
    pub namespace: String,
    pub pod: String,
    pub node: Option<String>,
    /// The part of Evenkeel that resized it: `tuning` or `standby`.
    pub by: String,
    pub at: Timestamp,
    /// The phase of a resize that is under way; `null` once it is done.
    pub phase: Option<String>,
    pub message: Option<String>,
    /// `resources` by container, before the last resize and after it.
    pub from: Value,
    pub to: Value,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_str, from_value, to_value};

    use super::Calendar;

    /// The page's tests show this file. Without this a renamed field fails only where there is a browser.
    #[test]
    fn the_calendar_of_the_page_s_tests_has_every_field() {
        let text = include_str!("../../../../tests/page/recorded/calendar.json");
        let recorded: Value = from_str(text).unwrap();
        let calendar: Calendar = from_value(recorded.clone()).unwrap();
        assert_eq!(to_value(&calendar).unwrap(), recorded);
    }
}
