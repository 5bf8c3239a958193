//! The use of Pods and nodes at a time of the scenario. A replica has an idle use and an addition
//! per request that it serves; requests follow the trace and are shared by the ready replicas, each
//! up to its capacity. A node uses what its Pods use and a share for the system; demand above its
//! capacity is not met.

use evenkeel_scaling::counterfactual::pareto_frontier;
use evenkeel_scaling::load::hpa_aware::PodCapacity;
use evenkeel_units::random::RandomSource;
use evenkeel_units::{Amount, Resource, Resources};
use jiff::SignedDuration;

use crate::lifecycle::Stage;
use crate::scenario::{NodeShape, ReplicaUsage, ScaleBy, ScenarioWorkload, Traffic};

/// Interval of changes of noise: faster changes would vanish in the mean over a sample window.
const NOISE_STEP: SignedDuration = SignedDuration::from_secs(20);

/// Shares of a node that operating system, kubelet and log shippers use.
const SYSTEM: Resources<f64> = Resources::new([0.04, 0.06, 0.01, 0.02, 0.04]);

/// In the base units.
pub type UsageAmounts = Resources<f64>;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ServedRequestRates {
    /// Arriving requests per second.
    pub offered: f64,
    /// Requests per second that each ready replica serves.
    pub each: f64,
    /// Unserved requests per second.
    pub lost: f64,
}

/// Shares the requests at a time of the trace among `ready` replicas.
pub fn serve(traffic: &Traffic, at: SignedDuration, ready: u32) -> ServedRequestRates {
    let surges = traffic.surges.iter().map(|surge| surge.times_at(at));
    let times: f64 = surges.product();
    let share = traffic.trace.share(at.saturating_add(traffic.offset));
    let offered = traffic.peak * share * times;
    let capacity = f64::from(ready) * traffic.per_replica;
    let served = offered.min(capacity);
    ServedRequestRates {
        offered,
        each: if ready == 0 {
            0.0
        } else {
            served / f64::from(ready)
        },
        lost: offered - served,
    }
}

/// The ready replicas are under-provisioned by the workload's scaling metric; never for a workload
/// without scaling, which has no target.
pub fn is_under_provisioned(
    workload: &ScenarioWorkload,
    capacity: Option<(ScaleBy, PodCapacity)>,
    served: &ServedRequestRates,
    ready: u32,
) -> bool {
    let Some((by, capacity)) = capacity else {
        return false;
    };
    let load = match by {
        ScaleBy::Cpu(_) => {
            let cpu = |of: &Resources<Amount>| of[Resource::Cpu].as_f64();
            let ReplicaUsage {
                idle, per_request, ..
            } = &workload.usage;
            f64::from(ready) * cpu(idle) + served.offered * cpu(per_request)
        }
        ScaleBy::Requests(_) => served.offered,
    };
    let ready = i32::try_from(ready).unwrap_or(i32::MAX);
    pareto_frontier::is_under_provisioned(load, ready, capacity)
}

/// The load of one replica; `noise` is its own stream.
pub fn replica(
    workload: &ScenarioWorkload,
    stage: Stage,
    served: &ServedRequestRates,
    noise: RandomSource,
    at: SignedDuration,
) -> UsageAmounts {
    let usage = &workload.usage;
    let period = at.as_secs().max(0).unsigned_abs() / NOISE_STEP.as_secs().unsigned_abs();
    // A deleted replica finishes as many requests as a ready one serves.
    let requests = match stage {
        Stage::Ready | Stage::Ending => served.each,
        Stage::Pulling | Stage::Starting | Stage::Warming => 0.0,
    };
    Resources::from_fn(|resource| {
        let wanted = match stage {
            Stage::Pulling | Stage::Starting => return 0.0,
            Stage::Warming => usage.warm_up[resource].as_f64(),
            Stage::Ready | Stage::Ending => {
                usage.idle[resource].as_f64() + usage.per_request[resource].as_f64() * requests
            }
        };
        let change = || usage.noise.get() * noise.stream(resource.as_str()).noise(period);
        match (stage, resource) {
            (Stage::Warming, _) | (_, Resource::Memory | Resource::Disk) => wanted,
            (_, Resource::Cpu | Resource::NetworkIo | Resource::DiskIo) => {
                wanted * (1.0 + change())
            }
        }
    })
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeUse {
    /// By its Pods and the system.
    pub wanted: UsageAmounts,
    /// At most the capacity.
    pub given: UsageAmounts,
    pub capacity: Resources<Amount>,
}

impl NodeUse {
    /// `wanted` includes the system's share.
    pub fn of(capacity: Resources<Amount>, wanted: UsageAmounts) -> Self {
        Self {
            wanted,
            given: Resources::from_fn(|resource| wanted[resource].min(capacity[resource].as_f64())),
            capacity,
        }
    }

    /// Use of a node without Pods.
    pub fn system(shape: &NodeShape) -> UsageAmounts {
        Resources::from_fn(|resource| SYSTEM[resource] * shape.capacity[resource].as_f64())
    }

    /// Wanted use as shares of the capacity; above 1 if the demand exceeds it.
    pub fn utilisation(&self) -> UsageAmounts {
        Resources::from_fn(|resource| self.wanted[resource] / self.capacity[resource].as_f64())
    }

    /// The part of its demand that a Pod gets.
    pub fn granted(&self) -> UsageAmounts {
        Resources::from_fn(|resource| {
            if self.wanted[resource] > 0.0 {
                self.given[resource] / self.wanted[resource]
            } else {
                1.0
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_units::Ratio;
    use proptest::prelude::*;

    use super::*;
    use crate::scenario::trace::TrafficTrace;
    use crate::scenario::{Scenario, ScenarioHpa};

    proptest! {
        #[test]
        fn every_request_is_served_or_lost(ready in 0_u32..50, seconds in 0_i64..1_000_000) {
            let traffic = Traffic { peak: 900.0, per_replica: 40.0, trace: TrafficTrace::web(), offset: SignedDuration::ZERO, surges: Vec::new(), noise: 0.0 };
            let at = SignedDuration::from_secs(seconds);
            let served = serve(&traffic, at, ready);
            let sum = served.each * f64::from(ready) + served.lost;
            prop_assert!((sum - served.offered).abs() < 1e-9);
            prop_assert!(served.each <= traffic.per_replica && served.lost >= 0.0);
        }

        #[test]
        fn nodes_give_no_more_than_they_have(wanted in 0.0_f64..1e11) {
            let capacity = Scenario::mixed().nodes[0].capacity;
            let node = NodeUse::of(capacity, Resources::from_fn(|_| wanted));
            for (resource, given) in node.given.iter() {
                prop_assert!(*given <= capacity[resource].as_f64());
                let granted = node.granted()[resource];
                prop_assert!((granted * node.wanted[resource] - given).abs() <= 1e-6 * given);
            }
        }
    }

    #[test]
    fn a_scaled_workload_is_under_provisioned_above_its_target_and_tolerance() {
        let of = |scenario: &Scenario| {
            let mut workloads = scenario.workloads.iter();
            workloads.find(|web| web.name == "web").cloned().unwrap()
        };
        // Of 500m at 60 %, 40m idle and 5m a request: 330m less 40m are 58 requests for each of two
        // Pods.
        let mixed = of(&Scenario::mixed());
        let scaled = |by| ScenarioWorkload {
            scale: Some(ScenarioHpa { min: 1, max: 9, by }),
            usage: ReplicaUsage {
                idle: Resources::from_fn(|_| Amount::new(40)),
                per_request: Resources::from_fn(|_| Amount::new(5)),
                ..mixed.usage.clone()
            },
            demand: Resources::from_fn(|_| Amount::new(500)),
            ..mixed.clone()
        };
        let direct = ScenarioWorkload {
            scale: None,
            annotations: [
                ("evenkeel.dev/scaling", "direct"),
                ("evenkeel.dev/target", "cpu=60%"),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
            ..scaled(ScaleBy::Requests(1))
        };
        let by_cpu = scaled(ScaleBy::Cpu(Ratio::new(0.6).unwrap()));
        let unscaled = ScenarioWorkload {
            annotations: std::collections::BTreeMap::new(),
            ..direct.clone()
        };
        for (name, workload, ready, offered, expected) in [
            ("cpu", &by_cpu, 2, 115.0, false),
            ("cpu", &by_cpu, 2, 117.0, true),
            ("cpu", &by_cpu, 0, 1.0, true),
            ("direct", &direct, 2, 115.0, false),
            ("direct", &direct, 2, 117.0, true),
            ("requests", &scaled(ScaleBy::Requests(50)), 2, 109.0, false),
            ("requests", &scaled(ScaleBy::Requests(50)), 2, 111.0, true),
            ("nothing", &unscaled, 1, 1e6, false),
        ] {
            let served = ServedRequestRates {
                offered,
                ..ServedRequestRates::default()
            };
            let found = is_under_provisioned(workload, workload.capacity(), &served, ready);
            assert_eq!(found, expected, "{name} {ready} {offered}");
        }
    }

    #[test]
    fn only_ready_replicas_work_for_requests() {
        let scenario = Scenario::mixed();
        let web = scenario.workloads.iter().find(|web| web.traffic.is_some());
        let web = web.unwrap();
        let busy = ServedRequestRates {
            each: 20.0,
            ..ServedRequestRates::default()
        };
        let cpu = |stage, served: &ServedRequestRates| {
            let noise = RandomSource::new(3);
            replica(web, stage, served, noise, SignedDuration::ZERO)[Resource::Cpu]
        };
        assert!(cpu(Stage::Pulling, &busy) <= 0.0);
        assert!(
            (cpu(Stage::Warming, &busy) - cpu(Stage::Warming, &ServedRequestRates::default()))
                .abs()
                < 1e-9
        );
        assert!(cpu(Stage::Ready, &busy) > 2.0 * cpu(Stage::Ready, &ServedRequestRates::default()));
    }
}
