//! PodTopologySpread with kube-scheduler's default constraint for Pods that have none of their own:
//! the Pods of a controller are spread over nodes, with `maxSkew: 3`. The default for zones is left
//! out, because the nodes here have no zones.

use super::{NodeRequest, PodRequest};
use evenkeel_placement::kube_scheduler_scores::MOST;
use evenkeel_units::Amount;

const WEIGHT: i64 = 2;

/// `maxSkew - 1`, which each count of Pods gets on top.
const TOLERATED_SKEW: f64 = 2.0;

/// The weighted points of each node, 0 to 200. A node with fewer Pods of the controller gets more.
pub(super) fn points(pod: &PodRequest, nodes: &[&NodeRequest]) -> Vec<i64> {
    let Some(controller) = &pod.spread_with else {
        return vec![0; nodes.len()];
    };
    let nodes_to_score = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
    let for_each = (f64::from(nodes_to_score) + 2.0).ln();
    let of = |node: &&NodeRequest| {
        let count = node.spread_pods.get(controller).copied().unwrap_or(0);
        let raw = Amount::from_f64((f64::from(count) * for_each + TOLERATED_SKEW).round());
        i64::try_from(raw.get()).unwrap_or(i64::MAX)
    };
    let raw: Vec<i64> = nodes.iter().map(of).collect();
    let least = raw.iter().copied().min().unwrap_or_default();
    let most = raw.iter().copied().max().unwrap_or_default().max(1);
    let points = raw.iter().map(|raw| MOST * (most + least - raw) / most);
    points.map(|points| WEIGHT * points).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use evenkeel_units::Resources;

    use super::*;

    #[test]
    fn a_node_with_fewer_pods_of_the_controller_gets_more() {
        let web: Arc<str> = "web".into();
        let with = |count: u32, controller: &Arc<str>| {
            let mut node = NodeRequest::default();
            for _ in 0..count {
                node.add(&Resources::default(), Some(controller));
            }
            node
        };
        let [none, one, three] = [0, 1, 3].map(|count| with(count, &web));
        let other = with(7, &"other".into());
        let nodes = [&none, &one, &three, &other];
        let pod = PodRequest {
            spread_with: Some(web),
            ..PodRequest::default()
        };
        // Raw: 2, ln 6 + 2 = 4, 3 ln 6 + 2 = 7, 2. Normalised: 100 x (9 - raw) / 7.
        assert_eq!(points(&pod, &nodes), [200, 142, 56, 200]);
        assert_eq!(points(&PodRequest::default(), &nodes), [0; 4]);
        assert!(points(&pod, &[]).is_empty());
    }

    #[test]
    fn removed_pods_do_not_count() {
        let web: Arc<str> = "web".into();
        let mut node = NodeRequest::default();
        let empty = node.clone();
        node.add(&Resources::default(), Some(&web));
        assert_ne!(node, empty);
        node.remove(&Resources::default(), Some(&web));
        assert_eq!(node, empty);
    }
}
