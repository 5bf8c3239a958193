//! Measurements of nodes and Pods, for policies that read the last minute or a longer window.
//! Counters are read as in [`crate::scrape`], when the simulation computes the load. Policies other
//! than Evenkeel take means and deviations over minutes, so readings of nodes are kept for the
//! longest window.

use std::collections::VecDeque;

use evenkeel_units::{Resource, Resources, count_as_f64};
use jiff::SignedDuration;

use super::policy_pods::PodId;
use crate::load::UsageAmounts;
use crate::scrape::{Exporter, ScrapedSample, Scraper};
use crate::scrape_timing::Timing;

/// The longest window of any policy: load-watcher's.
const LONGEST: SignedDuration = SignedDuration::from_mins(15);

/// Measurements of a run, up to the last scrape.
pub struct NodeMonitor {
    timing: Timing,
    nodes: Scraper<usize>,
    pods: Scraper<PodId>,
    /// Use of all nodes at each scrape, the oldest first.
    history: VecDeque<(SignedDuration, Vec<UsageAmounts>)>,
}

/// Statistics of a node's use over a window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Statistics {
    pub mean: UsageAmounts,
    pub deviation: UsageAmounts,
}

impl NodeMonitor {
    pub const fn new(timing: Timing) -> Self {
        Self {
            timing,
            nodes: Scraper::new(timing),
            pods: Scraper::new(timing),
            history: VecDeque::new(),
        }
    }

    /// Reads what each node gives and each Pod gets.
    pub fn scrape(
        &mut self,
        at: SignedDuration,
        nodes: Vec<UsageAmounts>,
        pods: impl IntoIterator<Item = (PodId, UsageAmounts)>,
    ) {
        let exporter = |used| Exporter {
            used,
            phase: SignedDuration::ZERO,
        };
        let numbered = nodes.iter().copied().enumerate();
        self.nodes
            .observe(at, numbered.map(|(node, used)| (node, exporter(used))));
        let pods = pods.into_iter().map(|(pod, used)| (pod, exporter(used)));
        self.pods.observe(at, pods);
        self.history.push_back((at, nodes));
        let oldest = at.saturating_sub(LONGEST);
        while self.history.front().is_some_and(|(at, _)| *at < oldest) {
            self.history.pop_front();
        }
    }

    pub fn scraped(&self) -> Option<SignedDuration> {
        self.history.back().map(|(at, _)| *at)
    }

    pub const fn window(&self) -> SignedDuration {
        self.timing.window
    }

    /// By position.
    pub fn node_samples(&self) -> impl Iterator<Item = (usize, ScrapedSample)> {
        self.nodes.samples().map(|(node, sample)| (*node, sample))
    }

    pub fn pod_samples(&self) -> impl Iterator<Item = (PodId, ScrapedSample)> {
        self.pods.samples().map(|(pod, sample)| (*pod, sample))
    }

    pub fn pod_sample(&self, pod: PodId) -> Option<ScrapedSample> {
        self.pods.sample(&pod)
    }

    /// By node over the last `window`, or what there is of it; empty before the first scrape.
    pub fn statistics(&self, window: SignedDuration) -> Vec<Statistics> {
        let Some((newest, last)) = self.history.back() else {
            return Vec::new();
        };
        let oldest = newest.saturating_sub(window);
        let inside = self.history.iter().filter(|(at, _)| *at > oldest);
        let rows: Vec<&Vec<UsageAmounts>> = inside.map(|(_, row)| row).collect();
        let of = |node: usize| {
            let values = |resource: Resource| rows.iter().map(move |row| row[node][resource]);
            let count = count_as_f64(rows.len());
            let mean = Resources::from_fn(|resource| values(resource).sum::<f64>() / count);
            let square = |resource: Resource| {
                let distances = values(resource).map(|value| (value - mean[resource]).powi(2));
                distances.sum::<f64>() / count
            };
            Statistics {
                mean,
                deviation: Resources::from_fn(|resource| square(resource).sqrt()),
            }
        };
        (0..last.len()).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_of_the_scrapes_within_the_window() {
        let mut monitoring = NodeMonitor::new(Timing::default());
        assert!(monitoring.statistics(LONGEST).is_empty());
        for (turn, value) in [9.0, 1.0, 3.0].into_iter().enumerate() {
            let at = SignedDuration::from_secs(15) * i32::try_from(turn).unwrap();
            monitoring.scrape(at, vec![Resources::from_fn(|_| value)], []);
        }
        let recent = monitoring.statistics(SignedDuration::from_secs(30))[0];
        let (mean, deviation) = (recent.mean[Resource::Cpu], recent.deviation[Resource::Cpu]);
        assert!((mean - 2.0).abs() < 1e-12 && (deviation - 1.0).abs() < 1e-12);
        let all = monitoring.statistics(LONGEST)[0].mean[Resource::DiskIo];
        assert!((all - 13.0 / 3.0).abs() < 1e-12);
    }
}
