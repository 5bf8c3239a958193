//! The plugin Dynamic of crane-scheduler: means and maxima of cpu and memory from annotations, and
//! a penalty for nodes with many recent bindings.
//!
//! Score and filter:
//! <https://github.com/gocrane/crane-scheduler/blob/main/pkg/plugins/dynamic/stats.go>; metrics,
//! periods, limits and weights:
//! <https://github.com/gocrane/crane-scheduler/blob/main/deploy/manifests/dynamic/policy.yaml>; the
//! plugin's weight of 3:
//! <https://github.com/gocrane/crane-scheduler/blob/main/deploy/manifests/dynamic/scheduler-config.yaml>.
//! The annotator writes the hot value with each metric of a node, so it is as old as the newest of
//! them.

use std::collections::VecDeque;

use evenkeel_units::{Amount, Resource, Resources, count_as_f64, i64_nearest};
use jiff::SignedDuration;

use crate::scenario::NodeShape;
use crate::simulation::monitoring::NodeMonitor;
use crate::simulation::policy::{LoadPolicy, NodeCandidate};
use crate::simulation::policy_pods::{PodLifecycleStep, PolicyPod};

const RESOURCES: [Resource; 2] = [Resource::Cpu, Resource::Memory];
const MEAN: SignedDuration = SignedDuration::from_mins(5);
/// Intervals of the three metrics: mean of 5 minutes, its maximum of an hour, of a day.
const PERIODS: [SignedDuration; 3] = [
    SignedDuration::from_mins(3),
    SignedDuration::from_mins(15),
    SignedDuration::from_hours(3),
];
/// Spans of the maxima.
const SPANS: [SignedDuration; 3] = [
    SignedDuration::ZERO,
    SignedDuration::from_hours(1),
    SignedDuration::from_hours(24),
];
const WEIGHTS: [f64; 3] = [0.2, 0.3, 0.5];
/// Limits of the first two metrics.
const LIMITS: [f64; 2] = [0.65, 0.75];
/// Bindings per time that make one unit of heat.
const HEAT: [(SignedDuration, usize); 2] = [
    (SignedDuration::from_mins(5), 5),
    (SignedDuration::from_mins(1), 2),
];
/// Points per unit of heat.
const PENALTY: i64 = 10;
/// Beside the default plugins.
const WEIGHT: i64 = 3;

#[derive(Debug, Clone, Default)]
struct CraneNode {
    /// By resource of [`RESOURCES`], by metric; `None` until first written.
    usage: [[Option<f64>; 3]; 2],
    hot: i64,
    /// Maximum means of the spans: times and values, which fall.
    largest: [[VecDeque<(SignedDuration, f64)>; 2]; 2],
    bindings: VecDeque<SignedDuration>,
}

pub(super) struct Crane {
    capacity: Vec<Resources<Amount>>,
    nodes: Vec<CraneNode>,
    /// Next write of each metric.
    due: [SignedDuration; 3],
}

impl Crane {
    pub(super) fn new(nodes: &[NodeShape]) -> Self {
        Self {
            capacity: nodes.iter().map(|node| node.capacity).collect(),
            nodes: vec![CraneNode::default(); nodes.len()],
            due: [SignedDuration::ZERO; 3],
        }
    }
}

impl LoadPolicy for Crane {
    fn measured(&mut self, monitoring: &NodeMonitor, now: SignedDuration) {
        let means = monitoring.statistics(MEAN);
        let due = self.due.map(|due| due <= now);
        for (metric, is_due) in due.into_iter().enumerate() {
            if is_due {
                self.due[metric] = now.saturating_add(PERIODS[metric]);
            }
        }
        let nodes = self.nodes.iter_mut().zip(&self.capacity).zip(means);
        for ((node, capacity), statistics) in nodes {
            let usage =
                RESOURCES.map(|resource| statistics.mean[resource] / capacity[resource].as_f64());
            node.remember(usage, now);
            node.write(usage, due);
            if due.contains(&true) {
                node.hot = node.heat(now);
            }
        }
    }

    fn filter(&mut self, _pod: &PolicyPod<'_>, nodes: &mut Vec<usize>, _now: SignedDuration) {
        nodes.retain(|&node| self.nodes[node].is_within_limits());
    }

    fn score(
        &mut self,
        _pod: &PolicyPod<'_>,
        candidates: &mut [NodeCandidate],
        _now: SignedDuration,
    ) {
        for candidate in candidates {
            candidate.sum += WEIGHT * self.nodes[candidate.node].score();
        }
    }

    fn step(
        &mut self,
        _pod: &PolicyPod<'_>,
        node: usize,
        step: PodLifecycleStep,
        now: SignedDuration,
    ) {
        if step == PodLifecycleStep::Bound {
            self.nodes[node].bindings.push_back(now);
        }
    }
}

impl CraneNode {
    /// Adds present means to the maxima of an hour and of a day.
    fn remember(&mut self, usage: [f64; 2], now: SignedDuration) {
        for (largest, usage) in self.largest.iter_mut().zip(usage) {
            for (span, values) in SPANS[1..].iter().zip(largest) {
                // An older value that is not larger is never the largest again.
                while values.back().is_some_and(|(_, value)| *value <= usage) {
                    values.pop_back();
                }
                values.push_back((now, usage));
                let oldest = now.saturating_sub(*span);
                while values.front().is_some_and(|(at, _)| *at < oldest) {
                    values.pop_front();
                }
            }
        }
    }

    fn write(&mut self, usage: [f64; 2], due: [bool; 3]) {
        for (resource, written) in self.usage.iter_mut().enumerate() {
            let largest = |span: usize| self.largest[resource][span].front().map(|top| top.1);
            let values = [Some(usage[resource]), largest(0), largest(1)];
            for (metric, value) in values.into_iter().enumerate() {
                if due[metric] {
                    written[metric] = value;
                }
            }
        }
    }

    fn heat(&mut self, now: SignedDuration) -> i64 {
        let longest = now.saturating_sub(HEAT[0].0);
        while self.bindings.front().is_some_and(|at| *at < longest) {
            self.bindings.pop_front();
        }
        let units = HEAT.map(|(span, count)| {
            let oldest = now.saturating_sub(span);
            self.bindings.iter().filter(|at| **at >= oldest).count() / count
        });
        i64_nearest(count_as_f64(units.iter().sum()))
    }

    fn is_within_limits(&self) -> bool {
        let within = |metrics: &[Option<f64>; 3]| {
            let mut limits = metrics.iter().zip(LIMITS);
            limits.all(|(usage, limit)| usage.is_none_or(|usage| usage <= limit))
        };
        self.usage.iter().all(within)
    }

    /// 0 to 100. A missing metric adds nothing and keeps its weight.
    fn score(&self) -> i64 {
        let mut sum = 0.0;
        let mut weights = 0.0;
        for metrics in &self.usage {
            for (usage, weight) in metrics.iter().zip(WEIGHTS) {
                sum += usage.map_or(0.0, |usage| (1.0 - usage) * weight * 100.0);
                weights += weight;
            }
        }
        // Go cuts decimals off; the addend undoes float errors below an integer.
        let score = i64_nearest((sum / weights + 1e-9).floor());
        (score - PENALTY * self.hot).clamp(0, 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_is_the_weighted_free_share_less_ten_for_each_unit_of_heat() {
        let mut node = CraneNode {
            usage: [
                [Some(0.5), Some(0.6), Some(0.8)],
                [Some(0.1), Some(0.2), Some(0.4)],
            ],
            ..CraneNode::default()
        };
        // cpu: 0.2 * 50 + 0.3 * 40 + 0.5 * 20 = 32; memory: 18 + 24 + 30 = 72; of 2: 52.
        assert_eq!(node.score(), 52);
        node.hot = 2;
        assert_eq!(node.score(), 32);
        node.hot = 9;
        assert_eq!(node.score(), 0);
        node.usage[1] = [None; 3];
        node.hot = 0;
        assert_eq!(node.score(), 16, "what is not known looks full");
    }

    #[test]
    fn heat_is_counted_over_one_and_five_minutes() {
        let second = SignedDuration::from_secs;
        let mut node = CraneNode {
            bindings: [10, 100, 110, 290, 295, 299].map(second).into(),
            ..CraneNode::default()
        };
        // Six within five minutes make one, three within the last minute another.
        assert_eq!(node.heat(second(300)), 2);
        // Five are left, of which one is younger than a minute.
        assert_eq!(node.heat(second(356)), 1);
        assert_eq!(node.heat(second(420)), 0);
    }

    #[test]
    fn a_node_above_the_limits_of_mean_or_hour_takes_nothing() {
        let node = |mean, hour| CraneNode {
            usage: [[Some(mean), Some(hour), Some(1.0)], [None; 3]],
            ..CraneNode::default()
        };
        assert!(node(0.65, 0.75).is_within_limits());
        assert!(!node(0.66, 0.1).is_within_limits());
        assert!(!node(0.1, 0.76).is_within_limits());
    }

    #[test]
    fn the_largest_mean_of_a_span_is_kept_until_it_is_too_old() {
        let mut node = CraneNode::default();
        for (minute, usage) in [(0, 0.9), (30, 0.4), (50, 0.6), (61, 0.1)] {
            node.remember([usage, 0.0], SignedDuration::from_mins(minute));
        }
        node.write([0.1, 0.0], [true; 3]);
        assert_eq!(node.usage[0], [Some(0.1), Some(0.6), Some(0.9)]);
    }
}
