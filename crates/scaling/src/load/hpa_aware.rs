//! HPA-aware replicas: the count for a load, inside the bounds of the HPA (`CLBP` (3.16) to (3.18)).
//!
//! The paper divides by the request alone; with the HPA's target utilisation in the divisor the
//! result is the HPA's own, and a target of 1 gives the paper's formula.

use evenkeel_hpa::{Settings, Tolerances};
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_units::{Ratio, replicas_ceil};

/// t of `CLBP` (3.17), the HPA's default tolerance.
const TOLERANCE: f64 = Settings::DEFAULT.tolerance;

/// The load that one Pod is to carry: its request, and the share of it that is to be used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PodCapacity {
    request: f64,
    target: f64,
}

/// A request or target that cannot be divided by.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("a request of {request} at a target of {target} is not accepted: both must be above 0")]
pub struct PodCapacityError {
    /// The request that was refused.
    pub request: f64,
    /// The target that was refused.
    pub target: f64,
}

impl PodCapacity {
    /// A request of one Pod in the base unit of its signal, and the target utilisation of it.
    ///
    /// # Errors
    /// Either not above 0, and a request that is not finite, are refused.
    pub fn new(request: f64, target: Ratio) -> Result<Self, PodCapacityError> {
        let target = target.get();
        let product = request * target;
        if request > 0.0 && target > 0.0 && product > 0.0 && product.is_finite() {
            Ok(Self { request, target })
        } else {
            Err(PodCapacityError { request, target })
        }
    }

    /// The request of one Pod, in the base unit of its signal.
    pub const fn request(self) -> f64 {
        self.request
    }

    /// The target utilisation of the request.
    pub const fn target(self) -> f64 {
        self.target
    }

    /// DR of one signal (`CLBP` (3.16)): `ceil(CR used / (requested target))`, where `used` is the
    /// usage of one Pod.
    pub fn desired(self, current: i32, used: f64) -> i32 {
        replicas_ceil(f64::from(current) * used / (self.request * self.target))
    }

    /// DR for the `sum` of the usage of all Pods, whatever their current number.
    pub fn desired_for_sum(self, sum: f64) -> i32 {
        self.desired(1, sum)
    }

    /// The HPA's own count for the `sum` of the usage of `current` Pods: `CLBP` (3.16) outside of
    /// the tolerance, and `current` inside.
    pub fn reactive(self, current: i32, sum: f64, tolerances: Tolerances) -> i32 {
        let ratio = sum / (f64::from(current) * self.request * self.target);
        if tolerances.contain(ratio) {
            current
        } else {
            self.desired_for_sum(sum)
        }
    }
}

/// maxR and minR of `CLBP` (3.17).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// `(1 + t) max`.
    pub max: f64,
    /// `(1 - t) min`.
    pub min: f64,
}

impl Thresholds {
    /// The thresholds around `bounds` with the tolerance t (`CLBP` (3.17)).
    pub fn new(bounds: ReplicaBounds, tolerance: f64) -> Self {
        Self {
            max: (1.0 + tolerance) * f64::from(bounds.max()),
            min: (1.0 - tolerance) * f64::from(bounds.min()),
        }
    }

    /// `CLBP` (3.18) as printed, which may be outside the bounds and need not be whole.
    pub fn limit(self, current: i32, desired: i32) -> f64 {
        let wanted = f64::from(desired);
        if desired >= current {
            wanted.min(self.max)
        } else {
            wanted.max(self.min)
        }
    }
}

/// The replicas that a workload may be given: `CLBP` (3.18), inside the bounds.
pub fn replicas(current: i32, desired: i32, bounds: ReplicaBounds) -> i32 {
    let limited = Thresholds::new(bounds, TOLERANCE).limit(current, desired);
    bounds.clamp(replicas_ceil(limited))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_is_divided_by_zero() {
        for (request, target) in [
            (0.0, 0.8),
            (500.0, 0.0),
            (f64::NAN, 0.8),
            (f64::INFINITY, 0.8),
        ] {
            assert!(PodCapacity::new(request, Ratio::new(target).unwrap()).is_err());
        }
    }

    #[test]
    fn the_tolerance_includes_its_ends() {
        let capacity = PodCapacity::new(100.0, Ratio::new(1.0).unwrap()).unwrap();
        let tolerances = Tolerances::default();
        for (sum, replicas) in [
            (1100.0, 10),
            (1101.0, 12),
            (900.0, 10),
            (899.0, 9),
            (0.0, 0),
        ] {
            assert_eq!(capacity.reactive(10, sum, tolerances), replicas, "{sum}");
        }
    }

    proptest! {
        #[test]
        fn what_is_given_is_the_desired_count_inside_the_bounds(
            current in 0..200_i32, desired in 0..400_i32, min in 0..50_i32, more in 1..100_i32
        ) {
            let bounds = ReplicaBounds::new(min, min + more).unwrap();
            prop_assert_eq!(replicas(current, desired, bounds), bounds.clamp(desired));
        }
    }
}
