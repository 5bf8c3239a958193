//! kube-scheduler's ranking of feasible nodes.

use evenkeel_placement::kube_scheduler_scores::{
    MOST, TAINT_WEIGHT, balanced_allocation, least_allocated,
};
use evenkeel_units::Amount;

use super::{NodeRequest, PodRequest, affinity, filter, for_scoring, spread};

const AFFINITY_WEIGHT: i64 = 2;

/// In-tree sums, in the order given.
pub fn scores(pod: &PodRequest, nodes: &[&NodeRequest]) -> Vec<i64> {
    let taints = nodes.iter().map(|node| unborne(pod, node)).collect();
    let affinities = nodes
        .iter()
        .map(|node| affinity::preferred(pod, node))
        .collect();
    let taints = normalised(taints, true);
    let affinities = affinity_points(affinities);
    let spread = spread::points(pod, nodes);
    let own = taints.into_iter().zip(affinities).zip(spread);
    nodes
        .iter()
        .zip(own)
        .map(|(node, ((taint, affinity), spread))| {
            let asked = for_scoring(&pod.requests);
            least_allocated(&asked, &node.scored, &node.allocatable)
                + balanced_allocation(&pod.requests, &node.requested, &node.allocatable)
                + TAINT_WEIGHT * taint
                + affinity
                + spread
        })
        .collect()
}

/// NodeAffinity's part of the sums, by the sums of weights of met preferences.
pub fn affinity_points(weights: Vec<i64>) -> Vec<i64> {
    let scores = normalised(weights, false).into_iter();
    scores.map(|score| AFFINITY_WEIGHT * score).collect()
}

/// Position of a node with the highest score; `choice` in [0, 1) breaks ties.
pub fn best(scores: &[i64], choice: f64) -> Option<usize> {
    let most = scores.iter().max()?;
    let equals: Vec<usize> = (0..scores.len())
        .filter(|&position| scores[position] == *most)
        .collect();
    let count = f64::from(u32::try_from(equals.len()).unwrap_or(u32::MAX));
    let chosen = Amount::from_f64((choice * count).floor()).get();
    let last = equals.last().copied();
    let chosen = usize::try_from(chosen)
        .ok()
        .and_then(|at| equals.get(at).copied());
    chosen.or(last)
}

/// Untolerated taints that ask Pods to stay away.
fn unborne(pod: &PodRequest, node: &NodeRequest) -> i64 {
    let asking = node.taints.iter().filter(|taint| {
        taint.effect == "PreferNoSchedule" && !filter::is_tolerated(taint, &pod.tolerations)
    });
    i64::try_from(asking.count()).unwrap_or(i64::MAX)
}

/// On the scale of the largest; reversed if small numbers are good.
fn normalised(scores: Vec<i64>, reverse: bool) -> Vec<i64> {
    let most = scores.iter().copied().max().unwrap_or(0);
    let scaled = scores.into_iter().map(|score| match (most, reverse) {
        (0, true) => MOST,
        (0, false) => 0,
        (_, true) => MOST - score * MOST / most,
        (_, false) => score * MOST / most,
    });
    scaled.collect()
}

#[cfg(test)]
mod tests {
    use evenkeel_units::Resources;

    use super::*;

    fn node(cpu: u64, memory: u64) -> NodeRequest {
        let mut node = NodeRequest {
            allocatable: Resources::new([4000, 8 << 30, 0, 0, 1 << 40].map(Amount::new)),
            max_pods: 110,
            ..NodeRequest::default()
        };
        node.add(
            &Resources::new([cpu, memory, 0, 0, 0].map(Amount::new)),
            None,
        );
        node
    }

    #[test]
    fn the_emptier_and_the_more_balanced_node_wins() {
        let pod = PodRequest {
            requests: Resources::new([1000, 2 << 30, 0, 0, 0].map(Amount::new)),
            ..PodRequest::default()
        };
        let (empty, half, skewed) = (node(1, 1), node(2000, 4 << 30), node(3000, 2 << 30));
        let scores = scores(&pod, &[&empty, &half, &skewed]);
        // 74 free + 99 alike; 25 + 100; (0 + 50) / 2 + 75; each with 300 for no taint.
        assert_eq!(scores, [473, 425, 400]);
        assert_eq!(best(&scores, 0.9), Some(0));
    }

    #[test]
    fn the_choice_is_among_the_highest_only() {
        for (choice, at) in [(0.0, 1), (0.49, 1), (0.5, 3), (0.99, 3)] {
            assert_eq!(best(&[1, 7, 3, 7], choice), Some(at), "{choice}");
        }
        assert_eq!(best(&[], 0.3), None);
    }

    #[test]
    fn a_taint_that_asks_to_stay_away_costs() {
        let mut shunned = node(1, 1);
        shunned.taints = vec![
            serde_json::from_value(serde_json::json!({"key": "k", "effect": "PreferNoSchedule"}))
                .unwrap(),
        ];
        let scores = scores(&PodRequest::default(), &[&node(1, 1), &shunned]);
        assert_eq!(scores[0] - scores[1], 300);
    }
}
