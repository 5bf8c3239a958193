//! Why the crons of a CronHPA are not followed.

use std::fmt;

use crate::specs::cron_hpa::CronHpaError;

/// Why the crons of a CronHPA are not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CronProblem {
    /// The spec is not accepted.
    Invalid(CronHpaError),
    /// The object that it names to be scaled does not exist.
    NotFound(String),
    /// Its HPA scales another workload than the one that it names.
    OtherWorkload {
        /// The workload that it names.
        named: String,
        /// The workload that the HPA scales.
        scaled: String,
    },
    /// The workload has no HPA, and is of a kind with replicas that Evenkeel does not set.
    NoAutoscaler(String),
    /// Its ScaledObject has no HPA at present.
    ScaledObjectAlone(String),
    /// The workload has no replicas that could be set.
    NoScale(String),
    /// Another CronHPA scales the workload, and no HPA brings the two together.
    SeveralCronHpas(String),
    /// Mode direct is to scale the workload, and is refused.
    DirectRefused(String),
    /// A custom resource that neither an HPA nor mode direct scales.
    NotDirect(String),
    /// Several HPAs scale the workload.
    SeveralAutoscalers(String),
    /// An IHPA scales the workload, which has portraits by the calendar of its own.
    ByPortraits(String),
    /// The user wants no scaling of it.
    Declined(String),
    /// Its bounds are left to another writer.
    Contested,
    /// Its bounds cannot be read.
    NoBounds(String),
}

impl CronProblem {
    /// The reason of the condition `Ready`, and of the Event.
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "Invalid",
            Self::NotFound(_) => "TargetNotFound",
            Self::OtherWorkload { .. } => "OtherWorkload",
            Self::NoAutoscaler(_) => "NoAutoscaler",
            Self::ScaledObjectAlone(_) => "ScaledObjectAlone",
            Self::NoScale(_) => "NoScale",
            Self::SeveralAutoscalers(_) | Self::SeveralCronHpas(_) | Self::ByPortraits(_) => {
                "TargetConflict"
            }
            Self::DirectRefused(_) => "DirectRefused",
            Self::NotDirect(_) => "NotDirect",
            Self::Declined(_) => "ScalingOff",
            Self::Contested => "FloorContested",
            Self::NoBounds(_) => "BoundsUnknown",
        }
    }
}

impl fmt::Display for CronProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(error) => error.fmt(f),
            Self::NotFound(what) => write!(f, "{what} does not exist"),
            Self::OtherWorkload { named, scaled } => write!(
                f,
                "scaleWorkloadRef names {named}, but the HorizontalPodAutoscaler scales {scaled}: \
                 name the same workload, or leave scaleWorkloadRef out"
            ),
            Self::NoAutoscaler(what) => write!(
                f,
                "no HorizontalPodAutoscaler scales {what}, and it is no Deployment, StatefulSet, \
                 ReplicaSet or resource of scaling.kinds, which need none: create one with \
                 minReplicas and maxReplicas"
            ),
            Self::ScaledObjectAlone(what) => write!(
                f,
                "a ScaledObject scales {what}, but its HorizontalPodAutoscaler does not exist"
            ),
            Self::NoScale(what) => {
                write!(f, "{what} has no replica count that can be set")
            }
            Self::SeveralCronHpas(what) => write!(
                f,
                "more than one CronHPA scales {what}, which has no HorizontalPodAutoscaler: put \
                 all crons into one CronHPA, or create a HorizontalPodAutoscaler"
            ),
            Self::DirectRefused(what) => write!(
                f,
                "mode direct is refused for {what}: its annotation evenkeel.dev/scaling-status \
                 says why"
            ),
            Self::NotDirect(what) => write!(
                f,
                "{what} is a custom resource, and a CronHPA alone does not set its replicas: \
                 create a HorizontalPodAutoscaler, or set evenkeel.dev/scaling: direct"
            ),
            Self::SeveralAutoscalers(what) => {
                write!(f, "more than one HorizontalPodAutoscaler scales {what}")
            }
            Self::ByPortraits(what) => write!(
                f,
                "an IntelligentHorizontalPodAutoscaler scales {what}: put the crons into its \
                 portrait of type Cron"
            ),
            Self::Declined(what) => write!(
                f,
                "scaling is off for {what}: by an annotation on it or on its namespace, or by the \
                 configuration"
            ),
            Self::Contested => f.write_str(
                "another writer reverted the bounds twice within 5 minutes: Evenkeel does not write them for now",
            ),
            Self::NoBounds(what) => write!(f, "the bounds of {what} are not known yet"),
        }
    }
}
