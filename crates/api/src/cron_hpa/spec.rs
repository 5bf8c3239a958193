//! The spec of a CronHPA, as a user writes it.

use evenkeel_objects::schema::{rules, schedule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of an HPA in a reference.
pub const HPA: &str = "HorizontalPodAutoscaler";

/// The most rules of one object.
pub const MOST_CRONS: usize = 32;

/// The most excluded days of a spec, and of one of its rules.
pub const MOST_DAYS: usize = 64;

/// The most excluded days of a spec and of all of its rules together. It takes tens of microseconds to read
/// each, and a tenant may write as many objects as the namespace holds.
pub const MOST_DAYS_OF_ALL: usize = 128;

const SPEC_RULES: [(&str, &str); 4] = [
    (
        "self.crons.all(a, !has(a.name) \
         || self.crons.filter(b, has(b.name) && b.name == a.name).size() == 1)",
        "each cron needs a unique name",
    ),
    (
        "!has(self.scaleWorkloadRef) || self.scaleTargetRef.kind == 'HorizontalPodAutoscaler'",
        "scaleWorkloadRef names the workload of a HorizontalPodAutoscaler; if scaleTargetRef is \
         the workload itself, leave it out",
    ),
    (
        "!has(self.scaleWorkloadRef) \
         || self.scaleWorkloadRef.kind != 'HorizontalPodAutoscaler'",
        "scaleWorkloadRef is a workload such as a Deployment",
    ),
    (
        "(has(self.excludeDates) ? self.excludeDates.size() : 0) + self.crons.map(one, \
         has(one.excludeDates) ? one.excludeDates.size() : 0).sum() <= 128",
        "excludeDates of the spec and of all crons have at most 128 entries in total",
    ),
];

// The last rule and a description say the number.
const _: () = assert!(MOST_DAYS_OF_ALL == 128);

const CRON_RULES: [(&str, &str); 6] = [
    (
        "!has(self.start) || !has(self.end) || self.start != self.end",
        "start and end must differ: otherwise the window opens again whenever it closes",
    ),
    (
        "has(self.schedule) != has(self.start)",
        "a cron has either a schedule with a target, or a window with start, end and replicas",
    ),
    (
        "has(self.schedule) == has(self.target)",
        "schedule and target go together: the schedule says when, the target how many replicas",
    ),
    (
        "has(self.start) == has(self.end) && has(self.start) == has(self.replicas)",
        "start, end and replicas go together: a window says when it opens and closes, and the \
         minimum of replicas meanwhile",
    ),
    (
        "!has(self.timeZone) || !has(self.schedule) || !self.schedule.contains('TZ=')",
        "the time zone is in timeZone or before the schedule, not in both",
    ),
    (
        "!has(self.timeZone) || !has(self.start) || !has(self.end) \
         || !(self.start.contains('TZ=') || self.end.contains('TZ='))",
        "the time zone is in timeZone or before start and end, not in both",
    ),
];

const REFERENCE_RULES: [(&str, &str); 2] = [
    (
        "self.kind != 'DaemonSet'",
        "a DaemonSet has one Pod on each node and cannot be scaled",
    ),
    (
        "self.kind != 'HorizontalPodAutoscaler' || !has(self.apiVersion) \
         || self.apiVersion.startsWith('autoscaling/')",
        "a HorizontalPodAutoscaler has the apiVersion autoscaling/v2",
    ),
];

/// The scaled object, and its replicas by the calendar.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules(&SPEC_RULES)))]
pub struct CronHpaSpec {
    /// The scaled object: a HorizontalPodAutoscaler or a workload. A workload with a
    /// HorizontalPodAutoscaler is scaled through it. For a workload without one, a single CronHPA
    /// sets the replicas.
    pub scale_target_ref: ScaledRef,
    /// The workload of the HorizontalPodAutoscaler in scaleTargetRef, as a check that it is the
    /// intended one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_workload_ref: Option<ScaledRef>,
    /// The time zone of all crons that name none, as an IANA name such as Europe/Berlin. Default:
    /// UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub time_zone: Option<String>,
    /// The rules. If several ask for replicas at one time, the largest count applies.
    #[schemars(length(min = 1, max = MOST_CRONS))]
    pub crons: Vec<CronRule>,
    /// Calendar days, each in the time zone of its cron, on which no cron runs and no window opens:
    /// dates (2026-12-25), ranges (2026-12-24/2026-12-31), or cron expressions whose fields below
    /// the day are all * ("* * 25 12 *"). Open windows close on these days as usual. The spec and
    /// all crons have at most 128 entries in total.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_DAYS), inner(length(max = 128)))]
    pub exclude_dates: Vec<String>,
    /// True suspends all crons, and their changes are put back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// How late a missed run may still take place, once, for example after Evenkeel was down.
    /// Windows do not need it: Evenkeel finds them open.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 30, max = 86_400), extend("x-default" = 300))]
    pub starting_deadline_seconds: Option<i64>,
}

/// One rule: a schedule with a target, or a window with start, end and replicas.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules(&CRON_RULES)))]
pub struct CronRule {
    /// The name in Events and in the status. Default: the schedule. A cron with another name is
    /// another cron.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub name: Option<String>,
    /// The times of the runs: five fields (minute, hour, day of month, month, day of week), or six
    /// with seconds before them. CRON_TZ=Area/City or TZ=Area/City may precede them. A run in an
    /// hour that clocks skip takes place at the end of that hour; a run in an hour that clocks
    /// repeat takes place once. Numbers, names, lists, ranges and steps are those of robfig/cron:
    /// 5/15 is 5, 20, 35 and 50. L, W and # mean the last day, the nearest weekday and the nth
    /// weekday. If day of month and day of week are both restricted, either is enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schedule")]
    pub schedule: Option<String>,
    /// The replicas at a run. If it is above the current replicas, minReplicas of the HPA is raised
    /// to it, and maxReplicas too if it is smaller. If it is below minReplicas, minReplicas is
    /// lowered to it and the current replicas stay. Otherwise nothing changes, unless only the
    /// minimum of another writer keeps the current replicas up: then minReplicas is set to it, too.
    /// It applies until the next run of any cron.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub target: Option<i32>,
    /// The times at which a window opens, as a schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schedule")]
    pub start: Option<String>,
    /// The times at which a window closes, as a schedule. It closes when clocks first show, or
    /// skip, the next of these times after it has opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schedule")]
    pub end: Option<String>,
    /// The replicas while a window is open: they replace minReplicas of the HPA, and maxReplicas if
    /// it is smaller.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// The time zone of the cron as an IANA name, such as Europe/Berlin. Default: that of the spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub time_zone: Option<String>,
    /// Calendar days on which this cron does not run or open, in addition to those of the spec.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_DAYS), inner(length(max = 128)))]
    pub exclude_dates: Vec<String>,
    /// True applies the cron once, at its first time after its creation: a planned event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_once: Option<bool>,
    /// True suspends this cron.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
}

/// An HPA or a workload in the namespace of the CronHPA.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules(&REFERENCE_RULES)))]
pub struct ScaledRef {
    /// Group and version. Default: autoscaling/v2 for a HorizontalPodAutoscaler, and apps/v1 for
    /// anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub api_version: Option<String>,
    /// The kind, for example HorizontalPodAutoscaler or Deployment.
    #[schemars(length(max = 64))]
    pub kind: String,
    /// The name of the object, in the namespace of the CronHPA.
    #[schemars(length(max = 253))]
    pub name: String,
}

impl ScaledRef {
    /// True for an HPA.
    pub fn is_hpa(&self) -> bool {
        self.kind == HPA
    }

    /// Group and version, those of Kubernetes' own kinds where they are not said.
    pub fn api_version(&self) -> &str {
        let own = || {
            if self.is_hpa() {
                "autoscaling/v2"
            } else {
                "apps/v1"
            }
        };
        self.api_version.as_deref().unwrap_or_else(own)
    }
}

impl std::fmt::Display for ScaledRef {
    /// `Deployment web`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}
