//! The newest round of measurements, as the scaling loop takes it: whole, with its age.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use jiff::Timestamp;

use evenkeel_core::placement::usage::UsageSample;
use evenkeel_core::scaling::signal::{ResourceName, Signal};
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
    /// The time of the newest measurement of each resource. Pods' measurements carry no time of
    /// their own and are as old as those of the nodes in the same round; where no node is measured,
    /// as old as the round.
    pub(super) fn measured(&self) -> Measured {
        let mut newest: Resources<Option<Timestamp>> = Resources::default();
        for row in self.usage.nodes.values() {
            for (resource, measurement) in row.iter() {
                newest[resource] = newest[resource].max(measurement.map(|found| found.at));
            }
        }
        Measured(newest.map(|at| at.unwrap_or(self.at)))
    }

    /// The load of some Pods in one signal, in its base unit; `None` where too few of them were
    /// measured, or the signal is of a kind that is not.
    pub(super) fn load(&self, pods: &Pods, signal: &Signal) -> Option<f64> {
        let resource = resource_of(signal)?;
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

/// The times of the newest measurements.
pub(super) struct Measured(Resources<Timestamp>);

impl Measured {
    /// The time of the newest measurement of a signal; `None` for one that is never measured.
    pub(super) fn of(&self, signal: &Signal) -> Option<Timestamp> {
        resource_of(signal).map(|resource| self.0[resource])
    }
}

/// The measured resource of a signal; `None` for signals of a kind that is not measured.
fn resource_of(signal: &Signal) -> Option<Resource> {
    match signal {
        Signal::Resource(ResourceName::Cpu) => Some(Resource::Cpu),
        Signal::Resource(ResourceName::Memory) => Some(Resource::Memory),
        _ => None,
    }
}
