//! The figures of a run: evenness and fullness of the nodes, and Pods that waited. Spread is the
//! standard deviation of the nodes' utilisation at one moment, averaged over time. Utilisation
//! counts demand, so it is above 1 if Pods want more than the node has.

use std::collections::BTreeMap;

use evenkeel_objects::pod_name::PodName;
use evenkeel_units::{Ratio, Resource, Resources};
use jiff::SignedDuration;
use serde::Serialize;

use crate::load::NodeUse;

/// During a run.
#[derive(Debug, Clone)]
pub struct SummaryBuilder {
    line: Ratio,
    last: Option<SignedDuration>,
    passed: f64,
    resources: Resources<UtilizationSums>,
    over_any: f64,
    lost: f64,
    offered: f64,
    under_provisioned: f64,
    replica_seconds: f64,
    waiting: BTreeMap<PodName, SignedDuration>,
    waited: Vec<SignedDuration>,
}

#[derive(Debug, Clone, Copy, Default)]
struct UtilizationSums {
    spread: f64,
    peak: f64,
    over: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunSummary {
    /// Time of the scenario, in seconds.
    pub seconds: f64,
    /// In the order of `Resource::ALL`.
    pub resources: Vec<ResourceSummary>,
    /// Seconds with at least one node above the line in any resource.
    pub seconds_over_line: f64,
    /// Pods that waited because no node took them.
    pub refused: usize,
    /// Sum of their waits, in seconds.
    pub refused_seconds: f64,
    /// Longest wait, in seconds.
    pub longest_refused_seconds: f64,
    /// Pods that still wait.
    pub still_refused: usize,
    /// Share of unserved requests; 0 without requests.
    pub lost_share: f64,
    /// Seconds during which ready replicas carried more than target and tolerance of their HPA
    /// allow, summed over the scaled workloads with traffic.
    pub under_provisioned_seconds: f64,
    /// Hours of scaled workloads' Pods on nodes, ready or not, summed over the Pods.
    pub replica_hours: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSummary {
    #[serde(serialize_with = "name")]
    pub resource: Resource,
    /// Mean over time of the standard deviation of utilisation over the nodes.
    pub spread: f64,
    /// Highest utilisation of any node.
    pub peak: f64,
    /// Seconds above the line, summed over the nodes.
    pub node_seconds_over_line: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde gives a reference
fn name<S: serde::Serializer>(resource: &Resource, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(resource.as_str())
}

impl SummaryBuilder {
    /// `line` is the headroom line.
    pub const fn new(line: Ratio) -> Self {
        const NONE: UtilizationSums = UtilizationSums {
            spread: 0.0,
            peak: 0.0,
            over: 0.0,
        };
        Self {
            line,
            last: None,
            passed: 0.0,
            resources: Resources::new([NONE; 5]),
            over_any: 0.0,
            lost: 0.0,
            offered: 0.0,
            under_provisioned: 0.0,
            replica_seconds: 0.0,
            waiting: BTreeMap::new(),
            waited: Vec::new(),
        }
    }

    /// Use at `at`, which stands for the time since the last call.
    pub fn observe(&mut self, at: SignedDuration, nodes: &[NodeUse]) {
        let since = self.last.replace(at).unwrap_or(at);
        let passed = at.saturating_sub(since).as_secs_f64().max(0.0);
        let line = self.line.get();
        let used: Vec<Resources<f64>> = nodes.iter().map(NodeUse::utilisation).collect();
        for resource in Resource::ALL {
            let values = || used.iter().map(|node| node[resource]);
            let sums = &mut self.resources[resource];
            sums.spread += deviation(values()) * passed;
            sums.peak = values().fold(sums.peak, f64::max);
            sums.over += count(values().filter(|value| *value > line)) * passed;
        }
        let over = |node: &Resources<f64>| node.values().iter().any(|value| *value > line);
        if used.iter().any(over) {
            self.over_any += passed;
        }
        self.passed += passed;
    }

    /// Requests per second that arrived during `passed`, and the unserved ones of them.
    pub fn requests(&mut self, offered: f64, lost: f64, passed: SignedDuration) {
        self.offered += offered * passed.as_secs_f64();
        self.lost += lost * passed.as_secs_f64();
    }

    /// Time with under-provisioned ready replicas of a workload.
    pub fn under_provisioned(&mut self, passed: SignedDuration) {
        self.under_provisioned += passed.as_secs_f64();
    }

    /// Pods of scaled workloads on nodes for `passed`.
    pub fn replicas(&mut self, number: usize, passed: SignedDuration) {
        self.replica_seconds += count(0..number) * passed.as_secs_f64();
    }

    /// No node takes the Pod; repeated while it waits.
    pub fn refused(&mut self, pod: &PodName, at: SignedDuration) {
        if !self.waiting.contains_key(pod) {
            self.waiting.insert(pod.clone(), at);
        }
    }

    /// The Pod was placed or is gone.
    pub fn settled(&mut self, pod: &PodName, at: SignedDuration) {
        if let Some(since) = self.waiting.remove(pod) {
            self.waited.push(at.saturating_sub(since));
        }
    }

    pub fn summary(&self) -> RunSummary {
        let now = self.last.unwrap_or_default();
        let open = self
            .waiting
            .values()
            .map(|since| now.saturating_sub(*since));
        let waits: Vec<f64> = self
            .waited
            .iter()
            .copied()
            .chain(open)
            .map(|wait| wait.as_secs_f64())
            .collect();
        let per_second = if self.passed > 0.0 {
            self.passed.recip()
        } else {
            0.0
        };
        let resources = self
            .resources
            .iter()
            .map(|(resource, sums)| ResourceSummary {
                resource,
                spread: sums.spread * per_second,
                peak: sums.peak,
                node_seconds_over_line: sums.over,
            });
        RunSummary {
            seconds: self.passed,
            resources: resources.collect(),
            seconds_over_line: self.over_any,
            refused: waits.len(),
            // The sum of no floats would be -0.
            refused_seconds: waits.iter().fold(0.0, |sum, wait| sum + wait),
            longest_refused_seconds: waits.iter().copied().fold(0.0, f64::max),
            still_refused: self.waiting.len(),
            lost_share: if self.offered > 0.0 {
                self.lost / self.offered
            } else {
                0.0
            },
            under_provisioned_seconds: self.under_provisioned,
            replica_hours: self.replica_seconds / 3600.0,
        }
    }
}

fn deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let number = count(values.clone());
    if number < 1.0 {
        return 0.0;
    }
    let mean = values.clone().sum::<f64>() / number;
    let squares = values.map(|value| (value - mean).powi(2));
    (squares.sum::<f64>() / number).sqrt()
}

fn count(values: impl Iterator) -> f64 {
    f64::from(u32::try_from(values.count()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use evenkeel_units::Amount;

    use super::*;

    fn node(share: f64) -> NodeUse {
        let wanted = Resources::from_fn(|_| share * 1000.0);
        NodeUse {
            wanted,
            given: wanted,
            capacity: Resources::from_fn(|_| Amount::new(1000)),
        }
    }

    #[test]
    fn spread_peak_and_time_over_the_line() {
        let mut builder = SummaryBuilder::new(Ratio::new(0.8).unwrap());
        builder.observe(SignedDuration::ZERO, &[node(0.1), node(0.1)]);
        builder.observe(SignedDuration::from_secs(10), &[node(0.2), node(0.6)]);
        builder.observe(SignedDuration::from_secs(20), &[node(0.9), node(1.1)]);
        let summary = builder.summary();
        let cpu = summary.resources[0];
        assert!((cpu.spread - 0.15).abs() < 1e-12, "{}", cpu.spread);
        assert!((cpu.peak - 1.1).abs() < 1e-12);
        assert!((cpu.node_seconds_over_line - 20.0).abs() < 1e-12);
        assert!((summary.seconds_over_line - 10.0).abs() < 1e-12);
    }

    #[test]
    fn lost_requests_and_time_under_provisioned_are_counted_apart() {
        let (mut builder, second) = (
            SummaryBuilder::new(Ratio::new(0.8).unwrap()),
            SignedDuration::from_secs,
        );
        builder.requests(100.0, 0.0, second(30));
        builder.requests(100.0, 10.0, second(20));
        builder.under_provisioned(second(20));
        builder.replicas(3, second(1800));
        let summary = builder.summary();
        assert!((summary.under_provisioned_seconds - 20.0).abs() < 1e-12);
        assert!((summary.replica_hours - 1.5).abs() < 1e-12);
        assert!((summary.lost_share - 0.04).abs() < 1e-12);
    }

    fn pod(name: &str) -> PodName {
        PodName::new("shop", name)
    }

    #[test]
    fn waits_end_when_the_pod_is_settled_or_go_on() {
        let second = SignedDuration::from_secs;
        let mut builder = SummaryBuilder::new(Ratio::new(0.8).unwrap());
        builder.refused(&pod("a"), second(10));
        builder.refused(&pod("a"), second(20));
        builder.refused(&pod("b"), second(30));
        builder.settled(&pod("a"), second(40));
        builder.settled(&pod("c"), second(40));
        builder.observe(second(50), &[]);
        let summary = builder.summary();
        assert_eq!((summary.refused, summary.still_refused), (2, 1));
        assert!((summary.refused_seconds - 50.0).abs() < 1e-12);
        assert!((summary.longest_refused_seconds - 30.0).abs() < 1e-12);
    }
}
