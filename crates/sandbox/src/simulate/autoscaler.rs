//! A plain HorizontalPodAutoscaler on mean cpu, as kube-controller-manager computes it without any
//! `behavior`.
//!
//! Pods without a measurement count with their whole request on the way down and with nothing on
//! the way up, Pods that are not ready with nothing on the way up, and neither may turn the
//! direction. Scaling up is bounded by doubling or four more Pods each 15 seconds, scaling down by
//! the highest recommendation of the last five minutes.

use std::collections::VecDeque;

use jiff::SignedDuration;

use crate::scenario::Scale;
use evenkeel_core::units::Amount;

/// Ratios this near to 1 change nothing.
const TOLERANCE: f64 = 0.1;
/// How long a recommendation holds up scaling down.
const STABILISATION: SignedDuration = SignedDuration::from_mins(5);
/// The span that scaling up is bounded over.
const UP_PERIOD: SignedDuration = SignedDuration::from_secs(15);
/// Pods that may always be added within that span.
const UP_PODS: u32 = 4;

/// How often an HPA is looked at.
pub const SYNC: SignedDuration = SignedDuration::from_secs(15);

/// One Pod of the target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PodReading {
    /// Whether it is ready.
    pub ready: bool,
    /// Its cpu usage in millicores, where it is measured.
    pub cpu: Option<f64>,
}

/// What an HPA wants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recommendation {
    pub replicas: u32,
    /// What kept them from being what the metric asks for, in the words of the condition's reason.
    pub limited_by: Option<&'static str>,
    /// Mean usage of the measured Pods as a share of the request; `None` while none is measured.
    pub utilisation: Option<f64>,
}

/// One HPA with what it remembers.
#[derive(Debug, Clone)]
pub struct Autoscaler {
    scale: Scale,
    request: Amount,
    recommended: VecDeque<(SignedDuration, u32)>,
    grown: VecDeque<(SignedDuration, u32)>,
}

impl Autoscaler {
    /// An HPA for Pods that each request `request` of cpu.
    #[must_use]
    pub const fn new(scale: Scale, request: Amount) -> Self {
        Self {
            scale,
            request,
            recommended: VecDeque::new(),
            grown: VecDeque::new(),
        }
    }

    /// Keeps to other bounds from now on; what it remembers stays.
    pub const fn set_scale(&mut self, scale: Scale) {
        self.scale = scale;
    }

    /// What to have at `at`, with `current` replicas of which these Pods are there.
    pub fn recommend(
        &mut self,
        at: SignedDuration,
        current: u32,
        pods: &[PodReading],
    ) -> Recommendation {
        let Scale { min, max, cpu: _ } = self.scale;
        let metric = self.metric(current, pods);
        let wanted = metric.map_or(current, |(replicas, _)| replicas);
        let stabilised = self.stabilised(at, wanted);
        let stabilised = if wanted < current {
            stabilised.min(current)
        } else {
            wanted
        };
        let ceiling = self.ceiling(at, current);
        let bounded = stabilised.min(ceiling).clamp(min, max);
        if bounded > current {
            self.grown.push_back((at, bounded - current));
        }
        let limited_by = if bounded == max && wanted > max {
            Some("TooManyReplicas")
        } else if bounded == min && wanted < min {
            Some("TooFewReplicas")
        } else if stabilised > wanted {
            Some("ScaleDownStabilized")
        } else if bounded < stabilised {
            Some("ScaleUpLimit")
        } else {
            None
        };
        Recommendation {
            replicas: bounded,
            limited_by,
            utilisation: metric.map(|(_, utilisation)| utilisation),
        }
    }

    /// What the metric alone asks for, with the utilisation.
    fn metric(&self, current: u32, pods: &[PodReading]) -> Option<(u32, f64)> {
        let request = self.request.as_f64();
        let usages = |ready: bool| {
            pods.iter()
                .filter(move |pod| pod.ready == ready)
                .filter_map(|pod| pod.cpu)
        };
        let measured = usages(true).count();
        if measured == 0 || request <= 0.0 {
            return None;
        }
        let sum: f64 = usages(true).sum();
        let mean = |sum: f64, count: usize| sum / (request * count_as_float(count));
        let utilisation = mean(sum, measured);
        let ratio = utilisation / self.scale.cpu.get();
        let missing = pods
            .iter()
            .filter(|pod| pod.ready && pod.cpu.is_none())
            .count();
        let unready = pods.iter().filter(|pod| !pod.ready).count();
        let counted = if ratio > 1.0 {
            measured + missing + unready
        } else {
            measured + missing
        };
        let assumed = if ratio < 1.0 {
            count_as_float(missing) * request
        } else {
            0.0
        };
        let adjusted = mean(sum + assumed, counted) / self.scale.cpu.get();
        let within = |ratio: f64| (ratio - 1.0).abs() <= TOLERANCE;
        let turned = (ratio > 1.0) != (adjusted > 1.0);
        let replicas = if within(ratio) || within(adjusted) || turned {
            current
        } else {
            let wanted = Amount::from_f64((adjusted * count_as_float(counted)).ceil()).get();
            let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
            // What is assumed of Pods must not move the count against the metric.
            if ratio > 1.0 {
                wanted.max(current)
            } else {
                wanted.min(current)
            }
        };
        Some((replicas, utilisation))
    }

    /// The highest recommendation of the last five minutes, this one included.
    fn stabilised(&mut self, at: SignedDuration, wanted: u32) -> u32 {
        self.recommended.push_back((at, wanted));
        forget(&mut self.recommended, at, STABILISATION);
        let highest = self.recommended.iter().map(|(_, replicas)| *replicas).max();
        highest.unwrap_or(wanted)
    }

    /// The most that scaling up may reach now.
    fn ceiling(&mut self, at: SignedDuration, current: u32) -> u32 {
        forget(&mut self.grown, at, UP_PERIOD);
        let grown: u32 = self.grown.iter().map(|(_, added)| *added).sum();
        let before = current.saturating_sub(grown);
        (before * 2).max(before + UP_PODS).max(current)
    }
}

/// Drops what is as old as `span` or older.
fn forget(history: &mut VecDeque<(SignedDuration, u32)>, at: SignedDuration, span: SignedDuration) {
    while history
        .front()
        .is_some_and(|(then, _)| at.saturating_sub(*then) >= span)
    {
        history.pop_front();
    }
}

fn count_as_float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use evenkeel_core::units::Ratio;

    fn autoscaler() -> Autoscaler {
        let scale = Scale {
            min: 2,
            max: 20,
            cpu: Ratio::new(0.5).unwrap(),
        };
        Autoscaler::new(scale, Amount::new(1000))
    }

    fn pods(usages: &[Option<f64>], unready: usize) -> Vec<PodReading> {
        let ready = usages.iter().map(|&cpu| PodReading { ready: true, cpu });
        let starting = PodReading {
            ready: false,
            cpu: Some(900.0),
        };
        ready
            .chain(std::iter::repeat_n(starting, unready))
            .collect()
    }

    #[test]
    fn the_first_recommendation_is_that_of_the_formula() {
        let some = |usage, count| vec![Some(usage); count];
        for (usages, unready, expected) in [
            (some(500.0, 4), 0, 4),
            (some(549.0, 4), 0, 4),
            (some(551.0, 4), 0, 5),
            (some(1000.0, 4), 0, 8),
            // Starting Pods count as idle on the way up: 4 of 1000m over 6 is a ratio of 1.33.
            (some(1000.0, 4), 2, 8),
            // A missing measurement is nothing on the way up, the whole request on the way down.
            ([some(800.0, 3), vec![None]].concat(), 0, 5),
            ([some(300.0, 3), vec![None]].concat(), 0, 4),
            (some(250.0, 4), 0, 2),
            (vec![None; 4], 0, 4),
            (some(5000.0, 4), 0, 8),
            (some(0.0, 4), 0, 2),
        ] {
            let count = u32::try_from(usages.len() + unready).unwrap();
            let readings = pods(&usages, unready);
            let got = autoscaler().recommend(SignedDuration::ZERO, count, &readings);
            assert_eq!(got.replicas, expected, "{usages:?} {unready}");
        }
    }

    #[test]
    fn scaling_down_waits_five_minutes_for_the_highest_recommendation() {
        let mut autoscaler = autoscaler();
        let (busy, idle) = (pods(&[Some(500.0); 8], 0), pods(&[Some(100.0); 8], 0));
        let mut at = SignedDuration::ZERO;
        assert_eq!(autoscaler.recommend(at, 8, &busy).replicas, 8);
        for _ in 0..19 {
            at += SYNC;
            let held = autoscaler.recommend(at, 8, &idle);
            assert_eq!(
                (held.replicas, held.limited_by),
                (8, Some("ScaleDownStabilized"))
            );
        }
        at += SYNC;
        assert_eq!(autoscaler.recommend(at, 8, &idle).replicas, 2);
    }

    #[test]
    fn scaling_up_is_bounded_within_each_period() {
        let mut autoscaler = autoscaler();
        let busy = pods(&[Some(5000.0); 3], 0);
        let first = autoscaler.recommend(SignedDuration::ZERO, 3, &busy);
        assert_eq!(
            (first.replicas, first.limited_by),
            (7, Some("ScaleUpLimit"))
        );
        let soon = autoscaler.recommend(SignedDuration::from_secs(5), 7, &busy);
        assert_eq!(soon.replicas, 7);
        let later = autoscaler.recommend(
            SignedDuration::from_secs(15),
            7,
            &pods(&[Some(5000.0); 7], 0),
        );
        assert_eq!(later.replicas, 14);
    }

    proptest! {
        #[test]
        fn the_bounds_hold_whatever_is_measured(
            current in 0_u32..60,
            usages in proptest::collection::vec(proptest::option::of(0.0_f64..1e5), 0..40),
            unready in 0_usize..10,
        ) {
            let got = autoscaler().recommend(SignedDuration::ZERO, current, &pods(&usages, unready));
            prop_assert!((2..=20).contains(&got.replicas));
        }
    }
}
