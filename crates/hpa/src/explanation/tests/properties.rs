//! The explained count is the decided one, and thresholds are where the count changes.

use evenkeel_metrics::pod::{PodFacts, PodPhase};
use proptest::prelude::*;

use super::super::*;
use super::explained;
use crate::tests::{SECOND, cpu, hpa, now, pods, scale, usage};
use crate::{BehaviorSpec, HpaMemory, ObservedTarget, Readings, reconcile};

fn any_pod() -> impl Strategy<Value = (u8, Option<i64>)> {
    (0_u8..8, prop::option::weighted(0.8, 0_i64..3000))
}

/// A target of Pods in all states, and what is measured of them.
fn situation(given: &[(u8, Option<i64>)]) -> (Vec<PodFacts>, Readings) {
    let mut all = pods(given.len());
    let mut readings = usage(given.len(), 0);
    for (pod, (state, _)) in all.iter_mut().zip(given) {
        match state {
            0 => pod.deleted = true,
            1 => pod.phase = PodPhase::Pending,
            2 => pod.start_time = Some(now() - SECOND(60)),
            3 => pod.ready = None,
            _ => {}
        }
    }
    let Ok(metrics) = &mut readings.resource else {
        unreachable!("the usage is there")
    };
    for (pod, (_, milli)) in metrics.iter_mut().zip(given) {
        let resource = crate::tests::usage(1, milli.unwrap_or(0)).resource;
        pod.containers = resource.unwrap()[0].containers.clone();
    }
    let mut measured = given.iter().map(|(_, milli)| milli.is_some());
    metrics.retain(|_| measured.next().unwrap_or(false));
    (all, readings)
}

proptest! {
    #[test]
    fn the_explained_count_is_the_decided_one(
        given in prop::collection::vec(any_pod(), 1..8),
        percent in 10_i32..150,
        has_behavior in any::<bool>(),
    ) {
        let (pods, readings) = situation(&given);
        let mut hpa = hpa(vec![cpu(percent)]);
        hpa.spec.behavior = has_behavior.then(|| BehaviorSpec::default().defaulted());
        let observed = ObservedTarget { scale: Ok(scale(&pods, &[])), readings: &readings };
        let controller = Controller::default();
        let mut memory = HpaMemory::default();
        let step = reconcile(&controller, &hpa, &observed, &mut memory, now());
        let outcome = step.written(&mut memory);
        let input = HpaDecisionInput {
            controller: &controller,
            hpa: &hpa,
            observed,
            memory: &HpaMemory::default(),
            now: now(),
        };
        let found = explain(&input, &RescaleHistory::default());
        if let Some(decided) = found.decided_replicas {
            prop_assert_eq!(decided, outcome.status.desired_replicas);
        } else {
            prop_assert!(outcome.error.is_some());
        }
        let counted = found.metrics.iter().flat_map(|metric| &metric.pods);
        let measured = counted.filter(|pod| pod.group == "measured");
        prop_assert!(measured.clone().all(|pod| pod.counted == pod.measured
            || found.metrics[0].error.is_some()));
        for threshold in [&found.more, &found.less].into_iter().flatten() {
            let decided = found.decided_replicas.unwrap();
            let is_more = threshold.change_milli > 0;
            prop_assert_eq!(threshold.metrics_replicas > decided, is_more);
            prop_assert_eq!(threshold.metrics_replicas < decided, !is_more);
        }
    }

    /// The count of another run with each Pod's usage moved.
    #[test]
    fn a_threshold_is_where_the_metrics_ask_for_another_count(
        milli in 0_i64..2000,
        count in 1_usize..12,
    ) {
        let mut hpa = hpa(vec![cpu(50)]);
        (hpa.spec.min_replicas, hpa.spec.max_replicas) = (1, 100);
        let pods = pods(count);
        let history = RescaleHistory::default();
        let of = |milli: i64| {
            let readings = usage(count, milli.max(0));
            explained(&hpa, Ok(scale(&pods, &[])), &readings, &history)
        };
        let found = of(milli);
        let decided = found.decided_replicas.unwrap();
        let asks = |milli: i64| of(milli).metrics_replicas.unwrap();
        if let Some(more) = found.more {
            prop_assert_eq!(asks(milli + more.change_milli), more.metrics_replicas);
            prop_assert!(asks(milli + more.change_milli - 1) <= decided);
        } else {
            prop_assert!(asks(milli) > decided, "more usage always asks for more in the end");
        }
        if let Some(less) = found.less {
            prop_assert_eq!(asks(milli + less.change_milli), less.metrics_replicas);
            prop_assert!(asks(milli + less.change_milli + 1) >= decided);
        } else {
            prop_assert!(asks(milli) < decided || asks(0) >= decided);
        }
    }
}
