//! Koordinator's LoadAwareScheduling: measured use, plus estimates for Pods that the measurement
//! cannot show yet, in filter and score.
//!
//! Formula:
//! <https://github.com/koordinator-sh/koordinator/blob/main/pkg/scheduler/plugins/loadaware/load_aware.go>
//! and `estimator/default_estimator.go` beside it; defaults:
//! <https://github.com/koordinator-sh/koordinator/blob/main/pkg/scheduler/apis/config/v1/defaults.go>;
//! weight 1 beside the default plugins:
//! <https://koordinator.sh/docs/user-manuals/load-aware-scheduling>. koordlet reports each minute
//! the mean of five; the use of single Pods comes from the last window of the scenario's metrics.

use std::collections::BTreeMap;

use evenkeel_units::{Amount, Resource, Resources, i64_nearest};
use jiff::SignedDuration;

use crate::scenario::{NodeShape, ScenarioWorkload};
use crate::simulation::monitoring::NodeMonitor;
use crate::simulation::policy::{LoadPolicy, NodeCandidate};
use crate::simulation::policy_pods::{PodId, PodLifecycleStep, PolicyPod};

const RESOURCES: [Resource; 2] = [Resource::Cpu, Resource::Memory];
/// Most use, in percent of the node.
const LIMITS: [f64; 2] = [65.0, 95.0];
/// Expected use, in percent of the request.
const FACTORS: [f64; 2] = [85.0, 70.0];
/// Estimate for a Pod without requests, in millicores and bytes.
const NO_REQUEST: [f64; 2] = [250.0, 200.0 * 1024.0 * 1024.0];
const REPORT: SignedDuration = SignedDuration::from_secs(60);
const WINDOW: SignedDuration = SignedDuration::from_mins(5);

/// Cpu and memory.
type Pair = [f64; 2];

#[derive(Debug, Clone, Copy)]
struct AssignedPodEstimate {
    at: SignedDuration,
    estimate: Pair,
    /// In the last report.
    used: Option<Pair>,
}

#[derive(Debug, Default)]
struct KoordinatorNode {
    capacity: Pair,
    /// `None` before the first report.
    used: Option<Pair>,
    /// Pods that a report may not show wholly.
    assigned: BTreeMap<PodId, AssignedPodEstimate>,
    /// Their addition to the measured use.
    delta: Pair,
}

pub(super) struct Koordinator {
    nodes: Vec<KoordinatorNode>,
    /// Time of the last report.
    reported: SignedDuration,
    due: SignedDuration,
}

impl Koordinator {
    pub(super) fn new(nodes: &[NodeShape]) -> Self {
        let node = |shape: &NodeShape| KoordinatorNode {
            capacity: pair(&shape.capacity.map(Amount::as_f64)),
            ..KoordinatorNode::default()
        };
        Self {
            nodes: nodes.iter().map(node).collect(),
            reported: SignedDuration::ZERO,
            due: SignedDuration::ZERO,
        }
    }

    /// Use of a node with the Pod; `None` without a report.
    fn expected(&self, node: usize, estimate: Pair) -> Option<Pair> {
        let node = &self.nodes[node];
        let used = node.used?;
        Some([0, 1].map(|at| used[at] + node.delta[at] + estimate[at]))
    }
}

impl LoadPolicy for Koordinator {
    fn measured(&mut self, monitoring: &NodeMonitor, now: SignedDuration) {
        let Some(scraped) = monitoring.scraped().filter(|_| self.due <= now) else {
            return;
        };
        self.due = now.saturating_add(REPORT);
        self.reported = scraped;
        let statistics = monitoring.statistics(WINDOW);
        for (node, statistics) in self.nodes.iter_mut().zip(statistics) {
            node.used = Some(pair(&statistics.mean));
            // A Pod that ran for a whole interval before the report is in it.
            let shown = scraped.saturating_sub(REPORT);
            node.assigned.retain(|id, assigned| {
                let sample = monitoring.pod_sample(*id);
                assigned.used = sample.map(|sample| pair(&sample.used));
                assigned.used.is_none() || assigned.at > shown
            });
            node.delta = node.estimated();
        }
    }

    fn filter(&mut self, pod: &PolicyPod<'_>, nodes: &mut Vec<usize>, _now: SignedDuration) {
        let estimate = estimate(pod.workload);
        nodes.retain(|&node| {
            let expected = self.expected(node, estimate);
            expected.is_none_or(|used| is_within(used, self.nodes[node].capacity))
        });
    }

    fn score(
        &mut self,
        pod: &PolicyPod<'_>,
        candidates: &mut [NodeCandidate],
        _now: SignedDuration,
    ) {
        let estimate = estimate(pod.workload);
        for candidate in candidates {
            let expected = self.expected(candidate.node, estimate);
            let capacity = self.nodes[candidate.node].capacity;
            candidate.sum += expected.map_or(0, |used| score(used, capacity));
        }
    }

    fn step(
        &mut self,
        pod: &PolicyPod<'_>,
        node: usize,
        step: PodLifecycleStep,
        now: SignedDuration,
    ) {
        let node = &mut self.nodes[node];
        match step {
            PodLifecycleStep::Chosen => {
                let assigned = AssignedPodEstimate {
                    at: now,
                    estimate: estimate(pod.workload),
                    used: None,
                };
                node.assigned.insert(pod.id, assigned);
            }
            PodLifecycleStep::Gone => {
                node.assigned.remove(&pod.id);
            }
            PodLifecycleStep::Noticed | PodLifecycleStep::Bound | PodLifecycleStep::Started => {
                return;
            }
        }
        node.delta = node.estimated();
    }
}

impl KoordinatorNode {
    /// The addition of the assigned Pods: the larger of estimate and use, less the measured part.
    fn estimated(&self) -> Pair {
        let mut delta = [0.0; 2];
        for assigned in self.assigned.values() {
            for (at, sum) in delta.iter_mut().enumerate() {
                let used = assigned.used.map_or(0.0, |used| used[at]);
                *sum += assigned.estimate[at].max(used) - used;
            }
        }
        delta
    }
}

fn pair(used: &Resources<f64>) -> Pair {
    RESOURCES.map(|resource| used[resource])
}

/// In millicores and bytes.
fn estimate(workload: &ScenarioWorkload) -> Pair {
    [0, 1].map(|at| match workload.demand[RESOURCES[at]] {
        Amount::ZERO => NO_REQUEST[at],
        request => (request.as_f64() * FACTORS[at] / 100.0).round(),
    })
}

fn is_within(used: Pair, capacity: Pair) -> bool {
    let mut limits = used.into_iter().zip(capacity).zip(LIMITS);
    limits.all(|((used, capacity), limit)| (used / capacity * 100.0).round() <= limit)
}

/// 0 to 100: mean free share, each cut to an integer.
fn score(used: Pair, capacity: Pair) -> i64 {
    let free = |at: usize| {
        let free = (capacity[at] - used[at]).max(0.0);
        i64_nearest((free * 100.0 / capacity[at]).floor())
    };
    i64::midpoint(free(0), free(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn same(one: Pair, another: Pair) -> bool {
        one.iter()
            .zip(another)
            .all(|(one, another)| (one - another).abs() < 1e-9)
    }

    #[test]
    fn a_request_is_expected_to_be_used_in_part_and_none_for_something() {
        let mut web = Scenario::mixed().workload("shop", "web").unwrap().clone();
        web.demand[Resource::Memory] = Amount::new(1000);
        assert!(same(estimate(&web), [425.0, 700.0]));
        web.demand = Resources::default();
        assert!(same(estimate(&web), NO_REQUEST));
    }

    #[test]
    fn the_score_is_the_mean_free_share_and_limits_are_of_whole_percents() {
        assert_eq!(score([1000.0, 30.0], [4000.0, 100.0]), 72);
        assert_eq!(score([5000.0, 100.0], [4000.0, 100.0]), 0);
        assert!(is_within([654.0, 95.4], [1000.0, 100.0]));
        assert!(!is_within([656.0, 0.0], [1000.0, 100.0]));
        assert!(!is_within([0.0, 95.5], [1000.0, 100.0]));
    }

    #[test]
    fn what_is_measured_of_a_pod_takes_the_place_of_its_estimate_where_it_is_more() {
        let assigned = |used| AssignedPodEstimate {
            at: SignedDuration::ZERO,
            estimate: [400.0, 100.0],
            used,
        };
        let mut node = KoordinatorNode::default();
        node.assigned.insert(1, assigned(None));
        node.assigned.insert(2, assigned(Some([300.0, 150.0])));
        assert!(same(node.estimated(), [500.0, 100.0]));
    }
}
