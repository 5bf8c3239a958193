//! The newest round of measurements, as the loop takes it: whole, with its age.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use jiff::Timestamp;

use evenkeel_core::placement::usage::UsageSample;
use evenkeel_core::scaling::sum::{self, PodLoad};
use evenkeel_core::units::{Amount, Resource, Resources};
use evenkeel_kubernetes::plan::scaling::Pods;

/// Where rounds are put for the loop to find; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Samples(Arc<ArcSwapOption<Sample>>);

/// One round of measurements.
#[derive(Debug)]
pub struct Sample {
    /// What was measured.
    pub usage: Arc<UsageSample>,
    /// When it was asked for.
    pub at: Timestamp,
}

impl Samples {
    /// Takes a round.
    pub fn put(&self, usage: Arc<UsageSample>, at: Timestamp) {
        self.0.store(Some(Arc::new(Sample { usage, at })));
    }

    pub(super) fn newest(&self) -> Option<Arc<Sample>> {
        self.0.load_full()
    }
}

impl Sample {
    /// When the newest measurement of each resource was taken. Pods' measurements carry no time of
    /// their own and are as old as those of the nodes in the same round; where no node is measured,
    /// as old as the round.
    pub(super) fn measured(&self) -> Resources<Timestamp> {
        let mut newest: Resources<Option<Timestamp>> = Resources::default();
        for row in self.usage.nodes.values() {
            for (resource, measurement) in row.iter() {
                newest[resource] = newest[resource].max(measurement.map(|found| found.at));
            }
        }
        newest.map(|at| at.unwrap_or(self.at))
    }

    /// The load of some Pods in one resource, in its base unit; `None` where too few of them were
    /// measured.
    pub(super) fn load(&self, pods: &Pods, resource: Resource) -> Option<f64> {
        sum::over_pods(pods.members.iter().map(|member| {
            PodLoad {
                measured: self
                    .usage
                    .pods
                    .get(&*member.name)
                    .and_then(|row| row[resource].map(Amount::as_f64)),
                ready: member.ready,
            }
        }))
    }
}
