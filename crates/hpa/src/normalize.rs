//! From the replicas that the metrics ask for to those that the target gets: stabilisation windows,
//! then policies and bounds. Kubernetes has two sets of rules: those of `behavior`, and the older
//! ones without it. They differ at their edges too: a recommendation exactly as old as its window
//! still counts without `behavior`, and no longer counts with it.

use jiff::{SignedDuration, Timestamp};

use super::behavior::{Behavior, ScalingRules};
use super::events::ScaleEvents;
use super::limits::{legacy_scale_up_limit, scale_down_limit, scale_up_limit};
use super::memory::{HpaMemory, TimedRecommendation, remember};
use super::settings::Settings;
use super::spec::HpaSpec;
use super::status::{ConditionReason, reasons};

#[derive(Debug, Clone, Copy)]
pub struct Normalizer<'a> {
    pub min: i32,
    pub max: i32,
    pub behavior: Option<&'a Behavior>,
    pub settings: &'a Settings,
    pub now: Timestamp,
}

/// A count with its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitedReplicas {
    pub replicas: i32,
    pub reason: ConditionReason,
}

/// After windows, policies and bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NormalizedReplicas {
    pub replicas: i32,
    /// After windows alone.
    pub stabilized: i32,
    /// Reason of the condition `AbleToScale`, which holds.
    pub able_to_scale: ConditionReason,
    /// `ScalingLimited` holds.
    pub is_limited: bool,
    pub scaling_limited: ConditionReason,
}

impl<'a> Normalizer<'a> {
    pub fn new(spec: &'a HpaSpec, settings: &'a Settings, now: Timestamp) -> Self {
        Self {
            min: spec.min_replicas,
            max: spec.max_replicas,
            behavior: spec.behavior.as_ref(),
            settings,
            now,
        }
    }

    /// The metrics ask for `desired` replicas, which becomes a recommendation, and there are
    /// `current`.
    pub fn normalize(
        &self,
        current: i32,
        desired: i32,
        memory: &mut HpaMemory,
    ) -> NormalizedReplicas {
        let recommendations = memory.recommendations.get_or_insert_default();
        let stabilized = match self.behavior {
            None => LimitedReplicas {
                replicas: self.stabilize_without_behavior(desired, recommendations),
                reason: reasons::SCALE_DOWN_STABILIZED,
            },
            Some(behavior) => self.stabilize(behavior, current, desired, recommendations),
        };
        let limited = match self.behavior {
            None => self.limit_without_behavior(current, stabilized.replicas),
            Some(behavior) => {
                self.limit(behavior, current, stabilized.replicas, &memory.scale_events)
            }
        };
        NormalizedReplicas {
            replicas: limited.replicas,
            stabilized: stabilized.replicas,
            able_to_scale: if stabilized.replicas == desired {
                reasons::READY_FOR_NEW_SCALE
            } else {
                stabilized.reason
            },
            is_limited: limited.replicas != stabilized.replicas,
            scaling_limited: limited.reason,
        }
    }

    /// The highest recommendation of the downscale window, this one included.
    pub fn stabilize_without_behavior(
        &self,
        desired: i32,
        recommendations: &mut Vec<TimedRecommendation>,
    ) -> i32 {
        let window = self.settings.downscale_stabilization;
        let is_old = |one: &TimedRecommendation| self.now.duration_since(one.at) > window;
        let recent = recommendations.iter().filter(|one| !is_old(one));
        let highest = recent.map(|one| one.replicas).fold(desired, i32::max);
        let old = recommendations.iter().rposition(is_old);
        remember(recommendations, old, desired, self.now);
        highest
    }

    /// `current`, moved up no further than the lowest recommendation of the scaleUp window, and
    /// down no further than the highest of the scaleDown window.
    pub fn stabilize(
        &self,
        behavior: &Behavior,
        current: i32,
        desired: i32,
        recommendations: &mut Vec<TimedRecommendation>,
    ) -> LimitedReplicas {
        let up_window = self.window(&behavior.scale_up);
        let down_window = self.window(&behavior.scale_down);
        let age = |one: &TimedRecommendation| self.now.duration_since(one.at);
        let (mut lowest, mut highest, mut old) = (desired, desired, None);
        for (index, one) in recommendations.iter().enumerate() {
            if age(one) < up_window {
                lowest = lowest.min(one.replicas);
            }
            if age(one) < down_window {
                highest = highest.max(one.replicas);
            }
            if age(one) > up_window && age(one) > down_window {
                old = Some(index);
            }
        }
        remember(recommendations, old, desired, self.now);
        LimitedReplicas {
            replicas: current.max(lowest).min(highest),
            reason: if desired >= current {
                reasons::SCALE_UP_STABILIZED
            } else {
                reasons::SCALE_DOWN_STABILIZED
            },
        }
    }

    /// Window of a direction, with the controller's as default.
    fn window(&self, rules: &ScalingRules) -> SignedDuration {
        let seconds = rules.stabilization_window_seconds.map(i64::from);
        SignedDuration::from_secs(
            seconds.unwrap_or(self.settings.downscale_stabilization.as_secs()),
        )
    }

    /// The bounds, and the older limit on a step up.
    pub fn limit_without_behavior(&self, current: i32, desired: i32) -> LimitedReplicas {
        let limit = legacy_scale_up_limit(current, self.settings);
        let most = self.most(limit);
        if desired < self.min {
            LimitedReplicas {
                replicas: self.min,
                reason: reasons::TOO_FEW_REPLICAS,
            }
        } else if desired > most.replicas {
            most
        } else {
            within_range(desired)
        }
    }

    /// The bounds, and the policies of the direction.
    pub fn limit(
        &self,
        behavior: &Behavior,
        current: i32,
        desired: i32,
        events: &ScaleEvents,
    ) -> LimitedReplicas {
        if desired > current {
            let (limit, _) = scale_up_limit(&behavior.scale_up, current, events, self.now);
            let most = self.most(limit.max(current));
            if desired > most.replicas {
                return most;
            }
        } else if desired < current {
            let limit = scale_down_limit(&behavior.scale_down, current, events, self.now);
            let least = self.least(limit.min(current));
            if desired < least.replicas {
                return least;
            }
        }
        within_range(desired)
    }

    fn most(&self, limit: i32) -> LimitedReplicas {
        if self.max > limit {
            LimitedReplicas {
                replicas: limit,
                reason: reasons::SCALE_UP_LIMIT,
            }
        } else {
            LimitedReplicas {
                replicas: self.max,
                reason: reasons::TOO_MANY_REPLICAS,
            }
        }
    }

    fn least(&self, limit: i32) -> LimitedReplicas {
        if self.min < limit {
            LimitedReplicas {
                replicas: limit,
                reason: reasons::SCALE_DOWN_LIMIT,
            }
        } else {
            LimitedReplicas {
                replicas: self.min,
                reason: reasons::TOO_FEW_REPLICAS,
            }
        }
    }
}

const fn within_range(replicas: i32) -> LimitedReplicas {
    LimitedReplicas {
        replicas,
        reason: reasons::DESIRED_WITHIN_RANGE,
    }
}
