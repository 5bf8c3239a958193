//! The demand of containers of a scenario's workload, with a constant number of replicas.

use evenkeel_units::cpu_memory::TunedResource;
use evenkeel_units::random::RandomSource;
use jiff::{SignedDuration, Timestamp};

use super::container::ContainerDemand;
use crate::lifecycle::Stage;
use crate::load;
use crate::scenario::Scenario;

/// Demand of each replica of the first workload with traffic, over the simulation; empty without
/// such a workload.
pub fn wanted(
    scenario: &Scenario,
    resource: TunedResource,
    step: SignedDuration,
    seed: u64,
) -> Vec<ContainerDemand> {
    let mut workloads = scenario.workloads.iter();
    let served = workloads.find_map(|workload| Some((workload, workload.traffic.as_ref()?)));
    let Some((workload, traffic)) = served else {
        return Vec::new();
    };
    let of = |replica: u32| {
        let noise = RandomSource::new(seed).stream(&format!("{}-{replica}", workload.name));
        let mut values = Vec::new();
        let mut at = SignedDuration::ZERO;
        while at < scenario.simulation.duration && step.is_positive() {
            let in_trace = at.saturating_add(scenario.trace_offset);
            let served = load::serve(traffic, in_trace, workload.replicas);
            let used = load::replica(workload, Stage::Ready, &served, noise, in_trace);
            values.push(used[resource.resource()]);
            at = at.saturating_add(step);
        }
        ContainerDemand {
            resource,
            start: Timestamp::UNIX_EPOCH,
            step,
            values,
            limit: workload.demand[resource.resource()],
            skipped: 0,
        }
    };
    (0..workload.replicas).map(of).collect()
}
