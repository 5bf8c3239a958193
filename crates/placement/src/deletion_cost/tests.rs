use evenkeel_units::Resource;
use proptest::prelude::*;

use super::*;

fn h(share: f64) -> Ratio {
    Ratio::share(share).unwrap()
}

fn all(value: u64) -> Resources<Amount> {
    Resources::new([Amount::new(value); 5])
}

fn node(load: u64) -> NodeLoad {
    NodeLoad {
        capacity: all(1000).map(Some),
        load: all(load),
        io_pressed: false,
    }
}

fn weights() -> Weights {
    Weights::new(Resources::new([0.4, 0.3, 0.1, 0.1, 0.1])).unwrap()
}

fn pod(name: &str, node: usize, usage: u64) -> DeletionCandidate<'_> {
    DeletionCandidate {
        name,
        node: Some(node),
        usage: all(usage),
        goes_first: false,
    }
}

fn order(
    nodes: &[NodeLoad],
    pods: &[DeletionCandidate<'_>],
    spread: &[SpreadConstraint],
    count: usize,
) -> Vec<ScaleInVictim> {
    let weights = weights();
    let removal = Removal {
        nodes,
        pods,
        spread,
        weights: &weights,
        headroom: h(0.8),
    };
    removal.order(count)
}

fn names<'a>(
    pods: &[DeletionCandidate<'a>],
    order: &[ScaleInVictim],
) -> Vec<(&'a str, DeletionBasis)> {
    let named = |choice: &ScaleInVictim| (pods[choice.pod].name, choice.ground);
    order.iter().map(named).collect()
}

#[test]
fn the_fullest_node_gives_first_until_another_is_fuller() {
    let nodes = [node(600), node(450), node(100)];
    let pods = [
        pod("a", 0, 100),
        pod("b", 0, 100),
        pod("c", 1, 100),
        pod("d", 2, 50),
    ];
    let found = order(&nodes, &pods, &[], 3);
    let balance = DeletionBasis::Balance;
    assert_eq!(
        names(&pods, &found),
        [("a", balance), ("b", balance), ("c", balance)]
    );
    let all = order(&nodes, &pods, &[], 9);
    assert_eq!(all.len(), 4, "no more go than there are");
}

#[test]
fn a_node_over_the_line_gives_first_even_where_balance_would_have_it_otherwise() {
    let mut hot = node(300);
    hot.load[Resource::Disk] = Amount::new(850);
    let nodes = [hot, node(700), node(200)];
    let mut on_hot = pod("z", 0, 10);
    on_hot.usage[Resource::Disk] = Amount::new(100);
    let pods = [on_hot, pod("a", 1, 300), pod("b", 2, 10)];
    let found = order(&nodes, &pods, &[], 2);
    assert_eq!(
        names(&pods, &found),
        [
            ("z", DeletionBasis::Headroom),
            ("a", DeletionBasis::Balance)
        ]
    );
}

#[test]
fn what_goes_anyway_counts_and_needs_no_cost() {
    let nodes = [node(600), node(550)];
    let mut starting = pod("starting", 0, 200);
    starting.goes_first = true;
    let pods = [starting, pod("a", 0, 100), pod("b", 1, 100)];
    assert_eq!(order(&nodes, &pods, &[], 1), []);
    // Without it the other node is the fuller one.
    let found = order(&nodes, &pods, &[], 2);
    assert_eq!(names(&pods, &found), [("b", DeletionBasis::Balance)]);
}

#[test]
fn spread_is_decided_before_line_and_balance() {
    // Two Pods in one zone and three in the other, which is the cooler one.
    let nodes = [node(900), node(100)];
    let pods = [
        pod("a", 0, 100),
        pod("b", 0, 100),
        pod("c", 1, 10),
        pod("d", 1, 10),
        pod("e", 1, 10),
    ];
    let zones = SpreadConstraint {
        max_skew: 1,
        counts: vec![2, 3],
        domains: vec![Some(0), Some(0), Some(1), Some(1), Some(1)],
        is_default: false,
    };
    let found = order(&nodes, &pods, &[zones], 3);
    assert_eq!(
        names(&pods, &found),
        [
            ("c", DeletionBasis::Spread),
            ("a", DeletionBasis::Headroom),
            ("d", DeletionBasis::Spread)
        ]
    );
}

#[test]
fn what_is_default_keeps_the_skew_that_is_wanted_and_asks_for_no_more() {
    let nodes = [node(100), node(900)];
    let pods = [
        pod("a", 0, 10),
        pod("b", 0, 10),
        pod("c", 0, 10),
        pod("d", 1, 100),
    ];
    for (max_skew, is_default, first) in [(3, true, "d"), (3, false, "a"), (2, true, "a")] {
        let zones = SpreadConstraint {
            max_skew,
            counts: vec![3, 1],
            domains: vec![Some(0), Some(0), Some(0), Some(1)],
            is_default,
        };
        let found = order(&nodes, &pods, &[zones], 1);
        assert_eq!(names(&pods, &found)[0].0, first, "{max_skew} {is_default}");
    }
}

#[test]
fn a_pod_without_a_known_node_moves_nothing_and_equals_go_by_name() {
    let nodes = [node(500), node(500)];
    let mut lost = pod("lost", 0, 100);
    lost.node = None;
    let pods = [pod("b", 1, 100), lost, pod("a", 0, 100)];
    let found = order(&nodes, &pods, &[], 1);
    assert_eq!(names(&pods, &found), [("lost", DeletionBasis::Balance)]);
    let pods = [pods[0], pods[2]];
    assert_eq!(names(&pods, &order(&nodes, &pods, &[], 1))[0].0, "a");
}

#[test]
fn costs_are_below_those_of_all_others_and_rise_with_the_order() {
    let costs: Vec<i32> = (0..3).map(|place| cost(place, 3)).collect();
    assert_eq!(costs, [-3, -2, -1]);
}

/// Σ w Var, literally.
fn v(nodes: &[NodeLoad], weights: &Weights) -> f64 {
    let variance = |resource: Resource| {
        let known = nodes.iter().filter_map(|node| {
            let capacity = node.capacity[resource].filter(|&t| t > Amount::ZERO)?;
            Some(node.load[resource].as_f64() / capacity.as_f64())
        });
        let usage: Vec<f64> = known.collect();
        let count: f64 = usage.iter().map(|_| 1.0).sum();
        let mean = usage.iter().sum::<f64>() / count;
        usage.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / count
    };
    let all = weights.get().iter();
    all.map(|(resource, weight)| weight * variance(resource))
        .sum()
}

fn without(nodes: &[NodeLoad], pod: &DeletionCandidate<'_>) -> Vec<NodeLoad> {
    let mut nodes = nodes.to_vec();
    if let Some(node) = pod.node {
        let load = nodes[node].load;
        nodes[node].load = Resources::from_fn(|r| load[r].saturating_sub(pod.usage[r]));
    }
    nodes
}

fn skew(counts: &[u32]) -> u32 {
    counts.iter().max().unwrap() - counts.iter().min().unwrap()
}

/// Nodes below the line, Pods on them, and the zone of each node.
type World = (Vec<NodeLoad>, Vec<(usize, [u64; 5])>, Vec<usize>);

fn some_world() -> impl Strategy<Value = World> {
    (2_usize..9).prop_flat_map(|count| {
        let loads = prop::collection::vec(prop::array::uniform5(0_u64..790), count);
        let nodes = loads.prop_map(|loads| {
            let node = |load: [u64; 5]| NodeLoad {
                load: Resources::new(load).map(Amount::new),
                ..node(0)
            };
            loads.into_iter().map(node).collect::<Vec<_>>()
        });
        let pods = prop::collection::vec((0..count, prop::array::uniform5(0_u64..300)), 2..15);
        let zones = prop::collection::vec(0_usize..3, count);
        (nodes, pods, zones)
    })
}

fn removable(pods: &[(usize, [u64; 5])]) -> Vec<DeletionCandidate<'static>> {
    const NAMES: [&str; 15] = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o",
    ];
    let named = pods.iter().zip(NAMES);
    let pod = |(&(node, usage), name)| DeletionCandidate {
        usage: Resources::new(usage).map(Amount::new),
        ..pod(name, node, 0)
    };
    named.map(pod).collect()
}

fn zoned(pods: &[DeletionCandidate<'_>], zones: &[usize], max_skew: u32) -> SpreadConstraint {
    let zone = |pod: &DeletionCandidate<'_>| zones[pod.node.unwrap()];
    let mut known: Vec<usize> = pods.iter().map(zone).collect();
    known.sort_unstable();
    known.dedup();
    let place = |pod| known.iter().position(|&other| other == zone(pod));
    let domains: Vec<Option<usize>> = pods.iter().map(place).collect();
    let mut counts = vec![0; known.len()];
    for domain in domains.iter().flatten() {
        counts[*domain] += 1;
    }
    SpreadConstraint {
        max_skew,
        counts,
        domains,
        is_default: false,
    }
}

proptest! {
    #[test]
    fn each_that_goes_leaves_the_nodes_no_less_even_than_any_other_would(
        (nodes, pods, _) in some_world(), count in 1_usize..8
    ) {
        let (pods, weights) = (removable(&pods), weights());
        let found = order(&nodes, &pods, &[], count);
        prop_assert_eq!(found.len(), count.min(pods.len()));
        let (mut now, mut left) = (nodes, (0..pods.len()).collect::<Vec<_>>());
        for choice in found {
            let chosen = v(&without(&now, &pods[choice.pod]), &weights);
            for &other in &left {
                let other = v(&without(&now, &pods[other]), &weights);
                prop_assert!(chosen <= other + 1e-12, "{chosen} {other}");
            }
            now = without(&now, &pods[choice.pod]);
            left.retain(|&other| other != choice.pod);
        }
    }

    #[test]
    fn no_removal_raises_the_skew_beyond_what_the_best_would(
        (nodes, pods, zones) in some_world(), count in 1_usize..8, max_skew in 1_u32..4
    ) {
        let pods = removable(&pods);
        let constraint = zoned(&pods, &zones, max_skew);
        let found = order(&nodes, &pods, std::slice::from_ref(&constraint), count);
        let SpreadConstraint { mut counts, domains, .. } = constraint;
        let mut left: Vec<usize> = (0..pods.len()).collect();
        for choice in found {
            let after = |pod: usize| {
                let mut counts = counts.clone();
                counts[domains[pod].unwrap()] -= 1;
                counts
            };
            let best = left.iter().map(|&pod| skew(&after(pod))).min().unwrap();
            let chosen = after(choice.pod);
            let most = best.max(skew(&counts));
            prop_assert!(skew(&chosen) <= most, "{:?} {:?}", counts, chosen);
            let excess = |skew: u32| skew.saturating_sub(max_skew);
            prop_assert_eq!(excess(skew(&chosen)), excess(best));
            counts = chosen;
            left.retain(|&other| other != choice.pod);
        }
    }

    #[test]
    fn the_order_in_which_pods_are_given_does_not_matter(
        (nodes, pods, _) in some_world(), turn in 0_usize..15
    ) {
        let pods = removable(&pods);
        let mut turned = pods.clone();
        turned.rotate_left(turn % pods.len());
        let one = order(&nodes, &pods, &[], 4);
        let other = order(&nodes, &turned, &[], 4);
        prop_assert_eq!(names(&pods, &one), names(&turned, &other));
    }
}
