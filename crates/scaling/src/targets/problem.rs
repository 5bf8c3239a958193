//! The problems of a target: each is a condition and, when it begins, an Event.

use std::fmt;

use evenkeel_metrics::signal::Signal;
use evenkeel_objects::annotations::SCALING;
use evenkeel_objects::bounds::BoundsError;
use evenkeel_objects::limits::FOLLOWED;
use evenkeel_objects::scaling_mode::ScalingMode;
use evenkeel_units::panic_error::PanicError;
use jiff::Timestamp;

use super::reference::TargetRef;
use super::target_objects::TargetObjects;
use crate::external_metrics::EXPECTED_LOAD;
use crate::specs::scaling_policy::crossed_bounds;

/// The problem of a target with an invalid group and version.
const INVALID_TARGET: &str =
    "has an invalid apiVersion; accepted: a group and a version, such as apps/v1";
/// The consequence for a custom resource without the field of its count.
const NO_COUNT: &str = "and its subresource scale cannot be used without it: set it";
/// The problem of a custom resource with too few known Pods.
const PODS_UNKNOWN: &str = "has too few known Pods: none, or fewer than three of four for a minute. \
                            Only Pods count whose controller it is, or a ReplicaSet of its own";

/// Why a target is refused, or not scaled as its user asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetProblem {
    /// Several HPAs or IHPAs scale one workload.
    TargetConflict(Box<TargetRef>),
    /// A workload without HPA has no annotations with its bounds.
    BoundsMissing,
    /// Its bounds cannot be met.
    InvalidBounds(BoundsError),
    /// There is no HPA with a minimum that could be raised.
    NoAutoscaler,
    /// Something else scales the workload that is to be scaled directly.
    DirectConflict(Box<str>),
    /// It would sleep without replicas, and nothing that it scales by could wake it.
    NoWakingSignal,
    /// It has no replicas that could be set.
    NoScale(Box<TargetRef>),
    /// The object to be scaled has no group and version by which it could be found.
    InvalidTarget(Box<TargetRef>),
    /// A custom resource without the field of its count, so that it has no Scale; and that field.
    NoCount(Box<TargetRef>, &'static str),
    /// A custom resource with Pods that name controllers which do not lead to it.
    PodsUnknown(Box<TargetRef>),
    /// Its HPA never scales in, so that a raised floor could never come down again.
    ScaleDownDisabled,
    /// The HPA has no metric with a known value and a known target.
    NoMetric,
    /// Its HPA scales by nothing but the metric that Evenkeel makes of the target's load.
    OwnMetric,
    /// The HPA has more metrics than are followed.
    TooManyMetrics,
    /// Its Pods request nothing of a resource that it scales by a share of.
    NoRequests {
        signal: Box<Signal>,
        /// The container that lacks a request; empty where all of the Pod does.
        container: Box<str>,
    },
    /// A target for each Pod of a resource that reads like a share without its percent sign.
    PercentMissing {
        signal: Box<Signal>,
        /// The target with its unit, for people.
        amount: String,
        /// The same number as a share.
        percent: u8,
    },
    /// A signal that it scales by cannot be had, and why.
    SignalUnknown { signal: Box<Signal>, why: String },
    /// The traffic alone is to be forecast, and none is named.
    TrafficMissing,
    /// An option of the user that has no effect on this target, and where it acts.
    OptionIgnored {
        option: &'static str,
        why: &'static str,
    },
    /// The workload is not there.
    NoWorkload(Box<TargetRef>),
    /// Its user has paused the ScaledObject or the IHPA.
    Paused,
    /// The spec of the IHPA, or an annotation of it, is not accepted.
    InvalidSpec(Box<str>),
    /// The IHPA is to act, and this word of its namespace, its annotations or the configuration keeps it from that.
    ScaleModeLimited(HeldBack),
    /// Pods of the IHPA are to wait in this state before they are deleted, and nothing puts them into it.
    GrayStateUnsupported { state: &'static str, why: NoProfile },
    /// A ReplicaProfile of another author is about the workload, or has the name of the IHPA's own.
    ProfileConflict(Box<str>),
    /// CronHPAs ask for replicas of what an IHPA scales.
    CronConflict(Box<str>),
    /// The work on it panicked; it rests until then, or until its objects change.
    Quarantined {
        panicked: PanicError,
        until: Timestamp,
    },
}

impl TargetProblem {
    /// The problem of a workload without both bounds: one is missing, or the least is above the most.
    pub(crate) fn without_bounds(observed: &TargetObjects) -> Self {
        let workload = observed.workload.as_ref();
        let crossed = workload.and_then(|one| crossed_bounds(&one.metadata.annotations));
        crossed.map_or(Self::BoundsMissing, Self::InvalidBounds)
    }

    /// The type of the condition for signals that cannot be had.
    pub(crate) const SIGNAL_UNKNOWN: &'static str = "SignalUnknown";

    /// That of a workload which several HPAs scale.
    pub(crate) const TARGET_CONFLICT: &'static str = "TargetConflict";

    /// That of a workload which something else scales, although it is to be scaled directly.
    pub(crate) const DIRECT_CONFLICT: &'static str = "DirectConflict";

    /// That of CronHPAs for what an IHPA scales.
    pub(crate) const CRON_CONFLICT: &'static str = "CronConflict";

    /// That of a pause, which the user has made and knows of.
    pub(crate) const PAUSED: &'static str = "Paused";

    /// The types of the conditions of all problems.
    pub(crate) const KINDS: [&'static str; 27] = [
        Self::TARGET_CONFLICT,
        "BoundsMissing",
        "InvalidBounds",
        "NoAutoscaler",
        "ScaleDownDisabled",
        "NoMetric",
        "NoRequests",
        "NoWorkload",
        Self::PAUSED,
        "Quarantined",
        Self::SIGNAL_UNKNOWN,
        Self::DIRECT_CONFLICT,
        "NoWakingSignal",
        "NoScale",
        "TooManyMetrics",
        "OwnMetric",
        "InvalidTarget",
        "NoCount",
        "PodsUnknown",
        "TrafficMissing",
        "InvalidSpec",
        "ScaleModeLimited",
        Self::CRON_CONFLICT,
        "GrayStateUnsupported",
        "ProfileConflict",
        "OptionIgnored",
        "PercentMissing",
    ];

    /// The type of the condition, and the reason of the Event.
    pub const fn kind(&self) -> &'static str {
        Self::KINDS[match self {
            Self::TargetConflict(_) => 0,
            Self::BoundsMissing => 1,
            Self::InvalidBounds(_) => 2,
            Self::NoAutoscaler => 3,
            Self::ScaleDownDisabled => 4,
            Self::NoMetric => 5,
            Self::NoRequests { .. } => 6,
            Self::NoWorkload(_) => 7,
            Self::Paused => 8,
            Self::Quarantined { .. } => 9,
            Self::SignalUnknown { .. } => 10,
            Self::DirectConflict(_) => 11,
            Self::NoWakingSignal => 12,
            Self::NoScale(_) => 13,
            Self::TooManyMetrics => 14,
            Self::OwnMetric => 15,
            Self::InvalidTarget(_) => 16,
            Self::NoCount(..) => 17,
            Self::PodsUnknown(_) => 18,
            Self::TrafficMissing => 19,
            Self::InvalidSpec(_) => 20,
            Self::ScaleModeLimited(_) => 21,
            Self::CronConflict(_) => 22,
            Self::GrayStateUnsupported { .. } => 23,
            Self::ProfileConflict(_) => 24,
            Self::OptionIgnored { .. } => 25,
            Self::PercentMissing { .. } => 26,
        }]
    }
}

/// Why no ReplicaProfile is made for an IHPA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoProfile {
    /// The configuration takes no Pods out of traffic.
    Off,
    /// A ReplicaProfile cannot be about such a workload.
    Kind,
}

impl fmt::Display for NoProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "scaling.replicaProfiles of the configuration is off",
            Self::Kind => {
                "only a Deployment, a StatefulSet or a ReplicaSet can have a ReplicaProfile"
            }
        })
    }
}

/// The setting that keeps an IHPA from acting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldBack {
    /// An annotation of its own.
    Annotation(ScalingMode),
    /// An annotation of its namespace.
    Namespace(ScalingMode),
    /// The configuration.
    Configuration(ScalingMode),
}

impl fmt::Display for HeldBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Annotation(mode) => write!(f, "its annotation {SCALING} is {}", mode.as_str()),
            Self::Namespace(mode) => {
                write!(
                    f,
                    "the annotation {SCALING} of its namespace is {}",
                    mode.as_str()
                )
            }
            Self::Configuration(mode) => {
                write!(f, "scaling.mode of the configuration is {}", mode.as_str())
            }
        }
    }
}

const BOUNDS_MISSING: &str = "set evenkeel.dev/min-replicas and evenkeel.dev/max-replicas: without \
                              a HorizontalPodAutoscaler, the workload needs both annotations";

const NO_AUTOSCALER: &str =
    "a floor needs a HorizontalPodAutoscaler, and there is none: floors are only recommended";

const SCALE_DOWN_DISABLED: &str = "behavior.scaleDown.selectPolicy is Disabled, so replicas that a \
                                   floor adds would stay for ever: floors are only recommended";

const NO_METRIC: &str =
    "the HorizontalPodAutoscaler scales by no metric of a known type with a target above zero";

const NO_WAKING_SIGNAL: &str = "evenkeel.dev/min-replicas 0 is refused: its load is measured on \
                                its Pods, so nothing could start it again without Pods";

const NO_SCALE: &str = "has no subresource scale, so its replicas cannot be set";

const DIRECT_REFUSED: &str = "mode direct is refused";

const SCALES_IT: &str =
    "also scales this workload: remove one of the two, or use mode floor or recommend";

const PAUSED: &str = "the ScaledObject or the IntelligentHorizontalPodAutoscaler is paused";

const TRAFFIC_MISSING: &str =
    "evenkeel.dev/predict is traffic, but evenkeel.dev/traffic is not set: nothing is forecast";

impl fmt::Display for TargetProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ScaleModeLimited(_)
            | Self::GrayStateUnsupported { .. }
            | Self::ProfileConflict(_)
            | Self::CronConflict(_) => self.of_portraits(f),
            Self::TargetConflict(target) => write!(
                f,
                "more than one HorizontalPodAutoscaler or IntelligentHorizontalPodAutoscaler scales {target}: \
                 keep one of them"
            ),
            Self::BoundsMissing => f.write_str(BOUNDS_MISSING),
            Self::InvalidBounds(error) => error.fmt(f),
            Self::NoAutoscaler => f.write_str(NO_AUTOSCALER),
            Self::ScaleDownDisabled => f.write_str(SCALE_DOWN_DISABLED),
            Self::NoMetric => f.write_str(NO_METRIC),
            Self::OwnMetric => write!(
                f,
                "the HorizontalPodAutoscaler scales by {EXPECTED_LOAD} alone, from which no \
                 forecast can be made: add a metric of the load, or name the load in \
                 evenkeel.dev/query"
            ),
            Self::DirectConflict(other) => write!(f, "{DIRECT_REFUSED}: {other} {SCALES_IT}"),
            Self::NoScale(target) => write!(f, "{target} {NO_SCALE}"),
            Self::InvalidTarget(target) => write!(f, "{target} {INVALID_TARGET}"),
            Self::NoCount(target, path) => write!(f, "{target} has no {path}, {NO_COUNT}"),
            Self::PodsUnknown(target) => write!(f, "{target} {PODS_UNKNOWN}"),
            Self::NoWakingSignal => f.write_str(NO_WAKING_SIGNAL),
            Self::TooManyMetrics => write!(
                f,
                "the HorizontalPodAutoscaler has more than {FOLLOWED} metrics: Evenkeel follows \
                 the first {FOLLOWED}, and only the HorizontalPodAutoscaler uses the others"
            ),
            Self::NoRequests { signal, container } if container.is_empty() => {
                write!(f, "the Pods request no {signal}")
            }
            Self::NoRequests { signal, container } => {
                write!(f, "container {container} of the Pods requests no {signal}")
            }
            Self::PercentMissing {
                signal,
                amount,
                percent,
            } => write!(
                f,
                "{signal}: the target for each Pod is {amount}. If {percent} % of the requests are meant, add the \
                 percent sign, or use averageUtilization in an HPA"
            ),
            Self::SignalUnknown { signal, why } => write!(f, "{}: {why}", signal.label()),
            Self::TrafficMissing => f.write_str(TRAFFIC_MISSING),
            Self::OptionIgnored { option, why } => write!(f, "{option} has no effect: {why}"),
            Self::NoWorkload(target) => write!(f, "{target} does not exist"),
            Self::Paused => f.write_str(PAUSED),
            Self::InvalidSpec(error) => f.write_str(error),
            Self::Quarantined { panicked, until } => write!(
                f,
                "a defect of Evenkeel: the work on this target {panicked}; it is paused until \
                 {until:.0}, or until its objects change"
            ),
        }
    }
}

impl TargetProblem {
    /// The message of a problem that only an IHPA has.
    fn of_portraits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ScaleModeLimited(held_back) => write!(
                f,
                "{held_back}: the status shows the result, and nothing is changed"
            ),
            Self::GrayStateUnsupported { state, why } => write!(
                f,
                "grayState {state} has no effect, because {why}: Pods are deleted step by step, as \
                 with Deleted"
            ),
            Self::ProfileConflict(name) => write!(
                f,
                "ReplicaProfile {name} conflicts with the one that this autoscaler needs: delete \
                 it, or give it another name and another workload; until then nothing is changed"
            ),
            Self::CronConflict(crons) => write!(
                f,
                "CronHPA {crons} scales the same workload and has no effect: put its crons into a \
                 portrait of type Cron"
            ),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_problem_has_a_condition_of_its_own_name() {
        let web = || Box::new(TargetRef::new("apps/v1", "Deployment", "shop", "web"));
        let all = [
            TargetProblem::TargetConflict(web()),
            TargetProblem::BoundsMissing,
            TargetProblem::InvalidBounds(BoundsError { min: 2, max: 1 }),
            TargetProblem::NoAutoscaler,
            TargetProblem::DirectConflict("HPA web".into()),
            TargetProblem::NoWakingSignal,
            TargetProblem::NoScale(web()),
            TargetProblem::InvalidTarget(web()),
            TargetProblem::NoCount(web(), ".spec.replicas"),
            TargetProblem::PodsUnknown(web()),
            TargetProblem::ScaleDownDisabled,
            TargetProblem::NoMetric,
            TargetProblem::OwnMetric,
            TargetProblem::TooManyMetrics,
            TargetProblem::NoRequests {
                signal: Box::new(Signal::CPU),
                container: "".into(),
            },
            TargetProblem::PercentMissing {
                signal: Box::new(Signal::CPU),
                amount: String::new(),
                percent: 80,
            },
            TargetProblem::SignalUnknown {
                signal: Box::new(Signal::CPU),
                why: String::new(),
            },
            TargetProblem::TrafficMissing,
            TargetProblem::InvalidSpec("".into()),
            TargetProblem::ScaleModeLimited(HeldBack::Namespace(ScalingMode::Off)),
            TargetProblem::CronConflict("".into()),
            TargetProblem::GrayStateUnsupported {
                state: "Cutoff",
                why: NoProfile::Off,
            },
            TargetProblem::ProfileConflict("".into()),
            TargetProblem::OptionIgnored {
                option: "evenkeel.dev/risk",
                why: "",
            },
            TargetProblem::NoWorkload(web()),
            TargetProblem::Paused,
            TargetProblem::Quarantined {
                panicked: PanicError {
                    message: String::new(),
                },
                until: Timestamp::UNIX_EPOCH,
            },
        ];
        assert_eq!(all.len(), TargetProblem::KINDS.len());
        for problem in all {
            let named = format!("{problem:?}");
            let name = named.split(|c: char| !c.is_alphanumeric()).next();
            assert_eq!(name, Some(problem.kind()));
        }
    }
}
