//! What workloads used before the run began, as a Prometheus tells it that has watched them for days.
//!
//! They had the requests of their trace, which the run goes on with, and as many replicas as the target
//! of their HPA asks for; those without one, as many as serve them.

use std::ops::RangeInclusive;

use jiff::SignedDuration;

use crate::lifecycle::Stage;
use crate::load::{self, Used};
use crate::scenario::{Scale, ScaleBy, Scenario, Traffic, Workload};
use evenkeel_core::random::Random;
use evenkeel_core::units::{Amount, Resource, Resources};

/// The past of a scenario's workloads that serve requests.
#[derive(Debug, Clone)]
pub struct Before {
    length: SignedDuration,
    trace_offset: SignedDuration,
    workloads: Vec<(Workload, Traffic)>,
    random: Random,
}

impl Before {
    /// The past that the scenario says there is; `seed` decides its noise.
    #[must_use]
    pub fn of(scenario: &Scenario, seed: u64) -> Self {
        let serving = scenario.workloads.iter().filter_map(|workload| {
            let traffic = workload.traffic.clone()?;
            Some((workload.clone(), traffic))
        });
        Self {
            length: scenario.past,
            trace_offset: scenario.trace_offset,
            workloads: serving.collect(),
            random: Random::new(seed),
        }
    }

    /// The workloads with the sums over their Pods `ago` before the run began, and the number of these.
    pub(super) fn sums(&self, ago: SignedDuration) -> impl Iterator<Item = (&Workload, Used, u32)> {
        let known = ago <= self.length;
        let at = self.trace_offset.saturating_sub(ago);
        let workloads = self.workloads.iter().filter(move |_| known);
        workloads.map(move |(workload, traffic)| {
            let (used, pods) = self.sum(workload, traffic, at);
            (workload, used, pods)
        })
    }

    fn sum(&self, workload: &Workload, traffic: &Traffic, at: SignedDuration) -> (Used, u32) {
        let offered = load::serve(traffic, at, 0).offered;
        let replicas = replicas(workload, traffic, offered);
        let served = load::serve(traffic, at, replicas);
        let noise = self.random.stream(&workload.name);
        let pods = (0..replicas).map(|number| {
            let noise = noise.stream(&number.to_string());
            load::replica(workload, Stage::Ready, &served, noise, at)
        });
        let used = pods.fold(Used::default(), |sum, pod| {
            Resources::from_fn(|resource| sum[resource] + pod[resource])
        });
        (used, replicas)
    }
}

/// The replicas of a workload to which so many requests per second come.
fn replicas(workload: &Workload, traffic: &Traffic, offered: f64) -> u32 {
    let Some(Scale { min, max, by }) = workload.scale else {
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

    /// Cores that web used so many minutes before the run.
    fn cores(minutes: i64) -> Option<f64> {
        let rising = |_: &std::path::Path| {
            let lines = (0..=20).map(|minute| format!("{},{}", minute * 60, minute * 10));
            Ok(lines.collect::<Vec<_>>().join("\n"))
        };
        let before = Before::of(&Scenario::read(WEB, &rising).unwrap(), 1);
        let mut sums = before.sums(SignedDuration::from_mins(minutes));
        let found = sums.next().map(|(workload, used, _)| {
            assert_eq!(workload.name, "web");
            used[Resource::Cpu] / 1000.0
        });
        assert!(
            sums.next().is_none(),
            "what serves nothing comes with the run"
        );
        found
    }

    #[test]
    fn before_the_run_the_target_alone_decided() {
        // 100 requests a second at the beginning, 50 for each Pod beside its idling: two Pods.
        assert_eq!(cores(0), Some(0.6));
        assert_eq!(cores(5), Some(0.35));
        assert_eq!(cores(6), None);
    }
}
