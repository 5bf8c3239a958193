//! The use of workloads before the run began, as in a Prometheus with days of history. Requests
//! follow the trace, which the run continues. Replicas were those that the HPA's target asks for
//! or, without an HPA, those that serve the requests.

use std::ops::RangeInclusive;

use evenkeel_units::random::RandomSource;
use evenkeel_units::{Amount, Resource, Resources};
use jiff::SignedDuration;

use crate::lifecycle::Stage;
use crate::load;
use crate::load::{ServedRequestRates, UsageAmounts};
use crate::scenario::{ScaleBy, Scenario, ScenarioHpa, ScenarioWorkload, Traffic};

#[derive(Debug, Clone)]
pub struct PreRunHistory {
    length: SignedDuration,
    trace_offset: SignedDuration,
    workloads: Vec<ScenarioWorkload>,
    random: RandomSource,
}

impl PreRunHistory {
    /// `seed` decides the noise.
    pub fn of(scenario: &Scenario, seed: u64) -> Self {
        Self {
            length: scenario.past,
            trace_offset: scenario.trace_offset,
            workloads: scenario.workloads.clone(),
            random: RandomSource::new(seed),
        }
    }

    /// How long before the run it begins.
    pub(super) const fn length(&self) -> SignedDuration {
        self.length
    }

    /// The workloads that `wanted` accepts with the sums over their Pods `ago` before the run
    /// began, and the number of Pods.
    pub(crate) fn sums(
        &self,
        ago: SignedDuration,
        wanted: impl Fn(&ScenarioWorkload) -> bool,
    ) -> impl Iterator<Item = (&ScenarioWorkload, UsageAmounts, u32)> {
        let known = ago <= self.length;
        let at = self.trace_offset.saturating_sub(ago);
        let workloads = self.workloads.iter();
        let workloads = workloads.filter(move |workload| known && wanted(workload));
        workloads.map(move |workload| {
            let (used, pods) = self.sum(workload, at);
            (workload, used, pods)
        })
    }

    /// Requests per second at a time of the scenario, before its run or in it; 0 for a workload
    /// without requests, or one that has not arrived.
    pub(crate) fn requests(&self, namespace: &str, name: &str, at: SignedDuration) -> f64 {
        let mut all = self.workloads.iter();
        let found = all.find(|one| one.namespace == namespace && one.name == name);
        let found = found.filter(|one| at.is_negative() || one.arrival <= at);
        let traffic = found.and_then(|one| one.traffic.as_ref());
        let in_trace = self.trace_offset.saturating_add(at);
        traffic.map_or(0.0, |traffic| load::serve(traffic, in_trace, 0).offered)
    }

    fn sum(&self, workload: &ScenarioWorkload, at: SignedDuration) -> (UsageAmounts, u32) {
        let (replicas, served) = workload.traffic.as_ref().map_or(
            (workload.replicas, ServedRequestRates::default()),
            |traffic| {
                let offered = load::serve(traffic, at, 0).offered;
                let replicas = replicas(workload, traffic, offered);
                (replicas, load::serve(traffic, at, replicas))
            },
        );
        let noise = self.random.stream(&workload.name);
        let pods = (0..replicas).map(|number| {
            let noise = noise.stream(&number.to_string());
            load::replica(workload, Stage::Ready, &served, noise, at)
        });
        let used = pods.fold(UsageAmounts::default(), |sum, pod| {
            Resources::from_fn(|resource| sum[resource] + pod[resource])
        });
        (used, replicas)
    }
}

/// For a workload with `offered` requests per second.
fn replicas(workload: &ScenarioWorkload, traffic: &Traffic, offered: f64) -> u32 {
    let Some(ScenarioHpa { min, max, by }) = workload.scale else {
        return least(workload.replicas..=u32::MAX, offered / traffic.per_replica);
    };
    let each = match by {
        ScaleBy::Requests(requests) => f64::from(requests),
        ScaleBy::Cpu(target) => {
            let cpu = |of: &Resources<Amount>| of[Resource::Cpu].as_f64();
            let usage = &workload.usage;
            let for_requests = target.get() * cpu(&workload.demand) - cpu(&usage.idle);
            // Pods that miss their target idling are wanted without end.
            for_requests.max(0.0) / cpu(&usage.per_request)
        }
    };
    least(min..=max, offered / each)
}

/// The least count of a range that is not below `wanted`.
fn least(mut counts: RangeInclusive<u32>, wanted: f64) -> u32 {
    let most = *counts.end();
    counts
        .find(|&count| f64::from(count) >= wanted)
        .unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEB: &str = "
name: past
traceOffset: 10m
past: 5m
nodes:
  - {name: a, capacity: {cpu: 4, memory: 8Gi, networkIo: 1Gbps, diskIo: 100MB/s, disk: 50Gi}}
workloads:
  - name: web
    namespace: shop
    replicas: 2
    demand: {cpu: 500m}
    usage: {idle: {cpu: 50m}, perRequest: {cpu: 5m}}
    startup: {pull: 5s, start: 1s, warmUp: 0s}
    traffic: {peak: 200, perReplica: 60, trace: rising.csv}
    scale: {min: 2, max: 5, cpu: 60%}
  - name: store
    namespace: shop
    replicas: 2
    demand: {cpu: 250m}
    usage: {idle: {cpu: 50m}}
    startup: {pull: 5s, start: 1s, warmUp: 0s}
";

    /// Cores of web, so many minutes before the run.
    fn cores(minutes: i64) -> Option<f64> {
        let rising = |_: &std::path::Path| {
            let lines = (0..=20).map(|minute| format!("{},{}", minute * 60, minute * 10));
            Ok(lines.collect::<Vec<_>>().join("\n"))
        };
        let before = PreRunHistory::of(&Scenario::read(WEB, &rising).unwrap(), 1);
        let ago = SignedDuration::from_mins(minutes);
        let mut store = before.sums(ago, |workload| workload.name == "store");
        let idle = store
            .next()
            .map(|(_, used, pods)| (used[Resource::Cpu], pods));
        assert!(idle.is_none_or(|idle| idle == (100.0, 2)), "{idle:?}");
        let mut sums = before.sums(ago, |workload| workload.name == "web");
        sums.next().map(|(_, used, _)| used[Resource::Cpu] / 1000.0)
    }

    #[test]
    fn before_the_run_the_target_alone_decided() {
        // 100 requests a second at the beginning, 50 for each Pod beside its idling: two Pods.
        assert_eq!(cores(0), Some(0.6));
        assert_eq!(cores(5), Some(0.35));
        assert_eq!(cores(6), None);
    }
}
