//! The settings of the HPA controller: its flags and feature gates.

use jiff::SignedDuration;

/// Flags of kube-controller-manager, and two built-in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// `--horizontal-pod-autoscaler-sync-period`: reconciliation interval of each HPA.
    pub sync_period: SignedDuration,
    /// `--horizontal-pod-autoscaler-tolerance`: deviation of usage from its target, as a share of
    /// it, without effect.
    pub tolerance: f64,
    /// `--horizontal-pod-autoscaler-cpu-initialization-period`: how long after its start the cpu
    /// usage of a Pod counts only if it is ready and measured since it became so.
    pub cpu_initialization_period: SignedDuration,
    /// `--horizontal-pod-autoscaler-initial-readiness-delay`: a Pod that turned unready within this
    /// time after its start has never been ready.
    pub initial_readiness_delay: SignedDuration,
    /// `--horizontal-pod-autoscaler-downscale-stabilization`: how long a recommendation holds up
    /// scaling down, unless the HPA has its own.
    pub downscale_stabilization: SignedDuration,
    /// Without `behavior`, one step up reaches at most this multiple of the current count.
    pub scale_up_limit_factor: f64,
    /// Without `behavior`, one step up may always reach this count.
    pub scale_up_limit_minimum: f64,
}

impl Settings {
    /// Defaults of kube-controller-manager.
    pub const DEFAULT: Self = Self {
        sync_period: SignedDuration::from_secs(15),
        tolerance: 0.1,
        cpu_initialization_period: SignedDuration::from_mins(5),
        initial_readiness_delay: SignedDuration::from_secs(30),
        downscale_stabilization: SignedDuration::from_mins(5),
        scale_up_limit_factor: 2.0,
        scale_up_limit_minimum: 4.0,
    };
}

impl Default for Settings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Feature gates of Kubernetes, as far as they concern HPAs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureGates {
    /// `HPAScaleToZero` (beta since 1.37): `minReplicas: 0` is allowed, and an HPA scales its
    /// target up again after scaling it to zero.
    pub hpa_scale_to_zero: bool,
    /// `HPAConfigurableTolerance` (beta since 1.35): `behavior.*.tolerance` counts.
    pub hpa_configurable_tolerance: bool,
    /// `PodLevelResources` (beta since 1.34): the requests of a Pod as a whole count.
    pub pod_level_resources: bool,
}

impl Default for FeatureGates {
    fn default() -> Self {
        Self {
            hpa_scale_to_zero: true,
            hpa_configurable_tolerance: true,
            pod_level_resources: true,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Controller {
    pub settings: Settings,
    pub feature_gates: FeatureGates,
}
