//! The use of all Pods and nodes at a moment, for the steps of [`Engine`](crate::engine::Engine)
//! and the scrapes of [`simulation`](crate::simulation). Amounts are added in the order of the
//! Pods, so that a run gives the same bytes each time.

use std::sync::Arc;

use evenkeel_units::Resources;
use evenkeel_units::random::RandomSource;
use jiff::SignedDuration;

use crate::lifecycle::Stage;
use crate::load;
use crate::load::{NodeUse, ServedRequestRates, UsageAmounts};
use crate::scenario::{NodeShape, ScenarioWorkload};

/// On a kubelet, at a moment.
pub(crate) struct PodNow<'a, K> {
    pub key: K,
    /// Position in the scenario.
    pub node: usize,
    pub workload: &'a ScenarioWorkload,
    /// Position in the scenario; `None` if a user applied the Pod by hand.
    pub index: Option<usize>,
    pub stage: Stage,
    /// False while its readiness gates keep requests away.
    pub is_open: bool,
    pub noise: RandomSource,
}

pub(crate) struct ClusterUsage<K> {
    /// In the order of the scenario.
    pub nodes: Vec<NodeUse>,
    /// Each Pod's share of what its node can give.
    pub pods: Vec<(K, UsageAmounts)>,
}

pub(crate) fn ready<K>(pods: &[PodNow<'_, K>], workloads: usize) -> Vec<u32> {
    let mut ready = vec![0_u32; workloads];
    for pod in pods {
        if let Some(ready) = pod.index.and_then(|index| ready.get_mut(index)) {
            *ready += u32::from(pod.stage == Stage::Ready && pod.is_open);
        }
    }
    ready
}

/// By workload, at a time of the trace; none for a workload without traffic.
pub(crate) fn served(
    workloads: &[Arc<ScenarioWorkload>],
    ready: &[u32],
    in_trace: SignedDuration,
) -> Vec<ServedRequestRates> {
    let served = |(workload, &ready): (&Arc<ScenarioWorkload>, &u32)| {
        let traffic = workload.traffic.as_ref();
        traffic.map_or_else(ServedRequestRates::default, |traffic| {
            load::serve(traffic, in_trace, ready)
        })
    };
    workloads.iter().zip(ready).map(served).collect()
}

pub(crate) fn of<K>(
    pods: Vec<PodNow<'_, K>>,
    shapes: &[NodeShape],
    served: &[ServedRequestRates],
    at: SignedDuration,
) -> ClusterUsage<K> {
    let mut wanted: Vec<UsageAmounts> = shapes.iter().map(NodeUse::system).collect();
    let pods = pods.into_iter().map(|pod| {
        let served = pod.index.and_then(|index| served.get(index));
        let served = served.filter(|_| pod.is_open);
        let served = served.copied().unwrap_or_default();
        let used = load::replica(pod.workload, pod.stage, &served, pod.noise, at);
        let sum = &mut wanted[pod.node];
        *sum = Resources::from_fn(|resource| sum[resource] + used[resource]);
        (pod.key, pod.node, used)
    });
    let pods: Vec<(K, usize, UsageAmounts)> = pods.collect();
    let nodes = shapes.iter().zip(wanted);
    let nodes: Vec<NodeUse> = nodes
        .map(|(shape, wanted)| NodeUse::of(shape.capacity, wanted))
        .collect();
    let granted: Vec<UsageAmounts> = nodes.iter().map(NodeUse::granted).collect();
    let got = |(key, node, used): (K, usize, UsageAmounts)| {
        let share = &granted[node];
        (key, Resources::from_fn(|of| used[of] * share[of]))
    };
    ClusterUsage {
        pods: pods.into_iter().map(got).collect(),
        nodes,
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_units::{Amount, Resource};

    use super::*;
    use crate::scenario::Scenario;

    /// On the nodes at these positions.
    fn pods<'a>(workload: &'a ScenarioWorkload, nodes: &[usize]) -> Vec<PodNow<'a, usize>> {
        let pods = nodes.iter().enumerate().map(|(key, &node)| PodNow {
            key,
            node,
            workload,
            index: Some(0),
            stage: Stage::Ready,
            is_open: true,
            noise: RandomSource::new(1).stream(&key.to_string()),
        });
        pods.collect()
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
    }

    #[test]
    fn nodes_use_what_their_pods_get_and_pods_get_no_more_than_their_node_gives() {
        let scenario = Scenario::mixed();
        let stream = scenario.workload("media", "stream").unwrap();
        // The demand on the first node exceeds its capacity.
        let placed: Vec<usize> = vec![0; 40].into_iter().chain([1]).collect();
        let usage = of(
            pods(stream, &placed),
            &scenario.nodes,
            &[],
            SignedDuration::ZERO,
        );
        let network = Resource::NetworkIo;
        let capacity = |node: usize| scenario.nodes[node].capacity[network].as_f64();
        let sum = |node: usize| {
            let here = usage.pods.iter().filter(|(key, _)| placed[*key] == node);
            let system = NodeUse::system(&scenario.nodes[node])[network];
            let granted = usage.nodes[node].granted()[network];
            here.map(|(_, used)| used[network]).sum::<f64>() + system * granted
        };
        assert!(usage.nodes[0].wanted[network] > capacity(0));
        assert!(close(sum(0), capacity(0)), "{}", sum(0));
        assert!(close(sum(1), usage.nodes[1].wanted[network]));
        let idle = usage.nodes[2].wanted[network];
        assert!(close(idle, NodeUse::system(&scenario.nodes[2])[network]));
    }

    #[test]
    fn ready_pods_share_the_requests_and_strangers_have_none() {
        let scenario = Scenario::mixed();
        let web = Arc::new(scenario.workload("shop", "web").unwrap().clone());
        let mut pods = pods(&web, &[0, 1, 2]);
        pods[1].stage = Stage::Starting;
        pods[2].index = None;
        pods.push(PodNow {
            is_open: false,
            ..self::pods(&web, &[3]).remove(0)
        });
        pods[3].key = 3;
        let ready = ready(&pods, 1);
        assert_eq!(ready, [1]);
        let (busy, at) = (SignedDuration::from_hours(12), SignedDuration::ZERO);
        let served = served(&[Arc::clone(&web)], &ready, busy);
        assert!(served[0].each > 0.0);
        let usage = of(pods, &scenario.nodes, &served, at);
        let cpu = |pod: usize| usage.pods[pod].1[Resource::Cpu];
        assert!(cpu(0) > 1.5 * cpu(2), "{} {}", cpu(0), cpu(2));
        assert!(
            cpu(3) > 0.0 && cpu(0) > 1.5 * cpu(3),
            "it runs, and nobody asks it"
        );
        assert!(cpu(2) > 0.0 && Amount::from_f64(cpu(1)) == Amount::ZERO);
    }
}
