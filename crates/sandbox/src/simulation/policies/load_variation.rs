//! Trimaran's LoadVariationRiskBalancing: the risk of a node combines the mean and the variation of
//! its utilisation, for the worse of cpu and memory. It does not know Pods placed after the last
//! fetch of load-watcher. Formula, and the example configuration with the margin of 1 and the
//! sensitivity of 2 used here:
//! <https://github.com/kubernetes-sigs/scheduler-plugins/blob/master/pkg/trimaran/loadvariationriskbalancing/README.md>;
//! rounding: `analysis.go` beside it. It is enabled beside the default plugins with a weight of 1.

use evenkeel_units::{Amount, Resource, Resources, i64_nearest};
use jiff::SignedDuration;

use crate::scenario::NodeShape;
use crate::simulation::monitoring::{NodeMonitor, Statistics};
use crate::simulation::policy::{LoadPolicy, NodeCandidate};
use crate::simulation::policy_pods::PolicyPod;

const RESOURCES: [Resource; 2] = [Resource::Cpu, Resource::Memory];
const MARGIN: f64 = 1.0;
const SENSITIVITY: f64 = 2.0;
const WINDOW: SignedDuration = SignedDuration::from_mins(15);
const FETCH: SignedDuration = SignedDuration::from_mins(1);

pub(super) struct LoadVariation {
    capacity: Vec<Resources<Amount>>,
    /// Empty before the first fetch.
    measured: Vec<Statistics>,
    due: SignedDuration,
}

impl LoadVariation {
    pub(super) fn new(nodes: &[NodeShape]) -> Self {
        Self {
            capacity: nodes.iter().map(|node| node.capacity).collect(),
            measured: Vec::new(),
            due: SignedDuration::ZERO,
        }
    }

    /// 0 to 100; 0 without a measurement.
    fn points(&self, node: usize, demand: &Resources<Amount>) -> i64 {
        let Some(measured) = self.measured.get(node) else {
            return 0;
        };
        let of = |resource: Resource| {
            let capacity = self.capacity[node][resource].as_f64();
            let share = |amount: f64| amount.clamp(0.0, capacity) / capacity;
            let mean = share(measured.mean[resource]) + demand[resource].as_f64() / capacity;
            score(mean, share(measured.deviation[resource]))
        };
        RESOURCES.map(of).into_iter().min().unwrap_or(0)
    }
}

impl LoadPolicy for LoadVariation {
    fn measured(&mut self, monitoring: &NodeMonitor, now: SignedDuration) {
        if self.due <= now {
            self.due = now.saturating_add(FETCH);
            self.measured = monitoring.statistics(WINDOW);
        }
    }

    fn score(
        &mut self,
        pod: &PolicyPod<'_>,
        candidates: &mut [NodeCandidate],
        _now: SignedDuration,
    ) {
        for candidate in candidates {
            candidate.sum += self.points(candidate.node, &pod.workload.demand);
        }
    }
}

/// 0 to 100 for the mean and the deviation of a utilisation.
fn score(mean: f64, deviation: f64) -> i64 {
    let deviation = (MARGIN * deviation.powf(1.0 / SENSITIVITY)).clamp(0.0, 1.0);
    let risk = f64::midpoint(mean.clamp(0.0, 1.0), deviation);
    i64_nearest(((1.0 - risk) * 100.0 + 0.5).floor())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn risk_is_half_the_mean_and_half_the_root_of_the_deviation() {
        for (mean, deviation, expected) in [
            (0.0, 0.0, 100),
            (0.5, 0.0, 75),
            (0.5, 0.04, 65),
            (0.3, 0.25, 60),
            (1.4, 0.0, 50),
            (1.0, 1.0, 0),
        ] {
            assert_eq!(score(mean, deviation), expected, "{mean} {deviation}");
        }
    }
}
