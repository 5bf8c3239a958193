//! Trimaran's TargetLoadPacking: nodes are filled up to a cpu utilisation of 40 %, and spread above
//! it.
//!
//! Formula:
//! <https://github.com/kubernetes-sigs/scheduler-plugins/blob/master/pkg/trimaran/targetloadpacking/targetloadpacking.go>;
//! the configuration of its README, which turns the scores by requests off:
//! <https://github.com/kubernetes-sigs/scheduler-plugins/blob/master/pkg/trimaran/targetloadpacking/README.md>.
//! load-watcher fetches each minute and serves the mean of 15 minutes first; the plugin asks every
//! 30 seconds, so its data is as old as the last fetch.

use std::collections::VecDeque;

use evenkeel_units::{Amount, Resource, i64_nearest};
use jiff::SignedDuration;

use crate::scenario::{NodeShape, ScenarioWorkload};
use crate::simulation::monitoring::NodeMonitor;
use crate::simulation::policy::{InTree, LoadPolicy, NodeCandidate};
use crate::simulation::policy_pods::{PodId, PodLifecycleStep, PolicyPod};

/// Utilisation up to which nodes are filled, in percent.
const TARGET: f64 = 40.0;
/// Use of a container without a request, in millicores.
const NO_REQUEST: f64 = 1000.0;
/// Expected use of a container without a limit, as a multiple of its request.
const MULTIPLIER: f64 = 1.5;
const WINDOW: SignedDuration = SignedDuration::from_mins(15);
const FETCH: SignedDuration = SignedDuration::from_mins(1);
/// A Pod placed less than this before the end of the window counts beside the measurement.
const REPORTING: SignedDuration = SignedDuration::from_secs(60);

pub(super) struct TargetLoadPacking {
    /// In millicores.
    capacity: Vec<f64>,
    /// In millicores; `None` before the first fetch.
    used: Vec<Option<f64>>,
    /// End of the window of the last fetch.
    window_end: SignedDuration,
    due: SignedDuration,
    /// By node, with the times.
    placed: Vec<VecDeque<(SignedDuration, PodId, f64)>>,
}

impl TargetLoadPacking {
    pub(super) fn new(nodes: &[NodeShape]) -> Self {
        let capacity = nodes.iter().map(|node| node.capacity[Resource::Cpu]);
        Self {
            capacity: capacity.map(Amount::as_f64).collect(),
            used: vec![None; nodes.len()],
            window_end: SignedDuration::ZERO,
            due: SignedDuration::ZERO,
            placed: vec![VecDeque::new(); nodes.len()],
        }
    }

    /// Use of Pods that the measurement does not show yet.
    fn missing(&self, node: usize) -> f64 {
        let shown = self.window_end.saturating_sub(REPORTING);
        let placed = self.placed[node].iter();
        let missing = placed.filter(|(at, _, _)| *at > shown);
        missing.map(|(_, _, used)| used).sum()
    }
}

impl LoadPolicy for TargetLoadPacking {
    fn in_tree(&self) -> InTree {
        InTree::Disabled
    }

    fn measured(&mut self, monitoring: &NodeMonitor, now: SignedDuration) {
        let Some(end) = monitoring.scraped().filter(|_| self.due <= now) else {
            return;
        };
        self.due = now.saturating_add(FETCH);
        self.window_end = end;
        let shown = end.saturating_sub(REPORTING);
        for (node, statistics) in monitoring.statistics(WINDOW).iter().enumerate() {
            self.used[node] = Some(statistics.mean[Resource::Cpu]);
            let placed = &mut self.placed[node];
            while placed.front().is_some_and(|(at, _, _)| *at <= shown) {
                placed.pop_front();
            }
        }
    }

    fn score(
        &mut self,
        pod: &PolicyPod<'_>,
        candidates: &mut [NodeCandidate],
        _now: SignedDuration,
    ) {
        let own = predicted(pod.workload);
        for candidate in candidates {
            let node = candidate.node;
            candidate.sum += self.used[node].map_or(0, |used| {
                score(100.0 * (used + own + self.missing(node)) / self.capacity[node])
            });
        }
    }

    fn step(
        &mut self,
        pod: &PolicyPod<'_>,
        node: usize,
        step: PodLifecycleStep,
        now: SignedDuration,
    ) {
        match step {
            // Its cache is filled by the watch on Pods.
            PodLifecycleStep::Bound => {
                self.placed[node].push_back((now, pod.id, predicted(pod.workload)));
            }
            PodLifecycleStep::Gone => self.placed[node].retain(|(_, placed, _)| *placed != pod.id),
            PodLifecycleStep::Chosen | PodLifecycleStep::Noticed | PodLifecycleStep::Started => {}
        }
    }
}

/// Expected use in millicores.
fn predicted(workload: &ScenarioWorkload) -> f64 {
    match workload.demand[Resource::Cpu] {
        Amount::ZERO => NO_REQUEST,
        request => (request.as_f64() * MULTIPLIER).round(),
    }
}

/// 0 to 100 for an expected utilisation in percent.
fn score(utilisation: f64) -> i64 {
    if utilisation > 100.0 {
        0
    } else if utilisation > TARGET {
        i64_nearest((TARGET * (100.0 - utilisation) / (100.0 - TARGET)).round())
    } else {
        i64_nearest(((100.0 - TARGET) * utilisation / TARGET + TARGET).round())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_rises_to_the_target_and_falls_behind_it() {
        for (utilisation, expected) in [
            (0.0, 40),
            (20.0, 70),
            (40.0, 100),
            (40.1, 40),
            (70.0, 20),
            (100.0, 0),
            (130.0, 0),
        ] {
            assert_eq!(score(utilisation), expected, "{utilisation}");
        }
    }
}
