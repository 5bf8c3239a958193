//! Reasons and messages of conditions, in the words of Kubernetes.

/// A reason with a fixed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConditionReason {
    pub reason: &'static str,
    pub message: &'static str,
}

const fn because(reason: &'static str, message: &'static str) -> ConditionReason {
    ConditionReason { reason, message }
}

/// AbleToScale.
pub(crate) const SUCCEEDED_GET_SCALE: ConditionReason = because(
    "SucceededGetScale",
    "the HPA controller was able to get the target's current scale",
);
/// AbleToScale is false: the count is not accepted.
pub(crate) const FAILED_UPDATE_SCALE: ConditionReason = because(
    "FailedUpdateScale",
    "the HPA controller was unable to update the target scale",
);
/// AbleToScale: no window changes what the metrics ask for.
pub(crate) const READY_FOR_NEW_SCALE: ConditionReason =
    because("ReadyForNewScale", "recommended size matches current size");
/// AbleToScale: the scaleUp window asks for fewer replicas.
pub(crate) const SCALE_UP_STABILIZED: ConditionReason = because(
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
);
/// AbleToScale: the scaleDown window asks for more replicas.
pub(crate) const SCALE_DOWN_STABILIZED: ConditionReason = because(
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
);
/// ScalingLimited is false.
pub(crate) const DESIRED_WITHIN_RANGE: ConditionReason = because(
    "DesiredWithinRange",
    "the desired count is within the acceptable range",
);
/// ScalingLimited: `maxReplicas`.
pub(crate) const TOO_MANY_REPLICAS: ConditionReason = because(
    "TooManyReplicas",
    "the desired replica count is more than the maximum replica count",
);
/// ScalingLimited: `minReplicas`.
pub(crate) const TOO_FEW_REPLICAS: ConditionReason = because(
    "TooFewReplicas",
    "the desired replica count is less than the minimum replica count",
);
/// ScalingLimited: a scaleUp policy, or the limit without `behavior`.
pub(crate) const SCALE_UP_LIMIT: ConditionReason = because(
    "ScaleUpLimit",
    "the desired replica count is increasing faster than the maximum scale rate",
);
/// ScalingLimited: a scaleDown policy.
pub(crate) const SCALE_DOWN_LIMIT: ConditionReason = because(
    "ScaleDownLimit",
    "the desired replica count is decreasing faster than the maximum scale rate",
);
/// ScalingActive is false: a target of zero replicas is left alone.
pub(crate) const SCALING_DISABLED: ConditionReason = because(
    "ScalingDisabled",
    "scaling is disabled since the replica count of the target is zero",
);
/// ScalingActive is false: the scale has no selector.
pub(crate) const MISSING_SELECTOR: ConditionReason = because(
    "InvalidSelector",
    "the HPA target's scale is missing a selector",
);
/// ScaledToZero is true.
pub(crate) const SCALED_TO_ZERO: ConditionReason = because(
    "ScaledToZero",
    "the HPA controller scaled the workload to zero",
);
/// ScaledToZero is false.
pub(crate) const NOT_SCALED_TO_ZERO: ConditionReason = because(
    "NotScaledToZero",
    "the HPA controller did not scale the workload to zero",
);
