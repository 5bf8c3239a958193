//! Ways of scaling on one workload: the same load for all, by seed, and no figure for missing
//! portraits.

use super::*;

const SHOP: &str = "
name: shop
nodes:
  - {name: a, capacity: {cpu: 64, memory: 64Gi, networkIo: 10Gbps, diskIo: 1GB/s, disk: 500Gi}}
workloads:
  - name: web
    namespace: shop
    replicas: 2
    demand: {cpu: 500m}
    usage: {idle: {}, perRequest: {cpu: 5m}}
    startup: {pull: 0s, start: 30s, warmUp: 60s}
    traffic: {peak: 600, perReplica: 90, noise: 0.05, surges: [{at: 3h, lasts: 1h, times: 2, jitter: 1h}]}
    scale:
      min: 2
      max: 60
      cpu: 60%
      portraitProviders:
        - {type: Dynamic, priority: 0, dynamic: {portraitType: Reactive}}
        - {type: Cron, priority: 0, cron: {crons: [{name: day, start: '0 2 * * *', end: '0 5 * * *', replicas: 20}]}}
  - name: plain
    namespace: shop
    replicas: 2
    demand: {cpu: 500m}
    usage: {idle: {}, perRequest: {cpu: 5m}}
    startup: {pull: 0s, start: 30s, warmUp: 60s}
    traffic: {peak: 600, perReplica: 90}
    scale: {min: 2, max: 60, cpu: 60%}
simulation: {duration: 6h}
";

fn scored(way: Way, workload: usize, seed: u64) -> Option<ScalingScore> {
    let scenario: Scenario = SHOP.parse().unwrap();
    way.scored(
        &scenario.workloads[workload],
        &scenario,
        seed,
        FitFunctions::NONE,
    )
}

#[test]
fn the_reaction_alone_costs_what_the_plain_hpa_does_and_a_seed_is_one_load() {
    let reactive = Way::Portraits(&[ProviderKind::Reactive]);
    let plain = Way::Hpa { percent: 100 };
    let one = scored(plain, 0, 1).unwrap();
    assert_eq!(scored(reactive, 0, 1), Some(one));
    assert_ne!(scored(plain, 0, 2), Some(one));
    assert!(one.cost.under_provisioned_seconds > 0.0 && one.changes > 5);
    let requests = |way| scored(way, 0, 1).unwrap().responses.requests;
    for way in [Way::Hpa { percent: 60 }, Way::Portraits(TOGETHER[4])] {
        assert!(
            (requests(way) - one.responses.requests).abs() < 1e-6,
            "{way}"
        );
    }
}

#[test]
fn lower_targets_cost_more_and_windows_are_kept() {
    let costs = [100, 80, 50].map(|percent| scored(Way::Hpa { percent }, 0, 3).unwrap().cost);
    assert!(costs[0].replica_hours < costs[1].replica_hours);
    assert!(costs[1].replica_hours < costs[2].replica_hours);
    let both = scored(Way::Portraits(TOGETHER[4]), 0, 3).unwrap().cost;
    assert!(both.replica_hours >= 20.0 * 3.0);
    assert!(both.under_provisioned_seconds < costs[0].under_provisioned_seconds);
}

#[test]
fn what_a_workload_lacks_is_not_scored() {
    assert_eq!(
        scored(Way::Portraits(&[ProviderKind::Predictive]), 0, 1),
        None
    );
    assert!(
        Way::all()
            .into_iter()
            .all(|way| scored(way, 1, 1).is_none())
    );
}

#[test]
fn ways_are_told_apart_by_name() {
    let names: Vec<String> = Way::all().iter().map(Way::to_string).collect();
    assert_eq!(names.len(), 16);
    assert_eq!(names[0], "plain HPA at its target");
    assert_eq!(names[3], "plain HPA at 85% of its target");
    assert_eq!(names[15], "cron + predictive + reactive");
    let rival = Way::all().into_iter().filter(|way| way.is_rival());
    assert_eq!(rival.count(), RIVALS.len());
}
