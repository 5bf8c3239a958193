//! The data of a portrait as objects hold it: one count, windows by the calendar, or a series of counts.
//!
//! It is in the providers of an IntelligentHorizontalPodAutoscaler, in the status of a HorizontalPortrait,
//! and in the ConfigMap that the job of an external algorithm leaves ([`read_result`]).

mod result;

use evenkeel_objects::schema::{rules, schedule};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cron_hpa::spec::{MOST_CRONS, MOST_DAYS};

pub use self::result::{ResultData, ResultError, read_result};

/// The most points of a series: a week of them every five minutes, and some more.
pub const MOST_POINTS: usize = 2880;

const DATA_RULES: [(&str, &str); 5] = [
    (
        "self.type != 'Static' || has(self.static)",
        "type Static needs static",
    ),
    (
        "self.type != 'Cron' || has(self.cron)",
        "type Cron needs cron",
    ),
    (
        "self.type != 'TimeSeries' || has(self.timeSeries)",
        "type TimeSeries needs timeSeries",
    ),
    (
        "self.type != 'TimeSeries' || has(self.expireTime)",
        "a series needs an expireTime, after which its last point is no longer valid",
    ),
    (
        "!has(self.timeSeries) || self.timeSeries.timeSeries.map(point, point.timestamp).isSorted()",
        "the points of a series must be in the order of time",
    ),
];

const WINDOW_RULES: [(&str, &str); 1] = [(
    "self.start != self.end",
    "start and end must differ: otherwise the window opens again whenever it closes",
)];

/// The value of the portrait, written by its generator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules(&DATA_RULES)))]
pub struct PortraitData {
    /// Which of the fields applies.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["Static", "Cron", "TimeSeries"]))]
    pub kind: String,
    #[serde(rename = "static", skip_serializing_if = "Option::is_none")]
    pub constant: Option<StaticData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<CronData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_series: Option<TimeSeriesData>,
    /// When it expires, unless it is renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire_time: Option<Timestamp>,
}

/// One count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StaticData {
    /// The replicas that should be online.
    #[schemars(range(min = 0))]
    pub replicas: i32,
}

/// Windows by the calendar.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CronData {
    /// The windows. If several are open, the largest count applies.
    #[schemars(length(min = 1, max = MOST_CRONS), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub crons: Vec<ReplicaCron>,
}

/// A window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules(&WINDOW_RULES)))]
pub struct ReplicaCron {
    /// The name, unique among the windows.
    #[schemars(length(max = 128))]
    pub name: String,
    /// A description for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub description: Option<String>,
    /// The time zone as an IANA name, such as Europe/Berlin. Default: UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub time_zone: Option<String>,
    /// The times at which it opens, as a schedule.
    #[schemars(schema_with = "schedule")]
    pub start: String,
    /// The times at which it closes, as a schedule.
    #[schemars(schema_with = "schedule")]
    pub end: String,
    /// The replicas that should be online while it is open.
    #[schemars(range(min = 0))]
    pub replicas: i32,
    /// Calendar days on which it does not open: dates, ranges of dates, or cron expressions whose
    /// fields below the day are all *.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_DAYS), inner(length(max = 128)))]
    pub exclude_dates: Vec<String>,
}

/// A series: each point applies until the next, the last until expireTime.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct TimeSeriesData {
    /// The points, in the order of time.
    #[schemars(length(min = 1, max = MOST_POINTS))]
    pub time_series: Vec<SeriesPoint>,
}

/// A replica count and the time from which it applies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SeriesPoint {
    /// The time, in seconds since 1970.
    #[schemars(range(min = 0))]
    pub timestamp: i64,
    /// The replicas that should be online from then on.
    #[schemars(range(min = 0))]
    pub replicas: i32,
}
